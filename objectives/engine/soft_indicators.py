r"""Soft indicators "is document i at rank j?", for SmoothNDCG and SmoothPrecision.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    sections 4.1 to 4.3, equations (7), (8), (10), (11). Here everything is in ranked order, with
    ties in input order: t_1 >= ... >= t_n are the scores, so that s_{d(j)} = t_j, and a_i belongs
    to the document at rank i.

Definition
    e_ij = exp(-(t_i - t_j)^2 / sigma)                                          (11)
    h_ij = e_ij / E_j, E_j = sum_i e_ij                                         (7)
    A    = sum_j b_j m_j, m_j = sum_i a_i h_ij                                  (8)
    for a metric sum_ij a_i b_j 1(rank_i = j); the loss is -A.

Gradient
    (10), summed over i, factorises as section 4.3 says: with u_ij = t_i - t_j and
    lambda_ij = (2/sigma) b_j (a_i - m_j) h_ij u_ij, rank j adds lambda_ij to the gradient of the
    loss at the document of rank i, and -lambda_ij at its own: O(n) per rank.

Hessian, rank by rank
    gauss-newton  |lambda_ij| sqrt(2/sigma) at both. e is steepest at sqrt(sigma/2), and a Newton
                  step is at most that long.

Tied scores
    h is continuous there (proposition 1), but its derivative is not (remark 1): (10) is computed
    with ties in input order. If all scores of a query are equal, (10) is zero whatever the grades,
    and boosting could not begin. Then, and only then, gradient and Hessian are those of a
    regression onto a, with which algorithm 1 begins,
        -C (a_i - mean a) and C max_i |a_i - mean a| / (START sqrt(sigma)),
        C = sqrt(2/(e sigma)) (sum_j b_j)/n, the size of a pull where e is steepest.

Numerics
    Terms with u^2/sigma > BAND are left out. Scores are sorted, so the band of a rank has two edges
    that only move down from one rank to the next, and a small sigma is fast.
    Loops either add up or write, never both: the compiler vectorises a writing loop only where its
    arrays are far enough apart in memory, and the order of a sum would change with that.

Cost
    2 ns per rank and document of its band, including the gradient.
"""

import math
from typing import Any

import numpy as np

from ..schedules import Schedule, check_positive_or_schedule
from ..validation import Floats
from .jit import jit_allocating, jit_helper
from .order import in_order, order_by_score

# e^-40 = 4e-18: less than a rounding error of E_j, which is at least 1.
BAND = 40.0

# e^-x at multiples of 1/8; from the nearest of them, the series of e^r needs 8 powers for an error
# of (1/16)^9/9! = 4e-17.
STEPS = 8
DECAYS = np.exp(-np.arange(STEPS * BAND + 2) / STEPS)

# Where all scores are equal, a Newton step moves the document whose a is farthest from the mean by
# this many sqrt(sigma); at the usual learning rate of 0.1, by three. Scores within one sqrt(sigma)
# of each other share all ranks, and (8) then also grows as irrelevant documents move up, out of the
# way: it needs an ordered list to start from. 1, 10, 30, 100 gave .35, .38, .41, .41 validation
# NDCG@10 on OHSUMED and .52, .65, .69, .67 on MQ2008 (SmoothNDCG, best round of 60 at 0.1).
START = 30.0

# The compiler turns (11) into a factor 8/sigma: infinity times 0 would be no index of DECAYS.
LEAST_WIDTH = 1e-300


def check_width(name: str, value: Any) -> float | Schedule:
    """Return a number of at least `LEAST_WIDTH`, or a schedule."""
    sigma = check_positive_or_schedule(name, value)
    if not isinstance(sigma, Schedule) and sigma < LEAST_WIDTH:
        raise ValueError(f"{name} must be at least {LEAST_WIDTH}, got {value!r}")
    return sigma


