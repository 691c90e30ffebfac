"""Reads tables: data frames of pandas and polars, Arrow tables, CSV and parquet files."""

import difflib
import os
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.csv_files import integers_of_text, line_of_row, read_csv
from boostrank.datasets.files import check_companions, what_it_is, without_compression
from boostrank.datasets.frames import Table
from boostrank.datasets.ids import check_ids, is_missing, join_ids
from boostrank.datasets.letor import check_sizes_next_to, load_letor_parts
from boostrank.datasets.ranking_data import RankingData, are_codes, check_feature, check_label
from boostrank.messages import TABLES, needs, warn
from boostrank.objectives.validation import Floats, check_choice, check_names

# What readers call a column without a name; pandas writes its index as one.
_UNNAMED = re.compile(r"(None|nan|Unnamed: \d+(_level_\d+)?|__index_level_\d+__)?")
# A number as programs write it: 007 is a name, and so is a hash such as 4e12345678901234567890.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, as in `from_frame`; all others are features."""

    label: str = "label"
    qid: str = "qid"
    drop: Sequence[str] = ()
    #: A column of strings that is not named here is refused.
    categorical: Sequence[str] = ()
    doc_id: str | None = None

    def __post_init__(self) -> None:
        check_names("drop", self.drop)
        check_names("categorical", self.categorical)

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns of ids."""
        return (self.qid,) if self.doc_id is None else (self.qid, self.doc_id)

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that are not features."""
        return (self.label, *self.ids, *self.drop)

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that a user has named."""
        return (*self.own, *self.categorical)

    def check_no_features(self) -> None:
        """Refuse names of features, for data whose features have none."""
        for name in (*self.drop, *self.categorical):
            raise ValueError(
                f"{name!r} is to be dropped or categorical, but only tables have columns with "
                "names: CSV, parquet and data frames"
            )


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is CSV or parquet; all others are svmlight."""
    return without_compression(Path(path)).suffix.lower() in (".csv", ".parquet")


def read_tables(paths: Sequence[Any], columns: Columns, words: Collection[str] = ()) -> list[Table]:
    """Read CSV and parquet files.

    `words` are features of a model that are text also where CSV has numbers only.
    """

    def is_category(name: str) -> bool:
        return name in columns.categorical or feature_name(name) in words

    tables = []
    for path in map(Path, paths):
        try:
            csv = without_compression(path).suffix.lower() == ".csv"
            frame = read_csv(path, columns.ids, is_category) if csv else _read_parquet(path)
        except ImportError as error:
            raise needs(
                f"{path}: CSV and parquet files need pandas and pyarrow", TABLES, error
            ) from error
        tables.append(Table(frame, path, columns.named))
    for name in (*columns.ids, *columns.categorical):
        texts = [table for table in tables if name in table.names and table.is_csv]
        if texts:  # one type for all
            read = integers_of_text(np.concatenate([table.values(name) for table in texts]))
            for table, own in zip(texts, _by_table(read, texts), strict=True):
                if name in columns.ids:
                    _check_written_alike(table, name, own)
                table.frame[name] = own
    return tables


def _check_written_alike(table: Table, name: str, ids: npt.NDArray[Any]) -> None:
    """Refuse whole numbers of CSV that are written in two ways, as 1 and 1.0: one id or two."""
    texts = table.values(name).tolist()
    first: dict[Any, int] = {}
    for row, (text, number) in enumerate(zip(texts, ids.tolist(), strict=True)):
        before = first.setdefault(number, row)
        if isinstance(number, int) and text != texts[before]:
            assert table.path is not None
            raise ValueError(
                f"{table.where(row)}column {name!r} has {text!r}, and {texts[before]!r} in line "
                f"{line_of_row(table.path, before)}: write one id in one way, and two ids as words"
            )


