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
    R with center=True (default) the loss of QueryRMSE, with center=False that of Regression, which
    is the paper's; S the loss of SHFSDCG, M `total_rounds`.

Why centred
    Regression also fits how good a query is as a whole, which ranks nothing, and overfits it where
    queries are few: on OHSUMED, the paper's data, before SHF-SDCG takes over.

Gradient
    The same mixture of both gradients: exact, or for fixed s_m with `k` (see SHFSDCG).

Hessians
    gauss-newton, constant: the same mixture of both objectives' Hessians of that name.

Scale
    As in any Mix, a booster gets the parts on one scale; the paper says nothing about this. As (18)
    is written, S has about a thousandth of R's gradients and takes over only near m = 2M/3, with
    steps of a different size than before.

Degenerate queries
    Zero loss and gradient; with center=False the regression part stays, weighted by tau_m.

Cost
    That of SHF-SDCG.

When to use
    When the number of rounds is fixed beforehand and a regression on the grades is a good start.
    Early stopping may end in the first half, before the ranking part has begun. The rankers and
    ``boostrank train --valid`` wait for the second half; the hosts' own calls do not.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import Objective
from .gains import Gain, gain_field
from .mix import Mixture
from .parameters import choice, flag, noise, positive
from .query_rmse import QueryRMSE
from .regression import Regression
from .schedules import Schedule
from .shf_sdcg import SHFSDCG
from .validation import check_share


@dataclass(frozen=True, kw_only=True)
class _CentredRegression(QueryRMSE):
    """QueryRMSE of grades or gains."""

    gain: Gain = gain_field()


@dataclass(frozen=True, kw_only=True)
class RegSHFSDCG(Mixture):
    """Squared error that turns into SHF-SDCG over the boosting rounds.

    Wu, Chang, Zheng, Zha (CIKM 2009), equations (18) and (19):
    ``loss_m = tau_m R + (1 - tau_m) S`` with R the regression error within queries (see
    `QueryRMSE`), S the loss of `SHFSDCG` and ``tau_m = 1/(1 + exp(gamma (m - M/2)))`` falling from
    0.999999 in the first of M rounds through 1/2 in the middle one: a good start for a loss that is
    not convex. It is a `Mix`: for a booster both parts are brought to one scale before they are
    added.

    Parameters
    ----------
    total_rounds : int
        M, the number of rounds that the booster will be trained for, at least 1. No default: the
        schedule is meaningless without it.
    k : int, optional
        Rank cut-off of the SHF-SDCG part, at least 1. Default None: the whole list.
    alpha : float or Schedule, default 1.0
        Steepness of sigmoid and hinge in score units, positive. It counts, since the regression
        part sets the scale of the scores, which is that of grades. The larger, the faster SHF-SDCG
        fits and the sooner it overfits: 1 suits a few hundred queries, 5 thousands of them. The
        noise should shrink with it, as ``perturb_scale=1/alpha``.
    beta : float or Schedule, default 1.0
        Steepness of the cut-off in ranks, positive; without `k` it has no effect.
    normalize : bool, default True
        Divide the SHF-SDCG part of every query by its ideal DCG.
    discount : {"linear", "sqrt", "log2", "reciprocal"} or sequence, default "linear"
        As in `SHFSDCG`; the paper's is "log2".
    gain : see `Objective`
    target : {"grade", "gain"}, default "grade"
        What the regression part fits.
    center : bool, default True
        Whether the regression fits the grades of a query up to a constant, as `QueryRMSE` does.
        False is the paper's own form, `Regression`, which overfits where queries are few.
    tau : float or Schedule, optional
        Weight of the regression part, from 0 to 1. Default None: the paper's logistic schedule over
        `total_rounds`.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        As in `SHFSDCG`, mixed with the regression's by tau.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range, and in `loss` and `grad_hess` for a
        missing `round`.

    Notes
    -----
    `loss` and `grad_hess` need `round`, from 1; inside a host it is counted for you. Time and
    memory are those of `SHFSDCG`.

    Examples
    --------
    >>> import boostrank
    >>> objective = boostrank.RegSHFSDCG(total_rounds=100)
    >>> scores, labels, group = [0.0, 1.0], [1, 0], [2]
    >>> objective.grad_hess(scores, labels, group, round=1)[0].round(3).tolist()
    [-1.0, 1.0]
    >>> objective.grad_hess(scores, labels, group, round=100)[0].round(3).tolist()
    [-0.25, 0.25]
    """

    name: ClassVar[str] = "reg-shf-sdcg"

    total_rounds: int
    k: int | None = None
    alpha: float | Schedule = 1.0
    beta: float | Schedule = 1.0
    normalize: bool = True
    discount: str | tuple[float, ...] = "linear"
    target: str = choice("grade", ("grade", "gain"))
    center: bool = flag(True)
    gain: Gain = gain_field()
    tau: float | Schedule | None = None
    hessian: str = "gauss-newton"
    # The noise of SHF-SDCG, in score units: 1/alpha.
    perturb: str | None = noise("gumbel")
    perturb_scale: float = positive(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        *_, ranking = self._mixed()  # checks their parameters
        logistic = Schedule("logistic", self.total_rounds)
        self._set(
            total_rounds=logistic.total_rounds,
            k=ranking.k,
            alpha=ranking.alpha,
            beta=ranking.beta,
            normalize=ranking.normalize,
            discount=ranking.discount,
        )
        if self.tau is not None and not isinstance(self.tau, Schedule):
            self._set(tau=check_share("tau", self.tau))

    def _schedules(self) -> dict[str, Schedule]:
        schedules = super()._schedules()
        if self.tau is None:
            schedules["tau"] = Schedule("logistic", self.total_rounds)  # (19)
        return schedules

    def _mixed(self) -> tuple[Any, Objective, SHFSDCG]:
        regression: Objective
        if self.center:
            fitted = self.gain if self.target == "gain" else "linear"
            regression = _CentredRegression(gain=fitted, hessian=self.hessian)
        else:
            regression = Regression(target=self.target, hessian=self.hessian).with_gain(self.gain)
        ranking = SHFSDCG(
            k=self.k,
            alpha=self.alpha,
            beta=self.beta,
            normalize=self.normalize,
            gain=self.gain,
            discount=self.discount,
            hessian=self.hessian,
        )
        return self.tau, regression, ranking
