"""Model files: one file, one answer, whoever writes and reads it; damage is one sentence."""

import json
import pickle
from contextlib import nullcontext

import lightgbm
import numpy as np
import pandas
import pytest
import training
import xgboost
from commands import run, scores_of
from test_estimators import make_ranker

from boostrank.datasets import make_ranking
from boostrank.hosts.model_files import booster_of, dart_weights, host_of, since
from boostrank.lab.models import load_model
from boostrank.lightgbm import LGBMRanker
from boostrank.trees import read_forest
from boostrank.xgboost import XGBRanker

DATA = make_ranking(30, 8, n_features=3, seed=1)
TRAIN, TEST = DATA.split(2, seed=0)
ROUNDS = 30
#: Stops after a few rounds of these.
STOPPING = {"learning_rate": 0.9, "early_stopping_rounds": 2}
KINDS = {
    "plain": {},
    "base score": {"base_score": 2.5},
    "missing": {"missing": 0.0},
    "forest": {"num_parallel_tree": 2},
    "dart": {"booster": "dart"},
    "linear": {"booster": "gblinear", "updater": "coord_descent", "max_depth": None},
}


def table(path, data):
    """Write data to a file, and return its path."""
    frame = pandas.DataFrame(data.X, columns=["a", "b", "c"])
    frame.assign(qid=data.qid, label=data.y).to_csv(path, index=False)
    return path


def predicted(model, folder):
    """Return what `boostrank predict` writes."""
    return scores_of(model, table(folder / "data.csv", TEST))


def fit(ranker, *, stopped):
    evals = {"eval_set": [(TEST.X, TEST.y)], "eval_qid": [TEST.qid]} if stopped else {}
    return ranker.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, **evals)


def fit_from(ranker, **start):
    ranker.set_params(objective="query-rmse").fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, **start)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
