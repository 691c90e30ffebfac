"""All checks of what a caller passes, done once, at the boundary.

Kernels check nothing. Each function returns the array the kernels expect or raises a `ValueError`
(`TypeError` for a wrong type) that names the argument and says what was expected, what came and how
to fix it.
"""

import difflib
import math
import numbers
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# 2^y - 1 and sums of it over 10^6 documents stay below the largest float64 (about 2^1024), and so
# do sums of amounts and weights.
MAX_GRADE = 1000.0
MAX_AMOUNT = 1e300
#: The domains of labels: what a loss or a metric takes them for, the narrowest first.
PROBABILITIES = "probabilities, 0 <= y <= 1"
GRADES = f"finite grades, 0 <= y <= {MAX_GRADE:g}"
AMOUNTS = f"amounts, 0 <= y <= {MAX_AMOUNT:g}"
NUMBERS = "any finite numbers"
LABEL_DOMAINS = {
    PROBABILITIES: (0.0, 1.0, "probabilities, between 0 and 1"),
    GRADES: (0.0, MAX_GRADE, f"relevance grades, finite and between 0 and {MAX_GRADE:g}"),
    AMOUNTS: (0.0, MAX_AMOUNT, f"between 0 and {MAX_AMOUNT:g}"),
    NUMBERS: (-sys.float_info.max, sys.float_info.max, "finite numbers"),
}
#: What takes any numbers, as messages recommend it.
FOR_NUMBERS = "the objectives spearman, listmle, pearson or query-rmse, and the metric spearman"
# Whole numbers up to here are exact in float64, and fit the kernels' integers.
MAX_COUNT = 2**53


