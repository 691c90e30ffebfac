"""The data that the commands read: files, or embedded data if none are given."""

import warnings
from pathlib import Path

import numpy as np

from boostrank.datasets import RankingData, make_ranking
from boostrank.datasets.letor import load_letor, load_letor_features, load_letor_with_valid
from boostrank.datasets.tables import Columns, are_tables, features_of_table, read_tables
from boostrank.datasets.tables import read_parts as read_parts_of_files
from boostrank.lab.cli.parsing import parse_words
from boostrank.lab.model import Model
from boostrank.objectives.validation import Floats

N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}


def columns(label: str, qid: str, drop: str, categorical: str) -> Columns:
    """Return the columns that a user has named."""
    return Columns(
        label,
        qid,
        parse_words(drop) if drop else (),
        parse_words(categorical) if categorical else (),
    )


def _shuffled(data: RankingData, seed: int, keep_order: bool) -> RankingData:
    return data if keep_order else data.shuffle_within_queries(seed)


def load_files(data: list[Path], named: Columns) -> RankingData:
    """Read files as one data set, in their order."""
    if not are_tables(data):
        return load_letor(data)
    return RankingData.concat(read_parts_of_files(data, named))


def load_features(data: list[Path], named: Columns, model: Model) -> Floats:
    """Read the features of documents to be scored; labels and queries may be absent."""
    names = model.feature_names
    if are_tables(data):
        return np.concatenate(
            [
                features_of_table(table, named, names, model.categories)
                for table in read_tables(data, named)
            ]
        )
    # As `load_letor` names features that are numbered from 0.
    from_0 = names == [str(number) for number in range(model.n_features)]
    if names and not from_0:
        warnings.warn(
            "the features of the model have names, those of svmlight files only numbers: they are "
            "taken in their order",
            stacklevel=2,
        )
    return load_letor_features(data, model.n_features, first=0 if from_0 else 1)


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
    if not (held.y > 0).any():
        raise ValueError(
            f"{valid}: no document in its {len(held.group)} queries is relevant, so no round can "
            "be chosen by it; use more queries"
        )
    return _shuffled(train, seed, keep_order), held


def read_whole(
    data: list[Path], named: Columns, seed: int, keep_order: bool
) -> tuple[str, RankingData]:
    """Return a description of the data, and the data: from the files, or embedded."""
    if data:
        return ", ".join(path.name for path in data), read_files(data, named, seed, keep_order)
    made = make_ranking(**EMBEDDED, seed=seed)
    return "embedded, random cubic polynomials", _shuffled(made, seed, keep_order)


def read_parts(
    data: list[Path], named: Columns, seed: int, keep_order: bool
) -> tuple[str, list[RankingData]]:
    """Return a description of the data, and its five parts."""
    if len(data) == N_PARTS:
        source = f"{data[0].name} ... {data[-1].name}, five partitions in LETOR's rotation"
        parts = read_parts_of_files(data, named)
    else:
        source, whole = read_whole(data, named, seed, keep_order=True)
        if len(whole.group) < N_PARTS:
            raise ValueError(
                f"{source}: the {N_PARTS} parts of a comparison need at least {N_PARTS} queries, "
                f"got {len(whole.group)}"
            )
        parts = whole.split(N_PARTS, seed=seed)
        source += ", queries split into five parts"
    return source, [_shuffled(part, seed, keep_order) for part in parts]


def order_in_words(seed: int, keep_order: bool) -> str:
    """Say in which order the documents are."""
    return "in file order" if keep_order else f"shuffled within queries (seed {seed})"
