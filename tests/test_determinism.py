"""The same data give the same bits everywhere. A golden file fixes the numbers across versions."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from boostrank.objectives import REGISTRY, Preferences
from cases import every_name, example
from oracle import NAMES, ORACLES
from programs import output_of

GOLDEN = Path(__file__).parent / "golden" / "gradients.json"
# Processors round differently: some fuse multiplications, and their vectors differ in length.
RTOL = 1e-9
PAIRED = "ranknet", "lambdarank"


def digest(names):
    """Return a digest of the numbers of each objective, and of pairs, on data made from a seed."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 60, 200)
    scores, labels = rng.normal(size=group.sum()), rng.integers(0, 5, group.sum())
    rows = group[: group.argmax()].sum() + np.arange(group.max())
    pairs = np.column_stack([rows[1:], rows[:-1], rng.uniform(1.0, 2.0, len(rows) - 1)])
    objectives = {name: (example(name).objective, example(name).rounds[-1]) for name in names}
    objectives |= {f"pairs of {name}": (Preferences(name, pairs), 0) for name in PAIRED}
    result = {}
    for name, (objective, m) in objectives.items():
        arrays = objective.grad_hess(scores, labels, group, round=m)
        arrays = *arrays, objective.loss(scores, labels, group, round=m)
        result[name] = hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
    return result


def digest_elsewhere(names, **environment):
    code = "import json, sys, test_determinism as t; print(json.dumps(t.digest(sys.argv[1:])))"
    own = {"PYTHONPATH": str(Path(__file__).parent), **environment}
    return json.loads(output_of(code, *names, env={**os.environ, **own}))


def test_processes_give_the_same_bits():
    # If two compiled kernels share a function, the process that compiles both may run either copy.
    # Its last bits may then differ from those of all later processes, which load the kernels.
    digest(NAMES)
    one = digest_elsewhere(NAMES, NUMBA_NUM_THREADS="1", PYTHONHASHSEED="1")
    assert digest_elsewhere(NAMES, NUMBA_NUM_THREADS="2", PYTHONHASHSEED="2") == one


@pytest.mark.compiled
def test_the_process_that_compiles_gives_the_same_bits(tmp_path):
    """It may not run other copies of helpers than the kernels that it leaves on disk."""
    names = ["pearson", "ranknet"]
    one = digest_elsewhere(names, NUMBA_CACHE_DIR=str(tmp_path))
    assert digest_elsewhere(names, NUMBA_CACHE_DIR=str(tmp_path)) == one


# ---- golden file ---------------------------------------------------------------------------------

SCORES = [0.3, 1.1, -0.4, 0.3, 2.0, -1.7, 0.6, 40.0]
LABELS = [1.0, 0.0, 2.0, 2.0, 0.5, 4.0, 0.0, 3.0]
GROUP = [3, 0, 1, 4]


def numbers(name):
    """Return loss, gradient and Hessians of an objective for every parameter set and round."""
    data = SCORES, LABELS, GROUP
    result = {}
    for parameters in ORACLES[name].parameters:
        for m in ORACLES[name].rounds(parameters):
            key = f"{name} {parameters}" + (f" round {m}" if m else "")
            for hessian in REGISTRY[name].hessians:
                objective = REGISTRY[name](**parameters, hessian=hessian)
                grad, hess = objective.grad_hess(*data, round=m)
                result[f"{key}: gradient"] = grad.tolist()
                if hessian != "constant":
                    result[f"{key}: {hessian} Hessian"] = hess.tolist()
            result[f"{key}: loss"] = objective.loss(*data, round=m).tolist()
    return result


def owner(key):
    return key.partition(" ")[0]


@every_name
def test_numbers_are_those_of_the_golden_file(name, request):
    got = numbers(name)
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    if request.config.getoption("overwrite"):
        golden = {key: row for key, row in golden.items() if owner(key) != name} | got
        lines = (
            f"{json.dumps(key)}: [{', '.join(f'{x:.12g}' for x in golden[key])}]"
            for key in sorted(golden, key=owner)
        )
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    want = {key: row for key, row in golden.items() if owner(key) == name}
    assert got.keys() == want.keys()
    for key, row in want.items():
        scale = np.abs(row).max()
        np.testing.assert_allclose(got[key], row, rtol=RTOL, atol=RTOL * scale, err_msg=key)


def test_the_golden_file_holds_no_other_objective():
    assert {owner(key) for key in json.loads(GOLDEN.read_text(encoding="utf-8"))} == set(NAMES)
