"""What SDCG and SHF-SDCG share given smooth ranks: the cost of a rank, and its derivatives.

Definition
    f_i(r) = -(g_i / Z_k) D(r), c_i = f_i'(r^_i), e_i = f_i''(r^_i)
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
from typing import Any, NamedTuple

import numpy as np

from ..validation import Floats
from . import columns as col
from . import gains, lanes
from .columns import Batch, Columns, is_by_worth, query_columns, write_decays
from .curvature import floor_indefinite
from .driver import Kernel, batch_kernels
from .far_field import far_field, new_table
from .gains import Discount
from .jit import Function, bind, jit_helper, jit_inline
from .lanes import Lanes
from .near_field import pairs_by_worth
from .vector import LN_2, logarithms, logistic, padded, strided

DISCOUNTS = ("linear", "sqrt", "log2", "reciprocal")
LINEAR, SQRT, LOG2, RECIPROCAL, TABLE = range(5)
# Documents up to which blocks take longer than all pairs, where c depends on the rank.
DIRECT_UP_TO = 80
# Ranks this close to a whole one are whole: documents with equal scores have a whole rank, or one
# halfway between two, and rounding must not choose the side of the kink for each of them.
ROUNDING = 1e-6


class SmoothDCGParams(NamedTuple):
    """What the kernels of SDCG and SHF-SDCG take."""

    k: int  # 0: none
    alpha: float
    beta: float
    normalize: bool
    discount: Discount  # its kind is one of DISCOUNTS, or TABLE


@jit_inline
def ideal_discount(p: SmoothDCGParams) -> Discount:
    """Return the discount of the ideal DCG: log2, or the loss's own if reciprocal or a table."""
    kind = gains.LOG2
    kind = gains.RECIPROCAL if p.discount.kind == RECIPROCAL else kind
    kind = gains.TABLE if p.discount.kind == TABLE else kind
    return Discount(kind, p.discount.table)


@jit_inline
def by_gain_alone(p: SmoothDCGParams) -> bool:
    """Return whether c is g / Z, the same at every rank."""
    return p.discount.kind == LINEAR and p.k == 0


@jit_inline
def block_sizes(p: SmoothDCGParams, by_rank: int) -> tuple[int, int]:
    """Return the documents in the longest query of one block, and per block of longer ones.

    Where c depends on the rank, blocks have `by_rank` documents.
    """
    return (col.DIRECT_UP_TO, col.WIDE_BLOCK) if by_gain_alone(p) else (DIRECT_UP_TO, by_rank)


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
def _in_table(rank: float, table: Floats) -> tuple[float, float]:
    """t(r) and its slope, at whole ranks the mean of both sides; 0 beyond the end."""
    n = len(table)
    place = int(max(1.0, min(rank, n + 1.0)))
    at = table[place - 1] if place <= n else 0.0
    slope = 0.5 * (_step(rank - ROUNDING, table) + _step(rank + ROUNDING, table))
    return at + (rank - place) * _step(rank, table), slope


@jit_helper
def _falling(rank: float, discount: Discount) -> tuple[float, float, float]:
    """1/log2(1 + r), 1/r or t(r), with two derivatives."""
    if discount.kind == LOG2:
        log = math.log1p(rank)
        d0 = LN_2 / log
        d1 = -d0 / (log * (1.0 + rank))
        return d0, d1, d0 * (2.0 / log + 1.0) / (log * (1.0 + rank) ** 2)
    if discount.kind == RECIPROCAL:
        return 1.0 / rank, -1.0 / (rank * rank), 2.0 / (rank * rank * rank)
    value, slope = _in_table(rank, discount.table)
    return value, slope, 0.0


