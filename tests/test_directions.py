"""Early stopping goes the right way for every metric in every way to train."""

import lightgbm
import numpy as np
import pytest
import xgboost
from training import LIGHTGBM, XGBOOST, dataset, matrix, train

import boostrank
import boostrank.lightgbm
import boostrank.xgboost
from boostrank.datasets import RankingData
from boostrank.metrics.definitions import METRICS

ROUNDS = 16
PATIENCE = 4
CUTOFFS = {"required": "@5", "persistence": "@0.8"}
NAMES = [name + CUTOFFS.get(metric.cutoff, "") for name, metric in METRICS.items()]
SMALLER_IS_BETTER = {"logloss", "brier", "ece"}
OBJECTIVE = boostrank.Calibrated()
FAST = {
    "lightgbm": {"learning_rate": 0.3, "num_leaves": 31, "min_data_in_leaf": 3},
    "xgboost": {"learning_rate": 0.3, "max_depth": 5, "disable_default_eval_metric": True},
}
RANKER = {
    "objective": OBJECTIVE, "n_estimators": ROUNDS, "learning_rate": 0.3, "n_jobs": 1,
}  # fmt: skip


def clicks(seed):
    """Labels 0 and 1, which every metric takes, with noise that deep trees learn by heart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 4))
    y = (rng.random(240) < 1 / (1 + np.exp(0.5 - 2.5 * X[:, 0] - X[:, 1]))).astype(float)
    y[::8], y[1::8] = 1.0, 0.0
    return RankingData(X, y, np.repeat(np.arange(30), 8))


TRAIN, VALID = clicks(1), clicks(2)
EVAL = {"eval_set": [(VALID.X, VALID.y)], "eval_group": [VALID.group]}

# Each way returns the best round, from 0, and the metric's history up to the last round.


def lightgbm_train(name):
    history = {}
    data = dataset(TRAIN)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    booster = train(
        "lightgbm", OBJECTIVE, data, ROUNDS, params=FAST["lightgbm"], feval=boostrank.metric(name),
        valid_sets=[data.create_valid(VALID.X, VALID.y, group=VALID.group)],
        callbacks=[lightgbm.record_evaluation(history), stop],
    )  # fmt: skip
    return booster.best_iteration - 1, history["valid_0"][name]


def lightgbm_cv(name):
    history = {}
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    folds = list(boostrank.datasets.group_folds(TRAIN.group, 3))
    params = LIGHTGBM | FAST["lightgbm"] | {"objective": OBJECTIVE}
    results = lightgbm.cv(
        params, dataset(TRAIN), ROUNDS, folds=folds, feval=boostrank.metric(name),
        callbacks=[lightgbm.record_evaluation(history), stop],
    )  # fmt: skip
    return len(results[f"valid {name}-mean"]) - 1, history["valid"][f"{name}-mean"]


def xgboost_train(name):
    history = {}
    booster = train(
        "xgboost", OBJECTIVE, TRAIN, ROUNDS, params=FAST["xgboost"],
        custom_metric=boostrank.metric(name), evals=[(matrix(VALID), "valid")],
        evals_result=history, early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    return booster.best_iteration, history["valid"][name]


def xgboost_cv(name):
    """XGBoost returns no round after the best one, so the history is that without stopping."""
    # With smaller steps it goes on to the end, and returns all rounds.
    fast = XGBOOST | FAST["xgboost"] | {"learning_rate": 0.9}
    data = matrix(TRAIN)
    common = {"obj": OBJECTIVE, "custom_metric": boostrank.metric(name), "as_pandas": False}
    stopped, full = (
        xgboost.cv(fast, data, ROUNDS, nfold=3, seed=1, early_stopping_rounds=patience, **common)
        for patience in (PATIENCE, None)
    )
    best = len(stopped[f"test-{name}-mean"]) - 1
    return best, full[f"test-{name}-mean"][: best + PATIENCE + 1]


def lightgbm_ranker(kind, metric):
    ranker = kind(min_child_samples=3, verbosity=-1, metric="None", **RANKER)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    ranker.fit(TRAIN.X, TRAIN.y, group=TRAIN.group, **EVAL, eval_metric=metric, callbacks=[stop])
    (history,) = ranker.evals_result_.values()
    (values,) = history.values()
    return ranker.best_iteration_ - 1, values


def xgboost_ranker(name):
    ranker = boostrank.xgboost.XGBRanker(
        eval_metric=name, early_stopping_rounds=PATIENCE, max_depth=5, **RANKER
    )
    ranker.fit(TRAIN.X, TRAIN.y, group=TRAIN.group, **EVAL)
    return ranker.best_iteration, ranker.evals_result_["validation_0"][name]


WAYS = {
    "lightgbm.train": lightgbm_train,
    "lightgbm.cv": lightgbm_cv,
    "xgboost.train": xgboost_train,
    "xgboost.cv": xgboost_cv,
    "LGBMRanker": lambda name: lightgbm_ranker(boostrank.lightgbm.LGBMRanker, name),
    "lightgbm.LGBMRanker": lambda name: lightgbm_ranker(
        lightgbm.LGBMRanker, boostrank.metric(name)
    ),
    "XGBRanker": xgboost_ranker,
}


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_the_best_round_is_the_best_of_those_trained(way, name):
    best, history = WAYS[way](name)
    sign = -1 if name in SMALLER_IS_BETTER else 1
    assert best == np.argmax(sign * np.array(history))
    assert len(history) == min(best + PATIENCE + 1, ROUNDS)
    assert best != np.argmin(sign * np.array(history))  # so the other direction would show
