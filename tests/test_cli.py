"""The command line: what it prints, writes and refuses."""

import html
import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import requires, version

import lightgbm
import matplotlib
import numpy as np
import pandas as pd
import pytest
import xgboost
from commands import lines_of, refused, result_of, run, scores_of, svmlight, write
from programs import output_of
from typer.main import get_command
from typer.testing import CliRunner

import boostrank
from boostrank.datasets import RankingData, letor_folds, load_letor, make_ranking
from boostrank.lab import cli, reading, runner
from boostrank.lab.cli import objectives as objectives_command
from boostrank.lab.cli.app import app
from boostrank.lab.cli.options import read_params, with_preset
from boostrank.lab.learners import Learner
from boostrank.lab.models import HOSTS, load_model
from boostrank.lab.naming import parse_objectives
from boostrank.lab.settings import METRICS, Settings
from boostrank.messages import CLI
from boostrank.presets import REGULARIZED

pytestmark = pytest.mark.usefixtures("no_figures")

SMALL = ["--rounds", "8", "--leaves", "4", "--min-docs", "3", "--learning-rate", "0.3"]
LIGHTGBM = {"num_threads": 1, "min_data_in_leaf": 3, "verbosity": -1}


@pytest.fixture(scope="module")
def parts():
    return make_ranking(30, 10, 5, seed=2).split(5, seed=0)


