"""The definition of each metric of ranked lists, and the names of metrics."""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from boostrank.metrics.conventions import Convention
from boostrank.metrics.probabilities import OfDocuments, brier, calibration_error, log_loss, targets
from boostrank.objectives.engine.jit import jit_entry
from boostrank.objectives.engine.order import order_by_score
from boostrank.objectives.gains import gains_of
from boostrank.objectives.validation import (
    AMOUNTS,
    GRADES,
    NUMBERS,
    Floats,
    Integers,
    check_positive,
    nearest,
)


@jit_entry
def _best_first(values: Floats, boundaries: Integers) -> Integers:
    """Documents of each query, largest value first."""
    order = np.empty(len(values), np.int64)
    for q in range(len(boundaries) - 1):
        a, b = boundaries[q], boundaries[q + 1]
        ranked = order_by_score(values[a:b])
        for position in range(len(ranked)):  # an array expression takes 3 s to compile
            order[a + position] = a + ranked[position]
    return order


@jit_entry
def _running(values: Floats, boundaries: Integers) -> Floats:
    """Cumulative sums within each query."""
    # Differences of one sum over all queries would lose digits: gains span many magnitudes.
    sums = np.empty(len(values))
    for q in range(len(boundaries) - 1):
        total = 0.0
        for i in range(boundaries[q], boundaries[q + 1]):
            total += values[i]
            sums[i] = total
    return sums


@jit_entry
def _stops(stop: Floats, end: Integers, boundaries: Integers) -> Floats:
    """Probability that a user going down the list stops at each position.

    ``stop`` holds the probability of stopping at a document that is reached, ``end`` the last
    position of each document's run of ties, over whose orders the result is averaged. For a run of
    m documents, P_j is the probability that the user gets past j documents of the run: the mean of
    the product of (1 - stop) over all its subsets of j documents. With t documents instead of
    t - 1, P_j <- P_j (t - j)/t + P_{j-1} (1 - stop_t) j/t.
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


@jit_entry
def _discordant(scores: Floats, boundaries: Integers) -> Floats:
    """Count each query's pairs whose later document has the smaller score, by merging runs."""
    pairs = np.zeros(len(boundaries) - 1)
    values, work = scores.copy(), np.empty(len(scores))
    for q in range(len(boundaries) - 1):
        a, b = boundaries[q], boundaries[q + 1]
        width = 1
        while width < b - a:
            for begin in range(a, b, 2 * width):
                middle, end = min(begin + width, b), min(begin + 2 * width, b)
                left, right = begin, middle
                for place in range(begin, end):
                    ahead = right >= end or (left < middle and values[left] <= values[right])
                    if ahead:
                        work[place] = values[left]
                        left += 1
                    else:
                        work[place] = values[right]
                        right += 1
                        pairs[q] += middle - left
            values[a:b] = work[a:b]
            width *= 2
    return pairs


