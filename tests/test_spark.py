"""Spark: `SparkXGBRanker(obj=objective)` on one and two workers, compared with plain training."""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import boostrank

pytest.importorskip("pyspark", reason='needs pyspark: pip install "boostrank[spark]"')
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import SparkSession
from xgboost.spark import SparkXGBRanker

ROUNDS = 6
PARAMS = {"objective": "rank:pairwise", "base_score": 0.0, "max_depth": 3}
FEATURES = [f"x{i}" for i in range(6)]
# Spark and XGBoost for it call what pandas and pyspark have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]").appName("boostrank")
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def rows():
    """Few values of each feature: both workers then know all bins that one worker has."""
    rng = np.random.default_rng(4)
    group = rng.integers(1, 25, 60)
    X = np.clip(np.round(rng.normal(size=(group.sum(), 6)) * 4), -8, 8) / 4
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))), 0, 4)
    qid = np.repeat(np.arange(len(group)), group)
    return pd.DataFrame(X, columns=FEATURES).assign(label=y, qid=qid)


def fit(objective, workers, frame, **params):
    ranker = SparkXGBRanker(
        features_col=FEATURES, label_col="label", qid_col="qid", num_workers=workers,
        n_estimators=ROUNDS, obj=objective, **PARAMS, **params,
    )  # fmt: skip
    return ranker.fit(frame)


def scores(booster, rows):
    return booster.predict(xgb.DMatrix(rows[FEATURES].to_numpy()), validate_features=False)


def expected(objective, rows):
    matrix = xgb.DMatrix(rows[FEATURES].to_numpy(), rows["label"], qid=rows["qid"])
    return scores(xgb.train({**PARAMS, "nthread": 1}, matrix, ROUNDS, obj=objective), rows)


@pytest.mark.parametrize("workers", [1, 2])
def test_it_trains_as_without_spark(spark, rows, workers):
    """Noise and a schedule; queries lie in any order, in partitions that cut them."""
    parts = boostrank.Blend(), boostrank.YetiRank(permutations=2)
    fade = boostrank.Schedule("logistic", ROUNDS)
    objective = boostrank.Mix(*parts, fade, perturb="gumbel")
    shuffled = rows.assign(place=(rows["qid"] * 7) % 60).sort_values("place", kind="stable")
    frame = spark.createDataFrame(shuffled.drop(columns="place"))
    model = fit(objective, workers, frame, force_repartition=True)
    want = expected(objective, rows)
    assert np.ptp(want) > 0.1
    np.testing.assert_array_equal(scores(model.get_booster(), rows), want)
    predicted = model.transform(frame).toPandas()["prediction"]
    np.testing.assert_allclose(np.sort(predicted), np.sort(want), rtol=1e-6)


def test_without_repartitioning_queries_are_cut(spark, rows):
    """Spark's XGBoost leaves a frame of as many partitions as workers as it is."""
    objective = boostrank.LambdaRank()
    frame = spark.createDataFrame(rows)
    assert frame.rdd.getNumPartitions() == 2
    cut = scores(fit(objective, 2, frame).get_booster(), rows)
    assert np.abs(cut - expected(objective, rows)).max() > 1e-2


def test_an_error_in_one_worker_reaches_the_driver(spark, rows):
    bad = rows.copy()
    bad.loc[bad.index[-1], "label"] = 2000.0
    with pytest.raises(Exception, match=r"labels must be relevance grades.* got 2000.0 at row"):
        fit(boostrank.LambdaRank(), 2, spark.createDataFrame(bad))
