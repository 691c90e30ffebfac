"""`LGBMRanker` and `XGBRanker`: arguments, metrics, early stopping, copies, saved models.

`test_entry_points.py` shows that they train what they should.
"""

import copy
import math
import pickle
from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from training import EVAL_START, EVAL_WEIGHT, START, evaluated, trees

import boostrank
from boostrank.hosts.ignored import LIGHTGBMS_OTHER_NAMES
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

HOSTS = ("lightgbm", "xgboost")
ROUNDS = 4


def make_ranker(host, objective="shf-sdcg", **params):
    params = {"objective": objective, "n_estimators": ROUNDS, "n_jobs": 1, **params}
    if host == "lightgbm":
        return LGBMRanker(num_leaves=7, min_child_samples=5, verbosity=-1, **params)
    return XGBRanker(max_depth=3, **params)


def fit_with(host, data, rows, **given):
    """Fit with what LightGBM's ranker takes in `fit`, and XGBoost's as a parameter."""
    own, in_fit = ({}, given) if host == "lightgbm" else (given, {})
    return make_ranker(host, **own).fit(data.X, data.y, **rows, **in_fit)


def booster(ranker):
    return ranker.booster_ if isinstance(ranker, lgb.LGBMRanker) else ranker.get_booster()


def test_an_empty_query_changes_nothing(host, data):
    weight = np.linspace(0.5, 2.0, len(data.group))
    expected = make_ranker(host).fit(data.X, data.y, group=data.group, sample_weight=weight)
    group, weight = np.insert(data.group, 1, 0), np.insert(weight, 1, 9.0)
    ranker = make_ranker(host).fit(data.X, data.y, group=group, sample_weight=weight)
    assert trees(booster(ranker)) == trees(booster(expected))


def test_weights_are_per_document_if_there_are_as_many_queries(host, data):
    """Some of them empty: `fit` and `score` read the weights as `evaluate` does."""
    n = len(data.y)
    group = np.concatenate([data.group, np.zeros(n - len(data.group), int)])
    weight = np.random.default_rng(2).exponential(size=n)
    of_rows = {"sample_weight": weight}
    expected = make_ranker(host).fit(data.X, data.y, group=data.group, **of_rows)
    ranker = make_ranker(host).fit(data.X, data.y, group=group, **of_rows)
    assert trees(booster(ranker)) == trees(booster(expected))
    measured = boostrank.evaluate(ranker.predict(data.X), data.y, group, weight=weight)
    score = ranker.score(data.X, data.y, group=group, **of_rows)
    assert score == pytest.approx(measured["ndcg@10"], rel=1e-12)


@pytest.mark.filterwarnings("ignore:score is of the trees alone")
def test_sort(host, data):
    """Features of every kind are in test_inputs.py."""
    order = np.random.default_rng(0).permutation(len(data.y))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(data.y))
    # Sorting keeps the order within queries, so the expected rows must have it too.
    back = order[np.argsort(data.qid[order], kind="stable")]
    start = np.linspace(0.0, 1.0, len(data.y))
    ranker = make_ranker(host).fit(
        data.X[order], data.y[order], qid=data.qid[order], sample_weight=weight[order],
        sort=True, **{START[host]: start[order]},
    )  # fmt: skip
    expected = make_ranker(host).fit(
        data.X[back], data.y[back], group=data.group, sample_weight=weight[back],
        **{START[host]: start[back]},
    )  # fmt: skip
    assert trees(booster(ranker)) == trees(booster(expected))
    expected_score = boostrank.evaluate(ranker.predict(data.X[back]), data.y[back], data.group)
    score = ranker.score(data.X[order], data.y[order], qid=data.qid[order])
    assert score == expected_score["ndcg@10"]


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", ["qid", "Query_ID", "group_id", "session"])
def test_the_query_id_is_no_feature(host, data, frame, name):
    if host == "lightgbm" and frame is polars.DataFrame and lgb.__version__.startswith("4.6."):
        pytest.skip("the estimators of LightGBM 4.6 fail for polars")
    plain = frame({f"f{i}": column for i, column in enumerate(data.X.T)})
    with_id = frame({f"f{i}": column for i, column in enumerate(data.X.T)} | {name: data.qid})
    refused = pytest.raises(ValueError, match=f"query's id among its features, in.*'{name}'")
    with refused:
        make_ranker(host).fit(with_id, data.y, qid=data.qid)
    with refused:
        make_ranker(host).fit(plain, data.y, **evaluated(data, with_id))
    ranker = make_ranker(host).fit(plain, data.y, qid=data.qid)
    with refused:
        ranker.score(with_id, data.y, qid=data.qid)
    if name == "session":  # without ids, only a known name reveals it
        return
    with refused:
        make_ranker(host).fit(with_id, data.y, group=data.group)
    with refused:
        ranker.predict(with_id)


