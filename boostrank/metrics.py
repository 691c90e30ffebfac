"""Ranking measures under the conventions of the field's tools.

The same name, "NDCG@10", is a different number in almost every tool. A *convention* is one tool's
set of rules; each row below is checked by the tests against the tool itself, or against figures
published with it, on lists with ties, short lists and queries without relevant documents.

============  =======  ============  =======  ===========  ========  ==========================
convention    gain     discount      ties     no relevant  AP@k /    source, and checked against
============  =======  ============  =======  ===========  ========  ==========================
``standard``  2^y - 1  1/log2(1+r)   order    left out     min(R,k)  papers; LightGBM without
                                                                     those queries
``lightgbm``  2^y - 1  1/log2(1+r)   order    1            min(R,k)  its ndcg, map
``xgboost``   2^y - 1  1/log2(1+r)   order    1            min(R,k)  its ndcg, map, pre
``sklearn``   y        1/log2(1+r)   average  0            min(R,k)  its dcg_score, ndcg_score,
                                                                     average_precision_score
``trec``      y        1/log2(1+r)   order    0            R         trec_eval's ndcg, map, P,
                                                                     recall, recip_rank
``letor3``    2^y - 1  1, 1/log2(r)  order    0            R         Microsoft's OHSUMED tables
``letor4``    2^y - 1  1, 1/log2(r)  order    0            R         Microsoft's MQ2008 figures
============  =======  ============  =======  ===========  ========  ==========================

A measure that a tool does not have follows the row's rules all the same. y is the label, r the rank
(from 1), n the number of documents, R that of relevant ones.

gain
    What a document of grade y is worth to dcg, ndcg and meanndcg. Relevant, for all other measures
    but err, is y > 0 (``lightgbm``: y > 0.5). XGBoost refuses graded labels for ``map`` and
    ``pre``; MSLR's own script counts y >= 2 (pass ``labels >= 2``).
discount
    LETOR's ranks 1 and 2 both weigh 1.
ties
    *order*: documents of equal score stay in the order in which they were passed, so data sorted by
    relevance is measured too well: shuffle it inside its queries. trec_eval breaks ties by document
    id, descending; ``trec`` is its figure where the ids descend in the order passed. *average*: the
    expected value over all orders of equal scores; for map, as scikit-learn has it, every relevant
    document counts with the precision at the end of its run of equal scores.
no relevant
    What ndcg, meanndcg, map and recall are for a query without relevant documents. The other
    measures are 0 there; ``standard`` leaves such queries out of every mean (NaN per query).
    Under ``xgboost`` a trailing minus, ``"ndcg@10-"``, makes it 0, as in XGBoost itself.
AP@k
    The divisor of average precision; without a cut-off it is R everywhere.
short lists
    n < k. precision@k divides by k (``xgboost``: by n). ndcg@k is 0 under ``letor4``: a quirk of
    its script that all published figures carry.
weighted means
    LightGBM and XGBoost add 1, not the weight, for the ndcg of a query without relevant documents;
    ``lightgbm`` and ``xgboost`` do so too. (Where small weights push that mean above 1, XGBoost
    itself fails.)

Three differences remain. Queries without documents count in no mean; LightGBM counts them as 1
(without weights; with weights its mean is NaN), XGBoost as 1 or fails. XGBoost's ``ndcg``, ``map``
and ``pre`` without a cut-off stop at 32 when its pair method is the default; here that is
``ndcg@32``. XGBoost and trec_eval round scores to float32, which can make ties.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from boostrank.hosts import FourArguments, read
from boostrank.objectives.numerics import kernel, order_by_score
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_choice,
    check_flag,
    check_group,
    check_labels,
    check_scores,
    check_weight,
)


def _exponential_gain(grades: Floats) -> Floats:
    return np.exp2(grades) - 1.0


def _linear_gain(grades: Floats) -> Floats:
    return grades


def _discount(rank: Floats) -> Floats:
    return 1.0 / np.log2(1.0 + rank)


def _letor_discount(rank: Floats) -> Floats:
    return 1.0 / np.log2(np.maximum(rank, 2.0))


@dataclass(frozen=True)
class Convention:
    """The rules of one tool; the table of this module as data."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Floats], Floats]
    #: ndcg, meanndcg, map and recall of a query without relevant documents; NaN leaves such
    #: queries out of the mean of every measure.
    no_relevant: float
    #: Whether equal scores are averaged over instead of staying in the order passed.
    average_ties: bool = False
    #: Documents with larger labels are relevant.
    relevant_above: float = 0.0
    #: Whether average precision at k is divided by R rather than by min(R, k).
    ap_over_all_relevant: bool = False
    #: Whether ndcg@k of fewer than k documents is 0.
    short_ndcg_is_zero: bool = False
    #: Whether precision@k of n < k documents is divided by n rather than by k.
    short_precision_over_n: bool = False
    #: Whether a weighted mean of ndcg adds 1, not the weight, for queries without relevant ones.
    ndcg_adds_one: bool = False

    def __str__(self) -> str:
        gain = "2^y - 1" if self.gain is _exponential_gain else "y"
        discount = "1/log2(1 + r)" if self.discount is _discount else "1, then 1/log2(r)"
        ties = "averaged" if self.average_ties else "in the order of the data"
        barren = "left out" if np.isnan(self.no_relevant) else f"count {self.no_relevant:g} in NDCG"
        return (
            f"gain {gain}, discount {discount}, ties {ties}, queries without relevant documents "
            f"{barren}"
        )


