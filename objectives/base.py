"""The class every objective extends, and the contract that tests and documentation read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from .numerics import HESSIAN_FLOOR, HESSIANS
from .schedules import Schedule
from .threads import over_queries
from .validation import (
    MAX_GRADE,
    Floats,
    Integers,
    check_choice,
    check_count,
    check_group,
    check_labels,
    check_scores,
    check_weight,
)


@dataclass(frozen=True)
class Contract:
    """What an objective's gradient and Hessian claim to be.

    Attributes
    ----------
    gradient : {"exact", "frozen", "subgradient"}
        Derivative of the loss; derivative with the quantities named by `frozen` held constant; one
        subgradient of a loss with kinks.
    hessian : {"exact", "gauss-newton", "constant"}
        Diagonal of the Hessian (of the loss with the same quantities frozen, floored positive);
        a positive curvature whose formula the objective's page states; 1 everywhere.
    shift_invariant : bool
        Whether the loss depends on score differences only. Gradients then sum to zero inside every
        query, and a query with nothing to rank (fewer than two documents, or all grades equal)
        contributes exactly zero.
    labels : str
        The label domain.
    cost : str
        Time for a query of n documents.
    frozen : str
        What the derivatives hold constant; empty where nothing is.
    """

    gradient: Literal["exact", "frozen", "subgradient"]
    hessian: Literal["exact", "gauss-newton", "constant"]
    shift_invariant: bool
    labels: str
    cost: str
    frozen: str = ""


GRADES = f"finite grades, 0 <= y <= {MAX_GRADE:g}"


@dataclass(frozen=True, kw_only=True)
class Objective(ABC):
    """A ranking loss: immutable, hashable, picklable; its parameters are its attributes."""

    name: ClassVar[str]
    #: The choices of `hessian` with what each of them claims to be.
    hessians: ClassVar[Mapping[str, Literal["exact", "gauss-newton", "constant"]]] = {
        "gauss-newton": "gauss-newton",
        "exact": "exact",
        "constant": "constant",
    }

    #: Smallest Hessian that a booster should be handed, as a share of the mean over all documents
    #: with a gradient.
    hessian_share: ClassVar[float] = 0.0

    if TYPE_CHECKING:  # every class declares it itself, last, so that repr shows it last
        hessian: str

    def __post_init__(self) -> None:
        check_choice("hessian", self.hessian, self.hessians)

    def _set(self, **values: Any) -> None:
        """Store checked parameters while the object is being built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # Hosts copy an objective several times; an immutable one need not be.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other parameters.

        Parameters
        ----------
        **changes
            Parameters of the class with their new values.

        Returns
        -------
        Objective

        Raises
        ------
        TypeError
            For a name that is no parameter of this objective.
        """
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(sorted(known))}"
                )
        return replace(self, **changes)

    @property
    def scheduled(self) -> bool:
        """Whether the loss changes with the boosting round (`round` is then required)."""
        return bool(self._schedules())

    def _schedules(self) -> dict[str, Schedule]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Schedule)}

    def _at(self, round: int | None) -> Self:
        """Return this objective as it is in a boosting round: with numbers for schedules."""
        if not self.scheduled:
            return self
        if round is None:
            raise ValueError(
                f"round is missing: this {self.name} changes with the boosting round; "
                "pass round=1, 2, ... (inside a host it is counted for you)"
            )
        return replace(self, **self._values(check_count("round", round)))

    def _values(self, round: int) -> dict[str, Any]:
        """Return the parameters that a round changes."""
        return {name: value(round) for name, value in self._schedules().items()}

    @property
    def _draws(self) -> bool:
        """Whether every round of a booster draws something anew, for `_drawn`."""
        return False

    def _drawn(self, rng: np.random.Generator, n_docs: int) -> "Objective":
        """Return this objective with what it draws for the documents of one round of a booster."""
        return self

    def _parts(self, round: int | None) -> tuple[tuple[float, "Objective"], ...]:
        """Return weights and objectives that the loss of a round is the sum of."""
        return ((1.0, self._at(round)),)

    @property
    @abstractmethod
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""

    def loss(
        self,
        scores: Any,
        labels: Any,
        group: Any,
        *,
        weight: Any = None,
        round: int | None = None,
    ) -> Floats:
        """Loss of every query.

        Parameters
        ----------
        scores : array_like (n_docs,)
            Raw scores, finite.
        labels : array_like (n_docs,)
            Grades, in the domain that `contract` names.
        group : array_like (n_queries,)
            Sizes of consecutive queries, adding up to n_docs.
        weight : array_like (n_queries,), optional
            Multiplies each query's loss. Default: 1.
        round : int, optional
            Boosting round, from 1; needed by scheduled objectives, ignored by others.

        Returns
        -------
        float64 array (n_queries,)

        Raises
        ------
        TypeError, ValueError
            For anything else than the above; the message names the argument. Weights for each
            document are refused: they multiply gradients, and no loss has those. Also for a loss
            that float64 cannot hold, naming the query: squares of scores beyond 1e154, say.
        """
        s, y, boundaries = self._checked(scores, labels, group)
        n_queries = len(boundaries) - 1
        loss = np.zeros(n_queries)
        self._at(round)._loss(s, y, boundaries, loss)
        if weight is not None:
            w = check_weight(weight, len(s), n_queries)
            if len(w) != n_queries:
                raise ValueError(
                    f"weight must have one value for each of the {n_queries} queries, got {len(w)}:"
                    " weights for each document multiply gradients and Hessians, not a loss"
                )
            with np.errstate(over="ignore", invalid="ignore"):
                loss *= w
        bad = ~np.isfinite(loss)
        if bad.any():
            raise self._not_finite("loss", f"query {np.argmax(bad)}")
        return loss

    def grad_hess(
        self,
        scores: Any,
        labels: Any,
        group: Any,
        *,
        weight: Any = None,
        round: int | None = None,
    ) -> tuple[Floats, Floats]:
        """Gradient and Hessian diagonal of the summed loss.

        Parameters
        ----------
        scores : array_like (n_docs,)
            Raw scores, finite.
        labels : array_like (n_docs,)
            Grades, in the domain that `contract` names.
        group : array_like (n_queries,)
            Sizes of consecutive queries, adding up to n_docs.
        weight : array_like (n_queries,) or (n_docs,), optional
            For each query: multiplies its loss, and so its gradient and Hessian. For each document:
            multiplies its gradient and Hessian. Told apart by length. Default: 1.
        round : int, optional
            Boosting round, from 1; needed by scheduled objectives, ignored by others.

        Returns
        -------
        grad, hess : float64 arrays (n_docs,)
            `hess` is positive before weights: at least 1e-10.

        Raises
        ------
        TypeError, ValueError
            For anything else than the above; the message names the argument. Also for derivatives
            that float64 cannot hold, naming the document and its query.
        """
        s, y, boundaries = self._checked(scores, labels, group)
        grad, hess = np.empty(len(s)), np.empty(len(s))
        self._evaluate(s, y, boundaries, round, grad, hess)
        if weight is not None:
            w = check_weight(weight, len(s), len(boundaries) - 1)
            if len(w) != len(s):
                w = np.repeat(w, np.diff(boundaries))
            with np.errstate(over="ignore", invalid="ignore"):
                grad *= w
                hess *= w
        bad = ~(np.isfinite(grad) & np.isfinite(hess))
        if bad.any():
            raise self._gradient_not_finite(int(np.argmax(bad)), boundaries)
        return grad, hess

    def _not_finite(self, what: str, where: str) -> ValueError:
        return ValueError(
            f"the {what} of {self!r} is not finite in {where}: look at this query's scores, labels "
            "and weight and at the objective's parameters, which are too large together"
        )

    def _gradient_not_finite(self, row: int, boundaries: Integers) -> ValueError:
        query = np.searchsorted(boundaries, row, side="right") - 1
        return self._not_finite("gradient", f"query {query} (document at row {row})")

    def _evaluate(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        round: int | None,
        grad: Floats,
        hess: Floats,
    ) -> None:
        """Write gradient and Hessian of a round, from arguments that are checked."""
        grad[:] = 0.0
        hess[:] = 1.0 if self.hessian == "constant" else HESSIAN_FLOOR
        self._at(round)._grad_hess(scores, labels, boundaries, grad, hess)

    def _checked(self, scores: Any, labels: Any, group: Any) -> tuple[Floats, Floats, Integers]:
        s = check_scores(scores)
        return s, check_labels(labels, len(s)), check_group(group, len(s))

    # What a subclass with kernels provides: its drivers and the parameters they take.
    _loss_queries: ClassVar[Callable[..., None]]
    _grad_hess_queries: ClassVar[Callable[..., None]]
    # Writes an exact Hessian that shares little with the gradient: compiled where asked for.
    _exact_queries: ClassVar[Callable[..., None] | None] = None

    def _params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        """Write the loss of every query into `loss` (zeros)."""
        driver = type(self)._loss_queries
        over_queries(driver, boundaries, scores, labels, self._params(), loss)

    def _grad_hess(
        self, scores: Floats, labels: Floats, boundaries: Integers, grad: Floats, hess: Floats
    ) -> None:
        """Write into `grad` (zeros) and `hess` (1 where constant, else `HESSIAN_FLOOR`)."""
        driver = type(self)._grad_hess_queries
        code = HESSIANS[self.hessian]
        over_queries(driver, boundaries, scores, labels, self._params(), code, grad, hess)
        driver_of_exact = type(self)._exact_queries
        if self.hessian == "exact" and driver_of_exact is not None:
            over_queries(driver_of_exact, boundaries, scores, labels, self._params(), hess)
