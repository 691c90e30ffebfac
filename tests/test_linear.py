"""SmoothRank and Perceptron: what their papers claim. All linear rankers: scikit-learn's rules."""

import numpy as np
import oracle
import pandas as pd
import pytest
from commands import letor
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from boostrank import SLAM, RankSVM, Schedule, SmoothAP, SmoothNDCG, evaluate
from boostrank.datasets import RankingData, letor_folds, make_ranking
from boostrank.linear import SVMMAP, AdaRank, Perceptron, SmoothRank, anneal

LAMBDAS = 10.0 ** np.arange(-6, 4)  # of Chapelle and Wu, section 7
MEASURES = ("ndcg", "ndcg@3", "map")
MASKED = np.ma.masked_equal([0.0, 1.0, 2.0, 0.0], 2.0)


@pytest.fixture
def data() -> RankingData:
    return make_ranking(20, 12, 6, seed=3)


def penalised(objective, data, w, centre, reg_lambda):
    """Return (13) and its gradient in w."""
    scores = data.X @ w
    loss = objective.loss(scores, data.y, data.group).sum()
    grad = data.X.T @ objective.grad_hess(scores, data.y, data.group)[0]
    away = w - centre
    return reg_lambda * away @ away + loss, 2 * reg_lambda * away + grad


def fitted(model, train, held):
    """Fit a model whose parameters held-out queries choose."""
    valid = {"eval_set": (held.X, held.y), "eval_group": held.group}
    return model.fit(train.X, train.y, group=train.group, **valid)


# ---- SmoothRank ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.1, 30.0])
def test_the_start_is_a_balanced_ridge_regression_on_the_gains(data, ridge):
    model = SmoothRank(ridge=ridge, sigma=1.0, max_iter=1).fit(data.X, data.y, group=data.group)
    relevant = data.y > 0
    weight = np.where(relevant, (~relevant).sum() / relevant.sum(), 1.0)
    with_one = np.column_stack([data.X, np.ones(len(data.y))])
    penalty = np.diag([ridge] * data.X.shape[1] + [0.0])
    w = np.linalg.solve(
        with_one.T @ (weight[:, None] * with_one) + penalty,
        with_one.T @ (weight * (2.0**data.y - 1.0)),
    )
    np.testing.assert_allclose(model.start_coef_, w[:-1], rtol=1e-9)


@pytest.mark.parametrize("measure", ["ndcg", "ap"])
def test_an_infinite_sigma_ends_at_the_start(data, measure):
    # h_ij = 1/n and the smooth indicators are 1/2: only the penalty is left (section 5.3).
    model = SmoothRank(measure, sigma=1e12).fit(data.X, data.y, group=data.group)
    np.testing.assert_allclose(model.coef_, model.start_coef_, rtol=1e-7)
    if measure == "ndcg":  # regardless of where the descent begins
        objective = SmoothNDCG(sigma=1e12)
        centre = model.start_coef_
        w = anneal(objective, data, centre, centre + 1.0, reg_lambda=1.0, max_iter=50, tol=1e-7)
        np.testing.assert_allclose(w, centre, atol=1e-5)


@pytest.mark.parametrize("c", [0.25, 3.0])
def test_lemma_1_without_a_start_sigma_and_lambda_are_one_parameter(rng, c):
    data = make_ranking(20, 12, 6, seed=5)
    reg_lambda, sigma = 1.0, 2.0
    zero = np.zeros(data.X.shape[1])
    start = rng.normal(size=data.X.shape[1])
    options = {"max_iter": 500, "tol": 1e-7}
    w = anneal(SmoothNDCG(sigma=sigma), data, zero, start, reg_lambda=reg_lambda, **options)
    narrow = SmoothNDCG(sigma=sigma / c)
    scaled = anneal(narrow, data, zero, start / np.sqrt(c), reg_lambda=reg_lambda * c, **options)
    assert np.linalg.norm(w) > 0.1
    np.testing.assert_allclose(np.sqrt(c) * scaled, w, atol=1e-4)


@pytest.mark.parametrize(
    ("measure", "objective"), [("ndcg", SmoothNDCG(k=5, sigma=8.0)), ("ap", SmoothAP(sigma=8.0))]
)
def test_the_descent_ends_where_the_gradient_vanishes(data, measure, objective):
    model = SmoothRank(measure, k=5, sigma=8.0, reg_lambda=0.02, max_iter=500, tol=1e-7)
    model.fit(data.X, data.y, group=data.group)
    at_start = penalised(objective, data, model.start_coef_, model.start_coef_, 0.02)
    at_end = penalised(objective, data, model.coef_, model.start_coef_, 0.02)
    assert at_end[0] < at_start[0]
    assert abs(at_end[1]).max() < 1e-3 * abs(at_start[1]).max()


