"""Trains the learners of a comparison over its folds, for the command and for `boostrank.compare`.

Figures come from the test part, which is used for nothing else. Nothing is printed here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from boostrank.choice import settings_of
from boostrank.datasets import Fold
from boostrank.lab.environment import machine
from boostrank.lab.files import only_user
from boostrank.lab.learners import Learner
from boostrank.lab.models import TRAINERS
from boostrank.lab.plan import Plan
from boostrank.lab.records import ResultStore
from boostrank.lab.results import Failure, FoldResult, Row
from boostrank.lab.settings import Settings, sign_of
from boostrank.lab.stats import load_stats
from boostrank.lab.words import one_line
from boostrank.objectives import Objective


def run_fold(
    learner: Learner,
    fold: Fold,
    number: int,
    settings: Settings,
    on_round: Callable[[], object] | None = None,
) -> FoldResult:
    """Train a learner on the fold of a number, choose its best round and test it."""
    if isinstance(learner.objective, Objective):
        # Loads or compiles the kernels, so that the first round does not include that time.
        for setting in settings_of(learner.objective):
            setting.grad_hess([0.0, 0.0], [1, 0], [2], round=1)
    model, seconds = TRAINERS[learner.host].train(learner.objective, fold.train, settings, on_round)

    metric, held = settings.metric, fold.validation
    stages = (settings.measure(scores, held, (metric,)) for scores in model.staged(held.X))
    curve = np.array([np.nanmean(values[metric]) for values in stages])
    best_round = len(curve)
    if not settings.fixed_rounds:
        best_round = int(np.argmax(sign_of(metric) * curve)) + 1
    test = fold.test
    return FoldResult(
        fold=number,
        curve=curve,
        best_round=best_round,
        qid=test.qid[np.cumsum(test.group) - test.group],
        figures=settings.measure(model.predict(test.X, best_round), test, settings.measured),
        seconds_per_round=seconds / settings.rounds,
        importance=model.importance(best_round),
        chosen=model.choice.objective.signal if model.choice else "",
    )


@dataclass
class Run:
    """A comparison on its way: what to train, and the results so far."""

    plan: Plan
    #: Where results and rows are kept as soon as they are there; None: nowhere.
    store: ResultStore | None = None
    #: The learners that are done, the baseline first.
    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Results so far, by learner and fold.
        self.known: dict[tuple[Learner, int], FoldResult] = {}
        if self.store is not None:
            for key in product(self.plan.queue, self.plan.numbers):
                if found := self.store.find(*key):
                    self.known[key] = found

    @property
    def n_results(self) -> int:
        """Number of results at the end."""
        return len(self.plan.queue) * len(self.plan.numbers)

    def missing(self, learner: Learner) -> list[int]:
        """Return the folds that the learner has not been trained on."""
        return [fold for fold in self.plan.numbers if (learner, fold) not in self.known]

    @property
    def resumed(self) -> str:
        """Say how many results an earlier run has left, and why others are not used."""
        assert self.store is not None  # else there is nothing to resume
        said = f"{len(self.known)} of {self.n_results} results are in {self.store.path}"
        if stale := self.store.stale:
            differing = sorted({name for each in stale for name in each})
            said += f"; {len(stale)} are not used: made with other {', '.join(differing)}"
        return said

    def train(
        self,
        learner: Learner,
        on_round: Callable[[], object] | None = None,
        *,
        strict: bool = False,
    ) -> Row | Failure:
        """Train a learner of the queue on the folds that are missing; the baseline comes first.

        With `strict`, the error of a learner that fails is raised. That of the baseline always is:
        without it there is nothing to test against.
        """
        done: Row | Failure
        for number in self.missing(learner):
            fold = self.plan.folds.fold(number)
            try:
                result = run_fold(learner, fold, number, self.plan.settings, on_round)
            except Exception as error:
                if learner is self.plan.queue[0] or strict:
                    raise
                done = Failure(learner, one_line(error))
                self.failures.append(done)
                break
            if self.store is not None:  # a full disk is not the learner's fault
                self.store.add(learner, result)
            self.known[learner, number] = result
        else:
            results = tuple(self.known[learner, number] for number in self.plan.numbers)
            done = Row(learner, results, self.rows[0] if self.rows else None, self.plan.settings)
            self.rows.append(done)
        if self.store is not None:
            self.store.add_row(done)
        return done


@contextmanager
def running(plan: Plan, folder: Path | None, *, resume: bool, again: str) -> Iterator[Run]:
    """Begin a comparison, and keep other runs out of its folder, if there is one for its results.

    With `resume`, the results in the folder are used; otherwise they are replaced. Ctrl-C says what
    is in the folder, and that `again` continues from there.
    """
    load_stats()
    if folder is None:
        yield Run(plan)
        return
    with only_user(folder):
        store = ResultStore(folder, plan.folds, plan.settings, machine(), resume=resume)
        run = Run(plan, store)
        try:
            yield run
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(
                f"{len(run.known)} of {run.n_results} results are saved in {store.path}, and "
                f"{len(run.rows)} of {len(plan.queue)} rows are complete in {store.summary}; "
                f"{again} continues from there"
            )
            raise
