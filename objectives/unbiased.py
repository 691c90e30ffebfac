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
                every round, for all positions k, with r the regularization (without pairs at
                position 1, t is relative to the first one that has any, as it was),
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
from .corrections import Additive, Call, Correction, Given, Pairwise, Shown
from .lambdarank import LambdaRank
from .parameters import checked
from .positions import Positions, check_position, check_propensity
from .ranknet import RankNet
from .validation import (
    PROBABILITIES,
    Floats,
    Integers,
    check_amount,
    check_cutoff,
    check_positive,
    check_unmasked,
)
from .view import Part, View

#: Positions with a factor of their own, in training: a model keeps the factors of every round.
MOST_FACTORS = 100_000


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
        Default None: no bias. A continued training goes on from its model's factors instead.

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range. In `loss`, `grad_hess` and training for
        labels other than 0 and 1 and for positions that are missing, of the wrong length or beyond
        `propensity`.

    Notes
    -----
    `loss` and `grad_hess` use the learnt factors given as `initial`. The factors of a training are
    kept with its model: `boostrank.position_bias` returns them. Weights count in them too, those of
    pairs by the weight of the clicked document.

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
        if self.objective.of_rows:
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
            check_unmasked("initial", self.initial)
            rows = np.atleast_2d(np.asarray(self.initial, dtype=np.float64))
            n_rows = self.correction.n_rows
            if rows.ndim != 2 or len(rows) != n_rows or not np.isfinite(rows).all():
                raise ValueError(
                    f"initial must be {n_rows} x n_positions finite numbers, got shape "
                    f"{np.shape(self.initial)}"
                )
            self._set(initial=tuple(map(tuple, rows.tolist())))

    @property
    def learns(self) -> bool:
        """Whether factors are learnt in training."""
        return isinstance(self.propensity, str)

    @property
    def correction(self) -> Correction:
        """How clicks are corrected, with factors of positions."""
        kinds = {"pairwise": Pairwise, "additive": Additive}
        kind = kinds[self.propensity] if isinstance(self.propensity, str) else Given
        return kind(self.clip, self.regularization)

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
        s, y, boundaries = super()._checked(scores, labels, group)
        between = (y != 0.0) & (y != 1.0)
        if between.any():
            row = int(np.argmax(between))
            raise ValueError(f"labels must be clicks, 0 or 1, got {y[row]:g} at row {row}")
        return s, y, boundaries

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return those of the objective inside; see `Objective.parts`."""
        return self.objective.parts(view, round)

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
            For positions that are missing, of the wrong length or beyond the propensities, and for
            those of which so many factors cannot be learnt.
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
        if len(self.propensity) == n_docs > position.max(initial=0) and not self.learns:
            pairs = list(zip(position.tolist(), self.propensity, strict=True))
            known = dict(pairs)
            if all(known[place] == chance for place, chance in pairs):
                raise ValueError(
                    f"propensity has one number for each of the {n_docs} documents, but position "
                    f"is at most {position.max()}; pass one number for each position from 1"
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
        if self.learns and places.max(initial=0) >= MOST_FACTORS:
            raise ValueError(
                f"position must be at most {MOST_FACTORS} where each has a factor that is learnt, "
                f"got {places.max() + 1}: let deep positions share one (last=)"
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
            return np.full((self.correction.n_rows, n_positions), self.correction.neutral)
        start = np.array(self.initial)
        if start.shape[1] < n_positions:
            raise ValueError(
                f"initial has factors of {start.shape[1]} positions, but documents were shown at "
                f"{n_positions}"
            )
        return start

    def _shown(self, scores: Floats, clicks: Floats, boundaries: Integers) -> Shown:
        places = self.places(len(scores))
        factors = self.start(int(places.max(initial=0)) + 1)
        return Shown(scores, clicks, boundaries, places, factors, np.ones(len(scores)))

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        shown = self._shown(scores, labels, boundaries)
        self.correction.add_loss(self.objective, shown, loss)

    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        shown = self._shown(scores, labels, boundaries)
        self.correction.write_part(self.objective, shown, Call(None, grad, hess, draws))
