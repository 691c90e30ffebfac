"""Scratch for the sigmoid losses: the documents of a batch of queries in named columns.

A query of up to `Tuning.direct` documents is one block. Its documents are sorted by ascending
worth, so that `pairs` visits each pair once. Blocks of up to `BLOCK` documents are processed in
batches: they are stored side by side, so that loops over documents run over hundreds at once. A
longer query is a batch of its own. Beyond `Tuning.direct` documents it is sorted by descending
score, for `parts` to divide.

Each block is padded to whole vectors, so that loops over its documents have no remainder. Padding
is infinitely far below all documents and worth less, so it contributes nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .gains import Discount, rank_discount
from .jit import jit_helper, jit_ordered
from .order import all_equal, write_order, write_rising_order
from .vector import STRIDE, aligned, exponentials, padded, strided

BLOCK = 64
# Documents of a batch of short queries: scratch for this many stays in the fastest cache.
BATCH = 512
# e^-150 is 7e-66: products of four such numbers, and 1 over them, keep full precision.
LARGEST_EXPONENT = 150.0
# The score of padding: infinitely far below, but infinity times 0 would be NaN.
LOWEST = -1e200

# More documents than a query can have.
UNLIMITED = 1 << 62

# Which pairs count: those of documents of different worth; also those of equal worth, unless it is
# the query's lowest; or all. `ONE` ignores worth.
DIFFERENT, TO_HIGHER, ALL, ONE = range(4)

# Columns of `Columns.real`: per document of the batch,
(
    SCORE,
    WORTH,  # gain / ideal DCG, or grade
    OWN,  # what a document contributes to its pairs
    COUNTS,  # 1 if its pairs count whatever the other document is, else 0
    LEVEL,  # of a pair, the document of the higher level is the better one; of a long query, 0..
    RANK,  # smooth rank
    POWER,
    PULL,
    CURVATURE,
    # per block,
    TOP,  # best score
    BOTTOM,  # worst score
    TOTAL,  # sum of all pulls
    CUT,  # rank at which the query is cut off
    PAIRS,  # number of pairs of different worth, if sums are divided by it
    # for one query,
    KEY,  # gain of each document
    # and again per document.
    DECAY,  # e^{rate (s - top of the block)}; for the far field,
    FAR,  # e^{rate (bottom of the block - s)}, and six columns for other rates
    SENT,  # four columns
    RECEIVED,  # four columns
    N_REAL,
) = np.array([*range(17), 23, 27, 31], np.int64)
# Columns of `Columns.whole`: per document of the batch,
(
    DOCUMENT,  # its row in the data; in a part of a query, its column in the query
    PLACE,  # rank - 1
    # per block,
    BEGIN,  # first column
    SIZE,  # documents
    FACTORIZABLE,  # whether ratios of DECAY are accurate
    # and for one query.
    SPARE,  # five columns
    N_WHOLE,
) = np.array([*range(6), 10], np.int64)


class Columns(NamedTuple):
    """Scratch for a batch. Kernels name the columns they use in their first lines."""

    real: Floats
    whole: Integers


class Tuning(NamedTuple):
    """Where one way of summing takes over from another; all agree."""

    direct: int = 640  # documents of the longest query that is one block
    block: int = 128  # documents per block of the far field, a multiple of `STRIDE`: no padding
    part: int = 384  # documents of the smallest parts of several grades
    parts: int = 16  # parts of several grades at a time
    levels: int = 32  # up to so many grades are parts of their own,
    documents: int = 24  # if they have at least so many documents on average


# Where smooth ranks come first, pairs are visited twice, and those of one grade, too.
RANKED = Tuning(direct=320, block=96)
# The fit of `norm` has more terms, so longer blocks and all pairs of longer queries pay.
MANY_TERMS = Tuning(direct=1536, block=256)


class Rules(NamedTuple):
    """The parameters of a sigmoid loss, as its kernels take them."""

    rate: float = 1.0  # sigma or alpha: pairs depend on e^{rate (s_i - s_j)}
    grad_factor: float = -1.0  # gradients are this times the sums over pairs
    hess_factor: float = 1.0
    by_gain: bool = False  # whether WORTH is the gain; else it is the grade
    normalize: bool = False  # by the ideal DCG, or by the number of pairs
    k: int = 0  # cut-off of the ideal DCG and of smooth ranks, 0 for none
    top: int = 0  # truncation: documents at this rank or above have COUNTS 1, 0 for all
    sort: bool = False  # whether PLACE is used
    pairs: int = DIFFERENT
    ranked: bool = False  # whether smooth ranks come first
    offset: float = 0.0  # pairs are divided by this plus |s_i - s_j|, unless it is 0
    beta: float = 1.0
    discount: Discount = Discount(0, np.zeros(1))
    ideal: Discount = Discount(0, np.zeros(1))  # of the ideal DCG
    tuning: Tuning = Tuning()


class Batch(NamedTuple):
    """What `pack` writes."""

    blocks: int
    columns: int
    long: bool  # one query, sorted by score, for `parts`


def new_columns(longest: int, *, far: bool = True) -> Columns:
    """Return scratch wide enough for any batch of queries of up to `longest` documents.

    With `far`, it has the columns of the far field.
    """
    width = -(-max(longest, BATCH) // STRIDE) * STRIDE + STRIDE
    rows = N_REAL if far else FAR
    # As one block: several would go back to the system after each call, and new ones are slow.
    block = aligned(int(rows + N_WHOLE), width)
    real, whole = block[:rows], block[rows:].view(np.int64)
    real[:, : BATCH + STRIDE], whole[:, : BATCH + STRIDE] = 0.0, 0
    return Columns(real, whole)


@jit_helper
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


@jit_ordered
def _product(scale: float, key: float) -> float:
    """Return the same for the same key: the compiler must not divide by 1/scale in some of them."""
    return scale * key


@jit_helper
def pack(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    p: Rules,
    w: Columns,
) -> Batch:
    """Write the documents of a batch into columns; queries with nothing to rank are left out."""
    score, worth, own, level = w.real[SCORE], w.real[WORTH], w.real[OWN], w.real[LEVEL]
    counts, key, spare = w.real[COUNTS], w.real[KEY], w.real[POWER]
    document, place = w.whole[DOCUMENT], w.whole[PLACE]
    ranks, by_score, by_worth = w.whole[SPARE], w.whole[SPARE + 1], w.whole[SPARE + 2]
    work = w.whole[SPARE + 3 :]
    blocks, columns = 0, 0
    long = False
    for q in range(first, last):
        n = boundaries[q + 1] - boundaries[q]
        row, begin = np.uint64(boundaries[q]), np.uint64(columns)
        for i in range(np.uint64(n)):
            key[i] = labels[row + i]
        if all_equal(key[:n]):
            continue
        long = n > p.tuning.direct
        write_rising_order(key, n, by_worth, work, spare)
        ideal = 0.0 if p.by_gain and p.normalize else 1.0
        cut = min(p.k, n) if p.k > 0 else n
        for rank in range(cut if ideal == 0.0 else 0):
            ideal += key[by_worth[n - 1 - rank]] * rank_discount(p.ideal, n, rank + 1)
        if ideal == 0.0:  # the discounts are a table that begins with zeros
            continue
        scale = 1.0 / ideal
        if long or p.sort:
            for i in range(np.uint64(n)):
                spare[i] = scores[row + i]
            write_order(spare, n, by_score, work)
            for rank in range(n):
                ranks[by_score[rank]] = rank
        for i in range(np.uint64(n)):
            d, column = np.uint64(by_score[i] if long else by_worth[i]), begin + i
            document[column] = row + d
            score[column], worth[column] = scores[row + d], _product(scale, key[d])
            own[column], counts[column], level[column] = 1.0, 1.0, key[d]
        for i in range(np.uint64(n if p.sort else 0)):
            d, column = np.uint64(by_score[i] if long else by_worth[i]), begin + i
            place[column] = ranks[d]
            counts[column] = 1.0 if p.top == 0 or ranks[d] < p.top else 0.0
        rising, below = 0.0, math.inf
        for i in range(np.uint64(n if long or p.pairs != DIFFERENT else 0)):
            d = np.uint64(by_worth[i])
            rising += 1.0 if key[d] > below else 0.0
            below = key[d]
            column = begin + (np.uint64(ranks[d]) if long else i)
            alone = not long and (rising > 0.0 or p.pairs != TO_HIGHER)
            level[column] = float(i) if alone else rising
        w.whole[BEGIN, blocks], w.whole[SIZE, blocks] = columns, n
        w.real[CUT, blocks] = float(p.k)
        pairs, lower = 0, 0
        for i in range(1, n if p.normalize and not p.by_gain else 0):
            lower = i if key[by_worth[i]] > key[by_worth[i - 1]] else lower
            pairs += lower
        w.real[TOTAL, blocks], w.real[PAIRS, blocks] = 0.0, float(pairs)
        w.real[TOP, blocks] = scores[row]  # any score will do where nothing is sorted
        blocks += 1
        write_padding(columns + n, columns + padded(n), w)
        columns += padded(n)
    write_padding(int(columns), strided(int(columns)), w)  # read by loops over whole columns
    return Batch(blocks, columns, long)


@jit_helper
def write_padding(begin: int, end: int, w: Columns) -> None:
    """Write documents infinitely far below all others, and worth less."""
    for column in range(np.uint64(begin), np.uint64(end)):
        w.real[SCORE, column], w.real[WORTH, column] = LOWEST, 0.0
        w.real[LEVEL, column] = -math.inf
        w.real[OWN, column], w.real[COUNTS, column] = 0.0, 0.0
        w.real[PULL, column], w.real[CURVATURE, column], w.real[RANK, column] = 0.0, 0.0, 1.0


@jit_helper
def write_decays(blocks: int, columns: int, rate: float, w: Columns) -> None:
    """Write every block's exponentials; their ratios are exponentials of score differences."""
    scores, powers, tops = w.real[SCORE], w.real[POWER], w.real[TOP]
    for m in range(blocks):
        first, top = np.uint64(w.whole[BEGIN, m]), tops[m]
        outside = 0
        for i in range(np.uint64(w.whole[SIZE, m])):
            x = rate * (scores[first + i] - top)
            powers[first + i] = min(x, LARGEST_EXPONENT)
            outside += 1 if abs(x) > LARGEST_EXPONENT else 0
        for i in range(np.uint64(w.whole[SIZE, m]), np.uint64(padded(w.whole[SIZE, m]))):
            powers[first + i] = -math.inf
        w.whole[FACTORIZABLE, m] = 1 if outside == 0 else 0
    for i in range(np.uint64(columns), np.uint64(strided(columns))):
        powers[i] = -math.inf
    exponentials(powers, w.real[DECAY], strided(columns))
