r"""SDCG: discounted cumulative gain with smooth ranks.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, section 2.2, equations (5)-(8). The paper's SDCG is maximised
    without normalisation; here its negative is minimised, and dividing by the ideal DCG
    (`normalize`, on by default) makes it a smooth NDCG. The paper has the discount "log2" only.

Definition
    G_a(x) = 1/(1 + e^{a x})                                                    (5)
    r^_i   = 1 + sum_{j != i} G_alpha(s_i - s_j)                                (6)
    W(r)   = G_beta(r - k), or 1 without a cut-off                              (7)
    loss   = sum_i f_i(r^_i), with the discount
        log2    f_i(r) = -(g_i / Z_k) d(r) W(r)                                 (8)
        linear  f_i(r) = (g_i / Z_k) R(r), the default
        sqrt    f_i(r) = (g_i / Z_k) 2 sqrt(1 + R(r))
    R(r)   = integral of W from 0 to r
           = min(r, k) - (1/beta) ln[(1 + e^{-beta |r - k|}) / (1 + e^{-beta k})], or r without k

    A linear discount pulls a relevant document as hard from the end of a list as near its top.
    Its cost grows with the rank; times W, it would fall again far beyond k. So
    the rank is cut off instead, and with it the slope of the cost.

Symbols
    s scores, g gains 2^y - 1, d(r) = 1/log2(1 + r), Z_k ideal DCG at k with that discount, for all
    three (1 unless `normalize`). c_i = f_i'(r^_i) >= 0, rho_ij = G (1 - G) at s_i - s_j
    (symmetric in i and j).

Gradient (exact)
    d loss / d s_p = - alpha sum_j (c_p - c_j) rho_pj

    With a linear discount and no k, c_i = g_i / Z: no ranks are needed, pairs of equal grade add
    nothing, and the loss is the sum over pairs y_i > y_j of (c_i - c_j) G_alpha(s_i - s_j), plus a
    constant.

Hessians
    gauss-newton  (default) sum_j alpha (c_p + c_j) rho_pj alpha/2: each of a pair's two terms is
                  given the curvature that a logistic loss with the same pull has at a tie. A Newton
                  step is then at most 2/alpha in score.
                  With a linear discount and no k: |c_p - c_j| in place of the sum, which fits
                  faster. With other discounts this is no sum of exponentials, and it ranked no
                  better.
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Sums between blocks agree with those over pairs to 1e-10 of the query's
    largest gradient, and mostly to 1e-13.

Cost
    O(n) after a sort, by blocks (`far_field`). With a linear discount and no k, O(n log n) if the
    query has over 32 distinct grades or fewer than 24 documents per grade (`parts`).

When to use
    With graded labels, when the loss should be a smooth form of DCG itself: documents of high gain
    pull hardest, and lists may have any length. The paper's `discount="log2"` learns slowly.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .base import Objective
from .contract import Contract
from .engine.columns import DIFFERENT, ONE, RANKED, Rules, Tuning
from .engine.driver import Kernel
from .engine.far_field import DIFFERENCE, SLOPE, fit_of, pair_entry
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel, step
from .engine.smooth_ranks import (
    DISCOUNTS,
    SMOOTH_RANKS,
    ideal_discount,
    write_costs,
    write_slopes,
)
from .gains import Gain, compiled_discount, discount_field, gain_field
from .parameters import cutoff, flag, schedulable
from .schedules import Schedule


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return (c_i - c_j) rho_ij, with c by gain alone, as pull and curvature."""
    share = 1.0 / (worse.decay + better.decay)
    pull = (better.worth - worse.worth) * (worse.decay * better.decay * share * share)
    return pull, pull


def of_ranked_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return (c_i - c_j) rho_ij and (c_i + c_j) rho_ij."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share
    return (better.own - worse.own) * rho, (better.own + worse.own) * rho


FIT = fit_of(pair_entry(SLOPE, SLOPE, odd=True), pair_entry(SLOPE, SLOPE), weight=DIFFERENCE)
# Minus or plus c of the other document, and that of the one that receives.
RANKED_FIT = fit_of(lambda *place: [-SLOPE, SLOPE], lambda *place: [SLOPE, SLOPE])
_losses = Sums(**SMOOTH_RANKS, finish=step(write_costs))


