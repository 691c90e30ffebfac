r"""Sums over all pairs of a list in linear time, of functions divided by the score difference.

`far_field` sums the logistic function. This module sums the first three of the following four
functions of x = |s_i - s_j| in the same way, with blocks, a near field and moments. Here
rho = 1/(1 + e^{sigma x}) and z = e^{-sigma x}:

    1/(c + x)               =   sum_k a_k e^{-t_k x}
    rho / (c + x)           = z sum_k b_k e^{-t_k x}                                            (*)
    rho (1 - rho) / (c + x) = z sum_k c_k e^{-t_k x}
    ln(1 + z) / (c + x)     = z sum_k l_k e^{-t_k x}

1/(c + x) is the integral of e^{-t (c + x)} over t, so rates t_k in geometric progression work
(Beylkin and Monzon, Appl. Comput. Harmon. Anal. 2010). With z factored out, the other functions
stay accurate where z is small. `fits` finds the coefficients by least squares. Each function has a
relative error of at most 1e-8, as long as the scores spread over at most `widest(sigma)`.

c is always `OFFSET` here. For another offset o, scores are measured in other units: with u = c/o,

    1/(o + |s_i - s_j|) = u / (c + |u s_i - u s_j|)    and    sigma s = (sigma/u) (u s)
"""

import math
from functools import lru_cache

import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BOTTOM,
    CURVATURE,
    FROM_TOP,
    OWN,
    PULL,
    SCORE,
    TO_BOTTOM,
    TOP,
    WIDE_BLOCK,
    Batch,
    Columns,
)
from .far_field import ABOVE
from .jit import jit_helper, jit_inline
from .vector import exponentials

OFFSET = 0.01  # c
# Eight rates per three octaves: the next eight exponentials are the eighth powers of these.
STEP, OCTAVES = 8, 3
SLOWEST = 1.0 / 20.0  # slowest rate for the first spread, in units of sigma
SPREAD = 24.0  # the first spread of the scores, in units of 1/sigma
# Each further eight rates cover scores that spread eight times as far.
SPREADS = 4
WIDEST = SPREAD * 2.0 ** (OCTAVES * (SPREADS - 1))
# For other sigma the coefficients have not been examined: such losses visit all pairs.
LEAST_SIGMA, LARGEST_SIGMA = 0.125, 100.0


@lru_cache(maxsize=64)
def fits(sigma: float) -> Floats:
    """Return t_k, a_k, b_k, c_k and l_k of (*) for each spread of the scores.

    Returns
    -------
    float64 array (SPREADS, 5, terms)
        Zeros after the terms that a spread needs.
    """
    fewest = 5 if sigma >= 1.0 else 6
    result = np.zeros((SPREADS, 5, STEP * (fewest + SPREADS - 1)))
    if not LEAST_SIGMA <= sigma <= LARGEST_SIGMA:
        return result
    factor = 2.0**OCTAVES
    for spread in range(SPREADS):
        terms = STEP * (fewest + spread)
        rates = sigma * SLOWEST * factor ** (np.arange(terms) / STEP - spread)
        x = np.append(0.0, np.geomspace(1e-5, SPREAD * factor**spread, 60 * (fewest + spread)))
        x, z = x / sigma, np.exp(-x)
        # Multiplied by c + x, so that all errors are relative.
        logs = np.log1p(z) / np.where(z > 0.0, z, 1.0) + (z == 0.0)
        functions = np.stack([z**0, 1.0 / (1.0 + z), (1.0 + z) ** -2, logs], axis=1)
        basis = (OFFSET + x)[:, None] * np.exp(-x[:, None] * rates)
        result[spread, 0, :terms] = rates
        result[spread, 1:, :terms] = np.linalg.lstsq(basis, functions, rcond=1e-14)[0].T
    return result


def in_units(scores: Floats, unit: float) -> Floats:
    """Return u s, as large as float64 allows."""
    if unit == 1.0:
        return scores
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(scores * unit, -largest, largest)


@jit_inline
def widest(sigma: float) -> float:
    """Return the largest score difference for which (*) holds; negative where there is no fit."""
    known = LEAST_SIGMA <= sigma <= LARGEST_SIGMA
    return WIDEST / sigma if known else -1.0


