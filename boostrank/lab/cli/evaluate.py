"""`boostrank evaluate`: metrics of scores in a file."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from boostrank.datasets import load_letor
from boostrank.lab.cli.options import DATA, Convention, Data, Json
from boostrank.lab.cli.output import json_number, print_json
from boostrank.lab.cli.parsing import parse_words
from boostrank.lab.settings import Settings
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.objectives.validation import Floats

EXAMPLES = """
**Examples**

    boostrank evaluate scores.txt test.txt.gz
    boostrank evaluate scores.txt test.txt.gz --metrics ndcg@1,ndcg@10,mrr --convention trec
    boostrank evaluate scores.txt test.txt.gz --json
"""


def evaluate(
    scores: Annotated[Path, typer.Argument(help="One score per line, as 'predict' writes them.")],
    data: Data,
    metrics: Annotated[
        str,
        typer.Option(
            help="Which, with commas: dcg@k, ndcg@k, map, map@k, precision@k, recall@k, mrr, "
            "err@k, with any k.",
            rich_help_panel=DATA,
        ),
    ] = "ndcg@10,map",
    convention: Convention = Settings.convention,
    json_: Json = False,
) -> None:
    """Measure scores. Where the convention keeps the order of ties, it is the files' order."""
    names = parse_words(metrics)
    evaluate_scores([0.0], [1.0], [1], names, convention=convention)  # names, before reading
    values, read = _read_scores(scores), load_letor(data)
    if len(values) != len(read.y):
        raise ValueError(
            f"{scores} has {len(values)} scores, but the data has {len(read.y)} documents"
        )
    measured = evaluate_scores(values, read.y, read.group, names, convention=convention)
    if json_:
        print_json(
            {
                "metrics": {name: json_number(value) for name, value in measured.items()},
                "convention": convention,
                "queries": len(read.group),
                "documents": len(read.y),
            }
        )
        return
    for name, value in measured.items():
        typer.echo(f"{name}\t{value:.6f}")


def _read_scores(path: Path) -> Floats:
    scores = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            scores.append(float(line))
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: expected one score, got {line.strip()!r}"
            ) from None
    return np.array(scores, dtype=np.float64)
