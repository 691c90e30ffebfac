"""The class every objective extends, and the contract that tests and documentation read."""

import inspect
from abc import ABC
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from .contract import SURROGATE_OR_CONSTANT, Contract, HessianKind
from .engine.curvature import HESSIAN_FLOOR, HESSIANS
from .engine.driver import Kernel
from .gains import Gain, gains_of
from .parameters import cutoff, flag, fraction, noise, positive, random_seed
from .schedules import Schedule
from .validation import (
    AMOUNTS,
    GRADES,
    Floats,
    Integers,
    check_choice,
    check_count,
    check_group,
    check_labels,
    check_scores,
    check_weight,
)
from .view import Part, View


class ShownSignature:
    """What `inspect.signature` shows for an objective and for its class.

    A host's estimator counts the parameters of an object to decide what to pass. An objective shows
    all four that a host can pass; the class shows its constructor, its own parameters first.
    """

    _call = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in ("y_true", "y_pred", "weight", "group")
        ]
    )

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            return self._call
        constructor = inspect.signature(owner.__init__)  # type: ignore[misc]
        _, *params = constructor.parameters.values()
        params.sort(key=lambda param: param.name in HOST_PARAMETERS)
        return constructor.replace(parameters=params)


@dataclass(frozen=True, kw_only=True)
class Objective(ABC):
    """A ranking loss: immutable, hashable, picklable; its parameters are its attributes.

    Boosters call the object itself. It returns float32 gradients on one scale: gradient and Hessian
    are divided by the mean Hessian of the documents that have a gradient, over all workers that
    train together. Newton steps do not change. Where there is a gradient, Hessians are then floored
    at the objective's `hessian_share` of their mean, before weights. `loss` and `grad_hess` do none
    of this and ignore the parameters below.

    Parameters
    ----------
    rescale : bool, default True
        Divide gradients and Hessians by the mean Hessian, and weights by the mean of those above
        0, so that a booster's thresholds (``min_sum_hessian_in_leaf``, ``min_child_weight``,
        ``lambda_l2``) mean the same for every objective and unit of weights, and the parts of a
        mixture are on one scale. False passes on what `grad_hess` returns.
    perturb : {"gumbel", "gaussian"}, optional
        Noise that is added to a booster's scores before gradients are computed, drawn again in
        every round, so that the model learns from many rankings near its own. For losses that are
        smooth in the scores. Default None: no noise, except "gumbel" for `SHFSDCG`, `RegSHFSDCG`
        and `Blend`. A mixture has its own setting, whatever the defaults of its parts.
    perturb_scale : float, default 1.0
        Scale of the noise, positive: that of the Gumbel distribution, or the standard deviation of
        the Gaussian. It is a difference of scores.
    query_fraction : float, default 1.0
        Share of the queries that each boosting round learns from, above 0 and at most 1. Every
        round draws again: it takes each query with this probability, and at least one. The others
        get a gradient of zero and take almost no time; the mean Hessian is that of the sample. Use
        it instead of ``bagging_by_query``, which works only with a booster's built-in objectives.
    seed : int, default 0
        Seed of all draws. What is drawn for a query depends on the seed, the round, and the query's
        labels and scores, but not on its position in the data. The model is therefore the same for
        any order of the queries, on one worker or several. Only ``signal="auto"`` of `Blend`, which
        compares settings on halves of the queries, may choose another one for another order.
    gain : str, sequence of float or callable, default "exponential"
        For objectives that use gains: what a grade is worth. "exponential" is 2^y - 1, for grades
        given by people; "linear" is the label itself, for prices, probabilities or ranks. A
        sequence has one gain for each whole grade from 0. A callable takes an array of distinct
        grades, ascending, and must be picklable if the objective is to be. Gains must be from 0
        to 1e300, and must not fall as the grade grows.
    discount : str or sequence of float, default "log2"
        For objectives that discount ranks: the weight of rank r of n documents. "log2" is
        1/log2(1 + r), "linear" n - r, "reciprocal" 1/r. A sequence has one number for each rank
        from 1, none above the one before; ranks beyond its end count 0.
    start_round : int, optional
        Boosting round of the first tree that is added, for schedules and draws. Default None: if
        training continues from a model, the round after those of that model, otherwise 1. Pass 1 to
        start from the first round in both cases.

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range.
    """

    name: ClassVar[str]
    #: Further names of the class, with the parameters that each of them stands for.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: Whether it acts on a training as a whole, so that it cannot be part of another objective.
    outermost: ClassVar[bool] = False
    #: Whether it corrects for the positions at which documents were shown.
    takes_positions: ClassVar[bool] = False
    #: The choices of `hessian`, and what each of them claims to be.
    hessians: ClassVar[Mapping[str, HessianKind]] = SURROGATE_OR_CONSTANT
    #: What holds for every choice of parameters.
    claims: ClassVar[Contract] = Contract()

    #: Smallest Hessian that a booster should get where there is a gradient, as a share of the mean
    #: over such documents.
    hessian_share: ClassVar[float] = 0.0

    if TYPE_CHECKING:  # every class declares it, as the last of its own fields, with its default
        hessian: str = ""

    rescale: bool = flag(True)
    perturb: str | None = noise(None)
    perturb_scale: float = positive(1.0)
    query_fraction: float = fraction(1.0)
    seed: int = random_seed(0)
    start_round: int | None = cutoff()

    __signature__ = ShownSignature()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Otherwise `dataclass` would generate one that starts with the inherited parameters.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse what a booster passes if it was given the class in place of an object."""
        if len(args) == 2 and hasattr(args[1], "get_label"):
            raise TypeError(f"the objective must be an object, not a class: {cls.__name__}()")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self._require("hessian", f"declare hessian: str = {next(iter(self.hessians))!r}")
        check_choice("hessian", self.hessian, self.hessians)
        for field in fields(self):
            check = field.metadata.get("check")
            if check is not None:
                self._set(**{field.name: check(field.name, getattr(self, field.name))})

    def __repr__(self) -> str:
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in listed(self))
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __call__(self, *args: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Gradient and Hessian in the form that a booster expects; see `boostrank.hosts`.

        Returns
        -------
        grad, hess : float32 arrays (n_docs,)

        Raises
        ------
        TypeError, ValueError
            For arguments that no known host passes, data without queries or labels, bad labels,
            data whose queries are split or bagged, and gradients that are not finite (the message
            names the query).
        """
        # Imported here and nowhere else in these files: the mathematics works without any host.
        from ..hosts import gradient_for_host

        return gradient_for_host(self, args)

    def _require(self, name: str, remedy: str) -> None:
        """Refuse a class of a user's own that lacks a field."""
        if not hasattr(self, name):
            raise TypeError(f"{type(self).__name__} has no field {name!r}; {remedy}")

    def _set(self, **values: Any) -> None:
        """Store checked parameters while the object is being built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # Hosts copy an objective several times, which an immutable one does not need.
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
            For a name that is not a parameter of this objective.
        """
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(sorted(known))}"
                )
        return replace(self, **changes)

    @cached_property
    def scheduled(self) -> bool:
        """Whether the loss changes with the boosting round (`round` is then required)."""
        return bool(self._schedules())

    def _schedules(self) -> dict[str, Schedule]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Schedule)}

    def _at(self, round: int | None) -> Self:
        """Return this objective as it is in a boosting round, with numbers for schedules."""
        if not self.scheduled:
            return self
        if round is None:
            raise ValueError(
                f"round is missing: this {self.name} changes with the boosting round; "
                "pass round=1, 2, ... (inside a host it is counted for you)"
            )
        return replace(self, **self._values(check_count("round", round)))

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return the losses of a round, whose weighted sum it is: here, itself.

        Parameters
        ----------
        view : View
            The documents of the round.
        round : int or None
            Boosting round, from 1; needed by scheduled objectives.

        Returns
        -------
        list of Part
        """
        return [Part(1.0, self._at(round), view.labels)]

    def _values(self, round: int) -> dict[str, Any]:
        """Return the parameters that a round changes."""
        return {name: value(round) for name, value in self._schedules().items()}

    @property
    def counts_gains(self) -> bool:
        """Whether the parameter `gain` makes a difference."""
        return "gain" in {field.name for field in fields(self)}

    def with_gain(self, gain: Any) -> Self:
        """Return a copy with another gain; in a mixture, the parts that use gains get it."""
        return self.replace(gain=gain) if self.counts_gains else self

    @property
    def exponential_gains(self) -> bool:
        """Whether a grade y counts as 2^y, so that only a few small grades make sense."""
        return self._gain == "exponential"

    @property
    def perturbed(self) -> bool:
        """Whether it gets the noise of a mixture: not where noise teaches nothing or hides ties."""
        return True

    @property
    def of_rows(self) -> bool:
        """Whether it has something for rows of the data, so that it needs all of a round's."""
        return False

    @property
    def n_draws(self) -> int:
        """How many uniform numbers `write_derivatives` takes per document."""
        return 0

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be, the label domain and the cost."""
        labels = self.claims.labels
        if labels == GRADES and not self.exponential_gains:
            labels = AMOUNTS
        return replace(self.claims, hessian=self.hessians[self.hessian], labels=labels)

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
            For any argument that is not as described; the message names it. Weights for each
            document are refused: they multiply gradients, not a loss. Also for a loss that float64
            cannot hold, such as squares of scores beyond 1e154; the message names the query.
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
            One for each query multiplies the query's loss, and so its gradient and Hessian. One for
            each document multiplies the document's gradient and Hessian. The length tells which.
            Default: 1.
        round : int, optional
            Boosting round, from 1; needed by scheduled objectives, ignored by others.

        Returns
        -------
        grad, hess : float64 arrays (n_docs,)
            `hess` is positive before weights: at least 1e-10.

        Raises
        ------
        TypeError, ValueError
            For any argument that is not as described; the message names it. Also for derivatives
            that float64 cannot hold; the message names the document and its query.
        """
        s, y, boundaries = self._checked(scores, labels, group)
        grad, hess = np.empty(len(s)), np.empty(len(s))
        self.write_derivatives(s, y, boundaries, round, grad, hess)
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

    def write_derivatives(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        round: int | None,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        """Write the gradient and Hessian of a round from checked arguments, for the hosts.

        Parameters
        ----------
        scores, labels : float64 arrays (n_docs,)
        boundaries : int64 array (n_queries + 1,)
            Where each query begins, and n_docs.
        round : int or None
            Boosting round, from 1; needed by scheduled objectives.
        grad, hess : float64 arrays (n_docs,)
            Overwritten.
        draws : float64 array (n_draws, n_docs), optional
            Uniform numbers on [0, 1). Without them an objective takes their mean.
        """
        if type(self)._grad_hess is not Objective._grad_hess:  # kernels do this themselves
            grad[:] = 0.0
            hess[:] = 1.0 if self.hessian == "constant" else HESSIAN_FLOOR
        compute = self._at(round)._grad_hess
        if draws is None:
            compute(scores, labels, boundaries, grad, hess)
        else:  # only an objective with `n_draws` gets any
            compute(scores, labels, boundaries, grad, hess, draws)

    @cached_property
    def _label_domain(self) -> str:
        return self.contract.labels

    def _checked(self, scores: Any, labels: Any, group: Any) -> tuple[Floats, Floats, Integers]:
        s = check_scores(scores)
        return s, check_labels(labels, len(s), self._label_domain), check_group(group, len(s))

    #: The compiled loss.
    kernel: ClassVar[Kernel]

    @property
    def _compiled(self) -> Kernel:
        """The compiled loss for these parameters."""
        return self.kernel

    def _params(self, draws: Floats | None = None) -> Any:
        """Return the kernel's parameters: the fields with the same names.

        None becomes 0, and a word its index among the choices. `draws` (n_draws, n_docs) are for an
        objective that has `n_draws`.
        """
        params: Any = self._compiled.params
        for name in params._fields:
            self._require(
                name, f"its kernel's {params.__name__} has: declare it, or remove it there"
            )
        values = {name: getattr(self, name) for name in params._fields}
        for own in fields(self):
            if own.name in values and "compiled" in own.metadata:
                values[own.name] = own.metadata["compiled"](values[own.name])
        return params(**{name: 0 if value is None else value for name, value in values.items()})

    def _loss_params(self) -> Any:
        """Return the parameters of the kernel that computes the loss itself."""
        return self._params()

    @property
    def _gain(self) -> Gain:
        """What the loss makes of grades: gains, or the grades themselves."""
        gain: Gain = getattr(self, "gain", "linear") if self.counts_gains else "linear"
        return gain

    @property
    def _gains(self) -> tuple[Gain, ...]:
        """The gains that `with_gain` replaces: its own, or those of the parts that count gains."""
        return (self._gain,) if self.counts_gains else ()

    def _kernel_gains(self, labels: Floats, boundaries: Integers) -> Floats:
        """Return what the kernel gets in place of the labels."""
        return gains_of(self._gain, labels)

    def _loss(self, scores: Floats, labels: Floats, boundaries: Integers, loss: Floats) -> None:
        """Write the loss of every query into `loss` (zeros)."""
        gains = self._kernel_gains(labels, boundaries)
        self._compiled.losses(boundaries, scores, gains, self._loss_params(), loss)

    def _grad_hess(
        self,
        scores: Floats,
        labels: Floats,
        boundaries: Integers,
        grad: Floats,
        hess: Floats,
        draws: Floats | None = None,
    ) -> None:
        """Write into `grad` and `hess`.

        A class that overrides this finds zeros in `grad`, and in `hess` 1 if it is constant, else
        `HESSIAN_FLOOR`.
        """
        p, code = self._params(draws), HESSIANS[self.hessian]
        gains = self._kernel_gains(labels, boundaries)
        self._compiled.derivatives(boundaries, scores, gains, p, code, grad, hess)


#: Names of the parameters that every objective has for its host.
HOST_PARAMETERS = tuple(field.name for field in fields(Objective))


def listed(objective: Objective | type[Objective]) -> list[Field[Any]]:
    """Return the parameters of an objective or its class: its own first, then those for hosts."""
    given = (field for field in fields(objective) if field.init)
    return sorted(given, key=lambda field: field.name in HOST_PARAMETERS)
