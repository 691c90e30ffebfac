"""AdaRank and SVM-MAP on two versions of OHSUMED: the table of docs/accuracy.md.

    python notebooks/linear_baselines.py

Files are read from ``$BOOSTRANK_DATA``, as by the other scripts. Takes a quarter of a minute.
"""

import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import unshuffled

from boostrank import evaluate
from boostrank.datasets import Fold, RankingData
from boostrank.linear import SVMMAP, AdaRank

C = 10.0 ** np.arange(-2, 4)
MODELS = (
    *(AdaRank("map"), AdaRank("map", repeat=False), AdaRank(), AdaRank(repeat=False)),
    SVMMAP(C=C.tolist()),
)


def scaled(data: RankingData) -> RankingData:
    """Scale each feature of each query to 0..1, as in LETOR 3.0's files."""
    starts = np.cumsum(data.group) - data.group
    X = data.X - np.repeat(np.minimum.reduceat(data.X, starts), data.group, axis=0)
    top = np.maximum.reduceat(X, starts)
    X /= np.repeat(np.where(top > 0.0, top, 1.0), data.group, axis=0)
    return RankingData(X, data.y, data.qid)


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
        for model in MODELS:
            ndcg, mean_ap = np.mean([figures(model, fold) for fold in data], axis=0)
            shown = repr(model).split("(C=")[0]
            print(f"| {name} | {shown} | {ndcg:.3f} / {mean_ap:.3f} |", flush=True)


if __name__ == "__main__":
    main()
