"""Mix: two objectives, one fading into the other over the boosting rounds.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, section 3.3, equation (18), there for squared error and SHF-SDCG
    (see RegSHFSDCG, which is this mixture of them); here for any two objectives.

Definition
    loss_m = tau_m F + (1 - tau_m) S                                            (18)

Symbols
    F the loss of `first`, S that of `second`, tau_m the value of `schedule` in round m.

Gradient
    The same mixture of both gradients: what the lesser of them claims to be.

Hessians
    The same mixture of both Hessians.

Scale
    loss and grad_hess are (18) as it stands. In it the second objective takes over where
    (1 - tau_m) |S'| exceeds tau_m |F'|, and that need not be the middle of the schedule: SHF-SDCG's
    gradients are about a thousandth of squared error's, and the mixture stays a regression until
    two thirds of the rounds. A booster is handed the parts on one scale, each divided by its mean
    Hessian over the documents with a gradient, so that tau_m is the weight of the first one's
    Newton step.

Degenerate queries
    Those of both parts.

Cost
    That of both parts.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .numerics import HESSIAN_FLOOR
from .schedules import Schedule
from .validation import Floats, Integers, check_share

_GRADIENTS = ("exact", "frozen", "subgradient")


class Mixture(Objective):
    """A weighted sum of two objectives."""

    @abstractmethod
    def _mixed(self) -> tuple[Any, Objective, Objective]:
        """Return the weight of the first objective, a number once `_at` has run, and both."""

    def _parts(self, round: int | None) -> tuple[tuple[float, Objective], ...]:
        share, first, second = self._at(round)._mixed()
        return (
            *((share * weight, part) for weight, part in first._parts(round)),
            *(((1.0 - share) * weight, part) for weight, part in second._parts(round)),
        )

    @property
    def _draws(self) -> bool:
        return any(objective._draws for objective in self._mixed()[1:])

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        first, second = (objective.contract for objective in self._mixed()[1:])
        kind = max(first.gradient, second.gradient, key=_GRADIENTS.index)
        return Contract(
            gradient=kind,
            hessian=first.hessian if first.hessian == second.hessian else "gauss-newton",
            shift_invariant=first.shift_invariant and second.shift_invariant,
            labels=GRADES,
            cost=" + ".join(dict.fromkeys((first.cost, second.cost))),
            frozen="; ".join(dict.fromkeys(filter(None, (first.frozen, second.frozen)))),
        )

    # What overflows is refused by the caller; a share of none of it is not a number.
    @np.errstate(invalid="ignore")
    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        for weight, objective in self._parts(None):
            part = np.zeros_like(loss)
            objective._loss(scores, labels, boundaries, part)
            loss += weight * part  # (18)

    @np.errstate(invalid="ignore")
    def _grad_hess(
        self, scores: Floats, labels: Floats, boundaries: Integers, grad: Floats, hess: Floats
    ) -> None:
        hess[:] = 0.0
        part_grad, part_hess = np.empty_like(grad), np.empty_like(hess)
        for weight, objective in self._parts(None):
            objective._evaluate(scores, labels, boundaries, None, part_grad, part_hess)
            grad += weight * part_grad  # (18)
            hess += weight * part_hess
        np.maximum(hess, HESSIAN_FLOOR, out=hess)


@dataclass(frozen=True)
class Mix(Mixture):
    """Two objectives mixed: ``tau_m first + (1 - tau_m) second`` in round m.

    After Wu, Chang, Zheng, Zha (CIKM 2009), equation (18), which goes from an easy loss to one that
    is not convex; `RegSHFSDCG` is that mixture. For a booster both parts are brought to one scale,
    a mean Hessian of 1, before they are added, so that tau weighs their Newton steps; `loss` and
    `grad_hess` return the sum as it is written.

    Parameters
    ----------
    first, second : Objective
        Any two, also mixtures, each with its own `hessian`. What belongs to the host
        (`query_fraction`, `perturb`, ...) is a parameter of the mixture, not of its parts.
    schedule : float or Schedule
        tau, the weight of `first`, from 0 to 1, such as ``Schedule("logistic", total_rounds)``.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range; `loss` and `grad_hess` without `round`
        where it changes something.

    Notes
    -----
    Takes the time of both parts. Gradient and Hessian claim what the lesser of the parts does.

    Examples
    --------
    >>> import boostrank
    >>> easy, hard = boostrank.RankNet(), boostrank.SDCG()
    >>> objective = boostrank.Mix(easy, hard, boostrank.Schedule("logistic", 100))
    >>> scores, labels, group = [0.0, 1.0], [1, 0], [2]
    >>> objective.grad_hess(scores, labels, group, round=1)[0].round(3).tolist()
    [-0.731, 0.731]
    >>> hard.grad_hess(scores, labels, group)[0].round(3).tolist()
    [-0.049, 0.049]
    >>> objective.grad_hess(scores, labels, group, round=100)[0].round(3).tolist()
    [-0.049, 0.049]
    """

    name: ClassVar[str] = "mix"

    first: Objective
    second: Objective
    schedule: float | Schedule

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            value = getattr(self, name)
            if not isinstance(value, Objective):
                raise TypeError(
                    f"{name} must be an objective such as boostrank.SHFSDCG(), got {value!r}"
                )
        if not isinstance(self.schedule, Schedule):
            self._set(schedule=check_share("schedule", self.schedule))
        super().__post_init__()

    if not TYPE_CHECKING:  # no parameter, as elsewhere: it is chosen for each part

        @property
        def hessian(self) -> str:
            """What the mixed Hessian is."""
            return self.contract.hessian

    def _mixed(self) -> tuple[Any, Objective, Objective]:
        return self.schedule, self.first, self.second

    def _schedules(self) -> dict[str, Schedule]:
        nested = {
            f"{part}.{name}": schedule
            for part in ("first", "second")
            for name, schedule in getattr(self, part)._schedules().items()
        }
        return super()._schedules() | nested

    def _values(self, round: int) -> dict[str, Any]:
        values = {"first": self.first._at(round), "second": self.second._at(round)}
        if isinstance(self.schedule, Schedule):
            return values | {"schedule": self.schedule(round)}
        return values
