"""`boostrank bench`: times gradients or training; prints a table, writes CSV and a figure."""

import math
from dataclasses import astuple, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from boostrank.lab import bench as timings
from boostrank.lab.cli.options import Seed, Threads, parse_counts
from boostrank.lab.cli.output import print_note, print_table, progress_bar, say
from boostrank.lab.environment import machine
from boostrank.lab.files import append, as_csv, write_file
from boostrank.lab.models import installed, missing_hosts
from boostrank.lab.plot.axes import figure_file, load_matplotlib
from boostrank.lab.plot.objectives import time_per_document
from boostrank.lab.settings import Settings
from boostrank.lab.words import counted, versions_in_words
from boostrank.objectives.validation import check_count

EXAMPLES = """
**Examples**

    boostrank bench
    boostrank bench --docs 20,120 --repeats 5
    boostrank bench --train --threads 2
    boostrank bench --distinct --docs 5000,50000
"""


LENGTHS, TRAINED = "20,120,1000,9000,100000", "20,120,1000"


def bench(
    docs: Annotated[
        str | None,
        typer.Option(
            help="Documents per query, comma-separated.",
            show_default=f"{LENGTHS}; with --train {TRAINED}",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Paired runs; the median is reported.")] = 15,
    threads: Threads = Settings.threads,
    train: Annotated[
        bool, typer.Option("--train", help="Time whole boosting rounds instead (minutes).")
    ] = False,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Distinct labels; only our objectives.")
    ] = False,
    seed: Seed = Settings.seed,
    out: Annotated[Path, typer.Option(help="Folder for CSV and figure.")] = Path("out/bench"),
) -> None:
    """Time our gradients against the hosts' own on this machine, as ratios.

    Against the hosts that are installed.
    """
    if train and distinct:
        raise ValueError("--train and --distinct are different benchmarks: give one")
    docs = docs or (TRAINED if train else LENGTHS)
    lengths = [check_count("docs", count) for count in parse_counts("docs", docs)]
    how: dict[str, Any] = {"threads": threads, "seed": seed}
    Settings(**how)  # checks them
    check_count("repeats", repeats)
    out.mkdir(parents=True, exist_ok=True)
    timed = [] if distinct else installed()
    for note in missing_hosts() if timed else ():
        say(note)
    kind = timings.Training if train else timings.Timing
    if train:
        path = out / "training.csv"
        explained = f"Seconds per round; ratio: ours / built-in; medians of {repeats} paired rounds"
        total = sum(len(timings.trained_pairs(n)) for n in lengths)
        measured = timings.measure_training(lengths, rounds=repeats, **how)
    else:
        load_matplotlib()
        path = out / "bench.csv"
        explained = (
            "Nanoseconds per document; ratio: built-in / ours; speedup: ours on all cores; "
            f"medians of {repeats} paired runs"
        )
        total = sum(len(timings.timed_pairs(n, distinct)) for n in lengths)
        measured = timings.measure(lengths, repeats=repeats, distinct=distinct, **how)
    names = [entry.name for entry in fields(kind)]
    write_file(path, as_csv([names]))
    rows: list[Any] = []
    with progress_bar("pairs", total) as progress:
        for row in measured:
            append(path, as_csv([astuple(row)]))
            rows.append(row)
            progress.advance(progress.task_ids[0])
    headings = sorted(names, key=lambda name: name != "label")  # first
    lines = [[_cell(getattr(row, name)) for name in headings] for row in rows]
    # No column of a benchmark may be left out: names are wrapped instead.
    print_table(headings, lines, least=len(headings), written=path)
    if not train:
        with figure_file(out / "bench.png", 10.0, 5.5) as figure:
            time_per_document(rows, ax=figure.subplots())
            figure.legend(loc="outside right center", frameon=False, fontsize="small")
    print_note(
        f"{explained}. {counted(threads, 'thread')}. "
        f"{machine()}. {versions_in_words(timed)}. Written to {out}."
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