@pytest.mark.parametrize("dtype", [float, bool, "Int64"])
def test_the_label_is_no_feature(host, data, dtype):
    """A frame that still has its label trains a perfect model, which is good for nothing."""
    y = np.minimum(data.y, 1.0)
    table = pandas.DataFrame(data.X).rename(columns=str)
    ranker = make_ranker(host).fit(table, y, qid=data.qid)
    leaking = table.assign(clicked=y.astype(bool) if dtype is bool else pandas.array(y, dtype))
    refused = pytest.raises(ValueError, match="X has the label among its features, in the")
    with refused:
        make_ranker(host).fit(leaking, y, qid=data.qid)
    with refused:
        make_ranker(host).fit(table, y, **evaluated(data, leaking, y))
    with refused:
        ranker.score(leaking, y, qid=data.qid)


@pytest.mark.parametrize("name", ["doc_id", "DocID", "document_id"])
def test_the_documents_id_is_no_feature(host, data, name):
    table = pandas.DataFrame(data.X).rename(columns=str).assign(**{name: np.arange(len(data.y))})
    with pytest.raises(ValueError, match=f"X has the document's id among its.*'{name}'"):
        make_ranker(host).fit(table, data.y, qid=data.qid)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda ids: [math.nan, *ids[1:]], ValueError, "row 0 has none"),
        (lambda ids: [*ids[:2], None, *ids[3:]], ValueError, "row 2 has none"),
        (lambda ids: pandas.array([*ids[:3], None, *ids[4:]], "Int64"), ValueError, "row 3 has no"),
        (lambda ids: polars.Series([*ids[:3], None, *ids[4:]]), ValueError, "row 3 has none"),
        (lambda ids: np.array([*ids[:4], "x", *ids[5:]], object), TypeError, "row 4 has 'x'"),
        (lambda ids: np.array(["NaT", *ids[1:]], "M8[D]"), ValueError, "row 0 has none"),
    ],
    ids=["nan", "none", "pandas", "polars", "mixed", "date"],
)
def test_every_document_has_an_id(host, data, change, error, message):
    ids = change(data.qid.tolist())
    with pytest.raises(error, match=f"^qid must.*{message}"):
        make_ranker(host).fit(data.X, data.y, qid=ids)
    with pytest.raises(error, match=f"^eval_qid must.*{message}"):
        make_ranker(host).fit(data.X, data.y, **evaluated(data, data.X) | {"eval_qid": [ids]})


def test_ids_of_any_type_and_order_make_the_queries_of_group(host, data):
    """Of more types in test_inputs.py."""
    expected = trees(booster(make_ranker(host).fit(data.X, data.y, group=data.group)))
    days = np.datetime64("2026-01-01") + data.qid
    series = pandas.Series(days)
    dates = days, series, series.dt.tz_localize("UTC"), days.astype(object)
    for ids in (*dates, -data.qid, data.qid.astype(object), data.qid.astype(np.uint64)):
        assert trees(booster(make_ranker(host).fit(data.X, data.y, qid=ids))) == expected


