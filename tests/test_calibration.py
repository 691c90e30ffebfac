"""Probabilities: the optimum of `Calibrated`, calibrators, metrics and their figure."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from commands import run
from matplotlib import pyplot as plt
from scipy.special import expit as sigmoid
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from test_compare import bound_to_rows
from test_inputs import FEATURES

import boostrank
from boostrank import plot, tune
from boostrank.calibration import CalibratedRanker, Isotonic, Platt
from boostrank.datasets import make_ranking
from boostrank.lab.models import load_model
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

DATA = make_ranking(60, 12, n_features=4, seed=2)
MEASURES = ("logloss", "brier", "ece")


@pytest.fixture
def lists(rng):
    group = rng.integers(1, 30, 20)
    scores = rng.normal(-1, 2, group.sum())
    return scores, (rng.random(len(scores)) < sigmoid(scores)).astype(float), group


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_both_parts_are_best_at_the_log_odds_of_the_labels(share, rng):
    t = rng.uniform(0.05, 0.95, 12)
    at_log_odds = np.log(t / (1.0 - t))
    grad, _ = boostrank.Calibrated(share=share).grad_hess(at_log_odds, t, [12])
    np.testing.assert_allclose(grad, 0.0, atol=1e-15)
    # A softmax of the scores is not best there.
    assert np.abs(boostrank.ListNet().grad_hess(at_log_odds, t, [12])[0]).max() > 0.01


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [LGBMRanker, XGBRanker])
def test_scores_of_calibrated_are_log_odds_on_either_host(kind):
    data = make_ranking(300, 30, n_features=8, seed=5, noise=1.0)
    train, test = data.split(2, seed=1)
    quiet = {"n_estimators": 100, "n_jobs": 1}
    quiet |= {"verbosity": -1} if kind is LGBMRanker else {"min_child_weight": 5, "max_depth": 4}
    scores = {}
    for objective in (boostrank.Calibrated(top=4), boostrank.Blend()):
        ranker = kind(objective=objective, learning_rate=0.1, **quiet)
        scores[objective.name] = ranker.fit(train.X, train.y, group=train.group).predict(test.X)
    found = {
        name: boostrank.evaluate(s, test.y, test.group, ("ece", "ndcg@10"))
        for name, s in scores.items()
    }
    assert found["calibrated"]["ece"] < 0.02 < 0.2 < found["blend"]["ece"]
    assert found["calibrated"]["ndcg@10"] > found["blend"]["ndcg@10"] - 0.02


def test_measures_equal_scikit_learns(lists):
    scores, labels, group = lists
    found = boostrank.evaluate(scores, labels, group, MEASURES)
    assert found["logloss"] == pytest.approx(log_loss(labels, sigmoid(scores)), rel=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(labels, sigmoid(scores)), rel=1e-12)


def test_probabilities_in_place_of_log_odds_are_noticed(lists):
    scores, labels, group = lists
    for name in MEASURES:
        with pytest.warns(UserWarning, match=f"^{name}: scores are read as log-odds"):
            boostrank.evaluate(sigmoid(scores), labels, group, [name])
    # LightGBM hands them over where the objective is its own.
    dataset = lgb.Dataset(np.c_[scores, -scores], labels, group=group)
    params = {"objective": "binary", "metric": "None", "verbosity": -1, "num_threads": 1}
    with pytest.warns(UserWarning, match=r"^brier: scores are read as log-odds"):
        lgb.train(params, dataset, 2, valid_sets=[dataset], feval=boostrank.metric("brier"))
    boostrank.evaluate([0.05, 0.1], [1, 1], [2], MEASURES)  # of a first round, perhaps
    boostrank.evaluate(sigmoid(scores), labels, group, ["ndcg@10"])


def test_calibration_error_is_the_distance_in_ten_bins(lists):
    scores, labels, group = lists
    p, total = sigmoid(scores), 0.0
    for low in np.arange(10) / 10:
        inside = (p >= low) & (p < low + 0.1)
        total += abs(p[inside].sum() - labels[inside].sum())
    found = boostrank.evaluate(scores, labels, group, ["ece"])["ece"]
    assert found == pytest.approx(total / len(p), rel=1e-12)
    assert boostrank.evaluate([0.0, 0.0], [1, 0], [2], ["ece"]) == {"ece": 0.0}
    certain = boostrank.evaluate([1e30, -1e30], [0, 1], [1, 1], MEASURES)
    assert certain == {"logloss": 1e30, "brier": 1.0, "ece": 1.0}


def test_means_are_over_documents_with_the_weights_of_queries(lists, rng):
    scores, labels, group = lists
    weight = rng.integers(0, 3, len(group))
    rows = np.repeat(np.arange(len(scores)), np.repeat(weight, group))
    repeated = scores[rows], labels[rows], [len(rows)]
    found = boostrank.evaluate(scores, labels, group, MEASURES, weight=weight)
    assert found == pytest.approx(boostrank.evaluate(*repeated, MEASURES), rel=1e-12)
    each = boostrank.evaluate(scores, labels, group, MEASURES, per_query=True)
    for name in ("logloss", "brier"):
        assert np.average(each[name], weights=group * weight) == pytest.approx(found[name])
    none = boostrank.evaluate(scores, labels, group, MEASURES, weight=np.zeros(len(group)))
    assert np.isnan(list(none.values())).all()


def test_queries_without_relevant_documents_count_and_grades_are_shares():
    assert boostrank.evaluate([0.0], [0], [1], ["brier"]) == {"brier": 0.25}
    graded = boostrank.evaluate([1.0, 0.0, -1.0], [4, 2, 0], [3], MEASURES)
    assert graded == boostrank.evaluate([1.0, 0.0, -1.0], [1, 0.5, 0], [3], MEASURES)
    with pytest.raises(ValueError, match=r"'ece@10' takes no cut-off"):
        boostrank.evaluate([0.0], [0], [1], ["ece@10"])


def test_a_metric_without_a_value_for_each_query_is_not_compared():
    for given in ("ece", ("ndcg@10", "ece")):
        with pytest.raises(
            ValueError, match=r"^metric must have a value for each query, got 'ece'"
        ):
            boostrank.compare(DATA, objectives=["regression"], metric=given)


@pytest.mark.usefixtures("no_figures")
def test_comparisons_know_that_less_is_better(tmp_path):
    # A regression's scores are no log-odds.
    with pytest.warns(UserWarning, match="logloss: scores are read as log-odds.* of a regression"):
        found = boostrank.compare(
            DATA,
            objectives=["calibrated"],
            baseline="regression@lightgbm",
            metric=("logloss", "precision@3", "ndcg@3"),
            rounds=15,
            learning_rate=0.3,
        )
    names = ["logloss", "precision@3", "ndcg@3", "ndcg@1", "ndcg@5", "ndcg@10", "map"]
    assert list(found.summary.columns[:7]) == list(found.queries.columns[3:]) == names
    assert found.summary["logloss"].is_monotonic_increasing
    assert found.summary.loc["calibrated@lightgbm", "verdict"] == "better"
    assert found.summary.loc["calibrated@lightgbm", "difference_high"] < 0
    assert list(found.summary.loc[["regression@lightgbm"], "verdict"]) == ["baseline"]
    row = next(row for row in found.rows if str(row.learner) == "calibrated@lightgbm")
    assert [fold.best_round for fold in row.folds] == [
        1 + int(np.argmin(fold.curve)) for fold in row.folds
    ]
    names = [label.get_text() for label in found.plot().get_yticklabels()]
    ranked = [name for name in found.summary.index if name != "regression@lightgbm"]
    assert names == ranked[::-1]

    found.report(tmp_path / "report.html")
    text = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    first = found.summary.index[0]
    assert f"{first} beats the baseline regression@lightgbm beyond chance" in text
    own = found.queries.pivot(index="qid", columns="learner", values="logloss")
    better = int((own["calibrated@lightgbm"] < own["regression@lightgbm"]).sum())
    worse = int((own["calibrated@lightgbm"] > own["regression@lightgbm"]).sum())
    assert f"<summary>calibrated@lightgbm: {better} better, 0 equal, {worse} worse" in text
    assert "each test query, regression@lightgbm minus calibrated@lightgbm" in text
    assert '<th scope="col" data-first="ascending" aria-sort="ascending">LOGLOSS</th>' in text
    assert '<th scope="col" data-first="ascending">difference</th>' in text
    assert '<th scope="col" data-first="descending" class="extra">PRECISION@3</th>' in text
    gained = (own["regression@lightgbm"] - own["calibrated@lightgbm"]).sort_values()
    most = f"Queries that gain most: {gained.index[-1]} ("
    assert most in text[text.index("<summary>calibrated@lightgbm: ") :]


@pytest.mark.parametrize("metric", ["logloss", "ndcg@10"])
def test_a_search_knows_that_less_is_better(tmp_path, metric):
    data = make_ranking(30, 10, n_features=4, seed=2)
    learner = tune.Learner("calibrated", "lightgbm", boostrank.Calibrated())
    tuned = tune.tune(
        data, learner, tmp_path, n_trials=4, rounds=6, n_folds=2, n_repeats=1, metric=metric
    )
    best = min if metric == "logloss" else max
    means = [trial.mean for trial in tuned.trials]
    assert len(set(means)) > 1
    assert tuned.best.mean == best(means)


def test_training_stops_early_where_less_is_better(tmp_path, host):
    grades = np.where(DATA.qid < 40, DATA.y, np.minimum(DATA.y, 2))  # probabilities are of 4
    frame = pd.DataFrame(DATA.X).add_prefix("f").assign(qid=DATA.qid, label=grades)
    paths = [tmp_path / "train.csv", tmp_path / "valid.csv"]
    for path, queries in zip(paths, (DATA.qid < 40, DATA.qid >= 40), strict=True):
        frame[queries].to_csv(path, index=False)
    args = ["train", paths[0], "-o", "calibrated", "--host", host, "--model", tmp_path / "m.json"]
    args += ["--valid", paths[1], "--metric", "logloss", "--rounds", 300, "--learning-rate", 0.1]
    result = run(*args, "--patience", 5)
    kept = int(result.stderr.split("m.json: ")[1].split()[0])
    model, held = load_model(tmp_path / "m.json"), DATA.select(np.arange(40, 60))
    rules = {"metrics": ["logloss"], "top": 4}
    losses = [
        boostrank.evaluate(scores, np.minimum(held.y, 2), held.group, **rules)["logloss"]
        for scores in model.staged(held.X)
    ][:kept]
    assert kept > 1
    assert f"up to the best of {kept + 5} rounds" in result.stderr
    assert int(np.argmin(losses)) == kept - 1


def test_platt_is_a_logistic_regression(lists):
    scores, labels, _ = lists
    platt = Platt().fit(scores, labels)
    plain = LogisticRegression(C=1e9, tol=1e-10).fit(scores[:, None], labels)
    np.testing.assert_allclose(
        platt.predict(scores), plain.predict_proba(scores[:, None])[:, 1], atol=1e-6
    )
    # Where one document of a thousand is relevant, too, the mean probability is their share: it was
    # a tenth too high.
    scores = np.linspace(-3.0, 3.0, 20_000)
    rare = np.random.default_rng(0).random(20_000) < sigmoid(1.5 * scores - 9.0)
    assert Platt().fit(scores, rare).predict(scores).mean() == pytest.approx(rare.mean(), rel=1e-4)
    # Amounts may be shares of a top above the largest grade.
    revenue = Platt(top=5000).fit(scores, 5000 * rare).predict(scores)
    np.testing.assert_array_equal(revenue, Platt().fit(scores, rare).predict(scores))
    # A label of half the top is as good as one relevant and one irrelevant document.
    half = Platt(top=2).fit([0.0, 1.0, 2.0], [1, 1, 2])
    twice = Platt().fit([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], sample_weight=[1, 1, 1, 1, 2])
    np.testing.assert_allclose(half.predict([0.5, 1.5]), twice.predict([0.5, 1.5]), rtol=1e-3)
    assert Platt().fit([0.0, 0.1, 0.2], [0, 1, 1]).predict([-1e308, 1e308]).tolist() == [0, 1]
    # The unit of weights makes no difference, nor do documents without one, such as padding.
    plain = Platt().fit([0, 0, 1, 1, 2], [0, 1, 0, 1, 1]).predict([0.5, 1.5])
    for pad in (0.0, -1e6, 1e300):
        padded, weight = [0, 0, 1, 1, 2, pad], [1e-6] * 5 + [0]
        small = Platt().fit(padded, [0, 1, 0, 1, 1, 0], sample_weight=weight)
        np.testing.assert_allclose(small.predict([0.5, 1.5]), plain)


@pytest.mark.parametrize("kind", [Platt, Isotonic])
def test_calibrators_fix_what_is_off_and_keep_the_order(kind, rng):
    truth = rng.normal(size=5000)
    labels = rng.random(5000) < sigmoid(truth)
    scores = 0.2 * truth + 7.0
    p = kind().fit(scores[:2500], labels[:2500]).predict(scores[2500:])
    assert np.abs(p - sigmoid(truth[2500:])).mean() < 0.04
    order = np.argsort(scores[2500:])
    assert (np.diff(p[order]) >= 0).all()
    assert clone(kind(top=3)).top == 3
    for unit in (1e-170, 1e170) if kind is Platt else (1e170,):
        same = kind().fit(unit * scores[:2500], labels[:2500]).predict(unit * scores[2500:])
        np.testing.assert_allclose(same, p, atol=1e-9)


@pytest.mark.parametrize("kind", [Platt, Isotonic])
def test_calibrators_refuse_bad_input(kind):
    for scores, y, message in (
        ([np.nan, 1.0], [0, 1], "^scores must be finite"),
        ([0.0, 1.0], [0, -1], "^labels must be between 0 and 1e\\+300"),
        ([0.0, 1.0], [0], "^labels must have one grade for each"),
        ([], [], "^scores must hold at least one"),
    ):
        with pytest.raises(ValueError, match=message):
            kind().fit(np.array(scores, float), np.array(y, float))
    with pytest.raises(ValueError, match="y has the rows of scores in another order"):
        kind().fit(pd.Series([0.0, 1.0], ["a", "b"]), pd.Series([1, 0], ["b", "a"]))
    with pytest.raises(ValueError, match=r"^top must be a positive"):
        kind(top=0.0).fit([0.0], [0])
    with pytest.raises(ValueError, match=r"^sample_weight must be above 0 somewhere"):
        kind().fit([0, 1], [0, 1], sample_weight=[0, 0])


def test_platt_refuses_what_says_nothing():
    with pytest.raises(ValueError, match=r"^y must hold relevant documents and others"):
        Platt().fit([0.0, 1.0], [0, 0])
    with pytest.raises(ValueError, match=r"^scores must rise with relevance"):
        Platt().fit([0.0, 1.0], [1, 0])


def test_a_calibrated_ranker_learns_from_scores_of_unseen_queries():
    data = make_ranking(200, 20, n_features=8, seed=5, noise=1.0)
    train, test = data.split(2, seed=1)
    ranker = LGBMRanker(n_estimators=30, verbosity=-1, n_jobs=1)
    both = CalibratedRanker(ranker, Platt(top=4))
    for predict in (both.predict, both.predict_probability):
        with pytest.raises(NotFittedError):
            predict(test.X)
    both.fit(train.X, train.y, group=train.group)
    alone = clone(ranker).fit(train.X, train.y, group=train.group)
    np.testing.assert_array_equal(both.predict(test.X), alone.predict(test.X))
    p = both.predict_probability(test.X)
    bias = p.mean() - test.y.mean() / 4
    assert abs(bias) < 0.02
    # Calibrated on its own training data, it would be overconfident.
    rash = Platt(top=4).fit(alone.predict(train.X), train.y).predict(alone.predict(test.X))
    losses = [
        boostrank.evaluate(np.log(q / (1 - q)), test.y / 4, test.group, ["logloss"])["logloss"]
        for q in (p, rash)
    ]
    assert losses[0] < losses[1]
    scattered = np.argsort(np.arange(len(train.y)) % 20, kind="stable")
    again = CalibratedRanker(ranker, Platt(top=4)).fit(
        train.X[scattered], train.y[scattered], qid=train.qid[scattered]
    )
    np.testing.assert_array_equal(again.predict_probability(test.X), p)
    amounts = clone(both).set_params(ranker__objective="query-rmse", calibrator__top=4000)
    p = amounts.fit(train.X, 1000 * train.y, qid=train.qid).predict_probability(test.X)
    assert abs(p.mean() - test.y.mean() / 4) < 0.02
    with pytest.raises(ValueError, match=r"^folds must be at least 2"):
        CalibratedRanker(ranker, folds=1).fit(train.X, train.y, group=train.group)
    mixed = np.random.default_rng(0).permutation(len(train.y))
    with pytest.raises(ValueError, match=r"^X must have one row for each of the"):
        both.fit(np.vstack([train.X[mixed], train.X[:9]]), train.y[mixed], qid=train.qid[mixed])
    table = pd.DataFrame(train.X[mixed]).assign(own=train.qid[mixed])
    with pytest.raises(ValueError, match=r"has the query's id among its features, in the .*'own'"):
        both.fit(table, train.y[mixed], qid=train.qid[mixed])
    day = np.repeat(np.arange(len(train.group)), train.group)  # no id, if none is given
    both.fit(pd.DataFrame(train.X).assign(day=day), train.y, group=train.group)


@pytest.mark.parametrize(
    "form", ["lists", "pandas, numbered", "polars", "arrow", "csr matrix", "coo array"]
)
def test_a_calibrated_ranker_takes_every_form_of_features(form):
    ranker = XGBRanker(n_estimators=5, n_jobs=1)
    both = CalibratedRanker(ranker, Platt(top=4), folds=2)
    X = DATA.X + 1.0  # no zeros, which XGBoost takes for missing in sparse matrices
    plain = clone(both).fit(X, DATA.y, group=DATA.group)
    made = FEATURES[form](X)
    both.fit(made, DATA.y, group=DATA.group)
    np.testing.assert_array_equal(
        both.predict_probability(made), plain.predict_probability(X), strict=True
    )
    if hasattr(made, "columns"):
        names = getattr(made, "column_names", None) or [str(name) for name in made.columns]
        assert both.ranker_.get_booster().feature_names == names


def test_the_reliability_figure_holds_the_bins(lists):
    scores, labels, _ = lists
    p = sigmoid(scores)
    ax = plot.reliability({"one": (p, labels)}, bins=4)
    x, y = ax.lines[1].get_data()
    inside = (p >= 0.25) & (p < 0.5)
    assert x[1] == pytest.approx(p[inside].mean())
    assert y[1] == pytest.approx(labels[inside].mean())
    plt.close(ax.figure)
    for pair, error, message in (
        (p, TypeError, "must be a pair"),
        ((p, labels[1:]), ValueError, "must have the same length"),
        ((scores, labels), ValueError, "must be from 0 to 1"),
    ):
        with pytest.raises(error, match=message):
            plot.reliability({"one": pair})


@pytest.mark.parametrize("kind", [LGBMRanker, XGBRanker])
def test_what_belongs_to_rows_is_refused(kind):
    """Pairs of the first query exist in every fold, as pairs of other documents."""
    for objective, held in bound_to_rows(DATA):
        both = CalibratedRanker(kind(objective=objective, n_estimators=2))
        message = f"^CalibratedRanker trains on parts .* has {held} for the rows of one training"
        with pytest.raises(ValueError, match=message):
            both.fit(DATA.X, DATA.y > 1, qid=DATA.qid)
