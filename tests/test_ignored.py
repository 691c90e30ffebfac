"""Nothing is ignored silently: the hosts' own ranking parameters next to our objectives."""

import json
import warnings
from functools import cache

import dask.array as da
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
import xgboost.dask as dxgb
from commands import run, svmlight, write
from distributed import Client

import boostrank
from boostrank.datasets import make_ranking
from boostrank.hosts import ignored
from boostrank.hosts.undocumented import lightgbms_parameters
from boostrank.lab.models import HOSTS
from boostrank.lab.settings import Settings
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

DATA = make_ranking(12, 8, 3, seed=0)
OURS = boostrank.RankNet()  # which uses no gains
QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2}
XGBOOSTS_OWN = {"objective": "rank:pairwise", "base_score": 0, "nthread": 1}


def _dataset(y=DATA.y, group=DATA.group):
    return lgb.Dataset(DATA.X, y, group=group, params=QUIET)


def _matrix(y=DATA.y, group=DATA.group):
    return xgb.DMatrix(DATA.X, y, group=group, nthread=1)


# Each way to train takes the host's parameters, and perhaps another objective, labels and queries.


def _lightgbm_train(params, objective=OURS, *rows):
    lgb.train({**QUIET, "objective": objective, **params}, _dataset(*rows), 2)


def _lightgbm_cv(params):
    folds = boostrank.group_folds(DATA.group, 2)
    own = {**QUIET, "objective": OURS, "metric": "None", **params}
    lgb.cv(own, _dataset(), 2, folds=folds, feval=boostrank.metric("map"))


def _lightgbm_booster(params):
    booster = lgb.Booster({**QUIET, "objective": "none", **params}, _dataset())
    booster.update(fobj=OURS)
    booster.update(fobj=OURS)


def _lightgbm_ranker(params, objective=OURS, y=DATA.y, group=DATA.group, kind=lgb.LGBMRanker):
    ranker = kind(objective=objective, n_estimators=2, n_jobs=1, verbosity=-1, **params)
    ranker.fit(DATA.X, y, group=group)


def _our_lightgbm_ranker(params, *objective_and_rows):
    _lightgbm_ranker(params, *objective_and_rows, kind=LGBMRanker)


def _xgboost_train(params, objective=OURS, *rows):
    xgb.train({**XGBOOSTS_OWN, **params}, _matrix(*rows), 2, obj=objective)


def _xgboost_train_without_objective(params):
    """Here XGBoost itself warns."""
    xgb.train({"base_score": 0, "nthread": 1, **params}, _matrix(), 2, obj=OURS)


def _function_around(params, objective, *rows):
    _xgboost_train(params, lambda *args: objective(*args), *rows)


def _xgboost_cv(params):
    xgb.cv({**XGBOOSTS_OWN, **params}, _matrix(), 2, nfold=2, obj=OURS)


def _our_xgboost_ranker(params, objective=OURS, y=DATA.y, group=DATA.group, **weight):
    ranker = XGBRanker(objective=objective, n_estimators=2, n_jobs=1, **params)
    ranker.fit(DATA.X, y, group=group, **weight)


def _our_xgboost_ranker_with_weights(params):
    _our_xgboost_ranker(params, sample_weight=np.ones(len(DATA.y)))


@cache
def _client():
    """One worker in this process, whose warnings can be caught."""
    return Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)


@pytest.fixture(scope="module", autouse=True)
def _closed():
    yield
    if _client.cache_info().currsize:
        _client().close()


def _dask_lightgbm(params):
    own = {"n_estimators": 2, "min_child_samples": 2, "metric": "None", "verbosity": -1}
    ranker = lgb.DaskLGBMRanker(client=_client(), objective=OURS, **{**own, **params})
    X, y = da.from_array(DATA.X, chunks=(len(DATA.y), 3)), da.from_array(DATA.y, chunks=-1)
    ranker.fit(X, y, group=da.from_array(DATA.group, chunks=-1))


def _dask_xgboost(params):
    X, y, qid = (da.from_array(each, chunks=-1) for each in (DATA.X, DATA.y, DATA.qid))
    own = {**XGBOOSTS_OWN, **params}
    dxgb.train(_client(), own, dxgb.DaskDMatrix(_client(), X, y, qid=qid), 2, obj=OURS)