@pytest.fixture(scope="module")
def files(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("letor")
    return [write(folder / f"S{i}.txt", svmlight(part)) for i, part in enumerate(parts, start=1)]


def _row(lines, objective, host):
    (line,) = (each for each in lines if (each["objective"], each["host"]) == (objective, host))
    return line


def _untimed(path):
    return [line | {"seconds_per_round": ""} for line in lines_of(path)]


# compare -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared")
    args = ["compare", *files, *SMALL, "-o", "sdcg:k=3,lambdarank", "--keep-order", "--out", out]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
        return run(*args), out


def test_the_csv_holds_what_the_engine_gives(compared, parts):
    """For the options of the command; test_compare.py compares the engine with plain training."""
    lines = lines_of(compared[1] / "summary.csv")
    settings = Settings(rounds=8, leaves=4, min_docs=3, learning_rate=0.3)
    for learner in (
        Learner("sdcg:k=3", "lightgbm", boostrank.SDCG(k=3)),
        Learner("xgboost:rank:ndcg", "xgboost", "rank:ndcg"),
    ):
        folds = [
            runner.run_fold(learner, fold, number, settings)
            for number, fold in enumerate(letor_folds(parts), start=1)
        ]
        line = _row(lines, learner.label, learner.host)
        assert line["best_rounds"] == " ".join(str(fold.best_round) for fold in folds)
        for metric in METRICS:
            values = np.concatenate([fold.figures[metric] for fold in folds])
            assert float(line[metric]) == pytest.approx(np.nanmean(values), rel=1e-12)


def test_the_csvs_agree_with_each_other_and_with_the_table(compared):
    result, out = compared
    summary, queries = lines_of(out / "summary.csv"), pd.read_csv(out / "queries.csv")
    assert len(summary) == 4 + 2 * 3  # built-ins; sdcg, lambdarank and regression on both
    assert len(queries) == 30 * len(summary)
    by_fold = queries.groupby(["objective", "host", "fold"])["map"].mean()
    baseline = _row(summary, "lightgbm:lambdarank", "lightgbm")
    assert (float(baseline["difference"]), float(baseline["p_value"])) == (0.0, 1.0)
    for line in summary:
        assert float(line["seconds_per_round"]) > 0
        gain = float(line["ndcg@10"]) - float(baseline["ndcg@10"])
        assert float(line["difference"]) == pytest.approx(gain, abs=1e-15)
        label, host = line["objective"], line["host"]
        assert by_fold[label, host].index.tolist() == [1, 2, 3, 4, 5]
        assert float(line["map"]) == pytest.approx(by_fold[label, host].mean())
        learner = label if label.startswith(host) else f"{label}@{host}"
        assert f"| {learner} " in result.stdout
        assert f" {float(line['ndcg@10']):.4f} " in result.stdout
    # Best first.
    shown = [line.split("|")[2] for line in result.stdout.splitlines() if line.startswith("| ")]
    assert shown[1:] == sorted(shown[1:], reverse=True)
    assert len(shown) == 1 + len(summary)


def test_the_caption_and_the_report_say_what_was_done(compared):
    result, out = compared
    assert str(out / "report.html") in result.stdout
    report = html.unescape((out / "report.html").read_text(encoding="utf-8"))
    data = "documents in the order of the data; 30 queries, 300 documents, 5 features"
    for words in (
        data,
        "S1.txt ... S5.txt, five partitions in LETOR's rotation",
        "folds 1, 2, 3, 4, 5, convention standard",
        "8 rounds, learning rate 0.3, 4 leaves",
        "against lightgbm:lambdarank",
        f"lightgbm {lightgbm.__version__}, xgboost {xgboost.__version__}",
    ):
        assert words in result.stdout
    for words in (
        data,
        "boostrank compare --objective sdcg:k=3,lambdarank --hosts lightgbm,xgboost",
        "--rounds 8 --learning-rate 0.3 --leaves 4",
        "NDCG@10 of each test query against lightgbm:lambdarank.",
    ):
        assert words in report
    for line in lines_of(out / "summary.csv"):
        assert f">{float(line['ndcg@10']):.4f} <" in report
    # No progress bar without a terminal.
    assert result.stderr == ""


def test_figures_are_written_and_the_process_keeps_its_backend(tmp_path, monkeypatch):
    monkeypatch.undo()  # of `no_figures`
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with matplotlib.rc_context({"backend": "svg"}):
        result = run(
            *("compare", "--rounds", 2, "--folds", 2, "-o", "regression", "--hosts", "xgboost"),
            *("--out", tmp_path),
        )
        assert matplotlib.rcParams["backend"] == "svg"
    assert "matplotlib.pyplot" not in sys.modules
    for name in ("validation.png", "test.png"):
        content = (tmp_path / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
    # The embedded data, and a baseline that is among the rows.
    assert "Data: embedded" in result.stdout
    assert "against xgboost:rank:ndcg" in result.stdout


def test_a_pipe_is_as_wide_as_columns_says():
    narrow, wide = run("objectives", COLUMNS="50").stdout, run("objectives").stdout
    assert max(map(len, narrow.splitlines())) <= 50 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()


def test_documents_are_shuffled_within_queries_by_default(parts, tmp_path):
    # All features are constant, so all scores tie and the figures are those of the input order.
    flat = [
        write(tmp_path / f"F{i}.txt", svmlight(RankingData(np.ones((len(p.y), 2)), p.y, p.qid)))
        for i, p in enumerate(parts, start=1)
    ]
    common = ["-o", "regression", "--hosts", "xgboost", "--rounds", "2", "--folds", "1"]
    for extra, test in (
        (["--keep-order"], parts[4]),
        (["--seed", "5"], parts[4].shuffle_within_queries(5)),
    ):
        run("compare", *flat, *common, *extra, "--out", tmp_path)
        expected = boostrank.evaluate(np.zeros(len(test.y)), test.y, test.group)["ndcg@10"]
        line = _row(lines_of(tmp_path / "summary.csv"), "regression", "xgboost")
        assert float(line["ndcg@10"]) == pytest.approx(expected, rel=1e-12)


def test_any_other_number_of_files_is_split_into_five_parts(files, tmp_path):
    result = run(
        *("compare", *files[:3], "-o", "regression", "--hosts", "xgboost", *SMALL),
        *("--seed", 3, "--folds", "2,1", "--baseline", "regression@xgboost", "--out", tmp_path),
    )
    lines = lines_of(tmp_path / "queries.csv")
    parts = load_letor(files[:3]).split(5, seed=3)
    for fold, part in (("1", 5), ("2", 1)):
        tested = {int(line["qid"]) for line in lines if line["fold"] == fold}
        assert tested == set(parts[part - 1].qid.tolist())
    assert "queries split into five parts" in result.stdout
    assert "against regression@xgboost" in result.stdout
    assert _row(lines_of(tmp_path / "summary.csv"), "regression", "xgboost")["difference"] == "0.0"


def test_what_is_said_after_ctrl_c_and_when_resuming(files, tmp_path, monkeypatch):
    """What is trained, and written: test_compare.py."""
    args = [
        *("compare", *files, "-o", "regression", "--hosts", "lightgbm", *SMALL),
        *("--folds", "1,2,3", "--out", tmp_path),
    ]
    trained, run_fold = [], runner.run_fold

    def counted(*job):
        trained.append(job)
        if len(trained) == 5:
            raise KeyboardInterrupt
        return run_fold(*job)

    monkeypatch.setattr(runner, "run_fold", counted)
    result, results, summary = result_of(*args), tmp_path / "results.jsonl", "summary.csv"
    assert result.stderr == (
        f"boostrank: interrupted; 4 of 9 results are saved in {results}, and 1 of 3 rows are "
        f"complete in {tmp_path / summary}; the same command with --resume continues from there\n"
    )
    assert [line["objective"] for line in lines_of(tmp_path / summary)] == ["lightgbm:lambdarank"]
    assert run(*args, "--resume").stderr == f"boostrank: 4 of 9 results are in {results}\n"

    # With other settings no result is used, and a line says why. Without --resume all are gone.
    result = run(*args, "--resume", "--leaves", 5)
    assert result.stderr == (
        f"boostrank: 0 of 9 results are in {results}; 9 are not used: made with other leaves\n"
    )
    assert len(trained) == 5 + 5 + 9
    assert run(*args, "--folds", 1).stderr == ""
    assert results.read_text(encoding="utf-8").count("\n") == 3


def test_a_failing_row_stops_the_others_only_if_it_is_the_baseline(files, tmp_path, monkeypatch):
    run_fold = runner.run_fold

    def failing(learner, *args):
        if learner.label == "lightgbm:lambdarank":
            raise ValueError("lightgbm cannot train lambdarank: no")
        return run_fold(learner, *args)

    monkeypatch.setattr(runner, "run_fold", failing)
    args = ["compare", *files, "-o", "gbrank", "--hosts", "lightgbm", *SMALL, "--folds", 1]
    assert "lightgbm cannot train lambdarank" in refused(*args, "--out", tmp_path)
    args += ["--baseline", "regression@lightgbm", "--out", tmp_path]
    error = "lightgbm cannot train lambdarank: no"
    result = result_of(*args)
    assert result.exit_code == 1
    assert result.stderr == f"boostrank: lightgbm:lambdarank failed: {error}\n"
    assert f"Failed: lightgbm:lambdarank: {error}" in result.stdout
    others = ["regression", "lightgbm:rank_xendcg", "gbrank"]
    result = result_of(*args, "--json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert sorted(row["objective"] for row in printed["rows"]) == sorted(others)
    assert printed["failures"] == [
        {"objective": "lightgbm:lambdarank", "host": "lightgbm", "error": error}
    ]
    assert isinstance(result_of("--debug", *args).exception, ValueError)


def test_compare_as_json_and_its_command_does_the_same_again(files, tmp_path):
    out = tmp_path / "a folder"
    result = run(
        *("compare", *files[:3], "-o", "sdcg:k=3,alpha=2", "--hosts", "xgboost", "--rounds", 3),
        *("--folds", "1,4", "--fixed-rounds", "--seed", 3, "--out", out, "--json"),
    )
    assert result.stderr == ""
    printed = json.loads(result.stdout)
    summary, untimed = lines_of(out / "summary.csv"), _untimed(out / "summary.csv")
    assert len(printed["rows"]) == len(summary) == 4
    for row in printed["rows"]:
        line = _row(summary, row["objective"], row["host"])
        for metric, value in row["metrics"].items():
            assert value == float(line[metric])
            low, high = row["intervals"][metric]
            assert low < value < high
        for figure in ("difference", "p_value"):
            assert row[figure] == float(line[figure])
        assert row["best_rounds"] == {"1": 3, "4": 3}
    assert printed["baseline"] == "xgboost:rank:ndcg"
    assert printed["settings"]["rounds"] == 3
    parameters = {row["objective"]: row["parameters"] for row in printed["rows"]}
    assert "alpha=2.0" in parameters["sdcg:k=3,alpha=2"]

    assert " --gap 0 " in printed["command"]  # every default, 0 too
    program, *again = shlex.split(printed["command"])
    assert program == "boostrank"
    (out / "summary.csv").unlink()
    run(*again)
    assert _untimed(out / "summary.csv") == untimed


def test_objectives_with_parameters():
    made = parse_objectives(["sdcg:k=3,alpha=2,lambdarank", "reg-shf-sdcg:target=gain"], 40)
    assert made == {
        "sdcg:k=3,alpha=2": boostrank.SDCG(k=3, alpha=2),
        "lambdarank": boostrank.LambdaRank(),
        "reg-shf-sdcg:target=gain": boostrank.RegSHFSDCG(total_rounds=40, target="gain"),
    }
    assert parse_objectives([], 40) == {}


def test_the_regularized_preset_gives_way_to_params(tmp_path):
    given = write(tmp_path / "host.json", '{"lightgbm": {"colsample_bytree": 0.3}}')
    params = with_preset("regularized", read_params(given, ["lightgbm"]))
    own = {name: REGULARIZED["lightgbm"][name] for name in ("extra_trees", "path_smooth")}
    assert params["lightgbm"] == {**own, "num_leaves": 31, "feature_fraction": 0.3}
    assert params["xgboost"].items() < REGULARIZED["xgboost"].items()
    assert "learning_rate" not in params["xgboost"]  # --learning-rate sets it
    leaves = with_preset("regularized", {}, 7)
    assert not {"num_leaves", "max_leaves"} & (set(leaves["lightgbm"]) | set(leaves["xgboost"]))
    assert with_preset(None, {}) == {}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "sdgc"], "unknown objective 'sdgc'; did you mean 'sdcg'? (nearest of 28: sdcg, "),
        (["-o", "sdcg:kk=1"], "'sdcg' has no parameter 'kk'; did you mean 'k'? (it has: k, alpha"),
        (["-o", "sdcg:k=0"], "k must be at least 1, got 0"),
        (["-o", "sdcg:k"], "written name=value, such as k=10; got 'k'"),
        (["--hosts", "xgbost"], "unknown host 'xgbost'; did you mean 'xgboost'?"),
        (
            ["--baseline", "lightgbm:lamdarank"],
            "unknown baseline 'lightgbm:lamdarank'; did you mean 'lightgbm:lambdarank'?",
        ),
        (["--convention", "letor"], "unknown convention 'letor'; did you mean 'letor"),
        (["--folds", "all"], "folds are comma-separated numbers, such as 1,2; got 'all'"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--preset", "regularised"], "unknown preset 'regularised'; did you mean 'regularized'?"),
        (["nowhere.txt"], "boostrank: nowhere.txt: no such file or directory"),
        (["--metric", "ndgc@5"], "unknown metric 'ndgc@5'; did you mean 'ndcg@5'?"),
        (["--params", "nowhere.json"], "boostrank: nowhere.json: no such file or directory"),
    ],
)
def test_compare_refuses_before_training(args, message, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_fold", None)
    assert message in refused("compare", *args, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# train, predict, evaluate ------------------------------------------------------------------------


def test_train_predict_evaluate(host, files, tmp_path):
    model = tmp_path / "model.json"
    result = run(
        *("train", *files[:3], "--objective", "lambdarank:truncation=5"),
        *("-p", "norm=False", "--host", host, "--model", model, "--seed", 9, *SMALL),
    )
    assert "8 trees" in result.stderr
    objective = boostrank.LambdaRank(truncation=5, norm=False)
    assert "lambdarank:truncation=5,norm=False" in result.stderr
    scores = scores_of(model, files[3])

    settings = Settings(rounds=8, leaves=4, min_docs=3, learning_rate=0.3, seed=9)
    train = load_letor(files[:3]).shuffle_within_queries(9)
    reference, _ = HOSTS[host].train(objective, train, settings)
    test = load_letor(files[3])
    np.testing.assert_array_equal(scores, reference.predict(test.X))

    written = tmp_path / "scores.txt"
    evaluate = ["evaluate", written, files[3], "--metrics", "ndcg@10,map,mrr"]
    query = scores, test.y, test.group, ("ndcg@10", "map", "mrr")
    result = run(*evaluate, "--convention", "letor3")
    expected = boostrank.evaluate(*query, convention="letor3")
    assert result.stdout.splitlines() == [f"{name}\t{v:.6f}" for name, v in expected.items()]
    expected = boostrank.evaluate(*query)
    assert json.loads(run(*evaluate, "--json").stdout) == {
        "metrics": expected,
        "convention": "standard",
        "gain": None,
        "top": None,
        "queries": 6,
        "documents": 60,
    }


def test_train_refuses(files, tmp_path):
    model = tmp_path / "model"
    common = ["train", files[0], "--model", model]
    assert "did you mean 'gbrank'" in refused(*common, "-o", "gbrang")
    assert "did you mean 'xgboost'" in refused(*common, "-o", "gbrank", "--host", "xgboos")
    assert "written name=value" in refused(*common, "-o", "gbrank", "-p", "margin")
    assert "margin must be" in refused(*common, "-o", "gbrank", "-p", "margin=wide")
    twice = ["-o", "gbrank", "-p", "margin=1", "-p", "margin=2"]
    assert "the parameter 'margin' of gbrank is given twice" in refused(*common, *twice)
    # LightGBM would stop by it in place of --metric.
    params = write(tmp_path / "params.json", '{"metric": "ndcg", "eval_at": [1]}')
    own = ["-o", "gbrank", "--valid", files[1], "--params", params]
    assert "name the metric instead, with --metric" in refused(*common, *own)
    for option in (["--refit"], ["--patience", 3], ["--metric", "map"]):  # were without effect
        assert f"{option[0]} needs --valid" in refused(*common, "-o", "gbrank", *option)
    assert "--gain has no effect on ranknet" in refused(*common, "-o", "ranknet", "--gain", "0,1")
    nowhere = ["train", "nowhere.txt", "-o", "gbrank", "--model", tmp_path / "no" / "model"]
    assert "the folder of --model does not exist" in refused(*nowhere)
    assert not model.exists()


MODELS = pytest.mark.parametrize(
    ("host", "name"), [("lightgbm", "m.txt"), ("xgboost", "m.json"), ("xgboost", "m.ubj")]
)


@MODELS
def test_predict_refuses_another_number_of_features(host, name, parts, tmp_path):
    model, out = tmp_path / name, tmp_path / "scores.txt"
    X = parts[0].X.copy()
    X[:, 0] = 1.0  # as in models that LightGBM trained on a svmlight file
    data = write(tmp_path / "train.txt", svmlight(RankingData(X, parts[0].y, parts[0].qid)))
    run("train", data, "-o", "gbrank", "--host", host, "--model", model, *SMALL)
    X, y, qid = parts[1].X, parts[1].y, parts[1].qid
    more = RankingData(np.hstack([X, X[:, :2]]), y, qid)
    wide = write(tmp_path / "wide.txt", svmlight(more))
    line = refused("predict", model, wide, "--out", out)
    assert f"{wide}, line 1: feature 7 is beyond the 5 features of the model" in line
    table = tmp_path / "wide.csv"
    pd.DataFrame(X[:, :4]).to_csv(table, index=False)
    line = refused("predict", model, table, "--out", out)
    assert line.endswith(f"{name} was trained on 5 features, but {table} has 4")
    assert "does not end in .gz" in refused("predict", model, table, "--out", tmp_path / "s.csv.gz")
    assert list(tmp_path.glob("s*")) == []
    own = [f"Column_{i}" if host == "lightgbm" else f"f{i}" for i in range(5)]
    pd.DataFrame(X[:, ::-1], columns=own[::-1]).to_csv(table, index=False)
    np.testing.assert_array_equal(scores_of(model, table), load_model(model).predict(X))


@MODELS
def test_a_model_of_the_host_itself_that_knows_names_of_features(
    host, name, files, parts, tmp_path
):
    model, out = tmp_path / name, tmp_path / "scores.txt"
    X = pd.DataFrame(parts[0].X, columns=list("edcba"))
    if host == "lightgbm":
        booster = lightgbm.train(LIGHTGBM, lightgbm.Dataset(X, parts[0].y), 4)
        want = booster.predict(parts[1].X)
    else:
        booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, parts[0].y), 4)
        want = booster.inplace_predict(parts[1].X, validate_features=False)
    booster.save_model(model)
    said = run("predict", model, files[1], "--out", out).stderr
    assert "those of svmlight files only numbers: they are taken in their order" in said
    np.testing.assert_array_equal(np.loadtxt(out), want)


