"""AdaRank: boosting of single features on the queries that are ranked worst."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from boostrank.datasets import RankingData
from boostrank.linear.base import BatchRanker, best
from boostrank.metrics import evaluate
from boostrank.objectives import SLAM
from boostrank.objectives.validation import Floats, check_count, check_flag


def boost(data: RankingData, measure: str, repeat: bool) -> Iterator[Floats]:
    """Yield the coefficients of `AdaRank` after each round, until they can no longer change."""

    def per_query(scores: Floats) -> Floats:
        found = evaluate(scores, data.y, data.group, (measure,), per_query=True)
        return np.asarray(found[measure])

    counted = ~np.isnan(per_query(np.zeros(len(data.y))))
    if not counted.any():
        return
    # E(q, x_k) of each feature alone, which no round changes
    weak = np.array([per_query(column)[counted] for column in data.X.T])
    n_queries = weak.shape[1]
    w = np.zeros(len(weak))
    P = np.full(n_queries, 1.0 / n_queries)
    free = np.ones(len(weak), dtype=bool)
    while free.any():
        chosen = int(np.argmax(np.where(free, weak @ P, -1.0)))  # the first of equals
        free[chosen] = repeat
        good, bad = P @ (1.0 + weak[chosen]), P @ (1.0 - weak[chosen])
        if bad <= np.finfo(float).eps:
            # A feature that ranks every query correctly has an infinite weight.
            w = np.zeros(len(weak))
            w[chosen] = 1.0
            yield w
            return
        alpha = 0.5 * np.log(good / bad)
        if alpha <= 0.0:
            return  # no feature ranks anything: the next round would be the same
        w = w.copy()
        w[chosen] += alpha
        yield w
        P = np.exp(-per_query(data.X @ w)[counted])
        P /= P.sum()


class AdaRank(BatchRanker):
    """Linear ranker that boosts single features for NDCG or MAP.

    Xu, Li (2007): in each round the feature with the largest mean of the metric E, weighted by P
    over the queries, has ``alpha = ln(sum_q P_q (1 + E_q) / sum_q P_q (1 - E_q)) / 2`` added to its
    coefficient in w, where E_q is the metric of the query ranked by the feature alone. Then P_q is
    set proportional to ``exp(-E_q)``, now with the query ranked by ``X @ w``.

    Parameters
    ----------
    measure : str, default "ndcg@10"
        ``"ndcg"``, ``"ndcg@k"`` (such as ``"ndcg@10"``) or ``"map"``, under the "standard"
        convention of `boostrank.evaluate`. For "map", y > 0 is relevant, and higher grades count no
        more. Tied documents are ranked in the order passed.
    max_iter : int, default 200
        Number of rounds, at least 1. The coefficients of the best round are kept, by `measure` on
        `eval_set` or, without it, on the training queries.
    repeat : bool, default True
        Whether a feature may be chosen again, as in the paper; often one is then chosen in almost
        all rounds. If False, there are at most `n_features` rounds.

    Attributes
    ----------
    coef_ : float64 array (n_features,)
        w, which has no negative numbers: documents are ranked by ``X @ coef_``.
    n_iter_ : int
        The round whose w is kept, the first of equals.
    n_features_in_ : int
    feature_names_in_ : array (n_features,)
        Where X has column names.

    Notes
    -----
    A feature can only count for a document, never against it: negate those where less is better.
    The scale of features matters: bring them to a common scale within each query, as LETOR does.

    Queries without relevant documents have no metric and do not count; if there are no others,
    all coefficients and `n_iter_` are 0. A feature that alone ranks every query correctly has an
    infinite alpha: it becomes the only one.

    The paper stops as soon as a round does not improve the training metric. Often that is after
    the first round, so here all rounds are run and the best is kept. docs/accuracy.md compares it
    with published figures: one of them is approached only with ``repeat=False``.

    Time: n_features rankings before the first round, then one ranking and O(n n_features) for each
    round, with n documents in all.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import AdaRank
    >>> train, held = make_ranking(40, 20, 10, seed=1).split(2, seed=1)
    >>> validation = {"eval_set": (held.X, held.y), "eval_group": held.group}
    >>> model = AdaRank("map", max_iter=50).fit(train.X, train.y, group=train.group, **validation)
    >>> 1 <= model.n_iter_ <= 50
    True
    """

    n_iter_: int

    def __init__(
        self, measure: str = "ndcg@10", *, max_iter: int = 200, repeat: bool = True
    ) -> None:
        self.measure = measure
        self.max_iter = max_iter
        self.repeat = repeat

    def _fit(self, data: RankingData, validation: RankingData | None) -> None:
        SLAM(measure=self.measure)  # takes the same metrics, refuses all others
        rounds = boost(data, self.measure, check_flag("repeat", self.repeat))
        max_iter = check_count("max_iter", self.max_iter)
        fits = list(enumerate(islice(rounds, max_iter), start=1))
        fits = fits or [(0, np.zeros(data.X.shape[1]))]
        held = data if validation is None else validation
        self.n_iter_, self.coef_ = best(fits, held, self.measure)
