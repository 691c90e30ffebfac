"""How well models learn relevance from clicks: the table and the figure of docs/clicks.md.

    python notebooks/clicks.py run --seeds 1
    python notebooks/clicks.py table --seeds 1
    python notebooks/clicks.py figure

The page says how clicks are simulated: on the training part of one fold of `ranking_sets.py` for
each seed. Every row has the same parameters, except that LightGBM's skyline may have smaller
leaves, and is measured after the last tree: clicks cannot choose a round well. Results are kept in
``out/clicks``.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import SHARED, folds, half_width, ndcg, parser, svg

import boostrank
from boostrank import Unbiased, plot
from boostrank.datasets import ClickLog, Fold, RankingData, simulate_clicks
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
#: Documents in a leaf of LightGBM, at least.
MIN_DOCS = 50
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
#: Rows in the figure and their objectives.
DRAWN = {
    "RankNet, additive": ("additive", boostrank.RankNet()),
    "RankNet, pairwise": ("pairwise", boostrank.RankNet()),
    "XE-NDCG, additive": ("additive", boostrank.XENDCG(gamma=1.0)),
}


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


def clicks_of(name: str, model: str, eta: float, seed: int) -> tuple[Fold, ClickLog]:
    """Return a fold, and clicks on its training part."""
    fold = folds(name, seed)[(seed - 1) % 5]
    log = simulate_clicks(fold.train, model=model, eta=eta, sessions=SESSIONS[name], seed=seed)
    return fold, clicked(log)


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
    min_docs = 20 if row.startswith("skyline") else MIN_DOCS
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


def run(seeds: list[int], rows: list[str], sets: list[str]) -> None:
    """Train what has not been trained yet."""
    OUT.mkdir(parents=True, exist_ok=True)
    for seed, name, (model, eta) in product(seeds, sets, USERS):
        fold, log = clicks_of(name, model, eta, seed)
        for row in rows:
            path = file_of(name, model, eta, row, seed)
            if not path.exists():
                scores = predictions(row, fold.train, log, seed, fold.test)
                values = ndcg(scores, fold.test)
                np.save(path, values[~np.isnan(values)])
        print(f"{name} {model} {eta:g} seed {seed}: {log}", flush=True)


def queries(name: str, model: str, eta: float, row: str, seeds: list[int]) -> Floats:
    """Return NDCG@10 of the test queries of all seeds."""
    return np.concatenate([np.load(file_of(name, model, eta, row, seed)) for seed in seeds])


def cell(name: str, model: str, eta: float, row: str, seeds: list[int]) -> str:
    """Return a row's lead over naive clicks, and its share of the gap to true grades."""
    # All are compared with blend on the same host.
    host = " (XGBoost)" if "XGBoost" in row or row.startswith("xgboost") else ""
    compared = row, f"naive: blend{host}", f"skyline: blend on grades{host}"
    values, naive, sky = (queries(name, model, eta, each, seeds) for each in compared)
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


def draw() -> None:
    """Draw the learnt factors of MQ2008 against the true ones."""
    fold = folds("mq2008", 1)[0]
    with svg("clicks", 10.0, 3.2) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for panel, eta in zip(panels, (0.5, 1.0, 2.0), strict=True):
            log = clicked(simulate_clicks(fold.train, eta=eta, sessions=SESSIONS["mq2008"], seed=1))
            ranks = np.arange(1, 11)
            panel.plot(ranks, ranks**-eta, color=plot.GREY, linewidth=3, alpha=0.6, label="true")
            for place, (label, (form, objective)) in enumerate(DRAWN.items()):
                kind = Unbiased(objective, position=log.position, propensity=form, last=LAST)
                settings = Settings(rounds=ROUNDS, min_docs=MIN_DOCS, params=SHARED)
                model, _ = TRAINERS["lightgbm"].train(kind, log.data, settings)
                found = boostrank.position_bias(model.booster).propensity[:10]
                panel.plot(ranks, found, color=plot.COLOURS[place], marker="o", label=label)
                print(eta, label, found.round(2).tolist(), flush=True)
            panel.set_title(f"eta {eta:g}", fontsize=10, color=plot.GREY)
            panel.set_xlabel("position")
            panel.grid(alpha=0.25)
        panels[0].set_ylabel("propensity")
        panels[-1].legend(frameon=False)


def main() -> None:
    """Run, print or draw."""
    reader = parser(__doc__, SETS)
    reader.add_argument("action", choices=("run", "table", "figure"))
    reader.add_argument("--rows", default="", help="only those with this in their name")
    given = reader.parse_args()
    if given.action == "run":
        run(given.seeds, [row for row in ROWS if given.rows in row], given.sets)
    elif given.action == "table":
        table(given.seeds, given.sets)
    else:
        draw()


if __name__ == "__main__":
    main()
