"""Defaults against LightGBM's built-ins, on validation parts only: the table of docs/accuracy.md.

    python notebooks/accuracy_defaults.py synthetic0 synthetic1 yandex ohsumed mq2008

Sets are named as their folders in ``$BOOSTRANK_DATA`` (default ``../shared/data``). LETOR's five
folds give their validation parts; `yandex` is split into five, of which fold n trains on three,
validates on the fourth and leaves the fifth alone; the synthetic sets are 1,500 queries of 20, half
to train on. No test part is read. 300 trees of 15 leaves, at least 20 documents in a leaf, 80 % of
the features each, one thread; rows are shuffled inside queries.
"""

import os
import sys
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np

import boostrank
from boostrank.datasets import letor_folds, load_letor, load_letor_parts, make_ranking

ROUNDS, RATES = 300, (0.05, 0.1)
ROWS = {
    "lightgbm:lambdarank": "lambdarank",
    "lightgbm:rank_xendcg": "rank_xendcg",
    "blend": boostrank.Blend(),
    "query-rmse": boostrank.QueryRMSE(),
    "ranknet": boostrank.RankNet(),
    "yetirank": boostrank.YetiRank(),
    "shf-sdcg": boostrank.SHFSDCG(),
    "sdcg": boostrank.SDCG(),
    "reg-shf-sdcg": boostrank.RegSHFSDCG(total_rounds=ROUNDS),
    "shf-sdcg:discount=log2": boostrank.SHFSDCG(discount="log2"),
    "sdcg:discount=log2": boostrank.SDCG(discount="log2"),
}


def splits(name):
    """Return pairs of training and validation data."""
    root = Path(os.environ.get("BOOSTRANK_DATA", "../shared/data"))
    if name.startswith("synthetic"):
        data = make_ranking(1500, 20, n_features=20, noise=float(name[-1]), seed=3)
        return [tuple(data.split(2, seed=3))]
    if name == "yandex":
        parts = load_letor(root / name / "train.txt.gz").split(5, seed=1)
    else:
        parts = load_letor_parts([root / name / f"S{n}.txt.gz" for n in range(1, 6)])
    return [(fold.train, fold.validation) for fold in letor_folds(parts)]


def curve(objective, train, valid, rate):
    """Return NDCG@10 of every validation query after every tenth tree."""
    params = {
        "objective": objective, "metric": "None", "verbosity": -1, "num_threads": 1, "seed": 1,
        "num_leaves": 15, "min_data_in_leaf": 20, "feature_fraction": 0.8, "learning_rate": rate,
    }  # fmt: skip
    booster = lgb.train(params, lgb.Dataset(train.X, train.y, group=train.group), ROUNDS)
    scores, figures = np.zeros(len(valid.y)), []
    for begin in range(0, ROUNDS, 10):
        scores += booster.predict(valid.X, start_iteration=begin, num_iteration=10, raw_score=True)
        measured = boostrank.evaluate(scores, valid.y, valid.group, ("ndcg@10",), per_query=True)
        figures.append(measured["ndcg@10"])
    return np.array(figures)


def main():
    """Print a table for each set."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        parts = [
            (train.shuffle_within_queries(1), valid.shuffle_within_queries(1))
            for train, valid in splits(name)
        ]
        for rate in RATES if name.startswith("synthetic") else RATES[:1]:
            first = None
            for row, objective in ROWS.items():
                curves = [curve(objective, *part, rate) for part in parts]
                figures = np.concatenate(curves, axis=1)
                figures = figures[:, ~np.isnan(figures).any(axis=0)]
                best = figures[np.argmax(figures.mean(axis=1))]
                first = (best, figures[-1]) if first is None else first
                halves = [
                    1.96 * np.std(a - b, ddof=1) / len(a) ** 0.5
                    for a, b in zip((best, figures[-1]), first, strict=True)
                ]
                gains = [
                    a.mean() - b.mean() for a, b in zip((best, figures[-1]), first, strict=True)
                ]
                print(
                    f"{name} {rate} | {row} | {best.mean():.4f} | {figures[-1].mean():.4f} | "
                    + " | ".join(f"{g:+.4f} ± {h:.4f}" for g, h in zip(gains, halves, strict=True)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
