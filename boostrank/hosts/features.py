"""Features on their way to a host: read by `read_features`, compared by `like_training`.

Both hosts silently misread some containers, or end the process.
"""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.datasets.ids import is_missing
from boostrank.datasets.ranking_data import check_feature, check_label, check_position
from boostrank.hosts import model_files
from boostrank.hosts.ignored import CATEGORICAL
from boostrank.messages import TABLES, few, load, warn

# What a category may be. Truth values are integers to Python.
_KINDS = ((str, "text"), (bool | np.bool_, "bool"), (Integral, "integer"), (Real, "number"))
# Parameters of the hosts that may count columns, by all their names.
_COUNTING = (
    "monotone_constraints", "mc", "monotone_constraint", "monotonic_cst", "interaction_constraints",
    "feature_contri", "feature_contrib", "fc", "fp", "feature_penalty", "max_bin_by_feature",
    "cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled", "feature_weights", "feature_types",
    *CATEGORICAL,
)  # fmt: skip
# What pandas, polars and Arrow call the columns that both hosts read as numbers.
_NUMBERS = re.compile(r"u?int(8|16|32|64)|float(32|64)?|double|bool(ean)?")
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_INT32_MAX = int(np.iinfo(np.int32).max)


class HostRules(NamedTuple):
    """What a host takes."""

    host: str
    start: str  # its argument for the scores that training starts from
    not_in_names: str  # characters that no feature's name may have
    space: str  # what the host writes for a space in a name
    categories: bool  # whether it takes those of pandas
    arrow_categories: bool  # whether it also takes those of polars and Arrow
    category_kinds: frozenset[str]  # of those of pandas, which it can write into a model
    omitted_is_missing: bool  # whether a sparse matrix leaves out missing values, not zeros


LIGHTGBM = HostRules(
    *("LightGBM", "init_score", '",:[]{}\n\r', "_", True, False),
    category_kinds=frozenset({"text", "bool", "integer", "number"}),
    omitted_is_missing=False,
)
XGBOOST = HostRules(
    *("XGBoost", "base_margin", "[]<", " ", True, True),
    category_kinds=frozenset({"text", "integer"}),
    omitted_is_missing=True,
)


class Trained(NamedTuple):
    """The features that a model was trained on."""

    names: tuple[str, ...] | None  # as the host writes them; None for an array
    width: int
    # Whether a sparse matrix left out values. None: not known, or without effect.
    sparse: bool | None = None
    # The values of columns that are categories, in the order of the codes that the model splits on.
    # None: not known.
    categories: Mapping[str, Sequence[Any]] | None = None


def trained_on(X: Any, rules: HostRules) -> Trained:
    """Describe features, which are as `read_features` returns them."""
    categories = {name: values for name, (_, values) in _categories(X, rules).items()}
    return Trained(_names(X, rules), X.shape[1], omits(X), categories)


def trained_of(booster: Any, model: Any = None) -> Trained:
    """Describe the features of a booster, and of the ranker that may know more of it."""
    # Also those that are ordered, which LightGBM's booster does not tell; XGBoost's takes long.
    known = getattr(model, "_categories", None)
    if hasattr(booster, "feature_name"):  # LightGBM's
        known = model_files.lightgbm_categories(booster) if known is None else known
        return Trained(tuple(booster.feature_name()), booster.num_feature(), None, known)
    known = model_files.xgboost_categories(booster) if known is None else known
    names = None if booster.feature_names is None else tuple(booster.feature_names)
    return Trained(names, booster.num_features(), model_files.of_sparse(booster), known)


def read_features(
    X: Any, rules: HostRules, qid: Any = None, y: Any = None, position: Any = None
) -> Any:
    """Return features, from any container (n_docs, n_features), as both hosts read them.

    Returned is a float32 or float64 array, a CSR matrix, a data frame or an Arrow table, in native
    byte order, without duplicate entries; masked values are missing. A column that is an id, or
    equal to `qid`, `y` or `position`, if they are given, is a ValueError: a model would learn it.
    """
    read = _read(X, rules, qid)
    if read.shape[1] == 0:
        raise ValueError("X must have at least one feature, got none")
    for name in () if y is None else _columns(read):
        check_label("X", name, read[name], y, _without(name))
    for name in () if position is None else _columns(read):
        check_position("X", name, read[name], position, _without(name))
    return read


