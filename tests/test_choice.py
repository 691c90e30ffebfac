"""`Blend(signal="auto")`: the setting is chosen on halves of the training queries."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from commands import run

import boostrank
from boostrank.choice import choose_signal
from boostrank.datasets import make_ranking
from boostrank.lab.models import HOSTS
from boostrank.lab.settings import Settings
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

GRADES, GROUP = np.tile([0.0, 1.0, 2.0, 0.0], 60), np.full(60, 4)
SIGNALS = ("lowest", "low", "medium", "high", "highest")
DATA = make_ranking(80, 6, 5, seed=1)
SMALL = {"n_estimators": 8, "learning_rate": 0.2, "n_jobs": 1}


def chosen(good, grades=GRADES, group=GROUP, weight=None, **params):
    """Return the choice where a setting ranks a share of the queries as `good` says."""
    tried = []

    def fit(objective, train, test, rounds, rate):
        assert not set(train) & set(test)
        assert (rounds, rate) == (12, 0.2)
        tried.append(objective.signal)
        query = test // 4
        right = query % 10 < 10 * good[objective.signal]
        return np.where(right, grades[test], -grades[test])

    blend, way = boostrank.Blend(seed=3, **params), {"rounds": 100, "learning_rate": 0.05}
    choice = choose_signal(blend, grades, group, fit, **way, weight=weight)
    return choice, list(dict.fromkeys(tried))


@pytest.mark.parametrize(
    ("good", "signal", "tried"),
    [
        ((0.9, 0.6, 0.5, 0.4, 0.3), "lowest", 4),
        ((0.7, 0.9, 0.5, 0.4, 0.3), "low", 4),
        ((0.4, 0.5, 0.5, 0.5, 0.5), "medium", 3),
        ((0.3, 0.4, 0.5, 0.9, 0.8), "high", 4),
        ((0.8, 0.6, 0.5, 0.6, 0.9), "highest", 4),
    ],
)
def test_the_best_setting_is_chosen_and_a_tie_goes_to_the_middle(good, signal, tried):
    choice, fitted = chosen(dict(zip(SIGNALS, good, strict=True)))
    assert choice.objective == boostrank.Blend(signal=signal, seed=3)
    assert len(fitted) == tried
    assert choice.n_queries == 60
    ends = "the ends that do so by more than their ± (a standard error)"
    why = f"leads medium the most, of {ends} and the best one's neighbour"
    if signal == "medium":
        why = "no setting leads it by more than its ± (a standard error)"
    assert f"signal={signal!r}: {why}, in NDCG@10 on 60 queries: lowest " in str(choice)


def test_too_few_queries_are_not_asked():
    choice, fitted = chosen({}, 31.0 * GRADES[:80], GROUP[:20])  # of grades this high, fit warns
    assert choice.objective.signal == "medium"
    assert fitted == []
    assert "20 queries with weight and something to rank are too few" in str(choice)


def test_queries_without_a_gain_have_nothing_to_rank():
    grades = np.append(GRADES, [1.0, 0.0, 0.0, 0.0])
    good = dict(zip(SIGNALS, (0.9, 0.6, 0.5, 0.4, 0.3), strict=True))
    choice, _ = chosen(good, grades, np.append(GROUP, 4), gain=(0.0, 0.0, 1.0))
    assert (choice.objective.signal, choice.n_queries) == ("lowest", 60)


def test_queries_count_by_their_weight():
    good = dict(zip(SIGNALS, (0.9, 0.6, 0.5, 0.4, 0.3), strict=True))
    twice = np.tile(GRADES, 2), np.tile(GROUP, 2)
    weight = np.tile(np.arange(10.0) < 5, 12)  # of queries that "medium" ranks right
    choice, _ = chosen(good, *twice, weight=weight * 1.0)
    assert (choice.objective.signal, choice.n_queries) == ("medium", 60)
    choice, _ = chosen(good, *twice, weight=np.repeat(1.0 + 9.0 * ~weight, 4))
    wrong = boostrank.evaluate(-GRADES[:4], GRADES[:4], [4])["ndcg@10"]
    # Of ten queries, four of weight 10 go from wrong to right.
    assert choice.ahead["lowest"][0] == pytest.approx(40.0 / 55.0 * (1.0 - wrong))


@pytest.mark.parametrize(
    ("rate", "want"), [(0.1, (12, 0.4)), (0.25, (25, 0.5)), (0.5, (50, 0.5)), (0.7, (50, 0.7))]
)
def test_models_go_half_way_in_longer_steps(rate, want):
    seen = set()

    def fit(objective, train, test, rounds, rate):
        seen.add((rounds, rate))
        return np.zeros(len(test))

    choose_signal(boostrank.Blend(), GRADES, GROUP, fit, rounds=100, learning_rate=rate)
    assert seen == {want}


def test_halves_that_cannot_be_trained_on():
    def fit(objective, train, test, rounds, rate):
        raise ValueError("nothing to split")

    with pytest.warns(UserWarning, match=r"does not train \(nothing to split\); it takes"):
        choice = choose_signal(boostrank.Blend(), GRADES, GROUP, fit, rounds=100, learning_rate=0.1)
    assert choice.objective == boostrank.Blend()
    assert "cannot be trained on" in str(choice)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (1.0, "scores of fit must have one dimension"),
        (np.zeros(1), "fit must return one score for each of the 120 rows that it tests, got 1"),
        (np.full(120, np.nan), "scores of fit must be finite"),
    ],
)
def test_what_fit_returns_is_checked(scores, message):
    blend, way = boostrank.Blend(), {"rounds": 100, "learning_rate": 0.1}
    with pytest.raises(ValueError, match=message):
        choose_signal(blend, GRADES, GROUP, lambda *_: scores, **way)


def test_until_it_is_chosen_it_computes_nothing():
    objective = pickle.loads(pickle.dumps(boostrank.objective("auto", seed=2)))
    assert objective == boostrank.Blend(signal="auto", seed=2)
    with pytest.raises(ValueError, match=r"^'auto' chooses signal from the data, got 'low'"):
        boostrank.objective("auto", signal="low")
    with pytest.raises(ValueError, match=r"^signal=\"auto\" is chosen .* not inside another"):
        objective.grad_hess([0.0, 1.0], [1, 0], [2])


def test_what_is_chosen_from_is_checked():
    with pytest.raises(ValueError, match="labels must be relevance grades, finite"):
        chosen({}, np.where(GRADES > 0.0, np.nan, GRADES))
    with pytest.raises(ValueError, match="group must add up to the number of documents"):
        chosen({}, GRADES[1:])
    for other in ("auto", boostrank.SDCG()):
        with pytest.raises(TypeError, match="objective must be a Blend, whose signal is chosen"):
            choose_signal(other, GRADES, GROUP, None, rounds=100, learning_rate=0.1)


@pytest.mark.parametrize(
    ("ranker", "stopping"),
    [
        (LGBMRanker, "early_stopping_rounds"),
        (LGBMRanker, "early_stopping_round"),
        (LGBMRanker, "n_iter_no_change"),
        (XGBRanker, "early_stopping_rounds"),
    ],
)
def test_rankers_choose_and_say_what(ranker, stopping):
    rows = {"group": [*DATA.group, 0], "eval_group": [DATA.group[:10]]}
    rows["eval_set"] = [(DATA.X[:60], DATA.y[:60])]
    params = {**SMALL, stopping: 9}
    auto = ranker(objective="auto", **params).fit(DATA.X, DATA.y, **rows)
    assert auto.objective == "auto"
    assert auto.auto_.objective == auto.objective_
    assert auto.objective_.signal in SIGNALS
    own = ranker(objective=auto.objective_, **params).fit(DATA.X, DATA.y, **rows)
    assert own.auto_ is None
    np.testing.assert_array_equal(auto.predict(DATA.X), own.predict(DATA.X))


def test_a_ranker_whose_fit_names_its_arguments_chooses_too():
    class Named(LGBMRanker):
        def fit(self, X, y, *, qid=None, sample_weight=None):
            return super().fit(X, y, qid=qid, sample_weight=sample_weight)

    ranker = Named(objective="auto", n_estimators=2, n_jobs=1, verbosity=-1)
    assert ranker.fit(DATA.X, DATA.y, qid=DATA.qid).auto_ is not None


@pytest.mark.parametrize(
    ("ranker", "given", "rate"),
    [
        (XGBRanker, {"eta": 0.02}, 0.02),
        (LGBMRanker, {"learning_rate": None}, 0.1),
    ],
)
def test_rankers_choose_by_the_learning_rate_however_it_is_given(ranker, given, rate):
    one, other = (
        ranker(objective="auto", n_estimators=8, n_jobs=1, **params)
        .fit(DATA.X, DATA.y, group=DATA.group)
        .auto_
        for params in (given, {"learning_rate": rate})
    )
    assert one == other


def test_a_choice_repeats_no_warning():
    ranker = LGBMRanker(objective="auto", lambdarank_truncation_level=5, **SMALL)
    with pytest.warns(UserWarning, match="ignored by boostrank's blend") as seen:
        ranker.fit(DATA.X, DATA.y, group=DATA.group, feature_name=list("uvwxy"))
    assert sum("boostrank" in str(each.message) for each in seen) == 1


def test_choices_in_two_threads_leave_warnings_alone():
    before = list(warnings.filters)
    with ThreadPoolExecutor(2) as pool:
        for rounds in (8, 16):
            ranker = LGBMRanker(objective="auto", **{**SMALL, "n_estimators": rounds})
            pool.submit(ranker.fit, DATA.X, DATA.y, group=DATA.group)
    assert warnings.filters == before


def test_commands_choose_and_say_what(host):
    model, _ = HOSTS[host].train(boostrank.objective("auto"), DATA, Settings(rounds=8))
    ends = np.cumsum(DATA.group)
    assert model.choice.n_queries == sum(len(set(y)) > 1 for y in np.split(DATA.y, ends[:-1]))
    assert "medium" in str(model.choice)


def test_all_settings_are_compiled_ahead(monkeypatch):
    seen = []
    loss = boostrank.Blend.loss

    def watched(self, *args, **kwargs):
        seen.append(self.signal)
        return loss(self, *args, **kwargs)

    monkeypatch.setattr(boostrank.Blend, "loss", watched)
    boostrank.compile("auto", max_docs=20)
    assert seen == 2 * list(SIGNALS)  # without long queries, and with them
    assert run("compile", "auto", "--max-docs", 20).output == ""
    assert "blend" in run("objectives", "auto").output
