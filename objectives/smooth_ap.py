r"""SmoothAP: average precision with smooth ranks.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    section 4.2, equation (9). There A is maximised; here -A is minimised.
    *Erratum of (9):* as printed, the term j = i is l_i^2 / (2 r^_i), so that A does not tend to AP
    as sigma falls. It stands for 1(rank_j <= rank_i), which is 1 for j = i, and is 1 here.

Definition
    l_i = 1(y_i > 0), R = sum_i l_i
    G(x) = 1/(1 + e^{x/sigma})
    r^_i = 1 + sum_{j != i} G(s_i - s_j)                                         (5)
    N_i  = 1 + sum_{j != i} l_j G(s_i - s_j)
    A    = 1/R sum_i l_i N_i / r^_i                                              (9)
    loss = -A

Symbols
    s scores; rho_ij = G (1 - G) at s_i - s_j (symmetric); w_ij = l_i (l_j - N_i/r^_i)/(R r^_i).

Gradient (exact)
    d loss / d s_p = sum_j (w_pj - w_jp) rho_pj / sigma

Hessians
    gauss-newton  (default) sum_j |lambda_pj| / (2 sigma), lambda_pj the j-th term of the gradient:
                  the curvature of a logistic loss with the same pull at a tie; a Newton step is at
                  most 2 sigma.
    constant      1

Degenerate queries
    Fewer than two documents, or none or all of them relevant: zero loss and gradient.

Numerics
    Exponentials get only non-positive arguments; no score overflows. Each pair takes one division,
    by exponentials of scores, unless scores are more than 150 sigma from the query's first. Sums
    over long lists agree with those over pairs to 1e-11 of the query's largest gradient.

Cost
    O(n log n), by `long_smooth_ap`; O(n R), some 2 ns per pair of a relevant document and another
    one, up to 512 documents or 48 relevant ones.

When to use
    When relevance is binary and average precision is the metric; lists may have any length. Compare
    it with RankNet on that metric: a loss that resembles a metric need not be the best for it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract, Cost
from .engine.curvature import LOSS
from .engine.driver import Kernel, query_kernel
from .engine.jit import jit_allocating
from .engine.long_smooth_ap import add_long, score_powers, write_shares
from .engine.order import all_equal
from .engine.soft_indicators import check_width, relevance
from .parameters import checked
from .schedules import Schedule
from .validation import Floats, Integers


class SmoothAPParams(NamedTuple):
    """The kernels' parameters."""

    sigma: float


# Up to SHORT documents, or FEW relevant ones, all pairs are visited one by one. Beyond that,
# `long_smooth_ap` is twice as fast where 200 of 512 are relevant, but takes seconds to compile.
SHORT, FEW = 512, 48


@jit_allocating
def _smooth_ranks(
    scores: Floats, relevant: Floats, sigma: float, ranks: Floats, hits: Floats
) -> None:
    """Write r^_i and N_i of the relevant documents."""
    n = len(scores)
    above, below = np.empty(n), np.empty(n)
    powers, factorised = score_powers(scores, sigma)
    for i in range(n):
        if relevant[i] == 0.0:
            continue
        write_shares(scores, sigma, powers, factorised, i, above, below)
        rank = 1.0
        hit = 1.0  # not 1/2, as (9) prints it
        for j in range(n):
            rank += above[j]  # (5)
            hit += relevant[j] * above[j]
        ranks[i] = rank
        hits[i] = hit


