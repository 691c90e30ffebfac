"""Plants faults in objectives/, one at a time, and counts those that the tests catch.

    python tests/mutate.py [--sample N] [--seed N] [FILE...]

Faults are made from the syntax tree: + for -, * for /, swapped operands of -, < for <= and for >=,
a constant one off, sums in float32, a statement or a sign left out, `and` for `or`. Each is tried
on a copy of the project. The tests are those of the base class, derivatives, oracle and edge cases
that use the file, and the further test files in `TESTS`. They run first without compiling
(seconds) and, if the fault survives, compiled. Survivors are printed. Faults that change nothing
are listed in `EQUIVALENT` and `ALIKE` with the reason, and count as neither caught nor missed. An
entry there that matches no fault of the present sources is an error.
"""

import argparse
import ast
import math
import os
import random
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OBJECTIVES = ROOT / "objectives"
# By name, with the folder where objectives/ and the engine have files of the same name.
FILES: dict[str, Path] = {}
for _path in sorted(OBJECTIVES.rglob("*.py"), key=lambda path: (len(path.parts), path)):
    if _path.stem != "__init__":
        FILES[f"engine/{_path.stem}" if _path.stem in FILES else _path.stem] = _path
FIRST = ("objective", "derivatives", "oracle", "edge_cases")
# Test files that take minutes without compiling, that test processes and threads, or in which only
# some tests can run without the rest of the project.
COMPILED = ("choice", "hosts", "package", "processes", "smoothrank", "unbiased")
# A fault that takes this many times as long as the sound file is an endless loop or a deadlock.
PATIENCE_AT_WORK, PATIENCE = 2, 10
MEMORY = 6 << 30
SIGMOIDS = "sdcg lambdarank ranknet"
HINGES = "gbrank ranksvm rankboost"
# File -> objectives that use it, or other words in tests' names. Without an entry, its own name.
WORDS = {
    "base": "reg-shf-sdcg slam beyond_float64 users_own",
    "bisection": HINGES,
    "blend": "blend choice",
    "cache": "disk gbrank machine_code read_only running",
    "columns": SIGMOIDS,
    "composite": "mix unbiased preferences several",
    "contract": "lambdarank mix million contract costs",
    "corrections": "unbiased",
    "curvature": "frank sdcg soft-ndcg",
    "divided": "lambdarank divided",
    "driver": "listnet yetirank ranknet",
    "engine/pairs": SIGMOIDS,
    "far_field": SIGMOIDS,
    "draws": "yetirank pl-rank",
    "engine/gains": "sdcg lambdarank slam",
    "swaps": "lambdarank yetirank",
    "gains": "sdcg lambdarank",
    "hinge": HINGES,
    "jit": "gbrank ranknet anew helper compiles collected one_call nobody",
    "logistic": "lambdarank ranknet",
    "listnet": "listnet xe-ndcg",
    "mix": "mix reg-shf-sdcg",
    "pairs": "preferences",
    "parts": f"{SIGMOIDS} frank spearman",
    "pointers": "ranknet helper disk",
    "positions": "unbiased",
    "order": "sdcg lambdarank slam order",
    "parameters": "gbrank",
    "registry": "gbrank",
    "regression": "reg",
    "schedules": "reg-shf-sdcg",
    "sessions": "unbiased",
    "sigmoid": f"{SIGMOIDS} frank spearman",
    "smooth_ranks": "sdcg",
    "soft_indicators": "smooth",
    "targets": "lambdarank yetirank",
    "threads": "listnet passes processes",
    "validation": "gbrank slam preferences",
    "view": "mix several preferences",
    "vector": f"{SIGMOIDS} vector_exponentials",
}
# Test file, beside those of `FIRST` -> files of objectives/ that it knows.
TESTS = {
    "blocks": "columns divided driver engine/gains engine/pairs far_field frank jit lambdarank"
    " logistic order parts pointers ranknet sdcg shf_sdcg sigmoid smooth_ap smooth_ranks vector",
    "choice": "blend",
    "claims": "mix reg_shf_sdcg sdcg shf_sdcg smooth_ranks",
    "draws": "draws",
    "gains": "composite engine/gains gains swaps",
    "hosts": "base xe_ndcg yetirank",
    "metrics": "validation",
    "mix": "composite contract mix view",
    # Of `FIRST`, but here all tests count.
    "objective": "base driver gains mix parameters reg_shf_sdcg registry schedules sigmoid targets"
    " validation",
    "orders": "listmle pearson spearman",
    "package": "jit pointers",
    "pairwise": "bisection columns frank gbrank hinge jit listnet rankboost ranknet ranksvm",
    "passes": "threads",
    "perturb": "base draws shf_sdcg",
    "pl_rank": "draws pl_rank",
    "preferences": "composite pairs preferences swaps validation view",
    "processes": "cache jit threads",
    "sampling": "base draws",
    "schedules": "base composite schedules validation",
    "several": "composite several view",
    "smoothrank": "smooth_ap smooth_ndcg smooth_precision soft_indicators",
    "softrank_slam": "engine/gains slam soft_ndcg",
    "unbiased": "composite corrections positions sessions unbiased",
}
# Faults that no test can catch, as this script prints them, by the reason.
EQUIVALENT = {
    # Scratch is larger, or holds what nobody reads.
    "swaps.swaps_of: (2, n) => (3, n)",
    "sigmoid: constant(0.0) => constant(1.0)",  # coefficients of sums that nobody asks for
    "order.order_by_score: width + 1 => width + 2",
    "order.order_by_score: (2, width + 1) => (3, width + 1)",
    "bisection.grade_levels: n + 1 => n + 2",
    "sigmoid.run_all: 2 * channels => 3 * channels",
    "sigmoid: new_room(0, 0, 0, 0) => new_room(0, 0, 0, 1)",
    "sigmoid: Batch(0, 0, False) => Batch(0, 0, True)",  # only types are taken from it
    "smooth_ndcg._weights: np.empty(0) => np.empty(1)",  # read only where the first is not empty
    "threads.over_queries: n_chunks + 1 => n_chunks + 2",
    "vector.padded: n > STRIDE => n >= STRIDE",
    "cache._file: :32 => :33",
    "cache._folders: appauthor=False => appauthor=True",  # the name of a folder on Windows
    # Any number will do, or any but 0.
    "columns.write_padding: 0.0, 0.0, 1.0 => 0.0, 0.0, 2.0",
    "columns.pack: 1.0, 1.0, key[d] => 1.0, 2.0, key[d]",
    "curvature: 0, 1, 2 => 0, 1, 3",
    "curvature: LOSS = 3 => LOSS = 4",
    "engine/pairs.add_blocks: 1 if counts[j] == 0.0 else 0 => 2 if counts[j] == 0.0 else 0",
    "jit._sources: :16 => :17",
    "logistic.scale_sums: w.real[SCORE, column] - w.real[SCORE, begin] => ((w.real[SCORE, begin])"
    " - (w.real[SCORE, column]))",  # its absolute value
    "soft_indicators._start: a[i] - mean => ((mean) - (a[i]))",  # likewise
    "pearson._centre: 2.0**500 if largest < SMALL else 1.0 => 2.0**500 if largest < SMALL"
    " else 2.0",  # a power of two, which is divided out
    # Less than a rounding error, or than the error that is promised.
    "columns: -1e200 => -1e+200",
    "divided.coefficients: 12.0 / (sigma * offset) + 90.0 => 12.0 / (sigma * offset) + 91.0",
    "vector._logarithm: math.sqrt(2.0) => math.sqrt(3.0)",  # 1e-14
    "draws._cosine: range(9, -1, -1) => range(10, -1, -1)",  # one more term, of 6e-17 at most
    # Where a processor's vectors split two copies of a loop differently.
    'jit.jit_disjoint: options |= {"fastmath": IN_ORDER} if in_order else {} => pass',
    "query_cross_entropy._shift: 1e-15 * n => 1e-15 / n",
    "soft_indicators: BAND = 40.0 => BAND = 41.0",
    "soft_indicators._gaussian: 1.0 / 40320.0 => 1.0 / 40321.0",
    "vector: (1 << 52) - 1 => (1 << 52) - 2",
    # A longer way to the same result.
    "columns.write_decays: 1 if abs(x) > LARGEST_EXPONENT else 0 => 1 if abs(x) > LARGEST_EXPONENT"
    " else 1",  # all pairs one by one
    "columns.pack: rising > 0.0 => rising >= 0.0",  # pairs that add nothing
    "columns.pack: 0.0, math.inf => 1.0, math.inf",  # likewise
    "threads._over_chunks: threads - 1 => threads + 1",  # workers without work
    "sigmoid.run_all: spare.append((w, v, room)) => pass",
    "cache.save_overload: missing_ok=True => missing_ok=False",  # `save_overload` leaves it out
    "bisection.halve: lowest + 1 => lowest - 1",
    "bisection.halve: lowest + 1 => lowest + 2 (2)",  # another cut
    "engine/pairs.add_blocks: counts[j] == 0.0 => counts[j] == 1.0 (2)",
    "jit.__init__: self.state.flags.noalias = True => self.state.flags.noalias = False",
    'jit: {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _Helper} => {**OPTIONS,'
    ' "no_cpython_wrapper": False, "pipeline_class": _Helper}',
    "hinge._sweeps: waiting = 1 => waiting = 2",  # the second part has no grade
    "order.write_rising_order: most + 1 => most + 2",  # no document is there
    "order.write_rising_order: 0.0 <= values[i] < MOST_LEVELS => 1.0 <= values[i] < MOST_LEVELS",
    'pointers._ready: getattr(numba.config, "DISABLE_JIT", False) => getattr(numba.config,'
    ' "DISABLE_JIT", True)',  # Numba always has the setting
    "pointers._ready: dispatcher.disable_compile() => pass",  # no caller passes other types
    "pointers.dispatcher: borrows=True => borrows=False",
    "order._order_long: n - 1 => n - 2",  # other buckets, in the same order
    "order._order_long: scores[0] => scores[1] (2)",  # the loop starts at the first score again
    "parts._divide: few or size <= direct => few and size <= direct",
    "query_cross_entropy._shift: 0.5 * most => 1.5 * most",  # the next step comes back
    "query_softmax._kernel: scores[0] => scores[1]",  # the best is looked for in any case
    # Both ways agree where they meet.
    "swaps.swap_of: s.x[a] < s.x[b] => s.x[a] <= s.x[b]",
    "hinge.hinge_kernel: len(scores) <= DIRECT => len(scores) < DIRECT",
    "order._order_long: moves -= place - hole => moves = np.float32(moves - (place - hole))",
    "hinge._sweeps: ranked_hess[j] += met => ranked_hess[j] = np.float32(ranked_hess[j] + (met))",
    "parts._grades: begins[place + 1] += begins[place] => begins[place + 1] = np.float32("
    "begins[place + 1] + (begins[place]))",  # lists of less than 16 million
    "order._order_long: moves < 0 => moves <= 0",
    "pearson._kernel: unit > p.sigma => unit >= p.sigma",
    "soft_indicators.band: (t[j] - t[stop]) * (t[j] - t[stop]) / sigma <= BAND => (t[j] - t[stop])"
    " * (t[j] - t[stop]) / sigma < BAND",
    "vector.exponentials: x[i] >= LEAST_EXPONENT => x[i] > LEAST_EXPONENT",
    # Nothing is there: no level below a part begins at its middle or after it, without a rest the
    # first grade is in the table, no pair has neither form nor weight, the largest value allowed is
    # not among the wrong ones, only the nearest is named.
    "bisection.halve: lowest + 1 => lowest - 1 (2)",
    "pairs._columns: array.ndim <= 2 => array.ndim <= 3",
    "pairs._columns: array.reshape(0, 2) => array.reshape(0, 3)",
    "validation.check_labels: wrong > most => wrong >= most",
    "validation.hint: n=1 => n=2",
    # Two documents in all have a pair only in one query, and either order has it.
    "xe_ndcg._of_query: len(p.gammas) > 1 => len(p.gammas) > 2",
    "yetirank._kernel: p.uniforms.size > 1 => p.uniforms.size > 2",
    # Declared again where it is used; the parts check the Hessian; nobody writes to a kernel.
    "driver: frozen=True => frozen=False",
    "composite: kw_only=True => kw_only=False",
    "reg_shf_sdcg.__post_init__: super().__post_init__() => pass",
    # For versions of Numba later than the one here.
    "cache: (0, 68) => (0, 69)",
    "cache: (0, 68) => (1, 68)",
    "cache.load_overload: numba.version_info.short > _RUNTIME_ALONE => numba.version_info.short <"
    " _RUNTIME_ALONE",
    "cache.load_overload: target_context.refresh() => pass",
    # The next line sets it.
    "validation.differ: np.append(labels[1:] != labels[:-1], False) => np.append(labels[1:] !="
    " labels[:-1], True)",
}
# The same for groups of faults: regular expressions that match the changed line.
ALIKE = {
    r"(SHORT_LIST|COUNTERS|MOVES_PER_DOCUMENT|(DIRECT|BY_WORTH)(_UP_TO)?|TABLE|MAX_LEVELS"
    r"|DOCUMENTS_PER_LEVEL) = \d+|LARGEST_EXPONENT = 151\.0": (
        "where one way takes over from another: both agree"
    ),
    r"(LANES|STRIDE|(WIDE_)?BLOCK|BATCH) = \d+": "lengths of scratch and of batches",
    r"n (>=|<) BLOCK \(2\)|columns >= BATCH": "where a batch ends, whose queries do not interact",
    r"(outside -= 1|2) if abs\(x\) > LARGEST_EXPONENT else 0": "only whether it is 0 counts",
    r"_(LINEAR_FROM|(COST|DOCUMENTS)_WORTH_A_THREAD|CHUNKS_PER_THREAD|COST_DEAF_TO_SIGNALS) = .*|"
    r"n_chunks < 1|np\.linspace\(1\.0, total, n_chunks \+ 1\)|2 / _DOCUMENTS_WORTH_A_THREAD|"
    r"(total > 2|3) \* _COST_WORTH_A_THREAD": "how work is shared out: any share gives the same",
    r"new_columns\(1\) \([24]\)|Batch\(0, 1, False\)|np\.zeros\(2, np\.int64\)": (
        "an example of a type"
    ),
    r"(SMALL|MOST_STEPS|TOP) = .*": "another threshold",
    r"strict=False": "both have as many",
    r"np\.arange\((33\.0|4097)\)": "a table with one number more, which is the same if looked up",
}

