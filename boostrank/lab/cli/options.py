"""Options that several commands share."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from boostrank.lab.rivals import TRAINERS
from boostrank.metrics import CONVENTIONS

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
