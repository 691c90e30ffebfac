"""Early stopping with losses that change over the rounds: it waits, and a cut schedule is said.

A mixture that fades from one loss into another, such as REG-SHF-SDCG, has not begun with the second
one when the first has converged. Early stopping would end the training there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from boostrank.messages import warn
from boostrank.objectives import Objective, Schedule
from boostrank.objectives.validation import check_share

#: LightGBM's names of its parameter for early stopping.
EARLY_STOPPING = (
    "early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change",
)  # fmt: skip
#: The parameters that are the weight of a mixture's first part.
_WEIGHTS = ("tau", "schedule")


def rounds_before(objective: Objective, done: int) -> int:
    """Return the rounds that count as over when a training begins after those `done`."""
    return done if objective.start_round is None else objective.start_round - 1


def first_stop(objective: Any, done: int = 0) -> int:
    """Return the first round that may be the best: half way through a fading mixture.

    It counts from 1 in a training that begins after the rounds `done` of another model.
    """
    if not isinstance(objective, Objective):
        return 1
    schedules = objective._schedules().items()
    fading = ((key, tau) for key, tau in schedules if key.rpartition(".")[2] in _WEIGHTS)
    half_way = max((_half_way(key, tau) for key, tau in fading), default=1)
    return max(1, half_way - rounds_before(objective, done))


def _half_way(name: str, tau: Schedule) -> int:
    rounds = range(1, tau.total_rounds + 1)
    return next((m for m in rounds if check_share(name, tau(m)) <= 0.5), tau.total_rounds)


def warn_of_cut(
    objective: Any, history: Mapping[str, Mapping[str, Sequence[Any]]], planned: int, done: int = 0
) -> None:
    """Warn if a training, of `planned` rounds after those `done`, has ended before its schedule."""
    # The model may have been cut to its best round, but not its history.
    rounds = next((len(v) for of_set in history.values() for v in of_set.values()), planned)
    if not isinstance(objective, Objective) or rounds >= planned:
        return
    last = rounds_before(objective, done) + rounds
    end = max((each.total_rounds for each in objective._schedules().values()), default=0)
    if last < end:
        warn(
            f"training ended early at round {last} of the {end} over which "
            f"{objective.name} changes: what the later rounds would have learnt is missing. For a "
            "shorter schedule, train with fewer rounds"
        )


def in_proportion(rounds: int, n_docs: int, more: int) -> int:
    """Return the rounds for `more` documents that do what `rounds` do for `n_docs`."""
    return max(1, round(rounds * more / n_docs))


def waiting_lightgbm(callbacks: Sequence[Any], objective: Any, done: int = 0) -> list[Any]:
    """Return LightGBM's callbacks, of which early stopping waits for `first_stop`."""
    import lightgbm

    start = first_stop(objective, done)

    def wait(stopping: Any) -> Any:
        def waiting(env: Any) -> None:
            begin = env.begin_iteration + start - 1
            if env.iteration >= begin:
                # A named tuple before LightGBM 4.7.
                changed = replace if is_dataclass(env) else type(env)._replace
                stopping(changed(env, begin_iteration=begin))

        waiting.order = stopping.order  # type: ignore[attr-defined]
        return waiting

    kind = type(lightgbm.early_stopping(1, verbose=False))
    return [wait(one) if start > 1 and isinstance(one, kind) else one for one in callbacks]


def waiting_xgboost(callbacks: Sequence[Any], objective: Any, done: int = 0) -> list[Any]:
    """Make early stopping among XGBoost's callbacks wait for `first_stop`, and return them all."""
    import xgboost

    start = first_stop(objective, done)

    def wait(stopping: Any) -> Any:
        after = stopping.after_iteration

        def after_iteration(model: Any, epoch: int, evals_log: Any) -> bool:
            late = epoch + 1 >= start
            return bool(after(model, epoch, evals_log)) if late else False

        stopping.after_iteration = after_iteration
        return stopping

    kind = xgboost.callback.EarlyStopping
    return [wait(one) if start > 1 and isinstance(one, kind) else one for one in callbacks]