def test_start_scores_are_checked(host, data):
    short, missing = np.zeros(5), np.where(data.y > 1, np.nan, 0.0)
    for start, message in ((short, "one number for each of the"), (missing, "finite, got nan at")):
        with pytest.raises(ValueError, match=f"{START[host]} must be {message}"):
            make_ranker(host).fit(data.X, data.y, qid=data.qid, **{START[host]: start})
    far = {START[host]: 1e9 + data.X[:, 0]}  # LightGBM keeps float64
    lost = pytest.raises(ValueError, match="base_margin must differ as float32, in which hosts")
    with lost if host == "xgboost" else nullcontext():
        make_ranker(host).fit(data.X, data.y, qid=data.qid, **far)
    tied = np.where(data.X[:, 0] > 0.0, 0.1 + 0.2, 0.3)  # up to rounding
    make_ranker(host).fit(data.X, data.y, qid=data.qid, **{START[host]: tied})
    ranker = make_ranker(host).fit(data.X, data.y, qid=data.qid, **{START[host]: data.y})
    with pytest.warns(UserWarning, match=f"score is of the trees alone, without the {START[host]}"):
        ranker.score(data.X, data.y, qid=data.qid)


def test_the_labels_of_fit_choose_the_metric_of_score(host, data):
    """Those of one fold may be grades, and those of another none."""
    ranker = make_ranker(host, "query-rmse").fit(data.X, 40.0 * data.y, qid=data.qid)
    with pytest.warns(UserWarning, match="score is spearman, since the labels of fit asked for it"):
        score = ranker.score(data.X, data.y, qid=data.qid)
    want = boostrank.evaluate(ranker.predict(data.X), data.y, data.group, ["spearman"])
    assert score == want["spearman"]
    ranker.set_params(objective=boostrank.LambdaRank(gain="linear"))
    want = boostrank.evaluate(ranker.predict(data.X), data.y, data.group, gain="linear")
    assert ranker.score(data.X, data.y, qid=data.qid) == want["ndcg@10"]


def test_parameters_of_the_objective_may_be_given_with_it(host, data):
    ranker = make_ranker(host, "blend", objective__signal="highest")
    assert clone(ranker).fit(data.X, data.y, qid=data.qid).objective_.signal == "highest"


def test_one_evaluation_set_as_a_pair(host, data):
    rows = {"qid": data.qid, "eval_qid": [data.qid]}
    one, other = (
        make_ranker(host).fit(data.X, data.y, eval_set=sets, **rows).evals_result_
        for sets in ((data.X[:], data.y[:]), [(data.X[:], data.y[:])])
    )
    assert one == other


def test_sort_takes_query_weights_by_ascending_id(host, data):
    order = np.argsort(-data.qid, kind="stable")
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(data.group))
    rows = {"qid": data.qid[order], "sample_weight": weight, "sort": True}
    ranker = make_ranker(host).fit(data.X[order], data.y[order], **rows)
    expected = make_ranker(host).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    assert trees(booster(ranker)) == trees(booster(expected))


