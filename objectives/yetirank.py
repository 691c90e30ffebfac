r"""YetiRank: logistic loss on neighbours in orders drawn near the model's own.

Source
    Gulin, Kuralenok, Pavlov: Winning the transfer learning track of Yahoo!'s learning to rank
    challenge with YetiRank. JMLR W&CP 14, 2011; CatBoost's objective of this name. There, the noise
    has the logistic distribution (it is called Gumbel all the same) and weights have a factor .15,
    which cancels in a Newton step.
    With a target: Lyzhin, Ustimenko, Gulin, Prokhorenkova: Which tricks are important for learning
    to rank? ICML 2023 (arXiv 2204.01500), YetiLoss.

Definition
    noise_it = -ln(-ln u_it), u_it uniform on [0, 1]
    order t  = documents by descending s_i + noise_it, t = 1..P
    w_ij     = sum over orders t in which i and j are neighbours at the ranks r, r + 1 of
               |y_i - y_j| decay^(r - 1) / P, or with a `target`, of what the swap of the two
               changes in that metric of the order (`engine.swaps`), over P      (1)
    loss     = sum over pairs y_i > y_j of w_ij ln(1 + e^{-(s_i - s_j)})         (2)

Symbols
    s scores, y grades, P `permutations`, rho_ij = 1/(1 + e^{s_i - s_j})

Draws
    A booster redraws every u in every round. `loss` and `grad_hess` use 1/2 for all of them: then
    all noise is equal, every order is that of the scores, and the numbers are always the same.

Gradient (exact for fixed w)
    grad_i -= w_ij rho_ij, grad_j += w_ij rho_ij

Hessians
    exact         (default) sum_j w_ij rho_ij (1 - rho_ij) for fixed w; floored at 1e-10
    gauss-newton  the same
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Weights are summed over pairs as they come up, never stored.

Cost
    O(P n log n) in a booster, O(n log n) elsewhere.

When to use
    When labels are clean and queries many, or to compare with CatBoost. Three orders rank as well
    as ten in a third of the time.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine.draws import write_noisy
from .engine.driver import query_kernel
from .engine.gains import Discount
from .engine.jit import jit_allocating, jit_helper
from .engine.order import all_equal, write_order
from .engine.swaps import swap_of, swaps_of
from .engine.vector import exponentials, logistic_loss, padded
from .gains import Gain, discount_field, gain_field
from .parameters import checked, count
from .targets import (
    WITH_GAIN,
    check_target,
    check_target_parameters,
    gains_of_target,
    target_of_kernels,
)
from .validation import Floats, Integers, check_share

# Rows of a query's scratch, by rank: loops over them have no jumps and become vectors.
LABEL, LEAD, WEIGHT, POWER, ROOM, N_ROWS = range(6)


class YetiRankParams(NamedTuple):
    """The kernel's parameters."""

    decay: float
    uniforms: Floats  # (orders, n_docs), or one number for all documents
    begin: int  # the query's first document
    target: int  # one of `targets.TARGETS`, or -1
    discount: Discount


@jit_allocating
def _of_query(p: YetiRankParams, a: int, b: int) -> YetiRankParams:
    return YetiRankParams(p.decay, p.uniforms, a, p.target, p.discount)


@jit_allocating
def _write_weights(
    p: YetiRankParams, labels: Floats, order: Integers, ranked: Floats, weights: Floats
) -> None:
    """Write P times (1) for one order, by the rank of the upper document."""
    n = len(order)
    if p.target >= 0:
        swaps = swaps_of(p.target, 0, p.discount, labels, order)
        for rank in range(n - 1):
            weights[rank] = swap_of(swaps, rank, rank + 1)
        return
    weight = 1.0
    for rank in range(n - 1):
        weights[rank] = weight * abs(ranked[rank] - ranked[rank + 1])
        weight *= p.decay


