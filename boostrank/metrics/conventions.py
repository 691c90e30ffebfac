"""The rules of each tool, as the table of `boostrank.metrics` states them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostrank.objectives.validation import Floats, check_choice


def _exponential_gain(grades: Floats) -> Floats:
    return np.exp2(grades) - 1.0


def _linear_gain(grades: Floats) -> Floats:
    return grades


def _discount(rank: Floats) -> Floats:
    return 1.0 / np.log2(1.0 + rank)


def _letor_discount(rank: Floats) -> Floats:
    return 1.0 / np.log2(np.maximum(rank, 2.0))


@dataclass(frozen=True)
class Convention:
    """The rules of one tool; a row of the table."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Floats], Floats]
    #: ndcg, meanndcg, map and recall of a query without relevant documents; NaN leaves such
    #: queries out of the mean of every measure.
    no_relevant: float
    #: Whether equal scores are averaged over instead of staying in the order passed.
    average_ties: bool = False
    #: Documents with larger labels are relevant.
    relevant_above: float = 0.0
    #: Whether average precision at k is divided by R rather than by min(R, k).
    ap_over_all_relevant: bool = False
    #: Whether ndcg@k of fewer than k documents is 0.
    short_ndcg_is_zero: bool = False
    #: Whether precision@k of n < k documents is divided by n rather than by k.
    short_precision_over_n: bool = False
    #: Whether a weighted mean of ndcg adds 1, not the weight, for queries without relevant ones.
    ndcg_adds_one: bool = False

    def __str__(self) -> str:
        gain = "2^y - 1" if self.gain is _exponential_gain else "y"
        discount = "1/log2(1 + r)" if self.discount is _discount else "1, then 1/log2(r)"
        ties = "averaged" if self.average_ties else "in the order of the data"
        barren = "left out" if np.isnan(self.no_relevant) else f"count {self.no_relevant:g} in NDCG"
        return (
            f"gain {gain}, discount {discount}, ties {ties}, queries without relevant documents "
            f"{barren}"
        )


CONVENTIONS: dict[str, Convention] = {
    "standard": Convention(_exponential_gain, _discount, no_relevant=np.nan),
    "lightgbm": Convention(
        _exponential_gain, _discount, no_relevant=1.0, relevant_above=0.5, ndcg_adds_one=True
    ),
    "xgboost": Convention(
        _exponential_gain,
        _discount,
        no_relevant=1.0,
        short_precision_over_n=True,
        ndcg_adds_one=True,
    ),
    "sklearn": Convention(_linear_gain, _discount, no_relevant=0.0, average_ties=True),
    "trec": Convention(_linear_gain, _discount, no_relevant=0.0, ap_over_all_relevant=True),
    "letor3": Convention(
        _exponential_gain, _letor_discount, no_relevant=0.0, ap_over_all_relevant=True
    ),
    "letor4": Convention(
        _exponential_gain,
        _letor_discount,
        no_relevant=0.0,
        ap_over_all_relevant=True,
        short_ndcg_is_zero=True,
    ),
}


def find_convention(name: str) -> Convention:
    """Return a convention by its name."""
    return CONVENTIONS[check_choice("convention", name, CONVENTIONS)]
