r"""Several: one ranking for several labels, such as relevance and margin.

Source
    Weights and epsilon-constraint: Miettinen: Nonlinear multiobjective optimization (1999), part
    II, chapter 3. Where the constraint is violated, steps are taken on it, as in Polyak's switching
    subgradient method (1967), here without a jump. Chebyshev: the weighted metric of Bowman (1976);
    for gradients of rankers, Mahapatra, Dong, Chen, Momma: Multi-label learning to rank through
    multi-objective optimization. KDD 2023.

Definition
    L_k the loss of objective k on label k, M_k its metric on the training data, in this round.

    weights     sum_k w_k L_k
    at_least    sum_k w_k L_k, with w_k growing from 0 to 1 while M_k falls from its bound plus BAND
                to the bound minus BAND; the label without a bound has the weight that is left
    chebyshev   L_j of the label with the largest w_j (1 - M_j): the worst label, by weight

Gradient, Hessians
    Those of the losses that take part in the round. A booster gets the parts on one scale, each
    with a mean Hessian of 1, as in Mix. The choice of labels is held constant.

Degenerate queries
    Those of the parts.

Cost
    That of the parts that take part, and of the metrics where these choose them.

When to use
    When a second label must not cost more of the first than you are ready to pay. If one number
    says what you want, such as relevance times margin, train on that instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .base import Objective
from .composite import OF_CHILDREN, check_part
from .contract import Contract
from .mix import Sum, weighted
from .parameters import ArrayParameter, flag
from .validation import Floats, Integers, check_labels, check_positive, check_share
from .view import Part, View

# A metric is kept to within this of its bound: as wide as a round's change, or it would swing.
BAND = 0.002
METHODS = ("weights", "at_least", "chebyshev")
Numbers = tuple[tuple[str, float], ...]


class Labels(ArrayParameter):
    """One label for each document."""

    __slots__ = ()

    def __init__(self, values: Any, name: str, domain: str) -> None:
        # Checked again with every objective, which may take fewer labels than the one before.
        values = values.values if isinstance(values, Labels) else values
        try:
            super().__init__(check_labels(values, np.size(values), domain))
        except (TypeError, ValueError) as error:
            raise type(error)(f"labels[{name!r}]: {error}") from None


def _by_name(what: str, values: Any) -> dict[str, Any]:
    """Return what is given for each label."""
    try:
        return dict(values)
    except (TypeError, ValueError):
        raise TypeError(
            f"{what} must be a dictionary with the names of labels, got a {type(values).__name__}"
        ) from None


def _numbers(what: str, given: Mapping[str, Any], check: Callable[[str, Any], float]) -> Numbers:
    """Return a checked number for each label."""
    return tuple((name, check(f"{what}[{name!r}]", value)) for name, value in given.items())


def _metrics() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., bool]]:
    """Return what parses a metric's name, what measures it, and what tells grades from amounts."""
    # Imported here, as in `Objective.__call__`: no other mathematics needs metrics.
    from ..metrics import definitions, evaluate, evaluation

    return definitions.parse_name, evaluate, evaluation.may_be_grades


