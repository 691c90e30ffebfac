"""Boosters of both hosts, trained with the same settings and read in one way.

The hosts are imported where they are used.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from boostrank.datasets import RankingData
from boostrank.lab.environment import import_host
from boostrank.lab.settings import Settings, sign_of
from boostrank.metrics import metric
from boostrank.objectives import Objective
from boostrank.objectives.gains import Gain, gains_of
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


class LightGBMModel(Model):
    """A LightGBM booster; what `Settings` does not name has LightGBM's default."""

    host = "lightgbm"
    builtins = ("lambdarank", "rank_xendcg")

    @staticmethod
    def shared(settings: Settings) -> dict[str, Any]:
        """Return the settings; see `Model.shared`."""
        return {
            "metric": "None",
            "learning_rate": settings.learning_rate,
            "num_leaves": settings.leaves,
            "min_data_in_leaf": settings.min_docs,
            "num_threads": settings.threads,
            "seed": settings.seed,
            # Otherwise LightGBM times two ways of building histograms at every start, and the
            # faster one of the day decides the rounding.
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }

    @staticmethod
    def _train(
        objective: Objective | str,
        data: RankingData,
        params: dict[str, Any],
        settings: Settings,
        on_round: Callable[[], object] | None,
        stopping: Stopping | None,
    ) -> tuple[Any, float]:
        lightgbm = import_host("lightgbm")
        if objective == "lambdarank" and (data.y != np.floor(data.y)).any():
            raise ValueError(
                "lightgbm cannot train lambdarank: it takes whole labels only; compare with "
                "another baseline, such as regression@lightgbm"
            )
        try:
            dataset = lightgbm.Dataset(
                _features(data, every=True),
                label=data.y,
                group=data.group,
                params=params,
                feature_name=list(data.names) or "auto",
                categorical_feature=[data.names[i] for i in data.categorical]
                if data.categories
                else list(data.categorical),
            ).construct()
            callbacks = [] if on_round is None else [lambda _: on_round()]
            valid: dict[str, Any] = {}
            if stopping is not None:
                callbacks.append(lightgbm.early_stopping(stopping.patience, verbose=False))
                held = stopping.data
                valid = {
                    "valid_sets": [
                        dataset.create_valid(_features(held, every=True), held.y, group=held.group)
                    ],
                    "feval": metric(settings.metric, **settings.rules),
                }
            started = time.perf_counter()
            booster = lightgbm.train(
                params | {"objective": objective},
                dataset,
                settings.rounds,
                callbacks=callbacks,
                **valid,
            )
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"lightgbm cannot train {objective}: {error}") from error
        return booster, time.perf_counter() - started

    @staticmethod
    def _with_gain(gain: Gain, data: RankingData) -> tuple[RankingData, dict[str, Any]]:
        """Return `label_gain`, of whole labels; see `Model._with_gain`."""
        grades = np.arange(np.floor(data.y.max(initial=0.0)) + 1.0)
        return data, {"label_gain": gains_of(gain, grades).tolist()}

    @classmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model; see `Model.load`."""
        lightgbm = import_host("lightgbm")
        try:
            return cls(lightgbm.Booster(model_file=path), threads)
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"{path} is not a whole LightGBM model: {error}") from error

    def save(self, path: Path) -> None:
        """Write the model; see `Model.save`."""
        self.booster.save_model(path)

    @property
    def n_features(self) -> int:
        """Features; see `Model.n_features`."""
        return int(self.booster.num_feature())

    @property
    def feature_names(self) -> list[str]:
        """Names; see `Model.feature_names`."""
        names: list[str] = self.booster.feature_name()
        return [] if names[:1] == ["Column_0"] else names

    @property
    def categories(self) -> dict[str, list[str]]:
        """Words; see `Model.categories`."""
        columns = self.booster.params.get("categorical_feature", ())
        lists = self.booster.pandas_categorical or ()
        if len(columns) != len(lists):
            return {}
        named = zip((self.booster.feature_name()[i] for i in columns), lists, strict=True)
        return {name: words for name, words in named if all(isinstance(w, str) for w in words)}

    @property
    def n_trees(self) -> int:
        """Trees; see `Model.n_trees`."""
        best = int(self.booster.best_iteration)  # where it was stopped early
        return best if best > 0 else int(self.booster.num_trees())

    def _predict(self, X: Floats, start: int, trees: int) -> Floats:
        scores: Floats = self.booster.predict(
            X,
            start_iteration=start,
            num_iteration=trees,
            raw_score=True,
            num_threads=self.threads,
        )
        return scores

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Scores; see `Model.predict`."""
        return self._predict(X, 0, self.n_trees if rounds is None else rounds)

    def staged(self, X: Floats) -> Iterator[Floats]:
        """Scores after each tree; see `Model.staged`."""
        scores = np.zeros(len(X))
        for tree in range(self.n_trees):
            scores = scores + self._predict(X, tree, 1)
            yield scores

    def importance(self, rounds: int) -> Floats:
        """Gains; see `Model.importance`."""
        gains = self.booster.feature_importance("gain", iteration=rounds)
        return np.asarray(gains, dtype=np.float64)


