"""Claims about SoftNDCG (He, Liu), directness, and SLAM (Chaudhuri, Tewari)."""

import math
from itertools import pairwise, permutations, product

import numpy as np
import oracle
import pytest
from boostrank.objectives import SLAM, SoftNDCG
from scipy.special import erfinv

import boostrank
from boostrank.directness import directness, soft_ndcg_bound

MEASURES = ("ndcg", "ndcg@1", "ndcg@3", "ndcg@10", "map")
D2 = 1 / math.log2(3)  # the discount of rank 2; that of rank 3 is 1/2
Z = 3 + D2  # the ideal DCG of grades 2, 1, 0


def random_query(rng, n_grades=4, ties=False):
    """Return scores and grades with something to rank."""
    n = int(rng.integers(2, 14))
    while True:
        grades = rng.integers(0, n_grades, n).astype(float)
        if len(set(grades)) > 1:
            break
    scores = rng.normal(0, rng.choice([0.01, 0.5, 2.0]), n)
    return scores.round(1) if ties else scores, grades


def one_minus(measure, scores, grades):
    value = boostrank.evaluate(scores, grades, [len(scores)], (measure,), per_query=True)
    return 1.0 - value[measure][0]


# ---- SoftNDCG ------------------------------------------------------------------------------------


def losses_of_one_relevant_document(scores, sigma):
    """Return the loss with document j as the only relevant one, for every j: 1 - E[discount]."""
    n = len(scores)
    return SoftNDCG(sigma=sigma).loss(np.tile(scores, n), np.eye(n).ravel(), np.full(n, n))


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("n", [2, 7, 60])
def test_rank_distributions_equal_the_oracles(n, sigma, rng):
    scores = rng.normal(size=n)
    chances = [oracle._chances(scores, j, sigma).values() for j in range(n)]
    want = [1.0 - oracle.expected_discount(c) for c in chances]
    np.testing.assert_allclose(losses_of_one_relevant_document(scores, sigma), want, atol=1e-13)
    # They are distributions whose mean is the sum of the chances to be beaten. Over all documents,
    # each pair adds one to it.
    p = np.array([oracle.rank_distribution(c) for c in chances])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(p @ np.arange(n), [sum(c) for c in chances], atol=1e-12)
    assert (p @ np.arange(n)).sum() == pytest.approx(n * (n - 1) / 2)


def test_rank_distribution_by_counting_all_outcomes():
    """Three documents: the four outcomes of the first one's duels with the two others, by hand."""
    scores, sigma = [0.0, 0.4, -0.3], 0.6
    b, c = (oracle.beats(s, sigma) for s in scores[1:])
    chances = [(1 - b) * (1 - c), b * (1 - c) + (1 - b) * c, b * c]
    by_hand = 1.0 - sum(p / math.log2(2 + r) for r, p in enumerate(chances))
    assert losses_of_one_relevant_document(scores, sigma)[0] == pytest.approx(by_hand, rel=1e-14)


def test_the_chance_to_beat_is_that_of_two_blurred_scores(rng):
    lead, sigma, draws = 0.7, 0.9, 200_000
    ahead = (lead + sigma * rng.normal(size=draws) > sigma * rng.normal(size=draws)).mean()
    assert oracle.beats(lead, sigma) == pytest.approx(ahead, abs=5 * 0.5 / math.sqrt(draws))
    # One relevant document of two: NDCG is 1 when it is ahead, else 1/log2(3).
    loss = SoftNDCG(sigma=sigma).loss([lead, 0.0], [1, 0], [2])[0]
    by_hand = oracle.beats(-lead, sigma) * (1 - 1 / math.log2(3))
    assert loss == pytest.approx(by_hand, rel=1e-12)


def test_without_blur_it_is_one_minus_ndcg(rng):
    for _ in range(50):
        scores, grades = random_query(rng)
        n = len(scores)
        scores = rng.permutation(n) / n  # no ties
        loss = SoftNDCG(sigma=1e-3).loss(scores, grades, [n])[0]
        assert loss == pytest.approx(one_minus("ndcg", scores, grades), abs=1e-14)
        grad, hess = SoftNDCG(sigma=1e-3).grad_hess(scores, grades, [n])
        assert not grad.any()
        assert (hess == oracle.FLOOR).all()


@pytest.mark.parametrize("sigma", [0.5, 1e-6])  # with 1e-6, Hessians stay above the floor
def test_documents_far_apart_keep_the_gaussian_gradient(sigma):
    """Two documents of gain 1 and 0: the gradient is the Gaussian density, down to underflow."""
    for lead in sigma * np.array([0.0, 2.0, 12.0, 30.0, 52.0]):
        density = math.exp(-((lead / (2 * sigma)) ** 2)) / (2 * sigma * math.sqrt(math.pi))
        pull = (1 - 1 / math.log2(3)) * density
        for sign in (1, -1):
            grad, hess = SoftNDCG(sigma=sigma).grad_hess([sign * lead, 0.0], [1, 0], [2])
            np.testing.assert_allclose(grad, [-pull, pull], rtol=1e-12)
            curvature = max(pull / (sigma * math.sqrt(math.pi)), oracle.FLOOR)
            np.testing.assert_allclose(hess, curvature, rtol=1e-12)


