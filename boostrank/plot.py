"""Figures of comparisons, objectives and benchmarks, drawn with Matplotlib.

Every function draws into the Axes it is given, or into a new figure with a legend, and returns the
Axes: titles, legends and limits of your own are Matplotlib's. Colours of text and background are
left to Matplotlib's settings; `ANY_BACKGROUND` has some for pictures whose page nobody knows.

Matplotlib is imported where something is drawn, pyplot only where a figure is made for you.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.bench import Timing
from boostrank.compare import CHOSEN_BY, Row
from boostrank.directness import Directness
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, check_choice, check_count, check_flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ANY_BACKGROUND",
    "COLOURS",
    "GREY",
    "gradient_by_difference",
    "gradient_by_rank",
    "leaderboard",
    "learning_curves",
    "metric_by_cutoff",
    "query_differences",
    "surrogate_against_measure",
    "time_per_document",
]

#: Four of Okabe and Ito's colours, and two more as far from them to colour-blind eyes as these are
#: from each other. All stand out from white and from black alike, at least 3 to 1, which Okabe and
#: Ito's paler ones do not.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#9F64FB", "#E0004B")
#: Of what others are compared with: baselines, the hosts' own objectives.
GREY = "#767676"
_OURS = ("-", ":", "-.")
_THEIRS = ("--", ":", "-.")
_HOSTS = {"lightgbm": ("o", COLOURS[0]), "xgboost": ("s", COLOURS[1])}
_HOST_MARKERS = {"lightgbm": "s", "xgboost": "^"}

#: Matplotlib settings with which a picture can be read on a light page and on a dark one: for
#: ``with matplotlib.rc_context(ANY_BACKGROUND):`` around drawing and saving.
ANY_BACKGROUND: Mapping[str, Any] = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "legend.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), GREY),
    **dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), GREY),
    "savefig.facecolor": "auto",
}

SIGNIFICANT = 0.05


# ---- for all of them -----------------------------------------------------------------------------


def _matplotlib() -> Any:
    try:
        import matplotlib.figure
    except ImportError as error:
        raise ImportError(
            f'figures need Matplotlib: pip install "boostrank[plot]" ({error})'
        ) from error
    return matplotlib


def _prepared(ax: "Axes | None") -> "Axes":
    """Return Axes to draw into, plain ones."""
    matplotlib = _matplotlib()
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    elif not isinstance(ax, matplotlib.axes.Axes):
        raise TypeError(
            f"ax must be Matplotlib's Axes, got {type(ax).__name__}; of several panels pass one, "
            "such as panels[0]"
        )
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _finished(ax: "Axes", given: "Axes | None") -> "Axes":
    if given is None and ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small")
    return ax


def _check_labelled(name: str, values: Any, of_what: str) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(
            f"{name} must map labels to {of_what}, got {type(values).__name__}; "
            f'for a single one pass {{"label": it}}'
        )
    if not values:
        raise ValueError(f"{name} must hold at least one of {of_what}, got none")


def _check_curve(name: str, values: Any) -> Floats:
    try:
        curve = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a 1-D array of numbers: {error}") from error
    if curve.ndim != 1 or not len(curve):
        raise ValueError(f"{name} must be 1-D and not empty, got shape {curve.shape}")
    return curve


def _looks(labels: Iterable[str], grey: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return colour and line style of each label: by its place among those that are not grey."""
    looks = {}
    places = [0, 0]
    for label in labels:
        is_grey = label in grey
        place = places[is_grey]
        places[is_grey] += 1
        if is_grey:
            colour, style = GREY, _THEIRS[place % len(_THEIRS)]
        else:
            turn, place = divmod(place, len(COLOURS))
            colour, style = COLOURS[place], _OURS[turn % len(_OURS)]
        looks[label] = {"color": colour, "linestyle": style}
    return looks


