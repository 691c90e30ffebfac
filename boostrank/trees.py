"""The trees of a trained LightGBM or XGBoost model, in the one form that exports are written from.

Search engines hold features in float32, and so do these trees. A document goes left where its
feature is at most the threshold. LightGBM's thresholds, float64, are rounded down; XGBoost's `<` is
a `<=` at the next smaller number. For features in float32 neither changes a decision.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.hosts import model_files
from boostrank.messages import few, warn
from boostrank.objectives.validation import Integers

Singles = npt.NDArray[np.float32]

#: Objectives of the hosts whose predictions are the plain sum of the trees.
_PLAIN = (
    "custom", "lambdarank", "rank_xendcg", "regression", "regression_l1", "huber", "fair",
    "quantile", "mape", "rank:ndcg", "rank:pairwise", "rank:map", "reg:squarederror",
    "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror",
    "binary:logitraw",
)  # fmt: skip
# Bits of LightGBM's decision_type; bits 2 and 3 say which values are missing.
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2
_ZERO, _BELOW_ZERO = np.float32(1e-35), np.nextafter(np.float32(-1e-35), np.float32(-1))


class Tree(NamedTuple):
    """One tree. Splits are numbered from 0, the root first; leaf i is written as ``~i``."""

    feature: Integers  # (n_splits,), as all but `value`
    threshold: Singles
    left: Integers
    right: Integers
    missing_left: npt.NDArray[np.bool_]  # where a document without the feature goes
    value: Singles  # (n_leaves,)

    @property
    def nodes(self) -> list[tuple[int, int]]:
        """Every node with its depth, each after its parent."""
        found = [(0 if len(self.feature) else ~0, 0)]
        for node, depth in found:  # grows meanwhile
            if node >= 0:
                found += [(int(child[node]), depth + 1) for child in (self.left, self.right)]
        return found


class Forest(NamedTuple):
    """All trees of a model; a score is the sum of one leaf of each."""

    names: list[str]  # of the features in training, by the host if it was given none
    named: bool  # whether the names are the user's
    trees: list[Tree]
    # Features whose missing values go elsewhere than their zeros. True if the model shows that it
    # has learnt this: LightGBM writes it down; XGBoost sends them to both sides, which it seldom
    # does without missing values.
    missing: dict[int, bool]

    @property
    def used(self) -> list[int]:
        """The features that occur in a split."""
        return sorted({int(i) for tree in self.trees for i in tree.feature})


def read_forest(model: Any) -> Forest:
    """Return the trees, up to the best round, of a model file, a booster or a fitted ranker."""
    booster = model_files.booster_of(model)
    if hasattr(booster, "model_to_string"):
        return _read_lightgbm(booster)
    if hasattr(booster, "save_raw"):
        missing = model_files.missing_of(model, booster)
        if not math.isnan(missing):
            raise ValueError(
                f"the model takes {missing:g} for a missing value, as no engine does: use NaN"
            )
        return _read_xgboost(booster)
    raise TypeError(
        "model must be the path of a model file, or a Booster or fitted ranker of LightGBM or "
        f"XGBoost, got {type(model).__name__}"
    )


def _check_plain(objective: str, n_outputs: int) -> None:
    if n_outputs != 1:
        raise ValueError(
            f"the model has {n_outputs} scores for each document; only one is exported"
        )
    if objective not in _PLAIN:
        raise ValueError(
            f"the model's objective, {objective}, transforms the sum of the trees; only models "
            "whose predictions are that sum, such as rankers, are exported"
        )


def neighbours(values: Singles, towards: float) -> Singles:
    """Return the next float32 numbers towards plus or minus infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(values, np.float32(towards))


def _forest(
    names: list[str], own: bool, trees: list[Tree], categorical: set[int], learnt: set[int]
) -> Forest:
    if categorical:
        which = few([names[i] for i in sorted(categorical)])
        raise ValueError(
            f"the model splits on categories of {which}, which no target can hold; train on "
            "numbers, such as one 0/1 column for each category"
        )
    if not all(np.isfinite(tree.value).all() for tree in trees):
        raise ValueError(
            "the model has leaves beyond float32, which engines add: its training has diverged; "
            "train with a lower learning rate, or smaller labels"
        )
    differing = {
        int(i) for tree in trees for i in tree.feature[tree.missing_left != (tree.threshold >= 0)]
    }
    return Forest(names, own, trees, {i: i in learnt for i in sorted(differing)})


def _rounded_down(thresholds: npt.NDArray[np.float64]) -> Singles:
    """Return the float32 thresholds that separate float32 features as LightGBM's do."""
    largest = np.finfo(np.float32).max
    single = np.clip(thresholds, -largest, largest).astype(np.float32)
    single = np.where(single > thresholds, neighbours(single, -np.inf), single)
    # All features as small as this are 0 to LightGBM.
    return np.where(np.abs(single) <= _ZERO, np.where(single < 0, _BELOW_ZERO, _ZERO), single)