class XGBoostModel(Model):
    """An XGBoost booster growing trees leaf by leaf, as LightGBM does.

    XGBoost limits a leaf's summed Hessian (``min_child_weight``), not its documents, and its
    built-in objectives have Hessians of another size than ours: no value means the same to all.
    All rows on XGBoost keep its defaults, ``min_child_weight=1`` and ``lambda=1``; on the
    validation parts of OHSUMED and MQ2008, values from 0.001 to 20 and a lambda of 0.01 moved
    NDCG@10 of LambdaRank, regression and ``rank:ndcg`` by less than 0.01, up and down.
    """

    host = "xgboost"
    builtins = ("rank:ndcg", "rank:pairwise")

    @staticmethod
    def shared(settings: Settings) -> dict[str, Any]:
        """Return the settings; see `Model.shared`."""
        return {
            "base_score": 0,
            "learning_rate": settings.learning_rate,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": settings.leaves,
            "max_depth": 0,
            "nthread": settings.threads,
            "seed": settings.seed,
        }

    @staticmethod
    def _train(
        objective: Objective | str,
        data: RankingData,
        params: dict[str, Any],
        settings: Settings,
        on_round: Callable[[], object] | None,
        stopping: Stopping | None,
    ) -> tuple[Any, float]:
        xgboost = import_host("xgboost")
        ours = isinstance(objective, Objective)
        # The data is cut into bins here; a plain DMatrix would do it in the first round.
        dataset = xgboost.QuantileDMatrix(
            _features(data),
            label=data.y,
            group=data.group,
            nthread=settings.threads,
            feature_names=list(data.names) or None,
            **_xgboost_categories(data),
        )
        callbacks = [] if on_round is None else [_xgboost_callback(on_round)]
        valid: dict[str, Any] = {}
        if stopping is not None:
            callbacks.append(
                xgboost.callback.EarlyStopping(
                    rounds=stopping.patience,
                    maximize=sign_of(settings.metric) > 0,
                    save_best=not data.categories,
                )
            )
            held = stopping.data
            matrix = xgboost.QuantileDMatrix(
                _features(held),
                label=held.y,
                group=held.group,
                ref=dataset,
                nthread=settings.threads,
                feature_names=list(held.names) or None,
                **_xgboost_categories(held),
            )
            params = params | {"disable_default_eval_metric": 1}
            valid = {
                "evals": [(matrix, "valid")],
                "custom_metric": metric(settings.metric, **settings.rules),
                "verbose_eval": False,
            }
        started = time.perf_counter()
        try:
            booster = xgboost.train(
                {"objective": "rank:pairwise" if ours else objective, **params},
                dataset,
                settings.rounds,
                obj=objective if ours else None,
                callbacks=callbacks,
                **valid,
            )
        except xgboost.core.XGBoostError as error:
            raise ValueError(f"xgboost cannot train {objective}: {_first_line(error)}") from error
        if stopping is not None and data.categories:
            booster = _first_trees(booster, booster.best_iteration + 1)
        return booster, time.perf_counter() - started

    @staticmethod
    def _with_gain(gain: Gain, data: RankingData) -> tuple[RankingData, dict[str, Any]]:
        """Return gains for labels, and that they are; see `Model._with_gain`."""
        return replace(data, y=gains_of(gain, data.y)), {"ndcg_exp_gain": False}

    @classmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model; see `Model.load`."""
        xgboost = import_host("xgboost")
        booster = xgboost.Booster({"nthread": threads})
        try:
            booster.load_model(bytearray(path.read_bytes()))
        except xgboost.core.XGBoostError as error:
            raise ValueError(
                f"{path} is not a whole XGBoost model: {_first_line(error)}"
            ) from error
        return cls(booster, threads)

    def save(self, path: Path) -> None:
        """Write the model; see `Model.save`."""
        path.write_bytes(self.booster.save_raw("json" if path.suffix == ".json" else "ubj"))

    @property
    def n_features(self) -> int:
        """Features; see `Model.n_features`."""
        return int(self.booster.num_features())

    @property
    def feature_names(self) -> list[str]:
        """Names; see `Model.feature_names`."""
        return list(self.booster.feature_names or ())

    @property
    def categories(self) -> dict[str, list[str]]:
        """Words; see `Model.categories`."""
        if "c" not in (self.booster.feature_types or ()):
            return {}
        # Without Arrow, XGBoost hands over what only XGBoost reads.
        kept = self.booster.get_categories(export_to_arrow=True).to_arrow()
        lists = {name: words.to_pylist() for name, words in kept if words is not None}
        return {name: words for name, words in lists.items() if isinstance(words[0], str)}

    @property
    def n_trees(self) -> int:
        """Trees; see `Model.n_trees`."""
        return int(self.booster.num_boosted_rounds())

    def _matrix(self, X: Floats) -> Any:
        # Our data has no names: features go by position, even where the model knows names.
        return import_host("xgboost").DMatrix(
            X,
            feature_names=self.booster.feature_names,
            feature_types=self.booster.feature_types,
            enable_categorical=True,
            nthread=self.threads,
        )

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Scores; see `Model.predict`."""
        last = self.n_trees if rounds is None else rounds
        scores = self.booster.predict(
            self._matrix(X), output_margin=True, iteration_range=(0, last)
        )
        return np.asarray(scores, dtype=np.float64)

    def importance(self, rounds: int) -> Floats:
        """Gains; see `Model.importance`."""
        gains = self.booster[:rounds].get_score(importance_type="total_gain")
        names = self.feature_names or [f"f{i}" for i in range(self.n_features)]
        return np.array([gains.get(name, 0.0) for name in names], dtype=np.float64)

    def staged(self, X: Floats) -> Iterator[Floats]:
        """Scores after each tree; see `Model.staged`."""
        # XGBoost adds up in float32, and so does this: the sums, and their ties, are the same.
        matrix = self._matrix(X)
        scores = np.zeros(len(X), dtype=np.float32)
        for tree in range(self.n_trees):
            scores = scores + self.booster.predict(
                matrix, output_margin=True, iteration_range=(tree, tree + 1)
            )
            yield scores.astype(np.float64)


