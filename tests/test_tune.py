"""Tuning: what a trial is, that a search continues where it stopped, and what is reported."""

import json
import re
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace

import lightgbm
import numpy as np
import pytest
import xgboost
from commands import lines_of, refused, result_of, run, svmlight, write
from sklearn.model_selection import TimeSeriesSplit

import boostrank
from boostrank.choice import Choice
from boostrank.datasets import RankingData, make_ranking
from boostrank.lab import reading, search, search_space
from boostrank.lab.cli import tune as command_line
from boostrank.lab.learners import BUILTINS, Learner
from boostrank.lab.models import TRAINERS
from boostrank.lab.settings import Settings
from boostrank.registry import make_objective

SMALL = {"n_trials": 3, "rounds": 6, "n_folds": 3, "n_repeats": 2}
LEARNERS = [
    Learner("ranknet", "lightgbm", boostrank.RankNet()),
    Learner("ranknet", "xgboost", boostrank.RankNet()),
    Learner("lightgbm:lambdarank", "lightgbm", "lambdarank"),
    Learner("xgboost:rank:ndcg", "xgboost", "rank:ndcg"),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)
RANKNET = LEARNERS[0]
# What `data` says once, in the test of that name.
pytestmark = pytest.mark.filterwarnings("ignore:1 of 24 queries has no ")


@pytest.fixture(scope="module")
def data():
    made = make_ranking(24, 10, 4, seed=3, noise=0.5)
    y = made.y.copy()
    y[:10] = 0.0  # a query that the convention leaves out
    return RankingData(made.X, y, made.qid)


@pytest.fixture
def invented(monkeypatch):
    """Replace training by figures that rise with the learning rate, and list the calls."""
    calls = []

    def figures(job, params, folds):
        calls.append(params)
        steps = np.arange(len(job.marks)) / 1e3
        spread = np.arange(len(job.data.group))[:, None] / 1e3
        return np.minimum(params["learning_rate"], 0.1) + steps + spread

    monkeypatch.setattr(search, "cross_validate", figures)
    return calls


def assert_same(found, want, message=""):
    np.testing.assert_equal(list(map(vars, found)), list(map(vars, want)), message)


def test_one_standard_error_by_hand():
    best = np.array([0.5, 0.6, 0.7, 0.8])
    worse = np.array([0.0, 0.0, 0.1, 0.1])  # mean .05; spread .0577, standard error .0289
    noisy = np.array([-0.1, 0.1, 0.2, -0.1])  # mean .025; spread .15, standard error .075
    columns = [best - worse, best - noisy, best, best]
    assert search.one_standard_error(np.column_stack(columns)) == 1
    assert search.one_standard_error(np.column_stack([columns[0], best])) == 1
    # Every query is behind by the same amount: no error at all.
    assert search.one_standard_error(np.column_stack([best - 1e-9, best])) == 1
    with_nan = np.vstack([np.column_stack(columns), [np.nan] * 4])
    assert search.one_standard_error(with_nan) == 1
    assert search.one_standard_error(np.array([[0.1, 0.3, 0.2]])) == 1


# ---- trials --------------------------------------------------------------------------------------


@every_learner
def test_the_first_trial_is_plain_cross_validation_of_the_defaults(learner, data, tmp_path):
    trial = search.tune(data, learner, tmp_path, **SMALL | {"n_trials": 1}, seed=4).default
    stages, settings = np.zeros((2, 6, 24)), Settings(rounds=6, seed=4)
    for repeat in range(2):
        for train, test in boostrank.group_folds(data.group, 3, seed=4 + repeat):
            part = RankingData(data.X[train], data.y[train], data.qid[train])
            queries = test[::10] // 10
            # As test_compare.py compares it with the hosts' own.
            model, _ = TRAINERS[learner.host].train(learner.objective, part, settings)
            for m, values in enumerate(model.staged(data.X[test])):
                stages[repeat, m, queries] = boostrank.evaluate(
                    values, data.y[test], data.group[queries], ("ndcg@10",), per_query=True
                )["ndcg@10"]
    figures = stages.mean(axis=0).T
    column = search.one_standard_error(figures)
    assert trial.rounds == column + 1
    np.testing.assert_allclose(trial.figures, figures[:, column], rtol=1e-12)
    assert np.isnan(trial.figures[0])
    assert trial.mean == pytest.approx(np.nanmean(figures[:, column]))
    space = search_space.TREES[learner.host] | (
        search_space.OF_BUILTINS.get(learner.label, {})
        if isinstance(learner.objective, str)
        else search_space.objective_space(learner.objective)
    )
    assert trial.params == {name: entry.default for name, entry in space.items()}


