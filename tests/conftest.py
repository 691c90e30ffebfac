"""Fixtures shared by all tests, and what is set before Numba and the hosts load."""

import gc
import os
import re
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Set before Numba loads. Machine code is named after the sources (engine/jit.py), but not after how
# far it was optimised.
_level = f"opt-{os.environ.get('NUMBA_OPT', 3)}"
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / "numba" / _level)

# Set before a host loads OpenMP: its threads in several test processes would wait for each other,
# and training would take up to ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Numba's first parallel kernel raises that number for the whole process. Threads that sleep, rather
# than spin, while they wait leave the cores to other processes.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numba  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from numba.core import event  # noqa: E402

settings.register_profile("fuzz", max_examples=5000, print_blob=True)
# Compiling makes millions of objects. Looking for garbage among them takes a tenth of the time.
gc.set_threshold(100_000, 50, 50)


class Untraced(event.Listener):
    """Switches tracing off while Numba compiles, which takes half as long again when traced."""

    def __init__(self) -> None:
        self.own = threading.local()

    def on_start(self, _: event.Event) -> None:
        self.own.traces = [*getattr(self.own, "traces", []), sys.gettrace()]
        sys.settrace(None)

    def on_end(self, _: event.Event) -> None:
        sys.settrace(self.own.traces.pop())


event.register("numba:compile", Untraced())


# Files whose lines `make coverage` counts in the interpreter. Compiled, they reach few lines, and
# tracing makes them take two thirds longer.
OF_KERNELS = {"test_blocks", "test_derivatives", "test_edge_cases", "test_fuzz", "test_oracle"}
OF_KERNELS |= {"test_pairwise", "test_preferences"}
# Other tests reach all that these do: what users would write, and files of random contents.
REACHED_ELSEWHERE = {"test_docs", "test_notebooks", "test_fuzz_files"}
TRACED = pytest.StashKey[bool]()


@pytest.hookimpl(trylast=True)  # when it is known which tests run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose the tests whose lines are counted.

    In the interpreter a test takes three times as long while it is traced. There each test is
    traced once for each objective, and once for each case that no earlier test had.
    """
    interpreted = "NUMBA_DISABLE_JIT" in os.environ
    known = set()
    for item in items:
        test, _, case = item.name.partition("[")
        objective = re.match(r"[a-z-]*", case)[0]  # what the case's name begins with
        new = {(item.path, test, objective), case} - known
        untraced = REACHED_ELSEWHERE if interpreted else REACHED_ELSEWHERE | OF_KERNELS
        item.stash[TRACED] = item.path.stem not in untraced and (not interpreted or bool(new))
        known |= new


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Switch tracing off for the other tests, pytest's own work included.

    pytest-cov's marker no_cover has no effect under pytest-xdist: the tracer that it pauses there
    had paused another one, which then continues.
    """
    trace = sys.gettrace()
    if not item.stash[TRACED]:
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--overwrite", action="store_true", help="rewrite the golden file")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data, which are not part of the project."""
    folder = Path(os.environ.get("BOOSTRANK_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: neither ../shared/data nor $BOOSTRANK_DATA is a folder")
    return folder


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no figures: drawing them takes most of the time of a small comparison."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20091102)


@pytest.fixture(params=["lightgbm", "xgboost"])
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def data() -> Any:
    """Return forty queries, where a file has none of its own."""
    from training import make_data  # loads both hosts

    return make_data()


@pytest.fixture(params=[1, 3], ids=["one-thread", "three-threads"])
def n_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    threads: int = request.param
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    return threads
