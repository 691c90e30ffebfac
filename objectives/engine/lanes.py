"""Short queries, eight side by side: their pairs by distance in the list, each once.

Row i of the scratch holds the i-th documents of eight queries, one query per lane. For each d, the
pairs of rows i and i + d of all eight queries are one pass over memory. It has no remainder and
needs no sum across a vector, however short the queries are. Nothing is sorted: ranks are counted in
passes of the same kind. Lanes never mix, so the bits of a query do not depend on its neighbours.

A query that is shorter than the longest of the eight has padding after its documents. In DECAY,
padding is infinitely far below them, and it is worth less, so it adds nothing to their sums. Its
own sums may be NaN and are ignored.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .columns import LARGEST_EXPONENT, Packing
from .curvature import CONSTANT, HESSIAN_FLOOR
from .gains import rank_discount
from .jit import Function, bind, jit_disjoint, jit_helper, jit_inline, jit_ordered
from .near_field import Document
from .vector import LANES, aligned, exponentials, strided

LONGEST = 64  # documents per query; for longer ones, blocks take no more time
# Queries sorted by length at a time, so that there is little padding.
WINDOW = 256

# Rows of `Lanes.real`: per document and lane,
(
    SCORE,
    WORTH,  # gain or grade
    DECAY,  # e^{alpha (s - any score of the query)}
    OWN,  # what a document contributes to its pairs
    TOP,  # 1 up to the truncation rank, 0 after it
    POWER,
    # and sums over the pairs with later documents, and with earlier ones: of pulls, their sizes and
    # bends.
    PULL,
    PULL_BEFORE,
    SIZE,
    CURVATURE,
    CURVATURE_BEFORE,
    N_REAL,
) = range(12)
# Rows of `Lanes.of_query`.
(
    FACTOR,  # of the gradient
    TOTAL,  # sum of the sizes of all pulls
    SPREAD,  # largest difference of a score from the first
) = range(3)


class Lanes(NamedTuple):
    """Scratch for a group of eight queries."""

    rows: int  # documents of the longest query
    real: Floats  # (N_REAL, at least rows LANES)
    first: Integers  # (LANES,) row of the query's first document in the data
    size: Integers  # (LANES,) documents; 0 where there is no query
    of_query: Floats  # (3, LANES)
    discount: Floats  # (LONGEST LANES,) of each query's ranks
    known: Integers  # (LANES,) number of documents for which `discount` was written


def new_lanes(longest: int) -> tuple[Lanes, Integers, Integers]:
    """Return scratch for all groups, one after another, and two arrays for `by_length`.

    Each group uses the front of it, as `narrowed` returns it.
    """
    real = aligned(N_REAL, LONGEST * LANES + LANES)
    first, size, known = np.zeros((3, LANES), np.int64)
    rows = aligned(3 + LONGEST, LANES)
    rows[:] = 0.0
    w = Lanes(LONGEST, real, first, size, rows[:3], rows[3:].reshape(-1), known)
    return w, np.empty(WINDOW, np.int64), np.empty(LONGEST + 2, np.int64)


@jit_inline
def narrowed(w: Lanes, rows: int) -> Lanes:
    """Return the same scratch for queries of up to `rows` documents.

    Rows of scratch follow each other closely, but are never a multiple of 4096 bytes apart: the
    fastest cache has few places for addresses that far apart.
    """
    width = strided(rows * LANES) + LANES
    real = w.real.reshape(-1)[: N_REAL * width].reshape((N_REAL, width))
    return Lanes(rows, real, w.first, w.size, w.of_query, w.discount, w.known)


@jit_helper
def by_length(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    queries: Integers,
    begins: Integers,
) -> int:
    """Write those of the queries first to last - 1 with a length in `sizes`, short ones first.

    Returns how many there are. `begins` is scratch.
    """
    for n in range(len(begins)):
        begins[n] = 0
    for q in range(first, last):
        n = boundaries[q + 1] - boundaries[q]
        if sizes[0] <= n <= sizes[1]:
            begins[n + 1] += 1
    count = 0
    for n in range(len(begins)):
        count += begins[n]
        begins[n] = count
    for q in range(first, last):
        n = boundaries[q + 1] - boundaries[q]
        if sizes[0] <= n <= sizes[1]:
            queries[begins[n]] = q
            begins[n] += 1
    return count


def filler(*, by_gain: bool, sort: bool) -> Function:
    """Return a compiled function that writes the documents of up to eight queries.

    Parameters
    ----------
    by_gain, sort : bool
        As in `columns.packer`.

    Returns
    -------
    ``fill(queries, boundaries, scores, labels, packing, w)``
    """
    write: Function = jit_ordered(bind(_write_discounts, sort=sort))
    fill: Function = jit_helper(bind(_fill, by_gain=by_gain, sort=sort, write_discounts=write))
    return fill


_unbound: Any = None
# Placeholders: `bind` replaces them for the functions below.
by_gain = sort = False
write_discounts = _unbound


def _fill(
    queries: Integers,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    packing: Packing,
    w: Lanes,
) -> None:
    score, worth = w.real[SCORE], w.real[WORTH]
    for lane in range(LANES):
        first, n = 0, 0
        if lane < len(queries):
            q = queries[lane]
            first, n = boundaries[q], boundaries[q + 1] - boundaries[q]
        w.first[lane], w.size[lane], w.of_query[FACTOR, lane] = first, n, 1.0
        for i in range(n):
            score[i * LANES + lane] = scores[first + i]
            worth[i * LANES + lane] = labels[first + i]
        for i in range(n, w.rows):
            score[i * LANES + lane], worth[i * LANES + lane] = -math.inf, -1.0
    if by_gain and packing.normalize:
        _count_better(w.rows, worth, w.real[PULL], w.real[PULL_BEFORE])
    if sort:
        _count_better(w.rows, score, w.real[CURVATURE], w.real[CURVATURE_BEFORE])
    for lane in range(LANES):  # differences of infinite scores would be NaN
        for i in range(w.size[lane], w.rows):
            score[i * LANES + lane] = score[lane] if w.size[lane] > 0 else 0.0
    if by_gain:
        for lane in range(LANES):
            n = w.size[lane]
            if n != w.known[lane]:
                w.known[lane] = n
                for place in range(n):
                    w.discount[place * LANES + lane] = rank_discount(packing.discount, n, place + 1)
        write_discounts(packing, w)


@jit_disjoint
def _count_better(rows: int, values: Floats, ahead: Floats, before: Floats) -> None:
    """Write two numbers that add up to how many values are larger; of ties, the first counts."""
    for i in range(np.uint64(rows * LANES)):
        ahead[i], before[i] = 0.0, float(i // np.uint64(LANES))
    for distance in range(np.uint64(1), np.uint64(rows)):
        shift = distance * np.uint64(LANES)
        for i in range(np.uint64(rows * LANES) - shift):
            better = 1.0 if values[i + shift] > values[i] else 0.0
            ahead[i] += better
            before[i + shift] -= better


def _write_discounts(packing: Packing, w: Lanes) -> None:
    """Write 1 over the ideal DCG into every query's factor, and OWN and TOP, from counted ranks.

    Loops over lanes are unrolled, not vectorised: the columns of one lane are far apart. Sums keep
    their order, so that they do not depend on the longest query of the group.
    """
    if packing.normalize:
        worth, ahead, before = w.real[WORTH], w.real[PULL], w.real[PULL_BEFORE]
        ideal = w.of_query[FACTOR]
        for lane in range(LANES):
            ideal[lane] = 0.0
        for i in range(w.rows):
            for lane in range(LANES):
                at = i * LANES + lane
                place = np.int64(ahead[at] + before[at])
                gain = worth[at] if i < w.size[lane] else 0.0
                gain = gain if packing.k == 0 or place < packing.k else 0.0
                ideal[lane] += gain * w.discount[place * LANES + lane]
        for lane in range(LANES):
            ideal[lane] = 1.0 / ideal[lane] if ideal[lane] > 0.0 else 0.0
    if sort:
        own, top = w.real[OWN], w.real[TOP]
        ahead, before = w.real[CURVATURE], w.real[CURVATURE_BEFORE]
        for i in range(w.rows):
            for lane in range(LANES):
                at = i * LANES + lane
                place = np.int64(ahead[at] + before[at])
                own[at] = w.discount[place * LANES + lane]
                top[at] = 1.0 if packing.split_at == 0 or place < packing.split_at else 0.0


@jit_helper
def _write_decays(alpha: float, w: Lanes) -> bool:
    """Write DECAY; return whether its ratios are accurate in all lanes."""
    score, power = w.real[SCORE], w.real[POWER]
    outside = 0
    for i in range(w.rows):
        for lane in range(LANES):
            x = alpha * (score[i * LANES + lane] - score[lane])
            power[i * LANES + lane] = min(x, LARGEST_EXPONENT) if i < w.size[lane] else -math.inf
            outside += 1 if abs(x) > LARGEST_EXPONENT else 0
    width = strided(w.rows * LANES)
    for i in range(w.rows * LANES, width):  # the remainder of a loop may be rounded differently
        power[i] = -math.inf
    exponentials(power, w.real[DECAY], width)
    return outside == 0


def pairs_in_lanes(of_pair: Function, *, ranked: bool = False, sized: bool = False) -> Function:
    """Return a compiled function that sums over the pairs of a group.

    Parameters
    ----------
    of_pair : function
        As in `near_field`.
    ranked : bool, default False
        Whether OWN and TOP have been written; else they are 1.
    sized : bool, default False
        Whether SIZE is to be written.

    Returns
    -------
    ``add(alpha, w)``
        Writes sums over the pairs of a group: of the pulls, added for the better document and
        subtracted for the worse one, and of the bends.
    """
    of_two = jit_disjoint(bind(_of_two, of_pair=jit_disjoint(of_pair)))
    document = jit_inline(bind(_document, ranked=ranked))
    run = jit_disjoint(bind(_run, document=document, of_two=of_two, sized=sized))
    run_apart = jit_helper(bind(_run_apart, document=document, of_two=of_two))
    add: Function = jit_helper(bind(_add, run=run, run_apart=run_apart))
    return add


# Placeholders: `bind` replaces them for the functions below.
of_pair = document = of_two = run = run_apart = _unbound
ranked = sized = False


def _of_two(one: Document, other: Document) -> tuple[float, float]:
    """Return the pull that `other` receives and the bend, by `of_pair`."""
    up = other.worth > one.worth
    decays = (one.decay, other.decay) if up else (other.decay, one.decay)
    worths = min(one.worth, other.worth), max(one.worth, other.worth)
    # Swapping score, own or top between the two makes no difference.
    worse = Document(decays[0], one.score, worths[0], one.own, one.top)
    better = Document(decays[1], other.score, worths[1], other.own, other.top)
    pull, bend = of_pair(worse, better)
    return pull if up else -pull, bend


def _document(
    i: int, decay: float, scores: Floats, worths: Floats, owns: Floats, tops: Floats
) -> Document:
    own, top = (owns[i], tops[i]) if ranked else (1.0, 1.0)
    return Document(decay, scores[i], worths[i], own, top)


def _run(
    rows: int,
    scores: Floats,
    worths: Floats,
    decays: Floats,
    owns: Floats,
    tops: Floats,
    pulls: Floats,
    pulls_before: Floats,
    sizes: Floats,
    bends: Floats,
    bends_before: Floats,
) -> None:
    for i in range(np.uint64(rows * LANES)):
        pulls[i], pulls_before[i], sizes[i] = 0.0, 0.0, 0.0
        bends[i], bends_before[i] = 0.0, 0.0
    for distance in range(np.uint64(1), np.uint64(rows)):
        shift = distance * np.uint64(LANES)
        for i in range(np.uint64(rows * LANES) - shift):
            j = i + shift
            one = document(i, decays[i], scores, worths, owns, tops)
            other = document(j, decays[j], scores, worths, owns, tops)
            pull, bend = of_two(one, other)
            if sized:
                sizes[i] += abs(pull)
            pulls[i] -= pull
            pulls_before[j] += pull
            bends[i] += bend
            bends_before[j] += bend


def _run_apart(lane: int, alpha: float, w: Lanes) -> None:
    """Do what `run` does in one lane, with exponentials for each pair."""
    scores, worths, owns, tops = w.real[SCORE], w.real[WORTH], w.real[OWN], w.real[TOP]
    end = w.size[lane] * LANES
    for i in range(lane, end, LANES):
        for row in range(int(PULL), int(N_REAL)):
            w.real[row, i] = 0.0
    for i in range(lane, end, LANES):
        for j in range(i + LANES, end, LANES):
            x = alpha * (scores[i] - scores[j])
            decays = math.exp(min(x, 0.0)), math.exp(min(-x, 0.0))
            one = document(i, decays[0], scores, worths, owns, tops)
            other = document(j, decays[1], scores, worths, owns, tops)
            pull, bend = of_two(one, other)
            w.real[SIZE, i] += abs(pull)
            w.real[PULL, i] -= pull
            w.real[PULL_BEFORE, j] += pull
            w.real[CURVATURE, i] += bend
            w.real[CURVATURE_BEFORE, j] += bend


def _add(alpha: float, w: Lanes) -> None:
    factorizable = _write_decays(alpha, w)
    real = w.real
    given = w.rows, real[SCORE], real[WORTH], real[DECAY], real[OWN], real[TOP]
    sums = real[PULL], real[PULL_BEFORE], real[SIZE], real[CURVATURE], real[CURVATURE_BEFORE]
    run(*given, *sums)
    for lane in range(0 if factorizable else LANES):
        farthest = 0.0
        for at in range(lane, w.size[lane] * LANES, LANES):
            farthest = max(farthest, abs(alpha * (real[SCORE, at] - real[SCORE, lane])))
        if farthest > LARGEST_EXPONENT:
            run_apart(lane, alpha, w)


@jit_helper
def write_derivatives(
    slope: float, bend: float, hessian: int, w: Lanes, grad: Floats, hess: Floats
) -> None:
    """Write gradients and Hessians from the sums of a group, times its queries' factors."""
    pulls, pulls_before = w.real[PULL], w.real[PULL_BEFORE]
    bends, bends_before = w.real[CURVATURE], w.real[CURVATURE_BEFORE]
    for lane in range(LANES):
        first, factor = w.first[lane], w.of_query[FACTOR, lane]
        for i in range(w.size[lane]):
            at = i * LANES + lane
            grad[first + i] = slope * factor * (pulls[at] + pulls_before[at])
            value = bend * factor * (bends[at] + bends_before[at])
            hess[first + i] = 1.0 if hessian == CONSTANT else max(value, HESSIAN_FLOOR)


@jit_ordered
def write_totals(w: Lanes) -> None:
    """Write TOTAL and SPREAD of every query; sums keep their order, as in `_write_discounts`."""
    total, spread = w.of_query[TOTAL], w.of_query[SPREAD]
    sizes, scores = w.real[SIZE], w.real[SCORE]
    for lane in range(LANES):
        total[lane], spread[lane] = 0.0, 0.0
    for i in range(w.rows):
        for lane in range(LANES):
            at = i * LANES + lane
            if i < w.size[lane]:
                total[lane] += sizes[at]
                spread[lane] = max(spread[lane], abs(scores[at] - scores[lane]))


@jit_helper
def pairs_of_query(lane: int, w: Lanes) -> int:
    """Return the number of pairs of different worth in a query."""
    pairs = 0
    end = w.size[lane] * LANES
    for i in range(lane, end, LANES):
        for j in range(lane, i, LANES):
            pairs += 1 if w.real[WORTH, i] != w.real[WORTH, j] else 0
    return pairs
