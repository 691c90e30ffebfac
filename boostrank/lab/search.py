"""The search behind `boostrank.tune`: what a trial is, how trials are run, stored and reported."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.choice import Choice
from boostrank.datasets import RankingData, group_folds
from boostrank.hosts.model_files import check_stopping
from boostrank.hosts.rankers import check_unbound
from boostrank.lab.environment import versions
from boostrank.lab.files import as_csv, naming, only_user, write_file
from boostrank.lab.folds import note_on_time, query_positions
from boostrank.lab.learners import Learner, refusal
from boostrank.lab.models import TRAINERS
from boostrank.lab.naming import OF_FOLDS
from boostrank.lab.plan import counted_queries, queries_left_out
from boostrank.lab.records import digest, sources
from boostrank.lab.search_space import FIXED, OneOf, Space, Span, learner_space
from boostrank.lab.settings import CHOSEN_BY, Settings, sign_of
from boostrank.lab.stats import half_width
from boostrank.messages import import_host, load, warn
from boostrank.objectives import Objective, Schedule
from boostrank.objectives.base import listed
from boostrank.objectives.blend import is_auto
from boostrank.objectives.validation import Floats, Integers, check_count

if TYPE_CHECKING:
    import optuna

STUDIES = "studies.log"
TRIALS = "trials.csv"
#: Parameters that change no tree, by any host's name.
SAME_TREES = (
    "num_threads", "nthread", "thread_count", "verbosity", "logging_level", "allow_writing_files",
)  # fmt: skip
# How often the metric is measured during training, at equal intervals.
MARKS = 50


@dataclass(frozen=True, eq=False)
class Trial:
    """One set of parameters and its result.

    Attributes
    ----------
    number : int
        From 0, which is the trial of the defaults.
    params : dict
        Parameters of the objective and of the host.
    rounds : int
        Chosen by the one-standard-error rule.
    figures : float64 array (n_queries,)
        The metric of every query with that many rounds, mean over the repeats; NaN where the
        convention leaves the query out.
    """

    number: int
    params: dict[str, Any]
    rounds: int
    figures: Floats

    @property
    def mean(self) -> float:
        """Mean over queries."""
        return float(np.nanmean(self.figures))

    def interval(self, baseline: "Trial | None" = None) -> tuple[float, float, float]:
        """Return mean and ends of the normal 95 % interval; with a baseline, of the difference."""
        values = self.figures if baseline is None else self.figures - baseline.figures
        mean, half = float(np.nanmean(values)), half_width(values)
        return mean, mean - half, mean + half


@dataclass(frozen=True, eq=False)
class Tuned:
    """A learner with all its trials.

    Attributes
    ----------
    learner : Learner
    trials : tuple of Trial
        In the order in which they were run.
    settings : Settings
        With the host's own parameters for all trials.
    labels : float64 array (n_docs,)
        Those of the data.
    choice : Choice, optional
        How "auto" is set on all of the data, with the best trial's parameters and all rounds, as
        each fold's training part set it for the trials; None for other objectives.
    """

    learner: Learner
    trials: tuple[Trial, ...]
    settings: Settings = field(default_factory=Settings)
    labels: Floats = field(default_factory=lambda: np.zeros(0))
    choice: Choice | None = None

    @property
    def params(self) -> Mapping[str, Any]:
        """The host's own parameters, for all trials."""
        return self.settings.params.get(self.learner.host, {})

    @property
    def metric(self) -> str:
        """The metric that chooses rounds and trials."""
        return self.settings.metric

    @property
    def default(self) -> Trial:
        """The trial of the defaults, which is the first."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The first trial with the best mean.

        Its mean is the best of many and therefore too optimistic: test it on other queries.
        """
        sign = sign_of(self.metric)
        return max(self.trials, key=lambda trial: sign * trial.mean)

    @property
    def snippet(self) -> str:
        """Python code that trains on all of the data with the best trial's parameters."""
        best, host, builtin = self.best, self.learner.host, self.learner.builtin
        objective, settings = tried(self.learner, self.settings, best.params)
        trained, labels, given = TRAINERS[host].arguments(objective, self.labels, settings)
        head = []
        if self.choice is not None:  # a ranker would choose for the best trial's rounds
            trained = self.choice.objective
            head = [f"# On all of the data, auto chose {self.choice}"]
        name = _code(trained)
        params = {key: _code(value) for key, value in given.items() if key not in SAME_TREES}
        if host == "lightgbm":
            params = {"objective": name, **params}
            call = f"lightgbm.train(params, dataset, {best.rounds})"
        elif host == "catboost":
            params = {"loss_function": name, **params}
            call = f"catboost.train(pool, params, iterations={best.rounds})"
        else:
            params = {"objective": name if builtin else "'rank:pairwise'", **params}
            obj = "" if builtin else f", obj={name}"
            call = f"xgboost.train(params, dmatrix, {best.rounds}{obj})"
            if labels is not self.labels:
                head = _with_gains(self.settings.gain)
        lines = (f"    {key!r}: {value},".replace("'", '"') for key, value in params.items())
        return "\n".join([*head, "params = {", *lines, "}", f"booster = {call}".replace("'", '"')])


