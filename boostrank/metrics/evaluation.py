"""Values of metrics, per query and as means."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.ranking_data import check_aligned, check_by_query, check_queries
from boostrank.datasets.runs import Qrels, Run, judge
from boostrank.messages import LARGEST_GRADE, warn, warn_of_no_grades
from boostrank.metrics.conventions import Convention, find_convention
from boostrank.metrics.definitions import (
    METRICS,
    Metric,
    MetricName,
    Ranking,
    parse_name,
    ratio,
)
from boostrank.metrics.probabilities import are_probabilities
from boostrank.objectives.gains import Gain
from boostrank.objectives.validation import (
    AMOUNTS,
    GRADES,
    LABEL_DOMAINS,
    MAX_GRADE,
    Floats,
    Integers,
    check_flag,
    check_labels,
    check_names,
    check_scores,
    check_weight,
    differ,
    narrowest,
)


def _per_query(ranking: Ranking, name: MetricName) -> Floats:
    """Values of one metric; NaN for queries that count in no mean."""
    metric = METRICS[name.metric]
    values = metric.function(ranking, name.k)
    if metric.compares_orders:
        values[~differ(ranking.grades, ranking.boundaries)] = np.nan
        return values
    no_relevant = 0.0 if name.minus else ranking.rules.no_relevant
    if metric.normalised or (np.isnan(no_relevant) and metric.of_documents is None):
        values[_undefined(ranking, metric)] = no_relevant
    values[ranking.sizes == 0] = np.nan
    return values


def _undefined(ranking: Ranking, metric: Metric) -> npt.NDArray[np.bool_]:
    """Tell for which queries a metric has no value: nothing is relevant, or has any gain."""
    nothing: npt.NDArray[np.bool_] = ranking.n_relevant == 0
    return nothing | ranking.no_gain if metric.normalised and not metric.labels else nothing


def _mean(ranking: Ranking, name: MetricName, weight: Floats | None) -> float:
    of_documents = METRICS[name.metric].of_documents
    if of_documents is not None:
        of_query = np.ones(ranking.n_queries) if weight is None else weight
        factor = np.repeat(of_query, ranking.sizes)
        return of_documents(ranking.scores, ranking.targets, factor) if factor.any() else np.nan
    values = _per_query(ranking, name)
    counted = ~np.isnan(values)
    if weight is None:
        return float(values[counted].mean()) if counted.any() else np.nan
    factor = weight
    if name.metric == "ndcg" and ranking.rules.ndcg_adds_one:
        factor = np.where(_undefined(ranking, METRICS["ndcg"]), 1.0, weight)
    total = weight[counted].sum()
    return float((factor * values)[counted].sum() / total) if total > 0 else np.nan


def per_query_weight(weight: Any, boundaries: Integers) -> Floats:
    """Return one weight per query; if there is one per document, their mean."""
    sizes = np.diff(boundaries)
    array = check_weight(weight, int(boundaries[-1]), len(sizes))
    if len(array) != boundaries[-1]:
        return array
    query = np.repeat(np.arange(len(sizes)), sizes)
    return ratio(np.bincount(query, array, len(sizes)).astype(np.float64), sizes)


def _parsed(metrics: Sequence[str], convention: str) -> dict[str, MetricName]:
    check_names("metrics", metrics)
    return {name: parse_name(name, convention) for name in metrics}


def _refuse_amounts(
    passed: Any, n_docs: int, of_grades: Sequence[str], with_gain: Sequence[str]
) -> None:
    """Refuse amounts, and no other wrong labels, by the metrics that take grades only."""
    try:
        labels = check_labels(passed, n_docs, AMOUNTS)
    except ValueError:
        return
    row = int(np.argmax(labels > MAX_GRADE))
    gained = ", ".join(name for name in of_grades if name in with_gain)
    others = ", ".join(name for name in of_grades if name not in with_gain)
    cure = f'pass gain="linear" for {gained}' if gained else ""
    cure += " and " * bool(gained and others) + (f"leave out {others}" if others else "")
    raise ValueError(
        f"labels must be {LABEL_DOMAINS[GRADES][2]}, for {', '.join(of_grades)}, got {labels[row]} "
        f"at row {row}; for amounts, such as prices, {cure}"
    ) from None


def _checked(passed: Any, n_docs: int, names: dict[str, MetricName], rules: Convention) -> Floats:
    """Return labels that all these metrics take; warn of those that are probably not grades."""
    of_gains = GRADES if rules.gain == "exponential" else AMOUNTS
    domains = {text: METRICS[name.metric].labels or of_gains for text, name in names.items()}
    by_gain = [text for text, name in names.items() if not METRICS[name.metric].labels]
    try:
        labels = check_labels(passed, n_docs, narrowest(*domains.values()))
    except ValueError:
        of_grades = [text for text, domain in domains.items() if domain == GRADES]
        _refuse_amounts(passed, n_docs, of_grades, by_gain if "gain" in rules.open_to else [])
        raise
    if by_gain and of_gains == GRADES:
        cure = 'pass gain="linear", or ' * ("gain" in rules.open_to) + "sort them into grades"
        warn_of_no_grades(labels, ", ".join(by_gain), cure)
    return labels


def may_be_grades(labels: Any) -> bool:
    """Tell whether labels that may be any numbers are taken for grades: from 0 to 30."""
    values = np.asarray(labels)
    return bool(values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) <= LARGEST_GRADE)


def evaluate(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    group: npt.ArrayLike | None = None,
    metrics: Sequence[str] = ("ndcg@10", "map"),
    *,
    qid: npt.ArrayLike | None = None,
    convention: str = "standard",
    gain: Gain | Sequence[float] | None = None,
    discount: str | Sequence[float] | None = None,
    weight: npt.ArrayLike | None = None,
    top: float | None = None,
    per_query: bool = False,
) -> dict[str, Any]:
    """Evaluate a ranking.

    Parameters
    ----------
    scores : array (n_docs,)
        Finite; larger is better. Log-odds for logloss, brier and ece.
    labels : array (n_docs,)
        Relevance grades, 0 <= y <= 1000. With a gain that is not exponential, and no ``err``,
        amounts up to 1e300; for ``spearman kendall pearson auc`` alone, any finite numbers.
    group : array of int (n_queries,), optional
        Sizes of consecutive queries. A query of size 0 counts in no mean.
    metrics : sequence of str
        ``dcg[@k] ndcg[@k] map[@k] mrr[@k] err[@k] precision@k recall@k rbp[@p] meanndcg``; of whole
        orders ``spearman kendall pearson auc``; of probabilities, where lower is better, ``logloss
        brier ece``. Without ``@k`` the whole list counts. `boostrank.metrics` defines each.
    qid : array of int or str (n_docs,), optional
        Instead of `group`: each document's query id; a query's documents must be contiguous.
    convention : {"standard", "lightgbm", "xgboost", "sklearn", "trec", "letor3", "letor4"}
        Whose rules apply; see the table of `boostrank.metrics`. The default is what most papers
        print, and leaves queries without relevant documents out of every mean.
    gain : str, sequence of float or callable, optional
        What a grade is worth in dcg, ndcg and meanndcg, as for objectives: "exponential", "linear"
        (for prices and other amounts), one number for each whole grade from 0, or a function of an
        array of grades. Default: the convention's. ``standard`` takes another, and so do
        ``lightgbm`` and ``xgboost``, like those tools.
    discount : str or sequence of float, optional
        What a rank counts, as for objectives: "log2", "linear", "reciprocal" or one number for each
        rank from 1. Default None: the convention's; only ``standard`` takes another.
    weight : array (n_queries,) or (n_docs,), optional
        Weights of the queries in the means, between 0 and 1e300. If given per document, a query
        has their mean, as in LightGBM. If both lengths are the same, they are taken as weights per
        document. Default: all 1.
    top : float, optional
        The top of the scale of grades, for err, logloss, brier and ece; larger labels count as it.
        Default: the largest label passed. For the last three, it is at least 1.
    per_query : bool
        Return one unweighted value per query instead of the mean.

    Returns
    -------
    dict of str to float, or to float64 array (n_queries,)
        By name, in the order of `metrics`. A mean is NaN if no query is left to average, or if the
        weights of those left are all 0. Per query, NaN marks a query that counts in no mean: one
        without documents or, under ``standard``, without relevant ones.

    Raises
    ------
    ValueError
        For an unknown metric or convention (naming the nearest known one), scores that are not
        finite, labels out of their range, sizes or lengths that do not match, both or neither of
        group and qid, a query whose documents are not contiguous, or a gain or discount that the
        convention fixes.
    TypeError
        For arguments of the wrong type.

    Warns
    -----
    UserWarning
        For labels that are fractional or above 30 and count as gains 2^y - 1, and for probabilities
        in place of log-odds.

    Examples
    --------
    Two queries, of three and of two documents; the second has no relevant document.

    >>> import boostrank
    >>> query = [0.9, 0.5, 0.1, 0.3, 0.2], [0, 2, 1, 0, 0], [3, 2]
    >>> boostrank.evaluate(*query, ("precision@2", "mrr"))
    {'precision@2': 0.5, 'mrr': 0.5}
    >>> boostrank.evaluate(*query, ["ndcg@10"], per_query=True)
    {'ndcg@10': array([0.6590018,       nan])}
    >>> boostrank.evaluate([0.9, 0.5, 0.1], [0.2, 0.3, -0.1], metrics=["spearman"], qid=[7, 7, 7])
    {'spearman': 0.5}
    """
    rules = find_convention(convention, gain, discount)
    names = _parsed(metrics, convention)
    check_aligned("scores", scores, labels=labels, qid=qid, weight=weight)
    scores = check_scores(scores)
    labels = _checked(labels, len(scores), names, rules)
    boundaries = check_queries(group, qid, len(scores))
    check_by_query("weight", weight, qid)
    ranking = Ranking(scores, labels, boundaries, rules, top=top)
    by_odds = [text for text, name in names.items() if METRICS[name.metric].of_documents]
    if by_odds and are_probabilities(scores, ranking.targets):
        warn(
            f"{', '.join(by_odds)}: scores are read as log-odds, but these seem to be "
            "probabilities p, as of a regression or a host's binary objective: pass "
            "log(p / (1 - p))"
        )
    query_weight = None if weight is None else per_query_weight(weight, boundaries)
    if check_flag("per_query", per_query):
        return {text: _per_query(ranking, name) for text, name in names.items()}
    return {text: _mean(ranking, name, query_weight) for text, name in names.items()}


def evaluate_run(
    run: Run,
    qrels: Qrels,
    metrics: Sequence[str] = ("ndcg@10", "map"),
    *,
    convention: str = "trec",
    gain: Gain | Sequence[float] | None = None,
    top: float | None = None,
) -> dict[str, float]:
    """Evaluate scores of documents by their ids, as trec_eval does.

    Only queries that both have count. A document without a judgement has grade 0. A judged one that
    the run lacks counts among the relevant ones, at no rank. Among equal scores, which trec_eval
    compares in float32, the document of the larger id comes first.

    Parameters
    ----------
    run : Run
        As `boostrank.datasets.load_run` returns it.
    qrels : Qrels
        As `boostrank.datasets.load_qrels` returns it. Negative grades count as 0.
    metrics : sequence of str
        As in `evaluate`, without those that need a score of every document: ``spearman kendall
        pearson auc logloss brier ece``.
    convention, gain, top
        As in `evaluate`, but by default as trec_eval.

    Returns
    -------
    dict of str to float

    Raises
    ------
    TypeError, ValueError
        As `evaluate`, if the two have no query in common, and if a query has a document twice.

    Warns
    -----
    UserWarning
        As `evaluate`; for queries that are left out because only one of the two has them; if no
        document with a score has a judgement, as where ids are written differently.

    Examples
    --------
    The relevant document "d" was not found:

    >>> import numpy as np
    >>> from boostrank.datasets import Qrels, Run
    >>> from boostrank.metrics import evaluate_run
    >>> run = Run(np.array(["1", "1"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> qrels = Qrels(np.array(["1", "1"]), np.array(["b", "d"]), np.array([1.0, 1.0]))
    >>> evaluate_run(run, qrels, ["map", "mrr"])
    {'map': 0.25, 'mrr': 0.5}
    """
    for own, value, kind in (("run", run, Run), ("qrels", qrels, Qrels)):
        if not isinstance(value, kind):
            raise TypeError(
                f"{own} must be a {kind.__name__}, as load_{own} returns it, got "
                f"{type(value).__name__}; the run comes first, then the qrels"
            )
    rules = find_convention(convention, gain)
    names = _parsed(metrics, convention)
    for text, name in names.items():
        if METRICS[name.metric].compares_orders or METRICS[name.metric].of_documents is not None:
            raise ValueError(f"{text} needs a score of every document, but a run has not all")
    y = _checked(np.maximum(qrels.y, 0.0), len(qrels.y), names, rules)
    scores, labels, boundaries, retrieved = judge(run, qrels._replace(y=y))
    if top is None:  # also of judgements that are left out
        top = float(y.max()) or None
    ranking = Ranking(scores, labels, boundaries, rules, retrieved, top)
    return {text: _mean(ranking, name, None) for text, name in names.items()}
