"""The table of docs/tried.md on MAP and on objectives that weight pairs by it.

    python notebooks/targets.py ../shared/data/ohsumed/S*.txt.gz

trains on LETOR's five partitions with relevance as 0 or 1. It prints MAP and NDCG@10, and the
interval of the paired difference from LambdaRank on LightGBM in the metric that chose the rounds.
"""

import sys

import boostrank
from boostrank.datasets import RankingData, load_letor
from boostrank.lab.compare import run_folds
from boostrank.lab.folds import rotation
from boostrank.lab.learners import Learner
from boostrank.lab.results import Row
from boostrank.lab.settings import Settings

BY_MAP = boostrank.LambdaRank(target="map")
LEARNERS = (
    Learner("lambdarank", "lightgbm", boostrank.LambdaRank()),
    Learner("lambdarank:target=map", "lightgbm", BY_MAP),
    Learner("slam-map", "lightgbm", boostrank.SLAM(measure="map")),
    Learner("blend", "lightgbm", boostrank.Blend()),
    Learner("lambdarank", "xgboost", boostrank.LambdaRank()),
    Learner("lambdarank:target=map", "xgboost", BY_MAP),
    Learner("xgboost:rank:map", "xgboost", "rank:map"),
    Learner("xgboost:rank:ndcg", "xgboost", "rank:ndcg"),
)


def main() -> None:
    """Train and print."""
    read = [load_letor(path) for path in sys.argv[1:]]
    parts = [
        RankingData(part.X, (part.y > 0).astype(float), part.qid).shuffle_within_queries(0)
        for part in read
    ]
    for metric in ("map", "ndcg@10"):
        settings = Settings(rounds=200, metric=metric)
        rows: list[Row] = []
        for learner in LEARNERS:
            folds = tuple(run_folds(learner, rotation(parts), settings, range(1, 6)))
            row = Row(learner, folds, rows[0] if rows else None, 0, metric)
            rows.append(row)
            low, high = row.difference_interval if len(rows) > 1 else (0.0, 0.0)
            print(
                f"{metric:8}{learner!s:32}MAP {row.mean('map'):.4f}  "
                f"NDCG@10 {row.mean('ndcg@10'):.4f}  {low:+.4f} to {high:+.4f}"
            )


if __name__ == "__main__":
    main()
