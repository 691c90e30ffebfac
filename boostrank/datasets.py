"""Ranking data: reading LETOR files, folds, and data made by a known recipe.

Every data set here is a `RankingData`: dense features, one grade a document, and queries told
apart by row-aligned ids. Loading needs scikit-learn (``pip install "boostrank[cli]"``); all else
here needs NumPy only.
"""

import array
import gzip
import io
import math
import numbers
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt

from boostrank.objectives.validation import (
    MAX_GRADE,
    check_count,
    check_flag,
    check_group,
    check_seed,
)

__all__ = [
    "Fold",
    "RankingData",
    "group_folds",
    "letor_folds",
    "load_letor",
    "load_letor_parts",
    "make_ranking",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Svmlight is a sparse format and X is dense: one mistyped feature number could ask for more memory
# than any machine has. A stored value takes at least four bytes of text ("1:0 "), so 256 bytes of
# matrix for each byte of text let all but one cell in 128 be absent. Tiny files may take 64 MiB.
MATRIX_BYTES_PER_TEXT_BYTE = 256
MATRIX_BYTES_ALWAYS = 64 * 2**20

# Shares of the grades 0..4 among the judgements of MSLR-WEB30K, a web search engine's.
GRADE_SHARES = (0.52, 0.32, 0.13, 0.022, 0.008)


def _numbers(name: str, values: Any, n_dims: int) -> npt.NDArray[Any]:
    array_ = np.asarray(values)
    if array_.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be a dense array of numbers, got {type(values).__name__} "
            f"of dtype {array_.dtype}"
        )
    if array_.ndim != n_dims:
        raise ValueError(f"{name} must be a {n_dims}-D array, got shape {array_.shape}")
    return array_


def query_starts(qid: Integers) -> tuple[Integers, int | None]:
    """Return the first row of every run of equal ids, and the first row where an id comes back."""
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    first = np.unique(qid[starts], return_index=True)[1]
    back = np.setdiff1d(np.arange(len(starts)), first)
    return starts, int(starts[back[0]]) if len(back) else None


