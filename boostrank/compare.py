"""Trains objectives on both hosts over folds and tests the differences; prints nothing.

A *learner* is one of our objectives on one host, or an objective built into a host. Every learner
gets the same data, the same number of trees and the same tree size. Its best number of rounds is
chosen on the validation part, and its figures come from the test part, which nothing else sees.

The hosts are imported where they are used; the paired test needs SciPy.
"""

import csv
import hashlib
import json
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
import numpy as np

from boostrank import objectives
from boostrank.datasets import Fold, RankingData, letor_folds
from boostrank.hosts import HostObjective
from boostrank.metrics import evaluate
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_choice,
    check_count,
    check_positive,
)
from boostrank.registry import make_objective, objective_names

#: What is reported of every learner. The best round is chosen by `CHOSEN_BY`.
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
CHOSEN_BY = "ndcg@10"
#: Rank cut-offs of the figure.
CUTOFFS = tuple(range(1, 11))
# All that is measured on the test part.
_MEASURED = tuple(dict.fromkeys((*(f"ndcg@{k}" for k in CUTOFFS), *METRICS)))

RESAMPLES = 10_000
# The resampled signs of this many queries at a time: 80 MB.
_RESAMPLED_AT_ONCE = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The budget that all learners share.

    Parameters
    ----------
    rounds : int, default 250
        Trees, as the SHF-SDCG paper has for OHSUMED.
    learning_rate : float, default 0.05
    leaves : int, default 15
        Leaves of a tree: small data sets of a hundred queries overfit with more.
    min_docs : int, default 20
        Fewest documents in a leaf. XGBoost does not count documents: see `XGBoostModel`.
    threads : int, default 1
        For host and objective alike. One, so that times compare.
    seed : int, default 0
    convention : str, default "standard"
        Whose rules the metrics follow, as in `boostrank.evaluate`.
    fixed_rounds : bool, default False
        Test all trees, in place of the best round on the validation part.

    Raises
    ------
    TypeError, ValueError
        For a value of another kind or out of its range.
    """

    rounds: int = 250
    learning_rate: float = 0.05
    leaves: int = 15
    min_docs: int = 20
    threads: int = 1
    seed: int = 0
    convention: str = "standard"
    fixed_rounds: bool = False

    def __post_init__(self) -> None:
        for name in ("rounds", "min_docs", "threads"):
            check_count(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        if check_count("leaves", self.leaves) < 2:
            raise ValueError("leaves must be at least 2: a tree of one leaf ranks nothing")
        cores: int = vars(numba.config)["NUMBA_NUM_THREADS"]
        if self.threads > cores:
            raise ValueError(f"threads must be at most {cores} on this machine, got {self.threads}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")
        evaluate([0.0], [1.0], [1], METRICS, convention=self.convention)  # checks its name


@contextmanager
def kernel_threads(threads: int) -> Iterator[None]:
    """Let our kernels use so many threads inside the block."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def import_host(name: str) -> Any:
    """Return a host's module, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f'{name} is not installed: pip install "boostrank[{name}]", or leave it out by naming '
            f"the other host ({error})"
        ) from error


def versions(hosts: Iterable[str]) -> dict[str, str]:
    """Return the versions of boostrank, of hosts, which are loaded, and of what all rely on."""
    # Not from the metadata: the module xgboost comes from xgboost or from xgboost-cpu.
    return {
        "boostrank": version("boostrank"),
        **{host: str(import_host(host).__version__) for host in hosts},
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def _first_line(error: Exception) -> str:
    """XGBoost's message without its stack trace."""
    return str(error).partition("\n")[0]


