"""AdaRank and SVM-MAP: the papers' algorithms, written slowly, and Microsoft's figures."""

from itertools import islice, permutations, product

import numpy as np
import oracle
import pytest
from commands import letor
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from test_edge_cases import queries_of
from test_linear import fitted, table_2

from boostrank import evaluate
from boostrank.datasets import RankingData, letor_folds, make_ranking
from boostrank.linear import SVMMAP, AdaRank, Perceptron, SmoothRank
from boostrank.linear.adarank import boost
from boostrank.linear.svm_map import cutting_planes, most_violated

MEASURES = ("map", "ndcg@10", "ndcg@2", "ndcg")


@pytest.fixture
def data() -> RankingData:
    return make_ranking(20, 12, 6, seed=3)


def mixed(rng, n_queries=60, n_docs=7):
    """Return data in which each feature is good for other queries, so that boosting alternates."""
    y = np.maximum(rng.integers(-3, 3, (n_queries, n_docs)), 0.0)
    y[:, 0] = 1.0
    y[0] = 0.0  # a query without relevant documents
    X = rng.normal(size=(n_queries, n_docs, 4))
    for q in range(n_queries):
        X[q, :, q % 3] += 2.0 * y[q]
    X = np.round(X.reshape(-1, 4), 1)  # with ties
    return RankingData(X, y.ravel(), np.repeat(np.arange(n_queries), n_docs))


def queries(data):
    return [query for query in queries_of(data.group, data.X, data.y) if len(query[1])]


# ---- AdaRank -------------------------------------------------------------------------------------


def measured(scores, y, measure):
    """Return E of one query; ties in the order passed."""
    if measure == "map":
        return oracle.measured("map", y[np.argsort(-scores, kind="stable")])
    k = int(measure.partition("@")[2] or len(y))
    return oracle.dcg(scores, y, k) / oracle.ideal_dcg(y, k)


def adarank(data, measure, repeat, rounds):
    """Return w, P and the feature of each round, as in the paper's figure 1."""
    judged = [(X, y) for X, y in queries(data) if (y > 0).any()]
    alone = np.array([[measured(x, y, measure) for x in X.T] for X, y in judged])
    P, w, history = np.full(len(judged), 1 / len(judged)), np.zeros(data.X.shape[1]), []
    for _ in range(rounds):
        k = np.argmax(np.where(repeat | (w == 0), P @ alone, -np.inf))
        w[k] += 0.5 * np.log(P @ (1 + alone[:, k]) / (P @ (1 - alone[:, k])))
        E = np.array([measured(X @ w, y, measure) for X, y in judged])
        P = np.exp(-E) / np.exp(-E).sum()
        history.append((w.copy(), k))
    return history


@pytest.mark.parametrize(("repeat", "rounds"), [(True, 12), (False, 4)])
@pytest.mark.parametrize("measure", MEASURES)
def test_adarank_follows_the_papers_algorithm(rng, measure, repeat, rounds):
    data = mixed(rng)
    history = adarank(data, measure, repeat, rounds)
    assert len({k for _, k in history}) > 1  # the query weights changed the choice
    path = islice(boost(data, measure, repeat), 12)  # without repeats it ends by itself
    for w, (expected, _) in zip(path, history, strict=True):
        np.testing.assert_allclose(w, expected, rtol=1e-9)


@pytest.mark.parametrize("measure", ["map", "ndcg@2"])
def test_the_best_round_is_kept(rng, measure):
    data, other = mixed(rng), mixed(rng)
    for judge, arguments in (
        (data, {}),
        (other, {"eval_set": (other.X, other.y), "eval_qid": other.qid}),
    ):
        model = AdaRank(measure, max_iter=30)
        model.fit(data.X, data.y, group=data.group, **arguments)
        path = list(islice(boost(data, measure, True), 30))
        values = [evaluate(judge.X @ w, judge.y, judge.group, (measure,))[measure] for w in path]
        assert len(set(values)) > 1
        assert model.n_iter_ == 1 + int(np.argmax(values))
        np.testing.assert_array_equal(model.coef_, path[model.n_iter_ - 1])


