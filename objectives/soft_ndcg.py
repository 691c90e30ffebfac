r"""SoftNDCG (SoftRank): the expected NDCG when every score is blurred by a Gaussian.

Source
    Taylor, Guiver, Robertson, Minka: SoftRank: optimizing non-smooth rank metrics. WSDM 2008, as
    restated in section III of He, Liu: Are algorithms directly optimizing IR measures really
    direct? (2008). The latter prints the gain as 2^y and starts the integral of erf at minus
    infinity. Both are slips; here the gain is 2^y - 1 and erf the usual one.

Definition
    S_i ~ N(s_i, sigma^2), independent
    pi_ij  = P(S_i > S_j) = Phi((s_i - s_j) / (sqrt(2) sigma))                  (a)
    p_j    the distribution of the number of documents that beat j, from p_j(r) = 1(r = 0) by
           p_j(r) <- p_j(r - 1) pi_kj + p_j(r) (1 - pi_kj) over all k != j      (b)
    E_j    = sum_r p_j(r) / log2(2 + r), the expected discount of j
    loss   = 1 - (1/Z) sum_j g_j E_j                                            (c)

Symbols
    s scores, g gains 2^y - 1, Z ideal DCG. w_ij = phi((s_i - s_j) / (sqrt(2) sigma)) /
    (sqrt(2) sigma), the slope of pi_ij in s_i (symmetric in i and j).
    e_kj = dE_j/dpi_kj = sum_r p_j^{-k}(r) (1/log2(3 + r) - 1/log2(2 + r)) < 0, p_j^{-k} without k.

Gradient (exact)
    lambda_kj = -(1/Z) (g_j e_kj - g_k e_jk) w_kj:  grad_k += lambda_kj over all j != k.
    e comes from the recursion (b) run backwards over its stored states: with a(r) the derivative of
    E_j by a state, from a(r) = 1/log2(2 + r),
    e_kj = sum_r p(r) (a(r + 1) - a(r)), then a(r) <- a(r + 1) pi_kj + a(r) (1 - pi_kj).
    Dividing the factor of k out of p_j instead would be unstable.

Hessians
    gauss-newton  (default) sum_j |lambda_pj| / (sigma sqrt(pi)): each pair is given the curvature
                  that a probit loss, -ln pi, with the same pull has at a tie. A Newton step is then
                  at most 1.77 sigma in score.
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Both pi and 1 - pi come from erfc, so neither loses digits near 0. The loss is one minus a
    number: exact to about 1e-15, which leaves few digits where it is near zero.

Cost
    O(n^2) for each document with a gain; O(n^2) memory per thread.

When to use
    To study SoftRank, on short lists: it is the loss closest to NDCG, but its time grows with the
    cube of the length.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract, Cost
from .engine.curvature import LOSS
from .engine.driver import query_kernel
from .engine.gains import Discount, ideal_dcg, rank_discount
from .engine.jit import jit_allocating, jit_helper
from .engine.order import all_equal
from .gains import Gain, discount_field, gain_field
from .parameters import schedulable
from .schedules import Schedule
from .validation import Floats, Integers


class SoftNDCGParams(NamedTuple):
    """The kernel's parameters."""

    sigma: float
    discount: Discount


@jit_allocating
def _discounts(d: Discount, n: int) -> Floats:
    """Return the discounts with r = 0..n - 1 documents ahead."""
    result = np.empty(n)
    for r in range(n):
        result[r] = rank_discount(d, n, r + 1)
    return result


@jit_helper
def _beaten_by(scores: Floats, j: int, sigma: float, rivals: Integers, states: Floats) -> None:
    """Write the states of recursion (b): row m is p_j after the first m rivals."""
    states[0, 0] = 1.0
    for m in range(len(rivals)):
        x = (scores[rivals[m]] - scores[j]) / (2.0 * sigma)
        wins = 0.5 * math.erfc(-x)  # (a)
        loses = 0.5 * math.erfc(x)
        before = states[m]
        after = states[m + 1]
        after[0] = before[0] * loses
        for r in range(1, m + 1):
            after[r] = before[r - 1] * wins + before[r] * loses  # (b)
        after[m + 1] = before[m] * wins


@jit_helper
def _mean_step(p: Floats, a: Floats, n: int) -> float:
    """Return sum_r p(r) (a(r + 1) - a(r))."""
    total = 0.0
    for r in range(np.uint64(n)):
        total += p[r] * (a[r + np.uint64(1)] - a[r])
    return total


