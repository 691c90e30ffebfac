"""Every objective in both hosts' training calls, compared with plain reference training."""

import contextlib
import inspect
import pickle
import weakref
from dataclasses import dataclass, fields
from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from boostrank.objectives import Contract, Objective
from boostrank.objectives.mix import Mixture
from boostrank.objectives.validation import NUMBERS
from oracle import gradient, hessian_diagonal, yetirank
from programs import output_of
from test_edge_cases import queries_of
from training import (
    HOST_HESSIAN_FLOOR,
    LIGHTGBM,
    XGBOOST,
    dataset,
    first_tree,
    grad_hess,
    loop,
    make_objective,
    matrix,
    mean_hessian,
    predicted,
    train,
    trees,
    uniforms,
)

import boostrank


@pytest.fixture(params=boostrank.objective_names())
def objective(request):
    return make_objective(request.param)


# For what depends on how an objective is called, not on what it computes.
@pytest.fixture(params=["gbrank", "shf-sdcg", "reg-shf-sdcg", "yetirank"])
def kind(request):
    """Return an objective that is plain, noisy, a scheduled mixture, or one that draws."""
    return make_objective(request.param)


def test_training(host, objective, data):
    assert trees(train(host, objective, data)) == trees(loop(host, objective, data))


def test_xgboost_calls_with_two_and_three_arguments_agree(objective, data):
    rows = matrix(data)
    preds = np.random.default_rng(0).normal(size=len(data.y)).astype(np.float32)
    three = objective(0, preds, rows)
    if objective.scheduled or objective.perturb or objective.n_draws:
        with pytest.raises(ValueError, match="boosting round is not known"):
            objective(preds, rows)
    else:
        np.testing.assert_array_equal(objective(preds, rows), three)
    for array in three:
        assert array.dtype == np.float32
        assert array.flags.c_contiguous


@pytest.mark.parametrize("loaded", ["before", "after"])
def test_the_first_training_of_a_process_with_xgboost(loaded):
    """XGBoost's first calls have two arguments; the object must still know every round.

    Importing boostrank and creating an objective change nothing in XGBoost.
    """
    imports = ["import xgboost", "import boostrank"]
    program = f"""
{chr(10).join(imports if loaded == "before" else imports[::-1])}
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
import numpy as np

seen = Counter()

def steepness(round, total_rounds):
    seen[round] += 1
    return 1.0

objective = boostrank.SDCG(alpha=boostrank.Schedule(steepness, 4))
import xgboost

def train(obj):
    X = np.random.default_rng(0).normal(size=(40, 2))
    matrix = xgboost.DMatrix(X, (X[:, 0] > 0).astype(int), group=[20, 20], nthread=1)
    params = {{"objective": "rank:pairwise", "nthread": 1}}
    return xgboost.train(params, matrix, 4, obj=obj)

assert not issubclass(boostrank.SDCG, xgboost.objective.Objective)
try:
    train(lambda preds, matrix: objective(preds, matrix))
except ValueError as error:
    assert "boosting round is not known" in str(error)
else:
    raise AssertionError("a function around the objective was accepted")
with ThreadPoolExecutor(3) as pool:
    list(pool.map(train, [objective] * 3))
each = seen[1] // 3
assert seen == {{round: 3 * each for round in (1, 2, 3, 4)}}, seen
"""
    output_of(program)


def noting_rounds():
    """Return an objective, and the set of the rounds in which it is called."""
    seen = set()

    def steepness(round, total_rounds):
        seen.add(round)
        return 1.0

    return boostrank.SDCG(alpha=boostrank.Schedule(steepness, 9)), seen


def test_a_new_booster_starts_at_round_one(data):
    """Even at the address of one that is gone: nothing is kept of it."""
    objective, seen = noting_rounds()
    rows = dataset(data)
    addresses, again = set(), False
    while not again and len(addresses) < 10_000:
        booster = lgb.Booster(LIGHTGBM, rows)
        again = id(booster) in addresses
        addresses.add(id(booster))
        for round in (1, 2):
            seen.clear()
            booster.update(fobj=objective)
            assert seen == {round}
    assert again
    gone = [weakref.ref(each) for each in (objective, booster, rows)]
    del objective, booster, rows
    assert [each() for each in gone] == [None] * 3


