"""The rules of each tool, as the table of `boostrank.metrics` states them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostrank.objectives.engine.gains import RANK_DISCOUNTS
from boostrank.objectives.gains import Gain, check_discount, check_gain, said
from boostrank.objectives.validation import Floats, check_choice


@dataclass(frozen=True)
class Convention:
    """The rules of one tool; a row of the table."""

    gain: Gain
    #: One that objectives also have, or "letor": 1 at ranks 1 and 2, then 1/log2(r).
    discount: str | tuple[float, ...] = "log2"
    #: ndcg, meanndcg, map and recall of a query without relevant documents; NaN leaves such
    #: queries out of the mean of every metric.
    no_relevant: float = 0.0
    #: Whether to average over all orders of equal scores instead of taking the order passed.
    average_ties: bool = False
    #: Documents with larger labels are relevant.
    relevant_above: float = 0.0
    #: Whether average precision at k is divided by R rather than by min(R, k).
    ap_over_all_relevant: bool = False
    #: Whether ndcg@k of fewer than k documents is 0.
    short_ndcg_is_zero: bool = False
    #: Whether precision@k of n < k documents is divided by n rather than by k.
    short_precision_over_n: bool = False
    #: Which of gain and discount may be changed: those that the tool lets its users choose.
    open_to: tuple[str, ...] = ()
    #: Whether a weighted mean of ndcg adds 1, not the weight, for queries without relevant ones.
    ndcg_adds_one: bool = False

    def __str__(self) -> str:
        ties = "averaged" if self.average_ties else "in the order of the data"
        barren = "left out" if np.isnan(self.no_relevant) else f"count {self.no_relevant:g} in NDCG"
        discount = _DISCOUNTS[self.discount][0] if isinstance(self.discount, str) else "a table"
        return (
            f"gain {said(self.gain)}, discount {discount}, "
            f"ties {ties}, queries without relevant documents {barren}"
        )

    def discounts(self, rank: Floats, n: Floats) -> Floats:
        """Return the discounts of ranks among n documents."""
        if isinstance(self.discount, str):
            return _DISCOUNTS[self.discount][1](rank, n)
        table: Floats = np.append(np.asarray(self.discount, dtype=np.float64), 0.0)
        counted: Floats = table[np.minimum(rank.astype(np.int64), len(table)) - 1]
        return counted


# In words, and of ranks r among n documents.
_DISCOUNTS: dict[str, tuple[str, Callable[[Floats, Floats], Floats]]] = {
    "log2": ("1/log2(1 + r)", lambda r, n: 1.0 / np.log2(1.0 + r)),
    "linear": ("n - r", lambda r, n: n - r),
    "reciprocal": ("1/r", lambda r, n: 1.0 / r),
    "letor": ("1, then 1/log2(r)", lambda r, n: 1.0 / np.log2(np.maximum(r, 2.0))),
}


CONVENTIONS: dict[str, Convention] = {
    "standard": Convention("exponential", no_relevant=np.nan, open_to=("gain", "discount")),
    "lightgbm": Convention(
        "exponential",
        no_relevant=1.0,
        relevant_above=0.5,
        ndcg_adds_one=True,
        open_to=("gain",),
    ),
    "xgboost": Convention(
        "exponential",
        no_relevant=1.0,
        open_to=("gain",),
        short_precision_over_n=True,
        ndcg_adds_one=True,
    ),
    "sklearn": Convention("linear", average_ties=True),
    "trec": Convention("linear", ap_over_all_relevant=True),
    "letor3": Convention("exponential", "letor", ap_over_all_relevant=True),
    "letor4": Convention(
        "exponential", "letor", ap_over_all_relevant=True, short_ndcg_is_zero=True
    ),
}


def find_convention(name: str, gain: Any = None, discount: Any = None) -> Convention:
    """Return a convention by name, with another gain or discount if it is open to one."""
    rules = CONVENTIONS[check_choice("convention", name, CONVENTIONS)]
    changes: dict[str, Any] = {}
    if gain is not None:
        changes["gain"] = check_gain("gain", gain)
    if discount is not None:
        changes["discount"] = check_discount("discount", discount, RANK_DISCOUNTS)
    for what, value in changes.items():
        if what not in rules.open_to and value != getattr(rules, what):
            others = [other for other in CONVENTIONS if what in CONVENTIONS[other].open_to]
            raise ValueError(
                f"{what} is fixed by convention={name!r} ({rules}); leave it out, or use the "
                f"convention {' or '.join(map(repr, others))}"
            )
    return replace(rules, **changes)
