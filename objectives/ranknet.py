r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005; the cost that LambdaRank (Burges, Ragno, Le, NIPS 2006, section 6.2) scales
    by the change of NDCG. There, pairs may have any target probability; here it is 1 for the
    document of higher grade, and pairs of equal grade (target 1/2) are left out.

Definition
    pairs y_i > y_j
    P_ij = 1/(1 + e^{-sigma (s_i - s_j)}), the modelled probability that i belongs before j
    loss = sum_ij - ln P_ij = sum_ij ln(1 + e^{-sigma (s_i - s_j)}), the cross entropy of P_ij and a
    target of 1, divided by the query's number of such pairs when `normalize`

Symbols
    s scores, y grades, rho_ij = 1 - P_ij = 1/(1 + e^{sigma (s_i - s_j)})

Gradient (exact)
    grad_i -= sigma rho, grad_j += sigma rho: LambdaRank's with all weights w = 1

Hessians
    exact         (default) hess_{i,j} += sigma^2 rho (1 - rho); never negative. Divided like the
                  loss when `normalize`; floored, as all, at 1e-10.
    gauss-newton  the same: the logistic loss is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Exponentials take non-positive arguments only; no score overflows.

Cost
    O(n^2).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .numerics import CONSTANT, HESSIAN_FLOOR, kernel, logistic
from .schedules import Schedule, check_positive_or_schedule
from .validation import Floats, Integers, check_flag

Params = tuple[float, bool]  # sigma, normalize


@kernel
def _pairs_query(
    scores: Floats, labels: Floats, params: Params, grad: Floats, hess: Floats
) -> float:
    """Write gradient and Hessian (both zeros before) and return the loss."""
    sigma, normalize = params
    n = len(scores)
    pairs = 0
    loss = 0.0
    for i in range(n):
        for j in range(i):
            if labels[i] == labels[j]:
                continue
            pairs += 1
            better, worse = (i, j) if labels[i] > labels[j] else (j, i)
            x = sigma * (scores[better] - scores[worse])
            rho, slope = logistic(x)
            loss += max(0.0, -x) + math.log1p(math.exp(-abs(x)))
            grad[better] -= sigma * rho
            grad[worse] += sigma * rho
            hess[better] += sigma * sigma * slope
            hess[worse] += sigma * sigma * slope
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
        loss[q] = _pairs_query(scores[a:b], labels[a:b], params, unused, unused)


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
        _pairs_query(scores[a:b], labels[a:b], params, grad[a:b], curvature)
        if hessian != CONSTANT:
            hess[a:b] = np.maximum(curvature, HESSIAN_FLOOR)


@dataclass(frozen=True, kw_only=True)
class RankNet(Objective):
    """Logistic loss on pairs: the probability that the better document comes first.

    ``loss = sum over y_i > y_j of ln(1 + exp(-sigma (s_i - s_j)))``, after Burges et al.
    (ICML 2005): LambdaRank without its weights.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive. It sets the scale of the scores and
        nothing else.
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike; by default, as in the paper, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting,
        whose steps grow with the number of pairs unless `normalize`.

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
    >>> grad, hess = boostrank.RankNet().grad_hess([0.0, 0.0, 0.0], [2, 1, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 0.0, 1.0], [0.5, 0.5, 0.5])
    """

    name: ClassVar[str] = "ranknet"

    sigma: float | Schedule = 1.0
    normalize: bool = False
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            sigma=check_positive_or_schedule("sigma", self.sigma),
            normalize=check_flag("normalize", self.normalize),
        )

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
        return self.sigma, self.normalize
