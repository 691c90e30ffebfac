"""Files as people have them are read as meant, or refused in a sentence with the file and the cure.

Nothing is taken for something else: neither columns, nor ids, nor features by their numbers.
"""

import bz2
import datetime
import gzip
import io
import lzma
import pickle
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import refused, run, scores_of, svmlight, write
from scipy.sparse import csr_matrix
from test_estimators import make_ranker

from boostrank.datasets import RankingData, from_frame, load_letor, load_letor_parts, make_ranking
from boostrank.datasets.frames import Table
from boostrank.datasets.tables import Columns, features_of_table, read_parts
from boostrank.lab.reading import read_folds

HEADER = "label,qid,a,b"
ROWS = ["1,7,0.5,1", "0,7,0.25,2", "2,8,0.75,3"]
SMALL = ["-o", "gbrank", "--rounds", "3", "--leaves", "3", "--min-docs", "2"]


def _read(path, **columns):
    return read_parts([path], Columns(**columns))[0]


def _good(tmp_path, lines, end="\n"):
    return _read(write(tmp_path / "a.csv", end.join(lines) + end))


# CSV


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, *(f"{row}," for row in ROWS)], "line 2: 5 fields, but the header has 4; remove"),
        ([HEADER, f"9,{ROWS[0]}", *ROWS[1:]], "line 2: 5 fields"),
        ([HEADER, ROWS[0], "\f", *ROWS[1:]], "line 3: 1 fields"),  # pandas makes a row of it
        ([HEADER, ROWS[0], "0,7,0.25", ROWS[2]], "line 3: 3 fields, .* the line may be cut off"),
        ([f"{HEADER},", *ROWS], "line 2: 4 fields, but the header has 5; remove its last comma"),
        (["# made today", HEADER, *ROWS], "line 2: 4 fields, but the header has 1"),
        ([HEADER, "", '1,7,0.5,"1\n2"', '""'], "line 5: 1 fields"),
        ([HEADER], "holds no documents: no row follows the header"),
        ([""], "holds no documents"),
        (["label,label,qid,a", *ROWS], "two columns are named 'label'"),
        (["label,qid,a,a", *ROWS], "two columns are named 'a'"),
        (["sep=,", HEADER, *ROWS], "remove its first line, sep=,"),
        (["label;qid;a;b", "1;7;0,5;1"], "fields are separated by ';'"),
        (["label\tqid\ta\tb", "1\t7\t0.5\t1"], r"fields are separated by '\\t'"),
        (["label,qid,a b,a_b", *ROWS], "'a b' and 'a_b' would both be called 'a_b'"),
        (["label, qid,a,b", *ROWS], r"'qid'; did you mean ' qid'\? .*\); --qid, or qid= in"),
        (["label,qid,,b", "1,7,.5,1", "0,7,.5,1"], "column 3 has no name; name it, or drop it as"),
        ([HEADER, "good,7,1,1", *ROWS], "line 2: column 'label' .* got 'good': number the"),
        ([HEADER, *ROWS, ",8,1,1"], "line 5: column 'label' has no label"),
        ([HEADER, ROWS[0], '0,7,"1,000",1'], "line 3: column 'a' must hold numbers, got '1,000'"),
        ([HEADER, ROWS[0], "0,7,1_000,1"], "line 3: column 'a' must hold numbers, got '1_000'"),
        ([HEADER, '0,7,"0,5",1'], "line 2: column 'a' must hold numbers, got '0,5'"),
        ([HEADER, f"0,7,{'1' * 20_000}x,1"], "line 2: column 'a' must hold numbers, got '111"),
        ([HEADER, ROWS[0], "", "0,7,inf,1"], "line 4: column 'a' must be finite"),
        ([HEADER, ROWS[0], "0,,1,1"], "line 3: column 'qid' must have an id for every document"),
        ([HEADER, ROWS[0], "0,NA,1,1"], "line 3: column 'qid' .* which NA, NULL, nan and the like"),
        ([HEADER, ROWS[0], "0,7.0,1,1"], "line 3: column 'qid' has '7.0', and '7' in line 2"),
        (["label,qid,a,doc_id", *ROWS], "a.csv: the table has the document's id among its"),
    ],
    ids=range(28),
)
def test_csv_of_the_wrong_shape_or_values_is_refused(tmp_path, lines, message):
    with pytest.raises(ValueError, match=message) as caught:
        _good(tmp_path, lines)
    assert str(caught.value).startswith(str(tmp_path / "a.csv"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "lines",
    [
        [HEADER, *ROWS],
        [f"\ufeff{HEADER}", *ROWS],
        ["", HEADER, "", ROWS[0], "   ", *ROWS[1:]],
        ['"label","qid","a","b"', '"1","7","0.5","1"', *ROWS[1:]],
        [HEADER, "1.0, 7.0,.5,1", "0, 7.0,.25,2", ROWS[2]],
    ],
    ids=range(5),
)
def test_every_permitted_form_of_csv(tmp_path, lines, end):
    data = _good(tmp_path, lines, end)
    assert data.X.tolist() == [[0.5, 1], [0.25, 2], [0.75, 3]]
    assert data.y.tolist() == [1, 0, 2]
    assert data.qid.tolist() == [7, 7, 8]
    assert data.names == ("a", "b")


def test_one_row_and_missing_values(tmp_path):
    assert _good(tmp_path, [HEADER, ROWS[0]]).X.tolist() == [[0.5, 1]]
    data = _good(tmp_path, [HEADER, "1,7,,NA", "0,7,nan,null", "0,8,1,2"])
    assert np.isnan(data.X[:2]).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{HEADER}\n1,7,0.5,1\n".encode("utf-16"), "UTF-16"),
        (b"label,qid,\xe9,b\n1,7,1,1\n", "line 1: byte 0xe9 is not UTF-8"),
        (b"label,qid,a,b\n1,7,1,1\n0,7,\xfc,1\n", "line 3: byte 0xfc is not UTF-8"),
        (gzip.compress(b"x"), "compressed by gzip; its name must end in .gz"),
        (bz2.compress(b"x"), "compressed by bzip2; its name must end in .bz2"),
        (lzma.compress(b"x"), "compressed by xz; its name must end in .xz"),
        (b"\x04\x22\x4d\x18...", "compressed by lz4; decompress it first"),
        (b"7z\xbc\xaf\x27\x1c..", "a 7z archive; extract"),
        (b"Rar!\x1a\7", "a rar archive; extract"),
        (pickle.dumps({"label": [1]}), "a pickle of Python"),
        (b"a.csv".ljust(257, b"\0") + b"ustar", "a tar archive; extract"),
        (b"PAR1....", "parquet; its name must end in .parquet"),
        (b"\x93NUMPY\1\0v", "a NumPy array"),
        (b"PK\3\4....", "a zip archive.*or an Excel sheet"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"a,b\0c", "binary"),
    ],
    ids=range(17),
)
def test_files_that_are_no_csv_say_what_they_are(tmp_path, content, message):
    only_csv = any(byte in content for byte in (b"\0c", b"\xe9", b"\xfc"))
    for name in ("a.csv",) if only_csv else ("a.csv", "a.txt", "a.parquet"):
        if content.startswith(b"PAR1") and name == "a.parquet":
            continue
        with pytest.raises(ValueError, match=message) as caught:
            _read(write(tmp_path / name, content))
        assert str(caught.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_damaged_parquet_is_named(tmp_path, damage):
    path = tmp_path / "a.parquet"
    pd.DataFrame(_frame()).to_parquet(path)
    content = path.read_bytes()
    damaged = {"cut": content[:-20], "overwritten": content[:60] + bytes(200) + content[260:]}
    path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match=r"a\.parquet: not a whole parquet file \("):
        _read(path)
    with pytest.raises(FileNotFoundError):
        _read(tmp_path / "none.parquet")


