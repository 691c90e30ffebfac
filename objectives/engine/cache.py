"""Machine code on disk: a folder that is full, read-only or damaged costs time, never a training.

Whatever goes wrong while code is read or written, the function is compiled as if there were no
cache. Numba itself raises, and keeps an index of its files: one that is cut off fails in every
process until somebody deletes it, and two processes that start together may swap their entries.
Here each entry is a file of its own, which is used only if it is whole.
"""

import hashlib
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

_DIGEST = hashlib.sha256().digest_size


class _Entries:
    """The files of one function, a file for each signature and processor."""

    def __init__(self, stem: Path, stamp: Any) -> None:
        self._stem = stem
        self._stamp = (numba.__version__, stamp)

    def _path(self, key: Any) -> Path:
        name = hashlib.sha256(repr((self._stamp, key)).encode()).hexdigest()[:16]
        return self._stem.with_name(f"{self._stem.name}.{name}.nbc")

    def load(self, key: Any) -> Any:
        """Return what was saved under the key, or None."""
        content = self._path(key).read_bytes()
        digest, code = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(code).digest() != digest:
            return None  # cut off, or overwritten with something else
        known, data = pickle.loads(code)
        return data if known == key else None

    def save(self, key: Any, data: Any) -> None:
        """Write an entry whole, or not at all."""
        code = dumps((key, data))  # type: ignore[no-untyped-call]
        path = self._path(key)
        part = path.with_suffix(f".{uuid4().hex}.tmp")
        try:
            part.write_bytes(hashlib.sha256(code).digest() + code)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


class KernelCache(FunctionCache):
    """Numba's cache of one function, without its errors.

    Parameters
    ----------
    function : function

    Raises
    ------
    RuntimeError
        If neither the package's folder nor the user's cache can be written.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        stem = Path(self._cache_path) / self._impl.filename_base
        self._cache_file: Any = _Entries(stem, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None: Numba then compiles it."""
        with suppress(Exception):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code for a signature if that is possible."""
        with suppress(Exception):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
