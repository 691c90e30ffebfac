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
    r^_i = 1 + sum over documents j of another gain: A(s_i - s_j) if g_i > g_j, B(s_i - s_j) if
           g_i < g_j                                                            (12), (13)
           + sum over j != i of the same gain: G_alpha(s_i - s_j)               (6)
    W(r) = G_beta(r - s_m), or 1 without a cut-off                              (17)
    loss = sum_i f_i(r^_i), f_i by `discount`, as in SDCG; the paper's is "log2"  (8)

    s_m is the largest smoothed rank among the k documents of highest gain (among equal gains at
    the k-th place, those with the smallest r^), and at least k. Taken in smoothed ranks it keeps
    the paper's promise: each of the top k documents has W >= 1/2.

Symbols
    s scores, g gains, f, c, e and Z_k as in SDCG. Grades of one gain count as equal.
    x_ij = s_i - s_j for g_i > g_j; A' <= 0 and A'' >= 0 at it; rho_ij = G (1 - G).

Gradient (exact for fixed s_m)
    A pair g_i > g_j adds (c_i + c_j) A'(x_ij) to i and its negative to j: both ranks improve
    together, whereas SDCG's c_i - c_j sets them against each other. A wrong pair is pulled with
    alpha/4 (16). A pair of equal gains is that of SDCG. With a linear discount and no k, such
    pairs add nothing, c_i = g_i / Z, and the loss is convex: a constant plus the sum over pairs
    g_i > g_j of (c_i + c_j) A(x_ij).

Hessians
    gauss-newton  (default) sum_j alpha (c_p + c_j) a_pj alpha/2, a_pj alpha the slope of the pair's
                  function, rho_pj or -A'; 0 for equal gains if linear without k
    constant      1

Degenerate queries
    Fewer than two documents, or all gains equal: zero loss and gradient.

Numerics
    As in `far_field`: no score overflows. Smoothed ranks grow with the scores without bound (1e30
    is fine); the discount and W then tend to 0.

Cost
    O(n) after a sort, by blocks (`far_field`), and O(n log n) if the query has over 32 distinct
    gains or fewer than 24 documents per gain (`parts`).

When to use
    As for SDCG, when a relevant document at the end of a long list should be pulled as hard as one
    near the top, or for a convex loss. With its noise it hardly overfits small, noisy data.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from .contract import Contract
from .engine.columns import ALL, BEGIN, CUT, RANK, SIZE, WORTH, Batch, Columns, Rules
from .engine.far_field import (
    ABOVE,
    DISTANCE,
    LOGISTIC,
    RIGHT,
    SAME,
    SLOPE,
    SUM,
    WRONG,
    better_sign,
    constant,
    fit_of,
    pair_entry,
)
from .engine.jit import jit_allocating, jit_helper
from .engine.order import in_order, order_by_score
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel, step
from .engine.smooth_ranks import ranks_by, write_costs, write_slopes
from .parameters import noise, positive
from .sdcg import SDCG
from .validation import Floats


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return -(c_i + c_j) A' / alpha, with c by gain alone, as pull and curvature."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share if better.decay >= worse.decay else 0.25
    pull = (worse.worth + better.worth) * rho  # (16)
    return pull, pull


def of_ranked_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return the same with c by rank; where gains are equal, SDCG's pair."""
    share = 1.0 / (worse.decay + better.decay)
    rho = worse.decay * better.decay * share * share
    hinge = (worse.own + better.own) * (rho if better.decay >= worse.decay else 0.25)
    same = better.worth == worse.worth
    return (better.own - worse.own) * rho if same else hinge, (
        (better.own + worse.own) * rho if same else hinge
    )