# Warnings of LightGBM's own rankers; its Dask ranker always warns.
LIGHTGBMS_OWN = ("Found 'eval_at' in params", "Parameter n_jobs will be ignored")
LIGHTGBM = {
    "lambdarank_truncation_level": 7,
    "lambdarank_norm": False,
    "lambdarank_position_bias_regularization": 0.5,
    "label_gain": [0, 1, 2, 3, 4],
    "sigmoid": 2.0,
    "objective_seed": 3,
    "eval_at": [1, 7],
}
XGBOOST = {
    "lambdarank_num_pair_per_sample": 7,
    "lambdarank_normalization": False,
    "lambdarank_score_normalization": False,
    "lambdarank_pair_method": "mean",
    "lambdarank_unbiased": True,
    "lambdarank_bias_norm": 2.0,
    "ndcg_exp_gain": False,
}
LIGHTGBMS = [
    _lightgbm_train,
    _lightgbm_cv,
    _lightgbm_booster,
    _lightgbm_ranker,
    _our_lightgbm_ranker,
    _dask_lightgbm,
]
XGBOOSTS = [
    *(_xgboost_train, _xgboost_train_without_objective, _xgboost_cv),
    *(_our_xgboost_ranker, _our_xgboost_ranker_with_weights, _dask_xgboost),
]
MATRIX = [
    *((train, name, LIGHTGBM[name]) for train in LIGHTGBMS for name in LIGHTGBM),
    *((train, name, XGBOOST[name]) for train in XGBOOSTS for name in XGBOOST),
]


def _warnings(train, *, repeated=False):
    with warnings.catch_warnings(record=True) as caught:
        # The user's default: a line warns once.
        warnings.simplefilter("always" if repeated else "default")
        train()
    return [each for each in caught if not str(each.message).startswith(LIGHTGBMS_OWN)]


@pytest.mark.parametrize(
    ("train", "name", "value"), MATRIX, ids=lambda value: getattr(value, "__name__", None)
)
def test_an_ignored_parameter_is_named_once(train, name, value):
    caught = _warnings(lambda: train({name: value}))
    said = [each for each in caught if name in str(each.message)]
    if name == "eval_at" and train in (_lightgbm_ranker, _our_lightgbm_ranker):  # it is honoured
        assert all("ignored" not in str(each.message) for each in said)
        return
    assert len(said) == 1
    if train is not _xgboost_train_without_objective:
        # No line of the user's calls a worker of Dask.
        assert said[0].filename == __file__ or train in (_dask_lightgbm, _dask_xgboost)
        assert "ignored by boostrank's ranknet: " in str(said[0].message)


@pytest.mark.parametrize("train", [*LIGHTGBMS, *XGBOOSTS], ids=lambda each: each.__name__)
def test_nothing_is_said_where_nothing_is_ignored(train):
    assert _warnings(lambda: train({})) == []


def _said_by_the_command_line(command, params, folder):
    data = write(folder / "data.txt", svmlight(DATA))
    given = write(folder / "host.json", json.dumps(params))
    result = run(*command, data, "--rounds", 2, "--params", given)
    return [line for line in result.stderr.splitlines() if "ignored" in line]


@pytest.mark.parametrize("name", [*LIGHTGBM, *XGBOOST])
def test_the_command_line_names_it(name, tmp_path):
    host, values = ("lightgbm", LIGHTGBM) if name in LIGHTGBM else ("xgboost", XGBOOST)
    train = ["train", "-o", "ranknet", "--host", host, "--model", tmp_path / "model.json"]
    (line,) = _said_by_the_command_line(train, {name: values[name]}, tmp_path)
    assert line.startswith(f"boostrank: ignored by boostrank's ranknet: {name}")


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("command", ["compare", "tune"])
def test_comparisons_and_searches_name_it(command, tmp_path):
    more = ["--trials", "1", "--repeats", "1"] if command == "tune" else ["--hosts", "lightgbm"]
    words = [command, "-o", "ranknet", *more, "--folds", "2", "--out"]
    params, other = {"lightgbm": {"sigmoid": 2.0}}, {"lightgbm": {"max_bin": 9}}
    said = _said_by_the_command_line([*words, tmp_path / "a"], params, tmp_path)
    assert [line for line in said if "ranknet" in line] == [
        "boostrank: ignored by boostrank's ranknet: sigmoid (LambdaRank(sigma=...) here); only "
        "LightGBM's own ranking objectives and metrics read it"
    ]
    assert _said_by_the_command_line([*words, tmp_path / "b"], other, tmp_path) == []


