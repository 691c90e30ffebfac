"""Compiled drivers: loops over queries, or batches of them, around the functions of one loss.

A loop is written once, below, and `_bound` binds it to each loss's functions. These are the
driver's globals: if a driver received them as arguments or in a closure, Numba would never find it
again on disk and would compile it in every process.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ..validation import Floats, Integers
from . import lanes
from .columns import (
    BEGIN,
    CURVATURE,
    DIRECT_UP_TO,
    DOCUMENT,
    MAX_LEVELS,
    PULL,
    SIZE,
    UNLIMITED,
    batch_end,
    new_columns,
    packer,
)
from .curvature import CONSTANT, EXACT, HESSIAN_FLOOR
from .jit import OPTIONS, Function, bind, jit_entry, jit_helper, jit_inline
from .threads import over_queries
from .vector import LANES

# Longer queries use a loss's own function for long queries, where it has one.
LONG = 1024


class Loops(NamedTuple):
    """The compiled loops over queries that compute one thing.

    Attributes
    ----------
    runs : sequence of (compiled function, int)
        Each function goes over those of the queries first to last - 1 whose number of documents is
        within `sizes`: at most its int, and more than the previous function takes. It is compiled
        only if there is such a query. No query is longer than the second of the `sizes`.
    """

    runs: tuple[tuple[Function, int], ...]

    def over(self, boundaries: Integers, *args: Any) -> None:
        """Run over all queries; `args` are what the loops take after `sizes`."""
        n_docs = np.diff(boundaries)
        longest = int(n_docs.max(initial=0))
        runs = []
        least = 0
        for run, most in self.runs:
            if ((n_docs >= least) & (n_docs <= most)).any():
                runs.append((run, (least, min(most, longest))))
            least = most + 1

        def run_all(first: int, last: int, boundaries: Integers, *args: Any) -> None:
            for run, sizes in runs:
                run(first, last, boundaries, sizes, *args)

        over_queries(run_all, boundaries, *args)


def of_all(run: Function) -> Loops:
    """Return a loop that takes queries of any length."""
    return Loops(((run, UNLIMITED),))


class Kernel(NamedTuple):
    """A loss in compiled form.

    Attributes
    ----------
    params : NamedTuple class
        The parameters that its functions take.
    of_losses, of_derivatives : Loops
    of_exact : Loops, optional
        Exact Hessians, if they share little with the others: compiled only when asked for. The
        gradient that these write is not used.
    """

    params: type
    of_losses: Loops
    of_derivatives: Loops
    of_exact: Loops | None = None

    def losses(
        self, p: Any, boundaries: Integers, scores: Floats, labels: Floats, loss: Floats
    ) -> None:
        """Write the loss of every query into `loss` (zeros).

        Parameters
        ----------
        p : NamedTuple
            Of the class `params`.
        boundaries : int64 array (n_queries + 1,)
        scores, labels : float64 arrays (n_docs,)
        loss : float64 array (n_queries,)
        """
        self.of_losses.over(boundaries, scores, labels, p, loss)

    def derivatives(
        self,
        p: Any,
        boundaries: Integers,
        scores: Floats,
        labels: Floats,
        hessian: int,
        grad: Floats,
        hess: Floats,
    ) -> None:
        """Write gradient and Hessian of every query.

        Parameters
        ----------
        p, boundaries, scores, labels
            As in `losses`.
        hessian : int
            The kind of curvature (`curvature.HESSIANS`).
        grad, hess : float64 arrays (n_docs,)
            Overwritten.
        """
        self.of_derivatives.over(boundaries, scores, labels, p, hessian, grad, hess)
        if hessian == EXACT and self.of_exact is not None:
            # The gradient is the same for all Hessians, to the last bit.
            other_grad = np.empty(len(grad))
            self.of_exact.over(boundaries, scores, labels, p, hessian, other_grad, hess)


@jit_inline
def _same(p: Any, a: int, b: int) -> Any:
    return p


def query_kernel(params: type, of_query: Function = _same) -> Callable[[Function], Kernel]:
    """Make the kernel of a loss from one function for the loss and derivatives of one query.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the function takes.
    of_query : compiled function
        ``of_query(p, a, b) -> p`` for the documents a to b - 1, if the parameters hold a number
        per document. Default: the same parameters for all queries.

    Returns
    -------
    decorator
        For ``query(p, scores, labels, hessian, grad, hess) -> loss``. It adds the query's gradient
        to `grad` and its curvature to `hess`, both initially zeros, and returns the loss. `hessian`
        is the kind of curvature wanted; the driver handles a constant one and the floor.
    """

    def decorate(function: Function) -> Kernel:
        query = jit_helper(function)
        return Kernel(
            params,
            of_all(_bound(_losses_of_whole_queries, query=query, of_query=of_query)),
            of_all(_bound(_derivatives_of_queries, query=query, of_query=of_query)),
        )

    return decorate


def query_kernels(params: type, *, loss: Function, derivatives: Function) -> Kernel:
    """Make the kernel of a loss that is cheaper to compute than its derivatives.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the functions take.
    loss : compiled function
        ``loss(p, scores, labels) -> loss`` of one query.
    derivatives : compiled function
        As in `query_kernel`; what it returns is ignored.
    """
    return Kernel(
        params,
        of_all(_bound(_losses_of_queries, query=loss)),
        of_all(_bound(_derivatives_of_queries, query=derivatives, of_query=_same)),
    )


def kernels_by_length(
    params: type,
    short_up_to: int,
    *,
    query: Function,
    loss: Function | None = None,
    exact: Function | None = None,
    long_loss: Function,
    long_derivatives: Function,
) -> Kernel:
    """Make the kernel of a loss that is computed in another way for long queries.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the functions take.
    short_up_to : int
        Documents in the longest short query.
    query : compiled function
        As in `query_kernel`, for short queries.
    loss : compiled function, optional
        As in `query_kernels`, for short queries; what `query` returns is then ignored.
    exact : compiled function, optional
        Like `query`, with an exact Hessian, for queries of any length.
    long_loss, long_derivatives : compiled functions
        As in `query_kernels`, for long ones.
    """
    if loss is None:
        run_losses = _bound(_losses_of_whole_queries, query=query, of_query=_same)
    else:
        run_losses = _bound(_losses_of_queries, query=loss)
    run_long_losses = _bound(_losses_of_queries, query=long_loss)
    run, run_long = (
        _bound(_derivatives_of_queries, query=each, of_query=_same)
        for each in (query, long_derivatives)
    )
    of_exact = None
    if exact is not None:
        of_exact = of_all(_bound(_derivatives_of_queries, query=exact, of_query=_same))
    return Kernel(
        params,
        Loops(((run_losses, short_up_to), (run_long_losses, UNLIMITED))),
        Loops(((run, short_up_to), (run_long, UNLIMITED))),
        of_exact,
    )


def batch_kernels(
    params: type,
    *,
    packing: Function,
    by_gain: bool = True,
    by_level: bool = True,
    sort: bool = False,
    tables: Function,
    short: Function,
    short_up_to: int = DIRECT_UP_TO,
    long: Function,
    exact: Function | None = None,
    batch_loss: Function | None = None,
    query_loss: Function | None = None,
    long_loss: Function | None = None,
    in_lanes: Function | None = None,
) -> Kernel:
    """Make the kernel of a loss that is computed for batches of queries, packed into columns.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the functions take.
    packing : compiled function
        ``packing(p) -> Packing``.
    by_gain, by_level, sort : bool
        As in `columns.packer`.
    tables : compiled function
        ``tables(p, levels)``: what the far field needs for queries of up to this many levels.
    short, long : compiled functions
        ``derivatives(p, batch, tables, w) -> (a, b)`` writes the columns PULL and CURVATURE;
        gradient and Hessian are a and b times those. Short are queries of up to `short_up_to`
        documents, which never need the far field: `tables` is None.
    exact : compiled function, optional
        The same for an exact Hessian and queries of any length, if the default is not exact. Its
        gradient is not used.
    batch_loss : compiled function
        ``loss(p, batch, tables, w, out)``, which writes to `out` (n_queries,).
    query_loss, long_loss : compiled functions
        In its place, ``loss(p, scores, labels) -> loss`` for up to `LONG` documents, and for more.
    in_lanes : compiled function, optional
        ``derivatives(p, w) -> (a, b)`` for queries of up to `lanes.LONGEST` documents: writes
        the sums of `lanes` and the factor of each query.
    """
    rules = {"by_gain": by_gain, "by_level": by_level, "sort": sort}
    of_short = {"packing": packing, "tables": _no_tables, "pack": packer(long=False, **rules)}
    of_any = {"packing": packing, "tables": tables, "pack": packer(long=True, **rules)}
    if batch_loss is not None:
        of_losses = of_all(_bound(_losses_of_batches, batch_loss=batch_loss, **of_any))
    else:
        run, run_long = (_bound(_losses_of_queries, query=each) for each in (query_loss, long_loss))
        of_losses = Loops(((run, LONG), (run_long, UNLIMITED)))
    runs = [
        (_bound(_derivatives_of_batches, derivatives=short, **of_short), short_up_to),
        (_bound(_derivatives_of_batches, derivatives=long, **of_any), UNLIMITED),
    ]
    if in_lanes is not None:
        fill = lanes.filler(by_gain=by_gain, sort=sort)
        run = _bound(_derivatives_of_lanes, packing=packing, fill=fill, derivatives=in_lanes)
        runs.insert(0, (run, lanes.LONGEST))
    of_exact = None
    if exact is not None:
        of_exact = of_all(_bound(_derivatives_of_batches, derivatives=exact, **of_any))
    return Kernel(params, of_losses, Loops(tuple(runs)), of_exact)


def kernels_by_grades(
    params: type, *, derivatives: Function, **parts: Any
) -> tuple[Kernel, Kernel]:
    """Return the kernel for few grades, and the one for many, which is slow to compile.

    Parameters
    ----------
    params, **parts
        As in `batch_kernels`.
    derivatives : function
        Both `short` and `long` of `batch_kernels`. Its global `long` says which, and `many` whether
        a long query may have many grades.
    """
    short = jit_inline(bind(derivatives, long=False, many=False))
    few, several = (
        batch_kernels(
            params,
            short=short,
            long=jit_inline(bind(derivatives, long=True, many=many)),
            **parts,
        )
        for many in (False, True)
    )
    runs = (*few.of_derivatives.runs[:-1], several.of_derivatives.runs[-1])
    return few, few._replace(of_derivatives=Loops(runs))


def _bound(loop: Any, **functions: Any) -> Function:
    """Compile a loop that calls these functions."""
    bound: Function = bind(loop, **functions)
    names = [f"{function.__module__}.{function.__name__}" for function in functions.values()]
    package = __name__.removesuffix("engine.driver")
    # Its name on disk, where names are limited to 255 characters.
    parts = [name.removeprefix(package) for name in names]
    bound.__qualname__ = "-".join([loop.__qualname__, *parts])
    if not all(name.startswith(package) for name in names):
        # The digest leaves out the sources of other packages, so code on disk could be outdated.
        return numba.njit(**OPTIONS)(bound)  # type: ignore[no-any-return]
    return jit_entry(bound)


@jit_inline
def _no_tables(p: Any, levels: int) -> None:
    return None


# The loops. What they call is bound to them later; these are placeholders.
query: Function = _same
of_query: Function = _same
packing: Function = _same
tables: Function = _same
pack: Function = _same
fill: Function = _same
derivatives: Function = _same
batch_loss: Function = _same


def _losses_of_whole_queries(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if not sizes[0] <= b - a <= sizes[1]:
            continue
        grad, hess = np.zeros(b - a), np.zeros(b - a)
        part = of_query(p, a, b)
        loss[q] = query(part, scores[a:b], labels[a:b], int(CONSTANT), grad, hess)


def _losses_of_queries(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if sizes[0] <= b - a <= sizes[1]:
            loss[q] = query(p, scores[a:b], labels[a:b])


def _derivatives_of_queries(
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


def _losses_of_batches(
    first: int,
    last: int,
    boundaries: Integers,
    sizes: tuple[int, int],
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    w = new_columns(sizes[1])
    rules = packing(p)
    far = tables(p, MAX_LEVELS if sizes[1] > rules.direct_up_to else 1)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        batch = pack(start, stop, boundaries, scores, labels, rules, w)
        batch_loss(p, batch, far, w, loss)
        start = stop


def _derivatives_of_batches(
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
    w = new_columns(sizes[1])
    begin, size, document = w.whole[BEGIN], w.whole[SIZE], w.whole[DOCUMENT]
    pull, curvature = w.real[PULL], w.real[CURVATURE]
    rules = packing(p)
    far = tables(p, MAX_LEVELS if sizes[1] > rules.direct_up_to else 1)
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


def _derivatives_of_lanes(
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
    widest = lanes.new_lanes()
    queries = np.empty(lanes.WINDOW, np.int64)
    rules = packing(p)
    for start in range(first, last, lanes.WINDOW):
        stop = min(start + lanes.WINDOW, last)
        count = lanes.by_length(start, stop, boundaries, sizes, queries)
        for turn in range(0, count, LANES):
            group = queries[turn : min(turn + LANES, count)]
            longest = group[len(group) - 1]
            w = lanes.narrowed(widest, boundaries[longest + 1] - boundaries[longest])
            fill(group, boundaries, scores, labels, rules, w)
            slope, bend = derivatives(p, w)
            lanes.write_derivatives(slope, bend, hessian, w, grad, hess)
