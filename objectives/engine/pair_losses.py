r"""The value of the logistic loss over all pairs of a long list in O(n log n) time.

With x = sigma |s_i - s_j| and z = e^{-x}, the loss of a pair is

    ln(1 + z)        in the right order,    ln(1 + z) = sum_k b_k z^k,  k = 1..`TERMS`           (*)
    ln(1 + z) + x    in the wrong one.

b are the coefficients of the Chebyshev interpolation of ln(1 + z)/z on [0, 1]. The relative error
of the sum is 1e-14. Sums of exponentials over pairs are those of `dominance`. The distances of
wrong pairs are summed as in `bisection`: across each cut of the grades, one sweep by rank carries
sums over the worse documents above, of their lead and of the other factors of a pair's weight. All
terms are positive, so nothing cancels.

Divided by c + |s_i - s_j|, the logarithm is a sum of exponentials too (`divided`), and x becomes
sigma (1 - c/(c + |s_i - s_j|)): the weights of wrong pairs, minus a sum of exponentials.
"""

from typing import Any

import numpy as np

from ..validation import Floats, Integers
from . import columns as col
from .bisection import first_part, grade_levels, halve
from .columns import Columns
from .divided import OFFSET, widest
from .dominance import BEND_RIGHT, BEND_WRONG, dominance, series, sorted_columns
from .dominance import TERMS as WIDTH
from .gains import ideal_dcg, rank_discount
from .jit import Function, bind, jit_helper
from .order import all_equal, merged_order
from .swaps import swap_pairs
from .targets import NDCG, norm_factor, swapped_loss
from .vector import logistic, logistic_loss

TERMS = 18
# Shorter parts of a list are computed pair by pair.
DIRECT = 192
LARGEST = float(np.finfo(float).max)  # 0 times infinity would be NaN


LOG_SERIES = series(lambda z: np.log1p(z) / z, TERMS)


def _loss_fit() -> Floats:
    fit = np.zeros((1, 6, WIDTH))
    fit[0, BEND_RIGHT, 1 : TERMS + 1] = fit[0, BEND_WRONG, 1 : TERMS + 1] = LOG_SERIES
    return fit


LOSS_FIT = _loss_fit()


def pair_loss(*, weighted: bool, divided: bool = False) -> Function:
    """Return a compiled function for the loss of one query.

    Parameters
    ----------
    weighted : bool
        Whether pairs are weighted by |g_i - g_j| |d_i - d_j|, g in WORTH and d in OWN.
    divided : bool, default False
        Whether they are also divided by c + |s_i - s_j|.

    Returns
    -------
    ``loss(n, top, sigma, fits, w) -> total``
        The loss over pairs of different WORTH among the first n columns, sorted by score, with at
        least one document before column `top`. `fits` are those of `divided`, or `LOSS_FIT`.
        Overwrites columns.
    """
    kind = {"weighted": weighted, "divided": divided}
    add_rows = jit_helper(bind(_rows, **kind))
    add = dominance(add_rows, direct=DIRECT, **kind)
    across = jit_helper(bind(_across, **kind))
    wrong = jit_helper(bind(_wrong, across=across))
    loss: Function = jit_helper(bind(_loss, add=add, wrong=wrong, divided=divided))
    return loss


_unbound: Any = None
# Placeholders: `bind` replaces them for the functions below.
weighted = divided = False
add = wrong = across = _unbound


def _loss(n: int, top: int, sigma: float, fits: Floats, w: Columns) -> float:
    total: float = 0.0
    if divided:
        # Logarithms instead of slopes; without rho, `add` sums 1/(c + x) over wrong pairs.
        of_loss = fits.copy()
        for kind in range(len(fits)):
            for k in range(fits.shape[2]):
                of_loss[kind, 2, k], of_loss[kind, 3, k] = 0.0, fits[kind, 4, k]
        total = -OFFSET * sigma * add(0, n, top, sigma, of_loss, w)
    else:
        add(0, n, top, sigma, fits, w)
    total += 2.0 * sigma * wrong(n, top, w)
    for i in range(n):
        total += w.real[col.CURVATURE, i]  # each pair counts at both of its documents
    return 0.5 * total