@jit_helper
def _discount(rank: float, cut: float, p: SmoothDCGParams) -> tuple[float, float]:
    """D(r) and its second derivative."""
    w0, w1, w2 = 1.0, 0.0, 0.0
    if p.k > 0:
        w0, rho = logistic(p.beta * (rank - cut))  # (7)
        w1 = -p.beta * rho
        w2 = p.beta * p.beta * rho * (1.0 - 2.0 * w0)
    if p.discount.kind <= SQRT:
        within = _cut_rank(rank, cut, p.beta) if p.k > 0 else rank
        if p.discount.kind == LINEAR:
            return -within, -w1
        root = math.sqrt(1.0 + within)
        return -2.0 * root, (0.5 * w0 * w0 / (1.0 + within) - w1) / root
    d0, d1, d2 = _falling(rank, p.discount)
    return d0 * w0, d2 * w0 + 2.0 * d1 * w1 + d0 * w2


@jit_helper
def logistic_ranks(p: Any, batch: Batch, w: Columns) -> None:
    """Write each block's contribution to the smooth ranks of its documents."""
    begin, size, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    from_top, scores, ranks = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.RANK]
    for m in range(batch.blocks):
        first, n, factorizable = np.uint64(begin[m]), size[m], ratios[m] != 0
        for i in range(np.uint64(n)):
            own, own_score = from_top[first + i], scores[first + i]
            rank = 0.5  # 1 - G(0): the loop includes j = i, which (6) excludes
            for j in range(np.uint64(padded(n))):
                if factorizable:
                    rank += from_top[first + j] / (own + from_top[first + j])  # (6)
                else:
                    rank += logistic(p.alpha * (own_score - scores[first + j]))[0]  # (6)
            ranks[first + i] = rank


@jit_helper
def write_slopes(p: SmoothDCGParams, batch: Batch, w: Columns) -> None:
    """Write c of every column into OWN, where it does not depend on the gain alone."""
    width = strided(batch.columns)
    slopes, ranks, logs = w.real[col.OWN], w.real[col.RANK], w.real[col.POWER]
    worth = w.real[col.WORTH]
    kind = p.discount.kind
    if kind == LINEAR:
        for i in range(np.uint64(width)):
            slopes[i] = -1.0
    elif kind == SQRT:
        for i in range(np.uint64(width)):
            slopes[i] = -1.0 / math.sqrt(1.0 + ranks[i])
    elif kind > LOG2:
        for i in range(np.uint64(width)):
            slopes[i] = _falling(ranks[i], p.discount)[1]
    else:
        for i in range(np.uint64(width)):
            slopes[i] = 1.0 + ranks[i]
        logarithms(slopes, logs, width)
        for i in range(np.uint64(width)):
            slopes[i] = -LN_2 / (logs[i] * logs[i] * slopes[i])
    if p.k > 0:
        for m in range(1 if batch.spans_blocks else batch.blocks):
            cut = w.real[col.CUT, m]
            a, b = query_columns(w, batch, m)
            for i in range(np.uint64(a), np.uint64(b)):
                w0, rho = logistic(p.beta * (ranks[i] - cut))  # (7)
                if kind == LINEAR:
                    slopes[i] = -w0
                elif kind == SQRT:
                    slopes[i] = -w0 / math.sqrt(1.0 + _cut_rank(ranks[i], cut, p.beta))
                elif kind == LOG2:
                    slopes[i] = slopes[i] * w0 - LN_2 / logs[i] * p.beta * rho
                else:
                    slopes[i] = slopes[i] * w0 - _falling(ranks[i], p.discount)[0] * p.beta * rho
    for i in range(np.uint64(width)):
        slopes[i] *= -worth[i]


@jit_helper
def write_losses(p: SmoothDCGParams, batch: Batch, w: Columns, loss: Floats) -> None:
    """Write the loss of every query, from ranks and cut-offs."""
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        total = 0.0
        for i in range(a, b):
            total += w.real[col.WORTH, i] * _discount(w.real[col.RANK, i], w.real[col.CUT, m], p)[0]
        loss[w.whole[col.QUERY, m]] = -total  # (8)


