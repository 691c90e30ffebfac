r"""SHF-SDCG: smooth DCG whose ranks use smoothed hinge functions.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, sections 3.1 and 3.2, equations (12)-(17). Normalised by the ideal
    DCG by default, as SDCG is.

    Erratum of (14): the text prints 0.5 + (alpha/4) x for x < 0. That is not C^1 at 0 (the slope
    of G there is -alpha/4), is not the hinge of the paper's figure 1, and pushes a wrongly ranked
    relevant document down. With 0.5 - (alpha/4) x, (16) holds.

Definition
    A(x) = G_alpha(x) for x >= 0, 0.5 - (alpha/4) x for x < 0                   (14), sign mended
    B(x) = 1 + A(-x)                                                            (15)
    r^_i = 1 + sum over documents j of another grade: A(s_i - s_j) if y_i > y_j, B(s_i - s_j) if
           y_i < y_j                                                            (12), (13)
           + sum over j != i of the same grade: G_alpha(s_i - s_j)              (6)
    W(r) = G_beta(r - s_m), or 1 without a cut-off                              (17)
    loss = - sum_i (g_i / Z_k) d(r^_i) W(r^_i)                                  (8)

    s_m is the largest smoothed rank among the k documents of highest grade (of equal grades at the
    k-th place, those with the smallest r^), at least k. Taken in smoothed ranks it keeps the
    paper's promise: each of the top k documents has W >= 1/2.

Symbols
    s scores, y grades, g gains, Z_k ideal DCG at k (1 unless `normalize`), f, c and e as in SDCG.
    x_ij = s_i - s_j for y_i > y_j; A' <= 0 and A'' >= 0 at it; rho_ij = G (1 - G).

Gradient (exact for fixed s_m)
    a pair y_i > y_j adds (c_i + c_j) A'(x_ij) to i and its negative to j: both ranks improve
    together, where SDCG's c_i - c_j works against itself; a wrong pair is pulled with alpha/4 (16).
    A pair of equal grades is SDCG's.

Hessians
    exact         e_p (dr^_p/ds_p)^2 + sum_j e_j (dr^_j/ds_p)^2 + sum over pairs of other grades
                  (c_p + c_j) A'' + sum over equal grades (c_p - c_j) G'', for fixed s_m;
                  indefinite, therefore floored at a tenth of the query's mean magnitude
    gauss-newton  (default) sum_j alpha (c_p + c_j) a_pj alpha/2, a_pj alpha the slope of the pair's
                  function, rho_pj or -A'; as SDCG
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Beyond 64 documents, sums between blocks agree with those over pairs to
    1e-10 of the query's largest gradient, and mostly to 1e-13. Smoothed ranks grow with the scores
    without bound (1e30 is fine); the discount and W then tend to 0.

Cost
    O(n) after a sort, by blocks (`blocks`) with sums for every distinct grade; O(n^2) for the exact
    Hessian, and where the query has over 32 distinct grades or fewer than 24 documents for each.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .blocks import (
    BLOCK,
    LOGISTIC,
    MAX_LEVELS,
    SLOPE,
    TERMS,
    batch_end,
    carry,
    clear,
    distinct,
    exponents,
    grouped_blocks,
    scratch,
    scratch_width,
    series,
    to_bottom,
)
from .numerics import (
    GAUSS_NEWTON,
    HESSIAN_FLOOR,
    exponentials,
    floor_indefinite,
    in_order,
    kernel,
    logistic,
    merged_order,
    padded,
    part,
    read_grades,
    step,
    strided,
    write_long_order,
)
from .schedules import Schedule, check_positive_or_schedule
from .sdcg import Params, cut_off, discount_slopes, weighted_discount
from .validation import Floats, Integers, check_cutoff, check_flag

# Scratch of a batch: rows of its columns or blocks, the same as whole numbers, places, sums of the
# levels.
Work = tuple[Floats, Integers, Integers, Floats]
GAINS, SCORES, GAIN, WORTH, DOWN, UP, POWERS, RANKS, C, BEND, PULLS, CURVATURES = range(12)
TOP, BOTTOM = 12, 13
# Document of a column, counted from the query's first; of each block its query, first column,
# documents and whether ratios serve.
ORDER, QUERY, BEGIN, SIZE, RATIOS, PLACES, EDGES, COUNTS, SPARE = range(9)  # SPARE: two rows


@step
def _work(width: int) -> Work:
    rows, bits, places = scratch(14, 10, width)
    return rows, bits, places, np.empty((2, MAX_LEVELS, TERMS))


@part
def _place(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    levels: Floats,
    work: Work,
) -> tuple[int, int, Integers]:
    """Write documents, scores and gains of a batch by column; return its blocks and columns.

    Also returns where each distinct gain begins in every block of one query, and none otherwise:
    one block stays as it is. Degenerate queries are left out.
    """
    k, _, _, normalize = params
    rows, _, places, _ = work
    runs = np.empty((1, 1), np.int64)
    blocks = 0
    columns = 0
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        n = b - a
        gains, order = rows[GAINS, columns:], places[ORDER, columns:]
        ideal = read_grades(labels[a:b], k if k > 0 else n, gains, places[COUNTS])
        if ideal == 0.0:
            continue
        places[QUERY, blocks] = q
        known = 0 if n <= BLOCK else distinct(gains[:n], levels)
        if known > 0:
            for i in range(n):
                rows[SCORES, i] = scores[a + i]
            write_long_order(rows[SCORES], n, order, places[SPARE:])
            edges, tops, bottoms = places[EDGES], rows[TOP], rows[BOTTOM]
            runs = grouped_blocks(
                scores[a:b], gains, levels[:known], n, order, edges, places[PLACES], tops, bottoms
            )
            blocks = len(runs)
            for m in range(blocks):
                places[BEGIN, m] = edges[m]
                places[SIZE, m] = edges[m + 1] - edges[m]
        else:
            for i in range(n):
                order[i] = i
            places[BEGIN, blocks] = columns
            places[SIZE, blocks] = n
            blocks += 1
        scale = -1.0 / (ideal if normalize else 1.0)
        for i in range(n):
            rows[SCORES, columns + i] = scores[a + order[i]]
            rows[GAIN, columns + i] = gains[order[i]]
            rows[WORTH, columns + i] = scale * gains[order[i]]
        end = columns + padded(n)
        # What stands behind the last document is infinitely far below it, and worse.
        for column in range(columns + n, end):
            rows[SCORES, column] = -math.inf
            rows[GAIN, column] = -1.0  # whatever c is there, nothing is made of it
        columns = end
    return blocks, columns, runs


@part
def _near_ranks(rows: Floats, begin: int, n: int, alpha: float, ratios: bool) -> None:
    """Write r^ as far as the documents of this block make it."""
    first = np.uint64(begin)
    for i in range(np.uint64(n)):
        own, own_score, own_gain = (
            rows[DOWN, first + i],
            rows[SCORES, first + i],
            rows[GAIN, first + i],
        )
        rank = 0.5  # 1 less G(0), the sum's own j = i
        for j in range(np.uint64(padded(n))):
            gain = rows[GAIN, first + j]
            # The better document's lead; among equal grades, the own one.
            lead = own_score - rows[SCORES, first + j]
            lead = lead if own_gain >= gain else -lead
            if ratios:
                other = rows[DOWN, first + j]
                sigmoid = (other if own_gain >= gain else own) / (own + other)
            else:
                sigmoid = logistic(alpha * lead)[0]
            hinge = sigmoid if lead >= 0.0 else 0.5 - 0.25 * alpha * lead  # (14), sign mended
            rank += sigmoid if own_gain == gain else hinge  # (6), (12)
            rank += 1.0 if own_gain < gain else 0.0  # (13), (15)
        rows[RANKS, first + i] = rank
    for i in range(np.uint64(n), np.uint64(padded(n))):
        rows[RANKS, first + i] = 1.0


@part
def _near_pulls(rows: Floats, begin: int, n: int, alpha: float, ratios: bool) -> None:
    """Write pulls / alpha and their magnitudes over the documents of this block."""
    first = np.uint64(begin)
    for i in range(np.uint64(n)):
        own, own_score, own_gain = (
            rows[DOWN, first + i],
            rows[SCORES, first + i],
            rows[GAIN, first + i],
        )
        own_c = rows[C, first + i]
        pull = 0.0
        curvature = -0.5 * own_c  # without the sum's own j = i
        for j in range(np.uint64(padded(n))):
            gain, c = rows[GAIN, first + j], rows[C, first + j]
            lead = own_score - rows[SCORES, first + j]
            lead = lead if own_gain >= gain else -lead
            if ratios:
                other = rows[DOWN, first + j]
                share = 1.0 / (own + other)
                rho = own * other * share * share
            else:
                rho = logistic(alpha * lead)[1]
            hinge = (own_c + c) * (rho if lead >= 0.0 else 0.25)  # -A' / alpha
            worse = -hinge if own_gain < gain else (own_c - c) * rho
            pull += hinge if own_gain > gain else worse
            curvature += (own_c + c) * rho if own_gain == gain else hinge
        rows[PULLS, first + i] = pull
        rows[CURVATURES, first + i] = curvature


@part
def _far(
    alpha: float,
    from_above: bool,
    pulling: bool | np.bool_,
    levels: Floats,
    runs: Integers,
    rows: Floats,
    sums: Floats,
) -> None:
    """Add to r^, or to pulls and magnitudes, what all blocks above contribute, or below."""
    blocks, known = len(runs), len(levels)
    near, far = (rows[DOWN], rows[UP]) if from_above else (rows[UP], rows[DOWN])
    sign = -1.0 if from_above else 1.0
    coefficients = SLOPE if pulling else LOGISTIC
    # Of each level: documents, their c, and their distances to the edge at hand, summed.
    count, of_c, distance = np.empty(known), np.empty(known), np.empty(known)
    ones, with_c = np.empty(TERMS), np.empty(TERMS)
    ones_both, with_c_both = np.empty(TERMS), np.empty(TERMS)
    for level in range(known):
        count[level], of_c[level], distance[level] = 0.0, 0.0, 0.0
    clear(sums, known)
    for turn in range(blocks):
        m = turn if from_above else blocks - 1 - turn
        edge = rows[TOP, m] if from_above else rows[BOTTOM, m]
        for level in range(known):
            a, b = runs[m, level], runs[m, level + 1]
            if turn == 0 or a == b:
                continue
            # Levels in the right order, those in the wrong one, and the own.
            factor = sign if pulling else 1.0
            for k in range(TERMS):
                ones[k] = (1.0 if pulling else sign) * sums[0, level, k]
                with_c[k] = -sums[1, level, k]
                ones_both[k] = sums[0, level, k]
                with_c_both[k] = sums[1, level, k]
            n_wrong, wrong_c, wrong_distance = 0.0, 0.0, 0.0
            places = count[level] if from_above else 0.0
            for other in range(known):
                if other == level:
                    continue
                if (other > level) == from_above:
                    for k in range(TERMS):
                        ones[k] += factor * sums[0, other, k]
                        with_c[k] += factor * sums[1, other, k]
                        ones_both[k] += sums[0, other, k]
                        with_c_both[k] += sums[1, other, k]
                    places += count[other] if from_above else 0.0
                else:
                    n_wrong += count[other]
                    wrong_c += of_c[other]
                    wrong_distance += distance[other]
                    places += 0.5 * count[other] if from_above else 1.5 * count[other]
            for k in range(TERMS):
                ones[k] *= coefficients[k]
                with_c[k] *= coefficients[k]
                ones_both[k] *= coefficients[k]
                with_c_both[k] *= coefficients[k]
            s, z = rows[SCORES, a:b], near[a:b]
            if pulling:
                c, pulls, curvatures = rows[C, a:b], rows[PULLS, a:b], rows[CURVATURES, a:b]
                for i in range(b - a):
                    hinge = 0.25 * (c[i] * n_wrong + wrong_c)  # (16)
                    pulls[i] += _mixed(ones, with_c, c[i], z[i]) - sign * hinge
                    curvatures[i] += _mixed(ones_both, with_c_both, c[i], z[i]) + hinge
            else:
                ranks = rows[RANKS, a:b]
                for i in range(b - a):
                    ranks[i] += places + series(ones, z[i])
                    if n_wrong > 0.0:
                        lead = wrong_distance + n_wrong * abs(edge - s[i])
                        ranks[i] += 0.25 * alpha * lead
        if turn + 1 == blocks:
            continue
        height = rows[TOP, m] - rows[BOTTOM, m]
        upper = m if from_above else m - 1
        gap = rows[BOTTOM, upper] - rows[TOP, upper + 1]
        leaving = rows[BOTTOM, m] if from_above else rows[TOP, m]
        span, jump = math.exp(-alpha * height), math.exp(-alpha * gap)
        carry(runs[m], rows[C], far, rows[POWERS], span, jump, sums)
        for level in range(known):
            a, b = runs[m, level], runs[m, level + 1]
            if count[level] > 0.0:
                distance[level] += count[level] * (height + gap)
            for i in range(a, b):
                distance[level] += abs(rows[SCORES, i] - leaving) + gap
                of_c[level] += rows[C, i]
            count[level] += b - a


@part
def _mixed(ones: Floats, others: Floats, c: float, z: float) -> float:
    """sum_k (c ones_k + others_k) z^k, k from 1."""
    value = 0.0
    for k in range(TERMS):
        value = value * z + (c * ones[TERMS - 1 - k] + others[TERMS - 1 - k])
    return value * z


@step
def _smooth_ranks(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    every: Floats,
    work: Work,
) -> tuple[int, int, Integers]:
    """Write r^ of a batch, and the exponentials of its blocks; return what `_place` does."""
    alpha = params[1]
    rows, bits, places, sums = work
    blocks, columns, runs = _place(first, last, boundaries, scores, labels, params, every, work)
    linked = len(runs) > 1
    for m in range(blocks):
        a, n = places[BEGIN, m], places[SIZE, m]
        top = rows[TOP, m] if linked else rows[SCORES, a]
        places[RATIOS, m] = exponents(rows, SCORES, POWERS, a, n, alpha, top)
    exponentials(rows, bits, POWERS, DOWN, 0, strided(columns))
    for m in range(blocks):
        _near_ranks(rows, places[BEGIN, m], places[SIZE, m], alpha, places[RATIOS, m] != 0)
    if linked:
        for m in range(blocks):
            a, n, ratios = places[BEGIN, m], places[SIZE, m], places[RATIOS, m] != 0
            to_bottom(rows, SCORES, DOWN, UP, a, n, alpha, rows[TOP, m], rows[BOTTOM, m], ratios)
        levels = every[: runs.shape[1] - 1]
        # What is made of c, not known yet, is not read. A loop, and no literals: `_far` is
        # compiled once.
        for from_above in (True, False):
            _far(alpha, from_above, np.bool_(False), levels, runs, rows, sums)
    return blocks, columns, runs


@part
def _cut(gains: Floats, ranks: Floats, k: int) -> float:
    """s_m of (17); infinite without a cut-off."""
    if k <= 0:
        return math.inf
    n = len(gains)
    lowest = np.empty(n)
    for i in range(n):
        lowest[i] = -ranks[i]
    by_rank = merged_order(lowest)
    by_gain = merged_order(in_order(gains, by_rank))  # stable: smallest r^ first in a grade
    cut = float(k)
    for position in range(min(k, n)):
        cut = max(cut, ranks[by_rank[by_gain[position]]])
    return cut


@step
def _ranks_and_slopes(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    every: Floats,
    work: Work,
) -> tuple[int, Integers]:
    """Write r^ and c of a batch, and the distinct gains; return its blocks, and `_place`'s runs."""
    k, _, beta, _ = params
    rows, bits, places, _ = work
    blocks, columns, runs = _smooth_ranks(
        first, last, boundaries, scores, labels, params, every, work
    )
    width = strided(columns)
    discount_slopes(rows, bits, RANKS, POWERS, C, width)
    if k > 0:
        for m in range(1 if len(runs) > 1 else blocks):
            q, a = places[QUERY, m], places[BEGIN, m]
            n = boundaries[q + 1] - boundaries[q]
            cut = _cut(rows[GAIN, a : a + n], rows[RANKS, a : a + n], k)
            cut_off(rows, RANKS, POWERS, C, a, n, cut, beta)
    for i in range(np.uint64(width)):
        rows[C, i] *= rows[WORTH, i]
    return blocks, runs