def _bad_grades(y: Floats) -> npt.NDArray[np.bool_]:
    good: npt.NDArray[np.bool_] = (y >= 0) & (y <= MAX_GRADE)
    return ~good  # NaN too


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents of consecutive queries, with features and grades.

    Built from row-aligned query ids alone; the group sizes follow from them, so the two cannot
    disagree. From group sizes: ``qid=np.repeat(np.arange(len(group)), group)``.

    Parameters
    ----------
    X : array_like (n_docs, n_features)
        Features; NaN is a missing value, infinities are refused (XGBoost refuses them too).
    y : array_like (n_docs,)
        Grades, finite and in 0..1000.
    qid : array_like of integers (n_docs,)
        Id of each document's query. A query's documents stand together.

    Attributes
    ----------
    X : float64 array (n_docs, n_features), C order
    y : float64 array (n_docs,)
        float64 because the objectives and metrics compute gains from it in float64, and because
        grades need not be whole.
    group : int64 array (n_queries,)
        Sizes of consecutive queries, as LightGBM takes them.
    qid : int64 array (n_docs,)
        As XGBoost takes it.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind, shape or range, and for a query whose documents do not
        stand together.

    Examples
    --------
    >>> from boostrank.datasets import RankingData
    >>> data = RankingData(X=[[0.5], [0.1], [0.9]], y=[2, 0, 1], qid=[7, 7, 8])
    >>> data
    RankingData(2 queries, 3 documents, 1 feature)
    >>> data.group.tolist()
    [2, 1]
    """

    X: Floats
    y: Floats
    group: Integers = field(init=False)
    qid: Integers

    def __post_init__(self) -> None:
        X = np.ascontiguousarray(_numbers("X", self.X, 2), dtype=np.float64)
        y = np.ascontiguousarray(_numbers("y", self.y, 1), dtype=np.float64)
        qid = _numbers("qid", self.qid, 1)
        if qid.dtype.kind not in "iu" or not np.can_cast(qid.dtype, np.int64):
            raise TypeError(
                f"qid must hold integers that fit int64, got dtype {qid.dtype}; number other ids "
                "with np.unique(ids, return_inverse=True)[1]"
            )
        qid = np.ascontiguousarray(qid, dtype=np.int64)
        if not len(X) == len(y) == len(qid):
            raise ValueError(
                "X, y and qid must have one row for each document, got "
                f"{len(X)}, {len(y)} and {len(qid)} rows"
            )
        if X.size == 0:
            raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
        # min and max pass NaN over and need no array of flags as large as X.
        if np.isinf(np.fmin.reduce(X, axis=None)) or np.isinf(np.fmax.reduce(X, axis=None)):
            row, column = np.argwhere(np.isinf(X))[0]
            raise ValueError(
                f"X must be finite, or NaN where a value is missing, got {X[row, column]} "
                f"at row {row}, column {column}"
            )
        bad = _bad_grades(y)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"y must hold relevance grades between 0 and {MAX_GRADE:g}, got {y[row]:g} "
                f"at row {row}; map missing judgements to 0 or drop their rows"
            )
        starts, back = query_starts(qid)
        if back is not None:
            raise ValueError(
                f"qid must keep a query's rows together, but {qid[back]} comes back at row {back} "
                "after another query; sort the rows by query first"
            )
        group = np.diff(starts, append=len(qid))
        for name, value in {"X": X, "y": y, "group": group, "qid": qid}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        parts = [
            f"{n} {one if n == 1 else many}"
            for n, one, many in (
                (len(self.group), "query", "queries"),
                (len(self.y), "document", "documents"),
                (self.X.shape[1], "feature", "features"),
            )
        ]
        return f"RankingData({', '.join(parts)})"

    def _rows(self, rows: Integers) -> Self:
        return type(self)(self.X[rows], self.y[rows], self.qid[rows])

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return several data sets as one.

        Parameters
        ----------
        parts : sequence of RankingData
            At least one, with equally many features and no query id in common.

        Returns
        -------
        RankingData
            The queries of all parts in their order.

        Raises
        ------
        ValueError
            For no parts, different numbers of features, or a query id in two parts.

        Examples
        --------
        >>> from boostrank.datasets import RankingData, make_ranking
        >>> data = make_ranking(6, 4, seed=0)
        >>> RankingData.concat(data.split(3, seed=0))
        RankingData(6 queries, 24 documents, 50 features)
        """
        if len(parts) == 0:
            raise ValueError("parts must hold at least one RankingData, got none")
        widths = [part.X.shape[1] for part in parts]
        if len(set(widths)) > 1:
            raise ValueError(
                f"parts must have equally many features, got {', '.join(map(str, widths))}; "
                "load_letor and load_letor_parts make files of one data set equally wide"
            )
        ids, counts = np.unique(
            np.concatenate([np.unique(part.qid) for part in parts]), return_counts=True
        )
        if (counts > 1).any():
            raise ValueError(
                f"parts must have no query in common, but query {ids[counts > 1][0]} is in "
                f"{counts[counts > 1][0]} of them ({(counts > 1).sum()} such); "
                "renumber qid if they are different queries"
            )
        return cls(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.qid for part in parts]),
        )

    def select(self, query_indices: Any) -> Self:
        """Return whole queries, chosen by position.

        Parameters
        ----------
        query_indices : array_like of integers (n_selected,)
            Positions of queries, 0..n_queries - 1, each at most once, in the order wanted.

        Returns
        -------
        RankingData

        Raises
        ------
        TypeError, ValueError
            For positions that are no integers, out of range, repeated, or none at all.

        Examples
        --------
        >>> from boostrank.datasets import RankingData
        >>> data = RankingData(X=[[1], [2], [3]], y=[2, 0, 1], qid=[7, 7, 8])
        >>> data.select([1, 0]).qid.tolist()
        [8, 7, 7]
        """
        n_queries = len(self.group)
        indices = np.asarray(query_indices)
        if indices.ndim != 1 or len(indices) == 0:
            raise ValueError(
                f"query_indices must be a list of at least one position, got {query_indices!r}"
            )
        if indices.dtype.kind not in "iu":
            raise TypeError(
                f"query_indices must hold integers, got dtype {indices.dtype}; "
                "use np.flatnonzero on flags"
            )
        bad = (indices < 0) | (indices >= n_queries)
        if bad.any():
            raise ValueError(
                f"query_indices must lie in 0..{n_queries - 1}, got {indices[np.argmax(bad)]}"
            )
        if len(np.unique(indices)) < len(indices):
            raise ValueError("query_indices must name each query at most once, got a repeated one")
        ends = np.cumsum(self.group)
        starts = ends - self.group
        return self._rows(np.concatenate([np.arange(starts[i], ends[i]) for i in indices]))

    def split(self, n_parts: int, seed: int) -> list[Self]:
        """Deal the queries at random into parts of equal size.

        Parameters
        ----------
        n_parts : int
            Number of parts, at least 1 and at most the number of queries.
        seed : int
            Equal seeds give equal parts.

        Returns
        -------
        list of RankingData
            Their numbers of queries differ by at most one; within a part the order is kept.

        Raises
        ------
        TypeError, ValueError
            For an argument of another kind or range.

        Examples
        --------
        >>> from boostrank.datasets import make_ranking
        >>> [len(part.group) for part in make_ranking(7, 4, seed=0).split(3, seed=0)]
        [3, 2, 2]
        """
        n_queries = len(self.group)
        if check_count("n_parts", n_parts) > n_queries:
            raise ValueError(
                f"n_parts must be at most the number of queries, {n_queries}, got {n_parts}"
            )
        order = np.random.default_rng(check_seed(seed)).permutation(n_queries)
        return [self.select(np.sort(order[part::n_parts])) for part in range(n_parts)]

    def shuffle_within_queries(self, seed: int) -> Self:
        """Return the same queries with the documents of each in random order.

        Published files often list documents by the score of a good ranker (OHSUMED by BM25), and
        measures that break ties by file order then flatter any model with tied scores: shuffle
        before training and evaluating.

        Parameters
        ----------
        seed : int
            Equal seeds give equal orders.

        Returns
        -------
        RankingData

        Raises
        ------
        TypeError, ValueError
            For a seed that is no whole number or negative.

        Examples
        --------
        >>> from boostrank.datasets import RankingData
        >>> data = RankingData(X=[[1], [2], [3], [4]], y=[2, 0, 1, 0], qid=[7, 7, 7, 8])
        >>> data.shuffle_within_queries(seed=0).X.ravel().tolist()
        [2.0, 3.0, 1.0, 4.0]
        """
        keys = np.random.default_rng(check_seed(seed)).permutation(len(self.y))
        query = np.repeat(np.arange(len(self.group)), self.group)
        return self._rows(np.lexsort((keys, query)))


