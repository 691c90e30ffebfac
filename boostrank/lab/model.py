"""What a booster is to the workbench: trained with the same settings and read in one way."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from boostrank.datasets import RankingData
from boostrank.lab.settings import Settings
from boostrank.objectives import Objective
from boostrank.objectives.gains import Gain
from boostrank.objectives.validation import Floats


class Stopping(NamedTuple):
    """Early stopping, by `Settings.metric`.

    Attributes
    ----------
    data : RankingData
        To validate on.
    patience : int
        Rounds without a better value after which training stops.
    """

    data: RankingData
    patience: int


class Model(ABC):
    """A trained booster of one host. Scores are raw: the sum of the trees, from 0."""

    host: ClassVar[str]
    #: Ranking objectives of the host's own.
    builtins: ClassVar[tuple[str, ...]]

    def __init__(self, booster: Any, threads: int) -> None:
        self.booster = booster
        self.threads = threads

    @classmethod
    def train(
        cls,
        objective: Objective | str,
        data: RankingData,
        settings: Settings,
        more: Mapping[str, Any] | None = None,
        on_round: Callable[[], object] | None = None,
        stopping: Stopping | None = None,
    ) -> tuple[Self, float]:
        """Train, and return the model with the seconds that it took without building the data.

        Parameters
        ----------
        objective : Objective or str
            Ours, or the name of one of `builtins`.
        data : RankingData
        settings : Settings
        more : mapping, optional
            The host's own parameters. They take precedence over `settings`.
        on_round : callable, optional
            Called after each round, to show progress.
        stopping : Stopping, optional
            Stop where validation data gets no better, and keep the best round's trees.
        """
        params = {**cls.shared(settings), **(more or {})}
        if settings.gain is not None:
            if isinstance(objective, Objective):
                if objective.exponential_gains:  # else it has one of its own
                    objective = objective.with_gain(settings.gain)
            else:
                data, own = cls._with_gain(settings.gain, data)
                params = own | params
        booster, seconds = cls._train(objective, data, params, settings, on_round, stopping)
        return cls(booster, settings.threads), seconds

    @staticmethod
    @abstractmethod
    def shared(settings: Settings) -> dict[str, Any]:
        """Return the settings as the host's parameters."""

    @staticmethod
    @abstractmethod
    def _train(
        objective: Objective | str,
        data: RankingData,
        params: dict[str, Any],
        settings: Settings,
        on_round: Callable[[], object] | None,
        stopping: Stopping | None,
    ) -> tuple[Any, float]:
        """Return the booster and the seconds of `train`."""

    @staticmethod
    def _with_gain(gain: Gain, data: RankingData) -> tuple[RankingData, dict[str, Any]]:
        """Return data and parameters with which the host's own objectives have this gain.

        Here: of a host whose objectives know none.
        """
        return data, {}

    @classmethod
    @abstractmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model in the host's own format."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the model in the host's own format."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features the model was trained on."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """Their names; none where the data had none."""

    @property
    def categories(self) -> dict[str, list[str]]:
        """The words that categories were in training, by feature; a code is a place among them."""
        return {}

    @property
    @abstractmethod
    def n_trees(self) -> int:
        """How many rounds gave a tree: LightGBM leaves out those that found no split."""

    @abstractmethod
    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return the scores of the first `rounds` trees, of all where None."""

    def importance(self, rounds: int) -> Floats:
        """Return the gain of all splits of the first rounds by feature, () of a host without."""
        return np.zeros(0)

    @abstractmethod
    def staged(self, X: Floats) -> Iterator[Floats]:
        """Yield the scores after each tree: those of `predict` with rounds = 1, 2, ..."""


def features(data: RankingData, *, every: bool = False) -> Any:
    """Return features as the host is to have them, which keeps words in a model from data frames.

    Parameters
    ----------
    data : RankingData
    every : bool
        Where one feature has words, hand over all categories as such: LightGBM keeps lists of
        categories without saying of which feature.
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
