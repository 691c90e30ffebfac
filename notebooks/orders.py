"""The order of long lists: the table of docs/accuracy.md for labels that are all different.

    python notebooks/orders.py

takes four minutes on one core. For our objectives and the hosts' nearest built-ins, trained on
200 queries of 5,000 documents with simulated returns, it prints the validation Spearman after 50
and 100 rounds and the processor seconds per round.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import xgboost

import boostrank

N_DOCS, ROUNDS = 5_000, (50, 100)
Learner = Callable[[int], Any]


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
    matrix, valid = xgboost.DMatrix(X, y, group=group), xgboost.DMatrix(X_valid)
    grown = {"eta": 0.1, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "nthread": 1}
    grown |= {"base_score": 0, "disable_default_eval_metric": 1}

    def by_lightgbm(objective: Any) -> Learner:
        model = lightgbm.train(params | {"objective": objective}, dataset, ROUNDS[-1])
        return lambda rounds: model.predict(X_valid, num_iteration=rounds)

    def by_xgboost(objective: Any, **extra: Any) -> Learner:
        named = {"objective": objective if isinstance(objective, str) else "rank:pairwise", **extra}
        own = None if isinstance(objective, str) else objective
        model = xgboost.train(grown | named, matrix, ROUNDS[-1], obj=own)
        return lambda rounds: model.predict(valid, output_margin=True, iteration_range=(0, rounds))

    one_pair = {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 1}
    learners: dict[str, Callable[[], Learner]] = {
        "lightgbm regression": partial(by_lightgbm, "regression"),
        "xgboost reg:squarederror": partial(by_xgboost, "reg:squarederror"),
        "xgboost rank:pairwise, one pair": partial(by_xgboost, "rank:pairwise", **one_pair),
        "xgboost rank:pairwise": partial(by_xgboost, "rank:pairwise"),
    }
    for name in ("spearman", "listmle", "pearson", "query-rmse"):
        learners[f"{name}@lightgbm"] = partial(by_lightgbm, boostrank.objective(name))
        learners[f"{name}@xgboost"] = partial(by_xgboost, boostrank.objective(name))
    for name, train in learners.items():
        begin = time.process_time()
        scores = train()
        seconds = (time.process_time() - begin) / ROUNDS[-1]
        values = [
            boostrank.evaluate(scores(rounds), y_valid, group_valid, ("spearman",))["spearman"]
            for rounds in ROUNDS
        ]
        print(f"| {name} | {values[0]:.4f} | {values[1]:.4f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