class Model(ABC):
    """A trained booster of one host. Scores are raw: what the trees add up to, from 0."""

    host: ClassVar[str]
    #: Ranking objectives of the host's own.
    builtins: ClassVar[tuple[str, ...]]

    def __init__(self, booster: Any, threads: int) -> None:
        self.booster = booster
        self.threads = threads

    @classmethod
    @abstractmethod
    def train(
        cls,
        objective: HostObjective | str,
        data: RankingData,
        settings: Settings,
        more: Mapping[str, Any] | None = None,
        on_round: Callable[[], object] | None = None,
    ) -> tuple[Self, float]:
        """Train, and return the model with the seconds that it took without building the data.

        Parameters
        ----------
        objective : HostObjective or str
            Ours, or the name of one of `builtins`.
        data : RankingData
        settings : Settings
        more : mapping, optional
            The host's own parameters, which go before `settings`.
        on_round : callable, optional
            Called after each round, to show progress.
        """

    @classmethod
    @abstractmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model in the host's own format."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the model in the host's own format."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features the model was trained on."""

    @property
    @abstractmethod
    def n_trees(self) -> int:
        """How many rounds gave a tree: LightGBM leaves out those that found no split."""

    @abstractmethod
    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return the scores of the first `rounds` trees, of all where None."""

    @abstractmethod
    def staged(self, X: Floats) -> Iterator[Floats]:
        """Yield the scores after each tree: those of `predict` with rounds = 1, 2, ..."""


class LightGBMModel(Model):
    """A LightGBM booster; what `Settings` does not name has LightGBM's default."""

    host = "lightgbm"
    builtins = ("lambdarank", "rank_xendcg")

    @classmethod
    def train(
        cls,
        objective: HostObjective | str,
        data: RankingData,
        settings: Settings,
        more: Mapping[str, Any] | None = None,
        on_round: Callable[[], object] | None = None,
    ) -> tuple[Self, float]:
        """Train on `data`; see `Model.train`."""
        lightgbm = import_host("lightgbm")
        params = {
            "metric": "None",
            "learning_rate": settings.learning_rate,
            "num_leaves": settings.leaves,
            "min_data_in_leaf": settings.min_docs,
            "num_threads": settings.threads,
            "seed": settings.seed,
            # Otherwise LightGBM times two ways of building histograms at every start, and the
            # faster one of the day decides the rounding.
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
            **(more or {}),
        }
        try:
            dataset = lightgbm.Dataset(
                data.X, label=data.y, group=data.group, params=params
            ).construct()
            started = time.perf_counter()
            booster = lightgbm.train(
                params | {"objective": objective},
                dataset,
                settings.rounds,
                callbacks=None if on_round is None else [lambda _: on_round()],
            )
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"lightgbm cannot train {objective}: {error}") from error
        return cls(booster, settings.threads), time.perf_counter() - started

    @classmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model; see `Model.load`."""
        lightgbm = import_host("lightgbm")
        try:
            return cls(lightgbm.Booster(model_file=path), threads)
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"{path} is not a whole LightGBM model: {error}") from error

    def save(self, path: Path) -> None:
        """Write the model; see `Model.save`."""
        self.booster.save_model(path)

    @property
    def n_features(self) -> int:
        """Features; see `Model.n_features`."""
        return int(self.booster.num_feature())

    @property
    def n_trees(self) -> int:
        """Trees; see `Model.n_trees`."""
        return int(self.booster.num_trees())

    def _predict(self, X: Floats, start: int, trees: int) -> Floats:
        scores: Floats = self.booster.predict(
            X,
            start_iteration=start,
            num_iteration=trees,
            raw_score=True,
            num_threads=self.threads,
        )
        return scores

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Scores; see `Model.predict`."""
        return self._predict(X, 0, self.n_trees if rounds is None else rounds)

    def staged(self, X: Floats) -> Iterator[Floats]:
        """Scores after each tree; see `Model.staged`."""
        scores = np.zeros(len(X))
        for tree in range(self.n_trees):
            scores = scores + self._predict(X, tree, 1)
            yield scores


