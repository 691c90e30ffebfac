"""Objectives on several labels, combined into one."""

import pickle

import numpy as np
import pytest
from matplotlib import pyplot as plt
from oracle import gradient
from training import predicted, train

import boostrank
from boostrank import Blend, LambdaRank, ListNet, QueryRMSE, Several, plot
from boostrank.datasets import make_ranking

NAMES = ("relevance", "price")


@pytest.fixture(scope="module")
def data():
    return make_ranking(150, 20, n_features=8, seed=3)


@pytest.fixture(scope="module")
def price(data):
    """Return grades 0 to 4 that have little to do with the others."""
    value = data.X[:, 0] - data.X[:, 1] + 0.2 * np.random.default_rng(0).normal(size=len(data.y))
    return np.digitize(value, np.quantile(value, [0.5, 0.8, 0.93, 0.99])).astype(float)


def several(price, part=None, **changes):
    parts = {name: part or QueryRMSE() for name in NAMES}
    return Several(parts, labels={"price": price}, **changes)


def trained(host, objective, data, price, rounds):
    """Return NDCG@10 by both labels."""
    booster = train(host, objective, data, rounds, params={"learning_rate": 0.1})
    scores = predicted(booster, data.X)
    return [
        boostrank.evaluate(scores, labels, data.group, ("ndcg@10",))["ndcg@10"]
        for labels in (data.y, price)
    ]


def test_weights_add_the_losses_up(rng):
    s, y, z, group = rng.normal(size=9), rng.integers(0, 4, 9), rng.integers(0, 4, 9), [4, 5]
    one, other = boostrank.RankNet(), boostrank.SDCG()
    both = Several(
        dict(zip(NAMES, (one, other), strict=True)),
        labels={"price": z}, weights={"relevance": 3, "price": 1},
    )  # fmt: skip
    want = 0.75 * one.loss(s, y, group) + 0.25 * other.loss(s, z, group)
    np.testing.assert_allclose(both.loss(s, y, group), want, rtol=1e-12)
    numeric = gradient(lambda x: both.loss(x, y, group).sum(), s.tolist())
    np.testing.assert_allclose(both.grad_hess(s, y, group)[0], numeric, rtol=1e-7, atol=1e-9)


Y, Z = np.array([3.0, 2.0, 0.0]), np.array([0.0, 1.0, 3.0])


@pytest.mark.parametrize(
    ("changes", "price", "scores", "learnt"),
    [
        # A constraint: what is below, and else the rest.
        ({"at_least": {"relevance": 0.9}}, Z, [2.0, 1.0, 0.0], Z),
        ({"at_least": {"relevance": 0.9}}, Z, [0.0, 1.0, 2.0], Y),
        # The worst, by weight.
        ({"chebyshev": True}, Z, [2.0, 1.0, 0.0], Z),
        ({"chebyshev": True, "weights": {"relevance": 100, "price": 1}}, Z, [1.0, 1.5, 0.5], Y),
        # A label without relevant documents asks for nothing.
        ({"chebyshev": True}, 0 * Z, [0.0, 1.0, 2.0], Y),
        ({"at_least": {"price": 0.9}}, 0 * Z, [0.0, 1.0, 2.0], Y),
        # The metric of a label without a bound does not matter: returns have no NDCG.
        ({"at_least": {"relevance": 0.9}}, Z - 1, [0.0, 1.0, 2.0], Y),
    ],
    ids=["met", "missed", "worst", "by weight", "worst of one", "nothing to ask", "returns"],
)
def test_one_label_at_a_time(changes, price, scores, learnt):
    alone = boostrank.QueryRMSE()
    both = several(price, part=alone, **changes)
    want = alone.grad_hess(scores, learnt, [3])
    np.testing.assert_array_equal(both.grad_hess(scores, Y, [3]), want)


def test_a_label_is_measured_with_the_gain_of_its_objective_and_the_weights_of_queries():
    s, y, prices = map(np.array, ([3.0, 2.0, 1.0], [2.0, 0.0, 1.0], [9.0, 12.0, 29.0]))
    # Without a gain, grades and amounts are told apart by the labels, of all folds together.
    for own in ((LambdaRank(), LambdaRank(gain="linear")), (QueryRMSE(), QueryRMSE())):
        parts = dict(zip(NAMES, own, strict=True))
        both = Several(parts, labels={"price": np.append(prices, 900.0)}, chebyshev=True)
        fold = both.all_labels(y, np.arange(3))
        measured = dict(zip(parts, both.measure(s, fold, [3]), strict=True))
        for name, labels, gain in (("relevance", y, "exponential"), ("price", prices, "linear")):
            (want,) = boostrank.evaluate(s, labels, [3], ("ndcg@10",), gain=gain).values()
            assert measured[name] == want
    with pytest.raises(ValueError, match=r"^metric\['relevance'\], 'ndcg@10': labels .* got -2"):
        both.measure(s, fold | {"relevance": -y}, [3])
    both = several(np.tile(Z, 2), at_least={"relevance": 0.7})  # met by the query of weight 0
    given = np.tile(Y, 2), np.array([2.0, 1, 0, 0, 1, 2]), np.repeat([0.0, 1.0], 3), [3, 3]
    np.testing.assert_array_equal(both(*given)[0], QueryRMSE()(*given)[0])


def test_the_constraint_holds_on_training_data(host, data, price):
    alone = trained(host, QueryRMSE(), data, price, 150)
    asked = 0.95 * alone[0]
    found = trained(host, several(price, at_least={"relevance": asked}), data, price, 150)
    assert abs(found[0] - asked) < 0.006  # at a rate of 0.1, with steps of about that size
    assert found[1] > alone[1] + 0.05


