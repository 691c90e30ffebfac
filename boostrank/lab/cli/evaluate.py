"""`boostrank evaluate`: metrics of scores in a file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from boostrank.datasets import RankingData, load_letor
from boostrank.datasets.tables import Columns, is_table, parts_of_frames, read_frame
from boostrank.lab.cli.options import DATA, Convention, Data, Gain, Json, Label, Qid
from boostrank.lab.cli.output import json_number, print_json
from boostrank.lab.cli.parsing import parse_gain, parse_words
from boostrank.lab.plan import queries_left_out
from boostrank.lab.settings import ORDER_METRICS, Settings
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.metrics.definitions import parse_name
from boostrank.objectives.validation import Floats, check_choice

_SCORE = "boostrank: score"

EXAMPLES = """
**Examples**

    boostrank evaluate scores.txt test.txt.gz
    boostrank evaluate scores.txt test.txt.gz --metrics ndcg@10,mrr
    boostrank evaluate scores.txt test.txt.gz --json
"""


def evaluate(
    scores: Annotated[Path, typer.Argument(help="One score per line, as 'predict' writes them.")],
    data: Data,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Metrics, comma-separated: dcg@k, ndcg@k, map, map@k, precision@k, recall@k, mrr, "
            "err@k, for any k; rbp@0.8, for any persistence; spearman, kendall, pearson, auc; "
            "logloss, brier, ece. By default ndcg@10,map, or spearman,kendall,pearson for labels "
            "that are no grades.",
            rich_help_panel=DATA,
        ),
    ] = None,
    label: Label = Columns.label,
    qid: Qid = Columns.qid,
    convention: Convention = Settings.convention,
    gain: Gain = None,
    json_: Json = False,
) -> None:
    """Measure scores. If the convention keeps the order of ties, it is the files' order."""
    settings = Settings(convention=convention, gain=parse_gain(gain))
    names = ["ndcg@10", "map"] if metrics is None else parse_words(metrics)
    rules = settings.rules
    evaluate_scores([0.0], [0.0], [1], names, **rules)  # checks the names, before reading
    values, read = _with_scores(scores, data, Columns(label, qid))
    if metrics is None and not settings.for_labels(read.y, chosen=False).graded:
        names = list(ORDER_METRICS)
    measured = evaluate_scores(values, read.y, read.group, names, **rules)
    for name in names[:1]:
        if parse_name(name, convention).larger_is_better:  # all queries count in the others
            _say(queries_left_out(read, replace(settings, metric=name)))
    if json_:
        print_json(
            {
                "metrics": {name: json_number(value) for name, value in measured.items()},
                **rules,
                "queries": len(read.group),
                "documents": len(read.y),
            }
        )
        return
    for name, value in measured.items():
        typer.echo(f"{name}\t{value:.6f}")


def _say(note: str) -> None:
    if note:
        typer.echo(f"boostrank: {note}", err=True)


def _with_scores(scores: Path, data: list[Path], named: Columns) -> tuple[Floats, RankingData]:
    """Return scores and data, both in the order of queries."""
    values = _read_scores(scores)

    def check(n_docs: int) -> None:
        if len(values) != n_docs:
            raise ValueError(
                f"{scores} has {len(values)} scores, but the data has {n_docs} documents"
            )

    if not any(map(is_table, data)):
        read = load_letor(data)
        check(len(read.y))
        return values, read
    frames = [read_frame(path) for path in data]
    check(sum(map(len, frames)))
    # As the only feature, the scores are sorted with their documents.
    ends = np.cumsum([len(frame) for frame in frames])
    for frame, own in zip(frames, np.split(values, ends[:-1]), strict=True):
        for name in (named.label, named.qid):
            check_choice("column", name, map(str, frame.columns))
        frame[_SCORE] = own
    parts = parts_of_frames([frame[[named.label, named.qid, _SCORE]] for frame in frames], named)
    read = RankingData.concat(parts)
    return read.X[:, 0], read


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
