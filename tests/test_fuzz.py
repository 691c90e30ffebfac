"""Any input gives the oracle's numbers, or an error that names the argument.

``make fuzz`` draws fifty times as many cases, at random; `make test` always draws the same.
"""

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from boostrank.objectives import REGISTRY
from boostrank.objectives.base import HOST_PARAMETERS
from boostrank.objectives.mix import Mixture
from boostrank.objectives.validation import LABEL_DOMAINS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import FLOOR, NAMES, ORACLES, REACH, gradient, nothing_to_rank
from test_edge_cases import queries_of
from training import host_gradients

import boostrank

fuzzed = settings(
    max_examples=5 * settings.default.max_examples,
    derandomize=settings.get_current_profile_name() == "default",
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

# Multiples of 1/16 below 128 are exact in every float type. Kinks are hit exactly, or a step away.
STEP = 1 / 16
SCALES = st.integers(8, 32).map(lambda i: i * STEP)
TARGETS = ["ndcg", "dcg", "map", "mrr", "err", "arp", "precision@2", "recall@3"]
PARAMETERS = {
    "k": st.one_of(st.none(), st.integers(1, 8)),
    "truncation": st.one_of(st.none(), st.integers(1, 8)),
    "total_rounds": st.integers(1, 30),
    "tau": st.one_of(st.none(), st.integers(0, 8).map(lambda i: i / 8)),
    "target": st.sampled_from(["grade", "gain"]),
    "lambdarank target": st.sampled_from(TARGETS),
    "yetirank target": st.sampled_from([None, *TARGETS]),
    "variant": st.sampled_from(["lambda", "ndcg-loss2", "ndcg-loss2++"]),
    "gain": st.sampled_from(["exponential", "linear"]),
    "gamma": st.sampled_from([None, 0.0, 0.25, 1.0]),
    "discount": st.sampled_from(["linear", "log2", "reciprocal"]),
    "permutations": st.integers(1, 4),
    "decay": st.integers(0, 8).map(lambda i: i / 8),
    "measure": st.sampled_from(["ndcg", *(f"ndcg@{k}" for k in (1, 2, 4, 9))]),
    **dict.fromkeys(("alpha", "beta", "sigma", "margin"), SCALES),
    **dict.fromkeys(("normalize", "norm", "center", "position_weights"), st.booleans()),
    "signal": st.sampled_from(["lowest", "low", "medium", "high", "highest"]),
    "offset": st.sampled_from([0.01, 0.125, 1.0]),
    "top": st.sampled_from([1.0, 2.0, 4.0]),
    "share": st.integers(0, 8).map(lambda i: i / 8),
}


@st.composite
def objectives(draw, parameters=PARAMETERS):
    """Return a name and its parameters, each drawn or left at its default."""
    name = draw(st.sampled_from(NAMES))
    chosen = {}
    for field in fields(REGISTRY[name]):
        if field.name in HOST_PARAMETERS:
            continue
        if field.name == "hessian":
            chosen["hessian"] = draw(st.sampled_from(list(REGISTRY[name].hessians)))
        elif field.name == "total_rounds" or draw(st.booleans()):
            of_name = f"{name} {field.name}"
            key = of_name if of_name in parameters else field.name
            chosen[field.name] = draw(parameters[key])
            if chosen[field.name] is None and field.type is int:
                chosen[field.name] = 5
    if chosen.get("norm") and name == "ranknet":
        chosen.pop("normalize", None)
    if name in ("lambdarank", "yetirank"):
        target = chosen.get("target", None if name == "yetirank" else "ndcg")
        with_it = {"gain": ("ndcg", "dcg", "err"), "discount": ("ndcg", "dcg")}
        for other in ("gain", "discount", "variant"):
            if target not in with_it.get(other, ("ndcg", "dcg")):
                chosen.pop(other, None)
    if name == "slam-map" or (name == "regression" and chosen.get("target") != "gain"):
        chosen = {key: value for key, value in chosen.items() if key not in ("gain", "discount")}
    return name, chosen | REGISTRY[name].presets.get(name, {})


SCORES = st.integers(-64, 64).map(lambda i: i * STEP)
GRADES = st.one_of(st.integers(0, 4).map(float), st.integers(0, 16).map(lambda i: i / 4))
WEIGHTS = st.integers(0, 24).map(lambda i: i / 8)


@st.composite
def lists(draw, scores=SCORES, grades=GRADES, weights=WEIGHTS):
    """Return scores, labels, group and weight of a few queries, as plain lists."""
    group = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    n = sum(group)
    size = draw(st.sampled_from([n, len(group)]))
    return {
        "scores": draw(st.lists(scores, min_size=n, max_size=n)),
        "labels": draw(st.lists(grades, min_size=n, max_size=n)),
        "group": group,
        "weight": draw(st.one_of(st.none(), st.lists(weights, min_size=size, max_size=size))),
    }


# ---- containers ----------------------------------------------------------------------------------


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a):
    """Return a view that begins one byte into its memory."""
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    raw[:] = a
    return raw


