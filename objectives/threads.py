"""Spreads queries over threads.

Serial kernels that release the interpreter lock run on an ordinary thread pool. Numba's own
``prange`` is not used: its work-queue layer aborts the process when two Python threads enter it
at once, and its OpenMP layer is killed in a forked child. A query is always computed whole by one
thread, so results are bit-identical for any number of threads.
"""

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from .validation import Integers

# A query costs as its number of pairs, a long one, in most kernels, as its documents.
_LINEAR_FROM = 500.0
# Below this many pairs, a few hundred microseconds of work, threads cost more than they save.
_COST_WORTH_A_THREAD = 100_000
# Several chunks a thread even out what these costs misjudge.
_CHUNKS_PER_THREAD = 4

_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_watching_forks = False


def _forget_pools() -> None:
    """Drop what a forked child inherited: the pool's threads do not exist there."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


def _pool(threads: int) -> ThreadPoolExecutor:
    global _watching_forks
    with _lock:
        if not _watching_forks and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_pools)
            _watching_forks = True
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="boostrank")
        return _pools[threads]


def over_queries(driver: Callable[..., None], boundaries: Integers, *args: Any) -> None:
    """Run ``driver(first, last, boundaries, *args)`` over all queries.

    Parameters
    ----------
    driver : compiled function
        Computes the queries first..last-1 and writes into arrays among `args`.
    boundaries : int64 array (n_queries + 1,)
        Query q holds the documents boundaries[q]..boundaries[q + 1] - 1.
    *args
        Passed through.

    Notes
    -----
    As many threads as ``numba.get_num_threads()`` says: all cores unless ``NUMBA_NUM_THREADS`` or
    ``numba.set_num_threads`` says otherwise.
    """
    n_queries = len(boundaries) - 1
    sizes = np.diff(boundaries).astype(np.float64)
    costs = np.cumsum(sizes * np.minimum(sizes, _LINEAR_FROM))
    total = costs[-1] if n_queries else 0.0
    threads = numba.get_num_threads() if total >= 2 * _COST_WORTH_A_THREAD else 1
    if threads == 1:
        driver(0, n_queries, boundaries, *args)
        return
    shares = np.linspace(0.0, total, threads * _CHUNKS_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(costs, shares), [n_queries])))
    chunks = iter(list(itertools.pairwise(cuts.tolist())))

    def take_chunks() -> None:
        for first, last in chunks:  # one iterator: every chunk is taken once, by whoever is free
            driver(first, last, boundaries, *args)

    # The calling thread works too: it need not be woken.
    others = [_pool(threads - 1).submit(take_chunks) for _ in range(threads - 1)]
    try:
        take_chunks()
    finally:
        for other in others:
            other.result()
