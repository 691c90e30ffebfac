"""How kernels are compiled: seven decorators, one for each way in which a function is used.

Kernels do not check for division by zero (``error_model="numpy"``): the check would keep loops from
vectorising.
"""

import gc
import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import numba
from numba.core.compiler import Compiler
from numba.core.types import Function as Operation

from .cache import KernelCache

DOCSTRING = re.compile(rb'"""[\s\S]*?"""')
F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]
_search: Any = Operation.get_call_type
_signatures: dict[Any, Any] = {}


def _remembered(operation: Operation, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature of an operation for some types, as Numba's own method does.

    Numba asks for each ten times, and each time tries a dozen templates before one that fits. With
    their signatures remembered, a first gradient takes about a tenth less time.
    """
    key = operation, args, tuple(dict(kws).items())
    signature = _signatures.get(key)
    if signature is None:
        signature = _search(operation, context, args, kws)
        # Else it is compiled, for the options of the function that asks.
        if operation.get_impl_key(signature) == operation.typing_key:
            _signatures[key] = signature
    return signature


@cache
def _announce() -> None:
    """Say once, to people who wait at a terminal or a notebook, what they wait for."""
    notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    if notebook or (sys.stderr is not None and sys.stderr.isatty()):
        print("boostrank: compiling, which takes a few seconds", file=sys.stderr)


# Passes of Numba over array expressions and inner functions: kernels that borrow have none.
SKIPPED = {"NopythonRewrites", "InlineClosureLikes"}


class _Compiler(Compiler):
    """Compiles what Numba's own compiler does, in three quarters of the time."""

    def define_pipelines(self) -> Any:
        managers = super().define_pipelines()  # type: ignore[no-untyped-call]
        state = self.state
        for manager in () if state.flags.nrt or _outside(state.func_id.func) else managers:
            manager.passes = [each for each in manager.passes if each[0].__name__ not in SKIPPED]
        return managers

    def compile_extra(self, function: Function) -> Any:
        """Compile a function without garbage collection, which takes a tenth of the time."""
        _announce()
        collects = gc.isenabled()
        gc.disable()  # one function is compiled at a time, under a lock of Numba's
        search: Any = Operation.get_call_type
        Operation.get_call_type = _remembered  # type: ignore[method-assign, assignment]
        try:
            compiled = super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            # Still the one above, if this function is compiled for another one.
            Operation.get_call_type = search  # type: ignore[method-assign]
            if collects:
                gc.enable()
        with suppress(AttributeError):  # another version of Numba
            if not self.state.flags.nrt:
                _check_borrowing(function, compiled)
        return compiled


def _check_borrowing(function: Function, compiled: Any) -> None:
    """Raise if a function returns an array, or is returned one, that nobody would free."""
    calls = compiled.type_annotation.calltypes.items()
    returned = [each.return_type for call, each in calls if getattr(call, "op", None) == "call"]
    models = compiled.target_context.data_model_manager
    for each in (compiled.signature.return_type, *returned):
        if models[each].contains_nrt_meminfo():
            raise TypeError(f"{function.__name__} needs jit_allocating: it gets or returns {each}")


IN_ORDER = {"contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {
    "pipeline_class": _Compiler,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nobody calls kernels from C, and the wrapper takes time to compile
    # Sums may be split over vector lanes; NaN and infinity keep their meaning.
    "fastmath": IN_ORDER | {"reassoc"},
    "_nrt": True,
}
# Arrays belong to the caller, so no references to them are counted. Counting takes up to a fifth of
# the time for a short query, and a tenth of the time to compile.
BORROWS: dict[str, Any] = {"_nrt": False}


def _sources() -> str:
    """Return a digest of this package's code and of the settings that change machine code."""
    digest = hashlib.sha256(str(getattr(numba.config, "BOUNDSCHECK", None)).encode())
    for path in sorted(Path(__file__).resolve().parent.parent.rglob("*.py")):
        digest.update(DOCSTRING.sub(b"", path.read_bytes()))
    return digest.hexdigest()[:16]


SOURCES = _sources()
PACKAGE = __name__.removesuffix("engine.jit")


def jit_entry(function: F, *, borrows: bool = False) -> F:
    """Compile a function that Python calls, cached on disk if a folder is writable.

    Code from outside this package is compiled in every process.

    With `borrows`, it makes no array: see `jit_helper`.

    Numba looks only at the function's own file when it decides whether machine code on disk is
    still valid. The name on disk therefore has a digest of all files that the code may depend on.
    """
    return _cached(function, OPTIONS | (BORROWS if borrows else {}))  # type: ignore[no-any-return]


def _outside(function: Any) -> bool:
    return not (function.__module__ or "").startswith(PACKAGE.partition(".")[0] + ".")


def _cached(function: Any, options: dict[str, Any]) -> Any:
    compiled = numba.njit(**options)(function)
    # The digest leaves out the sources of other packages, so code on disk could be outdated.
    if compiled is function or _outside(function):  # the first if Numba is switched off
        return compiled
    with suppress(OSError):  # a package in an archive
        compiled._cache = KernelCache(function, SOURCES)
    return compiled


def jit_pointer(function: F) -> F:
    """Compile like `jit_helper` a function that kernels get as an argument, cached on disk."""
    options = {**OPTIONS, **BORROWS, "no_cfunc_wrapper": False, "no_cpython_wrapper": True}
    return _cached(function, options)  # type: ignore[no-any-return]


# The attributes with which a Numba library finishes its code, none of them documented.
FINISHING = ("_optimize_final_module", "_finalize_final_module", "_final_module", "_shared_module")


class _Helper(_Compiler):
    """Leaves a function's optimisation and machine code to the kernels that call it.

    Otherwise a process that compiles may run the function's own code in place of the copy in a
    kernel. Processes that load the kernel run the copy, and the last bits may differ.
    """

    optimises: ClassVar[bool] = False

    def define_pipelines(self) -> Any:
        state = self.state
        try:
            library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
            library.enable_object_caching()
            self._prepare(library)
        except AttributeError:
            pass  # another version of Numba: it makes the library itself
        else:
            state.library = library
        return super().define_pipelines()

    def _prepare(self, library: Any) -> None:
        optimize, finalize, *_ = (getattr(library, name) for name in FINISHING)  # all must be there

        def finalize_copy() -> None:
            # Kernels link a copy. Nothing of the module itself is left to compile.
            module = library._final_module
            library._shared_module = module.clone()
            for shared, own in zip(library._shared_module.functions, module.functions, strict=True):
                if not own.is_declaration:
                    own.linkage = "available_externally"
                    if shared.linkage.name == "external":
                        shared.linkage = "linkonce_odr"
            finalize()

        library._finalize_final_module = finalize_copy
        library._optimize_final_module = optimize if self.optimises else lambda: None


class _Disjoint(_Helper):
    """Assumes that the arrays handed over share no memory.

    Nothing of this is left once the function is part of a kernel, so it is optimised before.
    """

    optimises: ClassVar[bool] = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        with suppress(AttributeError):  # another version of Numba: loops check for overlap
            self.state.flags.noalias = True


HELPER = {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _Helper}


def jit_helper(function: F) -> F:
    """Compile a function that only kernels call, and that neither makes nor returns an array.

    Called from Python, it crashes the process: leaving out the wrapper saves a fifth of the time.
    Nor is it optimised on its own, which would take a tenth more and make hardly a loop faster.

    Numba compiles a function again for each literal. So pass a named constant to it as
    ``int(NAME)``, and a variable that starts as a number as ``int(variable)``.
    """
    return numba.njit(**HELPER | BORROWS)(function)  # type: ignore[no-any-return]


def jit_allocating(function: F) -> F:
    """Compile like `jit_helper` a function that makes arrays, or calls one that returns some."""
    return numba.njit(**HELPER)(function)  # type: ignore[no-any-return]


def jit_shared(function: F) -> F:
    """Compile a helper of many kernels: cached like `jit_entry`, so that the next can use it."""
    return _cached(function, HELPER)  # type: ignore[no-any-return]


def jit_disjoint(function: F, *, in_order: bool = True) -> F:
    """Compile a helper that is never handed overlapping arrays, or overlapping rows of one.

    Otherwise, each loop that writes one array and reads another first checks whether they overlap:
    LambdaRank(truncation=30) then takes a third longer at 60 documents.

    Sums keep their order, unless a loop needs them split over vectors. If splits were allowed where
    no loop needs them, a sum might be split in one copy of a loop but not in another.
    """
    options = {**HELPER, **BORROWS, "pipeline_class": _Disjoint}
    options |= {"fastmath": IN_ORDER} if in_order else {}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def jit_ordered(function: F) -> F:
    """Compile like `jit_helper`, but keep the order of operations.

    margin - (s_i - s_j) must not become (margin - s_i) + s_j, where a large score swallows the
    margin. The compiler would do so to save an operation: it hoists margin - s_i out of loops.
    """
    # Fastmath is switched off explicitly: left out, it is inherited from the calling kernel.
    return numba.njit(**{**HELPER, "fastmath": False})(function)  # type: ignore[no-any-return]


def bind(function: Any, losses: Sequence[Function], label: str = "", **globals: Any) -> Any:
    """Return a function with some globals replaced by a loss's own functions.

    Machine code is found on disk by name: `losses`, the functions that make the difference, and
    `label` become part of it.
    """
    bound: Any = FunctionType(function.__code__, {**function.__globals__, **globals})
    names = [f"{each.__module__}.{each.__qualname__}".removeprefix(PACKAGE) for each in losses]
    # Names are limited to 255 characters.
    bound.__qualname__ = "-".join([function.__qualname__, *names, *([label] if label else [])])
    bound.__module__ = next((each.__module__ for each in losses if _outside(each)), __name__)
    return bound
