"""`perturb`: noise on the scores that a host asks about, redrawn in every round."""

from functools import partial

import numpy as np
import pytest
import training
import xgboost as xgb
from scipy.stats import gumbel_r, kstest, norm
from training import MODEL, ROUNDS, loop, matrix, predicted, train

import boostrank

# Noise is read from a regression on labels that are all equal.
pytestmark = pytest.mark.filterwarnings("ignore:no query has two different labels:UserWarning")

NAMES = ("shf-sdcg", "smooth-ndcg", "reg-shf-sdcg")
KINDS = ("gumbel", "gaussian")
make_objective = partial(training.make_objective, rounds=2 * ROUNDS)


def noise_of(objective, n, round):
    """Return what is added to n scores, as the gradients of a regression show it."""
    labels, zeros, group = np.zeros(n), np.zeros(n, np.float32), [n]
    regression = boostrank.Regression(
        perturb=objective.perturb, perturb_scale=objective.perturb_scale, seed=objective.seed
    )
    d = xgb.DMatrix(zeros[:, None], labels, group=group)
    return regression(round - 1, zeros, d)[0].astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_noise(kind):
    objective = boostrank.SDCG(perturb=kind, perturb_scale=2.0, seed=5)
    n = 200_000
    first = noise_of(objective, n, 1)
    distribution = {"gumbel": gumbel_r, "gaussian": norm}[kind](scale=2.0)
    assert kstest(first, distribution.cdf).pvalue > 0.01
    assert np.array_equal(noise_of(objective, n, 1), first)
    for other in (noise_of(objective, n, 2), noise_of(objective.replace(seed=6), n, 1)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.02
    half = noise_of(objective.replace(perturb_scale=1.0), n, 1)
    np.testing.assert_allclose(first, 2.0 * half, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_training(host, data, name, kind):
    """All rounds, and continued training: compared with a loop that adds noise by hand."""
    objective = make_objective(name, perturb=kind, perturb_scale=0.5, seed=3)
    first = train(host, objective, data, 2)
    booster = train(host, objective, data, ROUNDS - 2, **{MODEL[host]: first})
    want = predicted(loop(host, objective, data), data.X)
    atol = {"lightgbm": 0.0, "xgboost": 1e-5}[host]
    np.testing.assert_allclose(predicted(booster, data.X), want, rtol=1e-4, atol=atol)
    without = train(host, make_objective(name, perturb=None), data)
    assert np.abs(predicted(without, data.X) - want).max() > 1e-3


def test_the_default_of_shf_sdcg(data):
    """Alone in a host it learns with noise. As part of a mixture, it gets the mixture's noise."""
    noisy = {name for name in boostrank.objective_names() if make_objective(name).perturb}
    assert noisy == {"blend", "reg-shf-sdcg", "shf-sdcg"}
    shf, ranknet = boostrank.SHFSDCG(), boostrank.RankNet()
    assert shf == boostrank.SHFSDCG(perturb="gumbel", perturb_scale=0.5, seed=0)
    scores, rows = np.zeros(len(data.y), np.float32), matrix(data)
    for perturb in (None, "gumbel"):
        mix = boostrank.Mix(ranknet, shf, 0.0, perturb=perturb, perturb_scale=0.5, rescale=False)
        alone = shf.replace(perturb=perturb, rescale=False)
        np.testing.assert_array_equal(mix(0, scores, rows)[0], alone(0, scores, rows)[0])
