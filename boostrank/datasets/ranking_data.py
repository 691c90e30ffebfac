"""The one form of ranking data: features, labels and query ids, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from boostrank.datasets.ids import check_ids, join_ids
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_count,
    check_group,
    check_seed,
    check_unmasked,
    check_whole,
)

#: Names of columns in which data frames hold the query's id.
ID_NAMES = ("qid", "query_id", "group_id")
DOCUMENT_NAMES = ("doc_id", "docid", "document_id")
#: XGBoost refuses larger codes of categories; LightGBM takes those beyond int32 for missing.
CODES_END = 2**24


def _numbers(name: str, values: Any, n_dims: int) -> npt.NDArray[Any]:
    check_unmasked(name, values)
    array_ = np.asarray(values)
    if array_.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be a dense array of numbers, got {type(values).__name__} "
            f"of dtype {array_.dtype}"
        )
    if array_.ndim != n_dims:
        raise ValueError(f"{name} must be a {n_dims}-D array, got shape {array_.shape}")
    return array_


def are_codes(values: Floats) -> npt.NDArray[np.bool_]:
    """Tell which numbers both hosts take for the codes of categories."""
    return np.asarray((values >= 0) & (values < CODES_END) & (values == np.floor(values)))


def _check_categories(
    X: Floats,
    names: Sequence[str],
    categorical: Sequence[int],
    categories: Mapping[int, Sequence[str]],
) -> None:
    """Refuse columns that are not there, and values that a host would change."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"names must be different, got {twice!r} twice")
    if len(names) not in (0, X.shape[1]):
        raise ValueError(f"names must have one for each of {X.shape[1]} columns, got {len(names)}")
    for column in categorical:
        if not isinstance(column, Integral) or column not in range(X.shape[1]):
            raise ValueError(
                f"categorical must hold positions of columns, 0..{X.shape[1] - 1}, got {column!r}"
            )
        bad = ~(are_codes(X[:, column]) | np.isnan(X[:, column]))
        if bad.any():
            raise ValueError(
                f"categorical column {column} must hold whole numbers from 0 below {CODES_END}, or "
                f"NaN, got {X[np.argmax(bad), column]} at row {np.argmax(bad)}; number its values"
            )
    for column, words in categories.items():
        if column not in categorical or np.fmax.reduce(X[:, column]) >= len(words):
            raise ValueError(
                "categories must have a string for each number of a categorical column, but for "
                f"column {column} there are {len(words)}"
            )


def query_starts(qid: Integers) -> tuple[Integers, int | None]:
    """Return the first row of every run of equal ids, and the first row where an id comes back."""
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1])[: len(qid)])
    first = np.unique(qid[starts], return_index=True)[1]
    back = np.setdiff1d(np.arange(len(starts)), first)
    return starts, int(starts[back[0]]) if len(back) else None


def _pandas_index(values: Any) -> Any:
    """Return the index of a pandas column, or None: where rows are only numbered, it says nothing.

    They are numbered after ``reset_index``, for example.
    """
    index = getattr(values, "index", None)
    return None if callable(index) or hasattr(index, "start") else index


def check_aligned(first: str, rows: Any, **columns: Any) -> None:
    """Refuse a pandas column with the rows of another in another order: rows go by position."""
    index = None
    for name, values in {first: rows, **columns}.items():
        own = _pandas_index(values)
        if own is None:
            continue
        if index is None:
            first, index = name, own
        elif (
            len(own) == len(index)
            and index.is_unique
            and not own.equals(index)
            and own.is_unique
            and own.astype(object).isin(index.astype(object)).all()  # not all names can be sorted
            and not own.astype(object).equals(index.astype(object))
        ):
            raise ValueError(
                f"{name} has the rows of {first} in another order, and rows are taken by position: "
                f"pass {name}.loc[{first}.index]"
            )


def check_by_query(name: str, values: Any, qid: Any) -> None:
    """Refuse one value per query, with the ids as its pandas index, in another order of queries.

    So comes ``groupby(qid)`` for queries whose ids do not ascend.
    """
    index = _pandas_index(values)
    if qid is None or index is None:
        return
    ids = check_ids("qid", qid, len(qid))
    ids = ids[query_starts(ids)[0]]
    try:
        own = check_ids(name, index, len(ids))
    except (TypeError, ValueError):  # other names than ids, or values of documents
        return
    if not np.array_equal(own, ids) and np.array_equal(np.sort(own), np.sort(ids)):
        at = int(np.argmax(own != ids))
        raise ValueError(
            f"{name} has the queries in another order, first {own[at]} in place of {ids[at]}, and "
            f"is taken by position: sort it as the queries come, such as "
            f"{name}.loc[pandas.unique(qid)], or pass {name}.to_numpy() if it already is"
        )


