"""Files of scores for `boostrank evaluate`: by line, by query and place, or by documents' ids."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from boostrank.datasets import Qrels, RankingData, Run, load_qrels, load_run
from boostrank.datasets.files import check_no_pipe
from boostrank.datasets.letor import load_letor
from boostrank.datasets.runs import number_of_text, read_lines, rows_of_text, run_of_table
from boostrank.datasets.tables import Columns, are_tables, is_table, judgements, read_tables
from boostrank.objectives.validation import Floats

#: Scores of RankLib: by the query, and the document's place in it, from 0.
Places = dict[tuple[str, str], float]


def read_scores(path: Path, columns: Columns, score: str) -> Floats | Places | Run:
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


def read_qrels(data: Sequence[Path], columns: Columns) -> Qrels:
    """Read judgements by documents' ids: qrels of TREC, or data that has ids."""
    if are_tables(data, columns):
        return Qrels.of_data(judgements(read_tables(data, columns), columns))
    if all(_is_qrels(path) for path in data):
        read = [load_qrels(path) for path in data]
        return Qrels(*(np.concatenate(pieces) for pieces in zip(*read, strict=True)))
    return Qrels.of_data(load_letor(data))


def _is_qrels(path: Path) -> bool:
    fields = _first(path)
    return len(fields) == 4 and not any(":" in field for field in fields[1:3])


def with_data(
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
    if isinstance(scores, dict):
        return _in_places(path, scores, read), read
    if len(scores) != len(read.y):
        raise ValueError(
            f"{path} has {len(scores)} scores, but the data has {len(read.y)} documents"
        )
    return scores[order], read


def _in_places(path: Path, places: Places, data: RankingData) -> Floats:
    ends = np.cumsum(data.group)
    place = np.arange(len(data.y)) - np.repeat(ends - data.group, data.group)
    keys = list(zip(data.qid.astype(str).tolist(), place.astype(str).tolist(), strict=True))
    for key in keys:
        if key not in places:
            raise ValueError(
                f"{path} has no score for document {key[1]} (from 0) of query {key[0]}"
            )
    if len(places) > len(keys):
        raise ValueError(f"{path} has {len(places)} scores, but the data has {len(keys)} documents")
    return np.array([places[key] for key in keys])