# ---- comparisons ---------------------------------------------------------------------------------


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
    grey : collection of str, default ()
        Labels to draw in grey: the hosts' own objectives, a baseline.
    mark_best : bool, default False
        Put a dot on the first maximum of each curve.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With one line for each curve, labelled.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or empty; the message names it.
    ImportError
        Without Matplotlib.

    Examples
    --------
    >>> from boostrank import plot
    >>> curves = {"SHF-SDCG": [0.51, 0.58, 0.57], "lambdarank": [0.50, 0.56, 0.58]}
    >>> ax = plot.learning_curves(curves, grey=["lambdarank"], mark_best=True)
    >>> _ = ax.set_ylabel("validation NDCG@10")
    """
    _check_labelled("curves", curves, "arrays")
    check_flag("mark_best", mark_best)
    checked = {name: _check_curve(f"curves[{name!r}]", curve) for name, curve in curves.items()}
    for label, curve in checked.items():
        if np.isnan(curve).all():
            raise ValueError(f"curves[{label!r}] must have a value, got NaN in every round")
    for label in grey:
        check_choice("label in grey", label, checked)
    axes = _prepared(ax)
    for label, look in _looks(checked, grey).items():
        curve = checked[label]
        axes.plot(np.arange(1, len(curve) + 1), curve, linewidth=1.4, label=label, **look)
        if mark_best:
            best = int(np.nanargmax(curve))
            axes.plot(best + 1, curve[best], "o", color=look["color"])
    axes.set_xlabel("boosting round")
    axes.locator_params(axis="x", integer=True)
    axes.margins(x=0.01)
    return _finished(axes, ax)


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
        For each learner what ``boostrank.evaluate(..., ("ndcg@1", "ndcg@2"), per_query=True)``
        returns, of the same queries. Queries with a NaN are left out.
    measure : str, default "ndcg"
        All its metrics are drawn, such as "ndcg@1" and "ndcg@2"; others are ignored.
    baseline : str, optional
        Label of the learner to subtract, query by query: the intervals are then those of paired
        differences, which say far more than two overlapping intervals. Default None: no one.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With dots for each learner, labelled, side by side at each cut-off. The intervals are
        normal ones, 1.96 standard errors to each side.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind, metrics that are not there or that differ between learners,
        or fewer than two queries with a value; the message names the argument.
    ImportError
        Without Matplotlib.

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
    'NDCG@k less that of B, 95 % interval'
    """
    _check_labelled("figures", figures, "what boostrank.evaluate(..., per_query=True) returns")
    if baseline is not None:
        check_choice("baseline", baseline, figures)
    values: dict[str, dict[int, Floats]] = {}
    for label, metrics in figures.items():
        _check_labelled(f"figures[{label!r}]", metrics, "arrays, by metric")
        by_cutoff = {
            int(name.partition("@")[2]): _check_curve(f"figures[{label!r}][{name!r}]", each)
            for name, each in metrics.items()
            if name.partition("@")[0] == measure and name.partition("@")[2].isdecimal()
        }
        if not by_cutoff:
            raise ValueError(
                f"figures[{label!r}] must have metrics of the measure {measure!r} at a cut-off, "
                f"such as '{measure}@10', got {', '.join(metrics)}"
            )
        values[label] = dict(sorted(by_cutoff.items()))
    first, *others = values.values()
    for label, other in zip(list(values)[1:], others, strict=True):
        if list(other) != list(first) or len(other[min(other)]) != len(first[min(first)]):
            raise ValueError(
                f"figures must have the same metrics and queries for every label, but those of "
                f"{label!r} are not those of {next(iter(values))!r}"
            )
    cutoffs = np.array(list(first))
    drawn = [label for label in values if label != baseline]
    means, halves = np.empty((2, len(drawn), len(cutoffs)))
    for i, label in enumerate(drawn):
        for j, k in enumerate(values[label]):
            each = values[label][k] - (0.0 if baseline is None else values[baseline][k])
            each = each[~np.isnan(each)]
            if len(each) < 2:
                raise ValueError(
                    f"figures[{label!r}] must have at least two queries with a value at {k}, got "
                    f"{len(each)}: one has no interval"
                )
            means[i, j] = each.mean()
            halves[i, j] = 1.96 * each.std(ddof=1) / math.sqrt(len(each))

    axes = _prepared(ax)
    # Side by side, within two thirds of the narrowest gap.
    gap = np.diff(cutoffs).min(initial=1) * 2 / 3 if len(cutoffs) > 1 else 2 / 3
    shifts = gap * ((np.arange(len(drawn)) + 0.5) / max(len(drawn), 1) - 0.5)
    for shift, label, mean, half in zip(shifts, drawn, means, halves, strict=True):
        axes.errorbar(
            cutoffs + shift,
            mean,
            half,
            fmt="o",
            markersize=4,
            color=_looks(drawn)[label]["color"],
            label=label,
        )
    name = f"{measure.upper()}@k"
    if baseline is None:
        axes.set_ylabel(f"{name}, 95 % interval")
    else:
        axes.axhline(0.0, color=GREY, linewidth=1.0, label=baseline)
        axes.set_ylabel(f"{name} less that of {baseline}, 95 % interval")
    axes.set_xlabel("k")
    axes.set_xticks(cutoffs)
    return _finished(axes, ax)


