"""Exported models score as the host does: every tree, every row, exactly."""

import json
import pickle
import re
import warnings
from contextlib import suppress
from pathlib import Path

import engines
import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xgboost
from commands import refused, run
from engines import by_tree, n_rounds, rows
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from test_estimators import HOSTS, make_ranker
from training import predicted

import boostrank
from boostrank.export import _folded, _without_slack
from boostrank.hosts.model_files import SPARSE, since
from boostrank.trees import Tree, neighbours, read_forest
from boostrank.xgboost import XGBRanker

GROUP = [20] * 15
TARGETS = tuple(engines.ENGINES)
#: Names that JSON, Vespa's expressions and XGBoost's own files treat in special ways.
NAMES = ["bm25(title)", "attribute(größe\xa0\u2028)", "match(title).weight", "query(a&b)", "x_1"]
LARGEST = np.finfo(np.float32).max


def data(missing=0.0, zeros=0.0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(sum(GROUP), 5)).astype(np.float32)
    X[rng.random(X.shape) < zeros] = 0
    y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + 1), 0, 4)
    X[:, 1:][rng.random(X[:, 1:].shape) < missing] = np.nan
    return X, y


def train(host, X, y, rounds=8, names=None, objective=None, **params):
    if host == "lightgbm":
        base = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2, "seed": 1}
        base["objective"] = objective or "lambdarank"
        dataset = lightgbm.Dataset(X, y, group=GROUP, feature_name=names or "auto")
        return lightgbm.train(base | params, dataset, rounds)
    matrix = xgboost.DMatrix(X, y, group=GROUP, feature_names=names, enable_categorical=True)
    base, own = {"objective": objective or "rank:ndcg", "nthread": 1, "seed": 1}, None
    if callable(objective):
        base |= {"objective": "rank:pairwise", "base_score": 0.25}
        own = objective
    return xgboost.train(base | params, matrix, rounds, obj=own)


def check_equal(booster, to, X, missing=True, *, n_trees=None, **options):
    """Compare what each tree adds to each row's score, and the sums; return the file."""
    text = boostrank.export(booster, to, **options)
    names = options.get("features") or read_forest(booster).names
    n_trees = n_trees or n_rounds(booster)
    probe = rows(booster, X, missing, 12 if n_trees > 100 else 60, to)
    got = engines.ENGINES[to](text, names, probe)
    base = got.shape[1] - n_trees  # XGBoost's base_score is a tree of its own
    assert base in (0, 1)
    np.testing.assert_array_equal(got[:, base:], by_tree(booster, probe, n_trees))
    if isinstance(booster, lightgbm.Booster):
        whole = booster.predict(probe, raw_score=True, num_iteration=n_trees)
    else:
        matrix = xgboost.DMatrix(probe, feature_names=booster.feature_names)
        whole = booster.predict(matrix, output_margin=True, iteration_range=(0, n_trees))
    limit = 1e-6 * np.abs(got).sum(axis=1).max()
    np.testing.assert_allclose(got.sum(axis=1), whole, rtol=0, atol=limit)
    return text


#: name: (data, rounds, LightGBM's parameters, XGBoost's)
MODELS = {
    "dense": ({}, 8, {}, {}),
    "zeros": ({"zeros": 0.4}, 8, {}, {}),
    "missing": ({"missing": 0.3}, 8, {}, {}),
    "one tree": ({}, 1, {}, {}),
    "thousand trees": ({}, 1000, {"num_leaves": 4}, {"max_depth": 2}),
    "deep": (
        {"missing": 0.1},
        2,
        {"num_leaves": 150, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0},
        {"max_depth": 0, "max_leaves": 150, "grow_policy": "lossguide", "min_child_weight": 0},
    ),
    "dart": ({}, 8, {"boosting": "dart", "drop_rate": 0.5}, {"booster": "dart", "rate_drop": 0.5}),
    "no split": ({}, 3, {"min_gain_to_split": 1e9}, {"gamma": 1e9}),
    "pruned": ({}, 3, {"min_gain_to_split": 1}, {"gamma": 1, "tree_method": "exact"}),
}


