"""Blend: the recommended objective, three losses on one scale.

Definition
    loss = Q/2 + R/4 + S/4: Q the loss of QueryRMSE, R that of RankNet with sigma = 2, S that of
    SHF-SDCG with alpha = 2. In a booster each part is first scaled to a mean Hessian of 1 (see
    Mix), and R and S learn from scores with Gumbel noise of scale 1/2, the width of the sigmoids in
    both.

Why these
    Q fits grades fast and needs no noise. R orders pairs. S gives most weight to pairs with a
    document of high gain. All three are convex. The regression has half the weight, the two losses
    that order have the other half. This was found on validation parts of real and synthetic data
    (docs/accuracy.md), where no part could be left out.

Gradient, Hessians, degenerate queries, cost
    Those of a Mix of the parts.

When to use
    Begin here. It is made for grades given by people, which are noisy, and it overfits less than
    any of its parts alone. Look further if the data are clean and so large that all rounds still
    help, if trees are strongly regularised, or if the loss should have a meaning of its own.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from .base import Objective
from .contract import SURROGATE_OR_CONSTANT
from .gains import Gain, gain_field
from .mix import Mix, Mixture
from .parameters import noise, positive
from .query_rmse import QueryRMSE
from .ranknet import RankNet
from .shf_sdcg import SHFSDCG


@dataclass(frozen=True, kw_only=True)
class Blend(Mixture):
    """The recommended objective: half QueryRMSE, a quarter each RankNet and SHF-SDCG.

    ``loss = Q/2 + R/4 + S/4`` with Q the loss of `QueryRMSE`, R that of ``RankNet(sigma=2)`` and S
    that of ``SHFSDCG(alpha=2)``. A booster gets the parts on one scale, each with a mean Hessian of
    1, and R and S take noise of scale 1/2. `gain` is that of SHF-SDCG. To use other parts, combine
    them with `Mix`.

    Parameters
    ----------
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        The Hessian of each part, mixed; constant is plain gradient boosting.
    gain, rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    O(n) time and memory for a query of n documents after sorting them.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.Blend().grad_hess([0.0, 0.0, 0.0], [2, 1, 0], [3])
    >>> bool(grad[0] < grad[1] < grad[2])
    True
    """

    name: ClassVar[str] = "blend"
    hessians = SURROGATE_OR_CONSTANT

    gain: Gain = gain_field()
    hessian: str = "gauss-newton"
    perturb: str | None = noise("gumbel")
    perturb_scale: float = positive(0.5)

    def _mixed(self) -> tuple[float, Objective, Objective]:
        return _parts(self.gain, self.hessian)


@lru_cache  # called in every round
def _parts(gain: Gain, hessian: str) -> tuple[float, Objective, Objective]:
    pairs = RankNet(sigma=2.0, hessian=hessian)
    top = SHFSDCG(alpha=2.0, gain=gain, hessian=hessian)
    return 0.5, QueryRMSE(hessian=hessian), Mix(pairs, top, 0.5)
