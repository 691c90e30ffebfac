"""Decides what a comparison trains and tests: learners that labels allow, queries that count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boostrank.datasets import RankingData
from boostrank.lab.folds import Folds, note_on_time
from boostrank.lab.learners import Learner, learners, refusal
from boostrank.lab.models import TRAINERS, missing_hosts
from boostrank.lab.settings import Settings
from boostrank.messages import muted
from boostrank.metrics.definitions import METRICS, parse_name
from boostrank.objectives import Objective
from boostrank.objectives.validation import FOR_NUMBERS, check_choice

Counted = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a comparison trains, on what, and how it is measured."""

    #: The baseline first.
    queue: list[Learner]
    folds: Folds
    #: The folds to run, from 1.
    numbers: list[int]
    settings: Settings
    #: What was left out, and why: sentences.
    notes: list[str]
    #: Those of the notes that make figures doubtful: queries that the metric does not count, and
    #: folds that train on dates after those that they test.
    doubts: list[str]


def make_plan(
    named: Mapping[str, Objective] | None,
    folds: Folds,
    settings: Settings,
    *,
    hosts: Sequence[str] | None,
    baseline: str | None,
) -> Plan:
    """Choose learners for the labels.

    All that the user has `named` must fit; None stands for all objectives that fit. `settings` are
    those for the labels. For `hosts` see `learners`. The baseline is by default the first learner.
    """
    for host, own in settings.params.items():
        if not isinstance(own, Mapping):
            raise TypeError(f"params must map hosts to mappings of parameters, got {host}: {own!r}")
        check_choice("host in params", host, TRAINERS)
    labels = folds.data.y
    every = range(1, len(folds.positions) + 1)
    numbers = sorted(set(map(int, every if folds.numbers is None else folds.numbers)))
    for number in numbers:
        if number not in every:
            raise ValueError(f"folds must lie in 1..{len(every)}, got {number}")
    notes = missing_hosts() if hosts is None else []
    counted = counted_queries(folds.data, settings, also=settings.metrics)
    _check_counted(folds, numbers, counted, settings)
    doubts = [queries_left_out(counted, settings), note_on_time(folds.data, folds.positions)]
    doubts = [doubt for doubt in doubts if doubt]
    notes += doubts
    if not settings.graded:
        notes.append(
            f"Labels from {labels.min():g} to {labels.max():g} are no grades: metrics are those of "
            "whole orders."
        )
    everything = learners(named, hosts, settings.rounds)
    if named and hosts is not None and all(learner.builtin for learner in everything):
        notes.append(
            f"Left out, since {', '.join(hosts)} trains its own objectives only: "
            f"{', '.join(named)}."
        )
    kept: list[Learner] = []
    reasons: dict[str, dict[str, None]] = {}
    for learner in everything:
        why = refusal(learner, labels, settings)
        if not why:
            kept.append(learner)
        elif learner.label in (named or ()):
            raise ValueError(f"{learner.label} cannot be trained: {why}")
        else:
            reasons.setdefault(why if learner.builtin else "grades", {})[learner.label] = None
    if not kept:
        raise ValueError(f"nothing can be trained on these labels: use {FOR_NUMBERS}")
    if reasons:
        said = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
        notes.append(f"Left out, for labels that they do not take: {said}.")
    by_name = {str(learner): learner for learner in kept}
    first = by_name[check_choice("baseline", baseline or str(kept[0]), by_name)]
    queue = [first, *(learner for learner in kept if learner is not first)]
    return Plan(queue, folds, numbers, settings, notes, doubts)


def counted_queries(data: RankingData, settings: Settings, also: Sequence[str] = ()) -> Counted:
    """Tell for each query whether it counts in the metric: whether its value is not NaN.

    Labels that the metric or one in `also` does not take are refused: here, before training.
    """
    with muted():  # the evaluation of scores warns of labels
        values = settings.measure(np.zeros(len(data.y)), data, (settings.metric, *also))
    return ~np.isnan(values[settings.metric])


def queries_that_choose(data: RankingData, settings: Settings) -> Counted:
    """Tell for each query whether it counts in the metric, and not alike for every order."""
    counted = counted_queries(data, settings)
    if not parse_name(settings.metric, settings.convention).larger_is_better:
        return counted  # of probabilities, which even equal labels tell apart
    with muted():
        best, worst = (
            settings.measure(scores, data, (settings.metric,))[settings.metric]
            for scores in (data.y, -data.y)
        )
    return np.asarray(counted & (best != worst))


def _needed(settings: Settings) -> str:
    """Say what a query must have to count in the metric."""
    metric = METRICS[parse_name(settings.metric, settings.convention).metric]
    if metric.compares_orders:
        return "two different labels"
    # With gains of a user's own, some of the relevant grades may have none.
    of_gains = settings.gain is not None and not metric.labels
    return "a relevant document" + " with a gain" * of_gains


def queries_left_out(counted: Counted, settings: Settings) -> str:
    """Say how many queries do not count in the metric, and why; "" if all count."""
    n_left = int((~counted).sum())
    if not n_left:
        return ""
    have, are = ("has", "is") if n_left == 1 else ("have", "are")
    none = _needed(settings).removeprefix("a ")
    return (
        f"{n_left:,} of {len(counted):,} queries {have} no {none} and {are} left out of "
        f"{settings.metric.upper()} (convention {settings.convention})."
    )


def _check_counted(
    folds: Folds, numbers: Sequence[int], counted: Counted, settings: Settings
) -> None:
    """Refuse folds in which nothing can be chosen or tested."""
    metric = settings.metric.upper()
    lacking = _needed(settings)
    tested = 0
    for number in numbers:
        _, validation, test = folds.positions[number - 1]
        for queries, what in ((validation, "chooses the rounds on"), (test, "tests on")):
            if not counted[queries].any():
                raise ValueError(
                    f"no query that fold {number} {what} has {lacking}, so that {metric} is not "
                    "defined there; use more queries or fewer folds"
                )
        tested += int(counted[test].sum())
    if tested < 2:
        raise ValueError(
            f"the folds test on a single query that counts in {metric}, but a paired test needs at "
            "least two: use more folds or more queries"
        )