CONVENTIONS: dict[str, Convention] = {
    "standard": Convention(_exponential_gain, _discount, no_relevant=np.nan),
    "lightgbm": Convention(
        _exponential_gain, _discount, no_relevant=1.0, relevant_above=0.5, ndcg_adds_one=True
    ),
    "xgboost": Convention(
        _exponential_gain,
        _discount,
        no_relevant=1.0,
        short_precision_over_n=True,
        ndcg_adds_one=True,
    ),
    "sklearn": Convention(_linear_gain, _discount, no_relevant=0.0, average_ties=True),
    "trec": Convention(_linear_gain, _discount, no_relevant=0.0, ap_over_all_relevant=True),
    "letor3": Convention(
        _exponential_gain, _letor_discount, no_relevant=0.0, ap_over_all_relevant=True
    ),
    "letor4": Convention(
        _exponential_gain,
        _letor_discount,
        no_relevant=0.0,
        ap_over_all_relevant=True,
        short_ndcg_is_zero=True,
    ),
}


@kernel
def _best_first(values: Floats, boundaries: Integers) -> Integers:
    """Documents of each query, largest value first."""
    order = np.empty(len(values), np.int64)
    for q in range(len(boundaries) - 1):
        a, b = boundaries[q], boundaries[q + 1]
        order[a:b] = a + order_by_score(values[a:b])
    return order


@kernel
def _running(values: Floats, boundaries: Integers) -> Floats:
    """Cumulative sums inside each query."""
    # Differences of one sum over all queries would cancel: gains span many magnitudes.
    sums = np.empty(len(values))
    for q in range(len(boundaries) - 1):
        total = 0.0
        for i in range(boundaries[q], boundaries[q + 1]):
            total += values[i]
            sums[i] = total
    return sums


@kernel
def _stops(stop: Floats, end: Integers, boundaries: Integers) -> Floats:
    """Probability that a user going down the list stops at each position.

    ``stop`` holds the probability of stopping at a document that is reached, ``end`` the last
    position of each document's run of ties, over whose orders the result is averaged. For a run of
    m documents, P_j is the mean over all its subsets of j documents of the product of (1 - stop):
    the user gets past j documents of the run. Over t documents instead of t - 1,
    P_j <- P_j (t - j)/t + P_{j-1} (1 - stop_t) j/t.
    """
    result = np.empty(len(stop))
    past = np.empty(len(stop) + 1)
    for q in range(len(boundaries) - 1):
        reach = 1.0
        a = boundaries[q]
        while a < boundaries[q + 1]:
            m = end[a] - a + 1
            past[0] = 1.0
            for t in range(1, m + 1):
                go_on = 1.0 - stop[a + t - 1]
                past[t] = 0.0
                for j in range(t, 0, -1):
                    past[j] = (past[j] * (t - j) + past[j - 1] * go_on * j) / t
            for j in range(m):
                result[a + j] = reach * (past[j] - past[j + 1])
            reach *= past[m]
            a += m
    return result


