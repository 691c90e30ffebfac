"""What the hosts silently get wrong with a custom ranking objective, and what boostrank does.

Each test first shows what the host does with a naive function, so that a release that fixes it, or
breaks what boostrank relies on, is noticed here.
"""

import copy
import ctypes
import warnings
from contextlib import nullcontext
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from training import (
    LIGHTGBM,
    MODEL,
    ROUNDS,
    XGBOOST,
    KeepBoosters,
    dataset,
    evaluated,
    loop,
    matrix,
    train,
    trees,
)  # fmt: skip

import boostrank
from boostrank.hosts.undocumented import lightgbms_update, training_booster, xgboost_calls_directly
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker


def fill_free_memory(byte):
    """Fill with one byte the memory in which the host will create its next objects."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    chunks = [(libc.malloc(size), size) for size in range(400, 2000, 16) for _ in range(8)]
    for chunk, size in chunks:
        ctypes.memset(chunk, byte, size)
    for chunk, _ in chunks:
        libc.free(chunk)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc"), reason="needs POSIX's malloc")
@pytest.mark.parametrize("name", ["boosting", "boosting_type"])
def test_dart_of_lightgbm_is_the_same_again(data, name):
    """LightGBM reads a flag that nobody has set. With a naive function, models differ by chance."""
    params = {**LIGHTGBM, "drop_rate": 0.5, "skip_drop": 0.5, name: "dart"}
    params["objective"] = boostrank.LambdaRank()
    models = []
    for byte in (0, 1, 0, 255) * 3:
        rows = dataset(data, params=LIGHTGBM).construct()
        fill_free_memory(byte)
        models.append(lgb.train(params, rows, 20).predict(data.X))
    for other in models[1:]:
        np.testing.assert_array_equal(other, models[0])


def test_dart_of_lightgbm_does_not_measure_its_training_set(data):
    """To give their scores, it drops trees as for another round, which may not come."""
    params = {**LIGHTGBM, "objective": boostrank.QueryRMSE(), "boosting": "DART", "skip_drop": 0.0}
    rows = dataset(data, params=LIGHTGBM)
    expected = lgb.train(params, rows, 9)
    same = dataset(data, params=LIGHTGBM)
    for valid, metric in ((rows, None), (same, boostrank.metric("map"))):
        seen = lgb.train(params, rows, 9, valid_sets=[valid], feval=metric)
        assert trees(seen) == trees(expected)
    with pytest.raises(ValueError, match="DART would end with trees of the opposite sign"):
        lgb.train(params, rows, 9, valid_sets=[rows], feval=boostrank.metric("map"))
    # LightGBM's own objectives drop the trees again, and its cv makes another set.
    objective = params.pop("objective")
    for changed, fobj in (({"app": "lambdarank"}, None), ({"objective": "none"}, objective)):
        booster = updated(lgb.Booster(params | changed, rows), fobj, 9)
        with pytest.raises(ValueError, match="and eval_train") if fobj else nullcontext():
            booster.eval_train(boostrank.metric("map"))
    folds = boostrank.group_folds(data.group, 2)
    params["objective"] = objective
    lgb.cv(params, same, 9, folds=folds, eval_train_metric=True, feval=boostrank.metric("map"))
    # The ranker makes another set of the same rows, and reports it as the training set.
    ranker = LGBMRanker(objective="query-rmse", n_estimators=9, boosting="DART", verbosity=-1)
    ranker.fit(data.X, data.y, **evaluated(data, data.X))
    score = ranker.score(data.X, data.y, group=data.group)
    assert score == pytest.approx(ranker.evals_result_["training"]["ndcg@10"][-1], rel=1e-12)


def test_a_round_of_lightgbms_dart_without_a_split_is_said(data):
    params = {**LIGHTGBM, "objective": boostrank.QueryRMSE(), "boosting": "dart", "skip_drop": 0.0}
    lgb.train(params, dataset(data, params=LIGHTGBM), 9)  # warns of nothing
    with pytest.warns(UserWarning, match="DART has left no tree.* if it found no split") as said:
        lgb.train({**params, "min_gain_to_split": 1e9}, dataset(data, params=LIGHTGBM), 9)
    assert len(said) == 1
    # Nor does the host give back the weights that a round changed before it was taken back.
    params |= {"objective": "none", "drop_rate": 0.9}
    objective, booster = boostrank.QueryRMSE(), lgb.Booster(params, dataset(data, params=LIGHTGBM))
    before = updated(booster, objective, 6).predict(data.X)
    after = updated(booster, objective, 1).rollback_one_iter().predict(data.X)
    assert not np.allclose(after, before)
    with pytest.warns(UserWarning, match="after rollback_one_iter they keep other weights"):
        updated(booster, objective, 1)


def test_a_second_objective_leaves_the_draws_of_dart_alone(data):
    params = {**LIGHTGBM, "boosting": "dart", "drop_rate": 0.3, "skip_drop": 0.2}

    def scores(*objectives):
        booster = lgb.Booster(params, dataset(data, params=params))
        for objective in objectives:
            booster.update(fobj=objective)
        return booster.predict(data.X)

    first, second = boostrank.QueryRMSE(seed=0), boostrank.QueryRMSE(seed=1)  # draw nothing
    changed = scores(*[first] * 10, *[second] * 10)
    np.testing.assert_array_equal(changed, scores(*[first] * 20))


class Naive:
    """What one writes first: squared error that counts its own calls, by what it saw in them."""

    def __init__(self):
        self.seen = []

    def __call__(self, preds, data):
        self.seen.append((preds.copy(), data))
        return preds - data.get_label(), np.ones(len(preds))


class Shared(Naive):
    """The same, but the copies that LightGBM makes of it are the object itself."""

    def __deepcopy__(self, memo):
        return self


def noting(note):
    """Return the same as a function, and the list of what `note(preds, data)` says in each call."""
    seen = []

    def naive(preds, data):
        seen.append(note(preds, data))
        return preds - data.get_label(), np.ones(len(preds))

    return naive, seen


def updated(booster, objective, rounds):
    """Train a Booster of LightGBM for some rounds more."""
    for _ in range(rounds):
        booster.update(fobj=objective)
    return booster


# --- LightGBM -------------------------------------------------------------------------------------


BY_QUERY = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}


def test_bagging_by_query(data):
    naive = Shared()
    booster = train("lightgbm", naive, data, params=BY_QUERY)
    # It learns nothing: all documents but the first keep their score.
    assert all(np.all(preds[1:] == 0.0) for preds, _ in naive.seen)
    sampled = train("lightgbm", Shared(), data, params=BY_QUERY | {"bagging_by_query": False})
    assert len(trees(sampled)) > len(trees(booster))

    params, objective = {**LIGHTGBM, **BY_QUERY}, boostrank.SHFSDCG()
    later = {"bagging_by_query": [False, *[True] * (ROUNDS - 1)]}
    plain = lgb.LGBMRanker(objective=objective, **BY_QUERY, verbosity=-1)
    ours = LGBMRanker(objective=objective, **BY_QUERY, verbosity=-1)
    for call in (
        lambda: train("lightgbm", objective, data, params=BY_QUERY),
        # A Dataset constructed earlier does not take the parameters over.
        lambda: lgb.train(
            {**params, "objective": objective}, dataset(data, params=LIGHTGBM).construct(), ROUNDS
        ),
        lambda: lgb.Booster(params, dataset(data)).update(fobj=objective),
        lambda: train("lightgbm", objective, data, callbacks=[lgb.reset_parameter(**later)]),
        lambda: plain.fit(data.X, data.y, group=data.group),
        lambda: ours.fit(data.X, data.y, group=data.group),
    ):
        with pytest.raises(ValueError, match=r"bagging_by_query .*query_fraction=0\.5"):
            call()
    off = train("lightgbm", boostrank.SHFSDCG(), data, params={"bagging_by_query": False})
    assert len(trees(off)) == ROUNDS


def test_cv_splits_queries(data):
    naive = Shared()
    lgb.cv({**LIGHTGBM, "objective": naive}, dataset(data), 1, nfold=3, stratified=False)
    # Every query is in every fold, in part.
    assert sum(len(part.get_group()) for _, part in naive.seen) > 2 * len(data.group)

    for objective, metric in ((boostrank.SHFSDCG(), None), ("l2", boostrank.metric("map"))):
        params = {**LIGHTGBM, "objective": objective}
        with pytest.raises(ValueError, match=r"splits \d+ queries.*group_folds\(group\)"):
            lgb.cv(params, dataset(data), 1, nfold=3, stratified=False, feval=metric)
    # Of whole queries it takes them: tests/test_entry_points.py, the row "cv".


def test_a_part_of_a_part_that_splits_queries(data):
    whole = dataset(data).construct()
    part = whole.subset(np.flatnonzero(data.qid < 30))
    lgb.train({**LIGHTGBM, "objective": boostrank.SHFSDCG()}, part, 1)
    cut = part.construct().subset(range(1, part.num_data()))
    rest = cut.construct().subset(np.arange(cut.num_data()))  # whole queries, of what is left
    for rows in (cut, rest):
        message = r"splits 1 queries: it holds \d+ of the \d+ documents of query 0"
        with pytest.raises(ValueError, match=message):
            lgb.train({**LIGHTGBM, "objective": boostrank.SHFSDCG()}, rows, 1)


def test_a_part_that_repeats_queries(data):
    """As a bootstrap over queries does: all copies of a query become one query."""
    first = np.arange(data.group[0])
    part = dataset(data).construct().subset([*range(len(data.y)), *first])
    naive = Shared()
    lgb.train({**LIGHTGBM, "objective": naive}, part, 1)
    assert naive.seen[0][1].get_group()[0] == 2 * data.group[0]
    message = "repeats documents of 1 queries, the first of them query 0"
    with pytest.raises(ValueError, match=message):
        lgb.train({**LIGHTGBM, "objective": boostrank.SHFSDCG()}, part, 1)


def test_a_counter_inside_the_objective_is_wrong(data):
    naive = Naive()
    train("lightgbm", naive, data)
    assert naive.seen == []  # a copy did the counting
    naive, folds = Shared(), boostrank.group_folds(data.group, 3)
    lgb.cv({**LIGHTGBM, "objective": naive}, dataset(data), ROUNDS, folds=folds)
    train("lightgbm", naive, data)
    assert len(naive.seen) == 4 * ROUNDS
    # boostrank's rounds: tests/test_entry_points.py, the rows "cv", "twice" and "three threads".


def weighted(host, objective, data, weight):
    """Train with weights of queries, whose only effect on a naive objective would be on bins."""
    if host == "lightgbm":
        rows = dataset(data, weight=np.repeat(weight, data.group))
        return trees(lgb.train({**LIGHTGBM, "objective": objective}, rows, 2))
    params = {**XGBOOST, "tree_method": "exact"}
    return trees(xgb.train(params, matrix(data, weight=weight), 2, obj=objective))


def test_weights_are_ignored(data, host):
    equal, other = np.ones(len(data.group)), np.linspace(0.5, 2.0, len(data.group))
    naive, ours = Shared(), boostrank.SHFSDCG()
    assert weighted(host, naive, data, equal) == weighted(host, naive, data, other)
    assert weighted(host, ours, data, equal) != weighted(host, ours, data, other)


def test_weights_that_are_all_0_are_refused(data, host):
    weight = np.zeros(len(data.group))
    with pytest.raises(ValueError, match="weight must be above 0 somewhere"):
        weighted(host, boostrank.RankNet(), data, weight)
    weight[0] = 1.0
    weighted(host, boostrank.RankNet(), data, weight)


@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_bad_hessians_train_a_constant_model(data, value):
    def broken(preds, rows):
        return np.float32(preds - rows.get_label()), np.full(len(preds), value, np.float32)

    booster = train("lightgbm", broken, data)
    assert len(np.unique(booster.predict(data.X))) == 1
    # boostrank's are finite and positive: tests/test_hosts.py.


def test_small_hessians_do_not_split(data):
    """XGBoost's min_child_weight is 1: a loss that is measured in hundredths learns nothing."""

    def naive(preds, data):
        return 1e-3 * (preds - data.get_label()), np.full(len(preds), 1e-3)

    booster = train("xgboost", naive, data, 1)
    assert len(np.unique(booster.predict(matrix(data)))) == 1
    _, hess = boostrank.SHFSDCG()(0, np.zeros(len(data.y)), matrix(data))
    assert hess.sum() > 0.5 * len(data.y)


