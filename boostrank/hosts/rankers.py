"""What the rankers of both hosts share: queries from `group` or `qid`, weights, schedules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from boostrank.datasets.ids import check_ids
from boostrank.datasets.ranking_data import (
    check_aligned,
    check_by_query,
    check_either,
    query_starts,
    sizes_of_ids,
)
from boostrank.hosts import features
from boostrank.hosts.data import check_kept
from boostrank.hosts.host_gain import with_gain_of
from boostrank.hosts.metric import Metric, metric
from boostrank.hosts.model_files import booster_of
from boostrank.hosts.monitoring import DEFAULT_METRIC
from boostrank.hosts.stopping import in_proportion
from boostrank.messages import warn
from boostrank.metrics import evaluate, per_query_weight
from boostrank.metrics.evaluation import may_be_grades
from boostrank.objectives import Objective, Preferences, Schedule, Several
from boostrank.objectives.blend import is_auto
from boostrank.objectives.composite import Composite, all_inside
from boostrank.objectives.pairs import Pairs
from boostrank.objectives.positions import Positions
from boostrank.objectives.several import Labels
from boostrank.objectives.validation import (
    GRADES,
    LABEL_DOMAINS,
    NUMBERS,
    Floats,
    Integers,
    check_group,
    check_labels,
    check_scores,
    check_unmasked,
    check_weight,
)
from boostrank.registry import make_objective

T = TypeVar("T")
#: Objectives that are correlations of whole orders.
CORRELATIONS = ("spearman", "pearson")
#: Weights whose largest is outside lose their differences in float32.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-30, float(np.finfo(np.float32).max)
# What objectives may have for the rows of one training set.
_OF_ROWS = {"pairs": Pairs, "positions": Positions, "labels": Several}


class Given(NamedTuple):
    """What a ranker is given for one set of documents, with `group` or `qid`."""

    X: Any  # (n_docs, n_features)
    y: Any  # (n_docs,)
    group: Any  # sizes of consecutive queries
    qid: Any  # one id per document
    weight: Any = None  # (n_queries,) or (n_docs,): if both are one number, per document
    offset: Any = None  # (n_docs,)
    position: Any = None  # (n_docs,), of training only, as are pairs
    pairs: Any = None  # (n_pairs, 2 to 4)


class Rows(NamedTuple):
    """Documents of consecutive queries, with what belongs to them."""

    X: Any  # (n_docs, n_features), as `read_features` returns it
    y: Floats  # (n_docs,)
    group: Integers  # (n_queries,), without empty queries
    weight: Floats | None  # (n_queries,) or (n_docs,)
    offset: Floats | None  # (n_docs,): the scores that training starts from
    ids: Any  # (n_docs,): of queries, as they were given; else their numbers

    @property
    def document_weight(self) -> Floats | None:
        """One weight per document; if there is one per query, that of its query."""
        if self.weight is None or len(self.weight) != len(self.group):
            return self.weight
        return np.repeat(self.weight, self.group)

    def adds_nothing_to(self, training: "Rows") -> bool:
        """Whether queries, weights and offsets are the training's, as those not given are."""
        names = ("group", "document_weight", "offset")
        pairs = [(getattr(self, name), getattr(training, name)) for name in names]
        return all(own is None or np.array_equal(own, other) for own, other in pairs)

    @property
    def query_weight(self) -> Floats | None:
        """One weight per query; if there is one per document, their mean."""
        if self.weight is None:
            return None
        return per_query_weight(self.weight, np.append(0, np.cumsum(self.group)))


def take(values: Any, order: Integers) -> Any:
    """Return rows of an array, frame, sparse matrix or table."""
    if hasattr(values, "iloc"):
        return values.iloc[order]
    return values.take(order) if hasattr(values, "column_names") else values[order]


def _measured(domain: str) -> str:
    """Return the domain of labels to measure by: also grades, where a model learns from clicks."""
    return max(domain, GRADES, key=list(LABEL_DOMAINS).index)