def _read(X: Any, rules: HostRules, qid: Any) -> Any:
    if _has(X, "tocsr"):
        return _sparse(X, rules)
    lazy = next((name for name in ("compute", "collect") if _has(X, name)), None)
    if lazy:
        raise TypeError(
            f"X must be in memory, got a {type(X).__module__.partition('.')[0]} "
            f"{type(X).__name__}: call .{lazy}() first"
        )
    if _typed(X) is None:
        return _dense(X)
    if _has(X, "iloc") and X.columns.nlevels > 1:
        X = X.copy(deep=False)
        X.columns = [" ".join(map(str, name)) for name in X.columns]
    if type(X).__name__ == "RecordBatch":
        X = sys.modules["pyarrow"].Table.from_batches([X])
    _check_names(X, rules)
    for name in _columns(X):
        check_feature("X", name, None if qid is None else X[name], qid, _without(name))
    return _frame(X, rules)


def _without(name: Any) -> str:
    pandas, polars = f"X.drop({name!r}, axis=1) in pandas", f"X.drop({name!r}) in polars"
    return f"Take it out, for example with {pandas} or {polars}"


def like_training(X: Any, trained: Trained, rules: HostRules, *, learns: bool = False) -> Any:
    """Return features with the columns and the codes of categories that a model was trained on.

    Columns are matched by name if both have names, and by position otherwise. Categories are
    matched by value: those that training did not have are missing, as in LightGBM. With `learns`,
    the model goes on to be trained on `X`, and so must know its categories.
    """
    _check_zeros(X, trained, rules)
    names, expected = _names(X, rules), trained.names
    if not names or not expected or (model_files.made_up(expected) and set(names) != set(expected)):
        if X.shape[1] != trained.width:
            raise ValueError(
                f"X must have the {trained.width} features of training, got {X.shape[1]}"
            )
        if trained.categories:
            raise ValueError(
                f"X must be a frame, as {few(list(trained.categories))} held categories in "
                "training, got an array, which has none: pass a frame with these as categories"
            )
    else:
        missing = [name for name in expected if name not in names]
        unknown = [name for name in names if name not in expected]
        if missing or unknown:
            said = [f"lacks {few(missing)}"] * bool(missing)
            said += [f"also has {few(unknown)}"] * bool(unknown)
            raise ValueError(
                f"X must have the columns of training, but it {' and '.join(said)}; select those "
                "of training, or pass an array in their order"
            )
        if names != expected:
            columns = dict(zip(names, _columns(X), strict=True))
            chosen = [columns[name] for name in expected]
            X = X[chosen] if _has(X, "iloc") else X.select(chosen)
    if trained.categories is not None:
        return _coded(X, trained.categories, rules, learns=learns)
    if learns:
        raise ValueError(
            "the model to continue does not name the columns of its categories, which are ordered, "
            "or not all in categorical_feature: pass the ranker that was trained, not its booster"
        )
    return X


def check_counting(
    X: Any, names: Sequence[str], params: Mapping[str, Any], rules: HostRules
) -> None:
    """Refuse parameters that count columns if a frame has those of training in another order."""
    own, before = list(_names(X, rules) or ()), list(map(str, names))
    counting = [name for name in _COUNTING if _counts(name, params.get(name))]
    if counting and own != before and sorted(own) == sorted(before):
        raise ValueError(
            f"X has the columns of training in another order, in which {few(counting)} would count "
            f"them: bring them into the old one, {few(before)}, and count in it"
        )


def _counts(parameter: str, columns: Any) -> bool:
    """Tell whether a parameter may have columns by their numbers, rather than by names."""
    if isinstance(columns, str):
        return columns not in ("", "auto")  # LightGBM's defaults
    if isinstance(columns, list | tuple | set | np.ndarray):  # of columns, or of groups of them
        return parameter == "feature_types" or any(
            not isinstance(each, str) and _counts(parameter, each) for each in columns
        )
    return not isinstance(columns, Mapping | None)


def check_renaming(X: Any, names: Any, rules: HostRules) -> None:
    """Refuse new names of columns that are the old ones in another order."""
    own = _names(X, rules)
    if own is None or names is None or isinstance(names, str):
        return
    given = tuple(_written(names, rules))
    if given != own and sorted(given) == sorted(own):
        raise ValueError(
            "feature_name has the names of the columns of X in another order, so that a model "
            "would take one column for another: leave it out, or rename the columns of X"
        )


