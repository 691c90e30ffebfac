"""Reads LETOR, MSLR and other svmlight files, and names file and line of malformed input."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets.files import check_companions, rows_of_text, without_compression
from boostrank.datasets.ranking_data import RankingData, query_starts
from boostrank.datasets.svmlight import SvmlightFile, read_svmlight
from boostrank.objectives.validation import MAX_GRADE, Floats

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Svmlight is a sparse format and X is dense: one mistyped feature number could ask for more memory
# than any machine has. A stored value takes at least four bytes of text ("1:0 "), so a limit of 256
# bytes of matrix per byte of text allows all but one cell in 128 to be absent. Tiny files may take
# 64 MiB.
MATRIX_BYTES_PER_TEXT_BYTE = 256
MATRIX_BYTES_ALWAYS = 64 * 2**20


def _read_sizes(path: Path, n_docs: int, data_path: Path) -> list[int]:
    """Read LightGBM's query file: the size of one query on each line."""
    sizes = []
    for number, fields in rows_of_text(path):
        text = " ".join(fields)
        if not re.fullmatch(r"0*[1-9][0-9]{0,17}", text):
            raise ValueError(
                f"{path}, line {number}: expected the size of a query, a whole number of at least "
                f"1, got {text[:40]!r}"
            )
        sizes.append(int(text))
    if sum(sizes) != n_docs:
        raise ValueError(
            f"{path}: the sizes of its {len(sizes)} queries add up to {sum(sizes)}, "
            f"but {data_path} holds {n_docs} documents"
        )
    return sizes


def _read_file(path: Path, first_qid: int) -> SvmlightFile:
    """Read one file into sparse features, labels and query ids, all checked."""
    check_companions(path)
    file = read_svmlight(path, labelled=True)
    y, qid, lines = file.y, file.qid, file.lines
    bad = ~((y >= 0) & (y <= MAX_GRADE))  # NaN too
    if bad.any():
        row = int(np.argmax(bad))
        raise lines.error(
            f"the label must be a grade between 0 and {MAX_GRADE:g}, got {y[row]:g}; other "
            "numbers, such as returns and prices, come as CSV, parquet or a data frame",
            row=row,
        )
    if not len(qid):
        sizes = _sizes_next_to(path, len(y))
        if sizes is None:
            raise ValueError(
                f"{path}, line {lines.without_qid}: no qid, and there is no "
                f"{without_compression(path).name}.query next to the file to give the sizes of its "
                "queries"
            )
        ids = np.arange(first_qid, first_qid + len(sizes))
        return file._replace(qid=np.repeat(ids, sizes))
    if lines.without_qid:
        raise ValueError(
            f"{path}, line {lines.without_qid}: no qid, though other lines of the file have one"
        )
    _, back = query_starts(qid)
    if back is not None:
        raise lines.error(
            f"query {qid[back]} comes back after another query; sort the file by query", row=back
        )
    check_sizes_next_to(path, qid)
    return file


def check_sizes_next_to(path: Path, qid: Any) -> None:
    """Refuse ids that make other queries than the sizes next to the data, which hosts would read.

    The ids are in the order of the file.
    """
    sizes = _sizes_next_to(path, len(qid))
    if sizes is not None and sizes != np.diff(query_starts(qid)[0], append=len(qid)).tolist():
        raise ValueError(
            f"{path}: its qid make other queries than the .query or .group file next to it; remove "
            "the one that is wrong"
        )


def _sizes_next_to(path: Path, n_docs: int) -> list[int] | None:
    """Read the sizes of queries next to the data: LightGBM's .query file, or XGBoost's .group."""
    plain = without_compression(path)  # rank.train.gz and rank.train both have rank.train.query
    found = [plain.with_name(plain.name + suffix) for suffix in (".query", ".group")]
    read = [(one, _read_sizes(one, n_docs, path)) for one in found if one.is_file()]
    for one, sizes in read[1:]:
        if sizes != read[0][1]:
            raise ValueError(f"{one} and {read[0][0].name} differ; remove the one that is wrong")
    return read[0][1] if read else None


