"""Reading ranking data, folds, and data made by the papers' recipe."""

import gzip
import math
import pickle
import re
import tracemalloc
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import pytest
from commands import write

from boostrank.datasets import (
    RankingData,
    group_folds,
    letor_folds,
    load_letor,
    load_letor_parts,
    make_ranking,
)

# files, queries, documents, features, documents of each grade 0, 1, ... (as published)
REAL = {
    "ohsumed": (["S1", "S2", "S3", "S4", "S5"], 106, 16140, 45, [11303, 2585, 2252]),
    "mq2008": (["S1", "S2", "S3", "S4", "S5"], 784, 15211, 46, [12279, 2001, 931]),
    "letor2_baselines": (["S1", "S2", "S3", "S4", "S5"], 106, 16140, 25, [11303, 2585, 2252]),
    "mslr_sample": (["train", "vali", "test"], 90, 9189, 136, None),
    "lightgbm_example": (["rank.train", "rank.test"], 251, 3773, 300, None),
}


def raises_value_error(start: str, end: str = ""):
    return pytest.raises(ValueError, match=f"^{re.escape(start)}.*{re.escape(end)}")


def rows_of(data: RankingData) -> Counter:
    return Counter(
        (int(q), float(y), tuple(x)) for q, y, x in zip(data.qid, data.y, data.X, strict=True)
    )


@pytest.fixture
def ragged(rng: np.random.Generator) -> RankingData:
    group = rng.integers(1, 9, 23)
    n_docs = int(group.sum())
    ids = rng.permutation(1000)[:23]
    X, y = rng.normal(size=(n_docs, 3)), rng.integers(0, 5, n_docs)
    return RankingData(X, y, np.repeat(ids, group))


@pytest.mark.parametrize("folder", REAL)
def test_real_data_has_the_published_counts(data_dir, folder):
    names, n_queries, n_docs, n_features, grades = REAL[folder]
    suffix = ".gz" if folder == "lightgbm_example" else ".txt.gz"
    data = load_letor([data_dir / folder / (name + suffix) for name in names])
    assert data.X.shape == (n_docs, n_features)
    assert len(data.group) == n_queries
    if grades is None:
        assert set(data.y) == {0, 1, 2, 3, 4}
    else:
        assert np.bincount(data.y.astype(int)).tolist() == grades


# -- what files may hold ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_permitted_form_of_a_line(tmp_path, name, end):
    lines = [
        "# a comment alone",
        "2 qid:10 1:0.5 3:-1e-3 #docid = GX008_86 inc = 1 prob = NULL:nan",
        "",
        "0.5\tqid:10\t2:+.25",
        "   ",
        "0 qid:10 1:NULL 2:nan 3:1.#tight",
        "+1 qid:-3",
    ]
    data = load_letor(write(tmp_path / name, end.join(lines)))
    nan = math.nan
    np.testing.assert_array_equal(data.X, [[0.5, 0, -1e-3], [0, 0.25, 0], [nan, nan, 1], [0, 0, 0]])
    assert data.y.tolist() == [2, 0.5, 0, 1]
    assert data.qid.tolist() == [10, 10, 10, -3]
    assert data.group.tolist() == [3, 1]


def test_several_files_are_padded_to_the_widest(tmp_path):
    narrow = write(tmp_path / "a.txt", "1 qid:1 1:1 2:2\n0 qid:2 1:3\n")
    wide = write(tmp_path / "b.txt.gz", "2 qid:3 4:4\n")
    bare = write(tmp_path / "c.txt", "0 qid:4\n")
    data = load_letor([narrow, str(wide), bare])
    assert data.X.tolist() == [[1, 2, 0, 0], [3, 0, 0, 0], [0, 0, 0, 4], [0, 0, 0, 0]]
    assert data.X.flags.c_contiguous
    assert data.qid.tolist() == [1, 2, 3, 4]
    np.testing.assert_equal(load_letor(iter([narrow, wide, bare])).X, data.X)  # as of Path.glob
    parts = load_letor_parts(iter([narrow, wide, bare]))
    for part, rows in zip(parts, ([0, 1], [2], [3]), strict=True):
        assert part.X.tolist() == data.X[rows].tolist()
    assert [part.qid.tolist() for part in parts] == [[1, 2], [3], [4]]


