r"""Calibrated: regression-compatible ranking, whose scores are log-odds of relevance.

Source
    Bai, Jagerman, Qin, Yan, Kar, Lin, Wang, Bendersky, Najork: Regression compatible listwise
    objectives for calibrated ranking with binary relevance. CIKM 2023 (arXiv 2211.01494). There
    labels are 0 or 1. Here a label is a probability, which the paper's derivation allows.

Definition
    t_i  = min(y_i / top, 1)                      the probability that i is relevant
    p_i  = 1/(1 + e^{-s_i}),  pi_i = p_i / sum_j p_j,  q_i = t_i / C,  C = sum_j t_j
    R    = - (1/n) sum_i t_i ln p_i + (1 - t_i) ln(1 - p_i)         the regression
    L    = - sum_i q_i ln pi_i                                      the order, with sigmoids
    loss = (1 - share) R + share L

    With a softmax of the scores in place of pi, as in ListNet, the two parts would be best at
    different scores. Here R is smallest at p = t, and L wherever p is proportional to t. So p = t
    is best for both, and learning the order costs no calibration.

Symbols
    s scores, y labels, n documents; the paper's alpha is 1 - share

Gradient (exact)
    grad_i = (1 - share)/n (p_i - t_i) + share (1 - p_i)(pi_i - q_i)

Hessians
    majorizer     (default, "gauss-newton") the exact diagonal without its negative term,
                  - share (1 - p_i) p_i pi_i:
                  (1 - share)/n p_i (1 - p_i)
                  + share (1 - p_i) (q_i p_i + (1 - p_i) pi_i (1 - pi_i))
    constant      1

Degenerate queries
    Fewer than two documents, all t equal, or all t zero: R alone. These queries still teach how
    likely documents are to be relevant at all.

Numerics
    ln p is computed without p, and pi as a softmax of ln p. Nothing overflows, and scores so low
    that p is 0 keep their order.

Cost
    O(n).

When to use
    When scores are compared across queries, multiplied by a price or shown as a probability. If
    only the order counts, use Blend, which is made for nothing else.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import MAJORIZER_OR_CONSTANT, Contract
from .engine.driver import query_kernel
from .engine.jit import jit_helper
from .engine.order import all_equal
from .parameters import checked, positive
from .validation import Floats, check_share


class CalibratedParams(NamedTuple):
    """The kernel's parameters."""

    top: float
    share: float


@jit_helper
def _order(
    p: CalibratedParams,
    logs: Floats,
    likely: Floats,
    scores: Floats,
    targets: Floats,
    total: float,
    best: float,
    grad: Floats,
    hess: Floats,
) -> float:
    """Add the derivatives of share L, and return it."""
    mass = 0.0
    for i in range(len(logs)):
        mass += math.exp(logs[i] - best)
    loss = 0.0
    for i in range(len(logs)):
        pi = math.exp(logs[i] - best) / mass
        q = targets[i] / total
        loss -= p.share * q * (logs[i] - best - math.log(mass))
        unlikely = math.exp(logs[i] - scores[i])
        grad[i] += p.share * unlikely * (pi - q)
        hess[i] += p.share * unlikely * (q * likely[i] + unlikely * pi * (1.0 - pi))
    return loss


@query_kernel(CalibratedParams)
def _kernel(
    p: CalibratedParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    n = len(scores)
    targets, logs, likely = np.empty(n), np.empty(n), np.empty(n)
    loss = total = 0.0
    best = -np.inf
    for i in range(n):
        targets[i] = min(labels[i] / p.top, 1.0)
        total += targets[i]
        tail = math.exp(-abs(scores[i]))
        logs[i] = min(scores[i], 0.0) - math.log1p(tail)
        best = max(best, logs[i])
        likely[i] = (1.0 if scores[i] >= 0.0 else tail) / (1.0 + tail)
        unlikely = (tail if scores[i] >= 0.0 else 1.0) / (1.0 + tail)
        other = max(scores[i], 0.0) + math.log1p(tail)  # - ln (1 - p)
        loss += (1.0 - p.share) / n * ((1.0 - targets[i]) * other - targets[i] * logs[i])
        grad[i] = (1.0 - p.share) / n * (likely[i] - targets[i])
        hess[i] = (1.0 - p.share) / n * likely[i] * unlikely
    if total > 0.0 and not all_equal(targets):
        loss += _order(p, logs, likely, scores, targets, total, best, grad, hess)
    return loss


@dataclass(frozen=True, kw_only=True)
class Calibrated(Objective):
    """Log-odds of relevance that also rank: logistic loss and a cross entropy of sigmoids.

    ``loss = (1 - share) R + share L``: R the mean logistic loss of a query's documents, L the cross
    entropy between the shares of its labels and of its sigmoids, ``-sum_i q_i ln pi_i``, after Bai
    et al. (CIKM 2023). Probabilities equal to the labels are best for both, so
    ``1/(1 + exp(-score))`` is the probability that a document is relevant.

    Parameters
    ----------
    top : float, default 1.0
        The label that means certainly relevant, positive. A label y is the probability y / top, and
        a label above `top` counts as 1. The default takes labels from 0 to 1 as probabilities, and
        every grade from 1 up as relevant. For grades from 0 to 4 that are degrees of relevance,
        pass 4.
    share : float, default 0.2
        Weight of L, from 0 to 1. 0 is logistic regression. On OHSUMED, MQ2008 and a Yandex set, 0.2
        was better calibrated than 0.5 and 0.8 after 100 to 300 trees, and ranked no worse.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        An upper bound of the exact diagonal, which is indefinite; 1.
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
    >>> grad, hess = boostrank.Calibrated().grad_hess([0.0, 0.0], [1, 0], [2])
    >>> grad.tolist(), hess.tolist()
    ([-0.25, 0.25], [0.1625, 0.1125])
    """

    name: ClassVar[str] = "calibrated"
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(shift_invariant=False, metric_offset=0.0)
    hessians = MAJORIZER_OR_CONSTANT

    top: float = positive(1.0)
    share: float = checked(check_share, 0.2)
    hessian: str = "gauss-newton"
