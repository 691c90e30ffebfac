"""Edge cases of every objective; a new one cannot skip them."""

import dataclasses
import math

import numba
import numpy as np
import pytest
from boostrank.objectives import REGISTRY, Cost
from boostrank.objectives.validation import PROBABILITIES
from cases import PATHS, case, every_objective, example
from oracle import FLOOR, NAMES, ORACLES


def ragged(rng, sizes=(3, 0, 1, 12, 2, 0, 30, 5), decimals=None):
    n = sum(sizes)
    scores = rng.normal(0, 1.5, n)
    if decimals is not None:
        scores = scores.round(decimals)
    return scores, rng.integers(0, 4, n).astype(float), np.array(sizes)


def assert_sound(grad, hess, what=""):
    assert np.isfinite((grad, hess)).all(), what
    assert (hess >= FLOOR).all(), what


def queries_of(group, *arrays):
    ends = np.cumsum(group)
    for start, end in zip(ends - group, ends, strict=True):
        yield tuple(a[start:end] for a in arrays)


# ---- shapes of data ------------------------------------------------------------------------------


@every_objective
def test_no_query_and_empty_queries(case):
    for group in ([], [0], [0, 0, 0]):
        for m in case.rounds:
            grad, hess = case.objective.grad_hess([], [], group, round=m)
            loss = case.objective.loss([], [], group, round=m)
            assert grad.shape == hess.shape == (0,)
            assert loss.shape == (len(group),)
            assert not loss.any()
            assert grad.dtype == hess.dtype == loss.dtype == np.float64


@every_objective
def test_concatenated_queries_equal_separate_calls_bit_for_bit(case, rng):
    """Empty queries, single documents and ties do not change their neighbours."""
    objective = case.objective
    scores, labels, group = ragged(rng, decimals=1)
    for m in case.rounds:
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        loss = objective.loss(scores, labels, group, round=m)
        assert loss.shape == group.shape
        assert not loss[group == 0].any()
        assert_sound(grad, hess)
        for q, (s, y, g, h) in enumerate(queries_of(group, scores, labels, grad, hess)):
            alone = objective.grad_hess(s, y, [len(s)], round=m)
            np.testing.assert_array_equal((g, h), alone)
            assert loss[q] == objective.loss(s, y, [len(s)], round=m)[0]


NOTHING_TO_RANK = {
    "one document": ([2.0], [3.0]),
    "one irrelevant document": ([-1.0], [0.0]),
    "one huge score": ([1e30], [1.0]),
    "equal grades": ([0.3, -1.0, 2.5, 2.5], [2.0] * 4),
    "all irrelevant": ([0.3, -1.0, 2.5, 2.5], [0.0] * 4),
    "equal grades and tied scores": ([0.0, 0.0], [1.5, 1.5]),
}


@every_objective
def test_nothing_to_rank(case):
    """Loss and gradient are exactly zero, except for a pointwise part."""
    for what, (scores, labels) in NOTHING_TO_RANK.items():
        for m in case.rounds:
            grad, hess = case.objective.grad_hess(scores, labels, [len(scores)], round=m)
            loss = case.objective.loss(scores, labels, [len(scores)], round=m)
            assert_sound(grad, hess, what)
            want = case.gradient_without_pairs(scores, labels, m)
            if case.objective.contract.shift_invariant:
                assert not want.any(), what
                assert not grad.any(), what
                assert loss[0] == 0.0, what
            else:
                np.testing.assert_allclose(grad, want, rtol=1e-10, err_msg=what)
                np.testing.assert_allclose(loss, [case.loss(scores, labels, m)], err_msg=what)


# ---- extreme numbers -----------------------------------------------------------------------------


