"""Compiles kernels ahead of the first training, for images and continuous integration."""

from collections.abc import Iterable

import numpy as np

from boostrank.choice import settings_of
from boostrank.metrics import evaluate
from boostrank.objectives import Mix, Objective, Preferences
from boostrank.objectives.composite import Composite
from boostrank.objectives.engine.cache import KernelCache
from boostrank.objectives.engine.columns import MANY_TERMS
from boostrank.objectives.validation import check_count
from boostrank.registry import make_objective, objective_names

# Documents; from the second number on, all objectives are computed as for long lists.
SHORT, LONG = 20, MANY_TERMS.direct + 1


def compile(
    objectives: str | Objective | Iterable[str | Objective] | None = None,
    *,
    max_docs: int | None = None,
) -> None:
    """Compile kernels and keep them on disk, so that no training has to wait for them.

    Numba keeps machine code in ``__pycache__`` folders of the installed package, or in the folder
    that the environment variable ``NUMBA_CACHE_DIR`` names. It is valid for one version of
    boostrank and Numba and one kind of processor. Nothing is compiled that is there already.

    Parameters
    ----------
    objectives : str, Objective, or several of them, optional
        Names, with default parameters, or objects. Default: all objectives. "auto" stands for all
        settings of `Blend`, and what needs the rows of training, such as `Unbiased`, for what it
        goes around.
    max_docs : int, optional
        The longest query that will be trained on, at least 1. Longer ones take code of their own.
        Default: any length.

    Raises
    ------
    ValueError
        For an unknown name (naming the nearest known one), or if `max_docs` is not positive.
    TypeError
        If `max_docs` is not an integer.
    OSError
        If no folder can be written.

    Examples
    --------
    >>> import boostrank
    >>> boostrank.compile("query-rmse", max_docs=200)
    """
    try:
        KernelCache(compile, "").folder()
    except OSError:
        raise OSError(
            "no folder for machine code can be written: that of NUMBA_CACHE_DIR, the installed "
            "package, the user's cache; let NUMBA_CACHE_DIR name one, here and in training"
        ) from None
    if objectives is None:
        objectives = objective_names()
    elif isinstance(objectives, str) or not isinstance(objectives, Iterable):
        objectives = [objectives]
    made = [
        each if isinstance(each, Objective) else make_objective(each, {}, rounds=2)
        for each in objectives
    ]
    longest = LONG if max_docs is None else min(check_count("max_docs", max_docs), LONG)
    settings = [alone for each in made for alone in _alone(each)]
    for group in ([SHORT], [SHORT, longest]):  # without a long query there is code of its own too
        labels = np.arange(sum(group), dtype=np.float32) % 2.0
        scores = np.linspace(-1.0, 1.0, len(labels))
        for objective in settings:
            objective.loss(scores, labels, group, round=1)
            for host_scores in (scores, scores.astype(np.float32)):  # LightGBM's and XGBoost's
                for weight in (None, np.ones(len(labels), np.float32)):
                    objective(labels, host_scores, weight, group)
        evaluate(scores, labels, group)


def _alone(objective: Objective) -> list[Objective]:
    """Return objectives without rows of training that have all of the objective's kernels."""
    if isinstance(objective, Preferences):
        return [objective.replace(pairs=[(1, 0)])]
    if not isinstance(objective, Composite) or not (objective.outermost or objective.of_rows):
        return settings_of(objective)
    children = [_alone(child) for child in objective.children().values()]
    sums = [Mix(children[0][0], children[1][0], 0.5)] if len(children) > 1 else []
    return [*(alone for inside in children for alone in inside), *sums]
