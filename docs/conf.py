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
from importlib import metadata
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from sphinx.errors import ExtensionError

from boostrank import objectives, plot
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


def escaped(text):
    """Keep absolute values from becoming substitutions, and NDCG@10 from becoming an address."""
    pieces = re.split("(`+.+?`+)", text, flags=re.DOTALL)
    pieces[::2] = (re.sub(r"([|@])", r"\\\1", piece) for piece in pieces[::2])
    return "".join(pieces)


def escape_docstring(app, what, name, thing, options, lines):
    text, examples, rest = "\n".join(lines).partition("\nExamples\n")
    if what == "module":  # a list of its files, which is for readers of the code
        text = re.sub(r"\n(\w+  +\S.*\n)+\Z", "", text)
    lines[:] = (escaped(text) + examples + rest).split("\n")


# ---- pages ---------------------------------------------------------------------------------------

SHARED = (
    "engine.far_field",
    "engine.bisection",
    "engine.hinge",
    "engine.soft_indicators",
    "engine.threads",
)


def title(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def mathematics(module):
    """Return a module's docstring as it is typed, and its last section, when to use it."""
    _, _, text = module.__doc__.partition("\n")
    text, _, when = text.strip("\n").partition("When to use\n")
    typed = ".. code-block:: text\n\n" + textwrap.indent(text.rstrip(), "    ") + "\n\n"
    return typed, escaped(textwrap.dedent(when))


def draw(objective, path):
    """Draw the pull on a pair, and on a relevant document at every rank."""
    with matplotlib.rc_context({**plot.ANY_BACKGROUND, "svg.hashsalt": path.name}):
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        drawn = {"gradient": objective}
        plot.gradient_by_difference(drawn, round=50, hessian=True, ax=left)
        plot.gradient_by_rank(drawn, round=50, hessian=True, ax=right)
        left.set_title("one document of grade 1, one of 0", fontsize="medium")
        right.set_title("one of grade 1 among 20", fontsize="medium")
        left.legend(left.lines[:2], ("gradient", "Hessian"), frameon=False)
        figure.savefig(path, metadata={"Date": None})


SETS = {"synthetic0": "synthetic, no noise", "synthetic1": "synthetic, noise",
        "mq2008": "MQ2008", "ohsumed": "OHSUMED", "yandex": "Yandex"}  # fmt: skip


#: What a Hessian is, where its name does not say it.
KINDS = {"exact": "exact", "majorizer": "an upper bound", "surrogate": "positive, stated below"}


def number(text, kind):
    """Return .7053 for 0.7053, and +.005 for 0.0048 in the format "+.3f"."""
    return f"{float(text):{kind}}".replace("0.", ".", 1)


def results(names):
    """Return a table of what objectives reach with their defaults, from the committed file."""
    with (DOCS / "objective_results.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["objective"] in names]
    if not rows:
        return ""
    text = (
        ".. list-table:: NDCG\\@10 with the defaults, and the difference from LightGBM's "
        "``lambdarank`` (half width of the 95 % interval)\n   :header-rows: 1\n\n"
        "   * - objective\n     - data\n     - best round\n     - difference\n"
        "     - all 300 rounds\n     - difference\n"
    )
    for row in rows:
        cells = [f"``{row['objective']}``", SETS[row["set"]]]
        for kind in ("best", "all"):
            gain, half = number(row[f"{kind}_gain"], "+.3f"), number(row[f"{kind}_half"], ".3f")
            cells += [number(row[kind], ".4f"), f"{gain} ({half})"]
        text += "   * - " + "\n     - ".join(cells) + "\n"
    return (
        f"{text}\nValidation parts, means over three seeds, a learning rate of 0.05; printed by "
        "``python notebooks/objective_results.py``. :doc:`../accuracy` compares the better "
        "ones.\n\n"
    )


def objective_page(names, cls):
    """Write the page of a class; it has several names if they stand for parameters."""
    made = {name: make_objective(name, {}, 100) for name in names}
    contract = next(iter(made.values())).contract
    gradient = {
        "exact": "exact",
        "frozen": f"exact with this held fixed: {contract.frozen}",
        "subgradient": "a subgradient: the loss has kinks",
    }[contract.gradient]
    module = sys.modules[cls.__module__]
    text = title(" and ".join(names))
    text += f"{module.__doc__.partition(chr(10))[0]}\n\n"
    typed, when = mathematics(module)
    text += f"**When to use.** {when}\n\n"
    facts = {
        "name": ", ".join(f"``{name}``" for name in names),
        "class": f":class:`boostrank.{cls.__name__}`",
        "gradient": gradient,
        "Hessian, the default first": ", ".join(
            f"``{name}``" + ("" if name == kind else f" ({KINDS[kind]})")
            for name, kind in cls.hessians.items()
        ),
        "labels": contract.labels,
        "time for a query": str(contract.cost),
    }
    text += ".. list-table::\n   :widths: 25 75\n   :stub-columns: 1\n\n"
    text += "".join(f"   * - {name}\n     - {fact}\n" for name, fact in facts.items()) + "\n"
    text += results(names)
    for name, objective in made.items():
        draw(objective, MADE / f"{name}.svg")
        what = " in the middle round of 100" if objective.scheduled else ""
        text += (
            f".. figure:: {name}.svg\n   :alt: gradient and Hessian of {name}, by score difference "
            f"and by rank\n\n   How ``{name}`` pulls{what}: minus the gradient of the better "
            "document, by its lead in score, and of a\n   relevant one, by its rank.\n\n"
        )
    text += title("Use", "-") + f".. autoclass:: boostrank.{cls.__name__}\n\n"
    text += title("Mathematics", "-")
    text += f"As ``objectives/{Path(module.__file__).name}`` states it, next to its kernels.\n\n"
    (MADE / f"{names[0]}.rst").write_text(text + typed, encoding="utf-8")


def make_pages(app):
    MADE.mkdir(exist_ok=True)
    classes = defaultdict(list)
    for name, cls in objectives.REGISTRY.items():
        classes[cls].append(name)
    rows = ""
    for cls, names in classes.items():
        objective_page(names, cls)
        line = cls.__doc__.partition("\n")[0].replace("``", "")
        rows += f"   * - :doc:`{names[0]}`\n     - {line}\n"
    text = title("Objectives") + ":doc:`../choosing` helps with which.\n\n"
    text += ".. list-table::\n   :widths: 30 70\n\n" + rows
    (MADE / "index.rst").write_text(
        text + "\nAny two of them mix, by a schedule or in fixed shares: :doc:`mix`.\n\n"
        ".. toctree::\n   :hidden:\n\n   "
        + "\n   ".join([*(names[0] for names in classes.values()), "mix", "shared"]),
        encoding="utf-8",
    )
    mix = sys.modules["boostrank.objectives.mix"]
    text = title("Mix") + ".. autoclass:: boostrank.Mix\n\n" + title("Mathematics", "-")
    text += mathematics(mix)[0] + ".. autoclass:: boostrank.Schedule\n"
    (MADE / "mix.rst").write_text(text, encoding="utf-8")
    text = title("What they share")
    for name in SHARED:
        module = sys.modules[f"boostrank.objectives.{name}"]
        first = module.__doc__.partition("\n")[0]
        text += f"{title(name, '-')}{first}\n\n{mathematics(module)[0]}"
    (MADE / "shared.rst").write_text(text, encoding="utf-8")
    text = title("Notebooks")
    text += (
        "Each runs on embedded data, in a minute or two. The comparison with GBRank takes LETOR's "
        "files from the\nfolder that ``BOOSTRANK_DATA`` names; others have a variable ``DATA``.\n\n"
    )
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cell = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
        heading, _, rest = "".join(cell).partition("\n")
        first = escaped(rest.strip().partition("\n\n")[0].replace("`", "``"))
        text += f":download:`{heading.strip('# ')} <../../notebooks/{path.name}>`\n    "
        text += first.replace("\n", "\n    ") + "\n\n"
    (MADE / "notebooks.rst").write_text(text, encoding="utf-8")


def link_pages(app, name, source):
    """Lead to the objectives' pages where a link leads a reader on GitHub to their files."""
    source[0] = source[0].replace("](../objectives)", "](objectives/index)")


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
