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
    clicks: Any, position: Any, *, last: int | None = None
) -> Floats:
    """Estimate propensities from sessions that were shown in random order.

    In them every position shows equally good documents, so the share of clicks at a position,
    relative to that at position 1, is its propensity.

    Parameters
    ----------
    clicks : array_like (n_docs,)
        0 or 1; from randomized sessions only.
    position : array_like of integers (n_docs,)
        From 1.
    last : int, optional
        Positions from here on share one propensity: deep ones have few clicks. Default None: each
        has its own.

    Returns
    -------
    float64 array (n_positions,)
        The first is 1. Noise may put others above 1.

    Raises
    ------
    TypeError, ValueError
        For invalid clicks or positions; if there is no click at position 1.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking, propensities_from_randomization
    >>> from boostrank.datasets import simulate_clicks
    >>> log = simulate_clicks(make_ranking(200, 5, seed=0), sessions=100, seed=0, randomized=1.0)
    >>> propensities_from_randomization(log.data.y, log.position).round(1).tolist()
    [1.0, 0.5, 0.3, 0.3, 0.2]
    """
    found, place = _read_log(clicks, position, check_cutoff("last", last))
    shown = np.bincount(place)
    rate = np.bincount(place, found) / np.maximum(1, shown)
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
        The first is 1. Noise may put others above 1.

    Raises
    ------
    TypeError, ValueError
        For invalid clicks, positions or documents; if there is no click at position 1, or no
        document with clicks links a position to it, directly or through other positions.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork, Joachims: Estimating position bias without intrusive
    interventions. WSDM 2019.

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
    which = np.unique(check_ids("document", document, len(found)), return_inverse=True)[1]
    n = int(place.max()) + 1
    cells, index = np.unique(which * n + place, return_inverse=True)
    shown = np.bincount(index).astype(np.float64)
    item, at = cells // n, cells % n
    clicks_of_item = np.bincount(which, found)
    clicks_at = np.bincount(place, found, n)
    _check_linked(item, at, clicks_of_item > 0, n)
    p = np.ones(n)
    for _ in range(10_000):  # each step raises the likelihood
        before = p
        looked = np.bincount(item, shown * before[at])
        # A document that stands only where nothing is clicked has no clicks, and no rate.
        good = np.divide(clicks_of_item, looked, out=np.zeros(len(looked)), where=looked > 0.0)
        p = clicks_at / np.bincount(at, shown * good[item], n)
        p /= p[0]
        if np.abs(p - before).max() < 1e-10:
            break
    return np.asarray(p)


def _check_linked(item: Integers, at: Integers, clicked: Any, n: int) -> None:
    """Refuse positions that no document with clicks shares with position 1, directly or not."""
    item, at = item[clicked[item]], at[clicked[item]]
    known = np.arange(n) == 0
    reached = 0
    while known.sum() > reached:
        reached = known.sum()
        linked = np.isin(item, item[known[at]])
        known |= np.bincount(at[linked], minlength=n) > 0
    if not known.all():
        raise ValueError(
            f"position {int(np.argmin(known)) + 1} shares no document that was clicked with "
            "position 1, not even through others: show documents at several positions, with more "
            "rankers or in random order, or let positions share a propensity (last=)"
        )
