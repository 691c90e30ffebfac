"""Losses equal the slow oracle's, on every short list, random ragged lists and extreme scores."""

from itertools import product
from pathlib import Path

import numpy as np
import oracle
import pytest
from boostrank.objectives import REGISTRY
from oracle import CASES, NAMES, ORACLES, ideal_dcg, ranks

GRADES = (0.0, 1.0, 3.0)
SCORES = (-0.7, 0.0, 1.2)


def test_every_objective_has_an_oracle():
    assert set(ORACLES) == set(REGISTRY) == set(NAMES)
    for name, entry in ORACLES.items():
        assert entry.parameters, name
        assert {REGISTRY[name](**p).name for p in entry.parameters} == {name}


def test_oracle_imports_nothing_of_boostrank():
    source = Path(oracle.__file__).read_text(encoding="utf-8")
    imports = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert imports
    assert not any("boostrank" in line for line in imports)


def test_the_oracles_own_vocabulary():
    assert ranks([0.1, 0.3, 0.1, 0.2]) == [3, 1, 4, 2]
    assert ideal_dcg([0, 2, 1]) == pytest.approx(3 / np.log2(2) + 1 / np.log2(3))
    assert ideal_dcg([0, 2, 1], 1) == pytest.approx(3)


def short_lists():
    """All grade vectors of up to 4 documents, with all score vectors (a third of them for 4)."""
    for n in (1, 2, 3, 4):
        for row, grades in enumerate(product(GRADES, repeat=n)):
            for column, scores in enumerate(product(SCORES, repeat=n)):
                if n < 4 or (row + column) % 3 == 0:
                    yield scores, grades


def ragged_lists(rng):
    for q in range(24):
        n = int(rng.integers(1, 41))
        grades = rng.integers(0, 5, n) if q % 2 else rng.uniform(0, 4, n)
        scores = rng.normal(0, 1.5, n)
        if q % 3 == 0:
            scores = scores.round(1)  # ties
        yield scores, grades


def extreme_lists(rng):
    for exponent in (-300, -12, 2, 3, 6, 12, 30):
        for _ in range(4):
            scores = rng.normal(0, 1, 8)
            scores[rng.random(8) < 0.4] *= 10.0**exponent
            yield scores, rng.integers(0, 4, 8)


def assert_losses_equal_the_oracle(name, parameters, lists, rtol):
    objective = REGISTRY[name](**parameters)
    lists = list(lists)
    scores = np.concatenate([s for s, _ in lists])
    labels = np.concatenate([y for _, y in lists])
    group = [len(s) for s, _ in lists]
    for m in ORACLES[name].rounds(parameters):
        got = objective.loss(scores, labels, group, round=m)
        want = [
            ORACLES[name].loss(list(map(float, s)), list(map(float, y)), round=m, **parameters)
            for s, y in lists
        ]
        np.testing.assert_allclose(got, want, rtol=rtol, atol=ORACLES[name].loss_atol)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_all_short_lists(name, parameters):
    assert_losses_equal_the_oracle(name, parameters, short_lists(), 1e-10)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_random_ragged_lists(name, parameters, rng):
    assert_losses_equal_the_oracle(name, parameters, ragged_lists(rng), 1e-10)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_extreme_scores(name, parameters, rng):
    assert_losses_equal_the_oracle(name, parameters, extreme_lists(rng), 1e-10)
