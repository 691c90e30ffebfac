"""Claims about RankNet, RankSVM, FRank, RankBoost and ListNet, beyond the common matrix."""

from itertools import permutations

import numba
import numpy as np
import oracle
import pytest
from boostrank.objectives import (
    FRank,
    GBRank,
    LambdaRank,
    ListNet,
    RankBoost,
    RankNet,
    RankSVM,
    Schedule,
)
from boostrank.objectives.engine import bisection, hinge

# The longest list that goes through all pairs, which take long in the interpreter.
DIRECT = 64 if numba.config.DISABLE_JIT else hinge.DIRECT
LEADS = (-60.0, -36.5, -5.0, -0.7, 0.0, 0.3, 1.0, 2.5, 18.0, 40.0, 200.0)
E36 = np.exp(36.0)


@pytest.fixture(autouse=True)
def soon_long(monkeypatch):
    """Where nothing is compiled, split lists sooner."""
    if numba.config.DISABLE_JIT:
        monkeypatch.setattr(hinge, "DIRECT", DIRECT)


def same(value, rel=1e-12, abs=0.0):
    """Compare with a relative tolerance only, however small the value."""
    return pytest.approx(value, rel=rel, abs=abs)


def two(objective, lead, what="loss"):
    """Return loss, pull on the better document or its Hessian for one pair with this lead."""
    query = [float(lead), 0.0], [1, 0], [2]
    if what == "loss":
        return objective.loss(*query)[0]
    grad, hess = objective.grad_hess(*query)
    # The better document second: 200 is further above the first than its exponentials reach.
    turned, _ = objective.grad_hess([0.0, float(lead)], [0, 1], [2])
    assert grad[0] == -grad[1] == same(turned[1])
    return -grad[0] if what == "pull" else hess[0]


def lists(rng):
    for _ in range(30):
        n = int(rng.integers(2, 12))
        grades = rng.integers(0, 4, n).astype(float)
        grades[:2] = 0.0, 3.0
        yield rng.normal(0, 2, n), grades, [n]


# ---- hand values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "tie", "pull", "curvature"),
    [
        (RankNet(), np.log(2), 1 / 2, 1 / 4),
        (RankNet(sigma=3.0), np.log(2), 3 / 2, 9 / 4),
        (RankSVM(), 1.0, 1.0, 1.0),
        (FRank(), 1 - np.sqrt(1 / 2), np.sqrt(1 / 2) / 4, np.sqrt(1 / 2) / 8),
        (RankBoost(), 1.0, 1.0, 1.0),
        (RankBoost(hessian="exact"), 1.0, 1.0, 1.0),
    ],
)
def test_a_tied_pair(objective, tie, pull, curvature):
    assert two(objective, 0.0) == same(tie, rel=1e-14)
    assert two(objective, 0.0, "pull") == same(pull, rel=1e-14)
    assert two(objective, 0.0, "hess") == same(curvature, rel=1e-14)


# ---- long lists ----------------------------------------------------------------------------------