def test_folds_at_a_time_change_nothing(data, tmp_path):
    one, three = (
        search.tune(data, RANKNET, tmp_path / str(n), **SMALL, n_jobs=n).trials for n in (1, 3)
    )
    assert len(one) == 3
    assert_same(one, three)
    assert len({json.dumps(trial.params) for trial in one}) == 3


def test_what_is_tried_reaches_objective_and_trees(host, data, tmp_path, monkeypatch):
    """Trials that vary the parameters of only one of the two all differ."""
    learner = Learner("ranknet", host, boostrank.RankNet())
    trees, objective = search_space.TREES[host], search_space.objective_space
    monkeypatch.setitem(search_space.TREES, host, {})
    first = search.tune(data, learner, tmp_path / "objective", **SMALL).trials
    monkeypatch.setitem(search_space.TREES, host, trees)
    monkeypatch.setattr(search_space, "objective_space", lambda _: {})
    second = search.tune(data, learner, tmp_path / "trees", **SMALL).trials
    for trials, space in ((first, objective(boostrank.RankNet())), (second, trees)):
        assert len({trial.mean for trial in trials}) == 3
        assert all(trial.params.keys() == space.keys() for trial in trials)


@pytest.mark.parametrize("host", TRAINERS)
def test_what_is_given_is_not_tuned(host, data, tmp_path):
    objective = "QueryRMSE" if host == "catboost" else boostrank.RankNet()
    learner = Learner("a learner", host, objective)
    given = {"eta": 0.2, "reg_lambda": 3.0}
    tuned = search.tune(data, learner, tmp_path, **SMALL, params=given)
    fixed = {"learning_rate", "reg_lambda", "lambda_l2", "l2_leaf_reg"}
    assert all(fixed.isdisjoint(trial.params) for trial in tuned.trials)
    assert re.findall(rf'"(?:{"|".join(fixed)})": (.+),', tuned.snippet) == ["0.2", "3.0"]


def test_the_seed_decides_what_is_tried(data, tmp_path, invented):
    runs = [
        [trial.params for trial in search.tune(data, RANKNET, tmp_path / f"{i}", **few).trials]
        for i, few in enumerate({"n_trials": 12, "seed": seed} for seed in (0, 0, 1))
    ]
    assert runs[0] == runs[1]
    assert runs[0][0] == runs[2][0]  # the defaults
    assert not any(a == b for a, b in zip(runs[0][1:], runs[2][1:], strict=True))


def test_an_interrupted_search_continues(data, tmp_path, invented):
    settings = {"n_trials": 16, "n_repeats": 3}
    whole = search.tune(data, RANKNET, tmp_path / "whole", **settings).trials
    n_calls = len(invented)
    assert n_calls == 3 * 16

    def interrupt(figures, after):
        def interrupted(*args):
            if len(invented) >= after:
                raise KeyboardInterrupt
            return figures(*args)

        return interrupted

    real, seen = search.cross_validate, []
    invented.clear()
    with pytest.MonkeyPatch.context() as patch:
        for after in (0, 1, 4, 20):  # in the first trial, within another, ...
            patch.setattr(search, "cross_validate", interrupt(real, after))
            with pytest.raises(KeyboardInterrupt):
                search.tune(data, RANKNET, tmp_path, **settings)
    done = search.tune(data, RANKNET, tmp_path, **settings, done=seen.append).trials
    assert_same(done, whole)
    assert_same(seen, whole)
    # What was done is not done again, except for repeats of trials that did not end.
    assert n_calls <= len(invented) <= n_calls + 4 * 2
    invented.clear()
    more = search.tune(data, RANKNET, tmp_path, **settings | {"n_trials": 17}).trials
    assert len(more) == 17
    assert_same(more[:16], whole)
    assert len(invented) == 3
    # As many as are asked for, so that no learner has the best of more than another.
    fewer = search.tune(data, RANKNET, tmp_path, **settings | {"n_trials": 5}).trials
    assert_same(fewer, whole[:5])


