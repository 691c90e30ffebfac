"""What calling an objective does."""

from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.hosts import rounds
from boostrank.hosts.data import HostData, check_linear, read
from boostrank.hosts.handover import hand_over
from boostrank.hosts.host_gain import with_gain_of
from boostrank.hosts.training import Training
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats


def gradient_for_host(
    objective: Objective, args: tuple[Any, ...], weight: Floats | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the gradient and Hessian that a host asks for; `boostrank.hosts` lists the calls.

    If `weight` is given, one for each document, it takes the place of those of the data.
    """
    iteration = None
    match args:
        case (preds, dataset_or_matrix):
            data = read(dataset_or_matrix)
        case (iteration, preds, matrix):
            data = read(matrix)
        case (labels, preds, weights, group):
            data = HostData("lightgbm", labels, group, weights)
        case _:
            raise TypeError(
                f"{type(objective).__name__} is called by LightGBM with (preds, Dataset) or "
                "(y_true, y_pred, weight, group) and by XGBoost with (preds, DMatrix) or "
                f"(iteration, preds, DMatrix); got {len(args)} arguments. To evaluate it "
                "yourself, call .grad_hess(scores, labels, group)"
            )
    training = Training(data.host)
    if data.host == "xgboost" and data.weight is not None:
        training.once("checked weights", lambda: check_linear(training.booster))
    if weight is not None:
        data = data._replace(weight=weight)
    if data.host == "lightgbm":
        round = rounds.of_lightgbm(objective, training)
    else:
        round = rounds.of_xgboost(objective, iteration, training)
    counting = objective
    if training.booster is not None:
        # The objective stays alive with what it became, so that no other one gets its number.
        _, counting = training.once(
            ("gain", id(objective)),
            lambda: (objective, with_gain_of(objective, training.params, data.host)),
        )
    gradients = hand_over(counting, preds, data, training, round)
    if data.host == "lightgbm":
        rounds.lightgbm_done(objective, training)
    return gradients