def _features(data: RankingData, *, every: bool = False) -> Any:
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


def _xgboost_categories(data: RankingData) -> dict[str, Any]:
    if not data.categorical:
        return {}
    kinds = ["c" if i in data.categorical else "float" for i in range(data.X.shape[1])]
    return {"feature_types": kinds, "enable_categorical": True}


def _first_trees(booster: Any, rounds: int) -> Any:
    """Return the booster of the first rounds, with the words that XGBoost 3.2 drops in slicing."""
    whole, first = (json.loads(each.save_raw("json")) for each in (booster, booster[:rounds]))
    kept, cut = (each["learner"]["gradient_booster"] for each in (whole, first))
    kept, cut = (each.get("gbtree", each)["model"] for each in (kept, cut))  # dart has one inside
    cut["cats"] = kept["cats"]
    shorter = import_host("xgboost").Booster()
    shorter.load_model(bytearray(json.dumps(first), "utf-8"))
    return shorter


def _xgboost_callback(on_round: Callable[[], object]) -> Any:
    def after_iteration(self: Any, model: Any, epoch: int, evals_log: Any) -> bool:
        on_round()
        return False  # continue training

    base = import_host("xgboost").callback.TrainingCallback
    return type("OnRound", (base,), {"after_iteration": after_iteration})()


def _first_line(error: Exception) -> str:
    """XGBoost's message without its stack trace."""
    return str(error).partition("\n")[0]


HOSTS: Mapping[str, type[Model]] = {model.host: model for model in (LightGBMModel, XGBoostModel)}


def load_model(path: Path, threads: int = 1) -> Model:
    """Read a model file of either host, told apart by its content.

    Parameters
    ----------
    path : Path
    threads : int, default 1
        For predicting.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If it is not a model of LightGBM or XGBoost.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"tree":
        return LightGBMModel.load(path, threads)
    if start.startswith(b"{"):  # JSON and UBJSON alike
        return XGBoostModel.load(path, threads)
    raise ValueError(
        f"{path} is not a model of LightGBM (text) or XGBoost (JSON, UBJSON), as 'boostrank train' "
        "writes them"
    )