class _Ranking:
    """What all measures of one call share; arrays over documents are in ranked order."""

    def __init__(
        self, scores: Floats, labels: Floats, boundaries: Integers, rules: Convention
    ) -> None:
        self.rules = rules
        self.boundaries = boundaries
        self.sizes: Integers = np.diff(boundaries)
        self.n_queries = len(self.sizes)
        self.query = np.repeat(np.arange(self.n_queries), self.sizes)
        position = np.arange(len(scores), dtype=np.int64)
        self.rank = (position - boundaries[self.query] + 1).astype(np.float64)
        order = _best_first(scores, boundaries)
        self.grades = labels[order]
        self.relevant = (self.grades > rules.relevant_above).astype(np.float64)
        self.n_relevant = self.total(self.relevant)
        #: The last position of each document's run of ties; its own where ties keep their order.
        self.end = position
        if rules.average_ties:
            new = np.ones(len(scores), dtype=np.bool_)
            ranked = scores[order]
            new[1:] = (ranked[1:] != ranked[:-1]) | (self.query[1:] != self.query[:-1])
            self._run = np.cumsum(new) - 1
            self._length = np.bincount(self._run)
            self.end = (np.cumsum(self._length) - 1)[self._run]
        self.gains = self._expected(rules.gain(self.grades))
        self.ideal_gains = rules.gain(labels[_best_first(labels, boundaries)])
        #: Probability that the document at each position is relevant: 0 or 1 without ties.
        self.expected_relevant = self._expected(self.relevant)

    def _expected(self, values: Floats) -> Floats:
        """Means over runs of ties."""
        if not self.rules.average_ties:
            return values
        means: Floats = np.bincount(self._run, values) / self._length
        expected: Floats = means[self._run]
        return expected

    def total(self, values: Floats, k: int | None = None) -> Floats:
        """Sum over the first k positions of each query."""
        query = self.query
        if k is not None:
            within = self.rank <= k
            query, values = query[within], values[within]
        # Of no documents at all, bincount returns integers in spite of the weights.
        return np.bincount(query, values, self.n_queries).astype(np.float64, copy=False)

    @cached_property
    def discount(self) -> Floats:
        return self.rules.discount(self.rank)

    @cached_property
    def hits(self) -> Floats:
        """Relevant documents down to each position, its run of ties included."""
        return _running(self.relevant, self.boundaries)[self.end]


def _ratio(above: Floats, below: npt.NDArray[Any]) -> Floats:
    """`above / below`; 0 where nothing is below, which `_per_query` then fills."""
    ratio = np.zeros(len(above))
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


def _dcg(ranking: _Ranking, k: int | None) -> Floats:
    return ranking.total(ranking.gains * ranking.discount, k)


def _ndcg(ranking: _Ranking, k: int | None) -> Floats:
    value = _ratio(_dcg(ranking, k), ranking.total(ranking.ideal_gains * ranking.discount, k))
    if ranking.rules.short_ndcg_is_zero and k is not None:
        value[ranking.sizes < k] = 0.0
    return value


def _mean_ndcg(ranking: _Ranking, k: int | None) -> Floats:
    """Mean of NDCG@1 to NDCG@n."""
    dcg = _running(ranking.gains * ranking.discount, ranking.boundaries)
    ideal = _running(ranking.ideal_gains * ranking.discount, ranking.boundaries)
    return _ratio(ranking.total(_ratio(dcg, ideal)), ranking.sizes)


def _average_precision(ranking: _Ranking, k: int | None) -> Floats:
    precision = ranking.hits / ranking.rank[ranking.end]
    n_relevant = ranking.n_relevant
    if k is not None and not ranking.rules.ap_over_all_relevant:
        n_relevant = np.minimum(n_relevant, k)
    return _ratio(ranking.total(ranking.expected_relevant * precision, k), n_relevant)


def _precision(ranking: _Ranking, k: int | None) -> Floats:
    assert k is not None
    hits = ranking.total(ranking.expected_relevant, k)
    if ranking.rules.short_precision_over_n:
        return _ratio(hits, np.minimum(ranking.sizes, k))
    return hits / k