def test_a_feature_that_ranks_all_right_is_the_only_one():
    X = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    model = AdaRank("ndcg").fit(X, [2, 1, 0, 1, 0], group=[3, 2])
    np.testing.assert_array_equal(model.coef_, [0.0, 1.0])
    assert model.n_iter_ == 1


def test_adarank_first_weight_by_hand():
    # AP of the only feature is 1/2 and 1: alpha = ln((1 + 3/4) / (1 - 3/4)) / 2 = ln(7) / 2.
    X, y = [[2.0], [1.0], [2.0], [1.0]], [0, 1, 1, 0]
    model = AdaRank("map").fit(X, y, qid=[4, 4, 9, 9])
    np.testing.assert_allclose(model.coef_, [np.log(7.0) / 2.0], rtol=1e-12)
    assert model.n_iter_ == 1  # the first of 200 equal rounds


def test_adarank_stops_where_no_feature_ranks_anything():
    model = AdaRank("ndcg@1").fit([[2.0], [1.0]], [0, 1], group=[2])
    assert (model.coef_.tolist(), model.n_iter_) == ([0.0], 0)


TWO = "no query has two different labels: there"
MAPS = "no query has labels both of 0 and above 0, as MAP needs: there"


@pytest.mark.parametrize(
    ("model", "y", "said"),
    [
        (AdaRank(), [0, 0, 0], TWO),
        (AdaRank("map"), [0, 0, 0], MAPS),
        (SVMMAP(), [0, 0, 0], MAPS),
        (SVMMAP(), [1, 5, 3], MAPS),  # stars
        (Perceptron("map"), [1, 5, 3], "all coefficients are 0, as no query has a loss"),
        (Perceptron(), [5, 1, 3], "all coefficients are 0, as no query has a loss"),  # sorted
    ],
)
def test_without_a_query_to_learn_from_all_coefficients_are_zero(model, y, said):
    with pytest.warns(UserWarning, match=said):
        model.fit([[1.0], [2.0], [3.0]], y, group=[2, 0, 1])
    assert model.coef_.tolist() == [0.0]
    assert getattr(model, "n_iter_", 0) == 0


@pytest.mark.parametrize("model", [SmoothRank(max_iter=1), AdaRank(max_iter=1), Perceptron()])
def test_labels_that_are_no_grades(model):
    said = "labels above 30 count as gains 2\\^y - 1 in (SmoothRank|ndcg).* sort them into grades"
    with pytest.warns(UserWarning, match=said):
        model.fit([[1.0], [2.0]], [0, 31], group=[2])


# ---- SVM-MAP -------------------------------------------------------------------------------------


def psi(X, y, ranking):
    """Return the combined features of a ranking (indices of documents, best first)."""
    place, good = np.argsort(ranking), y > 0
    above = np.sign(place[~good] - place[good][:, None])
    return (above[:, :, None] * (X[good][:, None] - X[~good])).mean(axis=(0, 1))


def rankings(X, y):
    """Return Psi(best) - Psi and 1 - AP of all rankings of a query."""
    best = psi(X, y, np.argsort(y <= 0, kind="stable"))
    every = np.array(list(permutations(range(len(y)))))
    losses = np.array([1 - oracle.measured("map", ranked) for ranked in y[every]])
    return best - np.array([psi(X, y, ranking) for ranking in every]), losses


def all_labels(n):
    return [y for y in product((0.0, 1.0), repeat=n) if 0 < sum(y) < n]


