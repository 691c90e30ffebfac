"""How search engines score the files of `boostrank.export`, written from their formats alone.

Each engine takes a file, the names of the features and float32 rows, and returns what each tree
adds to each row's score, (n_docs, n_trees). `by_tree` is the host's own answer, for `rows` on both
sides of the model's thresholds.
"""

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import lightgbm
import numpy as np
import xgboost

Engine = Callable[[str, list[str], np.ndarray], np.ndarray]


def _scored(trees: list, rows: np.ndarray, leaf: Callable) -> np.ndarray:
    return np.array([[leaf(tree, row) for tree in trees] for row in rows])


def solr(text: str, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Apply MultipleAdditiveTreesModel: float32, `<=`, 1e-6 added to each threshold."""
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    params = model["params"]
    place = {feature["name"]: names.index(feature["name"]) for feature in model["features"]}
    null_is_zero = params.get("isNullSameAsZero", True)

    def leaf(tree: dict, row: np.ndarray) -> np.float32:
        node = tree["root"]
        while "feature" in node:
            value = row[place[node["feature"]]]
            if math.isnan(value) and null_is_zero:
                value = np.float32(0)
            threshold = np.float32(node["threshold"]) + np.float32(1e-6)
            if math.isnan(value):
                node = node[node["missing"]]
            else:
                node = node["left"] if value <= threshold else node["right"]
        return np.float32(tree["weight"]) * np.float32(node["value"])

    return _scored(params["trees"], rows, leaf)


def opensearch(text: str, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Apply `model/xgboost+json`: float32, left if the threshold is greater; NaN as `missing`."""

    def leaf(node: dict, row: np.ndarray) -> np.float32:
        while "leaf" not in node:
            assert {"nodeid", "depth", "split_condition", "yes", "no", "missing"} <= set(node)
            yes, no = node["children"]
            assert (node["yes"], node["no"]) == (yes["nodeid"], no["nodeid"])
            value = row[names.index(node["split"])]
            left = np.float32(node["split_condition"]) > value
            if math.isnan(value):
                left = node["missing"] == node["yes"]
            node = yes if left else no
        return np.float32(node["leaf"])

    trees = json.loads(text)
    assert trees, "the plug-ins refuse a model without trees"
    return _scored(trees, rows, leaf)


def vespa(text: str, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Apply the expression that Vespa makes of a tree: float64; NaN is never less or greater."""

    def leaf(node: dict, row: np.ndarray) -> float:
        while "leaf" not in node:
            children = {child["nodeid"]: child for child in node["children"]}
            value = float(row[names.index(node["split"])])
            threshold = float(np.float32(node["split_condition"]))
            missing_left = node["missing"] == node["yes"]
            left = not value >= threshold if missing_left else value < threshold
            node = children[node["yes"] if left else node["no"]]
        return node["leaf"]

    assert text.startswith("["), "by this, Vespa knows the file from LightGBM's"
    return _scored(json.loads(text), rows, leaf)


def ranklib(text: str, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Apply LambdaMART's ensemble: float32, `<=`, features from 1, missing values are 0."""
    first, xml = text.split("\n", 1)
    assert first == "## LambdaMART"
    assert not re.search(r"<split[^>]*> +<|> +<(feature|output|tree)", xml)  # no text between tags
    ensemble = ElementTree.fromstring(xml)

    def leaf(tree: ElementTree.Element, row: np.ndarray) -> np.float32:
        node = tree[0]
        while node[0].tag == "feature":
            value = np.nan_to_num(row[int(node[0].text) - 1])
            node = node[2] if value <= np.float32(node[1].text) else node[3]
        return np.float32(node[0].text) * np.float32(tree.get("weight"))

    return _scored(list(ensemble), rows, leaf)


ENGINES: dict[str, Engine] = {each.__name__: each for each in (solr, opensearch, vespa, ranklib)}


def by_tree(booster, X, n_trees):
    """Return what the host itself says each round adds, as float32 (n_docs, n_trees)."""
    if isinstance(booster, lightgbm.Booster):
        options = {"num_iteration": 1, "raw_score": True}
        parts = [booster.predict(X, start_iteration=i, **options) for i in range(n_trees)]
    else:
        matrix = xgboost.DMatrix(X, feature_names=booster.feature_names)
        matrix.set_base_margin(np.zeros(len(X), dtype=np.float32))
        parts = [
            booster.predict(matrix, output_margin=True, iteration_range=(i, i + 1))
            for i in range(n_trees)
        ]
    return np.array(parts, dtype=np.float32).T


def thresholds(booster):
    """Return every threshold of the model as its own file has it, with its feature."""
    if isinstance(booster, lightgbm.Booster):
        text = booster.model_to_string(num_iteration=-1)
        columns = [
            " ".join(re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)).split()
            for name in ("split_feature", "threshold")
        ]
        return [(int(i), float(t)) for i, t in zip(*columns, strict=True)]
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    return [
        (i, t)
        for tree in model.get("gbtree", model)["model"]["trees"]
        for i, t, left in zip(
            tree["split_indices"], tree["split_conditions"], tree["left_children"], strict=True
        )
        if left >= 0
    ]


def rows(booster, X, missing, most, to):
    """Return rows with values on each side of thresholds, zeros, extremes and missing values."""
    rng = np.random.default_rng(5)
    found = np.nan_to_num(X[rng.integers(len(X), size=most)], nan=1.0)
    splits = thresholds(booster)
    for row in found[: most // 2]:
        for place in rng.permutation(len(splits))[:5]:
            i, t = splits[place]
            near = np.float32(np.clip(t, -1e30, 1e30))
            steps = [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), 0, -0.0]
            row[i] = rng.choice(np.array(steps, dtype=np.float32))
    found[-2:] = [[1e30], [-1e30]]
    if to == "solr":  # all thresholds closer to 0 than this are one to Solr
        found[np.abs(found) < 2.3e-13] = 0
    if missing:
        found[rng.random(found.shape) < 0.15] = np.nan
    return found


def n_rounds(booster):
    if isinstance(booster, lightgbm.Booster):
        return booster.num_trees()
    return booster.num_boosted_rounds()