def of_rank(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return what a pair adds to ranks: the second number and plus or minus the first one."""
    sigmoid = worse.decay / (worse.decay + better.decay)
    lead = p.rate * (better.score - worse.score)
    hinge = sigmoid if lead >= 0.0 else 0.5 - 0.25 * lead  # (14), sign fixed
    same = better.worth == worse.worth
    return sigmoid - 0.5 if same else -0.5, 0.5 if same else hinge + 0.5  # (6), (12), (13), (15)


_QUARTER = constant(0.25)
FIT = fit_of(pair_entry(SLOPE, _QUARTER, odd=True), pair_entry(SLOPE, _QUARTER), weight=SUM)


def _of_ranked(odd: bool, relation: int, side: int) -> list[Floats]:
    """Return the numbers of pulls, or of curvatures unless `odd`."""
    if relation == SAME:
        return [-SLOPE if odd else SLOPE, SLOPE]
    value = SLOPE if relation == RIGHT else _QUARTER
    return [better_sign(relation, side) * value if odd else value] * 2


def _far_ranks(relation: int, side: int) -> list[Floats]:
    if relation == SAME:  # (6)
        return [constant(1.0) - LOGISTIC if side == ABOVE else LOGISTIC]
    one = constant(1.0 if better_sign(relation, side) < 0.0 else 0.0)  # (13), (15)
    return [one + (constant(0.5) + 0.25 * DISTANCE if relation == WRONG else LOGISTIC)]  # (14)


RANKED_FIT = fit_of(partial(_of_ranked, True), partial(_of_ranked, False))
_ranks = ranks_by(of_rank, _far_ranks)


_write_slopes, _write_costs = jit_helper(write_slopes), jit_helper(write_costs)


@jit_allocating
def _worst_rank(w: Columns, a: int, b: int, k: int) -> float:
    """Return s_m of (17) for the query in columns a to b."""
    gains, ranks = w.real[WORTH, a:b], w.real[RANK, a:b]
    by_rank = order_by_score(-ranks)
    by_gain = order_by_score(in_order(gains, by_rank))  # stable: smallest r^ first of equal gains
    cut = float(k)
    for position in range(min(k, b - a)):
        cut = max(cut, ranks[by_rank[by_gain[position]]])
    return cut


@jit_helper
def _write_cuts(p: Rules, batch: Batch, w: Columns) -> None:
    for m in range(batch.blocks if p.k > 0 else 0):
        begin = w.whole[BEGIN, m]
        w.real[CUT, m] = _worst_rank(w, begin, begin + w.whole[SIZE, m], p.k)


@step
def shf_slopes(p: Rules, batch: Batch, w: Columns) -> None:
    """Write c."""
    _write_cuts(p, batch, w)
    _write_slopes(p, batch, w)


@step
def shf_costs(p: Rules, batch: Batch, w: Columns) -> None:
    """Write what a document costs."""
    _write_cuts(p, batch, w)
    _write_costs(p, batch, w)


_losses = Sums(**_ranks, finish=shf_costs)


@dataclass(frozen=True, kw_only=True)
class SHFSDCG(SDCG):
    """Smooth DCG with smoothed hinge functions: wrongly ranked pairs keep a full gradient.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (12)-(17), the sign of (14) fixed. The loss is
    SDCG's, but documents of different gain enter each other's rank through hinges that stay linear
    while the pair is in the wrong order. With the default discount and no `k` it is convex.

    Parameters
    ----------
    k : int, optional
        Rank cut-off, at least 1: ranks beyond the worst of the k documents of highest gain hardly
        matter. Default None: the whole list.
    alpha : float or Schedule, default 1.0
        Steepness of sigmoid and hinge in score units, positive. Without noise it only sets the
        scale of the scores. Noise, also in score units, should shrink as ``perturb_scale=1/alpha``.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide every query by its ideal DCG, so that queries count alike.
    discount : {"linear", "sqrt", "log2", "reciprocal"} or sequence, default "linear"
        What a rank costs a relevant document. "linear", which learns fastest, is the rank r itself,
        "sqrt" 2 sqrt(1 + r). The others are the fall of a discount: 1/log2(1 + r), the paper's,
        1/r, or one number per rank from 1, on straight lines between them, 0 beyond.
    gain : see `Objective`
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        Positive; the paper's, constant, is gradient boosting.
    perturb : {"gumbel", "gaussian"} or None, default "gumbel"
        The noise that is added to scores. On six data sets it ranked as well as without, or better.
    perturb_scale : float, default 0.5, see `Objective`
    rescale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient (with `k`: for a fixed worst rank, found at every call); O(n) time and memory for
    a query of n documents after sorting them, O(n log n) time for queries of over 32 distinct
    gains or under 24 documents per gain.

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
    kernel = sigmoid_kernel(Sums(pair_loop(of_pair, one_sum=True), FIT), _losses)
    kernel_by_rank = sigmoid_kernel(
        Sums(pair_loop(of_ranked_pair), RANKED_FIT, **_ranks, prepare=shf_slopes), _losses
    )
    _pairs: ClassVar[int] = ALL

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