@pytest.mark.filterwarnings("ignore:RankLib takes missing values for 0")
@pytest.mark.filterwarnings("ignore:.*`booster=dart` is deprecated")
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("model", MODELS)
def test_every_tree_adds_what_the_host_says(host, model, to):
    make, rounds, *params = MODELS[model]
    X, y = data(**make)
    booster = train(host, X, y, rounds, **params[HOSTS.index(host)])
    if to == "ranklib" and "missing" in make:
        with pytest.raises(ValueError, match=r"has learnt where missing values of '(Column_|f)1'"):
            boostrank.export(booster, to)
        return
    # RankLib and Solr without "missing" take NaN for 0, as LightGBM does after dense training.
    missing = "missing" in make or host == "lightgbm" or to != "ranklib"
    check_equal(booster, to, X, missing)


@pytest.mark.filterwarnings("ignore:RankLib takes missing values for 0")
@pytest.mark.parametrize("to", TARGETS)
def test_our_objectives_and_any_start_of_the_scores(host, to):
    X, y = data()
    booster = train(host, X, y, objective=boostrank.QueryRMSE())
    text = check_equal(booster, to, X, missing=to in ("opensearch", "vespa"))
    n_trees = len(engines.ENGINES[to](text, read_forest(booster).names, X[:1])[0])
    assert n_trees == 8 + (host == "xgboost")  # its base_score comes first, as a tree