class Fold(NamedTuple):
    """One round of a cross-validation.

    Attributes
    ----------
    train, validation, test : RankingData
    """

    train: RankingData
    validation: RankingData
    test: RankingData


def letor_folds(parts: Sequence[RankingData]) -> Iterator[Fold]:
    """Rotate partitions as LETOR does: the last tests, the one before validates, the rest train.

    With LETOR's five partitions, fold 1 trains on S1, S2, S3, validates on S4 and tests on S5;
    fold 2 trains on S2, S3, S4, validates on S5 and tests on S1; and so on. Every query is tested
    on exactly once.

    Parameters
    ----------
    parts : sequence of RankingData
        At least three partitions, equally wide and without a common query, as `load_letor_parts`
        and `RankingData.split` give them.

    Returns
    -------
    iterator of Fold
        As many as there are parts, each made when it is asked for.

    Raises
    ------
    ValueError
        For fewer than three parts; also what `RankingData.concat` raises, while iterating.

    Examples
    --------
    >>> from boostrank.datasets import letor_folds, make_ranking
    >>> parts = make_ranking(10, 4, seed=0).split(5, seed=0)
    >>> [len(fold.train.group) for fold in letor_folds(parts)]
    [6, 6, 6, 6, 6]
    """
    parts = list(parts)
    if len(parts) < 3:
        raise ValueError(
            "parts must be at least three partitions (to train, validate and test), got "
            f"{len(parts)}; deal one data set into five with data.split(5, seed=...)"
        )
    turns = (parts[first:] + parts[:first] for first in range(len(parts)))
    return (Fold(RankingData.concat(turn[:-2]), turn[-2], turn[-1]) for turn in turns)


