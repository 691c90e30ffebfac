"""Regression: squared error on the grade, the pointwise baseline.

Source
    The regression error R of Wu, Chang, Zheng, Zha (CIKM 2009), equation (18), and the baseline of
    the paper's figure 2.

Definition
    loss = sum_i (s_i - t_i)^2, t_i the grade (or the gain) of document i

Gradient (exact)
    2 (s_p - t_p)

Hessians
    exact         (default) 2, which is also
    gauss-newton  2
    constant      1

Degenerate queries
    None: a document teaches its own grade, even alone in its query or among equals. The hosts'
    squared error does the same.

Cost
    O(n); plain NumPy, no kernel needed.

When to use
    When the score itself should predict the grade, across queries too, or as the baseline to beat.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .base import Objective
from .contract import EXACT_OR_CONSTANT, Contract
from .gains import Gain, gain_field, gains_of
from .parameters import choice
from .targets import check_target_parameters
from .validation import AMOUNTS, GRADES, NUMBERS, Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Regression(Objective):
    """Squared error of each document's score, ``sum_i (s_i - t_i)^2``.

    Parameters
    ----------
    target : {"grade", "gain"}, default "grade"
        What a score should predict: the label y, which may then be any finite number, or its gain.
        The default is the label, because gains 2^y - 1 let the few best documents outweigh all
        others.
    gain : str, sequence or callable, default "exponential"
        What a grade is worth, see `Objective`; only with ``target="gain"``.
    hessian : {"exact", "gauss-newton", "constant"}, default "exact"
        The first two are 2, so that a Newton step is the mean residual; constant is 1.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Notes
    -----
    Source: the regression error of Wu, Chang, Zheng, Zha (CIKM 2009), equation (18). Exact
    gradient, O(n). Every document counts, even in queries with nothing to rank.

    Examples
    --------
    >>> import boostrank
    >>> grad, hess = boostrank.Regression().grad_hess([0.5, 0.0], [0, 2], [2])
    >>> grad.tolist(), hess.tolist()
    ([1.0, -4.0], [2.0, 2.0])
    """

    name: ClassVar[str] = "regression"
    claims: ClassVar[Contract] = Contract(
        shift_invariant=False, labels=NUMBERS, convex=True, metric_offset=0.0
    )
    hessians = EXACT_OR_CONSTANT

    target: str = choice("grade", ("grade", "gain"))
    gain: Gain = gain_field()
    hessian: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_target_parameters(self, "dcg" if self.counts_gains else self.target)

    @property
    def contract(self) -> Contract:
        """What the derivatives claim to be; grades are needed only where gains are the target."""
        contract = super().contract
        if not self.counts_gains:
            return contract
        return replace(contract, labels=GRADES if self.exponential_gains else AMOUNTS)

    @property
    def perturbed(self) -> bool:
        """Whether it gets the noise of a mixture: no, its gradient is linear in the scores."""
        return False

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain` makes a difference."""
        return self.target == "gain"

    def _residuals(self, scores: Floats, labels: Floats) -> Floats:
        return scores - gains_of(self._gain, labels)

    # What overflows becomes infinite, and the caller refuses it.
    @np.errstate(over="ignore")
    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        squares = self._residuals(scores, labels) ** 2
        for q in range(len(loss)):
            loss[q] = squares[boundaries[q] : boundaries[q + 1]].sum()

    @np.errstate(over="ignore")
    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        grad += 2.0 * self._residuals(scores, labels)  # (18)
        hess[:] = 1.0 if self.hessian == "constant" else 2.0
