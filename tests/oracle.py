"""Slow losses of one query, written from the papers in plain NumPy and plain loops.

This file imports nothing from boostrank, whose kernels are compared with it. A loss takes the
scores and grades of one query and returns a float. Where the gradient holds quantities constant
(a cut-off that moves with the scores, ranks inside weights), they are computed at `frozen_at`
instead of at the scores, so that differences of the loss match the function that the gradient
claims to be the derivative of.

`ORACLES` says for every registered objective which parameter sets the tests try and which
functions here are its loss and its Gauss-Newton curvature.
"""

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

FLOOR = 1e-10  # the least Hessian ever returned


# ---- vocabulary ----------------------------------------------------------------------------------


def gain(grade):
    return 2.0**grade - 1.0


def discount(rank, kind="log2", n=None):
    """Return the discount of a rank among n; a table is interpolated linearly between ranks."""
    if kind == "log2":
        return 1.0 / np.log2(1.0 + rank)
    if kind == "linear":
        return n - rank
    if kind == "reciprocal":
        return 1.0 / rank
    return np.interp(rank, np.arange(1, len(kind) + 2), [*kind, 0.0])


def worth(grade, kind):
    """Return a gain: 2^y - 1, y, or any function of y."""
    if kind == "exponential":
        return gain(grade)
    return grade if kind == "linear" else float(kind(grade))


def nothing_to_rank(grades):
    return len(grades) < 2 or all(y == grades[0] for y in grades)


def ranking(function):
    """Make a loss or a curvature 0 where there is nothing to rank."""

    def ranked(scores, grades, **parameters):
        return 0.0 if nothing_to_rank(grades) else function(scores, grades, **parameters)

    return ranked


def any_gain(function):
    """Add a parameter `gain` to a ranking's function: every gain is 2^y - 1 for some y."""

    def of_gains(scores, grades, *, gain="exponential", **rest):
        if gain != "exponential":
            grades = [math.log1p(worth(y, gain)) / math.log(2.0) for y in grades]
        return ranking(function)(scores, grades, **rest)

    return of_gains


def ranks(scores):
    """Return 1-based positions under a stable sort by descending score."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return (np.argsort(order) + 1).tolist()


def ideal_dcg(grades, k=None, kind="log2"):
    best = sorted((gain(y) for y in grades), reverse=True)[:k]
    return sum(g * discount(r, kind, len(grades)) for r, g in enumerate(best, start=1))


def dcg(scores, grades, k=None):
    return sum(
        gain(y) * discount(r)
        for y, r in zip(grades, ranks(scores), strict=True)
        if k is None or r <= k
    )


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
    r = np.ones(len(scores))
    for i, j in permutations(range(len(scores)), 2):
        part = A if grades[i] > grades[j] else B if grades[i] < grades[j] else G
        r[i] += part(alpha, scores[i] - scores[j])
    return r


def shf_width(scores, grades, alpha, k):
    """Return s_m of (17): the worst smooth rank among the k most relevant documents."""
    r = shf_ranks(scores, grades, alpha)
    best = sorted(range(len(grades)), key=lambda i: (-grades[i], r[i]))[:k]
    return max(float(k), *(r[i] for i in best))


def _cut_rank(rank, beta, cut):
    """Return the integral of the weight (7) from 0 to the rank."""
    if cut is None:
        return rank
    beyond = np.log1p(np.exp(-beta * abs(rank - cut))) - np.log1p(np.exp(-beta * cut))
    return min(rank, cut) - beyond / beta


def _cost_of_rank(rank, grade, z, beta, cut, discount_kind):
    """Return f(r)."""
    if discount_kind == "linear":
        return gain(grade) / z * _cut_rank(rank, beta, cut)
    if discount_kind == "sqrt":
        return gain(grade) / z * 2.0 * np.sqrt(1.0 + _cut_rank(rank, beta, cut))
    weight = 1.0 if cut is None else G(beta, rank - cut)
    return -gain(grade) / z * discount(rank, discount_kind) * weight


def _slope_of_rank(rank, grade, z, beta, cut, discount_kind):
    """Return c = f'(r)."""
    weight, slope_w = (1.0, 0.0) if cut is None else (G(beta, rank - cut), dG(beta, rank - cut))
    if discount_kind == "linear":
        return gain(grade) / z * weight
    if discount_kind == "sqrt":
        return gain(grade) / z * weight / np.sqrt(1.0 + _cut_rank(rank, beta, cut))
    d = discount(rank, discount_kind)
    if discount_kind == "log2":
        slope_d = -d * d * np.log(2.0) / ((1.0 + rank) * np.log(2.0) ** 2)
    elif discount_kind == "reciprocal":
        slope_d = -d * d
    else:
        # Straight lines, with kinks at whole ranks: there, the mean of the lines on both sides.
        ends = np.arange(1.0, len(discount_kind) + 3.0)
        lines = np.append(0.0, np.diff([discount(r, discount_kind) for r in ends]))
        lines[0] = lines[1]  # no rank is above 1
        sides = np.searchsorted(ends, [rank - 1e-6, rank + 1e-6], side="right")
        slope_d = np.mean(lines[np.minimum(sides, len(lines) - 1)])
    return -gain(grade) / z * (slope_d * weight + d * slope_w)


# ---- losses --------------------------------------------------------------------------------------


@any_gain
def sdcg(scores, grades, *, hinged=False, alpha=1.0, beta=1.0, frozen_at=None, **options):
    """Return SDCG or, with hinges, SHF-SDCG, whose cut-off moves with the scores."""
    at = scores if frozen_at is None else frozen_at
    z, cut, discount = _scale_and_cut(at, grades, hinged, alpha, **options)
    r = (shf_ranks if hinged else sdcg_ranks)(scores, grades, alpha)
    costs = zip(r, grades, strict=True)
    return sum(_cost_of_rank(rank, y, z, beta, cut, discount) for rank, y in costs)


def _scale_and_cut(at, grades, hinged, alpha, *, k=None, normalize=True, discount="linear", **_):
    # The ideal DCG has log2 where a rank itself, or its root, is the cost.
    ideal = "log2" if discount in ("linear", "sqrt") else discount
    z = ideal_dcg(grades, k, ideal) if normalize else 1.0
    return z, shf_width(at, grades, alpha, k) if hinged and k is not None else k, discount


shf_sdcg = partial(sdcg, hinged=True)


