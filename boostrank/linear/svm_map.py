r"""SVM-MAP: a structural SVM whose loss is one minus the average precision.

Source
    Yue, Finley, Radlinski, Joachims: A support vector method for optimizing average precision
    (2007): optimization problem 1, and the search of algorithm 2 but for its order.
    Joachims, Finley, Yu: Cutting-plane training of structural SVMs (2009), algorithm 3: the
    1-slack form, which needs far fewer planes.

Where it differs from them
    Algorithm 2 tries all places for each irrelevant document: O(R N). But the best place never
    rises from one irrelevant document to the next. So the place of the middle one halves the work
    for the others, and all of it is O(n log n).

Definition
    For a query with R relevant documents r and N irrelevant ones i, a ranking y has

    Psi(y)   = sum_r sum_i y_ri (x_r - x_i) / (R N),  y_ri = 1 if y puts r above i, else -1
    Delta(y) = 1 - AP(y)

    minimise  |w|^2 / 2 + C xi  over w and xi >= 0, subject to, for any rankings y_q of the queries,
        mean_q w . (Psi(best_q) - Psi(y_q)) >= mean_q Delta(y_q) - xi                  1-slack form
"""

from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from boostrank.datasets import RankingData
from boostrank.linear.base import BatchRanker, best, check_grids
from boostrank.messages import warn
from boostrank.objectives.engine.jit import jit_entry
from boostrank.objectives.validation import Floats, Integers, check_count, check_positive

# Ends the descent if rounding keeps it from its goal. Training on OHSUMED takes far fewer.
STEPS_PER_PLANE = 200


