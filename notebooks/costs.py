"""Nanoseconds per document of one gradient, for every objective: the last table of docs/speed.md.

    python notebooks/costs.py

prints it; the page says what is timed. Scores are normal.
"""

import time

import numba
import numpy as np
from boostrank.objectives import Objective

from boostrank.datasets.synthetic import GRADE_SHARES
from boostrank.registry import make_objective, objective_names

LENGTHS = (20, 120, 1_000, 9_000)
TOTAL = 36_000
PROBABILITIES = ("calibrated", "query-softmax", "query-cross-entropy")


def nanoseconds(objective: Objective, docs: int) -> float:
    """Return the time per document of one call."""
    rng = np.random.default_rng(0)
    n = docs * max(1, TOTAL // docs)
    labels = rng.choice(len(GRADE_SHARES), n, p=GRADE_SHARES).astype(float)
    if objective.name in PROBABILITIES:
        labels /= labels.max()
    scores, group = rng.normal(size=n), np.full(n // docs, docs)
    times = []
    while len(times) < 3 or (sum(times) < 0.5 and len(times) < 30):
        begin = time.perf_counter()
        objective(labels, scores, None, group)
        times.append(time.perf_counter() - begin)
    return 1e9 * min(times[1:]) / n


def main() -> None:
    """Print the table."""
    numba.set_num_threads(1)
    print("| objective |", " | ".join(f"{docs:,}" for docs in LENGTHS), "|")
    print("|---|" + "---|" * len(LENGTHS))
    for name in objective_names():
        objective = make_objective(name, {}, rounds=2)
        cells: list[str] = []
        spent = 0.0
        for docs in LENGTHS:  # cubic objectives would take hours
            spent = nanoseconds(objective, docs) if spent < 50_000.0 else np.nan
            cells.append("" if np.isnan(spent) else f"{spent:,.0f}")
        print(f"| `{name}` |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
