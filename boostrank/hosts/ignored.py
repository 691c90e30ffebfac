"""Warns of what only the hosts' own ranking objectives read, where one of ours is trained.

A parameter that is given and has no effect leaves the model as it was, to the last bit, and no host
says so. Each training says it once, at the line of the caller that is nobody's here.
"""

import inspect
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.objectives import Objective

#: Parameters of the hosts' own ranking objectives, with what has their effect here.
OF_LIGHTGBM: Mapping[str, str] = {
    "lambdarank_truncation_level": "LambdaRank(truncation=...)",
    "lambdarank_norm": "LambdaRank(norm=...)",
    "lambdarank_position_bias_regularization": "",
    "label_gain": "",
    "sigmoid": "LambdaRank(sigma=...)",
    "objective_seed": "the objective's seed=",
}
OF_XGBOOST: Mapping[str, str] = {
    "lambdarank_num_pair_per_sample": "LambdaRank(truncation=...)",
    "lambdarank_normalization": "LambdaRank(norm=...)",
    "lambdarank_score_normalization": "LambdaRank(norm=...)",
    "lambdarank_pair_method": "",
    "lambdarank_unbiased": "",
    "lambdarank_bias_norm": "",
    "ndcg_exp_gain": "",
}
#: What XGBoost writes into its configuration where nobody has set them. Making a Booster to ask it
#: would talk to the other workers of a distributed training.
XGBOOSTS_DEFAULTS: Mapping[str, str] = {
    "lambdarank_num_pair_per_sample": "4294967295",
    "lambdarank_normalization": "1",
    "lambdarank_score_normalization": "1",
    "lambdarank_pair_method": "topk",
    "lambdarank_unbiased": "0",
    "lambdarank_bias_norm": "1",
    "ndcg_exp_gain": "1",
}
#: LightGBM's cut-offs of its own metrics, by all their names.
EVAL_AT = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
_METRICS = ("metric", "metrics", "metric_types")
# Its metrics that stop at `eval_at`: ndcg, map, and their other names.
_WITH_CUTOFFS = ("ndcg", "map", "mean_average_precision", "lambdarank", "rank", "xendcg", "xe_")
#: What LightGBM's ranker passes on where nobody has named a cut-off.
_DEFAULT_CUTOFFS = [1, 2, 3, 4, 5]
#: Grades beyond it leave the gain of every other grade below float32's precision.
LARGEST_GRADE = 30

_reporting_cutoffs: ContextVar[bool] = ContextVar("reporting_cutoffs", default=False)


@contextmanager
def cutoffs_are_reported() -> Iterator[None]:
    """Say that a ranker has turned `eval_at` into metrics, for trainings inside the block."""
    token = _reporting_cutoffs.set(True)
    try:
        yield
    finally:
        _reporting_cutoffs.reset(token)


def warn(message: str) -> None:
    """Warn at the line of whoever called the hosts or boostrank."""
    own = ("boostrank", "lightgbm", "xgboost", "sklearn", "distributed")
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        level += 1
        frame = frame.f_back
        if frame and frame.f_globals.get("__name__", "").partition(".")[0] not in own:
            break
    warnings.warn(message, stacklevel=level + 1)


def _warn_of(names: Iterable[str], host: str, cures: Mapping[str, str], what: Objective) -> None:
    said = [f"{name} ({cures[name]} here)" if cures.get(name) else name for name in names]
    if said:
        warn(
            f"ignored by boostrank's {what.name}: {', '.join(said)}; only {host}'s own ranking "
            "objectives and metrics read it"
        )


def warn_of_lightgbms(params: Mapping[str, Any], objective: Objective) -> None:
    """Warn of parameters of LightGBM's own ranking objectives among those of a training.

    Parameters
    ----------
    params : mapping
        Of the Booster.
    objective : Objective
    """
    ignored = [
        name
        for name in OF_LIGHTGBM
        if params.get(name) is not None and not (name == "label_gain" and objective.counts_gains)
    ]
    metrics = " ".join(str(params[name]) for name in _METRICS if name in params).lower()
    if not _reporting_cutoffs.get() and not any(word in metrics for word in _WITH_CUTOFFS):
        ignored += [
            name
            for name in EVAL_AT
            if params.get(name) is not None and list(np.ravel(params[name])) != _DEFAULT_CUTOFFS
        ]
    cures = {**OF_LIGHTGBM, **dict.fromkeys(EVAL_AT, 'feval=boostrank.metric("ndcg@k")')}
    _warn_of(ignored, "LightGBM", cures, objective)


def warn_of_xgboosts(booster: Any, objective: Objective) -> None:
    """Warn of parameters of XGBoost's own ranking objectives that are not at their defaults.

    XGBoost itself warns of them where its objective is none of those.

    Parameters
    ----------
    booster : xgboost.Booster
    objective : Objective
    """
    given = json.loads(booster.save_config())["learner"]["objective"].get("lambdarank_param", {})
    ignored = [
        name
        for name, usual in XGBOOSTS_DEFAULTS.items()
        if given.get(name, usual).partition(".")[0] != usual
        and not (name == "ndcg_exp_gain" and objective.counts_gains)
    ]
    _warn_of(ignored, "XGBoost", OF_XGBOOST, objective)


def warn_of_grades(labels: npt.NDArray[Any], objective: Objective) -> None:
    """Warn of grades that are probably none, where they count as gains 2^y - 1.

    Parameters
    ----------
    labels : array (n_docs,)
    objective : Objective
    """
    if not len(labels) or not objective.exponential_gains:
        return
    if objective.counts_gains:
        cure = 'give it gain="linear"'
    else:
        cure = "take an objective that has gain=, or put them in classes"
    if np.max(labels) > LARGEST_GRADE:
        warn_of_large_grades(objective.name, cure)
    elif not np.all(labels == np.floor(labels)):
        warn(
            f"labels that are not whole count as gains 2^y - 1 in {objective.name}: for amounts, "
            f"such as prices, probabilities or ranks, {cure}"
        )


def warn_of_large_grades(what: str, cure: str) -> None:
    """Warn of labels beyond `LARGEST_GRADE`, next to which nothing else counts.

    Parameters
    ----------
    what : str
        The objective or metric that takes them for grades.
    cure : str
    """
    warn(
        f"labels above {LARGEST_GRADE} count as gains 2^y - 1 in {what}: next to the largest, all "
        f"others are nothing. For amounts, such as prices, probabilities or ranks, {cure}"
    )
