"""The engine: what it trains, chooses, measures and tests."""

import importlib
import itertools
import sys
import warnings
from dataclasses import fields, replace

import lightgbm
import numba
import numpy as np
import pandas as pd
import pytest
import xgboost
from commands import fold_of, lines_of, result_of, row_of, svmlight, write
from scipy.stats import binomtest, ttest_rel
from training import train

import boostrank
from boostrank.datasets import RankingData, letor_folds, make_ranking
from boostrank.lab import records, runner, search
from boostrank.lab.folds import rotation
from boostrank.lab.latex import latex_table
from boostrank.lab.learners import Learner, learners
from boostrank.lab.model import Stopping
from boostrank.lab.models import HOSTS, TRAINERS
from boostrank.lab.plan import make_plan
from boostrank.lab.records import ResultStore
from boostrank.lab.results import Failure, Row, holm_p_values, verdicts
from boostrank.lab.settings import METRICS, Settings
from boostrank.lab.stats import TESTS, differences, holm, paired_p_value
from boostrank.lab.words import share_in_words
from boostrank.xgboost import XGBRanker

SETTINGS = Settings(rounds=12, learning_rate=0.3, leaves=5, min_docs=3)
LEARNERS = [
    *(Learner(f"{host}:{name}", host, name) for host, name in
      (("lightgbm", "lambdarank"), ("xgboost", "rank:ndcg"))),
    *(Learner("lambdarank", host, boostrank.LambdaRank()) for host in ("lightgbm", "xgboost")),
    Learner("regression", "xgboost", boostrank.Regression()),
]  # fmt: skip


@pytest.fixture(scope="module")
def parts():
    data = make_ranking(35, 12, 6, seed=4)
    # Some queries have no relevant document, so the standard convention leaves them out.
    y = np.where(data.qid % 7 == 0, 0.0, data.y)
    return RankingData(data.X, y, data.qid).split(5, seed=1)


@pytest.fixture(scope="module")
def fold(parts):
    return next(letor_folds(parts))


def _scores(booster, X, rounds):
    """Return what the host itself predicts with the first rounds."""
    if isinstance(booster, lightgbm.Booster):
        return booster.predict(X, num_iteration=rounds, raw_score=True)
    return booster.predict(xgboost.DMatrix(X), output_margin=True, iteration_range=(0, rounds))


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_staged_scores_are_the_hosts_own(learner, fold):
    model, _ = HOSTS[learner.host].train(learner.objective, fold.train, SETTINGS)
    X = fold.validation.X
    stages = list(model.staged(X))
    assert len(stages) == model.n_trees == SETTINGS.rounds
    for rounds in (1, 2, 7, 12):
        own = _scores(model.booster, X, rounds)
        # Bit for bit: different rounding would break ties differently.
        np.testing.assert_array_equal(stages[rounds - 1], own)
        np.testing.assert_array_equal(model.predict(X, rounds), own)
    np.testing.assert_array_equal(model.predict(X), stages[-1])