class Ranking:
    """What all metrics of one call share; all but `scores` and `labels` is in ranked order."""

    def __init__(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        rules: Convention,
        retrieved: npt.NDArray[np.bool_] | None = None,
        top: float | None = None,
    ) -> None:
        self.rules = rules
        #: The top of the scale of grades.
        self.top = float(labels.max(initial=0.0)) if top is None else check_positive("top", top)
        self.scores = scores
        self.labels = labels
        self.boundaries = boundaries
        self.sizes: Integers = np.diff(boundaries)
        self.n_queries = len(self.sizes)
        self.query = np.repeat(np.arange(self.n_queries), self.sizes)
        position = np.arange(len(scores), dtype=np.int64)
        self.rank = (position - boundaries[self.query] + 1).astype(np.float64)
        order = _best_first(scores, boundaries)
        self._order = order
        self.grades = labels[order]
        self.relevant = (self.grades > rules.relevant_above).astype(np.float64)
        self.n_relevant = self.total(self.relevant)
        #: 0 for a document that the run lacks, which counts among the relevant ones, at no rank.
        self._found = 1.0 if retrieved is None else retrieved[order].astype(np.float64)
        self.grades = self.grades * self._found
        self.relevant = self.relevant * self._found
        #: The last position of each document's run of ties; its own where ties keep their order.
        self.end = position
        if rules.average_ties:
            self._run = self._runs(scores[order])
            self._length = np.bincount(self._run)
            self.end = (np.cumsum(self._length) - 1)[self._run]
        #: Probability that the document at each position is relevant: 0 or 1 without ties.
        self.expected_relevant = self._expected(self.relevant)

    def _runs(self, *columns: Floats) -> Integers:
        """Return the run of each document: neighbours in a query with the same values."""
        new = np.ones(len(self.query), dtype=np.bool_)
        new[1:] = self.query[1:] != self.query[:-1]
        for values in columns:
            new[1:] |= values[1:] != values[:-1]
        return np.cumsum(new) - 1

    def _expected(self, values: Floats) -> Floats:
        """Means over runs of ties."""
        if not self.rules.average_ties:
            return values
        means = np.bincount(self._run, values) / self._length
        return np.asarray(means[self._run])

    def total(self, values: Floats, k: int | None = None) -> Floats:
        """Sum over the first k positions of each query."""
        query = self.query
        if k is not None:
            within = self.rank <= k
            query, values = query[within], values[within]
        # Without any documents, bincount returns integers despite the weights.
        return np.bincount(query, values, self.n_queries).astype(np.float64, copy=False)

    @cached_property
    def targets(self) -> Floats:
        """Probability that each label stands for, in the order passed."""
        return targets(self.labels, max(1.0, self.top))

    @cached_property
    def _gains(self) -> Floats:
        """Gain of each document, in the order passed."""
        return gains_of(self.rules.gain, self.labels)

    @cached_property
    def gains(self) -> Floats:
        """Expected gain at each position."""
        return self._expected(self._gains[self._order] * self._found)

    @cached_property
    def ideal_gains(self) -> Floats:
        """Gain at each position of the ideal order."""
        return self._gains[_best_first(self._gains, self.boundaries)]

    @cached_property
    def no_gain(self) -> npt.NDArray[np.bool_]:
        """Whether every order of a query has a DCG of 0."""
        return np.asarray(self.total(self.ideal_gains * self.discount) == 0.0)

    def centred(self, values: Floats) -> Floats:
        """Values minus their query's mean, in units of their range; exactly 0 if all are equal."""
        # Differences of halves do not overflow.
        shifted = 0.5 * values - 0.5 * values[self.boundaries[self.query]]
        unit = np.ones(self.n_queries)
        filled = self.sizes > 0
        unit[filled] = np.maximum.reduceat(np.abs(shifted), self.boundaries[:-1][filled])
        shifted /= np.where(unit > 0.0, unit, 1.0)[self.query]
        return shifted - ratio(self.total(shifted), self.sizes)[self.query]

    def mid_ranks(self, values: Floats) -> Floats:
        """Rank of each document, the smallest value first; the mean rank for equal values."""
        order = _best_first(-values, self.boundaries)
        run = self._runs(values[order])
        means = np.bincount(run, self.rank) / np.bincount(run)
        ranks = np.empty(len(values))
        ranks[order] = means[run]
        return ranks

    @cached_property
    def pairs(self) -> tuple[Floats, Floats, Floats]:
        """Numbers of pairs of each query: agreeing less opposed, of different label, of score."""
        order = np.lexsort((self.scores, self.labels, self.query))
        scores, labels = self.scores[order], self.labels[order]
        all_pairs = self.sizes * (self.sizes - 1.0) / 2.0
        n_labels = self._tied_pairs(labels)
        n_scores = self._tied_pairs(self.scores[self._order])
        both = all_pairs - n_labels - n_scores + self._tied_pairs(labels, scores)
        agreeing = both - 2.0 * _discordant(scores, self.boundaries)
        return agreeing, all_pairs - n_labels, all_pairs - n_scores

    def _tied_pairs(self, *columns: Floats) -> Floats:
        """Count the pairs inside runs of neighbours with the same values, per query."""
        run = self._runs(*columns)
        length = np.bincount(run)[run].astype(np.float64)
        return self.total((length - 1.0) / 2.0)

    @cached_property
    def discount(self) -> Floats:
        """Weight of each position."""
        return self.rules.discounts(self.rank, self.sizes[self.query].astype(np.float64))

    @cached_property
    def hits(self) -> Floats:
        """Number of relevant documents down to each position, including its run of ties."""
        return _running(self.relevant, self.boundaries)[self.end]


def ratio(above: Floats, below: npt.NDArray[Any]) -> Floats:
    """`above / below`; 0 where `below` is 0, which `_per_query` then fills."""
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))


def _dcg(ranking: Ranking, k: int | None) -> Floats:
    return ranking.total(ranking.gains * ranking.discount, k)


def _ndcg(ranking: Ranking, k: int | None) -> Floats:
    value = ratio(_dcg(ranking, k), ranking.total(ranking.ideal_gains * ranking.discount, k))
    if ranking.rules.short_ndcg_is_zero and k is not None:
        value[ranking.sizes < k] = 0.0
    return value


def _mean_ndcg(ranking: Ranking, k: int | None) -> Floats:
    """Mean of NDCG@1 to NDCG@n."""
    dcg = _running(ranking.gains * ranking.discount, ranking.boundaries)
    ideal = _running(ranking.ideal_gains * ranking.discount, ranking.boundaries)
    return ratio(ranking.total(ratio(dcg, ideal)), ranking.sizes)


