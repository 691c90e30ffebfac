"""Blend: the recommended objective, losses on one scale, and one dial between noisy and clean.

Definition
    loss = q Q + r R + s S: Q the loss of QueryRMSE, R that of RankNet, S that of SHF-SDCG. In a
    booster each part is first scaled to a mean Hessian of 1 (see Mix), and S, and R where it is not
    normalised, learn from scores with Gumbel noise of scale 1/2.

    signal    q      r                                   s
    lowest    .15    -                                   .85, alpha = 4
    low       .5     .25, sigma = 2                      .25, alpha = 2
    medium    .25    .4, norm with offset .1             .35, alpha = 2
    high      -      .75, norm with offset .1            .25, alpha = 2
    highest   -      .9, norm with offset .01            .1, alpha = 2

Why these
    Q fits grades and wants score gaps equal to grade gaps: a spring that helps where labels are
    noisy and holds back where they are clean. R orders pairs; divided by offset + |s_i - s_j| it
    fits the faster, the smaller the offset, because near ties count most. S gives most weight to
    pairs with a document of high gain, and overfits least, the less the wider its noise is against
    its sigmoid. All that was tried lies on one line, from what overfits least to what fits fastest
    (docs/accuracy.md); the settings are five places on it.

Gradient, Hessians, degenerate queries, cost
    Those of a Mix of the parts.

When to use
    Begin here. The default is in the middle. "high" and "highest" are for clean labels and so many
    queries that all rounds still help, "low" and "lowest" for few queries or noisy grades, where
    models overfit. "auto" is set from the training data by boostrank's rankers and commands.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple, Self, TypeGuard

from .base import Objective
from .gains import Gain, gain_field
from .mix import Mix, Mixture
from .parameters import choice, noise, positive
from .query_rmse import QueryRMSE
from .ranknet import RankNet
from .shf_sdcg import SHFSDCG

AUTO = "auto"


class Setting(NamedTuple):
    """One place on the line: the weights of the parts, and their parameters."""

    of_grades: float  # QueryRMSE
    of_pairs: float  # RankNet
    of_top: float  # SHF-SDCG
    alpha: float = 2.0
    offset: float | None = None  # None: not normalised, with sigma = 2


#: From noisy to clean.
SETTINGS = {
    "lowest": Setting(0.15, 0.0, 0.85, alpha=4.0),
    "low": Setting(0.5, 0.25, 0.25),
    "medium": Setting(0.25, 0.4, 0.35, offset=0.1),
    "high": Setting(0.0, 0.75, 0.25, offset=0.1),
    "highest": Setting(0.0, 0.9, 0.1, offset=0.01),
}


@dataclass(frozen=True, kw_only=True)
class Blend(Mixture):
    """The recommended objective: QueryRMSE, RankNet and SHF-SDCG, mixed by how clean the data are.

    A booster gets the parts on one scale, each with a mean Hessian of 1, and those that fit noise
    most get noise of scale 1/2 on their scores. `gain` is that of SHF-SDCG. To use other parts,
    combine them with `Mix`.

    Parameters
    ----------
    signal : {"lowest", "low", "medium", "high", "highest", "auto"}, default "medium"
        How much of what the trees can fit is signal. Low settings overfit least, which counts where
        queries are few or grades noisy. High ones fit fastest, which counts where labels are clean
        and the rounds underfit. "auto" leaves it to boostrank's rankers and commands, which compare
        the settings on the training queries (`boostrank.choose_signal`). Their halves are drawn by
        `seed` and the order of the queries, so that another order may lead to another setting.
    hessian : {"gauss-newton", "constant"}, default "gauss-newton"
        The Hessian of each part, mixed; constant is plain gradient boosting.
    gain, rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range. With "auto", also when it is used before
        the setting is chosen.

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

    signal: str = choice("medium", (*SETTINGS, AUTO))
    gain: Gain = gain_field()
    hessian: str = "gauss-newton"
    perturb: str | None = noise("gumbel")
    perturb_scale: float = positive(0.5)

    def _mixed(self) -> tuple[float, Objective, Objective]:
        return _parts(self.signal, self.gain, self.hessian)

    def _at(self, round: int | None) -> Self:
        if self.signal == AUTO:
            raise ValueError(
                'signal="auto" is chosen from the training data by boostrank\'s rankers and '
                "commands, but not inside another objective; elsewhere name one of "
                f"{', '.join(SETTINGS)}, or call boostrank.choose_signal"
            )
        return super()._at(round)


def is_auto(objective: object) -> TypeGuard[Blend]:
    """Tell whether an objective is to be set from the training data."""
    return isinstance(objective, Blend) and objective.signal == AUTO


@lru_cache  # called in every round
def _parts(signal: str, gain: Gain, hessian: str) -> tuple[float, Objective, Objective]:
    setting = SETTINGS["medium" if signal == AUTO else signal]
    grades = QueryRMSE(hessian=hessian)
    top = SHFSDCG(alpha=setting.alpha, gain=gain, hessian=hessian)
    if setting.of_pairs == 0.0:
        return setting.of_grades, grades, top
    pairs = RankNet(sigma=2.0, hessian=hessian)
    if setting.offset is not None:
        pairs = RankNet(norm=True, offset=setting.offset, hessian=hessian)
    if setting.of_grades == 0.0:
        return setting.of_pairs, pairs, top
    rest = setting.of_pairs + setting.of_top
    return setting.of_grades, grades, Mix(pairs, top, setting.of_pairs / rest)
