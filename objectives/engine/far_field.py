r"""Sums over the pairs of different blocks in linear time, for any sum of decaying exponentials.

The documents of a query are sorted by descending score and cut into blocks (`parts`). Pairs inside
a block are summed one by one (`pairs`). A pair of different blocks adds to a document p

    T u_p . v_q F(x),   F(x) = sum_k f_k e^{-t_k x} + l rate x,   x = |s_p - s_q|                (*)

where T depends on the parts of the documents, distinct grades or ranges of grades, u and v are a
few numbers of each document, its *channels*, and f depends on what is summed (pulls, bends and so
on), on the channel, on the relation of the two documents, and on the side: whether q is above or
below p. A document then needs only the *moments* of the blocks above its own, sum_q v_q e^{-t_k x},
one number for each part, channel and k, carried from block to block. Every factor is at most 1, so
nothing overflows for any scores, and what underflows is negligible.

A loss defines its far field by numbers alone (`Fit`).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev
from numpy.polynomial.polynomial import Polynomial

from ..validation import Floats, Integers
from .columns import (
    BEGIN,
    BOTTOM,
    CURVATURE,
    DECAY,
    POWER,
    PULL,
    RECEIVED,
    SCORE,
    SENT,
    SIZE,
    TOP,
    Columns,
    Rules,
)
from .jit import Function, jit_helper
from .vector import exponentials, strided

ABOVE, BELOW = range(2)  # the side from which a document receives
# Relations of a document to another one: of different parts and in the right order of scores or
# the wrong one, or of the same part.
RIGHT, WRONG, SAME = range(3)
# How worth weights a pair.
NO_WEIGHT, DIFFERENCE, SUM = range(3)
# What is summed.
PULLS, BENDS, SIZES = range(3)

TERMS = 20  # of the logistic function and those like it, the constant included
STEP = 4  # terms are added up by fours
WIDEST_BLOCK = 128


class Fit(NamedTuple):
    """The functions F of a loss as numbers, for one or more spreads of the scores.

    Attributes
    ----------
    spreads : float64 array (kinds,)
        Largest difference of scores, times rate, up to which each kind of fit holds.
    rates : float64 array (kinds, any)
        Rates of exponentials, in addition to `Rules.rate`, from which others are products.
    products : int64 array (2, terms)
        Each term is the product of these two earlier ones; of the exponential of rates[i] alone
        where they are -1 - i.  The first two terms are 1 and e^{-rate x}.
    terms : int64 array (kinds,)
        How many of the terms each kind needs, a multiple of `STEP`.
    numbers : float64 array (kinds, sums, 3, 2, channels, terms + 1)
        f and, last, l of (*), by sum, relation, side and channel.
    gained : float64 array (kinds, sums, 3, 2, 2 channels, terms + 1)
        The same where parts have several grades, so that worth is among the channels.
    weight : int
        How worth weights a pair: not at all, by the difference of both, or by their sum.
    """

    spreads: Floats
    rates: Floats
    products: Integers
    terms: Integers
    numbers: Floats
    gained: Floats
    weight: int


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


def powers_of_z(function: Function, *, first: int = 1, step: int = 1, terms: int = TERMS) -> Floats:
    """Return a smooth function of z, times z^{first / step}, as powers of z^{1 / step}."""
    coefficients = np.zeros(terms + 1)
    count = (terms - first + step - 1) // step
    coefficients[first:terms:step] = series(function, count)
    return coefficients


LOGISTIC = powers_of_z(lambda z: 1.0 / (1.0 + z))  # z/(1 + z)
SLOPE = powers_of_z(lambda z: (1.0 + z) ** -2.0)  # z/(1 + z)^2
LOG = powers_of_z(lambda z: np.log1p(z) / z)  # ln(1 + z)


def constant(value: float, terms: int = TERMS) -> Floats:
    """Return a constant as a sum of exponentials."""
    return np.append(value, np.zeros(terms))


def linear(value: float, terms: int = TERMS) -> Floats:
    """Return a multiple of rate x as a sum of exponentials, followed by a multiple of rate x."""
    return np.append(np.zeros(terms), value)


def better_sign(relation: int, side: int) -> float:
    """Return 1 where the document that receives is the better one of the pair, or -1."""
    return 1.0 if (relation == RIGHT) == (side == BELOW) else -1.0


def numbers_of(entry: Function) -> Floats:
    """Return the numbers of one sum.

    Parameters
    ----------
    entry : callable
        ``entry(relation, side)``: F of each channel, a list of arrays (terms + 1,).
    """
    return np.array([[entry(relation, side) for side in (ABOVE, BELOW)] for relation in range(3)])


def pair_entry(right: Floats, wrong: Floats, *, odd: bool = False) -> Function:
    """Return what `numbers_of` takes for pairs of different worth, with one channel.

    Parameters
    ----------
    right, wrong : arrays (terms + 1,)
        F for pairs in the right order and the wrong one.
    odd : bool, default False
        Whether the worse document receives the negative of what the better one does.
    """

    def entry(relation: int, side: int) -> list[Floats]:
        sign = better_sign(relation, side) if odd else 1.0
        return [sign * (right if relation == RIGHT else wrong) * float(relation != SAME)]

    return entry


def fit_of(*entries: Function, weight: int = NO_WEIGHT) -> Fit:
    """Return the fit of sums (see `numbers_of`) whose terms are powers of one exponential."""
    numbers = np.stack([numbers_of(entry) for entry in entries])[None]
    terms = numbers.shape[-1] - 1
    products = np.array([[0, 1, *range(1, terms - 1)], [0, 1, *[1] * (terms - 2)]], np.int64)
    return Fit(
        np.array([math.inf]),
        np.zeros((1, 0)),
        products,
        np.array([terms], np.int64),
        numbers,
        with_gains(numbers, weight),
        weight,
    )


def with_gains(numbers: Floats, weight: int) -> Floats:
    """Return the numbers with two channels for each: times the own worth, times the other's."""
    signs = np.ones((3, 2, 2))
    for relation in (RIGHT, WRONG):
        for side in (ABOVE, BELOW):
            if weight == DIFFERENCE:
                sign = better_sign(relation, side)
                signs[relation, side] = sign, -sign
    if weight == NO_WEIGHT:
        return numbers
    return np.ascontiguousarray(
        (numbers[..., None, :] * signs[None, None, :, :, None, :, None]).reshape(
            *numbers.shape[:4], -1, numbers.shape[-1]
        )
    )


