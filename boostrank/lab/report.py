"""A comparison as one HTML file that needs nothing else: no server, no download, no JavaScript.

JavaScript only adds sorting. Figures are SVG inside the page, black on a transparent background.
The page inverts them for readers who prefer a dark one.
"""

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from boostrank.lab.files import write_file
from boostrank.lab.folds import Folds
from boostrank.lab.plot.axes import COLOURS, GREY, load_matplotlib
from boostrank.lab.plot.comparisons import (
    curve_limits,
    differences,
    draw_host_curves,
    metric_by_cutoff,
    query_differences,
    row_styles,
)
from boostrank.lab.plot.files import draw_rounds, draw_test
from boostrank.lab.results import Row, best_first, holm_p_values
from boostrank.lab.runner import Run
from boostrank.lab.settings import CUTOFFS, sign_of
from boostrank.lab.stats import SIGNIFICANT
from boostrank.lab.words import comparison_in_words, p_in_words, share_in_words
from boostrank.messages import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches. Ten-point text can then be read on a phone without zooming.
_WIDTH = 4.8
# With more learners, points with intervals are too close to be distinguished.
_MOST_AT_CUTOFFS = 5
_LONG_LABEL = 22


class _Figure(NamedTuple):
    """A picture, and a description of it in words."""

    source: str
    shows: str


_Pictures = Callable[..., _Figure]


def _load_jinja() -> Any:
    return load("jinja2", "the report needs Jinja2", "jinja2")


def check_packages() -> None:
    """Raise the error that `write_files` would raise without its packages, before training."""
    load_matplotlib()
    _load_jinja()


def write_files(folder: Path, run: Run, command: str) -> list[Path]:
    """Write the figures and the report of a comparison; return the paths of all its files."""
    rounds, test, report = (folder / name for name in ("validation.png", "test.png", "report.html"))
    draw_rounds(run.rows, rounds)
    draw_test(run.rows, test)
    write_report(report, run, command)
    store = run.store
    kept = [] if store is None else [store.summary, store.queries, store.path]
    return [*kept, rounds, test, report]


def write_report(path: Path, run: Run, command: str) -> None:
    """Write the report of a comparison, with the command that repeats it."""
    rows, folds = run.rows, run.plan.folds
    jinja2 = _load_jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(
        resources.files("boostrank.lab").joinpath("report.html").read_text(encoding="utf-8")
    )
    ranked = best_first(rows)
    baseline = next(row for row in rows if row.baseline is None)
    html = template.render(
        rows=ranked,
        baseline=baseline,
        failures=run.failures,
        orders={
            name: "descending" if sign_of(name) > 0 else "ascending"
            for name in (baseline.metric, *run.plan.settings.metrics)
        },
        chosen_by=baseline.metric,
        verdict=_verdict(ranked, baseline),
        significant=SIGNIFICANT,
        counts=_counts,
        corrected=holm_p_values(rows),
        p_in_words=p_in_words,
        share_in_words=share_in_words,
        figures=_figures(ranked, baseline),
        differences=[(row, _differences(row), _most(row)) for row in ranked if row is not baseline],
        features=_features(ranked, folds.data.names),
        folds=_splits(folds, [fold.fold for fold in baseline.folds]),
        about=comparison_in_words(run.plan, rows),
        command=command,
    )
    write_file(path, html.encode("utf-8", "surrogateescape"))  # it may name a path


def _verdict(ranked: Sequence[Row], baseline: Row) -> str:
    """Say in one sentence what the comparison shows."""
    tested = [row for row in ranked if row is not baseline]
    if not tested:
        return f"Only the baseline, {baseline.learner}, was trained."
    better, worse = ([row for row in tested if row.verdict == each] for each in ("better", "worse"))
    beyond = f"beyond chance (p < {SIGNIFICANT:g})"
    if better:
        best = better[0]
        first = (
            f"{best.learner} beats the baseline {baseline.learner} {beyond}: "
            f"{best.difference:+.4f} {best.metric.upper()}"
        )
        if share := share_in_words(best.relative_difference):
            first += f" ({share})"
        if len(better) > 1:
            first += f", and so do {len(better) - 1} more of {len(tested)}"
    else:
        first = f"Nothing beats the baseline {baseline.learner} {beyond}"
    level = len(tested) - len(better) - len(worse)
    return f"{first}; {level} of {len(tested)} are level with it, {len(worse)} worse."


def _most(row: Row, n: int = 5) -> list[tuple[str, list[tuple[object, float, float]]]]:
    """Return the queries that gain and lose most: id, the baseline's metric and the row's."""
    assert row.baseline is not None
    qid = np.concatenate([fold.qid for fold in row.folds])
    own, theirs = row.pooled(row.metric), row.baseline.pooled(row.metric)
    difference = row.sign * (own - theirs)
    order = np.argsort(difference)  # NaN last
    worst = [i for i in order[:n] if difference[i] < 0]
    best = [i for i in order[~np.isnan(difference[order])][::-1][:n] if difference[i] > 0]
    return [
        (what, [(qid[i], float(theirs[i]), float(own[i])) for i in chosen])
        for what, chosen in (("gain", best), ("lose", worst))
    ]


def _features(
    ranked: Sequence[Row], names: Sequence[str], n: int = 10
) -> list[tuple[Row, list[tuple[str, float]]]]:
    """Return each row's features with the largest shares of the gain, and the shares."""
    found = []
    for row in ranked:
        shares = row.importance
        if not len(shares):
            continue
        first = [i for i in np.argsort(-shares, kind="stable")[:n] if shares[i] > 0.0]
        called = [names[i] if names else f"feature {i + 1}" for i in first]
        found.append((row, list(zip(called, shares[first].tolist(), strict=True))))
    return found


