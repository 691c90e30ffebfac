"""Every objective with its defaults, on validation parts: the results on each objective's page.

    python notebooks/objective_results.py > docs/objective_results.csv
    python notebooks/objective_results.py --sets synthetic0 synthetic1 --rate 0.1

Sets and trees are those of `ranking_sets.py`. Of the folds, only training and validation parts are
used, no test part; half of a synthetic set, which has 1,500 queries unless its name says how many,
is to train on. A seed chooses the features of every tree and what objectives draw. Draws depend on
the last bits of the scores, so with another processor or version a single seed can move by .005.
"""

import numpy as np
from ranking_sets import ROUNDS, curve, folds, parser, trained

import boostrank
from boostrank.datasets import make_ranking
from boostrank.lab.models import HOSTS
from boostrank.lab.stats import half_width
from boostrank.registry import make_objective

SETS = {"synthetic1": "synthetic with noise", "mq2008": "MQ2008", "ohsumed": "OHSUMED"}
#: What rows are compared with, the baseline first.
BUILTINS = {f"lightgbm:{name}": name for name in HOSTS["lightgbm"].builtins}


def splits(name):
    """Return pairs of training and validation data."""
    if not name.startswith("synthetic"):
        return [(fold.train, fold.validation) for fold in folds(name, 1)]
    noise, _, queries = name.removeprefix("synthetic").partition("x")
    data = make_ranking(int(queries or 1500), 20, n_features=20, noise=float(noise), seed=3)
    return [tuple(part.shuffle_within_queries(1) for part in data.split(2, seed=3))]


def validated(objective, parts, rate, seed):
    """Return NDCG@10 of the validation queries of all parts after every tenth tree."""
    return np.concatenate(
        [
            curve(trained("lightgbm", objective, train, seed, learning_rate=rate), valid)
            for train, valid in parts
        ],
        axis=1,
    )


def main():
    """Print a line for each set and objective."""
    reader = parser(__doc__, SETS)
    reader.set_defaults(seeds=[1, 2, 3])
    reader.add_argument("--objectives", nargs="+", default=boostrank.objective_names())
    reader.add_argument("--rate", type=float, default=0.05)
    given = reader.parse_args()
    print("objective,data,best round,difference,all 300 rounds,difference", flush=True)
    for data in given.sets:
        parts = splits(data)
        baseline = None
        ours = {name: make_objective(name, {}, ROUNDS) for name in given.objectives}
        for name, objective in (BUILTINS | ours).items():
            of_seeds = np.array(
                [validated(objective, parts, given.rate, seed) for seed in given.seeds]
            )
            of_seeds = of_seeds[:, :, ~np.isnan(of_seeds).any(axis=(0, 1))]
            figures = of_seeds.mean(axis=0)
            both = np.array([figures[np.argmax(figures.mean(axis=1))], figures[-1]])
            baseline = both if baseline is None else baseline
            cells = [name, SETS.get(data, data)]
            for figure, gain in zip(both, both - baseline, strict=True):
                cells += [f"{figure.mean():.4f}", f"{gain.mean():+.3f} ({half_width(gain):.3f})"]
            print(",".join(cells).replace("0.", "."), flush=True)


if __name__ == "__main__":
    main()
