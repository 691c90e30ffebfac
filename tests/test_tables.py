"""CSV, parquet and data frames in; models and scores out, the same as from arrays."""

import json

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import xgboost
from commands import refused, run, scores_of, write
from sklearn.datasets import dump_svmlight_file
from test_features import categorical

import boostrank
from boostrank.datasets import RankingData, from_frame, make_ranking
from boostrank.datasets.frames import Table
from boostrank.datasets.tables import Columns, parts_of_tables, read_parts
from boostrank.lab.reading import read_folds
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

DATA = make_ranking(30, 10, 4, seed=1)
NAMES = ["bm25", "page rank", "len", "x"]


def _frame():
    frame = pd.DataFrame(DATA.X, columns=NAMES)
    frame["shop"] = np.arange(len(frame)) % 4
    frame["brand"] = np.array(["b", "a", "c"])[np.arange(len(frame)) % 3]
    frame["query"] = [f"q{q:03d}" for q in DATA.qid]
    frame["grade"] = DATA.y
    frame["url"] = "http://"
    return frame


OPTIONS = ["--label", "grade", "--qid", "query"]
COLUMNS = {"label": "grade", "qid": "query", "drop": ["url", "brand"]}
SMALL = ["--rounds", "6", "--leaves", "4", "--min-docs", "3", "--learning-rate", "0.3"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    frame = _frame()
    paths = {name: folder / f"{name}.csv" for name in ("csv", "unsorted")}
    paths["parquet"] = folder / "whole.parquet"
    frame.to_csv(paths["csv"], index=False)
    frame.to_parquet(paths["parquet"])
    frame.sample(frac=1, random_state=0).to_csv(paths["unsorted"], index=False)
    return paths


# Frames


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_frame_is_its_arrays(make):
    data = from_frame(make(_frame()), **COLUMNS, categorical=["shop"])
    np.testing.assert_array_equal(data.X[:, :4], DATA.X)
    np.testing.assert_array_equal(data.X[:, 4], np.arange(300) % 4)
    np.testing.assert_array_equal(data.y, DATA.y)
    np.testing.assert_array_equal(data.group, DATA.group)
    assert data.names == ("bm25", "page_rank", "len", "x", "shop")
    assert data.categorical == (4,)
    assert data.qid.tolist() == _frame()["query"].tolist()
    words = {"categorical": ["brand"], "drop": ["url", "shop"]}
    data = from_frame(make(_frame()), **COLUMNS | words)
    assert data.categories == {4: ("a", "b", "c")}
    for part in (data.select([1, 0]), *data.split(2, seed=0), RankingData.concat([data])):
        kept = part.names, part.categorical, part.categories
        assert kept == (data.names, data.categorical, data.categories)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_missing_numbers_words_and_categories(make):
    frame = pd.DataFrame(
        {
            "qid": [1, 1, 2],
            "label": [1, 0, 2],
            "a": pd.array([1, None, 3], dtype="Int64"),
            "b": ["y", None, "x"],
            "c": pd.Categorical(["u", "v", "u"]),
            "d": [True, False, True],
            "e": pd.array(["n", pd.NA, "None"], dtype="string"),
        }
    )
    data = from_frame(make(frame), categorical=["b", "e"])
    nan = np.nan
    np.testing.assert_array_equal(data.X, [[1, 1, 0, 1, 1], [nan, nan, 1, 0, nan], [3, 0, 0, 1, 0]])
    assert data.categorical == (1, 2, 4)
    assert data.categories == {1: ("x", "y"), 2: ("u", "v"), 4: ("None", "n")}


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    ("name", "values", "error", "message"),
    [
        ("qid", [1.0, None, 2.0], ValueError, "column 'qid' must have an id .*row 1 has none"),
        ("qid", ["a", None, "b"], ValueError, "column 'qid' must have an id .*row 1 has none"),
        ("qid", [1.5, 1.5, 2.0], TypeError, "column 'qid' must hold integers or strings"),
        ("Query_ID", [1.0, 2.0, 3.0], ValueError, "id among its features, in .*'Query_ID'.*--drop"),
    ],
)
def test_ids_are_checked_as_the_rankers_do(make, name, values, error, message):
    frame = pd.DataFrame({"qid": [4, 4, 7], "label": [1, 0, 2], "a": [0.0, 1.0, 2.0]})
    with pytest.raises(error, match=message):
        from_frame(make(frame.assign(**{name: values})))


