"""Pairs of documents, one preferred to the other, as `Preferences` takes them."""

from typing import Any, NamedTuple

import numpy as np

from .validation import Floats, Integers, check_unmasked, check_vector, check_whole

COLUMNS = ("winner", "loser", "weight", "margin")


class Known(NamedTuple):
    """What is known about the queries of the last call."""

    boundaries: Integers
    first: Integers


class Pairs:
    """Rows (winner, loser, weight, margin), sorted by winner.

    Compared by value and hashable; the order in which the pairs were given makes no difference.

    Attributes
    ----------
    winner, loser : int64 arrays (n_pairs,)
        Rows of the documents.
    weight : float64 array (n_pairs,)
    margin : float64 array (n_pairs,) or (0,)
        Empty if none were given.
    row : int64 array (n_pairs,)
        Where each pair was in the input.
    """

    def __init__(self, values: Any) -> None:
        given = _columns(values)
        n = len(given["winner"])
        if n == 0:
            raise ValueError("pairs must have at least one row, got none")
        winner, loser = (check_whole(f"{name} of pairs", given[name], 0) for name in COLUMNS[:2])
        same = winner == loser
        if same.any():
            row = int(np.argmax(same))
            raise ValueError(
                f"row {row} of pairs prefers the document at row {winner[row]} to itself; winner "
                "and loser must be two documents"
            )
        weight = _amounts("weight", given["weight"]) if "weight" in given else np.ones(n)
        margin = _amounts("margin", given["margin"]) if "margin" in given else np.zeros(0)
        # The order in which pairs are given must not change the bits of sums.
        keys = (weight, loser, winner) if "margin" not in given else (margin, weight, loser, winner)
        self.row: Integers = np.lexsort(keys)
        self.winner: Integers = winner[self.row]
        self.loser: Integers = loser[self.row]
        self.weight: Floats = weight[self.row]
        self.margin: Floats = margin[self.row] if len(margin) else margin
        self._hash: int | None = None
        self._known: Known | None = None

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.winner, self.loser, self.weight, self.margin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and all(map(np.array_equal, self._arrays, other._arrays))

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(hash(array.tobytes()) for array in self._arrays))
        return self._hash

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        return f"<{len(self)} pairs>"

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of bytes differ from process to process.
        return self.__dict__ | {"_hash": None, "_known": None}

    def first(self, boundaries: Integers) -> Integers:
        """Return where the pairs of each document begin, after checking them.

        Parameters
        ----------
        boundaries : int64 array (n_queries + 1,)
            Where each query begins, and n_docs.

        Returns
        -------
        int64 array (n_docs + 1,)
            The first pair that the document, or a later one, wins. The pairs of a query then run
            from its first document's to the next query's.

        Raises
        ------
        ValueError
            For rows that the data does not have, and for pairs across two queries.
        """
        known = self._known
        if known is None or not np.array_equal(known.boundaries, boundaries):
            self.check(np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries)))
            won = np.bincount(self.winner, minlength=boundaries[-1])
            known = Known(boundaries.copy(), np.append(0, np.cumsum(won)))
            self._known = known
        return known.first

    def check(self, query: Any) -> None:
        """Check that the data has the rows and that each pair is of one query.

        Parameters
        ----------
        query : array (n_docs,)
            Number or id of the query of each row.

        Raises
        ------
        ValueError
            If not; the message names the row of the first bad pair in the input.
        """
        n_docs = len(query)
        last = np.maximum(self.winner, self.loser)
        if (last >= n_docs).any():
            row, at = self._first_given(last >= n_docs)
            raise ValueError(
                f"row {row} of pairs names the document at row {last[at]}, but the data has "
                f"{n_docs} rows, from 0; pairs are rows of the very data that is trained on"
            )
        apart = query[self.winner] != query[self.loser]
        if apart.any():
            row, at = self._first_given(apart)
            i, j = self.winner[at], self.loser[at]
            raise ValueError(
                f"row {row} of pairs compares the documents at rows {i} and {j}, of the queries "
                f"{query[i]} and {query[j]}; both must be of one query"
            )

    def _first_given(self, bad: Any) -> tuple[int, int]:
        """Return the row of the first bad pair in the input, and its place here."""
        places = np.flatnonzero(bad)
        at = int(places[np.argmin(self.row[places])])
        return int(self.row[at]), at

    def moved(self, where: Integers) -> "Pairs":
        """Return the pairs as rows of other data, without those whose rows it does not have.

        Parameters
        ----------
        where : int64 array (n_docs,)
            New row of each document, or -1 for none.

        Returns
        -------
        Pairs

        Raises
        ------
        ValueError
            If no pair is left.
        """
        winner, loser = where[self.winner], where[self.loser]
        kept = (winner >= 0) & (loser >= 0)
        if not kept.any():
            raise ValueError(
                f"none of the {len(self)} pairs is of this part of the data: there is nothing to "
                "learn"
            )
        columns = {"winner": winner, "loser": loser, "weight": self.weight}
        if len(self.margin):
            columns["margin"] = self.margin
        return Pairs({name: values[kept] for name, values in columns.items()})

    def in_order(self, order: Integers) -> "Pairs":
        """Return the pairs, already checked, for rows in another order.

        Parameters
        ----------
        order : int64 array (n_docs,)
            Which row comes first, second, ...

        Returns
        -------
        Pairs
        """
        where = np.empty(len(order), dtype=np.int64)
        where[order] = np.arange(len(order))
        return self.moved(where)


def _columns(values: Any) -> dict[str, Any]:
    """Return the columns that were given, by name."""
    expected = (
        "pairs must be rows (winner, loser[, weight[, margin]]): an array (n_pairs, 2), "
        "(n_pairs, 3) or (n_pairs, 4), or a data frame with columns of these names"
    )
    names = getattr(values, "column_names", getattr(values, "columns", None))  # Arrow's, others'
    if names is None and isinstance(values, dict):
        names = values
    if names is not None:
        found = [str(name) for name in names]
        if set(found) - set(COLUMNS) or not {"winner", "loser"} <= set(found):
            raise ValueError(f"{expected}; got columns {', '.join(found) or 'none'}")
        return {name: values[name] for name in found}
    check_unmasked("pairs", values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{expected}; {error}") from None
    if array.size == 0 and array.ndim <= 2:
        array = array.reshape(0, 2)
    if array.ndim != 2 or not 2 <= array.shape[1] <= 4:
        raise ValueError(f"{expected}; got shape {array.shape}")
    return dict(zip(COLUMNS, array.T, strict=False))


def _amounts(name: str, values: Any) -> Floats:
    array = check_vector(name, values).astype(np.float64)
    bad = ~(np.isfinite(array) & (array > 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be positive and finite, got {array[row]:g} at row {row} of pairs"
        )
    return array
