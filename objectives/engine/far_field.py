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
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BEGIN,
    BOTTOM,
    CURVATURE,
    DECAY,
    FACTORIZABLE,
    FAR,
    POWER,
    PULL,
    RECEIVED,
    SCORE,
    SENT,
    SIZE,
    TOP,
    Columns,
)
from .jit import Function, jit_disjoint, jit_helper
from .vector import LANES, STRIDE, aligned, exponentials, series, strided

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
    weight : int
        How worth weights a pair: not at all, by the difference of both, or by their sum.
    """

    spreads: Floats
    rates: Floats
    products: Integers
    terms: Integers
    numbers: Floats
    weight: int


class Size(NamedTuple):
    """How much of `Room` a query uses."""

    parts: int
    channels: int
    terms: int


class Room(NamedTuple):
    """Scratch for the far field of one query."""

    moments: Floats  # (parts, channels, terms + 1)
    powers: Floats  # (terms + 8, documents of a block, or terms + 1)
    weights: Floats  # (parts, parts)


def new_room(parts: int, channels: int, terms: int, block: int) -> Room:
    """Return scratch for queries and fits of up to these sizes, and blocks of so many documents."""
    return Room(
        np.empty((parts, channels, terms + 1)),
        # Rows a multiple of 4096 bytes apart would share a few places of the fastest cache.
        aligned(terms + 8, (max(block, terms + 1) // STRIDE + 1) * STRIDE + LANES),
        np.empty((parts, parts)),
    )


def powers_of_z(function: Function, *, first: int = 1, step: int = 1, terms: int = TERMS) -> Floats:
    """Return a smooth function of z, times z^{first / step}, as powers of z^{1 / step}."""
    coefficients = np.zeros(terms + 1)
    count = (terms - first + step - 1) // step
    coefficients[first:terms:step] = series(function, count)
    return coefficients


LOGISTIC = powers_of_z(lambda z: 1.0 / (1.0 + z))  # z/(1 + z)
SLOPE = powers_of_z(lambda z: (1.0 + z) ** -2.0)  # z/(1 + z)^2
LOG = powers_of_z(lambda z: np.log1p(z) / z)  # ln(1 + z)
DISTANCE = np.append(np.zeros(TERMS), 1.0)  # rate x


def constant(value: float, terms: int = TERMS) -> Floats:
    """Return a constant as a sum of exponentials."""
    return np.append(value, np.zeros(terms))


def better_sign(relation: int, side: int) -> float:
    """Return 1 where the document that receives is the better one of the pair, or -1."""
    return 1.0 if (relation == RIGHT) == (side == BELOW) else -1.0


def sums_of(entries: Sequence[Function]) -> Floats:
    """Return the numbers of sums, one after another.

    Parameters
    ----------
    entries : sequence of callables
        ``entry(relation, side)``: F of each channel, a list of arrays (terms + 1,).
    """
    relations, sides = range(3), (ABOVE, BELOW)
    return np.array(
        [[[entry(relation, side) for side in sides] for relation in relations] for entry in entries]
    )


def pair_entry(right: Floats, wrong: Floats, *, odd: bool = False) -> Function:
    """Return what `sums_of` takes for pairs of different worth, with one channel.

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


def difference_of_own(entry: Function) -> Function:
    """Return an entry times the difference of OWN, which is larger for the document above."""

    def of_both(relation: int, side: int) -> list[Floats]:
        (value,) = entry(relation, side)
        value = value if side == ABOVE else -value
        return [value, -value]

    return of_both


def fit_of(*entries: Function, weight: int = NO_WEIGHT) -> Fit:
    """Return the fit of sums (see `sums_of`) whose terms are powers of one exponential."""
    numbers = sums_of(entries)[None]
    terms = numbers.shape[-1] - 1
    halves = np.arange(terms) // 2
    products = np.stack([halves, np.arange(terms) - halves])  # of even powers: short chains
    return Fit(
        np.array([math.inf]),
        np.zeros((1, 0)),
        products,
        np.array([terms], np.int64),
        numbers,
        weight,
    )


