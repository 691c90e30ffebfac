"""Ray Train: `xgboost.train(obj=objective)` in two workers, compared with plain training."""

import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from training import XGBOOST, few_values

import boostrank

ray = pytest.importorskip("ray", reason='needs Ray Train: pip install "ray[train]"')
pytest.importorskip("ray.train.xgboost", reason='needs Ray Train: pip install "ray[train]"')

ROUNDS = 6
FEATURES = [f"x{i}" for i in range(6)]
OBJECTIVES = {
    "noise": boostrank.Blend(),
    "schedule": boostrank.RegSHFSDCG(total_rounds=ROUNDS),
    "draws": boostrank.YetiRank(permutations=2),
    "sampled queries": boostrank.LambdaRank(query_fraction=0.5),
}
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    # The workers cannot import this file.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(num_cpus=4, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield str(tmp_path_factory.mktemp("ray"))
    ray.shutdown()


@pytest.fixture(scope="module")
def rows():
    return few_values(FEATURES)


def run(cluster, train_func, config, **datasets):
    from ray.train import RunConfig, ScalingConfig
    from ray.train.xgboost import XGBoostTrainer

    return XGBoostTrainer(
        train_func,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=cluster),
        datasets=datasets,
    ).fit()


def train_func(config):
    """Each worker reads its own queries, whole and in ascending order."""
    context = ray.train.get_context()
    rows = pd.read_parquet(config["rows"])
    mine = rows[rows["qid"] % context.get_world_size() == context.get_world_rank()]
    matrix = xgb.DMatrix(mine[config["features"]], mine["label"], qid=mine["qid"])
    for name, objective in config["objectives"].items():
        booster = xgb.train(config["params"], matrix, config["rounds"], obj=objective)
        booster.save_model(f"{config['models']}/{name} {context.get_world_rank()}.json")


def shares(config):
    """Write which queries each worker got from Ray Data."""
    shard = ray.train.get_dataset_shard("train").materialize().to_pandas()
    name = f"{config['models']}/shard {ray.train.get_context().get_world_rank()}.parquet"
    shard[["qid"]].to_parquet(name)


def trained(cluster, rows, objectives, folder):
    rows.to_parquet(folder / "rows.parquet")
    config = {
        "rows": str(folder / "rows.parquet"), "models": str(folder), "features": FEATURES,
        "objectives": objectives, "params": XGBOOST, "rounds": ROUNDS,
    }  # fmt: skip
    run(cluster, train_func, config)


def test_every_worker_has_the_model_of_one(cluster, rows, tmp_path):
    trained(cluster, rows, OBJECTIVES, tmp_path)
    matrix = xgb.DMatrix(rows[FEATURES], rows["label"], qid=rows["qid"])
    for name, objective in OBJECTIVES.items():
        expected = xgb.train(XGBOOST, matrix, ROUNDS, obj=objective).predict(matrix)
        assert np.ptp(expected) > 0.1
        for rank in (0, 1):
            booster = xgb.Booster(model_file=tmp_path / f"{name} {rank}.json")
            np.testing.assert_allclose(booster.predict(matrix), expected, rtol=1e-5, atol=1e-6)


def test_shards_of_ray_data_cut_queries(cluster, rows, tmp_path):
    """The page says so. If this fails, it may use `get_dataset_shard`."""
    run(cluster, shares, {"models": str(tmp_path)}, train=ray.data.from_pandas(rows))
    first, second = (set(pd.read_parquet(tmp_path / f"shard {i}.parquet")["qid"]) for i in (0, 1))
    assert first | second == set(rows["qid"])
    assert first & second


def test_an_error_in_a_worker_reaches_the_driver(cluster, rows, tmp_path):
    bad = rows.assign(label=rows["label"].where(rows.index < len(rows) - 1, -1.0))
    with pytest.raises(Exception, match="labels must be relevance grades"):
        trained(cluster, bad, {"bad": boostrank.SHFSDCG()}, tmp_path)