@pytest.mark.parametrize(("n", "scale"), [*product([2, 3, 4, 5], [0.0, 0.1, 1.0, 10.0]), (6, 1.0)])
def test_the_most_violated_ranking_is_the_worst_of_all(rng, n, scale):
    for y in map(np.array, all_labels(n)):
        scores = np.round(scale * rng.normal(size=n), 1)  # with ties
        good, bad = (np.sort(scores[kind])[::-1] for kind in (y > 0, y <= 0))
        above = np.full(len(bad), -1)
        most_violated(good, bad, above)
        assert ((above >= 0) & (above <= len(good))).all()
        assert (np.diff(above) >= 0).all()
        merged = sorted(  # relevant document k comes before those with k or more above
            [(k, 0, good[k - 1], True) for k in range(1, len(good) + 1)]
            + [(above[j] + 0.5, j, bad[j], False) for j in range(len(bad))]
        )
        found_scores = np.array([score for _, _, score, _ in merged])[:, None]
        found_y = np.array([float(relevant) for *_, relevant in merged])
        found = 1 - oracle.measured("map", found_y)
        found += float(psi(found_scores, found_y, range(n))[0])
        moves, losses = rankings(scores[:, None], y)
        best = float(psi(scores[:, None], y, np.argsort(y <= 0, kind="stable"))[0])
        assert found == pytest.approx((losses + best - moves[:, 0]).max(), abs=1e-12)


def test_the_most_violated_ranking_of_long_lists(rng):
    # Find each irrelevant document's place by trying all.
    for n_good, n_bad in ((1, 40), (40, 1), (30, 33), (7, 64), (64, 63)):
        good = np.sort(rng.normal(size=n_good) + 0.2)[::-1]
        bad = np.sort(rng.normal(size=n_bad))[::-1]
        above = np.full(n_bad, -1)
        most_violated(good, bad, above)
        k, j = np.arange(1, n_good + 1)[:, None], np.arange(1, n_bad + 1)
        steps = (k / (k + j - 1) - k / (k + j)) / n_good
        steps -= 2 * (good[:, None] - bad) / (n_good * n_bad)
        values = np.vstack([np.cumsum(steps[::-1], axis=0)[::-1], 0 * bad])  # by those above
        np.testing.assert_allclose(values[above, j - 1], values.max(axis=0), rtol=0, atol=1e-12)
        assert 0 < above.sum() < n_good * n_bad or 1 in (n_good, n_bad)


def small(rng, n_queries=5, n=5, n_features=3):
    # From queries with one relevant document to queries with one irrelevant one.
    labels = sorted(map(rng.permutation, all_labels(n)), key=sum)
    y = np.concatenate([labels[i] for i in np.linspace(0, len(labels) - 1, n_queries, dtype=int)])
    X = rng.normal(size=(len(y), n_features)) + 0.5 * y[:, None]
    return RankingData(X, y, np.repeat(np.arange(n_queries), n))


def value(data, C, w):
    """Return |w|^2 / 2 + C xi with the smallest xi that no ranking violates, from all rankings."""
    slack = [(losses - moves @ w).max() for moves, losses in (rankings(*q) for q in queries(data))]
    return 0.5 * w @ w + C * np.mean(slack)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_svm_map_is_within_c_tol_of_the_optimum(rng, C):
    data = small(rng)
    constraints = [rankings(X, y) for X, y in queries(data)]
    m, d = len(constraints), data.X.shape[1]

    # The n-slack problem with all constraints, solved by other means.
    def objective(z):
        return 0.5 * z[:d] @ z[:d] + C * z[d:].mean()

    def gradient(z):
        return np.append(z[:d], np.full(m, C / m))

    rows = [
        {
            "type": "ineq",
            "fun": lambda z, q=q, A=A: A[:, :-1] @ z[:d] - A[:, -1] + z[d + q],
            "jac": lambda z, q=q, A=A: np.hstack([A[:, :-1], np.eye(m)[[q] * len(A)]]),
        }
        for q, A in enumerate(np.unique(np.column_stack(pair), axis=0) for pair in constraints)
    ]
    start, options = np.append(np.zeros(d), np.ones(m)), {"maxiter": 500, "ftol": 1e-12}
    solved = minimize(
        objective, start, jac=gradient, constraints=rows, method="SLSQP", options=options
    )
    least = value(data, C, solved.x[:d])
    assert solved.fun == pytest.approx(least, rel=1e-5)
    for tol in (1e-2, 1e-6):
        w, planes = cutting_planes(data, C, tol=tol, max_iter=500)
        assert 0 < planes < 500
        assert value(data, C, w) <= least * (1 + 1e-7) + C * tol
        # 1-slack: the mean of the most violated rankings is within tol of a feasible slack.
        assert value(data, C, w) >= least * (1 - 1e-5)
    np.testing.assert_allclose(w, solved.x[:d], atol=5e-3)