@jit_helper
def add_far_pairs(
    rate: float,
    fit: Fit,
    gained: bool,
    blocks: int,
    parts: int,
    runs: Integers,
    w: Columns,
    room: Room,
) -> float:
    """Add the pairs of different blocks to PULL and CURVATURE; return the third sum, if any.

    Goes through the blocks from both sides, with the moments of those already passed.

    Parameters
    ----------
    rate : float
    gained : bool
        Whether parts have several grades, so that worth is among the channels: each is twice
        there, times the worth of the document that receives and times that of the other.
    runs : int64 array
        For each block, parts + 1 numbers: the columns where the documents of each part begin.
    room : Room
        Its weights are T; their diagonal is 0 where pairs of the same part do not count.
    """
    tops, bottoms, scores = w.real[TOP], w.real[BOTTOM], w.real[SCORE]
    kind = 0
    spread = rate * (tops[0] - bottoms[blocks - 1])
    while kind + 1 < len(fit.spreads) and spread > fit.spreads[kind]:
        kind += 1
    f, rates = fit.numbers[kind], fit.rates[kind]
    size = Size(parts, f.shape[3] * (2 if gained else 1), fit.terms[kind])
    difference = gained and fit.weight == DIFFERENCE
    _write_decays(rate, rates, blocks, w)
    decays = w.real[DECAY:SENT]
    sent, received = w.real[SENT:RECEIVED], w.real[RECEIVED:]
    pulls, bends = w.real[PULL], w.real[CURVATURE]
    # Moments by part, by relation, and the latter times f.
    moments, weighted, sums = room.moments, room.powers[2:5], room.powers[5:8]
    x, y, powers = room.powers[0], room.powers[1], room.powers[8:]
    total = 0.0
    for side in range(2):
        near, far = (tops, bottoms) if side == ABOVE else (bottoms, tops)
        for turn in range(blocks):
            m = turn if side == ABOVE else blocks - 1 - turn
            edges = runs[m * (parts + 1) : (m + 1) * (parts + 1)]
            first, n = edges[0], edges[parts] - edges[0]
            if turn > 0:
                before = m - 1 if side == ABOVE else m + 1
                _carry(size, rate, rates, fit.products, abs(far[before] - near[m]), moments, x)
                _write_powers(side, first, n, size.terms, fit.products, decays, powers)
                total += _receive(
                    side, size, rate, near[m], f, difference, room.weights, edges, moments,
                    weighted, sums, powers, x, y, scores, received, pulls, bends,
                )  # fmt: skip
                _carry(size, rate, rates, fit.products, tops[m] - bottoms[m], moments, x)
            else:
                for part in range(size.parts):
                    for c in range(size.channels):
                        for k in range(np.uint64(size.terms + 1)):
                            moments[part, c, k] = 0.0
            _write_powers(1 - side, first, n, size.terms, fit.products, decays, powers)
            _send(size, rate, far[m], edges, moments, powers, scores, sent)
    return total


@jit_helper
def _write_decays(own_rate: float, rates: Floats, blocks: int, w: Columns) -> None:
    """Write the exponentials of distances to both edges of each block."""
    scores, x = w.real[SCORE], w.real[POWER]
    end = w.whole[BEGIN, blocks - 1] + w.whole[SIZE, blocks - 1]
    to_top, to_bottom = w.real[DECAY], w.real[FAR]  # `columns` has written the first
    for m in range(blocks):
        begin, n = np.uint64(w.whole[BEGIN, m]), np.uint64(w.whole[SIZE, m])
        across = math.exp(-own_rate * (w.real[TOP, m] - w.real[BOTTOM, m]))
        for i in range(begin, begin + n):
            to_bottom[i] = across / to_top[i]
        for i in range(begin, begin if w.whole[FACTORIZABLE, m] else begin + n):
            to_bottom[i] = math.exp(-own_rate * (scores[i] - w.real[BOTTOM, m]))
    for base in range(len(rates)):
        for side in range(2):
            edges = w.real[TOP + side]
            for m in range(blocks):
                begin, n = np.uint64(w.whole[BEGIN, m]), np.uint64(w.whole[SIZE, m])
                for i in range(begin, begin + n):
                    x[i] = max(-rates[base] * abs(scores[i] - edges[m]), -1e300)
            exponentials(x, w.real[FAR + 1 + 2 * base + side], strided(end))


@jit_disjoint
def _write_powers(
    side: int, begin: int, n: int, terms: int, products: Integers, decays: Floats, powers: Floats
) -> None:
    """Write every term for the documents of a block: exponentials of distances to an edge."""
    first, stop = np.uint64(begin), np.uint64(n)
    for i in range(stop):
        powers[0, i] = 1.0
        powers[1, i] = decays[side, first + i]
    for k in range(2, terms):
        a, b = products[0, k], products[1, k]
        if a < 0:
            for i in range(stop):
                powers[k, i] = decays[side - 2 * a, first + i]
        else:
            for i in range(stop):
                powers[k, i] = powers[a, i] * powers[b, i]


@jit_disjoint
def _carry(
    size: Size,
    rate: float,
    rates: Floats,
    products: Integers,
    distance: float,
    moments: Floats,
    decays: Floats,
) -> None:
    """Carry the moments of all parts over a distance, away from their documents."""
    terms = size.terms
    decays[0], decays[1] = 1.0, math.exp(-rate * distance)
    for k in range(2, terms):
        a, b = products[0, k], products[1, k]
        decays[k] = math.exp(-rates[-1 - a] * distance) if a < 0 else decays[a] * decays[b]
    for part in range(size.parts):
        for c in range(size.channels):
            moments[part, c, terms] += moments[part, c, 0] * (rate * distance)
            for k in range(np.uint64(terms)):
                moments[part, c, k] *= decays[k]


