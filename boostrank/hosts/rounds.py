"""Determines the boosting round of a call.

LightGBM does not pass the round, so the calls that returned to a Booster are counted, for each
objective that it calls, and the rounds of other objectives in between. A round whose gradients
LightGBM did not use, because something failed in between, is done again. XGBoost passes the round
as the iteration. When training continues a model, neither says how many rounds it already has, but
its Booster does.
"""

from collections.abc import Hashable
from dataclasses import fields

from boostrank.hosts import undocumented
from boostrank.hosts.data import check_bagging, check_lightgbm, settle_dart
from boostrank.hosts.ignored import warn_of_ignored
from boostrank.hosts.model_files import is_dart
from boostrank.hosts.training import Training
from boostrank.messages import warn
from boostrank.objectives import Objective
from boostrank.objectives.composite import all_inside

_LOST_ROUND = (
    "a round of LightGBM's DART has left no tree, and the model may be wrong: if it found no "
    "split, the trees that it dropped keep the opposite sign, so train fewer rounds, or lower "
    "min_gain_to_split or min_data_in_leaf; after rollback_one_iter they keep other weights"
)


def of_lightgbm(objective: Objective, training: Training) -> int:
    """Return the round, from 1, that LightGBM's Booster asks for, and check its training.

    Without a Booster, which is no training, it is always the first.
    """
    start = objective.start_round
    booster = training.booster
    if booster is None:
        return start or 1
    _check_hashable(objective)

    def check() -> None:
        check_lightgbm(booster, objective)
        warn_of_ignored(objective, training)

    check_bagging(booster)
    if is_dart(booster.params):
        training.once("settled", lambda: settle_dart(booster))
        _warn_of_lost_round(training)
    data = training.data
    training.once(("checked", objective, data), check)
    # If the data have changed, LightGBM hands over a new array of scores. It does not write to it
    # if it had predicted since the last update: for a metric, or for an update that failed.
    now = data, booster.train_set.version
    if training.known.get("data") != now:
        undocumented.predict_again(booster)
    training.known["data"] = now
    trees = booster.current_iteration()
    done, update, before = training.known.get(("rounds", objective), (None, None, trees))
    if done is None:
        done = _continued(objective, trees) if start is None else start - 1
    elif update is not None and update is undocumented.lightgbms_update(booster):
        done -= 1
    else:
        done += max(0, trees - before - 1)  # rounds of other objectives in between
    training.known["rounds", objective] = done, None, trees
    return 1 + int(done)


def _warn_of_lost_round(training: Training) -> None:
    """Warn if the last round left no tree in a DART, which changed the weights of others."""
    booster, before = training.booster, training.known.get("dart")
    now = training.known["dart"] = undocumented.lightgbms_update(booster), booster.num_trees()
    if before is not None and now[0] is not before[0] and now[1] == before[1]:
        training.once("warned of dart", lambda: warn(_LOST_ROUND))


def _check_hashable(objective: Objective) -> None:
    """Name the field of an objective, or of one inside, that Python cannot hash."""
    for own in all_inside(objective):
        for name in (field.name for field in fields(own)):
            if not isinstance(getattr(own, name), Hashable):
                raise TypeError(
                    f"{type(own).__name__}.{name} must be hashable, since objectives are immutable,"
                    f" got a {type(getattr(own, name)).__name__}: make it a tuple, for example in "
                    f"__post_init__ by self._set({name}=tuple(self.{name}))"
                )


def lightgbm_done(objective: Objective, training: Training) -> None:
    """Count the round that `of_lightgbm` returned, whose gradients are complete."""
    if training.booster is not None:
        done, _, trees = training.known["rounds", objective]
        update = undocumented.lightgbms_update(training.booster)
        training.known["rounds", objective] = done + 1, update, trees


def of_xgboost(objective: Objective, iteration: int | None, training: Training) -> int:
    """Return the round, from 1, of an iteration, which starts at 0 in every training.

    XGBoost passes it to classes that are registered with it, and the first call without it (None)
    registers ours. So that comes from the first iteration of a process, or from a function around
    the objective.
    """
    if iteration is None:
        _check_direct(objective)
        undocumented.register_with_xgboost()
    iteration = int(iteration or 0)
    booster = training.booster
    if booster is not None:
        training.once("warned of parameters", lambda: warn_of_ignored(objective, training))
    if objective.start_round is not None:
        return objective.start_round + iteration
    if booster is None:
        return iteration + 1
    done: int = booster.num_boosted_rounds()
    return 1 + (_continued(objective, done) if iteration == 0 else done)


def _check_direct(objective: Objective) -> None:
    """Refuse a function around an objective that needs the round."""
    needs = {
        "follows a schedule": objective.scheduled,
        "samples queries in every round": objective.query_fraction < 1.0,
        "draws numbers in every round": objective.n_draws > 0,
        "draws noise in every round (perturb=None: none)": objective.perturb is not None,
    }
    what = next((need for need, true in needs.items() if true), None)
    if what is not None and not undocumented.xgboost_calls_directly(objective):
        raise ValueError(
            f"the boosting round is not known: {objective.name} {what}, and XGBoost passes "
            "the iteration only to the objective itself. Pass obj=objective, not a function around "
            "it (or call objective(iteration, preds, dmatrix) in it), with xgboost >= 3.2"
        )


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
