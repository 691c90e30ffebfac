r"""ListMLE: likelihood of the order by grade under the Plackett-Luce model of the scores.

Source
    Xia, Liu, Wang, Zhang, Li: Listwise approach to learning to rank: theory and algorithm. ICML
    2008. The weights by position are those of p-ListMLE: Lan, Zhu, Guo, Niu, Cheng: Position-aware
    ListMLE: a sequential learning process for ranking. UAI 2014. The papers have no ties. Here ties
    follow Breslow's approximation (Biometrics 30, 1974): every document of a tie is chosen from all
    documents in the tie and below it, and each has the mean weight of the tie's positions.

Definition
    order = documents by descending grade; T_i those of document i's grade and of lower ones
    S_i   = sum over j in T_i of e^{s_j}
    loss  = sum_i w_i [ln S_i - s_i]                                             (1)
    w_i   = 1, or with `position_weights` the mean over the positions r of i's grade of
            (2^{n - r} - 1) / (2^{n - 1} - 1)                                    (2)

    The paper's weights are the numerators of (2). Divided by the first of them, they are on one
    scale in queries of any length.

Symbols
    s scores, y labels: any finite numbers, only their order counts; P_ij = e^{s_j} / S_i

Gradient (exact)
    grad_p = sum over i with p in T_i of w_i P_ip - w_p

Hessians
    exact         (default) sum over i with p in T_i of w_i P_ip (1 - P_ip); never negative; floored
                  at 1e-10
    gauss-newton  the same
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    S_i is kept as its largest term times a factor from 1 to n, and the sums over i relative to the
    largest term so far. Exponentials get only non-positive arguments, and no score overflows.

Cost
    O(n log n): one sort by label and two passes.

When to use
    When the label is an order, such as a ranking by a person or another system, and all of it
    counts. With `position_weights` only its first few places count. Documents of equal grade pull
    each other together; if there are many, `listnet` or `ranknet` is better.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine.driver import query_kernel
from .engine.jit import jit_helper
from .engine.order import all_equal, order_by_score
from .parameters import flag
from .validation import NUMBERS, Floats


class ListMLEParams(NamedTuple):
    """The kernel's parameters."""

    position_weights: bool


@jit_helper
def _weight(p: ListMLEParams, begin: int, end: int, n: int) -> float:
    """Return the weight of each document at the positions begin + 1 to end."""
    if not p.position_weights:
        return 1.0
    total = 0.0
    for position in range(begin, end):
        total += (2.0**-position - 2.0 ** (1 - n)) / (1.0 - 2.0 ** (1 - n))  # (2)
    return total / (end - begin)


@query_kernel(ListMLEParams)
def _kernel(
    p: ListMLEParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    if all_equal(labels):
        return 0.0
    order = order_by_score(labels)
    # By position: where its grade begins, the largest score from there on, and S over e^that.
    begins, tops, sums = np.empty(n, np.int64), np.empty(n), np.empty(n)
    top, total = -math.inf, 0.0
    end = n
    loss = 0.0
    while end > 0:
        begin = end - 1
        while begin > 0 and labels[order[begin - 1]] == labels[order[begin]]:
            begin -= 1
        above = top
        for place in range(begin, end):
            above = max(above, scores[order[place]])
        total = total * math.exp(top - above) if total > 0.0 else 0.0
        for place in range(begin, end):
            total += math.exp(scores[order[place]] - above)
        top = above
        weight = _weight(p, begin, end, n)
        loss += weight * (end - begin) * math.log(total)  # (1), alone: top may be large
        for place in range(begin, end):
            begins[place], tops[place], sums[place] = begin, top, total
            loss += weight * (top - scores[order[place]])
        end = begin
    # Sums of w/S and of w/S^2 over all grades so far, relative to e^(the largest score).
    once, squares = 0.0, 0.0
    end = 0
    while end < n:
        begin = end
        while end < n and begins[end] == begin:
            end += 1
        if begin > 0:
            fall = math.exp(tops[begin] - tops[begin - 1])
            once *= fall
            squares *= fall * fall
        weight = _weight(p, begin, end, n)
        once += weight * (end - begin) / sums[begin]
        squares += weight * (end - begin) / (sums[begin] * sums[begin])
        for place in range(begin, end):
            i = order[place]
            e = math.exp(scores[i] - tops[begin])
            grad[i] += e * once - weight
            hess[i] += e * once - e * e * squares
    return loss


@dataclass(frozen=True, kw_only=True)
class ListMLE(Objective):
    """Negative log-likelihood of the order by grade, with documents chosen from the top down.

    ``loss = sum_i w_i [ln(sum_j exp(s_j)) - s_i]``, where j runs over the documents of document i's
    grade and of lower ones: the Plackett-Luce model of Xia, Liu, Wang, Zhang, Li (ICML 2008), with
    Breslow's approximation for ties. Labels may be any finite numbers; only their order counts.

    Parameters
    ----------
    position_weights : bool, default False
        Weight position r by ``2^(n - r) - 1`` over the first of these: the p-ListMLE of Lan, Zhu,
        Guo, Niu, Cheng (UAI 2014). The weight halves from one position to the next. False: all are
        1.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.
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
    >>> grad, hess = boostrank.ListMLE().grad_hess([0.0, 0.0, 0.0], [2, 1, 0], [3])
    >>> grad.round(3).tolist()
    [-0.667, -0.167, 0.833]
    """

    name: ClassVar[str] = "listmle"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(labels=NUMBERS, cost=Cost.N_LOG_N, convex=True)
    hessians = EXACT_OR_CONSTANT

    position_weights: bool = flag(False)
    hessian: str = "exact"