@overload
def group_folds(
    group: Any, n_folds: int = ..., *, seed: int | None = ..., validation: Literal[False] = ...
) -> list[tuple[Integers, Integers]]: ...


@overload
def group_folds(
    group: Any, n_folds: int = ..., *, seed: int | None = ..., validation: Literal[True]
) -> list[tuple[Integers, Integers, Integers]]: ...


def group_folds(
    group: Any, n_folds: int = 5, *, seed: int | None = None, validation: bool = False
) -> list[tuple[Integers, Integers]] | list[tuple[Integers, Integers, Integers]]:
    """Make the rows of folds that hold whole queries.

    For ``folds=`` of `lightgbm.cv` and ``cv=`` of scikit-learn, whose own folds cut queries apart.
    (`xgboost.cv` makes such folds itself and takes no others.) Queries are dealt into as many parts
    as folds, which take turns as LETOR's do: the last part tests and the rest train; with
    `validation`, the one before the last is kept apart. Then the first part moves to the end.

    Parameters
    ----------
    group : array_like of integers (n_queries,)
        Sizes of consecutive queries.
    n_folds : int, default 5
        At least 2, with `validation` 3, and at most the number of queries.
    seed : int, optional
        Deal the queries at random; equal seeds give equal folds. Default None: each part holds
        consecutive queries.
    validation : bool, default False
        Give each fold a validation part.

    Returns
    -------
    list of (train, test), with `validation` of (train, validation, test)
        Ascending rows, int64 arrays.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or range.

    Examples
    --------
    >>> import boostrank
    >>> for train, test in boostrank.group_folds([2, 1, 2], 3):
    ...     print(train, test)
    [0 1 2] [3 4]
    [2 3 4] [0 1]
    [0 1 3 4] [2]
    >>> import lightgbm
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(20, 10, seed=0)
    >>> history = lightgbm.cv(
    ...     {"objective": boostrank.SDCG(), "metric": "None", "verbosity": -1},
    ...     lightgbm.Dataset(data.X, data.y, group=data.group),
    ...     num_boost_round=3,
    ...     folds=boostrank.group_folds(data.group, seed=0),
    ...     feval=boostrank.metric("ndcg@10"),
    ... )
    >>> len(history["valid ndcg@10-mean"])
    3
    """
    sizes = np.asarray(group)
    # Nothing else tells how many documents there are.
    boundaries = check_group(group, sizes.sum() if sizes.dtype.kind in "iuf" else 0)
    n_queries = len(boundaries) - 1
    least = 3 if check_flag("validation", validation) else 2
    if not least <= check_count("n_folds", n_folds) <= n_queries:
        raise ValueError(
            f"n_folds must be from {least} to the number of queries, {n_queries}, got {n_folds}"
        )
    order = np.arange(n_queries)
    if seed is not None:
        order = np.random.default_rng(check_seed(seed)).permutation(n_queries)
    query = np.repeat(np.arange(n_queries), np.diff(boundaries))
    parts = [np.flatnonzero(np.isin(query, part)) for part in np.array_split(order, n_folds)]
    turns = [parts[first:] + parts[:first] for first in range(n_folds)]
    if validation:
        return [(np.sort(np.concatenate(turn[:-2])), turn[-2], turn[-1]) for turn in turns]
    return [(np.sort(np.concatenate(turn[:-1])), turn[-1]) for turn in turns]