def check_either(group: Any, qid: Any, prefix: str = "") -> None:
    """Refuse both or neither of group and qid."""
    if (group is None) == (qid is None):
        raise ValueError(
            f"pass either {prefix}group, the sizes of consecutive queries, or {prefix}qid, one id "
            f"per document; got {'neither' if group is None else 'both'}"
        )


def check_feature(where: str, name: Any, column: Any, qid: Any, cure: str) -> None:
    """Refuse a feature that is an id: a model learns it, but new queries have new ids.

    `where` is what has the feature, and `cure` how to take it out. Without `qid` only the name is
    checked.
    """
    word = str(name).lower()
    if word in DOCUMENT_NAMES:
        what = "document's"
    elif word in ID_NAMES or (qid is not None and _equal(column, qid)):
        what = "query's"
    else:
        return
    raise ValueError(
        f"{where} has the {what} id among its features, in the column {name!r}: a model would "
        f"learn it. {cure}"
    )


def _equal(column: Any, qid: Any) -> bool:
    """Tell whether a feature is the id; with only one query, equal values prove nothing."""
    try:
        values, ids = np.asarray(column), np.asarray(qid)
    except Exception:  # of polars, for example: NumPy has no such type
        return False
    alike = values.shape == ids.shape and (values.dtype.kind in "iuf") == (ids.dtype.kind in "iuf")
    if not alike or len(ids) == 0 or ids[0] == ids[-1]:
        return False
    # For most columns the first rows are enough.
    return np.array_equal(values[:100], ids[:100]) and np.array_equal(values, ids)


def check_label(where: str, name: Any, column: Any, y: Floats, cure: str) -> None:
    """Refuse a feature that is the label."""
    if _repeats(column, y):
        raise ValueError(
            f"{where} has the label among its features, in the column {name!r}: a model would copy "
            f"it. {cure}"
        )


def check_position(where: str, name: Any, column: Any, position: Any, cure: str) -> None:
    """Refuse a feature that is the position at which a document was shown."""
    if _repeats(column, np.asarray(position)):
        raise ValueError(
            f"{where} has the position among its features, in the column {name!r}: a model would "
            f"learn its effect on clicks, which is to be corrected. {cure}"
        )


def _repeats(column: Any, values: npt.NDArray[Any]) -> bool:
    """Tell whether a feature has these values; in a few rows, equal ones may be chance."""
    # For most columns the first rows are enough; a whole one may take long to convert.
    first = np.asarray(column.head(100) if hasattr(column, "head") else column[:100])
    if first.dtype.kind not in "biuf" or not np.array_equal(first, values[:100]):
        return False
    enough = len(values) >= 10 and values.min() < values.max()
    return bool(enough and np.array_equal(np.asarray(column), values))


def sizes_of_ids(name: str, ids: npt.NDArray[Any], cure: str = "") -> Integers:
    """Return the sizes of consecutive queries; `cure` is an alternative to sorting, if any."""
    starts, back = query_starts(ids)
    if back is not None:
        raise ValueError(
            f"{name} must keep a query's rows together, but {ids[back]} comes back at row {back} "
            f"after another query; {cure}sort all row-aligned arrays yourself by "
            f'np.argsort({name}, kind="stable")'
        )
    return np.diff(starts, append=len(ids))


