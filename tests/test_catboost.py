"""Objectives that CatBoost has too: its leaf values are Newton steps of ours."""

import catboost
import catboost.utils
import numpy as np
import pytest
from test_preferences import drawn

import boostrank

GROUP = np.array([5, 7, 3, 9, 12])


def leaves(loss, feature, **pool):
    """Return each document's leaf value after one Newton step on a feature with two values."""
    query = np.repeat(np.arange(len(GROUP)), GROUP)
    params = {
        "loss_function": loss, "iterations": 1, "depth": 1, "learning_rate": 1.0,
        "l2_leaf_reg": 1e-12, "leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1,
        "bootstrap_type": "No", "boost_from_average": False, "random_strength": 0,
        "verbose": False, "allow_writing_files": False,
    }  # fmt: skip
    model = catboost.CatBoost(params)
    model.fit(catboost.Pool(feature[:, None], group_id=query, **pool))
    return model.predict(catboost.Pool(feature[:, None], group_id=query))


def newton(feature, grad, hess):
    return (-np.bincount(feature, grad) / np.bincount(feature, hess))[feature]


@pytest.mark.parametrize(
    ("theirs", "ours", "summed"),
    [
        ("QueryRMSE", boostrank.QueryRMSE(), False),
        ("QuerySoftMax:lambda=0", boostrank.QuerySoftMax(), True),
        ("QuerySoftMax:lambda=0;beta=2", boostrank.QuerySoftMax(beta=2.0), True),
    ],
)
def test_leaves_are_catboosts(theirs, ours, summed, rng):
    """`summed`: CatBoost multiplies a query's loss by the sum of its labels."""
    n = GROUP.sum()
    feature, labels, scores = rng.integers(0, 2, n), rng.integers(0, 4, n), rng.normal(size=n)
    values = leaves(theirs, feature, label=labels, baseline=scores)
    weight = np.add.reduceat(labels, np.cumsum(GROUP) - GROUP) if summed else None
    steps = newton(feature, *ours.grad_hess(scores, labels, GROUP, weight=weight))
    np.testing.assert_allclose(values, steps, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_those_of_catboosts_pairlogit(weighted, rng):
    """For the same pairs, weights and scores."""
    n = GROUP.sum()
    feature, scores = rng.integers(0, 2, n), rng.normal(size=n)
    pairs = np.unique(drawn(rng, GROUP)[:, :2].astype(int), axis=0)
    weight = rng.uniform(0.5, 2.0, len(pairs)) if weighted else np.ones(len(pairs))
    values = leaves(
        "PairLogit", feature, label=np.zeros(n), baseline=scores, pairs=pairs, pairs_weight=weight
    )
    objective = boostrank.Preferences("ranknet", np.column_stack([pairs, weight]))
    steps = newton(feature, *objective.grad_hess(scores, np.zeros(n), GROUP))
    # The loss ignores a shift. CatBoost takes the one that makes the steps add up to 0.
    np.testing.assert_allclose(values, steps - steps.mean(), rtol=1e-5, atol=1e-7)


RULES = {
    "NDCG": ("ndcg", "lightgbm", "linear"),
    "NDCG:top=3": ("ndcg@3", "lightgbm", "linear"),
    "NDCG:top=3;type=Exp": ("ndcg@3", "lightgbm", None),
    "NDCG:denominator=Position": ("ndcg", "standard", "linear"),
    "DCG:top=3": ("dcg@3", "lightgbm", "linear"),
    "MAP": ("map", "sklearn", None),
    "MAP:top=3": ("map@3", "sklearn", None),
    "MRR": ("mrr", "sklearn", None),
    "PrecisionAt:top=4": ("precision@4", "xgboost", None),
    "RecallAt:top=4": ("recall@4", "lightgbm", None),
}


@pytest.mark.parametrize("theirs", RULES)
def test_the_page_names_the_rules_of_its_metrics(theirs, rng):
    """docs/coming_from.md. One query is short, and one has no relevant documents."""
    name, convention, gain = RULES[theirs]
    position = {"discount": "reciprocal"} if "Position" in theirs else {}
    labels, scores = rng.integers(0, 4, GROUP.sum()), rng.normal(size=GROUP.sum())
    labels[: GROUP[0]] = 0 if not position else labels[: GROUP[0]]  # left out by "standard"
    query = np.repeat(np.arange(len(GROUP)), GROUP)
    expected = catboost.utils.eval_metric(labels, scores, theirs, group_id=query)[0]
    ours = boostrank.evaluate(
        scores, labels, GROUP, [name], convention=convention, gain=gain, **position
    )
    np.testing.assert_allclose(ours[name], expected, rtol=1e-6)


def test_equal_scores_put_the_worse_document_first():
    for labels in ([1, 0, 0], [0, 1, 0]):
        value = catboost.utils.eval_metric(labels, [0.5, 0.5, 0.1], "NDCG", group_id=[0, 0, 0])
        np.testing.assert_allclose(value, 1 / np.log2(3))


def test_defaults_that_the_page_names(rng):
    X, labels, query = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(range(6), 10)
    quiet = {"iterations": 3, "verbose": False, "allow_writing_files": False, "thread_count": 1}

    def fit(loss):
        ranker = catboost.CatBoostRanker(loss_function=loss, random_seed=1, **quiet)
        return ranker.fit(X, labels, group_id=query)

    plain, classic = fit("YetiRank"), "YetiRank:mode=Classic;permutations=10;decay=0.85"
    np.testing.assert_array_equal(plain.predict(X), fit(classic + ";noise=Gumbel").predict(X))
    ndcg, base = fit("YetiRank:mode=NDCG"), fit("YetiRank:mode=NDCG;dcg_type=Base")
    np.testing.assert_array_equal(ndcg.predict(X), base.predict(X))
    assert plain.get_all_params()["l2_leaf_reg"] < 1e-9
    assert fit("QueryRMSE").get_all_params()["l2_leaf_reg"] == 3
    with pytest.raises(catboost.CatBoostError, match="should be grouped"):
        catboost.Pool(X[:4], labels[:4], group_id=[0, 1, 0, 1])
    with pytest.raises(catboost.CatBoostError, match="groupWeight"):
        catboost.Pool(X[:2], labels[:2], group_id=[0, 0], group_weight=[0.5, 1.0])
