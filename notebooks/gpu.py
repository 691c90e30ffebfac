"""Whole boosting rounds of XGBoost on a GPU, with our objectives beside ``rank:ndcg``.

    python notebooks/gpu.py
    python notebooks/gpu.py --device cpu --docs 100000  # a trial without a GPU

prints a table. A round of each objective is followed by one of ``rank:ndcg`` on the same data, and
cells are medians over such pairs. There are 50 features of random numbers, and grades 0 to 4.

A round of ours is what `xgboost.Booster.boost` does: XGBoost copies the predictions to the CPU,
calls the objective, copies the gradients to the GPU and grows a tree. The first two steps are timed
by themselves: "ours" is their share in the round. The copy of the gradients is inside XGBoost.
"""

import argparse
import json
import sys
import time
import warnings
from itertools import product
from typing import Any

import numpy as np
import xgboost
from boostrank.objectives.validation import Floats

import boostrank
from boostrank.datasets.synthetic import GRADE_SHARES

FEATURES = 50
WARM_UP = 2
OBJECTIVES = {
    "blend": boostrank.Blend(),
    "lambdarank": boostrank.LambdaRank(),
    "sdcg": boostrank.SDCG(),
}
TREES = {"max_depth": 6, "learning_rate": 0.1, "base_score": 0, "verbosity": 0}


def trains_on_gpu() -> bool:
    """Tell whether XGBoost can train on a GPU here; it falls back to the CPU with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = xgboost.DMatrix(np.zeros((2, 1)), [0, 1])
        booster = xgboost.train({"device": "cuda", "verbosity": 0}, rows, 1)
    device: str = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    return device.startswith("cuda")


def make_matrix(docs: int, length: int) -> xgboost.QuantileDMatrix:
    """Return random data in the bins that trees are grown from."""
    rng = np.random.default_rng(0)
    group = np.full(docs // length, length)
    n = int(group.sum())
    y = rng.choice(len(GRADE_SHARES), n, p=GRADE_SHARES).astype(np.float32)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    X[:, 0] += y  # something to learn
    return xgboost.QuantileDMatrix(X, y, group=group)


def rounds_of(
    objective: Any, matrix: xgboost.DMatrix, params: dict[str, Any], pairs: int
) -> Floats:
    """Return seconds (4, pairs): of our predictions, objective and round, and of the built-in's."""
    ours = xgboost.Booster({**params, "objective": "rank:pairwise"}, [matrix])
    theirs = xgboost.Booster({**params, "objective": "rank:ndcg"}, [matrix])
    times = []
    for number in range(WARM_UP + pairs):
        begin = time.perf_counter()
        scores = ours.predict(matrix, output_margin=True, training=True)
        predicted = time.perf_counter()
        grad, hess = objective(number, scores, matrix)
        computed = time.perf_counter()
        ours.boost(matrix, number, grad=grad, hess=hess)
        end = time.perf_counter()
        theirs.update(matrix, number)
        times.append([predicted - begin, computed - predicted, end - begin])
        times[-1].append(time.perf_counter() - end)
    return np.transpose(times[WARM_UP:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="whole boosting rounds of XGBoost on a GPU")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--docs", default="1000000,10000000", help="documents, with commas between")
    parser.add_argument("--lengths", default="20,120", help="documents per query")
    parser.add_argument("--pairs", type=int, default=7, help="rounds to take the median of")
    args = parser.parse_args()
    if args.device == "cuda" and not trains_on_gpu():
        sys.exit(
            "XGBoost finds no GPU, or is built without CUDA, as xgboost-cpu is; "
            "`--device cpu --docs 100000` tries this script without one"
        )
    params = {**TREES, "device": args.device}
    print(f"XGBoost {xgboost.__version__}, {args.device}, boostrank {boostrank.__version__}\n")
    print(
        "| documents | per query | objective | round, s | `rank:ndcg`, s | ratio | ours "
        "| predictions, s | objective, s |"
    )
    print("|" + "---|" * 9)
    numbers = (map(int, each.split(",")) for each in (args.docs, args.lengths))
    for docs, length in product(*numbers):
        matrix = make_matrix(docs, length)
        for name, objective in OBJECTIVES.items():
            seconds = rounds_of(objective, matrix, params, args.pairs)
            predicted, computed, ours, theirs = np.median(seconds, axis=1)
            ratio = np.median(seconds[2] / seconds[3])
            share = np.median((seconds[0] + seconds[1]) / seconds[2])
            print(
                f"| {docs:,} | {length} | `{name}` | {ours:.4f} | {theirs:.4f} | {ratio:.2f} "
                f"| {share:.0%} | {predicted:.4f} | {computed:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
