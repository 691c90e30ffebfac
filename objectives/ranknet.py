r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005. There, pairs have any target probability; here pairs of equal grade are out.

Definition
    P_ij = 1/(1 + e^{-sigma (s_i - s_j)}), the modelled probability that i belongs before j
    loss = sum over pairs y_i > y_j of -ln P_ij, divided by their number when `normalize`
    rho_ij = 1 - P_ij = 1/(1 + e^{sigma (s_i - s_j)})

Gradient (exact)
    grad_i -= sigma rho, grad_j += sigma rho: LambdaRank's with all weights w = 1

Hessians
    exact         (default; gauss-newton is the same) sigma^2 rho (1 - rho) at both, divided like
                  the loss, floored at 1e-10
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    As `far_field`: no score overflows.

Cost
    O(n) after a sort, by blocks (`far_field`). O(n log n) where the query has over 32 distinct
    grades or fewer than 24 documents for each, by parts of them (`dominance`), and all pairs up to
    1,024 documents. O(n^2) for the loss.

When to use
    All pairs matter alike. It fits and overfits quickly: few rounds, a low rate, or in a mixture.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine import columns as col
from .engine.columns import (
    UNLIMITED,
    Batch,
    Columns,
    Packing,
    average_over_pairs,
    write_decays,
)
from .engine.dominance import DIRECT, LOGISTIC_FIT, dominance, has_many_grades
from .engine.driver import Kernel, batch_kernels, bind
from .engine.far_field import add_far_pairs, pair_table
from .engine.gains import no_discount
from .engine.jit import jit_helper, jit_inline
from .engine.order import count_pairs
from .engine.vector import logistic, logistic_loss, padded
from .parameters import flag, schedulable
from .schedules import Schedule
from .validation import Floats, Integers


class RankNetParams(NamedTuple):
    """What the kernels take."""

    sigma: float
    normalize: bool


@jit_helper
def _loss(p: RankNetParams, scores: Floats, labels: Floats) -> float:
    loss = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                loss += logistic_loss(p.sigma * (scores[i] - scores[j]))  # -ln P
    return loss / max(1, count_pairs(labels)) if p.normalize else loss


@jit_inline
def _packing(p: RankNetParams) -> Packing:
    # Up to 200 documents, all pairs one by one take less time than blocks of them.
    return Packing(False, 0, False, False, True, 200, 0, no_discount())


@jit_helper
def _add_rows(
    rows: tuple[int, int],
    partners: tuple[int, int],
    factorizable: bool | np.bool_,
    sigma: float,
    w: Columns,
) -> float:
    """Write the sums over the pairs of columns with others; see `swaps.swap_pairs`."""
    from_top, scores, grades = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        own, own_grade = from_top[i], grades[i]
        pull, curvature = 0.0, 0.0
        if factorizable:
            for j in range(count):
                other, grade = from_top[start + j], grades[start + j]
                below = 1.0 / (own + other)
                # rho of the better document is the other's share, and the other way round.
                share = other if own_grade > grade else -own if own_grade < grade else 0.0
                pull += below * share  # rho
                curvature += below * below * other if own_grade != grade else 0.0
            curvature *= own  # rho (1 - rho)
        else:
            for j in range(count):
                gap = own_grade - grades[start + j]
                x = sigma * (scores[i] - scores[start + j])
                rho, slope = logistic(x if gap > 0.0 else -x)
                pull += rho if gap > 0.0 else -rho if gap < 0.0 else 0.0
                curvature += slope if gap != 0.0 else 0.0
        pulls[i], curvatures[i] = pull, curvature
    return 0.0


_add_many = dominance(_add_rows, divided=False, weighted=False)


many = False  # bound below: whether a long query may have many grades


def _derive(p: RankNetParams, batch: Batch, table: Floats, w: Columns) -> tuple[float, float]:
    begin, size, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    write_decays(w, batch, p.sigma)
    for m in range(batch.blocks):
        first, end, factorizable = begin[m], begin[m] + size[m], ratios[m] != 0
        last = begin[m] + padded(size[m]) if factorizable else end
        if many and size[m] > DIRECT:
            _add_many(first, end, UNLIMITED, p.sigma, LOGISTIC_FIT, w)
        else:
            _add_rows((first, end), (first, last), factorizable, p.sigma, w)
    add_far_pairs(p.sigma, table, batch, w, batch.columns, False)
    if p.normalize:
        average_over_pairs(w, batch)
    return -p.sigma, p.sigma * p.sigma


# The one for many grades takes long to compile.
_kernel, _kernel_of_many = (
    batch_kernels(
        RankNetParams,
        packing=_packing,
        tables=pair_table,
        derivatives=jit_inline(bind(_derive, many=many)),
        query_loss=_loss,
    )
    for many in (False, True)
)


@dataclass(frozen=True, kw_only=True)
class RankNet(Objective):
    """Logistic loss on pairs: the probability that the better document comes first.

    ``loss = sum over y_i > y_j of ln(1 + exp(-sigma (s_i - s_j)))``, after Burges et al.
    (ICML 2005): LambdaRank without its weights.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Steepness of the loss in score units, positive; it only sets the scale of the scores.
    normalize : bool, default False
        Average over the query's pairs. By default, as in the paper, a query counts by their number.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same; with a constant one steps grow with the number of pairs.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    Exact gradient; O(n) time and memory after sorting the n documents of a query. O(n log n) time
    for over 32 distinct grades or under 24 documents for each, O(n^2) for the loss.

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

    def _fitting(self, gains: Floats, boundaries: Integers) -> Kernel:
        return _kernel_of_many if has_many_grades(gains, boundaries) else _kernel
