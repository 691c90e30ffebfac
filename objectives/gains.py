"""The worth of a grade and the weight of a rank: the parameters `gain` and `discount`.

Gains are computed once per round, before the kernels run: the kernel of a graded loss gets them in
place of the labels.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .engine.gains import DISCOUNT_KINDS, RANK_DISCOUNTS, TABLE, Discount, write_exponential_gains
from .engine.threads import over_documents
from .parameters import checked
from .validation import MAX_AMOUNT, Floats, check_choice

#: A word, a gain for each whole grade, or a function of an array of grades.
Gain = str | tuple[float, ...] | Callable[[Floats], Floats]
GAINS = ("exponential", "linear")
NO_TABLE = np.zeros(1)


def gain_field() -> Any:
    """Return a field for a gain; the default is 2^y - 1."""
    return checked(check_gain, "exponential")


def discount_field(*words: str, default: str = "log2") -> Any:
    """Return a field for a discount: one of `words` or a table.

    Parameters
    ----------
    *words : str
        Default: `RANK_DISCOUNTS`, the discounts of whole ranks.
    default : str
    """
    known = words or RANK_DISCOUNTS
    return checked(partial(check_discount, words=known), default, compiled=compiled_discount)


def check_gain(name: str, value: Any) -> Gain:
    """Return a gain: one of `GAINS`, a function as it is, a table as a tuple of floats."""
    if isinstance(value, str):
        return check_choice(name, value, GAINS)
    if callable(value):
        return value  # type: ignore[no-any-return]
    table = _table(
        name,
        value,
        f"{', '.join(map(repr, GAINS))}, one gain for each grade from 0, "
        "or a function of an array of grades",
    )
    for grade in range(1, len(table)):
        if table[grade] < table[grade - 1]:
            raise ValueError(
                f"{name} must not fall: grade {grade} has {table[grade]:g}, grade {grade - 1} "
                f"{table[grade - 1]:g}"
            )
    return table


def check_discount(name: str, value: Any, words: Sequence[str]) -> str | tuple[float, ...]:
    """Return a discount: one of `words`, or a table as a tuple of floats."""
    if isinstance(value, str):
        return check_choice(name, value, words)
    table = _table(name, value, f"{', '.join(map(repr, words))} or one number for each rank from 1")
    for rank in range(1, len(table)):
        if table[rank] > table[rank - 1]:
            raise ValueError(
                f"{name} must not grow with the rank: rank {rank + 1} has {table[rank]:g}, rank "
                f"{rank} {table[rank - 1]:g}"
            )
    if table[0] == 0.0:
        raise ValueError(f"{name} must be above 0 at rank 1, got a table of zeros")
    return table


def _table(name: str, value: Any, expected: str) -> tuple[float, ...]:
    try:
        with np.errstate(over="ignore"):  # a number of a wider type becomes infinite and is refused
            array = np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise TypeError(f"{name} must be {expected}; got {value!r}") from None
    if array.ndim != 1 or not len(array):
        raise TypeError(f"{name} must be {expected}; got {value!r}")
    bad = ~((array >= 0.0) & (array <= MAX_AMOUNT))  # NaN too
    if bad.any():
        raise ValueError(
            f"{name} must be between 0 and {MAX_AMOUNT:g}, got {array[bad][0]} at place "
            f"{np.argmax(bad)} of its table"
        )
    return tuple(array.tolist())


def compiled_discount(value: Any) -> Discount:
    """Return a discount as kernels take it: the index of its word, or a table."""
    if isinstance(value, str):
        return Discount(DISCOUNT_KINDS.index(value), NO_TABLE)
    return Discount(TABLE, np.array(value))


def relevance(labels: Floats) -> Floats:
    """Return l = 1(y > 0)."""
    return (labels > 0.0).astype(np.float64)


def gains_of(gain: Gain, labels: Floats) -> Floats:
    """Return the gain of every document.

    Parameters
    ----------
    gain : str, tuple of float or callable
    labels : float64 array (n_docs,)
        Not negative; up to `MAX_GRADE` where the gain is exponential.

    Returns
    -------
    float64 array (n_docs,)
        Finite, not negative. The labels themselves where the gain is linear.

    Raises
    ------
    ValueError
        For a grade that a table does not have, and for a function whose gains are not finite, are
        negative or fall while the grade grows.
    """
    if gain == "linear":
        return labels
    if gain == "exponential":
        gains = np.empty(len(labels))
        over_documents(write_exponential_gains, len(labels), labels, gains)
        return gains
    if isinstance(gain, tuple):
        return _of_table(gain, labels)
    assert callable(gain)
    return _of_function(gain, labels)


def _of_table(gain: tuple[float, ...], labels: Floats) -> Floats:
    places = labels.astype(np.int64)
    bad = (places != labels) | (labels >= len(gain))
    if bad.any():
        raise ValueError(
            f"gain has a number for each of the grades 0 to {len(gain) - 1}, and none for the "
            f"grade {labels[bad][0]:g} at row {np.argmax(bad)}; make the table longer, or pass a "
            "function of the grades"
        )
    gains: Floats = np.array(gain)[places]
    return gains


def _of_function(gain: Callable[[Floats], Floats], labels: Floats) -> Floats:
    grades, places = np.unique(labels, return_inverse=True)
    try:
        gains = np.asarray(gain(grades), dtype=np.float64)
    except Exception as error:  # a user's function may raise anything
        raise ValueError(
            f"gain must be a function of an array of grades that returns numbers: {gain!r} raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if gains.shape != grades.shape:
        raise ValueError(
            f"gain must return one number for each of the {len(grades)} grades that it is given, "
            f"got shape {gains.shape}"
        )
    bad = ~((gains >= 0.0) & (gains <= MAX_AMOUNT))
    if bad.any():
        raise ValueError(
            f"gain must be between 0 and {MAX_AMOUNT:g}, got {gains[bad][0]} of grade "
            f"{grades[bad][0]:g}"
        )
    falls = np.flatnonzero(np.diff(gains) < 0.0)
    if len(falls):
        low, high = falls[0], falls[0] + 1
        raise ValueError(
            f"gain must not fall while the grade grows: grade {grades[high]:g} has "
            f"{gains[high]:g}, grade {grades[low]:g} {gains[low]:g}"
        )
    return gains[places.reshape(-1)]


def said(gain: Gain) -> str:
    """Return a gain in words."""
    if gain == "exponential":
        return "2^y - 1"
    if gain == "linear":
        return "y"
    if isinstance(gain, tuple):
        return f"of the grades from 0: {', '.join(f'{value:g}' for value in gain)}"
    return f"{getattr(gain, '__name__', repr(gain))}(y)"