def test_rounds_of_another_objective_count(data):
    objective, seen = noting_rounds()
    booster = lgb.Booster(LIGHTGBM, dataset(data))
    for round in range(1, 8):
        booster.update(fobj=objective if round in (3, 4, 7) else boostrank.QueryRMSE())
    assert seen == {3, 4, 7}


@pytest.mark.parametrize(
    "objective",
    [boostrank.SDCG(), boostrank.Preferences("ranknet", [(0, 1)])],
    ids=lambda objective: objective.name,
)
def test_a_trained_booster_does_not_keep_its_data(objective, data):
    rows = dataset(data)
    booster = lgb.train({**LIGHTGBM, "objective": objective}, rows, 2)
    gone = weakref.ref(rows)
    del rows
    assert gone() is None
    assert booster.num_trees() == 2


def test_without_a_booster_every_call_is_a_first_round():
    objective, seen = noting_rounds()
    preds = np.zeros(3)
    for _ in range(3):
        objective(np.arange(3), preds, None, [3])
    assert seen == {1}
    objective.replace(start_round=4)(np.arange(3), preds, None, [3])
    assert seen == {1, 4}


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("truncation", [5, None])
@pytest.mark.parametrize("start", ["tied", "spread"])
def test_lambdarank_is_lightgbms(norm, truncation, start):
    """The first tree equals the built-in's, leaf by leaf, whatever the leaves.

    Known differences: the built-in reads its sigmoid from a table (1e-5), adds in float32, and has
    a Hessian of 0 where ours is at least a millionth of the mean.
    """
    rng = np.random.default_rng(7)
    group = np.full(50, 12)
    y = rng.integers(0, 5, group.sum()).astype(float)
    init_score = None if start == "tied" else rng.normal(size=len(y))
    ours = boostrank.LambdaRank(norm=norm, truncation=truncation)
    built_in = {"lambdarank_norm": norm, "lambdarank_truncation_level": truncation or 10_000}
    for _ in range(10):
        rows = rng.normal(size=(len(y), 3)), y, group, init_score
        first = first_tree(*rows, objective=ours)
        second = first_tree(*rows, objective="lambdarank", **built_in)
        assert len(np.unique(first)) > 20
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4 * np.abs(second).max())


def lightgbm_draws(seed, group):
    """Return the first number that LightGBM draws per document, with one generator per query."""
    for query, size in enumerate(group):
        state = seed + query
        for _ in range(size):
            state = (214013 * state + 2531011) % 2**32
            yield (state >> 16 & 0x7FFF) / 32768.0


def with_terms_to_the_third_order(grad, scores, group):
    """LightGBM's series for the Newton step: see objectives/xe_ndcg.py."""
    query = np.repeat(np.arange(len(group)), group)

    def summed(values):
        return np.bincount(query, values)[query]

    rho = np.exp(scores)
    rho /= summed(rho)
    first = grad / (1.0 - rho)
    second = rho * (summed(first) - first)
    third = rho * (summed(second / (1.0 - rho)) - second / (1.0 - rho))
    return grad + second + third


@pytest.mark.parametrize("start", ["tied", "spread"])
def test_xe_ndcg_is_lightgbms(start):
    """The first tree equals the built-in's, leaf by leaf, with its draws in place of ours.

    Known differences: the built-in adds terms that are not part of the gradient, and learns from
    queries whose grades are all equal.
    """
    rng = np.random.default_rng(7)
    group = rng.integers(2, 20, 50)
    y = rng.integers(0, 5, group.sum()).astype(float)
    y[np.cumsum(group) - 1], y[np.cumsum(group) - 2] = 4.0, 0.0
    X = rng.normal(size=(len(y), 3)) + 0.3 * y[:, None]
    init_score = np.zeros(len(y)) if start == "tied" else rng.normal(size=len(y))
    gamma = np.array(list(lightgbm_draws(11, group)))
    grad, hess = np.empty((2, len(y)))
    boundaries = np.append(0, np.cumsum(group))
    boostrank.XENDCG().write_derivatives(init_score, y, boundaries, 1, grad, hess, gamma[None])
    grad = with_terms_to_the_third_order(grad, init_score, group)
    rows = X, y, group, init_score
    want = first_tree(*rows, objective="rank_xendcg", objective_seed=11)
    assert len(np.unique(want)) > 20
    got = first_tree(*rows, objective=lambda *_: (grad.astype(np.float32), hess))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    other = first_tree(*rows, objective=boostrank.XENDCG(gamma=0.5))
    assert np.abs(other - want).max() > 0.1 * np.abs(want).max()


