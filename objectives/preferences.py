r"""Preferences: given pairs of documents, instead of all pairs of different grade.

Source
    Cohen, Schapire, Singer: Learning to order things. JAIR 1999; Freund, Iyer, Schapire, Singer:
    An efficient boosting algorithm for combining preferences. JMLR 2003, whose feedback is pairs
    with weights; Joachims: Optimizing search engines using clickthrough data. KDD 2002. The losses
    are those of the objectives inside, whose files name their papers.

Definition
    pairs (i, j) with weight w and, for hinges, margin m: i is to come before j, x = s_i - s_j
    loss = sum over pairs of w f(x), f the loss of the objective inside:
    ranknet     ln(1 + e^{-sigma x})
    gbrank      max(0, m - x)^2/2, m its margin where the pair has none
    ranksvm     max(0, m - x), m = 1 where the pair has none
    rankboost   e^{-x}, on a straight line below -36
    frank       1 - sqrt(P(x))
    lambdarank  Delta_ij ln(1 + e^{-sigma x}), Delta_ij how much the swap changes the metric of the
                labels; 1 where the labels of the query are all equal. A pair counts if its
                better-ranked document is at rank <= T.
    divided by the sum of the query's weights when the objective inside has `normalize`. `norm` of
    lambdarank and ranknet takes L over these pairs, weights included.

Gradient (as the objective inside)
    v = - w f'(x): grad_i -= v, grad_j += v

Hessians
    Those of the objective inside, each pair's times w; constant stays 1.

Degenerate queries
    No pair: zero loss and gradient.

Numerics
    As in the objective inside. Pairs are sorted once, so that the order in which they are given
    changes no bit.

Cost
    O(1) per pair; for lambdarank after a sort of the query.

When to use
    When judgements say which of two documents is better instead of giving grades, or cover only a
    few documents.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .composite import Around
from .contract import Contract, Cost
from .engine.curvature import HESSIAN_FLOOR
from .engine.jit import jit_entry
from .engine.order import all_equal, order_by_score
from .engine.swaps import swap_weight, swaps_of
from .engine.threads import over_queries
from .frank import FRank
from .gbrank import GBRank
from .lambdarank import LambdaRank, LambdaRankParams
from .pairs import Pairs
from .rankboost import WORST_LEAD, RankBoost
from .ranknet import RankNet
from .ranksvm import RankSVM
from .validation import NUMBERS, Floats, Integers, differ
from .view import Part, View

#: The objectives that learn from given pairs, by name.
INSIDE: Mapping[str, type[Objective]] = {
    cls.name: cls for cls in (RankNet, RankSVM, GBRank, RankBoost, FRank, LambdaRank)
}


def _logistic(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln(1 + e^{-x}), G = 1/(1 + e^x) and G (1 - G), none by a cancelling difference."""
    e = np.exp(-np.abs(x))
    below = 1.0 / (1.0 + e)
    above = e * below
    return np.maximum(-x, 0.0) + np.log1p(e), np.where(x >= 0.0, above, below), above * below


