"""Small kernels that several objectives share.

Numerics of this page: no division by zero is checked inside a kernel (``error_model="numpy"``;
the check would keep loops from vectorising), exponentials take arguments of at most 150, so nothing
overflows for any finite score, and 1 - G is never formed by subtraction where G is near 1.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from .validation import Floats, Integers

# Discounts of the first ranks, and the sums of the first r of them: a logarithm takes eight times
# as long as a look-up.
DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(4096))
DISCOUNT_SUMS = np.concatenate((np.zeros(1), np.cumsum(DISCOUNTS)))
# Gains of whole grades, which are nearly all there are.
GAINS = np.exp2(np.arange(32.0)) - 1.0
# Loops inside a list run over a multiple of the numbers that the machine's vectors hold, and those
# over whole rows of scratch over a multiple of these, unrolled: nothing is left to do one by one.
LANES = 8
STRIDE = 32
# Up to this many documents, counting the better ones is faster than sorting.
SHORT_LIST = 64
# Insertions after which sorting by buckets is given up: the scores lie in few heaps.
MOVES_A_DOCUMENT = 8

F = TypeVar("F", bound=Callable[..., Any])

# Hessian choices as the kernels know them.
CONSTANT, GAUSS_NEWTON, EXACT = 0, 1, 2
HESSIANS = {"constant": CONSTANT, "gauss-newton": GAUSS_NEWTON, "exact": EXACT}

# No Hessian is returned below this. It lies far under the curvature of any query that still has
# something to learn (1e-6 a document for lists of 10,000) and far over float32's smallest number.
HESSIAN_FLOOR = 1e-10

# Indefinite diagonals are floored, query by query, at this share of their mean magnitude:
# a Newton step divided by a curvature near zero would be arbitrarily long.
INDEFINITE_FLOOR = 0.1


OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # to be called from C: nobody does, and it takes time to compile
    # Sums may be split over vector lanes; NaN and infinity keep their meaning.
    "fastmath": {"contract", "nsz", "reassoc", "arcp"},
}


def _compiled(function: F, **options: Any) -> F:
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        compiled = numba.njit(**options)(function)
    return compiled  # type: ignore[no-any-return]


def kernel(function: F) -> F:
    """Compile a function without the interpreter lock, cached on disk where that is possible."""
    return _compiled(function, **OPTIONS)


def part(function: F) -> F:
    """Compile like `kernel`, without what Python needs to call it: a fifth of the time.

    Only kernels call it. Called from Python, it crashes the process.
    """
    return _compiled(function, **OPTIONS, no_cpython_wrapper=True)


def strict(function: F) -> F:
    """Compile like `kernel`, but keep the order of operations.

    margin - (s_i - s_j) may not become (margin - s_i) + s_j, in which a large score swallows the
    margin, and which is hoisted out of loops just because it saves an operation.
    """
    # fastmath is switched off by name: left out, it is taken over from the kernel that calls.
    return _compiled(function, **{**OPTIONS, "fastmath": False})


def step(function: F) -> F:
    """Make a function part of the kernels that call it: compiled there, and not on its own too."""
    return numba.njit(inline="always", **OPTIONS)(function)  # type: ignore[no-any-return]


# The compiler knows vector forms of + - * / only: exp and log one by one take five times as long.
LOG2_E = 1.0 / math.log(2.0)
LN_2 = math.log(2.0)
LEAST_EXPONENT = -700.0
EXP_TERMS = np.array([1.0 / math.factorial(k) for k in range(14)])
ATANH_TERMS = np.array([1.0 / (2 * k + 1) for k in range(11)])
MANTISSA, EXPONENT_OF_ONE = (1 << 52) - 1, 1023 << 52


# Kernels on rows of scratch take its columns begin .. begin + n - 1, and count them unsigned: a
# signed index might be negative, which would keep loops from vectorising; and a slice of its own
# takes as long as ten documents.


@kernel
def exponentials(rows: Floats, bits: Integers, x: int, out: int, begin: int, n: int) -> None:
    """Write e^x of row `x` into row `out`, off by 3e-14 of it at most; 0 below e^-700.

    x is at most 700, and lost; `bits` are the rows as whole numbers. Three short loops take half
    the time of two that read one row and change another.
    """
    first = np.uint64(begin)
    for i in range(np.uint64(n)):
        power = np.floor(max(rows[x, first + i], LEAST_EXPONENT) * LOG2_E + 0.5)
        bits[out, first + i] = (int(power) + 1023) << 52  # 2^power
    for i in range(np.uint64(n)):
        clipped = max(rows[x, first + i], LEAST_EXPONENT)
        rest = clipped - np.floor(clipped * LOG2_E + 0.5) * LN_2
        value = EXP_TERMS[13]
        for k in range(12, -1, -1):
            value = value * rest + EXP_TERMS[k]
        rows[x, first + i] = value if rows[x, first + i] >= LEAST_EXPONENT else 0.0
    for i in range(np.uint64(n)):
        rows[out, first + i] *= rows[x, first + i]


@kernel
def logarithms(rows: Floats, bits: Integers, x: int, out: int, begin: int, n: int) -> None:
    """Write ln x, x >= 1 or infinite, of row `x` into row `out`, off by 5e-16 of it."""
    first = np.uint64(begin)
    for i in range(np.uint64(n)):
        bits[out, first + i] = (bits[x, first + i] & MANTISSA) | EXPONENT_OF_ONE
    for i in range(np.uint64(n)):
        upper = rows[out, first + i] > math.sqrt(2.0)
        value = 0.5 * rows[out, first + i] if upper else rows[out, first + i]
        power = float((bits[x, first + i] >> 52) - 1023) + (1.0 if upper else 0.0)
        root = (value - 1.0) / (value + 1.0)
        square = root * root
        series = ATANH_TERMS[10]
        for k in range(9, -1, -1):
            series = series * square + ATANH_TERMS[k]
        finite = rows[x, first + i] < math.inf
        rows[out, first + i] = power * LN_2 + 2.0 * root * series if finite else math.inf


@part
def discount(rank: float) -> float:
    """d(r) = 1/log2(1 + r); 0 at an infinite rank."""
    return math.log(2.0) / math.log1p(rank)


@part
def padded(n: int) -> int:
    """Multiple of `LANES` that holds n, and of `STRIDE` where that takes hardly more."""
    width = (n + LANES - 1) // LANES * LANES
    return width + LANES if n > STRIDE and width % STRIDE == STRIDE - LANES else width


@part
def strided(n: int) -> int:
    """Smallest multiple of `STRIDE` that holds n."""
    return (n + STRIDE - 1) // STRIDE * STRIDE


@step
def _order_short(scores: Floats, n: int, order: Integers, counts: Integers) -> None:
    """Rank every document by counting the better ones: no branches, so fastest for short lists."""
    for i in range(n):
        counts[i] = 0
    for i in range(n, padded(n)):
        scores[i] = -math.inf
    for i in range(0, n, 2):  # two at a time hide each other's waiting
        one, two = scores[i], scores[i + 1]
        better_one, better_two = 0, 0
        for j in range(np.uint64(padded(n))):
            better_one += 1 if scores[j] > one else 0
            better_two += 1 if scores[j] > two else 0
        order[better_one + counts[better_one]] = i  # ties: one place further each
        counts[better_one] += 1
        if i + 1 < n:
            order[better_two + counts[better_two]] = i + 1
            counts[better_two] += 1


@part
def _order_long(scores: Floats, order: Integers, places: Integers, counts: Integers) -> bool:
    """Sort into as many buckets as documents, then by insertion; False where that would be slow."""
    n = len(scores)
    top, bottom = scores[0], scores[0]
    for i in range(n):
        top, bottom = max(top, scores[i]), min(bottom, scores[i])
    scale = (n - 1) / (top - bottom)
    if not (0.0 < scale < math.inf):  # all tied, or differences that are no longer finite
        return False
    for bucket in range(n + 1):
        counts[bucket] = 0
    for i in range(n):
        bucket = int((top - scores[i]) * scale)
        places[i] = bucket
        counts[bucket + 1] += 1
    for bucket in range(n):
        counts[bucket + 1] += counts[bucket]
    for i in range(n):
        bucket = places[i]
        order[counts[bucket]] = i
        counts[bucket] += 1
    moves = MOVES_A_DOCUMENT * n
    for place in range(1, n):
        i = order[place]
        own = scores[i]
        hole = place
        while hole > 0 and scores[order[hole - 1]] < own:
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = i
        moves -= place - hole
        if moves < 0:
            return False
    return True


@part
def _order_any(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Merge ever longer runs. NumPy's stable sort takes three seconds to compile."""
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for place in range(begin, end):
                ahead = right >= end or (
                    left < middle and not (scores[order[right]] > scores[order[left]])
                )
                if ahead:
                    work[place] = order[left]
                    left += 1
                else:
                    work[place] = order[right]
                    right += 1
        for place in range(n):
            order[place] = work[place]
        width *= 2


