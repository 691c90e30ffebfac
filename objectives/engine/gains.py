"""Gains of grades, discounts of ranks, and the ideal DCG."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..validation import Floats
from .jit import jit_allocating, jit_entry, jit_helper
from .order import order_by_score
from .threads import block_of
from .vector import LN_2

# Discounts of the first ranks: a logarithm takes eight times as long as a look-up.
DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(4096))
# Gains 2^y - 1 of integer grades, as nearly all grades are.
EXPONENTIAL = np.exp2(np.arange(32.0)) - 1.0

#: d(r) = 1/log2(1 + r), n - r, 1/r; for smooth ranks also a root; or a table.
DISCOUNT_KINDS = ("log2", "linear", "reciprocal", "sqrt")
#: Those of whole ranks.
RANK_DISCOUNTS = DISCOUNT_KINDS[:3]
LOG2, LINEAR, RECIPROCAL, SQRT, TABLE = range(5)


class Discount(NamedTuple):
    """A discount, in the form that kernels take."""

    kind: int
    table: Floats  # discounts of the ranks from 1; 0 beyond its end


@partial(jit_entry, borrows=True)
def write_exponential_gains(
    first: int, last: int, n_docs: int, labels: Floats, gains: Floats, sums: Floats
) -> None:
    """Write 2^y - 1, to full precision for tiny grades too; for `threads.over_documents`."""
    for block in range(first, last):
        begin, end = block_of(block, n_docs)
        for i in range(begin, end):
            grade = np.int64(min(labels[i], 31.0))
            whole = EXPONENTIAL[np.uint64(grade)]
            gains[i] = whole if grade == labels[i] else math.expm1(labels[i] * LN_2)


@jit_helper
def rank_discount(d: Discount, n: int, rank: int) -> float:
    """d(r) of an integer rank among n."""
    if d.kind == LOG2:
        return DISCOUNTS[rank - 1] if rank <= len(DISCOUNTS) else LN_2 / math.log1p(rank)
    if d.kind == LINEAR:
        return float(n - rank)
    if d.kind == RECIPROCAL:
        return 1.0 / rank
    return d.table[rank - 1] if rank <= len(d.table) else 0.0


@jit_allocating
def ideal_dcg(gains: Floats, k: int, d: Discount) -> float:
    """Z_k: the sum of the k largest gains, or of all for 0, times the discounts of their ranks."""
    n, order = len(gains), order_by_score(gains)
    total = 0.0
    for position in range(min(k, n) if k > 0 else n):
        total += gains[order[position]] * rank_discount(d, n, position + 1)
    return total
