"""From scores to the gradients that a host gets: one function for each step.

Hessians are floored twice here: at the objective's `hessian_share` of their mean before weights, at
`HOST_HESSIAN_FLOOR` of it after. The floors of what `grad_hess` returns are in
``objectives/engine/curvature.py``.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.hosts.clicks import Correction, correction
from boostrank.hosts.collective import failing_together, mean_over_workers
from boostrank.hosts.data import Host, HostData
from boostrank.hosts.ignored import warn_of_grades
from boostrank.hosts.passes import Float32s, active_hessian, spread, to_float32
from boostrank.hosts.preferences import on_rows_trained
from boostrank.hosts.several import labelled_parts
from boostrank.objectives import Objective
from boostrank.objectives.engine.draws import (
    Keys,
    query_keys,
    query_uniforms,
    write_perturbed,
    write_uniforms,
)
from boostrank.objectives.engine.memory import MEMORY
from boostrank.objectives.mix import Parts, on_one_scale
from boostrank.objectives.validation import Floats, Integers, check_weight

# Relative to a mean Hessian of 1. Hosts silently stop splitting, or fail, on Hessians of zero; this
# is small enough to leave every leaf with documents that carry a gradient as it is.
HOST_HESSIAN_FLOOR = 1e-6

# Streams of what a round draws, so that nothing is drawn alike. Draws take all from theirs on.
_SAMPLE, _NOISE, _DRAWS = 0, 1, 2


def hand_over(
    objective: Objective, preds: npt.NDArray[Any], data: HostData, round: int
) -> tuple[Float32s, Float32s]:
    """Gradient and Hessian of a boosting round as a host gets them.

    Parameters
    ----------
    objective : Objective
    preds : array (n_docs,)
        The host's scores.
    data : HostData
    round : int

    Returns
    -------
    grad, hess : float32 arrays (n_docs,)

    Raises
    ------
    TypeError, ValueError
        For scores, labels, queries and weights that are refused; for gradients that are not finite.
    """
    if round == (objective.start_round or 1):
        warn_of_grades(data.labels, objective)
    with failing_together(data.host):
        corrected = correction(objective, data.host, np.size(preds), data.position)
        parts, derivatives, keys = _evaluated(objective, preds, data, round, corrected)
    means = _mean_hessians(data.host, derivatives)
    share = parts[0][1].hessian_share
    grad, hess = derivatives[0]
    mean = means[0]
    if len(parts) > 1:
        grad, hess = on_one_scale(parts, derivatives, means, rescale=objective.rescale)
        (mean,) = _mean_hessians(data.host, derivatives[:1])
        share = 0.0
    if corrected is not None:
        corrected.learn(grad, hess, mean)
    # The mean Hessian that the host gets.
    scale = 1.0 if objective.rescale else mean
    with failing_together(data.host):
        weight = _document_weight(data, len(grad))
        floors = share * scale, HOST_HESSIAN_FLOOR * scale
        grad32, hess32, row = to_float32(grad, hess, mean / scale, weight, *floors)
        if row < 0 and mean / scale == np.inf and len(hess):  # no gradient would be left
            row = int(np.argmax(hess))
        if row >= 0:
            raise objective._gradient_not_finite(row, np.append(0, np.cumsum(data.group)))
    MEMORY.give_back("derivatives", derivatives)
    if objective.query_fraction < 1.0:
        left_out = np.repeat(_left_out(objective, keys, data.host), data.group)
        grad32[left_out] = 0.0
        hess32[left_out] = HOST_HESSIAN_FLOOR * scale
    return grad32, hess32


def _evaluated(
    objective: Objective,
    preds: npt.NDArray[Any],
    data: HostData,
    round: int,
    corrected: Correction | None,
) -> tuple[Parts, Floats, Keys]:
    """Return the parts of a round's loss, gradient and Hessian of each, and the queries' keys."""
    # XGBoost may shape the predictions of a worker without documents as (0, 0).
    scores = preds if np.size(preds) else np.zeros(0)
    scores, labels, boundaries = objective._checked(scores, data.labels, data.group)
    own_scores = scores
    keys = np.empty(0, np.uint64)
    if objective.perturb or objective.n_draws or objective.query_fraction < 1.0:
        keys = query_keys(objective.seed, round, scores, labels, boundaries)
    noisy = scores
    if objective.perturb is not None:
        noisy = MEMORY.take("noise", (len(scores),))
        noise = objective.perturb, objective.perturb_scale
        write_perturbed(*noise, keys, boundaries, _NOISE, scores, noisy)
    parts, labels_of = labelled_parts(objective, scores, labels, boundaries, round, data.host)
    parts = on_rows_trained(parts, data.host)
    draws = _draws(parts, keys, boundaries)
    derivatives = MEMORY.take("derivatives", (len(parts), 2, len(scores)))
    # Of a mixture, noise reaches the parts to which it makes a difference. They come last: then
    # nobody needs the scores without it, which may be a copy.
    perturbed = [part.perturbed or len(parts) == 1 for _, part in parts]
    for i in sorted(range(len(parts)), key=perturbed.__getitem__):
        scores = noisy if perturbed[i] else scores
        _, part = parts[i]
        write = part.write_derivatives if corrected is None else partial(corrected.write, part)
        grad, hess = derivatives[i]
        write(scores, labels_of[i], boundaries, round, grad, hess, draws[i])
    if objective.perturb is not None:
        MEMORY.give_back("noise", noisy)
    MEMORY.give_back("labels", labels)
    MEMORY.give_back("scores", own_scores)
    return parts, derivatives, keys


def _draws(parts: Parts, keys: Keys, boundaries: Integers) -> list[Floats | None]:
    """Draw the uniform numbers that each part asks for."""
    stream = itertools.count(_DRAWS)
    draws: list[Floats | None] = []
    for _, part in parts:
        rows = np.empty((part.n_draws, boundaries[-1])) if part.n_draws else None
        for row in () if rows is None else rows:
            write_uniforms(keys, boundaries, next(stream), row)
        draws.append(rows)
    return draws


def _mean_hessians(host: Host, derivatives: Floats) -> Sequence[float]:
    """Return the mean Hessian of each part over the documents of all workers with a gradient."""
    sums = mean_over_workers(host, [n for pair in derivatives for n in active_hessian(*pair)])
    return [total / count if count else 1.0 for total, count in sums.reshape(-1, 2).tolist()]


def _document_weight(data: HostData, n_docs: int) -> Floats:
    """Return one weight per document, or none at all."""
    if data.weight is None:
        return np.empty(0)
    weight = check_weight(data.weight, n_docs, len(data.group))
    return weight if len(weight) == n_docs else spread(weight, data.group)


def _left_out(objective: Objective, keys: Keys, host: Host) -> npt.NDArray[np.bool_]:
    """Draw the queries that a round does not learn from: each by itself, but never all."""
    numbers = query_uniforms(keys, _SAMPLE)
    fraction = objective.query_fraction
    while True:
        left_out = numbers >= fraction
        (taken,) = mean_over_workers(host, [float(len(keys) - left_out.sum())])
        if taken > 0.0 or fraction >= 1.0:
            return left_out
        fraction *= 2.0
