"""Arrays of a thread's last call, kept for its next one."""

import threading
import weakref

import numpy as np

from ..validation import Floats


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


MEMORY = Memory()
