r"""FRank: fidelity loss on the score difference of each pair.

Source
    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007. There, weak
    learners are added one at a time and each query is divided by its number of pairs. Here the
    host's Newton boosting lowers the loss, and the division is the option `normalize`. Pairs have
    target probability 1 for the document of higher grade; pairs of equal grade are left out.

Definition
    pairs y_i > y_j, x = s_i - s_j
    P(x) = 1/(1 + e^{-x}), the modelled probability that i belongs before j
    loss = sum_ij 1 - sqrt(P(x)): the fidelity of P and a target of 1,
    divided by the query's number of such pairs when `normalize`

    The loss of a pair tends to 0 as its lead grows and is never above 1: hopeless pairs are given
    up.

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
    With `normalize` the first two are divided like the loss, before any floor.

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Exponentials get only non-positive arguments; no score overflows. 1 - sqrt(P) is formed as
    (1 - P)/(1 + sqrt(P)), which does not cancel for P near 1. Sums of exponentials agree with those
    over pairs to 1e-11 of the query's largest gradient.

Cost
    O(n log n); up to 256 documents, all pairs are visited. With z = e^{-|x|}, a pair has
        2 f' = z (1 + z)^{-3/2} in the right order, sqrt(z) (1 + z)^{-3/2} in the wrong one,
    and loss and curvatures are likewise a power of sqrt(z) times a smooth function of z: all are
    sums of powers of e^{-|x|/2}, which `dominance` adds up by parts of the grades.

When to use
    When some grades are plainly wrong. A pair that is far off is given up: its pull tends to zero,
    whereas RankNet's stays and RankBoost's grows. Lists may have any length.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import MAJORIZER_EXACT_OR_CONSTANT, Contract, Cost
from .engine import columns as col
from .engine.columns import Columns
from .engine.curvature import EXACT, floor_indefinite
from .engine.dominance import (
    BEND_RIGHT,
    BEND_WRONG,
    RIGHT,
    WRONG,
    dominance,
    series,
    sorted_columns,
)
from .engine.driver import kernels_by_length
from .engine.jit import Function, bind, jit_helper, jit_inline
from .engine.order import count_pairs
from .engine.vector import logistic
from .parameters import flag
from .validation import Floats


class FRankParams(NamedTuple):
    """The kernel's parameters."""

    normalize: bool