@part
def _exact_curvature(i: int, s: Floats, g: Floats, alpha: float, c: Floats, bend: Floats) -> float:
    slope = 0.0  # dr^_i/ds_i over alpha
    curvature = 0.0
    for j in range(len(s)):
        if j == i:
            continue
        lead = s[i] - s[j] if g[i] >= g[j] else s[j] - s[i]
        sigmoid, rho = logistic(alpha * lead)
        g2 = rho * (1.0 - 2.0 * sigmoid)  # G'' / alpha^2
        if g[i] == g[j]:
            slope -= rho
            curvature += bend[j] * rho * rho + (c[i] - c[j]) * g2
        else:
            steepness = rho if lead >= 0.0 else 0.25  # -A' / alpha
            slope += -steepness if g[i] > g[j] else steepness
            curvature += bend[j] * steepness * steepness
            curvature += (c[i] + c[j]) * (g2 if lead >= 0.0 else 0.0)
    total: float = alpha * alpha * (curvature + bend[i] * slope * slope)
    return total


@kernel
def _loss_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    loss: Floats,
) -> None:
    work = _work(scratch_width(first, last, boundaries))
    k, _, beta, _ = params
    rows, _, places, _ = work
    every = np.empty(MAX_LEVELS)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        blocks, _, runs = _smooth_ranks(
            start, stop, boundaries, scores, labels, params, every, work
        )
        for m in range(1 if len(runs) > 1 else blocks):
            q, a = places[QUERY, m], places[BEGIN, m]
            b = a + boundaries[q + 1] - boundaries[q]
            cut = _cut(rows[GAIN, a:b], rows[RANKS, a:b], k)
            for i in range(a, b):
                loss[q] += rows[WORTH, i] * weighted_discount(rows[RANKS, i], cut, beta)[0]  # (8)
        start = stop


