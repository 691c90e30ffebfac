"""Draws depend on the query alone, not on the order of queries or the number of workers."""

import numpy as np
import pytest
from boostrank.objectives.engine.draws import query_keys, query_uniforms, write_uniforms
from scipy.stats import kstest
from training import few_values, predicted, random_bits, train

import boostrank
from boostrank.datasets import RankingData

ROUNDS = 8
OBJECTIVES = {
    "blend": {},
    "shf-sdcg:gaussian": {"perturb": "gaussian"},
    "xe-ndcg": {},
    "yetirank": {},
    "lambdarank:half": {"query_fraction": 0.5},
}


def make_objective(name):
    return boostrank.objective(name.partition(":")[0], **OBJECTIVES[name])


@pytest.fixture(scope="module")
def data():
    """Return queries that all differ in their lists of labels, with few values per feature."""
    table = few_values(list("abcdef"), smallest=6)
    return RankingData(table.iloc[:, :6].to_numpy(), table["label"], table["qid"])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_order_of_queries(data, name, host):
    """Queries in any order give the same model; another seed gives another model.

    Hosts then add gradients in another order: the last bits of float64 sums differ, and those of
    float32 leaves.
    """
    objective = make_objective(name)

    def scores(objective, data, X=data.X):
        return predicted(train(host, objective, data, ROUNDS), X)

    expected = scores(objective, data)
    largest = np.abs(expected).max()
    for seed in (1, 2):
        shuffled = data.select(np.random.default_rng(seed).permutation(60))
        assert np.abs(scores(objective, shuffled) - expected).max() < 1e-6 * largest
    other = scores(objective.replace(seed=1), data)
    assert np.abs(other - expected).max() > 1e-3 * largest


def keys_of(scores, y, group, *, seed=0, round=1):
    boundaries = np.append(0, np.cumsum(group))
    return query_keys(seed, round, np.asarray(scores, float), np.asarray(y, float), boundaries)


def test_keys_tell_queries_apart(rng):
    """By labels, their order, size, scores, seed and round, and by nothing else."""
    y, scores = [2.0, 1.0, 0.0], [0.5, 0.25, -1.0]
    (key,) = keys_of(scores, y, [3])
    assert keys_of([9.0, *scores], [0.0, *y], [1, 3])[1] == key
    assert keys_of([*scores, 9.0], [*y, 0.0], [3, 1])[0] == key
    others = [
        keys_of(scores, [1.0, 2.0, 0.0], [3]),
        keys_of(scores, [2.0, 1.0, 0.5], [3]),
        keys_of([0.25, 0.5, -1.0], y, [3]),
        keys_of([0.5, 0.252, -1.0], y, [3]),
        keys_of([*scores, 0.0], [*y, 0.0], [4]),
        keys_of(scores, y, [3], seed=1),
        keys_of(scores, y, [3], round=2),
    ]
    assert len({key, *(other[0] for other in others)}) == 8
    # Scores that differ only as much as hosts' sums do count as equal, also around 0.
    for change in (1e-7, -1e-7):
        assert keys_of(np.array(scores) + change, y, [3]) == key
    assert keys_of([1e-17, -1e-17], [1, 0], [2]) == keys_of([-0.0, 0.0], [1, 0], [2])
    assert keys_of(scores, [2.0, 1.0, -0.0], [3]) == key
    huge = keys_of([1e300, -1e300, 1e30, -1e30], [0, 0, 0, 0], [2, 2])
    assert huge[0] == huge[1]
    many = keys_of(1e6 * rng.normal(size=200_000), np.zeros(200_000), np.full(100_000, 2))
    assert len(np.unique(many)) > 99_990


def test_numbers_are_uniform_and_independent():
    """Between documents, between queries that are nearly the same, and between streams."""
    group = np.tile([1, 7, 64, 300], 300)
    n = group.sum()
    scores, y = np.zeros(n), np.zeros(n)
    y[np.cumsum(group) - 1] = np.arange(len(group))  # queries differ in their last label only
    boundaries = np.append(0, np.cumsum(group))
    keys = keys_of(scores, y, group)
    streams = np.empty((3, n))
    for stream, numbers in enumerate(streams):
        write_uniforms(keys, boundaries, stream, numbers)
        assert kstest(numbers, "uniform").pvalue > 0.01
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 4 / n**0.5
        bits = random_bits(0, 1, scores, y, group, stream)
        np.testing.assert_array_equal(numbers, ((bits >> np.uint64(12)) + 0.5) / 2.0**52)
    assert np.abs(np.corrcoef(streams) - np.eye(3)).max() < 4 / n**0.5
    long = streams[0].reshape(300, -1)[:, -300:]  # the long queries, one per row
    assert np.abs(np.corrcoef(long) - np.eye(300)).max() < 5.5 / 300**0.5
    assert kstest(query_uniforms(keys, 0), "uniform").pvalue > 0.01