def _recall(ranking: _Ranking, k: int | None) -> Floats:
    return _ratio(ranking.total(ranking.expected_relevant, k), ranking.n_relevant)


def _reciprocal_rank(ranking: _Ranking, k: int | None) -> Floats:
    stops = _stops(ranking.relevant, ranking.end, ranking.boundaries)
    return ranking.total(stops / ranking.rank, k)


def _expected_reciprocal_rank(ranking: _Ranking, k: int | None) -> Floats:
    """ERR of Chapelle et al. (2009): a user stops at grade y with probability (2^y - 1)/2^y_max."""
    top = ranking.grades.max(initial=0.0)
    stop = np.exp2(ranking.grades - top) - np.exp2(-top)
    return ranking.total(_stops(stop, ranking.end, ranking.boundaries) / ranking.rank, k)


@dataclass(frozen=True)
class _Measure:
    function: Callable[[_Ranking, int | None], Floats]
    #: Whether it is divided by the best the query allows, and so is 0/0 where nothing is relevant.
    normalised: bool
    cutoff: Literal["optional", "required", "none"] = "optional"


_MEASURES: dict[str, _Measure] = {
    "dcg": _Measure(_dcg, normalised=False),
    "ndcg": _Measure(_ndcg, normalised=True),
    "meanndcg": _Measure(_mean_ndcg, normalised=True, cutoff="none"),
    "map": _Measure(_average_precision, normalised=True),
    "precision": _Measure(_precision, normalised=False, cutoff="required"),
    "recall": _Measure(_recall, normalised=True, cutoff="required"),
    "mrr": _Measure(_reciprocal_rank, normalised=False),
    "err": _Measure(_expected_reciprocal_rank, normalised=False),
}

_SYNTAX = re.compile(r"(?P<measure>[^@]*?)(?:@(?P<k>[1-9][0-9]*))?(?P<minus>-?)")


@dataclass(frozen=True)
class _Name:
    """A metric's name, taken apart."""

    measure: str
    k: int | None
    minus: bool


def _rules(convention: str) -> Convention:
    return CONVENTIONS[check_choice("convention", convention, CONVENTIONS)]


def _parse(name: str, convention: str) -> _Name:
    if not isinstance(name, str):
        raise TypeError(f"a metric is named by a string such as 'ndcg@10', got {name!r}")
    match = _SYNTAX.fullmatch(name)
    if match is None or match["measure"] not in _MEASURES:
        word, at, rest = name.partition("@")
        near = difflib.get_close_matches(word.lower(), _MEASURES, n=1)
        hint = ""
        if near:
            # An unreadable cut-off is not worth repeating.
            hint = f"; did you mean {near[0] + (at + rest if match else '@10')!r}?"
        raise ValueError(f"unknown measure {name!r}{hint} (known: {', '.join(_MEASURES)})")
    cutoff = _MEASURES[match["measure"]].cutoff
    if cutoff == "required" and match["k"] is None:
        raise ValueError(f"{name!r} needs a cut-off; write for example '{match['measure']}@10'")
    if cutoff == "none" and match["k"] is not None:
        raise ValueError(f"{name!r} takes no cut-off; write {match['measure']!r}")
    if match["minus"] and convention != "xgboost":
        raise ValueError(
            f"the trailing minus of {name!r} is XGBoost's; it needs convention='xgboost', "
            f"got {convention!r}"
        )
    return _Name(match["measure"], int(match["k"]) if match["k"] else None, bool(match["minus"]))


def _per_query(ranking: _Ranking, name: _Name) -> Floats:
    """Values of one measure; NaN for queries that count in no mean."""
    measure = _MEASURES[name.measure]
    values = measure.function(ranking, name.k)
    no_relevant = 0.0 if name.minus else ranking.rules.no_relevant
    if measure.normalised or np.isnan(no_relevant):
        values[ranking.n_relevant == 0] = no_relevant
    values[ranking.sizes == 0] = np.nan
    return values


