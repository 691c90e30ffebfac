r"""QueryRMSE: squared error after the best constant shift of each query.

Source
    The objective of this name in CatBoost (its documentation, Ranking: objectives and metrics).
    There, document weights also enter the mean residual, the reported metric is the root of the
    mean square over all documents, and a query of equal grades still teaches that its documents
    score alike. Here such a query teaches nothing, as in all losses of score differences.

Definition
    r_i  = y_i - s_i
    loss = 1/2 sum_i (r_i - mean r)^2

Symbols
    s scores, y labels: any finite numbers

Gradient (exact)
    grad_i = -(r_i - mean r)

Hessians
    majorizer     (default, "gauss-newton") 1: the matrix is I - 11^T/n, and I lies above it. A
                  Newton step moves a leaf to its mean residual.
    exact         1 - 1/n
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    The mean is taken over r, not over y and s separately, so that r keeps its digits where a
    query's scores are far from its grades.

Cost
    O(n).

When to use
    When labels are numbers whose distances count, negative ones included; when trees are strongly
    regularised; or when rounds should be as cheap as possible. Unlike Regression it spends nothing
    on how good a query is as a whole.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .base import Objective
from .contract import MAJORIZER_EXACT_OR_CONSTANT, Contract
from .engine.curvature import EXACT
from .engine.driver import query_kernel
from .engine.order import all_equal
from .validation import NUMBERS, Floats


class QueryRMSEParams(NamedTuple):
    """The kernel has no parameters."""


@query_kernel(QueryRMSEParams)
def _kernel(
    p: QueryRMSEParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    if all_equal(labels):
        return 0.0
    mean = 0.0
    for i in range(n):
        mean += (labels[i] - scores[i]) / n
    for i in range(n):
        grad[i] = mean - (labels[i] - scores[i])
        hess[i] = 1.0 - 1.0 / n if hessian == EXACT else 1.0
    # In its own loop: the order of a sum in a loop that writes may depend on where its arrays lie.
    loss = 0.0
    for i in range(n):
        loss += 0.5 * grad[i] * grad[i]
    return loss


@dataclass(frozen=True, kw_only=True)
class QueryRMSE(Objective):
    """Squared error of the scores, each query shifted to where it fits best.

    ``loss = 1/2 sum_i (r_i - mean r)^2`` with residuals ``r_i = y_i - s_i``: a regression that
    learns differences inside queries only, after CatBoost's objective of this name.

    Parameters
    ----------
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        1, an upper bound, so that a Newton step is the mean residual; the true diagonal, 1 - 1/n in
        a query of n documents; 1.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient, convex; O(n) time and memory for a query of n documents.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.QueryRMSE().grad_hess([5.0, 6.0], [2, 1], [2])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 1.0], [1.0, 1.0])
    """

    name: ClassVar[str] = "query-rmse"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(labels=NUMBERS, convex=True)
    hessians = MAJORIZER_EXACT_OR_CONSTANT

    hessian: str = "gauss-newton"

    @property
    def perturbed(self) -> bool:
        """Whether it gets the noise of a mixture: no, its gradient is linear in the scores."""
        return False