def _xgboost_callback(on_round: Callable[[], object]) -> Any:
    def after_iteration(self: Any, model: Any, epoch: int, evals_log: Any) -> bool:
        on_round()
        return False  # go on

    base = import_host("xgboost").callback.TrainingCallback
    return type("OnRound", (base,), {"after_iteration": after_iteration})()


class XGBoostModel(Model):
    """An XGBoost booster growing trees leaf by leaf, as LightGBM does.

    XGBoost limits a leaf's summed Hessian (``min_child_weight``), not its documents, and its
    built-in objectives have Hessians of another size than ours: no value means the same to all.
    All rows on XGBoost keep its defaults, ``min_child_weight=1`` and ``lambda=1``; on the
    validation parts of OHSUMED and MQ2008, values from 0.001 to 20 and a lambda of 0.01 moved
    NDCG@10 of LambdaRank, regression and ``rank:ndcg`` by less than 0.01, up and down.
    """

    host = "xgboost"
    builtins = ("rank:ndcg", "rank:pairwise")

    @classmethod
    def train(
        cls,
        objective: HostObjective | str,
        data: RankingData,
        settings: Settings,
        more: Mapping[str, Any] | None = None,
        on_round: Callable[[], object] | None = None,
    ) -> tuple[Self, float]:
        """Train on `data`; see `Model.train`."""
        xgboost = import_host("xgboost")
        ours = isinstance(objective, HostObjective)
        params = {
            "objective": "rank:pairwise" if ours else objective,
            "base_score": 0,
            "learning_rate": settings.learning_rate,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": settings.leaves,
            "max_depth": 0,
            "nthread": settings.threads,
            "seed": settings.seed,
            **(more or {}),
        }
        # The data is cut into bins here; a plain DMatrix would do it in the first round.
        dataset = xgboost.QuantileDMatrix(
            data.X, label=data.y, group=data.group, nthread=settings.threads
        )
        started = time.perf_counter()
        try:
            booster = xgboost.train(
                params,
                dataset,
                settings.rounds,
                obj=objective if ours else None,
                callbacks=None if on_round is None else [_xgboost_callback(on_round)],
            )
        except xgboost.core.XGBoostError as error:
            raise ValueError(f"xgboost cannot train {objective}: {_first_line(error)}") from error
        return cls(booster, settings.threads), time.perf_counter() - started

    @classmethod
    def load(cls, path: Path, threads: int) -> Self:
        """Read a model; see `Model.load`."""
        xgboost = import_host("xgboost")
        booster = xgboost.Booster({"nthread": threads})
        try:
            booster.load_model(bytearray(path.read_bytes()))
        except xgboost.core.XGBoostError as error:
            raise ValueError(
                f"{path} is not a whole XGBoost model: {_first_line(error)}"
            ) from error
        return cls(booster, threads)

    def save(self, path: Path) -> None:
        """Write the model; see `Model.save`."""
        path.write_bytes(self.booster.save_raw("json" if path.suffix == ".json" else "ubj"))

    @property
    def n_features(self) -> int:
        """Features; see `Model.n_features`."""
        return int(self.booster.num_features())

    @property
    def n_trees(self) -> int:
        """Trees; see `Model.n_trees`."""
        return int(self.booster.num_boosted_rounds())

    def _matrix(self, X: Floats) -> Any:
        # Our data has no names: features go by position, also where the model knows names.
        names = self.booster.feature_names
        return import_host("xgboost").DMatrix(X, feature_names=names, nthread=self.threads)

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Scores; see `Model.predict`."""
        last = self.n_trees if rounds is None else rounds
        scores = self.booster.predict(
            self._matrix(X), output_margin=True, iteration_range=(0, last)
        )
        return np.asarray(scores, dtype=np.float64)

    def staged(self, X: Floats) -> Iterator[Floats]:
        """Scores after each tree; see `Model.staged`."""
        # XGBoost adds up in float32, and so does this: the sums, and their ties, are the same.
        matrix = self._matrix(X)
        scores = np.zeros(len(X), dtype=np.float32)
        for tree in range(self.n_trees):
            scores = scores + self.booster.predict(
                matrix, output_margin=True, iteration_range=(tree, tree + 1)
            )
            yield scores.astype(np.float64)


HOSTS: Mapping[str, type[Model]] = {model.host: model for model in (LightGBMModel, XGBoostModel)}


def load_model(path: Path, threads: int = 1) -> Model:
    """Read a model file of either host, told apart by its content.

    Parameters
    ----------
    path : Path
    threads : int, default 1
        For predicting.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If it is no model of LightGBM or XGBoost.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"tree":
        return LightGBMModel.load(path, threads)
    if start.startswith(b"{"):  # JSON and UBJSON alike
        return XGBoostModel.load(path, threads)
    raise ValueError(
        f"{path} is no model of LightGBM (text) or XGBoost (JSON, UBJSON), as 'boostrank train' "
        "writes them"
    )