def _column(name: str, values: Any) -> Any:
    """Return one number per row: frames, tables and arrays may hold them in a single column."""
    if np.ma.isMaskedArray(values):  # pandas' own masks are seen as missing values
        check_unmasked(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must have one value for each row: {error}") from error
    if isinstance(values, Sequence) or values is None:
        return values
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def read_rows(
    given: Given,
    *,
    sort: bool | None,
    domain: str,  # of the labels
    rules: features.HostRules | None = None,  # None: `X` is left to the ranker that gets it
    prefix: str = "",  # "eval_" for an evaluation set
) -> Rows:
    """Check what a ranker is given, sorted by `qid` with `sort`; with None, only if it must be."""
    X, y, group, qid, weight, offset, *_ = given
    start = "start scores" if rules is None else rules.start
    check_aligned("X", X, **{"y": y, "qid": qid, "sample_weight": weight, start: offset})
    y, qid, group = _column("y", y), _column("qid", qid), _column("group", group)
    weight, offset = _column("sample_weight", weight), _column(start, offset)
    y = check_labels(y, np.size(y), domain)
    n_docs = len(y)
    if n_docs == 0:
        raise ValueError("X and y must have at least one document, got none")
    if rules is not None:
        X = features.read_features(X, rules, qid, y, _column("position", given.position))
    if X.shape[0] != n_docs:
        raise ValueError(f"X must have one row for each of the {n_docs} labels, got {X.shape[0]}")
    offset = None if offset is None else check_start(start, offset, n_docs)
    check_either(group, qid, prefix)
    if qid is None:
        if sort:
            raise ValueError(
                f"sort=True sorts by {prefix}qid: pass {prefix}qid, one id per document, not "
                f"{prefix}group"
            )
        sizes = np.diff(check_group(group, n_docs))
        ids = np.repeat(np.arange(len(sizes)), sizes)
    else:
        ids = check_ids(f"{prefix}qid", qid, n_docs)
        by_query = weight is not None and len(np.atleast_1d(weight)) != n_docs
        if sort is None:
            sort = query_starts(ids)[1] is not None
            if sort and by_query:
                _check_ascending(ids)
        if sort:
            order = np.argsort(ids, kind="stable")
            X, y, ids = take(X, order), y[order], ids[order]
            weight = weight if weight is None or by_query else np.asarray(weight)[order]
            offset = None if offset is None else offset[order]
        sizes = sizes_of_ids(f"{prefix}qid", ids, "pass sort=True to fit, or ")
        if by_query:
            check_by_query("sample_weight", given.weight, ids)
    if offset is not None and rules is not None and rules.host == features.XGBOOST.host:
        check_kept(offset, sizes, start)  # LightGBM keeps float64
    filled = sizes > 0
    if weight is not None:
        weight = check_weight(weight, n_docs, len(sizes))
        top = weight.max()
        if rules is not None and top > 0.0 and not LEAST_WEIGHT <= top <= LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight must be at most {LARGEST_WEIGHT:.2g}, and somewhere at least "
                f"{LEAST_WEIGHT:g}, as {rules.host} keeps float32; the largest is {top:g}: divide "
                "all weights by it"
            )
        weight = weight if len(weight) == n_docs else weight[filled]
    return Rows(X, y, sizes[filled], weight, offset, ids)


def _check_ascending(ids: Any) -> None:
    """Refuse weights per query of which nobody can tell whose they are."""
    _, first = np.unique(ids, return_index=True)
    if np.any(np.diff(first) < 0):
        raise ValueError(
            "sample_weight must have one weight per document where qid scatters the documents of a "
            "query and its ids do not ascend: one per query may be in the order of ids or of rows. "
            'Or sort all rows by np.argsort(qid, kind="stable"), and the weights by id'
        )


def check_start(name: str, scores: Any, n_docs: int) -> Floats:
    """Return the scores that training, or a prediction, starts from."""
    array = check_scores(_column(name, scores), name)
    if len(array) != n_docs:
        raise ValueError(
            f"{name} must be one number for each of the {n_docs} documents, got {len(array)}"
        )
    return array


def _sets(eval_set: Any, *given: Any) -> list[Given]:
    """Return evaluation sets from pairs of X and y, and from what is given for each, if it is."""
    # A tuple of two may be one pair.
    one = isinstance(eval_set, tuple) and len(eval_set) == 2 and not isinstance(eval_set[0], tuple)
    pairs = [eval_set] if one else list(() if eval_set is None else eval_set)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"eval_set must be a list of pairs (X, y), got a {type(pair).__name__}"
            )
    columns = []
    names = ("eval_group", "eval_qid", "weights", "start scores")
    for name, values in zip(names, given, strict=True):
        if values is not None and eval_set is None:
            raise ValueError(f"{name} of evaluation sets are given, but no eval_set")
        if values is not None and len(values) != len(pairs):
            raise ValueError(
                f"{name} must have one for each of the {len(pairs)} sets, got {len(values)}"
            )
        columns.append([None] * len(pairs) if values is None else values)
    return [Given(*pair, *rest) for pair, *rest in zip(pairs, *columns, strict=True)]


