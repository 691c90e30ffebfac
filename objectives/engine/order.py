"""Sorting by score: counting for short lists, buckets for long ones, merging for the rest."""

import math

import numpy as np

from ..validation import Floats, Integers
from .jit import jit_allocating, jit_helper, jit_shared
from .vector import padded

# Up to this many documents, counting the better ones is faster than sorting.
SHORT_LIST = 64
# Whole numbers below this, as grades are, are counted instead of sorted.
MOST_LEVELS = 32
# Each value has so many counters, taken in turn: one that was just written can be read only after
# several cycles, and most documents have the grade of the one before.
COUNTERS = 4
# Insertions per document after which bucket sort gives up: the scores are in a few clusters.
MOVES_PER_DOCUMENT = 8


@jit_helper
def _order_short(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Do what `write_order` does, by counting the better ones: fastest for short lists."""
    better, free = work[0], work[1]
    width = np.uint64(padded(n))
    for i in range(n, padded(n)):
        scores[i] = -math.inf
    for i in range(np.uint64(n)):
        own, count = scores[i], 0
        for j in range(width):  # padding is not better than any
            count += 1 if scores[j] > own else 0
        better[i], free[i] = count, i
    for i in range(np.uint64(n)):
        place = np.uint64(better[i])
        order[np.uint64(free[place])] = i  # ties: each takes the next place
        free[place] += 1


@jit_helper
def _order_long(scores: Floats, order: Integers, places: Integers, counts: Integers) -> bool:
    """Sort into n buckets, then by insertion; return False where that would be slow."""
    n = len(scores)
    top, bottom = scores[0], scores[0]
    for i in range(n):
        top, bottom = max(top, scores[i]), min(bottom, scores[i])
    scale = (n - 1) / (top - bottom)
    if not (0.0 < scale < math.inf):  # all tied, or differences that are not finite
        return False
    for bucket in range(n + 1):
        counts[bucket] = 0
    for i in range(n):
        bucket = int((top - scores[i]) * scale)
        places[i] = bucket
        counts[bucket + 1] += 1
    for bucket in range(n):
        counts[bucket + 1] += counts[bucket]
    for i in range(n):
        bucket = places[i]
        order[counts[bucket]] = i
        counts[bucket] += 1
    moves = MOVES_PER_DOCUMENT * n
    for place in range(1, n):
        i = order[place]
        own = scores[i]
        hole = place
        while hole > 0 and scores[order[hole - 1]] < own:
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = i
        moves -= place - hole
        if moves < 0:
            return False
    return True


@jit_helper
def _order_any(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Merge ever longer runs. NumPy's stable sort takes three seconds to compile."""
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for place in range(begin, end):
                ahead = right >= end or (
                    left < middle and not (scores[order[right]] > scores[order[left]])
                )
                if ahead:
                    work[place] = order[left]
                    left += 1
                else:
                    work[place] = order[right]
                    right += 1
        for place in range(n):
            order[place] = work[place]
        width *= 2


@jit_helper
def write_order(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Write the order of the first n documents, best first; ties keep input order.

    `scores` is scratch with room for padding; each of the two rows of `work` has room for one more.
    """
    if n <= SHORT_LIST:
        _order_short(scores, n, order, work)
    elif not _order_long(scores[:n], order, work[0], work[1]):
        _order_any(scores, n, order, work[0])


@jit_helper
def write_rising_order(
    values: Floats, n: int, order: Integers, work: Integers, room: Floats
) -> None:
    """Write the order of the first n documents by ascending value.

    `room` and `work` are scratch as in `write_order`; a row of `work` has room for all counters.
    """
    counts = work[0]
    for counter in range(MOST_LEVELS * COUNTERS):
        counts[counter] = 0
    most = 0
    for i in range(np.uint64(n)):
        value = int(values[i]) if 0.0 <= values[i] < MOST_LEVELS else 0
        if value != values[i]:  # not grades or their gains
            for j in range(n):
                room[j] = -values[j]
            write_order(room, n, order, work)
            return
        counts[np.uint64(value * COUNTERS) + i % np.uint64(COUNTERS)] += 1
        most = max(most, value)
    place = 0
    for counter in range((most + 1) * COUNTERS):
        count = counts[counter]
        counts[counter] = place
        place += count
    for i in range(np.uint64(n)):
        own = np.uint64(values[i]) * np.uint64(COUNTERS) + i % np.uint64(COUNTERS)
        order[np.uint64(counts[own])] = i
        counts[own] += 1


@jit_shared
def order_by_score(scores: Floats) -> Integers:
    """Return the document at each position, best first; ties keep input order."""
    n, width = len(scores), padded(len(scores))
    room = np.empty(width)
    for i in range(n):
        room[i] = scores[i]
    order = np.empty(n, np.int64)
    write_order(room, n, order, np.empty((2, width + 1), np.int64))
    return order


@jit_allocating
def in_order(values: Floats, order: Integers) -> Floats:
    """Return values by rank. A loop, because indexing by an array takes a second to compile."""
    ranked = np.empty(len(values))
    for rank in range(len(values)):
        ranked[rank] = values[order[rank]]
    return ranked


@jit_helper
def all_equal(values: Floats) -> bool:
    """Return whether all values are the same; true for an empty list."""
    others = 0
    for i in range(len(values)):
        others += 1 if values[i] != values[0] else 0
    return others == 0
