"""Scratch for the sigmoid losses: the documents of a batch of queries in named columns.

A query of up to `BLOCK` documents is one block. Such queries are processed in batches: they are
stored side by side, so that loops over documents run over hundreds at once. A longer query is a
batch of its own. Where the far field (`far_field`) is used, the query is sorted and cut into
blocks, and the documents of one level, a distinct gain, are contiguous in each block. They are also
contiguous in a longer query that stays one block (`near_field`).

Each query is padded to whole lanes, so that loops over its documents have no remainder. Padding is
infinitely far below all documents and worth less, so it contributes nothing.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .gains import COUNTED, Discount, copy_gains
from .jit import Function, bind, jit_helper, jit_inline, jit_shared
from .order import all_equal, count_levels, count_pairs, merged_order, write_long_order
from .vector import STRIDE, aligned, exponentials, padded, strided

BLOCK = 64
WIDE_BLOCK = 128  # where pairs inside a block are taken by worth, which is cheaper
DIRECT_UP_TO = 400  # documents up to which pairs by worth take less time than wide blocks
# Columns of a batch of short queries: scratch for this many documents stays in the fastest cache.
BATCH = 512
# Each level has its own sums in the far field. With more levels than this, or fewer documents per
# level, all pairs one by one are faster.
MAX_LEVELS = 32
DOCUMENTS_PER_LEVEL = 24
# Lists of one block are sorted by worth up to this many documents. Longer ones stay sorted by
# score, as `dominance` needs. Up to `BLOCK` documents, sorting by worth costs more than it saves.
BY_WORTH_UP_TO = 1024
# e^-150 is 7e-66: products of four such numbers, and 1 over them, keep full precision.
LARGEST_EXPONENT = 150.0
# More documents than a query can have.
UNLIMITED = 1 << 62


# Columns of `Columns.real`: per document of the batch,
(
    SCORE,
    WORTH,  # gain / ideal DCG, or grade
    OWN,  # what a document contributes to its pairs
    RANK,  # smooth rank
    FROM_TOP,  # e^{alpha (s - top of the block)}
    TO_BOTTOM,  # e^{alpha (bottom of the block - s)}
    POWER,
    PULL,
    CURVATURE,
    # per block,
    TOP,  # best score
    BOTTOM,  # worst score
    UNIT,  # 1 / ideal DCG
    CUT,  # rank at which the query is cut off
    # and for one query.
    KEY,  # gain of each document
    LEVEL,  # distinct gains, ascending
    N_REAL,
) = range(16)
# Columns of `Columns.whole`: per document of the batch,
(
    DOCUMENT,  # its row in the data
    PLACE,  # rank - 1, in a sorted query
    # per block,
    QUERY,
    BEGIN,  # first column
    SIZE,  # documents
    FACTORIZABLE,  # whether ratios of FROM_TOP are accurate
    # and for one query.
    EDGES,  # where its blocks begin
    COUNTS,
    SPARE,  # two columns
) = range(9)
N_WHOLE = SPARE + 2


class Columns(NamedTuple):
    """Scratch for a batch. Kernels name the columns they use in their first lines."""

    real: Floats
    whole: Integers


class Packing(NamedTuple):
    """How queries become columns, as far as parameters decide it."""

    k: int  # cut-off of the ideal DCG, 0 for none
    normalize: bool
    direct_up_to: int  # documents in the longest query that stays one block
    split_at: int  # a block begins after this rank, 0 for none
    discount: Discount  # of the ideal DCG
    block: int  # documents per block of the far field


class Batch(NamedTuple):
    """What `pack` returns for a batch."""

    blocks: int
    columns: int
    runs: Integers  # (blocks, levels + 1) columns where each level begins; one row if no far field
    spans_blocks: bool  # one long query in many blocks, rather than a block per query


def new_columns(longest: int) -> Columns:
    """Return scratch wide enough for any batch of queries of up to `longest` documents."""
    width = -(-max(longest, BATCH) // STRIDE) * STRIDE + STRIDE
    real, whole = aligned(N_REAL, width), np.empty((N_WHOLE, width), np.int64)
    # The columns of a long query are written before they are read.
    real[:, : BATCH + STRIDE], whole[:, : BATCH + STRIDE] = 0.0, 0
    return Columns(real, whole)


@jit_inline
def batch_end(first: int, last: int, boundaries: Integers) -> int:
    """Return where the batch from `first` on ends: one long query, or short ones that fit."""
    columns = 0
    for q in range(first, last):
        n = boundaries[q + 1] - boundaries[q]
        columns += padded(n)
        if q > first and (n > BLOCK or columns > BATCH):
            return q
        if n > BLOCK:
            return q + 1
    return last


@cache
def packer(*, by_gain: bool, by_level: bool, sort: bool, long: bool) -> Function:
    """Return a compiled function that writes the documents of a batch into columns.

    Parameters
    ----------
    by_gain : bool
        Whether WORTH is the gain over the ideal DCG; else it is the grade.
    by_level : bool
        Whether the documents of a block are grouped by level.
    sort : bool
        Whether queries of one block are sorted by score too.
    long : bool
        Whether queries may be cut into blocks.

    Returns
    -------
    ``pack(first, last, boundaries, scores, labels, packing, w) -> Batch``
        Queries with nothing to rank are left out.
    """
    pack: Function = jit_shared(
        bind(_pack, by_gain=by_gain, by_level=by_level, sort=sort, long=long)
    )
    return pack


by_gain = by_level = sort = long = False  # bound above


def _pack(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    packing: Packing,
    w: Columns,
) -> Batch:
    score, worth, own, rank = w.real[SCORE], w.real[WORTH], w.real[OWN], w.real[RANK]
    top, bottom, unit = w.real[TOP], w.real[BOTTOM], w.real[UNIT]
    key, levels, spare = w.real[KEY], w.real[LEVEL], w.real[POWER]
    document, place = w.whole[DOCUMENT], w.whole[PLACE]
    query, begin, size = w.whole[QUERY], w.whole[BEGIN], w.whole[SIZE]
    runs = np.empty((1, 2), np.int64)
    blocks, columns = 0, 0
    for q in range(first, last):
        a, n = boundaries[q], boundaries[q + 1] - boundaries[q]
        scale = 1.0
        if by_gain:
            k = packing.k if packing.k > 0 else n
            ideal = copy_gains(labels[a : a + n], k, packing.discount, key, w.whole[COUNTS])
            if ideal == 0.0:
                continue
            scale = 1.0 / ideal if packing.normalize else 1.0
        else:
            if all_equal(labels[a : a + n]):
                continue
            for i in range(n):
                key[i] = labels[a + i]
        highest = lowest = scores[a]  # any score will do where nothing is sorted
        n_levels = 0
        if long and n > packing.direct_up_to:
            n_levels = 1
            if by_level:
                n_levels = far_levels(key[:n], levels, w.whole[COUNTS])
        leading = min(packing.split_at, n) if packing.split_at > 0 else n
        by_score = sort or (long and n > packing.direct_up_to)
        by_worth = by_level and n_levels == 0 and is_by_worth(n, leading)
        # The names bound above come first: where they are false, the rest is not compiled.
        if (sort or long or by_level) and (by_score or by_worth):
            order = document[columns:]
            for i in range(n):
                spare[i] = scores[a + i]
                place[columns + i] = i
            if (sort or long) and by_score:
                write_long_order(spare, n, order, w.whole[SPARE:])
                highest, lowest = scores[a + order[0]], scores[a + order[n - 1]]
            else:
                for i in range(n):
                    order[i] = i
            if by_level and by_worth:
                _order_by_worth(leading, key, order, place[columns:], spare, w.whole[SPARE:])
            if long and n_levels > 0:
                levels_of = levels[:n_levels] if by_level else levels[:0]
                runs = _write_blocks(q, scale, n, leading, packing.block, levels_of, scores[a:], w)
                blocks = len(runs)
            for column in range(columns, columns + n):
                i = document[column]
                document[column] = a + i
                score[column] = scores[a + i]
                worth[column] = scale * key[i]
                own[column] = 1.0
        else:
            for i in range(n):
                document[columns + i] = a + i
                score[columns + i] = scores[a + i]
                worth[columns + i] = scale * key[i]
        if n_levels == 0:
            query[blocks], unit[blocks], begin[blocks], size[blocks] = q, scale, columns, n
            top[blocks], bottom[blocks] = highest, lowest
            blocks += 1
        _write_padding(columns + n, columns + padded(n), w)
        columns += padded(n)
    for column in range(columns, strided(int(columns))):  # read by loops over whole columns
        worth[column], own[column], rank[column], spare[column] = 0.0, 0.0, 1.0, 0.0
    return Batch(blocks, columns, runs, len(runs) > 1)


@jit_inline
def _write_padding(begin: int, end: int, w: Columns) -> None:
    """Write documents infinitely far below all others, and worth less."""
    for column in range(begin, end):
        w.real[SCORE, column] = -math.inf
        w.real[WORTH, column] = -1.0
        w.real[OWN, column] = 0.0
        w.real[RANK, column] = 1.0


@jit_inline
def is_by_worth(n: int, leading: int) -> bool:
    """Return whether the `leading` best of a block's n documents are sorted by ascending worth.

    In the far field they always are, level by level.
    """
    return leading > BLOCK and (n <= BY_WORTH_UP_TO or leading <= BY_WORTH_UP_TO // 2)


@jit_helper
def query_columns(w: Columns, batch: Batch, m: int) -> tuple[int, int]:
    """Return the columns where the query whose first block is m begins and ends."""
    last = batch.blocks - 1 if batch.spans_blocks else m
    return w.whole[BEGIN, m], w.whole[BEGIN, last] + w.whole[SIZE, last]


@jit_inline
def average_over_pairs(w: Columns, batch: Batch) -> None:
    """Divide each query's PULL and CURVATURE by its number of pairs; WORTH holds grades."""
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        pairs = count_pairs(w.real[WORTH, a:b])
        for column in range(a, b):
            w.real[PULL, column] /= pairs
            w.real[CURVATURE, column] /= pairs