@pytest.mark.parametrize("name", ["rank.train", "rank.train.gz"])
def test_queries_from_lightgbms_query_file(tmp_path, name):
    data_file = write(tmp_path / name, "1 2:1\n0 1:1\n2 1:2\n")
    write(tmp_path / "rank.train.query", "2\r\n1\r\n\r\n")
    other = write(tmp_path / "rank.test", "1 2:1\n")
    write(tmp_path / "rank.test.query", "1")
    assert load_letor(data_file).qid.tolist() == [1, 1, 2]
    assert load_letor([data_file, other]).qid.tolist() == [1, 1, 2, 3]


# -- malformed files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("-1 qid:1 1:1", "label must be a grade between 0 and 1000, got -1; other numbers"),
        ("1001 qid:1 1:1", "label must be a grade between 0 and 1000, got 1001"),
        ("nan qid:1 1:1", "label must be a grade between 0 and 1000, got nan"),
        ("NULL qid:1 1:1", "label must be a number, got 'NULL'"),
        ("1_0 qid:1 1:1", "label must be a number, got '1_0'"),
        ("qid:1 1:1", "label is missing, the line begins with 'qid:1'"),
        ("1 1:1", "no qid, though other lines of the file have one"),
        ("1", "no qid, though other lines of the file have one"),
        ("1 qid:1.5 1:1", "whole number of int64, got 'qid:1.5'"),
        ("1 qid: 1:1", "whole number of int64, got 'qid:'"),
        ("1 qid 1:1", "whole number of int64, got 'qid'"),
        ("1 qid:9223372036854775808 1:1", "whole number of int64, got 'qid:922337"),
        *((f"1 qid:{one} 1:1", f"in CSV, got 'qid:{one}'") for one in ("07", "+5", "-0", "-07")),
        ("1 1:1 qid:1", "query must come right after the label, got 'qid:1' later"),
        ("1 qid:1 -2:1", "features are numbered from 1, got '-2:1'"),
        ("1 qid:1 2:1 1:1", "features must increase along a line, got 1 after 2"),
        ("1 qid:1 2:1 2:1", "features must increase along a line, got 2 after 2"),
        ("1 qid:1 x:1", "expected a feature as number:value, got 'x:1'"),
        ("1 qid:1 0.5", "expected a feature as number:value, got '0.5'"),
        ("1 qid:1 1:a", "value of feature 1 must be a number, nan or NULL, got 'a'"),
        ("1 qid:1 1:1 2:1_0", "value of feature 2 must be a number, nan or NULL, got '1_0'"),
        ("1 qid:1 1:1:1", "value of feature 1 must be a number, nan or NULL, got '1:1'"),
        ("1 qid:1 1:\xc3\xa9", r"value of feature 1 must be a number, nan or NULL, got '\xe9'"),
        ("1 qid:1 1:\xe9", r"value of feature 1 must be a number, nan or NULL, got '\ufffd'"),
        ("1 qid:1 1:0\0", r"value of feature 1 must be a number, nan or NULL, got '0\x00'"),
        ("1 qid:1 1:1 3:inf", "value of feature 3 must be finite, got inf"),
        ("1 qid:1 1:-1e999", "value of feature 1 must be finite, got -inf"),
        ("1 qid:1 +-2:1", "expected a feature as number:value, got '+-2:1'"),
        ("1 qid:1 " + "0" * 20 + "3000000000:1", "value too large"),  # as the reader says it
        ("1 qid:1 3000000000:1", "feature's number is too large, got '3000000000:1'"),
        ("1 qid:1 " + "9" * 5000 + ":1", "feature's number is too large, got '9999"),
    ],
)
def test_malformed_line_is_named(tmp_path, line, what):
    # The comment and the blank line make row numbers differ from line numbers.
    good = "0 qid:1 1:1 2:1 # a_b:c\n"
    path = write(tmp_path / "a.txt", f"{good}\n{good}{line}\n{good}".encode("latin-1"))
    with raises_value_error(f"{path}, line 4: ", what):
        load_letor(path)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        *((text, " holds no documents") for text in ("", "\n\n", "# nothing\n")),
        ("0 qid:1\n1 qid:1\n", ": no document has a feature"),
        ("#\n1 2:1\n0 1:1\n", ", line 2: no qid, and there is no a.txt.query next to the file"),
        ("0 qid:1 1:1\n0 qid:2 1:1\n#\n0 qid:1 1:1\n", ", line 4: query 1 comes back after an"),
    ],
)
def test_a_file_without_documents_features_or_whole_queries_is_named(tmp_path, name, text, what):
    path = write(tmp_path / name, text)
    with raises_value_error(f"{path}{what}"):
        load_letor(path)


