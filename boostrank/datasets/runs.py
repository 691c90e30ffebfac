"""Runs and judgements of documents by their ids, as TREC writes them."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.datasets.files import rows_of_text
from boostrank.datasets.frames import NUMBER
from boostrank.datasets.ranking_data import RankingData
from boostrank.datasets.tables import ids_of
from boostrank.messages import warn
from boostrank.objectives.validation import Floats, Integers, check_scores

Strings = npt.NDArray[np.str_]


class Run(NamedTuple):
    """Scores of documents by their ids.

    Attributes
    ----------
    qid, doc_id, scores : str arrays and float64 array (n_docs,)
    """

    qid: Strings
    doc_id: Strings
    scores: Floats

    def to_trec(self, tag: str) -> str:
        """Return the run as TREC writes it: ``query Q0 document rank score tag`` on each line.

        Parameters
        ----------
        tag : str
            Name of the run.

        Returns
        -------
        str
            By query, best document first. Scores are written in full: `load_run` reads the same.

        Raises
        ------
        ValueError
            For an id or a tag that is empty or has white space, a score that is not finite, fields
            of different lengths, and a document that a query has twice.

        Examples
        --------
        >>> from boostrank.datasets import Run
        >>> print(Run(["7", "7"], ["a", "b"], [0.5, 2.0]).to_trec("mine").rstrip())
        7 Q0 b 1 2.0 mine
        7 Q0 a 2 0.5 mine
        """
        keys, scores = _keys(self), check_scores(self.scores).tolist()
        qids, docs = zip(*keys, strict=True) if keys else ((), ())
        for name, ids in ("tag", [tag]), ("qid", qids), ("doc_id", docs):
            for text in ids:
                if text.split() != [text]:
                    raise ValueError(
                        f"{name} must be a word in a run of TREC, whose fields are separated by "
                        f"white space, got {text!r}"
                    )
        rows: dict[str, dict[str, float]] = {}
        for (own, doc), score in zip(keys, scores, strict=True):
            rows.setdefault(own, {})[doc] = score
        return "".join(
            f"{own} Q0 {doc} {rank} {score!r} {tag}\n"
            for own, found in rows.items()
            for rank, (doc, score) in enumerate(sorted(found.items(), key=lambda each: -each[1]), 1)
        )


class Qrels(NamedTuple):
    """Grades of documents by their ids.

    Attributes
    ----------
    qid, doc_id, y : str arrays and float64 array (n_docs,)
    """

    qid: Strings
    doc_id: Strings
    y: Floats

    @classmethod
    def of_data(cls, data: RankingData) -> "Qrels":
        """Return the grades of documents that have ids."""
        if data.doc_id is None:
            raise ValueError(
                "the scores go by documents' ids, but the data have none: LETOR files have them in "
                "comments '#docid = X' on every line, tables in a column"
            )
        return cls(data.qid.astype(str), data.doc_id.astype(str), data.y)


def number_of_text(where: str, what: str, text: str) -> float:
    """Return a number that a file holds as text."""
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: expected {what}, a finite number, got {text[:40]!r}")
    return number


def _keys(
    entries: tuple[Any, Any, Any], where: Callable[[int], str] = lambda _: ""
) -> list[tuple[str, str]]:
    """Return query and document of each entry; `where` begins the error if one comes twice."""
    sizes = [len(each) for each in entries]
    if len(set(sizes)) > 1:
        raise ValueError(
            "qid, doc_id and scores or grades must have one entry for each document, got "
            f"{sizes[0]}, {sizes[1]} and {sizes[2]}"
        )
    texts = (np.asarray(ids).astype(str).tolist() for ids in entries[:2])
    keys = list(zip(*texts, strict=True))
    seen: set[tuple[str, str]] = set()
    for entry, key in enumerate(keys):
        if key in seen:
            raise ValueError(f"{where(entry)}document {key[1]} of query {key[0]} is there twice")
        seen.add(key)
    return keys


def read_lines(
    path: str | Path, form: str, parse: Callable[[str, list[str]], tuple[str, float]]
) -> tuple[Strings, Strings, Floats]:
    """Read lines of as many fields as `form` names, the first of which is the query.

    ``parse(where, fields)`` returns the document and the number of a line; `where` is the place
    that an error names. Returned are queries, documents and numbers.
    """
    entries = []
    for number, fields in rows_of_text(path):
        where = f"{path}, line {number}"
        if len(fields) != len(form.split()):
            raise ValueError(f"{where}: expected '{form}', got {len(fields)} fields")
        entries.append((number, fields[0], *parse(where, fields)))
    if not entries:
        raise ValueError(f"{path} holds no documents")
    numbers, qid, doc_id, values = zip(*entries, strict=True)
    _keys((qid, doc_id, values), lambda entry: f"{path}, line {numbers[entry]}: ")
    return np.array(qid), np.array(doc_id), np.array(values)


def _scored(where: str, fields: list[str]) -> tuple[str, float]:
    return fields[2], number_of_text(where, "a score", fields[4])


def _judged(where: str, fields: list[str]) -> tuple[str, float]:
    grade = number_of_text(where, "a grade", fields[3])
    if not grade.is_integer():
        raise ValueError(f"{where}: expected a whole number as grade, got {fields[3][:40]!r}")
    return fields[2], grade


def load_run(path: str | Path) -> Run:
    r"""Read a run in the format of TREC: ``query Q0 document rank score tag`` on each line.

    As in trec_eval, the ranks in the file count for nothing: documents are ranked by their scores.
    RankLib writes this format with ``-indri``.

    Parameters
    ----------
    path : path
        Plain or compressed.

    Returns
    -------
    Run
        With `qid`, `doc_id` and `scores`, in the file's order.

    Raises
    ------
    ValueError
        For a malformed line, with its number, and for a document that a query has twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostrank.datasets import load_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "run.trec")
    ...     size = path.write_bytes(b"301 Q0 FT911-3 1 2.5 bm25\n301 Q0 LA012-1 2 1.5 bm25\n")
    ...     run = load_run(path)
    >>> run.doc_id.tolist(), run.scores.tolist()
    (['FT911-3', 'LA012-1'], [2.5, 1.5])
    """
    return Run(*read_lines(path, "query Q0 document rank score tag", _scored))


def load_qrels(path: str | Path) -> Qrels:
    r"""Read judgements in the format of TREC: ``query 0 document grade`` on each line.

    Parameters
    ----------
    path : path
        Plain or compressed.

    Returns
    -------
    Qrels
        With `qid`, `doc_id` and `y`, in the file's order. Grades may be negative, as TREC marks
        spam; `boostrank.metrics.evaluate_run` takes them for 0, like trec_eval.

    Raises
    ------
    ValueError
        For a malformed line, with its number, and for a document that a query has twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostrank.datasets import load_qrels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "qrels.txt")
    ...     size = path.write_bytes(b"301 0 FT911-3 1\n301 0 LA012-1 0\n")
    ...     qrels = load_qrels(path)
    >>> qrels.doc_id.tolist(), qrels.y.tolist()
    (['FT911-3', 'LA012-1'], [1.0, 0.0])
    """
    return Qrels(*read_lines(path, "query 0 document grade", _judged))


def judge(run: Run, qrels: Qrels) -> tuple[Floats, Floats, Integers, npt.NDArray[np.bool_]]:
    """Join a run and judgements by the rules of trec_eval, as `evaluate_run` states them.

    Returned are scores and labels, query by query, in ranked order, the boundaries of the queries,
    and whether the run has each document; others follow those of their query.
    """
    keys, judged = _keys(run), _keys(qrels)
    for what, each in ("run", keys), ("qrels", judged):
        if not each:
            raise ValueError(f"{what} holds no documents")
    scored_queries, judged_queries = ({query for query, _ in each} for each in (keys, judged))
    queries = np.array(sorted(scored_queries & judged_queries))
    if not len(queries):
        raise ValueError(
            f"the scores and the judgements have no query in common: query {keys[0][0]} has "
            f"scores, and query {judged[0][0]} has judgements"
        )
    grades = dict(zip(judged, np.asarray(qrels.y).tolist(), strict=True))
    if grades.keys().isdisjoint(keys):
        warn(
            "none of the documents with a score has a judgement, so all metrics are 0: there is a "
            f"score of {keys[0][1]!r}, and a judgement of {judged[0][1]!r}; check the ids"
        )
    found = [grades.pop(key, 0.0) for key in keys]
    single, scores = np.finfo(np.float32), check_scores(run.scores)
    scores = np.clip(scores, single.min, single.max).astype(np.float32).astype(np.float64)
    qid, doc_id = np.array([*keys, *grades]).T
    retrieved = np.arange(len(qid)) < len(keys)
    scores = np.append(scores, np.full(len(grades), -np.finfo(np.float64).max))
    labels = np.array([*found, *grades.values()])
    place = np.unique(doc_id, return_inverse=True)[1]
    order = np.lexsort((-place, -scores, ~retrieved, qid))
    order = order[np.isin(qid[order], queries)]
    if left_out := scored_queries ^ judged_queries:
        warn(
            f"{len(left_out)} queries have only scores or only judgements: they are left out, as "
            "in trec_eval"
        )
    sizes = np.unique(qid[order], return_counts=True)[1]
    return scores[order], labels[order], np.append(0, np.cumsum(sizes)), retrieved[order]


def run_of_table(table: Any, qid: str, doc_id: str, score: str) -> Run:
    """Return the scores of a table with these columns; all columns must be there."""
    for name in (qid, doc_id, score):
        if name not in table.names:
            raise ValueError(
                f"{table.where()}scores by documents' ids need the columns {qid!r}, {doc_id!r} and "
                f"{score!r}, but there is no {name!r}"
            )
    scores = table.numbers(score, "each document needs a score")
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"{table.where(row)}column {score!r} must be finite, got {scores[row]}")
    queries, documents = (ids_of([table], name).astype(str) for name in (qid, doc_id))
    run = Run(queries, documents, scores)
    _keys(run, table.where)
    return run