def test_cut_offs_are_honoured():
    evals = {"eval_set": [(DATA.X, DATA.y)], "eval_group": [DATA.group]}
    plain = {"n_estimators": 3, "n_jobs": 1, "verbosity": -1, "objective": OURS}
    with pytest.warns(UserWarning, match="Found 'eval_at' in params"):  # LightGBM's
        ranker = LGBMRanker(**plain, eval_at=[3]).fit(DATA.X, DATA.y, group=DATA.group, **evals)
    assert [list(each) for each in ranker.evals_result_.values()] == [["ndcg@3"]]
    with pytest.warns(UserWarning, match="ignored by boostrank's .* eval_at"):
        LGBMRanker(**plain, metric="mape").fit(
            DATA.X, DATA.y, group=DATA.group, eval_at=[3], **evals
        )
    # LightGBM's own NDCG has that cut-off too.
    params = {**QUIET, "objective": OURS, "metric": "ndcg", "eval_at": [2]}
    history = {}
    callbacks = [lgb.record_evaluation(history)]
    assert not _warnings(
        lambda: lgb.train(params, _dataset(), 2, valid_sets=[_dataset()], callbacks=callbacks)
    )
    assert [list(each) for each in history.values()] == [["ndcg@2"]]
    # "map" is part of another metric's name.
    other = params | {"metric": "mape"}
    assert "eval_at" in str(_warnings(lambda: lgb.train(other, _dataset(), 2))[0].message)


ALONE = np.ones(len(DATA.y), dtype=int)
EQUAL = np.ones(len(DATA.y))
WITHIN = np.repeat(np.arange(len(DATA.group)) % 2, DATA.group)  # equal in each query


@pytest.mark.parametrize(
    "way",
    [_lightgbm_train, _xgboost_train, _function_around, _our_lightgbm_ranker, _our_xgboost_ranker],
    ids=lambda way: way.__name__,
)
@pytest.mark.parametrize(
    ("objective", "y", "group", "warned"),
    [
        (OURS, DATA.y, DATA.group, False),
        (OURS, DATA.y, ALONE, True),
        (OURS, EQUAL, DATA.group, True),
        (OURS.replace(start_round=1), EQUAL, DATA.group, True),
        (OURS, WITHIN, DATA.group, True),
        (boostrank.QueryRMSE(), WITHIN, DATA.group, True),
        (boostrank.ListMLE(), WITHIN, DATA.group, True),
        (boostrank.Regression(), DATA.y, ALONE, False),
        (boostrank.Regression(), WITHIN, DATA.group, False),
        (boostrank.Regression(), EQUAL, DATA.group, True),
        (boostrank.Unbiased(OURS, position=WITHIN + 1), EQUAL, DATA.group, True),
        (boostrank.Preferences(OURS, [(0, 1), (9, 8)]), EQUAL, DATA.group, False),
        (boostrank.Several({"a": OURS, "b": OURS}, labels={"b": DATA.y}), EQUAL, DATA.group, False),
        (boostrank.Several({"a": OURS, "b": OURS}, labels={"b": WITHIN}), EQUAL, DATA.group, True),
    ],
    ids=range(14),
)  # fmt: skip
def test_a_training_without_two_labels_to_order_warns_once(way, objective, y, group, warned):
    caught = _warnings(lambda: way({}, objective, y, group), repeated=True)
    said = [str(each.message) for each in caught if "no query" in str(each.message)]
    message = f"no query has two different labels: {objective.name} has no order"
    assert [text.startswith(message) for text in said] == [True] * warned


# From stars, losses that only ask what is relevant made a constant model without a word.
STARS = DATA.y + 1
GRADES = DATA.y / DATA.y.max() * 4
TOP = "no query has two different labels up to its top, 1: "
ABOVE_30 = "labels above 30 count as gains 2^y - 1 in"


@pytest.mark.parametrize("ranker", [LGBMRanker, XGBRanker])
@pytest.mark.parametrize(
    ("objective", "labels", "message"),
    [
        ("smooth-ap", STARS, "all gradients of smooth-ap are 0"),
        ("slam-map", STARS, "all gradients of slam-map are 0"),
        (boostrank.LambdaRank(target="mrr"), STARS, "all gradients of lambdarank are 0"),
        ("calibrated", STARS, f"{TOP}calibrated has"),
        ("query-cross-entropy", STARS, f"{TOP}query-cross-"),
        (boostrank.Calibrated(top=5), STARS, None),
        (boostrank.Mix(OURS, boostrank.SmoothAP(), 0.5), STARS, None),
        ("lambdarank", GRADES, None),
        ("lambdarank", GRADES * 10, ABOVE_30),
        ("blend", GRADES * 10, ABOVE_30),
        ("shf-sdcg", GRADES / 2, "labels that are not whole count as gains"),
        ("ranknet", GRADES * 10, None),  # uses only their order
        ("regression", GRADES / 2, None),
    ],
    ids=range(13),
)
def test_labels_that_an_objective_is_not_for(ranker, objective, labels, message):
    host = ranker(objective=objective, n_estimators=2, n_jobs=1)
    caught = _warnings(lambda: host.fit(DATA.X, labels, group=DATA.group), repeated=True)
    assert [message in str(each.message) for each in caught] == [True] * (message is not None)


