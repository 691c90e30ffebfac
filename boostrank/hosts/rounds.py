"""Determines the boosting round of a call.

LightGBM does not pass the round, but a Booster hands over the same array of predictions in every
round, so the calls that returned with that array are counted. A round whose gradients LightGBM did
not use, because something failed in between, is done again. XGBoost passes the round as the
iteration. When training continues a model, neither says how many rounds it already has, but its
Booster does.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy.typing as npt

from boostrank.hosts.data import check_lightgbm, settle_dart
from boostrank.hosts.ignored import warn_of_lightgbms, warn_of_xgboosts
from boostrank.hosts.training import Training
from boostrank.hosts.undocumented import (
    lightgbms_update,
    register_with_xgboost,
    xgboost_calls_directly,
)
from boostrank.objectives import Objective


class _Rounds(NamedTuple):
    """The rounds that an objective has done with one array of predictions.

    Attributes
    ----------
    array : weakref.ref
        The predictions.
    booster : weakref.ref or None
        The Booster that hands them over, if it is known.
    done : int
    update : object
        The Booster's update for which the last round was done, or None.
    """

    array: weakref.ref[Any]
    booster: weakref.ref[Any] | None
    done: int
    update: Any = None

    def now(self) -> Any:
        """Return the update that the Booster is at, or None."""
        return None if self.booster is None else lightgbms_update(self.booster())


class _Calls:
    """Counts the rounds that an objective has done with one array of predictions."""

    def __init__(self) -> None:
        # Re-entrant: collecting garbage while the lock is held may run `_forget` in this thread.
        self._lock = threading.RLock()
        self._known: dict[tuple[int, Objective], _Rounds] = {}

    def next(
        self,
        objective: Objective,
        preds: npt.NDArray[Any],
        start: Callable[[], tuple[weakref.ref[Any] | None, int]],
    ) -> int:
        """Return the round to do.

        `start`, called once for each array, gives the Booster and the count to start from.
        """
        key = (id(preds), objective)
        with self._lock:
            known = self._known.get(key)
            # A new array may have the address of one that is gone.
            if known is None or known.array() is not preds:
                booster, done = start()
                array = weakref.ref(preds, lambda dead: self._forget(key, dead))
                known = _Rounds(array, booster, done)
            elif known.update is not None and known.update is known.now():
                known = known._replace(done=known.done - 1, update=None)
            self._known[key] = known
            return known.done + 1

    def done(self, objective: Objective, preds: npt.NDArray[Any]) -> None:
        """Count a round, whose gradients are complete."""
        key = (id(preds), objective)
        with self._lock:
            known = self._known[key]
            self._known[key] = known._replace(done=known.done + 1, update=known.now())

    def _forget(self, key: tuple[int, Objective], dead: weakref.ref[Any]) -> None:
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.array is dead:
                del self._known[key]


#: The rounds of LightGBM's trainings, to which a round is to be told that is done.
CALLS = _Calls()


def of_lightgbm(objective: Objective, preds: npt.NDArray[Any], training: Training) -> int:
    """Return the round in which LightGBM hands over these predictions, and check its training.

    Parameters
    ----------
    objective : Objective
    preds : array
        The very object that LightGBM passed.
    training : Training

    Returns
    -------
    int
        From 1.

    Raises
    ------
    ValueError
        As `data.check_lightgbm`; if the schedule has no round left.
    """

    def start() -> tuple[weakref.ref[Any] | None, int]:
        booster = training.booster
        if booster is None:
            return None, (objective.start_round or 1) - 1
        check_lightgbm(booster, objective)
        settle_dart(booster)
        warn_of_lightgbms(booster.params, objective)
        if objective.start_round is not None:
            return weakref.ref(booster), objective.start_round - 1
        return weakref.ref(booster), _continued(objective, booster.current_iteration())

    return CALLS.next(objective, preds, start)


def of_xgboost(objective: Objective, iteration: int, training: Training) -> int:
    """Return the round of an iteration, which starts at 0 in every training.

    Parameters
    ----------
    objective : Objective
    iteration : int
    training : Training

    Returns
    -------
    int
        From 1.

    Raises
    ------
    ValueError
        If the schedule has no round left.
    """
    booster = training.booster
    if booster is not None:
        training.once("warned of parameters", lambda: warn_of_xgboosts(booster, objective))
    if objective.start_round is not None:
        return objective.start_round + iteration
    if booster is None:
        return iteration + 1
    done: int = booster.num_boosted_rounds()
    return 1 + (_continued(objective, done) if iteration == 0 else done)


def of_xgboost_untold(objective: Objective, training: Training) -> int:
    """Return the round of a call without the iteration.

    XGBoost passes the iteration to classes that are registered with it. The first such call
    registers ours, so that importing boostrank or making an objective changes nothing in XGBoost. A
    call without the iteration therefore comes either from XGBoost in its first iteration, or from a
    function around the objective.

    Parameters
    ----------
    objective : Objective
    training : Training

    Returns
    -------
    int
        From 1.

    Raises
    ------
    ValueError
        For a function around an objective that needs the round; as `of_xgboost`.
    """
    needs = {
        "follows a schedule": objective.scheduled,
        "samples queries in every round": objective.query_fraction < 1.0,
        "draws numbers in every round": objective.n_draws > 0,
        "draws noise in every round (perturb=None: none)": objective.perturb is not None,
    }
    what = next((need for need, true in needs.items() if true), None)
    if what is not None and not xgboost_calls_directly(objective):
        raise ValueError(
            f"the boosting round is not known: {objective.name} {what}, and XGBoost passes "
            "the iteration only to the objective itself. Pass obj=objective, not a function around "
            "it (or call objective(iteration, preds, dmatrix) in it), with xgboost >= 3.2"
        )
    register_with_xgboost()
    return of_xgboost(objective, 0, training)


def _continued(objective: Objective, done: int) -> int:
    """Return the rounds done, after checking that the schedules have some left."""
    ends = [schedule.total_rounds for schedule in objective._schedules().values()]
    if done and ends and done >= max(ends):
        raise ValueError(
            f"the initial model has {done} rounds already, and the schedule of this "
            f"{objective.name} ends with round {max(ends)}; set total_rounds to the number of all "
            "rounds, old and new, or start the schedule again with start_round=1"
        )
    return done