def test_the_hosts_ranker_counts_arguments(data):
    ranker = lgb.LGBMRanker(objective=lambda *args: None, verbosity=-1)
    with pytest.raises(TypeError, match="2, 3 or 4 arguments"):
        ranker.fit(data.X, data.y, group=data.group)
    # boostrank's objects show four: tests/test_entry_points.py, the row "the host's ranker".


def test_positions_are_ignored(data):
    position = np.arange(len(data.y)) % 5
    plain = train("lightgbm", Shared(), data, 2)
    biased = lgb.train({**LIGHTGBM, "objective": Shared()}, dataset(data, position=position), 2)
    assert trees(plain) == trees(biased)
    params = {**LIGHTGBM, "objective": boostrank.LambdaRank()}
    with pytest.warns(UserWarning, match="position is ignored") as caught:
        booster = lgb.train(params, dataset(data, position=position), ROUNDS)
    assert [each.filename for each in caught] == [__file__]
    assert trees(booster) == trees(lgb.train(params, dataset(data), ROUNDS))
    shown = xgb.DMatrix(data.X, data.y, group=data.group, label_lower_bound=position + 1)
    with pytest.warns(UserWarning, match="label_lower_bound, of positions, is ignored") as caught:
        booster = xgb.train(XGBOOST, shown, ROUNDS, obj=boostrank.LambdaRank())
    assert [each.filename for each in caught] == [__file__]
    assert trees(booster) == trees(loop("xgboost", boostrank.LambdaRank(), data))


