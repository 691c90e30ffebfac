"""What objectives made of other objectives share: they ask the objectives inside."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from .base import HOST_PARAMETERS, Objective
from .contract import Contract, HessianKind
from .gains import Gain
from .schedules import Schedule
from .validation import narrowest

# From the strongest claim to the weakest.
_GRADIENTS = ("exact", "frozen", "subgradient")
_HESSIANS: tuple[HessianKind, ...] = ("exact", "majorizer", "surrogate", "constant")
#: The `hessians` of a class for which it is no parameter: it is chosen for each child.
OF_CHILDREN: Mapping[str, HessianKind] = {kind: kind for kind in _HESSIANS}


class Composite(Objective):
    """An objective made of others, its children, which it asks for all that it does not know."""

    if not TYPE_CHECKING:  # unless it is a parameter of the class

        @property
        def hessian(self) -> str:
            """What the Hessian of the whole claims to be."""
            return self.contract.hessian

    def children(self) -> dict[str, Objective]:
        """Return the objectives among the parameters, by name."""
        values = {own.name: getattr(self, own.name) for own in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Objective)}

    def with_children(self, children: Mapping[str, Objective]) -> Self:
        """Return a copy with these objectives in place of its children."""
        return self.replace(**self._as_parameters(children))

    def _as_parameters(self, children: Mapping[str, Objective]) -> dict[str, Any]:
        """Return the parameters that hold these children."""
        return dict(children)

    def _of_hosts_label(self) -> dict[str, Objective]:
        """Return the children for the host's label, which alone take its gain: all of them."""
        return self.children()

    def _parts(self) -> list[Objective]:
        """Return the objectives that the loss is made of: the children."""
        return list(self.children().values())

    @property
    def n_draws(self) -> int:
        """How many uniform numbers a booster draws per document and round, for all parts."""
        return sum(part.n_draws for part in self._parts())

    @property
    def of_rows(self) -> bool:
        """Whether a child has something for rows of the data."""
        return any(child.of_rows for child in self.children().values())

    @property
    def exponential_gains(self) -> bool:
        """Whether a part takes a grade y as 2^y."""
        return any(part.exponential_gains for part in self._parts())

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain`, its own or that of a child, makes a difference."""
        inside = self._of_hosts_label().values()
        return super().counts_gains or any(each.counts_gains for each in inside)

    @property
    def _gain(self) -> Gain:
        """Its own gain, or that of the first child that counts gains."""
        return super()._gain if super().counts_gains else next(iter(self._gains), "linear")

    @property
    def _gains(self) -> tuple[Gain, ...]:
        if super().counts_gains:
            return super()._gains
        return tuple(gain for each in self._of_hosts_label().values() for gain in each._gains)

    def with_gain(self, gain: Any) -> Self:
        """Return a copy with another gain, its own or that of the children that count gains."""
        if super().counts_gains:
            return super().with_gain(gain)
        changed = {name: each.with_gain(gain) for name, each in self._of_hosts_label().items()}
        return self.with_children(self.children() | changed)

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        first, *others = (part.contract for part in self._parts())
        for other in others:
            first = Contract(
                gradient=max(first.gradient, other.gradient, key=_GRADIENTS.index),
                hessian=_weaker(first.hessian, other.hessian),
                shift_invariant=first.shift_invariant and other.shift_invariant,
                labels=narrowest(first.labels, other.labels),
                cost=max(first.cost, other.cost),
                frozen=joined(first.frozen, other.frozen),
                kinks=joined(first.kinks, other.kinks),
                convex=first.convex and other.convex,
                metric_offset=max(first.metric_offset, other.metric_offset),
            )
        return first

    def _schedules(self) -> dict[str, Schedule]:
        return super()._schedules() | {
            f"{name}.{parameter}": schedule
            for name, child in self.children().items()
            for parameter, schedule in child._schedules().items()
        }

    def _values(self, round: int) -> dict[str, Any]:
        schedules = self._schedules().items()
        own = {name: value(round) for name, value in schedules if "." not in name}
        inside = {name: child._at(round) for name, child in self.children().items()}
        return own | self._as_parameters(inside)


def all_inside(objective: Objective) -> Iterator[Objective]:
    """Yield an objective, after all objectives inside it."""
    for child in objective.children().values() if isinstance(objective, Composite) else ():
        yield from all_inside(child)
    yield objective


def _weaker(first: HessianKind, second: HessianKind) -> HessianKind:
    if first == second:
        return first
    return "majorizer" if {first, second} == {"exact", "majorizer"} else "surrogate"


@dataclass(frozen=True, kw_only=True)
class Around(Composite):
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
        """Return a copy with other parameters; those of hosts and `hessian` go to the one inside.

        Parameters
        ----------
        **changes

        Returns
        -------
        Objective
        """
        taken = (*HOST_PARAMETERS, "hessian")
        inner = {name: changes.pop(name) for name in taken if name in changes}
        if inner:
            changes["objective"] = changes.get("objective", self.objective).replace(**inner)
        return super().replace(**changes)


def check_inner(name: str, part: object) -> Objective:
    """Return `part` if another objective may hold it."""
    if not isinstance(part, Objective):
        raise TypeError(f"{name} must be an objective such as boostrank.Blend(), got {part!r}")
    if part.outermost:
        own = type(part).__name__
        raise ValueError(
            f"{name} must not be {own}, which goes around all others: {own}(...) takes mixtures too"
        )
    return part


def check_part(name: str, part: object, whole: str) -> None:
    """Refuse what cannot be a part, and host parameters, which hosts read only from the whole."""
    for own in fields(check_inner(name, part)):
        value = getattr(part, own.name)
        if own.name in HOST_PARAMETERS and value != own.default:
            raise ValueError(
                f"{name} must not have {own.name} of its own, got {value!r}: hosts call the "
                f"whole {whole}; give it {own.name}="
            )


def joined(*texts: str) -> str:
    """Return the texts of several parts as one, each once."""
    return "; ".join(dict.fromkeys(filter(None, texts)))
