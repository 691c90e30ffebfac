"""Metrics, compared with the tools whose conventions they claim to follow."""

import copy
import dataclasses
import inspect
import itertools
import math
import pickle
from contextlib import nullcontext
from functools import partial

import ir_measures
import lightgbm
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import xgboost
from commands import letor, lines_of
from ir_measures import ERR, RBP, Qrel, ScoredDoc
from scipy.stats import kendalltau, pearsonr, spearmanr
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score
from test_edge_cases import queries_of

from boostrank.datasets import RankingData
from boostrank.hosts.metric import metric
from boostrank.metrics import CONVENTIONS, evaluate

EVERY_MEASURE = (
    *("dcg", "dcg@3", "ndcg", "ndcg@3", "meanndcg", "map", "map@3"),
    *("precision@3", "recall@3", "mrr", "mrr@3", "err", "err@3", "rbp"),
    *("spearman", "kendall", "pearson", "auc"),
)
#: Metrics of order, which are undefined only where all labels are the same.
OF_ORDERS = ("spearman", "kendall", "pearson", "auc")


def ragged(seed, *, top=4, n_queries=60, most=14):
    """Return queries with ties, lists shorter than most cut-offs, a third with nothing relevant."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, most, n_queries)
    group[:4] = 1  # a single document; relevant in two of them
    query = np.repeat(np.arange(n_queries), group)
    labels = rng.integers(0, top + 1, len(query)) * (rng.random(len(query)) < 0.5)
    labels[query % 3 == 0] = 0
    labels[:4] = [0, top, 1, 0]
    # Quarters are exact in float32 too.
    scores = rng.integers(-3, 4, len(query)) / 4
    return scores, labels, group


# ---- hand values ---------------------------------------------------------------------------------


def test_hand_values_of_every_measure():
    # Ranked grades 0 2 1, ideal 2 1 0; ERR's stopping probabilities are (2^y - 1)/4.
    scores, labels, group = [3.0, 2.0, 1.0], [0, 2, 1], [3]
    second, third = 1 / math.log2(3), 1 / 2
    at = [0.0, 3 * second / (3 + second), (3 * second + third) / (3 + second)]
    expected = {
        "dcg": 3 * second + third,
        "dcg@2": 3 * second,
        "ndcg@1": at[0],
        "ndcg@2": at[1],
        "ndcg": at[2],
        "meanndcg": sum(at) / 3,
        "map": (1 / 2 + 2 / 3) / 2,
        "map@1": 0.0,
        "map@2": (1 / 2) / 2,
        "precision@2": 1 / 2,
        "precision@5": 2 / 5,
        "recall@2": 1 / 2,
        "mrr": 1 / 2,
        "mrr@1": 0.0,
        "err": 3 / 4 / 2 + 1 / 4 * 1 / 4 / 3,
        "err@2": 3 / 4 / 2,
        "rbp": 0.2 * (0.8 + 0.8**2),
        "rbp@0.5": 0.5 * (0.5 + 0.5**2),
        "rbp@.5": 0.5 * (0.5 + 0.5**2),
        # One pair of three is in order; ranks differ by 2, 1 and 1.
        "spearman": 1 - 6 * (2**2 + 1 + 1) / (3 * (3**2 - 1)),
        "kendall": (1 - 2) / 3,
        "auc": 1 / 3,
        "pearson": -1 / 2,
    }
    assert evaluate(scores, labels, group, tuple(expected)) == pytest.approx(expected, rel=1e-14)


def test_ties_keep_the_order_passed():
    for labels, expected in (([1, 0, 0], 1.0), ([0, 1, 0], 1 / 2), ([0, 0, 1], 1 / 3)):
        assert evaluate([0.0, -0.0, 0.0], labels, [3], ["mrr"])["mrr"] == pytest.approx(expected)


def test_queries_without_relevant_documents():
    scores, labels, group = [2.0, 1.0, 1.0, 2.0], [0, 0, 0, 0], [2, 2]
    for convention, rules in CONVENTIONS.items():
        values = evaluate(scores, labels, group, EVERY_MEASURE, convention=convention)
        for name, value in values.items():
            normalised = name.split("@")[0] in ("ndcg", "meanndcg", "map", "recall")
            expected = 0.0 if not normalised else rules.no_relevant
            if convention == "standard" or name in OF_ORDERS:
                expected = np.nan
            # letor4's rule for short lists gives the same 0.
            np.testing.assert_equal(value, expected, err_msg=f"{convention} {name}")


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_empty_queries_count_in_no_mean(convention):
    scores, labels, group = ragged(1)
    with_empty = np.insert(group, [0, 7, 7, len(group)], 0)
    measured = partial(evaluate, scores, labels, metrics=EVERY_MEASURE, convention=convention)
    assert measured(group=with_empty) == measured(group=group)
    weight = np.arange(1.0, len(with_empty) + 1)
    full = weight[with_empty > 0]
    assert measured(group=with_empty, weight=weight) == measured(group=group, weight=full)
    for values in measured(group=with_empty, per_query=True).values():
        assert np.isnan(values[with_empty == 0]).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("group", [[], [0, 0]])
def test_nothing_to_average_is_nan(convention, group):
    values = evaluate([], [], group, EVERY_MEASURE, convention=convention)
    assert all(np.isnan(value) for value in values.values())


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_query_does_not_depend_on_the_others(convention):
    scores, labels, group = ragged(2)
    scores, labels = scores * 1e308, labels.copy()
    labels[-1] = 4  # ERR's scale of grades
    together = evaluate(scores, labels, group, EVERY_MEASURE, convention=convention, per_query=True)
    rules = {"convention": convention, "top": 4}
    for q, (s, y) in enumerate(queries_of(group, scores, labels)):
        alone = evaluate(s, y, [len(y)], EVERY_MEASURE, **rules)
        for name in EVERY_MEASURE:
            np.testing.assert_allclose(together[name][q], alone[name], rtol=1e-13, err_msg=name)


def test_inputs_are_left_alone_and_any_dtype_will_do():
    scores, labels, group = ragged(3)
    before = scores.copy(), labels.copy(), group.copy()
    expected = evaluate(scores, labels, group, EVERY_MEASURE, convention="trec")
    np.testing.assert_equal((scores, labels, group), before)
    other = scores.astype(np.float32), labels.astype(np.float32), list(map(int, group))
    assert evaluate(*other, EVERY_MEASURE, convention="trec") == expected


def test_largest_grades_do_not_overflow():
    with pytest.warns(UserWarning, match="labels above 30 count as gains 2\\^y - 1 in dcg"):
        values = evaluate([1.0, 2.0, 3.0], [1000, 1000, 3], [3], EVERY_MEASURE)
    assert all(np.isfinite(value) for value in values.values())


def test_fractional_labels_give_a_warning_where_they_count_as_exponential_gains():
    query = [1.0, 2.0], [0.25, 0], [2]
    with pytest.warns(UserWarning, match='not whole .* in ndcg: for .* pass gain="linear"'):
        evaluate(*query, ["map", "ndcg"])
    evaluate(*query, ["map", "err"])  # no warning
    evaluate(*query, ["ndcg"], gain="linear")


def test_weighted_mean():
    scores, labels, group = [2.0, 1.0, 1.0, 2.0], [1, 0, 1, 0], [2, 2]
    expected = {"mrr": pytest.approx((1 * 1 + 3 * 1 / 2) / 4)}
    assert evaluate(scores, labels, group, ["mrr"], weight=[1, 3]) == expected
    assert evaluate(scores, labels, group, ["mrr"], weight=[1, 1, 3, 3]) == expected
    # A query has the mean of its documents' weights.
    assert evaluate(scores, labels, group, ["mrr"], weight=[0, 2, 4, 2]) == expected
    assert np.isnan(evaluate(scores, labels, group, ["mrr"], weight=[0, 0])["mrr"])
    # Weights of queries that are left out do not count.
    assert evaluate(scores, [0, 0, 1, 0], group, ["mrr"], weight=[5, 1]) == {"mrr": 1 / 2}
    # As many queries as documents, one query empty: the weights are those of documents.
    values = evaluate([2.0, 1.0, 1.0], [0, 1, 1], [2, 0, 1], ["mrr"], weight=[1, 3, 5])
    assert values == {"mrr": pytest.approx((2 * 1 / 2 + 5 * 1) / 7)}


# ---- LETOR ---------------------------------------------------------------------------------------


def fold_mean(parts, feature, measures, convention):
    """Return plain means over the five test folds."""
    folds = [
        evaluate(part.X[:, feature - 1], part.y, part.group, measures, convention=convention)
        for part in parts
    ]
    return {name: np.mean([fold[name] for fold in folds]) for name in measures}


def test_letor3_single_features(data_dir):
    folder = data_dir / "letor2_baselines"
    published = [{} for _ in range(26)]
    for table in ("NDCG", "Precision"):
        for row in lines_of(folder / f"SingleFeatures_{table}.csv"):
            published[int(row.pop("Feature No"))] |= {
                name.replace("P@", "precision@").lower(): float(figure)
                for name, figure in row.items()
            }
    data = RankingData.concat(letor(folder))
    assert len(data.group) == 106
    compared = 0
    for feature in range(1, 26):
        figures = published[feature]
        scores = data.X[:, feature - 1]
        values = evaluate(scores, data.y, data.group, tuple(figures), convention="letor3")
        assert values == pytest.approx(figures, rel=0, abs=1e-6)
        compared += len(values)
    assert compared == 25 * 21


def test_letor3_ohsumed(data_dir):
    figures = {"map": 0.4418, "ndcg@1": 0.5201, "ndcg@2": 0.4981, "ndcg@10": 0.4460}
    values = fold_mean(letor(data_dir / "ohsumed"), 11, tuple(figures), "letor3")
    assert values == pytest.approx(figures, rel=0, abs=5e-5)


def test_letor4_mq2008(data_dir):
    parts = letor(data_dir / "mq2008")
    figures = {"map": 0.4712, "ndcg@1": 0.3524, "ndcg@5": 0.4683, "ndcg@10": 0.2233}
    figures["meanndcg"] = 0.4831
    values = fold_mean(parts, 39, tuple(figures), "letor4")
    assert values == pytest.approx(figures, rel=0, abs=5e-5)


def test_letor4_short_lists(data_dir):
    # A perfect ranking is 1 only where something is relevant and the list is long enough. Over all
    # queries Microsoft's script prints .7193 and .3737.
    data = RankingData.concat(letor(data_dir / "mq2008"))
    labels, group = data.y, data.group
    relevant = np.array([y.any() for (y,) in queries_of(group, labels)])
    values = evaluate(labels, labels, group, ("ndcg@5", "ndcg@10"), convention="letor4")
    assert values == pytest.approx(
        {f"ndcg@{k}": np.mean(relevant & (group >= k)) for k in (5, 10)}, rel=1e-12
    )
    assert [math.floor(1e4 * value) for value in values.values()] == [7193, 3737]


# ---- LightGBM ------------------------------------------------------------------------------------

CUTS = (1, 2, 3, 5, 10, 100)


def lightgbm_says(scores, labels, group, weight=None, **params):
    """Return LightGBM's own figures for given scores."""
    data = lightgbm.Dataset(
        np.zeros((len(scores), 1)), labels, group=group, init_score=scores, weight=weight
    )
    usual = {"objective": "lambdarank", "metric": "ndcg,map", "eval_at": CUTS, "verbosity": -1}
    booster = lightgbm.Booster({**usual, "feature_pre_filter": False, **params}, data)
    return {name: value for _, name, value, _ in booster.eval_train()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [None, "query", "row"])