def _average_precision(ranking: Ranking, k: int | None) -> Floats:
    precision = ranking.hits / ranking.rank[ranking.end]
    n_relevant = ranking.n_relevant
    if k is not None and not ranking.rules.ap_over_all_relevant:
        n_relevant = np.minimum(n_relevant, k)
    return ratio(ranking.total(ranking.expected_relevant * precision, k), n_relevant)


def _precision(ranking: Ranking, k: int | None) -> Floats:
    assert k is not None
    hits = ranking.total(ranking.expected_relevant, k)
    if ranking.rules.short_precision_over_n:
        return ratio(hits, np.minimum(ranking.sizes, k))
    return hits / k


def _recall(ranking: Ranking, k: int | None) -> Floats:
    return ratio(ranking.total(ranking.expected_relevant, k), ranking.n_relevant)


def _reciprocal_rank(ranking: Ranking, k: int | None) -> Floats:
    stops = _stops(ranking.relevant, ranking.end, ranking.boundaries)
    return ranking.total(stops / ranking.rank, k)


def _expected_reciprocal_rank(ranking: Ranking, k: int | None) -> Floats:
    """ERR of Chapelle et al. (2009): a user stops at grade y with probability (2^y - 1)/2^y_max."""
    top = ranking.top
    stop = np.exp2(np.minimum(ranking.grades, top) - top) - np.exp2(-top)
    return ranking.total(_stops(stop, ranking.end, ranking.boundaries) / ranking.rank, k)


def _of_each_query(function: OfDocuments) -> Callable[[Ranking, int | None], Floats]:
    def values(ranking: Ranking, k: int | None) -> Floats:
        likely, bounds = ranking.targets, ranking.boundaries
        found = np.zeros(ranking.n_queries)
        for q in np.flatnonzero(ranking.sizes):
            own = slice(bounds[q], bounds[q + 1])
            found[q] = function(ranking.scores[own], likely[own], np.ones(ranking.sizes[q]))
        return found

    return values


def _rank_biased_precision(ranking: Ranking, persistence: float | None) -> Floats:
    """RBP of Moffat and Zobel (2008): a user continues to the next document with probability p."""
    p = 0.8 if persistence is None else persistence
    return ranking.total(ranking.expected_relevant * (1.0 - p) * p ** (ranking.rank - 1.0))


def _correlation(ranking: Ranking, scores: Floats, labels: Floats) -> Floats:
    """Pearson's correlation; 0 if all scores are equal."""
    one, other = ranking.centred(scores), ranking.centred(labels)
    above = ranking.total(one * other)
    return ratio(above, np.sqrt(ranking.total(one * one) * ranking.total(other * other)))


def _pearson(ranking: Ranking, k: None) -> Floats:
    return _correlation(ranking, ranking.scores, ranking.labels)


def _spearman(ranking: Ranking, k: None) -> Floats:
    return _correlation(ranking, *map(ranking.mid_ranks, (ranking.scores, ranking.labels)))


def _kendall(ranking: Ranking, k: None) -> Floats:
    """Kendall's tau-b: pairs in the order of their labels minus those in the opposite order."""
    agreeing, graded, scored = ranking.pairs
    return ratio(agreeing, np.sqrt(graded * scored))


def _auc(ranking: Ranking, k: None) -> Floats:
    """Share of pairs of different labels in the right order; equal scores count half."""
    agreeing, graded, _ = ranking.pairs
    return ratio(0.5 * (graded + agreeing), graded)


@dataclass(frozen=True)
class Metric:
    """How a metric is computed, and what its name may contain."""

    function: Callable[[Ranking, Any], Floats]
    #: Whether it is divided by the query's best value, and so is 0/0 where nothing is relevant.
    normalised: bool
    cutoff: Literal["optional", "required", "none", "persistence"] = "optional"
    #: Which labels it takes, one of `LABEL_DOMAINS`; "" stands for those that the gain allows.
    labels: str = AMOUNTS
    #: Whether it compares the order of scores with that of labels. It is then 0/0, and counts in no
    #: mean, if all labels are the same; no document need be relevant.
    compares_orders: bool = False
    #: For a metric of probabilities, its value over documents: its mean is over documents, not
    #: queries. Lower is then better, and all queries count.
    of_documents: OfDocuments | None = None


def _order_metric(function: Callable[[Ranking, Any], Floats]) -> Metric:
    return Metric(function, normalised=False, cutoff="none", labels=NUMBERS, compares_orders=True)


def _of_probabilities(function: OfDocuments) -> Metric:
    return Metric(_of_each_query(function), normalised=False, cutoff="none", of_documents=function)


