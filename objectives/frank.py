r"""FRank: fidelity loss on the score difference of each pair.

Source
    Tsai, Liu, Qin, Chen, Ma: FRank: a ranking method with fidelity loss. SIGIR 2007. There, weak
    learners are added one at a time and each query is divided by its number of pairs. Here the
    host's Newton boosting lowers the loss, and the division is the option `normalize`. Pairs have
    target probability 1 for the document of higher grade; pairs of equal grade are left out.

Definition
    pairs y_i > y_j, x = s_i - s_j
    P(x) = 1/(1 + e^{-x}), the modelled probability that i belongs before j
    loss = sum_ij 1 - sqrt(P(x)): the fidelity of P and a target of 1,
    divided by the query's number of such pairs when `normalize`

    The loss of a pair tends to 0 as its lead grows and is never above 1: hopeless pairs are given
    up.

Symbols
    s scores, y grades, f(x) = 1 - sqrt(P), l(x) = - ln P RankNet's loss, so that f = 1 - e^{-l/2}

Gradient (exact)
    - f'(x) = sqrt(P) (1 - P)/2: grad_i += f', grad_j -= f'. RankNet's times sqrt(P)/2.

Hessians
    gauss-newton  (default) sqrt(P)/2 l''(x) = sqrt(P)/2 P (1 - P): f is a concave function of l, so
                  its tangent in l, RankNet's loss with the weight sqrt(P)/2 held constant, lies
                  above f and touches it; this is the curvature of that bound, never negative
    constant      1
    With `normalize` the first is divided like the loss, before any floor.

Degenerate queries
    Fewer than two documents, or all grades equal: zero loss and gradient.

Numerics
    Exponentials get only non-positive arguments; no score overflows. 1 - sqrt(P) is formed as
    (1 - P)/(1 + sqrt(P)), which does not cancel for P near 1. Sums of exponentials agree with those
    over pairs to 1e-11 of the query's largest gradient.

Cost
    O(n log n); up to 640 documents, all pairs are visited. With z = e^{-|x|}, a pair has
        2 f' = z (1 + z)^{-3/2} in the right order, sqrt(z) (1 + z)^{-3/2} in the wrong one,
    and loss and curvatures are likewise a power of sqrt(z) times a smooth function of z: all are
    sums of powers of e^{-|x|/2}, which `parts` adds up by grade.

When to use
    When some grades are plainly wrong. A pair that is far off is given up: its pull tends to zero,
    whereas RankNet's stays and RankBoost's grows. Lists may have any length.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .base import Objective
from .contract import MAJORIZER_OR_CONSTANT, Contract, Cost
from .engine.columns import Rules
from .engine.far_field import constant, fit_of, pair_entry, powers_of_z
from .engine.logistic import scale_sums
from .engine.pairs import Document, pair_loop
from .engine.sigmoid import Sums, sigmoid_kernel
from .parameters import flag
from .validation import Floats

RATE = 0.5  # sums of exponentials are powers of e^{-|x|/2}
TERMS = 40


def of_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return 2 f' and twice the curvature of the bound, from e^{s/2} of both documents."""
    unit = 1.0 / math.sqrt(better.decay * better.decay + worse.decay * worse.decay)
    root, rest = better.decay * unit, worse.decay * unit * worse.decay * unit  # sqrt(P), 1 - P
    pull = root * rest
    return pull, pull * (root * root)


def of_loss(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return nothing, and half of the loss: each document has a share."""
    unit = 1.0 / math.sqrt(better.decay * better.decay + worse.decay * worse.decay)
    root, rest = better.decay * unit, worse.decay * unit * worse.decay * unit
    return 0.0, 0.5 * rest / (1.0 + root)


def _powers(first: int, smooth: Any) -> Floats:
    """Return z^{first/2} times a smooth function of z, as powers of sqrt(z)."""
    return powers_of_z(smooth, first=first, step=2, terms=TERMS)


_RIGHT, _WRONG = (_powers(first, lambda z: (1.0 + z) ** -1.5) for first in (2, 1))
_PULLS = pair_entry(_RIGHT, _WRONG, odd=True)
FIT = fit_of(_PULLS, pair_entry(*(_powers(first, lambda z: (1.0 + z) ** -2.5) for first in (2, 3))))
LOSS_FIT = fit_of(
    _PULLS,
    pair_entry(
        0.5 * _powers(2, lambda z: 1.0 / (1.0 + z + np.sqrt(1.0 + z))),
        0.5 * (constant(1.0, TERMS) - _powers(1, lambda z: (1.0 + z) ** -0.5)),
    ),
)


@dataclass(frozen=True, kw_only=True)
class FRank(Objective):
    """Fidelity loss on pairs: bounded, so that hopeless pairs cannot dominate.

    ``loss = sum over y_i > y_j of 1 - sqrt(P)`` with ``P = 1/(1 + exp(-(s_i - s_j)))``, after Tsai,
    Liu, Qin, Chen, Ma (SIGIR 2007).

    Parameters
    ----------
    normalize : bool, default False
        Average over the query's pairs, as the paper does, so that queries count alike. By default,
        as in all pairwise losses here, a query counts by its number of pairs, which ranked no
        worse.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        That of the RankNet loss that bounds this one from above: the exact diagonal is indefinite,
        and ranked no better. Constant is plain gradient boosting.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Exact gradient; O(n log n) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> boostrank.FRank().loss([0.0, 0.0, 1000.0, 0.0, 0.0, 1000.0], [1, 0] * 3, [2] * 3).round(3)
    array([0.293, 0.   , 1.   ])
    """

    name: ClassVar[str] = "frank"
    kernel = sigmoid_kernel(
        Sums(pair_loop(of_pair), FIT, finish=scale_sums),
        Sums(pair_loop(of_loss), LOSS_FIT, finish=scale_sums),
    )
    claims: ClassVar[Contract] = Contract(cost=Cost.N_LOG_N)
    hessians = MAJORIZER_OR_CONSTANT

    normalize: bool = flag(False)
    hessian: str = "gauss-newton"

    def _params(self, draws: Any = None) -> Rules:
        return Rules(RATE, -0.5, 0.5, normalize=self.normalize)
