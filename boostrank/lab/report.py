"""A comparison as one HTML file that needs nothing else: no server, no download, no JavaScript.

JavaScript only adds sorting. Figures are SVG inside the page, black on a transparent background.
The page inverts them for readers who prefer a dark one.
"""

import base64
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.lab.files import write_file
from boostrank.lab.plot import comparisons
from boostrank.lab.plot.axes import GREY, drawn, figure_file, load_matplotlib
from boostrank.lab.results import Row, best_first, holm_p_values, verdicts
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


def check_packages() -> Any:
    """Return Jinja2; raise the error of `write_files` without its packages, before training."""
    load_matplotlib()
    return load("jinja2", "the report needs Jinja2", "jinja2")


def write_files(folder: Path, run: Run, command: str) -> list[Path]:
    """Write the figures and the report of a comparison; return the paths of all its files."""
    rounds, test, report = (folder / name for name in ("validation.png", "test.png", "report.html"))
    draw_rounds(run.rows, rounds)
    draw_test(run.rows, test)
    write_report(report, run, command)
    store = run.store
    kept = [] if store is None else [store.summary, store.queries, store.path]
    return [*kept, rounds, test, report]


def draw_rounds(rows: Sequence[Row], path: Path) -> None:
    """Draw the validation metric by round, mean over folds, one panel for each host."""
    hosts = _by_host(rows)
    legend_lines = math.ceil(max(map(len, hosts.values())) / 2)
    with figure_file(path, 1.0 + 5.0 * len(hosts), 4.2 + 0.25 * legend_lines) as figure:
        panels = figure.subplots(1, len(hosts), sharey=True, squeeze=False)[0]
        for axes, mine in zip(panels, hosts.values(), strict=True):
            mine.sort(key=lambda row: row.learner.builtin)
            comparisons.draw_host_curves(mine, rows, axes)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
        panels[0].set_ylabel(f"validation {rows[0].metric.upper()}, mean of the folds")


def _by_host(rows: Sequence[Row]) -> dict[str, list[Row]]:
    hosts = dict.fromkeys(row.learner.host for row in rows)
    return {host: [row for row in rows if row.learner.host == host] for host in hosts}


def draw_test(rows: Sequence[Row], path: Path) -> None:
    """Draw the test metric of all learners; see `leaderboard`."""
    with figure_file(path, 8.0, 1.9 + 0.3 * len(rows)) as figure:
        comparisons.leaderboard(rows, ax=figure.subplots())
        figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")


