"""What Chapelle and Wu claim about the smoothed metrics holds for the compiled code."""

import numpy as np
import oracle
import pytest
from boostrank.objectives import Schedule, SmoothAP, SmoothNDCG, SmoothPrecision
from boostrank.objectives.engine.soft_indicators import BAND
from oracle import discount

SMOOTHED = [
    SmoothNDCG(),
    SmoothNDCG(k=3, normalize=False),
    SmoothNDCG(k=None),
    SmoothPrecision(k=3),
    SmoothPrecision(),
    SmoothAP(),
]
INDICATORS = [o for o in SMOOTHED if not isinstance(o, SmoothAP)]
every_objective = pytest.mark.parametrize("objective", SMOOTHED, ids=repr)
every_indicator = pytest.mark.parametrize("objective", INDICATORS, ids=repr)


def example(rng, n, *, apart=0.0):
    """Return scores at least `apart` from each other, and grades with and without relevance."""
    scores = np.cumsum(rng.uniform(apart, apart + 0.5, n))
    grades = rng.integers(0, 4, n).astype(float)
    grades[:2] = 0.0, 2.0
    order = rng.permutation(n)
    return scores[order] - scores.mean(), grades[rng.permutation(n)]


def exact_measure(objective, scores, grades):
    """Return the metric that the loss smooths, from ranks alone."""
    if isinstance(objective, SmoothNDCG):
        z = oracle.ideal_dcg(grades, objective.k) if objective.normalize else 1.0
        return oracle.dcg(scores, grades, objective.k) / z
    name = f"precision@{objective.k}" if isinstance(objective, SmoothPrecision) else "map"
    ranked = np.asarray(grades)[np.argsort(-np.asarray(scores), kind="stable")]
    return oracle.measured(name, ranked.tolist())


def gains_and_weight(objective, grades):
    """Return a, and the sum of b, of the loss -sum_ij a_i b_j h_ij."""
    top = min(len(grades), objective.k or len(grades))
    if isinstance(objective, SmoothPrecision):
        return (grades > 0).astype(float), top / objective.k
    z = oracle.ideal_dcg(grades, objective.k) if objective.normalize else 1.0
    return (2.0**grades - 1.0) / z, sum(discount(j) for j in range(1, top + 1))


# ---- section 4.1: the soft indicators ------------------------------------------------------------


def test_relevant_and_irrelevant_documents_share_every_rank(rng):
    """Columns sum to one in lists of any length: precision of y and of not y fill k ranks."""
    for n in (5, 40, 300):
        scores, grades = example(rng, n)
        for k in (1, 7, 60):
            objective = SmoothPrecision(k=k, sigma=0.5)
            both = objective.loss(scores, grades, [n]) + objective.loss(scores, grades == 0, [n])
            np.testing.assert_allclose(both, -min(k, n) / k, rtol=1e-13)


@every_indicator
@pytest.mark.parametrize("sigma", [0.2, 2.0])
def test_proposition_1_losses_are_continuous_at_ties(objective, sigma):
    objective = objective.replace(sigma=sigma)
    grades = [0.0, 3.0, 1.0, 0.0]
    for tied in ([0.5, 0.5, 0.1, 0.9], [0.5, 0.5, 0.5, 0.1], [0.2] * 4):
        at = objective.loss(tied, grades, [4])[0]
        for moved in range(4):
            for by in (-1e-9, 1e-9):
                near = list(tied)
                near[moved] += by
                assert objective.loss(near, grades, [4])[0] == pytest.approx(at, abs=1e-7)


def test_remark_1_slopes_differ_on_the_two_sides_of_a_tie():
    scores, grades = [0.5, 0.5, 0.0], [3.0, 0.0, 1.0]

    def slope(by):
        return SmoothNDCG().grad_hess([0.5 + by, *scores[1:]], grades, [3])[0][0]

    assert slope(1e-12) == pytest.approx(slope(1e-9), abs=1e-7)
    assert slope(-1e-12) == pytest.approx(slope(-1e-9), abs=1e-7)
    assert abs(slope(1e-12) - slope(-1e-12)) > 1e-2
    # At the tie itself: ranked in input order, the first of them on top.
    assert slope(0.0) == pytest.approx(slope(1e-12), abs=1e-9)


# ---- section 5.1: the limit ----------------------------------------------------------------------


