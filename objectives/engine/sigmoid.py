"""The loop over queries of all sigmoid losses, compiled once for all of them.

What is a loss's own comes in as pointers to its functions: its pairs (`pairs.pair_loop`), and what
is done before and after the sums over pairs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..validation import Floats, Integers
from .columns import (
    BEGIN,
    CURVATURE,
    DOCUMENT,
    PULL,
    RANK,
    SIZE,
    Batch,
    Columns,
    Rules,
    batch_end,
    new_columns,
    pack,
    write_decays,
)
from .curvature import CONSTANT, HESSIAN_FLOOR, LOSS
from .driver import Kernel
from .far_field import Fit, Room, constant, fit_of, new_room
from .jit import Function
from .pairs import NEAR
from .parts import add_parts, most_parts
from .pointers import Compiled
from .threads import over_queries
from .vector import strided

#: The arguments of a step: rules, batch, columns.
STEP = Rules(), Batch(0, 0, False), new_columns(0)
NO_FIT = fit_of(*[lambda relation, side: [constant(0.0)]] * 2)


def step(function: Function) -> Compiled:
    """Compile what a loss does for a batch before or after its sums: ``(p, batch, w)``."""
    return Compiled(function, *STEP)


@step
def nothing(p: Rules, batch: Batch, w: Columns) -> None:
    """Do nothing."""


def no_pairs_(first: int, last: int, p: Rules, w: Columns) -> None:
    """Do nothing."""


no_pairs = Compiled(no_pairs_, *NEAR)


def no_parts_(near: Function, p: Rules, fit: Fit, n: int, w: Columns, v: Columns, r: Room) -> None:
    """Do nothing."""


NO_ROOM = new_room(0, 0, 0, 0)
PARTS = NEAR, Rules(), NO_FIT, 0, new_columns(0), new_columns(0), NO_ROOM
no_parts, parts = Compiled(no_parts_, *PARTS), Compiled(add_parts, *PARTS)


def sigmoid_loss(
    first: int,
    last: int,
    boundaries: Integers,
    far: Function,
    near_ranks: Function,
    prepare: Function,
    near: Function,
    finish: Function,
    p: Rules,
    rank_fit: Fit,
    fit: Fit,
    w: Columns,
    v: Columns,
    room: Room,
    scores: Floats,
    labels: Floats,
    hessian: int,
    grad: Floats,
    hess: Floats,
) -> None:
    """Write derivatives, or in place of the Hessian each document's share of the loss."""
    least = 0.0 if hessian == LOSS else HESSIAN_FLOOR
    start = first
    while start < last:
        stop = batch_end(start, last, boundaries)
        grad[boundaries[start] : boundaries[stop]] = 0.0
        hess[boundaries[start] : boundaries[stop]] = 1.0 if hessian == CONSTANT else least
        batch = pack(start, stop, boundaries, scores, labels, p, w)
        if not batch.long:
            write_decays(batch.blocks, batch.columns, p.rate, w)
        for ranked in range(0 if p.ranked else 1, 2):
            if ranked:
                prepare(p, batch, w)
            pairs = near if ranked else near_ranks
            if batch.long:
                far(pairs, p, fit if ranked else rank_fit, w.whole[SIZE, 0], w, v, room)
            else:
                pairs(0, batch.blocks, p, w)
            for i in range(np.uint64(0 if ranked else strided(batch.columns))):
                w.real[RANK, i] = 1.0 + (w.real[PULL, i] + w.real[CURVATURE, i])
        finish(p, batch, w)
        for m in range(batch.blocks):
            begin = np.uint64(w.whole[BEGIN, m])
            for column in range(begin, begin + np.uint64(w.whole[SIZE, m])):
                row = np.uint64(w.whole[DOCUMENT, column])
                grad[row] = p.grad_factor * w.real[PULL, column]
                if hessian == LOSS:
                    hess[row] = w.real[CURVATURE, column]
                elif hessian != CONSTANT:
                    hess[row] = max(p.hess_factor * w.real[CURVATURE, column], HESSIAN_FLOOR)
        start = stop


_integers, _floats = np.zeros(1, np.int64), np.zeros(1)
run = Compiled(
    sigmoid_loss, 0, 0, _integers, PARTS, NEAR, STEP, NEAR, STEP, Rules(), NO_FIT, NO_FIT,
    new_columns(0), new_columns(0), NO_ROOM, _floats, _floats, 0, _floats, _floats, entry=True,
)  # fmt: skip


class Sums(NamedTuple):
    """What a loss sums over pairs, and what it does around that.

    Attributes
    ----------
    near : compiled function
        Its pairs, from `pair_loop`.
    fit : Fit, or a function ``fit(p) -> Fit``
        The same pairs as sums of exponentials.
    near_ranks, rank_fit : optional
        The same for smooth ranks, if `Rules.ranked`: 1 + PULL + CURVATURE is the rank.
    prepare, finish : compiled functions
        What is done before the sums over pairs, and after.
    """

    near: Compiled = no_pairs
    fit: Fit | Callable[[Rules], Fit] = NO_FIT
    near_ranks: Compiled = no_pairs
    rank_fit: Fit = NO_FIT
    prepare: Compiled = nothing
    finish: Compiled = nothing

    def over(self, p: Rules, boundaries: Integers, *args: Any) -> None:
        """Run over all queries; `args` are what `run` takes after its scratch."""
        longest = int(np.diff(boundaries).max(initial=0))
        own = [each.compiled() for each in (self.near_ranks, self.prepare, self.near, self.finish)]
        fits = self.rank_fit, self.fit if isinstance(self.fit, Fit) else self.fit(p)
        compiled = run.compiled()
        long = longest > p.tuning.direct
        far = (parts if long else no_parts).compiled()
        spare: list[tuple[Columns, Columns, Room]] = []  # later chunks use it: new memory is slow

        def run_all(first: int, last: int, boundaries: Integers, *args: Any) -> None:
            try:
                w, v, room = spare.pop()
            except IndexError:
                w = v = new_columns(longest, far=False)
                room = NO_ROOM
                if long:
                    v = new_columns(longest)
                    channels, terms = (max(each.numbers.shape[k] for each in fits) for k in (4, 5))
                    room = new_room(most_parts(p.tuning), 2 * channels, terms - 1, p.tuning.block)
            compiled(first, last, boundaries, far, *own, p, *fits, w, v, room, *args)
            spare.append((w, v, room))

        over_queries(run_all, boundaries, *args)


def sigmoid_kernel(of_derivatives: Sums, of_losses: Sums) -> Kernel:
    """Make the kernel of a sigmoid loss; the losses are each document's share in CURVATURE."""

    def derivatives(
        boundaries: Integers, scores: Floats, labels: Floats, p: Rules, hessian: int, *out: Floats
    ) -> None:
        sums = of_losses if hessian == LOSS else of_derivatives
        sums.over(p, boundaries, scores, labels, hessian, *out)

    return Kernel(Rules, derivatives)
