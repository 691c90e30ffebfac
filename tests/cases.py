"""The objectives that tests over the whole registry run on, each with its oracle.

`every_objective` makes one test for each objective, for each of its parameter sets with a path of
its own through the kernels, and for each Hessian that a kernel computes. `KINDS` is for what the
base class promises: one plain, one scheduled and one mixed objective.
"""

from functools import partial
from typing import NamedTuple

import pytest
from boostrank.objectives import REGISTRY, SDCG, GBRank, Mix, Objective, Schedule
from oracle import NAMES, ORACLES, Oracle


class Case(NamedTuple):
    """An objective with its oracle, both with the same parameters."""

    objective: Objective
    oracle: Oracle
    parameters: dict[str, object]

    @property
    def rounds(self):
        return self.oracle.rounds(self.parameters)

    def loss(self, scores, labels, m):
        """Return the oracle's loss of one query."""
        return self.oracle.loss(list(scores), list(labels), round=m, **self.parameters)

    def gradient_without_pairs(self, scores, labels, m):
        """Return the gradient of a query in which there is nothing to rank."""
        return self.oracle.without_pairs(scores, labels, round=m, **self.parameters)


def case(name, parameters, **hessian):
    """Return the objective of this name with its oracle."""
    return Case(REGISTRY[name](**parameters, **hessian), ORACLES[name], parameters)


def example(name):
    """Return the objective of this name, with parameters that are not all defaults."""
    return case(name, ORACLES[name].parameters[-1])


def _param(name, number, **hessian):
    made = case(name, ORACLES[name].parameters[number], **hessian)
    return pytest.param(made, id="-".join((name, str(number), *hessian.values())))


PATHS = [(name, number) for name in NAMES for number in ORACLES[name].paths]
BY_PATH = [_param(*path) for path in PATHS]
every_path = pytest.mark.parametrize("case", BY_PATH)
# No kernel computes a constant Hessian; test_derivatives.py checks it.
every_objective = pytest.mark.parametrize(
    "case",
    [
        _param(name, number, hessian=hessian)
        for name, number in PATHS
        for hessian in REGISTRY[name].hessians
        if hessian != "constant"
    ],
)
every_name = pytest.mark.parametrize("name", NAMES)

KINDS = {
    "plain": partial(GBRank, margin=0.25, normalize=True),
    "scheduled": partial(SDCG, k=3, alpha=Schedule("linear", 4, first=0.5, last=2.0)),
    "mixture": lambda: Mix(
        REGISTRY["listnet"](),
        REGISTRY["reg-shf-sdcg"](total_rounds=4, k=2),
        Schedule("logistic", 4),
    ),
}
every_kind = pytest.mark.parametrize("build", KINDS.values(), ids=KINDS)