def test_query_in_two_files_is_named(tmp_path):
    # Its rows, last of one file and first of the other, would silently become one query.
    one = write(tmp_path / "a.txt", "0 qid:1 1:1\n0 qid:2 1:1\n")
    two = write(tmp_path / "b.txt", "#\n0 qid:2 1:1\n")
    with raises_value_error(f"{two}, line 2: query 2 is already in {one}"):
        load_letor([one, two])


def test_damaged_gzip_is_named(tmp_path):
    text = b"0 qid:1 1:1\n" * 100
    whole, path = gzip.compress(text), tmp_path / "a.txt.gz"
    checksum = whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:]
    for data, line in ((whole[:-9], 100), (checksum, 100), (text, 0)):
        path.write_bytes(data)
        with raises_value_error(f"{path}, after line {line}: ", "not a whole gzip file"):
            load_letor(path)


@pytest.mark.parametrize(
    ("sizes", "place", "what"),
    [
        ("2\n2\n", "", ": the sizes of its 2 queries add up to 4, but "),
        ("", "", ": the sizes of its 0 queries add up to 0, but "),
        ("1\nx\n", ", line 2", ": expected the size of a query"),
        ("3\n0\n", ", line 2", ": expected the size of a query"),
        ("4\n-1\n", ", line 2", ": expected the size of a query"),
        ("1.5\n1.5\n", ", line 1", ": expected the size of a query"),
    ],
)
def test_wrong_query_file_is_named(tmp_path, sizes, place, what):
    path = write(tmp_path / "rank.train", "1 2:1\n0 1:1\n2 1:2\n")
    query_path = write(tmp_path / "rank.train.query", sizes)
    with raises_value_error(f"{query_path}{place}{what}"):
        load_letor(path)


def test_a_giant_feature_number_is_refused_before_its_matrix_is_made(tmp_path):
    one = write(tmp_path / "a.txt", "0 qid:1 1:1\n" * 10)
    two = write(tmp_path / "b.txt", "0 qid:2 1:1\n#\n0 qid:2 1:1 999999999:1\n")
    load_letor(one)  # the first call imports modules
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="dense matrix of 12 x 999999999 values") as caught:
            load_letor([one, two])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{two}, line 3: feature 999999999 ")
    assert peak < 2**20


def test_the_bound_on_the_matrix_is_as_stated(tmp_path):
    # 64 MiB are always allowed: one row of 2^23 values, and not one value more.
    path = write(tmp_path / "a.txt", f"0 qid:1 {2**23}:1\n")
    assert load_letor(path).X.shape == (1, 2**23)
    write(path, f"0 qid:1 {2**23 + 1}:1\n")
    with pytest.raises(ValueError, match="at most 64 MiB"):
        load_letor(path)
    # Beyond that, 256 bytes per byte of text: a long comment makes room.
    write(path, f"0 qid:1 {2**23 + 1}:1 #{' ' * 2**18}\n")
    assert load_letor(path).X.shape == (1, 2**23 + 1)


def test_arguments_of_the_wrong_kind(tmp_path):
    with pytest.raises(ValueError, match="paths must name at least one file"):
        load_letor([])
    with pytest.raises(TypeError, match="use load_letor for one file"):
        load_letor_parts(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "absent.txt")


