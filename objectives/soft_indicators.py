r"""Soft indicators "is document i at rank j?", on which SmoothNDCG, SmoothPrecision, SmoothAP rest.

Source
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    sections 4.1 to 4.3, equations (7), (8), (10), (11). All quantities are in ranked order here:
    t_1 >= ... >= t_n are the scores, so that s_{d(j)} = t_j, and a_i belongs to the document at
    rank i. Ties are ranked in input order.

Definition
    e_ij = exp(-(t_i - t_j)^2 / sigma)                                          (11)
    h_ij = e_ij / E_j, E_j = sum_i e_ij                                         (7)
    A    = sum_j b_j m_j, m_j = sum_i a_i h_ij                                  (8)
    for a measure sum_ij a_i b_j 1(rank_i = j).

Gradient
    (10), summed over i, factorises as section 4.3 says: with u_ij = t_i - t_j and
    lambda_ij = (2/sigma) b_j (a_i - m_j) h_ij u_ij, position j gives the document at i -lambda_ij
    and the document at j +lambda_ij: O(n) a position.

Hessians of A, position by position
    exact         at i != j: b_j (a_i - m_j) (e''_ij/E_j - 2 (e'_ij/E_j)^2),
                  e' = -(2 u/sigma) e, e'' = (4 u^2/sigma^2 - 2/sigma) e;
                  at j: b_j (sum_i (a_i - m_j) e''_ij - 2 m'_j E'_j)/E_j, where
                  m'_j = -sum_i (a_i - m_j) e'_ij/E_j, E'_j = -sum_i e'_ij, sums over i != j
    gauss-newton  |lambda_ij| sqrt(2/sigma) at i and at j

Numerics
    Terms with u^2/sigma > BAND are left out: together they weigh less than one rounding error in
    lists of 10,000. As scores are sorted, the band around j is walked outwards and left at its
    edge, so a narrow sigma is fast.
"""

import math

import numpy as np

from .numerics import EXACT, kernel
from .validation import Floats, Integers

# e^-40 = 4e-18; a document that far from a rank moves no sum by more than 1e-16 of itself.
BAND = 40.0


@kernel
def ranked(order: Integers, values: Floats) -> Floats:
    """Values in ranked order."""
    return values[order]


@kernel
def soft_rank(
    t: Floats, a: Floats, j: int, sigma: float, e: Floats
) -> tuple[int, int, float, float]:
    """Write column j of e; return its first row, the row after its last, E_j and m_j."""
    n = len(t)
    first, stop = j, j + 1
    e[j] = 1.0
    total = 1.0
    weighted = a[j]
    while first > 0:
        u = t[first - 1] - t[j]
        x = u * u / sigma
        if x > BAND:
            break
        first -= 1
        e[first] = math.exp(-x)  # (11)
        total += e[first]
        weighted += a[first] * e[first]
    while stop < n:
        u = t[stop] - t[j]
        x = u * u / sigma
        if x > BAND:
            break
        e[stop] = math.exp(-x)
        total += e[stop]
        weighted += a[stop] * e[stop]
        stop += 1
    return first, stop, total, weighted / total