def _by_table(values: npt.NDArray[Any], tables: Sequence[Table]) -> list[npt.NDArray[Any]]:
    """Return the values of each table's rows."""
    return np.split(values, np.cumsum([len(table) for table in tables])[:-1])


def _read_parquet(path: Path) -> Any:
    import pandas

    try:
        return pandas.read_parquet(path)
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # it is not one of pyarrow
            raise
        with path.open("rb") as file:
            start = file.read(1024)
        first = str(error).splitlines()[0]
        whole = start.startswith(b"PAR1")
        what = f"not a whole parquet file ({first}); fetch it again" if whole else what_it_is(start)
        raise ValueError(f"{path}: {what or first}") from error


def read_parts(paths: Sequence[Any], columns: Columns) -> list[RankingData]:
    """Read each file (svmlight, CSV or parquet) as a data set; all get the same features."""
    if not are_tables(paths, columns):
        return load_letor_parts(list(paths))
    return parts_of_tables(read_tables(paths, columns), columns)


def are_tables(paths: Sequence[Any], columns: Columns) -> bool:
    """Tell whether files are tables; they must be of one kind, with columns that fit it."""
    tables = [path for path in paths if is_table(path)]
    if tables and len(tables) < len(paths):
        raise ValueError(
            f"the files must be of one kind, but {tables[0]} is a table and "
            f"{next(path for path in paths if not is_table(path))} is not"
        )
    if not tables:
        columns.check_no_features()
    return bool(tables)


