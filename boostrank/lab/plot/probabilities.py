"""Figures of probabilities: whether they are calibrated."""

from collections.abc import Mapping
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
