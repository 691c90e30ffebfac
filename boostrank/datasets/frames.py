"""Tables in memory: the columns of data frames of pandas and polars and of Arrow tables."""

import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.csv_files import check_different, line_of_row
from boostrank.datasets.files import without_compression
from boostrank.datasets.ids import is_missing
from boostrank.objectives.validation import Floats

#: Text of a number: Python's float also takes 1_000, and digits and spaces of all scripts.
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


class Table:
    """A data frame of pandas or polars, or an Arrow table, and the file that it is from.

    Two columns of one name are refused. Levels of pandas' index that are `named`, such as the dates
    of a panel, are columns too.
    """

    def __init__(self, frame: Any, path: Path | None = None, named: Sequence[str] = ()) -> None:
        if hasattr(frame, "to_pandas") and hasattr(frame, "column_names"):  # of Arrow
            import pandas

            frame = frame.to_pandas(types_mapper=pandas.ArrowDtype)
        if not hasattr(frame, "__len__") or not hasattr(frame, "columns"):
            lazy = "; collect it first" * hasattr(frame, "collect")
            raise TypeError(
                "the data must be a data frame of pandas or polars, or an Arrow table, got "
                f"{type(frame).__name__}{lazy}"
            )
        levels = getattr(getattr(frame, "index", None), "names", ())
        kept = [name for name in levels if name in {*named} - {*frame.columns, None}]
        self.frame = frame.reset_index(kept) if kept else frame
        self.path = path
        self.names = list(self.frame.columns)
        check_different(self.where(), map(str, self.names))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def is_csv(self) -> bool:
        """Whether it is from a CSV file."""
        return self.path is not None and without_compression(self.path).suffix.lower() == ".csv"

    def where(self, row: int | None = None) -> str:
        """Return the beginning of an error: the file, if any, and the line of a row of CSV."""
        if self.path is None:
            return ""
        if row is None or not self.is_csv:
            return f"{self.path}: "
        return f"{self.path}, line {line_of_row(self.path, row)}: "

    def in_row(self, row: int) -> str:
        """Return the place of a value in an error, unless `where` has said the line."""
        return "" if self.is_csv else f" in row {row}"

    def values(self, name: Any) -> npt.NDArray[Any]:
        """Return the values of a column."""
        return np.asarray(self.frame[name].to_numpy())

    def is_category(self, name: Any) -> bool:
        """Tell whether a column is of a type for categories."""
        return str(self.frame[name].dtype).lower().startswith(("categor", "enum", "dictionary"))

    def numbers(self, name: Any, cure: str) -> Floats:
        """Return the values of a column that must hold numbers; missing ones are NaN.

        `cure` says what to do if they are none.
        """
        column = self.frame[name]
        # Of pandas, where a missing number may be NA; kinds are those of NumPy.
        if hasattr(column, "astype") and getattr(column.dtype, "kind", "O") in "biuf":
            column = column.astype("float64")
        values = np.asarray(column.to_numpy())
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        if values.dtype.kind not in "OUT":
            raise self._no_number(name, f"got {str(column.dtype)!r}", cure)
        numbers = np.empty(len(values))
        for row, value in enumerate(values.tolist()):
            if isinstance(value, Real | Decimal) or (
                isinstance(value, str) and NUMBER.fullmatch(value)
            ):
                numbers[row] = float(value)
            elif is_missing(value):
                numbers[row] = np.nan
            else:
                shown = repr(value) if isinstance(value, str) else str(column.dtype)
                raise self._no_number(name, f"got {shown[:60]}{self.in_row(row)}", cure, row)
        return numbers

    def _no_number(self, name: Any, got: str, cure: str, row: int | None = None) -> ValueError:
        return ValueError(f"{self.where(row)}column {name!r} must hold numbers, {got}: {cure}")

    def is_index(self, name: Any) -> bool:
        """Tell whether a column without a name holds a row's number, or nothing at all."""
        values = self.values(name)
        if all(map(is_missing, values.tolist())):
            return True
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError):
            return False
        whole = bool(np.all((numbers == np.floor(numbers)) & (numbers >= 0)))
        return whole and len(np.unique(numbers)) == len(numbers)