def fitted_by(target, grades, gain="exponential"):
    """Return what a regression fits."""
    return grades if target == "grade" else [worth(y, gain) for y in grades]


def regression(scores, grades, *, target="grade", gain="exponential", **_):
    t = fitted_by(target, grades, gain)
    return sum((s - u) ** 2 for s, u in zip(scores, t, strict=True))


def tau_of_round(m, M):
    """Return the share of the regression (19) in round m of M, gamma from tau_1 = 0.999999."""
    m = min(m, M)
    if M <= 2:
        return 0.999999 if m == 1 else 0.000001
    gamma = np.log(999999.0) / (M / 2.0 - 1.0)
    return 1.0 / (1.0 + np.exp(gamma * (m - M / 2.0)))


def fading(of_squares, of_centred_squares, of_ranking):
    """Return tau of a regression, centred by query or not, and 1 - tau of SHF-SDCG."""

    def faded(
        scores, grades, *, total_rounds, round, target="grade", center=True, tau=None, **rest
    ):
        t = tau_of_round(round, total_rounds) if tau is None else tau
        fitted = fitted_by(target, grades, rest.get("gain", "exponential"))
        squares = (of_centred_squares if center else of_squares)(scores, fitted)
        return t * squares + (1.0 - t) * of_ranking(scores, grades, **rest)

    return faded


def measured(target, grades):
    """Return a metric of grades in ranked order, with ranks r from 1."""
    relevant = [float(y > 0) for y in grades]
    ranked = list(enumerate(grades, start=1))
    if target == "map":
        return sum(y * sum(relevant[:r]) / r for r, y in enumerate(relevant, 1)) / sum(relevant)
    if target == "mrr":
        return next((1.0 / r for r, y in enumerate(relevant, 1) if y), 0.0)
    if target == "err":
        stops = [gain(y) / (1.0 + gain(max(grades))) for y in grades]
        return sum(
            s / r * math.prod(1.0 - before for before in stops[: r - 1])
            for r, s in enumerate(stops, 1)
        )
    if target == "arp":
        return sum(r * y for r, y in ranked) / sum(grades)
    name, _, k = target.partition("@")
    return sum(relevant[: int(k)]) / (int(k) if name == "precision" else sum(relevant))


def change_by_swap(target, scores, grades, i, j):
    """Return by how much a metric changes when two documents swap ranks."""
    order = sorted(range(len(scores)), key=lambda m: -scores[m])
    before = [grades[m] for m in order]
    a, b = order.index(i), order.index(j)
    after = list(before)
    after[a], after[b] = before[b], before[a]
    return abs(measured(target, after) - measured(target, before))


def lambdarank_pairs(
    scores,
    grades,
    *,
    truncation=None,
    sigma=1.0,
    norm=True,
    offset=0.01,
    discount_kind="log2",
    target="ndcg",
    variant="lambda",
    **_,
):
    """Return (i, j, w) for every pair y_i > y_j that counts, w the weight of its logistic loss."""
    n = len(scores)
    rank = ranks(scores)
    z = ideal_dcg(grades, truncation, discount_kind) if target == "ndcg" else 1.0
    pairs = []
    for i, j in _pairs(grades):
        if truncation is not None and min(rank[i], rank[j]) > truncation:
            continue
        if target in ("ndcg", "dcg"):
            apart = abs(rank[i] - rank[j])
            d = [discount(r, discount_kind, n) for r in (rank[i], rank[j], apart, apart + 1)]
            of_swap, of_distance = abs(d[0] - d[1]), d[2] - d[3]
            w = abs(gain(grades[i]) - gain(grades[j])) / z
            w *= {
                "lambda": of_swap,
                "ndcg-loss2": of_distance,
                "ndcg-loss2++": 10.0 * of_distance + of_swap,
            }[variant]
        else:
            w = change_by_swap(target, scores, grades, i, j)
        pairs.append((i, j, w))
    return normalised(scores, pairs, sigma, offset) if norm else pairs


def normalised(scores, pairs, sigma, offset):
    """Return pairs (i, j, w) with the weights that `norm` gives them."""
    if len(set(scores)) > 1:
        pairs = [(i, j, w / (offset + abs(scores[i] - scores[j]))) for i, j, w in pairs]
    total = sum(2.0 * sigma * w * G(sigma, scores[i] - scores[j]) for i, j, w in pairs)
    factor = np.log1p(total) / np.log(2.0) / total if total > 0 else 1.0
    return [(i, j, w * factor) for i, j, w in pairs]


@any_gain
def lambdarank(scores, grades, *, sigma=1.0, discount="log2", frozen_at=None, **rest):
    at = scores if frozen_at is None else frozen_at
    pairs = lambdarank_pairs(at, grades, sigma=sigma, discount_kind=discount, **rest)
    return sum(w * np.logaddexp(0.0, -sigma * (scores[i] - scores[j])) for i, j, w in pairs)


def _pairs(grades):
    return [(i, j) for i, j in permutations(range(len(grades)), 2) if grades[i] > grades[j]]


WORST_LEAD = -36.0  # where RankBoost's exponential continues as its tangent


def of_lead(name, *, sigma=1.0, margin=1.0, **_):
    """Return the loss of a pair, and the curvature that boosters get, as functions of x and m.

    x is the better document's lead, and m the pair's own margin, or None. RankNet's loss is the
    cross entropy of P = 1/(1 + e^{-sigma x}) and 1, FRank's 1 - sqrt(P). FRank's curvature is that
    of RankNet times sqrt(P)/2, RankBoost's the magnitude of its slope.
    """
    P = lambda x: G(1.0, -x)  # noqa: E731
    logistic = (
        lambda x, m: np.logaddexp(0.0, -sigma * x),
        lambda x, m: sigma**2 * G(sigma, x) * G(sigma, -x),
    )
    within = lambda x, m: float(x < (margin if m is None else m))  # noqa: E731
    return {
        "ranknet": logistic,
        "lambdarank": logistic,
        "ranksvm": (lambda x, m: max(0.0, (1.0 if m is None else m) - x), within),
        "gbrank": (lambda x, m: 0.5 * max(0.0, (margin if m is None else m) - x) ** 2, within),
        "rankboost": (
            lambda x, m: math.exp(-max(x, WORST_LEAD)) * (1.0 + max(0.0, WORST_LEAD - x)),
            lambda x, m: math.exp(-max(x, WORST_LEAD)),
        ),
        "frank": (
            lambda x, m: -np.expm1(-0.5 * np.logaddexp(0.0, -x)),
            lambda x, m: math.sqrt(P(x)) / 2.0 * P(x) * P(-x),
        ),
    }[name]