@dataclass(frozen=True)
class Learner:
    """One objective on one host.

    Attributes
    ----------
    label : str
        What the table calls the objective: ours as the user wrote it, a built-in one with its
        host, such as ``lightgbm:lambdarank``.
    host : str
    objective : HostObjective or str
        Ours, or the host's name of a built-in one.
    """

    label: str
    host: str
    objective: HostObjective | str

    @property
    def builtin(self) -> bool:
        """Whether the objective is the host's own."""
        return isinstance(self.objective, str)

    def __str__(self) -> str:
        return self.label if self.builtin else f"{self.label}@{self.host}"


def learners(
    objectives: Mapping[str, HostObjective] | None = None,
    hosts: Sequence[str] = tuple(HOSTS),
    *,
    rounds: int = Settings.rounds,
) -> list[Learner]:
    """List what is compared.

    Parameters
    ----------
    objectives : mapping of label to HostObjective, optional
        Default None: all objectives with their defaults. Regression always joins them.
    hosts : sequence of str, default both
    rounds : int, default 250
        For the schedule of objectives made here.

    Returns
    -------
    list of Learner
        Every objective on every host, and the hosts' own.

    Raises
    ------
    ValueError
        For an unknown host, or none.
    ImportError
        For a host that is not installed.
    """
    if not hosts:
        raise ValueError(f"hosts must name at least one of {', '.join(HOSTS)}")
    chosen = dict.fromkeys(check_choice("host", host, HOSTS) for host in hosts)
    for host in chosen:
        import_host(host)
    if objectives is None:
        objectives = {name: make_objective(name, {}, rounds) for name in objective_names()}
    ours = {"regression": make_objective("regression", {}, rounds)} | dict(objectives)
    return [
        Learner(f"{host}:{name}", host, name) for host in chosen for name in HOSTS[host].builtins
    ] + [Learner(label, host, made) for label, made in ours.items() for host in chosen]


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one learner did in one fold.

    Attributes
    ----------
    fold : int
        From 1, as LETOR numbers them.
    curve : float64 array (n_trees,)
        NDCG@10 of the validation part after each tree.
    best_round : int
        The first maximum of `curve`, from 1; the last round where `Settings.fixed_rounds`.
    qid : int64 array (n_test_queries,)
    figures : dict of str to float64 array (n_test_queries,)
        `METRICS`, and NDCG at all of `CUTOFFS`, of every test query with the best round's trees;
        NaN where the convention leaves the query out.
    seconds_per_round : float
    """

    fold: int
    curve: Floats
    best_round: int
    qid: Integers
    figures: dict[str, Floats]
    seconds_per_round: float


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
        The fold's, for the result.
    settings : Settings
    on_round : callable, optional
        Called after each boosting round.

    Returns
    -------
    FoldResult
        Its seconds are those of training, all rounds and without evaluation, divided by the rounds.
    """
    if isinstance(learner.objective, HostObjective):
        # Loads or compiles the kernels, which is no part of a round.
        learner.objective.grad_hess([0.0, 0.0], [1, 0], [2], round=1)
    with kernel_threads(settings.threads):
        model, seconds = HOSTS[learner.host].train(
            learner.objective, fold.train, settings, on_round=on_round
        )

    validation, test = fold.validation, fold.test

    def figure(scores: Floats) -> float:
        values = evaluate(
            scores, validation.y, validation.group, (CHOSEN_BY,), convention=settings.convention
        )
        return values[CHOSEN_BY]

    curve = np.array([figure(scores) for scores in model.staged(validation.X)])
    best_round = len(curve) if settings.fixed_rounds else int(np.argmax(curve)) + 1
    return FoldResult(
        fold=number,
        curve=curve,
        best_round=best_round,
        qid=test.qid[np.cumsum(test.group) - test.group],
        figures=evaluate(
            model.predict(test.X, best_round),
            test.y,
            test.group,
            _MEASURED,
            convention=settings.convention,
            per_query=True,
        ),
        seconds_per_round=seconds / settings.rounds,
    )


