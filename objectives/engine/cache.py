"""Machine code on disk: a folder that is full, read-only or damaged costs time, never a training.

Whatever goes wrong while code is read or written, the function is compiled as if there were no
cache. Numba itself raises, and keeps an index of its files: one that is cut off fails in every
process until somebody deletes it, and two processes that start together may swap their entries.
Here each entry is a file of its own, which is used only if it is whole. And Numba looks only into
the first folder that it can write: not into that of an image which runs read-only, or as another
user than the one who built it.
"""

import hashlib
import inspect
import pickle
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

_DIGEST = hashlib.sha256().digest_size
# Up to this version, machine code needs Numba's runtime alone: what compiles takes .2 s to import.
_RUNTIME_ALONE = (0, 68)


def _folders(source: Path) -> Iterator[Path]:
    """Where machine code of a source file may be: named by the user, in the package, at home."""
    if given := getattr(numba.config, "CACHE_DIR", ""):
        yield Path(given) / "boostrank"
    yield source.parent / "__pycache__"
    home = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)  # type: ignore[no-untyped-call]
    if home.is_absolute():  # it is "~/.cache" for a user without a home
        yield home / "boostrank"


class KernelCache(FunctionCache):
    """The cache of one function, with a file for each signature and processor.

    `version` tells one version of the sources from another. If the function's file is not there, as
    in an archive, that is an OSError.
    """

    def __init__(self, function: Any, version: str) -> None:
        source = Path(inspect.getfile(function)).resolve(strict=True)
        self._py_func = function
        self._cache_path = str(source.parent)  # only told
        self._folders = list(_folders(source))
        self._name = re.sub("[<>]", "", function.__qualname__)  # Windows' files have none in names
        self._base = f"{source.parent.name}.{source.stem}.{self._name}-{version}"

    def _file(self, sig: Any, codegen: Any) -> str:
        key = *self._index_key(sig, codegen), numba.__version__, sys.implementation.cache_tag  # type: ignore[no-untyped-call]
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
        return f"{self._base}.{digest}.nbc"

    def folder(self) -> Path:
        """Return the first folder that can be written, or raise an OSError."""
        for folder in self._folders:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=folder).close()
                return folder
        raise OSError(f"cannot write to {', '.join(map(str, self._folders))}")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None: Numba then compiles it."""
        with suppress(Exception):
            rtsys.initialize(target_context)
            if numba.version_info.short > _RUNTIME_ALONE:
                target_context.refresh()
            name = self._file(sig, target_context.codegen())
            for folder in self._folders:
                with suppress(OSError):
                    content = (folder / name).read_bytes()
                    digest, code = content[:_DIGEST], content[_DIGEST:]
                    if hashlib.sha256(code).digest() == digest:  # else cut off, or something else
                        return CompileResult._rebuild(target_context, *pickle.loads(code))  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code for a signature, whole or not at all, if that is possible."""
        with suppress(Exception):
            if data.library.has_dynamic_globals:
                return
            code = dumps(data._reduce())  # type: ignore[no-untyped-call]
            path = self.folder() / self._file(sig, data.codegen)
            part = path.with_suffix(f".{uuid4().hex}.tmp")
            try:
                part.write_bytes(hashlib.sha256(code).digest() + code)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
