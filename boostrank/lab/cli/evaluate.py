"""`boostrank evaluate`: metrics of scores in a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from boostrank.datasets import Qrels, RankingData, Run, load_qrels, load_run
from boostrank.datasets.files import check_no_pipe, rows_of_text
from boostrank.datasets.letor import load_letor
from boostrank.datasets.runs import number_of_text, read_lines, run_of_table
from boostrank.datasets.tables import Columns, are_tables, is_table, judgements, read_tables
from boostrank.lab.cli import options
from boostrank.lab.cli.output import print_json, say
from boostrank.lab.plan import counted_queries, queries_left_out
from boostrank.lab.settings import ORDER_METRICS, Settings
from boostrank.metrics import CONVENTIONS, evaluate_run
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.metrics.definitions import parse_name
from boostrank.objectives.validation import Floats

#: Scores of RankLib: by the query, and the document's place in it, from 0.
Places = dict[tuple[str, str], float]

EXAMPLES = """
**Examples**

    boostrank evaluate scores.txt test.txt.gz
    boostrank evaluate scores.txt test.txt.gz --metrics ndcg@10,mrr
    boostrank evaluate scores.txt test.txt.gz --json
    boostrank evaluate run.trec qrels.txt --metrics ndcg@10,map,mrr
    boostrank evaluate scores.csv test.csv --doc-id url
"""


def evaluate(
    scores: Annotated[
        Path,
        typer.Argument(
            help="One score per line, as 'predict' writes them; or a score file of RankLib, a run "
            "of TREC, or CSV or parquet with query, document and score."
        ),
    ],
    data: options.Data,
    metrics: Annotated[
        str | None,
        options.of_data(
            help="Metrics, comma-separated: dcg@k, ndcg@k, map, map@k, precision@k, recall@k, mrr, "
            "err@k, for any k; rbp@0.8, for any persistence; spearman, kendall, pearson, auc; "
            "logloss, brier, ece. By default ndcg@10,map, or spearman,kendall,pearson for labels "
            "that are no grades."
        ),
    ] = None,
    label: options.Label = Columns.label,
    qid: options.Qid = Columns.qid,
    doc_id: options.DocId = "doc_id",
    score: Annotated[str, options.of_data(help="CSV and parquet: the column of scores.")] = "score",
    convention: Annotated[
        str | None,
        options.of_data(
            help=f"Whose rules the metrics follow: {', '.join(CONVENTIONS)}. By default "
            f"{Settings.convention}, and trec for scores by documents' ids.",
            autocompletion=options.completion(lambda: CONVENTIONS),
        ),
    ] = None,
    gain: options.Gain = None,
    top: Annotated[
        float | None,
        options.of_data(
            help="The top grade of the scale, for err, logloss, brier and ece. By default the "
            "largest label of the data."
        ),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Measure scores. If the convention keeps the order of ties, it is the files' order.

    Scores by documents' ids are joined to the data, or to judgements of TREC (qrels), as in
    trec_eval: documents without a judgement count as not relevant, and judged ones without a score
    as not found.
    """
    names = ["ndcg@10", "map"] if metrics is None else options.parse_words(metrics)
    settings = Settings(
        convention=convention or Settings.convention, gain=options.parse_gain(gain), top=top
    )
    evaluate_scores([0.0], [0.0], [1], names, **settings.rules)  # checks the names, before reading
    columns = Columns(label, qid, doc_id=doc_id)
    read = _read_scores(scores, columns, score)
    if isinstance(read, Run):
        settings = replace(settings, convention=convention or "trec")
        judged = _read_qrels(data, columns)
        measured = evaluate_run(read, judged, names, **settings.rules)
        counted = {"queries": len(set(read.qid) & set(judged.qid)), "documents": len(read.scores)}
        if convention is None:  # the same scores without ids are measured by other rules
            say("convention trec, since the scores have documents' ids")
    else:
        values, documents = _with_data(scores, read, data, columns)
        if metrics is None and not settings.for_labels(documents.y, chosen=False).graded:
            names = list(ORDER_METRICS)
        measured = evaluate_scores(values, documents.y, documents.group, names, **settings.rules)
        if parse_name(names[0], settings.convention).larger_is_better:  # all count in the others
            settings = replace(settings, metric=names[0])
            if left_out := queries_left_out(counted_queries(documents, settings), settings):
                say(left_out)
        counted = {"queries": len(documents.group), "documents": len(documents.y)}
    if json_:
        print_json({"metrics": measured, **settings.rules, **counted})
        return
    for name, value in measured.items():
        typer.echo(f"{name}\t{value:.6f}")