def test_a_search_continues_wherever_its_file_was_cut_off(data, tmp_path, invented):
    """By kill -9, or on a full disk. Between two lines, the defaults were tried twice."""
    whole = search.tune(data, RANKNET, tmp_path, n_trials=2, n_repeats=1).trials
    log = (tmp_path / "studies.log").read_bytes()
    for end in (at for at, byte in enumerate(log) if byte == ord("\n")):
        for kept in (end, end + 1):
            (tmp_path / "studies.log").write_bytes(log[:kept])
            (tmp_path / "studies.log.lock").symlink_to("out/studies.log")  # as Optuna's
            again = search.tune(data, RANKNET, tmp_path, n_trials=2, n_repeats=1).trials
            assert_same(again, whole, log[:kept].splitlines()[-1])


def test_later_trials_look_where_earlier_ones_were_good(data, tmp_path, invented):
    tuned = search.tune(data, RANKNET, tmp_path, n_trials=30, n_repeats=2)
    assert tuned.best.mean == max(trial.mean for trial in tuned.trials)
    rates = [trial.params["learning_rate"] for trial in tuned.trials]
    assert np.median(rates[20:]) > np.median(rates[1:11])


def test_trials_of_another_search_are_not_reused(data, tmp_path, invented):
    data = replace(data, X=np.floor(abs(data.X)))
    search.tune(data, RANKNET, tmp_path, n_trials=1)
    other = data.shuffle_within_queries(1)
    changed = Learner("ranknet", "lightgbm", boostrank.RankNet(sigma=2.0))
    message = "holds trials of ranknet@lightgbm on other data or with other settings: give another"
    for args, settings in (
        ((other, RANKNET), {}),
        ((replace(data, categorical=(0,)), RANKNET), {}),
        ((replace(data, names=tuple("bacd")), RANKNET), {}),
        ((data, changed), {}),
        ((data, RANKNET), {"rounds": 299}),
        ((data, RANKNET), {"n_folds": 4}),
        ((data, RANKNET), {"n_repeats": 2}),
        ((data, RANKNET), {"seed": 1}),
        ((data, RANKNET), {"convention": "lightgbm"}),
    ):
        with pytest.raises(ValueError, match=message):
            search.tune(*args, tmp_path, n_trials=1, **settings)
    # The same queries, cut elsewhere.
    first, second = ([(np.arange(cut), np.arange(cut, 24))] for cut in (16, 12))
    search.tune(data, RANKNET, tmp_path / "cut", n_trials=1, folds=first)
    with pytest.raises(ValueError, match=message):
        search.tune(data, RANKNET, tmp_path / "cut", n_trials=1, folds=second)


def test_trials_of_other_versions_are_told(data, tmp_path, invented, monkeypatch):
    """They were shown as if they were of today's, without a word."""
    search.tune(data, RANKNET, tmp_path, n_trials=1)
    monkeypatch.setattr(search, "sources", lambda objective: "others")
    with pytest.warns(UserWarning, match="holds trials of .* made with other sources: they are"):
        search.tune(data, RANKNET, tmp_path, n_trials=2)
    assert len(invented) == 2 * 3


