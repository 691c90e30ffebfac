"""A booster as the workbench sees it: the same settings and the same methods on all hosts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from boostrank.choice import Choice, choose_signal
from boostrank.datasets import RankingData
from boostrank.hosts.data import check_kept
from boostrank.hosts.host_gain import with_gain_of
from boostrank.hosts.ignored import LIGHTGBMS_OTHER_NAMES, by_usual_names
from boostrank.hosts.model_files import check_stopping
from boostrank.hosts.stopping import EARLY_STOPPING
from boostrank.lab.environment import kernel_threads
from boostrank.lab.settings import Settings
from boostrank.objectives import Blend, Objective
from boostrank.objectives.blend import is_auto
from boostrank.objectives.gains import Gain
from boostrank.objectives.validation import Floats, Integers

#: What a host would take for its own, by its usual name, and what there is instead.
_OWN: Mapping[str, str] = {
    **dict.fromkeys(("n_estimators", "iterations"), "give the number of rounds instead"),
    **dict.fromkeys(("objective", "loss_function"), "name the objective instead"),
    **dict.fromkeys(("metric", "eval_metric"), "name the metric instead, with --metric or metric="),
    **dict.fromkeys(EARLY_STOPPING, "give --valid and --patience of 'train' instead"),
}


class Stopping(NamedTuple):
    """Early stopping, by `Settings.metric`."""

    #: That of the validation.
    data: RankingData
    #: Training stops after this many rounds without a better value.
    patience: int


class Job(NamedTuple):
    """What a host is to train, and how."""

    objective: Objective | str
    data: RankingData
    #: By the host's own names.
    params: dict[str, Any]
    settings: Settings
    on_round: Callable[[], object] | None = None
    stopping: Stopping | None = None


class Model(ABC):
    """A trained booster of one host. Its scores are those of the host's own `predict`."""

    host: ClassVar[str]
    #: The host's own ranking objectives.
    builtins: ClassVar[tuple[str, ...]]
    #: The host's other names, at least of what `shared` sets: it would ignore one of two names.
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, booster: Any, threads: int, choice: Choice | None = None) -> None:
        self.booster = booster
        self.threads = threads
        #: How ``Blend(signal="auto")`` was set.
        self.choice = choice

    @classmethod
    def train(
        cls,
        objective: Objective | str,
        data: RankingData,
        settings: Settings,
        on_round: Callable[[], object] | None = None,
        stopping: Stopping | None = None,
    ) -> tuple[Self, float]:
        """Return the trained model and the seconds of training, without building the data.

        The objective is one of ours, or a name from `builtins`. The host's own parameters in the
        settings, by any of its names, take precedence. With `stopping`, training stops when the
        validation metric no longer improves, and the model keeps the best round's trees.
        """
        if isinstance(objective, str) and (why := cls.refusal(objective, data.y, settings)):
            raise ValueError(f"{cls.host} cannot train {objective}: it takes {why}")
        for labelled in (data,) if stopping is None else (data, stopping.data):
            check_kept(labelled.y, labelled.group)
        objective, y, params = cls.arguments(objective, data.y, settings)
        if y is not data.y:
            data = replace(data, y=y)
        if stopping is not None:
            check_stopping(cls.host, params)
        choice = None
        with kernel_threads(settings.threads):
            if is_auto(objective):
                choice = cls._chosen(objective, data, settings, params)
                objective = choice.objective
            job = Job(objective, data, params, settings, on_round, stopping)
            booster, seconds = cls._train(job)
        return cls(booster, settings.threads, choice), seconds

    @classmethod
    def arguments(
        cls, objective: Objective | str, labels: Floats, settings: Settings
    ) -> tuple[Objective | str, Floats, dict[str, Any]]:
        """Return what the host trains on: objective and labels with their gain, and parameters."""
        own = cls.with_usual_names(settings.params.get(cls.host, {}))
        params = {**cls.shared(settings), **own}
        if isinstance(objective, Objective):
            return with_gain_of(settings.gained(objective), params, cls.host), labels, params
        if settings.gain is None:
            return objective, labels, params
        labels, gain = cls._with_gain(settings.gain, labels)
        return objective, labels, gain | params

    @classmethod
    def with_usual_names(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the host's own parameters by the names that `shared` has."""
        for given, (own, instead) in product(params, _OWN.items()):
            if given == own or given in LIGHTGBMS_OTHER_NAMES.get(own, ()):
                raise ValueError(f"{given} is no parameter of {cls.host} here: {instead}")
        return by_usual_names(params, cls.other_names, cls.host)

    @classmethod
    def _chosen(
        cls, objective: Blend, data: RankingData, settings: Settings, params: dict[str, Any]
    ) -> Choice:
        """Choose the setting of `Blend` on the training data."""
        query = np.repeat(np.arange(len(data.group)), data.group)

        def fit(
            setting: Objective, train: Integers, test: Integers, rounds: int, rate: float
        ) -> Floats:
            half, fewer = data.select(np.unique(query[train])), replace(settings, rounds=rounds)
            booster, _ = cls._train(Job(setting, half, params | {"learning_rate": rate}, fewer))
            return cls(booster, settings.threads).predict(data.X[test])

        budget = {"rounds": settings.rounds, "learning_rate": params["learning_rate"]}
        return choose_signal(objective, data.y, data.group, fit, **budget)

    @classmethod
    def refusal(cls, builtin: str, labels: Floats, settings: Settings) -> str:
        """Say which labels a built-in takes with these settings; "" if it takes these."""
        return ""

    @staticmethod
    @abstractmethod
    def shared(settings: Settings) -> dict[str, Any]:
        """Return the settings as the host's parameters."""

    @staticmethod
    @abstractmethod
    def _train(job: Job) -> tuple[Any, float]:
        """Return the booster and the seconds of `train`."""

    @staticmethod
    def _with_gain(gain: Gain, labels: Floats) -> tuple[Floats, dict[str, Any]]:
        """Return labels and parameters that give built-ins this gain; CatBoost's have none."""
        return labels, {}

    @property
    @abstractmethod
    def n_trees(self) -> int:
        """How many rounds produced a tree: LightGBM leaves out those that found no split."""

    @abstractmethod
    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return the scores of the first `rounds` trees, or of all if None."""

    def importance(self, rounds: int) -> Floats:
        """Return the gain of all splits of the first rounds by feature, () if not reported."""
        return np.zeros(0)

    @abstractmethod
    def staged(self, X: Floats) -> Iterator[Floats]:
        """Yield the scores after each tree: those of `predict` with rounds = 1, 2, ..."""


def features(data: RankingData, *, every: bool = False) -> Any:
    """Return features for the host: as a data frame if they have words, which the model keeps.

    With `every`, if one feature has words, all categorical features are handed over as such:
    LightGBM keeps lists of categories without the names of their features.
    """
    if not data.categories:
        return data.X
    import pandas

    frame = pandas.DataFrame(data.X, columns=list(data.names))
    for i in data.categorical if every else data.categories:
        codes = data.X[:, i]
        top = int(np.max(codes, initial=-1, where=~np.isnan(codes)))
        frame[data.names[i]] = pandas.Categorical.from_codes(
            np.where(np.isnan(codes), -1, codes).astype(np.int64),
            data.categories.get(i, range(top + 1)),
        )
    return frame
