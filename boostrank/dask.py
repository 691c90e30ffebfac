"""Keeps queries whole in Dask's partitions, and refuses partitions that split one.

Both hosts train on the partitions of a Dask collection as they are, and neither knows that a query
continues in the next partition: a query that is split silently becomes two queries.
"""

from typing import Any

import dask
import dask.array
import numpy as np
import numpy.typing as npt
import pandas

_POSITION = "_boostrank_position"


def by_query(frame: Any, qid: str) -> Any:
    """Repartition a data frame so that every query lies in one partition.

    Within partitions the rows are sorted by query; the rows of a query keep their order. The column
    `qid` is read immediately, to spread the documents evenly. The rest is done each time the result
    is computed, or once if you ``.persist()`` it.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Features, label and query of every document, in any order.
    qid : str
        The column that says which query a row belongs to.

    Returns
    -------
    dask.dataframe.DataFrame
        The same rows and columns in at most as many partitions, none of them empty. The index is
        new.

    Raises
    ------
    ValueError
        If there is no such column, if a row has no query, or if there are no rows.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> rows = pandas.DataFrame({"qid": [7, 7, 3, 7, 3], "label": [0, 2, 1, 1, 0]})
    >>> frame = by_query(dask.dataframe.from_pandas(rows, npartitions=2), "qid")
    >>> [part.compute()["label"].tolist() for part in frame.partitions]
    [[1, 0], [0, 2, 1]]
    """
    if qid not in frame.columns:
        raise ValueError(f"qid must name a column of the frame, got {qid!r}")
    sizes = frame[qid].value_counts(dropna=False).compute()
    if isinstance(sizes.index, pandas.CategoricalIndex):
        sizes.index = sizes.index.astype(sizes.index.categories.dtype)
    sizes = sizes.sort_index()
    _check_present(sizes[pandas.isna(sizes.index)].sum())
    if sizes.empty:
        raise ValueError("frame must have at least one row, got none")
    ends = sizes.cumsum().to_numpy()
    shares = ends[-1] * np.arange(frame.npartitions) / frame.npartitions
    first = np.unique(np.searchsorted(ends, shares, side="right"))
    divisions = (*sizes.index[first], sizes.index[-1])
    return (
        frame.map_partitions(_with_positions)
        .set_index(qid, drop=False, divisions=divisions)
        .map_partitions(_sorted, qid)
        .clear_divisions()
    )


def _with_positions(part: Any, partition_info: Any = None) -> Any:
    number = partition_info["number"] if partition_info else 0
    # Dask would not set an index that has the name of the query already.
    part = part.reset_index(drop=True)
    return part.assign(**{_POSITION: np.arange(len(part)) + (number << 40)})


def _sorted(part: Any, qid: str) -> Any:
    part = part.reset_index(drop=True)
    return part.sort_values([qid, _POSITION], ignore_index=True).drop(columns=_POSITION)


def group_sizes(qid: Any) -> Any:
    """Sizes of consecutive queries in every partition, after checking that no query is split.

    `qid` is read immediately.

    Parameters
    ----------
    qid : dask.dataframe.Series or dask.array.Array (n_docs,)
        The query of every document, partitioned like the data that the host gets.

    Returns
    -------
    dask.array.Array (n_queries,)
        int64, one chunk for each partition, as ``DaskLGBMRanker.fit(group=)`` takes it. XGBoost
        takes `qid` itself and checks nothing: call this function only to check it, and pass
        ``qid.to_dask_array()`` on, since XGBoost reads a series as float32.

    Raises
    ------
    ValueError
        If a query is in two partitions or not consecutive in one, or if a row has no query.

    Examples
    --------
    >>> import dask.array
    >>> qid = dask.array.from_array([3, 3, 5, 5, 5, 8], chunks=((2, 4),))
    >>> group_sizes(qid).compute()
    array([2, 3, 1])
    >>> group_sizes(qid.rechunk(3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: query 5 is cut: it is in partitions 0 and 1. ...
    """
    parts = np.asarray(qid.to_delayed()).ravel()
    runs = dask.compute(*(dask.delayed(_runs)(part) for part in parts))
    seen: dict[Any, int] = {}
    for number, (queries, _) in enumerate(runs):
        for query in queries.tolist():
            if query in seen:
                where = f"is cut: it is in partitions {seen[query]} and {number}"
                if seen[query] == number:
                    where = f"is not consecutive in partition {number}"
                raise ValueError(
                    f"query {query!r} {where}. A host would train on its pieces as if they were "
                    "queries; repartition the data frame with boostrank.dask.by_query(frame, qid)"
                )
            seen[query] = number
    sizes = [part for _, part in runs]
    return dask.array.from_array(np.concatenate(sizes), chunks=(tuple(map(len, sizes)),))


def _runs(qid: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the query and the length of every run of equal values."""
    values = np.asarray(qid)
    _check_present(pandas.isna(values).sum())
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: len(values)])
    return values[starts], np.diff(np.r_[starts, len(values)])


def _check_present(n_missing: int) -> None:
    if n_missing:
        raise ValueError(f"qid is missing in {n_missing} rows: drop them or give them a query")