# -- RankingData -----------------------------------------------------------------------------------


def test_construction_converts_and_derives_the_group():
    data = RankingData(X=np.asfortranarray([[1, 2], [3, 4], [5, 6]]), y=[0, 1, 2], qid=[5, 5, 3])
    assert data.X.flags.c_contiguous
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.float64)
    assert (data.group.dtype, data.qid.dtype) == (np.int64, np.int64)
    assert data.group.tolist() == [2, 1]
    assert repr(data) == "RankingData(2 queries, 3 documents, 2 features)"
    with pytest.raises(AttributeError):
        data.y = np.zeros(3)
    assert rows_of(pickle.loads(pickle.dumps(data))) == rows_of(data)


def test_ids_at_the_ends_of_int64():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert RankingData([[1], [1], [1]], [0, 1, 2], [low, low, high]).group.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"X": [1, 2, 3]}, ValueError, r"X must be a 2-D array, got shape \(3,\)"),
        ({"X": [["a"], ["b"], ["c"]]}, TypeError, "X must be a dense array of numbers"),
        ({"X": [[1], [2]]}, ValueError, "one row for each document, got 2, 3 and 3 rows"),
        ({"y": [1, 2]}, ValueError, "one row for each document, got 3, 2 and 3 rows"),
        ({"qid": [1, 2]}, ValueError, "one row for each document, got 3, 3 and 2 rows"),
        ({"X": np.zeros((3, 0))}, ValueError, r"one row and one column, got shape .3, 0."),
        ({"X": np.zeros((0, 3)), "y": [], "qid": np.zeros(0, int)}, ValueError, "at least one row"),
        (
            {"X": [[1], [math.inf], [1]]},
            ValueError,
            "X must be finite.* got inf at row 1, column 0",
        ),
        ({"X": [[1], [1], [-math.inf]]}, ValueError, "X must be finite.* got -inf at row 2"),
        ({"y": [0, math.inf, 0]}, ValueError, "y must hold finite numbers, got inf at row 1"),
        ({"y": [0, 1, math.nan]}, ValueError, "y must hold finite numbers, got nan at row 2"),
        ({"qid": [1.0, 1.0, 2.5]}, TypeError, "qid must hold integers.* got dtype float64"),
        ({"qid": [True, True, False]}, TypeError, "qid must hold integers.* got dtype bool"),
        ({"qid": np.array([-1, -1, 2**63], object)}, ValueError, "or all of uint64, got -1 to 9"),
        ({"qid": [date(2024, 1, 1)] * 2 + ["b"]}, TypeError, "dates alone: .* row 2 has 'b'"),
        (
            {"qid": pd.period_range("2020-01", periods=3, freq="M").array},
            TypeError,
            r"got dtype object, such as \[Period\('2020-01', 'M'\)\]; write all as strings",
        ),
        ({"qid": ["a", "a", None]}, ValueError, "an id for every document, but row 2 has none"),
        ({"qid": ["a", "a", math.nan]}, ValueError, "qid must"),  # lists are not read as text
        ({"qid": [1, 1, "1"]}, TypeError, "qid must"),
        ({"qid": [-1, -1, 2**64]}, ValueError, "qid must"),
        ({"qid": [1, 2, 1]}, ValueError, "1 comes back at row 2 after another query"),
        ({"X": np.ma.array([[1], [2], [3]], mask=[[0], [1], [0]])}, ValueError, "X must have no m"),
        ({"y": np.ma.array([1, 2, 3], mask=[0, 0, 1])}, ValueError, "y must have no masked values"),
        ({"qid": np.ma.array([1, 1, 2], mask=[0, 1, 0])}, ValueError, "qid must have no masked"),
        (
            {
                "X": pd.DataFrame({"a": [1, 2, 3]}, ["r", "s", "t"]),
                "y": pd.Series([0, 1, 2], [*"str"]),
            },
            ValueError,
            "y has the rows of X in another order",
        ),
        ({"names": ["a", "b"]}, ValueError, "names must have one for each of 1 columns, got 2"),
        ({"X": [[1, 2]] * 3, "names": ["a", "a"]}, ValueError, "names must be different, got 'a'"),
        ({"categorical": [0.0]}, ValueError, r"positions of columns, 0\.\.0, got 0.0"),
        *(
            ({"categorical": own, "categories": {0: [*"abc"]}}, ValueError, "a string for each num")
            for own in ([], [0])
        ),
        ({"categorical": ["a"]}, ValueError, r"positions of columns, 0\.\.0, got 'a'"),
        ({"categorical": [1]}, ValueError, r"positions of columns, 0\.\.0, got 1"),
        *(
            ({"X": [[1], [2], [x]], "categorical": [0]}, ValueError, f"numbers from 0.*got {x}")
            for x in (-1.0, 0.5, 2.0**24)
        ),
    ],
)
def test_construction_refuses(changes, error, message):
    with pytest.raises(error, match=message):
        RankingData(**({"X": [[1], [2], [3]], "y": [0, 1, 2], "qid": [1, 1, 2]} | changes))