def _with_gains(gain: Any) -> list[str]:
    """Return code that gives an objective of XGBoost its gain: as labels."""
    gains = f"numpy.array({gain!r})[y.astype(int)]" if isinstance(gain, tuple) else "2.0**y - 1.0"
    if callable(gain):
        gains = f"{_code(gain)}(y)"
    imports = ["import numpy"] if isinstance(gain, tuple) else []
    return [*imports, f"dmatrix = xgboost.DMatrix(X, {gains}, group=group)  # labels are the gains"]


def _code(value: Any) -> str:
    """Return Python code for a value; for an objective, only parameters that are not defaults."""
    if isinstance(value, np.generic | np.ndarray):
        return repr(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, Schedule):
        return f"boostrank.{value!r}"
    if not isinstance(value, Objective):
        return str(getattr(value, "__name__", repr(value)))  # the name of a function
    changed = (
        f"{entry.name}={_code(getattr(value, entry.name))}"
        for entry in listed(value)
        if getattr(value, entry.name) != entry.default
    )
    return f"boostrank.{type(value).__name__}({', '.join(changed)})"


def tried(
    learner: Learner, settings: Settings, params: Mapping[str, Any]
) -> tuple[Objective | str, Settings]:
    """Return the objective and the settings that a trial trains with."""
    objective, trees = learner.objective, dict(params)
    if isinstance(objective, Objective):
        own = [entry.name for entry in fields(objective) if entry.name in trees]
        objective = objective.replace(**{name: trees.pop(name) for name in own})
    trees = {**settings.params.get(learner.host, {}), **trees}
    return objective, replace(settings, params={learner.host: trees})


def one_standard_error(figures: Floats) -> int:
    """Return the earliest column (queries are rows) that is as good as the best.

    As good means that its mean is within one standard error of the best column's. The error is that
    of the paired difference between the two, over queries. The error of a single mean is many times
    as large, but it comes mostly from queries being easy or hard, which both columns share.
    """
    values = figures[~np.isnan(figures).any(axis=1)]
    best = int(np.argmax(values.mean(axis=0)))
    behind = values[:, [best]] - values
    error = behind.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return int(np.argmax(behind.mean(axis=0) <= error))


