"""What rankers take: the same kinds of containers in `fit`, `predict`, `score` and with `sort`."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_equal
from test_estimators import HOSTS, booster, make_ranker
from test_fuzz import CONTAINERS, read_only, unaligned
from training import EVAL_START, EVAL_WEIGHT, START, make_data, trees

import boostrank

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


def frame(values):
    return pd.DataFrame(values, columns=[f"f{i}" for i in range(values.shape[1])])


def on_disk(values):
    """Return a memory map of a temporary file, which is gone when the map is."""
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, values.dtype, "w+", shape=values.shape)
    mapped[:] = values
    return mapped


class Frame(pd.DataFrame):
    """As a package of its own, such as GeoPandas, derives it."""

    @property
    def _constructor(self):
        return Frame


def sparse_of_any_kind(X, dtype=float, byte_order="="):
    matrix = scipy.sparse.csr_matrix(X.astype(dtype))
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        setattr(matrix, name, array.astype(array.dtype.newbyteorder(byte_order)))
    return matrix


def with_duplicates(X):
    """Return CSR in which every entry is stored as two halves."""
    matrix = scipy.sparse.csr_matrix(X)
    halves = np.repeat(matrix.data / 2.0, 2), np.repeat(matrix.indices, 2)
    return scipy.sparse.csr_matrix((*halves, matrix.indptr * 2), shape=X.shape)


def unsorted(X):
    return with_duplicates(X)[:, ::-1][:, ::-1]


FEATURES = {
    "array": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "foreign float64": lambda X: X.astype(">f8"),
    "foreign float32": lambda X: X.astype(">f4"),
    "objects": lambda X: X.astype(object),
    "column-major": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "memory map": on_disk,
    "unaligned": unaligned,
    "matrix": np.matrix,
    "masked": lambda X: np.ma.masked_array(X, mask=np.zeros(X.shape, bool)),
    "lists": lambda X: X.tolist(),
    "pandas": frame,
    "pandas, derived": lambda X: Frame(frame(X)),
    "pandas, rows of one name": lambda X: frame(X).set_axis([0] * len(X)),
    "pandas, foreign": lambda X: frame(X).astype(">f8"),
    "pandas, foreign column": lambda X: frame(X).astype({"f1": ">f4"}),
    "pandas, float16": lambda X: frame(X).astype(np.float16),
    "pandas, longdouble": lambda X: frame(X).astype(np.longdouble),
    "pandas, nullable": lambda X: frame(X).convert_dtypes(),
    "pandas, Arrow": lambda X: frame(X).astype("double[pyarrow]"),
    "pandas, sparse": lambda X: frame(X).astype(pd.SparseDtype(float, 0.0)),
    "pandas, numbered": pd.DataFrame,
    "pandas, MultiIndex": lambda X: pd.concat({"a": frame(X)}, axis="columns"),
    "polars": lambda X: pl.DataFrame(frame(X)),
    "polars, float32": lambda X: pl.DataFrame(frame(X).astype(np.float32)),
    "arrow": lambda X: pa.Table.from_pandas(frame(X)),
    "arrow, chunks": lambda X: pa.concat_tables(
        map(pa.Table.from_pandas, (frame(X[:9]), frame(X[9:])))
    ),
    "arrow, batch": lambda X: pa.RecordBatch.from_pandas(frame(X)),
    **{
        f"{form} {kind}": getattr(scipy.sparse, f"{form}_{kind}")
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr")
        for kind in ("matrix", "array")
    },
    "csr, foreign": lambda X: sparse_of_any_kind(X, byte_order=">"),
    "csr, longdouble": lambda X: sparse_of_any_kind(X, np.longdouble),
    "csr, duplicates": with_duplicates,
    "csr, unsorted": unsorted,
}
#: Whole numbers of a few units, as types that hold them.
WHOLE = {
    **{
        kind: lambda X, kind=kind: X.astype(kind)
        for kind in ("i1", "i2", "i4", "i8", "u2", ">i2", ">u8")
    },
    "polars": lambda X: pl.DataFrame(frame(X)).cast(pl.Int16),
    "arrow": lambda X: pa.Table.from_pandas(frame(X).astype("u1")),
    "pandas, nullable": lambda X: frame(X).astype("Int8"),
    "pandas, Arrow": lambda X: frame(X).astype("int8[pyarrow]"),
    "pandas, foreign": lambda X: frame(X).astype(">i8"),
    "csr": lambda X: sparse_of_any_kind(X, "i8"),
}
PLAIN = ("array", "list", "strided", "reversed", "read-only", "unaligned", "polars", "pyarrow")
COLUMNS = {
    **{kind: CONTAINERS[kind] for kind in PLAIN},
    "foreign": lambda y: y.astype(y.dtype.newbyteorder(">")),
    "memory map": on_disk,
    "masked": lambda y: np.ma.masked_array(y, mask=np.zeros(len(y), bool)),
    "matrix": lambda y: np.matrix(y).T,
    "one column": lambda y: y[:, None],
    "pandas": pd.Series,
    "pandas, other index": lambda y: pd.Series(y, index=np.arange(len(y)) + 7),
    "pandas, nullable": lambda y: pd.Series(y).convert_dtypes(),
    "pandas, Arrow": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, category": lambda y: pd.Series(y).astype("category"),
    "pandas, frame": lambda y: pd.DataFrame({"y": y}),
    "polars, frame": lambda y: pl.DataFrame({"y": y}),
    "arrow, chunks": lambda y: pa.chunked_array([y[:50], y[50:]]),
    "arrow, table": lambda y: pa.table({"y": y}),
}


@pytest.fixture(scope="module")
def data():
    d = make_data()
    d.X[:, 4] += 1.0
    d.X = np.round(d.X * 8.0) / 8.0  # float16 holds these
    d.X[d.X == 0.0] = 1.0  # what is not stored in a sparse matrix is missing to XGBoost
    return d


def make(host):
    return make_ranker(host, "regression")


def results(host, data, values, X=np.asarray, y=np.asarray, qid=np.asarray):
    """Return what all methods that take data make of these values in these containers."""
    order = np.random.default_rng(0).permutation(len(data.y))
    rows, ids = (X(values[order]), y(data.y[order])), qid(data.qid[order])
    given = X(values)
    ranker = make(host).fit(given, y(data.y), qid=qid(data.qid))
    found = {"trees": trees(booster(ranker)), "scores": ranker.predict(given)}
    if host == "xgboost":
        found["leaves"] = ranker.apply(X(values))
    found["score"] = ranker.score(*rows, qid=ids)
    ranker = make(host).fit(*rows, qid=ids, sort=True, eval_set=[rows], eval_qid=[ids])
    return found | {"trees of sorted": trees(booster(ranker)), "history": ranker.evals_result_}


@pytest.fixture(scope="module")
def wanted(data):
    """Return what is computed from arrays."""
    return {host: results(host, data, data.X) for host in HOSTS}


@pytest.mark.parametrize("kind", FEATURES)
def test_features(host, data, wanted, kind):
    assert_equal(results(host, data, data.X, FEATURES[kind]), wanted[host])


def test_inputs_are_left_as_they_are(host, data):
    """What is converted is a copy."""
    array, sparse = data.X.astype(">f8"), with_duplicates(data.X)
    frames = [FEATURES[f"pandas, {kind}"](data.X) for kind in ("foreign", "sparse", "MultiIndex")]
    described = [(list(each.columns), list(each.dtypes)) for each in frames]
    stored = sparse.data.copy()
    for X in (array, sparse, *frames):
        make(host).fit(X, data.y, qid=data.qid).predict(X)
    assert array.dtype == ">f8"
    assert_equal(array, data.X)
    assert_equal(sparse.data, stored)
    assert [(list(each.columns), list(each.dtypes)) for each in frames] == described


def test_whole_numbers(host, data):
    values = np.abs(np.ceil(data.X * 4.0)) + 1.0
    want = results(host, data, values)
    for X in WHOLE.values():
        assert_equal(results(host, data, values, X), want)


def test_large_whole_numbers(data):
    """LightGBM reads those of arrays as float32, next to which timestamps are all the same."""
    values = 1_700_000_000.0 + np.argsort(np.argsort(data.X, axis=0), axis=0) // 40
    want = results("lightgbm", data, values)
    assert len(np.unique(want["scores"])) > 5
    for kind in ("i4", "i8", "u8", ">i8"):
        assert_equal(results("lightgbm", data, values, lambda X, kind=kind: X.astype(kind)), want)


def test_booleans(host, data):
    """Of frames alone: a sparse matrix leaves False out."""
    values = (data.X > 0.5).astype(float)
    want = results(host, data, values)
    for X in (
        lambda X: X.astype(bool),
        lambda X: np.array([list(map(np.bool_, row)) for row in X], dtype=object),
        lambda X: frame(X).astype(bool),
        lambda X: frame(X).astype("boolean"),
        lambda X: frame(X).astype("bool[pyarrow]"),
        lambda X: pl.DataFrame(frame(X).astype(bool)),
        lambda X: pa.Table.from_pandas(frame(X).astype(bool)),
    ):
        assert_equal(results(host, data, values, X), want)


@pytest.mark.parametrize("kind", COLUMNS)
def test_labels(host, data, wanted, kind):
    assert_equal(results(host, data, data.X, y=COLUMNS[kind]), wanted[host])


@pytest.mark.parametrize("kind", COLUMNS)
def test_ids(host, data, wanted, kind):
    assert_equal(results(host, data, data.X, qid=COLUMNS[kind]), wanted[host])
    if kind == "foreign":  # strings too
        kind = "array"
    words = [f"{number:02}" for number in range(len(data.group))]  # in the order of the numbers
    named = results(host, data, data.X, qid=lambda qid: COLUMNS[kind](np.take(words, qid)))
    assert_equal(named, wanted[host])


@pytest.mark.parametrize("kind", COLUMNS)
def test_weights_and_start_scores_and_groups(host, data, kind):
    numbers = np.linspace(0.5, 2.0, len(data.y))
    column = COLUMNS["array" if kind == "arrow, chunks" else kind]

    def fit(numbers, group):
        given = {"sample_weight": numbers, START[host]: numbers, "group": group}
        sets = {EVAL_WEIGHT[host]: [numbers], EVAL_START[host]: [numbers]}
        evals = {"eval_set": [(data.X, data.y)], "eval_group": [group]}
        return make(host).fit(data.X, data.y, **given, **evals, **sets)

    expected = fit(numbers, data.group)
    ranker = fit(COLUMNS[kind](numbers), column(data.group))
    assert trees(booster(ranker)) == trees(booster(expected))
    assert ranker.evals_result_ == expected.evals_result_
    if host == "xgboost":
        assert_equal(
            ranker.predict(data.X, base_margin=COLUMNS[kind](numbers)),
            expected.predict(data.X, base_margin=numbers),
        )


@pytest.mark.parametrize("kind", COLUMNS)
def test_positions(host, data, kind):
    places = np.concatenate([np.arange(1, n + 1) for n in data.group])
    objective = boostrank.Unbiased(boostrank.RankNet(), propensity=(1.0,) * places.max())

    def fit(places):
        return make_ranker(host, objective).fit(data.X, data.y > 1, qid=data.qid, position=places)

    assert trees(booster(fit(COLUMNS[kind](places)))) == trees(booster(fit(places)))


@pytest.mark.parametrize("kind", ["pandas", "pandas, nullable", "pandas, Arrow", "polars", "arrow"])
def test_missing_values_stay_missing(host, data, kind):
    X = data.X.copy()
    X[::7, 0] = np.nan
    expected = make(host).fit(X, data.y, qid=data.qid)
    ranker = make(host).fit(FEATURES[kind](X), data.y, qid=data.qid)
    assert trees(booster(ranker)) == trees(booster(expected))


def test_a_column_of_any_name(host, data):
    """Names that are methods or attributes of other containers."""
    names = ["format", "schema", "column_names", "columns", "take"]
    ranker = make(host).fit(pd.DataFrame(data.X, columns=names), data.y, qid=data.qid)
    expected = make(host).fit(data.X, data.y, qid=data.qid)
    assert_equal(ranker.predict(data.X), expected.predict(data.X))


@pytest.mark.parametrize("kind", ["pandas, nullable", "pandas, Arrow", "pyarrow", "polars"])
def test_a_missing_label_is_refused(host, data, kind):
    y = data.y.astype(object)
    y[3] = None
    with pytest.raises((TypeError, ValueError), match="labels must be"):
        make(host).fit(data.X, COLUMNS[kind](y), qid=data.qid)
