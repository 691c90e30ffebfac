"""Figures hold what they are given, in the caller's Axes, and bad input is named."""

import io

import matplotlib
import numpy as np
import pytest
from commands import row_of
from matplotlib import colors, pyplot
from matplotlib.figure import Figure

import boostrank
from boostrank import plot
from boostrank.lab import bench
from boostrank.lab.bench import Timing
from boostrank.lab.learners import Learner
from boostrank.lab.report import draw_rounds, draw_test

CURVES = {"ours": [0.3, 0.5, 0.4, 0.5], "theirs": [0.2, 0.4]}
FIGURES = {
    "a": {"ndcg@10": [0.9, 0.5, 0.4], "ndcg@1": [1.0, 0.0, np.nan], "map": [0.5, 0.4, 0.3]},
    "b": {"ndcg@10": [0.6, 0.6, 0.5], "ndcg@1": [0.0, 0.2, np.nan], "map": [0.5, 0.4, 0.3]},
}
OBJECTIVES = {"SDCG": boostrank.SDCG(), "regression": boostrank.Regression()}
QUERY = [2, 0, 1], [3]
TIMINGS = [
    Timing(200, "lambdarank", "lightgbm", 40.0, 400.0, 10.0, 1.0),
    Timing(20, "lambdarank", "lightgbm", 20.0, 60.0, 3.0, 1.0),
    Timing(20, "lambdarank", "xgboost", 22.0, 90.0, 4.0, 1.0),
    Timing(20, "sdcg against lambdarank", "lightgbm", 10.0, 60.0, 6.0, 1.0),
    Timing(20_000, "sdcg against lambdarank", "", 12.0, np.nan, np.nan, 1.0),
]


def row(label, values, baseline=None, host="xgboost"):
    learner = Learner(label, host, label if ":" in label else boostrank.Regression())
    return row_of(learner, values, base=baseline)


BASELINE = row("rank:ndcg", np.linspace(0.4, 0.5, 20))
ROWS = [
    BASELINE,
    row("better", np.linspace(0.6, 0.7, 20), BASELINE, "lightgbm"),
    row("equal", np.linspace(0.4, 0.5, 20), BASELINE),
]

CALLS = {
    "learning_curves": lambda **kw: plot.learning_curves(CURVES, **kw),
    "metric_by_cutoff": lambda **kw: plot.metric_by_cutoff(FIGURES, **kw),
    "query_differences": lambda **kw: plot.query_differences([1, 0, 2], [0, 1, 2], **kw),
    "gradient_by_difference": lambda **kw: plot.gradient_by_difference(OBJECTIVES, **kw),
    "gradient_by_rank": lambda **kw: plot.gradient_by_rank(OBJECTIVES, **kw),
    "leaderboard": lambda **kw: plot.leaderboard(ROWS, **kw),
    "differences": lambda **kw: plot.differences(ROWS, **kw),
    "surrogate_against_measure": lambda **kw: plot.surrogate_against_measure(
        {"a": [boostrank.directness(boostrank.SoftNDCG(), [0, 1, 2], *QUERY)]}, **kw
    ),
    "reliability": lambda **kw: plot.reliability({"a": ([0.1, 0.9], [0.0, 1.0])}, **kw),
    "pareto": lambda **kw: plot.pareto(
        {"a": [[0.1, 0.9], [0.9, 0.1]]}, metrics=("ndcg", "margin"), **kw
    ),
    "time_per_document": lambda **kw: plot.time_per_document(TIMINGS, **kw),
}
every = pytest.mark.parametrize("name", CALLS)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


def data(axes):
    """Return x and y by label, for the lines that have a label."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def test_all_functions_are_here():
    drawing = {name for name in plot.__all__ if name.islower()}
    assert drawing == set(CALLS)
    for name in drawing:
        for section in ("Parameters\n", "Returns\n", "Raises\n", "Examples\n"):
            assert section in getattr(plot, name).__doc__


@every
def test_it_draws_into_the_given_axes(name, ax):
    settings = dict(matplotlib.rcParams)
    assert CALLS[name](ax=ax) is ax
    assert ax.has_data()
    assert ax.get_xlabel()
    assert ax.get_legend() is None
    ax.figure.savefig(io.BytesIO())
    assert pyplot.get_fignums() == []
    assert dict(matplotlib.rcParams) == settings


@every
def test_it_makes_a_figure_where_none_is_given(name):
    axes = CALLS[name]()
    assert pyplot.gcf() is axes.figure
    assert (axes.get_legend() is not None) == bool(axes.get_legend_handles_labels()[0])


@every
def test_text_and_background_are_the_callers(name):
    for colour, background in (("white", "black"), ("#123456", "none")):
        with matplotlib.rc_context(
            {"text.color": colour, "axes.labelcolor": colour, "axes.facecolor": background}
        ):
            axes = CALLS[name](ax=Figure().subplots())
        assert axes.xaxis.label.get_color() == colour
        assert colors.to_rgba(axes.get_facecolor()) == colors.to_rgba(background)


@every
def test_an_array_of_axes_is_refused(name):
    with pytest.raises(TypeError, match=r"ax must be Matplotlib's Axes, got ndarray.*panels\[0\]"):
        CALLS[name](ax=Figure().subplots(1, 2))


def light(colour):
    """Return how much red, green and blue light a screen gives, from 0 to 1."""
    rgb = np.array(colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return light(colour) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colour", [*plot.COLOURS, plot.GREY])
def test_colours_stand_out_from_light_and_dark(colour):
    """At least 3 to 1, as the Web's accessibility guidelines ask of graphics."""
    assert 1.05 / (luminance(colour) + 0.05) >= 3
    assert (luminance(colour) + 0.05) / (luminance("#121212") + 0.05) >= 3


