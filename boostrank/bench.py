"""Times objectives against the hosts' built-ins on this machine; prints nothing.

A built-in's gradient cannot be called alone. Its time is that of a boosting round on data with one
feature and trees of two leaves, less the time of the same round with squared error. Ours is the
whole call that the host makes: predictions in, float32 gradients out. Both are timed in turn, many
times; the figure is the median of the paired ratios, which a busy machine disturbs least.

Neither side normalises scores or queries: those parts differ between the implementations.
"""

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from boostrank.compare import import_host, kernel_threads
from boostrank.datasets import GRADE_SHARES
from boostrank.hosts import HostObjective
from boostrank.registry import SDCG, SHFSDCG, LambdaRank

#: Documents timed at each list length, in as many queries as that makes.
TOTAL_DOCS = 36_000


@dataclass(frozen=True)
class Pair:
    """One of our objectives and the built-in that it is timed against.

    Attributes
    ----------
    objective : HostObjective
    host : {"lightgbm", "xgboost"}
    builtin : str
        Name of the built-in objective.
    params : tuple of (str, value)
        Parameters that make the built-in consider the same pairs, without normalisations.
    label : str
    """

    objective: HostObjective
    host: str
    builtin: str
    params: tuple[tuple[str, Any], ...]
    label: str


def pairs(docs: int) -> tuple[Pair, ...]:
    """Return what is timed for queries of `docs` documents.

    Parameters
    ----------
    docs : int
        Documents a query, at least 2.

    Returns
    -------
    tuple of Pair
    """
    everything = (("lambdarank_norm", False), ("lambdarank_truncation_level", docs))
    top = (("lambdarank_norm", False), ("lambdarank_truncation_level", 30))
    topk = (
        ("lambdarank_pair_method", "topk"),
        ("lambdarank_num_pair_per_sample", docs),
        ("lambdarank_normalization", False),
        ("lambdarank_score_normalization", False),
    )
    ours = LambdaRank(norm=False)
    truncated = LambdaRank(norm=False, truncation=30)
    return (
        Pair(ours, "lightgbm", "lambdarank", everything, "lambdarank, all pairs"),
        Pair(truncated, "lightgbm", "lambdarank", top, "lambdarank, truncation 30"),
        Pair(ours, "xgboost", "rank:ndcg", topk, "lambdarank, all pairs"),
        Pair(SDCG(), "lightgbm", "lambdarank", everything, "sdcg against lambdarank"),
        Pair(SHFSDCG(), "lightgbm", "lambdarank", everything, "shf-sdcg against lambdarank"),
    )


@dataclass(frozen=True)
class Timing:
    """One line of the table.

    Attributes
    ----------
    docs : int
        Documents a query.
    label, host : str
    ours, builtin : float
        Nanoseconds for each document, medians.
    ratio : float
        Built-in's time over ours, median of paired runs.
    """

    docs: int
    label: str
    host: str
    ours: float
    builtin: float
    ratio: float


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _lightgbm_rounds(
    pair: Pair, X: Any, y: Any, scores: Any, group: Any, threads: int
) -> tuple[Callable[[], object], Callable[[], object], Callable[[], object]]:
    lightgbm = import_host("lightgbm")
    common = {"num_leaves": 2, "verbosity": -1, "num_threads": threads, "metric": "None"}

    def booster(**params: Any) -> Any:
        data = lightgbm.Dataset(X, y, group=group, init_score=scores, params=common).construct()
        return lightgbm.Booster(common | params, data)

    builtin = booster(objective=pair.builtin, **dict(pair.params))
    plain = booster(objective="regression", boost_from_average=False)
    data = plain.train_set
    preds = scores.copy()
    return builtin.update, plain.update, lambda: pair.objective(preds, data)


def _xgboost_rounds(
    pair: Pair, X: Any, y: Any, scores: Any, group: Any, threads: int
) -> tuple[Callable[[], object], Callable[[], object], Callable[[], object]]:
    xgboost = import_host("xgboost")
    matrix = xgboost.QuantileDMatrix(
        X, y, group=group, base_margin=scores, nthread=threads, max_bin=256
    )
    common = {"max_depth": 1, "nthread": threads, "base_score": 0, "disable_default_eval_metric": 1}

    def update(**params: Any) -> Callable[[], object]:
        booster = xgboost.Booster(common | params, [matrix])
        rounds = iter(range(1_000_000))
        return lambda: booster.update(matrix, next(rounds))

    preds = scores.astype(np.float32)
    return (
        update(objective=pair.builtin, **dict(pair.params)),
        update(objective="reg:squarederror"),
        lambda: pair.objective(0, preds, matrix),
    )


def measure(
    docs: Sequence[int], *, repeats: int = 15, threads: int = 1, seed: int = 0
) -> Iterator[Timing]:
    """Time every pair at every list length.

    Parameters
    ----------
    docs : sequence of int
        Documents a query.
    repeats : int, default 15
        Paired runs, of which the median counts.
    threads : int, default 1
        For host and objective alike.
    seed : int, default 0
        Of labels and scores.

    Yields
    ------
    Timing
    """
    rng = np.random.default_rng(seed)
    for n in docs:
        n_queries = max(1, TOTAL_DOCS // n)
        total = n * n_queries
        group = np.full(n_queries, n)
        y = rng.choice(len(GRADE_SHARES), total, p=GRADE_SHARES).astype(np.float64)
        scores = rng.normal(size=total)
        X = rng.normal(size=(total, 1))
        for pair in pairs(n):
            prepare = _lightgbm_rounds if pair.host == "lightgbm" else _xgboost_rounds
            with kernel_threads(threads):
                calls = prepare(pair, X, y, scores, group, threads)
                for call in calls:  # compiles, and fills what is filled once
                    call()
                runs = [[_seconds(call) for call in calls] for _ in range(repeats)]
            yield Timing(
                docs=n,
                label=pair.label,
                host=pair.host,
                ours=median(ours for _, _, ours in runs) / total * 1e9,
                builtin=median(full - plain for full, plain, _ in runs) / total * 1e9,
                ratio=median((full - plain) / ours for full, plain, ours in runs),
            )


def machine() -> str:
    """Name this machine's processor, as far as it says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(names)} cores"
