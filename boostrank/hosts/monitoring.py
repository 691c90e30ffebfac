"""The metrics and the callbacks of one training."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostrank.hosts.metric import Metric, metric
from boostrank.metrics.definitions import METRICS, parse_name
from boostrank.objectives.gains import Gain

#: Used for evaluation sets unless `eval_metric` is given, and by `score`, where labels are grades.
DEFAULT_METRIC = "ndcg@10"
#: LightGBM's names of the metrics that have a name in common with ours.
LIGHTGBMS = {
    "ndcg": ("ndcg", "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart",
             "xendcg_mart"),
    "map": ("map", "mean_average_precision"),
    "auc": ("auc",),
}  # fmt: skip


def read_metrics(eval_metric: Any, default: Metric, cutoffs: Any = None) -> list[Metric]:
    """Return metrics of different names, from a name, a Metric, several of them, or None.

    None is `default`, and names count labels as it does. `cutoffs` are for metrics without one.
    """
    if eval_metric is None:
        eval_metric = default
    if isinstance(eval_metric, str | Metric):
        eval_metric = [eval_metric]
    if not isinstance(eval_metric, Sequence):
        expected = "a name such as 'ndcg@10', a boostrank.metric, or a list of them"
        raise TypeError(f"eval_metric must be {expected}, got {eval_metric!r}")
    found: dict[str, Metric] = {}
    for each in eval_metric:
        for one in _cut(each, default.gain, cutoffs):
            if found.setdefault(one.name, one) != one:
                raise ValueError(
                    f"eval_metric has two {one.name!r}, which would share a history; leave one out"
                )
    return list(found.values())


def _cut(each: Any, gain: Gain | None, cutoffs: Any) -> list[Metric]:
    """Return a metric, once for each cut-off if it takes one and has none."""
    given = each.name if isinstance(each, Metric) else each
    known = METRICS.get(given) if isinstance(given, str) else None
    names = [given]
    if cutoffs is not None and known and known.cutoff in ("optional", "required"):
        names = [f"{given}@{k}" for k in np.ravel(cutoffs)]
    if isinstance(each, Metric):
        return [replace(each, name=name) for name in names]
    return [metric(name, gain=gain) for name in names]


def check_cutoffs(metrics: Sequence[Metric], cutoffs: Any) -> None:
    """Refuse cut-offs that none of the metrics has."""
    used = {parse_name(each.name, each.convention).k for each in metrics}
    unused = [int(k) for k in np.ravel(cutoffs) if k not in used]
    if unused:
        names = ", ".join(repr(each.name) for each in metrics)
        cure = "leave it out, or name metrics without a cut-off, such as 'ndcg'"
        raise ValueError(f"eval_at={unused} has no effect on {names}: {cure}")


def check_names(metrics: Iterable[Metric], lightgbms: Any, cutoffs: Any) -> None:
    """Refuse metrics that have the name of one of LightGBM's own, in its parameter `metric`."""
    words = lightgbms.split(",") if isinstance(lightgbms, str) else lightgbms or ()
    for each in metrics:
        name = each.name.partition("@")
        taken = name[2] in map(str, np.ravel(cutoffs)) or name[0] == "auc"
        for word in words:
            if taken and str(word).strip() in LIGHTGBMS.get(name[0], ()):
                raise ValueError(
                    f"{each.name!r} is in eval_metric and, as LightGBM's own, in metric={word!r}: "
                    "both would share one history; leave one out"
                )


def fresh(callbacks: Iterable[Any] | None) -> list[Any]:
    """Return copies of callbacks for one training, which share what the callbacks hold.

    A list that one of them writes to is still the user's. Only early stopping shares nothing.
    """
    return [
        copy.deepcopy(each) if hasattr(each, "stopping_history") else copy.copy(each)
        for each in callbacks or ()
    ]
