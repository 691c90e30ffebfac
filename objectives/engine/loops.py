"""The loops over queries, or batches of them. `driver` binds them to the functions of a loss.

Each goes over those of the queries first to last - 1 whose number of documents is within `sizes`;
no query is longer than the second of these. The functions that a loop calls are globals, below: if
it received them as arguments or in a closure, Numba would never find it again on disk and would
compile it in every process.
"""

from typing import Any

import numpy as np

from ..validation import Floats, Integers
from . import lanes
from .columns import BEGIN, CURVATURE, DOCUMENT, PULL, SIZE, Columns, batch_end
from .curvature import CONSTANT, HESSIAN_FLOOR
from .lanes import Lanes
from .vector import LANES

# Placeholders: `bind` replaces them for the functions below.
_unbound: Any = None
query = of_query = packing = pack = fill = derivatives = batch_loss = _unbound


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


def losses_of_batches(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    w: Columns,
    far: Any,
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    """Write losses; queries with nothing to rank are left out."""
    rules = packing(p)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        batch = pack(start, stop, boundaries, scores, labels, rules, w)
        batch_loss(p, batch, far, w, loss)
        start = stop


def derivatives_of_batches(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    w: Columns,
    far: Any,
    scores: Floats,
    labels: Floats,
    p: Any,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write derivatives, batch by batch."""
    begin, size, document = w.whole[BEGIN], w.whole[SIZE], w.whole[DOCUMENT]
    pull, curvature = w.real[PULL], w.real[CURVATURE]
    rules = packing(p)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        n = boundaries[start + 1] - boundaries[start]  # a long query is a batch of its own
        if not sizes[0] <= n <= sizes[1]:
            start = stop
            continue
        grad[boundaries[start] : boundaries[stop]] = 0.0
        hess[boundaries[start] : boundaries[stop]] = 1.0 if hessian == CONSTANT else HESSIAN_FLOOR
        batch = pack(start, stop, boundaries, scores, labels, rules, w)
        slope, bend = derivatives(p, batch, far, w)
        for m in range(batch.blocks):
            for column in range(begin[m], begin[m] + size[m]):
                i = document[column]
                grad[i] = slope * pull[column]
                if hessian != CONSTANT:
                    hess[i] = max(bend * curvature[column], HESSIAN_FLOOR)
        start = stop


def derivatives_of_lanes(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    widest: Lanes,
    queries: Integers,
    begins: Integers,
    scores: Floats,
    labels: Floats,
    p: Any,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write derivatives, eight queries at a time."""
    rules = packing(p)
    for start in range(first, last, lanes.WINDOW):
        stop = min(start + lanes.WINDOW, last)
        count = lanes.by_length(start, stop, boundaries, sizes, queries, begins)
        for turn in range(0, count, LANES):
            group = queries[turn : min(turn + LANES, count)]
            longest = group[len(group) - 1]
            w = lanes.narrowed(widest, boundaries[longest + 1] - boundaries[longest])
            fill(group, boundaries, scores, labels, rules, w)
            slope, bend = derivatives(p, w)
            lanes.write_derivatives(slope, bend, hessian, w, grad, hess)
