"""Reads a LightGBM Dataset or an XGBoost DMatrix, and refuses what a host would get wrong."""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.hosts.model_files import is_dart, kind_of
from boostrank.hosts.undocumented import (
    lightgbm_measuring_training,
    lightgbm_will_measure_training,
)
from boostrank.messages import warn
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, Integers

Host = Literal["lightgbm", "xgboost"]


class HostData(NamedTuple):
    """What a host's data set holds now; it may hold something else in the next round.

    Arrays are perhaps the host's own memory: read them, but do not keep them.
    """

    host: Host
    labels: npt.NDArray[Any]  # float32 (n_docs,)
    group: npt.NDArray[Any]  # integers (n_queries,): sizes of consecutive queries
    weight: npt.NDArray[Any] | None  # one for each document; of a direct call, perhaps each query
    # (n_docs,), of XGBoost: its label_lower_bound, because its data has no field for positions.
    position: npt.NDArray[Any] | None = None


def read(data: Any) -> HostData:
    """Read labels, queries and weights from a LightGBM Dataset or an XGBoost DMatrix."""
    if hasattr(data, "get_uint_info"):
        boundaries = data.get_uint_info("group_ptr")
        # A worker of a distributed training may have no documents.
        if len(boundaries) == 0 and data.num_row() > 0:
            raise ValueError(
                "group is missing: this DMatrix has no queries; give it group=sizes or qid=ids, "
                "or use boostrank.xgboost.XGBRanker"
            )
        # Subtracting unsigned boundaries would wrap.
        sizes = np.diff(boundaries.astype(np.int64))
        labels, *others = map(data.get_float_info, ("label", "weight", "label_lower_bound"))
        weight, position = (each if len(each) else None for each in others)
        if weight is not None and len(weight) == len(sizes):  # as XGBoost keeps them
            weight = np.repeat(weight, sizes)
        return HostData("xgboost", labels, sizes, weight, position)
    if hasattr(data, "get_field"):
        # Its getters would not notice what `set_field` has changed.
        labels, weight, boundaries = map(data.get_field, ("label", "weight", "group"))
        if boundaries is None:
            raise ValueError("group is missing: this Dataset has no queries; give it group=sizes")
        group = np.diff(boundaries)
        if len(group) == 0 and data.used_indices is not None:
            # A subset of a Dataset from a file: LightGBM looks for the queries of the whole before
            # it has read them.
            kept, _ = _kept_of_queries(data)
            group = kept[kept > 0]
        return HostData("lightgbm", labels, group, weight)
    raise TypeError(
        f"expected a lightgbm.Dataset or an xgboost.DMatrix, got {type(data).__name__}, which has "
        "no queries; XGBoost's own estimators pass that: use boostrank.xgboost.XGBRanker"
    )


def check_bagging(booster: Any) -> None:
    """Refuse a LightGBM Booster's ``bagging_by_query``, which a callback may set in any round."""
    if str(booster.params.get("bagging_by_query")).lower() in ("true", "+", "1"):
        raise ValueError(
            "bagging_by_query does not work with an objective that is not LightGBM's own: it "
            "silently trains on the first document alone. Leave it off and let the objective "
            "sample the queries: objective.replace(query_fraction=0.5)"
        )


def check_lightgbm(booster: Any, objective: Objective) -> None:
    """Check what a LightGBM Booster trains on, and how."""
    if lightgbm_will_measure_training():
        _refuse_dart(booster)
    if booster.train_set.get_field("position") is not None:
        warn_of_positions("the Dataset's position", objective)
    check_part(booster.train_set)


def check_measured(host: Host) -> None:
    """Refuse a metric of the set on which a LightGBM Booster trains DART for a custom objective."""
    booster = lightgbm_measuring_training() if host == "lightgbm" else None
    # Its own objectives drop the trees again. It calls any function by one of these names.
    names = ("none", "null", "custom", "na")
    if booster is not None and str(booster.params.get("objective", "")).lower() in names:
        _refuse_dart(booster)


def _refuse_dart(booster: Any) -> None:
    if is_dart(booster.params):
        raise ValueError(
            "LightGBM's DART would end with trees of the opposite sign: to give a metric (feval) "
            "the scores of the training set, it drops trees as for another round. Leave the "
            "training set out of valid_sets and eval_train, or make another Dataset of its rows"
        )


