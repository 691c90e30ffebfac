"""The package as it is installed: files, imports, docstrings whose examples run."""

import ast
import doctest
import gc
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import pytest
from boostrank.objectives.engine.jit import (
    OPTIONS,
    jit_allocating,
    jit_disjoint,
    jit_entry,
    jit_helper,
)
from commands import refused, write
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from programs import output_of

import boostrank
from boostrank import datasets, objectives, plot, tune

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_NAMES = ROOT / "tests" / "golden" / "public_names.txt"
MODULES = [
    module.name
    for module in pkgutil.walk_packages(boostrank.__path__, "boostrank.")
    if not module.name.startswith("boostrank.objectives")
] + [f"boostrank.objectives.{module.name}" for module in pkgutil.iter_modules(objectives.__path__)]


def test_import_loads_no_host_and_changes_nothing():
    output_of(
        "import logging, os, sys, threading, warnings\n"
        "import numba, numpy\n"
        "def state():\n"
        "    return (dict(os.environ), warnings.filters[:], logging.root.handlers[:],\n"
        "            threading.active_count(), numba.config.THREADING_LAYER, numpy.geterr())\n"
        "extras = {'lightgbm', 'xgboost', 'dask', 'sklearn', 'scipy', 'typer', 'rich', "
        "'matplotlib', 'jinja2', 'optuna'}\n"
        "loaded = extras & set(sys.modules)\n"  # Numba itself loads SciPy where it is installed
        "before = state()\n"
        "import boostrank, boostrank.plot\n"
        "assert state() == before\n"
        "assert extras & set(sys.modules) == loaded\n"
        "sys.modules['boostrank.hosts'] = None\n"  # an import would fail
        "boostrank.Regression().grad_hess([0.0, 1.0], [1, 0], [2])\n"
    )


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("objectives/**/*.py")), ids=lambda path: path.name
)
def test_objectives_know_no_host(path):
    source = path.read_text(encoding="utf-8")
    assert not re.search("lightgbm|xgboost", source, re.IGNORECASE)
    allowed = {"numpy", "numba", *sys.stdlib_module_names}
    depth = len(path.relative_to(ROOT / "objectives").parts)
    outside = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom) and node.level > depth:
            outside.append(node.module)
        elif isinstance(node, ast.ImportFrom):
            assert node.level >= 1 or (node.module.split(".")[0] in allowed)
    # Imported only when a host calls an objective, or when one measures what it has to keep.
    assert outside == {"base.py": ["hosts"], "several.py": ["metrics"]}.get(path.name, [])


def text_without_encoding(source):
    """Return the lines of calls that read or write text in whatever encoding a machine has."""
    found = []
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(func=ast.Attribute(attr="read_text" | "write_text")):
                mode = []
            case ast.Call(func=ast.Name("open"), args=[_, *mode]):
                pass
            case ast.Call(func=ast.Attribute(attr="open"), args=mode):
                pass
            case _:
                continue
        text = not mode or (isinstance(mode[0], ast.Constant) and "b" not in mode[0].value)
        if text and "encoding" not in {keyword.arg for keyword in call.keywords}:
            found.append(call.lineno)
    return found


@pytest.mark.parametrize("folder", ["boostrank", "objectives", "tests", "docs", "notebooks"])
def test_text_files_are_utf8_on_every_machine(folder):
    """Windows would read and write them in its own code page."""
    for path in (ROOT / folder).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert (path.name, text_without_encoding(source)) == (path.name, [])


@pytest.mark.parametrize(
    ("module", "missing", "message"),
    [
        ("objectives", "", "import boostrank.objectives"),  # the folder by its own name
        ("boostrank.linear", "sklearn", "pip install scikit-learn scipy"),
    ],
)
def test_an_import_that_cannot_be_says_what_to_do(module, missing, message):
    program = f"import sys; sys.modules[{missing!r}] = None; import boostrank\n"
    program += f"try:\n    import {module}\nexcept ImportError as error:\n    print(error)"
    assert message in output_of(program, cwd=ROOT)


