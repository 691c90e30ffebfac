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
    O(n) after a sort, by blocks (`far_field`), and O(n log n) if the query has over 32 distinct
    grades or fewer than 24 documents per grade (`parts`). With `norm` O(n^2) for sigma c below
    0.0001 and where scores span over 12288/sigma.

When to use
    When all pairs matter alike. It overfits quickly: use few rounds, a low rate, or a mixture.
    With `norm` it fits faster than anything else here: near ties, which the next tree can put in
    order, count most. That is for clean labels and many queries; a larger offset trusts them less.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine.columns import Rules
from .engine.divided import OFFSET, has_fit
from .engine.logistic import (
    logistic_fit,
    logistic_loss_pair,
    logistic_pair,
    norm_rules,
    scale_sums,
)
from .engine.pairs import pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel
from .parameters import flag, positive, schedulable
from .schedules import Schedule


def norm_cost(sigma: Any, offset: float) -> Cost:
    """Return the time for a query with `norm`, as sigma is in the first round and in the last."""
    ends = (sigma(1), sigma(sigma.total_rounds)) if isinstance(sigma, Schedule) else (sigma,)
    return Cost.LINEAR if all(has_fit(end, offset) for end in ends) else Cost.QUADRATIC


@dataclass(frozen=True, kw_only=True)
class RankNet(Objective):
    """Logistic loss on pairs: the probability that the better document comes first.

    ``loss = sum over y_i > y_j of ln(1 + exp(-sigma (s_i - s_j)))``, after Burges et al.
    (ICML 2005): LambdaRank without its weights.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Steepness of the loss in score units, positive; without `norm` and noise, which have scales
        of their own, it only sets the scale of the scores.
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
    the n documents of a query. O(n log n) time for queries of over 32 distinct grades or under 24
    documents per grade. With `norm` O(n^2) where sigma times offset is below 0.0001,
    and for scores that spread over more than 12288/sigma.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankNet().grad_hess([0.0, 0.0, 0.0], [2, 0, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 0.5, 0.5], [0.5, 0.25, 0.25])
    """

    name: ClassVar[str] = "ranknet"
    kernel = sigmoid_kernel(
        Sums(pair_loop(logistic_pair), logistic_fit, finish=scale_sums),
        Sums(pair_loop(logistic_loss_pair), partial(logistic_fit, losses=True), finish=scale_sums),
    )
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
        cost = norm_cost(self.sigma, self.offset)
        return replace(whole, gradient="frozen", frozen=frozen, convex=False, cost=cost)

    def _params(self, draws: Any = None) -> Rules:
        return Rules(**norm_rules(self.sigma, self.offset, self.norm), normalize=self.normalize)
