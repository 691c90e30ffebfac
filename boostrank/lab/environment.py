"""What a run depends on besides its data: threads, versions, the machine."""

import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np

from boostrank.messages import import_host


@contextmanager
def kernel_threads(threads: int) -> Iterator[None]:
    """Let our kernels use this many threads inside the block."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def versions(hosts: Iterable[str]) -> dict[str, str]:
    """Return the versions of boostrank, of the named hosts and of what they all depend on."""
    # Not from package metadata: the module xgboost comes from xgboost or from xgboost-cpu.
    return {
        "boostrank": version("boostrank"),
        **{host: str(import_host(host).__version__) for host in hosts},
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def machine() -> str:
    """Return this machine's processor and cores, as far as the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(names)} cores"