def _weights_of_pairs(
    name, at, grades, pairs, *, sigma=1.0, norm=None, offset=0.01, normalize=False, **rest
):
    """Return the weight of each pair (winner, loser, weight, margin or None)."""
    weights = [pair[2] for pair in pairs]
    if name == "lambdarank":
        graded = lambdarank_pairs(at, grades, sigma=sigma, norm=False, **rest)
        change = {frozenset((i, j)): delta for i, j, delta in graded}
        rank, top = ranks(at), rest.get("truncation") or len(at)
        for t, (i, j, *_) in enumerate(pairs):
            alone = 1.0 if min(rank[i], rank[j]) <= top else 0.0
            weights[t] *= alone if len(set(grades)) == 1 else change.get(frozenset((i, j)), 0.0)
    if norm or (norm is None and name == "lambdarank"):
        weighted = [(i, j, w) for w, (i, j, *_) in zip(weights, pairs, strict=True)]
        weights = [w for _, _, w in normalised(at, weighted, sigma, offset)]
    return [w / sum(pair[2] for pair in pairs) for w in weights] if normalize else weights


def preferences(scores, grades, pairs, *, name, frozen_at=None, **parameters):
    """Return the weighted sum of the losses of these pairs."""
    at = scores if frozen_at is None else frozen_at
    loss, _ = of_lead(name, **parameters)
    weights = _weights_of_pairs(name, at, grades, pairs, **parameters)
    leads = [(scores[i] - scores[j], m) for i, j, _, m in pairs]
    return sum(w * loss(*lead) for w, lead in zip(weights, leads, strict=True))


def preferences_gauss_newton(scores, grades, pairs, *, name, **parameters):
    """Add each pair's weighted curvature to both of its documents."""
    _, curvature = of_lead(name, **parameters)
    hess = np.zeros(len(scores))
    weights = _weights_of_pairs(name, scores, grades, pairs, **parameters)
    for w, (i, j, _, m) in zip(weights, pairs, strict=True):
        hess[[i, j]] += w * curvature(scores[i] - scores[j], m)
    return hess


def of_grades(of_pairs, name):
    """Return a loss, or curvature, of all pairs of different grade."""

    def graded(scores, grades, **parameters):
        pairs = [(i, j, 1.0, None) for i, j in _pairs(grades)]
        return of_pairs(scores, grades, pairs, name=name, **parameters)

    return graded


gbrank, ranknet, ranksvm, frank, rankboost = (
    of_grades(preferences, name) for name in ("gbrank", "ranknet", "ranksvm", "frank", "rankboost")
)
ranksvm_gauss_newton, frank_gauss_newton, rankboost_gauss_newton = (
    of_grades(preferences_gauss_newton, name) for name in ("ranksvm", "frank", "rankboost")
)


