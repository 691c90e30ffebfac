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
from .engine.curvature import EXACT, HESSIANS
from .engine.driver import query_kernel
from .engine.hinge import _violation
from .engine.jit import jit_allocating, jit_helper, jit_ordered
from .engine.order import all_equal, order_by_score
from .engine.swaps import norm_factor, swap_weight, swaps_of
from .engine.vector import logistic, logistic_loss
from .frank import FRank
from .gbrank import GBRank
from .lambdarank import LambdaRank, LambdaRankParams
from .pairs import Pairs
from .rankboost import WORST_LEAD, RankBoost
from .ranknet import RankNet
from .ranksvm import RankSVM
from .validation import Floats, Integers
from .view import Part, View

#: The objectives that learn from given pairs, by name; below, the kernels' codes for their losses.
INSIDE: Mapping[str, type[Objective]] = {
    cls.name: cls for cls in (RankNet, RankSVM, GBRank, RankBoost, FRank, LambdaRank)
}
LOGISTIC, HINGE, SQUARED, EXPONENTIAL, FIDELITY = range(5)
LOSSES = {
    "ranknet": LOGISTIC,
    "ranksvm": HINGE,
    "gbrank": SQUARED,
    "rankboost": EXPONENTIAL,
    "frank": FIDELITY,
    "lambdarank": LOGISTIC,
}


class PairParams(NamedTuple):
    """The kernels' parameters; for one query, only its own pairs."""

    loss: int  # one of `LOSSES`
    sigma: float
    margin: float  # for pairs without one
    normalize: bool
    offset: float  # with norm, else 0
    begin: int  # row of the query's first document
    first: Integers
    winner: Integers
    loser: Integers
    weight: Floats
    margins: Floats  # empty if none were given


class SwapParams(NamedTuple):
    """The parameters of LambdaRank's kernel."""

    pairs: PairParams
    swaps: LambdaRankParams
    labels: Floats


@jit_allocating
def _pairs_of_query(p: PairParams, a: int, b: int) -> PairParams:
    first, last = p.first[a], p.first[b]
    return PairParams(
        p.loss,
        p.sigma,
        p.margin,
        p.normalize,
        p.offset,
        a,
        p.first,
        p.winner[first:last],
        p.loser[first:last],
        p.weight[first:last],
        p.margins[first:last],
    )


@jit_allocating
def _swaps_of_query(p: SwapParams, a: int, b: int) -> SwapParams:
    return SwapParams(_pairs_of_query(p.pairs, a, b), p.swaps, p.labels[a:b])


@jit_ordered
def _of_pair(
    p: PairParams, t: int, better: float, worse: float, hessian: int
) -> tuple[float, float, float]:
    """Return f, -f' and the curvature of a pair, before its weight."""
    if p.loss == LOGISTIC:
        x = p.sigma * (better - worse)
        rho, slope = logistic(x)
        return logistic_loss(x), p.sigma * rho, p.sigma * p.sigma * slope
    if p.loss == HINGE or p.loss == SQUARED:
        margin = p.margins[t] if len(p.margins) > 0 else p.margin
        lacking = max(0.0, _violation(margin, better, worse))
        within = 1.0 if lacking > 0.0 else 0.0
        if p.loss == HINGE:
            return lacking, within, within
        return 0.5 * lacking * lacking, lacking, within
    x = better - worse
    if p.loss == EXPONENTIAL:
        seam = max(x, WORST_LEAD)
        pull = math.exp(-seam)
        straight = hessian == EXACT and x < WORST_LEAD
        return pull * (1.0 + (seam - x)), pull, 0.0 if straight else pull
    right, slope = logistic(-x)  # P and P (1 - P)
    wrong, _ = logistic(x)  # 1 - P
    root = math.sqrt(right)
    pull = 0.5 * root * wrong
    return wrong / (1.0 + root), pull, 0.5 * root * slope


@jit_helper
def _add_pairs(
    p: PairParams, weight: Floats, scores: Floats, hessian: int, grad: Floats, hess: Floats
) -> tuple[float, float]:
    """Add gradient and curvature of one query; return its loss and the sum of all pulls."""
    loss = 0.0
    pulls = 0.0
    for t in range(len(weight)):
        w = weight[t]
        if w == 0.0:
            continue
        i, j = p.winner[t] - p.begin, p.loser[t] - p.begin
        of_pair, pull, curvature = _of_pair(p, t, scores[i], scores[j], hessian)
        grad[i] -= w * pull
        grad[j] += w * pull
        hess[i] += w * curvature
        hess[j] += w * curvature
        loss += w * of_pair
        pulls += w * pull
    return loss, pulls


