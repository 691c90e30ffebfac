"""The metrics whose change weights a pair: the parameter `target`.

The average relevance position, precision and recall are each a DCG with its own gains and
discounts, and kernels get them as such.
"""

import re
from typing import Any

import numpy as np

from .engine.gains import Discount
from .engine.swaps import DCG, TARGETS
from .gains import Gain, compiled_discount, gains_of, relevance
from .validation import Floats, Integers

_TARGET = re.compile(
    r"ndcg|dcg|map|mrr|err|arp|(?P<metric>precision|recall)@(?P<k>[1-9][0-9]{0,5})"
)
#: Targets with a gain, and those of them with a discount.
WITH_GAIN = ("ndcg", "dcg", "err")
WITH_DISCOUNT = ("ndcg", "dcg")


def check_target(name: str, value: Any) -> str:
    """Return a target, or refuse what is not one."""
    if not isinstance(value, str) or _TARGET.fullmatch(value) is None:
        raise ValueError(
            f"{name} must be 'ndcg', 'dcg', 'map', 'mrr', 'err', 'arp', or 'precision@k' or "
            f"'recall@k' with a whole k such as 10; got {value!r}"
        )
    return value


def check_target_parameters(objective: Any, target: str, by: str = "target") -> None:
    """Refuse a gain, discount or variant other than the default if the target, `by`, has none."""
    for name, targets in (
        ("gain", WITH_GAIN),
        ("discount", WITH_DISCOUNT),
        ("variant", WITH_DISCOUNT),
    ):
        default = getattr(type(objective), name, None)
        value = getattr(objective, name, None)
        if target not in targets and value != default:
            raise ValueError(
                f"{name} must be left out with {by}={getattr(objective, by)!r}, which has none; "
                f"got {value!r}"
            )


def target_of_kernels(target: str, discount: Any) -> tuple[int, Discount]:
    """Return the target and the discount that kernels take."""
    if target in TARGETS:
        return TARGETS.index(target), compiled_discount(discount)
    if target == "arp":
        return DCG, compiled_discount("linear")
    match = _TARGET.fullmatch(target)
    assert match is not None
    k = int(match["k"])
    return DCG, compiled_discount((1.0 / k if match["metric"] == "precision" else 1.0,) * k)


def gains_of_target(target: str, gain: Gain, labels: Floats, boundaries: Integers) -> Floats:
    """Return the gains that kernels take for a target."""
    if target == "arp":
        return _shares(labels, boundaries)
    if target.startswith("recall"):
        return _shares(relevance(labels), boundaries)
    if target.startswith("precision"):
        return relevance(labels)
    return gains_of(gain if target in WITH_GAIN else "linear", labels)


def _shares(amounts: Floats, boundaries: Integers) -> Floats:
    """Return every document's share of the sum of its query; 0 where all are 0."""
    sizes = np.diff(boundaries)
    query = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(query, amounts, len(sizes))[query]
    shares = np.zeros(len(amounts))
    np.divide(amounts, totals, out=shares, where=totals > 0.0)
    return shares