def test_shuffling_stays_within_queries_and_is_seeded(ragged):
    shuffled = ragged.shuffle_within_queries(seed=3)
    np.testing.assert_array_equal(shuffled.qid, ragged.qid)
    assert rows_of(shuffled) == rows_of(ragged)
    assert not np.array_equal(shuffled.X, ragged.X)
    np.testing.assert_array_equal(shuffled.X, ragged.shuffle_within_queries(seed=3).X)
    assert not np.array_equal(shuffled.X, ragged.shuffle_within_queries(seed=4).X)


def test_shuffling_is_uniform():
    data = RankingData(np.tile([[0], [1], [2]], (6000, 1)), np.zeros(18000), np.arange(18000) // 3)
    orders = Counter(map(tuple, data.shuffle_within_queries(seed=0).X.reshape(-1, 3).tolist()))
    assert len(orders) == 6
    # Each of the 6 orders: 1000 expected, standard deviation 29.
    assert all(abs(count - 1000) < 150 for count in orders.values())


def test_select_takes_whole_queries_in_the_order_given(ragged):
    chosen = ragged.select([20, 0, 7])
    ids = ragged.qid[np.concatenate([[0], np.cumsum(ragged.group)])[[20, 0, 7]]]
    assert chosen.qid.tolist() == np.repeat(ids, ragged.group[[20, 0, 7]]).tolist()
    for query in ids:
        np.testing.assert_array_equal(chosen.X[chosen.qid == query], ragged.X[ragged.qid == query])
        np.testing.assert_array_equal(chosen.y[chosen.qid == query], ragged.y[ragged.qid == query])


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([], ValueError, "at least one position"),
        (3, ValueError, "query_indices must have one dimension"),
        ([0, 23], ValueError, r"must lie in 0\.\.22, got 23"),
        ([-1], ValueError, "query_indices must hold whole numbers from 0, got -1"),
        ([0.5], ValueError, "query_indices must hold whole numbers from 0, got 0.5"),
        ([True] * 23, TypeError, "query_indices must hold .* np.flatnonzero"),
        ([4, 4], ValueError, "each query at most once"),
    ],
)
def test_select_refuses(ragged, indices, error, message):
    with pytest.raises(error, match=message):
        ragged.select(indices)


def test_split_uses_every_query_once(ragged):
    parts = ragged.split(5, seed=0)
    assert sorted(len(part.group) for part in parts) == [4, 4, 5, 5, 5]
    assert rows_of(RankingData.concat(parts)) == rows_of(ragged)
    position = {query: i for i, query in enumerate(dict.fromkeys(ragged.qid.tolist()))}
    for part in parts:
        places = [position[query] for query in dict.fromkeys(part.qid.tolist())]
        assert places == sorted(places)
    again = [part.qid.tolist() for part in ragged.split(5, seed=0)]
    assert again == [part.qid.tolist() for part in parts]
    assert again != [part.qid.tolist() for part in ragged.split(5, seed=1)]


def test_split_refuses(ragged):
    with pytest.raises(ValueError, match="n_parts must be at most the number of queries, 23"):
        ragged.split(24, seed=0)
    with pytest.raises(ValueError, match="n_parts must be at least 1"):
        ragged.split(0, seed=0)


