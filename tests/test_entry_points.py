"""Every way to train in the table of docs/usage.md, compared with plain reference training.

A way is a function that trains with the objective as a user would, and again by the loop of
`training`. Both must give the same trees, to the last bit.
"""

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pytest
import test_dask
import xgboost as xgb
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score
from test_estimators import booster, make_ranker
from training import (
    LIGHTGBM,
    MODEL,
    ROUNDS,
    START,
    XGBOOST,
    Batches,
    KeepBoosters,
    dataset,
    loop_lightgbm,
    loop_xgboost,
    make_objective,
    matrix,
    of_rows,
    predicted,
    train,
    trees,
)  # fmt: skip

import boostrank

PAGE = Path(__file__).resolve().parent.parent / "docs" / "usage.md"
NAMES = ("shf-sdcg", "reg-shf-sdcg", "lambdarank")
WAYS = {}


def way(host, title):
    """Register a function of (make, d, tmp_path) that yields pairs of boosters that must agree."""

    def register(function):
        WAYS[host, title] = function
        return function

    return register


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("host", "title"), WAYS)
def test_way_to_train(host, title, name, data, tmp_path):
    pairs = list(WAYS[host, title](partial(make_objective, name), data, tmp_path))
    assert pairs
    for found, expected in pairs:
        assert len(trees(expected)) > 1
        assert trees(found) == trees(expected)


train_lightgbm, train_xgboost = partial(train, "lightgbm"), partial(train, "xgboost")
lgbm_ranker = partial(make_ranker, "lightgbm", n_estimators=ROUNDS)
xgb_ranker = partial(make_ranker, "xgboost", n_estimators=ROUNDS)
quantile_matrix = partial(matrix, kind=xgb.QuantileDMatrix)


class Host(NamedTuple):
    name: str
    train: Callable
    loop: Callable
    data: Callable
    ranker: Callable
    of_ranker: Callable  # the data that it trains on


HOSTS = {
    "LightGBM": Host("lightgbm", train_lightgbm, loop_lightgbm, dataset, lgbm_ranker, dataset),
    "XGBoost": Host("xgboost", train_xgboost, loop_xgboost, matrix, xgb_ranker, quantile_matrix),
}


def way_on_both(title):
    """Register a function of (host, make, d, tmp_path) for each host."""

    def register(function):
        for name, host in HOSTS.items():
            way(name, title)(partial(function, host))
        return function

    return register


# --- LightGBM -------------------------------------------------------------------------------------


@way_on_both("`train`")
def _(host, make, d, tmp_path):
    yield host.train(make(), host.data(d)), host.loop(make(), host.data(d), d.y, d.group)


@way_on_both("one object and one data set, twice")
def _(host, make, d, tmp_path):
    objective, shared = make(), host.data(d)
    expected = host.loop(objective, host.data(d), d.y, d.group)
    for _ in range(3):
        yield host.train(objective, shared), expected


@way("LightGBM", "`Booster.update`")
def _(make, d, tmp_path):
    objective, booster = make(), lgb.Booster(LIGHTGBM, dataset(d))
    for _ in range(ROUNDS):
        booster.update(fobj=objective)
    yield booster, loop_lightgbm(objective, dataset(d), d.y, d.group)


@way("LightGBM", "`cv`")
def _(make, d, tmp_path):
    folds = boostrank.group_folds(d.group, 3, seed=0)
    got = lgb.cv(
        {**LIGHTGBM, "objective": make()}, dataset(d), ROUNDS, folds=folds, return_cvbooster=True
    )
    for found, (rows, _) in zip(got["cvbooster"].boosters, folds, strict=True):
        part, subset = of_rows(d, rows), dataset(d).construct().subset(rows)
        yield found, loop_lightgbm(make(), subset, part.y, part.group)


def other_grades(d):
    """Return grades on which a model of the true ones gets worse after some rounds."""
    noise = np.random.default_rng(3).normal(size=len(d.y))
    return np.clip(np.round(d.X[:, 0] + 2 * (d.X[:, 4] == 2) + noise), 0, 4)


@way("LightGBM", "early stopping")
def _(make, d, tmp_path):
    params, train = {"learning_rate": 0.3}, dataset(d)
    stop = {"callbacks": [lgb.early_stopping(8, verbose=False)]}
    stop["valid_sets"] = [train.create_valid(d.X, other_grades(d), group=d.group)]
    stop["feval"] = boostrank.metric("ndcg@10")
    booster = train_lightgbm(make(40), train, 40, params=params, **stop)
    n_rounds = booster.num_trees()
    assert n_rounds < 40
    yield booster, loop_lightgbm(make(40), dataset(d), d.y, d.group, params=params, rounds=n_rounds)