def _mean(ranking: _Ranking, name: _Name, weight: Floats | None) -> float:
    values = _per_query(ranking, name)
    counted = ~np.isnan(values)
    if weight is None:
        return float(values[counted].mean()) if counted.any() else np.nan
    factor = weight
    if name.measure == "ndcg" and ranking.rules.ndcg_adds_one:
        factor = np.where(ranking.n_relevant == 0, 1.0, weight)
    total = weight[counted].sum()
    return float((factor * values)[counted].sum() / total) if total > 0 else np.nan


def per_query_weight(weight: Any, boundaries: Integers) -> Floats:
    """Return one weight a query; of weights a document, the mean."""
    sizes = np.diff(boundaries)
    array = check_weight(weight, int(boundaries[-1]), len(sizes))
    if len(array) != boundaries[-1]:
        return array
    query = np.repeat(np.arange(len(sizes)), sizes)
    return _ratio(np.bincount(query, array, len(sizes)).astype(np.float64), sizes)


@overload
def evaluate(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    group: npt.ArrayLike,
    metrics: Sequence[str] = ...,
    *,
    convention: str = ...,
    weight: npt.ArrayLike | None = ...,
    per_query: Literal[False] = ...,
) -> dict[str, float]: ...


@overload
def evaluate(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    group: npt.ArrayLike,
    metrics: Sequence[str] = ...,
    *,
    convention: str = ...,
    weight: npt.ArrayLike | None = ...,
    per_query: Literal[True],
) -> dict[str, Floats]: ...


def evaluate(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    group: npt.ArrayLike,
    metrics: Sequence[str] = ("ndcg@10", "map"),
    *,
    convention: str = "standard",
    weight: npt.ArrayLike | None = None,
    per_query: bool = False,
) -> dict[str, float] | dict[str, Floats]:
    """Measure a ranking.

    Parameters
    ----------
    scores : array (n_docs,)
        Finite; larger is better.
    labels : array (n_docs,)
        Relevance grades, 0 <= y <= 1000.
    group : array of int (n_queries,)
        Sizes of consecutive queries. A query of size 0 counts in no mean.
    metrics : sequence of str
        ``dcg[@k] ndcg[@k] map[@k] mrr[@k] err[@k] precision@k recall@k meanndcg``. Without ``@k``
        the whole list counts. meanndcg is the mean of NDCG@1 to NDCG@n, which the LETOR 4.0 script
        prints. err takes the largest label passed as the top of the scale of grades.
    convention : {"standard", "lightgbm", "xgboost", "sklearn", "trec", "letor3", "letor4"}
        Whose rules apply; see the table of `boostrank.metrics`. The default is what most papers
        print; it leaves queries without relevant documents out instead of counting them as 1 or 0,
        which would only shift all rankers alike.
    weight : array (n_queries,) or (n_docs,), optional
        Weights of the queries in the means, finite and not negative. Of weights a document a query
        has the mean, as in LightGBM (where both lengths are the same: a document). Default: all 1.
    per_query : bool
        Return one value a query, not weighted, instead of the mean.

    Returns
    -------
    dict of str to float, or to float64 array (n_queries,)
        By name, in the order of `metrics`. A mean is NaN if no query is left to average, or if the
        weights of those left are all 0. Per query, NaN stands where a query counts in no mean: it
        has no documents, or under ``standard`` no relevant ones.

    Raises
    ------
    ValueError
        For an unknown measure or convention (with the nearest known one), scores that are not
        finite, labels out of their range, sizes or lengths that do not fit.
    TypeError
        For arguments of the wrong kind.

    Examples
    --------
    Two queries, of three and of two documents; nothing is relevant in the second one.

    >>> import boostrank
    >>> query = [0.9, 0.5, 0.1, 0.3, 0.2], [0, 2, 1, 0, 0], [3, 2]
    >>> boostrank.evaluate(*query, ("precision@2", "mrr"))
    {'precision@2': 0.5, 'mrr': 0.5}
    >>> boostrank.evaluate(*query, ("precision@2", "mrr"), convention="lightgbm")
    {'precision@2': 0.25, 'mrr': 0.25}
    >>> boostrank.evaluate(*query, ["ndcg@10"], per_query=True)
    {'ndcg@10': array([0.6590018,       nan])}
    """
    rules = _rules(convention)
    if isinstance(metrics, str):
        raise TypeError(f"metrics must be a sequence of names, got a string; write [{metrics!r}]")
    names = {name: _parse(name, convention) for name in metrics}
    scores = check_scores(scores)
    labels = check_labels(labels, len(scores))
    boundaries = check_group(group, len(scores))
    query_weight = None if weight is None else per_query_weight(weight, boundaries)
    ranking = _Ranking(scores, labels, boundaries, rules)
    if check_flag("per_query", per_query):
        return {text: _per_query(ranking, name) for text, name in names.items()}
    return {text: _mean(ranking, name, query_weight) for text, name in names.items()}


