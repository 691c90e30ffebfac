"""Finds the rows of pairs in the data that a booster trains on."""

import weakref
from typing import Any

import numpy as np

from boostrank.hosts.collective import refuse_workers
from boostrank.hosts.data import Host, rows_of_fold
from boostrank.hosts.undocumented import training_booster, xgboost_cross_validates
from boostrank.objectives import Objective, Preferences
from boostrank.objectives.mix import Parts
from boostrank.objectives.pairs import Pairs

#: By Booster, when it trains on a fold: pairs, and what they are as rows of the fold.
_known: weakref.WeakKeyDictionary[Any, dict[Pairs, Pairs]] = weakref.WeakKeyDictionary()


def on_rows_trained(parts: Parts, host: Host) -> Parts:
    """Return the parts of a round's loss, with pairs as rows of the data that is trained on.

    Parameters
    ----------
    parts : weights and objectives
    host : {"lightgbm", "xgboost"}

    Returns
    -------
    parts : weights and objectives

    Raises
    ------
    ValueError
        For several workers and XGBoost's cross-validation, as it is not known which rows they hold;
        for bad pairs, and for a fold without pairs.
    """
    return tuple((weight, _on_rows_trained(part, host)) for weight, part in parts)


def _on_rows_trained(part: Objective, host: Host) -> Objective:
    if not isinstance(part, Preferences):
        return part
    refuse_workers(host, "Preferences", "the data")
    if host == "xgboost":
        if xgboost_cross_validates():
            raise ValueError(
                "xgboost.cv does not tell which rows of the data a fold has, so pairs cannot be "
                "found in it: train each fold with xgboost.train and the pairs of its rows, or "
                "cross-validate with lightgbm.cv"
            )
        return part
    booster = training_booster(host)
    rows, whole = rows_of_fold(booster)
    if rows is None:
        return part
    known = _known.setdefault(booster, {})
    if part.pairs not in known:
        sizes = whole.get_group()
        part.pairs.check(np.repeat(np.arange(len(sizes)), sizes))
        where = np.full(whole.num_data(), -1, dtype=np.int64)
        where[rows] = np.arange(len(rows))
        known[part.pairs] = part.pairs.moved(where)
    return part.replace(pairs=known[part.pairs])