@jit_helper
def _add_neighbours(w: Floats, order: Integers, share: float, grad: Floats, hess: Floats) -> None:
    """Add the derivatives of (2) for the neighbours of one order."""
    n = len(order)
    for rank in range(n - 1):
        w[ROOM, rank] = -abs(w[LEAD, rank])
    exponentials(w[ROOM], w[POWER], n - 1)
    for rank in range(n - 1):
        lead, weight = w[LEAD, rank], w[WEIGHT, rank] * share
        below = 1.0 / (1.0 + w[POWER, rank])  # as in `logistic`
        above = w[POWER, rank] * below
        pull = weight * (above if lead >= 0.0 else below)
        w[ROOM, rank] = pull if w[LABEL, rank] >= w[LABEL, rank + 1] else -pull
        w[POWER, rank] = weight * above * below
    for rank in range(n - 1):
        i, j = order[rank], order[rank + 1]
        grad[i] -= w[ROOM, rank]
        grad[j] += w[ROOM, rank]
        hess[i] += w[POWER, rank]
        hess[j] += w[POWER, rank]


@query_kernel(YetiRankParams, _of_query)
def _kernel(
    p: YetiRankParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n, orders = len(scores), len(p.uniforms)
    drawn = p.uniforms.size > 1
    loss = 0.0
    if all_equal(labels):
        return loss
    w, order = np.empty((N_ROWS, padded(n))), np.empty(n, np.int64)
    work = np.empty((2, padded(n) + 1), np.int64)
    for t in range(orders):
        noisy = w[ROOM]
        if drawn:
            write_noisy(p.uniforms[t, p.begin :], scores, noisy, w[POWER])
        else:
            for i in range(n):
                noisy[i] = scores[i]
        write_order(noisy, n, order, work)
        for rank in range(n):
            w[LABEL, rank], w[POWER, rank] = labels[order[rank]], scores[order[rank]]
        for rank in range(n - 1):
            lead = w[POWER, rank] - w[POWER, rank + 1]
            w[LEAD, rank] = lead if w[LABEL, rank] >= w[LABEL, rank + 1] else -lead
        _write_weights(p, labels, order, w[LABEL], w[WEIGHT])
        _add_neighbours(w, order, 1.0 / orders, grad, hess)
        for rank in range(0 if drawn else n - 1):  # a booster, which draws, asks for no loss
            loss += w[WEIGHT, rank] * logistic_loss(w[LEAD, rank])  # (2)
    return loss


def _target_or_none(name: str, value: Any) -> str | None:
    return None if value is None else check_target(name, value)


@dataclass(frozen=True, kw_only=True)
class YetiRank(Objective):
    """Logistic loss on documents that are neighbours in orders drawn near the model's own.

    ``loss = sum over y_i > y_j of w_ij ln(1 + exp(-(s_i - s_j)))``, after Gulin, Kuralenok, Pavlov
    (2011). In a host, every round draws orders of the scores with Gumbel noise, from `seed`, and
    w_ij adds up ``|y_i - y_j| decay^(rank - 1) / permutations`` over those in which i and j are
    neighbours. `loss` and `grad_hess` use one order, that of the scores.

    Parameters
    ----------
    permutations : int, default 3
        Number of orders that each round in a host draws, at least 1.
    decay : float, default 0.85
        Factor by which the weight falls from one rank to the next, from 0 to 1; used without a
        target.
    target : str, optional
        A metric, as in `LambdaRank`: neighbours are weighted by how much their swap changes it.
        Default None: ``|y_i - y_j| decay^(rank - 1)``. Only ndcg, dcg and err use gains, and only
        ndcg and dcg a discount.
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
    Exact gradient for fixed weights; O(n log n) time for each order of a query of n documents.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.YetiRank().grad_hess([0.0, 0.0], [1, 0], [2])
    >>> grad.tolist(), hess.tolist()
    ([-0.5, 0.5], [0.25, 0.25])
    """

    name: ClassVar[str] = "yetirank"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        gradient="frozen", frozen="w, the pairs' weights", cost=Cost.N_LOG_N
    )
    hessians = EXACT_OR_CONSTANT

    permutations: int = count(3)
    decay: float = checked(check_share, 0.85)
    target: str | None = checked(_target_or_none, None)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field()
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_target_parameters(self, self.target or "")

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain` makes a difference."""
        return self.target in WITH_GAIN

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        return gains_of_target(self.target or "", self._gain, labels, boundaries)

    @property
    def n_draws(self) -> int:
        """How many uniform numbers a booster draws per document and round."""
        return self.permutations

    def _params(self, draws: Floats | None = None) -> YetiRankParams:
        uniforms = np.full((1, 1), 0.5) if draws is None else draws
        target, discount = target_of_kernels(self.target or "ndcg", self.discount)
        return YetiRankParams(
            self.decay, uniforms, 0, -1 if self.target is None else target, discount
        )