@jit_helper
def _slopes(
    states: Floats, rivals: Integers, scores: Floats, j: int, sigma: float, a: Floats, e: Floats
) -> None:
    """Write e_kj: run (b) backwards from `a`, dE_j/dp_j, which is lost."""
    for m in range(len(rivals) - 1, -1, -1):
        x = (scores[rivals[m]] - scores[j]) / (2.0 * sigma)
        wins = 0.5 * math.erfc(-x)
        loses = 0.5 * math.erfc(x)
        p = states[m]
        e[rivals[m]] = _mean_step(p, a, m + 1)
        for r in range(m + 1):
            a[r] = a[r + 1] * wins + a[r] * loses


@query_kernel(SoftNDCGParams)
def _kernel(
    p: SoftNDCGParams, scores: Floats, gains: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if all_equal(gains):
        return 0.0
    sigma = p.sigma
    n = len(scores)
    z = ideal_dcg(gains, 0, p.discount)
    discounts = _discounts(p.discount, n)
    rivals = np.empty(n - 1, dtype=np.int64)
    states = np.empty((n, n))
    a = np.empty(n)
    e = np.empty(n)
    pulls = np.zeros((n, n))  # row j: -(1/Z) g_j e_kj w_kj for every k
    value = 0.0
    for j in range(n):
        if gains[j] == 0.0:
            continue
        others = 0
        for k in range(n):
            if k != j:
                rivals[others] = k
                others += 1
        _beaten_by(scores, j, sigma, rivals, states)
        for r in range(n):
            a[r] = discounts[r]
            value += gains[j] / z * states[n - 1, r] * discounts[r]
        if hessian == LOSS:
            continue
        _slopes(states, rivals, scores, j, sigma, a, e)
        for k in range(n):
            if k == j:
                continue
            x = (scores[k] - scores[j]) / (2.0 * sigma)
            slope = math.exp(-x * x) / (2.0 * sigma * math.sqrt(math.pi))  # w
            pulls[j, k] = -gains[j] / z * e[k] * slope
    for i in range(n):
        for j in range(i):
            pull = pulls[j, i] - pulls[i, j]  # lambda_ij
            grad[i] += pull
            grad[j] -= pull
            hess[i] += abs(pull) / (sigma * math.sqrt(math.pi))
            hess[j] += abs(pull) / (sigma * math.sqrt(math.pi))

    return 1.0 - value  # (c)


@dataclass(frozen=True, kw_only=True)
class SoftNDCG(Objective):
    """SoftRank: one minus the expected NDCG when every score is blurred by a Gaussian.

    Taylor, Guiver, Robertson, Minka (WSDM 2008): ``loss = 1 - 1/Z sum_j g_j sum_r p_j(r) /
    log2(2 + r)``, where p_j(r) is the probability that r documents beat document j, when i beats j
    with probability ``Phi((s_i - s_j) / (sqrt(2) sigma))``; gains ``g = 2^y - 1``, Z the ideal DCG.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Standard deviation of the blur in score units, positive. Only the scores divided by sigma
        matter: Newton steps from zero give the same ranking for every constant sigma. For given
        scores, the smaller sigma is, the nearer the loss is to 1 - NDCG, and the more its gradient
        vanishes.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Constant is plain gradient boosting. In validation NDCG@10 the two reached .704 and .684 on
        MQ2008 and .460 and .403 on OHSUMED.
    gain, discount : see `Objective`
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient. O(m n^2) time for a query of n documents, m of them with a gain, and O(n^2)
    memory for each thread.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.SoftNDCG(sigma=0.5)
    >>> objective.loss([0.0, 0.0], [1, 0], [2]).round(3).tolist()
    [0.185]
    >>> grad, hess = objective.grad_hess([0.2, 0.1, 0.0], [0, 1, 2], [3])
    >>> grad.round(3).tolist()
    [0.146, 0.026, -0.173]
    """

    name: ClassVar[str] = "soft-ndcg"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(cost=Cost.CUBIC)
    # The surrogate curvature is near zero where all is decided, which is no reason for long steps.
    # 0.1 in place of 1e-6 changed the best validation NDCG@10 by .002 on MQ2008 and -.003 on
    # OHSUMED, that of the last tree by .001 and .002.
    hessian_share: ClassVar[float] = 0.1

    sigma: float | Schedule = schedulable(1.0)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field()
    hessian: str = "gauss-newton"
