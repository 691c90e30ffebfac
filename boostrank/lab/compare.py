"""Trains learners over folds; prints nothing.

Every learner gets the same data, the same number of trees and the same tree size. Its best number
of rounds is chosen on the validation part. Its figures come from the test part, which is used for
nothing else.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from boostrank.datasets import Fold, RankingData, letor_folds
from boostrank.lab.environment import kernel_threads
from boostrank.lab.learners import Learner
from boostrank.lab.results import FoldResult
from boostrank.lab.rivals import TRAINERS
from boostrank.lab.settings import CUTOFFS, Settings, sign_of
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
            tuple(dict.fromkeys((*settings.metrics, *(f"ndcg@{k}" for k in CUTOFFS)))),
            **settings.rules,
            per_query=True,
        ),
        seconds_per_round=seconds / settings.rounds,
        importance=model.importance(best_round),
    )


def check_folds(folds: Sequence[int], n_folds: int) -> list[int]:
    """Return the fold numbers, sorted and each once; all must lie in 1..`n_folds`."""
    for number in folds:
        if not 1 <= number <= n_folds:
            raise ValueError(f"folds must lie in 1..{n_folds}, got {number}")
    return sorted(set(folds))


def run_folds(
    learner: Learner,
    parts: Sequence[RankingData],
    settings: Settings,
    folds: Sequence[int],
    on_round: Callable[[], object] | None = None,
) -> Iterator[FoldResult]:
    """Run a learner over folds, in LETOR's rotation.

    Parameters
    ----------
    learner : Learner
    parts : sequence of RankingData
        As `letor_folds` takes them, each with at least one relevant document.
    settings : Settings
    folds : sequence of int
        Numbers of the folds, from 1.
    on_round : callable, optional
        Called after each boosting round.

    Yields
    ------
    FoldResult
        Each as soon as it is done.

    Raises
    ------
    ValueError
        For a fold that does not exist, or a part without relevant documents.
    """
    check_folds(folds, len(parts))
    for number, part in enumerate(parts, start=1):
        if not (part.y > 0).any():
            raise ValueError(
                f"part {number} of {len(parts)} has no relevant document in its {len(part.group)} "
                "queries, so nothing can be chosen or tested on it; use more queries"
            )
    # Folds are made again for every learner: keeping them all would hold the data several times.
    for number, fold in enumerate(letor_folds(parts), start=1):
        if number in folds:
            yield run_fold(learner, fold, number, settings, on_round)
