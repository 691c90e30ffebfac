"""XGBoost's external memory: batches of whole queries give the model of data in memory."""

import numpy as np
import pytest
import xgboost as xgb
from training import XGBOOST, Batches, make_data, matrix, trees

import boostrank

ROUNDS = 5
KINDS = [xgb.DMatrix, xgb.ExtMemQuantileDMatrix]
OBJECTIVES = {
    "noise": boostrank.Blend(seed=3),
    "a schedule": boostrank.RegSHFSDCG(total_rounds=ROUNDS),
    "sampled queries": boostrank.LambdaRank(query_fraction=0.5, seed=3),
    "draws, fading": boostrank.Mix(
        boostrank.YetiRank(permutations=2),
        boostrank.QueryRMSE(),
        boostrank.Schedule("logistic", ROUNDS),
        perturb="gumbel",
    ),
}


class Weighted(Batches):
    """Batches of whole queries that bring a weight for each of their queries."""

    def __init__(self, d, cache, weights):
        super().__init__(d, cache)
        self.weights = weights

    def next(self, input_data):
        def with_weights(qid, **rest):
            input_data(qid=qid, weight=self.weights[np.unique(qid)], **rest)

        return super().next(with_weights)


def train(matrix, objective, rounds=ROUNDS, model=None, **params):
    return xgb.train({**XGBOOST, **params}, matrix, rounds, obj=objective, xgb_model=model)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_model_is_that_of_data_in_memory(kind, name, data, tmp_path):
    booster = train(kind(Batches(data, tmp_path / "cache")), OBJECTIVES[name])
    assert trees(booster) == trees(train(matrix(data), OBJECTIVES[name]))


def test_weights_of_queries_come_with_their_batches(kind, data, tmp_path):
    """XGBoost weighs the values that it cuts into bins, in batches in another way: one bin each."""
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(data.group))
    batches, objective = Weighted(data, tmp_path / "cache", weights), boostrank.Blend()
    whole = xgb.DMatrix(data.X, data.y, group=data.group, weight=weights)
    external = kind(batches, max_bin=1024) if kind is not xgb.DMatrix else kind(batches)
    expected = trees(train(whole, objective, max_bin=1024))
    assert expected != trees(train(matrix(data), objective, max_bin=1024))
    assert trees(train(external, objective, max_bin=1024)) == expected


def test_training_continues(kind, data, tmp_path):
    objective = OBJECTIVES["a schedule"]
    batches = kind(Batches(data, tmp_path / "cache"))
    booster = train(batches, objective, 3, train(batches, objective, 2))
    assert trees(booster) == trees(train(matrix(data), objective))


def test_a_query_cut_by_a_batch_becomes_two(kind, data, tmp_path):
    """A qid is not continued, and a DMatrix does not say what it was, so nobody can object.

    If this fails, change the pages distributed.md and hosts.md: cuts do no harm, or can be refused.
    """
    cut = kind(Batches(data, tmp_path / "cache", cut=True))
    sizes = np.diff(cut.get_uint_info("group_ptr"))
    assert len(sizes) == len(data.group) + 3
    objective = boostrank.LambdaRank()
    assert trees(train(cut, objective)) != trees(train(matrix(data), objective))
    with pytest.raises(xgb.core.XGBoostError, match="qid"):
        cut.get_uint_info("qid")


def test_an_error_names_the_row_of_the_whole_data(kind, tmp_path):
    """Batches lie behind each other, so rows are counted as in memory."""
    bad = make_data()
    bad.y[-1] = -1
    with pytest.raises(ValueError, match=f"got -1.0 at row {len(bad.y) - 1}"):
        train(kind(Batches(bad, tmp_path / "cache")), boostrank.LambdaRank())
