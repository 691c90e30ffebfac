r"""SLAM: a weighted hinge on each document's worst rival, which bounds a ranking metric's loss.

Source
    Chaudhuri, Tewari: Perceptron-like algorithms and generalization bounds for learning to rank
    (2014), equations (3)-(10), (24) and (31). Two things the paper leaves open:
    - Documents of equal gain. The bounds of (10) and (31) are proved with the better-scored of
      them counted first; v then depends on the scores, and the loss is not convex. Here they keep
      their order in the data: v does not depend on the scores, the loss is convex (lemma 1), and it
      is only larger, so still a bound.
    - Grades in MAP, which is for binary labels: y > 0 is relevant for v, while the rivals of a
      document remain those of lower grade, as in (5). That only makes the bound larger; pass y > 0
      as labels for the binary form.

Definition
    documents sorted by descending gain, ties as in the data; i is the position in that order
    v_i  = (g_i - g_n) (d(i) - d(n)) / Z                          measure "ndcg"    (9)
           g_i d(i) / Z_k for i <= k, else 0                      measure "ndcg@k"  (31)
           1/R - i / (R (n - R + i)) for i <= R, else 0           measure "map"     (6)
    c_i  = max(0, max over g_j < g_i of margin + s_j - s_i)                         (11)
    loss = sum_i v_i c_i                                                            (5)
    For margin >= 1, loss >= 1 - measure (theorems 2 and 3, corollary 7); sum_i v_i <= 1.

Symbols
    s scores, y grades, g gains 2^y - 1, but y itself for "map", d(r) = 1/log2(1 + r), n documents,
    R of them with y > 0, Z and Z_k ideal DCG of the whole list and at k.

Gradient (one subgradient; the derivative wherever there is one)
    for each i with c_i > 0: grad_i -= v_i, grad_{j*} += v_i,                       (24)
    j* the highest-scored document of lower gain

Hessians
    gauss-newton  (default) a surrogate, as the loss is piecewise linear and has no curvature: for
                  each i with c_i > 0: hess_{i,j*} += v_i / margin. It is the curvature of
                  v c^2 / (2 margin), the smooth hinge with the same pull where a document and its
                  rival tie. A Newton step is then at most one margin. Floored at 1e-10.
    constant      1
    There is no exact choice.

Degenerate queries
    Fewer than two documents, or all gains equal: zero loss and gradient.

Cost
    O(n log n), for the sort by gain: all documents of one gain have the same worst rival, so one
    pass from the lowest gain up finds all rivals.

When to use
    When theory asks for a bound of 1 - NDCG or of 1 - AP. As a loss for trees it looks at only one
    rival of each document, and ranks worse than losses that look at all of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .base import Objective
from .contract import Contract, Cost
from .engine.driver import query_kernel
from .engine.gains import Discount, ideal_dcg, rank_discount
from .engine.jit import jit_allocating
from .engine.order import all_equal, order_by_score
from .gains import Gain, compiled_discount, discount_field, gain_field
from .parameters import positive
from .targets import check_target_parameters
from .validation import Floats


class SLAMParams(NamedTuple):
    """The kernel's parameters."""

    of_map: bool
    k: int
    margin: float
    discount: Discount


_MEASURE = re.compile(r"map|ndcg(?:@(?P<k>[1-9][0-9]{0,14}))?")


def _cutoff(measure: Any) -> int | None:
    """Return k of "ndcg@k", else None; refuse what is not one of these metrics."""
    match = _MEASURE.fullmatch(measure) if isinstance(measure, str) else None
    if match is None:
        raise ValueError(
            "measure must be 'ndcg', 'ndcg@k' with a whole k of at least 1 (such as 'ndcg@10') "
            f"or 'map'; got {measure!r}"
        )
    return int(match["k"]) if match["k"] else None


@jit_allocating
def _weights(gains: Floats, p: SLAMParams) -> Floats:
    """Return v of each position, from the gains in descending order."""
    n, k = len(gains), p.k
    v = np.zeros(n)
    if p.of_map:
        n_relevant = int(np.sum(gains > 0.0))
        for i in range(n_relevant):
            v[i] = (1.0 - (i + 1.0) / (n - n_relevant + i + 1.0)) / n_relevant  # (6)
        return v
    top = min(k, n) if k > 0 else n
    z = ideal_dcg(gains, k, p.discount)
    for i in range(top):
        if k > 0:
            v[i] = gains[i] / z * rank_discount(p.discount, n, i + 1)  # (31)
        else:
            fall = rank_discount(p.discount, n, i + 1) - rank_discount(p.discount, n, n)
            v[i] = (gains[i] - gains[n - 1]) / z * fall  # (9)
    return v


