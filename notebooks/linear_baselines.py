"""AdaRank and SVM-MAP on OHSUMED against published figures: the table of docs/accuracy.md.

    python notebooks/linear_baselines.py

Files are read from ``$BOOSTRANK_DATA``, as by the other scripts.
Figures are means over LETOR's five test folds under LETOR 3.0's rules, with ties in file order.
Rounds and C are chosen on each fold's validation part. Takes a quarter of a minute.
"""

import csv

import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import DATA, unshuffled

from boostrank import evaluate
from boostrank.datasets import Fold, RankingData
from boostrank.linear import SVMMAP, AdaRank

C = 10.0 ** np.arange(-2, 4)
# NDCG@10 and MAP on LETOR 3.0 are from Chapelle and Wu, table 2; for LETOR 2.0 there are files.
LETOR3 = {"AdaRank.MAP": (0.443, 0.449), "AdaRank.NDCG": (0.450, 0.450), "SVMMAP": (0.432, 0.445)}
ROWS = {
    "AdaRank.MAP": (AdaRank("map"), AdaRank("map", repeat=False)),
    "AdaRank.NDCG": (AdaRank(), AdaRank(repeat=False)),
    "SVMMAP": (SVMMAP(C=C.tolist()),),
}


def scaled(data: RankingData) -> RankingData:
    """Scale each feature of each query to 0..1, as in LETOR 3.0's files."""
    starts = np.cumsum(data.group) - data.group
    X = data.X - np.repeat(np.minimum.reduceat(data.X, starts), data.group, axis=0)
    top = np.maximum.reduceat(X, starts)
    X /= np.repeat(np.where(top > 0.0, top, 1.0), data.group, axis=0)
    return RankingData(X, data.y, data.qid)


def letor2(algorithm: str) -> tuple[float, float] | None:
    """Return NDCG@10 and MAP of the test folds from Microsoft's file, or None without one."""
    path = DATA / "letor2_baselines" / f"ReferenceAlgs_{algorithm}.csv"
    if not path.exists():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        means = [row for row in csv.reader(file) if row[0] == "Average"]
    return float(means[0][10]), float(means[2][1])  # NDCG, precision and MAP of the test parts


def figures(model: AdaRank | SVMMAP, fold: Fold) -> Floats:
    """Return NDCG@10 and MAP on the fold's test part."""
    train, held, test = fold
    model.fit(train.X, train.y, group=train.group, eval_set=(held.X, held.y), eval_group=held.group)
    values = evaluate(model.predict(test.X), test.y, test.group, convention="letor3")
    return np.array(list(values.values()))


def main() -> None:
    """Print the table."""
    for name in ("letor2_baselines", "ohsumed"):
        data = [Fold(*map(scaled, fold)) for fold in unshuffled(name, 1)]
        for algorithm, models in ROWS.items():
            published = letor2(algorithm) if name == "letor2_baselines" else LETOR3[algorithm]
            theirs = "" if published is None else "{:.3f} / {:.3f}".format(*published)
            for model in models:
                shown = repr(model).split("(C=")[0]
                ndcg, mean_ap = np.mean([figures(model, fold) for fold in data], axis=0)
                print(f"| {name} | {shown} | {ndcg:.3f} / {mean_ap:.3f} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
