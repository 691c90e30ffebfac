"""What objectives that wrap another one share: `Unbiased` and `Preferences`."""

from dataclasses import dataclass, field
from typing import Any, Self

from .base import HOST_PARAMETERS, Objective
from .schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Around(Objective):
    """An objective that wraps another one, `objective`, and takes its host parameters from it."""

    objective: Any
    # `Mix` refuses parts whose values differ from these defaults.
    rescale: bool = field(init=False, default=True)
    perturb: str | None = field(init=False, default=None)
    perturb_scale: float = field(init=False, default=1.0)
    query_fraction: float = field(init=False, default=1.0)
    seed: int = field(init=False, default=0)
    start_round: int | None = field(init=False, default=None)
    hessian: str = field(init=False, repr=False, default="")

    def _take_over(self) -> None:
        """Copy the host parameters from inside; subclasses call this after checking `objective`."""
        for name in (*HOST_PARAMETERS, "hessian"):
            self._set(**{name: getattr(self.objective, name)})

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other parameters; host parameters go to the objective inside.

        Parameters
        ----------
        **changes

        Returns
        -------
        Objective
        """
        inner = {name: changes.pop(name) for name in HOST_PARAMETERS if name in changes}
        if inner:
            changes["objective"] = changes.get("objective", self.objective).replace(**inner)
        return super().replace(**changes)

    @property
    def n_draws(self) -> int:
        """How many uniform numbers a booster draws per document and round."""
        return int(self.objective.n_draws)

    def _schedules(self) -> dict[str, Schedule]:
        return {f"objective.{name}": value for name, value in self.objective._schedules().items()}

    def _values(self, round: int) -> dict[str, Any]:
        return {"objective": self.objective._at(round)}