@query_kernel(SLAMParams)
def _kernel(
    p: SLAMParams, scores: Floats, labels: Floats, hessian: int, grad: Floats, hess: Floats
) -> float:
    if all_equal(labels):
        return 0.0
    margin = p.margin
    order = order_by_score(labels)  # highest grade first
    v = _weights(labels[order], p)
    loss = 0.0
    rival = -1  # j*: the highest-scored document below the grade at hand
    end = len(scores)
    while end > 0:
        start = end - 1
        while start > 0 and labels[order[start - 1]] == labels[order[end - 1]]:
            start -= 1
        if rival >= 0:
            for position in range(start, end):
                i = order[position]
                violation = margin + (scores[rival] - scores[i])
                if violation > 0.0:
                    loss += v[position] * violation  # (5)
                    grad[i] -= v[position]  # (24)
                    grad[rival] += v[position]
                    hess[i] += v[position] / margin
                    hess[rival] += v[position] / margin
        best = rival
        for position in range(start, end):
            if best < 0 or scores[order[position]] > scores[best]:
                best = order[position]
        rival = best
        end = start
    return loss


@dataclass(frozen=True, kw_only=True)
class SLAM(Objective):
    """Weighted hinge on each document's worst rival: an upper bound of 1 - NDCG or 1 - AP.

    Chaudhuri, Tewari (2014), equation (5), with gains g, for "map" the grades:
    ``loss = sum_i v_i max(0, max over g_j < g_i of margin + s_j - s_i)``, with weights v by
    equation (9) for NDCG, (31) for NDCG@k and (6) for average precision.

    Parameters
    ----------
    measure : str, default "ndcg"
        The metric whose loss is bounded: ``"ndcg"``, ``"ndcg@k"`` (such as ``"ndcg@10"``) or
        ``"map"``. For "map", y > 0 is relevant. The names "slam-ndcg" and "slam-map" stand for two
        of these.
    margin : float, default 1.0
        Lead in score that a document of higher gain should have, positive. It sets the scale of
        the scores. From 1 up, as in the paper, the loss is an upper bound.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        The loss is piecewise linear and has no curvature. The surrogate gives each document the sum
        of v / margin over the active hinges it is in. Against a constant, which is plain gradient
        boosting, it gained .009 to .021 in validation NDCG@10 on MQ2008, and -.005 to .031 on
        OHSUMED.
    gain, discount : see `Objective`; "map" has none
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    The gradient is one subgradient: at kinks the loss has several. The result depends on the order
    in which documents of equal gain are passed: of several, the first has the largest weight.
    O(n log n) time for a query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.SLAM(measure="map")
    >>> objective.loss([0.5, 1.0, 0.0], [1, 0, 0], [3]).tolist()
    [1.0]
    >>> grad, hess = objective.grad_hess([0.5, 1.0, 0.0], [1, 0, 0], [3])
    >>> grad.round(3).tolist()
    [-0.667, 0.667, 0.0]
    """

    name: ClassVar[str] = "slam-ndcg"  # an object's name follows its metric
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"slam-map": {"measure": "map"}}
    kernel = _kernel
    claims: ClassVar[Contract] = Contract(
        gradient="subgradient",
        cost=Cost.N_LOG_N,
        kinks="leads equal to the margin, tied rivals",
        convex=True,
    )
    # The surrogate curvature is near zero for documents in few hinges, which is no reason for long
    # steps. 0.1 in place of 1e-6 gained .008 to .060 in validation NDCG@10 on OHSUMED and MQ2008.
    hessian_share: ClassVar[float] = 0.1

    measure: str = "ndcg"
    margin: float = positive(1.0)
    gain: Gain = gain_field()
    discount: str | tuple[float, ...] = discount_field()
    hessian: str = "gauss-newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        _cutoff(self.measure)
        check_target_parameters(self, self.measure.partition("@")[0], by="measure")
        self._set(name="slam-map" if self.measure == "map" else "slam-ndcg")

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain` makes a difference."""
        return self.measure != "map"

    def _params(self, draws: Floats | None = None) -> SLAMParams:
        k = _cutoff(self.measure) or 0
        discount = compiled_discount(self.discount)
        return SLAMParams(self.measure == "map", k, self.margin, discount)
