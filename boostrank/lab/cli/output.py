"""Tables, notes, JSON and progress, in one form for all commands."""

import json
import math
from collections.abc import Iterable
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from boostrank.lab.environment import versions

# Exit codes.
FAILED, WRONG, INTERRUPTED = 1, 2, 130
# Tables that go into a file are not cut to a terminal's width.
FILE_WIDTH = 160


def make_console() -> Console:
    """Return what prints on standard output."""
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def make_table(left: Iterable[str], right: Iterable[str] = ()) -> Table:
    """Return a table in Markdown with headings, of columns set to the left and to the right."""
    table = Table(box=box.MARKDOWN)
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def json_number(value: float) -> float | None:
    """Return a number as JSON has it, NaN as null."""
    return None if math.isnan(value) else value


def counted(n: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{n:,} {one if n == 1 else many}"


def versions_in_words(hosts: Iterable[str]) -> str:
    """Name the versions of what a result depends on."""
    return ", ".join(f"{name} {version}" for name, version in versions(hosts).items())


def one_line(error: Exception) -> str:
    """Return an error's message without line breaks."""
    return " ".join(str(error).split())


def progress_bar(unit: str, total: int) -> Progress:
    """Return a bar with the time left, which shows nothing where there is no terminal."""
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    progress.add_task("", total=total)
    return progress
