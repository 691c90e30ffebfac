"""Hinges on score differences: the kernel that GBRank and RankSVM share.

Definition
    pairs y_i > y_j, v = max(0, margin - (s_i - s_j))
    squared      loss = 1/2 sum v^2, grad_i -= v, grad_j += v
    not squared  loss = sum v, grad_i -= 1, grad_j += 1 for each v > 0
    curvature    1 for each v > 0, at both

Numerics
    Lists of up to `DIRECT` documents go through all pairs. Longer ones are sorted, and each cut of
    their grades (`bisection`) is swept twice. As i goes down in score, documents j only join those
    with v > 0, each with the v of its own pair, and every v grows by the step of s_i: with c of
    them so far, sum v += c step and sum v^2 += step (2 sum v + c step). All terms are positive, so
    nothing cancels however far scores spread. Both methods decide v > 0 by the same difference, so
    they count the same pairs and differ only in the last bits of sums.

Cost
    O(n log n). With five grades, 21 ns per document in lists of 20, 34 at 120 and 39 from 1,000 on.
    If all grades differ, 130 at 1,000.
"""

import math
from typing import NamedTuple

import numpy as np

from ..validation import Floats
from .bisection import halve, new_bisection
from .driver import query_kernel
from .jit import jit_allocating, jit_ordered
from .order import in_order, order_by_score

# Up to this many documents, vectorised pairs take less time than a sort and its sweeps.
DIRECT = 192
# Lists are padded to a multiple of this: the remainder of a vector loop would run one by one.
STRIDE = 16


@jit_ordered
def _violation(margin: float, better: float, worse: float) -> float:
    """Return how far a pair's lead is short of the margin; negative if it leads by more."""
    return margin - (better - worse)


@jit_allocating
def _all_pairs(
    scores: Floats, labels: Floats, margin: float, squared: bool, grad: Floats, hess: Floats
) -> tuple[float, float]:
    n = len(scores)
    s = np.zeros((n + STRIDE - 1) // STRIDE * STRIDE)
    y = np.full(len(s), math.nan)  # neither better nor worse than any other
    for i in range(n):
        s[i] = scores[i]
        y[i] = labels[i]
    loss = 0.0
    pairs = 0.0
    for i in range(n):
        own = s[i]
        grade = y[i]
        pull = 0.0
        count = 0.0
        total = 0.0
        for j in range(len(s)):
            sign = (1.0 if grade < y[j] else 0.0) - (1.0 if grade > y[j] else 0.0)
            lacking = _violation(margin, sign * s[j], sign * own)
            hinge = lacking if lacking > 0.0 and sign != 0.0 else 0.0
            within = 1.0 if hinge > 0.0 else 0.0
            pull += sign * (hinge if squared else within)
            count += within
            total += 0.5 * hinge * hinge if squared else hinge
            pairs += sign * sign
        grad[i] = pull
        hess[i] = count
        loss += total
    return 0.5 * loss, 0.5 * pairs  # each pair was visited twice


@jit_ordered
def _sweeps(
    scores: Floats, labels: Floats, margin: float, squared: bool, grad: Floats, hess: Floats
) -> tuple[float, float]:
    n = len(scores)
    order = order_by_score(scores)
    t, cuts = in_order(scores, order), new_bisection(in_order(labels, order))
    ranked_grad, ranked_hess = np.zeros(n), np.zeros(n)
    loss = 0.0
    pairs = 0.0
    waiting = 1
    while waiting > 0:
        waiting, start, cut, stop = halve(cuts, int(waiting))
        if cut == stop:
            continue
        better, worse = cuts.documents[start:cut], cuts.documents[cut:stop]
        last_better, last_worse = better[::-1], worse[::-1]
        pairs += len(better) * float(len(worse))
        met = 0  # worse documents with v > 0
        total = 0.0
        squares = 0.0
        before = t[better[0]]
        for i in better:
            step = before - t[i]
            before = t[i]
            squares += step * (2.0 * total + met * step)
            total += met * step
            while met < len(worse):
                lacking = _violation(margin, t[i], t[worse[np.uint64(met)]])
                if lacking <= 0.0:
                    break
                total += lacking
                squares += lacking * lacking
                met += 1
            loss += 0.5 * squares if squared else total
            ranked_grad[i] -= total if squared else met
            ranked_hess[i] += met
        met = 0  # better documents, from the last
        total = 0.0
        before = t[last_worse[0]]
        for j in last_worse:
            step = t[j] - before
            before = t[j]
            total += met * step
            while met < len(better):
                lacking = _violation(margin, t[last_better[np.uint64(met)]], t[j])
                if lacking <= 0.0:
                    break
                total += lacking
                met += 1
            ranked_grad[j] += total if squared else met
            ranked_hess[j] += met
    for rank in range(n):
        grad[order[rank]] = ranked_grad[rank]
        hess[order[rank]] = ranked_hess[rank]
    return loss, pairs


class HingeParams(NamedTuple):
    """What the kernel takes."""

    margin: float
    squared: bool
    normalize: bool  # average over the query's pairs


@query_kernel(HingeParams)
def hinge_kernel(
    p: HingeParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    """Write gradient and curvature of one query and return its loss."""
    if len(scores) <= DIRECT:
        loss, pairs = _all_pairs(scores, labels, p.margin, p.squared, grad, hess)
    else:
        loss, pairs = _sweeps(scores, labels, p.margin, p.squared, grad, hess)
    if p.normalize and pairs > 0.0:
        for i in range(len(scores)):
            grad[i] /= pairs
            hess[i] /= pairs
        loss /= pairs
    return loss
