"""What is refused among features, and how columns and zeros are matched with those of training."""

from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xgboost
from programs import output_of
from test_estimators import HOSTS, booster, make_ranker
from training import MODEL, START, evaluated, trees

from boostrank.hosts.model_files import of_sparse, since

NAMES = ["a", "b", "c", "d", "e"]


def make(host, **params):
    return make_ranker(host, "ranknet", **params)


def frame(X, names=NAMES):
    return pd.DataFrame(np.asarray(X), columns=names)


def uses(host, data, good, bad):
    """Yield calls of every method that takes features: training on `good`, then using `bad`."""
    fitted = make(host).fit(good, data.y, qid=data.qid)
    yield lambda: fitted.predict(bad)
    yield lambda: fitted.score(bad, data.y, qid=data.qid)
    if host == "xgboost":
        yield lambda: fitted.apply(bad)
    yield lambda: make(host).fit(good, data.y, **evaluated(data, bad))


def refused(host, data, good, bad, error, message):
    for use in uses(host, data, good, bad):
        with pytest.raises(error, match=message):
            use()


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.DataFrame,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_are_found_by_name(host, data, kind):
    convert = FRAMES[kind]
    table = frame(data.X)
    fitted = make(host).fit(convert(table), data.y, **evaluated(data, convert(table)))
    moved = convert(table[NAMES[::-1]])
    assert np.array_equal(fitted.predict(moved), fitted.predict(convert(table)))
    if host == "xgboost":
        assert np.array_equal(fitted.apply(moved), fitted.apply(convert(table)))
    assert fitted.score(moved, data.y, qid=data.qid) == fitted.score(data.X, data.y, qid=data.qid)
    again = make(host).fit(convert(table), data.y, **evaluated(data, moved))
    assert [*again.evals_result_.values()] == [*fitted.evals_result_.values()]
    # Training that goes on, too.
    one, other = (
        make(host).fit(X, data.y, qid=data.qid, **{MODEL[host]: fitted})
        for X in (convert(table), moved)
    )
    assert trees(booster(one)) == trees(booster(other))
    # But not where somebody has counted them.
    counted = {
        "monotone_constraints": [1, 0, 0, 0, 0],
        "interaction_constraints": [[0, 1], [2, 3, 4]],
    }
    own = {
        "lightgbm": {"cat_feature": "0", "feature_contri": np.ones(5)},
        "xgboost": {"feature_types": ["q"] * 5, "feature_weights": np.ones(5)},
    }
    for name, value in (counted | own[host]).items():
        with pytest.raises(ValueError, match=f"^X has the columns .* order, in which '{name}' wo"):
            make(host, **{name: value}).fit(moved, data.y, qid=data.qid, **{MODEL[host]: fitted})
    harmless = {
        "lightgbm": {"monotone_constraints": ""},  # the default
        "xgboost": {
            "monotone_constraints": {"a": 1},
            "interaction_constraints": [["a", "b"], ["c", "d", "e"]],
        },
    }
    for name, value in harmless[host].items():
        make(host, **{name: value}).fit(moved, data.y, qid=data.qid, **{MODEL[host]: fitted})


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="b"), "columns of training, but it lacks 'b'; select"),
        (lambda table: table.assign(z=1.0), "columns of training, but it also has 'z'"),
        (lambda table: table.rename(columns={"b": "B"}), "lacks 'b' and also has 'B'"),
    ],
    ids=["missing", "more", "typo"],
)
def test_other_columns_are_refused(host, data, kind, change, message):
    table = frame(data.X)
    convert = FRAMES[kind]
    refused(host, data, convert(table), convert(change(table)), ValueError, message)


@pytest.mark.parametrize("kind", [np.asarray, frame, scipy.sparse.csr_matrix])
def test_another_number_of_features_is_refused(host, data, kind):
    for width in (4, 6):
        other = np.resize(data.X, (len(data.y), width))
        bad = kind(other) if kind is not frame else frame(other, [*NAMES, "f"][:width])
        message = f"must have the 5 features of training, got {width}"
        refused(host, data, kind(data.X) if kind is not frame else data.X, bad, ValueError, message)


def test_arrays_and_frames_are_matched_by_position(host, data):
    table = frame(data.X)
    for good, bad in ((table, data.X), (data.X, table), (data.X, table[NAMES[::-1]].to_numpy())):
        *_, fit = uses(host, data, good, bad)
        fit()
    expected = make(host).fit(data.X, data.y, qid=data.qid)
    assert np.array_equal(expected.predict(table), expected.predict(data.X))


def test_a_model_that_goes_on_with_an_array_keeps_its_names(host, data):
    """LightGBM forgets them, and would find the columns of a frame by position."""
    table = frame(data.X)
    first = make(host).fit(table, data.y, qid=data.qid)
    auto = {"feature_name": "auto"} if host == "lightgbm" else {}
    second = make(host).fit(data.X, data.y, qid=data.qid, **{MODEL[host]: first}, **auto)
    assert np.array_equal(second.predict(table[NAMES[::-1]]), second.predict(table))


