"""Pairs one by one: unweighted, or weighted by what a swap changes, |g_i - g_j| |d_i - d_j| / u_ij.

g are gains over the ideal DCG (WORTH), and d are discounts of ranks (OWN). u is 1 or, for divided
pairs, 0.01 + |s_i - s_j|.
"""

from functools import cache
from typing import Any

import numpy as np

from ..validation import Floats
from . import columns as col
from . import lanes
from .columns import Batch, Columns, is_by_worth, query_columns
from .divided import OFFSET
from .far_field import (
    ABOVE,
    OTHER_MOMENT,
    OTHER_SUM,
    OWN_COUNT,
    OWN_MOMENT,
)
from .gains import Discount, rank_discount
from .jit import Function, bind, jit_disjoint, jit_helper, jit_inline
from .lanes import Lanes
from .near_field import LOWEST, Document, pairs_by_worth
from .vector import LANES, logistic, padded

# Scores of padding are infinitely far off, and 0 times infinity would be NaN.
FARTHEST = 1e200


@jit_inline
def write_discounts(d: Discount, batch: Batch, w: Columns) -> None:
    """Write the discounts d into OWN."""
    place, own = w.whole[col.PLACE], w.real[col.OWN]
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        for column in range(a, b):
            own[column] = rank_discount(d, b - a, place[column] + 1)


def swap_gaps(levels: int) -> Floats:
    """Return an array to be filled by `write_gaps`."""
    return np.empty((levels, levels))


@cache
def unit_gaps(levels: int) -> Floats:
    """Return gaps of 1 between all levels: made once, and nobody may write into them."""
    return 1.0 - np.eye(levels)


@jit_inline
def write_swap_table(table: Floats, w: Columns, batch: Batch) -> None:
    """Write the far field's numbers for the gaps between one query's gains."""
    levels, unit = w.real[col.LEVEL], w.real[col.UNIT, 0]
    for side in range(2):
        for level in range(batch.runs.shape[1] - 1):
            for other in range(batch.runs.shape[1] - 1):
                gap = abs(levels[level] - levels[other]) * unit
                # For documents above, |d_i - d_j| is d_j - d_i, and a pair in the right order pulls
                # the other way: the signs cancel. A wrong pair has 1 - rho instead of rho.
                wrong = gap if (level > other) == (side == ABOVE) else 0.0
                table[OWN_MOMENT, side, level, other] = gap
                table[OTHER_MOMENT, side, level, other] = -gap
                table[OWN_COUNT, side, level, other] = -wrong
                table[OTHER_SUM, side, level, other] = wrong


@jit_inline
def write_gaps(gaps: Floats, w: Columns, batch: Batch) -> None:
    """Write the gaps between one query's gains, by level."""
    levels, unit = w.real[col.LEVEL], w.real[col.UNIT, 0]
    for level in range(batch.runs.shape[1] - 1):
        for other in range(batch.runs.shape[1] - 1):
            gaps[level, other] = abs(levels[level] - levels[other]) * unit


@jit_helper
def add_grade_pairs(
    rows: tuple[int, int],
    partners: tuple[int, int],
    factorizable: bool | np.bool_,
    sigma: float,
    w: Columns,
) -> float:
    """Write the sums over pairs of different grade (WORTH), all of weight 1; see `swap_pairs`."""
    from_top, scores, grades = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        own, own_grade = from_top[i], grades[i]
        pull, curvature = 0.0, 0.0
        if factorizable:
            for j in range(count):
                other, grade = from_top[start + j], grades[start + j]
                below = 1.0 / (own + other)
                # rho is the share of the worse document.
                share = other if own_grade > grade else -own if own_grade < grade else 0.0
                pull += below * share  # rho
                curvature += below * below * other if own_grade != grade else 0.0
            curvature *= own  # rho (1 - rho)
        else:
            for j in range(count):
                gap = own_grade - grades[start + j]
                x = sigma * (scores[i] - scores[start + j])
                rho, slope = logistic(x if gap > 0.0 else -x)
                pull += rho if gap > 0.0 else -rho if gap < 0.0 else 0.0
                curvature += slope if gap != 0.0 else 0.0
        pulls[i], curvatures[i] = pull, curvature
    return 0.0


def pair_of_grades(worse: Document, better: Document) -> tuple[float, float]:
    """Return rho and rho (1 - rho)."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * share if better.worth > worse.worth else 0.0
    return rho, rho * better.decay * share


_add_grades = pairs_by_worth(pair_of_grades)


@jit_inline
def add_grade_block(m: int, sigma: float, w: Columns) -> None:
    """Write the sums over all pairs of different grade within a block."""
    begin, size = w.whole[col.BEGIN, m], w.whole[col.SIZE, m]
    end, factorizable = begin + size, w.whole[col.FACTORIZABLE, m] != 0
    last = begin + padded(size) if factorizable else end
    if factorizable and is_by_worth(size, size):
        _add_grades(begin, end, last, w)
    else:
        add_grade_pairs((begin, end), (begin, last), factorizable, sigma, w)


_add_grade_lanes = lanes.pairs_in_lanes(pair_of_grades)


@jit_inline
def derive_grade_lanes(p: Any, w: Lanes) -> tuple[float, float]:
    """Do what `add_grade_block` does for the queries of a group, with RankNet's factors."""
    _add_grade_lanes(p.sigma, w)
    for lane in range(LANES if p.normalize else 0):
        w.of_query[lanes.FACTOR, lane] = 1.0 / max(1, lanes.pairs_of_query(lane, w))
    return -p.sigma, p.sigma * p.sigma


