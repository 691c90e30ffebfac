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


def _noise(name: str, value: Any) -> str | None:
    return None if value is None else check_choice(name, value, ("gumbel", "gaussian"))


def _fraction(name: str, value: Any) -> float:
    number = check_share(name, value)
    if number == 0.0:
        raise ValueError(f"{name} must be above 0, so that some of them train")
    return number


# Each returns a field for what stands above it, and takes its default.
#: A positive number.
positive = partial(checked, check_positive)
#: A positive number or a schedule of such numbers.
schedulable = partial(checked, check_positive_or_schedule)
#: True or False.
flag = partial(checked, check_flag)
#: A whole number of at least 1.
count = partial(checked, check_count)
#: A rank cut-off: None, always the default, for the whole list.
cutoff = partial(checked, check_cutoff, None)
#: The kind of noise that is added to a booster's scores, or None.
noise = partial(checked, _noise)
#: A share of the queries.
fraction = partial(checked, _fraction)
#: A seed.
random_seed = partial(checked, lambda name, value: check_seed(value))


def choice(default: str, words: tuple[str, ...]) -> Any:
    """Return a field for one of several words; kernels get its index among them."""
    return checked(partial(check_choice, choices=words), default, compiled=words.index)


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