def test_a_function_around_an_objective_warns_once_of_parameters_and_grades():
    given = {"lambdarank_unbiased": True}, boostrank.LambdaRank(), DATA.y * 10
    caught = _warnings(lambda: _function_around(*given), repeated=True)
    ours = [str(each.message) for each in caught if "lambdarank" in str(each.message)]
    assert len([text for text in ours if "ignored by boostrank" in text]) == 1
    assert len([text for text in ours if "labels above 30" in text]) == 1


def test_all_parameters_of_xgboosts_own_objectives_are_known():
    """XGBoost names them, with their defaults, in the configuration of a Booster."""
    booster = xgb.train({"objective": "rank:ndcg", "nthread": 1}, _matrix(), 1)
    own = json.loads(booster.save_config())["learner"]["objective"]["lambdarank_param"]
    usual = {name: value for name, (value, _) in ignored.OF_HOSTS["xgboost"].items()}
    assert {name: value.partition(".")[0] for name, value in own.items()} == usual
    assert set(own) == set(XGBOOST)
    assert {*ignored.OF_HOSTS["lightgbm"], "eval_at"} == set(LIGHTGBM)


@pytest.mark.parametrize(
    ("host", "usual", "other"),
    [(host, name, other) for host in HOSTS for name, others in HOSTS[host].other_names.items()
     for other in others],
)  # fmt: skip
def test_the_workbench_takes_parameters_by_any_name(host, usual, other):
    """Its own settings have the usual names, to which the hosts would give precedence."""
    data = make_ranking(20, 10, n_features=3, seed=0)
    value = {"learning_rate": 0.5, "metric": "ndcg", "feature_fraction": 0.5}.get(usual, 3)

    def train(params):
        settings = Settings(rounds=2, min_docs=5, params={host: params})
        return HOSTS[host].train(boostrank.RankNet(), data, settings)[0]

    expected, got = train({usual: value}), train({other: value})
    if host == "lightgbm":
        assert got.booster.model_to_string() == expected.booster.model_to_string()
        assert value == got.booster.params[usual]
    else:
        assert got.booster.save_config() == expected.booster.save_config()
    with pytest.raises(ValueError, match=f"^{usual} and {other} are one parameter of {host}"):
        train({other: value, usual: value})


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("num_iterations", "the number of rounds"),
        ("n_estimators", "the number of rounds"),
        ("objective", "the objective"),
        ("loss", "the objective"),
        ("metric", "the metric"),
        ("metric_types", "the metric"),
        ("eval_metric", "the metric"),
        ("early_stopping_rounds", "--patience of 'train'"),
        ("iterations", "the number of rounds"),  # CatBoost's
        ("loss_function", "the objective"),
    ],
)
def test_parameters_that_the_workbench_sets_itself(host, name, cure):
    data = make_ranking(4, 5, n_features=2, seed=0)
    with pytest.raises(ValueError, match=f"{name} is no parameter of {host} here.*{cure} instead"):
        HOSTS[host].train(boostrank.RankNet(), data, Settings(params={host: {name: 3}}))


def test_unknown_parameters_of_lightgbm():
    """The workbench keeps LightGBM quiet, so that it does not say itself what it does not know."""
    data = make_ranking(20, 10, n_features=3, seed=0)
    for name, said in {
        "lerning_rate": "'lerning_rate'; did you mean 'learning_rate'",
        "ignore_column": "ignore_column has no effect here",
    }.items():
        with pytest.raises(ValueError, match=said):
            HOSTS["lightgbm"].train(
                boostrank.RankNet(), data, Settings(params={"lightgbm": {name: 0.5}})
            )
    known = lightgbms_parameters()
    assert {"learning_rate", "eta", "max_depth", "label_gain", "deterministic"} <= known, (
        "boostrank.lab no longer finds the names of LightGBM's parameters"
    )
