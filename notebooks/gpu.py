"""Whole boosting rounds of XGBoost on a GPU, with our objectives beside ``rank:ndcg``.

    pip install xgboost cupy-cuda12x
    python notebooks/gpu.py
    python notebooks/gpu.py --device cpu --docs 100000  # a trial without a GPU, and without CuPy

prints a table. A round of each objective is followed by one of ``rank:ndcg`` on the same data, and
cells are medians over such pairs. There are 50 features of random numbers, and grades 0 to 4.
XGBoost warns if it falls back to the CPU. The first two steps of a round of ours, predictions and
the call of the objective, are also timed by themselves; docs/speed.md says what is copied.
"""

import argparse
import time
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
WARM_UP, PAIRS = 2, 7
OBJECTIVES = {
    "blend": boostrank.Blend(),
    "lambdarank": boostrank.LambdaRank(),
    "sdcg": boostrank.SDCG(),
}
TREES = {"max_depth": 6, "learning_rate": 0.1, "base_score": 0}


def make_matrix(docs: int, length: int) -> xgboost.QuantileDMatrix:
    """Return random data in the bins that trees are grown from."""
    rng = np.random.default_rng(0)
    group = np.full(docs // length, length)
    y = rng.choice(len(GRADE_SHARES), group.sum(), p=GRADE_SHARES).astype(np.float32)
    X = rng.standard_normal((len(y), FEATURES), dtype=np.float32)
    X[:, 0] += y  # something to learn
    return xgboost.QuantileDMatrix(X, y, group=group)


def rounds_of(
    objective: Any, matrix: xgboost.DMatrix, device: str, wait: Callable[[], Any]
) -> Floats:
    """Return seconds (4, pairs): of our predictions, objective and round, and of the built-in's."""
    ours, theirs = (
        xgboost.Booster({**TREES, "device": device, "objective": name}, [matrix])
        for name in ("rank:pairwise", "rank:ndcg")
    )
    times = []
    for number in range(WARM_UP + PAIRS):
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
    parser.add_argument("--docs", type=int, nargs="+", default=[1_000_000, 10_000_000])
    args = parser.parse_args()
    gpu = args.device == "cuda"
    wait = import_module("cupy").cuda.Device().synchronize if gpu else (lambda: None)
    print(f"XGBoost {xgboost.__version__}, {args.device}, boostrank {boostrank.__version__}\n")
    heads = "documents", "per query", "objective", "round, s", "`rank:ndcg`, s", "ratio"
    print("|", " | ".join((*heads, "predictions, s", "objective, s")), "|\n|" + "---|" * 8)
    for docs, length in product(args.docs, (20, 120)):
        matrix = make_matrix(docs, length)
        for name, objective in OBJECTIVES.items():
            seconds = rounds_of(objective, matrix, args.device, wait)
            predicted, computed, ours, theirs = np.median(seconds, axis=1)
            ratio = np.median(seconds[2] / seconds[3])
            print(
                f"| {docs:,} | {length} | `{name}` | {ours:.4f} | {theirs:.4f} | {ratio:.2f} "
                f"| {predicted:.4f} | {computed:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
