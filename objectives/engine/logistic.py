"""Logistic losses of pairs, which RankNet and LambdaRank share, and their `norm`.

With rho_ij = 1/(1 + e^{rate (s_i - s_j)}) of a better document i and a worse one j, a pair pulls
with w rho, has the curvature w rho (1 - rho) and the loss w ln(1 + e^{-rate (s_i - s_j)}). With
`norm`, w is divided by `Rules.offset` plus |s_i - s_j|, and a query's sums are multiplied by
log2(1 + L)/L, where L is the sum of |lambda| over both documents of every pair. Where all scores of
a query are equal, nothing is divided.
"""

from typing import Any

import numpy as np

from .columns import (
    BEGIN,
    CURVATURE,
    MANY_TERMS,
    PAIRS,
    PULL,
    SCORE,
    SIZE,
    TOTAL,
    UNLIMITED,
    Batch,
    Columns,
    Rules,
    Tuning,
)
from .divided import divided_fit, has_fit
from .far_field import (
    DIFFERENCE,
    DISTANCE,
    LOG,
    LOGISTIC,
    NO_WEIGHT,
    SLOPE,
    Fit,
    constant,
    difference_of_own,
    fit_of,
    pair_entry,
)
from .pairs import Document
from .sigmoid import step
from .swaps import norm_factor
from .vector import log1p_of


def logistic_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return rho and rho (1 - rho), divided if `Rules.offset` is not 0."""
    u = p.offset + abs(worse.score - better.score) if p.offset > 0.0 else 1.0
    share = 1.0 / ((worse.decay + better.decay) * u)
    pull = worse.decay * share
    return pull, pull * (better.decay * (share * u))


def logistic_loss_pair(p: Rules, worse: Document, better: Document) -> tuple[float, float]:
    """Return rho, and half of the loss: each document has a share; divided like the others."""
    u = p.offset + abs(worse.score - better.score) if p.offset > 0.0 else 1.0
    z = min(worse.decay, better.decay) / max(worse.decay, better.decay)
    loss = log1p_of(z) + p.rate * max(worse.score - better.score, 0.0)
    return worse.decay / ((worse.decay + better.decay) * u), 0.5 * loss / u


def _fits(weighted: bool) -> list[Fit]:
    """Return the fits of derivatives and of losses."""
    pulls = pair_entry(LOGISTIC, constant(1.0) - LOGISTIC, odd=True)
    bends, losses = pair_entry(SLOPE, SLOPE), pair_entry(0.5 * LOG, 0.5 * (LOG + DISTANCE))
    if not weighted:
        return [fit_of(pulls, bends), fit_of(pulls, losses)]
    return [
        fit_of(difference_of_own(pulls), difference_of_own(each), weight=DIFFERENCE)
        for each in (bends, losses)
    ]


_FITS = [_fits(weighted=False), _fits(weighted=True)]


def logistic_fit(p: Rules, *, weighted: bool = False, losses: bool = False) -> Fit:
    """Return the sums over pairs as sums of exponentials.

    Parameters
    ----------
    p : Rules
    weighted : bool, default False
        Whether pairs are weighted by the differences of worth and of OWN, which is larger for the
        document above.
    losses : bool, default False
        Whether half the loss takes the place of the curvature.
    """
    if p.offset > 0.0 and p.tuning.direct < UNLIMITED:
        return divided_fit(p.rate, p.offset, DIFFERENCE if weighted else NO_WEIGHT, losses)
    return _FITS[weighted][losses]


def norm_rules(sigma: Any, offset: float, norm: bool) -> dict[str, Any]:
    """Return the fields of `Rules` that depend on sigma and `norm`."""
    tuning = Tuning()
    if norm:
        tuning = MANY_TERMS if has_fit(sigma, offset) else Tuning(direct=UNLIMITED)
    return {
        "rate": sigma,
        "grad_factor": -sigma,
        "hess_factor": sigma * sigma,
        "offset": offset if norm else 0.0,
        "tuning": tuning,
    }


@step
def scale_sums(p: Rules, batch: Batch, w: Columns) -> None:
    """Multiply each query's sums by log2(1 + L)/L, or divide them by its number of pairs."""
    for m in range(batch.blocks):
        begin, n = np.uint64(w.whole[BEGIN, m]), np.uint64(w.whole[SIZE, m])
        factor = 1.0 / w.real[PAIRS, m] if p.normalize and not p.by_gain else 1.0
        if p.offset > 0.0:
            farthest = 0.0
            for column in range(begin, begin + n):
                farthest = max(farthest, abs(w.real[SCORE, column] - w.real[SCORE, begin]))
            # If all scores are equal, undo the division by c + 0.
            factor = p.offset if farthest == 0.0 else 1.0
            factor *= norm_factor(2.0 * p.rate * w.real[TOTAL, m] * factor)
        for column in range(begin, begin + n if factor != 1.0 else begin):
            w.real[PULL, column] *= factor
            w.real[CURVATURE, column] *= factor