def _read_lightgbm(booster: Any) -> Forest:
    # Up to the best round. Text, because the JSON form is nested as deeply as the trees are.
    head, *blocks = booster.model_to_string().split("\nTree=")
    header = _fields(head)
    names = booster.feature_name()  # which may hold any white space but blanks
    _check_plain(header.get("objective", "custom"), int(header["num_tree_per_iteration"]))
    trees: list[Tree] = []
    categorical: set[int] = set()
    learnt: set[int] = set()
    skipped: set[int] = set()
    for block in blocks:
        fields = _fields(block.partition("\n\n")[0])
        if fields.get("is_linear", "0") != "0":
            raise ValueError("the model has linear trees, which no target can hold")
        feature, left, right, kind = (
            np.array(fields.get(name, "").split(), dtype=np.int64)
            for name in ("split_feature", "left_child", "right_child", "decision_type")
        )
        threshold = np.array(fields.get("threshold", "").split(), dtype=np.float64)
        default_left = kind & _DEFAULT_LEFT > 0
        missing = kind >> 2 & 3
        # LightGBM takes NaN for 0 in features that had no NaN in training.
        left_at_zero = threshold >= 0
        missing_left = np.where(missing == 0, left_at_zero, default_left)
        categorical.update(feature[kind & _CATEGORICAL > 0].tolist())
        learnt.update(feature[missing == _NAN_IS_MISSING].tolist())
        skipped.update(
            feature[(missing == _ZERO_IS_MISSING) & (default_left != left_at_zero)].tolist()
        )
        value = np.array(fields["leaf_value"].split(), dtype=np.float64)
        if "average_output" in header:
            value /= len(blocks)
        with np.errstate(over="ignore"):  # refused below
            leaves = value.astype(np.float32)
        trees.append(Tree(feature, _rounded_down(threshold), left, right, missing_left, leaves))
    if skipped:
        which = few([names[i] for i in sorted(skipped)])
        raise ValueError(
            f"the model takes 0 for a missing value in {which}, and sends it to the other side of "
            "the threshold, which no target can do; train without zero_as_missing"
        )
    return _forest(names, not model_files.made_up(names), trees, categorical, learnt)


def _fields(text: str) -> dict[str, str]:
    """Return the lines ``name=value``; a line without a value is a flag."""
    return {name: value for name, _, value in (line.partition("=") for line in text.split("\n"))}


def _read_xgboost(booster: Any) -> Forest:
    learner = model_files.learner_of(model_files.best_rounds(booster))
    boosted = learner["gradient_booster"]
    if boosted["name"] == "gblinear":
        raise ValueError("the model is linear (gblinear): it has no trees to export")
    _check_plain(learner["objective"]["name"], model_files.outputs_of_xgboost(learner))
    if model_files.of_sparse(booster):
        warn(
            "the model was trained on a sparse matrix, whose zeros were missing: an engine that "
            "sends a 0 gets another score; send no value for it, or train on an array"
        )
    names, own = model_files.xgboost_names(booster), bool(booster.feature_names)
    read = model_files.gbtree_of(boosted)["trees"]
    categorical = {tree["split_indices"][i] for tree in read for i in tree["categories_nodes"]}
    weights = model_files.dart_weights(boosted) or [1.0] * len(read)
    trees = [_xgboost_tree(tree, weight) for tree, weight in zip(read, weights, strict=True)]
    base = float(learner["learner_model_param"]["base_score"].strip("[]"))
    if base:  # the first summand of XGBoost, too
        none = np.zeros(0, dtype=np.int64)
        constant = np.array([base], dtype=np.float32)
        trees.insert(0, Tree(none, none.astype(np.float32), none, none, none > 0, constant))
    directions = {
        side: {int(i) for tree in trees for i in tree.feature[tree.missing_left == side]}
        for side in (False, True)
    }
    # Without missing values, the directions of all splits on a feature are the same, as a rule.
    return _forest(names, own, trees, categorical, directions[False] & directions[True])


def _xgboost_tree(tree: dict[str, Any], weight: float) -> Tree:
    left, right = (np.array(tree[name]) for name in ("left_children", "right_children"))
    split = left >= 0
    number = np.where(split, np.cumsum(split) - 1, ~(np.cumsum(~split) - 1))
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    return Tree(
        np.array(tree["split_indices"])[split],
        neighbours(condition[split], -np.inf),
        number[left[split]],
        number[right[split]],
        np.array(tree["default_left"])[split] > 0,
        condition[~split] * np.float32(weight),
    )