@pytest.mark.parametrize(
    ("host", "params"),
    [
        ("lightgbm", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}),
        ("xgboost", {"num_parallel_tree": 3, "subsample": 0.5}),
    ],
)
def test_forests(host, params):
    X, y = data()
    booster = train(host, X, y, 4, **params)
    got = engines.opensearch(boostrank.export(booster, "opensearch"), read_forest(booster).names, X)
    np.testing.assert_allclose(got.sum(axis=1), predicted(booster, X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("saved", [False, True])
def test_early_stopped_models_have_the_trees_of_their_best_round(host, saved, tmp_path):
    X, y = data()
    held, noise = slice(200, 300), np.random.default_rng(0).permutation(y[200:])
    if host == "lightgbm":
        train_set = lightgbm.Dataset(X[:200], y[:200], group=GROUP[:10])
        booster = lightgbm.train(
            {"objective": "lambdarank", "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2},
            train_set,
            60,
            valid_sets=[train_set.create_valid(X[held], noise, group=GROUP[10:])],
            callbacks=[lightgbm.early_stopping(4, verbose=False)],
            keep_training_booster=True,
        )
        best, scores = booster.best_iteration, booster.predict(X, raw_score=True)
    else:
        # XGBoost's own keeps the rounds after the best one.
        ranker = xgboost.XGBRanker(n_estimators=60, early_stopping_rounds=4, base_score=0)
        ranker.fit(
            X[:200], y[:200], group=GROUP[:10], eval_set=[(X[held], noise)], eval_group=[GROUP[10:]]
        )
        booster = ranker.get_booster()
        best, scores = ranker.best_iteration + 1, ranker.predict(X)
    assert best < n_rounds(booster)
    model = booster
    if saved:
        model = tmp_path / "model.json"
        booster.save_model(model)
    names = read_forest(booster).names
    got = engines.opensearch(boostrank.export(model, "opensearch"), names, X)
    assert got.shape[1] == best
    np.testing.assert_allclose(got.sum(axis=1), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:RankLib takes missing values for 0")
@pytest.mark.parametrize("to", TARGETS)
def test_names_of_features(host, to):
    X, y = data()
    booster = train(host, X, y, names=NAMES)
    check_equal(booster, to, X, missing=False)
    # A feature store has more features, in an order of its own.
    store = ["unused", *NAMES[::-1]]
    text = boostrank.export(booster, to, features=store)
    moved = np.column_stack([X[:, 0] * np.nan, X[:, ::-1]])
    got = engines.ENGINES[to](text, store, moved)
    np.testing.assert_array_equal(got[:, -8:], by_tree(booster, X, 8))
    store[1] = "X_1"
    with pytest.raises(ValueError, match=r"must have the model's 'x_1'; did you mean 'X_1'\?"):
        boostrank.export(booster, to, features=store)
    store[1] = "x 1"  # as the column may be called that the model calls x_1
    if to != "vespa":  # which has no such names
        got = engines.ENGINES[to](boostrank.export(booster, to, features=store), store, moved)
        np.testing.assert_array_equal(got[:, -8:], by_tree(booster, X, 8))
    with pytest.raises(ValueError, match="has 'x 1' and 'x_1', which may both be the"):
        boostrank.export(booster, to, features=[*store, "x_1"])


@pytest.mark.filterwarnings("ignore:RankLib takes missing values for 0")
def test_names_for_a_model_without_names(host):
    X, y = data()
    booster = train(host, X, y)
    for to in TARGETS:
        check_equal(booster, to, X, missing=False, features=NAMES)
        own, engine = read_forest(booster).names, engines.ENGINES[to]
        text = boostrank.export(booster, to, features=own[::-1])  # by name, in the engine's order
        want = engine(boostrank.export(booster, to), own, X)
        np.testing.assert_array_equal(engine(text, own[::-1], X[:, ::-1]), want)
    with pytest.raises(ValueError, match=r"one for each of the 5 columns .* got 4"):
        boostrank.export(booster, "solr", features=NAMES[:4])
    with pytest.raises(ValueError, match="each name once, got 'x_1' several times"):
        boostrank.export(booster, "solr", features=[*NAMES[1:], "x_1"])
    for bad in ("a,b", set(NAMES), range(5), [None, *NAMES[1:]]):
        with pytest.raises(TypeError, match="must be a sequence of names, in order, got "):
            boostrank.export(booster, "solr", features=bad)


@pytest.mark.parametrize("name", ["price-eur", "title length", "7", "log(x", "größe"])
def test_vespa_takes_only_its_own_names(name):
    booster = train("xgboost", *data(), names=[name, *NAMES[1:]])
    with pytest.raises(ValueError, match=f"{re.escape(repr(name))} is not a feature of Vespa"):
        boostrank.export(booster, "vespa")
    boostrank.export(booster, "solr")


def refused_by_all(model, message):
    for to in TARGETS:
        with pytest.raises(ValueError, match=message):
            boostrank.export(model, to)


@pytest.mark.filterwarnings("ignore:.*`booster=gblinear` is deprecated")
@pytest.mark.parametrize(
    ("host", "params", "message"),
    [
        ("lightgbm", {"objective": "multiclass", "num_class": 5}, "5 scores for each document"),
        ("xgboost", {"objective": "multi:softprob", "num_class": 5}, "5 scores for each document"),
        ("lightgbm", {"objective": "binary"}, "binary.*, transforms the sum"),
        ("xgboost", {"objective": "binary:logistic"}, "binary.*, transforms the sum"),
        ("lightgbm", {"objective": "regression", "linear_tree": True}, "has linear trees"),
        ("lightgbm", {"zero_as_missing": True}, "takes 0 for a missing value in 'Column_0'"),
        ("xgboost", {"booster": "gblinear"}, "no trees to export"),
        ("lightgbm", {"objective": "mape", "learning_rate": 1e20}, "leaves beyond float32"),
        ("xgboost", {"objective": "reg:squarederror", "eta": 1e20}, "leaves beyond float32"),
    ],
)
def test_what_no_target_can_hold_is_refused(host, params, message):
    X, y = data(zeros=0.4)
    refused_by_all(train(host, X, np.minimum(y, 1.0), **params), message)


def test_categories_are_refused(host):
    X, _ = data()
    X[:, 3] = np.digitize(X[:, 3], [-0.5, 0.5])
    y = X[:, 3] == 1
    if host == "lightgbm":
        params = {"min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 1}
        named = {"feature_name": NAMES, "categorical_feature": [3], "params": params}
        dataset = lightgbm.Dataset(X, y, **named)
        model = lightgbm.train({"verbosity": -1, "num_threads": 1, **params}, dataset, 2)
    else:
        named = {"feature_names": NAMES, "feature_types": ["float"] * 3 + ["c", "float"]}
        matrix = xgboost.DMatrix(X, y, enable_categorical=True, **named)
        model = xgboost.train({"nthread": 1}, matrix, 2)
    refused_by_all(model, r"splits on categories of 'query\(a&b\)'")


def test_a_missing_value_other_than_nan_is_refused():
    X, y = data()
    ranker = XGBRanker(objective="query-rmse", n_estimators=1, missing=-1.0)
    refused_by_all(ranker.fit(X, y, group=GROUP), "takes -1 for a missing value")


def test_ranklib_takes_missing_values_for_zero():
    with pytest.warns(UserWarning, match=r"only where 'f0', 'f1', .* are never missing"):
        boostrank.export(train("xgboost", *data()), "ranklib")
    boostrank.export(train("lightgbm", *data()), "ranklib")  # as LightGBM itself does


def test_ranklib_numbers_features_that_were_numbered_from_0_one_too_high():
    X, y = data()
    model = train("lightgbm", np.insert(X, 0, 0.0, axis=1), y)  # as it reads a svmlight file
    with pytest.warns(UserWarning, match="never uses its first: .* one too high"):
        boostrank.export(model, "ranklib")
    ranker = make_ranker("lightgbm").fit(X * [0, 1, 1, 1, 1], y, group=[300])
    boostrank.export(ranker, "ranklib")  # fitted on an array
    boostrank.export(model, "ranklib", features=["none", *NAMES])
    boostrank.export(model, "opensearch")


def test_solr_gets_what_becomes_the_threshold_when_it_adds_its_slack():
    rng = np.random.default_rng(0)
    magnitudes = 10.0 ** rng.uniform(-44, 38, size=20_000)
    signed = np.concatenate([magnitudes, -magnitudes, [0.0, 1.0, -1.0, LARGEST, -LARGEST]])
    wanted = signed.astype(np.float32)
    effective = _without_slack(wanted) + np.float32(1e-6)
    assert (effective <= wanted).all()
    # The promise of the page: at most a step of float32, or 2.3e-13 close to 0.
    step = wanted - neighbours(wanted, -np.inf)
    assert (wanted - effective <= np.maximum(step, np.float32(2.3e-13))).all()
    assert ((effective >= 0) == (wanted >= 0)).all()
    usual = np.abs(wanted) > 1e-5
    assert (effective == wanted)[usual].mean() > 0.99


def test_trees_of_any_depth():
    n = 5000
    chain = np.arange(n)
    right = np.where(chain < n - 1, chain + 1, ~n)
    feature, flags = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    value = np.zeros(n + 1, dtype=np.float32)
    tree = Tree(feature, chain.astype(np.float32), ~chain, right, flags, value)
    text = _folded(tree, ["f"], tree.threshold, "{id}", "({left} {right})")
    assert text.startswith("(5000 (5001 (5002 ")
    assert text.count("(") == n


def test_unknown_models_and_targets():
    with pytest.raises(TypeError, match=r"a Booster or fitted ranker .*, got dict"):
        boostrank.export({}, "solr")
    with pytest.raises(ValueError, match="unknown to 'onnx'"):
        boostrank.export({}, "onnx")
    with pytest.raises(FileNotFoundError):
        boostrank.export(Path("no such model.txt"), "solr")


# to_host ------------------------------------------------------------------------------------------


def test_to_host(host):
    """A plain ranker predicts the same, and neither it nor its pickle needs boostrank."""
    X, y = data(missing=0.2)
    X = pd.DataFrame(X, columns=list("abcde"))
    noise = np.random.default_rng(0).permutation(y)
    ranker = make_ranker(host, "query-rmse", n_estimators=40, early_stopping_rounds=3)
    kind, best = {
        "lightgbm": (lightgbm.LGBMRanker, "best_iteration_"),
        "xgboost": (xgboost.XGBRanker, "best_iteration"),
    }[host]
    ranker.fit(X, y, group=GROUP, eval_set=[(X, noise)], eval_group=[GROUP])
    plain = ranker.to_host()
    assert type(plain) is kind
    pickled = pickle.dumps(plain)
    # The model may say how it was trained.
    assert b"boostrank" not in pickled.replace(SPARSE.encode(), b"")
    for same in (plain, pickle.loads(pickled)):
        np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
        assert getattr(same, best) == getattr(ranker, best)
        assert list(same.feature_names_in_) == list("abcde")
        assert same.n_features_in_ == 5
        np.testing.assert_array_equal(same.feature_importances_, ranker.feature_importances_)
    params = ranker.get_params() | {"objective": plain.objective}
    if host == "xgboost":
        params |= {"base_score": 0}
    assert plain.get_params() == clone(plain).get_params() == pytest.approx(params, nan_ok=True)
    assert ranker.objective == "query-rmse"
    # Tools look for the objective in the file and refuse a model without one.
    if host == "lightgbm":
        text = plain.booster_.model_to_string()
        assert re.findall(r"\n\[?objective\W+(\w+)", text) == ["lambdarank", "lambdarank"]
    else:
        assert '"name":"rank:pairwise"' in plain.get_booster().save_config()
    clone(plain).set_params(early_stopping_rounds=None).fit(X, y, group=GROUP)


def test_a_plain_ranker_takes_zeros_of_arrays_for_zeros():
    X, y = data(zeros=0.4)
    sparse = csr_matrix(X)
    ranker = XGBRanker(n_estimators=5).fit(sparse, y, group=GROUP)
    with pytest.warns(UserWarning, match="must get sparse matrices only"):
        plain = ranker.to_host()
    np.testing.assert_array_equal(plain.predict(sparse), ranker.predict(sparse))
    assert not np.array_equal(plain.predict(X), ranker.predict(sparse))
    with pytest.warns(UserWarning, match="sends a 0 gets another score"):
        boostrank.export(ranker, "opensearch")
    for params, matrix in (({"missing": 0.0}, sparse), ({}, X)):  # one kind of zeros, no warning
        ranker = XGBRanker(n_estimators=5, **params).fit(matrix, y, group=GROUP)
        plain = ranker.to_host()
        np.testing.assert_array_equal(plain.predict(X), ranker.predict(X))


def test_a_plain_ranker_misreads_words_of_pandas_beyond_ascii():
    """XGBoost before 3.4 does."""
    X, y = data()
    words = ["ああ", "いい", "うう", "ええ", "おお"]
    kind = pd.Categorical.from_codes(y.astype(int), words)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=kind)
    ranker = XGBRanker(n_estimators=5, enable_categorical=True).fit(frame, y, group=GROUP)
    misread = r"misreads categories .* for 'kind', .* of pa.string"
    with warnings.catch_warnings(record=True, action="always") as caught:
        plain = ranker.to_host()
    said = "\n".join(str(each.message) for each in caught)
    assert bool(re.search(misread, said)) is not since(3, 4)
    assert ("takes a category of 'kind' that training did not have" in said) is not since(3, 3)
    table = pa.Table.from_pandas(frame.drop(columns="kind"), preserve_index=False)
    codes = pa.array(y.astype("int8"))
    table = table.append_column("kind", pa.DictionaryArray.from_arrays(codes, pa.array(words)))
    np.testing.assert_array_equal(plain.predict(table), ranker.predict(frame))
    with suppress(UnicodeDecodeError):  # XGBoost 3.3
        assert np.array_equal(plain.predict(frame), ranker.predict(frame)) == since(3, 4)


def test_only_a_fitted_ranker_goes_to_a_host(host):
    with pytest.raises(NotFittedError):
        make_ranker(host).to_host()
    with pytest.raises(NotFittedError):
        boostrank.export(make_ranker(host), "solr")


# The command --------------------------------------------------------------------------------------


def test_the_command(tmp_path):
    model, store, out = (tmp_path / name for name in ("m.txt", "features.json", "clicks_v1.json"))
    booster = train("lightgbm", *data(), names=NAMES)
    booster.save_model(model)
    features = [{"name": name, "class": "solr.Feature"} for name in NAMES]
    store.write_text(json.dumps(features), encoding="utf-8")
    result = run("export", model, "--to", "solr", "--features", store, "--out", out)
    assert (result.stdout, result.stderr) == ("", f"boostrank: {out}: the model for solr\n")
    written = out.read_text(encoding="utf-8")
    assert written == boostrank.export(booster, "solr", name="clicks_v1")
    store.write_text("\n" + " \n\n".join(NAMES[::-1]), encoding="utf-8-sig")
    result = run("export", model, "--to", "ranklib", "--features", store)
    assert result.stdout == boostrank.export(booster, "ranklib", features=NAMES[::-1])
    train("lightgbm", *data()).save_model(model)
    said = run("export", model, "--to", "solr", "--out", out).stderr
    assert "the model does not name its features: solr must call them 'Column_0'" in said


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[1, 2]", "expected one name per line, or a JSON list of names"),
        ('{"name": "x_1"}', "expected one name per line, or a JSON list of names"),
        ('["x_1",', "line 1: not JSON"),
        ("x_1\n", "features must have the model's 'bm25(title)'"),
        ("x_1\ncaf\udce9", "features, line 2: byte 0xe9 is not UTF-8 text"),
    ],
)
def test_the_command_refuses_a_list_of_features(written, message, tmp_path):
    model, store = tmp_path / "m.json", tmp_path / "features"
    train("xgboost", *data(), names=NAMES).save_model(model)
    store.write_text(written, encoding="utf-8", errors="surrogateescape")
    assert message in refused("export", model, "--to", "vespa", "--features", store)
