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
    No score overflows. Beyond 64 documents, sums between blocks agree with those over pairs to
    1e-10 of the query's largest gradient, and mostly to 1e-13.

Cost
    O(n) after two sorts, by blocks (`far_field`), however many distinct labels there are.

When to use
    When the whole order of a long list counts, its end as much as its top, and labels are numbers
    of which only the order can be trusted, such as the returns of a day's stocks. If only the top
    counts, use any of the objectives for NDCG.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import SURROGATE_OR_CONSTANT, Contract
from .engine import columns as col
from .engine.columns import BLOCK, Batch, Columns, Packing, query_columns, write_decays
from .engine.driver import batch_kernels
from .engine.far_field import far_field, one_level_tables
from .engine.gains import no_discount
from .engine.jit import bind, jit_helper, jit_inline
from .engine.order import write_order
from .engine.smooth_ranks import logistic_ranks
from .engine.vector import logistic, padded
from .parameters import schedulable
from .schedules import Schedule
from .validation import NUMBERS, Floats


class SpearmanParams(NamedTuple):
    """The kernels' parameters."""

    alpha: float


@jit_inline
def _packing(p: SpearmanParams) -> Packing:
    return Packing(0, False, BLOCK, 0, no_discount(), BLOCK)


@jit_helper
def _write_label_ranks(batch: Batch, w: Columns) -> None:
    """Overwrite the labels in WORTH with t."""
    worth, labels, order = w.real[col.WORTH], w.real[col.LEVEL], w.whole[col.COUNTS]
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        n = b - a
        for i in range(n):
            labels[i] = worth[a + i]
        write_order(labels, n, order, w.whole[col.SPARE :])
        end = 0
        while end < n:
            begin = end
            while end < n and labels[order[end]] == labels[order[begin]]:
                end += 1
            for place in range(begin, end):
                worth[a + order[place]] = 0.5 * (begin + 1 + end)


@jit_inline
def _write_near_ranks(p: SpearmanParams, batch: Batch, w: Columns) -> None:
    """Write r^ within the blocks into RANK and t into WORTH."""
    write_decays(w, batch, p.alpha)
    logistic_ranks(p, batch, w)
    _write_label_ranks(batch, w)


@jit_helper
def _near_pulls(p: SpearmanParams, batch: Batch, w: Columns) -> None:
    """Write sum_j (c_i - c_j) rho_ij over each block, and c_i sum_{j != i} rho_ij."""
    begin, size, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    from_top, scores, c = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.OWN]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    for m in range(batch.blocks):
        first, n, factorizable = np.uint64(begin[m]), size[m], ratios[m] != 0
        for i in range(np.uint64(n)):
            own, own_c = from_top[first + i], c[first + i]
            pull = 0.0
            total = -0.25  # the loop includes j = i
            if factorizable:
                for j in range(np.uint64(padded(n))):
                    below = 1.0 / (own + from_top[first + j])
                    rho = own * from_top[first + j] * below * below
                    pull += (own_c - c[first + j]) * rho  # gradient
                    total += rho
            else:
                for j in range(np.uint64(n)):
                    rho = logistic(p.alpha * (scores[first + i] - scores[first + j]))[1]
                    pull += (own_c - c[first + j]) * rho  # gradient
                    total += rho
            pulls[first + i] = pull
            curvatures[first + i] = own_c * total


_add_far_ranks, _add_far_slopes = far_field()
long = False  # bound below: whether queries may be cut into blocks


def _derivatives(p: SpearmanParams, batch: Batch, tables: Any, w: Columns) -> tuple[float, float]:
    _write_near_ranks(p, batch, w)
    if long:
        _add_far_ranks(p.alpha, tables[0], batch, w)
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        for i in range(a, b):
            # Adding n keeps differences of c and makes it at least 1: sums can be divided by it.
            w.real[col.OWN, i] = w.real[col.RANK, i] - w.real[col.WORTH, i] + (b - a)
    _near_pulls(p, batch, w)
    if long:
        _add_far_slopes(p.alpha, tables[1], batch, w)
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        n = float(b - a)
        unit = n * (n * n - 1.0) / 12.0
        for i in range(a, b):
            slopes = w.real[col.CURVATURE, i] / w.real[col.OWN, i]
            w.real[col.PULL, i] /= unit
            w.real[col.CURVATURE, i] = slopes * slopes * n / (n - 1.0) / unit  # gauss-newton
    return -p.alpha, p.alpha * p.alpha


@jit_inline
def _loss(
    p: SpearmanParams, batch: Batch, tables: tuple[Floats, Floats], w: Columns, loss: Floats
) -> None:
    _write_near_ranks(p, batch, w)
    _add_far_ranks(p.alpha, tables[0], batch, w)
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        n = float(b - a)
        total = 0.0
        for i in range(a, b):
            total += (w.real[col.RANK, i] - w.real[col.WORTH, i]) ** 2
        loss[w.whole[col.QUERY, m]] = 6.0 * total / (n * (n * n - 1.0))  # (1)


_kernel = batch_kernels(
    SpearmanParams,
    packing=_packing,
    by_gain=False,
    by_level=False,
    tables=one_level_tables,
    short=jit_inline(bind(_derivatives, long=False)),
    short_up_to=BLOCK,
    long=jit_inline(bind(_derivatives, long=True)),
    batch_loss=_loss,
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
        Steepness of the sigmoid in score units, positive; it only sets the scale of the scores.
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
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(labels=NUMBERS)
    hessians = SURROGATE_OR_CONSTANT
    # A surrogate curvature, near zero where sigmoids saturate: as in SDCG.
    hessian_share: ClassVar[float] = 0.1

    alpha: float | Schedule = schedulable(1.0)
    hessian: str = "gauss-newton"
