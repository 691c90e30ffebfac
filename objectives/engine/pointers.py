"""Functions of losses as pointers, so that what calls them is compiled once for all losses."""

from typing import Any

import numba
from numba import types

from .jit import OPTIONS, SOURCES, Function


class Compiled:
    """A function with one signature, compiled when it is first called or handed on.

    Parameters
    ----------
    function : function
    arguments : tuple
        Examples of its arguments; a tuple stands for a pointer to a function of such arguments.
    """

    def __init__(self, function: Function, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments
        self.__name__ = function.__name__
        self._compiled: Function | None = None

    @property
    def signature(self) -> Any:
        """Numba's types of the arguments."""
        return _signature(self.arguments)

    def compiled(self) -> Function:
        """Return the compiled function, from the cache on disk if it is there."""
        if self._compiled is None:
            name = self.function.__qualname__
            self.function.__qualname__ = f"{name}-{SOURCES}"
            options = {**OPTIONS, "no_cfunc_wrapper": False}
            try:
                self._compiled = numba.njit(self.signature, cache=True, **options)(self.function)
            except RuntimeError:
                self._compiled = numba.njit(self.signature, **options)(self.function)
            self.function.__qualname__ = name
        return self._compiled

    def __call__(self, *args: Any) -> None:
        """Run it; pointers are given as what they point to."""
        run = self.compiled()
        run(*(arg.compiled() if isinstance(arg, Compiled) else arg for arg in args))


def _signature(arguments: Any) -> Any:
    return types.void(
        *(
            types.FunctionType(_signature(each)) if type(each) is tuple else numba.typeof(each)
            for each in arguments
        )
    )
