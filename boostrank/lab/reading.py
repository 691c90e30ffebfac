"""Reads what a user compares, tunes or trains on: files, frames, arrays, or embedded data."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets import Qrels, RankingData, group_folds, make_ranking
from boostrank.datasets.frames import Table
from boostrank.datasets.letor import load_letor, load_letor_features, load_letor_with_valid
from boostrank.datasets.tables import (
    Columns,
    are_tables,
    complete,
    features_of_table,
    ids_of,
    parts_of_tables,
    read_parts,
    read_tables,
)
from boostrank.hosts.model_files import NAMES, names_of_array
from boostrank.lab.folds import Folds, given_folds, rotation, warn_of_order, warn_of_unknown_order
from boostrank.lab.models import FileModel
from boostrank.messages import warn
from boostrank.objectives.validation import Floats

Ids = tuple[Any, Any]  # of the queries and the documents
N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}


def load_features(data: list[Path], named: Columns, model: FileModel) -> tuple[Floats, Ids | None]:
    """Read the features of documents and, if `named` has a column of documents' ids, the ids."""
    trained = model.features
    names, known = list(trained.names or ()), trained.categories or {}
    if are_tables(data, named):
        text = [name for name, words in known.items() if all(isinstance(w, str) for w in words)]
        tables = read_tables(data, named, text)
        of_host = not names
        names = names or names_of_array(model.host, trained.width)
        X = [features_of_table(table, named, names, known, made_up=of_host) for table in tables]
        if trained.sparse and any((one == 0.0).any() for one in X):
            raise ValueError(
                f"{data[0]}: a table has zeros, but the model was trained on a sparse matrix, and "
                "took for missing what that left out: leave these values empty"
            )
        ids = None
        if named.doc_id is not None:
            ids = ids_of(tables, named.qid), ids_of(tables, named.doc_id)
        return np.concatenate(X), ids
    if known:
        raise ValueError(
            f"{data[0]}: the model was trained on categories, such as those of "
            f"{next(iter(known))!r}, which svmlight files cannot hold: pass CSV or "
            "parquet, with a column for each feature"
        )
    ids = None
    if named.doc_id is not None:
        read = Qrels.of_data(load_letor(data))
        ids = read.qid, read.doc_id
    # As `load_letor` names features that are numbered from 0.
    from_0 = names == [str(number) for number in range(trained.width)]
    if names and not from_0:
        warn(
            "the features of the model have names, those of svmlight files only numbers: they are "
            "taken in their order"
        )
    absent = np.nan if trained.sparse else 0.0
    first = 0 if from_0 else 1
    scored, last = load_letor_features(data, trained.width, first=first, absent=absent)
    if not names and last < trained.width and model.seems_shifted:
        raise ValueError(
            f"{data[0]}: the model makes nothing of its first feature, and its last, "
            f"{trained.width}, is not here: {NAMES[model.host]}, if it trained on a svmlight file, "
            "took feature 1 for its second. Score such a model in Python, by what read its "
            "training data, and others with features as CSV"
        )
    return scored, ids


def _read_files(data: list[Path], named: Columns) -> RankingData:
    """Read files as one data set, in their order."""
    tables = are_tables(data, named)
    return RankingData.concat(read_parts(data, named)) if tables else load_letor(data)


def read_with_valid(
    data: list[Path], valid: Path | None, named: Columns
) -> tuple[RankingData, RankingData | None]:
    """Read the training files as one data set, and the validation file with the same word codes."""
    if valid is None:
        return _read_files(data, named), None
    if are_tables([*data, valid], named):
        *parts, held = read_parts([*data, valid], named)
        return RankingData.concat(parts), held
    return load_letor_with_valid(data, valid)


def read_whole(data: list[Path], named: Columns, seed: int) -> tuple[str, RankingData]:
    """Return a description of the data, and the data: from the files, or embedded."""
    if data:
        return ", ".join(path.name for path in data), _read_files(data, named)
    named.check_no_features()
    return "embedded, random cubic polynomials", make_ranking(**EMBEDDED, seed=seed)


