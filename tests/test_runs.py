"""Documents by their ids: runs and judgements as trec_eval takes them, and other tools' scores."""

import json

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from commands import refused, run, svmlight, write

from boostrank.datasets import (
    Qrels,
    RankingData,
    Run,
    from_frame,
    load_letor,
    load_letor_parts,
    load_qrels,
    load_run,
)
from boostrank.metrics import evaluate, evaluate_run

METRICS = {
    "ndcg": "ndcg",
    "map": "map",
    "recip_rank": "mrr",
    "P_5": "precision@5",
    "recall_5": "recall@5",
    "ndcg_cut_5": "ndcg@5",
    "map_cut_5": "map@5",
}
LETOR = "".join(
    f"{grade} qid:{query} 1:{n} #docid = D{n} inc = 1\n"
    for n, (grade, query) in enumerate([(1, 7), (0, 7), (2, 7), (0, 8), (1, 8)])
)
JUDGED = "1 0 a 1\n1 0 b 0\n"


def _measured(*args):
    return json.loads(run("evaluate", *args, "--json").stdout)


@pytest.mark.filterwarnings("ignore:.* queries have only scores or only judgements")
def test_figures_are_those_of_trec_eval(tmp_path):
    """Unjudged, unretrieved and tied documents, in float32 too, and queries of one side only."""
    rng = np.random.default_rng(0)
    documents = [*(f"d{i}" for i in range(12)), "é1", "Z", "a"]
    for _ in range(30):
        run = {"q0": {"http://d0": 1.0}}
        judged = {"q0": {"http://d0": 1}}
        for query in (f"q{i}" for i in range(1, 6)):
            if rng.random() < 0.9:
                found = rng.choice(documents, rng.integers(1, 10), replace=False)
                run[query] = {d: float(rng.choice([rng.normal(), 1, 1 + 1e-9])) for d in found}
            if rng.random() < 0.9:
                found = rng.choice(documents, rng.integers(1, 10), replace=False)
                judged[query] = {d: int(rng.integers(0, 4)) for d in found}
        lines = [f"{q} Q0 {d} 9 {s!r} x\n" for q, own in run.items() for d, s in own.items()]
        run_path = write(tmp_path / "run.trec", "".join(lines))
        lines = [f"{q}\t0\t{d}\t{y}\n" for q, own in judged.items() for d, y in own.items()]
        qrels_path = write(tmp_path / "qrels.txt", "".join(lines))
        figures = pytrec_eval.RelevanceEvaluator(judged, set(METRICS)).evaluate(run)
        expected = {
            ours: np.mean([each[name] for each in figures.values()])
            for name, ours in METRICS.items()
        }
        found = evaluate_run(load_run(run_path), load_qrels(qrels_path), list(METRICS.values()))
        assert found == pytest.approx(expected, abs=1e-12)
    printed = _measured(run_path, qrels_path, "--metrics", ",".join(METRICS.values()))
    assert printed["metrics"] == pytest.approx(expected, abs=1e-6)
    assert printed["convention"] == "trec"


