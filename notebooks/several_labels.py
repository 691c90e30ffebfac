"""Relevance against a synthetic price on Yandex: the table and figure of docs/several_labels.md.

    python notebooks/several_labels.py

The fold is the first of `ranking_sets.py`.
"""

import warnings
from dataclasses import replace

import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import folds, ndcg, svg, trained

import boostrank
from boostrank import QueryRMSE, Several, plot
from boostrank.datasets import RankingData

KEPT = (0.98, 0.95, 0.9)
WEIGHTS = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)


def prices(part: RankingData, train: RankingData) -> Floats:
    """Return the values that are cut into grades of price."""
    weights = np.random.default_rng(3).normal(size=part.X.shape[1])
    noise = np.random.default_rng(7).normal(size=len(part.y))
    X = (part.X - train.X.mean(axis=0)) / (train.X.std(axis=0) + 1e-9)
    return X @ weights + 2.0 * noise


def main() -> None:
    """Train, print and draw."""
    warnings.simplefilter("ignore")
    fold = folds("yandex", 1)[0]
    train, test = fold.train, fold.test
    steps = np.quantile(prices(train, train), [0.5, 0.8, 0.93, 0.99])
    of_train, of_test = (
        np.digitize(prices(part, train), steps).astype(float) for part in (train, test)
    )
    parts = {"relevance": QueryRMSE(), "price": QueryRMSE()}

    def measured(objective: boostrank.objectives.Objective) -> list[tuple[float, float]]:
        model = trained("lightgbm", objective, train, 1, params={})
        found = []
        for part, price in ((train, of_train), (test, of_test)):
            scores, priced = model.predict(part.X), replace(part, y=price)
            found.append((np.nanmean(ndcg(scores, part)), np.nanmean(ndcg(scores, priced))))
        return found

    def show(row: str, asked: str, found: list[tuple[float, float]]) -> None:
        cells = " | ".join(f"{value:.4f}" for pair in found for value in pair).replace("0.", ".")
        print(f"| {row} | {asked} | {cells} |", flush=True)

    alone = measured(QueryRMSE())
    show("relevance alone", "", alone)
    points: dict[str, list[tuple[float, float]]] = {"weights": [], "at_least": [], "chebyshev": []}
    for share in KEPT:
        asked = share * alone[0][0]
        found = measured(Several(parts, labels={"price": of_train}, at_least={"relevance": asked}))
        show(f"at_least, {share:.0%}", f"{asked:.4f}".replace("0.", "."), found)
        points["at_least"].append(found[1])
    for way, share in [*(("weights", w) for w in WEIGHTS), ("chebyshev", 0.5), ("chebyshev", 0.8)]:
        weights = {"relevance": share, "price": 1.0 - share}
        worst_first = way == "chebyshev"
        found = measured(
            Several(parts, labels={"price": of_train}, weights=weights, chebyshev=worst_first)
        )
        show(f"{way}, {share:g}", "", found)
        points[way].append(found[1])
    with svg("several_labels", 6.0, 4.0) as figure:
        names = "NDCG@10 of relevance", "NDCG@10 of price"
        axes = plot.pareto(points, metrics=names, ax=figure.subplots())
        axes.plot(*alone[1], "D", color=plot.GREY, label="relevance alone")
        axes.legend(frameon=False)


if __name__ == "__main__":
    main()