# ---- directness ----------------------------------------------------------------------------------


def test_theorem_2_speaks_where_the_paper_says():
    for n, share in product((6, 10, 100), (0.1, 0.2, 0.25, 0.3, 0.4, 1.0)):
        condition = share < 1 / (2 * erfinv(math.sqrt((n - 2) / (n - 1))))
        assert math.isfinite(soft_ndcg_bound(share * 3.0, 3.0, n, 3)) == condition
    # By hand, where it does: N = 10, K = 3, delta = 2, sigma = 1/2.
    e1 = 9 * 0.5 / (2 * 2 * math.sqrt(math.pi)) * math.exp(-4)
    e3 = 1 - math.erf(2) ** 2
    e2 = math.sqrt(e3 / (1 - 5 * e3)) + 5 * e3
    assert soft_ndcg_bound(0.5, 2.0, 10, 3) == pytest.approx(4 * 10 * (e1 + e2), rel=1e-12)
    grows = [soft_ndcg_bound(s, 1.0, 10, 3) for s in (0.05, 0.1, 0.2, 0.25)]
    assert all(a < b for a, b in pairwise(grows))


def test_epsilon_1_alone_is_enough(rng):
    """The shorter proof that `boostrank.directness` gives: no condition on sigma is needed."""
    for _ in range(100):
        scores, grades = random_query(rng)
        n, delta = len(scores), np.diff(np.sort(scores)).min()
        for share in (0.1, 0.5, 2.0):
            e1 = (n - 1) * share / (2 * math.sqrt(math.pi)) * math.exp(-1 / (4 * share**2))
            far = directness(SoftNDCG(sigma=share * delta), scores, grades, [n]).epsilon
            assert far <= n * e1 + 1e-14


def test_directness_is_the_largest_difference(rng):
    group = [5, 3, 0, 1, 4, 3]
    scores = rng.normal(size=sum(group))
    labels = np.array([2, 0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 0, 0, 1, 1, 1.0])
    result = directness(SoftNDCG(), scores, labels, group)
    loss = SoftNDCG().loss(scores, labels, group)
    ndcg = boostrank.evaluate(scores, labels, group, ("ndcg",), per_query=True)["ndcg"]
    counted = [0, 1]  # in the others there is nothing to rank
    np.testing.assert_allclose(result.differences[counted], abs(loss - (1 - ndcg))[counted])
    assert np.isnan(np.delete(result.differences, counted)).all()
    assert result.epsilon == result.differences[counted].max()
    assert math.isnan(directness(SoftNDCG(), [1.0], [1], [1]).epsilon)
    # All are relevant: it was 1, although every order has an AP of 1.
    assert math.isnan(directness(boostrank.SmoothAP(), [1.0, 0.0], [1, 2], [2], "map").epsilon)
    other = directness(SoftNDCG(sigma=3.0), scores, labels, group)
    assert result.guarantee(other) == 2 * result.epsilon + other.epsilon  # theorem 1
    with pytest.raises(ValueError, match=r"'ndgc'.*'ndcg'"):
        directness(SoftNDCG(), scores, labels, group, "ndgc")


def test_a_sharp_surrogate_is_direct(rng):
    scores, labels = rng.permutation(60) / 6.0, rng.integers(0, 3, 60).astype(float)
    group = [20, 20, 20]
    blunt = directness(boostrank.SDCG(discount="log2"), scores, labels, group).epsilon
    sharp = boostrank.SDCG(alpha=300.0, discount="log2")
    assert directness(sharp, scores, labels, group).epsilon < 1e-8 < blunt
    unnormalised = sharp.replace(normalize=False)
    assert directness(unnormalised, scores, labels, group, "dcg").epsilon < 1e-8
    amounts = sharp.replace(gain="linear")
    assert directness(amounts, scores, 5000.0 * labels, group).epsilon < 1e-8


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sigma": 0.0}, ValueError, "sigma must be a positive"),
        ({"delta": -1.0}, ValueError, "delta must be a positive"),
        ({"n_docs": 0}, ValueError, "n_docs must be at least 1"),
        ({"n_grades": 2.5}, TypeError, "n_grades must be a whole number"),
        ({"n_grades": 0, "sigma": 1.0}, ValueError, "n_grades must be at least 1"),  # no theorem
    ],
)
def test_bad_arguments_of_the_bound(change, error, message):
    with pytest.raises(error, match=message):
        soft_ndcg_bound(**{"sigma": 0.1, "delta": 1.0, "n_docs": 10, "n_grades": 3, **change})


# ---- SLAM ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_the_loss_bounds_the_measure_on_every_order_of_short_lists(measure):
    """The gaps are so small that every hinge is one: the bound is at its closest."""
    orders = np.array(list(permutations(range(4))))
    lists = [grades for grades in product((0.0, 1.0, 2.0), repeat=4) if len(set(grades)) > 1]
    scores = np.tile(1e-9 * orders.ravel(), len(lists))
    grades = np.repeat(lists, len(orders), axis=0).ravel()
    group = np.full(len(lists) * len(orders), 4)
    loss = SLAM(measure=measure).loss(scores, grades, group)
    value = boostrank.evaluate(scores, grades, group, (measure,), per_query=True)[measure]
    assert (loss >= 1.0 - value - 1e-8).all()


