"""What a training on all data gains once early stopping has chosen the rounds: docs/accuracy.md.

    python notebooks/refit.py

prints the gain in NDCG@10 on the test parts of eight sets.
"""

import warnings

import numpy as np
from accuracy_dial import REAL, ROWS
from boostrank.objectives.validation import Floats
from ranking_sets import BASE, ROUNDS, folds, ndcg, tested, trained
from scipy.stats import sem

from boostrank.datasets import Fold, RankingData
from boostrank.hosts.stopping import in_proportion


def gains(row: str, fold: Fold, seed: int) -> Floats:
    """Return the gain of every test query."""
    host, objective = ROWS[row]
    place, values = tested(trained(host, objective, fold.train, seed), fold)
    both = RankingData.concat([fold.train, fold.validation])
    best = (place + 1) * ROUNDS // len(values)
    rounds = in_proportion(best, len(fold.train.y), len(both.y))
    whole = trained(host, objective, both, seed, rounds=rounds)
    return ndcg(whole.predict(fold.test.X), fold.test) - values[place]


def main() -> None:
    """Print the gain on each set, and over all queries, with standard errors."""
    warnings.simplefilter("ignore")
    for row in ("blend:signal=medium", BASE):
        pooled = []
        for name in REAL:
            found = [gains(row, fold, seed) for seed in (1, 2) for fold in folds(name, seed)]
            pooled.append(np.concatenate(found))
            print(row, name, said(pooled[-1]), flush=True)
        print(row, "all", said(np.concatenate(pooled)))


def said(gain: Floats) -> str:
    """Return a mean with its standard error."""
    return f"{np.nanmean(gain):+.4f} ({sem(gain, nan_policy='omit'):.4f})"


if __name__ == "__main__":
    main()
