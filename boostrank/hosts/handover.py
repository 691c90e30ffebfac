"""From scores to the gradients that a host gets: one function for each step.

Hessians are floored twice here: at the objective's `hessian_share` of their mean before weights are
applied, where there is a gradient, and at `HOST_HESSIAN_FLOOR` of it after. So queries that teach
nothing change no leaf.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.hosts.data import HostData, warn_of_positions
from boostrank.hosts.ignored import warn_of_equal_labels, warn_of_grades, warn_of_gradients
from boostrank.hosts.passes import Float32s, active_sums, to_float32
from boostrank.hosts.position_bias import CorrectedRound
from boostrank.hosts.training import Training, TrainingView
from boostrank.objectives import Objective, Unbiased
from boostrank.objectives.engine.draws import (
    NOISES,
    Keys,
    query_keys,
    query_uniforms,
    write_uniforms,
)
from boostrank.objectives.engine.threads import over_queries
from boostrank.objectives.mix import on_one_scale
from boostrank.objectives.validation import Floats, Integers, check_weight
from boostrank.objectives.view import Part, View

# Relative to a mean Hessian of 1. Hosts silently stop splitting, or fail, on Hessians of zero. The
# floor is too small to change any leaf with documents that have a gradient.
HOST_HESSIAN_FLOOR = 1e-6
# A document has a gradient if its Newton step is over this part of the usual one. Sums over pairs
# that cancel leave less: gradients are exact to 1e-10 of the largest.
ROUNDING = 1e-9

# Random streams: no two draws of a round are alike. Objectives' draws use all from _DRAWS on.
_SAMPLE, _NOISE, _DRAWS = 0, 1, 2


class _Drawn(NamedTuple):
    """What a round learns from: all queries, or those that are drawn."""

    scores: Floats
    labels: Floats
    boundaries: Integers
    keys: Keys
    rows: Integers | None  # of these documents among all; None: all


def hand_over(
    objective: Objective, preds: npt.NDArray[Any], data: HostData, training: Training, round: int
) -> tuple[Float32s, Float32s]:
    """Return the gradient and Hessian of a boosting round as a host gets them."""
    # Without a Booster, only XGBoost's round tells whether it has warned before.
    warns = training.booster is not None or (
        training.host == "xgboost" and round == (objective.start_round or 1)
    )
    if warns:
        training.once("warned of grades", lambda: warn_of_grades(data.labels, objective))
    if warns and data.position is not None:
        which = "the DMatrix's label_lower_bound, of positions,"
        training.once("warned of positions", lambda: warn_of_positions(which, objective))
    with training.failing_together():
        corrected = None
        if isinstance(objective, Unbiased):
            corrected = CorrectedRound(objective, training, np.size(preds), data.position)
        whole = _read(objective, preds, data, round)
        weight = _document_weight(data, whole.boundaries)
    averaged = weight
    if objective.rescale or corrected is not None:
        averaged = _on_average_1(training, weight, len(whole.scores))
    if corrected is not None and len(averaged):
        corrected.weight = averaged
    drawn = whole
    if objective.query_fraction < 1.0:
        drawn = _sample(objective, whole, training)
        if corrected is not None:
            corrected.draw(drawn.rows)
    rows = drawn.rows
    # The metrics that choose among several labels are over all queries.
    given = weight if len(weight) else None
    view = TrainingView(training, View(whole.scores, whole.labels, whole.boundaries, given))
    with training.failing_together():
        parts, derivatives = _evaluated(objective, view, drawn, round, corrected)
    means = _mean_hessians(training, derivatives)
    share = parts[0].objective.hessian_share
    grad, hess = derivatives[0]
    mean = means[0]
    if len(parts) > 1:
        grad, hess = on_one_scale(parts, derivatives, means, rescale=objective.rescale)
        (mean,) = _mean_hessians(training, derivatives[:1])
        share = 0.0
    # The mean Hessian that the host gets.
    scale = 1.0 if objective.rescale else mean
    if objective.rescale:
        weight = averaged
    with training.failing_together():
        if rows is not None and len(weight):
            weight = weight[rows]
        floors = share * scale, HOST_HESSIAN_FLOOR * scale
        grad32, hess32, row = to_float32(grad, hess, mean / scale, weight, *floors)
        if row < 0 and mean / scale == np.inf and len(hess):  # no gradient would be left
            row = int(np.argmax(hess))
        if row >= 0:
            row = row if rows is None else int(rows[row])
            raise objective._gradient_not_finite(row, whole.boundaries)

    def warn_of_nothing_to_learn() -> None:
        if not warn_of_equal_labels(whole.labels, whole.boundaries, objective, training):
            warn_of_gradients(grad32, hess32, objective, training)

    if warns:
        training.once("warned of nothing to learn", warn_of_nothing_to_learn)
    if corrected is not None:  # a round that fails teaches nothing
        corrected.learn(grad, hess, mean)
    return (grad32, hess32) if rows is None else _scattered(whole, rows, grad32, hess32, floors[1])


def _read(objective: Objective, preds: npt.NDArray[Any], data: HostData, round: int) -> _Drawn:
    """Return checked scores, labels and queries, and the queries' keys if anything is drawn."""
    # XGBoost may shape the predictions of a worker without documents as (0, 0).
    scores = preds if np.size(preds) else np.zeros(0)
    if np.ndim(scores) == 2:
        raise ValueError(
            f"a ranking needs one score for each document, but the host has {np.shape(scores)[1]}: "
            "leave out num_class and num_target, and give each document one label"
        )
    scores, labels, boundaries = objective._checked(scores, data.labels, data.group)
    keys = np.empty(0, np.uint64)
    if objective.perturb or objective.n_draws or objective.query_fraction < 1.0:
        keys = query_keys(objective.seed, round, scores, labels, boundaries)
    return _Drawn(scores, labels, boundaries, keys, None)


