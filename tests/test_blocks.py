"""Long lists: blocks and sums of exponentials, compared with all pairs.

The formulas are written out for whole matrices of pairs and import nothing from the kernels. The
lists lie on both sides of every length at which a kernel changes its way of computing.
"""

from itertools import product

import numba
import numpy as np
import pytest
from boostrank.objectives.engine import order, vector
from boostrank.objectives.engine.columns import UNLIMITED, Tuning
from boostrank.objectives.engine.curvature import HESSIANS
from boostrank.objectives.engine.divided import SPREADS as FITS
from boostrank.objectives.engine.divided import coefficients
from boostrank.objectives.engine.far_field import LOG, LOGISTIC, SLOPE
from numpy.polynomial.polynomial import polyval
from scipy.special import expit
from scipy.stats import rankdata
from test_edge_cases import queries_of

from boostrank import SDCG, SHFSDCG, FRank, LambdaRank, RankNet, SmoothAP, Spearman
from boostrank.lab.naming import label_of

SHARES = [0.52, 0.32, 0.13, 0.022, 0.008]
LENGTHS = (64, 65, 81, 129, 300, 600, 1030)
SPREADS = (
    "normal", "tied", "two", "sorted", "reversed", "organ-pipe", "1e3", "1e4", "1e12", "1e-12"
)  # fmt: skip
KINDS = ("five", "thirty", "real")
MANY = ("real", "whole", "heavy", "perfect", "steep")
#: Short lists fill several batches, whose last query just fits or just does not.
MIXED = [2, 640, 5, 1600, 64, 320, 641, 1536, 3, 1700, 1537, 1500, 3, 64, 700, 20, 65, 1, 321]
MIXED += [*[64] * 9, *[30] * 17, *np.random.default_rng(5).integers(1, 65, 60)]
#: Thresholds so small that short lists have blocks, parts of several grades, and parts of parts.
SMALL = Tuning(direct=64, block=32, part=24, parts=4)
TUNING = None
if numba.config.DISABLE_JIT:  # long lists take minutes
    LENGTHS, SPREADS, MANY = (90, 223), ("normal", "two", "1e3"), ("real", "heavy")
    MIXED = [2, 150, 5, 223, 64, 151, 3]
    TUNING = Tuning(direct=150)
#: Pairs of which all take hardly longer have blocks in lists of these lengths, too.
BLOCKS = TUNING or Tuning()


def every_list(kinds, *more):
    """One test per spread of scores for the first kind of grades, a few spreads for the others."""
    few = ("normal", "two", *more)
    lists = [
        (kind, spread)
        for kind, spread in product(kinds, (*SPREADS, *more))
        if kind == kinds[0] or spread in few
    ]
    return pytest.mark.parametrize(("kind", "spread"), lists)


def given(objective, grades, tuning, p):
    """What a kernel gets for one list, with other thresholds; pairs without a fit have none."""
    boundaries = np.array([0, len(grades)])
    if p.tuning.direct < UNLIMITED:
        p = p._replace(tuning=tuning)
    return p, boundaries, objective._kernel_gains(grades, boundaries)


def derivatives(objective, scores, grades, tuning=TUNING):
    if tuning is None:
        return objective.grad_hess(scores, grades, [len(scores)])
    p, boundaries, gains = given(objective, grades, tuning, objective._params())
    grad, hess = np.empty(len(scores)), np.empty(len(scores))
    code = HESSIANS[objective.hessian]
    objective._compiled.derivatives(boundaries, scores, gains, p, code, grad, hess)
    return grad, hess


def loss_of(objective, scores, grades, tuning=TUNING):
    if tuning is None:
        return objective.loss(scores, grades, [len(scores)])[0]
    p, boundaries, gains = given(objective, grades, tuning, objective._loss_params())
    losses = np.zeros(1)
    objective._compiled.losses(boundaries, scores, gains, p, losses)
    return losses[0]