@every_objective
def test_any_scores_give_finite_numbers(case, rng):
    n, group = 40, [15, 25]
    normal, signs = rng.normal(0, 1, n), rng.choice([-1.0, 1.0], n)
    some = rng.random(n) < 0.3
    labels = rng.integers(0, 5, n).astype(float)
    spreads = {
        "zero": np.zeros(n),
        "tied": np.full(n, 0.1),
        "1e30": np.where(some, 1e30 * signs, normal),
        "float32": np.where(some, float(np.finfo(np.float32).max) * signs, normal),
        "1e12": normal * 1e12,
        "1e-12": normal * 1e-12,
        "all scales": signs * 10.0 ** rng.uniform(-12, 12, n),
        "far": np.where(rng.random(n) < 0.5, 700.0, -800.0) + normal,
    }
    for spread, scores in spreads.items():
        for m in case.rounds:
            grad, hess = case.objective.grad_hess(scores, labels, group, round=m)
            assert_sound(grad, hess, spread)
            assert np.isfinite(case.objective.loss(scores, labels, group, round=m)).all()
            if case.objective.contract.shift_invariant:
                for (g,) in queries_of(np.array(group), grad):
                    assert abs(g.sum()) <= 1e-12 * np.abs(g).sum(), spread


def beyond_float64(loss, *query):
    """Tell whether a loss computed by plain Python is too large for a float."""
    try:
        with np.errstate(over="ignore"):
            return math.isinf(loss(*query))
    except OverflowError:
        return True


@every_objective
def test_scores_at_the_ends_of_float64(case, rng):
    """Derivatives are finite, and so is a loss, unless it is too large for the oracle as well."""
    n = 12
    signs = rng.choice([-1.0, 1.0], n)
    labels = np.arange(n) % 5.0
    spreads = {
        "1e300": np.where(np.arange(n) % 3 == 0, 1e300 * signs, signs),
        "all 1e300": 1e300 * signs,
        "equal": np.full(n, 1e300),
        "denormal": 5e-324 * rng.integers(-4, 5, n),
        "all scales": signs * 10.0 ** rng.uniform(-300, 300, n),
    }
    for spread, scores in spreads.items():
        for m in case.rounds:
            assert_sound(*case.objective.grad_hess(scores, labels, [n], round=m), spread)
            try:
                loss = case.objective.loss(scores, labels, [n], round=m)
            except ValueError:
                assert beyond_float64(case.loss, scores, labels, m), spread
            else:
                assert np.isfinite(loss).all(), spread


def test_a_result_beyond_float64_is_refused():
    data = {"scores": [0.0, 0.0, 99.0], "labels": [1, 2, 0], "group": [2, 1]}
    loss, grad_hess = REGISTRY["regression"]().loss, REGISTRY["regression"]().grad_hess
    weighted = {"scores": [0.0, 0.0, 1e5], "weight": [1.0, 1e300]}
    for far in ({"scores": [0.0, 0.0, 1e200]}, weighted):
        with pytest.raises(ValueError, match=r"the loss of Regression\(.* not finite in query 1: "):
            loss(**data | far)
    with pytest.raises(ValueError, match=r"not finite in query 1 \(document at row 2\): look at"):
        grad_hess(**data | {"scores": [0.0, 0.0, 1.7e308]})


@every_objective
def test_wide_and_real_grades(case, rng):
    n = 12
    kinds = {
        "0..31": np.linspace(0, 31, n).round(),
        "real": rng.uniform(0, 5, n),
        "gains to 1e15": np.log2(1.0 + 10.0 ** np.linspace(0, 15, n)),
    }
    for kind, grades in kinds.items():
        scores, labels = rng.normal(0, 1.5, n), rng.permutation(grades)
        for m in case.rounds:
            assert_sound(*case.objective.grad_hess(scores, labels, [n], round=m), kind)
            loss = case.objective.loss(scores, labels, [n], round=m)[0]
            want = case.loss(scores, labels, m)
            np.testing.assert_allclose(loss, want, rtol=1e-10, atol=1e-13, err_msg=kind)


@every_objective
def test_highest_grades(case):
    """A grade of 1000 has a gain of 1e301: still finite, except where it is squared."""
    scores = [0.1, 0.9, -0.4]
    for top in (1000.0, 400.0):
        labels = [top, 0.0, top - 1.0]
        for m in case.rounds:
            try:
                assert_sound(*case.objective.grad_hess(scores, labels, [3], round=m))
                loss = case.objective.loss(scores, labels, [3], round=m)
            except ValueError:
                assert top == 1000.0
                assert beyond_float64(case.loss, scores, labels, m)
            else:
                assert np.isfinite(loss).all()