def test_annealing_starts_each_sigma_from_the_last_and_keeps_the_penalty_to_w_0(data):
    sigma = Schedule("halving", 3, first=4.0, last=1.0)
    model = SmoothRank(k=5, sigma=sigma, reg_lambda=0.1, max_iter=3)
    model.fit(data.X, data.y, group=data.group)
    centre = w = model.start_coef_
    for sigma in (4.0, 2.0, 1.0):
        one = SmoothNDCG(k=5, sigma=sigma)
        w = anneal(one, data, centre, w, reg_lambda=0.1, max_iter=3, tol=1e-5)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-8)
    assert [SmoothRank().sigma(m) for m in (1, 2, 13)] == [64.0, 32.0, 1 / 64]


@pytest.mark.parametrize(
    ("measure", "k", "name", "seed"),
    [("ndcg", 1, "ndcg@1", 3), ("ndcg", None, "ndcg", 3), ("ap", 50, "map", 5)],
)
def test_validation_queries_choose_by_the_measure(data, measure, k, name, seed):
    other = make_ranking(25, 8, 6, seed=seed)
    lambdas, ridges = [0.01, 1.0, 100.0], [1e4, 10.0, 0.1]
    fixed = {"measure": measure, "k": k, "sigma": 1.0, "max_iter": 3}
    model = SmoothRank(reg_lambda=lambdas, ridge=ridges, **fixed).fit(
        data.X, data.y, group=data.group, eval_set=(other.X, other.y), eval_qid=other.qid
    )

    def value(w):
        return evaluate(other.X @ w, other.y, other.group, (name,))[name]

    def alone(ridge, reg_lambda):
        alone = SmoothRank(reg_lambda=reg_lambda, ridge=ridge, **fixed)
        return alone.fit(data.X, data.y, group=data.group)

    of_ridge = [value(alone(ridge, 1.0).start_coef_) for ridge in ridges]
    assert len(set(of_ridge)) > 1
    assert model.ridge_ == ridges[int(np.argmax(of_ridge))]
    candidates = [alone(model.ridge_, reg_lambda) for reg_lambda in lambdas]
    of_lambda = [value(candidate.coef_) for candidate in candidates]
    assert len(set(of_lambda)) > 1
    best = int(np.argmax(of_lambda))
    assert model.reg_lambda_ == lambdas[best]
    np.testing.assert_allclose(model.coef_, candidates[best].coef_, rtol=1e-8)


# ---- OHSUMED: table 2 of Chapelle and Wu, (NDCG@10, MAP) means of the five test folds ------------


@pytest.fixture(scope="module")
def folds(data_dir):
    return list(letor_folds(letor(data_dir / "ohsumed")))


def table_2(w, test):
    return list(evaluate(test.X @ w, test.y, test.group, convention="letor3").values())


def test_ohsumed_smoothrank_and_ridge_reach_table_2(folds):
    # Quick: one lambda of the paper's ten and few iterations.
    ridge, smooth, before, after = [], [], [], []
    for train, validation, test in folds:
        model = fitted(SmoothRank(reg_lambda=0.1, ridge=LAMBDAS, max_iter=3), train, validation)
        ridge.append(table_2(model.start_coef_, test))
        smooth.append(table_2(model.coef_, test))
        for values, w in ((before, model.start_coef_), (after, model.coef_)):
            values.append(evaluate(train.X @ w, train.y, train.group, ("ndcg@50",))["ndcg@50"])
    np.testing.assert_allclose(np.mean(ridge, axis=0), [0.444, 0.444], atol=0.01)
    np.testing.assert_allclose(np.mean(smooth, axis=0), [0.457, 0.448], atol=0.01)
    assert np.mean(after) > np.mean(before) + 0.003  # figure 2


def test_ohsumed_a_linear_ranksvm_reaches_table_2(folds):
    figures = []
    for train, _, test in folds:

        def primal(w, train=train):
            return penalised(RankSVM(hessian="constant"), train, w, 0.0, 1e3)

        w = minimize(primal, np.zeros(45), jac=True, method="L-BFGS-B", options={"maxiter": 50}).x
        figures.append(table_2(w, test))
    np.testing.assert_allclose(np.mean(figures, axis=0), [0.450, 0.445], atol=0.01)


