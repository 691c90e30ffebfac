"""Slow losses of one query, written from the papers in plain NumPy and plain loops.

Nothing of boostrank is imported: this is what its kernels are compared with. A loss takes the
scores and grades of one query and returns a float. Where the gradient holds quantities constant
(a cut-off that moves with the scores, ranks inside weights), they are computed at `frozen_at`
instead of at the scores, so that differences of the loss are differences of what the gradient
claims to be the derivative of.

`ORACLES` says for every registered objective which parameter sets the tests try and which
functions here are its loss and its Gauss-Newton curvature.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOOR = 1e-10  # the least Hessian ever returned


# ---- vocabulary ----------------------------------------------------------------------------------


def gain(grade):
    return 2.0**grade - 1.0


def discount(rank):
    return 1.0 / np.log2(1.0 + rank)


def ranks(scores):
    """Return 1-based positions under a stable sort by descending score."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    rank = [0] * len(scores)
    for position, i in enumerate(order, start=1):
        rank[i] = position
    return rank


def ideal_dcg(grades, k=None):
    best = sorted((gain(y) for y in grades), reverse=True)
    if k is not None:
        best = best[:k]
    return sum(g * discount(r) for r, g in enumerate(best, start=1))


def dcg(scores, grades, k=None):
    return sum(
        gain(y) * discount(r)
        for y, r in zip(grades, ranks(scores), strict=True)
        if k is None or r <= k
    )


def nothing_to_rank(grades):
    return len(grades) < 2 or all(y == grades[0] for y in grades)


# ---- the functions of Wu, Chang, Zheng, Zha (CIKM 2009) ------------------------------------------


def G(a, x):  # noqa: N802
    """Return the decreasing sigmoid (5)."""
    if a * x > 0:
        return np.exp(-a * x) / (1.0 + np.exp(-a * x))
    return 1.0 / (1.0 + np.exp(a * x))


def dG(a, x):  # noqa: N802
    return -a * G(a, x) * G(a, -x)


def A(alpha, x):  # noqa: N802
    """Return the smoothed hinge (14), with the minus sign."""
    return G(alpha, x) if x >= 0 else 0.5 - alpha / 4.0 * x


def B(alpha, x):  # noqa: N802
    """Return its counterpart (15) for the less relevant document."""
    return 1.0 + A(alpha, -x)


def sdcg_ranks(scores, grades, alpha):
    """Return smooth ranks by (6)."""
    n = len(scores)
    return [
        1.0 + sum(G(alpha, scores[i] - scores[j]) for j in range(n) if j != i) for i in range(n)
    ]


def shf_ranks(scores, grades, alpha):
    """Return smooth ranks by (12), (13), summed over all other documents."""
    n = len(scores)
    result = []
    for i in range(n):
        r = 1.0
        for j in range(n):
            x = scores[i] - scores[j]
            if grades[i] > grades[j]:
                r += A(alpha, x)
            elif grades[i] < grades[j]:
                r += B(alpha, x)
            elif j != i:
                r += G(alpha, x)
        result.append(r)
    return result


def shf_width(scores, grades, alpha, k):
    """Return s_m of (17): the worst smooth rank among the k most relevant documents."""
    r = shf_ranks(scores, grades, alpha)
    best = sorted(range(len(grades)), key=lambda i: (-grades[i], r[i]))[:k]
    return max(float(k), *(r[i] for i in best))


def _sdcg_of_rank(rank, grade, z, beta, cut):
    weight = 1.0 if cut is None else G(beta, rank - cut)
    return -gain(grade) / z * discount(rank) * weight


def _slope_of_rank(rank, grade, z, beta, cut):
    """Return c = f'(r) of f(r) = -(g/Z) d(r) W(r)."""
    d = discount(rank)
    slope_d = -d * d * np.log(2.0) / ((1.0 + rank) * np.log(2.0) ** 2)
    weight, slope_w = (1.0, 0.0) if cut is None else (G(beta, rank - cut), dG(beta, rank - cut))
    return -gain(grade) / z * (slope_d * weight + d * slope_w)


