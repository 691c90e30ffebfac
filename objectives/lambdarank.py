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

When to use
    To compare with, since most papers and libraries do; or with `norm=False` for lists of hundreds
    of documents and more, where visiting all pairs takes most of the time of a round.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract, Cost
from .engine import columns as col
from .engine import far_field as far
from .engine.columns import UNLIMITED, Batch, Columns, Packing, write_decays
from .engine.driver import batch_kernels
from .engine.far_field import add_far_pairs, new_table
from .engine.gains import rank_discount, read_grades
from .engine.jit import jit_helper, jit_inline
from .engine.order import order_by_score
from .engine.vector import logistic, padded
from .parameters import cutoff, flag, schedulable
from .schedules import Schedule
from .validation import Floats

# Up to this truncation, or twice as many documents, all pairs one by one take less time.
DIRECT_UP_TO = 110


class LambdaRankParams(NamedTuple):
    """What the kernels take."""

    truncation: int  # 0: none
    sigma: float
    norm: bool


@jit_helper
def _norm_factor(total: float) -> float:
    """log2(1 + L)/L, also of a tiny L."""
    return math.log1p(total) / (math.log(2.0) * total) if total > 0.0 else 1.0


@jit_helper
def _loss(p: LambdaRankParams, scores: Floats, labels: Floats) -> float:
    n = len(scores)
    top = min(p.truncation, n) if p.truncation > 0 else n
    gains = np.empty(n)
    ideal = read_grades(labels, top, gains, np.empty(32, np.int64))
    if ideal == 0.0:
        return 0.0
    order = order_by_score(scores)
    spread = p.norm and scores[order[0]] != scores[order[n - 1]]
    loss = 0.0
    total = 0.0  # L
    for a in range(top):
        i = order[a]
        for b in range(a + 1, n):
            j = order[b]
            lead = abs(scores[i] - scores[j])
            weight = abs(gains[i] - gains[j]) / ideal
            weight *= rank_discount(a + 1) - rank_discount(b + 1)  # w_ij
            # Without abs(), 0.01 + s_i - s_j may be summed in an order that loses the 0.01.
            weight = weight / (0.01 + lead) if spread else weight
            x = p.sigma * (lead if gains[i] > gains[j] else -lead)
            loss += weight * (max(0.0, -x) + math.log1p(math.exp(-abs(x))))
            total += 2.0 * p.sigma * weight * logistic(x)[0]
    return loss * _norm_factor(total) if p.norm else loss


@jit_inline
def _packing(p: LambdaRankParams) -> Packing:
    # The divisor 0.01 + |s_i - s_j| is no sum of exponentials: all pairs one by one.
    few = p.norm or 0 < p.truncation <= DIRECT_UP_TO
    direct_up_to = UNLIMITED if few else 2 * DIRECT_UP_TO + 1
    return Packing(True, p.truncation, True, True, True, direct_up_to, p.truncation)


@jit_helper
def _near_rows(
    rows: tuple[int, int],
    partners: tuple[int, int],
    w: Columns,
    sigma: float,
    norm: bool,
    offset: float,
    factorizable: bool,
) -> float:
    """Sum the pairs of the documents of some columns with those of others.

    With `norm`, weights are divided by `offset` plus the score difference, and their sum times rho
    is returned.
    """
    from_top, scores, gains, discounts = (
        w.real[col.FROM_TOP],
        w.real[col.SCORE],
        w.real[col.WORTH],
        w.real[col.OWN],
    )
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, count = np.uint64(partners[0]), np.uint64(partners[1] - partners[0])
    total = 0.0
    for i in range(np.uint64(rows[0]), np.uint64(rows[1])):
        own, own_score = from_top[i], scores[i]
        own_gain, own_discount = gains[i], discounts[i]
        pull = 0.0
        magnitudes = 0.0
        curvature = 0.0
        if not factorizable:
            for j in range(count):
                gap = own_gain - gains[start + j]
                lead = abs(own_score - scores[start + j])
                weight = abs(gap) * abs(own_discount - discounts[start + j])  # w_ij
                weight = weight / (offset + lead) if norm else weight
                right = (gap > 0.0) == (own_score > scores[start + j])
                rho, slope = logistic(sigma * lead if right else -sigma * lead)
                magnitudes += weight * rho
                pull += weight * rho if gap > 0.0 else -weight * rho
                curvature += weight * slope
        elif norm:
            for j in range(count):
                other = from_top[start + j]
                below = 1.0 / (own + other)
                gap = own_gain - gains[start + j]
                swap = abs(own_discount - discounts[start + j]) * below
                weight = gap * swap / (offset + abs(own_score - scores[start + j]))
                # rho of the better document is the other's share, and the other way round.
                signed = weight * (other if gap > 0.0 else own)
                pull += signed
                magnitudes += abs(signed)
                curvature += abs(weight) * below * other
            curvature *= own
        else:
            for j in range(count):
                other = from_top[start + j]
                below = 1.0 / (own + other)
                gap = own_gain - gains[start + j]
                weight = (
                    gap * abs(own_discount - discounts[start + j]) * below
                )  # w_ij / (E_i + E_j)
                pull += weight * (other if gap > 0.0 else own)  # w rho
                curvature += abs(weight) * below * other
            curvature *= own  # w rho (1 - rho)
        pulls[i] = pull
        curvatures[i] = curvature
        total += magnitudes
    return total