def check_folds(folds: Sequence[int], n_folds: int) -> list[int]:
    """Return fold numbers, each once and in 1..`n_folds`."""
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
        As `letor_folds` takes them, each with a relevant document.
    settings : Settings
    folds : sequence of int
        Which folds, from 1.
    on_round : callable, optional
        Called after each boosting round.

    Yields
    ------
    FoldResult
        Each when it is done.

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
    # Made anew for every learner: all folds at once would hold the data several times over.
    for number, fold in enumerate(letor_folds(parts), start=1):
        if number in folds:
            yield run_fold(learner, fold, number, settings, on_round)


def paired_p_value(a: Floats, b: Floats, *, seed: int) -> float:
    """Two-sided paired randomisation test of the mean difference.

    Parameters
    ----------
    a, b : float64 arrays (n_queries,)
        One figure a query; pairs with a NaN are left out.
    seed : int
        Of the 10,000 resamples; with 13 pairs or fewer all are counted.

    Returns
    -------
    float
        Share of sign changes with a mean difference at least as large; 1 where all pairs are equal.

    Raises
    ------
    ImportError
        Without SciPy: ``pip install "boostrank[cli]"``.
    """
    try:
        from scipy.stats import permutation_test
    except ImportError as error:
        raise ImportError(
            f'the paired test needs SciPy: pip install "boostrank[cli]" ({error})'
        ) from error
    pairs = ~(np.isnan(a) | np.isnan(b))
    difference = (a - b)[pairs]
    if not difference.any():
        return 1.0
    test = permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",  # of one sample: every sign may change
        alternative="two-sided",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, _RESAMPLED_AT_ONCE // len(difference)),
        random_state=seed,
    )
    return float(test.pvalue)


def _half_width(folds: Sequence[Floats]) -> float:
    """Half the normal 95 % interval of a mean over folds of means over queries."""
    variances = []
    for values in folds:
        values = values[~np.isnan(values)]
        variances.append(values.var(ddof=1) / len(values) if len(values) > 1 else np.nan)
    return 1.96 * float(np.sqrt(np.sum(variances))) / len(folds)