@every_objective
def test_a_small_sigma_gives_the_exact_measure(objective, rng):
    for _ in range(20):
        n = int(rng.integers(2, 15))
        scores, grades = example(rng, n, apart=0.2)
        loss = objective.replace(sigma=1e-3).loss(scores, grades, [n])[0]
        assert loss == pytest.approx(-exact_measure(objective, scores, grades), rel=1e-12, abs=0)


def average_precision_error(scores, grades, **changes):
    smooth = -oracle.smooth_ap(scores, grades, sigma=1e-4, **changes)
    return abs(smooth - exact_measure(SmoothAP(), scores, grades))


def test_equation_9_tends_to_ap_only_with_the_erratum_corrected(rng):
    for _ in range(10):
        n = int(rng.integers(2, 12))
        scores, grades = example(rng, n, apart=0.1)
        assert average_precision_error(list(scores), list(grades)) < 1e-12
        # As printed: each relevant document lacks 1/2 of its own rank's share.
        printed = average_precision_error(list(scores), list(grades), own=0.5)
        rank = np.array(oracle.ranks(scores), dtype=float)
        assert printed == pytest.approx(np.mean(0.5 / rank[grades > 0]), rel=1e-9)


# ---- section 4.3: the gradient -------------------------------------------------------------------


@every_indicator
def test_a_newton_step_is_at_most_the_steepest_distance(objective, rng):
    for sigma in (0.1, 3.0):
        scores, grades = example(rng, 30)
        grad, hess = objective.replace(sigma=sigma).grad_hess(scores, grades, [30])
        assert (hess > 1e-9).any()
        assert (np.abs(grad / hess) <= np.sqrt(sigma / 2.0) * (1.0 + 1e-12)).all()


# ---- parameters and grades -----------------------------------------------------------------------


def test_precision_has_a_cut_off():
    with pytest.raises(TypeError, match="k must be a whole number of at least 1, got None"):
        SmoothPrecision(k=None)


@every_objective
def test_only_relevance_counts_where_the_measure_is_binary(objective, rng):
    scores, grades = example(rng, 12)
    one = objective.loss(scores, grades, [12])
    other = objective.loss(scores, 3.0 * (grades > 0), [12])
    assert (one == other) == (not isinstance(objective, SmoothNDCG))
    if not isinstance(objective, SmoothNDCG):  # no order among relevant documents to learn
        grad, _ = objective.grad_hess(scores, grades + 1.0, [12])
        assert not grad.any()
        assert objective.loss(scores, grades + 1.0, [12])[0] == 0.0


# ---- the band ------------------------------------------------------------------------------------


def of_the_oracle(objective, scores, grades, **options):
    """Return the oracle's loss for an objective's parameters."""
    parameters = {f: getattr(objective, f) for f in ("k", "normalize") if hasattr(objective, f)}
    return oracle.ORACLES[objective.name].loss(list(scores), list(grades), **parameters, **options)


@every_indicator
def test_the_band_leaves_out_only_negligible_terms(objective, rng):
    """Compared with the whole sum, where many pairs are outside the band."""
    assert np.exp(-BAND) < 1e-16
    n = 40
    scores, grades = example(rng, n)
    for sigma in (0.01, 0.1, 0.5):
        outside = (scores[:, None] - scores) ** 2 / sigma > BAND
        assert outside.mean() > 0.3
        want = of_the_oracle(objective, scores, grades, sigma=sigma, band=np.inf)
        got = objective.replace(sigma=sigma).loss(scores, grades, [n])[0]
        assert got == pytest.approx(want, rel=1e-14)


@every_indicator
def test_the_band_moves_down_over_gaps_and_ties(objective, rng):
    """Compared with the oracle, for groups of tied documents, most outside each other's band."""
    for step in (0.0, 0.5, np.sqrt(BAND), np.sqrt(BAND) * (1 + 1e-15), 9.0):
        scores = step * rng.integers(-6, 7, 40)
        grades = rng.integers(0, 4, 40)
        want = of_the_oracle(objective, scores, grades, sigma=1.0)
        got = objective.loss(scores, grades, [40])[0]
        assert got == pytest.approx(want, rel=1e-14)


