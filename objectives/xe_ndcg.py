r"""XE-NDCG: cross entropy of the scores' softmax with gains that are drawn anew in every round.

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
    The paper has gamma_i drawn from the uniform distribution, by itself for every document and in
    every round: a model cannot then learn the exact share of each document. Only a booster has
    rounds to draw in; `loss` and `grad_hess` take its mean, 1/2, and always give the same numbers.
    A number as `gamma` is what all of them take: 0 the target 2^y, 1 that of the gains.

Gradient (exact)
    grad_i = rho_i - phi_i

    Of the loss, and nothing else. The built-in objective of the same name in one of the hosts goes
    on, beyond it, with two terms of a series for the Newton step with the whole Hessian
    diag(rho) - rho rho^T:
        a_i = grad_i / (1 - rho_i),  b_i = rho_i (sum_j a_j - a_i),
        c_i = rho_i (sum_j b_j / (1 - rho_j) - b_i / (1 - rho_i)),  grad_i + b_i + c_i
    That is no derivative of a loss, and a step for every document by itself where trees take one
    for a leaf. Neither is better by more than chance: NDCG@10 on the validation parts of OHSUMED
    and MQ2008, 300 trees, is .4326 and .7022 with the gradient, .4293 and .7047 with both terms at
    a learning rate of 0.025, and .4118 and .6965 against .4169 and .6986 at 0.05.

Hessians
    exact         (default) rho_i (1 - rho_i); never negative. Floored, as all, at 1e-10.
    gauss-newton  the same: a cross entropy of a softmax is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient. (With gamma drawn, the
    paper's loss would teach such a query's draws, and their mean only that all scores are equal.)

Numerics
    Those of ListNet. 2^y - gamma is (2^y - 1) + (1 - gamma), the first without cancellation: at
    gamma = 1 grades near 0 keep their ratios.

Cost
    O(n).
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .base import GRADES, Contract, Objective
from .listnet import cross_entropy
from .numerics import CONSTANT, HESSIAN_FLOOR, LN_2, all_equal, kernel, part
from .validation import Floats, Integers, check_share

MEAN_GAMMA = 0.5

# gamma: that of every document, or one number for all.
Params = tuple[Floats]


@part
def _xe_query(scores: Floats, labels: Floats, gamma: Floats, grad: Floats, hess: Floats) -> float:
    """Write gradient and Hessian and return the loss."""
    if all_equal(labels):
        return 0.0
    target = np.empty(len(labels))
    total = 0.0
    for i in range(len(labels)):
        own = gamma[i] if len(gamma) > 1 else gamma[0]
        target[i] = math.expm1(labels[i] * LN_2) + (1.0 - own)
        total += target[i]
    target /= total
    return cross_entropy(scores, target, grad, hess)


@part
def _of_query(gamma: Floats, a: int, b: int) -> Floats:
    """Return what belongs to the documents a..b-1."""
    return gamma[a:b] if len(gamma) > 1 else gamma


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
        gamma = _of_query(params[0], a, b)
        loss[q] = _xe_query(scores[a:b], labels[a:b], gamma, unused, unused)


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
        gamma = _of_query(params[0], a, b)
        _xe_query(scores[a:b], labels[a:b], gamma, grad[a:b], curvature)
        if hessian != CONSTANT:
            hess[a:b] = np.maximum(curvature, HESSIAN_FLOOR)


@dataclass(frozen=True, kw_only=True)
class XENDCG(Objective):
    """Cross entropy between gains drawn anew in every round and the softmax of the scores.

    ``loss = -sum_i phi_i ln rho_i`` with ``rho`` the softmax of the scores and ``phi_i`` the share
    of document i in the sum of ``2^y - gamma``, each gamma uniform on [0, 1], after Bruch (WWW
    2021): a convex bound of NDCG. In a host, every round draws a gamma for every document, from
    `seed`; `loss` and `grad_hess` take the mean, 1/2.

    Parameters
    ----------
    gamma : float, optional
        From 0 to 1: what is taken from every 2^y, in a host too, in place of draws. Default None:
        as above. On validation parts the draws made little difference, up or down.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

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

    gamma: float | None = None
    hessian: str = "exact"

    if TYPE_CHECKING:  # no parameter: what the kernels take
        _gammas: Floats

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None:
            self._set(gamma=check_share("gamma", self.gamma))
        self._set(_gammas=np.array([MEAN_GAMMA if self.gamma is None else self.gamma]))

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="exact",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n)",
        )

    @property
    def _draws(self) -> bool:
        return self.gamma is None

    def _drawn(self, rng: np.random.Generator, n_docs: int) -> Self:
        if not self._draws:
            return self
        drawn = replace(self)
        drawn._set(_gammas=rng.random(n_docs))
        return drawn

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries

    def _params(self) -> tuple[Any, ...]:
        return (self._gammas,)