# Compression


def _zip(data, *names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names or ("a",):
            archive.writestr(name, data)
    return file.getvalue()


PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": _zip,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("kind", [".csv", ".txt"])
def test_compression_by_suffix(tmp_path, kind, suffix):
    text = "\n".join([HEADER, *ROWS]) if kind == ".csv" else "1 qid:7 1:.5 2:1\n0 qid:8 2:3\n"
    plain = _read(write(tmp_path / f"a{kind}", text))
    packed, path = PACK[suffix](text.encode()), tmp_path / f"b{kind}{suffix}"
    path.write_bytes(packed)
    np.testing.assert_array_equal(_read(path).X, plain.X)
    np.testing.assert_array_equal(_read(path).qid, plain.qid)
    for broken in (packed[: len(packed) // 2], b"label,qid\n"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"not a whole .* file .*fetch it again") as caught:
            _read(path)
        assert str(caught.value).startswith(str(path))
    path.unlink()
    with pytest.raises(FileNotFoundError) as absent:
        _read(path)
    assert str(absent.value.filename) == str(path)


def test_a_zip_archive_holds_one_file(tmp_path):
    path = write(tmp_path / "a.txt.zip", _zip(b"1 qid:1 1:1", "a", "b"))
    with pytest.raises(ValueError, match=r"must hold one file, but it holds 2 \(a, b\)"):
        load_letor(path)
    path.write_bytes(_zip(b"1 qid:1 1:1", "a", "__MACOSX/._a"))
    assert load_letor(path).X.tolist() == [[1]]


# Ids


BIG = 2**53
IDS = {
    "leading zeros": (["007", "007", "7"], ["007", "007", "7"]),
    "beyond float64": ([str(BIG), str(BIG + 1), str(BIG + 2)], [BIG, BIG + 1, BIG + 2]),
    "uint64": ([str(2**64 - 1), str(2**64 - 2), "3"], [2**64 - 1, 2**64 - 2, 3]),
    "beyond uint64": ([str(2**64), str(2**64 + 1), "3"],) * 2,
    "signed and unsigned": (["-1", str(2**63), "3"],) * 2,
    "mixed": (["1", "1", "a"], ["1", "1", "a"]),
    "dates": (["2024-01-01", "2024-01-01", "2024-01-02"],) * 2,
    "words": (["x", "x", "true"],) * 2,
}


@pytest.mark.parametrize("kind", IDS)
def test_no_two_ids_of_csv_are_confused(tmp_path, kind):
    texts, ids = IDS[kind]
    lines = [HEADER, *(f"1,{text},{i},0" for i, text in enumerate(texts))]
    assert _good(tmp_path, lines).qid.tolist() == ids


def test_several_files_have_ids_of_one_kind_and_columns_in_any_order(tmp_path):
    one = write(tmp_path / "a.csv", f"{HEADER}\n1,007,1,1\n")
    two = write(tmp_path / "b.csv", "qid,b,a,label\n7,2,1,1\n")
    parts = read_parts([one, two], Columns())
    assert [part.qid.tolist() for part in parts] == [["007"], ["7"]]
    assert [part.X.tolist() for part in parts] == [[[1.0, 1.0]], [[1.0, 2.0]]]


DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (DAYS, ["2024-01-01", "2024-01-01", "2024-01-02"]),
        (np.array(DAYS, "datetime64[ns]"), ["2024-01-01", "2024-01-01", "2024-01-02"]),
        (
            np.array(["2024-01-01T05:00", "2024-01-01T05:00", "2024-01-02"], "datetime64[us]"),
            ["2024-01-01T05:00:00", "2024-01-01T05:00:00", "2024-01-02"],
        ),
        (np.array([5, 5, 2**63 + 1], np.uint64), [5, 5, 2**63 + 1]),
        (np.array([5, 5, 6], np.uint64), [5, 5, 6]),
        (np.array([BIG + 1, BIG + 1, BIG + 2]), [BIG + 1, BIG + 1, BIG + 2]),
        (["007", "007", "7"], ["007", "007", "7"]),
    ],
    ids=["days", "days in ns", "times", "uint64", "small uint64", "big", "zeros"],
)
def test_dates_and_large_integers_are_ids_of_frames(make, ids, expected):
    data = from_frame(make({"label": [1, 0, 2], "qid": ids, "a": [0.5, 0.25, 1.0]}))
    assert data.qid.tolist() == expected
    assert data.X.tolist() == [[0.5], [0.25], [1]]
    joined = RankingData.concat(data.split(2, seed=0))
    assert set(joined.qid.tolist()) == set(expected)


@pytest.mark.parametrize(
    "ids",
    [
        DAYS,
        np.array(DAYS, "datetime64[s]"),
        pd.Series(pd.to_datetime(DAYS)),
        pl.Series(DAYS),
        pa.chunked_array([DAYS]),
    ],
    ids=["list", "numpy", "pandas", "polars", "pyarrow"],
)
def test_dates_are_ids_of_arrays(ids):
    data = RankingData([[1.0], [2.0], [3.0]], [0, 1, 2], ids)
    assert data.qid.tolist() == ["2024-01-01", "2024-01-01", "2024-01-02"]


@pytest.mark.parametrize(("kind", "digits"), [("f2", 11), ("f4", 24), ("f8", 53)])
def test_floats_are_ids_while_they_hold_whole_numbers(kind, digits):
    """Beyond that, two ids may have become one before anybody could see them."""
    held = np.array([2**digits - 2, 2**digits - 1], kind)
    assert RankingData([[1.0], [2.0]], [0, 1], held).qid.tolist() == [*map(int, held)]
    merged = np.array([2**digits, 2**digits + 1], kind)
    assert merged[0] == merged[1]
    with pytest.raises(TypeError, match=rf"float\d\d; it holds .* only below 2\^{digits}"):
        RankingData([[1.0], [2.0]], [0, 1], merged)
    with pytest.raises(TypeError, match="only below"):  # two that would be one as int64
        RankingData([[1.0], [2.0]], [0, 1], np.array([2.0**63, 2.0**63 + 4096], np.longdouble))


# Columns


DATA = make_ranking(20, 8, 3, seed=2)


def _frame(**more):
    return {"label": DATA.y, "qid": DATA.qid, "a": DATA.X[:, 0], "b": DATA.X[:, 1], **more}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"twin": DATA.y}, "the label among its features, in the column 'twin'"),
        ({"twin": DATA.qid}, "the query's id among its features, in the column 'twin'"),
        ({"DOCID": np.arange(len(DATA.y))}, "the document's id among its features, in the column"),
        ({"when": np.full(160, DAYS[0], "M8[ms]")}, "column 'when' must hold numbers"),
        ({"words": ["1_0"] * 160}, "column 'words' must hold numbers, got '1_0' in row 0"),
        ({"nested": [[1.0, 2.0]] * 160}, "column 'nested' must hold numbers"),
        ({"": DATA.X[:, 2]}, "column 5 has no name"),
        ({"a:": DATA.X[:, 2], "a\x01": DATA.X[:, 2]}, "would both be called 'a_'"),
    ],
    ids=["label", "id", "document", "dates", "digits", "nested", "unnamed", "alike"],
)
def test_columns_that_are_refused(make, columns, message):
    with pytest.raises(ValueError, match=message):
        from_frame(make(_frame(**columns)))
    assert from_frame(make(_frame(**columns)), drop=[*columns]).names == ("a", "b")


