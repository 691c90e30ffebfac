"""Reads LETOR, MSLR and other svmlight files, and names file and line of malformed input."""

import array
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets.ranking_data import RankingData, query_starts
from boostrank.objectives.validation import MAX_GRADE, Floats, Integers

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Svmlight is a sparse format and X is dense: one mistyped feature number could ask for more memory
# than any machine has. A stored value takes at least four bytes of text ("1:0 "), so a limit of 256
# bytes of matrix per byte of text allows all but one cell in 128 to be absent. Tiny files may take
# 64 MiB.
MATRIX_BYTES_PER_TEXT_BYTE = 256
MATRIX_BYTES_ALWAYS = 64 * 2**20


class _Lines:
    """The lines of one file as scikit-learn's reader takes them, with the current position.

    Comments are removed, and NULL becomes nan. The qid is read here because the reader (1.9) copies
    all earlier ids to append the next, which takes quadratic time. `fault` explains the current
    line once the reader has refused it, so the explanation costs nothing for good files.
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
        """Make this look like a file: the reader checks for this name, then iterates."""
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
                # Numbers in Python may have underscores; those in files may not.
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
        """Say what is wrong with the current line, or return an empty string."""
        if self.number == 1 and self.body.startswith(b"\x1f\x8b"):
            return "the file is compressed by gzip; its name must end in .gz"
        label, *tokens = self.body.split()
        if b":" in label:
            return f"the label is missing, the line begins with {_shown(label)}"
        if not _is_number(label):
            return f"the label must be a number, got {_shown(label)}"
        if tokens and tokens[0].startswith(b"qid"):
            token = tokens.pop(0)
            if not re.fullmatch(rb"qid:[+-]?\d{1,19}", token) or abs(int(token[4:])) >= 2**63:
                return f"the query must be qid: and a 64-bit whole number, got {_shown(token)}"
        previous = 0
        for token in tokens:
            index, colon, value = token.partition(b":")
            if index == b"qid":
                return f"the query must come right after the label, got {_shown(token)} later"
            if not colon or not re.fullmatch(rb"\+?-?\d+", index):
                return f"expected a feature as number:value, got {_shown(token)}"
            # Digits are truncated because Python refuses to convert thousands of them.
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
    """Quote a piece of a file for a message; it may hold any bytes."""
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
        if not lines.rows and not lines.body:  # a bad path, or an empty file and an old reader
            raise
        raise lines.error(lines.fault() or str(error)) from error

    n_docs = len(y)
    if n_docs == 0:
        raise ValueError(f"{path} holds no documents")
    bad = ~((y >= 0) & (y <= MAX_GRADE))  # NaN too
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
                "next to the file to give the sizes of its queries"
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
            # The features that a file lacks stay 0, as svmlight defines.
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
    ``.gz``), with any line endings. An absent feature is 0; a value ``NULL`` or ``nan`` is missing
    and becomes NaN. If a file has no qid, its queries come from LightGBM's query file next to it
    (``rank.train.query`` for ``rank.train`` and ``rank.train.gz``) and are numbered from 1 across
    all files. Rows keep their order, which in some files is that of a good ranker: see
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
        negative or not a number; a missing or repeated query; a feature numbered 0, out of order or
        without a finite number; a query file that does not add up; an empty, damaged or binary
        file; a feature numbered so high that the dense matrix would take more than 256 bytes for
        each byte of (uncompressed) text and more than 64 MiB.
    OSError
        For a file that cannot be opened.
    ImportError
        Without scikit-learn: ``pip install "boostrank[cli]"``.

    Notes
    -----
    Time and memory are linear in the size of the text; usual files need a few times their size.

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
    r"""Read several files as `load_letor` does, and return one data set for each.

    All get as many features as the widest has, and no two have a query in common, so `letor_folds`
    takes them as they are.

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