class _Lines:
    """The lines of one file as scikit-learn's reader takes them, remembering where it is.

    Comments go, NULL becomes nan. The qid is taken here because the reader (1.9) appends each to
    a new copy of all before, in quadratic time. `fault` explains the current line once the reader
    has refused it, so good files pay nothing for the explanation.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0  # of the current line, 1-based
        self.body = b""  # of the current line, without its comment
        self.n_bytes = 0
        self.rows = array.array("q")  # line number of each document
        self.qid = array.array("q")
        self.without_qid = 0  # number of the first line that has none

    def read(self, size: int = -1) -> bytes:
        """Mark this as a file: the reader looks for the name, and iterates."""
        raise io.UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        opener = gzip.open if self.path.suffix == ".gz" else open
        with opener(self.path, "rb") as lines:
            for line in lines:
                self.number += 1
                self.n_bytes += len(line)
                self.body = body = line.partition(b"#")[0]
                start = body.split(None, 2)[:2]
                if not start:
                    continue
                # Python's numbers may hold underscores; those of files may not.
                if b"_" in body:
                    raise ValueError
                self.rows.append(self.number)
                if len(start) == 2 and start[1].startswith(b"qid"):
                    self.qid.append(int(start[1].removeprefix(b"qid:")))
                elif not self.without_qid:
                    self.without_qid = self.number
                yield body.replace(b":NULL", b":nan") if b"NULL" in body else body

    def error(self, what: str, *, row: int | None = None) -> ValueError:
        """Return the error that names the file and a line: that of a row, or the current one."""
        number = self.number if row is None else self.rows[row]
        return ValueError(f"{self.path}, line {number}: {what}")

    def fault(self) -> str:
        """Say what is wrong with the current line; nothing where it is sound."""
        label, *tokens = self.body.split()
        if b":" in label:
            return f"the label is missing, the line begins with {_shown(label)}"
        if not _is_number(label):
            return f"the label must be a number, got {_shown(label)}"
        if tokens and tokens[0].startswith(b"qid"):
            token = tokens.pop(0)
            if not re.fullmatch(rb"qid:[+-]?\d{1,19}", token) or abs(int(token[4:])) >= 2**63:
                return f"the query must be qid: and a whole number of 64 bits, got {_shown(token)}"
        previous = 0
        for token in tokens:
            index, colon, value = token.partition(b":")
            if index == b"qid":
                return f"the query must stand right after the label, got {_shown(token)} later"
            if not colon or not re.fullmatch(rb"\+?-?\d+", index):
                return f"expected a feature as number:value, got {_shown(token)}"
            # Digits are cut because Python refuses to convert thousands of them.
            feature = int(index[:20])
            if feature < 1:
                return f"features are numbered from 1, got {_shown(token)}"
            if feature >= 2**31:
                return f"the feature's number is too large, got {_shown(token)}"
            if feature <= previous:
                return f"features must increase along a line, got {feature} after {previous}"
            if value != b"NULL" and not _is_number(value):
                return (
                    f"the value of feature {feature} must be a number, nan or NULL, "
                    f"got {_shown(value)}"
                )
            previous = feature
        return ""


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return b"_" not in token


def _shown(token: bytes) -> str:
    """Quote a piece of a file, which may be anything, for a message."""
    return ascii((token if len(token) <= 40 else token[:37] + b"...").decode("utf-8", "replace"))


def _read_sizes(path: Path, n_docs: int, data_path: Path) -> list[int]:
    """Read LightGBM's query file: the size of one query on each line."""
    sizes = []
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text:
                continue
            if not re.fullmatch(rb"0*[1-9]\d{0,17}", text):
                raise ValueError(
                    f"{path}, line {number}: expected the size of a query, a whole number of at "
                    f"least 1, got {_shown(text)}"
                )
            sizes.append(int(text))
    if sum(sizes) != n_docs:
        raise ValueError(
            f"{path}: the sizes of its {len(sizes)} queries add up to {sum(sizes)}, "
            f"but {data_path} holds {n_docs} documents"
        )
    return sizes


