"""Trains learners over folds; prints nothing.

Every learner gets the same data, the same number of trees and the same tree size. Its best number
of rounds is chosen on the validation part. Its figures come from the test part, which is used for
nothing else.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from boostrank.datasets import Fold
from boostrank.lab.environment import kernel_threads
from boostrank.lab.folds import Folds
from boostrank.lab.learners import Learner
from boostrank.lab.results import FoldResult
from boostrank.lab.rivals import TRAINERS
from boostrank.lab.settings import Settings, sign_of
from boostrank.metrics import evaluate
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats


def run_fold(
    learner: Learner,
    fold: Fold,
    number: int,
    settings: Settings,
    on_round: Callable[[], object] | None = None,
) -> FoldResult:
    """Train a learner on one fold, choose its best round and test it.

    Parameters
    ----------
    learner : Learner
    fold : Fold
    number : int
        The fold's number, for the result.
    settings : Settings
    on_round : callable, optional
        Called after each boosting round.

    Returns
    -------
    FoldResult
        Its `seconds_per_round` is the time of training, without evaluation, divided by the rounds.
    """
    if isinstance(learner.objective, Objective):
        # Loads or compiles the kernels, so that the first round does not include that time.
        learner.objective.grad_hess([0.0, 0.0], [1, 0], [2], round=1)
    with kernel_threads(settings.threads):
        model, seconds = TRAINERS[learner.host].train(
            learner.objective,
            fold.train,
            settings,
            settings.params.get(learner.host),
            on_round,
        )

    validation, test = fold.validation, fold.test

    def chosen_metric(scores: Floats) -> float:
        values = evaluate(
            scores,
            validation.y,
            validation.group,
            (settings.metric,),
            **settings.rules,
        )
        value: float = values[settings.metric]
        return value

    curve = np.array([chosen_metric(scores) for scores in model.staged(validation.X)])
    best_round = (
        len(curve)
        if settings.fixed_rounds
        else int(np.argmax(sign_of(settings.metric) * curve)) + 1
    )
    return FoldResult(
        fold=number,
        curve=curve,
        best_round=best_round,
        qid=test.qid[np.cumsum(test.group) - test.group],
        figures=evaluate(
            model.predict(test.X, best_round),
            test.y,
            test.group,
            settings.measured,
            **settings.rules,
            per_query=True,
        ),
        seconds_per_round=seconds / settings.rounds,
        importance=model.importance(best_round),
    )


def run_folds(
    learner: Learner,
    folds: Folds,
    settings: Settings,
    numbers: Sequence[int],
    on_round: Callable[[], object] | None = None,
) -> Iterator[FoldResult]:
    """Run a learner over folds.

    Parameters
    ----------
    learner : Learner
    folds : Folds
        Each with queries that the metric counts; see `boostrank.lab.plan`.
    settings : Settings
    numbers : sequence of int
        Numbers of the folds, from 1.
    on_round : callable, optional
        Called after each boosting round.

    Yields
    ------
    FoldResult
        Each as soon as it is done.
    """
    for number in numbers:
        yield run_fold(learner, folds.fold(number), number, settings, on_round)
