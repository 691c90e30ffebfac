"""Fields of objectives that carry their own check: ``margin: float = positive(1.0)``.

The base class runs the checks of all fields when an objective is built.
"""

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from .schedules import check_positive_or_schedule
from .validation import (
    check_choice,
    check_count,
    check_cutoff,
    check_flag,
    check_positive,
    check_seed,
    check_share,
)


def checked(
    check: Callable[[str, Any], Any], default: Any, *, compiled: Callable[[Any], Any] | None = None
) -> Any:
    """Return a field whose value ``check(name, value)`` returns or refuses.

    Kernels get ``compiled(value)``. Default: the value itself.
    """
    metadata = {"check": check} | ({"compiled": compiled} if compiled else {})
    return field(default=default, metadata=metadata)


def positive(default: float) -> Any:
    """Return a field for a positive number."""
    return checked(check_positive, default)


def schedulable(default: float) -> Any:
    """Return a field for a positive number or a schedule of such numbers."""
    return checked(check_positive_or_schedule, default)


def flag(default: bool) -> Any:
    """Return a field for True or False."""
    return checked(check_flag, default)


def count(default: int) -> Any:
    """Return a field for a whole number of at least 1."""
    return checked(check_count, default)


def cutoff() -> Any:
    """Return a field for a rank cut-off: None, the default, for the whole list."""
    return checked(check_cutoff, None)


def choice(default: str, words: tuple[str, ...]) -> Any:
    """Return a field for one of several words; kernels get its index among them."""
    return checked(partial(_chosen, words), default, compiled=words.index)


def noise(default: str | None) -> Any:
    """Return a field for the kind of noise that is added to a booster's scores, or None."""
    return checked(_noise, default)


def fraction(default: float) -> Any:
    """Return a field for a share of the queries."""
    return checked(_fraction, default)


def random_seed(default: int) -> Any:
    """Return a field for a seed."""
    return checked(lambda name, value: check_seed(value), default)


def _noise(name: str, value: Any) -> str | None:
    return None if value is None else check_choice(name, value, ("gumbel", "gaussian"))


def _fraction(name: str, value: Any) -> float:
    number = check_share(name, value)
    if number == 0.0:
        raise ValueError(f"{name} must be above 0, so that some of them train")
    return number


def _chosen(words: tuple[str, ...], name: str, value: Any) -> str:
    return check_choice(name, value, words)


class ArrayParameter:
    """An array as a parameter: compared by value, hashable and read-only.

    Attributes
    ----------
    values : array
    """

    __slots__ = ("_hash", "values")

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)
        self.values.setflags(write=False)
        self._hash = hash(self.values.tobytes())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return self._hash

    # Hashes differ between processes, and pickle forgets that an array is read-only.
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (type(self), self.values)

    def __repr__(self) -> str:
        return f"<{len(self.values)} {type(self).__name__.lower()}>"


def _restored(kind: type[ArrayParameter], values: Any) -> ArrayParameter:
    array = kind.__new__(kind)
    ArrayParameter.__init__(array, values)
    return array
