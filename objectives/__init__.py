"""The mathematics: ranking losses with their gradients and Hessians, independent of any host.

Installed as ``boostrank.objectives``. One objective is one file, always in the same order:
docstring (source, definition, derivatives, Hessians, degenerate queries, numerics, cost),
parameters, compiled functions for one query or a batch of short ones, public class. Next to them:

registry     every objective, one line each
base         the `Objective` class
contract     what an objective claims about itself
parameters   fields that carry their own check
schedules    parameters that change with the boosting round
validation   all checks of what a caller passes, done once at the boundary
gains        the parameters `gain` and `discount`
targets      the parameter `target`
mix          two objectives, one fading into the other
composite    what objectives made of others share
view         the losses of a round, and what they look at
several      objectives on several labels, combined into one
unbiased     an objective that learns from clicks
corrections  its three ways to correct them
positions    where documents were shown, and how likely users are to look there
sessions     sessions of clicks, and their pairs
preferences  an objective on given pairs
pairs        the pairs, checked
engine       compiled code that objectives share: loops, sums over pairs, sorting, threads

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
from .preferences import Preferences
from .registry import *  # noqa: F403
from .schedules import Schedule
from .several import Several
from .unbiased import Unbiased

#: Classes of all registered objectives.
CLASSES: tuple[type[Objective], ...] = tuple(
    cls for cls in vars(registry).values() if isinstance(cls, type)
)
#: The same classes by all their names.
REGISTRY: dict[str, type[Objective]] = {
    name: cls for cls in CLASSES for name in (cls.name, *cls.presets)
}

__all__ = ["REGISTRY", "Contract", "Cost", "Mix", "Objective", "Preferences", "Schedule", "Several"]
__all__ += ["Unbiased", "query_kernel"]
__all__ += [cls.__name__ for cls in CLASSES]