def _unweighted(inner: Any, margins: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return f, -f' and the curvature of every pair, before weights."""
    if isinstance(inner, RankNet | LambdaRank):
        sigma: Any = inner.sigma  # in a round, a schedule has become a number
        loss, rho, slope = _logistic(sigma * x)
        return loss, sigma * rho, sigma**2 * slope
    if isinstance(inner, GBRank | RankSVM):
        lacking = np.maximum((margins if len(margins) else inner.margin) - x, 0.0)
        within = (lacking > 0.0).astype(np.float64)
        return (0.5 * lacking**2, lacking, within) if inner.squared else (lacking, within, within)
    if isinstance(inner, RankBoost):
        seam = np.maximum(x, WORST_LEAD)
        pull = np.exp(-seam)
        straight = (x < WORST_LEAD) & (inner.hessian == "exact")
        return pull * (1.0 + (seam - x)), pull, np.where(straight, 0.0, pull)
    _, right, slope = _logistic(-x)  # P and P (1 - P)
    _, wrong, _ = _logistic(x)  # 1 - P
    root = np.sqrt(right)
    pull = 0.5 * root * wrong
    return wrong / (1.0 + root), pull, 0.5 * root * slope


class SwapParams(NamedTuple):
    """The parameters of `_write_swaps`."""

    swaps: LambdaRankParams
    labels: Floats
    winner: Integers
    loser: Integers


@jit_entry
def _write_swaps(
    first: int,
    last: int,
    boundaries: Integers,
    p: SwapParams,
    scores: Floats,
    gains: Floats,
    pairs: Integers,
    weight: Floats,
) -> None:
    """Multiply the weights of pairs as in LambdaRank; those of query q begin at pairs[q]."""
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        order = order_by_score(scores[a:b])
        place = np.empty(b - a, dtype=np.int64)
        for rank in range(b - a):
            place[order[rank]] = rank
        swaps = p.swaps
        for t in range(pairs[q], pairs[q + 1]):
            if 0 < swaps.truncation <= min(place[p.winner[t] - a], place[p.loser[t] - a]):
                weight[t] = 0.0
        if all_equal(p.labels[a:b]):
            continue
        change = swaps_of(swaps.target, swaps.truncation, swaps.discount, gains[a:b], order)
        for t in range(pairs[q], pairs[q + 1]):
            i, j = place[p.winner[t] - a], place[p.loser[t] - a]
            weight[t] *= swap_weight(swaps, change, min(i, j), max(i, j))


@dataclass(frozen=True)
class Preferences(Around):
    """An objective on given pairs: which of two documents of a query is better.

    Parameters
    ----------
    objective : str or Objective
        The loss of a pair: "ranknet", "ranksvm", "gbrank", "rankboost", "frank" or "lambdarank", by
        name or as an object with its own parameters. "lambdarank" weights a pair by how much its
        swap changes the metric of the labels, or by 1 where all labels of a query are equal. The
        others ignore the labels.
    pairs : array_like (n_pairs, 2), (n_pairs, 3) or (n_pairs, 4), or data frame
        Rows (winner, loser[, weight[, margin]]), or columns with these names. Winner and loser are
        rows of the training data, from 0, of one query. A weight multiplies the loss of its pair;
        positive, default 1. A pair that is given twice counts twice. A margin is the lead that the
        winner should have, for "gbrank" and "ranksvm" only; positive, default that of the
        objective.

    Raises
    ------
    TypeError, ValueError
        For an objective that is none of the six, for margins with an objective that has none, and
        for bad pairs; the message names their row. In `loss`, `grad_hess` and training for rows
        that the data does not have, and for pairs across two queries.

    Notes
    -----
    The host parameters of `objective` (`perturb`, `seed`, ...) apply to the whole. Time grows with
    the number of pairs. Gradient and Hessian claim what those of the objective claim.

    Examples
    --------
    >>> import boostrank
    >>> pairs = [(0, 1, 2.0), (2, 1, 1.0)]
    >>> objective = boostrank.Preferences("ranknet", pairs)
    >>> grad, hess = objective.grad_hess([0.0, 0.0, 0.0], [0, 0, 0], [3])
    >>> grad.tolist(), hess.tolist()
    ([-1.0, 1.5, -0.5], [0.5, 0.75, 0.25])
    """

    name: ClassVar[str] = "preferences"

    objective: Any
    pairs: Any

    def __post_init__(self) -> None:
        inner = self.objective
        if isinstance(inner, str) and inner in INSIDE:
            inner = INSIDE[inner]()
        if type(inner) not in INSIDE.values():
            got = inner.name if isinstance(inner, Objective) else repr(inner)
            raise (ValueError if isinstance(inner, str | Objective) else TypeError)(
                f"objective must be a loss of pairs, one of {', '.join(INSIDE)}; got {got}"
            )
        pairs = self.pairs if isinstance(self.pairs, Pairs) else Pairs(self.pairs)
        if len(pairs.margin) and not isinstance(inner, GBRank | RankSVM):
            raise ValueError(
                f"pairs have margins, which {inner.name} has no use for: they are for gbrank and "
                "ranksvm; leave the column out"
            )
        self._set(objective=inner, pairs=pairs)
        self._take_over()

    @property
    def of_rows(self) -> bool:
        """True: pairs are rows."""
        return True

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        inner: Contract = self.objective.contract
        labels = inner.labels if isinstance(self.objective, LambdaRank) else NUMBERS  # not read
        # A query of n documents may have any number of pairs.
        return replace(inner, cost=Cost.QUADRATIC, labels=labels)

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return the objective with its pairs as rows of the documents; see `Objective.parts`.

        Raises
        ------
        ValueError
            Where it is not known which rows the documents are; for bad pairs, and for documents
            without pairs.
        """
        subset = view.subset(type(self).__name__, "the data")
        if subset is None:
            return super().parts(view, round)

        def moved() -> Pairs:
            self.pairs.check(np.repeat(np.arange(len(subset.group)), subset.group))
            where = np.full(subset.n_docs, -1, dtype=np.int64)
            where[subset.rows] = np.arange(len(subset.rows))
            found: Pairs = self.pairs.moved(where)
            return found

        pairs = view.once(self.pairs, moved)
        return super(Preferences, self.replace(pairs=pairs)).parts(view, round)

    # The caller refuses what overflows.
    @np.errstate(over="ignore", invalid="ignore")
    def _of_pairs(
        self, scores: Floats, labels: Floats, boundaries: Integers
    ) -> tuple[Floats, Floats, Floats, Integers]:
        """Return loss, pull and curvature of every pair, with weights, and its query."""
        inner, pairs = self.objective, self.pairs
        first = pairs.first(boundaries)[boundaries]
        query = np.repeat(np.arange(len(boundaries) - 1), np.diff(first))
        x = scores[pairs.winner] - scores[pairs.loser]
        weight = pairs.weight
        if isinstance(inner, LambdaRank):
            weight = weight.copy()
            p = SwapParams(inner.swap_params(), labels, pairs.winner, pairs.loser)
            gains = inner._kernel_gains(labels, boundaries)
            over_queries(_write_swaps, boundaries, p, scores, gains, first, weight)
        normed, n = getattr(inner, "norm", False), len(boundaries) - 1
        if normed:
            tied = ~differ(scores, boundaries)
            weight = weight / np.where(tied[query], 1.0, inner.offset + np.abs(x))
        values = np.array([weight * each for each in _unweighted(inner, pairs.margin, x)])
        if normed:
            total = 2.0 * np.bincount(query, values[1], n)  # L
            share = np.log1p(total) / np.where(total > 0.0, math.log(2.0) * total, 1.0)
            values *= np.where(total > 0.0, share, 1.0)[query]
        if getattr(inner, "normalize", False):
            values /= np.bincount(query, pairs.weight, n)[query]
        return *values, query

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        of_pair, _, _, query = self._of_pairs(scores, labels, boundaries)
        loss += np.bincount(query, of_pair, len(loss))

    @np.errstate(over="ignore", invalid="ignore")
    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        _, pull, bend, _ = self._of_pairs(scores, labels, boundaries)
        winner, loser, n = self.pairs.winner, self.pairs.loser, len(grad)
        grad += np.bincount(loser, pull, n) - np.bincount(winner, pull, n)
        if self.hessian != "constant":
            bends = np.bincount(winner, bend, n) + np.bincount(loser, bend, n)
            np.maximum(bends, HESSIAN_FLOOR, out=hess)