@jit_inline
def far_levels(gains: Floats, levels: Floats, counts: Integers) -> int:
    """Do what `count_levels` does; return 0 too if they are too many for the far field."""
    most = min(MAX_LEVELS, len(gains) // DOCUMENTS_PER_LEVEL)
    return count_levels(gains, levels[:most], counts)


@jit_helper
def _block_edges(n: int, split_at: int, block: int, edges: Integers) -> int:
    """Write where blocks begin, then n; one begins at `split_at`. Return the number of blocks."""
    blocks = 0
    begin = 0
    while begin < n:
        edges[blocks] = begin
        blocks += 1
        end = begin + block
        begin = split_at if begin < split_at < end else end
    edges[blocks] = n
    return blocks


@jit_helper
def _order_by_worth(
    n: int, worths: Floats, order: Integers, places: Integers, spare: Floats, work: Integers
) -> None:
    """Sort the first n documents of `order` by ascending worth; equal ones keep their order.

    `places` is rewritten, `worths` is by document. `spare` and the two rows of `work` are scratch.
    """
    moved, counts = work[0], work[1]
    for grade in range(COUNTED + 1):
        counts[grade] = 0
    others = 0
    for i in range(n):
        worth = worths[order[i]]
        grade = int(min(worth, COUNTED - 1.0))
        counts[grade + 1] += 1
        others += 1 if grade != worth else 0
        moved[i] = order[i]
    if others == 0:
        for grade in range(COUNTED):
            counts[grade + 1] += counts[grade]
        for i in range(n):
            grade = int(worths[moved[i]])
            at = counts[grade]
            counts[grade] += 1
            order[at], places[at] = moved[i], i
        return
    for i in range(n):
        spare[i] = -worths[order[i]]
    by_worth = merged_order(spare[:n])
    for i in range(n):
        order[i], places[i] = moved[by_worth[i]], by_worth[i]


@jit_helper
def _write_blocks(
    q: int,
    unit: float,
    n: int,
    split_at: int,
    block: int,
    levels: Floats,
    scores: Floats,
    w: Columns,
) -> Integers:
    """Cut query q, of n sorted documents, into blocks; return `Batch.runs`.

    Each block's documents are grouped by level, if there are levels. `scores` are the query's.
    """
    order, edges = w.whole[DOCUMENT], w.whole[EDGES]
    blocks = _block_edges(n, split_at, block, edges)
    runs = np.empty((blocks, max(1, len(levels)) + 1), np.int64)
    for m in range(blocks):
        a, b = edges[m], edges[m + 1]
        w.whole[QUERY, m], w.whole[BEGIN, m], w.whole[SIZE, m] = q, a, b - a
        w.real[UNIT, m] = unit
        w.real[TOP, m], w.real[BOTTOM, m] = scores[order[a]], scores[order[b - 1]]
        runs[m, 0], runs[m, 1] = a, b
    if len(levels) > 0:
        _group_levels(order, w.real[KEY], levels, edges, w.whole[PLACE], runs)
    return runs


@jit_helper
def _group_levels(
    order: Integers,
    gains: Floats,
    levels: Floats,
    edges: Integers,
    places: Integers,
    runs: Integers,
) -> None:
    """Group the documents of every block by level, and write where each level begins.

    `order` and `places` are rewritten, `gains` is by document.
    """
    blocks, known = len(runs), len(levels)
    level_of = np.empty(WIDE_BLOCK, np.int64)
    documents = np.empty(WIDE_BLOCK, np.int64)
    for m in range(blocks):
        a, b = edges[m], edges[m + 1]
        counts = runs[m]
        for level in range(known):
            counts[level] = 0
        for i in range(b - a):
            gain = gains[order[a + i]]
            level = 0
            while levels[level] != gain:
                level += 1
            level_of[i] = level
            documents[i] = order[a + i]
            counts[level] += 1
        begin = a
        for level in range(known):
            begin += counts[level]
            counts[level] = begin - counts[level]
        for i in range(b - a):
            place = counts[level_of[i]]
            counts[level_of[i]] += 1
            order[place] = documents[i]
            places[place] = a + i
        for level in range(known, 0, -1):
            counts[level] = counts[level - 1]
        counts[0] = a


@jit_helper
def write_decays(w: Columns, batch: Batch, alpha: float) -> None:
    """Write every block's exponentials; their ratios are exponentials of score differences."""
    begin, size, factorizable = w.whole[BEGIN], w.whole[SIZE], w.whole[FACTORIZABLE]
    tops, bottoms, scores, powers = w.real[TOP], w.real[BOTTOM], w.real[SCORE], w.real[POWER]
    from_top, to_bottom = w.real[FROM_TOP], w.real[TO_BOTTOM]
    for m in range(batch.blocks):
        factorizable[m] = exponents(scores, powers, begin[m], size[m], alpha, tops[m])
    exponentials(powers, from_top, strided(batch.columns))
    for m in range(batch.blocks if batch.spans_blocks else 0):
        first = np.uint64(begin[m])
        if factorizable[m] != 0:
            span = math.exp(-alpha * (tops[m] - bottoms[m]))
            for i in range(np.uint64(size[m])):
                to_bottom[first + i] = span / from_top[first + i]
        else:
            for i in range(np.uint64(size[m])):
                to_bottom[first + i] = math.exp(-alpha * (scores[first + i] - bottoms[m]))


@jit_helper
def exponents(scores: Floats, out: Floats, begin: int, n: int, alpha: float, top: float) -> bool:
    """Write alpha (s_i - top), at most 150, for n scores, and minus infinity into their padding.

    Returns whether ratios of e to these powers are accurate. `top` is the largest score or, where
    only ratios are used, any score.
    """
    # Unsigned counters: an index that may be negative prevents vectorisation. And no slices: one
    # takes as long as ten documents.
    first = np.uint64(begin)
    outside = 0
    for i in range(np.uint64(n)):
        x = alpha * (scores[first + i] - top)
        out[first + i] = min(x, LARGEST_EXPONENT)
        outside += 1 if abs(x) > LARGEST_EXPONENT else 0
    for i in range(np.uint64(n), np.uint64(padded(n))):
        out[first + i] = -math.inf
    return outside == 0
