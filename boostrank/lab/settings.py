"""The budget that all learners of a comparison share, and the metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numba

from boostrank.datasets import RankingData
from boostrank.hosts.metric import metric
from boostrank.lab.stats import TESTS
from boostrank.metrics import CONVENTIONS, evaluate
from boostrank.metrics.conventions import find_convention
from boostrank.metrics.definitions import parse_name
from boostrank.objectives import Objective
from boostrank.objectives.validation import (
    AMOUNTS,
    GRADES,
    LABEL_DOMAINS,
    Floats,
    check_choice,
    check_count,
    check_positive,
    check_seed,
)

#: Reported for every learner, next to the metric that chooses the best round.
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
#: The same where labels are no grades, such as returns: metrics of whole orders.
ORDER_METRICS = ("spearman", "kendall", "pearson")
#: The default metric.
CHOSEN_BY = "ndcg@10"
#: Rank cut-offs of the figure.
CUTOFFS = tuple(range(1, 11))


def sign_of(name: str) -> int:
    """Return 1 if larger values of the metric are better, else -1."""
    return 1 if parse_name(name, "xgboost").larger_is_better else -1  # also accepts XGBoost's minus


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The budget that all learners share; values of the wrong kind or out of range are refused."""

    #: Trees, as in the SHF-SDCG paper for OHSUMED.
    rounds: int = 250
    learning_rate: float = 0.05
    #: Leaves per tree; with more, small data sets of a hundred queries overfit.
    leaves: int = 15
    #: Minimum documents per leaf. XGBoost does not count documents: see `XGBoostModel`.
    min_docs: int = 20
    #: For host and objective alike. One, so that times are comparable.
    threads: int = 1
    seed: int = 0
    #: Whose rules the metrics follow, as in `boostrank.evaluate`.
    convention: str = "standard"
    #: What a grade is worth to the metrics, to our objectives that count gains and to the hosts'
    #: own, which get ``label_gain`` (LightGBM) or ``ndcg_exp_gain=False`` (XGBoost). None: the
    #: convention's gain for metrics, exponential for objectives.
    gain: str | tuple[float, ...] | None = None
    #: Test all trees instead of choosing the best round on the validation part.
    fixed_rounds: bool = False
    #: Chooses the best round and is compared with the baseline; named as in `boostrank.evaluate`.
    #: Lower is better for logloss and brier. ece is refused: it has no value for a single query.
    metric: str = CHOSEN_BY
    #: Reported next to it, in addition to `usual`.
    other_metrics: Sequence[str] = ()
    #: The paired test of each row against the baseline; see `boostrank.lab.stats`.
    test: str = "randomisation"
    #: The hosts' own parameters, for all learners of a host. They take precedence.
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Reported in every comparison; see `for_labels`.
    usual: Sequence[str] = METRICS
    #: The top of the scale of grades, as in `evaluate`: a part of the data may lack that grade.
    top: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "min_docs", "threads"):
            check_count(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        if check_count("leaves", self.leaves) < 2:
            raise ValueError("leaves must be at least 2: a tree of one leaf ranks nothing")
        cores: int = vars(numba.config)["NUMBA_NUM_THREADS"]
        if self.threads > cores:
            raise ValueError(f"threads must be at most {cores} on this machine, got {self.threads}")
        check_seed(self.seed)
        check_choice("convention", self.convention, CONVENTIONS)
        check_choice("test", self.test, TESTS)
        if self.gain is not None:
            object.__setattr__(self, "gain", find_convention(self.convention, self.gain).gain)
        object.__setattr__(self, "other_metrics", tuple(self.other_metrics))
        for name in (self.metric, *self.other_metrics):
            if metric(name, **self.rules).name == "ece":
                raise ValueError(
                    "metric must have a value for each query, got 'ece': it looks at all documents "
                    "together. Use logloss or brier, and measure ece with boostrank.evaluate"
                )

    @property
    def rules(self) -> dict[str, Any]:
        """The rules of the metrics, as arguments of `evaluate` and `metric`."""
        return {"convention": self.convention, "gain": self.gain, "top": self.top}

    @property
    def metrics(self) -> tuple[str, ...]:
        """All reported metrics, first the one that chooses the best round."""
        return tuple(dict.fromkeys((self.metric, *self.other_metrics, *self.usual)))

    @property
    def graded(self) -> bool:
        """Whether the labels are grades, for which NDCG is defined."""
        return self.usual == METRICS

    @property
    def measured(self) -> tuple[str, ...]:
        """The metrics of every test query: `metrics`, and NDCG at all `CUTOFFS` for the figures."""
        ndcg = [f"ndcg@{k}" for k in CUTOFFS] if self.graded else []
        return tuple(dict.fromkeys((*self.metrics, *ndcg)))

    def gained(self, objective: Objective) -> Objective:
        """Return an objective with the gain of these settings, unless it has one of its own."""
        if self.gain is None or any(own != "exponential" for own in objective._gains):
            return objective
        return objective.with_gain(self.gain)

    def measure(
        self, scores: Floats, data: RankingData, metrics: Sequence[str]
    ) -> dict[str, Floats]:
        """Return metrics of every query, by the rules; NaN where one does not count."""
        return evaluate(scores, data.y, data.group, metrics, **self.rules, per_query=True)

    def for_labels(self, labels: Floats, *, chosen: bool) -> Self:
        """Return the settings with the metrics that these labels allow, and the top grade.

        Labels that are no grades replace `metric`, unless the user has `chosen` it.
        """
        settings = replace(self, top=float(labels.max(initial=0.0)) or None)
        rules = find_convention(self.convention, self.gain)
        least, most, _ = LABEL_DOMAINS[GRADES if rules.gain == "exponential" else AMOUNTS]
        if labels.min(initial=least) >= least and labels.max(initial=least) <= most:
            return settings
        metric = self.metric if chosen else ORDER_METRICS[0]
        return replace(settings, metric=metric, usual=ORDER_METRICS)
