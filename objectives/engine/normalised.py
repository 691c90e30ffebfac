"""Pairs divided by 0.01 + |s_i - s_j|, and a query's sums times log2(1 + L)/L.

This is `norm` of LambdaRank and RankNet. L is the sum of |lambda| over both documents of every pair
of the query. Where all scores of a query are equal, nothing is divided. Another offset than 0.01 is
another unit of the scores (`divided`): the kernels get scores times `unit` and sigma over it, and
weights are `unit` times those of the divided pairs.
"""

from typing import Any

import numpy as np

from ..validation import Floats
from . import columns as col
from . import lanes, swaps
from .columns import UNLIMITED, Batch, Columns, write_decays
from .divided import OFFSET, add_divided_pairs, widest
from .dominance import DIRECT, dominance
from .jit import Function, bind, jit_helper, jit_inline
from .lanes import Lanes
from .targets import norm_factor
from .vector import LANES


def normalised(*, weighted: bool) -> tuple[Function, Function]:
    """Return two functions for pairs weighted by what their swap changes, or all of weight 1.

    Parameters
    ----------
    weighted : bool

    Returns
    -------
    ``derivatives(p, batch, gaps, w) -> (a, b)``
        As `driver.kernels_by_grades` takes it. `p` has the fields sigma, unit, truncation and fits
        and, if `weighted`, discount.
    ``in_lanes(p, w) -> (a, b)``
        As `driver.batch_kernels` takes it.
    """
    rows, block = swaps.swap_pairs(divided=True, weighted=weighted)
    apart = swaps.swap_pairs(divided=True, apart=True, weighted=weighted)[0]
    many = dominance(apart, divided=True, weighted=weighted)
    sums = {"add_rows": rows, "add_block": block, "add_many": many, "weighted": weighted}
    pair = swaps.swap_pair(divided=True, weighted=weighted)
    add_lanes = lanes.pairs_in_lanes(pair, ranked=weighted, sized=True)
    return (
        bind(_derivatives, **sums),
        jit_inline(bind(_in_lanes, add_lanes=add_lanes)),
    )


_unbound: Any = None
# Placeholders: `bind` replaces them for the functions below.
long = many = weighted = False
add_rows = add_block = add_many = add_lanes = _unbound


@jit_helper
def _spread(begin: int, end: int, w: Columns) -> float:
    """Return the largest difference between scores of a block, which need not be sorted."""
    scores = w.real[col.SCORE]
    highest = lowest = scores[begin]
    for i in range(begin, end):
        highest, lowest = max(highest, scores[i]), min(lowest, scores[i])
    spread: float = highest - lowest
    return spread


def _derivatives(p: Any, batch: Batch, gaps: Floats, w: Columns) -> tuple[float, float]:
    if weighted:
        swaps.write_discounts(p.discount, batch, w)
    write_decays(w, batch, p.sigma)
    magnitude = 0.0  # L / sigma
    for m in range(batch.blocks):
        begin, end = w.whole[col.BEGIN, m], w.whole[col.BEGIN, m] + w.whole[col.SIZE, m]
        first = 0 if batch.spans_blocks else begin
        top = first + p.truncation if p.truncation > 0 else UNLIMITED
        if batch.spans_blocks:
            spread = w.real[col.TOP, 0] - w.real[col.BOTTOM, m]
        else:
            spread = _spread(begin, end, w)
        fits_many = spread <= widest(p.sigma) and top - first > DIRECT // 2
        if many and end - begin > DIRECT and fits_many:
            magnitude = add_many(begin, end, top, p.sigma, p.fits, w)
        else:
            magnitude += add_block(m, top, batch, p.sigma, w)
        if long and batch.spans_blocks:
            if m + 1 < batch.blocks:
                continue
            if spread <= widest(p.sigma):
                if weighted:
                    swaps.write_gaps(gaps, w, batch)
                given = p.sigma, p.fits, gaps, batch, w, top
                magnitude += 2.0 * add_divided_pairs(*given, np.bool_(weighted))
            else:
                top = min(top, end)
                ratios = np.bool_(False)
                magnitude = add_rows((first, top), (first, end), ratios, p.sigma, w)
                magnitude += add_rows((top, end), (first, top), ratios, p.sigma, w)
        # If all scores are equal, undo the division by 0.01 + 0.
        factor = OFFSET if spread == 0.0 else p.unit
        factor *= norm_factor(p.sigma * p.unit * magnitude * factor)
        for column in range(first, end):
            w.real[col.PULL, column] *= factor
            w.real[col.CURVATURE, column] *= factor
        magnitude = 0.0
    sigma = p.sigma * p.unit
    return -sigma, sigma * sigma


def _in_lanes(p: Any, w: Lanes) -> tuple[float, float]:
    """Write the sums of a group, and the factors of its queries."""
    add_lanes(p.sigma, w)
    lanes.write_totals(w)
    sigma = p.sigma * p.unit
    for lane in range(LANES):
        tied = w.of_query[lanes.SPREAD, lane] == 0.0
        factor = w.of_query[lanes.FACTOR, lane] * (OFFSET if tied else p.unit)
        magnitude = w.of_query[lanes.TOTAL, lane] * factor  # L over 2 sigma
        w.of_query[lanes.FACTOR, lane] = factor * norm_factor(2.0 * sigma * magnitude)
    return -sigma, sigma * sigma
