"""The site: settings, the pages that are made from docstrings, a check that nothing is fetched.

``make docs`` builds it. Nothing is fetched, neither by the build nor by a reader's browser:
formulas are shown as they are typed, figures are drawn here, fonts are the reader's own.
"""

import csv
import json
import re
import sys
import textwrap
from collections import defaultdict
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from sphinx.errors import ExtensionError

from boostrank import objectives, plot
from boostrank.lab.plot.axes import drawn
from boostrank.registry import make_objective

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
MADE = DOCS / "objectives"

project = "boostrank"
copyright = "the boostrank authors"
version = release = metadata.version("boostrank")
html_title = f"boostrank {version}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_typehints = "none"  # the docstrings say more
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Entries of their own would catch each word "default" of a type.
napoleon_custom_sections = [("Attributes", "params_style")]

# ---- docstrings ----------------------------------------------------------------------------------


def escape_docstring(app, what, name, thing, options, lines):
    """Keep absolute values from becoming substitutions, and NDCG@10 from becoming an address."""
    text, examples, rest = "\n".join(lines).partition("\nExamples\n")
    if what == "module":  # without a list of its files, which is for readers of the code
        text = re.sub(r"\n(\w+  +\S.*\n)+\Z", "", text)
        text = f".. rubric:: {name}\n   :heading-level: 2\n\n{text}"
    pieces = re.split("(`+.+?`+)", text, flags=re.DOTALL)
    pieces[::2] = (re.sub(r"([|@])", r"\\\1", piece) for piece in pieces[::2])
    lines[:] = ("".join(pieces) + examples + rest).split("\n")


# ---- pages ---------------------------------------------------------------------------------------


def mathematics(module):
    """Return a module's docstring as it is typed, and its last section, when to use it."""
    typed, _, when = module.__doc__.partition("\n")[2].strip("\n").partition("When to use\n")
    return f"```text\n{typed.rstrip()}\n```\n\n", textwrap.dedent(when)


def documented(name):
    return f"```{{eval-rst}}\n.. autoclass:: boostrank.{name}\n```\n\n"


def table(*rows):
    """Return a table whose first row is its head."""
    first, *others = (f"| {' | '.join(row)} |\n" for row in rows)
    return first + "|---" * len(rows[0]) + "|\n" + "".join(others) + "\n"


def draw(objective, path):
    """Draw the pull on a pair, and on a relevant document at every rank."""
    looks = {**plot.ANY_BACKGROUND, "svg.hashsalt": path.name}
    with drawn(str(path), looks, 9.0, 3.6, metadata={"Date": None}) as figure:
        left, right = figure.subplots(1, 2)
        shown = {"gradient": objective}
        plot.gradient_by_difference(shown, round=50, hessian=True, ax=left)
        plot.gradient_by_rank(shown, round=50, hessian=True, ax=right)
        left.set_title("one document of grade 1, one of 0", fontsize="medium")
        right.set_title("one of grade 1 among 20", fontsize="medium")
        left.legend(left.lines[:2], ("gradient", "Hessian"), frameon=False)