def omits(X: Any) -> bool:
    """Tell whether a matrix is sparse and leaves values out."""
    return _has(X, "tocsr") and X.nnz < X.shape[0] * X.shape[1]


def xgboost_matrix(X: Any, params: Mapping[str, Any], ref: Any, **kwargs: Any) -> Any:
    """Return XGBoost's matrix for a training: binned now, as a QuantileDMatrix, if it may be."""
    import xgboost

    # The others, such as "refresh" of process_type="update", cannot read bins.
    updaters = (None, "grow_quantile_histmaker", "grow_gpu_hist")
    binned = params.get("tree_method") in (None, "auto", "hist")
    binned = binned and params.get("updater") in updaters
    with explaining_float32(X):
        if binned and params.get("booster") != "gblinear":
            return xgboost.QuantileDMatrix(X, ref=ref, max_bin=params.get("max_bin"), **kwargs)
        return xgboost.DMatrix(X, **kwargs)


def xgboost_constraints(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with constraints by column number as XGBoost reads them: not as lists."""
    read = dict(params)
    monotone, allowed = (params.get(f"{kind}_constraints") for kind in ("monotone", "interaction"))
    if isinstance(monotone, list | np.ndarray):
        read["monotone_constraints"] = tuple(np.asarray(monotone).tolist())
    if isinstance(allowed, list | tuple) and not any(
        isinstance(column, str) for each in allowed for column in each
    ):
        read["interaction_constraints"] = str([np.asarray(each).tolist() for each in allowed])
    return read


@contextmanager
def explaining_float32(X: Any) -> Iterator[None]:
    """Name the column of XGBoost's error of values that float32 cannot hold."""
    try:
        yield
    except ValueError as error:  # as XGBoost's are
        for where, values in (_numbers(X, place) for place in range(X.shape[1])):
            if (np.abs(values) > _FLOAT32_MAX).any():
                raise ValueError(
                    f"XGBoost computes with float32, but {where} of X holds infinite values or "
                    f"values above {_FLOAT32_MAX:.2g}: replace them, for example by NaN (missing)"
                ) from error
        raise


def check_codes(X: Any, columns: Iterable[Any], names: Any, missing: float = math.nan) -> None:
    """Refuse numbers that a host is told are categories, and would take for others.

    `missing` is allowed, and a single negative number: it stands for what is missing, as -1 in
    pandas. `columns` are numbers or names; `names` replace those of `X`.
    """
    known = list(map(str, _columns(X))) if names is None or isinstance(names, str) else list(names)
    for each in columns:
        place = known.index(each) if each in known else int(each) if str(each).isdigit() else -1
        if not 0 <= place < X.shape[1]:
            continue  # LightGBM says so
        where, values = _numbers(X, place)
        values = values[~np.isnan(values)]
        with np.errstate(invalid="ignore"):  # infinite values
            whole = (values <= _INT32_MAX) & (values % 1.0 == 0.0)
        negative = np.unique(values[values < 0.0])
        bad = [*values[~whole & (values != missing)], *(negative if len(negative) > 1 else ())]
        if bad:
            raise ValueError(
                f"{where} of X is said to be a category and must hold whole numbers from 0 to "
                f"{_INT32_MAX}, and NaN where they are missing, got {bad[0]:g}: number its values "
                "from 0, for example with numpy.unique(column, return_inverse=True)"
            )


def _numbers(X: Any, place: int) -> tuple[str, npt.NDArray[np.float64]]:
    """Describe a column, and return its numbers, in any shape: those stored, none of categories."""
    typed = _typed(X)
    if typed is None:
        column = X[:, [place]]
        return f"column {place}", np.asarray(column.data if _has(X, "tocsr") else column, float)
    name, dtype = typed[place]
    return f"the column {name!r}", np.asarray([] if _is_category(dtype) else X[name], float)


def nothing_to_split(error: Exception, n_docs: int, name: str, min_docs: Any) -> str:
    """Explain LightGBM's error of data in which it cannot make a single split, or return ""."""
    if "num_features()" not in str(error):
        return ""
    return (
        f"LightGBM finds nothing to split in {n_docs} rows: every feature is constant, or no "
        f"split leaves {name}={min_docs} rows on both sides; lower it, or bring more data"
    )


def _dense(X: Any) -> npt.NDArray[Any]:
    if np.ma.isMaskedArray(X):
        floats: Any = X.astype(np.result_type(X.dtype, np.float32))
        X = floats.filled(np.nan)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X must have rows of equal length: {error}") from error
    if array.dtype.kind == "O" and array.ndim == 2:
        array = _from_objects(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"X must hold numbers, got {type(X).__name__} of dtype {array.dtype}; text and dates "
            "belong into a pandas DataFrame, as categories or as numbers"
        )
    if array.ndim != 2:
        raise ValueError(
            f"X must have a row for each document and a column for each feature, got shape "
            f"{array.shape}; a single feature is X.reshape(-1, 1)"
        )
    return array.astype(_float(array.dtype), copy=False)


def _float(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the floating-point type, in native byte order, that holds a type's values."""
    wide = np.result_type(dtype, np.float32)
    return wide if wide.itemsize <= 8 else np.dtype(np.float64)


def _from_objects(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    numbers = np.empty(array.shape)
    for (row, column), value in np.ndenumerate(array):
        known = isinstance(value, Real | np.bool_)
        if not known and not is_missing(value):
            raise TypeError(
                f"X must hold numbers, got {value!r} in row {row}, column {column}; text and "
                "dates belong into a pandas DataFrame, as categories or as numbers"
            )
        numbers[row, column] = value if known else np.nan
    return numbers


def _sparse(X: Any, rules: HostRules) -> Any:
    """Return CSR: LightGBM misreads unsorted CSC, and warns of sparse arrays."""
    csr_matrix = sys.modules["scipy"].sparse.csr_matrix
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X must hold numbers, got a sparse matrix of dtype {X.dtype}")
    given = csr_matrix(X)
    data = given.data.astype(_float(X.dtype), copy=False)
    csr = csr_matrix((data, given.indices, given.indptr), shape=X.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if rules.omitted_is_missing and omits(csr) and not csr.data.all():
        warn(
            f"the sparse matrix X stores zeros and leaves others out: {rules.host} takes what is "
            "stored for 0 and what is left out for missing. Call X.eliminate_zeros() to make all "
            "zeros missing, or pass X.toarray() to make none missing"
        )
    return csr


def _has(X: Any, name: str) -> bool:
    """Tell whether objects of this class have an attribute, rather than a column of that name."""
    return hasattr(type(X), name)


def _typed(X: Any) -> list[tuple[Any, Any]] | None:
    """Return the names and types of a frame's columns, or None."""
    if _has(X, "column_names"):  # Arrow
        return list(zip(X.column_names, X.schema.types, strict=True))
    if _has(X, "columns") and _has(X, "dtypes"):
        return list(zip(X.columns, X.dtypes, strict=True))
    return None


def _columns(X: Any) -> list[Any]:
    """Return the names of a frame's columns, or none."""
    return [name for name, _ in _typed(X) or ()]


def _names(X: Any, rules: HostRules) -> tuple[str, ...] | None:
    """Return the names of a frame's columns as the host writes them, or None for an array."""
    return None if _typed(X) is None else tuple(_written(_columns(X), rules))


def _categories(X: Any, rules: HostRules) -> dict[str, tuple[Any, Any]]:
    """Return the columns that are categories, and their values, by the names the host writes."""
    found = [name for name, dtype in _typed(X) or () if _is_category(dtype)]
    values = [
        X[name].cat.categories if _has(X, "iloc") else _one_piece(X[name]).dictionary.to_pylist()
        for name in found
    ]
    return dict(zip(_written(found, rules), zip(found, values, strict=True), strict=True))


def _is_category(dtype: Any) -> bool:
    words = ("enum", "categorical", "dictionary<values=string", "dictionary<values=large_string")
    kind = str(dtype).lower()
    return kind == "category" or (kind.startswith(words) and not kind.endswith("[pyarrow]"))


def _written(columns: Iterable[Any], rules: HostRules) -> Iterator[str]:
    return (str(name).replace(" ", rules.space) for name in columns)


def _check_names(X: Any, rules: HostRules) -> None:
    first: dict[str, Any] = {}
    columns = _columns(X)
    for name, written in zip(columns, _written(columns, rules), strict=True):
        bad = [letter for letter in rules.not_in_names if letter in written]
        if bad:
            raise ValueError(
                f"the column {name!r} of X has {bad[0]!r} in its name, which {rules.host} does not "
                "take: rename it"
            )
        if not written and rules is LIGHTGBM:
            raise ValueError("a column of X has an empty name, which LightGBM does not take")
        if written in first:
            both = f"{first[written]!r} and {name!r}"
            raise ValueError(
                f"X has columns {both}, which {rules.host} cannot tell apart: rename or drop one"
            )
        first[written] = name


def _frame(X: Any, rules: HostRules) -> Any:
    pandas = _has(X, "iloc")
    changed = {}
    words = []
    for name, dtype in _typed(X) or ():
        if _NUMBERS.fullmatch(str(dtype).lower()):
            continue
        if pandas and dtype.kind in "biuf":  # Arrow's, sparse, float16, in foreign byte order
            changed[name] = X[name].to_numpy(np.float64, na_value=np.nan)
            continue
        _check_category(name, dtype, rules)
        words.append(name)
    if words and _has(X, "to_arrow"):
        X = X.to_arrow()  # as XGBoost does with frames of polars
    for name in words:
        changed[name] = _check_values(name, X[name], rules) if pandas else _one_piece(X[name])
    if pandas and type(X) is not sys.modules["pandas"].DataFrame:
        X = sys.modules["pandas"].DataFrame(X)  # XGBoost takes no class derived from it
    return in_utf8(_with_columns(X, changed), rules)


def _with_columns(X: Any, changed: Mapping[Any, Any]) -> Any:
    """Return a frame or a table with other columns in place of those of the same names."""
    if _has(X, "iloc") and changed:
        X = X.copy(deep=False)
    for name, column in changed.items():
        if _has(X, "iloc"):
            X[name] = column
        else:
            X = X.set_column(X.column_names.index(name), name, [column])
    return X


def _one_piece(column: Any) -> Any:
    """Return a column of categories of Arrow in one piece, with the only text XGBoost reads."""
    import pyarrow

    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pyarrow.ChunkedArray):  # of no rows, in old versions
        whole = whole.chunk(0)
    words = pyarrow.array(whole.dictionary.to_pylist(), pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(whole.indices, words)


def beyond_ascii(categories: Mapping[Any, Sequence[Any]]) -> list[Any]:
    """Return the columns with letters beyond ASCII in a category, if XGBoost misreads them."""
    if model_files.since(3, 4):
        return []
    return [name for name, words in categories.items() if not "".join(map(str, words)).isascii()]


def in_utf8(X: Any, rules: HostRules) -> Any:
    """Return a frame of pandas as a table of Arrow if XGBoost would cut its words into pieces."""
    if not _has(X, "iloc") or not rules.arrow_categories:
        return X
    kinds = dict(_categories(X, rules).values())
    beyond = beyond_ascii(kinds)
    if not beyond:
        return X
    what = f"the column {beyond[0]!r} of X has categories with letters beyond ASCII, "
    numbers = [name for name, words in kinds.items() if words.dtype.kind == "i"]
    if numbers:
        raise TypeError(
            f"{what}which {rules.host} reads in a table of Arrow only, but not next to categories "
            f"that are numbers, as those of {numbers[0]!r}: make these text too, for example with "
            f"X[{numbers[0]!r}].cat.rename_categories(str)"
        )
    pyarrow = load("pyarrow", f"{what}for which {rules.host} needs pyarrow", TABLES)
    columns = {str(name): pyarrow.array(X[name], from_pandas=True) for name in X.columns}
    for name in kinds:
        columns[str(name)] = _one_piece(pyarrow.chunked_array([columns[str(name)]]))
    return pyarrow.table(columns)


def _check_category(name: Any, dtype: Any, rules: HostRules) -> None:
    """Refuse a column that the host does not read as numbers or as categories."""
    category = _is_category(dtype)
    if category and rules.categories and (str(dtype) == "category" or rules.arrow_categories):
        return
    cure = (
        "make it a number (a date, for example, the days since another), a category (in pandas, "
        f"X[{name!r}].astype('category')), or drop it"
    )
    if category and rules.categories:
        cure = "it takes those of pandas: X.to_pandas()"
    elif category:
        cure = "pass enable_categorical=True to XGBRanker"
    said = str(dtype) if len(str(dtype)) < 50 else f"{str(dtype)[:46]} ..."
    raise TypeError(
        f"the column {name!r} of X has the type {said}, which {rules.host} does not take; {cure}"
    )


def _check_values(name: Any, column: Any, rules: HostRules) -> Any:
    """Return a column of pandas whose categories the host can write into a model."""
    words = column.cat.categories
    kinds = set(map(_kind, words))
    if not kinds <= rules.category_kinds or (rules.arrow_categories and len(kinds) > 1):
        shown = _plain(next((each for each in words if not isinstance(each, str)), words[0]))
        known = "text, or all integers" if rules.arrow_categories else "text or numbers"
        raise TypeError(
            f"the column {name!r} of X has the category {shown}, but for {rules.host} the "
            f"categories of a column must all be {known}: make them text, for example with "
            f"X[{name!r}].cat.rename_categories(str)"
        )
    # XGBoost cannot read others, or write them, or compare them with those of training.
    if rules.arrow_categories and "text" not in kinds and words.dtype != np.int64:
        return column.cat.rename_categories(words.astype(np.int64))
    return column


def _coded(
    X: Any, categories: Mapping[str, Sequence[Any]], rules: HostRules, *, learns: bool
) -> Any:
    """Return a frame whose categories have the codes of training."""
    found = _categories(X, rules)
    for name in (*found, *categories):
        # A column of missing values only is a category without any, or whatever it was.
        if (name in found) != (name in categories) and (name not in found or len(found[name][1])):
            was, is_now = ("category", "number") if name in categories else ("number", "category")
            what = f"the column {name!r} of X was a {was} in training"
            raise ValueError(f"{what} and is a {is_now}: make it a {was} again")
    code = _coded_pandas if _has(X, "iloc") else _coded_arrow
    changed = {}
    for name, (column, now) in found.items():
        if name not in categories:
            changed[column] = np.full(X.shape[0], np.nan)  # as the numbers that are missing
            continue
        known = categories[name]
        _check_like(column, known, now)
        changed[column], lost = code(X[column], known)
        if learns and lost is not None:
            raise ValueError(
                f"the column {column!r} of X has the category {_plain(lost)}, which the model to "
                "continue does not know: train a new model, or leave its rows out"
            )
    return in_utf8(_with_columns(X, changed), rules)


def _plain(value: Any) -> str:
    """Return a value as Python writes it, without NumPy's type."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _coded_pandas(column: Any, known: Any) -> tuple[Any, Any]:
    """Return a column with the categories of training, and a value that is not one of them."""
    made = column.cat.set_categories(known)
    lost = column[(made.isna() & column.notna()).to_numpy()]
    return made, lost.iloc[0] if len(lost) else None


def _coded_arrow(column: Any, known: Any) -> tuple[Any, Any]:
    """Return a column with the categories of training, and a value that is not one of them."""
    import pyarrow
    import pyarrow.compute

    values = _one_piece(column).dictionary_decode()
    words = pyarrow.array(list(known), pyarrow.string())
    codes = pyarrow.compute.index_in(values, value_set=words)
    lost = values.filter(codes.is_null()).drop_null().to_pylist()
    return pyarrow.DictionaryArray.from_arrays(codes, words), next(iter(lost), None)


def _check_like(name: Any, known: Sequence[Any], now: Sequence[Any]) -> None:
    """Refuse categories that cannot equal those of training, as text and numbers cannot."""
    was, is_now = (
        {"number" if kind == "integer" else kind for kind in map(_kind, values)}
        for values in (known, now)
    )
    if len(was) == len(is_now) == 1 and was != is_now:
        (old,), (new,) = was, is_now
        raise ValueError(
            f"the column {name!r} of X had categories of type {old} in training, such as "
            f"{_plain(known[0])}, and has {new}, such as {_plain(now[0])}: make them {old} again"
        )


def _kind(value: Any) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "other")


def _check_zeros(X: Any, trained: Trained, rules: HostRules) -> None:
    if trained.sparse is None or not rules.omitted_is_missing:
        return
    if omits(X) and not trained.sparse:
        raise ValueError(
            f"X is sparse, but training was not: {rules.host} takes what a sparse matrix leaves "
            "out for missing, not for 0. Pass X.toarray(), or train on a sparse matrix too"
        )
    if trained.sparse and not _has(X, "tocsr") and (np.asarray(X) == 0).any():
        raise ValueError(
            f"X has zeros, but training was on a sparse matrix: {rules.host} took for missing what "
            "that left out. Pass scipy.sparse.csr_matrix(X), or train on an array too"
        )
