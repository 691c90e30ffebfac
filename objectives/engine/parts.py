"""Long queries: their documents in parts of equal worth, or of a range of it, and in blocks.

Where a query has few grades, each is a part. Otherwise the documents are split by worth into parts
of about equal size. Pairs of different parts, or of the same one if all its documents are of one
grade, are summed block by block (`pairs`) and between blocks (`far_field`). Parts of several grades
are then split in turn. The smallest have a single block. This takes O(n) time after a sort, or
O(n log n) where most grades differ.
"""

import math

import numpy as np

from ..validation import Floats, Integers
from .bisection import first_part, grade_levels
from .columns import (
    BEGIN,
    BOTTOM,
    COUNTS,
    CURVATURE,
    DIFFERENT,
    DOCUMENT,
    LEVEL,
    ONE,
    OWN,
    PULL,
    RECEIVED,
    SCORE,
    SENT,
    SIZE,
    SPARE,
    TOP,
    TOTAL,
    WORTH,
    Columns,
    Rules,
    Tuning,
    write_decays,
    write_padding,
)
from .far_field import DIFFERENCE, NO_WEIGHT, Fit, add_far_pairs
from .jit import Function, jit_helper
from .order import MOST_LEVELS, count_small
from .vector import padded


def add_parts(near: Function, p: Rules, fit: Fit, n: int, w: Columns, v: Columns) -> None:
    """Write the sums over all pairs of a query in columns 0 to n - 1 of `w`, sorted by score.

    `v` is scratch. Writes the sum of all pulls into TOTAL, if the fit has sizes.
    """
    pulls, bends = w.real[PULL], w.real[CURVATURE]
    ranks, rest, level = w.whole[SPARE], w.whole[SPARE + 1], w.whole[SPARE + 2]
    for i in range(n):
        pulls[i], bends[i], ranks[i], level[i] = 0.0, 0.0, i, 0
    begins = _grades(p, n, w, level)
    # Where no fit reaches as far as the scores, all pairs are visited.
    spread = p.rate * (w.real[SCORE, 0] - w.real[SCORE, n - 1])
    direct = p.tuning.direct if spread <= fit.spreads[len(fit.spreads) - 1] else n
    part_of, grades_in = np.empty(len(begins), np.int64), np.empty(len(begins), np.int64)
    waiting_parts = first_part(len(begins) - 1)
    waiting = 1
    total = 0.0
    while waiting > 0:
        waiting -= 1
        lowest, last = waiting_parts[2 * waiting], waiting_parts[2 * waiting + 1]
        start, stop = begins[lowest], begins[last]
        parts = _divide(p, direct, lowest, last, begins, part_of, grades_in)
        members = ranks[start:stop]
        blocks, runs, cut = _write_blocks(
            p, direct, members, level, part_of, grades_in[:parts], w, v
        )
        columns = runs[blocks - 1, parts]
        write_decays(blocks, columns, p.rate, v)
        near(0, cut, p, v)
        for m in range(cut):
            total += v.real[TOTAL, m]
        for column in range(runs[cut, 0] if cut < blocks else columns, columns):
            v.real[PULL, column], v.real[CURVATURE, column] = 0.0, 0.0
        if blocks > 1:
            one_grade = parts == last - lowest
            weights = _weights(p, fit.weight if one_grade else 0, grades_in, runs, v)
            if one_grade or fit.weight == NO_WEIGHT:
                numbers, gained = fit.numbers, False
            else:
                numbers, gained = fit.gained, True
            _write_channels(numbers.shape[4], gained, columns, v)
            total += add_far_pairs(p, fit, numbers, weights, runs, cut, v)
        for m in range(blocks):
            for column in range(runs[m, 0], runs[m, parts]):
                rank = v.whole[DOCUMENT, column]
                pulls[rank] += v.real[PULL, column]
                bends[rank] += v.real[CURVATURE, column]
        if parts < last - lowest:
            first = lowest
            for grade in range(lowest + 1, last + 1):
                if grade == last or part_of[grade] != part_of[first]:
                    if grade - first > 1:
                        waiting_parts[2 * waiting], waiting_parts[2 * waiting + 1] = first, grade
                        waiting += 1
                    first = grade
            _regroup(members, level, part_of, parts, rest)
    w.real[TOTAL, 0] = total


@jit_helper
def _grades(p: Rules, n: int, w: Columns, level: Integers) -> Integers:
    """Write the place of each document's worth among the distinct ones; see `grade_levels`."""
    grades, places = w.real[LEVEL], w.whole[SPARE + 3]
    best = count_small(grades, n, places)
    if best < 0 and p.pairs != ONE:
        return grade_levels(grades[:n], level)
    begins = np.empty(MOST_LEVELS + 1, np.int64)
    begins[0], begins[1] = 0, n
    if p.pairs == ONE:
        return begins[:2]
    known = 0
    for grade in range(best + 1):
        count = places[grade]
        places[grade] = known
        if count > 0:
            begins[known + 1] = begins[known] + count
            known += 1
    for i in range(n):
        level[i] = places[int(grades[i])]
    return begins[: known + 1]


