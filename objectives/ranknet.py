r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005. There, pairs may have any target probability; here equal grades are out.

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
    As in `far_field`: no score overflows.

Cost
    O(n) after a sort, by blocks (`far_field`). O(n log n) if the query has over 32 distinct grades
    or fewer than 24 documents per grade, by parts of the grades (`dominance`), and for the loss
    (`pair_losses`); both visit all pairs up to 1,024 documents.

When to use
    When all pairs matter alike. It overfits quickly: use few rounds, a low rate, or a mixture.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine import columns as col
from .engine.columns import UNLIMITED, Batch, Columns, Packing, average_over_pairs, write_decays
from .engine.dominance import DIRECT, LOGISTIC_FIT, dominance, has_many_grades
from .engine.driver import Kernel, kernels_by_grades
from .engine.far_field import add_far_pairs, pair_table
from .engine.gains import no_discount
from .engine.jit import jit_helper, jit_inline
from .engine.order import count_pairs
from .engine.pair_losses import long_grade_loss
from .engine.swaps import add_grade_block, add_grade_pairs, derive_grade_lanes
from .engine.vector import logistic_loss
from .parameters import flag, schedulable
from .schedules import Schedule
from .validation import Floats, Integers


class RankNetParams(NamedTuple):
    """The kernels' parameters."""

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


@jit_helper
def _long_loss(p: RankNetParams, scores: Floats, labels: Floats) -> float:
    loss: float = long_grade_loss(p.sigma, scores, labels)
    return loss / max(1, count_pairs(labels)) if p.normalize else loss


@jit_inline
def _packing(p: RankNetParams) -> Packing:
    return Packing(0, False, col.DIRECT_UP_TO, 0, no_discount(), col.WIDE_BLOCK)


_add_many = dominance(add_grade_pairs, divided=False, weighted=False)
long = many = False  # bound below: whether queries may be long, and long ones have many grades


def _derive(p: RankNetParams, batch: Batch, table: Floats, w: Columns) -> tuple[float, float]:
    write_decays(w, batch, p.sigma)
    for m in range(batch.blocks):
        begin, size = w.whole[col.BEGIN, m], w.whole[col.SIZE, m]
        if many and size > DIRECT:
            _add_many(begin, begin + size, UNLIMITED, p.sigma, LOGISTIC_FIT, w)
        else:
            add_grade_block(m, p.sigma, w)
    if long:
        add_far_pairs(p.sigma, table, batch, w, batch.columns)
    if p.normalize:
        average_over_pairs(w, batch)
    return -p.sigma, p.sigma * p.sigma


_kernel, _kernel_of_many = kernels_by_grades(
    RankNetParams,
    in_lanes=derive_grade_lanes,
    packing=_packing,
    by_gain=False,
    tables=pair_table,
    derivatives=_derive,
    query_loss=_loss,
    long_loss=_long_loss,
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
        The first two are the same; with a constant Hessian, steps grow with the number of pairs.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n) time and memory after sorting the n documents of a query. O(n log n) time
    for the loss and for queries of over 32 distinct grades or under 24 documents per grade.

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
