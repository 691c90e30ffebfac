"""The benchmark runs and reports what it measured; its figures are no test's business."""

import csv

import pytest
from typer.testing import CliRunner

from boostrank import bench
from boostrank.cli import app


def test_measure(monkeypatch):
    monkeypatch.setattr(bench, "TOTAL_DOCS", 400)
    timings = list(bench.measure([20], repeats=3))
    assert [(timing.label, timing.host) for timing in timings] == [
        (pair.label, pair.host) for pair in bench.pairs(20)
    ]
    for timing in timings:
        assert timing.docs == 20
        assert timing.ours > 0


def test_command(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "TOTAL_DOCS", 400)
    done = CliRunner().invoke(
        app, ["bench", "--docs", "10,20", "--repeats", "1", "--out", tmp_path]
    )
    assert done.exit_code == 0, done.output
    with (tmp_path / "bench.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["docs"] for row in rows] == ["10"] * 5 + ["20"] * 5
    assert "built-in / ours" in done.output


@pytest.mark.parametrize("option", [["--docs", "0"], ["--repeats", "0"], ["--threads", "0"]])
def test_bad_options(option, tmp_path):
    done = CliRunner().invoke(app, ["bench", *option, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "must be at least 1" in done.output
