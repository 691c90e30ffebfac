r"""Sums over all pairs of a list in linear time: a one-dimensional fast multipole scheme.

The documents of a query are sorted by descending score and cut into blocks (`columns`). Pairs
inside a block, the *near field* (`near_field`), are summed one by one, but without an exponential
for each: with E_i = e^{alpha (s_i - s_top)},

    1/(1 + e^{alpha (s_i - s_j)}) = E_j / (E_i + E_j).

Between blocks, in the *far field*, the logistic function of a difference x >= 0 is a sum of
decaying exponentials:

    1/(1 + e^x) = z/(1 + z) = sum_k c_k z^k,  z = e^{-x},  k = 1..`TERMS`                     (*)

with c the coefficients of the Chebyshev interpolation of 1/(1 + z) on [0, 1]. The sum is off by
4e-14 at most, and its slope -d/dx, sum_k k c_k z^k, by 1e-11. A document then needs only the
*moments* of the blocks above its own, sum_j z_ij^k and sum_j w_j z_ij^k: one number for each k and
level, carried from block to block. Here z_ij = e^{-alpha (s_j - s_i)}. Every factor is at most 1,
so nothing overflows for any scores, and what underflows is negligible. Sums agree with those over
pairs to 1e-10 of a query's largest gradient, and mostly to 1e-13.

A loss defines how it uses the moments by a table of numbers for each pair of levels (`new_table`).
Let a level have N documents on one side of a block, with W the sum of their w and D the sum of
their distances to its edge. A document in the block, with weight w_i, distance d_i to that edge
and decay z_i = e^{-alpha d_i}, receives

    sum over levels of (w_i A S0 + B S1) . phi(z_i) + w_i P N + Q W + R alpha (D + N d_i)    (**)

with S0 and S1 the moments without and with w, and phi the terms of the logistic function or of its
slope.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BOTTOM,
    CURVATURE,
    FROM_TOP,
    OWN,
    POWER,
    PULL,
    RANK,
    SCORE,
    TO_BOTTOM,
    TOP,
    Batch,
    Columns,
)
from .jit import Function, bind, jit_helper, jit_inline

TERMS = 18
# The c_k of (*): tests recompute them.
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

ABOVE, BELOW = 0, 1  # the side from which a document receives
# Numbers of (**) in a table [kind, side, level of the document, level of the others]. The first
# five give what is added to a column of the loss's choice, the others what `add_slopes` adds to
# CURVATURE.
(
    OWN_MOMENT,  # A
    OTHER_MOMENT,  # B
    OWN_COUNT,  # P
    OTHER_SUM,  # Q
    DISTANCE,  # R
    BEND_OWN_MOMENT,
    BEND_OTHER_MOMENT,
    BEND_OWN_COUNT,
    BEND_OTHER_SUM,
    BEND_DISTANCE,
) = range(10)


def new_table(levels: int) -> Floats:
    """Return a table of zeros for this many levels, to be filled for each query or once."""
    return np.zeros((10, 2, levels, levels))


def one_level_tables(levels: int) -> tuple[Floats, Floats]:
    """Return tables for smooth ranks where all documents are one level, whatever their gains.

    PULL receives w_i - w_j times the slope; of the bends, only the document's own is set.
    """
    ranks, pulls = new_table(1), new_table(1)
    ranks[OWN_MOMENT, ABOVE, 0, 0] = -1.0
    ranks[OWN_COUNT, ABOVE, 0, 0] = 1.0  # G(-x) = 1 - G(x)
    ranks[OWN_MOMENT, BELOW, 0, 0] = 1.0
    for side in range(2):
        pulls[OWN_MOMENT, side, 0, 0], pulls[OTHER_MOMENT, side, 0, 0] = 1.0, -1.0
        pulls[BEND_OWN_MOMENT, side, 0, 0] = 1.0
    return ranks, pulls


@cache
def pair_table(levels: int) -> Floats:
    """Return the table of sums over pairs of different level.

    For every pair, with i of the higher level, PULL receives G(alpha (s_i - s_j)) at i, and minus
    that at j. The table is made once, and nobody may write into it.
    """
    table = new_table(levels)
    higher = np.tri(levels, k=-1)  # 1 where the document's level is above the other's
    table[OWN_MOMENT, BELOW] = higher + higher.T
    table[OWN_MOMENT, ABOVE] = -table[OWN_MOMENT, BELOW]
    # A pair in the wrong order: 1 - G(|x|) in place of G(|x|).
    table[OWN_COUNT, ABOVE], table[OWN_COUNT, BELOW] = higher, -higher.T
    return table


def far_field(
    *, weighted: bool = True, opposed: bool = False, distant: bool = False
) -> tuple[Function, Function]:
    """Return two compiled functions for losses with smooth ranks.

    Parameters
    ----------
    weighted : bool, default True
        Whether the table of pulls uses the moments S1; else all w must be 1.
    opposed : bool, default False
        Whether the table of pulls uses moments only, and its bends differ only in the sign of B.
        This takes less time.
    distant : bool, default False
        Whether the table of ranks uses distances.

    Returns
    -------
    ``add_ranks(alpha, table, batch, w)``
        Adds to RANK what documents of other blocks contribute, by the logistic function. Its table
        does not use the moments S1.
    ``add_slopes(alpha, table, batch, w)``
        Adds to PULL and CURVATURE what they contribute, both by the slope.
    """
    sweep = _sweep_with(weighted=weighted, paired=False, opposed=opposed, distant=distant)
    add_far = jit_inline(bind(_add_far, sweep=sweep))
    ranks, slopes = (bind(add, add_far=add_far) for add in (_add_ranks, _add_slopes))
    return jit_inline(ranks), jit_inline(slopes)


def _sweep_with(*, weighted: bool, **kind: bool) -> Function:
    steps = {step.__name__[1:]: jit_helper(bind(step, weighted=weighted)) for step in _STEPS}
    sweep: Function = jit_helper(bind(_sweep, weighted=weighted, **kind, **steps))
    return sweep


# Placeholders: `bind` replaces them for the functions below. `paired` says whether bends are the
# slopes of the pulls: one polynomial then gives both.
_unbound: Any = None
add_far = sweep = combined = add = add_opposed = add_with_slopes = carry = _unbound
weighted = paired = opposed = distant = False


def _add_ranks(alpha: float, table: Floats, batch: Batch, w: Columns) -> None:
    if batch.spans_blocks:
        add_far(alpha, table, np.bool_(False), batch, w, RANK, batch.columns)


def _add_slopes(alpha: float, table: Floats, batch: Batch, w: Columns) -> None:
    if batch.spans_blocks:
        add_far(alpha, table, np.bool_(True), batch, w, PULL, batch.columns)


def _add_pairs(alpha: float, table: Floats, batch: Batch, w: Columns, top: int) -> None:
    if batch.spans_blocks:
        add_far(alpha, table, np.bool_(False), batch, w, PULL, top)


def _add_far(
    alpha: float,
    table: Floats,
    slopes: np.bool_,
    batch: Batch,
    w: Columns,
    column: int,
    top: int,
) -> None:
    """Run both sweeps."""
    levels = batch.runs.shape[1] - 1
    moments = np.empty((2, levels, TERMS))
    totals = np.empty((3, levels))  # of each level: documents, weights, distances to the edge
    out = w.real[column]
    for side in range(2):  # a loop, so that the sweep is compiled once for both
        sweep(side, alpha, table, slopes, top, batch.runs, w, out, moments, totals)


def _sweep(
    side: int,
    alpha: float,
    table: Floats,
    slopes: np.bool_,
    top: int,
    runs: Integers,
    w: Columns,
    out: Floats,
    moments: Floats,
    totals: Floats,
) -> None:
    """Go through the blocks from one side, with the moments of those already passed."""
    blocks, levels = len(runs), runs.shape[1] - 1
    from_top, to_bottom = w.real[FROM_TOP], w.real[TO_BOTTOM]
    near, far = (from_top, to_bottom) if side == ABOVE else (to_bottom, from_top)
    tops, bottoms, scores, weights = w.real[TOP], w.real[BOTTOM], w.real[SCORE], w.real[OWN]
    powers, curvature = w.real[POWER], w.real[CURVATURE]
    ones, sums = moments[0], moments[1]
    count, total_weight, distance = totals[0], totals[1], totals[2]
    own, other, spans, gaps = np.empty(TERMS), np.empty(TERMS), np.empty(TERMS), np.empty(TERMS)
    for level in range(levels):
        count[level], total_weight[level], distance[level] = 0.0, 0.0, 0.0
        for k in range(TERMS):
            ones[level, k], sums[level, k] = 0.0, 0.0
    for turn in range(blocks):
        m = turn if side == ABOVE else blocks - 1 - turn
        edge = tops[m] if side == ABOVE else bottoms[m]
        receives = turn > 0 and (side == ABOVE or runs[m, 0] < top)
        for level in range(levels if receives else 0):
            a, b = runs[m, level], runs[m, level + 1]
            if a == b:
                continue
            phi = SLOPE if slopes else LOGISTIC
            at = int(OWN_MOMENT), side, level
            mixed, constants = combined(table, at, phi, ones, sums, totals, own, other)
            if paired:
                sign = -1.0 if side == ABOVE else 1.0
                parts = own, other, mixed, constants
                add_with_slopes(parts, sign, weights, near, a, b, out, curvature)
                continue
            if opposed and slopes:
                add_opposed(own, other, weights, near, a, b, out, curvature)
                continue
            add(own, other, mixed, constants, weights, near, a, b, out)
            if distant and constants[2] != 0.0:
                for i in range(a, b):
                    out[i] += constants[2] * alpha * abs(edge - scores[i])
            if slopes and not opposed:
                at = int(BEND_OWN_MOMENT), side, level
                mixed, constants = combined(table, at, SLOPE, ones, sums, totals, own, other)
                add(own, other, mixed, constants, weights, near, a, b, curvature)
        if turn + 1 == blocks:
            continue
        height = tops[m] - bottoms[m]
        upper = m if side == ABOVE else m - 1
        gap = bottoms[upper] - tops[upper + 1]
        leaving = bottoms[m] if side == ABOVE else tops[m]
        counts = side == BELOW or runs[m, levels] <= top
        span, jump = math.exp(-alpha * height), math.exp(-alpha * gap)
        for k in range(TERMS):
            spans[k] = span * spans[k - 1] if k > 0 else span
            gaps[k] = jump * gaps[k - 1] if k > 0 else jump
        carry(runs, m, counts, slopes or paired, weights, far, powers, spans, gaps, ones, sums)
        for level in range(levels):
            first, stop = np.uint64(runs[m, level]), np.uint64(runs[m, level + 1])
            if distant and not slopes:
                lag = count[level] * (height + gap) if count[level] > 0.0 else 0.0
                for i in range(first, stop if counts else first):
                    lag += abs(scores[i] - leaving) + gap
                distance[level] += alpha * lag
            if counts:
                weight = 0.0
                for i in range(first, stop):
                    weight += weights[i]
                total_weight[level] += weight
                count[level] += stop - first


def _combined(
    table: Floats,
    at: tuple[int, int, int],
    phi: Floats,
    ones: Floats,
    sums: Floats,
    totals: Floats,
    own: Floats,
    other: Floats,
) -> tuple[bool, tuple[float, float, float]]:
    """Combine the moments of all levels for the documents of one level.

    `at` is the first of five kinds of numbers, the side and the level. Returns whether `other` is
    nonzero, and the constants of (**): one to add, one per unit of weight, one per unit of
    distance.
    """
    kind, side, level = at
    rest, per_own, per_distance = 0.0, 0.0, 0.0
    mixed = False
    terms = np.uint64(len(own))  # loops of constant length would be unrolled, not vectorised
    for k in range(terms):
        own[k] = 0.0
        other[k] = 0.0
    for source in range(len(ones)):
        count, weight, distance = totals[0, source], totals[1, source], totals[2, source]
        of_distance = table[kind + DISTANCE, side, level, source]
        per_own += table[kind + OWN_COUNT, side, level, source] * count
        rest += table[kind + OTHER_SUM, side, level, source] * weight + of_distance * distance
        per_distance += of_distance * count
        of_ones = table[kind + OWN_MOMENT, side, level, source]
        of_sums = table[kind + OTHER_MOMENT, side, level, source]
        if of_ones != 0.0:
            for k in range(terms):
                own[k] += of_ones * ones[source, k]
        if weighted and of_sums != 0.0:
            mixed = True
            for k in range(terms):
                other[k] += of_sums * sums[source, k]
    for k in range(terms):
        own[k] *= phi[k]
        other[k] *= phi[k]
    return mixed, (rest, per_own, per_distance)


def _add(
    own: Floats,
    other: Floats,
    mixed: bool,
    constants: tuple[float, float, float],
    weights: Floats,
    z: Floats,
    a: int,
    b: int,
    out: Floats,
) -> None:
    """Add (**) to the documents of one level in one block, columns a to b - 1."""
    rest, per_own, _ = constants
    if weighted and mixed:
        for i in range(np.uint64(a), np.uint64(b)):
            value = 0.0
            for k in range(TERMS):
                value = value * z[i] + (weights[i] * own[TERMS - 1 - k] + other[TERMS - 1 - k])
            out[i] += value * z[i] + weights[i] * per_own + rest
    else:
        for i in range(np.uint64(a), np.uint64(b)):
            value = 0.0
            for k in range(TERMS):
                value = value * z[i] + own[TERMS - 1 - k]
            out[i] += weights[i] * (value * z[i] + per_own) + rest


def _add_opposed(
    own: Floats,
    other: Floats,
    weights: Floats,
    z: Floats,
    a: int,
    b: int,
    out: Floats,
    curvature: Floats,
) -> None:
    """Add w_i A S0 . phi + B S1 . phi to `out`, and the terms' difference to `curvature`."""
    for i in range(np.uint64(a), np.uint64(b)):
        of_own, of_other = 0.0, 0.0
        for k in range(TERMS):
            of_own = of_own * z[i] + own[TERMS - 1 - k]
            of_other = of_other * z[i] + other[TERMS - 1 - k]
        of_own, of_other = weights[i] * of_own * z[i], of_other * z[i]
        out[i] += of_own + of_other
        curvature[i] += of_own - of_other