@pytest.mark.parametrize(
    ("host", "objective", "more"),
    [
        ("xgboost", boostrank.Calibrated(), {"base_score": 0.5}),
        ("xgboost", boostrank.Calibrated(), {"num_parallel_tree": 3, "subsample": 0.5}),
        ("lightgbm", "lambdarank", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
    ],
)
def test_staged_scores_are_added_as_the_host_adds(host, objective, more, fold):
    """Levels count in logloss: base_score belongs to the first round alone, forests have means."""
    settings = Settings(rounds=4, params={host: more})
    model, _ = HOSTS[host].train(objective, fold.train, settings)
    stages = list(model.staged(fold.test.X))
    expected = [model.predict(fold.test.X, rounds) for rounds in range(1, 5)]
    np.testing.assert_array_equal(stages, expected)


#: What `SETTINGS` should be to the hosts.
PARAMS = {
    "lightgbm": {"learning_rate": 0.3, "num_leaves": 5, "min_data_in_leaf": 3},
    "xgboost": {
        "eta": 0.3, "grow_policy": "lossguide", "tree_method": "hist", "max_leaves": 5,
        "max_depth": 0,
    },
}  # fmt: skip


@pytest.mark.parametrize("convention", ["standard", "letor3"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_fold_equals_plain_training(learner, fold, convention):
    rounds, settings = [], replace(SETTINGS, convention=convention)
    result = runner.run_fold(learner, fold, 1, settings, lambda: rounds.append(1))
    assert len(rounds) == SETTINGS.rounds
    params, objective = PARAMS[learner.host], learner.objective
    if isinstance(objective, str):
        params, objective = params | {"objective": objective}, None
    booster = train(learner.host, objective, fold.train, SETTINGS.rounds, params=params)

    def measured(part, rounds, metrics):
        scores = _scores(booster, part.X, rounds)
        return boostrank.evaluate(scores, part.y, part.group, metrics, convention=convention)

    curve = [measured(fold.validation, m, ["ndcg@10"])["ndcg@10"] for m in range(1, 13)]
    best = 1 + curve.index(max(curve))
    np.testing.assert_allclose(result.curve, curve, rtol=1e-12)
    assert result.best_round == best
    columns = {"lightgbm": ("tree_index", "split_feature", "split_gain", "Column_{}"),
               "xgboost": ("Tree", "Feature", "Gain", "f{}")}  # fmt: skip
    tree, feature, gain, name = columns[learner.host]
    splits = booster.trees_to_dataframe()
    gains = splits[splits[tree] < best].groupby(feature)[gain].sum()
    own = [gains.get(name.format(i), 0.0) for i in range(fold.train.X.shape[1])]
    np.testing.assert_allclose(result.importance, own, rtol=1e-5)  # it prints six digits
    row = Row(learner, (result,), None, SETTINGS)
    for metric, value in measured(fold.test, best, METRICS).items():
        assert row.mean(metric) == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(result.qid, list(dict.fromkeys(fold.test.qid.tolist())))


def _nothing_to_learn(fold):
    return fold._replace(train=replace(fold.train, X=np.zeros_like(fold.train.X)))


def test_fixed_rounds_and_curves_without_a_choice(fold):
    learner = LEARNERS[2]
    plain = runner.run_fold(learner, fold, 1, SETTINGS)
    # With fixed rounds, the model of all rounds is tested.
    settings = replace(SETTINGS, fixed_rounds=True)
    fixed = runner.run_fold(learner, fold._replace(test=fold.validation), 1, settings)
    assert fixed.best_round == SETTINGS.rounds != plain.best_round
    assert np.nanmean(fixed.figures["ndcg@10"]) == pytest.approx(plain.curve[-1], rel=1e-12)
    # The curve is a mean over queries, even of what is a mean over documents elsewhere.
    settings, held = replace(SETTINGS, metric="logloss", fixed_rounds=True), fold.validation
    part = RankingData(held.X[3:], held.y[3:], held.qid[3:])  # one query is shorter
    odds = runner.run_fold(learner, fold._replace(validation=part, test=part), 1, settings)
    assert odds.figures["logloss"].mean() == pytest.approx(odds.curve[-1], rel=1e-12)
    # Nothing to learn: every tree scores all documents alike, and the first round is kept.
    constant = runner.run_fold(LEARNERS[4], _nothing_to_learn(fold), 1, SETTINGS)
    assert (len(constant.curve), constant.best_round) == (12, 1)


def test_a_fold_that_lightgbm_stops_early_keeps_its_last_value(fold):
    learner, folds = LEARNERS[0], (_nothing_to_learn(fold), fold)
    short, whole = (runner.run_fold(learner, each, 1, SETTINGS) for each in folds)
    assert len(short.curve) == 1
    curve = Row(learner, (short, whole), None, SETTINGS).curve
    np.testing.assert_allclose(curve, (short.curve[0] + whole.curve) / 2)


def test_every_objective_trains_on_both_hosts_and_the_schedule_knows_the_rounds(fold):
    chosen = learners(None, None, 4)
    names = {str(learner) for learner in chosen}
    assert names == {
        *(f"{name}@{host}" for name in boostrank.objective_names() for host in HOSTS),
        *("lightgbm:lambdarank", "lightgbm:rank_xendcg"),
        *("xgboost:rank:ndcg", "xgboost:rank:pairwise"),
    }
    settings = Settings(rounds=4, leaves=4, min_docs=3)
    for learner in chosen:
        result = runner.run_fold(learner, fold, 1, settings)
        assert 1 <= result.best_round <= 4, str(learner)
        assert result.seconds_per_round > 0
    scheduled = {
        learner.objective.total_rounds
        for learner in chosen
        if hasattr(learner.objective, "total_rounds")
    }
    assert scheduled == {4}


def test_catboosts_own_objectives_are_rows_next_to_ours(fold, parts):
    chosen = learners({"sdcg": boostrank.SDCG()}, ["lightgbm", "catboost"], 4)
    own = [learner for learner in chosen if learner.host == "catboost"]
    assert [str(learner) for learner in chosen] == [
        *("lightgbm:lambdarank", "lightgbm:rank_xendcg", *map(str, own)),
        *("regression@lightgbm", "sdcg@lightgbm"),
    ]
    names = ["QueryRMSE", "YetiRank", "YetiRankPairwise", "RMSE"]
    assert [learner.objective for learner in own] == names
    rounds = []
    for learner in own:
        settings = replace(SETTINGS, params={"catboost": {"depth": 2}})
        model, _ = TRAINERS["catboost"].train(
            learner.objective, fold.train, settings, lambda: rounds.append(1)
        )
        scores = model.predict(fold.test.X)
        stages = list(model.staged(fold.test.X))
        np.testing.assert_allclose(stages[-1], scores, atol=1e-12)
        np.testing.assert_allclose(stages[2], model.predict(fold.test.X, 3), atol=1e-12)
        assert not model.predict(fold.test.X, 0).any()
        assert model.n_trees == len(stages)
    assert len(rounds) == len(own) * SETTINGS.rounds
    with pytest.raises(ValueError, match="catboost accepts none of our objectives, got sdcg"):
        TRAINERS["catboost"].train(boostrank.SDCG(), fold.train, SETTINGS)
    plan = _plan(parts, named={"sdcg": boostrank.SDCG()}, hosts=["catboost"])
    assert "Left out, since catboost trains its own objectives only: sdcg." in plan.notes


@pytest.mark.parametrize("builtin", TRAINERS["catboost"].builtins)
def test_catboost_takes_codes_for_categories_whatever_their_order(builtin, rng):
    codes = rng.integers(0, 9, 200).astype(float)
    codes[::9] = np.nan
    others = np.array([5, 0, 8, 2, 7, 1, 6, 3, 4, np.nan])
    renamed = others[np.nan_to_num(codes, nan=9.0).astype(int)]
    numbers, y, qid = rng.normal(size=200), np.nan_to_num(codes) % 3, np.repeat(range(20), 10)
    predicted = []
    for words in (codes, renamed):
        X = np.column_stack([numbers, words])
        data = RankingData(X, y, qid, categorical=(1,))
        model, _ = TRAINERS["catboost"].train(builtin, data, SETTINGS)
        scores = model.predict(X)
        np.testing.assert_allclose(list(model.staged(X))[-1], scores, atol=1e-12)
        predicted.append(scores)
    np.testing.assert_allclose(predicted[0], predicted[1], rtol=1e-6)


def test_leaves_alone_limit_the_trees_of_both_hosts():
    # Grades that grow exponentially: the best tree splits off the largest again and again.
    x = np.repeat(np.arange(12.0), 40)
    data = RankingData(x.reshape(-1, 1), 1.8**x, np.ones(480, dtype=int))
    settings = Settings(rounds=1, leaves=12, min_docs=1)
    for host in HOSTS:
        model, _ = HOSTS[host].train(boostrank.Regression(), data, settings)
        scores = model.predict(data.X)
        assert len(np.unique(scores)) == 12
        if host == "xgboost":
            (tree,) = model.booster.get_dump()
            assert max(line.count("\t") for line in tree.splitlines()) > 6  # its default depth


def test_values_beyond_float32(fold):
    X = fold.train.X.copy()
    X[3, 1] = 1e300
    model, _ = HOSTS["xgboost"].train(boostrank.RankNet(), fold.train, SETTINGS)
    refused = pytest.raises(ValueError, match=r"^XGBoost computes with float32, but column 1 of X")
    with refused:
        HOSTS["xgboost"].train(boostrank.RankNet(), replace(fold.train, X=X), SETTINGS)
    with refused:
        model.predict(X)


def test_labels_to_stop_by_must_differ_in_the_hosts_too(fold):
    lost = replace(fold.validation, y=1.0 + 1e-12 * fold.validation.y)
    for host in HOSTS.values():
        with pytest.raises(ValueError, match="labels must differ as float32"):
            host.train(boostrank.QueryRMSE(), fold.train, SETTINGS, stopping=Stopping(lost, 2))


def test_threads_are_for_the_objective_too_and_restored(fold):
    """In every training of the workbench, as that of `boostrank train`."""
    before = numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(before)
    seen = []

    class Spy(boostrank.Regression):
        def __call__(self, *args):
            seen.append(numba.get_num_threads())
            return super().__call__(*args)

    HOSTS["lightgbm"].train(Spy(), fold.train, SETTINGS)
    assert set(seen) == {1}
    assert numba.get_num_threads() == before


# The paired test -----------------------------------------------------------------------------


def test_p_value_equals_all_sign_changes_by_hand(rng):
    """Two-sided: twice the share of sign changes at least as extreme, at most 1."""
    signs = np.array(list(itertools.product((1, -1), repeat=9)))
    drawn = [rng.normal(shift, 1.5, size=9) for shift in (0.0, 0.3, 1.0)]
    for gains in (*drawn, np.zeros(9), np.ones(9), -np.ones(9), np.resize([1.0, -1.0], 9)):
        beyond = signs @ gains - gains.sum()
        by_hand = min(1.0, 2.0 * min((beyond > -1e-12).mean(), (beyond < 1e-12).mean()))
        assert paired_p_value(gains, seed=0) == pytest.approx(by_hand)


def test_p_values_of_resamples(rng):
    # The smallest p-value of 10,000 resamples; equal seeds give equal values.
    assert paired_p_value(np.ones(60), seed=0) == pytest.approx(2 / 10_001)
    some = rng.normal(0.2, size=60)
    assert paired_p_value(some, seed=3) == paired_p_value(some, seed=3)
    assert paired_p_value(some, seed=3) != paired_p_value(some, seed=4)
    assert paired_p_value(some, seed=2**32 + 3) == paired_p_value(some, seed=3)


def test_the_t_test_and_the_sign_test_are_scipys(rng):
    b = rng.normal(size=40)
    a = b + rng.normal(0.2, size=40)
    # Ties up to rounding, as of correlations, and queries that do not count.
    b[:3], a[5], b[6] = np.nextafter(a[:3], np.inf), np.nan, np.nan
    own, theirs = np.delete(a, [5, 6]), np.delete(b, [5, 6])
    found = {test: paired_p_value(differences(a, b), seed=0, test=test) for test in TESTS}
    assert found["t"] == pytest.approx(ttest_rel(own, theirs).pvalue)
    assert found["sign"] == pytest.approx(binomtest(int((own > theirs).sum()), 35).pvalue)
    assert len(set(found.values())) == len(TESTS)
    for test in TESTS:
        assert paired_p_value(differences(b, b), seed=0, test=test) == 1.0
        assert paired_p_value(np.ones(1), seed=0, test=test) == 1.0
    assert paired_p_value(np.ones(4), seed=0, test="t") == 0.0


# Rows ------------------------------------------------------------------------------------------


def test_a_row_is_the_mean_of_all_test_queries_and_the_baseline_differs_by_nothing():
    base = row_of(LEARNERS[0], [0.0, 0.2, 0.4], [0.8, np.nan, 0.4])
    assert base.mean("ndcg@10") == pytest.approx(1.8 / 5)
    assert (base.difference, base.p_value) == (0.0, 1.0)
    assert base.seconds_per_round == 0.375
    better = row_of(LEARNERS[2], [0.1, 0.3, 0.5], [0.9, np.nan, 0.5], base=base)
    assert better.difference == pytest.approx(0.1)
    assert better.p_value == pytest.approx(2 / 2**5)
    half = 1.96 * np.std([0.0, 0.2, 0.4, 0.8, 0.4], ddof=1) / np.sqrt(5)
    assert base.interval("ndcg@10") == pytest.approx((0.36 - half, 0.36 + half))
    # Every query gains the same: paired, there is no spread at all.
    assert better.difference_interval == pytest.approx((0.1, 0.1))
    worse = row_of(LEARNERS[2], [0.0, 0.0, 0.0], [0.8, np.nan, 0.4], base=base)
    np.testing.assert_allclose(worse.differences, [0, -0.2, -0.4, 0, np.nan, 0])
    assert worse.difference == pytest.approx(-0.12)  # of all queries, not of the folds' means
    half = 1.96 * np.std([0.0, 0.2, 0.4, 0.0, 0.0], ddof=1) / np.sqrt(5)
    assert worse.difference_interval == pytest.approx((-0.12 - half, -0.12 + half))


@pytest.mark.parametrize("metric", ["err", "logloss"])
def test_a_part_that_lacks_the_top_grade_is_measured_by_it(metric):
    data, scores = make_ranking(2, 6, 2, seed=1), np.linspace(-1.0, 1.0, 12)
    data = replace(data, y=np.where(data.qid == 2, data.y + 2, data.y))
    settings = Settings(metric=metric).for_labels(data.y, chosen=True)
    whole = settings.measure(scores, data, [metric])[metric]
    part = settings.measure(scores[:6], data.select([0]), [metric])[metric]
    assert part[0] == pytest.approx(whole[0])


@pytest.mark.parametrize(("test", "verdict"), [("t", "better"), ("sign", "worse")])
def test_a_verdict_goes_by_what_is_tested(test, verdict):
    """The sign test that most queries lose was shown as a gain, for the sake of the mean."""
    settings = replace(SETTINGS, test=test)
    base = row_of(LEARNERS[0], [0.5] * 30, settings=settings)
    values = [0.49] * 22 + [0.6] * 3 + [1.0] * 5
    row = row_of(LEARNERS[2], values, base=base, settings=settings)
    assert row.p_value < 0.05
    assert verdicts([base, row])[row.learner] == verdict


@pytest.mark.parametrize("theirs", [0.25, -0.25, 0.0])
def test_a_relative_difference_has_the_sign_of_the_difference(theirs):
    """Against a negative correlation, it had the other one."""
    base = row_of(LEARNERS[0], [theirs] * 4)
    row = row_of(LEARNERS[2], [theirs + 0.5] * 4, base=base)
    if theirs:
        assert row.relative_difference == pytest.approx(2.0)
        assert share_in_words(row.relative_difference) == "+200.0%"
    else:
        assert np.isnan(row.relative_difference)
        assert share_in_words(row.relative_difference) == ""


def test_a_table_for_latex():
    settings = replace(SETTINGS, test="sign", metric="ndcg@10", other_metrics=("map",))
    base = row_of(LEARNERS[0], [0.5, 0.25, np.nan] * 20, settings=settings)
    named = Learner("50% of_all", "lightgbm", boostrank.SDCG())
    rows = [base, row_of(LEARNERS[2], [0.5, 0.0, np.nan] * 20, base=base, settings=settings)]
    rows.append(row_of(named, [0.75, 0.25, np.nan] * 20, base=base, settings=settings))
    text = latex_table(rows, settings)
    best, middle, worst = [line for line in text.splitlines() if line.endswith(r"\\")][1:]
    half = 1.96 * 0.125 * np.sqrt(40 / 39) / np.sqrt(40)
    difference = rf"$+0.1250^{{*}} \pm {half:.4f}$"
    assert binomtest(20, 20).pvalue < 0.0001 / 2  # 0.0000 would say that it cannot be chance
    assert best.split(" & ") == [
        r"    50\% of\_all@lightgbm", r"\textbf{0.5000}", r"\textbf{0.5000}", difference,
        "$<0.0001$", r"$<0.0001$ \\",
    ]  # fmt: skip
    assert middle == rf"    {base.learner} & 0.3750 & 0.3750 &  &  &  \\"
    assert worst.startswith(f"    {LEARNERS[2]} & 0.2500 & 0.2500 & $-0.1250")
    assert "over 40 test queries" in text.replace("Means over", "over")
    assert "two-sided sign test over queries, and corrected for 2 comparisons by" in text
    assert "corrected for 1 comparison by" in latex_table(rows[:2], settings)
    assert text.count("{") == text.count("}")
    assert text.startswith(r"\begin{table}")
    assert text.endswith(r"\end{table}")


def test_holms_correction():
    # By hand: 3 x .01, then 2 x .02, which is not smaller, then the largest as it is, raised.
    assert holm([0.02, 0.03, 0.01]) == pytest.approx([0.04, 0.04, 0.03])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []
    base = row_of(LEARNERS[0], [0.0] * 8)
    gains = 0.01 * np.arange(8)
    rows = [base, *(row_of(LEARNERS[i], gains + 0.1 * (i - 1), base=base) for i in (1, 2, 3))]
    corrected = holm_p_values(rows)
    assert corrected[LEARNERS[0]] == 1.0
    assert [corrected[row.learner] for row in rows[1:]] == holm([row.p_value for row in rows[1:]])


def test_records_are_complete_after_every_row(parts, tmp_path):
    files = _results(tmp_path / "new" / "folder", parts)
    base = row_of(LEARNERS[0], [0.25, np.nan], [1 / 3])
    files.add_row(base)
    (line,) = lines_of(files.summary)
    assert (line["objective"], line["host"]) == ("lightgbm:lambdarank", "lightgbm")
    assert float(line["ndcg@10"]) == base.mean("ndcg@10")
    assert (line["difference"], line["p_value"], line["best_rounds"]) == ("0.0", "1.0", "1 1")
    assert [(line["fold"], line["qid"], line["map"]) for line in lines_of(files.queries)] == [
        ("1", "0", "0.25"),
        ("1", "1", ""),
        ("2", "0", str(1 / 3)),
    ]
    files.add_row(Failure(LEARNERS[2], "no, said the host"))
    line = lines_of(files.summary)[1]
    found = line["objective"], line["map"], line["p_value"], line["error"]
    assert found == ("lambdarank", "", "", "no, said the host")
    # An earlier run's lines are not mixed with new ones.
    _results(tmp_path / "new" / "folder", parts)
    assert len(files.summary.read_text(encoding="utf-8").splitlines()) == 1


# What is on disk, to resume from ----------------------------------------------------------------


def _results(folder, parts, **changes):
    args = {"settings": SETTINGS, "machine": "this one", "resume": True} | changes
    return ResultStore(folder, rotation(parts), **args)


STORED = fold_of(1, [0.1, np.nan, 1 / 3], importance=np.array([0.5, 1 / 3]))


@pytest.fixture
def stored(parts, tmp_path):
    _results(tmp_path, parts, resume=False).add(LEARNERS[2], STORED)
    return tmp_path


def test_numbers_of_numpy_are_kept_as_pythons(tmp_path, parts):
    params = {"lightgbm": {"max_bin": 15, "monotone_constraints": [0, 1]}}
    own = {"lightgbm": {"max_bin": np.int64(15), "monotone_constraints": np.array([0, 1])}}
    settings = replace(SETTINGS, seed=np.int64(SETTINGS.seed), params=own)
    _results(tmp_path, parts, settings=settings, resume=False).add(LEARNERS[2], STORED)
    same = _results(tmp_path, parts, settings=replace(SETTINGS, params=params))
    assert same.find(LEARNERS[2], 1) is not None
    with pytest.raises(TypeError, match="only with parameters that JSON takes, got <built-in"):
        _results(tmp_path, parts, settings=replace(SETTINGS, params={"lightgbm": {"a": max}}))


def test_a_result_comes_back_from_disk_to_the_last_bit(stored, parts):
    found = _results(stored, parts).find(LEARNERS[2], 1)
    assert found is not None
    np.testing.assert_equal(vars(found), vars(STORED))
    tables = {"gain": (0, 1, 3, 7, 15), "other_metrics": ["mrr", "precision@5"]}
    settings = replace(SETTINGS, **tables)
    _results(stored, parts, settings=settings).add(LEARNERS[2], STORED)
    assert _results(stored, parts, settings=settings).find(LEARNERS[2], 1) is not None
    # How the user wrote an objective does not matter, nor does another test.
    same = Learner("LambdaRank()", "lightgbm", boostrank.LambdaRank())
    settings = replace(SETTINGS, test="t")
    assert _results(stored, parts, settings=settings).find(same, 1) is not None


@pytest.mark.parametrize(
    ("learner", "fold"),
    [
        (LEARNERS[3], 1),
        (LEARNERS[0], 1),
        (Learner("lambdarank", "lightgbm", boostrank.LambdaRank(truncation=5)), 1),
        (Learner("lambdarank", "lightgbm", boostrank.LambdaRank(seed=1)), 1),
        (LEARNERS[2], 2),
    ],
    ids=["host", "built-in", "parameter", "host-parameter", "fold"],
)
def test_a_result_is_that_of_its_learner_and_fold_alone(learner, fold, stored, parts):
    results = _results(stored, parts)
    assert results.find(learner, fold) is None
    assert results.stale == []


OTHER_SETTINGS = {
    "rounds": 13,
    "learning_rate": 0.2,
    "leaves": 6,
    "min_docs": 4,
    "threads": 2,
    "seed": 1,
    "convention": "trec",
    "gain": "linear",
    "fixed_rounds": True,
    "metric": "map",
    "other_metrics": ("mrr",),
    "params": {"lightgbm": {"max_bin": 63}},
    "usual": ("spearman",),
    "top": 5.0,
}


@pytest.mark.parametrize(
    "changed",
    [
        *(each.name for each in fields(Settings) if each.name != "test"),
        *("X", "y", "qid", "names", "categorical", "order", "parts"),
        *("machine", "versions", "sources"),
    ],
)
def test_a_stale_result_is_not_used(changed, stored, parts, monkeypatch):
    monkeypatch.setitem(vars(numba.config), "NUMBA_NUM_THREADS", 2)  # on one core, too
    expected, changes = changed, {}
    if changed in OTHER_SETTINGS:
        changes["settings"] = replace(SETTINGS, **{changed: OTHER_SETTINGS[changed]})
    elif changed == "machine":
        changes["machine"] = "another one"
    elif changed == "versions":
        monkeypatch.setattr(records, "versions", lambda hosts: dict.fromkeys(hosts, "9.9"))
    elif changed == "sources":
        monkeypatch.setattr(records, "sources", lambda objective: "others")
    elif changed == "categorical":
        whole = [replace(part, X=np.floor(abs(part.X))) for part in parts]
        _results(stored, whole).add(LEARNERS[2], STORED)
        expected, parts = "data", [replace(part, categorical=(2,)) for part in whole]
    else:
        expected, (first, *others) = "data", parts
        X = first.X.copy()
        X[3, 2] = np.nextafter(X[3, 2], np.inf)
        parts = {
            "X": [replace(first, X=X), *others],
            "y": [replace(first, y=first.y + np.eye(len(first.y))[0]), *others],
            "qid": [replace(first, qid=first.qid + 1000), *others],
            # Which constraints may go by.
            "names": [replace(part, names=tuple("bacdef")) for part in parts],
            "order": [first.shuffle_within_queries(1), *others],
            "parts": parts[::-1],
        }[changed]
    results = _results(stored, parts, **changes)
    assert results.find(LEARNERS[2], 1) is None
    assert results.stale == [[expected]]


def test_the_sources_of_a_users_class_count(tmp_path, monkeypatch):
    """Results of a loss were used again after it, or the function of its gain, had been edited."""
    code = "import boostrank\nclass Own(boostrank.RankNet): sign = 1\n"
    file = write(tmp_path / "edited_loss.py", code)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("edited_loss").Own()
    mixed = boostrank.Mix(boostrank.SDCG(), own, 0.5)
    before = records.sources(mixed)
    assert before == records.sources(own) != records.sources("lambdarank")
    write(file, code.replace("1", "-1"))
    assert records.sources(mixed) != before
    inside = str(file / "of_an_archive.py")
    monkeypatch.setattr(sys.modules["edited_loss"], "__file__", inside)
    assert records.sources(mixed) != records.sources(mixed)
    type(own).__module__ = "a notebook"
    for edited in (mixed, boostrank.Mix(boostrank.SDCG(), boostrank.LambdaRank(gain=np.sqrt), 0.5)):
        assert records.sources(edited) != records.sources(edited)


def test_only_the_truncated_line_is_lost(stored, parts):
    """And lines that are no results."""
    path = stored / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(
        whole + b'12\n{"key": {}}\n{"key": 1, "result": 2}\n\xff\xfe\n' + whole[: len(whole) // 2]
    )
    results = _results(stored, parts)
    results.add(LEARNERS[3], STORED)
    again = _results(stored, parts)
    assert again.find(LEARNERS[2], 1) is not None
    assert again.find(LEARNERS[3], 1) is not None
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    # Without resuming, an earlier run's results are gone.
    assert _results(stored, parts, resume=False).find(LEARNERS[2], 1) is None
    assert path.read_text(encoding="utf-8") == ""


# Errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"leaves": 1}, "leaves must be at least 2"),
        ({"min_docs": 0}, "min_docs must be at least 1"),
        ({"threads": 10_000}, "threads must be at most"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_settings_out_of_range(change, message):
    with pytest.raises(ValueError, match=message):
        Settings(**change)


def _plan(parts, *, named=None, numbers=None, settings=SETTINGS, hosts=("lightgbm",)):
    folds = replace(rotation(parts), numbers=numbers)
    settings = settings.for_labels(folds.data.y, chosen=True)
    return make_plan(named or {}, folds, settings, hosts=hosts, baseline=None)


@pytest.mark.parametrize(
    ("metric", "lacking"),
    [("ndcg@10", "a relevant document"), ("spearman", "two different labels")],
)
def test_a_fold_in_which_no_query_counts_is_refused(metric, lacking, parts):
    last = parts[-1]
    barren = [*parts[:-1], RankingData(last.X, np.zeros_like(last.y), last.qid)]
    settings = replace(SETTINGS, metric=metric)
    _plan(barren, numbers=[3, 4], settings=settings)  # neither chooses nor tests on it
    for number, what in ((1, "tests on"), (2, "chooses the rounds on")):
        message = f"no query that fold {number} {what} has {lacking}, so"
        with pytest.raises(ValueError, match=message):
            _plan(barren, numbers=[number], settings=settings)


def test_a_single_query_that_counts_is_refused_before_training(parts):
    one = parts[4]
    y = np.where(one.qid == one.qid[0], one.y + 1.0, 0.0)
    with pytest.raises(ValueError, match="single query that counts in NDCG@10"):
        _plan([*parts[:4], RankingData(one.X, y, one.qid)], numbers=[1])


@pytest.mark.parametrize(
    ("shift", "more", "message"),
    [
        (-1.0, {"other_metrics": ["brier"]}, r"labels must be between 0 and 1e\+300, got -1\.0"),
        (0.5, {"gain": (0, 1, 3)}, "gain has a number for each of the grades 0 to 2, and none"),
    ],
)
def test_a_metric_for_other_labels_is_refused_before_training(shift, more, message, parts):
    """One that was only reported failed after the training."""
    other = [RankingData(part.X, part.y + shift, part.qid) for part in parts]
    with pytest.raises(ValueError, match=message):
        _plan(other, settings=replace(SETTINGS, metric="spearman", **more))


def test_queries_that_do_not_count_are_said_once_with_their_number(parts):
    plan = _plan(parts)
    barren = sum(int((part.y[part.qid == q] == 0).all()) for part in parts for q in set(part.qid))
    assert barren > 0
    assert plan.doubts == [
        f"{barren} of 35 queries have no relevant document and are left out of NDCG@10 "
        "(convention standard)."
    ]
    assert plan.notes == plan.doubts
    assert _plan(parts, settings=replace(SETTINGS, convention="lightgbm")).doubts == []
    (said,) = _plan(parts, settings=replace(SETTINGS, gain=(0, 0, 1, 3, 7))).doubts
    assert "of 35 queries have no relevant document with a gain and are left out" in said
    with pytest.warns(UserWarning, match=f"^{barren} of 35 queries have no relevant document"):
        boostrank.compare(RankingData.concat(parts), hosts=["lightgbm"], objectives=[], rounds=2)


@pytest.mark.parametrize("learner", LEARNERS[:2], ids=str)
def test_grades_that_a_built_in_objective_refuses(learner, fold):
    train = RankingData(fold.train.X, fold.train.y + 0.5, fold.train.qid)
    message = f"{learner.host} cannot train {learner.objective}: .*label"
    with pytest.raises(ValueError, match=message):
        runner.run_fold(learner, fold._replace(train=train), 1, SETTINGS)


def test_hosts_that_are_installed_are_the_default(parts, monkeypatch):
    for missing, other, command in (
        ("xgboost", "lightgbm", "pip install xgboost-cpu"),
        ("lightgbm", "xgboost", "pip install lightgbm"),
    ):
        with monkeypatch.context() as changed:
            changed.setitem(sys.modules, missing, None)
            assert {learner.host for learner in learners({}, None, 4)} == {other}
            with pytest.raises(ImportError, match=f"^{missing} is not installed: {command}"):
                learners({}, [missing], 4)
            plan = _plan(parts, numbers=[1], hosts=None)
            assert plan.notes[0] == f"{missing} is not installed and left out: {command}."
    for host in HOSTS:
        monkeypatch.setitem(sys.modules, host, None)
    with pytest.raises(ImportError, match="none of lightgbm, xgboost is installed: pip install"):
        learners(None, None, 4)
    with pytest.raises(ValueError, match="hosts must name at least one"):
        learners(None, [], 4)


# The command and the function --------------------------------------------------------------------

WAYS = ["command", "function"]


def _compare(way, file, out, *, resume=False):
    """Compare `auto` and GBRank with LightGBM's own; return what is said of failures and results.

    Ctrl-C is raised, with what is said of it.
    """
    objectives = ["auto", "gbrank"]
    if way == "function":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            boostrank.compare(
                file, objectives=objectives, hosts=["lightgbm"], rounds=4, out=out, resume=resume
            )
        said = [str(each.message) for each in caught]
    else:
        args = ["compare", file, "-o", ",".join(objectives), "--hosts", "lightgbm", "--rounds", 4]
        args += ["--out", out, *(["--resume"] if resume else [])]
        result = result_of(*args)
        if result.exit_code == 130:
            raise KeyboardInterrupt(result.stderr)
        said = [line.removeprefix("boostrank: ") for line in result.stderr.splitlines()]
    return [line for line in said if "failed" in line or "not used" in line]


def _written(out):
    """Return the files of a comparison, without times."""
    summary = [row | {"seconds_per_round": ""} for row in lines_of(out / "summary.csv")]
    return summary, (out / "queries.csv").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    data = make_ranking(90, 6, 4, seed=2)
    return write(tmp_path_factory.mktemp("way") / "data.txt", svmlight(data))


def test_command_and_function_go_on_alike_after_a_learner_fails(file, tmp_path, monkeypatch):
    run_fold = runner.run_fold

    def failing(learner, *args):
        if learner.label == "lightgbm:rank_xendcg":
            raise ValueError("not\nhere")
        return run_fold(learner, *args)

    monkeypatch.setattr(runner, "run_fold", failing)
    said = [_compare(way, file, tmp_path / way) for way in WAYS]
    assert said == [["lightgbm:rank_xendcg failed: not here"]] * 2
    command, function = (_written(tmp_path / way) for way in WAYS)
    assert command == function
    assert [row["error"] for row in command[0]] == ["", "not here", "", "", ""]
    for way in WAYS:
        for name in ("validation.png", "test.png"):
            assert (tmp_path / way / name).stat().st_size > 0
        report = (tmp_path / way / "report.html").read_text(encoding="utf-8")
        assert "auto@lightgbm chose " in report


@pytest.mark.usefixtures("no_figures")
def test_the_csv_has_every_number_of_the_summary(file, tmp_path):
    """A narrow terminal hid corrected p and relative differences, and named a file without them."""
    given = {"objectives": ["gbrank"], "hosts": ["lightgbm"], "rounds": 4, "out": tmp_path}
    summary = boostrank.compare(file, **given, convention="lightgbm").summary
    found = summary.select_dtypes("number")
    assert (found["p_value"] < found["p_holm"]).sum() >= 2
    written = pd.read_csv(tmp_path / "summary.csv")
    written = written.sort_values("ndcg@10", ascending=False, kind="stable")
    for name in set(found) - {"median_round"}:  # `best_rounds` has the round of each fold
        np.testing.assert_allclose(written[name], found[name], rtol=1e-12, err_msg=name)


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(("first", "second"), [WAYS, WAYS[::-1]])
def test_command_and_function_resume_each_other(first, second, file, tmp_path, monkeypatch):
    run_fold, trained = runner.run_fold, []

    def counted(learner, fold, number, *args):
        if len(trained) == 7:
            trained.append("interrupted")
            raise KeyboardInterrupt
        trained.append(f"{learner} {number}")
        return run_fold(learner, fold, number, *args)

    monkeypatch.setattr(runner, "run_fold", counted)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        _compare(first, file, tmp_path)
    said = "".join([*map(str, interrupt.value.args), *getattr(interrupt.value, "__notes__", [])])
    assert f"7 of 25 results are saved in {tmp_path / 'results.jsonl'}, and 1 of 5 rows" in said
    assert _compare(second, file, tmp_path, resume=True) == []
    assert len(set(trained)) == len(trained) == 26  # none twice
    trained.append("not interrupted")
    assert _compare(first, file, tmp_path / "whole") == []
    assert _written(tmp_path) == _written(tmp_path / "whole")


FEW = make_ranking(10, 4, 2, seed=0)


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        (None, {"resume": True}, "resume continues from the results in a folder"),
        (None, {"resume": "yes", "out": "o"}, "resume must be True or False"),
        (None, {}, "data is missing"),
        ([], {}, r"data must be RankingData, .*, got \[\]"),
        ({"a": [1]}, {}, "data must be RankingData, .*, got dict"),
        (FEW, {"params": {"max_bin": 3}}, "params must map hosts to .*, got max_bin: 3"),
        (FEW, {"params": {"lightgmb": {}}}, "unknown host in params 'lightgmb'; did you mean"),
        (FEW, {"folds": []}, "folds must hold at least one fold"),
        (FEW, {"folds": np.array([6])}, r"folds must lie in 1\.\.5, got 6"),
        *(
            (FEW, {name: "xy"}, rf"{name} must be a sequence of names, got a string; write \['xy'")
            for name in ("hosts", "drop", "categorical")
        ),
    ],
)
def test_what_the_function_refuses(data, more, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        boostrank.compare(data, **more)


@pytest.mark.parametrize(
    "more",
    [
        {"tree_method": "exact", "max_depth": 3},
        {"tree_method": "approx"},
        {"max_bin": 8},
        {"booster": "gblinear"},
    ],
    ids=str,
)
def test_xgboosts_other_ways_to_build_trees(more, fold):
    settings = Settings(rounds=3, params={"xgboost": more})
    model, _ = HOSTS["xgboost"].train(boostrank.LambdaRank(), fold.train, settings)
    params = {**HOSTS["xgboost"].shared(settings), "objective": "rank:pairwise", **more}
    matrix = xgboost.DMatrix(fold.train.X, fold.train.y, group=fold.train.group)
    assert xgboost.get_config()["verbosity"] == 1  # of this process
    with xgboost.config_context():
        plain = xgboost.train(params, matrix, 3, obj=boostrank.LambdaRank())
    expected = plain.predict(xgboost.DMatrix(fold.test.X))
    np.testing.assert_allclose(model.predict(fold.test.X), expected, rtol=1e-5)
    if "booster" in more:
        with pytest.raises(ValueError, match=r"^no round of booster='gblinear' can be chosen"):
            next(model.staged(fold.validation.X))
    else:
        stop = Stopping(fold.validation, 1)
        train = HOSTS["xgboost"].train
        stopped, _ = train(boostrank.LambdaRank(), fold.train, settings, stopping=stop)
        scores = model.predict(fold.test.X, stopped.n_trees)
        np.testing.assert_array_equal(stopped.predict(fold.test.X), scores)


@pytest.mark.parametrize(
    ("name", "numbers", "text"),
    [
        ("monotone_constraints", [1, 0, 0, 0, 0, 0], "(1,0,0,0,0,0)"),
        ("interaction_constraints", [[0, 1], [2, 3, 4, 5]], "[[0, 1], [2, 3, 4, 5]]"),
    ],
)
def test_xgboosts_constraints_may_be_lists(name, numbers, text, fold):
    """JSON has no tuples, and XGBoost fails on lists of numbers."""
    train = fold.train

    def config(value):
        settings = Settings(rounds=2, params={"xgboost": {name: value}})
        return HOSTS["xgboost"].train("rank:ndcg", train, settings)[0].booster.save_config()

    assert config(numbers) == config(text)
    rankers = (XGBRanker(**{name: value}, n_estimators=2, n_jobs=1) for value in (numbers, text))
    one, other = (ranker.fit(train.X, train.y, group=train.group) for ranker in rankers)
    assert np.array_equal(one.predict(train.X), other.predict(train.X))


def test_exact_trees_need_a_depth(fold):
    exact = Settings(rounds=3, params={"xgboost": {"tree_method": "exact"}})
    with pytest.raises(ValueError, match=r'^tree_method="exact" limits .* give it "max_depth"'):
        HOSTS["xgboost"].train(boostrank.LambdaRank(), fold.train, exact)


def bound_to_rows(data):
    """Return objectives that hold something for rows of these data, and what it is."""
    pairs = boostrank.Preferences("ranknet", [(0, 1)])
    parts = {"a": boostrank.RankNet(), "b": boostrank.QueryRMSE()}
    return [
        (pairs, "pairs"),
        (boostrank.Mix(boostrank.QueryRMSE(), pairs, 0.5), "pairs"),
        (boostrank.Several(parts, labels={"b": data.y}), "labels"),
        (boostrank.Unbiased(boostrank.RankNet(), position=np.ones(len(data.y), int)), "positions"),
    ]


def test_objectives_bound_to_rows_are_refused_before_training(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_fold", None)
    data = parts[0]
    for objective, held in bound_to_rows(data):
        refused = f"trains on parts .* has {held} for the rows of one training set: train on each"
        with pytest.raises(ValueError, match=f"^a comparison {refused}"):
            boostrank.compare(data, objectives=["sdcg", objective])
        with pytest.raises(ValueError, match=f"^a search {refused}"):
            search.tune(data, Learner("own", "lightgbm", objective), tmp_path / "new")
    assert not list(tmp_path.iterdir())