@jit_helper
def write_exact_curvatures(p: SmoothDCGParams, batch: Batch, w: Columns, hinged: bool) -> None:
    """Write the exact diagonal, from ranks, cut-offs and c; `hinged` as in `_exact_curvature`."""
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        e = np.zeros(b - a)
        for i in range(a, b if not by_gain_alone(p) else a):  # else there are no ranks, and e is 0
            second = _discount(w.real[col.RANK, i], w.real[col.CUT, m], p)[1]
            e[i - a] = -w.real[col.WORTH, i] * second
        c = w.real[col.WORTH if by_gain_alone(p) else col.OWN]
        _exact_curvature(w, c, a, b, p.alpha, e, hinged)


@jit_helper
def _exact_curvature(
    w: Columns, c: Floats, a: int, b: int, alpha: float, e: Floats, hinged: bool
) -> None:
    """Write the exact diagonal of one query, columns a to b - 1.

    With `hinged`, pairs of different gain follow SHF-SDCG's (14).
    """
    scores, worth = w.real[col.SCORE], w.real[col.WORTH]
    curvatures = w.real[col.CURVATURE, a:b]
    for i in range(a, b):
        slope = 0.0  # dr^_i/ds_i over alpha
        total = 0.0
        for j in range(a, b):
            if j == i:
                continue
            lead = scores[i] - scores[j]
            lead = -lead if hinged and worth[i] < worth[j] else lead
            sigmoid, rho = logistic(alpha * lead)
            g2 = rho * (1.0 - 2.0 * sigmoid)  # G'' / alpha^2
            if not hinged or worth[i] == worth[j]:
                slope -= rho
                total += e[j - a] * rho * rho + (c[i] - c[j]) * g2
            else:
                steepness = rho if lead >= 0.0 else 0.25  # -A' / alpha
                slope += -steepness if worth[i] > worth[j] else steepness
                total += e[j - a] * steepness * steepness
                total += (c[i] + c[j]) * (g2 if lead >= 0.0 else 0.0)
        curvatures[i - a] = alpha * alpha * (total + e[i - a] * slope * slope)
    floor_indefinite(curvatures)


def smooth_rank_kernels(
    *,
    packing: Function,
    tables: Function,
    fill: Function,
    near_ranks: Function,
    write_cuts: Function,
    near_pulls: Function,
    of_pair: Function,
    hinged: bool,
) -> tuple[Kernel, Kernel]:
    """Make the kernels of SDCG or SHF-SDCG: one for c by gain alone, one for c by rank.

    Parameters
    ----------
    packing : compiled function
        As in `batch_kernels`.
    tables : compiled function
        As in `batch_kernels`, for c by rank: two tables, for what blocks add to ranks and to pulls.
    fill : compiled function
        ``fill(table, batch, w)`` writes the table of the pulls for one query, for c by gain alone.
    near_ranks : compiled function
        ``(p, batch, w)``: writes sums over the pairs inside each block into RANK.
    near_pulls : function
        ``(p, first, last, w)``: writes them for blocks first to last - 1 into PULL and CURVATURE.
        Its global `ranked` says whether c depends on the rank.
    of_pair : function
        As in `near_field`, for c that depends on the gain alone.
    write_cuts : compiled function
        ``(p, batch, w)``: writes CUT of every query, from its ranks, where there is a cut-off.
    hinged : bool
        As in `_exact_curvature`.
    """
    # Hinges grow with distance.
    add_far_ranks, add_far_slopes = far_field(opposed=not hinged, distant=hinged)
    parts = {"near_ranks": near_ranks, "write_cuts": write_cuts, "add_far_ranks": add_far_ranks}
    write_ranks = [jit_inline(bind(_write_ranks, long=long, **parts)) for long in (False, True)]
    loss = jit_inline(bind(_loss, write_ranks=write_ranks[True]))
    exact = jit_inline(bind(_exact_derivatives, write_ranks=write_ranks[True], hinged=hinged))
    parts = {"add_far_slopes": add_far_slopes}
    parts["near_pulls"] = jit_helper(bind(near_pulls, ranked=True))
    short, long = (
        jit_inline(bind(_by_rank, long=long, write_ranks=write_ranks[long], **parts))
        for long in (False, True)
    )
    by_rank = batch_kernels(
        SmoothDCGParams,
        packing=packing,
        by_level=hinged,
        tables=tables,
        short=short,
        short_up_to=DIRECT_UP_TO,
        long=long,
        exact=exact,
        batch_loss=loss,
    )
    _, add_far_slopes = far_field(weighted=False)
    parts = {"fill": fill, "add_far_slopes": add_far_slopes, "add_pairs": pairs_by_worth(of_pair)}
    parts["near_pulls"] = jit_helper(bind(near_pulls, ranked=False))
    short, long = (jit_inline(bind(_by_gain, long=long, **parts)) for long in (False, True))
    add_lanes = lanes.pairs_in_lanes(of_pair)
    by_gain = batch_kernels(
        SmoothDCGParams,
        packing=packing,
        tables=new_table,
        short=short,
        long=long,
        batch_loss=loss,
        in_lanes=jit_inline(bind(_derivatives_of_lanes, add_lanes=add_lanes)),
    )
    # Losses are the same, and exact Hessians visit all pairs in any case.
    return by_rank._replace(of_derivatives=by_gain.of_derivatives), by_rank


