"""What is said in several places: warnings at the user's line, packages that are missing."""

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

#: What the command line needs: the packages of the extra `cli`.
CLI = "typer rich jinja2 scikit-learn scipy matplotlib"
#: What CSV and parquet need: those of the extra `tables`.
TABLES = "pandas pyarrow"

#: LightGBM's default gains end at this grade.
LARGEST_GRADE = 30
_muted: ContextVar[bool] = ContextVar("muted", default=False)


def needs(what: str, packages: str, error: ImportError) -> ImportError:
    """Return the error that says how to install what is missing.

    `what` says who needs it: "figures need Matplotlib". `packages` are not an extra of boostrank: a
    checkout or a wheel cannot be named so.
    """
    return ImportError(f"{what}: pip install {packages} ({error})")


def few(names: Sequence[object]) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def load(module: str, what: str, packages: str) -> Any:
    """Return a module of a package that may be missing, or raise the error of `needs`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise needs(what, packages, error) from error


def package_of(host: str) -> str:
    """Return the package that brings a host."""
    # xgboost itself brings 350 MB of GPU libraries.
    return "xgboost-cpu" if host == "xgboost" else host


def import_host(name: str) -> Any:
    """Return a host's module, or say how to install it."""
    return load(name, f"{name} is not installed", package_of(name))


@contextmanager
def muted() -> Iterator[None]:
    """Leave out what `warn` would say, in this thread: `warnings.catch_warnings` is not safe."""
    before = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(before)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the hosts or boostrank."""
    if _muted.get():
        return
    own = ("boostrank", "lightgbm", "xgboost", "sklearn", "distributed")
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        level += 1
        frame = frame.f_back
        if frame and frame.f_globals.get("__name__", "").partition(".")[0] not in own:
            break
    warnings.warn(message, category, stacklevel=level + 1)


def warn_of_no_grades(labels: npt.NDArray[Any], what: str, cure: str) -> None:
    """Warn of labels above `LARGEST_GRADE`, or not whole, that `what` takes for grades."""
    amounts = f"amounts, such as prices, probabilities or ranks, {cure}"
    if np.max(labels, initial=0.0) > LARGEST_GRADE:
        warn(
            f"labels above {LARGEST_GRADE} count as gains 2^y - 1 in {what}, so that only the "
            f"largest of them matter. For {amounts}"
        )
    elif not np.all(labels == np.floor(labels)):
        warn(f"labels that are not whole count as gains 2^y - 1 in {what}: for {amounts}")
