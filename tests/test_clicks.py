"""Clicks: the simulator, and propensities from logs."""

import numpy as np
import pytest

from boostrank.datasets import (
    RankingData,
    make_ranking,
    propensities_from_randomization,
    propensities_from_rankers,
    simulate_clicks,
)


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, 8, n_features=6, seed=3)


def rates(log, what, n=8):
    """Return the share of clicks among the documents of each position."""
    clicked, shown = (np.bincount(log.position - 1, by, n) for by in (log.data.y * what, what))
    return clicked / shown


def test_a_log_is_the_data_once_a_session(data):
    log = simulate_clicks(data, sessions=4, seed=1)
    assert len(log.data.group) == 4 * len(data.group)
    np.testing.assert_array_equal(log.data.X, data.X[log.row])
    for session in np.split(np.arange(len(log.row)), np.cumsum(log.data.group)[:-1]):
        assert sorted(log.position[session]) == list(range(1, 9))
        assert (np.diff(log.row[session]) == 1).all()
    again = simulate_clicks(data, sessions=4, seed=1)
    np.testing.assert_array_equal(again.data.y, log.data.y)
    assert (simulate_clicks(data, sessions=4, seed=2).data.y != log.data.y).any()


def test_a_log_keeps_categories_and_documents(data):
    """The words of categories were lost, and so a model trained on the log did not have them."""
    X = np.column_stack([data.X, np.arange(len(data.y)) % 3])
    ids = np.arange(len(data.y)) + 1000
    words = {"categorical": (6,), "categories": {6: ("a", "b", "c")}, "doc_id": ids}
    log = simulate_clicks(RankingData(X, data.y, data.qid, **words), sessions=2, seed=1)
    assert log.data.categories == words["categories"]
    np.testing.assert_array_equal(log.data.doc_id, ids[log.row])


@pytest.mark.parametrize(("eta", "unit"), [(0.0, 1.0), (0.5, 0.1), (2.0, 1.0)])
def test_the_position_model_clicks_by_position_times_relevance(data, eta, unit):
    graded = RankingData(data.X, unit * data.y, data.qid)
    log = simulate_clicks(graded, eta=eta, noise=0.2, sessions=400, seed=0, randomized=1.0)
    assert log.randomized.all()
    for grade in (0, 1, 2):
        of_grade = (data.y == grade)[log.row]
        worth = 0.2 + 0.8 * (2.0 ** (unit * grade) - 1.0) / (2.0 ** graded.y.max() - 1.0)
        want = worth * (1.0 / np.arange(1, 9)) ** eta
        np.testing.assert_allclose(rates(log, of_grade), want, atol=0.03)
    np.testing.assert_allclose(log.propensity, (1.0 / np.arange(1, 9)) ** eta)


def test_lists_are_sorted_by_the_scores_of_one_ranker(data):
    scores = np.random.default_rng(0).normal(size=(2, len(data.y)))
    log = simulate_clicks(data, sessions=30, seed=0, scores=scores)
    seen = set()
    for session in np.split(np.arange(len(log.row)), np.cumsum(log.data.group)[:-1]):
        shown = log.row[session][np.argsort(log.position[session])]
        by = {n for n, each in enumerate(scores) if (np.diff(each[shown]) <= 0).all()}
        assert len(by) == 1
        seen |= by
    assert seen == {0, 1}


def test_the_cascade_stops_at_a_click(data):
    log = simulate_clicks(data, model="cascade", eta=0.0, noise=0.5, sessions=50, seed=0)
    clicks = np.add.reduceat(log.data.y, np.cumsum(log.data.group) - log.data.group)
    assert set(clicks) == {0.0, 1.0}
    free = simulate_clicks(data, model="position", eta=0.0, noise=0.5, sessions=50, seed=0)
    assert rates(log, np.ones(len(log.row)))[-1] < 0.2 * rates(free, np.ones(len(free.row)))[-1]


def test_trust_clicks_what_stands_on_top(data):
    nothing = RankingData(data.X, np.zeros(len(data.y)), data.qid)
    log = simulate_clicks(nothing, model="trust", eta=0.0, noise=0.0, sessions=300, seed=0)
    np.testing.assert_allclose(rates(log, np.ones(len(log.row))), 0.65 / np.arange(1, 9), atol=0.02)


def test_the_weak_ranker_is_better_than_chance(data):
    log = simulate_clicks(data, sessions=1, seed=4)
    top, bottom = (data.y[log.row[mask]].mean() for mask in (log.position <= 2, log.position > 6))
    assert top > bottom + 0.1