@dataclass(frozen=True, eq=False)
class _Job:
    """What all trials of a search share."""

    learner: Learner
    space: Space
    data: RankingData
    settings: Settings
    #: Folds of each repeat: positions of the queries that train and that test.
    repeats: Sequence[Sequence[tuple[Integers, ...]]]
    n_jobs: int

    @property
    def marks(self) -> list[int]:
        """The rounds after which the metric is measured."""
        rounds = self.settings.rounds
        return sorted({math.ceil(rounds * share / MARKS) for share in range(1, MARKS + 1)})

    def fingerprint(self) -> str:
        """Return a digest that differs for other data or settings."""
        shape = len(self.repeats[0]), len(self.repeats), self.data._meanings
        said = repr((self.learner.objective, self.settings, *shape)).encode()
        positions = (part for folds in self.repeats for fold in folds for part in fold)
        arrays = (self.data.X, self.data.y, self.data.group, *positions)
        return digest(chain([said], (array.tobytes() for array in arrays)))


def cross_validate(
    job: _Job, params: Mapping[str, Any], folds: Sequence[tuple[Integers, ...]]
) -> Floats:
    """Return the metric of every query after each mark, from the fold that tests it, or NaN."""
    learner, data, marks = job.learner, job.data, job.marks
    objective, settings = tried(learner, job.settings, params)
    result = np.full((len(data.group), len(marks)), np.nan)

    def run(fold: tuple[Integers, ...]) -> None:
        train, test = fold
        part = data.select(test)
        model, _ = TRAINERS[learner.host].train(objective, data.select(train), settings)
        stages, scores = model.staged(part.X), np.zeros(len(part.y))
        for m in range(1, settings.rounds + 1):
            scores = next(stages, scores)  # LightGBM stops when nothing can be split
            if m in marks:
                values = settings.measure(scores, part, (settings.metric,))
                result[test, marks.index(m)] = values[settings.metric]

    with ThreadPoolExecutor(job.n_jobs) as pool:
        list(pool.map(run, folds))
    return result


def load_optuna() -> Any:
    """Return Optuna, or say how to install it."""
    return load("optuna", "tuning needs Optuna", "optuna")


def tune(
    data: RankingData,
    learner: Learner,
    out: Path,
    *,
    n_trials: int = 50,
    rounds: int = 300,
    n_folds: int = 5,
    n_repeats: int = 3,
    folds: Any = None,
    n_jobs: int = 1,
    seed: int = 0,
    convention: str = "standard",
    gain: str | tuple[float, ...] | None = None,
    metric: str | None = None,
    params: Mapping[str, Any] | None = None,
    done: Callable[[Trial], None] | None = None,
) -> Tuned:
    """Tune a learner's objective and trees on repeated cross-validation.

    Parameters
    ----------
    data : RankingData
        All of it trains and validates in turn. Shuffle documents that are sorted by something
        informative, such as a ranker's scores: tied scores keep their order.
    learner : Learner
        A host's own objective, or one of ours, whose parameters are searched if at their defaults.
    out : Path
        Folder for the trials of one or several learners. Trials in it are not run again.
    n_trials : int, default 50
        Sets of parameters to try; the first is the defaults.
    rounds : int, default 300
        Trees per training; the one-standard-error rule chooses how many of them are used.
    n_folds, n_repeats : int, default 5 and 3
        Folds of whole queries, and number of cross-validation repeats; the seeds of the folds are
        `seed`, ``seed + 1``, ...
    folds : optional
        Folds of your own instead, without repeats: a splitter of scikit-learn, such as
        ``TimeSeriesSplit(5, gap=2)``, which splits the queries; what `boostrank.group_folds`
        returns; or pairs of (train, test), as in `boostrank.compare`. A query is tested once at
        most.
    n_jobs : int, default 1
        Folds trained at a time, each in one thread. The results do not depend on it.
    seed : int, default 0
        The same seed tries the same parameters, even if the search was interrupted.
    convention, gain, metric
        The metric that chooses rounds and trials, as in `boostrank.compare`. Default: NDCG@10, or
        Spearman's correlation for labels that are no grades.
    params : mapping, optional
        The host's own parameters, for all trials: what is given is not tuned.
    done : callable, optional
        Called with every finished trial, including those of an earlier run.

    Returns
    -------
    Tuned

    Raises
    ------
    TypeError, ValueError
        For an argument out of range, DART and linear boosters, whose rounds cannot be chosen,
        labels that the learner cannot take, fewer than two queries that count in the metric, or if
        `out` has trials with other data or settings.
    ImportError
        Without Optuna or the learner's host.

    Warns
    -----
    UserWarning
        For queries that do not count in the metric, and trials in `out` of other versions.
    """
    optuna = load_optuna()
    import_host(learner.host)
    check_count("n_trials", n_trials)
    own = TRAINERS[learner.host].with_usual_names(params or {})
    settings = Settings(
        rounds=rounds,
        seed=seed,
        convention=convention,
        gain=gain,
        metric=metric or CHOSEN_BY,
        params={learner.host: {**FIXED.get(learner.host, {}), **own}},
    ).for_labels(data.y, chosen=metric is not None)
    check_count("n_jobs", n_jobs)
    check_unbound(learner.objective, "a search", OF_FOLDS)
    check_stopping(learner.host, settings.params[learner.host], "tune")
    if why := refusal(learner, data.y, settings):
        raise ValueError(f"{learner} cannot be trained: {why}")
    repeats = _repeats(data, settings, n_folds, n_repeats, folds)
    job = _Job(learner, learner_space(learner, own), data, settings, repeats, n_jobs)
    trials = []
    with ExitStack() as after, only_user(out), naming(out / STUDIES):
        after.callback(optuna.logging.set_verbosity, optuna.logging.get_verbosity())
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = _open_study(optuna, job, out)
        for trial in _search(optuna, study, job, n_trials):
            trials.append(trial)
            if done is not None:
                done(trial)
    tuned = Tuned(learner, tuple(trials), settings, data.y)
    objective, best = tried(learner, settings, tuned.best.params)
    if is_auto(objective):
        model, _ = TRAINERS[learner.host].train(objective, data, best)
        tuned = replace(tuned, choice=model.choice)
    return tuned


