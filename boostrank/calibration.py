"""Probabilities from the scores of any ranker: calibrators that keep queries whole.

A calibrator learns a non-decreasing map from scores to probabilities, on queries that the ranker
was not trained on. Losses that only compare documents of a query leave the level of its scores
open, which no map can mend: `Calibrated` learns it. Needs scikit-learn.
"""

from typing import Any, Self

import numpy as np

from boostrank.messages import needs

try:
    from sklearn.base import BaseEstimator, clone
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise needs("calibrators need scikit-learn", "scikit-learn", error) from error

from boostrank.datasets import group_folds
from boostrank.datasets.ranking_data import check_aligned
from boostrank.hosts.rankers import Given, check_unbound, read_rows, take
from boostrank.metrics.probabilities import probabilities, targets
from boostrank.objectives.validation import (
    AMOUNTS,
    Floats,
    check_count,
    check_labels,
    check_positive,
    check_scores,
    check_seed,
    check_weight,
)

__all__ = ["CalibratedRanker", "Isotonic", "Platt"]


class _Calibrator(BaseEstimator):  # type: ignore[misc]
    def __init__(self, *, top: float = 1.0) -> None:
        self.top = top

    def fit(self, scores: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn the map from scores to probabilities.

        Parameters
        ----------
        scores : array_like (n_docs,)
            Scores of documents that the ranker was not trained on.
        y : array_like (n_docs,)
            Their labels.
        sample_weight : array_like (n_docs,), optional
            Default: 1.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For scores that are not finite, labels out of their domain, lengths that do not match,
            or no documents at all.
        """
        check_aligned("scores", scores, y=y, sample_weight=sample_weight)
        s = check_scores(scores)
        if len(s) == 0:
            raise ValueError("scores must hold at least one document, got none")
        t = targets(check_labels(y, len(s), AMOUNTS), check_positive("top", self.top))
        n = len(s)
        w = np.ones(n) if sample_weight is None else check_weight(sample_weight, n, n)
        if not w.any():
            raise ValueError("sample_weight must be above 0 somewhere, but all are 0")
        self._fit(s, t, w)
        return self

    def predict(self, scores: Any) -> Floats:
        """Return the probability of relevance that each score stands for.

        Parameters
        ----------
        scores : array_like (n_docs,)

        Returns
        -------
        float64 array (n_docs,)
        """
        check_is_fitted(self)
        return self._predict(check_scores(scores))

    def _fit(self, scores: Floats, t: Floats, weight: Floats) -> None:
        raise NotImplementedError

    def _predict(self, scores: Floats) -> Floats:
        raise NotImplementedError


class Platt(_Calibrator):
    """Probability ``1 / (1 + exp(-(a s + b)))`` of a score s, after Platt (1999).

    It has only two parameters, so a few hundred documents are enough, but its shape is fixed. A
    negative slope `a` is refused: it would reverse the order, which means that the scores do not
    rank.

    Parameters
    ----------
    top : float, default 1.0
        The label of a certainly relevant document: y stands for the probability min(y / top, 1).

    Attributes
    ----------
    slope_, intercept_ : float
        a and b.

    Examples
    --------
    >>> from boostrank.calibration import Platt
    >>> platt = Platt().fit([3.0, 2.0, 2.5, 1.0], [1, 1, 0, 0])
    >>> platt.predict([1.0, 3.0]).round(2).tolist()
    [0.12, 0.8]
    """

    slope_: float
    intercept_: float

    def _fit(self, scores: Floats, t: Floats, weight: Floats) -> None:
        if not (t * weight).any() or not ((1.0 - t) * weight).any():
            raise ValueError(
                "y must hold relevant documents and others, got one kind, which cannot show how "
                f"probability depends on scores: labels from top={self.top:g} up are all relevant"
            )
        # Documents that do not count must not set the scale.
        scores, t, weight = (each[weight > 0.0] for each in (scores, t, weight))
        # scikit-learn takes only classes, so each document is passed as relevant and as irrelevant,
        # weighted by its probability. The penalty only keeps the fit finite on separable data.
        size = np.abs(scores).max() or 1.0  # first, as squares of scores leave float64 sooner
        scores = scores / size
        centre, unit = scores.mean(), scores.std() or 1.0
        column = ((scores - centre) / unit)[:, None]
        classes = np.repeat([1, 0], len(t))
        weight = weight / weight.mean()  # so that the penalty does not depend on their unit
        shares = np.concatenate([t * weight, (1.0 - t) * weight])
        model = LogisticRegression(C=1e6, tol=1e-10)
        model.fit(np.concatenate([column, column]), classes, sample_weight=shares)
        slope = float(model.coef_[0, 0]) / unit
        if slope < 0:
            raise ValueError(
                "scores must rise with relevance, but better scores have worse labels: a "
                "probability that falls with the score would reverse the order"
            )
        self.slope_ = slope / size
        self.intercept_ = float(model.intercept_[0]) - slope * centre

    def _predict(self, scores: Floats) -> Floats:
        with np.errstate(over="ignore"):  # infinite log-odds are probabilities of 0 and 1
            return probabilities(self.slope_ * scores + self.intercept_)


class Isotonic(_Calibrator):
    """Probability as a non-decreasing function of the score: level steps, joined by straight lines.

    It can take any non-decreasing shape and needs thousands of documents. All documents on one step
    get the same probability, so rank by the scores.

    Parameters
    ----------
    top : float, default 1.0
        The label of a certainly relevant document: y stands for the probability min(y / top, 1).

    Attributes
    ----------
    isotonic_ : sklearn.isotonic.IsotonicRegression

    Examples
    --------
    >>> from boostrank.calibration import Isotonic
    >>> isotonic = Isotonic().fit([3.0, 2.0, 2.5, 1.0], [1, 1, 0, 0])
    >>> isotonic.predict([0.0, 1.5, 2.2, 3.0]).tolist()  # 1.5 is half way up to the step of 0.5
    [0.0, 0.25, 0.5, 1.0]
    """

    isotonic_: Any

    def _fit(self, scores: Floats, t: Floats, weight: Floats) -> None:
        isotonic = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        self.isotonic_ = isotonic.fit(scores, t, sample_weight=weight)

    def _predict(self, scores: Floats) -> Floats:
        return np.asarray(self.isotonic_.predict(scores), dtype=np.float64)


class CalibratedRanker(BaseEstimator):  # type: ignore[misc]
    """A ranker with probabilities, which are calibrated on queries that it has not seen.

    The queries are split into folds. Each fold is scored by the ranker trained on the others, one
    calibrator learns from all these scores, and the ranker is trained once more on all queries.

    Parameters
    ----------
    ranker : estimator
        One with ``fit(X, y, qid=)`` and ``predict(X)``, such as all of boostrank's rankers.
    calibrator : Platt or Isotonic, optional
        Default None: ``Platt()``, which counts grades of 1 and above as relevant.
    folds : int, default 5
        At least 2, at most the number of queries.
    seed : int, default 0
        Determines how queries are split into folds.

    Attributes
    ----------
    ranker_, calibrator_
        Both trained.

    Examples
    --------
    >>> from boostrank.calibration import CalibratedRanker, Platt
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.lightgbm import LGBMRanker
    >>> data = make_ranking(40, 10, seed=0)
    >>> ranker = LGBMRanker(n_estimators=5, verbosity=-1, n_jobs=1)
    >>> both = CalibratedRanker(ranker, Platt(top=4)).fit(data.X, data.y, qid=data.qid)
    >>> probability = both.predict_probability(data.X)
    >>> bool(probability.min() > 0 and probability.max() < 1)
    True
    """

    ranker_: Any
    calibrator_: Platt | Isotonic

    def __init__(
        self,
        ranker: Any,
        calibrator: Platt | Isotonic | None = None,
        *,
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.ranker = ranker
        self.calibrator = calibrator
        self.folds = folds
        self.seed = seed

    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Self:
        """Train ranker and calibrator.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
        y : array_like (n_docs,)
        group : array_like of integers (n_queries,), optional
            Sizes of consecutive queries.
        qid : array_like (n_docs,), optional
            Instead of `group`: the id of each document's query. Rows may come in any order.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            As the ranker and the calibrator; for fewer than two folds, or fewer queries than folds;
            for a ranker whose objective has pairs, labels or positions for rows.
        """
        check_unbound(
            getattr(self.ranker, "objective", None),
            "CalibratedRanker",
            "fit a calibrator, Platt() or Isotonic(), to the scores of other queries",
        )
        X = X if hasattr(X, "shape") else np.asarray(X)
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # not every sparse format gives rows
        rows = read_rows(Given(X, y, group, qid), sort=None, domain=AMOUNTS)
        if check_count("folds", self.folds) < 2:
            raise ValueError("folds must be at least 2: scores of training queries are too good")
        X, y, ids = rows.X, rows.y, rows.ids

        def fitted(of: Any) -> Any:
            # The ranker looks for ids that were given among the features.
            queries = {"qid": ids[of]}
            if qid is None:
                queries = {"group": np.unique(ids[of], return_counts=True)[1]}
            return clone(self.ranker).fit(take(X, of), y[of], **queries)

        scores = np.empty(len(y))
        for train, test in group_folds(rows.group, self.folds, seed=check_seed(self.seed)):
            scores[test] = fitted(train).predict(take(X, test))
        calibrator = Platt() if self.calibrator is None else clone(self.calibrator)
        self.calibrator_ = calibrator.fit(scores, y)
        self.ranker_ = fitted(np.arange(len(y)))
        return self

    def predict(self, X: Any) -> Floats:
        """Return scores, as the ranker does.

        Parameters
        ----------
        X : array_like (n_docs, n_features)

        Returns
        -------
        float64 array (n_docs,)
        """
        check_is_fitted(self)
        return np.asarray(self.ranker_.predict(X), dtype=np.float64)

    def predict_probability(self, X: Any) -> Floats:
        """Return the probability of relevance of each document.

        Parameters
        ----------
        X : array_like (n_docs, n_features)

        Returns
        -------
        float64 array (n_docs,)
        """
        scores = self.predict(X)
        return self.calibrator_.predict(scores)
