"""Spark: `SparkXGBRanker(obj=objective)` on one to three workers, compared with plain training."""

import os
import shutil
import sys

import numpy as np
import pytest
import xgboost as xgb
from training import few_values

import boostrank

pytest.importorskip("pyspark", reason='needs pyspark: pip install ".[spark]"')
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import SparkSession
from xgboost.spark import SparkXGBRanker

ROUNDS = 6
PARAMS = {"objective": "rank:pairwise", "base_score": 0.0, "max_depth": 3}
FEATURES = [f"x{i}" for i in range(6)]
# Spark and its XGBoost call functions that pandas and pyspark have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[3]").appName("boostrank")
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
    return few_values(FEATURES)


def fit(objective, workers, frame, **params):
    ranker = SparkXGBRanker(
        features_col=FEATURES, label_col="label", qid_col="qid", num_workers=workers,
        n_estimators=ROUNDS, obj=objective, **PARAMS, **params,
    )  # fmt: skip
    return ranker.fit(frame)


def partitioned(spark, *parts):
    """Return a frame whose partitions are these frames."""
    values = [part.astype(object).to_numpy().tolist() for part in parts]
    lists = spark.sparkContext.parallelize(values, len(parts)).flatMap(lambda part: part)
    schema = ", ".join(f"{name} {'long' if name == 'qid' else 'double'}" for name in parts[0])
    frame = spark.createDataFrame(lists, schema=schema)
    assert sizes(frame) == [len(part) for part in parts]
    return frame


def sizes(frame):
    """Return the number of documents in each partition."""
    return frame.rdd.glom().map(len).collect()


def scores(booster, rows):
    return booster.predict(xgb.DMatrix(rows[FEATURES].to_numpy()), validate_features=False)


def expected(objective, rows):
    matrix = xgb.DMatrix(rows[FEATURES].to_numpy(), rows["label"], qid=rows["qid"])
    return scores(xgb.train({**PARAMS, "nthread": 1}, matrix, ROUNDS, obj=objective), rows)


def check_as_without_spark(objective, workers, frame, rows, **params):
    booster = fit(objective, workers, frame, **params).get_booster()
    np.testing.assert_array_equal(scores(booster, rows), expected(objective, rows))


@pytest.mark.parametrize("workers", [1, 2])
def test_it_trains_as_without_spark(spark, rows, workers):
    """Noise and a schedule; queries lie in any order, in partitions that split them."""
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
    """Spark's XGBoost does not repartition a frame with as many partitions as workers."""
    objective = boostrank.LambdaRank()
    frame = partitioned(spark, rows[:428], rows[428:])
    assert rows["qid"][427] == rows["qid"][428]
    cut = scores(fit(objective, 2, frame).get_booster(), rows)
    assert np.abs(cut - expected(objective, rows)).max() > 1e-2


def test_three_workers(spark, rows):
    frame = spark.createDataFrame(rows)
    check_as_without_spark(boostrank.Blend(), 3, frame, rows, force_repartition=True)


@pytest.mark.parametrize("empty", ["first", "last"])
def test_a_worker_without_documents(spark, rows, empty):
    parts = (rows[:0], rows) if empty == "first" else (rows, rows[:0])
    check_as_without_spark(boostrank.Blend(), 2, partitioned(spark, *parts), rows)


def test_more_workers_than_queries(spark, rows):
    few = rows[rows["qid"] < 2]
    frame = spark.createDataFrame(few)
    assert 0 in sizes(frame.repartitionByRange(3, "qid"))
    check_as_without_spark(boostrank.Blend(), 3, frame, few, force_repartition=True)


def test_an_error_in_one_worker_reaches_the_driver(spark, rows):
    """And the next training works as before."""
    bad = rows.copy()
    bad.loc[bad.index[-1], "label"] = 2000.0
    for first in (rows["qid"] < 30, rows["qid"] < 0):  # the other worker has good data, or none
        frame = partitioned(spark, bad[first], bad[~first])
        with pytest.raises(Exception, match=r"labels must be relevance grades.* got 2000.0 at row"):
            fit(boostrank.LambdaRank(), 2, frame)
    frame = spark.createDataFrame(rows)
    check_as_without_spark(boostrank.LambdaRank(), 2, frame, rows, force_repartition=True)


REFUSED = [
    (boostrank.Unbiased(boostrank.RankNet(), last=5), "position is missing"),
    (
        boostrank.Unbiased(boostrank.RankNet(), position=np.ones(856, int), last=5),
        r"Unbiased\(position=...\) does not train on several workers",
    ),
    (boostrank.Preferences("ranknet", [(0, 1)]), "Preferences does not train on several workers"),
    (
        boostrank.Several(
            {"first": boostrank.RankNet(), "second": boostrank.RankNet()},
            labels={"second": np.zeros(856)}, weights={"first": 0.5, "second": 0.5},
        ),
        "Several does not train on several workers",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "message"), REFUSED, ids=["Unbiased", "positions", "Preferences", "Several"]
)
def test_objectives_that_must_know_their_rows_are_refused(spark, rows, objective, message):
    clicks = rows.assign(label=(rows["label"] > 2).astype(float))
    for workers in (1, 2):  # Spark sorts the rows of one worker too
        with pytest.raises(Exception, match=message):
            fit(objective, workers, spark.createDataFrame(clicks), force_repartition=True)
