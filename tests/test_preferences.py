"""Given pairs: losses, checks of the pairs, both hosts and the rankers."""

import copy
import pickle
from dataclasses import replace

import lightgbm as lgb
import numba
import numpy as np
import oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from boostrank.objectives import REGISTRY
from boostrank.objectives.preferences import INSIDE
from cases import PATHS
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import FLOOR, ORACLES, REACH, gradient, preferences, preferences_gauss_newton
from test_estimators import make_ranker
from test_fuzz import ANY_SCORE, attempt
from training import LIGHTGBM, XGBOOST, cv_boosters, dataset, loop, matrix, predicted, train

import boostrank
from boostrank import Blend, LambdaRank, Mix, Preferences, QueryRMSE, RankNet, Several, Unbiased
from boostrank.datasets import make_ranking

GROUP = np.array([12, 0, 1, 7, 2, 30, 5])


def with_hessians(cases):
    """Return these names and parameters of losses of pairs with each Hessian."""
    inside = [(name, each) for name, each in cases if name in INSIDE]
    return [(name, each, hessian) for name, each in inside for hessian in REGISTRY[name].hessians]


CASES = with_hessians(PATHS)
every_case = pytest.mark.parametrize(("name", "number", "hessian"), CASES)
every_inside = pytest.mark.parametrize("name", INSIDE)


def ragged(rng, group=GROUP):
    n = group.sum()
    return rng.normal(0, 1.5, n).round(2), rng.integers(0, 4, n).astype(float)


def of_grades(labels, group):
    """Return every pair of different grade."""
    query = np.repeat(np.arange(len(group)), group)
    return np.argwhere((query[:, None] == query) & (labels[:, None] > labels))


def moved(pairs, rows):
    """Return the weighted pairs of these rows, as they are numbered in this order."""
    where = {row: place for place, row in enumerate(rows)}
    return np.array([(where[i], where[j], w) for i, j, w in pairs if i in where])


def drawn(rng, group=GROUP, per_document=2, margins=False):
    """Return pairs that contradict each other, with repeats, weights and perhaps margins."""
    rows, start = [], 0
    for n in group:
        for _ in range(per_document * n if n > 1 else 0):
            i, j = rng.choice(n, 2, replace=False) + start
            rows.append((i, j, rng.integers(1, 9) / 4, rng.integers(1, 9) / 4))
        start += n
    return np.array(rows)[:, : 4 if margins else 3]


def queries(group, pairs):
    """Yield the documents of each query, with its pairs as the oracle takes them."""
    ends = np.cumsum(group)
    for start, end in zip(ends - group, ends, strict=True):
        own = [
            (int(i) - start, int(j) - start, w, *(margin or [None]))
            for i, j, w, *margin in pairs.tolist()
            if start <= i < end
        ]
        yield slice(start, end), own


# ---- the loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parameters", "hessian"), with_hessians(oracle.CASES))
def test_all_pairs_of_different_grade_give_the_objective_itself(name, parameters, hessian, rng):
    alone = REGISTRY[name](**parameters, hessian=hessian)
    group = np.append(GROUP, 90 if numba.config.DISABLE_JIT else 300)
    scores, labels = ragged(rng, group)
    pairs = of_grades(labels, group)
    objective = Preferences(alone, rng.permutation(pairs))
    for got, want in zip(
        objective.grad_hess(scores, labels, group),
        alone.grad_hess(scores, labels, group),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12 * np.abs(want).max())
    np.testing.assert_allclose(
        objective.loss(scores, labels, group), alone.loss(scores, labels, group), rtol=1e-10
    )


