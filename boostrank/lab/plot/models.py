"""Figures of models: whether their probabilities are calibrated, what trade-offs they are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.lab.plot.axes import (
    GREY,
    check_curve,
    check_labelled,
    finish_axes,
    line_styles,
    start_axes,
)
from boostrank.metrics.probabilities import BINS, bin_of
from boostrank.objectives.validation import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(
    predictions: Mapping[str, tuple[Any, Any]], *, bins: int = BINS, ax: "Axes | None" = None
) -> "Axes":
    """Draw how often documents are relevant against their predicted probability.

    Parameters
    ----------
    predictions : mapping of label to (probabilities, targets)
        Two arrays (n_docs,) from 0 to 1: what was predicted, and the labels or, for grades, their
        shares of the top grade.
    bins : int, default 10
        Bins of equal width, as in the metric ``ece``; those without documents are left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With a grey diagonal, on which calibrated probabilities lie, and for each label the mean
        target of each bin over its mean probability. The area of a point is its share of documents.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or out of range; the message names it.

    Examples
    --------
    >>> from boostrank import plot
    >>> ax = plot.reliability({"a model": ([0.1, 0.1, 0.8], [0, 0, 1])})
    >>> [list(map(float, values)) for values in ax.lines[1].get_data()]
    [[0.1, 0.8], [0.0, 1.0]]
    """
    check_labelled("predictions", predictions, "pairs of probabilities and targets")
    check_count("bins", bins)
    curves = {}
    for label, pair in predictions.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"predictions[{label!r}] must be a pair (probabilities, targets)")
        p, t = (
            check_curve(f"{name} of {label!r}", values)
            for name, values in zip(("probabilities", "targets"), pair, strict=True)
        )
        if len(p) != len(t):
            raise ValueError(
                f"probabilities and targets of {label!r} must have the same length, got {len(p)} "
                f"and {len(t)}"
            )
        for name, values in (("probabilities", p), ("targets", t)):
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise ValueError(
                    f"{name} of {label!r} must be from 0 to 1, got {values.min():g} to "
                    f"{values.max():g}; turn scores into probabilities, and grades into shares of "
                    "the top grade"
                )
        place = bin_of(p, bins)
        count = np.bincount(place, minlength=bins)
        held = count > 0
        curves[label] = [
            np.bincount(place, values, bins)[held] / count[held] for values in (p, t)
        ] + [count[held] / len(p)]
    axes = start_axes(ax)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=1)
    for label, style in line_styles(curves).items():
        p, t, share = curves[label]
        axes.plot(p, t, label=label, **style)
        axes.scatter(p, t, s=200.0 * share, color=style["color"])
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share that is relevant")
    return finish_axes(axes, ax)


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
