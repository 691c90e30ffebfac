"""Reads CSV files strictly: each row must have as many fields as the header has names."""

import csv
import io
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.files import check_no_pipe, open_bytes, reading, what_it_is
from boostrank.datasets.ids import is_missing

# A whole number as programs write it: other strings, such as 007, are no numbers but names.
_WHOLE = re.compile(r"\s*(-?(?:0|[1-9][0-9]*))(?:\.0*)?\s*")
# What programs write for a missing number; pandas reads these as such.
_NO_NUMBER = re.compile(r"#?N/?A|n/a|<NA>|NULL|null|NaN|-?nan|None")


def read_csv(path: Path, ids: Sequence[str], is_category: Callable[[str], bool]) -> Any:
    """Read a CSV file as a data frame of pandas.

    It must be in UTF-8, with commas, and may be compressed, as its suffix says. Rows of other
    lengths than the header, two columns of one name, no rows and other separators are refused.
    Columns of `ids` and those that are categories by their names stay text, in which 007 and 7 are
    two queries. NA, NULL, nan and the like are missing numbers and ids, but not missing words: NA
    may be Namibia.
    """
    import pandas

    check_no_pipe(path)

    def read(**options: Any) -> Any:
        with open_bytes(path) as file:
            return pandas.read_csv(file, encoding="utf-8-sig", **options)

    try:
        with reading(path):
            header = _check_rows(path)
            # Without low_memory=False, it guesses a type for each chunk of rows.
            frame = read(dtype=dict.fromkeys(ids, str), low_memory=False)
            words = [name for name in header if is_category(name)]
            if words:
                only_empty = {"keep_default_na": False, "na_values": [""]}
                frame[words] = read(dtype=object, usecols=words, **only_empty)
            return frame
    except pandas.errors.ParserError as error:
        raise ValueError(f"{path}: {str(error).splitlines()[0]}") from error


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which each row begins, and its fields, without blank lines.

    Those are the lines that pandas skips: others have a row, also if all their space is not ASCII.
    """
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with (
            open_bytes(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
        ):
            rows = csv.reader(text)
            line = 1
            for row in rows:
                if len(row) > 1 or row == [""] or "".join(row).strip(" \t"):
                    yield line, row
                line = rows.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _check_rows(path: Path) -> list[str]:
    """Return the names in the header; refuse rows that have more fields, or fewer."""
    with open_bytes(path) as file:
        start = file.read(1024)
    what = what_it_is(start) or ("the file is binary, not text" if b"\0" in start else "")
    if what:
        raise ValueError(f"{path}: {what}")
    rows = _rows(path)
    _, header = next(rows, (0, []))
    if header == ["sep=", ""]:
        raise ValueError(f"{path}: remove its first line, sep=, which only Excel reads")
    other = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if other:
        raise ValueError(
            f"{path}: its fields are separated by {other!r}; save it with commas between fields, "
            "and with points in numbers"
        )
    check_different(f"{path}: ", filter(None, header))
    line = 0
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {line}: {len(row)} fields, but the header has {len(header)}; "
                f"{_cure(header, row)}"
            )
    if line == 0:
        raise ValueError(f"{path} holds no documents: no row follows the header")
    return header


def check_different(where: str, names: Iterable[str]) -> None:
    """Refuse two columns of one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{where}two columns are named {name!r}; rename or remove one of them")


def _cure(header: list[str], row: list[str]) -> str:
    if len(row) < len(header):
        return "remove its last comma" if header[-1] == "" else "the line may be cut off"
    if row[-1] == "":
        return "remove the comma at the end of the line"
    return "quote fields that hold commas, and name each column in the header"


def line_of_row(path: Path, row: int) -> int:
    """Return the line of a row of the data, from 0; for an error, since it reads the file again."""
    return next(itertools.islice(_rows(path), row + 1, None))[0]


def integers_of_text(texts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return text of CSV files as integers, if all that is not missing is written as such.

    Among integers NA, NULL, nan and the like are missing. Integers beyond 64 bits stay text.
    """
    numbers: dict[Any, int | None] = {}
    for text in dict.fromkeys(texts.tolist()):
        match = None if is_missing(text) else _WHOLE.fullmatch(text)
        if match is None and not is_missing(text) and not _NO_NUMBER.fullmatch(text):
            return texts
        numbers[text] = int(match[1]) if match else None
    found = [number for number in numbers.values() if number is not None]
    least, most = min(found, default=0), max(found, default=0)
    if not found or least < -(2**63) or most >= 2 ** (63 if least < 0 else 64):
        return texts
    return np.array([numbers[text] for text in texts.tolist()], dtype=object)
