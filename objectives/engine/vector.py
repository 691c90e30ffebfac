"""Functions that run over many numbers at once, and the vector widths for them.

Exponentials take arguments of at most 150, so nothing overflows for any finite score, and 1 - G is
never computed by subtraction where G is near 1.
"""

import math

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev
from numpy.polynomial.polynomial import Polynomial

from ..validation import Floats
from .jit import Function, jit_helper, jit_ordered, jit_shared

# Loops inside a list run over a multiple of the machine's vector width, and loops over whole
# columns of scratch over a multiple of that, unrolled: no remainder is left to do one by one.
LANES = 8
STRIDE = 32

# The compiler vectorises only + - * /: exp and log one by one take five times as long.
LOG2_E = 1.0 / math.log(2.0)
LN_2 = math.log(2.0)
LEAST_EXPONENT = -700.0
EXP_TERMS = np.array([1.0 / math.factorial(k) for k in range(14)])
ATANH_TERMS = np.array([1.0 / (2 * k + 1) for k in range(11)])
MANTISSA, EXPONENT_OF_ONE = (1 << 52) - 1, 1023 << 52


@jit_shared
def exponentials(x: Floats, out: Floats, n: int) -> None:
    """Write e^x of the first n numbers, with a relative error of at most 3e-14; 0 below e^-700.

    x is at most 700, and is overwritten. Three short loops take half the time of two that read one
    array and change another.
    """
    for i in range(np.uint64(n)):
        power = np.floor(max(x[i], LEAST_EXPONENT) * LOG2_E + 0.5)
        out[i] = np.int64((np.int64(power) + 1023) << 52).view(np.float64)  # 2^power
    for i in range(np.uint64(n)):
        clipped = max(x[i], LEAST_EXPONENT)
        rest = clipped - np.floor(clipped * LOG2_E + 0.5) * LN_2
        value = EXP_TERMS[13]
        for k in range(12, -1, -1):
            value = value * rest + EXP_TERMS[k]
        x[i] = value if x[i] >= LEAST_EXPONENT else 0.0
    for i in range(np.uint64(n)):
        out[i] *= x[i]


@jit_ordered
def _logarithm(mantissa: float, power: float) -> float:
    """ln(2^power mantissa), 1 <= mantissa < 2.

    Rounds the same in vectors and in the remainder of a loop: a query has the same bits wherever it
    is in a batch.
    """
    upper = mantissa > math.sqrt(2.0)
    value = 0.5 * mantissa if upper else mantissa
    exponent = power + (1.0 if upper else 0.0)
    root = (value - 1.0) / (value + 1.0)
    square = root * root
    series: float = ATANH_TERMS[10]
    for k in range(9, -1, -1):
        series = series * square + ATANH_TERMS[k]
    return exponent * LN_2 + 2.0 * root * series


@jit_shared
def logarithms(x: Floats, out: Floats, n: int) -> None:
    """Write ln x of the first n numbers, normal and positive or infinite, to 5e-16 of its size."""
    for i in range(np.uint64(n)):
        bits = np.float64(x[i]).view(np.int64)
        out[i] = np.int64((bits & MANTISSA) | EXPONENT_OF_ONE).view(np.float64)
    for i in range(np.uint64(n)):
        power = float((np.float64(x[i]).view(np.int64) >> 52) - 1023)
        out[i] = _logarithm(out[i], power) if x[i] < math.inf else math.inf


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


LOG_TERMS = series(lambda z: np.log1p(z) / z, 18)


@jit_helper
def log1p_of(z: float) -> float:
    """ln(1 + z) for z from 0 to 1, with a relative error of 2e-14, in vectorisable operations."""
    value: float = LOG_TERMS[17]
    for k in range(16, -1, -1):
        value = value * z + LOG_TERMS[k]
    return value * z


@jit_helper
def padded(n: int) -> int:
    """Return a multiple of `LANES` that holds n, and of `STRIDE` where that takes hardly more."""
    width = (n + LANES - 1) // LANES * LANES
    return width + LANES if n > STRIDE and width % STRIDE == STRIDE - LANES else width


def aligned(rows: int, width: int) -> Floats:
    """Return memory whose rows are aligned to the machine's vectors, if `LANES` divides `width`.

    A vector that straddles two cache lines takes twice as long.
    """
    room = np.empty(rows * width + LANES)
    skip = (64 - room.ctypes.data % 64) % 64 // 8
    return room[skip : skip + rows * width].reshape((rows, width))


@jit_helper
def strided(n: int) -> int:
    """Return the smallest multiple of `STRIDE` that holds n."""
    return (n + STRIDE - 1) // STRIDE * STRIDE


@jit_helper
def logistic(x: float) -> tuple[float, float]:
    """G = 1/(1 + e^x) and its slope -G' = G (1 - G), neither by a cancelling difference."""
    e = math.exp(-abs(x))
    below = 1.0 / (1.0 + e)  # G(-|x|)
    above = e * below  # G(|x|)
    if x >= 0.0:
        return above, above * below
    return below, above * below


@jit_helper
def logistic_loss(x: float) -> float:
    """ln(1 + e^{-x}), by exponentials of non-positive arguments only."""
    return max(0.0, -x) + math.log1p(math.exp(-abs(x)))