@jit_helper
def add_divided_pairs(
    sigma: float,
    table: Floats,
    gaps: Floats,
    batch: Batch,
    w: Columns,
    top: int,
    weighted: bool | np.bool_,
) -> float:
    """Add the pairs of different blocks to PULL and CURVATURE; return the sum of their |w f|.

    The weight w of a pair is G |d_i - d_j|, with d in OWN, or G if not `weighted`. f is rho/(c + x)
    for a pair in the right order, and 1/(c + x) minus that for one in the wrong order.

    Parameters
    ----------
    sigma : float
    table : float64 array
        From `fits`.
    gaps : float64 array (levels, levels)
        G, by the levels of both documents.
    top : int
        At least one document of a pair is before this column: a block's start, or the end of all.
    """
    runs = batch.runs
    levels = runs.shape[1] - 1
    spread = sigma * (w.real[TOP, 0] - w.real[BOTTOM, len(runs) - 1])
    kind = 0
    while kind + 1 < SPREADS and spread > SPREAD * 2.0 ** (OCTAVES * kind):
        kind += 1
    fit = table[kind]
    terms = table.shape[2] - STEP * (SPREADS - 1 - kind)
    # For each level, the sums over documents of e^{-t_k x} times 1, d, z and d z.
    moments = np.empty((levels, 4 * terms))
    powers = np.empty(terms * WIDE_BLOCK)  # e^{-t_k x} of a block's documents, a row for each k
    room = np.empty((3, max(STEP * WIDE_BLOCK, 4 * terms)))
    total = 0.0
    own = sent = w.real[OWN]
    if not weighted:
        own, sent = np.zeros(batch.columns), np.empty(batch.columns)
    for side in range(2):
        if not weighted:  # makes d_j - d_i 1 for documents above, and -1 for those below
            sent[:] = 1.0 if side == ABOVE else -1.0
        given = sigma, fit, gaps, runs, own, sent
        total += _sweep(side, *given, w, top, moments, powers, room)
    return total


@jit_helper
def _sweep(
    side: int,
    sigma: float,
    fit: Floats,
    gaps: Floats,
    runs: Integers,
    own: Floats,
    sent: Floats,
    w: Columns,
    top: int,
    moments: Floats,
    powers: Floats,
    room: Floats,
) -> float:
    """Go through the blocks from one side, with the moments of those already passed."""
    blocks, levels = len(runs), runs.shape[1] - 1
    tops, bottoms = w.real[TOP], w.real[BOTTOM]
    from_top, to_bottom = w.real[FROM_TOP], w.real[TO_BOTTOM]
    near, far = (from_top, to_bottom) if side == ABOVE else (to_bottom, from_top)
    total = 0.0
    for level in range(levels):
        for k in range(np.uint64(moments.shape[1])):
            moments[level, k] = 0.0
    for turn in range(blocks):
        m = turn if side == ABOVE else blocks - 1 - turn
        edge, leaving = (tops[m], bottoms[m]) if side == ABOVE else (bottoms[m], tops[m])
        begin, end = runs[m, 0], runs[m, levels]
        if turn > 0 and (side == ABOVE or begin < top):
            _write_powers(edge, fit, begin, end, w, powers, room[0])
            total += _receive(m, side, fit, gaps, runs, near, own, w, moments, powers, room)
        if turn + 1 < blocks:
            following = m + 1 if side == ABOVE else m - 1
            gap = leaving - tops[following] if side == ABOVE else bottoms[following] - leaving
            _carry(sigma, fit, tops[m] - bottoms[m], moments, room[0])
            if side != ABOVE or end <= top:
                _write_powers(leaving, fit, begin, end, w, powers, room[0])
                _send(m, runs, far, sent, moments, powers)
            _carry(sigma, fit, gap, moments, room[0])
    return total


@jit_helper
def _write_powers(
    edge: float, fit: Floats, begin: int, end: int, w: Columns, powers: Floats, exponents: Floats
) -> None:
    """Write e^{-t_k x} for the documents of a block, x their distances from one of its edges."""
    scores = w.real[SCORE]
    first, n, block = np.uint64(begin), np.uint64(end - begin), np.uint64(WIDE_BLOCK)
    for k in range(np.uint64(STEP)):
        rate = fit[0, k]
        for i in range(n):
            exponents[k * block + i] = -rate * abs(scores[first + i] - edge)
        for i in range(n, block):
            exponents[k * block + i] = 0.0
    rows = np.uint64(STEP) * block
    exponentials(exponents, powers, STEP * WIDE_BLOCK)
    for i in range(np.uint64(len(powers)) - rows):
        square = powers[i] * powers[i]
        square = square * square
        powers[i + rows] = square * square


