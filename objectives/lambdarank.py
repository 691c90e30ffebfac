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
    discount,
    ideal_dcg,
    kernel,
    logistic,
    order_by_score,
)
from .schedules import Schedule, check_positive_or_schedule
from .validation import Floats, Integers, check_cutoff, check_flag

Params = tuple[int, float, bool]  # truncation (0: none), sigma, norm


@kernel
def _pairs_query(
    scores: Floats, labels: Floats, params: Params, grad: Floats, hess: Floats
) -> float:
    """Write gradient and Hessian (both zeros before) and return the loss."""
    gains = np.exp2(labels) - 1.0
    if all_equal(gains):
        return 0.0
    truncation, sigma, norm = params
    n = len(scores)
    order = order_by_score(scores)
    top = min(truncation, n) if truncation > 0 else n
    z = ideal_dcg(gains, top)
    discounts = np.empty(n)
    for position in range(n):
        discounts[position] = discount(position + 1.0)
    shorten = norm and scores[order[0]] != scores[order[n - 1]]
    total = 0.0  # sum of |lambda|
    loss = 0.0
    for first in range(top):
        i = order[first]
        for second in range(first + 1, n):
            j = order[second]
            if gains[i] == gains[j]:
                continue
            gap = scores[i] - scores[j]  # not negative: first is ranked better
            weight = abs(gains[i] - gains[j]) * (discounts[first] - discounts[second]) / z
            if shorten:
                weight /= 0.01 + gap
            x = sigma * (gap if gains[i] > gains[j] else -gap)
            rho, slope = logistic(x)
            pull = sigma * weight * rho
            curvature = sigma * sigma * weight * slope
            loss += weight * (max(0.0, -x) + math.log1p(math.exp(-abs(x))))
            total += 2.0 * pull
            if gains[i] > gains[j]:
                grad[i] -= pull
                grad[j] += pull
            else:
                grad[i] += pull
                grad[j] -= pull
            hess[i] += curvature
            hess[j] += curvature
    if norm and total > 0.0:
        scale = math.log1p(total) / (math.log(2.0) * total)  # log2(1 + L)/L, also of tiny L
        grad *= scale
        hess *= scale
        loss *= scale
    return loss


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
        unused = np.zeros(b - a)
        loss[q] = _pairs_query(scores[a:b], labels[a:b], params, unused, unused)


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
        curvature = np.zeros(b - a)
        _pairs_query(scores[a:b], labels[a:b], params, grad[a:b], curvature)
        if hessian != CONSTANT:
            hess[a:b] = np.maximum(curvature, HESSIAN_FLOOR)


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
