"""Functions of losses as pointers, so that what calls them is compiled once for all losses."""

import threading
from functools import cached_property
from typing import Any

import numba
from numba import types

from .jit import Function, jit_entry, jit_pointer

_one_at_a_time = threading.Lock()


class Pointer:
    """What Numba takes for a pointer to a function: an object with its type and address.

    Handed the compiled function itself, Numba looks up both in every call, which takes as long as
    the derivatives of a thousand documents. An error inside the function is printed, not raised.
    """

    def __init__(self, compiled: Any) -> None:
        self.function = types.CompileResultWAP(compiled)
        self._numba_type_ = types.FunctionType(self.function.signature())

    def __wrapper_address__(self) -> int:
        return self.function.__wrapper_address__()


class Compiled:
    """A function with one signature, compiled when it is first called or handed on.

    Parameters
    ----------
    function : function
    arguments : tuple
        Examples of its arguments; a tuple stands for a pointer to a function of such arguments.
    entry : bool, default False
        Whether Python calls it. Otherwise it is handed on as a pointer.
    """

    def __init__(self, function: Function, *arguments: Any, entry: bool = False) -> None:
        self.function, self.arguments, self.entry = function, arguments, entry

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function; nothing is compiled yet."""
        if self.entry:
            return jit_entry(self.function, borrows=True)
        return jit_pointer(self.function)

    def compiled(self) -> Any:
        """Return the compiled function, from the cache on disk if it is there."""
        if "_ready" not in self.__dict__:
            with _one_at_a_time:  # workers in threads may make the first call together
                return self._ready
        return self._ready

    @cached_property
    def _ready(self) -> Any:
        dispatcher = self.dispatcher
        if getattr(numba.config, "DISABLE_JIT", False):
            return dispatcher
        if not dispatcher.overloads:
            dispatcher.compile(_signature(self.arguments))
            dispatcher.disable_compile()
        return dispatcher if self.entry else Pointer(*dispatcher.overloads.values())


def _signature(arguments: Any) -> Any:
    return types.void(
        *(
            types.FunctionType(_signature(each)) if type(each) is tuple else numba.typeof(each)  # type: ignore[no-untyped-call]
            for each in arguments
        )
    )
