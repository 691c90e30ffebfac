"""How well rows rank on real data: tables of docs/accuracy.md.

    python notebooks/accuracy.py run search --seeds 1      # validation parts only
    python notebooks/accuracy.py run test --seeds 1 2 3    # opens the test parts
    python notebooks/accuracy.py table search
    python notebooks/accuracy.py table test --seeds 1 2 3

OHSUMED and MQ2008 come in five partitions; Yandex's queries are split into five, differently for
each seed. A fold trains on three, validates on the fourth and tests on the fifth. The seed is also
used by the host, for the noise and for shuffling documents within their queries. NDCG@10 of every
query is kept after every tenth of 300 trees, in ``out/accuracy``; results found there are not run
again.

`search` trains every row with every entry of `TREES` and reads validation parts; `test` trains each
row with `plain`, with `preset` and with what the search chose for it, and reads test parts. Data
are read from ``$BOOSTRANK_DATA`` (default ``../shared/data``).
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from boostrank.objectives.validation import Floats
from scipy.stats import t

import boostrank
from boostrank.datasets import Fold, RankingData, letor_folds, load_letor, load_letor_parts
from boostrank.lab.model import Model
from boostrank.lab.rivals import TRAINERS
from boostrank.lab.settings import Settings

OUT = Path("out/accuracy")
SETS = ("ohsumed", "mq2008", "yandex")
GROUPS = (*((name,) for name in SETS), SETS)
ROUNDS, STEP = 300, 10
BASE = "lightgbm:lambdarank"
OURS = {
    "blend": boostrank.Blend(),
    "blend:perturb=None": boostrank.Blend(perturb=None),
    "query-rmse": boostrank.QueryRMSE(),
    "yetirank": boostrank.YetiRank(),
    "reg-shf-sdcg": boostrank.RegSHFSDCG(total_rounds=ROUNDS),
    "shf-sdcg": boostrank.SHFSDCG(),
    "sdcg": boostrank.SDCG(),
    "regression": boostrank.Regression(),
}
ROWS = {
    BASE: ("lightgbm", "lambdarank"),
    "lightgbm:rank_xendcg": ("lightgbm", "rank_xendcg"),
    "xgboost:rank:ndcg": ("xgboost", "rank:ndcg"),
    "xgboost:rank:pairwise": ("xgboost", "rank:pairwise"),
    "catboost:QueryRMSE": ("catboost", "QueryRMSE"),
    "catboost:YetiRank": ("catboost", "YetiRank"),
    "catboost:RMSE": ("catboost", "RMSE"),
    **{name: ("lightgbm", objective) for name, objective in OURS.items()},
}
#: `boostrank.presets.REGULARIZED`, under the names below.
PRESET = {"lightgbm": "extra-half", "xgboost": "weight", "catboost": "plain"}
# What the search tries, the same for every row on a host. "plain" is what docs/accuracy.md calls
# the same trees for all; CatBoost has its own.
TREES: dict[str, dict[str, dict[str, Any]]] = {
    "lightgbm": {
        "plain": {},
        "extra": {"extra_trees": True},
        "smooth": {"path_smooth": 20.0},
        "l2-1": {"lambda_l2": 1.0},
        "l2-30": {"lambda_l2": 30.0},
        "extra-31": {"extra_trees": True, "num_leaves": 31},
        "extra-l2-30": {"extra_trees": True, "lambda_l2": 30.0},
        "l2-300": {"lambda_l2": 300.0},
        "extra-l2-300": {"extra_trees": True, "lambda_l2": 300.0},
        "extra-bagging": {"extra_trees": True, "bagging_fraction": 0.7, "bagging_freq": 1},
        "extra-half": {"extra_trees": True, "feature_fraction": 0.5},
        "extra-50": {"extra_trees": True, "num_leaves": 31, "min_data_in_leaf": 50},
    },
    "xgboost": {
        "plain": {},
        "l2-10": {"reg_lambda": 10.0},
        "node": {"colsample_bynode": 0.4},
        "weight": {"min_child_weight": 5.0},
    },
    "catboost": {
        "plain": {},
        "depth-4": {"depth": 4},
        "depth-8": {"depth": 8},
        "l2-30": {"l2_leaf_reg": 30.0},
    },
}
SHARED = {
    "lightgbm": {"feature_fraction": 0.8},
    "xgboost": {"colsample_bytree": 0.8},
    "catboost": {},
}


def folds(name: str, seed: int) -> Iterator[Fold]:
    """Yield the folds of a set, documents shuffled within their queries."""
    root = Path(os.environ.get("BOOSTRANK_DATA", "../shared/data"))
    if name == "yandex":
        parts = load_letor(root / name / "train.txt.gz").split(5, seed=seed)
    else:
        parts = load_letor_parts([root / name / f"S{n}.txt.gz" for n in range(1, 6)])
    for fold in letor_folds(parts):
        yield Fold(*(part.shuffle_within_queries(seed) for part in fold))


def curve(model: Model, part: RankingData) -> Floats:
    """Return NDCG@10 (marks, queries) after every tenth tree."""
    return np.array(
        [
            boostrank.evaluate(
                model.predict(part.X, min(mark, model.n_trees)),
                part.y,
                part.group,
                ("ndcg@10",),
                per_query=True,
            )["ndcg@10"]
            for mark in range(STEP, ROUNDS + 1, STEP)
        ]
    )


def run(name: str, row: str, trees: str, seed: int, test: bool) -> None:
    """Train a row on the five folds of a set, and save the results."""
    path = file_of(name, row, trees, seed)
    if path.exists() and (not test or "test0" in np.load(path)):
        return
    host, objective = ROWS[row]
    if not isinstance(objective, str):
        objective = objective.replace(seed=seed)
    settings = Settings(rounds=ROUNDS, learning_rate=0.05, seed=seed)
    chosen = SHARED[host] | TREES[host][trees]
    kept, seconds = {}, 0.0
    for number, fold in enumerate(folds(name, seed)):
        model, took = TRAINERS[host].train(objective, fold.train, settings, chosen)
        seconds += took
        for kind in ("validation", "test") if test else ("validation",):
            part = getattr(fold, kind)
            kept[f"{kind}{number}"] = curve(model, part)
            kept[f"{kind}{number} queries"] = part.qid[np.cumsum(part.group) - part.group]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **kept)
    print(
        f"{name} {row} {trees} seed {seed}: {seconds / 5 / ROUNDS * 1e3:.2f} ms a round", flush=True
    )


def file_of(name: str, row: str, trees: str, seed: int) -> Path:
    """Return the path of a result."""
    return OUT / f"{name} {row.replace(':', '.')} {trees} {seed}.npz"


def figures(name: str, row: str, trees: str, seed: int, kind: str) -> Floats:
    """Return NDCG@10 (2, queries): of the best round, chosen on validation, and of all rounds.

    For validation parts one round is chosen for all folds, for test parts one for each fold.
    Queries are in the order of their ids; NaN where no document is relevant.
    """
    kept = np.load(file_of(name, row, trees, seed))
    curves = [kept[f"validation{n}"] for n in range(5)]
    best = [np.nanmean(curve, axis=1).argmax() for curve in curves]
    if kind == "validation":
        best = [np.nanmean(np.concatenate(curves, axis=1), axis=1).argmax()] * 5
    values = [kept[f"{kind}{n}"][[best[n], -1]] for n in range(5)]
    queries = np.concatenate([kept[f"{kind}{n} queries"] for n in range(5)])
    return np.concatenate(values, axis=1)[:, np.argsort(queries)]


def pooled(row: str, trees: str, sets: Sequence[str], seeds: Sequence[int], kind: str) -> Floats:
    """Return `figures` of all sets, seeds averaged; queries with nothing relevant are dropped."""
    means = [
        np.mean([figures(name, row, trees, seed, kind) for seed in seeds], axis=0) for name in sets
    ]
    joined = np.concatenate(means, axis=1)
    return joined[:, ~np.isnan(joined).any(axis=0)]


def difference(ours: Floats, other: Floats) -> str:
    """Return the mean difference over queries, best round | all, and its 95 % half width."""
    less = ours - other
    pairs = zip(less.mean(axis=1), half_width(less), strict=True)
    return " | ".join(f"{mean:+.4f} ± {half:.4f}" for mean, half in pairs)


def half_width(less: Floats) -> Floats:
    """Return half the width of the mean's 95 % interval, by Student's t over queries."""
    n = less.shape[1]
    return t.ppf(0.975, n - 1) * less.std(axis=1, ddof=1) / np.sqrt(n)


def is_done(row: str, trees: str, seeds: Sequence[int]) -> bool:
    """Tell whether a row has been trained on all sets."""
    return all(file_of(name, row, trees, seed).exists() for name in SETS for seed in seeds)


def preset(row: str) -> str:
    """Return the preset's name in `TREES`; CatBoost has none and keeps its own trees."""
    return PRESET[ROWS[row][0]]


