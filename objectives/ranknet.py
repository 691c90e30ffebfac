r"""RankNet: logistic loss on the score difference of each pair.

Source
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender: Learning to rank using gradient
    descent. ICML 2005; the cost that LambdaRank (Burges, Ragno, Le, NIPS 2006, section 6.2) scales
    by the change of NDCG. There, pairs may have any target probability; here it is 1 for the
    document of higher grade, and pairs of equal grade (target 1/2) are left out.

Definition
    pairs y_i > y_j
    P_ij = 1/(1 + e^{-sigma (s_i - s_j)}), the modelled probability that i belongs before j
    loss = sum_ij - ln P_ij = sum_ij ln(1 + e^{-sigma (s_i - s_j)}), the cross entropy of P_ij and a
    target of 1, divided by the query's number of such pairs when `normalize`

Symbols
    s scores, y grades, rho_ij = 1 - P_ij = 1/(1 + e^{sigma (s_i - s_j)})

Gradient (exact)
    grad_i -= sigma rho, grad_j += sigma rho: LambdaRank's with all weights w = 1

Hessians
    exact         (default) hess_{i,j} += sigma^2 rho (1 - rho); never negative. Divided like the
                  loss when `normalize`; floored, as all, at 1e-10.
    gauss-newton  the same: the logistic loss is its own Gauss-Newton curvature
    constant      1

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    No score overflows. Sums between blocks agree with those over pairs to 1e-10 of the query's
    largest gradient, and mostly to 1e-13.

Cost
    O(n) after a sort, by blocks (`blocks`) with sums for every distinct grade; O(n^2) where the
    query has over 32 distinct grades or fewer than 24 documents for each, and for the loss.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .blocks import (
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
    CONSTANT,
    HESSIAN_FLOOR,
    all_equal,
    exponentials,
    kernel,
    logistic,
    order_by_score,
    padded,
    part,
    step,
    strided,
    write_long_order,
)
from .schedules import Schedule, check_positive_or_schedule
from .validation import Floats, Integers, check_flag

Params = tuple[float, bool]  # sigma, normalize


# Up to this many documents, all pairs one by one take less time than blocks of them.
FEW = 200

# Scratch of a batch: rows of its columns or blocks, the same as whole numbers, places, sums of the
# levels.
Work = tuple[Floats, Integers, Integers, Floats]
SCORES, GRADE, DOWN, UP, POWERS, PULLS, CURVATURES, TOP, BOTTOM = range(9)
# Document of a column, counted from the query's first; of each block its query, first column,
# documents and whether ratios serve.
ORDER, QUERY, BEGIN, SIZE, RATIOS, PLACES, EDGES, SPARE = range(8)  # SPARE: two rows


@step
def _work(width: int) -> Work:
    rows, bits, places = scratch(9, 9, width)
    return rows, bits, places, np.empty((2, MAX_LEVELS, TERMS))


@part
def _count_pairs(labels: Floats) -> int:
    """Pairs of different grade."""
    n = len(labels)
    order = order_by_score(labels)
    pairs = 0
    better = 0
    for place in range(n):
        if place > 0 and labels[order[place]] != labels[order[place - 1]]:
            better = place
        pairs += better
    return pairs


@part
def _loss_query(scores: Floats, labels: Floats, params: Params) -> float:
    sigma, normalize = params
    loss = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                x = sigma * (scores[i] - scores[j])
                loss += max(0.0, -x) + math.log1p(math.exp(-abs(x)))
    pairs = _count_pairs(labels)
    return loss / pairs if normalize and pairs > 0 else loss


@part
def _place(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    levels: Floats,
    work: Work,
) -> tuple[int, int, Integers]:
    """Write documents, scores and grades of a batch by column; return its blocks and columns.

    Also returns where each distinct grade begins in every block of one query, and none otherwise:
    one block stays as it is. Degenerate queries are left out.
    """
    rows, _, places, _ = work
    runs = np.empty((1, 1), np.int64)
    blocks = 0
    columns = 0
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        n = b - a
        grades = labels[a:b]
        if all_equal(grades):
            continue
        order = places[ORDER, columns:]
        places[QUERY, blocks] = q
        known = 0 if n <= FEW else distinct(grades, levels)
        if known > 0:
            for i in range(n):
                rows[SCORES, i] = scores[a + i]
            write_long_order(rows[SCORES], n, order, places[SPARE:])
            edges, tops, bottoms = places[EDGES], rows[TOP], rows[BOTTOM]
            runs = grouped_blocks(
                scores[a:b], grades, levels[:known], n, order, edges, places[PLACES], tops, bottoms
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
            rows[TOP, blocks] = scores[a]  # for ratios, any score will do
            blocks += 1
        for i in range(n):
            rows[SCORES, columns + i] = scores[a + order[i]]
            rows[GRADE, columns + i] = grades[order[i]]
        end = columns + padded(n)
        for column in range(columns + n, end):
            rows[GRADE, column] = 0.0
        columns = end
    return blocks, columns, runs


@part
def _near(rows: Floats, begin: int, n: int, sigma: float, ratios: bool) -> None:
    """Write the sums over pairs inside a block."""
    first = np.uint64(begin)
    for i in range(np.uint64(n)):
        own, own_grade = rows[DOWN, first + i], rows[GRADE, first + i]
        pull = 0.0
        curvature = 0.0
        if ratios:
            for j in range(np.uint64(padded(n))):
                other, grade = rows[DOWN, first + j], rows[GRADE, first + j]
                below = 1.0 / (own + other)
                # rho of the better document is the other's share, and the other way round.
                worse = -own if own_grade < grade else 0.0
                pull += below * (other if own_grade > grade else worse)
                curvature += below * below * other if own_grade != grade else 0.0
            curvature *= own
        else:
            for j in range(np.uint64(n)):
                gap = own_grade - rows[GRADE, first + j]
                x = sigma * (rows[SCORES, first + i] - rows[SCORES, first + j])
                rho, slope = logistic(x if gap > 0.0 else -x)
                worse = -rho if gap < 0.0 else 0.0
                pull += rho if gap > 0.0 else worse
                curvature += slope if gap != 0.0 else 0.0
        rows[PULLS, first + i] = pull
        rows[CURVATURES, first + i] = curvature


@part
def _far(
    sigma: float,
    from_above: bool,
    runs: Integers,
    rows: Floats,
    sums: Floats,
) -> None:
    """Add the pairs of every document with those of all blocks above it, or below."""
    blocks, known = len(runs), runs.shape[1] - 1
    near, far = (rows[DOWN], rows[UP]) if from_above else (rows[UP], rows[DOWN])
    sign = -1.0 if from_above else 1.0
    count = np.empty(known)
    values, slopes = np.empty(TERMS), np.empty(TERMS)
    for level in range(known):
        count[level] = 0.0
    clear(sums, known)
    for turn in range(blocks):
        m = turn if from_above else blocks - 1 - turn
        for level in range(known):
            a, b = runs[m, level], runs[m, level + 1]
            if turn == 0 or a == b:
                continue
            wrong = 0.0
            for k in range(TERMS):
                values[k] = 0.0
                slopes[k] = 0.0
            for other in range(known):
                if other != level:
                    for k in range(TERMS):
                        values[k] += LOGISTIC[k] * sums[0, other, k]
                        slopes[k] += SLOPE[k] * sums[0, other, k]
                    wrong += count[other] if (level > other) == from_above else 0.0
            z, pulls, curvatures = near[a:b], rows[PULLS, a:b], rows[CURVATURES, a:b]
            for i in range(b - a):
                pulls[i] += sign * (series(values, z[i]) - wrong)
                curvatures[i] += series(slopes, z[i])
        if turn + 1 == blocks:
            continue
        span = math.exp(-sigma * (rows[TOP, m] - rows[BOTTOM, m]))
        upper = m if from_above else m - 1
        gap = math.exp(-sigma * (rows[BOTTOM, upper] - rows[TOP, upper + 1]))
        # Of the sums with weights, which others need, nothing is read here.
        carry(runs[m], rows[GRADE], far, rows[POWERS], span, gap, sums)
        for level in range(known):
            count[level] += runs[m, level + 1] - runs[m, level]


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
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        loss[q] = _loss_query(scores[a:b], labels[a:b], params)


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
    sigma, normalize = params
    rows, bits, places, sums = work
    every = np.empty(MAX_LEVELS)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        blocks, columns, runs = _place(start, stop, boundaries, scores, labels, every, work)
        linked = len(runs) > 1
        for m in range(blocks):
            a, n, top = places[BEGIN, m], places[SIZE, m], rows[TOP, m]
            places[RATIOS, m] = exponents(rows, SCORES, POWERS, a, n, sigma, top)
        exponentials(rows, bits, POWERS, DOWN, 0, strided(columns))
        for m in range(blocks):
            a, n, ratios = places[BEGIN, m], places[SIZE, m], places[RATIOS, m] != 0
            _near(rows, a, n, sigma, ratios)
            if linked:
                to_bottom(
                    rows, SCORES, DOWN, UP, a, n, sigma, rows[TOP, m], rows[BOTTOM, m], ratios
                )
        if linked:
            for from_above in (True, False):  # a loop, so that `_far` is compiled once for both
                _far(sigma, from_above, runs, rows, sums)
        for m in range(1 if linked else blocks):
            q, begin = places[QUERY, m], places[BEGIN, m]
            a, b = boundaries[q], boundaries[q + 1]
            scale = 1.0 / _count_pairs(labels[a:b]) if normalize else 1.0
            for column in range(begin, begin + b - a):
                i = a + places[ORDER, column]
                grad[i] = -sigma * scale * rows[PULLS, column]
                if hessian != CONSTANT:
                    curvature = sigma * sigma * scale * rows[CURVATURES, column]
                    hess[i] = max(curvature, HESSIAN_FLOOR)
        start = stop


@dataclass(frozen=True, kw_only=True)
class RankNet(Objective):
    """Logistic loss on pairs: the probability that the better document comes first.

    ``loss = sum over y_i > y_j of ln(1 + exp(-sigma (s_i - s_j)))``, after Burges et al.
    (ICML 2005): LambdaRank without its weights.

    Parameters
    ----------
    sigma : float or Schedule, default 1.0
        Steepness of the logistic loss in score units, positive. It sets the scale of the scores and
        nothing else.
    normalize : bool, default False
        Average over the query's pairs, so that queries count alike; by default, as in the paper, a
        query counts by its number of pairs, which ranked no worse.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are the same here and never negative; constant is plain gradient boosting,
        whose steps grow with the number of pairs unless `normalize`.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents after sorting them;
    O(n^2) time for the loss, and for queries of over 32 distinct grades or under 24 documents for
    each.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.RankNet().grad_hess([0.0, 0.0, 0.0], [2, 0, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 0.5, 0.5], [0.5, 0.25, 0.25])
    """

    name: ClassVar[str] = "ranknet"

    sigma: float | Schedule = 1.0
    normalize: bool = False
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            sigma=check_positive_or_schedule("sigma", self.sigma),
            normalize=check_flag("normalize", self.normalize),
        )

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        return Contract(
            gradient="exact",
            hessian=self.hessians[self.hessian],
            shift_invariant=True,
            labels=GRADES,
            cost="O(n)",
        )

    _loss_queries = _loss_queries
    _grad_hess_queries = _grad_hess_queries

    def _params(self) -> tuple[Any, ...]:
        return self.sigma, self.normalize