@every_case
@pytest.mark.parametrize("labelled", [True, False])
def test_given_pairs_equal_the_oracle(name, number, hessian, labelled, rng):
    parameters = ORACLES[name].parameters[number]
    hinged = name in ("gbrank", "ranksvm")
    group = np.array([9, 0, 1, 7, 2, 5])
    scores, labels = ragged(rng, group)
    labels *= labelled
    labels -= name != "lambdarank"  # the others take any numbers, which they do not read
    pairs = drawn(rng, group, margins=hinged and labelled)
    objective = Preferences(REGISTRY[name](**parameters, hessian=hessian), pairs)
    grad, hess = objective.grad_hess(scores, labels, group)
    loss = objective.loss(scores, labels, group)
    for q, (rows, own) in enumerate(queries(group, pairs)):
        s, y = scores[rows].tolist(), labels[rows].tolist()
        options = {"name": name, **parameters}
        np.testing.assert_allclose(loss[q], preferences(s, y, own, **options), rtol=1e-10)
        if not s:
            continue
        numeric = gradient(lambda at: preferences(at, y, own, frozen_at=s, **options), s)  # noqa: B023
        margin = parameters.get("margin", 1.0)
        apart = [abs(s[i] - s[j] - (m or margin)) for i, j, _, m in own]
        if not (hinged and min(apart, default=1.0) < REACH):
            np.testing.assert_allclose(grad[rows], numeric, rtol=1e-6, atol=1e-7)
        if hessian == "constant":
            want = np.ones(len(s))
        else:
            want = np.maximum(preferences_gauss_newton(s, y, own, **options), FLOOR)
        np.testing.assert_allclose(hess[rows], want, rtol=1e-9, atol=1e-12)


def test_lambdaranks_swaps_of_equal_labels_count_as_1(rng):
    scores, labels = ragged(rng)
    pairs = drawn(rng)
    of_pairs, of_net = Preferences(LambdaRank(norm=False), pairs), Preferences("ranknet", pairs)
    for level in (0.0, 2.0):
        equal = np.full_like(labels, level)
        np.testing.assert_array_equal(
            of_pairs.grad_hess(scores, equal, GROUP), of_net.grad_hess(scores, equal, GROUP)
        )
    # In one query, whatever the others have.
    first = slice(0, GROUP[0])
    mixed = labels.copy()
    mixed[first] = 1.0
    np.testing.assert_array_equal(
        of_pairs.grad_hess(scores, mixed, GROUP)[0][first],
        of_net.grad_hess(scores, mixed, GROUP)[0][first],
    )
    # A swap changes nothing between equal grades, nor where all gains are equal.
    alike = Preferences(LambdaRank(norm=False), [(0, 1)])
    assert not alike.grad_hess([0.0, 1.0, 2.0], [1, 1, 0], [3])[0].any()
    worthless = Preferences(LambdaRank(norm=False, gain=(0.0, 0.0)), [(0, 1)])
    assert not worthless.grad_hess([0.0, 1.0], [1, 0], [2])[0].any()


@every_inside
def test_order_and_repeats_of_pairs(name, rng):
    scores, labels = ragged(rng)
    pairs = drawn(rng)
    objective, turned = Preferences(name, pairs), Preferences(name, rng.permutation(pairs))
    assert objective == turned
    assert hash(objective) == hash(turned)
    np.testing.assert_array_equal(
        objective.grad_hess(scores, labels, GROUP), turned.grad_hess(scores, labels, GROUP)
    )
    with_margins = [Preferences("gbrank", [(0, 1, 1, margin)]) for margin in (1, 2)]
    assert with_margins[0] != with_margins[1]
    assert with_margins[0] != Preferences("gbrank", [(0, 1)])
    doubled = pairs * [1, 1, 2]
    assert objective != Preferences(name, doubled)
    np.testing.assert_allclose(
        Preferences(name, np.concatenate([pairs, pairs])).grad_hess(scores, labels, GROUP),
        Preferences(name, doubled).grad_hess(scores, labels, GROUP),
        rtol=1e-12, atol=1e-14,
    )  # fmt: skip