# ---- Perceptron ----------------------------------------------------------------------------------


def bound_factor(data, measure):
    """Return 4 m R^2 v_max, with k in place of m for NDCG@k (corollary 7)."""
    v_max = 1.0
    for y in np.split(data.y, np.cumsum(data.group)[:-1]):
        v = np.array(oracle.slam_weights(sorted(y, reverse=True), measure) if y.any() else [])
        v = v[v > 1e-15]
        v_max = max(v_max, v.max() / v.min()) if len(v) else v_max
    m = int(measure.removeprefix("ndcg@")) if "@" in measure else data.group.max()
    return 4.0 * m * (data.X**2).sum(axis=1).max() * v_max


def one_by_one(data, measure):
    """Yield each round's query, the model before it and the model after it."""
    model = Perceptron(measure)
    before = np.zeros(data.X.shape[1])
    for q in range(len(data.group)):
        query = data.select([q])
        model.partial_fit(query.X, query.y, group=query.group)
        yield query, before, model
        before = model.coef_


def noisy(rng, measure):
    # Relevance follows u with noise; grades 0 to 2; ragged queries.
    sizes = rng.integers(2, 9, 150)
    X = rng.uniform(-1, 1, (sizes.sum(), 4))
    u = np.array([1.0, -0.5, 0.25, 0.0])
    y = np.clip(np.round(1 + X @ u + rng.normal(0, 0.3, len(X))), 0, 2)
    if measure == "map":
        y = np.minimum(y, 1)
    return RankingData(X, y, np.repeat(np.arange(len(sizes)), sizes)), u


@pytest.mark.parametrize("measure", MEASURES)
def test_theorem_5_the_cumulative_loss_is_bounded(rng, measure):
    data, direction = noisy(rng, measure)
    surrogate = SLAM(measure=measure)
    factor = bound_factor(data, measure)
    u = np.outer([0.0, 0.5, 1.0, 2.0, 4.0, 8.0], direction)
    f_u, total = np.zeros(len(u)), 0.0
    for query, before, model in one_by_one(data, measure):  # noqa: B007
        loss = 1 - evaluate(query.X @ before, query.y, query.group, (measure,))[measure]
        if loss > 0:  # (13)
            total += loss
            f_u += [surrogate.loss(query.X @ one, query.y, query.group)[0] for one in u]
        assert (total <= 2 * f_u + factor * (u**2).sum(axis=1)).all()
    assert total > 1.0  # the data cannot be separated
    assert model.cumulative_loss_ == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_one_pass_is_partial_fit_query_by_query(rng, measure):
    data, _ = noisy(rng, measure)
    for query, before, model in one_by_one(data, measure):
        loss = 1 - evaluate(query.X @ before, query.y, query.group, (measure,))[measure]
        # An update happens where the metric has a loss, and follows (14).
        step = (
            query.X.T @ SLAM(measure=measure).grad_hess(query.X @ before, query.y, query.group)[0]
        )
        after = before - step if loss > 0 else before
        np.testing.assert_allclose(model.coef_, after, rtol=1e-9)
    once = Perceptron(measure).fit(data.X, data.y, qid=data.qid)
    for name in ("coef_", "cumulative_loss_", "n_rounds_", "n_updates_"):
        np.testing.assert_allclose(getattr(once, name), getattr(model, name), rtol=1e-9)
    assert 0 < once.n_updates_ < once.n_rounds_ == len(data.group)
    again = once.fit(data.X, data.y, group=data.group)  # starts again
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-9)


def test_first_update_by_hand():
    # w = 0 ties both documents, and the better one is passed last. Z = 1, d(2) = 0.63;
    # v of the better one is (1 - 0)(1 - d(2)) (9), and it moves w by v (x_better - x_worse).
    v = 1.0 - 1.0 / np.log2(3.0)
    model = Perceptron().fit([[1.0, 0.0], [0.0, 3.0]], [0, 1], group=[2])
    np.testing.assert_allclose(model.coef_, [-v, 3.0 * v], rtol=1e-12)
    assert model.cumulative_loss_ == pytest.approx(v)
    np.testing.assert_allclose(model.predict([[2.0, 1.0]]), [v], rtol=1e-12)


