"""Small kernels that several objectives share.

Numerics of this page: no division by zero is checked inside a kernel (``error_model="numpy"``;
the check would keep loops from vectorising), exponentials take non-positive arguments only, so
nothing overflows for any finite score, and 1 - G is never formed by subtraction where G is near 1.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from .validation import Floats, Integers

# e^-600 is 1e-261: the ratio of two such numbers keeps all its digits.
LARGEST_SPREAD = 600.0

# Discounts of the first ranks: a logarithm takes eight times as long as a look-up.
DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(1024))
# Passes over a list that take about as long as sorting it.
DISTINCT_GAINS = 8

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


def kernel(function: F) -> F:
    """Compile a function without the interpreter lock, cached on disk where that is possible."""
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        # Sums may be split over vector lanes; NaN and infinity keep their meaning.
        "fastmath": {"contract", "nsz", "reassoc", "arcp"},
    }
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        compiled = numba.njit(**options)(function)
    return compiled  # type: ignore[no-any-return]


@kernel
def discount(rank: float) -> float:
    """d(r) = 1/log2(1 + r); 0 at an infinite rank."""
    return math.log(2.0) / math.log1p(rank)


@kernel
def order_by_score(scores: Floats) -> Integers:
    """Document at each position, best first; ties keep input order."""
    return np.argsort(-scores, kind="mergesort")


@kernel
def rank_discount(rank: int) -> float:
    """d(r) of a whole rank."""
    return DISCOUNTS[rank - 1] if rank <= len(DISCOUNTS) else discount(float(rank))


@kernel
def ideal_dcg(gains: Floats, k: int) -> float:
    """Z_k: the k largest gains in order times the discounts."""
    n = len(gains)
    top = min(k, n)
    total = 0.0
    filled = 0
    last = math.inf
    # Grades are few: a pass over the list for each distinct gain is faster than sorting.
    for _ in range(DISTINCT_GAINS):
        if filled >= top:
            return total
        largest = -math.inf
        for i in range(n):
            gain = gains[i] if gains[i] < last else -math.inf
            largest = gain if gain > largest else largest
        count = 0
        for i in range(n):
            count += 1 if gains[i] == largest else 0
        for _ in range(min(count, top - filled)):
            filled += 1
            total += largest * rank_discount(filled)
        last = largest
    ordered = np.sort(gains)
    for position in range(filled, top):
        total += ordered[n - 1 - position] * rank_discount(position + 1)
    return total


@kernel
def all_equal(values: Floats) -> bool:
    """Whether every value is the same (also of an empty list)."""
    return bool(np.all(values[1:] == values[:-1]))


@kernel
def logistic(x: float) -> tuple[float, float]:
    """G = 1/(1 + e^x) and its slope -G' = G (1 - G), neither by a cancelling difference."""
    e = math.exp(-abs(x))
    below = 1.0 / (1.0 + e)  # G(-|x|)
    above = e * below  # G(|x|)
    if x >= 0.0:
        return above, above * below
    return below, above * below


@kernel
def scaled_exponentials(scores: Floats, alpha: float, exponentials: Floats) -> bool:
    """Write E_i = exp(alpha (s_i - max s)); False, and nothing, where the smallest underflows."""
    top = scores.max()
    if alpha * (top - scores.min()) > LARGEST_SPREAD:
        return False
    for i in range(len(scores)):
        exponentials[i] = math.exp(alpha * (scores[i] - top))
    return True


@kernel
def decays(
    scores: Floats, alpha: float, exponentials: Floats, factorised: bool, i: int, row: Floats
) -> None:
    """Write e_ij = exp(-alpha |s_i - s_j|) for the first documents j, as many as `row` holds.

    One division a pair (the loop vectorises), or one exponential where `scaled_exponentials` had to
    give up. Then 1/(1 + e) and e/(1 + e) are G_alpha(-|x|) and G_alpha(|x|), and e/(1 + e)^2 is
    their slope over alpha.
    """
    if factorised:
        own = exponentials[i]
        for j in range(len(row)):
            other = exponentials[j]
            row[j] = other / own if other < own else own / other
    else:
        for j in range(len(row)):
            row[j] = math.exp(-alpha * abs(scores[i] - scores[j]))


@kernel
def floor_indefinite(hess: Floats) -> None:
    """Floor a query's diagonal at `INDEFINITE_FLOOR` of its mean magnitude, in place."""
    total = 0.0
    for i in range(len(hess)):
        total += abs(hess[i])
    floor = max(HESSIAN_FLOOR, INDEFINITE_FLOOR * total / max(1, len(hess)))
    for i in range(len(hess)):
        hess[i] = max(hess[i], floor)
