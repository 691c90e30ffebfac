"""`query_fraction`: what sampling of queries, redrawn in every round, should give."""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from training import (
    HOST_HESSIAN_FLOOR,
    LIGHTGBM,
    ROUNDS,
    XGBOOST,
    dataset,
    host_gradients,
    make_data,
    matrix,
    trees,
)

import boostrank
from boostrank import registry

NAMES = ("shf-sdcg", "lambdarank", "reg-shf-sdcg")


@pytest.fixture(scope="module")
def data():
    return make_data()


def make_objective(name, **params):
    return registry.make_objective(name, params, ROUNDS)


def sample(objective, d, round, scores=None):
    """Which queries are left in, by what XGBoost is handed in that round: all Hessians are 1."""
    names = ("query_fraction", "seed", "start_round")
    objective = boostrank.Regression(**{name: getattr(objective, name) for name in names})
    scores = np.linspace(0, 1, len(d.y)) if scores is None else scores
    _, hess = objective(round - 1, scores, matrix(d))
    left_in = hess.reshape(-1) > np.float32(HOST_HESSIAN_FLOOR)
    query = np.bincount(d.qid, left_in)
    assert set(query) <= {0.0, *d.group}  # whole queries
    return query > 0


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_the_sample_are_those_of_all(data, name):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=len(data.y)).astype(np.float32)
    objective = make_objective(name, query_fraction=0.25)
    grad, hess = objective(2, scores, matrix(data))
    whole_grad, whole_hess = objective.replace(query_fraction=1.0)(2, scores, matrix(data))
    rows = sample(objective, data, 3, scores)[data.qid]
    np.testing.assert_array_equal(grad[rows], whole_grad[rows])
    np.testing.assert_array_equal(hess[rows], whole_hess[rows])
    assert np.all(grad[~rows] == 0.0)
    assert np.all(hess[~rows] == np.float32(HOST_HESSIAN_FLOOR))


def test_sample(data):
    objective = boostrank.Regression(query_fraction=0.25)
    samples = np.array([sample(objective, data, m) for m in range(1, 201)])
    # Of forty queries 10 on average, with a standard deviation of 2.7.
    assert samples.sum(axis=1).mean() == pytest.approx(10, abs=4 * 2.7 / 200**0.5)
    assert samples.sum(axis=1).std() == pytest.approx(2.7, rel=0.2)
    assert len(np.unique(samples, axis=0)) > 190
    # Each query is drawn about as often: 50 times, standard deviation 6.1.
    assert np.abs(samples.sum(axis=0) - 50).max() < 4.5 * 6.1
    again = boostrank.Regression(query_fraction=0.25)
    assert np.array_equal(sample(again, data, 7), samples[6])
    other = sample(objective.replace(seed=1), data, 7)
    assert not np.array_equal(other, samples[6])
    # A model that is trained on goes on with the draws.
    assert np.array_equal(sample(objective.replace(start_round=7), data, 1), samples[6])
    few = [sample(objective.replace(query_fraction=1e-6), data, m).sum() for m in range(1, 31)]
    assert min(few) == 1  # never none: LightGBM would stop there
    assert max(few) <= 10
    assert sample(objective.replace(query_fraction=1.0), data, 1).all()


@pytest.mark.parametrize("name", NAMES)
def test_training(data, name):
    """All rounds, on both hosts, against a loop that leaves the other queries out by hand."""
    objective = make_objective(name, query_fraction=0.5, seed=3)

    def by_hand(scores, m):
        grad, hess = host_gradients(objective, scores, data.y, data.group, m)
        left_out = ~sample(objective, data, m, scores)[data.qid]
        grad[left_out], hess[left_out] = 0.0, HOST_HESSIAN_FLOOR
        return grad, hess

    booster = lgb.train({**LIGHTGBM, "objective": objective}, dataset(data), ROUNDS)
    expected = lgb.Booster({**LIGHTGBM, "objective": "none"}, dataset(data))
    for m in range(1, ROUNDS + 1):
        expected.update(fobj=lambda preds, _, m=m: by_hand(preds, m))
    assert trees(booster) == trees(expected)

    model = xgb.train(XGBOOST, matrix(data), ROUNDS, obj=objective)
    expected = xgb.Booster(XGBOOST, [rows := matrix(data)])
    for m in range(1, ROUNDS + 1):
        expected.update(rows, m - 1, fobj=lambda preds, _, m=m: by_hand(preds, m))
    assert trees(model) == trees(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_is_that_of_the_sampled_queries_alone(data, name):
    """The same splits and leaves as without the other documents, for those that are left."""
    # No Hessian is floored here at a share of the mean, which is that of all documents.
    objective = make_objective(name, query_fraction=0.5, seed=3, perturb=None)
    # No two splits gain the same, as they may where all hinges of a document are straight.
    start = np.random.default_rng(2).normal(size=len(data.y)).astype(np.float32)
    rows = np.flatnonzero(sample(objective, data, 1, start)[data.qid])
    X, y = data.X[rows], data.y[rows]
    sizes = np.bincount(data.qid[rows])
    sizes = sizes[sizes > 0]
    whole = objective.replace(query_fraction=1.0)
    params = {
        **LIGHTGBM, "min_data_in_leaf": 0, "min_data_in_bin": 1, "max_bin": 1023,
        "min_sum_hessian_in_leaf": 1e-9,
        "learning_rate": 1.0,
    }  # fmt: skip
    part = lgb.Dataset(X, y, group=sizes, init_score=start[rows])
    alone = lgb.train({**params, "objective": whole}, part, 1).predict(X)
    everything = dataset(data, init_score=start)
    sampled = lgb.train({**params, "objective": objective}, everything, 1).predict(X)
    assert len(np.unique(alone)) >= 6
    np.testing.assert_allclose(sampled, alone, rtol=1e-4)
    params = {**XGBOOST, "tree_method": "exact", "min_child_weight": 1e-9, "reg_lambda": 0}
    part = xgb.DMatrix(X, y, group=sizes, base_margin=start[rows])
    alone = xgb.train(params, part, 1, obj=whole).predict(xgb.DMatrix(X))
    everything = matrix(data, base_margin=start)
    sampled = xgb.train(params, everything, 1, obj=objective).predict(xgb.DMatrix(X))
    assert len(np.unique(alone)) >= 7
    np.testing.assert_allclose(sampled, alone, rtol=1e-4)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"query_fraction": 0.0}, ValueError, "query_fraction must be above 0"),
        ({"query_fraction": 1.5}, ValueError, "query_fraction must be from 0 to 1"),
        ({"query_fraction": "half"}, TypeError, "query_fraction must be a number"),
        ({"seed": -1}, ValueError, "seed must not be negative"),
        ({"seed": 0.5}, TypeError, "seed must be a whole number"),
        ({"start_round": 0}, ValueError, "start_round must be at least 1"),
        ({"start_round": 1.5}, TypeError, "start_round must be a whole number"),
    ],
    ids=str,
)
def test_bad_parameters(params, error, message):
    with pytest.raises(error, match=message):
        boostrank.SHFSDCG(**params)
