r"""SHF-SDCG: smooth DCG whose ranks use smoothed hinge functions.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, sections 3.1 and 3.2, equations (12)-(17). Normalised by the ideal
    DCG by default, as SDCG is.

    Erratum of (14): the text prints 0.5 + (alpha/4) x for x < 0. That is not C^1 at 0 (the slope
    of G there is -alpha/4), is not the hinge of the paper's figure 1, and pushes a wrongly ranked
    relevant document down. With 0.5 - (alpha/4) x, (16) holds.

Definition
    A(x) = G_alpha(x) for x >= 0, 0.5 - (alpha/4) x for x < 0                   (14), sign fixed
    B(x) = 1 + A(-x)                                                            (15)
    r^_i = 1 + sum over documents j of another grade: A(s_i - s_j) if y_i > y_j, B(s_i - s_j) if
           y_i < y_j                                                            (12), (13)
           + sum over j != i of the same grade: G_alpha(s_i - s_j)              (6)
    W(r) = G_beta(r - s_m), or 1 without a cut-off                              (17)
    loss = sum_i f_i(r^_i), f_i by `discount`, as in SDCG; the paper's is "log2"  (8)

    s_m is the largest smoothed rank among the k documents of highest grade (among equal grades at
    the k-th place, those with the smallest r^), and at least k. Taken in smoothed ranks it keeps
    the paper's promise: each of the top k documents has W >= 1/2.

Symbols
    s scores, y grades, g gains, f, c, e and Z_k as in SDCG.
    x_ij = s_i - s_j for y_i > y_j; A' <= 0 and A'' >= 0 at it; rho_ij = G (1 - G).

Gradient (exact for fixed s_m)
    A pair y_i > y_j adds (c_i + c_j) A'(x_ij) to i and its negative to j: both ranks improve
    together, whereas SDCG's c_i - c_j sets them against each other. A wrong pair is pulled with
    alpha/4 (16). A pair of equal grades is that of SDCG. With a linear discount and no k, such
    pairs add nothing, c_i = g_i / Z, and the loss is convex: a constant plus the sum over pairs
    y_i > y_j of (c_i + c_j) A(x_ij).

Hessians
    exact         e_p (dr^_p/ds_p)^2 + sum_j e_j (dr^_j/ds_p)^2 + sum over pairs of other grades
                  (c_p + c_j) A'' + sum over equal grades (c_p - c_j) G'', for fixed s_m;
                  indefinite, therefore floored at a tenth of the query's mean magnitude
    gauss-newton  (default) sum_j alpha (c_p + c_j) a_pj alpha/2, a_pj alpha the slope of the pair's
                  function, rho_pj or -A'; 0 for equal grades if linear without k
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    As in `far_field`: no score overflows. Smoothed ranks grow with the scores without bound (1e30
    is fine); the discount and W then tend to 0.

Cost
    O(n) after a sort, by blocks (`far_field`); O(n^2) for the exact Hessian, and if the query has
    over 32 distinct grades or fewer than 24 documents per grade.

When to use
    As for SDCG, when a relevant document at the end of a long list should be pulled as hard as one
    near the top, or for a convex loss. With its noise it hardly overfits small, noisy data.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from .contract import Contract
from .engine import columns as col
from .engine import far_field as far
from .engine.columns import Batch, Columns, Packing, query_columns
from .engine.jit import jit_helper, jit_inline
from .engine.near_field import Document
from .engine.order import in_order, merged_order
from .engine.smooth_ranks import SmoothDCGParams, block_sizes, ideal_discount, smooth_rank_kernels
from .engine.vector import logistic, padded
from .parameters import noise, positive
from .sdcg import SDCG
from .validation import Floats


@jit_inline
def _packing(p: SmoothDCGParams) -> Packing:
    few, block = block_sizes(p, col.BLOCK)
    return Packing(p.k, p.normalize, few, 0, ideal_discount(p), block)


@cache
def _tables(levels: int) -> tuple[Floats, Floats]:
    """Return the tables of what blocks add to ranks and, where c depends on them, to pulls."""
    ranks, pulls = far.new_table(levels), far.new_table(levels)
    for side, level, other in np.ndindex(2, levels, levels):
        sign, one = (-1.0, 1.0) if side == far.ABOVE else (1.0, 0.0)
        of_rank = ranks[:, side, level, other]
        if level == other:  # (6)
            of_rank[far.OWN_MOMENT], of_rank[far.OWN_COUNT] = sign, one
        elif (other > level) == (side == far.ABOVE):  # pairs in the right order: (14), (15)
            of_rank[far.OWN_MOMENT], of_rank[far.OWN_COUNT] = 1.0, one
        else:  # in the wrong one: A = 1/2 - alpha/4 x, and B one more
            of_rank[far.OWN_COUNT], of_rank[far.DISTANCE] = 1.5 - one, 0.25
        _write_pulls(pulls, (side, level, other), 1.0, 1.0)
    return ranks, pulls


@jit_inline
def _fill(table: Floats, batch: Batch, w: Columns) -> None:
    """Fill the table of pulls for one query, with c by gain alone."""
    gains, unit = w.real[col.LEVEL], w.real[col.UNIT, 0]
    for side in range(2):
        for level in range(batch.runs.shape[1] - 1):
            for other in range(batch.runs.shape[1] - 1):
                both = (gains[level] + gains[other]) * unit  # c_i + c_j
                _write_pulls(table, (side, level, other), both, 0.0)


@register_jitable
def _write_pulls(table: Floats, pair: tuple[int, int, int], own: float, others: float) -> None:
    """Write what two levels add to pulls: c_i + c_j is `own`, and `others`, times their weights."""
    side, level, other = pair
    sign = -1.0 if side == far.ABOVE else 1.0
    of_pair = table[:, side, level, other]
    if level == other:  # the difference, not the sum: 0 where c is by gain alone
        of_pair[far.OWN_MOMENT], of_pair[far.OTHER_MOMENT] = others, -others
        of_pair[far.BEND_OWN_MOMENT] = of_pair[far.BEND_OTHER_MOMENT] = others
    elif (other > level) == (side == far.ABOVE):  # pairs in the right order
        of_pair[far.OWN_MOMENT], of_pair[far.OTHER_MOMENT] = sign * own, sign * others
        of_pair[far.BEND_OWN_MOMENT], of_pair[far.BEND_OTHER_MOMENT] = own, others
    else:  # (16)
        own, others = 0.25 * own, 0.25 * others
        of_pair[far.OWN_COUNT], of_pair[far.OTHER_SUM] = -sign * own, -sign * others
        of_pair[far.BEND_OWN_COUNT], of_pair[far.BEND_OTHER_SUM] = own, others


@jit_helper
def _near_ranks(p: SmoothDCGParams, batch: Batch, w: Columns) -> None:
    """Write the documents' contributions inside each block to the smooth ranks."""
    begin, size, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    from_top, scores = w.real[col.FROM_TOP], w.real[col.SCORE]
    gains, ranks = w.real[col.WORTH], w.real[col.RANK]
    for m in range(batch.blocks):
        first, n, factorizable = np.uint64(begin[m]), size[m], ratios[m] != 0
        for i in range(np.uint64(n)):
            own, own_score, own_gain = from_top[first + i], scores[first + i], gains[first + i]
            rank = 0.5  # 1 - G(0): the loop includes j = i, which (6) excludes
            for j in range(np.uint64(padded(n))):
                gain = gains[first + j]
                # The better document's lead; between equal grades, that of i.
                lead = own_score - scores[first + j]
                lead = lead if own_gain >= gain else -lead
                if factorizable:
                    other = from_top[first + j]
                    sigmoid = (other if own_gain >= gain else own) / (own + other)
                else:
                    sigmoid = logistic(p.alpha * lead)[0]
                hinge = sigmoid if lead >= 0.0 else 0.5 - 0.25 * p.alpha * lead  # (14), sign fixed
                rank += sigmoid if own_gain == gain else hinge  # (6), (12)
                rank += 1.0 if own_gain < gain else 0.0  # (13), (15)
            ranks[first + i] = rank


