"""Compiled passes over all documents, from an objective's gradients to those that a host gets."""

from functools import partial

import numpy as np
import numpy.typing as npt

from boostrank.objectives.engine.jit import jit_entry, jit_ordered
from boostrank.objectives.engine.threads import block_of, over_documents
from boostrank.objectives.validation import Floats

Float32s = npt.NDArray[np.float32]


def active_sums(grad: Floats, hess: Floats, least: float) -> Floats:
    """Sum |gradient|, Hessian and 1 over documents whose |gradient| is over `least` Hessians."""
    return over_documents(_active_sums, len(grad), grad, hess, least, n_sums=3)


def to_float32(
    grad: Floats, hess: Floats, unit: float, weight: Floats, least: float, floor: float
) -> tuple[Float32s, Float32s, int]:
    """Return what a host gets, and the first row that is not finite, or -1.

    Gradients and Hessians are divided by `unit`. Hessians are at least `least` before weights, if
    there is a gradient, and `floor` after. Without weights, all are 1.
    """
    grad32, hess32 = np.empty(len(grad), np.float32), np.empty(len(grad), np.float32)
    scale = unit, weight, least, floor
    (broken,) = over_documents(_to_float32, len(grad), grad, hess, *scale, grad32, hess32)
    row = int(np.argmin(np.isfinite(grad32) & np.isfinite(hess32))) if broken else -1
    return grad32, hess32, row


@partial(jit_entry, borrows=True)
def _active_sums(
    first: int, last: int, n_docs: int, grad: Floats, hess: Floats, least: float, sums: Floats
) -> None:
    for block in range(first, last):
        begin, end = block_of(block, n_docs)
        pulls = bends = count = 0.0
        for i in range(begin, end):
            # All three at once: three conditions in a row would keep the loop from using vectors.
            own = abs(grad[i]), hess[i], 1.0
            pull, bend, one = own if own[0] > least * hess[i] else (0.0, 0.0, 0.0)
            pulls += pull
            bends += bend
            count += one
        sums[block, 0] = pulls
        sums[block, 1] = bends
        sums[block, 2] = count


@jit_ordered
def _in_order(value: float, share: float, least: float, weight: float) -> float:
    """Return a share of a value, floored and weighted; a floor of -inf has no effect.

    The last bit of a float32 may depend on the order of these operations, and compilers would
    choose different ones.
    """
    return max(value * share, least) * weight


@partial(jit_entry, borrows=True)
def _to_float32(
    first: int,
    last: int,
    n_docs: int,
    grad: Floats,
    hess: Floats,
    unit: float,
    weight: Floats,
    least: float,
    floor: float,
    grad32: Float32s,
    hess32: Float32s,
    broken: Floats,
) -> None:
    share = 1.0 / unit
    for block in range(first, last):
        begin, end = block_of(block, n_docs)
        bad = 0
        for i in range(begin, end):
            w = weight[i] if len(weight) > 0 else 1.0
            low = least if grad[i] != 0.0 else 0.0
            grad32[i] = _in_order(grad[i], share, -np.inf, w)
            hess32[i] = max(_in_order(hess[i], share, low, w), floor)
            bad += 0 if np.isfinite(grad32[i]) and np.isfinite(hess32[i]) else 1
        broken[block, 0] = bad
