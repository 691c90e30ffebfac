"""Where documents were shown, and sessions of clicks: what `Unbiased` reads."""

from typing import Any, NamedTuple

import numpy as np

from .validation import Floats, Integers, check_positive

FORMS = ("pairwise", "additive")


class Positions:
    """Where each document was shown, from 1: an array that is equal by value and hashable."""

    __slots__ = ("_hash", "values")

    def __init__(self, values: Any) -> None:
        array = np.array(values)
        if array.ndim != 1 or not len(array):
            raise ValueError(
                f"position must have one rank for each document, got shape {array.shape}"
            )
        whole = array.dtype.kind in "iuf" and bool((array == np.floor(array)).all())
        if not whole:
            raise TypeError(f"position must hold whole numbers, got dtype {array.dtype}")
        if array.min() < 1:
            raise ValueError(
                f"position must be ranks from 1, got {array.min():g} at row {array.argmin()}; add "
                "1 where they are counted from 0"
            )
        self.values: Integers = array.astype(np.int64)
        self.values.setflags(write=False)
        self._hash = hash(self.values.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Positions) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type, tuple[Integers]]:
        return Positions, (np.array(self.values),)

    def __repr__(self) -> str:
        return f"<{len(self.values)} positions from 1 to {self.values.max()}>"


def check_position(name: str, value: Any) -> Positions | None:
    """Return positions, or None."""
    return value if value is None or isinstance(value, Positions) else Positions(value)


def check_factors(name: str, values: Any) -> tuple[float, ...]:
    """Return one positive finite number for each position."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be one number for each position from 1, or one of "
            f"{', '.join(map(repr, FORMS))}; got {values!r}"
        )
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        raise ValueError(
            f"{name} must be above 0 and finite, got {array[bad][0]:g} at position "
            f"{int(np.argmax(bad)) + 1}: a position that is never looked at says nothing; let deep "
            "ones share a propensity (last=)"
        )
    return tuple(map(float, array))


def check_propensity(name: str, value: Any) -> str | tuple[float, ...]:
    """Return one of `FORMS`, or one number for each position."""
    if isinstance(value, str):
        if value not in FORMS:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, FORMS))} or one number for each "
                f"position, got {value!r}"
            )
        return value
    return check_factors(name, value)


def check_amount(name: str, value: Any) -> float:
    """Return a number that is not negative."""
    return 0.0 if isinstance(value, int | float) and value == 0 else check_positive(name, value)


class Sessions(NamedTuple):
    """Every clicked document with a copy of its session.

    Attributes
    ----------
    rows : int64 array (n_copied,)
        Row of each copied document.
    boundaries : int64 array (n_clicks + 1,)
    copy : int64 array (n_copied,)
        Which copy a copied document is in.
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
    """Return ln(1 + e^{-x}) (1 + e^x): what a logistic pair loses over its gradient."""
    e = np.exp(-np.abs(x))
    right = np.where(e > 1e-12, np.log1p(e) / np.maximum(e, 1e-300), 1.0)
    return np.where(x > 0.0, right, np.log1p(e) - np.minimum(x, 0.0)) * (1.0 + e)
