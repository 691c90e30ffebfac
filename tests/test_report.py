"""The HTML report: what it says, and that it works in a browser."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import browser
import numpy as np
import pytest
from commands import fold_of, row_of

import boostrank
from boostrank.datasets import make_ranking
from boostrank.lab.folds import rotation
from boostrank.lab.learners import Learner
from boostrank.lab.plan import Plan
from boostrank.lab.report import write_report
from boostrank.lab.results import Failure, Row, holm_p_values, verdicts
from boostrank.lab.runner import Run
from boostrank.lab.settings import Settings

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;$^$"
LONG = "sdcg:k=10,alpha=2.5,beta=0.75,hessian=exact,perturb=gumbel,seed=12345"
COMMAND = f"boostrank compare '{EVIL}.txt' --seed 0 --out {'folder/' * 40}"


@pytest.fixture(scope="module")
def parts():
    return make_ranking(20, 6, 2, seed=3).split(5, seed=0)


def _row(label, host, objective, better, baseline):
    rng = np.random.default_rng(7)
    folds = []
    for fold in (1, 3):
        values = rng.uniform(0.3, 0.6, size=4) + better * np.array([1.0, -0.25, 0.0, 1.0])
        values[fold] = np.nan  # left out by the convention
        importance = np.array([fold, 3.0 * fold]) if host == "lightgbm" else np.zeros(0)
        own = {"curve": np.linspace(0.3, 0.5 + better, 30), "importance": importance}
        folds.append(fold_of(fold, values, best_round=10 * fold, seconds_per_round=0.0015, **own))
    return Row(Learner(label, host, objective), tuple(folds), baseline, Settings())


@pytest.fixture(scope="module")
def rows():
    first = _row("lightgbm:lambdarank", "lightgbm", "lambdarank", 0.0, None)
    return [
        first,
        _row("lightgbm:rank_xendcg", "lightgbm", "rank_xendcg", -0.02, first),
        _row("shf-sdcg", "xgboost", boostrank.SHFSDCG(), 0.03, first),
        _row(EVIL, "xgboost", boostrank.SDCG(), 0.01, first),
        _row(LONG, "lightgbm", boostrank.SDCG(k=10), 0.02, first),
    ]


def _written(folder, parts, rows, failures=()):
    """Write a report and return its path."""
    folds = replace(rotation(parts), about=f"{EVIL}.txt")
    numbers = [fold.fold for fold in rows[0].folds]
    plan = Plan([row.learner for row in rows], folds, numbers, Settings(), [], "")
    path = folder / "report.html"
    write_report(path, Run(plan, rows=rows, failures=list(failures)), COMMAND)
    return path


@pytest.fixture(scope="module")
def path(rows, parts, tmp_path_factory):
    failures = [Failure(Learner(f"gbrank:{EVIL}", "xgboost", boostrank.GBRank()), f"no {EVIL}")]
    return _written(tmp_path_factory.mktemp("report"), parts, rows, failures)


class _Reader(HTMLParser):
    """Elements, attributes and texts, as a browser reads them."""

    def __init__(self, path):
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.elements = []
        self.texts = []
        self.tables = []
        self._in_cell = False
        self.feed(self.html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data):
        self.texts.append(data)
        if self._in_cell:
            self.tables[-1][-1][-1] += data

    @property
    def text(self):
        """All of it, without line ends."""
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="module")
def read(path):
    return _Reader(path)


def test_names_and_messages_never_become_markup(read):
    tags = [tag for tag, _ in read.elements]
    assert tags.count("script") == 1
    assert all(attributes["src"].startswith("data:") for tag, attributes in read.elements
               if tag == "img")  # fmt: skip
    assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)
    text = "".join(read.texts)
    # File name, command, objective in table and summary, learner that failed, error.
    assert text.count(EVIL) >= 6
    assert COMMAND in text


def test_nothing_is_fetched(read):
    for tag, attributes in read.elements:
        assert tag not in ("link", "iframe", "object", "embed")
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("data:", "#"))
    policy = next(a["content"] for _, a in read.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert not re.search(r"url\(|@import", "".join(read.texts))


def test_the_table_has_the_rows_best_first(read, rows):
    heading, *lines = read.tables[0]
    assert [text.strip() for text in heading[:7]] == [
        *("objective", "host", "NDCG@10", "difference", "p", "p (Holm)"),
        "better / equal / worse",
    ]
    ranked = sorted(rows, key=lambda row: -row.mean("ndcg@10"))
    assert [line[0].strip() for line in lines] == [row.learner.label for row in ranked]
    for line, row in zip(lines, ranked, strict=True):
        for column, metric in ((2, "ndcg@10"), (7, "ndcg@1"), (10, "map")):
            half = (row.interval(metric)[1] - row.interval(metric)[0]) / 2
            assert line[column].split() == [f"{row.mean(metric):.4f}", "±", f"{half:.4f}"]
        if row.baseline is None:
            assert [text.strip() for text in line[3:7]] == ["baseline", "", "", ""]
        else:
            assert line[3].split()[0] == f"{row.difference:+.4f}"
            assert f"{row.relative_difference:+.1%}" in " ".join(line[3].split())
            assert line[3].split()[-1].endswith(verdicts(rows)[row.learner])
            assert line[4].strip() == f"{row.p_value:.4f}"
            assert line[5].strip() == f"{holm_p_values(rows)[row.learner]:.4f}"
        assert [text.strip() for text in line[-2:]] == ["1.50", "20"]
    best = next(line for line in lines if line[0].strip() == "shf-sdcg")
    # Of four queries, each fold leaves one out: one that loses, and one that wins.
    assert best[6] == "3 / 2 / 1"


@pytest.mark.usefixtures("no_figures")
def test_the_verdict_is_a_sentence_and_queries_are_named(read, rows, parts, tmp_path):
    assert (
        "Nothing beats the baseline lightgbm:lambdarank beyond chance (p < 0.05, corrected for 4 "
        "comparisons); 4 of 4 are level with it, 0 worse."
    ) in read.text
    assert "Queries that gain most: " in read.text
    first = rows[0]
    base = Row(first.learner, first.folds * 4, None, Settings())
    named = []
    for shift in (0.1, 0.2, -0.1):
        folds = tuple(
            replace(fold, figures={name: v + shift for name, v in fold.figures.items()})
            for fold in base.folds
        )
        learner = Learner(f"{shift}", "lightgbm", boostrank.SDCG())
        named.append(Row(learner, folds, base, Settings()))
    assert list(verdicts([base, *named]).values()) == ["baseline", "better", "better", "worse"]
    text = _Reader(_written(tmp_path, parts, [base, *named])).text
    mean = base.mean("ndcg@10")
    assert (
        "0.2@lightgbm beats the baseline lightgbm:lambdarank beyond chance (p < 0.05, corrected "
        f"for 3 comparisons): +0.2000 NDCG@10 ({0.2 / mean:+.1%}), and so do 1 more of 3; "
        "0 of 3 are level with it, 1 worse."
    ) in text


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    ("others", "said"), [(1, "0.1@lightgbm beats the baseline"), (2, "Nothing beats the baseline")]
)
def test_the_headline_and_the_tags_go_by_the_corrected_p(others, said, parts, tmp_path):
    """The headline claimed what p (Holm) of the same row denied."""
    half = np.full(6, 0.5)  # six queries that gain the same: p = 2 / 2 ** 6
    rows = [row_of(Learner("base", "lightgbm", boostrank.SDCG()), half)]
    for shift in (0.1, 0.0)[:others]:
        learner = Learner(f"{shift}", "lightgbm", boostrank.SDCG())
        rows.append(row_of(learner, half + shift, base=rows[0]))
    read = _Reader(_written(tmp_path, parts, rows))
    assert rows[1].p_value == pytest.approx(0.03125)
    assert f"{said} base@lightgbm beyond chance (p < 0.05" in read.text
    best = next(line for line in read.tables[0] if line[0].strip() == "0.1")
    assert best[3].split()[-1].endswith("better" if others == 1 else "level")


def test_folds_are_those_that_were_trained_on(read):
    _, *lines = read.tables[-1]
    assert [[" ".join(text.split()) for text in line] for line in lines] == [
        [fold, "12 queries 72 documents", *["4 queries 24 documents"] * 2] for fold in ("1", "3")
    ]


@pytest.mark.usefixtures("no_figures")
def test_features_are_shares_of_the_gain(read, rows, parts, tmp_path):
    # Best first; those of XGBoost are unknown here.
    assert f"{LONG}@lightgbm: feature 2, feature 1 feature 2 75.0 % feature 1 25.0 %" in read.text
    assert f"{EVIL}@xgboost: feature" not in read.text
    named = [replace(part, names=("bm25", EVIL)) for part in parts]
    again = _Reader(_written(tmp_path, named, rows))
    tables = again.tables[1:-1]
    assert len(tables) == 3
    for table in tables:
        cells = [[cell.strip() for cell in line] for line in table]
        assert cells == [[EVIL, "", "75.0 %"], ["bm25", "", "25.0 %"]]
    assert (
        re.findall("width: (.*?)%", again.html.partition('id="features"')[2])
        == ["100.0", "33.3"] * 3
    )


def test_a_fold_without_splits_has_no_shares(rows):
    none, some = (replace(rows[0].folds[0], importance=np.array(v)) for v in ([0.0, 0.0], [1, 3]))
    both = Row(rows[0].learner, (none, some), None, Settings())
    assert both.importance.tolist() == [0.125, 0.375]


def test_figures_are_pictures_with_words(read, rows):
    images = [attributes for tag, attributes in read.elements if tag == "img"]
    # Paired differences, a learning curve for each host, two by cut-off, and the queries of all
    # but the baseline.
    assert len(images) == 1 + 2 + 2 + len(rows) - 1
    assert "paired differences" in (images[0]["alt"] or "")
    assert "Zero is the baseline" in (images[0]["alt"] or "")
    for image in images:
        kind, content = (image["src"] or "").split(",")
        assert kind == "data:image/svg+xml;base64"
        assert b"<svg" in base64.b64decode(content)[:1000]
        assert len(image["alt"] or "") > 40
    assert "lightgbm:lambdarank" in (images[-1]["alt"] or "")


def test_a_baseline_alone_and_a_test_part_of_one_query(tmp_path, parts):
    row = row_of(Learner("regression", "xgboost", boostrank.Regression()), [0.5])
    text = _Reader(_written(tmp_path, parts, [row])).html
    assert "the baseline itself" in text
    assert "There are no rows other than the baseline" in text
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text)
    assert text.count("<img") == 1  # the learning curve
    other = row_of(Learner("blend", "xgboost", boostrank.Blend()), [0.5], base=row)
    text = _Reader(_written(tmp_path, parts, [row, other])).html
    assert "query by query: mean of the paired differences" in text
    assert text.count("<img") == 3  # the difference, the learning curves, the query of the other


# In a browser ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if browser.CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome is installed")
    with browser.Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => rgb(colour).map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const page = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll("p, td, th, small, a, dt, dd, summary, figcaption")]
    .map((element) => {
      const [a, b] = [light(getComputedStyle(element).color), light(page)];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }).reduce((a, b) => Math.min(a, b));
})()"""


