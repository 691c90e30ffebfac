"""Figures of objectives: how they pull on documents, how close they are to a metric, their time."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.directness import Directness
from boostrank.lab.bench import Timing
from boostrank.lab.plot.axes import (
    GREY,
    check_labelled,
    check_sequence,
    finish_axes,
    line_styles,
    start_axes,
)
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, check_count, check_flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of those whose objectives are timed.
_MARKERS = {"boostrank": "o", "lightgbm": "s", "xgboost": "^"}


def gradient_by_difference(
    objectives: Mapping[str, Objective],
    *,
    grades: tuple[float, float] = (1, 0),
    round: int | None = None,
    hessian: bool = False,
    scaled: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how hard objectives pull on the better of two documents, by their score difference.

    Parameters
    ----------
    objectives : mapping of label to Objective
    grades : pair of float, default 1 and 0
        Grades of the two documents, the better one first.
    round : int, optional
        Boosting round, for scheduled objectives.
    hessian : bool, default False
        Also draw the Hessian, as a broad pale line.
    scaled : bool, default False
        Divide each line by its largest absolute value, to compare shapes only.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With minus the gradient of the better document for score differences from -6, where the pair
        is in the wrong order, to 6.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or out of range, as for ``objective.grad_hess``; the
        message names it.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> objectives = {"SDCG": boostrank.SDCG(), "SHF-SDCG": boostrank.SHFSDCG()}
    >>> ax = plot.gradient_by_difference(objectives, grades=(2, 1))
    >>> wrong, right = ax.lines[1].get_ydata()[[0, -1]]
    >>> bool(wrong > right > 0)
    True
    """
    if np.shape(grades) != (2,) or not grades[0] > grades[1]:
        raise ValueError(f"grades must be those of a better and a worse document, got {grades!r}")
    differences = np.linspace(-6.0, 6.0, 241)
    scores = np.column_stack([differences, np.zeros_like(differences)]).ravel()
    labels = np.tile(grades, len(differences))
    how: dict[str, Any] = {"round": round, "hessian": hessian, "scaled": scaled, "ax": ax}
    axes = _pulls(objectives, differences, scores, labels, marker="", **how)
    axes.set_xlabel("score of the better document minus the other's")
    axes.set_ylabel("pull on the better document" + ", scaled" * scaled)
    return finish_axes(axes, ax)


