"""Gives an objective of ours the gain that the host's own parameters name."""

import json
import weakref
from typing import Any

from boostrank.hosts.data import Host
from boostrank.hosts.undocumented import training_booster
from boostrank.objectives import Objective

#: By Booster: the objective of the training, and what it became.
_known: weakref.WeakKeyDictionary[Any, tuple[Objective, Objective]] = weakref.WeakKeyDictionary()


def with_hosts_gain(objective: Objective, host: Host) -> Objective:
    """Return the objective with LightGBM's ``label_gain`` or XGBoost's ``ndcg_exp_gain=False``.

    Parameters
    ----------
    objective : Objective
    host : {"lightgbm", "xgboost"}
        The host that asks for gradients.

    Returns
    -------
    Objective
        The same one if the host's parameters name no gain, or the objective counts none.

    Raises
    ------
    ValueError
        If the objective has another gain of its own.
    """
    if not objective.counts_gains:
        return objective
    booster = training_booster(host)
    if booster is None:
        return objective
    before, after = _known.get(booster, (None, None))
    if before is not objective or after is None:
        after = _resolved(objective, booster, host)
        _known[booster] = objective, after
    return after


def _resolved(objective: Objective, booster: Any, host: Host) -> Objective:
    gain: Any
    if host == "lightgbm":
        table = booster.params.get("label_gain")
        if table is None:
            return objective
        gain, said = _numbers(table), f"label_gain={table!r}"
    else:
        config = json.loads(booster.save_config())["learner"]["objective"]
        if config.get("lambdarank_param", {}).get("ndcg_exp_gain", "1") != "0":
            return objective
        gain, said = "linear", "ndcg_exp_gain=False"
    resolved = objective.with_gain(gain)
    if resolved != objective and not objective.exponential_gains:
        raise ValueError(
            f"{said} is not the gain of {objective!r}: set only the objective's gain= or only "
            "the host's parameter"
        )
    return resolved


def _numbers(value: Any) -> list[float]:
    if isinstance(value, str):
        value = value.split(",")
    return [float(each) for each in value]
