"""Tables, notes, JSON and progress, in the same form for all commands."""

import json
import math
import os
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
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

# Exit codes.
FAILED, WRONG, INTERRUPTED = 1, 2, 130
# Lines that go into a file or a pipe are not wrapped, unless COLUMNS says how wide they may be.
FILE_WIDTH = 10_000
# The narrowest column of names: names are wrapped before a number is cut.
_NAME_WIDTH = 10


def _console() -> Console:
    """Return a console for standard output."""
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isdecimal() and int(columns) else FILE_WIDTH
    return console


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, least: int, written: Path
) -> None:
    """Print a table in Markdown, and never cut a number; say which columns found no room.

    The most important columns come first; `least` are always printed, however narrow the terminal
    is, and the file that was `written` has all. The first holds names, which are wrapped if
    necessary; the others are aligned to the right.
    """
    # Two spaces and a border around the longest cell, and one more border.
    widths = [max(map(len, column)) + 3 for column in zip(headings, *rows, strict=True)]
    shown, console = len(headings), _console()
    terminal = console.width
    while shown > least and sum(widths[:shown]) + 1 > terminal:
        shown -= 1
    table = Table(box=box.MARKDOWN)
    name = min(widths[0] - 3, _NAME_WIDTH)
    table.add_column(headings[0], overflow="fold", min_width=name)
    for heading, width in zip(headings[1:shown], widths[1:shown], strict=True):
        table.add_column(heading, justify="right", no_wrap=True, min_width=width - 3)
    for row in rows:
        table.add_row(*row[:shown])
    console.width = max(terminal, name + 3 + sum(widths[1:shown]) + 1)
    console.print(table, crop=False)
    if shown < len(headings):
        hidden = ", ".join(headings[shown:])
        print_note(f"Not shown in {terminal} columns: {hidden}; see {written}.")


def print_note(text: str, indent: int = 0, hanging: int = 0) -> None:
    """Print sentences, wrapped between words; a word that is too long is not broken."""
    console = _console()
    lines = textwrap.fill(
        text,
        console.width,
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    console.print(lines, soft_wrap=True)


def say(text: str) -> None:
    """Print a line on standard error, above a progress bar; `typer.echo` would print behind it."""
    if sys.stderr is not None:  # closed; `print` would take standard output
        with suppress(OSError):  # on a full disk, say
            print(f"boostrank: {text}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON, with NaN as null."""
    plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(json.dumps(plain, indent=2))


def plus_minus(low: float, high: float) -> str:
    """Return half an interval, to print after a number; nothing if there is none."""
    return "" if math.isnan(high - low) else f" ± {(high - low) / 2:.4f}"


def progress_bar(unit: str, total: int) -> Progress:
    """Return a bar with the time left, which shows nothing without a terminal."""
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
