"""The order of long lists: the table of docs/accuracy.md for labels that are all different.

    python notebooks/orders.py

takes four minutes on one core. Seconds per round are those of the processor.
"""

import time
from typing import Any

import lightgbm
import numpy as np
import xgboost

import boostrank

N_DOCS, ROUNDS = 5_000, (50, 100)
ONE_PAIR = {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 1}
#: By name: host, objective, and further parameters.
LEARNERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "lightgbm:regression": ("lightgbm", "regression", {}),
    "xgboost:reg:squarederror": ("xgboost", "reg:squarederror", {}),
    "xgboost:rank:pairwise": ("xgboost", "rank:pairwise", {}),
    "xgboost:rank:pairwise, one pair for each document": ("xgboost", "rank:pairwise", ONE_PAIR),
    **{
        f"{name}@{host}": (host, boostrank.objective(name), {})
        for name in ("spearman", "listmle", "query-rmse", "pearson")
        for host in ("lightgbm", "xgboost")
    },
}


def returns(n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return features, labels, group: a weak signal, heavy tails, and a level for each day."""
    rng = np.random.default_rng(seed)
    n = n_queries * N_DOCS
    X = rng.normal(size=(n, 10)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.5 * np.abs(X[:, 4])
    level = np.repeat(0.05 * rng.normal(size=n_queries), N_DOCS)
    return X, 0.01 * signal + 0.05 * rng.standard_t(3, size=n) + level, [N_DOCS] * n_queries


def main() -> None:
    """Train and print."""
    X, y, group = returns(200, seed=1)
    X_valid, y_valid, group_valid = returns(20, seed=2)
    params = {"verbosity": -1, "metric": "None", "num_threads": 1, "seed": 1, "learning_rate": 0.1}
    dataset = lightgbm.Dataset(X, y, group=group, params=params).construct()
    matrix = xgboost.DMatrix(X, y, group=group)
    valid = {"lightgbm": X_valid, "xgboost": xgboost.DMatrix(X_valid)}
    grown = {"eta": 0.1, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "nthread": 1}
    grown |= {"base_score": 0, "disable_default_eval_metric": 1}

    for name, (host, objective, extra) in LEARNERS.items():
        begin = time.process_time()
        if host == "lightgbm":
            model = lightgbm.train(params | {"objective": objective}, dataset, ROUNDS[-1])
            ranges = [{"num_iteration": rounds} for rounds in ROUNDS]
        else:
            own = None if isinstance(objective, str) else objective
            named = {"objective": objective if own is None else "rank:pairwise", **extra}
            model = xgboost.train(grown | named, matrix, ROUNDS[-1], obj=own)
            ranges = [{"output_margin": True, "iteration_range": (0, rounds)} for rounds in ROUNDS]
        seconds = (time.process_time() - begin) / ROUNDS[-1]
        cells = []
        for given in ranges:
            scores = model.predict(valid[host], **given)
            found = boostrank.evaluate(scores, y_valid, group_valid, ("spearman",))
            cells.append(f"{found['spearman']:.4f}")
        print(f"| {name} | {' | '.join(cells)} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