def test_a_table_without_features():
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "url": ["x", "y"]})
    with pytest.raises(ValueError, match="the table has no features"):
        from_frame(frame, drop=["url"])
    with pytest.raises(ValueError, match="the table has no features"):  # a message of NumPy
        features_of_table(Table(frame), Columns(drop=["url"]), [])


def test_two_columns_of_one_name():
    frame = pd.DataFrame(_frame())
    for twice in ("label", "qid", "a"):
        with pytest.raises(ValueError, match=f"two columns are named '{twice}'"):
            from_frame(pd.concat([frame, frame[[twice]]], axis=1))
    with pytest.raises(ValueError, match="the label and an id are one column"):
        from_frame(frame, qid="label")


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
@pytest.mark.parametrize("index", [np.arange(160), np.arange(160)[::-1] * 3 + 1], ids=["0", "old"])
def test_a_kept_index_is_no_feature(make, name, index):
    kept = make({name: index, **_frame()})
    with pytest.warns(UserWarning, match="column 1 has no name and only numbers the rows"):
        data = from_frame(kept)
    assert data.names == ("a", "b")
    assert from_frame(kept, drop=[name]).names == ("a", "b")
    with pytest.warns(UserWarning, match="column 1 has no name"):
        X = features_of_table(Table(kept), Columns(), [])
    np.testing.assert_array_equal(X, data.X)


