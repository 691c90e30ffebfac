r"""Sums over the pairs of different worth within a block, each pair taken once.

The documents of a block are sorted by ascending WORTH (`columns.pack`), so the documents better
than a given one come after the last of its own worth. Loops need not test which document of a pair
is better. They skip pairs of equal worth, and less than a third of the ordered pairs are left.
"""

from typing import Any, NamedTuple

import numpy as np

from .columns import CURVATURE, FROM_TOP, OWN, PULL, SCORE, WORTH, Columns
from .jit import Function, bind, jit_helper
from .vector import LANES

# Padding is infinitely far below, and 0 times infinity would be NaN. Scores as low as this have
# accurate ratios only if they are equal.
LOWEST = -1e200


class Document(NamedTuple):
    """One document of a pair: the numbers of one column.

    Except for decay and worth, swapping a number between a pair's documents changes nothing.
    """

    decay: float  # FROM_TOP
    score: float
    worth: float
    own: float
    top: float  # 1 if its pairs count whatever the other document is, else 0


def pairs_by_worth(of_pair: Function) -> Function:
    """Return a compiled function that sums over the pairs of a block.

    Parameters
    ----------
    of_pair : function
        ``of_pair(worse, better) -> (pull, bend)`` for two documents of any columns whose FROM_TOP
        is factorizable; zeros if `better` is not worth more.

    Returns
    -------
    ``add(begin, end, last, w) -> total``
        Writes sums over the pairs of columns begin to end - 1: of the pulls into PULL, added for
        the better document and subtracted for the worse one, and of the bends into CURVATURE.
        Columns end to last - 1 are padding. Returns the sum of all pulls.
    """
    add: Function = jit_helper(bind(_add, of_pair=jit_helper(of_pair)))
    return add


_unbound: Any = None
of_pair = _unbound  # bound above


@jit_helper
def _row(i: np.uint64, w: Columns) -> Document:
    """Return the document of column i."""
    score = max(w.real[SCORE, i], LOWEST)
    return Document(w.real[FROM_TOP, i], score, w.real[WORTH, i], w.real[OWN, i], 1.0)


def _add(begin: int, end: int, last: int, w: Columns) -> float:
    decays, scores, worths, owns = w.real[FROM_TOP], w.real[SCORE], w.real[WORTH], w.real[OWN]
    pulls, curvatures = w.real[PULL], w.real[CURVATURE]
    first, final, stop = np.uint64(begin), np.uint64(end - 1), np.uint64(last)
    one, two, three, lanes = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(LANES)
    for j in range(first, stop):
        pulls[j], curvatures[j] = 0.0, 0.0
    better = first
    total = 0.0
    # Four documents at once, so that what their partners receive is written once.
    for group in range(np.uint64((end - begin + 3) // 4)):
        i = first + group * np.uint64(4)
        while better <= final and worths[better] <= worths[i]:
            better += one
        if better > final:
            break
        # Past the end, the last document is repeated: none is better, so it adds nothing.
        i_b, i_c, i_d = min(i + one, final), min(i + two, final), min(i + three, final)
        a, b, c, d = _row(i, w), _row(i_b, w), _row(i_c, w), _row(i_d, w)
        pull_a, pull_b, pull_c, pull_d = 0.0, 0.0, 0.0, 0.0
        bend_a, bend_b, bend_c, bend_d = 0.0, 0.0, 0.0, 0.0
        for j in range(first + (better - first) // lanes * lanes, stop):
            other = Document(decays[j], max(scores[j], LOWEST), worths[j], owns[j], 1.0)
            of_a, of_b = of_pair(a, other), of_pair(b, other)
            of_c, of_d = of_pair(c, other), of_pair(d, other)
            pull_a += of_a[0]
            pull_b += of_b[0]
            pull_c += of_c[0]
            pull_d += of_d[0]
            bend_a += of_a[1]
            bend_b += of_b[1]
            bend_c += of_c[1]
            bend_d += of_d[1]
            pulls[j] += (of_a[0] + of_b[0]) + (of_c[0] + of_d[0])
            curvatures[j] += (of_a[1] + of_b[1]) + (of_c[1] + of_d[1])
        pulls[i] -= pull_a
        pulls[i_b] -= pull_b
        pulls[i_c] -= pull_c
        pulls[i_d] -= pull_d
        curvatures[i] += bend_a
        curvatures[i_b] += bend_b
        curvatures[i_c] += bend_c
        curvatures[i_d] += bend_d
        total += (pull_a + pull_b) + (pull_c + pull_d)
    return total