# Machado, Oliveira, Fernandes 2009: what protanopes, deuteranopes and tritanopes see.
SEEN = np.array([
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
     [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
     [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
     [0.004733, 0.691367, 0.303900]],
])  # fmt: skip


def lab(rgb):
    """CIE's L*, a*, b*, in which equal distances look about equal."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(to_xyz @ np.clip(rgb, 1e-3, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", range(4))
def test_colours_are_told_apart(eyes):
    seen = [lab(SEEN[eyes] @ light(colour)) for colour in plot.COLOURS]
    nearest = min(np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i])
    assert nearest > 15  # of Okabe and Ito's own seven the nearest two are 16 apart


def test_more_labels_than_colours(ax):
    names = [f"objective {i}" for i in range(17)]
    plot.learning_curves({name: [0.0, 1.0] for name in names}, grey=names[-2:], ax=ax)
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 17
    assert {line.get_color() for line in ax.lines[-2:]} == {plot.GREY}


def test_learning_curves(ax):
    plot.learning_curves(CURVES, grey=["theirs"], mark_best=True, ax=ax)
    assert data(ax) == {
        "ours": ([1, 2, 3, 4], CURVES["ours"]),
        "theirs": ([1, 2], CURVES["theirs"]),
    }
    dots = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert dots == [[[2.0, 0.5]], [[2.0, 0.4]]]  # the first of two equal maxima


def test_colours_do_not_depend_on_what_is_grey(ax):
    plot.learning_curves({key: [1.0] for key in "abc"}, grey=["b"], ax=ax)
    other = plot.learning_curves({key: [1.0] for key in "ac"}, ax=Figure().subplots())
    assert [ax.lines[i].get_color() for i in (0, 2)] == [line.get_color() for line in other.lines]


def test_metric_by_cutoff(ax):
    plot.metric_by_cutoff(FIGURES, ax=ax)
    assert ax.get_xticks().tolist() == [1, 10]
    for container, label in zip(ax.containers, "ab", strict=True):
        values = np.transpose([FIGURES[label]["ndcg@1"], FIGURES[label]["ndcg@10"]])
        dots, _, (bars,) = container
        np.testing.assert_allclose(dots.get_ydata(), np.nanmean(values, axis=0))
        lengths = np.diff([segment[:, 1] for segment in bars.get_segments()])[:, 0]
        errors = np.nanstd(values, axis=0, ddof=1) / np.sqrt([2, 3])
        np.testing.assert_allclose(lengths, 2 * 1.96 * errors)
    left, right = (container[0].get_xdata() for container in ax.containers)
    assert (left < [1, 10]).all() and (right > [1, 10]).all()  # noqa: PT018


def test_metric_by_cutoff_less_a_baseline(ax):
    plot.metric_by_cutoff(FIGURES, baseline="b", ax=ax)
    ((dots, _, (bars,)),) = ax.containers
    np.testing.assert_allclose(dots.get_ydata(), [0.4, np.mean([0.3, -0.1, -0.1])])
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 1.96 * np.std([1.0, -0.2], ddof=1) / np.sqrt(2))
    assert ax.get_legend_handles_labels()[1] == ["b", "a"]


def test_query_differences(ax):
    rounded = plot.query_differences([0.1 + 0.2, 1.0], [0.3, 1.0])
    assert rounded.get_xlabel() == "queries: 0 worse, 2 equal, 0 better"
    values, baseline = [0.5, 0.9, 0.1, np.nan, 0.4, 0.7], [0.5, 0.6, 0.2, 0.5, 0.2, 0.4]
    plot.query_differences(values, baseline, ax=ax)
    worse, better = (patch.get_data() for patch in ax.patches)
    np.testing.assert_allclose(worse.values, [-0.1])
    np.testing.assert_allclose(better.values, [0.2, 0.3, 0.3])
    assert (worse.edges.tolist(), better.edges.tolist()) == ([0, 1], [2, 3, 4, 5])
    assert ax.get_xlabel() == "queries: 1 worse, 1 equal, 3 better"
    assert ax.get_xlim() == (0, 5)


def test_leaderboard(ax):
    plot.leaderboard(ROWS, ax=ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "better"
    dots = {line.get_ydata()[0]: line for line in ax.lines if line.get_markersize() == 7}
    for height, name in enumerate(names):
        (mine,) = (each for each in ROWS if each.learner.label == name)
        assert dots[height].get_xdata()[0] == mine.mean("ndcg@10")
    intervals = [tuple(line.get_xdata()) for line in ax.lines if line.get_linewidth() == 1.2]
    assert intervals[-1] == ROWS[1].interval("ndcg@10")
    assert "baseline rank:ndcg" in data(ax)


@pytest.mark.parametrize("draw", [plot.leaderboard, plot.differences])
def test_markers_are_filled_by_the_corrected_p(draw):
    base = row("base", np.full(6, 0.5))
    gains = row("gains", np.full(6, 0.6), base)  # p = 2 / 2 ** 6
    for others, filled in (([], "full"), ([row("equal", np.full(6, 0.5), base)], "none")):
        lines = draw([base, gains, *others]).lines
        found = [line.get_fillstyle() for line in lines if line.get_markersize() == 7]
        assert found[-1] == filled


def test_gradient_by_difference(ax):
    plot.gradient_by_difference(OBJECTIVES, grades=(3, 1), hessian=True, ax=ax)
    lines = data(ax)
    assert list(lines) == ["SDCG", "SDCG: Hessian", "regression", "regression: Hessian"]
    for name, obj in OBJECTIVES.items():
        for i in (0, 100, 240):
            x = lines[name][0][i]
            grad, hess = obj.grad_hess([x, 0.0], [3, 1], [2])
            assert lines[name][1][i] == -grad[0]
            assert lines[f"{name}: Hessian"][1][i] == hess[0]
    assert [lines["SDCG"][0][i] for i in (0, -1)] == [-6, 6]


def test_gradient_by_rank(ax):
    plot.gradient_by_rank(OBJECTIVES, n_docs=7, scaled=True, ax=ax)
    x, pulls = data(ax)["SDCG"]
    assert x == [1, 2, 3, 4, 5, 6, 7]
    expected = [
        -boostrank.SDCG().grad_hess(-0.5 * np.arange(7), np.eye(7)[r], [7])[0][r] for r in range(7)
    ]
    np.testing.assert_allclose(pulls, np.array(expected) / np.abs(expected).max(), rtol=1e-12)
    assert max(map(abs, data(ax)["regression"][1])) == 1


def test_a_round_reaches_the_objective(ax):
    scheduled = {"x": boostrank.RegSHFSDCG(total_rounds=10)}
    plot.gradient_by_rank(scheduled, round=1, ax=ax)
    late = plot.gradient_by_rank(scheduled, round=10, ax=Figure().subplots())
    assert data(ax) != data(late)
    with pytest.raises(ValueError, match="round is missing"):
        plot.gradient_by_rank(scheduled, ax=ax)


def test_surrogate_against_measure(ax):
    soft = boostrank.SoftNDCG()
    labels, group = [2, 0, 1, 0, 0], [3, 2]  # a query with nothing to rank is left out
    found = [
        boostrank.directness(soft, scores, labels, group)
        for scores in ([0, 1, 2, 0, 1], [3, 1, 0, 0, 1])
    ]
    plot.surrogate_against_measure({"soft": found}, ax=ax)
    surrogate, measure = data(ax)["soft"]
    for i, scores in enumerate(([0, 1, 2], [3, 1, 0])):
        assert surrogate[i] == pytest.approx(1 - soft.loss(scores, *QUERY)[0])
        assert measure[i] == boostrank.evaluate(scores, *QUERY, ("ndcg",))["ndcg"]
    assert ax.get_xlim()[0] > surrogate[0] - 0.1  # the diagonal does not widen the view


def test_time_per_document(ax):
    plot.time_per_document(TIMINGS, ax=ax)
    assert data(ax) == {
        "boostrank: lambdarank": ([20, 200], [20.0, 40.0]),  # the faster of two at 20
        "boostrank: sdcg": ([20, 20_000], [10.0, 12.0]),
        "lightgbm: lambdarank": ([20, 200], [60.0, 400.0]),
        "xgboost: lambdarank": ([20], [90.0]),
    }
    assert [line.get_color() == plot.GREY for line in ax.lines] == [False, False, True, True]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_every_line_of_a_benchmark_has_its_own_style(ax):
    timings = [Timing(20, pair.label, pair.host, 1.0, 2.0, 2.0, 1.0) for pair in bench.pairs(20)]
    plot.time_per_document(timings, ax=ax)
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(looks) == len(ax.lines) == 15
    ours = [line.get_label().startswith("boostrank") for line in ax.lines]
    assert [line.get_color() != plot.GREY for line in ax.lines] == ours


@pytest.mark.parametrize("draw", [draw_rounds, draw_test])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_files_have_no_background(draw, suffix, tmp_path):
    draw(ROWS, tmp_path / f"figure.{suffix}")
    if suffix == "png":
        picture = pyplot.imread(tmp_path / "figure.png")
        assert picture[0, 0, 3] == 0  # transparent
        assert picture[..., 3].max() == 1
    else:
        assert "#000000" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")


BAD = {
    "curves-list": (lambda: plot.learning_curves([0.1]), TypeError, "curves must map labels to"),
    "curves-empty": (lambda: plot.learning_curves({}), ValueError, "curves must hold at least one"),
    "curve-text": (lambda: plot.learning_curves({"a": ["x"]}), TypeError, r"curves\['a'\]"),
    "curve-none": (lambda: plot.learning_curves({"a": []}), ValueError, r"curves\['a'\]"),
    "curve-nan": (
        lambda: plot.learning_curves({"a": [np.nan]}, mark_best=True), ValueError,
        r"curves\['a'\]",
    ),
    "best": (lambda: plot.learning_curves(CURVES, mark_best=1), TypeError, "mark_best"),
    "grey": (lambda: plot.learning_curves(CURVES, grey=["their"]), ValueError, "grey.*'theirs'"),
    "figures": (lambda: plot.metric_by_cutoff([1.0]), TypeError, "figures must map labels"),
    "figure": (lambda: plot.metric_by_cutoff({"a": [1]}), TypeError, r"figures\['a'\] must map"),
    "baseline": (
        lambda: plot.metric_by_cutoff(FIGURES, baseline="A"), ValueError,
        "unknown baseline 'A'; did you mean 'a'",
    ),
    "measure": (
        lambda: plot.metric_by_cutoff(FIGURES, "err"), ValueError,
        "must have 'err' at a cut-off.* got ndcg@10, ndcg@1, map",
    ),
    "metrics": (
        lambda: plot.metric_by_cutoff({**FIGURES, "c": {"ndcg@1": [1, 2, 3]}}), ValueError,
        "figures must have the same metrics .* 'c'",
    ),
    "queries": (
        lambda: plot.metric_by_cutoff({"a": {"ndcg@1": [1, 0]}, "b": {"ndcg@1": [1, 1, 0]}}),
        ValueError, "figures must have the same .* queries .* 'b'",
    ),
    "ragged": (
        lambda: plot.metric_by_cutoff({"a": {"ndcg@1": [1, 0], "ndcg@2": [1]}}), ValueError, "same",
    ),
    "one-query": (
        lambda: plot.metric_by_cutoff({"a": {"ndcg@1": [1, np.nan]}}), ValueError, "at 1, got 1",
    ),
    "lengths": (lambda: plot.query_differences([1, 2], [1]), ValueError, "baseline .* 2 queries"),
    "no-pair": (
        lambda: plot.query_differences([1, np.nan], [np.nan, 1]), ValueError, "values and baseline"
    ),
    "rows": (lambda: plot.leaderboard([]), ValueError, "rows must hold at least one Row"),
    "row": (lambda: plot.leaderboard([1]), TypeError, "rows must hold Row only, got int"),
    "objective": (
        lambda: plot.gradient_by_rank({"a": "sdcg"}), TypeError,
        r"objectives\['a'\] must be an objective such as .*, got 'sdcg'",
    ),
    "n_docs": (lambda: plot.gradient_by_rank(OBJECTIVES, n_docs=0), ValueError, "n_docs must"),
    "scaled": (lambda: plot.gradient_by_rank(OBJECTIVES, scaled="yes"), TypeError, "scaled must"),
    "grades": (
        lambda: plot.gradient_by_difference(OBJECTIVES, grades=(1, 2)), ValueError,
        r"grades must be .* got \(1, 2\)",
    ),
    "stages": (
        lambda: plot.surrogate_against_measure({"a": 1}), TypeError,
        r"stages\['a'\] must be a sequence of Directness, got int",
    ),
    "no-query": (
        lambda: plot.surrogate_against_measure(
            {"a": [boostrank.directness(boostrank.SDCG(), [1.0], [1], [1])]}
        ),
        ValueError, r"stages\['a'\] must have queries with a value",
    ),
    "timings": (lambda: plot.time_per_document("x"), TypeError, "timings must be a sequence"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_drawn(name):
    call, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        call()
    assert pyplot.get_fignums() == []
