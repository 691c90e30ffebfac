"""The benchmark runs and reports what it measured; no test checks its figures."""

import math

import pytest
from commands import lines_of, refused, run

from boostrank.lab import bench


def test_lists_too_long_for_the_built_ins_are_timed_alone(monkeypatch):
    monkeypatch.setattr(bench, "LONGEST_BUILTIN", 30)
    timings = list(bench.measure([40], repeats=1))
    assert timings
    for timing in timings:
        assert math.isnan(timing.ratio)
        assert timing.host == ""
    labels = [timing.label for timing in timings]
    assert "lambdarank, normalised" in labels
    assert len(labels) == len({pair.objective for pair in bench.pairs(40)})


def test_labels_all_different_are_timed_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "TOTAL_DOCS", 400)
    options = ["bench", "--distinct", "--docs", 40, "--repeats", 1, "--out", tmp_path]
    run(*options)
    rows = lines_of(tmp_path / "bench.csv")
    assert [row["label"] for row in rows] == [pair.label for pair in bench.timed_pairs(40, True)]
    for row in rows:
        assert row["label"].endswith(", labels all different")
        assert float(row["ours"]) > 0
        assert math.isnan(float(row["ratio"]))
    refused(*options, "--train")


def test_training():
    small = {"n_docs": 480, "n_features": 3, "n_leaves": 4, "rounds": 2, "threads": 1}
    rounds = list(bench.measure_training([20, 24], **small))
    assert [timing.docs for timing in rounds] == [20] * 7 + [24] * 7
    assert {timing.host for timing in rounds} == {"lightgbm", "xgboost"}
    assert sum(timing.label.endswith("against default") for timing in rounds) == 10
    for timing in rounds:
        assert timing.ratio > 0


def test_command(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "TOTAL_DOCS", 400)
    done = run("bench", "--docs", "10,20", "--repeats", 1, "--out", tmp_path)
    rows = lines_of(tmp_path / "bench.csv")
    assert [(row["docs"], row["label"], row["host"]) for row in rows] == [
        (str(docs), pair.label, pair.host) for docs in (10, 20) for pair in bench.pairs(docs)
    ]
    assert all(float(row["ours"]) > 0 for row in rows)
    # A built-in's time is a difference of two rounds: on a busy machine it may be below 0.
    assert all(math.isfinite(float(row["ratio"])) for row in rows)
    assert "built-in / ours" in done.output
    assert (tmp_path / "bench.png").stat().st_size > 10_000


NUMBERS = "docs are comma-separated numbers, such as 1,2; got "


@pytest.mark.parametrize(
    ("option", "message"),
    [
        *((option, "must be at least 1") for option in ("--docs=0", "--repeats=0", "--threads=0")),
        *((f"--docs={docs}", f"{NUMBERS}{docs!r}") for docs in ("x", "20,", "1.5")),
    ],
)
def test_bad_options(option, message, tmp_path):
    assert message in refused("bench", option, "--out", tmp_path)