@every_inside
def test_queries_are_alone_and_threads_change_no_bit(name, rng, monkeypatch):
    group = rng.integers(0, 60, 300)
    scores, labels = ragged(rng, group)
    pairs = drawn(rng, group)
    objective = Preferences(name, pairs)
    grad, hess = objective.grad_hess(scores, labels, group)
    for threads in (1, 3):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        again = objective.grad_hess(scores, labels, group)
        np.testing.assert_array_equal(again, (grad, hess))
    start = group[:7].sum()
    rows = slice(start, start + group[7])
    own = pairs[(pairs[:, 0] >= rows.start) & (pairs[:, 0] < rows.stop)] - [start, start, 0]
    alone = Preferences(name, own).grad_hess(scores[rows], labels[rows], [group[7]])
    np.testing.assert_array_equal(alone, (grad[rows], hess[rows]))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from([case for case in CASES if case[2] != "constant"]),
    st.lists(ANY_SCORE, min_size=2, max_size=6),
    st.data(),
)
def test_any_numbers_give_finite_ones_or_are_refused(case, scores, data):
    name, number, hessian = case
    n = len(scores)
    row = st.integers(0, n - 1)
    amount = st.one_of(st.floats(5e-324, 1.7e308), st.just(1.0))
    pair = st.tuples(row, row, amount).filter(lambda pair: pair[0] != pair[1])
    pairs = data.draw(st.lists(pair, min_size=1, max_size=8))
    labels = data.draw(st.lists(st.integers(0, 31), min_size=n, max_size=n))
    inner = REGISTRY[name](**ORACLES[name].parameters[number], hessian=hessian)
    objective = Preferences(inner, pairs)
    for call in (objective.grad_hess, objective.loss):
        found, refusal = attempt(lambda: call(scores, labels, [n]), ValueError)  # noqa: B023
        assert "is not finite in query 0" in refusal if found is None else np.isfinite(found).all()


@every_inside
def test_leads_at_the_ends_of_float64(name):
    """Leads may exceed every float: results are those of the objective itself."""
    labels = [0, 1, 2]
    for hessian in REGISTRY[name].hessians:
        alone = REGISTRY[name](hessian=hessian)
        objective = Preferences(alone, of_grades(np.array(labels), [3]))
        for high in (40.0, 1e30, 1e150, 1e300):
            scores = [high, -high, 0.0]
            got, want = (each.grad_hess(scores, labels, [3]) for each in (objective, alone))
            # Two pulls of 2e-18 may cancel to the last bit, or all but that.
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-32)


# ---- what is handed over -------------------------------------------------------------------------

ROWS = [(0, 1, 2.0), (2, 1, 1.0)]
NAMED = pd.DataFrame(ROWS, columns=["winner", "loser", "weight"], index=[7, 3])
CONTAINERS = {
    "list": ROWS,
    "array": np.array(ROWS),
    "float32": np.array(ROWS, np.float32),
    "fortran": np.asfortranarray(ROWS),
    "strided": np.repeat(np.array(ROWS), 2, axis=0)[::2],
    "pandas": NAMED,
    "pandas, turned": NAMED[["weight", "loser", "winner"]],
    "polars": pl.DataFrame(NAMED),
    "pyarrow": pa.Table.from_pandas(NAMED, preserve_index=False),
    "dict": NAMED.to_dict("list"),
}


@pytest.mark.parametrize("pairs", CONTAINERS.values(), ids=CONTAINERS)
def test_containers(pairs):
    kept = copy.deepcopy(pairs)
    objective = Preferences("ranknet", pairs)
    assert objective == Preferences("ranknet", ROWS)
    grad, _ = objective.grad_hess([0.0, 0.0, 0.0], [0, 0, 0], [3])
    np.testing.assert_allclose(grad, [-1.0, 1.5, -0.5])
    np.testing.assert_array_equal(np.asarray(pairs), np.asarray(kept))
    without = {"winner": [0], "loser": [1]}
    assert Preferences("ranknet", without) == Preferences("ranknet", [(0, 1)])


