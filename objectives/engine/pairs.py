r"""Sums over the pairs within a block, each pair taken once.

The documents of a block are sorted by ascending LEVEL (`columns.pack`, `parts`), so the documents
worse than a given one come before the first of its own level. Loops need not test which document of
a pair is better. The better one visits the other: most documents have a low grade, so there are
fewer loops. With E_i = e^{rate (s_i - s_top)},

    1/(1 + e^{rate (s_i - s_j)}) = E_j / (E_i + E_j):

one division per pair, and no exponential.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BEGIN,
    COUNTS,
    CURVATURE,
    DECAY,
    FACTORIZABLE,
    KEY,
    LEVEL,
    OWN,
    POWER,
    PULL,
    SCORE,
    SIZE,
    TOTAL,
    WORTH,
    Columns,
    Rules,
    new_columns,
)
from .jit import Function, bind, jit_disjoint, jit_helper
from .pointers import Compiled
from .vector import LANES, padded

#: The arguments of the compiled functions: first block, last block, rules and columns.
NEAR = 0, 0, Rules(), new_columns(0)


class Document(NamedTuple):
    """One document of a pair: the numbers of one column."""

    decay: float  # DECAY, or e^{rate s} over that of any other score
    score: float
    worth: float
    own: float


def pair_loop(of_pair: Function, *, few: bool = False, one_sum: bool = False) -> Compiled:
    """Return a compiled function that sums over the pairs within blocks.

    Parameters
    ----------
    of_pair : function
        ``of_pair(p, worse, better) -> (pull, bend)`` for two documents, of which `better` has the
        higher level. Finite for any two documents.
    few : bool, default False
        Whether pairs add something only with a document whose COUNTS is 1, and these are few.
    one_sum : bool, default False
        Whether the bend of every pair is its pull, so that its sums need not be kept. Not with
        `few`, whose other documents receive a pull of the other sign.

    Returns
    -------
    ``near(first, last, p, w)``
        For the blocks first to last - 1, writes sums over their pairs of different level: of the
        pulls into PULL, added for the better document and subtracted for the worse one, of the
        bends into CURVATURE, and of all pulls of a block into TOTAL.
    """
    label = "few" * few + "one_sum" * one_sum
    own = {"of_two": jit_helper(of_pair), "few": few, "one_sum": one_sum}
    loop = jit_disjoint(bind(add_blocks, (of_pair,), label, **own), in_order=False)
    slow = jit_helper(bind(one_by_one, (of_pair,), label, **own))
    return Compiled(bind(_near, (of_pair,), label, by_ratios=loop, by_pairs=slow), *NEAR)


# Bound in `pair_loop`. Closures would not be found on disk, and those of two losses have one name
# in machine code: a process that loads both uses one of the two for both.
of_two: Any = None
few: Any = None
one_sum: Any = None
by_ratios: Any = None
by_pairs: Any = None


def add_blocks(
    first: int,
    last: int,
    p: Rules,
    begins: Integers,
    sizes: Integers,
    factorizable: Integers,
    decays: Floats,
    scores: Floats,
    worths: Floats,
    owns: Floats,
    levels: Floats,
    counts: Floats,
    pulls: Floats,
    bends: Floats,
    totals: Floats,
    better_pulls: Floats,
    better_bends: Floats,
) -> None:
    """Sum over the pairs of each block by ratios of decays, where these are accurate."""
    one, lanes = np.uint64(1), np.uint64(LANES)
    for m in range(np.uint64(first), np.uint64(last)):
        begin, n = np.uint64(begins[m]), np.uint64(sizes[m])
        end, stop = begin + n, begin + np.uint64(padded(sizes[m]))
        for j in range(begin, stop):
            pulls[j], bends[j], better_pulls[j], better_bends[j] = 0.0, 0.0, 0.0, 0.0
        others = 0
        for j in range(begin, end if few else begin):
            others += 1 if counts[j] == 0.0 else 0
        worse = better = begin
        total = 0.0
        for i in range(begin, end if factorizable[m] != 0 else begin):
            if few and counts[i] == 0.0:
                continue
            level = levels[i]
            while levels[worse] < level:
                worse += one
            own = Document(decays[i], scores[i], worths[i], owns[i])
            pull, bend = 0.0, 0.0
            for j in range(begin, begin + (worse - begin + lanes - one) // lanes * lanes):
                other = Document(decays[j], scores[j], worths[j], owns[j])
                x, y = of_two(p, other, own)
                x, y = (x, y) if j < worse else (0.0, 0.0)
                pull += x
                pulls[j] -= x
                if not one_sum:
                    bend += y
                    bends[j] += y
            total += pull
            if few and others > 0:  # the better documents that do not come here themselves
                while better < end and levels[better] <= level:
                    better += one
                lost = 0.0
                for j in range(begin + (better - begin) // lanes * lanes, stop):
                    other = Document(decays[j], scores[j], worths[j], owns[j])
                    x, y = of_two(p, own, other)
                    counted = levels[j] > level and counts[j] == 0.0
                    x, y = (x, y) if counted else (0.0, 0.0)
                    lost += x
                    bend += y
                    pulls[j] += x
                    bends[j] += y
                total += lost
                pull -= lost
            # A vector that held a number just written would have to wait for it.
            better_pulls[i], better_bends[i] = pull, bend
        for j in range(begin, stop):
            bends[j] += better_pulls[j] - pulls[j] if one_sum else better_bends[j]
            pulls[j] += better_pulls[j]
        totals[m] = total


def one_by_one(begin: int, end: int, p: Rules, w: Columns) -> float:
    """Do what `by_ratios` does where ratios are not accurate: exponentials for each pair."""
    scores, worths, owns = w.real[SCORE], w.real[WORTH], w.real[OWN]
    total = 0.0
    for i in range(begin, end):
        for j in range(i + 1, end):
            counted = not few or w.real[COUNTS, i] + w.real[COUNTS, j] > 0.0
            if not counted or w.real[LEVEL, j] == w.real[LEVEL, i]:
                continue
            x = p.rate * (scores[i] - scores[j])
            worse = Document(math.exp(min(x, 0.0)), scores[i], worths[i], owns[i])
            better = Document(math.exp(min(-x, 0.0)), scores[j], worths[j], owns[j])
            pull, bend = of_two(p, worse, better)
            total += pull
            w.real[PULL, i] -= pull
            w.real[PULL, j] += pull
            w.real[CURVATURE, i] += bend
            w.real[CURVATURE, j] += bend
    return total


def _near(first: int, last: int, p: Rules, w: Columns) -> None:
    real, whole = w.real, w.whole
    by_ratios(
        first, last, p, whole[BEGIN], whole[SIZE], whole[FACTORIZABLE], real[DECAY], real[SCORE],
        real[WORTH], real[OWN], real[LEVEL], real[COUNTS], real[PULL], real[CURVATURE], real[TOTAL],
        real[KEY], real[POWER],  # free by now
    )  # fmt: skip
    for m in range(first, last):
        if whole[FACTORIZABLE, m] == 0:
            begin = whole[BEGIN, m]
            real[TOTAL, m] = by_pairs(begin, begin + whole[SIZE, m], p, w)