@pytest.mark.parametrize("form", ["svmlight", "table"])
def test_predict_writes_a_run_that_evaluate_reads(tmp_path, form):
    rng = np.random.default_rng(1)
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    ids = [f"D{n}" for n in rng.permutation(60)]
    if form == "svmlight":
        lines = svmlight(RankingData(X, y, qid)).splitlines()
        named = (f"{line} #docid = {one} inc = 1\n" for line, one in zip(lines, ids, strict=True))
        data = write(tmp_path / "data.txt", "".join(named))
    else:
        data = tmp_path / "data.csv"
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y, "qid": qid})
        frame.assign(url=ids).to_csv(data, index=False)
    model, ranked, scores = (tmp_path / name for name in ("model.txt", "run.trec", "scores.txt"))
    more = ("--drop", "url") if form == "table" else ()
    column = ("--doc-id", "url") if form == "table" else ()
    run("train", data, *more, "-o", "query-rmse", "--model", model, "--rounds", "5")
    run("predict", model, data, *more, "--out", scores)
    run("predict", model, data, *column, "--out", ranked, "--run", "mine")
    written, plain = load_run(ranked), np.loadtxt(scores)
    order = np.lexsort((np.arange(60), -plain, qid))
    assert written.doc_id.tolist() == [ids[n] for n in order]
    np.testing.assert_array_equal(written.scores, plain[order])
    fields = [line.split() for line in ranked.read_text(encoding="utf-8").splitlines()]
    assert [row[3] for row in fields] == [*map(str, range(1, 11))] * 6
    assert {row[5] for row in fields} == {"mine"}
    assert _measured(ranked, data, *column)["documents"] == 60
    two = ["predict", model, data, *column, "--out", ranked, "--run", "two words"]
    assert "tag must be a word" in refused(*two)
    assert len(load_run(ranked).scores) == 60  # what was there is as it was


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run(["1", "1"], ["a", "a"], [1.0, 2.0]), "document a of query 1 is there twice"),
        (Run(["1"], ["a b"], [1.0]), "doc_id must be a word .* got 'a b'"),
        (Run(["1"], [""], [1.0]), "doc_id must be a word .* got ''"),
        (Run(["1"], ["a"], [np.nan]), "scores must be finite"),
    ],
)
def test_runs_that_are_not_written(run, message):
    with pytest.raises(ValueError, match=message):
        run.to_trec("mine")


@pytest.mark.parametrize(
    ("scores", "grades", "message"),
    [
        ([1.0, np.nan], [1.0], "scores must be finite"),  # ranked last, without a word
        ([1.0], [1.0], "one entry for each document, got 2, 2 and 1"),
        ([1.0, 2.0], [1.0, 0.0], "one entry for each document, got 1, 1 and 2"),
    ],
)
def test_runs_that_are_not_measured(scores, grades, message):
    run, qrels = Run(["1", "1"], ["a", "b"], scores), Qrels(["1"], ["b"], grades)
    with pytest.raises(ValueError, match=message):
        evaluate_run(run, qrels, ["map"])


def test_queries_of_one_side_are_told_and_negative_grades_are_0(tmp_path):
    run = load_run(write(tmp_path / "r", "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 a 1 1 x\n"))
    qrels = load_qrels(write(tmp_path / "q", "1 0 a -2\n1 0 b 1\n3 0 a 4\n"))
    with pytest.warns(UserWarning, match="2 queries have only scores or only judgements"):
        found = evaluate_run(run, qrels, ["map", "err"])
    assert found == {"map": 0.5, "err": 1.0 / 32.0}  # the top grade, 4, is that of all judgements
    with pytest.raises(ValueError, match=r"no query in common: query 2 .* query 1 "):
        evaluate_run(run._replace(qid=np.array([*"224"])), qrels._replace(qid=np.array([*"115"])))
    with pytest.raises(TypeError, match=r"got a string; write \['map'\]"):
        evaluate_run(run, qrels, "map")
    with pytest.raises(TypeError, match="run must be a Run, as load_run returns it, got Qrels"):
        evaluate_run(qrels, run)
    with pytest.raises(ValueError, match="auc needs a score of every document"):
        evaluate_run(run, qrels, ["auc"])
    with pytest.raises(ValueError, match="run holds no documents"):
        evaluate_run(Run([], [], []), qrels)


