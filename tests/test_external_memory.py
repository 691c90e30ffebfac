"""XGBoost's external memory: batches of whole queries give the model of data in memory."""

import numpy as np
import pytest
import xgboost as xgb
from training import ROUNDS, Batches, make_data, matrix, train, trees

import boostrank

KINDS = [xgb.DMatrix, xgb.ExtMemQuantileDMatrix]
OBJECTIVES = {
    "sampled queries": boostrank.LambdaRank(query_fraction=0.5, seed=3),
    "noise and draws, fading": boostrank.Mix(
        boostrank.YetiRank(permutations=2),
        boostrank.QueryRMSE(),
        boostrank.Schedule("logistic", ROUNDS),
        perturb="gumbel",
    ),
}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_model_is_that_of_data_in_memory(kind, name, data, tmp_path):
    booster = train("xgboost", OBJECTIVES[name], kind(Batches(data, tmp_path / "cache")))
    assert trees(booster) == trees(train("xgboost", OBJECTIVES[name], data))


def test_weights_of_queries_come_with_their_batches(kind, data, tmp_path):
    """XGBoost weighs the values that it cuts into bins, in batches in another way: one bin each."""
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(data.group))
    batches, objective = Batches(data, tmp_path / "cache", weight=weights), boostrank.Blend()
    whole = matrix(data, weight=weights)
    external = kind(batches, max_bin=1024) if kind is not xgb.DMatrix else kind(batches)
    expected, plain, found = (
        trees(train("xgboost", objective, rows, params={"max_bin": 1024}))
        for rows in (whole, data, external)
    )
    assert expected != plain
    assert found == expected


def test_a_query_cut_by_a_batch_becomes_two(kind, data, tmp_path):
    """A qid is not continued, and a DMatrix does not say what it was, so nobody can object.

    If this fails, change the pages distributed.md and hosts.md: cuts do no harm, or can be refused.
    """
    cut = kind(Batches(data, tmp_path / "cache", cut=True))
    sizes = np.diff(cut.get_uint_info("group_ptr"))
    assert len(sizes) == len(data.group) + 3
    objective = boostrank.LambdaRank()
    assert trees(train("xgboost", objective, cut)) != trees(train("xgboost", objective, data))
    with pytest.raises(xgb.core.XGBoostError, match="qid"):
        cut.get_uint_info("qid")


def test_an_error_names_the_row_of_the_whole_data(kind, tmp_path):
    """Batches lie behind each other, so rows are counted as in memory."""
    bad = make_data()
    bad.y[-1] = -1
    with pytest.raises(ValueError, match=f"got -1.0 at row {len(bad.y) - 1}"):
        train("xgboost", boostrank.LambdaRank(), kind(Batches(bad, tmp_path / "cache")))