def test_what_is_beyond_the_measure_is_no_error():
    X, y = [[1.0], [2.0], [3.0], [4.0]], [3, 2, 0, 1]
    assert Perceptron("ndcg@2").partial_fit(X, y, group=[4]).n_updates_ == 0
    assert Perceptron("ndcg@3").fit(X, y, group=[4]).n_updates_ == 1
    # MAP only distinguishes relevant from irrelevant.
    assert Perceptron("map").partial_fit(X, [1, 3, 2, 0], group=[4]).n_updates_ == 0
    # The grade 3 document's worst rival is the irrelevant one, not one of grade 1 scored higher.
    X = [[0.0], [1.0], [5.0], [4.0], [3.0]]
    graded, binary = (
        Perceptron("map").fit(X, [0, 1, *y], group=[2, 3]) for y in ([1, 0, 3], [1, 0, 1])
    )
    assert graded.n_updates_ == 2
    np.testing.assert_array_equal(graded.coef_, binary.coef_)


# ---- scikit-learn's rules, and what is refused ---------------------------------------------------


class OneQuery:
    """All rows are one query, for checks that know nothing of queries."""

    def fit(self, X, y):
        return super().fit(X, y, qid=np.zeros(np.shape(y)[:1], int))


class SmoothRankOfOneQuery(OneQuery, SmoothRank):
    pass


class PerceptronOfOneQuery(OneQuery, Perceptron):
    def partial_fit(self, X, y):
        return super().partial_fit(X, y, qid=np.zeros(np.shape(y)[:1], int))


class AdaRankOfOneQuery(OneQuery, AdaRank):
    pass


class SVMMAPOfOneQuery(OneQuery, SVMMAP):
    pass


@pytest.mark.filterwarnings("ignore:no query has labels both of 0:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SmoothRankOfOneQuery(sigma=1.0, max_iter=2),
        PerceptronOfOneQuery(),
        AdaRankOfOneQuery(max_iter=5),
        SVMMAPOfOneQuery(),
    ],
    ids=["SmoothRank", "Perceptron", "AdaRank", "SVMMAP"],
)
def test_scikit_learns_checks(estimator):
    """All of them; they call ``fit(X, y)``, which a ranker cannot answer without its queries."""
    results = check_estimator(estimator, on_skip=None)
    passed = {result["check_name"] for result in results if result["status"] == "passed"}
    assert len(passed) > 35
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize(
    "model", [SmoothRank(max_iter=1, sigma=1.0), Perceptron(), AdaRank(), SVMMAP()]
)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "pass either group.* or qid.*; got neither"),
        ({"group": [3]}, ValueError, "group must add up to the number of documents, 4"),
        ({"qid": [1, 2, 1, 1]}, ValueError, "qid must keep a query's rows together"),
        ({"group": [4], "y": [0, 1, -1, 0]}, ValueError, "labels must be relevance grades"),
        ({"group": [4], "y": [0, 1, 2]}, ValueError, "inconsistent numbers of samples"),
        ({"group": [4], "X": [[1], [2], [np.nan], [0]]}, ValueError, "X contains NaN"),
        ({"group": [4], "X": [[1], [2], [1e200], [0]]}, ValueError, "X must be within 1e\\+100"),
        ({"group": [4], "X": MASKED[:, None]}, ValueError, "X must have no masked values"),
        ({"group": [4], "y": MASKED}, ValueError, "y must have no masked values"),
    ],
)
def test_bad_data_is_refused(model, arguments, error, message):
    arguments = {"X": [[1], [2], [3], [4]], "y": [0, 1, 2, 0], **arguments}
    with pytest.raises(error, match=message):
        clone(model).fit(**arguments)


@pytest.mark.parametrize("model", [SmoothRank(), Perceptron(), AdaRank(), SVMMAP()])
def test_frames_are_checked_as_by_the_other_rankers(data, model):
    names = [f"row{i}" for i in range(len(data.y))]
    y = pd.Series(np.minimum(data.y, 1.0), names)
    frame = pd.DataFrame(data.X, names).rename(columns=str)
    model = clone(model).fit(frame, y, group=data.group)
    assert len(model.coef_) == 6
    for column, message in (
        ({"twin": y}, "X has the label among its features, in the column 'twin'"),
        ({"session": data.qid}, "X has the query's id among its features, in the column 'session'"),
        ({"doc_id": range(len(y))}, "X has the document's id among its features"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(frame.assign(**column), y, qid=data.qid)
    with pytest.raises(ValueError, match="y has the rows of X in another order"):
        model.fit(frame, y[::-1], group=data.group)
    if not isinstance(model, Perceptron):
        with pytest.raises(ValueError, match="y has the rows of X in another order"):
            model.fit(frame, y, group=data.group, eval_set=(frame, y[::-1]), eval_group=data.group)
