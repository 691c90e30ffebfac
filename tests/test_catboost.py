"""Objectives that CatBoost has too: its leaf values are Newton steps of ours."""

import catboost
import numpy as np
import pytest

import boostrank

GROUP = np.array([5, 7, 3, 9, 12])


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
    query = np.repeat(np.arange(len(GROUP)), GROUP)
    pool = catboost.Pool(feature[:, None], labels, group_id=query, baseline=scores)
    model = catboost.CatBoost(
        {
            "loss_function": theirs,
            "iterations": 1,
            "depth": 1,
            "learning_rate": 1.0,
            "l2_leaf_reg": 1e-12,
            "leaf_estimation_method": "Newton",
            "leaf_estimation_iterations": 1,
            "bootstrap_type": "No",
            "boost_from_average": False,
            "random_strength": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    values = model.fit(pool).predict(catboost.Pool(feature[:, None], group_id=query))
    weight = np.bincount(query, labels) if summed else None
    grad, hess = ours.grad_hess(scores, labels, GROUP, weight=weight)
    for side in (0, 1):
        rows = feature == side
        step = -grad[rows].sum() / hess[rows].sum()
        np.testing.assert_allclose(values[rows], step, rtol=1e-5, atol=1e-7)