@jit_allocating
def _pairs(
    p: SmoothAPParams, scores: Floats, relevant: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n, sigma = len(scores), p.sigma
    total = relevant.sum()
    ranks, hits = np.ones(n), np.ones(n)
    _smooth_ranks(scores, relevant, sigma, ranks, hits)
    loss = 0.0
    for i in range(n):
        loss -= relevant[i] * hits[i] / ranks[i] / total  # (9)
    if hessian == LOSS:
        return loss
    above, below = np.empty(n), np.empty(n)
    powers, factorised = score_powers(scores, sigma)
    back = np.empty(n)  # w_ji, the same for every relevant i
    for j in range(n):
        back[j] = relevant[j] * (1.0 - hits[j] / ranks[j]) / (total * ranks[j])
    size = np.zeros(n)
    for i in range(n):
        if relevant[i] == 0.0:
            continue
        write_shares(scores, sigma, powers, factorised, i, above, below)
        fraction = hits[i] / ranks[i]
        scale = 1.0 / (total * ranks[i])  # w_ij = scale (l_j - fraction)
        # The pulls on i itself, then on documents that are not relevant: no pair is visited twice.
        own = 0.0
        magnitude = 0.0
        for j in range(n):
            pull = (scale * (relevant[j] - fraction) - back[j]) * above[j] * below[j] / sigma
            own += pull
            magnitude += abs(pull)
        for j in range(n):
            pull = (1.0 - relevant[j]) * scale * fraction * above[j] * below[j] / sigma
            grad[j] += pull
            size[j] += pull
        grad[i] += own
        size[i] += magnitude
    for i in range(n):
        hess[i] = 0.5 / sigma * size[i]
    return loss


@query_kernel(SmoothAPParams)
def _short(
    p: SmoothAPParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    relevant = relevance(labels)
    if all_equal(relevant):
        return 0.0
    return _pairs(p, scores, relevant, hessian, grad, hess)


@query_kernel(SmoothAPParams)
def _long(
    p: SmoothAPParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    relevant = relevance(labels)
    if all_equal(relevant):
        return 0.0
    if len(scores) <= SHORT or relevant.sum() <= FEW:
        return _pairs(p, scores, relevant, hessian, grad, hess)
    return add_long(scores, relevant, p.sigma, hessian, grad, hess)


class SmoothAPKernel(Kernel):
    """Compiles what long queries need only if there are any."""

    def derivatives(self, p: SmoothAPParams, boundaries: Integers, *args: Any) -> None:
        """Write gradient and Hessian of every query."""
        kernel = _long if np.diff(boundaries).max(initial=0) > SHORT else _short
        kernel.derivatives(p, boundaries, *args)


@dataclass(frozen=True, kw_only=True)
class SmoothAP(Objective):
    """Smooth average precision, over the whole list.

    Chapelle, Wu (2009), equation (9), with ``l = 1(y > 0)``:
    ``loss = -1/R sum_i l_i N_i / r_i`` with smooth ranks ``r_i = 1 + sum_j G(s_i - s_j)``, smooth
    counts of relevant documents ``N_i = 1 + sum_j l_j G(s_i - s_j)``, sums over j != i,
    ``G(x) = 1/(1 + exp(x/sigma))`` and ``R = sum_i l_i``. (The paper prints 1/2 for the 1 in N,
    with which the limit would not be average precision.)

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Width of the sigmoid in score units, positive. Only the scores relative to it matter, and
        boosting that starts from equal scores is indifferent to it (Newton steps are in the same
        units) unless the Hessian is constant.
        ``Schedule("halving", M)`` is the paper's annealing.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Constant is plain gradient boosting. In validation NDCG@10, as in `SmoothNDCG`, the two
        reached .455 and .401 on OHSUMED and .698 and .666 on MQ2008.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The loss tends to minus the average precision as sigma falls. O(n log n) time for a query of n
    documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.SmoothAP().grad_hess([0.2, 0.1, 0.0], [0, 0, 1], [3])
    >>> grad.round(3).tolist()
    [0.057, 0.058, -0.115]
    """

    name: ClassVar[str] = "smooth-ap"
    kernel = SmoothAPKernel(SmoothAPParams)
    claims: ClassVar[Contract] = Contract(cost=Cost.N_LOG_N, metric_offset=0.0)

    sigma: float | Schedule = checked(check_width, 1.0)
    hessian: str = "gauss-newton"
