"""Fixtures shared by all tests; the kernel cache is keyed by the kernels before Numba loads."""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _code(source: str) -> str:
    """Return what a file computes: its syntax tree without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match getattr(node, "body", None):
            case [ast.Expr(ast.Constant(str())) as docstring, *_]:
                docstring.value = ast.Constant("")
    return ast.dump(tree)


# Numba hashes only the file that defines a kernel: a helper edited in another file would leave its
# callers' cached machine code stale. Kernels are in the engine and in files that import from it.
_kernels = hashlib.sha256()
for _path in sorted((*ROOT.glob("objectives/**/*.py"), *ROOT.glob("boostrank/**/*.py"))):
    _source = _path.read_text()
    if _path.parent.name == "engine" or re.search(r"^\s*from \S*engine\b", _source, re.MULTILINE):
        _kernels.update(_code(_source).encode())
# Nor does Numba tell kernels that check their indices from others.
_kernels.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / "numba" / _kernels.hexdigest()[:16])

# Before a host loads OpenMP, whose threads in several test processes would wait for each other:
# trainings take up to ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("fuzz", max_examples=5000, print_blob=True)


# Files of which `make coverage` counts the lines in the interpreter. Compiled they reach few lines,
# and tracing takes two thirds of their time once more.
UNTRACED = {"test_blocks", "test_derivatives", "test_edge_cases", "test_fuzz", "test_oracle"}
UNTRACED |= {"test_pairwise", "test_preferences"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Switch tracing off for the files above where kernels are compiled.

    The marker no_cover of pytest-cov does nothing in the processes of pytest-xdist: what it pauses
    there has paused another tracer, which goes on instead.
    """
    trace = sys.gettrace()
    if item.path.stem in UNTRACED and "NUMBA_DISABLE_JIT" not in os.environ:
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that changes golden files."""
    parser.addoption("--overwrite", action="store_true", help="rewrite the golden file")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data, which are not part of the project."""
    folder = Path(os.environ.get("BOOSTRANK_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: neither ../shared/data nor $BOOSTRANK_DATA is a folder")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded source of random numbers."""
    return np.random.default_rng(20091102)
