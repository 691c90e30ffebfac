"""REG-SHF-SDCG: from squared error to SHF-SDCG over the boosting rounds.

Source
    Wu, Chang, Zheng, Zha: Smoothing DCG for learning to rank: a novel approach using smoothed
    hinge functions. CIKM 2009, section 3.3, equations (18) and (19).

Definition
    loss_m = tau_m R + (1 - tau_m) S                                            (18)
    tau_m  = 1/(1 + exp(gamma (m - M/2))), m = 1..M the boosting round          (19)
    with gamma such that tau_1 = 0.999999: gamma = ln(999999)/(M/2 - 1). Then tau_{M/2} = 1/2.
    For M <= 2 no such gamma exists: the first round has tau = 0.999999, a second 0.000001.
    Rounds beyond M count as M.

Symbols
    R the loss of Regression, S the loss of SHFSDCG, M `total_rounds`.

Gradient
    The same mixture of both gradients: exact, or for fixed s_m with `k` (see SHFSDCG).

Hessians
    exact, gauss-newton, constant: the same mixture of both objectives' Hessians of that name.

Degenerate queries
    The part of SHF-SDCG is zero; the regression part stays, weighted by tau_m.

Cost
    O(n^2).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .base import GRADES, Contract, Objective
from .numerics import HESSIAN_FLOOR
from .regression import Regression
from .schedules import Schedule
from .shf_sdcg import SHFSDCG
from .validation import Floats, Integers, check_share


@dataclass(frozen=True, kw_only=True)
class RegSHFSDCG(Objective):
    """Squared error that turns into SHF-SDCG over the boosting rounds.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (18) and (19):
    ``loss_m = tau_m R + (1 - tau_m) S`` with R the regression error (see `Regression`), S the loss
    of `SHFSDCG` and ``tau_m = 1/(1 + exp(gamma (m - M/2)))`` falling from 0.999999 in the first of
    M rounds through 1/2 in the middle one: a good start for a loss that is not convex.

    Parameters
    ----------
    total_rounds : int
        M, the number of rounds that the booster will be trained for, at least 1. No default: the
        schedule is meaningless without it.
    k : int, optional
        Rank cut-off of the SHF-SDCG part, at least 1. Default None: the whole list.
    alpha : float or Schedule, default 1.0
        Steepness of sigmoid and hinge in score units, positive. Unlike in SHF-SDCG alone it is not
        redundant: the regression part sets the scale of the scores.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide the SHF-SDCG part of every query by its ideal DCG.
    target : {"grade", "gain"}, default "grade"
        What the regression part fits.
    tau : float or Schedule, optional
        Weight of the regression part, from 0 to 1. Default None: the paper's logistic schedule over
        `total_rounds`.
    hessian : {"gauss-newton", "exact", "constant"}, default "gauss-newton"
        As in `SHFSDCG`, mixed with the regression's by tau.

    Raises
    ------
    TypeError, ValueError
        For a parameter of another kind or out of its range; `loss` and `grad_hess` without `round`.

    Notes
    -----
    `loss` and `grad_hess` need `round`, from 1; inside a host it is counted. O(n^2) time for a
    query of n documents, O(n) memory.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.RegSHFSDCG(total_rounds=100)
    >>> scores, labels, group = [0.0, 1.0], [1, 0], [2]
    >>> objective.grad_hess(scores, labels, group, round=1)[0].round(3).tolist()
    [-2.0, 2.0]
    >>> objective.grad_hess(scores, labels, group, round=100)[0].round(3).tolist()
    [-0.062, 0.062]
    """

    name: ClassVar[str] = "reg-shf-sdcg"
    hessian_share: ClassVar[float] = SHFSDCG.hessian_share

    total_rounds: int
    k: int | None = None
    alpha: float | Schedule = 1.0
    beta: float | Schedule = 1.0
    normalize: bool = True
    target: str = "grade"
    tau: float | Schedule | None = None
    hessian: str = "gauss-newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        ranking, regression = self._parts()  # checks their parameters
        logistic = Schedule("logistic", self.total_rounds)
        self._set(
            total_rounds=logistic.total_rounds,
            k=ranking.k,
            alpha=ranking.alpha,
            beta=ranking.beta,
            normalize=ranking.normalize,
            target=regression.target,
        )
        if self.tau is not None and not isinstance(self.tau, Schedule):
            self._set(tau=check_share("tau", self.tau))

    def _schedules(self) -> dict[str, Schedule]:
        schedules = super()._schedules()
        if self.tau is None:
            schedules["tau"] = Schedule("logistic", self.total_rounds)  # (19)
        return schedules

    def _parts(self) -> tuple[SHFSDCG, Regression]:
        ranking = SHFSDCG(
            k=self.k,
            alpha=self.alpha,
            beta=self.beta,
            normalize=self.normalize,
            hessian=self.hessian,
        )
        return ranking, Regression(target=self.target, hessian=self.hessian)

    def _share(self) -> float:
        """Weight of the regression part, once `_at` has put a number in the schedule's place."""
        assert isinstance(self.tau, float)
        return self.tau

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        ranking = self._parts()[0].contract
        return Contract(
            gradient=ranking.gradient,
            hessian=ranking.hessian,
            shift_invariant=False,
            labels=GRADES,
            cost=ranking.cost,
            frozen=ranking.frozen,
        )

    # What overflows is refused by the caller, also where its share is zero.
    @np.errstate(invalid="ignore")
    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        ranking, regression = self._parts()
        share = self._share()
        part = np.zeros_like(loss)
        ranking._loss(scores, labels, boundaries, part)
        regression._loss(scores, labels, boundaries, loss)
        loss *= share
        loss += (1.0 - share) * part  # (18)

    @np.errstate(invalid="ignore")
    def _grad_hess(
        self, scores: Floats, labels: Floats, boundaries: Integers, grad: Floats, hess: Floats
    ) -> None:
        ranking, regression = self._parts()
        share = self._share()
        part_grad, part_hess = np.zeros_like(grad), hess.copy()
        ranking._grad_hess(scores, labels, boundaries, part_grad, part_hess)
        regression._grad_hess(scores, labels, boundaries, grad, hess)
        grad *= share
        grad += (1.0 - share) * part_grad  # (18)
        hess *= share
        hess += (1.0 - share) * part_hess
        np.maximum(hess, HESSIAN_FLOOR, out=hess)