@dataclass(frozen=True, eq=False)
class Row:
    """One learner over all folds, against the baseline.

    Attributes
    ----------
    learner : Learner
    folds : tuple of FoldResult
    baseline : Row or None
        None: this row is the baseline.
    seed : int
        Of the paired test.
    p_value : float
        See `paired_p_value`; over the test queries of all folds, by NDCG@10.
    """

    learner: Learner
    folds: tuple[FoldResult, ...]
    baseline: "Row | None"
    seed: int
    p_value: float = field(init=False)

    def __post_init__(self) -> None:
        p_value = 1.0
        if self.baseline is not None:
            p_value = paired_p_value(
                self.pooled(CHOSEN_BY), self.baseline.pooled(CHOSEN_BY), seed=self.seed
            )
        object.__setattr__(self, "p_value", p_value)

    def pooled(self, metric: str) -> Floats:
        """Return the figures of the test queries of all folds."""
        return np.concatenate([fold.figures[metric] for fold in self.folds])

    def mean(self, metric: str) -> float:
        """Return the mean over folds of the mean over queries."""
        return float(np.mean([np.nanmean(fold.figures[metric]) for fold in self.folds]))

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the normal 95 % interval of `mean`, from the spread of queries in their folds."""
        half = _half_width([fold.figures[metric] for fold in self.folds])
        return self.mean(metric) - half, self.mean(metric) + half

    @property
    def difference(self) -> float:
        """NDCG@10 less that of the baseline."""
        return (
            0.0 if self.baseline is None else self.mean(CHOSEN_BY) - self.baseline.mean(CHOSEN_BY)
        )

    @property
    def differences(self) -> tuple[Floats, ...]:
        """NDCG@10 less the baseline's, of every test query, fold by fold."""
        own = [fold.figures[CHOSEN_BY] for fold in self.folds]
        if self.baseline is None:
            return tuple(values - values for values in own)
        theirs = (fold.figures[CHOSEN_BY] for fold in self.baseline.folds)
        return tuple(a - b for a, b in zip(own, theirs, strict=True))

    @property
    def difference_interval(self) -> tuple[float, float]:
        """Return the normal 95 % interval of `difference`, queries paired."""
        half = _half_width(self.differences)
        return self.difference - half, self.difference + half

    @property
    def seconds_per_round(self) -> float:
        """Mean over folds."""
        return float(np.mean([fold.seconds_per_round for fold in self.folds]))

    @property
    def curve(self) -> Floats:
        """Validation NDCG@10 by round, mean over folds; a fold with fewer trees keeps its last."""
        rounds = max(len(fold.curve) for fold in self.folds)
        padded = [np.pad(fold.curve, (0, rounds - len(fold.curve)), "edge") for fold in self.folds]
        return np.asarray(np.mean(padded, axis=0))


@dataclass(frozen=True)
class Failure:
    """A learner that could not be trained or tested.

    Attributes
    ----------
    learner : Learner
    error : str
        One line.
    """

    learner: Learner
    error: str


class Results:
    """What is done of a comparison, fold by fold, on disk: ``results.jsonl``.

    A line holds a `FoldResult` and everything that determines it: data, fold, host, objective with
    all its parameters, settings, versions, and the machine, which times and rounding depend on. A
    result counts only where all of that is equal.

    Parameters
    ----------
    folder : Path
        Made where it is absent.
    parts : sequence of RankingData
        As the learners see them.
    settings : Settings
    machine : str
        Its name.
    resume : bool
        Whether what is in the file is used, or replaced.

    Attributes
    ----------
    path : Path
    stale : list of list of str
        For each result that `find` did not use, what it was made with that is different now.

    Raises
    ------
    OSError
        If the folder cannot be made, or the file not be read or written.
    """

    def __init__(
        self,
        folder: Path,
        parts: Sequence[RankingData],
        settings: Settings,
        machine: str,
        *,
        resume: bool,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self.stale: list[list[str]] = []
        self._common = {
            "data": _digest(
                array.tobytes() for part in parts for array in (part.X, part.y, part.qid)
            ),
            **asdict(settings),
            "machine": machine,
            # The version stands still between releases; the sources do not.
            "sources": _digest(path.read_bytes() for path in _sources()),
        }
        self._lines: list[dict[str, Any]] = []
        if resume and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    self._lines.append(json.loads(line))
                except json.JSONDecodeError:
                    continue  # cut off while it was written
        # A line that was cut off must not swallow the next one.
        whole = self.path.with_suffix(".part")
        whole.write_text("".join(map(_line, self._lines)), encoding="utf-8")
        whole.replace(self.path)

    def _key(self, learner: Learner, fold: int) -> dict[str, Any]:
        return {
            "host": learner.host,
            "objective": str(learner.objective),
            "fold": fold,
            "versions": versions([learner.host]),
            **self._common,
        }

    def find(self, learner: Learner, fold: int) -> FoldResult | None:
        """Return what is on disk of a learner in a fold."""
        key = self._key(learner, fold)
        others = []
        for line in self._lines:
            differing = [name for name, value in key.items() if line["key"].get(name) != value]
            if not differing:
                return _fold_result(fold, line["result"])
            if not {"host", "objective", "fold"} & set(differing):
                others.append(differing)
        if others:
            self.stale.append(min(others, key=len))
        return None

    def add(self, learner: Learner, result: FoldResult) -> None:
        """Append a result."""
        line = {
            "key": self._key(learner, result.fold),
            "result": {
                "curve": result.curve.tolist(),
                "best_round": result.best_round,
                "qid": result.qid.tolist(),
                "figures": {
                    name: [None if np.isnan(value) else value for value in values.tolist()]
                    for name, values in result.figures.items()
                },
                "seconds_per_round": result.seconds_per_round,
            },
        }
        # Closed each time: what is written stays, whatever stops the run.
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(line))


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False) + "\n"


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(hashlib.sha256(piece).digest())  # so that where one ends counts too
    return digest.hexdigest()


