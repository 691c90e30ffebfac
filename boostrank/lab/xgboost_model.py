"""Boosters of XGBoost, which is imported where it is used."""

import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets import RankingData
from boostrank.hosts.features import (
    XGBOOST,
    Trained,
    explaining_float32,
    in_utf8,
    trained_of,
    xgboost_constraints,
    xgboost_matrix,
)
from boostrank.hosts.ignored import XGBOOSTS_OTHER_NAMES
from boostrank.hosts.metric import metric
from boostrank.hosts.model_files import (
    FROM_TRAIN,
    best_rounds,
    is_of_train,
    kind_of,
    missing_of,
    xgboost_names,
)
from boostrank.hosts.stopping import waiting_xgboost, warn_of_cut
from boostrank.lab.files import write_file
from boostrank.lab.model import Job, Model, features
from boostrank.lab.settings import Settings
from boostrank.messages import import_host
from boostrank.objectives import Objective
from boostrank.objectives.gains import Gain, gains_of
from boostrank.objectives.validation import Floats


class XGBoostModel(Model):
    """An XGBoost booster growing trees leaf by leaf, as LightGBM does.

    XGBoost limits a leaf's summed Hessian (``min_child_weight``), not its documents. Its built-in
    objectives have Hessians of another size than ours, so no value means the same for all. All rows
    keep XGBoost's defaults; others moved NDCG@10 by less than 0.01, up and down, on two data sets.
    """

    host = "xgboost"
    builtins = ("rank:ndcg", "rank:pairwise")
    other_names = XGBOOSTS_OTHER_NAMES

    @classmethod
    def refusal(cls, builtin: str, labels: Floats, settings: Settings) -> str:
        """Labels that have no gain 2^y - 1; see `Model.refusal`."""
        if builtin != "rank:ndcg":
            return ""
        if labels.min(initial=0.0) < 0.0:
            return "only labels from 0"
        exponential = settings.params.get(cls.host, {}).get("ndcg_exp_gain", True)
        whole = (labels == np.floor(labels)).all()
        if settings.gain is None and exponential and (not whole or labels.max(initial=0.0) > 31.0):
            return "only whole labels up to 31, unless there is a gain"
        return ""

    @classmethod
    def with_usual_names(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        return xgboost_constraints(super().with_usual_names(params))

    @staticmethod
    def shared(settings: Settings) -> dict[str, Any]:
        trees = {
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": settings.leaves,
            "max_depth": 0,
        }
        if settings.params.get("xgboost", {}).get("booster") == "gblinear":
            trees = {}  # XGBoost would warn of them
        return {
            "base_score": 0,
            "learning_rate": settings.learning_rate,
            **trees,
            "nthread": settings.threads,
            "seed": settings.seed,
        }

    @staticmethod
    def _train(job: Job) -> tuple[Any, float]:
        objective, data, params, settings, on_round, stopping = job
        xgboost = import_host("xgboost")
        ours = isinstance(objective, Objective)
        if params.get("tree_method") == "exact" and not params.get("max_depth"):
            raise ValueError(
                'tree_method="exact" limits trees by their depth alone, not by leaves: give it '
                '"max_depth" too, such as 6'
            )
        dataset = _training_matrix(data, params)
        callbacks = []
        if on_round is not None:  # it returns False to continue training
            callbacks = [xgboost.callback.TrainingCallback()]
            callbacks[0].after_iteration = lambda *_: bool(on_round()) and False
        valid: dict[str, Any] = {}
        history: dict[str, Any] = {}
        if stopping is not None:
            callbacks.append(xgboost.callback.EarlyStopping(rounds=stopping.patience))
            params = params | {"disable_default_eval_metric": 1}
            valid = {
                "evals": [(_training_matrix(stopping.data, params, dataset), "valid")],
                "custom_metric": metric(settings.metric, **settings.rules),
                "evals_result": history,
                "verbose_eval": False,
            }
        started = time.perf_counter()
        try:
            with xgboost.config_context():  # a training sets the verbosity of the process
                booster = xgboost.train(
                    {"objective": "rank:pairwise" if ours else objective, **params},
                    dataset,
                    settings.rounds,
                    obj=objective if ours else None,
                    callbacks=waiting_xgboost(callbacks, objective),
                    **valid,
                )
        except xgboost.core.XGBoostError as error:
            name = objective.name if isinstance(objective, Objective) else objective
            reason = str(error).partition("\n")[0]  # without its stack trace
            raise ValueError(f"xgboost cannot train {name}: {reason}") from error
        warn_of_cut(objective, history, settings.rounds)
        return best_rounds(booster), time.perf_counter() - started

    @staticmethod
    def _with_gain(gain: Gain, labels: Floats) -> tuple[Floats, dict[str, Any]]:
        """Return gains as labels, and the parameter that says so; see `Model._with_gain`."""
        return gains_of(gain, labels), {"ndcg_exp_gain": False}

    def save(self, path: Path) -> None:
        """Write a model file: JSON if its name says so, otherwise UBJSON."""
        self.booster.set_attr(**{FROM_TRAIN: "1"})
        write_file(path, self.booster.save_raw("json" if path.suffix == ".json" else "ubj"))

    @cached_property
    def features(self) -> Trained:
        """The features in training; `sparse` is True only where absent ones were missing."""
        found = trained_of(self.booster)
        # There, zeros and what a sparse matrix leaves out are the same.
        alike = kind_of(self.booster) == "gblinear" or missing_of(None, self.booster) == 0.0
        return found._replace(sparse=False) if alike else found

    @property
    def seems_shifted(self) -> bool:
        """Whether it is not of 'boostrank train', and has no split by its first feature."""
        used = self.booster.get_score()  # the number of splits, or the weight in a linear model
        return not (is_of_train(self.booster) or used.get(xgboost_names(self.booster)[0]))

    @property
    def n_trees(self) -> int:
        return int(self.booster.num_boosted_rounds())

    def _matrix(self, X: Floats) -> Any:
        # Our data has no names: features are matched by position, even if the model has names.
        with explaining_float32(X):
            return import_host("xgboost").DMatrix(
                X,
                missing=missing_of(None, self.booster),
                feature_names=self.booster.feature_names,
                feature_types=self.booster.feature_types,
                enable_categorical=True,
                nthread=self.threads,
            )

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        rounds = rounds or 0  # 0 is all of them, also in a linear model, which has no rounds
        scores = self.booster.predict(self._matrix(X), iteration_range=(0, rounds))
        return np.asarray(scores, dtype=np.float64)

    def importance(self, rounds: int) -> Floats:
        gains = self.booster[:rounds].get_score(importance_type="total_gain")
        names = xgboost_names(self.booster)
        return np.array([gains.get(name, 0.0) for name in names], dtype=np.float64)

    def staged(self, X: Floats) -> Iterator[Floats]:
        if kind_of(self.booster) == "gblinear":
            raise ValueError(
                "no round of booster='gblinear' can be chosen: later rounds change what earlier "
                "ones have learnt; use 'train', or booster='gbtree'"
            )
        matrix = self._matrix(X)
        for tree in range(self.n_trees):
            scores = self.booster.predict(
                matrix, output_margin=True, iteration_range=(tree, tree + 1)
            )
            matrix.set_base_margin(scores)  # XGBoost adds the next trees to it, not to base_score
            yield scores.astype(np.float64)


def _training_matrix(data: RankingData, params: Mapping[str, Any], ref: Any = None) -> Any:
    """Return data for a training."""
    kinds = ["c" if i in data.categorical else "float" for i in range(data.X.shape[1])]
    return xgboost_matrix(
        in_utf8(features(data), XGBOOST),
        params,
        ref,
        label=data.y,
        group=data.group,
        nthread=params["nthread"],
        feature_names=list(data.names) or None,
        feature_types=kinds if data.categorical else None,
        enable_categorical=bool(data.categorical),
    )
