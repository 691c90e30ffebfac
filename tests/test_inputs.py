"""What rankers take: the same kinds of containers in `fit`, `predict`, `score` and with `sort`."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from test_estimators import HOSTS, booster, make_ranker
from training import make_data, trees

# LightGBM 4.6 warns of feature names that it made itself.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")


def frame(values):
    return pd.DataFrame(values, columns=[f"f{i}" for i in range(values.shape[1])])


FEATURES = {
    "array": np.asarray,
    "float32": lambda X: X.astype(np.float32).astype(float),
    "column-major": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "pandas": frame,
    "pandas, nullable": lambda X: frame(X).convert_dtypes(),
    "pandas, Arrow": lambda X: frame(X).astype("double[pyarrow]"),
    "polars": lambda X: pl.DataFrame(frame(X)),
    "arrow": lambda X: pa.Table.from_pandas(frame(X)),
    **{
        f"{form} {kind}": getattr(scipy.sparse, f"{form}_{kind}")
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr")
        for kind in ("matrix", "array")
    },
}
COLUMNS = {
    "array": np.asarray,
    "list": lambda y: y.tolist(),
    "one column": lambda y: y[:, None],
    "pandas": pd.Series,
    "pandas, other index": lambda y: pd.Series(y, index=np.arange(len(y)) + 7),
    "pandas, nullable": lambda y: pd.Series(y).convert_dtypes(),
    "pandas, Arrow": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, category": lambda y: pd.Series(y).astype("category"),
    "pandas, frame": lambda y: pd.DataFrame({"y": y}),
    "polars": pl.Series,
    "polars, frame": lambda y: pl.DataFrame({"y": y}),
    "arrow": pa.array,
    "arrow, chunks": lambda y: pa.chunked_array([y[:50], y[50:]]),
    "arrow, table": lambda y: pa.table({"y": y}),
}


@pytest.fixture(scope="module")
def data():
    d = make_data()
    d.X[:, 4] += 1.0  # what is not stored in a sparse matrix is missing to XGBoost
    d.X = d.X.astype(np.float32).astype(float)
    return d


def make(host):
    return make_ranker(host, "regression")


def check(host, data, X, y, qid):
    """Compare everything computed from these containers with the same from arrays."""
    expected = make(host).fit(data.X, data.y, qid=data.qid)
    ranker = make(host).fit(X(data.X), y(data.y), qid=qid(data.qid))
    assert trees(booster(ranker)) == trees(booster(expected))
    np.testing.assert_array_equal(ranker.predict(X(data.X)), expected.predict(data.X))
    order = np.random.default_rng(0).permutation(len(data.y))
    shuffled = X(data.X[order]), y(data.y[order]), qid(data.qid[order])
    rows = data.X[order], data.y[order], data.qid[order]
    score = ranker.score(*shuffled[:2], qid=shuffled[2])
    assert score == expected.score(*rows[:2], qid=rows[2])
    sets = {"eval_set": [shuffled[:2]], "eval_qid": [shuffled[2]]}
    ranker = make(host).fit(*shuffled[:2], qid=shuffled[2], sort=True, **sets)
    expected = make(host).fit(*rows[:2], qid=rows[2], sort=True)
    assert trees(booster(ranker)) == trees(booster(expected))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", FEATURES)
def test_features(host, data, kind):
    check(host, data, FEATURES[kind], np.asarray, np.asarray)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_labels(host, data, kind):
    check(host, data, np.asarray, COLUMNS[kind], np.asarray)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_ids(host, data, kind):
    check(host, data, np.asarray, np.asarray, COLUMNS[kind])
    words = [f"{number:02}" for number in range(len(data.group))]  # in the order of the numbers
    check(host, data, np.asarray, np.asarray, lambda qid: COLUMNS[kind](np.take(words, qid)))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_weights(host, data, kind):
    weight = np.linspace(0.5, 2.0, len(data.y))
    expected = make(host).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    ranker = make(host).fit(data.X, data.y, qid=data.qid, sample_weight=COLUMNS[kind](weight))
    assert trees(booster(ranker)) == trees(booster(expected))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", ["pandas", "pandas, nullable", "pandas, Arrow", "polars", "arrow"])
def test_missing_values_stay_missing(host, data, kind):
    X = data.X.copy()
    X[::7, 0] = np.nan
    expected = make(host).fit(X, data.y, qid=data.qid)
    ranker = make(host).fit(FEATURES[kind](X), data.y, qid=data.qid)
    assert trees(booster(ranker)) == trees(booster(expected))


@pytest.mark.parametrize("host", HOSTS)
def test_a_column_of_any_name(host, data):
    """Names that are methods or attributes of other containers."""
    names = ["format", "schema", "column_names", "columns", "take"]
    ranker = make(host).fit(pd.DataFrame(data.X, columns=names), data.y, qid=data.qid)
    expected = make(host).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.predict(data.X), expected.predict(data.X))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", ["pandas, nullable", "pandas, Arrow", "arrow", "polars"])
def test_a_missing_label_is_refused(host, data, kind):
    y = data.y.astype(object)
    y[3] = None
    values = {
        "pandas, nullable": lambda: pd.Series(y).astype("Int64"),
        "pandas, Arrow": lambda: pd.Series(y).astype("int64[pyarrow]"),
        "arrow": lambda: pa.array(y),
        "polars": lambda: pl.Series(y.tolist()),
    }[kind]()
    with pytest.raises((TypeError, ValueError), match="labels must be"):
        make(host).fit(data.X, values, qid=data.qid)