@dataclass(frozen=True)
class Several(Sum):
    """Objectives on several labels of the same documents, as one.

    The host's label is for the first objective; the other labels are given here.

    Parameters
    ----------
    objectives : mapping of str to Objective
        At least two, by the names of their labels; the first is for the host's label. Their
        parameters for hosts must be left at the defaults; those given here replace them.
    labels : mapping of str to array_like (n_docs,)
        Labels of the training data, for every name but the first. A booster's cross-validation is
        refused where it does not tell which rows a fold has, and so is Dask
        (docs/several_labels.md).
    weights : mapping of str to float, optional
        Share of each label's Newton steps, positive; or, with `chebyshev`, how much the distance of
        its metric from 1 matters. Default: all 1.
    at_least : mapping of str to float, optional
        Bound from 0 to 1 that the metric of a label must reach on the training data, for all names
        but one, which gets the weight that is left. A label weighs more the further its metric is
        below the bound, so the metric climbs to the bound and then stays there. Not with `weights`.
    chebyshev : bool, default False
        In every round, learn the label that is worst, by weight.
    metric : str or mapping of str to str, default "ndcg@10"
        The metric for `at_least` and `chebyshev`, named as in `boostrank.evaluate`. It counts a
        label by the gain of the label's objective, or, if that has none, as 2^y - 1 where all
        labels are from 0 to 30 and as the label itself elsewhere; and queries by their weights.
    rescale, perturb, perturb_scale, query_fraction, seed, start_round : see `Objective`

    Raises
    ------
    TypeError, ValueError
        For a parameter of the wrong type or out of range, and for labels that are missing or of the
        wrong length.

    Examples
    --------
    >>> import boostrank
    >>> both = boostrank.Several(
    ...     {"relevance": boostrank.QueryRMSE(), "price": boostrank.QueryRMSE()},
    ...     labels={"price": [0.0, 4.0]},
    ... )
    >>> both.grad_hess([0.0, 0.0], [2, 0], [2])[0].tolist()
    [0.5, -0.5]
    """

    name: ClassVar[str] = "several"
    outermost: ClassVar[bool] = True
    hessians = OF_CHILDREN

    objectives: Any
    _: KW_ONLY
    labels: Any
    weights: Any = None
    at_least: Any = None
    chebyshev: bool = flag(False)
    metric: Any = "ndcg@10"

    def __post_init__(self) -> None:
        parts = _by_name("objectives", self.objectives)
        if len(parts) < 2:
            raise ValueError(f"objectives must be of at least two labels, got {len(parts)}")
        for name, part in parts.items():
            check_part(f"objectives[{name!r}]", part, type(self).__name__)
        names = tuple(parts)
        given = self._named("labels", self.labels, names[1:])
        domains = {name: part.contract.labels for name, part in parts.items()}
        labels = tuple((name, Labels(each, name, domains[name])) for name, each in given.items())
        if self.weights is not None:
            weights = self._named("weights", self.weights, names)
            self._set(weights=_numbers("weights", weights, check_positive))
        if self.at_least is not None:
            asked = _by_name("at_least", self.at_least)
            if set(asked) - set(names) or len(asked) != len(names) - 1:
                raise ValueError(
                    "at_least must have numbers for all labels but one, which gets what is left: "
                    f"of {', '.join(map(str, names))} got {', '.join(map(str, asked)) or 'none'}"
                )
            if self.weights is not None or self.chebyshev:
                raise ValueError("at_least goes with neither weights nor chebyshev")
            asked = {name: asked[name] for name in names if name in asked}
            self._set(at_least=_numbers("at_least", asked, check_share))
        metric = self.metric
        if isinstance(metric, str):
            metric = dict.fromkeys(names, metric)
        metric = self._named("metric", metric, names)
        for each in metric.values():
            if not _metrics()[0](each, "standard").larger_is_better:
                raise ValueError(
                    f"metric must be one that grows as the ranking gets better, got {each!r}"
                )
        self._set(objectives=tuple(parts.items()), labels=labels, metric=tuple(metric.items()))
        super().__post_init__()

    @staticmethod
    def _named(what: str, values: Any, names: tuple[str, ...]) -> dict[str, Any]:
        found = _by_name(what, values)
        if set(found) != set(names):
            raise ValueError(
                f"{what} must have one entry for each of {', '.join(map(str, names))}; got "
                f"{', '.join(map(str, found)) or 'none'}"
            )
        return {name: found[name] for name in names}

    @property
    def method(self) -> str:
        """Which of `METHODS` it uses."""
        if self.at_least is not None:
            return "at_least"
        return "chebyshev" if self.chebyshev else "weights"

    def children(self) -> dict[str, Objective]:
        """Return the objectives by the names of their labels."""
        return dict(self.objectives)

    def _as_parameters(self, children: Mapping[str, Objective]) -> dict[str, Any]:
        return {"objectives": children}

    def _of_hosts_label(self) -> dict[str, Objective]:
        return dict(self.objectives[:1])

    @property
    def exponential_gains(self) -> bool:
        """Whether the first objective takes a grade y as 2^y."""
        first: Objective = self.objectives[0][1]
        return first.exponential_gains

    @property
    def contract(self) -> Contract:
        """What gradient and Hessian claim to be; the label domain is that of the first label."""
        found = replace(super().contract, labels=self.objectives[0][1].contract.labels)
        if self.method == "weights":
            return found
        return replace(
            found,
            gradient="frozen" if found.gradient == "exact" else found.gradient,
            frozen=found.frozen or "which labels learn",
            convex=False,
        )

    def all_labels(self, first: Floats, rows: Integers | None = None) -> dict[str, Floats]:
        """Return every label of the documents.

        Parameters
        ----------
        first : float64 array (n_docs,)
            The host's labels.
        rows : int64 array (n_docs,), optional
            Rows of these documents in the other labels. Default None: all.

        Returns
        -------
        dict of str to float64 array (n_docs,)

        Raises
        ------
        ValueError
            For labels of the wrong length.
        """
        found = {self.objectives[0][0]: first}
        for name, values in self.labels:
            # A copy, because read-only arrays would compile the kernels again.
            own = values.values.copy() if rows is None else values.values[rows]
            if len(own) != len(first):
                raise ValueError(
                    f"labels[{name!r}] must have one label for each of the {len(first)} documents, "
                    f"got {len(own)}"
                )
            found[name] = own
        return found

    def measure(
        self,
        scores: Floats,
        labels: Mapping[str, Floats],
        group: Integers,
        weight: Floats | None = None,
    ) -> Floats:
        """Return the metric of each label.

        Parameters
        ----------
        scores : float64 array (n_docs,)
        labels : mapping of str to float64 array (n_docs,)
        group : int64 array (n_queries,)
        weight : float64 array (n_docs,), optional
            A query counts by the mean weight of its documents. Default: all equal.

        Returns
        -------
        float64 array (n_labels,)
            NaN where no query counts, and for the label without a bound.

        Raises
        ------
        ValueError
            For labels that the metric does not take.
        """
        _, evaluate, may_be_grades = _metrics()
        found = np.full(len(self.metric), np.nan)
        parts, held = dict(self.objectives), dict(self.labels)
        asked = dict(self.at_least or self.metric)
        for place, (name, m) in enumerate(self.metric):
            if name not in asked:
                continue
            part, own = parts[name], labels[name]
            # Without a gain, grades count as usual; amounts, such as prices, as they are, also in
            # folds whose own amounts might be grades.
            every = held[name].values if name in held else own
            gain = part._gain if part.counts_gains or not may_be_grades(every) else None
            try:
                values = evaluate(scores, own, group, (m,), gain=gain, weight=weight)
                found[place] = values[m]
            except ValueError as error:
                raise ValueError(f"metric[{name!r}], {m!r}: {error}") from None
        return found

    def shares(self, measured: Floats | None) -> Floats:
        """Return the weight of each label in a round.

        Parameters
        ----------
        measured : float64 array (n_labels,) or None
            The metrics, as `measure` returns them; not needed for fixed weights.

        Returns
        -------
        float64 array (n_labels,)
            Adding up to 1.
        """
        weight = np.ones(len(self.objectives))
        if self.weights is not None:
            weight = np.array([value for _, value in self.weights])
        if measured is None:
            return np.asarray(weight / weight.sum())
        # NaN, the metric of data in which nothing is relevant, asks for nothing.
        if self.at_least is None:
            worst = int(np.argmax(np.nan_to_num(weight * (1.0 - measured), nan=-np.inf)))
            return np.asarray(np.eye(len(weight))[worst])
        asked = dict(self.at_least)
        wants = np.array([asked.get(name, np.nan) for name, _ in self.objectives])
        pull = np.nan_to_num(np.clip((wants + BAND - measured) / (2.0 * BAND), 0.0, 1.0))
        pull /= max(1.0, pull.sum())
        return np.asarray(np.where(np.isnan(wants), 1.0 - pull.sum(), pull))

    def parts(self, view: View, round: int | None) -> list[Part]:
        """Return the parts of the labels that learn in the round; see `Objective.parts`.

        Raises
        ------
        ValueError
            If there are more or fewer labels than documents, and for several workers.
        """
        subset = view.subset(type(self).__name__, "its labels")
        rows = None if subset is None else subset.rows
        if subset and any(len(own.values) != subset.n_docs for _, own in self.labels):
            rows = None  # `all_labels` refuses them
        known = self.all_labels(view.labels, rows)
        measured = None
        if self.method != "weights":
            sizes = np.diff(view.boundaries)
            measured = self.measure(view.scores, known, sizes, view.weight)
        return [
            part
            for share, (name, objective) in zip(self.shares(measured), self.objectives, strict=True)
            if share > 0.0
            for part in weighted(
                float(share), objective.parts(view.with_labels(known[name]), round)
            )
        ]
