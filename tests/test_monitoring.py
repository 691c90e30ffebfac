"""Metrics and callbacks of the rankers' trainings, and how evaluation sets are passed."""

import re
import warnings

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from test_estimators import booster, fit_with, make_ranker
from training import evaluated, train, trees

import boostrank
from boostrank.lab.naming import parse_objective


def measured(d):
    return evaluated(d, d.X[::1])  # another object than that of the training rows


def monitored(data, *, metric="None", **given):
    ranker = make_ranker("lightgbm", metric=metric).fit(data.X, data.y, **measured(data), **given)
    (history,) = ranker.evals_result_.values()
    return list(history)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"eval_metric": "ndcg", "eval_at": [5, 10]}, ["ndcg@5", "ndcg@10"]),
        ({"eval_metric": "ndcg", "eval_at": 3}, ["ndcg@3"]),
        ({"eval_metric": ["precision", "auc"], "eval_at": 2}, ["precision@2", "auc"]),
        ({"eval_metric": ["ndcg", "err@7"], "eval_at": [5]}, ["ndcg@5", "err@7"]),
        ({"eval_metric": ["ndcg", "ndcg@5"], "eval_at": [5]}, ["ndcg@5"]),
        ({"eval_metric": "ndcg@5", "eval_at": [5]}, ["ndcg@5"]),
        ({"eval_metric": boostrank.metric("ndcg"), "eval_at": [5]}, ["ndcg@5"]),
        ({"eval_at": np.array([1, 4])}, ["ndcg@1", "ndcg@4"]),
        ({"eval_metric": "ndcg"}, ["ndcg"]),
        ({}, ["ndcg@10"]),
        # Next to LightGBM's own.
        ({"metric": "map", "eval_metric": "ndcg", "eval_at": [2]}, ["map@2", "ndcg@2"]),
        ({"metric": "map", "eval_metric": "mrr"}, [*(f"map@{k}" for k in range(1, 6)), "mrr"]),
    ],
    ids=range(12),
)  # fmt: skip
def test_eval_at_reaches_every_metric_without_a_cut_off(data, given, names):
    assert monitored(data, **given) == names


SHARED = "both would share one history; leave one out"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_metric": "ndcg@5", "eval_at": [10]}, "eval_at=[10] has no effect on 'ndcg@5'"),
        ({"eval_metric": "auc", "eval_at": [10]}, "eval_at=[10] has no effect on 'auc'"),
        ({"eval_metric": "ndcg", "eval_at": [0]}, "unknown metric 'ndcg@0'"),
        ({"metric": "ndcg", "eval_metric": "ndcg@5"}, SHARED),
        ({"metric": "ndcg,auc", "eval_metric": "ndcg@10", "eval_at": [10]}, SHARED),
        ({"metric": ["map"], "eval_metric": "map", "eval_at": [10]}, SHARED),
        ({"metric": "mean_average_precision", "eval_metric": "map@3"}, SHARED),
    ],
    ids=str,
)
def test_cut_offs_without_effect_and_two_metrics_of_one_name_are_refused(data, given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        monitored(data, **given)


def test_two_conventions_of_one_metric_are_refused(host, data):
    metrics = ["ndcg@5", boostrank.metric("ndcg@5", convention="trec")]
    with pytest.raises(ValueError, match="eval_metric has two 'ndcg@5', which would share a"):
        fit_with(host, data, measured(data), eval_metric=metrics)


class LightGBMsRounds:
    """Stops after three rounds, and writes to a list of the user's."""

    def __init__(self, seen):
        self.seen = seen
        self.done = 0

    def after_iteration(self, *_):
        self.done += 1
        self.seen.append(self.done)
        return self.done == 3

    def __call__(self, env):
        if self.after_iteration():
            raise lgb.callback.EarlyStopException(env.iteration, env.evaluation_result_list)


class Rounds(LightGBMsRounds, xgb.callback.TrainingCallback):
    """The same for XGBoost."""


def fits(host, callbacks, rounds=20):
    """Return a ranker and a function that trains it, or a clone, with these callbacks."""
    own, in_fit = {"callbacks": callbacks}, {}
    if host == "lightgbm":
        own, in_fit = in_fit, own
    ranker = make_ranker(host, n_estimators=rounds, learning_rate=0.5, **own)
    return ranker, lambda ranker, d: ranker.fit(d.X, d.y, **in_fit, **measured(d))


@pytest.mark.parametrize("kind", ["stopping", "counting"])
def test_every_training_starts_with_fresh_callbacks(host, data, kind):
    seen = []
    if kind == "counting":
        callback = LightGBMsRounds(seen) if host == "lightgbm" else Rounds(seen)
    elif host == "lightgbm":
        callback = lgb.early_stopping(3, verbose=False)
    else:
        callback = xgb.callback.EarlyStopping(rounds=3, maximize=True)
    ranker, fit = fits(host, [callback])
    first = trees(booster(fit(ranker, data)))
    for again in (clone(ranker), ranker, clone(ranker)):
        assert trees(booster(fit(again, data))) == first
    if kind == "counting":
        assert seen[:6] == [1, 2, 3, 1, 2, 3]  # scikit-learn's clones have their own lists


def test_lightgbms_recorders_still_record(data):
    recorded = {}
    _, fit = fits("lightgbm", [lgb.record_evaluation(recorded)], rounds=2)
    ranker = fit(make_ranker("lightgbm", n_estimators=2), data)
    assert recorded == ranker.evals_result_


def test_evaluation_sets_in_two_arguments(data):
    """As LightGBM 4.7 takes them, with 4.6 too, and without a warning from either."""
    X, y = data.X[:120], data.y[:120]
    ids = data.qid[:120]
    sizes = np.diff(np.flatnonzero(np.diff(ids, prepend=-1, append=-1)))
    other = data.X, data.y
    want = make_ranker("lightgbm").fit(
        data.X, data.y, qid=data.qid, eval_set=[(X, y), other], eval_qid=[ids, data.qid]
    )
    ranker = make_ranker("lightgbm").fit(
        data.X, data.y, qid=data.qid, eval_X=(X, other[0]), eval_y=(y, other[1]),
        eval_group=[sizes, data.group],
    )  # fmt: skip
    assert ranker.evals_result_ == want.evals_result_
    weight, start = np.linspace(1.0, 2.0, 120), np.linspace(0.0, 1.0, 120)
    given = {"eval_qid": ids, "eval_sample_weight": weight, "eval_init_score": start}
    rows = {"qid": data.qid, "eval_set": [(X, y)]}
    want = make_ranker("lightgbm").fit(
        data.X, data.y, **rows, **{name: [values] for name, values in given.items()}
    )
    for one in (given, {name: [values] for name, values in given.items()}):
        ranker = make_ranker("lightgbm").fit(
            data.X, data.y, qid=data.qid, eval_X=X, eval_y=y, **one
        )
        assert ranker.evals_result_ == want.evals_result_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_X": 1}, "either eval_set, or both eval_X and eval_y"),
        ({"eval_y": 1}, "either eval_set, or both eval_X and eval_y"),
        ({"eval_X": 1, "eval_y": 1, "eval_set": [(1, 1)]}, "either eval_set, or both"),
        ({"eval_X": (1, 1), "eval_y": (1,)}, "as many sets, got 2 and 1"),
    ],
    ids=range(4),
)
def test_half_an_evaluation_set_is_refused(data, given, message):
    with pytest.raises(ValueError, match=message):
        make_ranker("lightgbm").fit(data.X, data.y, qid=data.qid, eval_qid=[data.qid], **given)


