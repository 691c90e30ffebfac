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
    With truncation T, only pairs with a document at rank <= T count; Z_T is the ideal DCG at T.
    With `norm`, each w_ij is divided by c + |s_i - s_j|, c the `offset`, unless all scores of the
    query are equal, and then all w_ij of the query are multiplied by log2(1 + L)/L, where
    L = sum_ij 2 sigma w_ij rho_ij is the sum of |lambda| over both documents of every pair.

Gradient (exact for fixed w)
    grad_i -= sigma w rho, grad_j += sigma w rho

Hessians
    exact         (default; gauss-newton is the same) hess_{i,j} += sigma^2 w rho (1 - rho), for
                  fixed w; never negative; floored at 1e-10
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Sums between blocks agree with those over pairs to 1e-10 of the query's
    largest gradient, mostly to 1e-13, as does the loss. With `norm`: to 1e-8, mostly to 1e-9.

Cost
    O(n) after a sort, by blocks (`columns`) with sums for every distinct grade. O(n log n) if the
    query has over 32 distinct grades or fewer than 24 documents per grade, by parts of the grades
    (`dominance`), and for the loss (`pair_losses`); both visit all pairs up to 1,024 documents.
    With `norm` O(n min(n, T)) for sigma c/0.01 outside 0.125..100 and where scores span over
    12288/sigma.

When to use
    As the baseline to compare with: most papers and libraries have it. Lists may have any length.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from . import targets
from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine import columns as col
from .engine import swaps
from .engine.columns import BY_WORTH_UP_TO, UNLIMITED, Batch, Columns, Packing, write_decays
from .engine.divided import OFFSET, fits, in_units, widest
from .engine.dominance import DIRECT, LOGISTIC_FIT, dominance, has_many_grades
from .engine.driver import Kernel, kernels_by_grades, query_kernel
from .engine.far_field import add_weighted_far_pairs, new_table
from .engine.gains import Discount
from .engine.jit import jit_inline
from .engine.normalised import normalised
from .engine.pair_losses import long_normalised_loss, long_swap_loss
from .engine.targets import NDCG, VARIANTS, add_swapped_pairs, swapped_loss
from .gains import Gain, discount_field, gain_field
from .parameters import checked, choice, cutoff, flag, positive, schedulable
from .schedules import Schedule
from .validation import Floats, Integers

# Up to these lengths or truncations, visiting all pairs is faster: without norm, with norm.
DIRECT_UP_TO, DIRECT_TOP = (480, BY_WORTH_UP_TO), (110, 160)
NO_FITS = np.zeros((1, 1, 1))


class LambdaRankParams(NamedTuple):
    """The kernels' parameters."""

    target: int  # one of `targets.TARGETS`
    variant: int  # one of `targets.VARIANTS`
    truncation: int  # 0: none
    sigma: float
    norm: bool
    discount: Discount
    fits: Floats  # from `divided.fits`, with norm
    unit: float  # of the scores, with norm; sigma is that of scores in this unit


@jit_inline
def _packing(p: LambdaRankParams) -> Packing:
    top, block = p.truncation, col.WIDE_BLOCK
    direct = 0 < top <= DIRECT_TOP[int(p.norm)] or (p.norm and widest(p.sigma) < 0.0)
    direct_up_to = UNLIMITED if direct else DIRECT_UP_TO[int(p.norm)]
    return Packing(top, p.target == NDCG, direct_up_to, top, p.discount, block)


_, _add_block = swaps.swap_pairs(divided=False)
_add_many = dominance(swaps.swap_pairs(divided=False, apart=True)[0], divided=False, weighted=True)


def _write_derivatives(
    p: LambdaRankParams, batch: Batch, table: Floats, w: Columns
) -> tuple[float, float]:
    swaps.write_discounts(p.discount, batch, w)
    write_decays(w, batch, p.sigma)
    for m in range(batch.blocks):
        begin, size = w.whole[col.BEGIN, m], w.whole[col.SIZE, m]
        first = 0 if batch.spans_blocks else begin
        top = first + p.truncation if p.truncation > 0 else UNLIMITED
        if many and size > DIRECT and top - first > DIRECT // 2:
            _add_many(begin, begin + size, top, p.sigma, LOGISTIC_FIT, w)
        else:
            _add_block(m, top, batch, p.sigma, w)
    if long and batch.spans_blocks:
        swaps.write_swap_table(table, w, batch)
        top = p.truncation if p.truncation > 0 else batch.columns
        add_weighted_far_pairs(p.sigma, table, batch, w, top)
    return -p.sigma, p.sigma * p.sigma


_write_normalised, _in_normalised_lanes = normalised(weighted=True)
long = many = False  # bound below: whether queries may be long, and long ones have many grades
_both = {"packing": _packing, "sort": True, "query_loss": swapped_loss}
_kernel, _kernel_of_many = kernels_by_grades(
    LambdaRankParams,
    short_up_to=DIRECT_UP_TO[0],
    tables=new_table,
    derivatives=_write_derivatives,
    in_lanes=swaps.derive_lanes,
    long_loss=long_swap_loss,
    **_both,
)
_normalised_kernel, _normalised_of_many = kernels_by_grades(
    LambdaRankParams,
    short_up_to=DIRECT_UP_TO[1],
    tables=swaps.swap_gaps,
    derivatives=_write_normalised,
    in_lanes=_in_normalised_lanes,
    long_loss=long_normalised_loss,
    **_both,
)