def check_queries(group: Any, qid: Any, n_docs: int, prefix: str = "") -> Integers:
    """Return query boundaries (n_queries + 1,) from `group` or from `qid`, whichever is given."""
    check_either(group, qid, prefix)
    if qid is not None:
        name = f"{prefix}qid"
        group = sizes_of_ids(name, check_ids(name, qid, n_docs))
    return check_group(group, n_docs)


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents of consecutive queries, with features and labels.

    Built from row-aligned query ids alone; the group sizes follow from them, so the two cannot
    disagree. To start from group sizes, use ``qid=np.repeat(np.arange(len(group)), group)``.

    Parameters
    ----------
    X : array_like (n_docs, n_features)
        Features; NaN is a missing value, infinities are refused (XGBoost refuses them too).
    y : array_like (n_docs,)
        Finite labels. Losses and metrics of graded relevance take only 0 to 1000, and check it.
    qid : array_like of integers, strings or dates (n_docs,)
        Id of each document's query. A query's documents must be contiguous.
    names : sequence of str, optional
        Names of the features. Default (): none.
    categorical : sequence of int, optional
        Columns of `X` that hold categories, as whole numbers from 0. Default (): none.
    categories : mapping of int to sequence of str, optional
        The strings that these numbers stand for, by column. Default {}: none, just numbers.
    doc_id : array_like of integers, strings or dates (n_docs,), optional
        Id of each document. Default None: there are none.

    Attributes
    ----------
    X : float64 array (n_docs, n_features), C order
    y : float64 array (n_docs,)
        float64 because the objectives and metrics compute gains from it in float64, and because
        grades need not be whole.
    group : int64 array (n_queries,)
        Sizes of consecutive queries, as LightGBM takes them.
    qid : int64, uint64 or str array (n_docs,)
        Of uint64 only if an id is beyond int64; dates become strings of ISO 8601. XGBoost's DMatrix
        takes only numbers; if the ids are strings, pass it `group` instead.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or shape or out of range, and for a query whose documents
        are not contiguous.

    Examples
    --------
    >>> from boostrank.datasets import RankingData
    >>> data = RankingData(X=[[0.5], [0.1], [0.9]], y=[2, 0, 1], qid=[7, 7, 8])
    >>> data
    RankingData(2 queries, 3 documents, 1 feature)
    >>> data.group.tolist()
    [2, 1]
    """

    X: Floats
    y: Floats
    group: Integers = field(init=False)
    qid: npt.NDArray[Any]
    names: tuple[str, ...] = ()
    categorical: tuple[int, ...] = ()
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    doc_id: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        check_aligned("X", self.X, y=self.y, qid=self.qid, doc_id=self.doc_id)
        X = np.ascontiguousarray(_numbers("X", self.X, 2), dtype=np.float64)
        y = np.ascontiguousarray(_numbers("y", self.y, 1), dtype=np.float64)
        if not len(X) == len(y) == np.size(self.qid):
            raise ValueError(
                "X, y and qid must have one row for each document, got "
                f"{len(X)}, {len(y)} and {np.size(self.qid)} rows"
            )
        qid = np.ascontiguousarray(check_ids("qid", self.qid, len(X)))
        doc_id = self.doc_id
        if doc_id is not None:
            doc_id = np.ascontiguousarray(check_ids("doc_id", doc_id, len(X)))
        if X.size == 0:
            raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
        # fmin and fmax skip NaN and need no array of flags as large as X.
        if np.isinf(np.fmin.reduce(X, axis=None)) or np.isinf(np.fmax.reduce(X, axis=None)):
            row, column = np.argwhere(np.isinf(X))[0]
            raise ValueError(
                f"X must be finite, or NaN where a value is missing, got {X[row, column]} "
                f"at row {row}, column {column}"
            )
        _check_categories(X, self.names, self.categorical, self.categories)
        bad = ~np.isfinite(y)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"y must hold finite numbers, got {y[row]:g} at row {row}; map missing judgements "
                "to 0 or drop their rows"
            )
        vars(self).update(X=X, y=y, group=sizes_of_ids("qid", qid), qid=qid, doc_id=doc_id)

    def __repr__(self) -> str:
        parts = [
            f"{n} {one if n == 1 else many}"
            for n, one, many in (
                (len(self.group), "query", "queries"),
                (len(self.y), "document", "documents"),
                (self.X.shape[1], "feature", "features"),
            )
        ]
        return f"RankingData({', '.join(parts)})"

    @property
    def _meanings(self) -> tuple[Any, ...]:
        """What the numbers in `X` stand for."""
        return tuple(self.names), tuple(self.categorical), dict(self.categories)

    def _rows(self, rows: Integers) -> Self:
        doc_id = None if self.doc_id is None else self.doc_id[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], qid=self.qid[rows], doc_id=doc_id)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return several data sets as one.

        Parameters
        ----------
        parts : sequence of RankingData
            At least one, with equally many features and no query id in common.

        Returns
        -------
        RankingData
            The queries of all parts, in order.

        Raises
        ------
        ValueError
            For no parts, different numbers of features, other names or categories of them, or a
            query id in two parts.

        Examples
        --------
        >>> from boostrank.datasets import RankingData, make_ranking
        >>> data = make_ranking(6, 4, seed=0)
        >>> RankingData.concat(data.split(3, seed=0))
        RankingData(6 queries, 24 documents, 50 features)
        """
        if len(parts) == 0:
            raise ValueError("parts must hold at least one RankingData, got none")
        widths = [part.X.shape[1] for part in parts]
        if len(set(widths)) > 1:
            raise ValueError(
                f"parts must have equally many features, got {', '.join(map(str, widths))}; "
                "load_letor and load_letor_parts give the files of one data set the same number"
            )
        if any(part._meanings != parts[0]._meanings for part in parts):
            raise ValueError(
                "parts must have the same names of features, and categories with the same numbers: "
                "make one data set of all their rows, and select from it"
            )
        of_parts = join_ids([np.unique(part.qid) for part in parts])
        ids, counts = np.unique(check_ids("qid", of_parts, len(of_parts)), return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"parts must have no query in common, but query {ids[counts > 1][0]} is in "
                f"{counts[counts > 1][0]} of them ({(counts > 1).sum()} such); "
                "renumber qid if they are different queries"
            )
        doc_ids = [part.doc_id for part in parts if part.doc_id is not None]
        return replace(
            parts[0],
            doc_id=join_ids(doc_ids) if len(doc_ids) == len(parts) else None,
            X=np.concatenate([part.X for part in parts]),
            y=np.concatenate([part.y for part in parts]),
            qid=join_ids([part.qid for part in parts]),
        )

    def select(self, query_indices: Any) -> Self:
        """Return whole queries, chosen by position.

        Parameters
        ----------
        query_indices : array_like of integers (n_selected,)
            Positions of queries, 0..n_queries - 1, each at most once, in the order wanted.

        Returns
        -------
        RankingData

        Raises
        ------
        TypeError, ValueError
            For positions that are not integers, out of range or repeated, or for none at all.

        Examples
        --------
        >>> from boostrank.datasets import RankingData
        >>> data = RankingData(X=[[1], [2], [3]], y=[2, 0, 1], qid=[7, 7, 8])
        >>> data.select([1, 0]).qid.tolist()
        [8, 7, 7]
        """
        indices = check_whole("query_indices", query_indices, 0)
        if len(indices) == 0:
            raise ValueError("query_indices must hold at least one position, got none")
        if indices.max() >= len(self.group):
            raise ValueError(
                f"query_indices must lie in 0..{len(self.group) - 1}, got {indices.max()}"
            )
        if len(np.unique(indices)) < len(indices):
            raise ValueError("query_indices must name each query at most once, got a repeated one")
        ends = np.cumsum(self.group)
        starts = ends - self.group
        return self._rows(np.concatenate([np.arange(starts[i], ends[i]) for i in indices]))

    def split(self, n_parts: int, seed: int) -> list[Self]:
        """Split the queries at random into parts of equal size.

        Parameters
        ----------
        n_parts : int
            Number of parts, at least 1 and at most the number of queries.
        seed : int
            Equal seeds give equal parts.

        Returns
        -------
        list of RankingData
            Their numbers of queries differ by at most one; within a part, queries keep their order.

        Raises
        ------
        TypeError, ValueError
            For an argument of the wrong type or out of range.

        Examples
        --------
        >>> from boostrank.datasets import make_ranking
        >>> [len(part.group) for part in make_ranking(7, 4, seed=0).split(3, seed=0)]
        [3, 2, 2]
        """
        n_queries = len(self.group)
        if check_count("n_parts", n_parts) > n_queries:
            raise ValueError(
                f"n_parts must be at most the number of queries, {n_queries}, got {n_parts}"
            )
        order = np.random.default_rng(check_seed(seed)).permutation(n_queries)
        return [self.select(np.sort(order[part::n_parts])) for part in range(n_parts)]

    def shuffle_within_queries(self, seed: int) -> Self:
        """Return the same queries with the documents of each in random order.

        Published files often list documents by the score of a good ranker (OHSUMED by BM25).
        Metrics that break ties by file order then flatter any model with tied scores, so shuffle
        before training and evaluating.

        Parameters
        ----------
        seed : int
            Equal seeds give equal orders.

        Returns
        -------
        RankingData

        Raises
        ------
        TypeError, ValueError
            For a seed that is not a whole number, or is negative.

        Examples
        --------
        >>> from boostrank.datasets import RankingData
        >>> data = RankingData(X=[[1], [2], [3], [4]], y=[2, 0, 1, 0], qid=[7, 7, 7, 8])
        >>> data.shuffle_within_queries(seed=0).X.ravel().tolist()
        [2.0, 3.0, 1.0, 4.0]
        """
        keys = np.random.default_rng(check_seed(seed)).permutation(len(self.y))
        query = np.repeat(np.arange(len(self.group)), self.group)
        return self._rows(np.lexsort((keys, query)))
