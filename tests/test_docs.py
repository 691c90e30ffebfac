"""README and pages: their code runs, their commands exist, their links lead somewhere."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from boostrank.objectives import CLASSES
from boostrank.objectives.contract import Cost
from boostrank.objectives.engine import columns, divided
from boostrank.objectives.engine.swaps import TARGETS, VARIANTS

from boostrank import LambdaRank

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
DOCUMENTS = sorted(ROOT.glob("*.md")) + PAGES[1:]


def code(path, script):
    """Return the Python blocks of a page: those that are whole scripts, or the others."""
    blocks = re.findall(
        r"^ *```python\n(.*?)^ *```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [dedent(block) for block in blocks if ("__main__" in block) == script]


def with_code(script):
    pages = [path for path in PAGES if code(path, script)]
    return pytest.mark.parametrize("path", pages, ids=lambda path: path.stem)


@with_code(script=False)
def test_code_runs(path, tmp_path, monkeypatch):
    """All Python blocks of a page, one after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__pasted__"}
    for block in code(path, script=False):
        exec(compile(block, path.name, "exec"), names)


@with_code(script=True)
def test_scripts_run(path, tmp_path):
    """With one worker, because each starts slowly; test_dask.py has two."""
    for block in code(path, script=True):
        assert "n_workers=2" in block
        (tmp_path / "script.py").write_text(
            block.replace("n_workers=2", "n_workers=1"), encoding="utf-8"
        )
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("[") >= 2  # both hosts' predictions


def test_shell_commands_exist():
    """Every boostrank and make command that a document names, with its options.

    Those with a file can be run as they stand: they have the options that a command needs.
    """
    from typer.main import get_command

    from boostrank.lab.cli.app import app

    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    shell = "\n".join(re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, re.DOTALL))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    shell = "\n".join([re.sub(r" +#.*", "", shell), *re.findall(r"`(boostrank [^`\n]+)`", prose)])
    group = get_command(app)
    used = re.findall(
        r"^(?:\$ )?boostrank((?: --[a-z-]+)*)(?: ([a-z]+)(.*))?$", shell, re.MULTILINE
    )
    assert {name for _, name, _ in used} >= set(group.commands)
    own = {option for param in group.params for option in param.opts}
    for before, name, rest in used:
        assert set(before.split()) <= own
        params = group.commands[name].params if name else []
        options = {option for param in params for option in param.opts}
        given = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest))
        assert given <= options | {"--help"}
        needed = [param for param in params if param.required and param.opts[0].startswith("-")]
        if re.search(r"\.(txt|csv|parquet)", rest):
            assert all(given & set(param.opts) for param in needed), rest
    targets = re.findall(
        r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(re.findall(r"^(?:\$ )?make ([\w-]+)", shell, re.MULTILINE)) <= set(targets)


PACKAGES = [
    path.parent
    for folder in ("boostrank", "objectives")
    for path in sorted(ROOT.glob(f"{folder}/**/__init__.py"))
]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_a_packages_docstring_lists_its_modules(folder):
    lines = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    runs = re.findall(r"(?:^\w+  +\S.*\n?)+", lines, re.MULTILINE)
    listed = [line.split()[0] for line in max(runs, key=len).splitlines()]
    modules = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    if folder.name == "boostrank":
        modules.add("objectives")  # installed there
    if folder.name == "objectives":
        modules -= {cls.__module__.rpartition(".")[2] for cls in CLASSES}  # those of registry.py
    assert sorted(listed) == sorted(modules - {"__init__"})


@pytest.mark.parametrize("folder", ["tests", "notebooks", "docs"])
def test_the_first_line_of_a_file_says_what_is_there(folder):
    for path in (ROOT / folder).glob("*.py"):
        assert re.match(r'r?""".{20,}', path.read_text(encoding="utf-8")), path
    if folder != "tests":  # what makes the pages
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        for path in (ROOT / folder).glob("*.py"):
            assert f"`{path.name}`" in text, path


def test_the_first_page_leads_to_all_others():
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert path.stem == "index" or f"]({path.name})" in text, path


def test_pages_state_what_the_code_has():
    choices = [("target", target) for target in TARGETS] + [("variant", each) for each in VARIANTS]
    by_pairs = [
        value
        for name, value in choices
        if LambdaRank(**{name: value}).contract.cost == Cost.QUADRATIC
    ]
    for page, statement in (
        ("speed", f"and one of {columns.Tuning().direct} |"),
        ("speed", f"{columns.Tuning().direct} documents ({columns.RANKED.direct} with smooth"),
        ("speed", f"{columns.MANY_TERMS.direct:,} with `norm=True`"),
        ("hosts", f"sigma times offset is below {divided.LEAST}."),
        ("hosts", "`target=` {}, {} or {} or `variant=` {} or {}, ".format(*by_pairs)),
    ):
        text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
        assert statement.replace("0.", ".") in " ".join(text.split())


def anchors(path):
    """Return the anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    """Links within the repository; for external links only the syntax is checked."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:src|srcset|href)="([^"]+)"', text
    )
    for link in links:
        if "//" in link:
            assert re.fullmatch(r"https://[\w-]+(\.[\w-]+)+(/\S*)?", link)
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if file.startswith("objectives/"):  # built with the site, which checks such links
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_mathematics_of_an_objective_has_a_definition_and_ends_with_when_to_use_it(cls):
    """The site shows the last section first, and the others as they are typed."""
    doc = sys.modules[cls.__module__].__doc__
    sections = re.findall(r"^(\S.*)\n(?=    \S)", doc, re.MULTILINE)
    assert "Definition" in sections
    assert sections[-1] == "When to use"
