"""Labels of every kind through everything that takes labels: what fits, and what is left out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from boostrank.objectives import REGISTRY
from boostrank.objectives.validation import FOR_NUMBERS, NUMBERS
from commands import refused
from test_estimators import make_ranker

import boostrank
from boostrank.datasets import RankingData, make_ranking
from boostrank.lab.folds import rotation
from boostrank.lab.learners import BUILTINS, Learner, refusal
from boostrank.lab.models import TRAINERS
from boostrank.lab.plan import make_plan
from boostrank.lab.settings import METRICS, ORDER_METRICS, Settings

DATA = make_ranking(30, 8, n_features=4, seed=1)
KINDS = {
    "grades": lambda y: y,
    "binary": lambda y: (y > 0) * 1.0,
    "shares": lambda y: y / 4.0,
    "to 30": lambda y: np.round(y * 7.5),
    "to 31": lambda y: np.round(y * 7.75),
    "to 40": lambda y: y * 10.0,
    "amounts": lambda y: y * 1000.5,
    "ranks": lambda y: np.arange(1.0, len(y) + 1.0),
    "whole, below 0": lambda y: y - 2.0,
    "returns": lambda y: 0.01 * (y - y.mean()),
}
QUICK = Settings(rounds=2, min_docs=2)


def _data(kind):
    return RankingData(DATA.X, KINDS[kind](DATA.y), DATA.qid)


@pytest.mark.parametrize("gain", [None, "linear"])
@pytest.mark.parametrize("host", TRAINERS)
def test_a_built_in_is_refused_exactly_where_its_host_refuses_or_cuts_off_the_labels(
    host, gain, monkeypatch
):
    settings = Settings(rounds=2, min_docs=2, gain=gain)
    # LightGBM's rank_xendcg takes 1.5 for 1, and its lambdarank too, without a word.
    cut = {("lightgbm", name) for name in TRAINERS["lightgbm"].builtins}
    for builtin in TRAINERS[host].builtins:
        learner = BUILTINS[f"{host}:{builtin}"]
        if builtin == "lambdarank" and gain is not None:  # its table would have a million entries
            assert refusal(learner, 1e6 * DATA.y, settings) == "only labels up to 100,000"
        for kind in KINDS:
            data = _data(kind)
            refused = refusal(learner, data.y, settings)
            with monkeypatch.context() as patch:
                patch.setattr(TRAINERS[host], "refusal", lambda *_: "")
                try:
                    model, _ = TRAINERS[host].train(builtin, data, settings)
                    failed = not np.isfinite(model.predict(data.X)).all()
                except ValueError:
                    failed = True
            # It ranks the best documents last: docs/host_bugs.md.
            if failed or (builtin == "rank_xendcg" and data.y.max() > 31.0):
                assert refused, (builtin, kind)
            elif refused:
                whole = (data.y == np.floor(data.y)).all() and (data.y >= 0).all()
                assert not whole, (builtin, kind)
                # A gain of labels below 0 makes no NDCG.
                assert (host, builtin) in cut or data.y.min() < 0, (builtin, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:labels above 30 count as gains:UserWarning")
def test_compare_trains_all_that_these_labels_fit(kind):
    data = _data(kind)
    folds = replace(rotation(data.split(5, seed=0)), numbers=[1])
    settings = QUICK.for_labels(data.y, chosen=False)
    plan = make_plan(None, folds, settings, hosts=None, baseline=None)
    trained = {learner.objective.name for learner in plan.queue if not learner.builtin}
    for name in boostrank.objective_names():
        objective = boostrank.objective(name, **({"total_rounds": 2} if "reg-" in name else {}))
        try:
            objective.grad_hess(np.zeros(len(data.y)), data.y, data.group, round=1)
            fits = True
        except ValueError:
            fits = False
        assert (name in trained) == fits, name
    graded = data.y.min() >= 0.0 and data.y.max() <= 1000.0
    assert plan.settings.usual == (METRICS if graded else ORDER_METRICS)
    assert plan.settings.metric == plan.settings.usual[0 if not graded else 3]
    left_out = [note for note in plan.notes if note.startswith("Left out, for labels")]
    assert len(left_out) == any(
        refusal(Learner("", host, name), data.y, QUICK)
        for host in ("lightgbm", "xgboost")
        for name in TRAINERS[host].builtins
    )


def test_compare_of_returns_makes_tables_figures_and_a_report(tmp_path):
    data = _data("returns")
    found = boostrank.compare(
        data, objectives=["spearman", "listmle", boostrank.QueryRMSE()], hosts=["xgboost"], rounds=2
    )
    assert found.summary.columns[:3].tolist() == list(ORDER_METRICS)
    assert set(found.summary.index) == {
        *("xgboost:rank:pairwise", "regression@xgboost", "spearman@xgboost", "listmle@xgboost"),
        "query-rmse@xgboost",
    }
    assert np.isfinite(found.queries[list(ORDER_METRICS)]).all(axis=None)
    found.report(tmp_path / "report.html")
    assert "p (Holm)" in (tmp_path / "report.html").read_text(encoding="utf-8")
    found.plot()
    for named in (["blend"], [boostrank.LambdaRank()]):
        with pytest.raises(ValueError, match="cannot be trained: labels must be relevance grades"):
            boostrank.compare(data, objectives=named)
    with pytest.raises(ValueError, match="labels must be relevance grades"):
        boostrank.compare(data, objectives=["spearman"], metric="ndcg@10")
    with pytest.raises(ValueError, match="unknown baseline 'lightgbm:lambdarank'"):
        boostrank.compare(data, objectives=["spearman"], baseline="lightgbm:lambdarank")


@pytest.mark.parametrize("also", [[], ["--valid", "a.csv"]])
@pytest.mark.parametrize(
    ("objective", "shift", "message"),
    [
        ("blend", -1.5, "blend cannot be trained: labels must be relevance grades"),
        ("ranknet", -1.5, "ranknet cannot be trained: labels must be"),
        ("lightgbm:lambdarank", 0.5, "lightgbm:lambdarank cannot be trained: only whole labels"),
    ],
)
def test_train_refuses_labels_once_before_training(
    objective, shift, message, also, tmp_path, monkeypatch
):
    """A warning with advice that could not help came first, and then the bar."""
    monkeypatch.setattr("boostrank.lab.cli.train.progress_bar", None)
    monkeypatch.chdir(tmp_path)
    for name, start in (("a", 0), ("b", 100)):
        table = {"label": DATA.y + shift, "qid": DATA.qid + start, "x": DATA.X[:, 0]}
        pd.DataFrame(table).to_csv(f"{name}.csv", index=False)
    assert message in refused("train", "b.csv", "-o", objective, "--model", "model", *also)


def test_labels_fit_an_objective_with_the_gain_of_the_hosts_parameters():
    amounts = 1000.5 * DATA.y
    learner = Learner("blend", "xgboost", boostrank.Blend())
    assert "between 0 and 1000" in refusal(learner, amounts, QUICK)
    linear = replace(QUICK, params={"xgboost": {"ndcg_exp_gain": False}})
    assert refusal(learner, amounts, linear) == ""


def test_what_a_refusal_recommends_takes_any_numbers():
    for objective in (boostrank.Spearman(), boostrank.RankNet()):
        with pytest.raises(ValueError, match=r"got inf at row 0 .*drop their rows$"):
            objective.grad_hess([0.0, 0.0], [np.inf, 1.0], [2])
    with pytest.raises(ValueError, match="if they are numbers such as returns, use the obj"):
        boostrank.Blend().grad_hess([0.0, 0.0], [-0.1, 0.2], [2])
    words = FOR_NUMBERS.replace(",", "").split()
    named = [name for name in REGISTRY if name in words]
    assert len(named) == 4
    for name in named:
        assert boostrank.objective(name).contract.labels == NUMBERS
    labels = [-0.1, 0.2]
    assert boostrank.evaluate([0.0, 1.0], labels, [2], ["spearman"]) == {"spearman": 1.0}


def test_regression_takes_any_finite_number_unless_gains_are_its_target():
    grad, _ = boostrank.Regression().grad_hess([0.0, 1.0], [-1e6, 0.25], [2])
    assert grad.tolist() == [2e6, 1.5]
    for gain, message in (("exponential", "between 0 and 1000"), ("linear", "between 0 and 1e")):
        with pytest.raises(ValueError, match=message):
            boostrank.Regression(target="gain", gain=gain).grad_hess([0.0], [-1.0], [1])


@pytest.mark.parametrize(
    ("objective", "kind", "metric"),
    [
        ("spearman", "returns", "spearman"),
        ("spearman", "grades", "spearman"),
        ("pearson", "ranks", "spearman"),
        ("query-rmse", "returns", "spearman"),
        ("query-rmse", "ranks", "spearman"),
        ("query-rmse", "grades", "ndcg@10"),
        ("regression", "returns", "spearman"),
        ("listmle", "grades", "ndcg@10"),
        ("ranknet", "grades", "ndcg@10"),
        ("lambdarank", "shares", "ndcg@10"),
    ],
)
@pytest.mark.filterwarnings("ignore:labels that are not whole:UserWarning")
def test_score_and_evaluation_sets_follow_objective_and_labels(host, objective, kind, metric):
    data = _data(kind)
    made = make_ranker(host, objective)
    made.fit(data.X, data.y, qid=data.qid, eval_set=[(data.X, data.y)], eval_qid=[data.qid])
    expected = boostrank.evaluate(made.predict(data.X), data.y, data.group, [metric])[metric]
    assert made.score(data.X, data.y, qid=data.qid) == expected
    (history,) = made.evals_result_.values()
    assert list(history) == [metric]


def test_a_score_that_is_not_defined_is_refused(host):
    made = make_ranker(host, "query-rmse").fit(DATA.X, DATA.y, qid=DATA.qid)
    with pytest.raises(ValueError, match="none of the 30 queries has a relevant document"):
        made.score(DATA.X, 0.0 * DATA.y, qid=DATA.qid)
    made.fit(DATA.X, DATA.y - 1.0, qid=DATA.qid)
    with pytest.raises(ValueError, match="none of the 30 queries has two different labels"):
        made.score(DATA.X, 0.0 * DATA.y - 1.0, qid=DATA.qid)


def test_dates_are_compared_forward_in_time():
    frame = pd.DataFrame(DATA.X, columns=list("abcd"))
    frame["ret"] = KINDS["returns"](DATA.y)
    days = pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d").to_numpy()
    frame["date"] = np.repeat(days, DATA.group)
    folds = boostrank.group_folds(DATA.group, 3, forward=True, gap=2, validation=True)
    common = {"label": "ret", "qid": "date", "folds": folds, "rounds": 2, "min_docs": 2}
    found = boostrank.compare(frame, objectives="spearman", hosts=["lightgbm"], **common)
    assert found.queries.qid.unique().tolist() == days[12:].tolist()
    assert not [note for note in found.notes if "dates" in note]
    later_trains = "folds train on dates after those that they test"
    with pytest.warns(UserWarning, match=later_trains):
        boostrank.compare(frame, objectives=[], **{**common, "folds": [1]})
    later_first = frame.sort_values("date", ascending=False)
    unsorted = "2024-01-29 comes after 2024-01-30; sort the data by"
    with pytest.warns(UserWarning, match=unsorted) as caught:
        boostrank.compare(later_first, objectives=[], hosts=["lightgbm"], **common)
    assert len(caught) == 1