def test_grades_above_thirty_fail(data):
    y = 10 * data.y
    rows = {"X": data.X, "y": y, "group": data.group}
    with pytest.raises(lgb.basic.LightGBMError, match="Label 40 is not less than"):
        lgb.LGBMRanker(n_estimators=2, n_jobs=1, verbosity=-1).fit(**rows)
    ranker = LGBMRanker(objective="shf-sdcg", n_estimators=2, n_jobs=1, verbosity=-1)
    with pytest.warns(UserWarning, match="labels above 30 count as gains"):
        ranker.fit(**rows, eval_set=[(data.X, y)], eval_group=[data.group])
    assert ranker.booster_.num_trees() == 2


def test_queries_of_over_ten_thousand_documents_fail():
    n = 10_001
    rows = {"X": np.arange(2.0 * n).reshape(n, 2), "y": np.arange(n) % 5, "group": [n]}
    with pytest.raises(lgb.basic.LightGBMError, match="exceeds upper limit of 10000 for a query"):
        lgb.LGBMRanker(n_estimators=2, n_jobs=1, verbosity=-1).fit(**rows)
    ranker = LGBMRanker(objective="shf-sdcg", n_estimators=2, n_jobs=1, verbosity=-1)
    assert ranker.fit(**rows).booster_.num_trees() == 2


