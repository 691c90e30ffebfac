"""Training on two and three workers, compared with the same training on one; partitions."""

import gc
import time
from contextlib import contextmanager
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
import xgboost.dask as dxgb
from distributed import Client, LocalCluster
from training import XGBOOST, matrix

import boostrank
from boostrank.dask import by_query, group_sizes
from boostrank.datasets import RankingData
from boostrank.hosts.undocumented import mean_over_lightgbm_workers

ROUNDS = 5
LIGHTGBM = {
    "n_estimators": ROUNDS, "num_leaves": 7, "min_child_samples": 1, "metric": "None",
    "verbosity": -1, "min_data_in_bin": 1,
}  # fmt: skip
PARAMS = {
    "shf-sdcg": {},
    "reg-shf-sdcg": {"total_rounds": ROUNDS, "alpha": 1.0},
    "lambdarank": {"query_fraction": 0.5},
    "xe-ndcg": {},
    "yetirank": {},
}


@pytest.fixture(params=PARAMS)
def objective(request):
    return boostrank.objective(request.param, **PARAMS[request.param])


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    """Each feature has few values, so that all workers know the same bins as one worker alone.

    Dask may put a partition on another worker than it was told. One was left with 158 documents.
    """
    rng = np.random.default_rng(4)
    group = rng.integers(1, 25, 60)
    X = np.clip(np.round(rng.normal(size=(group.sum(), 6)) * 4), -4, 4) / 4
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))), 0, 4)
    y[: group[:30].sum()] = np.minimum(y[: group[:30].sum()], 1)  # the workers' Hessians differ
    return RankingData(X, y, np.repeat(np.arange(len(group)), group))


def on_workers(client, array, sizes, workers=None):
    """Partition an array: the first half of the partitions on one worker, the rest on another."""
    workers = workers or sorted(client.nthreads())
    parts = []
    for number, part in enumerate(np.split(array, np.cumsum(sizes)[:-1])):
        worker = workers[number * len(workers) // len(sizes)]
        future = client.scatter(part, workers=[worker], hash=False)
        parts.append(da.from_delayed(dask.delayed(future), part.shape, part.dtype))
    return da.concatenate(parts)


def documents(group, queries):
    """Return the sizes, in documents, of partitions with these numbers of queries."""
    return [part.sum() for part in np.split(group, np.cumsum(queries)[:-1])]


def partitioned(client, data, queries=(15, 15, 10, 20)):
    sizes = documents(data.group, queries)
    return [on_workers(client, array, sizes) for array in (data.X, data.y, data.qid)]


def dask_lightgbm(client, objective, X, y, qid, **kwargs):
    ranker = lgb.DaskLGBMRanker(client=client, objective=objective, **LIGHTGBM)
    ranker.fit(X, y, group=group_sizes(qid), **kwargs)
    return ranker.booster_


def dask_xgboost(client, objective, X, y, qid, **kwargs):
    matrix = dxgb.DaskDMatrix(client, X, y, qid=qid, **kwargs)
    return dxgb.train(client, XGBOOST, matrix, ROUNDS, obj=objective)["booster"]


def lightgbm(objective, data, **kwargs):
    ranker = lgb.LGBMRanker(objective=objective, n_jobs=1, **LIGHTGBM)
    return ranker.fit(data.X, data.y, group=data.group, **kwargs).booster_


def xgboost(objective, data, **kwargs):
    return xgb.train(XGBOOST, matrix(data, **kwargs), ROUNDS, obj=objective)


def difference(first, second, X):
    """Return the largest difference of two models' predictions, relative to the largest one."""
    if isinstance(first, xgb.Booster):
        X = xgb.DMatrix(X)
    first, second = first.predict(X), second.predict(X)
    assert np.ptp(first) > 0.1
    return np.abs(first - second).max() / np.abs(second).max()


#: Each host's training on several workers, and on one.
TRAIN = {"lightgbm": (dask_lightgbm, lightgbm), "xgboost": (dask_xgboost, xgboost)}


def test_two_workers_train_as_one(client, data, host, objective):
    """Hessians must be equal: on several workers LightGBM counts documents by their Hessians."""
    if host == "lightgbm":
        objective = objective.replace(hessian="constant", query_fraction=1.0)
    on_two, on_one = TRAIN[host]
    booster = on_two(client, objective, *partitioned(client, data))
    assert difference(booster, on_one(objective, data), data.X) < 1e-6


def test_lightgbm_counts_documents_by_their_hessians(client, data):
    """Its own objective, too, learns another model on two workers if leaves have a minimum size.

    If this fails, LightGBM counts documents, and the test above need not set Hessians.
    """
    params = {**LIGHTGBM, "min_child_samples": 10}
    X, y, qid = partitioned(client, data)
    ranker = lgb.DaskLGBMRanker(client=client, **params).fit(X, y, group=group_sizes(qid))
    expected = lgb.LGBMRanker(n_jobs=1, **params).fit(data.X, data.y, group=data.group)
    assert difference(ranker.booster_, expected.booster_, data.X) > 1e-2


@pytest.fixture
def three_workers(client):
    """Add one for a while: another cluster, of three, would load the hosts three times."""
    client.cluster.scale(3)
    client.wait_for_workers(3)
    yield client
    client.cluster.scale(2)
    while len(client.nthreads()) > 2:
        time.sleep(0.05)


def test_three_workers(three_workers, data):
    objective = boostrank.Blend(hessian="constant")
    parts = partitioned(three_workers, data, (10, 10, 10, 10, 10, 10))
    for on_three, on_one in TRAIN.values():
        booster = on_three(three_workers, objective, *parts)
        assert difference(booster, on_one(objective, data), data.X) < 1e-6


def test_weights_of_documents_and_an_object_used_again(client, data):
    objective = boostrank.objective("reg-shf-sdcg", **PARAMS["reg-shf-sdcg"])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(data.y))
    parts = partitioned(client, data)
    expected = lightgbm(objective, data, sample_weight=weight)
    weight = on_workers(client, weight, parts[1].chunks[0])
    for _ in range(2):
        booster = dask_lightgbm(client, objective, *parts, sample_weight=weight)
        assert difference(booster, expected, data.X) < 1e-6
    expected = xgboost(objective, data)
    for _ in range(2):
        assert difference(dask_xgboost(client, objective, *parts), expected, data.X) < 1e-6