def test_a_feature_that_is_called_as_lightgbm_calls_those_of_arrays(parts, tmp_path):
    names = ["Column_0", "b", "c", "d", "e"]
    model, table = tmp_path / "model.txt", tmp_path / "test.csv"
    train, test = (pd.DataFrame(part.X, columns=names) for part in parts[:2])
    booster = lightgbm.train(LIGHTGBM, lightgbm.Dataset(train, parts[0].y), 4)
    booster.save_model(model)
    test[names[::-1]].to_csv(table, index=False)
    np.testing.assert_array_equal(scores_of(model, table), booster.predict(test))


@MODELS
def test_a_model_needs_its_host_alone(host, name, files, parts, tmp_path):
    """The host loads it and predicts with it where boostrank cannot be imported."""
    run("train", files[0], "-o", "slam-map", "--host", host, "--model", tmp_path / name, *SMALL)
    want = scores_of(tmp_path / name, files[1])
    np.save(tmp_path / "data.npy", parts[1].X)
    predict = "predict" if host == "lightgbm" else "inplace_predict"
    shown = output_of(
        f"import sys, numpy, {host}; sys.modules['boostrank'] = None\n"
        f"booster, X = {host}.Booster(model_file={name!r}), numpy.load('data.npy')\n"
        f"print(*booster.{predict}(X).tolist())",
        cwd=tmp_path,
    )
    np.testing.assert_array_equal([float(x) for x in shown.split()], want)