def _sources() -> list[Path]:
    folders = (Path(__file__).parent, Path(objectives.__file__).parent)
    return [path for folder in folders for path in sorted(folder.glob("*.py"))]


def _fold_result(fold: int, stored: dict[str, Any]) -> FoldResult:
    return FoldResult(
        fold=fold,
        curve=np.array(stored["curve"], dtype=np.float64),
        best_round=stored["best_round"],
        qid=np.array(stored["qid"], dtype=np.int64),
        figures={
            name: np.array(values, dtype=np.float64) for name, values in stored["figures"].items()
        },
        seconds_per_round=stored["seconds_per_round"],
    )


class Records:
    """The two CSV files of a comparison, written as its rows finish.

    ``summary.csv`` has a line for each learner, ``queries.csv`` one for each learner and test
    query. Numbers have all their digits; NaN is empty, and so are the figures beside an error.

    Parameters
    ----------
    folder : Path
        Made where it is absent; files of an earlier run in it are replaced.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.summary = folder / "summary.csv"
        self.queries = folder / "queries.csv"
        self._write(
            self.summary,
            "w",
            [
                [
                    "objective",
                    "host",
                    *METRICS,
                    "seconds_per_round",
                    "difference",
                    "p_value",
                    "best_rounds",
                    "error",
                ]
            ],
        )
        self._write(self.queries, "w", [["objective", "host", "fold", "qid", *METRICS]])

    def add(self, row: Row | Failure) -> None:
        """Append a row that is done, or has failed."""
        name = [row.learner.label, row.learner.host]
        if isinstance(row, Failure):
            empty = [""] * (len(METRICS) + 4)
            self._write(self.summary, "a", [[*name, *empty, row.error]])
            return
        self._write(
            self.summary,
            "a",
            [
                [
                    *name,
                    *(row.mean(metric) for metric in METRICS),
                    row.seconds_per_round,
                    row.difference,
                    row.p_value,
                    " ".join(str(fold.best_round) for fold in row.folds),
                    "",
                ]
            ],
        )
        self._write(
            self.queries,
            "a",
            (
                [*name, fold.fold, qid, *("" if np.isnan(value) else value for value in values)]
                for fold in row.folds
                for qid, *values in zip(
                    fold.qid.tolist(),
                    *(fold.figures[metric].tolist() for metric in METRICS),
                    strict=True,
                )
            ),
        )

    @staticmethod
    def _write(path: Path, mode: str, lines: Iterable[list[Any]]) -> None:
        # As in `Results`.
        with path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