def swap_pairs(
    divided: bool, apart: bool = False, weighted: bool = True
) -> tuple[Function, Function]:
    """Return two compiled functions.

    Parameters
    ----------
    divided : bool
        Whether u is 0.01 + |s_i - s_j| rather than 1.
    apart : bool, default False
        Whether pairs of the same LEVEL are left out.
    weighted : bool, default True
        Whether a pair's weight is |g_i - g_j| |d_i - d_j| / u_ij, rather than 1 / u_ij.

    Returns
    -------
    ``add_rows(rows, partners, factorizable, sigma, w) -> total``
        Writes the sums over pairs of the columns `rows` (first, last + 1) with those of `partners`;
        `factorizable` is as in `columns`. Returns the sum of all w rho.
    ``add_block(m, top, batch, sigma, w) -> total``
        Does so for the pairs within a block with at least one document before column `top`.
    """
    kind = {"divided": divided, "weighted": weighted}
    rows = jit_helper(bind(_rows, apart=apart, **kind))
    of_two = jit_helper(bind(_of_two, **kind))
    run = jit_disjoint(bind(_run_rows, of_two=of_two, divided=divided), in_order=False)
    leading = jit_helper(bind(_leading, run_rows=run))
    pairs = pairs_by_worth(swap_pair(divided, weighted))
    return rows, jit_helper(bind(_block, add_rows=rows, add_pairs=pairs, add_leading=leading))


def swap_pair(divided: bool, weighted: bool = True) -> Function:
    """Return what `near_field` and `lanes` take as `of_pair`: w rho and w rho (1 - rho)."""
    return bind(_of_pair, divided=divided, weighted=weighted)  # type: ignore[no-any-return]


_unbound: Any = None
# Placeholders: `bind` replaces them for the functions below.
divided = apart = weighted = False
add_rows = add_pairs = add_leading = run_rows = of_two = _unbound


def _of_pair(worse: Document, better: Document) -> tuple[float, float]:
    """Return w rho and w rho (1 - rho)."""
    u = OFFSET + abs(worse.score - better.score) if divided else 1.0
    value = 1.0 / ((worse.decay + better.decay) * u)
    weight = 1.0 if better.worth > worse.worth else 0.0
    if weighted:
        weight = max(better.worth - worse.worth, 0.0) * abs(worse.own - better.own)
        weight *= max(worse.top, better.top)
    pull = weight * value * worse.decay
    return pull, pull * (value * u) * better.decay


def _rows(
    rows: tuple[int, int],
    partners: tuple[int, int],
    factorizable: bool | np.bool_,
    sigma: float,
    w: Columns,
) -> float:
    from_top, scores = w.real[col.FROM_TOP], w.real[col.SCORE]
    gains, discounts, levels = w.real[col.WORTH], w.real[col.OWN], w.real[col.LEVEL]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    total = 0.0
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        own, own_score = from_top[i], scores[i]
        own_gain, own_discount, level = gains[i], discounts[i], levels[i]
        pull, magnitude, curvature = 0.0, 0.0, 0.0
        if not factorizable:
            for j in range(count):
                gap = own_gain - gains[start + j]
                if apart:
                    gap = gap if levels[start + j] != level else 0.0
                lead = abs(own_score - scores[start + j])
                weight = 1.0 if gap != 0.0 else 0.0
                if weighted:
                    weight = abs(gap) * abs(own_discount - discounts[start + j])  # w_ij
                if divided:
                    weight /= OFFSET + lead
                right = (gap > 0.0) == (own_score > scores[start + j])
                rho, slope = logistic(sigma * lead if right else -sigma * lead)
                magnitude += weight * rho
                pull += weight * rho if gap > 0.0 else -weight * rho
                curvature += weight * slope
        elif divided:
            for j in range(count):
                other = from_top[start + j]
                u = OFFSET + min(abs(own_score - scores[start + j]), FARTHEST)
                value = 1.0 / ((own + other) * u)
                gap = own_gain - gains[start + j]
                if apart:
                    gap = gap if levels[start + j] != level else 0.0
                weight = (1.0 if gap > 0.0 else -1.0 if gap < 0.0 else 0.0) * value
                if weighted:
                    weight = gap * abs(own_discount - discounts[start + j]) * value
                # rho is the share of the worse document.
                signed = weight * (other if gap > 0.0 else own)
                pull += signed
                magnitude += abs(signed)
                curvature += abs(weight) * (other * (value * u))
            curvature *= own
        else:
            for j in range(count):
                other = from_top[start + j]
                value = 1.0 / (own + other)
                gap = own_gain - gains[start + j]
                if apart:
                    gap = gap if levels[start + j] != level else 0.0
                weight = (
                    gap * abs(own_discount - discounts[start + j]) * value
                )  # w_ij / (E_i + E_j)
                pull += weight * (other if gap > 0.0 else own)  # w rho
                curvature += abs(weight) * value * other
            curvature *= own  # w rho (1 - rho)
        pulls[i] = pull
        curvatures[i] = curvature
        total += magnitude
    return total