def test_a_kept_index_of_files(tmp_path):
    frame = pd.DataFrame(_frame())
    shuffled = frame.sample(frac=1, random_state=0)
    shuffled.sort_values("qid", kind="stable").to_csv(tmp_path / "a.csv")
    with pytest.warns(UserWarning, match="a.csv: column 1 has no name"):
        assert _read(tmp_path / "a.csv").names == ("a", "b")
    frame.to_parquet(tmp_path / "a.parquet")
    assert _read(tmp_path / "a.parquet").names == ("a", "b")
    frame.set_index("qid").to_parquet(tmp_path / "b.parquet")
    np.testing.assert_array_equal(_read(tmp_path / "b.parquet").qid, DATA.qid)
    pl.read_parquet(tmp_path / "a.parquet").write_parquet(tmp_path / "c.parquet")
    assert _read(tmp_path / "c.parquet").names == ("a", "b")


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas], ids=["pandas", "pa"])
def test_named_levels_of_an_index_are_columns(tmp_path, make):
    """Panels of returns come by date and ticker."""
    levels = {"date": [f"d{q}" for q in DATA.qid], "ticker": "x", "year": DATA.qid % 5}
    panel = pd.DataFrame(_frame(**levels)).drop(columns="qid")
    plain = from_frame(panel, qid="date", drop=["ticker", "year"])
    indexed = panel.set_index(["date", "ticker", "year"])
    for named in ({}, {"drop": ["ticker"]}, {"doc_id": "ticker"}, {"categorical": ["ticker"]}):
        data = from_frame(make(indexed), qid="date", **named)
        np.testing.assert_array_equal(data.X[:, -2:], plain.X)
        np.testing.assert_array_equal(data.qid, plain.qid)
    path = tmp_path / "a.parquet"
    indexed.to_parquet(path)
    np.testing.assert_array_equal(_read(path, qid="date", drop=["ticker"]).X, plain.X)
    made = read_folds([path], Columns(qid="date"), seed=0, shuffle=False, by="year")
    assert len(made.positions) == 5


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["d", "c", "b", "z"], "the data lack the model's feature 'a'; add it"),
        (["A", "b", "c", "d"], "the data lack the model's feature 'a'; did you mean 'A'?"),
        (["b", "c"], "the data lack the model's feature 'a' and 1 more; add it"),
        (["a", "b", "c", "d", "e"], ""),
        (["d", "c", "b", "a"], ""),
    ],
)
def test_features_are_taken_by_name(names, message):
    frame = pd.DataFrame({name: [float(ord(name))] for name in names})
    if message:
        with pytest.raises(ValueError, match=message.replace("?", r"\?")):
            features_of_table(Table(frame), Columns(), list("abcd"))
    else:
        X = features_of_table(Table(frame), Columns(), list("abcd"))
        assert X.tolist() == [[97, 98, 99, 100]]