SET = np.zeros((9, 1)), [0, 1, 2] * 3


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"group": None}, ValueError, "pass either group.* or qid.*; got neither"),
        ({"qid": range(9)}, ValueError, "pass either group.* or qid.*; got both"),
        (
            {"group": None, "qid": [1, 1, 1, 2, 2, 1, 3, 3, 3]},
            ValueError,
            r"but 1 comes back at row 5 after another query; .*sort=True.*np\.argsort\(qid",
        ),
        ({"group": None, "qid": [1, 2]}, ValueError, "one id for each of the 9 documents"),
        ({"group": None, "qid": [0.5] * 9}, TypeError, "qid must hold integers or strings"),
        ({"sort": True}, ValueError, "sort=True sorts by qid"),
        ({"group": [3, 3]}, ValueError, "group must add up to the number of documents, 9"),
        ({"y": [0, 1, np.nan] * 3}, ValueError, "labels must be relevance grades"),
        ({"y": [0, 1, -1] * 3}, ValueError, "labels must be relevance grades"),
        ({"y": None}, ValueError, "y is missing: pass the grade of each row of X"),
        ({"sample_weight": [1.0] * 4}, ValueError, "each of the 3 queries or for each of the 9"),
        ({"sample_weight": [-1.0] * 3}, ValueError, "weight must be between 0 and"),
        ({"sample_weight": [0.0] * 3}, ValueError, "sample_weight must have a weight above 0"),
        ({"sample_weight": [1e39] * 9}, ValueError, r"sample_weight must be at most 3\.4e\+38"),
        ({"sample_weight": [1e-42] * 9}, ValueError, "sample_weight .* somewhere at least 1e-30"),
        ({"eval_group": [[9]]}, ValueError, "eval_group of evaluation sets are given, but no eval"),
        ({"eval_set": [SET]}, ValueError, "pass either eval_group.* or eval_qid.*; got neither"),
        (
            {"eval_set": [SET], "eval_group": [[9], [9]]},
            ValueError,
            "eval_group must have one for each of the 1 sets, got 2",
        ),
        (
            {"eval_set": [SET], "eval_qid": [[1, 2, 1] * 3]},
            ValueError,
            "eval_qid must keep a query's rows together",
        ),
        ({"eval_set": [SET[0]], "eval_group": [[9]]}, ValueError, r"list of pairs \(X, y"),
    ],
    ids=range(20),
)
def test_bad_data(host, changes, error, message):
    rows = {"X": np.arange(9.0)[:, None], "y": [0, 1, 2] * 3, "group": [3, 3, 3]}
    ranker = make_ranker(host)
    with pytest.raises(error, match=message):
        ranker.fit(**{**rows, **changes})
    with pytest.raises(NotFittedError):
        ranker.predict(rows["X"])


@pytest.mark.parametrize("objective", [None, len])
def test_bad_objectives(host, data, objective):
    """Names are in test_monitoring.py."""
    with pytest.raises(TypeError, match="objective must be one of boostrank's, by name or as an"):
        make_ranker(host, objective).fit(data.X, data.y, group=data.group)


def test_bad_metrics(host, data):
    """Names are in test_monitoring.py."""
    with pytest.raises(TypeError, match="eval_metric must be a name such as 'ndcg@10'"):
        fit_with_metrics(host, data, len)


def test_schedules_take_their_length_from_n_estimators(host, data):
    halving = boostrank.Schedule("halving", 100)
    given = boostrank.RegSHFSDCG(total_rounds=100, alpha=halving)
    ranker = make_ranker(host, given).fit(data.X, data.y, group=data.group)
    assert ranker.objective is given
    expected = given.replace(
        total_rounds=ROUNDS, alpha=boostrank.Schedule("halving", ROUNDS, first=64.0, last=1 / 64)
    )
    assert ranker.objective_ == expected
    ranker.set_params(n_estimators=2).fit(data.X, data.y, group=data.group)
    assert ranker.objective_.total_rounds == 2
    # Continued from the scores of a model.
    later = make_ranker(host, given.replace(start_round=8)).fit(data.X, data.y, group=data.group)
    assert later.objective_.total_rounds == 7 + ROUNDS