def test_columns_named_like_lightgbms_own(data):
    names = [f"Column_{i}" for i in range(5)]
    fitted = make("lightgbm").fit(frame(data.X, names), data.y, qid=data.qid)
    moved = frame(data.X, names)[names[::-1]]
    assert np.array_equal(fitted.predict(moved), fitted.predict(data.X))


def test_names_that_one_host_takes(data):
    lightgbms = frame(data.X, ["a<b", "b", "c", "d", "e"])
    xgboosts = frame(data.X, ["a b", "a_b", 'a"b', "a,b", "a:{}b"])
    for host, good, bad in (("lightgbm", lightgbms, xgboosts), ("xgboost", xgboosts, lightgbms)):
        fitted = make(host).fit(good, data.y, qid=data.qid)
        moved = good[good.columns[::-1]]
        assert np.array_equal(fitted.predict(moved), fitted.predict(good))
        with pytest.raises(ValueError, match="rename"):
            make(host).fit(bad, data.y, qid=data.qid)
    for bad, message in (("", "empty name"), ("a\nb", "rename"), ("b\r", "rename")):
        with pytest.raises(ValueError, match=message):
            make("lightgbm").fit(frame(data.X, [bad, "b", "c", "d", "e"]), data.y, qid=data.qid)
    spaces = frame(data.X, ["a b", "b c", "c", "d", "e"])
    fitted = make("lightgbm").fit(spaces, data.y, qid=data.qid)
    assert np.array_equal(fitted.predict(spaces[spaces.columns[::-1]]), fitted.predict(spaces))


#: What hosts misread, refuse in many words, or die of.
NOT_NUMBERS = {
    "complex": lambda X: X.astype(complex),
    "text": lambda X: X.astype(str),
    "bytes": lambda X: X.astype(bytes),
    "dates": lambda X: X.astype("i8").astype("M8[s]"),
    "structured": lambda X: np.rec.fromarrays(X.T),
    "objects": lambda X: np.where(X > 1, "x", X.astype(object)),
    "complex matrix": lambda X: scipy.sparse.csr_matrix(X.astype(complex)),
    "pandas, complex": lambda X: frame(X).astype(complex),
    "pandas, text": lambda X: frame(X).astype(str),
    "pandas, objects": lambda X: frame(X).astype(object),
    "pandas, dates": lambda X: frame(X.astype("i8").astype("M8[s]")),
    "pandas, times": lambda X: frame(X.astype("i8").astype("m8[s]")),
    "pandas, periods": lambda X: frame(X).assign(a=pd.period_range("2020", periods=len(X))),
    "pandas, Arrow text": lambda X: frame(X.astype(str)).astype("string[pyarrow]"),
    "pandas, Arrow dates": lambda X: frame(X).assign(
        a=pd.array(X[:, 0].astype("i8").astype("M8[s]"), "timestamp[s][pyarrow]")
    ),
    "pandas, sparse complex": lambda X: frame(X).astype(complex).astype(pd.SparseDtype(complex)),
    "polars, lazy": lambda X: pl.DataFrame(X).lazy(),
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
def test_what_is_not_a_number_is_refused(host, data, kind):
    bad = NOT_NUMBERS[kind](data.X)
    message = "X must hold numbers|X must be in memory|the column 'a' of X has the type"
    with pytest.raises(TypeError, match=message):
        make(host).fit(bad, data.y, qid=data.qid)
    refused(host, data, data.X, bad, TypeError, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], r"got shape \(344,\); a single feature is X\.reshape"),
        (lambda X: X[:, :, None], "got shape"),
        (lambda X: X[:, :0], "X must have at least one feature"),
        (lambda X: frame(X)[[]], "X must have at least one feature"),
        (lambda X: X[:-1], "X must have one row for each of the 344 labels, got 343"),
        (lambda X: [[1.0], [1.0, 2.0]], "X must have rows of equal length"),
        (lambda X: frame(X, list("abade")), "X has columns 'a' and 'a', .* rename or drop one"),
        (lambda X: frame(X, [1, "b", "1", "d", "e"]), "X has columns 1 and '1', .* cannot tell"),
        (lambda X: frame(X, ["a", "b", "c[0]", "d", "e"]), r"the column 'c\[0\]' of X has '\['"),
    ],
    ids=[
        *("one", "three", "none", "no column", "short", "ragged"),
        *("name twice", "name as text", "bracket in name"),
    ],
)
def test_shapes_and_names_that_no_host_takes(host, data, change, message):
    with pytest.raises(ValueError, match=message):
        make(host).fit(change(data.X), data.y, qid=data.qid)


def test_masked_values_are_missing(host, data):
    mask = data.X > 1.0
    expected = make(host).fit(np.where(mask, np.nan, data.X), data.y, qid=data.qid)
    for missing in (np.ma.masked_array(data.X, mask), np.where(mask, None, data.X)):
        fitted = make(host).fit(missing, data.y, qid=data.qid)
        assert trees(booster(fitted)) == trees(booster(expected))


