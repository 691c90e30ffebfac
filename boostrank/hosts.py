"""How LightGBM and XGBoost call an objective, and what they hand over.

Neither host is imported here. What a call means is told by its arguments:

==============================================  ================================================
call                                            made by
==============================================  ================================================
``(preds, Dataset)``                            ``lightgbm.train``, ``Booster.update(fobj=)``
``(y_true, y_pred, weight, group)``             ``lightgbm.LGBMRanker(objective=)``
``(iteration, preds, DMatrix)``                 ``xgboost.train(obj=)``
``(preds, DMatrix)``                            ``xgboost.train(obj=)``, first call (see below)
==============================================  ================================================

The boosting round. LightGBM does not tell it, but one Booster hands over one and the same array of
predictions in every round, so the calls made with that array are counted. XGBoost tells it only to
objectives registered with it; an objective registers its class once XGBoost is loaded.
"""

import inspect
import sys
import threading
import weakref
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.collective import failing_together, mean_over_machines
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, check_weight

# Relative to a mean Hessian of 1. Hosts stop splitting in silence, or fail, on Hessians of zero;
# this is small enough to leave every leaf with documents that carry a gradient as it is.
HOST_HESSIAN_FLOOR = 1e-6


class HostData(NamedTuple):
    """What a host's data set says.

    Attributes
    ----------
    host : {"lightgbm", "xgboost"}
    labels : float32 array (n_docs,)
    group : integer array (n_queries,)
        Sizes of consecutive queries.
    weight : float32 array or None
        One for each document (LightGBM) or for each query (XGBoost).
    """

    host: Literal["lightgbm", "xgboost"]
    labels: npt.NDArray[Any]
    group: npt.NDArray[Any]
    weight: npt.NDArray[Any] | None


def read(data: Any) -> HostData:
    """Read labels, queries and weights from a LightGBM Dataset or an XGBoost DMatrix.

    Parameters
    ----------
    data : lightgbm.Dataset or xgboost.DMatrix

    Returns
    -------
    HostData

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        If the data knows no queries or has no labels.
    """
    if hasattr(data, "get_uint_info"):
        boundaries = data.get_uint_info("group_ptr")
        # A machine of a distributed training may have no documents.
        if len(boundaries) == 0 and data.num_row() > 0:
            raise ValueError(
                "group is missing: this DMatrix knows no queries; give it group=sizes or qid=ids"
            )
        weight = data.get_weight()
        # Subtracting unsigned boundaries would wrap.
        group = np.diff(boundaries.astype(np.int64))
        return HostData("xgboost", data.get_label(), group, weight if len(weight) else None)
    if hasattr(data, "get_field"):
        group = data.get_group()
        if group is None:
            raise ValueError("group is missing: this Dataset knows no queries; give it group=sizes")
        labels = data.get_label()
        if labels is None:
            raise ValueError("labels are missing: give the Dataset label=grades")
        return HostData("lightgbm", np.asarray(labels), np.asarray(group), data.get_weight())
    raise TypeError(f"expected a lightgbm.Dataset or an xgboost.DMatrix, got {type(data).__name__}")


class FourArguments:
    """Signature that instances of a class show, but not the class itself.

    LightGBM's scikit-learn estimators count the parameters they see on an instance; the class must
    go on showing its constructor.
    """

    _signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in ("y_true", "y_pred", "weight", "group")
        ]
    )

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return self._signature


class _Rounds:
    """Counts the calls an objective gets with one array of predictions."""

    def __init__(self) -> None:
        # Re-entrant: collecting garbage while the lock is held may run `forget` in this thread.
        self._lock = threading.RLock()
        self._calls: dict[tuple[int, Objective], tuple[weakref.ref[Any], int]] = {}

    def next(self, objective: Objective, preds: npt.NDArray[Any]) -> int:
        key = (id(preds), objective)
        with self._lock:
            known = self._calls.get(key)
            # The address of an array that is gone may have been given to another one.
            if known is None or known[0]() is not preds:
                known = weakref.ref(preds, lambda dead: self._forget(key, dead)), 0
            count = known[1] + 1
            self._calls[key] = known[0], count
            return count

    def _forget(self, key: tuple[int, Objective], dead: weakref.ref[Any]) -> None:
        with self._lock:
            known = self._calls.get(key)
            if known is not None and known[0] is dead:
                del self._calls[key]


