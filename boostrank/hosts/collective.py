"""What the workers of one distributed training share: the scale of gradients, and errors.

Otherwise queries would weigh more on one worker than on another, and the others would wait for one
that stopped with an error. XGBoost has collective operations for this. LightGBM has none for
Python, but its regression starts at the mean over all workers of each worker's mean label, so a
model that is a single constant can share a number. It does not tell an objective whether there are
other workers, so every Dask worker shares; one that trains alone shares with itself.
"""

import sys
import time
from typing import Any

import numpy as np

from boostrank.hosts.undocumented import mean_over_lightgbm_workers, training_booster
from boostrank.objectives.validation import Floats

# In seconds. The driver reports the first error it hears of; messages take milliseconds.
_HEAD_START_OF_THE_CAUSE = 2.0


class _XGBoost:
    """The workers of one training of XGBoost."""

    def __init__(self, collective: Any) -> None:
        self.collective = collective

    def share_error(self, error: Exception | None) -> None:
        """If there was no error here (`error` is None) but one elsewhere, raise it here too."""
        rank = -1 if error is None else self.collective.get_rank()
        failed = int(self.collective.allreduce(np.array([rank]), self.collective.Op.MAX)[0])
        if failed >= 0:
            cause = self.collective.broadcast(error, failed)
            if error is None:
                raise cause

    def mean(self, numbers: Floats) -> Floats:
        """Return the mean of each number over the workers."""
        total: Floats = self.collective.allreduce(numbers, self.collective.Op.SUM)
        return total / int(self.collective.get_world_size())


class _LightGBM:
    """The workers of one training of LightGBM, with the same methods."""

    def __init__(self, threads: int) -> None:
        self.threads = threads  # as its Dask estimators set them

    def share_error(self, error: Exception | None) -> None:
        failed = float(error is not None)
        if mean_over_lightgbm_workers(failed, self.threads) == 0.0:
            return
        # The error's traceback keeps the calling Booster alive. When collected, it would free the
        # network, which may by then be that of the next training.
        booster = training_booster("lightgbm")
        if booster is not None:
            booster.free_network()
        if error is None:
            time.sleep(_HEAD_START_OF_THE_CAUSE)
            raise RuntimeError(
                "the objective failed on another worker of this training, whose error says why"
            )

    def mean(self, numbers: Floats) -> Floats:
        return np.array([mean_over_lightgbm_workers(each, self.threads) for each in numbers])


def workers_of(host: str) -> _XGBoost | _LightGBM | None:
    """Return the workers that train together with this one, or None if there are none."""
    if host == "xgboost":
        collective = sys.modules.get("xgboost.collective")
        return _XGBoost(collective) if collective and collective.is_distributed() else None
    distributed = sys.modules.get("distributed")
    if distributed is None or "lightgbm" not in sys.modules:
        return None
    try:
        return _LightGBM(distributed.get_worker().state.nthreads)
    except ValueError:  # not in a worker
        return None
