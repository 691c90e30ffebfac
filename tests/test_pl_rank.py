"""PL-Rank's estimates, averaged over all rankings by their chances, are the derivatives."""

from itertools import permutations

import numpy as np
import pytest
from boostrank.objectives import PLRank
from oracle import choices, dcg, gradient, ideal_dcg

GRADES = [0.0, 2.0, 1.0, 0.0]
SCORES = [0.3, -0.4, 0.9, -1.1]


def chance(scores, order):
    """Return the chance of a ranking in the Plackett-Luce model."""
    return np.prod([choices(scores, order, t)[1][0] for t in range(len(order))])


def expected_loss(scores, k):
    """Return one minus the expected NDCG, over all rankings."""
    n = len(scores)
    value = 0.0
    for order in permutations(range(n)):
        placed = [-float(order.index(i)) for i in range(n)]
        value += chance(scores, order) * dcg(placed, GRADES, k)
    return 1.0 - value / ideal_dcg(GRADES, k)


def estimates(objective, scores):
    """Yield each ranking's chance, and the gradient and Hessian when it is drawn."""
    n = len(scores)
    for order in permutations(range(n)):
        noisy = np.array([10.0 - order.index(i) for i in range(n)])
        uniforms = np.exp(-np.exp(scores - noisy))
        arrays = np.array(scores), np.array(GRADES), np.array([0, n])
        grad, hess = np.empty(n), np.empty(n)
        objective.write_derivatives(*arrays, None, grad, hess, uniforms[None])
        yield chance(scores, order), grad, hess


@pytest.mark.parametrize("k", [None, 1, 2])
def test_gradients_are_unbiased(k):
    want = gradient(lambda s: expected_loss(s, k), SCORES)
    got = sum(p * grad for p, grad, _ in estimates(PLRank(k=k), SCORES))
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_more_draws_are_nearer_to_the_gradient(rng):
    """The mean of draws tends to the gradient: its error falls with the root of their number."""
    want = gradient(lambda s: expected_loss(s, None), SCORES)
    arrays = np.array(SCORES), np.array(GRADES), np.array([0, 4])
    grad, hess = np.empty(4), np.empty(4)
    PLRank().write_derivatives(*arrays, None, grad, hess, rng.random((40_000, 4)))
    np.testing.assert_allclose(grad, want, atol=3e-3)
