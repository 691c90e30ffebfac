"""Kernels: the functions of one loss, bound to loops over queries."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numba
import numpy as np

from ..validation import Floats, Integers
from . import loops
from .columns import UNLIMITED
from .jit import OPTIONS, PACKAGE, Function, bind, jit_allocating, jit_entry, jit_inline
from .threads import over_queries


class Loop(NamedTuple):
    """A compiled loop over queries.

    Attributes
    ----------
    run : compiled function
        One of `loops`, bound to functions of a loss.
    most : int
        Documents in the longest query that it takes.
    """

    run: Function
    most: int = UNLIMITED


class Loops(NamedTuple):
    """The compiled loops over queries that compute one thing.

    Attributes
    ----------
    loops : sequence of Loop
        Each takes longer queries than the one before it, and is compiled only if there are any.
    """

    loops: tuple[Loop, ...]

    def over(self, boundaries: Integers, *args: Any) -> None:
        """Run over all queries; `args` are what the loops take after `sizes`."""
        n_docs = np.diff(boundaries)
        longest = int(n_docs.max(initial=0))
        wanted = []
        least = 0
        for loop in self.loops:
            if ((n_docs >= least) & (n_docs <= loop.most)).any():
                wanted.append((loop, (least, min(loop.most, longest))))
            least = loop.most + 1

        def run_all(first: int, last: int, boundaries: Integers, *args: Any) -> None:
            for loop, sizes in wanted:
                loop.run(first, last, boundaries, sizes, *args)

        over_queries(run_all, boundaries, *args)


def of_all(run: Function) -> Loops:
    """Return a loop that takes queries of any length."""
    return Loops((Loop(run),))


class Kernel(Protocol):
    """A loss in compiled form."""

    @property
    def params(self) -> Any:
        """The class of the parameters that its functions take, a NamedTuple."""

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


class LoopKernel(NamedTuple):
    """A kernel from functions of one query."""

    params: type
    of_losses: Loops
    of_derivatives: Loops

    def losses(
        self, p: Any, boundaries: Integers, scores: Floats, labels: Floats, loss: Floats
    ) -> None:
        """Write the loss of every query."""
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
        """Write gradient and Hessian of every query."""
        self.of_derivatives.over(boundaries, scores, labels, p, hessian, grad, hess)


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
        query = jit_allocating(function)
        return LoopKernel(
            params,
            of_all(_bound(loops.losses_of_whole_queries, query=query, of_query=of_query)),
            of_all(_bound(loops.derivatives_of_queries, query=query, of_query=of_query)),
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
    return LoopKernel(
        params,
        of_all(_bound(loops.losses_of_queries, query=loss)),
        of_all(_bound(loops.derivatives_of_queries, query=derivatives, of_query=_same)),
    )


def kernels_by_length(
    params: type,
    short_up_to: int,
    *,
    loss: Function,
    derivatives: Function,
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
    loss, derivatives : compiled functions
        As in `query_kernels`, for short queries.
    long_loss, long_derivatives : compiled functions
        As in `query_kernels`, for long ones.
    """
    run_losses, run_long_losses = (
        _bound(loops.losses_of_queries, query=each) for each in (loss, long_loss)
    )
    run, run_long = (
        _bound(loops.derivatives_of_queries, query=each, of_query=_same)
        for each in (derivatives, long_derivatives)
    )
    return LoopKernel(
        params,
        Loops((Loop(run_losses, short_up_to), Loop(run_long_losses))),
        Loops((Loop(run, short_up_to), Loop(run_long))),
    )


def _bound(loop: Any, **functions: Any) -> Function:
    """Compile a loop that calls these functions."""
    bound: Function = bind(loop, **functions)
    names = [f"{function.__module__}.{function.__name__}" for function in functions.values()]
    # Its name on disk, where names are limited to 255 characters.
    parts = [name.removeprefix(PACKAGE) for name in names]
    bound.__qualname__ = "-".join([loop.__qualname__, *parts])
    if not all(name.startswith(PACKAGE) for name in names):
        # The digest leaves out the sources of other packages, so code on disk could be outdated.
        return numba.njit(**OPTIONS)(bound)  # type: ignore[no-any-return]
    return jit_entry(bound)
