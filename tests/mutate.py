"""Plants faults in objectives/, one at a time, and counts those that the tests catch.

    python tests/mutate.py [--sample N] [--seed N] [FILE...]

Faults are made from the syntax tree: + for -, * for /, swapped operands of -, < for <= and for >=,
a constant one off, sums in float32, a statement or a sign left out, `and` for `or`. Each is tried
on a copy of the project: first on the tests of derivatives, oracle and edge cases without
compiling (seconds); what survives, on all tests that know the file, compiled. Survivors are
printed; those that change nothing are listed in `EQUIVALENT` with the reason.
"""

import argparse
import ast
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FIRST = ("derivatives", "oracle", "edge_cases")
# Beyond these many times the seconds of the sound file, a fault makes an endless loop.
PATIENCE = 4
MEMORY = 6 << 30
SMOOTH = (("smooth-ndcg", "smooth-precision", "smooth-ap"), ("smoothrank",))
PAIRWISE = (("gbrank", "ranksvm", "rankboost"), ("pairwise",))
# File -> the objectives that use it, and test files of its own.
KNOWN_BY: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "base": (("reg-shf-sdcg", "slam"), ("hosts", "schedules")),
    "bisection": PAIRWISE,
    "blocks": (("sdcg", "lambdarank", "smooth-ap"), ("blocks", "smoothrank")),
    "frank": (("frank",), ("pairwise",)),
    "gbrank": (("gbrank",), ("pairwise",)),
    "hinge": PAIRWISE,
    "lambdarank": (("lambdarank",), ("blocks", "claims", "pairwise")),
    "listnet": (("listnet", "xe-ndcg"), ("pairwise",)),
    "mix": (("mix", "reg-shf-sdcg"), ("mix", "claims")),
    "numerics": (
        ("sdcg", "lambdarank", "ranknet"),
        ("blocks", "claims", "pairwise", "smoothrank", "softrank_slam"),
    ),
    "rankboost": (("rankboost",), ("pairwise",)),
    "ranknet": (("ranknet",), ("blocks", "pairwise")),
    "ranksvm": (("ranksvm",), ("pairwise",)),
    "reg_shf_sdcg": (("reg-shf-sdcg",), ("claims",)),
    "regression": (("reg",), ("claims",)),
    "schedules": (("reg-shf-sdcg", "scheduled"), ("schedules", "claims", "smoothrank")),
    "sdcg": (("sdcg",), ("blocks", "claims")),
    "shf_sdcg": (("shf-sdcg",), ("blocks", "claims")),
    "slam": (("slam",), ("softrank_slam",)),
    "smooth_ap": (("smooth-ap",), ("smoothrank",)),
    "smooth_ndcg": (("smooth-ndcg",), ("smoothrank",)),
    "smooth_precision": (("smooth-precision",), ("smoothrank",)),
    "soft_indicators": SMOOTH,
    "soft_ndcg": (("soft-ndcg",), ("softrank_slam",)),
    "threads": (("ranknet",), ("processes",)),
    "validation": (("gbrank", "slam", "smooth-precision", "scheduled"), ("schedules",)),
    "xe_ndcg": (("xe-ndcg",), ("hosts",)),
}
# Faults that no test can catch, as printed, and why.
EQUIVALENT: dict[str, str] = {}

SWAPS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("/",),
    ast.Div: ("*",),
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.And: ("or",),
    ast.Or: ("and",),
}


class Fault(NamedTuple):
    """A piece of a file and what stands in its place."""

    name: str
    line: int
    start: int
    end: int
    new: str
    source: str

    @property
    def mutant(self) -> str:
        return self.source[: self.start] + self.new + self.source[self.end :]

    def __str__(self) -> str:
        begin = self.source.rfind("\n", 0, self.start) + 1
        stop = self.source.find("\n", self.end)
        old = self.source[begin:stop]
        new = self.source[begin : self.start] + self.new + self.source[self.end : stop]
        return " ".join(f"{self.name}: {old.strip()}  =>  {new.strip()}".split())


def faults(name: str, source: str) -> Iterator[Fault]:
    """Yield every fault of a file of objectives/."""
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row.encode()))

    def at(line: int, column: int) -> int:
        return len(source.encode()[: starts[line - 1] + column].decode())

    def span(node: ast.AST) -> tuple[int, int]:
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    def fault(node: ast.AST, new: str, where: tuple[int, int] | None = None) -> Fault:
        start, end = where or span(node)
        return Fault(name, node.lineno, start, end, new, source)

    def text(node: ast.AST) -> str:
        start, end = span(node)
        return source[start:end]

    def between(left: ast.AST, right: ast.AST, old: str, new: str, node: ast.AST) -> Fault:
        start, end = span(left)[1], span(right)[0]
        offset = source.index(old, start, end)
        return fault(node, new, (offset, offset + len(old)))

    symbols = {
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<=",
        ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
    }  # fmt: skip
    for node in computing(ast.parse(source)):
        match node:
            case ast.BinOp(left, op, right) if type(op) in SWAPS:
                for new in SWAPS[type(op)]:
                    yield between(left, right, symbols[type(op)], new, node)
                if isinstance(op, ast.Sub):
                    yield fault(node, f"(({text(right)}) - ({text(left)}))")
            case ast.Compare(left, [op], [right]) if type(op) in SWAPS:
                for new in SWAPS[type(op)]:
                    yield between(left, right, symbols[type(op)], new, node)
            case ast.BoolOp(op, values):
                (new,) = SWAPS[type(op)]
                yield between(values[0], values[1], symbols[type(op)], new, node)
            case ast.UnaryOp(ast.USub(), operand):
                yield fault(node, f"({text(operand)})")
            case ast.Constant(value) if type(value) in (int, float):
                yield fault(node, repr(value + 1))
            case ast.Constant(value) if isinstance(value, bool):
                yield fault(node, repr(not value))
            case ast.AugAssign(target, op, value):
                yield fault(node, "pass")
                if isinstance(op, ast.Add | ast.Sub):
                    new = "-=" if isinstance(op, ast.Add) else "+="
                    yield between(target, value, symbols[type(op)] + "=", new, node)
                    if not isinstance(value, ast.Constant | ast.IfExp):
                        single = f"{text(target)} = np.float32({text(target)} {symbols[type(op)]} "
                        yield fault(node, f"{single}({text(value)}))")
            case ast.Expr(ast.Call()) | ast.Assign([ast.Subscript()]) | ast.Continue():
                yield fault(node, "pass")