def test_lightgbm(seed, weights):
    scores, labels, group = ragged(seed)
    rng = np.random.default_rng(seed)
    weight = {
        None: None,
        "query": np.repeat(rng.integers(8, 17, len(group)) / 8, group),
        "row": rng.integers(8, 17, len(scores)) / 8,
    }[weights]
    expected = lightgbm_says(scores, labels, group, weight)
    assert len(expected) == 2 * len(CUTS)
    expected |= {measure: expected[f"{measure}@100"] for measure in ("ndcg", "map")}  # no cut
    values = evaluate(scores, labels, group, tuple(expected), convention="lightgbm", weight=weight)
    # LightGBM keeps the mean of a query's weights in float32.
    assert values == pytest.approx(expected, rel=1e-7 if weights == "row" else 1e-12)


def test_lightgbm_counts_labels_above_one_half_as_relevant():
    scores, labels, group = [4.0, 3.0, 2.0, 1.0], [0.3, 0.5, 0.7, 2.0], [4]
    expected = lightgbm_says(scores, labels, group, objective="regression", metric="map")
    assert expected["map@10"] == pytest.approx((1 / 3 + 2 / 4) / 2)
    values = evaluate(scores, labels, group, tuple(expected), convention="lightgbm")
    assert values == pytest.approx(expected, rel=1e-12)


