r"""Linear rankers: SmoothRank, which anneals a smooth measure, and the ranking perceptron.

Both are scikit-learn estimators that score a document by ``X @ coef_``; an intercept would move
all documents of a query alike. Needs scikit-learn and SciPy: ``pip install "boostrank[cli]"``.

Sources
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    algorithm 1 and section 7: `SmoothRank`.
    Chaudhuri, Tewari: Perceptron-like algorithms and generalization bounds for learning to rank
    (2014), algorithm 1: `Perceptron`.
"""

import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

try:
    from scipy.optimize import minimize
    from sklearn.base import BaseEstimator
    from sklearn.linear_model import Ridge
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        'linear rankers need scikit-learn and SciPy: pip install "boostrank[cli]" '
        f"({error})"
    ) from error

from boostrank.datasets import RankingData
from boostrank.metrics import evaluate
from boostrank.objectives import SLAM, Objective, Schedule, SmoothAP, SmoothNDCG
from boostrank.objectives.validation import (
    Floats,
    check_choice,
    check_count,
    check_cutoff,
    check_group,
    check_positive,
)

__all__ = ["Perceptron", "SmoothRank"]


def _ranking(X: Floats, y: Any, group: Any, qid: Any, prefix: str = "") -> RankingData:
    """Return checked features with their grades and queries, told by `group` or by `qid`."""
    if (group is None) == (qid is None):
        raise ValueError(
            f"pass either {prefix}group, the sizes of consecutive queries, or {prefix}qid, one id "
            f"for each row; got {'neither' if group is None else 'both'}"
        )
    if qid is None:
        sizes = np.diff(check_group(group, len(X)))
        qid = np.repeat(np.arange(len(sizes)), sizes)
    return RankingData(X, y, qid)


class _LinearRanker(BaseEstimator):  # type: ignore[misc]
    """What the linear rankers share: reading data, and scores."""

    coef_: Floats
    n_features_in_: int

    def _read(self, X: Any, y: Any, group: Any, qid: Any, *, reset: bool) -> RankingData:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        return _ranking(X, y, group, qid)

    def predict(self, X: Any) -> Floats:
        """Score documents.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
            Features, finite, as in `fit`. Queries are not needed.

        Returns
        -------
        float64 array (n_docs,)
            ``X @ coef_``; larger is better.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For another number of features, or values that are not finite.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        scores: Floats = X @ self.coef_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True  # grades
        return tags
