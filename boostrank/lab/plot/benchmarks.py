"""The figure of `boostrank bench`: time against the length of lists."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from boostrank.lab.bench import Timing
from boostrank.lab.plot.axes import check_sequence, finish_axes, line_styles, start_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOST_MARKERS = {"lightgbm": "s", "xgboost": "^"}


def time_per_document(timings: Sequence[Timing], *, ax: "Axes | None" = None) -> "Axes":
    """Draw time per document against the length of lists, both logarithmic.

    Parameters
    ----------
    timings : sequence of Timing
        From `boostrank.lab.bench.measure`. If an objective is timed twice at a length, the faster
        time is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With our objectives in colour and the hosts' own in grey, labelled with the host.

    Raises
    ------
    TypeError, ValueError
        For anything but timings; the message names the argument.

    Examples
    --------
    >>> from boostrank import plot
    >>> from boostrank.lab.bench import Timing
    >>> ax = plot.time_per_document(
    ...     [
    ...         Timing(20, "lambdarank, all pairs", "lightgbm", 20.0, 60.0, 3.0, 1.9),
    ...         Timing(200, "lambdarank, all pairs", "lightgbm", 80.0, 500.0, 6.2, 1.9),
    ...     ]
    ... )
    >>> [line.get_label() for line in ax.lines]
    ['boostrank: lambdarank, all pairs', 'lightgbm: lambdarank, all pairs']
    """
    check_sequence("timings", timings, Timing)
    lines: dict[str, dict[int, float]] = {}
    hosts: dict[str, str] = {}
    for timing in timings:
        ours, _, against = timing.label.partition(" against ")
        measured = [(f"boostrank: {ours}", timing.ours)]
        same = against if against == "default" else "" if against else ours
        if same and timing.host:
            measured.append((f"{timing.host}: {same}", timing.builtin))
            hosts[measured[1][0]] = timing.host
        for label, nanoseconds in measured:
            times = lines.setdefault(label, {})
            times[timing.docs] = min(nanoseconds, times.get(timing.docs, math.inf))
    axes = start_axes(ax)
    looks = line_styles(label for label in lines if label not in hosts)
    for host in _HOST_MARKERS:
        theirs = [label for label in lines if hosts.get(label) == host]
        looks |= line_styles(theirs, grey=theirs)
    for label, look in looks.items():
        lengths = sorted(lines[label])
        axes.plot(
            lengths,
            [lines[label][docs] for docs in lengths],
            marker=_HOST_MARKERS[hosts[label]] if label in hosts else "o",
            markersize=4,
            linewidth=1.4,
            label=label,
            **look,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("documents per query")
    axes.set_ylabel("gradient, nanoseconds per document")
    return finish_axes(axes, ax)
