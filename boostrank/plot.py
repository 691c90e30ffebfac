"""Figures of a comparison, drawn with Matplotlib without touching its process-wide state."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from boostrank.bench import Timing
from boostrank.compare import CHOSEN_BY, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind readers too; without its yellow, which is too
# pale on white. With more learners than colours the line style changes.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_OURS = ("-", ":", "-.")
_BUILTIN = (("#000000", "--"), ("#7F7F7F", "--"))
_BUILTIN_LINES = ("--", ":", "-.")
_HOST_MARKERS = {"lightgbm": ("o", "#0072B2"), "xgboost": ("s", "#D55E00")}

SIGNIFICANT = 0.05


def _figure(width: float, height: float) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f'figures need Matplotlib: pip install "boostrank[cli]" ({error})'
        ) from error
    # Without pyplot a figure draws itself with Agg, whatever backend the process has.
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def draw_rounds(rows: Sequence[Row], path: Path) -> None:
    """Draw validation NDCG@10 by round, mean over folds, one panel for each host.

    Parameters
    ----------
    rows : sequence of Row
    path : Path
        Of the PNG file.
    """
    hosts = list(dict.fromkeys(row.learner.host for row in rows))
    labels = [row.learner.label for row in rows if not row.learner.builtin]
    labels = sorted(set(labels), key=labels.index)
    legend_lines = math.ceil(max(map([row.learner.host for row in rows].count, hosts)) / 2)
    figure = _figure(1.0 + 5.0 * len(hosts), 4.2 + 0.25 * legend_lines)
    axes = figure.subplots(1, len(hosts), sharey=True, squeeze=False)[0]
    for axis, host in zip(axes, hosts, strict=True):
        n_builtins = 0
        for row in sorted(rows, key=lambda row: row.learner.builtin):
            if row.learner.host != host:
                continue
            if row.learner.builtin:
                colour, style = _BUILTIN[n_builtins % len(_BUILTIN)]
                n_builtins += 1
            else:
                turn, place = divmod(labels.index(row.learner.label), len(_COLOURS))
                colour, style = _COLOURS[place], _OURS[turn % len(_OURS)]
            curve = row.curve
            axis.plot(
                np.arange(1, len(curve) + 1),
                curve,
                color=colour,
                linestyle=style,
                linewidth=1.4,
                label=row.learner.label,
            )
        axis.set_title(host)
        axis.set_xlabel("boosting round")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.01)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
    # The first rounds fall far below and would press all lines together.
    late = np.concatenate([row.curve[len(row.curve) // 10 :] for row in rows])
    space = 0.05 * (late.max() - late.min()) + 1e-3
    axes[0].set_ylim(late.min() - space, late.max() + space)
    axes[0].set_ylabel("validation NDCG@10, mean of the folds")
    figure.savefig(path, format="png")


def draw_test(rows: Sequence[Row], path: Path) -> None:
    """Draw test NDCG@10 of all learners, best on top, with 95 % intervals.

    The intervals show how much queries differ, which the paired test takes out: learners that it
    tells apart from the baseline are filled.

    Parameters
    ----------
    rows : sequence of Row
    path : Path
        Of the PNG file.
    """
    ranked = sorted(rows, key=lambda row: row.mean(CHOSEN_BY))
    figure = _figure(8.0, 1.9 + 0.3 * len(ranked))
    axis = figure.subplots()
    for height, row in enumerate(ranked):
        marker, colour = _HOST_MARKERS[row.learner.host]
        mean = row.mean(CHOSEN_BY)
        axis.plot(row.interval(CHOSEN_BY), (height, height), color=colour, linewidth=1.2)
        axis.plot(
            mean,
            height,
            marker=marker,
            markersize=7,
            color=colour,
            markerfacecolor=colour if row.p_value < SIGNIFICANT else "white",
            linestyle="none",
        )
        if row.baseline is None:
            axis.axvline(mean, color="#7F7F7F", linestyle="--", linewidth=1.0, zorder=0)
    baseline = next((row.learner.label for row in rows if row.baseline is None), "")
    axis.set_yticks(range(len(ranked)), [row.learner.label for row in ranked])
    axis.set_xlabel("test NDCG@10 with 95 % interval over queries, mean of the folds")
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    for host in dict.fromkeys(row.learner.host for row in rows):
        marker, colour = _HOST_MARKERS[host]
        axis.plot([], [], marker=marker, color=colour, markerfacecolor="white", label=host)
    axis.plot([], [], "D", color="#555555", label=f"filled: p < {SIGNIFICANT:g} (paired test)")
    axis.plot([], [], "--", color="#7F7F7F", linewidth=1.0, label=f"baseline {baseline}")
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
    figure.savefig(path, format="png")


def draw_lengths(timings: Sequence[Timing], path: Path) -> None:
    """Draw time for each document against the length of the list, both logarithmic.

    Parameters
    ----------
    timings : sequence of Timing
    path : Path
        Of the PNG file.
    """
    figure = _figure(8.0, 5.5)
    axis = figure.subplots()
    lines: dict[tuple[str, bool], list[tuple[int, float]]] = {}
    for timing in timings:
        ours, _, builtin = timing.label.partition(" against ")
        lines.setdefault((ours, False), []).append((timing.docs, timing.ours))
        if not builtin and timing.host:
            label = f"{timing.host}: {ours}"
            lines.setdefault((label, True), []).append((timing.docs, timing.builtin))
    our_labels = [label for label, theirs in lines if not theirs]
    their_labels = [label for label, theirs in lines if theirs]
    for (label, theirs), points in lines.items():
        if theirs:
            host = label.partition(":")[0]
            colour = _BUILTIN[host == "xgboost"][0]
            turn = [name for name in their_labels if name.startswith(host)].index(label)
            style = _BUILTIN_LINES[turn % len(_BUILTIN_LINES)]
        else:
            turn, place = divmod(our_labels.index(label), len(_COLOURS))
            colour, style = _COLOURS[place], _OURS[turn % len(_OURS)]
        best = {docs: min(ns for d, ns in points if d == docs) for docs, _ in points}
        axis.plot(
            list(best),
            list(best.values()),
            color=colour,
            linestyle=style,
            marker="s" if theirs else "o",
            markersize=4,
            linewidth=1.4,
            label=label if theirs else f"boostrank: {label}",
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("documents a query")
    axis.set_ylabel("gradient, nanoseconds a document")
    axis.grid(alpha=0.25, which="both")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize="small")
    figure.savefig(path, format="png")
