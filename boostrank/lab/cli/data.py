"""The data that the commands read: files, or embedded data if none are given."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets import Qrels, RankingData, group_folds, make_ranking
from boostrank.datasets.ids import join_ids
from boostrank.datasets.letor import load_letor, load_letor_features, load_letor_with_valid
from boostrank.datasets.tables import (
    Columns,
    are_tables,
    features_of_table,
    ids_of,
    parts_of_tables,
    read_tables,
)
from boostrank.datasets.tables import read_parts as read_parts_of_files
from boostrank.lab.cli.parsing import parse_words
from boostrank.lab.folds import Folds, forward_rotation, given_folds, rotation, warn_of_order
from boostrank.lab.model import Model
from boostrank.objectives.validation import Floats, check_choice

Ids = tuple[Any, Any]  # of the queries and the documents
N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}


def columns(
    label: str, qid: str, drop: str, categorical: str, doc_id: str | None = None
) -> Columns:
    """Return the columns that a user has named."""
    return Columns(
        label,
        qid,
        parse_words(drop) if drop else (),
        parse_words(categorical) if categorical else (),
        doc_id,
    )


def _shuffled(data: RankingData, seed: int, keep_order: bool) -> RankingData:
    return data if keep_order else data.shuffle_within_queries(seed)


def load_files(data: list[Path], named: Columns) -> RankingData:
    """Read files as one data set, in their order."""
    if not are_tables(data):
        return load_letor(data)
    return RankingData.concat(read_parts_of_files(data, named))


def load_features(data: list[Path], named: Columns, model: Model) -> tuple[Floats, Ids | None]:
    """Read the features of documents to be scored; labels and queries may be absent.

    If `named` has a column of documents' ids, also read the ids of queries and documents.
    """
    names = model.feature_names
    if are_tables(data):
        tables = read_tables(data, named)
        X = [features_of_table(table, named, names, model.categories) for table in tables]
        ids = None
        if named.doc_id is not None:
            ids = ids_of(tables, named.qid), ids_of(tables, named.doc_id)
        return np.concatenate(X), ids
    ids = None
    if named.doc_id is not None:
        read = Qrels.of_data(load_letor(data))
        ids = read.qid, read.doc_id
    # As `load_letor` names features that are numbered from 0.
    from_0 = names == [str(number) for number in range(model.n_features)]
    if names and not from_0:
        warnings.warn(
            "the features of the model have names, those of svmlight files only numbers: they are "
            "taken in their order",
            stacklevel=2,
        )
    return load_letor_features(data, model.n_features, first=0 if from_0 else 1), ids


def read_files(data: list[Path], named: Columns, seed: int, keep_order: bool) -> RankingData:
    """Read files as one data set."""
    return _shuffled(load_files(data, named), seed, keep_order)


def read_with_valid(
    data: list[Path], valid: Path | None, named: Columns, seed: int, keep_order: bool
) -> tuple[RankingData, RankingData | None]:
    """Read the training files as one data set, and the validation file with the same word codes."""
    if valid is None:
        return read_files(data, named, seed, keep_order), None
    if are_tables([*data, valid]):
        *parts, held = read_parts_of_files([*data, valid], named)
        train = RankingData.concat(parts)
    else:
        train, held = load_letor_with_valid(data, valid)
    return _shuffled(train, seed, keep_order), held


def read_whole(
    data: list[Path], named: Columns, seed: int, keep_order: bool
) -> tuple[str, RankingData]:
    """Return a description of the data, and the data: from the files, or embedded."""
    if data:
        return ", ".join(path.name for path in data), read_files(data, named, seed, keep_order)
    made = make_ranking(**EMBEDDED, seed=seed)
    return "embedded, random cubic polynomials", _shuffled(made, seed, keep_order)


def read_folds(
    data: list[Path],
    named: Columns,
    seed: int,
    keep_order: bool,
    *,
    by: str | None,
    forward: bool,
    gap: int,
) -> tuple[str, Folds]:
    """Return a description of the data, and its folds.

    Parameters
    ----------
    data : list of Path
        Five files are five parts, all others are split into five. None: embedded data.
    named : Columns
    seed, keep_order
    by : str, optional
        Column of tables whose values are the parts, in ascending order.
    forward : bool
        Train only on queries that come before.
    gap : int
        With `forward`: queries to leave out before each validation and test part.
    """
    if gap and not forward:
        raise ValueError("--gap leaves out queries before those that test: give --forward too")
    if by is None and (forward or len(data) != N_PARTS):
        source, whole = read_whole(data, named, seed, keep_order=True)
        if len(whole.group) < N_PARTS:
            raise ValueError(
                f"{source}: the {N_PARTS} parts of a comparison need at least {N_PARTS} queries, "
                f"got {len(whole.group)}"
            )
        if forward:
            rows = group_folds(whole.group, N_PARTS, forward=True, gap=gap, validation=True)
            shuffled = _shuffled(whole, seed, keep_order)
            return f"{source}, {N_PARTS} folds forward in time", given_folds(shuffled, rows)
        source += ", queries split into five parts"
        parts = whole.split(N_PARTS, seed=seed)
    elif by is None:
        source = f"{data[0].name} ... {data[-1].name}, five partitions in LETOR's rotation"
        parts = read_parts_of_files(data, named)
    else:
        source = f"{', '.join(path.name for path in data)}, one part for each value of {by}"
        parts = _parts_by_value(data, named, by)
    parts = [_shuffled(part, seed, keep_order) for part in parts]
    if not forward:
        return source, rotation(parts)
    folds = forward_rotation(parts, gap)
    warn_of_order(folds.data)
    return f"{source}, forward in time", folds


def _parts_by_value(data: list[Path], named: Columns, by: str) -> list[RankingData]:
    """Return one part for each value of a column, in ascending order of the values."""
    if not data or not are_tables(data):
        raise ValueError("--folds-by names a column: it needs CSV or parquet files")
    tables = read_tables(data, named)
    for table in tables:
        check_choice("column", by, map(str, table.frame.columns))
    whole = RankingData.concat(parts_of_tables(tables, replace(named, drop=[*named.drop, by])))
    ids = ids_of(tables, named.qid)
    values = join_ids([table.values(by) for table in tables])
    found, part = np.unique(values, return_inverse=True)
    of_query: dict[Any, int] = {}
    for own, place in zip(ids.tolist(), part.tolist(), strict=True):
        if of_query.setdefault(own, place) != place:
            raise ValueError(
                f"column {by!r} must have one value for each query, but query {own} has several"
            )
    starts = np.cumsum(whole.group) - whole.group
    places = np.array([of_query[own] for own in whole.qid[starts].tolist()])
    return [whole.select(np.flatnonzero(places == place)) for place in range(len(found))]


def order_in_words(seed: int, keep_order: bool) -> str:
    """Say in which order the documents are."""
    return "in file order" if keep_order else f"shuffled within queries (seed {seed})"