@pytest.mark.parametrize(
    ("objective", "pairs", "message"),
    [
        ("ranknet", [], "^pairs must have at least one row"),
        ("ranknet", np.zeros((0, 3)), "^pairs must have at least one row"),
        ("ranknet", None, r"^pairs must be rows \(winner, loser.*got shape \(\)"),
        ("ranknet", [0, 1], r"^pairs must be rows .* got shape \(2,\)"),
        ("ranknet", [(0, 1, 1, 1, 1)], r"^pairs must be rows .* got shape \(1, 5\)"),
        ("ranknet", [(0, 1), (1, 2, 3)], "^pairs must be rows .*inhomogeneous"),
        ("ranknet", [("a", "b")], "^winner of pairs must be a 1-D array of numbers"),
        ("ranknet", pd.DataFrame({"winner": [0]}), "^pairs must be rows .* got columns winner$"),
        (
            "ranknet",
            pd.DataFrame({"winner": [0], "loser": [1], "weights": [1]}),
            "^pairs must be rows .* got columns winner, loser, weights$",
        ),
        ("ranknet", [(0, 1), (2, -1)], "^loser of pairs must hold whole numbers from 0, got -1 "),
        ("ranknet", [(0, 1), (0.5, 1)], "^winner of pairs must hold .* got 0.5 at row 1"),
        ("ranknet", [(np.nan, 1)], "^winner of pairs must hold .* got nan at row 0"),
        ("ranknet", [(2.0**60, 1)], "^winner of pairs must hold whole .* at row 0"),
        ("ranknet", [(True, False)], "^winner of pairs must hold whole numbers, got booleans"),
        ("ranknet", np.ma.masked_equal([(0, 1), (2, 3)], 3), "^pairs must have no masked values"),
        ("ranknet", [(0, 1), (3, 3)], "^row 1 of pairs prefers the document at row 3 to itself"),
        ("ranknet", [(0, 1, 1), (1, 2, 0)], "^weight must be positive .* got 0 at row 1 of pairs"),
        ("ranknet", [(0, 1, -1)], "^weight must be positive and finite, got -1 at row 0 of pairs"),
        ("ranknet", [(0, 1, np.inf)], "^weight must be positive and finite, got inf at row 0"),
        ("ranknet", [(0, 1, np.nan)], "^weight must be positive and finite, got nan at row 0"),
        ("gbrank", [(0, 1, 1, 0)], "^margin must be positive and finite, got 0 at row 0 of pairs"),
        ("ranknet", [(0, 1, 1, 1)], "^pairs have margins, which ranknet has no use for"),
        ("lambdarank", [(0, 1, 1, 1)], "^pairs have margins, which lambdarank has no use for"),
        ("blend", [(0, 1)], "^objective must be a loss of pairs, one of ranknet, ranksvm, gbrank"),
        (Blend(), [(0, 1)], "^objective must be a loss of pairs, .*; got blend"),
        (Preferences("ranknet", [(0, 1)]), [(0, 1)], "^objective must be .* got preferences"),
        (3, [(0, 1)], "^objective must be a loss of pairs, .*; got 3"),
    ],
)
def test_bad_parameters_are_refused(objective, pairs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Preferences(objective, pairs)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(4, 3), (0, 1), (1, 5)], "^row 2 of pairs names the document at row 5, but .* has 5 row"),
        (
            [(4, 3), (3, 2), (2, 1), (1, 2)],
            r"^row 2 of pairs compares the documents at rows 2 and 1, of the queries 1 and 0; both",
        ),
    ],
)
def test_pairs_that_do_not_fit_the_data(pairs, message):
    objective = Preferences("ranknet", pairs)
    for call in (objective.grad_hess, objective.loss):
        with pytest.raises(ValueError, match=message):
            call(np.zeros(5), np.zeros(5), [2, 3])
    # Other data is checked again.
    assert objective.loss(np.zeros(6), np.zeros(6), [6]).shape == (1,)
    with pytest.raises(ValueError, match=message):
        objective.loss(np.zeros(5), np.zeros(5), [2, 3])


def test_it_is_one_object_with_what_is_inside(rng):
    pairs = drawn(rng)
    objective = Preferences(RankNet(seed=4, query_fraction=0.5), pairs)
    assert (objective.seed, objective.query_fraction) == (4, 0.5)
    changed = objective.replace(seed=5, hessian="constant")
    assert changed.objective.seed == changed.seed == 5
    assert changed.objective.hessian == changed.hessian == "constant"
    scores, labels = ragged(rng)
    objective.grad_hess(scores, labels, GROUP)
    copied = pickle.loads(pickle.dumps(objective))
    assert copied == objective == copy.deepcopy(objective)
    assert hash(copied) == hash(objective)
    np.testing.assert_array_equal(
        copied.grad_hess(scores, labels, GROUP), objective.grad_hess(scores, labels, GROUP)
    )
    assert objective != objective.replace(pairs=pairs[1:])
    assert repr(objective).startswith("Preferences(objective=RankNet(sigma=1.0,")
    assert repr(objective).endswith(f"pairs=<{len(pairs)} pairs>)")
    linear = Preferences(LambdaRank(), pairs).with_gain("linear")
    assert (linear.counts_gains, linear.exponential_gains) == (True, False)
    assert linear.objective.gain == "linear"
    assert not Preferences("gbrank", pairs).counts_gains
    for name in INSIDE:
        contract = Preferences(name, pairs).contract
        assert contract.gradient == REGISTRY[name]().contract.gradient
        assert contract.hessian == REGISTRY[name]().contract.hessian
        assert contract.shift_invariant