@pytest.mark.parametrize(("seed", "error"), [(None, TypeError), (0.5, TypeError), (-1, ValueError)])
def test_seeds_are_whole_numbers(ragged, seed, error):
    with pytest.raises(error, match="seed must"):
        ragged.split(2, seed=seed)
    with pytest.raises(error, match="seed must"):
        ragged.shuffle_within_queries(seed)
    with pytest.raises(error, match="seed must"):
        make_ranking(2, 2, seed=seed)


WORDS = {"categorical": [0], "categories": {0: ("x", "y")}}


def test_concat_refuses():
    one = RankingData([[1], [2]], [0, 1], [4, 5])
    with pytest.raises(ValueError, match="at least one RankingData"):
        RankingData.concat([])
    # Query 5 ends one part and begins the other: only the ids can tell.
    with pytest.raises(ValueError, match="no query in common, but query 5 is in 2 of them"):
        RankingData.concat([one, RankingData([[1]], [0], [5])])
    for more in ({"names": ["a"]}, {"categorical": [0]}, WORDS):
        with pytest.raises(ValueError, match="the same names of features, and categories with the"):
            RankingData.concat([one, RankingData([[1]], [0], [6], **more)])
    with pytest.raises(ValueError, match="equally many features, got 1, 2"):
        RankingData.concat([one, RankingData([[1, 2]], [0], [6])])


def test_folds_of_three_parts_and_too_few(ragged):
    parts = ragged.split(3, seed=0)
    folds = list(letor_folds(parts))
    assert [fold.test for fold in folds] == [parts[2], parts[0], parts[1]]
    assert [fold.validation for fold in folds] == [parts[1], parts[2], parts[0]]
    assert [rows_of(fold.train) for fold in folds] == [rows_of(part) for part in parts]
    with pytest.raises(ValueError, match="at least three partitions"):
        letor_folds(parts[:2])


# -- the data of the papers ------------------------------------------------------------------------


def recipe(seed: int, n_docs: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features, weights, Q and R in that order; return features and target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_docs, n_features))
    weights = rng.uniform(-1, 1, n_features)
    Q = rng.permutation(n_features)
    R = rng.permutation(n_features)
    terms = X * weights, X * X[:, Q], X * X[:, Q] * X[:, R]
    sums = np.array([[math.fsum(row) for row in term] for term in terms])
    return X, ((sums - sums.mean(axis=1)[:, None]) / sums.std(axis=1)[:, None]).mean(axis=0)


@pytest.mark.parametrize(("seed", "n_features"), [(0, 50), (1, 7), (2, 2)])
def test_make_ranking_follows_the_recipe(seed, n_features):
    X, target = recipe(seed, 1000, n_features)
    data = make_ranking(50, 20, n_features, seed=seed)
    np.testing.assert_array_equal(data.X, X)
    best_first = np.argsort(target)[::-1]
    # .008, .022, .13, .32 and .52 of 1000 documents
    assert data.y[best_first].tolist() == [4] * 8 + [3] * 22 + [2] * 130 + [1] * 320 + [0] * 520


def test_make_ranking_shape_sizes_and_ids():
    data = make_ranking(3, [2, 1, 4], 5, seed=0)
    assert data.X.shape == (7, 5)
    assert data.group.tolist() == [2, 1, 4]
    assert data.qid.tolist() == [1, 1, 2, 3, 3, 3, 3]
    assert np.abs(data.X).max() <= 1
    assert make_ranking(1, 1, 1, seed=0).y.tolist() == [0]


