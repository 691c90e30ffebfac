"""What a training on all data gains once early stopping has chosen the rounds: docs/accuracy.md.

    python notebooks/refit.py --seeds 1 2

trains what is not in ``out/refit`` yet. It prints NDCG@10 on the test parts of eight sets: what the
second training gains, and its lead over LightGBM's `lambdarank` trained twice in the same way.
"""

from itertools import product
from pathlib import Path

import numpy as np
from accuracy_dial import REAL, ROWS
from boostrank.objectives.validation import Floats
from ranking_sets import BASE, ROUNDS, folds, ndcg, parser, tested, trained
from scipy.stats import sem

from boostrank.datasets import Fold, RankingData
from boostrank.hosts.stopping import in_proportion

OUT = Path("out/refit")
COMPARED = (BASE, "lightgbm:rank_xendcg", "xgboost:rank:ndcg", "catboost:QueryRMSE", "auto")


def twice(row: str, fold: Fold, seed: int) -> Floats:
    """Return NDCG@10 (2, queries) of the best round, and after training on validation too."""
    host, objective = ROWS[row]
    model = trained(host, objective, fold.train, seed)
    place, values = tested(model, fold)
    both = RankingData.concat([fold.train, fold.validation])
    best = (place + 1) * ROUNDS // len(values)
    rounds = in_proportion(best, len(fold.train.y), len(both.y))
    chosen = model.choice.objective if model.choice else objective
    whole = trained(host, chosen, both, seed, rounds=rounds)
    return np.stack([values[place], ndcg(whole.predict(fold.test.X), fold.test)])


def figures(row: str, name: str, seed: int) -> Floats:
    """Return `twice` of all folds of a set, from a file if there is one."""
    path = OUT / f"{name} {row.replace(':', '.')} {seed}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        found = [twice(row, fold, seed) for fold in folds(name, seed)]
        np.save(path, np.concatenate(found, axis=1))
    return np.asarray(np.load(path))


def said(differences: Floats) -> str:
    """Return a mean with its standard error."""
    error = sem(differences, nan_policy="omit")
    return f"{np.nanmean(differences):+.4f} ({error:.4f})"


def main() -> None:
    """Train, and print a line for each set and row, and one over all queries."""
    reader = parser(__doc__, REAL)
    reader.add_argument("--rows", nargs="+", default=list(COMPARED))
    given = reader.parse_args()
    every: dict[str, list[Floats]] = {row: [] for row in given.rows}
    for name, row in product(given.sets, given.rows):
        first, last = np.concatenate([figures(row, name, s) for s in given.seeds], axis=1)
        base = np.concatenate([figures(BASE, name, s) for s in given.seeds], axis=1)
        every[row].append(np.stack([last - first, last - base[1]]))
        print(row, name, *map(said, every[row][-1]), flush=True)
    for row in given.rows:
        print(row, "all", *map(said, np.concatenate(every[row], axis=1)))


if __name__ == "__main__":
    main()
