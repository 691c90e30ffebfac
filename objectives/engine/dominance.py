r"""Sums over all pairs of a list in which nearly all grades differ, in O(n log n) time.

`far_field` and `divided` keep sums for every distinct grade of a query. Where there are many
grades, the documents are split by grade into about `PARTS` parts of equal size. Pairs of different
parts are computed together, by sums of exponentials for each part. Pairs within a part of several
grades are computed when it is split in turn, or one by one if it has at most `DIRECT` documents.

The documents of a part are sorted by descending score and cut into blocks of `BLOCK`. Pairs inside
a block are computed one by one. A pair of different blocks adds to its documents a sum of
exponentials of x = |s_i - s_j|, one for pairs in the right order and another for the wrong order,

    f(x) = sum_k f_k e^{-t_k x},                                                                (*)

times 1 or, if `weighted`, times |g_i - g_j| |d_i - d_j|, with g in WORTH and d in OWN. Of two
documents of different parts it is known which is better, and of two of different blocks which ranks
higher, so this product is plus or minus (g_i - g_j)(d_i - d_j). For each part and k, four sums over
the documents above, of 1, d, g and g d, therefore give all pairs with a document below.
Exponentials are of distances to a block's edge and at most 1: nothing overflows for any scores.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev
from numpy.polynomial.polynomial import Polynomial

from ..validation import Floats, Integers
from . import columns as col
from .bisection import first_part, grade_levels
from .columns import MAX_LEVELS, N_REAL, N_WHOLE, Columns, exponents, far_levels
from .divided import OCTAVES, SPREAD, SPREADS, STEP
from .far_field import ABOVE, LOGISTIC, SLOPE
from .jit import Function, bind, jit_entry, jit_helper, jit_inline
from .order import order_by_score
from .vector import exponentials, strided

# Up to this many documents, in a query or a part, all pairs are computed one by one.
DIRECT = 1024
# A part holds up to `PART` documents, or more where that would make over `PARTS` parts.
PART = 384
PARTS = 64
BLOCK = 128
# Terms of (*) fill whole vectors, unrolled.
TERMS = 24
FULL = 8
FARTHEST = 1e200  # 0 times infinity would be NaN

# Rows of a fit: t_k, and f_k for pairs in the right order and the wrong one.
RATE, FREE, RIGHT, WRONG, BEND_RIGHT, BEND_WRONG = range(6)


def series(function: Function, terms: int) -> Floats:
    """Return the coefficients of a polynomial that approximates a function on [0, 1].

    Parameters
    ----------
    function : callable
        Takes an array.
    terms : int
    """
    fit = Chebyshev.interpolate(function, terms - 1, domain=[0.0, 1.0])
    return np.asarray(fit.convert(kind=Polynomial).coef)


def _logistic_fit() -> Floats:
    fit = np.zeros((1, 6, TERMS))
    fit[0, RIGHT, 1 : len(LOGISTIC) + 1] = LOGISTIC
    fit[0, BEND_RIGHT, 1 : len(SLOPE) + 1] = SLOPE
    fit[0, WRONG] = -fit[0, RIGHT]
    fit[0, WRONG, 0] = 1.0
    fit[0, BEND_WRONG] = fit[0, BEND_RIGHT]
    return fit


LOGISTIC_FIT = _logistic_fit()


def has_many_grades(grades: Floats, boundaries: Integers) -> bool:
    """Return whether any query of over `DIRECT` documents has too many grades for `far_field`."""
    any_long = np.diff(boundaries).max(initial=0) > DIRECT  # otherwise nothing is compiled
    return bool(any_long and _has_many_grades(grades, boundaries))


@jit_entry
def _has_many_grades(grades: Floats, boundaries: Integers) -> bool:
    levels, counts = np.empty(MAX_LEVELS), np.empty(MAX_LEVELS, np.int64)
    for q in range(len(boundaries) - 1):
        a, b = boundaries[q], boundaries[q + 1]
        if b - a > DIRECT and far_levels(grades[a:b], levels, counts) == 0:
            return True
    return False


def dominance(
    add_rows: Function, *, divided: bool, weighted: bool, direct: int | None = None
) -> Function:
    """Return a compiled function that sums over pairs of different worth.

    Parameters
    ----------
    add_rows : compiled function
        ``add_rows(rows, partners, factorizable, sigma, w) -> total``, as from `swaps.swap_pairs`,
        for pairs of different LEVEL. If not `weighted`, WORTH holds the levels too.
    divided : bool
        Whether f are the functions of `divided` rather than the logistic function and its slope.
    weighted : bool
        Whether pairs have a weight.
    direct : int, optional
        Replaces `DIRECT`, and three eighths of it replace `PART`.

    Returns
    -------
    ``add(begin, end, top, sigma, fits, w) -> total``
        Writes the sums over the pairs of columns begin to end - 1, sorted by score, with at least
        one document before column `top`. Returns twice the sum of |w f|.
    """
    sweep = _sweep_of(divided, weighted)
    sizes = {"DIRECT": DIRECT, "PART": PART}
    if direct is not None:
        sizes = {"DIRECT": direct, "PART": 3 * direct // 8}
    part = jit_helper(bind(_part, add_rows=add_rows, sweep=sweep, divided=divided, **sizes))
    add: Function = jit_helper(bind(_add, add_part=part, weighted=weighted, **sizes))
    return add


@cache  # takes longest to compile: once per process for all losses of a kind
def _sweep_of(divided: bool, weighted: bool) -> Function:
    add_up = jit_inline(bind(_add_up, weighted=weighted))
    kind = {"divided": divided, "weighted": weighted, "add_up": add_up}
    steps = {step.__name__[1:]: jit_helper(bind(step, **kind)) for step in _STEPS}
    sweep: Function = jit_helper(bind(_sweep, **kind, **steps))
    return sweep


@jit_helper
def sorted_columns(scores: Floats, worth: Floats) -> tuple[Columns, Integers]:
    """Return columns with SCORE and WORTH of one query, best score first, and that order."""
    n = len(scores)
    w = Columns(np.empty((N_REAL, strided(n))), np.empty((N_WHOLE, 1), np.int64))
    order = order_by_score(scores)
    for i in range(n):
        w.real[col.SCORE, i] = scores[order[i]]
        w.real[col.WORTH, i] = worth[order[i]]
        w.real[col.OWN, i] = 0.0
    return w, order


_unbound: Any = None
# Placeholders: `bind` replaces them for the functions below.
divided = weighted = False
add_rows = add_part = sweep = write_rows = receive = send = add_up = _unbound


def _add(begin: int, end: int, top: int, sigma: float, fits: Floats, w: Columns) -> float:
    n = end - begin
    scores, worth, own = w.real[col.SCORE], w.real[col.WORTH], w.real[col.OWN]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    level = np.empty(n, np.int64)
    begins = grade_levels(worth[begin:end], level)
    v = Columns(np.empty((N_REAL, strided(n))), np.empty((N_WHOLE, strided(n) + 2), np.int64))
    part_scores, part_worth, part_own = v.real[col.SCORE], v.real[col.WORTH], v.real[col.OWN]
    part_of = v.real[col.LEVEL]
    part_pulls, part_curvatures = v.real[col.PULL], v.real[col.CURVATURE]
    documents, ranks = v.whole[col.DOCUMENT], v.whole[col.PLACE]
    bucket, places = v.whole[col.QUERY], v.whole[col.COUNTS]
    for i in range(n):
        documents[i] = i
        pulls[begin + i], curvatures[begin + i] = 0.0, 0.0
    parts = first_part(len(begins) - 1)
    waiting = 1
    total = 0.0
    while waiting > 0:
        waiting -= 1
        lowest, last = parts[2 * waiting], parts[2 * waiting + 1]
        start, stop = begins[lowest], begins[last]
        size = stop - start
        # A part has up to this many documents, or a single grade: grades are never split.
        most = max(size // PARTS, PART) if size > DIRECT else 0
        buckets, first = 0, lowest
        places[0] = start
        for grade in range(lowest, last):
            if grade > first and begins[grade + 1] - begins[first] > most:
                if grade - first > 1:
                    parts[2 * waiting], parts[2 * waiting + 1] = first, grade
                    waiting += 1
                first = grade
                buckets += 1
                places[buckets] = begins[first]
            bucket[grade] = buckets
        if last - first > 1:
            parts[2 * waiting], parts[2 * waiting + 1] = first, last
            waiting += 1
        cut = size  # documents of a part are in rank order: those before `top` come first
        for i in range(size):
            rank = documents[start + i]
            ranks[i] = rank
            column = begin + rank
            part_scores[i], part_own[i] = scores[column], own[column]
            part_of[i] = bucket[level[rank]]
            part_worth[i] = worth[column] if weighted else part_of[i]
            cut = min(cut, i if column >= top else size)
        total += add_part(size, cut, buckets + 1, sigma, fits, v)
        for i in range(size):
            rank = ranks[i]
            pulls[begin + rank] += part_pulls[i]
            curvatures[begin + rank] += part_curvatures[i]
            place = places[bucket[level[rank]]]
            places[bucket[level[rank]]] += 1
            documents[place] = rank
    return total


def _part(size: int, cut: int, parts: int, sigma: float, fits: Floats, v: Columns) -> float:
    """Write the sums over pairs of different parts with at least one document before `cut`."""
    powers, from_top, scores = v.real[col.POWER], v.real[col.FROM_TOP], v.real[col.SCORE]
    edges, factorizable = v.whole[col.EDGES], v.whole[col.FACTORIZABLE]
    width = BLOCK if size > DIRECT else size
    blocks, begin = 0, 0
    while begin < size:
        end = min(begin + width, size)
        if width < size and begin < cut < end:
            end = cut
        edges[blocks] = begin
        factorizable[blocks] = exponents(scores, powers, begin, end - begin, sigma, scores[begin])
        blocks += 1
        begin = end
    edges[blocks] = size
    for i in range(size, strided(size)):  # new memory may hold NaN
        powers[i] = 0.0
    exponentials(powers, from_top, strided(size))
    total = 0.0
    for m in range(blocks):
        begin, end, ratios = edges[m], edges[m + 1], factorizable[m] != 0
        whole = min(max(begin, cut), end)
        total += add_rows((begin, whole), (begin, end), ratios, sigma, v)
        if whole < end:
            total += add_rows((whole, end), (begin, whole), ratios, sigma, v)
    if blocks > 1:
        runs = _group(blocks, parts, v)
        if divided:
            fit = _divided_fit(sigma, fits, scores[0] - scores[size - 1])
        else:
            fit = _plain_fit(fits)
        for side in range(2):
            total += sweep(side, cut, runs, fit, sigma, v)
    return total


@jit_helper
def _group(blocks: int, parts: int, v: Columns) -> Integers:
    """List the documents of each block by part; return where the parts begin."""
    edges, members, part_of = v.whole[col.EDGES], v.whole[col.SPARE], v.real[col.LEVEL]
    runs = np.empty((blocks, parts + 1), np.int64)
    places = np.empty(parts + 1, np.int64)
    for m in range(blocks):
        for part in range(parts + 1):
            places[part] = 0
        for i in range(edges[m], edges[m + 1]):
            places[int(part_of[i]) + 1] += 1
        places[0] = edges[m]
        for part in range(parts):
            places[part + 1] += places[part]
        for part in range(parts + 1):
            runs[m, part] = places[part]
        for i in range(edges[m], edges[m + 1]):
            members[places[int(part_of[i])]] = i
            places[int(part_of[i])] += 1
    return runs


@jit_helper
def _plain_fit(fits: Floats) -> Floats:
    fit = np.empty((6, fits.shape[2]))
    for k in range(fits.shape[2]):
        for kind in range(6):
            fit[kind, k] = fits[0, kind, k]
    return fit


@jit_helper
def _divided_fit(sigma: float, fits: Floats, spread: float) -> Floats:
    """Return the fit for this spread of the scores."""
    kind = 0
    while kind + 1 < SPREADS and sigma * spread > SPREAD * 2.0 ** (OCTAVES * kind):
        kind += 1
    terms = fits.shape[2] - STEP * (SPREADS - 1 - kind)
    fit = np.zeros((6, (terms + FULL - 1) // FULL * FULL))
    for k in range(terms):
        fit[RATE, k], fit[FREE, k] = fits[kind, 0, k], fits[kind, 1, k]
        fit[RIGHT, k], fit[WRONG, k] = fits[kind, 2, k], -fits[kind, 2, k]
        fit[BEND_RIGHT, k] = fit[BEND_WRONG, k] = fits[kind, 3, k]
    return fit


def _sweep(side: int, cut: int, runs: Integers, fit: Floats, sigma: float, v: Columns) -> float:
    """Go through the blocks from one side, with the sums of those already passed."""
    scores, edges = v.real[col.SCORE], v.whole[col.EDGES]
    blocks, parts, terms = len(runs), runs.shape[1] - 1, fit.shape[1]
    width = (2 if divided else 1) * (4 if weighted else 1) * terms
    moments, right, sums = np.zeros((parts, width)), np.empty((parts, width)), np.empty(4 * width)
    # A row for each document, then their e^{-sigma x}.
    rows, room = np.empty((BLOCK + 1) * (terms + 1)), np.empty((2, 9 * (BLOCK + 1)))
    total = 0.0
    for turn in range(blocks):
        m = turn if side == ABOVE else blocks - 1 - turn
        begin, end = edges[m], edges[m + 1]
        edge = scores[begin] if side == ABOVE else scores[end - 1]
        if turn > 0 and (side == ABOVE or begin < cut):
            write_rows(begin, end, edge, edge, fit, sigma, scores, rows, room)
            total += receive(side, m, runs, fit, moments, right, sums, rows, v)
        if turn + 1 < blocks:
            following = scores[end] if side == ABOVE else scores[begin - 1]
            last = end if side != ABOVE or end <= cut else begin
            write_rows(begin, last, following, edge, fit, sigma, scores, rows, room)
            send(m, last - begin, runs, moments, fit, rows, v)
    return total


def _write_rows(
    begin: int,
    end: int,
    edge: float,
    other_edge: float,
    fit: Floats,
    sigma: float,
    scores: Floats,
    rows: Floats,
    room: Floats,
) -> None:
    """Write e^{-t_k x} for documents and then for another edge, x the distance to `edge`."""
    first, n, terms = np.uint64(begin), np.uint64(end - begin), np.uint64(fit.shape[1])
    step, count = np.uint64(STEP), n + np.uint64(1)
    x, base = room[0], room[1]
    damped = np.uint64(BLOCK + 1) * terms
    for i in range(count):
        score = scores[first + i] if i < n else other_edge
        distance = min(abs(score - edge), FARTHEST)
        x[i] = -sigma * distance
        if divided:
            for k in range(step):
                x[count + i * step + k] = -fit[RATE, k] * distance
    exponentials(x, base, (9 if divided else 1) * (end - begin + 1))
    if divided:
        for i in range(count):
            rows[damped + i] = base[i]
        for group in range(terms // step):  # the next rows are the eighth powers of these
            for i in range(count):
                for k in range(step):
                    rows[i * terms + group * step + k] = base[count + i * step + k]
            for k in range(count, count + count * step):
                power = base[k] * base[k]
                power = power * power
                base[k] = power * power
    else:
        for i in range(count):
            row, z = i * terms, base[i]
            square = z * z
            fourth, cube = square * square, square * z
            rows[row], rows[row + np.uint64(1)] = 1.0, z
            rows[row + np.uint64(2)], rows[row + np.uint64(3)] = square, cube
            rows[row + np.uint64(4)], rows[row + np.uint64(5)] = fourth, fourth * z
            rows[row + np.uint64(6)], rows[row + np.uint64(7)] = fourth * square, fourth * cube
            eighth = fourth * fourth
            for k in range(terms - step):
                rows[row + step + k] = eighth * rows[row + k]


def _send(
    m: int, n: int, runs: Integers, moments: Floats, fit: Floats, rows: Floats, v: Columns
) -> None:
    """Carry the moments on, by the last row, and add the first n documents of a block."""
    weights, worth, members = v.real[col.OWN], v.real[col.WORTH], v.whole[col.SPARE]
    parts, first, terms = len(moments), runs[m, 0], np.uint64(fit.shape[1])
    twice, thrice = terms + terms, terms + terms + terms
    at_z = (twice + twice) if weighted else terms  # where the same sums times z begin
    on, damped = np.uint64(n) * terms, np.uint64(BLOCK + 1) * terms
    for part in range(parts):
        for k in range(terms):
            decay = rows[on + k]
            moments[part, k] *= decay
            if weighted:
                moments[part, terms + k] *= decay
                moments[part, twice + k] *= decay
                moments[part, thrice + k] *= decay
        if divided:
            z = rows[damped + np.uint64(n)]
            for k in range(terms):
                decay = z * rows[on + k]
                moments[part, at_z + k] *= decay
                if weighted:
                    moments[part, at_z + terms + k] *= decay
                    moments[part, at_z + twice + k] *= decay
                    moments[part, at_z + thrice + k] *= decay
        for place in range(runs[m, part], runs[m, part + 1] if n > 0 else runs[m, part]):
            i = members[place]
            row = np.uint64(i - first) * terms
            d, g = weights[i], worth[i]
            for k in range(terms):
                power = rows[row + k]
                moments[part, k] += power
                if weighted:
                    moments[part, terms + k] += d * power
                    moments[part, twice + k] += g * power
                    moments[part, thrice + k] += d * g * power
            if divided:
                z = rows[damped + np.uint64(i - first)]
                for k in range(terms):
                    power = z * rows[row + k]
                    moments[part, at_z + k] += power
                    if weighted:
                        moments[part, at_z + terms + k] += d * power
                        moments[part, at_z + twice + k] += g * power
                        moments[part, at_z + thrice + k] += d * g * power


def _add_up(
    d: float, g: float, at: np.uint64, row: np.uint64, terms: np.uint64, sums: Floats, rows: Floats
) -> float:
    """Sum the terms of (*), if weighted times (g_i - g_j)(d_i - d_j), from one or four sums."""
    twice, thrice = terms + terms, terms + terms + terms
    total = 0.0
    for k in range(terms):
        value = sums[at + k]
        if weighted:
            of_gain = d * sums[at + k] - sums[at + terms + k]
            rest = d * sums[at + twice + k] - sums[at + thrice + k]
            value = g * of_gain - rest
        total += rows[row + k] * value
    return total


def _receive(
    side: int,
    m: int,
    runs: Integers,
    fit: Floats,
    moments: Floats,
    right: Floats,
    sums: Floats,
    rows: Floats,
    v: Columns,
) -> float:
    """Add the pairs of a block's documents with the documents in the moments."""
    weights, worth, members = v.real[col.OWN], v.real[col.WORTH], v.whole[col.SPARE]
    pulls, curvatures = v.real[col.PULL], v.real[col.CURVATURE]
    parts, first = len(moments), runs[m, 0]
    width, terms = np.uint64(moments.shape[1]), np.uint64(fit.shape[1])
    damped = np.uint64(BLOCK + 1) * terms
    at_z = np.uint64(4 if weighted else 1) * terms
    sign = -1.0 if side == ABOVE else 1.0
    # Sums over parts in the right order, then over those in the wrong order: never by subtraction.
    for turn in range(parts):
        part = parts - 1 - turn if side == ABOVE else turn
        before = part + 1 if side == ABOVE else part - 1
        for k in range(width):
            right[part, k] = right[before, k] + moments[before, k] if turn > 0 else 0.0
    wrong, bends, sizes = width, width + width, width + width + width
    for k in range(width):
        sums[wrong + k] = 0.0
    total = 0.0
    for turn in range(parts):
        part = turn if side == ABOVE else parts - 1 - turn
        start, stop = runs[m, part], runs[m, part + 1]
        for moment in range((4 if weighted else 1) if start < stop else 0):
            at = np.uint64(moment) * terms
            if divided:
                for k in range(terms):
                    free = fit[FREE, k] * sums[wrong + at + k]
                    sums[at + k] = free if weighted else -free
                at += at_z
            for k in range(terms):
                of_right, of_wrong = right[part, at + k], sums[wrong + at + k]
                of_wrong = of_wrong if weighted else -of_wrong
                sums[at + k] = fit[RIGHT, k] * of_right + fit[WRONG, k] * of_wrong
                sums[bends + at + k] = fit[BEND_RIGHT, k] * of_right - fit[BEND_WRONG, k] * of_wrong
                if divided:
                    sums[sizes + at + k] = fit[RIGHT, k] * of_right - fit[WRONG, k] * of_wrong
        for place in range(start, stop):
            i = members[place]
            row = np.uint64(i - first) * terms
            d, g = weights[i], worth[i]
            at, free, z = np.uint64(0), 0.0, 1.0
            if divided:
                free = add_up(d, g, at, row, terms, sums, rows)
                at = at_z
                z = rows[damped + np.uint64(i - first)]
            pull = add_up(d, g, at, row, terms, sums, rows)
            bend = add_up(d, g, at + bends, row, terms, sums, rows)
            if divided and side == ABOVE:
                size = add_up(d, g, at + sizes, row, terms, sums, rows)
                total += 2.0 * (z * size - free)
            pulls[i] += sign * (free + z * pull)
            curvatures[i] += z * bend
        for k in range(width):
            sums[wrong + k] += moments[part, k]
    return total


_STEPS = _write_rows, _send, _receive
