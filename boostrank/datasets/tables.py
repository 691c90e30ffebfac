"""Reads tables: data frames of pandas or polars, CSV and parquet files."""

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.letor import load_letor_parts
from boostrank.datasets.ranking_data import (
    RankingData,
    check_feature,
    check_ids,
    is_missing,
    join_ids,
)
from boostrank.objectives.validation import Floats, check_choice

#: How the names of files that are tables end; all others are svmlight.
ENDINGS = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are; all others are features.

    Attributes
    ----------
    label, qid : str
        Columns of the grades, and of the ids of queries: numbers or strings.
    drop : sequence of str
        Columns that are not features.
    categorical : sequence of str
        Features whose values have no order: numbers or strings. A column of strings that is not
        named here is refused.
    """

    label: str = "label"
    qid: str = "qid"
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is CSV or parquet."""
    return str(path).lower().endswith(ENDINGS)


def read_frame(path: str | os.PathLike[str]) -> Any:
    """Read a CSV or parquet file as a data frame of pandas.

    Raises
    ------
    ImportError
        Without pandas, or pyarrow for parquet: ``pip install "boostrank[tables]"``.
    """
    try:
        import pandas

        return (pandas.read_parquet if Path(path).suffix == ".parquet" else pandas.read_csv)(path)
    except ImportError as error:
        raise ImportError(
            f"{path}: CSV and parquet files need pandas and pyarrow: "
            f'pip install "boostrank[tables]" ({error})'
        ) from error
    except (ValueError, UnicodeDecodeError) as error:  # pandas' and pyarrow's parser errors
        raise ValueError(f"{path}: {str(error).splitlines()[0]}") from error


def read_parts(paths: Sequence[Any], columns: Columns) -> list[RankingData]:
    """Read each file (svmlight, CSV or parquet) as a data set; all get the same features.

    Parameters
    ----------
    paths : sequence of path
    columns : Columns
        For tables.

    Raises
    ------
    ValueError
        For tables among other files, and as `load_letor_parts` and `from_frame`.
    """
    tables = [path for path in paths if is_table(path)]
    if not tables:
        return load_letor_parts(list(paths))
    if len(tables) < len(paths):
        raise ValueError(
            f"the files must be of one kind, but {tables[0]} is a table and "
            f"{next(path for path in paths if not is_table(path))} is not"
        )
    return parts_of_frames([read_frame(path) for path in paths], columns)


def feature_name(column: Any) -> str:
    """Return a column's name in a form that both hosts take."""
    return re.sub(r'[\[\]{}<>",:\s]', "_", str(column))


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
) -> RankingData:
    """Make ranking data from a data frame.

    Parameters
    ----------
    frame : data frame of pandas or polars
        One row per document. If the rows of a query are not contiguous, the rows are grouped by
        query, in the order in which queries begin, with a warning.
    label, qid : str
        Columns of the grades and of the queries' ids, numbers or strings.
    drop : sequence of str, default ()
        Columns that are not features.
    categorical : sequence of str, default ()
        Features whose values have no order, numbers or strings; columns of a categorical type are
        always included. Strings are numbered in alphabetical order: see `RankingData.categories`.

    Returns
    -------
    RankingData

    Raises
    ------
    ValueError, TypeError
        For a column that does not exist, for strings in a feature that is not categorical, for the
        query's id among the features, and as `RankingData`.

    Examples
    --------
    >>> import pandas
    >>> from boostrank.datasets import from_frame
    >>> frame = pandas.DataFrame(
    ...     {"query": ["b", "b", "a"], "bm25": [2.0, 1.0, 3.0], "grade": [1, 0, 2]}
    ... )
    >>> data = from_frame(frame, label="grade", qid="query")
    >>> data, data.names, data.qid.tolist()
    (RankingData(2 queries, 3 documents, 1 feature), ('bm25',), ['b', 'b', 'a'])
    """
    return parts_of_frames([frame], Columns(label, qid, drop, categorical))[0]