def test_quantized_gradients_in_an_update_loop(data):
    """A Booster made without an objective assumes the Hessians of squared error.

    It cannot be distinguished from a Booster made with "objective": "none", as `lightgbm.train`
    makes it: docs/hosts.md says so.
    """
    objective, quantized = boostrank.SHFSDCG(), {"use_quantized_grad": True}

    def update(params):
        booster = lgb.Booster({**LIGHTGBM, **quantized, **params}, dataset(data))
        return trees(updated(booster, objective, ROUNDS))

    expected = train("lightgbm", objective, data, params=quantized)
    assert update({}) != trees(expected)
    assert update({"objective": "none"}) == trees(expected)


def test_rolling_back_a_round(data):
    """Nothing tells an objective that a tree was taken back; `start_round` can."""
    objective = boostrank.RegSHFSDCG(total_rounds=ROUNDS)

    def rolled_back():
        booster = lgb.Booster({**LIGHTGBM, "objective": "none"}, dataset(data))
        return updated(booster, objective, 3).rollback_one_iter()

    booster = rolled_back()
    forgetful = copy.deepcopy(booster)
    booster.update(fobj=objective.replace(start_round=3))
    expected = loop("lightgbm", objective, data, 3)
    # Taking a tree back leaves rounding errors in the scores.
    np.testing.assert_allclose(booster.predict(data.X), expected.predict(data.X), rtol=1e-9)
    assert forgetful.num_trees() == 2
    again = updated(rolled_back(), objective, 1)  # counts as round 4
    assert not np.allclose(again.predict(data.X), expected.predict(data.X), rtol=1e-3)