@pytest.mark.parametrize("name", ["y", "qid", "sample_weight", "group"])
def test_masked_and_ragged_rows_are_refused(host, data, name):
    rows = {"y": data.y, "group": data.group, "sample_weight": np.ones(len(data.y))}
    if name == "qid":
        rows["qid"] = data.qid
        del rows["group"]
    mask = np.zeros(len(rows[name]), bool)
    mask[3] = True
    rows[name] = np.ma.masked_array(rows[name], mask)
    with pytest.raises(ValueError, match=f"{name} must have no masked values"):
        make(host).fit(data.X, **rows)
    rows[name] = [[1.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match=f"{name} must"):
        make(host).fit(data.X, **rows)


def test_rows_in_another_order_are_refused(host, data):
    names = [f"row{i}" for i in range(len(data.y))]
    table, y = frame(data.X), pd.Series(data.y, names)
    table.index = names
    expected = make(host).fit(table, y, qid=data.qid)
    with pytest.raises(ValueError, match=r"y has the rows of X in another order.*y\.loc\[X\.index"):
        make(host).fit(table, y[::-1], qid=data.qid)
    for name in ("qid", "sample_weight", START[host], "position"):
        rows = {"qid": data.qid, name: pd.Series(data.qid, names)[::-1]}
        with pytest.raises(ValueError, match=f"{name} has the rows of X in another order"):
            make(host).fit(table, data.y, **rows)
    # Next to an array, the columns themselves are compared.
    with pytest.raises(ValueError, match=r"qid has the rows of y in another order.*qid\.loc\[y\."):
        make(host).fit(data.X, y, qid=pd.Series(data.qid, names)[::-1])
    # Other rows, of which nothing is known, also if their names cannot be sorted.
    mixed = pd.Index([0, *names[1:]], dtype=object)
    make(host).fit(data.X, y, qid=pd.Series(data.qid, mixed))
    with pytest.raises(ValueError, match="y has the rows of X in another order"):
        make(host).fit(table.set_axis(mixed), y.set_axis(mixed)[::-1], qid=data.qid)
    if host == "xgboost":
        with pytest.raises(ValueError, match="base_margin has the rows of X in another order"):
            expected.predict(table, base_margin=y[::-1])
    # Rows that are only numbered may have been numbered again.
    numbered = y.reset_index(drop=True)
    fitted = make(host).fit(table.sample(frac=1, random_state=0), numbered, qid=data.qid)
    assert trees(booster(fitted)) != trees(booster(expected))


def left_out(X):
    return np.where(X == 2.0, 0.0, X)


@pytest.mark.parametrize("kind", [np.asarray, frame, pl.DataFrame, list])
def test_xgboosts_zeros_stay_zeros(data, kind):
    """XGBoost takes what a sparse matrix leaves out for missing, and zeros of others for zeros."""
    X = left_out(data.X)
    sparse, dense = scipy.sparse.csr_matrix(X), kind(X)
    refused("xgboost", data, dense, sparse, ValueError, r"X is sparse.*Pass X\.toarray\(\)")
    refused("xgboost", data, sparse, dense, ValueError, "X has zeros, but training was on a sparse")
    same = make("xgboost").fit(sparse, data.y, **evaluated(data, sparse.tocsc()))
    assert np.array_equal(same.predict(sparse), same.predict(sparse.tocoo()))
    # Where nothing is left out, or zeros are missing too, there is no difference.
    full = np.where(X == 0.0, 1.0, X)
    linear = {"booster": "gblinear", "max_depth": None}
    for params, values in (({}, full), ({"missing": 0.0}, X), (linear, X)):
        stored = scipy.sparse.csr_matrix(values)
        for one, other in ((stored, kind(values)), (kind(values), stored)):
            fitted = make("xgboost").set_params(**params).fit(one, data.y, qid=data.qid)
            expected = fitted.predict(one)
            np.testing.assert_allclose(fitted.predict(other), expected, rtol=1e-5, atol=1e-6)


def test_continued_training_keeps_the_missing_value(data, tmp_path):
    """The file says -9 after that, so it would score other than the ranker that wrote it."""
    rows = {"y": data.y, "qid": data.qid}
    saving = xgboost.callback.TrainingCheckPoint(tmp_path, "first", interval=1)
    first = make("xgboost").set_params(missing=-9, callbacks=[saving]).fit(data.X, **rows)
    plain = xgboost.XGBRanker(missing=-9, n_estimators=2).fit(data.X, **rows)
    for start in (first, first.get_booster(), tmp_path / "first_1.ubj", plain):
        make("xgboost").set_params(missing=-9.0).fit(data.X, **rows, xgb_model=start)
        with pytest.raises(ValueError, match="takes -9 for a missing value, this ranker nan: set"):
            make("xgboost").fit(data.X, **rows, xgb_model=start)
    with pytest.raises(TypeError, match="missing must be a number, by default NaN, got None"):
        make("xgboost").set_params(missing=None).fit(data.X, **rows)


def test_a_missing_value_is_no_category(data):
    """XGBoost compares it with the codes: the first category could not be told from none."""
    words = pd.Categorical(np.where(data.X[:, 0] > 0, "a", "b"))
    table, rows = frame(data.X).assign(kind=words), {"qid": data.qid}
    theirs = xgboost.XGBRanker(missing=0, enable_categorical=True, n_estimators=3)
    theirs.fit(table, words == "a", **rows)
    first = table.assign(kind=pd.Categorical(["a"] * len(table), ["a", "b"]))
    none = table.assign(kind=pd.Categorical([None] * len(table), ["a", "b"]))
    assert np.array_equal(theirs.predict(first), theirs.predict(none))
    for missing in (0, 1.0):
        ours = make("xgboost").set_params(missing=missing, enable_categorical=True)
        with pytest.raises(ValueError, match=f"missing={missing:g} is .* a category of 'kind'"):
            ours.fit(table, data.y, **rows)
    ours.set_params(missing=2).fit(table, data.y, **rows)


def with_stored_zeros(X):
    """Return a sparse matrix that stores some of the zeros, and leaves others out."""
    stored = scipy.sparse.csr_matrix(left_out(X))
    stored.data[::7] = 0.0
    return stored


def test_lightgbms_zeros_are_zeros(data):
    sparse = with_stored_zeros(data.X)
    X = sparse.toarray()
    fitted = make("lightgbm").fit(X, data.y, **evaluated(data, sparse))
    again = make("lightgbm").fit(sparse, data.y, **evaluated(data, X))
    assert np.array_equal(fitted.predict(sparse), fitted.predict(X))
    assert trees(booster(again)) == trees(booster(fitted))


def test_zeros_that_are_stored_and_left_out_differ_to_xgboost(data):
    stored = with_stored_zeros(data.X)
    message = r"stores zeros and leaves others out.*X\.eliminate_zeros\(\).*X\.toarray\(\)"
    with pytest.warns(UserWarning, match=message) as said:
        fitted = make("xgboost").fit(stored, data.y, qid=data.qid)
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match=message):
        fitted.predict(stored)