def _sample(objective: Objective, whole: _Drawn, training: Training) -> _Drawn:
    """Draw the queries that a round learns from: each independently, and at least one."""
    numbers = query_uniforms(whole.keys, _SAMPLE)
    fraction = objective.query_fraction
    while True:
        taken = numbers < fraction
        (count,) = training.mean([float(taken.sum())])
        if count > 0.0 or fraction >= 1.0:
            break
        fraction *= 2.0
    sizes = np.diff(whole.boundaries)
    rows = np.flatnonzero(np.repeat(taken, sizes))
    boundaries = np.append(0, np.cumsum(sizes[taken]))
    return _Drawn(whole.scores[rows], whole.labels[rows], boundaries, whole.keys[taken], rows)


def _scattered(
    whole: _Drawn, rows: Integers, grad: Float32s, hess: Float32s, floor: float
) -> tuple[Float32s, Float32s]:
    """Return the derivatives of all documents: nothing is learnt from those not drawn."""
    all_grad = np.zeros(len(whole.scores), np.float32)
    all_hess = np.full(len(whole.scores), floor, np.float32)
    all_grad[rows], all_hess[rows] = grad, hess
    return all_grad, all_hess


def _evaluated(
    objective: Objective, view: View, drawn: _Drawn, round: int, corrected: CorrectedRound | None
) -> tuple[list[Part], Floats]:
    """Return the parts of the loss of a round with these documents, and their derivatives."""
    scores, labels, boundaries, keys, rows = drawn
    noisy = scores
    if objective.perturb is not None:
        noisy = np.empty(len(scores))
        write, scale = NOISES[objective.perturb], objective.perturb_scale
        over_queries(write, boundaries, keys, _NOISE, scale, scores, noisy)
    parts = objective.parts(view, round)
    stream = itertools.count(_DRAWS)
    derivatives = np.empty((len(parts), 2, len(scores)))
    for i, (_, part, own) in enumerate(parts):
        draws = np.empty((part.n_draws, boundaries[-1]))
        for row in draws:
            write_uniforms(keys, boundaries, next(stream), row)
        # In a mixture, only the parts to which noise makes a difference get it.
        seen_scores = noisy if part.perturbed or len(parts) == 1 else scores
        grad, hess = derivatives[i]
        if rows is not None and part.of_rows:  # from all documents, whose rows it knows
            all_scores = view.scores.copy()
            all_scores[rows] = seen_scores
            of_all = np.empty((2, len(all_scores)))
            part.write_derivatives(all_scores, own, view.boundaries, round, *of_all)
            grad[:], hess[:] = of_all[:, rows]
            continue
        if rows is not None:
            own = labels if own is view.labels else own[rows]
        write = part.write_derivatives if corrected is None else partial(corrected.write, part)
        write(seen_scores, own, boundaries, round, grad, hess, draws if part.n_draws else None)
    return parts, derivatives


def _mean_hessians(training: Training, derivatives: Floats) -> Sequence[float]:
    """Return each part's mean Hessian over all workers' documents with a gradient that counts."""
    least = [0.0] * len(derivatives)
    for _ in range(2):  # without a step to compare with, then with that of all documents
        own = [active_sums(g, h, x) for (g, h), x in zip(derivatives, least, strict=True)]
        sums = training.mean(np.ravel(own)).reshape(-1, 3).tolist()
        least = [ROUNDING * pulls / bends if bends else 0.0 for pulls, bends, _ in sums]
    return [bends / count if count else 1.0 for _, bends, count in sums]


def _document_weight(data: HostData, boundaries: Integers) -> Floats:
    """Return one weight per document, or none at all."""
    if data.weight is None:
        return np.empty(0)
    n_docs, sizes = boundaries[-1], np.diff(boundaries)
    weight = check_weight(data.weight, n_docs, len(sizes))
    return weight if len(weight) == n_docs else np.repeat(weight, sizes)


def _on_average_1(training: Training, weight: Floats, n_docs: int) -> Floats:
    """Return weights that are 1 on average over all workers' documents that have one.

    Weights that sum to 1 would otherwise shrink all Hessians below the hosts' least one for a leaf.
    """
    own = [weight.sum(), float(np.count_nonzero(weight))] if len(weight) else [float(n_docs)] * 2
    total, count = training.mean(own)
    if total == 0.0 and (len(weight) or training.is_distributed):  # on all workers at once
        raise ValueError("weight must be above 0 somewhere, or nothing would be learnt: all are 0")
    return weight * (count / total) if 0.0 < total < np.inf and total != count else weight