@step
def write_long_order(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Write what `write_order` writes, for lists beyond `SHORT_LIST`."""
    if not _order_long(scores[:n], order, work[0], work[1]):
        _order_any(scores, n, order, work[0])


@step
def write_order(scores: Floats, n: int, order: Integers, work: Integers) -> None:
    """Write the document at each position, best of the first n first; ties keep input order.

    `scores` is scratch with room for padding; `work` has two rows of at least n + 1.
    """
    if n <= SHORT_LIST:
        _order_short(scores, n, order, work[0])
    else:
        write_long_order(scores, n, order, work)


@step
def merged_order(scores: Floats) -> Integers:
    """Return what `order_by_score` does: quicker to compile and slower, for what is rare."""
    n = len(scores)
    order, work = np.empty(n, np.int64), np.empty(n, np.int64)
    _order_any(scores, n, order, work)
    return order


@kernel
def order_by_score(scores: Floats) -> Integers:
    """Document at each position, best first; ties keep input order."""
    n = len(scores)
    room = np.empty(padded(n))
    for i in range(n):
        room[i] = scores[i]
    order = np.empty(n, np.int64)
    write_order(room, n, order, np.empty((2, n + 1), np.int64))
    return order


@step
def in_order(values: Floats, order: Integers) -> Floats:
    """Return values by rank; a loop, as indexing by an array takes a second to compile."""
    ranked = np.empty(len(values))
    for rank in range(len(values)):
        ranked[rank] = values[order[rank]]
    return ranked


@part
def rank_discount(rank: int) -> float:
    """d(r) of a whole rank."""
    return DISCOUNTS[rank - 1] if rank <= len(DISCOUNTS) else discount(float(rank))


@part
def discount_sum(first: int, last: int) -> float:
    """Sum of the discounts of the ranks first + 1 .. last."""
    tabled = len(DISCOUNTS)
    if last <= tabled:  # nearly always
        return float(DISCOUNT_SUMS[last] - DISCOUNT_SUMS[first])
    total: float = DISCOUNT_SUMS[min(last, tabled)] - DISCOUNT_SUMS[min(first, tabled)]
    for rank in range(max(first, tabled) + 1, last + 1):
        total += discount(float(rank))
    return total


@step
def ideal_dcg(gains: Floats, order: Integers, k: int) -> float:
    """Z_k: the k largest gains, which `order` has first, times the discounts."""
    total = 0.0
    for position in range(min(k, len(gains))):
        total += gains[order[position]] * rank_discount(position + 1)
    return total


@part
def _read_real_grades(labels: Floats, k: int, gains: Floats) -> float:
    for i in range(len(labels)):
        gains[i] = np.exp2(labels[i]) - 1.0
    known = gains[: len(labels)]
    return 0.0 if all_equal(known) else ideal_dcg(known, merged_order(known), k)


@step
def read_grades(labels: Floats, k: int, gains: Floats, counts: Integers) -> float:
    """Write the gains; return the ideal DCG at k, or 0 where all grades are equal.

    `counts` is scratch of at least 32.
    """
    n = len(labels)
    for grade in range(len(GAINS)):
        counts[grade] = 0
    best = 0
    for i in range(n):
        grade = int(labels[i])
        if grade >= len(GAINS) or grade != labels[i]:
            return _read_real_grades(labels, k, gains)
        counts[grade] += 1
        gains[i] = GAINS[grade]
        best = max(best, grade)
    if counts[best] == n:
        return 0.0
    total = 0.0
    filled = 0
    for grade in range(best, 0, -1):
        last = min(filled + counts[grade], k)
        total += GAINS[grade] * discount_sum(filled, last)
        filled = last
    return total


@part
def all_equal(values: Floats) -> bool:
    """Whether every value is the same (also of an empty list)."""
    others = 0
    for i in range(len(values)):
        others += 1 if values[i] != values[0] else 0
    return others == 0


@part
def logistic(x: float) -> tuple[float, float]:
    """G = 1/(1 + e^x) and its slope -G' = G (1 - G), neither by a cancelling difference."""
    e = math.exp(-abs(x))
    below = 1.0 / (1.0 + e)  # G(-|x|)
    above = e * below  # G(|x|)
    if x >= 0.0:
        return above, above * below
    return below, above * below


@part
def floor_indefinite(hess: Floats) -> None:
    """Floor a query's diagonal at `INDEFINITE_FLOOR` of its mean magnitude, in place."""
    total = 0.0
    for i in range(len(hess)):
        total += abs(hess[i])
    floor = max(HESSIAN_FLOOR, INDEFINITE_FLOOR * total / max(1, len(hess)))
    for i in range(len(hess)):
        hess[i] = max(hess[i], floor)