CONTAINERS = {
    "array": lambda a: a,
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "strided": lambda a: np.repeat(a, 3)[::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "column": lambda a: np.asfortranarray(np.column_stack([a, a]))[:, 1],
    "read-only": read_only,
    "unaligned": unaligned,
    "pandas": lambda a: pd.Series(a, index=np.arange(len(a))[::-1] * 3),
    "polars": lambda a: pl.Series(a) if a.dtype.itemsize < 16 else a,
    "pyarrow": lambda a: pa.array(a) if a.dtype.itemsize < 16 else a,
    "chunked": lambda a: pa.chunked_array([a[:1], a[1:]]) if a.dtype.itemsize < 16 else a,
    "memoryview": lambda a: memoryview(a.copy()) if a.dtype.itemsize in (4, 8) else a,
    "scalars": lambda a: list(a),
    "masked": lambda a: np.ma.masked_array(a, mask=False),
}
FLOATS = ["f8", "f4", "f2", "g", ">f8", ">f4", ">f2"]
WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8", ">u4"]
NATIVE_ONLY = {"polars", "pyarrow", "chunked", "memoryview"}


@st.composite
def contained(draw, values, floats_only=False):
    """Return the values in any container of any type that holds them exactly."""
    whole = all(v == int(v) for v in values)
    dtypes = list(FLOATS)
    if whole and not floats_only:
        dtypes += WHOLE if min(values, default=0) >= 0 else [d for d in WHOLE if "i" in d]
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    kind = draw(st.sampled_from(sorted(CONTAINERS)))
    if kind in NATIVE_ONLY:
        dtype = dtype.newbyteorder("=")
        if dtype == np.float16:  # the oldest supported polars lacks it
            dtype = np.dtype("f4")
    return CONTAINERS[kind](np.array(values, dtype=dtype))


def snapshot(value):
    return type(value), np.array(value), getattr(getattr(value, "flags", None), "writeable", None)


@fuzzed
@given(objectives(), lists(), st.data())
def test_good_data_in_any_container_gives_the_oracles_numbers(made, data, draw):
    name, parameters = made
    objective, entry = REGISTRY[name](**parameters), ORACLES[name]
    m = draw.draw(st.integers(1, 31))
    given_data = {
        key: None if value is None else draw.draw(contained(value, floats_only=key == "scores"))
        for key, value in data.items()
    }
    kept = {key: snapshot(value) for key, value in given_data.items() if value is not None}
    grad, hess = objective.grad_hess(**given_data, round=m)
    n, n_queries = len(data["scores"]), len(data["group"])
    weight = data["weight"]
    per_query = weight is None or len(weight) == n_queries
    np.testing.assert_equal({key: snapshot(given_data[key]) for key in kept}, kept)

    plain = {key: value for key, value in data.items() if key != "weight"}
    plain_grad, plain_hess = objective.grad_hess(**plain, round=m)
    each = np.ones(n)
    if weight is not None:
        each = np.array(weight if len(weight) == n else np.repeat(weight, data["group"]))
    np.testing.assert_array_equal((grad, hess), (plain_grad * each, plain_hess * each))
    assert (plain_hess >= FLOOR).all()

    losses = objective.loss(**plain, round=m)
    if per_query:
        got = objective.loss(**given_data, round=m)
        np.testing.assert_array_equal(got, losses * (1.0 if weight is None else weight))
    options = {**parameters, "round": m}
    for loss, (s, y, g, h) in zip(
        losses,
        queries_of(data["group"], data["scores"], data["labels"], plain_grad, plain_hess),
        strict=True,
    ):
        if not s:
            assert loss == 0.0
            continue
        want = entry.loss(s, y, **options)
        np.testing.assert_allclose(loss, want, rtol=1e-10, atol=1e-12)
        if nothing_to_rank(y) and objective.contract.shift_invariant:
            assert not g.any()
            continue
        gaps = np.subtract.outer(s, s)[~np.eye(len(s), dtype=bool)]
        kinks = np.array(entry.kinks(parameters))
        smooth = np.abs(np.abs(gaps)[:, None] - np.abs(kinks)).min(initial=1.0) > REACH
        if smooth:
            want = gradient(lambda at: entry.loss(at, y, frozen_at=s, **options), s)  # noqa: B023
            scale = max(1.0, np.abs(want).max())
            np.testing.assert_allclose(g, want, rtol=1e-6, atol=1e-7 * scale)
        kind = objective.contract.hessian
        if kind in ("majorizer", "surrogate") and (smooth or entry.curvature_at_kinks):
            want = np.maximum(entry.gauss_newton(s, y, **options), FLOOR)
            np.testing.assert_allclose(h, want, rtol=1e-8, atol=1e-10 * max(1.0, want.max()))
        elif kind == "constant":
            assert (h == 1.0).all()


# ---- any numbers ---------------------------------------------------------------------------------

ANY_SCORE = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e300, -1e300, 5e-324, -5e-324, 0.0, -0.0, 1.7e308, -1.7e308, 1e154, 1.0]),
    st.floats(-300, 300).map(lambda e: math.copysign(10.0 ** abs(e), e)),
)
ANY_GRADE = st.one_of(
    st.floats(0, 1000),
    st.integers(0, 31).map(float),
    st.sampled_from([0.0, 5e-324, 1e-17, 1.0, 49.8, 1000.0]),
)
ANY_WEIGHT = st.one_of(st.floats(0, 1e300), st.sampled_from([0.0, 5e-324, 1.0]))
ANY_SCALE = st.floats(-300, 300).map(lambda e: 10.0**e)
ANY_COUNT = st.one_of(st.integers(1, 9), st.integers(1, 2**53))
ANY_PARAMETERS = {
    **PARAMETERS,
    "k": ANY_COUNT,
    "truncation": ANY_COUNT,
    "total_rounds": ANY_COUNT,
    "measure": ANY_COUNT.map(lambda k: f"ndcg@{min(k, 10**15 - 1)}"),
    **dict.fromkeys(("alpha", "beta", "sigma", "margin"), ANY_SCALE),
}


