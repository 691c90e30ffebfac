"""What a boosting round is made of: its losses, each on its own labels, and what it looks at."""

import copy
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from .validation import Floats, Integers

if TYPE_CHECKING:
    from .base import Objective

T = TypeVar("T")


class Part(NamedTuple):
    """One loss of a round.

    Attributes
    ----------
    weight : float
        Its weight in the sum, (18).
    objective : Objective
        As it is in this round, without children.
    labels : float64 array (n_docs,)
    """

    weight: float
    objective: "Objective"
    labels: Floats


class Subset(NamedTuple):
    """Some rows of a data set.

    Attributes
    ----------
    rows : int64 array (n_docs,)
    group : integer array (n_queries,)
        Sizes of the queries of the whole data set.
    n_docs : int
        Rows of the whole data set.
    """

    rows: Integers
    group: Integers
    n_docs: int


class View:
    """The documents of a round, all that there are; a training knows more about them.

    Parameters
    ----------
    scores, labels : float64 arrays (n_docs,)
    boundaries : int64 array (n_queries + 1,)
    weight : float64 array (n_docs,), optional
        Default: all equal.
    """

    def __init__(
        self, scores: Floats, labels: Floats, boundaries: Integers, weight: Floats | None = None
    ) -> None:
        self.scores, self.labels, self.boundaries = scores, labels, boundaries
        self.weight = weight

    def with_labels(self, labels: Floats) -> Self:
        """Return a view of the same documents with other labels."""
        other = copy.copy(self)
        other.labels = labels
        return other

    def subset(self, who: str, what: str) -> Subset | None:
        """Return which rows of a larger data set the documents are; None: they are all there are.

        Parameters
        ----------
        who, what : str
            For the error where that is not known: who asks, and what it has for each row.
        """
        return None

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what `find` returns; a training calls it once for each key."""
        return find()