@query_kernel(LambdaRankParams)
def _pair_kernel(
    p: LambdaRankParams, scores: Floats, gains: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    return add_swapped_pairs(p, scores, gains, grad, hess)


@dataclass(frozen=True, kw_only=True)
class LambdaRank(Objective):
    """Pairwise logistic loss weighted by how much swapping the pair changes a metric.

    Burges, Ragno, Le (NIPS 2006), section 6.2. For every pair with y_i > y_j,
    ``loss = w_ij ln(1 + exp(-sigma (s_i - s_j)))`` with
    ``w_ij = |g_i - g_j| |d(rank_i) - d(rank_j)| / Z``, gains ``g = 2^y - 1``, discount
    ``d(r) = 1/log2(1 + r)``, Z the ideal DCG.

    Parameters
    ----------
    target : str, default "ndcg"
        The metric whose change weights a pair: "ndcg", "dcg", "map", "mrr", "err", "precision@k",
        "recall@k" or "arp", the average relevance position (sum y r / sum y). For map, mrr,
        precision and recall, y > 0 is relevant. err takes a query's largest gain as the top of its
        scale. Only ndcg, dcg and err use gains, and only ndcg and dcg a discount.
    variant : {"lambda", "ndcg-loss2", "ndcg-loss2++"}, default "lambda"
        For ndcg and dcg (Wang, Li, Golbandi, Bendersky, Najork, CIKM 2018): NDCG-Loss2 weights a
        pair by ``|g_i - g_j| (d(r) - d(r + 1)) / Z``, where r is the distance between the two
        ranks, and NDCG-Loss2++ by ten times that plus LambdaRank's weight.
    truncation : int, optional
        Keep only pairs with a document at this rank or above, at least 1. Default: all pairs.
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive.
    norm : bool, default True
        Divide the weight of a pair by `offset` plus its score difference, and scale each query's
        gradients by log2(1 + L)/L, where L is the sum of their magnitudes, as boosted-tree
        libraries do. False is the paper's loss.
    offset : float, default 0.01
        With `norm`: the smaller, the more near ties count. Positive.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.
    gain, discount : see `Objective`
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The gradient is exact for fixed weights w (they jump where ranks change). O(n) memory and, after
    a sort, O(n) time; O(n log n) time for the loss and for queries of over 32 distinct grades or
    under 24 documents per grade. With `norm` O(n^2), or O(n T) with truncation T, where sigma times
    offset is not from 0.00125 to 1, and for scores that spread over more than 12288/sigma.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.LambdaRank(norm=False)
    >>> grad, hess = objective.grad_hess([1.0, 1.0], [1, 0], [2])
    >>> grad.round(3).tolist()
    [-0.185, 0.185]
    """

    name: ClassVar[str] = "lambdarank"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        gradient="frozen", frozen="the pair weights w: ranks and, with norm, the normalisations"
    )
    hessians = EXACT_OR_CONSTANT

    target: str = checked(targets.check_target, "ndcg")
    variant: str = choice("lambda", VARIANTS)
    truncation: int | None = cutoff()
    sigma: float | Schedule = schedulable(1.0)
    norm: bool = flag(True)
    offset: float = positive(OFFSET)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field()
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        targets.check_target_parameters(self, self.target)

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain` makes a difference."""
        return self.target in targets.WITH_GAIN

    @property
    def _gain(self) -> Gain:
        return self.gain if self.counts_gains else "linear"

    @property
    def _by_pairs(self) -> bool:
        return self.variant != "lambda" or self.target in ("map", "mrr", "err")

    @property
    def _compiled(self) -> Kernel:
        if self._by_pairs:
            return _pair_kernel
        return _normalised_kernel if self.norm else _kernel

    def _fitting(self, gains: Floats, boundaries: Integers) -> Kernel:
        near_top = 0 < (self.truncation or 0) <= DIRECT // 2
        if self._by_pairs or near_top or not has_many_grades(gains, boundaries):
            return self._compiled
        return _normalised_of_many if self.norm else _kernel_of_many

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        return targets.gains_of_target(self.target, self.gain, labels, boundaries)

    @property
    def _unit(self) -> float:
        return OFFSET / self.offset if self.norm else 1.0

    def _kernel_scores(self, scores: Floats) -> Floats:
        return in_units(scores, self._unit)

    def _params(self, draws: Floats | None = None) -> LambdaRankParams:
        sigma: Any = self.sigma  # a number by now
        sigma /= self._unit
        target, discount = targets.target_of_kernels(self.target, self.discount)
        table = fits(sigma) if self.norm and not self._by_pairs else NO_FITS
        variant, top = VARIANTS.index(self.variant), self.truncation or 0
        return LambdaRankParams(target, variant, top, sigma, self.norm, discount, table, self._unit)

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return replace(super().contract, cost=Cost.QUADRATIC if self._by_pairs else Cost.LINEAR)
