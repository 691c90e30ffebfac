"""The loops over queries, or batches of them. `driver` binds them to the functions of a loss.

Each goes over those of the queries first to last - 1 whose number of documents is within `sizes`;
no query is longer than the second of these. The functions that a loop calls are globals, below: if
it received them as arguments or in a closure, Numba would never find it again on disk and would
compile it in every process.
"""

from typing import Any

import numpy as np

from ..validation import Floats, Integers
from .curvature import CONSTANT, HESSIAN_FLOOR

# Placeholders: `bind` replaces them for the functions below.
_unbound: Any = None
query = of_query = _unbound


def losses_of_whole_queries(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    """Write losses; `query` gets room for the derivatives, which are not used."""
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if not sizes[0] <= b - a <= sizes[1]:
            continue
        grad, hess = np.zeros(b - a), np.zeros(b - a)
        part = of_query(p, a, b)
        loss[q] = query(part, scores[a:b], labels[a:b], int(CONSTANT), grad, hess)


def losses_of_queries(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    """Write losses."""
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if sizes[0] <= b - a <= sizes[1]:
            loss[q] = query(p, scores[a:b], labels[a:b])


def derivatives_of_queries(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write derivatives, query by query."""
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if not sizes[0] <= b - a <= sizes[1]:
            continue
        for i in range(a, b):
            grad[i], hess[i] = 0.0, 0.0
        part = of_query(p, a, b)
        query(part, scores[a:b], labels[a:b], hessian, grad[a:b], hess[a:b])
        for i in range(a, b):
            hess[i] = 1.0 if hessian == CONSTANT else max(hess[i], HESSIAN_FLOOR)