def check_part(data: Any) -> None:
    """Refuse a part of a LightGBM Dataset that splits or repeats queries."""
    if getattr(data, "used_indices", None) is None:  # the whole, or XGBoost's
        return
    kept, sizes = _kept_of_queries(data)
    cut = np.flatnonzero((kept > 0) & (kept < sizes))
    if len(cut):
        raise ValueError(
            f"this part of a Dataset splits {len(cut)} queries: it holds {kept[cut[0]]} of "
            f"the {sizes[cut[0]]} documents of query {cut[0]}. Cross-validate over whole "
            "queries: lightgbm.cv(..., folds=boostrank.group_folds(group))"
        )
    twice = np.flatnonzero(kept > sizes)
    if len(twice):
        raise ValueError(
            f"this part of a Dataset repeats documents of {len(twice)} queries, the first of them "
            f"query {twice[0]}: LightGBM makes one query of all its copies. Weigh queries instead, "
            "or make a Dataset of the repeated rows"
        )


def check_linear(booster: Any) -> None:
    """Refuse weights of queries in XGBoost's linear booster, which reads beyond their end."""
    if booster is not None and kind_of(booster) == "gblinear":
        raise ValueError(
            "XGBoost's linear booster misreads weights of queries, and then predicts NaN: leave "
            "them out of the DMatrix, or use boostrank.xgboost.XGBRanker, which weighs documents"
        )


def warn_of_positions(which: str, objective: Objective) -> None:
    """Warn of positions in the data if the objective ignores them."""
    if not objective.takes_positions:
        warn(f"{which} is ignored by {objective.name}: boostrank.Unbiased corrects for it")


def fold_of(data: Any) -> tuple[Integers | None, Any]:
    """Return which rows of a whole LightGBM Dataset a Dataset has (None: all), and the whole."""
    rows = None
    while data.used_indices is not None:
        used = np.asarray(data.used_indices, dtype=np.int64)
        rows = used if rows is None else used[rows]
        data = data.reference
    return rows, data


def _kept_of_queries(data: Any) -> tuple[Integers, Integers]:
    """Return how many documents of each query of the whole Dataset a subset has, and of all."""
    rows, whole = fold_of(data)
    sizes = whole.get_group()
    return np.bincount(np.repeat(np.arange(len(sizes)), sizes)[rows], minlength=len(sizes)), sizes


def settle_dart(booster: Any) -> None:
    """Make LightGBM's DART drop the same trees again for the same seed.

    Before the first round it reads an uninitialised flag (``is_update_score_cur_iter_``), and draws
    a number or not. By the objective's first call it is set. Setting a parameter restarts draws.
    """
    same = {"xgboost_dart_mode": booster.params.get("xgboost_dart_mode", False)}
    booster.reset_parameter(same)


def check_kept(labels: Floats, group: Integers, name: str = "labels") -> None:
    """Check that labels, or start scores, stay different in a host that keeps them as float32.

    A few of long lists may become equal; they say next to nothing about the order.
    """
    with np.errstate(over="ignore"):
        kept = labels.astype(np.float32)
    if np.array_equal(kept, labels):
        return
    if not np.isfinite(kept).all():
        row = int(np.argmin(np.isfinite(kept)))
        raise ValueError(
            f"{name} must be finite as float32, in which hosts keep them, got "
            f"{labels[row]:g} in row {row}: divide all {name} by a constant"
        )
    query = np.repeat(np.arange(len(group)), group)
    order = np.lexsort((labels, query))
    above, below = order[1:], order[:-1]
    # Less is what rounding leaves of equal ones, as in means of several scores.
    least = 1e-14 * np.maximum(np.abs(labels[above]), np.abs(labels[below]))
    differ = (query[above] == query[below]) & (labels[above] - labels[below] > least)
    lost = differ & (kept[above] == kept[below])
    if lost.sum() > 0.1 * differ.sum():
        at = int(np.argmax(lost))
        raise ValueError(
            f"{name} must differ as float32, in which hosts keep them, but {lost.sum()} of "
            f"{differ.sum()} differences within queries are lost, as between {labels[below[at]]!s} "
            f"and {labels[above[at]]!s} in rows {below[at]} and {above[at]}: subtract a constant "
            f"from all {name}, such as their smallest"
        )