def test_no_other_name_is_ignored_by_lightgbm(data):
    """LightGBM's own list: a name that is not refused has an effect, or none on the model."""
    values = {
        "learning_rate": 0.33, "num_leaves": 8, "max_depth": 3, "min_split_gain": 0.01,
        "min_child_weight": 0.5, "min_child_samples": 9, "subsample": 0.7, "subsample_freq": 2,
        "colsample_bytree": 0.6, "reg_alpha": 0.3, "reg_lambda": 0.4, "random_state": 7,
        "subsample_for_bin": 1000, "boosting_type": "dart",
    }  # fmt: skip
    aliases = lgb.basic._ConfigAliases
    for name, value in values.items():
        group = aliases.get(name)
        main = next(each for each in aliases.aliases if name in [each, *aliases.aliases[each]])
        for other in sorted(group - {name}):
            ranker = make_ranker("lightgbm").set_params(n_estimators=1, **{other: value})
            if other in LIGHTGBMS_OTHER_NAMES.get(name, ()):
                with pytest.raises(ValueError, match=f"{other} must be given as {name}"):
                    ranker.fit(data.X, data.y, group=data.group)
                continue
            text = ranker.fit(data.X, data.y, group=data.group).booster_.model_to_string()
            assert f"[{main}: {value}]\n" in text, other


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"num_iterations": 7}, "num_iterations must be given as n_estimators, got 7"),
        ({"metrics": "ndcg"}, "metrics must be given as metric, got 'ndcg'"),
        ({"metric_types": "ndcg"}, "metric_types must be given as metric, got 'ndcg'"),
        ({"loss": "lambdarank"}, "loss must be given as objective, got 'lambdarank'"),
        ({"num_leafs": 7}, "unknown parameter of lightgbm 'num_leafs'; did you mean 'num_leaf"),
        ({"eval_metric": "map"}, "eval_metric must be passed to fit, not to LGBMRanker; got 'map'"),
        ({"metric": boostrank.metric("map")}, "metric must be a name .* go to fit, as eval_metric"),
        (
            {"metric": [boostrank.metric("map")]},
            "metric must be a name or a list of names of Light",
        ),
        (
            {"metric": ["ndcg", "mrr"]},
            "^metric='mrr' is no metric of LightGBM; boostrank's go to fi",
        ),
        ({"label_gain": "0 1 3"}, "label_gain must be numbers, .* got '0 1 3'"),
        ({"metric": ("ndcg", "map")}, r"metric must be a name .*, got \('ndcg', 'map'\)"),
        ({"n_estimators": None}, "n_estimators must be a whole number of at least 1, got None"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number of at least 1, got 2.5"),
    ],
)
def test_parameters_that_lightgbm_would_misread(data, params, message):
    ranker = LGBMRanker(**params, verbosity=-1)
    with pytest.raises((TypeError, ValueError), match=message):
        ranker.fit(data.X, data.y, group=data.group)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"seed": 1, "random_state": 1}, "^seed and random_state are one parameter of xgboost: le"),
        ({"obj": boostrank.RankNet()}, "obj is no parameter of XGBRanker: pass an objective as ob"),
        ({"custom_metric": boostrank.metric("map")}, "custom_metric is no parameter of XGBRanker"),
        ({"n_estimators": 0}, "n_estimators must be at least 1, got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number of at least 1, got 2.5"),
        ({"monotone_constraints": [0.5, 1]}, "Invalid Parameter format for monotone_constraints"),
        ({"eval_metric": [], "early_stopping_rounds": 2}, "eval_metric must name a metric for e"),
    ],
)
def test_parameters_that_xgboost_would_ignore(data, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        XGBRanker(**params).fit(data.X, data.y, **evaluated(data, data.X))


def test_parameters_of_a_class_derived_from_the_ranker_are_its_own(data):
    class Clipped(LGBMRanker):
        def __init__(self, *, least=0.0, **kwargs):
            super().__init__(**kwargs)
            self.least = least

    class Scaled(Clipped):
        def __init__(self, *, scale=1.0, **kwargs):
            super().__init__(**kwargs)
            self.scale = scale

    own = {"n_estimators": 2, "n_jobs": 1, "verbosity": -1}
    derived = clone(Scaled(scale=2.0, least=0.5, **own)).fit(data.X, data.y, group=data.group)
    assert (derived.scale, derived.least) == (2.0, 0.5)
    plain = LGBMRanker(**own).fit(data.X, data.y, group=data.group)
    assert trees(derived.booster_) == trees(plain.booster_)


def test_interaction_constraints_that_lightgbm_misreads(data):
    def scores(kind, constraints):
        ranker = kind(n_estimators=2, verbosity=-1, interaction_constraints=constraints)
        return ranker.fit(data.X, data.y, group=data.group).predict(data.X).tolist()

    assert scores(lgb.LGBMRanker, [["x1"], ["x2"]]) == scores(lgb.LGBMRanker, [[0], [0]])
    assert scores(lgb.LGBMRanker, ((0,), (1, 2))) == scores(lgb.LGBMRanker, None)
    for misread in ([["x1"], ["x2"]], ((0,), (1, 2)), [np.array([0, 1])]):
        with pytest.raises(TypeError, match="must be a list of lists of column numbers"):
            scores(LGBMRanker, misread)
    allowed = [[0], list(np.arange(1, 3))]
    assert scores(LGBMRanker, allowed) == scores(LGBMRanker, "[0],[1,2]")
    assert scores(LGBMRanker, allowed) != scores(LGBMRanker, None)


def fit_with_metrics(host, data, metrics):
    """Fit with two evaluation sets: one of other grades with weights, one of the true grades."""
    noise = np.random.default_rng(5).integers(0, 3, len(data.y))
    weight = np.random.default_rng(6).uniform(0.5, 2.0, len(data.group))
    eval_set = [(data.X[:, :], noise), (data.X[:, :], data.y)]
    rows = {"group": data.group, "eval_set": eval_set, "eval_qid": [data.qid, data.qid]}
    rows[EVAL_WEIGHT[host]] = [weight, None]
    ranker = fit_with(host, data, rows, eval_metric=metrics)
    return ranker, list(ranker.evals_result_.values()), noise, weight


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        (None, ["ndcg@10"]),
        ("map", ["map"]),
        (boostrank.metric("map"), ["map"]),
        (["mrr", boostrank.metric("ndcg@5", convention="lightgbm")], ["mrr", "ndcg@5"]),
    ],
    ids=["default", "name", "object", "several"],
)
def test_eval_metric(host, data, metrics, names):
    ranker, history, noise, weight = fit_with_metrics(host, data, metrics)
    scores = ranker.predict(data.X)
    for values, grades, weights in zip(history, (noise, data.y), (weight, None), strict=True):
        assert list(values) == names
        for name, rounds in values.items():
            convention = "lightgbm" if name == "ndcg@5" else "standard"
            expected = boostrank.evaluate(
                scores, grades, data.group, [name], convention=convention, weight=weights
            )[name]
            assert len(rounds) == ROUNDS
            assert rounds[-1] == pytest.approx(expected, abs=2e-6)  # XGBoost prints six digits


