"""Divide and conquer over grades: sums over ordered pairs in O(n log n).

Some sums over pairs y_i > y_j take one sweep of two sorted lists, one of better and one of worse
documents. To compute such a sum over all pairs of a query, cut its grades in two, sweep the pairs
across the cut, and continue with both parts. Each cut is placed where it halves the documents best.
The parts then add up to O(n log n) documents however many distinct grades there are, and to fewer
than 2 n where most have one of two grades.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..validation import Floats, Integers
from .jit import jit_allocating, jit_helper
from .order import COUNTERS, MOST_LEVELS, write_rising_order
from .vector import padded


@jit_allocating
def grade_levels(labels: Floats, level: Integers) -> Integers:
    """Write each document's level: the place of its grade among the distinct grades, 0 the lowest.

    Return where each level begins when documents are listed by grade, then the number of documents.
    """
    n = len(labels)
    order, room = np.empty(n, dtype=np.int64), np.empty(padded(n))
    work = np.empty((2, max(padded(n), MOST_LEVELS * COUNTERS) + 1), dtype=np.int64)
    write_rising_order(labels, n, order, work, room)
    begins = np.zeros(n + 1, dtype=np.int64)
    levels = 0
    for place in range(n):
        if place == 0 or labels[order[place]] > labels[order[place - 1]]:
            begins[levels] = place
            levels += 1
        level[order[place]] = levels - 1
    begins[levels] = n
    return begins[: levels + 1]


class Bisection(NamedTuple):
    """The documents of a query, and its parts that are still to be cut."""

    # Each part is a range of them, best grades first, and keeps its order. Unsigned numbers: an
    # index need not be tested for counting from the end.
    documents: npt.NDArray[np.uint64]
    scratch: npt.NDArray[np.uint64]
    parts: Integers  # a stack: lowest and last level, at first 0 and the number of levels
    begins: Integers  # from `grade_levels`
    level: Integers


@jit_allocating
def new_bisection(labels: Floats) -> Bisection:
    """Return all documents in the order of `labels` as one part."""
    n = len(labels)
    documents, level = np.empty(n, np.uint64), np.empty(n, np.int64)
    begins = grade_levels(labels, level)
    parts = np.zeros(2 * len(begins), np.int64)
    parts[1] = len(begins) - 1
    for i in range(n):
        documents[i] = i
    return Bisection(documents, np.empty(n, np.uint64), parts, begins, level)


@jit_helper
def halve(b: Bisection, waiting: int) -> tuple[int, int, int, int]:
    """Take a part from the stack, of height `waiting`; push its halves if it has several grades.

    Return the new height, start, cut and stop: each pair across the cut has one of
    documents[start:cut], which are better, and one of documents[cut:stop].
    """
    parts, begins, documents = b.parts, b.begins, b.documents
    waiting -= 1
    lowest, last = parts[2 * waiting], parts[2 * waiting + 1]
    n = begins[-1]
    start, stop = n - begins[last], n - begins[lowest]
    if last - lowest < 2:
        return waiting, start, stop, stop
    # The first level that begins at or after the middle, or the one before it if that is nearer.
    middle = (begins[lowest] + begins[last]) / 2
    low, high = lowest + 1, last - 1
    while low < high:
        between = (low + high) // 2
        if begins[between] < middle:
            low = between + 1
        else:
            high = between
    if low > lowest + 1 and middle - begins[low - 1] < begins[low] - middle:
        low -= 1
    parts[2 * waiting + 1] = low
    parts[2 * waiting + 2] = low
    parts[2 * waiting + 3] = last
    # No branches: which half a document falls in is unpredictable.
    better, worse = start, 0
    for place in range(np.uint64(start), np.uint64(stop)):
        document = documents[place]
        documents[np.uint64(better)] = document
        b.scratch[np.uint64(worse)] = document
        is_better = 1 if b.level[document] >= low else 0
        better += is_better
        worse += 1 - is_better
    for place in range(np.uint64(worse)):
        documents[np.uint64(better) + place] = b.scratch[place]
    return waiting + 2, start, better, stop
