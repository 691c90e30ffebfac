r"""SmoothAP's equation (9) for a long list, in O(n log n) time.

With rho = G (1 - G) at s_i - s_j, M_i = r^_i - N_i and, for relevant documents,

    a_i = M_i/(R r^_i^2)    b_i = N_i/(R r^_i^2)

the gradient, times sigma, is

    sum_{j relevant} (a_p - a_j) rho_pj - b_p sum_{j not relevant} rho_pj    for a relevant p
    sum_{j relevant} b_j rho_pj                                              for any other p

and the Gauss-Newton curvature needs the same sums of absolute values. The logistic function and its
slope are sums of powers of z = e^{-|s_i - s_j|/sigma},

    z/(1 + z) = sum_k c_k z^k,    z/(1 + z)^2 = sum_k d_k z^k,    k = 1..`TERMS`                (*)

with c and d from Chebyshev interpolation. The relative errors are 2e-15 and 4e-14. A sweep from the
best score to the worst carries sum_j w_j z_ij^k over the documents above, and a second one, back,
the same over the documents below. From one document to the next, sums are multiplied by powers of a
number of at most 1, so nothing overflows for any scores.

|a_p - a_j| does not factorise. The relevant documents are therefore halved by a, recursively: for a
pair across a cut at c, the difference is |a_p - c| + |a_j - c|, and nothing cancels.
"""

import numpy as np

from ..validation import Floats, Integers
from .columns import LARGEST_EXPONENT
from .curvature import LOSS
from .far_field import series
from .jit import jit_allocating, jit_helper
from .order import in_order, order_by_score
from .vector import exponentials, logistic, strided

TERMS = 20
# Passed as `fit`: loops with a constant trip count would be unrolled, and not vectorised.
SHARE = series(lambda z: 1.0 / (1.0 + z), TERMS)  # c
SLOPE = series(lambda z: (1.0 + z) ** -2.0, TERMS)  # d
# Powers of z are written for this many documents at a time: they stay in the fastest cache.
CHUNK = 64
# Up to this many documents, all pairs one by one take less time than further cuts.
DIRECT = 64

ABOVE = 0  # the first of two sweeps; the second adds what is below


@jit_allocating
def score_powers(scores: Floats, sigma: float) -> tuple[Floats, bool]:
    """Return E = e^{s/sigma} over that of one score, and whether ratios of E are accurate."""
    n = len(scores)
    x, powers = np.zeros(strided(n)), np.zeros(strided(n))
    factorised = True
    for i in range(n):
        x[i] = (scores[i] - scores[0]) / sigma
        factorised &= abs(x[i]) <= LARGEST_EXPONENT
        x[i] = min(x[i], LARGEST_EXPONENT)
    exponentials(x, powers, strided(n))
    return powers[:n], factorised


@jit_helper
def write_shares(
    scores: Floats,
    sigma: float,
    powers: Floats,
    factorised: bool,
    i: int,
    above: Floats,
    below: Floats,
) -> None:
    """Write G(s_i - s_j) and G(s_j - s_i), by how much j is above i and below it.

    `above` is 0 for i itself, which leaves i out of all sums over rho = G(s_i - s_j) G(s_j - s_i).
    If ratios of `powers`, from `score_powers`, are accurate, one division per pair is enough.
    """
    if factorised:
        own = powers[i]
        for j in range(len(scores)):
            inverse = 1.0 / (own + powers[j])
            above[j] = powers[j] * inverse
            below[j] = own * inverse
    else:
        for j in range(len(scores)):
            x = (scores[i] - scores[j]) / sigma
            above[j] = logistic(x)[0]
            below[j] = logistic(-x)[0]
    above[i] = 0.0


@jit_helper
def _write_steps(n: int, scores: Floats, sigma: float, x: Floats, steps: Floats) -> None:
    """Write z of each document and the one before it; 0 for the first, and after the last."""
    x[0] = x[n] = -np.inf
    for i in range(1, n):
        x[i] = (scores[i] - scores[i - 1]) / sigma
    exponentials(x, steps, n + 1)