def computing(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk through what computes: functions, methods and constants, but no annotations."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef(name="contract"):  # data that other tests compare with the code
                continue
            case ast.FunctionDef():
                stack.extend(node.body)
                continue
            case ast.AnnAssign() | ast.Raise() | ast.JoinedStr():
                continue
            case ast.Subscript(value=ast.Name("Callable" | "tuple" | "dict" | "list")):
                continue
        yield node
        stack.extend(ast.iter_child_nodes(node))


class Copy:
    """A copy of the project in which one file of objectives/ is another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        for folder in ("boostrank", "tests", "objectives"):
            shutil.copytree(ROOT / folder, root / folder, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", root)
        (root / "boostrank" / "objectives").symlink_to(root / "objectives")

    def run(self, fault: Fault, compiled: bool, seconds: float) -> str | None:
        """Return how the fault was caught, or None."""
        path = self.root / "objectives" / f"{fault.name}.py"
        path.write_text(fault.mutant)
        try:
            return self._tests(fault.name, compiled, seconds)
        finally:
            path.write_text(fault.source)
            shutil.rmtree(self.root / ".cache", ignore_errors=True)

    def _tests(self, name: str, compiled: bool, seconds: float) -> str | None:
        objectives, own = KNOWN_BY[name]
        arguments = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(self.root)]
        if compiled:
            arguments += [f"tests/test_{file}.py" for file in own]
            return waited(self._compiled(arguments), seconds)
        arguments += [f"tests/test_{file}.py" for file in FIRST]
        arguments += ["-k", " or ".join(objectives), "-m", "not compiled"]
        # NumPy warns of what compiled kernels compute in silence: that would catch nothing.
        for warning in ("RuntimeWarning", "pytest.PytestAssertRewriteWarning"):
            arguments += ["-W", f"ignore::{warning}"]
        child = os.fork()
        if child == 0:
            self._uncompiled(arguments)
        return waited(child, seconds)

    def _uncompiled(self, arguments: list[str]) -> None:
        """Run tests in this process, which ends with them, whatever happens."""
        code = 1
        try:
            code = self._pytest(arguments)
        finally:
            os._exit(code)

    def _pytest(self, arguments: list[str]) -> int:
        os.setsid()
        os.chdir(self.root)
        sys.path.insert(0, str(self.root))
        sys.path.insert(0, str(self.root / "tests"))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        import pytest

        return int(pytest.main(arguments))

    def _compiled(self, arguments: list[str]) -> int:
        """Start tests in a process of their own and return its number."""
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        del environment["NUMBA_DISABLE_JIT"]
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ).pid


def waited(child: int, seconds: float) -> str | None:
    """Return how a child's tests failed, or None where they passed."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == 0 else f"exit code {code}"
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="names in objectives/; all by default")
    parser.add_argument("--sample", type=int, help="faults a file; all by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = [Path(file).stem for file in options.files] or list(KNOWN_BY)

    os.environ["NUMBA_DISABLE_JIT"] = "1"
    # Loaded once, for every fault's tests.
    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import scipy.special  # noqa: F401

    caught = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy")
        for name in names:
            source = (ROOT / "objectives" / f"{name}.py").read_text()
            every = [fault for fault in faults(name, source) if str(fault) not in EQUIVALENT]
            if options.sample is not None and options.sample < len(every):
                every = random.Random(options.seed).sample(every, options.sample)
            unchanged = Fault(name, 1, 0, 0, "", source)
            for fault in every:
                compile(fault.mutant, name, "exec")
            survivors = every
            for compiled in (False, True):
                if not survivors:
                    break
                begin = time.monotonic()
                if copy.run(unchanged, compiled, math.inf) is not None:
                    sys.exit(f"{name}: tests fail without a fault (compiled: {compiled})")
                limit = PATIENCE * (time.monotonic() - begin)
                survivors = [fault for fault in survivors if not copy.run(fault, compiled, limit)]
            for fault in survivors:
                print(f"survives, line {fault.line}: {fault}")
            caught += len(every) - len(survivors)
            tried += len(every)
            print(f"{name}: {len(every) - len(survivors)} of {len(every)} caught", flush=True)
    print(f"{caught} of {tried} faults caught, {len(EQUIVALENT)} known to change nothing")
    sys.exit(caught < tried)


if __name__ == "__main__":
    main()
