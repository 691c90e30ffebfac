"""How good scores are as log-odds of relevance: log loss, Brier score, calibration error.

The probability of a score s is p = 1/(1 + e^-s). The target t of a label y is y / max(1, Y), where
Y is the top grade, by default the largest label passed: labels from 0 to 1 are probabilities, and
grades are shares of the top grade.
"""

from collections.abc import Callable

import numpy as np

from boostrank.objectives.validation import Floats

#: Number of bins of equal width for the probabilities from 0 to 1.
BINS = 10

#: ``function(scores, targets, weight) -> value`` over documents.
OfDocuments = Callable[[Floats, Floats, Floats], float]


def probabilities(scores: Floats) -> Floats:
    """Return 1/(1 + e^-s) of each score, without overflow."""
    tail = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, tail) / (1.0 + tail)


def targets(labels: Floats, top: float) -> Floats:
    """Return the probability that each label stands for: its share of `top`, at most 1."""
    return np.minimum(labels / top, 1.0)


def are_probabilities(scores: Floats, targets: Floats) -> bool:
    """Tell whether scores from 0 to 1 are nearer to their targets as they are than as log-odds."""
    if not 0.0 <= scores.min(initial=1.0) < scores.max(initial=0.0) <= 1.0:
        return False
    return bool(np.mean((scores - targets) ** 2 - (probabilities(scores) - targets) ** 2) < 0.0)


def log_loss(scores: Floats, targets: Floats, weight: Floats) -> float:
    """Return the mean of -t ln p - (1 - t) ln(1 - p)."""
    losses = np.logaddexp(0.0, scores) - targets * scores
    return float(np.average(losses, weights=weight))


def brier(scores: Floats, targets: Floats, weight: Floats) -> float:
    """Return the mean of (p - t)^2."""
    return float(np.average((probabilities(scores) - targets) ** 2, weights=weight))


def bin_of(p: Floats, bins: int = BINS) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the bin of each probability, from 0; the last one also holds 1."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)


def calibration_error(scores: Floats, targets: Floats, weight: Floats) -> float:
    """Return the mean over documents of |mean p - mean t| in their bin."""
    p = probabilities(scores)
    off = np.bincount(bin_of(p), weight * (p - targets), BINS)
    return float(np.abs(off).sum() / weight.sum())
