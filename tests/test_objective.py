"""What the base class promises of every objective: arguments, weights, copies, errors.

Three kinds of objectives stand for all, because no class replaces these methods, as
`test_no_class_replaces_what_is_promised_here` asserts. What each class does itself is at the end:
checks of its parameters, and parameters that may be schedules.
"""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, fields, make_dataclass
from typing import NamedTuple, get_args

import boostrank.objectives
import numpy as np
import pytest
from boostrank.objectives import REGISTRY, Mix, Objective, Schedule, query_kernel
from boostrank.objectives.validation import AMOUNTS, GRADES, NUMBERS, PROBABILITIES
from cases import KINDS, every_kind, every_name, example
from oracle import NAMES, ORACLES

SCORES = np.array([3.0, -1.0, 0.0, 0.0, 2.0, 1.0, -2.0, 1.0])
LABELS = np.array([1.0, 0.0, 2.0, 2.0, 0.0, 1.0, 3.0, 0.0])
GROUP = np.array([3, 0, 1, 4])
DATA = SCORES, LABELS, GROUP


def test_no_class_replaces_what_is_promised_here():
    promised = ("loss", "grad_hess", "replace", "scheduled", "__copy__", "__deepcopy__")
    for build in (*REGISTRY.values(), *KINDS.values()):
        cls = build if isinstance(build, type) else type(build())
        for name in promised:
            assert getattr(cls, name) is getattr(Objective, name), (cls, name)


@every_kind
def test_weights_multiply(build, rng):
    objective = build()
    query, document = np.array([0.5, 7.0, 0.0, 1e3]), rng.uniform(0, 2, len(SCORES))
    for m in (1, 2, 4):
        grad, hess = objective.grad_hess(*DATA, round=m)
        loss = objective.loss(*DATA, round=m)
        each = np.repeat(query, GROUP)
        for weight, factor in ((query, each), (each, each), (document, document)):
            got = objective.grad_hess(*DATA, weight=weight, round=m)
            np.testing.assert_array_equal(got, (grad * factor, hess * factor))
        got = objective.loss(*DATA, weight=query, round=m)
        np.testing.assert_array_equal(got, loss * query)
        with pytest.raises(ValueError, match=r"weight .* each of the 4 queries, got 8"):
            objective.loss(*DATA, weight=document, round=m)


# ---- arguments -----------------------------------------------------------------------------------


@every_kind
def test_results_do_not_share_memory(build):
    objective = build()
    first = objective.grad_hess([0.0, 1.0], [1, 0], [2], round=4)
    kept = [a.copy() for a in first]
    objective.grad_hess([5.0, 1.0], [1, 0], [2], round=4)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)
        a += 1.0  # writable, and the caller's own


BAD_DATA = [
    ({"scores": [0.0, float("nan"), 1.0]}, ValueError, r"scores must be finite, got nan at row 1"),
    ({"scores": [0.0, float("inf"), 1.0]}, ValueError, r"scores must be finite, got inf at row 1"),
    ({"scores": [[0.0, 1.0, 2.0]]}, ValueError, r"scores must have one dimension, .*\(1, 3\)"),
    ({"scores": ["a", "b", "c"]}, TypeError, r"scores must be a 1-D array of numbers"),
    ({"scores": None}, TypeError, r"scores must be a 1-D array of numbers, got NoneType"),
    ({"scores": [0.0, 1.0]}, ValueError, r"labels must have one grade for each of the 2 scores"),
    ({"labels": [0, -1, 2]}, ValueError, r"labels must be relevance grades.*got -1.0 at row 1"),
    ({"labels": [0, float("nan"), 2]}, ValueError, r"labels must be relevance grades.*got nan"),
    ({"labels": [0, float("inf"), 2]}, ValueError, r"labels must be relevance grades.*got inf"),
    ({"labels": [1000, 1001, 2]}, ValueError, r"labels must be relevance grades.*got 1001"),
    ({"labels": [0, 1]}, ValueError, r"labels must have one grade for each of the 3 .* got 2"),
    ({"labels": [[0], [1], [2]]}, ValueError, r"labels must have one dimension, .*\(3, 1\)"),
    ({"labels": ["0", "1", "2"]}, TypeError, r"labels must be a 1-D array of numbers"),
    ({"labels": [0j, 1j, 2j]}, TypeError, r"labels must be a 1-D array of numbers"),
    ({"group": None}, ValueError, r"group is missing"),
    ({"group": [2, 2]}, ValueError, r"group must add up to the number of documents, 3, .* to 4"),
    ({"group": []}, ValueError, r"group must add up to the number of documents, 3"),
    ({"group": [4, -1]}, ValueError, r"group must hold query sizes, .* got -1 at row 1"),
    ({"group": [1.5, 1.5]}, ValueError, r"group must hold query sizes, whole .* got 1.5 at row 0"),
    ({"group": [float("nan"), 3]}, ValueError, r"group must hold query sizes.*got nan"),
    ({"group": [[3]]}, ValueError, r"group must have one dimension"),
    ({"group": ["3"]}, TypeError, r"group must be a 1-D array of numbers"),
    ({"group": [True, True, True]}, TypeError, r"group must hold the sizes"),
    ({"weight": [1.0, 2.0]}, ValueError, r"weight must have one value .* 1 queries .* 3 .* got 2"),
    ({"weight": [-1.0]}, ValueError, r"weight must be between 0 and 1e\+300, got -1.0 at row 0"),
    ({"weight": [float("nan")]}, ValueError, r"weight must be between 0 and .* got nan"),
    ({"weight": [1e301]}, ValueError, r"weight must be between 0 and .* got 1e\+301"),
    ({"weight": [[1.0]]}, ValueError, r"weight must have one dimension"),
    ({"weight": ["1"]}, TypeError, r"weight must be a 1-D array of numbers"),
]


