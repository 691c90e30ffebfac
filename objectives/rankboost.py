r"""RankBoost: exponential loss on the score difference of each pair.

Source
    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. JMLR
    2003. There, binary weak rankers are added one at a time to lower this loss; here it is left to
    the host's Newton boosting. It differs from the paper's for pairs further apart than any
    that training meets, where it goes on as a straight line.

Definition
    pairs y_i > y_j, x = s_i - s_j
    f(x) = e^{-x}               for x >= -36
           e^{36} (1 - (x + 36))  below: the tangent at -36
    loss = sum_ij f(x), divided by the query's number of such pairs when `normalize`

Symbols
    s scores, y grades

Gradient (exact: f is C^1)
    v = - f'(x) = e^{min(-x, 36)}: grad_i -= v, grad_j += v

Hessians
    gauss-newton  (default) |f'(x)| = e^{min(-x, 36)}: the exact one but on the straight line, where
                  it keeps the curvature of the seam, so that no Newton step is longer than 1
    exact         e^{-x}, and 0 below -36; floored at 1e-10. A query with pairs on the straight line
                  only would be given steps without bound.
    constant      1
    The first two are divided like the loss when `normalize`, before the floor.

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    e^{-x} overflows float64 at x = -710 and float32, in which hosts take gradients, at -88. The
    seam is at -36 because e^{36} = 4e15 is about 2^52: one such pair outweighs every tied pair of
    its query to float64's last bit, so that a faster growth beyond it could not change where the
    gradient points. A list of 10,000 documents with all pairs there has a gradient of 4e19, and
    float32's greatest scores a loss below 1e63.

Cost
    O(n^2).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .numerics import CONSTANT, EXACT, HESSIAN_FLOOR, kernel
from .validation import Floats, Integers, check_flag

Params = tuple[bool]  # normalize

# The lead below which the exponential goes on as its tangent; the module says why there.
WORST_LEAD = -36.0


@kernel
def _pairs_query(
    scores: Floats, labels: Floats, params: Params, hessian: int, grad: Floats, hess: Floats
) -> float:
    """Write gradient and Hessian (both zeros before) and return the loss."""
    (normalize,) = params
    n = len(scores)
    pairs = 0
    loss = 0.0
    for i in range(n):
        for j in range(i):
            if labels[i] == labels[j]:
                continue
            pairs += 1
            better, worse = (i, j) if labels[i] > labels[j] else (j, i)
            x = scores[better] - scores[worse]
            pull = math.exp(-max(x, WORST_LEAD))
            beyond = max(0.0, WORST_LEAD - x)
            loss += pull * (1.0 + beyond)
            grad[better] -= pull
            grad[worse] += pull
            if hessian != EXACT or beyond == 0.0:
                hess[better] += pull
                hess[worse] += pull
    if normalize and pairs > 0:
        grad /= pairs
        hess /= pairs
        loss /= pairs
    return loss


@kernel
def _loss_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        unused = np.zeros(b - a)
        loss[q] = _pairs_query(scores[a:b], labels[a:b], params, CONSTANT, unused, unused)


@kernel
def _grad_hess_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        curvature = np.zeros(b - a)
        _pairs_query(scores[a:b], labels[a:b], params, hessian, grad[a:b], curvature)
        if hessian != CONSTANT:
            hess[a:b] = np.maximum(curvature, HESSIAN_FLOOR)


@dataclass(frozen=True, kw_only=True)
class RankBoost(Objective):
    """Exponential loss on pairs: the worse a pair, the harder it pulls.

    ``loss = sum over y_i > y_j of exp(-(s_i - s_j))``, after Freund, Iyer, Schapire, Singer (JMLR
    2003); below a difference of -36 the exponential goes on as its tangent, so that no score
    overflows.

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike; by default, as in the paper, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The first two are the same but below a difference of -36, where the true curvature is zero
        and the default goes on with e^36; constant is plain gradient boosting, whose steps grow
        with the number of pairs unless `normalize`.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    Exact gradient; O(n^2) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankBoost().grad_hess([0.0, 0.0, 0.0], [2, 1, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-2.0, 0.0, 2.0], [2.0, 2.0, 2.0])
    """

    name: ClassVar[str] = "rankboost"

    normalize: bool = False
    hessian: str = "gauss-newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(normalize=check_flag("normalize", self.normalize))

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="exact",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n^2)",
        )

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries

    def _params(self) -> tuple[Any, ...]:
        return (self.normalize,)