@pytest.mark.parametrize("start", [None, 1])
def test_another_training_set_in_an_update_loop(start, data):
    """Its rounds are those of the Booster, also if the first one was given."""
    objective = boostrank.RegSHFSDCG(total_rounds=ROUNDS, start_round=start)
    first, second = dataset(data), dataset(data)
    booster = updated(lgb.Booster({**LIGHTGBM, "objective": "none"}, first), objective, 2)
    second.set_reference(first)
    booster.update(train_set=second, fobj=objective)
    assert trees(booster) == trees(loop("lightgbm", objective, data, 3))


@pytest.mark.parametrize(("event", "field"), [("a measure", "weight"), ("an error", "label")])
def test_scores_after_a_change_of_the_data(data, event, field):
    """The host then passes an array that nobody has written to. Its getters miss `set_field`."""

    def failing(preds, rows):
        preds[:] = np.pi  # the host's own array, and so the memory of its next one
        raise KeyboardInterrupt

    def scores(event):
        rows = dataset(data, weight=1.0 + data.y, params=LIGHTGBM).construct()
        booster = updated(lgb.Booster(LIGHTGBM, rows), boostrank.RankNet(), 1)
        if event == "a measure":
            booster.eval_train(feval=boostrank.metric("map"))
        if event == "an error":
            with pytest.raises(KeyboardInterrupt):
                booster.update(fobj=failing)
        values = 1.0 + np.arange(len(data.y)) % 2
        getattr(rows, f"set_{field}")(values) if event else rows.set_field(field, values)
        return updated(booster, boostrank.RankNet(), 1).predict(data.X)

    np.testing.assert_array_equal(scores(event), scores(None))


def test_continued_training_drops_start_scores(data):
    first = train("lightgbm", boostrank.RankNet(), data)
    start = np.linspace(-3.0, 3.0, len(data.y))
    own = {**LIGHTGBM, "objective": Shared()}
    naive, moved = (
        lgb.train(own, dataset(data, init_score=scores), ROUNDS, init_model=first)
        for scores in (None, start)
    )
    assert trees(naive) == trees(moved)
    params = {"boosting": "rf", "feature_fraction": 0.5}
    forest = train("lightgbm", "lambdarank", data, params=params)
    rows = {"qid": data.qid, "eval_set": [(data.X[:], data.y)], "eval_qid": [data.qid]}
    for given in ({"init_score": start}, {"eval_init_score": [start]}, {"init_model": forest}):
        with pytest.raises(ValueError, match=r"init_score (has no effect|instead)"):
            LGBMRanker().fit(data.X, data.y, **{"init_model": first, **rows, **given})


def test_a_schedule_that_was_over_before(data, host):
    """Whether it should stay at its end or start again cannot be guessed."""
    objective = boostrank.RegSHFSDCG(total_rounds=ROUNDS)

    def trained(objective, model=None):
        return train(host, objective, data, **{MODEL[host]: model})

    model = trained(objective)
    with pytest.raises(ValueError, match=r"6 rounds already.*ends with round 6.*start_round=1"):
        trained(objective, model)
    seen = trained(objective.replace(start_round=1), model)
    last = trained(objective.replace(start_round=ROUNDS + 1), model)
    assert trees(seen)[:ROUNDS] == trees(last)[:ROUNDS] == trees(model)
    assert trees(seen)[ROUNDS:] != trees(last)[ROUNDS:]
    # One training may outlast its schedule, whose last value stays.
    assert len(trees(trained(objective.replace(total_rounds=2)))) == ROUNDS
    # An objective without a schedule has none that could be over.
    assert len(trees(trained(boostrank.SHFSDCG(), model))) == 2 * ROUNDS


# --- XGBoost --------------------------------------------------------------------------------------


def test_a_plain_function_is_not_told_the_iteration(data):
    naive, calls = noting(lambda *args: len(args))
    train("xgboost", naive, data, 2)
    assert calls == [2, 2]
    for objective, what in (
        (boostrank.RegSHFSDCG(total_rounds=2), "reg-shf-sdcg follows a schedule"),
        (boostrank.SHFSDCG(query_fraction=0.5), "shf-sdcg samples queries in every round"),
        (boostrank.SHFSDCG(), r"shf-sdcg draws noise in every round \(perturb=None: none\)"),
        (boostrank.XENDCG(), "xe-ndcg draws numbers in every round"),
    ):
        for function in (lambda *args: objective(*args), partial(objective)):  # noqa: B023
            with pytest.raises(ValueError, match=f"boosting round is not known: {what}"):
                train("xgboost", function, data, 2)


