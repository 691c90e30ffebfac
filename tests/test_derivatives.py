"""Gradients and Hessians are what they claim to be, for every objective and parameter set.

The oracle's loss, with the frozen quantities frozen, is differentiated by central differences.
"""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from boostrank.objectives import REGISTRY, Contract, Cost
from cases import BY_PATH, every_name, every_path
from oracle import CASES, FLOOR, ORACLES, REACH, gradient, hessian_diagonal

COMPUTED = [
    (name, parameters, hessian)
    for name, parameters in CASES
    for hessian in REGISTRY[name].hessians
    if hessian != "constant"
]


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
    # The worst possible order: the most relevant document last.
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


# Where something is frozen, differences of the loss are not the gradient: see test_blocks.py.
DIFFERENTIABLE = [
    param for param in BY_PATH if param.values[0].objective.contract.gradient != "frozen"
]


@pytest.mark.compiled
@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients_of_lists_of_every_length(case, rng):
    """Vectors and blocks leave a different remainder for every length, and scratch is reused."""
    objective, m = case.objective, case.rounds[0]
    longest = 140 if objective.contract.cost >= Cost.QUADRATIC else 330
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


@pytest.mark.parametrize(("name", "parameters", "hessian"), COMPUTED)
def test_hessian_is_what_it_claims_to_be(name, parameters, hessian):
    objective = REGISTRY[name](**parameters, hessian=hessian)
    kind = objective.contract.hessian
    assert kind == REGISTRY[name].hessians[hessian]
    entry = ORACLES[name]
    formula = entry.exact if kind == "exact" else entry.gauss_newton
    for scores, grades in queries(name, parameters):
        for m in entry.rounds(parameters):
            _, got = objective.grad_hess(scores, grades, [len(scores)], round=m)
            want = np.maximum(formula(scores, grades, round=m, **parameters), FLOOR)
            close(got, want, 1e-8, max(1.0, want.max()))
            if kind == "majorizer":
                exact = hessian_diagonal(
                    lambda s: entry.loss(s, grades, round=m, **parameters),  # noqa: B023
                    scores,
                )
                assert (got >= exact - 1e-6).all()


@every_name
def test_a_constant_hessian_is_one(name, rng):
    objective = REGISTRY[name](**ORACLES[name].parameters[0], hessian="constant")
    assert objective.contract.hessian == "constant"
    group = [3, 4, 70, 70]
    scores, labels = rng.normal(size=sum(group)), rng.integers(0, 4, sum(group))
    labels[3:77] = 2  # nothing to rank, in a short query and in a long one
    _, hess = objective.grad_hess(scores, labels, group, round=1)
    np.testing.assert_array_equal(hess, 1.0)


@every_path
def test_the_gradient_does_not_depend_on_the_hessian(case, rng):
    scores, labels = rng.normal(size=30), rng.integers(0, 4, 30)
    for m in case.rounds:
        want = case.objective.grad_hess(scores, labels, [12, 18], round=m)[0]
        for hessian in case.objective.hessians:
            other = case.objective.replace(hessian=hessian)
            got = other.grad_hess(scores, labels, [12, 18], round=m)[0]
            np.testing.assert_array_equal(got, want)


# ---- the contract --------------------------------------------------------------------------------


def along_a_path(case, points):
    """Return losses at two lists of scores, gradients at points between, and the difference."""
    rng = np.random.default_rng(3)
    n = 14
    begin, end, grades = rng.normal(0, 2, n), rng.normal(0, 2, n), np.arange(n) % 4
    share = (np.arange(points) + 0.5)[:, None] / points
    scores = begin + share * (end - begin)
    group = np.full(points, n)
    query = scores.ravel(), np.tile(grades, points), group
    m = case.rounds[-1]
    grad, _ = case.objective.grad_hess(*query, round=m)
    first, last = case.objective.loss(np.concatenate([begin, end]), [*grades] * 2, [n, n], round=m)
    return first, last, grad.reshape(points, n), end - begin


@every_path
@pytest.mark.compiled
def test_the_kind_of_the_gradient(case):
    """The loss is the integral of its gradient, except where something is frozen.

    The path crosses ties and kinks. With four times as many points, a continuous gradient changes a
    quarter as much from one point to the next. At kinks it jumps.
    """
    contract = case.objective.contract
    first, last, coarse, way = along_a_path(case, 2000)
    *_, fine, _ = along_a_path(case, 8000)
    change, size = (fine @ way).mean() - (last - first), np.abs(fine @ way).mean()
    assert (abs(change) > 1e-2 * size) == (contract.gradient == "frozen")
    assert bool(contract.frozen) == (contract.gradient == "frozen")
    if contract.gradient == "subgradient":
        assert contract.kinks
    if contract.gradient != "frozen":
        jump, smaller = (np.abs(np.diff(grad, axis=0)).max() for grad in (coarse, fine))
        assert (smaller > 0.5 * jump) == bool(contract.kinks)


@every_path
def test_only_a_convex_loss_lies_below_all_chords_and_above_all_tangents(case, rng):
    """At kinks too: integral scores put many leads exactly at a margin."""
    m = case.rounds[-1]
    shares = np.array([0.0, 1.0, 0.2, 0.5, 0.9])
    chords = tangents = True
    for number in range(60):
        n = int(rng.integers(2, 12))
        begin, end = rng.normal(0, 2, n), rng.normal(0, 3, n)
        if number % 2:
            begin, end = begin.round(), end.round()
        grades = rng.integers(0, 4, n)
        scores = begin + shares[:, None] * (end - begin)
        query = scores.ravel(), np.tile(grades, len(shares)), np.full(len(shares), n)
        loss = case.objective.loss(*query, round=m)
        grad, _ = case.objective.grad_hess(begin, grades, [n], round=m)
        room = 1e-12 * (1.0 + np.abs(loss).max())
        chords &= (loss <= (1 - shares) * loss[0] + shares * loss[1] + room).all()
        tangents &= loss[1] >= loss[0] + grad @ (end - begin) - room
    assert chords == tangents == case.objective.contract.convex


STANDS_FOR_A_METRIC = [
    param for param in BY_PATH if param.values[0].objective.contract.shift_invariant
]


@pytest.mark.parametrize("case", STANDS_FOR_A_METRIC)
def test_the_best_order_has_the_best_value_of_the_metric(case):
    """The loss is negative there if it is minus a metric, and only then."""
    labels = np.array([1.0, 0.0])
    loss = case.objective.loss(1e3 * labels, labels, [2], round=case.rounds[-1])[0]
    assert (loss < 0) == (case.objective.contract.metric_offset == 0)


def test_a_contract_knows_its_labels_and_stays_as_it_is():
    with pytest.raises(ValueError, match="unknown labels 'grade'"):
        Contract(labels="grade")
    with pytest.raises(FrozenInstanceError):
        Contract().gradient = "frozen"


def test_costs_are_ordered():
    for place, cost in enumerate(Cost):
        assert [cost < other for other in Cost] == [place < k for k in range(len(Cost))]