# Early stopping of linear models is refused.
@pytest.mark.parametrize(
    ("kind", "stopped"), [(kind, s) for kind in KINDS for s in (False, True)][:-1]
)
def test_everyone_reads_the_same_from_a_file_of_xgboosts_ranker(kind, stopped, suffix, tmp_path):
    own = {"max_depth": 2, **KINDS[kind], **(STOPPING if stopped else {})}
    ranker = XGBRanker(objective="query-rmse", n_estimators=ROUNDS, n_jobs=1, **own)
    fit(ranker, stopped=stopped)
    want = ranker.predict(TEST.X)
    if stopped:
        assert len(ranker.evals_result_["validation_0"]["ndcg@10"]) > ranker.best_iteration + 1
    path = tmp_path / f"model.{suffix}"
    ranker.save_model(path)

    np.testing.assert_array_equal(predicted(path, tmp_path).astype(np.float32), want)
    missing = own.get("missing", np.nan)
    again = XGBRanker()
    again.load_model(path)
    np.testing.assert_array_equal(again.predict(TEST.X), want)
    plain = xgboost.XGBRanker(missing=missing)
    plain.load_model(path)
    np.testing.assert_array_equal(plain.predict(TEST.X), want)
    booster = xgboost.Booster(model_file=path)
    matrix = xgboost.DMatrix(TEST.X, missing=missing)
    for each in (booster, pickle.loads(pickle.dumps(ranker.get_booster()))):
        np.testing.assert_array_equal(each.predict(matrix), want)
        if kind == "linear":
            continue  # XGBoost has no inplace_predict for it
        in_place = each.inplace_predict(TEST.X, missing=missing)
        np.testing.assert_allclose(in_place, want, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(TEST.X), want)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_a_file_of_xgboost_itself_is_read_up_to_its_best_round(booster, suffix, tmp_path):
    """XGBoost keeps the rounds after the best one in the file."""
    theirs = xgboost.XGBRanker(n_estimators=ROUNDS, booster=booster, n_jobs=1, **STOPPING)
    fit(theirs, stopped=True)
    assert theirs.get_booster().num_boosted_rounds() > theirs.best_iteration + 1
    want = theirs.predict(TEST.X)
    path = tmp_path / f"model.{suffix}"
    theirs.save_model(path)
    np.testing.assert_array_equal(predicted(path, tmp_path).astype(np.float32), want)
    for source in (path, bytearray(path.read_bytes())):
        ours = XGBRanker(n_estimators=1, n_jobs=1)
        fit_from(ours)
        ours.load_model(source)
        np.testing.assert_array_equal(ours.predict(TEST.X), want)
        assert ours.best_iteration == theirs.best_iteration
        np.testing.assert_array_equal(ours.get_booster().predict(xgboost.DMatrix(TEST.X)), want)
        assert not hasattr(ours, "objective_")  # it was another model's
        assert ours.objective == "query-rmse"  # the ranker's own
        with pytest.raises(ValueError, match="early stopping has chosen no rounds"):
            ours.fit_all(TRAIN.X, TRAIN.y, qid=TRAIN.qid)


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
@pytest.mark.parametrize("stopped", [False, True], ids=["all rounds", "stopped early"])
def test_everyone_reads_the_same_from_a_file_of_lightgbm(boosting, stopped, tmp_path):
    own = {"boosting_type": boosting, **(STOPPING if stopped else {"learning_rate": 0.9})}
    ranker = make_ranker("lightgbm", "query-rmse", n_estimators=ROUNDS, **own)
    # LightGBM says that it cannot stop DART early, and keeps all rounds.
    warned = stopped and boosting == "dart"
    with pytest.warns(UserWarning, match="dart mode") if warned else nullcontext():
        fit(ranker, stopped=stopped)
    want = ranker.predict(TEST.X)
    if boosting == "gbdt":
        assert (ranker.best_iteration_ in range(1, ROUNDS - 1)) == stopped
    path = tmp_path / "model.txt"
    ranker.booster_.save_model(path)
    np.testing.assert_array_equal(predicted(path, tmp_path), want)
    np.testing.assert_array_equal(lightgbm.Booster(model_file=path).predict(TEST.X), want)
    for each in (ranker, ranker.booster_):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(each)).predict(TEST.X), want)


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.ubj"])
@pytest.mark.parametrize("stopped", [False, True], ids=["all rounds", "stopped early"])
def test_everyone_reads_the_same_from_a_file_of_the_command_line(stopped, name, tmp_path):
    path, host = tmp_path / name, "lightgbm" if name.endswith("txt") else "xgboost"
    words = ["-o", "query-rmse", "--host", host, "--model", path, "--rounds", ROUNDS]
    words += ["--learning-rate", 0.9, "--min-docs", 2]
    if stopped:
        words += ["--valid", table(tmp_path / "valid.csv", TEST), "--patience", 2]
    said = run("train", table(tmp_path / "train.csv", TRAIN), *words).output
    assert ("up to the best of" in said) == stopped
    if host == "lightgbm":
        want = lightgbm.Booster(model_file=path).predict(TEST.X)
    else:
        matrix = xgboost.DMatrix(TEST.X, feature_names=["a", "b", "c"])
        want = xgboost.Booster(model_file=path).predict(matrix)
        ranker = XGBRanker()
        ranker.load_model(path)
        np.testing.assert_array_equal(ranker.predict(TEST.X), want)
    np.testing.assert_array_equal(predicted(path, tmp_path).astype(want.dtype), want)


def test_continued_training_goes_on_from_the_best_round():
    """XGBoost keeps the name of the old best round: the ranker would predict without new ones."""
    theirs = xgboost.XGBRanker(n_estimators=ROUNDS, n_jobs=1, **STOPPING)
    ours = XGBRanker(objective="query-rmse", n_estimators=ROUNDS, n_jobs=1, **STOPPING)
    for first in (fit(theirs, stopped=True), fit(ours, stopped=True)):
        best = first.best_iteration + 1
        for start in (first, first.get_booster()):
            more = XGBRanker(objective="query-rmse", n_estimators=4, n_jobs=1)
            more.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=start)
            assert more.get_booster().num_boosted_rounds() == best + 4
            matrix = xgboost.DMatrix(TEST.X)
            np.testing.assert_array_equal(more.predict(TEST.X), more.get_booster().predict(matrix))
        assert first.best_iteration + 1 == best  # left as it was
    first = lightgbm.train(
        {"verbosity": -1}, lightgbm.Dataset(TRAIN.X, TRAIN.y), 9, keep_training_booster=True
    )
    first.best_iteration = 5
    ranker = LGBMRanker(n_estimators=4, n_jobs=1, verbosity=-1)
    ranker.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, init_model=first)
    assert ranker.booster_.current_iteration() == 5 + 4