def best_trees(row: str, seeds: Sequence[int] = (1,)) -> str:
    """Return the trees with which a row has the best mean of both figures on validation parts.

    For a row that was not searched, the plain ones.
    """
    means = {
        trees: pooled(row, trees, SETS, seeds, "validation").mean()
        for trees in TREES[ROWS[row][0]]
        if is_done(row, trees, seeds)
    }
    return max(means, key=means.__getitem__, default="plain")


#: What is tested: our row, which others are compared with, and every row's trees.
TESTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "Plain trees": ("blend", lambda _: "plain"),
    "The preset": ("blend:perturb=None", preset),
    "Each row's best of the search": ("blend:perturb=None", best_trees),
}


def means(row: str, trees: str, seeds: Sequence[int], kind: str) -> str:
    """Return cells of NDCG@10, best round / all, for each set and for all together."""
    cells = [pooled(row, trees, sets, seeds, kind).mean(axis=1) for sets in GROUPS]
    return " | ".join(f"{best:.4f} / {whole:.4f}".replace("0.", ".") for best, whole in cells)


def print_search(seeds: Sequence[int]) -> None:
    """Print every row with every entry of the search."""
    for row, (host, _) in ROWS.items():
        for trees in filter(lambda trees: is_done(row, trees, seeds), TREES[host]):
            print(f"| {row} | {trees} | {means(row, trees, seeds, 'validation')} |")


