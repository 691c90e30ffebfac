"""Labels and weights of unusual sizes, with which a host would train another model in silence."""

import numpy as np
import pytest
from test_estimators import HOSTS, make_ranker

import boostrank
from boostrank.datasets import RankingData, make_ranking
from boostrank.hosts.data import check_kept
from boostrank.lab.lightgbm_model import LightGBMModel
from boostrank.lab.settings import Settings


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, 12, n_features=5, seed=1)


@pytest.mark.parametrize("unit", [1e-30, 1e-5, 3.0, 1e30])
def test_the_unit_of_weights_changes_nothing(host, unit, data):
    n = len(data.y) if host == "lightgbm" else len(data.group)
    weight = np.random.default_rng(0).integers(0, 3, n) / 2
    want, got = (
        make_ranker(host).fit(data.X, data.y, qid=data.qid, sample_weight=w).predict(data.X)
        for w in (weight, unit * weight)
    )
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_labels_that_the_hosts_would_round_are_refused(data):
    stamps = 1_700_000_000.0 + data.y
    for labels, message in ((stamps, "between 170000000"), (data.y * 1e300, "finite as float32")):
        for host in HOSTS:
            with pytest.raises(ValueError, match=message):
                make_ranker(host, "spearman").fit(data.X, labels, qid=data.qid)
        with pytest.raises(ValueError, match=message):
            LightGBMModel.train(
                boostrank.Spearman(), RankingData(data.X, labels, data.qid), Settings(rounds=2)
            )


def test_labels_that_keep_nearly_all_differences_are_taken():
    rng = np.random.default_rng(0)
    check_kept(rng.random(100_000), np.array([100_000]))  # some are equal as float32
    check_kept(rng.normal(size=4000) * 1e-3 + 30.0, np.full(80, 50))


@pytest.mark.parametrize(
    ("unit", "size"), [(1e-5, "small"), (1e-38, "small"), (1e19, "large"), (1e37, "large")]
)
def test_labels_too_small_or_large_for_xgboosts_splits(data, unit, size):
    with pytest.warns(match=f"gradients of query-rmse are so {size} that XGBoost") as caught:
        make_ranker("xgboost", "query-rmse").fit(data.X, data.y * unit, qid=data.qid)
    assert len(caught) == 1  # and NumPy's of nothing


def test_a_metric_smaller_than_xgboosts_decimals(data):
    small, dcg = data.y * 1e-7, boostrank.metric("dcg@10", gain="linear")
    model = make_ranker("xgboost", "spearman", early_stopping_rounds=3, eval_metric=dcg)
    with pytest.warns(match="XGBoost keeps only six decimals"):
        model.fit(data.X, small, qid=data.qid, eval_set=[(data.X, small)], eval_qid=[data.qid])


def test_an_evaluation_set_that_says_nothing(host, data):
    model = make_ranker(host, early_stopping_rounds=3)
    for label, why in (0.0, "is not defined for an"), (1.0, "is the same for every order of an"):
        evaluated = {"eval_set": [(data.X, 0.0 * data.y + label)], "eval_qid": [data.qid]}
        with pytest.warns(UserWarning, match=f"{why}.*Early stopping would keep the first tree"):
            model.fit(data.X, data.y, qid=data.qid, **evaluated)