@pytest.mark.parametrize("kind", KINDS)
def test_training_in_two_parts_is_training_in_one(kind):
    """A new base_score, as 0 by default, would shift all scores of the first part."""
    own = KINDS[kind]
    whole, first = (
        fit(XGBRanker(objective="query-rmse", n_estimators=n, n_jobs=1, **own), stopped=False)
        for n in (8, 5)
    )
    if kind == "base score":
        own = {}
    more = XGBRanker(objective="query-rmse", n_estimators=3, n_jobs=1, **own)
    more.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=first)
    np.testing.assert_array_equal(more.predict(TEST.X), whole.predict(TEST.X))


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "reg:quantileerror"])
def test_a_model_of_another_objective_continues_from_its_scores(objective):
    """Its base_score is a probability or a mean, where that of a ranking is a score."""
    params = {"objective": objective, "nthread": 1}
    params |= {"quantile_alpha": 0.3} if "quantile" in objective else {}
    first = xgboost.train(params, xgboost.DMatrix(TRAIN.X, TRAIN.y > 2), 3)
    ranker = XGBRanker(n_estimators=1, learning_rate=1e-9, n_jobs=1)
    fit_from(ranker, xgb_model=first)
    want = first.predict(xgboost.DMatrix(TEST.X), output_margin=True)
    np.testing.assert_allclose(ranker.predict(TEST.X), want, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "booster"), [("plain", "dart"), ("plain", "gblinear"), ("dart", "gbtree")]
)
def test_continued_training_keeps_the_kind_of_booster(kind, booster):
    """XGBoost drops a model of another kind, and trains a new one."""
    if since(3, 3) and booster != "gblinear":
        return  # one kind, from XGBoost 3.3 on
    first = fit(xgboost.XGBRanker(n_estimators=5, n_jobs=1, **KINDS[kind]), stopped=False)
    theirs = xgboost.XGBRanker(n_estimators=3, n_jobs=1, booster=booster)
    theirs.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=first)
    assert theirs.get_booster().num_boosted_rounds() == 3
    ours = XGBRanker(n_estimators=3, n_jobs=1, booster=booster)
    kept = KINDS[kind].get("booster", "gbtree")
    with pytest.raises(ValueError, match=f"has booster='{kept}', .*: set booster='{kept}'"):
        ours.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=first)
    ours.set_params(booster=None).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=first)
    assert ours.get_booster().num_boosted_rounds() == 8


@pytest.mark.filterwarnings("ignore:(?s).*specified the `updater`:UserWarning")
@pytest.mark.parametrize("method", ["approx", None])
def test_an_update_of_trees_goes_through_their_rounds_again(method):
    params = {"objective": "reg-shf-sdcg", "n_estimators": 4, "tree_method": method, "n_jobs": 1}
    first = XGBRanker(**params).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    again = XGBRanker(**params, process_type="update", updater="refresh")
    again.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, xgb_model=first)
    np.testing.assert_array_equal(again.predict(TEST.X), first.predict(TEST.X))
    # "auto" compares trees of its own.
    many = make_ranking(60, 8, n_features=3, seed=1)
    again.set_params(objective="auto").fit(many.X, many.y, qid=many.qid, xgb_model=first)
    assert again.auto_.ahead
    # The updaters of other methods need the same matrix.
    fit_from(XGBRanker(n_estimators=1, tree_method=method, n_jobs=1, updater="grow_colmaker"))