def test_a_loaded_model_knows_its_zeros(data, tmp_path):
    path = tmp_path / "model.json"
    X = left_out(data.X)
    sparse = scipy.sparse.csr_matrix(X)
    for known, good, bad in ((True, sparse, X), (False, X, sparse)):
        ranker = make("xgboost").fit(good, data.y, qid=data.qid)
        ranker.save_model(path)
        fresh = make("xgboost")
        fresh.load_model(path)
        assert of_sparse(ranker.get_booster()) is of_sparse(fresh.get_booster()) is known
        assert np.array_equal(fresh.predict(good), ranker.predict(good))
        message = r"X has zeros, but|X is sparse, but"
        with pytest.raises(ValueError, match=message):
            fresh.predict(bad)
        for start in (path, ranker):
            make("xgboost").fit(good, data.y, qid=data.qid, xgb_model=start)
            with pytest.raises(ValueError, match=message):
                make("xgboost").fit(bad, data.y, qid=data.qid, xgb_model=start)
    theirs = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, data.y), 1)
    fresh.load_model(theirs.save_raw("json"))
    assert of_sparse(fresh.get_booster()) is None  # not known
    fresh.predict(bad)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("kind", [np.asarray, frame, pl.DataFrame, scipy.sparse.csr_matrix])
def test_values_beyond_float32(host, data, value, kind):
    X = data.X.copy()
    X[3, 1] = value
    if host == "lightgbm":
        make(host).fit(kind(X), data.y, qid=data.qid)
        return
    with pytest.raises(ValueError, match=r"float32, but .*column .* of X holds infinite values or"):
        make(host).fit(kind(X), data.y, qid=data.qid)
    with pytest.raises(ValueError, match="float32, but"):
        make(host).fit(kind(data.X), data.y, **evaluated(data, kind(X)))


def test_categories_of_lightgbm_in_any_sequence(data):
    """LightGBM itself ignores what is no list."""
    X = np.abs(np.round(3.0 * data.X))

    def text(ranker, **columns):
        return ranker.fit(X, data.y, group=data.group, **columns).booster_.model_to_string()

    host = lgb.LGBMRanker(n_estimators=1, verbosity=-1)
    assert text(host, categorical_feature=(0,)) == text(host)
    wanted = text(make("lightgbm"), categorical_feature=[0])
    assert wanted != text(make("lightgbm"))
    for columns in ((0,), np.array([0]), pd.Index([0]), range(1)):
        assert text(make("lightgbm"), categorical_feature=columns) == wanted
    for one in ("x0", 0):
        with pytest.raises(ValueError, match=r"categorical_feature must be a list .* pass \["):
            text(make("lightgbm"), categorical_feature=one)
    # Among its parameters it takes a single one, or none.
    wanted = text(make("lightgbm", cat_feature=[0]))
    for one in (0, np.int64(0), "0"):
        assert text(make("lightgbm", cat_feature=one)) == wanted
    assert text(make("lightgbm", cat_feature=None)) == text(make("lightgbm"))