@jit_entry
def most_violated(relevant: Floats, irrelevant: Floats, above: Integers) -> None:
    """Find the ranking with the largest Delta(y) + w . Psi(y).

    `above` is filled with the number of relevant documents above each irrelevant one. Both kinds of
    scores descend, and neither is empty.

    Among the relevant and among the irrelevant documents, better scores rank higher: that does not
    change Delta and is best for Psi. What remains to choose is how many of the relevant documents
    rank above each irrelevant one. The best choices do not depend on each other, as Yue et al.
    show, and do not decrease from one irrelevant document to the next.
    """
    n_relevant, n_irrelevant = len(relevant), len(irrelevant)
    step = 1
    while step <= n_irrelevant:
        step *= 2
    while step > 1:  # documents step/2, 3 step/2, ... from 1 lie between those already placed
        for j in range(step // 2, n_irrelevant + 1, step):
            first = above[j - step // 2 - 1] if j > step // 2 else 0
            last = above[j + step // 2 - 1] if j + step // 2 <= n_irrelevant else n_relevant
            # The value of `last` relevant documents above the j-th irrelevant one is taken as 0.
            value, best, place = 0.0, 0.0, last
            for k in range(last, first, -1):
                # From k to k - 1 above: the k-th relevant document has j instead of j - 1
                # irrelevant ones above it, which costs precision and flips one pair of Psi.
                value += (k / (k + j - 1.0) - k / (k + j)) / n_relevant
                value -= 2.0 * (relevant[k - 1] - irrelevant[j - 1]) / (n_relevant * n_irrelevant)
                if value > best:
                    best, place = value, k - 1
            above[j - 1] = place
        step //= 2


@jit_entry
def _violation(
    scores: Floats, n_relevant: Integers, n_irrelevant: Integers, moves: Floats, above: Integers
) -> float:
    """Find every query's most violated ranking; return the sum of Delta.

    The scores of a query are those of its relevant documents, descending, and then those of the
    others. `moves` is filled with the coefficient of each document in Psi(best) - Psi(y).
    """
    total = 0.0
    start = 0
    for q in range(len(n_relevant)):
        R, N = n_relevant[q], n_irrelevant[q]
        middle, end = start + R, start + R + N
        places = above[middle:end]
        most_violated(scores[start:middle], scores[middle:end], places)
        total += 1.0
        ahead = 0  # irrelevant documents above the k-th relevant one
        for k in range(1, R + 1):
            while ahead < N and places[ahead] < k:
                ahead += 1
            total -= k / (k + ahead) / R
            moves[start + k - 1] = 2.0 * ahead / (R * N)
        for j in range(N):
            moves[middle + j] = -2.0 * (R - places[j]) / (R * N)
        start = end
    return total


@jit_entry
def _solve(K: Floats, b: Floats, alpha: Floats, v: Floats, gap: float) -> None:
    """Maximise b . alpha - alpha . K alpha / 2 over alpha >= 0 with the same sum.

    Sequential minimal optimisation: two alphas at a time, first the one with the largest slope,
    then the one that gains most with it. `alpha` starts feasible and ends within `gap` of the
    maximum, unless rounding or the number of steps prevents it. `v` is filled with the slopes
    b - K alpha.
    """
    n = len(b)
    for t in range(n):
        v[t] = b[t]
        for u in range(n):
            v[t] -= K[t, u] * alpha[u]
    for _ in range(STEPS_PER_PLANE * n):
        up = 0
        bound = 0.0
        total = 0.0
        for t in range(n):
            if v[t] > v[up]:
                up = t
            bound -= alpha[t] * v[t]
            total += alpha[t]
        if bound + total * v[up] <= gap:
            return
        down, most, move = -1, 0.0, 0.0
        for t in range(n):
            slope = v[up] - v[t]
            if alpha[t] > 0.0 and slope > 0.0:
                bend = max(K[up, up] + K[t, t] - 2.0 * K[up, t], 1e-300)
                step = min(slope / bend, alpha[t])
                gain = step * (slope - 0.5 * step * bend)
                if gain > most:
                    down, most, move = t, gain, step
        if down < 0:  # only rounding is left
            return
        alpha[down] = max(alpha[down] - move, 0.0)
        alpha[up] += move
        for t in range(n):
            v[t] -= move * (K[t, up] - K[t, down])


class _Queries:
    """The documents of the queries that have both relevant and irrelevant ones, sorted once."""

    def __init__(self, data: RankingData) -> None:
        query = np.repeat(np.arange(len(data.group)), data.group)
        irrelevant = data.y <= 0.0
        n_irrelevant = np.bincount(query, irrelevant, len(data.group)).astype(np.int64)
        n_relevant = data.group - n_irrelevant
        both = (n_relevant > 0) & (n_irrelevant > 0)
        kept = both[query]
        self.X = data.X[kept]
        self.n_relevant, self.n_irrelevant = n_relevant[both], n_irrelevant[both]
        self._keys = irrelevant[kept], query[kept]
        self._above = np.zeros(len(self.X), np.int64)

    def __len__(self) -> int:
        return len(self.n_relevant)

    def plane(self, w: Floats) -> tuple[Floats, float]:
        """Return g and b of the most violated constraint: w . g >= b - xi."""
        scores = self.X @ w
        order = np.lexsort((-scores, *self._keys))
        moves, moved = np.empty(len(scores)), np.empty(len(scores))
        total = _violation(scores[order], self.n_relevant, self.n_irrelevant, moved, self._above)
        moves[order] = moved
        return moves @ self.X / len(self), total / len(self)


def cutting_planes(data: RankingData, C: float, *, tol: float, max_iter: int) -> tuple[Floats, int]:
    """Return a w of the 1-slack problem within ``C tol`` of the minimum, and a count of planes."""
    queries = _Queries(data)
    w = np.zeros(data.X.shape[1])
    if not len(queries):
        return w, 0
    # The first plane is xi >= 0.
    G, b, K = np.zeros((1, len(w))), np.zeros(1), np.zeros((1, 1))
    alpha, v = np.array([C]), np.zeros(1)
    for t in range(max_iter):
        g, loss = queries.plane(w)
        # Value minus the dual's: alpha is feasible there, so no w does better by more than this.
        if C * (loss - w @ g) - alpha @ v <= C * tol:
            return w, t
        G, b = np.vstack([G, g]), np.append(b, loss)
        K = np.pad(K, (0, 1))
        K[-1] = K[:, -1] = G @ g
        alpha, v = np.append(alpha, 0.0), np.empty(len(b))
        _solve(K, b, alpha, v, 0.5 * C * tol)
        w = alpha @ G
    warn(
        f"SVMMAP stopped after {max_iter} planes, not within tol={tol} of the optimum; raise "
        "max_iter or tol, or lower C",
        ConvergenceWarning,
    )
    return w, max_iter


class SVMMAP(BatchRanker):
    """Linear ranker that minimises a convex bound on 1 - MAP: a structural SVM.

    Yue et al. (2007), in the 1-slack form of Joachims, Finley and Yu (2009): while some ranking of
    the queries violates its margin of 1 - AP, the most violated one is added to the constraints.

    Parameters
    ----------
    C : float or sequence of floats, default 1.0
        Weight of the mean slack over queries against ``|w|^2 / 2``, positive. Of several values,
        the one whose MAP is best on `eval_set` is kept, the first of equals.
    tol : float, default 1e-5
        How far the value may be above the minimum, in units of `C`: in effect an error of the mean
        slack, which is on the scale of MAP. Positive. At 1e-3 the last bits of matrix products
        decided which C did best on OHSUMED.
    max_iter : int, default 1000
        Limit of constraints for each C, at least 1.

    Attributes
    ----------
    coef_ : float64 array (n_features,)
        w: documents are ranked by ``X @ coef_``.
    C_ : float
        The value used.
    n_iter_ : int
        Number of constraints that it took.
    n_features_in_ : int
    feature_names_in_ : array (n_features,)
        Where X has column names.

    Notes
    -----
    y > 0 is relevant, and higher grades count no more. Queries in which all documents are relevant,
    or none, have only one ranking and do not count; if there are no others, all coefficients are 0.
    The scale of features matters: bring them to a common scale.

    The most violated ranking of a query of n documents takes O(n log n), nearly all of it for the
    sort. Larger C need more constraints: on OHSUMED 16 at C = 1, 207 at C = 1000, 429 at C = 10,000
    and 948 at C = 10^6, which takes a minute. docs/accuracy.md compares it with published figures.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        From `fit`, if `max_iter` constraints were too few.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import SVMMAP
    >>> train, held = make_ranking(40, 20, 10, seed=1).split(2, seed=1)
    >>> validation = {"eval_set": (held.X, held.y), "eval_group": held.group}
    >>> model = SVMMAP(C=[1.0, 10.0]).fit(train.X, train.y, group=train.group, **validation)
    >>> model.C_ in (1.0, 10.0)
    True
    """

    C_: float
    n_iter_: int

    def __init__(
        self, C: float | Sequence[float] = 1.0, *, tol: float = 1e-5, max_iter: int = 1000
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, data: RankingData, validation: RankingData | None) -> None:
        (grid,) = check_grids(validation, "C=10.0 ** np.arange(-2, 5)", C=self.C)
        tol, max_iter = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        fits = [(C, *cutting_planes(data, C, tol=tol, max_iter=max_iter)) for C in grid]
        self.C_, self.coef_, self.n_iter_ = best(fits, validation, "map")