def feature_name(column: Any) -> str:
    """Return a column's name in a form that both hosts take."""
    # LightGBM drops a = at the beginning of its list of names.
    return re.sub(r'^=|[\[\]{}<>",:\s\x00-\x1f]', "_", str(column))


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    doc_id: str | None = None,
) -> RankingData:
    """Make ranking data from a data frame.

    Parameters
    ----------
    frame : data frame of pandas or polars, or Arrow table
        One row per document. If the rows of a query are not contiguous, the rows are grouped by
        query, in the order in which queries begin, with a warning. A name below may be a level of
        the index; other levels are left out.
    label, qid : str
        Columns of the grades, and of the queries' ids: integers, strings or dates.
    drop : sequence of str, optional
        Columns that are not features.
    categorical : sequence of str, optional
        Features whose values have no order, numbers or strings; columns of a categorical type are
        always included. Strings are numbered in alphabetical order: see `RankingData.categories`.
    doc_id : str, optional
        Column of the documents' ids, which is then not a feature. Default None: there is none.

    Returns
    -------
    RankingData

    Raises
    ------
    ValueError, TypeError
        For a column that does not exist, or two of one name; for strings in a feature that is not
        categorical; for the label or the query's id among the features; for a column without a
        name that does not number the rows; and as `RankingData`.

    Warns
    -----
    UserWarning
        If rows are grouped, and if a column without a name only numbers the rows, as a kept index
        does, or is empty: it is left out.

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
    columns = Columns(label, qid, drop, categorical, doc_id)
    return parts_of_tables([Table(frame, named=columns.named)], columns)[0]


def parts_of_tables(tables: Sequence[Table], columns: Columns) -> list[RankingData]:
    """Make one data set from each table, with strings numbered the same way in all of them."""
    _check_names(tables, columns)
    names = _features(tables, columns)
    y, ids, doc_id = _labels_and_ids(tables, columns)
    X = np.empty((len(y), len(names)))
    categories: dict[int, tuple[str, ...]] = {}
    categorical = []
    what = f"{tables[0].where()}the table"
    for i, name in enumerate(names):
        cure = f"Drop it: drop=[{name!r}], or --drop on the command line"
        values = join_ids([table.values(name) for table in tables])
        check_feature(what, name, values, ids, cure)
        if str(name) in columns.categorical or tables[0].is_category(name):
            categorical.append(i)
            X[:, i], words = _codes(values)
            if words:
                categories[i] = words
            continue
        numeric = (
            "write its values as numbers, such as 35.57; name it as categorical if they are "
            "kinds; or drop it"
        )
        X[:, i] = np.concatenate([_numbers(table, name, numeric) for table in tables])
        check_label(what, name, X[:, i], y, cure)
    meanings = {
        "names": tuple(map(feature_name, names)),
        "categorical": tuple(categorical),
        "categories": categories,
    }
    return _by_query(tables, columns.qid, X, y, ids, doc_id, **meanings)


def _by_query(
    tables: Sequence[Table], name: str, X: Any, y: Any, ids: Any, doc_id: Any, **meanings: Any
) -> list[RankingData]:
    """Return one data set for each table, the rows of a query together, as queries begin.

    `name` is the column of the queries' ids, and `meanings` are those of the features.
    """
    parts = []
    for rows in _by_table(np.arange(len(y)), tables):
        _, first, query = np.unique(ids[rows], return_index=True, return_inverse=True)
        order = np.argsort(first[query], kind="stable")
        if not (order == np.arange(len(order))).all():
            warn(f"rows are grouped by {name!r}: the documents of a query were not contiguous")
        rows = rows[order]
        own_id = None if doc_id is None else doc_id[rows]
        parts.append(RankingData(X[rows], y[rows], ids[rows], doc_id=own_id, **meanings))
    return parts


def _check_names(tables: Sequence[Table], columns: Columns) -> None:
    """Refuse columns that do not exist or are two things at once, and more data in files."""
    for table in tables:
        if table.path is not None:
            check_companions(table.path)
        for name in columns.named:
            _column(table, name)
        if not len(table):
            raise ValueError(f"{table.where()}the table holds no documents")
    for name in columns.categorical:
        if name in columns.own:
            raise ValueError(f"{name!r} is named as categorical, but it is not among the features")
    if columns.label in columns.ids:
        raise ValueError(f"the label and an id are one column, {columns.label!r}; name both")


def _features(tables: Sequence[Table], columns: Columns) -> list[Any]:
    """Return the names of the columns that are features, in the order of the first table."""
    names = [_without_index(table, columns) for table in tables]
    for table, own in zip(tables, names, strict=True):
        if differing := set(names[0]) ^ set(own):
            raise ValueError(
                f"{table.where()}the tables must have the same columns, but {differing} differ"
            )
    home: dict[str, Any] = {}
    for name in names[0]:
        if home.setdefault(feature_name(name), name) is not name:
            raise ValueError(
                f"{tables[0].where()}the columns {home[feature_name(name)]!r} and {name!r} would "
                f"both be called {feature_name(name)!r} in a model; rename one of them"
            )
    return names[0]


def _without_index(table: Table, columns: Columns) -> list[Any]:
    """Return the columns that may be features; a kept index, which has no name, is left out."""
    others = [name for name in table.names if str(name) not in columns.named]
    unnamed = [name for name in others if _UNNAMED.fullmatch(str(name))]
    for name in unnamed:
        what = f"{table.where()}column {table.names.index(name) + 1} has no name"
        if not table.is_index(name):
            raise ValueError(f"{what}; name it, or drop it as {str(name)!r}")
        warn(f"{what} and only numbers the rows, or is empty: it is left out")
    kept = [name for name in table.names if str(name) not in columns.own and name not in unnamed]
    if not kept:
        raise ValueError(
            f"{table.where()}the table has no features: all columns are labels, ids or dropped"
        )
    return kept


def _numbers(table: Table, name: Any, cure: str) -> Floats:
    """Return a column; its numbers must be finite, or missing."""
    numbers = table.numbers(name, cure)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise ValueError(
            f"{table.where(row)}column {name!r} must be finite, or empty where a value is "
            f"missing, got {numbers[row]}{table.in_row(row)}"
        )
    return numbers


def _column(table: Table, text: Any) -> Any:
    """Return the name of a column, which need not be a string."""
    try:
        check_choice("column", str(text), list(map(str, table.names)))
    except ValueError as error:
        option = f"; --{text}, or {text}= in Python, names another"
        cure = option if text in (Columns.label, Columns.qid) else ""
        raise ValueError(f"{table.where()}{error}{cure}") from None
    return next(name for name in table.names if name == text or str(name) == text)


def labels_of(tables: Sequence[Table], name: str) -> Floats:
    """Return the labels of all documents."""
    pieces = []
    for table in tables:
        y = _numbers(table, _column(table, name), "number the grades from 0, the best highest")
        if np.isnan(y).any():
            row = int(np.argmax(np.isnan(y)))
            raise ValueError(
                f"{table.where(row)}column {name!r} has no label{table.in_row(row)}; map "
                "missing judgements to 0 or drop their rows"
            )
        pieces.append(y)
    return np.concatenate(pieces)


def complete(tables: Sequence[Table], name: str, what: str) -> npt.NDArray[Any]:
    """Return a column of all tables, which must have `what` in every row; dates become text."""
    pieces = []
    for table in tables:
        values = join_ids([table.values(_column(table, name))])
        missing = [] if values.dtype.kind in "iu" else list(map(is_missing, values.tolist()))
        if any(missing):
            row = missing.index(True)
            also = ", which NA, NULL, nan and the like stand for" if table.is_csv else ""
            raise ValueError(
                f"{table.where(row)}column {name!r} must have {what} for every document, but row "
                f"{row} has none{also}; fill it in, or leave the document out"
            )
        pieces.append(values)
    return join_ids(pieces)


def ids_of(tables: Sequence[Table], name: str) -> npt.NDArray[Any]:
    """Return the ids of all documents, of one kind."""
    ids = complete(tables, name, "an id")
    try:
        return check_ids(f"column {name!r}", ids, len(ids))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{tables[0].where()}{error}") from error


def _labels_and_ids(tables: Sequence[Table], columns: Columns) -> tuple[Floats, Any, Any]:
    """Return labels, ids of queries, which files of sizes must not contradict, and of documents."""
    y, ids = labels_of(tables, columns.label), ids_of(tables, columns.qid)
    for table, own in zip(tables, _by_table(ids, tables), strict=True):
        if table.path is not None:
            check_sizes_next_to(table.path, own)
    return y, ids, None if columns.doc_id is None else ids_of(tables, columns.doc_id)


def judgements(tables: Sequence[Table], columns: Columns) -> RankingData:
    """Return labels and ids, in the order of queries, with the documents' rows as only feature.

    A query of two tables is a ValueError, as in training.
    """
    _check_names(tables, columns)
    y, ids, doc_id = _labels_and_ids(tables, columns)
    rows = np.arange(len(y))[:, np.newaxis]
    return RankingData.concat(_by_query(tables, columns.qid, rows, y, ids, doc_id))


def by_feature(columns: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return columns by what a model whose features have these names would call each."""
    known: dict[str, list[Any]] = {}
    own = set(names)
    for column in columns:
        known.setdefault(column if column in own else feature_name(column), []).append(column)
    return known