def _rows(
    rows: tuple[int, int],
    partners: tuple[int, int],
    factorizable: bool | np.bool_,
    sigma: float,
    w: Columns,
) -> float:
    """Write the sums of (*) over the pairs of `rows` with `partners`; see `dominance`."""
    from_top, scores, gains = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    discounts, levels, z = w.real[col.OWN], w.real[col.LEVEL], w.real[col.POWER]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    wrong_pairs = 0.0
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        own, own_score, level = from_top[i], scores[i], levels[i]
        own_gain, own_discount = gains[i], discounts[i]
        for j in range(count if factorizable else np.uint64(0)):
            other = from_top[start + j]
            z[start + j] = min(own, other) / max(own, other)
        for j in range(np.uint64(0) if factorizable else count):
            z[start + j] = np.exp(-sigma * abs(own_score - scores[start + j]))
        total = 0.0
        for j in range(count):
            value = LOG_SERIES[TERMS - 1]
            for k in range(TERMS - 2, -1, -1):
                value = value * z[start + j] + LOG_SERIES[k]
            weight = 1.0 if levels[start + j] != level else 0.0
            if weighted:
                weight *= abs(own_gain - gains[start + j])
                weight *= abs(own_discount - discounts[start + j])
            if divided:
                weight /= OFFSET + abs(own_score - scores[start + j])
                wrong_pairs += weight if (own_gain > gains[start + j]) == (start + j < i) else 0.0
            total += weight * (value * z[start + j])
        pulls[i], curvatures[i] = 0.0, total
    return wrong_pairs


def _wrong(n: int, top: int, w: Columns) -> float:
    """Return the sum of weighted |s_i - s_j|, or of the weights, over pairs in the wrong order."""
    level, documents, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    begins = grade_levels(w.real[col.WORTH, :n], level)
    for i in range(n):
        documents[i] = i
    parts = first_part(len(begins) - 1)
    waiting = 1
    total = 0.0
    while waiting > 0:
        waiting, start, cut, stop = halve(parts, int(waiting), begins, level, documents, scratch)
        total += across(start, cut, stop, top, documents, w)
    return total


def _across(start: int, cut: int, stop: int, top: int, documents: Integers, w: Columns) -> float:
    """Do so for better documents (from `start`) below worse ones (from `cut`), both by rank."""
    scores, worth, own = w.real[col.SCORE], w.real[col.WORTH], w.real[col.OWN]
    between = worth[documents[start]]  # a gain between the better and the worse ones
    for place in range(start, cut if weighted else start):
        between = min(between, worth[documents[place]])
    # Sums over worse documents above: of 1, of their lead in score, in discount and in both. Then
    # the same times `between` minus their worth.
    count, lead, fall, both = 0.0, 0.0, 0.0, 0.0
    less, less_lead, less_fall, less_both = 0.0, 0.0, 0.0, 0.0
    total = 0.0
    better, worse = start, cut
    score, discount = scores[0], own[0]
    while better < cut:
        is_worse = worse < stop and documents[worse] < documents[better]
        i = documents[worse] if is_worse else documents[better]
        ahead = min(score - scores[i], LARGEST)
        score = scores[i]
        if weighted:
            deeper = discount - own[i]
            discount = own[i]
            both += deeper * lead + ahead * (fall + deeper * count)
            less_both += deeper * less_lead + ahead * (less_fall + deeper * less)
            fall += deeper * count
            less_fall += deeper * less
            less_lead += ahead * less
        lead += ahead * count
        if not is_worse:
            if divided and weighted:
                total += (worth[i] - between) * fall + less_fall
            elif divided:
                total += count
            elif weighted:
                total += (worth[i] - between) * both + less_both
            else:
                total += lead
            better += 1
            continue
        worse += 1
        if i < top:
            count += 1.0
            less += between - worth[i]
    return total


_grade_loss, _swap_loss = pair_loss(weighted=False), pair_loss(weighted=True)
_divided_loss = pair_loss(weighted=True, divided=True)
# Only for the sum of all pulls.
_pull_pairs = swap_pairs(divided=True, apart=True)[0]
_add_pulls = dominance(_pull_pairs, divided=True, weighted=True, direct=DIRECT)
_divided_grade_loss = pair_loss(weighted=False, divided=True)
_pull_grades = swap_pairs(divided=True, apart=True, weighted=False)[0]
_add_grade_pulls = dominance(_pull_grades, divided=True, weighted=False, direct=DIRECT)