def test_a_feature_that_is_lacking_is_no_misspelling_of_another():
    names = [f"feat_{i}" for i in range(40)]
    frame = pd.DataFrame({name: [1.0] for name in (*names, "feat_390") if name != "feat_3"})
    with pytest.raises(ValueError, match=r"lack the model's feature 'feat_3'; add it$"):
        features_of_table(Table(frame), Columns(), names)
    known = pd.DataFrame({"a b": [1.0], "a_b": [2.0]})
    with pytest.raises(ValueError, match="'a b' and 'a_b' may both be the model's feature 'a_b'"):
        features_of_table(Table(known), Columns(), ["a_b"])
    look_alike = pd.DataFrame({"gro\u0308ße": [1.0], "a": [1.0]})
    with pytest.raises(ValueError, match="'größe'; its column has letters in another form"):
        features_of_table(Table(look_alike), Columns(), ["größe", "a"])


def test_what_a_model_cannot_have_learnt():
    """Infinite numbers were scored, although none is trained on, and lost categories not told."""
    columns, words = Columns(), {"k": ["x", "y"]}
    with pytest.raises(ValueError, match=r"column 'a' must be finite.* got inf in row 1"):
        features_of_table(Table(pd.DataFrame({"a": [1.0, np.inf]})), columns, ["a"])
    with pytest.warns(UserWarning, match="column 'k' has none of the model's categories, such as"):
        features_of_table(Table(pd.DataFrame({"k": ["X", None]})), columns, ["k"], words)
    for values, known in ((["X", "y"], words), ([None, None], words), (["X", "y"], {"k": []})):
        features_of_table(Table(pd.DataFrame({"k": values})), columns, ["k"], known)


