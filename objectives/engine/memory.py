"""Arrays that a thread keeps from one call for the next: fresh memory takes time."""

import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..validation import Floats

Arrays = TypeVar("Arrays")


class Memory(threading.local):
    """Arrays of this thread's last call, for reuse: fresh memory takes a fifth of a call.

    A call that fails does not give its arrays back: other threads may still be writing to them.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}
        self._lent: dict[str, weakref.ref[Floats]] = {}

    def take(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return an array of this shape, with arbitrary content."""
        array = self._arrays.pop(name, None)
        if array is None or array.shape != shape:
            array = np.empty(shape)
        self._lent[name] = weakref.ref(array)
        return array

    def give_back(self, name: str, array: Floats) -> None:
        """Keep an array that is no longer needed, unless it was not taken here."""
        lent = self._lent.pop(name, None)
        if lent is not None and lent() is array:
            self._arrays[name] = array


class Scratch(threading.local):
    """Scratch of this thread: fresh memory takes a third of a call for queries of thousands."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[int], object]] = {}

    def take(self, name: str, make: Callable[..., Arrays], *sizes: int) -> Arrays:
        """Return ``make(*sizes)``, or what it returned before for sizes at least as large."""
        known, arrays = self._kept.get(name, ([0] * len(sizes), None))
        if arrays is None or any(map(int.__lt__, known, sizes)):
            known = [max(pair) for pair in zip(known, sizes, strict=True)]
            self._kept[name] = known, make(*known)
        return self._kept[name][1]  # type: ignore[return-value]


MEMORY = Memory()
SCRATCH = Scratch()
