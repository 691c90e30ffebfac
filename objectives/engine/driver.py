"""Compiled drivers: loops over queries, or batches of them, around the functions of one loss.

A loop is written once, below, and bound to each loss's functions by `_bound`. Numba would never
find a driver again on disk that got the functions as arguments or in a closure, and would compile
it in every process: they are the driver's globals instead.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BEGIN,
    CURVATURE,
    DOCUMENT,
    MAX_LEVELS,
    PULL,
    SIZE,
    batch_end,
    longest_query,
    new_columns,
    pack,
)
from .curvature import CONSTANT, EXACT, HESSIAN_FLOOR
from .jit import OPTIONS, jit_entry, jit_helper, jit_inline
from .threads import over_queries

Function = Callable[..., Any]

# Where a loss has a function of its own for long queries, from so many documents on.
LONG = 1024


class Kernel(NamedTuple):
    """A loss in compiled form.

    Attributes
    ----------
    params : NamedTuple class
        The parameters that its functions take.
    run_losses, run_derivatives : compiled functions
        Over the queries first to last - 1.
    run_exact : compiled function, optional
        Derivatives with an exact Hessian, of queries of any length, where it shares little with the
        others: compiled only where it is asked for.
    run_long_losses, run_long_derivatives : compiled functions, optional
        For queries of over `short_up_to` documents, which the first two then leave out: compiled
        only where there is one.
    short_up_to : int
    """

    params: type
    run_losses: Function
    run_derivatives: Function
    run_exact: Function | None = None
    run_long_losses: Function | None = None
    run_long_derivatives: Function | None = None
    short_up_to: int = LONG

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
        over_queries(self.run_losses, boundaries, scores, labels, p, loss)
        if self.run_long_losses is not None and self._any_long(boundaries):
            over_queries(self.run_long_losses, boundaries, scores, labels, p, loss)

    def _any_long(self, boundaries: Integers) -> bool:
        return bool(np.diff(boundaries).max(initial=0) > self.short_up_to)

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
        if hessian == EXACT and self.run_exact is not None:
            run = self.run_exact
            over_queries(run, boundaries, scores, labels, p, hessian, grad, hess)
            return
        run = self.run_derivatives
        over_queries(run, boundaries, scores, labels, p, hessian, grad, hess)
        if self.run_long_derivatives is not None and self._any_long(boundaries):
            run = self.run_long_derivatives
            over_queries(run, boundaries, scores, labels, p, hessian, grad, hess)


@jit_inline
def _same(p: Any, a: int, b: int) -> Any:
    return p


@jit_inline
def _is_any(n: int) -> bool:
    return True


def _is_short(n: int) -> bool:
    return n <= LONG


def _is_long(n: int) -> bool:
    return n > LONG


def _by_length(short_up_to: int) -> tuple[Function, Function]:
    """Return two compiled functions: whether a query is short, and whether it is long."""
    short, long = (jit_inline(bind(each, LONG=short_up_to)) for each in (_is_short, _is_long))
    return short, long


def query_kernel(params: type, of_query: Function = _same) -> Callable[[Function], Kernel]:
    """Make the kernel of a loss from one function for the loss and derivatives of one query.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the function takes.
    of_query : compiled function
        ``of_query(p, a, b) -> p`` for the documents a to b - 1, where parameters hold numbers for
        each document. Default: all the same.

    Returns
    -------
    decorator
        For ``query(p, scores, labels, hessian, grad, hess) -> loss``. It adds the query's gradient
        to `grad` and its curvature to `hess`, both zeros before, and returns the loss. `hessian` is
        the kind of curvature wanted; a constant one and the floor are the driver's.
    """

    def decorate(function: Function) -> Kernel:
        query = jit_helper(function)
        return Kernel(
            params,
            _bound(_losses_of_whole_queries, query=query, of_query=of_query),
            _bound(_derivatives_of_queries, query=query, of_query=of_query),
        )

    return decorate


def query_kernels(params: type, *, loss: Function, derivatives: Function) -> Kernel:
    """Make the kernel of a loss that takes less work than its derivatives.

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
        _bound(_losses_of_queries, query=loss),
        _bound(_derivatives_of_queries, query=derivatives, of_query=_same),
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
    """Make the kernel of a loss that takes long queries in another way.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the functions take.
    short_up_to : int
        Documents of the longest short query.
    query : compiled function
        As in `query_kernel`, for short queries.
    loss : compiled function, optional
        As in `query_kernels`, for short queries; what `query` returns is then ignored.
    exact : compiled function, optional
        As `query`, with an exact Hessian, for queries of any length.
    long_loss, long_derivatives : compiled functions
        As in `query_kernels`, for long ones.
    """
    short, long = _by_length(short_up_to)
    whole = {"query": query, "of_query": _same, "counts": short}
    derivatives = {"query": long_derivatives, "of_query": _same, "counts": long}
    if loss is None:
        run_losses = _bound(_losses_of_whole_queries, **whole)
    else:
        run_losses = _bound(_losses_of_queries, query=loss, counts=short)
    run_exact = None
    if exact is not None:
        run_exact = _bound(_derivatives_of_queries, query=exact, of_query=_same)
    return Kernel(
        params,
        run_losses,
        _bound(_derivatives_of_queries, **whole),
        run_exact,
        _bound(_losses_of_queries, query=long_loss, counts=long),
        _bound(_derivatives_of_queries, **derivatives),
        short_up_to,
    )