def read_sets(
    ranker: Any,
    train: Given,
    evals: tuple[Any, ...],
    *,
    sort: bool,
    continued: features.Trained | None,
    params: Mapping[str, Any],
) -> tuple[Rows, list[Rows], features.Trained, Callable[[Objective], Objective]]:
    """Return training and evaluation sets, checked, the features, and how to bind objectives.

    `evals` holds pairs of X and y, then sequences of group, qid, weight and offset, or None.
    Positions and pairs are of rows as they were passed to `fit`; the function that is returned
    gives them to an objective in the order of the rows that it trains on.
    """
    check_aligned("X", train.X, position=train.position)
    if train.y is None:
        if train.pairs is None and not isinstance(ranker.objective, Preferences):
            raise ValueError(
                "y is missing: pass the grade of each row of X, or preferences as pairs= to fit"
            )
        train = train._replace(y=np.zeros(_n_rows(train.X)))
    objective, rules = objective_of(ranker), ranker._rules
    ranker._domain = None
    if train.pairs is not None and not isinstance(objective, Preferences):
        ranker._domain = Preferences(objective, train.pairs).contract.labels
    domain = _domain_of(ranker)
    where = partial(_placed, given=train, sort=sort)
    held = getattr(objective, "position", None)  # must not be among the features either
    shown = train if held is None else train._replace(position=held.values)
    rows = read_rows(shown, sort=sort, domain=domain, rules=rules)
    check_kept(rows.y, rows.group)
    if rows.weight is not None and not rows.weight.any():
        raise ValueError(
            "sample_weight must have a weight above 0, got none, so that nothing would be learnt"
        )
    if continued is not None:
        features.check_counting(rows.X, continued.names or (), params, rules)
        rows = rows._replace(X=features.like_training(rows.X, continued, rules, learns=True))
    trained = features.trained_on(rows.X, rules)
    evaluated = []
    for given in _sets(*evals):
        read = read_rows(given, sort=sort, domain=_measured(domain), rules=rules, prefix="eval_")
        check_kept(read.y, read.group)
        # LightGBM tells by the objects that this is the training set, and takes all from there.
        same = given.X is train.X and given.y is train.y and (not sort or given.qid is train.qid)
        is_training = same and read.adds_nothing_to(rows)
        as_trained = is_training and rules is features.LIGHTGBM
        if rows.offset is not None and read.offset is None and not as_trained:
            warn(
                f"{rules.start} is given for training but not for an evaluation set: its metrics, "
                "and early stopping, are of the trees alone. Pass it for each set, even if zeros"
            )
        X, y = rows.X, rows.y
        if not is_training:
            X, y = features.like_training(read.X, trained, rules), read.y.copy()
        evaluated.append(read._replace(X=X, y=y))
    return rows, evaluated, trained, where


