r"""ListNet: cross entropy of top-one probabilities.

Source
    Cao, Qin, Liu, Tsai, Li: Learning to rank: from pairwise approach to listwise approach. ICML
    2007; its gradient as in Chaudhuri, Tewari (SLAM), appendix 7.9. The top-one probability of a
    document is the probability that a ranking drawn from the Plackett-Luce model of the scores
    begins with it; with exponential scores that is a softmax.

Definition
    P_s(i) = e^{s_i} / sum_j e^{s_j},  P_y(i) = e^{y_i} / sum_j e^{y_j}
    loss   = - sum_i P_y(i) ln P_s(i)

    P_y is the softmax of the *grades*, as in the paper, where the judgements are scores like any
    other. A softmax of the gains 2^y - 1 would leave little but the best grade: with a grade 4 in
    the list, a document of grade 3 would have e^{-8} of its weight.

Symbols
    s scores, y grades

Gradient (exact)
    grad_i = P_s(i) - P_y(i)

Hessians
    exact         (default) P_s(i) (1 - P_s(i)); never negative; floored at 1e-10
    gauss-newton  the same: the Hessian of a softmax cross entropy is its Gauss-Newton matrix
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient. (The paper's loss would
    pull the scores of equal grades together, although no order of them is better than another.)

Numerics
    Exponentials get only non-positive arguments; no score overflows. The probability of all
    documents but the best-scored one is summed, not subtracted from 1.

Cost
    O(n).

When to use
    When only the best documents of a list count and time matters: it takes one pass over the list.
    With a single relevant document in each query it is the cross entropy of choosing it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine.driver import query_kernel
from .engine.jit import jit_allocating, jit_helper
from .engine.order import all_equal
from .engine.vector import exponentials
from .validation import Floats


class ListNetParams(NamedTuple):
    """The kernel has no parameters."""


@jit_helper
def _softmax(values: Floats, p: Floats, work: Floats) -> tuple[int, float]:
    """Write the softmax; return where a largest value is, and the sum of e^{v - max} elsewhere."""
    top = int(np.argmax(values))
    for i in range(len(values)):
        work[i] = values[i] - values[top]
    exponentials(work, p, len(values))
    p[top] = 0.0
    others = p.sum()
    p[top] = 1.0
    p /= 1.0 + others
    return top, others


@jit_allocating
def cross_entropy(scores: Floats, grad: Floats, hess: Floats) -> float:
    """Return the loss and write gradient and Hessian; before, `grad` is the target, of sum 1."""
    p = np.empty(len(scores))
    top, others = _softmax(scores, p, hess)
    loss = math.log1p(others)
    for i in range(len(scores)):
        loss += grad[i] * (scores[top] - scores[i])
        grad[i] = p[i] - grad[i]
        hess[i] = p[i] * (1.0 - p[i])
    hess[top] = p[top] * others / (1.0 + others)
    return loss


@query_kernel(ListNetParams)
def _kernel(
    p: ListNetParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if all_equal(labels):
        return 0.0
    _softmax(labels, grad, hess)
    return cross_entropy(scores, grad, hess)


@dataclass(frozen=True, kw_only=True)
class ListNet(Objective):
    """Cross entropy between the softmax of the grades and that of the scores.

    ``loss = -sum_i P_y(i) ln P_s(i)`` with ``P_s(i) = exp(s_i) / sum_j exp(s_j)`` the probability
    that document i is ranked first and ``P_y`` the same for the grades, after Cao, Qin, Liu, Tsai,
    Li (ICML 2007).

    Parameters
    ----------
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting
        and ranked worse.
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
    >>> grad, hess = boostrank.ListNet().grad_hess([0.0, 0.0], [1, 0], [2])
    >>> grad.round(3).tolist(), hess.tolist()
    ([-0.231, 0.231], [0.25, 0.25])
    """

    name: ClassVar[str] = "listnet"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(convex=True)
    hessians = EXACT_OR_CONSTANT

    hessian: str = "exact"

    @property
    def exponential_gains(self) -> bool:
        """Whether a grade y counts as an exponential: it does, e^y."""
        return True
