"""Where documents were shown, and how likely each position is to be looked at, for `Unbiased`."""

from typing import Any

import numpy as np

from .parameters import ArrayParameter
from .validation import check_unmasked, check_whole

FORMS = ("pairwise", "additive")


class Positions(ArrayParameter):
    """Where each document was shown, from 1."""

    __slots__ = ()

    def __init__(self, values: Any) -> None:
        array = check_whole("position", values, 1)
        if not len(array):
            raise ValueError("position must have one rank for each document, got none")
        super().__init__(array)


def check_position(name: str, value: Any) -> Positions | None:
    """Return positions, or None."""
    return value if value is None or isinstance(value, Positions) else Positions(value)


def check_factors(name: str, values: Any) -> tuple[float, ...]:
    """Return one positive finite number for each position."""
    check_unmasked(name, values)
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
