"""Boosters of LightGBM, which is imported where it is used."""

import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from boostrank.hosts.features import Trained, nothing_to_split, trained_of
from boostrank.hosts.ignored import LIGHTGBMS_OTHER_NAMES, check_known
from boostrank.hosts.metric import metric
from boostrank.hosts.model_files import is_of_train, made_up
from boostrank.hosts.stopping import waiting_lightgbm, warn_of_cut
from boostrank.lab.files import write_file
from boostrank.lab.model import Job, Model, features
from boostrank.lab.settings import Settings
from boostrank.messages import import_host
from boostrank.objectives import Objective
from boostrank.objectives.gains import Gain, gains_of
from boostrank.objectives.validation import Floats

#: LightGBM reads its gains, one for each grade, as text: ten million of them take minutes.
_MOST_GAINS = 100_000


class LightGBMModel(Model):
    """A LightGBM booster; parameters that `Settings` does not set keep LightGBM's defaults."""

    host = "lightgbm"
    builtins = ("lambdarank", "rank_xendcg")
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "learning_rate": LIGHTGBMS_OTHER_NAMES["learning_rate"],
        "num_leaves": LIGHTGBMS_OTHER_NAMES["num_leaves"],
        "min_data_in_leaf": (
            "min_data_per_leaf", "min_data", "min_child_samples", "min_samples_leaf",
        ),
        "lambda_l2": ("reg_lambda", "lambda", "l2_regularization"),
        "feature_fraction": ("sub_feature", "colsample_bytree"),
        "num_threads": ("num_thread", "nthread", "nthreads", "n_jobs"),
        "seed": ("random_seed", "random_state"),
        "verbosity": ("verbose",),
    }  # fmt: skip

    @classmethod
    def refusal(cls, builtin: str, labels: Floats, settings: Settings) -> str:
        """Labels that it would refuse, misread or cut the decimals of; see `Model.refusal`."""
        most = labels.max(initial=0.0)
        if labels.min(initial=0.0) < 0.0 or (labels != np.floor(labels)).any():
            return "only whole labels from 0"
        if builtin == "rank_xendcg":  # it computes 2^y in 32 bits
            return "only labels up to 31" if most > 31.0 else ""
        gains = settings.gain or settings.params.get(cls.host, {}).get("label_gain")
        if gains is None and most > 30.0:
            return "only labels up to 30, unless there is a gain"
        return f"only labels up to {_MOST_GAINS:,}" if most > _MOST_GAINS else ""

    @staticmethod
    def shared(settings: Settings) -> dict[str, Any]:
        return {
            "metric": "None",
            "learning_rate": settings.learning_rate,
            "num_leaves": settings.leaves,
            "min_data_in_leaf": settings.min_docs,
            "num_threads": settings.threads,
            "seed": settings.seed,
            # Otherwise LightGBM times two ways of building histograms at every start, and the
            # one that happens to be faster decides the rounding.
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }

    @staticmethod
    def _train(job: Job) -> tuple[Any, float]:
        objective, data, params, settings, on_round, stopping = job
        lightgbm = import_host("lightgbm")
        check_known(params)
        try:
            dataset = lightgbm.Dataset(
                features(data, every=True),
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
            history: dict[str, Any] = {}
            if stopping is not None:
                callbacks.append(lightgbm.early_stopping(stopping.patience, verbose=False))
                callbacks.append(lightgbm.record_evaluation(history))
                held = stopping.data
                part = dataset.create_valid(features(held, every=True), held.y, group=held.group)
                valid = {"valid_sets": [part], "feval": metric(settings.metric, **settings.rules)}
            started = time.perf_counter()
            booster = lightgbm.train(
                params | {"objective": objective},
                dataset,
                settings.rounds,
                callbacks=waiting_lightgbm(callbacks, objective),
                **valid,
            )
            warn_of_cut(objective, history, settings.rounds)
        except lightgbm.basic.LightGBMError as error:
            reason = nothing_to_split(
                error, len(data.y), "min_data_in_leaf", params["min_data_in_leaf"]
            )
            name = objective.name if isinstance(objective, Objective) else objective
            raise ValueError(f"lightgbm cannot train {name}: {reason or error}") from error
        return booster, time.perf_counter() - started

    @staticmethod
    def _with_gain(gain: Gain, labels: Floats) -> tuple[Floats, dict[str, Any]]:
        """Return `label_gain`, for whole labels; see `Model._with_gain`."""
        grades = np.arange(np.floor(labels.max(initial=0.0)) + 1.0)
        return labels, {"label_gain": gains_of(gain, grades).tolist()}

    def save(self, path: Path) -> None:
        """Write a model file, which says that it is of 'boostrank train': see `is_of_train`."""
        if self.booster.pandas_categorical is None:
            self.booster.pandas_categorical = []
        write_file(path, self.booster.model_to_string().encode())  # LightGBM ignores a full disk

    @cached_property
    def features(self) -> Trained:
        """The features in training."""
        found = trained_of(self.booster)
        if found.categories is None:
            raise ValueError(
                f"the model has {len(self.booster.pandas_categorical)} columns of categories and "
                "does not name them, as LightGBM does not where they are ordered, or where "
                "categorical_feature has others: predict in Python, with what was trained"
            )
        return found._replace(names=None) if made_up(found.names or ()) else found

    @property
    def seems_shifted(self) -> bool:
        """Whether it is not of 'boostrank train', and its first feature never varied there."""
        if is_of_train(self.booster):
            return False
        varied = self.booster.dump_model(num_iteration=1)["feature_infos"]
        return self.booster.feature_name()[0] not in varied

    @property
    def n_trees(self) -> int:
        best = int(self.booster.best_iteration)  # after early stopping
        return best if best > 0 else int(self.booster.num_trees())

    def predict(self, X: Floats, rounds: int | None = None, start: int = 0) -> Floats:
        rounds = self.n_trees if rounds is None else rounds
        scores: Floats = self.booster.predict(X, start, rounds, num_threads=self.threads)
        return scores

    def staged(self, X: Floats) -> Iterator[Floats]:
        scores = np.zeros(len(X))
        is_forest = self.booster.dump_model(num_iteration=1)["average_output"]
        for tree in range(self.n_trees):
            scores = scores + self.predict(X, 1, tree)
            yield scores / (tree + 1) if is_forest else scores

    def importance(self, rounds: int) -> Floats:
        gains = self.booster.feature_importance("gain", iteration=rounds)
        return np.asarray(gains, dtype=np.float64)