@jit_helper
def _carry(sigma: float, fit: Floats, distance: float, moments: Floats, decays: Floats) -> None:
    """Carry the moments of all levels over a distance, away from their documents."""
    terms = np.uint64(moments.shape[1] // 4)
    of_z, of_both = terms + terms, terms + terms + terms
    for k in range(np.uint64(STEP)):
        decays[k] = math.exp(-fit[0, k] * distance)
    for k in range(np.uint64(STEP), terms):
        square = decays[k - np.uint64(STEP)] * decays[k - np.uint64(STEP)]
        square = square * square
        decays[k] = square * square
    z = math.exp(-sigma * distance)
    for k in range(terms):
        decays[terms + k] = decays[k]
        decays[of_z + k], decays[of_both + k] = z * decays[k], z * decays[k]
    for level in range(len(moments)):
        for k in range(of_both + terms):
            moments[level, k] *= decays[k]


@jit_helper
def _send(
    m: int, runs: Integers, far: Floats, weights: Floats, moments: Floats, powers: Floats
) -> None:
    """Add the documents of a block to the moments."""
    terms, first = np.uint64(moments.shape[1] // 4), np.uint64(runs[m, 0])
    block = np.uint64(WIDE_BLOCK)
    for level in range(len(moments)):
        begin, end = np.uint64(runs[m, level]), np.uint64(runs[m, level + 1])
        for k in range(terms if begin < end else np.uint64(0)):
            row = k * block - first
            one, weight, of_z, of_both = 0.0, 0.0, 0.0, 0.0
            for i in range(begin, end):
                power = powers[row + i]
                damped = far[i] * power
                one += power
                weight += weights[i] * power
                of_z += damped
                of_both += weights[i] * damped
            moments[level, k] += one
            moments[level, terms + k] += weight
            moments[level, terms + terms + k] += of_z
            moments[level, terms + terms + terms + k] += of_both


@jit_helper
def _receive(
    m: int,
    side: int,
    fit: Floats,
    gaps: Floats,
    runs: Integers,
    near: Floats,
    weights: Floats,
    w: Columns,
    moments: Floats,
    powers: Floats,
    room: Floats,
) -> float:
    """Add the pairs of a block's documents with the documents in the moments.

    Returns the sum of |w f| over pairs with documents above, and 0 if the documents are below.
    """
    pulls, curvatures = w.real[PULL], w.real[CURVATURE]
    terms, first = np.uint64(moments.shape[1] // 4), np.uint64(runs[m, 0])
    block = np.uint64(WIDE_BLOCK)
    twice = terms + terms
    # One array for everything that loops write: each further array costs them an overlap check.
    wrong, right, sums = room[0], room[1], room[2]
    bend, in_order = block + block, block + block + block
    sign = -1.0 if side == ABOVE else 1.0  # of d_i - d_j
    total = 0.0
    for level in range(len(moments)):
        begin, end = np.uint64(runs[m, level]), np.uint64(runs[m, level + 1])
        if begin == end:
            continue
        # The combined moments of documents in the wrong order, and of those in the right order.
        for k in range(twice + twice):
            wrong[k] = 0.0
        for k in range(twice):
            right[k] = 0.0
        for other in range(len(moments)):
            gap = gaps[level, other]
            if (other > level) == (side == ABOVE):
                for k in range(twice):
                    right[k] += gap * moments[other, twice + k]
            else:
                for k in range(twice + twice):
                    wrong[k] += gap * moments[other, k]
        for i in range(begin, end):
            at = i - first
            sums[at], sums[block + at] = 0.0, 0.0
            sums[bend + at], sums[in_order + at] = 0.0, 0.0
        for k in range(terms):
            row = k * block - first
            one, weight = fit[1, k] * wrong[k], fit[1, k] * wrong[terms + k]
            both = wrong[twice + k] + right[k]
            weighted = wrong[twice + terms + k] + right[terms + k]
            rho, weighted_rho = fit[2, k] * both, fit[2, k] * weighted
            slope, weighted_slope = fit[3, k] * both, fit[3, k] * weighted
            for i in range(begin, end):
                power, own, at = powers[row + i], weights[i], i - first
                sums[at] += power * (own * one - weight)
                sums[block + at] += power * (own * rho - weighted_rho)
                sums[bend + at] += power * (own * slope - weighted_slope)
            if side == ABOVE:
                rho, weighted_rho = fit[2, k] * right[k], fit[2, k] * right[terms + k]
                for i in range(begin, end):
                    at = in_order + i - first
                    sums[at] += powers[row + i] * (weights[i] * rho - weighted_rho)
        for i in range(begin, end):
            at = i - first
            damped = near[i] * sums[block + at]
            pulls[i] += damped - sums[at]
            curvatures[i] += sign * near[i] * sums[bend + at]
            total += sign * (sums[at] + 2.0 * near[i] * sums[in_order + at] - damped)
    return total if side == ABOVE else 0.0