# How an operator is written, and what takes its place.
OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<"),
    ast.GtE: (">=", ">", "<="),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}


class Fault(NamedTuple):
    """A piece of a file and its replacement."""

    name: str
    function: str  # empty outside of functions
    line: int
    start: int
    end: int
    new: str
    source: str
    shown: tuple[int, int]  # the expression or statement around it
    nth: int = 1  # of those with this text

    @property
    def mutant(self) -> str:
        return self.source[: self.start] + self.new + self.source[self.end :]

    def __str__(self) -> str:
        begin, stop = self.shown
        old = self.source[begin:stop]
        new = self.source[begin : self.start] + self.new + self.source[self.end : stop]
        place = f"{self.name}.{self.function}" if self.function else self.name
        again = f" ({self.nth})" if self.nth > 1 else ""
        return " ".join(f"{place}: {old} => {new}{again}".split())


def faults(name: str, source: str) -> Iterator[Fault]:
    """Yield every fault of a file of objectives/."""
    seen: Counter[str] = Counter()
    for fault in faults_of(name, source):
        seen[str(fault)] += 1
        yield fault._replace(nth=seen[str(fault)])


def faults_of(name: str, source: str) -> Iterator[Fault]:
    """Yield the same faults, without their numbers."""
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row.encode()))

    def at(line: int, column: int) -> int:
        return len(source.encode()[: starts[line - 1] + column].decode())

    def span(node: ast.AST) -> tuple[int, int]:
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    places = {node: (around, function) for node, around, function in computing(ast.parse(source))}

    def fault(node: ast.AST, new: str, where: tuple[int, int] | None = None) -> Fault:
        start, end = where or span(node)
        around, function = places[node]
        # A constant says little without what it is part of.
        shown = span(around if isinstance(node, ast.Constant) else node)
        return Fault(name, function, node.lineno, start, end, new, source, shown)

    text = partial(ast.get_source_segment, source)

    def between(left: ast.AST, right: ast.AST, old: str, new: str, node: ast.AST) -> Fault:
        start, end = span(left)[1], span(right)[0]
        offset = source.index(old, start, end)
        return fault(node, new, (offset, offset + len(old)))

    for node in places:
        match node:
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if (
                type(op) in OPERATORS
            ):
                old, *others = OPERATORS[type(op)]
                for new in others:
                    yield between(left, right, old, new, node)
                if isinstance(op, ast.Sub):
                    yield fault(node, f"(({text(right)}) - ({text(left)}))")
            case ast.BoolOp(op, values):
                yield between(values[0], values[1], *OPERATORS[type(op)], node)
            case ast.UnaryOp(ast.USub(), operand):
                yield fault(node, f"({text(operand)})")
            case ast.Constant(value) if type(value) in (int, float):
                yield fault(node, repr(value + 1))
            case ast.Constant(value) if isinstance(value, bool):
                yield fault(node, repr(not value))
            case ast.AugAssign(target, op, value):
                yield fault(node, "pass")
                if isinstance(op, ast.Add | ast.Sub):
                    old, new = OPERATORS[type(op)]
                    yield between(target, value, f"{old}=", f"{new}=", node)
                    if not isinstance(value, ast.Constant | ast.IfExp):
                        single = f"np.float32({text(target)} {old} ({text(value)}))"
                        yield fault(node, f"{text(target)} = {single}")
            case ast.Expr(ast.Call()) | ast.Assign([ast.Subscript()]) | ast.Continue():
                yield fault(node, "pass")


