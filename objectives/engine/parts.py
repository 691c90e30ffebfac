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
from .columns import (
    BEGIN,
    BOTTOM,
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
    TO_HIGHER,
    TOP,
    TOTAL,
    UNLIMITED,
    WORTH,
    Columns,
    Rules,
    Tuning,
    write_decays,
    write_padding,
)
from .far_field import DIFFERENCE, NO_WEIGHT, SUM, Fit, Room, add_far_pairs
from .jit import Function, jit_helper
from .vector import padded


def most_parts(tuning: Tuning) -> int:
    """Return how many parts there are at most, at a time."""
    return max(tuning.levels, 2 * tuning.parts + 4)


def add_parts(near: Function, p: Rules, fit: Fit, n: int, w: Columns, v: Columns, r: Room) -> None:
    """Write the sums over all pairs of a query in columns 0 to n - 1 of `w`, sorted by score.

    `v` and `r` are scratch. Writes the sum of all pulls into TOTAL, if the fit has sizes.
    """
    pulls, bends = w.real[PULL], w.real[CURVATURE]
    ranks, level, runs = w.whole[SPARE], w.whole[SPARE + 1], w.whole[SPARE + 3]
    begins, part_of, grades_in = v.whole[SPARE], v.whole[SPARE + 1], v.whole[SPARE + 2]
    # The ranges of levels that are still to be divided.
    lowests, lasts = v.whole[SPARE + 3], v.whole[SPARE + 4]
    for i in range(n):
        pulls[i], bends[i], ranks[i] = 0.0, 0.0, i
    lowests[0], lasts[0] = 0, _grades(p.pairs, n, w, level, begins)
    # Where no fit reaches as far as the scores, all pairs are visited.
    spread = p.rate * (w.real[SCORE, 0] - w.real[SCORE, n - 1])
    direct = p.tuning.direct if spread <= fit.spreads[len(fit.spreads) - 1] else n
    waiting = 1
    total = 0.0
    while waiting > 0:
        waiting -= 1
        lowest, last = lowests[waiting], lasts[waiting]
        # The first part in which pairs of one grade count, too.
        alike = 1 if p.pairs == TO_HIGHER and lowest == 0 else 0
        alike = UNLIMITED if p.pairs == DIFFERENT else alike
        start, stop = begins[lowest], begins[last]
        parts = _divide(p.tuning, direct, lowest, last, begins, part_of, grades_in)
        members = ranks[start:stop]
        width = p.tuning.block if stop - start > direct else stop - start
        blocks, columns = _write_blocks(
            width, alike, members, level, parts, part_of, grades_in, w, v
        )
        write_decays(blocks, columns, p.rate, v)
        near(0, blocks, p, v)
        for m in range(blocks):
            total += v.real[TOTAL, m]
        if blocks > 1:
            one_grade = parts == last - lowest
            gained = not one_grade and fit.weight != NO_WEIGHT
            weight = fit.weight if one_grade else int(NO_WEIGHT)
            _write_weights(alike, weight, blocks, parts, grades_in, runs, v, r.weights)
            _write_channels(fit.numbers.shape[4], gained, columns, v)
            total += add_far_pairs(p.rate, fit, gained, blocks, parts, runs, v, r)
        for m in range(blocks):
            begin = np.uint64(v.whole[BEGIN, m])
            for column in range(begin, begin + np.uint64(v.whole[SIZE, m])):
                rank = np.uint64(v.whole[DOCUMENT, column])
                pulls[rank] += v.real[PULL, column]
                bends[rank] += v.real[CURVATURE, column]
        if parts < last - lowest:
            first = lowest
            for grade in range(lowest + 1, last + 1):
                if grade == last or part_of[grade] != part_of[first]:
                    if grade - first > 1:
                        lowests[waiting], lasts[waiting] = first, grade
                        waiting += 1
                    first = grade
            # As one block, they come out grouped by part.
            _write_blocks(len(members), alike, members, level, parts, part_of, grades_in, w, v)
            for i in range(len(members)):
                members[i] = v.whole[DOCUMENT, i]
    w.real[TOTAL, 0] = total