def test_numbers_that_xgboost_would_take_for_other_categories(data):
    """It cuts fractions off. Of all kinds of X in the next test."""
    codes = np.abs(np.round(3.0 * data.X))
    ranker = make("xgboost", feature_types=["q", "c", "q", "q", "q"], enable_categorical=True)
    ranker.fit(codes, data.y, qid=data.qid)
    codes[3, 1] = 0.5
    with pytest.raises(ValueError, match=r"column 1 of X is said to be a category .*, got 0.5"):
        ranker.fit(codes, data.y, qid=data.qid)
    ranker.set_params(missing=0.5).fit(codes, data.y, qid=data.qid)  # which is no code


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, *FRAMES])
def test_numbers_that_lightgbm_would_take_for_other_categories(data, kind, capfd):
    """Below 0 and beyond int32 it takes them for missing, and it cuts fractions off."""
    X = np.abs(np.round(3.0 * data.X))
    convert = kind if callable(kind) else lambda X: FRAMES[kind](frame(X))
    columns = [0, 1] if callable(kind) else ["a", "b"]
    for bad in (-2.0, 2.0**31, 0.5, np.inf):
        wrong = X.copy()
        wrong[3:5, 1] = bad, -1.0
        table = convert(wrong)
        message = f"column ('b'|1) of X is said to be a category .*, got {bad:g}".replace("+", ".")
        for given, ranker in (
            ({"categorical_feature": columns}, make("lightgbm")),
            ({}, make("lightgbm", categorical_feature=[0, 1])),
            ({}, make("lightgbm", cat_feature="0,1")),
        ):
            with pytest.raises(ValueError, match=message):
                ranker.fit(table, data.y, qid=data.qid, **given)
        make("lightgbm").fit(table, data.y, qid=data.qid, categorical_feature=columns[:1])
    # Missing ones, and those of pandas, which are coded.
    X[:3, 0] = -999.0, -999.0, np.nan
    make("lightgbm").fit(convert(X), data.y, qid=data.qid, categorical_feature=columns)
    if kind == "pandas":
        coded = frame(X).assign(b=pd.Categorical(X[:, 1] - 0.5))
        make("lightgbm").fit(coded, data.y, qid=data.qid, categorical_feature=["b"])
    # Names that fit gives.
    X[3:5, 1] = -2.0, -3.0
    named = {"feature_name": list("vwxyz"), "categorical_feature": ["w"]}
    with pytest.raises(ValueError, match="is said to be a category"):
        make("lightgbm").fit(X, data.y, qid=data.qid, **named)
    params = {"verbosity": 1, "num_threads": 1, "objective": "regression"}
    lgb.train(params, lgb.Dataset(X, data.y, categorical_feature=[1]), 1)
    assert "negative value in categorical features, will convert it" in capfd.readouterr().out


def test_new_names_must_not_be_old_ones(data):
    """A frame for prediction is matched by the names that the model has."""
    table = frame(data.X)
    names = list(table.columns)
    with pytest.raises(ValueError, match="feature_name has the names of the columns of X in"):
        make("lightgbm").fit(table, data.y, qid=data.qid, feature_name=names[::-1])
    for same in (names, [f"new_{name}" for name in names], "auto"):
        ranker = make("lightgbm").fit(table, data.y, qid=data.qid, feature_name=same)
        assert ranker.n_features_ == len(names)


def test_nothing_to_split_on():
    X, y = np.arange(9.0)[:, None], [0, 1, 2] * 3
    few = "nothing to split in 9 rows: .*min_child_samples=20"
    with pytest.raises(ValueError, match=few):
        make("lightgbm").set_params(min_child_samples=20).fit(X, y, group=[9])
    with pytest.raises(ValueError, match="every feature is constant"):
        make("lightgbm").fit(np.ones((90, 1)), y * 10, group=[90])


def test_xgboost_takes_no_category_unasked(data):
    table = frame(data.X).astype({"e": int}).astype({"e": "category"})
    with pytest.raises(TypeError, match=r"'e' of X has the type category.*enable_categorical"):
        make("xgboost", enable_categorical=False).fit(table, data.y, qid=data.qid)


WORDS = ["high", "low", "mid", "none"]


def codes(d):
    return np.where(d.X[:, 4] == 0.0, 3, d.y % 4).astype(int)


def worded(d, words=WORDS, categories=None, **dtype):
    """Return features whose last column is a category, which the labels depend on."""
    values = np.array(words)[codes(d)]
    kind = pd.CategoricalDtype(categories, **dtype)
    return frame(d.X).assign(e=pd.Series(values).astype(kind))


def categorical(host, **params):
    own = {"enable_categorical": True} if host == "xgboost" else {"min_data_per_group": 5}
    return make(host, **params, **own)


def going_on(host, X, y, qid, start):
    return categorical(host).fit(X, y, qid=qid, **{MODEL[host]: start})


