"""Parameters that change with the boosting round.

Source of the named shapes: `logistic` is tau_m of Wu, Chang, Zheng, Zha (CIKM 2009), equation (19);
`halving` is the annealing of Chapelle, Wu (SmoothRank), section 4.4.2. `linear` and `geometric` are
the usual straight lines, in value and in its logarithm.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .validation import check_count, check_positive


def _logistic(round: int, total_rounds: int, first: float, last: float) -> float:
    if total_rounds <= 2:  # no gamma exists: its line through m = 1 and m = M/2 would be vertical
        return first if round == 1 else last
    gamma = math.log(first / last) / (total_rounds / 2 - 1.0)
    return 1.0 / (1.0 + math.exp(gamma * (round - total_rounds / 2)))  # (19)


def _halving(round: int, total_rounds: int, first: float, last: float) -> float:
    # Values first, first/2, ..., last, each for an equal share of the rounds.
    values = max(1, 1 + math.floor(math.log2(first) - math.log2(last) + 1e-9))
    return math.ldexp(first, -int((round - 1) * values // total_rounds))


def _linear(round: int, total_rounds: int, first: float, last: float) -> float:
    share = (round - 1) / max(1, total_rounds - 1)
    return first * (1.0 - share) + last * share


def _geometric(round: int, total_rounds: int, first: float, last: float) -> float:
    share = (round - 1) / max(1, total_rounds - 1)
    return math.pow(first, 1.0 - share) * math.pow(last, share)


# Shape -> function, default first and last value; None means that it must be given.
_SHAPES: dict[str, tuple[Callable[[int, int, float, float], float], float | None, float | None]] = {
    "logistic": (_logistic, 0.999999, 0.000001),
    "halving": (_halving, 2.0**6, 2.0**-6),
    "linear": (_linear, None, None),
    "geometric": (_geometric, None, None),
}


@dataclass(frozen=True)
class Schedule:
    """A parameter's value in every boosting round.

    Parameters
    ----------
    shape : {"logistic", "halving", "linear", "geometric"} or callable
        How the value goes from `first` to `last`:

        - ``"logistic"``: 1/(1 + exp(gamma (m - M/2))) in round m, 0.999999 in round 1 and 1/2 in
          round M/2; the weight tau_m of REG-SHF-SDCG. It takes no other `first` and `last`.
        - ``"halving"``: `first`, half of it, and so on down to `last`, each for an equal share of
          the rounds; SmoothRank's annealing.
        - ``"linear"``, ``"geometric"``: a straight line in the value or in its logarithm.
        - a callable ``f(round, total_rounds) -> float``; it must be picklable if the objective is
          to be, and goes without `first` and `last`.
    total_rounds : int
        M, the number of rounds that the booster will be trained for, at least 1. Rounds beyond it
        count as the last.
    first, last : float, optional
        Values in the first and in the last round, positive. Default for halving: 64 and 1/64;
        linear and geometric need both. Halving with fewer rounds than values leaves some out, also
        `last`.

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.

    Examples
    --------
    >>> import boostrank
    >>> annealing = boostrank.Schedule("halving", 130)
    >>> [annealing(m) for m in (1, 11, 130)]
    [64.0, 32.0, 0.015625]
    >>> boostrank.Schedule("linear", 5, first=1.0, last=3.0)(3)
    2.0
    >>> boostrank.Schedule(lambda m, total: 1.0 / m, 5)(4)
    0.25
    """

    shape: str | Callable[[int, int], float]
    total_rounds: int
    first: float | None = None
    last: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "total_rounds", check_count("total_rounds", self.total_rounds))
        if callable(self.shape):
            if self.first is not None or self.last is not None:
                raise ValueError("first and last belong to the named shapes, not to a callable")
            try:
                inspect.signature(self.shape).bind(1, 1)
            except TypeError:
                raise TypeError(
                    f"shape must be callable as f(round, total_rounds), got {self.shape!r}"
                ) from None
            return
        if not isinstance(self.shape, str) or self.shape not in _SHAPES:
            raise ValueError(
                f"shape must be one of {', '.join(map(repr, _SHAPES))} or a callable "
                f"f(round, total_rounds); got {self.shape!r}"
            )
        _, first, last = _SHAPES[self.shape]
        for name, value, default in (("first", self.first, first), ("last", self.last, last)):
            if value is None and default is None:
                raise ValueError(f"{name} is missing: a {self.shape} schedule needs first and last")
            checked = default if value is None else check_positive(name, value)
            object.__setattr__(self, name, checked)
        first, last = self._ends()
        if self.shape == "halving" and first < last:
            raise ValueError(f"first must not be below last in halving, got {first} and {last}")
        if self.shape == "logistic" and (first, last) != _SHAPES["logistic"][1:]:
            raise ValueError("first and last cannot be chosen for a logistic schedule")

    def _ends(self) -> tuple[float, float]:
        assert self.first is not None
        assert self.last is not None
        return self.first, self.last

    def __call__(self, round: int) -> float:
        """Return the value in a boosting round.

        Parameters
        ----------
        round : int
            From 1; beyond `total_rounds` it counts as the last.

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If `round` is no whole number from 1.
        """
        m = min(check_count("round", round), self.total_rounds)
        if callable(self.shape):
            return self.shape(m, self.total_rounds)
        return _SHAPES[self.shape][0](m, self.total_rounds, *self._ends())


def check_positive_or_schedule(name: str, value: Any) -> float | Schedule:
    """Return a parameter that must be a positive number, or a schedule of such numbers."""
    return value if isinstance(value, Schedule) else check_positive(name, value)
