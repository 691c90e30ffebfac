"""Options that several commands share."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from boostrank.lab.rivals import TRAINERS
from boostrank.metrics import CONVENTIONS

# Headings of groups of options.
LEARNERS, DATA, TREES, OUTPUT = "What is trained", "Data and metrics", "Trees", "Output"


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
Label = Annotated[
    str, typer.Option(help="CSV and parquet: the column of grades.", rich_help_panel=DATA)
]
Qid = Annotated[
    str, typer.Option(help="CSV and parquet: the column of query ids.", rich_help_panel=DATA)
]
DocId = Annotated[
    str,
    typer.Option(
        help="CSV and parquet: the column of documents' ids, by which scores find their documents.",
        rich_help_panel=DATA,
    ),
]
Drop = Annotated[
    str,
    typer.Option(
        help="CSV and parquet: columns that are not features, comma-separated.",
        rich_help_panel=DATA,
    ),
]
Categorical = Annotated[
    str,
    typer.Option(
        help="CSV and parquet: features whose values have no order, comma-separated.",
        rich_help_panel=DATA,
    ),
]
Rounds = Annotated[int, typer.Option(help="Number of trees.", rich_help_panel=TREES)]
LearningRate = Annotated[float, typer.Option(help="Shrinkage per tree.", rich_help_panel=TREES)]
Leaves = Annotated[int, typer.Option(help="Leaves per tree.", rich_help_panel=TREES)]
MinDocs = Annotated[
    int,
    typer.Option(help="Minimum documents per leaf (LightGBM only).", rich_help_panel=TREES),
]
Threads = Annotated[int, typer.Option(help="For host and objective alike.", rich_help_panel=TREES)]
Seed = Annotated[
    int,
    typer.Option(help="Seed for shuffling, splitting, hosts and tests.", rich_help_panel=TREES),
]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Keep the files' order of documents, which may be a ranker's.",
        rich_help_panel=DATA,
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        help=f"Whose rules the metrics follow: {', '.join(CONVENTIONS)}.",
        autocompletion=completion(lambda: CONVENTIONS),
        rich_help_panel=DATA,
    ),
]
Gain = Annotated[
    str | None,
    typer.Option(
        help="What a grade is worth to metrics and objectives: exponential (2^y - 1), linear (for "
        "prices, probabilities, ranks), or one number for each grade from 0: 0,1,3,10. By "
        "default, metrics use the convention's gain, and objectives their own.",
        rich_help_panel=DATA,
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        help="Hosts, comma-separated. By default those of lightgbm and xgboost that are "
        "installed, for tune only the first of them; compare also takes catboost, for CatBoost's "
        "own objectives.",
        autocompletion=completion(lambda: TRAINERS),
        rich_help_panel=LEARNERS,
    ),
]
Forward = Annotated[
    bool,
    typer.Option(
        "--forward",
        help="Train only on queries that come before those that test, in the order of the data: "
        "for queries that are dates.",
        rich_help_panel=DATA,
    ),
]
Gap = Annotated[
    int,
    typer.Option(
        help="With --forward: queries to leave out before those that test, for labels that look "
        "ahead.",
        rich_help_panel=DATA,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Metric to choose rounds and to compare: ndcg@k, map, mrr, err@k, precision@k, "
        "spearman, logloss, ... By default ndcg@10, or spearman for labels that are no grades.",
        rich_help_panel=DATA,
    ),
]
Params = Annotated[
    Path | None,
    typer.Option(
        help='JSON file with parameters of the hosts, {"lightgbm": {"max_bin": 63}}, or of the '
        "only host without its name. They take precedence over the options here.",
        rich_help_panel=TREES,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the result as JSON, and nothing else.", rich_help_panel=OUTPUT
    ),
]