@every_objective
def test_a_sigma_whose_reciprocal_is_infinite_is_refused(objective):
    """The kernels multiply 1/sigma by 0, the distance of a document from itself."""
    scores, grades = [0.5, -3.0, 0.5, 2.0, 6.0], [1, 0, 0, 2, 0]
    for sigma in (5e-324, 1e-310, 1e-308):
        with pytest.raises(ValueError, match="sigma must be at least 1e-300"):
            objective.replace(sigma=sigma)
        fading = objective.replace(sigma=Schedule("geometric", 4, first=1.0, last=sigma))
        assert np.isfinite(fading.loss(scores, grades, [5], round=1)).all()
        with pytest.raises(ValueError, match="sigma must be at least"):
            fading.loss(scores, grades, [5], round=4)
    least = objective.replace(sigma=1e-300).loss(scores, grades, [5])
    np.testing.assert_allclose(least, objective.replace(sigma=1e-9).loss(scores, grades, [5]))


def test_the_series_for_gaussians_is_as_good_as_an_exponential():
    """One document with a gain: h_2 is e/(1 + e) at rank 1, over all of the band."""
    for gap in np.arange(1, int(1024 * np.sqrt(BAND)), 3) / 1024:  # whose squares are exact
        e = np.exp(-(gap**2))
        objective = SmoothNDCG(k=1)
        share = -objective.loss([gap, 0.0], [0, 1], [2])[0]
        assert share == pytest.approx(e / (1 + e), rel=3e-15, abs=0)


@every_objective
def test_results_do_not_depend_on_where_arrays_lie_in_memory(objective, rng):
    """A short list may run in vectors or not. If that reordered sums, last bits would differ."""
    scores, grades = example(rng, 12)
    seen, held = set(), []
    for size in rng.integers(1, 40, 400):
        held.append(np.empty(size))  # moves what the kernels allocate
        grad, hess = objective.grad_hess(scores, grades, [12])
        seen.add((grad.tobytes(), hess.tobytes(), objective.loss(scores, grades, [12]).tobytes()))
    assert len(seen) == 1


# ---- where boosting begins -----------------------------------------------------------------------


@every_indicator
def test_where_all_scores_are_equal_a_regression_begins(objective):
    """(10) is zero there for any grades: the loss does not change to first order."""
    grades = np.array([0.0, 3.0, 1.0, 0.0, 1.0])
    at = objective.loss(np.zeros(5), grades, [5])[0]
    direction = np.array([0.3, -1.0, 0.7, 0.2, -0.4])
    for step in (1e-4, -1e-4):
        assert objective.loss(step * direction, grades, [5])[0] == pytest.approx(at, abs=1e-6)
    objective = objective.replace(sigma=4.0)
    grad, hess = objective.grad_hess(np.full(5, 0.7), grades, [5])
    a, b = gains_and_weight(objective, grades)
    # As strong as the pull of each rank where it is steepest, sqrt(sigma / 2) away.
    steepest = np.sqrt(0.5) * np.exp(-0.5)
    np.testing.assert_allclose(grad, -steepest * b * (a - a.mean()) / 5, rtol=1e-12)
    assert grad[1] < 0  # boosting adds -grad: relevant documents go up
    # One Newton step moves the document farthest from the mean by 30 widths sqrt(sigma).
    assert np.abs(grad / hess).max() == pytest.approx(30.0 * 2.0, rel=1e-12)
    assert (hess == hess[0]).all()
    # Nothing else is touched: where one score differs, it is (10) again.
    near = objective.grad_hess([0.7, 0.7, 0.7, 0.7, 0.7 + 1e-9], grades, [5])[0]
    assert np.abs(near).max() < 1e-6


@every_objective
def test_only_scores_relative_to_sigma_matter(objective):
    """So boosting from equal scores does not depend on sigma: lemma 1 without a penalty."""
    grades = np.array([0.0, 3.0, 1.0, 0.0, 1.0])
    scores = np.array([0.1, -0.2, 0.4, 0.9, -0.3])
    sigma = 3.0 if isinstance(objective, SmoothAP) else 9.0
    for at in (np.zeros(5), scores):
        one = objective.replace(sigma=1.0).grad_hess(at, grades, [5])
        two = objective.replace(sigma=sigma).grad_hess(3.0 * at, grades, [5])
        np.testing.assert_allclose(two[0], one[0] / 3.0, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(two[1], one[1] / 9.0, rtol=1e-12)
