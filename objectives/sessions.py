"""Sessions of clicks: a copy of the session for each click, and the pairs of each copy."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .validation import Floats, Integers


class Sessions(NamedTuple):
    """Every clicked document with a copy of its session.

    Attributes
    ----------
    rows : int64 array (n_copied,)
        Row of each copied document.
    boundaries : int64 array (n_clicks + 1,)
    copy : int64 array (n_copied,)
        Which copy each copied document is in.
    clicked : int64 array (n_clicks,)
        Row of the clicked document of each copy.
    own : int64 array (n_clicks,)
        Its place among the copied documents.
    """

    rows: Integers
    boundaries: Integers
    copy: Integers
    clicked: Integers
    own: Integers


def sessions_of(clicks: Floats, boundaries: Integers) -> Sessions:
    """Return the copies for equation (4)."""
    clicked = np.flatnonzero(clicks)
    query = np.searchsorted(boundaries, clicked, side="right") - 1
    sizes = np.diff(boundaries)[query]
    ends = np.append(0, np.cumsum(sizes))
    copy = np.repeat(np.arange(len(clicked)), sizes)
    rows = np.arange(ends[-1]) + (boundaries[query] - ends[:-1])[copy]
    return Sessions(rows, ends, copy, clicked, ends[:-1] + clicked - boundaries[query])


def loss_of_gradient(x: Floats) -> Floats:
    """Return ln(1 + e^{-x}) (1 + e^x): the loss of a logistic pair over its gradient."""
    e = np.exp(-np.abs(x))
    right = np.where(e > 1e-12, np.log1p(e) / np.maximum(e, 1e-300), 1.0)
    return np.where(x > 0.0, right, np.log1p(e) - np.minimum(x, 0.0)) * (1.0 + e)


class ClickPairs(NamedTuple):
    """The clicked document of each copy against every other one.

    Attributes
    ----------
    other : bool array (n_copied,)
        Whether a copied document was not clicked: only these make pairs.
    places : tuple of two int64 arrays (n_copied,)
        Position, from 0, of the clicked document and of the other one.
    factors : tuple of two float64 arrays (n_copied,)
        t+ and t- of these two.
    loss : float64 array (n_copied,)
        Loss of each pair, before factors; 0 where there is no pair.
    """

    other: npt.NDArray[np.bool_]
    places: tuple[Integers, Integers]
    factors: tuple[Floats, Floats]
    loss: Floats