@jit_helper
def _divide(p: PairParams, scores: Floats, weight: Floats) -> None:
    """Divide the weights of a query's pairs as `norm` does, unless all scores are equal."""
    lowest = highest = scores[0]
    for score in scores:
        lowest, highest = min(lowest, score), max(highest, score)
    for t in range(len(weight) if highest > lowest else 0):
        lead = scores[p.winner[t] - p.begin] - scores[p.loser[t] - p.begin]
        weight[t] /= p.offset + abs(lead)


@jit_helper
def _scale(pulls: float, grad: Floats, hess: Floats) -> float:
    """Multiply gradient and curvature by the factor of `norm`, and return it."""
    factor: float = norm_factor(2.0 * pulls)  # from L
    for i in range(len(grad)):
        grad[i] *= factor
        hess[i] *= factor
    return factor


@query_kernel(PairParams, _pairs_of_query)
def _kernel(
    p: PairParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if len(p.weight) == 0:
        return 0.0
    weight = p.weight
    if p.offset > 0.0:
        weight = weight.copy()
        _divide(p, scores, weight)
    loss, pulls = _add_pairs(p, weight, scores, hessian, grad, hess)
    if p.offset > 0.0:
        return loss * _scale(pulls, grad, hess)
    if p.normalize:
        total = 0.0
        for w in p.weight:
            total += w
        for i in range(len(scores)):
            grad[i] /= total
            hess[i] /= total
        loss /= total
    return loss


@jit_allocating
def _weigh_by_swaps(
    p: SwapParams, gains: Floats, order: Integers, place: Integers, weight: Floats
) -> None:
    """Multiply the weights of a query's pairs by how much their swaps change the metric."""
    swaps = p.swaps
    change = swaps_of(swaps.target, swaps.truncation, swaps.discount, gains, order)
    for t in range(len(weight)):
        i, j = p.pairs.winner[t] - p.pairs.begin, p.pairs.loser[t] - p.pairs.begin
        a, b = min(place[i], place[j]), max(place[i], place[j])
        weight[t] *= swap_weight(swaps, change, a, b)


@jit_allocating
def _swap_weights(p: SwapParams, scores: Floats, gains: Floats) -> Floats:
    """Return the weights of a query's pairs as in LambdaRank."""
    n, order = len(scores), order_by_score(scores)
    place = np.empty(n, dtype=np.int64)
    for a in range(n):
        place[order[a]] = a
    weight = p.pairs.weight.copy()
    if not all_equal(p.labels):
        _weigh_by_swaps(p, gains, order, place, weight)
    top = p.swaps.truncation if p.swaps.truncation > 0 else n
    for t in range(len(weight)):
        i, j = p.pairs.winner[t] - p.pairs.begin, p.pairs.loser[t] - p.pairs.begin
        if min(place[i], place[j]) >= top:
            weight[t] = 0.0
    if p.pairs.offset > 0.0:
        _divide(p.pairs, scores, weight)
    return weight


@query_kernel(SwapParams, _swaps_of_query)
def _swap_kernel(
    p: SwapParams, scores: Floats, gains: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if len(p.pairs.weight) == 0:
        return 0.0
    weight = _swap_weights(p, scores, gains)
    loss, pulls = _add_pairs(p.pairs, weight, scores, hessian, grad, hess)
    return loss * _scale(pulls, grad, hess) if p.pairs.offset > 0.0 else loss


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

    def __repr__(self) -> str:
        return f"Preferences(objective={self.objective!r}, pairs={self.pairs!r})"

    @property
    def of_rows(self) -> bool:
        """True: pairs are rows."""
        return True

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        inner: Contract = self.objective.contract
        # A query of n documents may have any number of pairs.
        return replace(inner, cost=Cost.QUADRATIC)

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

    def _prepared(self, labels: Floats, boundaries: Integers) -> tuple[Any, Any, Floats]:
        """Return the kernel, its parameters and the gains."""
        inner, pairs = self.objective, self.pairs
        p = PairParams(
            loss=LOSSES[inner.name],
            sigma=getattr(inner, "sigma", 1.0),
            margin=getattr(inner, "margin", 1.0),
            normalize=getattr(inner, "normalize", False),
            offset=inner.offset if getattr(inner, "norm", False) else 0.0,
            begin=0,
            first=pairs.first(boundaries),
            winner=pairs.winner,
            loser=pairs.loser,
            weight=pairs.weight,
            margins=pairs.margin,
        )
        if not isinstance(inner, LambdaRank):
            return _kernel, p, labels
        gains = inner._kernel_gains(labels, boundaries)
        return _swap_kernel, SwapParams(p, inner.swap_params(), labels), gains

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        kernel, p, gains = self._prepared(labels, boundaries)
        kernel.losses(p, boundaries, scores, gains, loss)

    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        kernel, p, gains = self._prepared(labels, boundaries)
        code = HESSIANS[self.hessian]
        kernel.derivatives(p, boundaries, scores, gains, code, grad, hess)
