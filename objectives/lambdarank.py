r"""LambdaRank: pairwise logistic gradients weighted by the change of NDCG.

Source
    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006, section 6.2: the
    RankNet gradient of each pair, scaled by the NDCG gained by swapping its two documents. The
    truncation and the two normalisations (`norm`) are those of today's boosted-tree libraries.

Definition
    pairs y_i > y_j; ranks by a stable sort on descending score
    rho_ij = 1/(1 + e^{sigma (s_i - s_j)})
    w_ij   = |g_i - g_j| |d(rank_i) - d(rank_j)| / Z_T
    loss   = sum_ij w_ij ln(1 + e^{-sigma (s_i - s_j)}), w held constant
    With truncation T a pair counts when the better-ranked of its two is at rank <= T, and Z_T is
    the ideal DCG at T.
    With `norm`, each w_ij is divided by 0.01 + |s_i - s_j| unless all scores of the query are
    equal, and then all w_ij of the query are multiplied by log2(1 + L)/L, where
    L = sum_ij 2 sigma w_ij rho_ij is the sum of |lambda| over both documents of every pair.

Gradient (exact for fixed w)
    grad_i -= sigma w rho, grad_j += sigma w rho

Hessians
    exact         (default) hess_{i,j} += sigma^2 w rho (1 - rho), for fixed w; never negative.
                  Floored, as all, at 1e-10.
    gauss-newton  the same: the logistic loss is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Exponentials take non-positive arguments only; no score overflows.

Cost
    O(n min(n, T)) after an O(n log n) sort.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .numerics import (
    CONSTANT,
    HESSIAN_FLOOR,
    all_equal,
    decays,
    ideal_dcg,
    kernel,
    logistic,
    order_by_score,
    rank_discount,
    scaled_exponentials,
)
from .schedules import Schedule, check_positive_or_schedule
from .validation import Floats, Integers, check_cutoff, check_flag

Params = tuple[int, float, bool]  # truncation (0: none), sigma, norm


@kernel
def _prepare(
    scores: Floats, labels: Floats, params: Params
) -> tuple[Integers, Floats, Floats, Floats, int]:
    """Return order, scores, gains / Z and discounts by rank, and the truncation.

    A truncation of 0 says that the query is degenerate.
    """
    order = order_by_score(scores)
    gains = np.exp2(labels) - 1.0
    n = len(scores)
    s, g, d = np.empty(n), np.empty(n), np.empty(n)
    if all_equal(gains):
        return order, s, g, d, 0
    top = min(params[0], n) if params[0] > 0 else n
    z = ideal_dcg(gains, top)
    for rank in range(n):
        s[rank] = scores[order[rank]]
        g[rank] = gains[order[rank]] / z
        d[rank] = rank_discount(rank + 1)
    return order, s, g, d, top


@kernel
def _weights(s: Floats, g: Floats, d: Floats, i: int, norm: bool, weights: Floats) -> None:
    """Write w of the pairs of rank i with the first ranks, as many as `weights` holds."""
    own, own_gain, own_discount = s[i], g[i], d[i]
    if norm and s[0] != s[-1]:
        for j in range(len(weights)):
            swap = abs(own_gain - g[j]) * abs(own_discount - d[j])
            weights[j] = swap / (0.01 + abs(own - s[j]))
    else:
        for j in range(len(weights)):
            weights[j] = abs(own_gain - g[j]) * abs(own_discount - d[j])


@kernel
def _norm_factor(total: float) -> float:
    """log2(1 + L)/L, also of a tiny L."""
    return math.log1p(total) / (math.log(2.0) * total) if total > 0.0 else 1.0


@kernel
def _loss_query(scores: Floats, labels: Floats, params: Params) -> float:
    _, s, g, d, top = _prepare(scores, labels, params)
    _, sigma, norm = params
    weights = np.empty(len(s))
    loss = 0.0
    total = 0.0  # L
    for i in range(top):
        _weights(s, g, d, i, norm, weights)
        for j in range(i + 1, len(s)):
            x = sigma * (s[i] - s[j]) if g[i] > g[j] else sigma * (s[j] - s[i])
            loss += weights[j] * (max(0.0, -x) + math.log1p(math.exp(-abs(x))))
            total += 2.0 * sigma * weights[j] * logistic(x)[0]
    return loss * _norm_factor(total) if norm else loss


@kernel
def _grad_hess_query(
    scores: Floats, labels: Floats, params: Params, hessian: int, grad: Floats, hess: Floats
) -> None:
    order, s, g, d, top = _prepare(scores, labels, params)
    if top == 0:
        return
    _, sigma, norm = params
    n = len(s)
    exponentials, buffer, weight_buffer = np.empty(n), np.empty(n), np.empty(n)
    factorised = scaled_exponentials(s, sigma, exponentials)
    total = 0.0  # L
    for i in range(n):
        partners = n if i < top else top  # one of a pair is at rank T or above
        row, weights = buffer[:partners], weight_buffer[:partners]
        decays(s, sigma, exponentials, factorised, i, row)
        _weights(s, g, d, i, norm, weights)
        own_gain = g[i]
        pulls = 0.0
        magnitudes = 0.0
        curvature = 0.0
        for j in range(partners):
            e = row[j]
            below = 1.0 / (1.0 + e)
            slope = weights[j] * below
            # rho is e/(1 + e) where the better document leads, and 1/(1 + e) where it trails.
            right = (own_gain > g[j]) == (i < j)
            magnitude = slope * e if right else slope
            magnitudes += magnitude
            pulls += magnitude if own_gain > g[j] else -magnitude
            curvature += slope * e * below
        grad[order[i]] = -sigma * pulls
        total += sigma * magnitudes
        if hessian != CONSTANT:
            hess[order[i]] = sigma * sigma * curvature
    factor = _norm_factor(total) if norm else 1.0
    grad *= factor
    if hessian != CONSTANT:
        for i in range(n):
            hess[i] = max(factor * hess[i], HESSIAN_FLOOR)


@kernel
def _loss_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        loss[q] = _loss_query(scores[a:b], labels[a:b], params)


@kernel
def _grad_hess_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        _grad_hess_query(scores[a:b], labels[a:b], params, hessian, grad[a:b], hess[a:b])


@dataclass(frozen=True, kw_only=True)
class LambdaRank(Objective):
    """Pairwise logistic loss weighted by the change of NDCG when the pair is swapped.

    Burges, Ragno, Le (NIPS 2006), section 6.2. For every pair with y_i > y_j,
    ``loss = w_ij ln(1 + exp(-sigma (s_i - s_j)))`` with
    ``w_ij = |g_i - g_j| |d(rank_i) - d(rank_j)| / Z``, gains ``g = 2^y - 1``, discount
    ``d(r) = 1/log2(1 + r)``, Z the ideal DCG.

    Parameters
    ----------
    truncation : int, optional
        Keep a pair only when the better-ranked of its documents is at this rank or above, at
        least 1. Default None: all pairs.
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive.
    norm : bool, default True
        Divide the weight of a pair by 0.01 plus its score difference, and scale each query's
        gradients by log2(1 + L)/L, L their sum of magnitudes, as boosted-tree libraries do. False
        is the paper's loss.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    The gradient is exact for fixed weights w (they jump where ranks change). O(n^2) time for a
    query of n documents, O(n T) with truncation T; O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.LambdaRank(norm=False)
    >>> grad, hess = objective.grad_hess([1.0, 1.0], [1, 0], [2])
    >>> grad.round(3).tolist()
    [-0.185, 0.185]
    """

    name: ClassVar[str] = "lambdarank"

    truncation: int | None = None
    sigma: float | Schedule = 1.0
    norm: bool = True
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            truncation=check_cutoff("truncation", self.truncation),
            sigma=check_positive_or_schedule("sigma", self.sigma),
            norm=check_flag("norm", self.norm),
        )

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="frozen",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n^2)" if self.truncation is None else "O(n min(n, T))",
            frozen="the pair weights w: ranks and, with norm, the normalisations",
        )

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries

    def _params(self) -> tuple[Any, ...]:
        return self.truncation or 0, self.sigma, self.norm
