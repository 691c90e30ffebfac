"""The mathematics: ranking losses with their gradients and Hessians, knowing no host.

Installed as ``boostrank.objectives``. One objective is one file, always in the same order:
docstring (source, definition, derivatives, Hessians, degenerate queries, numerics, cost), kernels
of one query or of a batch of short ones, drivers over queries (loss, gradient), public class. The
rooms beside them:

base        the `Objective` class and its `Contract`
schedules   parameters that change with the boosting round
validation  every check of what a caller passes, done once at the boundary
numerics    small kernels that several objectives share
blocks      sums over all pairs of long lists in linear time, for the objectives of sigmoids
bisection   pairs of different grade without a visit to each, for `hinge` and RankBoost
hinge       the hinges on score differences that GBRank and RankSVM share
soft_indicators  the smoothing that SmoothNDCG, SmoothPrecision and SmoothAP share
threads     spreads queries over threads

The drivers have the same parameters in every file, and have to be written out there: a driver that
is handed its kernel as an argument, or made by a factory, is never found again in Numba's disk
cache and is compiled anew in every process.

Vocabulary: a *query* has n documents with scores s and grades y; a document's *gain* is
g = 2^y - 1; its *rank* is its 1-based position under a stable sort by descending score; the
*discount* of rank r is d(r) = 1/log2(1 + r); Z is the ideal DCG. An objective is a loss to
minimise, and gradients are with respect to the raw scores.
"""

if __name__ != "boostrank.objectives":
    raise ImportError(
        "this folder is installed as 'boostrank.objectives'; importing it as "
        f"{__name__!r} would make a second copy. Write 'import boostrank.objectives' "
        "(after 'pip install -e .' in a checkout)."
    )

from . import registry
from .base import Objective
from .contract import Contract, Cost
from .engine.driver import query_kernel
from .mix import Mix
from .registry import *  # noqa: F403
from .schedules import Schedule

#: Classes of all registered objectives.
CLASSES: tuple[type[Objective], ...] = tuple(
    cls for cls in vars(registry).values() if isinstance(cls, type)
)
#: Each of them by its names.
REGISTRY: dict[str, type[Objective]] = {
    name: cls for cls in CLASSES for name in (cls.name, *cls.presets)
}

__all__ = ["REGISTRY", "Contract", "Cost", "Mix", "Objective", "Schedule", "query_kernel"]
__all__ += [cls.__name__ for cls in CLASSES]
