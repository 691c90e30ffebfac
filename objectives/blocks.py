r"""Sums over all pairs of a list, in time that grows with its length and not with its square.

The documents of a query stand in order of descending score, in blocks of `BLOCK`. Pairs inside a
block are summed one by one, without an exponential each: with E_i = e^{alpha (s_i - s_top)},

    1/(1 + e^{alpha (s_i - s_j)}) = E_j / (E_i + E_j).

Between blocks, the logistic function of a difference x >= 0 is a sum of decaying exponentials:

    1/(1 + e^x) = z/(1 + z) = sum_k c_k z^k,  z = e^{-x},  k = 1..`TERMS`                     (*)

with c the coefficients of the Chebyshev interpolation of 1/(1 + z) on [0, 1], off by 4e-14 at most;
its slope -d/dx, sum_k k c_k z^k, is off by 1e-11. What a document receives from all blocks above
its own, sum_j w_j z_ij^k with z_ij = e^{-alpha (s_j - s_i)}, is then one number for each k, carried
from block to block: every factor is at most 1, so nothing overflows for any scores, and what
underflows is nothing.

A query of at most `BLOCK` documents is one block, which need not be sorted. Such queries are worked
on in batches: they stand side by side in the columns of scratch, and what is done document by
document is done to hundreds at once. A longer query is a batch of its own.

The columns of a block are padded to whole lanes: E = 0 behind its last document contributes
nothing, and loops over a multiple of `LANES` have no remainder to do one by one.
"""

import math

import numpy as np

from .numerics import STRIDE, kernel, padded, part, step, strided
from .validation import Floats, Integers

BLOCK = 64
# Columns of a batch of short queries: scratch of so many documents stays in the fastest memory.
BATCH = 512

# e^-150 is 7e-66: products of four such numbers, and 1 over them, keep all their digits.
LARGEST_EXPONENT = 150.0

TERMS = 18
# The c_k of (*): tests compute them again.
LOGISTIC = np.array(
    [
        0.9999999999999668,
        -0.9999999999784548,
        0.9999999976623319,
        -0.999999898841089,
        0.9999976753631233,
        -0.9999672384203038,
        0.9996914612717265,
        -0.9979458828367758,
        0.9899453150099184,
        -0.9627538426572009,
        0.8932009186391967,
        -0.7583103993315524,
        0.5598844904949453,
        -0.34008963762978045,
        0.15983459956575632,
        -0.05375347371658353,
        0.011406572671954064,
        -0.0011406572671954064,
    ]
)
SLOPE = LOGISTIC * np.arange(1.0, TERMS + 1.0)