@jit_helper
def add_far_pairs(
    p: Rules, fit: Fit, numbers: Floats, weights: Floats, runs: Integers, cut: int, w: Columns
) -> float:
    """Add the pairs of different blocks to PULL and CURVATURE; return the third sum, if any.

    Parameters
    ----------
    numbers : float64 array
        Those of the fit, with gains or without.
    weights : float64 array (parts, parts)
        T; its diagonal is 0 where pairs of the same part do not count.
    runs : int64 array (blocks, parts + 1)
        Columns where the documents of each part begin in each block.
    cut : int
        Pairs have a document in a block before this one.
    """
    blocks, parts = len(runs), runs.shape[1] - 1
    spread = p.rate * (w.real[TOP, 0] - w.real[BOTTOM, blocks - 1])
    kind = 0
    while kind + 1 < len(fit.spreads) and spread > fit.spreads[kind]:
        kind += 1
    _write_decays(p, fit.rates[kind], blocks, w)
    f, terms = numbers[kind], fit.terms[kind]
    channels, sums = f.shape[3], f.shape[0]
    moments = np.empty((parts, channels, terms + 1))
    combined = np.empty((3 + sums, channels, terms + 2))
    room = np.empty((terms + 3, max(WIDEST_BLOCK, terms)))
    total = 0.0
    for side in range(2):
        total += _sweep(side, p, fit, kind, f, weights, runs, cut, moments, combined, room, w)
    return total