def test_ids_that_a_matrix_of_xgboost_misreads(data):
    X, y, ranker = data.X[:20], data.y[:20], XGBRanker(n_estimators=2, n_jobs=1)
    fractions = np.repeat([1.2, 1.7], 10)
    large = pd.Series(np.repeat([2**24, 2**24 + 1], 10))
    for qid in (fractions, large):
        assert xgb.DMatrix(X, y, qid=qid).get_uint_info("group_ptr").tolist() == [0, 20]
    with pytest.raises(TypeError, match="qid must"):
        ranker.fit(X, y, qid=fractions)
    expected = ranker.fit(X, y, group=[10, 10]).predict(X)
    assert np.array_equal(ranker.fit(X, y, qid=large).predict(X), expected)


def test_weights_of_queries_in_a_linear_booster_are_refused(data):
    """It predicts NaN (docs/host_bugs.md), or whatever is in memory behind the weights."""
    weighted = matrix(data, weight=np.linspace(0.5, 2.0, len(data.group)))
    xgb.train(XGBOOST, weighted, 1, obj=boostrank.RankNet())
    linear = {"objective": "rank:pairwise", "booster": "gblinear", "nthread": 1}
    with pytest.raises(ValueError, match=r"^XGBoost's linear booster misreads weights .*XGBRanker"):
        xgb.train(linear, weighted, 1, obj=boostrank.RankNet())


def test_cv_drops_weights(data):
    """Nothing tells an objective that there were any: docs/hosts.md says so."""
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(data.group)).astype(np.float32)
    naive, seen = noting(lambda _, part: len(part.get_weight()))
    weighted = matrix(data, weight=weight)
    kwargs = {"nfold": 3, "as_pandas": False, "shuffle": False}
    xgb.cv(XGBOOST, weighted, 1, obj=naive, **kwargs)
    assert seen == [0, 0, 0]
    keep, keep_plain = KeepBoosters(), KeepBoosters()
    objective = boostrank.SHFSDCG()
    xgb.cv(XGBOOST, weighted, 2, obj=objective, callbacks=[keep], **kwargs)
    xgb.cv(XGBOOST, matrix(data), 2, obj=objective, callbacks=[keep_plain], **kwargs)
    for booster, plain in zip(keep.boosters, keep_plain.boosters, strict=True):
        assert trees(booster) == trees(plain)
    # Folds with weights one makes oneself: tests/test_entry_points.py, "weights of queries".