def test_labels_below_what_was_asked_share_alike():
    """However far below they are. A label without a demand gets what they leave."""
    three = Several(
        dict.fromkeys("abc", QueryRMSE()), labels={"b": [0], "c": [0]},
        at_least={"a": 0.9, "b": 0.5},
    )  # fmt: skip
    for a, b, shares in (
        (0.2, 0.498, [0.5, 0.5, 0.0]),
        (0.2, 0.502, [1.0, 0.0, 0.0]),
        (0.9, 0.6, [0.5, 0.0, 0.5]),
        (np.nan, 0.6, [0.0, 0.0, 1.0]),
    ):
        np.testing.assert_allclose(three.shares(np.array([a, b, 0.1])), shares, atol=1e-9)


def test_it_is_a_value(price):
    """Also with mixtures and schedules as parts."""
    fading = boostrank.Mix(QueryRMSE(), LambdaRank(), boostrank.Schedule("logistic", 1))
    both = Several({"relevance": Blend(), "price": fading}, labels={"price": price})
    assert both == pickle.loads(pickle.dumps(both))
    assert hash(both) == hash(pickle.loads(pickle.dumps(both)))


def test_every_label_is_warned_of(host, data, price):
    parts = {"relevance": QueryRMSE(), "price": LambdaRank()}
    with pytest.warns(UserWarning, match="labels above 30 count as gains 2\\^y - 1 in lambdarank"):
        train(host, Several(parts, labels={"price": 100.0 * price}), data, 1)


def test_labels_of_another_length_are_refused(host, data, price):
    with pytest.raises(ValueError, match=r"labels\['price'\] must have one label for each of the"):
        train(host, several(price[:-1]), data, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": {}}, "^labels must have one entry for each of price; got none"),
        ({"labels": {"price": [0.0, np.nan]}}, r"^labels\['price'\]: labels must be finite"),
        ({"weights": {"price": 1}}, "^weights must have one entry for each of relevance, price"),
        ({"weights": {"relevance": 0, "price": 1}}, r"^weights\['relevance'\] must be a positive"),
        ({"at_least": {}}, "^at_least must have numbers for all labels but one"),
        ({"at_least": {"relevance": 1.5}}, r"^at_least\['relevance'\] must be from 0 to 1"),
        ({"at_least": {"relevance": 0.5}, "chebyshev": True}, "^at_least goes with neither"),
        ({"objectives": {"relevance": QueryRMSE()}}, "^objectives must be of at least two"),
        ({"objectives": {"relevance": 1, "price": QueryRMSE()}}, "must be an objective such as"),
        (
            {"objectives": {"relevance": QueryRMSE(seed=3), "price": QueryRMSE()}},
            "must not have seed of its own",
        ),
        ({"chebyshev": 1}, "^chebyshev must be True or False"),
        ({"metric": "nope"}, "^unknown metric 'nope'"),
        ({"metric": "logloss"}, "^metric must be one that grows .*, got 'logloss'"),
        ({"metric": {"relevance": "map", "price": "ece"}}, "^metric must be one .*, got 'ece'"),
        ({"objectives": [QueryRMSE()] * 2}, "^objectives must be a dictionary .* got a list"),
        ({"labels": [0.0, 1.0]}, "^labels must be a dictionary with the names .* got a list"),
        ({"at_least": 0.5}, "^at_least must be a dictionary with the names .* got a float"),
        ({"metric": {"relevance": "map", "price": 3}}, "^a metric's name must be a string"),
        ({"at_least": {1: 0.5, 2: 0.5}}, "of relevance, price got 1, 2"),
        # Labels that another objective took.
        (
            {
                "labels": {"price": dict(several([-1.0, 1.0]).labels)["price"]},
                "objectives": {"relevance": QueryRMSE(), "price": LambdaRank()},
            },
            r"^labels\['price'\]: labels must be relevance grades",
        ),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    given = {"objectives": dict.fromkeys(NAMES, QueryRMSE()), "labels": {"price": [0.0, 1.0]}}
    given |= changes
    with pytest.raises((TypeError, ValueError), match=message):
        Several(given.pop("objectives"), **given)
    with pytest.raises(ValueError, match=r"^first must not be Several"):
        boostrank.Mix(several([0.0]), Blend(), 0.5)


def test_the_figure_links_what_nothing_beats():
    points = [(0.5, 0.3), (0.4, 0.4), (0.35, 0.35), (0.4, 0.39), (0.2, 0.5)]
    ax = plot.pareto({"one": points}, metrics=("relevance", "price"))
    assert ax.lines[0].get_xdata().tolist() == [0.2, 0.4, 0.5]
    assert ax.get_xlabel() == "relevance"
    plt.close(ax.figure)
    for values, message in (
        ({"one": [0.5]}, r"^values\['one'\] must have two metrics for each model"),
        ({"one": [(np.nan, 1)]}, r"^values\['one'\] must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            plot.pareto(values)


@pytest.mark.compiled
def test_its_labels_compile_no_kernel_again():
    scores, labels = [0.2, 0.1, 0.0], [0.0, 1.0, 2.0]
    alone = ListNet()
    alone.grad_hess(scores, labels, [3])
    (run,) = ListNet.kernel.derivatives.args
    compiled = run.signatures
    Several({"a": alone, "b": alone}, labels={"b": labels}).grad_hess(scores, labels, [3])
    assert run.signatures == compiled
