"""Models for search engines: the trees of either host in the formats that engines read."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.datasets.tables import by_feature
from boostrank.hosts.model_files import booster_of, is_of_train
from boostrank.messages import few, warn
from boostrank.objectives.validation import check_choice, hint
from boostrank.trees import Forest, Singles, Tree, neighbours, read_forest

# Solr adds this to every threshold.
_SOLR_SLACK = np.float32(1e-6)
_LARGEST = float(np.finfo(np.float32).max)
# A feature of Vespa: a name, perhaps with arguments and an output, such as bm25(title).
_VESPA_NAME = re.compile(
    r"[A-Za-z_@$][\w@$]*(\([^()]*(\([^()]*\)[^()]*)*\))?(\.[\w@$.]+)?", re.ASCII
)

# How formats write a leaf and a split; `_folded` fills in the fields.
_XGBOOST = (
    '{{"nodeid": {id}, "leaf": {value}}}',
    '{{"nodeid": {id}, "depth": {depth}, "split": {name}, "split_condition": {threshold}, '
    '"yes": {yes}, "no": {no}, "missing": {missing}, "children": [{left}, {right}]}}',
)
_SOLR = (
    '{{"value": "{value}"}}',
    '{{"feature": {name}, "threshold": "{threshold}", "left": {left}, "right": {right}}}',
)
_SOLR_MISSING = _SOLR[1].replace('"left"', '"missing": "{side}", "left"')
_RANKLIB = (
    "<output> {value} </output>",
    "<feature> {number} </feature>\n<threshold> {threshold} </threshold>\n"
    '<split pos="left">\n{left}\n</split>\n<split pos="right">\n{right}\n</split>',
)


def export(
    model: Any, to: str, *, features: Sequence[str] | None = None, name: str = "boostrank"
) -> str:
    """Return a trained model in the format of a search engine.

    Parameters
    ----------
    model : path, Booster or ranker
        A model file, a booster or a fitted ranker of LightGBM or XGBoost. Early stopped models are
        exported up to their best round.
    to : {"solr", "opensearch", "vespa", "ranklib"}
        Solr's ``MultipleAdditiveTreesModel``; the JSON of XGBoost's dump, for the learning-to-rank
        plug-ins of OpenSearch and Elasticsearch (``model/xgboost+json``) and for Vespa; RankLib's
        XML, also for these plug-ins (``model/ranklib``).
    features : sequence of str, optional
        The engine's features, in its order. The model's features must be among them; if the model
        has no names but the host's, and not all of these are among them, these are its features,
        one for each column. RankLib's XML numbers features by this order, from 1; without it, by
        the columns.
    name : str, default "boostrank"
        The model's name in Solr.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If `model` is something else.
    ValueError
        If the format cannot hold the model: categories, linear trees, several outputs,
        transformed scores; leaves beyond float32; zeros taken for missing; for RankLib, directions
        learnt for missing values. Also if a feature is not among `features`, or is no feature of
        Vespa by its name.

    Warns
    -----
    UserWarning
        For RankLib, if missing values take another way than 0, and the model does not show whether
        there were any in training; also without names and `features`, if the model never uses its
        first feature: its host may have numbered them from 0. For XGBoost, if training was on a
        sparse matrix.

    Examples
    --------
    >>> import json
    >>> import boostrank
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.lightgbm import LGBMRanker
    >>> data = make_ranking(20, 10, n_features=3, seed=0)
    >>> ranker = LGBMRanker(n_estimators=2, verbosity=-1, n_jobs=1)
    >>> ranker = ranker.fit(data.X, data.y, qid=data.qid)
    >>> text = boostrank.export(ranker, "solr", features=["bm25", "clicks", "age"])
    >>> json.loads(text)["name"]
    'boostrank'
    """
    write = WRITERS[check_choice("to", to, WRITERS)]
    booster = booster_of(model)
    if isinstance(model, str | Path):  # read once
        model = booster
    forest = read_forest(model)
    # Rankers are fitted on arrays.
    fitted = booster is not model
    known = fitted or features is not None or forest.named or is_of_train(booster)
    if to == "ranklib" and not known and min(forest.used, default=0):
        warn(
            "RankLib numbers features from 1, by the columns, and the model never uses its first: "
            "if its host read a svmlight file, that column is feature 0, and all numbers are one "
            "too high. Then train with 'boostrank train', or on the array of load_letor; otherwise "
            "pass features, one for each column"
        )
    return write(_with_features(forest, features), name)


def _with_features(forest: Forest, features: Sequence[str] | None) -> Forest:
    """Return the forest with the engine's names and numbers of features."""
    if features is None:
        return forest
    names = list(features)
    unordered = isinstance(features, str | set | frozenset)
    if unordered or not all(isinstance(name, str) for name in names):
        raise TypeError(f"features must be a sequence of names, in order, got {features!r}")
    twice = [feature for feature, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"features must have each name once, got {twice[0]!r} several times")
    if not forest.named and not set(names) >= set(forest.names):
        if len(names) != len(forest.names):
            raise ValueError(
                f"features must have one for each of the {len(forest.names)} columns of the model, "
                f"which has no names, got {len(names)}"
            )
        return forest._replace(names=names)
    known = by_feature(names, forest.names)
    place = {}
    for i in forest.used:
        name = forest.names[i]
        if name not in known:
            raise ValueError(f"features must have the model's {name!r}{hint(name, names)}")
        if len(known[name]) > 1:
            both = " and ".join(map(repr, known[name]))
            raise ValueError(
                f"features has {both}, which may both be the model's {name!r}; leave one out"
            )
        place[i] = names.index(known[name][0])
    trees = [
        tree._replace(feature=np.array([place[i] for i in tree.feature.tolist()], dtype=np.int64))
        for tree in forest.trees
    ]
    missing = {place[i]: learnt for i, learnt in forest.missing.items()}
    return forest._replace(names=names, trees=trees, missing=missing)


