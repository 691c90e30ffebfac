r"""Sums over the pairs within a block, each pair taken once.

The documents of a block are sorted by ascending LEVEL (`columns.pack`, `parts`), so the documents
better than a given one come after the last of its own level. Loops need not test which document of
a pair is better. With E_i = e^{rate (s_i - s_top)},

    1/(1 + e^{rate (s_i - s_j)}) = E_j / (E_i + E_j):

one division per pair, and no exponential.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .columns import (
    BEGIN,
    COUNTS,
    CURVATURE,
    DECAY,
    FACTORIZABLE,
    LEVEL,
    OWN,
    PULL,
    SCORE,
    SIZE,
    TOTAL,
    WORTH,
    Columns,
    Rules,
    new_columns,
)
from .jit import Function, bind, jit_helper
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
    counts: float


def pair_loop(of_pair: Function) -> Compiled:
    """Return a compiled function that sums over the pairs within blocks.

    Parameters
    ----------
    of_pair : function
        ``of_pair(p, worse, better) -> (pull, bend)`` for two documents, of which `better` has the
        higher level. Finite for any two documents.

    Returns
    -------
    ``near(first, last, p, w)``
        For the blocks first to last - 1, writes sums over their pairs of different level: of the
        pulls into PULL, added for the better document and subtracted for the worse one, of the
        bends into CURVATURE, and of all pulls of a block into TOTAL.
    """
    of_two = jit_helper(of_pair)

    @jit_helper
    def document(i: Any, w: Columns) -> Document:
        """Return the document of column i."""
        real = w.real
        return Document(
            real[DECAY, i], real[SCORE, i], real[WORTH, i], real[OWN, i], real[COUNTS, i]
        )

    @jit_helper
    def by_ratios(begin: int, end: int, last: int, p: Rules, w: Columns) -> float:
        """Sum over the pairs of columns begin to end - 1; those to last - 1 are padding."""
        decays, scores, worths, owns = w.real[DECAY], w.real[SCORE], w.real[WORTH], w.real[OWN]
        levels, counts = w.real[LEVEL], w.real[COUNTS]
        pulls, bends = w.real[PULL], w.real[CURVATURE]
        first, final, stop = np.uint64(begin), np.uint64(end - 1), np.uint64(last)
        one, two, three, lanes = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(LANES)
        better = first
        total = 0.0
        # Four documents at once, so that what their partners receive is written once.
        for group in range(np.uint64((end - begin + 3) // 4)):
            i = first + group * np.uint64(4)
            while better <= final and levels[better] <= levels[i]:
                better += one
            if better > final:
                break
            # Past the end, the last document is repeated: none is better, so it adds nothing.
            i_b, i_c, i_d = min(i + one, final), min(i + two, final), min(i + three, final)
            a, b, c, d = document(i, w), document(i_b, w), document(i_c, w), document(i_d, w)
            of_a, of_b, of_c, of_d = levels[i], levels[i_b], levels[i_c], levels[i_d]
            pull_a, pull_b, pull_c, pull_d = 0.0, 0.0, 0.0, 0.0
            bend_a, bend_b, bend_c, bend_d = 0.0, 0.0, 0.0, 0.0
            for j in range(first + (better - first) // lanes * lanes, stop):
                other = Document(decays[j], scores[j], worths[j], owns[j], counts[j])
                level = levels[j]
                pa, ba = of_two(p, a, other)
                pb, bb = of_two(p, b, other)
                pc, bc = of_two(p, c, other)
                pd, bd = of_two(p, d, other)
                pa, ba = (pa, ba) if level > of_a else (0.0, 0.0)
                pb, bb = (pb, bb) if level > of_b else (0.0, 0.0)
                pc, bc = (pc, bc) if level > of_c else (0.0, 0.0)
                pd, bd = (pd, bd) if level > of_d else (0.0, 0.0)
                pull_a += pa
                pull_b += pb
                pull_c += pc
                pull_d += pd
                bend_a += ba
                bend_b += bb
                bend_c += bc
                bend_d += bd
                pulls[j] += (pa + pb) + (pc + pd)
                bends[j] += (ba + bb) + (bc + bd)
            pulls[i] -= pull_a
            pulls[i_b] -= pull_b
            pulls[i_c] -= pull_c
            pulls[i_d] -= pull_d
            bends[i] += bend_a
            bends[i_b] += bend_b
            bends[i_c] += bend_c
            bends[i_d] += bend_d
            total += (pull_a + pull_b) + (pull_c + pull_d)
        return total

    @jit_helper
    def one_by_one(begin: int, end: int, p: Rules, w: Columns) -> float:
        """Do what `by_ratios` does where ratios are not accurate: exponentials for each pair."""
        total = 0.0
        for i in range(begin, end):
            for j in range(i + 1, end):
                if w.real[LEVEL, j] <= w.real[LEVEL, i]:
                    continue
                worse, better = document(i, w), document(j, w)
                x = p.rate * (worse.score - better.score)
                lower, upper = math.exp(min(x, 0.0)), math.exp(min(-x, 0.0))
                pull, bend = of_two(
                    p,
                    Document(lower, worse.score, worse.worth, worse.own, worse.counts),
                    Document(upper, better.score, better.worth, better.own, better.counts),
                )
                total += pull
                w.real[PULL, i] -= pull
                w.real[PULL, j] += pull
                w.real[CURVATURE, i] += bend
                w.real[CURVATURE, j] += bend
        return total

    # Numba never finds a closure again on disk.
    near = bind(_near, by_ratios=by_ratios, one_by_one=one_by_one)
    near.__qualname__ = f"near.{of_pair.__module__}.{of_pair.__qualname__}"
    near.__module__ = of_pair.__module__
    return Compiled(near, *NEAR)


by_ratios: Any = None  # bound in `pair_loop`
one_by_one: Any = None


def _near(first: int, last: int, p: Rules, w: Columns) -> None:
    for m in range(first, last):
        begin, end = w.whole[BEGIN, m], w.whole[BEGIN, m] + w.whole[SIZE, m]
        stop = begin + padded(end - begin)
        for j in range(np.uint64(begin), np.uint64(stop)):
            w.real[PULL, j], w.real[CURVATURE, j] = 0.0, 0.0
        if w.whole[FACTORIZABLE, m] != 0:
            w.real[TOTAL, m] = by_ratios(begin, end, stop, p, w)
        else:
            w.real[TOTAL, m] = one_by_one(begin, end, p, w)