def write_report(path: Path, run: Run, command: str) -> None:
    """Write the report of a comparison, with the command that repeats it."""
    rows, folds = run.rows, run.plan.folds
    jinja2 = check_packages()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("boostrank.lab", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    ranked = best_first(rows)
    baseline = next(row for row in rows if row.baseline is None)
    html = environment.get_template("report.html").render(
        rows=ranked,
        baseline=baseline,
        failures=run.failures,
        orders={
            name: "descending" if sign_of(name) > 0 else "ascending"
            for name in run.plan.settings.metrics
        },
        chosen_by=baseline.metric,
        verdict=_verdict(ranked, baseline),
        significant=SIGNIFICANT,
        counts=_counts,
        corrected=holm_p_values(rows),
        verdicts=verdicts(rows),
        p_in_words=p_in_words,
        share_in_words=share_in_words,
        figures=_figures(ranked, baseline),
        differences=[
            (row, _query_by_query(row), _most(row)) for row in ranked if row is not baseline
        ],
        features=_features(ranked, folds.data.names),
        folds=folds,
        about=comparison_in_words(run.plan, rows),
        command=command,
    )
    write_file(path, html.encode("utf-8", "surrogateescape"))  # it may name a path


def _verdict(ranked: Sequence[Row], baseline: Row) -> str:
    """Say in one sentence what the comparison shows."""
    tested = [row for row in ranked if row is not baseline]
    if not tested:
        return f"Only the baseline, {baseline.learner}, was trained."
    said = verdicts(ranked)
    times = Counter(said.values())
    best = next((row for row in tested if said[row.learner] == "better"), None)
    after = f", corrected for {len(tested)} comparisons" if len(tested) > 1 else ""
    first = f"{best.learner if best else 'Nothing'} beats the baseline {baseline.learner} "
    first += f"beyond chance (p < {SIGNIFICANT:g}{after})"
    if best:
        first += f": {best.difference:+.4f} {best.metric.upper()}"
        if share := share_in_words(best.relative_difference):
            first += f" ({share})"
    if times["better"] > 1:
        first += f", and so do {times['better'] - 1} more of {len(tested)}"
    return f"{first}; {times['level']} of {len(tested)} are level with it, {times['worse']} worse."


def _most(row: Row, n: int = 5) -> list[tuple[str, list[tuple[object, float, float]]]]:
    """Return the queries that gain and lose most: id, the baseline's metric and the row's."""
    assert row.baseline is not None
    qid = np.concatenate([fold.qid for fold in row.folds])
    own, theirs = row.pooled(row.metric), row.baseline.pooled(row.metric)
    difference = row.sign * row.differences
    order = np.argsort(difference)
    worst = [i for i in order if difference[i] < 0][:n]
    best = [i for i in order[::-1] if difference[i] > 0][:n]
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


class _Pictures(list[tuple[str, str]]):
    """The source of each picture, and what it shows in words; wide enough for the longest label."""

    def __init__(self, longest: int = 0) -> None:
        self.width = _WIDTH + 0.08 * max(0, longest - _LONG_LABEL)
        self.columns = 1 if longest > _LONG_LABEL else 2

    @contextmanager
    def one(self, shows: str, height: float, labels: int = 0) -> "Iterator[Axes]":
        """Yield Axes of one more picture to draw into, with a legend of so many labels below."""
        file = io.BytesIO()
        height += 0.2 * -(-labels // self.columns)
        looks = {"font.size": 10, "axes.titlesize": 10, "legend.fontsize": 9}
        looks |= {"text.parse_math": False}  # labels are the user's words, not formulas
        kept = {"format": "svg", "transparent": True, "dpi": 200, "metadata": {"Date": None}}
        with drawn(file, looks, self.width, height, **kept) as figure:
            yield figure.subplots()
            if labels:
                figure.legend(loc="outside lower center", ncols=self.columns, frameon=False)
        content = base64.b64encode(file.getvalue()).decode("ascii")
        self.append((f"data:image/svg+xml;base64,{content}", shows))


def _figures(ranked: Sequence[Row], baseline: Row) -> _Pictures:
    metric = baseline.metric.upper()
    pictures = _Pictures(max(len(row.learner.label) for row in ranked))
    others = [row for row in ranked if row is not baseline]
    if others:
        with pictures.one(
            f"{metric} minus that of {baseline.learner}, query by query: mean of the paired "
            "differences with its 95 % interval. Zero is the baseline. Filled markers: "
            f"significant in the paired test (p (Holm) < {SIGNIFICANT:g}).",
            1.1 + 0.24 * len(others),
        ) as axes:
            comparisons.differences(ranked, ax=axes)
            axes.set_ylim(-0.7, len(others) - 0.3)
            axes.set_xlabel(f"difference in {metric}")
    for host, rows in _by_host(ranked).items():
        with pictures.one(
            f"Learning curves on {host}: {metric} on the validation parts after each round, "
            "mean over the folds. The host's own objectives are grey.",
            3.0,
            labels=len(rows),
        ) as axes:
            comparisons.draw_host_curves(rows, ranked, axes)
            axes.set_ylabel(f"validation {metric}")
    # Labels that are no grades have no NDCG, and a single query has no interval.
    graded = baseline.settings.graded
    if not graded or np.count_nonzero(~np.isnan(baseline.pooled(f"ndcg@{CUTOFFS[0]}"))) < 2:
        return pictures
    at_cutoffs = {
        str(row.learner): {f"ndcg@{k}": row.pooled(f"ndcg@{k}") for k in CUTOFFS}
        for row in (*others[:_MOST_AT_CUTOFFS], baseline)
    }
    how: dict[str, Any] = {"height": 3.0, "labels": len(at_cutoffs)}
    with pictures.one(
        "NDCG by rank cut-off, mean over all test queries with its 95 % interval: the baseline "
        "and the best of the others.",
        **how,
    ) as axes:
        comparisons.metric_by_cutoff(at_cutoffs, ax=axes)
        for artist in axes.containers[-1].get_children():  # of the baseline
            artist.set(color=GREY)
    if others:
        with pictures.one(
            f"The same minus that of {baseline.learner}, query by query: 95 % intervals of the "
            "paired differences.",
            **how,
        ) as axes:
            comparisons.metric_by_cutoff(at_cutoffs, baseline=str(baseline.learner), ax=axes)
            axes.set_ylabel("difference in NDCG@k")
    return pictures


def _query_by_query(row: Row) -> tuple[str, str]:
    assert row.baseline is not None
    # Bars point up where the row is better.
    first, second = (row, row.baseline) if row.sign > 0 else (row.baseline, row)
    pictures = _Pictures()
    with pictures.one(
        f"{row.metric.upper()} of each test query, {first.learner} minus {second.learner}, sorted.",
        2.6,
    ) as axes:
        comparisons.query_differences(first.pooled(row.metric), second.pooled(row.metric), ax=axes)
        axes.set_ylabel(f"difference in {row.metric.upper()}")
        for patch in axes.patches:
            patch.set_rasterized(True)  # so that thousands of queries take no more space than ten
    return pictures[0]