def test_evaluate_refuses(files, tmp_path):
    """Files of scores that do not fit: test_runs.py."""
    scores = write(tmp_path / "scores.txt", "1.0\n")
    said = refused("evaluate", scores, files[0], "--metrics", "ndgc@10")
    assert "unknown metric 'ndgc@10'; did you mean 'ndcg@10'" in said
    assert "did you mean 'trec'" in refused("evaluate", scores, files[0], "--convention", "treck")
    assert "nothing.txt" in refused("evaluate", tmp_path / "nothing.txt", files[0])


# The rest ----------------------------------------------------------------------------------------


def test_objectives_lists_all_and_shows_one():
    *lines, note = run("objectives").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(boostrank.objective_names())
    assert "boostrank objectives NAME" in note
    for name in boostrank.objective_names():
        shown = " ".join(run("objectives", name).stdout.split())
        assert "``" not in shown
        assert f"{name}: boostrank." in shown
        for field in fields(boostrank.objectives.REGISTRY[name]):
            assert f" {field.name}: " in shown
            assert not re.search(rf" {field.name}: (required|default \S+)\. \S+:", shown)
    shown = run("objectives", "reg-shf-sdcg").stdout
    assert "total_rounds: required. M, the number of rounds" in shown
    assert "perturb_scale: default 1.0. Scale of the noise" in shown
    assert "  discount: default 'linear'. {" in shown
    assert "gradient: frozen" in run("objectives", "lambdarank").stdout
    one = json.loads(run("objectives", "sdcg", "--json").stdout)
    assert one["defaults"]["query_fraction"] == 1.0
    assert "did you mean 'sdcg'" in refused("objectives", "sdgc")