@dataclass(frozen=True)
class Metric:
    """A measure that LightGBM and XGBoost can call after each round; made by `metric`."""

    name: str
    convention: str = "standard"

    __signature__ = FourArguments()

    def __post_init__(self) -> None:
        _rules(self.convention)
        _parse(self.name, self.convention)

    def __call__(self, *args: Any) -> tuple[str, float] | tuple[str, float, bool]:
        """Value of the measure as a host asks for it.

        Parameters
        ----------
        *args
            ``(preds, lightgbm.Dataset)``, ``(preds, xgboost.DMatrix)`` or
            ``(y_true, y_pred, weight, group)``.

        Returns
        -------
        (name, value, True) for LightGBM, (name, value) for XGBoost
            ``True`` says that higher is better.

        Raises
        ------
        TypeError, ValueError
            For arguments of no known host, and as `evaluate`.
        """
        match args:
            case (preds, data):
                host = read(data)
                weight = host.weight
                if host.host == "xgboost":
                    if weight is not None:
                        # One a query: `evaluate` could not tell where n_queries == n_docs.
                        weight = np.repeat(weight, host.group)
                    return self.name, self._value(preds, host.labels, host.group, weight)
                return self.name, self._value(preds, host.labels, host.group, weight), True
            case (labels, preds, weight, group):
                return self.name, self._value(preds, labels, group, weight), True
            case _:
                raise TypeError(
                    "a metric is called by LightGBM with (preds, Dataset) or (y_true, y_pred, "
                    f"weight, group) and by XGBoost with (preds, DMatrix); got {len(args)} "
                    "arguments. To measure scores yourself, use boostrank.evaluate"
                )

    def _value(self, scores: Any, labels: Any, group: Any, weight: Any) -> float:
        values = evaluate(
            scores, labels, group, (self.name,), convention=self.convention, weight=weight
        )
        return values[self.name]


def metric(name: str, *, convention: str = "standard") -> Metric:
    """Make a metric that a host evaluates after each round.

    It goes into ``feval=`` of `lightgbm.train` and `lightgbm.cv`, ``eval_metric=`` of
    `lightgbm.LGBMRanker` and ``custom_metric=`` of `xgboost.train` and `xgboost.cv`, and takes
    labels, queries and weights from the data there. Beside it, switch off LightGBM's metric of the
    same name (``metric="None"``): LightGBM records results by name. For early stopping, LightGBM is
    told that higher is better; XGBoost guesses it from the names ndcg, map and precision, and needs
    ``EarlyStopping(maximize=True)`` for the others.

    Parameters
    ----------
    name : str
        One measure, as in `evaluate`; also the name under which the host reports it.
    convention : str
        Whose rules apply, as in `evaluate`.

    Returns
    -------
    Metric
        Immutable, hashable, picklable. Its value is NaN if no query is left to average (under
        ``standard``, no query has a relevant document).

    Raises
    ------
    ValueError
        For an unknown measure or convention, with the nearest known one.

    Examples
    --------
    >>> import lightgbm, numpy as np, boostrank
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> data = lightgbm.Dataset(X, label=np.arange(20) % 3, group=[10, 10])
    >>> history = {}
    >>> booster = lightgbm.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbosity": -1},
    ...     data,
    ...     num_boost_round=3,
    ...     valid_sets=[data],
    ...     feval=boostrank.metric("ndcg@10"),
    ...     callbacks=[lightgbm.record_evaluation(history)],
    ... )
    >>> len(history["training"]["ndcg@10"])
    3
    """
    return Metric(name, convention)