def attempt(call, *kinds):
    """Return the result and an empty message, or None and the error's message."""
    try:
        return call(), ""
    except kinds as error:
        return None, str(error)


@fuzzed
@given(
    st.one_of(objectives(), objectives(ANY_PARAMETERS)),
    lists(ANY_SCORE, ANY_GRADE, ANY_WEIGHT),
    st.integers(1, 2**53),
)
def test_any_numbers_give_finite_ones_or_are_refused(made, data, m):
    name, parameters = made
    objective = REGISTRY[name](**parameters)
    pair, refusal = attempt(lambda: objective.grad_hess(**data, round=m), ValueError)
    if pair is None:
        assert "is not finite in query" in refusal
    else:
        assert np.isfinite(pair).all()
        assert data["weight"] is not None or (pair[1] >= FLOOR).all()
    if data["weight"] is None or len(data["weight"]) == len(data["group"]):
        loss, refusal = attempt(lambda: objective.loss(**data, round=m), ValueError)
        assert "is not finite in query" in refusal if loss is None else np.isfinite(loss).all()


# ---- bad data ------------------------------------------------------------------------------------


def put(values, place, what):
    """Return the values with one of them replaced, in an array that can hold it."""
    changed = np.array(values, dtype=object)
    changed[place % len(values)] = what
    return changed.astype(np.longdouble)


NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf, np.longdouble("1e4000")])
NO_VECTOR = st.sampled_from(
    [
        *(None, 1.0, "abc", b"abc", {}, {1: 2}, set(), object(), lambda: None),
        *([[1.0], [2.0, 3.0]], [[1.0, 2.0]], [None, 1.0], ["1", "2"], [1j, 2j], [Decimal(1)]),
        [10**400],
        *(np.array(["2020-01-01"], "M8[D]"), np.array([1], "m8[s]"), np.array([(1, 2.0)], "i4,f8")),
        *(np.zeros((2, 2)), np.zeros((0, 3)), np.array(3.0), np.array([1.0, 2.0], dtype=object)),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        *(pd.Series(["a", "b"]), pd.Series([1, None], dtype="Int64")),
        *(pd.Categorical([1, 2]).astype(str), pd.DataFrame({"a": [1.0], "b": [2.0]})),
        *(pl.Series(["a"]), pa.array(["a"])),
    ]
)
BAD_SIZES = st.sampled_from([-1, 0.5, math.nan, math.inf, -math.inf, 2**63, 2**64, 1e300])


@st.composite
def spoilt(draw, data):
    """Return the data with one argument spoilt, and names, one of which the error must hold."""
    n = len(data["scores"])
    key = draw(st.sampled_from(["scores", "labels", "group", "weight"]))
    if data["weight"] is None:
        data["weight"] = [1.0] * n
    values, place = data[key], draw(st.integers(0, 10))
    how = draw(st.sampled_from(["kind", "length", "value"]))
    if how == "value" and len(values) == 0:
        how = "length"
    if how == "kind":
        bad = draw(NO_VECTOR)
        if bad is None and key == "weight":
            bad = 1.0
    elif how == "length":
        bad = [1.0] * (n + len(data["group"]) + 1)
    elif key == "group":
        bad = draw(
            st.one_of(
                BAD_SIZES.map(lambda v: put(values, place, v)),
                # Sums that wrap around to n, or are rounded to it.
                st.just(np.array([2**62] * 4 + [n])),
                st.just(np.array([2**63, 2**63, n], np.uint64)),
                st.just(np.array([2048, *[1] * 3], np.float16)),
                st.just(np.ones(len(values), bool)),
            )
        )
    elif key == "scores":
        bad = put(values, place, draw(NOT_FINITE))
    else:
        over = [-1.0, -5e-324] + ([1000.5, 1e300] if key == "labels" else [])
        bad = put(values, place, draw(st.one_of(NOT_FINITE, st.sampled_from(over))))
    names = ["scores", "labels"] if key == "scores" and how != "value" else [key]
    return {**data, key: bad}, names


@fuzzed
@given(objectives(), lists().flatmap(spoilt))
def test_bad_data_is_refused_by_its_name(made, case):
    name, parameters = made
    data, names = case
    objective = REGISTRY[name](**parameters)
    y = data["labels"]
    if names == ["labels"] and isinstance(y, np.ndarray) and y.dtype.kind == "f":
        # Amounts and numbers may have values that grades may not.
        least, most, _ = LABEL_DOMAINS[objective.contract.labels]
        fits = y.shape == np.shape(data["scores"]) and ((y >= least) & (y <= most)).all()
        assume(not fits)
    for method in (objective.grad_hess, objective.loss):
        with pytest.raises((TypeError, ValueError)) as caught:
            method(**data, round=1)
        assert str(caught.value).startswith(tuple(f"{each} " for each in names))


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**53),
    st.just(10**400),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.fractions(),
    st.just(Fraction(10**400, 3)),
    st.just(Fraction(3, 10**400)),
    st.decimals(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(["ndcg@" + "9" * 30, "ndcg@1", "NDCG", "map", "exact", "gain", "score"]),
    st.sampled_from([np.float16(2.5), np.longdouble("1e4000"), np.int8(3), np.bool_(True)]),
    st.sampled_from([np.array([1.0]), np.array(2.0), {}, object, lambda m, M: math.nan]),
)


