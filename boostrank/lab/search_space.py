"""The parameters to tune and their ranges: of objectives, trees and the hosts' own objectives."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from boostrank.lab.learners import Learner
from boostrank.lab.settings import Settings
from boostrank.objectives import Objective, Schedule
from boostrank.objectives.base import listed
from boostrank.objectives.blend import SETTINGS


class Span(NamedTuple):
    """A parameter's default and range, searched on a log scale if `log`."""

    default: Any
    low: float
    high: float
    log: bool = True


class OneOf(NamedTuple):
    """A parameter's values, and its default."""

    default: Any
    values: tuple[Any, ...]


Space = Mapping[str, Span | OneOf]

# The five parameters that matter most on each host, by its own names. The others keep their values
# from `boostrank compare`.
TREES: dict[str, Space] = {
    "lightgbm": {
        "learning_rate": Span(Settings.learning_rate, 0.01, 0.3),
        "num_leaves": Span(Settings.leaves, 4, 63),
        "min_data_in_leaf": Span(Settings.min_docs, 1, 100),
        "lambda_l2": OneOf(0.0, (0.0, 0.1, 1.0, 10.0)),
        "feature_fraction": Span(1.0, 0.4, 1.0, log=False),
    },
    "xgboost": {
        "learning_rate": Span(Settings.learning_rate, 0.01, 0.3),
        "max_leaves": Span(Settings.leaves, 4, 63),
        "min_child_weight": Span(1.0, 0.001, 100.0),
        "reg_lambda": OneOf(1.0, (0.0, 0.1, 1.0, 10.0)),
        "colsample_bytree": Span(1.0, 0.4, 1.0, log=False),
    },
    "catboost": {
        "learning_rate": Span(Settings.learning_rate, 0.01, 0.3),
        "depth": Span(6, 2, 8, log=False),
        "l2_leaf_reg": OneOf(3.0, (1.0, 3.0, 10.0, 30.0)),
        "random_strength": OneOf(1.0, (0.0, 1.0, 10.0)),
        "rsm": Span(1.0, 0.4, 1.0, log=False),
    },
}
# For all trials. LightGBM would not train where no feature can be split into leaves as large as a
# trial's: with this, as on XGBoost, the trial ranks nothing and the search goes on.
FIXED: Mapping[str, Mapping[str, Any]] = {"lightgbm": {"feature_pre_filter": False}}
_PAIRS: Space = {
    "lambdarank_num_pair_per_sample": OneOf(32, (5, 10, 32, 100)),
    "lambdarank_normalization": OneOf(True, (True, False)),
}
# Those of the hosts' own objectives that have any.
OF_BUILTINS: dict[str, Space] = {
    "lightgbm:lambdarank": {
        "lambdarank_truncation_level": OneOf(30, (5, 10, 30, 100)),
        "lambdarank_norm": OneOf(True, (True, False)),
    },
    "xgboost:rank:ndcg": _PAIRS,
    "xgboost:rank:pairwise": _PAIRS,
}
# Parameters of our objectives. `k`, `measure` and `target` are not tuned: they are the user's goal.
# The noise keeps its scale, because alpha and sigma are relative to it.
SCALES = ("alpha", "sigma", "margin")
CHOICES: dict[str, tuple[Any, ...]] = {
    "norm": (True, False),
    "normalize": (True, False),
    "truncation": (None, 5, 10, 30),
    "perturb": (None, "gumbel"),
    "signal": tuple(SETTINGS),
}


def objective_space(objective: Objective) -> Space:
    """Return the search space of an objective: the parameters that are at their defaults."""
    space: dict[str, Span | OneOf] = {}
    for entry in listed(objective):
        value = getattr(objective, entry.name)
        if value != entry.default or isinstance(value, Schedule):
            continue
        if entry.name == "normalize" and hasattr(objective, "norm"):  # one of the two
            continue
        if entry.name in SCALES:
            space[entry.name] = Span(value, value / 4.0, value * 4.0)
        elif entry.name in CHOICES:
            values = CHOICES[entry.name]
            space[entry.name] = OneOf(value, values if value in values else (*values, value))
    return space


def learner_space(learner: Learner, given: Collection[str] = ()) -> Space:
    """Return what is searched of a learner's objective and trees: not what is `given`."""
    own: Space = {}
    trees = TREES[learner.host]
    if isinstance(learner.objective, str):
        trees = {**OF_BUILTINS.get(learner.label, {}), **trees}
    else:
        own = objective_space(learner.objective)
    return {**own, **{name: each for name, each in trees.items() if name not in given}}
