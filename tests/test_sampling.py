"""`query_fraction`: what sampling of queries, redrawn in every round, should give."""

from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import xgboost as xgb
from boostrank.objectives import Objective
from boostrank.objectives.corrections import sums_at
from training import (
    HOST_HESSIAN_FLOOR,
    XGBOOST,
    host_gradients,
    make_data,
    make_objective,
    matrix,
    of_rows,
    train,
    trees,
)

import boostrank

NAMES = ("shf-sdcg", "lambdarank", "reg-shf-sdcg")


def sample(objective, d, round, scores=None):
    """Return which queries a round draws, as XGBoost's Hessians show: theirs are all 1."""
    names = ("query_fraction", "seed", "start_round")
    objective = boostrank.Regression(**{name: getattr(objective, name) for name in names})
    scores = np.linspace(0, 1, len(d.y)) if scores is None else scores
    _, hess = objective(round - 1, scores, matrix(d))
    left_in = hess.reshape(-1) > np.float32(HOST_HESSIAN_FLOOR)
    query = np.bincount(d.qid, left_in)
    assert set(query) <= {0.0, *d.group}  # whole queries
    return query > 0


DATA = make_data()
FIRST = np.cumsum(DATA.group) - DATA.group
PAIRS = [(a + n - 1, a) for a, n in zip(FIRST, DATA.group, strict=True) if n > 1]
# Labels and pairs of the rows of all documents.
BOUND = {
    "several": partial(
        boostrank.Several,
        {"a": boostrank.SDCG(), "b": boostrank.RankNet()},
        labels={"b": DATA.X[:, 4]},
    ),
    "pairs": lambda **own: boostrank.Preferences(boostrank.RankNet(**own), PAIRS),
    "mixed pairs": partial(
        boostrank.Mix, boostrank.Preferences("ranknet", PAIRS), boostrank.SDCG(), 0.5
    ),
}
OBJECTIVES = {name: partial(make_objective, name) for name in (*NAMES, "blend", "yetirank")} | BOUND


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_of_the_sample_are_those_of_its_queries_alone(data, name):
    """So are scale and floors. Without rescaling, gradients are also those among all queries."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=len(data.y)).astype(np.float32)
    for params in ({}, {"rescale": False, "perturb": "gaussian"}):
        objective = OBJECTIVES[name](query_fraction=0.25, **params)
        grad, hess = objective(2, scores, matrix(data))
        rows = sample(objective, data, 3, scores)[data.qid]
        whole = objective.replace(query_fraction=1.0)
        if name not in BOUND:
            own = whole(2, scores[rows], matrix(of_rows(data, rows)))
            np.testing.assert_array_equal((grad[rows], hess[rows]), own)
        if params:
            weighted = matrix(data, weight=rng.uniform(0.5, 2.0, len(data.group)))
            grad, hess = objective(2, scores, weighted)
            np.testing.assert_array_equal(grad[rows], whole(2, scores, weighted)[0][rows])
        assert np.all(grad[~rows] == 0.0)
        assert np.any(grad != 0.0)
        assert len(np.unique(hess[~rows])) == 1
        assert hess[~rows][0] <= hess[rows].min()
        if not params:
            assert hess[~rows][0] == np.float32(HOST_HESSIAN_FLOOR)


def test_clicks_of_the_sample(data):
    """Positions are those of the sampled documents, and their factors are learnt from them."""
    place = np.concatenate([np.arange(n) for n in data.group])
    clicks = SimpleNamespace(X=data.X, y=(data.y > 1).astype(float), group=data.group, qid=data.qid)
    scores = np.random.default_rng(0).normal(size=len(place)).astype(np.float32)
    inner = boostrank.RankNet(query_fraction=0.25, rescale=False)
    rows = sample(inner, clicks, 1, scores)[data.qid]
    given = boostrank.Unbiased(inner, position=place + 1, propensity=1.0 / np.arange(1.0, 17.0))
    grad, _ = given(0, scores, matrix(clicks))
    want, _ = given.grad_hess(scores, clicks.y, data.group)
    np.testing.assert_array_equal(grad, (want * rows).astype(np.float32))
    learnt = boostrank.Unbiased(inner, position=place + 1, propensity="additive")
    model = xgb.train(XGBOOST, matrix(clicks, base_margin=scores), 1, obj=learnt)
    own = of_rows(clicks, rows)
    pull, bend = boostrank.RankNet().grad_hess(scores[rows], own.y, own.group)
    mean = bend[pull != 0].mean()
    sums = sums_at(place[rows], pull**0, pull / mean, bend / mean, 15)
    factors = learnt.correction.learnt(np.zeros((1, 15)), sums)
    np.testing.assert_allclose(boostrank.position_bias(model).factors, factors)


def test_only_the_sample_is_computed(data, monkeypatch):
    """A gradient costs only what the drawn queries cost."""
    seen = []
    write = Objective.write_derivatives

    def count(self, scores, *args):
        seen.append(len(scores))
        write(self, scores, *args)

    monkeypatch.setattr(Objective, "write_derivatives", count)
    scores = np.zeros(len(data.y), np.float32)
    objective = make_objective("reg-shf-sdcg", query_fraction=0.25)
    objective(0, scores, matrix(data))
    drawn = sample(objective, data, 1, scores)[data.qid].sum()
    assert 0 < drawn < len(data.y) / 2
    assert seen[:2] == [drawn, drawn]  # by both parts


def test_an_error_names_the_row_among_all(data):
    objective = boostrank.Regression(query_fraction=0.25)
    messages = {}
    for row in np.cumsum(data.group) - 1:
        scores = np.zeros(len(data.y))
        scores[row] = 1e39  # more than float32 holds
        try:
            objective(0, scores, matrix(data))
        except ValueError as error:
            messages[row] = str(error)
    assert 0 < len(messages) < len(data.group) / 2
    assert all(f"(document at row {row})" in text for row, text in messages.items())


def test_sample(data):
    objective = boostrank.Regression(query_fraction=0.25)
    samples = np.array([sample(objective, data, m) for m in range(1, 201)])
    # Of forty queries, 10 are drawn on average, with a standard deviation of 2.7.
    assert samples.sum(axis=1).mean() == pytest.approx(10, abs=4 * 2.7 / 200**0.5)
    assert samples.sum(axis=1).std() == pytest.approx(2.7, rel=0.2)
    assert len(np.unique(samples, axis=0)) > 190
    # Each query is drawn about as often: 50 times, standard deviation 6.1.
    assert np.abs(samples.sum(axis=0) - 50).max() < 4.5 * 6.1
    again = boostrank.Regression(query_fraction=0.25)
    assert np.array_equal(sample(again, data, 7), samples[6])
    other = sample(objective.replace(seed=1), data, 7)
    assert not np.array_equal(other, samples[6])
    # Continued training continues the draws.
    assert np.array_equal(sample(objective.replace(start_round=7), data, 1), samples[6])
    few = [sample(objective.replace(query_fraction=1e-6), data, m).sum() for m in range(1, 31)]
    assert min(few) == 1  # never none: LightGBM would stop there
    assert max(few) <= 10
    assert sample(objective.replace(query_fraction=1.0), data, 1).all()


@pytest.mark.parametrize("name", NAMES)
def test_training(host, data, name):
    """All rounds, compared with a function that leaves out the other queries by hand."""
    objective, rounds = make_objective(name, query_fraction=0.5, seed=3), count(1)

    def by_hand(scores, _):
        m = next(rounds)
        rows = sample(objective, data, m, scores)[data.qid]
        grad = np.zeros(len(rows), np.float32)
        hess = np.full(len(rows), HOST_HESSIAN_FLOOR, np.float32)
        own = of_rows(data, rows)
        grad[rows], hess[rows] = host_gradients(objective, scores[rows], own.y, own.group, m)
        return grad, hess

    assert trees(train(host, objective, data)) == trees(train(host, by_hand, data))
