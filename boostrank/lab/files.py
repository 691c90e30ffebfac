"""Writing files: whole or not at all. Every OSError names the file."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in an error of the system: that of writing has no name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole, or leave what is there as it was; also into a pipe or a device."""
    with naming(path):
        target, part = _target_and_part(path)
        if part is None:
            # A shell's `> file`, opened by the name of standard output, would be emptied.
            with open(os.dup(1) if str(path) in _STANDARD_OUTPUT else target, "wb") as file:
                file.write(content)
            return
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # some disks say only now that they are full
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def check_writable(path: Path, *read: Path) -> None:
    """Raise the error that writing the file would raise, unless the disk fills up until then.

    A file that replaces one of those that are `read` is a ValueError, and so is "-".
    """
    if str(path) == "-":
        raise ValueError("'-' would be a file of this name: standard output is /dev/stdout")
    if path.is_file() and any(one.exists() and path.samefile(one) for one in read):
        raise ValueError(f"{path} is read, and would be replaced by what is written: name another")
    with naming(path):
        _, part = _target_and_part(path)
        if part is not None:
            part.unlink()


def _target_and_part(path: Path) -> tuple[Path, Path | None]:
    """Return the file to replace, and an empty one to replace it with.

    None in place of the second: the first is written to, as pipes and devices are, and files in a
    folder where no others may be made.
    """
    folder = path.parent.resolve()
    standard = folder == Path("/dev") or Path("/proc") in folder.parents
    if standard or (path.exists() and not path.is_file() and not path.is_dir()):
        return path, None
    target = Path(os.path.realpath(path))  # a link stays a link; `resolve` refuses circles
    if target.exists():
        with target.open("ab"):  # fails for a folder, and for a file that may not be written
            pass
    part = target.with_name(f".boostrank-{uuid4().hex}")
    try:
        part.touch(exist_ok=False)
    except PermissionError:
        if target.exists():
            return target, None
        raise
    if target.exists():
        part.chmod(target.stat().st_mode & 0o7777)
    return target, part


def as_csv(lines: Iterable[Sequence[Any]]) -> bytes:
    """Return lines of values as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "surrogateescape")  # a name may come from a path


def append(path: Path, content: bytes) -> None:
    """Append to a file whole, or leave it as it was."""
    with naming(path), path.open("ab") as file:
        before = file.tell()
        try:
            file.write(content)
            file.flush()
        except OSError:
            with suppress(OSError):
                file.truncate(before)
            raise


@contextmanager
def only_user(folder: Path) -> Iterator[None]:
    """Make a folder, and keep other runs out of it; if one is in it, that is a ValueError."""
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another run is writing into this folder; wait for it, or give another"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)  # this unlocks it