def _repeats(
    data: RankingData, settings: Settings, n_folds: int, n_repeats: int, folds: Any
) -> list[Sequence[tuple[Integers, ...]]]:
    """Return the folds of each repeat, of which the queries that count can choose a trial."""
    made = [folds]
    if folds is None:
        seeds = (settings.seed + i for i in range(check_count("n_repeats", n_repeats)))
        made = [group_folds(data.group, n_folds, seed=seed) for seed in seeds]
    repeats: list[Sequence[tuple[Integers, ...]]] = [query_positions(data, each) for each in made]
    for fold in repeats[0]:
        if len(fold) != 2:
            raise ValueError(
                f"folds to tune on must be pairs of (train, test), got {len(fold)} parts"
            )
    tested = np.concatenate([test for _, test in repeats[0]])
    counted = counted_queries(data, settings)[tested]
    if counted.sum() < 2:
        raise ValueError(
            f"the folds test fewer than two queries that count in {settings.metric.upper()}, so "
            "nothing can be chosen: it needs a relevant document, or two different labels"
        )
    for note in (queries_left_out(counted, settings), note_on_time(data, repeats[0])):
        if note:
            warn(note)
    return repeats


def _search(optuna: Any, study: "optuna.Study", job: _Job, n_trials: int) -> Iterator[Trial]:
    """Yield `n_trials` trials: those that the study holds, then new ones."""
    yield from _ended(study)[:n_trials]
    for running in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
        study.tell(running.number, state=optuna.trial.TrialState.FAIL)  # it was interrupted
    for number in range(len(_ended(study)), n_trials):
        # A new generator for each trial: a resumed search draws what an uninterrupted one would.
        seed = int(np.random.default_rng((job.settings.seed, number)).integers(2**32))
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        _run_trial(study, job)
        yield _ended(study)[-1]