def results(names):
    """Return a table of what objectives reach with their defaults, from the committed file."""
    with (DOCS / "objective_results.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    rows = [(f"`{name}`", *cells) for name, *cells in rows if name in names]
    if not rows:
        return ""
    return (
        "NDCG@10 with the defaults, and the difference from LightGBM's `lambdarank` (half width of "
        f"the 95 % interval):\n\n{table(head, *rows)}"
        "Validation parts, means over three seeds, a learning rate of 0.05; printed by "
        "`python notebooks/objective_results.py`. [How well does it rank](../accuracy.md) compares "
        "the better ones.\n\n"
    )


def objective_page(names, cls):
    """Write the page of a class; it has several names if they stand for parameters."""
    made = {name: make_objective(name, {}, 100) for name in names}
    contract = next(iter(made.values())).contract
    claims = asdict(contract) | {"cost": f"{contract.cost} for a query of n documents"}
    module = sys.modules[cls.__module__]
    typed, when = mathematics(module)
    text = f"# {' and '.join(names)}\n\n{module.__doc__.partition(chr(10))[0]}\n\n"
    text += f"**When to use.** {when}\n\n"
    text += table(
        ("name", ", ".join(f"`{name}`" for name in names)),
        ("class", f"{{class}}`boostrank.{cls.__name__}`"),
        ("`hessian=`, the default first", ", ".join(f"`{name}`" for name in cls.hessians)),
        *((claim.replace("_", " "), f"{value}") for claim, value in claims.items() if value != ""),
    )
    text += "{class}`boostrank.objectives.Contract` says what these claims mean.\n\n"
    text += results(names)
    for name, objective in made.items():
        draw(objective, MADE / f"{name}.svg")
        what = " in the middle round of 100" if objective.scheduled else ""
        text += (
            f"```{{figure}} {name}.svg\n:alt: gradient and Hessian of {name}, by score difference "
            f"and by rank\n\nHow `{name}` pulls{what}: minus the gradient of the better document, "
            "by its lead in score, and of a relevant one, by its rank.\n```\n\n"
        )
    text += f"## Use\n\n{documented(cls.__name__)}## Mathematics\n\n"
    text += f"As `objectives/{Path(module.__file__).name}` states it, next to its kernels.\n\n"
    write(names[0], text + typed)


def write(page, text):
    (MADE / f"{page}.md").write_text(text, encoding="utf-8")


def make_pages(app):
    MADE.mkdir(exist_ok=True)
    classes = defaultdict(list)
    for name, cls in objectives.REGISTRY.items():
        classes[cls].append(name)
    lines = [("name", "what it is")]
    for cls, (first, *others) in classes.items():
        objective_page([first, *others], cls)
        lines.append((f"[{first}]({first}.md)", cls.__doc__.partition("\n")[0]))
    pages = "\n".join([*(names[0] for names in classes.values()), "mix", "shared"])
    write(
        "index",
        f"# Objectives\n\n[Choosing](../choosing.md) helps with which.\n\n{table(*lines)}"
        "Any two of them mix, by a schedule or in fixed shares: [mix](mix.md).\n\n"
        f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n",
    )
    typed, _ = mathematics(sys.modules["boostrank.objectives.mix"])
    write("mix", f"# Mix\n\n{documented('Mix')}## Mathematics\n\n{typed}{documented('Schedule')}")
    text = "# What they share\n\n"
    for name in ("far_field", "bisection", "hinge", "soft_indicators", "threads"):
        module = sys.modules[f"boostrank.objectives.engine.{name}"]
        first = module.__doc__.partition("\n")[0]
        text += f"## engine.{name}\n\n{first}\n\n{mathematics(module)[0]}"
    write("shared", text)
    text = (
        "# Notebooks\n\nEach runs on embedded data, in a minute or two. The comparison with GBRank "
        "takes LETOR's files from the folder that `BOOSTRANK_DATA` names; others have a variable "
        "`DATA`.\n\n"
    )
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cell = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
        heading, _, rest = "".join(cell).partition("\n")
        first = " ".join(rest.strip().partition("\n\n")[0].split())
        text += f"- {{download}}`{heading.strip('# ')} <../../notebooks/{path.name}>`: {first}\n"
    write("notebooks", text)


def link_pages(app, name, source):
    """Lead to the pages made here where a link leads a reader on GitHub to their files."""
    text = source[0].replace("](../objectives)", "](objectives/index.md)")
    source[0] = text = text.replace("](../notebooks)", "](objectives/notebooks.md)")
    if name == "index":  # the sidebar has the pages that its sections lead to
        for section in re.split("^## ", text, flags=re.MULTILINE)[1:]:
            pages = "\n".join(re.findall(r"\]\(([\w/]+)\.md\)", section))
            caption = section.partition("\n")[0]
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{pages}\n```\n"


# ---- check ---------------------------------------------------------------------------------------


def check_loads(app, error):
    """Refuse pages that load anything from elsewhere. Sphinx itself refuses links to nowhere."""
    found = [
        f"{path.name}: {address}"
        for path in Path(app.outdir).rglob("*.html")
        for address in re.findall(
            r'<(?!a\s)[^>]*\s(?:src|href)="((?:https?:)?//[^"]*)', path.read_text(encoding="utf-8")
        )
    ]
    if found and not error:
        raise ExtensionError("pages load from elsewhere:\n" + "\n".join(found))


def setup(app):
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("builder-inited", make_pages)
    app.connect("source-read", link_pages)
    app.connect("build-finished", check_loads)