_rounds = _Rounds()


def _register_with_xgboost(cls: type) -> bool:
    """Ask XGBoost, where it is loaded, to tell objects of this class the iteration.

    Returns whether it will from now on but did not until now.
    """
    module = sys.modules.get("xgboost.objective")
    if module is None or not hasattr(module, "Objective") or issubclass(cls, module.Objective):
        return False
    module.Objective.register(cls)
    return True


class HostObjective(Objective):
    """An objective that LightGBM and XGBoost can call.

    The gradients it hands to a host are float32 and scaled: gradient and Hessian are divided by the
    mean Hessian of the documents that carry a gradient, over all machines that train together.
    Newton steps do not change, and the hosts' thresholds (``min_sum_hessian_in_leaf``,
    ``min_child_weight``, ``lambda_l2``) mean the same for every objective. Hessians are then
    floored at the objective's `hessian_share`, before weights. `grad_hess` stays unscaled.
    """

    __signature__ = FourArguments()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = cls.__mro__[1].__doc__
        cls.__module__ = "boostrank"

    def __post_init__(self) -> None:
        super().__post_init__()
        _register_with_xgboost(type(self))

    def __call__(self, *args: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Gradient and Hessian as a host asks for them; see the table of this module.

        Returns
        -------
        grad, hess : float32 arrays (n_docs,)

        Raises
        ------
        TypeError, ValueError
            For arguments of no known host, data without queries or labels, bad labels, and for
            gradients that are not finite (the message names the query).
        """
        match args:
            case (preds, data):
                host = read(data)
                round = self._two_argument_round(preds, host.host)
            case (iteration, preds, data):
                host = read(data)
                round = int(iteration) + 1
            case (labels, preds, weight, group):
                host = HostData("lightgbm", labels, group, weight)
                round = _rounds.next(self, preds)
            case _:
                raise TypeError(
                    f"{type(self).__name__} is called by LightGBM with (preds, Dataset) or "
                    "(y_true, y_pred, weight, group) and by XGBoost with (preds, DMatrix) or "
                    f"(iteration, preds, DMatrix); got {len(args)} arguments. To evaluate it "
                    "yourself, call .grad_hess(scores, labels, group)"
                )
        with failing_together(host.host):
            # XGBoost may shape the predictions of a machine without documents as (0, 0).
            scores = preds if np.size(preds) else np.zeros(0)
            grad, hess = self.grad_hess(scores, host.labels, host.group, round=round)
            active = grad != 0.0
            sums = hess[active].sum(), active.sum()
        total, count = mean_over_machines(host.host, sums)
        with failing_together(host.host):
            return self._scaled(grad, hess, total / count if count else 1.0, host)

    def _two_argument_round(self, preds: npt.NDArray[Any], host: str) -> int:
        if host == "lightgbm":
            return _rounds.next(self, preds)
        # XGBoost was loaded after this object was made: this is the first round of the first
        # training with it, and later calls will have three arguments.
        if _register_with_xgboost(type(self)) or not self.scheduled:
            return 1
        raise ValueError(
            f"the boosting round is not known: {self.name} follows a schedule, and XGBoost tells "
            "the iteration only to the objective itself. Pass obj=objective, not a function around "
            "it (or call objective(iteration, preds, dmatrix) in it), with xgboost >= 3.2"
        )

    def _scaled(
        self, grad: Floats, hess: Floats, mean: float, host: HostData
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        weight: Floats | float = 1.0
        if host.weight is not None:
            weight = check_weight(host.weight, len(grad), len(host.group))
            if host.host == "xgboost":
                weight = np.repeat(weight, host.group)
        with np.errstate(over="ignore", invalid="ignore"):  # answered below, by name
            grad32 = (grad / mean * weight).astype(np.float32)
            hess = np.maximum(hess / mean, self.hessian_share) * weight
            hess32 = np.maximum(hess, HOST_HESSIAN_FLOOR).astype(np.float32)
        finite = np.isfinite(grad32) & np.isfinite(hess32)
        if not finite.all():
            row = int(np.argmin(finite))
            query = int(np.searchsorted(np.cumsum(host.group), row, side="right"))
            raise ValueError(
                f"the gradient of {self!r} is not finite in query {query} (document at row {row}): "
                "look at this query's scores and labels and at the objective's parameters"
            )
        return grad32, hess32
