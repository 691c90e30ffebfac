"""GBRank: squared hinge on the score difference of each pair.

Source
    Zheng, Zha, Chen, Sun: A regression framework for learning ranking functions using relative
    relevance judgments. SIGIR 2007; a baseline of Wu, Chang, Zheng, Zha (CIKM 2009). There,
    trees are fitted to the targets s_j + margin and s_i - margin of the wrong pairs, and the fits
    are averaged. This is the loss behind that procedure, lowered by the host's Newton boosting.

Definition
    loss = 1/2 sum over pairs y_i > y_j of max(0, margin - (s_i - s_j))^2
    divided by the query's number of such pairs when `normalize`.

Gradient (exact: the loss is C^1)
    v = max(0, margin - (s_i - s_j)): grad_i -= v, grad_j += v

Hessians
    exact         (default) the number of pairs with v > 0 that the document is in, divided like
                  the loss when `normalize`; floored at 1e-10
    gauss-newton  the same: the residual is linear in the scores
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    As in `hinge`: no sum cancels.

Cost
    O(n log n).

When to use
    When a better document should lead by a margin. It fits quickly, so it needs few rounds, and it
    overfits noisy grades.
"""

from dataclasses import dataclass
from typing import ClassVar

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine.hinge import hinge_kernel
from .parameters import flag, positive


@dataclass(frozen=True, kw_only=True)
class GBRank(Objective):
    """Squared hinge on pairs: a better document should lead by a margin.

    ``loss = 1/2 sum over y_i > y_j of max(0, margin - (s_i - s_j))^2``, after Zheng, Zha, Chen, Sun
    (SIGIR 2007), who fit it by regression on corrected targets; here the host takes Newton steps.

    Parameters
    ----------
    margin : float, default 1.0
        Lead in score that a document of higher grade should have, positive. It sets the scale of
        the scores and nothing else.
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike. By default, as in the paper,
        a query counts by its number of pairs, which ranked no worse on three data sets.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two count the document's pairs within the margin; constant is plain gradient
        boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n log n) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.GBRank().grad_hess([0.0, 0.5], [1, 0], [2])
    >>> grad.tolist(), hess.tolist()
    ([-1.5, 1.5], [1.0, 1.0])
    """

    name: ClassVar[str] = "gbrank"
    kernel = hinge_kernel
    squared: ClassVar[bool] = True
    claims: ClassVar[Contract] = Contract(cost=Cost.N_LOG_N, convex=True)
    hessians = EXACT_OR_CONSTANT

    margin: float = positive(1.0)
    normalize: bool = flag(False)
    hessian: str = "exact"
