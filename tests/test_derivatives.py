"""Gradients and Hessians are what they claim to be, for every objective, choice and parameter set.

The oracle's loss, with the frozen quantities frozen, is differentiated by central differences.
"""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from boostrank.objectives import REGISTRY
from oracle import CASES, FLOOR, ORACLES, REACH, gradient

CHOICES = [
    (name, parameters, hessian) for name, parameters in CASES for hessian in REGISTRY[name].hessians
]

EXACT = [
    (name, parameters)
    for name, parameters in CASES
    if REGISTRY[name](**parameters).contract.gradient == "exact"
]
KINKED = {"ranksvm", "slam-ndcg", "slam-map"}  # the gradient itself jumps: one subgradient there


def queries(name, parameters):
    """Yield (scores, grades) with every score difference out of reach of ties and kinks."""
    rng = np.random.default_rng(7)
    kinks = np.array(ORACLES[name].kinks(parameters))
    for spread, n, real_valued in (
        (1.0, 2, False),
        (1.5, 5, False),
        (2.5, 7, True),
        (8.0, 6, False),
    ):
        while True:
            scores = rng.uniform(-spread, spread, n)
            gaps = (scores[:, None] - scores)[~np.eye(n, dtype=bool)]
            away = np.abs(np.abs(gaps)[:, None] - kinks).min() > 1.1 * REACH
            grades = rng.uniform(0, 3, n) if real_valued else rng.integers(0, 4, n).astype(float)
            if away and len(set(grades)) > 1:
                break
        yield scores.tolist(), grades.tolist()
    # The worst order there is: the most relevant document last.
    yield [0.9, 0.5, 0.1, -0.6], [0.0, 1.0, 1.0, 3.0]


def close(got, want, rtol, scale):
    """Compare with a tolerance relative to the element, or to the query where it is tiny."""
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 1e-2 * scale)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_gradient_is_the_derivative_of_the_frozen_loss(name, parameters):
    objective = REGISTRY[name](**parameters)
    entry = ORACLES[name]
    for scores, grades in queries(name, parameters):
        for m in entry.rounds(parameters):
            got, _ = objective.grad_hess(scores, grades, [len(scores)], round=m)
            want = gradient(
                lambda s: entry.loss(s, grades, frozen_at=scores, round=m, **parameters),  # noqa: B023
                scores,
            )
            close(got, want, 1e-8, np.abs(want).max())


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "parameters"), EXACT)
def test_gradients_of_lists_of_every_length(name, parameters, rng):
    """Vectors and blocks leave another rest with every length, and scratch is used again."""
    objective, m = REGISTRY[name](**parameters), ORACLES[name].rounds(parameters)[0]
    longest = 140 if objective.contract.cost in ("O(n^2)", "O(n^3)") else 330
    group = np.repeat(rng.permutation(np.arange(2, longest)), 2)
    scores, grades = rng.normal(size=group.sum()), rng.integers(0, 5, group.sum())
    grad, _ = objective.grad_hess(scores, grades, group, round=m)
    way = 1e-6 * rng.normal(size=len(scores))
    ahead, behind = (
        objective.loss(s, grades, group, round=m) for s in (scores + way, scores - way)
    )
    starts = np.cumsum(group) - group
    want = np.add.reduceat(2.0 * grad * way, starts)
    size = np.sqrt(np.add.reduceat(np.square(2.0 * grad * way), starts))
    assert (np.abs(ahead - behind - want) <= 1e-3 * size + 1e-12).all()


@pytest.mark.parametrize(("name", "parameters", "hessian"), CHOICES)
def test_hessian_is_what_it_claims_to_be(name, parameters, hessian):
    objective = REGISTRY[name](**parameters, hessian=hessian)
    kind = objective.contract.hessian
    assert kind == REGISTRY[name].hessians[hessian]
    entry = ORACLES[name]
    for scores, grades in queries(name, parameters):
        for m in entry.rounds(parameters):
            _, got = objective.grad_hess(scores, grades, [len(scores)], round=m)
            if kind == "constant":
                np.testing.assert_array_equal(got, 1.0)
                continue
            formula = entry.exact if kind == "exact" else entry.gauss_newton
            want = np.maximum(formula(scores, grades, round=m, **parameters), FLOOR)
            close(got, want, 1e-8, max(1.0, want.max()))


@pytest.mark.parametrize(("name", "parameters", "hessian"), CHOICES)
def test_the_gradient_does_not_depend_on_the_hessian(name, parameters, hessian, rng):
    scores, labels = rng.normal(size=30), rng.integers(0, 4, 30)
    for m in ORACLES[name].rounds(parameters):
        default, other = (
            objective.grad_hess(scores, labels, [12, 18], round=m)[0]
            for objective in (
                REGISTRY[name](**parameters),
                REGISTRY[name](**parameters, hessian=hessian),
            )
        )
        np.testing.assert_array_equal(default, other)


def test_contract_kinds():
    """What derivatives freeze is stated exactly where something is frozen."""
    frozen = {
        ("shf-sdcg", True): "s_m",
        ("reg-shf-sdcg", True): "s_m",
        ("lambdarank", True): "w",
        ("lambdarank", False): "w",
    }
    for name, parameters in CASES:
        contract = REGISTRY[name](**parameters).contract
        what = frozen.get((name, parameters.get("k") is not None), "")
        kind = "subgradient" if name in KINKED else "frozen" if what else "exact"
        assert contract.gradient == kind, (name, parameters)
        assert bool(contract.frozen) == bool(what), (name, parameters)
        assert what in contract.frozen
        assert contract.cost.startswith("O(")
        assert contract.labels
        assert contract.shift_invariant == (name not in {"regression", "reg-shf-sdcg"})
        with pytest.raises(FrozenInstanceError):
            contract.gradient = "exact"
