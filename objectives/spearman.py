r"""Spearman: squared differences between the ranks of scores and labels, inside each query.

Source
    Spearman's formula, rho = 1 - 6 sum of squared rank differences / (n (n^2 - 1)), with the smooth
    ranks of Wu, Chang, Zheng, Zha (CIKM 2009), equations (5), (6).

Definition
    G_a(x) = 1/(1 + e^{a x})
    r^_i   = 1 + sum_{j != i} G_alpha(s_i - s_j), from 1 for the best score to n
    t_i    = mean rank of the labels equal to y_i, from 1 for the largest label to n
    V      = n (n^2 - 1)/12
    loss   = sum_i (r^_i - t_i)^2 / (2 V)                                         (1)

    If all scores are far apart and all labels are different, the loss is 1 - rho.

Symbols
    s scores, y labels: any finite numbers, only their order counts; rho_ij = G (1 - G) at s_i - s_j

Gradient (exact)
    c_i    = r^_i - t_i
    grad_p = -(alpha/V) sum_j (c_p - c_j) rho_pj

Hessians
    gauss-newton  (default) (alpha^2/V) n/(n - 1) (sum_{j != p} rho_pj)^2: what is left of the
                  second derivative of (1) if ranks are straight lines in p's score,
                  (alpha^2/V) ((sum_j rho_pj)^2 + sum_j rho_pj^2), with the last sum at its value
                  for equal rho
    constant      1

Why squared differences
    The covariance of r^ and t, the other way to write rho, rewards scores for moving ever further
    apart, and so fits the noise of labels. Squared differences are smallest where each document has
    its expected rank.

Degenerate queries
    Fewer than two documents, or all labels equal: zero loss and gradient.

Numerics
    No score overflows. Beyond 320 documents, sums between blocks agree with those over pairs to
    1e-10 of the query's largest gradient, and mostly to 1e-13.

Cost
    O(n) after two sorts, by blocks (`far_field`), however many distinct labels there are.

When to use
    When the whole order of a long list counts, its end as much as its top, and labels are numbers
    of which only the order can be trusted, such as the returns of a day's stocks. If only the top
    counts, use any of the objectives for NDCG.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import Objective
from .contract import Contract
from .engine.columns import (
    BEGIN,
    CURVATURE,
    LEVEL,
    ONE,
    OWN,
    PULL,
    RANKED,
    SIZE,
    SPARE,
    WORTH,
    Batch,
    Columns,
    Rules,
)
from .engine.far_field import SLOPE, constant, fit_of
from .engine.jit import jit_helper
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel, step
from .engine.smooth_ranks import far_over_half
from .parameters import schedulable
from .schedules import Schedule
from .validation import NUMBERS


def of_rank(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return how much over 1/2 a pair adds to the better document's rank."""
    return worse.decay / (worse.decay + better.decay) - 0.5, 0.0


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return (c_i - c_j) rho_ij and rho_ij."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share
    return (better.own - worse.own) * rho, rho


# Sums over rho_ij come with the ranks, so that only those over c_j rho_ij are left.
FIT = fit_of(lambda *place: [-SLOPE], lambda *place: [constant(0.0)])


@jit_helper
def _write_label_ranks(batch: Batch, w: Columns) -> None:
    """Overwrite the labels in WORTH with t; short queries are sorted by label."""
    worth, level, counts = w.real[WORTH], w.whole[SPARE], w.whole[SPARE + 1]
    for m in range(batch.blocks):
        a, n = w.whole[BEGIN, m], w.whole[SIZE, m]
        run = 0
        for i in range(n):
            counts[i] = 0
            run += 1 if i > 0 and worth[a + i] > worth[a + i - 1] else 0
            level[i] = int(w.real[LEVEL, i]) if batch.long else run
        for i in range(n):
            counts[level[i]] += 1
        above = n
        for run in range(n):
            above -= counts[run]
            counts[run] += 2 * above  # twice the mean rank, less 1
        for i in range(n):
            worth[a + i] = 0.5 * (counts[level[i]] + 1.0)


@step
def write_differences(p: Rules, batch: Batch, w: Columns) -> None:
    """Write c into OWN, and the sums of rho between blocks into WORTH."""
    _write_label_ranks(batch, w)
    for m in range(batch.blocks):
        begin, n = w.whole[BEGIN, m], w.whole[SIZE, m]
        for i in range(begin, begin + n):
            w.real[OWN, i] = 0.5 * (n + 1.0) + w.real[PULL, i] - w.real[WORTH, i]
            w.real[WORTH, i] = w.real[CURVATURE, i]


@step
def divide(p: Rules, batch: Batch, w: Columns) -> None:
    """Divide the sums by V, those of rho squared."""
    for m in range(batch.blocks):
        n = float(w.whole[SIZE, m])
        unit = n * (n * n - 1.0) / 12.0
        for i in range(w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]):
            far, slopes = w.real[WORTH, i], w.real[WORTH, i] + w.real[CURVATURE, i]
            w.real[PULL, i] = (w.real[PULL, i] + w.real[OWN, i] * far) / unit
            w.real[CURVATURE, i] = slopes * slopes * n / (n - 1.0) / unit  # gauss-newton


@step
def write_squares(p: Rules, batch: Batch, w: Columns) -> None:
    """Write each document's share of (1) into CURVATURE."""
    for m in range(batch.blocks):
        n = float(w.whole[SIZE, m])
        for i in range(w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]):
            w.real[CURVATURE, i] = 6.0 * w.real[OWN, i] ** 2 / (n * (n * n - 1.0))  # (1)


_ranks = Sums(
    near_ranks=pair_loop(of_rank),
    rank_fit=fit_of(far_over_half, lambda *place: [SLOPE]),
    prepare=write_differences,
)


@dataclass(frozen=True, kw_only=True)
class Spearman(Objective):
    """Squared differences between the smooth ranks of scores and the ranks of labels.

    ``loss = 6 sum_i (r_i - t_i)^2 / (n (n^2 - 1))`` with smooth ranks
    ``r_i = 1 + sum_j 1/(1 + exp(alpha (s_i - s_j)))`` of the scores and mid-ranks t of the labels.
    This is one minus Spearman's rho if scores are far apart and labels all different. Labels may be
    any finite numbers; only their order counts.

    Parameters
    ----------
    alpha : float or Schedule, default 1.0
        Steepness of the sigmoid in score units, positive; without noise it only sets the scale of
        the scores.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Positive, from the slopes of the ranks; constant is plain gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents after sorting scores and
    labels, however many distinct labels there are.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.Spearman()
    >>> grad, hess = objective.grad_hess([0.0, 0.0, 0.0], [3.0, -2.0, -2.0], [3])
    >>> grad.round(3).tolist()
    [-0.375, 0.188, 0.188]
    """

    name: ClassVar[str] = "spearman"
    kernel = sigmoid_kernel(
        _ranks._replace(near=pair_loop(of_pair), fit=FIT, finish=divide),
        _ranks._replace(finish=write_squares),
    )
    claims: ClassVar[Contract] = Contract(labels=NUMBERS)
    # A surrogate curvature, near zero where sigmoids saturate: as in SDCG.
    hessian_share: ClassVar[float] = 0.1

    alpha: float | Schedule = schedulable(1.0)
    hessian: str = "gauss-newton"

    def _params(self, draws: Any = None) -> Rules:
        alpha: Any = self.alpha  # a number by now
        return Rules(alpha, -alpha, alpha * alpha, pairs=ONE, ranked=True, tuning=RANKED)
