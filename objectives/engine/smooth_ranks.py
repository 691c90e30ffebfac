"""What SDCG and SHF-SDCG share given smooth ranks: the cost of a rank, and its derivative.

Definition
    f_i(r) = -(g_i / Z_k) D(r), c_i = f_i'(r^_i)
    W(r) = G_beta(r - cut), 1 without a cut-off                                  (7)
    R(r) = integral of W from 0 to r, r itself without a cut-off
    D(r) = -R(r)                    discount "linear"
           -2 sqrt(1 + R(r))                 "sqrt"
           W(r) / log2(1 + r)                "log2"                              (8)
           W(r) / r                          "reciprocal"
           W(r) t(r)                         a table t, linear between two ranks; the slope
                                             at a rank is the mean of both sides
"""

import math
from typing import Any

from ..validation import Floats
from .columns import BEGIN, CURVATURE, CUT, OWN, RANK, SIZE, WORTH, Batch, Columns, Rules
from .far_field import ABOVE, LOGISTIC, SAME, constant, fit_of
from .gains import LINEAR, LOG2, RECIPROCAL, SQRT, TABLE, Discount
from .jit import Function, jit_helper
from .pairs import Document, pair_loop
from .vector import LN_2, logistic

DISCOUNTS = ("linear", "sqrt", "log2", "reciprocal")
# Ranks this close to a whole one are whole: documents with equal scores have a whole rank, or one
# halfway between two, and rounding must not choose the side of the kink for each of them.
ROUNDING = 1e-6


def ideal_discount(discount: Discount) -> Discount:
    """Return the discount of the ideal DCG: log2, or the loss's own if reciprocal or a table."""
    kind = discount.kind if discount.kind in (RECIPROCAL, TABLE) else LOG2
    return Discount(kind, discount.table)


def _of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return how much over 1/2 a pair adds to the better document's rank, and that 1/2: (6)."""
    return worse.decay / (worse.decay + better.decay) - 0.5, 0.5


def far_over_half(relation: int, side: int) -> list[Floats]:
    """Return how much over 1/2 a document of the same part adds to another's rank."""
    over = float(relation == SAME) * (LOGISTIC - constant(0.5))
    return [-over if side == ABOVE else over]  # G(-x) - 1/2 = 1/2 - G(x)


def ranks_by(of_pair: Function, far_ranks: Function) -> dict[str, Any]:
    """Return the fields of `Sums` for smooth ranks, which the far field adds to PULL alone.

    Parameters
    ----------
    of_pair : function
        As in `pair_loop`: what a pair adds to ranks.
    far_ranks : callable
        As in `far_field.sums_of`: the same for pairs of different blocks.
    """
    fit = fit_of(far_ranks, lambda relation, side: [constant(0.0)])
    return {"near_ranks": pair_loop(of_pair), "rank_fit": fit}


#: Smooth ranks, as `Sums` takes them.
SMOOTH_RANKS = ranks_by(_of_pair, lambda *place: [constant(0.5) + far_over_half(*place)[0]])


@jit_helper
def _cut_rank(rank: float, cut: float, beta: float) -> float:
    """R(r)."""
    beyond = math.log1p(math.exp(-beta * abs(rank - cut)))
    return min(rank, cut) - (beyond - math.log1p(math.exp(-beta * cut))) / beta


@jit_helper
def _step(rank: float, table: Floats) -> float:
    """Return what the table changes by from the last whole rank up to `rank` to the next."""
    n = len(table)
    place = int(max(1.0, min(rank, n + 1.0)))
    following = table[place] if place < n else 0.0
    return following - table[place - 1] if place <= n else 0.0


@jit_helper
def _falling(rank: float, discount: Discount) -> tuple[float, float]:
    """1/log2(1 + r), 1/r or t(r), with its slope, at whole ranks the mean of both sides."""
    if discount.kind == LOG2:
        log = math.log1p(rank)
        return LN_2 / log, -LN_2 / (log * log * (1.0 + rank))
    if discount.kind == RECIPROCAL:
        return 1.0 / rank, -1.0 / (rank * rank)
    table, n = discount.table, len(discount.table)
    place = int(max(1.0, min(rank, n + 1.0)))
    at = table[place - 1] if place <= n else 0.0
    slope = 0.5 * (_step(rank - ROUNDING, table) + _step(rank + ROUNDING, table))
    return at + (rank - place) * _step(rank, table), slope


@jit_helper
def _cost(rank: float, cut: float, p: Rules) -> tuple[float, float]:
    """-D(r) and its slope."""
    within, (inside, rho) = rank, (1.0, 0.0)
    if p.k > 0:
        within, (inside, rho) = _cut_rank(rank, cut, p.beta), logistic(p.beta * (rank - cut))  # (7)
    if p.discount.kind == LINEAR:
        return within, inside
    if p.discount.kind == SQRT:
        root = math.sqrt(1.0 + within)
        return 2.0 * root, inside / root
    value, slope = _falling(rank, p.discount)
    return -value * inside, value * p.beta * rho - slope * inside


def write_slopes(p: Rules, batch: Batch, w: Columns) -> None:
    """Write c of every document into OWN, from ranks and cut-offs."""
    for m in range(batch.blocks):
        for i in range(w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]):
            w.real[OWN, i] = w.real[WORTH, i] * _cost(w.real[RANK, i], w.real[CUT, m], p)[1]


def write_costs(p: Rules, batch: Batch, w: Columns) -> None:
    """Write what every document costs into CURVATURE, from ranks and cut-offs."""
    for m in range(batch.blocks):
        for i in range(w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]):
            w.real[CURVATURE, i] = w.real[WORTH, i] * _cost(w.real[RANK, i], w.real[CUT, m], p)[0]