def _read_files(paths: Sequence[Any]) -> list[SvmlightFile]:
    """Read files that have no query in common."""
    if len(paths) == 0:
        raise ValueError("paths must name at least one file, got none")
    files: list[SvmlightFile] = []
    home: dict[int, Path] = {}  # the file of each query
    for path in map(Path, paths):
        file = _read_file(path, first_qid=max(home, default=0) + 1)
        for row in query_starts(file.qid)[0].tolist():
            if (query := int(file.qid[row])) in home:
                raise file.lines.error(f"query {query} is already in {home[query]}", row=row)
            home[query] = path
        files.append(file)
    return files


def _features(files: Sequence[SvmlightFile], held: Sequence[SvmlightFile] = ()) -> range:
    """Return the numbers of the features of `files`, from 1 or 0; those `held` number alike.

    A dense matrix of them must not be out of proportion.
    """
    from_0 = [file for file in (*files, *held) if file.first == 0]
    last = max((file.last for file in from_0), default=0)
    for file in (*files, *held):
        if from_0 and file.first > 0 and file.last == last + 1:
            raise file.error(
                file.last,
                f"is one more than {from_0[0].lines.path} has, whose features are numbered from 0: "
                "this file seems to number them from 1; number all in one way",
            )
    if not any(file.X.nnz for file in files):
        paths = ", ".join(str(file.lines.path) for file in files)
        raise ValueError(f"{paths}: no document has a feature")
    widest = max(files, key=lambda file: file.last)
    features = range(0 if from_0 else 1, widest.last + 1)
    n_docs = sum(len(file.y) for file in files)
    allowed = max(
        MATRIX_BYTES_ALWAYS, MATRIX_BYTES_PER_TEXT_BYTE * sum(file.lines.n_bytes for file in files)
    )
    needed = n_docs * len(features) * 8
    if needed > allowed:
        raise widest.error(
            widest.last,
            f"would make a dense matrix of {n_docs} x {len(features)} values, "
            f"{needed / 2**20:,.0f} MiB, out of all proportion to the text "
            f"(at most {allowed / 2**20:,.0f} MiB for it); renumber the features",
        )
    return features


def _dense(matrices: Sequence[Any], features: range, absent: float = 0.0) -> Floats:
    """Return features as one matrix; those that a file lacks are 0, as svmlight defines."""
    ends = np.cumsum([X.shape[0] for X in matrices])
    dense = np.full((ends[-1], len(features)), absent)
    for X, own in zip(matrices, np.split(dense, ends[:-1]), strict=True):
        cells = X.tocoo(copy=False)
        own[cells.row, cells.col - features.start] = cells.data
    return dense


def _as_data(files: Sequence[SvmlightFile], features: range) -> RankingData:
    ids = [one.decode("utf-8", "replace") for file in files for one in file.lines.doc_id]
    known = all(len(file.lines.doc_id) == len(file.y) for file in files)
    return RankingData(
        _dense([file.X for file in files], features),
        np.concatenate([file.y for file in files]),
        np.concatenate([file.qid for file in files]),
        names=() if features.start == 1 else tuple(map(str, features)),
        doc_id=np.array(ids) if known else None,
    )


