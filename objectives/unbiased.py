r"""Unbiased: learning from clicks, which say where a document was shown as well as how good it is.

Source
    Given propensities: Joachims, Swaminathan, Schnabel: Unbiased learning-to-rank with biased
    feedback. WSDM 2017, equation (4).
    "pairwise": Hu, Wang, Peng, Li: Unbiased LambdaMART: an unbiased pairwise learning-to-rank
    algorithm. WWW 2019, equations (21), (30), (31).
    "additive": the position factors that boosters add to the scores of their own LambdaRank.

Definition
    c_i in {0, 1} the clicks of a session, k(i) the position at which i was shown, L(s; y) the loss
    of the objective inside, e_i labels of which only that of i is 1.

    given       L(s; 0) + sum_{i: c_i = 1} (L(s; e_i) - L(s; 0)) / max(p_{k(i)}, clip)         (4)
                A document is clicked if it is looked at and relevant, so a sum over relevant
                documents has the right expectation, whatever L is. L(s; 0) is 0 for losses of score
                differences. Clipping trades some bias for less variance.
    pairwise    sum over c_i = 1, c_j = 0 of l_ij / (t+_{k(i)} t-_{k(j)}), l_ij the pair's loss; in
                every round, for all positions k, with r the regularization,
                t+_k = (sum_{k(i) = k} l_ij / t-_{k(j)} / the same for k = 1)^{1/(1 + r)}     (30)
                t-_k = (sum_{k(j) = k} l_ij / t+_{k(i)} / the same for k = 1)^{1/(1 + r)}     (31)
    additive    L(s + b_{k(.)}; c); in every round a damped Newton step, with n_k documents at k,
                b_k <- b_k - RATE (sum grad + r n_k b_k) / (sum hess + r n_k + EPS)
                For a softmax with one click per session it is the position-based model itself: i
                is clicked with probability p_k(i) r_i / sum_j p_k(j) r_j, and p = e^b.

Gradient
    That of the objective inside, with propensities, factors or b held constant.

Hessians
    Those of the objective inside, added up with the same weights; constant stays 1.

Degenerate queries
    A session without clicks teaches nothing if the loss depends on score differences only.

Numerics
    A pair's loss is its gradient at j times ln(1 + e^{-x}) (1 + e^x), which is 1 for large x, so
    that the weights of LambdaRank are included without being known here.

Cost
    Given and pairwise: that of the objective inside, once per click. Additive: that cost once.

When to use
    When labels are clicks. Pass propensities if you have measured them; otherwise take "additive"
    for any loss, or "pairwise" for RankNet and LambdaRank. docs/clicks.md says what each assumes
    and where it does harm.
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from .base import Objective
from .composite import Around, check_inner, joined
from .contract import Contract
from .engine.curvature import HESSIAN_FLOOR
from .lambdarank import LambdaRank
from .parameters import checked
from .parts import Part, View
from .positions import Positions, check_amount, check_position, check_propensity
from .preferences import has_preferences
from .ranknet import RankNet
from .sessions import ClickPairs, Sessions, pairs_of, sessions_of
from .validation import (
    PROBABILITIES,
    Floats,
    Integers,
    check_cutoff,
    check_group,
    check_labels,
    check_positive,
    check_scores,
)

# Share of a Newton step by which a round moves additive factors; trees take about as small steps.
RATE = 0.05
# No step at positions without curvature.
EPS = 1e-3


def _weigh(pairs: ClickPairs, sessions: Sessions, pulls: Floats, bends: Floats, n: int) -> Floats:
    """Weight the derivatives of copies in place; return the sums of (30) and (31)."""
    (plus, minus), own = pairs.factors, sessions.own
    weight = np.where(pairs.other, 1.0 / (plus * minus), 0.0)  # (21)
    for values, sign in ((pulls, -1.0), (bends, 1.0)):
        values *= weight
        values[own] = 0.0
        values[own] = sign * np.bincount(sessions.copy, values, len(own))
    over_others = np.bincount(pairs.places[0], pairs.loss / minus, n)  # (30)
    return np.array([over_others, np.bincount(pairs.places[1], pairs.loss / plus, n)])  # (31)


@dataclass(frozen=True)
class Unbiased(Around):
    """An objective that learns relevance from clicks, corrected for where documents were shown.

    Labels are clicks, 0 or 1, and each query is a session: one showing of a list.

    Parameters
    ----------
    objective : Objective
        The objective that learns: any one, mixtures included; with "pairwise", `RankNet` or
        `LambdaRank`. Its host parameters (`perturb`, `seed`, ...) apply to the whole.
    position : array_like of integers (n_docs,), optional
        Position at which each document of the training data was shown, from 1. Default None: taken
        from the rankers' ``fit(position=)`` or from the booster's data set (docs/clicks.md).
    propensity : sequence of float, "pairwise" or "additive", default "additive"
        Probability that position 1, 2, ... is looked at, relative to the first one; each above 0.
        Or how factors of positions are learnt in training: "pairwise" for factors of pairs of a
        clicked and another document, "additive" for factors that are added to the scores.
    clip : float, default 0.1
        Smallest propensity, and smallest factor of pairs, to divide by; lower ones are raised to
        it. Positive. A smaller value gives less bias and more variance.
    last : int, optional
        Positions from this one on share a factor, as deep ones have few clicks. Default None: each
        position has its own.
    regularization : float, default 0.0
        Regularization r of learnt factors, not negative; 0 is none. Factors of pairs are taken to
        the power 1/(1 + r); additive ones are pulled towards 0 by r for each document.
    initial : array_like (n_positions,) or (2, n_positions), optional
        Factors to start from, such as ``position_bias(model).factors`` of an earlier training.
        Default None: no bias. Training that continues from a model continues with its factors.

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range. In `loss`, `grad_hess` and training for
        labels other than 0 and 1 and for positions that are missing, of the wrong length or beyond
        `propensity`.

    Notes
    -----
    `loss` and `grad_hess` use the learnt factors given as `initial`. The factors of a training are
    kept with its model: `boostrank.position_bias` returns them.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.Unbiased(
    ...     boostrank.RankNet(), position=[1, 2, 3], propensity=[1.0, 0.5, 0.25]
    ... )
    >>> grad, hess = objective.grad_hess([0.0, 0.0, 0.0], [0, 1, 0], [3])
    >>> grad.tolist()
    [1.0, -2.0, 1.0]
    """

    name: ClassVar[str] = "unbiased"
    outermost: ClassVar[bool] = True
    takes_positions: ClassVar[bool] = True

    objective: Objective
    _: KW_ONLY
    position: Positions | None = checked(check_position, None)
    propensity: str | tuple[float, ...] = checked(check_propensity, "additive")
    clip: float = checked(check_positive, 0.1)
    last: int | None = checked(check_cutoff, None)
    regularization: float = checked(check_amount, 0.0)
    initial: Any = None

    def __post_init__(self) -> None:
        check_inner("objective", self.objective)
        if has_preferences(self.objective):
            raise ValueError("objective must not be Preferences: pairs of rows are no clicks")
        self._take_over()
        for own in fields(self):
            check = own.metadata.get("check")
            if check is not None and own.init:
                self._set(**{own.name: check(own.name, getattr(self, own.name))})
        if self.propensity == "pairwise" and not isinstance(self.objective, RankNet | LambdaRank):
            raise ValueError(
                'propensity="pairwise" is for logistic losses on pairs, RankNet and LambdaRank: '
                f"{self.objective.name} is no sum over pairs with factors of both; "
                'pass propensity="additive", or numbers'
            )
        if self.initial is not None:
            if not isinstance(self.propensity, str):
                raise ValueError("initial is where learnt factors start; propensities are given")
            rows = np.atleast_2d(np.asarray(self.initial, dtype=np.float64))
            if rows.ndim != 2 or len(rows) != self._n_rows or not np.isfinite(rows).all():
                raise ValueError(
                    f"initial must be {self._n_rows} x n_positions finite numbers, got shape "
                    f"{np.shape(self.initial)}"
                )
            self._set(initial=tuple(map(tuple, rows.tolist())))

    def __repr__(self) -> str:
        own = (each for each in fields(self) if each.init)
        return f"Unbiased({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in own)})"

    @property
    def learns(self) -> bool:
        """Whether factors are learnt in training."""
        return isinstance(self.propensity, str)

    @property
    def _n_rows(self) -> int:
        return 2 if self.propensity == "pairwise" else 1

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        inner: Contract = self.objective.contract
        kept = inner.shift_invariant or inner.hessian in ("exact", "constant")
        return replace(
            inner,
            gradient="frozen" if inner.gradient == "exact" and self.learns else inner.gradient,
            hessian=inner.hessian if kept else "surrogate",
            labels=PROBABILITIES,
            frozen=joined(inner.frozen, "factors" if self.learns else ""),
            convex=inner.convex and inner.shift_invariant,
        )

    def _checked(self, scores: Any, labels: Any, group: Any) -> tuple[Floats, Floats, Integers]:
        s = check_scores(scores)
        y = check_labels(labels, len(s), PROBABILITIES)
        between = (y != 0.0) & (y != 1.0)
        if between.any():
            row = int(np.argmax(between))
            raise ValueError(f"labels must be clicks, 0 or 1, got {y[row]:g} at row {row}")
        return s, y, check_group(group, len(s))

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return those of the objective inside; see `Objective.parts`."""
        return self.objective.parts(view, round)

    # ---- positions and factors -------------------------------------------------------------------

    def places(self, n_docs: int, position: Any = None) -> Integers:
        """Return the index of each document's factor, from 0.

        Parameters
        ----------
        n_docs : int
        position : int64 array (n_docs,), optional
            From 1. Default None: those of the objective.

        Returns
        -------
        int64 array (n_docs,)

        Raises
        ------
        ValueError
            For positions that are missing, of the wrong length or beyond the propensities.
        """
        if position is None and self.position is not None:
            position = self.position.values
        if position is None:
            raise ValueError(
                "position is missing: pass Unbiased(..., position=ranks), or fit(position=ranks) "
                "of boostrank's rankers, or put it into the data set as docs/clicks.md says"
            )
        if len(position) != n_docs:
            raise ValueError(
                f"position must have one rank for each of the {n_docs} documents, got "
                f"{len(position)}"
            )
        places: Integers = position - 1
        if self.last is not None:
            places = np.minimum(places, self.last - 1)
        if not self.learns and n_docs and places.max() >= len(self.propensity):
            raise ValueError(
                f"propensity has numbers for {len(self.propensity)} positions, but documents were "
                f"shown at positions up to {places.max() + 1}; make it longer, or let deep "
                "positions share one (last=)"
            )
        return places

    def start(self, n_positions: int) -> Floats:
        """Return the factors that training starts with.

        Parameters
        ----------
        n_positions : int
            The smallest number of positions needed.

        Returns
        -------
        float64 array (1 or 2, n_positions)
            One row for additive factors, two for those of pairs.

        Raises
        ------
        ValueError
            If `initial` has fewer.
        """
        if not self.learns:
            return np.array([self.propensity])
        if self.initial is None:
            return np.full((self._n_rows, n_positions), float(self.propensity == "pairwise"))
        start = np.array(self.initial)
        if start.shape[1] < n_positions:
            raise ValueError(
                f"initial has factors of {start.shape[1]} positions, but documents were shown at "
                f"{n_positions}"
            )
        return start

    def learnt(self, factors: Floats, sums: Floats) -> Floats:
        """Return the factors after a round.

        Parameters
        ----------
        factors : float64 array (1 or 2, n_positions)
        sums : float64 array (3 or 2, n_positions)
            As `write_part` and `additive_sums` return them; means over workers will do.

        Returns
        -------
        float64 array, like `factors`
        """
        if self.propensity == "pairwise":  # (30), (31)
            rows = []
            for old, total in zip(factors, sums, strict=True):
                if total[0] <= 0.0:
                    rows.append(old)
                    continue
                share = (total / total[0]) ** (1.0 / (1.0 + self.regularization))
                rows.append(np.where(total > 0.0, share, old))
            return np.array(rows)
        pull, curvature, count = sums
        ridge = self.regularization * count
        moved = factors[0] - RATE * (pull + ridge * factors[0]) / (curvature + ridge + EPS)
        return np.asarray((moved - moved[0])[None])

    @staticmethod
    def additive_sums(places: Integers, grad: Floats, hess: Floats, n: int) -> Floats:
        """Return the sums of gradients, of Hessians and of documents at each position.

        Parameters
        ----------
        places : int64 array (n_docs,)
        grad, hess : float64 arrays (n_docs,)
        n : int
            Number of positions.

        Returns
        -------
        float64 array (3, n)
        """
        return np.array(
            [np.bincount(places, values, n) for values in (grad, hess, np.ones(len(places)))]
        )

    # ---- the loss --------------------------------------------------------------------------------

    def write_part(
        self,
        part: Objective,
        scores: Floats,
        clicks: Floats,
        boundaries: Integers,
        round: int | None,
        grad: Floats,
        hess: Floats,
        draws: Floats | None,
        places: Integers,
        factors: Floats,
    ) -> Floats | None:
        """Write gradient and Hessian of one part of the objective inside.

        Parameters
        ----------
        part : Objective
            The objective of one of `parts`.
        scores, clicks, boundaries, round, grad, hess, draws
            As in `Objective.write_derivatives`.
        places : int64 array (n_docs,)
        factors : float64 array (1 or 2, n_positions)

        Returns
        -------
        float64 array (2, n_positions) or None
            For factors of pairs: the sums of (30) and (31).
        """
        if self.propensity == "additive":
            moved = scores + factors[0][places]
            part.write_derivatives(moved, clicks, boundaries, round, grad, hess, draws)
            return None
        sessions = sessions_of(clicks, boundaries)
        rows, copy = sessions.rows, sessions.copy
        only = np.zeros(len(rows))
        only[sessions.own] = 1.0  # e_i
        pulls, bends = np.empty(len(rows)), np.empty(len(rows))
        drawn = None if draws is None else np.ascontiguousarray(draws[:, rows])
        part.write_derivatives(scores[rows], only, sessions.boundaries, round, pulls, bends, drawn)
        n = len(scores)
        sums = None
        if self.propensity == "pairwise":
            pairs = self._pairs(part, sessions, scores, clicks, places, factors, pulls)
            sums = _weigh(pairs, sessions, pulls, bends, factors.shape[1])
            grad[:] = np.bincount(rows, pulls, n)
            hess[:] = np.bincount(rows, bends, n)
        else:
            weight = 1.0 / np.maximum(factors[0][places[sessions.clicked]], self.clip)
            if part.contract.shift_invariant:
                grad[:], hess[:] = 0.0, 0.0
            else:  # L(s; 0)
                part.write_derivatives(scores, np.zeros(n), boundaries, round, grad, hess, draws)
                pulls -= grad[rows]
                bends -= hess[rows]
            grad += np.bincount(rows, pulls * weight[copy], n)  # (4)
            hess += np.bincount(rows, bends * weight[copy], n)
        np.maximum(hess, HESSIAN_FLOOR, out=hess)
        if part.hessian == "constant":
            hess[:] = 1.0
        return sums

    def _pairs(
        self,
        part: Objective,
        sessions: Sessions,
        scores: Floats,
        clicks: Floats,
        places: Integers,
        factors: Floats,
        pulls: Floats,
    ) -> ClickPairs:
        sigma = part.sigma  # type: ignore[attr-defined]
        clipped = np.maximum(factors, self.clip)
        return pairs_of(sessions, scores, clicks, places, clipped, pulls, sigma)

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        places = self.places(len(scores))
        factors = self.start(int(places.max(initial=0)) + 1)
        inner = self.objective
        if self.propensity == "additive":
            inner._loss(scores + factors[0][places], labels, boundaries, loss)
            return
        sessions = sessions_of(labels, boundaries)
        rows, copy = sessions.rows, sessions.copy
        query = np.searchsorted(boundaries, sessions.clicked, side="right") - 1
        only = np.zeros(len(rows))
        only[sessions.own] = 1.0
        if self.propensity == "pairwise":
            pulls, bends = np.empty(len(rows)), np.empty(len(rows))
            inner.write_derivatives(scores[rows], only, sessions.boundaries, None, pulls, bends)
            pairs = self._pairs(inner, sessions, scores, labels, places, factors, pulls)
            of_pair = pairs.loss / (pairs.factors[0] * pairs.factors[1])  # (21)
            loss += np.bincount(query[copy], of_pair, len(loss))
            return
        each, nothing = np.zeros(len(sessions.clicked)), np.zeros(len(loss))
        inner._loss(scores[rows], only, sessions.boundaries, each)
        if not inner.contract.shift_invariant:
            inner._loss(scores, np.zeros(len(scores)), boundaries, nothing)
        weight = 1.0 / np.maximum(factors[0][places[sessions.clicked]], self.clip)
        loss += nothing + np.bincount(query, weight * (each - nothing[query]), len(loss))

    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        places = self.places(len(scores))
        factors = self.start(int(places.max(initial=0)) + 1)
        self.write_part(
            self.objective, scores, labels, boundaries, None, grad, hess, draws, places, factors
        )