def parts_of_frames(frames: Sequence[Any], columns: Columns) -> list[RankingData]:
    """Make one data set from each frame, with strings numbered the same way in all of them."""
    first = list(frames[0].columns)
    for name in (columns.label, columns.qid, *columns.drop, *columns.categorical):
        check_choice("column", name, map(str, first))
    for frame in frames[1:]:
        if list(frame.columns) != first:
            raise ValueError(
                "the tables must have the same columns, but "
                f"{set(map(str, first)) ^ set(map(str, frame.columns)) or 'their order'} differ"
            )
    names = [name for name in first if str(name) not in (columns.label, columns.qid, *columns.drop)]
    y, ids = _numbers(frames, columns.label), _values(frames, columns.qid)
    ids = check_ids(f"column {columns.qid!r}", ids, len(y))
    X = np.empty((len(y), len(names)))
    categories: dict[int, tuple[str, ...]] = {}
    categorical = []
    for i, name in enumerate(names):
        cure = f"Drop it: drop=[{name!r}], or --drop on the command line"
        check_feature("the table", name, _values(frames, name), ids, cure)
        if str(name) not in columns.categorical and not _is_category(frames, name):
            X[:, i] = _numbers(frames, name)
            continue
        categorical.append(i)
        X[:, i], words = _codes(_values(frames, name))
        if words:
            categories[i] = words
    sizes = [len(frame) for frame in frames]
    parts, end = [], 0
    for size in sizes:
        rows = np.arange(end, end + size)
        end += size
        parts.append(
            RankingData(
                *_grouped(X[rows], y[rows], ids[rows], columns.qid),
                names=tuple(map(feature_name, names)),
                categorical=tuple(categorical),
                categories=categories,
            )
        )
    return parts


def features_of_frame(
    frame: Any,
    columns: Columns,
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Floats:
    """Return the features of documents to be scored, as numbers.

    Parameters
    ----------
    frame : data frame
        Labels and queries may be absent.
    columns : Columns
    names : sequence of str
        Names of the model's features. If the frame has all of them, they are taken by name,
        otherwise all of its features in their order.
    categories : mapping of str to sequence of str, optional
        The strings of the model's categories, by feature. Others become missing values.
    """
    known = {feature_name(name): name for name in frame.columns}
    if categories:
        chosen = [known[check_choice("feature", name, known)] for name in names]
        return np.column_stack(
            [
                _codes(_values([frame], column), categories[name])[0]
                if name in categories
                else _numbers([frame], column)
                for name, column in zip(names, chosen, strict=True)
            ]
        )
    if names and all(name in known for name in names):
        chosen = [known[name] for name in names]
    else:
        own = (columns.label, columns.qid, *columns.drop)
        chosen = [name for name in frame.columns if str(name) not in own]
    return np.column_stack([_numbers([frame], name) for name in chosen])


def _is_category(frames: Sequence[Any], name: Any) -> bool:
    return str(frames[0][name].dtype).lower().startswith(("categor", "enum"))


def _array(column: Any) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy())


def _numbers(frames: Sequence[Any], name: Any) -> Floats:
    pieces = []
    for frame in frames:
        column = frame[name]
        try:
            if hasattr(column, "astype"):  # pandas, where a missing number may be NA
                column = column.astype("float64")
            pieces.append(_array(column).astype(np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {name!r} must hold numbers, got {str(column.dtype)!r}: name it as "
                "categorical, or drop it"
            ) from error
    return np.concatenate(pieces)


def _values(frames: Sequence[Any], name: Any) -> npt.NDArray[Any]:
    return join_ids([_array(frame[name]) for frame in frames])


def _codes(
    values: npt.NDArray[Any], words: Sequence[str] | None = None
) -> tuple[Floats, tuple[str, ...]]:
    """Return categories as numbers, and their strings: whole numbers from 0 stay, and have none.

    If `words` are given, a category is its place among them, or missing if it is not there.
    """
    values = values.astype(object)
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    codes = np.full(len(values), np.nan)
    known = values[~missing]
    if words is None:
        try:
            numbers = known.astype(np.float64)
            if np.all((numbers >= 0) & (numbers == np.floor(numbers))):
                codes[~missing] = numbers
                return codes, ()
        except (TypeError, ValueError):
            pass  # strings
    written = [_written(value) for value in known]
    found = tuple(sorted(set(written)) if words is None else words)
    places = {word: float(place) for place, word in enumerate(found)}
    codes[~missing] = [places.get(word, np.nan) for word in written]
    return codes, found


def _written(value: Any) -> str:
    """Return a category as a string: "12" also if a file with missing values made it 12.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _grouped(
    X: Floats, y: Floats, ids: npt.NDArray[Any], name: str
) -> tuple[Floats, Floats, npt.NDArray[Any]]:
    """Bring the documents of each query together, in the order in which queries begin."""
    _, first, query = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first[query], kind="stable")
    if (order == np.arange(len(order))).all():
        return X, y, ids
    warnings.warn(
        f"rows are grouped by {name!r}: the documents of a query were not contiguous",
        stacklevel=2,
    )
    return X[order], y[order], ids[order]