# ---- XGBoost -------------------------------------------------------------------------------------


def xgboost_says(scores, labels, group, names, weight=None, **params):
    """Return XGBoost's own figures for given scores."""
    data = xgboost.DMatrix(np.zeros((len(scores), 1)), labels, base_margin=scores, group=group)
    if weight is not None:
        data.set_weight(weight)
    usual = {"objective": "rank:pairwise", "base_score": 0, "eval_metric": list(names)}
    line = xgboost.Booster({**usual, "nthread": 1, **params}, [data]).eval(data)
    figures = dict(field.removeprefix("eval-").rsplit(":", 1) for field in line.split("\t")[1:])
    return {name: float(figures[name]) for name in names}


def ours_for(names, *args, **kwargs):
    spelled = {name: name.replace("pre@", "precision@") for name in names}
    values = evaluate(*args, tuple(spelled.values()), convention="xgboost", **kwargs)
    return {name: values[spelled[name]] for name in names}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("measure", "top"), [("ndcg", 4), ("map", 1), ("pre", 1)])
def test_xgboost(seed, weighted, measure, top):
    weight = np.random.default_rng(seed).integers(8, 17, 60) / 8 if weighted else None
    query = ragged(seed, top=top)
    names = [f"{measure}@{k}{minus}" for k in CUTS for minus in ("", "-")]
    expected = xgboost_says(*query, names, weight)
    assert ours_for(names, *query, weight=weight) == pytest.approx(expected, rel=1e-6)