@kernel
def _grad_hess_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    work = _work(scratch_width(first, last, boundaries))
    alpha = params[1]
    rows, _, places, sums = work
    every = np.empty(MAX_LEVELS)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        blocks, runs = _ranks_and_slopes(
            start, stop, boundaries, scores, labels, params, every, work
        )
        linked = len(runs) > 1
        for m in range(blocks):
            _near_pulls(rows, places[BEGIN, m], places[SIZE, m], alpha, places[RATIOS, m] != 0)
        if linked:
            levels = every[: runs.shape[1] - 1]
            for from_above in (True, False):
                _far(alpha, from_above, np.bool_(True), levels, runs, rows, sums)
        for m in range(1 if linked else blocks):
            q, begin = places[QUERY, m], places[BEGIN, m]
            a, n = boundaries[q], boundaries[q + 1] - boundaries[q]
            for column in range(begin, begin + n):
                i = a + places[ORDER, column]
                grad[i] = -alpha * rows[PULLS, column]
                if hessian == GAUSS_NEWTON:
                    curvature = 0.5 * alpha * alpha * rows[CURVATURES, column]
                    hess[i] = max(curvature, HESSIAN_FLOOR)
        start = stop


@kernel
def _exact_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    params: Params,
    hess: Floats,
) -> None:
    work = _work(scratch_width(first, last, boundaries))
    k, alpha, beta, _ = params
    rows, _, places, _ = work
    every = np.empty(MAX_LEVELS)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        blocks, runs = _ranks_and_slopes(
            start, stop, boundaries, scores, labels, params, every, work
        )
        for m in range(1 if len(runs) > 1 else blocks):
            q, begin = places[QUERY, m], places[BEGIN, m]
            a, n = boundaries[q], boundaries[q + 1] - boundaries[q]
            end = begin + n
            s, gains, c = rows[SCORES, begin:end], rows[GAIN, begin:end], rows[C, begin:end]
            ranks, bend = rows[RANKS, begin:end], rows[BEND, begin:end]
            cut = _cut(gains, ranks, k)
            for i in range(n):
                bend[i] = rows[WORTH, begin + i] * weighted_discount(ranks[i], cut, beta)[1]  # e
            of_query = hess[a : a + n]
            for i in range(n):
                of_query[places[ORDER, begin + i]] = _exact_curvature(i, s, gains, alpha, c, bend)
            floor_indefinite(of_query)
        start = stop


