"""The files of a comparison: results to resume from, and two CSV files."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import boostrank
from boostrank import objectives
from boostrank.lab.environment import versions
from boostrank.lab.files import append, as_csv, naming, write_file
from boostrank.lab.folds import Folds
from boostrank.lab.learners import Learner
from boostrank.lab.results import Failure, FoldResult, Row, holm_p_values
from boostrank.lab.settings import Settings
from boostrank.objectives import Objective
from boostrank.objectives.base import listed
from boostrank.objectives.composite import all_inside

#: What ``summary.csv`` has besides the metrics.
_MEASURED = (
    *("seconds_per_round", "difference", "p_value", "difference_low", "difference_high"),
    *("relative_difference", "p_holm", "best_rounds", "error"),
)


class ResultStore:
    """The results of a comparison on disk.

    ``results.jsonl`` has a line for each fold of each learner: a `FoldResult` and everything that
    determines it: data, fold, host, objective with all its parameters, settings, versions, sources,
    and the machine, on which times and rounding depend. A result is used again only if all of that
    is equal.

    ``summary.csv`` has a line for each learner, ``queries.csv`` one for each learner and test
    query. Numbers have all their digits. A query that the convention leaves out has empty fields,
    and so has a failed row. ``p_holm`` is corrected for the number of rows so far.
    """

    def __init__(
        self, folder: Path, folds: Folds, settings: Settings, machine: str, *, resume: bool
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self.summary, self.queries = folder / "summary.csv", folder / "queries.csv"
        #: For each result that `find` did not use, what has changed since it was written.
        self.stale: list[list[str]] = []
        self.metrics = settings.metrics
        of_query = [*("objective", "host", "fold", "qid"), *self.metrics]
        self._rows: list[Row | Failure] = []
        # First: on a full disk, old results stay.
        self._write_summary()
        write_file(self.queries, as_csv([of_query]))
        data = folds.data
        shared = asdict(settings)
        del shared["test"]  # results are the same whatever they are tested with
        arrays = chain((data.X, data.y, data.qid), *folds.positions)
        self._common = {
            "data": digest(
                chain([repr(data._meanings).encode()], (array.tobytes() for array in arrays))
            ),
            **json.loads(json.dumps(shared, default=_plain)),  # tuples become lists, as in the file
            "machine": machine,
        }
        self._lines: list[dict[str, Any]] = []
        if resume and self.path.exists():
            with naming(self.path):
                lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
            for line in lines:
                with suppress(ValueError, TypeError, KeyError):  # it was stopped while it wrote
                    read = json.loads(line)
                    self._lines.append({name: dict(read[name]) for name in ("key", "result")})
        # A line that was cut off must not swallow the next one.
        write_file(self.path, b"".join(map(_line, self._lines)))

    def _key(self, learner: Learner, fold: int) -> dict[str, Any]:
        return {
            "host": learner.host,
            "objective": str(learner.objective),
            "fold": fold,
            "versions": versions([learner.host]),
            "sources": sources(learner.objective),
            **self._common,
        }

    def find(self, learner: Learner, fold: int) -> FoldResult | None:
        """Return the result of a learner in a fold, if it is on disk."""
        key = self._key(learner, fold)
        others = []
        for line in self._lines:
            differing = [name for name, value in key.items() if line["key"].get(name) != value]
            if not differing:
                return _fold_result(line["result"])
            if not {"host", "objective", "fold"} & set(differing):
                others.append(differing)
        if others:
            self.stale.append(min(others, key=len))
        return None

    def add(self, learner: Learner, result: FoldResult) -> None:
        """Append a result."""
        line = {"key": self._key(learner, result.fold), "result": vars(result)}
        append(self.path, _line(line))

    def add_row(self, row: Row | Failure) -> None:
        """Add a row that is complete or has failed to the CSV files."""
        self._rows.append(row)
        self._write_summary()
        if isinstance(row, Row):
            name = [row.learner.label, row.learner.host]
            append(self.queries, as_csv([*name, *_without_nan(line)] for line in row.by_query()))

    def _write_summary(self) -> None:
        """Write all rows so far: each changes the corrected p-values of the others."""
        corrected = holm_p_values([row for row in self._rows if isinstance(row, Row)])
        lines: list[list[Any]] = [["objective", "host", *self.metrics, *_MEASURED]]
        for row in self._rows:
            if isinstance(row, Failure):
                values: list[Any] = [""] * (len(self.metrics) + len(_MEASURED) - 1) + [row.error]
            else:
                values = [
                    *(row.mean(metric) for metric in self.metrics),
                    *(row.seconds_per_round, row.difference, row.p_value, *row.difference_interval),
                    *(row.relative_difference, corrected[row.learner]),
                    " ".join(str(fold.best_round) for fold in row.folds),
                    "",
                ]
            lines.append([row.learner.label, row.learner.host, *_without_nan(values)])
        write_file(self.summary, as_csv(lines))


def _without_nan(values: Iterable[Any]) -> list[Any]:
    return ["" if each != each else each for each in values]


def _line(value: dict[str, Any]) -> bytes:
    return f"{json.dumps(value, default=_plain, allow_nan=False)}\n".encode()


def _plain(value: Any) -> Any:
    """Return a value of NumPy as JSON takes it: NaN in an array is None."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [None if each != each else each for each in value.tolist()]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"results can be kept only with parameters that JSON takes, got {value!r}: leave out= out"
    )


def digest(pieces: Iterable[bytes]) -> str:
    """Return a digest of pieces and of the boundaries between them."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(hashlib.sha256(piece).digest())
    return whole.hexdigest()


def sources(objective: Objective | str) -> str:
    """Return a digest of our sources and of the files of the objective's classes.

    The version stays the same between releases, and a user's class may have been edited. A class of
    a notebook or an archive, which has no file, counts as edited. So does a function, as a gain may
    be: it may depend on more than its own lines.
    """
    # An editable installation keeps the objectives outside the package's folder.
    folders = (Path(boostrank.__file__).parent, Path(objectives.__file__).parent)
    paths = {path for folder in folders for path in folder.rglob("*.py")}
    unknown = b""
    for own in all_inside(objective) if isinstance(objective, Objective) else ():
        file = getattr(sys.modules.get(type(own).__module__), "__file__", None)
        values = [getattr(own, entry.name) for entry in listed(own)]
        functions = [each for each in values if callable(getattr(each, "shape", each))]
        if not (file and Path(file).is_file()) or any(
            not isinstance(each, Objective) for each in functions
        ):
            unknown = os.urandom(8)
        else:
            paths.add(Path(file))
    return digest([*(path.read_bytes() for path in sorted(paths)), unknown])


def _fold_result(stored: dict[str, Any]) -> FoldResult:
    arrays = {name: np.array(stored[name], np.float64) for name in ("curve", "importance")}
    figures = {name: np.array(values, np.float64) for name, values in stored["figures"].items()}
    return FoldResult(**stored | arrays | {"figures": figures, "qid": np.array(stored["qid"])})