def read_folds(
    data: Any,
    named: Columns,
    *,
    seed: int,
    shuffle: bool,
    folds: Any = None,
    by: str | None = None,
    forward: bool = False,
    gap: int = 0,
) -> Folds:
    """Return the data with its folds.

    `data` and `folds` are as in `boostrank.compare`; None is embedded data. The values of the
    column `by` of tables are the parts, in ascending order. With `forward`, only queries that come
    before train, and `gap` queries are left out before each validation and test part. The seed is
    that of the split, and of the order of documents if they are to `shuffle` within queries.
    """
    numbers = isinstance(folds, Sequence | np.ndarray) and len(folds) > 0
    numbers = numbers and all(isinstance(each, Integral) for each in folds)
    own = folds is not None and not numbers
    if by is not None:
        source = f"{', '.join(path.name for path in data)}, one part for each value of {by}"
        parts = _parts_by_value(data, named, by)
    else:
        source, parts = _read_parts(data, named, seed)
        n_queries = sum(len(part.group) for part in parts)
        if not own and n_queries < N_PARTS:
            raise ValueError(
                f"{source}: the {N_PARTS} parts of a comparison need at least {N_PARTS} queries, "
                f"got {n_queries}"
            )
    order = order_in_words(seed, shuffle)
    if own or (forward and by is None):
        whole = RankingData.concat(parts)
        if own:
            made = given_folds(whole, folds)
            source += f", {len(made.positions)} folds as given"
        else:
            warn_of_unknown_order(whole)
            rows = group_folds(whole.group, N_PARTS, forward=True, gap=gap, validation=True)
            made = given_folds(whole, rows)
            source += f", {N_PARTS} folds forward in time, gap {gap}"
        if shuffle:
            made = replace(made, data=whole.shuffle_within_queries(seed))
    else:
        if by is None and len(parts) != N_PARTS:
            parts = parts[0].split(N_PARTS, seed=seed)
            source += ", queries split into five parts"
        elif by is None:
            source += ", five partitions in LETOR's rotation"
        if shuffle:
            parts = [part.shuffle_within_queries(seed) for part in parts]
        made = rotation(parts, forward=forward, gap=gap)
        if forward:
            warn_of_order(made.data)
            source += f", forward in time, gap {gap}"
    return replace(made, about=f"{source}; documents {order}", numbers=None if own else folds)


def _read_parts(data: Any, named: Columns, seed: int) -> tuple[str, list[RankingData]]:
    """Return a description of the data, and its parts: five files are five, all else is one."""
    if isinstance(data, str | Path):
        data = [data]
    if isinstance(data, RankingData):
        named.check_no_features()
        return "arrays", [data]
    if hasattr(data, "columns"):
        return "a data frame", parts_of_tables([Table(data, named=named.named)], named)
    files = isinstance(data, Sequence) and all(isinstance(one, str | Path) for one in data)
    if data is not None and not (files and len(data)):
        raise TypeError(
            "data must be RankingData, a data frame of pandas or polars, or file paths, got "
            f"{data if files else type(data).__name__}"
        )
    paths = [Path(one) for one in data or ()]
    if len(paths) == N_PARTS:
        return f"{paths[0].name} ... {paths[-1].name}", read_parts(paths, named)
    source, whole = read_whole(paths, named, seed)
    return source, [whole]


def _parts_by_value(data: list[Path], named: Columns, by: str) -> list[RankingData]:
    """Return one part for each value of a column, in ascending order of the values."""
    if not data or not are_tables(data, named):
        raise ValueError("--folds-by names a column: it needs CSV or parquet files")
    named = replace(named, drop=[*named.drop, by])
    tables = read_tables(data, named)
    values = complete(tables, by, "a value")
    whole = RankingData.concat(parts_of_tables(tables, named))
    ids = ids_of(tables, named.qid)
    try:
        found, part = np.unique(values, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"column {by!r} must hold values that have an order: {error}") from error
    of_query: dict[Any, int] = {}
    for own, place in zip(ids.tolist(), part.tolist(), strict=True):
        if of_query.setdefault(own, place) != place:
            raise ValueError(
                f"column {by!r} must have one value for each query, but query {own} has several"
            )
    starts = np.cumsum(whole.group) - whole.group
    places = np.array([of_query[own] for own in whole.qid[starts].tolist()])
    return [whole.select(np.flatnonzero(places == place)) for place in range(len(found))]


def order_in_words(seed: int, shuffle: bool) -> str:
    """Say in which order the documents are."""
    return f"shuffled within queries (seed {seed})" if shuffle else "in the order of the data"