def _read_scores(path: Path, columns: Columns, score: str) -> Floats | Places | Run:
    """Read a file of scores; its form is that of its first line."""
    if is_table(path):
        assert columns.doc_id is not None
        return run_of_table(read_tables([path], columns)[0], columns.qid, columns.doc_id, score)
    n_fields = len(_first(path))
    if n_fields == 6:
        return load_run(path)
    if n_fields == 3:
        qid, place, of_places = read_lines(path, "query place score", _placed)
        keys = zip(qid.tolist(), place.tolist(), strict=True)
        return dict(zip(keys, of_places.tolist(), strict=True))
    scores = []
    for number, fields in rows_of_text(path):
        where = f"{path}, line {number}"
        if len(fields) != 1:
            raise ValueError(
                f"{where}: expected one score, got {' '.join(fields)[:40]!r}; a run of TREC has "
                "six fields on each line, a score file of RankLib three"
            )
        scores.append(number_of_text(where, "one score", fields[0]))
    return np.array(scores, dtype=np.float64)


def _first(path: Path) -> list[str]:
    """Return the fields of the first line that is not blank, of a file that is then read whole."""
    check_no_pipe(path)
    return next((fields for _, fields in rows_of_text(path)), [])


def _placed(where: str, fields: list[str]) -> tuple[str, float]:
    if not fields[1].isdecimal():
        raise ValueError(
            f"{where}: expected 'query place score' as RankLib writes it, the place from 0, "
            f"got {' '.join(fields)[:40]!r}"
        )
    return str(int(fields[1])), number_of_text(where, "a score", fields[2])


def _read_qrels(data: Sequence[Path], columns: Columns) -> Qrels:
    """Read judgements by documents' ids: qrels of TREC, or data that has ids."""
    if are_tables(data, columns):
        return Qrels.of_data(judgements(read_tables(data, columns), columns))
    if all(_is_qrels(path) for path in data):
        read = [load_qrels(path) for path in data]
        return Qrels(*(np.concatenate(pieces) for pieces in zip(*read, strict=True)))
    return Qrels.of_data(load_letor(data))


def _is_qrels(path: Path) -> bool:
    fields = _first(path)
    # In svmlight, the query or a feature follows the label. An id may have a colon, as URLs have.
    return len(fields) == 4 and ":" not in fields[1]


def _with_data(
    path: Path, scores: Floats | Places, data: Sequence[Path], columns: Columns
) -> tuple[Floats, RankingData]:
    """Return scores and data, both in the order of queries."""
    if are_tables(data, columns):
        named = Columns(columns.label, columns.qid)
        read = judgements(read_tables(data, named), named)
        order = read.X[:, 0].astype(np.int64)  # the documents' rows in the files
    else:
        if _is_qrels(data[0]):
            raise ValueError(
                f"{data[0]} holds judgements by documents' ids, so {path} must hold scores by ids: "
                "'query Q0 document rank score tag' on each line, or a table"
            )
        read = load_letor(data)
        order = np.arange(len(read.y))
    n_scores = len(scores)
    if isinstance(scores, dict):
        place = np.concatenate([np.arange(size) for size in read.group])
        keys = list(zip(read.qid.astype(str).tolist(), place.astype(str).tolist(), strict=True))
        for qid, at in keys:
            if (qid, at) not in scores:
                raise ValueError(f"{path} has no score for document {at} (from 0) of query {qid}")
        scores, order = np.array([scores[key] for key in keys]), np.arange(len(keys))
    if n_scores != len(read.y):
        raise ValueError(f"{path} has {n_scores} scores, but the data has {len(read.y)} documents")
    return scores[order], read
