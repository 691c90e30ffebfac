"""What the machines of one distributed training share: the scale of gradients, and errors.

Each machine calls its own copy of the objective with its own queries. Scaled by a machine alone,
its queries would weigh more or less than another's; and where one machine stops with an error, the
others would wait for it.

XGBoost has collective operations for this. LightGBM has none for Python, but its regression begins
with the mean over all machines of each machine's mean label, so a model that is one constant shares
a number. LightGBM tells an objective nothing of other machines; it is asked inside Dask's workers
only, where a machine on its own shares with itself.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import numpy as np

from boostrank.objectives.validation import Floats

# The driver reports the first error it hears of. Seconds: messages take milliseconds.
_HEAD_START_OF_THE_CAUSE = 2.0

_FLOAT32_MAX = float(np.finfo(np.float32).max)


class _Machines(Protocol):
    def share_error(self, error: Exception | None) -> None:
        """Raise where nothing went wrong (`error` is None) if something did elsewhere."""

    def mean(self, numbers: Floats) -> Floats:
        """Mean over the machines of each number."""


class _XGBoost:
    def __init__(self, collective: Any) -> None:
        self.collective = collective

    def share_error(self, error: Exception | None) -> None:
        rank = -1 if error is None else self.collective.get_rank()
        failed = int(self.collective.allreduce(np.array([rank]), self.collective.Op.MAX)[0])
        if failed >= 0:
            cause = self.collective.broadcast(error, failed)
            if error is None:
                raise cause

    def mean(self, numbers: Floats) -> Floats:
        total: Floats = self.collective.allreduce(numbers, self.collective.Op.SUM)
        return total / int(self.collective.get_world_size())


class _LightGBM:
    def __init__(self, threads: int) -> None:
        # LightGBM sets both for more than the one model: the threads are those that its Dask
        # estimators set, and of the training only messages go missing.
        self.params = {"objective": "regression", "verbosity": -1, "num_threads": threads}

    def share_error(self, error: Exception | None) -> None:
        if self._mean(float(error is not None)) == 0.0:
            return
        self._free_network()
        if error is None:
            time.sleep(_HEAD_START_OF_THE_CAUSE)
            raise RuntimeError(
                "the objective failed on another machine of this training, whose error says why"
            )

    def mean(self, numbers: Floats) -> Floats:
        return np.array([self._mean(number) for number in numbers])

    def _free_network(self) -> None:
        """Free the network of the Booster that calls the objective.

        The error's traceback keeps that Booster, which frees the network when it is collected: that
        of the next training, if there is one by then.
        """
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            caller = frame.f_locals.get("self")
            if isinstance(caller, sys.modules["lightgbm"].Booster):
                caller.free_network()
                return
            frame = frame.f_back

    def _mean(self, number: float) -> float:
        lightgbm = sys.modules["lightgbm"]
        # Labels are float32: three of them hold a float64 of their range, and their mean is a third
        # of it. Beyond that range the gradients would not be finite.
        number = float(np.clip(number, -_FLOAT32_MAX, _FLOAT32_MAX))
        labels: list[float] = []
        for _ in range(3):
            labels.append(float(np.float32(number - sum(labels))))
        data = lightgbm.Dataset(np.zeros((3, 1)), labels, params=self.params)
        constant = lightgbm.Booster(self.params, data)
        constant.update()
        return 3.0 * float(constant.get_leaf_output(0, 0))


def _machines(host: str) -> _Machines | None:
    """Return the machines that train together with this one, or None if there are none."""
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


@contextmanager
def failing_together(host: str) -> Iterator[None]:
    """Raise an error of one machine on all of them.

    Parameters
    ----------
    host : {"lightgbm", "xgboost"}

    Raises
    ------
    Exception
        Where nothing was raised inside, but was on another machine: the same error (XGBoost), or a
        RuntimeError that says so, later than the cause (LightGBM).
    """
    machines = _machines(host)
    try:
        yield
    except Exception as error:
        if machines:
            error.add_note("Rows and queries are counted among the documents of one machine.")
            machines.share_error(error)
        raise
    if machines:
        machines.share_error(None)


def mean_over_machines(host: str, numbers: Sequence[float]) -> Floats:
    """Mean of each number over the machines that train together; on one machine, the numbers.

    Parameters
    ----------
    host : {"lightgbm", "xgboost"}
    numbers : sequence of float
        Equally many on every machine.

    Returns
    -------
    float64 array (len(numbers),)
    """
    machines = _machines(host)
    values = np.array(numbers, dtype=np.float64)
    return machines.mean(values) if machines else values