@pytest.mark.parametrize("kwargs", [{"folds": [([0], [1])]}, {"stratified": True}], ids=str)
def test_cv_takes_no_other_folds(data, kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, about rare grades
        with pytest.raises(xgb.core.XGBoostError, match="group"):
            xgb.cv(XGBOOST, matrix(data), 1, obj=boostrank.SHFSDCG(), as_pandas=False, **kwargs)


@pytest.mark.parametrize("dtype", [np.float16, ">f4"])
def test_gradients_of_other_types_are_misread(data, dtype):
    def naive(kind):
        def function(preds, rows):
            grad = (preds - rows.get_label()).astype(kind)
            return grad, np.ones(len(grad), dtype=np.float32)

        return function

    def trained(objective):
        try:
            return trees(train("xgboost", objective, data, 1))
        except (TypeError, ValueError, xgb.core.XGBoostError):
            return "refused"

    assert trained(naive(dtype)) != trained(naive(np.float32))
    # boostrank's are float32: tests/test_hosts.py.


def test_a_model_of_a_custom_objective_is_stored_as_a_regression(data, tmp_path):
    path = tmp_path / "model.json"
    xgb.train({"nthread": 1}, matrix(data), 2, obj=Shared()).save_model(path)
    ranker = xgb.XGBRanker()
    ranker.load_model(path)
    assert ranker.objective == "reg:squarederror"
    ours = XGBRanker(objective="shf-sdcg", n_estimators=2, n_jobs=1)
    ours.fit(data.X, data.y, group=data.group).save_model(path)
    ranker.load_model(path)
    assert ranker.objective == "rank:pairwise"


def test_training_starts_at_one_half(data):
    naive = Shared()
    xgb.train({"nthread": 1}, matrix(data), 1, obj=naive)
    assert np.all(naive.seen[0][0] == 0.5)
    # boostrank's ranker starts at 0: tests/test_entry_points.py, the row "boostrank's ranker".


def test_the_hosts_ranker_refuses_functions(data):
    with pytest.raises(ValueError, match="custom objective function not supported"):
        xgb.XGBRanker(objective=Shared())
    ranker = xgb.XGBRanker(n_estimators=1)
    ranker.set_params(objective=boostrank.SHFSDCG())
    # It takes the function, drops it, and trains a regression or fails.
    with pytest.raises(KeyError):
        ranker.fit(data.X, data.y, group=data.group)
    # boostrank's takes them: tests/test_entry_points.py, the row "boostrank's ranker".
    rows = {"X": data.X, "y": data.y, "eval_set": [(data.X, data.y)]}
    # From XGBoost 3.4 on, it may get the DMatrix.
    no_queries = r"no queries; .* use boostrank.xgboost.XGBRanker"
    with pytest.raises((TypeError, ValueError), match=no_queries):
        xgb.XGBRegressor(objective=boostrank.SHFSDCG()).fit(**rows)
    ranker = xgb.XGBRanker(eval_metric=boostrank.metric("ndcg"))
    with pytest.raises(TypeError, match=no_queries):
        ranker.fit(**rows, group=data.group, eval_group=[data.group])


def test_several_scores_for_a_document_are_refused(data):
    for wide in ({"num_class": 3}, {"num_target": 3}):
        with pytest.raises(ValueError, match="one score for each document, but the host has 3"):
            xgb.train({**XGBOOST, **wide}, matrix(data), 1, obj=boostrank.Blend())
    wide = {**LIGHTGBM, "num_class": 3, "objective": boostrank.Blend()}
    with pytest.raises(ValueError, match="one score for each document, but the host has 3"):
        lgb.train(wide, dataset(data), 1)


def test_queries_and_weights_that_the_hosts_do_not_take(data):
    down = -data.qid
    with pytest.raises(xgb.core.XGBoostError, match="non-decreasing"):
        xgb.XGBRanker(n_estimators=1).fit(data.X, data.y, qid=down)
    weight = np.ones(len(data.y))
    with pytest.raises(xgb.core.XGBoostError, match="weight"):
        xgb.XGBRanker(n_estimators=1).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    plain = lgb.LGBMRanker(n_estimators=1, min_child_samples=5, verbosity=-1)
    folds = boostrank.group_folds(data.group, 2)
    search = GridSearchCV(plain, {"num_leaves": [3]}, cv=folds, error_score="raise", scoring=len)
    with pytest.raises(lgb.basic.LightGBMError, match="quer"):
        search.fit(data.X, data.y, group=data.group)
    # boostrank's rankers take both: test_estimators.py, and in searches: test_entry_points.py.


def first_document(labels, scores, *args):
    return float(scores[0])


def test_the_hosts_ranker_averages_by_sizes(data):
    """With a function as metric, long queries count more."""
    ranker = xgb.XGBRanker(n_estimators=1, n_jobs=1, eval_metric=first_document)
    ranker.fit(data.X, data.y, **evaluated(data, data.X))
    first = ranker.predict(data.X)[np.cumsum(data.group) - data.group]
    first[data.group == 1] = 1.0  # the metric is not even called for single documents
    wrong = ranker.evals_result_["validation_0"]["first_document"][0]
    assert wrong == pytest.approx(np.average(first, weights=data.group), abs=1e-5)
    assert wrong != pytest.approx(first.mean(), abs=1e-3)
    # boostrank's means are those of `evaluate`: test_estimators.py.


def test_early_stopping_guesses_the_direction(data):
    """For a metric that it does not know by name, XGBoost assumes that less is better."""
    kwargs = {"evals": [(matrix(data), "train")], "verbose_eval": False}
    params = {**XGBOOST, "disable_default_eval_metric": True}
    wrong = xgb.train(
        params, matrix(data), 30, obj=boostrank.SHFSDCG(perturb=None), early_stopping_rounds=3,
        custom_metric=lambda *args: ("ours", boostrank.metric("mrr")(*args)[1]), **kwargs,
    )  # fmt: skip
    assert wrong.best_iteration == 0
    rows = {"group": data.group, "eval_set": [(data.X, data.y)], "eval_group": [data.group]}
    ranker = XGBRanker(
        objective="ranknet", n_estimators=30, max_depth=3, n_jobs=1, eval_metric="mrr",
        early_stopping_rounds=3,
    ).fit(data.X, data.y, **rows)  # fmt: skip
    assert ranker.best_iteration > 0  # the best round, as of every metric: test_directions.py
    stop = xgb.callback.EarlyStopping(rounds=3, maximize=False)
    with pytest.raises(ValueError, match=r"EarlyStopping\(rounds=\.\.\., maximize=True\)"):
        XGBRanker(callbacks=[stop]).fit(data.X, data.y, **rows)
    stop = xgb.callback.EarlyStopping(rounds=3)
    told = clone(ranker).set_params(early_stopping_rounds=None, callbacks=[stop])
    assert told.fit(data.X, data.y, **rows).best_iteration == ranker.best_iteration
    assert stop.maximize is None  # the user's own


# --- What boostrank relies on ---------------------------------------------------------------------


def test_lightgbms_booster_tells_that_an_update_is_done(data):
    seen = []

    def naive(preds, rows):
        seen.append(lightgbms_update(training_booster("lightgbm")))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return preds - rows.get_label(), np.ones(len(preds))

    booster = lgb.Booster(LIGHTGBM, dataset(data))
    booster.update(fobj=naive)
    with pytest.raises(KeyboardInterrupt):
        booster.update(fobj=naive)
    booster.update(fobj=naive)
    message = "boostrank.hosts no longer finds out whether LightGBM has used its gradients"
    assert None not in seen, message
    assert seen[0] is not seen[1], message
    assert seen[1] is seen[2], message


def test_the_booster_is_among_the_callers(data):
    naive, found = noting(lambda *_: training_booster("lightgbm"))
    xgboosts, rounds = noting(lambda *_: training_booster("xgboost").num_boosted_rounds())
    booster = lgb.Booster({**LIGHTGBM, "bagging_by_query": True}, dataset(data))
    booster.update(fobj=naive)
    assert found == [booster], "boostrank.hosts no longer finds the Booster whose round it is"
    assert booster.params["bagging_by_query"] is True
    assert booster.train_set.num_data() == len(data.y)
    more = lgb.Booster(model_str=booster.model_to_string())
    assert more.current_iteration() == booster.current_iteration() == 1
    assert training_booster("lightgbm") is None
    found.clear()
    model = train("xgboost", naive, data, 2)
    more = train("xgboost", xgboosts, data, 2, xgb_model=model)
    assert rounds == [2, 3], "XGBoost's Booster no longer tells how many rounds it has"
    assert len(trees(more)) == 4


def test_xgboosts_booster_holds_the_objective(data):
    naive, direct = noting(lambda *_: xgboost_calls_directly(naive))
    train("xgboost", naive, data, 1)
    train("xgboost", lambda preds, rows: naive(preds, rows), data, 1)
    assert direct == [True, False], "boostrank.hosts no longer finds the objective in XGBoost"


def test_lightgbms_ranker_trains_its_private_objective(data):
    ranker = lgb.LGBMRanker(n_estimators=1, verbosity=-1)
    ranker._objective = naive = lambda y, preds: (preds - y, np.ones(len(y)))
    ranker.fit(data.X, data.y, group=data.group)
    assert ranker.objective_ is naive, (
        "LGBMRanker no longer trains what stands in `_objective`: boostrank.lightgbm sets that"
    )


def test_xgboost_tells_registered_classes_the_iteration(data):
    """In continued training, from 0 again. boostrank's continue: tests/test_entry_points.py."""
    seen = []

    class Registered:
        def __call__(self, *args):
            seen.append(args[0])
            return args[1] - args[2].get_label(), np.ones(len(args[1]))

    xgb.objective.Objective.register(Registered)
    model = train("xgboost", Registered(), data, 2)
    train("xgboost", Registered(), data, 2, xgb_model=model)
    assert seen == [0, 1, 0, 1], "XGBoost no longer tells (iteration, preds, DMatrix)"