def test_columns_go_by_position_only_if_no_name_is_known():
    frame = pd.DataFrame({"x": [1.0], "y": [2.0]})
    with pytest.warns(UserWarning, match="no column has the name of a feature of the model"):
        assert features_of_table(Table(frame), Columns(), ["a", "b"]).tolist() == [[1, 2]]
    for names in (["f0", "f1"], ["x", "f1"]):
        with pytest.warns(UserWarning, match="model have no names: the table's 2 columns"):
            X = features_of_table(Table(frame), Columns(), names, made_up=True)
        assert X.tolist() == [[1, 2]]


@pytest.mark.parametrize("rows", [["1,1,3,3"], [f"{i % 2},1,3,3" for i in range(9)]])
def test_data_without_a_split(tmp_path, host, rows):
    path = write(tmp_path / "a.csv", "\n".join([HEADER, *rows]))
    train = ["train", path, *SMALL, "--host", host, "--model", tmp_path / "m"]
    if host == "xgboost":  # a constant model
        run(*train)
        return
    said = f"LightGBM finds nothing to split in {len(rows)} rows: every feature is constant, or no"
    assert f"{said} split leaves min_data_in_leaf=2 rows" in refused(*train)


@pytest.mark.parametrize(
    ("data", "got"), [({"label": [1]}, "dict"), (pl.LazyFrame({"a": [1]}), "LazyFrame; collect it")]
)
def test_what_is_no_frame(data, got):
    with pytest.raises(TypeError, match=f"a data frame of pandas .*, got {got}"):
        from_frame(data)


def test_a_folder_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (".", "..", "/", tmp_path):
        assert f"{folder}: is a directory" in refused("train", folder, "--model", "m", "-o", "sdcg")


# Svmlight


@pytest.mark.parametrize("suffix", [".weight", ".init", ".position", ".base_margin"])
@pytest.mark.parametrize("name", ["r.txt", "r.txt.gz", "r.csv"])
def test_companions_that_a_host_would_read_are_refused(tmp_path, name, suffix):
    text = "\n".join([HEADER, *ROWS]) if ".csv" in name else "1 qid:1 1:1\n0 qid:1 1:2\n"
    path = write(tmp_path / name, text)
    companion = write(tmp_path / (name.removesuffix(".gz") + suffix), "1\n2\n")
    readers = [lambda: _read(path)]
    if ".txt" in name:
        readers += [lambda: load_letor(path), lambda: load_letor_parts([path])]
    for read in readers:
        with pytest.raises(ValueError, match="lies next to the data") as caught:
            read()
        assert str(caught.value).startswith(str(companion))
    commands = [
        ["train", path, "-o", "gbrank", "--model", tmp_path / "m.txt"],
        ["tune", path, "-o", "gbrank", "--out", tmp_path / "o"],
        ["compare", path, "--out", tmp_path / "c"],
        ["evaluate", write(tmp_path / "scores.txt", "1\n" * 3), path],
    ]
    if ".csv" in name:
        commands.append([*commands[2], "--folds-by", "b"])
    for command in commands:
        assert f"{companion} lies next to the data" in refused(*command)