def test_whole_floats_are_ids_and_ids_of_two_kinds_are_refused():
    one = pd.DataFrame({"qid": [1.0, 1.0], "label": [1, 0], "a": [0.0, 1.0]})
    assert from_frame(one).qid.tolist() == [1, 1]
    message = r"integers or strings, not both: row 0 has 1.*row 2 has 'a'"
    with pytest.raises(TypeError, match=message):
        parts_of_tables([Table(one.astype({"qid": int})), Table(one.assign(qid="a"))], Columns())
    arrays = RankingData([[0.0]], [1], [1]), RankingData([[0.0]], [1], ["a"])
    with pytest.raises(TypeError, match="qid must hold integers or strings, not both"):
        RankingData.concat(arrays)


def test_scattered_queries_are_grouped_with_a_warning():
    frame = pd.DataFrame({"qid": [5, 3, 5, 3], "label": [0, 1, 2, 3], "a": [0.0, 1.0, 2.0, 3.0]})
    with pytest.warns(UserWarning, match="rows are grouped by 'qid'") as said:
        data = from_frame(frame)
    assert said[0].filename == __file__
    assert data.qid.tolist() == [5, 5, 3, 3]
    assert data.X[:, 0].tolist() == data.y.tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "grad"}, "unknown column 'grad'; did you mean 'grade'?"),
        ({"drop": ["url", "brnd"]}, "unknown column 'brnd'; did you mean 'brand'?"),
        (
            {"drop": ["url"]},
            "column 'brand' must hold numbers, got .*: write its values as numbers, such as 35.57",
        ),
        *(
            ({"categorical": [name]}, f"'{name}' is named as categorical, but it is not among the")
            for name in ("grade", "query", "brand")
        ),
    ],
)
def test_frames_that_are_refused(changes, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        from_frame(_frame(), **COLUMNS | changes)
    other = _frame().rename(columns={"len": "length"})
    with pytest.raises(ValueError, match="must have the same columns"):
        parts_of_tables([Table(_frame()), Table(other)], Columns(**COLUMNS))


# Files


@pytest.mark.parametrize("objective", ["gbrank", "lightgbm:lambdarank", "xgboost:rank:ndcg"])
def test_train_predict_evaluate_on_tables(objective, files, tmp_path):
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    run(
        *("train", files["csv"], "-o", objective, "--model", model, *OPTIONS, *SMALL),
        *("--drop", "url,brand", "--categorical", "shop", "--keep-order"),
    )
    if objective == "xgboost:rank:ndcg":
        booster = xgboost.Booster(model_file=model)
        assert booster.feature_names == ["bm25", "page_rank", "len", "x", "shop"]
        assert booster.feature_types == ["float"] * 4 + ["c"]
    else:
        booster = lightgbm.Booster(model_file=model)
        assert ("objective=lambdarank" in booster.model_to_string()) == (":" in objective)
        assert booster.feature_name() == ["bm25", "page_rank", "len", "x", "shop"]
    found = {}
    for name in ("csv", "unsorted", "parquet"):
        # Columns that are not features of the model may be present or absent.
        run("predict", model, files[name], "--out", scores)
        measured = run("evaluate", scores, files[name], *OPTIONS)
        found[name] = measured.stdout
    want = boostrank.evaluate(np.loadtxt(scores), DATA.y, DATA.group)["ndcg@10"]
    assert f"ndcg@10\t{want:.6f}" in found["csv"]
    assert found["csv"] == found["parquet"]
    assert want > 0.7


def test_a_model_keeps_the_words_of_its_categories(host, tmp_path):
    model, data, valid, new = (tmp_path / name for name in ("m.json", "a.csv", "b.csv", "c.csv"))
    frame = _frame()
    frame["grade"] = np.where(frame["brand"] == "a", 4, frame["grade"])
    frame.to_csv(data, index=False)
    unjudged = frame["grade"].where(frame["query"] != frame["query"][0], 0)
    new_words = frame["brand"].replace("a", "new")
    frame.assign(brand=new_words, grade=unjudged).to_csv(valid, index=False)
    named = ["bm25", "page_rank", "len", "x", "shop", "brand"]
    result = run(
        *("train", data, "-o", "query-rmse", "--host", host, "--model", model),
        *(*OPTIONS, *SMALL, "--drop", "url", "--categorical", "brand,shop"),
        *("--valid", valid, "--patience", 9),  # its words differ from those of the training data
    )
    assert f"{valid}: 1 of 30 queries has no relevant document and is left out" in result.stderr
    frame["brand"] = ["c", "unheard of", None] * 100
    frame.to_csv(new, index=False)
    scores = scores_of(model, new)
    # The host alone, from the file, with the categories as pandas has them.
    X = frame.rename(columns={"page rank": "page_rank"})[named]
    words = ["a", "b", "c", "new"]
    known = X["brand"].where(X["brand"].isin(words))
    X["brand"] = pd.Categorical(known, categories=words)
    if host == "lightgbm":
        X["shop"] = X["shop"].astype("category")
        expected = lightgbm.Booster(model_file=model).predict(X)
    else:
        booster = xgboost.Booster(model_file=model)
        kinds = ["float"] * 4 + ["c", "c"]
        expected = booster.predict(xgboost.DMatrix(X, feature_types=kinds, enable_categorical=True))
    np.testing.assert_array_equal(scores, expected)
    frame.assign(brand="a").to_csv(new, index=False)
    assert not np.array_equal(scores_of(model, new)[::3], scores[::3])


@pytest.mark.parametrize("option", ["--drop", "--categorical"])
@pytest.mark.parametrize("given", ["svmlight", "valid", "nothing"])
def test_features_without_names_cannot_be_named(given, option, tmp_path):
    """They were ignored, so that a feature stayed that was to be dropped."""
    path = tmp_path / "a.txt"
    dump_svmlight_file(DATA.X, DATA.y, str(path), query_id=DATA.qid, zero_based=False)
    train = ["train", path, "-o", "gbrank", "--model", tmp_path / "m.txt"]
    command = {"svmlight": train, "valid": [*train, "--valid", path], "nothing": ["compare"]}
    said = refused(*command[given], option, "2")
    assert "'2' is to be dropped or categorical, but only tables have columns with names" in said


@pytest.mark.filterwarnings("ignore:the folds go forward .* ids such as 'q001' do not tell")
def test_folds_by_a_column_need_its_value_in_every_row(tmp_path):
    """Rows without one were a part of their own, the last."""
    path = tmp_path / "a.csv"
    frame = _frame().drop(columns=["url", "brand"]).assign(year=2020 + DATA.qid % 3)
    named = Columns("grade", "query")
    frame.to_csv(path, index=False)
    made = read_folds([path], named, seed=0, shuffle=False, by="year")
    assert [len(test) for _, _, test in made.positions] == [10, 10, 10]
    for how in ({}, {"by": "year"}):
        forward = read_folds([path], named, seed=0, shuffle=False, forward=True, gap=1, **how)
        assert " forward in time, gap 1; " in forward.about
    frame.assign(year=2020 + DATA.qid % 3 / 4).to_csv(path, index=False)  # quarters
    quarters = read_folds([path], named, seed=0, shuffle=False, by="year")
    np.testing.assert_equal(quarters.positions, made.positions)
    row = int(np.argmax(DATA.qid == 5))
    said = f"column 'year' must have a value for every document, but row {row} has none"
    lacking = frame["year"].where(DATA.qid != 5)
    frame.assign(year=lacking).to_csv(path, index=False)
    dates = tmp_path / "a.parquet"
    frame.assign(year=lacking.astype("datetime64[s]")).to_parquet(dates)
    for one in (path, dates):
        with pytest.raises(ValueError, match=said):
            read_folds([one], named, seed=0, shuffle=False, by="year")
    words = tmp_path / "b.csv"
    frame.assign(year="later", query="z").to_csv(words, index=False)
    frame.to_csv(path, index=False)
    with pytest.raises(TypeError, match="column 'year' must hold values that have an order: '<'"):
        read_folds([path, words], named, seed=0, shuffle=False, by="year")


@pytest.mark.parametrize(
    ("values", "codes", "words"),
    [
        (["NA", "DE", "", "null"], [1, 0, np.nan, 2], ("DE", "NA", "null")),
        (["007", "7", "", "8"], [0, 1, np.nan, 2], ("007", "7", "8")),
        (["7", "7.0", "", "3"], [7, 7, np.nan, 3], None),
        (["7", "NA", "nan", "3"], [7, np.nan, np.nan, 3], None),
        (["", "NA", "", "NA"], [np.nan, 0, np.nan, 0], ("NA",)),
    ],
)
def test_categories_of_csv_are_what_is_written(tmp_path, values, codes, words):
    """NA among words, such as Namibia, was a missing value, and among numbers a word."""
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for number, (path, half) in enumerate(zip(paths, (values[:2], values[2:]), strict=True)):
        lines = "".join(f"1,{number},{value}\n" for value in half)
        path.write_text(f"label,qid,self\n{lines}", encoding="utf-8")  # no argument of pandas
    parts = read_parts(paths, Columns(categorical=["self"]))
    np.testing.assert_array_equal(np.concatenate([part.X[:, 0] for part in parts]), codes)
    assert [part.categories.get(0) for part in parts] == [words, words]


def test_predict_reads_categories_as_written(tmp_path):
    model, train, new = (tmp_path / name for name in ("m.txt", "a.csv", "b.csv"))
    frame = pd.DataFrame({"label": DATA.y, "qid": DATA.qid, "=x": DATA.X[:, 0]})
    frame["k"] = np.array(["NA", "DE", "1.50", "FR"])[DATA.y.astype(int) % 4]
    frame.to_csv(train, index=False)
    run("train", train, "-o", "query-rmse", "--model", model, *SMALL, "--categorical", "k")
    frame.replace({"k": {"1.50": "1.5"}}).to_csv(new, index=False)
    scores = scores_of(model, train)
    np.testing.assert_array_equal(scores_of(model, new), scores)
    frame.replace({"k": {"NA": ""}}).to_csv(new, index=False)
    lacking = frame["k"] == "NA"
    assert (scores_of(model, new) != scores)[lacking].all()


@pytest.mark.parametrize(
    "values",
    [
        ["1000", "1_000", "007"],
        [5, 2**24, 5_000_000_000],
        ["4e12345678901234567890", "4e12345678901234567891", "1"],  # hashes, in hexadecimal
    ],
)
def test_categories_are_numbers_only_if_both_hosts_take_them(values):
    """Text that Python reads as one number was one category, and LightGBM lost large numbers."""
    frame = pd.DataFrame({"qid": [1, 1, 2], "label": [1, 0, 2], "k": values})
    data = from_frame(frame, categorical=["k"])
    assert data.categories == {0: tuple(sorted(map(str, values)))}


VALUES = {
    "integers": [40, 10, 30, 20],
    "text of digits": ["7", "007", "1.0", "10"],
    "letters": ["ああ", "ä", "いい", "b"],
    "numbers": [0.5, 2.0, -1.0, 1e10],
    "bool": [True, False, True, False],
}


@pytest.mark.parametrize(
    ("host", "kind"),
    [*(("lightgbm", kind) for kind in VALUES), *(("xgboost", kind) for kind in [*VALUES][:3])],
)
def test_categories_of_any_type_are_found_by_value(host, kind, tmp_path):
    """The values of a file were taken for codes, unless all of them were strings."""
    model, new = tmp_path / "m.json", tmp_path / "new.csv"
    frame = pd.DataFrame(DATA.X, columns=list("wxyz"))
    frame["k"] = pd.Series(VALUES[kind])[DATA.y.astype(int) % 4].to_numpy()
    X = frame.astype({"k": "category"})
    ranker = categorical(host).fit(X, DATA.y, qid=DATA.qid)
    (ranker.booster_ if host == "lightgbm" else ranker).save_model(model)
    lacking = frame.assign(k=frame["k"].astype(object).where(frame.index > 1, None))
    for some in (frame, lacking):
        some.to_csv(new, index=False)
        expected = ranker.predict(some.astype({"k": X["k"].dtype}))
        np.testing.assert_array_equal(scores_of(model, new).astype(expected.dtype), expected)
    svmlight = write(tmp_path / "new.txt", "1 qid:1 1:0.5 5:1\n")
    said = refused("predict", model, svmlight, "--out", tmp_path / "scores")
    assert "model was trained on categories, such as those of 'k', which svmlight" in said


@pytest.mark.parametrize(("ordered", "chosen"), [(True, "auto"), (False, ["e"])])
def test_a_file_may_not_tell_which_columns_hold_categories(ordered, chosen, tmp_path):
    """The list of `k` was given to `e`, whose codes go beyond it; scores were other ones."""
    model, new = tmp_path / "model.txt", tmp_path / "new.csv"
    words = pd.Categorical(DATA.y.astype(int).astype(str), ordered=ordered)
    frame = pd.DataFrame(DATA.X, columns=list("wxyz")).assign(k=words, e=np.arange(len(DATA.y)) % 9)
    ranker = LGBMRanker(n_estimators=2, n_jobs=1, verbosity=-1)
    ranker.fit(frame, DATA.y, qid=DATA.qid, categorical_feature=chosen)
    ranker.booster_.save_model(model)
    frame.to_csv(new, index=False)
    message = "the model has 1 columns of categories and does not name them"
    assert message in refused("predict", model, new, "--out", tmp_path / "scores")


@pytest.mark.filterwarnings("ignore:cat_feature in param dict is overridden")
def test_a_file_may_name_columns_that_lightgbm_ignored(tmp_path):
    """The list of `k` was given to `e`; scores were other ones."""
    model, new = tmp_path / "model.txt", tmp_path / "new.csv"
    frame = pd.DataFrame({"k": pd.Categorical(DATA.y + 1), "e": np.arange(len(DATA.y)) % 9})
    params = {"cat_feature": [1], "min_data_per_group": 5, "verbosity": -1}
    booster = lightgbm.train(params, lightgbm.Dataset(frame, DATA.y), 3)
    booster.save_model(model)
    frame.to_csv(new, index=False)
    np.testing.assert_array_equal(scores_of(model, new), booster.predict(frame))


def test_names_of_features_that_only_xgboost_takes(tmp_path):
    """`predict` said: the data lack 'page rank'; did you mean 'page rank'?"""
    model, new = tmp_path / "model.json", tmp_path / "new.csv"
    frame = pd.DataFrame(DATA.X, columns=["a:b", "page rank", "page_rank", "x"])
    ranker = XGBRanker(n_estimators=3, n_jobs=1).fit(frame, DATA.y, qid=DATA.qid)
    ranker.save_model(model)
    frame[frame.columns[::-1]].to_csv(new, index=False)
    np.testing.assert_array_equal(scores_of(model, new).astype("f4"), ranker.predict(frame))


def test_a_model_of_a_sparse_matrix_reads_svmlight_as_such(tmp_path):
    """XGBoost took for missing what the matrix left out; `predict` made zeros of it."""
    model, new, table = (tmp_path / name for name in ("m.json", "new.txt", "new.csv"))
    X = scipy.sparse.csr_matrix(np.where(np.abs(DATA.X) < 0.5, 0.0, DATA.X))
    ranker = XGBRanker(n_estimators=5, n_jobs=1).fit(X, DATA.y, qid=DATA.qid)
    ranker.save_model(model)
    dump_svmlight_file(X, DATA.y, str(new), query_id=DATA.qid, zero_based=False)
    want = ranker.predict(X)
    np.testing.assert_array_equal(scores_of(model, new).astype(want.dtype), want)
    frame = pd.DataFrame(X.toarray()).add_prefix("f")  # as XGBoost names them
    frame.to_csv(table, index=False)
    said = refused("predict", model, table, "--out", tmp_path / "scores")
    assert "a table has zeros, but the model was trained on a sparse" in said
    frame.replace(0.0, np.nan).to_csv(table, index=False)
    np.testing.assert_array_equal(scores_of(model, table).astype(want.dtype), want)


@pytest.mark.usefixtures("no_figures")
def test_queries_come_out_as_they_were_given(files, tmp_path):
    frame = _frame()
    small = {"rounds": 2, "leaves": 4, "min_docs": 3, "objectives": ["gbrank"], "drop": ["url"]}
    named = {"label": "grade", "qid": "query", "categorical": ["brand"]}
    found = boostrank.compare(frame, **named, **small, folds=[1, 2])
    assert set(found.queries["qid"]) < set(frame["query"])
    found.report(tmp_path / "report.html")
    assert " q0" in (tmp_path / "report.html").read_text(encoding="utf-8")
    common = ["compare", files["csv"], "-o", "gbrank", "--hosts", "lightgbm", *OPTIONS, *SMALL]
    common += ["--drop", "url,brand", "--folds", "1", "--out", tmp_path]
    run(*common)
    first = (tmp_path / "queries.csv").read_text(encoding="utf-8")
    assert {f"q{q:03d}" for q in DATA.qid} >= set(pd.read_csv(tmp_path / "queries.csv")["qid"])
    again = run(*common, "--resume")
    assert "4 of 4 results are in" in again.stderr
    assert (tmp_path / "queries.csv").read_text(encoding="utf-8") == first


@pytest.mark.usefixtures("no_figures")
def test_compare_takes_a_table_a_metric_and_parameters(files, tmp_path):
    params = write(tmp_path / "host.json", '{"max_bin": 15}')
    common = ["compare", files["unsorted"], "-o", "gbrank", "--hosts", "lightgbm", *OPTIONS, *SMALL]
    common += ["--drop", "url", "--categorical", "brand,shop", "--folds", "1,2", "--metric", "mrr"]
    result = run(*common, "--out", tmp_path, "--json")
    assert result.stderr == (
        "boostrank: rows are grouped by 'query': the documents of a query were not contiguous\n"
    )
    printed = json.loads(result.stdout)
    assert printed["settings"]["metric"] == "mrr"
    for row in printed["rows"]:
        assert next(iter(row["metrics"])) == "mrr"
        best = max(each["metrics"]["mrr"] for each in printed["rows"])
    assert printed["rows"][0]["metrics"]["mrr"] == best
    other = json.loads(run(*common, "--out", tmp_path, "--json", "--params", params).stdout)
    assert other["settings"]["params"] == {"lightgbm": {"max_bin": 15}}
    assert [row["metrics"] for row in other["rows"]] != [row["metrics"] for row in printed["rows"]]


def test_files_and_options_that_are_refused(files, tmp_path):
    train = ["train", files["csv"], "-o", "gbrank", "--model", tmp_path / "m.txt", *OPTIONS]
    assert "did you mean 'grade'" in refused(*train, "--label", "grad")
    letor = write(tmp_path / "a.txt", "1 qid:1 1:0.5\n")
    assert "the files must be of one kind" in refused(*train, letor)
    params = write(tmp_path / "p.json", "{")
    assert "p.json, line 1: not JSON" in refused(*train, "--params", params)
    params.write_text('{"lightgbm": {"max_bin": 7, "max_bin": 63}}', encoding="utf-8")
    assert "p.json: 'max_bin' is there twice" in refused(*train, "--params", params)
    params.write_text('{"lightgmb": {"a": 1}, "xgboost": {}}', encoding="utf-8")
    assert "did you mean 'lightgbm'" in refused(*train, "--params", params)
    params.write_text('{"xgboost": {"max_bin": 7}}', encoding="utf-8")
    said = refused(*train, "--host", "lightgbm", "--params", params)
    assert "has parameters only of xgboost, and the training is on lightgbm" in said
    params.write_text('{"lightgbm": {"max_bin": 7}}', encoding="utf-8-sig")
    run(*train, "--params", params, "--drop", "url,brand", *SMALL)
    theirs = ["train", files["csv"], "-o", "lightgbm:lambdarank", "--model", tmp_path / "m.txt"]
    said = refused(*theirs, "--host", "xgboost")
    assert "--host xgboost cannot train lightgbm:lambdarank, which is lightgbm's" in said
    assert "--param is for boostrank's objectives" in refused(*theirs, "-p", "k=3")
    few = tmp_path / "few.csv"
    _frame().iloc[:20].to_csv(few, index=False)
    said = refused("compare", few, *OPTIONS, "--drop", "url,brand")
    assert "need at least 5 queries, got 2" in said