def gradient_by_rank(
    objectives: Mapping[str, Objective],
    *,
    n_docs: int = 20,
    round: int | None = None,
    hessian: bool = False,
    scaled: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how hard objectives pull on a relevant document, by its rank.

    Parameters
    ----------
    objectives : mapping of label to Objective
    n_docs : int, default 20
        Documents of the query: one of grade 1, the others of grade 0. Scores lie 1/2 apart.
    round, hessian, scaled, ax
        As in `gradient_by_difference`.

    Returns
    -------
    matplotlib Axes
        With minus the gradient of the relevant document at ranks 1 to `n_docs`.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or out of range, as for ``objective.grad_hess``; the
        message names it.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> ax = plot.gradient_by_rank({"RankNet": boostrank.RankNet()}, hessian=True)
    >>> [line.get_label() for line in ax.lines[:2]]
    ['RankNet', 'RankNet: Hessian']
    """
    ranks = np.arange(1, check_count("n_docs", n_docs) + 1)
    scores = np.tile(0.5 * ranks[::-1], n_docs)
    labels = np.eye(n_docs).ravel()  # in query r the document at rank r is the relevant one
    how: dict[str, Any] = {"round": round, "hessian": hessian, "scaled": scaled, "ax": ax}
    axes = _pulls(objectives, ranks, scores, labels, marker="o", **how)
    axes.set_xlabel("rank of the relevant document")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel("pull on it" + ", scaled" * scaled)
    return finish_axes(axes, ax)


def _pulls(
    objectives: Mapping[str, Objective],
    x: Any,
    scores: Floats,
    labels: Floats,
    *,
    round: int | None,
    hessian: bool,
    scaled: bool,
    marker: str,
    ax: "Axes | None",
) -> "Axes":
    """Draw minus the gradients, and the Hessians, of each query's best document, over `x`."""
    check_labelled("objectives", objectives, "objectives")
    check_flag("hessian", hessian)
    check_flag("scaled", scaled)
    group, best = np.full(len(x), len(labels) // len(x)), labels == labels.max()
    lines = {}
    for label, objective in objectives.items():
        if not isinstance(objective, Objective):
            raise TypeError(
                f"objectives[{label!r}] must be an objective such as boostrank.SHFSDCG(), got "
                f"{objective!r}"
            )
        grad, hess = objective.grad_hess(scores, labels, group, round=round)
        lines[label] = (-grad[best], hess[best])
    axes = start_axes(ax)
    tiny = np.finfo(np.float64).tiny
    for label, look in line_styles(lines).items():
        pull, curvature = lines[label]
        if scaled:
            pull, curvature = (v / max(np.abs(v).max(), tiny) for v in lines[label])
        axes.plot(x, pull, marker=marker, markersize=3, linewidth=1.4, label=label, **look)
        if hessian:  # visible beneath the other even if both have the same shape
            axes.plot(
                x,
                curvature,
                color=look["color"],
                alpha=0.35,
                linewidth=5,
                zorder=1.5,
                label=f"{label}: Hessian",
            )
    axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    return axes


def surrogate_against_measure(
    stages: Mapping[str, Sequence[Directness]], *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the surrogate metrics of objectives against the metric itself, during training.

    Parameters
    ----------
    stages : mapping of label to sequence of Directness
        For each objective, what `boostrank.directness` returns at the scores after rounds 1, 2, ...
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With a path for each objective through the means over queries, which ends in a dot, and the
        visible part of the diagonal, on which surrogate and metric are equal.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or an empty one, or a stage without any query; the message
        names the argument.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> labels, group = [2, 1, 0], [3]
    >>> stages = [
    ...     boostrank.directness(boostrank.SoftNDCG(sigma=0.5), scores, labels, group)
    ...     for scores in ([0, 1, 2], [1, 0, 2], [3, 1, 0])
    ... ]
    >>> ax = plot.surrogate_against_measure({"SoftNDCG": stages})
    >>> ax.lines[0].get_ydata().round(3).tolist()
    [0.587, 0.659, 1.0]
    """
    check_labelled("stages", stages, "sequences of Directness")
    paths = {}
    for label, each in stages.items():
        check_sequence(f"stages[{label!r}]", each, Directness)
        counted = [~np.isnan(stage.differences) for stage in each]
        if not all(queries.any() for queries in counted):
            raise ValueError(f"stages[{label!r}] must have queries with a value, got none")
        paths[label] = np.transpose(
            [
                (stage.surrogate[queries].mean(), stage.measure[queries].mean())
                for stage, queries in zip(each, counted, strict=True)
            ]
        )
    axes = start_axes(ax)
    for label, look in line_styles(paths).items():
        surrogate, measure = paths[label]
        axes.plot(surrogate, measure, linewidth=1.4, label=label, **look)
        axes.plot(surrogate[-1], measure[-1], "o", color=look["color"])
    in_sight = axes.dataLim.frozen()
    axes.axline((0.0, 0.0), slope=1.0, color=GREY, linestyle="--", linewidth=1.0, label="equal")
    axes.dataLim.set(in_sight)
    axes.autoscale_view()
    axes.set_xlabel("surrogate metric, mean over queries")
    axes.set_ylabel("metric, mean over queries")
    return finish_axes(axes, ax)


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
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for timing in timings:
        ours, _, against = timing.label.partition(" against ")
        measured = {("boostrank", ours): timing.ours}
        same = against if against == "default" else "" if against else ours
        if same and timing.host:
            measured[timing.host, same] = timing.builtin
        for line, nanoseconds in measured.items():
            times = lines.setdefault(line, {})
            times[timing.docs] = min(nanoseconds, times.get(timing.docs, math.inf))
    axes = start_axes(ax)
    for whose, marker in _MARKERS.items():
        own = {name: times for (by, name), times in lines.items() if by == whose}
        looks = line_styles(own, grey=() if whose == "boostrank" else own)
        for name, look in looks.items():
            docs, nanos = zip(*sorted(own[name].items()), strict=True)
            label = f"{whose}: {name}"
            axes.plot(docs, nanos, marker=marker, markersize=4, linewidth=1.4, label=label, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("documents per query")
    axes.set_ylabel("gradient, nanoseconds per document")
    return finish_axes(axes, ax)
