"""Three ways to correct clicks for the positions at which documents were shown, for `Unbiased`.

The equations are those of `unbiased`. Each way has factors of positions, given or learnt.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .engine.curvature import HESSIAN_FLOOR
from .sessions import ClickPairs, Sessions, loss_of_gradient, sessions_of
from .validation import Floats, Integers

# Share of a Newton step by which a round moves additive factors; trees take about as small steps.
RATE = 0.05
# No step at positions without curvature.
EPS = 1e-3


class Shown(NamedTuple):
    """Sessions: documents, whether they were clicked, and where they were shown.

    Attributes
    ----------
    scores, clicks : float64 arrays (n_docs,)
    boundaries : int64 array (n_sessions + 1,)
    places : int64 array (n_docs,)
        The index of each document's factor, from 0.
    factors : float64 array (n_rows, n_positions)
    weight : float64 array (n_docs,)
        How much each document counts in what factors of pairs are learnt from.
    """

    scores: Floats
    clicks: Floats
    boundaries: Integers
    places: Integers
    factors: Floats
    weight: Floats

    @property
    def moved(self) -> Floats:
        """The scores with additive factors."""
        return np.asarray(self.scores + self.factors[0][self.places])


class Call(NamedTuple):
    """What `Objective.write_derivatives` gets besides the documents."""

    round: int | None
    grad: Floats
    hess: Floats
    draws: Floats | None = None


class Correction(ABC):
    """How a loss is corrected.

    Parameters
    ----------
    clip, regularization : float
        As in `Unbiased`.
    """

    #: Rows of the factors, and what a factor is without any bias.
    n_rows: ClassVar[int] = 1
    neutral: ClassVar[float] = 1.0

    def __init__(self, clip: float, regularization: float) -> None:
        self.clip, self.regularization = clip, regularization

    @abstractmethod
    def write_part(self, part: Objective, shown: Shown, call: Call) -> Floats | None:
        """Write gradient and Hessian of one part of the objective inside.

        Parameters
        ----------
        part : Objective
        shown : Shown
        call : Call

        Returns
        -------
        float64 array (2, n_positions) or None
            For factors of pairs: the sums of (30) and (31), from which they are learnt.
        """

    @abstractmethod
    def add_loss(self, inner: Objective, shown: Shown, loss: Floats) -> None:
        """Add the loss of every session to `loss`."""

    def learnt(self, factors: Floats, sums: Floats) -> Floats:
        """Return the factors after a round."""
        return factors


def sums_at(places: Integers, weight: Floats, grad: Floats, hess: Floats, n: int) -> Floats:
    """Return what additive factors are learnt from in a round; means over workers will do.

    Parameters
    ----------
    places : int64 array (n_docs,)
    weight : float64 array (n_docs,)
        1 on average.
    grad, hess : float64 arrays (n_docs,)
        Of all parts together, divided by the mean Hessian, without weights.
    n : int
        Number of positions.

    Returns
    -------
    float64 array (3, n)
        The sums of gradients, of Hessians and of weights at each position.
    """
    values = weight * grad, weight * hess, weight
    return np.array([np.bincount(places, each, n) for each in values])


class Additive(Correction):
    """Factors that are added to the scores, learnt by damped Newton steps."""

    neutral = 0.0

    def write_part(self, part: Objective, shown: Shown, call: Call) -> None:
        """Write gradient and Hessian at the moved scores."""
        part.write_derivatives(shown.moved, shown.clicks, shown.boundaries, *call)

    def add_loss(self, inner: Objective, shown: Shown, loss: Floats) -> None:
        """Add the loss at the moved scores."""
        inner._loss(shown.moved, shown.clicks, shown.boundaries, loss)

    def learnt(self, factors: Floats, sums: Floats) -> Floats:
        """Return the factors after a damped step."""
        pull, curvature, count = sums
        ridge = self.regularization * count
        moved = factors[0] - RATE * (pull + ridge * factors[0]) / (curvature + ridge + EPS)
        return np.asarray((moved - moved[0])[None])


class _PerClick(Correction):
    """A correction of the derivatives of copies of a session, one for each click."""

    def write_part(self, part: Objective, shown: Shown, call: Call) -> Floats | None:
        """Write gradient and Hessian, and return the sums of learnt factors."""
        sessions, (scores, _, boundaries, *_) = sessions_of(shown.clicks, shown.boundaries), shown
        (round, grad, hess, draws), rows, n = call, sessions.rows, len(scores)
        pulls, bends = np.empty(len(rows)), np.empty(len(rows))
        drawn = None if draws is None else np.ascontiguousarray(draws[:, rows])
        only = _only(sessions)
        part.write_derivatives(scores[rows], only, sessions.boundaries, round, pulls, bends, drawn)
        grad[:], hess[:] = 0.0, 0.0
        if not part.contract.shift_invariant:  # L(s; 0)
            part.write_derivatives(scores, np.zeros(n), boundaries, *call)
            pulls -= grad[rows]
            bends -= hess[rows]
        sums = self._weigh(part, shown, sessions, pulls, bends)
        grad += np.bincount(rows, pulls, n)
        hess += np.bincount(rows, bends, n)
        np.maximum(hess, HESSIAN_FLOOR, out=hess)
        if part.hessian == "constant":
            hess[:] = 1.0
        return sums

    @abstractmethod
    def _weigh(
        self, part: Objective, shown: Shown, sessions: Sessions, pulls: Floats, bends: Floats
    ) -> Floats | None:
        """Multiply the derivatives of copies by their weights; return the sums."""


def _only(sessions: Sessions) -> Floats:
    """Return e_i for every copy."""
    only = np.zeros(len(sessions.rows))
    only[sessions.own] = 1.0
    return only


def _session_of_click(sessions: Sessions, shown: Shown) -> Integers:
    return np.searchsorted(shown.boundaries, sessions.clicked, side="right") - 1


class Given(_PerClick):
    """Propensities, by which clicks are divided: (4)."""

    def _weights(self, shown: Shown, sessions: Sessions) -> Floats:
        looked_at = shown.factors[0][shown.places[sessions.clicked]]
        return np.asarray(1.0 / np.maximum(looked_at, self.clip))

    def _weigh(
        self, part: Objective, shown: Shown, sessions: Sessions, pulls: Floats, bends: Floats
    ) -> None:
        weight = self._weights(shown, sessions)[sessions.copy]
        pulls *= weight  # (4)
        bends *= weight

    def add_loss(self, inner: Objective, shown: Shown, loss: Floats) -> None:
        """Add (4)."""
        sessions = sessions_of(shown.clicks, shown.boundaries)
        session = _session_of_click(sessions, shown)
        each, nothing = np.zeros(len(sessions.clicked)), np.zeros(len(loss))
        inner._loss(shown.scores[sessions.rows], _only(sessions), sessions.boundaries, each)
        if not inner.contract.shift_invariant:
            inner._loss(shown.scores, np.zeros(len(shown.scores)), shown.boundaries, nothing)
        weight = self._weights(shown, sessions)
        loss += nothing + np.bincount(session, weight * (each - nothing[session]), len(loss))


class Pairwise(_PerClick):
    """Factors of pairs of a clicked and another document: (21), (30), (31)."""

    n_rows = 2

    def _pairs(
        self, part: Objective, shown: Shown, sessions: Sessions, pulls: Floats
    ) -> ClickPairs:
        sigma: Any = part.sigma  # type: ignore[attr-defined]
        rows, of_click = sessions.rows, sessions.clicked[sessions.copy]
        x = sigma * (shown.scores[of_click] - shown.scores[rows])
        other = shown.clicks[rows] == 0.0
        loss = np.where(other, np.maximum(pulls, 0.0) / sigma * loss_of_gradient(x), 0.0)
        places = shown.places[of_click], shown.places[rows]
        plus, minus = np.maximum(shown.factors, self.clip)
        return ClickPairs(other, places, (plus[places[0]], minus[places[1]]), loss)

    def _weigh(
        self, part: Objective, shown: Shown, sessions: Sessions, pulls: Floats, bends: Floats
    ) -> Floats:
        pairs = self._pairs(part, shown, sessions, pulls)
        (plus, minus), own, n = pairs.factors, sessions.own, shown.factors.shape[1]
        weight = np.where(pairs.other, 1.0 / (plus * minus), 0.0)  # (21)
        for values, sign in ((pulls, -1.0), (bends, 1.0)):
            values *= weight
            values[own] = 0.0
            values[own] = sign * np.bincount(sessions.copy, values, len(own))
        loss = shown.weight[sessions.clicked[sessions.copy]] * pairs.loss
        over_others = np.bincount(pairs.places[0], loss / minus, n)  # (30)
        return np.array([over_others, np.bincount(pairs.places[1], loss / plus, n)])  # (31)

    def add_loss(self, inner: Objective, shown: Shown, loss: Floats) -> None:
        """Add (21)."""
        sessions = sessions_of(shown.clicks, shown.boundaries)
        pulls, bends = np.empty(len(sessions.rows)), np.empty(len(sessions.rows))
        scores, only = shown.scores[sessions.rows], _only(sessions)
        inner.write_derivatives(scores, only, sessions.boundaries, None, pulls, bends)
        pairs = self._pairs(inner, shown, sessions, pulls)
        of_pair = pairs.loss / (pairs.factors[0] * pairs.factors[1])  # (21)
        loss += np.bincount(_session_of_click(sessions, shown)[sessions.copy], of_pair, len(loss))

    def learnt(self, factors: Floats, sums: Floats) -> Floats:
        """Return (30) and (31)."""
        rows = []
        for old, total in zip(factors, sums, strict=True):
            # Relative to position 1 or, if it has no pairs, to the first that has any, as it was.
            first = int(np.argmax(total > 0.0))
            share = (total / (total[first] or 1.0)) ** (1.0 / (1.0 + self.regularization))
            rows.append(np.where(total > 0.0, share * (old[first] if first else 1.0), old))
        return np.array(rows)