# ---- losses --------------------------------------------------------------------------------------


def sdcg(scores, grades, *, k=None, alpha=1.0, beta=1.0, normalize=True, **_):
    if nothing_to_rank(grades):
        return 0.0
    z = ideal_dcg(grades, k) if normalize else 1.0
    return sum(
        _sdcg_of_rank(r, y, z, beta, k)
        for r, y in zip(sdcg_ranks(scores, grades, alpha), grades, strict=True)
    )


def shf_sdcg(scores, grades, *, k=None, alpha=1.0, beta=1.0, normalize=True, frozen_at=None, **_):
    if nothing_to_rank(grades):
        return 0.0
    z = ideal_dcg(grades, k) if normalize else 1.0
    at = scores if frozen_at is None else frozen_at
    cut = None if k is None else shf_width(at, grades, alpha, k)
    return sum(
        _sdcg_of_rank(r, y, z, beta, cut)
        for r, y in zip(shf_ranks(scores, grades, alpha), grades, strict=True)
    )


def regression(scores, grades, *, target="grade", **_):
    t = [y if target == "grade" else gain(y) for y in grades]
    return sum((s - u) ** 2 for s, u in zip(scores, t, strict=True))


def tau_of_round(m, M):
    """Return the share of the regression (19) in round m of M, gamma from tau_1 = 0.999999."""
    m = min(m, M)
    if M <= 2:
        return 0.999999 if m == 1 else 0.000001
    gamma = np.log(999999.0) / (M / 2.0 - 1.0)
    return 1.0 / (1.0 + np.exp(gamma * (m - M / 2.0)))


def reg_shf_sdcg(scores, grades, *, total_rounds, round, target="grade", tau=None, **rest):
    t = tau_of_round(round, total_rounds) if tau is None else tau
    return t * regression(scores, grades, target=target) + (1.0 - t) * shf_sdcg(
        scores, grades, **rest
    )


def lambdarank_pairs(scores, grades, *, truncation=None, sigma=1.0, norm=True):
    """Return (i, j, w) for every pair y_i > y_j that counts, w the weight of its logistic loss."""
    n = len(scores)
    rank = ranks(scores)
    z = ideal_dcg(grades, truncation)
    tied = all(s == scores[0] for s in scores)
    pairs = []
    for i in range(n):
        for j in range(n):
            if grades[i] <= grades[j]:
                continue
            if truncation is not None and min(rank[i], rank[j]) > truncation:
                continue
            w = abs(gain(grades[i]) - gain(grades[j]))
            w *= abs(discount(rank[i]) - discount(rank[j])) / z
            if norm and not tied:
                w /= 0.01 + abs(scores[i] - scores[j])
            pairs.append((i, j, w))
    if norm:
        total = sum(2.0 * sigma * w * G(sigma, scores[i] - scores[j]) for i, j, w in pairs)
        if total > 0:
            pairs = [(i, j, w * np.log1p(total) / np.log(2.0) / total) for i, j, w in pairs]
    return pairs


def lambdarank(scores, grades, *, truncation=None, sigma=1.0, norm=True, frozen_at=None, **_):
    if nothing_to_rank(grades):
        return 0.0
    at = scores if frozen_at is None else frozen_at
    pairs = lambdarank_pairs(at, grades, truncation=truncation, sigma=sigma, norm=norm)
    return sum(w * np.logaddexp(0.0, -sigma * (scores[i] - scores[j])) for i, j, w in pairs)


def _pairs(grades):
    n = len(grades)
    return [(i, j) for i in range(n) for j in range(n) if grades[i] > grades[j]]


def gbrank(scores, grades, *, margin=1.0, normalize=False, **_):
    pairs = _pairs(grades)
    if not pairs:
        return 0.0
    total = sum(0.5 * max(0.0, margin - (scores[i] - scores[j])) ** 2 for i, j in pairs)
    return total / len(pairs) if normalize else total