def test_xgboost_known_difference_bare_names_stop_at_32():
    query = ragged(5, top=1, n_queries=12, most=120)
    bare = xgboost_says(*query, ["ndcg", "map", "pre"])
    cut = ours_for(["ndcg@32", "map@32", "pre@32"], *query)
    assert list(bare.values()) == pytest.approx(list(cut.values()), rel=1e-6)
    whole = ours_for(["ndcg", "map"], *query)
    expected = xgboost_says(*query, ["ndcg@1000", "map@1000"])
    assert list(whole.values()) == pytest.approx(list(expected.values()), rel=1e-6)
    assert abs(whole["ndcg"] - bare["ndcg"]) > 0.01


def test_the_hosts_known_difference_empty_queries():
    """They count for 1, and make the mean NaN where LightGBM has weights."""
    scores, labels, group = ragged(0)
    query = scores, labels, np.insert(group, 5, 0)
    for theirs, convention, rel in (
        (lightgbm_says(*query), "lightgbm", 1e-12),
        (xgboost_says(*query, ["ndcg@5"]), "xgboost", 1e-6),
    ):
        ours = evaluate(*query, ["ndcg@5"], convention=convention)["ndcg@5"]
        want = (ours * len(group) + 1) / (len(group) + 1)
        assert theirs["ndcg@5"] == pytest.approx(want, rel=rel)
    assert np.isnan(lightgbm_says(*query, np.full(len(scores), 2.0))["ndcg@5"])