def print_test(seeds: Sequence[int]) -> None:
    """Print every row, and our lead over it: on all sets and on Yandex."""
    for title, (first, trees_of) in TESTS.items():
        print(f"\n{title}; {first} less the row, on all sets and on Yandex: best round | all")
        for row in filter(lambda row: is_done(row, trees_of(row), seeds), ROWS):
            more = [
                difference(
                    pooled(first, trees_of(first), sets, seeds, "test"),
                    pooled(row, trees_of(row), sets, seeds, "test"),
                )
                for sets in (SETS, ("yandex",))
            ]
            cells = means(row, trees_of(row), seeds, "test")
            print(f"| {row} | {trees_of(row)} | {cells} | {' | '.join(more)} |")


def main() -> None:
    """Run or print."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("kind", choices=("search", "test"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--trees", nargs="+", help="entries of the search; all by default")
    given = parser.parse_args()
    if given.action == "table":
        if given.kind == "search":
            print_search(given.seeds)
        else:
            print_test(given.seeds)
        return
    for seed, name, row in product(given.seeds, given.sets, given.rows):
        if given.kind == "search":
            wanted = given.trees or list(TREES[ROWS[row][0]])
        else:
            wanted = [trees_of(row) for _, trees_of in TESTS.values()]
        for trees in dict.fromkeys(wanted):
            run(name, row, trees, seed, test=given.kind == "test")


if __name__ == "__main__":
    main()
