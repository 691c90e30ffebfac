"""Objectives whose labels may be any number: their limits, and that they learn."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

import boostrank
from boostrank.datasets import RankingData
from boostrank.lab.models import HOSTS
from boostrank.lab.settings import Settings

LEARN = (boostrank.Pearson(), boostrank.Spearman(), boostrank.ListMLE(), boostrank.QueryRMSE())


def returns(rng, n_queries=40, n_docs=50):
    """Return data with noisy labels below and above zero, each query with a level of its own."""
    X = rng.normal(size=(n_queries * n_docs, 8))
    level = np.repeat(rng.normal(size=n_queries), n_docs)
    y = 0.02 * X.sum(axis=1) + 0.04 * rng.normal(size=len(X)) + 0.1 * level
    return RankingData(X, y, np.repeat(np.arange(n_queries), n_docs))


@pytest.mark.compiled
@pytest.mark.parametrize("objective", LEARN, ids=lambda o: repr(o)[:28])
def test_training_from_equal_scores_learns(objective, host, rng):
    """In the first round a correlation has no gradient of its own: all scores are equal."""
    train, held = returns(rng).split(2, seed=0)
    model, _ = HOSTS[host].train(objective, train, Settings(rounds=20, learning_rate=0.3))
    one, *_, many = (
        boostrank.evaluate(scores, held.y, held.group, ["spearman"])["spearman"]
        for scores in model.staged(held.X)
    )
    assert one > 0.1
    assert many > one + 0.1


@pytest.mark.parametrize("n", [12, 300])
def test_spearman_of_scores_far_apart_is_scipys(n, rng):
    scores, labels = rng.permutation(n).astype(float), rng.permutation(n) / 2
    rho = spearmanr(scores, labels)[0]
    assert 1.0 - boostrank.Spearman().loss(1e3 * scores, labels, [n])[0] == pytest.approx(rho)
    labels = rng.integers(-4, 5, n) / 2
    for objective in (boostrank.Spearman(), boostrank.ListMLE()):  # only the order of labels counts
        got = objective.grad_hess(scores, np.exp(labels) - 7.0, [n])
        np.testing.assert_array_equal(got, objective.grad_hess(scores, labels, [n]))


def test_the_likelihood_of_large_equal_scores():
    loss = boostrank.ListMLE().loss([1e300, 1e300], [1, 0], [2])
    np.testing.assert_allclose(loss, np.log(2.0))


def test_pearson_of_wide_scores_is_scipys(rng):
    scores, labels = rng.normal(size=50), rng.normal(size=50) - 3.0
    value = 1.0 - boostrank.Pearson(sigma=1e-6).loss(scores, labels, [50])[0]
    assert value == pytest.approx(pearsonr(scores, labels)[0], rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, 300.0])
def test_spearman_of_a_long_list_is_that_of_its_pairs(gap, rng):
    """All labels are different: one level of the far field, whatever their number.

    With the gap, the exponentials of one block have no accurate ratios.
    """
    n, alpha = 900, 1.3
    scores, labels = rng.normal(size=n), rng.normal(size=n)
    scores[::2] += gap
    t = n - np.argsort(np.argsort(labels))
    x = alpha * (scores[:, None] - scores)
    rho = 1.0 / (2.0 + np.exp(x) + np.exp(-x))
    v = n * (n**2 - 1) / 12
    c = (1.0 / (1.0 + np.exp(x))).sum(axis=1) + 0.5 - t
    grad, hess = boostrank.Spearman(alpha=alpha).grad_hess(scores, labels, [n])
    want = -alpha / v * ((c[:, None] - c) * rho).sum(axis=1)
    np.testing.assert_allclose(grad, want, rtol=1e-9, atol=1e-10 * np.abs(want).max())
    want = alpha**2 / v * n / (n - 1) * (rho.sum(axis=1) - 0.25) ** 2
    np.testing.assert_allclose(hess, want, rtol=1e-9)