@pytest.mark.parametrize("ordered", [False, True])
def test_continued_training_keeps_the_codes_of_categories(host, data, ordered, tmp_path):
    """Trees of the second training would otherwise split on other codes than they predict with."""
    table = worded(data, ordered=ordered)
    other = worded(data, categories=["none", "unused", "low", "high", "mid"], ordered=ordered)
    first = categorical(host).fit(table, data.y, qid=data.qid)
    expected = going_on(host, table, data.y, data.qid, first)
    path = tmp_path / "model.json"
    booster(first).save_model(path)
    starts = [first] if host == "lightgbm" and ordered else [first, booster(first), path]
    for start in starts:
        second = going_on(host, other[NAMES[::-1]], data.y, data.qid, start)
        assert trees(booster(second)) == trees(booster(expected))
        assert np.array_equal(second.predict(table), expected.predict(table))
    if len(starts) == 1:
        for X in (other, data.X):
            with pytest.raises(ValueError, match=r"does not name the columns.*pass the ranker"):
                going_on(host, X, data.y, data.qid, booster(first))
    # A second batch may lack a category: the first trees still score as they did.
    rows = (table["e"] != "high").to_numpy()
    few = table[rows].assign(e=table["e"][rows].cat.remove_unused_categories())
    second = going_on(host, few, data.y[rows], data.qid[rows], first)
    end = first.n_estimators
    last = {"num_iteration": end} if host == "lightgbm" else {"iteration_range": (0, end)}
    assert np.array_equal(second.predict(table, **last), first.predict(table, **last))


def test_continued_training_refuses_what_the_first_model_does_not_know(host, data):
    table = worded(data)
    first = categorical(host).fit(table, data.y, qid=data.qid)
    new, numbers = ["high", "low", "mid", "new"], [1, 2, 3, 4]
    for words, message in (
        (new, "'e' of X has the category 'new', which the model to continue does not"),
        (numbers, "'e' of X had categories of type text in training, such as 'high', and has"),
    ):
        with pytest.raises(ValueError, match=message):
            going_on(host, worded(data, words), data.y, data.qid, first)


CONVERT = {"lightgbm": {"pandas": FRAMES["pandas"]}, "xgboost": FRAMES}


@pytest.mark.parametrize("words", [WORDS, ["ああ", "いい", "うう", "ええ"], [30, 10, -20, 40]])
def test_unseen_categories_are_missing(host, data, words):
    """XGBoost takes one for the next in alphabetical order, or fails."""
    table = worded(data, words)
    fitted = categorical(host).fit(table, data.y, qid=data.qid)
    none = table.assign(e=pd.Categorical([None] * len(table)))
    missing, score = fitted.predict(none), fitted.score(none, data.y, qid=data.qid)
    assert not np.array_equal(missing, fitted.predict(table))
    kinds, unseen = CONVERT[host], ["auto", "höher", "zoo"]
    if not isinstance(words[0], str):
        kinds, unseen = CONVERT["lightgbm"], [-99, 11, 99]
    for value in unseen:
        new = table.assign(e=pd.Categorical([value] * len(table)))
        for convert in kinds.values():
            assert np.array_equal(fitted.predict(convert(new)), missing)
            assert fitted.score(convert(new), data.y, qid=data.qid) == score
    one, other = (
        categorical(host).fit(table, data.y, **evaluated(data, X)).evals_result_
        for X in (new, table.assign(e=new["e"].cat.set_categories(words)))
    )
    assert str(one) == str(other)
    unused = table.assign(e=table["e"].cat.add_categories(unseen[:1]))
    assert np.array_equal(fitted.predict(unused), fitted.predict(table))


def test_a_stopped_model_of_xgboost_keeps_its_categories(data, tmp_path):
    """Without those of text, a file would be read with other codes."""
    both = worded(data), worded(data, categories=["mid", "none", "low", "high"])
    table, other = (each.rename(columns={"a": "é"}) for each in both)
    stop = xgboost.callback.EarlyStopping(rounds=1, save_best=True)
    ranker = categorical("xgboost", callbacks=[stop], n_estimators=99)
    fitted = ranker.fit(table, data.y, **evaluated(data, table))
    path = tmp_path / "model.json"
    fitted.save_model(path)
    assert xgboost.Booster(model_file=path).feature_names == list(table)
    for reader in (categorical("xgboost"), xgboost.XGBRanker(enable_categorical=True)):
        reader.load_model(path)
        assert np.array_equal(reader.predict(other), fitted.predict(table))