@pytest.mark.parametrize(
    ("changes", "error", "message"), BAD_DATA, ids=[f"{c[0]}" for c in BAD_DATA]
)
def test_bad_data_are_refused(changes, error, message):
    data = {"scores": [0.0, 1.0, 2.0], "labels": [0, 1, 2], "group": [3], "weight": None}
    objective = REGISTRY["sdcg"]()
    for method in (objective.loss, objective.grad_hess):
        method(**data | {"group": [3.0, 0.0]})  # good, as the last query is only empty
        with pytest.raises(error, match=message):
            method(**{**data, **changes})


@pytest.mark.parametrize("method", ["loss", "grad_hess"])
def test_round(method):
    data = [0.0, 1.0], [1, 0], [2]
    plain = getattr(KINDS["plain"](), method)
    np.testing.assert_array_equal(plain(*data), plain(*data, round=3))
    for kind in ("scheduled", "mixture"):
        call = getattr(KINDS[kind](), method)
        with pytest.raises(ValueError, match="round is missing"):
            call(*data)
        with pytest.raises(ValueError, match="round must be at least 1, got 0"):
            call(*data, round=0)
        for wrong in (1.5, "1", True):
            with pytest.raises(TypeError, match="round must be a whole number"):
                call(*data, round=wrong)
        np.testing.assert_array_equal(call(*data, round=2), call(*data, round=np.int64(2)))
        assert not np.array_equal(call(*data, round=1), call(*data, round=10**6))


# ---- the object ----------------------------------------------------------------------------------


@every_kind
def test_an_objective_is_an_immutable_value(build):
    objective, twin = build(), build()
    assert isinstance(objective, Objective)
    assert objective == twin
    assert hash(objective) == hash(twin)
    assert {objective: 1}[twin] == 1
    for parameter in fields(objective):
        value = getattr(objective, parameter.name)
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
    assert eval(repr(objective), vars(boostrank.objectives)) == objective


@every_kind
def test_a_pickled_objective_is_the_same(build):
    objective = build()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(objective, protocol))
        assert again == objective
        assert hash(again) == hash(objective)
        assert repr(again) == repr(objective)
    np.testing.assert_array_equal(
        again.grad_hess(*DATA, round=2), objective.grad_hess(*DATA, round=2)
    )


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("plain", {"margin": 7.5}),
        ("plain", {"normalize": False}),
        ("plain", {"hessian": "constant"}),
        ("scheduled", {"k": None}),
        ("scheduled", {"alpha": 7.5}),
        ("mixture", {"schedule": 0.75}),
        ("mixture", {"second": KINDS["plain"]()}),
    ],
)
def test_replace_changes_one_parameter_and_only_in_the_copy(kind, changes):
    objective = KINDS[kind]()
    before = {field.name: getattr(objective, field.name) for field in fields(objective)}
    changed = objective.replace(**changes)
    assert type(changed) is type(objective)
    assert changed != objective
    assert objective == KINDS[kind]()
    for name, value in (before | changes).items():
        assert getattr(changed, name) == value
    fresh = type(objective)(**before | changes)
    np.testing.assert_array_equal(
        changed.grad_hess(*DATA, round=2), fresh.grad_hess(*DATA, round=2)
    )
    assert not np.array_equal(
        changed.grad_hess(*DATA, round=2), objective.grad_hess(*DATA, round=2)
    )
    assert objective.replace() == objective


