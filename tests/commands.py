"""The command line in this process, as tests run it, files for it to read, and its rows."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from boostrank.datasets import RankingData, load_letor_parts
from boostrank.lab.cli.app import app
from boostrank.lab.learners import Learner
from boostrank.lab.results import FoldResult, Row
from boostrank.lab.settings import CUTOFFS, METRICS, Settings


def result_of(*args: object, **environment: str | None) -> Any:
    """Run a command, however it ends."""
    # A pipe of any width: pytest's workers set COLUMNS.
    words = [str(arg) for arg in args]
    return CliRunner().invoke(app, words, env={"COLUMNS": None, **environment})


def run(*args: object, **environment: str | None) -> Any:
    """Run a command that must succeed."""
    result = result_of(*args, **environment)
    assert result.exit_code == 0, result.output
    return result


def refused(*args: object) -> str:
    """Run a command that must be refused, and return its one line of error."""
    result = result_of(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("boostrank: ")
    return str(line)


def scores_of(model: Path, data: Path) -> Any:
    """Return what `boostrank predict` writes."""
    out = model.with_name("scores.txt")
    run("predict", model, data, "--out", out)
    return np.loadtxt(out)


def svmlight(data: RankingData, first: int = 1, *, label: bool = True) -> str:
    """Return the data as LETOR writes them, with features numbered from `first`, without zeros."""
    lines = []
    for row, grade, query in zip(data.X, data.y, data.qid, strict=True):
        features = " ".join(f"{i}:{x!r}" for i, x in enumerate(row.tolist(), first) if x)
        lines.append(f"{grade:g} qid:{query} {features}\n" if label else f"{features}\n")
    return "".join(lines)


def letor(folder: Path) -> list[RankingData]:
    """Return LETOR's five partitions of a set of real data."""
    return load_letor_parts([folder / f"S{part}.txt.gz" for part in range(1, 6)])


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV file by the names of its columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed where its name ends in .gz, and return its path."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def fold_of(number: int, values: Any, **own: Any) -> FoldResult:
    """Return the result of a fold in which every metric has these values of the test queries."""
    shown = {"curve": np.array([0.5]), "best_round": 1, "seconds_per_round": number / 4} | own
    figures = dict.fromkeys((*(f"ndcg@{k}" for k in CUTOFFS), *METRICS), np.array(values))
    return FoldResult(number, qid=np.arange(len(values)), figures=figures, **shown)


def row_of(
    learner: Learner, *folds: Any, base: Row | None = None, settings: Settings | None = None
) -> Row:
    """Return the row of a learner with these values of the test queries of each fold."""
    results = tuple(fold_of(number, values) for number, values in enumerate(folds, start=1))
    return Row(learner, results, base, settings or Settings())
