"""Pairs instead of grades on OHSUMED and MQ2008: the table of docs/preferences.md.

    python notebooks/preferences.py --seeds 1 2 3

The page says how pairs are made, and rounds chosen. Folds are the five of `ranking_sets.py`. The
seed is used by the host and for drawing the pairs. All rows of one seed get the same pairs.
"""

from collections.abc import Iterator
from dataclasses import replace

import catboost
import numpy as np
from boostrank.objectives.validation import Floats, Integers
from ranking_sets import SHARED, folds, half_width, parser, tested, trained

from boostrank import LambdaRank, Preferences
from boostrank.datasets import Fold, RankingData
from boostrank.lab.catboost_model import CatBoostModel
from boostrank.lab.model import Model
from boostrank.lab.settings import Settings

SETS = ("ohsumed", "mq2008")
ROUNDS = 200
ROWS = {
    "ranknet, LightGBM": ("lightgbm", "ranknet"),
    "ranknet, XGBoost": ("xgboost", "ranknet"),
    "gbrank, LightGBM": ("lightgbm", "gbrank"),
    "frank, LightGBM": ("lightgbm", "frank"),
    "PairLogit, CatBoost": ("catboost", "PairLogit"),
}
RIVAL = "PairLogit, CatBoost"
GRADES = "lambdarank of the grades, LightGBM"
# Share of the pairs that is kept, and of these the share that is reversed.
KINDS = {"all pairs": (1.0, 0.0), "a tenth": (0.1, 0.0), "a tenth, a fifth wrong": (0.1, 0.2)}


def pairs_of(data: RankingData, kept: float, wrong: float, seed: int) -> Integers:
    """Return pairs of different grade, some of them reversed."""
    rng = np.random.default_rng(seed)
    found = []
    for start, size in zip(np.cumsum(data.group) - data.group, data.group, strict=True):
        y = data.y[start : start + size]
        found.append(np.argwhere(y[:, None] > y) + start)
    pairs = np.concatenate(found)
    pairs = pairs[rng.permutation(len(pairs))[: round(kept * len(pairs))]]
    turned = rng.random(len(pairs)) < wrong
    pairs[turned] = pairs[turned, ::-1]
    return pairs


def on_pairs(host: str, loss: str, data: RankingData, pairs: Integers, seed: int) -> Model:
    """Train on pairs; no learner sees the grades."""
    if host != "catboost":
        unlabelled = replace(data, y=np.zeros(len(data.y)))
        return trained(host, Preferences(loss, pairs), unlabelled, seed, rounds=ROUNDS)
    settings = Settings(rounds=ROUNDS, seed=seed, params=SHARED)
    pool = catboost.Pool(
        data.X, group_id=np.repeat(np.arange(len(data.group)), data.group), pairs=pairs
    )
    params = CatBoostModel.shared(settings) | {"loss_function": loss, "iterations": ROUNDS}
    return CatBoostModel(catboost.CatBoost(params).fit(pool), settings.threads)


def best(model: Model, fold: Fold) -> Floats:
    """Return NDCG@10 of the test queries after the round that is best on the validation part."""
    place, values = tested(model, fold)
    return np.asarray(values[place])


def models(name: str, seed: int) -> Iterator[tuple[str, str, Floats]]:
    """Train all rows on the five folds; yield the kind of pairs, the row and its test NDCG@10."""
    for fold in folds(name, seed):
        of_grades = trained("lightgbm", LambdaRank(), fold.train, seed, rounds=ROUNDS)
        yield "", GRADES, best(of_grades, fold)
        for kind, (kept, wrong) in KINDS.items():
            pairs = pairs_of(fold.train, kept, wrong, seed)
            for row, (host, loss) in ROWS.items():
                yield kind, row, best(on_pairs(host, loss, fold.train, pairs, seed), fold)


def main() -> None:
    """Train and print the table."""
    given = parser(__doc__, SETS).parse_args()
    for name in given.sets:
        found: dict[tuple[str, str], list[Floats]] = {}
        for seed in given.seeds:
            for kind, row, values in models(name, seed):
                found.setdefault((kind, row), []).append(values)
        means = {
            key: np.concatenate(folds_of_seeds).reshape(len(given.seeds), -1).mean(axis=0)
            for key, folds_of_seeds in found.items()
        }
        print(f"\n{name}: NDCG@10, and what the row has more than {RIVAL}", flush=True)
        print(f"| {GRADES} | {np.nanmean(means['', GRADES]):.4f} |")
        for row in ROWS:
            cells = []
            for kind in KINDS:
                ours, rival = means[kind, row], means[kind, RIVAL]
                less = (ours - rival)[~np.isnan(ours)]
                cell = f"{np.nanmean(ours):.4f}"
                if row != RIVAL:
                    cell += f" ({less.mean():+.4f} ± {half_width(less):.4f})"
                cells.append(cell)
            print(f"| {row} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
