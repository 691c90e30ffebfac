"""What boosters hand over, in the form that kernels take: checked while it is copied.

None is returned for data that are not a booster's or are refused: `validation` then says what is
wrong.
"""

import sys
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from ..validation import Floats
from .jit import jit_entry
from .memory import MEMORY
from .threads import BLOCK, over_documents

_LARGEST = sys.float_info.max
_NO_COPY = np.empty(0)


def copied(scores: Any, labels: Any, least: float, most: float) -> tuple[Floats, Floats] | None:
    """Return scores and labels as float64, in one pass over what boosters hand over.

    Parameters
    ----------
    scores, labels : object
    least, most : float
        Bounds of the labels.

    Returns
    -------
    scores, labels : float64 arrays (n_docs,), or None
        Scores that are float64 already are returned as they are.
    """
    if not (_plain(scores, "fd") and _plain(labels, "f") and scores.shape == labels.shape):
        return None
    n_docs = len(scores)
    own = MEMORY.take("scores", (n_docs,)) if scores.dtype == np.float32 else _NO_COPY
    copy = MEMORY.take("labels", (n_docs,))
    (refused,) = over_documents(_copy, n_docs, scores, labels, least, most, own, copy)
    if refused:
        return None
    return own if scores.dtype == np.float32 else scores, copy


def _plain(array: Any, types: str) -> TypeGuard[npt.NDArray[Any]]:
    """Return whether kernels take an array's memory as it is."""
    return (
        type(array) is np.ndarray
        and array.ndim == 1
        and array.dtype.char in types
        and array.dtype.isnative
        and array.flags.carray
    )


@jit_entry
def _copy(
    first: int,
    last: int,
    n_docs: int,
    scores: npt.NDArray[np.floating],
    labels: npt.NDArray[np.float32],
    least: float,
    most: float,
    own_scores: Floats,
    own_labels: Floats,
    refused: Floats,
) -> None:
    """Copy labels, and scores if there is room for them; count the documents that are refused."""
    for block in range(first, last):
        rows = slice(block * BLOCK, min(n_docs, (block + 1) * BLOCK))
        score, label, own_label = scores[rows], labels[rows], own_labels[rows]
        bad = 0
        for i in range(len(label)):
            own_label[i] = label[i]
            bad += 0 if abs(score[i]) <= _LARGEST and least <= label[i] <= most else 1  # NaN too
        if len(own_scores) > 0:
            own_score = own_scores[rows]
            for i in range(len(score)):
                own_score[i] = score[i]
        refused[block, 0] = bad
