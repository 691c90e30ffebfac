r"""XE-NDCG: cross entropy of the scores' softmax with gains that are redrawn in every round.

Source
    Bruch: An alternative cross entropy loss for learning-to-rank. WWW 2021 (arXiv 1911.09798). The
    ListNet cross entropy with another target, which makes it a convex bound of NDCG.

Definition
    rho_i  = e^{s_i} / sum_j e^{s_j}
    phi_i  = (2^{y_i} - gamma_i) / sum_j (2^{y_j} - gamma_j),  gamma_i in [0, 1]
    loss   = - sum_i phi_i ln rho_i

Symbols
    s scores, y grades, gamma what keeps the target of equal grades from being equal

Draws
    The paper draws gamma_i from the uniform distribution, independently for every document and in
    every round, so that a model cannot learn the exact share of each document. Only a booster has
    rounds to draw in; `loss` and `grad_hess` use the mean, 1/2, and always give the same numbers.
    If `gamma` is a number, all of them use it: 0 gives the target 2^y, 1 that of the gains.

Gradient (exact)
    grad_i = rho_i - phi_i

    This is the gradient of the loss and nothing else. The built-in objective of the same name in
    one of the hosts adds two terms of a series for the Newton step with the whole Hessian
    diag(rho) - rho rho^T:
        a_i = grad_i / (1 - rho_i),  b_i = rho_i (sum_j a_j - a_i),
        c_i = rho_i (sum_j b_j / (1 - rho_j) - b_i / (1 - rho_i)),  grad_i + b_i + c_i
    That is not the derivative of a loss, and it is a step for every single document where trees
    take one for a leaf. Neither is better by more than chance: NDCG@10 on the validation parts of
    OHSUMED and MQ2008, with 300 trees, is .4326 and .7022 with the gradient, .4293 and .7047 with
    both terms at a learning rate of 0.025, and .4118 and .6965 against .4169 and .6986 at 0.05.

Hessians
    exact         (default) rho_i (1 - rho_i); never negative; floored at 1e-10
    gauss-newton  the same: the Hessian of a softmax cross entropy is its Gauss-Newton matrix
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient. (With gamma drawn, the
    paper's loss would fit such a query to its draws, whose mean says only that all scores are
    equal.)

Numerics
    As in ListNet. 2^y - gamma is formed as (2^y - 1) + (1 - gamma), the first without cancellation,
    so that grades near 0 keep their ratios at gamma = 1.

Cost
    O(n).

When to use
    When lists are long, grades are noisy and time matters: it takes one pass over the list, and it
    is a convex bound of NDCG.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .engine.driver import query_kernel
from .engine.jit import jit_allocating
from .engine.order import all_equal
from .gains import Gain, gain_field
from .listnet import cross_entropy
from .validation import Floats, check_share

MEAN_GAMMA = 0.5


class XENDCGParams(NamedTuple):
    """The kernel's parameters: the gamma of every document, or one number for all."""

    gammas: Floats


@jit_allocating
def _of_query(p: XENDCGParams, a: int, b: int) -> XENDCGParams:
    return XENDCGParams(p.gammas[a:b] if len(p.gammas) > 1 else p.gammas)


@query_kernel(XENDCGParams, _of_query)
def _kernel(
    p: XENDCGParams, scores: Floats, gains: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if all_equal(gains):
        return 0.0
    total = 0.0
    for i in range(len(gains)):
        gamma = p.gammas[i] if len(p.gammas) > 1 else p.gammas[0]
        grad[i] = gains[i] + (1.0 - gamma)
        total += grad[i]
    grad /= total
    return cross_entropy(scores, grad, hess)


@dataclass(frozen=True, kw_only=True)
class XENDCG(Objective):
    """Cross entropy between gains redrawn in every round and the softmax of the scores.

    ``loss = -sum_i phi_i ln rho_i`` with ``rho`` the softmax of the scores and ``phi_i`` the share
    of document i in the sum of ``2^y - gamma``, each gamma uniform on [0, 1], after Bruch (WWW
    2021): a convex bound of NDCG. In a host, every round draws a gamma for every document, from
    `seed`; `loss` and `grad_hess` use the mean, 1/2.

    Parameters
    ----------
    gamma : float, optional
        Number from 0 to 1 to subtract from every 2^y, in a host too, in place of draws. Default
        None: drawn as above. On validation parts the draws made little difference either way.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.
    gain, rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

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
    >>> grad, hess = boostrank.XENDCG().grad_hess([0.0, 0.0], [1, 0], [2])
    >>> grad.tolist(), hess.tolist()
    ([-0.25, 0.25], [0.25, 0.25])
    """

    name: ClassVar[str] = "xe-ndcg"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(convex=True)
    hessians = EXACT_OR_CONSTANT

    gamma: float | None = None
    gain: Gain = gain_field()
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None:
            self._set(gamma=check_share("gamma", self.gamma))

    @property
    def n_draws(self) -> int:
        """How many uniform numbers a booster draws per document and round."""
        return 1 if self.gamma is None else 0

    def _params(self, draws: Floats | None = None) -> XENDCGParams:
        if draws is not None:
            return XENDCGParams(draws[0])
        return XENDCGParams(np.array([MEAN_GAMMA if self.gamma is None else self.gamma]))
