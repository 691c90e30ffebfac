"""The same data give the same bits, anywhere; a golden file keeps the numbers over the versions."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
from boostrank.objectives import REGISTRY
from oracle import CASES, NAMES, ORACLES

GOLDEN = Path(__file__).parent / "golden" / "gradients.json"
CHANGELOG = Path(__file__).parent.parent / "CHANGELOG.md"
# Processors round differently: they fuse multiplications, and their vectors differ in length.
RTOL = 1e-9


def example(name):
    parameters = ORACLES[name].parameters[-1]
    return REGISTRY[name](**parameters), ORACLES[name].rounds(parameters)[-1]


def test_any_order_of_queries_and_number_of_threads_gives_the_same_bits(rng, monkeypatch):
    sizes = np.append(rng.integers(0, 90, 120), [276, 330])  # the last ones in several blocks
    scores = [rng.normal(0, 1.5, n).round(2) for n in sizes]
    labels = [rng.integers(0, 5, n).astype(float) for n in sizes]
    for name, parameters in CASES:
        objective, m = REGISTRY[name](**parameters), ORACLES[name].rounds(parameters)[-1]

        def result(order, threads):
            monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
            s, y = (np.concatenate([a[q] for q in order]) for a in (scores, labels))
            group = sizes[order]
            ends = np.cumsum(group)[:-1]
            loss = objective.loss(s, y, group, round=m)  # noqa: B023
            pair = objective.grad_hess(s, y, group, round=m)  # noqa: B023
            queries = zip(loss, *(np.split(a, ends) for a in pair), strict=True)
            return dict(zip(order.tolist(), queries, strict=True))

        want = result(np.arange(len(sizes)), 1)
        for threads in (2, 7):
            got = result(rng.permutation(len(sizes)), threads)
            for query, numbers in got.items():
                for a, b in zip(numbers, want[query], strict=True):
                    np.testing.assert_array_equal(a, b, err_msg=f"{objective}, query {query}")


def digest(names):
    """Return one digest of the numbers of some objectives on data made from a seed."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 60, 200)
    scores, labels = rng.normal(size=group.sum()), rng.integers(0, 5, group.sum())
    result = {}
    for name in names:
        objective, m = example(name)
        arrays = objective.grad_hess(scores, labels, group, round=m)
        arrays = *arrays, objective.loss(scores, labels, group, round=m)
        result[name] = hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
    return result


def digest_elsewhere(names, **environment):
    code = "import json, sys, test_determinism as t; print(json.dumps(t.digest(sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_processes_give_the_same_bits():
    # Of a function in two compiled kernels, the process that compiles both may run either copy:
    # its last bits may differ from those of all later processes, which load them.
    digest(NAMES)
    one = digest_elsewhere(NAMES, NUMBA_NUM_THREADS="1", PYTHONHASHSEED="1")
    assert digest_elsewhere(NAMES, NUMBA_NUM_THREADS="2", PYTHONHASHSEED="2") == one


# ---- golden file ---------------------------------------------------------------------------------

SCORES = [0.3, 1.1, -0.4, 0.3, 2.0, -1.7, 0.6, 40.0]
LABELS = [1.0, 0.0, 2.0, 2.0, 0.5, 4.0, 0.0, 3.0]
GROUP = [3, 0, 1, 4]


def numbers():
    """Return loss, gradient and Hessians of every objective, parameter set and round."""
    data = SCORES, LABELS, GROUP
    result = {}
    for name, parameters in CASES:
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


def test_the_numbers_are_those_of_the_golden_file(request):
    got = numbers()
    if request.config.getoption("overwrite"):
        lines = (
            f"{json.dumps(key)}: [{', '.join(f'{x:.12g}' for x in row)}]"
            for key, row in got.items()
        )
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    want = json.loads(GOLDEN.read_text())
    assert list(got) == list(want)
    for key, row in want.items():
        scale = np.abs(row).max()
        np.testing.assert_allclose(got[key], row, rtol=RTOL, atol=RTOL * scale, err_msg=key)


def test_the_changelog_tells_of_the_golden_file():
    digest = hashlib.sha256(GOLDEN.read_bytes()).hexdigest()[:8]
    assert f"`{GOLDEN.name}` {digest}" in CHANGELOG.read_text(), (
        f"say in {CHANGELOG.name} what changed the numbers: `{GOLDEN.name}` {digest}"
    )
