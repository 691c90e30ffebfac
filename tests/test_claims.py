"""What the papers claim about the objectives holds, for the formulas and for the compiled code."""

from itertools import product

import numpy as np
import oracle
import pytest
from boostrank.objectives import SDCG, SHFSDCG, QueryRMSE, Regression, RegSHFSDCG
from scipy.integrate import quad

ALPHAS = (0.5, 1.0, 3.0)
LEADS = (-20.0, -3.0, -0.4, 0.4, 3.0)


def rank_slopes(rank_function, lead, alpha, step=1e-6):
    """Return how each smooth rank of a pair grows with the lead: with the better one's score."""
    ahead, behind = (np.array(rank_function([lead + h, 0.0], [2, 1], alpha)) for h in (step, -step))
    return (ahead - behind) / (2 * step)


def two(objective, lead, grades=(2.0, 1.0)):
    """Return the gradient of a query of two documents, the better one `lead` ahead."""
    return objective.grad_hess([lead, 0.0], list(grades), [2])[0]


def cost_slopes(rank_function, lead, alpha, grades=(2.0, 1.0)):
    """Return c_1, c_2: how the loss of the paper's discount grows with each smooth rank."""
    z = oracle.ideal_dcg(grades)
    r = rank_function([lead, 0.0], grades, alpha)
    return [
        oracle._slope_of_rank(rank, grade, z, 1.0, None, "log2")
        for rank, grade in zip(r, grades, strict=True)
    ]


# ---- section 3.1: what is wrong with SDCG --------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("lead", LEADS)
def test_equation_11_sdcgs_two_ranks_pull_against_each_other(alpha, lead):
    r1, r2 = rank_slopes(oracle.sdcg_ranks, lead, alpha)
    assert r1 == pytest.approx(-r2, rel=1e-6, abs=1e-9)
    # So the public gradient holds the difference of the two costs.
    c1, c2 = cost_slopes(oracle.sdcg_ranks, lead, alpha)
    pull = (c1 - c2) * oracle.dG(alpha, lead)
    np.testing.assert_allclose(
        two(SDCG(alpha=alpha, discount="log2"), lead), [pull, -pull], rtol=1e-10
    )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("lead", [-0.01, -0.4, -3.0, -20.0, -700.0])
def test_equation_16_a_wrong_pair_moves_both_ranks_by_a_quarter_of_alpha(alpha, lead):
    r1, r2 = rank_slopes(oracle.shf_ranks, lead, alpha)
    assert r1 == pytest.approx(r2, rel=1e-6)
    assert abs(r1) == pytest.approx(alpha / 4, rel=1e-6)
    c1, c2 = cost_slopes(oracle.shf_ranks, lead, alpha)
    assert c1 > 0
    assert c2 > 0
    pull = (c1 + c2) * alpha / 4
    got = two(SHFSDCG(alpha=alpha, discount="log2"), lead)
    np.testing.assert_allclose(got, [-pull, pull], rtol=1e-10)