@step
def scratch_width(first: int, last: int, boundaries: Integers) -> int:
    """Row length that serves every batch of these queries, with `STRIDE` of padding behind it."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, boundaries[q + 1] - boundaries[q])
    return max(strided(longest), BATCH) + STRIDE


@step
def scratch(n_rows: int, n_places: int, width: int) -> tuple[Floats, Integers, Integers]:
    """Return rows of zeros, the same as whole numbers, and rows of whole zeros."""
    rows = np.empty((n_rows + n_places, width))  # np.zeros takes longer to compile
    for row in range(n_rows + n_places):
        for column in range(width):
            rows[row, column] = 0.0
    bits = rows.view(np.int64)
    return rows[:n_rows], bits[:n_rows], bits[n_rows:]


@step
def batch_end(first: int, last: int, boundaries: Integers) -> int:
    """Query behind the batch that begins with `first`: one long query, or short ones that fit."""
    columns = 0
    for q in range(first, last):
        n = boundaries[q + 1] - boundaries[q]
        columns += padded(n)
        if q > first and (n > BLOCK or columns > BATCH):
            return q
        if n > BLOCK:
            return q + 1
    return last


@part
def exponents(
    rows: Floats, scores: int, out: int, begin: int, n: int, alpha: float, top: float
) -> bool:
    """Write alpha (s_i - top), cut at 150, of n scores into row `out`, and -inf into its padding.

    Returns whether ratios of e to these powers keep their digits. `top` is the largest score, or,
    where they serve for ratios only, any of them.
    """
    first = np.uint64(begin)
    outside = 0
    for i in range(np.uint64(n)):
        x = alpha * (rows[scores, first + i] - top)
        rows[out, first + i] = min(x, LARGEST_EXPONENT)
        outside += 1 if abs(x) > LARGEST_EXPONENT else 0
    for i in range(np.uint64(n), np.uint64(padded(n))):
        rows[out, first + i] = -math.inf
    return outside == 0


@part
def to_bottom(
    rows: Floats,
    scores: int,
    down: int,
    up: int,
    begin: int,
    n: int,
    alpha: float,
    top: float,
    bottom: float,
    ratios: bool,
) -> None:
    """Write e^{alpha (s_bottom - s_i)} into row `up`, from row `down` where its `ratios` serve."""
    first = np.uint64(begin)
    if ratios:
        span = math.exp(-alpha * (top - bottom))
        for i in range(np.uint64(n)):
            rows[up, first + i] = span / rows[down, first + i]
    else:
        for i in range(np.uint64(n)):
            rows[up, first + i] = math.exp(-alpha * (rows[scores, first + i] - bottom))


@part
def decay(sums: Floats, z: float) -> None:
    """Multiply the k-th sum by z^k."""
    power = 1.0
    for k in range(TERMS):
        power *= z
        sums[k] *= power


@part
def include(weights: Floats, z: Floats, powers: Floats, sums: Floats) -> None:
    """Add w_j z_j^k to the k-th sum."""
    for j in range(len(z)):
        powers[j] = weights[j]
    for k in range(TERMS):
        total = 0.0
        for j in range(len(z)):
            power = powers[j] * z[j]
            powers[j] = power
            total += power
        sums[k] += total


@kernel
def series(coefficients: Floats, z: float) -> float:
    """sum_k coefficients_k z^k, k from 1."""
    value = 0.0
    for k in range(TERMS):
        value = value * z + coefficients[TERMS - 1 - k]
    return value * z


@part
def block_sums(
    weights: Floats,
    scores: Floats,
    alpha: float,
    down: Floats,
    up: Floats,
    powers: Floats,
    above: Floats,
    below: Floats,
) -> None:
    """Write what each block receives, sum_j w_j z^k from above and below, at its top and bottom.

    Scores descend; `above` and `below` have a row for each block.
    """
    last = len(above) - 1
    for k in range(TERMS):
        above[0, k] = 0.0
        below[last, k] = 0.0
    for m in range(last):
        a, b = m * BLOCK, (m + 1) * BLOCK
        sums = above[m + 1]
        for k in range(TERMS):
            sums[k] = above[m, k]
        decay(sums, down[b - 1])
        include(weights[a:b], up[a:b], powers, sums)
        decay(sums, math.exp(-alpha * (scores[b - 1] - scores[b])))
    for m in range(last, 0, -1):
        a, b = m * BLOCK, min((m + 1) * BLOCK, len(scores))
        sums = below[m - 1]
        for k in range(TERMS):
            sums[k] = below[m, k]
        decay(sums, down[b - 1])
        include(weights[a:b], down[a:b], powers, sums)
        decay(sums, math.exp(-alpha * (scores[a - 1] - scores[a])))


# Each distinct gain has sums of its own; beyond these many, or in lists that hold fewer documents
# of each, all pairs one by one are faster.
MAX_LEVELS = 32
DOCUMENTS_A_LEVEL = 24


@part
def distinct(gains: Floats, levels: Floats) -> int:
    """Write the distinct gains, ascending; return how many, or 0 where they are too many."""
    known = 0
    most = min(MAX_LEVELS, len(gains) // DOCUMENTS_A_LEVEL)
    for i in range(len(gains)):
        gain = gains[i]
        place = 0
        while place < known and levels[place] < gain:
            place += 1
        if place < known and levels[place] == gain:
            continue
        if known == most:
            return 0
        for later in range(known, place, -1):
            levels[later] = levels[later - 1]
        levels[place] = gain
        known += 1
    return known


@part
def block_edges(n: int, top: int, edges: Integers) -> int:
    """Write where blocks begin, and n; one begins at `top`. Return how many there are."""
    blocks = 0
    begin = 0
    while begin < n:
        edges[blocks] = begin
        blocks += 1
        end = begin + BLOCK
        begin = top if begin < top < end else end
    edges[blocks] = n
    return blocks


@part
def group_levels(
    order: Integers,
    gains: Floats,
    levels: Floats,
    edges: Integers,
    places: Integers,
    runs: Integers,
) -> None:
    """Bring the documents of one gain together in every block.

    `places` receives the rank - 1 of the document at each position; `runs` (blocks, levels + 1)
    where each level begins. `order` is rewritten, `gains` are by document.
    """
    blocks, known = len(runs), len(levels)
    level_of = np.empty(BLOCK, np.int64)
    documents = np.empty(BLOCK, np.int64)
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


@step
def grouped_blocks(
    scores: Floats,
    gains: Floats,
    levels: Floats,
    top: int,
    order: Integers,
    edges: Integers,
    places: Integers,
    tops: Floats,
    bottoms: Floats,
) -> Integers:
    """Cut one sorted query into blocks with equal gains side by side; return where each begins.

    `tops` and `bottoms` receive the first and the last score of every block; `top`, `edges` and
    `places` are those of `block_edges` and `group_levels`.
    """
    blocks = block_edges(len(scores), top, edges)
    runs = np.empty((blocks, len(levels) + 1), np.int64)
    for m in range(blocks):
        tops[m] = scores[order[edges[m]]]
        bottoms[m] = scores[order[edges[m + 1] - 1]]
    group_levels(order, gains, levels, edges, places, runs)
    return runs


@step
def clear(sums: Floats, known: int) -> None:
    """Begin with the sums of every level at zero; a slice takes longer to compile."""
    for both in range(2):
        for level in range(known):
            for k in range(TERMS):
                sums[both, level, k] = 0.0


@step
def include_both(
    weights: Floats, z: Floats, powers: Floats, sums: Floats, weighted: Floats
) -> None:
    """Add z_j^k to the k-th of `sums` and w_j z_j^k to that of `weighted`."""
    for j in range(len(z)):
        powers[j] = 1.0
    for k in range(TERMS):
        total = 0.0
        total_weighted = 0.0
        for j in range(len(z)):
            power = powers[j] * z[j]
            powers[j] = power
            total += power
            total_weighted += weights[j] * power
        sums[k] += total
        weighted[k] += total_weighted


@part
def carry(
    run: Integers,
    weights: Floats,
    z: Floats,
    powers: Floats,
    span: float,
    gap: float,
    sums: Floats,
) -> None:
    """Take the sums of every level through a block (`run`), and on to the edge of the next one.

    `sums[0]` are of ones, `sums[1]` of `weights`; `z` are decays to the edge at which the block is
    left, `span` that of the whole block, `gap` that to the next.
    """
    spans, gaps = np.empty(TERMS), np.empty(TERMS)
    spans[0], gaps[0] = span, gap
    for k in range(1, TERMS):
        spans[k] = spans[k - 1] * span
        gaps[k] = gaps[k - 1] * gap
    for level in range(len(run) - 1):
        a, b = run[level], run[level + 1]
        ones, weighted = sums[0, level], sums[1, level]
        for k in range(TERMS):
            ones[k] *= spans[k]
            weighted[k] *= spans[k]
        if a < b:
            include_both(weights[a:b], z[a:b], powers, ones, weighted)
        for k in range(TERMS):
            ones[k] *= gaps[k]
            weighted[k] *= gaps[k]