def test_noise_changes_grades_only_and_as_much_as_stated():
    clean, faint, loud = (make_ranking(400, 50, seed=0, noise=noise) for noise in (0, 0.1, 1.0))
    np.testing.assert_array_equal(clean.X, loud.X)
    assert np.bincount(loud.y.astype(int)).tolist() == np.bincount(clean.y.astype(int)).tolist()
    assert (clean.y != loud.y).mean() > 3 * (clean.y != faint.y).mean() > 0
    # Unit-variance target t and noise e of deviation 1: corr(t, t + e) = 1/sqrt(2). Both lie on the
    # same side of the cut at .52 with probability 3/4 (orthant, correlation .707; .7504 at this
    # cut); 20,000 documents, standard deviation .003.
    agree = ((clean.y > 0) == (loud.y > 0)).mean()
    assert abs(agree - 0.75) < 0.015


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_queries": 0}, ValueError, "n_queries must be at least 1"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"n_docs": [3, 0]}, ValueError, "n_docs must hold whole numbers from 1, got 0"),
        ({"n_docs": [3, 3, 3]}, ValueError, "one for each of the 2 queries"),
        ({"n_docs": 2.5}, TypeError, "n_docs must be a whole number of at least 1"),
        ({"noise": -0.1}, ValueError, "noise must be finite and not negative"),
        ({"noise": math.nan}, ValueError, "noise must be finite and not negative"),
        ({"noise": "loud"}, TypeError, "noise must be a number"),
    ],
)
def test_make_ranking_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        make_ranking(**({"n_queries": 2, "n_docs": 3, "seed": 0} | arguments))


GROUP = [3, 1, 0, 4, 2, 5, 1, 2]


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("n_folds", [3, 5, 8])
def test_group_folds_hold_whole_queries(seed, n_folds):
    query = np.repeat(np.arange(len(GROUP)), GROUP)
    folds = group_folds(GROUP, n_folds, seed=seed, validation=True)
    assert len(folds) == n_folds
    pairs = group_folds(GROUP, n_folds, seed=seed)
    for (train, validation, test), (rest, same) in zip(folds, pairs, strict=True):
        for rows in (train, validation, test):
            assert np.array_equal(rows, np.unique(rows))
            counts = np.bincount(query[rows], minlength=len(GROUP))
            assert np.all((counts == 0) | (counts == GROUP))
        together = np.concatenate([train, validation, test])
        assert sorted(together) == list(range(len(query)))
        assert np.array_equal(test, same)
        assert np.array_equal(rest, np.sort(np.append(train, validation)))
    for part in (1, 2):  # each row is tested, and validated, once
        assert sorted(np.concatenate([fold[part] for fold in folds])) == list(range(len(query)))


def test_group_folds_are_random():
    group = [2] * 20
    first, again, other = (group_folds(group, 4, seed=seed) for seed in (0, 0, 1))
    for (_, test), (_, same), (_, different) in zip(first, again, other, strict=True):
        assert np.array_equal(test, same)
        assert not np.array_equal(test, different)
        assert len(test) == 10


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_folds": 4}, ValueError, "n_folds must be from 2 to the number of queries, 3, got 4"),
        ({"n_folds": 1}, ValueError, "n_folds must be from 2"),
        ({"n_folds": 2.0}, TypeError, "n_folds must be a whole number"),
        ({"n_folds": 2, "validation": True}, ValueError, "n_folds must be from 3"),
        ({"validation": "yes"}, TypeError, "validation must be True or False"),
        ({"seed": -1}, ValueError, "seed must not be negative"),
        ({"group": None}, ValueError, "group is missing"),
        ({"group": ["a", "b"]}, TypeError, "group must be a 1-D array of numbers"),
        ({"group": [1.5, 2.5]}, ValueError, "group must hold query sizes"),
        ({"seed": 1, "forward": True}, ValueError, "keeps the queries in their order: leave seed"),
        ({"gap": 1}, ValueError, "pass forward=True too"),
        ({"gap": -1, "forward": True}, ValueError, "gap must be at least 0, got -1"),
        ({"gap": 1.0, "forward": True}, TypeError, "gap must be a whole number of at least 0"),
        ({"gap": 1, "forward": True}, ValueError, "3 queries in 4 parts are 0 each: use fewer"),
        ({"forward": 1}, TypeError, "forward must be True or False"),
    ],
    ids=str,
)
def test_bad_group_folds(changes, error, message):
    with pytest.raises(error, match=message):
        group_folds(**{"group": [3, 4, 5], "n_folds": 3} | changes)