def test_an_evaluation_set_without_start_scores_is_said(host, data):
    """Its metrics are of the trees alone, which correct the start scores of training."""
    given = {START[host]: data.y, **evaluated(data, data.X[:, :])}
    message = f"{START[host]} is given for training but not for an eval"
    with pytest.warns(UserWarning, match=message):
        make_ranker(host).fit(data.X, data.y, **given)
    make_ranker(host).fit(data.X, data.y, **given, **{EVAL_START[host]: [data.y]})
    if host == "lightgbm":  # which takes that of training
        make_ranker(host).fit(data.X, data.y, **{**given, "eval_set": [(data.X, data.y)]})


def test_feature_weights_of_xgboost(data):
    weights = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    ranker = make_ranker("xgboost", feature_weights=weights, colsample_bynode=0.2)
    ranker.fit(data.X, data.y, group=data.group)
    assert np.flatnonzero(ranker.feature_importances_).tolist() == [2]


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda ranker: pickle.loads(pickle.dumps(ranker))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies(host, data, duplicate):
    ranker = make_ranker(host, "reg-shf-sdcg").fit(data.X, data.y, group=data.group)
    again = duplicate(ranker)
    assert again.objective == ranker.objective
    assert again.objective_ == ranker.objective_
    assert np.array_equal(again.predict(data.X), ranker.predict(data.X))
    again.fit(data.X, data.y, group=data.group)
    assert trees(booster(again)) == trees(booster(ranker))