@jit_helper
def _grades(pairs: int, n: int, w: Columns, level: Integers, begins: Integers) -> int:
    """Write each document's level, and where levels begin; return how many there are."""
    levels = 1
    for i in range(n):
        level[i] = 0 if pairs == ONE else int(w.real[LEVEL, i])
        levels = max(levels, level[i] + 1)
    for place in range(levels + 1):
        begins[place] = 0
    for i in range(n):
        begins[level[i] + 1] += 1
    for place in range(levels):
        begins[place + 1] += begins[place]
    return levels


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
    tuning: Tuning,
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
    few = grades <= tuning.levels and size >= tuning.documents * grades
    most = 0 if few or size <= direct else _size_of_parts(size, tuning)
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
def _part(rank: int, level: Integers, part_of: Integers) -> np.uint64:
    return np.uint64(part_of[np.uint64(level[np.uint64(rank)])])


@jit_helper
def _write_blocks(
    width: int,
    alike: int,
    members: Integers,
    level: Integers,
    parts: int,
    part_of: Integers,
    grades_in: Integers,
    w: Columns,
    v: Columns,
) -> tuple[int, int]:
    """Write the documents of a part into blocks, grouped by its own parts, and where these begin.

    Returns the numbers of blocks and of columns.
    """
    n, places, runs = len(members), w.whole[SPARE + 2], w.whole[SPARE + 3]
    blocks, done, column = 0, 0, 0
    while done < n:
        end = min(done + width, n)
        for part in range(parts + 1):
            places[part] = 0
        for i in range(np.uint64(done), np.uint64(end)):
            places[_part(members[i], level, part_of) + np.uint64(1)] += 1
        places[0] = column
        for part in range(parts):
            places[part + 1] += places[part]
        for part in range(parts + 1):
            runs[blocks * (parts + 1) + part] = places[part]
        for i in range(np.uint64(done), np.uint64(end)):
            rank, its_part = np.uint64(members[i]), _part(members[i], level, part_of)
            at = np.uint64(places[its_part])
            places[its_part] += 1
            v.whole[DOCUMENT, at] = members[i]
            v.real[SCORE, at], v.real[WORTH, at] = w.real[SCORE, rank], w.real[WORTH, rank]
            v.real[OWN, at] = w.real[OWN, rank]
            # Pairs of one part count here if they count and the part has a single grade.
            v.real[LEVEL, at] = float(its_part)
            if its_part >= alike and grades_in[its_part] == 1:
                v.real[LEVEL, at] += (at - column) / (end - done)
        v.whole[BEGIN, blocks], v.whole[SIZE, blocks] = column, end - done
        v.real[TOP, blocks] = w.real[SCORE, members[done]]
        v.real[BOTTOM, blocks] = w.real[SCORE, members[end - 1]]
        write_padding(column + end - done, column + padded(end - done), v)
        column += padded(end - done)
        blocks += 1
        done = end
    return blocks, column


@jit_helper
def _write_weights(
    alike: int,
    weight: int,
    blocks: int,
    parts: int,
    grades_in: Integers,
    runs: Integers,
    v: Columns,
    weights: Floats,
) -> None:
    """Write what a pair of two parts is weighted with, apart from the channels."""
    for m in range(blocks):
        for part in range(parts):
            run = m * (parts + 1) + part
            if runs[run] < runs[run + 1]:
                weights[part, part] = v.real[WORTH, runs[run]]
    of_gap, of_sum = 1.0 if weight == DIFFERENCE else 0.0, 1.0 if weight == SUM else 0.0
    for part in range(parts):
        for other in range(part):
            gap = abs(weights[part, part] - weights[other, other])
            both = of_gap * gap + of_sum * (weights[part, part] + weights[other, other])
            both += 1.0 - of_gap - of_sum
            weights[part, other], weights[other, part] = both, both
    for part in range(parts):
        weights[part, part] = 1.0 if part >= alike and grades_in[part] == 1 else 0.0


@jit_helper
def _write_channels(channels: int, gained: bool, columns: int, v: Columns) -> None:
    """Write u and v: as many channels as needed of (1, OWN, 1, WORTH) and (OWN, 1, WORTH, 1).

    With `gained`, each of them twice: u times the worth, then v times the worth.
    """
    own, worth, copies = v.real[OWN], v.real[WORTH], 2 if gained else 1
    for channel in range(channels * copies):
        base, by_sent = channel // copies, channel % copies
        for sends in range(2):
            by_own = base + sends == 1
            by_worth = base + sends == 3 or (gained and by_sent == sends)
            # Without branches, which take long to compile.
            a, b = 1.0 if by_own else 0.0, 1.0 if by_worth else 0.0
            out = v.real[SENT + channel if sends else RECEIVED + channel]
            for i in range(np.uint64(columns)):
                out[i] = (a * own[i] + (1.0 - a)) * (b * worth[i] + (1.0 - b))