def _read_file(path: Path, first_qid: int) -> tuple[Any, Floats, Integers, _Lines]:
    """Read one file into sparse features, labels and query ids, all checked."""
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError as error:
        raise ImportError(
            'reading LETOR files needs scikit-learn: pip install "boostrank[cli]"'
        ) from error

    lines = _Lines(path)
    try:
        X, y = load_svmlight_file(lines, zero_based=False)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}, after line {lines.number}: not a whole gzip file ({error}); fetch it again, "
            "or name it without .gz if it is plain text"
        ) from error
    except (ValueError, OverflowError) as error:
        if not lines.rows and not lines.body:  # the path itself, or an old reader of empty files
            raise
        raise lines.error(lines.fault() or str(error)) from error

    n_docs = len(y)
    if n_docs == 0:
        raise ValueError(f"{path} holds no documents")
    bad = _bad_grades(y)
    if bad.any():
        row = int(np.argmax(bad))
        raise lines.error(
            f"the label must be a grade between 0 and {MAX_GRADE:g}, got {y[row]:g}", row=row
        )
    bad = np.isinf(X.data)
    if bad.any():
        row = int(np.searchsorted(X.indptr, np.argmax(bad), side="right")) - 1
        raise lines.error(
            f"the value of feature {X.indices[np.argmax(bad)] + 1} must be finite, "
            f"got {X.data[np.argmax(bad)]}",
            row=row,
        )

    if not lines.qid:
        # rank.train.gz and rank.train both have their queries in rank.train.query
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        query_path = plain.with_name(plain.name + ".query")
        if not query_path.is_file():
            raise ValueError(
                f"{path}, line {lines.without_qid}: no qid, and there is no {query_path.name} "
                "beside the file with the sizes of its queries"
            )
        sizes = _read_sizes(query_path, n_docs, path)
        return X, y, np.repeat(np.arange(first_qid, first_qid + len(sizes)), sizes), lines
    if lines.without_qid:
        raise ValueError(
            f"{path}, line {lines.without_qid}: no qid, though other lines of the file have one"
        )
    qid = np.array(lines.qid, dtype=np.int64)
    back = query_starts(qid)[1]
    if back is not None:
        raise lines.error(
            f"query {qid[back]} comes back after another query; sort the file by query", row=back
        )
    return X, y, qid, lines


def _read_files(paths: Sequence[Any]) -> tuple[RankingData, list[int]]:
    """Read files as one data set; also return the number of queries in each."""
    if len(paths) == 0:
        raise ValueError("paths must name at least one file, got none")
    files: list[tuple[Any, Floats, Integers, _Lines]] = []
    home: dict[int, Path] = {}  # the file of each query
    n_queries = []
    for path in map(Path, paths):
        file = _read_file(path, first_qid=max(home, default=0) + 1)
        qid, lines = file[2:]
        starts = query_starts(qid)[0]
        for row in starts.tolist():
            if (query := int(qid[row])) in home:
                raise lines.error(f"query {query} is already in {home[query]}", row=row)
            home[query] = path
        files.append(file)
        n_queries.append(len(starts))

    # scikit-learn gives a file without features one column.
    widths = [X.shape[1] if X.nnz else 0 for X, *_ in files]
    width = max(widths)
    if width == 0:
        raise ValueError(f"{', '.join(map(str, paths))}: no document has a feature")
    n_docs = sum(len(y) for _, y, _, _ in files)
    allowed = max(
        MATRIX_BYTES_ALWAYS, MATRIX_BYTES_PER_TEXT_BYTE * sum(file[3].n_bytes for file in files)
    )
    if n_docs * width * 8 > allowed:
        X, _, _, lines = files[widths.index(width)]
        row = int(np.searchsorted(X.indptr, np.argmax(X.indices), side="right")) - 1
        raise lines.error(
            f"feature {width} would make a dense matrix of {n_docs} x {width} values, "
            f"{n_docs * width * 8 / 2**20:,.0f} MiB, out of all proportion to the text "
            f"(at most {allowed / 2**20:,.0f} MiB for it); renumber the features",
            row=row,
        )
    dense = np.zeros((n_docs, width))
    end = 0
    for X, *_ in files:
        start, end = end, end + X.shape[0]
        if X.nnz:
            # A narrow row's absent features stay 0, as svmlight has it.
            X.resize((X.shape[0], width))
            X.toarray(out=dense[start:end])
    data = RankingData(
        dense,
        np.concatenate([y for _, y, _, _ in files]),
        np.concatenate([qid for _, _, qid, _ in files]),
    )
    return data, n_queries


