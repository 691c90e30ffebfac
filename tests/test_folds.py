"""Folds of whole queries: those that users pass, and those that go forward in time."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

import boostrank
from boostrank.datasets import RankingData, letor_folds, make_ranking
from boostrank.datasets.tables import Columns
from boostrank.lab.folds import given_folds, note_on_time, query_positions, rotation
from boostrank.lab.reading import read_folds

SIZES = np.array([3, 1, 4, 2, 5, 2, 1, 3, 2, 4, 1, 2])
DATA = RankingData(
    np.arange(SIZES.sum()).reshape(-1, 1), np.arange(SIZES.sum()) % 3, np.repeat(range(12), SIZES)
)


def _rows(positions):
    return np.flatnonzero(np.isin(DATA.qid, positions))


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("n_folds", [2, 3, 4])
def test_forward_folds_are_those_of_a_time_series_split_over_queries(n_folds, gap):
    made = boostrank.group_folds(SIZES, n_folds, forward=True, gap=gap)
    split = TimeSeriesSplit(n_folds, gap=gap).split(np.zeros((12, 1)))
    np.testing.assert_equal(made, [[_rows(part) for part in fold] for fold in split])


@pytest.mark.parametrize("gap", [0, 1])
def test_a_forward_fold_with_validation_keeps_every_gap(gap):
    folds = boostrank.group_folds(SIZES, 3, forward=True, gap=gap, validation=True)
    tested = np.concatenate([fold[-1] for fold in folds])
    np.testing.assert_array_equal(tested, _rows(range(6, 12)))
    for train, validation, test in folds:
        assert train[0] == 0
        for before, after in ((train, validation), (validation, test)):
            between = DATA.qid[after[0]] - DATA.qid[before[-1]] - 1
            assert between == gap


def test_positions_of_queries_rows_and_splitters_are_the_same_folds():
    queries = [([0, 1, 5], [7, 8]), ([2, 3], [9, 10, 11])]
    rows = [tuple(_rows(part) for part in fold) for fold in queries]
    for folds in (queries, rows, iter(queries)):
        np.testing.assert_equal(query_positions(DATA, folds), queries)
    for splitter in (KFold(4), TimeSeriesSplit(3, gap=2), GroupKFold(3)):
        groups = np.arange(12) if isinstance(splitter, GroupKFold) else None
        own = list(splitter.split(np.zeros((12, 1)), groups=groups))
        np.testing.assert_equal(query_positions(DATA, splitter), own)


@pytest.mark.parametrize(
    ("folds", "error", "message"),
    [
        (5, TypeError, "folds must be pairs of"),
        ("12", TypeError, "folds must be pairs of"),
        ([], ValueError, "at least one fold"),
        ([([0], [1], [2], [3])], ValueError, "fold 1 must be .* got 4 parts"),
        ([([0], [1]), ([True], [False])], TypeError, "fold 2 must hold whole numbers, got boolean"),
        ([([0.5], [1.0])], ValueError, "fold 1 must hold whole numbers from 0, got 0.5"),
        ([([0], [])], ValueError, "fold 1 has an empty part"),
        ([([0], [-1])], ValueError, "fold 1 must hold whole numbers from 0, got -1"),
        ([([0, 1], [1])], ValueError, "fold 1 has a query twice"),
        ([([0, 0], [1])], ValueError, "fold 1 has a query twice"),
        ([([0], [30])], ValueError, "positions of the 12 queries or of the 30 rows, got 30"),
        (
            KFold(4).split(np.zeros((30, 1))),
            ValueError,
            "fold 2 must hold whole queries, but has 1 of the 2 rows of query 5 in one of its",
        ),
    ],
    ids=range(12),
)
def test_folds_that_are_refused(folds, error, message):
    with pytest.raises(error, match=message):
        query_positions(DATA, folds)


def test_a_query_is_tested_once_and_the_rounds_are_chosen_on_training_queries():
    with pytest.raises(ValueError, match="query 3 is tested 2 times"):
        given_folds(DATA, [([0, 1], [2, 3]), ([4, 5], [3])])
    with pytest.raises(ValueError, match="fold 1 has too few training queries, 1: a fifth"):
        given_folds(DATA, [([0], [1, 2])])
    forward, mixed, own = (
        given_folds(DATA, [fold]).positions[0]
        for fold in (
            (range(8), [9, 10]),  # a gap of one query
            ([0, 1, 2, 3, 4, 8, 9, 10, 11], [5, 6]),
            ([0, 1], [3], [5]),
        )
    )
    assert [part.tolist() for part in forward] == [[0, 1, 2, 3, 4, 5], [7], [9, 10]]
    assert [part.tolist() for part in mixed] == [[0, 1, 2, 3, 8, 9, 10, 11], [4], [5, 6]]
    assert [part.tolist() for part in own] == [[0, 1], [3], [5]]


def _same(made, number, expected):
    for part, own in zip(made.fold(number), expected, strict=True):
        np.testing.assert_array_equal(part.X, own.X)
        np.testing.assert_array_equal(part.qid, own.qid)


def test_rotations_are_letors_and_forward():
    parts = make_ranking(12, 3, n_features=2, seed=0).split(4, seed=0)
    for number, fold in enumerate(letor_folds(parts), start=1):
        _same(rotation(parts), number, fold)
    forward = rotation(parts, forward=True, gap=1)
    assert len(forward.positions) == 2
    first, second, third, fourth = parts
    ends = [part.select([0, 1]) for part in parts]
    _same(forward, 1, (ends[0], ends[1], third))
    _same(forward, 2, (RankingData.concat([first, ends[1]]), ends[2], fourth))
    assert second.qid[-1] not in forward.fold(2).train.qid
    with pytest.raises(ValueError, match="fold 1 has an empty part: use a smaller gap than 3"):
        rotation(parts, forward=True, gap=3)
    with pytest.raises(ValueError, match="at least three parts"):
        rotation(parts[:2])


def note(data, folds):
    return note_on_time(data, given_folds(data, folds).positions)


def test_queries_out_of_order_are_said_if_folds_go_forward():
    backwards = DATA.select(range(11, -1, -1))
    with pytest.warns(UserWarning, match="in which 10 comes after 11; sort the data by time"):
        given_folds(backwards, TimeSeriesSplit(2))
    given_folds(backwards, KFold(3))  # no time order asked for
    ways = ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y-%m", "%Y%m", "%Y-W%V", "%Y-%m-%dT%H:%M", "%Y-%mb"]
    for year, written in [(2023, way) for way in ways] + [(1885, "%Y-%m"), (1885, "%Y-%m-%d")]:
        months = pd.date_range(f"{year}-02-01", periods=12, freq="MS")
        ids = np.repeat(months.strftime(written).to_numpy(dtype=str), SIZES)
        for qid in (ids, ids.astype(int)) if ids[0].isdigit() else (ids,):
            dates = RankingData(DATA.X, DATA.y, qid)
            assert "Queries are dates" in note(dates, KFold(3))
            assert not note(dates, TimeSeriesSplit(3))
            with pytest.warns(UserWarning, match="sort the data by time first"):
                given_folds(dates.select(range(11, -1, -1)), TimeSeriesSplit(2))
    assert not note(DATA, KFold(3))
    assert not note(replace(DATA, qid=DATA.qid + 2000), KFold(3))
    words = RankingData(DATA.X, DATA.y, np.repeat(list("lkjihgfedcba"), SIZES))
    given_folds(words, TimeSeriesSplit(2))  # the ids say nothing about time
    with pytest.warns(UserWarning, match="ids such as 'l' do not tell whether it is that of time"):
        read_folds(words, Columns(), seed=0, shuffle=False, forward=True)