@jit_helper
def _short(
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


# Up to SHORT documents, all pairs are visited one by one. Beyond, the other way is four times as
# fast but takes seconds to compile; it visits all pairs of parts of up to DIRECT documents.
SHORT, DIRECT = 256, 192
RATE = 0.5  # sums of exponentials are powers of e^{-|x|/2}
TERMS, WIDTH = 19, 40


def _sum_of_powers(first: int, smooth: Function) -> Floats:
    """Return the coefficients of z^{first/2} times a smooth function of z, as powers of sqrt(z)."""
    coefficients = np.zeros(WIDTH)
    coefficients[first : first + 2 * TERMS : 2] = series(smooth, TERMS)
    return coefficients


def _fit(right: Floats, wrong: Floats) -> Floats:
    """Return the fit of f' and of the other quantity that is summed over pairs (`dominance`)."""
    fit = np.zeros((1, 6, WIDTH))
    fit[0, RIGHT] = _sum_of_powers(2, lambda z: (1.0 + z) ** -1.5)
    fit[0, WRONG] = _sum_of_powers(1, lambda z: (1.0 + z) ** -1.5)
    fit[0, BEND_RIGHT], fit[0, BEND_WRONG] = right, wrong
    return fit


# Of 2 f', together with twice a curvature or with the loss.
BOUND_FIT = _fit(
    _sum_of_powers(2, lambda z: (1.0 + z) ** -2.5), _sum_of_powers(3, lambda z: (1.0 + z) ** -2.5)
)
EXACT_FIT = _fit(
    _sum_of_powers(2, lambda z: (1.0 - 0.5 * z) * (1.0 + z) ** -2.5),
    _sum_of_powers(1, lambda z: (z - 0.5) * (1.0 + z) ** -2.5),
)
LOSS_FIT = _fit(
    _sum_of_powers(2, lambda z: 1.0 / (1.0 + z + np.sqrt(1.0 + z))),
    np.eye(WIDTH)[0] - _sum_of_powers(1, lambda z: (1.0 + z) ** -0.5),
)


def _rows(
    rows: tuple[int, int],
    partners: tuple[int, int],
    factorizable: bool | np.bool_,
    sigma: float,
    w: Columns,
) -> float:
    """Write the two sums of each column over its pairs with the partners; see `dominance`.

    OWN is 1/2 for the exact curvature, else 0.
    """
    from_top, scores, grades = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        grade, exact = grades[i], w.real[col.OWN, i]
        pull, curvature = 0.0, 0.0
        if factorizable:
            own = from_top[i]
            for j in range(count):
                partner = of_pair(own, from_top[start + j], grade, grades[start + j], exact)
                pull += partner[0]
                curvature += partner[1]
        else:
            for j in range(count):
                x = sigma * (scores[i] - scores[start + j])
                own, other = math.exp(min(x, 0.0)), math.exp(min(-x, 0.0))
                partner = of_pair(own, other, grade, grades[start + j], exact)
                pull += partner[0]
                curvature += partner[1]
        pulls[i], curvatures[i] = pull, curvature
    return 0.0


def _of_pair(
    own: float, other: float, grade: float, other_grade: float, exact: float
) -> tuple[float, float]:
    """Return what a pair adds to one of its documents, from e^{s/2} of both."""
    unit = 1.0 / math.sqrt(own * own + other * other)
    better, worse = (own, other) if grade > other_grade else (other, own)
    root, rest = better * unit, worse * unit * worse * unit  # sqrt(P) and 1 - P
    pull = root * rest
    bend = rest / (1.0 + root) if loss else pull * (root * root - exact * rest)
    sign = 1.0 if grade > other_grade else -1.0 if grade < other_grade else 0.0
    return sign * pull, abs(sign) * bend


def _sums(loss: bool) -> Function:
    """Return the function that sums over all pairs: with `loss`, losses in place of curvatures."""
    of_pair = jit_inline(bind(_of_pair, loss=loss))
    rows = jit_helper(bind(_rows, of_pair=of_pair, loss=loss))
    return dominance(rows, divided=False, weighted=False, direct=DIRECT)


# Stand-ins for what `_sums` binds in `_rows` and `_of_pair`.
loss = False
of_pair: Any = None
_add_derivatives, _add_losses = _sums(loss=False), _sums(loss=True)


@jit_helper
def _long_loss(p: FRankParams, scores: Floats, labels: Floats) -> float:
    n = len(scores)
    w, _ = sorted_columns(scores, labels)
    _add_losses(0, n, n, RATE, LOSS_FIT, w)
    total = 0.0
    for i in range(n):
        total += 0.5 * w.real[col.CURVATURE, i]  # each pair is counted at both documents
    return total / max(1, count_pairs(labels)) if p.normalize else total


@jit_helper
def _long(
    p: FRankParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> None:
    n = len(scores)
    w, order = sorted_columns(scores, labels)
    for i in range(n):
        w.real[col.OWN, i] = 0.5 if hessian == EXACT else 0.0
    _add_derivatives(0, n, n, RATE, EXACT_FIT if hessian == EXACT else BOUND_FIT, w)
    scale = 0.5 / max(1, count_pairs(labels)) if p.normalize else 0.5
    for i in range(n):
        grad[order[i]] = -scale * w.real[col.PULL, i]
        hess[order[i]] = scale * w.real[col.CURVATURE, i]
    if hessian == EXACT:
        floor_indefinite(hess)


_kernel = kernels_by_length(
    FRankParams, SHORT, query=_short, long_loss=_long_loss, long_derivatives=_long
)


@dataclass(frozen=True, kw_only=True)
class FRank(Objective):
    """Fidelity loss on pairs: bounded, so that hopeless pairs cannot dominate.

    ``loss = sum over y_i > y_j of 1 - sqrt(P)`` with ``P = 1/(1 + exp(-(s_i - s_j)))``, after Tsai,
    Liu, Qin, Chen, Ma (SIGIR 2007).

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, as the paper does, so that queries count alike. By default,
        as in all pairwise losses here, a query counts by its number of pairs, which ranked no
        worse.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The exact diagonal is indefinite and ranked no better. The default is that of the RankNet
        loss that bounds this one from above; constant is plain gradient boosting.
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
    >>> boostrank.FRank().loss([0.0, 0.0, 1000.0, 0.0, 0.0, 1000.0], [1, 0] * 3, [2] * 3).round(3)
    array([0.293, 0.   , 1.   ])
    """

    name: ClassVar[str] = "frank"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(cost=Cost.N_LOG_N)
    hessians = MAJORIZER_EXACT_OR_CONSTANT

    normalize: bool = flag(False)
    hessian: str = "gauss-newton"
