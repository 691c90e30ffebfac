"""What calling an objective does."""

from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.hosts import rounds
from boostrank.hosts.data import HostData, read
from boostrank.hosts.gains import with_hosts_gain
from boostrank.hosts.handover import hand_over
from boostrank.objectives import Objective


def gradient_for_host(
    objective: Objective, args: tuple[Any, ...]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the gradient and Hessian that a host asks for; `boostrank.hosts` lists the calls.

    Parameters
    ----------
    objective : Objective
    args : tuple
        What the host passed.

    Returns
    -------
    grad, hess : float32 arrays (n_docs,)

    Raises
    ------
    TypeError, ValueError
        As `Objective.__call__`.
    """
    match args:
        case (preds, dataset_or_matrix):
            data = read(dataset_or_matrix)
            if data.host == "lightgbm":
                round = rounds.of_lightgbm(objective, preds)
            else:
                round = rounds.of_xgboost_untold(objective)
        case (iteration, preds, matrix):
            data = read(matrix)
            round = rounds.of_xgboost(objective, int(iteration))
        case (labels, preds, weight, group):
            data = HostData("lightgbm", labels, group, weight)
            round = rounds.of_lightgbm(objective, preds)
        case _:
            raise TypeError(
                f"{type(objective).__name__} is called by LightGBM with (preds, Dataset) or "
                "(y_true, y_pred, weight, group) and by XGBoost with (preds, DMatrix) or "
                f"(iteration, preds, DMatrix); got {len(args)} arguments. To evaluate it "
                "yourself, call .grad_hess(scores, labels, group)"
            )
    gradients = hand_over(with_hosts_gain(objective, data.host), preds, data, round)
    if data.host == "lightgbm":
        rounds.lightgbm_done(objective, preds)
    return gradients