def _over_pairs(scores, grades, loss_of_lead, normalize):
    """Return the sum, or average, of a loss of the better document's lead."""
    total, pairs = 0.0, _pairs(grades)
    for i, j in pairs:
        total += loss_of_lead(scores[i] - scores[j])
    return total / len(pairs) if normalize and pairs else total


def ranknet(scores, grades, *, sigma=1.0, normalize=False, **_):
    """Cross entropy of P = 1/(1 + e^{-sigma lead}) and a target of 1."""
    return _over_pairs(scores, grades, lambda x: np.logaddexp(0.0, -sigma * x), normalize)


def ranksvm(scores, grades, *, normalize=False, **_):
    return _over_pairs(scores, grades, lambda x: max(0.0, 1.0 - x), normalize)


def frank(scores, grades, *, normalize=False, **_):
    """Return the fidelity loss 1 - sqrt(P), with ln P = -ln(1 + e^{-lead})."""
    return _over_pairs(scores, grades, lambda x: -np.expm1(-0.5 * np.logaddexp(0.0, -x)), normalize)


WORST_LEAD = -36.0  # where RankBoost's exponential goes on as its tangent


def rankboost(scores, grades, *, normalize=False, **_):
    def loss_of_lead(x):
        if x >= WORST_LEAD:
            return np.exp(-x)
        return np.exp(-WORST_LEAD) - np.exp(-WORST_LEAD) * (x - WORST_LEAD)

    return _over_pairs(scores, grades, loss_of_lead, normalize)