def test_a_search_without_routing_says_what_is_missing(host, data):
    folds = boostrank.group_folds(data.group, 2)
    search = GridSearchCV(make_ranker(host), {"n_estimators": [2]}, cv=folds)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        search.fit(data.X, data.y, qid=data.qid)
    texts = "".join(str(each.message) for each in said)
    assert "call ranker.set_score_request(qid=True)" in texts


def test_the_class_in_place_of_an_object(host, data):
    message = r"objective must be an object, not a class: (boostrank\.)?Blend\(\)"
    with pytest.raises(TypeError, match=message):
        make_ranker(host, boostrank.Blend).fit(data.X, data.y, group=data.group)
    with pytest.raises(TypeError, match=message):
        train(host, boostrank.Blend, data, 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rank:ndcg", "that is XGBoost's, for its own ranker; ours is 'lambdarank'"),
        ("rank:pairwise", "ours is 'ranknet'"),
        ("rank_xendcg", "that is LightGBM's, for its own ranker; ours is 'xe-ndcg'"),
        ("ndcg", "that is a metric, to be measured, not a loss; to train for it, use 'blend'"),
        ("ndcg@10", "that is a metric"),
        ("unbiased", r"it wraps other .*: boostrank.Unbiased\(boostrank.RankNet\(\)\).*position="),
        ("mix", r"boostrank.Mix\("),
        ("sdcg:k=10", "only boostrank's commands read parameters .* write boostrank.SDCG"),
        ("lambdarnk", r"did you mean 'lambdarank'\? \(nearest of \d+: lambdarank(, [a-z-]+){4}\)$"),
    ],
)
def test_names_of_others(host, data, name, message):
    with pytest.raises(ValueError, match=f"unknown objective '{name}'.*{message}"):
        make_ranker(host, name).fit(data.X, data.y, group=data.group)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("rank:ndcg", "xgboost:rank:ndcg .*; ours is 'lambdarank'"),
        ("rank_xendcg", "lightgbm:rank_xendcg .*; ours is 'xe-ndcg'"),
        ("rank:map", "that is XGBoost's"),
        ("reg:squarederror", r"\(nearest of"),
        ("unbiased", "in Python"),
    ],
)
def test_names_of_others_in_commands(label, message):
    with pytest.raises(ValueError, match=f"^unknown objective '{label}'.*{message}"):
        parse_objective(label, [], rounds=1)
