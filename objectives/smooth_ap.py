r"""SmoothAP: average precision with smooth ranks.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    section 4.2, equation (9). There A is maximised; here -A is minimised.
    *Erratum of (9):* as printed, the term j = i is l_i^2 / (2 r^_i), so that A does not tend to AP
    as sigma falls. It stands for 1(rank_j <= rank_i), which is 1 for j = i, and is 1 here.

Definition
    l_i = 1(y_i > 0), R = sum_i l_i
    G(x) = 1/(1 + e^{x/sigma})
    r^_i = 1 + sum_{j != i} G(s_i - s_j)                                         (5)
    N_i  = 1 + sum_{j != i} l_j G(s_i - s_j)
    A    = 1/R sum_i l_i N_i / r^_i                                              (9)
    loss = -A

Symbols
    s scores; rho_ij = G (1 - G) at s_i - s_j (symmetric); w_ij = l_i (l_j - N_i/r^_i)/(R r^_i).

Gradient (exact)
    d loss / d s_p = sum_j (w_pj - w_jp) rho_pj / sigma

Hessians
    gauss-newton  (default) each of a pair's two terms in absolute value, over 2 sigma: the
                  curvature of two logistic losses with these pulls at a tie. With
                  a_i = l_i (r^_i - N_i)/(R r^_i^2) and b_i = l_i N_i/(R r^_i^2), the gradient has
                  (a_p - a_j) rho_pj for two relevant documents, b_i rho_ij for a relevant i and
                  another j; the curvature a_p + a_j and b_i.
    constant      1

Degenerate queries
    Fewer than two documents, or none or all of them relevant: zero loss and gradient.

Numerics
    Exponentials get only non-positive arguments; no score overflows. Sums between blocks, beyond
    640 documents, agree with those over pairs to 1e-10 of the query's largest gradient.

Cost
    O(n) after a sort; up to 640 documents, all pairs with a relevant one are visited.

When to use
    When relevance is binary and average precision is the metric; lists may have any length. Compare
    it with RankNet on that metric: a loss that resembles a metric need not be the best for it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .base import Objective
from .contract import Contract
from .engine.columns import (
    BEGIN,
    CURVATURE,
    OWN,
    PULL,
    RANK,
    SIZE,
    TO_HIGHER,
    WORTH,
    Batch,
    Columns,
    Rules,
)
from .engine.far_field import (
    LOGISTIC,
    SAME,
    SLOPE,
    better_sign,
    constant,
    fit_of,
    pair_entry,
)
from .engine.jit import jit_helper
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel, step
from .engine.smooth_ranks import far_over_half
from .engine.soft_indicators import check_width
from .gains import relevance
from .parameters import checked
from .schedules import Schedule
from .validation import Floats, Integers


def of_counts(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return what a pair adds to N, 1/2 more at one document than at the other, and to r^ - N."""
    share = worse.decay / (worse.decay + better.decay)
    same = worse.worth == better.worth
    return (share - 0.5 if same else 0.0), (0.0 if same else share)


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return (a_i - a_j) rho_ij of two relevant documents, b_i rho_ij of one; and absolute values.

    OWN is a, WORTH is b.
    """
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share
    both = worse.worth > 0.0
    pull = (worse.own - better.own) * rho if both else better.worth * rho
    return pull, (worse.own + better.own) * rho if both else better.worth * rho


def _far(odd: bool, relation: int, side: int) -> list[Floats]:
    """Return the numbers of pulls, or of curvatures unless `odd`, by channel."""
    if relation == SAME:
        return [SLOPE, -SLOPE if odd else SLOPE, 0.0 * SLOPE, 0.0 * SLOPE]
    value = better_sign(relation, side) * SLOPE if odd else SLOPE
    return [0.0 * SLOPE, 0.0 * SLOPE, value, value]


@jit_helper
def _write_counts(batch: Batch, w: Columns) -> None:
    """Write N into OWN, r^ into RANK and l/R into WORTH."""
    for m in range(batch.blocks):
        begin, end = w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]
        total = 0.0
        for i in range(begin, end):
            total += w.real[WORTH, i]
        for i in range(begin, end):
            w.real[OWN, i] = 0.5 * (total + 1.0) + w.real[PULL, i]
            w.real[RANK, i] = w.real[OWN, i] + w.real[CURVATURE, i]
            w.real[WORTH, i] /= total


@step
def write_terms(p: Rules, batch: Batch, w: Columns) -> None:
    """Write a into OWN and b into WORTH."""
    _write_counts(batch, w)
    for i in range(np.uint64(batch.columns)):
        unit = w.real[WORTH, i] / (w.real[RANK, i] * w.real[RANK, i])
        w.real[OWN, i], w.real[WORTH, i] = unit * w.real[CURVATURE, i], unit * w.real[OWN, i]


@step
def write_losses(p: Rules, batch: Batch, w: Columns) -> None:
    """Write each document's share of -A into CURVATURE."""
    _write_counts(batch, w)
    for i in range(np.uint64(batch.columns)):
        w.real[CURVATURE, i] = -w.real[WORTH, i] * w.real[OWN, i] / w.real[RANK, i]  # (9)


_counts: dict[str, Any] = {
    "near_ranks": pair_loop(of_counts),
    "rank_fit": fit_of(far_over_half, pair_entry(LOGISTIC, constant(1.0) - LOGISTIC)),
}


@dataclass(frozen=True, kw_only=True)
class SmoothAP(Objective):
    """Smooth average precision, over the whole list.

    Chapelle, Wu (2009), equation (9), with ``l = 1(y > 0)``:
    ``loss = -1/R sum_i l_i N_i / r_i`` with smooth ranks ``r_i = 1 + sum_j G(s_i - s_j)``, smooth
    counts of relevant documents ``N_i = 1 + sum_j l_j G(s_i - s_j)``, sums over j != i,
    ``G(x) = 1/(1 + exp(x/sigma))`` and ``R = sum_i l_i``. (The paper prints 1/2 for the 1 in N,
    with which the limit would not be average precision.)

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Width of the sigmoid in score units, positive. Only the scores relative to it matter, and
        boosting that starts from equal scores is indifferent to it (Newton steps are in the same
        units) unless the Hessian is constant.
        ``Schedule("halving", M)`` is the paper's annealing.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Constant is plain gradient boosting. In validation NDCG@10, as in `SmoothNDCG`, the two
        reached .455 and .401 on OHSUMED and .698 and .666 on MQ2008.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The loss tends to minus the average precision as sigma falls. O(n) time and memory for a query
    of n documents after sorting them.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.SmoothAP().grad_hess([0.2, 0.1, 0.0], [0, 0, 1], [3])
    >>> grad.round(3).tolist()
    [0.057, 0.058, -0.115]
    """

    name: ClassVar[str] = "smooth-ap"
    kernel = sigmoid_kernel(
        Sums(
            pair_loop(of_pair),
            fit_of(partial(_far, True), partial(_far, False)),
            **_counts,
            prepare=write_terms,
        ),
        Sums(**_counts, finish=write_losses),
    )
    claims: ClassVar[Contract] = Contract(metric_offset=0.0)

    sigma: float | Schedule = checked(check_width, 1.0)
    hessian: str = "gauss-newton"

    def _params(self, draws: Any = None) -> Rules:
        sigma: Any = self.sigma  # a number by now
        rate = 1.0 / sigma
        return Rules(rate, -rate, 0.5 * rate * rate, pairs=TO_HIGHER, ranked=True)

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        """Return l."""
        return relevance(labels)