def test_xgboost_worker_without_documents(client, data):
    """A worker that has only validation data calls the objective with nothing."""
    matrices = []
    for worker in sorted(client.nthreads()):
        X, y, qid = (
            on_workers(client, array, [len(array)], [worker])
            for array in (data.X, data.y, data.qid)
        )
        matrices.append(dxgb.DaskDMatrix(client, X, y, qid=qid))
    train, validation = matrices
    objective = boostrank.SHFSDCG()
    booster = dxgb.train(
        client, XGBOOST, train, ROUNDS, obj=objective, evals=[(validation, "validation")]
    )["booster"]
    assert difference(booster, xgboost(objective, data), data.X) < 1e-6


@contextmanager
def refused(client, message):
    """Training is refused, and no worker waits for the one that failed."""
    with pytest.raises(ValueError, match=message) as caught:
        yield caught
    give_up = time.monotonic() + 20
    while any(client.processing().values()):
        assert time.monotonic() < give_up, "a worker still waits for the one that failed"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def clicks(data):
    """The same documents, clicked where they are good and shown near the top; their positions."""
    rng = np.random.default_rng(5)
    position = np.concatenate([rng.permutation(size) + 1 for size in data.group])
    y = rng.random(len(data.X)) < 1 / (1 + np.exp(-2 * data.X[:, 0])) / position
    return replace(data, y=y), position


def on_clicks(client, clicks, objective):
    data, position = clicks
    parts = partitioned(client, data)
    shown = on_workers(client, position, parts[1].chunks[0])
    return dask_xgboost(client, objective, *parts, label_lower_bound=shown)


UNBIASED = {
    "additive": boostrank.Unbiased(boostrank.Blend(), last=5),
    "pairwise": boostrank.Unbiased(boostrank.RankNet(), propensity="pairwise", last=5),
    "given": boostrank.Unbiased(boostrank.Blend(), propensity=(1.0, 0.5, 0.3, 0.2), last=4),
}