def test_wrappers(rng):
    scores, labels = ragged(rng)
    objective = Preferences("ranknet", drawn(rng))
    mix = Mix(QueryRMSE(), objective, 0.25)
    want = 0.25 * QueryRMSE().grad_hess(scores, labels, GROUP)[0]
    want += 0.75 * objective.grad_hess(scores, labels, GROUP)[0]
    np.testing.assert_allclose(mix.grad_hess(scores, labels, GROUP)[0], want)
    both = Several({"grades": QueryRMSE(), "pairs": objective}, labels={"pairs": labels})
    assert both.loss(scores, labels, GROUP).shape == GROUP.shape
    for inside in (objective, mix):
        with pytest.raises(ValueError, match=r"^objective must not be Preferences"):
            Unbiased(inside)
    with pytest.raises(ValueError, match=r"^second must not have seed of its own"):
        Mix(QueryRMSE(), objective.replace(seed=3), 0.5)


# ---- in the hosts --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, 10, n_features=6, seed=3)


@pytest.fixture(scope="module")
def pairs(data):
    """Return a third of the pairs of different grade, with weights."""
    rng = np.random.default_rng(0)
    some = rng.permutation(of_grades(data.y, data.group))[::3]
    return np.column_stack([some, rng.integers(1, 5, len(some))])


@every_inside
def test_a_booster_gets_the_gradients(host, name, data, pairs):
    """The same trees as with a function that calls `grad_hess` itself."""
    objective = Preferences(name, pairs)
    found, want = train(host, objective, data), loop(host, objective, data)
    np.testing.assert_allclose(predicted(found, data.X), predicted(want, data.X), atol=1e-6)


def test_a_booster_that_gets_other_rows_learns_from_their_pairs(data, pairs):
    n = int(np.cumsum(data.group)[39])
    whole = dataset(data, free_raw_data=False).construct()
    parts = whole.subset(np.arange(n)).construct(), whole.subset(np.arange(n, len(data.y)))
    booster = lgb.Booster({**LIGHTGBM, "learning_rate": 1e-9}, parts[0])
    objective, found = Preferences(RankNet(rescale=False), pairs), []
    for part in (*parts, *parts):
        booster.update(
            part.construct(), lambda *given: found.append(objective(*given)) or found[-1]
        )
    want = objective.grad_hess(np.zeros(len(data.y)), data.y, data.group)
    for of_first, of_second in (found[:2], found[2:]):
        np.testing.assert_allclose(np.hstack([of_first, of_second])[0], want[0], atol=1e-6)


def holding(what, data, pairs, rows):
    """Return an objective that holds pairs, further labels or positions of these rows."""
    own = moved(pairs, rows)
    inner = Preferences("ranknet", own)
    with_margins = Preferences("gbrank", np.column_stack([own, 0.5 * own[:, 2]]))
    second = np.digitize(data.X[:, 0], [-0.5, 0.5])[rows]
    places = np.tile(np.arange(10), (60, 1)) + 1
    shown = np.random.default_rng(2).permuted(places, axis=1).ravel()[rows]
    return {
        "objective": inner,
        "mixture": Mix(inner, with_margins, 0.5),
        "several": Several({"a": inner, "b": QueryRMSE()}, labels={"b": second}),
        "unbiased": Unbiased(RankNet(), position=shown),
    }[what]