# Placeholders: `bind` replaces them for the functions below. `long` says whether queries may be cut
# into blocks.
_unbound: Any = None
fill = near_ranks = write_cuts = near_pulls = add_pairs = write_ranks = _unbound
add_lanes = add_far_ranks = add_far_slopes = hinged = long = _unbound


def _write_ranks(p: SmoothDCGParams, batch: Batch, tables: Any, w: Columns) -> None:
    near_ranks(p, batch, w)
    if long:
        add_far_ranks(p.alpha, tables[0], batch, w)
    if p.k > 0:
        write_cuts(p, batch, w)


def _by_rank(p: SmoothDCGParams, batch: Batch, tables: Any, w: Columns) -> tuple[float, float]:
    """Write pulls and curvatures where c depends on the rank."""
    write_decays(w, batch, p.alpha)
    write_ranks(p, batch, tables, w)
    write_slopes(p, batch, w)
    near_pulls(p, 0, batch.blocks, w)
    if long:
        add_far_slopes(p.alpha, tables[1], batch, w)
    return -p.alpha, 0.5 * p.alpha * p.alpha


def _by_gain(p: SmoothDCGParams, batch: Batch, table: Any, w: Columns) -> tuple[float, float]:
    """Write pulls and curvatures where c is by gain alone."""
    write_decays(w, batch, p.alpha)
    for m in range(batch.blocks):
        begin, size = w.whole[col.BEGIN, m], w.whole[col.SIZE, m]
        by_worth = batch.spans_blocks or is_by_worth(size, size)
        if by_worth and w.whole[col.FACTORIZABLE, m] != 0:
            add_pairs(begin, begin + size, begin + padded(size), w)
        else:
            near_pulls(p, m, m + 1, w)
    if long and batch.spans_blocks:
        fill(table, batch, w)
        add_far_slopes(p.alpha, table, batch, w)
    return -p.alpha, 0.5 * p.alpha * p.alpha


def _derivatives_of_lanes(p: SmoothDCGParams, w: Lanes) -> tuple[float, float]:
    add_lanes(p.alpha, w)
    return -p.alpha, 0.5 * p.alpha * p.alpha


def _exact_derivatives(
    p: SmoothDCGParams, batch: Batch, tables: Any, w: Columns
) -> tuple[float, float]:
    if not by_gain_alone(p):
        write_decays(w, batch, p.alpha)
        write_ranks(p, batch, tables, w)
        write_slopes(p, batch, w)
    write_exact_curvatures(p, batch, w, hinged)
    return 0.0, 1.0


def _loss(p: SmoothDCGParams, batch: Batch, tables: Any, w: Columns, loss: Floats) -> None:
    write_decays(w, batch, p.alpha)
    write_ranks(p, batch, tables, w)
    write_losses(p, batch, w, loss)
