"""Files of the command line are written whole, or not at all, with a sentence that says why."""

import errno
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from commands import refused, run, svmlight, write

from boostrank.datasets import make_ranking
from boostrank.lab import bench
from boostrank.lab.files import append, check_writable, only_user, write_file
from boostrank.lab.records import ResultStore

SMALL = ["--rounds", "2", "-o", "query-rmse"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.txt"
    return write(path, svmlight(make_ranking(25, 5, n_features=2, seed=0)))


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("model.txt")
    run("train", data, *SMALL, "--model", path)
    return path


class Disk:
    """A folder on a small disk that can be filled up, or on one where that can only be imitated."""

    def __init__(self, folder, monkeypatch):
        self.folder, self._monkeypatch = folder, monkeypatch
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
        try:
            self.mounted = subprocess.run(command, capture_output=True).returncode == 0
        except FileNotFoundError:
            self.mounted = False

    def fill(self):
        if not self.mounted:
            self._monkeypatch.setattr(os, "fsync", self._refuse)
            return
        with (self.folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    @staticmethod
    def _refuse(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def disk(tmp_path, monkeypatch):
    small = Disk(tmp_path / "small", monkeypatch)
    yield small
    if small.mounted:
        subprocess.run(["umount", str(small.folder)], check=True)


def _contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "filler"}


COMMANDS = {
    "lightgbm": ("model.txt", ["train", "DATA", *SMALL, "--host", "lightgbm", "--model", "FILE"]),
    "xgboost": ("model.json", ["train", "DATA", *SMALL, "--host", "xgboost", "--model", "FILE"]),
    "predict": ("scores.txt", ["predict", "MODEL", "DATA", "--out", "FILE"]),
    "export": ("m.json", ["export", "MODEL", "--to", "opensearch", "--out", "FILE"]),
    "bench": ("bench.csv", ["bench", "--docs", "5", "--repeats", "1", "--out", "FOLDER"]),
    "compare": ("summary.csv", ["compare", "DATA", *SMALL, "--out", "FOLDER"]),
    "tune": (
        "studies.log",
        ["tune", "DATA", *SMALL, "--trials", "1", "--repeats", "1", "--out", "FOLDER"],
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command, disk, data, model, monkeypatch):
    monkeypatch.setattr(bench, "TOTAL_DOCS", 400)
    if command == "tune" and not disk.mounted:
        pytest.skip("Optuna writes its own file")
    (name, args), full = COMMANDS[command], disk.folder
    places = {"DATA": data, "MODEL": model, "FILE": full / name, "FOLDER": full}
    for file in (name, "results.jsonl", "queries.csv", "report.html"):
        (full / file).write_text("" if command == "tune" else "old\n", encoding="utf-8")
    before = _contents(full)
    disk.fill()
    said = refused(*(places.get(arg, arg) for arg in args))
    if command == "tune":
        assert str(full) in said
    else:
        assert said.startswith(f"boostrank: {full / name}: ")
    assert said.endswith("no space left on device")
    assert _contents(full) == before


@pytest.mark.parametrize("reason", ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO"])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_the_disk_fails_at_the_end(call, reason, tmp_path, monkeypatch):
    """File systems over a network say only when a file is closed or synchronised that it is not."""

    def fail(*_):
        raise OSError(getattr(errno, reason), os.strerror(getattr(errno, reason)))

    path = tmp_path / "model.txt"
    path.write_bytes(b"old")
    monkeypatch.setattr("os.fsync" if call == "fsync" else "pathlib.Path.replace", fail)
    with pytest.raises(OSError, match=r"model\.txt") as caught:
        write_file(path, b"new")
    assert caught.value.errno == getattr(errno, reason)
    assert _contents(tmp_path) == {"model.txt": b"old"}


def test_a_disk_that_fills_up_ends_a_comparison(data, tmp_path, monkeypatch):
    """It counted as a failure of the learner, and so the next one was trained for nothing."""

    def full(store, learner, _):
        if learner.label != "lightgbm:lambdarank":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(store.path))

    monkeypatch.setattr(ResultStore, "add", full)
    said = refused("compare", data, *SMALL, "--hosts", "lightgbm", "--out", tmp_path)
    assert said == f"boostrank: {tmp_path / 'results.jsonl'}: no space left on device"


def test_what_cannot_be_appended_leaves_the_file(disk):
    if not disk.mounted:
        pytest.skip("no disk can be mounted here")
    path = disk.folder / "results.jsonl"
    path.write_bytes(b"old\n")
    disk.fill()
    with pytest.raises(OSError, match=r"results\.jsonl"):
        append(path, b"x" * 10_000)
    assert path.read_bytes() == b"old\n"


@pytest.mark.parametrize("command", ["train", "predict"])
@pytest.mark.parametrize("kind", ["a folder", "no folder", "a long name"])
def test_where_nothing_can_be_written_is_said_first(kind, command, data, model, tmp_path):
    path = {
        "a folder": tmp_path,
        "no folder": tmp_path / "absent" / "file",
        "a long name": tmp_path / ("x" * 300),
    }[kind]
    absent = data.with_name("nothing is read before")
    args = {
        "train": ["train", absent, *SMALL, "--model", path],
        "predict": ["predict", model, absent, "--out", path],
    }[command]
    said = refused(*args)
    assert str(path.parent if kind == "no folder" else path) in said
    assert absent.name not in said


@pytest.mark.parametrize("command", ["train", "predict", "export"])
def test_what_is_read_is_not_replaced(command, data, model, tmp_path):
    """By any of its names: here a link."""
    own, trained, link = tmp_path / "own.txt", tmp_path / "trained.txt", tmp_path / "link"
    own.write_bytes(data.read_bytes())
    trained.write_bytes(model.read_bytes())
    link.symlink_to(trained if command == "export" else own)
    before = own.read_bytes(), trained.read_bytes()
    args = {
        "train": ["train", own, *SMALL, "--model", link],
        "predict": ["predict", trained, own, "--out", link],
        "export": ["export", trained, "--to", "ranklib", "--out", link],
    }[command]
    assert f"{link} is read, and would be replaced by what is written" in refused(*args)
    assert (own.read_bytes(), trained.read_bytes()) == before
    assert "standard output is /dev/stdout" in refused(*args[:-1], "-")


def test_a_file_keeps_its_permissions_and_a_link_its_target(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    write_file(real, b"old")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~mask
    real.chmod(0o640)
    link.symlink_to(real)
    write_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    link.unlink()
    link.symlink_to(tmp_path / "later.txt")  # a link whose target is still to be made
    check_writable(link)
    write_file(link, b"first")
    assert (tmp_path / "later.txt").read_bytes() == b"first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["later.txt", "link.txt", "real.txt"]
    circle = tmp_path / "circle.txt"
    circle.symlink_to(circle)
    write_file(circle, b"replaces it")
    assert circle.read_bytes() == b"replaces it"


@pytest.mark.parametrize("out", ["/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_scores_go_to_standard_output(into, out, data, model, tmp_path):
    if not Path(out).exists():
        pytest.skip(f"no {out}")
    scores, printed = tmp_path / "scores.txt", tmp_path / "printed.txt"
    said = run("predict", model, data, "--out", scores).stderr
    assert said == f"boostrank: {scores}: 125 scores\n"
    command = [sys.executable, "-c", f"from pathlib import Path; {WRITE}", out, scores]
    with printed.open("wb", buffering=0) as file:  # as in (echo first; boostrank ...) > file
        file.write(b"first\n")
        done = subprocess.run(
            command, stdout=subprocess.PIPE if into == "pipe" else file, check=True
        )
        file.write(done.stdout or b"")
    assert printed.read_bytes() == b"first\n" + scores.read_bytes()


WRITE = """import sys
from boostrank.lab.files import check_writable, write_file
check_writable(Path(sys.argv[1]))
write_file(Path(sys.argv[1]), Path(sys.argv[2]).read_bytes())"""


def test_a_second_run_in_one_folder_is_refused(data, tmp_path):
    folder = tmp_path / "out"
    with only_user(folder):
        for command in ("compare", "tune"):
            said = refused(command, data, *SMALL, "--out", folder)
            assert f"{folder}: another run is writing into this folder" in said
    assert not list(folder.iterdir())
    with only_user(folder):
        pass


POSIX = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("locale", [POSIX, {"PYTHONIOENCODING": "ascii"}])
@pytest.mark.parametrize("name", ["modèle.txt", "模型.json"])
def test_names_that_the_locale_cannot_spell(name, locale, data, tmp_path):
    """Python hands over such names as bytes that it could not decode."""
    host = "lightgbm" if name.endswith("txt") else "xgboost"
    path, out = tmp_path / name, tmp_path / f"scores of {name}"
    program = """import sys
from boostrank.lab.cli import main
data, path, out, *words = sys.argv[1:]
for command in (
    ["train", data, "--model", path, *words],
    ["predict", path, data, "--out", out],
    ["tune", data, "--out", out + ".d", "--trials", "1", "--repeats", "1", *words[:-2]],
):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as ended:
        assert not ended.code"""
    words = [sys.executable, "-c", program, data, path, out, *SMALL, "--host", host]
    encoded = [os.fsencode(str(word)) for word in words]
    done = subprocess.run(encoded, env={**os.environ, **locale}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert out.exists()
