"""Opens data files: compressed ones by their suffix, and says what a file is that is not text."""

import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from boostrank.messages import load

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard", ".zip": "zip"}

# What files begin with that are no text, or no text in UTF-8, and what to do with them.
_BEGINNINGS: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"\x1f\x8b", "compressed by gzip; its name must end in .gz"),
    (b"BZh", "compressed by bzip2; its name must end in .bz2"),
    (b"\xfd7zXZ\0", "compressed by xz; its name must end in .xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstandard; its name must end in .zst"),
    (b"PK\3\4", "a zip archive, whose name must end in .zip, or an Excel sheet: save it as CSV"),
    (b"\x04\x22\x4d\x18", "compressed by lz4; decompress it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; extract the one file to read"),
    (b"Rar!", "a rar archive; extract the one file to read"),
    (
        (b"\x80\x04\x95", b"\x80\x05\x95"),
        "a pickle of Python; load it there, and write its table as CSV or parquet",
    ),
    (b"PAR1", "parquet; its name must end in .parquet"),
    (b"ARROW1", "an Arrow (Feather) file; write it as parquet"),
    (b"FEA1", "a Feather file; write it as parquet"),
    (b"\x93NUMPY", "a NumPy array, which names no columns; write it as CSV with a header"),
    (b"\x89HDF", "an HDF5 file; write it as CSV or parquet"),
    (b"SQLite format 3", "an SQLite database; write its table as CSV or parquet"),
    (b"______LightGBM_Binary_File_Token", "a binary Dataset of LightGBM; read the text it is from"),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the data with 'git lfs pull'"),
    ((b"<!DOCTYPE", b"<html"), "an HTML page; fetch the data itself"),
    ((b"\xff\xfe", b"\xfe\xff"), "text in UTF-16; save it as UTF-8"),
)

#: Files that the hosts read together with a data file, and the argument that takes their content.
_COMPANIONS = {
    ".weight": "sample_weight",
    ".init": "init_score",
    ".position": "position",
    ".base_margin": "base_margin",
}


def without_compression(path: Path) -> Path:
    """Return the name that a file has when it is not compressed."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, and decompress it as its suffix says."""
    kind = COMPRESSIONS.get(path.suffix.lower())
    module = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}.get(kind or "")
    if module:
        return cast(BinaryIO, import_module(module).open(path, "rb"))
    if kind == "zstandard":
        pyarrow = load("pyarrow", f"{path}: .zst files need pyarrow", "pyarrow")
        # Opened here, so that its errors are those of the other files.
        stream = pyarrow.input_stream(io.FileIO(path), compression="zstd")
        return io.BufferedReader(stream)  # it has no lines of its own
    return _open_member(path) if kind == "zip" else open(path, "rb")


def check_no_pipe(path: Path) -> None:
    """Refuse a pipe where a file is opened twice: the second time, its beginning is gone."""
    if path.is_fifo():
        raise ValueError(
            f"{path} is a pipe, which can be read only once, and is needed twice: write it into a "
            "file first"
        )


def _open_member(path: Path) -> BinaryIO:
    import zipfile

    archive = zipfile.ZipFile(path)
    # macOS adds files of its own.
    members = [
        each
        for each in archive.infolist()
        if not each.is_dir() and not each.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        held = ", ".join(each.filename for each in members[:5]) or "nothing"
        raise ValueError(
            f"{path}: a zip archive must hold one file, but it holds {len(members)} ({held}); "
            "extract the one to read"
        )
    if members[0].flag_bits & 1:
        raise ValueError(f"{path}: the zip archive is encrypted; extract it first")
    return cast(BinaryIO, archive.open(members[0]))


@contextmanager
def reading(path: Path, line: Callable[[], int] | None = None) -> Iterator[None]:
    """Name the file, and the line before, in errors of text that is not UTF-8 or not whole."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(_text_fault(path)) from error
    except Exception as error:
        # What says that a compressed file is damaged, not that it cannot be read.
        if not (
            isinstance(error, EOFError | zlib.error)
            or type(error).__name__ in ("LZMAError", "BadZipFile")
            or (isinstance(error, OSError) and error.errno is None)
        ):
            raise
        place = path if line is None else f"{path}, after line {line()}"
        suffix = path.suffix.lower()
        raise ValueError(
            f"{place}: not a whole {COMPRESSIONS.get(suffix, 'data')} file ({error}); fetch it "
            f"again, or name it without {suffix} if it is plain text"
        ) from error


def what_it_is(start: bytes) -> str:
    """Say what a file is that begins with `start`; empty if it may be text in UTF-8."""
    if start[257:262] == b"ustar":
        return "the file is a tar archive; extract the one file to read"
    for beginning, what in _BEGINNINGS:
        if start.startswith(beginning):
            return f"the file is {what}"
    return ""


def rows_of_text(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not blank."""
    path = Path(path)
    number = 0
    with reading(path, lambda: number), open_bytes(path) as lines:
        for number, line in enumerate(lines, 1):
            if number == 1 and (what := what_it_is(line)):
                raise ValueError(f"{path}: {what}")
            fields = line.decode("utf-8-sig" if number == 1 else "utf-8").split()
            if fields:
                yield number, fields


def check_companions(path: str | os.PathLike[str]) -> None:
    """Refuse data whose weights, initial scores or positions lie in files that we do not read.

    LightGBM and XGBoost read ``train.txt.weight`` with ``train.txt``; without it, the model would
    be another one.
    """
    path = Path(path)
    names = (without_compression(path).name, path.name)
    for suffix, argument in _COMPANIONS.items():
        beside = [f"{name}{suffix}{packed}" for name in names for packed in ("", *COMPRESSIONS)]
        companion = next((one for one in map(path.parent.joinpath, beside) if one.is_file()), None)
        if companion is not None:
            raise ValueError(
                f"{companion} lies next to the data, where LightGBM or XGBoost would read it, but "
                f"boostrank does not; rename it, and pass its numbers to a host as {argument} if "
                "they shall count"
            )


def _text_fault(path: Path) -> str:
    """Say where a file is not text in UTF-8; for an error, since it reads the file again."""
    with open_bytes(path) as lines:
        for number, line in enumerate(cast(Any, lines), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{path}, line {number}: byte {line[error.start]:#04x} is not UTF-8 text; save "
                    "the file as UTF-8, for example with: iconv -f latin1 -t utf-8"
                )
    return f"{path}: the file is not UTF-8 text"