def query_differences(values: Any, baseline: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw by how much each query is better or worse than with a baseline, as sorted bars.

    Parameters
    ----------
    values, baseline : array_like (n_queries,)
        A metric of the same queries for two learners, as ``boostrank.evaluate(...,
        per_query=True)`` returns it. Queries with a NaN in either are left out.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure.

    Returns
    -------
    matplotlib Axes
        With the queries that lose on the left and those that win on the right; its x label counts
        them.

    Raises
    ------
    TypeError, ValueError
        For anything else than arrays of one length with a query that has both values; the message
        names the argument.
    ImportError
        Without Matplotlib.

    Examples
    --------
    >>> from boostrank import plot
    >>> ax = plot.query_differences([0.9, 0.5, 0.7, 0.4], [0.6, 0.5, 0.8, 0.1])
    >>> ax.get_xlabel()
    'queries: 1 worse, 1 equal, 2 better'
    """
    mine, theirs = _check_curve("values", values), _check_curve("baseline", baseline)
    if len(mine) != len(theirs):
        raise ValueError(
            f"baseline must have one value for each of the {len(mine)} queries of values, got "
            f"{len(theirs)}"
        )
    differences = np.sort(mine - theirs)
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        raise ValueError("values and baseline must have a query with a value in both, got none")
    axes = _prepared(ax)
    edges = np.arange(len(differences) + 1)
    worse, better = int((differences < 0).sum()), int((differences > 0).sum())
    equal = len(differences) - worse - better
    # One patch for all bars: a data set may have many thousands of queries.
    for label, colour, bars in (
        ("worse", COLOURS[1], slice(0, worse)),
        ("better", COLOURS[0], slice(worse + equal, None)),
    ):
        heights = differences[bars]
        if len(heights):
            ends = edges[bars.start : bars.start + len(heights) + 1]
            axes.stairs(heights, ends, fill=True, color=colour, label=label)
    axes.axhline(0.0, color=GREY, linewidth=1.0)
    axes.set_xlim(0, len(differences))
    axes.set_xlabel(f"queries: {worse} worse, {equal} equal, {better} better")
    axes.set_ylabel("difference from the baseline")
    return _finished(axes, ax)


def leaderboard(rows: Sequence[Row], *, ax: "Axes | None" = None) -> "Axes":
    """Draw test NDCG@10 of the learners of a comparison, best on top, with 95 % intervals.

    The intervals show how much queries differ, which the paired test takes out: learners that it
    tells apart from the baseline are filled.

    Parameters
    ----------
    rows : sequence of Row
        Of `boostrank.compare`.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With a dot and an interval for each row.

    Raises
    ------
    TypeError, ValueError
        For anything else than rows; the message names the argument.
    ImportError
        Without Matplotlib.

    Examples
    --------
    >>> from boostrank import plot
    >>> from boostrank.compare import Row, Settings, learners, run_folds
    >>> from boostrank.datasets import make_ranking
    >>> parts = make_ranking(15, 8, n_features=3, seed=0).split(5, seed=0)
    >>> (learner,) = learners({}, ["lightgbm"])[:1]
    >>> folds = run_folds(learner, parts, Settings(rounds=2, min_docs=2), [1, 2])
    >>> ax = plot.leaderboard([Row(learner, tuple(folds), None, 0)])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['lightgbm:lambdarank']
    """
    _check_all("rows", rows, Row)
    ranked = sorted(rows, key=lambda row: row.mean(CHOSEN_BY))
    axes = _prepared(ax)
    for height, row in enumerate(ranked):
        marker, colour = _HOSTS[row.learner.host]
        mean = row.mean(CHOSEN_BY)
        axes.plot(row.interval(CHOSEN_BY), (height, height), color=colour, linewidth=1.2)
        axes.plot(
            mean,
            height,
            marker=marker,
            markersize=7,
            color=colour,
            fillstyle="full" if row.p_value < SIGNIFICANT else "none",
            linestyle="none",
        )
        if row.baseline is None:
            axes.axvline(mean, color=GREY, linestyle="--", linewidth=1.0, zorder=0)
    axes.set_yticks(range(len(ranked)), [row.learner.label for row in ranked])
    axes.set_xlabel("test NDCG@10 with 95 % interval over queries, mean of the folds")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    for host in dict.fromkeys(row.learner.host for row in rows):
        marker, colour = _HOSTS[host]
        axes.plot([], [], marker=marker, color=colour, fillstyle="none", label=host)
    axes.plot([], [], "D", color=GREY, label=f"filled: p < {SIGNIFICANT:g} (paired test)")
    baseline = next((row.learner.label for row in rows if row.baseline is None), None)
    if baseline is not None:
        axes.plot([], [], "--", color=GREY, linewidth=1.0, label=f"baseline {baseline}")
    return _finished(axes, ax)


def _check_all(name: str, values: Any, kind: type) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(
            f"{name} must be a sequence of {kind.__name__}, got {type(values).__name__}"
        )
    if not values:
        raise ValueError(f"{name} must hold at least one {kind.__name__}, got none")
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} must hold {kind.__name__} only, got {type(value).__name__} among them"
            )


# ---- objectives ----------------------------------------------------------------------------------


def gradient_by_difference(
    objectives: Mapping[str, Objective],
    *,
    grades: tuple[float, float] = (1, 0),
    round: int | None = None,
    hessian: bool = False,
    scaled: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how hard objectives pull at the better of two documents, by their score difference.

    Parameters
    ----------
    objectives : mapping of label to Objective
    grades : pair of float, default (1, 0)
        Of the two documents, the better one first.
    round : int, optional
        Boosting round, for scheduled objectives.
    hessian : bool, default False
        Draw the Hessian, too, as a broad pale line.
    scaled : bool, default False
        Divide each line by its largest size: then objectives compare in form alone.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With minus the gradient of the better document for score differences from -6, where the pair
        is in the wrong order, to 6.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or out of its range, as ``objective.grad_hess`` has it; the
        message names it.
    ImportError
        Without Matplotlib.

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
    group = np.full(len(differences), 2)
    axes = _pulls(
        objectives, (differences, scores, labels, group), slice(0, None, 2),
        round=round, hessian=hessian, scaled=scaled, marker="", ax=ax,
    )  # fmt: skip
    axes.set_xlabel("score of the better document less the other's")
    axes.set_ylabel("pull on the better document" + ", scaled" * scaled)
    return _finished(axes, ax)


def gradient_by_rank(
    objectives: Mapping[str, Objective],
    *,
    n_docs: int = 20,
    round: int | None = None,
    hessian: bool = False,
    scaled: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how hard objectives pull at a relevant document, by the rank that it has.

    Parameters
    ----------
    objectives : mapping of label to Objective
    n_docs : int, default 20
        Documents of the query: one of grade 1, the others of grade 0. Scores lie 1/2 apart.
    round : int, optional
        Boosting round, for scheduled objectives.
    hessian : bool, default False
        Draw the Hessian, too, as a broad pale line.
    scaled : bool, default False
        Divide each line by its largest size: then objectives compare in form alone.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With minus the gradient of the relevant document at ranks 1 to `n_docs`.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or out of its range, as ``objective.grad_hess`` has it; the
        message names it.
    ImportError
        Without Matplotlib.

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
    group = np.full(n_docs, n_docs)
    axes = _pulls(
        objectives, (ranks, scores, labels, group), labels > 0,
        round=round, hessian=hessian, scaled=scaled, marker="o", ax=ax,
    )  # fmt: skip
    axes.set_xlabel("rank of the relevant document")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel("pull on it" + ", scaled" * scaled)
    return _finished(axes, ax)


def _pulls(
    objectives: Mapping[str, Objective],
    data: tuple[Any, ...],
    rows: Any,
    *,
    round: int | None,
    hessian: bool,
    scaled: bool,
    marker: str,
    ax: "Axes | None",
) -> "Axes":
    """Draw minus the gradients, and Hessians, of some rows of the data."""
    _check_labelled("objectives", objectives, "objectives")
    check_flag("hessian", hessian)
    check_flag("scaled", scaled)
    x, *arguments = data
    lines = {}
    for label, objective in objectives.items():
        if not isinstance(objective, Objective):
            raise TypeError(
                f"objectives[{label!r}] must be an objective such as boostrank.SHFSDCG(), got "
                f"{objective!r}"
            )
        grad, hess = objective.grad_hess(*arguments, round=round)
        lines[label] = (-grad[rows], hess[rows])
    axes = _prepared(ax)
    tiny = np.finfo(np.float64).tiny
    for label, look in _looks(lines).items():
        pull, curvature = lines[label]
        if scaled:
            pull, curvature = (v / max(np.abs(v).max(), tiny) for v in lines[label])
        axes.plot(x, pull, marker=marker, markersize=3, linewidth=1.4, label=label, **look)
        if hessian:  # seen beneath the other even where both have the same form
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
    """Draw how the surrogate measures of objectives and the measure itself go along in training.

    Parameters
    ----------
    stages : mapping of label to sequence of Directness
        For each objective what `boostrank.directness` returns at the scores after rounds 1, 2, ...
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With a path for each objective through the means over queries, which ends in a dot, and the
        diagonal where surrogate and measure are equal, as far as it is in sight.

    Raises
    ------
    TypeError, ValueError
        For an argument of another kind or empty, or a stage without a query; the message names the
        argument.
    ImportError
        Without Matplotlib.

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
    _check_labelled("stages", stages, "sequences of Directness")
    paths = {}
    for label, each in stages.items():
        _check_all(f"stages[{label!r}]", each, Directness)
        counted = [~np.isnan(stage.differences) for stage in each]
        if not all(queries.any() for queries in counted):
            raise ValueError(f"stages[{label!r}] must have queries with a value, got none")
        paths[label] = np.transpose(
            [
                (stage.surrogate[queries].mean(), stage.measure[queries].mean())
                for stage, queries in zip(each, counted, strict=True)
            ]
        )
    axes = _prepared(ax)
    for label, look in _looks(paths).items():
        surrogate, measure = paths[label]
        axes.plot(surrogate, measure, linewidth=1.4, label=label, **look)
        axes.plot(surrogate[-1], measure[-1], "o", color=look["color"])
    in_sight = axes.dataLim.frozen()
    axes.axline((0.0, 0.0), slope=1.0, color=GREY, linestyle="--", linewidth=1.0, label="equal")
    axes.dataLim.set(in_sight)
    axes.autoscale_view()
    axes.set_xlabel("surrogate measure, mean over queries")
    axes.set_ylabel("measure, mean over queries")
    return _finished(axes, ax)


# ---- benchmarks ----------------------------------------------------------------------------------


def time_per_document(timings: Sequence[Timing], *, ax: "Axes | None" = None) -> "Axes":
    """Draw time for each document against the length of the list, both logarithmic.

    Parameters
    ----------
    timings : sequence of Timing
        Of `boostrank.bench.measure`. Of an objective timed twice at a length the faster counts.
    ax : matplotlib Axes, optional
        Where to draw. Default None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        With our objectives in colour and the hosts' own in grey, labelled with the host.

    Raises
    ------
    TypeError, ValueError
        For anything else than timings; the message names the argument.
    ImportError
        Without Matplotlib.

    Examples
    --------
    >>> from boostrank import plot
    >>> from boostrank.bench import Timing
    >>> ax = plot.time_per_document(
    ...     [
    ...         Timing(20, "lambdarank, all pairs", "lightgbm", 20.0, 60.0, 3.0, 1.9),
    ...         Timing(200, "lambdarank, all pairs", "lightgbm", 80.0, 500.0, 6.2, 1.9),
    ...     ]
    ... )
    >>> [line.get_label() for line in ax.lines]
    ['boostrank: lambdarank, all pairs', 'lightgbm: lambdarank, all pairs']
    """
    _check_all("timings", timings, Timing)
    lines: dict[str, dict[int, float]] = {}
    hosts: dict[str, str] = {}
    for timing in timings:
        ours, _, against = timing.label.partition(" against ")
        measured = [(f"boostrank: {ours}", timing.ours)]
        if not against and timing.host:
            measured.append((f"{timing.host}: {ours}", timing.builtin))
            hosts[measured[1][0]] = timing.host
        for label, nanoseconds in measured:
            times = lines.setdefault(label, {})
            times[timing.docs] = min(nanoseconds, times.get(timing.docs, math.inf))
    axes = _prepared(ax)
    looks = _looks(label for label in lines if label not in hosts)
    for host in _HOST_MARKERS:
        theirs = [label for label in lines if hosts.get(label) == host]
        looks |= _looks(theirs, grey=theirs)
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
    axes.set_xlabel("documents a query")
    axes.set_ylabel("gradient, nanoseconds a document")
    return _finished(axes, ax)


# ---- the files of the command line ---------------------------------------------------------------


def _figure(width: float, height: float) -> "Figure":
    # Without pyplot a figure draws itself with Agg, whatever backend the process has.
    figure: Figure = _matplotlib().figure.Figure(
        figsize=(width, height), dpi=150, layout="constrained"
    )
    return figure


def draw_rounds(rows: Sequence[Row], path: Path) -> None:
    """Draw validation NDCG@10 by round, mean over folds, one panel for each host.

    Parameters
    ----------
    rows : sequence of Row
    path : Path
        Of the file; its suffix says which kind.
    """
    hosts = list(dict.fromkeys(row.learner.host for row in rows))
    legend_lines = math.ceil(max(map([row.learner.host for row in rows].count, hosts)) / 2)
    with _matplotlib().rc_context(ANY_BACKGROUND):
        figure = _figure(1.0 + 5.0 * len(hosts), 4.2 + 0.25 * legend_lines)
        panels = figure.subplots(1, len(hosts), sharey=True, squeeze=False)[0]
        for axes, host in zip(panels, hosts, strict=True):
            mine = sorted(
                (row for row in rows if row.learner.host == host),
                key=lambda row: row.learner.builtin,
            )
            learning_curves(
                {row.learner.label: row.curve for row in mine},
                grey=[row.learner.label for row in mine if row.learner.builtin],
                ax=axes,
            )
            axes.set_title(host)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
        # The first rounds fall far below and would press all lines together.
        late = np.concatenate([row.curve[len(row.curve) // 10 :] for row in rows])
        space = 0.05 * (late.max() - late.min()) + 1e-3
        panels[0].set_ylim(late.min() - space, late.max() + space)
        panels[0].set_ylabel("validation NDCG@10, mean of the folds")
        figure.savefig(path)


def draw_test(rows: Sequence[Row], path: Path) -> None:
    """Draw test NDCG@10 of all learners; see `leaderboard`.

    Parameters
    ----------
    rows : sequence of Row
    path : Path
        Of the file; its suffix says which kind.
    """
    with _matplotlib().rc_context(ANY_BACKGROUND):
        figure = _figure(8.0, 1.9 + 0.3 * len(rows))
        leaderboard(rows, ax=figure.subplots())
        figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
        figure.savefig(path)


def draw_lengths(timings: Sequence[Timing], path: Path) -> None:
    """Draw time for each document against the length of the list; see `time_per_document`.

    Parameters
    ----------
    timings : sequence of Timing
    path : Path
        Of the file; its suffix says which kind.
    """
    with _matplotlib().rc_context(ANY_BACKGROUND):
        figure = _figure(10.0, 5.5)
        time_per_document(timings, ax=figure.subplots())
        figure.legend(loc="outside right center", frameon=False, fontsize="small")
        figure.savefig(path)
