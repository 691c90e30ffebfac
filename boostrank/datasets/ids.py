"""Ids of queries and documents: integers, strings or dates, of which no two are confused."""

from collections.abc import Sequence
from datetime import date, datetime
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.objectives.validation import check_unmasked


def check_ids(name: str, ids: Any, n_docs: int) -> npt.NDArray[Any]:
    """Return ids, one per document, as an array of integers or of strings; none may be missing.

    Whole numbers may come as floats, as pandas returns them after a join. Integers become int64, or
    uint64 where one is larger; dates become strings.
    """
    check_unmasked(name, ids)
    array = np.asarray(ids)
    if array.dtype.kind == "U" and not isinstance(ids, np.ndarray) and np.ndim(ids) == 1:
        array = np.array([*ids], dtype=object)  # NumPy has turned numbers and missing ids into text
    # A longdouble holds more than an int64.
    digits = min(np.finfo(array.dtype).nmant + 1, 53) if array.dtype.kind == "f" else 0
    if digits and ((np.abs(array) < 2.0**digits) & (array == np.floor(array))).all():
        array = array.astype(np.int64)
    if array.ndim == 1 and array.dtype.kind in "fOM":
        array = _of_objects(name, _text_of_dates(array) if array.dtype.kind == "M" else array)
    if array.dtype.kind not in "iuUS":
        cure = f"; it holds whole numbers exactly only below 2^{digits}" if digits else ""
        if array.dtype.kind == "O" and array.ndim == 1:
            other = [each for each in array if _kind(each) == "other"][:1]
            cure = f", such as {other}; write all as strings"
        raise TypeError(
            f"{name} must hold integers or strings, or dates, got dtype {array.dtype}{cure}"
        )
    if array.shape != (n_docs,):
        raise ValueError(
            f"{name} must have one id for each of the {n_docs} documents, got shape {array.shape}"
        )
    if array.dtype.kind in "iu" and array.max(initial=0) <= np.iinfo(np.int64).max:
        return array.astype(np.int64, copy=False)
    return array


def _of_objects(name: str, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers or strings from objects of one kind."""
    kinds = np.array([_kind(value) for value in ids], dtype=str)
    missing = np.flatnonzero(kinds == "missing")
    if len(missing):
        raise ValueError(
            f"{name} must have an id for every document, but row {missing[0]} has none; fill "
            "it in, or leave the document out"
        )
    found = set(kinds)
    if "other" in found or not found:
        return ids
    if len(found) > 1:
        row = np.flatnonzero(kinds != kinds[0])[0]
        expected = "dates alone" if "date" in found else "integers or strings, not both"
        raise TypeError(
            f"{name} must hold {expected}: row 0 has {ids[0]!r}, row {row} has {ids[row]!r}; "
            "write all as strings"
        )
    if found == {"integer"}:
        return _integers(name, [int(value) for value in ids])
    return np.array([_iso(value) if isinstance(value, date) else value for value in ids.tolist()])


def _integers(name: str, ids: list[int]) -> npt.NDArray[Any]:
    """Return integers exactly; NumPy's own choice of a type for large ones may be float64."""
    for kind in (np.int64, np.uint64):
        limits = np.iinfo(kind)
        if limits.min <= min(ids) and max(ids) <= limits.max:
            return np.array(ids, dtype=kind)
    raise ValueError(
        f"{name} must hold integers of 64 bits, all of int64 or all of uint64, got "
        f"{min(ids)} to {max(ids)}; write them as strings"
    )


def _kind(value: Any) -> str:
    """Tell what kind of value an id is."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, Integral) and not isinstance(value, bool):
        return "integer"
    if is_missing(value):
        return "missing"
    return "date" if isinstance(value, date) else "other"


def _iso(value: date) -> str:
    """Return a date as text, without the time at midnight."""
    midnight = isinstance(value, datetime) and value.isoformat().endswith("T00:00:00")
    return value.isoformat()[:10] if midnight else value.isoformat()


def _text_of_dates(dates: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return dates as text, without the time at midnight, and missing ones as None.

    The text depends on the moment alone, not on the unit in which the array counts.
    """
    if np.datetime_data(dates.dtype)[0] in ("Y", "M", "W", "D", "h", "m"):
        dates = dates.astype("datetime64[s]")
    text = np.datetime_as_string(dates)
    if np.datetime_data(dates.dtype)[0] != "s":
        text = np.char.rstrip(np.char.rstrip(text, "0"), ".")
    days = dates.astype("datetime64[D]")
    text = np.where(dates == days, np.datetime_as_string(days), text).astype(object)
    text[np.isnat(dates)] = None
    return text


def is_missing(value: Any) -> bool:
    """Tell whether a value is missing; comparisons with pandas' own missing value cannot."""
    return not isinstance(value, str) and str(value) in ("None", "nan", "<NA>", "NaT")


def join_ids(pieces: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the ids of several data sets as one array, in which 1 and "1" stay different ids."""
    pieces = [_text_of_dates(piece) if piece.dtype.kind == "M" else piece for piece in pieces]
    mixed = len({piece.dtype.kind for piece in pieces}) > 1
    return np.concatenate([piece.astype(object) for piece in pieces] if mixed else pieces)
