"""Figures of trade-offs: what a gain in one metric costs in another."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.lab.plot.axes import check_labelled, finish_axes, line_styles, start_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pareto(
    values: Mapping[str, Any], *, metrics: Sequence[str] = ("", ""), ax: "Axes | None" = None
) -> "Axes":
    """Draw models by two metrics, and connect those that no other of their kind dominates.

    Parameters
    ----------
    values : mapping of label to array_like (n_models, 2)
        Both metrics of each model of a kind; larger is better.
    metrics : pair of str, optional
        Names for the axes.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With points for all models and, for each label, one line through the models that no other of
        the label beats in one metric without losing in the other.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or shape; the message names it.

    Examples
    --------
    >>> from boostrank import plot
    >>> ax = plot.pareto({"weights": [(0.5, 0.3), (0.4, 0.4), (0.35, 0.35)]})
    >>> ax.lines[0].get_xdata().tolist()
    [0.4, 0.5]
    """
    check_labelled("values", values, "arrays of two metrics")
    if isinstance(metrics, str) or len(metrics) != 2:
        raise ValueError(f"metrics must be two names, got {metrics!r}")
    kept = {}
    for label, models in values.items():
        points = np.asarray(models, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or not len(points):
            raise ValueError(
                f"values[{label!r}] must have two metrics for each model, got shape {points.shape}"
            )
        if not np.isfinite(points).all():
            raise ValueError(f"values[{label!r}] must be finite")
        kept[label] = points
    axes = start_axes(ax)
    for label, style in line_styles(kept).items():
        points = kept[label]
        front = points[np.lexsort((-points[:, 1], -points[:, 0]))]
        best = np.append(-np.inf, np.maximum.accumulate(front[:, 1])[:-1])
        front = front[front[:, 1] > best][::-1]
        axes.plot(front[:, 0], front[:, 1], label=label, **style)
        axes.scatter(points[:, 0], points[:, 1], s=18.0, color=style["color"])
    axes.set_xlabel(metrics[0])
    axes.set_ylabel(metrics[1])
    return finish_axes(axes, ax)
