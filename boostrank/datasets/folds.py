"""Folds of whole queries."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from boostrank.datasets.ranking_data import RankingData
from boostrank.objectives.validation import (
    Integers,
    check_count,
    check_flag,
    check_group,
    check_seed,
)

T = TypeVar("T")


class Fold(NamedTuple):
    """One round of a cross-validation.

    Attributes
    ----------
    train, validation, test : RankingData
    """

    train: RankingData
    validation: RankingData
    test: RankingData


def rotations(parts: Sequence[T]) -> list[list[T]]:
    """Return the parts in each order of LETOR's rotation: the first ones move to the end."""
    return [[*parts[first:], *parts[:first]] for first in range(len(parts))]


def rotated(parts: Sequence[Integers], *, validation: bool) -> list[tuple[Integers, ...]]:
    """Rotate parts as LETOR does: the last tests, with `validation` the one before validates."""
    held = 1 + validation
    return [(np.concatenate(turn[:-held]), *turn[-held:]) for turn in rotations(parts)]


def forward_in_time(ends: Sequence[int], gap: int, *, validation: bool) -> list[Any]:
    """Test each part on what came before, of which with `validation` the last part validates.

    Parts end at `ends`. The last `gap` queries before a part that validates or tests are left out.
    """
    windows = zip(*(ends[k:] for k in range(2 + validation)), strict=False)
    return [
        (*(np.arange(a, b - gap) for a, b in pairwise((0, *before))), np.arange(before[-1], end))
        for *before, end in windows
    ]


def letor_folds(parts: Sequence[RankingData]) -> Iterator[Fold]:
    """Rotate partitions as LETOR does: the last tests, the one before validates, the rest train.

    With LETOR's five partitions, fold 1 trains on S1, S2, S3, validates on S4 and tests on S5;
    fold 2 trains on S2, S3, S4, validates on S5 and tests on S1; and so on. Every query is tested
    on exactly once.

    Parameters
    ----------
    parts : sequence of RankingData
        At least three partitions with equally many features and no query in common, as
        `load_letor_parts` and `RankingData.split` return them.

    Returns
    -------
    iterator of Fold
        As many as there are parts, each made on demand.

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
            f"{len(parts)}; split one data set into five with data.split(5, seed=...)"
        )
    return (Fold(RankingData.concat(turn[:-2]), *turn[-2:]) for turn in rotations(parts))


def group_folds(
    group: Any,
    n_folds: int = 5,
    *,
    seed: int | None = None,
    validation: bool = False,
    forward: bool = False,
    gap: int = 0,
) -> list[tuple[Integers, ...]]:
    """Return the rows of folds that hold whole queries.

    Pass them as ``folds=`` to `boostrank.compare`, `boostrank.tune.tune` and `lightgbm.cv`, or as
    ``cv=`` to scikit-learn, whose own folds split queries. (`xgboost.cv` makes such folds itself
    and takes no others.) The queries form as many parts as there are folds, which rotate as LETOR's
    do: the last part tests and the rest train; with `validation`, the last but one validates. Then
    the first part moves to the end.

    If queries are days and the future must not train, pass ``forward=True``: every fold trains on
    the queries before those that it tests, as scikit-learn's TimeSeriesSplit does for rows.

    Parameters
    ----------
    group : array_like of integers (n_queries,)
        Sizes of consecutive queries.
    n_folds : int, default 5
        At least 2, or 3 with `validation`, and at most the number of queries.
    seed : int, optional
        Split the queries at random; equal seeds give equal folds. Default None: each part holds
        consecutive queries.
    validation : bool, default False
        Give each fold a validation part; with `forward`, it lies between training and test.
    forward : bool, default False
        Train only on queries that come before those that validate and test. The test parts are the
        last `n_folds` of ``n_folds + 1`` equal parts, or of ``n_folds + 2`` with `validation`.
    gap : int, default 0
        With `forward`: leave out this many queries before each validation and test part, for labels
        that look ahead.

    Returns
    -------
    list of (train, test), with `validation` of (train, validation, test)
        Ascending rows, int64 arrays.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range; for a seed with `forward`, or a gap
        without it.

    Examples
    --------
    >>> import boostrank
    >>> for train, test in boostrank.group_folds([2, 1, 2], 3):
    ...     print(train, test)
    [0 1 2] [3 4]
    [2 3 4] [0 1]
    [0 1 3 4] [2]
    >>> for train, test in boostrank.group_folds([1] * 8, 3, forward=True, gap=1):
    ...     print(train, test)
    [0] [2 3]
    [0 1 2] [4 5]
    [0 1 2 3 4] [6 7]
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
    gap = check_count("gap", gap, 0)
    if check_flag("forward", forward):
        if seed is not None:
            raise ValueError("forward=True keeps the queries in their order: leave seed out")
        size = n_queries // (n_folds + 1 + validation)
        if size <= gap:
            raise ValueError(
                f"forward folds need parts of more than gap={gap} queries, but {n_queries} queries "
                f"in {n_folds + 1 + validation} parts are {size} each: use fewer folds or a "
                "smaller gap"
            )
        ends = range(n_queries - (n_folds + validation) * size, n_queries + 1, size)
        folds = forward_in_time(ends, gap, validation=validation)
    elif gap:
        raise ValueError("gap leaves out queries before those that test: pass forward=True too")
    else:
        order = np.arange(n_queries)
        if seed is not None:
            order = np.random.default_rng(check_seed(seed)).permutation(n_queries)
        folds = rotated(np.array_split(order, n_folds), validation=validation)
    query = np.repeat(np.arange(n_queries), np.diff(boundaries))
    return [tuple(np.flatnonzero(np.isin(query, part)) for part in fold) for fold in folds]
