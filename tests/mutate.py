"""Plants faults in objectives/, one at a time, and counts those that the tests catch.

    python tests/mutate.py [--sample N] [--seed N] [FILE...]

Faults are made from the syntax tree: + for -, * for /, swapped operands of -, < for <= and for >=,
a constant one off, sums in float32, a statement or a sign left out, `and` for `or`. Each is tried
on a copy of the project. The tests are those of the base class, derivatives, oracle and edge cases
that use the file, and the further test files in `KNOWN_BY`. They run first without compiling
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
COMPILED = ("hosts", "package", "processes", "smoothrank", "unbiased")
# A fault that takes this many times as long as the sound file is an endless loop or a deadlock.
PATIENCE_AT_WORK, PATIENCE = 2, 10
MEMORY = 6 << 30
SIGMOIDS = ("sdcg", "lambdarank", "ranknet")
HINGES = (("gbrank", "ranksvm", "rankboost"), ("pairwise",))
# File -> objectives that use it, or other words in tests' names, and test files in addition to
# `FIRST`. For a loss not listed here, only its own objective.
KNOWN_BY: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "around": (("unbiased", "preferences"), ("unbiased", "preferences")),
    "base": (
        ("reg-shf-sdcg", "slam", "beyond_float64", "users_own"),
        ("objective", "schedules", "hosts", "perturb", "sampling"),
    ),
    "bisection": HINGES,
    "columns": (SIGMOIDS, ("blocks",)),
    "contract": (("lambdarank", "mix", "million", "contract", "costs"), ("mix",)),
    "curvature": (("frank", "sdcg", "soft-ndcg"), ()),
    "calibrated": (("calibrated",), ("claims",)),
    "divided": (("lambdarank", "divided"), ("blocks",)),
    "driver": (("listnet", "frank", "sdcg", "ranknet"), ("blocks", "objective")),
    "far_field": (SIGMOIDS, ("blocks",)),
    "frank": (("frank",), ("blocks", "pairwise")),
    "dominance": (("lambdarank", "ranknet", "frank"), ("blocks",)),
    "draws": (("yetirank", "pl-rank"), ("draws", "perturb", "sampling")),
    "engine/gains": (("sdcg", "lambdarank", "slam"), ("blocks", "gains", "softrank_slam")),
    "engine/targets": (("lambdarank", "yetirank"), ("claims",)),
    "gains": (("sdcg", "lambdarank"), ("gains", "objective")),
    "gbrank": (("gbrank",), ("pairwise",)),
    "hinge": HINGES,
    "intake": (("gbrank", "copied", "refused_wherever", "pass"), ("passes",)),
    "jit": (
        ("gbrank", "ranknet", "anew", "helper", "compiles", "collected", "one_call"),
        ("blocks", "package", "pairwise", "processes"),
    ),
    "lambdarank": (("lambdarank",), ("blocks", "claims", "pairwise")),
    "lanes": (SIGMOIDS, ("blocks",)),
    "listmle": (("listmle",), ("orders",)),
    "listnet": (("listnet", "xe-ndcg"), ("pairwise",)),
    "long_smooth_ap": (("smooth-ap", "smooth_ap"), ("blocks",)),
    "loops": (("listnet", "frank", "sdcg", "ranknet"), ("blocks", "objective")),
    "near_field": (SIGMOIDS, ("blocks",)),
    "normalised": (("lambdarank", "ranknet"), ("blocks",)),
    "memory": (("gbrank", "taken", "stays_its_own"), ("passes",)),
    "mix": (("mix", "reg-shf-sdcg"), ("objective", "mix", "claims")),
    "pairs": (("preferences",), ("preferences",)),
    "pearson": (("pearson",), ("orders",)),
    "pl_rank": (("pl-rank",), ("pl_rank",)),
    "preferences": (("preferences",), ("preferences",)),
    "positions": (("unbiased",), ("unbiased",)),
    "order": (("sdcg", "lambdarank", "slam", "order"), ("blocks",)),
    "pair_losses": (("lambdarank", "ranknet"), ("blocks",)),
    "parameters": (("gbrank",), ("objective",)),
    "rankboost": (("rankboost",), ("pairwise",)),
    "ranknet": (("ranknet",), ("blocks", "pairwise")),
    "ranksvm": (("ranksvm",), ("pairwise",)),
    "registry": (("gbrank",), ("objective",)),
    "reg_shf_sdcg": (("reg-shf-sdcg",), ("objective", "claims")),
    "regression": (("reg",), ("claims",)),
    "schedules": (("reg-shf-sdcg",), ("schedules", "objective", "claims")),
    "sdcg": (("sdcg",), ("blocks", "claims")),
    "shf_sdcg": (("shf-sdcg",), ("blocks", "claims", "perturb")),
    "sessions": (("unbiased",), ("unbiased",)),
    "several": (("several",), ("several",)),
    "slam": (("slam",), ("softrank_slam",)),
    "smooth_ap": (("smooth-ap", "smooth_ap"), ("blocks", "smoothrank")),
    "smooth_ndcg": (("smooth-ndcg",), ("smoothrank",)),
    "smooth_precision": (("smooth-precision",), ("smoothrank",)),
    "smooth_ranks": (("sdcg",), ("blocks", "claims")),
    "soft_indicators": (("smooth",), ("smoothrank",)),
    "soft_ndcg": (("soft-ndcg",), ("softrank_slam",)),
    "spearman": (("spearman",), ("orders",)),
    "swaps": (("lambdarank",), ("blocks",)),
    "targets": (("lambdarank", "yetirank"), ("claims", "objective")),
    "threads": (("listnet", "passes", "processes"), ("passes", "processes")),
    "unbiased": (("unbiased",), ("unbiased",)),
    "validation": (("gbrank", "slam"), ("objective", "schedules")),
    "vector": (SIGMOIDS, ("blocks",)),
    "xe_ndcg": (("xe-ndcg",), ("hosts",)),
    "yetirank": (("yetirank",), ("hosts",)),
}
# Faults that no test can catch, as this script prints them, and why.
EQUIVALENT = {
    "around: @dataclass(frozen=True, kw_only=True) => @dataclass(frozen=True, kw_only=False)": (
        "its only argument is declared again where it is used"
    ),
    "bisection: low, high = lowest + 1, last - 1 => low, high = lowest - 1, last - 1": (
        "no level below the part begins at its middle or after it: the search finds the same"
    ),
    "columns: if q > first and (n > BLOCK or columns > BATCH):"
    " => if q > first and (n >= BLOCK or columns > BATCH):": (
        "only where a batch ends, and queries of a batch do not interact"
    ),
    "columns: if (sort or long) and by_score: => if (sort or long) or by_score:": (
        "sorted by score before the sort by worth: the same pairs"
    ),
    "columns: others += 1 if grade != worth else 0 => others += 1 if grade != worth else 1": (
        "whole gains are merged too, into the same order"
    ),
    "curvature: CONSTANT, GAUSS_NEWTON, EXACT = 0, 1, 2"
    " => CONSTANT, GAUSS_NEWTON, EXACT = 0, 1, 3": "any three numbers",
    "curvature: floor = max(HESSIAN_FLOOR, INDEFINITE_FLOOR * total / max(1, len(hess)))"
    " => floor = max(HESSIAN_FLOOR, INDEFINITE_FLOOR * total / max(2, len(hess)))": (
        "the total of a single document is zero"
    ),
    "dominance: fit = np.empty((6, fits.shape[2])) => fit = np.empty((7, fits.shape[2]))": (
        "a row that nobody reads"
    ),
    "dominance: while kind + 1 < SPREADS and sigma * spread > SPREAD * 2.0 ** (OCTAVES * kind):"
    " => while kind + 1 < SPREADS and sigma * spread >= SPREAD * 2.0 ** (OCTAVES * kind):": (
        "where one fit takes over from another: both agree"
    ),
    "draws: for k in range(9, -1, -1): => for k in range(10, -1, -1):": (
        "one more term, of 6e-17 at most"
    ),
    "draws: while stop < last and boundaries[stop + 1] - boundaries[first] <= BLOCK:"
    " => while stop < last and boundaries[stop - 1] - boundaries[first] <= BLOCK:": (
        "only how many queries a batch has: any number will do"
    ),
    'driver: of_short = {"packing": packing, "pack": packer(long=False, **rules)}'
    ' => of_short = {"packing": packing, "pack": packer(long=True, **rules)}': (
        "the same numbers, from slower code"
    ),
    "driver: for many in (False, True) => for many in (True, True)": (
        "the same numbers, from code that is slow to compile"
    ),
    "driver: of_derivatives.insert(0, Loop(run, lanes.LONGEST, lanes.new_lanes)) => pass": (
        "the same numbers, from slower code"
    ),
    "lanes: power[i] = -math.inf => power[i] = (math.inf)": "numbers that nobody reads",
    "loops: grad, hess = np.zeros(b - a), np.zeros(b - a)"
    " => grad, hess = np.zeros(b + a), np.zeros(b - a)": "zeros that nobody reads",
    "loops: grad, hess = np.zeros(b - a), np.zeros(b - a)"
    " => grad, hess = np.zeros(b - a), np.zeros(b + a)": "zeros that nobody reads",
    "frank: better, worse = (i, j) if labels[i] > labels[j] else (j, i)"
    " => better, worse = (i, j) if labels[i] >= labels[j] else (j, i)": (
        "documents of equal grade are skipped above"
    ),
    'jit: options |= {"fastmath": IN_ORDER} if in_order else {} => pass': (
        "the last bits of sums, where a processor's vectors split two copies of a loop differently"
    ),
    'jit: HELPER = {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _Helper}'
    ' => HELPER = {**OPTIONS, "no_cpython_wrapper": False, "pipeline_class": _Helper}': (
        "compiling takes longer"
    ),
    "jit: self.state.flags.noalias = True => self.state.flags.noalias = False": (
        "loops check for overlap: they take longer"
    ),
    "jit: return digest.hexdigest()[:16] => return digest.hexdigest()[:17]": "a longer name",
    'jit: name = "_".join([function.__name__, *(key for key in globals if globals[key] is True)])'
    ' => name = "_".join([function.__name__, *(key for key in globals if globals[key] is'
    " False)])": "other names, which differ in the same places",
    "jit: for shared, own in zip(library._shared_module.functions, module.functions, strict=True):"
    " => for shared, own in zip(library._shared_module.functions, module.functions,"
    " strict=False):": "a module and its clone have the same functions",
    "lambdarank: NO_FITS = np.zeros((1, 1, 1)) => NO_FITS = np.zeros((1, 2, 1))": (
        "a placeholder where no fit is read"
    ),
    "long_smooth_ap: sums = np.empty((2, TERMS)) => sums = np.empty((3, TERMS))": (
        "a row that nobody reads"
    ),
    "mix: pairs = list(zip(parts, mean_hessians, strict=True))"
    " => pairs = list(zip(parts, mean_hessians, strict=False))": "as many means as parts",
    "pairs: array = array.reshape(0, 2) => array = array.reshape(0, 3)": "no pair has no weight",
    "pairs: if array.size == 0 and array.ndim <= 2: => if array.size == 0 and array.ndim <= 3:": (
        "no pair in any form"
    ),
    "pearson: if unit > p.sigma: => if unit >= p.sigma:": "both ways agree where they meet",
    "pearson: share = 2.0**500 if largest < SMALL else 1.0"
    " => share = 2.0**500 if largest < SMALL else 2.0": "a power of two, which is divided out",
    "query_cross_entropy: if abs(excess) <= 1e-15 * n or after == b:"
    " => if abs(excess) <= 1e-15 / n or after == b:": "one step more, of no length",
    "query_cross_entropy: after = step if least < step < most else 0.5 * least + 0.5 * most"
    " => after = step if least < step < most else 0.5 * least + 1.5 * most": (
        "beyond the bracket, from where the next step comes back"
    ),
    "ranknet: return loss / max(1, count_pairs(labels)) if p.normalize else loss"
    " => return loss / max(2, count_pairs(labels)) if p.normalize else loss": (
        "a long list has no pairs, or many"
    ),
    "order: moves -= place - hole => moves = np.float32(moves - (place - hole))": (
        "only when bucket sorting gives up: the other way sorts the same"
    ),
    "order: top, bottom = scores[0], scores[0] => top, bottom = scores[1], scores[0]": (
        "the loop starts at the first score again"
    ),
    "order: if moves < 0: => if moves <= 0:": "another threshold",
    "pair_losses: fit = np.zeros((1, 6, WIDTH)) => fit = np.zeros((1, 7, WIDTH))": (
        "a row that nobody reads"
    ),
    "order: scale = (n - 1) / (top - bottom) => scale = (n - 2) / (top - bottom)": (
        "other buckets, in the same order"
    ),
    "query_softmax: top, best, total = 0.0, scores[0], 0.0"
    " => top, best, total = 0.0, scores[1], 0.0": "the best of all is looked for in any case",
    "shf_sdcg: for level in range(batch.runs.shape[1] - 1):"
    " => for level in range(batch.runs.shape[1] + 1):": (
        "numbers for grades that are not there, which nobody reads"
    ),
    "shf_sdcg: for m in range(1 if batch.spans_blocks else batch.blocks):"
    " => for m in range(2 if batch.spans_blocks else batch.blocks):": (
        "a cut-off of the second block, which nobody reads"
    ),
    "shf_sdcg: hinge = sigmoid if lead >= 0.0 else 0.5 - 0.25 * p.alpha * lead # (14), sign fixed"
    " => hinge = sigmoid if lead > 0.0 else 0.5 - 0.25 * p.alpha * lead # (14), sign fixed": (
        "one half either way"
    ),
    "reg_shf_sdcg: super().__post_init__() => pass": "its parts check the Hessian",
    "smooth_ndcg: return np.empty(0), np.empty(0) => return np.empty(0), np.empty(1)": (
        "the second is not read where the first is empty"
    ),
    "near_field: while better <= final and worths[better] <= worths[i]:"
    " => while better > final and worths[better] <= worths[i]:": (
        "pairs that add nothing are visited too: it takes longer"
    ),
    "swaps: own[column] = rank_discount(d, b - a, place[column] + 1)"
    " => own[column] = rank_discount(d, ((a) - (b)), place[column] + 1)": (
        "only differences of discounts count, and those of n - r are the same for every n"
    ),
    "swaps: weight = abs(gap) * abs(own_discount - discounts[start + j]) # w_ij"
    " => weight = abs(gap) * abs(((discounts[start + j]) - (own_discount))) # w_ij": (
        "only its magnitude is used"
    ),
    "engine/gains: for i in range(len(y) if rest > 0 else 0):"
    " => for i in range(len(y) if rest > 0 else 1):": (
        "without a rest the first grade is in the table"
    ),
    "engine/gains: DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(4096))"
    " => DISCOUNTS = 1.0 / np.log2(2.0 + np.arange(4097))": "the same number, looked up",
    "engine/gains: EXPONENTIAL = np.exp2(np.arange(32.0)) - 1.0"
    " => EXPONENTIAL = np.exp2(np.arange(33.0)) - 1.0": "no grade above 31 is looked up",
    "engine/targets: upper, lower = np.zeros((2, n)), np.zeros((2, n))"
    " => upper, lower = np.zeros((2, n)), np.zeros((3, n))": "a row that nobody reads",
    "threads: if n_chunks <= 1: => if n_chunks < 1:": "one chunk is all there is",
    "threads: shares = np.linspace(0.0, total, n_chunks + 1)[1:-1]"
    " => shares = np.linspace(1.0, total, n_chunks + 1)[1:-1]": "a cut one pair further on",
    "xe_ndcg: return XENDCGParams(p.gammas[a:b] if len(p.gammas) > 1 else p.gammas)"
    " => return XENDCGParams(p.gammas[a:b] if len(p.gammas) > 2 else p.gammas)": (
        "with two documents in all, there is something to rank only if they share a query"
    ),
    "vector: MANTISSA, EXPONENT_OF_ONE = (1 << 52) - 1, 1023 << 52"
    " => MANTISSA, EXPONENT_OF_ONE = (1 << 52) - 2, 1023 << 52": (
        "the last bit of a number, less than the error that is promised"
    ),
    "vector: return width + LANES if n > STRIDE and width % STRIDE == STRIDE - LANES else width"
    " => return width + LANES if n >= STRIDE and width % STRIDE == STRIDE - LANES else width": (
        "n = STRIDE needs no padding in either case"
    ),
    "validation: if (array[bad] > most).all(): => if (array[bad] >= most).all():": (
        "the largest value allowed is not among them"
    ),
    "yetirank: drawn = p.uniforms.size > 1 => drawn = p.uniforms.size > 2": (
        "with two documents in all, either order has the same pair"
    ),
}
# The same for groups of faults: regular expressions that match the changed line.
ALIKE = {
    r"(SHORT_LIST|MOVES_PER_DOCUMENT|(DIRECT|BY_WORTH)(_UP_TO)?|TABLE|MAX_LEVELS|DOCUMENTS_PER_LEVEL"
    r") = \d+|LARGEST_EXPONENT = 151\.0": ("where one way takes over from another: both agree"),
    r"(LANES|STRIDE|(WIDE_)?BLOCK|BATCH) = \d+": "lengths of scratch and of batches",
    r"_(LINEAR_FROM|COST_WORTH_A_THREAD|CHUNKS_PER_THREAD|COST_DEAF_TO_SIGNALS) = .*": (
        "how work is shared out: any share gives the same"
    ),
    r"threads = .* if total (> 2|>= 3) \* _COST_WORTH_A_THREAD else 1": "another threshold",
    r"return new_columns\(longest\), tables\(MAX_LEVELS if longest >=? BLOCK else [12]\)": (
        "a table that is not needed, or with room for more levels"
    ),
    r"if many and size (>=|<) DIRECT.*|fits_many = .* >= DIRECT // 2": "another threshold",
    r"direct = 1 < top <= DIRECT_TOP.*|(SMALL|MOST_STEPS) = .*": "another threshold",
}

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
    """A piece of a file and its replacement."""

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
    """Walk through the code that computes: functions, methods, constants, but not annotations."""
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
        *(name for name in KNOWN_BY if name not in FILES),
    ]


def names_of(file: str) -> tuple[str, ...]:
    """Return the names of the objectives that a file of objectives/ defines."""
    return tuple(
        re.findall(r'name: ClassVar\[str\] = "([^"]+)"', FILES[file].read_text(encoding="utf-8"))
    )


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

    def _chosen(self, name: str) -> tuple[list[str], tuple[str, ...]]:
        words, own = KNOWN_BY.get(name, (names_of(name), ()))
        # Test names hold the names of objectives, or of their classes.
        words = tuple(dict.fromkeys((*words, *(word.replace("-", "") for word in words))))
        return ["-k", " or ".join(words)], own

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
        if child == 0:
            self._uncompiled(runs, limits)
        return waited(child, limits.wait)

    def _arguments(self, more: list[str]) -> list[str]:
        return ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(self.root), *more]

    def _uncompiled(self, runs: list[list[str]], limits: Limits) -> None:
        """Run tests in this process, and end it whatever happens."""
        code = 1
        try:
            code = self._pytest(runs, limits)
        finally:
            os._exit(code)

    def _pytest(self, runs: list[list[str]], limits: Limits) -> int:
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
    parser.add_argument("files", nargs="*", help="in objectives/; all by default")
    parser.add_argument("--sample", type=int, help="faults per file; all by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    of_path = {path.resolve(): name for name, path in FILES.items()}
    names = [of_path[Path(file).resolve()] for file in options.files] or list(FILES)
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
                sys.exit(f"{name}: its words in KNOWN_BY select no test of {', '.join(idle)}")
            source = FILES[name].read_text(encoding="utf-8")
            every = list(faults(name, source))
            if options.sample is not None and options.sample < len(every):
                every = random.Random(options.seed).sample(every, options.sample)
            for fault in every:
                compile(fault.mutant, name, "exec")
            survivors = to_catch = [fault for fault in every if not equivalent(fault)]
            unchanged = Fault(name, 1, 0, 0, "", source)
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