@pytest.mark.parametrize("form", UNBIASED)
def test_xgboost_learns_from_clicks_as_on_one_worker(client, clicks, form):
    data, position = clicks
    expected = xgboost(UNBIASED[form], data, label_lower_bound=position)
    booster = on_clicks(client, clicks, UNBIASED[form])
    assert difference(booster, expected, data.X) < 1e-6
    if form != "given":
        factors = boostrank.position_bias(expected).factors
        assert np.abs(factors[0] - factors[0, 0]).max() > 0.1
        # The update adds its EPS to means over the workers, not to their sums.
        np.testing.assert_allclose(boostrank.position_bias(booster).factors, factors, rtol=1e-4)


def test_clicks_on_several_workers_need_last_and_positions(client, clicks):
    objective = boostrank.Unbiased(boostrank.Blend())
    with refused(client, "^last is missing: the workers of a distributed"):
        on_clicks(client, clicks, objective)
    with refused(client, "^position is missing"):
        dask_lightgbm(client, objective.replace(last=5), *partitioned(client, clicks[0]))


def test_an_error_in_a_worker_reaches_the_driver_and_frees_the_workers(client, data, host):
    """The remains of a failed training must not take down the network of LightGBM's next one."""
    objective, (on_two, on_one) = boostrank.SHFSDCG(perturb=None), TRAIN[host]
    parts = partitioned(client, data)
    again = {"callbacks": [lambda _: gc.collect()]} if host == "lightgbm" else {}
    for row in (0, -1):  # each worker fails once
        bad = data.y.copy()
        bad[row] = 2000
        with refused(client, "labels must be relevance grades.* got 2000.0 at row") as caught:
            on_two(client, objective, *partitioned(client, replace(data, y=bad)))
        assert "documents of one worker" in caught.value.__notes__[0]
        gc.collect()
        booster = on_two(client, objective, *parts, **again)
        assert difference(booster, on_one(objective, data), data.X) < 1e-6


def test_preferences_several_labels_and_positions_are_refused(client, clicks, host):
    """A worker would mistake the pairs, labels and positions for those of its own rows."""
    data, position = clicks
    unbiased = boostrank.Unbiased(boostrank.Blend(), last=5, position=position)
    pairs = boostrank.Preferences("ranknet", [(0, 1)])
    several = boostrank.Several(
        {"first": boostrank.RankNet(), "second": boostrank.RankNet()},
        labels={"second": data.y}, weights={"first": 0.5, "second": 0.5},
    )  # fmt: skip
    for whole, name in (
        (pairs, "Preferences"),
        (boostrank.Mix(boostrank.QueryRMSE(), pairs, 0.5), "Preferences"),
        (several, "Several"),
        (unbiased, r"Unbiased\(position=\.\.\.\)"),
    ):
        with refused(client, f"^{name} does not train on several workers"):
            TRAIN[host][0](client, whole, *partitioned(client, data))


def test_gradient_that_is_not_finite_stops_all_workers(client, data, host):
    """This is found only once the workers have agreed on the scale."""
    parts = partitioned(client, replace(data, y=np.append(data.y[:-1], 1000)))
    with refused(client, r"not finite in query \d+"):
        TRAIN[host][0](client, boostrank.Regression(target="gain"), *parts)


def test_a_query_that_is_cut_is_two_queries_to_a_host(client, data, host):
    objective = boostrank.SHFSDCG(perturb=None)
    sizes = documents(data.group, (30, 30))
    sizes = [sizes[0] - 3, sizes[1] + 3]  # the last documents of query 29 on the other worker
    assert data.group[29] > 3
    X, y, qid = (on_workers(client, array, sizes) for array in (data.X, data.y, data.qid))
    pieces = replace(data, qid=data.qid + (np.arange(len(data.qid)) >= sizes[0]))
    train = TRAIN[host][1]
    if host == "lightgbm":
        ranker = lgb.DaskLGBMRanker(client=client, objective=objective, **LIGHTGBM)
        cut = ranker.fit(X, y, group=da.from_array(pieces.group, chunks=((30, 31),))).booster_
    else:
        cut = dask_xgboost(client, objective, X, y, qid)
    assert difference(cut, train(objective, pieces), data.X) < 1e-6
    assert difference(cut, train(objective, data), data.X) > 1e-3


