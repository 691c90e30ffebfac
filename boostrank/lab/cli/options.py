"""Options that several commands share, and what users write in them: lists, parameters, gains."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from boostrank import presets
from boostrank.datasets.files import reading
from boostrank.datasets.tables import Columns
from boostrank.lab.models import TRAINERS
from boostrank.lab.settings import Settings
from boostrank.metrics import CONVENTIONS
from boostrank.objectives.validation import check_choice

PRESETS = ("regularized",)
# `typer.Option` under each of the headings.
of_learners, of_data, of_trees, of_output = (
    partial(typer.Option, rich_help_panel=heading)
    for heading in ("What is trained", "Data and metrics", "Trees", "Output")
)


def completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes the last of several comma-separated names."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete


Data = Annotated[
    list[Path],
    typer.Argument(help="Files, read as one: svmlight with qid (LETOR; also .gz), CSV or parquet."),
]
Label = Annotated[str, of_data(help="CSV and parquet: the column of grades.")]
Qid = Annotated[str, of_data(help="CSV and parquet: the column of query ids.")]
DocId = Annotated[
    str,
    of_data(
        help="CSV and parquet: the column of documents' ids, by which scores find their documents."
    ),
]
Drop = Annotated[
    str, of_data(help="CSV and parquet: columns that are not features, comma-separated.")
]
Categorical = Annotated[
    str, of_data(help="CSV and parquet: features whose values have no order, comma-separated.")
]
Rounds = Annotated[int, of_trees(help="Number of trees.")]
LearningRate = Annotated[float, of_trees(help="Shrinkage per tree.")]
Leaves = Annotated[int, of_trees(help="Leaves per tree.")]
MinDocs = Annotated[int, of_trees(help="Minimum documents per leaf (LightGBM only).")]
Threads = Annotated[int, of_trees(help="For host and objective alike.")]
Seed = Annotated[int, of_trees(help="Seed for shuffling, splitting, hosts and tests.")]
KeepOrder = Annotated[
    bool,
    of_data("--keep-order", help="Keep the files' order of documents, which may be a ranker's."),
]
Convention = Annotated[
    str,
    of_data(
        help=f"Whose rules the metrics follow: {', '.join(CONVENTIONS)}.",
        autocompletion=completion(lambda: CONVENTIONS),
    ),
]
Gain = Annotated[
    str | None,
    of_data(
        help="What a grade is worth to metrics and objectives: exponential (2^y - 1), linear (for "
        "prices, probabilities, ranks), or one number for each grade from 0: 0,1,3,10. By "
        "default, metrics use the convention's gain, and objectives their own."
    ),
]
Hosts = Annotated[
    str | None,
    of_learners(
        help="Hosts, comma-separated. By default those of lightgbm and xgboost that are "
        "installed, for tune only the first of them; compare also takes catboost, for CatBoost's "
        "own objectives.",
        autocompletion=completion(lambda: TRAINERS),
    ),
]
Forward = Annotated[
    bool,
    of_data(
        "--forward",
        help="Train only on queries that come before those that test, in the order of the data: "
        "for queries that are dates.",
    ),
]
Gap = Annotated[
    int,
    of_data(
        help="With --forward: queries to leave out before those that test, for labels that look "
        "ahead."
    ),
]
METRIC = (
    "Metric to choose rounds and to compare: ndcg@k, map, mrr, err@k, precision@k, spearman, "
    "logloss, ... By default ndcg@10, or spearman for labels that are no grades."
)
Metric = Annotated[str | None, of_data(help=METRIC)]
Metrics = Annotated[
    str | None,
    of_data(
        "--metric",
        help=f"{METRIC} Of several, comma-separated, the first does this, and the others are only "
        "reported.",
    ),
]
Params = Annotated[
    Path | None,
    of_trees(
        help='JSON file with parameters of the hosts, {"lightgbm": {"max_bin": 63}}, or of the '
        "only host without its name. They take precedence over the options here, and tune leaves "
        "them as they are."
    ),
]
Json = Annotated[bool, of_output("--json", help="Print the result as JSON, and nothing else.")]


def read_params(path: Path | None, hosts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the hosts' parameters from a JSON file, by host; a single host may be left unnamed."""
    if path is None:
        return {}
    expected = '{"lightgbm": {"name": value}, "xgboost": {...}}'
    with reading(path):
        read = read_json(path, path.read_text(encoding="utf-8-sig"), expected)
    if isinstance(read, dict) and len(hosts) == 1 and not set(read) & set(TRAINERS):
        read = {hosts[0]: read}
    if not isinstance(read, dict) or not all(isinstance(own, dict) for own in read.values()):
        raise ValueError(f"{path}: expected {expected}, got {json.dumps(read)[:60]}")
    found = {check_choice(f"host in {path}", host, TRAINERS): own for host, own in read.items()}
    if found and hosts and not set(found) & set(hosts):
        raise ValueError(
            f"{path} has parameters only of {', '.join(found)}, and the training is on "
            f"{', '.join(hosts)}: name the host of the file, or leave the file out"
        )
    return found


def read_json(path: Path, text: str, expected: str) -> Any:
    """Read the text of a JSON file, in which a user has written what is `expected`."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); expected {expected}"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, in which no name comes twice."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is there twice")
    return dict(pairs)


def with_preset(
    preset: str | None, params: dict[str, dict[str, Any]], leaves: int | None = None
) -> dict[str, dict[str, Any]]:
    """Return the hosts' parameters on top of those of ``--preset regularized``.

    Parameters of the preset that have an option of their own, such as ``--learning-rate``, are left
    out, and the leaves if they are given.
    """
    if preset is None:
        return params
    check_choice("preset", preset, PRESETS)
    chosen = {}
    for host, model in TRAINERS.items():
        options = set(model.shared(Settings()))
        if leaves is None:
            options -= {"num_leaves", "max_leaves"}
        own = presets.REGULARIZED.get(host, {})
        chosen[host] = {name: value for name, value in own.items() if name not in options}
        chosen[host] |= model.with_usual_names(params.get(host, {}))
    return chosen


def parse_gain(text: str | None) -> str | tuple[float, ...] | None:
    """Read a word, or comma-separated numbers."""
    if text is None or text.replace("-", "").isalpha():
        return text
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise ValueError(
            "gain is exponential, linear, or comma-separated numbers, one for each grade from 0, "
            f"such as 0,1,3,10; got {text!r}"
        ) from None


def parse_counts(name: str, text: str) -> list[int]:
    """Read comma-separated numbers."""
    try:
        return [int(piece) for piece in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} are comma-separated numbers, such as 1,2; got {text!r}") from None


def parse_words(text: str) -> list[str]:
    """Read comma-separated words."""
    return [piece.strip() for piece in text.split(",")]


def check_gap(forward: bool, gap: int) -> None:
    """Refuse a gap in folds that do not go forward."""
    if gap and not forward:
        raise ValueError("--gap leaves out queries before those that test: give --forward too")


def columns(
    label: str, qid: str, drop: str, categorical: str, doc_id: str | None = None
) -> Columns:
    """Return the columns that a user has named."""
    return Columns(
        label,
        qid,
        parse_words(drop) if drop else (),
        parse_words(categorical) if categorical else (),
        doc_id,
    )