@dataclass(frozen=True, kw_only=True)
class SHFSDCG(Objective):
    """Smooth DCG with smoothed hinge functions: wrongly ranked pairs keep a full gradient.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (12)-(17), the sign of (14) mended. The loss is
    SDCG's, ``-sum_i g_i / Z_k * d(r_i) * W(r_i)``, but documents of different grade enter each
    other's rank through hinges that stay linear while the pair is in the wrong order: far from a
    good ranking it acts as a pairwise loss, close to one as DCG.

    Parameters
    ----------
    k : int, optional
        Rank cut-off, at least 1: W falls beyond the worst rank of the k documents of highest grade.
        Default None: the whole list, W = 1.
    alpha : float or Schedule, default 1.0
        Steepness of sigmoid and hinge in score units, positive. Only alpha times the scores
        matters.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide every query by its ideal DCG, so that queries count alike.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The exact diagonal is indefinite and trains badly; a constant one is plain gradient
        boosting, as in the paper.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    The gradient is exact (with `k`: for a fixed worst rank, which is found anew at every call).
    O(n) time and memory for a query of n documents after sorting them; O(n^2) time for the exact
    Hessian, and for queries of over 32 distinct grades or under 24 documents for each.

    Examples
    --------
    A wrong pair feels a gradient however far apart its scores are:

    >>> import boostrank
    >>> grad, hess = boostrank.SHFSDCG().grad_hess([0.0, 30.0], [1, 0], [2])
    >>> bool(grad[0] < -1e-3 and grad[1] > 1e-3)
    True
    >>> grad, hess = boostrank.SDCG().grad_hess([0.0, 30.0], [1, 0], [2])
    >>> bool(abs(grad[0]) < 1e-12)
    True
    """

    name: ClassVar[str] = "shf-sdcg"
    # A surrogate curvature: near zero where sigmoids saturate, which is no reason for long steps.
    # 0.1 against 1e-6 gained .000 to .008 in validation NDCG@10 on OHSUMED and MQ2008.
    hessian_share: ClassVar[float] = 0.1

    k: int | None = None
    alpha: float | Schedule = 1.0
    beta: float | Schedule = 1.0
    normalize: bool = True
    hessian: str = "gauss-newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            k=check_cutoff("k", self.k),
            alpha=check_positive_or_schedule("alpha", self.alpha),
            beta=check_positive_or_schedule("beta", self.beta),
            normalize=check_flag("normalize", self.normalize),
        )

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="exact" if self.k is None else "frozen",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n^2)" if self.hessian == "exact" else "O(n)",
            frozen="" if self.k is None else "s_m, the worst smoothed rank of the top k",
        )

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries
    _exact_queries = _exact_queries

    def _params(self) -> tuple[Any, ...]:
        return self.k or 0, self.alpha, self.beta, self.normalize