@pytest.mark.parametrize(("width", "scheme"), LOOKS, ids=str)
def test_it_can_be_read_wide_and_on_a_phone_light_and_dark(width, scheme, page, path, tmp_path):
    page.look(width=width, scheme=scheme)
    page.open(path.as_uri())
    assert page.evaluate("innerWidth") == width
    # What is too wide scrolls in its own box; the page does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('.scroll').scrollWidth") > 300
    if width == 390:
        # The four columns that matter, without scrolling sideways.
        box = "document.querySelector('.scroll')"
        assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
        shown = page.evaluate(
            "[...document.querySelectorAll('table.sortable thead th')]"
            ".filter((th) => th.offsetWidth > 0).map((th) => th.textContent)"
        )
        assert shown == ["objective", "NDCG@10", "difference", "p (Holm)"]
        assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
    assert page.evaluate(CONTRAST) >= 4.5
    brightness = page.evaluate(
        "Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g))"
    )
    turned = page.evaluate("getComputedStyle(document.querySelector('img')).filter")
    if scheme == "light":
        assert (brightness, turned) == (255, "none")
    else:
        assert brightness < 50
        assert "invert(1)" in turned
    assert page.evaluate(
        "[...document.images].every((image) => image.complete && image.naturalWidth > 100)"
    )
    # `pytest --basetemp=out/pictures tests/test_report.py` keeps them for inspection.
    assert len(page.picture(tmp_path / f"{width}-{scheme}.png")) > 10_000

    told = [event["method"] for event in page.events]
    trouble = "Runtime.exceptionThrown Runtime.consoleAPICalled Log.entryAdded"
    assert not {*trouble.split(), "Page.javascriptDialogOpening"} & set(told)
    asked = [event["params"]["request"]["url"] for event in page.events
             if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert asked[0] == path.as_uri()
    assert all(url.startswith("data:") for url in asked[1:])


FIRST = "[...document.querySelectorAll('table.sortable tbody tr')].map((row) => row.cells[{}].{})"


def test_headings_sort_by_mouse_and_by_keyboard(page, path, rows):
    page.look(width=1280, scheme="light")
    page.open(path.as_uri())

    def column(index):
        return page.evaluate(FIRST.format(index, "textContent.trim()"))

    def sorted_by():
        return page.evaluate(
            "[...document.querySelectorAll('[aria-sort]')].map((heading) =>"
            " [heading.textContent, heading.getAttribute('aria-sort')])"
        )

    buttons = "document.querySelectorAll('table.sortable thead button')"
    labels = [row.learner.label for row in rows]
    by_map = sorted(labels, key=lambda label: rows[labels.index(label)].mean("map"))
    assert column(0) == by_map[::-1]
    assert sorted_by() == [["NDCG@10", "descending"]]
    place = page.evaluate(
        f"(() => {{ const box = {buttons}[10].getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    for expected, order in ((by_map[::-1], "descending"), (by_map, "ascending")):
        for kind in ("mousePressed", "mouseReleased"):
            page.call(
                "Input.dispatchMouseEvent",
                type=kind, x=place[0], y=place[1], button="left", clickCount=1,
            )  # fmt: skip
        assert column(0) == expected
        assert sorted_by() == [["MAP", order]]
    # By keyboard, and by name.
    page.evaluate(f"{buttons}[0].focus()")
    page.press("Enter")
    assert column(0) == page.evaluate(f"{sorted(labels)}.sort((a, b) => a.localeCompare(b))")
    page.press("Space")
    assert sorted_by() == [["objective", "descending"]]
    # The baseline has no p: it stays last, up and down.
    page.evaluate(f"{buttons}[4].focus()")
    for _ in range(2):
        page.press("Enter")
        assert column(4)[-1] == ""
        assert "" not in column(4)[:-1]


def test_without_javascript_it_is_a_plain_table(page, path, rows):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(path.as_uri())
        assert page.evaluate("document.querySelectorAll('button').length") == 0
        assert page.evaluate("document.querySelectorAll('table.sortable tbody tr').length") == len(
            rows
        )
        assert "Click a heading to sort" not in page.evaluate("document.body.innerText")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