def test_sdcgs_gradient_of_a_badly_wrong_pair_vanishes_and_shfs_does_not():
    for lead in (-25.0, -100.0, -1e4):
        sdcg, shf = abs(two(SDCG(), lead)[0]), abs(two(SHFSDCG(), lead)[0])
        assert sdcg < 1e-6 * shf
    # SHF-SDCG's falls only as the discount does at a growing rank, not exponentially.
    assert abs(two(SHFSDCG(discount="log2"), -1e4)[0]) > 1e-9
    # It does not fall at all where the cost is linear in the rank.
    assert two(SHFSDCG(), -1e4)[0] == pytest.approx(two(SHFSDCG(), -25.0)[0], rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_hinge_is_smooth_at_zero_with_the_minus_sign_only(alpha):
    h = 1e-7

    def printed(x):
        return oracle.G(alpha, x) if x >= 0 else 0.5 + alpha / 4 * x

    assert oracle.A(alpha, -1e-13) == pytest.approx(oracle.A(alpha, 0.0))
    right = (oracle.A(alpha, h) - oracle.A(alpha, 0.0)) / h
    assert right == pytest.approx(-alpha / 4, rel=1e-5)
    assert (oracle.A(alpha, 0.0) - oracle.A(alpha, -h)) / h == pytest.approx(right, rel=1e-5)
    assert (printed(0.0) - printed(-h)) / h == pytest.approx(-right, rel=1e-5)
    # In the compiled code: the gradient is continuous where the pair changes order.
    gradients = [two(SHFSDCG(alpha=alpha), lead) for lead in (-1e-9, 0.0, 1e-9)]
    np.testing.assert_allclose(gradients, gradients[1:2] * 3, rtol=1e-7)
    assert gradients[1][0] < 0


# ---- limits --------------------------------------------------------------------------------------


def test_well_separated_right_pairs_have_their_true_ranks():
    assert oracle.A(1.0, 40.0) == pytest.approx(0.0, abs=1e-15)
    assert oracle.B(1.0, -40.0) == pytest.approx(1.0, abs=1e-15)
    scores, grades = [-40.0, 120.0, 40.0, 80.0, 0.0], [0.0, 4.0, 2.0, 2.0, 1.0]
    for smooth in (oracle.sdcg_ranks, oracle.shf_ranks):
        np.testing.assert_allclose(smooth(scores, grades, 1.0), oracle.ranks(scores), rtol=1e-14)
    for cls in (SDCG, SHFSDCG):
        assert cls(discount="log2").loss(scores, grades, [5])[0] == pytest.approx(-1.0, rel=1e-12)
        loss = cls(normalize=False, discount="log2").loss(scores, grades, [5])[0]
        assert loss == pytest.approx(-oracle.dcg(scores, grades), rel=1e-12)


def test_a_steep_sdcg_is_ndcg(rng):
    for _ in range(20):
        n = int(rng.integers(2, 12))
        scores, grades = rng.permutation(n) / 10.0, rng.integers(0, 4, n).astype(float)
        grades[0] = 4.0  # something to rank
        ndcg = oracle.dcg(scores, grades) / oracle.ideal_dcg(grades)
        paper = SDCG(alpha=1e4, discount="log2")
        assert paper.loss(scores, grades, [n])[0] == pytest.approx(-ndcg, rel=1e-12)
        # A steep cut-off gives NDCG@k, except for the document at rank k itself, whose W is 1/2.
        k = int(rng.integers(1, n + 1))
        steep = paper.replace(beta=1e4, k=k).loss(scores, grades, [n])[0]
        above = oracle.dcg(scores, grades, k - 1) + oracle.dcg(scores, grades, k)
        assert steep == pytest.approx(-above / 2 / oracle.ideal_dcg(grades, k), rel=1e-12)


# ---- other discounts -----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_linear_discount_makes_a_sum_over_pairs(alpha, rng):
    """Up to a constant: sigmoids weighted by gaps for SDCG, hinges by sums for SHF-SDCG."""
    for _ in range(20):
        n = int(rng.integers(2, 12))
        grades = rng.integers(0, 4, n).astype(float)
        grades[:2] = 0.0, 4.0
        z = oracle.ideal_dcg(grades)
        ideal = sum(oracle.gain(y) / z * r for r, y in enumerate(sorted(grades)[::-1], 1))
        sdcg = shf = ideal
        scores = rng.normal(0, 2, n)
        for i, j in product(range(n), repeat=2):
            if grades[i] > grades[j]:
                a, b = oracle.gain(grades[i]) / z, oracle.gain(grades[j]) / z
                sdcg += (a - b) * oracle.G(alpha, scores[i] - scores[j])
                shf += (a + b) * oracle.A(alpha, scores[i] - scores[j])
        for cls, want in ((SDCG, sdcg), (SHFSDCG, shf)):
            loss = cls(alpha=alpha).loss(scores, grades, [n])[0]
            assert loss == pytest.approx(want, rel=1e-12)
            steps = np.abs(np.divide(*cls(alpha=alpha).grad_hess(scores, grades, [n])))
            assert steps.max() <= 2.0 / alpha + 1e-12


@pytest.mark.parametrize("cls", [SDCG, SHFSDCG])
@pytest.mark.parametrize("discount", ["linear", "sqrt"])
def test_a_rank_beyond_the_cut_off_costs_no_less(cls, discount):
    """The cost of a buried document never falls with its rank, unlike its product with W."""
    grades = np.array([3.0] + [0.0] * 30)
    losses = [
        cls(k=2, discount=discount).loss(
            np.concatenate(([-depth], np.linspace(0.0, 3.0, 30))), grades, [31]
        )[0]
        for depth in np.linspace(-4.0, 3.0, 60)
    ]
    assert (np.diff(losses) > -1e-12).all()
    assert losses[-1] > losses[0]


@pytest.mark.parametrize(("beta", "cut"), [(0.3, 2.0), (1.0, 5.0), (4.0, 1.0)])
def test_the_cut_rank_is_the_integral_of_the_weight(beta, cut):
    for rank in (1.0, 3.0, 20.0):
        want, _ = quad(lambda r: oracle.G(beta, r - cut), 0.0, rank, points=[min(cut, rank)])
        assert oracle._cut_rank(rank, beta, cut) == pytest.approx(want, rel=1e-8)


# ---- section 3.2: the cut-off --------------------------------------------------------------------


def test_sdcgs_cutoff_ignores_a_document_far_below_it_and_shfs_does_not():
    """Section 3.2: the weight of a relevant document far below rank k."""
    scores = np.concatenate(([-3.0], np.linspace(0.0, 3.0, 60)))
    grades = np.array([3.0] + [0.0] * 60)
    sdcg, shf = (abs(cls(k=1).grad_hess(scores, grades, [61])[0][0]) for cls in (SDCG, SHFSDCG))
    assert sdcg < 1e-15 * shf
    assert shf > 1e-3


def test_the_cutoff_narrows_to_k_once_the_list_is_ranked_right():
    grades = [3.0, 2.0, 2.0, 1.0, 0.0, 0.0]
    widths = []
    for spread in (-3.0, 0.0, 1.0, 3.0, 10.0, 50.0):
        scores = [spread * (6 - i) for i in range(6)]
        widths.append(oracle.shf_width(scores, grades, 1.0, 3))
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 5
    assert widths[-1] == 3.0
    scores = [50.0 * (6 - i) for i in range(6)]
    for k in (1, 2, 3, 6):
        # Then W is the weight of (7): that of SDCG.
        for discount in ("linear", "sqrt", "log2"):
            shf, sdcg = (
                cls(k=k, discount=discount).loss(scores, grades, [6]) for cls in (SHFSDCG, SDCG)
            )
            np.testing.assert_allclose(shf, sdcg, rtol=1e-12)


def test_ties_of_grade_at_the_cutoff_take_the_best_ranked():
    scores, grades = [0.0, 3.0, -2.0, 1.0], [2.0, 1.0, 1.0, 0.0]
    r = oracle.shf_ranks(scores, grades, 1.0)
    assert r[1] < r[2]
    # The compiled code agrees: test_oracle.py.
    assert oracle.shf_width(scores, grades, 1.0, 2) == max(r[0], r[1], 2.0)


# ---- section 3.3: the schedule -------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 3])
def test_the_ends_of_the_mixture(k, rng):
    """Without a schedule: tau = 1 is a regression and tau = 0 is SHF-SDCG, bit for bit."""
    query = rng.normal(size=12), rng.integers(0, 4, 12), [12]
    ranking = SHFSDCG(k=k, alpha=5.0)
    for tau, center, alone in (
        (1.0, True, QueryRMSE()),
        (1.0, False, Regression()),
        (0.0, True, ranking),
    ):
        mixed = RegSHFSDCG(total_rounds=8, k=k, alpha=5.0, center=center, tau=tau)
        assert not mixed.scheduled
        np.testing.assert_array_equal(mixed.loss(*query), alone.loss(*query))
        np.testing.assert_array_equal(mixed.grad_hess(*query), alone.grad_hess(*query))