def features_of_table(
    table: Table,
    columns: Columns,
    names: Sequence[str],
    categories: Mapping[str, Sequence[Any]] | None = None,
    *,
    made_up: bool = False,
) -> Floats:
    """Return the features of documents to be scored, as numbers; labels and queries may be absent.

    The model's features have these `names`. If the table has them, they are taken by name; if it
    has none of them, all of its features in their order, with a warning. Names that a host has
    `made_up` count only if the table has them all. `categories` are the values of the model's
    categories, by feature; others become missing values.

    A feature that the table lacks is a ValueError, if it has others, or if the model has
    categories; so are numbers that are infinite.
    """
    known = by_feature(table.names, names)
    words = categories or {}
    enough = all if made_up else any
    if words or enough(name in known for name in names):
        chosen = {name: _named(name, known, names, table, columns) for name in names}
    else:
        chosen = {name: name for name in _without_index(table, columns)}
        if len(chosen) == len(names):  # others are refused
            unnamed = "the features of the model have no names"
            why = unnamed if made_up else "no column has the name of a feature of the model"
            warn(
                f"{table.where()}{why}: the table's {len(chosen)} columns are taken in their order"
            )
    cure = "the model's features are numbers"
    return np.column_stack(
        [
            _known_codes(table, column, words[name])
            if name in words
            else _numbers(table, column, cure)
            for name, column in chosen.items()
        ]
    )


