r"""How much swapping two documents changes each metric; pairs one by one, weighted by it.

With the documents in ranked order, the metric changes by
    |x_a - x_b| (upper_t(a) - c_a lower_t(b)),  a < b,                                          (*)
when those at ranks a and b are swapped. t is 1 if the better one is at b, else 0.

    ndcg    x = g / Z, upper = lower = d(r), c = 1; dcg without Z
    map     x = 1[g > 0], upper_t = lower_t = (C_r / r - S_r + t / r) / R, with C_r the number and
            S_r the sum of 1/r of the relevant documents down to rank r, and R their number in all
    mrr     x = 1[g > 0], upper_1 = lower_1 = 1 / min(r, f), upper_0 = lower_0 =
            1 / min(max(r, f), s), with f and s the ranks of the first two relevant documents
    err     x = R_i = g_i / (1 + g_max), P_r = prod_{m < r} (1 - R_m), c_a = 1 / (1 - R_a),
            U_r = sum_{m > r} R_m P_m / m; upper = P_a / a - c_a U_a, lower = P_b / b - U_{b-1}

Precision, recall and the average relevance position are dcg with their own gains and discounts.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .gains import Discount, ideal_dcg, rank_discount
from .jit import jit_allocating, jit_helper
from .order import all_equal, order_by_score
from .vector import logistic, logistic_loss

TARGETS = ("ndcg", "dcg", "map", "mrr", "err")
NDCG, DCG, MAP, MRR, ERR = range(5)
#: How pairs are weighted: by (*), by NDCG-Loss2, or by ten times that plus (*).
VARIANTS = ("lambda", "ndcg-loss2", "ndcg-loss2++")
LAMBDA, LOSS2, LOSS2PP = range(3)
MU = 10.0


class Swaps(NamedTuple):
    """The numbers of (*) for one query, all by rank - 1."""

    x: Floats
    upper: Floats  # (2, n)
    lower: Floats  # (2, n)
    c: Floats


@jit_allocating
def swaps_of(target: int, k: int, d: Discount, gains: Floats, order: Integers) -> Swaps:
    """Return (*) for one query; `order` puts `gains` in ranked order, k (or 0) cuts off Z."""
    n = len(order)
    x, c = np.empty(n), np.ones(n)
    upper, lower = np.zeros((2, n)), np.zeros((2, n))
    relevant = 0
    for a in range(n):
        x[a] = gains[order[a]]
        relevant += 1 if x[a] > 0.0 else 0
    if target == ERR:
        _write_err(x, upper, lower, c)
        return Swaps(x, upper, lower, c)
    if target <= DCG:
        unit = ideal_dcg(gains, k, d) if target == NDCG else 1.0
        for a in range(n):
            x[a] /= unit
            counts = rank_discount(d, n, a + 1)
            upper[0, a] = upper[1, a] = lower[0, a] = lower[1, a] = counts
        return Swaps(x, upper, lower, c)
    first, second = n, n
    for a in range(n - 1, -1, -1):
        x[a] = 1.0 if x[a] > 0.0 else 0.0
        if x[a] > 0.0:
            first, second = a, first
    count, inverses = 0.0, 0.0
    for a in range(n):
        rank = a + 1.0
        if target == MAP:
            count += x[a]
            inverses += x[a] / rank
            one = (count / rank - inverses) / relevant
            other = one + 1.0 / (rank * relevant)
        else:
            other = 1.0 / min(rank, first + 1.0)
            one = 1.0 / min(max(rank, first + 1.0), second + 1.0)
        upper[0, a] = lower[0, a] = one
        upper[1, a] = lower[1, a] = other
    return Swaps(x, upper, lower, c)


@jit_helper
def _write_err(x: Floats, upper: Floats, lower: Floats, c: Floats) -> None:
    """Turn gains into stopping probabilities; write the rest of (*) for ERR."""
    best = 0.0
    for a in range(len(x)):
        best = max(best, x[a])
    reach = 1.0  # P_r
    for a in range(len(x)):
        rest = (1.0 + (best - x[a])) / (1.0 + best)  # 1 - R_a, which would cancel
        x[a] /= 1.0 + best
        c[a] = 1.0 / rest
        upper[0, a] = reach / (a + 1.0)
        reach *= rest
    # Sums from the last rank: from the first, later terms would drown wherever R_a is almost 1.
    below = 0.0  # U_r
    for a in range(len(x) - 1, -1, -1):
        alone = upper[0, a]
        upper[0, a] = upper[1, a] = alone - c[a] * below
        below += x[a] * alone
        lower[0, a] = lower[1, a] = alone - below


@jit_helper
def swap_of(s: Swaps, a: int, b: int) -> float:
    """(*) for the ranks a + 1 < b + 1."""
    t = 1 if s.x[a] < s.x[b] else 0
    change = s.upper[t, a] - s.c[a] * s.lower[t, b]
    swap: float = abs(s.x[a] - s.x[b]) * max(change, 0.0)
    return swap


@jit_helper
def swap_weight(p: Any, s: Swaps, a: int, b: int) -> float:
    """Return the weight of a pair at the ranks a + 1 < b + 1, by the variant of LambdaRank."""
    gap, n = abs(s.x[a] - s.x[b]), len(s.x)
    weight = swap_of(s, a, b) if p.variant != LOSS2 else 0.0
    if p.variant != LAMBDA:
        fall = rank_discount(p.discount, n, b - a) - rank_discount(p.discount, n, b - a + 1)
        weight += gap * fall if p.variant == LOSS2 else MU * gap * fall
    return weight if gap > 0.0 else 0.0  # of gains that are all zero, x is not a number


@jit_helper
def norm_factor(total: float) -> float:
    """log2(1 + L)/L, also for a tiny L."""
    return math.log1p(total) / (math.log(2.0) * total) if total > 0.0 else 1.0


@jit_allocating
def add_swapped_pairs(p: Any, scores: Floats, gains: Floats, grad: Floats, hess: Floats) -> float:
    """Add gradient and Hessian of one query to `grad` and `hess`, both zeros; return its loss.

    `p` has the fields target, variant, truncation, sigma, norm, offset and discount.
    """
    n = len(scores)
    if all_equal(gains):
        return 0.0
    order = order_by_score(scores)
    swaps = swaps_of(p.target, p.truncation, p.discount, gains, order)
    top = min(p.truncation, n) if p.truncation > 0 else n
    spread = p.norm and scores[order[0]] != scores[order[n - 1]]
    loss, total = 0.0, 0.0  # the second is L
    for a in range(top):
        i = order[a]
        for b in range(a + 1, n):
            j = order[b]
            if swaps.x[a] == swaps.x[b]:
                continue
            weight = swap_weight(p, swaps, a, b)
            lead = abs(scores[i] - scores[j])
            # Without abs(), 0.01 + s_i - s_j may be summed in an order that loses the 0.01.
            weight = weight / (p.offset + lead) if spread else weight
            right = swaps.x[a] > swaps.x[b]
            lead = p.sigma * (lead if right else -lead)
            rho, slope = logistic(lead)
            pull = p.sigma * weight * rho
            grad[i] += -pull if right else pull
            grad[j] += pull if right else -pull
            hess[i] += p.sigma * p.sigma * weight * slope
            hess[j] += p.sigma * p.sigma * weight * slope
            loss += weight * logistic_loss(lead)
            total += 2.0 * pull
    factor = norm_factor(total) if p.norm else 1.0
    for i in range(n):
        grad[i] *= factor
        hess[i] *= factor
    return loss * factor
