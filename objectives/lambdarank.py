r"""LambdaRank: pairwise logistic gradients weighted by the change of NDCG.

Source
    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006, section 6.2: the
    RankNet gradient of each pair, scaled by the NDCG gained by swapping its two documents. The
    truncation and the two normalisations (`norm`) are those of today's boosted-tree libraries.

Definition
    pairs y_i > y_j; ranks by a stable sort on descending score
    rho_ij = 1/(1 + e^{sigma (s_i - s_j)})
    w_ij   = |g_i - g_j| |d(rank_i) - d(rank_j)| / Z_T
    loss   = sum_ij w_ij ln(1 + e^{-sigma (s_i - s_j)}), w held constant
    With truncation T a pair counts when the better-ranked of its two is at rank <= T, and Z_T is
    the ideal DCG at T.
    With `norm`, each w_ij is divided by 0.01 + |s_i - s_j| unless all scores of the query are
    equal, and then all w_ij of the query are multiplied by log2(1 + L)/L, where
    L = sum_ij 2 sigma w_ij rho_ij is the sum of |lambda| over both documents of every pair.

Gradient (exact for fixed w)
    grad_i -= sigma w rho, grad_j += sigma w rho

Hessians
    exact         (default) hess_{i,j} += sigma^2 w rho (1 - rho), for fixed w; never negative.
                  Floored, as all, at 1e-10.
    gauss-newton  the same: the logistic loss is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Sums between blocks agree with those over pairs to 1e-10 of the query's
    largest gradient, and mostly to 1e-13.

Cost
    Without `norm`, O(n) after a sort, by blocks (`blocks`) with sums for every distinct grade.
    O(n min(n, T)) with `norm`, whose divisor is no sum of exponentials, and where the query has
    over 32 distinct grades or fewer than 24 documents for each. The loss: O(n min(n, T)).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .blocks import (
    LOGISTIC,
    MAX_LEVELS,
    TERMS,
    batch_end,
    carry,
    clear,
    distinct,
    exponents,
    grouped_blocks,
    scratch,
    scratch_width,
    to_bottom,
)
from .numerics import (
    CONSTANT,
    HESSIAN_FLOOR,
    exponentials,
    kernel,
    logistic,
    padded,
    part,
    rank_discount,
    read_grades,
    step,
    strided,
    write_order,
)
from .schedules import Schedule, check_positive_or_schedule
from .validation import Floats, Integers, check_cutoff, check_flag

Params = tuple[int, float, bool]  # truncation (0: none), sigma, norm


# Up to this truncation, or twice as many documents, all pairs one by one take less time.
FEW = 110

# Scratch of a batch: rows of its columns or blocks, the same as whole numbers, places, sums of the
# levels.
Work = tuple[Floats, Integers, Integers, Floats]
GAINS, SCORES, GAIN, DISCOUNT, DOWN, UP, POWERS, PULLS, CURVATURES, TOP, BOTTOM = range(11)
# Of each column its document and its rank - 1; of each query its number and first column, where its
# blocks begin and whether ratios serve.
ORDER, RANKS, QUERY, BEGIN, EDGES, RATIOS, COUNTS, SPARE = range(8)  # SPARE: two rows


@step
def _work(width: int) -> Work:
    rows, bits, places = scratch(11, 9, width)
    return rows, bits, places, np.empty((2, MAX_LEVELS, TERMS))


@part
def _sort(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    truncation: int,
    work: Work,
) -> tuple[int, int]:
    """Write order and gains / Z of a batch; return its queries and columns.

    Degenerate queries are left out. Documents are counted from the first of their query.
    """
    rows, _, places, _ = work
    queries = 0
    columns = 0
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        n = b - a
        top = min(truncation, n) if truncation > 0 else n
        gains, order = rows[GAINS, columns:], places[ORDER, columns:]
        z = read_grades(labels[a:b], top, gains, places[COUNTS])
        if z == 0.0:
            continue
        for i in range(n):
            gains[i] /= z
            rows[PULLS, i] = scores[a + i]
            places[RANKS, columns + i] = i
        write_order(rows[PULLS], n, order, places[SPARE:])
        places[QUERY, queries] = q
        places[BEGIN, queries] = columns
        queries += 1
        columns += padded(n)
    return queries, columns


@step
def _place(query: int, boundaries: Integers, scores: Floats, work: Work) -> None:
    """Write scores, gains and discounts of a query by position, and the padding behind them."""
    rows, _, places, _ = work
    q, begin = places[QUERY, query], places[BEGIN, query]
    a, n = boundaries[q], boundaries[q + 1] - boundaries[q]
    for column in range(begin, begin + n):
        i = places[ORDER, column]
        rows[SCORES, column] = scores[a + i]
        rows[GAIN, column] = rows[GAINS, begin + i]
        rows[DISCOUNT, column] = rank_discount(places[RANKS, column] + 1)
    for column in range(begin + n, begin + padded(n)):
        rows[SCORES, column] = 0.0
        rows[GAIN, column] = 0.0
        rows[DISCOUNT, column] = 0.0


@part
def _norm_factor(total: float) -> float:
    """log2(1 + L)/L, also of a tiny L."""
    return math.log1p(total) / (math.log(2.0) * total) if total > 0.0 else 1.0


@part
def _near_rows(
    first: int,
    last: int,
    rows: Floats,
    begin: int,
    end: int,
    sigma: float,
    norm: bool,
    offset: float,
    ratios: bool,
) -> float:
    """Sum the pairs of the documents first..last - 1 with begin..end - 1.

    With `norm`, weights are divided by `offset` plus the score difference, and their sum times rho
    is returned.
    """
    start, partners = np.uint64(begin), np.uint64(end - begin)
    total = 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        own, own_score = rows[DOWN, i], rows[SCORES, i]
        own_gain, own_discount = rows[GAIN, i], rows[DISCOUNT, i]
        pull = 0.0
        magnitudes = 0.0
        curvature = 0.0
        if not ratios:
            for j in range(partners):
                gap = own_gain - rows[GAIN, start + j]
                lead = abs(own_score - rows[SCORES, start + j])
                weight = abs(gap) * abs(own_discount - rows[DISCOUNT, start + j])
                weight = weight / (offset + lead) if norm else weight
                right = (gap > 0.0) == (own_score > rows[SCORES, start + j])
                rho, slope = logistic(sigma * lead if right else -sigma * lead)
                magnitudes += weight * rho
                pull += weight * rho if gap > 0.0 else -weight * rho
                curvature += weight * slope
        elif norm:
            for j in range(partners):
                other = rows[DOWN, start + j]
                below = 1.0 / (own + other)
                gap = own_gain - rows[GAIN, start + j]
                swap = abs(own_discount - rows[DISCOUNT, start + j]) * below
                weight = gap * swap / (offset + abs(own_score - rows[SCORES, start + j]))
                # rho of the better document is the other's share, and the other way round.
                signed = weight * (other if gap > 0.0 else own)
                pull += signed
                magnitudes += abs(signed)
                curvature += abs(weight) * below * other
            curvature *= own
        else:
            for j in range(partners):
                other = rows[DOWN, start + j]
                below = 1.0 / (own + other)
                gap = own_gain - rows[GAIN, start + j]
                weight = gap * abs(own_discount - rows[DISCOUNT, start + j]) * below
                pull += weight * (other if gap > 0.0 else own)
                curvature += abs(weight) * below * other
            curvature *= own
        rows[PULLS, i] = pull
        rows[CURVATURES, i] = curvature
        total += magnitudes
    return total


@part
def _near_cross(begin: int, top: int, end: int, rows: Floats) -> None:
    """Add the pairs of documents begin..top - 1 with top..end - 1 to both."""
    start, stop = np.uint64(top), np.uint64(end)
    for j in range(start, stop):
        rows[PULLS, j] = 0.0
        rows[CURVATURES, j] = 0.0
    for i in range(np.uint64(begin), np.uint64(top)):
        own, own_gain, own_discount = rows[DOWN, i], rows[GAIN, i], rows[DISCOUNT, i]
        pull = 0.0
        curvature = 0.0
        for j in range(start, stop):
            other = rows[DOWN, j]
            below = 1.0 / (own + other)
            gap = own_gain - rows[GAIN, j]
            weight = gap * abs(own_discount - rows[DISCOUNT, j]) * below
            signed = weight * (other if gap > 0.0 else own)
            slope = abs(weight) * below * other * own
            pull += signed
            curvature += slope
            rows[PULLS, j] -= signed
            rows[CURVATURES, j] += slope
        rows[PULLS, i] += pull
        rows[CURVATURES, i] += curvature


@part
def _near(
    begin: int,
    end: int,
    last: int,
    top: int,
    rows: Floats,
    sigma: float,
    norm: bool,
    offset: float,
    ratios: bool,
) -> float:
    """Write the sums over pairs inside a block; return sum w rho over its documents.

    Documents before column `top` are at rank T or above; padding may reach to column `last`.
    """
    whole = min(max(top, begin), end)
    if begin < whole < end and ratios and not norm:
        _near_rows(begin, whole, rows, begin, whole, sigma, norm, offset, ratios)
        _near_cross(begin, whole, last, rows)
        return 0.0
    total = _near_rows(begin, whole, rows, begin, last, sigma, norm, offset, ratios)
    if whole < end:  # of a pair, one document is at rank T or above
        total += _near_rows(whole, end, rows, begin, whole, sigma, norm, offset, ratios)
    return total


@part
def _far(
    top: int,
    sigma: float,
    from_above: bool,
    levels: Floats,
    runs: Integers,
    edges: Integers,
    rows: Floats,
    sums: Floats,
) -> None:
    """Add the pairs of every document with those of all blocks above it, or below."""
    blocks, known = len(runs), len(levels)
    entry, exit = (rows[DOWN], rows[UP]) if from_above else (rows[UP], rows[DOWN])
    count, discounts = np.empty(known), np.empty(known)
    ones, of_discounts = np.empty(TERMS), np.empty(TERMS)
    nobody = np.empty(known + 1, np.int64)
    nobody[0] = 0
    for level in range(known):
        count[level] = 0.0
        discounts[level] = 0.0
        nobody[level + 1] = 0
    clear(sums, known)
    for turn in range(blocks):
        m = turn if from_above else blocks - 1 - turn
        wanted = from_above or edges[m] < top
        for level in range(known):
            a, b = runs[m, level], runs[m, level + 1]
            if turn == 0 or a == b or not wanted:
                continue
            for k in range(TERMS):
                ones[k] = 0.0
                of_discounts[k] = 0.0
            wrong = 0.0
            wrong_discounts = 0.0
            for other in range(known):
                gap = abs(levels[level] - levels[other])
                for k in range(TERMS):
                    ones[k] += gap * LOGISTIC[k] * sums[0, other, k]
                    of_discounts[k] += gap * LOGISTIC[k] * sums[1, other, k]
                if (level > other) == from_above:
                    wrong += gap * count[other]
                    wrong_discounts += gap * discounts[other]
            sign = -1.0 if from_above else 1.0
            z, d = entry[a:b], rows[DISCOUNT, a:b]
            pulls, curvatures = rows[PULLS, a:b], rows[CURVATURES, a:b]
            for i in range(b - a):
                value = 0.0
                slope = 0.0
                for k in range(TERMS):
                    slope = slope * z[i] + value
                    value = value * z[i] + d[i] * ones[TERMS - 1 - k] - of_discounts[TERMS - 1 - k]
                pulls[i] += value * z[i] + wrong_discounts - d[i] * wrong
                curvatures[i] += sign * z[i] * (value + z[i] * slope)
        if turn + 1 == blocks:
            continue
        span = math.exp(-sigma * (rows[TOP, m] - rows[BOTTOM, m]))
        upper = m if from_above else m - 1
        gap = math.exp(-sigma * (rows[BOTTOM, upper] - rows[TOP, upper + 1]))
        # Below rank T, documents count as partners only for those above it.
        run = nobody if from_above and edges[m + 1] > top else runs[m]
        carry(run, rows[DISCOUNT], exit, rows[POWERS], span, gap, sums)
        for level in range(known):
            a, b = run[level], run[level + 1]
            count[level] += b - a
            for i in range(a, b):
                discounts[level] += rows[DISCOUNT, i]


@step
def _sum_linked(
    boundaries: Integers, scores: Floats, top: int, params: Params, known: int, work: Work
) -> None:
    """Write the sums over all pairs of one query, in blocks with equal gains side by side."""
    _, sigma, norm = params
    rows, bits, places, sums = work
    a, b = boundaries[places[QUERY, 0]], boundaries[places[QUERY, 0] + 1]
    n = b - a
    order, edges = places[ORDER, :n], places[EDGES]
    levels = np.empty(known)
    for level in range(known):
        levels[level] = sums[0, level, 0]
    tops, bottoms, gains, ranks = rows[TOP], rows[BOTTOM], rows[GAINS], places[RANKS]
    runs = grouped_blocks(scores[a:b], gains, levels, top, order, edges, ranks, tops, bottoms)
    blocks = len(runs)
    _place(0, boundaries, scores, work)
    for m in range(blocks):
        begin, size = edges[m], edges[m + 1] - edges[m]
        places[RATIOS, m] = exponents(rows, SCORES, POWERS, begin, size, sigma, rows[TOP, m])
    exponentials(rows, bits, POWERS, DOWN, 0, strided(n))
    for m in range(blocks):
        begin, end, ratios = edges[m], edges[m + 1], places[RATIOS, m] != 0
        last = begin + padded(end - begin) if ratios and end == n else end
        _near(begin, end, last, top, rows, sigma, norm, 0.0, ratios)
        best, worst = rows[TOP, m], rows[BOTTOM, m]
        to_bottom(rows, SCORES, DOWN, UP, begin, end - begin, sigma, best, worst, ratios)
    for from_above in (True, False):  # a loop, so that `_far` is compiled once for both
        _far(top, sigma, from_above, levels, runs, edges, rows, sums)


@step
def _sum_pairs(
    queries: int, columns: int, boundaries: Integers, scores: Floats, params: Params, work: Work
) -> None:
    """Write the sums over the pairs of every query, one by one; with `norm`, normalised."""
    truncation, sigma, norm = params
    rows, bits, places, _ = work
    for query in range(queries):
        _place(query, boundaries, scores, work)
        q, begin = places[QUERY, query], places[BEGIN, query]
        n = boundaries[q + 1] - boundaries[q]
        best = rows[SCORES, begin]
        places[RATIOS, query] = exponents(rows, SCORES, POWERS, begin, n, sigma, best)
    exponentials(rows, bits, POWERS, DOWN, 0, strided(columns))
    for query in range(queries):
        q, begin, ratios = places[QUERY, query], places[BEGIN, query], places[RATIOS, query] != 0
        n = boundaries[q + 1] - boundaries[q]
        end = begin + n
        last = begin + padded(n) if ratios else end
        top = begin + (min(truncation, n) if truncation > 0 else n)
        offset = 1.0 if rows[SCORES, begin] == rows[SCORES, end - 1] else 0.01
        magnitudes = _near(begin, end, last, top, rows, sigma, norm, offset, ratios)
        if norm:
            factor = _norm_factor(sigma * magnitudes)
            for column in range(begin, end):
                rows[PULLS, column] *= factor
                rows[CURVATURES, column] *= factor


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
    truncation, sigma, norm = params
    rows, _, places, _ = work
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        queries, _ = _sort(start, stop, boundaries, scores, labels, truncation, work)
        for query in range(queries):
            _place(query, boundaries, scores, work)
            q, begin = places[QUERY, query], places[BEGIN, query]
            n = boundaries[q + 1] - boundaries[q]
            end = begin + n
            s, g, d = rows[SCORES, begin:end], rows[GAIN, begin:end], rows[DISCOUNT, begin:end]
            spread = norm and s[0] != s[-1]
            total = 0.0  # L
            for i in range(min(truncation, n) if truncation > 0 else n):
                for j in range(i + 1, n):
                    weight = abs(g[i] - g[j]) * (d[i] - d[j])
                    # Without abs(), 0.01 + s_i - s_j may be summed in an order that loses the 0.01.
                    weight = weight / (0.01 + abs(s[i] - s[j])) if spread else weight
                    x = sigma * (s[i] - s[j]) if g[i] > g[j] else sigma * (s[j] - s[i])
                    loss[q] += weight * (max(0.0, -x) + math.log1p(math.exp(-abs(x))))
                    total += 2.0 * sigma * weight * logistic(x)[0]
            loss[q] *= _norm_factor(total) if norm else 1.0
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
    truncation, sigma, norm = params
    rows, _, places, sums = work
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        queries, columns = _sort(start, stop, boundaries, scores, labels, truncation, work)
        n = boundaries[start + 1] - boundaries[start]  # of one query, or of the first short one
        top = min(truncation, n) if truncation > 0 else n
        # The divisor 0.01 + |s_i - s_j| is no sum of exponentials: all pairs one by one.
        one_by_one = queries == 0 or norm or min(n // 2, top) <= FEW
        known = 0 if one_by_one else distinct(rows[GAINS, :n], sums[0, :, 0])
        if known > 0:
            _sum_linked(boundaries, scores, top, params, known, work)
        else:
            _sum_pairs(queries, columns, boundaries, scores, params, work)
        for query in range(queries):
            q, begin = places[QUERY, query], places[BEGIN, query]
            a = boundaries[q]
            for column in range(begin, begin + boundaries[q + 1] - a):
                i = a + places[ORDER, column]
                grad[i] = -sigma * rows[PULLS, column]
                if hessian != CONSTANT:
                    hess[i] = max(sigma * sigma * rows[CURVATURES, column], HESSIAN_FLOOR)
        start = stop


@dataclass(frozen=True, kw_only=True)
class LambdaRank(Objective):
    """Pairwise logistic loss weighted by the change of NDCG when the pair is swapped.

    Burges, Ragno, Le (NIPS 2006), section 6.2. For every pair with y_i > y_j,
    ``loss = w_ij ln(1 + exp(-sigma (s_i - s_j)))`` with
    ``w_ij = |g_i - g_j| |d(rank_i) - d(rank_j)| / Z``, gains ``g = 2^y - 1``, discount
    ``d(r) = 1/log2(1 + r)``, Z the ideal DCG.

    Parameters
    ----------
    truncation : int, optional
        Keep a pair only when the better-ranked of its documents is at this rank or above, at
        least 1. Default None: all pairs.
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive.
    norm : bool, default True
        Divide the weight of a pair by 0.01 plus its score difference, and scale each query's
        gradients by log2(1 + L)/L, L their sum of magnitudes, as boosted-tree libraries do. False
        is the paper's loss.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    The gradient is exact for fixed weights w (they jump where ranks change). O(n) memory. For a
    query of n documents, O(n) time after sorting them with ``norm=False``; with `norm`, for the
    loss, and for queries of over 32 distinct grades or under 24 documents for each, O(n^2), or
    O(n T) with truncation T.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.LambdaRank(norm=False)
    >>> grad, hess = objective.grad_hess([1.0, 1.0], [1, 0], [2])
    >>> grad.round(3).tolist()
    [-0.185, 0.185]
    """

    name: ClassVar[str] = "lambdarank"

    truncation: int | None = None
    sigma: float | Schedule = 1.0
    norm: bool = True
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            truncation=check_cutoff("truncation", self.truncation),
            sigma=check_positive_or_schedule("sigma", self.sigma),
            norm=check_flag("norm", self.norm),
        )

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="frozen",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n)" if not self.norm else "O(n^2)" if self.truncation is None else "O(n T)",
            frozen="the pair weights w: ranks and, with norm, the normalisations",
        )

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries

    def _params(self) -> tuple[Any, ...]:
        return self.truncation or 0, self.sigma, self.norm
