"""What the commands print into terminals of several widths and into pipes: no number is cut."""

import os
import pty
import re
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest
from commands import run, svmlight, write

from boostrank.datasets import make_ranking
from boostrank.lab.cli.output import print_note, say
from boostrank.lab.models import load_model

WIDTHS = [60, 80, 120, 200]
LONG = "sdcg:k=10,alpha=2.5,beta=0.75,normalize=False"
COMMANDS = {
    "compare": [
        *("-o", LONG, "--hosts", "lightgbm", "--rounds", "3", "--folds", "1,2"),
        *("--metric", "map", "--resume"),
    ],
    "tune": [
        *("-o", "gbrank,lightgbm:lambdarank", "--trials", "2", "--rounds", "3", "--folds", "2"),
        *("--repeats", "1"),
    ],
    "bench": ["--docs", "120", "--repeats", "1"],
}
MAIN = "from boostrank.lab.cli import main; main()"
# Resizes its own terminal, and finally replaces it with a file: one process for each takes longer.
# The benchmark is small, because only its form counts here.
RESIZED = """
import fcntl, os, struct, sys, termios
from boostrank.lab import bench
from boostrank.lab.cli.app import app
from matplotlib.figure import Figure
bench.TOTAL_DOCS = 4_000
Figure.savefig = lambda *_, **__: None  # takes most of the time
file, widths, *args = sys.argv[1:]
for width in map(int, widths.split(",")):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    app(args, standalone_mode=False)
    print("END", flush=True)
os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), 1)
app(args, standalone_mode=False)
"""
# A number as all these tables print it, or a cell without one.
WHOLE = re.compile(
    r"([+-]?\d[\d,]*(\.\d+)?(e[+-]\d+)?%?( ± \d\.\d{4})?( to \d\.\d{4})?|baseline|defaults|"
    r"best, \d|lightgbm|xgboost|)"
)


def _shown(args, folder):
    """Run a command in terminals of all widths, and into a file; return what each gets.

    The terminals' output is returned without colours.
    """
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-c", RESIZED, str(folder / "piped"), ",".join(map(str, WIDTHS)), *args],
        stdin=theirs, stdout=theirs, stderr=theirs, env=env | {"TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # how a terminal ends on Linux
            pass
    os.close(ours)
    assert process.returncode == 0, shown
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).replace("\r\n", "\n")
    # Without the progress bar, which overwrites its own line.
    texts = [each.rpartition("\r")[2] for each in text.split("END\n")[:-1]]
    return dict(zip(WIDTHS, texts, strict=True)), (folder / "piped").read_text(encoding="utf-8")


