"""Whole boosting rounds of XGBoost on a GPU, with our objectives beside ``rank:ndcg``.

    python notebooks/gpu.py
    python notebooks/gpu.py --device cpu --docs 100000  # a trial without a GPU

prints a table. A round of each objective is followed by one of ``rank:ndcg`` on the same data, and
cells are medians over such pairs. There are 50 features of random numbers, and grades 0 to 4. CuPy,
if it is installed, makes the features on the GPU; otherwise NumPy makes them, and XGBoost copies
them before the first round.

A round of ours is what `xgboost.Booster.boost` does: XGBoost copies the predictions to the CPU,
calls the objective, copies the gradients to the GPU and grows a tree. The first two steps are timed
by themselves. The copy of the gradients is inside XGBoost. Its column is the time in which CuPy
copies two arrays of that size, and is empty without CuPy. "Ours" is the share of these three in the
round.
"""

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
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


def make_matrix(docs: int, length: int, cupy: Any) -> xgboost.QuantileDMatrix:
    """Return random data in the bins that trees are grown from."""
    rng = np.random.default_rng(0)
    group = np.full(docs // length, length)
    n = int(group.sum())
    y = rng.choice(len(GRADE_SHARES), n, p=GRADE_SHARES).astype(np.float32)
    source = rng if cupy is None else cupy.random.default_rng(0)
    X = source.standard_normal((n, FEATURES), dtype=np.float32)
    X[:, 0] += y if cupy is None else cupy.asarray(y)  # something to learn
    return xgboost.QuantileDMatrix(X, y, group=group)


def gradient_copy(n: int, cupy: Any) -> float:
    """Return the seconds in which a gradient and a Hessian reach the GPU; NaN without CuPy."""
    if cupy is None:
        return np.nan
    arrays = np.zeros(n, np.float32), np.zeros(n, np.float32)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for array in arrays:
            cupy.asarray(array)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def rounds_of(
    objective: Any,
    matrix: xgboost.DMatrix,
    params: dict[str, Any],
    pairs: int,
    wait: Callable[[], Any],
) -> Floats:
    """Return seconds (4, pairs): of our predictions, objective and round, and of the built-in's."""
    ours = xgboost.Booster({**params, "objective": "rank:pairwise"}, [matrix])
    theirs = xgboost.Booster({**params, "objective": "rank:ndcg"}, [matrix])
    times = []
    for number in range(WARM_UP + pairs):
        wait()
        begin = time.perf_counter()
        scores = ours.predict(matrix, output_margin=True, training=True)
        predicted = time.perf_counter()
        grad, hess = objective(number, scores, matrix)
        computed = time.perf_counter()
        ours.boost(matrix, number, grad=grad, hess=hess)
        wait()
        end = time.perf_counter()
        theirs.update(matrix, number)
        wait()
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
    cupy = None
    if args.device == "cuda" and importlib.util.find_spec("cupy"):
        cupy = import_module("cupy")
    wait = cupy.cuda.Device().synchronize if cupy else (lambda: None)
    params = {**TREES, "device": args.device}
    print(f"XGBoost {xgboost.__version__}, {args.device}, boostrank {boostrank.__version__}\n")
    print(
        "| documents | per query | objective | round, s | `rank:ndcg`, s | ratio | ours "
        "| predictions, s | objective, s | gradients, s |"
    )
    print("|" + "---|" * 10)
    numbers = (map(int, each.split(",")) for each in (args.docs, args.lengths))
    for docs, length in product(*numbers):
        matrix = make_matrix(docs, length, cupy)
        copy = gradient_copy(matrix.num_row(), cupy)
        copied = "" if np.isnan(copy) else f"{copy:.4f}"
        for name, objective in OBJECTIVES.items():
            seconds = rounds_of(objective, matrix, params, args.pairs, wait)
            predicted, computed, ours, theirs = np.median(seconds, axis=1)
            ratio = np.median(seconds[2] / seconds[3])
            share = np.median((seconds[0] + seconds[1] + np.nan_to_num(copy)) / seconds[2])
            print(
                f"| {docs:,} | {length} | `{name}` | {ours:.4f} | {theirs:.4f} | {ratio:.2f} "
                f"| {share:.0%} | {predicted:.4f} | {computed:.4f} | {copied} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