@every_kind
def test_an_unknown_parameter_is_refused(build):
    objective = build()
    with pytest.raises(TypeError, match="lambda_"):
        type(objective)(lambda_=1.0)
    name = type(objective).__name__
    with pytest.raises(TypeError, match=f"{name} has no parameter 'lambda_'; it has "):
        objective.replace(lambda_=1.0)


class Own(NamedTuple):
    temp: float


def own_kernel(p, scores, labels, hessian, grad, hess):
    return 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temp": 1.0}, "^Lacking has no field 'hessian'; declare hessian: str = 'gauss-newton'$"),
        (
            {"hessian": "constant"},
            "^Lacking has no field 'temp'; its kernel's Own has: declare it",
        ),
    ],
)
def test_a_class_that_lacks_a_field_is_refused(fields, message):
    def use():
        lacking = make_dataclass(
            "Lacking", [(name, object, value) for name, value in fields.items()],
            bases=(Objective,), frozen=True, kw_only=True,
            namespace={"name": "lacking", "kernel": query_kernel(Own)(own_kernel)},
        )  # fmt: skip
        lacking().loss([1.0, 2.0], [0, 1], [2])

    with pytest.raises(TypeError, match=message):
        use()
    with pytest.raises(TypeError, match=r"must take \(p, scores, .*, as a kernel does; got \(p, s"):
        query_kernel(Own)(lambda p, scores, labels, grad, hess: 0.0)


# ---- each class ----------------------------------------------------------------------------------


def test_objectives_of_different_classes_differ():
    built = [example(name).objective for name in NAMES]
    assert len(set(built)) == len(built)


@every_name
def test_parameters_are_keywords_that_repr_shows(name):
    cls, objective = REGISTRY[name], example(name).objective
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        cls(1, **ORACLES[name].parameters[-1])
    for parameter, value in ORACLES[name].parameters[-1].items():
        assert getattr(objective, parameter) == value
    assert eval(repr(objective), vars(boostrank.objectives)) == objective


@every_name
def test_numpy_scalars_are_parameters_like_any_other(name):
    objective = example(name).objective
    as_numpy = {}
    for parameter in fields(objective):
        value = getattr(objective, parameter.name)
        wrap = {bool: np.bool_, int: np.int32, float: np.float64}.get(type(value), lambda v: v)
        as_numpy[parameter.name] = wrap(value)
    again = REGISTRY[name](**as_numpy)
    assert again == objective
    assert repr(again) == repr(objective)
    assert hash(again) == hash(objective)


MAY_BE_SCHEDULES = [
    (name, field.name)
    for name in NAMES
    for field in fields(REGISTRY[name])
    if Schedule in get_args(field.type)
]