def test_the_version():
    assert run("--version").stdout == f"boostrank {boostrank.__version__}\n"
    assert boostrank.__version__ == version("boostrank")


def test_objectives_as_json():
    listed = {each["name"]: each for each in json.loads(run("objectives", "--json").stdout)}
    assert tuple(listed) == boostrank.objective_names()
    for name, each in listed.items():
        required = dict.fromkeys(each["required"], 7)
        made = boostrank.objective(name, **required, **each["defaults"])
        assert made == boostrank.objective(name, **required)
        assert type(made).__name__ == each["class"]
        assert each["contract"]["gradient"] == made.contract.gradient
    assert listed["reg-shf-sdcg"]["required"] == ["total_rounds"]


@pytest.mark.parametrize("command", [None, *get_command(app).commands])
def test_help_has_exit_codes_and_examples_that_parse(command):
    result = run(*[command] * (command is not None), "--help")
    text = " ".join(result.stdout.split())
    assert "Exit codes: 0 done; 1 " in text
    for words in ("2 wrong usage or bad data", "130 stopped with Ctrl-C"):
        assert words in text
    examples = re.findall(r"^  boostrank (\w+)\b(.*)$", result.stdout, re.MULTILINE)
    assert examples
    assert max(len(line) for line in result.stdout.splitlines() if line.startswith("  ")) <= 80
    known = get_command(app).commands
    for name, rest in examples:
        assert command in (None, name)
        # Parsed as far as possible without running.
        known[name].make_context(name, shlex.split(rest.partition(">")[0]))
    assert command is not None or [name for name, _ in examples] == [
        *("compare", "compare", "train", "predict", "evaluate")
    ]


