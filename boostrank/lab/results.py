"""What a comparison finds: a learner in one fold, and over all folds against the baseline."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.lab.learners import Learner
from boostrank.lab.settings import CHOSEN_BY, sign_of
from boostrank.lab.stats import SIGNIFICANT, half_width, paired_p_value
from boostrank.objectives.validation import Floats


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one learner did in one fold.

    Attributes
    ----------
    fold : int
        From 1, as LETOR numbers them.
    curve : float64 array (n_trees,)
        The metric of the validation part after each tree.
    best_round : int
        The first best of `curve`, from 1; the last round where `Settings.fixed_rounds`.
    qid : int64 or str array (n_test_queries,)
    figures : dict of str to float64 array (n_test_queries,)
        `Settings.metrics`, and NDCG at all of `CUTOFFS`, of every test query with the best round's
        trees; NaN where the convention leaves the query out.
    seconds_per_round : float
    importance : float64 array (n_features,), default ()
        Gain of all splits by feature, of the best round's trees; () where the host tells none.
    """

    fold: int
    curve: Floats
    best_round: int
    qid: npt.NDArray[Any]
    figures: dict[str, Floats]
    seconds_per_round: float
    importance: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Row:
    """One learner over all folds, against the baseline.

    Attributes
    ----------
    learner : Learner
    folds : tuple of FoldResult
    baseline : Row or None
        None: this row is the baseline.
    seed : int
        Of the paired test.
    metric : str, default "ndcg@10"
        By which rows are compared.
    p_value : float
        See `paired_p_value`; over the test queries of all folds, by `metric`.
    """

    learner: Learner
    folds: tuple[FoldResult, ...]
    baseline: "Row | None"
    seed: int
    metric: str = CHOSEN_BY
    p_value: float = field(init=False)

    def __post_init__(self) -> None:
        p_value = 1.0
        if self.baseline is not None:
            p_value = paired_p_value(
                self.pooled(self.metric), self.baseline.pooled(self.metric), seed=self.seed
            )
        object.__setattr__(self, "p_value", p_value)

    @property
    def sign(self) -> int:
        """1 where more of the metric is better, else -1."""
        return sign_of(self.metric)

    def pooled(self, metric: str) -> Floats:
        """Return the values of the test queries of all folds."""
        return np.concatenate([fold.figures[metric] for fold in self.folds])

    def mean(self, metric: str) -> float:
        """Return the mean over folds of the mean over queries."""
        return float(np.mean([np.nanmean(fold.figures[metric]) for fold in self.folds]))

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the normal 95 % interval of `mean`, from the spread of queries in their folds."""
        half = half_width([fold.figures[metric] for fold in self.folds])
        return self.mean(metric) - half, self.mean(metric) + half

    @property
    def difference(self) -> float:
        """The metric minus that of the baseline."""
        if self.baseline is None:
            return 0.0
        return self.mean(self.metric) - self.baseline.mean(self.metric)

    @property
    def relative_difference(self) -> float:
        """`difference` as a share of the baseline's metric; NaN where that is 0."""
        if self.baseline is None:
            return 0.0
        theirs = self.baseline.mean(self.metric)
        return self.difference / theirs if theirs else float("nan")

    @property
    def differences(self) -> tuple[Floats, ...]:
        """The metric minus the baseline's, of every test query, fold by fold."""
        own = [fold.figures[self.metric] for fold in self.folds]
        if self.baseline is None:
            return tuple(values - values for values in own)
        theirs = (fold.figures[self.metric] for fold in self.baseline.folds)
        return tuple(a - b for a, b in zip(own, theirs, strict=True))

    @property
    def difference_interval(self) -> tuple[float, float]:
        """Return the normal 95 % interval of `difference`, queries paired."""
        half = half_width(self.differences)
        return self.difference - half, self.difference + half

    @property
    def verdict(self) -> str:
        """Say "better" or "worse" than the baseline where the paired test does, else "level"."""
        if self.p_value >= SIGNIFICANT:
            return "level"
        return "better" if self.sign * self.difference > 0 else "worse"

    @property
    def median_round(self) -> float:
        """Median of the folds' best rounds."""
        return float(np.median([fold.best_round for fold in self.folds]))

    @property
    def seconds_per_round(self) -> float:
        """Mean over folds."""
        return float(np.mean([fold.seconds_per_round for fold in self.folds]))

    @property
    def importance(self) -> Floats:
        """Each feature's share of the gain of all splits, mean over folds; () where unknown."""
        # A tree without a split has no gain to share.
        shares = [fold.importance / (fold.importance.sum() or 1.0) for fold in self.folds]
        return np.asarray(np.mean(shares, axis=0))

    @property
    def curve(self) -> Floats:
        """Validation metric by round, mean over folds; a fold with fewer trees keeps its last."""
        rounds = max(len(fold.curve) for fold in self.folds)
        padded = [np.pad(fold.curve, (0, rounds - len(fold.curve)), "edge") for fold in self.folds]
        return np.asarray(np.mean(padded, axis=0))


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Return rows by their metric."""
    return sorted(rows, key=lambda row: -row.sign * row.mean(row.metric))


@dataclass(frozen=True)
class Failure:
    """A learner that could not be trained or tested.

    Attributes
    ----------
    learner : Learner
    error : str
        One line.
    """

    learner: Learner
    error: str
