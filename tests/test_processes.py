"""Processes, threads and signals; whatever could hang has a time limit."""

import errno
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pytest
from boostrank.objectives.engine import jit
from boostrank.objectives.engine.threads import over_queries
from commands import refused, write
from numba.core.serialize import dumps
from test_hosts import Own

import boostrank

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 120
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of POSIX")

# The data are large enough to be split over threads: three of them, on any machine.
PRELUDE = """
import hashlib, os, signal, sys, threading
import numba, numpy as np
import boostrank

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background shell ignores
rng = np.random.default_rng(0)
group = np.full(60, 100)
labels = rng.integers(0, 4, group.sum()).astype(float)
scores = rng.normal(size=len(labels))

def gradient(objective=boostrank.ListNet()):  # the soonest compiled
    return np.stack(objective.grad_hess(scores, labels, group))

def digest(_=None):
    return hashlib.sha256(gradient().tobytes()).hexdigest()
"""
# What `digest` should print, from one thread that never worked with another.
ALONE = "numba.set_num_threads(1); print(digest())"


def start(tmp_path, program, **changes):
    path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
    path.write_text(PRELUDE + textwrap.dedent(program), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-W", "ignore:This process", path],  # Python warns of forks by threads
        cwd=tmp_path,
        env={**os.environ, "NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "1", **changes},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process):
    """Return what the process printed, line by line; it must end in time, without an error."""
    try:
        out, err = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children too
        pytest.fail(f"hangs: {process.communicate()}")
    assert err == ""
    assert process.returncode == 0
    return out.splitlines()


def run(tmp_path, program, **changes):
    return finish(start(tmp_path, program, **changes))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    (line,) = run(tmp_path_factory.mktemp("alone"), ALONE)
    return line


# ---- processes -----------------------------------------------------------------------------------


POOLS = [f"ProcessPoolExecutor(2, get_context('{method}'))" for method in ("fork", "spawn")]


@pytest.mark.parametrize("pool", [*POOLS, "loky.ProcessPoolExecutor(2)"])
def test_multiprocessing_after_use(pool, alone, tmp_path):
    got = run(
        tmp_path,
        f"""
        from concurrent.futures import ProcessPoolExecutor
        from joblib.externals import loky  # of joblib's workers
        from multiprocessing import get_context
        if __name__ == "__main__":
            print(digest())
            with {pool} as pool:  # where a worker is killed, Numba's locks are reported as leaks
                print(*pool.map(digest, range(4)), sep="\\n")
            print(digest())
        """,
    )
    assert got == [alone] * 6


@pytest.mark.parametrize("threads", [2, 3])
def test_a_forked_child_has_threads_of_its_own(threads, tmp_path):
    program = f"""
        from boostrank.objectives.engine.threads import over_queries

        watched, watch = [], os.register_at_fork
        os.register_at_fork = lambda **calls: watched.append(watch(**calls))

        def meet():
            barrier, met = threading.Barrier({threads}, timeout=30), threading.local()

            def driver(first, last, boundaries):
                if not hasattr(met, "others"):
                    met.others = barrier.wait()

            over_queries(driver, np.arange(61) * 400)

        meet()
        child = os.fork()
        meet()
        if child == 0:
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(len(watched))
        """
    assert run(tmp_path, program, NUMBA_NUM_THREADS=str(threads)) == ["0", "1"]


def test_a_server_forks_while_its_threads_compute(alone, tmp_path):
    """Each worker answers in two threads, as web servers do, and forks a worker of its own."""
    got = run(
        tmp_path,
        """
        def serve():
            answers = [None, None]
            def answer(i):
                answers[i] = digest()
            threads = [threading.Thread(target=answer, args=(i,)) for i in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            sys.stdout.write("".join(f"{line}\\n" for line in answers))
            sys.stdout.flush()

        def fork(work):
            child = os.fork()
            if child == 0:
                work()
                os._exit(0)
            return child

        def worker():
            serve()
            assert os.waitstatus_to_exitcode(os.waitpid(fork(serve), 0)[1]) == 0

        digest()
        done = threading.Event()
        def busy():
            while not done.is_set():
                gradient()
        background = threading.Thread(target=busy)
        background.start()
        children = [fork(worker) for _ in range(5)]
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        done.set()
        background.join()
        serve()
        """,
        PYTHONWARNINGS="ignore::DeprecationWarning",  # from Python 3.12 on: threads and fork
    )
    assert got == [alone] * 22


def test_a_read_only_installation_without_a_home(alone, tmp_path):
    site = tmp_path / "site"
    ignore = shutil.ignore_patterns("__pycache__", "objectives")  # tests/mutate.py has it in both
    shutil.copytree(ROOT / "boostrank", site / "boostrank", ignore=ignore)
    shutil.copytree(ROOT / "objectives", site / "boostrank" / "objectives", ignore=ignore)
    for folder in {path.parent for path in site.rglob("*.py")}:
        (folder / "__pycache__").touch()  # no folder can be made here: not by root either
    got = run(
        tmp_path,
        f"""
        assert boostrank.__file__.startswith("{site}")
        print(digest())
        try:
            boostrank.compile("listnet")
        except OSError as error:
            print("NUMBA_CACHE_DIR" in str(error))
        """,
        PYTHONPATH=str(site),
        PYTHONDONTWRITEBYTECODE="1",
        NUMBA_CACHE_DIR="",
        HOME=os.devnull,
        XDG_CACHE_HOME=os.devnull,
    )
    assert got == [alone, "True"]
    assert not list(tmp_path.rglob("*.nbc"))  # machine code on disk


@pytest.fixture
def cached(monkeypatch, tmp_path):
    """Return a function that compiles a kernel with a cache of its own, and says from where."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_twice, "__module__", jit.__name__)  # code of others is not kept

    def compiled():
        kernel = jit.jit_entry(_twice)
        assert kernel(2.0) == 4.0
        return "disk" if kernel.stats.cache_hits else "compiler"

    return compiled


def _twice(number):
    return 2.0 * number


OTHER = dumps((("another", "key"), None))
DAMAGES = {
    "empty": lambda content: b"",
    "another digest": lambda content: bytes(32) + content[32:],
    "another function": lambda content: hashlib.sha256(OTHER).digest() + OTHER,
    "gone": None,
}


@pytest.mark.compiled
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_machine_code_is_compiled_again_once(damage, cached, tmp_path):
    assert cached() == "compiler"
    assert cached() == "disk"
    (path,) = tmp_path.rglob("*.nbc")
    if damage is None:
        shutil.rmtree(path.parent)
    else:
        path.write_bytes(damage(path.read_bytes()))
    assert cached() == "compiler"
    assert cached() == "disk"
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


@pytest.mark.compiled
@pytest.mark.parametrize("call", ["write_bytes", "replace", "read_bytes"])
def test_a_disk_that_fails_stops_no_compilation(call, cached, monkeypatch, tmp_path):
    def fail(path, *_):
        raise OSError(errno.EIO, "input/output error", str(path))

    if call == "read_bytes":
        assert cached() == "compiler"
    monkeypatch.setattr(f"pathlib.Path.{call}", fail)
    assert cached() == "compiler"
    monkeypatch.undo()
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.compiled
def test_machine_code_is_found_in_a_folder_that_is_read_only(cached, monkeypatch):
    """As in an image that is built by root and run by another user."""
    assert cached() == "compiler"

    def fail(**_):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    assert cached() == "disk"
    with pytest.raises(OSError, match="NUMBA_CACHE_DIR"):  # no code can be added
        boostrank.compile("listnet")


def test_processes_compile_into_one_cache_at_once(alone, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    show = """
        from numba.core import event

        with event.install_recorder("numba:compile") as compiled:
            print(digest())
        print(len(compiled.buffer) > 0)
        """
    both = [start(tmp_path, show, **cache) for _ in range(2)]
    for process in both:
        assert finish(process)[0] == alone  # one that starts late may find all compiled
    assert run(tmp_path, show, **cache) == [alone, "False"]


@pytest.mark.parametrize(("ahead", "long"), [(False, False), (True, False), (True, True)])
def test_running_a_program_again_compiles_nothing(ahead, long, tmp_path):
    program = """
        import lightgbm, xgboost
        from numba.core import event

        X = rng.normal(size=(len(labels), 2))
        with event.install_recorder("numba:compile") as compiled:
            for objective in (boostrank.LambdaRank(), boostrank.SHFSDCG(k=10), boostrank.RankNet()):
                objective.loss(scores, labels, group)
                if LONG:
                    objective.grad_hess(scores, labels, [len(labels)])
                data = lightgbm.Dataset(X, labels, group=group)
                params = {"objective": objective, "metric": "None", "verbosity": -1}
                lightgbm.train(params, data, 2)
                data = xgboost.DMatrix(X, labels, group=group)
                xgboost.train({"objective": "rank:pairwise"}, data, 2, obj=objective)
            boostrank.evaluate(scores, labels, group, ("ndcg@10", "map"))
        print(sorted({str(found.data["dispatcher"]) for _, found in compiled.buffer}))
        print("numba.np.arraymath" in sys.modules)  # which only compiling needs
        """
    program = program.replace("LONG", str(long))
    around = "boostrank.Unbiased(boostrank.RankNet())"
    compiling = f"boostrank.compile([boostrank.LambdaRank(), boostrank.SHFSDCG(k=10), {around}])"
    run(tmp_path, compiling if ahead else program)
    # If the second fails with a new version of Numba: try it, and raise `cache._RUNTIME_ALONE`.
    assert run(tmp_path, program) == ["[]", "False"]


@pytest.mark.compiled
def test_pairs_and_sums_are_compiled_ahead(tmp_path):
    program = """
        from boostrank.objectives import mix, preferences
        pairs = boostrank.Preferences("lambdarank", [(7, 5)])
        boostrank.compile(boostrank.Mix(pairs, boostrank.QueryRMSE(), 0.5), max_docs=20)
        print(len(mix._add_parts.signatures), len(preferences._write_swaps.signatures))
        """
    assert run(tmp_path, program) == ["1 1"]


def test_an_edit_in_any_file_compiles_kernels_anew(tmp_path):
    """Numba checks only a kernel's own file, so its name on disk holds a digest of all files."""
    copy, other = tmp_path / "engine" / "jit.py", tmp_path / "loss.py"
    copy.parent.mkdir()
    shutil.copy(jit.__file__, copy)

    def digest(code):
        other.write_text(code, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"{jit.__package__}.copy", copy)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.SOURCES

    once = digest('"""A loss."""\nMARGIN = 1.0\n')
    assert digest('"""A better docstring."""\nMARGIN = 1.0\n') == once
    assert digest('"""A loss."""\nMARGIN = 2.0\n') != once


# ---- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["thread", "atexit"])
def test_work_goes_on_while_the_interpreter_shuts_down(when, alone, tmp_path):
    """Python ends its thread pools with the main thread, before it waits for other threads."""
    program = {
        "thread": """
            def late():
                threading.main_thread().join()
                print(digest())
            threading.Thread(target=late).start()
            """,
        "atexit": """
            import atexit
            atexit.register(lambda: print(digest()))
            """,
    }[when]
    assert run(tmp_path, textwrap.dedent(program) + "print(digest())") == [alone] * 2


# ---- one call, spread over threads ---------------------------------------------------------------

QUERIES = 60
BOUNDARIES = np.arange(QUERIES + 1) * 4000  # enough for several chunks, on one thread too


def test_every_query_is_computed_once(n_threads):
    seen = np.zeros(QUERIES)
    barrier = threading.Barrier(n_threads, timeout=TIME_LIMIT)
    met = threading.local()

    def driver(first, last, boundaries, out):
        assert boundaries is BOUNDARIES
        if not hasattr(met, "others"):
            met.others = barrier.wait()  # all threads work, at the same time
        out[first:last] += 1

    over_queries(driver, BOUNDARIES, seen)
    assert (seen == 1).all()


@pytest.mark.parametrize(
    ("threads", "queries", "documents", "fewest", "most"),
    [(3, 60, 10, 1, 1), (3, 60, 400, 3, 30), (1, 60, 400, 1, 1), (1, 100, 400, 2, 10)],
    ids=["little-work", "three-threads", "one-thread", "deaf-to-signals-for-too-long"],
)
def test_work_is_cut_into_even_chunks_where_that_pays(
    threads, queries, documents, fewest, most, monkeypatch
):
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    seen, boundaries = [], np.arange(queries + 1) * documents
    over_queries(lambda first, last, _: seen.append(last - first), boundaries)
    assert fewest <= len(seen) <= most
    assert sum(seen) == queries
    assert max(seen) <= queries / len(seen) + 1


def test_an_error_in_any_thread_is_raised(n_threads):
    """In the calling thread, in another one, in the first or the last chunk."""
    for wrong in (0, 30, QUERIES - 1):
        for caller in {True, n_threads == 1}:
            here = threading.get_ident()
            gate = threading.Event()

            def driver(first, last, boundaries, wrong=wrong, caller=caller, here=here, gate=gate):
                if (threading.get_ident() == here) == caller:
                    gate.set()
                    raise MemoryError(f"chunk {first}")
                gate.wait(TIME_LIMIT)

            with pytest.raises(MemoryError, match="chunk"):
                over_queries(driver, BOUNDARIES)


def test_an_interrupt_stops_all_threads(n_threads):
    """No chunk begins after it, and the next call is complete."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    begun = []
    interrupted = threading.Event()

    def driver(first, last, boundaries):
        begun.append(first)
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        interrupted.wait(TIME_LIMIT)

    try:
        with pytest.raises(KeyboardInterrupt):
            over_queries(driver, BOUNDARIES)
    finally:
        interrupted.set()
        signal.signal(signal.SIGINT, kept)
    assert len(begun) <= n_threads
    test_every_query_is_computed_once(n_threads)


def computed():
    """Return how often a call computes each query."""
    seen = np.zeros(QUERIES)

    def driver(first, last, boundaries):
        seen[first:last] += 1

    over_queries(driver, BOUNDARIES)
    return seen


def test_no_call_waits_for_the_queries_of_another(n_threads):
    """A second call ends while the other threads are held up by the first."""
    hold, held = threading.Event(), threading.Semaphore(0)

    def slow(first, last, boundaries):
        held.release()
        assert hold.wait(TIME_LIMIT)

    first_call = threading.Thread(target=over_queries, args=(slow, BOUNDARIES))
    first_call.start()
    for _ in range(n_threads):
        assert held.acquire(timeout=TIME_LIMIT)
    seen = computed()
    hold.set()
    first_call.join(TIME_LIMIT)
    assert (seen == 1).all()


def test_the_calling_thread_works_alone_where_no_other_can_start(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 5)  # for which there is no pool yet

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert (computed() == 1).all()


# ---- Ctrl-C --------------------------------------------------------------------------------------


def test_ctrl_c_during_a_long_gradient(alone, tmp_path):
    """It arrives during a gradient that takes seconds, repeatedly, in LightGBM too."""
    got = run(
        tmp_path,
        """
        import lightgbm
        before = digest()
        long_group = np.full(80, 1500)
        long_labels = rng.integers(0, 4, long_group.sum()).astype(float)
        long_scores = rng.normal(size=len(long_labels))
        objective = boostrank.LambdaRank(target="map")  # visits all pairs
        objective.grad_hess([0.0, 1.0], [1, 0], [2])
        data = lightgbm.Dataset(long_scores[:, None], long_labels, group=long_group)
        params = {"objective": "none", "verbosity": -1, "metric": "None", "num_threads": 1}
        booster = lightgbm.Booster(params, data)
        calls = [
            lambda: objective.grad_hess(long_scores, long_labels, long_group),
            lambda: booster.update(fobj=objective),
        ]
        for call in calls * 2:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                call()
                print("not interrupted")
            except KeyboardInterrupt:
                pass
            timer.join()
            print(digest())
        assert booster.num_trees() == 0
        booster.update(fobj=objective)
        assert booster.num_trees() == 1
        print(before)
        """,
    )
    assert got == [alone] * 5


@dataclass(frozen=True, kw_only=True)
class Driven(Own):
    """An objective whose gradients are whatever a driver writes."""

    driver: object

    def _grad_hess(self, scores, labels, boundaries, grad, hess):
        over_queries(self.driver, boundaries, grad)


def test_a_pipe_that_would_be_read_twice_is_refused(tmp_path):
    """The second reading began in the middle of a line."""
    scores = write(tmp_path / "scores", "1 Q0 a 1 2.0 x\n")
    for pipe in (tmp_path / "pipe", tmp_path / "pipe.csv"):
        os.mkfifo(pipe)
        assert f"{pipe} is a pipe, which can be read only once" in refused("evaluate", scores, pipe)


def test_what_was_interrupted_does_not_reach_the_next_gradient(monkeypatch):
    """Another thread is still writing into the first call's arrays while the second one runs."""
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    group = np.diff(BOUNDARIES)
    scores = np.zeros(group.sum())
    labels = np.resize([0.0, 1.0], len(scores))
    go_on, written, begun = threading.Event(), threading.Event(), threading.Event()

    def interrupted(first, last, boundaries, grad):
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(TIME_LIMIT)
            raise KeyboardInterrupt
        begun.set()
        assert go_on.wait(TIME_LIMIT)
        grad[:] = 1e6
        written.set()

    def whole(first, last, boundaries, grad):
        grad[boundaries[first] : boundaries[last]] = 1.0
        if last == QUERIES:
            go_on.set()
            assert written.wait(TIME_LIMIT)

    with pytest.raises(KeyboardInterrupt):
        Driven(driver=interrupted)(labels, scores, None, group)
    grad, hess = Driven(driver=whole)(labels, scores, None, group)
    assert (grad == 1.0).all()
    assert (hess == 1.0).all()
