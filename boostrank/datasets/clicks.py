"""Simulated clicks, and propensities estimated from logs of clicks.

A *session* is one showing of a query's documents, each at a *position* from 1. The *propensity* of
a position is the probability that it is looked at, relative to position 1: a document that is not
looked at is not clicked, however good it is.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostrank.datasets.ids import check_ids
from boostrank.datasets.ranking_data import RankingData
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_amount,
    check_choice,
    check_count,
    check_cutoff,
    check_labels,
    check_scores,
    check_seed,
    check_share,
    check_vector,
    check_whole,
)

MODELS = ("position", "cascade", "trust")
# Joachims, Swaminathan, Schnabel (WSDM 2017): lists come from a ranker trained on 1 % of the data.
WEAK_SHARE = 0.01
# Agarwal, Wang, Li, Bendersky, Najork (WWW 2019): how often an irrelevant document at position 1 is
# clicked because it stands there.
TRUST = 0.65
# Documents or lists whose positions are spread out at a time: 1000 positions then take 32 MB.
BLOCK = 4096


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog:
    """Sessions with clicks, as training data.

    Attributes
    ----------
    data : RankingData
        Documents of consecutive sessions: `y` is 1 if a document was clicked, else 0, and `qid` is
        the number of the session. Documents keep the order of the data that the clicks were
        simulated from; they are not sorted by position.
    position : int64 array (n_docs,)
        Position at which each document was shown, from 1.
    row : int64 array (n_docs,)
        Row of each document in the data that the clicks were simulated from.
    randomized : bool array (n_docs,)
        Whether a document's session was shown in random order.
    propensity : float64 array (n_positions,)
        As used in the simulation; for the cascade model, that of a session without clicks.
    """

    data: RankingData
    position: Integers
    row: Integers
    randomized: np.ndarray[tuple[int], np.dtype[np.bool_]]
    propensity: Floats

    def __repr__(self) -> str:
        return (
            f"ClickLog({len(self.data.group)} sessions, {len(self.position)} documents, "
            f"{int(self.data.y.sum())} clicks)"
        )


def _weak_scores(data: RankingData, rng: np.random.Generator) -> Floats:
    """Score documents by a ridge regression on a hundredth of the queries."""
    n_queries = len(data.group)
    drawn = rng.choice(n_queries, max(1, round(WEAK_SHARE * n_queries)), replace=False)
    seen = np.repeat(np.isin(np.arange(n_queries), drawn), data.group)
    X = np.nan_to_num(data.X)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    known, grades = X[seen], data.y[seen] - data.y[seen].mean()
    penalty = float(len(known)) * np.eye(X.shape[1])
    weights = np.linalg.solve(known.T @ known + penalty, known.T @ grades)
    return np.asarray(X @ weights)


def _check_rankers(scores: Any, data: RankingData) -> Floats:
    rankers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if rankers.ndim != 2 or rankers.shape[1] != len(data.y) or not len(rankers):
        raise ValueError(
            f"scores must have one value for each of the {len(data.y)} documents, or one row "
            f"of them for each ranker, got shape {np.shape(scores)}"
        )
    for each in rankers:
        check_scores(each)
    return rankers


def _ranks(scores: Floats, session: Integers, rng: np.random.Generator) -> Integers:
    """Rank the documents of each session, from 1; equal scores come in random order."""
    order = np.lexsort((rng.random(len(scores)), -scores, session))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.arange(len(scores)) - np.searchsorted(session, session) + 1
    return rank


def simulate_clicks(
    data: RankingData,
    *,
    model: str = "position",
    eta: float = 1.0,
    noise: float = 0.1,
    sessions: int = 10,
    seed: int,
    scores: Any = None,
    randomized: float = 0.0,
) -> ClickLog:
    """Simulate clicks of users who look at the top of a list first.

    A document of grade y is attractive with probability
    ``noise + (1 - noise) (2^y - 1) / (2^Y - 1)``, where Y is the largest grade of the data, drawn
    again in every session. Its position k is looked at with probability ``(1/k)^eta``. Then

    ============  ==================================================================================
    ``position``  a document is clicked if it is looked at and attractive (position-based model)
    ``cascade``   the same, going down the list: after a click nothing more is looked at
    ``trust``     as position, but at position k a document that is not attractive is still clicked
                  with probability 0.65/k if it is looked at, since users trust the ranker
    ============  ==================================================================================

    Parameters
    ----------
    data : RankingData
        With true grades.
    model : {"position", "cascade", "trust"}, default "position"
    eta : float, default 1.0
        How fast users lose interest, at least 0. At 0, every position is looked at.
    noise : float, default 0.1
        How attractive documents of grade 0 are, from 0 to 1.
    sessions : int, default 10
        Sessions per query, at least 1.
    seed : int
        Equal arguments give equal clicks.
    scores : array_like (n_docs,) or (n_rankers, n_docs), optional
        Scores that lists are sorted by. With several rankers, each session draws one. Default None:
        a weak model, a ridge regression on one percent of the queries, with their true grades.
    randomized : float, default 0.0
        Share of the sessions that are shown in random order, from 0 to 1.

    Returns
    -------
    ClickLog

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range.

    References
    ----------
    Joachims, Swaminathan, Schnabel: Unbiased learning-to-rank with biased feedback. WSDM 2017.
    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models.
    WSDM 2008. Agarwal, Wang, Li, Bendersky, Najork: Addressing trust bias for unbiased
    learning-to-rank. WWW 2019.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking, simulate_clicks
    >>> log = simulate_clicks(make_ranking(20, 8, seed=0), eta=1.0, sessions=5, seed=0)
    >>> log
    ClickLog(100 sessions, 800 documents, 55 clicks)
    >>> log.propensity[:4].round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """
    if not isinstance(data, RankingData):
        raise TypeError(f"data must be a RankingData, got {type(data).__name__}")
    y = check_labels(data.y, len(data.y))
    check_choice("model", model, MODELS)
    eta, noise = check_amount("eta", eta), check_share("noise", noise)
    randomized = check_share("randomized", randomized)
    check_count("sessions", sessions)
    rng = np.random.default_rng(check_seed(seed))
    rankers = _weak_scores(data, rng)[None] if scores is None else _check_rankers(scores, data)

    row = np.tile(np.arange(len(data.y)), sessions)
    n_sessions = sessions * len(data.group)
    session = np.repeat(np.arange(n_sessions), np.tile(data.group, sessions))
    ranker = rng.integers(len(rankers), size=n_sessions)[session]
    shuffled = (rng.random(n_sessions) < randomized)[session]
    rank = _ranks(np.where(shuffled, 0.0, rankers[ranker, row]), session, rng)

    propensity = (1.0 / np.arange(1, int(data.group.max()) + 1)) ** eta
    gain = np.exp2(y) - 1.0
    worth = gain / (gain.max() or 1.0)
    attractive = rng.random(len(rank)) < (noise + (1.0 - noise) * worth)[row]
    if model == "trust":
        attractive |= rng.random(len(rank)) < TRUST / rank
    chance = rng.random(len(rank))
    if model == "cascade":
        # One number for a whole session: a user who stops above k does not look below it.
        chance = rng.random(n_sessions)[session]
    clicked = attractive & (chance < propensity[rank - 1])
    if model == "cascade":
        top = np.full(n_sessions, np.iinfo(np.int64).max)
        np.minimum.at(top, session[clicked], rank[clicked])
        clicked &= rank == top[session]
    logged = replace(
        data,
        X=data.X[row],
        y=clicked.astype(np.float64),
        qid=session,
        doc_id=None if data.doc_id is None else data.doc_id[row],
    )
    return ClickLog(logged, rank, row, shuffled, propensity)


def _read_log(clicks: Any, position: Any, last: int | None) -> tuple[Floats, Integers]:
    """Return clicks and positions from 0, those from `last` on as one."""
    found = check_vector("clicks", clicks).astype(np.float64)
    wrong = found[~np.isin(found, (0.0, 1.0))]
    if len(wrong):
        raise ValueError(f"clicks must be 0 or 1, got {wrong[0]:g}")
    ranks = check_whole("position", position, 1)
    if len(ranks) != len(found):
        raise ValueError(
            f"position must be one rank for each of the {len(found)} documents, got {len(ranks)}"
        )
    if not (ranks == 1).any():
        raise ValueError("position must be ranks from 1, the top of the list, got none at the top")
    place = ranks - 1 if last is None else np.minimum(ranks, last) - 1
    if not found[place == 0].any():
        raise ValueError("clicks must hold one at position 1: all propensities are relative to it")
    return found, place


def propensities_from_randomization(
    clicks: Any, position: Any, *, qid: Any = None, last: int | None = None
) -> Floats:
    """Estimate propensities from sessions that were shown in random order.

    In them every position of a list shows equally good documents, so the share of clicks at a
    position, relative to that at position 1, is its propensity. Positions are compared only within
    lists: deep ones are in long lists alone, which may hold fewer good documents. With `qid`, the
    estimate is that of `propensities_from_rankers`, with lists instead of documents.

    Parameters
    ----------
    clicks : array_like (n_docs,)
        0 or 1; from randomized sessions only.
    position : array_like of integers (n_docs,)
        From 1.
    qid : array_like of integers or strings (n_docs,), optional
        The session of each document, or its query. For a log of `simulate_clicks`, its `data.qid`.
        Default None: all lists have the same length.
    last : int, optional
        Positions from here on share one propensity: deep ones have few clicks. Default None: each
        has its own.

    Returns
    -------
    float64 array (n_positions,)
        The first is 1. Noise may put others above 1. 0 where there was no click at all.

    Raises
    ------
    TypeError, ValueError
        For invalid clicks, positions or sessions; if there is no click at position 1; if lists
        differ in length and `qid` is not given; if no list that reaches a position was clicked
        above it, directly or through others, or too few clicks say how good it is.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking, propensities_from_randomization
    >>> from boostrank.datasets import simulate_clicks
    >>> log = simulate_clicks(make_ranking(200, 5, seed=0), sessions=100, seed=0, randomized=1.0)
    >>> propensities_from_randomization(log.data.y, log.position).round(1).tolist()
    [1.0, 0.5, 0.3, 0.3, 0.2]
    """
    found, place = _read_log(clicks, position, check_cutoff("last", last))
    if qid is not None:
        return _most_likely(
            found,
            place,
            check_ids("qid", qid, len(found)),
            "is in no list that was clicked further up: pass more sessions",
        )
    shown = np.bincount(check_whole("position", position, 1))[1:]
    if (shown != shown[0]).any():
        k = int(np.argmax(shown != shown[0]))
        raise ValueError(
            "qid must have the session of each document where lists differ in length, got None, "
            f"with {shown[0]} documents at position 1 and {shown[k]} at position {k + 1}: pass "
            "qid=, as deep positions can only be compared with others of the same lists"
        )
    rate = np.bincount(place, found) / np.bincount(place)
    return np.asarray(rate / rate[0])


def propensities_from_rankers(
    clicks: Any, position: Any, document: Any, *, last: int | None = None
) -> Floats:
    """Estimate propensities from documents that several rankers showed at different positions.

    Intervention harvesting: a document of a query is equally good wherever it is shown, so the way
    its clicks depend on the position shows the propensity. The estimate is the maximum-likelihood
    one for a model in which clicks at position k on document d follow a Poisson distribution with
    rate p_k g_d, both unknown. It uses all pairs of positions, and needs no relevance model.

    Parameters
    ----------
    clicks : array_like (n_docs,)
        0 or 1.
    position : array_like of integers (n_docs,)
        From 1.
    document : array_like of integers or strings (n_docs,)
        Which document of which query a row shows: equal ids mean the same one. For a log of
        `simulate_clicks`, its `row`.
    last : int, optional
        Positions from here on share one propensity. Default None: each has its own.

    Returns
    -------
    float64 array (n_positions,)
        The first is 1. Noise may put others above 1. 0 where there was no click at all.

    Raises
    ------
    TypeError, ValueError
        For invalid clicks, positions or documents; if there is no click at position 1, or no
        document that was clicked there was also shown at a position, directly or through others.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork, Joachims: Estimating position bias without intrusive
    interventions. WSDM 2019. Sun, Tran-Dinh: Generalized self-concordant functions: a recipe for
    Newton-type methods. Mathematical Programming 178 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.datasets import make_ranking, propensities_from_rankers, simulate_clicks
    >>> data = make_ranking(200, 5, seed=0)
    >>> rankers = np.random.default_rng(0).normal(size=(3, len(data.y)))
    >>> log = simulate_clicks(data, sessions=100, seed=0, scores=rankers)
    >>> propensities_from_rankers(log.data.y, log.position, log.row).round(1).tolist()
    [1.0, 0.5, 0.3, 0.3, 0.2]
    """
    found, place = _read_log(clicks, position, check_cutoff("last", last))
    return _most_likely(
        found,
        place,
        check_ids("document", document, len(found)),
        "shares no document with position 1 that was clicked there, not even through others: show "
        "documents at several positions, with more rankers or in random order",
    )


def _most_likely(found: Floats, place: Integers, items: Any, unlinked: str) -> Floats:
    """Return the p of the largest likelihood: clicks at k on item d are Poisson, of rate p_k g_d.

    With the best g_d put in, the logarithm of the likelihood is the sum over k of clicks_k log p_k,
    less that over d of clicks_d log(sum_k shown_dk p_k). It is concave in log p.
    """
    which = np.unique(items, return_inverse=True)[1]
    n = int(place.max()) + 1
    cells, index = np.unique(which * n + place, return_inverse=True)
    item, at = cells // n, cells % n
    shown, clicks = np.bincount(index), np.bincount(index, found)
    anywhere = np.ones(len(cells), dtype=bool)
    below = _reached(item, at, clicks > 0, anywhere, n)
    if not below.all():
        raise ValueError(
            f"position {int(np.argmin(below)) + 1} {unlinked}, or let positions share a "
            "propensity (last=)"
        )
    # The others are at 0: where they meet these on an item, only these were clicked.
    above = _reached(item, at, anywhere, clicks > 0, n)
    clicked = np.bincount(at, clicks, n) > 0
    if clicked[~above].any():
        raise ValueError(
            f"position {int(np.argmax(clicked & ~above)) + 1} was clicked, but too few clicks link "
            "it to position 1, so that its propensity would be 0: pass more sessions, or let "
            "positions share a propensity (last=)"
        )
    keep = above[at] & (np.bincount(item, clicks)[item] > 0)
    p = np.zeros(n)
    p[above] = _newton(
        np.unique(item[keep], return_inverse=True)[1],
        (np.cumsum(above) - 1)[at[keep]],
        shown[keep],
        clicks[keep],
    )
    return p


def _reached(item: Integers, at: Integers, source: Any, target: Any, n: int) -> Any:
    """Return positions that 1 leads to, over items with a cell in `source` and one in `target`."""
    known, met = np.arange(n) == 0, np.zeros(item[-1] + 1, dtype=bool)
    reached = 0
    while known.sum() > reached:
        reached = known.sum()
        met[item[source & known[at]]] = True
        known[at[target & met[item]]] = True
    return known


def _newton(item: Integers, at: Integers, shown: Integers, clicks: Floats) -> Floats:
    """Return p of positions that all lead to each other, so that the maximum is finite."""
    clicks_of_item, clicks_at = np.bincount(item, clicks), np.bincount(at, clicks)
    p = clicks_at / np.bincount(at, shown)
    p /= p[0]
    step, spread = np.zeros(len(p)), np.inf
    while spread > 1e-6:  # the last steps are quadratic: about its square is left
        looked = shown * p[at]
        share = looked / np.bincount(item, looked)[item]
        expected = np.bincount(at, clicks_of_item[item] * share)
        curvature = np.diag(expected).astype(np.float64)
        root = np.sqrt(clicks_of_item)[item] * share
        for first in range(0, len(clicks_of_item), BLOCK):
            block = slice(*np.searchsorted(item, (first, first + BLOCK)))
            dense = np.zeros((BLOCK, len(p)))
            dense[item[block] - first, at[block]] = root[block]
            curvature -= dense.T @ dense
        step[1:] = np.linalg.solve(curvature[1:, 1:], (clicks_at - expected)[1:])
        spread = float(np.ptp(step))
        # On the way of a whole step the curvature may grow by a factor of exp(spread). A step of
        # this length always raises the likelihood (Sun and Tran-Dinh 2019).
        p *= np.exp(step * np.log1p(spread) / (spread or 1.0))
    return p