def test_repartitioned_by_query(client, data, host):
    """Rows in any order, in partitions that split queries, give the model of whole queries."""
    features = [f"x{i}" for i in range(data.X.shape[1])]
    rows = pd.DataFrame(data.X, columns=features).assign(label=data.y, qid=data.qid)
    order = np.random.default_rng(0).permutation(len(rows))
    frame = by_query(dd.from_pandas(rows.iloc[order], npartitions=3, sort=False), "qid").persist()
    objective = boostrank.SHFSDCG(perturb=None)
    on_two, on_one = TRAIN[host]
    booster = on_two(client, objective, frame[features], frame["label"], frame["qid"])
    X = data.X if host == "lightgbm" else pd.DataFrame(data.X, columns=features)
    assert difference(booster, on_one(objective, data), X) < 1e-6


@pytest.mark.parametrize("ids", ["numbers", "words", "categories", "one query", "unequal"])
def test_by_query(client, ids, rng):
    ids = {
        "numbers": rng.integers(-20, 20, 300),
        "words": rng.choice(list("abcdefgh"), 300),
        "categories": pd.Categorical(rng.choice(list("abc"), 300), list("bca")),
        "one query": np.zeros(300, int),
        "unequal": np.r_[7, np.full(299, 3)],
    }[ids]
    rows = pd.DataFrame({"id": ids, "row": np.arange(300)})
    frame = by_query(dd.from_pandas(rows, npartitions=6), "id").persist()
    parts = [part.compute() for part in frame.partitions]
    sizes = group_sizes(frame["id"])
    assert sizes.compute().sum() == 300
    assert sizes.chunks == (tuple(part["id"].nunique() for part in parts),)
    assert 1 <= len(parts) <= 6
    assert min(map(len, parts)) > 0
    for part in parts:
        assert part.equals(part.sort_values(["id", "row"], ignore_index=True))
    back = pd.concat(parts).sort_values("row", ignore_index=True)
    assert (back == rows).all(axis=None)
    assert back.dtypes["row"] == rows.dtypes["row"]


def test_by_query_of_a_frame_that_is_indexed_by_the_query(client, rng):
    """Dask takes an index of that name for one that is set already, whatever is in it."""
    rows = pd.DataFrame({"qid": rng.integers(0, 9, 90)}).set_index("qid", drop=False)
    frame = by_query(dd.from_pandas(rows, npartitions=3, sort=False), "qid")
    assert len(group_sizes(frame["qid"]).compute()) == 9


def test_by_query_shares_documents_out_evenly(client):
    rows = pd.DataFrame({"qid": np.repeat(np.arange(100), 10)})
    frame = by_query(dd.from_pandas(rows, npartitions=4), "qid")
    assert frame.map_partitions(len).compute().tolist() == [250] * 4


def test_by_query_refuses(client):
    frame = dd.from_pandas(pd.DataFrame({"qid": [1.0, np.nan, 2.0]}), npartitions=1)
    with pytest.raises(ValueError, match="qid must name a column of the frame, got 'query'"):
        by_query(frame, "query")
    with pytest.raises(ValueError, match="missing in 1 rows"):
        by_query(frame, "qid")
    with pytest.raises(ValueError, match="frame must have at least one row"):
        by_query(frame[frame["qid"] > 9], "qid")
    with pytest.raises(ValueError, match="missing in 1 rows"):
        group_sizes(frame["qid"])


def test_group_sizes(client):
    qid = da.from_array(np.array([4, 4, 1, 9, 9, 9]), chunks=((3, 0, 3),))
    sizes = group_sizes(qid)
    assert sizes.chunks == ((2, 0, 1),)
    assert sizes.compute().tolist() == [2, 1, 3]
    with pytest.raises(ValueError, match="query 4 is not consecutive in partition 0"):
        group_sizes(da.from_array(np.array([4, 1, 4]), chunks=3))
    with pytest.raises(ValueError, match=r"query 9 is cut: it is in partitions 0 and 2\. .*by_q"):
        group_sizes(da.from_array(np.array([9, 1, 9]), chunks=1))


def test_lightgbm_shares_float64():
    numbers = np.array([np.pi, -1e-14 / 3, 1e38 / 3, 0.0, 123456789.123456789])
    shared = [mean_over_lightgbm_workers(number, threads=1) for number in numbers]
    np.testing.assert_allclose(shared, numbers, rtol=1e-15)