@pytest.mark.parametrize(
    ("metric", "grades", "rules"),
    [
        ("err", [1, 0, 2], {"top": 4.0, "convention": "standard"}),  # no document has the top grade
        ("ndcg", [40, 5000, 0], {"convention": "trec"}),  # amounts, where gains are linear
    ],
)
def test_labels_and_their_scale_are_those_of_scores_without_ids(tmp_path, metric, grades, rules):
    scores, ids = [3.0, 2.0, 1.0], ["a", "b", "c"]
    run, qrels = Run(["1"] * 3, ids, scores), Qrels(["1"] * 3, ids, grades)
    expected = evaluate(scores, grades, [3], [metric], **rules)
    assert evaluate_run(run, qrels, [metric], **rules) == expected
    options = [f"--metrics={metric}", *(f"--{name}={value}" for name, value in rules.items())]
    data, scored = tmp_path / "data.csv", tmp_path / "scores.csv"
    frame = pd.DataFrame({"qid": 1, "doc_id": ids, "label": grades, "score": scores})
    frame.drop(columns="score").to_csv(data, index=False)
    frame.drop(columns="label").to_csv(scored, index=False)
    for path in (write(tmp_path / "plain", "3\n2\n1\n"), scored):
        assert _measured(path, data, *options)["metrics"] == pytest.approx(expected)


def test_ids_that_do_not_meet_are_told() -> None:
    qrels = Qrels(np.array(["1", "1"]), np.array(["007", "008"]), np.array([1.0, 0.0]))
    with pytest.warns(UserWarning, match="all metrics are 0: .* score of '7', .* judgement of '00"):
        assert evaluate_run(Run(["1", "1"], ["7", "8"], [2.0, 1.0]), qrels, ["map"]) == {"map": 0.0}
    # Integers, as a table has them, are the text that files write.
    numbers = Qrels([1, 1], [7, 8], [1, 0])
    assert evaluate_run(Run(["1", "1"], ["7", "8"], [1.0, 2.0]), numbers, ["map"]) == {"map": 0.5}


def test_the_other_default_convention_is_said(tmp_path):
    """The same scores without ids are measured by other rules."""
    files = write(tmp_path / "r", "1 Q0 a 1 2 x\n"), write(tmp_path / "q", "1 0 a 1\n")
    assert "convention trec" in run("evaluate", *files).stderr
    assert not run("evaluate", *files, "--convention", "trec").stderr


def test_a_document_that_is_judged_twice_is_refused(tmp_path):
    """Of two files, the second judgement replaced the first, and documents were of one query."""
    tables = [write(tmp_path / f"{n}.csv", "qid,label,a\n1,1,1\n") for n in range(2)]
    assert "no query in common" in refused("evaluate", write(tmp_path / "s", "2\n1\n"), *tables)
    scores = write(tmp_path / "r", "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n")
    first, second = (write(tmp_path / f"q{y}", f"1 0 a {y}\n1 0 b 1\n") for y in (0, 2))
    assert "document a of query 1 is there twice" in refused("evaluate", scores, first, second)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 Q0 a 1 2\n", "line 1: expected 'query Q0 document rank score tag', got 5 fields"),
        ("1 Q0 a 1 2 x\n\n1 Q0 a 2 1 x\n", "line 3: document a of query 1 is there twice"),
        ("1 Q0 a 1 nan x\n", "line 1: expected a score, a finite number, got 'nan'"),
        ("1 Q0 a 1 1_0 x\n", "line 1: expected a score, a finite number, got '1_0'"),
        ("\n", "holds no documents"),
    ],
)
def test_runs_that_are_refused(tmp_path, text, message):
    path = write(tmp_path / "run", text)
    with pytest.raises(ValueError, match=message) as caught:
        load_run(path)
    assert str(caught.value).startswith(str(path))
    qrels = write(tmp_path / "qrels", "1 0 a 0.5\n")
    with pytest.raises(ValueError, match="qrels, line 1: expected a whole number as grade"):
        load_qrels(qrels)


def test_documents_keep_their_ids(tmp_path):
    data = load_letor(write(tmp_path / "a.txt", LETOR))
    assert data.doc_id.tolist() == [f"D{n}" for n in range(5)]
    parts = [load_letor_parts([tmp_path / "a.txt"])[0], data.shuffle_within_queries(0)]
    parts += [data.select([1, 0]), RankingData.concat(data.split(2, seed=0))]
    for part in parts:
        assert part.X[:, 0].tolist() == [int(one[1:]) for one in part.doc_id]
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "a": [2.0, 3.0], "url": ["x", "y"]})
    named = from_frame(frame, doc_id="url")
    assert (named.doc_id.tolist(), named.names) == (["x", "y"], ("a",))
    write(tmp_path / "b.txt", LETOR.replace("#docid = D3", "#"))
    assert load_letor(tmp_path / "b.txt").doc_id is None


