"""What the linear rankers share: reading data, and scoring."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self, TypeVar

import numpy as np

from boostrank.messages import needs, warn

try:
    import scipy  # noqa: F401 - SmoothRank needs it
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise needs(
        "linear rankers need scikit-learn and SciPy", "scikit-learn scipy", error
    ) from error

from boostrank.datasets import RankingData
from boostrank.datasets.ranking_data import (
    check_aligned,
    check_feature,
    check_label,
    check_queries,
)
from boostrank.metrics import evaluate
from boostrank.objectives.validation import (
    Floats,
    check_group,
    check_labels,
    check_positive,
    check_unmasked,
    differ,
)

Fit = TypeVar("Fit", bound=tuple[Any, ...])

LARGEST = 1e100  # of a feature


class LinearRanker(BaseEstimator):  # type: ignore[misc]
    """What the linear rankers share: reading data, and scoring."""

    coef_: Floats
    n_features_in_: int

    def _read(
        self, X: Any, y: Any, group: Any, qid: Any, *, reset: bool, prefix: str = ""
    ) -> RankingData:
        """Return checked features with their grades and queries, given by `group` or by `qid`."""
        check_aligned("X", X, **{"y": y, f"{prefix}qid": qid})
        check_unmasked("X", X)
        check_unmasked("y", y)
        names = list(getattr(X, "columns", ()))
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        largest = np.abs(X).max()
        if largest > LARGEST:
            raise ValueError(
                f"X must be within {LARGEST:g}, as its squares are needed, got {largest:g}; if "
                "that marks what is missing, fill it"
            )
        for name, column in zip(names, X.T, strict=bool(names)):
            cure = f"Take it out, for example with X.drop({name!r}, axis=1) in pandas"
            check_feature("X", name, column, qid, cure)
            check_label("X", name, column, y, cure)
        sizes = np.diff(check_queries(group, qid, len(X), prefix))
        data = RankingData(X, y, np.repeat(np.arange(len(sizes)), sizes))
        check_labels(data.y, len(data.y))
        return data

    def _read_validation(self, eval_set: Any, group: Any, qid: Any) -> RankingData | None:
        if eval_set is None:
            if group is not None or qid is not None:
                raise ValueError(
                    "eval_group and eval_qid give the queries of eval_set: pass eval_set too"
                )
            return None
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise TypeError(f"eval_set must be a pair (X, y), got {type(eval_set).__name__}")
        data = self._read(*eval_set, group, qid, reset=False, prefix="eval_")
        if not (data.y > 0.0).any():
            raise ValueError(
                "eval_set must have relevant documents, y > 0: no metric can choose without them; "
                f"got {len(data.y)} documents of grade 0"
            )
        return data

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
            For a different number of features, or values that are not finite.
        """
        check_is_fitted(self)
        check_unmasked("X", X)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ self.coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True  # grades
        return tags


class BatchRanker(LinearRanker, ABC):
    """A linear ranker that learns from all queries at once."""

    @abstractmethod
    def _fit(self, data: RankingData, validation: RankingData | None) -> None:
        """Check the parameters, and set the attributes that are learnt."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        eval_group: Any = None,
        eval_qid: Any = None,
    ) -> Self:
        """Learn the coefficients.

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
        eval_set : (X, y), optional
            Validation queries, which choose the best round or the best of several values of a
            parameter, as the class says. Several values need them; a single one takes none.
        eval_group, eval_qid : array_like of integers, optional
            The queries of `eval_set`, as `group` or `qid`.

        Returns
        -------
        Self

        Raises
        ------
        TypeError, ValueError
            For parameters or data of the wrong type or range; the message names the argument.
        """
        data = self._read(X, y, group, qid, reset=True)
        y, needed = data.y, "two different labels"
        if getattr(self, "measure", "map") in ("map", "ap"):  # SVMMAP, which only learns MAP
            y, needed = (y > 0.0).astype(np.float64), "labels both of 0 and above 0, as MAP needs"
        if not differ(y, check_group(data.group, len(y))).any():
            warn(f"no query has {needed}: there is no order to learn")
        self._fit(data, self._read_validation(eval_set, eval_group, eval_qid))
        return self


def best(fits: Sequence[Fit], data: RankingData | None, measure: str) -> Fit:
    """Return the fit whose coefficients, its second entry, do best; the first of equals."""
    if data is None:  # there is only one: see `check_grids`
        return fits[0]
    return max(
        fits, key=lambda fit: evaluate(data.X @ fit[1], data.y, data.group, (measure,))[measure]
    )


def check_grids(validation: RankingData | None, example: str, **given: Any) -> list[list[float]]:
    """Return the positive numbers to choose from for each parameter: one, or several.

    Several need validation queries, and these need several, such as `example`.
    """
    grids = []
    for name, value in given.items():
        values = [value] if np.ndim(value) == 0 else list(value)
        if not values:
            raise ValueError(f"{name} must hold at least one positive number, got none")
        grids.append([check_positive(name, number) for number in values])
    parameters, several = " or ".join(given), any(len(grid) > 1 for grid in grids)
    if several and validation is None:
        raise ValueError(
            f"eval_set is missing: there are several values of {parameters}, and validation "
            "queries choose among them; pass eval_set=(X, y) with eval_group or eval_qid, or one "
            "number"
        )
    if not several and validation is not None:
        raise ValueError(
            f"eval_set has nothing to choose: there are not several values of {parameters}; pass "
            f"several, such as {example}, or no eval_set"
        )
    return grids