def check_unmasked(name: str, values: Any) -> None:
    """Refuse masked values, which NumPy would take for what lies below the mask."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked values; fill them or drop their rows")


def check_vector(name: str, values: Any) -> npt.NDArray[Any]:
    """Return `values` as a 1-D numeric array with the dtype they have."""
    check_unmasked(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must be a 1-D array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be a 1-D array of numbers, got {type(values).__name__} "
            f"of dtype {array.dtype}"
        )
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {array.shape}; "
            "flatten it or pass a single column"
        )
    return array


def _contiguous(array: npt.NDArray[Any]) -> Floats:
    """Return float64 in C order and writeable; read-only arrays would compile kernels again."""
    with np.errstate(over="ignore"):  # numbers of a wider type become infinite and are refused
        return np.require(array, dtype=np.float64, requirements=["C", "W"])


def _first(bad: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> str:
    """Describe the first offending value and where it is."""
    row = int(np.argmax(bad))
    return f"{values[row]} at row {row} ({int(bad.sum())} such of {len(values)})"


def _within(array: npt.NDArray[Any], least: float, most: float) -> bool:
    """Tell whether all numbers lie between two limits; NaN does not."""
    return bool(array.min(initial=most) >= least and array.max(initial=least) <= most)


def check_scores(scores: Any, name: str = "scores") -> Floats:
    """Return scores as contiguous float64, all finite."""
    array = _contiguous(check_vector(name, scores))
    if not _within(array, -sys.float_info.max, sys.float_info.max):
        bad = ~np.isfinite(array)
        raise ValueError(
            f"{name} must be finite, got {_first(bad, array)}; a model that predicts these has "
            "diverged: lower the learning rate or look at its features"
        )
    return array


def narrowest(*domains: str) -> str:
    """Return the label domain that all of several domains include."""
    return min(domains, key=list(LABEL_DOMAINS).index, default=GRADES)


def check_labels(labels: Any, n_docs: int, domain: str = GRADES) -> Floats:
    """Return one label per document as contiguous float64, all in a domain of `LABEL_DOMAINS`."""
    least, most, expected = LABEL_DOMAINS[domain]
    array = _contiguous(check_vector("labels", labels))
    if len(array) != n_docs:
        raise ValueError(
            f"labels must have one grade for each of the {n_docs} scores, got {len(array)}"
        )
    if not _within(array, least, most):
        bad = ~((array >= least) & (array <= most))  # NaN too
        cure, wrong = "drop their rows", array[bad]
        if domain in (GRADES, AMOUNTS):
            cure = f"map missing judgements to 0 or {cure}"
            if (wrong < least).any():
                cure += f"; if they are numbers such as returns, use {FOR_NUMBERS}"
        if domain == PROBABILITIES and (wrong > most).any():
            cure = "a click is 1, and none is 0; grades need an objective without Unbiased"
        if domain == GRADES and (wrong > most).all() and np.isfinite(wrong).all():
            cure = (
                'amounts, such as prices, need gain="linear" or, where an objective has no gain, '
                "one such as RankNet"
            )
        raise ValueError(f"labels must be {expected}, got {_first(bad, array)}; {cure}")
    return array


def check_whole(name: str, values: Any, least: int) -> Integers:
    """Return whole numbers, not below `least`, as int64."""
    array = check_vector(name, values)
    if array.dtype.kind == "b":
        raise TypeError(
            f"{name} must hold whole numbers, got booleans; np.flatnonzero gives positions of flags"
        )
    bad = ~((array >= least) & (array == np.floor(array)) & (array <= MAX_COUNT))
    if bad.any():
        shifted = least == 1 and bool((array == 0).any())
        cure = "; add 1 where they are counted from 0" if shifted else ""
        raise ValueError(
            f"{name} must hold whole numbers from {least}, got {_first(bad, array)}{cure}"
        )
    return array.astype(np.int64)


def check_group(group: Any, n_docs: int) -> Integers:
    """Return query boundaries (n_queries + 1,) from the sizes of consecutive queries."""
    if group is None:
        raise ValueError(
            "group is missing: a ranking objective needs the queries; pass the sizes of "
            "consecutive queries as group= (or qid= where the host takes one id a row)"
        )
    sizes = check_vector("group", group)
    if sizes.dtype.kind == "b":
        raise TypeError("group must hold the sizes of consecutive queries, got booleans")
    if sizes.dtype.kind == "f" or sizes.min(initial=0) < 0:
        # NaN and inf differ from their floor or are caught as negative or as a wrong total.
        bad = (sizes < 0) | (sizes != np.floor(sizes))
        if bad.any():
            raise ValueError(
                f"group must hold query sizes, whole and not negative, got {_first(bad, sizes)}"
            )
    # A sum of anything larger than n_docs could wrap around, or round, to n_docs.
    largest = sizes.max(initial=0)
    boundaries = np.zeros(len(sizes) + 1, dtype=np.int64)
    if largest <= n_docs:
        np.cumsum(sizes, out=boundaries[1:], dtype=np.int64)
    if largest > n_docs or boundaries[-1] != n_docs:
        total = f"add up to {boundaries[-1]}" if largest <= n_docs else f"go up to {largest}"
        raise ValueError(
            f"group must add up to the number of documents, {n_docs}, but its {len(sizes)} sizes "
            f"{total}; group holds the size of each query, not an id for each row"
        )
    return boundaries


def differ(labels: Floats, boundaries: Integers) -> npt.NDArray[np.bool_]:
    """Tell for each query, from `check_group`, whether it has two different labels."""
    changes = np.append(labels[1:] != labels[:-1], False)
    changes[boundaries[1:] - 1] = False  # of the last document to the next query
    return np.diff(np.searchsorted(np.flatnonzero(changes), boundaries)) > 0


def check_weight(weight: Any, n_docs: int, n_queries: int) -> Floats:
    """Return weights as float64, between 0 and `MAX_AMOUNT`, one per query or per document."""
    array = _contiguous(check_vector("weight", weight))
    if len(array) not in (n_queries, n_docs):
        raise ValueError(
            f"weight must have one value for each of the {n_queries} queries or for each of the "
            f"{n_docs} documents, got {len(array)}"
        )
    if not _within(array, 0.0, MAX_AMOUNT):
        bad = ~((array >= 0.0) & (array <= MAX_AMOUNT))
        raise ValueError(f"weight must be between 0 and {MAX_AMOUNT:g}, got {_first(bad, array)}")
    return array


def _number(name: str, expected: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {expected}, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be {expected} that fits float64, got a larger one") from None


def check_positive(name: str, value: Any) -> float:
    """Return a parameter that must be a positive finite number."""
    number = _number(name, "a positive number", value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return number


def check_amount(name: str, value: Any) -> float:
    """Return a parameter that must be a finite number, not negative."""
    number = _number(name, "a number of at least 0", value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return number


def check_share(name: str, value: Any) -> float:
    """Return a parameter that must be a number from 0 to 1."""
    number = _number(name, "a number from 0 to 1", value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")
    return number


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a parameter that must be a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    count = int(value)
    if count < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    if count > MAX_COUNT:
        raise ValueError(f"{name} must be at most 2^53, got a larger number")
    return count


def check_seed(seed: Any) -> int:
    """Return a seed: a whole number, not negative."""
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed must be a whole number, got {seed!r}; equal seeds give equal data")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed!r}")
    return int(seed)


def check_cutoff(name: str, value: Any) -> int | None:
    """Return a rank cut-off: None for the whole list, or a whole number of at least 1."""
    return None if value is None else check_count(name, value)


def check_flag(name: str, value: Any) -> bool:
    """Return a parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_names(name: str, value: Any) -> None:
    """Refuse a string where names are due: its letters would be taken for them."""
    if isinstance(value, str):
        raise TypeError(f"{name} must be a sequence of names, got a string; write [{value!r}]")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return a word that must be one of `choices`."""
    words = tuple(choices)
    if not isinstance(value, str) or value not in words:
        meant = hint(str(value).lower().replace("_", "-"), words)
        raise ValueError(f"unknown {name} {value!r}{meant} ({nearest(value, words)})")
    return value


def hint(value: str, words: Iterable[str]) -> str:
    """Return what a message asks about a word that is close to a known one, or nothing."""
    near = difflib.get_close_matches(value, list(words), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def nearest(value: Any, words: Iterable[str]) -> str:
    """List the known words for a message, or the nearest five of many."""
    known = list(words)
    if len(known) <= 10:
        return f"known: {', '.join(known)}"
    near = difflib.get_close_matches(str(value).lower().replace("_", "-"), known, n=5, cutoff=0.0)
    return f"nearest of {len(known)}: {', '.join(near)}"
