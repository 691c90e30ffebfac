"""Kernels: losses in compiled form, and the loop over queries of those that take one at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ..validation import Floats, Integers
from .curvature import CONSTANT, HESSIAN_FLOOR, LOSS
from .jit import Function, bind, jit_allocating, jit_entry
from .threads import over_queries


@dataclass(frozen=True)
class Kernel:
    """A loss in compiled form.

    Attributes
    ----------
    params : class
        A NamedTuple: the parameters that its functions take.
    derivatives : function
        ``derivatives(boundaries, scores, labels, p, hessian, grad, hess)``, with `p` of the class
        `params`. Writes the gradient and Hessian of every query over `grad` and `hess`, float64
        arrays (n_docs,). `hessian` is the kind of curvature (`curvature.HESSIANS`). With `LOSS`,
        each document's share of its query's loss takes the place of the Hessian.
    """

    params: type
    derivatives: Callable[..., None]

    def losses(
        self, boundaries: Integers, scores: Floats, labels: Floats, p: Any, loss: Floats
    ) -> None:
        """Write the loss of every query into `loss`, a float64 array (n_queries,)."""
        unused, shares = np.empty(len(scores)), np.empty(len(scores))
        self.derivatives(boundaries, scores, labels, p, LOSS, unused, shares)
        n_docs = np.diff(boundaries)
        loss[:] = np.bincount(np.repeat(np.arange(len(loss)), n_docs), shares, len(loss))


# `query_kernel` replaces these for a loss's own. If the loop received them as arguments or in a
# closure, Numba would never find it again on disk and would compile it in every process.
query: Any = None
of_query: Any = None


def derivatives_of_queries(
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
    """Write derivatives query by query, or the loss as the share of a query's first document."""
    for q in range(first, last):
        a, b = boundaries[q], boundaries[q + 1]
        for i in range(a, b):
            grad[i], hess[i] = 0.0, 0.0
        part = of_query(p, a, b)
        loss = query(part, scores[a:b], labels[a:b], hessian, grad[a:b], hess[a:b])
        for i in range(a, b):
            if hessian == LOSS:
                hess[i] = loss if i == a else 0.0
            else:
                hess[i] = 1.0 if hessian == CONSTANT else max(hess[i], HESSIAN_FLOOR)


@jit_allocating
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
        is the kind of curvature wanted; the driver handles a constant one and the floor. With
        ``curvature.LOSS``, nobody reads `grad` and `hess`.
    """

    def decorate(function: Function) -> Kernel:
        if len(signature(function).parameters) != 6:
            own, six = function.__qualname__, "(p, scores, labels, hessian, grad, hess)"
            raise TypeError(f"{own} must take {six}, as a kernel does; got {signature(function)}")
        compiled = jit_allocating(function)
        run = bind(derivatives_of_queries, (function, of_query), query=compiled, of_query=of_query)
        return Kernel(params, partial(over_queries, jit_entry(run)))

    return decorate