@every_objective
def test_grades_too_small_for_a_gain(case):
    """2^y - 1 rounds to 0: grades may then differ although no gain does."""
    for labels in ([0.0, 1e-17, 1e-18], [0.0, 1e-300, 0.0], [0.0, 1e-16, 3e-16]):
        for m in case.rounds:
            assert_sound(*case.objective.grad_hess([1.0, 0.5, 0.0], labels, [3], round=m))
            assert np.isfinite(case.objective.loss([1.0, 0.5, 0.0], labels, [3], round=m)).all()


# ---- millions ------------------------------------------------------------------------------------

MILLION = 10**6


# One for each loop over queries and each packing, one with parts, one with a pointwise loss.
@pytest.mark.parametrize(
    "name", ["blend", "lambdarank", "rankboost", "ranknet", "regression", "shf-sdcg", "smooth-ap"]
)
@pytest.mark.compiled
def test_a_million_queries_of_one_document_with_empty_ones_between(name):
    case = example(name)
    objective, m = case.objective, case.rounds[0]
    group = np.ones(MILLION + 3, np.int64)
    group[[0, MILLION // 2, -1]] = 0
    scores = np.linspace(-3, 3, MILLION)
    labels = np.arange(MILLION) % 5.0
    loss = objective.loss(scores, labels, group, round=m)
    grad, hess = objective.grad_hess(scores, labels, group, round=m)
    want = case.gradient_without_pairs(scores, labels, m)
    np.testing.assert_allclose(grad, want, rtol=1e-10)
    assert (hess >= FLOOR).all()
    assert not loss[group == 0].any()
    assert np.any(loss) == np.any(want)
    assert np.isfinite(loss).all()


def fast_on_long_lists():
    """Yield each name with its first parameters that take less than quadratic time."""
    for name in NAMES:
        for parameters in ORACLES[name].parameters:
            if REGISTRY[name](**parameters).contract.cost < Cost.QUADRATIC:
                yield pytest.param(case(name, parameters), id=name)
                break


@pytest.mark.compiled
@pytest.mark.parametrize("case", list(fast_on_long_lists()))
def test_a_query_of_a_million_documents(case, rng):
    scores, labels = rng.normal(size=MILLION), np.arange(MILLION) % 5.0
    grad, hess = case.objective.grad_hess(scores, labels, [MILLION], round=case.rounds[0])
    assert_sound(grad, hess)
    assert grad.any()
    if case.objective.contract.shift_invariant:
        assert abs(grad.sum()) <= 1e-9 * np.abs(grad).sum()


# ---- invariances ---------------------------------------------------------------------------------


@every_objective
def test_permuting_the_documents_permutes_the_result(case, rng):
    objective = case.objective
    scores, labels, _ = ragged(rng, (30,))
    perm = rng.permutation(30)
    if objective.name.startswith("slam"):  # equal grades count in input order
        for grade in np.unique(labels):
            places = labels[perm] == grade
            perm[places] = np.sort(perm[places])
        assert not np.array_equal(perm, np.arange(30))
    for m in case.rounds:
        before = objective.grad_hess(scores, labels, [30], round=m)
        after = objective.grad_hess(scores[perm], labels[perm], [30], round=m)
        for b, a in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b[perm], rtol=1e-10, atol=1e-12 * np.abs(b).max())
        np.testing.assert_allclose(
            objective.loss(scores[perm], labels[perm], [30], round=m),
            objective.loss(scores, labels, [30], round=m),
            rtol=1e-12,
        )


EQUAL_SCORES = {
    "all equal": np.zeros_like,
    "ties": lambda places: places % 4 / 2,
    "ties far apart": lambda places: places % 4 * 1e4,
    "far apart": lambda places: places // 3 * 1e3,
}
LONG_TABLE = tuple(np.linspace(1.0, 0.0, 100) ** 2)
FLAT_TABLE = (1.0,) * 65


def equal_documents():
    """Every path, and each table in place of each discount, of what counts no whole ranks."""
    whole = {"lambdarank", "yetirank", "pl-rank", "smooth-ndcg", "smooth-precision"}
    for name, number in PATHS:
        parameters = ORACLES[name].parameters[number]
        objective = REGISTRY[name](**parameters)
        if name in whole or name.startswith("slam"):
            continue  # tied documents have ranks of their own, in the order of the data
        last = ORACLES[name].rounds(parameters)[-1]
        yield pytest.param(objective, last, id=f"{name}-{number}")
        for table in (LONG_TABLE, FLAT_TABLE) if "discount" in parameters else ():
            changed = dataclasses.replace(objective, discount=table)
            yield pytest.param(changed, last, id=f"{name}-{number}-table-of-{len(table)}")


@pytest.mark.compiled
@pytest.mark.parametrize(("objective", "m"), list(equal_documents()))
def test_documents_of_one_grade_and_one_score_get_one_gradient(objective, m):
    """Short lists, lists of one block, and lists of several, whose blocks round differently."""
    for n in (2, 5, 30, 81, 129, 300):
        places = np.arange(n)
        labels = places * 7 % 3 / (2.0 if objective.contract.labels == PROBABILITIES else 1.0)
        for what, of_places in EQUAL_SCORES.items():
            scores = of_places(places.astype(float))
            _, same = np.unique(np.stack([scores, labels]), axis=1, return_inverse=True)
            first = np.unique(same, return_index=True)[1][same]
            for values in objective.grad_hess(scores, labels, [n], round=m):
                atol = 1e-10 * np.abs(values).max()
                np.testing.assert_allclose(
                    values, values[first], rtol=1e-9, atol=atol, err_msg=f"{n}, {what}"
                )


@every_objective
def test_shift_invariance_is_as_stated(case, rng):
    objective = case.objective
    scores, labels, group = ragged(rng)
    scores = np.round(scores * 1024) / 1024  # adding 64 to these is exact
    for m in case.rounds:
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        shifted = objective.grad_hess(scores + 64.0, labels, group, round=m)
        loss = objective.loss(scores, labels, group, round=m)
        moved = objective.loss(scores + 64.0, labels, group, round=m)
        if objective.contract.shift_invariant:
            for (g,) in queries_of(group, grad):
                assert abs(g.sum()) <= 1e-13 * np.abs(g).sum()
            np.testing.assert_allclose(shifted, (grad, hess), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(moved, loss, rtol=1e-12, atol=1e-14)
        else:
            assert not np.array_equal(shifted[0], grad)
            assert not np.array_equal(moved, loss)


@every_objective
@pytest.mark.compiled
def test_order_of_queries_and_number_of_threads_change_no_bit(case, rng, monkeypatch):
    objective, m = case.objective, case.rounds[-1]
    sizes = np.concatenate([rng.integers(0, 90, 60), [0, 120, 150, 200]])
    if objective.contract.cost < Cost.QUADRATIC:
        sizes = np.append(sizes, [276, 330])  # several blocks each
    assert (sizes.astype(float) ** 2).sum() > 200_000  # smaller data are not split
    scores = [rng.normal(0, 1.5, n).round(2) for n in sizes]
    labels = [rng.integers(0, 5, n).astype(float) for n in sizes]
    asked = []

    def result(order, threads):
        # As numba.set_num_threads(threads) would, but also on a machine with fewer cores.
        monkeypatch.setattr(numba, "get_num_threads", lambda: asked.append(threads) or threads)
        s, y = (np.concatenate([a[q] for q in order]) for a in (scores, labels))
        group = sizes[order]
        loss = objective.loss(s, y, group, round=m)
        grad, hess = objective.grad_hess(s, y, group, round=m)
        ends = np.cumsum(group)[:-1]
        numbers = zip(loss, np.split(grad, ends), np.split(hess, ends), strict=True)
        return dict(zip(order.tolist(), numbers, strict=True))

    want = result(np.arange(len(sizes)), 1)
    for threads in (2, 7):
        for query, numbers in result(rng.permutation(len(sizes)), threads).items():
            np.testing.assert_equal(numbers, want[query], err_msg=f"query {query}")
    assert set(asked) in ({1, 2, 7}, set())  # plain NumPy asks for none
