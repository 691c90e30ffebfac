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
    O(n) after a sort, by blocks (`far_field`) with sums for every distinct grade, and O(n log n) if
    the query has over 32 distinct grades or fewer than 24 documents per grade (`parts`). O(n T)
    with a truncation T. With `norm` O(n^2) for sigma c below 0.0001 and where scores
    span over 12288/sigma.

When to use
    As the baseline to compare with: most papers and libraries have it. Lists may have any length.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from . import targets
from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine.columns import (
    BEGIN,
    OWN,
    PLACE,
    SIZE,
    UNLIMITED,
    Batch,
    Columns,
    Rules,
    Tuning,
)
from .engine.divided import OFFSET
from .engine.driver import Kernel, query_kernel
from .engine.gains import Discount, rank_discount
from .engine.jit import jit_helper
from .engine.logistic import (
    logistic_fit,
    logistic_loss_pair,
    logistic_pair,
    norm_rules,
    scale_sums,
)
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel, step
from .engine.swaps import NDCG, VARIANTS, add_swapped_pairs
from .gains import Gain, discount_field, gain_field
from .parameters import checked, choice, cutoff, flag, positive, schedulable
from .ranknet import norm_cost
from .schedules import Schedule
from .validation import Floats, Integers


class LambdaRankParams(NamedTuple):
    """The parameters of the kernel for other targets and variants."""

    target: int  # one of `targets.TARGETS`
    variant: int  # one of `targets.VARIANTS`
    truncation: int  # 0: none
    sigma: float
    norm: bool
    offset: float
    discount: Discount


_logistic, _logistic_loss = jit_helper(logistic_pair), jit_helper(logistic_loss_pair)


@jit_helper
def _swap_weight(worse: Document, better: Document) -> float:
    """Return |g_i - g_j| |d_i - d_j|."""
    weight: float = (better.worth - worse.worth) * abs(worse.own - better.own)
    return weight


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return w rho and w rho (1 - rho), before a query's normalisation."""
    weight = _swap_weight(worse, better)
    pull, bend = _logistic(p, worse, better)
    return weight * pull, weight * bend


def of_loss(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return w rho, and half of the loss: each document has a share."""
    weight = _swap_weight(worse, better)
    pull, loss = _logistic_loss(p, worse, better)
    return weight * pull, weight * loss


@step
def write_discounts(p: Rules, batch: Batch, w: Columns) -> None:
    """Write the discounts of ranks into OWN."""
    for m in range(batch.blocks):
        begin, n = np.uint64(w.whole[BEGIN, m]), w.whole[SIZE, m]
        for column in range(begin, begin + np.uint64(n)):
            w.real[OWN, column] = rank_discount(p.discount, n, w.whole[PLACE, column] + 1)


def _kernel(few: bool) -> Kernel:
    steps: dict[str, Any] = {"prepare": write_discounts, "finish": scale_sums}
    fit, loss_fit = (partial(logistic_fit, weighted=True, losses=each) for each in (False, True))
    return sigmoid_kernel(
        Sums(pair_loop(of_pair, few=few), fit, **steps),
        Sums(pair_loop(of_loss, few=few), loss_fit, **steps),
    )


@query_kernel(LambdaRankParams)
def _swap_kernel(
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
    a sort, O(n) time; O(n log n) time for queries of over 32 distinct grades or under 24 documents
    per grade. With `norm` O(n^2) where sigma times offset is below 0.0001, and for scores that
    spread over more than 12288/sigma.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.LambdaRank(norm=False)
    >>> grad, hess = objective.grad_hess([1.0, 1.0], [1, 0], [2])
    >>> grad.round(3).tolist()
    [-0.185, 0.185]
    """

    name: ClassVar[str] = "lambdarank"
    kernel = _kernel(few=False)
    kernel_of_top = _kernel(few=True)
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
    def _by_pairs(self) -> bool:
        return self.variant != "lambda" or self.target in ("map", "mrr", "err")

    @property
    def _compiled(self) -> Kernel:
        if self._by_pairs:
            return _swap_kernel
        return self.kernel_of_top if self.truncation else self.kernel

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        return targets.gains_of_target(self.target, self.gain, labels, boundaries)

    def swap_params(self) -> LambdaRankParams:
        """Return the parameters of kernels that visit all pairs."""
        sigma: Any = self.sigma  # a number by now
        target, discount = targets.target_of_kernels(self.target, self.discount)
        variant, top = VARIANTS.index(self.variant), self.truncation or 0
        return LambdaRankParams(target, variant, top, sigma, self.norm, self.offset, discount)

    def _params(self, draws: Any = None) -> LambdaRankParams | Rules:
        p = self.swap_params()
        if self._by_pairs:
            return p
        logistic = norm_rules(self.sigma, self.offset, self.norm)
        if self.truncation:  # all pairs with one of the first documents
            logistic["tuning"] = Tuning(direct=UNLIMITED)
        return Rules(
            **logistic,
            by_gain=True,
            normalize=p.target == NDCG,
            k=p.truncation,
            top=p.truncation,
            sort=True,
            discount=p.discount,
            ideal=p.discount,
        )

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        cost = norm_cost(self.sigma, self.offset) if self.norm else Cost.LINEAR
        if self._by_pairs:
            cost = Cost.QUADRATIC
        return replace(super().contract, cost=Cost.N_TIMES_CUTOFF if self.truncation else cost)
