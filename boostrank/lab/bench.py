"""Times objectives against the hosts' built-ins on this machine; prints nothing.

docs/speed.md says what is timed. A built-in's gradient cannot be called alone, so a round of it is
timed, and one with squared error subtracted. The result is the median of the paired ratios, which a
busy machine disturbs least.

Both sides do the same work: neither normalises scores or queries, except in the rows that say so.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from statistics import median
from typing import Any, ClassVar

import numpy as np

from boostrank.datasets.synthetic import GRADE_SHARES
from boostrank.lab.environment import kernel_threads
from boostrank.lab.models import installed
from boostrank.messages import import_host
from boostrank.objectives import (
    SDCG,
    SHFSDCG,
    Blend,
    GBRank,
    LambdaRank,
    Objective,
    RankNet,
    RankSVM,
    SmoothNDCG,
)
from boostrank.objectives.validation import Floats

#: Documents timed, in queries of the given length: a small training set. For lists longer than
#: `LONG_LIST` a tenth of them, because a built-in would take seconds for all.
TOTAL_DOCS = 360_000
LONG_LIST = 1_000
#: The longest query that LightGBM's built-ins accept; beyond it, our objectives are timed alone.
LONGEST_BUILTIN = 10_000


@dataclass(frozen=True)
class Pair:
    """One of our objectives and the built-in that it is timed against."""

    objective: Objective
    #: Whose NDCG objective it is; "" if ours is timed alone.
    host: str
    #: Those that make the built-in consider the same pairs; empty for its defaults.
    params: dict[str, Any]
    label: str


def pairs(docs: int) -> tuple[Pair, ...]:
    """Return the pairs that are timed for queries of `docs` documents, at least two."""

    def lightgbm(truncation: int, norm: bool) -> dict[str, Any]:
        return {"lambdarank_norm": norm, "lambdarank_truncation_level": truncation}

    def xgboost(norm: bool) -> dict[str, Any]:
        return {
            "lambdarank_pair_method": "topk",
            "lambdarank_num_pair_per_sample": docs,
            "lambdarank_normalization": norm,
            "lambdarank_score_normalization": norm,
        }

    plain, normalised = LambdaRank(norm=False), LambdaRank(norm=True)
    truncated, top_30 = LambdaRank(norm=False, truncation=30), LambdaRank(truncation=30)
    everything, top = lightgbm(docs, False), lightgbm(30, False)
    return (
        Pair(plain, "lightgbm", everything, "lambdarank, all pairs"),
        Pair(truncated, "lightgbm", top, "lambdarank, truncation 30"),
        Pair(plain, "xgboost", xgboost(False), "lambdarank, all pairs"),
        Pair(SDCG(), "lightgbm", everything, "sdcg against lambdarank"),
        Pair(SHFSDCG(), "lightgbm", everything, "shf-sdcg against lambdarank"),
        Pair(SmoothNDCG(), "lightgbm", everything, "smooth-ndcg against lambdarank"),
        Pair(normalised, "lightgbm", lightgbm(docs, True), "lambdarank, normalised"),
        Pair(normalised, "xgboost", xgboost(True), "lambdarank, normalised"),
        Pair(normalised, "lightgbm", {}, "lambdarank, normalised against default"),
        Pair(top_30, "lightgbm", {}, "lambdarank, normalised, top 30 against default"),
        Pair(Blend(), "lightgbm", {}, "blend against default"),
        Pair(normalised, "xgboost", {}, "lambdarank, normalised against default"),
        Pair(Blend(), "xgboost", {}, "blend against default"),
    )


@dataclass(frozen=True)
class Training:
    """Time of whole boosting rounds: medians."""

    #: Documents per query.
    docs: int
    label: str
    host: str
    #: Seconds per round, as `builtin`.
    ours: float
    builtin: float
    #: Our time divided by the built-in's in paired rounds.
    ratio: float


@dataclass(frozen=True)
class Timing(Training):
    """Time of the gradients alone, in nanoseconds per document: medians of paired runs.

    `builtin` is NaN beyond `LONGEST_BUILTIN`, and `ratio` is the built-in's time divided by ours.
    """

    #: Our time divided by our time with all cores.
    speedup: float


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


class _LightGBM:
    """Boosters of LightGBM on one data set: of trees of two leaves unless `n_leaves` is given."""

    builtin: ClassVar[dict[str, Any]] = {"objective": "lambdarank"}
    plain: ClassVar[dict[str, Any]] = {"objective": "regression", "boost_from_average": False}

    def __init__(
        self, X: Any, y: Any, group: Any, threads: int, scores: Any = None, n_leaves: int = 0
    ) -> None:
        trees = {"num_leaves": n_leaves, "force_col_wise": True} if n_leaves else {"num_leaves": 2}
        self.common = {"verbosity": -1, "num_threads": threads, "metric": "None", **trees}
        self.lightgbm = import_host("lightgbm")
        self.data = self.lightgbm.Dataset(
            X, y, group=group, init_score=scores, params=self.common
        ).construct()

    def rounds(self, ours: Objective | None = None, **params: Any) -> Callable[[], object]:
        """Return what trains the next round of a new booster, with ours or by its parameters."""
        params = self.common | {"objective": "none"} | params
        booster = self.lightgbm.Booster(params, self.data)
        return lambda: booster.update(fobj=ours)

    def gradient(self, ours: Objective, scores: Any) -> Callable[[], object]:
        """Return the call that the host makes in each round."""
        preds = scores.copy()
        return lambda: ours(preds, self.data)


class _XGBoost:
    """Boosters of XGBoost, likewise."""

    builtin: ClassVar[dict[str, Any]] = {"objective": "rank:ndcg"}
    plain: ClassVar[dict[str, Any]] = {"objective": "reg:squarederror"}

    def __init__(
        self, X: Any, y: Any, group: Any, threads: int, scores: Any = None, n_leaves: int = 0
    ) -> None:
        trees: dict[str, Any] = {"max_depth": 1}
        if n_leaves:
            trees = {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide"}
        own = {"base_score": 0, "disable_default_eval_metric": 1, "nthread": threads}
        self.common = trees | own
        self.xgboost = import_host("xgboost")
        self.data = self.xgboost.QuantileDMatrix(
            X, y, group=group, base_margin=scores, nthread=threads, max_bin=256
        )

    def rounds(self, ours: Objective | None = None, **params: Any) -> Callable[[], object]:
        params = self.common | {"objective": "rank:pairwise"} | params
        booster, number = self.xgboost.Booster(params, [self.data]), count()
        return lambda: booster.update(self.data, next(number), fobj=ours)

    def gradient(self, ours: Objective, scores: Any) -> Callable[[], object]:
        preds = scores.astype(np.float32)
        number = count()  # only the first iteration looks for labels that are not grades
        return lambda: ours(next(number), preds, self.data)


_BOOSTERS: dict[str, type[_LightGBM | _XGBoost]] = {"lightgbm": _LightGBM, "xgboost": _XGBoost}


def _installed_pairs(docs: int) -> tuple[Pair, ...]:
    """Return the pairs whose host is installed."""
    hosts = installed()
    return tuple(pair for pair in pairs(docs) if pair.host in hosts)


def timed_pairs(docs: int, distinct: bool = False) -> tuple[Pair, ...]:
    """Return the pairs timed at a length: ours alone where the built-ins refuse lists or labels."""
    if distinct:
        losses = {
            "lambdarank, all pairs": LambdaRank(norm=False, gain="linear"),
            "lambdarank, normalised": LambdaRank(norm=True, gain="linear"),
            "ranknet": RankNet(),
            "gbrank": GBRank(),
            "ranksvm": RankSVM(),
        }
        return tuple(
            Pair(loss, "", {}, f"{name}, labels all different") for name, loss in losses.items()
        )
    if docs <= LONGEST_BUILTIN:
        return _installed_pairs(docs)
    alone = {pair.objective: pair for pair in reversed(pairs(docs)) if pair.host == "lightgbm"}
    return tuple(replace(pair, host="") for pair in reversed(alone.values()))


def measure(
    docs: Sequence[int],
    *,
    repeats: int = 15,
    threads: int = 1,
    seed: int = 0,
    distinct: bool = False,
) -> Iterator[Timing]:
    """Time every pair at every length; with `distinct`, ours alone, on labels that all differ."""
    rng = np.random.default_rng(seed)
    for n in docs:
        n_queries = max(1, (TOTAL_DOCS if n <= LONG_LIST else TOTAL_DOCS // 10) // n)
        total = n * n_queries
        group = np.full(n_queries, n)
        y = rng.choice(len(GRADE_SHARES), total, p=GRADE_SHARES).astype(np.float64)
        if distinct:
            y = rng.permuted(np.tile(np.arange(n) * (4.0 / n), (n_queries, 1)), axis=1).ravel()
        scores, X = rng.normal(size=total), rng.normal(size=(total, 1))
        for pair in timed_pairs(n, distinct):
            runs = _paired_runs(pair, X, y, scores, group, repeats, threads)
            builtin, ours, on_all_cores = runs / total * 1e9
            medians = median(ours), median(builtin), median(builtin / ours)
            speedup = median(ours / on_all_cores)
            yield Timing(n, pair.label, pair.host, *medians, speedup)


def _paired_runs(
    pair: Pair, X: Any, y: Any, scores: Any, group: Any, repeats: int, threads: int
) -> Floats:
    """Return seconds for one gradient: the built-in's, ours, and ours on all cores."""
    ours: Callable[[], object] = partial(pair.objective, y, scores, None, group)
    with kernel_threads(threads):
        if pair.host:
            boosters = _BOOSTERS[pair.host](X, y, group, threads, scores)
            builtin_round = boosters.rounds(**boosters.builtin, **pair.params)
            plain_round = boosters.rounds(**boosters.plain)
            ours = boosters.gradient(pair.objective, scores)
    runs = []
    for _ in range(repeats + 1):
        builtin = math.nan
        with kernel_threads(threads):
            if pair.host:
                builtin = _seconds(builtin_round) - _seconds(plain_round)
            own = _seconds(ours)
        runs.append((builtin, own, _seconds(ours)))  # the last on all cores, as Numba begins
    return np.transpose(runs[1:])  # the first run compiles and does other one-time work