@jit_helper
def _worst_rank(w: Columns, a: int, b: int, k: int) -> float:
    """Return s_m of (17) for the query in columns a to b."""
    gains, ranks = w.real[col.WORTH, a:b], w.real[col.RANK, a:b]
    by_rank = merged_order(-ranks)
    by_gain = merged_order(in_order(gains, by_rank))  # stable: smallest r^ first within a grade
    cut = float(k)
    for position in range(min(k, b - a)):
        cut = max(cut, ranks[by_rank[by_gain[position]]])
    return cut


@jit_inline
def _write_cuts(p: SmoothDCGParams, batch: Batch, w: Columns) -> None:
    for m in range(1 if batch.spans_blocks else batch.blocks):
        a, b = query_columns(w, batch, m)
        w.real[col.CUT, m] = _worst_rank(w, a, b, p.k)


def _of_pair(worse: Document, better: Document) -> tuple[float, float]:
    """Return -(c_i + c_j) A' / alpha, with c by gain alone, as pull and curvature."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share if better.decay >= worse.decay else 0.25
    hinge = (worse.worth + better.worth) * rho if better.worth > worse.worth else 0.0  # (16)
    return hinge, hinge


ranked = False  # bound below: whether c depends on the rank


def _near_pulls(p: SmoothDCGParams, first: int, last: int, w: Columns) -> None:
    """Write pulls / alpha and their magnitudes over the documents of each block."""
    begins, sizes, ratios = w.whole[col.BEGIN], w.whole[col.SIZE], w.whole[col.FACTORIZABLE]
    from_top, scores, gains = w.real[col.FROM_TOP], w.real[col.SCORE], w.real[col.WORTH]
    pulls, curvatures = w.real[col.PULL], w.real[col.CURVATURE]
    c, sign = (w.real[col.OWN], 1.0) if ranked else (w.real[col.WORTH], -1.0)
    for m in range(first, last):
        begin, n, factorizable = np.uint64(begins[m]), sizes[m], ratios[m] != 0
        for i in range(np.uint64(n)):
            own, own_score, own_gain = from_top[begin + i], scores[begin + i], gains[begin + i]
            own_c = c[begin + i]
            pull = 0.0
            curvature = -0.25 * (own_c + sign * own_c)  # the loop includes j = i
            for j in range(np.uint64(padded(n))):
                gain, other_c = gains[begin + j], c[begin + j]
                lead = own_score - scores[begin + j]
                lead = lead if own_gain >= gain else -lead
                if factorizable:
                    other = from_top[begin + j]
                    share = 1.0 / (own + other)
                    rho = own * other * share * share
                else:
                    rho = logistic(p.alpha * lead)[1]
                # -(c_i + c_j) A' / alpha, (16)
                hinge = (own_c + other_c) * (rho if lead >= 0.0 else 0.25)
                worse = -hinge if own_gain < gain else (own_c - other_c) * rho
                pull += hinge if own_gain > gain else worse  # gradient
                same = abs(own_c + sign * other_c) * rho
                curvature += same if own_gain == gain else hinge  # gauss-newton
            pulls[begin + i] = pull
            curvatures[begin + i] = curvature


_kernels = smooth_rank_kernels(
    packing=_packing,
    tables=_tables,
    fill=_fill,
    near_ranks=_near_ranks,
    write_cuts=_write_cuts,
    near_pulls=_near_pulls,
    of_pair=_of_pair,
    hinged=True,
)


@dataclass(frozen=True, kw_only=True)
class SHFSDCG(SDCG):
    """Smooth DCG with smoothed hinge functions: wrongly ranked pairs keep a full gradient.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (12)-(17), the sign of (14) fixed. The loss is
    SDCG's, but documents of different grade enter each other's rank through hinges that stay linear
    while the pair is in the wrong order. With the default discount and no `k` it is convex.

    Parameters
    ----------
    k : int, optional
        Rank cut-off, at least 1: ranks beyond the worst of the k documents of highest grade hardly
        matter. Default None: the whole list.
    alpha : float or Schedule, default 1.0
        Steepness of sigmoid and hinge in score units, positive. Only alpha times scores matters.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide every query by its ideal DCG, so that queries count alike.
    discount : {"linear", "sqrt", "log2", "reciprocal"} or sequence, default "linear"
        What a rank costs a relevant document. "linear", which learns fastest, is the rank itself,
        "sqrt" twice its root. The others are the fall of a discount: 1/log2(1 + r), the paper's,
        1/r, or one number per rank from 1, on straight lines between them, 0 beyond.
    gain : see `Objective`
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        The exact one is indefinite and trains badly; the paper's, constant, is gradient boosting.
    perturb : {"gumbel", "gaussian"} or None, default "gumbel"
        As in `Objective`. On six data sets it ranked as well as without noise, or better.
    perturb_scale : float, default 0.5
        As in `Objective`.
    rescale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient (with `k`: for a fixed worst rank, found at every call); O(n) time and memory for
    a query of n documents after sorting them. O(n^2) time for the exact Hessian, and for queries of
    over 32 distinct grades or under 24 documents per grade.

    Examples
    --------
    >>> import boostrank  # a wrong pair feels a gradient however far apart its scores are
    >>> grad, hess = boostrank.SHFSDCG().grad_hess([0.0, 30.0], [1, 0], [2])
    >>> bool(grad[0] < -1e-3 and grad[1] > 1e-3)
    True
    >>> grad, hess = boostrank.SDCG().grad_hess([0.0, 30.0], [1, 0], [2])
    >>> bool(abs(grad[0]) < 1e-12)
    True
    """

    name: ClassVar[str] = "shf-sdcg"
    kernel, kernel_by_rank = _kernels

    # Chosen on noisy data; scale 1 costs .008 NDCG@10 on clean data.
    perturb: str | None = noise("gumbel")
    perturb_scale: float = positive(0.5)

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        contract = super().contract
        if self.k is None:
            return replace(contract, convex=self.discount == "linear")
        return replace(contract, gradient="frozen", frozen="s_m, the worst rank of the top k")