@pytest.mark.parametrize(
    "params",
    [{"booster": "dart", "rate_drop": 0.5}, {"booster": "gblinear"}],
    ids=["dart", "linear"],
)
def test_early_stopping_is_refused_where_the_best_round_is_lost(params, tmp_path):
    ranker = XGBRanker(objective="query-rmse", n_estimators=ROUNDS, n_jobs=1, **STOPPING, **params)
    with pytest.raises(ValueError, match=r"early stopping cannot keep the best round of "):
        fit(ranker, stopped=True)
    if params["booster"] == "dart":
        theirs = xgboost.XGBRanker(n_estimators=ROUNDS, n_jobs=1, **STOPPING, **params)
        path = tmp_path / "model.json"
        fit(theirs, stopped=True).save_model(path)
        assert theirs.best_iteration + 1 < theirs.get_booster().num_boosted_rounds()
        with pytest.raises(ValueError, match=r"model\.json: DART has scaled the trees"):
            load_model(path)
        with pytest.raises(ValueError, match=r"DART has scaled the trees"):
            read_forest(theirs)


def test_weights_of_dart_are_found_in_models_of_every_version():
    """As of XGBoost 3.2, 3.3 and 3.4."""
    trees, weights = {"trees": []}, [0.5, 1.0]
    for boosted in (
        {"gbtree": {"model": trees}, "weight_drop": weights},
        {"model": trees, "weight_drop": weights},
        {"model": trees | {"weight_drop": weights}},
    ):
        assert dart_weights(boosted) == weights
    assert not dart_weights({"model": trees})


# ---- files that are not models -------------------------------------------------------------------


def small_models():
    names = {"feature_name": ["a", "b", "c"]}
    params = {"objective": "lambdarank", "verbosity": -1, "num_leaves": 3, "num_threads": 1}
    text = lightgbm.train(params, lightgbm.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.group, **names), 3)
    matrix = xgboost.DMatrix(TRAIN.X, TRAIN.y, group=TRAIN.group)
    trees = xgboost.train({"objective": "rank:pairwise", "max_depth": 2, "nthread": 1}, matrix, 3)
    return {
        "txt": text.model_to_string().encode(),
        "json": bytes(trees.save_raw("json")),
        "ubj": bytes(trees.save_raw("ubj")),
    }


