"""Gains and discounts: parameters of objectives and metrics, and parity with the hosts' own."""

import pickle
from fractions import Fraction
from itertools import combinations

import lightgbm as lgb
import numpy as np
import pytest
from boostrank.objectives import REGISTRY
from boostrank.objectives.engine import gains
from boostrank.objectives.gains import gains_of
from sklearn.metrics import dcg_score
from test_estimators import make_ranker
from test_metrics import lightgbm_says, xgboost_says
from training import LIGHTGBM, first_tree

import boostrank
from boostrank import SHFSDCG, Blend, LambdaRank, Mix, RankNet, evaluate, metric
from boostrank.datasets import make_ranking
from boostrank.lab.models import HOSTS
from boostrank.lab.settings import Settings

TABLE = (0.0, 2.0, 3.0, 10.0, 10.0)
# A gain, and the same as the host's own parameter.
OF_HOSTS = {
    "lightgbm": (TABLE, {"label_gain": list(TABLE)}),
    "xgboost": ("linear", {"ndcg_exp_gain": False}),
}
WITH_GAIN = sorted(
    name
    for name, cls in REGISTRY.items()
    if "gain" in cls.__dataclass_fields__ and name not in ("slam-map", "regression")
)
WITH_DISCOUNT = [name for name in WITH_GAIN if "discount" in REGISTRY[name].__dataclass_fields__]


def make(name, **parameters):
    own = {"reg-shf-sdcg": {"total_rounds": 4}, "yetirank": {"target": "ndcg"}}
    return boostrank.objective(name, **own.get(name, {}), **parameters)


def lists(rng, grades=5):
    group = rng.integers(1, 90, 30)
    n = group.sum()
    return rng.normal(size=n), rng.integers(0, grades, n).astype(float), group


@pytest.mark.parametrize("name", WITH_GAIN)
def test_every_form_of_a_gain_is_the_same_number(name, rng):
    scores, labels, group = lists(rng)
    want = make(name, gain=TABLE).grad_hess(scores, labels, group, round=3)
    for gain in (list(TABLE), np.array(TABLE), lambda y: np.array(TABLE)[y.astype(int)]):
        got = make(name, gain=gain).grad_hess(scores, labels, group, round=3)
        np.testing.assert_array_equal(got, want)
    whole = make(name, gain=2.0 ** np.arange(5) - 1).grad_hess(scores, labels, group, round=3)
    np.testing.assert_array_equal(whole, make(name).grad_hess(scores, labels, group, round=3))
    assert not np.array_equal(whole[0], want[0])
    same = make(name, gain="linear").grad_hess(scores, labels, group, round=3)
    np.testing.assert_array_equal(
        same, make(name, gain=range(5)).grad_hess(scores, labels, group, round=3)
    )


@pytest.mark.parametrize("name", [name for name in WITH_DISCOUNT if "sdcg" not in name])
def test_a_table_of_discounts_is_the_word(name, rng):
    """Where ranks are integers: at smooth ranks a table is interpolated linearly."""
    scores, labels, group = lists(rng)
    words = {"log2": 1 / np.log2(np.arange(2, 102)), "reciprocal": 1 / np.arange(1, 101)}
    for word, table in words.items():
        want = make(name, discount=word).grad_hess(scores, labels, group)
        got = make(name, discount=table).grad_hess(scores, labels, group)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    log2 = gains.Discount(gains.LOG2, np.zeros(1))
    discount = getattr(gains.rank_discount, "py_func", gains.rank_discount)
    for rank in (1, 4096, 4097, 9000):  # beyond the engine's own table, too
        assert discount(log2, 9000, rank) == pytest.approx(1 / np.log2(1 + rank), rel=1e-15)


def test_tiny_grades_keep_their_digits(rng):
    """2^y - 1 is y ln 2 there, so gradients are those of linear gains."""
    scores, labels, group = lists(rng)
    want, _ = LambdaRank(gain="linear").grad_hess(scores, labels, group)
    for size, error in ((1e-6, 1e-6), (1e-12, 1e-9), (1e-30, 1e-9)):
        got, _ = LambdaRank().grad_hess(scores, labels * size, group)
        np.testing.assert_allclose(got, want, rtol=0.0, atol=error * np.abs(want).max())


def exact_err(stops):
    reach, value = Fraction(1), Fraction(0)
    for rank, stop in enumerate(stops, 1):
        value += reach * stop / rank
        reach *= 1 - stop
    return value


