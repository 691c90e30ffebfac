"""Schedules: their values in every round, and objectives that hold them."""

import pickle

import numpy as np
import pytest

import boostrank
from boostrank import Schedule


def one_over(round, total_rounds):
    return 1.0 - (round - 1) / total_rounds


def test_halving_gives_each_value_an_equal_share_of_the_rounds():
    values = [Schedule("halving", 130)(m) for m in range(1, 131)]
    assert values == [2.0**exponent for exponent in range(6, -7, -1) for _ in range(10)]
    assert [Schedule("halving", 3, first=4.0, last=1.0)(m) for m in (1, 2, 3)] == [4.0, 2.0, 1.0]
    # More values than rounds: some are left out, the first is kept.
    assert [Schedule("halving", 2)(m) for m in (1, 2)] == [64.0, 1.0]
    halving = Schedule("halving", 2001, first=2.0**1000, last=2.0**-1000)
    assert [halving(np.int64(1001)), halving(2001)] == [1.0, 2.0**-1000]


def test_linear_and_geometric_go_straight_from_first_to_last():
    rounds = np.arange(1, 12)
    linear = Schedule("linear", 11, first=1.0, last=6.0)
    np.testing.assert_allclose([linear(m) for m in rounds], np.linspace(1.0, 6.0, 11), rtol=1e-15)
    geometric = Schedule("geometric", 11, first=8.0, last=0.5)
    np.testing.assert_allclose(
        [geometric(m) for m in rounds], np.geomspace(8.0, 0.5, 11), rtol=1e-14
    )
    assert Schedule("linear", 1, first=1.0, last=6.0)(1) == 1.0
    assert Schedule("geometric", 3, first=2.0**1000, last=2.0**-1000)(2) == 1.0


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("logistic", 7),
        Schedule("halving", 7),
        Schedule("linear", 7, first=2.0, last=1.0),
        Schedule("geometric", 7, first=2.0, last=1.0),
        Schedule(one_over, 7),
    ],
    ids=["logistic", "halving", "linear", "geometric", "callable"],
)
def test_every_shape(schedule):
    assert schedule(8) == schedule(1000) == schedule(7)
    with pytest.raises(ValueError, match="round must be at least 1, got 0"):
        schedule(0)
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    objective = boostrank.SDCG(alpha=schedule)
    assert repr(schedule) in repr(objective)
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert objective.scheduled


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("square", 5), ValueError, "shape must be one of"),
        ((["linear"], 5), ValueError, "shape must be one of"),
        ((lambda m: m, 5), TypeError, r"callable as f\(round, total_rounds\)"),
        ((one_over, 5, 1.0), ValueError, "first and last belong to the named shapes"),
        (("linear", 5, 1.0), ValueError, "last is missing"),
        (("linear", 5, 1.0, -1.0), ValueError, "last must be a positive"),
        (("halving", 5, 1.0, 2.0), ValueError, "first must not be below last"),
        (("logistic", 5, 0.9), ValueError, "cannot be chosen"),
        (("logistic", 0), ValueError, "total_rounds must be at least 1"),
        (("logistic", 2.5), TypeError, "total_rounds must be a whole number"),
    ],
)
def test_bad_schedules(arguments, error, message):
    with pytest.raises(error, match=message):
        Schedule(*arguments)


def test_a_schedule_that_gives_a_value_out_of_range_is_refused_where_it_happens():
    objective = boostrank.SDCG(alpha=Schedule(lambda m, total: m - 2.0, 5))
    with pytest.raises(ValueError, match="alpha must be a positive finite number, got -1"):
        objective.grad_hess([0.0, 1.0], [0, 1], [2], round=1)
