"""Fixtures shared by all tests; the kernel cache is keyed by the sources before Numba loads."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Numba hashes only the file that defines a kernel: a helper edited in another file would leave its
# callers' cached machine code stale.
_sources = hashlib.sha256()
for _source in sorted((*ROOT.glob("objectives/*.py"), *ROOT.glob("boostrank/*.py"))):
    _sources.update(_source.read_bytes())
# Nor does it tell kernels that check their indices from others.
_sources.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / "numba" / _sources.hexdigest()[:16])

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("fuzz", max_examples=5000, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that changes golden files."""
    parser.addoption("--overwrite", action="store_true", help="write golden files anew")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data, which is not part of the project."""
    folder = Path(os.environ.get("BOOSTRANK_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: neither ../shared/data nor $BOOSTRANK_DATA is a folder")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded source of random numbers."""
    return np.random.default_rng(20091102)