def _counts(row: Row) -> list[int]:
    """Count the queries that are better than, equal to and worse than the baseline's."""
    differences = row.sign * row.differences
    return [int(each.sum()) for each in (differences > 0, differences == 0, differences < 0)]


def _splits(folds: Folds, numbers: Sequence[int]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return how many queries and documents each part of each fold has."""
    sizes = folds.data.group
    return [
        (number, [(len(part), int(sizes[part].sum())) for part in folds.positions[number - 1]])
        for number in numbers
    ]


def _picture(
    draw: "Callable[[Axes], object]",
    shows: str,
    height: float,
    *,
    labels: int = 0,
    width: float = _WIDTH,
    columns: int = 1,
) -> _Figure:
    """Draw into new Axes, with a legend of so many labels in columns below."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = io.BytesIO()
    height += 0.2 * -(-labels // columns)
    # Labels are the user's words, not formulas.
    with rc_context(
        {"font.size": 10, "axes.titlesize": 10, "legend.fontsize": 9, "text.parse_math": False}
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.subplots())
        if labels:
            figure.legend(loc="outside lower center", ncols=columns, frameon=False)
        figure.savefig(file, format="svg", transparent=True, dpi=200, metadata={"Date": None})
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return _Figure(f"data:image/svg+xml;base64,{content}", shows)


def _figures(ranked: Sequence[Row], baseline: Row) -> list[_Figure]:
    longest = max(len(row.learner.label) for row in ranked)
    picture = partial(
        _picture,
        width=_WIDTH + 0.08 * max(0, longest - _LONG_LABEL),
        columns=1 if longest > _LONG_LABEL else 2,
    )
    return [
        *_paired(ranked, baseline, picture),
        *_learning_curves(ranked, picture),
        *_by_cutoff(ranked, baseline, picture),
    ]


def _paired(ranked: Sequence[Row], baseline: Row, picture: _Pictures) -> Iterator[_Figure]:
    """Yield a figure of the differences from the baseline, if there is another row."""
    n = len(ranked) - 1
    if n == 0:
        return

    def draw(axes: "Axes") -> None:
        differences(ranked, ax=axes)
        axes.set_ylim(-0.7, n - 0.3)
        axes.set_xlabel(f"difference in {baseline.metric.upper()}")

    yield picture(
        draw,
        f"{baseline.metric.upper()} minus that of {baseline.learner}, query by query: mean of the "
        "paired differences with its 95 % interval. Zero is the baseline. Filled markers: "
        f"significant in the paired test (p < {SIGNIFICANT:g}).",
        1.1 + 0.24 * n,
    )


def _learning_curves(ranked: Sequence[Row], picture: _Pictures) -> Iterator[_Figure]:
    limits, styles = curve_limits(ranked), row_styles(ranked)
    metric = ranked[0].metric.upper()
    for host in dict.fromkeys(row.learner.host for row in ranked):
        rows = [row for row in ranked if row.learner.host == host]

        def draw(axes: "Axes", rows: Sequence[Row] = rows) -> None:
            draw_host_curves(rows, axes, styles)
            axes.set_ylim(limits)
            axes.set_ylabel(f"validation {metric}")

        yield picture(
            draw,
            f"Learning curves on {host}: {metric} on the validation parts after each round, "
            "mean over the folds. The host's own objectives are grey.",
            3.0,
            labels=len(rows),
        )


def _by_cutoff(ranked: Sequence[Row], baseline: Row, picture: _Pictures) -> Iterator[_Figure]:
    """Yield NDCG by cut-off and its paired difference, if there are intervals to draw."""
    if f"ndcg@{CUTOFFS[0]}" not in baseline.folds[0].figures:  # the labels are no grades
        return
    best = [row for row in ranked if row is not baseline][:_MOST_AT_CUTOFFS]
    at_cutoffs = {
        str(row.learner): {f"ndcg@{k}": row.pooled(f"ndcg@{k}") for k in CUTOFFS}
        for row in (*best, baseline)
    }
    if np.isfinite(baseline.pooled(baseline.metric)).sum() < 2:  # no interval
        return

    # Not those of the objectives: the same one may be here on both hosts.
    colours = dict(zip((str(row.learner) for row in best), COLOURS, strict=False))
    colours[str(baseline.learner)] = GREY

    def draw(axes: "Axes", of: str | None = None) -> None:
        metric_by_cutoff(at_cutoffs, baseline=of, ax=axes)
        for container in axes.containers:
            for artist in container.get_children():
                artist.set(color=colours[str(container.get_label())])

    def draw_paired(axes: "Axes") -> None:
        draw(axes, str(baseline.learner))
        axes.set_ylabel("difference in NDCG@k")

    yield picture(
        draw,
        "NDCG by rank cut-off, mean over all test queries with its 95 % interval: the baseline "
        "and the best of the others.",
        3.0,
        labels=len(at_cutoffs),
    )
    if best:
        yield picture(
            draw_paired,
            f"The same minus that of {baseline.learner}, query by query: 95 % intervals of the "
            "paired differences.",
            3.0,
            labels=len(at_cutoffs),
        )


def _differences(row: Row) -> _Figure:
    assert row.baseline is not None
    # Bars point up where the row is better.
    first, second = (row, row.baseline) if row.sign > 0 else (row.baseline, row)

    def bars(axes: "Axes") -> None:
        query_differences(first.pooled(row.metric), second.pooled(row.metric), ax=axes)
        axes.set_ylabel(f"difference in {row.metric.upper()}")
        for patch in axes.patches:
            patch.set_rasterized(True)  # so that thousands of queries take no more space than ten

    return _picture(
        bars,
        f"{row.metric.upper()} of each test query, {first.learner} minus {second.learner}, sorted.",
        2.6,
    )