@jit_helper
def _write_rows(steps: Floats, side: int, done: int, rows: Floats) -> int:
    """Write z, z^2 and so on for the next documents of a sweep, a row for each; return how many."""
    n = len(steps) - 1
    count = min(CHUNK, n - done)
    first, stride = (done, 1) if side == ABOVE else (n - done, -1)
    terms, four = np.uint64(len(rows) // CHUNK), np.uint64(4)
    for t in range(np.uint64(count)):
        z, row = steps[first + stride * t], t * terms
        rows[row], rows[row + np.uint64(1)] = z, z * z
        rows[row + np.uint64(2)], rows[row + np.uint64(3)] = z * z * z, (z * z) * (z * z)
    for t in range(np.uint64(count)):
        row = t * terms
        fourth = rows[row + np.uint64(3)]
        for k in range(row, row + terms - four):
            rows[k + four] = fourth * rows[k]
    return count


@jit_allocating
def _add_counts(
    scores: Floats, relevant: Floats, sigma: float, fit: Floats, hits: Floats, misses: Floats
) -> None:
    """For relevant i, add the sums of G(s_i - s_j) over relevant j != i, and over the others."""
    n, terms = len(scores), np.uint64(len(fit))
    x, steps, rows = np.empty(n + 1), np.empty(n + 1), np.empty(CHUNK * TERMS)
    _write_steps(n, scores, sigma, x, steps)
    sums = np.empty((2, TERMS))
    for side in range(2):
        of_hits, of_misses = sums[0], sums[1]
        n_hits, n_misses = 0.0, 0.0
        for k in range(terms):
            of_hits[k] = of_misses[k] = 0.0
        for done in range(0, n, CHUNK):
            for t in range(_write_rows(steps, side, done, rows)):
                i = done + t if side == ABOVE else n - 1 - done - t
                row = np.uint64(t) * terms
                hit, miss = 0.0, 0.0
                for k in range(terms):
                    one, other = of_hits[k] * rows[row + k], of_misses[k] * rows[row + k]
                    of_hits[k], of_misses[k] = one, other
                    hit += fit[k] * one
                    miss += fit[k] * other
                if relevant[i] != 0.0:
                    hits[i] += n_hits - hit if side == ABOVE else hit  # G(-x) = 1 - G(x)
                    misses[i] += n_misses - miss if side == ABOVE else miss
                    n_hits += 1.0
                    for k in range(terms):
                        of_hits[k] += 1.0
                else:
                    n_misses += 1.0
                    for k in range(terms):
                        of_misses[k] += 1.0


@jit_allocating
def _write_across(
    n: int,
    scores: Floats,
    better: Floats,
    weights: Floats,
    sigma: float,
    fit: Floats,
    out: Floats,
) -> None:
    """Write the sums of (w_i + w_j) rho_ij over pairs of one with `better` 1 and one with 0."""
    terms = np.uint64(len(fit))
    x, steps, rows = np.empty(n + 1), np.empty(n + 1), np.empty(CHUNK * TERMS)
    _write_steps(n, scores, sigma, x, steps)
    for i in range(n):
        out[i] = 0.0
    sums = np.empty((4, TERMS))  # of 1 and w over those not better, then over the others
    for side in range(2):
        for kind in range(4):
            for k in range(terms):
                sums[kind, k] = 0.0
        for done in range(0, n, CHUNK):
            for t in range(_write_rows(steps, side, done, rows)):
                i = done + t if side == ABOVE else n - 1 - done - t
                row, own = np.uint64(t) * terms, 2 * int(better[i])
                weight, total = weights[i], 0.0
                ones, weighted = sums[2 - own], sums[3 - own]
                for k in range(terms):
                    one, other = ones[k] * rows[row + k], weighted[k] * rows[row + k]
                    ones[k], weighted[k] = one, other
                    total += fit[k] * (weight * one + other)
                out[i] += total
                ones, weighted = sums[own], sums[own + 1]
                for k in range(terms):
                    ones[k] = ones[k] * rows[row + k] + 1.0
                    weighted[k] = weighted[k] * rows[row + k] + weight


@jit_allocating
def _write_pairs(scores: Floats, worth: Floats, sigma: float, pulls: Floats, sizes: Floats) -> None:
    """Write what `_write_differences` does, from all pairs."""
    n = len(scores)
    powers, factorised = score_powers(scores, sigma)
    above, below = np.empty(n), np.empty(n)
    for i in range(n):
        write_shares(scores, sigma, powers, factorised, i, above, below)
        pull, size = 0.0, 0.0
        for j in range(n):
            value = (worth[i] - worth[j]) * above[j] * below[j]
            pull += value
            size += abs(value)
        pulls[i], sizes[i] = pull, size


@jit_allocating
def _write_differences(
    scores: Floats,
    worth: Floats,
    order: Integers,
    sigma: float,
    fit: Floats,
    pulls: Floats,
    sizes: Floats,
) -> None:
    """Write the sums of (a_i - a_j) rho_ij, a in `worth`, and of their absolute values.

    `order` sorts by a. Each part occupies the same places in `order` and in `documents`, where it
    is sorted by score.
    """
    n = len(scores)
    place, documents, rest = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for rank in range(n):
        place[order[rank]] = rank
        documents[rank] = rank
        pulls[rank] = sizes[rank] = 0.0
    part, weights, better = np.empty(n), np.empty(n), np.empty(n)
    pull, sums = np.empty(n), np.empty(n)
    parts = 1
    while n > DIRECT * parts:
        for number in range(parts):
            start, stop = number * n // parts, (number + 1) * n // parts
            cut, size = (2 * number + 1) * n // (2 * parts), stop - start
            between = worth[order[cut]]
            for i in range(size):
                document = documents[start + i]
                part[i], better[i] = scores[document], 1.0 if place[document] < cut else 0.0
                weights[i] = abs(worth[document] - between)
            _write_across(size, part, better, weights, sigma, fit, sums)
            upper, lower = start, 0
            for i in range(size):
                document = documents[start + i]
                sizes[document] += sums[i]
                pulls[document] += sums[i] if better[i] != 0.0 else -sums[i]
                documents[upper], rest[lower] = document, document
                upper += 1 if better[i] != 0.0 else 0
                lower += 0 if better[i] != 0.0 else 1
            for i in range(lower):
                documents[upper + i] = rest[i]
        parts *= 2
    for number in range(parts):
        start, stop = number * n // parts, (number + 1) * n // parts
        size = stop - start
        for i in range(size):
            part[i], weights[i] = scores[documents[start + i]], worth[documents[start + i]]
        _write_pairs(part[:size], weights, sigma, pull, sums)
        for i in range(size):
            pulls[documents[start + i]] += pull[i]
            sizes[documents[start + i]] += sums[i]


@jit_allocating
def add_long(
    scores: Floats, relevant: Floats, sigma: float, hessian: int, grad: Floats, hess: Floats
) -> float:
    """Write the gradient and the Gauss-Newton curvature of one query; return its loss."""
    n, total = len(scores), relevant.sum()
    order = order_by_score(scores)
    ranked, hit = in_order(scores, order), in_order(relevant, order)
    hits, misses = np.ones(n), np.zeros(n)
    _add_counts(ranked, hit, sigma, SHARE, hits, misses)
    b, sizes = np.zeros(n), np.empty(n)
    some, a = np.empty(int(total)), np.empty(int(total))  # of the relevant ones alone, by rank
    loss = 0.0
    found = 0
    for i in range(n):
        if hit[i] != 0.0:
            rank = hits[i] + misses[i]
            loss -= hits[i] / rank / total  # (9)
            unit = 1.0 / (total * rank**2)
            b[i] = unit * hits[i]
            some[found], a[found] = ranked[i], unit * misses[i]
            found += 1
    if hessian == LOSS:
        return loss
    _write_across(n, ranked, hit, b, sigma, SLOPE, sizes)
    among, size_among = np.empty(found), np.empty(found)
    _write_differences(some, a, order_by_score(a), sigma, SLOPE, among, size_among)
    found = 0
    for i in range(n):
        pull, size = sizes[i], sizes[i]
        if hit[i] != 0.0:
            pull, size = among[found] - pull, size_among[found] + size
            found += 1
        grad[order[i]] = pull / sigma
        hess[order[i]] = 0.5 / sigma * (size / sigma)
    return loss