def _add_with_slopes(
    parts: tuple[Floats, Floats, bool, tuple[float, float, float]],
    sign: float,
    weights: Floats,
    z: Floats,
    a: int,
    b: int,
    out: Floats,
    curvature: Floats,
) -> None:
    """Do what `_add` does, and add `sign` times the slope of the decaying terms to `curvature`."""
    own, other, mixed, (rest, per_own, _) = parts
    if weighted and mixed:
        for i in range(np.uint64(a), np.uint64(b)):
            value, slope = 0.0, 0.0
            for k in range(TERMS):
                slope = slope * z[i] + value
                value = value * z[i] + (weights[i] * own[TERMS - 1 - k] + other[TERMS - 1 - k])
            out[i] += value * z[i] + weights[i] * per_own + rest
            curvature[i] += sign * z[i] * (value + slope * z[i])
    else:
        for i in range(np.uint64(a), np.uint64(b)):
            value, slope = 0.0, 0.0
            for k in range(TERMS):
                slope = slope * z[i] + value
                value = value * z[i] + own[TERMS - 1 - k]
            out[i] += weights[i] * (value * z[i] + per_own) + rest
            curvature[i] += sign * weights[i] * z[i] * (value + slope * z[i])


def _carry(
    runs: Integers,
    m: int,
    counts: bool,
    by_weight: bool | np.bool_,
    weights: Floats,
    z: Floats,
    powers: Floats,
    spans: Floats,
    gaps: Floats,
    ones: Floats,
    sums: Floats,
) -> None:
    """Carry the moments of every level through a block, and on to the edge of the next one.

    `z` holds decays to the edge where the sweep leaves the block, `spans` and `gaps` the powers of
    the decay across the block and to the next one. The block's own documents join if it `counts`.
    """
    for level in range(len(ones)):
        a, b = np.uint64(runs[m, level]), np.uint64(runs[m, level + 1])
        if a < b and counts:
            for j in range(a, b):
                powers[j] = 1.0
            for k in range(TERMS):
                one, weight = 0.0, 0.0
                if weighted and by_weight:
                    for j in range(a, b):
                        power = powers[j] * z[j]
                        powers[j] = power
                        one += power
                        weight += weights[j] * power
                else:
                    for j in range(a, b):
                        power = powers[j] * z[j]
                        powers[j] = power
                        one += power
                ones[level, k] = (ones[level, k] * spans[k] + one) * gaps[k]
                sums[level, k] = (sums[level, k] * spans[k] + weight) * gaps[k]
        else:
            for k in range(TERMS):
                ones[level, k] *= spans[k] * gaps[k]
                sums[level, k] *= spans[k] * gaps[k]


_STEPS = (_combined, _add, _add_opposed, _add_with_slopes, _carry)


def _far_pairs(*, weighted: bool) -> Function:
    """Return a compiled function for losses that are sums over pairs.

    Parameters
    ----------
    weighted : bool
        As in `far_field`.

    Returns
    -------
    ``add_pairs(alpha, table, batch, w, top)``
        Adds the pairs with documents of other blocks: to PULL, by the logistic function. To
        CURVATURE they are added by its slope, with the sign of the numbers flipped for documents
        above. Documents from column `top` on are paired only with those before it.
    """
    sweep = _sweep_with(weighted=weighted, paired=True, opposed=False, distant=False)
    add: Function = jit_inline(bind(_add_pairs, add_far=jit_inline(bind(_add_far, sweep=sweep))))
    return add


add_far_pairs, add_weighted_far_pairs = (_far_pairs(weighted=each) for each in (False, True))