def trained_pairs(docs: int) -> tuple[Pair, ...]:
    """Return the pairs to train: "lambdarank, all pairs", and those against a host's default."""
    every_pair = pairs(docs)[0].label
    return tuple(p for p in _installed_pairs(docs) if not p.params or p.label == every_pair)


def measure_training(
    lengths: Sequence[int],
    *,
    n_docs: int = 360_000,
    n_features: int = 136,
    n_leaves: int = 63,
    rounds: int = 30,
    threads: int = 2,
    seed: int = 0,
) -> Iterator[Training]:
    """Time boosting rounds, ours and the built-ins' in turn, on float32 data; report medians."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_docs, n_features)).astype(np.float32)
    # Grades in the usual shares, partly explained by some of the features.
    hidden = X[:, :10].sum(axis=1) + 2.0 * rng.normal(size=n_docs).astype(np.float32)
    cuts = np.quantile(hidden, np.cumsum(GRADE_SHARES)[:-1])
    y = np.searchsorted(cuts, hidden).astype(np.float64)
    for docs, pair in ((length, pair) for length in lengths for pair in trained_pairs(length)):
        group = np.full(n_docs // docs, docs)
        total = int(group.sum())
        with kernel_threads(threads):
            boosters = _BOOSTERS[pair.host](X[:total], y[:total], group, threads, None, n_leaves)
            builtin = boosters.rounds(**boosters.builtin, **pair.params)
            ours = boosters.rounds(pair.objective)
            for call in (builtin, ours):
                call()
            runs = [(_seconds(builtin), _seconds(ours)) for _ in range(rounds)]
        theirs, own = np.transpose(runs)
        yield Training(
            docs, pair.label, pair.host, median(own), median(theirs), median(own / theirs)
        )