#: Compared with all pairs.
OBJECTIVES = [
    LambdaRank(norm=False),
    LambdaRank(norm=False, truncation=30),
    LambdaRank(norm=False, truncation=250),
    LambdaRank(),
    LambdaRank(truncation=180),
    RankNet(sigma=0.7, normalize=True),
    RankNet(norm=True, offset=0.1),
    FRank(),
    SDCG(alpha=0.7),
    SHFSDCG(alpha=0.7),
    SDCG(alpha=0.7, discount="log2"),
    SHFSDCG(alpha=0.7, discount="log2"),
]
OTHERS = [LambdaRank(norm=False, target="dcg"), SmoothAP(), Spearman()]


@pytest.mark.parametrize("objective", [*OBJECTIVES, *OTHERS], ids=label_of)
def test_short_and_long_lists_of_one_call_do_not_affect_each_other(objective, rng):
    scores, grades = rng.normal(size=sum(MIXED)), some_grades("five", sum(MIXED), rng)
    for what in (objective.loss, objective.grad_hess):
        alone = [what(s, y, [len(s)]) for s, y in queries_of(MIXED, scores, grades)]
        assert np.hstack(alone).tobytes() == np.stack(what(scores, grades, MIXED)).tobytes()


def some_scores(spread, n, rng):
    s = rng.normal(size=n)
    return {
        "normal": s,
        "tied": np.full(n, 0.3),
        "two": (s > 0.0).astype(float),
        "sorted": np.sort(s),
        "reversed": np.sort(s)[::-1].copy(),
        "organ-pipe": np.concatenate([np.sort(s[: n // 2]), np.sort(s[n // 2 :])[::-1]]),
        "1e3": s * 1e3,
        "1e4": s * 1e4,  # beyond the widest fit of `divided`
        "1e12": s * 1e12,
        "1e-12": s * 1e-12,
    }[spread]


def some_grades(kind, n, rng):
    if kind == "five":
        return rng.choice(5, n, p=SHARES).astype(float)
    if kind == "thirty":
        return rng.integers(0, 31, n).astype(float)
    return np.where(rng.random(n) < 0.3, 0.0, rng.uniform(0.0, 4.0, n))  # as amounts are


def ideal(gains, k):
    top = np.sort(gains)[::-1][:k]
    return np.sum(top / np.log2(np.arange(2.0, len(top) + 2.0)))


def pairwise(objective, scores, grades):
    """Loss, gradient and curvature of RankNet or LambdaRank, by tables of a few rows at a time."""
    n, sigma, weighted = len(scores), objective.sigma, isinstance(objective, LambdaRank)
    top = getattr(objective, "truncation", None) or n
    ranks, gains = rankdata(-scores, "ordinal"), 2.0**grades - 1.0
    discounts, within = 1.0 / np.log2(1.0 + ranks), ranks <= top
    grad, hess = np.empty(n), np.empty(n)
    loss = total = pairs = 0.0
    for begin in range(0, n, 256):
        rows = np.arange(begin, min(begin + 256, n))
        x = scores[rows, None] - scores
        gaps = gains[rows, None] - gains
        better = np.sign(gaps)
        weights = better**2
        if weighted:
            weights = np.abs(gaps) * np.abs(discounts[rows, None] - discounts) / ideal(gains, top)
            weights *= within[rows, None] | within
        if objective.norm:
            weights /= objective.offset + np.abs(x) if np.ptp(scores) > 0.0 else 1.0
        lead = sigma * better * x
        small = np.exp(-np.abs(lead))
        rho = np.where(lead > 0.0, small, 1.0) / (1.0 + small)
        loss += np.sum((gaps > 0) * weights * (np.log1p(small) + np.maximum(0.0, -lead)))
        total += sigma * np.sum(weights * rho)
        pairs += np.sum(gaps > 0)
        grad[rows] = -sigma * np.sum(better * weights * rho, axis=1)
        hess[rows] = sigma**2 * np.sum(weights * small / (1.0 + small) ** 2, axis=1)
    factor = np.log1p(total) / (np.log(2.0) * total) if objective.norm and total > 0.0 else 1.0
    if getattr(objective, "normalize", False):
        factor = 1.0 / pairs
    return factor * loss, factor * grad, factor * hess


def frank(scores, grades):
    x = scores[:, None] - scores[None, :]
    better = np.sign(grades[:, None] - grades[None, :])
    right, wrong = expit(better * x), expit(-better * x)
    root = np.sqrt(right)
    grad = -np.sum(better * 0.5 * root * wrong, axis=1)
    hess = np.sum(better**2 * 0.5 * root * wrong * right, axis=1)
    return 0.5 * np.sum(better**2 * wrong / (1.0 + root)), grad, hess


def smooth_ap(scores, grades, sigma):
    """Loss, gradient and Hessian of the sigmoid form."""
    x = (scores[:, None] - scores[None, :]) / sigma
    relevant = np.where(grades > 0.0, 1.0, 0.0)
    above, below = expit(-x), expit(x)
    np.fill_diagonal(above, 0.0)
    ranks, hits = 1.0 + above.sum(axis=1), 1.0 + above @ relevant
    unit = relevant / (relevant.sum() * ranks)
    w = unit[:, None] * (relevant[None, :] - (hits / ranks)[:, None])
    slope = above * below / sigma
    pulls = (w - w.T) * slope
    a, b = unit * (1.0 - hits / ranks), unit * hits / ranks
    both = np.outer(relevant, relevant)
    sizes = (a[:, None] + a) * both + (b[:, None] + b) * (1.0 - both)
    return -np.sum(unit * hits), pulls.sum(axis=1), np.sum(sizes * slope, axis=1) / (2.0 * sigma)


def cost_of_rank(ranks, discount):
    """What a rank costs a document of gain 1, and its derivative."""
    if discount == "linear":
        return ranks, np.ones_like(ranks)
    if discount == "sqrt":
        return 2.0 * np.sqrt(1.0 + ranks), 1.0 / np.sqrt(1.0 + ranks)
    log = np.log1p(ranks)
    return -np.log(2.0) / log, np.log(2.0) / (log**2 * (1.0 + ranks))


def smooth_dcg(scores, grades, alpha, hinged, discount):
    """Loss, gradient and Gauss-Newton curvature of SDCG, or SHF-SDCG where `hinged`."""
    gains = 2.0**grades - 1.0
    z = ideal(gains, len(gains))
    x = scores[:, None] - scores[None, :]
    better = np.sign(gains[:, None] - gains[None, :]) if hinged else np.zeros_like(x)
    lead = np.where(better < 0, -x, x)
    wrong = (better != 0) & (lead < 0)
    part = np.where(wrong, 0.5 - 0.25 * alpha * lead, expit(-alpha * lead)) + (better < 0)
    np.fill_diagonal(part, 0.0)
    ranks = 1.0 + part.sum(axis=1)
    cost, cost_slope = cost_of_rank(ranks, discount)
    c = gains / z * cost_slope
    slope = np.where(wrong, 0.25, expit(alpha * x) * expit(-alpha * x))
    np.fill_diagonal(slope, 0.0)
    both, difference = c[:, None] + c[None, :], c[:, None] - c[None, :]
    pull = np.where(better == 0, difference, better * both) * slope
    weight = np.where(better == 0, np.abs(difference), both) if discount == "linear" else both
    curvature = 0.5 * alpha**2 * np.sum(weight * slope, axis=1)
    return np.sum(gains / z * cost), -alpha * pull.sum(axis=1), curvature


def agree(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def by_all_pairs(objective, scores, grades):
    """Loss, gradient and curvature."""
    if isinstance(objective, FRank):
        return frank(scores, grades)
    if isinstance(objective, SmoothAP):
        return smooth_ap(scores, grades, objective.sigma)
    if isinstance(objective, SDCG | SHFSDCG):
        hinged = isinstance(objective, SHFSDCG)
        return smooth_dcg(scores, grades, objective.alpha, hinged, objective.discount)
    return pairwise(objective, scores, grades)


def agree_with_all_pairs(got, objective, scores, grades):
    """Compare gradient and Hessian; return the loss that all pairs have."""
    tolerance = 1e-8 if getattr(objective, "norm", False) else 1e-10
    loss, *want = by_all_pairs(objective, scores, grades)
    agree(got[0], want[0], tolerance)
    agree(got[1], np.maximum(want[1], 1e-10), tolerance)
    return loss


def check(objective, scores, grades, tuning=TUNING):
    got = derivatives(objective, scores, grades, tuning)
    return agree_with_all_pairs(got, objective, scores, grades)


def check_with_loss(objective, scores, grades, tuning=TUNING):
    loss = check(objective, scores, grades, tuning)
    assert loss_of(objective, scores, grades, tuning) == pytest.approx(loss, rel=1e-11)


#: Steepness and offset of normalised pairs.
UNITS = ((1.0, 0.01),) if numba.config.DISABLE_JIT else ((1.0, 0.01), (5e-4, 0.1), (20.0, 0.1))
STEEP = () if numba.config.DISABLE_JIT else (0.2, 20.0, 0.02)
PAIRS = {  # one truncation is odd: rows go two at a time
    **{f"lambdarank-{k}": [LambdaRank(norm=False, truncation=k)] for k in (None, 31, 100, 150)},
    **{
        f"lambdarank-norm-{k}": [
            LambdaRank(truncation=k),
            *(LambdaRank(truncation=k, sigma=sigma, offset=0.05) for sigma in STEEP),
        ]
        for k in (None, 31, 150, 190)
    },
    "ranknet": [RankNet(sigma=0.7, normalize=True)],
    **{f"ranknet-norm-{s}": [RankNet(norm=True, sigma=s, offset=o)] for s, o in UNITS},
}


@every_list(KINDS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_long_lists(name, kind, spread, rng):
    for n in LENGTHS:
        scores, grades = some_scores(spread, n, rng), some_grades(kind, n, rng)
        for objective in PAIRS[name] if kind == "five" else PAIRS[name][:1]:
            check(objective, scores, grades, BLOCKS)


def test_normalised_lambdarank_of_groups_far_apart(rng):
    """Where all pairs are far apart in the right order, the little that is left is right too."""
    n = LENGTHS[-1]
    grades = some_grades("five", n, rng)
    for gap in (1.0, 10.0, 40.0, 300.0):
        check(LambdaRank(), 0.1 * rng.normal(size=n) + gap * grades, grades, BLOCKS)


@every_list(KINDS)
def test_frank_of_long_lists(kind, spread, rng):
    for n in LENGTHS:
        scores, grades = some_scores(spread, n, rng), some_grades(kind, n, rng)
        check_with_loss(FRank(), scores, grades)
        mean, _ = derivatives(FRank(normalize=True), scores, grades)
        agree(mean, frank(scores, grades)[1] / np.sum(grades[:, None] > grades))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("share", [0.15, 0.5, 0.97])
def test_smooth_ap_of_long_lists(spread, share, rng):
    for n in LENGTHS:
        scores = some_scores(spread, n, rng)
        grades = rng.integers(1, 4, n) * (rng.random(n) < share).astype(float)
        check_with_loss(SmoothAP(sigma=0.7), scores, grades)


@every_list(("five", "real"), "apart")
def test_losses_of_long_lists(kind, spread, rng):
    lengths = (641, 1300) if spread == "normal" else (1300,)
    for n in (251,) if numba.config.DISABLE_JIT else lengths:
        grades = some_grades(kind, n, rng)
        if spread == "apart":  # all pairs are far apart in the right order: little is left
            scores = 0.1 * rng.normal(size=n) + 40.0 * np.round(grades)
        else:
            scores = some_scores(spread, n, rng)
        objectives = [
            RankNet(sigma=0.7),
            RankNet(normalize=True),
            RankNet(norm=True, sigma=1.5, offset=0.2),
            LambdaRank(norm=False),
            LambdaRank(norm=False, truncation=230, sigma=1.5),
            LambdaRank(truncation=230, sigma=1.5, offset=0.2),
        ]
        if not numba.config.DISABLE_JIT:
            objectives.append(LambdaRank())
        for objective in objectives:
            want, *_ = pairwise(objective, scores, grades)
            got = loss_of(objective, scores, grades, BLOCKS)
            assert got == pytest.approx(want, rel=1e-8 if objective.norm else 1e-12)


def many_grades(kind, scores, rng):
    n = len(scores)
    return {
        "real": rng.uniform(0.0, 4.0, n),
        "whole": rng.permutation(n) % 400 / 100.0,
        "heavy": np.where(rng.random(n) < 0.6, 1.0, rng.uniform(0.0, 2.0, n)),
        "perfect": rankdata(scores, "ordinal") / n * 4.0,
        "steep": rng.uniform(0.0, 30.0, n),
    }[kind]


@every_list(MANY)
def test_many_grades(kind, spread, rng):
    """Lists in which most grades differ, and which are split by grade once."""
    n = 251 if numba.config.DISABLE_JIT else 1_300
    scores = some_scores(spread, n, rng)
    grades = many_grades(kind, scores, rng)
    objectives = [
        RankNet(),
        LambdaRank(norm=False, truncation=800),
        LambdaRank(truncation=800, sigma=0.3),
    ]
    if not numba.config.DISABLE_JIT:  # a truncated list has rows of both kinds
        objectives += [LambdaRank(norm=False), LambdaRank(), RankNet(norm=True, offset=0.1)]
    for objective in objectives:
        check(objective, scores, grades, BLOCKS)


@pytest.mark.parametrize("kind", [kind for kind in MANY if kind != "steep"])
@pytest.mark.parametrize("loss", ["ranknet", "plain", "normalised"])
def test_parts_that_are_cut_again(loss, kind, rng):
    """Also the sum of all pulls, for lists with and without a truncation."""
    n = 700
    scores = rng.normal(size=n).round(2)
    grades = many_grades(kind, scores, rng)
    objectives = [RankNet()]
    if loss != "ranknet":
        objectives = [LambdaRank(norm=loss == "normalised", truncation=k) for k in (None, 150)]
    for objective in objectives:
        check(objective, scores, grades, SMALL)


@every_list(KINDS)
@pytest.mark.parametrize("discount", ["linear", "sqrt", "log2"])
@pytest.mark.parametrize("cls", [SDCG, SHFSDCG])
def test_smooth_dcg_of_long_lists(kind, spread, discount, cls, rng):
    for n, tuning in (*((n, BLOCKS) for n in LENGTHS), (300, SMALL)):
        scores, grades = some_scores(spread, n, rng), some_grades(kind, n, rng)
        check_with_loss(cls(alpha=0.7, discount=discount), scores, grades, tuning)


@pytest.mark.compiled
@pytest.mark.parametrize("objective", OBJECTIVES, ids=label_of)
def test_lists_of_every_length(objective, rng):
    """The remainders of blocks and vectors, and the padding, depend on the length."""
    lengths = [*range(2, 200), *range(200, 360, 5)]
    group = np.repeat(lengths, 2)  # the second list reuses the first one's scratch
    scores, grades = rng.normal(size=group.sum()), some_grades("five", group.sum(), rng)
    # Some are too far apart for ratios of exponentials; short lists would have no gradient left.
    scores *= np.repeat(np.where(group > 64, np.resize([1.0, 1.0, 300.0], len(group)), 1.0), group)
    grades[np.cumsum(group) - group] = 1.0
    grades[np.cumsum(group) - 1] = 2.0
    grad, hess = objective.grad_hess(scores, grades, group)
    for g, h, s, y in queries_of(group, grad, hess, scores, grades):
        agree_with_all_pairs((g, h), objective, s, y)


@pytest.mark.parametrize(
    ("terms", "function", "tolerance"),
    [
        (LOGISTIC, lambda z: z / (1.0 + z), 1e-13),
        (SLOPE, lambda z: z / (1.0 + z) ** 2, 5e-11),
        (LOG, np.log1p, 2e-14),
    ],
    ids=["logistic", "slope", "log"],
)
def test_sums_of_exponentials_are_the_functions(terms, function, tolerance):
    z = np.exp(-np.linspace(0.0, 40.0, 4001))
    np.testing.assert_allclose(polyval(z, terms[:-1]), function(z), rtol=tolerance)
    assert terms[-1] == 0.0  # no multiple of the distance itself


@pytest.mark.parametrize(
    ("sigma", "offset"),
    [(0.01, 0.01), (1, 0.01), (3, 0.01), (0.99, 0.01), (1e3, 0.01), (1, 1), (0.5, 0.3), (2, 1e6)],
)
def test_sums_of_exponentials_are_the_divided_functions(sigma, offset):
    for spread in FITS:
        rates, numbers = coefficients(sigma, offset, spread)
        x = np.append(0.0, np.geomspace(1e-7, spread, 5000)) / sigma
        z, exponentials = np.exp(-sigma * x), np.exp(-x[:, None] * np.append(0.0, rates))
        logs = np.append(np.log1p(z[z > 0.0]) / z[z > 0.0], np.ones(np.sum(z == 0.0)))
        wanted_ones = 1.0, 1.0 / (1.0 + z), (1.0 + z) ** -2, logs
        for wanted, of_one in zip(wanted_ones, numbers, strict=True):
            np.testing.assert_allclose(
                exponentials @ of_one * (offset + x) / wanted, 1.0, rtol=1e-8
            )


@pytest.mark.compiled  # exact to the last bits only where multiplications and additions are fused
@pytest.mark.parametrize("kernel", [vector.exponentials, vector.logarithms])
def test_vector_exponentials_and_logarithms(kernel):
    if kernel is vector.exponentials:
        x = np.concatenate([-np.geomspace(1e-300, 699.0, 1001), [0.0, -700.1, -1e300, -np.inf]])
        want, rtol = np.where(x < -700.0, 0.0, np.exp(x)), 3e-14
    else:
        x = np.concatenate([1.0 + np.geomspace(1e-3, 1e300, 1001), [1.0, 2.0, np.inf]])
        want, rtol = np.log(x), 5e-16
    out = np.full(len(x) + 4, -1.0)
    write = numba.njit(lambda x, out, n: kernel(x, out, n))  # Python cannot call a helper
    write(x.copy(), out, len(x))  # the kernel may work in place
    np.testing.assert_allclose(out[: len(x)], want, rtol=rtol)
    np.testing.assert_array_equal(out[len(x) :], -1.0)


@pytest.mark.parametrize("spread", SPREADS)
def test_order_is_stable_and_by_descending_score(spread, rng):
    best_first = numba.njit(lambda scores: order.order_by_score(scores))
    for n in (1, 2, 20, 64, 65, 1000):
        for scores in (some_scores(spread, n, rng), np.round(some_scores(spread, n, rng), 1)):
            want = np.argsort(-scores, kind="stable")
            np.testing.assert_array_equal(best_first(scores), want)


def test_ideal_of_whole_and_real_gains(rng):
    """DCG's gradient is NDCG's times the ideal DCG."""
    lists = [[0, 1, 2, 2], [3.0, 0.5, 3.0], [31, 0, 30], [40, 1, 0], [0.0, 1e-3]]
    n = 223 if numba.config.DISABLE_JIT else 5_000  # beyond the table of discounts
    lists += [rng.integers(0, 3, n), rng.uniform(size=n)]
    for gains in lists:
        gains = np.array(gains, dtype=float)
        scores = rng.normal(size=len(gains))
        for k in (1, 2, 10, None):
            plain, divided = (
                derivatives(
                    LambdaRank(norm=False, truncation=k, target=target, gain="linear"),
                    scores,
                    gains,
                )[0]
                for target in ("dcg", "ndcg")
            )
            agree(plain, divided * ideal(gains, k or len(gains)), 1e-12)