@jit_helper
def long_grade_loss(sigma: float, scores: Floats, grades: Floats) -> float:
    """Return the loss of one query over pairs of different grade, all of weight 1."""
    n = len(scores)
    w, _ = sorted_columns(scores, grades)
    loss: float = _grade_loss(n, n, sigma, LOSS_FIT, w)
    return loss


@jit_helper
def _swap_columns(p: Any, scores: Floats, gains: Floats) -> tuple[Columns, int]:
    """Return the columns of one query, and how many documents are within the truncation."""
    n = len(scores)
    top = min(p.truncation, n) if p.truncation > 0 else n
    unit = ideal_dcg(gains, merged_order(gains), top, p.discount) if p.target == NDCG else 1.0
    w, _ = sorted_columns(scores, gains)
    for i in range(n):
        w.real[col.WORTH, i] /= unit
        w.real[col.OWN, i] = rank_discount(p.discount, n, i + 1)
    return w, top


@jit_helper
def long_swap_loss(p: Any, scores: Floats, gains: Floats) -> float:
    """Return the loss of one query over pairs weighted by how much their swap changes DCG.

    `p` is as in `targets.add_swapped_pairs`.
    """
    if all_equal(gains):
        return 0.0
    w, top = _swap_columns(p, scores, gains)
    loss: float = _swap_loss(len(scores), top, p.sigma, LOSS_FIT, w)
    return loss


@jit_helper
def long_normalised_loss(p: Any, scores: Floats, gains: Floats) -> float:
    """Return what `long_swap_loss` does, normalised; `p` has `fits`, from `divided`."""
    n = len(scores)
    if all_equal(gains):
        return 0.0
    w, top = _swap_columns(p, scores, gains)
    spread = w.real[col.SCORE, 0] - w.real[col.SCORE, n - 1]
    if spread > widest(p.sigma):
        return swapped_loss(p, scores, gains)
    # Where all scores are equal, the division is undone.
    factor = OFFSET if spread == 0.0 else p.unit
    magnitude = factor * _add_pulls(0, n, top, p.sigma, p.fits, w)
    loss: float = factor * _divided_loss(n, top, p.sigma, p.fits, w)
    return loss * norm_factor(p.sigma * p.unit * magnitude)


@jit_helper
def normalised_grade_loss(p: Any, scores: Floats, grades: Floats) -> float:
    """Return the loss of one query over pairs of different grade, normalised, pair by pair."""
    n = len(scores)
    if all_equal(grades):  # an empty query has no first score
        return 0.0
    lowest = highest = scores[0]
    for i in range(n):
        lowest, highest = min(lowest, scores[i]), max(highest, scores[i])
    loss, total = 0.0, 0.0  # total: L / 2 sigma
    for i in range(n):
        for j in range(n):
            if grades[i] > grades[j]:
                x = scores[i] - scores[j]
                weight = p.unit / (OFFSET + abs(x)) if highest > lowest else 1.0
                rho, _ = logistic(p.sigma * x)
                loss += weight * logistic_loss(p.sigma * x)
                total += weight * rho
    return loss * norm_factor(2.0 * p.sigma * p.unit * total)


@jit_helper
def long_normalised_grade_loss(p: Any, scores: Floats, grades: Floats) -> float:
    """Return what `normalised_grade_loss` does, for a long list."""
    n = len(scores)
    w, _ = sorted_columns(scores, grades)
    spread = w.real[col.SCORE, 0] - w.real[col.SCORE, n - 1]
    if spread > widest(p.sigma):
        return normalised_grade_loss(p, scores, grades)
    factor = OFFSET if spread == 0.0 else p.unit
    magnitude = factor * _add_grade_pulls(0, n, n, p.sigma, p.fits, w)
    loss: float = factor * _divided_grade_loss(n, n, p.sigma, p.fits, w)
    return loss * norm_factor(p.sigma * p.unit * magnitude)
