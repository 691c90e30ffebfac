"""The figures that the command line writes into files."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from boostrank.lab.bench import Timing
from boostrank.lab.files import write_file
from boostrank.lab.plot.axes import ANY_BACKGROUND, load_matplotlib
from boostrank.lab.plot.comparisons import curve_limits, draw_host_curves, leaderboard, row_styles
from boostrank.lab.plot.objectives import time_per_document
from boostrank.lab.results import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def drawn(
    file: "IO[bytes] | str", looks: Mapping[str, Any], width: float, height: float, **kept: Any
) -> "Iterator[Figure]":
    """Yield a figure to draw into with Matplotlib's settings `looks`, then write it into a file."""
    matplotlib = load_matplotlib()
    with matplotlib.rc_context(looks):
        # Without pyplot a figure draws itself with Agg, whatever backend the process has.
        figure = matplotlib.figure.Figure((width, height), layout="constrained")
        yield figure
        figure.savefig(file, **kept)


@contextmanager
def _figure(path: Path, width: float, height: float) -> "Iterator[Figure]":
    """Yield a figure to draw into, and write it in the format that the file's suffix names."""
    content = io.BytesIO()
    with drawn(content, ANY_BACKGROUND, width, height, format=path.suffix[1:], dpi=150) as figure:
        yield figure
    write_file(path, content.getvalue())


def draw_rounds(rows: Sequence[Row], path: Path) -> None:
    """Draw the validation metric by round, mean over folds, one panel for each host."""
    hosts = list(dict.fromkeys(row.learner.host for row in rows))
    legend_lines = math.ceil(max(map([row.learner.host for row in rows].count, hosts)) / 2)
    with _figure(path, 1.0 + 5.0 * len(hosts), 4.2 + 0.25 * legend_lines) as figure:
        panels = figure.subplots(1, len(hosts), sharey=True, squeeze=False)[0]
        for axes, host in zip(panels, hosts, strict=True):
            mine = sorted(
                (row for row in rows if row.learner.host == host),
                key=lambda row: row.learner.builtin,
            )
            draw_host_curves(mine, axes, row_styles(rows))
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
        panels[0].set_ylim(curve_limits(rows))
        panels[0].set_ylabel(f"validation {rows[0].metric.upper()}, mean of the folds")


def draw_test(rows: Sequence[Row], path: Path) -> None:
    """Draw the test metric of all learners; see `leaderboard`."""
    with _figure(path, 8.0, 1.9 + 0.3 * len(rows)) as figure:
        leaderboard(rows, ax=figure.subplots())
        figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")


def draw_lengths(timings: Sequence[Timing], path: Path) -> None:
    """Draw time per document against the length of lists; see `time_per_document`."""
    with _figure(path, 10.0, 5.5) as figure:
        time_per_document(timings, ax=figure.subplots())
        figure.legend(loc="outside right center", frameon=False, fontsize="small")
