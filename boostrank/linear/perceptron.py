"""The ranking perceptron: an online linear ranker."""

from typing import Any, Self

import numpy as np

from boostrank.linear.base import LinearRanker
from boostrank.messages import warn
from boostrank.metrics import evaluate
from boostrank.objectives import SLAM


class Perceptron(LinearRanker):
    """Online linear ranker with a bound on its cumulative NDCG or AP loss.

    Chaudhuri, Tewari (2014), algorithm 1: starting from w = 0, each query is ranked by the current
    w; if that ranking is not perfect by the metric, ``w -= X^T g``, where g is the subgradient of
    `boostrank.SLAM` for the query. The step is 1, because its size would only set the scale of w.

    Parameters
    ----------
    measure : str, default "ndcg"
        ``"ndcg"``, ``"ndcg@k"`` (such as ``"ndcg@10"``) or ``"map"``. For "map", y > 0 is relevant,
        and higher grades count no more. Tied documents are ranked in the order passed, as in
        `boostrank.evaluate`: a tie is an error only if that order is wrong.

    Attributes
    ----------
    coef_ : float64 array (n_features,)
        w: documents are ranked by ``X @ coef_``.
    cumulative_loss_ : float
        Sum over the rounds of 1 - measure, each query ranked before its update; a query without
        relevant documents counts 0. Theorem 5 bounds it.
    n_rounds_, n_updates_ : int
        Numbers of queries seen, and of those with a loss.
    n_features_in_ : int
    feature_names_in_ : array (n_features,)
        Where X has column names.

    Notes
    -----
    Theorem 5: ``cumulative_loss_ <= 2 sum_t f_t(u) + 4 |u|^2 m R^2 v_max`` for any u, f_t being the
    SLAM losses of the rounds with an update, m the largest number of documents of a query, R the
    largest norm of a document and v_max the largest ratio of two positive SLAM weights in a query.
    If some unit vector ranks every query correctly with margin gamma, it is at most
    ``4 m R^2 v_max / gamma^2`` in any number of rounds (corollary 6), so repeated passes over such
    data end with a w that ranks all of it correctly.

    O(n (n_features + log n)) time for a query of n documents.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import Perceptron
    >>> data = make_ranking(200, 20, 10, seed=1)
    >>> model = Perceptron("ndcg@10").fit(data.X, data.y, group=data.group)
    >>> for _ in range(4):  # more passes over the data
    ...     model = model.partial_fit(data.X, data.y, group=data.group)
    >>> model.n_rounds_
    1000
    """

    cumulative_loss_: float
    n_rounds_: int
    n_updates_: int

    def __init__(self, measure: str = "ndcg") -> None:
        self.measure = measure

    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Self:
        """Start from w = 0 and go through the queries once, in order.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
            Features, finite.
        y : array_like (n_docs,)
            Grades, 0 <= y <= 1000.
        group : array_like of integers (n_queries,), optional
            Sizes of consecutive queries.
        qid : array_like of integers (n_docs,), optional
            Instead of `group`: each document's query; a query's documents must be contiguous.

        Returns
        -------
        Perceptron
            Itself.

        Raises
        ------
        TypeError, ValueError
            For a metric or data of the wrong type or range; the message names the argument.

        Warns
        -----
        UserWarning
            If no query has a loss, so that all coefficients are 0.
        """
        self._learn(X, y, group, qid, reset=True)
        if self.n_updates_ == 0:
            warn(
                "all coefficients are 0, as no query has a loss: check that labels differ within "
                "queries (for map: some are 0, others are not), and shuffle documents within "
                "queries if they are sorted by label"
            )
        return self

    def partial_fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Self:
        """Continue from the current w with more queries, one per round, in order.

        Parameters
        ----------
        X, y, group, qid
            As in `fit`.

        Returns
        -------
        Perceptron
            Itself. Calling it with the queries one by one gives the same w as one `fit` with all.

        Raises
        ------
        TypeError, ValueError
            For a metric or data of the wrong type or range; the message names the argument.
        """
        return self._learn(X, y, group, qid, reset=not hasattr(self, "coef_"))

    def _learn(self, X: Any, y: Any, group: Any, qid: Any, *, reset: bool) -> Self:
        surrogate = SLAM(measure=self.measure)
        data = self._read(X, y, group, qid, reset=reset)
        labels = (data.y > 0.0).astype(np.float64) if self.measure == "map" else data.y
        if reset:
            self.coef_ = np.zeros(data.X.shape[1])
            self.cumulative_loss_ = 0.0
            self.n_rounds_ = self.n_updates_ = 0
        ends = np.cumsum(data.group)[:-1]
        for X_t, y_t in zip(np.split(data.X, ends), np.split(labels, ends), strict=True):
            scores, group_t = X_t @ self.coef_, [len(y_t)]
            loss = 1.0 - evaluate(scores, y_t, group_t, (self.measure,))[self.measure]
            self.n_rounds_ += 1
            if loss > 0.0:  # not for NaN, of a query without relevant documents
                self.coef_ = self.coef_ - X_t.T @ surrogate.grad_hess(scores, y_t, group_t)[0]
                self.cumulative_loss_ += loss
                self.n_updates_ += 1
        return self
