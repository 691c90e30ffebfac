r"""RankSVM: hinge loss on the score difference of each pair.

Source
    Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression. 2000;
    Joachims: Optimizing search engines using clickthrough data. KDD 2002; as written by Chapelle,
    Wu (SmoothRank), section 1, and Chaudhuri, Tewari (SLAM), appendix 7.9. There, linear functions
    are fitted with a quadratic penalty; here it is the loss alone: a host has its own penalties.

Definition
    loss = sum over pairs y_i > y_j of max(0, 1 - (s_i - s_j))
    divided by the query's number of such pairs when `normalize`.

    The margin is 1 because its size only sets the scale of the scores.

Gradient (a subgradient: the loss has a kink where a pair's lead is 1)
    pairs with a lead below 1: grad_i -= 1, grad_j += 1; 0 at the kink

Hessians
    gauss-newton  (default) a surrogate: the number of pairs with a lead below 1 that the document
                  is in, divided like the loss when `normalize`; floored at 1e-10. The true
                  curvature is zero wherever it exists, so there is no "exact". This is the
                  curvature of the squared hinge 1/2 max(0, 1 - x)^2, and at most 1 per pair against
                  a pull of exactly 1: a Newton step moves no document by more than 1, the margin,
                  and by exactly that if all its pairs pull the same way.
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    As in `hinge`: no sum cancels.

Cost
    O(n log n).

When to use
    To compare with a RankSVM. GBRank uses the same pairs and a smooth loss, which fits faster.
"""

from dataclasses import dataclass
from typing import ClassVar

from .base import Objective
from .contract import Contract, Cost
from .engine.hinge import hinge_kernel
from .parameters import flag


@dataclass(frozen=True, kw_only=True)
class RankSVM(Objective):
    """Hinge loss on pairs: a better document should lead by 1.

    ``loss = sum over y_i > y_j of max(0, 1 - (s_i - s_j))``, after Herbrich, Graepel, Obermayer
    (2000) and Joachims (KDD 2002), without their penalty on linear weights.

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike. By default, as in the papers, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        The hinge has no curvature of its own. The first is the number of pairs with a loss that the
        document is in, which limits a Newton step to the margin. Constant is plain gradient
        boosting, whose steps grow with the number of pairs unless `normalize`.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The gradient is a subgradient, 0 for a pair whose lead is exactly 1. O(n log n) time for a query
    of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankSVM().grad_hess([1.0, 0.5, -1.0], [2, 1, 0], [3])
    >>> grad.tolist(), hess.round(3).tolist()
    ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """

    name: ClassVar[str] = "ranksvm"
    kernel = hinge_kernel
    margin: ClassVar[float] = 1.0
    squared: ClassVar[bool] = False
    claims: ClassVar[Contract] = Contract(
        gradient="subgradient", cost=Cost.N_LOG_N, kinks="leads equal to the margin", convex=True
    )

    normalize: bool = flag(False)
    hessian: str = "gauss-newton"