@way("LightGBM", "DART")
def _(make, d, tmp_path):
    params = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0, "uniform_drop": True}
    # In the first round LightGBM makes one draw more or fewer, depending on uninitialised memory.
    # Later draws agree between two trainings only if they are seeded again.
    reseed = lgb.reset_parameter(drop_seed=list(range(ROUNDS)))

    def seeded(booster, m):
        booster.reset_parameter({"drop_seed": m - 1})

    expected = loop_lightgbm(make(), dataset(d), d.y, d.group, params=params, each_round=seeded)
    yield train_lightgbm(make(), dataset(d), params=params, callbacks=[reseed]), expected


@way_on_both("continued training")
def _(host, make, d, tmp_path):
    objective = make(2 * ROUNDS)
    first = host.train(objective, host.data(d))
    expected = host.loop(objective, host.data(d), d.y, d.group, rounds=2 * ROUNDS)
    for again in (objective, objective.replace(start_round=ROUNDS + 1)):
        yield host.train(again, host.data(d), **{MODEL[host.name]: first}), expected


@way_on_both("pickled object")
def _(host, make, d, tmp_path):
    again = pickle.loads(pickle.dumps(make()))
    yield host.train(again, host.data(d)), host.loop(make(), host.data(d), d.y, d.group)


@way_on_both("three threads, one object")
def _(host, make, d, tmp_path):
    objective = make()
    expected = host.loop(objective, host.data(d), d.y, d.group)
    with ThreadPoolExecutor(3) as pool:
        for booster in pool.map(lambda _: host.train(objective, host.data(d)), range(3)):
            yield booster, expected


@way("LightGBM", "the host's ranker")
def _(make, d, tmp_path):
    ranker = lgb.LGBMRanker(**lgbm_ranker(make()).get_params())
    theirs = ranker.fit(d.X, d.y, group=d.group).booster_
    yield theirs, loop_lightgbm(make(), dataset(d), d.y, d.group)


@way_on_both("boostrank's ranker")
def _(host, make, d, tmp_path):
    expected = host.loop(make(), host.of_ranker(d), d.y, d.group)
    # n_estimators counts, whatever number of rounds the object has. A name needs no number.
    for objective in (make(99), make().name):
        yield booster(host.ranker(objective).fit(d.X, d.y, qid=d.qid)), expected


@way_on_both("boostrank's ranker, continued")
def _(host, make, d, tmp_path):
    objective, shared, path = make(2 * ROUNDS), host.of_ranker(d), tmp_path / "first.json"
    expected = host.loop(objective, host.of_ranker(d), d.y, d.group, rounds=2 * ROUNDS)
    first = host.train(objective, shared)
    first.save_model(path)
    for model in (first, path):
        ranker = host.ranker(make()).fit(d.X, d.y, group=d.group, **{MODEL[host.name]: model})
        yield booster(ranker), expected


@way_on_both("`GridSearchCV`, `cross_val_score`")
def _(host, make, d, tmp_path):
    """In two processes; every score that they report must be that of reference training."""
    ranker, folds = host.ranker(make()), boostrank.group_folds(d.group, 3)
    objectives = {"constant": ranker.objective.replace(hessian="constant")}
    objectives[ranker.objective.hessian] = ranker.objective
    grid = {"objective__hessian": list(objectives), "n_estimators": [ROUNDS]}
    with config_context(enable_metadata_routing=True):
        ranker.set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, grid, cv=folds, n_jobs=2).fit(d.X, d.y, qid=d.qid)
        scores = cross_val_score(ranker, d.X, d.y, cv=folds, n_jobs=2, params={"qid": d.qid})
    for fold, parts in enumerate(folds):
        train, test = (of_rows(d, rows) for rows in parts)
        for column, objective in enumerate(objectives.values()):
            model = host.loop(objective, host.of_ranker(train), train.y, train.group)
            expected = boostrank.evaluate(predicted(model, test.X), test.y, test.group)["ndcg@10"]
            assert search.cv_results_[f"split{fold}_test_score"][column] == expected
            if objective is ranker.objective:
                assert scores[fold] == expected
    best = search.best_estimator_
    objective = objectives[best.objective.hessian]
    yield booster(best), host.loop(objective, host.of_ranker(d), d.y, d.group)


