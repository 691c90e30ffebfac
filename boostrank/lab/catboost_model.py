"""Boosters of CatBoost, to compare with: it accepts none of our objectives."""

import time
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from boostrank.lab.model import Job, Model
from boostrank.lab.settings import Settings
from boostrank.messages import import_host
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats


class CatBoostModel(Model):
    """A CatBoost booster with CatBoost's own trees: symmetric, of depth 6.

    It takes rounds, learning rate, threads and seed from `Settings`. Leaves and documents per leaf
    mean something else for symmetric trees, so they keep CatBoost's defaults.
    """

    host = "catboost"
    builtins = ("QueryRMSE", "YetiRank", "YetiRankPairwise", "RMSE")
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "learning_rate": ("eta",),
        "depth": ("max_depth",),
        "l2_leaf_reg": ("reg_lambda",),
        "rsm": ("colsample_bylevel",),
        "random_seed": ("random_state",),
    }

    @staticmethod
    def shared(settings: Settings) -> dict[str, Any]:
        return {
            "learning_rate": settings.learning_rate,
            "thread_count": settings.threads,
            "random_seed": settings.seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    @staticmethod
    def _train(job: Job) -> tuple[Any, float]:
        objective, data, params, settings, on_round, _ = job
        catboost = import_host("catboost")
        if isinstance(objective, Objective):
            raise ValueError(f"catboost accepts none of our objectives, got {objective.name}")
        pool = catboost.Pool(
            _features(data.X, data.categorical),
            label=data.y,
            group_id=np.repeat(np.arange(len(data.group)), data.group),
            cat_features=list(data.categorical),
        )
        booster = catboost.CatBoost(
            params | {"loss_function": objective, "iterations": settings.rounds}
        )
        started = time.perf_counter()
        try:
            callbacks = None
            if on_round is not None:  # it returns True to continue training
                callbacks = [SimpleNamespace(after_iteration=lambda _: bool(on_round()) or True)]
            booster.fit(pool, callbacks=callbacks)
        except catboost.CatBoostError as error:
            raise ValueError(f"catboost cannot train {objective}: {error}") from error
        return booster, time.perf_counter() - started

    @property
    def n_trees(self) -> int:
        return int(self.booster.tree_count_)

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        last = self.n_trees if rounds is None else rounds
        if last == 0:  # to CatBoost, an end of 0 means all trees
            return np.zeros(len(X))
        X = _features(X, self.booster.get_cat_feature_indices())
        scores: Floats = self.booster.predict(X, ntree_end=last, thread_count=self.threads)
        return scores

    def staged(self, X: Floats) -> Iterator[Floats]:
        X = _features(X, self.booster.get_cat_feature_indices())
        yield from self.booster.staged_predict(X, thread_count=self.threads)


def _features(X: Floats, categorical: Sequence[int]) -> Any:
    """Return features for CatBoost, to which categories are text or integers, never missing."""
    if not categorical:
        return X
    mixed = X.astype(object)
    for column in categorical:
        mixed[:, column] = np.nan_to_num(X[:, column], nan=-1.0).astype(np.int64)
    return mixed
