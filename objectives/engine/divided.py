r"""Pairs divided by their score difference, as sums of exponentials.

Four functions of x = |s_i - s_j|, with rho = 1/(1 + e^{sigma x}), z = e^{-sigma x} and t_0 = 0:

    1/(c + x)               =   sum_k a_k e^{-t_k x}
    rho / (c + x)           = z sum_k b_k e^{-t_k x}                                            (*)
    rho (1 - rho) / (c + x) = z sum_k c_k e^{-t_k x}
    ln(1 + z) / (c + x)     = z sum_k l_k e^{-t_k x}

1/(c + x) is the integral of e^{-t (c + x)} over t, so rates t_k in geometric progression work
(Beylkin and Monzon, Appl. Comput. Harmon. Anal. 2010). With z factored out, the other functions
stay accurate where z is small. `coefficients` finds them by least squares. Each function has a
relative error of at most 1e-8, as long as the scores spread over at most 12288/sigma.
"""

import math
from functools import lru_cache

import numpy as np

from ..validation import Floats
from .far_field import DIFFERENCE, Fit, difference_of_own, pair_entry, sums_of

# Rates grow by 2^(1/3): each is the square of the third before it.
STEP = 3
# One fit for each spread of the scores, in units of 1/sigma.
SPREADS: Floats = np.array([12.0, 48.0, 192.0, 768.0, 3072.0, 12288.0])
# For smaller products sigma c, losses visit all pairs: coefficients grow, and then cancel.
LEAST = 0.0001
OFFSET = 0.01  # c by default


def has_fit(sigma: float, offset: float) -> bool:
    """Return whether (*) holds for these parameters."""
    return sigma * offset >= LEAST


@np.errstate(under="ignore")
def coefficients(sigma: float, offset: float, spread: float) -> tuple[Floats, Floats]:
    """Return t_1, t_2 and so on, and a_k, b_k, c_k and l_k of (*), for one spread of the scores.

    Returns
    -------
    float64 arrays (terms,) and (4, terms + 1)
    """
    slowest, fastest = 2.0 / spread, 12.0 / (sigma * offset) + 90.0  # in units of sigma
    octaves = math.log2(fastest / slowest)
    # An odd number, so that terms fill whole steps.
    rates = sigma * slowest * 2.0 ** (np.arange(math.ceil(STEP * octaves) | 1) / STEP)
    x = np.append(0.0, np.geomspace(0.01 / fastest, spread, 25 * math.ceil(octaves))) / sigma
    z = np.exp(-sigma * x)
    logs = np.log1p(z) / np.where(z > 0.0, z, 1.0) + (z == 0.0)
    # Multiplied by c + x, so that all errors are relative.
    functions = np.stack([z**0, 1.0 / (1.0 + z), (1.0 + z) ** -2, logs], axis=1)
    basis = (offset + x)[:, None] * np.exp(-x[:, None] * np.append(0.0, rates))
    return rates, np.linalg.lstsq(basis, functions, rcond=1e-14)[0].T


@lru_cache(maxsize=64)
def divided_fit(sigma: float, offset: float, weight: int, losses: bool) -> Fit:
    """Return the fit of pulls, of bends or with `losses` half the losses, and of sizes of pulls.

    Parameters
    ----------
    sigma, offset : float
    weight : int
        How worth weights a pair; if by the difference, it is weighted by that of OWN, too.
    losses : bool
    """
    fits = [coefficients(sigma, offset, spread) for spread in SPREADS]
    longest = 2 + 2 * len(fits[-1][0])
    one = np.eye(1, longest + 1)[0]
    numbers = []
    for _, found in fits:
        free, damped, bent, logs = (_placed(row, k > 0, longest) for k, row in enumerate(found))
        entries = [
            pair_entry(damped, free - damped, odd=True),
            pair_entry(bent, bent),
            pair_entry(damped, free - damped),
        ]
        if losses:
            wrong = logs + sigma * (one - offset * free)
            entries[1] = pair_entry(0.5 * logs, 0.5 * wrong)
        if weight == DIFFERENCE:
            entries = [difference_of_own(entry) for entry in entries]
        numbers.append(sums_of(entries))
    products = np.ones((2, longest), np.int64)
    for k in range(len(fits[-1][0])):
        products[:, 2 + 2 * k] = -1 - k if k < STEP else 2 + 2 * (k - STEP)
        products[:, 3 + 2 * k] = 2 + 2 * k, 1
    return Fit(
        SPREADS,
        np.stack([rates[:STEP] for rates, _ in fits]),
        products,
        np.array([2 + 2 * len(rates) for rates, _ in fits]),
        np.stack(numbers),
        weight,
    )


def _placed(row: Floats, damped: bool, terms: int) -> Floats:
    """Return coefficients among the terms 1, z, e^{-t_1 x}, z e^{-t_1 x}, e^{-t_2 x} and so on."""
    placed = np.zeros(terms + 1)
    placed[1 if damped else 0 : 2 * len(row) : 2] = row
    return placed