# ---- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_sklearn(seed):
    scores, labels, group = ragged(seed)
    cuts = (None, 1, 2, 3, 5, 10)
    names = [f"{measure}@{k}" if k else measure for measure in ("dcg", "ndcg") for k in cuts]
    values = evaluate(scores, labels, group, [*names, "map"], convention="sklearn", per_query=True)
    compared = 0
    for q, (s, y) in enumerate(queries_of(group, scores, labels)):
        expected = {}
        for k in cuts if len(y) > 1 else ():  # scikit-learn refuses a single document
            at = f"@{k}" if k else ""
            expected["dcg" + at] = dcg_score([y], [s], k=k)
            expected["ndcg" + at] = ndcg_score([y], [s], k=k)
        warned = pytest.warns(UserWarning, match="No positive class")
        with nullcontext() if y.any() else warned:
            expected["map"] = average_precision_score(y > 0, s)
        for name, value in expected.items():
            assert values[name][q] == pytest.approx(value, rel=1e-12), name
            compared += 1
    assert compared > 600


@pytest.mark.parametrize("runs", [1.0, 0.0], ids=["runs of ties", "all tied"])
def test_averages_over_ties_are_means_over_their_orders(runs):
    names = ("dcg@2", "dcg", "ndcg@3", "precision@2", "recall@3", "mrr", "mrr@2", "err", "err@3")
    scores, labels = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 0.0]), np.array([0, 1, 0, 2, 0, 1])
    scores *= runs
    orders = np.array(list(itertools.permutations(range(6))))
    shuffled = scores[orders].ravel(), labels[orders].ravel(), np.full(len(orders), 6)
    # No query lacks relevant documents, and trec differs from sklearn in ties (and map) only.
    expected = evaluate(*shuffled, names, convention="trec")
    values = evaluate(scores, labels, [6], names, convention="sklearn")
    assert values == pytest.approx(expected, rel=1e-12)