def _ended(study: "optuna.Study") -> list[Trial]:
    """Return the trials that were not interrupted."""
    ended = [each for each in study.get_trials(deepcopy=False) if each.state.name == "COMPLETE"]
    return [
        Trial(
            number=number,
            params=dict(each.params),
            rounds=each.user_attrs["rounds"],
            figures=np.array(each.user_attrs["figures"], dtype=np.float64),
        )
        for number, each in enumerate(ended)
    ]


def _open_study(optuna: Any, job: _Job, out: Path) -> Any:
    """Return the learner's study in the folder: a new one, or that of the same job."""
    if (out / STUDIES).exists():  # Optuna would go on in a line that was cut off
        content = (out / STUDIES).read_bytes()
        write_file(out / STUDIES, content[: content.rfind(b"\n") + 1])
    # Left by kill -9. Optuna waits for it: for ever, if the folder's name is relative.
    (out / f"{STUDIES}.lock").unlink(missing_ok=True)
    backend = optuna.storages.journal.JournalFileBackend(str(out / STUDIES))
    try:
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name=str(job.learner),
            direction="maximize",
            load_if_exists=True,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{out / STUDIES} is damaged ({error}); give another folder") from error
    fingerprint = job.fingerprint()
    made_with = {**versions([job.learner.host]), "sources": sources(job.learner.objective)}
    if "fingerprint" not in study.user_attrs:
        study.set_user_attr("fingerprint", fingerprint)
        study.set_user_attr("made_with", made_with)
    elif study.user_attrs["fingerprint"] != fingerprint:
        raise ValueError(
            f"{out / STUDIES} holds trials of {study.study_name} on other data or with other "
            "settings: give another folder, or the same data and settings to continue"
        )
    before = study.user_attrs.get("made_with", {})
    if others := [name for name, own in made_with.items() if before.get(name, own) != own]:
        warn(
            f"{out / STUDIES} holds trials of {study.study_name} that were made with other "
            f"{', '.join(others)}: they are kept as they are; to try all again, give another folder"
        )
    return study


def _run_trial(study: "optuna.Study", job: _Job) -> None:
    """Ask the study for parameters, the defaults first, and tell it their result."""
    if {each.state.name for each in study.get_trials(deepcopy=False)} <= {"FAIL"}:
        study.enqueue_trial({name: entry.default for name, entry in job.space.items()})
    asked = study.ask()
    params = {name: _proposed(asked, name, entry) for name, entry in job.space.items()}
    stages = np.mean([cross_validate(job, params, folds) for folds in job.repeats], axis=0)
    sign = sign_of(job.settings.metric)  # a study maximizes
    column = one_standard_error(sign * stages)
    figures = stages[:, column]
    asked.set_user_attr("rounds", job.marks[column])
    asked.set_user_attr("figures", figures.tolist())
    study.tell(asked, sign * float(np.nanmean(figures)))


def _proposed(trial: "optuna.Trial", name: str, entry: Span | OneOf) -> Any:
    if isinstance(entry, OneOf):
        return trial.suggest_categorical(name, entry.values)
    if isinstance(entry.default, int):
        return trial.suggest_int(name, int(entry.low), int(entry.high), log=entry.log)
    return trial.suggest_float(name, entry.low, entry.high, log=entry.log)


def write_trials(path: Path, tuned: Sequence[Tuned]) -> None:
    """Write all trials, of one metric, as CSV; differences are from the same learner's defaults."""
    ends = ("", "_low", "_high")
    header = [
        *("learner", "trial", "rounds"),
        *(f"{what}{end}" for what in (tuned[0].metric, "difference") for end in ends),
        "params",
    ]
    lines: list[list[Any]] = [header]
    for one in tuned:
        for trial in one.trials:
            name = [one.learner, trial.number, trial.rounds]
            values = [*trial.interval(), *trial.interval(one.default)]
            lines.append([*name, *values, json.dumps(trial.params)])
    write_file(path, as_csv(lines))