@pytest.mark.parametrize(
    ("gain", "unit"), [("exponential", 1.0), ("linear", 1.0), ("linear", 2.0**-31)]
)
def test_the_swaps_of_err_do_not_cancel(gain, unit, rng):
    """A document of grade 30 stops all but 1e-9 of the users, and what follows still counts."""
    for n in (2, 3, 7, 12):
        labels = rng.integers(24, 31, n).astype(float)
        labels = labels if gain == "exponential" else unit * np.exp2(labels)
        scores = rng.normal(size=n)
        gains = [
            Fraction(2) ** int(y) - 1 if gain == "exponential" else Fraction(y) for y in labels
        ]
        order = np.argsort(-scores)
        stops = [gains[i] / (1 + max(gains)) for i in order]
        want = np.zeros(n)
        for a, b in combinations(range(n), 2):
            swapped = list(stops)
            swapped[a], swapped[b] = stops[b], stops[a]
            weight = float(abs(exact_err(swapped) - exact_err(stops)))
            better, worse = (order[a], order[b])[:: 1 if stops[a] >= stops[b] else -1]
            pull = weight / (1.0 + np.exp(scores[better] - scores[worse]))
            want[better] -= pull
            want[worse] += pull
        err = LambdaRank(target="err", gain=gain, sigma=1.0, norm=False)
        got, _ = err.grad_hess(scores, labels, [n])
        np.testing.assert_allclose(got, want, rtol=0.0, atol=1e-13 * np.abs(want).max())


@pytest.mark.parametrize("n", [40, 700, 5000])
def test_amounts_without_a_bound(n, rng):
    """All gains differ: the ideal DCG comes from sorting, not from counting."""
    amounts = rng.lognormal(6, 2, n)
    scores = rng.normal(size=n)
    for norm in (True, False):
        objective = LambdaRank(gain="linear", norm=norm, truncation=5)
        grad, _ = objective.grad_hess(scores, amounts, [n])
        scaled, _ = objective.grad_hess(scores, amounts / 1e6, [n])
        assert np.abs(grad).max() > 0
        np.testing.assert_allclose(grad, scaled, rtol=1e-9, atol=1e-15)
    with pytest.raises(ValueError, match='amounts, such as prices, need gain="linear"'):
        LambdaRank().grad_hess(scores, amounts * 1e6, [n])
    with pytest.raises(ValueError, match=r"got 1001\.0 at row 1 \(1 such of 2\); amounts"):
        LambdaRank().grad_hess([0.0, 0.0], [1000, 1001], [2])
    with pytest.raises(ValueError, match=r"labels must be between 0 and 1e\+300, got 5e\+307"):
        LambdaRank(gain="linear").grad_hess([0.0, 0.0], [5e307, 1.5e308], [2])  # gave 0 and 0