# ---- trec_eval, ir-measures ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_trec(seed):
    query = ragged(seed)
    scores, labels, group = query
    spelled = {"ndcg": "ndcg", "map": "map", "mrr": "recip_rank"}
    wanted = {"ndcg", "map", "recip_rank"}
    families = {"ndcg": "ndcg_cut", "map": "map_cut", "precision": "P", "recall": "recall"}
    for ours, theirs in families.items():
        wanted.add(f"{theirs}.{','.join(map(str, CUTS))}")
        spelled |= {f"{ours}@{k}": f"{theirs}_{k}" for k in CUTS}
    judged, ranked = {}, {}
    for q, (s, y) in enumerate(queries_of(group, scores, labels)):
        # trec_eval puts the larger id first: descending ids keep the order passed.
        ids = [f"{9999 - i}" for i in range(len(y))]
        judged[str(q)] = dict(zip(ids, y.tolist(), strict=True))
        ranked[str(q)] = dict(zip(ids, s.tolist(), strict=True))
    theirs = pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(ranked)
    assert len(theirs) == len(group)  # queries without relevant documents included
    values = evaluate(*query, tuple(spelled), convention="trec", per_query=True)
    for name, their_name in spelled.items():
        expected = [theirs[str(q)][their_name] for q in range(len(group))]
        np.testing.assert_allclose(values[name], expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("seed", range(3))
def test_ir_measures(seed):
    """RBP by cwl_eval, ERR by TREC's own script, gdeval.pl, which prints five digits."""
    scores, labels, group = ragged(seed)
    # Neither tool breaks ties as we do.
    scores = np.random.default_rng(seed).permutation(len(scores)) / 8
    labels[np.cumsum(group) - 1] = 4  # gdeval's scale of grades ends at 4
    measures = {"rbp": RBP(p=0.8, rel=1), "rbp@0.5": RBP(p=0.5, rel=1), "err@20": ERR @ 20}
    rows = [(str(q), str(i)) for i, q in enumerate(np.repeat(np.arange(len(group)), group))]
    judged = [Qrel(*row, int(y)) for row, y in zip(rows, labels, strict=True)]
    run = [ScoredDoc(*row, s) for row, s in zip(rows, scores, strict=True)]
    values = evaluate(scores, labels, group, tuple(measures), per_query=True)
    compared = 0
    for name, measure in measures.items():
        for result in ir_measures.iter_calc([measure], judged, run):
            tolerance = 6e-6 if name == "err@20" else 1e-9
            assert values[name][int(result.query_id)] == pytest.approx(result.value, abs=tolerance)
            compared += 1
    assert compared == 3 * len(group)


def test_labels_in_another_order_are_refused():
    index = list("abcd")
    scores = pd.Series([4.0, 3.0, 2.0, 1.0], index)
    labels, qid = pd.Series([2, 1, 0, 0], index), pd.Series([7, 7, 8, 8], index)
    names = ["ndcg@10"]
    assert evaluate(scores, labels, metrics=names, qid=qid)["ndcg@10"] == 1.0
    message = r"has the rows of scores in another order.*\.loc\[scores\.index\]"
    with pytest.raises(ValueError, match=f"labels {message}"):
        evaluate(scores, labels[::-1], metrics=names, qid=qid)
    with pytest.raises(ValueError, match=f"qid {message}"):
        evaluate(scores, labels, metrics=names, qid=qid[::-1])
    assert evaluate(scores, labels.to_numpy(), metrics=names, qid=qid)["ndcg@10"] == 1.0


# ---- names and errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", r"unknown metric 'ndgc@10'; did you mean 'ndcg@10'\? \(nearest of \d+: ndcg"),
        ("NDCG@5", r"did you mean 'ndcg@5'\?"),
        ("presicion@5", r"did you mean 'precision@5'\?"),
        ("ndcg@0", r"unknown metric 'ndcg@0'; did you mean 'ndcg@10'\?"),
        ("ndcg@ten", r"did you mean 'ndcg@10'\?"),
        ("ndcg@1@2", "unknown metric"),
        ("pre@5", r"unknown metric 'pre@5'; did you mean 'precision@5'\?"),
        ("P_10", r"did you mean 'precision@10'\?"),
        ("ndcg_cut_10", r"did you mean 'ndcg@10'\?"),
        ("NDCG:top=5", r"did you mean 'ndcg@5'\?"),
        ("recall10", r"did you mean 'recall@10'\?"),
        ("recip_rank", r"did you mean 'mrr'\?"),
        ("spearmann@5", r"did you mean 'spearman'\?"),
        ("rpb@3", r"did you mean 'rbp@0.8'\?"),
        ("", "unknown metric ''"),
        ("precision", "'precision' needs a cut-off; write for example 'precision@10'"),
        ("recall", "needs a cut-off"),
        ("meanndcg@10", "takes no cut-off; write 'meanndcg'"),
        ("spearman@10", "takes no cut-off; write 'spearman'"),
        ("rbp@10", "needs a persistence between 0 and 1, such as 'rbp@0.8'"),
        ("ndcg@0.8", "needs a whole cut-off, such as 'ndcg@10'"),
        ("ndcg@10-", "trailing minus of 'ndcg@10-' is XGBoost's; it needs convention='xgboost'"),
    ],
)
def test_bad_names(name, message):
    with pytest.raises(ValueError, match=message):
        metric(name)
    with pytest.raises(ValueError, match=message):
        evaluate([1.0], [1], [1], [name])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"scores": [1.0, np.nan]}, ValueError, "scores must be finite, got nan at row 1"),
        ({"labels": [1.0, np.nan]}, ValueError, "labels must be relevance grades.*nan at row 1"),
        ({"labels": [-1, 0]}, ValueError, "labels must be relevance grades.*got -1.0 at row 0"),
        ({"labels": [1]}, ValueError, "labels must have one grade for each of the 2 scores"),
        ({"group": [3]}, ValueError, "group must add up to the number of documents, 2"),
        ({"group": None}, ValueError, "pass either group.* or qid.*; got neither"),
        ({"qid": [1, 1]}, ValueError, "pass either group.* or qid.*; got both"),
        ({"group": None, "qid": [1]}, ValueError, "one id for each of the 2 documents, got shape"),
        ({"group": None, "qid": [1.5, 1.5]}, TypeError, "qid must hold integers or strings"),
        (
            {"metrics": ["spearman"], "labels": [np.inf, 0]},
            ValueError,
            "labels must be finite numbers, got inf at row 0",
        ),
        ({"metrics": ["auc", "ndcg"], "labels": [-1, 0]}, ValueError, "must be relevance grades"),
        (
            {"metrics": ["ndcg@2", "err", "map"], "labels": [0, 1500.5], "gain": "linear"},
            ValueError,
            r"grades.*, for err, got 1500\.5 at row 1; for amounts, such as prices, leave out err$",
        ),
        (
            {"metrics": ["ndcg@2", "err", "map"], "labels": [0, 1500]},
            ValueError,
            'for ndcg@2, err, got .*, pass gain="linear" for ndcg@2 and leave out err$',
        ),
        (
            {"metrics": ["dcg"], "labels": [0, 1e4], "convention": "letor3"},
            ValueError,
            "prices, leave out dcg$",  # it takes no gain
        ),
        ({"weight": [1.0, 1.0, 1.0]}, ValueError, "weight must have one value for each of the 1"),
        ({"weight": [1e301]}, ValueError, "weight must be between 0 and"),
        ({"metrics": "ndcg@10"}, TypeError, r"write \['ndcg@10'\]"),
        ({"metrics": [10]}, TypeError, "must be a string such as 'ndcg@10', got 10"),
        ({"per_query": 1}, TypeError, "per_query must be True or False"),
        ({"top": 0}, ValueError, "top must be a positive finite number, got 0"),
        ({"convention": "lightbgm"}, ValueError, r"'lightbgm'; did you mean 'lightgbm'\? \(known"),
    ],
)
def test_bad_arguments(change, error, message):
    good = {"scores": [1.0, 2.0], "labels": [1, 0], "group": [2]}
    with pytest.raises(error, match=message):
        evaluate(**{**good, **change})