def softmax(values):
    powers = [np.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def cross_entropy(weights, scores):
    """Return that of the weights' shares and the softmax of the scores."""
    log_sum = np.logaddexp.reduce(scores)
    return sum(w / sum(weights) * (log_sum - s) for w, s in zip(weights, scores, strict=True))


def logistic(targets, scores):
    """Return the sum of logistic losses on these probabilities."""
    return sum(
        (1.0 - p) * np.logaddexp(0.0, s) + p * np.logaddexp(0.0, -s)
        for p, s in zip(targets, scores, strict=True)
    )


@ranking
def listnet(scores, grades, **_):
    """Cross entropy of the top-one probabilities."""
    return cross_entropy(softmax(grades), scores)


@ranking
def query_softmax(scores, grades, *, beta=1.0, **_):
    """Cross entropy with shares of the labels."""
    largest = max(grades)  # divides first: the smallest floats have too few digits for shares
    return cross_entropy([y / largest for y in grades], [beta * s for s in scores])


@any_gain
def xe_ndcg(scores, grades, *, gamma=None, **_):
    """Cross entropy with shares of 2^y - gamma; without draws, gamma is its mean."""
    kept = 1.0 - (0.5 if gamma is None else gamma)
    parts = [math.expm1(y * math.log(2.0)) + kept for y in grades]  # 2^y - 1, even of small grades
    return cross_entropy(parts, scores)


@ranking
def listmle(scores, grades, *, position_weights=False, **_):
    """Negative log-likelihood of choosing one by one; equal grades choose from the same rest."""
    n = len(scores)
    total = 0.0
    for i in range(n):
        rest = [s for s, y in zip(scores, grades, strict=True) if y <= grades[i]]
        weight = 1.0
        if position_weights:
            before = sum(y > grades[i] for y in grades)
            places = range(before + 1, before + list(grades).count(grades[i]) + 1)
            weight = np.mean([(2.0 ** (n - r) - 1.0) / (2.0 ** (n - 1) - 1.0) for r in places])
        top = max(rest)
        # In 80 bits: second differences of a sum of many logarithms lose four more digits.
        total += weight * (
            top - scores[i] + np.log(sum(np.exp(np.longdouble(s - top)) for s in rest))
        )
    return total


@ranking
def pearson(scores, grades, *, sigma=0.2, **_):
    """One minus the correlation of labels and scores with noise of variance sigma^2."""
    unit = max(max(map(abs, scores)), sigma)
    s = np.array(scores) / unit - np.mean(np.array(scores) / unit)
    y = np.array(grades) / max(map(abs, grades))
    y = y - np.mean(y)
    return 1.0 - s @ y / math.sqrt((s @ s + len(s) * (sigma / unit) ** 2) * (y @ y))


@ranking
def pearson_gauss_newton(scores, grades, *, sigma=0.2, **_):
    """Return the diagonal of J^T J, J the derivatives of u = a/N, times N / sqrt(n)."""
    n = len(scores)
    # The noise is one more entry, which does not depend on the scores.
    a = np.append(np.array(scores) - np.mean(scores), sigma * math.sqrt(n))
    size = math.sqrt(a @ a)
    centring = np.vstack([np.eye(n) - 1.0 / n, np.zeros(n)])
    J = (np.eye(n + 1) / size - np.outer(a, a) / size**3) @ centring
    return np.diag(J.T @ J) * size / math.sqrt(n)


def label_ranks(grades):
    """Return mid-ranks, the largest grade first."""
    return [sum(z > y for z in grades) + (sum(z == y for z in grades) + 1) / 2 for y in grades]


@ranking
def spearman(scores, grades, *, alpha=1.0, **_):
    """Spearman's formula, 6 sum d^2 / (n (n^2 - 1)), of mid-ranks and smooth ranks."""
    n = len(scores)
    d = np.array(sdcg_ranks(scores, grades, alpha)) - label_ranks(grades)
    return 6.0 * (d @ d) / (n * (n**2 - 1))


@ranking
def spearman_gauss_newton(scores, grades, *, alpha=1.0, **_):
    """Return the squared slope of the document's own rank, with the other ranks' mean slopes."""
    n = len(scores)
    hess = np.zeros(n)
    for p in range(n):
        slope = sum(dG(alpha, scores[p] - scores[j]) for j in range(n) if j != p)
        hess[p] = (slope**2 + slope**2 / (n - 1)) * 12.0 / (n * (n**2 - 1))
    return hess


def query_cross_entropy(scores, grades, *, top=1.0, **_):
    """Logistic loss at the best shift, found by bisection on leads over one document."""
    t = [min(y / top, 1.0) for y in grades]
    if nothing_to_rank(t):
        return 0.0
    own = sorted(scores, reverse=True)[min(int(sum(t)), len(t) - 1)]
    leads = [s - own for s in scores]
    least, most = min(leads) - 800.0, max(leads) + 800.0
    b = 0.5 * least + 0.5 * most
    while least < b < most:
        if sum(G(1.0, b - x) for x in leads) > sum(t):
            least = b
        else:
            most = b
        b = 0.5 * least + 0.5 * most
    return logistic(t, [x - b for x in leads])


def query_cross_entropy_majorizer(scores, grades, *, top=1.0, **_):
    """Return p (1 - p) at the best shift; p by the derivative of the loss."""
    t = np.array([min(y / top, 1.0) for y in grades])
    if nothing_to_rank(list(t)):
        return np.zeros(len(scores))
    p = gradient(lambda s: query_cross_entropy(s, grades, top=top), scores) + t
    return p * (1.0 - p)


@ranking
def query_rmse(scores, grades, **_):
    residuals = [y - s for y, s in zip(grades, scores, strict=True)]
    mean = math.fsum(residuals) / len(residuals)
    return 0.5 * sum((r - mean) ** 2 for r in residuals)


def calibrated(scores, grades, *, top=1.0, share=0.2, **_):
    """Return logistic loss on probabilities, and a cross entropy of the shares of sigmoids."""
    t = [min(y / top, 1.0) for y in grades]
    loss = (1.0 - share) / len(t) * logistic(t, scores)
    if sum(t) == 0.0 or nothing_to_rank(t):
        return loss
    return loss + share * cross_entropy(t, [-np.logaddexp(0.0, -s) for s in scores])


@any_gain
def yetirank(scores, grades, *, decay=0.85, target=None, discount="log2", frozen_at=None, **_):
    """Logistic loss on neighbours in the order by score, the only order without draws."""
    n, total = len(scores), 0.0
    at = scores if frozen_at is None else frozen_at
    rank = ranks(at)
    for i, j in _pairs(grades):
        if abs(rank[i] - rank[j]) == 1:
            w = (grades[i] - grades[j]) * decay ** (min(rank[i], rank[j]) - 1)
            if target in ("ndcg", "dcg"):
                d = [globals()["discount"](rank[m], discount, n) for m in (i, j)]
                w = (gain(grades[i]) - gain(grades[j])) * abs(d[0] - d[1])
                w /= ideal_dcg(grades, kind=discount) if target == "ndcg" else 1.0
            elif target is not None:
                w = change_by_swap(target, at, grades, i, j)
            total += w * np.logaddexp(0.0, scores[j] - scores[i])
    return total


def choices(scores, order, rank):
    """Return the documents that can still be placed at a rank (from 0), and their chances."""
    rest = order[rank:]
    return rest, softmax([scores[j] for j in rest])


@any_gain
def pl_rank(scores, grades, *, k=None, frozen_at=None, **_):
    """One minus the expected NDCG along the ranking by score, with each gain's chance to be next.

    The effect of the choice at a rank on the gains behind it enters through its log-chance.
    """
    known = scores if frozen_at is None else frozen_at
    order = sorted(range(len(scores)), key=lambda i: -known[i])
    value = 0.0
    for t, rest, _, _, behind in _choices_along(known, grades, k, order):
        _, chances = choices(scores, order, t)
        worth_now = sum(p * gain(grades[j]) for j, p in zip(rest, chances, strict=True))
        ahead = np.logaddexp.reduce([known[j] for j in rest])
        now = np.logaddexp.reduce([scores[j] for j in rest])
        value += discount(t + 1) * worth_now
        value += behind * ((scores[order[t]] - now) - (known[order[t]] - ahead))
    return 1.0 - value / ideal_dcg(grades, k)


def _choices_along(scores, grades, k, order):
    """Yield rank, rest, chances, mean gain, and the gains behind less as many mean ones."""
    cut = min(len(scores), k or len(scores))
    for t in range(cut):
        rest, chances = choices(scores, order, t)
        mean = sum(p * gain(grades[j]) for j, p in zip(rest, chances, strict=True))
        behind = [discount(x + 1) * (gain(grades[order[x]]) - mean) for x in range(t + 1, cut)]
        yield t, rest, chances, mean, sum(behind)


@any_gain
def pl_rank_gauss_newton(scores, grades, *, k=None, **_):
    """Return the sum of chance (1 - chance) (d (g + E) + |C|) over all choices."""
    hess = np.zeros(len(scores))
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    for t, rest, chances, mean, behind in _choices_along(scores, grades, k, order):
        for i, p in zip(rest, chances, strict=True):
            both = discount(t + 1) * (gain(grades[i]) + mean) + abs(behind)
            hess[i] += p * (1.0 - p) * both / ideal_dcg(grades, k)
    return hess


def beats(lead, sigma):
    """Return pi, the chance that a score leading by `lead` is still ahead when both are blurred."""
    return 0.5 * math.erfc(-lead / (2.0 * sigma))


def rank_distribution(chances):
    """Return P(r documents are ahead) from each one's chance, by inverting the transform."""
    n = len(chances) + 1
    roots = [cmath.exp(2j * math.pi * t / n) for t in range(n)]
    transform = [math.prod(1.0 - c + c * root for c in chances) for root in roots]
    return [sum(f * roots[-t * r % n] for t, f in enumerate(transform)).real / n for r in range(n)]


def expected_discount(chances, kind="log2"):
    n = len(chances) + 1
    return sum(p * discount(1.0 + r, kind, n) for r, p in enumerate(rank_distribution(chances)))


def _chances(scores, j, sigma):
    return {k: beats(scores[k] - scores[j], sigma) for k in range(len(scores)) if k != j}


@any_gain
def soft_ndcg(scores, grades, *, sigma=1.0, discount="log2", **_):
    expected = [
        gain(y) * expected_discount(_chances(scores, j, sigma).values(), discount) if y > 0 else 0.0
        for j, y in enumerate(grades)
    ]
    return 1.0 - sum(expected) / ideal_dcg(grades, kind=discount)


def slam_weights(grades, measure, kind="log2"):
    """Return v by (9), (31), (6) of Chaudhuri and Tewari, for grades in descending order."""
    n = len(grades)
    if measure == "map":
        R = sum(y > 0 for y in grades)
        return [1 / R - i / (R * (n - R + i)) if i <= R else 0.0 for i in range(1, n + 1)]
    if measure == "ndcg":
        last, z = gain(grades[-1]), ideal_dcg(grades, kind=kind)
        d = [discount(i, kind, n) - discount(n, kind, n) for i in range(1, n + 1)]
        return [(gain(y) - last) * fall / z for fall, y in zip(d, grades, strict=True)]
    k = int(measure.removeprefix("ndcg@"))
    z = ideal_dcg(grades, k, kind)
    return [gain(y) * discount(i, kind, n) / z if i <= k else 0.0 for i, y in enumerate(grades, 1)]


def slam_terms(scores, grades, measure, margin, discount="log2"):
    """Return (i, worst rival, v, c) for every document that has a rival."""
    n = len(grades)
    order = sorted(range(n), key=lambda i: -grades[i])
    weights = slam_weights([grades[i] for i in order], measure, discount)
    terms = []
    for i, v in zip(order, weights, strict=True):
        rivals = [j for j in range(n) if grades[j] < grades[i]]
        if rivals:
            worst = max(rivals, key=lambda j: scores[j])
            terms.append((i, worst, v, max(0.0, margin + (scores[worst] - scores[i]))))
    return terms


@any_gain
def slam(scores, grades, *, measure="ndcg", margin=1.0, discount="log2", **_):
    terms = slam_terms(scores, grades, measure, margin, discount)
    return sum(v * c for _, _, v, c in terms)


# ---- Chapelle, Wu: SmoothRank --------------------------------------------------------------------


def soft_indicators(scores, sigma, band=40.0):
    """Return h (7): row i is a document, column r - 1 a rank; e is 0 beyond the band."""
    n = len(scores)
    rank = ranks(scores)
    h = np.zeros((n, n))
    for centre in range(n):
        with np.errstate(over="ignore"):
            x = (np.array(scores) - scores[centre]) ** 2 / sigma
        e = np.where(x <= band, np.exp(-x), 0.0)  # (11)
        h[:, rank[centre] - 1] = e / e.sum()
    return h


def _smooth_sum(scores, values, weights, sigma, band):
    """Return sum_ij a_i b_j h_ij (8), or 0 where all a are equal; b is zero beyond its end."""
    if nothing_to_rank(values):
        return 0.0
    b = np.array(weights[: len(values)])
    return values @ soft_indicators(scores, sigma, band)[:, : len(b)] @ b


def _gains_and_discounts(grades, k, normalize, kind):
    z = ideal_dcg(grades, k, kind) if normalize else 1.0
    gains = [gain(y) / z if z > 0 else 0.0 for y in grades]
    return gains, [discount(j, kind, len(grades)) for j in range(1, len(grades) + 1)][:k]


@any_gain
def smooth_ndcg(
    scores, grades, *, k=50, sigma=1.0, normalize=True, discount="log2", band=40.0, **_
):
    return -_smooth_sum(scores, *_gains_and_discounts(grades, k, normalize, discount), sigma, band)


def smooth_precision(scores, grades, *, k=10, sigma=1.0, band=40.0, **_):
    return -_smooth_sum(scores, [float(y > 0) for y in grades], [1.0 / k] * k, sigma, band)


def smooth_ap(scores, grades, *, sigma=1.0, own=1.0, **_):
    """Return (9); `own` is the term j = i, printed as 1/2."""
    relevant = [float(y > 0) for y in grades]
    if nothing_to_rank(relevant):
        return 0.0
    n, total = len(grades), 0.0
    for i in range(n):
        above = [own if j == i else G(1.0 / sigma, scores[i] - scores[j]) for j in range(n)]
        rank = 1.0 + sum(above[:i]) + sum(above[i + 1 :])  # (5)
        total += sum(relevant[i] * relevant[j] * above[j] / rank for j in range(n))  # (9)
    return -total / sum(relevant)


# ---- Gauss-Newton curvatures, by the formulas stated in the objectives' files -------------------


@any_gain
def sdcg_gauss_newton(scores, grades, *, hinged=False, alpha=1.0, beta=1.0, **options):
    """Return sum_j (c_p + c_j) |slope of the pair's function| alpha/2.

    Where c is the gain over Z, pairs of SDCG, and of equal grade, count |c_p - c_j|.
    """
    n = len(scores)
    z, cut, discount = _scale_and_cut(scores, grades, hinged, alpha, **options)
    r = (shf_ranks if hinged else sdcg_ranks)(scores, grades, alpha)
    c = [_slope_of_rank(r[i], grades[i], z, beta, cut, discount) for i in range(n)]
    hess = np.zeros(n)
    for p, j in permutations(range(n), 2):
        x, hinge = scores[p] - scores[j], hinged and grades[p] != grades[j]
        wrong = hinge and (x < 0 if grades[p] > grades[j] else x > 0)
        slope = -alpha / 4.0 if wrong else dG(alpha, x)
        apart = discount == "linear" and cut is None and not hinge
        hess[p] -= (abs(c[p] - c[j]) if apart else c[p] + c[j]) * slope * alpha / 2.0
    return hess


shf_sdcg_gauss_newton = partial(sdcg_gauss_newton, hinged=True)


def regression_gauss_newton(scores, grades, **_):
    return np.full(len(scores), 2.0)


# Weights of QueryRMSE, RankNet and SHF-SDCG, then the parameters of the last two.
_BLENDS = {
    "lowest": (0.15, 0.0, 0.85, {}, 4.0),
    "low": (0.5, 0.25, 0.25, {"sigma": 2.0}, 2.0),
    "medium": (0.25, 0.4, 0.35, {"norm": True, "offset": 0.1}, 2.0),
    "high": (0.0, 0.75, 0.25, {"norm": True, "offset": 0.1}, 2.0),
    "highest": (0.0, 0.9, 0.1, {"norm": True, "offset": 0.01}, 2.0),
}


def blending(of_squares, of_pairs, of_ranking):
    """Return a weighted sum of QueryRMSE, RankNet and SHF-SDCG."""

    def blended(scores, grades, *, signal="medium", gain="exponential", **rest):
        q, r, s, pairs, alpha = _BLENDS[signal]
        top = of_ranking(scores, grades, alpha=alpha, gain=gain)
        return (
            q * of_squares(scores, grades) + r * of_pairs(scores, grades, **pairs, **rest) + s * top
        )

    return blended


def query_rmse_majorizer(scores, grades, **_):
    """Return 1, or 0 where there is nothing to rank."""
    return np.full(len(scores), 0.0 if nothing_to_rank(grades) else 1.0)


def calibrated_majorizer(scores, grades, *, top=1.0, share=0.2, **_):
    t = np.minimum(np.asarray(grades) / top, 1.0)
    yes = np.array([G(1.0, -s) for s in scores])  # p
    no = np.array([G(1.0, s) for s in scores])
    hess = (1.0 - share) * yes * no / len(t)
    if t.sum() == 0.0 or nothing_to_rank(list(t)):
        return hess
    log_yes = -np.logaddexp(0.0, -np.asarray(scores))
    pi = np.exp(log_yes - np.logaddexp.reduce(log_yes))
    return hess + share * no * (t / t.sum() * yes + no * pi * (1.0 - pi))


@any_gain
def soft_ndcg_gauss_newton(scores, grades, *, sigma=1.0, discount="log2", **_):
    """Return sum_j |lambda_pj| / (sigma sqrt(pi)), lambda_pj the pull through pi_pj alone."""
    n = len(scores)
    hess = np.zeros(n)

    def gained_by(k, j):
        """Return how much j's expected gain changes if k is surely ahead instead of behind."""
        chances = _chances(scores, j, sigma)
        ahead, behind = (
            expected_discount({**chances, k: c}.values(), discount) for c in (1.0, 0.0)
        )
        return gain(grades[j]) * (ahead - behind) / ideal_dcg(grades, kind=discount)

    for p, j in permutations(range(n), 2):
        x = (scores[p] - scores[j]) / (2.0 * sigma)
        slope = math.exp(-x * x) / (2.0 * sigma * math.sqrt(math.pi))
        pull = -(gained_by(p, j) - gained_by(j, p)) * slope
        hess[p] += abs(pull) / (sigma * math.sqrt(math.pi))
    return hess


@any_gain
def slam_gauss_newton(scores, grades, *, measure="ndcg", margin=1.0, discount="log2", **_):
    """Return the sum of v / margin over the positive hinges that each document is in."""
    hess = np.zeros(len(scores))
    for i, worst, v, c in slam_terms(scores, grades, measure, margin, discount):
        if c > 0:
            hess[[i, worst]] += v / margin
    return hess


def _indicator_gauss_newton(scores, values, weights, sigma, band=40.0):
    """Return |lambda| sqrt(2/sigma) summed over ranks, for a document and for the rank's own.

    With equal scores, a Newton step moves the document farthest from the mean by 30 sqrt(sigma).
    """
    n = len(scores)
    hess = np.zeros(n)
    if nothing_to_rank(values):
        return hess
    if len(set(scores)) == 1:
        steepest = np.sqrt(2.0 / sigma) * np.exp(-0.5)
        farthest = max(abs(values - np.mean(values)))
        return np.full(n, steepest * sum(weights[:n]) * farthest / n / (30.0 * np.sqrt(sigma)))
    h = soft_indicators(scores, sigma, band)
    at = np.argsort(ranks(scores))
    for j, b in enumerate(weights[:n]):
        mean = sum(values[i] * h[i, j] for i in range(n))
        for i in range(n):
            gap = scores[i] - scores[at[j]]
            size = abs(2.0 / sigma * b * (values[i] - mean) * h[i, j] * gap)
            hess[i] += size * np.sqrt(2.0 / sigma)
            hess[at[j]] += size * np.sqrt(2.0 / sigma)
    return hess


@any_gain
def smooth_ndcg_gauss_newton(
    scores, grades, *, k=50, sigma=1.0, normalize=True, discount="log2", **_
):
    worths = _gains_and_discounts(grades, k, normalize, discount)
    return _indicator_gauss_newton(scores, *worths, sigma)


def smooth_precision_gauss_newton(scores, grades, *, k=10, sigma=1.0, **_):
    return _indicator_gauss_newton(scores, [float(y > 0) for y in grades], [1.0 / k] * k, sigma)


def smooth_ap_gauss_newton(scores, grades, *, sigma=1.0, **_):
    """Return the magnitudes of each pull's two terms, over 2 sigma."""
    relevant = np.array([float(y > 0) for y in grades])
    n, total = len(grades), relevant.sum()
    if nothing_to_rank(relevant):
        return np.zeros(n)
    rank, count = np.ones(n), np.ones(n)
    for i, j in permutations(range(n), 2):
        rank[i] += G(1.0 / sigma, scores[i] - scores[j])
        count[i] += relevant[j] * G(1.0 / sigma, scores[i] - scores[j])

    def slope(i, j):
        """Return how A grows with the share by which j is above i."""
        return relevant[i] / total * (relevant[j] / rank[i] - count[i] / rank[i] ** 2)

    hess = np.zeros(n)
    for p, j in permutations(range(n), 2):
        size = abs(slope(p, j)) + abs(slope(j, p))
        hess[p] -= size * dG(1.0 / sigma, scores[p] - scores[j]) / (2.0 * sigma)
    return hess


# ---- derivatives by central differences ----------------------------------------------------------

# Offsets and coefficients of the central differences of eighth order. Their error at a step of
# 1e-2 is about 1e-16 of the ninth (tenth) derivative, and rounding adds about 1e-14 (1e-12).
_FIRST = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
_SECOND = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
STEP = 1e-2
REACH = max(_FIRST) * STEP  # how far one score moves; kinks must be farther away than this


def _differences(loss, scores, coefficients, sign):
    """Return the sum of c (loss ahead + sign * loss behind) for each score."""
    result = np.zeros(len(scores))
    for p in range(len(scores)):
        for offset, c in coefficients.items():
            ahead, behind = list(scores), list(scores)
            ahead[p] += offset * STEP
            behind[p] -= offset * STEP
            result[p] += c * (loss(ahead) + sign * loss(behind))
    return result


def gradient(loss, scores):
    return _differences(loss, scores, _FIRST, -1.0) / STEP


def hessian_diagonal(loss, scores):
    middle = loss(list(scores))
    return _differences(lambda s: loss(s) - middle, scores, _SECOND, 1.0) / STEP**2


def _exact(loss):
    def exact(scores, grades, **parameters):
        """Return the true diagonal of the loss, with frozen quantities frozen at the scores."""
        return hessian_diagonal(lambda s: loss(s, grades, frozen_at=scores, **parameters), scores)

    return exact


# ---- what the tests try --------------------------------------------------------------------------


def _squares_gradient(scores, grades, *, target="grade", gain="exponential", **_):
    t = fitted_by(target, grades, gain)
    return 2.0 * (np.asarray(scores) - np.asarray(t))


def _logistic_gradient(scores, grades, *, top=1.0, share=0.2, **_):
    t = [min(y / top, 1.0) for y in grades]
    yes = [G(1.0, -s) for s in scores]
    return (1.0 - share) / max(1, len(t)) * (np.array(yes) - np.array(t))


def floored(curvature):
    return lambda *query, **parameters: np.maximum(curvature(*query, **parameters), FLOOR)


def _weighted_squares_gradient(
    scores, grades, *, total_rounds, round, center=True, tau=None, **rest
):
    if center:
        return np.zeros(len(scores))
    t = tau_of_round(round, total_rounds) if tau is None else tau
    return t * _squares_gradient(scores, grades, **rest)


def _zero_and_margin(parameters: dict[str, Any]) -> tuple[float, ...]:
    return (0.0, parameters.get("margin", 1.0))


def _first_middle_last(parameters: dict[str, Any]) -> tuple[int | None, ...]:
    M = parameters["total_rounds"]
    return tuple(sorted({1, (M + 1) // 2, M}))


@dataclass(frozen=True)
class Oracle:
    """What is known about one objective. Hessians are those before the floor of 1e-10."""

    loss: Callable[..., float]
    parameters: Sequence[dict[str, Any]]
    gauss_newton: Callable[..., np.ndarray]
    exact: Callable[..., np.ndarray] | None = None  # None: the objective has no such choice
    # Which of them take different paths through the kernels. Unless stated otherwise, the defaults
    # and the last one.
    paths: Sequence[int] = (0, -1)
    rounds: Callable[[dict[str, Any]], tuple[int | None, ...]] = lambda parameters: (None,)
    # The gradient of a query in which there is nothing to rank.
    without_pairs: Callable[..., np.ndarray] = lambda scores, grades, **_: np.zeros(len(scores))
    # Score differences at which the second derivative jumps.
    kinks: Callable[[dict[str, Any]], tuple[float, ...]] = lambda parameters: (0.0,)
    # Whether the kernel's curvature is `gauss_newton` there too. Of two rivals in SLAM with the
    # same score, either may count.
    curvature_at_kinks: bool = True
    # In a loss that is one minus a number, digits below 1e-15 mean nothing.
    loss_atol: float = 1e-300


def _with_exact(loss, parameters, gauss_newton=None, **more):
    """Return the oracle of an objective that has the exact Hessian, alone or besides another."""
    return Oracle(loss, parameters, gauss_newton or _exact(loss), _exact(loss), **more)


_SDCG_PARAMETERS = (
    {},
    {"alpha": 0.3},
    {"alpha": 2.0, "normalize": False},
    {"discount": "sqrt", "alpha": 1.5},
    {"k": 1},
    {"k": 3, "alpha": 1.5, "beta": 0.7, "discount": "sqrt"},
    {"discount": "log2"},
    {"discount": "log2", "alpha": 0.3},
    {"discount": "log2", "alpha": 2.0, "normalize": False},
    {"discount": "log2", "k": 1},
    {"discount": "log2", "k": 3, "alpha": 1.5, "beta": 0.7},
    {"discount": "log2", "k": 2, "beta": 2.5, "normalize": False},
    {"discount": "reciprocal", "gain": "linear"},
    {"discount": "reciprocal", "k": 3, "beta": 0.7, "gain": "linear"},
    {"discount": (1.0, 0.7, 0.5, 0.1), "gain": np.sqrt},
    {"k": 10},
)

# Each discount, with and without a cut-off.
_SDCG_PATHS = (0, 5, 6, 10, 12, 13, 14, -1)

ORACLES = {
    "sdcg": Oracle(sdcg, _SDCG_PARAMETERS, sdcg_gauss_newton, paths=_SDCG_PATHS),
    "shf-sdcg": Oracle(shf_sdcg, _SDCG_PARAMETERS, shf_sdcg_gauss_newton, paths=_SDCG_PATHS),
    "reg-shf-sdcg": Oracle(
        fading(regression, query_rmse, shf_sdcg),
        (
            {"total_rounds": 10},
            {"total_rounds": 10, "center": False},
            {"total_rounds": 3, "center": False, "target": "gain", "gain": "linear"},
            {"total_rounds": 1},
            {"total_rounds": 4, "tau": 0.3, "k": 2},
            {"total_rounds": 3, "discount": "log2"},
            {"total_rounds": 2, "k": 2},
            {"total_rounds": 3, "target": "gain", "gain": "linear"},
            {"total_rounds": 3, "target": "gain", "alpha": 2.0},
            {"total_rounds": 25, "k": 3, "alpha": 0.6, "beta": 1.7, "normalize": False},
        ),
        fading(
            regression_gauss_newton, floored(query_rmse_majorizer), floored(shf_sdcg_gauss_newton)
        ),
        rounds=_first_middle_last,
        without_pairs=_weighted_squares_gradient,
    ),
    "lambdarank": _with_exact(
        lambdarank,
        (
            {},
            {"norm": False},
            {"sigma": 2.0, "norm": False},
            {"truncation": 1, "norm": False},
            {"truncation": 3, "sigma": 0.5, "norm": False},
            {"truncation": 2, "sigma": 1.7, "norm": True},
            {"truncation": 10, "norm": True},
            {"gain": np.sqrt, "discount": (1.0, 0.7, 0.5, 0.1), "norm": False},
            {"gain": "linear", "discount": "linear"},
            {"target": "dcg", "sigma": 0.5},
            {"target": "map"},
            {"target": "map", "norm": False, "truncation": 3},
            {"target": "mrr", "norm": False},
            {"target": "err", "gain": "linear"},
            {"target": "arp", "norm": False},
            {"target": "precision@2"},
            {"target": "recall@3", "norm": False},
            {"variant": "ndcg-loss2", "norm": False},
            {"offset": 0.3, "sigma": 0.7},
            {"offset": 0.003, "target": "map"},
            {"variant": "ndcg-loss2++", "truncation": 4},
            {"variant": "ndcg-loss2", "target": "dcg"},
        ),
        paths=(0, 1, 4, 5, 10),  # norm and truncation, each with and without the other
    ),
    "gbrank": _with_exact(
        gbrank,
        ({}, {"margin": 0.25, "normalize": True}, {"margin": 2.0}),
        kinks=_zero_and_margin,
    ),
    "ranknet": _with_exact(
        ranknet,
        (
            {},
            {"sigma": 0.4},
            {"norm": True},
            {"norm": True, "offset": 0.3, "sigma": 2.0},
            {"sigma": 2.5, "normalize": True},
        ),
        paths=(0, 2, 3, -1),
    ),
    "ranksvm": Oracle(
        ranksvm, ({}, {"normalize": True}), ranksvm_gauss_newton, kinks=_zero_and_margin
    ),
    "frank": Oracle(frank, ({}, {"normalize": True}), frank_gauss_newton),
    "rankboost": _with_exact(
        rankboost,
        ({}, {"normalize": True}),
        rankboost_gauss_newton,
        kinks=lambda parameters: (0.0, -WORST_LEAD),
    ),
    "listnet": _with_exact(listnet, ({},), paths=(0,)),
    "listmle": _with_exact(listmle, ({}, {"position_weights": True})),
    "query-softmax": _with_exact(
        query_softmax, ({}, {"beta": 0.4}, {"beta": 2.5}), loss_atol=1e-14
    ),
    "xe-ndcg": _with_exact(xe_ndcg, ({}, {"gamma": 0.0}, {"gamma": 1.0}, {"gain": "linear"})),
    "yetirank": _with_exact(
        yetirank,
        (
            {},
            {"decay": 0.5, "permutations": 1},
            {"target": "ndcg", "gain": "linear"},
            {"target": "map"},
        ),
    ),
    "pl-rank": Oracle(
        pl_rank,
        ({}, {"k": 1, "permutations": 1}, {"gain": "linear"}, {"k": 3}),
        pl_rank_gauss_newton,
        loss_atol=1e-14,
    ),
    "soft-ndcg": Oracle(
        soft_ndcg,
        ({}, {"sigma": 0.7}, {"sigma": 4.0}, {"gain": "linear", "discount": "reciprocal"}),
        soft_ndcg_gauss_newton,
        paths=(0, 2),
        loss_atol=1e-14,
    ),
    "smooth-ndcg": Oracle(
        smooth_ndcg,
        (
            {},
            {"k": None, "sigma": 0.3},
            {"k": 1, "sigma": 2.0},
            {"k": 3, "sigma": 0.6, "normalize": False},
            {"gain": "linear", "discount": "linear"},
        ),
        smooth_ndcg_gauss_newton,
        paths=(0, 3),
    ),
    "smooth-precision": Oracle(
        smooth_precision,
        ({}, {"k": 1, "sigma": 0.3}, {"k": 3, "sigma": 4.0}),
        smooth_precision_gauss_newton,
    ),
    "smooth-ap": Oracle(smooth_ap, ({}, {"sigma": 0.4}), smooth_ap_gauss_newton),
    "slam-ndcg": Oracle(
        slam,
        (
            {},
            {"margin": 0.4},
            {"measure": "ndcg@10"},
            {"measure": "ndcg@2", "margin": 2.0},
            {"gain": "linear", "discount": "reciprocal"},
        ),
        slam_gauss_newton,
        paths=(0, 3),
        kinks=_zero_and_margin,
        curvature_at_kinks=False,
    ),
    "slam-map": Oracle(
        slam,
        ({"measure": "map"}, {"measure": "map", "margin": 2.0}),
        slam_gauss_newton,
        kinks=_zero_and_margin,
        curvature_at_kinks=False,
    ),
    "blend": Oracle(
        blending(query_rmse, ranknet, shf_sdcg),
        (
            {},
            {"signal": "lowest"},
            {"signal": "low"},
            {"signal": "high"},
            {"signal": "highest", "gain": "linear"},
        ),
        blending(query_rmse_majorizer, _exact(ranknet), shf_sdcg_gauss_newton),
        paths=(0, 1, 2),
    ),
    "query-cross-entropy": _with_exact(
        query_cross_entropy,
        ({}, {"top": 4.0}, {"top": 2.5}),
        query_cross_entropy_majorizer,
        paths=(0, 1),
        loss_atol=1e-14,
    ),
    "query-rmse": _with_exact(query_rmse, ({},), query_rmse_majorizer, paths=(0,)),
    "pearson": Oracle(
        pearson, ({}, {"sigma": 1.5}, {"sigma": 5.0}), pearson_gauss_newton, loss_atol=1e-14
    ),
    "spearman": Oracle(
        spearman, ({}, {"alpha": 0.3}, {"alpha": 1.5}), spearman_gauss_newton, loss_atol=1e-14
    ),
    "calibrated": Oracle(
        calibrated,
        ({}, {"top": 4.0}, {"share": 0.0}, {"top": 2.5, "share": 0.9}),
        calibrated_majorizer,
        # With fewer than a dozen documents, only a large share shows that it is not convex.
        paths=(3,),
        without_pairs=_logistic_gradient,
    ),
    "regression": _with_exact(
        regression,
        ({}, {"target": "gain"}, {"target": "gain", "gain": "linear"}),
        regression_gauss_newton,
        paths=(0, 1),
        without_pairs=_squares_gradient,
    ),
}

NAMES = sorted(ORACLES)
CASES = [(name, parameters) for name in NAMES for parameters in ORACLES[name].parameters]