def set_objective(ranker: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters to be set, with a new `objective` for every ``objective__name=value``."""
    prefix = "objective__"
    others = {name: value for name, value in params.items() if not name.startswith(prefix)}
    nested = {name.removeprefix(prefix): params[name] for name in params if name not in others}
    if nested:  # a schedule made here gets its own number of rounds in `fit`
        others["objective"] = _made(others.get("objective", ranker.objective), nested)
    return others


def _made(objective: Any, changes: dict[str, Any]) -> Objective:
    if isinstance(objective, str):
        return make_objective(objective, changes, rounds=1)
    if isinstance(objective, type) and issubclass(objective, Objective):
        raise TypeError(
            f"objective must be an object, not a class: boostrank.{objective.__name__}()"
        )
    if not isinstance(objective, Objective):
        raise TypeError(
            "objective must be one of boostrank's, by name or as an object such as "
            f"boostrank.SHFSDCG(k=10); got {objective!r}"
        )
    return objective.replace(**changes)


def objective_of(ranker: Any) -> Objective:
    """Return a ranker's objective with the gain that the host's own parameter names, if it does."""
    made = _made(ranker.objective, {})
    return with_gain_of(made, ranker.get_params(), ranker._rules.host.lower())


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _placed(objective: Objective, given: Given, *, sort: bool) -> Objective:
    """Return the objective of one training with the positions or pairs that `fit` was given."""
    position, pairs = given.position, given.pairs
    if pairs is not None:
        if position is not None:
            raise ValueError("position and pairs do not go together: pairs are not clicks")
        if isinstance(objective, Preferences):
            raise ValueError("pairs are given twice: by the objective, and to fit; leave one out")
        objective = Preferences(objective, pairs)
    if position is not None:
        if not objective.takes_positions:
            raise ValueError(
                f"position is ignored by {objective.name}: boostrank.Unbiased corrects for it"
            )
        if getattr(objective, "position", None) is not None:
            raise ValueError("positions are given twice, by the objective and to fit: drop one")
        objective = objective.replace(position=_column("position", position))
    return _sorted(objective, np.asarray(_column("qid", given.qid))) if sort else objective


def _sorted(objective: Objective, qid: Any) -> Objective:
    """Return the objective with what it holds per row reordered like the rows: by query."""
    order = np.argsort(qid, kind="stable")

    def in_order(own: Objective, name: str, value: Any) -> Any:
        if isinstance(value, Pairs):
            value.check(qid)
            return value.in_order(order)
        if isinstance(own, Several) and value is own.labels:
            return {key: in_order(own, key, each) for key, each in value}
        per_row = isinstance(value, Positions | Labels) and len(value.values) == len(qid)
        return value.values[order] if per_row else value

    return _changed(objective, in_order)


def _held(objective: Any) -> list[str]:
    """Return what an objective has for the rows of one training set."""
    inside = all_inside(objective) if isinstance(objective, Objective) else ()
    values = [value for own in inside for value in (own, *vars(own).values())]
    return [what for what, kind in _OF_ROWS.items() if any(isinstance(v, kind) for v in values)]


def check_unbound(objective: Any, who: str, cure: str) -> None:
    """Refuse an objective that belongs to the rows of one training set: `who` trains on parts."""
    held = _held(objective)
    if held or getattr(objective, "takes_positions", False):
        what = f"has {' and '.join(held)}" if held else "needs positions"
        raise ValueError(
            f"{who} trains on parts of the data, but {objective.name} {what} for the rows of one "
            f"training set: {cure}"
        )


def stretched(objective: Objective, total: int) -> Objective:
    """Return the objective with all its schedules ending with round `total`."""

    def stretch(own: Objective, name: str, value: Any) -> Any:
        if isinstance(value, Schedule):
            return replace(value, total_rounds=total)
        return total if name == "total_rounds" else value

    return _changed(objective, stretch)


def _changed(objective: Objective, change: Callable[[Objective, str, Any], Any]) -> Objective:
    """Return the objective with changed parameters, its own and those of all inside it."""
    values = {field.name: getattr(objective, field.name) for field in fields(objective)}
    changed = {name: change(objective, name, value) for name, value in values.items()}
    changes = {name: value for name, value in changed.items() if value is not values[name]}
    if changes:
        objective = objective.replace(**changes)
    if not isinstance(objective, Composite):
        return objective
    children = {name: _changed(child, change) for name, child in objective.children().items()}
    return objective if children == objective.children() else objective.with_children(children)


def read_like_training(self: Any, X: Any) -> Any:
    """Return features in the order of training."""
    X = features.read_features(X, self._rules)
    if not self.__sklearn_is_fitted__():  # the host says that it is not
        return X
    return features.like_training(X, features.trained_of(booster_of(self), self), self._rules)


def score(
    self: Any, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None
) -> float:
    """Return NDCG@10 of the predictions, as `boostrank.evaluate` computes it.

    Labels count as the objective's `gain` says, or the host's own `label_gain` or
    `ndcg_exp_gain`: 2^y - 1, or the label itself with "linear".
    For an objective that takes any numbers, such as returns, it is Spearman's correlation: always
    for `Spearman` and `Pearson`, otherwise where the labels of `fit` are no grades from 0 to 30,
    or those here, if `fit` had only pairs.

    A search over such objectives, or over gains, would compare different metrics: pass it one for
    all as ``scoring=``.

    Parameters
    ----------
    X, y, group, qid, sample_weight
        As in `fit`; with `qid`, rows may come in any order. Weights per query are in the order in
        which queries first appear.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the metric is not defined because no query has a relevant document, or two different
        labels. A search that went on would choose its first candidate. For weights per query if
        documents of a query are scattered and ids do not ascend.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank.lightgbm import LGBMRanker
    >>> from sklearn import config_context
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import GridSearchCV
    >>> def ndcg(labels, scores, qid):
    ...     return boostrank.evaluate(scores, labels, qid=qid, metrics=["ndcg@10"])["ndcg@10"]
    >>> data = boostrank.datasets.make_ranking(60, 10, 4, seed=0, noise=1.0)
    >>> folds = boostrank.group_folds(data.group, 3)
    >>> grid = {"objective": ["spearman", "lambdarank"]}
    >>> with config_context(enable_metadata_routing=True):
    ...     ranker = LGBMRanker(n_estimators=5, verbosity=-1, n_jobs=1).set_fit_request(qid=True)
    ...     by_ndcg = make_scorer(ndcg).set_score_request(qid=True)
    ...     search = GridSearchCV(ranker, grid, cv=folds, scoring=by_ndcg)
    ...     _ = search.fit(data.X, data.y, qid=data.qid)
    >>> bool(search.cv_results_["mean_test_score"].min() > 0.8)  # by score, .46 and .82
    True
    """
    if group is None and qid is None:
        raise ValueError(
            "score needs the queries: pass group, the sizes of consecutive queries, or qid, one id "
            "per document. For GridSearchCV and the like, call ranker.set_score_request(qid=True) "
            "after sklearn.set_config(enable_metadata_routing=True)"
        )
    given = Given(X, y, group, qid, sample_weight)
    rows = read_rows(given, sort=None, domain=_measured(_domain_of(self)), rules=self._rules)
    here = default_metric(self, rows.y)
    name = here.name
    if _domain_of(self) == NUMBERS:
        name = getattr(self, "_measure", None) or name
    if name != here.name:
        warn(
            f"score is {name}, since the labels of fit asked for it; those here alone would have "
            f"asked for {here.name}: a search over such data may mix both, so pass it a scoring"
        )
    if self._rules.start in getattr(self, "_given", ()):
        warn(
            f"score is of the trees alone, without the {self._rules.start} that fit had: add "
            "yours to the predictions, and pass the sum to boostrank.evaluate"
        )
    value = evaluate(
        self.predict(rows.X), rows.y, rows.group, (name,), weight=rows.weight, gain=here.gain
    )[name]
    if np.isnan(value):
        lacking = "a relevant document" if name == DEFAULT_METRIC else "two different labels"
        raise ValueError(
            f"{name} is not defined here: none of the {len(rows.group)} queries has {lacking} and "
            "a weight above 0; in a search, use folds of more queries"
        )
    return float(value)


def fit_all(self: Any, X: Any, y: Any = None, **kwargs: Any) -> Any:
    """Return a ranker trained on all rows, for the rounds that early stopping has chosen.

    Early stopping keeps some of the data for itself. Once it has chosen the rounds, a training on
    all of the data, with rounds in proportion, ranks better where data are few
    (docs/accuracy.md).

    Parameters
    ----------
    X, y : array_like or data frame (n_docs, n_features), array_like (n_docs,)
        All rows: those of `fit`, and those of its evaluation set.
    **kwargs
        Other arguments of `fit`, such as `group` or `qid`, but no evaluation sets; weights, start
        scores, `categorical_feature`, `feature_name` and callbacks that change the training, such
        as `lightgbm.reset_parameter`, if `fit` had them. A ranker that learnt from pairs needs
        `pairs` of all rows, also if its objective had them, and one that learnt from positions
        `position`. One that continued a model continues it again: its `init_model` (XGBoost:
        `xgb_model`) is needed too.

    Returns
    -------
    ranker
        A new one, with `n_estimators` as they were scaled: those after a model that is continued.
        It trains the setting that "auto" has chosen, without choosing again.

    Raises
    ------
    ValueError
        If the ranker was not stopped early, for arguments that `fit` had and this has not, for
        pairs of the former rows alone, and if only one of the two trainings continues a model.

    Examples
    --------
    >>> import lightgbm
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.lightgbm import LGBMRanker
    >>> data = make_ranking(60, 10, 4, seed=0, noise=1.0)
    >>> train, valid = data.split(2, seed=0)
    >>> ranker = LGBMRanker(n_estimators=200, verbosity=-1, n_jobs=1).fit(
    ...     train.X, train.y, qid=train.qid,
    ...     eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid],
    ...     callbacks=[lightgbm.early_stopping(20, verbose=False)],
    ... )
    >>> whole = ranker.fit_all(data.X, data.y, qid=data.qid)
    >>> whole.n_estimators == round(ranker.best_iteration_ * len(data.y) / len(train.y))
    True
    """
    chosen = self._chosen_rounds
    if not chosen or not hasattr(self, "_n_docs"):  # loaded models do not have it
        raise ValueError(
            "early stopping has chosen no rounds: first fit with it, and with an evaluation set"
        )
    name = self._continued
    if (kwargs.get(name) is not None) != (self._done > 0):
        raise ValueError(
            f"{name} must be given to fit_all if it was to fit, and else left out: fit has chosen "
            f"the rounds after {self._done} of another model"
        )
    missing = [name for name in self._given if kwargs.get(name) is None]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} must be given to fit_all too, for all rows, since fit had it"
        )
    names: Sequence[str] = getattr(self, "feature_names_in_", ())
    features.check_counting(X, names, self.get_params(), self._rules)
    rounds = in_proportion(chosen - self._done, self._n_docs, _n_rows(X))
    params = self.get_params() | {"n_estimators": rounds}
    made = objective_of(self)
    if self.auto_ is not None and is_auto(made):
        params["objective"] = made.replace(signal=self.auto_.objective.signal)
    alone = isinstance(self.objective_, Preferences)
    passed = {"positions": "position"} | ({"pairs": "pairs"} if alone else {})
    old = [what for what in _held(self.objective_) if kwargs.get(passed.get(what, "")) is None]
    if old:
        cure = f"fit a new ranker with n_estimators={rounds}, whose objective has all {old[0]}"
        cure = f"pass {passed[old[0]]}= for all rows" if old[0] in passed else cure
        raise ValueError(
            f"{self.objective_.name} has {' and '.join(old)} of the rows of fit, which differ in "
            f"fit_all: {cure}"
        )
    if alone:
        own = self.objective
        params["objective"] = own.objective if isinstance(own, Preferences) else own
    if kwargs.get("position") is not None and getattr(self.objective, "position", None) is not None:
        params["objective"] = self.objective.replace(position=None)  # of other rows
    return type(self)(**self._without_stopping(params)).fit(X, y, **kwargs)


def plain(ranker: Any, kind: type[T], booster: Any, **params: Any) -> T:
    """Return a ranker of the host's class, for tools that know no other, with the state of ours."""
    made = kind(**(ranker.get_params() | params))
    own = {*ranker.get_params(), "objective_", "auto_"}  # the others need no boostrank
    vars(made).update({name: value for name, value in vars(ranker).items() if name not in own})
    made._Booster = booster  # type: ignore[attr-defined]
    return made


def labels_to_measure(train: Rows, evals: Sequence[Rows]) -> Floats:
    """Return the labels that choose the metric of evaluation sets: the training's, unless all 0."""
    return train.y if train.y.any() else np.concatenate([rows.y for rows in (train, *evals)])


def measure_of_fit(ranker: Any, labels: Floats) -> str | None:
    """Return the metric that labels of `fit` ask for; None if all are 0, as where pairs teach."""
    return default_metric(ranker, labels).name if labels.any() else None


def _domain_of(ranker: Any) -> str:
    """Return the domain of a ranker's labels: what its objective asks for with `fit`'s pairs."""
    return getattr(ranker, "_domain", None) or objective_of(ranker).contract.labels


def default_metric(ranker: Any, labels: Any) -> Metric:
    """Return the metric of evaluation sets and of `score`, which counts as the objective does."""
    objective = objective_of(ranker)
    gain = objective._gain if objective.counts_gains else None
    usual = metric(DEFAULT_METRIC, gain=gain)
    if _domain_of(ranker) != NUMBERS:
        return usual
    graded = may_be_grades(labels) and objective.name not in CORRELATIONS
    return usual if graded else metric("spearman")