# ---- queries by id -------------------------------------------------------------------------------


def test_queries_by_id():
    scores, labels, group = ragged(4)
    expected = evaluate(scores, labels, group, EVERY_MEASURE, per_query=True)
    ids = np.random.default_rng(0).permutation(len(group))
    for qid in (np.repeat(ids, group), np.repeat(ids, group).astype(str).tolist()):
        values = evaluate(scores, labels, qid=qid, metrics=EVERY_MEASURE, per_query=True)
        np.testing.assert_equal(values, expected)
    message = r"7 comes back at row 2 after another query; sort all .*np\.argsort\(qid"
    with pytest.raises(ValueError, match=message):
        evaluate([1.0, 2.0, 3.0], [1, 0, 1], qid=[7, 8, 7])


# ---- orders --------------------------------------------------------------------------------------


def orders(seed):
    """Yield scores and labels of one query, with ties and negative values or all different.

    Some are numbers whose squares, or whose differences, float64 cannot hold.
    """
    rng = np.random.default_rng(seed)
    for n in (2, 3, 4, 7, 40, 600):
        yield rng.integers(-3, 4, n) / 4, rng.integers(-2, 3, n) / 2
        yield rng.normal(size=n), rng.normal(size=n)
        yield rng.normal(size=n) * 1e300, 1e6 + 1e-3 * rng.normal(size=n)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_orders_are_those_of_scipy_and_scikit_learn(seed, convention):
    tools = {"spearman": spearmanr, "kendall": kendalltau, "pearson": pearsonr}
    compared = 0
    for scores, labels in orders(seed):
        if len(set(labels)) < 2:
            continue
        query = scores, labels, [len(scores)]
        values = evaluate(*query, tuple(tools), convention=convention)
        for name, tool in tools.items():
            if len(set(scores)) < 2:
                assert values[name] == 0.0
                continue
            # scipy's own correlation overflows.
            unit = np.abs(scores).max()
            expected = tool(scores / unit, labels)[0]
            assert values[name] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        above = labels > np.median(labels)
        if len(set(above)) == 2:
            value = evaluate(scores, above, [len(scores)], ["auc"], convention=convention)["auc"]
            assert value == pytest.approx(roc_auc_score(above, scores), rel=1e-12)
            compared += 1
    assert compared >= 12