@way_on_both("weights of documents")
def _(host, make, d, tmp_path):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(d.y)).astype(np.float32)
    expected = host.loop(make(), host.of_ranker(d), d.y, d.group, weight=weight)
    if host.data is dataset:  # a DMatrix holds weights of queries
        yield host.train(make(), dataset(d, weight=weight)), expected
    ranker = host.ranker(make()).fit(d.X, d.y, group=d.group, sample_weight=weight)
    yield booster(ranker), expected


@way_on_both("weights of queries")
def _(host, make, d, tmp_path):
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(d.group)).astype(np.float32)
    spread = np.repeat(weight, d.group)
    if host.data is matrix:  # whose histograms depend on them; a Dataset has weights of documents
        shared = host.of_ranker(d, weight=weight)
        yield host.train(make(), shared), host.loop(make(), shared, d.y, d.group, weight=spread)
    expected = host.loop(make(), host.of_ranker(d), d.y, d.group, weight=spread)
    ranker = host.ranker(make()).fit(d.X, d.y, group=d.group, sample_weight=weight)
    yield booster(ranker), expected


@way_on_both("`init_score`, `base_margin`")
def _(host, make, d, tmp_path):
    start = {START[host.name]: np.random.default_rng(3).normal(size=len(d.y)).astype(np.float32)}
    expected = host.loop(make(), host.of_ranker(d, **start), d.y, d.group)
    yield host.train(make(), host.of_ranker(d, **start)), expected
    yield booster(host.ranker(make()).fit(d.X, d.y, group=d.group, **start)), expected


FEATURES = {
    ("LightGBM", "bagging of rows"): {"bagging_fraction": 0.5, "bagging_freq": 1},
    ("XGBoost", "bagging of rows"): {"subsample": 0.5},
    # GOSS samples only after 1 / learning_rate rounds.
    ("LightGBM", "GOSS"): {
        "data_sample_strategy": "goss", "top_rate": 0.3, "learning_rate": 0.5,
    },
    ("XGBoost", "DART"): {"booster": "dart", "rate_drop": 0.5},
    ("LightGBM", "`linear_tree`"): {"linear_tree": True},
    ("LightGBM", "quantized gradients"): {"use_quantized_grad": True},
    ("LightGBM", "monotone constraints"): {"monotone_constraints": [1, 0, 0, 0, 0]},
    ("XGBoost", "monotone constraints"): {"monotone_constraints": "(1,0,0,0,0)"},
}  # fmt: skip

for (_name, _title), _params in FEATURES.items():

    @way(_name, _title)
    def _(make, d, tmp_path, host=HOSTS[_name], params=_params):
        # LightGBM dies of linear trees on data that do not know of them.
        known = {"params": params} if host.data is dataset else {}
        expected = host.loop(make(), host.data(d, **known), d.y, d.group, params=params)
        assert trees(expected) != trees(host.loop(make(), host.data(d), d.y, d.group))
        yield host.train(make(), host.data(d), params=params), expected


@way("LightGBM", "categorical features")
def _(make, d, tmp_path):
    params = {"min_data_per_group": 5, "max_cat_to_onehot": 1}
    expected = loop_lightgbm(
        make(), dataset(d, categorical_feature=[4]), d.y, d.group, params=params
    )
    assert "==" in str(trees(expected))
    data = dataset(d, categorical_feature=[4])
    yield train_lightgbm(make(), data, params=params), expected
    ranker = lgbm_ranker(make(), **params)
    yield ranker.fit(d.X, d.y, group=d.group, categorical_feature=[4]).booster_, expected


@way("LightGBM", "data from a file with `.query`")
def _(make, d, tmp_path):
    path = tmp_path / "train.tsv"
    np.savetxt(path, np.column_stack([d.y, d.X]), delimiter="\t", fmt="%.17g")
    np.savetxt(f"{path}.query", d.group, fmt="%d")
    expected = loop_lightgbm(make(), lgb.Dataset(path), d.y, d.group)
    yield train_lightgbm(make(), lgb.Dataset(path)), expected
    binary = tmp_path / "train.bin"
    lgb.Dataset(path).save_binary(binary)
    yield train_lightgbm(make(), lgb.Dataset(binary)), expected


# --- XGBoost --------------------------------------------------------------------------------------