@dataclass(frozen=True, kw_only=True)
class SDCG(Objective):
    """Smooth DCG: every rank replaced by a sum of sigmoids of score differences.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (5)-(8), with a choice of discounts:
    ``loss = sum_i g_i / Z_k * r_i`` with smooth ranks
    ``r_i = 1 + sum_j 1/(1 + exp(alpha (s_i - s_j)))``, gains ``g = 2^y - 1`` and Z_k the ideal DCG.
    With ``discount="log2"``, the paper's, it is ``-sum_i g_i / Z_k * d(r_i) * W(r_i)``, a smooth
    NDCG, with ``d(r) = 1/log2(1 + r)`` and ``W(r) = 1/(1 + exp(beta (r - k)))``.

    Parameters
    ----------
    k : int, optional
        Rank cut-off, at least 1: ranks beyond it hardly matter. Default None: the whole list.
    alpha : float or Schedule, default 1.0
        Steepness of the sigmoid in score units, positive; without noise it only sets the scale of
        the scores.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide every query by its ideal DCG, so that queries count alike.
    discount : {"linear", "sqrt", "log2", "reciprocal"} or sequence, default "linear"
        What a rank costs a relevant document. "linear" is the rank itself, r, and "sqrt"
        2 sqrt(1 + r). The others are the fall of a discount: 1/log2(1 + r), the paper's, 1/r, or a
        sequence of one number per rank from 1, on straight lines between them, 0 beyond. "linear"
        learns fastest.
    gain : see `Objective`
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Positive; the paper's, constant, is gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents after sorting them. O(n log n)
    time with a linear discount and no `k`, for queries of over 32 distinct grades or under 24
    documents per grade.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.SDCG(alpha=2.0)
    >>> grad, hess = objective.grad_hess([0.2, 0.1, 0.0], [0, 1, 2], [3])
    >>> grad.round(3).tolist()
    [0.533, 0.136, -0.67]
    """

    name: ClassVar[str] = "sdcg"
    kernel = sigmoid_kernel(Sums(pair_loop(of_pair, one_sum=True), FIT), _losses)
    kernel_by_rank = sigmoid_kernel(
        Sums(pair_loop(of_ranked_pair), RANKED_FIT, **SMOOTH_RANKS, prepare=step(write_slopes)),
        _losses,
    )
    _pairs: ClassVar[int] = ONE  # which pairs count where c depends on the rank
    # The surrogate curvature is near zero where sigmoids saturate, which is no reason for long
    # steps. 0.1 in place of 1e-6 gained .000 to .008 in validation NDCG@10 on OHSUMED and MQ2008.
    hessian_share: ClassVar[float] = 0.1

    k: int | None = cutoff()
    alpha: float | Schedule = schedulable(1.0)
    beta: float | Schedule = schedulable(1.0)
    normalize: bool = flag(True)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field(*DISCOUNTS, default="linear")
    hessian: str = "gauss-newton"

    @property
    def _by_gain(self) -> bool:
        return self.discount == "linear" and self.k is None

    @property
    def _compiled(self) -> Kernel:
        return self.kernel if self._by_gain else self.kernel_by_rank

    def _params(self, draws: Any = None) -> Rules:
        alpha: Any = self.alpha  # numbers by now
        beta: Any = self.beta
        discount = compiled_discount(self.discount)
        return Rules(
            alpha,
            -alpha,
            0.5 * alpha * alpha,
            by_gain=True,
            normalize=self.normalize,
            k=self.k or 0,
            pairs=DIFFERENT if self._by_gain else self._pairs,
            ranked=not self._by_gain,
            beta=beta,
            discount=discount,
            ideal=ideal_discount(discount),
            tuning=Tuning() if self._by_gain else RANKED,
        )

    def _loss_params(self) -> Rules:
        return self._params()._replace(pairs=self._pairs, ranked=True)

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        offset = 1.0 if self.discount in ("linear", "sqrt") else 0.0
        kinks = "" if isinstance(self.discount, str) else "ranks at the numbers of the table"
        return replace(super().contract, metric_offset=offset, kinks=kinks)