@pytest.mark.parametrize("companion", ["r.csv.weight.gz", "r.csv.gz.weight", "r.csv.gz.init.zst"])
def test_companions_of_packed_data(tmp_path, companion):
    path = write(tmp_path / "r.csv.gz", "\n".join([HEADER, *ROWS]))
    assert _read(path).qid.tolist() == [7, 7, 8]
    (tmp_path / companion).write_bytes(b"")
    with pytest.raises(ValueError, match=f"{companion} lies next to the data"):
        _read(path)


@pytest.mark.parametrize("suffix", [".query", ".group"])
def test_sizes_of_queries_next_to_a_table_must_agree(tmp_path, suffix):
    path = write(tmp_path / "a.csv", "\n".join([HEADER, *ROWS]))
    sizes = write(tmp_path / f"a.csv{suffix}", "2\n1\n")
    assert _read(path).group.tolist() == [2, 1]
    write(sizes, "1\n2\n")
    with pytest.raises(ValueError, match="its qid make other queries than the"):
        _read(path)
    scores = write(tmp_path / "scores.txt", "1\n2\n3\n")
    assert "its qid make other queries" in refused("evaluate", scores, path)


def test_sizes_of_queries_come_from_query_and_group_files(tmp_path):
    path = write(tmp_path / "r.txt", "1 1:1\n0 1:2\n2 1:3\n")
    (tmp_path / "r.txt.group").write_text("2\n1\n", encoding="utf-8")
    assert load_letor(path).group.tolist() == [2, 1]
    (tmp_path / "r.txt.query").write_text("1\n2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"r\.txt\.group and r\.txt\.query differ"):
        load_letor(path)
    (tmp_path / "r.txt.group").unlink()
    path.write_text("1 qid:1 1:1\n0 qid:1 1:2\n2 qid:2 1:3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="its qid make other queries"):
        load_letor(path)
    (tmp_path / "r.txt.query").write_text("2\n1\n", encoding="utf-8")
    assert load_letor(path).qid.tolist() == [1, 1, 2]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_whose_host_may_have_numbered_features_from_0(tmp_path, host, sparse):
    """As both hosts' own readers of files do: column 0 is empty, and feature 1 is column 1."""
    data, X = write(tmp_path / "data.txt", svmlight(DATA)), np.insert(DATA.X, 0, 0.0, axis=1)
    X[:, -1] = 1.0  # constant, too
    flags = {"deterministic": True, "force_col_wise": True} if host == "lightgbm" else {}
    model = make_ranker(host, **flags).fit(csr_matrix(X) if sparse else X, DATA.y, qid=DATA.qid)
    booster = model.booster_ if host == "lightgbm" else model.get_booster()
    booster.save_model(tmp_path / "m.json")
    said = refused("predict", tmp_path / "m.json", data, "--out", tmp_path / "s")
    assert "if it trained on a svmlight file, took feature 1 for its second" in said
    zeros = write(tmp_path / "zeros.txt", svmlight(DATA).replace("\n", " 4:0\n"))
    run("predict", tmp_path / "m.json", zeros, "--out", tmp_path / "s")  # it has the last


@pytest.mark.parametrize("first", [0, 1])
def test_features_keep_their_numbers_from_training_to_prediction(tmp_path, host, first):
    train = write(tmp_path / "train.txt", svmlight(DATA, first))
    data = load_letor(train)
    np.testing.assert_array_equal(data.X, DATA.X)
    assert data.names == (("0", "1", "2") if first == 0 else ())
    model = tmp_path / "m.json"
    args = ["train", train, *SMALL, "--host", host, "--model", model, "--keep-order"]
    run(*args, "--valid", train)
    bare = write(tmp_path / "bare.txt", svmlight(DATA, first, label=False))
    np.testing.assert_array_equal(scores_of(model, bare), scores_of(model, train))
    # Without the first feature, a file from 0 looks like one from 1; without the last, it is short.
    for column in (0, 2):
        less = RankingData(DATA.X.copy(), DATA.y, DATA.qid)
        less.X[:, column] = 0
        text, table = write(tmp_path / "less.txt", svmlight(less, first)), tmp_path / "less.csv"
        pd.DataFrame(less.X, columns=data.names or None).to_csv(table, index=False)
        np.testing.assert_array_equal(scores_of(model, text), scores_of(model, table))
    # A file that numbers in the other way is refused.
    other = write(tmp_path / "other.txt", svmlight(DATA, 1 - first))
    message = refused("predict", model, other, "--out", tmp_path / "s")
    assert f"{other}, line 1: feature {3 if first == 0 else 0} " in message
    assert "from 1" in message
    assert "number" in refused(*args, "--valid", other)


def test_validation_data_has_the_features_of_training(tmp_path):
    train, valid = write(tmp_path / "a.txt", svmlight(DATA)), tmp_path / "b.txt"
    args = ["train", train, *SMALL, "--model", tmp_path / "m.txt", "--valid", valid]
    valid.write_text("1 qid:1 1:1\n0 qid:1 1:2\n", encoding="utf-8")
    run(*args)
    valid.write_text("1 qid:1 1:1\n0 qid:1 4:2\n", encoding="utf-8")
    beyond = "b.txt, line 2: feature 4 is beyond the 3 features of the training data"
    assert beyond in refused(*args)
    valid.write_text("0 qid:1 1:1\n0 qid:1 2:2\n", encoding="utf-8")
    assert f"{valid}: no query counts in NDCG@10" in refused(*args)
    valid.write_text("1 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 1:1\n0 qid:3 1:1\n", encoding="utf-8")
    assert f"{valid}: NDCG@10, by which --valid stops the training, is the" in refused(*args)
    run(*args, "--metric", "logloss")


def test_files_that_number_features_differently_are_refused(tmp_path):
    one = write(tmp_path / "a.txt", svmlight(DATA, 0))
    two = write(tmp_path / "b.txt", svmlight(RankingData(DATA.X, DATA.y, DATA.qid + 99)))
    message = r"b\.txt, line 1: feature 3 is one more than .*a\.txt has"
    with pytest.raises(ValueError, match=message):
        load_letor([one, two])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\r0 qid:1 1:2\r", "line 1: the lines end in CR alone"),
        ("1 qid:1 1:1 # a\r0 qid:1 1:2 # b\r", "line 1: the lines end in CR alone"),
        ("label,qid,a\n1,1,1\n", "line 1: the label must be a number.*name that ends in .csv"),
        ("1,qid:1,1:1\n", "line 1: the label is missing.*name that ends in .csv"),
        (
            "1\t1\t2.0\n0\t1\t1.0\n",
            "line 1: expected a feature.*got '1'; if it is a table, save it",
        ),
        ("1 qid:1 1:1\n1\t1\t2.0\n", "line 2: expected a feature as number:value, got '1'$"),
        ("\ufefflabel 1:1", "line 1: the label must be a number"),
    ],
)
def test_other_files_by_the_name_of_svmlight(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_letor(write(tmp_path / "a.txt", text))


def test_a_mark_of_utf8_and_an_unlabelled_line(tmp_path):
    path = write(tmp_path / "a.txt", "\ufeff1 qid:1 1:1\n")
    assert load_letor(path).y.tolist() == [1]
    model = tmp_path / "m.txt"
    run("train", write(tmp_path / "t.txt", svmlight(DATA)), *SMALL, "--model", model)
    write(path, "1 1:1\n1:1\n")
    said = refused("predict", model, path, "--out", tmp_path / "s")
    assert "line 2: no label, though other lines" in said