def test_numbers_that_are_all_missing_may_be_a_category(host, data):
    """Such a column has no values that would tell its type."""
    table, numbers = frame(data.X), frame(data.X).assign(e=np.nan)
    nothing = pd.Series([None] * len(table), dtype="string").astype("category")
    fitted = categorical(host).fit(table, data.y, **evaluated(data, numbers))
    for convert in CONVERT[host].values():
        X = convert(table.assign(e=nothing))
        assert np.array_equal(fitted.predict(X), fitted.predict(numbers))
    X = table.assign(e=nothing)
    unnamed = categorical(host).fit(data.X, data.y, qid=data.qid)
    assert np.array_equal(unnamed.predict(X), unnamed.predict(numbers))
    again = categorical(host).fit(table, data.y, **evaluated(data, X))
    assert again.evals_result_ == fitted.evals_result_
    second, expected = (going_on(host, each, data.y, data.qid, fitted) for each in (X, numbers))
    assert trees(booster(second)) == trees(booster(expected))


@pytest.mark.parametrize("kind", FRAMES)
def test_words_of_any_letters_are_told_apart(data, kind):
    """XGBoost before 3.4 counts the letters of pandas' categories where it needs their bytes."""
    expected = categorical("xgboost").fit(worded(data, list("abcd")), data.y, qid=data.qid)
    table = FRAMES[kind](worded(data, ["ああ", "いい", "うう", "ええ"]))
    fitted = categorical("xgboost").fit(table, data.y, qid=data.qid)
    want = expected.predict(worded(data, list("abcd")))
    np.testing.assert_allclose(fitted.predict(table), want, rtol=1e-5)
    both = worded(data, ["ä", "b", "c", "d"]).assign(d=pd.Categorical(codes(data)))
    refused = pytest.raises(TypeError, match=r"'e' of X has .* as those of 'd': make these text")
    with nullcontext() if since(3, 4) else refused:
        categorical("xgboost").fit(both, data.y, qid=data.qid)


def test_a_category_is_not_a_number_anywhere(host, data):
    """An array, a frame of polars and a table of Arrow would hand LightGBM values as codes."""
    table, numbers = worded(data, [3, 1, 2, 0]), frame(data.X)
    message = "'e' of X was a category in training and is a number|X must be a frame, as 'e' held"
    fitted = categorical(host).fit(table, data.y, qid=data.qid)
    for X in (numbers, *(convert(numbers) for convert in FRAMES.values()), data.X):
        with pytest.raises(ValueError, match=message):
            fitted.predict(X)
        with pytest.raises(ValueError, match=message):
            categorical(host).fit(table, data.y, **evaluated(data, X))
    for X in (numbers, data.X, pl.DataFrame(numbers)):
        fitted = categorical(host).fit(X, data.y, qid=data.qid)
        with pytest.raises(ValueError, match="'e' of X was a number in training and is a category"):
            fitted.predict(table)


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        ([True, False, True, False], ["lightgbm"]),
        ([0.5, 1.0, 2.25, 1e10], ["lightgbm"]),
        (pd.array([4, 3, 2, 1], "int64[pyarrow]"), HOSTS),
        (pd.array([4, 3, 2, 1], "Int8"), HOSTS),
        (np.array([4, 3, 2, 1], np.uint8), HOSTS),
        (pd.array(WORDS, "string[pyarrow]"), HOSTS),
        (pd.date_range("2020", periods=4), []),
        ([(1, 2), (2, 3), (3, 4), (4, 5)], []),
    ],
    ids=["bool", "float", "Arrow", "nullable", "uint8", "Arrow text", "dates", "tuples"],
)
def test_types_of_categories(host, data, words, hosts):
    """What a host cannot write into a model is refused before the training, by its column."""
    values = pd.Series(words)[codes(data)].reset_index(drop=True)
    table = frame(data.X).assign(e=values.astype("category"))
    if host not in hosts:
        with pytest.raises(TypeError, match=r"'e' of X has the category .* X\['e'\]\.cat\.rename"):
            categorical(host).fit(table, data.y, qid=data.qid)
        table["e"] = table["e"].cat.rename_categories(str)
    fitted = categorical(host).fit(table, data.y, qid=data.qid)
    moved = table.assign(e=table["e"].cat.reorder_categories(table["e"].cat.categories[::-1]))
    assert np.array_equal(fitted.predict(moved), fitted.predict(table))


def test_codes_of_xgboost_in_a_frame(data):
    """feature_types says that numbers are codes: they are numbers in training, and stay so."""
    fitted = categorical("xgboost", feature_types=["q"] * 4 + ["c"])
    fitted.fit(frame(data.X), data.y, qid=data.qid)
    assert np.array_equal(fitted.predict(frame(data.X)), fitted.predict(data.X))