@fuzzed
@given(objectives(), lists(), ANYTHING, st.data())
def test_any_parameter_is_refused_by_its_name_or_works(made, data, value, draw):
    name, parameters = made
    known = [field.name for field in fields(REGISTRY[name])]
    which = draw.draw(st.sampled_from([*known, "round"]))

    def compute():
        objective = REGISTRY[name](**parameters | ({} if which == "round" else {which: value}))
        return objective.grad_hess(**data, round=value if which == "round" else 1)

    pair, refusal = attempt(compute, TypeError, ValueError)
    if pair is None:
        assert which in refusal
    else:
        assert np.isfinite(pair).all()


# ---- what hosts take -----------------------------------------------------------------------------

HOST_VECTORS = {
    "lightgbm": ["array", "list", "read-only", "pandas", "chunked"],
    "xgboost": ["array", "list", "strided", "read-only", "pandas", "polars", "pyarrow"],
}
FRAMES = {
    "array": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "pandas": pd.DataFrame,
    "pyarrow": lambda X: pa.table({f"f{i}": X[:, i] for i in range(X.shape[1])}),
    "polars": lambda X: pl.DataFrame({f"f{i}": X[:, i] for i in range(X.shape[1])}),
}


@pytest.mark.filterwarnings("ignore:labels:UserWarning")
@pytest.mark.filterwarnings("ignore:no query has two different labels:UserWarning")
@pytest.mark.filterwarnings("ignore:gradients of .* are so (small|large):UserWarning")
@pytest.mark.filterwarnings("ignore:all gradients of .* are 0:UserWarning")
@settings(fuzzed, max_examples=settings.default.max_examples // 2)
@given(
    # A mixture's parts are scaled one by one, which its own tests check.
    objectives().filter(lambda made: not issubclass(REGISTRY[made[0]], Mixture)),
    lists().filter(lambda data: len(data["scores"]) > 0 and 0 not in data["group"]),
    st.sampled_from(sorted(HOST_VECTORS)),
    st.data(),
)
def test_what_a_host_takes_gives_the_gradient_of_plain_arrays(made, data, host, draw):
    name, parameters = made
    objective = boostrank.objective(name, **parameters, perturb=None)
    assume(objective.n_draws == 0)
    n = len(data["scores"])
    weight_size = n if host == "lightgbm" else len(data["group"])
    weight = None
    if data["weight"] is not None:
        weight = np.resize(np.array(data["weight"]) + 1.0, weight_size)

    def vector(values, dtype):
        kinds = HOST_VECTORS[host]
        if host == "lightgbm" and dtype == np.int32:  # LightGBM takes no pyarrow group
            kinds = ["array", "list", "pandas"]
        kind = draw.draw(st.sampled_from(kinds))
        return CONTAINERS[kind](np.array(values, dtype=dtype))

    frame = draw.draw(st.sampled_from([f for f in FRAMES if (host, f) != ("lightgbm", "polars")]))
    X = FRAMES[frame](np.arange(2.0 * n).reshape(n, 2))
    labels, group = vector(data["labels"], np.float32), vector(data["group"], np.int32)
    given_weight = None if weight is None else vector(weight, np.float32)
    preds = np.array(data["scores"])
    if host == "lightgbm":
        dataset = lgb.Dataset(
            X, labels, group=group, weight=given_weight, params={"verbosity": -1}
        ).construct()
        got = objective.replace(start_round=1)(preds, dataset)
    else:
        matrix = xgb.DMatrix(X, labels, group=group, weight=given_weight)
        got = objective(0, preds, matrix)

    each = 1.0
    if weight is not None:
        each = weight if len(weight) == n else np.repeat(weight, data["group"])
    want = host_gradients(objective, data["scores"], data["labels"], data["group"], 1, each)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-30)