def test_a_part_of_a_mixture_draws_from_the_mixtures_seed(data):
    scores, rows = np.zeros(len(data.y), np.float32), matrix(data)
    alone = boostrank.XENDCG(rescale=False, seed=4)
    mix = boostrank.Mix(boostrank.XENDCG(), boostrank.RankNet(), 1.0, rescale=False, seed=4)
    np.testing.assert_array_equal(mix(0, scores, rows)[0], alone(0, scores, rows)[0])


def test_yetirank_draws_new_orders_every_round(data):
    """Each is the order by score of the oracle's loss."""
    y, group, rows = data.y, data.group, matrix(data)
    objective = boostrank.YetiRank(rescale=False, seed=4, permutations=3, decay=0.7)
    scores = np.random.default_rng(0).normal(size=len(y)).astype(np.float32)
    grads = []
    for round in (1, 2):
        drawn = np.array([uniforms(4, round, scores, y, group, 2 + t) for t in range(3)])
        noisy, want = scores - np.log(-np.log(drawn)), []
        for s, grades, *orders in queries_of(group, scores.tolist(), y, *noisy):

            def loss(at, grades=grades, orders=orders):
                return np.mean([yetirank(at, grades, decay=0.7, frozen_at=o) for o in orders])

            want.append([gradient(loss, s), hessian_diagonal(loss, s)])
        want = np.hstack(want)
        got = objective(round - 1, scores, rows)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-7)
        least = HOST_HESSIAN_FLOOR * mean_hessian(*want)
        np.testing.assert_allclose(got[1], np.maximum(want[1], least), rtol=1e-5, atol=1e-7)
        grads.append(got[0])
    assert np.abs(grads[0] - grads[1]).max() > 1e-3


@pytest.mark.parametrize("start", ["tied", "spread"])
def test_ranknet_is_xgboosts_pairwise(start):
    """The first tree equals that of rank:pairwise on all pairs, without its normalisations.

    Known difference: XGBoost doubles the Hessian, so its leaves are half as large.
    """
    rng = np.random.default_rng(5)
    group = rng.integers(1, 20, 40)
    y = rng.integers(0, 5, group.sum()).astype(float)
    X = rng.normal(size=(len(y), 3)) + 0.3 * y[:, None]
    margin = None if start == "tied" else rng.normal(size=len(y))
    params = {
        "objective": "rank:pairwise", "base_score": 0, "reg_lambda": 0, "min_child_weight": 0,
        "max_depth": 4, "learning_rate": 1.0, "nthread": 1,
    }  # fmt: skip
    all_pairs = {
        "lambdarank_normalization": False, "lambdarank_score_normalization": False,
        "lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 20,
    }  # fmt: skip
    matrix = xgb.DMatrix(X, y, group=group, base_margin=margin)
    ours = xgb.train(params, matrix, 1, obj=boostrank.RankNet()).predict(xgb.DMatrix(X))
    built_in = xgb.train(params | all_pairs, matrix, 1).predict(xgb.DMatrix(X))
    assert len(np.unique(ours)) > 10
    np.testing.assert_allclose(ours, 2 * built_in, rtol=1e-5)


def test_without_rescaling_a_host_gets_what_grad_hess_returns(objective, data):
    y, group = data.y, data.group
    scores = np.random.default_rng(2).normal(size=len(y))
    objective = objective.replace(perturb=None)
    raw = objective.replace(rescale=False)
    grad, hess = grad_hess(objective, scores, y, group, 1)
    mean = mean_hessian(grad, hess)
    got_grad, got_hess = raw(y, scores, None, group)
    np.testing.assert_array_equal(got_grad, grad.astype(np.float32))
    least = np.where(grad != 0.0, raw.hessian_share, HOST_HESSIAN_FLOOR) * mean
    least = np.maximum(least, HOST_HESSIAN_FLOOR * mean)
    if isinstance(objective, Mixture):  # floored part by part: a little higher in places
        assert (got_hess >= hess * (1.0 - 1e-5)).all()
        np.testing.assert_allclose(got_hess, hess, rtol=1e-5, atol=0.1 * mean)
    else:
        np.testing.assert_allclose(got_hess, np.maximum(hess, least), rtol=1e-5)
    # Weights and the floor of queries that are left out are in the same unit.
    weight = np.repeat(2.0, len(y))
    weighted = raw(y, scores.copy(), weight, group)[0]  # another array: round 1 again
    np.testing.assert_allclose(weighted, 2.0 * got_grad, rtol=1e-6)
    drawn_grad, drawn_hess = raw.replace(query_fraction=0.5)(y, scores, None, group)
    drawn = drawn_grad != 0
    mean = mean_hessian(grad[drawn], hess[drawn])
    if isinstance(objective, Mixture):  # with the parts' floors
        mean = drawn_hess[drawn].mean(dtype=np.float64)
    assert drawn_hess.min() == pytest.approx(HOST_HESSIAN_FLOOR * mean, rel=1e-5)