@pytest.mark.parametrize("what", ["mixture", "several", "unbiased"])
def test_folds_of_lightgbms_cv_find_what_an_objective_holds_of_their_rows(what, data, pairs):
    data, folds = replace(data, y=data.y > 1), boostrank.group_folds(data.group, 3)
    whole = dataset(data, free_raw_data=False)
    kept = cv_boosters(holding(what, data, pairs, np.arange(600)), whole, 5, folds)
    for (rows, _), booster in zip(folds, kept, strict=True):
        of_rows = {"group": np.full(len(rows) // 10, 10), "reference": whole}  # bins as in cv
        part = lgb.Dataset(data.X[rows], data.y[rows], **of_rows)
        params = {**LIGHTGBM, "objective": holding(what, data, pairs, rows)}
        want = lgb.train(params, part, 5).predict(data.X)
        np.testing.assert_allclose(booster.predict(data.X), want, atol=1e-6)


def test_folds_of_lightgbms_cv_refuse_pairs_of_other_rows(data):
    folds = boostrank.group_folds(data.group, 3)
    for bad, message in (
        ([(0, 1)], "^none of the 1 pairs is of this part of the data"),
        ([(0, 599)], "^row 0 of pairs compares the documents at rows 0 and 599"),
    ):
        with pytest.raises(ValueError, match=message):
            cv_boosters(Preferences("ranknet", bad), dataset(data), 2, folds)


def test_xgboosts_cv_is_refused(data):
    # Rows of the first query. Every fold has such rows, but of another query.
    objective = Preferences("ranknet", [(0, 1)])
    with pytest.raises(ValueError, match=r"^xgboost\.cv does not tell which rows"):
        xgb.cv(XGBOOST, matrix(data), 2, nfold=3, obj=objective)
    assert train("xgboost", objective, data, 1).num_boosted_rounds() == 1


# ---- in the rankers ------------------------------------------------------------------------------


def test_rankers_take_pairs_in_fit(host, data, pairs):
    fitted = make_ranker(host, "ranknet").fit(data.X, data.y, qid=data.qid, pairs=pairs)
    assert fitted.objective == "ranknet"
    assert fitted.objective_ == Preferences("ranknet", pairs)
    want = fitted.predict(data.X)
    for other in (
        make_ranker(host, RankNet()).fit(data.X, qid=data.qid, pairs=pairs),
        make_ranker(host, Preferences("ranknet", pairs)).fit(data.X, group=data.group),
        make_ranker(host, "ranknet").fit(
            data.X, qid=data.qid, pairs=pairs, eval_set=[(data.X, data.y)], eval_qid=[data.qid]
        ),
    ):
        np.testing.assert_allclose(other.predict(data.X), want, atol=1e-6)
    # Rows are counted, whatever a frame's index says.
    table = pd.DataFrame(data.X, index=np.arange(len(data.X)) + 5)
    columns = pd.DataFrame(pairs, columns=["winner", "loser", "weight"])
    ranker = make_ranker(host, "ranknet")
    ranker.fit(table, np.zeros(len(data.y)), qid=data.qid, pairs=columns)
    np.testing.assert_allclose(ranker.predict(table), want, atol=1e-6)
    ranker.fit(data.X, data.y, qid=data.qid)
    assert not np.allclose(ranker.predict(data.X), want)
    weights = np.where(np.arange(len(data.group)) < 30, 1.0, 0.25)
    ranker.fit(data.X, qid=data.qid, pairs=pairs, sample_weight=weights)
    assert not np.allclose(ranker.predict(data.X), want)


@pytest.mark.parametrize("what", ["objective", "fit"])
def test_labels_that_are_measured_choose_the_metric_where_only_pairs_teach(host, what, data, pairs):
    ranker, queries = make_ranker(host, Preferences("ranknet", pairs)), {"qid": data.qid}
    if what == "fit":
        ranker, queries = make_ranker(host, "ranknet"), queries | {"pairs": pairs}
    for labels, name in ((data.y - 1.0, "spearman"), (data.y, "ndcg@10")):
        ranker.fit(data.X, **queries, eval_set=[(data.X, labels)], eval_qid=[data.qid])
        (history,) = ranker.evals_result_.values()
        assert [*history] == [name]
        for y in (data.y - 1.0, labels):  # whatever `fit` measured
            score = ranker.score(data.X, y, qid=data.qid)
        assert score == pytest.approx(history[name][-1], abs=1e-5)


@pytest.mark.parametrize("what", ["fit", "objective", "mixture", "several", "unbiased"])
def test_sorting_rows_moves_what_an_objective_holds_of_them(host, what, data, pairs):
    """Rows of pairs, further labels and positions are those of `X` as it is given."""
    y = (data.y > 1).astype(float)

    def scores(order):
        rows = {"X": data.X[order], "y": y[order], "qid": data.qid[order], "sort": True}
        if what == "fit":
            objective, rows["pairs"] = RankNet(), moved(pairs, order)
        else:
            objective = holding(what, data, pairs, order)
        return make_ranker(host, objective).fit(**rows).predict(data.X)

    shuffled = np.random.default_rng(1).permutation(len(y))
    # Within queries rows stay shuffled, and sums over them differ in their last bits.
    np.testing.assert_allclose(scores(shuffled), scores(np.arange(len(y))), atol=1e-4)


def test_rankers_refuse(host, data, pairs):
    fit = {"qid": data.qid}
    crossing = np.concatenate([pairs, [(599, 0, 1)]])
    for objective, kwargs, message in (
        ("ranknet", fit, "^y is missing: pass the grade of each row of X, or preferences as pairs"),
        ("blend", {**fit, "pairs": pairs}, "^objective must be a loss of pairs.*; got blend"),
        (Preferences("ranknet", pairs), {**fit, "pairs": pairs}, "^pairs are given twice"),
        (
            "ranknet",
            {**fit, "pairs": pairs, "position": np.ones(600, int)},
            "^position and pairs do not go together",
        ),
        ("gbrank", {**fit, "pairs": crossing}, f"^row {len(pairs)} of pairs compares the docu"),
        (
            "gbrank",
            {**fit, "pairs": crossing, "sort": True},
            f"^row {len(pairs)} of pairs compares the documents at rows 599 and 0, of the queries",
        ),
        ("gbrank", {**fit, "pairs": [(0, 600)]}, "^row 0 of pairs names the document at row 600"),
    ):
        with pytest.raises(ValueError, match=message):
            make_ranker(host, objective).fit(data.X, **kwargs)


@pytest.mark.parametrize("inside", [True, False])
def test_all_data_is_trained_with_pairs_of_all_rows(host, inside, data, pairs):
    """The old ones name other rows there; without any, labels would be learnt."""
    n = int(np.cumsum(data.group)[39])
    known = pairs[(pairs[:, :2] < n).all(axis=1)]
    of_fit = {"eval_set": [(data.X[n:], data.y[n:])], "eval_qid": [data.qid[n:]]}
    of_fit |= {} if inside else {"pairs": known}
    objective = Preferences("ranknet", known) if inside else "ranknet"
    fitted = make_ranker(host, objective, early_stopping_rounds=3)
    fitted.fit(data.X[:n], data.y[:n], qid=data.qid[:n], **of_fit)
    # All rows in another order: the former rows lie elsewhere.
    order = np.argsort(-data.qid, kind="stable")
    again = moved(pairs, order)
    rows = {"X": data.X[order], "y": data.y[order], "qid": data.qid[order]}
    with pytest.raises(ValueError, match=r"has pairs of the rows.* pass pairs= for all rows"):
        fitted.fit_all(**rows)
    found = fitted.fit_all(**rows, pairs=again)
    assert found.objective_ == Preferences("ranknet", again)
    own = make_ranker(host, "ranknet", n_estimators=found.n_estimators).fit(**rows, pairs=again)
    np.testing.assert_array_equal(found.predict(data.X), own.predict(data.X))
    mixed = fitted.set_params(objective=Mix(QueryRMSE(), Preferences("ranknet", known), 0.5))
    mixed.fit(data.X[:n], data.y[:n], qid=data.qid[:n], **{**of_fit, "pairs": None})
    with pytest.raises(ValueError, match=r"^mix has pairs of the rows .* fit a new ranker"):
        mixed.fit_all(**rows, pairs=again)
