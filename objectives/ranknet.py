r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005. There, pairs may have any target probability; here equal grades are out.

Definition
    P_ij = 1/(1 + e^{-sigma (s_i - s_j)}), the modelled probability that i belongs before j
    loss = sum over pairs y_i > y_j of -ln P_ij, divided by their number when `normalize`
    rho_ij = 1 - P_ij = 1/(1 + e^{sigma (s_i - s_j)})
    With `norm`, a pair has the weight w_ij = 1/(c + |s_i - s_j|), c the `offset`, or 1 if no scores
    differ, times log2(1 + L)/L with L = sum_ij 2 sigma w_ij rho_ij before that.

Gradient (exact; with `norm`, exact for fixed w)
    grad_i -= sigma w rho, grad_j += sigma w rho: LambdaRank's, w = 1 without `norm`

Hessians
    exact         (default; gauss-newton is the same) sigma^2 w rho (1 - rho) at both, divided like
                  the loss, floored at 1e-10
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    As in `far_field`: no score overflows. With `norm`, sums agree with those over pairs to 1e-8.

Cost
    O(n) after a sort, by blocks (`far_field`). O(n log n) if the query has over 32 distinct grades
    or fewer than 24 documents per grade, by parts of the grades (`dominance`), and for the loss
    (`pair_losses`); both visit all pairs up to 1,024 documents. With `norm` O(n^2) for sigma c/0.01
    outside 0.125..100 and where scores span over 12288/sigma.

When to use
    When all pairs matter alike. It overfits quickly: use few rounds, a low rate, or a mixture.
    With `norm` it fits faster than anything else here: near ties, which the next tree can put in
    order, count most. That is for clean labels and many queries; a larger offset trusts them less.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine import columns as col
from .engine.columns import (
    BY_WORTH_UP_TO,
    UNLIMITED,
    Batch,
    Columns,
    Packing,
    average_over_pairs,
    write_decays,
)
from .engine.divided import OFFSET, fits, in_units, widest
from .engine.dominance import DIRECT, LOGISTIC_FIT, dominance, has_many_grades
from .engine.driver import Kernel, kernels_by_grades
from .engine.far_field import add_far_pairs, pair_table
from .engine.gains import no_discount
from .engine.jit import jit_helper, jit_inline
from .engine.normalised import normalised
from .engine.order import count_pairs
from .engine.pair_losses import (
    long_grade_loss,
    long_normalised_grade_loss,
    normalised_grade_loss,
)
from .engine.swaps import add_grade_block, add_grade_pairs, derive_grade_lanes, unit_gaps
from .engine.vector import logistic_loss
from .parameters import flag, positive, schedulable
from .schedules import Schedule
from .validation import Floats, Integers


class RankNetParams(NamedTuple):
    """The kernels' parameters."""

    sigma: float
    normalize: bool


class NormalisedParams(NamedTuple):
    """The kernels' parameters with `norm`."""

    sigma: float  # of scores in `unit`
    unit: float
    truncation: int  # 0: none
    fits: Floats  # from `divided.fits`


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


@jit_inline
def _normalised_packing(p: NormalisedParams) -> Packing:
    direct_up_to = BY_WORTH_UP_TO if widest(p.sigma) >= 0.0 else UNLIMITED
    return Packing(0, False, direct_up_to, 0, no_discount(), col.WIDE_BLOCK)


_derive_normalised, _in_normalised_lanes = normalised(weighted=False)
_normalised_kernel, _normalised_of_many = kernels_by_grades(
    NormalisedParams,
    short_up_to=BY_WORTH_UP_TO,
    in_lanes=_in_normalised_lanes,
    packing=_normalised_packing,
    by_gain=False,
    tables=unit_gaps,
    derivatives=_derive_normalised,
    query_loss=normalised_grade_loss,
    long_loss=long_normalised_grade_loss,
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
        Not with `norm`, which has its own factor for a query.
    norm : bool, default False
        Divide each pair by `offset` plus its score difference, and scale each query's gradients by
        log2(1 + L)/L, where L is the sum of their magnitudes, as in `LambdaRank`. It fits in fewer
        rounds, and overfits sooner where labels are noisy.
    offset : float, default 0.01
        With `norm`: the smaller, the more near ties count. Positive.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same; with a constant Hessian, steps grow with the number of pairs.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; with `norm` it is exact for fixed weights. O(n) time and memory after sorting
    the n documents of a query. O(n log n) time for the loss and for queries of over 32 distinct
    grades or under 24 documents per grade. With `norm` O(n^2) where sigma times offset is not from
    0.00125 to 1, and for scores that spread over more than 12288/sigma.

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
    norm: bool = flag(False)
    offset: float = positive(OFFSET)
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm and self.normalize:
            raise ValueError(
                "norm and normalize must not both be True: each scales a query's gradients; "
                "leave one of them out"
            )

    @property
    def perturbed(self) -> bool:
        """Whether it gets the noise of a mixture: not with `norm`, whose ties it would hide."""
        return not self.norm

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        whole = super().contract
        if not self.norm:
            return whole
        frozen = "w, the pairs' normalisation"
        return replace(whole, gradient="frozen", frozen=frozen, convex=False)

    @property
    def _compiled(self) -> Kernel:
        return _normalised_kernel if self.norm else _kernel

    def _fitting(self, gains: Floats, boundaries: Integers) -> Kernel:
        if not has_many_grades(gains, boundaries):
            return self._compiled
        return _normalised_of_many if self.norm else _kernel_of_many

    @property
    def _unit(self) -> float:
        return OFFSET / self.offset if self.norm else 1.0

    def _kernel_scores(self, scores: Floats) -> Floats:
        return in_units(scores, self._unit)

    def _params(self, draws: Floats | None = None) -> RankNetParams | NormalisedParams:
        sigma: Any = self.sigma  # a number by now
        if not self.norm:
            return RankNetParams(sigma, self.normalize)
        sigma /= self._unit
        return NormalisedParams(sigma, self._unit, 0, fits(sigma))