def _folded(tree: Tree, names: Sequence[str], thresholds: Singles, leaf: str, split: str) -> str:
    """Write a tree from its leaves upwards, without recursion: trees may be deep."""
    n_splits = len(tree.feature)
    texts: dict[int, str] = {}
    for node, depth in reversed(tree.nodes):
        if node < 0:
            texts[node] = leaf.format(id=n_splits + ~node, value=_number(tree.value[~node]))
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        yes, no = (child if child >= 0 else n_splits + ~child for child in (left, right))
        texts[node] = split.format(
            id=node,
            depth=depth,
            number=tree.feature[node] + 1,
            name=names[tree.feature[node]],
            threshold=_number(thresholds[node]),
            yes=yes,
            no=no,
            missing=yes if tree.missing_left[node] else no,
            side="left" if tree.missing_left[node] else "right",
            left=texts.pop(left),
            right=texts.pop(right),
        )
    return texts.popitem()[1]


def _number(value: float) -> str:
    """Write a float32 with the digits of a float64, which every parser reads exactly."""
    return repr(float(min(max(value, -_LARGEST), _LARGEST)))


def _xgboost_json(forest: Forest, name: str) -> str:
    """Write XGBoost's dump, which names no model: an array of trees, whose splits are `<`."""
    names = [json.dumps(name) for name in forest.names]
    trees = (
        _folded(tree, names, neighbours(tree.threshold, np.inf), *_XGBOOST) for tree in forest.trees
    )
    return "[\n" + ",\n".join(trees) + "\n]\n"


def _vespa(forest: Forest, name: str) -> str:
    for i in forest.used:
        if not _VESPA_NAME.fullmatch(forest.names[i]):
            raise ValueError(
                f"{forest.names[i]!r} is not a feature of Vespa, such as bm25(title), but an "
                "expression there: give Vespa's names as features, or rename the column"
            )
    return _xgboost_json(forest, name)


def _without_slack(thresholds: Singles) -> Singles:
    """Return what Solr must be given, so that it compares with these thresholds.

    Where no number plus the slack is a threshold, the next smaller sum takes its place.
    """
    given = (thresholds - _SOLR_SLACK).astype(np.float32)
    for _ in range(2):
        given = neighbours(given, np.inf)
    while (above := given + _SOLR_SLACK > thresholds).any():
        given = np.where(above, neighbours(given, -np.inf), given)
    return given


def _solr(forest: Forest, name: str) -> str:
    names = [json.dumps(feature) for feature in forest.names]
    leaf, split = (_SOLR[0], _SOLR_MISSING) if forest.missing else _SOLR
    roots = (
        _folded(tree, names, _without_slack(tree.threshold), leaf, split) for tree in forest.trees
    )
    features = ", ".join(f'{{"name": {names[i]}}}' for i in forest.used)
    null = '"isNullSameAsZero": false, ' if forest.missing else ""
    trees = ",\n".join(f'{{"weight": "1", "root": {root}}}' for root in roots)
    return (
        '{"class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",\n'
        f'"name": {json.dumps(name)},\n"features": [{features}],\n'
        f'"params": {{{null}"trees": [\n{trees}\n]}}}}\n'
    )


def _ranklib(forest: Forest, name: str) -> str:
    learnt = [forest.names[i] for i, known in forest.missing.items() if known]
    if learnt:
        raise ValueError(
            f"the model has learnt where missing values of {few(learnt)} go; RankLib takes them "
            "for 0: fill them with 0 in training, or export to opensearch, also for Elasticsearch"
        )
    if forest.missing:
        warn(
            f"RankLib takes missing values for 0, the model does not: scores are the same only "
            f"where {few([forest.names[i] for i in forest.missing])} are never missing"
        )
    roots = (_folded(tree, forest.names, tree.threshold, *_RANKLIB) for tree in forest.trees)
    trees = "".join(
        f'<tree id="{i}" weight="1.0">\n<split>\n{root}\n</split>\n</tree>\n'
        for i, root in enumerate(roots, start=1)
    )
    # RankLib reads the first line as the kind of model, and no spaces between tags.
    return f"## LambdaMART\n<ensemble>\n{trees}</ensemble>\n"


#: How each target is written.
WRITERS: Mapping[str, Callable[[Forest, str], str]] = {
    "solr": _solr,
    "opensearch": _xgboost_json,
    "ranklib": _ranklib,
    "vespa": _vespa,
}
