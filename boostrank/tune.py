"""Tunes one objective with its trees on repeated cross-validation over whole queries.

Every *trial* is a set of parameters: of the objective, of the trees, or of a host's built-in
objective, which gets the same folds and as many trials, so that a comparison stays fair. A trial is
trained on every fold; its number of rounds is the smallest that is as good as the best, by the
one-standard-error rule; its figure is NDCG@10 with that many.

Optuna proposes the trials and keeps them in a file, from which an interrupted search goes on. It is
imported where it is used: ``pip install "boostrank[tune]"``.
"""

import csv
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.compare import CHOSEN_BY, HOSTS, Learner, Settings, import_host, kernel_threads
from boostrank.datasets import RankingData, group_folds
from boostrank.hosts import HostObjective
from boostrank.metrics import evaluate
from boostrank.objectives import Schedule
from boostrank.objectives.validation import Floats, check_count, check_flag

if TYPE_CHECKING:
    import optuna

__all__ = ["Trial", "Tuned", "one_standard_error", "tune"]

STUDIES = "studies.log"
TRIALS = "trials.csv"
# Figures are taken after so many shares of the rounds.
MARKS = 50


@dataclass(frozen=True)
class Span:
    """A parameter's range, searched in its logarithm where `log`, and its default."""

    default: Any
    low: float
    high: float
    log: bool = True

    def suggest(self, trial: "optuna.Trial", name: str) -> Any:
        """Return the value that a trial proposes."""
        if isinstance(self.default, int):
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Choice:
    """A parameter's values, and its default."""

    default: Any
    values: tuple[Any, ...]

    def suggest(self, trial: "optuna.Trial", name: str) -> Any:
        """Return the value that a trial proposes."""
        return trial.suggest_categorical(name, self.values)


Space = Mapping[str, Span | Choice]

# The five that matter most on each host, in its own names; others have compare's values.
TREES: dict[str, Space] = {
    "lightgbm": {
        "learning_rate": Span(Settings.learning_rate, 0.01, 0.3),
        "num_leaves": Span(Settings.leaves, 4, 63),
        "min_data_in_leaf": Span(Settings.min_docs, 1, 100),
        "lambda_l2": Choice(0.0, (0.0, 0.1, 1.0, 10.0)),
        "feature_fraction": Span(1.0, 0.4, 1.0, log=False),
    },
    "xgboost": {
        "learning_rate": Span(Settings.learning_rate, 0.01, 0.3),
        "max_leaves": Span(Settings.leaves, 4, 63),
        "min_child_weight": Span(1.0, 0.001, 100.0),
        "reg_lambda": Choice(1.0, (0.0, 0.1, 1.0, 10.0)),
        "colsample_bytree": Span(1.0, 0.4, 1.0, log=False),
    },
}
_PAIRS: Space = {
    "lambdarank_num_pair_per_sample": Choice(32, (5, 10, 32, 100)),
    "lambdarank_normalization": Choice(True, (True, False)),
}
BUILTINS: dict[str, Space] = {
    "lightgbm:lambdarank": {
        "lambdarank_truncation_level": Choice(30, (5, 10, 30, 100)),
        "lambdarank_norm": Choice(True, (True, False)),
    },
    "lightgbm:rank_xendcg": {},
    "xgboost:rank:ndcg": _PAIRS,
    "xgboost:rank:pairwise": _PAIRS,
}
# Of our objectives, where they have them. What an objective is for (`k`, `measure`, `target`) is
# its user's to choose; noise keeps its scale, which alpha and sigma compare with.
SCALES = ("alpha", "sigma", "margin")
CHOICES: dict[str, tuple[Any, ...]] = {
    "norm": (True, False),
    "normalize": (True, False),
    "truncation": (None, 5, 10, 30),
    "perturb": (None, "gumbel"),
}


def objective_space(objective: HostObjective) -> Space:
    """Return what is searched of an objective: parameters that are at their defaults.

    Parameters
    ----------
    objective : HostObjective

    Returns
    -------
    mapping of str to Span or Choice
    """
    space: dict[str, Span | Choice] = {}
    for entry in fields(objective):
        value = getattr(objective, entry.name)
        if value != entry.default or isinstance(value, Schedule):
            continue
        if entry.name in SCALES:
            space[entry.name] = Span(value, value / 4.0, value * 4.0)
        elif entry.name in CHOICES:
            space[entry.name] = Choice(value, CHOICES[entry.name])
    return space