def batch_kernels(
    params: type,
    *,
    packing: Function,
    tables: Function,
    derivatives: Function,
    exact: Function | None = None,
    query_loss: Function | None = None,
    long_loss: Function | None = None,
    batch_loss: Function | None = None,
) -> Kernel:
    """Make the kernel of a loss that takes batches of queries, packed into columns.

    Parameters
    ----------
    params : NamedTuple class
        The parameters that the functions take.
    packing : compiled function
        ``packing(p) -> Packing``.
    tables : compiled function
        ``tables(p, levels)``: what the far field needs for queries of so many levels.
    derivatives, exact : compiled function
        ``derivatives(p, batch, tables, w) -> (a, b)`` writes the columns PULL and CURVATURE;
        gradient and Hessian are a and b times those. `exact` does so for an exact Hessian, if that
        is not the default's.
    query_loss, batch_loss : compiled function
        One of ``loss(p, scores, labels) -> loss`` and ``loss(p, batch, tables, w, out)``, which
        adds to `out` (n_queries,).
    long_loss : compiled function, optional
        Like `query_loss`, for queries of over `LONG` documents.
    """
    parts = {"packing": packing, "tables": tables}
    run_long_losses = None
    if batch_loss is not None:
        run_losses = _bound(_losses_of_batches, batch_loss=batch_loss, **parts)
    elif long_loss is not None:
        short, long = _by_length(LONG)
        run_losses = _bound(_losses_of_queries, query=query_loss, counts=short)
        run_long_losses = _bound(_losses_of_queries, query=long_loss, counts=long)
    else:
        run_losses = _bound(_losses_of_queries, query=query_loss)
    of_batches = _bound(_derivatives_of_batches, derivatives=derivatives, **parts)
    if exact is None:
        return Kernel(params, run_losses, of_batches, None, run_long_losses)
    of_exact = _bound(_derivatives_of_batches, derivatives=exact, **parts)
    return Kernel(params, run_losses, of_batches, of_exact, run_long_losses)


def kernels_by_grades(
    params: type, *, derivatives: Function, **parts: Any
) -> tuple[Kernel, Kernel]:
    """Return the kernel for few grades, and the one for many, which takes long to compile.

    Parameters
    ----------
    params, **parts
        As of `batch_kernels`.
    derivatives : function
        As there; its global `many` says whether a long query may have many grades.
    """
    few, several = (
        batch_kernels(params, derivatives=jit_inline(bind(derivatives, many=many)), **parts)
        for many in (False, True)
    )
    return few, several


def bind(function: Any, **globals: Any) -> Any:
    """Return a function with some of its globals replaced, those that are True in its name."""
    scope = {**function.__globals__, **globals}
    # Machine code is kept on disk by name.
    name = "_".join([function.__name__, *(key for key in globals if globals[key] is True)])
    return FunctionType(function.__code__, scope, name, function.__defaults__)


def _bound(loop: Any, **functions: Any) -> Function:
    """Compile a loop that calls these functions."""
    bound: Function = bind(loop, **functions)
    # Its name on disk.
    names = [f"{function.__module__}.{function.__name__}" for function in functions.values()]
    bound.__qualname__ = "-".join([loop.__qualname__, *names])
    package = __name__.partition(".")[0]
    if any(name.partition(".")[0] != package for name in names):
        # The sources of other packages are unknown here, and so is what on disk would be outdated.
        return numba.njit(**OPTIONS)(bound)  # type: ignore[no-any-return]
    return jit_entry(bound)


# The loops. What they call is bound to them later; these stand for it.
query: Function = _same
of_query: Function = _same
packing: Function = _same
tables: Function = _same
derivatives: Function = _same
batch_loss: Function = _same
counts: Function = _is_any


def _losses_of_whole_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if not counts(b - a):
            continue
        grad, hess = np.zeros(b - a), np.zeros(b - a)
        part = of_query(p, a, b)
        loss[q] = query(part, scores[a:b], labels[a:b], int(CONSTANT), grad, hess)


def _losses_of_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if counts(b - a):
            loss[q] = query(p, scores[a:b], labels[a:b])


def _derivatives_of_queries(
    first: int,
    last: int,
    boundaries: Integers,
    scores: Floats,
    labels: Floats,
    p: Any,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        if not counts(b - a):
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
    scores: Floats,
    labels: Floats,
    p: Any,
    loss: Floats,
) -> None:
    longest = longest_query(first, last, boundaries)
    w = new_columns(longest)
    rules = packing(p)
    far = tables(p, MAX_LEVELS if longest > rules.direct_up_to else 1)
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
    scores: Floats,
    labels: Floats,
    p: Any,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    longest = longest_query(first, last, boundaries)
    w = new_columns(longest)
    begin, size, document = w.whole[BEGIN], w.whole[SIZE], w.whole[DOCUMENT]
    pull, curvature = w.real[PULL], w.real[CURVATURE]
    rules = packing(p)
    far = tables(p, MAX_LEVELS if longest > rules.direct_up_to else 1)
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
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