def test_a_progress_bar_shows_the_time_left(files, tmp_path):
    for args in (
        ("compare", *files, "-o", "regression", "--hosts", "xgboost", "--rounds", 2),
        ("train", files[0], "-o", "gbrank", "--rounds", 2, "--model", tmp_path / "model"),
    ):
        out = ["--out", tmp_path] if args[0] == "compare" else []
        result = run(*args, *out, FORCE_COLOR="1", COLUMNS="100")
        bar = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.stderr)
        n_rounds = 2 * 3 * 5 if args[0] == "compare" else 2
        assert f"{n_rounds}/{n_rounds} rounds" in bar
        assert re.search(r"left \d:\d\d:\d\d", bar)
        assert "rounds 0:" not in result.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("comp", ["compare", "compile"]),
        ("compare --fol", ["--folds", "--folds-by"]),
        ("compare -o shf", ["shf-sdcg"]),
        ("compare -o sdcg,gb", ["sdcg,gbrank"]),
        ("train -o rankn", ["ranknet"]),
        ("compare --hosts xg", ["xgboost"]),
        ("tune --hosts xg", ["xgboost"]),
        ("compare --preset r", ["regularized"]),
        ("evaluate --convention letor", ["letor3", "letor4"]),
    ],
    ids=lambda value: value.split()[-1] if isinstance(value, str) else "",
)
def test_the_tab_key_completes(typed, offered):
    completing = {
        "_BOOSTRANK_COMPLETE": "complete_bash",
        "COMP_WORDS": f"boostrank {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    result = CliRunner().invoke(app, [], prog_name="boostrank", env=completing)
    assert result.stdout.split() == offered


def test_an_error_is_one_line(monkeypatch, capsys):
    """Of the console script: the user's own, and an unexpected one."""

    def broken():
        raise RuntimeError("over\nand out")

    monkeypatch.setattr(objectives_command, "objective_names", broken)
    for words, code, start in (
        (["compare", "-o", "x"], 2, "unknown objective 'x'"),
        (["objectives"], 1, "RuntimeError: over and out; this should not happen"),
    ):
        monkeypatch.setattr(sys, "argv", ["boostrank", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == code
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"boostrank: {start}")
    monkeypatch.setattr(sys, "argv", ["boostrank", "--debug", "objectives"])
    with pytest.raises(RuntimeError, match="over"):
        cli.main()


def test_ctrl_c_in_any_command(monkeypatch, files):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "load_letor", interrupted)
    result = result_of("train", files[0], "-o", "gbrank", "--model", "model")
    assert (result.exit_code, result.stderr) == (130, "boostrank: interrupted\n")


def test_a_closed_pipe_is_not_an_error():
    run = subprocess.run(
        f"{shlex.quote(sys.executable)} -c 'from boostrank.lab.cli import main; main()' objectives "
        "--json | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (run.stdout, run.stderr) == ("[\n", "")


def test_without_its_packages_the_command_line_says_what_to_install():
    code = "import sys; sys.modules['rich'] = None; from boostrank.lab.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    (line,) = run.stderr.splitlines()
    assert f"pip install {CLI}" in line
    needed = [line for line in requires("boostrank") or () if line.endswith('extra == "cli"')]
    names = {re.split(r"\W", line.replace("scikit-learn", "scikit_learn"))[0] for line in needed}
    assert names - {"boostrank"} | {"matplotlib"} == set(CLI.replace("-", "_").split())


def test_gain(parts, tmp_path):
    """Amounts as labels: LightGBM's built-ins refuse them, our metrics and objectives take them."""
    amounts = RankingData.concat(parts)
    amounts = RankingData(amounts.X, 50.5 * amounts.y**2, amounts.qid)
    file = write(tmp_path / "amounts.txt", svmlight(amounts))
    args = ["compare", file, "-o", "sdcg", *SMALL, "--folds", 1, "--gain", "linear"]
    more = "--baseline", "regression@xgboost", "--preset", "regularized"
    found = json.loads(run(*args, *more, "--json", "--out", tmp_path).stdout)
    assert "gain y," in found["about"]["Convention"]
    assert re.findall(r"But on (\w+): ", found["about"]["Trees"]) == ["lightgbm", "xgboost"]
    trained = {(row["objective"], row["host"]) for row in found["rows"]}
    assert {("sdcg", "lightgbm"), ("sdcg", "xgboost"), ("xgboost:rank:ndcg", "xgboost")} <= trained
    assert refused("compare", file, "--gain", "0;1").startswith("boostrank: gain is exponential,")
    model, scores = tmp_path / "model.txt", tmp_path / "scores.txt"
    run("train", file, "-o", "sdcg", "--rounds", 3, "--gain", "linear", "--model", model)
    values = scores_of(model, file)
    measured = run("evaluate", scores, file, "--gain", "linear", "--metrics", "ndcg").stdout
    want = boostrank.evaluate(values, amounts.y, amounts.group, ["ndcg"], gain="linear")
    assert measured == f"ndcg\t{want['ndcg']:.6f}\n"
    file = write(tmp_path / "grades.txt", svmlight(RankingData.concat(parts)))
    args = ["compare", file, *args[2:-1], "0,0,0,0,0,9", "--metric", "mrr", "--json"]
    without = run(*args, "--out", tmp_path)  # no document has a gain, so that NDCG has no value
    assert {row["metrics"]["ndcg@10"] for row in json.loads(without.stdout)["rows"]} == {None}
    assert not re.search("with a gain|empty", without.stderr)


def test_returns_are_measured_by_their_order(tmp_path):
    data = make_ranking(12, 8, n_features=3, seed=0)
    frame = pd.DataFrame({"qid": data.qid, "label": data.y - 1.5, "a": data.X[:, 0]})
    file, scores = tmp_path / "returns.csv", tmp_path / "scores.txt"
    frame.to_csv(file, index=False)
    np.savetxt(scores, data.X[:, 0])
    metrics = ["spearman", "kendall", "pearson"]
    want = boostrank.evaluate(data.X[:, 0], data.y - 1.5, data.group, metrics)
    lines = [f"{name}\t{value:.6f}" for name, value in want.items()]
    assert run("evaluate", scores, file).stdout.splitlines() == lines
    assert run("evaluate", scores, file, "--metrics", "kendall").stdout.splitlines() == lines[1:2]


@pytest.mark.parametrize(
    "value", ["-" * 5000 + "1", "9" * 400, "9" * 5000, "[" * 5000, "1e999", "1j", "{1: {}}", "\\"]
)
def test_an_absurd_value_is_one_of_the_users_errors(value):
    """It is not a crash that "should not happen"."""
    for label in ("shf-sdcg:gain=", "shf-sdcg:discount=", "shf-sdcg:k=", "lambdarank:sigma="):
        with pytest.raises((TypeError, ValueError)):
            parse_objectives([label + value], 10)


def test_what_does_not_fit_into_memory(files, tmp_path):
    yetirank = ["-o", "yetirank", "-p", "permutations=1000000000000"]
    result = result_of("train", files[0], *yetirank, "--model", tmp_path / "model", *SMALL)
    assert result.exit_code == 2
    assert "Unable to allocate" in result.stderr
    assert "should not happen" not in result.stderr
