"""Mix: two objectives, one fading into the other over the boosting rounds.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, section 3.3, equation (18). There it mixes squared error and
    SHF-SDCG (RegSHFSDCG is that mixture); here it mixes any two objectives.

Definition
    loss_m = tau_m F + (1 - tau_m) S                                            (18)

Symbols
    F the loss of `first`, S that of `second`, tau_m the value of `schedule` in round m.

Gradient
    The same mixture of both gradients. It claims what the weaker of the two claims.

Hessians
    The same mixture of both Hessians.

Scale
    loss and grad_hess return (18) as it stands. There the second objective takes over where
    (1 - tau_m) |S'| exceeds tau_m |F'|, which need not be the middle of the schedule: SHF-SDCG's
    gradients are about a thousandth of squared error's, and the mixture stays a regression until
    two thirds of the rounds. A booster gets the parts on one scale, each divided by its mean
    Hessian over the documents with a gradient, so that tau_m is the weight of the first one's
    Newton step.

Degenerate queries
    Those of both parts.

Cost
    That of both parts.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .base import Objective
from .composite import OF_CHILDREN, Composite, check_part
from .engine.curvature import HESSIAN_FLOOR
from .engine.jit import jit_entry, jit_ordered
from .engine.threads import block_of, over_documents
from .schedules import Schedule
from .validation import Floats, Integers, check_share
from .view import Part, View


def on_one_scale(
    parts: Sequence[Part], derivatives: Floats, mean_hessians: Sequence[float], *, rescale: bool
) -> Floats:
    """Add up the parts of a sum, each with a mean Hessian of 1.

    Parameters
    ----------
    parts : sequence of Part
    derivatives : float64 array (n_parts, 2, n_docs)
        Gradient and Hessian of each part. The sum overwrites the first part.
    mean_hessians : sequence of float
        Mean Hessian of each part over the documents to which it gives a gradient.
    rescale : bool
        False adds the parts as they are, equation (18). Their Hessians are floored in both cases.

    Returns
    -------
    float64 array (2, n_docs)
        Gradient and Hessian of the sum.
    """
    pairs = list(zip(parts, mean_hessians, strict=True))
    floors = [part.objective.hessian_share * mean for part, mean in pairs]
    factors = [part.weight / (mean if rescale else 1.0) for part, mean in pairs]
    n_docs = derivatives.shape[2]
    over_documents(_add_parts, n_docs, derivatives, np.array(floors), np.array(factors))
    total: Floats = derivatives[0]
    return total


@jit_ordered
def _in_unit(value: float, factor: float) -> float:
    """Return a product that the compiler does not fuse with a sum."""
    return value * factor


@partial(jit_entry, borrows=True)
def _add_parts(
    first: int,
    last: int,
    n_docs: int,
    derivatives: Floats,
    floors: Floats,
    factors: Floats,
    sums: Floats,
) -> None:
    for block in range(first, last):
        begin, end = block_of(block, n_docs)
        grad, hess = derivatives[0]
        for i in range(begin, end):
            floor = floors[0] if grad[i] != 0.0 else 0.0
            grad[i] = _in_unit(grad[i], factors[0])
            hess[i] = _in_unit(max(hess[i], floor), factors[0])
        for part in range(1, len(factors)):
            own_grad, own_hess = derivatives[part]
            for i in range(begin, end):
                floor = floors[part] if own_grad[i] != 0.0 else 0.0
                grad[i] += _in_unit(own_grad[i], factors[part])
                hess[i] += _in_unit(max(own_hess[i], floor), factors[part])


class Sum(Composite):
    """An objective whose loss is the weighted sum of its parts."""

    # The caller refuses what overflows; a weight of 0 makes NaN of it.
    @np.errstate(invalid="ignore")
    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        for weight, part, own_labels in self.parts(View(scores, labels, boundaries), None):
            own = np.zeros_like(loss)
            part._loss(scores, own_labels, boundaries, own)
            loss += weight * own  # (18)

    @np.errstate(invalid="ignore")
    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        grad[:], hess[:] = 0.0, 0.0
        own_grad, own_hess = np.empty_like(grad), np.empty_like(hess)
        for weight, part, own_labels in self.parts(View(scores, labels, boundaries), None):
            part.write_derivatives(scores, own_labels, boundaries, None, own_grad, own_hess)
            grad += weight * own_grad  # (18)
            hess += weight * own_hess
        np.maximum(hess, HESSIAN_FLOOR, out=hess)


class Mixture(Sum):
    """A weighted sum of two objectives."""

    @abstractmethod
    def _mixed(self) -> tuple[Any, Objective, Objective]:
        """Return the weight of the first objective (after `_at`, a number), and both objectives."""

    def _parts(self) -> list[Objective]:
        return list(self._mixed()[1:])

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return the parts of both objectives; see `Objective.parts`."""
        share, first, second = self._at(round)._mixed()
        return [
            *weighted(share, first.parts(view, round)),
            *weighted(1.0 - share, second.parts(view, round)),
        ]


def weighted(share: float, parts: Sequence[Part]) -> list[Part]:
    """Return parts with a share of their weights."""
    return [part._replace(weight=share * part.weight) for part in parts]


@dataclass(frozen=True)
class Mix(Mixture):
    """Two objectives mixed: ``tau_m first + (1 - tau_m) second`` in round m.

    After Wu, Chang, Zheng, Zha (CIKM 2009), equation (18), which goes from an easy loss to one that
    is not convex; `RegSHFSDCG` is that mixture. For a booster both parts are brought to one scale,
    a mean Hessian of 1, before they are added, so that tau weights their Newton steps. `loss` and
    `grad_hess` return the sum as it is written.

    Parameters
    ----------
    first, second : Objective
        Any two objectives, mixtures included, each with its own `hessian`. Their parameters for
        hosts must be left at the defaults; those of the mixture replace them.
    schedule : float or Schedule
        tau, the weight of `first`, from 0 to 1, such as ``Schedule("logistic", total_rounds)``.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range, and in `loss` and `grad_hess` for a
        missing `round` where it changes something.

    Notes
    -----
    Takes the time of both parts. Gradient and Hessian claim what the weaker of the parts claims.

    Examples
    --------
    >>> import boostrank
    >>> easy, hard = boostrank.RankNet(), boostrank.SDCG()
    >>> objective = boostrank.Mix(easy, hard, boostrank.Schedule("logistic", 100))
    >>> scores, labels, group = [0.0, 1.0], [1, 0], [2]
    >>> objective.grad_hess(scores, labels, group, round=1)[0].round(3).tolist()
    [-0.731, 0.731]
    >>> hard.grad_hess(scores, labels, group)[0].round(3).tolist()
    [-0.197, 0.197]
    >>> objective.grad_hess(scores, labels, group, round=100)[0].round(3).tolist()
    [-0.197, 0.197]
    """

    name: ClassVar[str] = "mix"
    hessians = OF_CHILDREN

    first: Objective
    second: Objective
    schedule: float | Schedule

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            check_part(name, getattr(self, name), type(self).__name__)
        if not isinstance(self.schedule, Schedule):
            self._set(schedule=check_share("schedule", self.schedule))
        super().__post_init__()

    def _mixed(self) -> tuple[Any, Objective, Objective]:
        return self.schedule, self.first, self.second