def orders(rng, n):
    """Yield scores of every kind that might trouble a sort, a merge or a sum."""
    scores = rng.normal(size=n)
    yield scores
    yield np.sort(scores)
    yield -np.sort(-scores)
    yield np.concatenate((np.sort(scores[: n // 2]), -np.sort(-scores[n // 2 :])))
    yield scores.round(1)  # many leads at the margin itself, up to a rounding error
    yield (4 * scores).round() / 4  # exactly there
    yield np.where(scores > 0, 0.5, -0.75)
    yield np.full(n, 1 / 3)
    yield 30 * scores
    yield 18 * scores.round()  # many leads at RankBoost's seam
    yield 1e-12 * scores
    yield 1e12 * scores
    yield 1e17 + 64 * scores.round()  # a margin added to these is lost
    yield np.sign(scores) * 10 ** rng.uniform(-12, 12, n)


def grades_of_all_kinds(rng, n):
    yield rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.022, 0.008])
    yield rng.integers(0, 31, n)
    yield rng.integers(0, 2, n) + 99
    yield rng.integers(0, 9, n) / 2
    yield rng.permutation(n) / 7


@numba.njit
def new_bisection(grades):
    return bisection.new_bisection(grades)


def splits(grades):
    """Return where levels begin, and the bounds of every split."""
    # Python cannot call a helper of kernels, so it is taken as a Python function.
    halve = getattr(bisection.halve, "py_func", bisection.halve)
    cuts, waiting, found = new_bisection(grades), 1, []
    while waiting > 0:
        waiting, start, cut, stop = halve(cuts, waiting)
        if cut < stop:
            found.append((start, cut, stop))
    return cuts.begins, found


def test_grades_are_split_where_the_halves_are_most_even(rng):
    """A worse split would find the same pairs, but take longer."""
    n = 40
    for grades in grades_of_all_kinds(rng, n):
        begins, found = splits(grades.astype(float))
        assert found
        for start, cut, stop in found:
            cuts = np.array([at for at in n - begins if start < at < stop])
            assert abs(2 * cut - start - stop) == np.abs(2 * cuts - start - stop).min()


def all_pairs(cls, scores, grades):
    """Return loss, gradient, curvature and the sum of all pulls, by a table of the pairs."""
    lead = (scores[:, None] - scores).astype(np.longdouble)
    pair = grades[:, None] > grades
    if cls is RankBoost:
        pull = curvature = np.exp(-np.maximum(lead, -36)) * pair
        loss = pull * (1 + np.maximum(0, -36 - lead))
    else:
        lacking = (1.0 - lead.astype(float)) * pair
        curvature = (lacking > 0).astype(float)
        pull = lacking * curvature if cls is GBRank else curvature
        loss = lacking * pull / 2 if cls is GBRank else lacking * curvature
    strength = pull.sum(axis=0) + pull.sum(axis=1)
    grad = pull.sum(axis=0) - pull.sum(axis=1)
    return loss.sum(), grad, curvature.sum(axis=0) + curvature.sum(axis=1), strength


@pytest.mark.parametrize("cls", [GBRank, RankSVM, RankBoost])
@pytest.mark.parametrize(
    "n",
    [
        2,
        31,
        pytest.param(DIRECT, marks=pytest.mark.compiled),
        DIRECT + 1,
        pytest.param(400, marks=pytest.mark.compiled),
    ],
)
def test_sums_over_pairs_equal_a_visit_to_each(cls, n, rng):
    """On both sides of the length at which the hinges' form changes, and for all kinds of lists."""
    for grades in grades_of_all_kinds(rng, n):
        for scores in orders(rng, n):
            loss, grad, curvature, strength = all_pairs(cls, scores, grades)
            got, hess = cls().grad_hess(scores, grades, [n])
            assert (np.abs(got - grad) <= 1e-13 * strength + 1e-300).all()
            rtol = 1e-13 if cls is RankBoost else 0.0  # the others count pairs
            np.testing.assert_allclose(hess, np.maximum(curvature, oracle.FLOOR), rtol=rtol)
            assert cls().loss(scores, grades, [n])[0] == same(float(loss), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("cls", [GBRank, RankSVM, RankBoost])
@pytest.mark.parametrize("n", [DIRECT + 1, pytest.param(9001, marks=pytest.mark.compiled)])
def test_long_lists_are_averaged_over_all_their_pairs(cls, n, rng):
    scores = rng.normal(size=n)
    for grades in (rng.integers(0, 5, n), rng.permutation(n) / 64):
        pairs = (n**2 - (np.unique(grades, return_counts=True)[1] ** 2).sum()) // 2
        query = scores, grades, [n]
        assert cls(normalize=True).loss(*query)[0] == same(cls().loss(*query)[0] / pairs)
        mean, total = (cls(normalize=normalize).grad_hess(*query) for normalize in (True, False))
        np.testing.assert_allclose(mean[0], total[0] / pairs, rtol=1e-12)
        np.testing.assert_allclose(mean[1], np.maximum(total[1] / pairs, oracle.FLOOR), rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("cls", [GBRank, RankSVM, RankBoost])
def test_a_very_long_list(cls):
    """Grades 0 and 1 alternate over 100,000 documents, far too many for all pairs."""
    n = 100_000
    scores, grades = np.arange(n) / 4.0, np.arange(n) % 2
    grad, hess = cls().grad_hess(scores, grades, [n])
    middle = grades.nonzero()[0][n // 4]
    assert abs(grad.sum()) <= 1e-12 * np.abs(grad).sum()
    # Grade 0 is ahead by all odd multiples of 1/4 up to the end of the list.
    ahead = 0.25 + 0.5 * np.arange((n - middle) // 2)
    if cls is RankBoost:
        pull = np.exp(np.minimum(ahead, 36.0)).sum() + 1 / (2 * np.sinh(0.25))
        assert grad[middle] == same(-pull, rel=1e-11)
    else:  # and behind by less than 1 twice
        pull = (1 + ahead).sum() + 1.0 if cls is GBRank else len(ahead) + 2
        assert grad[middle] == same(-pull, rel=1e-11)
        assert hess[middle] == len(ahead) + 2


# ---- FRank ---------------------------------------------------------------------------------------


def test_frank_lies_between_zero_and_one():
    losses = [two(FRank(), lead) for lead in (-1e30, *LEADS, 1e30)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == 1.0
    assert losses[-1] == 0.0
    # For a pair in the right order, 1 - sqrt(P) is a series, not a difference near 1.
    assert two(FRank(), 40.0) == same(np.exp(-40.0) / 2, rel=1e-14)


def test_frank_is_bounded_by_the_ranknet_loss_that_its_default_hessian_is_of():
    for lead in LEADS:
        half_root = np.sqrt(oracle.G(1.0, -lead)) / 2
        pull = half_root * two(RankNet(), lead, "pull")
        assert two(FRank(), lead, "pull") == same(pull, rel=1e-12)
        curvature = max(oracle.FLOOR, half_root * oracle.G(1.0, lead) * oracle.G(1.0, -lead))
        assert two(FRank(), lead, "hess") == same(curvature, rel=1e-12)
        for step in (-9.0, -1.0, -0.1, 0.1, 1.0, 9.0):
            rise = half_root * (two(RankNet(), lead + step) - two(RankNet(), lead))
            at = two(FRank(), lead)
            # Of their sum hardly a digit may be left.
            assert two(FRank(), lead + step) <= at + rise + 1e-14 * (at + abs(rise))


# ---- RankBoost -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [-20.0, -35.999, -36.0, -36.001, -40.0, -1e3])
def test_rankboosts_gradient_is_exact_on_both_sides_of_the_seam(lead):
    h = 1e-4
    slope = (two(RankBoost(), lead + h) - two(RankBoost(), lead - h)) / (2 * h)
    assert two(RankBoost(), lead, "pull") == same(-slope, rel=1e-4)
    exact = two(RankBoost(hessian="exact"), lead, "hess")
    if lead >= -36.0:
        assert two(RankBoost(), lead) == same(np.exp(-lead), rel=1e-14)
        assert exact == same(np.exp(-lead), rel=1e-14)
        assert two(RankBoost(), lead, "hess") == exact
    else:
        assert two(RankBoost(), lead) == same(E36 * (1 - (lead + 36.0)), rel=1e-14)
        assert exact == oracle.FLOOR
        assert two(RankBoost(), lead, "hess") == same(E36, rel=1e-14)


# ---- ListNet -------------------------------------------------------------------------------------


def test_listnets_probability_is_that_of_being_ranked_first(rng):
    """The sum over all rankings of the Plackett-Luce model that begin with a document."""
    scores = rng.normal(0, 1.5, 5)
    first = np.zeros(5)
    for ranking in permutations(range(5)):
        powers = np.exp(scores[list(ranking)])
        first[ranking[0]] += np.prod(powers / np.cumsum(powers[::-1])[::-1])
    grad, hess = ListNet().grad_hess(scores, [0, 0, 2, 1, 0], [5])
    np.testing.assert_allclose(first - grad, oracle.softmax([0, 0, 2, 1, 0]), rtol=1e-12)
    np.testing.assert_allclose(hess, first * (1 - first), rtol=1e-12)


def test_listnet_is_smallest_where_scores_are_grades(rng):
    for scores, grades, group in lists(rng):
        p = np.array(oracle.softmax(grades))
        entropy = -(p * np.log(p)).sum()
        grad, _ = ListNet().grad_hess(grades + 5.0, grades, group)
        assert np.abs(grad).max() < 1e-15
        assert ListNet().loss(grades + 5.0, grades, group)[0] == same(entropy, rel=1e-12)
        assert ListNet().loss(scores, grades, group)[0] > entropy
        # Appendix 7.9 of SLAM: whatever the length of the list.
        assert np.abs(ListNet().grad_hess(scores, grades, group)[0]).sum() <= 2.0


def test_listnet_of_two_documents_far_apart_in_grade_is_ranknet():
    query = [1000, 0], [2]
    for lead in LEADS:
        assert ListNet().loss([lead, 0.0], *query)[0] == same(two(RankNet(), lead), rel=1e-13)
        grad, hess = ListNet().grad_hess([lead, 0.0], *query)
        assert grad[1] == same(two(RankNet(), lead, "pull"), rel=1e-13)
        # The Hessian of the leading document is not a difference near 1 either.
        assert hess[0] == same(two(RankNet(), lead, "hess"), rel=1e-13)
        assert hess[1] == same(two(RankNet(), lead, "hess"), rel=1e-13)


def test_listnet_refuses_grades_whose_exponentials_are_no_numbers():
    for call in (ListNet().loss, ListNet().grad_hess):
        with pytest.raises(ValueError, match=r"between 0 and 1000, got 1001\.0 .* such as RankNet"):
            call([0.0, 0.0], [0.0, 1001.0], [2])


def test_ranknet_refuses_two_factors_for_a_query():
    with pytest.raises(ValueError, match=r"^norm and normalize must not both be True"):
        RankNet(norm=True, normalize=True)


def test_what_takes_quadratic_time_says_so():
    """Without a fit for sigma times offset, long queries take all pairs."""
    flat = {"norm": True, "sigma": 0.005}
    rising = {"norm": True, "sigma": Schedule(lambda m, M: 0.05 * m / M, 9)}
    for cls in (RankNet, LambdaRank):
        for parameters, cost in (
            ({"norm": True}, "O(n)"),
            (flat, "O(n^2)"),
            (rising, "O(n^2)"),
            (flat | {"norm": False}, "O(n)"),
        ):
            assert str(cls(**parameters).contract.cost) == cost
    for more in ({}, {"target": "map"}):
        assert str(LambdaRank(truncation=5, **flat, **more).contract.cost) == "O(n k)"