@jit_helper
def _write_decays(p: Rules, rates: Floats, blocks: int, w: Columns) -> None:
    """Write the exponentials of distances to both edges of each block."""
    scores, x = w.real[SCORE], w.real[POWER]
    end = w.whole[BEGIN, blocks - 1] + w.whole[SIZE, blocks - 1]
    for base in range(len(rates) + 1):
        rate = p.rate if base == 0 else rates[base - 1]
        for side in range(1 if base == 0 else 0, 2):  # `columns` has written the first
            edges = w.real[TOP + side]
            for m in range(blocks):
                begin, n = np.uint64(w.whole[BEGIN, m]), np.uint64(w.whole[SIZE, m])
                for i in range(begin, begin + n):
                    x[i] = max(-rate * abs(scores[i] - edges[m]), -1e300)
            exponentials(x, w.real[DECAY + 2 * base + side], strided(end))


@jit_helper
def _sweep(
    side: int,
    p: Rules,
    fit: Fit,
    kind: int,
    f: Floats,
    weights: Floats,
    runs: Integers,
    cut: int,
    moments: Floats,
    combined: Floats,
    room: Floats,
    w: Columns,
) -> float:
    """Go through the blocks from one side, with the moments of those already passed."""
    blocks, parts = len(runs), runs.shape[1] - 1
    tops, bottoms = w.real[TOP], w.real[BOTTOM]
    moments[:] = 0.0
    total = 0.0
    for turn in range(blocks):
        m = turn if side == ABOVE else blocks - 1 - turn
        if turn > 0 and (side == ABOVE or m < cut):
            _write_powers(side, m, fit, runs, room, w)
            total += _receive(side, m, p, f, weights, runs, moments, combined, room, w)
        if turn + 1 < blocks:
            upper = m if side == ABOVE else m - 1
            gap = bottoms[upper] - tops[upper + 1]
            _carry(p, fit, kind, tops[m] - bottoms[m], moments, room)
            if side == BELOW or m < cut:
                _write_powers(1 - side, m, fit, runs, room, w)
                _send(1 - side, m, p, runs, moments, room, w)
            _carry(p, fit, kind, gap, moments, room)
    return total


@jit_helper
def _write_powers(side: int, m: int, fit: Fit, runs: Integers, powers: Floats, w: Columns) -> None:
    """Write every term for the documents of a block: exponentials of distances to an edge."""
    begin, n = np.uint64(runs[m, 0]), np.uint64(runs[m, runs.shape[1] - 1] - runs[m, 0])
    for k in range(len(powers) - 3):
        out = powers[k]
        a, b = fit.products[0, k], fit.products[1, k]
        if k < 2 or a < 0:
            decays = w.real[DECAY + side] if k < 2 else w.real[DECAY + side - 2 * a]
            for i in range(n):
                out[i] = 1.0 if k == 0 else decays[begin + i]
        else:
            left, right = powers[a], powers[b]
            for i in range(n):
                out[i] = left[i] * right[i]


@jit_helper
def _carry(p: Rules, fit: Fit, kind: int, distance: float, moments: Floats, room: Floats) -> None:
    """Carry the moments of all parts over a distance, away from their documents."""
    terms = moments.shape[2] - 1
    decays = room[terms + 2]
    for k in range(terms):
        a, b = fit.products[0, k], fit.products[1, k]
        if k < 2:
            decays[k] = 1.0 if k == 0 else math.exp(-p.rate * distance)
        elif a < 0:
            decays[k] = math.exp(-fit.rates[kind, -1 - a] * distance)
        else:
            decays[k] = decays[a] * decays[b]
    for part in range(moments.shape[0]):
        for c in range(moments.shape[1]):
            moments[part, c, terms] += moments[part, c, 0] * (p.rate * distance)
            for k in range(np.uint64(terms)):
                moments[part, c, k] *= decays[k]