BAD = [
    ({"gain": "liner"}, ValueError, "unknown gain 'liner'; did you mean 'linear'"),
    ({"gain": [0, 2, 1]}, ValueError, "gain must not fall: grade 2 has 1, grade 1 2"),
    ({"gain": [0, -1]}, ValueError, "gain must be between 0 and 1e\\+300, got -1"),
    ({"gain": [0, 5e307]}, ValueError, "gain must be between"),
    ({"gain": []}, TypeError, "gain must be 'exponential', 'linear', one gain for each grade"),
    ({"gain": 2.0}, TypeError, "gain must be"),
    ({"discount": "log"}, ValueError, "unknown discount 'log'; did you mean 'log2'"),
    ({"discount": [1, 2]}, ValueError, "discount must not grow with the rank: rank 2 has 2"),
    ({"discount": [0, 0]}, ValueError, "discount must be above 0 at rank 1"),
    ({"discount": 3}, TypeError, "discount must be 'log2'"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        LambdaRank(**parameters)
    with pytest.raises(error, match=message):
        evaluate([0, 1], [0, 1], [2], ["ndcg"], **parameters)


@pytest.mark.parametrize(
    ("gain", "message"),
    [
        (
            [0, 1],
            "gain has a number for each of the grades 0 to 1, and none for the grade 2 at row 1",
        ),
        (lambda y: -y, "gain must be between 0 and 1e\\+300, got -2.0 of grade 2"),
        (lambda y: 5e307 * y, "gain must be between 0 and 1e\\+300, got 1e\\+308 of grade 2"),
        (lambda y: 5 - y, "gain must not fall while the grade grows: grade 2 has 3, grade 0 5"),
        (object, "gain must be a function of an array .* TypeError: object.* takes no arguments"),
        (lambda y: "many", "gain must be a function of an array .* ValueError: could not convert"),
        (lambda y: y[:1], "gain must return one number for each of the 2 grades"),
    ],
)
def test_gains_that_do_not_fit_the_labels(gain, message):
    for objective in (LambdaRank(gain=gain), Mix(RankNet(), SHFSDCG(gain=gain), 0.5)):
        with pytest.raises(ValueError, match=message):
            objective.grad_hess([0.0, 1.0], [0, 2], [2])
    with pytest.raises(ValueError, match=message):
        evaluate([0.0, 1.0], [0, 2], [2], ["ndcg"], gain=gain)


@pytest.mark.parametrize(
    ("cls", "by", "value"),
    [
        (boostrank.SLAM, "measure", "map"),
        (LambdaRank, "target", "map"),
        (boostrank.Regression, "target", "grade"),
    ],
)
def test_map_has_neither_gain_nor_discount_and_a_regression_on_grades_no_gain(cls, by, value):
    boostrank.SLAM(measure="map", gain="exponential", discount="log2")  # the defaults
    boostrank.RegSHFSDCG(total_rounds=4, center=False, gain="linear")  # of one of its parts
    for name, given in (("gain", "linear"), ("discount", "linear"), ("discount", [1])):
        if name in cls.__dataclass_fields__:
            message = f"{name} must be left out with {by}='{value}', which has"
            with pytest.raises(ValueError, match=message):
                cls(**{by: value, name: given})


def test_equal_gains_of_different_grades_have_nothing_to_rank(rng):
    scores, labels = rng.normal(size=30), np.arange(30.0) % 2 + 3
    for name in WITH_GAIN:
        if name in ("blend", "reg-shf-sdcg"):  # their parts use the grades too
            continue
        grad, _ = make(name, gain=TABLE).grad_hess(scores, labels, [30])
        np.testing.assert_array_equal(grad, 0.0)


def test_objectives_with_tables_hash_and_pickle():
    objective = LambdaRank(gain=[0, 1, 3], discount=[1.0, 0.5])
    assert objective.gain == (0.0, 1.0, 3.0)
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert hash(objective) == hash(LambdaRank(gain=(0, 1, 3), discount=(1, 0.5)))
    assert eval(repr(objective), {"LambdaRank": LambdaRank}) == objective


# ---- metrics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.repeat([2.0, 3.0, 4.0], 4)])
def test_relevant_documents_without_a_gain(rng, weight):
    """What they are worth is nothing: NDCG is then 0/0, as without relevant documents."""
    labels, group, gain = np.array([1, 0, 1, 0, 2, 1, 0, 0, 0, 0, 2, 0]), [4, 4, 4], (0.0, 0.0, 3.0)
    scores = rng.permutation(12).astype(float)
    ranked = scores, labels, group
    want = lightgbm_says(*ranked, weight, metric="ndcg", eval_at=[1, 3], label_gain=gain)
    got = evaluate(*ranked, tuple(want), convention="lightgbm", gain=gain, weight=weight)
    assert got == pytest.approx(want, rel=1e-12)
    values = evaluate(*ranked, ["ndcg@3", "meanndcg", "map"], gain=gain, per_query=True)
    assert [np.isnan(each).tolist() for each in values.values()] == [
        [True, False, False],
        [True, False, False],
        [False, False, False],
    ]
    one = evaluate([0.0], [1], [1], ["ndcg"], discount="linear")  # n - r is 0
    assert np.isnan(one["ndcg"])


def test_metrics_under_xgboosts_linear_gains(rng):
    scores, labels, group = lists(rng)
    query = scores.astype(np.float32), labels, group
    want = xgboost_says(*query, ["ndcg@5"], objective="rank:ndcg", ndcg_exp_gain=False)
    got = evaluate(*query, ["ndcg@5"], convention="xgboost", gain="linear")
    assert got == pytest.approx(want, rel=1e-6)


def test_metrics_of_amounts_are_scikit_learns(rng):
    amounts, scores = rng.lognormal(6, 2, 50), rng.normal(size=50)
    got = evaluate(scores, amounts, [50], ["dcg@7", "dcg"], gain="linear")
    assert got["dcg@7"] == pytest.approx(dcg_score([amounts], [scores], k=7))
    assert got["dcg"] == pytest.approx(dcg_score([amounts], [scores]))
    for discount, weights in {
        "reciprocal": 1 / np.arange(1, 51),
        "linear": np.arange(49, -1, -1),
        (1, 1, 0.5): np.pad([1, 1, 0.5], (0, 47)),
        (2,): np.pad([2], (0, 49)),
    }.items():
        got = evaluate(scores, amounts, [50], ["dcg"], gain="linear", discount=discount)
        assert got["dcg"] == pytest.approx(amounts[np.argsort(-scores)] @ weights)


def test_conventions_that_fix_their_own():
    query = [0.0, 1.0], [0, 1], [2]
    for convention in ("letor3", "letor4"):
        with pytest.raises(ValueError, match=f"gain is fixed by convention='{convention}'"):
            evaluate(*query, convention=convention, gain="linear")
    with pytest.raises(ValueError, match="discount is fixed by convention='lightgbm'"):
        metric("ndcg", convention="lightgbm", discount="linear")
    evaluate(*query, convention="trec", gain="linear")  # trec's own


@pytest.mark.parametrize("own", [{"discount": "reciprocal"}, {"discount": [2, 1], "gain": TABLE}])
def test_directness_is_measured_by_the_objectives_gain_and_discount(own):
    query = [3.0, 1.0, 0.0], [1, 0, 2], [3]
    sharp = boostrank.SoftNDCG(sigma=0.01, **own)
    assert boostrank.directness(sharp, *query).epsilon < 1e-9
    for word in ("linear", "sqrt"):  # no discounts of a metric
        found = boostrank.directness(boostrank.SDCG(discount=word), *query)
        assert found.measure == evaluate(*query, ["ndcg"])["ndcg"]


# ---- training ------------------------------------------------------------------------------------


def training_data(rng):
    group = np.full(50, 12)
    labels = rng.integers(0, 5, group.sum()).astype(float)
    return rng.normal(size=(len(labels), 3)), labels, group


def test_the_first_tree_is_lightgbms_under_its_label_gain(rng):
    rows, given = training_data(rng), {"label_gain": list(TABLE)}
    want = first_tree(*rows, objective="lambdarank", lambdarank_truncation_level=10_000, **given)
    for params in ({"objective": LambdaRank(gain=TABLE)}, {"objective": LambdaRank(), **given}):
        np.testing.assert_allclose(
            first_tree(*rows, **params), want, rtol=1e-4, atol=1e-4 * abs(want).max()
        )
    assert not np.allclose(first_tree(*rows, objective=LambdaRank()), want, rtol=1e-2)


def test_the_hosts_gain_is_honoured_wherever_it_is_given(host, rng):
    X, labels, group = training_data(rng)
    gain, own = OF_HOSTS[host]

    def scores(objective, weight, **own):
        ranker = make_ranker(host, objective, **own)
        return ranker.fit(X, labels, group=group, sample_weight=weight).predict(X)

    for weight in (None, rng.uniform(0.5, 2.0, len(X))):  # of documents: no DMatrix can hold it
        want = scores(SHFSDCG(gain=gain), weight)
        for objective in (SHFSDCG(), "shf-sdcg"):
            np.testing.assert_array_equal(scores(objective, weight, **own), want)


@pytest.mark.parametrize("around", [lambda inner: inner, lambda inner: Mix(RankNet(), inner, 0.5)])
@pytest.mark.parametrize("named", [None, "ndcg@10"])
def test_rankers_measure_with_the_gain_of_their_objective(host, named, around, rng):
    X, amounts, group = rng.normal(size=(60, 3)), rng.uniform(0, 90, 60), [20, 20, 20]
    made = make_ranker(host, around(LambdaRank(gain="linear")))
    own = {}
    if host == "lightgbm":
        own = {"eval_at": 5, "eval_metric": named and "ndcg"}
    else:
        made.set_params(eval_metric=named)
    made.fit(X, amounts, group=group, eval_set=[(X, amounts)], eval_group=[group], **own)
    scores = made.predict(X)
    (history,) = made.evals_result_.values()
    metric = "ndcg@5" if own else "ndcg@10"
    found = (("ndcg@10", made.score(X, amounts, group=group)), (metric, history[metric][-1]))
    for name, value in found:
        want = evaluate(scores, amounts, group, (name,), gain="linear")[name]
        assert value == pytest.approx(want, rel=1e-5)


def test_the_hosts_gain_is_that_of_every_measurement(host, rng):
    """Of the choice of "auto", of early stopping and of `score`, as with the objective's own."""
    X, group = rng.normal(size=(1000, 3)), np.full(100, 10)
    labels = np.clip(np.round(2 + X[:, 0] + rng.normal(size=len(X))), 0, 4)
    gain, own = OF_HOSTS[host]

    def fitted(objective, **more):
        valid = {"eval_set": [(X[700:], labels[700:])], "eval_group": [group[70:]]}
        made = make_ranker(host, objective, n_estimators=40, early_stopping_rounds=3, **more)
        return made.fit(X[:700], labels[:700], group=group[:70], **valid)

    gained = {"lambdarank": LambdaRank(gain=gain), "auto": Blend(signal="auto", gain=gain)}
    for name, objective in gained.items():
        want, got = fitted(objective), fitted(name, **own)
        assert got.objective_ == want.objective_
        assert got.auto_ == want.auto_
        assert got.evals_result_ == want.evals_result_
        np.testing.assert_array_equal(got.predict(X), want.predict(X))
        score = got.score(X, labels, group=group)
        assert score == want.score(X, labels, group=group)
        measured = evaluate(got.predict(X), labels, group, ["ndcg@10"], gain=gain)
        assert score == pytest.approx(measured["ndcg@10"], rel=1e-12)
    with pytest.raises(ValueError, match=r"is not the gain of LambdaRank.*set only"):
        fitted(LambdaRank(gain=[0, 1]), **own)


def test_auto_in_the_workbench_chooses_by_the_hosts_gain(host):
    data = make_ranking(100, 8, n_features=3, seed=2, noise=1.0)
    gain, own = OF_HOSTS[host]
    want, got = (
        HOSTS[host].train(
            Blend(signal="auto", **of_ours), data, Settings(rounds=8, params={host: of_host})
        )[0]
        for of_ours, of_host in (({"gain": gain}, {}), ({}, own))
    )
    assert got.choice == want.choice


PLACE = np.arange(60) % 5 + 1
AROUND = {
    "Mix": lambda inner: Mix(RankNet(), inner, 0.5),
    "Several": lambda inner: boostrank.Several(
        {"a": inner, "b": boostrank.QueryRMSE()}, labels={"b": PLACE}
    ),
    "Preferences": lambda inner: boostrank.Preferences(inner, [(0, 1), (2, 1), (25, 21)]),
    "Unbiased": lambda inner: boostrank.Unbiased(Mix(RankNet(), inner, 0.5), position=PLACE),
    "Unbiased, pairwise": lambda inner: boostrank.Unbiased(
        inner, propensity="pairwise", position=PLACE
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_the_hosts_gain_is_that_of_the_objective_inside(name, rng):
    table = [1.0, 5.0, 6.0]
    X, group = rng.normal(size=(60, 3)), [10, 20, 30]
    labels = rng.integers(0, 2 if "Unbiased" in name else 3, 60)

    def scores(inner, **params):
        params = {**LIGHTGBM, **params, "objective": AROUND[name](inner)}
        return lgb.train(params, lgb.Dataset(X, labels, group=group), 2).predict(X)

    inner = LambdaRank(norm=False)
    want = scores(LambdaRank(norm=False, gain=table), label_gain=table)
    np.testing.assert_array_equal(scores(inner, label_gain=table), want)
    assert not np.allclose(scores(inner), want)


@pytest.mark.parametrize("around", [lambda inner: inner, lambda inner: Mix(SHFSDCG(), inner, 0.5)])
def test_two_different_gains_are_refused(around, rng):
    X, labels, group = training_data(rng)
    params = {**LIGHTGBM, "label_gain": TABLE, "objective": around(LambdaRank(gain="linear"))}
    with pytest.raises(ValueError, match=r"label_gain=.* is not the gain of .*LambdaRank"):
        lgb.train(params, lgb.Dataset(X, labels, group=group), 1)


def test_gains_of_linear_are_the_labels():
    labels = np.array([0.0, 2.5])
    assert gains_of("linear", labels) is labels


def test_a_comparisons_gain_replaces_none_of_an_objectives_own():
    settings = Settings(gain="linear")
    own = boostrank.LambdaRank(gain=(0.0, 1.0, 3.0))
    for kept in (own, boostrank.Mix(boostrank.SDCG(), own, 0.5), boostrank.RankNet()):
        assert settings.gained(kept) == kept
    both = boostrank.Mix(boostrank.SDCG(), boostrank.RankNet(), 0.5)
    assert settings.gained(both) == both.replace(first=boostrank.SDCG(gain="linear"))
