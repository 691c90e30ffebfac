"""Every kind of objective on each host, exported to each engine: docs/serving.md sums the table up.

    python tests/export_matrix.py

Trains each model twice, on complete data and on data with missing values, and applies each file
with the evaluators in `engines`, at thresholds, zeros, extremes and missing values. A cell says in
how many rows of each of the two a tree differs from the host's own answer, or "refused". Exits with
1 if any row differs.
"""

import sys
import warnings

import engines
import lightgbm
import numpy as np
import xgboost

import boostrank
from boostrank.datasets import make_ranking

DATA = make_ranking(60, 20, n_features=6, seed=1)
X = DATA.X.astype(np.float32)
GAPS = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.float32(np.nan), X)
CLICKS = (DATA.y > 1).astype(float)
PLACE = np.tile(np.arange(1, 21), 60)
MARGIN = np.digitize(X[:, 0], [0.0, 0.5, 0.8])
PAIRS = [(row, row + 1) for row in range(0, len(X), 2) if DATA.y[row] > DATA.y[row + 1]]
PARTS = {"relevance": boostrank.QueryRMSE(), "margin": boostrank.RankNet()}

#: Objectives by name, with the labels that they learn from; a host's own for None.
OBJECTIVES = {
    "the host's own": (None, DATA.y),
    "Blend": (boostrank.Blend(), DATA.y),
    "LambdaRank": (boostrank.LambdaRank(), DATA.y),
    "RegSHFSDCG": (boostrank.RegSHFSDCG(total_rounds=20), DATA.y),
    "QueryRMSE": (boostrank.QueryRMSE(), DATA.y),
    "Calibrated": (boostrank.Calibrated(), CLICKS),
    "Several": (boostrank.Several(PARTS, labels={"margin": MARGIN}), DATA.y),
    "Unbiased": (boostrank.Unbiased(boostrank.QueryRMSE(), position=PLACE), CLICKS),
    "Preferences": (boostrank.Preferences("ranknet", PAIRS), 0 * DATA.y),
}


def train(host, objective, features, labels):
    if host == "lightgbm":
        params = {"verbosity": -1, "num_threads": 1, "objective": objective or "lambdarank"}
        return lightgbm.train(params, lightgbm.Dataset(features, labels, group=DATA.group), 20)
    matrix = xgboost.DMatrix(features, labels, group=DATA.group)
    params = {"nthread": 1, "objective": "rank:pairwise" if objective else "rank:ndcg"}
    return xgboost.train(params, matrix, 20, obj=objective)


def differing(booster, to, features):
    """Return how many rows some tree scores differently, or "refused"."""
    try:
        text = boostrank.export(booster, to)
    except ValueError:
        return "refused"
    complete = not np.isnan(features).any()
    # RankLib takes a missing value for 0; a model of complete data says nothing about them.
    probe = engines.rows(booster, features, not (complete and to == "ranklib"), 60, to)
    names = boostrank.trees.read_forest(booster).names
    expected = engines.by_tree(booster, probe, engines.n_rounds(booster))
    got = engines.ENGINES[to](text, names, probe)[:, -expected.shape[1] :]
    return int((got != expected).any(axis=1).sum())


def main():
    warnings.simplefilter("ignore", UserWarning)  # RankLib's, of missing values
    engine_names = list(engines.ENGINES)
    print(
        f"| host | objectives | {' | '.join(engine_names)} |\n|---|---|{'---|' * len(engine_names)}"
    )
    unequal = 0
    for host in ("lightgbm", "xgboost"):
        rows = {}
        for name, (objective, labels) in OBJECTIVES.items():
            cells = []
            boosters = [(train(host, objective, part, labels), part) for part in (X, GAPS)]
            for to in engine_names:
                found = [differing(booster, to, part) for booster, part in boosters]
                unequal += sum(n for n in found if n != "refused")
                cells.append(", ".join("equal" if n == 0 else str(n) for n in found))
            rows.setdefault(" | ".join(cells), []).append(name)
        for cells, names in rows.items():
            print(f"| {host} | {', '.join(names)} | {cells} |", flush=True)
    print(f"\n{unequal} rows differ")
    sys.exit(unequal > 0)


if __name__ == "__main__":
    main()