@pytest.mark.parametrize("eta", [0.5, 1.0])
def test_propensities_are_found_from_randomization_and_from_rankers(data, eta):
    shuffled = simulate_clicks(data, eta=eta, noise=0.3, sessions=500, seed=0, randomized=1.0)
    found = propensities_from_randomization(shuffled.data.y, shuffled.position)
    np.testing.assert_allclose(found, shuffled.propensity, atol=0.05)
    # With good rankers, a document's position depends on its grade: click rates are biased.
    scores = data.y + np.random.default_rng(0).normal(size=(3, len(data.y)))
    log = simulate_clicks(data, eta=eta, noise=0.3, sessions=500, seed=0, scores=scores)
    biased = propensities_from_randomization(log.data.y, log.position)
    assert np.abs(biased - log.propensity).max() > 0.08
    harvested = propensities_from_rankers(log.data.y, log.position, log.row)
    np.testing.assert_allclose(harvested, log.propensity, atol=0.05)
    # As tables give them: positions as floats, documents by names.
    named = propensities_from_rankers(log.data.y, log.position.astype(float), log.row.astype(str))
    np.testing.assert_allclose(named, harvested)
    pooled = propensities_from_rankers(log.data.y, log.position, log.row, last=4)
    assert len(pooled) == 4
    np.testing.assert_allclose(pooled[:3], log.propensity[:3], atol=0.05)
    # Where nothing was clicked, "b" alone was shown, and has no rate.
    assert propensities_from_rankers([1, 1, 0, 0], [1, 2, 3, 3], list("aaab")).tolist() == [1, 1, 0]


def test_positions_are_compared_within_lists():
    """Long lists have a smaller share of good documents, and deep positions are only in those."""
    n = np.array([3, 12] * 100)
    good = RankingData(np.ones((n.sum(), 1)), np.repeat(n == 3, n), np.repeat(np.arange(200), n))
    log = simulate_clicks(good, noise=0.2, sessions=200, seed=0, randomized=1.0)
    p = propensities_from_randomization(log.data.y, log.position, qid=log.data.qid)
    np.testing.assert_allclose(p, log.propensity, atol=0.03)
    with pytest.raises(ValueError, match=r"^qid must .* 40000 documents .* 20000 at position 4:"):
        propensities_from_randomization(log.data.y, log.position, last=2)


@pytest.mark.parametrize("eta", [0.5, 1.5])
def test_propensities_are_exact_along_a_chain(eta):
    """After 10,000 of its small steps the fit was far from the maximum, and said nothing."""
    k = np.repeat(np.arange(1, 80), 2) + np.tile([0, 1], 79)
    clicks = np.round(900 * k**-eta)  # of 1000 sessions; each document is at k and k + 1
    found = (np.arange(1000) < clicks[:, None]).ravel()
    document = np.repeat(np.arange(79), 2000)
    p = propensities_from_rankers(found, np.repeat(k, 1000), document)
    np.testing.assert_allclose(p, clicks[[0, *range(1, 158, 2)]] / 900, rtol=1e-9)


def test_positions_that_nothing_links_are_refused(data):
    log = simulate_clicks(data, sessions=5, seed=0)
    with pytest.raises(ValueError, match=r"^position 2 shares no document with position 1 that"):
        propensities_from_rankers(log.data.y, log.position, log.row)
    with pytest.raises(ValueError, match=r"^position 2 shares"):  # it would be infinite
        propensities_from_rankers([0, 1, 1], [1, 2, 1], list("aab"))
    # "a" alone was shown at both, and clicked only at 1.
    with pytest.raises(ValueError, match=r"^position 2 was clicked, but too few clicks link it"):
        propensities_from_rankers([1, 0, 1], [1, 2, 2], list("aab"))
    with pytest.raises(ValueError, match=r"^position 3 is in no list that was clicked further up"):
        propensities_from_randomization([1, 0, 0, 0, 1], [1, 2, 1, 2, 3], qid=[1, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "dbn"}, "^unknown model 'dbn'"),
        ({"eta": -1.0}, "^eta must be finite and not negative"),
        ({"eta": "1"}, "^eta must be a number"),
        ({"noise": 1.5}, "^noise must be from 0 to 1"),
        ({"sessions": 0}, "^sessions must be at least 1"),
        ({"seed": -1}, "^seed must not be negative"),
        ({"scores": [1.0]}, "^scores must have one value for each of the 480 documents"),
        ({"randomized": 2.0}, "^randomized must be from 0 to 1"),
        ({"data": None}, "^data must be a RankingData"),
        ({"data": RankingData([[0.0], [1.0]], [-1, 1], [1, 1])}, "^labels must be .* got -1"),
    ],
)
def test_the_simulator_refuses_bad_arguments(data, change, message):
    arguments = {"data": data, "seed": 0} | change
    with pytest.raises((TypeError, ValueError), match=message):
        simulate_clicks(arguments.pop("data"), **arguments)


@pytest.mark.parametrize(
    ("clicks", "position", "message"),
    [
        ([0, 2], [1, 2], "^clicks must be 0 or 1, got 2$"),
        ([0, np.nan], [1, 2], "^clicks must be 0 or 1, got nan$"),
        ([0, 1], [0, 1], "^position must hold whole numbers from 1, got 0.* add 1 where"),
        ([0, 1], [2, 3], "^position must be ranks from 1"),
        ([0, 1], [1], "^position must be one rank for each of the 2 documents"),
        ([0, 1], [1, 2], "^clicks must hold one at position 1"),
    ],
)
def test_propensities_refuse_bad_logs(clicks, position, message):
    with pytest.raises(ValueError, match=message):
        propensities_from_randomization(clicks, position)
    with pytest.raises(ValueError, match=message):
        propensities_from_rankers(clicks, position, ["a", "a"])
