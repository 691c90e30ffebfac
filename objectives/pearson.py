r"""Pearson: one minus the correlation of scores and labels, inside each query.

Source
    Pearson's correlation, the information coefficient by which forecasts of returns are judged. The
    width `sigma` is added here: see below.

Definition
    a_i  = s_i - mean s, b_i = y_i - mean y
    N^2  = sum_i a_i^2 + n sigma^2                                               (1)
    u_i  = a_i / N, v_i = b_i / sqrt(sum_j b_j^2)
    c    = sum_i u_i v_i,  loss = 1 - c                                          (2)

    c is the correlation of the labels with scores that carry noise of standard deviation sigma. The
    plain correlation, sigma = 0, has no gradient where all scores of a query are equal, as they are
    in a booster's first round, and an unbounded gradient near it: queries that happen to have
    almost equal scores would drown out the others. With sigma, training begins as a regression on
    standardised labels and turns to the correlation as the scores grow beyond sigma.

Symbols
    s scores, y labels: any finite numbers

Gradient (exact)
    grad_i = -(v_i - c u_i) / N

Hessians
    gauss-newton  (default) (1 - 1/n - u_i^2) / (sqrt(n) N): the bracket is that of
                  1/2 sum (u - v)^2, which is the loss except for the length of u. With the factor
                  after it, a Newton step is the residual of standardised labels after the scores'
                  best fit, sqrt(n) (v_i - c u_i), whatever the scale of the scores: the step of a
                  regression. With 1/N^2 steps would be proportional to the scores, and the first
                  tree would dominate for a long time.
    constant      1

Degenerate queries
    Fewer than two documents, or all labels equal: zero loss and gradient.

Numerics
    Scores and labels are divided by their largest distance from the mean before they are squared.

Cost
    O(n).

When to use
    When the label is a number, such as a return, and distances between labels count, outliers
    included; or when the model is judged by the correlation. If only the order of labels counts,
    use `spearman`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract
from .engine.driver import query_kernel
from .engine.jit import jit_helper
from .engine.order import all_equal
from .parameters import schedulable
from .schedules import Schedule
from .validation import NUMBERS, Floats

# Reciprocals of larger numbers fit float64.
SMALL = 1e-300


class PearsonParams(NamedTuple):
    """The kernel's parameters."""

    sigma: float


@jit_helper
def _centre(values: Floats, out: Floats) -> float:
    """Write the values minus their mean, over the largest distance from it, which is returned."""
    n = len(values)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(values[i]))
    share = 2.0**500 if largest < SMALL else 1.0
    mean = 0.0
    for i in range(n):
        out[i] = share * (values[i] - values[0])
        mean += out[i] / n
    unit = 0.0
    for i in range(n):
        out[i] -= mean
        unit = max(unit, abs(out[i]))
    for i in range(n):
        out[i] = out[i] / unit if unit > 0.0 else 0.0
    return unit / share


@query_kernel(PearsonParams)
def _kernel(
    p: PearsonParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    if all_equal(labels):
        return 0.0
    u, v = np.empty(n), np.empty(n)
    unit = _centre(scores, u)
    _centre(labels, v)
    squares, size = 0.0, 0.0
    for i in range(n):
        squares += u[i] * u[i]
        size += v[i] * v[i]
    if unit > p.sigma:
        norm = math.sqrt(squares + n * (p.sigma / unit) ** 2)  # (1), in units
    else:
        squares *= (unit / p.sigma) ** 2
        norm = math.sqrt(squares + n)
        for i in range(n):
            u[i] *= unit / p.sigma
        unit = p.sigma
    correlation = 0.0
    for i in range(n):
        u[i] /= norm
        v[i] /= math.sqrt(size)
        correlation += u[i] * v[i]  # (2)
    for i in range(n):
        grad[i] = -(v[i] - correlation * u[i]) / norm / unit
        hess[i] = max(1.0 - 1.0 / n - u[i] * u[i], 0.0) / norm / unit / math.sqrt(n)
    return 1.0 - correlation


@dataclass(frozen=True, kw_only=True)
class Pearson(Objective):
    """One minus Pearson's correlation of the scores with the labels of a query.

    ``loss = 1 - sum_i a_i b_i / sqrt((sum_i a_i^2 + n sigma^2) sum_i b_i^2)`` with a and b the
    scores and labels minus their means. This is the correlation, or information coefficient, of
    scores that carry noise of width sigma, and the plain one if they are much wider. Labels may be
    any finite numbers.

    Parameters
    ----------
    sigma : float or Schedule, default 0.2
        Width of the scores below which their correlation fades, positive. Its unit is that of a
        Newton step, one standard deviation of the labels. It keeps gradients finite where all
        scores of a query are equal, as in the first round. A smaller one brings the plain
        correlation, and overfitting, sooner.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        A surrogate with which a Newton step is the residual of standardised labels; 1.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n) time and memory for a query of n documents.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.Pearson()
    >>> grad, hess = objective.grad_hess([0.0, 0.0, 0.0], [0.03, -0.01, -0.02], [3])
    >>> grad.round(3).tolist()
    [-2.315, 0.772, 1.543]
    """

    name: ClassVar[str] = "pearson"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(labels=NUMBERS)
    hessian_share: ClassVar[float] = 0.1

    # Of .01 to 1 on synthetic returns of four signal strengths, .1 to .4 had the best validation
    # correlation: the less, the weaker the signal.
    sigma: float | Schedule = schedulable(0.2)
    hessian: str = "gauss-newton"
