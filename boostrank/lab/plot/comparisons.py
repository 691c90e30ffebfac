"""Figures of comparisons: curves by round, metrics by cut-off, single queries, the ranking."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.lab import stats
from boostrank.lab.plot.axes import (
    COLOURS,
    GREY,
    check_curve,
    check_labelled,
    check_sequence,
    finish_axes,
    line_styles,
    start_axes,
)
from boostrank.lab.results import Row, best_first, holm_p_values, verdicts
from boostrank.lab.stats import SIGNIFICANT, half_width
from boostrank.objectives.validation import Floats, Integers, check_choice, check_flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A row, its name, value and interval, and whether it is filled: it differs beyond chance.
_Line = tuple[Row, str, float, tuple[float, float], bool]
# Marker of each host's rows.
_MARKERS = {"lightgbm": "o", "xgboost": "s"}


def row_styles(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return colour and line style of each learner, the same in all figures of a comparison.

    An objective has the same colour on all hosts; the hosts' own objectives are grey.
    """
    labels = dict.fromkeys(row.learner.label for row in rows)
    return line_styles(labels, {row.learner.label for row in rows if row.learner.builtin})


def learning_curves(
    curves: Mapping[str, Any],
    *,
    grey: Collection[str] = (),
    mark_best: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a metric by boosting round.

    Parameters
    ----------
    curves : mapping of label to array_like (n_rounds,)
        The metric after rounds 1, 2, ..., as a host records it with ``feval=`` or
        ``custom_metric=``.
    grey : collection of str, optional
        Labels to draw in grey: the hosts' own objectives, a baseline.
    mark_best : bool, default False
        Put a dot on the first maximum of each curve.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With one labelled line for each curve.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind or an empty one; the message names it.

    Examples
    --------
    >>> from boostrank import plot
    >>> curves = {"SHF-SDCG": [0.51, 0.58, 0.57], "lambdarank": [0.50, 0.56, 0.58]}
    >>> ax = plot.learning_curves(curves, grey=["lambdarank"], mark_best=True)
    >>> _ = ax.set_ylabel("validation NDCG@10")
    """
    check_labelled("curves", curves, "arrays")
    check_flag("mark_best", mark_best)
    checked = {name: check_curve(f"curves[{name!r}]", curve) for name, curve in curves.items()}
    for label, curve in checked.items():
        if np.isnan(curve).all():
            raise ValueError(f"curves[{label!r}] must have a value, got NaN in every round")
    for label in grey:
        check_choice("label in grey", label, checked)
    axes = start_axes(ax)
    for label, look in line_styles(checked, grey).items():
        curve = checked[label]
        axes.plot(np.arange(1, len(curve) + 1), curve, linewidth=1.4, label=label, **look)
        if mark_best:
            best = int(np.nanargmax(curve))
            axes.plot(best + 1, curve[best], "o", color=look["color"])
    axes.set_xlabel("boosting round")
    axes.locator_params(axis="x", integer=True)
    axes.margins(x=0.01)
    return finish_axes(axes, ax)


def draw_host_curves(mine: Sequence[Row], rows: Sequence[Row], ax: "Axes") -> None:
    """Draw the learning curves of one host's rows, with the looks and the limits of all rows."""
    learning_curves({row.learner.label: row.curve for row in mine}, ax=ax)
    styles = row_styles(rows)
    for line in ax.get_lines():
        line.set(**styles.get(str(line.get_label()), {}))
    # The first rounds would squeeze the lines.
    late = np.concatenate([row.curve[len(row.curve) // 10 :] for row in rows])
    space = 0.05 * (late.max() - late.min()) + 1e-3
    ax.set_ylim(late.min() - space, late.max() + space)
    ax.set_title(mine[0].learner.host)


def metric_by_cutoff(
    figures: Mapping[str, Mapping[str, Any]],
    measure: str = "ndcg",
    *,
    baseline: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a metric by rank cut-off, with 95 % intervals of the mean over queries.

    Parameters
    ----------
    figures : mapping of label to mapping of str to array_like (n_queries,)
        For each learner, what ``boostrank.evaluate(..., ("ndcg@1", "ndcg@2"), per_query=True)``
        returns for the same queries. Queries with a NaN are left out.
    measure : str, default "ndcg"
        All its metrics are drawn, such as "ndcg@1" and "ndcg@2"; others are ignored.
    baseline : str, optional
        Label of the learner to subtract, query by query: the intervals are then those of paired
        differences, which say far more than two overlapping intervals. Default None: subtract
        nothing.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With labelled dots for each learner, side by side at each cut-off. The intervals are
        normal ones, 1.96 standard errors to each side.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind, metrics that are missing or differ between learners,
        or fewer than two queries with a value; the message names the argument.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> labels, group = [1, 0, 0, 2, 1, 0], [3, 3]
    >>> metrics = ("ndcg@1", "ndcg@3")
    >>> figures = {
    ...     "A": boostrank.evaluate([3, 2, 1, 1, 3, 2], labels, group, metrics, per_query=True),
    ...     "B": boostrank.evaluate([1, 2, 3, 3, 2, 1], labels, group, metrics, per_query=True),
    ... }
    >>> plot.metric_by_cutoff(figures, baseline="B").get_ylabel()
    'NDCG@k minus that of B, 95 % interval'
    """
    check_labelled("figures", figures, "what boostrank.evaluate(..., per_query=True) returns")
    if baseline is not None:
        check_choice("baseline", baseline, figures)
    cutoffs, values = _by_cutoff(figures, measure)
    drawn = [label for label in values if label != baseline]
    intervals = []
    for label in drawn:
        counted = values[label] - (0.0 if baseline is None else values[baseline])
        n_counted = np.count_nonzero(~np.isnan(counted), axis=1)
        if n_counted.min() < 2:
            raise ValueError(
                f"figures[{label!r}] must have at least two queries with a value at "
                f"{cutoffs[np.argmin(n_counted)]}, got {n_counted.min()}: a single one has no "
                "interval"
            )
        intervals.append((np.nanmean(counted, axis=1), [half_width(each) for each in counted]))
    axes = start_axes(ax)
    # Side by side at each cut-off, within two thirds of the narrowest gap.
    gap = 2 / 3 * np.diff(cutoffs).min(initial=1)
    shifts = gap * ((np.arange(len(drawn)) + 0.5) / max(len(drawn), 1) - 0.5)
    for shift, label, (means, halves) in zip(shifts, drawn, intervals, strict=True):
        axes.errorbar(
            cutoffs + shift,
            means,
            halves,
            fmt="o",
            markersize=4,
            color=line_styles(drawn)[label]["color"],
            label=label,
        )
    name = f"{measure.upper()}@k"
    if baseline is None:
        axes.set_ylabel(f"{name}, 95 % interval")
    else:
        axes.axhline(0.0, color=GREY, linewidth=1.0, label=baseline)
        axes.set_ylabel(f"{name} minus that of {baseline}, 95 % interval")
    axes.set_xlabel("k")
    axes.set_xticks(cutoffs)
    return finish_axes(axes, ax)


def _by_cutoff(
    figures: Mapping[str, Mapping[str, Any]], measure: str
) -> tuple[Integers, dict[str, Floats]]:
    """Return ascending cut-offs, and each label's values (n_cutoffs, n_queries)."""
    values: dict[str, dict[int, Floats]] = {}
    for label, metrics in figures.items():
        check_labelled(f"figures[{label!r}]", metrics, "arrays, by metric")
        by_cutoff = {
            int(name.partition("@")[2]): check_curve(f"figures[{label!r}][{name!r}]", each)
            for name, each in metrics.items()
            if name.partition("@")[0] == measure and name.partition("@")[2].isdecimal()
        }
        if not by_cutoff:
            raise ValueError(
                f"figures[{label!r}] must have {measure!r} at a cut-off, "
                f"such as '{measure}@10', got {', '.join(metrics)}"
            )
        values[label] = dict(sorted(by_cutoff.items()))
        first = next(iter(values))
        lengths = {len(each) for own in (first, label) for each in values[own].values()}
        if list(values[label]) != list(values[first]) or len(lengths) > 1:
            raise ValueError(
                "figures must have the same metrics and queries for every label and cut-off, but "
                f"those of {label!r} differ from each other or from those of {first!r}"
            )
    return np.array(list(values[first])), {
        label: np.array(list(each.values())) for label, each in values.items()
    }


def query_differences(values: Any, baseline: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how much better or worse each query is than with a baseline, as sorted bars.

    Parameters
    ----------
    values, baseline : array_like (n_queries,)
        A metric of the same queries for two learners, as ``boostrank.evaluate(...,
        per_query=True)`` returns it. Queries with a NaN in either are left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With the queries that lose on the left and those that win on the right; its x label counts
        them.

    Raises
    ------
    TypeError, ValueError
        For anything but arrays of the same length with a query that has both values; the message
        names the argument.

    Examples
    --------
    >>> from boostrank import plot
    >>> ax = plot.query_differences([0.9, 0.5, 0.7, 0.4], [0.6, 0.5, 0.8, 0.1])
    >>> ax.get_xlabel()
    'queries: 1 worse, 1 equal, 2 better'
    """
    mine, theirs = check_curve("values", values), check_curve("baseline", baseline)
    if len(mine) != len(theirs):
        raise ValueError(
            f"baseline must have one value for each of the {len(mine)} queries of values, got "
            f"{len(theirs)}"
        )
    differences = np.sort(stats.differences(mine, theirs))
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        raise ValueError("values and baseline must have a query with a value in both, got none")
    axes = start_axes(ax)
    n, worse, better = len(differences), int((differences < 0).sum()), int((differences > 0).sum())
    # One patch for all bars: a data set may have many thousands of queries.
    for label, colour, start, end in (
        ("worse", COLOURS[1], 0, worse),
        ("better", COLOURS[0], n - better, n),
    ):
        if start < end:
            bars = differences[start:end], np.arange(start, end + 1)
            axes.stairs(*bars, fill=True, color=colour, label=label)
    axes.axhline(0.0, color=GREY, linewidth=1.0)
    axes.set_xlim(0, n)
    axes.set_xlabel(f"queries: {worse} worse, {n - worse - better} equal, {better} better")
    axes.set_ylabel("difference from the baseline")
    return finish_axes(axes, ax)


def _by_row(axes: "Axes", rows: Sequence[Row], ranked: Sequence[_Line]) -> None:
    """Draw ranked rows of a comparison one above the other."""
    styles = row_styles(rows)
    for height, (row, _, value, interval, filled) in enumerate(ranked):
        colour = styles[row.learner.label]["color"]
        axes.plot(interval, (height, height), color=colour, linewidth=1.2)
        axes.plot(
            value,
            height,
            marker=_MARKERS.get(row.learner.host, "^"),
            markersize=7,
            color=colour,
            fillstyle="full" if filled else "none",
            linestyle="none",
        )
    axes.set_yticks(range(len(ranked)), [name for _, name, *_ in ranked])
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def leaderboard(rows: Sequence[Row], *, ax: "Axes | None" = None) -> "Axes":
    """Draw the test metric of the learners of a comparison, best on top, with 95 % intervals.

    The intervals include how much queries differ, which the paired test removes: learners that it
    distinguishes from the baseline, after Holm's correction for their number, have filled markers.

    Parameters
    ----------
    rows : sequence of Row
        The rows of a comparison, as `boostrank compare` makes them.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With a dot and an interval for each row.

    Raises
    ------
    TypeError, ValueError
        For anything but rows; the message names the argument.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(15, 8, n_features=3, seed=0)
    >>> found = boostrank.compare(data, objectives=[], hosts=["lightgbm"], rounds=2, min_docs=2)
    >>> ax = plot.leaderboard(found.rows[:1])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['lightgbm:lambdarank']
    """
    check_sequence("rows", rows, Row)
    axes = start_axes(ax)
    ranked: list[_Line] = []
    corrected = holm_p_values(rows)
    for row in best_first(rows)[::-1]:
        filled = corrected[row.learner] < SIGNIFICANT
        figures = row.mean(row.metric), row.interval(row.metric), filled
        ranked.append((row, row.learner.label, *figures))
    _by_row(axes, rows, ranked)
    axes.set_xlabel(f"test {rows[0].metric.upper()} with 95 % interval over queries")
    for host in dict.fromkeys(row.learner.host for row in rows):
        marker = _MARKERS.get(host, "^")
        axes.plot([], [], marker, color=GREY, fillstyle="none", label=host)
    axes.plot([], [], "D", color=GREY, label=f"filled: p (Holm) < {SIGNIFICANT:g} (paired test)")
    baseline = next((row for row in rows if row.baseline is None), None)
    if baseline is not None:
        mean, label = baseline.mean(baseline.metric), f"baseline {baseline.learner.label}"
        axes.axvline(mean, color=GREY, linestyle="--", linewidth=1.0, zorder=0)
        axes.plot([], [], "--", color=GREY, linewidth=1.0, label=label)
    return finish_axes(axes, ax)


def differences(rows: Sequence[Row], *, ax: "Axes | None" = None) -> "Axes":
    """Draw the paired difference of each learner from the baseline, with zero as a line.

    The intervals are those of the differences within queries: one that excludes zero distinguishes
    the learner from the baseline, if nothing else is compared. Markers are filled where the paired
    test does so after Holm's correction for the number of learners.

    Parameters
    ----------
    rows : sequence of Row
        The rows of a comparison, as `boostrank.compare` makes them.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        With a dot and a 95 % interval for each learner except the baseline, best on top.

    Raises
    ------
    TypeError, ValueError
        For anything but rows with a baseline and another learner; the message names the argument.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank import plot
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(15, 8, n_features=3, seed=0)
    >>> found = boostrank.compare(data, objectives=[], rounds=2, min_docs=2, folds=[1, 2])
    >>> ax = plot.differences(found.rows)
    >>> ax.get_xlabel()
    'NDCG@10 minus that of lightgbm:lambdarank, 95 % interval'
    """
    check_sequence("rows", rows, Row)
    tested = best_first(row for row in rows if row.baseline)[::-1]
    if not tested:
        raise ValueError("rows must hold a learner other than the baseline, got none")
    axes = start_axes(ax)
    axes.axvline(0.0, color=GREY, linewidth=1.2, zorder=0)
    ranked: list[_Line] = []
    said = verdicts(rows)
    for row in tested:
        figures = row.difference, row.difference_interval, said[row.learner] != "level"
        ranked.append((row, str(row.learner), *figures))
    _by_row(axes, rows, ranked)
    baseline = tested[0].baseline
    assert baseline is not None
    axes.set_xlabel(f"{baseline.metric.upper()} minus that of {baseline.learner}, 95 % interval")
    return finish_axes(axes, ax)
