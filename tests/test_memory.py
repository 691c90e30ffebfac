"""Memory of one call, and of thousands."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from boostrank.objectives.view import View
from programs import output_of

import boostrank
from boostrank.registry import make_objective

ROUNDS = 200
TRAINING = {
    "lightgbm": """
import lightgbm
params = {"objective": "none", "num_leaves": 2, "num_threads": 1, "verbosity": -1}
booster = lightgbm.Booster(params, lightgbm.Dataset(X, y, group=group))
def update(round):
    booster.update(fobj=objective)
""",
    "xgboost": """
import xgboost
data = xgboost.QuantileDMatrix(X, y, group=group, nthread=1)
booster = xgboost.Booster({"max_depth": 1, "nthread": 1, "disable_default_eval_metric": 1}, [data])
def update(round):
    booster.update(data, round, fobj=objective)
""",
}


@pytest.mark.parametrize("host", TRAINING)
def test_rounds_leave_nothing_behind(host):
    """Growth from round 100 to 200, of Python's memory with NumPy's and of the process.

    One float per document, kept in each round, would be 2.8 MB. The hosts keep trees.
    """
    program = f"""
import gc, resource, tracemalloc
import numpy as np
import boostrank

rng = np.random.default_rng(0)
group = np.full(250, 14)
X = rng.normal(size=(group.sum(), 2)).astype(np.float32)
y = rng.integers(0, 4, len(X)).astype(float)
objective = boostrank.RegSHFSDCG(total_rounds={ROUNDS}, query_fraction=0.5)
{TRAINING[host]}
def memory():
    gc.collect()
    return tracemalloc.get_traced_memory()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for round in range({ROUNDS}):
    if round == 50:
        tracemalloc.start()  # everything is compiled, which would take ten times as long
    if round == 100:
        early = memory()
    update(round)
print(*np.subtract(memory(), early))
"""
    python, process = map(int, output_of(program).split())
    # Bytes; XGBoost creates a class per round, which Python keeps for a while.
    assert python < 300_000
    assert process < 10_000  # kilobytes


@pytest.mark.parametrize("name", boostrank.objective_names())
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["lightgbm", "xgboost"])
def test_one_call_of_a_host(name, dtype):
    """At most 48 bytes per document and 40 per query, more for parts and draws."""
    objective = make_objective(name, {}, rounds=2)
    group = np.full(20_000, 20)  # many, so that what does not grow with them is small
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, group.sum()).astype(np.float32)
    scores = rng.normal(size=len(labels)).astype(dtype)
    objective(labels[:20], scores[:20], None, group[:1])  # compiles
    with ThreadPoolExecutor(1) as pool:  # another thread: memory of the last call is not reused
        tracemalloc.start()
        pool.submit(objective, labels, scores, None, group).result()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak >= 24 * len(labels)  # gradients for us and for the host: they are traced
    # A mixture holds gradient and Hessian of each part until the scales of all are known.
    parts = objective.parts(View(scores, labels, np.append(0, np.cumsum(group))), 1)
    per_document = 48 + 16 * (len(parts) - 1) + 8 * objective.n_draws
    assert peak <= per_document * len(labels) + 40 * len(group) + 50_000
