"""How well models learn relevance from clicks: the tables of docs/clicks.md.

    python notebooks/clicks.py --seeds 1

trains what is not in ``out/clicks`` yet, and prints them. The page says how clicks are simulated.
Every row has the same parameters, except that LightGBM's skyline may have smaller leaves, and is
measured after the last tree: clicks cannot choose a round well.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import SHARED, folds, half_width, ndcg, parser

import boostrank
from boostrank import Unbiased
from boostrank.datasets import ClickLog, RankingData, simulate_clicks
from boostrank.lab.models import TRAINERS
from boostrank.lab.settings import Settings

OUT = Path("out/clicks")
SETS = ("mq2008", "yandex", "ohsumed")
#: Click models, each with its eta.
USERS = (("position", 0.5), ("position", 1.0), ("position", 2.0), ("cascade", 1.0), ("trust", 1.0))
ROUNDS = 150
#: Per query; OHSUMED's lists are eight times as long as the others'.
SESSIONS = {"mq2008": 50, "yandex": 50, "ohsumed": 20}
#: Positions from here on share a propensity.
LAST = 30
#: XGBoost's own correction.
CORRECTED = {
    "lambdarank_unbiased": 1,
    "lambdarank_pair_method": "topk",
    "lambdarank_num_pair_per_sample": LAST,
}
ROWS = (
    "skyline: blend on grades",
    "naive: blend",
    "blend, true propensities",
    "blend, additive",
    "ranknet, additive",
    "lightgbm:lambdarank, position",
    "skyline: blend on grades (XGBoost)",
    "naive: blend (XGBoost)",
    "blend, additive (XGBoost)",
    "ranknet, additive (XGBoost)",
    "xgboost:rank:ndcg, unbiased",
)


def clicked(log: ClickLog) -> ClickLog:
    """Return the sessions that have clicks."""
    group = log.data.group
    session = np.repeat(np.arange(len(group)), group)
    rows = np.flatnonzero((np.bincount(session, log.data.y) > 0)[session])
    kept = np.unique(session[rows])
    return ClickLog(
        log.data.select(kept), log.position[rows], log.row[rows], log.randomized[rows],
        log.propensity,
    )  # fmt: skip


def predictions(
    row: str, train: RankingData, log: ClickLog, seed: int, judged: RankingData
) -> Floats:
    """Train a row and score judged documents."""
    kind: Any = boostrank.Blend(signal="low", seed=seed)
    if row.startswith("ranknet"):
        kind = boostrank.RankNet()
    if "true" in row:
        kind = Unbiased(kind, position=log.position, propensity=log.propensity)
    elif row.split(" (")[0].endswith("additive"):
        kind = Unbiased(kind, position=log.position, last=LAST)
    data = train if row.startswith("skyline") else log.data
    min_docs = 20 if row.startswith("skyline") else 50  # in a leaf of LightGBM
    settings = Settings(rounds=ROUNDS, seed=seed, min_docs=min_docs, params=SHARED)
    host = "xgboost" if "xgboost" in row.lower() else "lightgbm"
    if row.startswith("lightgbm"):
        shown = (log.position - 1).astype(np.int32)
        dataset = lgb.Dataset(data.X, data.y, group=data.group, position=shown)
        params = TRAINERS[host].shared(settings) | SHARED[host] | {"objective": "lambdarank"}
        return np.asarray(lgb.train(params, dataset, ROUNDS).predict(judged.X))
    if row.startswith("xgboost"):
        kind = "rank:ndcg"
        settings = replace(settings, params={host: SHARED[host] | CORRECTED})
        # It takes the order of the rows as the positions.
        order = np.lexsort((log.position, data.qid))
        data = replace(data, X=data.X[order], y=data.y[order])
    return TRAINERS[host].train(kind, data, settings)[0].predict(judged.X)


def file_of(name: str, model: str, eta: float, row: str, seed: int) -> Path:
    """Return the path of a result."""
    if row.startswith("skyline"):
        model, eta = "grades", 0.0
    return OUT / f"{name} {model} {eta:g} {row.replace(':', '.')} {seed}.npy"


def run(seeds: list[int], sets: list[str]) -> None:
    """Train what has not been trained yet."""
    OUT.mkdir(parents=True, exist_ok=True)
    for seed, name, (model, eta) in product(seeds, sets, USERS):
        fold, sessions = folds(name, seed)[(seed - 1) % 5], SESSIONS[name]
        log = simulate_clicks(fold.train, model=model, eta=eta, sessions=sessions, seed=seed)
        log = clicked(log)
        for row in ROWS:
            path = file_of(name, model, eta, row, seed)
            if not path.exists():
                scores = predictions(row, fold.train, log, seed, fold.test)
                values = ndcg(scores, fold.test)
                np.save(path, values[~np.isnan(values)])
        print(f"{name} {model} {eta:g} seed {seed}: {log}", flush=True)


def cell(name: str, model: str, eta: float, row: str, seeds: list[int]) -> str:
    """Return a row's lead over naive clicks, and its share of the gap to true grades."""
    # All are compared with blend on the same host.
    host = " (XGBoost)" if "XGBoost" in row or row.startswith("xgboost") else ""
    compared = row, f"naive: blend{host}", f"skyline: blend on grades{host}"
    values, naive, sky = (
        np.concatenate([np.load(file_of(name, model, eta, each, seed)) for seed in seeds])
        for each in compared
    )
    if row.startswith("naive"):
        return f"{values.mean():.4f}".removeprefix("0")
    less = values - naive
    half = half_width(less)
    gap = less.mean() / (sky - naive).mean()
    share = "" if row.startswith("skyline") else f", {gap:.0%}"
    return f"{less.mean():+.4f} ± {half:.4f}{share}".replace("0.", ".")


def table(seeds: list[int], sets: list[str]) -> None:
    """Print a table for each set."""
    for name in sets:
        print(f"\n| {name} |", " | ".join(f"{model}, eta {eta:g}" for model, eta in USERS), "|")
        print("|---" * (len(USERS) + 1) + "|")
        for row in ROWS:
            print(f"| {row} |", " | ".join(cell(name, *user, row, seeds) for user in USERS), "|")


def main() -> None:
    """Train and print."""
    given = parser(__doc__, SETS).parse_args()
    run(given.seeds, given.sets)
    table(given.seeds, given.sets)


if __name__ == "__main__":
    main()
