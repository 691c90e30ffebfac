"""The results of a comparison: a learner in one fold, and over all folds against the baseline."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.lab.learners import Learner
from boostrank.lab.settings import Settings, sign_of
from boostrank.lab.stats import SIGNIFICANT, differences, half_width, holm, paired_p_value
from boostrank.objectives.validation import Floats


@dataclass(frozen=True, eq=False)
class FoldResult:
    """The result of one learner in one fold."""

    fold: int  # from 1, as LETOR numbers them
    #: The metric on the validation part after each tree (n_trees,).
    curve: Floats
    #: The first best round of `curve`, from 1; with `Settings.fixed_rounds` the last round.
    best_round: int
    qid: npt.NDArray[Any]  # int64 or str (n_test_queries,)
    #: `Settings.metrics`, and NDCG at all `CUTOFFS`, of every test query with the best round's
    #: trees (n_test_queries,); NaN where the convention leaves the query out.
    figures: dict[str, Floats]
    seconds_per_round: float
    #: Gain of all splits of the best round's trees, by feature; () if the host reports none.
    importance: Floats = field(default_factory=lambda: np.zeros(0))
    #: The setting of `Blend` that "auto" chose.
    chosen: str = ""


@dataclass(frozen=True, eq=False)
class Row:
    """One learner over all folds, against the baseline.

    Means, differences, intervals and the test are all over the test queries of all folds together:
    a query counts the same in a small fold as in a large one.
    """

    learner: Learner
    folds: tuple[FoldResult, ...]
    baseline: "Row | None"  # None if this row is the baseline
    settings: Settings  # of the comparison

    @property
    def metric(self) -> str:
        """The metric by which rows are compared."""
        return self.settings.metric

    @property
    def sign(self) -> int:
        """1 if larger values of the metric are better, else -1."""
        return sign_of(self.metric)

    def pooled(self, metric: str) -> Floats:
        """Return the values of the test queries of all folds."""
        return np.concatenate([fold.figures[metric] for fold in self.folds])

    def by_query(self) -> Iterator[list[Any]]:
        """Yield the fold, the id and all reported metrics of each test query."""
        for fold in self.folds:
            values = [fold.figures[metric].tolist() for metric in self.settings.metrics]
            for of_query in zip(fold.qid.tolist(), *values, strict=True):
                yield [fold.fold, *of_query]

    @property
    def n_tested(self) -> int:
        """Number of test queries that count in the metric."""
        return int(np.count_nonzero(~np.isnan(self.pooled(self.metric))))

    def mean(self, metric: str) -> float:
        """Return the mean over the test queries of all folds; NaN if none has a value."""
        values = self.pooled(metric)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else np.nan

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the normal 95 % interval of `mean`, from the spread of queries."""
        half = half_width(self.pooled(metric))
        return self.mean(metric) - half, self.mean(metric) + half

    @property
    def difference(self) -> float:
        """Mean of `differences`."""
        return float(np.nanmean(self.differences))

    @property
    def relative_difference(self) -> float:
        """`difference` as a share of the baseline's metric, of either sign; NaN where that is 0."""
        theirs = abs((self.baseline or self).mean(self.metric))
        return self.difference / theirs if theirs else float("nan")

    @property
    def differences(self) -> Floats:
        """The metric minus the baseline's, of every test query."""
        return differences(*(row.pooled(self.metric) for row in (self, self.baseline or self)))

    @property
    def difference_interval(self) -> tuple[float, float]:
        """The normal 95 % interval of `difference`, with queries paired."""
        half = half_width(self.differences)
        return self.difference - half, self.difference + half

    @cached_property
    def p_value(self) -> float:
        """Of the paired test on `metric`; see `paired_p_value`."""
        return paired_p_value(self.differences, seed=self.settings.seed, test=self.settings.test)

    @property
    def chosen(self) -> str:
        """What "auto" chose in each fold, in words; "" for other objectives."""
        settings = [fold.chosen for fold in self.folds if fold.chosen]
        if not settings:
            return ""
        times = Counter(settings).most_common()
        said = ", ".join(f"{setting} in {n} of {len(settings)} folds" for setting, n in times)
        return f"{self.learner} chose {said}"

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
        """Each feature's share of the gain of all splits, mean over folds; () if unknown."""
        # A tree without a split has no gain to share.
        shares = [fold.importance / (fold.importance.sum() or 1.0) for fold in self.folds]
        return np.asarray(np.mean(shares, axis=0))

    @property
    def curve(self) -> Floats:
        """Validation metric by round, mean over folds; a shorter fold keeps its last value."""
        rounds = max(len(fold.curve) for fold in self.folds)
        padded = [np.pad(fold.curve, (0, rounds - len(fold.curve)), "edge") for fold in self.folds]
        return np.asarray(np.mean(padded, axis=0))


def holm_p_values(rows: Sequence[Row]) -> dict[Learner, float]:
    """Return each row's p-value corrected for their number; that of the baseline is 1."""
    tested = [row for row in rows if row.baseline is not None]
    corrected = holm([row.p_value for row in tested])
    found = dict.fromkeys((row.learner for row in rows), 1.0)
    return found | {row.learner: p for row, p in zip(tested, corrected, strict=True)}


def verdicts(rows: Sequence[Row]) -> dict[Learner, str]:
    """Say how each row compares by `holm_p_values`: "better", "worse", "level" or "baseline"."""
    corrected, found = holm_p_values(rows), {}
    for row in rows:
        # A sign test counts queries, most of which may lose where the mean gains.
        tested = np.sign(row.differences) if row.settings.test == "sign" else row.differences
        said = "better" if row.sign * np.nansum(tested) > 0 else "worse"
        if corrected[row.learner] >= SIGNIFICANT:
            said = "level"
        found[row.learner] = "baseline" if row.baseline is None else said
    return found


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Return the rows sorted by their metric, best first."""
    return sorted(rows, key=lambda row: -row.sign * row.mean(row.metric))


@dataclass(frozen=True)
class Failure:
    """A learner that could not be trained or tested, and why, in one line."""

    learner: Learner
    error: str
