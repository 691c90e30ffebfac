"""The budget that all learners of a comparison share, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numba

from boostrank.metrics import CONVENTIONS, metric
from boostrank.metrics.conventions import find_convention
from boostrank.metrics.measures import parse_name
from boostrank.objectives.validation import check_choice, check_count, check_positive

#: What is reported for every learner, next to the metric that chooses the best round.
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
#: The default metric.
CHOSEN_BY = "ndcg@10"
#: Rank cut-offs of the figure.
CUTOFFS = tuple(range(1, 11))


def sign_of(name: str) -> int:
    """Return 1 of a metric of which more is better, else -1."""
    return 1 if parse_name(name, "xgboost").larger_is_better else -1  # also reads XGBoost's minus


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The budget that all learners share.

    Parameters
    ----------
    rounds : int, default 250
        Trees, as the SHF-SDCG paper has for OHSUMED.
    learning_rate : float, default 0.05
    leaves : int, default 15
        Leaves per tree: small data sets of a hundred queries overfit with more.
    min_docs : int, default 20
        Fewest documents in a leaf. XGBoost does not count documents: see `XGBoostModel`.
    threads : int, default 1
        For host and objective alike. One, so that times compare.
    seed : int, default 0
    convention : str, default "standard"
        Whose rules the metrics follow, as in `boostrank.evaluate`.
    gain : str or sequence of float, optional
        What a grade is worth to the metrics, to our objectives that count gains and to the hosts'
        own, which get ``label_gain`` (LightGBM) or ``ndcg_exp_gain=False`` (XGBoost). Default None:
        to metrics as the convention has it, to all others exponential.
    fixed_rounds : bool, default False
        Test all trees instead of choosing the best round on the validation part.
    metric : str, default "ndcg@10"
        What chooses the best round and is compared with the baseline, as in `boostrank.evaluate`.
        Less is better of logloss and brier. Not ece: of the documents of one query it says nothing.
    other_metrics : sequence of str, default ()
        What is reported next to it, besides `METRICS`.
    params : mapping of host to mapping, default {}
        The hosts' own parameters, for all learners of a host. They take precedence.

    Raises
    ------
    TypeError, ValueError
        For a value of another kind or out of its range.
    """

    rounds: int = 250
    learning_rate: float = 0.05
    leaves: int = 15
    min_docs: int = 20
    threads: int = 1
    seed: int = 0
    convention: str = "standard"
    gain: str | tuple[float, ...] | None = None
    fixed_rounds: bool = False
    metric: str = CHOSEN_BY
    other_metrics: Sequence[str] = ()
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("rounds", "min_docs", "threads"):
            check_count(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        if check_count("leaves", self.leaves) < 2:
            raise ValueError("leaves must be at least 2: a tree of one leaf ranks nothing")
        cores: int = vars(numba.config)["NUMBA_NUM_THREADS"]
        if self.threads > cores:
            raise ValueError(f"threads must be at most {cores} on this machine, got {self.threads}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")
        check_choice("convention", self.convention, CONVENTIONS)
        if self.gain is not None:
            object.__setattr__(self, "gain", find_convention(self.convention, self.gain).gain)
        object.__setattr__(self, "other_metrics", tuple(self.other_metrics))
        for name in (self.metric, *self.other_metrics):
            if metric(name, **self.rules).name == "ece":
                raise ValueError(
                    "metric must have a value for each query, got 'ece': it looks at all documents "
                    "together. Take logloss or brier, and measure ece by boostrank.evaluate"
                )

    @property
    def rules(self) -> dict[str, Any]:
        """What the metrics follow: arguments of `evaluate` and `metric`."""
        return {"convention": self.convention, "gain": self.gain}

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is reported, the metric that chooses first."""
        return tuple(dict.fromkeys((self.metric, *self.other_metrics, *METRICS)))