@pytest.mark.parametrize("content", [b"no JSON\n", b"{}\n", b"null\n", b"\0\0\0\0\n"])
def test_a_damaged_file_of_trials_is_named(content, data, tmp_path):
    (tmp_path / "studies.log").write_bytes(content)
    with pytest.raises(ValueError, match=r"studies\.log is damaged .*; give another folder"):
        search.tune(data, RANKNET, tmp_path, n_trials=1)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_trials": 0}, ValueError, "n_trials must be at least 1"),
        ({"n_repeats": 1.5}, TypeError, "n_repeats must be a whole number"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
        ({"rounds": 0}, ValueError, "rounds must be at least 1"),
        ({"n_folds": 25}, ValueError, "n_folds must be from 2 to the number of queries, 24"),
        ({"convention": "nobody"}, ValueError, "convention"),
        ({"seed": -1}, ValueError, "seed must not be negative"),
        ({"params": {"boosting": "dart"}}, ValueError, "tune cannot keep the best round of DART"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_settings_train_nothing(settings, error, message, data, tmp_path, invented):
    with pytest.raises(error, match=message):
        search.tune(data, RANKNET, tmp_path / "new", **settings)
    assert not invented
    assert not (tmp_path / "new").exists()


def test_data_without_relevant_documents(data, tmp_path):
    with pytest.raises(ValueError, match=r"fewer than two queries that count in NDCG@10, so noth"):
        search.tune(RankingData(data.X, 0.0 * data.y, data.qid), RANKNET, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("learner", LEARNERS[::2], ids=str)
def test_leaves_too_large_for_the_data_end_no_search(learner, tmp_path):
    """LightGBM refused the first trial whose leaves it could not fill, and the search with it."""
    few = make_ranking(6, 6, 4, seed=1)  # no leaf has 20 of 18 documents
    tuned = search.tune(few, learner, tmp_path, **SMALL | {"n_folds": 2, "n_repeats": 1})
    assert len(tuned.trials) == SMALL["n_trials"]
    ties = boostrank.evaluate(np.zeros(36), few.y, few.group, ["ndcg@10"])["ndcg@10"]
    assert tuned.default.mean == pytest.approx(ties)


def test_any_numbers_are_tuned_by_spearman(data, tmp_path):
    returns = RankingData(data.X, data.y - data.y.mean(), data.qid)
    learner = Learner("spearman", "lightgbm", boostrank.Spearman())
    tuned = search.tune(returns, learner, tmp_path, **SMALL | {"n_trials": 1})
    assert tuned.metric == "spearman"
    assert np.isfinite(tuned.best.mean)
    for other in (RANKNET, LEARNERS[2]):
        with pytest.raises(ValueError, match=f"{other} cannot be trained: "):
            search.tune(returns, other, tmp_path / "other", n_trials=1)
    with pytest.raises(ValueError, match="labels must be relevance grades"):
        search.tune(returns, learner, tmp_path / "other", n_trials=1, metric="ndcg@10")


def test_folds_of_ones_own_are_those_that_train(data, tmp_path, monkeypatch):
    trained, select = [], RankingData.select
    monkeypatch.setattr(
        RankingData, "select", lambda self, at: trained.append(list(at)) or select(self, at)
    )
    forward = boostrank.group_folds(data.group, 3, forward=True, gap=1)
    found = []
    for folds in (TimeSeriesSplit(3, gap=1), forward):
        trained.clear()
        settings = SMALL | {"n_trials": 1, "folds": folds}
        out = tmp_path / type(folds).__name__
        found.append(search.tune(data, RANKNET, out, **settings).default)
        assert trained == [
            list(part)
            for train, test in TimeSeriesSplit(3, gap=1).split(np.zeros((24, 1)))
            for part in (test, train)
        ]
    np.testing.assert_array_equal(found[0].figures, found[1].figures)
    assert np.isnan(found[0].figures).sum() == 6  # the first queries, which no fold tests
    folds = boostrank.group_folds(data.group, 3, validation=True)
    with pytest.raises(ValueError, match=r"must be pairs of \(train, test\), got 3 parts"):
        search.tune(data, RANKNET, tmp_path / "new", folds=folds)
    with pytest.raises(ValueError, match=r"once, but query 3 is tested 2 times"):
        search.tune(data, RANKNET, tmp_path / "new", folds=[([0], [1, 2]), ([0], [2, 3])])


def test_folds_that_train_on_later_dates(tmp_path, invented):
    made = make_ranking(24, 10, 4, seed=3)
    backwards, forward = made.select(np.arange(24)[::-1]), {"folds": TimeSeriesSplit(3)}
    with pytest.warns(UserWarning, match="in which 23 comes after 24; sort the data by time"):
        search.tune(backwards, RANKNET, tmp_path / "sorted", **SMALL | {"n_trials": 1} | forward)
    days = RankingData(made.X, made.y, np.datetime64("2024-01-01") + made.qid)
    with pytest.warns(UserWarning, match="folds train on dates after those that they test"):
        search.tune(days, RANKNET, tmp_path / "random", **SMALL | {"n_trials": 1})
    forward = boostrank.group_folds(days.group, 3, forward=True)
    search.tune(days, RANKNET, tmp_path / "forward", **SMALL | {"n_trials": 1, "folds": forward})


def test_the_command_line_warns_of_data_once(tmp_path, invented):
    made = make_ranking(24, 10, 4, seed=3)
    months = replace(made, qid=made.qid + 202400 + 88 * (made.qid > 12))
    path = write(tmp_path / "months.txt", svmlight(months))
    few = ("--trials", "1", "--rounds", "6", "--folds", "3", "--hosts", "lightgbm")
    result = run("tune", path, "-o", "ranknet,gbrank", *few, "--out", tmp_path)
    assert result.stderr.count("Queries are dates") == 1


# ---- what is searched ----------------------------------------------------------------------------


def test_parameters_are_of_built_in_objectives_and_of_every_host():
    assert set(search_space.OF_BUILTINS) <= set(BUILTINS)
    assert set(search_space.TREES) == set(TRAINERS)


@pytest.mark.parametrize("name", boostrank.objective_names())
def test_every_objective_takes_what_is_searched(name):
    objective = make_objective(name, {}, rounds=9)
    space = search_space.objective_space(objective)
    assert "perturb" in space
    assert ("alpha" in space) == hasattr(objective, "alpha")
    for parameter, entry in space.items():
        assert entry.default == getattr(objective, parameter)
        if isinstance(entry, search_space.Span):
            assert entry.low < entry.default < entry.high
        else:
            assert entry.default in entry.values
        values = (entry.low, entry.high) if isinstance(entry, search_space.Span) else entry.values
        for value in values:
            changed = search_space.objective_space(objective.replace(**{parameter: value}))
            assert (parameter in changed) == (value == entry.default)  # others are kept
    assert {"k", "measure", "target", "hessian", "seed"}.isdisjoint(space)


def test_a_schedule_is_kept():
    schedule = boostrank.Schedule("linear", 5, first=1.0, last=2.0)
    assert "sigma" not in search_space.objective_space(boostrank.RankNet(sigma=schedule))


# ---- what is reported ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "gain"),
    [
        ("ranknet", None),
        ("lambdarank", None),
        ("lambdarank", (0.0, 1.0, 1.5, 2.0, 7.0)),
        ("auto", "linear"),
        *(("built-in", gain) for gain in ("linear", "exponential", (0.0, 1.0, 1.5, 2.0, 7.0))),
    ],
)
def test_the_snippet_trains_what_was_tuned(name, host, gain, tmp_path, monkeypatch):
    """The best trial's objective, trees and rounds, the gain and seeds: the same scores."""
    data = make_ranking(60, 8, 4, seed=3, noise=0.5)
    label = {"lightgbm": "lightgbm:lambdarank", "xgboost": "xgboost:rank:ndcg"}[host]
    if name == "built-in":
        learner = Learner(label, host, label.partition(":")[2])
    else:
        learner = Learner(name, host, boostrank.objective(name))
    more = {"bagging_fraction": np.float64(0.5), "bagging_freq": 1}
    more["monotone_constraints"] = [np.int64(1), 0, 0, 0]
    more = {"subsample": 0.5} if host == "xgboost" else more
    budget = {**SMALL, "n_trials": 2, "n_repeats": 1, "params": more}

    def chosen(objective, *_, rounds, learning_rate):
        """Depend on the rounds: "auto" chose once more, for those that the best trial uses."""
        return Choice(objective.replace(signal="low" if rounds == 6 else "highest"), {}, 60)

    monkeypatch.setattr("boostrank.lab.model.choose_signal", chosen)
    # In the second trial no parameter is at its default.
    second = property(lambda tuned: replace(tuned.trials[1], rounds=4))
    monkeypatch.setattr(search.Tuned, "best", second)
    tuned = search.tune(data, learner, tmp_path, gain=gain, **budget)
    best = tuned.best
    names = {"boostrank": boostrank, "lightgbm": lightgbm, "xgboost": xgboost}
    names |= {"X": data.X, "y": data.y, "qid": data.qid, "group": data.group}
    names["dataset"] = lightgbm.Dataset(data.X, data.y, group=data.group)
    names["dmatrix"] = xgboost.DMatrix(data.X, data.y, group=data.group)
    exec(tuned.snippet, names)

    settings = Settings(rounds=6, gain=gain, params={host: more})
    objective, settings = search.tried(learner, settings, best.params)
    model, _ = TRAINERS[host].train(objective, data, settings)
    scores = TRAINERS[host](names["booster"], 1).predict(data.X)
    assert np.ptp(scores) > 0.0
    expected = model.predict(data.X, best.rounds)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)


def test_the_snippet_of_a_mixture_is_python(host):
    mix = boostrank.Mix(
        boostrank.RankNet(sigma=2.0),
        boostrank.RegSHFSDCG(total_rounds=9),
        boostrank.Schedule("logistic", 9),
        perturb="gumbel",
    )
    trials, seen = (search.Trial(0, {}, 3, np.ones(2)),), []

    def train(params, data, rounds, obj=None):
        seen.append(params["objective"] if obj is None else obj)

    names = {"boostrank": boostrank, host: SimpleNamespace(train=train)}
    snippet = search.Tuned(Learner("mix", host, mix), trials).snippet
    exec(snippet, names | {"dataset": None, "dmatrix": None})
    assert seen == [mix]


def test_the_csv_holds_every_trial(data, tmp_path):
    tuned = [search.tune(data, learner, tmp_path, **SMALL) for learner in (RANKNET, LEARNERS[2])]
    search.write_trials(tmp_path / "trials.csv", tuned)
    lines = lines_of(tmp_path / "trials.csv")
    trials = [(one, trial) for one in tuned for trial in one.trials]
    for line, (one, trial) in zip(lines, trials, strict=True):
        assert line["learner"] == str(one.learner)
        assert int(line["trial"]) == trial.number
        assert int(line["rounds"]) == trial.rounds
        assert json.loads(line["params"]) == trial.params
        values = trial.figures[1:]  # the first query has nothing relevant
        assert float(line["ndcg@10"]) == pytest.approx(values.mean())
        error = values.std(ddof=1) / np.sqrt(23)
        assert float(line["ndcg@10_high"]) == pytest.approx(values.mean() + 1.96 * error)
        less = values - one.default.figures[1:]
        assert float(line["difference"]) == pytest.approx(less.mean(), abs=1e-15)
        low = less.mean() - 1.96 * less.std(ddof=1) / np.sqrt(23)
        assert float(line["difference_low"]) == pytest.approx(low, abs=1e-15)


def test_the_command_line(tmp_path, monkeypatch):
    command = ["tune", "-o", "gbrank:margin=2.0,lightgbm:lambdarank", "--hosts", "lightgbm,xgboost"]
    command += ["--trials", "2", "--rounds", "4", "--folds", "3", "--repeats", "1"]
    command += ["--out", tmp_path / "out"]
    monkeypatch.setattr(reading, "EMBEDDED", {"n_queries": 12, "n_docs": 8, "n_features": 3})
    calls = []
    real = search.cross_validate

    def figures(job, *args):
        calls.append(str(job.learner))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(job, *args)

    monkeypatch.setattr(search, "cross_validate", figures)
    stopped = result_of(*command)
    assert stopped.exit_code == 130
    assert "interrupted; 5 of 6 trials are saved in" in stopped.stderr
    assert "the same command continues where it stopped" in stopped.stderr
    result = run(*command)
    # The built-in first: the others are compared with it, as in `boostrank compare`.
    learners = ["lightgbm:lambdarank", "gbrank:margin=2.0@lightgbm", "gbrank:margin=2.0@xgboost"]
    assert calls == [name for name in learners for _ in range(2)] + learners[-1:]
    assert "Differences: from the best trial of lightgbm:lambdarank;" in result.output
    for name in learners:
        assert f"# {name}\n" in result.output
        assert sum(line.startswith(f"| {name} ") for line in result.output.splitlines()) == 2
    assert result.output.count("boostrank.GBRank(margin=2.0") == 2
    assert "3 folds, 1 repeat, 4 rounds" in result.output
    lines = lines_of(tmp_path / "out" / "trials.csv")
    assert [line["learner"] for line in lines] == [name for name in learners for _ in range(2)]
    message = "unknown objective 'lightgbm:nothing': lightgbm's own are lambdarank,"
    assert message in refused(*command, "-o", "lightgbm:nothing")
    message = "ours is written 'regression', and the host apart (--host or --hosts lightgbm)"
    train = "train", "data.txt", "--model", "model.txt"
    for name in ("lightgbm:regression", "regression@lightgbm"):
        assert message in refused("tune", "-o", name)
        assert message in refused(*train, "-o", name)
    assert "RMSE is catboost's own, which compare" in refused(*train, "-o", "catboost:RMSE")
    assert "--repeats needs folds at random" in refused("tune", "--forward", "--repeats", "3")


def test_the_command_line_has_the_functions_defaults():
    ours, theirs = signature(search.tune).parameters, signature(command_line.tune).parameters
    names = {"n_trials": "trials", "n_folds": "folds"}
    assert theirs["params"].default is None
    for name, parameter in ours.items():
        if name == "n_repeats":  # None, to tell whether it is given
            assert parameter.default == command_line.REPEATS
        elif parameter.kind is parameter.KEYWORD_ONLY and name not in ("done", "folds"):
            assert theirs[names.get(name, name)].default == parameter.default


def test_queries_that_the_metric_leaves_out_are_said_once(data, tmp_path, invented):
    with pytest.warns(UserWarning, match="^1 of 24 queries has no relevant document") as said:
        search.tune(data, RANKNET, tmp_path, **SMALL)
    assert len([each for each in said if "left out" in str(each.message)]) == 1