def load_letor(path_or_paths: Paths) -> RankingData:
    r"""Read LETOR, MSLR or other svmlight files with queries; several are read as one.

    A line is ``label qid:query feature:value ... # comment``. Files may be plain or gzip (named
    ``.gz``), with any line ends. An absent feature is 0; a value ``NULL`` or ``nan`` is missing
    and becomes NaN. In a file without any qid the queries come from LightGBM's query file beside
    it (``rank.train.query`` for ``rank.train`` and ``rank.train.gz``) and are numbered from 1 on
    through all files. Rows keep their order, which in some files is that of a good ranker: see
    `RankingData.shuffle_within_queries`.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        Files with different queries of one data set; the widest sets the number of features.

    Returns
    -------
    RankingData

    Raises
    ------
    ValueError
        For a malformed file, naming the file, the line and what is wrong: a label that is missing,
        negative or no number; a missing or repeated query; a feature numbered 0, out of order or
        without a finite number; a query file that does not add up; an empty, damaged or binary
        file; a feature numbered so high that the dense matrix would take more than 256 bytes for
        each byte of (uncompressed) text and more than 64 MiB.
    OSError
        For a file that cannot be opened.
    ImportError
        Without scikit-learn: ``pip install "boostrank[cli]"``.

    Notes
    -----
    Time is linear in the text. So is memory: a few times the text for usual files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostrank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.txt")
    ...     size = path.write_text("2 qid:1 1:0.5 2:NULL # a\n0 qid:1 1:0.1\n1 qid:9 3:7\n")
    ...     data = load_letor(path)
    >>> data.X.tolist()
    [[0.5, nan, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 7.0]]
    >>> data.group.tolist()
    [2, 1]
    """
    if isinstance(path_or_paths, str | os.PathLike):
        path_or_paths = [path_or_paths]
    return _read_files(list(path_or_paths))[0]


def load_letor_parts(paths: Sequence[str | os.PathLike[str]]) -> list[RankingData]:
    r"""Read several files as `load_letor` does, and return them apart.

    All have the features of the widest, and no two have a query in common: `letor_folds` takes
    them as they are.

    Parameters
    ----------
    paths : sequence of paths
        Files with different queries of one data set, such as LETOR's partitions S1 to S5.

    Returns
    -------
    list of RankingData
        One for each file.

    Raises
    ------
    ValueError, OSError, ImportError
        As `load_letor`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostrank.datasets import load_letor_parts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, two = pathlib.Path(folder, "S1.txt"), pathlib.Path(folder, "S2.txt")
    ...     size = one.write_text("2 qid:1 1:0.5\n"), two.write_text("1 qid:2 3:0.5\n")
    ...     load_letor_parts([one, two])
    [RankingData(1 query, 1 document, 3 features), RankingData(1 query, 1 document, 3 features)]
    """
    if isinstance(paths, str | os.PathLike):
        raise TypeError(
            f"paths must be a list of paths, got {paths!r}; use load_letor for one file"
        )
    data, n_queries = _read_files(list(paths))
    ends = np.cumsum(n_queries)
    return [
        data.select(np.arange(end - n, end))
        for n, end in zip(n_queries, ends.tolist(), strict=True)
    ]