@pytest.mark.parametrize(
    ("grades", "measure", "by_hand"),
    [
        ([2, 1, 0], "ndcg", [3 * (1 - 1 / 2) / Z, 1 * (D2 - 1 / 2) / Z, 0]),
        ([2, 1, 0], "ndcg@1", [1, 0, 0]),
        ([2, 1, 0], "ndcg@5", [3 / Z, D2 / Z, 0]),
        ([1, 1, 0, 0], "map", [1 / 2 - 1 / (2 * 3), 1 / 2 - 2 / (2 * 4), 0, 0]),
    ],
)
def test_weights_by_hand(grades, measure, by_hand):
    """With all scores equal every hinge is one: the loss is the sum of the weights."""
    np.testing.assert_allclose(oracle.slam_weights(grades, measure), by_hand, rtol=1e-14)
    loss = SLAM(measure=measure).loss(np.zeros(len(grades)), grades, [len(grades)])
    np.testing.assert_allclose(loss, [sum(by_hand)], rtol=1e-14)


def test_the_map_weights_are_the_smallest_possible():
    """(8): with all irrelevant documents just above the last m relevant ones, the bound is met."""
    for n_relevant, n in ((1, 2), (2, 5), (4, 6)):
        grades = np.array([1.0] * n_relevant + [0.0] * (n - n_relevant))
        for right in range(n_relevant):
            # The first `right` ones lead by a wide margin, the others trail by almost nothing.
            scores = np.zeros(n)
            scores[:right] = 10.0 - np.arange(right)
            scores[right:n_relevant] = -1e-9 * np.arange(1, n_relevant - right + 1)
            loss = SLAM(measure="map").loss(scores, grades, [n])[0]
            assert loss == pytest.approx(one_minus("map", scores, grades), abs=1e-7)


def test_a_ranking_right_by_the_margin_costs_nothing():
    grades = np.array([0.0, 2, 1, 2, 0])
    for measure, margin in product(MEASURES, (0.5, 1.0, 3.0)):
        objective = SLAM(measure=measure, margin=margin)
        assert objective.loss(margin * grades, grades, [5])[0] == 0.0
        assert not objective.grad_hess(margin * grades, grades, [5])[0].any()
        assert objective.loss(0.9 * margin * grades, grades, [5])[0] > 0


def test_the_l1_norm_of_the_gradient_is_at_most_two(rng):
    """Section 6: Lipschitz with a constant that does not grow with the list."""
    for n in (2, 30, 1000):
        scores, grades = rng.normal(size=n), rng.integers(0, 3, n)
        for measure in MEASURES:
            assert (
                np.abs(SLAM(measure=measure).grad_hess(scores, grades, [n])[0]).sum() <= 2.0 + 1e-15
            )


def test_scaling_scores_and_margin(rng):
    scores, grades = random_query(rng)
    n = [len(scores)]
    one, three = SLAM(hessian="gauss-newton"), SLAM(margin=3.0, hessian="gauss-newton")
    np.testing.assert_allclose(three.loss(3 * scores, grades, n), 3 * one.loss(scores, grades, n))
    grad, hess = one.grad_hess(scores, grades, n)
    got = three.grad_hess(3 * scores, grades, n)
    np.testing.assert_allclose(got, (grad, hess / 3), rtol=1e-12, atol=2 * oracle.FLOOR)
    # A Newton step is at most one margin.
    for objective, s in ((one, scores), (three, 3 * scores)):
        grad, hess = objective.grad_hess(s, grades, n)
        assert (np.abs(grad) <= objective.margin * hess * (1 + 1e-12)).all()


# ---- one class, two names ------------------------------------------------------------------------


def test_both_names_make_the_one_class():
    assert {"slam-ndcg", "slam-map"} <= set(boostrank.objective_names())
    assert boostrank.objective("slam-ndcg") == boostrank.SLAM()
    assert boostrank.objective("slam-map") == boostrank.SLAM(measure="map")
    made = boostrank.objective("slam-map", margin=2.0)
    assert made == boostrank.SLAM(measure="map", margin=2.0)
    assert made.name == "slam-map"
    assert boostrank.objective("slam-ndcg", measure="ndcg@10").measure == "ndcg@10"
    assert boostrank.SLAM(measure="ndcg@10").name == "slam-ndcg"
    assert made.replace(measure="ndcg").name == "slam-ndcg"


def test_a_name_and_a_measure_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match=r"measure='ndcg', .* is not 'slam-map' but 'slam-ndcg'"):
        boostrank.objective("slam-map", measure="ndcg")
    with pytest.raises(ValueError, match="is not 'slam-ndcg' but 'slam-map'"):
        boostrank.objective("slam-ndcg", measure="map")
    with pytest.raises(ValueError, match="did you mean 'slam-"):
        boostrank.objective("slam")