def _table(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_terminal_cuts_a_number_or_breaks_a_word(command, tmp_path):
    # One test for all widths: several, on several workers, would each run the command.
    shown, piped = _shown([command, *COMMANDS[command], "--out", str(tmp_path)], tmp_path)
    _check_pipe(command, piped)
    for width in WIDTHS:
        _check_terminal(command, width, shown[width], piped)


def _check_pipe(command, piped):
    """A pipe gets everything, in lines of any length."""
    heading, *lines = _table(piped)
    assert "Not shown" not in piped
    for line in lines:
        assert all(map(WHOLE.fullmatch, line[1:]))
        assert sum(any(c.isdigit() for c in cell) for cell in line[1:]) >= 2
    if command != "compare":
        return
    assert heading == [
        *("learner", "MAP", "difference", "p (Holm)", "p", "relative"),
        *("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "s/round"),
    ]
    assert {line[0] for line in lines} == {
        *("lightgbm:lambdarank", "lightgbm:rank_xendcg", "regression@lightgbm"),
        f"{LONG}@lightgbm",
    }
    assert "rounds chosen by validation MAP." in piped
    assert "Difference and p: MAP against lightgbm:lambdarank, " in piped


def _check_terminal(command, width, text, piped):
    assert "…" not in text
    heading, *lines = _table(text)
    first, *others = _table(piped)
    names = first[: len(heading)]
    assert heading == names
    assert len(heading) >= min(4, len(first))
    for line in lines:
        assert len(line) == len(heading)
        assert all(map(WHOLE.fullmatch, line[1:]))
    # Names may take several lines. Joined again, they are whole, and so are the rows.
    whole = []
    for line in lines:
        if any(line[1:]):
            whole.append(line)
        else:
            whole[-1][0] += line[0]
    assert [line[0].replace(" ", "") for line in whole] == [
        line[0].replace(" ", "") for line in others
    ]
    if command != "bench":  # times differ
        assert [line[1:4] for line in whole] == [line[1:4] for line in others]
    hidden = first[len(heading) :]
    assert all(name in text for name in hidden)
    assert ("Not shown in" in text) == bool(hidden)
    if command == "bench" or width == 200:
        assert not hidden
    # Sentences are wrapped between words: joined again, they are those of the pipe.
    note = "Difference and p" if command == "compare" else "Versions:"
    if command != "bench":
        assert note in " ".join(text.split())
    # Only paths are wider than the terminal and, in a benchmark, what must not be left out.
    for line in text.splitlines():
        assert len(line) <= max(width, 75 * (command == "bench")) or " " not in line.strip()
    words = set(piped.replace("|", " ").split())
    for word in " ".join(line for line in text.splitlines() if "|" not in line).split():
        if command == "compare" and not hidden:
            assert word in words


def test_compiling_is_announced_once(tmp_path, monkeypatch):
    """Whatever is compiled; here it is what metrics need, which takes a moment."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "scores").write_text("2\n1\n", encoding="utf-8")
    (tmp_path / "data.txt").write_text("0 qid:1 1:2\n1 qid:1 1:3\n", encoding="utf-8")
    said = [
        subprocess.run(
            [
                *(sys.executable, "-c", f"import sys; sys.stderr.isatty = lambda: True; {MAIN}"),
                *("evaluate", tmp_path / "scores", tmp_path / "data.txt"),
            ],
            capture_output=True, text=True, check=True,
        ).stderr
        for _ in range(2)
    ]  # fmt: skip
    assert said == ["boostrank: compiling, which takes a few seconds\n", ""]


@pytest.mark.parametrize("stderr", [None, Mock(**{"write.side_effect": OSError})])
def test_no_message_goes_to_standard_output(stderr, monkeypatch, capsys):
    """As 2>&- made it; nor does a full disk that standard error goes to end a run."""
    monkeypatch.setattr(sys, "stderr", stderr)
    say("a message")
    assert capsys.readouterr().out == ""


def test_names_between_colons_are_no_pictures(capsys):
    print_note("Written: a:apple:b")
    assert capsys.readouterr().out == "Written: a:apple:b\n"


def test_a_message_stands_above_the_progress_bar():
    """It stood behind the bar, in the bar's line."""
    code = """
from boostrank.lab.cli.output import progress_bar, say
with progress_bar("rounds", 2):
    say("a message")
"""
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=theirs, env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    assert re.search(rb"(\r|\n|\x1b\[2K)boostrank: a message\r\n", os.read(ours, 1 << 16))
    os.close(ours)


def test_a_refit_says_which_round_was_best_and_how_many_trees_it_has(tmp_path):
    data, model = make_ranking(30, 8, 3, seed=1), tmp_path / "model.txt"
    parts = data.select(np.arange(20)), data.select(np.arange(20, 30))
    files = [write(tmp_path / str(i), svmlight(part)) for i, part in enumerate(parts)]
    words = "--rounds", 9, "-o", "ranknet", "--host", "lightgbm", "--refit", "--model", model
    said = run("train", files[0], "--valid", files[1], *words).stderr.splitlines()[-1]
    found = re.search(
        r"model.txt: best round (\d) of 9; retrained on all files with (\d+) tree", said
    )
    assert found, said
    best, trees = map(int, found.groups())
    assert trees == round(1.5 * best) == load_model(model).n_trees