def computing(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """Walk through the code that computes: functions, methods, constants, but not annotations.

    Yields each node, what it is part of, and the name of its function.
    """
    stack: list[tuple[ast.AST, ast.AST, str]] = [(node, tree, "") for node in tree.body]
    while stack:
        node, parent, function = stack.pop()
        match node:
            case ast.FunctionDef(name="contract"):  # data that other tests compare with the code
                continue
            case ast.FunctionDef():
                stack.extend((each, node, node.name) for each in node.body)
                continue
            case ast.AnnAssign() | ast.Raise() | ast.JoinedStr():
                continue
            case ast.Subscript(value=ast.Name("Callable" | "tuple" | "dict" | "list")):
                continue
        yield node, parent, function
        stack.extend((each, node, function) for each in ast.iter_child_nodes(node))


class Limits(NamedTuple):
    """Seconds that tests may take: of processor time, and in all."""

    work: float = math.inf
    wait: float = math.inf

    def of_work(self) -> None:
        """Limit this process."""
        if self.work < math.inf:
            seconds = math.ceil(self.work)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def equivalent(fault: Fault) -> bool:
    """Whether a fault is known to change nothing."""
    return str(fault) in EQUIVALENT or any(alike(pattern, fault) for pattern in ALIKE)


def alike(pattern: str, fault: Fault) -> bool:
    return re.fullmatch(pattern, str(fault).partition(" => ")[2]) is not None


def outdated() -> list[str]:
    """Return entries that match no fault of the sources, and names of files that are gone."""
    every = [
        fault
        for name, path in FILES.items()
        for fault in faults(name, path.read_text(encoding="utf-8"))
    ]
    texts = {str(fault) for fault in every}
    return [
        *(entry for entry in EQUIVALENT if entry not in texts),
        *(pattern for pattern in ALIKE if not any(alike(pattern, fault) for fault in every)),
        *(name for name in {*WORDS, *" ".join(TESTS.values()).split()} if name not in FILES),
    ]


class Copy:
    """A copy of the project in which one file of objectives/ holds a fault."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sound = root / "sound"  # machine code of the sound files
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        for folder in ("boostrank", "tests", "objectives"):
            shutil.copytree(ROOT / folder, root / folder, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", root)
        (root / "boostrank" / "objectives").symlink_to(root / "objectives")
        self.sound.mkdir()

    def run(self, fault: Fault, compiled: bool, limits: Limits) -> str | None:
        """Return how the fault was caught, or None."""
        path = self.root / FILES[fault.name].relative_to(ROOT)
        times = path.stat()
        path.write_text(fault.mutant, encoding="utf-8")
        try:
            return self._tests(fault, compiled, limits)
        finally:
            path.write_text(fault.source, encoding="utf-8")
            # Numba recognises the sound file by its modification time.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            # Python would mistake the next fault of the same second and length for this one.
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)

    def idle(self, name: str) -> list[str]:
        """Return test files that only run compiled and in which the words select no test."""
        chosen, own = self._chosen(name)
        files = [f"tests/test_{file}.py" for file in own if file in COMPILED]
        if not files:
            return []
        listed = subprocess.run(
            [sys.executable, "-m", "pytest", "--co", *self._arguments([*files, *chosen])],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
        ).stdout
        return [file for file in files if f"{file}::" not in listed]

    def _chosen(self, name: str) -> tuple[list[str], list[str]]:
        words = WORDS.get(name, name.replace("_", "-"))
        # Test names hold the names of objectives, or of their classes.
        forms = dict.fromkeys(f"{words} {words.replace('-', '')} {words.replace('-', '_')}".split())
        own = [test for test, files in TESTS.items() if name in files.split()]
        return ["-k", " or ".join(forms)], own

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        del environment["NUMBA_DISABLE_JIT"]
        return environment

    def _tests(self, fault: Fault, compiled: bool, limits: Limits) -> str | None:
        chosen, own = self._chosen(fault.name)
        if compiled:
            files = [f"tests/test_{file}.py" for file in (*FIRST, *own)]
            return self._compiled(fault, [*files, *chosen], limits)
        # NumPy warns where compiled kernels are silent. Such a warning must not count as a catch.
        common = ["-m", "not compiled"]
        for warning in ("RuntimeWarning", "pytest.PytestAssertRewriteWarning"):
            common += ["-W", f"ignore::{warning}"]
        runs = [[f"tests/test_{file}.py", *chosen, *common] for file in FIRST]
        runs += [[f"tests/test_{file}.py", *common] for file in own if file not in COMPILED]
        child = os.fork()
        if child == 0:  # ends whatever happens
            code = 1
            try:
                code = self._uncompiled(runs, limits)
            finally:
                os._exit(code)
        return waited(child, limits.wait)

    def _arguments(self, more: list[str]) -> list[str]:
        return ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(self.root), *more]

    def _uncompiled(self, runs: list[list[str]], limits: Limits) -> int:
        """Run tests in this process."""
        os.setsid()
        os.chdir(self.root)
        sys.path.insert(0, str(self.root))
        sys.path.insert(0, str(self.root / "tests"))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        limits.of_work()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        import pytest

        for arguments in runs:  # one at a time: most faults are caught before all are collected
            code = pytest.main(self._arguments(arguments))
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return int(code)
        return 0

    def _compiled(self, fault: Fault, tests: list[str], limits: Limits) -> str | None:
        """Run tests in a process of their own, with the machine code of the sound file.

        Names of machine code hold a digest of the sources, so what the fault changes is compiled.
        """
        runpy.run_path(str(self.root / "tests" / "conftest.py"))
        cache = Path(os.environ["NUMBA_CACHE_DIR"])
        shutil.copytree(self.sound, cache, dirs_exist_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-m", "pytest", *self._arguments(tests)],
            cwd=self.root,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=limits.of_work,
        ).pid
        result = waited(child, limits.wait)
        if fault.mutant == fault.source:
            shutil.copytree(cache, self.sound, dirs_exist_ok=True)
        shutil.rmtree(self.root / ".cache")
        return result


def timed(run: Callable[[Limits], str | None]) -> tuple[str | None, Limits]:
    """Run the tests of a sound file; return the outcome and the limits for its faults."""
    begin, work = time.monotonic(), worked()
    outcome = run(Limits())
    wait = PATIENCE * (time.monotonic() - begin)
    return outcome, Limits(PATIENCE_AT_WORK * (worked() - work), wait)


def worked() -> float:
    """Return the processor seconds that child processes have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def waited(child: int, seconds: float) -> str | None:
    """Return how a child's tests failed, or None where they passed."""
    slept = 0.0  # not by a clock, which runs on while this process and its child are stopped
    while slept < seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == 0 else f"exit code {code}"
        time.sleep(0.02)
        slept += 0.02
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="in objectives/, or their names; all by default")
    parser.add_argument("--sample", type=int, help="faults per file; all by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    of_path = {path.resolve(): name for name, path in FILES.items()}
    names = [
        file if file in FILES else of_path[Path(file).resolve()] for file in options.files
    ] or list(FILES)
    stale = outdated()
    for entry in stale:
        print(f"listed in mutate.py, but not in objectives/: {entry}")

    os.environ["NUMBA_DISABLE_JIT"] = "1"
    # Loaded once, for every fault's tests.
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import scipy.special  # noqa: F401

    caught = tried = known = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy")
        for name in names:
            if idle := copy.idle(name):
                sys.exit(f"{name}: its words in WORDS select no test of {', '.join(idle)}")
            source = FILES[name].read_text(encoding="utf-8")
            every = list(faults(name, source))
            if options.sample is not None and options.sample < len(every):
                every = random.Random(options.seed).sample(every, options.sample)
            for fault in every:
                compile(fault.mutant, name, "exec")
            survivors = to_catch = [fault for fault in every if not equivalent(fault)]
            unchanged = Fault(name, "", 1, 0, 0, "", source, (0, 0))
            for compiled in (False, True):
                if not survivors:
                    break
                outcome, limits = timed(partial(copy.run, unchanged, compiled))
                if outcome is not None:
                    sys.exit(f"{name}: tests fail without a fault (compiled: {compiled})")
                survivors = [f for f in survivors if not copy.run(f, compiled, limits)]
            for fault in survivors:
                print(f"survives, line {fault.line}: {fault}")
            caught += len(to_catch) - len(survivors)
            tried += len(to_catch)
            known += len(every) - len(to_catch)
            print(
                f"{name}: {len(to_catch) - len(survivors)} of {len(to_catch)} caught, "
                f"{len(every) - len(to_catch)} known to change nothing",
                flush=True,
            )
    print(f"{caught} of {tried} faults caught, {known} known to change nothing")
    sys.exit(caught < tried or bool(stale))


if __name__ == "__main__":
    main()