DATA = datasets.make_ranking(20, 9, seed=1)
RANKNET = tune.Learner("ranknet", "lightgbm", boostrank.RankNet())


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("scipy.stats", lambda out: boostrank.compare(DATA, objectives=[])),
        ("jinja2", lambda out: boostrank.compare(DATA, objectives=[], out=out)),
        ("matplotlib.figure", lambda out: boostrank.compare(DATA, objectives=[], out=out)),
        ("matplotlib.figure", lambda out: plot.learning_curves({"a": [0.1]})),
        ("optuna", lambda out: tune.tune(DATA, RANKNET, out)),
        ("sklearn.datasets", lambda out: datasets.load_letor(write(out / "a", "1 qid:1 1:1"))),
        ("jinja2", ["compare", "missing.txt"]),  # before it is read
        ("matplotlib.figure", ["compare", "missing.txt"]),
        ("matplotlib.figure", ["bench"]),
        ("optuna", ["tune", "missing.txt"]),
    ],
)
def test_a_package_that_is_missing_is_asked_for_before_training(
    package, call, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("boostrank.lab.runner.run_fold", None)
    monkeypatch.setattr("boostrank.lab.bench.measure", None)
    name = package.partition(".")[0].replace("sklearn", "scikit-learn")
    if isinstance(call, list):  # a command
        assert f": pip install {name}" in refused(*call, "--out", tmp_path)
    else:
        with pytest.raises(ImportError, match=f" .*: pip install {name}"):
            call(tmp_path)


def test_no_public_name_goes_without_a_warning():
    published, public = PUBLIC_NAMES.read_text(encoding="utf-8").split(), set(boostrank.__all__)
    for lost in set(published) - public:
        with pytest.warns(DeprecationWarning, match=lost):
            getattr(boostrank, lost)
    assert not public - set(published), f"add it to {PUBLIC_NAMES.name}"


def test_every_objective_is_registered():
    found = set()
    for module in pkgutil.iter_modules(objectives.__path__, "boostrank.objectives."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and issubclass(thing, objectives.Objective):
                found.add(thing)
    named = {cls for cls in found if isinstance(vars(cls).get("name"), str)}
    wrappers = {objectives.Mix, boostrank.Preferences, boostrank.Several, boostrank.Unbiased}
    assert named == {*objectives.CLASSES, *wrappers}
    assert tuple(objectives.REGISTRY) == boostrank.objective_names()


def test_wheel_holds_every_file(tmp_path):
    source = tmp_path / "source"  # a build folder left in the checkout would be packed too
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("boostrank", "objectives"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, source],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [*ROOT.glob("boostrank/**/*.py"), *ROOT.glob("objectives/**/*.py")]
    expected = {str(path.relative_to(ROOT)) for path in files}
    expected = {re.sub("^objectives", "boostrank/objectives", path) for path in expected}
    assert {name for name in names if name.endswith(".py")} == expected
    assert {"boostrank/py.typed", "boostrank/lab/report.html"} <= names


@pytest.mark.compiled
def test_python_calls_no_helper_of_a_kernel():
    """A `jit_helper` has no entry from Python: calling it crashes the process."""
    modules = [importlib.import_module(name) for name in MODULES if ".objectives." not in name]
    within_reach = []
    for module in modules:
        things = vars(module).values()
        functions = [thing for thing in things if isinstance(thing, FunctionType)]
        functions += [
            function
            for cls in things
            if isinstance(cls, type) and cls.__module__ == module.__name__
            for function in vars(cls).values()
            if isinstance(function, FunctionType)
        ]
        names = {name for function in functions for name in function.__code__.co_names}
        within_reach += [getattr(module, name, None) for name in names]
    written = [cls.kernel.derivatives for cls in objectives.CLASSES if hasattr(cls, "kernel")]
    compiled = [each.args[0] for each in written if isinstance(each, partial)]
    assert len(compiled) > len(objectives.CLASSES) / 2
    within_reach += compiled
    kernels = [thing for thing in within_reach if hasattr(thing, "targetoptions")]
    assert len(kernels) > len(compiled)
    assert not [thing for thing in kernels if "no_cpython_wrapper" in thing.targetoptions]


@pytest.mark.compiled
def test_names_on_disk_differ():
    """Machine code, in files and once loaded, is found by name: one would get the other's."""
    names = output_of(
        "import gc\n"
        "from boostrank.objectives.engine.cache import KernelCache\n"
        "from boostrank.objectives.engine.pointers import Compiled\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "import boostrank\n"
        "own = {id(f): f for f in gc.get_objects() if isinstance(f, Dispatcher)}\n"
        "own = {id(f.py_func): f.py_func for f in own.values()}.values()\n"
        "for function in own:\n"
        "    if function.__module__.startswith('boostrank'):\n"
        "        print(f'{function.__module__}:{function.__qualname__}'.replace(' ', ''))\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, Compiled):\n"
        "        thing.dispatcher\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, KernelCache):\n"
        "        print(thing._base)\n"
    ).split()
    assert len(names) > 60
    assert len(set(names)) == len(names)


@pytest.mark.compiled
def test_pointers_are_looked_up_once(monkeypatch):
    query = [0.0, 1.0], [1, 0], [2]
    boostrank.LambdaRank().grad_hess(*query)
    lookups = []
    for cls, name in (numba.types.FunctionType, "__init__"), (Dispatcher, "get_compile_result"):
        monkeypatch.setattr(cls, name, lambda *given: lookups.append(given))
    boostrank.LambdaRank().grad_hess(*query)
    assert not lookups


def code_of(function):
    return next(iter(function.overloads.values())).library.get_llvm_str()


@pytest.mark.compiled
def test_a_helper_is_compiled_with_its_kernels_alone():
    def add_up(numbers):
        total = 0.0
        for i in range(len(numbers)):
            total += numbers[i]
        return total

    helper = jit_helper(add_up)
    kernel = numba.njit(**OPTIONS)(lambda numbers: helper(numbers))
    assert kernel(np.arange(5.0)) == 10.0
    of_helper, of_kernel = code_of(helper), code_of(kernel)
    assert "x double>" in of_kernel  # a loop over vectors
    assert "x double>" not in of_helper
    # And a helper alone yields no machine code.
    made = re.compile(r"^define (?!available_externally)", re.MULTILINE)
    assert made.search(of_kernel)
    assert not made.search(of_helper)


@pytest.mark.compiled
def test_nothing_is_collected_while_kernels_compile(monkeypatch):
    collects = []
    compile_extra = Compiler.compile_extra

    def watched(self, function):
        collects.append(gc.isenabled())
        return compile_extra(self, function)

    monkeypatch.setattr(Compiler, "compile_extra", watched)
    assert numba.njit(**OPTIONS)(lambda numbers: numbers[0])(np.arange(3.0)) == 0.0
    assert gc.isenabled()
    with pytest.raises(TypingError):
        numba.njit(**OPTIONS)(lambda numbers: numbers.unknown)(np.arange(3.0))
    assert gc.isenabled()
    assert collects == [False, False]


@pytest.mark.compiled
def test_loops_over_disjoint_arrays_do_not_ask_whether_they_overlap():
    def add(a, b):
        for i in range(len(a)):
            b[i] += a[i]

    def code_with(helper):
        kernel = numba.njit(**OPTIONS)(lambda a, b: helper(a, b))
        a, b = np.arange(99.0), np.ones(99)
        kernel(a, b)
        assert (b == a + 1.0).all()
        return code_of(kernel)

    asks = "vector.memcheck"
    assert asks in code_with(jit_helper(add))
    assert asks not in code_with(jit_disjoint(add))


def _compiled_with(helper, given):
    jit_entry(lambda some: helper(some), borrows=True)(given)
    return next(iter(helper.overloads.values()))


@pytest.mark.compiled
def test_helpers_count_no_references():
    numbers = np.arange(5.0)
    assert _compiled_with(
        jit_allocating(lambda some: some[1:][0]), numbers
    ).target_context.enable_nrt
    helper = _compiled_with(jit_helper(lambda some: some[1:][0]), numbers)
    assert not helper.target_context.enable_nrt


@pytest.mark.compiled
def test_arrays_that_nobody_would_free_are_refused():
    ones = jit_allocating(lambda n: np.ones(n))
    with pytest.raises(TypeError, match="needs jit_allocating"):
        _compiled_with(jit_helper(lambda n: ones(n)[0]), 3)
    with pytest.raises(TypeError, match="needs jit_allocating"):
        _compiled_with(jit_helper(lambda some: (some, 1.0)), np.ones(3))


@pytest.mark.compiled
def test_signatures_are_searched_once():
    """In a process of its own: whatever was compiled before changes the counts."""
    shown = output_of(
        "import numba, numpy\n"
        "from numba.core.types import Function\n"
        "searched, search = [], Function.get_call_type\n"
        "def counted(*args):\n"
        "    searched.append(args)\n"
        "    return search(*args)\n"
        "Function.get_call_type = counted\n"
        "from boostrank.objectives.engine.jit import OPTIONS, Compiler\n"
        "def inner(numbers):\n"
        "    return numbers[1] + 1.0\n"
        "def kernel(numbers):\n"
        "    return numbers[0] + max(helper(numbers), 2.0) + numbers[2]\n"
        "for options in ({**OPTIONS, 'pipeline_class': Compiler}, OPTIONS, OPTIONS):\n"
        "    searched.clear()\n"
        "    helper = numba.njit(**options)(inner)\n"
        "    assert numba.njit(**options)(kernel)(numpy.arange(3.0)) == 4.0\n"
        "    assert Function.get_call_type is counted\n"
        "    print(len(searched))\n"
    )
    by_numba, first, second = map(int, shown.split())
    assert 0 < second < first < 0.5 * by_numba


@pytest.mark.compiled
def test_signatures_are_remembered_with_their_keywords():
    orders = jit_entry(lambda x: (np.argsort(x), np.argsort(x, kind="mergesort")))
    x = np.tile([1.0, 0.0], 100)
    np.testing.assert_array_equal(orders(x)[1], np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("name", boostrank.__all__)
def test_public_docstrings_are_whole(name):
    """Numpydoc sections that a user looks for, and a runnable example."""
    thing = getattr(boostrank, name)
    assert ">>> " in thing.__doc__
    if name not in ("objective_names", "PositionBias"):  # nothing to pass
        for section in ("Parameters\n", "Raises\n"):
            assert section in thing.__doc__
