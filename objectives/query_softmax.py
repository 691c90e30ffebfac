r"""QuerySoftMax: cross entropy of a softmax of the scores with shares of the labels.

Source
    The objective of this name in CatBoost (its documentation, Ranking: objectives and metrics; its
    derivatives in ``error_functions.cpp``). There a query's loss is multiplied by the sum of its
    labels, as `weight` can do here; ``lambda``, .01 beta times that sum, is added to the Hessian;
    document weights enter the shares; and a query of equal labels still teaches that its documents
    score alike.

Definition
    t_i  = y_i / sum_j y_j
    p_i  = e^{beta s_i} / sum_j e^{beta s_j}
    loss = - sum_i t_i ln p_i

Symbols
    s scores, y labels, such as clicks or purchases

Gradient (exact)
    grad_i = beta (p_i - t_i)

Hessians
    exact         (default) beta^2 p_i (1 - p_i); never negative; floored at 1e-10
    gauss-newton  the same: the Hessian of a softmax cross entropy is its Gauss-Newton matrix
    constant      1

Degenerate queries
    Fewer than two documents, or all labels equal, zeros included: zero loss and gradient.

Numerics
    As in ListNet: exponentials get only non-positive arguments; no score overflows.

Cost
    O(n).

When to use
    When labels are counts or shares of one choice, such as clicks, purchases or bookings in a list
    of results: the loss is the likelihood of those choices. For grades, `listnet` takes their
    softmax, and `xe-ndcg` their gains.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine.driver import query_kernel
from .engine.order import all_equal
from .listnet import cross_entropy
from .parameters import schedulable
from .schedules import Schedule
from .validation import Floats


class QuerySoftMaxParams(NamedTuple):
    """The kernel's parameters."""

    beta: float


@query_kernel(QuerySoftMaxParams)
def _kernel(
    p: QuerySoftMaxParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    if all_equal(labels):
        return 0.0
    top, best, total = 0.0, scores[0], 0.0
    for i in range(n):
        top, best = max(top, labels[i]), max(best, scores[i])
    steep = np.empty(n)
    for i in range(n):
        total += labels[i] / top  # the smallest labels have no finite reciprocal
    for i in range(n):
        steep[i] = p.beta * (scores[i] - best)  # subtract first: a common shift costs no digits
        grad[i] = labels[i] / top / total
    loss = cross_entropy(steep, grad, hess)
    # Where p is near 1, the sum of the other gradients has more digits than p - t.
    top_document = int(np.argmax(scores))
    rest = 0.0
    for i in range(n):
        rest += grad[i] if i != top_document else 0.0
    grad[top_document] = -rest
    for i in range(n):
        grad[i] *= p.beta
        hess[i] *= p.beta * p.beta
    return loss


@dataclass(frozen=True, kw_only=True)
class QuerySoftMax(Objective):
    """Cross entropy between shares of the labels and the softmax of the scores.

    ``loss = -sum_i t_i ln p_i`` with ``t_i = y_i / sum_j y_j`` and
    ``p_i = exp(beta s_i) / sum_j exp(beta s_j)``, after CatBoost's objective of this name.

    Parameters
    ----------
    beta : float or Schedule, default 1.0
        Steepness of the softmax in score units, positive. Only beta times the scores matters.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.QuerySoftMax().grad_hess([0.0, 0.0], [3, 1], [2])
    >>> grad.tolist(), hess.tolist()
    ([-0.25, 0.25], [0.25, 0.25])
    """

    name: ClassVar[str] = "query-softmax"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(convex=True)
    hessians = EXACT_OR_CONSTANT

    beta: float | Schedule = schedulable(1.0)
    hessian: str = "exact"
