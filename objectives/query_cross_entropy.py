r"""QueryCrossEntropy: logistic loss after the best constant shift of each query.

Source
    The objective of this name in CatBoost (its documentation, Ranking: objectives and metrics),
    with its alpha at 1. There, by default, a twentieth of the loss is computed without the shift,
    and a query of equal labels still teaches through that part. CatBoost trains it only on GPUs, so
    nothing could be compared here.

Definition
    t_i  = min(y_i / top, 1)
    loss = min over b of sum_i ln(1 + e^{x_i}) - t_i x_i, x_i = s_i - b              (1)

Symbols
    s scores, y labels, p_i = 1/(1 + e^{-x_i}) at the best b

Shift
    At the best b, sum_i p_i = sum_i t_i (2). This b is unique if t has two different values, and is
    found by Newton steps inside a bracket.

Gradient (exact: b is at a minimum, and does not count)
    grad_i = p_i - t_i                                                               (3)

Hessians
    majorizer     (default, "gauss-newton") p_i (1 - p_i), the Hessian for a fixed b
    exact         p_i (1 - p_i) - (p_i (1 - p_i))^2 / sum_j p_j (1 - p_j)
    constant      1

Degenerate queries
    Fewer than two documents, or all t equal: zero loss and gradient.

Numerics
    b is kept as a difference from the score of a document near it, so that scores far from 0 or far
    apart cost no digits.

Cost
    O(n log n): a sort and a few passes for the shift.

When to use
    When labels are probabilities, such as click-through rates, and only their order inside a query
    is of interest. For scores that are probabilities themselves, use Calibrated.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .base import Objective
from .contract import MAJORIZER_EXACT_OR_CONSTANT, Contract, Cost
from .engine.curvature import EXACT
from .engine.driver import query_kernel
from .engine.jit import jit_helper
from .engine.order import all_equal, order_by_score
from .engine.vector import logistic, logistic_loss
from .parameters import positive
from .validation import Floats

# Newton steps double the digits; the other steps each halve a bracket of at most 2^2048.
MOST_STEPS = 300


class QueryCrossEntropyParams(NamedTuple):
    """The kernel's parameters."""

    top: float


@jit_helper
def _shift(leads: Floats, total: float) -> float:
    """Return b of (2), from leads over the document near it."""
    n = len(leads)
    least, most = 0.0, 0.0
    for i in range(n):
        least, most = min(least, leads[i]), max(most, leads[i])
    spare = math.log(total) - math.log(n - total)
    least, most = least - spare, most - spare
    b = min(max(0.0, least), most)
    for _ in range(MOST_STEPS):
        excess, slope = -total, 0.0
        for i in range(n):
            q, rho = logistic(leads[i] - b)
            excess += 1.0 - q
            slope += rho
        if excess > 0.0:
            least = b
        else:
            most = b
        step = b + excess / slope if slope > 0.0 else math.inf
        # The middle as a sum of halves: a difference might overflow.
        after = step if least < step < most else 0.5 * least + 0.5 * most
        if abs(excess) <= 1e-15 * n or after == b:
            break
        b = after
    return b


@query_kernel(QueryCrossEntropyParams)
def _kernel(
    p: QueryCrossEntropyParams,
    scores: Floats,
    labels: Floats,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> float:
    n = len(scores)
    targets, leads = labels.copy(), labels.copy()
    total = 0.0
    for i in range(n):
        targets[i] = min(labels[i] / p.top, 1.0)
        total += targets[i]
    if all_equal(targets):
        return 0.0
    own = scores[order_by_score(scores)[min(int(total), n - 1)]]
    for i in range(n):
        leads[i] = scores[i] - own
    b = _shift(leads, total)
    loss, slopes = 0.0, 0.0
    for i in range(n):
        x = leads[i] - b
        q, rho = logistic(x)
        # ln(1 + e^x) - t x without a difference of large numbers.
        loss += (1.0 - targets[i]) * logistic_loss(-x) + targets[i] * logistic_loss(x)
        grad[i] = (1.0 - targets[i]) - q if x > 0.0 else logistic(-x)[0] - targets[i]  # (3)
        hess[i] = rho
        slopes += rho
    if hessian == EXACT and slopes > 0.0:
        for i in range(n):
            hess[i] -= hess[i] * (hess[i] / slopes)
    return loss


@dataclass(frozen=True, kw_only=True)
class QueryCrossEntropy(Objective):
    """Logistic loss of the labels as probabilities, each query shifted to where it fits best.

    ``loss = min over b of sum_i ln(1 + exp(s_i - b)) - t_i (s_i - b)`` with ``t_i = y_i / top``:
    a classification that learns differences inside queries only, after CatBoost's objective of this
    name.

    Parameters
    ----------
    top : float, default 1.0
        The label that means certainly relevant, positive, as in `Calibrated`. A label y is the
        probability y / top, and a label above `top` counts as 1.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        An upper bound, the Hessian for a fixed shift; the true diagonal; 1.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient, convex; O(n log n) time and O(n) memory for a query of n documents.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.QueryCrossEntropy().grad_hess([5.0, 5.0], [1, 0], [2])
    >>> grad.tolist(), hess.tolist()
    ([-0.5, 0.5], [0.25, 0.25])
    """

    name: ClassVar[str] = "query-cross-entropy"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(convex=True, cost=Cost.N_LOG_N)
    hessians = MAJORIZER_EXACT_OR_CONSTANT

    top: float = positive(1.0)
    hessian: str = "gauss-newton"
