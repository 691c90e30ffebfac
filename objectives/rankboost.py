r"""RankBoost: exponential loss on the score difference of each pair.

Source
    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. JMLR
    2003. There, binary weak rankers are added one at a time to lower this loss; here the host's
    Newton boosting lowers it. It differs from the paper's only for pairs further apart than any
    that training meets, where it continues as a straight line.

Definition
    pairs y_i > y_j, x = s_i - s_j
    f(x) = e^{-x}               for x >= -36
           e^{36} (1 - (x + 36))  below: the tangent at -36
    loss = sum_ij f(x), divided by the query's number of such pairs when `normalize`

Symbols
    s scores, y grades

Gradient (exact: f is C^1)
    v = - f'(x) = e^{min(-x, 36)}: grad_i -= v, grad_j += v

Hessians
    gauss-newton  (default) |f'(x)| = e^{min(-x, 36)}: the exact one except on the straight line,
                  where it keeps the curvature of the seam, so that no Newton step is longer than 1
    exact         e^{-x}, and 0 below -36; floored at 1e-10. A query whose pairs are all on the
                  straight line would get unbounded steps.
    constant      1
    With `normalize` the first two are divided like the loss, before the floor.

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    e^{-x} overflows float64 at x = -710 and float32, in which hosts take gradients, at -88. The
    seam is at -36 because e^{36} = 4e15 is about 2^52: one such pair outweighs every tied pair of
    its query to float64's last bit, so that faster growth beyond it could not change where the
    gradient points. A list of 10,000 documents with all pairs there has a gradient of 4e19, and
    even the largest scores in float32 give a loss below 1e63.

    e^{-x} = e^{s_j - c} / e^{s_i - c}, c the middle of the scores. If the scores of the query are
    less than 36 apart, the factors lie within e^{-18} and e^{18}, and sums of them over each grade
    are all that is needed. Otherwise the query is sorted and each cut of its grades (`bisection`)
    is swept four times, in the direction in which documents only join a sum: sums of e^{-x} decay
    by the step to the next score, those of the straight line grow with it. No term is subtracted.

Cost
    O(n); O(n log n) with fractional grades or where scores are more than 36 apart.

When to use
    When grades have no errors. A pair pulls exponentially harder the further it is off, so one
    wrong grade can dominate its query.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import MAJORIZER_EXACT_OR_CONSTANT, Contract, Cost
from .engine.bisection import grade_levels, halve, new_bisection
from .engine.curvature import EXACT
from .engine.driver import query_kernel
from .engine.jit import jit_allocating, jit_ordered
from .engine.order import in_order, order_by_score
from .parameters import flag
from .validation import Floats, Integers


class RankBoostParams(NamedTuple):
    """The kernel's parameters."""

    normalize: bool


# The lead below which the exponential continues as its tangent; the module says why there.
WORST_LEAD = -36.0


@jit_allocating
def _factorised(
    scores: Floats, level: Integers, begins: Integers, grad: Floats, hess: Floats
) -> float:
    """Write gradient and curvature and return the loss, if no pair is on the straight line."""
    n = len(scores)
    middle = 0.5 * (scores.min() + scores.max())
    levels = len(begins) - 1
    worse, better = np.zeros(levels), np.zeros(levels)
    e, inverse = np.empty(n), np.empty(n)
    for i in range(n):
        e[i] = math.exp(scores[i] - middle)
        inverse[i] = 1.0 / e[i]
        worse[level[i]] += e[i]
        better[level[i]] += inverse[i]
    # Turn the sums of each grade into those of all grades below it, and above it.
    loss = 0.0
    below = 0.0
    above = 0.0
    for k in range(levels):
        loss += below * better[k]
        worse[k], below = below, below + worse[k]
    for k in range(levels - 1, -1, -1):
        better[k], above = above, above + better[k]
    for i in range(n):
        up = worse[level[i]] * inverse[i]
        down = better[level[i]] * e[i]
        grad[i] = down - up
        hess[i] = down + up
    return loss


