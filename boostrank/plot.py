"""Figures of comparisons, objectives and benchmarks, drawn with Matplotlib.

Every function draws into the Axes `ax` that it is given, or by default into a new figure with a
legend, and returns the Axes. Without Matplotlib it raises ImportError. Use Matplotlib itself for
your own titles, legends and limits. The colours of text and background are left to Matplotlib's
settings; `ANY_BACKGROUND` has settings for pictures that are shown on pages of any colour.

Matplotlib is imported when something is drawn, and pyplot only when a figure is created for you.
"""

from boostrank.lab.plot.axes import ANY_BACKGROUND, COLOURS, GREY
from boostrank.lab.plot.comparisons import (
    differences,
    leaderboard,
    learning_curves,
    metric_by_cutoff,
    query_differences,
)
from boostrank.lab.plot.models import pareto, reliability
from boostrank.lab.plot.objectives import (
    gradient_by_difference,
    gradient_by_rank,
    surrogate_against_measure,
    time_per_document,
)

__all__ = [
    "ANY_BACKGROUND",
    "COLOURS",
    "GREY",
    "differences",
    "gradient_by_difference",
    "gradient_by_rank",
    "leaderboard",
    "learning_curves",
    "metric_by_cutoff",
    "pareto",
    "query_differences",
    "reliability",
    "surrogate_against_measure",
    "time_per_document",
]
