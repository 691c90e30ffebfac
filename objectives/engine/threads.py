"""Spreads queries, and passes over all documents, across threads.

Serial kernels that release the interpreter lock run on an ordinary thread pool. Numba's own
``prange`` is not used: its work-queue layer aborts the process when two Python threads enter it
at once, and its OpenMP layer is killed in a forked child. A query is always computed by a single
thread, and sums over documents are sums of fixed blocks, added in order, so results are
bit-identical for any number of threads.
"""

import itertools
import math
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numba
import numpy as np

from ..validation import Floats, Integers
from .jit import jit_helper

# A query's cost is quadratic in its length. In most kernels it is linear beyond this length.
_LINEAR_FROM = 500.0
# Below this many pairs, a few hundred microseconds of work, threads cost more than they save.
_COST_WORTH_A_THREAD = 100_000
# The same for a pass over all documents, which takes about a nanosecond per document.
_DOCUMENTS_WORTH_A_THREAD = 100_000
# Several chunks per thread even out the errors of these costs.
_CHUNKS_PER_THREAD = 4
# Python sees an interrupt only between two chunks: after a tenth of a second or less.
_COST_DEAF_TO_SIGNALS = 10_000_000

#: Documents per block of sums: their numbers stay in the fastest cache.
BLOCK = 4096

_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_watching_forks = False


def _forget_pools() -> None:
    """Drop what a forked child inherited: the pool's threads do not exist there."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


def _ask_for_help(threads: int, task: Callable[[], None]) -> list[Future[None]]:
    """Hand a task to this many other threads, which may start it late or never."""
    global _watching_forks
    with _lock:
        if not _watching_forks and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_pools)
            _watching_forks = True
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="boostrank")
        pool = _pools[threads]
    try:
        return [pool.submit(task) for _ in range(threads)]
    except RuntimeError:
        # The system has no more threads, or the main thread has ended before this one, and the
        # pools with it: the caller does the work.
        return []


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
    It uses ``numba.get_num_threads()`` threads: all cores unless ``NUMBA_NUM_THREADS`` or
    ``numba.set_num_threads`` says otherwise.

    After an error, or an interrupt of the calling thread, other threads may still write into the
    arrays until their chunk is finished: do not use these arrays again.
    """
    n_queries = len(boundaries) - 1
    costs = np.diff(boundaries).astype(float)
    costs *= np.minimum(costs, _LINEAR_FROM)
    np.cumsum(costs, out=costs)
    total = costs[-1] if n_queries else 0.0
    threads = numba.get_num_threads() if total >= 2 * _COST_WORTH_A_THREAD else 1
    n_chunks = math.ceil(total / _COST_DEAF_TO_SIGNALS)
    if threads > 1:
        n_chunks = max(n_chunks, threads * _CHUNKS_PER_THREAD)
    if n_chunks <= 1:
        driver(0, n_queries, boundaries, *args)
        return
    shares = np.linspace(0.0, total, n_chunks + 1)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(costs, shares), [n_queries])))
    _over_chunks(driver, cuts.tolist(), threads, boundaries, *args)


def over_documents(driver: Callable[..., None], n_docs: int, *args: Any, n_sums: int = 1) -> Floats:
    """Run ``driver(first, last, n_docs, *args, sums)`` over all blocks of `BLOCK` documents.

    Parameters
    ----------
    driver : compiled function
        Takes the blocks first..last-1 and writes into arrays among `args`. Writes the sums over
        the documents of a block into its row of `sums` (zeros).
    n_docs : int
    *args
        Passed through.
    n_sums : int, default 1
        Columns of `sums`.

    Returns
    -------
    float64 array (n_sums,)
        The sums over all documents, bit-identical for any number of threads.

    Notes
    -----
    Threads and errors are as in `over_queries`.
    """
    n_blocks = -(-n_docs // BLOCK)
    sums = np.zeros((n_blocks, n_sums))
    threads = numba.get_num_threads() if n_docs >= 2 * _DOCUMENTS_WORTH_A_THREAD else 1
    if threads == 1:
        driver(0, n_blocks, n_docs, *args, sums)
    else:
        n_chunks = min(n_blocks, threads * _CHUNKS_PER_THREAD)
        cuts = [n_blocks * chunk // n_chunks for chunk in range(n_chunks + 1)]
        _over_chunks(driver, cuts, threads, n_docs, *args, sums)
    total: Floats = sums.sum(axis=0)
    return total


@jit_helper
def block_of(block: int, n_docs: int) -> tuple[np.uint64, np.uint64]:
    """Return the first document of a block, and the one after its last."""
    return np.uint64(block * BLOCK), np.uint64(min(n_docs, (block + 1) * BLOCK))


def _over_chunks(driver: Callable[..., None], cuts: list[int], threads: int, *args: Any) -> None:
    """Run ``driver(first, last, *args)`` from each cut to the next."""
    chunks: deque[Callable[[], None]] = deque(
        partial(driver, first, last, *args) for first, last in itertools.pairwise(cuts)
    )

    def work() -> None:
        while True:
            try:
                chunk = chunks.popleft()
            except IndexError:
                return
            chunk()

    try:
        helpers = _ask_for_help(threads - 1, work) if threads > 1 else []
        work()  # the calling thread works too: it need not be woken
        for helper in helpers:
            if not helper.cancel():  # it has begun
                helper.result()
    finally:
        chunks.clear()