def load_letor(path_or_paths: Paths) -> RankingData:
    r"""Read LETOR, MSLR or other svmlight files with queries; several are read as one.

    A line is ``label qid:query feature:value ... # comment``. Files may be plain or compressed
    (named ``.gz``, ``.bz2``, ``.xz``, ``.zip`` or ``.zst``). An absent feature is 0; a value
    ``NULL`` or ``nan`` is missing and becomes NaN. Features are numbered from 1; if a file has a
    feature 0, those of all files are numbered from 0, and have these numbers as names. If a file
    has no qid, its queries come from the file of sizes next to it, LightGBM's ``rank.train.query``
    or XGBoost's ``rank.train.group`` (for ``rank.train`` and ``rank.train.gz``), and are numbered
    from 1 across all files. If every line has a comment ``#docid = X``, as in LETOR, the ids are
    kept as `RankingData.doc_id`. Rows keep their order, which in some files is that of a good
    ranker: see `RankingData.shuffle_within_queries`.

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
        negative or not a number; a query that is missing or comes back, or an id with leading
        zeros, such as 07, which would be 7; a feature out of order or without a
        finite number; files of which some number their features from 0 and others from 1; a query
        file that does not add up; a ``.weight``, ``.init``, ``.position`` or ``.base_margin`` file
        next to the data, which LightGBM or XGBoost would read; an empty, damaged or binary file; a
        feature numbered so high that the dense matrix would take more than 256 bytes for each byte
        of (uncompressed) text and more than 64 MiB.
    OSError
        For a file that cannot be opened.
    ImportError
        Without scikit-learn. Files named ``.zst`` also need pyarrow.

    Notes
    -----
    Time and memory are linear in the size of the text; usual files need a few times their size.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostrank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.txt")
    ...     size = path.write_bytes(b"2 qid:1 1:0.5 2:NULL # a\n0 qid:1 1:0.1\n1 qid:9 3:7\n")
    ...     data = load_letor(path)
    >>> data.X.tolist()
    [[0.5, nan, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 7.0]]
    >>> data.group.tolist()
    [2, 1]
    """
    if isinstance(path_or_paths, str | os.PathLike):
        path_or_paths = [path_or_paths]
    files = _read_files(list(path_or_paths))
    return _as_data(files, _features(files))


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
    ...     size = one.write_bytes(b"2 qid:1 1:0.5\n"), two.write_bytes(b"1 qid:2 3:0.5\n")
    ...     load_letor_parts([one, two])
    [RankingData(1 query, 1 document, 3 features), RankingData(1 query, 1 document, 3 features)]
    """
    if isinstance(paths, str | os.PathLike):
        raise TypeError(
            f"paths must be a list of paths, got {paths!r}; use load_letor for one file"
        )
    files = _read_files(list(paths))
    features = _features(files)
    return [_as_data([file], features) for file in files]


def load_letor_with_valid(paths: Sequence[Any], valid: Any) -> tuple[RankingData, RankingData]:
    """Read files to train on, and one to validate on, which gets the same features.

    Unlike parts, the two may have queries of the same id. Features that only the training files
    have are 0 in the other; features that only the other has are refused.
    """
    files, held = _read_files(paths), _read_files([valid])
    features = _features(files, held)
    _check_last(held[0], features, "training data")
    return _as_data(files, features), _as_data(held, features)


def load_letor_features(
    paths: Sequence[Any], width: int, *, first: int, absent: float = 0.0
) -> tuple[Floats, int]:
    """Read the features of documents to be scored, and the highest number of one.

    Labels and queries may be absent. The model has `width` features, of which the `first` has the
    number 0 or 1. Those that the files lack have the value `absent`.
    """
    features = range(first, first + width)
    matrices, last = [], 0
    for path in map(Path, paths):
        file = read_svmlight(path, labelled=False)
        if file.first < first:
            raise file.error(
                0, "is there, but the model was trained on features numbered from 1; renumber them"
            )
        _check_last(file, features, "model")
        matrices.append(file.X)
        last = max(last, file.last)
    return _dense(matrices, features, absent), last


def _check_last(file: SvmlightFile, features: range, what: str) -> None:
    if file.X.nnz and file.last >= features.stop:
        cure = "remove it, or train with it"
        if features.start == 0 and file.first > 0 and file.last == features.stop:
            cure = "the file seems to number them from 1; renumber them"
        raise file.error(
            file.last,
            f"is beyond the {len(features)} features of the {what}, numbered from "
            f"{features.start}; {cure}",
        )