def test_scores_of_every_form_are_those_of_the_data(tmp_path):
    """Each form holds the same scores; those by ids or places are in another order."""
    letor = write(tmp_path / "a.txt", LETOR)
    scores, queries = [0.3, 0.9, 0.5, 0.1, 0.7], [7, 7, 7, 8, 8]
    frame = pd.DataFrame({"qid": queries, "doc_id": [f"D{n}" for n in range(5)]})
    table, judged = tmp_path / "a.csv", frame.assign(label=[1, 0, 2, 0, 1])
    judged.sample(frac=1, random_state=1).to_csv(table, index=False)
    plain = write(tmp_path / "plain", "\n".join(map(str, scores)))
    places = list(zip(queries, [0, 1, 2, 0, 1], scores, strict=True))[::-1]
    ranklib = write(tmp_path / "ranklib", "".join(f"{q}\t{i}\t{s}\n" for q, i, s in places))
    rows = list(zip(queries, frame["doc_id"], scores, strict=True))[::-1]
    run = write(tmp_path / "run", "".join(f"{q} Q0 {d} 1 {s} indri\n" for q, d, s in rows))
    by_id = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["qid", "doc_id", "score"]).to_csv(by_id, index=False)
    metrics = ["--metrics", "ndcg,map,mrr,precision@2", "--convention", "trec"]
    expected = _measured(plain, letor, *metrics)
    assert expected["metrics"]["mrr"] == 0.75
    for path in (ranklib, run, by_id):
        assert _measured(path, letor, *metrics) == expected
    for path in (run, by_id):
        assert _measured(path, table, *metrics) == expected


@pytest.mark.parametrize(
    "ids", [pd.to_datetime(["2024-01-02", "2024-01-02", "2024-01-03"]), [1.0, 1.0, 2.0]]
)
def test_ids_of_scores_and_judgements_are_read_alike(tmp_path, ids):
    """Dates had the time of the day in scores, and floats a point: no query was found."""
    frame = pd.DataFrame({"qid": ids, "doc_id": ["a", "b", "a"], "label": [1, 0, 1]})
    scores, data = tmp_path / "scores.parquet", tmp_path / "data.parquet"
    frame.drop(columns="label").assign(score=[0.1, 0.2, 0.3]).to_parquet(scores)
    frame.to_parquet(data)
    assert _measured(scores, data, "--metrics", "mrr")["metrics"]["mrr"] == 0.75


@pytest.mark.parametrize(
    ("scores", "data", "message"),
    [
        ("7 0 1\n7 1 1\n7 2 1\n8 0 1\n", LETOR, "no score for document 1 (from 0) of query 8"),
        ("7 x 1\n", LETOR, "line 1: expected 'query place score'"),
        ("1\n" * 4, LETOR, "has 4 scores, but the data has 5 documents"),
        ("1\n2 3\n", LETOR, "line 2: expected one score, got '2 3'"),
        ("1\ntwo\n", LETOR, "line 2: expected one score, a finite number, got 'two'"),
        ("1\n", "7 0 D0 1\n", "judgements by documents' ids, so "),
        ("7 Q0 D0 1 1 x\n", "1 qid:7 1:1\n", "the data have none"),
        ("1 0 2\n1 1 1\n2 0 1\n1 00 .5\n", JUDGED, "scores, line 4: document 0 of query 1 is"),
        ("qid,doc_id,score\n1,a,2\n2,a,1\n1,a,.5\n", JUDGED, "scores.csv, line 4: document a of"),
    ],
)
def test_scores_that_do_not_fit_are_refused(tmp_path, scores, data, message):
    path = write(tmp_path / ("scores.csv" if "," in scores else "scores"), scores)
    assert message in refused("evaluate", path, write(tmp_path / "data.txt", data))