def test_queries_with_one_ranking_and_grades_count_no_further(data):
    model = SVMMAP(C=10.0).fit(data.X, data.y, group=data.group)
    binary = SVMMAP(C=10.0).fit(data.X, data.y > 0, qid=data.qid)
    np.testing.assert_array_equal(binary.coef_, model.coef_)
    X = np.vstack([[[9.0] * 6] * 2, data.X, [[-9.0] * 6] * 3])
    y = np.concatenate([[1, 1], data.y, [0, 0, 0]])
    more = SVMMAP(C=10.0).fit(X, y, group=[2, 0, *data.group, 2, 1])
    np.testing.assert_allclose(more.coef_, model.coef_, rtol=1e-9)


def test_validation_queries_choose_c(data):
    other = make_ranking(25, 8, 6, seed=5)
    grid = [0.001, 0.1, 10.0, 1000.0]
    model = fitted(SVMMAP(C=grid), data, other)
    fits = [SVMMAP(C=C).fit(data.X, data.y, group=data.group) for C in grid]
    values = [evaluate(f.predict(other.X), other.y, other.group, ("map",))["map"] for f in fits]
    assert len(set(values)) > 1
    best = int(np.argmax(values))
    assert grid[best] == model.C_
    assert model.n_iter_ == fits[best].n_iter_
    np.testing.assert_array_equal(model.coef_, fits[best].coef_)


def test_too_few_planes_are_warned_of(data):
    message = r"stopped after 2 planes.*raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = SVMMAP(C=100.0, max_iter=2).fit(data.X, data.y, group=data.group)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2
    SVMMAP(C=100.0).fit(data.X, data.y, group=data.group)


@pytest.mark.filterwarnings("ignore:SVMMAP stopped")
@pytest.mark.parametrize("scale", [1e-150, 1e9])
def test_features_of_any_scale_end_the_descent(data, scale):
    model = SVMMAP(max_iter=50).fit(scale * data.X, data.y, group=data.group)
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore:SVMMAP stopped")
def test_a_tol_below_rounding_ends_too(data):
    exact = SVMMAP(tol=1e-16, max_iter=60).fit(data.X, data.y, group=data.group)
    usual = SVMMAP(tol=1e-6).fit(data.X, data.y, group=data.group)
    np.testing.assert_allclose(exact.coef_, usual.coef_, atol=2e-3)


# ---- OHSUMED: published (NDCG@10, MAP) means of the five test folds ------------------------------