@jit_helper
def _size_of_parts(size: int, tuning: Tuning) -> int:
    """Return how many documents parts of several grades have.

    Time grows with the square of their number, so there are levels of them: as few as `parts` at a
    time allow, each with about as many parts as the others.
    """
    smallest = size / tuning.part
    levels = max(1.0, math.ceil(math.log(smallest) / math.log(tuning.parts)))
    # At most half, so that what is divided has several parts.
    return min(int(size / smallest ** (1.0 / levels)), size // 2)


@jit_helper
def _divide(
    p: Rules,
    direct: int,
    lowest: int,
    last: int,
    begins: Integers,
    part_of: Integers,
    grades_in: Integers,
) -> int:
    """Write the part of each grade from `lowest` to `last` - 1, and how many grades each has.

    Returns the number of parts.
    """
    size, grades = begins[last] - begins[lowest], last - lowest
    few = grades <= p.tuning.levels and size >= p.tuning.documents * grades
    most = 0 if few or size <= direct else _size_of_parts(size, p.tuning)
    part, first = 0, lowest
    grades_in[0] = 0
    for grade in range(lowest, last):
        if grade > first and begins[grade + 1] - begins[first] > most:
            part, first = part + 1, grade
            grades_in[part] = 0
        part_of[grade] = part
        grades_in[part] += 1
    return part + 1


@jit_helper
def _write_blocks(
    p: Rules,
    direct: int,
    members: Integers,
    level: Integers,
    part_of: Integers,
    grades_in: Integers,
    w: Columns,
    v: Columns,
) -> tuple[int, Integers, int]:
    """Write the documents of a part into blocks, grouped by its own parts.

    Returns the number of blocks, the columns where parts begin in each of them, and the first block
    with documents after the truncation alone.
    """
    n, parts = len(members), len(grades_in)
    width = p.tuning.block if n > direct else n
    cut = n
    if p.top > 0:
        cut = 0
        while cut < n and members[cut] < p.top:
            cut += 1
    runs = np.empty((n // width + 2, parts + 1), np.int64)
    places = np.empty(parts + 1, np.int64)
    blocks, leading, done, column = 0, 0, 0, 0
    while done < n:
        end = min(done + width, n)
        if width < n and done < cut < end:
            end = cut
        for part in range(parts + 1):
            places[part] = 0
        for i in range(done, end):
            places[part_of[level[members[i]]] + 1] += 1
        places[0] = column
        for part in range(parts):
            places[part + 1] += places[part]
        for part in range(parts + 1):
            runs[blocks, part] = places[part]
        for i in range(done, end):
            rank = members[i]
            part = part_of[level[rank]]
            at = places[part]
            places[part] += 1
            v.whole[DOCUMENT, at] = rank
            v.real[SCORE, at], v.real[WORTH, at] = w.real[SCORE, rank], w.real[WORTH, rank]
            v.real[OWN, at], v.real[COUNTS, at] = w.real[OWN, rank], w.real[COUNTS, rank]
            # Pairs of one part count here if they count and the part has a single grade.
            v.real[LEVEL, at] = float(part)
            if p.pairs != DIFFERENT and grades_in[part] == 1:
                v.real[LEVEL, at] += (at - column) / (end - done)
        v.whole[BEGIN, blocks], v.whole[SIZE, blocks] = column, end - done
        v.real[TOP, blocks] = w.real[SCORE, members[done]]
        v.real[BOTTOM, blocks] = w.real[SCORE, members[end - 1]]
        write_padding(column + end - done, column + padded(end - done), v)
        column += padded(end - done)
        blocks += 1
        leading = blocks if done < cut else leading
        done = end
    return blocks, runs[:blocks], leading


@jit_helper
def _weights(p: Rules, weight: int, grades_in: Integers, runs: Integers, v: Columns) -> Floats:
    """Return what a pair of two parts is weighted with, apart from the channels."""
    parts = runs.shape[1] - 1
    weights, worth = np.empty((parts, parts)), np.empty(parts)
    for m in range(len(runs)):
        for part in range(parts):
            if runs[m, part] < runs[m, part + 1]:
                worth[part] = v.real[WORTH, runs[m, part]]
    for part in range(parts):
        for other in range(parts):
            gap, both = abs(worth[part] - worth[other]), worth[part] + worth[other]
            weights[part, other] = gap if weight == DIFFERENCE else both
            if weight == NO_WEIGHT:
                weights[part, other] = 1.0
        alone = p.pairs != DIFFERENT and grades_in[part] == 1
        weights[part, part] = 1.0 if alone else 0.0
    return weights


@jit_helper
def _write_channels(channels: int, gained: bool, columns: int, v: Columns) -> None:
    """Write u and v: (1) and (1), (OWN, 1) and (1, OWN), or (OWN, 1, 1) and (1, OWN, 1).

    With `gained`, each of them twice: u times the worth, then v times the worth.
    """
    own, worth = v.real[OWN], v.real[WORTH]
    copies = 2 if gained else 1
    for channel in range(channels):
        base, sends = channel // copies, channel % copies == 1
        for i in range(np.uint64(columns)):
            gain = worth[i] if gained else 1.0
            received = own[i] if base == 0 and channels > copies else 1.0
            sent = own[i] if base == 1 else 1.0
            v.real[RECEIVED + channel, i] = received if sends else received * gain
            v.real[SENT + channel, i] = sent * gain if sends else sent


@jit_helper
def _regroup(
    members: Integers, level: Integers, part_of: Integers, parts: int, rest: Integers
) -> None:
    """List the documents by part, lowest first; in each they keep their order."""
    places = np.empty(parts + 1, np.int64)
    for part in range(parts + 1):
        places[part] = 0
    for i in range(len(members)):
        rest[i] = members[i]
        places[part_of[level[members[i]]] + 1] += 1
    for part in range(parts):
        places[part + 1] += places[part]
    for i in range(len(members)):
        part = part_of[level[rest[i]]]
        members[places[part]] = rest[i]
        places[part] += 1
