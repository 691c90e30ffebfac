"""`boostrank evaluate`: metrics of scores in a file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from boostrank.datasets.runs import Run
from boostrank.datasets.tables import Columns
from boostrank.lab.cli.options import Data, DocId, Gain, Json, Label, Qid, completion, of_data
from boostrank.lab.cli.output import json_number, print_json, say
from boostrank.lab.cli.parsing import parse_gain, parse_words
from boostrank.lab.cli.scores import read_qrels, read_scores, with_data
from boostrank.lab.plan import counted_queries, queries_left_out
from boostrank.lab.settings import ORDER_METRICS, Settings
from boostrank.metrics import CONVENTIONS, evaluate_run
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.metrics.definitions import parse_name

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
    data: Data,
    metrics: Annotated[
        str | None,
        of_data(
            help="Metrics, comma-separated: dcg@k, ndcg@k, map, map@k, precision@k, recall@k, mrr, "
            "err@k, for any k; rbp@0.8, for any persistence; spearman, kendall, pearson, auc; "
            "logloss, brier, ece. By default ndcg@10,map, or spearman,kendall,pearson for labels "
            "that are no grades."
        ),
    ] = None,
    label: Label = Columns.label,
    qid: Qid = Columns.qid,
    doc_id: DocId = "doc_id",
    score: Annotated[str, of_data(help="CSV and parquet: the column of scores.")] = "score",
    convention: Annotated[
        str | None,
        of_data(
            help=f"Whose rules the metrics follow: {', '.join(CONVENTIONS)}. By default "
            f"{Settings.convention}, and trec for scores by documents' ids.",
            autocompletion=completion(lambda: CONVENTIONS),
        ),
    ] = None,
    gain: Gain = None,
    top: Annotated[
        float | None,
        of_data(
            help="The top grade of the scale, for err, logloss, brier and ece. By default the "
            "largest label of the data."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Measure scores. If the convention keeps the order of ties, it is the files' order.

    Scores by documents' ids are joined to the data, or to judgements of TREC (qrels), as in
    trec_eval: documents without a judgement count as not relevant, and judged ones without a score
    as not found.
    """
    names = ["ndcg@10", "map"] if metrics is None else parse_words(metrics)
    settings = Settings(
        convention=convention or Settings.convention, gain=parse_gain(gain), top=top
    )
    evaluate_scores([0.0], [0.0], [1], names, **settings.rules)  # checks the names, before reading
    columns = Columns(label, qid, doc_id=doc_id)
    read = read_scores(scores, columns, score)
    if isinstance(read, Run):
        settings = replace(settings, convention=convention or "trec")
        judged = read_qrels(data, columns)
        measured = evaluate_run(read, judged, names, **settings.rules)
        counted = {"queries": len(set(read.qid) & set(judged.qid)), "documents": len(read.scores)}
        if convention is None:  # the same scores without ids are measured by other rules
            say("convention trec, since the scores have documents' ids")
    else:
        values, documents = with_data(scores, read, data, columns)
        if metrics is None and not settings.for_labels(documents.y, chosen=False).graded:
            names = list(ORDER_METRICS)
        measured = evaluate_scores(values, documents.y, documents.group, names, **settings.rules)
        if parse_name(names[0], settings.convention).larger_is_better:  # all count in the others
            settings = replace(settings, metric=names[0])
            if left_out := queries_left_out(counted_queries(documents, settings), settings):
                say(left_out)
        counted = {"queries": len(documents.group), "documents": len(documents.y)}
    if json_:
        print_json(
            {
                "metrics": {name: json_number(value) for name, value in measured.items()},
                **settings.rules,
                **counted,
            }
        )
        return
    for name, value in measured.items():
        typer.echo(f"{name}\t{value:.6f}")
