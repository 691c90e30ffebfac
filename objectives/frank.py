r"""FRank: fidelity loss on the score difference of each pair.

Source
    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007. There, weak
    learners are added one at a time and each query is divided by its number of pairs; here the loss
    is left to the host's Newton boosting, and the division is the option `normalize`. Pairs have
    target probability 1 for the document of higher grade; pairs of equal grade are left out.

Definition
    pairs y_i > y_j, x = s_i - s_j
    P(x) = 1/(1 + e^{-x}), the modelled probability that i belongs before j
    loss = sum_ij 1 - sqrt(P(x)): the fidelity of P and a target of 1,
    divided by the query's number of such pairs when `normalize`

    0 for a pair that is right, at most 1 however wrong: hopeless pairs are given up.

Symbols
    s scores, y grades, f(x) = 1 - sqrt(P), l(x) = - ln P RankNet's loss, so that f = 1 - e^{-l/2}

Gradient (exact)
    - f'(x) = sqrt(P) (1 - P)/2: grad_i += f', grad_j -= f'. RankNet's times sqrt(P)/2.

Hessians
    exact         f''(x) = sqrt(P) (1 - P) (3 P - 1)/4, negative where P < 1/3, therefore floored at
                  a tenth of the query's mean magnitude
    gauss-newton  (default) sqrt(P)/2 l''(x) = sqrt(P)/2 P (1 - P): f is a concave function of l, so
                  its tangent in l, RankNet's loss with the weight sqrt(P)/2 held constant, lies
                  above f and touches it; this is the curvature of that bound, never negative
    constant      1
    The first two are divided like the loss when `normalize`, before any floor.

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Exponentials take non-positive arguments only; no score overflows. 1 - sqrt(P) is formed as
    (1 - P)/(1 + sqrt(P)), which does not cancel for P near 1.

Cost
    O(n^2).

When to use
    Some grades are plainly wrong. A pair that is far off is given up: its pull tends to zero where
    RankNet's stays and RankBoost's grows. It visits all pairs: short lists only.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .base import Objective
from .contract import MAJORIZER_EXACT_OR_CONSTANT, Contract, Cost
from .engine.curvature import EXACT, floor_indefinite
from .engine.driver import query_kernel
from .engine.vector import logistic
from .parameters import flag
from .validation import Floats


class FRankParams(NamedTuple):
    """What the kernel takes."""

    normalize: bool


@query_kernel(FRankParams)
def _kernel(
    p: FRankParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
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
            right, slope = logistic(-x)  # P and P (1 - P)
            wrong, _ = logistic(x)  # 1 - P
            root = math.sqrt(right)
            loss += wrong / (1.0 + root)
            pull = 0.5 * root * wrong
            grad[better] -= pull
            grad[worse] += pull
            bound = 0.5 * root * slope
            curvature = 0.5 * pull * (3.0 * right - 1.0) if hessian == EXACT else bound
            hess[better] += curvature
            hess[worse] += curvature
    if p.normalize and pairs > 0:
        grad /= pairs
        hess /= pairs
        loss /= pairs
    if hessian == EXACT:
        floor_indefinite(hess)
    return loss


@dataclass(frozen=True, kw_only=True)
class FRank(Objective):
    """Fidelity loss on pairs: bounded, so that hopeless pairs cannot dominate.

    ``loss = sum over y_i > y_j of 1 - sqrt(P)`` with ``P = 1/(1 + exp(-(s_i - s_j)))``, after Tsai,
    Liu, Qin, Chen, Ma (SIGIR 2007).

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, as the paper does, so that queries count alike; by default,
        as in all pairwise losses here, a query counts by its number of pairs, which ranked no
        worse.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The exact diagonal is indefinite and ranked no better; the default one is that of the
        RankNet loss that bounds this one from above; constant is plain gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

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
    >>> boostrank.FRank().loss([0.0, 0.0, 1000.0, 0.0, 0.0, 1000.0], [1, 0] * 3, [2] * 3).round(3)
    array([0.293, 0.   , 1.   ])
    """

    name: ClassVar[str] = "frank"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(cost=Cost.QUADRATIC)
    hessians = MAJORIZER_EXACT_OR_CONSTANT

    normalize: bool = flag(False)
    hessian: str = "gauss-newton"
