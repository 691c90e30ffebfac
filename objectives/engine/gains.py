"""Gains of grades, discounts of ranks, and the ideal DCG."""

import math

import numpy as np

from ..validation import Floats, Integers
from .jit import jit_helper, jit_inline
from .order import all_equal, merged_order

# Discounts of the first ranks, and the sums of the first r of them: a logarithm takes eight times
# as long as a look-up.
DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(4096))
DISCOUNT_SUMS = np.concatenate((np.zeros(1), np.cumsum(DISCOUNTS)))
# Gains of whole grades, which are nearly all there are.
GAINS = np.exp2(np.arange(32.0)) - 1.0


@jit_helper
def discount(rank: float) -> float:
    """d(r) = 1/log2(1 + r); 0 at an infinite rank."""
    return math.log(2.0) / math.log1p(rank)


@jit_helper
def rank_discount(rank: int) -> float:
    """d(r) of a whole rank."""
    return DISCOUNTS[rank - 1] if rank <= len(DISCOUNTS) else discount(float(rank))


@jit_helper
def discount_sum(first: int, last: int) -> float:
    """Sum of the discounts of the ranks first + 1 .. last."""
    tabled = len(DISCOUNTS)
    if last <= tabled:  # nearly always
        return float(DISCOUNT_SUMS[last] - DISCOUNT_SUMS[first])
    total: float = DISCOUNT_SUMS[min(last, tabled)] - DISCOUNT_SUMS[min(first, tabled)]
    for rank in range(max(first, tabled) + 1, last + 1):
        total += discount(float(rank))
    return total


@jit_inline
def ideal_dcg(gains: Floats, order: Integers, k: int) -> float:
    """Z_k: the k largest gains, which `order` has first, times the discounts."""
    total = 0.0
    for position in range(min(k, len(gains))):
        total += gains[order[position]] * rank_discount(position + 1)
    return total


@jit_helper
def _read_real_grades(labels: Floats, k: int, gains: Floats) -> float:
    for i in range(len(labels)):
        gains[i] = np.exp2(labels[i]) - 1.0
    known = gains[: len(labels)]
    return 0.0 if all_equal(known) else ideal_dcg(known, merged_order(known), k)


@jit_inline
def read_grades(labels: Floats, k: int, gains: Floats, counts: Integers) -> float:
    """Write the gains; return the ideal DCG at k, or 0 where all grades are equal.

    `counts` is scratch of at least 32.
    """
    n = len(labels)
    for grade in range(len(GAINS)):
        counts[grade] = 0
    best = 0
    for i in range(n):
        grade = int(labels[i])
        if grade >= len(GAINS) or grade != labels[i]:
            return _read_real_grades(labels, k, gains)
        counts[grade] += 1
        gains[i] = GAINS[grade]
        best = max(best, grade)
    if counts[best] == n:
        return 0.0
    total = 0.0
    filled = 0
    for grade in range(best, 0, -1):
        last = min(filled + counts[grade], k)
        total += GAINS[grade] * discount_sum(filled, last)
        filled = last
    return total
