r"""SmoothNDCG: NDCG with soft indicators of the ranks.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    equations (2), (7), (8). There A is maximised for a linear function; here -A is minimised by
    the host's trees.

Definition
    e_ij = exp(-(s_i - s_{d(j)})^2 / sigma)                                     (11)
    h_ij = e_ij / sum_k e_kj                                                    (7)
    A    = sum_i sum_{j <= k} (g_i / Z_k) d(j) h_ij                             (8)
    loss = -A

Symbols
    s scores, d(j) as an index the document at rank j (ties: input order), as a discount
    1/log2(1 + j); g gains 2^y - 1; Z_k ideal DCG at k (1 unless `normalize`, then A is a smooth
    DCG). In `soft_indicators` a_i = g_i / Z_k and b_j = d(j) for j <= k.

Gradient (exact, away from ties)
    (10); see `soft_indicators`, also for ties: in a query whose scores are all equal (10) is zero
    and a regression on the gains takes its place.

Hessians
    gauss-newton  (default) sum over ranks of |lambda| sqrt(2/sigma), lambda the pull between a rank
                  and a document: a Newton step is at most sqrt(sigma/2) in score
    constant      1

Degenerate queries
    Fewer than two documents, or all gains equal: zero loss and gradient.

Numerics
    As in `soft_indicators`. Gains are divided by Z_k first: no product of gains overflows.

Cost
    O(n min(n, k)) after an O(n log n) sort; each rank visits only the documents within
    sqrt(40 sigma) of it in score.

When to use
    From a good start only, as in the paper: give the host the scores of a few rounds of regression.
    From equal scores it ranks worse than every other loss here.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract, Cost
from .engine.driver import query_kernel
from .engine.gains import Discount, ideal_dcg, rank_discount
from .engine.jit import jit_allocating
from .engine.order import all_equal
from .engine.soft_indicators import check_width, smooth_metric
from .gains import Gain, discount_field, gain_field
from .parameters import checked, flag
from .schedules import Schedule
from .validation import Floats, check_cutoff


class SmoothNDCGParams(NamedTuple):
    """The kernel's parameters."""

    k: int
    sigma: float
    normalize: bool
    discount: Discount


@jit_allocating
def _weights(gains: Floats, p: SmoothNDCGParams) -> tuple[Floats, Floats]:
    """Return a for documents and b for ranks that count; both empty if all gains are equal."""
    a = gains.copy()
    if all_equal(a):
        return np.empty(0), np.empty(0)
    top = min(p.k, len(a)) if p.k > 0 else len(a)
    if p.normalize:
        z = ideal_dcg(a, p.k, p.discount)
        for i in range(len(a)):
            a[i] /= z
    b = np.empty(top)
    for j in range(top):
        b[j] = rank_discount(p.discount, len(a), j + 1)
    return a, b


@query_kernel(SmoothNDCGParams)
def _kernel(
    p: SmoothNDCGParams, scores: Floats, gains: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    a, b = _weights(gains, p)
    if len(a) == 0:
        return 0.0
    return smooth_metric(scores, a, b, p.sigma, grad, hess)


@dataclass(frozen=True, kw_only=True)
class SmoothNDCG(Objective):
    """Smooth NDCG: soft indicators say how much of each rank a document holds.

    Chapelle, Wu (2009), equation (8), SmoothRank's loss:
    ``loss = -sum_i sum_{j <= k} g_i / Z_k * d(j) * h_ij`` with
    ``h_ij = exp(-(s_i - s_d(j))^2 / sigma)``, normalised to ``sum_i h_ij = 1``, s_d(j) the score at
    rank j, gains ``g = 2^y - 1``, discount ``d(r) = 1/log2(1 + r)``.

    Parameters
    ----------
    k : int or None, default 50
        Rank cut-off, at least 1; None is the whole list. In the paper 50 ranked best at both NDCG@5
        and NDCG@10 (table 3), as documents beyond the cut-off teach little.
    sigma : float or Schedule, default 1.0
        Squared width of the indicator in score units, positive. Boosting from equal scores is
        indifferent to it (Newton steps are in units of sqrt(sigma)), unless the Hessian is
        constant. After a regression on the gains, 0.3 and 1 ranked better than 0.1 and 3: 1 was
        best on OHSUMED and 0.3 on MQ2008.
        ``Schedule("halving", M)`` is the paper's annealing; without the paper's penalty, which
        trees do not have, it ranked worse than any constant (see Notes).
    normalize : bool, default True
        Divide every query by its ideal DCG, so that queries count alike.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Constant is plain gradient boosting. After a regression (see Notes), the two reached .454
        and .432 on OHSUMED and .697 and .698 on MQ2008.
    gain, discount : see `Objective`
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The loss tends to -NDCG@k as sigma falls and to a constant as it grows. The gradient is exact
    where no two scores are equal. Where all scores of a query are equal, it vanishes whatever the
    grades, and a regression on the gains takes its place.

    The loss has many local minima, and the paper starts from a regression on the gains. So should
    trees: train a few rounds with `Regression(target="gain")` and hand the predictions to the host
    as initial scores (``init_score``, ``base_margin``). Without them the first round is such a
    regression. Validation NDCG@10 on OHSUMED and MQ2008, mean of five folds, best round of 60 at a
    learning rate of 0.1: .412 and .689 from equal scores, .454 and .697 after 20 rounds of
    regression (which alone reaches .442 and .704), and .400 and .621 with annealing.

    O(n min(n, k)) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.SmoothNDCG(k=10)
    >>> grad, hess = objective.grad_hess([0.2, 0.1, 0.0], [0, 1, 2], [3])
    >>> grad.round(3).tolist()
    [0.015, 0.037, -0.052]
    """

    name: ClassVar[str] = "smooth-ndcg"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        cost=Cost.N_TIMES_CUTOFF, kinks="tied scores", metric_offset=0.0
    )

    k: int | None = checked(check_cutoff, 50)
    sigma: float | Schedule = checked(check_width, 1.0)
    normalize: bool = flag(True)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field()
    hessian: str = "gauss-newton"

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        cost = Cost.QUADRATIC if self.k is None else Cost.N_TIMES_CUTOFF
        return replace(super().contract, cost=cost)
