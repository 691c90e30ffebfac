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
from typing import Any, ClassVar

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine.columns import Rules
from .engine.far_field import LOG, LOGISTIC, SLOPE, constant, fit_of, linear, pair_entry
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import SigmoidKernel, Sums, average_over_pairs
from .engine.vector import log1p_of
from .parameters import flag, schedulable
from .schedules import Schedule


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return rho and rho (1 - rho)."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * share
    return rho, rho * better.decay * share


def of_loss(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return nothing, and half of -ln P: each document has a share."""
    z = min(worse.decay, better.decay) / max(worse.decay, better.decay)
    return 0.0, 0.5 * (log1p_of(z) + p.rate * max(worse.score - better.score, 0.0))


PULLS = pair_entry(LOGISTIC, constant(1.0) - LOGISTIC, odd=True)
FIT = fit_of(PULLS, pair_entry(SLOPE, SLOPE))
LOSS_FIT = fit_of(PULLS, pair_entry(0.5 * LOG, 0.5 * (LOG + linear(1.0))))


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
    kernel = SigmoidKernel(
        Sums(pair_loop(of_pair), FIT, finish=average_over_pairs),
        Sums(pair_loop(of_loss), LOSS_FIT, finish=average_over_pairs),
    )
    claims: ClassVar[Contract] = Contract(convex=True)
    hessians = EXACT_OR_CONSTANT

    sigma: float | Schedule = schedulable(1.0)
    normalize: bool = flag(False)
    hessian: str = "exact"

    def _params(self, draws: Any = None) -> Rules:
        sigma: Any = self.sigma  # a number by now
        return Rules(sigma, -sigma, sigma * sigma, normalize=self.normalize)
