"""What an objective claims about itself, for tests and documentation to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import total_ordering
from typing import Literal

from .validation import GRADES as GRADES
from .validation import LABEL_DOMAINS, check_choice

HessianKind = Literal["exact", "majorizer", "surrogate", "constant"]
#: Choices of `hessian`, and what each claims to be: for losses whose second derivative is itself
#: positive, for those whose default bounds it from above, and for those without an exact choice.
EXACT_OR_CONSTANT: Mapping[str, HessianKind] = {
    "exact": "exact",
    "gauss-newton": "exact",
    "constant": "constant",
}
MAJORIZER_EXACT_OR_CONSTANT: Mapping[str, HessianKind] = {
    "gauss-newton": "majorizer",
    "exact": "exact",
    "constant": "constant",
}
MAJORIZER_OR_CONSTANT: Mapping[str, HessianKind] = {
    "gauss-newton": "majorizer",
    "constant": "constant",
}
SURROGATE_OR_CONSTANT: Mapping[str, HessianKind] = {
    "gauss-newton": "surrogate",
    "constant": "constant",
}


@total_ordering
class Cost(Enum):
    """Time for a query of n documents, after sorting them; k is a rank cut-off."""

    LINEAR = "O(n)"
    N_LOG_N = "O(n log n)"
    N_TIMES_CUTOFF = "O(n k)"
    QUADRATIC = "O(n^2)"
    CUBIC = "O(n^3)"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: "Cost") -> bool:
        kinds = list(Cost)
        return kinds.index(self) < kinds.index(other)


@dataclass(frozen=True)
class Contract:
    """What an objective's gradient and Hessian claim to be.

    Attributes
    ----------
    gradient : {"exact", "frozen", "subgradient"}
        Derivative of the loss; derivative with the quantities named by `frozen` held constant; one
        subgradient of a loss with kinks.
    hessian : {"exact", "majorizer", "surrogate", "constant"}
        Diagonal of the Hessian (of the loss with the same quantities frozen, floored positive); an
        upper bound of it; another positive curvature, whose formula the objective's page states; 1
        everywhere.
    shift_invariant : bool
        Whether the loss depends on score differences only. Gradients then sum to zero inside every
        query, and a query with nothing to rank (fewer than two documents, or all grades equal)
        contributes exactly zero.
    labels : str
        The label domain, one of `validation.LABEL_DOMAINS`, against which labels are checked.
    cost : Cost
        Time for a query of n documents.
    frozen : str
        What the derivatives hold constant; empty if nothing.
    kinks : str
        Where the gradient jumps; empty if it is continuous.
    convex : bool
        Whether the loss of a query is a convex function of its scores.
    metric_offset : float
        This minus the loss is the metric that the loss stands for: 0 for a loss that is minus a
        smooth metric, 1 for one that is, or bounds, 1 minus a metric.
    """

    gradient: Literal["exact", "frozen", "subgradient"] = "exact"
    hessian: HessianKind = "exact"
    shift_invariant: bool = True
    labels: str = GRADES
    cost: Cost = Cost.LINEAR
    frozen: str = ""
    kinks: str = ""
    convex: bool = False
    metric_offset: float = 1.0

    def __post_init__(self) -> None:
        check_choice("labels", self.labels, LABEL_DOMAINS)
        object.__setattr__(self, "cost", Cost(self.cost))  # also as it is written