def _known_codes(table: Table, column: Any, words: Sequence[Any]) -> Floats:
    """Return the numbers of a model's categories; warn if no value is one of them."""
    values = table.values(column)
    codes, found = _codes(values, words)
    # A column without a value in training has no categories, and counts for nothing in the model.
    if found and np.isnan(codes).all() and not all(map(is_missing, values.tolist())):
        warn(
            f"{table.where()}column {column!r} has none of the model's categories, such as "
            f"{found[0]!r}: all of its values count as missing"
        )
    return codes


def _named(
    name: str,
    known: Mapping[str, list[Any]],
    names: Sequence[str],
    table: Table,
    columns: Columns,
) -> Any:
    """Return the column of a feature of the model."""
    if name in known:
        if len(known[name]) > 1:
            both = " and ".join(map(repr, known[name]))
            raise ValueError(
                f"{table.where()}the columns {both} may both be the model's feature {name!r}; "
                "rename one of them"
            )
        return known[name][0]
    # Only a column that nothing else needs may be meant: feat_39 is no misspelt feat_3.
    digits = re.findall(r"\d+", name)
    unused = {
        one.strip("_").lower(): str(columns_of_name[0])
        for one, columns_of_name in known.items()
        if one not in names and one not in columns.own and re.findall(r"\d+", one) == digits
    }
    near = difflib.get_close_matches(name.lower(), unused, n=1)
    hint = f"; did you mean {unused[near[0]]!r}?" if near else ""
    if near and _nfc(unused[near[0]]) == _nfc(name):  # the two look the same
        hint = "; its column has letters in another form of Unicode: write both in one, such as NFC"
    lacking = [one for one in names if one not in known]
    others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    raise ValueError(
        f"{table.where()}the data lack the model's feature {name!r}{others}{hint or '; add it'}"
    )


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _codes(
    values: npt.NDArray[Any], words: Sequence[Any] | None = None
) -> tuple[Floats, tuple[str, ...]]:
    """Return categories as numbers, and their strings: whole numbers from 0 stay, and have none.

    If `words` are given, strings, numbers or truth values, a category is its place among them, or
    missing if it is not there. Text is itself first, then the number that it writes.
    """
    values = values.astype(object)
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    codes = np.full(len(values), np.nan)
    known = values[~missing]
    if words is None:
        try:
            numbers = known.astype(np.float64)
            names = (value for value in known if isinstance(value, str))
            if are_codes(numbers).all() and all(map(_NUMBER.fullmatch, names)):
                codes[~missing] = numbers
                return codes, ()
        except (TypeError, ValueError):
            pass  # strings
    written = [_written(value) for value in known]
    found = tuple(sorted(set(written)) if words is None else map(_written, words))
    places = {word: float(place) for place, word in enumerate(found)}
    numbers = {Decimal(word): places[word] for word in found if _NUMBER.fullmatch(word)}
    for word in set(written) - places.keys():
        if _NUMBER.fullmatch(word):  # 2.0 is the category 2
            places[word] = numbers.get(Decimal(word), np.nan)
    codes[~missing] = [places.get(word, np.nan) for word in written]
    return codes, found


def _written(value: Any) -> str:
    """Return a category as a string: "12" also if a file with missing values made it 12.0."""
    if isinstance(value, np.floating):
        value = float(value)  # NumPy writes float32 in fewer digits
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
