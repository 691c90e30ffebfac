"""Blend: the recommended objective, losses on one scale, and one dial between noisy and clean.

Definition
    loss = q Q + r R + s S + x X: Q the loss of QueryRMSE, R that of RankNet, S that of SHF-SDCG, X
    that of XE-NDCG with gamma 1/2. In a booster each part is first scaled to a mean Hessian of 1
    (see Mix), and S, X, and R where it is not normalised, learn from scores with Gumbel noise of
    scale 1/2.

    signal    q      r                           s                 x
    lowest    .15    -                           .6, alpha = 4     .25
    low       .5     .25, sigma = 2              .25, alpha = 2    -
    medium    .2     .2, norm with offset .1     .3, alpha = 2     .3
    high      -      .75, norm with offset .1    .25, alpha = 2    -
    highest   -      .9, norm with offset .01    .1, alpha = 2     -

Why these
    Q fits grades and wants score gaps equal to grade gaps: a spring that helps where labels are
    noisy and holds back where they are clean. R orders pairs; divided by offset + |s_i - s_j| it
    fits the faster, the smaller the offset, because near ties count most. S gives most weight to
    pairs with a document of high gain, and overfits least, the less the wider its noise is against
    its sigmoid. X compares each document with the whole list, and errs elsewhere than S. All that
    was tried lies on one line, from what overfits least to what fits fastest (docs/accuracy.md);
    the settings are five places on it.

Gradient, Hessians, degenerate queries, cost
    Those of a Mix of the parts.

When to use
    Begin here. The default is in the middle. "high" and "highest" are for clean labels and so many
    queries that all rounds still help, "low" and "lowest" for few queries or noisy grades, where
    models overfit. "auto" is set from the training data by boostrank's rankers and commands.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from .base import Objective
from .gains import Gain, gain_field
from .mix import Sum
from .parameters import choice, noise, positive
from .query_rmse import QueryRMSE
from .ranknet import RankNet
from .shf_sdcg import SHFSDCG
from .view import Part, View
from .xe_ndcg import XENDCG

AUTO = "auto"
Weighted = tuple[tuple[float, Objective], ...]


class Setting(NamedTuple):
    """One place on the line: the weights of the parts, and their parameters."""

    of_grades: float  # QueryRMSE
    of_pairs: float  # RankNet
    of_top: float  # SHF-SDCG
    of_list: float = 0.0  # XE-NDCG
    alpha: float = 2.0
    offset: float | None = None  # None: not normalised, with sigma = 2


#: From noisy to clean.
SETTINGS = {
    "lowest": Setting(0.15, 0.0, 0.6, 0.25, alpha=4.0),
    "low": Setting(0.5, 0.25, 0.25),
    "medium": Setting(0.2, 0.2, 0.3, 0.3, offset=0.1),
    "high": Setting(0.0, 0.75, 0.25, offset=0.1),
    "highest": Setting(0.0, 0.9, 0.1, offset=0.01),
}


@dataclass(frozen=True, kw_only=True)
class Blend(Sum):
    """The recommended objective: up to four losses, mixed by how clean the data are.

    They are QueryRMSE, RankNet, SHF-SDCG and XE-NDCG. A booster gets them on one scale, each with a
    mean Hessian of 1, and those that fit noise most get noise of scale 1/2 on their scores. `gain`
    is that of SHF-SDCG and XE-NDCG. To use other parts, combine them with `Mix`.

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

    def _weighted(self) -> Weighted:
        return _weighted(self.signal, self.gain, self.hessian)

    def _parts(self) -> list[Objective]:
        return [part for _, part in self._weighted()]

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return the losses of the setting; see `Objective.parts`."""
        if self.signal == AUTO:
            raise ValueError(
                'signal="auto" is chosen from the training data by boostrank\'s rankers and '
                f"commands; elsewhere name one of {', '.join(SETTINGS)}, or call "
                "boostrank.choose_signal"
            )
        return [Part(weight, part, view.labels) for weight, part in self._weighted()]


@lru_cache  # called in every round
def _weighted(signal: str, gain: Gain, hessian: str) -> Weighted:
    setting = SETTINGS["medium" if signal == AUTO else signal]
    pairs = RankNet(sigma=2.0, hessian=hessian)
    if setting.offset is not None:
        pairs = RankNet(norm=True, offset=setting.offset, hessian=hessian)
    parts = (
        (setting.of_grades, QueryRMSE(hessian=hessian)),
        (setting.of_pairs, pairs),
        (setting.of_top, SHFSDCG(alpha=setting.alpha, gain=gain, hessian=hessian)),
        (setting.of_list, XENDCG(gamma=0.5, gain=gain, hessian=hessian)),
    )
    return tuple((weight, part) for weight, part in parts if weight > 0.0)