METRICS: dict[str, Metric] = {
    "dcg": Metric(_dcg, normalised=False, labels=""),
    "ndcg": Metric(_ndcg, normalised=True, labels=""),
    "meanndcg": Metric(_mean_ndcg, normalised=True, cutoff="none", labels=""),
    "map": Metric(_average_precision, normalised=True),
    "precision": Metric(_precision, normalised=False, cutoff="required"),
    "recall": Metric(_recall, normalised=True, cutoff="required"),
    "mrr": Metric(_reciprocal_rank, normalised=False),
    "err": Metric(_expected_reciprocal_rank, normalised=False, labels=GRADES),
    "rbp": Metric(_rank_biased_precision, normalised=False, cutoff="persistence"),
    "spearman": _order_metric(_spearman),
    "kendall": _order_metric(_kendall),
    "pearson": _order_metric(_pearson),
    "auc": _order_metric(_auc),
    "logloss": _of_probabilities(log_loss),
    "brier": _of_probabilities(brier),
    "ece": _of_probabilities(calibration_error),
}

# What trec_eval, CatBoost, XGBoost and people call metrics that have another name here.
_ELSEWHERE = {
    **dict.fromkeys(("p", "pre", "prec", "precisionat"), "precision"),
    **dict.fromkeys(("r", "rec", "recallat"), "recall"),
    **dict.fromkeys(("ap", "mean_average_precision"), "map"),
    **dict.fromkeys(("rr", "recip_rank", "reciprocal_rank"), "mrr"),
    **dict.fromkeys(("log_loss", "binary_logloss", "cross_entropy"), "logloss"),
    "tau": "kendall",
    "rho": "spearman",
}
_ANY_SYNTAX = re.compile(r"(?P<word>.*?)(?:_cut)?(?:(?:@|[_:-]|:top=)?(?P<k>[0-9.]+))?-?")

_SYNTAX = re.compile(r"(?P<metric>[^@]*?)(?:@(?P<k>[1-9][0-9]*|0?\.[0-9]+))?(?P<minus>-?)")


@dataclass(frozen=True)
class MetricName:
    """A metric's name, parsed."""

    metric: str
    k: int | float | None  #: Cut-off, or the persistence of rbp.
    minus: bool

    @property
    def larger_is_better(self) -> bool:
        """Whether a better ranking has a larger value."""
        return METRICS[self.metric].of_documents is None


def parse_name(name: str, convention: str) -> MetricName:
    """Parse a metric's name, or say what is wrong with it."""
    if not isinstance(name, str):
        raise TypeError(f"a metric's name must be a string such as 'ndcg@10', got {name!r}")
    match = _SYNTAX.fullmatch(name)
    if match is None or match["metric"] not in METRICS:
        meant = _meant(name)
        hint = f"; did you mean {meant!r}?" if meant else ""
        word = name.partition("@")[0]
        raise ValueError(f"unknown metric {name!r}{hint} ({nearest(word, METRICS)})")
    metric, k = match["metric"], match["k"]
    cutoff = METRICS[metric].cutoff
    if cutoff == "required" and k is None:
        raise ValueError(f"{name!r} needs a cut-off; write for example '{metric}@10'")
    if cutoff == "none" and k is not None:
        raise ValueError(f"{name!r} takes no cut-off; write {metric!r}")
    if k and cutoff == "persistence" and "." not in k:
        raise ValueError(f"{name!r} needs a persistence between 0 and 1, such as 'rbp@0.8'")
    if k and cutoff != "persistence" and "." in k:
        raise ValueError(f"{name!r} needs a whole cut-off, such as '{metric}@10'")
    if match["minus"] and convention != "xgboost":
        raise ValueError(
            f"the trailing minus of {name!r} is XGBoost's; it needs convention='xgboost', "
            f"got {convention!r}"
        )
    number = None if not k else float(k) if "." in k else int(k)
    return MetricName(metric, number, bool(match["minus"]))


def _meant(name: str) -> str:
    """Return the name that was probably meant, or an empty string."""
    match = _ANY_SYNTAX.fullmatch(name.lower())
    word, k = (match["word"], match["k"]) if match else (name.partition("@")[0].lower(), None)
    near = difflib.get_close_matches(word, METRICS, n=1)
    metric = _ELSEWHERE.get(word) or (near[0] if near else "")
    if not metric or METRICS[metric].cutoff == "none":
        return metric
    if METRICS[metric].cutoff == "persistence":
        return metric if k is None else f"{metric}@0.8"
    if k is None and "@" not in name and METRICS[metric].cutoff != "required":
        return metric
    # Do not repeat a cut-off that cannot be read.
    return f"{metric}@{k if k and re.fullmatch('[1-9][0-9]*', k) else 10}"
