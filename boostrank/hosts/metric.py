"""Metrics as LightGBM and XGBoost call them after each round."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.hosts.data import HostData, check_measured, check_part, read
from boostrank.hosts.undocumented import xgboost_callbacks
from boostrank.messages import warn
from boostrank.metrics.conventions import find_convention
from boostrank.metrics.definitions import METRICS, parse_name
from boostrank.metrics.evaluation import evaluate
from boostrank.objectives.base import ShownSignature
from boostrank.objectives.gains import Gain
from boostrank.objectives.validation import check_positive, differ


@dataclass(frozen=True)
class Metric:
    """A metric that LightGBM and XGBoost can call after each round; made by `metric`."""

    name: str
    convention: str = "standard"
    gain: Gain | None = None
    discount: str | tuple[float, ...] | None = None
    top: float | None = None

    __signature__ = ShownSignature()

    def __post_init__(self) -> None:
        rules = find_convention(self.convention, self.gain, self.discount)
        for name in ("gain", "discount"):  # tables as tuples
            if getattr(self, name) is not None:
                object.__setattr__(self, name, getattr(rules, name))
        parse_name(self.name, self.convention)
        if self.top is not None:
            check_positive("top", self.top)

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values are better: for all metrics but logloss, brier and ece."""
        return parse_name(self.name, self.convention).larger_is_better

    def __call__(self, *args: Any) -> tuple[str, float] | tuple[str, float, bool]:
        """Return the value of the metric as a host asks for it.

        Hosts pass ``(preds, lightgbm.Dataset)``, ``(preds, xgboost.DMatrix)`` or ``(y_true, y_pred,
        weight, group)``, and get (name, value, larger_is_better) for LightGBM, (name, value) for
        XGBoost.
        """
        match args:
            case (preds, dataset_or_matrix):
                data = read(dataset_or_matrix)
                check_part(dataset_or_matrix)
            case (labels, preds, weight, group):
                data = HostData("lightgbm", labels, group, weight)
            case _:
                raise TypeError(
                    "a metric is called by LightGBM with (preds, Dataset) or (y_true, y_pred, "
                    f"weight, group) and by XGBoost with (preds, DMatrix); got {len(args)} "
                    "arguments. To measure scores yourself, use boostrank.evaluate"
                )
        check_measured(data.host)
        if data.host == "xgboost":
            self._direct_xgboost()
        rules = {each: getattr(self, each) for each in ("convention", "gain", "discount", "top")}
        of_data = preds, data.labels, data.group
        value = evaluate(*of_data, (self.name,), weight=data.weight, **rules)[self.name]
        if np.isnan(value):
            warn(
                f"{self.name} is not defined for an evaluation set: none of its {len(data.group)} "
                "queries has, say, a relevant document. Early stopping would keep the first tree"
            )
        elif self.larger_is_better and not _differ(data).any():
            warn(
                f"{self.name} is the same for every order of an evaluation set: none of its "
                f"{len(data.group)} queries has two different labels. Early stopping would keep "
                "the first tree"
            )
        if data.host == "xgboost":
            kind = METRICS[parse_name(self.name, self.convention).metric]
            if 0 < abs(value) < 1e-4 and not kind.compares_orders:
                warn(
                    f"{self.name} is below 1e-4 for an evaluation set, and XGBoost keeps only six "
                    "decimals: early stopping may keep the first tree. Multiply small labels"
                )
            return self.name, value
        return self.name, value, self.larger_is_better

    def _direct_xgboost(self) -> None:
        """Tell XGBoost's early stopping, which guesses from the name, which direction is better."""
        container = xgboost_callbacks()
        if container is None:
            return
        if container.metric is self:  # XGBoost's own metrics come before it
            last = self.name
        else:  # a function around it may return several
            last = next((list(log)[-1] for log in reversed(container.history.values()) if log), "")
        kind = sys.modules["xgboost.callback"].EarlyStopping
        for stop in container.callbacks:
            if isinstance(stop, kind) and (stop.metric_name or last) == self.name:
                self.direct(stop)

    def direct(self, stop: Any) -> None:
        """Tell an ``EarlyStopping`` of XGBoost which direction is better."""
        upwards = self.larger_is_better
        if stop.maximize is None:
            stop.maximize = upwards
        if bool(stop.maximize) is not upwards:
            raise ValueError(
                f"early stopping would go the wrong way: {'larger' if upwards else 'smaller'} is "
                f"better for {self.name}; pass callbacks="
                f"[xgboost.callback.EarlyStopping(rounds=..., maximize={upwards})]"
            )


def _differ(data: HostData) -> npt.NDArray[np.bool_]:
    return differ(np.asarray(data.labels), np.append(0, np.cumsum(data.group)))


def metric(
    name: str,
    *,
    convention: str = "standard",
    gain: Any = None,
    discount: Any = None,
    top: float | None = None,
) -> Metric:
    """Make a metric that a host evaluates after each round.

    Pass it as ``feval=`` to `lightgbm.train` and `lightgbm.cv`, as ``eval_metric=`` to
    `lightgbm.LGBMRanker`, and as ``custom_metric=`` to `xgboost.train` and `xgboost.cv`. It takes
    labels, queries and weights from the host's data. Switch off the host's own metric of the same
    name (LightGBM: ``metric="None"``; XGBoost, which has ``ndcg@32`` by default:
    ``disable_default_eval_metric=True``), because both record results by name. For early stopping,
    they are told which direction is better. In a function around several metrics, XGBoost
    guesses it unless ``EarlyStopping(maximize=)`` is given, and a wrong guess is refused.

    Parameters
    ----------
    name : str
        One metric, as in `evaluate`; also the name under which the host reports it.
    convention : str
        Whose rules apply, as in `evaluate`.
    gain, discount, top : optional
        As in `evaluate`.

    Returns
    -------
    Metric
        Immutable, hashable, picklable. Its value is NaN if no query is left to average (under
        ``standard``, if no query has a relevant document).

    Raises
    ------
    ValueError
        For an unknown metric or convention, naming the nearest known one.

    Examples
    --------
    >>> import lightgbm, numpy as np, boostrank
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> data = lightgbm.Dataset(X, label=np.arange(20) % 3, group=[10, 10])
    >>> history = {}
    >>> booster = lightgbm.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbosity": -1},
    ...     data,
    ...     num_boost_round=3,
    ...     valid_sets=[data],
    ...     feval=boostrank.metric("ndcg@10"),
    ...     callbacks=[lightgbm.record_evaluation(history)],
    ... )
    >>> len(history["training"]["ndcg@10"])
    3
    """
    return Metric(name, convention, gain, discount, top)
