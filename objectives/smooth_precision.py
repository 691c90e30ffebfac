r"""SmoothPrecision: precision at k with soft indicators of the ranks.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    section 4.2, first formula. There A is maximised; here -A is minimised.

Definition
    e_ij = exp(-(s_i - s_{d(j)})^2 / sigma)                                     (11)
    h_ij = e_ij / sum_k e_kj                                                    (7)
    A    = 1/k sum_{j <= k} sum_i l_i h_ij
    loss = -A

Symbols
    s scores, d(j) the document at rank j (ties: input order), l_i = 1(y_i > 0). In
    `soft_indicators` a_i = l_i and b_j = 1/k for j <= k, even for lists shorter than k.

Gradient (exact, away from ties)
    (10); see `soft_indicators`, also for ties: in a query whose scores are all equal (10) is zero
    and a regression on l takes its place.

Hessians
    gauss-newton  (default) sum over ranks of |lambda| sqrt(2/sigma), lambda the pull between a rank
                  and a document: a Newton step is at most sqrt(sigma/2) in score
    constant      1

Degenerate queries
    Fewer than two documents, or none or all of them relevant: zero loss and gradient.

Numerics
    As in `soft_indicators`.

Cost
    O(n min(n, k)) after an O(n log n) sort; each rank visits only the documents within
    sqrt(40 sigma) of it in score.

When to use
    From a good start only, as with SmoothNDCG, when only the number of relevant documents among the
    first k counts.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract, Cost
from .engine.driver import query_kernel
from .engine.order import all_equal
from .engine.soft_indicators import check_width, smooth_metric
from .gains import relevance
from .parameters import checked, count
from .schedules import Schedule
from .validation import Floats, Integers


class SmoothPrecisionParams(NamedTuple):
    """The kernel's parameters."""

    k: int
    sigma: float


@query_kernel(SmoothPrecisionParams)
def _kernel(
    p: SmoothPrecisionParams,
    scores: Floats,
    relevant: Floats,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> float:
    if all_equal(relevant):
        return 0.0
    b = np.full(min(p.k, len(scores)), 1.0 / p.k)
    return smooth_metric(scores, relevant, b, p.sigma, grad, hess)


@dataclass(frozen=True, kw_only=True)
class SmoothPrecision(Objective):
    """Smooth precision at k: the soft share of relevant documents among the first k ranks.

    Chapelle, Wu (2009), section 4.2: ``loss = -1/k sum_{j <= k} sum_i l_i h_ij`` with
    ``l = 1(y > 0)`` and ``h_ij = exp(-(s_i - s_d(j))^2 / sigma)``, normalised to
    ``sum_i h_ij = 1``, s_d(j) the score at rank j.

    Parameters
    ----------
    k : int, default 10
        Rank cut-off, at least 1. Ten is where precision is usually reported; a larger k learns from
        more documents, and was better for NDCG in the paper's table 3.
    sigma : float or Schedule, default 1.0
        Squared width of the indicator in score units, positive. Boosting from equal scores is
        indifferent to it (Newton steps are in units of sqrt(sigma)), unless the Hessian is
        constant. Otherwise as in `SmoothNDCG`. ``Schedule("halving", M)`` is the paper's annealing.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Constant is plain gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The loss tends to -precision@k as sigma falls and to a constant as it grows. The gradient is
    exact where no two scores are equal. Where all scores of a query are equal, it vanishes whatever
    the grades, and a regression on the relevance takes its place. Documents far below rank k get
    hardly any gradient: start from a regression, as `SmoothNDCG` says.

    O(n min(n, k)) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.SmoothPrecision(k=1)
    >>> grad, hess = objective.grad_hess([0.2, 0.1, 0.0], [0, 1, 2], [3])
    >>> grad.round(3).tolist()
    [0.067, -0.023, -0.044]
    """

    name: ClassVar[str] = "smooth-precision"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        cost=Cost.N_TIMES_CUTOFF, kinks="tied scores", metric_offset=0.0
    )

    k: int = count(10)
    sigma: float | Schedule = checked(check_width, 1.0)
    hessian: str = "gauss-newton"

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        """Return what the kernel gets in place of the labels."""
        return relevance(labels)