@pytest.mark.parametrize(
    ("name", "model", "published"),
    [
        # Chapelle and Wu, table 2, from Microsoft's page of LETOR 3.0
        ("ohsumed", AdaRank("map"), [0.443, 0.449]),
        ("ohsumed", AdaRank(repeat=False), [0.450, 0.450]),
        ("ohsumed", SVMMAP(C=[0.1, 1.0, 10.0, 100.0]), [0.432, 0.445]),
        # Microsoft's files
        ("letor2_baselines", AdaRank("map"), [0.43846, 0.44187]),
        ("letor2_baselines", AdaRank(), [0.43686, 0.44243]),
    ],
)
def test_ohsumed_reaches_what_was_published(data_dir, name, model, published):
    parts = []
    for part in letor(data_dir / name):
        scaled = part.X.copy()  # scaled per query to 0..1, as in the files of LETOR 3.0
        for (X,) in queries_of(part.group, scaled):
            X -= X.min(axis=0)
            X /= np.where(X.max(axis=0) > 0, X.max(axis=0), 1)
        parts.append(RankingData(scaled, part.y, part.qid))
    figures = []
    for train, held, test in letor_folds(parts):
        figures.append(table_2(fitted(model, train, held).coef_, test))
    np.testing.assert_allclose(np.mean(figures, axis=0), published, atol=0.01)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (AdaRank("err"), ValueError, "measure must be 'ndcg', 'ndcg@k'.*got 'err'"),
        (AdaRank("ndcg@0"), ValueError, "measure must be 'ndcg', 'ndcg@k'"),
        (AdaRank(max_iter=0), ValueError, "max_iter must be at least 1"),
        (AdaRank(repeat=1), TypeError, "repeat must be True or False"),
        (AdaRank(max_iter=1.5), TypeError, "max_iter must be a whole number"),
        (SVMMAP(C=0.0), ValueError, "C must be a positive finite number"),
        (SVMMAP(C=[]), ValueError, "C must hold at least one"),
        (SVMMAP(C="1"), TypeError, "C must be a positive number"),
        (SVMMAP(C=[1.0, 2.0]), ValueError, "eval_set is missing: there are several values of C"),
        (SVMMAP(tol=0.0), ValueError, "tol must be a positive finite number"),
        (SVMMAP(max_iter=True), TypeError, "max_iter must be a whole number"),
        (Perceptron("ndcg@0"), ValueError, "got .ndcg@0."),
        (SmoothRank("map"), ValueError, "unknown measure .map.*known: ndcg, ap"),
        (SmoothRank(k=0), ValueError, "k must be at least 1"),
        (SmoothRank(reg_lambda=0.0), ValueError, "reg_lambda must be a positive finite number"),
        (SmoothRank(reg_lambda=[]), ValueError, "reg_lambda must hold at least one"),
        (SmoothRank(ridge="1"), TypeError, "ridge must be a positive number, got"),
        (SmoothRank(sigma=-1.0), ValueError, "sigma must be a positive finite number"),
        (SmoothRank(max_iter=1.5), TypeError, "max_iter must be a whole number"),
        (SmoothRank(tol=0.0), ValueError, "tol must be a positive finite number"),
        (SmoothRank(reg_lambda=[1.0, 2.0]), ValueError, "eval_set is missing"),
        (SmoothRank(ridge=np.array([1.0, 2.0])), ValueError, "eval_set is missing"),
    ],
)
def test_bad_parameters_are_refused(data, model, error, message):
    with pytest.raises(error, match=message):
        model.fit(data.X, data.y, group=data.group)


@pytest.mark.parametrize(
    "model", [AdaRank(), SVMMAP(C=[1.0, 2.0]), SmoothRank(reg_lambda=[1.0, 2.0])]
)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"eval_set": ([[1.0], [2.0]], [0, 1])}, ValueError, "pass either eval_group.*eval_qid"),
        ({"eval_set": [[1.0], [2.0]], "eval_group": [2]}, TypeError, "eval_set must be a pair"),
        ({"eval_group": [2]}, ValueError, "eval_group and eval_qid give the queries of eval_set"),
        (
            {"eval_set": ([[1.0], [2.0]], [0, 0]), "eval_group": [2]},
            ValueError,
            "eval_set must have relevant documents",
        ),
        (
            {"eval_set": ([[1.0, 2.0], [2.0, 1.0]], [0, 1]), "eval_group": [2]},
            ValueError,
            "X has 2 features",
        ),
    ],
)
def test_bad_validation_data_is_refused(model, arguments, error, message):
    with pytest.raises(error, match=message):
        model.fit([[1.0], [2.0]], [0, 1], group=[2], **arguments)


@pytest.mark.parametrize(("model", "parameter"), [(SVMMAP(), "C"), (SmoothRank(), "reg_lambda")])
def test_validation_data_without_a_choice_is_refused(data, model, parameter):
    with pytest.raises(ValueError, match=rf"eval_set has nothing to choose.*values of {parameter}"):
        fitted(model, data, data)