@dataclass(frozen=True, eq=False)
class Trial:
    """One set of parameters and what it came to.

    Attributes
    ----------
    number : int
        From 0, the trial of the defaults.
    params : dict
        Of the objective and of the host.
    pruned : bool
        Stopped before all repeats were done: its figures are those of the repeats that were.
    rounds : int
        By the one-standard-error rule.
    figures : float64 array (n_queries,)
        NDCG@10 of every query with so many rounds, mean over the repeats; NaN where the convention
        leaves the query out.
    """

    number: int
    params: dict[str, Any]
    pruned: bool
    rounds: int
    figures: Floats

    @property
    def mean(self) -> float:
        """Mean over queries."""
        return float(np.nanmean(self.figures))

    def interval(self, baseline: "Trial | None" = None) -> tuple[float, float, float]:
        """Return mean and ends of the normal 95 % interval, of the difference to another trial."""
        values = self.figures if baseline is None else self.figures - baseline.figures
        known = values[~np.isnan(values)]
        spread = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
        mean, half = float(np.mean(known)), 1.96 * spread / math.sqrt(len(known))
        return mean, mean - half, mean + half


@dataclass(frozen=True, eq=False)
class Tuned:
    """A learner with all its trials.

    Attributes
    ----------
    learner : Learner
    trials : tuple of Trial
        In the order in which they were done.
    """

    learner: Learner
    trials: tuple[Trial, ...]

    @property
    def default(self) -> Trial:
        """The trial of the defaults, which is the first."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The first of those with the best mean that were not pruned."""
        return max((trial for trial in self.trials if not trial.pruned), key=lambda t: t.mean)

    @property
    def snippet(self) -> str:
        """Python that trains on all of the data with the best trial's parameters."""
        best, objective = self.best, self.learner.objective
        ours, trees = _split(self.learner, best.params)
        name = _code(objective if isinstance(objective, str) else objective.replace(**ours))
        if self.learner.host == "lightgbm":
            params = {"objective": name, "metric": "'None'"}
            call = f"lightgbm.train(params, dataset, {best.rounds})"
        else:
            params = {"objective": name if self.learner.builtin else "'rank:pairwise'"}
            params |= {"base_score": "0", "grow_policy": "'lossguide'", "max_depth": "0"}
            obj = "" if self.learner.builtin else f", obj={name}"
            call = f"xgboost.train(params, dmatrix, {best.rounds}{obj})"
        params |= {key: repr(value) for key, value in trees.items()}
        lines = (f"    {key!r}: {value},".replace("'", '"') for key, value in params.items())
        return "\n".join(["params = {", *lines, "}", f"booster = {call}".replace("'", '"')])


def _code(value: Any) -> str:
    """Return Python that makes an objective, without what is at its default, or another value."""
    if isinstance(value, Schedule):
        return f"boostrank.{value!r}"
    if not isinstance(value, HostObjective):
        return repr(value)
    changed = (
        f"{entry.name}={_code(getattr(value, entry.name))}"
        for entry in fields(value)
        if getattr(value, entry.name) != entry.default
    )
    return f"boostrank.{type(value).__name__}({', '.join(changed)})"