@jit_helper
def _send(
    side: int, m: int, p: Rules, runs: Integers, moments: Floats, powers: Floats, w: Columns
) -> None:
    """Add the documents of a block to the moments at one of its edges."""
    terms, first = moments.shape[2] - 1, np.uint64(runs[m, 0])
    scores, edge = w.real[SCORE], w.real[TOP + side, m]
    for part in range(moments.shape[0]):
        begin, end = np.uint64(runs[m, part]) - first, np.uint64(runs[m, part + 1]) - first
        if begin == end:
            continue
        for c in range(moments.shape[1]):
            v = w.real[SENT + c]
            for k in range(0, terms, STEP):
                a, b, d, e = powers[k], powers[k + 1], powers[k + 2], powers[k + 3]
                of_a, of_b, of_d, of_e = 0.0, 0.0, 0.0, 0.0
                for i in range(begin, end):
                    own = v[first + i]
                    of_a += a[i] * own
                    of_b += b[i] * own
                    of_d += d[i] * own
                    of_e += e[i] * own
                moments[part, c, k] += of_a
                moments[part, c, k + 1] += of_b
                moments[part, c, k + 2] += of_d
                moments[part, c, k + 3] += of_e
            distance = 0.0
            for i in range(begin, end):
                distance += v[first + i] * abs(scores[first + i] - edge)
            moments[part, c, terms] += p.rate * distance


@jit_helper
def _receive(
    side: int,
    m: int,
    p: Rules,
    f: Floats,
    weights: Floats,
    runs: Integers,
    moments: Floats,
    combined: Floats,
    powers: Floats,
    w: Columns,
) -> float:
    """Add the pairs of a block's documents with the documents in the moments."""
    terms, first = moments.shape[2] - 1, np.uint64(runs[m, 0])
    parts, channels, sums = len(moments), moments.shape[1], len(f)
    scores, edge = w.real[SCORE], w.real[TOP + side, m]
    of_pull, of_bend = powers[terms], powers[terms + 1]
    pulls, bends = w.real[PULL], w.real[CURVATURE]
    total = 0.0
    for part in range(parts):
        begin, end = np.uint64(runs[m, part]) - first, np.uint64(runs[m, part + 1]) - first
        if begin == end:
            continue
        combined[:] = 0.0
        for other in range(parts):
            weight = weights[part, other]
            relation = RIGHT if (other > part) == (side == ABOVE) else WRONG
            relation = SAME if other == part else relation
            if weight != 0.0:
                for c in range(channels):
                    for k in range(np.uint64(terms + 1)):
                        combined[relation, c, k] += weight * moments[other, c, k]
                    combined[relation, c, terms + 1] += weight * moments[other, c, 0]
        for each in range(sums):
            for relation in range(3):
                for c in range(channels):
                    for k in range(np.uint64(terms + 1)):
                        number = f[each, relation, side, c, k]
                        combined[3 + each, c, k] += number * combined[relation, c, k]
                    number = f[each, relation, side, c, terms]
                    combined[3 + each, c, terms + 1] += number * combined[relation, c, terms + 1]
        for c in range(channels):
            u = w.real[RECEIVED + c]
            pull, bend = combined[3 + PULLS, c], combined[3 + BENDS, c]
            x0, x1 = pull[terms], p.rate * pull[terms + 1]
            y0, y1 = bend[terms], p.rate * bend[terms + 1]
            for i in range(begin, end):  # l rate x: the distance to the edge, and from there
                distance = abs(scores[first + i] - edge)
                of_pull[i], of_bend[i] = x0 + x1 * distance, y0 + y1 * distance
            for k in range(0, terms, STEP):
                x0, x1, x2, x3 = pull[k], pull[k + 1], pull[k + 2], pull[k + 3]
                y0, y1, y2, y3 = bend[k], bend[k + 1], bend[k + 2], bend[k + 3]
                a, b, d, e = powers[k], powers[k + 1], powers[k + 2], powers[k + 3]
                for i in range(begin, end):
                    of_pull[i] += (a[i] * x0 + b[i] * x1) + (d[i] * x2 + e[i] * x3)
                    of_bend[i] += (a[i] * y0 + b[i] * y1) + (d[i] * y2 + e[i] * y3)
            for i in range(begin, end):
                pulls[first + i] += u[first + i] * of_pull[i]
                bends[first + i] += u[first + i] * of_bend[i]
            if sums > SIZES and side == ABOVE:
                size = combined[3 + SIZES, c]
                for k in range(terms):
                    of_term = 0.0
                    for i in range(begin, end):
                        of_term += powers[k, i] * u[first + i]
                    total += size[k] * of_term
    return total