def test_equal_scores_and_equal_labels():
    values = evaluate([0.1] * 3 + [1.0, 2.0, 3.0], [-1, -2, 0, 0.1, 0.1, 0.1], [3, 3], OF_ORDERS)
    assert values == {"spearman": 0.0, "kendall": 0.0, "pearson": 0.0, "auc": 0.5}
    per_query = evaluate([1.0, 2.0], [-1, -1], [2], OF_ORDERS, per_query=True)
    assert all(np.isnan(value).all() for value in per_query.values())


# ---- as the hosts call it ------------------------------------------------------------------------


def test_metric_is_immutable_hashable_and_copies():
    one = metric("ndcg@5", convention="letor3")
    for twin in (metric("ndcg@5", convention="letor3"), copy.copy(one), copy.deepcopy(one)):
        assert (twin, hash(twin)) == (one, hash(one))
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != metric("ndcg@5")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "map"
    with pytest.raises(ValueError, match="unknown convention 'lightbgm'; did you mean 'lightgbm'"):
        metric("map", convention="lightbgm")
    assert list(inspect.signature(one).parameters) == ["y_true", "y_pred", "weight", "group"]
    fields = ["name", "convention", "gain", "discount", "top"]
    assert list(inspect.signature(type(one)).parameters) == fields


@pytest.mark.parametrize("group", [[2, 0, 2, 0], [2, 2]])
def test_xgboost_weights_are_one_per_query_even_if_as_many_as_documents(group):
    scores, labels = [2.0, 1.0, 2.0, 1.0], [0, 1, 1, 0]
    weight = [1.0, 8.0, 3.0, 8.0] if len(group) == 4 else [0.5, 1.5, 2.0, 4.0]  # of documents
    data = xgboost.DMatrix(np.zeros((4, 1)), labels, group=group, weight=weight)
    name, value = metric("mrr")(np.float32(scores), data)
    assert (name, value) == ("mrr", pytest.approx((1 / 2 * 1 + 3) / 4))


@pytest.mark.parametrize("name", ["ndcg", "logloss"])
def test_early_stopping_of_xgboost_in_the_wrong_direction_is_refused(name):
    """The right one is that of every metric: see test_directions.py."""
    upwards = metric(name).larger_is_better
    data = xgboost.DMatrix(np.eye(4), [0, 1, 0, 1], group=[4])
    params = {"objective": "rank:pairwise", "disable_default_eval_metric": True}

    def train(maximize):
        stop = xgboost.callback.EarlyStopping(rounds=2, maximize=maximize, metric_name=name)
        measured = {"evals": [(data, "a")], "custom_metric": metric(name)}
        xgboost.train(params, data, 8, **measured, callbacks=[stop], verbose_eval=False)

    train(upwards)
    with pytest.raises(ValueError, match=f"wrong way.*maximize={upwards}"):
        train(not upwards)
