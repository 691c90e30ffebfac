"""Random numbers that depend on the query, not on its position in the data.

A generator that runs over the rows of a data set gives a query different numbers when queries are
reordered or distributed over workers. Here every number is a function of the seed, the round, the
query and the document's place in the query. The same model is then learnt in any order of the
queries, and on any number of workers.

Identity
    A query is identified by what an objective sees of it: its labels and scores, in the order of
    its documents. Before the first tree, queries with the same labels also have the same scores,
    and draw the same numbers in that round. From the second round on, their scores differ.

    For this, scores are rounded to multiples of 1/1024. Summing over documents in another order
    changes the last bits of a score, which must not change the draws. A score near the middle
    between two multiples may still be rounded to the other one: for float32 scores near 1 whose
    last bit differs, one in 10,000.

Generator
    SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014):
    number t of a stream is mix(state + t GAMMA), so no number depends on the one before it.
        key_q   = mix(key_round + sum_i mix(bits(y_i) + STEP round(s_i / unit) + i GAMMA) + n GAMMA)
        state   = mix(key_q + STREAM stream)
        z_i     = mix(state + i GAMMA),  i = 1..n
        u_i     = ((z_i >> 12) + 1/2) / 2^52, never 0 or 1
    The key of a round comes from `numpy.random.SeedSequence`.

Noise
    gumbel    -ln(-ln u_i)
    gaussian  sqrt(-2 ln a_i) cos(2 pi b_i) with the upper and lower half of z_i,
              a_i = ((z_i >> 32) + 1/2) / 2^32, b_i = (z_i mod 2^32) / 2^32  (Box, Muller 1958)
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..validation import Floats, Integers
from .jit import bind, jit_entry, jit_helper, jit_ordered
from .threads import over_queries
from .vector import logarithms

Keys = npt.NDArray[np.uint64]

# Scores are rounded to 1/1024: far below any difference that matters, far above rounding errors.
# Adding TO_WHOLE to a number below 2^50 rounds it to an integer, since float64 then has no bits
# left after the point. Larger scores are no longer distinguished.
UNITS = 1024.0
TO_WHOLE = 1.5 * 2.0**52
MOST_UNITS = 2.0**50

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, as in the paper
STEP = np.uint64(0xD1342543DE82EF95)
STREAM = np.uint64(0xDA942042E4DD58B5)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S12, _S20, _S27, _S30, _S31, _S32 = (np.uint64(n) for n in (12, 20, 27, 30, 31, 32))

# The bits of a number in [1, 2) are those of 1 and those of its fraction. Subtracting BELOW_ONE or
# BELOW_ONE_32 then gives the middle of one of 2^52 or 2^32 steps from 0 to 1.
ONE = np.uint64(1023 << 52)
MINUS_ZERO, PLUS_ZERO = np.uint64(1 << 63), np.uint64(0)
BELOW_ONE, BELOW_ONE_32 = 1.0 - 2.0**-53, 1.0 - 2.0**-33
SINE_TERMS = np.array(
    [(-1.0) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(11)]
)

# A generator of others may draw 0, for which the noise would be infinite.
TINY = float(np.finfo(np.float64).tiny)
# Numbers turned into noise at a time: they stay in the fastest cache.
BLOCK = 512


@jit_helper
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@jit_ordered
def _perturbed(score: float, scale: float, noise: float) -> float:
    return score + scale * noise


@jit_ordered
def _cosine(turn: float) -> float:
    """cos(2 pi (turn + 1/2)), -1/2 <= turn < 1/2."""
    square = turn * turn
    sine: float = SINE_TERMS[10]
    for k in range(9, -1, -1):
        sine = sine * square + SINE_TERMS[k]
    sine *= turn
    return 2.0 * sine * sine - 1.0


@jit_entry
def _write_keys(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Keys,
    key: np.uint64,
    keys: Keys,
) -> None:
    rounded = np.empty(BLOCK)
    bits = rounded.view(np.uint64)
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        total = np.uint64(0)
        for start in range(a, b, BLOCK):
            n = min(BLOCK, b - start)
            for i in range(n):
                units = scores[start + i] * UNITS
                rounded[i] = max(-MOST_UNITS, min(MOST_UNITS, units)) + TO_WHOLE
            for i in range(n):
                place = np.uint64(start - a + i + 1)
                label = labels[start + i] if labels[start + i] != MINUS_ZERO else PLUS_ZERO
                total += _mix(label + STEP * bits[i] + place * GAMMA)
        keys[q] = _mix(key + total + np.uint64(b - a) * GAMMA)


@jit_helper
def _write_bits(
    first: int, last: int, boundaries: Integers, keys: Keys, stream: int, out: Keys
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        state = _mix(keys[q] + np.uint64(stream) * STREAM)
        for i in range(a, b):
            out[i] = _mix(state + np.uint64(i - a + 1) * GAMMA)


@jit_helper
def _to_uniform(numbers: Floats, bits: Keys, n: int) -> None:
    """Replace the first n numbers, random `bits`, by uniform ones on (0, 1)."""
    for i in range(n):
        bits[i] = (bits[i] >> _S12) | ONE
    for i in range(n):
        numbers[i] -= BELOW_ONE


@jit_entry
def _write_uniforms(
    first: int, last: int, boundaries: Integers, keys: Keys, stream: int, out: Floats
) -> None:
    bits = out.view(np.uint64)
    _write_bits(first, last, boundaries, keys, stream, bits)
    begin, end = boundaries[first], boundaries[last]
    _to_uniform(out[begin:end], bits[begin:end], end - begin)


@jit_helper
def _to_minus_gumbel(uniforms: Floats, room: Floats, n: int) -> None:
    """Replace the first n uniform numbers u by ln(-ln u), which is minus Gumbel noise."""
    logarithms(uniforms, room, n)
    for i in range(n):
        room[i] = -room[i]
    logarithms(room, uniforms, n)


@jit_helper
def write_noisy(uniforms: Floats, scores: Floats, noisy: Floats, room: Floats) -> None:
    """Write scores with the Gumbel noise that uniform numbers stand for."""
    n = len(scores)
    for i in range(n):
        noisy[i] = max(uniforms[i], TINY)
    _to_minus_gumbel(noisy, room, n)
    for i in range(n):
        noisy[i] = scores[i] - noisy[i]


# Noise in place of a block's random bits, with two rows of scratch; `room_bits` are views of one.
@jit_helper
def _gumbel(block: Floats, bits: Keys, room: Floats, room_bits: Keys, logs: Floats, n: int) -> None:
    _to_uniform(block, bits, n)
    _to_minus_gumbel(block, room, n)
    for i in range(n):
        block[i] = -block[i]


@jit_helper
def _gaussian(
    block: Floats, bits: Keys, turn: Floats, turn_bits: Keys, logs: Floats, n: int
) -> None:
    for i in range(n):
        turn_bits[i] = (bits[i] << _S32 >> _S12) | ONE
        bits[i] = (bits[i] >> _S32 << _S20) | ONE
    for i in range(n):
        block[i] -= BELOW_ONE_32
    logarithms(block, logs, n)
    for i in range(n):
        block[i] = math.sqrt(-2.0 * logs[i]) * _cosine(turn[i] - 1.5)


noise: Any = None  # bound below


def _write_perturbed(
    first: int,
    last: int,
    boundaries: Integers,
    keys: Keys,
    stream: int,
    scale: float,
    scores: Floats,
    out: Floats,
) -> None:
    room, logs = np.empty(BLOCK), np.empty(BLOCK)
    bits, room_bits = out.view(np.uint64), room.view(np.uint64)
    _write_bits(first, last, boundaries, keys, stream, bits)
    for start in range(boundaries[first], boundaries[last], BLOCK):
        n = min(BLOCK, boundaries[last] - start)
        block = out[start : start + n]
        noise(block, bits[start : start + n], room, room_bits, logs, n)
        for i in range(n):
            block[i] = _perturbed(scores[start + i], scale, block[i])


#: By kind, what `over_queries` runs with keys, a stream, the scale of noise, and scores, to write
#: these with the noise into the last array.
NOISES = {
    kind: jit_entry(bind(_write_perturbed, (), kind, noise=write))
    for kind, write in (("gumbel", _gumbel), ("gaussian", _gaussian))
}


def query_keys(seed: int, round: int, scores: Floats, labels: Floats, boundaries: Integers) -> Keys:
    """Return the key of every query in a round, from which all its numbers are made.

    Parameters
    ----------
    seed : int
        Not negative.
    round : int
        Boosting round, from 1.
    scores, labels : float64 arrays (n_docs,)
    boundaries : int64 array (n_queries + 1,)

    Returns
    -------
    uint64 array (n_queries,)
    """
    (key,) = np.random.SeedSequence((seed, round)).generate_state(1, np.uint64)
    keys = np.empty(len(boundaries) - 1, np.uint64)
    over_queries(_write_keys, boundaries, scores, labels.view(np.uint64), key, keys)
    return keys


def write_uniforms(keys: Keys, boundaries: Integers, stream: int, out: Floats) -> None:
    """Write a uniform number on (0, 1) for every document.

    Parameters
    ----------
    keys : uint64 array (n_queries,)
    boundaries : int64 array (n_queries + 1,)
    stream : int
        Different streams draw independent numbers.
    out : float64 array (n_docs,)
    """
    over_queries(_write_uniforms, boundaries, keys, stream, out)


def query_uniforms(keys: Keys, stream: int) -> Floats:
    """Return a uniform number on (0, 1) for every query.

    Parameters
    ----------
    keys : uint64 array (n_queries,)
    stream : int
    """
    numbers = np.empty(len(keys))
    _write_uniforms(0, len(keys), np.arange(len(keys) + 1), keys, stream, numbers)
    return numbers