@jit_helper
def _gaussian(x: float) -> float:
    """e^-x for 0 <= x <= BAND, in vectorisable operations: a table times a series."""
    nearest = np.int32(STEPS * x + 0.5)
    r = nearest * (1.0 / STEPS) - x  # at most 1/16
    series = 1.0 / 40320.0
    for factorial in (5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0):
        series = series * r + 1.0 / factorial
    result: float = DECAYS[nearest] * series
    return result


@jit_helper
def band(t: Floats, j: int, sigma: float, first: int, stop: int) -> tuple[int, int]:
    """Move the band to that of rank j, from that of an earlier rank (0, 0 at the start)."""
    while (t[first] - t[j]) * (t[first] - t[j]) / sigma > BAND:
        first += 1
    while stop < len(t) and (t[j] - t[stop]) * (t[j] - t[stop]) / sigma <= BAND:
        stop += 1
    return first, stop


@jit_helper
def _add_rank(
    first: int,
    stop: int,
    own: float,
    weight: float,
    sigma: float,
    t: Floats,
    a: Floats,
    e: Floats,
    grad: Floats,
    size: Floats,
) -> tuple[float, float, float]:
    """Add the gradient of -b_j m_j, b_j = `weight`, at rank j's band, from `first` to `stop` - 1.

    The sums of |lambda|, of which the Gauss-Newton curvature is a multiple, are added to `size`.
    Returns m_j, and the sums of lambda and of |lambda|, which belong to rank j itself.
    """
    begin, end, scale = np.uint64(first), np.uint64(stop), 1.0 / sigma
    for i in range(begin, end):
        u = t[i] - own
        e[i] = _gaussian(u * u * scale)  # (11)
    total, weighted = 0.0, 0.0
    for i in range(begin, end):
        total += e[i]
        weighted += a[i] * e[i]
    mean = weighted / total
    weight = 2.0 / sigma * weight / total
    pulls, magnitude = 0.0, 0.0
    for i in range(begin, end):
        pull = weight * (a[i] - mean) * e[i] * (t[i] - own)  # (10)
        pulls += pull
        magnitude += abs(pull)
    for i in range(begin, end):
        pull = weight * (a[i] - mean) * e[i] * (t[i] - own)
        grad[i] += pull
        size[i] += abs(pull)
    return mean, pulls, magnitude


@jit_helper
def _start(a: Floats, weights: float, sigma: float, grad: Floats, hess: Floats) -> None:
    """Write a regression's gradient and Hessian; `weights` is sum b."""
    mean, reach = a.mean(), 0.0
    for i in range(len(a)):
        reach = max(reach, abs(a[i] - mean))
    scale = math.sqrt(2.0 / sigma) * math.exp(-0.5) * weights / len(a)
    for i in range(len(a)):
        grad[i] = scale * (mean - a[i])
        hess[i] = scale * reach / (START * math.sqrt(sigma))


@jit_allocating
def smooth_metric(
    scores: Floats, a: Floats, b: Floats, sigma: float, grad: Floats, hess: Floats
) -> float:
    """Write gradient and Hessian of the loss -A of one query, and return the loss.

    `a` has a value for each document, `b` for each rank that counts.
    """
    n = len(scores)
    order = order_by_score(scores)
    t, ranked_a = in_order(scores, order), in_order(a, order)
    ranked_grad, size, e = np.zeros(n), np.zeros(n), np.empty(n)
    value = 0.0
    first, stop = 0, 0
    for j in range(len(b)):
        first, stop = band(t, j, sigma, int(first), int(stop))
        mean, pulls, magnitude = _add_rank(
            int(first), int(stop), t[j], b[j], sigma, t, ranked_a, e, ranked_grad, size
        )
        ranked_grad[j] -= pulls
        size[j] += magnitude
        value += b[j] * mean  # (8)
    for rank in range(n):
        grad[order[rank]] = ranked_grad[rank]
        hess[order[rank]] = size[rank] * math.sqrt(2.0 / sigma)
    if t[0] == t[-1]:
        _start(a, b.sum(), sigma, grad, hess)
    return -value