@pytest.mark.parametrize(("name", "parameter"), MAY_BE_SCHEDULES)
def test_a_scheduled_parameter_is_its_value_in_each_round(name, parameter):
    objective = example(name).objective
    query = [0.3, 1.0, 0.2, 2.0], [1, 0, 3, 2], [4]
    changing = objective.replace(**{parameter: Schedule("linear", 5, first=0.2, last=0.9)})
    assert changing.scheduled
    for m, value in ((1, 0.2), (3, 0.55), (6, 0.9)):
        fixed = objective.replace(**{parameter: value})
        np.testing.assert_allclose(
            changing.grad_hess(*query, round=m), fixed.grad_hess(*query, round=m), rtol=1e-12
        )
        np.testing.assert_allclose(
            changing.loss(*query, round=m), fixed.loss(*query, round=m), rtol=1e-12
        )


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
TABLE = [("nonsense", ValueError), ("", ValueError), (None, TypeError), (1, TypeError)]
TABLE += [([], TypeError), ([-1.0], ValueError), ([NAN], ValueError)]
REFUSED = {
    **dict.fromkeys(("k", "truncation", "permutations", "start_round"), COUNT),
    "total_rounds": [*COUNT, (None, TypeError)],
    **dict.fromkeys(("alpha", "beta", "sigma", "margin", "offset", "top"), POSITIVE),
    "perturb_scale": POSITIVE,
    **dict.fromkeys(("tau", "gamma", "decay", "share"), SHARE),
    "query_fraction": [*SHARE, (0.0, ValueError), (None, TypeError)],
    **dict.fromkeys(("normalize", "center", "norm", "position_weights", "rescale"), FLAG),
    **dict.fromkeys(("signal", "variant"), CHOICE),
    "discount": [*TABLE, ("Linear", ValueError), ([1, 2], ValueError)],
    "gain": [*TABLE, ("Linear", ValueError), ([2, 1], ValueError)],
    "target": [*((bad, ValueError) for bad in ("nonsense", "", 1, "Grade"))],
    "measure": [*CHOICE, *((m, ValueError) for m in ("ndcg@0", "ndcg@", "map@3", "ndcg@2.5"))],
    "hessian": [*CHOICE, ("Exact", ValueError), (["exact"], ValueError)],
    "perturb": [("uniform", ValueError), ("", ValueError), (0.5, ValueError)],
    "seed": [(-1, ValueError), (0.5, TypeError), ("1", TypeError), (True, TypeError)],
}


@every_name
def test_bad_parameters_are_refused(name):
    cls = REGISTRY[name]
    good = ORACLES[name].parameters[-1]
    for parameter in fields(cls):
        if REFUSED[parameter.name] is COUNT:
            assert getattr(cls(**{**good, parameter.name: 2**53}), parameter.name) == 2**53
        message = rf"^(unknown {parameter.name}|{parameter.name} must (not )?(be|fall|grow))\b"
        for value, error in REFUSED[parameter.name]:
            with pytest.raises(error, match=message):
                cls(**{**good, parameter.name: value})


@pytest.mark.parametrize("name", [n for n in NAMES if "exact" not in REGISTRY[n].hessians])
def test_hessians_that_are_not_offered_name_those_that_are(name):
    cls = REGISTRY[name]
    known = re.escape(", ".join(cls.hessians))
    with pytest.raises(ValueError, match=f"unknown hessian 'exact' .known: {known}.$"):
        cls(**{**ORACLES[name].parameters[-1], "hessian": "exact"})


# ---- the domain of labels ------------------------------------------------------------------------

OUTSIDE = {
    PROBABILITIES: (1.5, -0.5),
    GRADES: (1000.5, -0.5),
    AMOUNTS: (float("inf"), -0.5),
    NUMBERS: (float("nan"), float("inf")),
}
INSIDE = {
    PROBABILITIES: (0.0, 0.25, 1.0),
    GRADES: (0.0, 0.25, 40.0),
    AMOUNTS: (0.0, 0.25, 4e3),
    NUMBERS: (-3e3, 0.0, 2e3),
}


@every_name
def test_labels_are_taken_from_the_domain_that_the_contract_names(name):
    objective, m = example(name).objective, example(name).rounds[0]
    domain = objective.contract.labels
    objective.loss([0.1, 0.2, 0.3], INSIDE[domain], [3], round=m)
    derivatives = objective.grad_hess([0.1, 0.2, 0.3], INSIDE[domain], [3], round=m)
    assert np.isfinite(derivatives).all()
    for label in OUTSIDE[domain]:
        with pytest.raises(ValueError, match=f"labels must be .*got {label} at row 1"):
            objective.grad_hess([0.1, 0.2, 0.3], [0.5, label, 1.0], [3], round=m)


def test_a_mixture_takes_the_labels_that_both_parts_take():
    wide, narrow = REGISTRY["query-rmse"](), REGISTRY["sdcg"]()
    assert Mix(wide, wide, 0.5).contract.labels == NUMBERS
    assert Mix(wide, REGISTRY["ranknet"](), 0.5).contract.labels == AMOUNTS
    assert Mix(wide, narrow, 0.5).contract.labels == GRADES
    with pytest.raises(ValueError, match="labels must be relevance grades"):
        Mix(wide, narrow, 0.5).loss([0.0, 1.0], [-1, 0], [2])