def softmax(values):
    powers = [np.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def listnet(scores, grades, **_):
    """Cross entropy of the top-one probabilities."""
    if nothing_to_rank(grades):
        return 0.0
    log_sum = np.logaddexp.reduce(scores)
    return sum(p * (log_sum - s) for p, s in zip(softmax(grades), scores, strict=True))


# ---- Gauss-Newton curvatures, by the formula that each objective's file states -------------------


def sdcg_gauss_newton(scores, grades, *, k=None, alpha=1.0, beta=1.0, normalize=True, **_):
    """Return sum_j |lambda_pj| alpha/2 with lambda_pj = alpha (c_p - c_j) rho_pj."""
    n = len(scores)
    if nothing_to_rank(grades):
        return np.zeros(n)
    z = ideal_dcg(grades, k) if normalize else 1.0
    r = sdcg_ranks(scores, grades, alpha)
    c = [_slope_of_rank(r[i], grades[i], z, beta, k) for i in range(n)]
    hess = np.zeros(n)
    for p in range(n):
        for j in range(n):
            if j != p:
                hess[p] += abs((c[p] - c[j]) * dG(alpha, scores[p] - scores[j])) * alpha / 2.0
    return hess


def shf_sdcg_gauss_newton(
    scores, grades, *, k=None, alpha=1.0, beta=1.0, normalize=True, frozen_at=None, **_
):
    """Return sum_j |lambda_pj| alpha/2 with lambda_pj the pull that pair (p, j) exerts on p."""
    n = len(scores)
    if nothing_to_rank(grades):
        return np.zeros(n)
    z = ideal_dcg(grades, k) if normalize else 1.0
    r = shf_ranks(scores, grades, alpha)
    at = scores if frozen_at is None else frozen_at
    cut = None if k is None else shf_width(at, grades, alpha, k)
    c = [_slope_of_rank(r[i], grades[i], z, beta, cut) for i in range(n)]
    hess = np.zeros(n)
    for p in range(n):
        for j in range(n):
            if j == p:
                continue
            x = scores[p] - scores[j]
            if grades[p] == grades[j]:
                pull = (c[p] - c[j]) * dG(alpha, x)
            else:
                better = x if grades[p] > grades[j] else -x  # the better one's lead
                slope = dG(alpha, better) if better >= 0 else -alpha / 4.0
                pull = (c[p] + c[j]) * slope
            hess[p] += abs(pull) * alpha / 2.0
    return hess


def regression_gauss_newton(scores, grades, **_):
    return np.full(len(scores), 2.0)


def reg_shf_sdcg_gauss_newton(
    scores, grades, *, total_rounds, round, target="grade", tau=None, **rest
):
    t = tau_of_round(round, total_rounds) if tau is None else tau
    shf = np.maximum(shf_sdcg_gauss_newton(scores, grades, **rest), FLOOR)
    return t * 2.0 + (1.0 - t) * shf


def _pair_curvature(scores, grades, curvature_of_lead, normalize):
    hess, pairs = np.zeros(len(scores)), _pairs(grades)
    for i, j in pairs:
        hess[[i, j]] += curvature_of_lead(scores[i] - scores[j])
    return hess / len(pairs) if normalize and pairs else hess


def ranksvm_gauss_newton(scores, grades, *, normalize=False, **_):
    """Return the number of pairs with a loss."""
    return _pair_curvature(scores, grades, lambda x: 1.0 if x < 1.0 else 0.0, normalize)


def frank_gauss_newton(scores, grades, *, normalize=False, **_):
    """Return the curvature of RankNet's loss times sqrt(P)/2."""

    def curvature_of_lead(x):
        p = G(1.0, -x)
        return np.sqrt(p) / 2.0 * p * (1.0 - p)

    return _pair_curvature(scores, grades, curvature_of_lead, normalize)


def rankboost_gauss_newton(scores, grades, *, normalize=False, **_):
    """Return the magnitude of the slope."""
    return _pair_curvature(
        scores, grades, lambda x: np.exp(-x) if x >= WORST_LEAD else np.exp(-WORST_LEAD), normalize
    )


# ---- derivatives by central differences ----------------------------------------------------------

# Offsets and coefficients of the central differences of eighth order. Their error at a step of
# 1e-2 is about 1e-16 of the ninth (tenth) derivative, and rounding adds about 1e-14 (1e-12).
_FIRST = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
_SECOND = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
STEP = 1e-2
REACH = max(_FIRST) * STEP  # how far one score moves; kinks must be farther away than this


def _moved(scores, p, by):
    moved = list(scores)
    moved[p] += by
    return moved


def gradient(loss, scores):
    """Return the gradient of loss(scores)."""
    result = np.zeros(len(scores))
    for p in range(len(scores)):
        for offset, c in _FIRST.items():
            up = loss(_moved(scores, p, offset * STEP))
            down = loss(_moved(scores, p, -offset * STEP))
            result[p] += c * (up - down) / STEP
    return result


def hessian_diagonal(loss, scores):
    """Return the diagonal of the Hessian of loss(scores)."""
    result = np.zeros(len(scores))
    middle = loss(list(scores))
    for p in range(len(scores)):
        for offset, c in _SECOND.items():
            up = loss(_moved(scores, p, offset * STEP)) - middle
            down = loss(_moved(scores, p, -offset * STEP)) - middle
            result[p] += c * (up + down) / STEP**2
    return result


def _exact(loss):
    def exact(scores, grades, **parameters):
        """Return the true diagonal of the loss with what is frozen frozen at the scores."""
        return hessian_diagonal(lambda s: loss(s, grades, frozen_at=scores, **parameters), scores)

    return exact


def _exact_floored(loss):
    def exact(scores, grades, **parameters):
        """Return the true diagonal, floored at a tenth of the query's mean magnitude."""
        h = _exact(loss)(scores, grades, **parameters)
        return np.maximum(h, 0.1 * np.mean(np.abs(h)))

    return exact


def reg_shf_sdcg_exact(scores, grades, *, total_rounds, round, target="grade", tau=None, **rest):
    t = tau_of_round(round, total_rounds) if tau is None else tau
    squares = _exact(regression)(scores, grades, target=target)
    return t * squares + (1.0 - t) * np.maximum(
        _exact_floored(shf_sdcg)(scores, grades, **rest), FLOOR
    )


# ---- what is tried -------------------------------------------------------------------------------


def _no_rounds(parameters: dict[str, Any]) -> tuple[int | None, ...]:
    return (None,)


def _first_middle_last(parameters: dict[str, Any]) -> tuple[int | None, ...]:
    M = parameters["total_rounds"]
    return tuple(sorted({1, (M + 1) // 2, M}))


@dataclass(frozen=True)
class Oracle:
    """What is known about one objective; Hessians before the floor of 1e-10."""

    loss: Callable[..., float]
    exact: Callable[..., np.ndarray] | None  # None: the objective has no such choice
    gauss_newton: Callable[..., np.ndarray]
    parameters: Sequence[dict[str, Any]]
    rounds: Callable[[dict[str, Any]], tuple[int | None, ...]] = _no_rounds
    # Score differences at which the second derivative jumps.
    kinks: Callable[[dict[str, Any]], tuple[float, ...]] = field(default=lambda parameters: (0.0,))


_SDCG_PARAMETERS = (
    {},
    {"alpha": 0.3},
    {"alpha": 2.0, "normalize": False},
    {"k": 1},
    {"k": 3, "alpha": 1.5, "beta": 0.7},
    {"k": 2, "beta": 2.5, "normalize": False},
    {"k": 10},
)

ORACLES = {
    "sdcg": Oracle(sdcg, _exact_floored(sdcg), sdcg_gauss_newton, _SDCG_PARAMETERS),
    "shf-sdcg": Oracle(shf_sdcg, _exact_floored(shf_sdcg), shf_sdcg_gauss_newton, _SDCG_PARAMETERS),
    "reg-shf-sdcg": Oracle(
        reg_shf_sdcg,
        reg_shf_sdcg_exact,
        reg_shf_sdcg_gauss_newton,
        (
            {"total_rounds": 10},
            {"total_rounds": 1},
            {"total_rounds": 4, "tau": 0.3, "k": 2},
            {"total_rounds": 2, "k": 2},
            {"total_rounds": 3, "target": "gain", "alpha": 2.0},
            {"total_rounds": 25, "k": 3, "alpha": 0.6, "beta": 1.7, "normalize": False},
        ),
        rounds=_first_middle_last,
    ),
    "lambdarank": Oracle(
        lambdarank,
        _exact(lambdarank),
        _exact(lambdarank),
        (
            {},
            {"norm": False},
            {"sigma": 2.0, "norm": False},
            {"truncation": 1, "norm": False},
            {"truncation": 3, "sigma": 0.5, "norm": False},
            {"truncation": 2, "sigma": 1.7, "norm": True},
            {"truncation": 10, "norm": True},
        ),
    ),
    "gbrank": Oracle(
        gbrank,
        _exact(gbrank),
        _exact(gbrank),
        ({}, {"margin": 0.25, "normalize": True}, {"margin": 2.0}),
        kinks=lambda parameters: (0.0, parameters.get("margin", 1.0)),
    ),
    "ranknet": Oracle(
        ranknet,
        _exact(ranknet),
        _exact(ranknet),
        ({}, {"sigma": 0.4}, {"sigma": 2.5, "normalize": True}),
    ),
    "ranksvm": Oracle(
        ranksvm,
        None,
        ranksvm_gauss_newton,
        ({}, {"normalize": True}),
        kinks=lambda parameters: (0.0, 1.0),
    ),
    "frank": Oracle(frank, _exact_floored(frank), frank_gauss_newton, ({}, {"normalize": True})),
    "rankboost": Oracle(
        rankboost,
        _exact(rankboost),
        rankboost_gauss_newton,
        ({}, {"normalize": True}),
        kinks=lambda parameters: (0.0, -WORST_LEAD),
    ),
    "listnet": Oracle(listnet, _exact(listnet), _exact(listnet), ({},)),
    "regression": Oracle(
        regression, _exact(regression), regression_gauss_newton, ({}, {"target": "gain"})
    ),
}

NAMES = sorted(ORACLES)
CASES = [(name, parameters) for name in NAMES for parameters in ORACLES[name].parameters]