def _standardise(values: Floats) -> Floats:
    """Scale to zero mean and unit variance; values all equal become 0."""
    centred = values - values.mean()
    return np.asarray(centred / (centred.std() or 1.0))


def make_ranking(
    n_queries: int,
    n_docs: Any,
    n_features: int = 50,
    *,
    seed: int,
    noise: float = 0.0,
) -> RankingData:
    """Make the random cubic polynomial data of the RankNet and LambdaRank papers.

    Features are uniform on [-1, 1]. The target is the mean of three terms, each scaled to zero
    mean and unit variance over the data: a linear function with random weights, a quadratic form
    ``sum_i x_i x_Q(i)`` and a cubic form ``sum_i x_i x_Q(i) x_R(i)``, where Q and R are random
    permutations of the features. Grades 0 to 4 cut the target at its quantiles so that their
    shares are .52, .32, .13, .022 and .008, as in the web search data MSLR-WEB30K.

    Parameters
    ----------
    n_queries : int
        Number of queries, at least 1.
    n_docs : int or array_like of integers (n_queries,)
        Documents of every query, or of each, at least 1.
    n_features : int, default 50
        Number of features, at least 1; 50 as in the papers.
    seed : int
        Equal arguments give equal data. Another seed draws another polynomial, so make one data
        set and split it into training and test queries.
    noise : float, default 0.0
        Standard deviation of normal noise added to the target, scaled to unit variance, before it
        is cut into grades. The default is the papers' clean data; at 1.0 half of what decides the
        grades cannot be learnt.

    Returns
    -------
    RankingData
        Query ids 1..n_queries.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or range.

    References
    ----------
    Burges et al.: Learning to rank using gradient descent. ICML 2005 (the polynomial).
    Burges, Ragno, Le: Learning to rank with nonsmooth cost functions. NIPS 2006, section 6.3.1
    (five grades, 50 features, 50 documents a query).

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(100, 20, seed=1)
    >>> data
    RankingData(100 queries, 2000 documents, 50 features)
    >>> np.bincount(data.y.astype(int)).tolist()
    [1040, 640, 260, 44, 16]
    """
    check_count("n_queries", n_queries)
    check_count("n_features", n_features)
    if isinstance(noise, bool) or not isinstance(noise, numbers.Real):
        raise TypeError(f"noise must be a number, got {noise!r}")
    if not (math.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be finite and not negative, got {noise!r}")
    sizes = np.asarray(n_docs)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"n_docs must be a whole number or an array of them, got {n_docs!r}")
    if sizes.shape not in ((), (n_queries,)):
        raise ValueError(
            f"n_docs must be one number or one for each of the {n_queries} queries, "
            f"got shape {sizes.shape}"
        )
    if (sizes < 1).any():
        raise ValueError(f"n_docs must be at least 1 for every query, got {sizes.min()}")
    group = np.broadcast_to(sizes, n_queries).astype(np.int64)

    # The noise is drawn last and always: X and the polynomial are the same at every noise level.
    rng = np.random.default_rng(check_seed(seed))
    X = rng.uniform(-1.0, 1.0, (int(group.sum()), n_features))
    weights = rng.uniform(-1.0, 1.0, n_features)
    q = rng.permutation(n_features)
    r = rng.permutation(n_features)
    products = X[:, q]
    quadratic = np.einsum("ij,ij->i", X, products)
    products *= X
    cubic = np.einsum("ij,ij->i", products, X[:, r])
    target = (_standardise(X @ weights) + _standardise(quadratic) + _standardise(cubic)) / 3.0
    target = _standardise(target) + noise * rng.standard_normal(len(target))

    counts = np.diff(np.rint(np.cumsum(GRADE_SHARES) * len(target)).astype(np.int64), prepend=0)
    y = np.empty(len(target))
    y[np.argsort(target, kind="stable")] = np.repeat(np.arange(len(counts)), counts)
    return RankingData(X, y, np.repeat(np.arange(1, n_queries + 1), group))
