"""Pairs of different grade without a visit to each: documents halved by grade, again and again.

Whatever is summed over pairs y_i > y_j in one sweep of two sorted lists, one of better and one of
worse documents, is summed over all pairs of a query by cutting its grades in two, taking the pairs
across the cut, and going on with both parts. A cut is put where it halves the documents best: the
parts add up to O(n log n) documents however many distinct grades there are, and to fewer than 2 n
where most have one of two grades.
"""

import numpy as np

from ..validation import Floats, Integers
from .jit import jit_helper
from .order import order_by_score

# Whole grades below this are counted in a table, as all are that people give; others are sorted.
TABLE = 64


@jit_helper
def grade_levels(labels: Floats, level: Integers) -> Integers:
    """Write each document's place among the distinct grades, 0 the lowest.

    Return where each level begins in a list of the documents by grade, and at last their number.
    """
    n = len(labels)
    highest = 0.0
    whole = True
    for i in range(n):
        highest = max(highest, labels[i])
        whole &= labels[i] == np.floor(labels[i])
    counts = np.zeros(max(n, TABLE), dtype=np.int64)
    levels = 0
    if whole and highest < TABLE:
        for i in range(n):
            counts[int(labels[i])] += 1
        names = np.empty(int(highest) + 1, dtype=np.int64)
        for grade in range(len(names)):
            names[grade] = levels
            counts[levels] = counts[grade]
            levels += 1 if counts[grade] > 0 else 0
        for i in range(n):
            level[i] = names[int(labels[i])]
    else:
        order = order_by_score(labels)
        for rank in range(n - 1, -1, -1):
            if rank == n - 1 or labels[order[rank]] != labels[order[rank + 1]]:
                levels += 1
            level[order[rank]] = levels - 1
            counts[levels - 1] += 1
    begins = np.zeros(levels + 1, dtype=np.int64)
    for below in range(levels):
        begins[below + 1] = begins[below] + counts[below]
    return begins


@jit_helper
def first_part(levels: int) -> Integers:
    """Return the stack of parts to be halved, the whole query in it: pairs of lowest and last."""
    parts = np.empty(2 * levels + 2, dtype=np.int64)
    parts[0] = 0
    parts[1] = levels
    return parts


@jit_helper
def halve(
    parts: Integers,
    waiting: int,
    begins: Integers,
    level: Integers,
    documents: Integers,
    scratch: Integers,
) -> tuple[int, int, int, int]:
    """Take a part from the stack and list its better documents before its worse ones.

    Parameters
    ----------
    parts, waiting
        The stack and its height. Of a part of more than one grade, its halves are left on it.
    begins, level
        From `grade_levels`.
    documents
        All of them; each part has its place, the best grades first, and keeps its order.
    scratch
        As long as the longest part.

    Returns
    -------
    waiting, start, cut, stop
        The pairs are those of documents[start:cut] and documents[cut:stop].
    """
    waiting -= 1
    lowest, last = parts[2 * waiting], parts[2 * waiting + 1]
    n = begins[-1]
    start, stop = n - begins[last], n - begins[lowest]
    if last - lowest < 2:
        return waiting, start, stop, stop
    # The first level that begins at the middle or after it, or the one before.
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
    parts[2 * waiting] = lowest
    parts[2 * waiting + 1] = low
    parts[2 * waiting + 2] = low
    parts[2 * waiting + 3] = last
    # No branches: which half a document is in cannot be foreseen.
    better = start
    worse = 0
    for place in range(start, stop):
        document = documents[place]
        documents[better] = document
        scratch[worse] = document
        is_better = 1 if level[document] >= low else 0
        better += is_better
        worse += 1 - is_better
    for place in range(worse):
        documents[better + place] = scratch[place]
    return waiting + 2, start, better, stop
