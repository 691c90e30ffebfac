"""The folds of a comparison or a search, from whatever a user passes: always whole queries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets import Fold, RankingData
from boostrank.datasets.folds import forward_in_time, rotated
from boostrank.datasets.ranking_data import query_starts
from boostrank.messages import warn
from boostrank.objectives.validation import Integers, check_whole

# Dates, months, quarters and weeks that sort as text, such as 2024-01-31, 20240131 and 2024Q1. Only
# where digits alone could be a number of any kind must the year be a recent one.
_DATE = re.compile(
    r"\d{4}[-/.](0[1-9]|1[0-2])(\D.*)?"
    r"|(19|20)\d\d((0[1-9]|1[0-2])((0[1-9]|[12]\d|3[01]).*)?|-?(Q\d|W\d\d))"
)

#: In a fold without validation part, one training query of this many chooses the rounds.
HELD_OUT = 5


@dataclass(frozen=True, eq=False)
class Folds:
    """Data, and the queries that train, validate and test in each fold."""

    data: RankingData
    #: Positions of queries in `data`, for each fold (train, validation, test).
    positions: Sequence[tuple[Integers, ...]]
    #: Where the data is from, and how the folds were made, in words.
    about: str = ""
    #: The folds to run, from 1; None: all.
    numbers: Sequence[int] | None = None

    def fold(self, number: int) -> Fold:
        """Return a fold by its number, from 1. Keeping all would hold the data several times."""
        return Fold(*(self.data.select(part) for part in self.positions[number - 1]))


def rotation(parts: Sequence[RankingData], *, forward: bool = False, gap: int = 0) -> Folds:
    """Rotate at least three parts as `letor_folds` does: the last tests, the one before validates.

    With `forward`, parts are in the order of time, and each is tested on what came before it: the
    part before validates, all earlier ones train, without the last `gap` queries of either.
    """
    if len(parts) < 3:
        raise ValueError(
            f"folds need at least three parts (to train, validate and test), got {len(parts)}"
        )
    ends = np.cumsum([len(part.group) for part in parts])
    if forward:
        positions = forward_in_time(ends.tolist(), gap, validation=True)
    else:
        positions = rotated(np.split(np.arange(ends[-1]), ends[:-1]), validation=True)
    for number, fold in enumerate(positions, start=1):
        if not all(map(len, fold)):
            raise ValueError(f"fold {number} has an empty part: use a smaller gap than {gap}")
    return Folds(RankingData.concat(parts), positions)


def given_folds(data: RankingData, folds: Any) -> Folds:
    """Return the folds that a user passes to `boostrank.compare`, which says what they may be."""
    positions = [
        fold if len(fold) == 3 else _held_out(number, *fold)
        for number, fold in enumerate(query_positions(data, folds), start=1)
    ]
    return Folds(data, positions)


def _are_dates(ids: npt.NDArray[Any]) -> bool:
    return all(map(_DATE.fullmatch, ids.astype(str).tolist()))


def _go_forward(positions: Sequence[tuple[Integers, ...]]) -> bool:
    """Tell whether all queries of a fold come before those that it tests, in the data's order."""
    return all(part.max() < fold[-1].min() for fold in positions for part in fold[:-1])


def note_on_time(data: RankingData, positions: Sequence[tuple[Integers, ...]]) -> str:
    """Say that folds train on dates after those they test; "" if not, or if they go forward."""
    ids = data.qid[query_starts(data.qid)[0]]
    if not _are_dates(ids) or _go_forward(positions):
        return ""
    place = np.unique(ids, return_inverse=True)[1]
    if not any(place[train].max() > place[test].min() for train, *_, test in positions):
        return ""
    return (
        "Queries are dates, and folds train on dates after those that they test: --forward, or "
        "folds=TimeSeriesSplit(...) in Python, trains only on what came before."
    )


def warn_of_order(data: RankingData) -> None:
    """Warn if numbers or dates of queries do not ascend, where the future must not train."""
    ids = data.qid[query_starts(data.qid)[0]]
    if ids.dtype.kind not in "iu" and not _are_dates(ids):
        return
    back = np.flatnonzero(ids[1:] < ids[:-1])
    if len(back):
        warn(
            "the folds go forward through the queries in the order of the data, in which "
            f"{ids[back[0] + 1]} comes after {ids[back[0]]}; sort the data by time first"
        )