@way("XGBoost", "`Booster.update`")
def _(make, d, tmp_path):
    objective, shared = make(), matrix(d)
    booster = xgb.Booster(XGBOOST, [shared])
    for iteration in range(ROUNDS):
        booster.update(shared, iteration, fobj=objective)
    yield booster, loop_xgboost(objective, matrix(d), d.y, d.group)


@way("XGBoost", "`cv`")
def _(make, d, tmp_path):
    keep = KeepBoosters()
    xgb.cv(
        XGBOOST, matrix(d), ROUNDS, nfold=3, obj=make(), shuffle=False, as_pandas=False,
        callbacks=[keep],
    )  # fmt: skip
    # Without shuffling, XGBoost's folds are ours, except that ours begin with the last part.
    folds = boostrank.group_folds(d.group, 3)
    for found, (rows, _) in zip(keep.boosters, folds[1:] + folds[:1], strict=True):
        part = of_rows(d, rows)
        yield found, loop_xgboost(make(), matrix(part), part.y, part.group)


@way("XGBoost", "early stopping")
def _(make, d, tmp_path):
    stop = {"early_stopping_rounds": 2, "custom_metric": boostrank.metric("ndcg@10")}
    stop["evals"] = [(xgb.DMatrix(d.X, other_grades(d), group=d.group), "others")]
    stop["verbose_eval"] = False
    params = {"disable_default_eval_metric": True}
    booster = train_xgboost(make(40), matrix(d), 40, params=params, **stop)
    n_rounds = booster.num_boosted_rounds()
    assert n_rounds < 40
    yield booster, loop_xgboost(make(40), matrix(d), d.y, d.group, rounds=n_rounds)


@way("XGBoost", "`tree_method` exact, approx")
def _(make, d, tmp_path):
    for method in ("exact", "approx"):
        params = {"tree_method": method}
        expected = loop_xgboost(make(), matrix(d), d.y, d.group, params=params)
        assert trees(expected) != trees(loop_xgboost(make(), matrix(d), d.y, d.group))
        yield train_xgboost(make(), matrix(d), params=params), expected
        ranker = xgb_ranker(make(), **params)  # which makes no QuantileDMatrix then
        yield ranker.fit(d.X, d.y, group=d.group).get_booster(), expected


@way("XGBoost", "categorical features")
def _(make, d, tmp_path):
    kwargs = {"feature_types": ["q"] * 4 + ["c"], "enable_categorical": True}
    shared = matrix(d, xgb.QuantileDMatrix, **kwargs)
    expected = loop_xgboost(make(), shared, d.y, d.group)
    plain = loop_xgboost(make(), matrix(d, xgb.QuantileDMatrix), d.y, d.group)
    assert trees(expected) != trees(plain)
    yield train_xgboost(make(), shared), expected
    ranker = xgb_ranker(make(), **kwargs)
    yield ranker.fit(d.X, d.y, group=d.group).get_booster(), expected


@way("XGBoost", "`QuantileDMatrix`")
def _(make, d, tmp_path):
    shared = matrix(d, xgb.QuantileDMatrix, max_bin=8)
    expected = loop_xgboost(make(), shared, d.y, d.group, params={"max_bin": 8})
    yield train_xgboost(make(), shared, params={"max_bin": 8}), expected


@way("XGBoost", "external memory")
def _(make, d, tmp_path):
    for kind in (xgb.DMatrix, xgb.ExtMemQuantileDMatrix):
        shared = kind(Batches(d, tmp_path / kind.__name__))
        assert shared.num_row() == len(d.y)
        yield train_xgboost(make(), shared), loop_xgboost(make(), shared, d.y, d.group)


# --- The table ------------------------------------------------------------------------------------


def test_the_pages_table_is_these_tests():
    hosts = {}
    for host, title in WAYS:
        hosts.setdefault(title, []).append(host)
    # tests/test_dask.py compares to float precision: workers bin and add in another order.
    assert set(NAMES) <= set(test_dask.PARAMS)
    assert callable(test_dask.test_two_workers_train_as_one)
    hosts["Dask, on two workers"] = list(HOSTS)
    ways = {}
    for title, names in hosts.items():
        ways.setdefault(", ".join(names), []).append(title)
    _, _, text = PAGE.read_text(encoding="utf-8").partition("## Every way to train")
    assert "SHF-SDCG, REG-SHF-SDCG and LambdaRank" in text
    _, _, *rows = re.findall(r"^\| (.+?) \| (.+) \|$|^\|---", text, re.MULTILINE)
    assert rows == [(names, "; ".join(titles)) for names, titles in ways.items()]