@partial(jit_disjoint, in_order=False)
def _send(
    size: Size,
    rate: float,
    edge: float,
    edges: Integers,
    moments: Floats,
    powers: Floats,
    scores: Floats,
    sent: Floats,
) -> None:
    """Add the documents of a block to the moments at one of its edges."""
    terms, first = size.terms, np.uint64(edges[0])
    for part in range(size.parts):
        begin, end = np.uint64(edges[part]) - first, np.uint64(edges[part + 1]) - first
        if begin == end:
            continue
        for c in range(size.channels):
            for k in range(0, terms, STEP):
                of_a, of_b, of_d, of_e = 0.0, 0.0, 0.0, 0.0
                for i in range(begin, end):
                    own = sent[c, first + i]
                    of_a += powers[k, i] * own
                    of_b += powers[k + 1, i] * own
                    of_d += powers[k + 2, i] * own
                    of_e += powers[k + 3, i] * own
                moments[part, c, k] += of_a
                moments[part, c, k + 1] += of_b
                moments[part, c, k + 2] += of_d
                moments[part, c, k + 3] += of_e
            distance = 0.0
            for i in range(begin, end):
                distance += sent[c, first + i] * abs(scores[first + i] - edge)
            moments[part, c, terms] += rate * distance


@partial(jit_disjoint, in_order=False)
def _receive(
    side: int,
    size: Size,
    rate: float,
    edge: float,
    f: Floats,
    difference: bool,
    weights: Floats,
    edges: Integers,
    moments: Floats,
    weighted: Floats,
    numbers: Floats,
    powers: Floats,
    of_pull: Floats,
    of_bend: Floats,
    scores: Floats,
    received: Floats,
    pulls: Floats,
    bends: Floats,
) -> float:
    """Add the pairs of a block's documents with the documents in the moments."""
    first, terms = np.uint64(edges[0]), size.terms
    total = 0.0
    for part in range(size.parts):
        begin, end = np.uint64(edges[part]) - first, np.uint64(edges[part + 1]) - first
        if begin == end:
            continue
        for channel in range(size.channels):
            c = channel * f.shape[3] // size.channels
            own = channel % 2 == 0  # the worth that a difference begins with
            for k in range(np.uint64(terms + 1)):
                weighted[RIGHT, k], weighted[WRONG, k], weighted[SAME, k] = 0.0, 0.0, 0.0
            for other in range(size.parts):
                weight = weights[part, other]
                weight = -weight if difference and own != (part > other) else weight
                relation = RIGHT if (other > part) == (side == ABOVE) else WRONG
                relation = SAME if other == part else relation
                for k in range(np.uint64(terms + 1 if weight != 0.0 else 0)):
                    weighted[relation, k] += weight * moments[other, channel, k]
            for each in range(len(f)):
                right, wrong = f[each, RIGHT, side, c], f[each, WRONG, side, c]
                same = f[each, SAME, side, c]
                for k in range(np.uint64(terms + 1)):
                    number = right[k] * weighted[RIGHT, k] + wrong[k] * weighted[WRONG, k]
                    numbers[each, k] = number + same[k] * weighted[SAME, k]
                number = right[terms] * weighted[RIGHT, 0] + wrong[terms] * weighted[WRONG, 0]
                numbers[each, terms + 1] = rate * (number + same[terms] * weighted[SAME, 0])
            x0, x1 = numbers[PULLS, terms], numbers[PULLS, terms + 1]
            y0, y1 = numbers[BENDS, terms], numbers[BENDS, terms + 1]
            for i in range(begin, end):  # l rate x: the distance to the edge, and from there
                distance = abs(scores[first + i] - edge)
                of_pull[i], of_bend[i] = x0 + x1 * distance, y0 + y1 * distance
            for k in range(0, terms, STEP):
                x0, x1 = numbers[PULLS, k], numbers[PULLS, k + 1]
                x2, x3 = numbers[PULLS, k + 2], numbers[PULLS, k + 3]
                y0, y1 = numbers[BENDS, k], numbers[BENDS, k + 1]
                y2, y3 = numbers[BENDS, k + 2], numbers[BENDS, k + 3]
                for i in range(begin, end):
                    a, b, d, e = powers[k, i], powers[k + 1, i], powers[k + 2, i], powers[k + 3, i]
                    of_pull[i] += (a * x0 + b * x1) + (d * x2 + e * x3)
                    of_bend[i] += (a * y0 + b * y1) + (d * y2 + e * y3)
            for i in range(begin, end):
                pulls[first + i] += received[channel, first + i] * of_pull[i]
                bends[first + i] += received[channel, first + i] * of_bend[i]
            for k in range(terms if len(f) > SIZES and side == ABOVE else 0):
                of_term = 0.0
                for i in range(begin, end):
                    of_term += powers[k, i] * received[channel, first + i]
                total += numbers[SIZES, k] * of_term
    return total