def warn_of_unknown_order(data: RankingData) -> None:
    """Warn if the ids of queries do not tell whether they ascend in time, as `warn_of_order` does.

    Only for who asks for folds forward in time: others may just have their last queries test.
    """
    ids = data.qid[query_starts(data.qid)[0]]
    if ids.dtype.kind not in "iu" and not _are_dates(ids):
        warn(
            "the folds go forward through the queries in the order of the data, and ids such as "
            f"{str(ids[0])!r} do not tell whether it is that of time; sort the data by time, and "
            "write the ids as 2024-01-31 to have the order checked"
        )


def _held_out(number: int, train: Integers, test: Integers) -> tuple[Integers, Integers, Integers]:
    """Return a fold with some of its training queries as the validation part."""
    train = np.sort(train)
    n = max(1, len(train) // HELD_OUT)
    if train[-1] < test.min():
        gap = test.min() - train[-1] - 1
        held = train[-n:]
        rest = train[train < held[0] - gap]
    else:
        held = train[HELD_OUT - 1 :: HELD_OUT] if len(train) >= HELD_OUT else train[-1:]
        rest = np.setdiff1d(train, held)
    if not len(rest):
        raise ValueError(
            f"fold {number} has too few training queries, {len(train)}: a fifth of them chooses "
            "the rounds, after the same gap as before the test queries, and none is left to train; "
            "use fewer folds or a smaller gap, or pass (train, validation, test)"
        )
    return rest, held, test


def query_positions(data: RankingData, folds: Any) -> list[tuple[Integers, ...]]:
    """Return the positions of the queries of each fold, which are as in `boostrank.compare`."""
    n_queries = len(data.group)
    if hasattr(folds, "split") and not isinstance(folds, str):
        ids = np.arange(n_queries)
        # Splitters that ignore groups warn about them.
        groups = {"groups": ids} if "Group" in type(folds).__name__ else {}
        folds = list(folds.split(ids.reshape(-1, 1), **groups))
    if not isinstance(folds, Iterable) or isinstance(folds, str):
        raise TypeError(
            "folds must be pairs of (train, test), as boostrank.group_folds returns them, or a "
            f"splitter of scikit-learn such as TimeSeriesSplit, got {folds!r}"
        )
    read: list[tuple[Integers, ...]] = []
    for number, fold in enumerate(folds, start=1):
        if len(fold) not in (2, 3):
            raise ValueError(
                f"fold {number} must be (train, test) or (train, validation, test), got "
                f"{len(fold)} parts"
            )
        read.append(tuple(check_whole(f"fold {number}", part, 0) for part in fold))
        if not all(map(len, read[-1])):
            raise ValueError(f"fold {number} has an empty part")
    if not read:
        raise ValueError("folds must hold at least one fold, got none")
    limit = max(int(part.max()) for fold in read for part in fold)
    if limit >= n_queries:
        if limit >= len(data.y):
            raise ValueError(
                f"folds must hold positions of the {n_queries} queries or of the {len(data.y)} "
                f"rows, got {limit}"
            )
        query = np.repeat(np.arange(n_queries), data.group)
        read = [
            tuple(_whole_queries(data, query, part, number) for part in fold)
            for number, fold in enumerate(read, start=1)
        ]
    for number, fold in enumerate(read, start=1):
        together = np.concatenate(fold)
        if len(np.unique(together)) < len(together):
            raise ValueError(f"fold {number} has a query twice, in one part or in two")
    times = np.bincount(np.concatenate([fold[-1] for fold in read]))
    if times.max() > 1:
        twice = data.qid[query_starts(data.qid)[0][np.argmax(times)]]
        raise ValueError(
            f"folds must test each query at most once, but query {twice} is tested {times.max()} "
            "times: paired tests and intervals take queries as independent"
        )
    if _go_forward(read):
        warn_of_order(data)
    return read


def _whole_queries(data: RankingData, query: Integers, rows: Integers, number: int) -> Integers:
    """Return the queries of some rows, which must hold all rows of them."""
    found, counts = np.unique(query[rows], return_counts=True)
    split = np.flatnonzero(counts != data.group[found])
    if len(split):
        position = found[split[0]]
        raise ValueError(
            f"fold {number} must hold whole queries, but has {counts[split[0]]} of the "
            f"{data.group[position]} rows of query {data.qid[np.searchsorted(query, position)]} in "
            "one of its parts; split queries, not rows, or use boostrank.group_folds"
        )
    return found