# Both hosts, all methods, every type: one process, which must reach its end.
PROGRAM = """
import datetime, decimal
import numpy as np, polars as pl, pyarrow as pa, pyarrow.compute
from boostrank.lightgbm import LGBMRanker
from boostrank.xgboost import XGBRanker

n, numbers = 40, list(range(40))
y, group = np.arange(n) % 2, [20, 20]
words = [str(i % 3) for i in numbers]
day = datetime.date(2020, 1, 1)
series = {
    **{t: pl.Series(numbers, dtype=getattr(pl, t)) for t in
       "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64".split()},
    "Int128": pl.Series(numbers, dtype=pl.Int128),
    "Boolean": pl.Series([i % 3 == 0 for i in numbers]),
    "Boolean, missing": pl.Series([None, *(i % 3 == 0 for i in numbers[1:])]),
    "Int64, missing": pl.Series([None, *numbers[1:]]),
    "Null": pl.Series([None] * n), "String": pl.Series(words),
    "Binary": pl.Series([b"x"] * n), "Categorical": pl.Series(words, dtype=pl.Categorical),
    "Enum": pl.Series(words, dtype=pl.Enum(["0", "1", "2"])),
    "Decimal": pl.Series(numbers).cast(pl.Decimal(10, 2)), "Date": pl.Series([day] * n),
    "Datetime": pl.Series(numbers).cast(pl.Datetime), "Time": pl.Series([datetime.time(1)] * n),
    "Datetime, zone": pl.Series(numbers).cast(pl.Datetime("us", "UTC")),
    "Duration": pl.Series(numbers).cast(pl.Duration), "List": pl.Series([[1, 2]] * n),
    "Array": pl.Series([[1, 2]] * n, dtype=pl.Array(pl.Int64, 2)),
    "Struct": pl.Series([{"a": 1}] * n), "Object": pl.Series([object()] * n, dtype=pl.Object),
}
for new in ("Float16", "UInt128"):
    if hasattr(pl, new):
        series[new] = pl.Series(numbers).cast(getattr(pl, new))
theirs = "Int128", "UInt128", "Float16", "Categorical", "Enum", "Object"
arrays = {
    **{kind: each.to_arrow() for kind, each in series.items() if kind not in theirs},
    "date64": pa.array(numbers, pa.date64()), "timestamp": pa.array(numbers, pa.timestamp("s")),
    "duration": pa.array(numbers, pa.duration("s")), "list": pa.array([[1, 2]] * n),
    "time32": pa.array(np.array(numbers, np.int32), pa.time32("s")),
    "float16": pa.array(np.array(numbers, np.float16)), "string": pa.array(words),
    "string_view": pa.array(words, pa.string_view()), "binary": pa.array([b"x"] * n),
    "fixed binary": pa.array([b"x"] * n, pa.binary(1)),
    "dictionary": pa.array(words).dictionary_encode(),
    "dictionary of numbers": pa.array(y).dictionary_encode(),
    "decimal256": pa.array([decimal.Decimal(i) for i in numbers], pa.decimal256(50, 2)),
    "map": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int8())),
    "union": pa.UnionArray.from_sparse(pa.array([0] * n, pa.int8()), [pa.array(numbers)]),
    "runs": pyarrow.compute.run_end_encode(pa.array(numbers)),
    "interval": pa.array([(1, 2, 3)] * n, pa.month_day_nano_interval()),
}
first = np.arange(n) % 7 / 7.0
columns = pl.DataFrame({"first": first})
frames = {f"polars {k}": columns.with_columns(v.alias("c")) for k, v in series.items()}
frames |= {f"arrow {k}": pa.table({"first": first, "c": v}) for k, v in arrays.items()}
tiny = {"objective": "regression", "n_estimators": 1, "n_jobs": 1}
makers = {
    "lightgbm": lambda: LGBMRanker(**tiny, verbosity=-1, min_child_samples=2),
    "xgboost": lambda: XGBRanker(**tiny, enable_categorical=False),
    "categories": lambda: XGBRanker(**tiny, enable_categorical=True),
}
for host, make in makers.items():
    plain = make().fit(np.c_[first, y], y, group=group)
    for kind, X in frames.items():
        fitted = make()
        calls = {
            "fit": lambda: fitted.fit(X, y, group=group).predict(X),
            "ids": lambda: make().fit(X, y, qid=np.repeat([1, 2], 20)),
            "predict": lambda: plain.predict(X),
            "score": lambda: plain.score(X, y, group=group),
            "eval": lambda: make().fit(
                np.c_[first, y], y, group=group, eval_set=[(X, y)], eval_group=[group]),
        }
        for method, call in calls.items():
            try:
                call()
                print(host, kind, method, "ok", sep="|", flush=True)
            except (TypeError, ValueError) as error:
                whole = "the column 'c' of X was a number in training and is a category: "
                start = "the column 'c' of X has the type " if type(error) is TypeError else whole
                assert str(error).startswith(start), error
                print(host, kind, method, "refused", sep="|", flush=True)
"""


def test_no_column_type_ends_the_process():
    verdicts = {}
    for line in output_of(PROGRAM).splitlines():
        host, kind, _, verdict = line.split("|")
        verdicts.setdefault((host, kind), set()).add(verdict)
    number = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    number |= {"float32", "float64", "bool", "boolean"}
    category = {"categorical", "enum", "dictionary"}
    for (host, kind), said in verdicts.items():
        word = kind.partition(" ")[2].partition(",")[0].lower()
        taken = word in number or (host == "categories" and word in category)
        if taken and word in category:  # the model of an array has a number there
            assert "ok" in said, (host, kind)
        else:
            assert said == {"ok" if taken else "refused"}, (host, kind, said)