def test_set_params(host, data):
    ranker = make_ranker(host, boostrank.SHFSDCG(k=10))
    assert ranker.set_params(objective__k=5, objective__alpha=2.0, n_estimators=2) is ranker
    assert ranker.objective == boostrank.SHFSDCG(k=5, alpha=2.0)
    assert ranker.n_estimators == 2
    ranker.set_params(objective="reg-shf-sdcg", objective__k=3)
    assert ranker.objective == boostrank.RegSHFSDCG(total_rounds=1, k=3)
    ranker.fit(data.X, data.y, group=data.group)
    assert ranker.objective_ == boostrank.RegSHFSDCG(total_rounds=2, k=3)
    ranker.set_params(objective="sdcg")
    assert ranker.objective_ == boostrank.RegSHFSDCG(total_rounds=2, k=3)  # as it was trained
    ranker.fit(data.X, data.y, group=data.group)
    assert ranker.objective_ == boostrank.SDCG()
    with pytest.raises(TypeError, match="SHFSDCG has no parameter 'sigma'"):
        make_ranker(host, boostrank.SHFSDCG()).set_params(objective__sigma=1.0)
    with pytest.raises(ValueError, match="unknown objective 'sgcd'"):
        make_ranker(host).set_params(objective="sgcd", objective__k=1)


def test_in_a_pipeline_and_a_grid_without_metadata_routing(host, data):
    """`fit` arguments that are row-aligned are sliced by scikit-learn itself."""
    grid = {"ranker__objective": ["lambdarank", boostrank.SDCG(k=5)], "ranker__n_estimators": [2]}
    pipeline = Pipeline([("scaler", StandardScaler()), ("ranker", make_ranker(host))])
    search = GridSearchCV(
        pipeline, grid, cv=boostrank.group_folds(data.group, 2), scoring=lambda model, X, y: 0.0
    ).fit(data.X, data.y, ranker__qid=data.qid)
    fitted = search.best_estimator_[-1]
    X = StandardScaler().fit_transform(data.X)
    expected = make_ranker(host, search.best_params_["ranker__objective"], n_estimators=2)
    expected.fit(X, data.y, group=data.group)
    assert trees(booster(fitted)) == trees(booster(expected))


@pytest.mark.parametrize("ids", ["text", "descending"])
def test_weights_of_queries_are_in_the_order_of_rows(host, ids, data):
    """Of "0", "1", "10", ..., and of -0, -1, -2: what `fit` and `evaluate` read, `score` reads."""
    ranker = make_ranker(host).fit(data.X, data.y, group=data.group)
    weight = np.random.default_rng(3).exponential(size=len(data.group)) ** 2
    qid = data.qid.astype(str) if ids == "text" else -data.qid
    expected = boostrank.evaluate(ranker.predict(data.X), data.y, qid=qid, weight=weight)
    score = ranker.score(data.X, data.y, qid=qid, sample_weight=weight)
    assert score == expected["ndcg@10"]
    by_id = pandas.Series(weight, list(dict.fromkeys(qid)))
    assert score == ranker.score(data.X, data.y, qid=qid, sample_weight=by_id)
    with pytest.raises(ValueError, match=r"sample_weight has the queries in another order"):
        make_ranker(host).fit(data.X, data.y, qid=qid, sample_weight=by_id.sort_index())
    with pytest.raises(ValueError, match=r"weight has the queries in another .*unique\(qid\)"):
        boostrank.evaluate(data.X[:, 0], data.y, qid=qid, weight=by_id.sort_index())

    order = np.random.default_rng(4).permutation(len(qid))
    shuffled = [values[order] for values in (data.X, data.y)]
    with pytest.raises(ValueError, match=r"one weight per document where qid scatters"):
        ranker.score(*shuffled, qid=qid[order], sample_weight=weight)
    back = order[np.argsort(qid[order], kind="stable")]
    of_rows = np.repeat(weight, data.group)
    scores, rows = ranker.predict(data.X[back]), {"qid": qid[back], "weight": of_rows[back]}
    expected = boostrank.evaluate(scores, data.y[back], **rows)
    score = ranker.score(*shuffled, qid=qid[order], sample_weight=of_rows[order])
    assert score == expected["ndcg@10"]