def test_training_survives_mostly_degenerate_queries(host, objective):
    """Hessians near zero must not break the booster, here with one query in ten to learn from."""
    rng = np.random.default_rng(11)
    d = SimpleNamespace(X=rng.normal(size=(1000, 4)), group=np.full(100, 10))
    d.y = (d.X[:, 0] > 0) * np.repeat(np.arange(100) % 10 == 0, 10)
    params = {"lightgbm": {"min_data_in_leaf": 1}, "xgboost": {"min_child_weight": 0}}
    scores = predicted(train(host, objective, d, 100, params=params[host]), d.X)
    assert np.isfinite(scores).all()
    ndcg = boostrank.evaluate(scores, d.y, d.group, ("ndcg",), per_query=True)["ndcg"]
    assert np.mean(ndcg[d.y.reshape(-1, 10).any(axis=1)]) > 0.95


def test_queries_that_teach_nothing_change_no_leaf(objective, data):
    """Where there is no gradient, no Hessian but the hosts' floor may weigh on a leaf."""
    alike, teach = np.ones(30), len(data.y)  # after them: a query of one grade, ten of one document
    y, group = np.r_[data.y, alike], np.r_[data.group, 20, np.ones(10, int)]
    scores = np.random.default_rng(2).normal(size=len(y))
    with_them = np.array(objective(y, scores, None, group))
    without = objective(data.y, scores[:teach], None, data.group)
    if not with_them[0, teach:].any():  # else they do teach something
        np.testing.assert_allclose(with_them[:, :teach], without, rtol=1e-6)
        np.testing.assert_allclose(with_them[1, teach:], HOST_HESSIAN_FLOOR, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:labels above 30")
def test_gradient_that_is_not_finite_names_the_query(host):
    d = SimpleNamespace(X=np.arange(90.0)[:, None], y=np.zeros(90), group=[30, 40, 20])
    d.y[30] = 1000  # the first of its query; its gain is about 1e301: beyond float32
    with pytest.raises(ValueError, match=r"not finite in query 1 \(document at row 30\)"):
        train(host, boostrank.Regression(target="gain"), d, 1)


@pytest.mark.parametrize("label", [-1.0, np.nan])
def test_bad_labels_train_nothing(kind, label):
    X, y, group = np.arange(60.0)[:, None], np.arange(60.0) % 3, [30, 30]
    y[7] = label
    booster = lgb.Booster(LIGHTGBM, lgb.Dataset(X, y, group=group))
    if not np.isnan(label):  # LightGBM reads a missing label as 0 before anyone sees it
        with pytest.raises(ValueError, match="labels must be"):
            booster.update(fobj=kind)
        assert booster.num_trees() == 0
    with pytest.raises(ValueError, match=r"labels must be|NaN"):
        xgb.train(XGBOOST, xgb.DMatrix(X, y, group=group), 1, obj=kind)


def test_data_without_queries(host, kind):
    d = SimpleNamespace(X=np.arange(60.0)[:, None], y=np.arange(60) % 2, group=None)
    with pytest.raises(ValueError, match="group is missing"):
        train(host, kind, d, 1)


@pytest.mark.parametrize("called", [boostrank.SDCG(), boostrank.metric("map")], ids=str)
def test_wrong_calls(called):
    with pytest.raises(TypeError, match="got 1 arguments"):
        called([0.0])
    with pytest.raises(TypeError, match=r"expected a lightgbm\.Dataset or an xgboost\.DMatrix"):
        called(np.zeros(3), np.zeros(3))


def test_class(objective):
    """One class per name, which shows its own parameters first, and its source."""
    cls = type(objective)
    assert getattr(boostrank, cls.__name__) is getattr(boostrank.objectives, cls.__name__) is cls
    for_hosts = ["rescale", "perturb", "perturb_scale", "query_fraction", "seed", "start_round"]
    assert [field.name for field in fields(Objective)] == for_hosts
    parameters = list(inspect.signature(cls).parameters)
    assert parameters[-7:] == ["hessian", *for_hosts]
    listed = [f"{name}={getattr(objective, name)!r}" for name in parameters]
    assert repr(objective) == f"{cls.__name__}({', '.join(listed)})"
    assert f"class {cls.__name__}(" in inspect.getsource(cls)
    assert cls.__doc__.count("query_fraction") == 1  # documented by `Objective`


@dataclass(frozen=True, kw_only=True)
class Own(Objective):
    """Squared error, as a user of boostrank would write it."""

    name = "own"
    hessian: str = "constant"

    @property
    def contract(self):
        return Contract("exact", "constant", shift_invariant=False, labels=NUMBERS, cost="O(n)")

    def _loss(self, scores, labels, boundaries, loss):
        raise NotImplementedError

    def _grad_hess(self, scores, labels, boundaries, grad, hess):
        grad += 2.0 * (scores - labels)


def test_a_users_own_objective(host, data):
    """It keeps its module and docstring, can be pickled, and trains as ours do."""
    assert Own.__module__ == __name__
    assert Own.__doc__ == "Squared error, as a user of boostrank would write it."
    objective = pickle.loads(pickle.dumps(Own()))
    assert objective == Own()
    ours = boostrank.Regression(hessian="constant")
    assert trees(train(host, objective, data)) == trees(loop(host, ours, data))


@dataclass(frozen=True, kw_only=True)
class Listed(Own):
    """An objective that keeps a list as it was given."""

    thresholds: object = (1.0,)


def test_a_field_without_a_hash_is_named(data):
    objective = Listed(thresholds=[1.0])
    for each in (objective, boostrank.Mix(boostrank.SDCG(), objective, 0.5)):
        with pytest.raises(TypeError, match=r"Listed.thresholds must be hashable.* got a list:"):
            train("lightgbm", each, data, 1)
    train("lightgbm", Listed(), data)


@pytest.mark.parametrize("where", ["in the objective", "in a function around it", "in LightGBM"])
def test_a_round_that_fails_is_done_again(where, data, monkeypatch):
    """Ctrl-C in round 2 of an update loop, which goes on: draws and schedules do not move on."""
    boost = lgb.Booster._Booster__boost

    def interrupt(place):
        if fails and place == where and booster.current_iteration() == 1:
            fails.pop()
            raise KeyboardInterrupt

    def steepness(round, total_rounds):
        interrupt("in the objective")
        return float(round)

    def function(preds, rows):
        gradients = objective(preds, rows)
        interrupt("in a function around it")
        return gradients

    def boosts(self, *args, **kwargs):
        interrupt("in LightGBM")
        return boost(self, *args, **kwargs)

    monkeypatch.setattr(lgb.Booster, "_Booster__boost", boosts)
    alpha, models = boostrank.Schedule(steepness, 4), []
    for fails in ([], ["once"]):
        objective = boostrank.RegSHFSDCG(total_rounds=4, alpha=alpha, query_fraction=0.5)
        booster = lgb.Booster({**LIGHTGBM, "objective": "none"}, dataset(data))
        for _ in range(4 + len(fails)):
            with contextlib.suppress(KeyboardInterrupt):
                booster.update(fobj=function)
        assert not fails
        models.append(trees(booster))
    assert models[0] == models[1]


def test_xgboosts_weights_are_per_query_also_if_there_are_as_many_documents():
    y, scores = np.array([0.0, 1, 0, 2]), np.array([0.3, 0.1, 0.2, 0.0])
    full, with_empty = (
        xgb.DMatrix(np.zeros((4, 1)), y, group=group, weight=weight)
        for group, weight in (([2, 2], [1, 3]), ([2, 0, 0, 2], [1, 7, 8, 3]))
    )
    objective = boostrank.RankNet()
    np.testing.assert_array_equal(objective(scores, with_empty), objective(scores, full))
