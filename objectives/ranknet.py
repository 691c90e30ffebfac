r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005; the cost that LambdaRank (Burges, Ragno, Le, NIPS 2006, section 6.2) scales
    by the change of NDCG. There, pairs may have any target probability; here it is 1 for the
    document of higher grade, and pairs of equal grade (target 1/2) are left out.

Definition
    pairs y_i > y_j
    P_ij = 1/(1 + e^{-sigma (s_i - s_j)}), the modelled probability that i belongs before j
    loss = sum_ij - ln P_ij = sum_ij ln(1 + e^{-sigma (s_i - s_j)}), the cross entropy of P_ij and a
    target of 1, divided by the query's number of such pairs when `normalize`

Symbols
    s scores, y grades, rho_ij = 1 - P_ij = 1/(1 + e^{sigma (s_i - s_j)})

Gradient (exact)
    grad_i -= sigma rho, grad_j += sigma rho: LambdaRank's with all weights w = 1

Hessians
    exact         (default) hess_{i,j} += sigma^2 rho (1 - rho); never negative. Divided like the
                  loss when `normalize`; floored, as all, at 1e-10.
    gauss-newton  the same: the logistic loss is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Sums between blocks agree with those over pairs to 1e-10 of the query's
    largest gradient, and mostly to 1e-13.

Cost
    O(n) after a sort, by blocks (`blocks`) with sums for every distinct grade; O(n^2) where the
    query has over 32 distinct grades or fewer than 24 documents for each, and for the loss.

When to use
    All pairs of a list matter alike, wherever they stand in it, and lists may be long. It fits
    quickly and overfits quickly: few rounds, a low learning rate, or a part in a mixture.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine import columns as col
from .engine import far_field as far
from .engine.columns import Batch, Columns, Packing, query_columns, write_decays
from .engine.driver import batch_kernels
from .engine.far_field import add_far_pairs, new_table
from .engine.jit import jit_helper, jit_inline
from .engine.order import order_by_score
from .engine.vector import logistic, padded
from .parameters import flag, schedulable
from .schedules import Schedule
from .validation import Floats

# Up to this many documents, all pairs one by one take less time than blocks of them.
DIRECT_UP_TO = 200


class RankNetParams(NamedTuple):
    """What the kernels take."""

    sigma: float
    normalize: bool


@jit_helper
def _count_pairs(labels: Floats) -> int:
    """Pairs of different grade."""
    order = order_by_score(labels)
    pairs = 0
    better = 0
    for place in range(len(labels)):
        if place > 0 and labels[order[place]] != labels[order[place - 1]]:
            better = place
        pairs += better
    return pairs


@jit_helper
def _loss(p: RankNetParams, scores: Floats, labels: Floats) -> float:
    loss = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                x = p.sigma * (scores[i] - scores[j])
                loss += max(0.0, -x) + math.log1p(math.exp(-abs(x)))  # - ln P
    pairs = _count_pairs(labels) if p.normalize else 1
    return loss / max(1, pairs)


@jit_inline
def _packing(p: RankNetParams) -> Packing:
    return Packing(False, 0, False, False, True, DIRECT_UP_TO, 0)


@jit_helper
def _near(w: Columns, batch: Batch, sigma: float) -> None:
    """Write the sums over pairs inside each block."""
    begin, size, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    from_top, scores, grades = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    for m in range(batch.blocks):
        first, n, factorizable = np.uint64(begin[m]), size[m], ratios[m] != 0
        for i in range(np.uint64(n)):
            own, own_grade = from_top[first + i], grades[first + i]
            pull = 0.0
            curvature = 0.0
            if factorizable:
                for j in range(np.uint64(padded(n))):
                    other, grade = from_top[first + j], grades[first + j]
                    below = 1.0 / (own + other)
                    # rho of the better document is the other's share, and the other way round.
                    worse = -own if own_grade < grade else 0.0
                    pull += below * (other if own_grade > grade else worse)  # rho
                    curvature += below * below * other if own_grade != grade else 0.0
                curvature *= own  # rho (1 - rho)
            else:
                for j in range(np.uint64(n)):
                    gap = own_grade - grades[first + j]
                    x = sigma * (scores[first + i] - scores[first + j])
                    rho, slope = logistic(x if gap > 0.0 else -x)
                    worse = -rho if gap < 0.0 else 0.0
                    pull += rho if gap > 0.0 else worse
                    curvature += slope if gap != 0.0 else 0.0
            pulls[first + i] = pull
            curvatures[first + i] = curvature


@jit_inline
def _tables(p: RankNetParams, levels: int) -> Floats:
    table = new_table(levels)
    for side in range(2):
        sign = -1.0 if side == far.ABOVE else 1.0
        for level in range(levels):
            for other in range(levels):
                if level != other:
                    of_pair = table[:, side, level, other]
                    of_pair[far.OWN_MOMENT], of_pair[far.BEND_OWN_MOMENT] = sign, 1.0
                    # A pair in the wrong order: 1 - rho in place of rho.
                    wrong = (level > other) == (side == far.ABOVE)
                    of_pair[far.OWN_COUNT] = -sign if wrong else 0.0
    return table


@jit_inline
def _derivatives(p: RankNetParams, batch: Batch, table: Floats, w: Columns) -> tuple[float, float]:
    write_decays(w, batch, p.sigma)
    _near(w, batch, p.sigma)
    add_far_pairs(p.sigma, table, batch, w, batch.columns, False)
    if p.normalize:
        _average(w, batch)
    return -p.sigma, p.sigma * p.sigma


@jit_inline
def _average(w: Columns, batch: Batch) -> None:
    """Divide by the query's number of pairs."""
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        pairs = _count_pairs(w.real[col.WORTH, a:b])
        for column in range(a, b):
            w.real[col.PULL, column] /= pairs
            w.real[col.CURVATURE, column] /= pairs


_kernel = batch_kernels(
    RankNetParams,
    packing=_packing,
    tables=_tables,
    derivatives=_derivatives,
    query_loss=_loss,
)


@dataclass(frozen=True, kw_only=True)
class RankNet(Objective):
    """Logistic loss on pairs: the probability that the better document comes first.

    ``loss = sum over y_i > y_j of ln(1 + exp(-sigma (s_i - s_j)))``, after Burges et al.
    (ICML 2005): LambdaRank without its weights.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive. It sets the scale of the scores and
        nothing else.
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike; by default, as in the paper, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting,
        whose steps grow with the number of pairs unless `normalize`.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents after sorting them;
    O(n^2) time for the loss, and for queries of over 32 distinct grades or under 24 documents for
    each.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankNet().grad_hess([0.0, 0.0, 0.0], [2, 0, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 0.5, 0.5], [0.5, 0.25, 0.25])
    """

    name: ClassVar[str] = "ranknet"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(convex=True)
    hessians = EXACT_OR_CONSTANT

    sigma: float | Schedule = schedulable(1.0)
    normalize: bool = flag(False)
    hessian: str = "exact"