@jit_ordered
def _sweeps(
    scores: Floats,
    labels: Floats,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> float:
    """Write gradient and curvature and return the loss."""
    n = len(scores)
    order = order_by_score(scores)
    t, cuts = in_order(scores, order), new_bisection(in_order(labels, order))
    ranked_grad, ranked_hess = np.zeros(n), np.zeros(n)
    steepest = math.exp(-WORST_LEAD)
    straight = 0.0 if hessian == EXACT else steepest  # the curvature there
    loss = 0.0
    waiting = 1
    while waiting > 0:
        waiting, start, cut, stop = halve(cuts, int(waiting))
        if cut == stop:
            continue
        better, worse = cuts.documents[start:cut], cuts.documents[cut:stop]
        last_better, last_worse = better[::-1], worse[::-1]
        # Each sweep goes in the direction in which documents only join a sum.
        met = 0
        beyond = 0.0
        before = t[better[0]]
        for i in better:  # and the documents ahead of it by more than 36
            beyond += met * (before - t[i])
            before = t[i]
            while met < len(worse) and t[i] - t[worse[met]] < WORST_LEAD:
                beyond += WORST_LEAD - (t[i] - t[worse[met]])
                met += 1
            loss += steepest * (met + beyond)
            ranked_grad[i] -= steepest * met
            ranked_hess[i] += straight * met
        met = 0
        for j in last_worse:
            while met < len(better) and t[last_better[met]] - t[j] < WORST_LEAD:
                met += 1
            ranked_grad[j] += steepest * met
            ranked_hess[j] += straight * met
        met = 0
        total = 0.0
        before = t[last_better[0]]
        for i in last_better:  # and all other documents
            total *= math.exp(before - t[i])
            before = t[i]
            while met < len(worse) and t[i] - t[last_worse[met]] >= WORST_LEAD:
                total += math.exp(t[last_worse[met]] - t[i])
                met += 1
            loss += total
            ranked_grad[i] -= total
            ranked_hess[i] += total
        met = 0
        total = 0.0
        before = t[worse[0]]
        for j in worse:
            total *= math.exp(t[j] - before)
            before = t[j]
            while met < len(better) and t[better[met]] - t[j] >= WORST_LEAD:
                total += math.exp(t[j] - t[better[met]])
                met += 1
            ranked_grad[j] += total
            ranked_hess[j] += total
    for rank in range(n):
        grad[order[rank]] = ranked_grad[rank]
        hess[order[rank]] = ranked_hess[rank]
    return loss


@query_kernel(RankBoostParams)
def _kernel(
    p: RankBoostParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    if n == 0:
        return 0.0
    level = np.empty(n, dtype=np.int64)
    begins = grade_levels(labels, level)
    if scores.max() - scores.min() <= -WORST_LEAD:
        loss = _factorised(scores, level, begins, grad, hess)
    else:
        loss = _sweeps(scores, labels, hessian, grad, hess)
    pairs = 0.0
    for k in range(len(begins) - 1):
        pairs += float(begins[k]) * (begins[k + 1] - begins[k])
    if p.normalize and pairs > 0.0:
        for i in range(len(scores)):
            grad[i] /= pairs
            hess[i] /= pairs
        loss /= pairs
    return loss


@dataclass(frozen=True, kw_only=True)
class RankBoost(Objective):
    """Exponential loss on pairs: the worse a pair, the harder it pulls.

    ``loss = sum over y_i > y_j of exp(-(s_i - s_j))``, after Freund, Iyer, Schapire, Singer (JMLR
    2003); below a difference of -36 the exponential continues as its tangent, so that no score
    overflows.

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike. By default, as in the paper, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The first two are the same except below a difference of -36, where the true curvature is
        zero and the default stays at e^36. Constant is plain gradient boosting, whose steps grow
        with the number of pairs unless `normalize`.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n log n) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankBoost().grad_hess([0.0, 0.0, 0.0], [2, 1, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-2.0, 0.0, 2.0], [2.0, 2.0, 2.0])
    """

    name: ClassVar[str] = "rankboost"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(cost=Cost.N_LOG_N, convex=True)
    hessians = MAJORIZER_EXACT_OR_CONSTANT

    normalize: bool = flag(False)
    hessian: str = "gauss-newton"
