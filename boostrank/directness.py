r"""How directly an objective optimises a metric: the directness of He and Liu.

Source
    He, Liu: Are algorithms directly optimizing IR measures really direct? (2008), sections V, VI.

Theorem 1
    `Directness.guarantee`: for the minimisers w_1 of the mean of 1 - E^ and w_2 of 1 - E,
    |mean E(w_1) - mean E(w_2)| <= 2 epsilon_1 + epsilon_2, with epsilons at the scores of each.

Theorem 2
    `soft_ndcg_bound`. Its printed proof has slips (a factor (N - 1)/4 goes missing before
    1 - erf^2, and its last implication runs the wrong way), but the bound is right: 1/log2(2 + r)
    changes by at most 0.37 from one integer to the next, the expected number of documents that beat
    j differs from the rank of j by less than 2 epsilon_1, and so epsilon_1 alone is enough.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostrank.metrics import evaluate
from boostrank.objectives import SDCG, Objective, RegSHFSDCG
from boostrank.objectives.validation import Floats, check_count, check_positive, differ


@dataclass(frozen=True, eq=False)
class Directness:
    """How far a surrogate metric is from a metric at given scores; made by `directness`.

    Attributes
    ----------
    surrogate, measure : float64 arrays (n_queries,)
        E^ and E.
    differences : float64 array (n_queries,)
        |(1 - E^) - (1 - E)|, which is |E^ - E|. NaN for queries left out.
    epsilon : float
        The largest of them; NaN if all queries are left out.
    """

    surrogate: Floats
    measure: Floats
    differences: Floats
    epsilon: float

    def guarantee(self, of_measure: "Directness") -> float:
        """Return theorem 1's bound on what learning with the objective costs.

        Parameters
        ----------
        of_measure : Directness
            That of the same objective and metric, at the scores that are best for the metric
            itself (in practice, the best ones known). This object must be at the scores that are
            best for the objective.

        Returns
        -------
        float
            2 epsilon_1 + epsilon_2, in units of the metric.
        """
        return 2.0 * self.epsilon + of_measure.epsilon


def directness(
    obj: Objective,
    scores: Any,
    labels: Any,
    group: Any,
    measure: str = "ndcg",
    *,
    round: int | None = None,
) -> Directness:
    """Tell how far an objective is, query by query, from the metric it stands for.

    This is the metric of He and Liu (2008): the largest difference, over all queries, between one
    minus the surrogate metric and one minus the metric. It is useful only if both are on the same
    scale: a smooth NDCG or a bound on 1 - NDCG against "ndcg", `SLAM(measure="map")` against "map",
    and, if `normalize` is off, SDCG against "dcg". Other objectives are compared as they stand.

    Parameters
    ----------
    obj : Objective
        The surrogate.
    scores : array_like (n_docs,)
        Raw scores, finite.
    labels : array_like (n_docs,)
        Grades.
    group : array_like (n_queries,)
        Sizes of consecutive queries.
    measure : str, default "ndcg"
        As in `evaluate`, under its standard convention, but for the objective's own `gain` and
        `discount`. "linear" and "sqrt" of SDCG and its kin are costs that no metric has: for them
        it is "log2".
    round : int, optional
        Boosting round, for scheduled objectives.

    Returns
    -------
    Directness
        Queries with nothing to rank are left out: without relevant documents the metric has no
        value, and with equal grades, or only relevant documents where grades do not count, no order
        is better than another.

    Raises
    ------
    TypeError, ValueError
        As for ``obj.loss`` and `evaluate`.

    Examples
    --------
    >>> import boostrank
    >>> query = [3.0, 1.0, 0.0], [2, 1, 0], [3]
    >>> sharp = boostrank.directness(boostrank.SoftNDCG(sigma=0.1), *query)
    >>> round(sharp.epsilon, 6)
    0.0
    >>> blurred = boostrank.directness(boostrank.SoftNDCG(sigma=1.0), *query)
    >>> round(blurred.epsilon, 3)
    0.031
    >>> round(sharp.guarantee(blurred), 3)
    0.031
    """
    loss = obj.loss(scores, labels, group, round=round)
    gain = obj._gain if obj.counts_gains else None
    discount = getattr(obj, "discount", None)
    if isinstance(obj, SDCG | RegSHFSDCG) and discount in ("linear", "sqrt"):
        discount = None  # what a rank costs: even their ideal DCG has log2
    rules: dict[str, Any] = {"gain": gain, "discount": discount, "per_query": True}
    value = evaluate(scores, labels, group, (measure,), **rules)[measure]
    surrogate = obj.contract.metric_offset - loss  # of 1 - E^, and of smooth metrics, which are -E^
    differences = np.abs(surrogate - value)
    _, y, boundaries = obj._checked(scores, labels, group)
    differences[~differ(obj._kernel_gains(y, boundaries), boundaries)] = np.nan
    epsilon = float(np.fmax.reduce(differences, initial=math.nan))  # of those that are numbers
    return Directness(surrogate, value, differences, epsilon)


def soft_ndcg_bound(sigma: float, delta: float, n_docs: int, n_grades: int) -> float:
    """Bound |SoftNDCG - NDCG| of one query by theorem 2 of He and Liu (2008).

    ``2^(K-1) N (e_1 + e_2)`` with ``e_1 = (N-1) sigma / (2 delta sqrt(pi)) exp(-delta^2 /
    (4 sigma^2))``, ``e_2 = sqrt(e_3 / (1 - 5 e_3)) + 5 e_3`` and ``e_3 = 1 - erf^2(delta /
    (2 sigma))``.

    Parameters
    ----------
    sigma : float
        That of `SoftNDCG`, positive.
    delta : float
        The smallest difference of two scores of the query, positive.
    n_docs : int
        N, at least 1: the query has at most this many documents.
    n_grades : int
        K, at least 1: grades are among 0..K - 1.

    Returns
    -------
    float
        Infinite where the theorem does not apply. It needs sigma < delta / (2 erf^-1(sqrt((N - 2) /
        (N - 1)))), which is e_3 < 1 / (N - 1), and, for short queries, e_3 < 1/5.

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Examples
    --------
    >>> import boostrank
    >>> boostrank.soft_ndcg_bound(sigma=0.1, delta=1.0, n_docs=10, n_grades=3) < 1e-4
    True
    >>> boostrank.soft_ndcg_bound(sigma=1.0, delta=1.0, n_docs=10, n_grades=3)
    inf
    """
    x = check_positive("delta", delta) / (2.0 * check_positive("sigma", sigma))
    n, grades = check_count("n_docs", n_docs), check_count("n_grades", n_grades)
    e3 = math.erfc(x) * (1.0 + math.erf(x))
    if e3 * max(n - 1, 5) >= 1.0:
        return math.inf
    e1 = (n - 1) / (4.0 * x * math.sqrt(math.pi)) * math.exp(-x * x)
    e2 = math.sqrt(e3 / (1.0 - 5.0 * e3)) + 5.0 * e3
    return 2.0 ** (grades - 1) * n * (e1 + e2)