def _leading(begin: int, top: int, last: int, among: np.bool_, w: Columns) -> float:
    """Add the sums over the pairs of columns begin to top - 1 with those up to last - 1.

    With `among`, nothing has been written yet, and each pair with both documents before `top` is
    visited twice, at half its weight. Otherwise such pairs are left out. Returns the sum of all
    w rho.
    """
    pulls, curvatures, parts = w.real[col.PULL], w.real[col.CURVATURE], w.real[col.RANK]
    first, middle, end = np.uint64(begin), np.uint64(top), np.uint64(last)
    # Whole vectors: in a remainder, one document takes as long as eight.
    start = first if among else first + np.uint64((top - begin) // LANES * LANES)
    for j in range(start, end):
        parts[j] = 1.0 if j >= middle else 0.5 if among else 0.0
    for j in range(first if among else middle, end):
        pulls[j], curvatures[j] = 0.0, 0.0
    given = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH], w.real[col.OWN], parts
    total: float = run_rows((first, middle), (start, end), *given, pulls, curvatures)
    return total


def _run_rows(
    rows: tuple[np.uint64, np.uint64],
    partners: tuple[np.uint64, np.uint64],
    decays: Floats,
    scores: Floats,
    worths: Floats,
    owns: Floats,
    parts: Floats,
    pulls: Floats,
    curvatures: Floats,
) -> float:
    total = 0.0
    for i in range(rows[0], rows[1], np.uint64(2)):
        # Two at once, so that what their partners receive is written once.
        i_b = min(i + np.uint64(1), rows[1] - np.uint64(1))
        there = 1.0 if i_b > i else 0.0
        a = Document(decays[i], scores[i], worths[i], owns[i], 1.0)
        b = Document(decays[i_b], scores[i_b], worths[i_b], owns[i_b], 1.0)
        pull_a, pull_b, bend_a, bend_b = 0.0, 0.0, 0.0, 0.0
        for j in range(partners[0], partners[1]):
            other = Document(decays[j], max(scores[j], LOWEST), worths[j], owns[j], 1.0)
            of_a, of_b = of_two(a, other, parts[j]), of_two(b, other, parts[j])
            pull_a += of_a[0]
            pull_b += of_b[0]
            bend_a += of_a[1]
            bend_b += of_b[1]
            if divided:
                total += abs(of_a[0]) + there * abs(of_b[0])
            pulls[j] -= of_a[0] + there * of_b[0]
            curvatures[j] += of_a[1] + there * of_b[1]
        pulls[i] += pull_a
        pulls[i_b] += there * pull_b
        curvatures[i] += bend_a
        curvatures[i_b] += there * bend_b
    return total


def _of_two(one: Document, other: Document, part: float) -> tuple[float, float]:
    """Return the pull that `one` receives from a pair, and the bend."""
    u = OFFSET + abs(one.score - other.score) if divided else 1.0
    value = 1.0 / ((one.decay + other.decay) * u)
    gap = one.worth - other.worth
    worse, better = (other.decay, one.decay) if gap > 0.0 else (one.decay, other.decay)
    weight = 1.0 if gap > 0.0 else -1.0 if gap < 0.0 else 0.0
    if weighted:
        weight = gap * abs(one.own - other.own)
    pull = part * weight * value * worse  # w rho
    return pull, abs(pull) * (value * u) * better  # w rho (1 - rho)


def _block(m: int, top: int, batch: Batch, sigma: float, w: Columns) -> float:
    begin, size = w.whole[col.BEGIN, m], w.whole[col.SIZE, m]
    factorizable = w.whole[col.FACTORIZABLE, m] != 0
    end = begin + size
    # Padding follows only a query's last block.
    padding = factorizable and (m == batch.blocks - 1 or not batch.spans_blocks)
    last = begin + padded(size) if padding else end
    whole = min(max(top, begin), end)
    total: float
    if factorizable and is_by_worth(size, whole - begin):
        total = add_pairs(begin, whole, last if whole == end else whole, w)
        if whole < end:
            total += add_leading(begin, whole, last, np.bool_(False), w)
        return 2.0 * total
    if factorizable and begin < whole < end:
        return 2.0 * float(add_leading(begin, whole, last, np.bool_(True), w))
    total = add_rows((begin, whole), (begin, last), factorizable, sigma, w)
    if whole < end:  # at least one of a pair is at rank T or above
        total += add_rows((whole, end), (begin, whole), factorizable, sigma, w)
    return total


_add_lanes = lanes.pairs_in_lanes(swap_pair(divided=False), ranked=True)


@jit_inline
def derive_lanes(p: Any, w: Lanes) -> tuple[float, float]:
    """Write the sums of a group for LambdaRank without norm."""
    _add_lanes(p.sigma, w)
    return -p.sigma, p.sigma * p.sigma