def test_weights_of_scattered_queries_whose_ids_ascend(host, data):
    ranker = make_ranker(host).fit(data.X, data.y, group=data.group)
    weight = np.random.default_rng(3).exponential(size=len(data.group)) ** 2
    place = np.arange(len(data.qid)) - np.repeat(np.cumsum(data.group) - data.group, data.group)
    order = np.argsort(place > 0, kind="stable")  # the first document of each query, then others
    back = order[np.argsort(data.qid[order], kind="stable")]
    score = ranker.score(data.X[order], data.y[order], qid=data.qid[order], sample_weight=weight)
    of_back = ranker.predict(data.X[back]), data.y[back], data.group
    assert score == boostrank.evaluate(*of_back, weight=weight)["ndcg@10"]


@pytest.mark.parametrize("what", ["weights", "of documents", "no weights", "group", "offset"])
@pytest.mark.parametrize("same", [True, False], ids=["training rows", "other rows"])
def test_an_evaluation_set_has_its_own_queries_and_weights(host, what, same, data):
    """LightGBM takes from the training set what is not given with the same objects."""
    start = np.linspace(-1.0, 1.0, len(data.y)) * (what == "offset")
    n_weights = len(data.y) if what == "of documents" else len(data.group)
    weight = np.random.default_rng(0).exponential(size=n_weights) ** 3
    group = np.array([len(data.y)]) if what == "group" else data.group
    given = {EVAL_WEIGHT[host]: [weight]} if what in ("weights", "of documents") else {}
    given |= {EVAL_START[host]: [start]} if what == "offset" else {}
    given |= {"sample_weight": weight} if what == "no weights" else {}
    X = data.X if same else data.X[:, :]
    evals = {"eval_set": [(X, data.y)], "eval_group": [group]}
    ranker = make_ranker(host).fit(data.X, data.y, group=data.group, **evals, **given)
    (history,) = ranker.evals_result_.values()
    scores = ranker.predict(data.X) + start
    weighted = EVAL_WEIGHT[host] in given or (what == "no weights" and same and host == "lightgbm")
    want = boostrank.evaluate(scores, data.y, group, weight=weight if weighted else None)
    assert history["ndcg@10"][-1] == pytest.approx(want["ndcg@10"], abs=2e-6)


def test_a_sorted_evaluation_set_of_the_training_rows_is_the_training_set(data):
    """By which LightGBM stops no training early, and takes its weights."""
    order = np.random.default_rng(0).permutation(len(data.y))
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    rows = {"qid": qid, "sort": True, "eval_set": [(X, y)]}
    same = make_ranker("lightgbm").fit(X, y, eval_qid=[qid], **rows)
    assert list(same.evals_result_) == ["training"]
    other = make_ranker("lightgbm").fit(X, y, eval_qid=[-qid], **rows)
    assert list(other.evals_result_) == ["valid_0"]
    found, want = (
        each["ndcg@10"] for each in (*same.evals_result_.values(), *other.evals_result_.values())
    )
    assert found == pytest.approx(want)


def test_defaults_train(data):
    for ranker in (LGBMRanker(verbosity=-1, n_jobs=1), XGBRanker(n_jobs=1)):
        ranker.fit(data.X, data.y, group=data.group)
        assert ranker.objective_ == boostrank.Blend()
        assert len(trees(booster(ranker))) > 50


@pytest.mark.parametrize(
    "params", [{"max_bin": 8}, {"booster": "gblinear"}], ids=["tree", "linear"]
)
def test_weights_of_queries_are_those_of_their_documents(data, params):
    """XGBoost itself cuts features elsewhere, or makes NaN (docs/host_bugs.md)."""
    weight = np.linspace(0.5, 2.0, len(data.group))
    params = {"n_estimators": ROUNDS, "n_jobs": 1, **params}
    rows = {"sample_weight_eval_set": [weight], **evaluated(data, data.X)}
    of_queries, of_documents = (
        XGBRanker(**params).fit(data.X, data.y, sample_weight=values, **rows)
        for values in (weight, np.repeat(weight, data.group))
    )
    assert np.isfinite(of_queries.predict(data.X)).all()
    assert np.array_equal(of_queries.predict(data.X), of_documents.predict(data.X))