MODELS = small_models()


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_is_cut_off_anywhere_is_refused(kind, tmp_path):
    """Parsers of the hosts end the process on many of these, or read fewer trees."""
    content = MODELS[kind]
    path = tmp_path / f"model.{kind}"
    path.write_bytes(content)
    assert load_model(path).n_trees == 3
    # What follows LightGBM's last tree tells nothing of scores, but for the categories.
    end = content.index(b"end of trees") if kind == "txt" else len(content)
    parameters = content.index(b"\nend of parameters") if kind == "txt" else 0
    for size in {*range(0, len(content), 7), *range(len(content) - 60, len(content))}:
        path.write_bytes(content[:size])
        # Nothing, or white space, is missing from an otherwise complete file.
        whole = content[:size].strip().endswith((b"end of trees", b"end of parameters", b":null"))
        if kind == "txt" and whole:
            assert load_model(path).n_trees == 3
        else:
            assert size < max(end, parameters + 100)
            with pytest.raises(ValueError, match=r"is not a "):
                load_model(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a model of LightGBM"),
        (b"1 qid:1 1:0.5\n", "is not a model of LightGBM"),
        (pickle.dumps({"a": 1}), r"is not a model of LightGBM .* looks like a pickle"),
        (b"{}", "is not a complete XGBoost model"),
        (b'{"a": 1}', "is not a complete XGBoost model"),
        (b'{"learner": {}}', "is not a complete XGBoost model"),
        (b'{"learner":' + b"[" * 100_000, "too many nested brackets"),
        (b"{L" + b"\xff" * 8, "is not a complete XGBoost model"),
        (b"{" + b"[" * 100_000, "is not a complete XGBoost model"),
        (b"[]", "is not a model of LightGBM"),
        (MODELS["txt"].replace(b"\n", b"\r\n"), "line ends of Windows"),
        (MODELS["txt"] + b"garbage", "is not a complete LightGBM model"),
        (MODELS["txt"].replace(b"Tree=1\n", b"Tree=7\n"), "tree 1 is missing"),
        (MODELS["txt"].replace(b"leaf_value=", b"leaf_value=1", 1), "the size of tree 0 is not"),
        (MODELS["txt"].replace(b"leaf_value=", b"leaf_value", 1), "tree 1 is missing"),
        (
            MODELS["txt"].replace(b"\n\n\nend of trees", b"00000\n\n\nend of trees"),
            "the sizes of its trees do not match",
        ),
        (MODELS["ubj"] + b"garbage", "is not a complete XGBoost model"),
    ],
)
def test_what_is_not_a_model_is_one_sentence(content, message, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    for load in (
        XGBRanker().load_model,
        lambda path: fit_from(XGBRanker(n_estimators=1), xgb_model=path),
        lambda path: fit_from(LGBMRanker(n_estimators=1, verbosity=-1), init_model=path),
    ):
        with pytest.raises(ValueError, match=f"{message}|is a model of"):  # of the other host
            load(path)


def test_a_folder_is_not_a_model(tmp_path):
    for load in (load_model, XGBRanker().load_model):
        with pytest.raises(IsADirectoryError):
            load(tmp_path)


@pytest.mark.parametrize("suffix", ["json", "ubj", "txt"])
def test_models_of_other_kinds(suffix, tmp_path):
    """Several scores for a document are refused; one is what the host's own `predict` returns."""
    path = tmp_path / f"model.{suffix}"
    of_lightgbm = "binary", "multiclass"
    one, several = of_lightgbm if suffix == "txt" else ("binary:logistic", "multi:softprob")

    def saved(labels, **params):
        if suffix == "txt":
            data, quiet = lightgbm.Dataset(TRAIN.X, labels), {"verbosity": -1, "num_threads": 1}
            booster = lightgbm.train(quiet | params, data, 3)
        else:
            data = xgboost.DMatrix(TRAIN.X, labels)
            booster = xgboost.train({"nthread": 1} | params, data, 3)
        booster.save_model(path)
        return booster

    want = training.predicted(saved(TRAIN.y > 0, objective=one), TEST.X)
    np.testing.assert_array_equal(predicted(path, tmp_path).astype(want.dtype), want)
    saved(TRAIN.y % 3, objective=several, num_class=3)
    with pytest.raises(ValueError, match="has 3 scores for each document"):
        load_model(path)


def test_a_model_of_one_host_is_not_one_of_the_other(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(MODELS["txt"])
    with pytest.raises(ValueError, match="is a model of LightGBM, not of XGBoost"):
        XGBRanker().load_model(path)
    with pytest.raises(ValueError, match="the text of a model instead of its path"):
        XGBRanker().load_model(MODELS["json"].decode())


def test_a_model_of_the_other_host_is_not_continued():
    theirs = {
        "init_model": (LGBMRanker, [XGBRanker, xgboost.XGBRanker]),
        "xgb_model": (XGBRanker, [LGBMRanker, lightgbm.LGBMRanker]),
    }
    for name, (ranker, others) in theirs.items():
        for other in others:
            fitted = other(n_estimators=1, n_jobs=1).fit(TRAIN.X, TRAIN.y, group=TRAIN.group)
            for model in (fitted, booster_of(fitted)):
                message = r"to continue must be one of .*, got a (xgboost|lightgbm|boostrank)\."
                with pytest.raises(TypeError, match=message):
                    fit_from(ranker(n_estimators=1), **{name: model})
        with pytest.raises(TypeError, match=r"got a builtins\.int"):
            fit_from(ranker(n_estimators=1), **{name: 3})


def test_other_writers_of_models_are_read(tmp_path):
    """JSON with spaces and line ends; LightGBM's own programs write no line of categories."""
    spaced = json.dumps(json.loads(MODELS["json"]), indent=1).encode()
    bare = MODELS["txt"].partition(b"\npandas_categorical")[0]
    for content, host in ((spaced, "xgboost"), (bare, "lightgbm")):
        path = tmp_path / "model"
        path.write_bytes(content)
        assert host_of(path, content) == host
        assert load_model(path).n_trees == 3
