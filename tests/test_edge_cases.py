"""One matrix of edge cases over the whole registry; a new objective cannot skip it."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import boostrank.objectives
import numba
import numpy as np
import pytest
from boostrank.objectives import (
    REGISTRY,
    SDCG,
    SHFSDCG,
    LambdaRank,
    ListNet,
    Mix,
    Objective,
    RankNet,
    Schedule,
)
from oracle import CASES, FLOOR, NAMES, ORACLES, tau_of_round

MATRIX = [
    pytest.param(name, {**parameters, "hessian": hessian}, id=f"{name}-{number}-{hessian}")
    for number, (name, parameters) in enumerate(CASES)
    for hessian in REGISTRY[name].hessians
]
MIXES = [
    {
        "first": LambdaRank(),
        "second": SHFSDCG(k=2, hessian="exact"),
        "schedule": Schedule("logistic", 4),
    },
    {
        "first": Mix(ListNet(), RankNet(hessian="constant"), 0.5),
        "second": SDCG(alpha=Schedule("linear", 4, first=0.5, last=2.0)),
        "schedule": 0.25,
    },
]
MATRIX += [pytest.param("mix", mix, id=f"mix-{number}") for number, mix in enumerate(MIXES)]
every_objective = pytest.mark.parametrize(("name", "parameters"), MATRIX)
every_name = pytest.mark.parametrize("name", NAMES)


def build(name, parameters):
    return (Mix if name == "mix" else REGISTRY[name])(**parameters)


def rounds(name, parameters):
    return (1, 2, 4) if name == "mix" else ORACLES[name].rounds(parameters)


def example(name):
    """Return an objective of each class with a parameter set that is not all defaults."""
    return REGISTRY[name](**ORACLES[name].parameters[-1])


def tau_of(objective, m):
    """Return the share of the pointwise part in the gradient."""
    if objective.name == "regression":
        return 1.0
    if objective.name == "reg-shf-sdcg":
        own = objective.tau
        return tau_of_round(m, objective.total_rounds) if own is None else own
    return 0.0


def pointwise_gradient(objective, scores, labels, m):
    target = labels if getattr(objective, "target", None) != "gain" else 2.0**labels - 1.0
    return tau_of(objective, m) * 2.0 * (scores - target)


def ragged(rng, sizes=(3, 0, 1, 12, 2, 0, 30, 5), decimals=None):
    n = sum(sizes)
    scores = rng.normal(0, 1.5, n)
    if decimals is not None:
        scores = scores.round(decimals)
    return scores, rng.integers(0, 4, n).astype(float), np.array(sizes)


def assert_sound(grad, hess, what=""):
    assert np.isfinite(grad).all(), what
    assert np.isfinite(hess).all(), what
    assert (hess >= FLOOR).all(), what


def queries_of(group, *arrays):
    ends = np.cumsum(group)
    for start, end in zip(ends - group, ends, strict=True):
        yield tuple(a[start:end] for a in arrays)


# ---- shapes of data ------------------------------------------------------------------------------


@every_objective
def test_no_query_at_all(name, parameters):
    objective = build(name, parameters)
    for group in ([], [0], [0, 0, 0]):
        for m in rounds(name, parameters):
            grad, hess = objective.grad_hess([], [], group, round=m)
            loss = objective.loss([], [], group, round=m)
            assert grad.shape == hess.shape == (0,)
            assert loss.shape == (len(group),)
            assert not loss.any()
            assert grad.dtype == hess.dtype == loss.dtype == np.float64


@every_objective
def test_concatenated_queries_equal_separate_calls_bit_for_bit(name, parameters, rng):
    """Empty queries, single documents, ties: none of them disturbs a neighbour."""
    objective = build(name, parameters)
    scores, labels, group = ragged(rng, decimals=1)
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        loss = objective.loss(scores, labels, group, round=m)
        assert loss.shape == group.shape
        assert not loss[group == 0].any()
        assert_sound(grad, hess)
        for q, (s, y, g, h) in enumerate(queries_of(group, scores, labels, grad, hess)):
            alone = objective.grad_hess(s, y, [len(s)], round=m)
            np.testing.assert_array_equal(g, alone[0])
            np.testing.assert_array_equal(h, alone[1])
            assert loss[q] == objective.loss(s, y, [len(s)], round=m)[0]


@every_objective
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([2.0], [3.0]),
        ([-1.0], [0.0]),
        ([1e30], [1.0]),
        ([0.3, -1.0, 2.5, 2.5], [2.0] * 4),
        ([0.3, -1.0, 2.5, 2.5], [0.0] * 4),
        ([0.0, 0.0], [1.5, 1.5]),
    ],
    ids=["one", "one-irrelevant", "one-huge", "equal-grades", "all-zero", "equal-and-tied"],
)
def test_nothing_to_rank(name, parameters, scores, labels):
    """Exactly zero loss and gradient, but for a pointwise part, which learns from every grade."""
    objective = build(name, parameters)
    scores, labels = np.array(scores), np.array(labels)
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, [len(scores)], round=m)
        loss = objective.loss(scores, labels, [len(scores)], round=m)
        assert_sound(grad, hess)
        want = pointwise_gradient(objective, scores, labels, m)
        if objective.contract.shift_invariant:
            assert not grad.any()
            assert loss[0] == 0.0
        else:
            np.testing.assert_allclose(grad, want, rtol=1e-10)  # tau of the oracle
            assert np.any(grad != 0)
            np.testing.assert_allclose(
                loss[0], ((grad / 2.0) @ (grad / 2.0)) / tau_of(objective, m)
            )


@every_objective
@pytest.mark.parametrize(
    "spread", ["zero", "tied", "1e30", "float32", "1e12", "1e-12", "all-scales", "far"]
)
def test_any_scores_give_finite_numbers(name, parameters, spread, rng):
    objective = build(name, parameters)
    n = 40
    scores = rng.normal(0, 1, n)
    signs = rng.choice([-1.0, 1.0], n)
    scores = {
        "zero": np.zeros(n),
        "tied": np.full(n, 0.1),
        "1e30": np.where(rng.random(n) < 0.3, 1e30 * signs, scores),
        "float32": np.where(rng.random(n) < 0.3, float(np.finfo(np.float32).max) * signs, scores),
        "1e12": scores * 1e12,
        "1e-12": scores * 1e-12,
        "all-scales": signs * 10.0 ** rng.uniform(-12, 12, n),
        "far": np.where(rng.random(n) < 0.5, 700.0, -800.0) + scores,
    }[spread]
    labels = rng.integers(0, 5, n).astype(float)
    group = [15, 25]
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        assert_sound(grad, hess, spread)
        assert np.isfinite(objective.loss(scores, labels, group, round=m)).all()
        if objective.contract.shift_invariant:
            for (g,) in queries_of(np.array(group), grad):
                assert abs(g.sum()) <= 1e-12 * np.abs(g).sum()


# Their losses are beyond float64 at the largest scores: squares, and RankBoost's slope of e^36.
STEEP = {"gbrank", "regression", "reg-shf-sdcg", "rankboost"}


@every_objective
@pytest.mark.parametrize("spread", ["1e300", "all-1e300", "equal", "denormal", "all-scales"])
def test_scores_at_the_ends_of_float64(name, parameters, spread, rng):
    objective = build(name, parameters)
    n = 12
    signs = rng.choice([-1.0, 1.0], n)
    scores = {
        "1e300": np.where(np.arange(n) % 3 == 0, 1e300 * signs, signs),
        "all-1e300": 1e300 * signs,
        "equal": np.full(n, 1e300),
        "denormal": 5e-324 * rng.integers(-4, 5, n),
        "all-scales": signs * 10.0 ** rng.uniform(-300, 300, n),
    }[spread]
    labels = np.arange(n) % 5.0
    for m in rounds(name, parameters):
        assert_sound(*objective.grad_hess(scores, labels, [n], round=m), spread)
        try:
            loss = objective.loss(scores, labels, [n], round=m)
        except ValueError as error:
            message = f"the loss of {objective!r} is not finite in query 0: "
            assert str(error).startswith(message)  # noqa: PT017
            assert name in STEEP
            assert spread != "denormal"
        else:
            assert np.isfinite(loss).all()


@every_objective
@pytest.mark.parametrize("grades", ["0..31", "real", "gains-to-1e15"])
def test_wide_and_real_grades(name, parameters, grades, rng):
    objective = build(name, parameters)
    n = 6 if name == "soft-ndcg" else 12
    labels = {
        "0..31": np.linspace(0, 31, n).round(),
        "real": rng.uniform(0, 5, n),
        "gains-to-1e15": np.log2(1.0 + 10.0 ** np.linspace(0, 15, n)),
    }[grades]
    scores, labels = rng.normal(0, 1.5, n), rng.permutation(labels)
    for m in rounds(name, parameters):
        assert_sound(*objective.grad_hess(scores, labels, [n], round=m))
        loss = objective.loss(scores, labels, [n], round=m)[0]
        assert np.isfinite(loss)
        if name != "mix":  # which has no oracle of its own: it is compared with its parts
            want = ORACLES[name].loss(scores.tolist(), labels.tolist(), round=m, **parameters)
            np.testing.assert_allclose(loss, want, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("far", [{"scores": [0.0, 0.0, 1e200]}, {"weight": [1.0, 1.7e308]}])
def test_what_float64_cannot_hold_is_refused(far):
    data = {"scores": [0.0, 0.0, 99.0], "labels": [1, 2, 0], "group": [2, 1]} | far
    with pytest.raises(ValueError, match=r"the loss of Regression\(.* is not finite in query 1: "):
        REGISTRY["regression"]().loss(**data)
    data["scores"] = [0.0, 0.0, 1.7e308]
    with pytest.raises(ValueError, match=r"not finite in query 1 \(document at row 2\): look at"):
        REGISTRY["regression"]().grad_hess(**data)


# ---- millions ------------------------------------------------------------------------------------

MILLION = 10**6
# A million documents are a million million pairs, and these visit every one.
VISIT_ALL_PAIRS = {"frank", "smooth-ap", "soft-ndcg"}


@every_name
@pytest.mark.compiled
def test_a_million_queries_of_one_document_with_empty_ones_between(name):
    objective, m = example(name), rounds(name, ORACLES[name].parameters[-1])[0]
    group = np.ones(MILLION + 3, np.int64)
    group[[0, MILLION // 2, -1]] = 0
    scores = np.linspace(-3, 3, MILLION)
    labels = np.arange(MILLION) % 5.0
    loss = objective.loss(scores, labels, group, round=m)
    grad, hess = objective.grad_hess(scores, labels, group, round=m)
    want = pointwise_gradient(objective, scores, labels, m)
    np.testing.assert_allclose(grad, want, rtol=1e-10)
    assert (hess >= FLOOR).all()
    assert not loss[group == 0].any()
    assert np.any(loss) == np.any(want)
    assert np.isfinite(loss).all()


@pytest.mark.compiled
@pytest.mark.parametrize("name", sorted(set(NAMES) - VISIT_ALL_PAIRS))
def test_a_query_of_a_million_documents(name, rng):
    # With its default norm, LambdaRank visits all pairs.
    parameters = {"norm": False} if name == "lambdarank" else ORACLES[name].parameters[0]
    objective, m = build(name, parameters), rounds(name, parameters)[0]
    scores, labels = rng.normal(size=MILLION), np.arange(MILLION) % 5.0
    grad, hess = objective.grad_hess(scores, labels, [MILLION], round=m)
    assert_sound(grad, hess)
    assert grad.any()
    if objective.contract.shift_invariant:
        assert abs(grad.sum()) <= 1e-9 * np.abs(grad).sum()


@every_objective
def test_highest_grades(name, parameters):
    """A grade of 1000 has a gain of 1e301: still finite."""
    objective = build(name, parameters)
    scores, labels = np.array([0.1, 0.9, -0.4]), np.array([1000.0, 0.0, 999.0])
    if not getattr(objective, "normalize", True) or getattr(objective, "target", "") == "gain":
        labels = np.array([400.0, 0.0, 399.0])  # squares of unnormalised gains
    for m in rounds(name, parameters):
        assert_sound(*objective.grad_hess(scores, labels, [3], round=m))
        assert np.isfinite(objective.loss(scores, labels, [3], round=m)).all()


@every_objective
def test_grades_too_small_for_a_gain(name, parameters):
    """2^y - 1 rounds to 0: grades may then differ although no gain does."""
    objective = build(name, parameters)
    for labels in ([0.0, 1e-17, 1e-18], [0.0, 1e-300, 0.0], [0.0, 1e-16, 3e-16]):
        for m in rounds(name, parameters):
            assert_sound(*objective.grad_hess([1.0, 0.5, 0.0], labels, [3], round=m))
            assert np.isfinite(objective.loss([1.0, 0.5, 0.0], labels, [3], round=m)).all()


# ---- invariances ---------------------------------------------------------------------------------


@every_objective
def test_permuting_the_documents_permutes_the_result(name, parameters, rng):
    objective = build(name, parameters)
    scores, labels, _ = ragged(rng, (30,))
    perm = rng.permutation(30)
    if getattr(objective, "ties", None) == "input":  # documents of a grade count in their order
        for grade in np.unique(labels):
            places = labels[perm] == grade
            perm[places] = np.sort(perm[places])
        assert not np.array_equal(perm, np.arange(30))
    for m in rounds(name, parameters):
        before = objective.grad_hess(scores, labels, [30], round=m)
        after = objective.grad_hess(scores[perm], labels[perm], [30], round=m)
        for b, a in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b[perm], rtol=1e-10, atol=1e-12 * np.abs(b).max())
        np.testing.assert_allclose(
            objective.loss(scores[perm], labels[perm], [30], round=m),
            objective.loss(scores, labels, [30], round=m),
            rtol=1e-12,
        )


@every_objective
def test_shift_invariance_is_as_stated(name, parameters, rng):
    objective = build(name, parameters)
    scores, labels, group = ragged(rng)
    scores = np.round(scores * 1024) / 1024  # adding 64 to these is exact
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        shifted = objective.grad_hess(scores + 64.0, labels, group, round=m)
        loss = objective.loss(scores, labels, group, round=m)
        moved = objective.loss(scores + 64.0, labels, group, round=m)
        if objective.contract.shift_invariant:
            for (g,) in queries_of(group, grad):
                assert abs(g.sum()) <= 1e-13 * np.abs(g).sum()
            np.testing.assert_allclose(shifted[0], grad, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(shifted[1], hess, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(moved, loss, rtol=1e-12, atol=1e-14)
        else:
            assert not np.array_equal(shifted[0], grad)
            assert not np.array_equal(moved, loss)


# ---- weights -------------------------------------------------------------------------------------


@every_objective
def test_query_weights_multiply(name, parameters, rng):
    objective = build(name, parameters)
    scores, labels, group = ragged(rng)
    weight = np.array([0.5, 3.0, 2.0, 0.0, 7.0, 1.0, 0.3, 1e3])
    each = np.repeat(weight, group)
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        loss = objective.loss(scores, labels, group, round=m)
        weighted = objective.grad_hess(scores, labels, group, weight=weight, round=m)
        np.testing.assert_array_equal(weighted[0], grad * each)
        np.testing.assert_array_equal(weighted[1], hess * each)
        np.testing.assert_array_equal(
            objective.loss(scores, labels, group, weight=weight, round=m), loss * weight
        )
        per_document = objective.grad_hess(scores, labels, group, weight=each, round=m)
        np.testing.assert_array_equal(per_document[0], weighted[0])
        np.testing.assert_array_equal(per_document[1], weighted[1])


@every_objective
def test_document_weights_multiply(name, parameters, rng):
    objective = build(name, parameters)
    scores, labels, group = ragged(rng)
    weight = rng.uniform(0, 2, len(scores))
    for m in rounds(name, parameters):
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        weighted = objective.grad_hess(scores, labels, group, weight=weight, round=m)
        np.testing.assert_array_equal(weighted[0], grad * weight)
        np.testing.assert_array_equal(weighted[1], hess * weight)
        with pytest.raises(ValueError, match=r"weight .* each of the 8 queries, got 53"):
            objective.loss(scores, labels, group, weight=weight, round=m)


# ---- inputs and threads --------------------------------------------------------------------------


@every_objective
def test_inputs_of_any_kind_give_the_same_result_and_stay_as_they_are(name, parameters, rng):
    objective = build(name, parameters)
    m = rounds(name, parameters)[-1]
    scores, labels, group = ragged(rng)
    scores = scores.round()  # the same in every type
    weight = rng.integers(0, 4, len(group)).astype(float)
    strided = np.empty((len(scores), 2))
    strided[:, 0], strided[:, 1] = scores, labels

    def result(s, y, g, w):
        loss = objective.loss(s, y, g, weight=w, round=m)
        return *objective.grad_hess(s, y, g, weight=w, round=m), loss

    want = result(scores, labels, group, weight)
    kept = scores.copy(), labels.copy(), group.copy(), weight.copy()
    frozen = [a.copy() for a in kept]
    for a in frozen:
        a.flags.writeable = False
    variants = (
        tuple(a.tolist() for a in kept),
        tuple(tuple(a.tolist()) for a in kept),
        (*(a.astype(np.float32) for a in kept[:2]), group.astype(np.int32), weight.tolist()),
        tuple(a.astype(np.int64) for a in kept),
        (kept[0].astype(np.int8), kept[1].astype(np.uint8), group.astype(float), weight),
        (kept[0].astype(">f8"), labels, group, weight),
        (strided[:, 0], strided[:, 1], group, weight),
        (scores[::-1].copy()[::-1], labels, group, weight),
        tuple(frozen),
    )
    for variant in variants:
        for got, expected in zip(result(*variant), want, strict=True):
            assert got.dtype == np.float64
            np.testing.assert_array_equal(got, expected)
    for after, before in zip((scores, labels, group, weight), kept, strict=True):
        np.testing.assert_array_equal(after, before)


@every_objective
@pytest.mark.compiled
def test_any_number_of_threads_gives_the_same_bits(name, parameters, rng, monkeypatch):
    objective = build(name, parameters)
    sizes = np.array([5, 200, 1, 0, 120, 3, *[60] * 60, 0, 150, 17])
    assert (sizes.astype(float) ** 2).sum() > 200_000  # smaller data is not split
    scores, labels, group = ragged(rng, sizes, decimals=2)
    m = rounds(name, parameters)[-1]
    asked = []

    def with_threads(n):
        # As numba.set_num_threads(n) would, but also on a machine with fewer cores.
        monkeypatch.setattr(numba, "get_num_threads", lambda: asked.append(n) or n)
        grad, hess = objective.grad_hess(scores, labels, group, round=m)
        return grad, hess, objective.loss(scores, labels, group, round=m)

    one = with_threads(1)
    for n in (2, 3, 7):
        for many, single in zip(with_threads(n), one, strict=True):
            np.testing.assert_array_equal(many, single)
    if name != "regression":  # plain NumPy, one pass over the documents
        assert set(asked) == {1, 2, 3, 7}


@every_objective
def test_results_do_not_share_memory(name, parameters):
    objective = build(name, parameters)
    m = rounds(name, parameters)[-1]
    first = objective.grad_hess([0.0, 1.0], [1, 0], [2], round=m)
    kept = [a.copy() for a in first]
    objective.grad_hess([5.0, 1.0], [1, 0], [2], round=m)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)
        a += 1.0  # writable, and the caller's own


# ---- what is refused -----------------------------------------------------------------------------

BAD_DATA = [
    ({"scores": [0.0, float("nan"), 1.0]}, ValueError, r"scores must be finite, got nan at row 1"),
    ({"scores": [0.0, float("inf"), 1.0]}, ValueError, r"scores must be finite, got inf at row 1"),
    ({"scores": [[0.0, 1.0, 2.0]]}, ValueError, r"scores must have one dimension, .*\(1, 3\)"),
    ({"scores": 1.0}, ValueError, r"scores must have one dimension"),
    ({"scores": ["a", "b", "c"]}, TypeError, r"scores must be a 1-D array of numbers"),
    ({"scores": None}, TypeError, r"scores must be a 1-D array of numbers, got NoneType"),
    ({"scores": [0.0, 1.0]}, ValueError, r"labels must have one grade for each of the 2 scores"),
    ({"labels": [0, -1, 2]}, ValueError, r"labels must be relevance grades.*got -1.0 at row 1"),
    ({"labels": [0, float("nan"), 2]}, ValueError, r"labels must be relevance grades.*got nan"),
    ({"labels": [0, float("inf"), 2]}, ValueError, r"labels must be relevance grades.*got inf"),
    ({"labels": [0, 1001, 2]}, ValueError, r"labels must be relevance grades.*got 1001"),
    ({"labels": [0, 1]}, ValueError, r"labels must have one grade for each of the 3 .* got 2"),
    ({"labels": [[0], [1], [2]]}, ValueError, r"labels must have one dimension, .*\(3, 1\)"),
    ({"labels": ["0", "1", "2"]}, TypeError, r"labels must be a 1-D array of numbers"),
    ({"labels": [0j, 1j, 2j]}, TypeError, r"labels must be a 1-D array of numbers"),
    ({"group": None}, ValueError, r"group is missing"),
    ({"group": [2, 2]}, ValueError, r"group must add up to the number of documents, 3, .* to 4"),
    ({"group": []}, ValueError, r"group must add up to the number of documents, 3"),
    ({"group": [0, 0, 0]}, ValueError, r"group must add up to the number of documents, 3"),
    ({"group": [4, -1]}, ValueError, r"group must hold query sizes, .* got -1 at row 1"),
    ({"group": [1.5, 1.5]}, ValueError, r"group must hold query sizes, whole .* got 1.5 at row 0"),
    ({"group": [float("nan"), 3]}, ValueError, r"group must hold query sizes.*got nan"),
    ({"group": [float("inf"), 3]}, ValueError, r"group must"),
    ({"group": [[3]]}, ValueError, r"group must have one dimension"),
    ({"group": 3}, ValueError, r"group must have one dimension"),
    ({"group": ["3"]}, TypeError, r"group must be a 1-D array of numbers"),
    ({"group": [True, True, True]}, TypeError, r"group must hold the sizes"),
    ({"weight": [1.0, 2.0]}, ValueError, r"weight must have one value .* 1 queries .* 3 .* got 2"),
    ({"weight": [-1.0]}, ValueError, r"weight must be finite and not negative, got -1.0 at row 0"),
    ({"weight": [float("nan")]}, ValueError, r"weight must be finite and not negative, got nan"),
    ({"weight": [float("inf")]}, ValueError, r"weight must be finite and not negative, got inf"),
    ({"weight": [[1.0]]}, ValueError, r"weight must have one dimension"),
    ({"weight": ["1"]}, TypeError, r"weight must be a 1-D array of numbers"),
]


@every_name
@pytest.mark.parametrize(
    ("changes", "error", "message"), BAD_DATA, ids=[f"{c[0]}" for c in BAD_DATA]
)
@pytest.mark.parametrize("method", ["loss", "grad_hess"])
def test_bad_data_is_refused(name, changes, error, message, method):
    data = {"scores": [0.0, 1.0, 2.0], "labels": [0, 1, 2], "group": [3], "weight": None}
    getattr(example(name), method)(**data, round=1)  # good as it stands
    with pytest.raises(error, match=message):
        getattr(example(name), method)(**{**data, **changes}, round=1)


@every_name
@pytest.mark.parametrize("method", ["loss", "grad_hess"])
def test_round(name, method):
    objective = example(name)
    call = getattr(objective, method)
    data = [0.0, 1.0], [1, 0], [2]
    if objective.scheduled:
        with pytest.raises(ValueError, match="round is missing"):
            call(*data)
        with pytest.raises(ValueError, match="round must be at least 1, got 0"):
            call(*data, round=0)
        for wrong in (1.5, "1", True):
            with pytest.raises(TypeError, match="round must be a whole number"):
                call(*data, round=wrong)
        np.testing.assert_array_equal(call(*data, round=2), call(*data, round=np.int64(2)))
        assert not np.array_equal(call(*data, round=1), call(*data, round=10**6))
    else:
        np.testing.assert_array_equal(call(*data), call(*data, round=3))


@every_name
def test_a_scheduled_parameter_is_its_value_in_each_round(name):
    objective = example(name)
    query = [0.3, 1.0, 0.2, 2.0], [1, 0, 3, 2], [4]
    for parameter in {"alpha", "beta", "tau", "sigma"} & {
        field.name for field in fields(objective)
    }:
        schedule = Schedule("linear", 5, first=0.2, last=0.9)
        changing = objective.replace(**{parameter: schedule})
        assert changing.scheduled
        assert pickle.loads(pickle.dumps(changing)) == changing
        assert hash(changing) == hash(objective.replace(**{parameter: schedule}))
        for m, value in ((1, 0.2), (3, 0.55), (5, 0.9), (6, 0.9)):
            fixed = objective.replace(**{parameter: value})
            np.testing.assert_allclose(
                changing.grad_hess(*query, round=m), fixed.grad_hess(*query, round=m), rtol=1e-12
            )
            np.testing.assert_allclose(
                changing.loss(*query, round=m), fixed.loss(*query, round=m), rtol=1e-12
            )
        with pytest.raises(ValueError, match="round is missing"):
            changing.loss(*query)


NAN, INF = float("nan"), float("inf")
# What each parameter refuses; a parameter missing here fails a test.
COUNT = [(0, ValueError), (-3, ValueError), (2.5, TypeError), (3.0, TypeError), (NAN, TypeError)]
COUNT += [("3", TypeError), (True, TypeError), ([3], TypeError), (2**53 + 1, ValueError)]
POSITIVE = [(0, ValueError), (-0.5, ValueError), (NAN, ValueError), (INF, ValueError)]
POSITIVE += [(-INF, ValueError), ("1", TypeError), (None, TypeError), (True, TypeError)]
POSITIVE += [(1j, TypeError), ([1.0], TypeError)]
SHARE = [(-0.1, ValueError), (1.1, ValueError), (NAN, ValueError), ("1", TypeError)]
SHARE += [(True, TypeError), ([0.5], TypeError)]
FLAG = [(1, TypeError), (0, TypeError), ("yes", TypeError), (None, TypeError)]
CHOICE = [("nonsense", ValueError), ("", ValueError), (None, ValueError), (1, ValueError)]
REFUSED = {
    "k": COUNT,
    "truncation": COUNT,
    "total_rounds": [*COUNT, (None, TypeError)],
    "alpha": POSITIVE,
    "beta": POSITIVE,
    "sigma": POSITIVE,
    "margin": POSITIVE,
    "tau": SHARE,
    "gamma": SHARE,
    "normalize": FLAG,
    "norm": FLAG,
    "target": [*CHOICE, ("Grade", ValueError)],
    "ties": [*CHOICE, ("Score", ValueError)],
    "form": [*CHOICE, ("Sigmoid", ValueError)],
    "measure": [*CHOICE, *((m, ValueError) for m in ("ndcg@0", "ndcg@", "map@3", "ndcg@2.5"))],
    "hessian": [*CHOICE, ("Exact", ValueError), (["exact"], ValueError)],
}


@every_name
def test_bad_parameters_are_refused(name):
    cls = REGISTRY[name]
    good = ORACLES[name].parameters[-1]
    for parameter in fields(cls):
        if REFUSED[parameter.name] is COUNT:
            assert getattr(cls(**{**good, parameter.name: 2**53}), parameter.name) == 2**53
        message = f"^(unknown {parameter.name}|{parameter.name} must be) "
        for value, error in REFUSED[parameter.name]:
            with pytest.raises(error, match=message):
                cls(**{**good, parameter.name: value})
            with pytest.raises(error, match=message):
                cls(**good).replace(**{parameter.name: value})


@every_name
def test_parameters_are_keywords_of_their_own_class(name):
    cls = REGISTRY[name]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        cls(1, **ORACLES[name].parameters[-1])
    with pytest.raises(TypeError, match="lambda_"):
        cls(**ORACLES[name].parameters[-1], lambda_=1.0)
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter 'lambda_'; it has "):
        example(name).replace(lambda_=1.0)


def test_total_rounds_has_no_default():
    with pytest.raises(TypeError, match="total_rounds"):
        REGISTRY["reg-shf-sdcg"]()


# ---- the object ----------------------------------------------------------------------------------


@every_objective
def test_an_objective_is_an_immutable_value(name, parameters):
    objective, twin = build(name, parameters), build(name, parameters)
    assert isinstance(objective, Objective)
    assert objective == twin
    assert hash(objective) == hash(twin)
    assert {objective: 1}[twin] == 1
    for parameter in fields(objective):
        value = getattr(objective, parameter.name)
        if parameter.name in parameters:
            assert value == parameters[parameter.name]
        assert f"{parameter.name}={value!r}" in repr(objective)
        with pytest.raises(FrozenInstanceError):
            setattr(objective, parameter.name, value)
        with pytest.raises(FrozenInstanceError):
            delattr(objective, parameter.name)
    with pytest.raises((FrozenInstanceError, TypeError)):
        objective.anything_else = 1
    assert copy.copy(objective) is objective
    assert copy.deepcopy(objective) is objective
    assert copy.deepcopy([objective])[0] is objective
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(objective, protocol))
        assert again == objective
        assert hash(again) == hash(objective)
        assert repr(again) == repr(objective)
    assert eval(repr(objective), vars(boostrank.objectives)) == objective
    assert objective.replace() == objective


@every_name
def test_a_pickled_objective_computes_the_same(name):
    objective = example(name)
    again = pickle.loads(pickle.dumps(objective))
    data = [0.3, 1.0, 0.2], [1, 0, 2], [3]
    for a, b in zip(
        again.grad_hess(*data, round=2), objective.grad_hess(*data, round=2), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@every_name
def test_replace_changes_one_parameter_and_only_in_the_copy(name):
    other = {
        "k": 7,
        "truncation": 7,
        "total_rounds": 77,
        "alpha": 7.5,
        "beta": 7.5,
        "sigma": 7.5,
        "margin": 7.5,
        "tau": 0.75,
        "gamma": 0.75,
        "normalize": None,
        "norm": None,
        "target": None,
        "ties": None,
        "form": None,
        "measure": "ndcg@3",
        "hessian": None,
    }
    objective = example(name)
    before = repr(objective)
    names = [parameter.name for parameter in fields(objective)]
    for parameter in names:
        value = other[parameter]
        if value is None:
            old = getattr(objective, parameter)
            value = {
                True: False,
                False: True,
                "grade": "gain",
                "gain": "grade",
                "input": "score",
                "score": "input",
                "sigmoid": "indicator",
                "indicator": "sigmoid",
                "gauss-newton": "constant",
                "exact": "constant",
                "constant": "gauss-newton",
            }[old]
        changed = objective.replace(**{parameter: value})
        assert type(changed) is type(objective)
        assert changed != objective
        assert getattr(changed, parameter) == value
        for rest in set(names) - {parameter}:
            assert getattr(changed, rest) == getattr(objective, rest)
        # The copy also computes with it, as an object built with it does.
        fresh = REGISTRY[name](**{n: getattr(changed, n) for n in names})
        data = [0.3, 1.0, 0.2, 2.0], [1, 0, 3, 2], [4]
        np.testing.assert_array_equal(
            changed.grad_hess(*data, round=2), fresh.grad_hess(*data, round=2)
        )
        assert changed.loss(*data, round=2) == fresh.loss(*data, round=2)
    assert repr(objective) == before


@every_name
def test_numpy_scalars_are_parameters_like_any_other(name):
    objective = example(name)
    as_numpy = {}
    for parameter in fields(objective):
        value = getattr(objective, parameter.name)
        wrap = {bool: np.bool_, int: np.int32, float: np.float64}.get(type(value), lambda v: v)
        as_numpy[parameter.name] = wrap(value)
    again = REGISTRY[name](**as_numpy)
    assert again == objective
    assert repr(again) == repr(objective)
    assert hash(again) == hash(objective)


def test_objectives_of_different_classes_differ():
    built = [example(name) for name in NAMES]
    assert len(set(built)) == len(built)