@jit_helper
def _near_cross(begin: int, top: int, end: int, w: Columns) -> None:
    """Add the pairs of columns begin..top - 1 with top..end - 1 to both."""
    from_top, gains, discounts = w.real[col.FROM_TOP], w.real[col.WORTH], w.real[col.OWN]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    start, stop = np.uint64(top), np.uint64(end)
    for j in range(start, stop):
        pulls[j] = 0.0
        curvatures[j] = 0.0
    for i in range(np.uint64(begin), np.uint64(top)):
        own, own_gain, own_discount = from_top[i], gains[i], discounts[i]
        pull = 0.0
        curvature = 0.0
        for j in range(start, stop):
            other = from_top[j]
            below = 1.0 / (own + other)
            gap = own_gain - gains[j]
            weight = gap * abs(own_discount - discounts[j]) * below
            signed = weight * (other if gap > 0.0 else own)
            slope = abs(weight) * below * other * own
            pull += signed
            curvature += slope
            pulls[j] -= signed
            curvatures[j] += slope
        pulls[i] += pull
        curvatures[i] += curvature


@jit_helper
def _near(m: int, top: int, batch: Batch, p: LambdaRankParams, offset: float, w: Columns) -> float:
    """Write the sums over pairs inside a block; return sum w rho over its documents.

    Documents before column `top` are at rank T or above.
    """
    begin, size, factorizable = (
        w.whole[col.BEGIN, m],
        w.whole[col.SIZE, m],
        w.whole[col.FACTORIZABLE, m] != 0,
    )
    end = begin + size
    # Padding stands behind a query's last block only.
    padding = factorizable and (m == batch.blocks - 1 or not batch.spans_blocks)
    last = begin + padded(size) if padding else end
    whole = min(max(top, begin), end)
    if begin < whole < end and factorizable and not p.norm:
        _near_rows((begin, whole), (begin, whole), w, p.sigma, False, offset, True)
        _near_cross(begin, whole, last, w)
        return 0.0
    total = _near_rows((begin, whole), (begin, last), w, p.sigma, p.norm, offset, factorizable)
    if whole < end:  # of a pair, one document is at rank T or above
        total += _near_rows((whole, end), (begin, whole), w, p.sigma, p.norm, offset, factorizable)
    return total


@jit_inline
def _tables(p: LambdaRankParams, levels: int) -> Floats:
    return new_table(levels)


@jit_inline
def _fill(table: Floats, w: Columns, batch: Batch) -> None:
    """Write the far field's numbers for the gaps between one query's gains."""
    levels, unit = w.real[col.LEVEL], w.real[col.UNIT, 0]
    for side in range(2):
        sign = -1.0 if side == far.ABOVE else 1.0
        for level in range(batch.runs.shape[1] - 1):
            for other in range(batch.runs.shape[1] - 1):
                gap = abs(levels[level] - levels[other]) * unit
                # |d_i - d_j| is (d_i - d_j) times the sign; a wrong pair has 1 - rho for rho.
                wrong = gap if (level > other) == (side == far.ABOVE) else 0.0
                of_pair = table[:, side, level, other]
                of_pair[far.OWN_MOMENT], of_pair[far.OTHER_MOMENT] = gap, -gap
                of_pair[far.OWN_COUNT], of_pair[far.OTHER_SUM] = -wrong, wrong
                of_pair[far.BEND_OWN_MOMENT] = sign * gap
                of_pair[far.BEND_OTHER_MOMENT] = -sign * gap


@jit_inline
def _derivatives(
    p: LambdaRankParams, batch: Batch, table: Floats, w: Columns
) -> tuple[float, float]:
    for m in range(batch.blocks):
        for column in range(w.whole[col.BEGIN, m], w.whole[col.BEGIN, m] + w.whole[col.SIZE, m]):
            w.real[col.OWN, column] = rank_discount(w.whole[col.PLACE, column] + 1)
    write_decays(w, batch, p.sigma)
    for m in range(batch.blocks):
        begin, end = w.whole[col.BEGIN, m], w.whole[col.BEGIN, m] + w.whole[col.SIZE, m]
        first = 0 if batch.spans_blocks else begin
        top = first + p.truncation if p.truncation > 0 else UNLIMITED
        offset = 1.0 if w.real[col.SCORE, begin] == w.real[col.SCORE, end - 1] else 0.01
        magnitudes = _near(m, top, batch, p, offset, w)
        if p.norm:
            factor = _norm_factor(p.sigma * magnitudes)
            for column in range(begin, end):
                w.real[col.PULL, column] *= factor
                w.real[col.CURVATURE, column] *= factor
    if batch.spans_blocks:
        _fill(table, w, batch)
        top = p.truncation if p.truncation > 0 else batch.columns
        add_far_pairs(p.sigma, table, batch, w, top, True)
    return -p.sigma, p.sigma * p.sigma


_kernel = batch_kernels(
    LambdaRankParams,
    packing=_packing,
    tables=_tables,
    derivatives=_derivatives,
    query_loss=_loss,
)


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
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

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
    exponential_gains: ClassVar[bool] = True
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        gradient="frozen", frozen="the pair weights w: ranks and, with norm, the normalisations"
    )
    hessians = EXACT_OR_CONSTANT

    truncation: int | None = cutoff()
    sigma: float | Schedule = schedulable(1.0)
    norm: bool = flag(True)
    hessian: str = "exact"

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        all_pairs = Cost.QUADRATIC if self.truncation is None else Cost.N_TIMES_CUTOFF
        return replace(super().contract, cost=all_pairs if self.norm else Cost.LINEAR)