def _split(learner: Learner, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what belongs to the objective and what to the host."""
    made = learner.objective
    own = set() if isinstance(made, str) else {entry.name for entry in fields(made)}
    return (
        {name: value for name, value in params.items() if name in own},
        {name: value for name, value in params.items() if name not in own},
    )


def one_standard_error(figures: Floats) -> int:
    """Choose the earliest column that is as good as the best, by the one-standard-error rule.

    As good: its mean lies within one standard error of the best column's. The error is that of the
    paired difference between the two, over queries; that of a mean alone is mostly the queries'
    being easy or hard, which both columns share, and many times as large.

    Parameters
    ----------
    figures : array_like (n_queries, n_columns)
        NaN rows are left out.

    Returns
    -------
    int
        From 0.

    Examples
    --------
    >>> from boostrank.tune import one_standard_error
    >>> one_standard_error([[0.2, 0.5, 0.6], [0.1, 0.5, 0.4], [0.3, 0.6, 0.7]])
    1
    """
    values = np.asarray(figures, dtype=np.float64)
    values = values[~np.isnan(values).any(axis=1)]
    best = int(np.argmax(values.mean(axis=0)))
    behind = values[:, [best]] - values
    error = behind.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return int(np.argmax(behind.mean(axis=0) <= error))


def _figures(
    learner: Learner,
    params: Mapping[str, Any],
    data: RankingData,
    folds: Sequence[Sequence[Any]],
    settings: Settings,
    marks: Sequence[int],
    n_jobs: int,
) -> Floats:
    """Return NDCG@10 of every query after each of the marks, tested in its fold."""
    ours, trees = _split(learner, params)
    objective = learner.objective
    if not isinstance(objective, str):
        objective = objective.replace(**ours)
    query = np.repeat(np.arange(len(data.group)), data.group)
    result = np.empty((len(data.group), len(marks)))

    def run(rows: Sequence[Any]) -> None:
        train, test = (np.unique(query[part]) for part in rows)
        part = data.select(test)
        with kernel_threads(settings.threads):
            model, _ = HOSTS[learner.host].train(objective, data.select(train), settings, trees)
        stages, scores = model.staged(part.X), np.zeros(len(part.y))
        for m in range(1, settings.rounds + 1):
            scores = next(stages, scores)  # LightGBM stops where nothing can be split
            if m in marks:
                values = evaluate(
                    scores,
                    part.y,
                    part.group,
                    (CHOSEN_BY,),
                    convention=settings.convention,
                    per_query=True,
                )
                result[test, marks.index(m)] = values[CHOSEN_BY]

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(run, folds))
    return result


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from logging inside the block."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            f'tuning needs Optuna: pip install "boostrank[tune]" ({error})'
        ) from error
    return optuna


def tune(
    data: RankingData,
    learner: Learner,
    out: Path,
    *,
    n_trials: int = 50,
    rounds: int = 300,
    n_folds: int = 5,
    n_repeats: int = 3,
    prune: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    convention: str = "standard",
    done: Callable[[Trial], None] | None = None,
) -> Tuned:
    """Tune a learner's objective and trees on repeated cross-validation.

    Parameters
    ----------
    data : RankingData
        All of it trains and validates in turn. An order of documents that tells something, such as
        a ranker's, should be shuffled away before: tied scores keep it.
    learner : Learner
        An objective of ours, of which the parameters at their defaults are searched, or a built-in
        one of a host.
    out : Path
        Folder of the file that holds the trials, of several learners too; made where it is absent.
        Trials that are there are not done again.
    n_trials : int, default 50
        Sets of parameters, the first of them the defaults.
    rounds : int, default 300
        Trees of each, from which the one-standard-error rule chooses.
    n_folds, n_repeats : int, default 5 and 3
        Folds of whole queries, and how often they are dealt anew; the seeds are `seed`,
        ``seed + 1``, ...
    prune : bool, default False
        Stop a trial after a repeat in which it is below the median of those before it, from the
        sixth trial on.
    n_jobs : int, default 1
        Folds trained at a time, each in one thread. Nothing else depends on it.
    seed : int, default 0
        Equal seeds try equal parameters, whether the search was interrupted or not.
    convention : str, default "standard"
        Whose rules NDCG@10 follows.
    done : callable, optional
        Called with every trial that is done, also those of an earlier run.

    Returns
    -------
    Tuned

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or out of its range, and where `out` holds trials of this
        learner on other data or with other settings.
    ImportError
        Without Optuna or the learner's host.

    Notes
    -----
    The best trial's figure is the largest of many, and so too large: test it on other queries.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import boostrank
    >>> from boostrank.compare import Learner
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.tune import tune
    >>> data = make_ranking(30, 10, 5, seed=0)
    >>> learner = Learner("shf-sdcg", "lightgbm", boostrank.SHFSDCG())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tuned = tune(data, learner, Path(folder), n_trials=2, rounds=5, n_folds=2, n_repeats=1)
    >>> len(tuned.trials), tuned.best.mean >= tuned.default.mean
    (2, True)
    """
    optuna = _import_optuna()
    import_host(learner.host)
    for name, count in (("n_trials", n_trials), ("n_repeats", n_repeats), ("n_jobs", n_jobs)):
        check_count(name, count)
    check_flag("prune", prune)
    settings = Settings(rounds=rounds, seed=seed, convention=convention)
    folds = [group_folds(data.group, n_folds, seed=seed + repeat) for repeat in range(n_repeats)]
    if not (data.y > 0).any():
        raise ValueError("data has no relevant document, so nothing can be chosen on it")
    ours = {} if isinstance(learner.objective, str) else objective_space(learner.objective)
    builtin = BUILTINS[learner.label] if isinstance(learner.objective, str) else {}
    space: Space = {**ours, **builtin, **TREES[learner.host]}
    marks = sorted({math.ceil(rounds * share / MARKS) for share in range(1, MARKS + 1)})

    out.mkdir(parents=True, exist_ok=True)
    with _quiet(optuna):
        backend = optuna.storages.journal.JournalFileBackend(str(out / STUDIES))
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name=str(learner),
            direction="maximize",
            pruner=optuna.pruners.MedianPruner() if prune else optuna.pruners.NopPruner(),
            load_if_exists=True,
        )
        _check_same(study, _fingerprint(data, learner, settings, n_folds, n_repeats, prune), out)
        trials = [_read(i, frozen) for i, frozen in enumerate(_finished(study))]
        report = done or (lambda trial: None)
        for trial in trials:
            report(trial)
        for running in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
            study.tell(running.number, state=optuna.trial.TrialState.FAIL)  # it was interrupted
        while len(trials) < n_trials:
            # A generator for each trial: what an earlier run drew is drawn no more.
            study.sampler = optuna.samplers.TPESampler(seed=_seed(seed, len(trials)))
            if not trials:
                study.enqueue_trial({name: entry.default for name, entry in space.items()})
            asked = study.ask()
            params = {name: entry.suggest(asked, name) for name, entry in space.items()}
            repeats: list[Floats] = []
            for repeat, rows in enumerate(folds):
                repeats.append(_figures(learner, params, data, rows, settings, marks, n_jobs))
                figures = np.mean(repeats, axis=0)
                column = one_standard_error(figures)
                asked.report(float(np.nanmean(figures[:, column])), repeat)
                if repeat + 1 < n_repeats and asked.should_prune():
                    break
            asked.set_user_attr("rounds", marks[column])
            asked.set_user_attr("figures", figures[:, column].tolist())
            if len(repeats) < n_repeats:
                study.tell(asked, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(asked, float(np.nanmean(figures[:, column])))
            trials.append(_read(len(trials), _finished(study)[-1]))
            report(trials[-1])
    return Tuned(learner, tuple(trials))


def _seed(seed: int, number: int) -> int:
    return int(np.random.default_rng((seed, number)).integers(2**32))


def _finished(study: "optuna.Study") -> list[Any]:
    return [t for t in study.get_trials(deepcopy=False) if t.state.name in ("COMPLETE", "PRUNED")]


def _read(number: int, frozen: Any) -> Trial:
    attributes = frozen.user_attrs
    return Trial(
        number=number,
        params=dict(frozen.params),
        pruned=frozen.state.name == "PRUNED",
        rounds=attributes["rounds"],
        figures=np.array(attributes["figures"], dtype=np.float64),
    )


def _fingerprint(data: RankingData, learner: Learner, settings: Settings, *rest: Any) -> str:
    digest = hashlib.sha256(repr((learner.objective, settings, *rest)).encode())
    for array in (data.X, data.y, data.group):
        digest.update(array.tobytes())
    return digest.hexdigest()


def _check_same(study: "optuna.Study", fingerprint: str, out: Path) -> None:
    known = study.user_attrs.get("fingerprint")
    if known is None:
        study.set_user_attr("fingerprint", fingerprint)
    elif known != fingerprint:
        raise ValueError(
            f"{out / STUDIES} holds trials of {study.study_name} on other data or with other "
            "settings: give another folder, or the same data and settings to go on"
        )


def write_trials(path: Path, tuned: Sequence[Tuned]) -> None:
    """Write all trials as CSV, with normal 95 % intervals.

    Differences are to the defaults of the same learner, over the queries of all folds.

    Parameters
    ----------
    path : Path
    tuned : sequence of Tuned

    Raises
    ------
    OSError
        If it cannot be written.
    """
    ends = ("", "_low", "_high")
    header = [
        *("learner", "trial", "pruned", "rounds"),
        *(f"{what}{end}" for what in (CHOSEN_BY, "difference") for end in ends),
        "params",
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for one in tuned:
            for trial in one.trials:
                name = [one.learner, trial.number, trial.pruned, trial.rounds]
                values = [*trial.interval(), *trial.interval(one.default)]
                writer.writerow([*name, *values, json.dumps(trial.params)])
