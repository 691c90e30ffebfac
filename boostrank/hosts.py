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
objectives registered with it; an objective registers its class once XGBoost is loaded. Neither says
how many rounds a model that is trained on already has: the Booster does, which is among the
callers.
"""

import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.collective import failing_together, mean_over_machines
from boostrank.objectives import Objective
from boostrank.objectives.numerics import kernel, strict
from boostrank.objectives.validation import (
    Floats,
    check_choice,
    check_count,
    check_flag,
    check_positive,
    check_seed,
    check_share,
    check_weight,
)

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
    weight : array or None
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


def _training_booster(host: str) -> Any:
    """Return the host's Booster that is asking for gradients, or None.

    An objective is shown the data alone, and LightGBM's need not know with which parameters it is
    trained: the Booster is looked for among the callers.
    """
    kind = getattr(sys.modules.get(host), "Booster", ())
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, kind):
            return caller
        frame = frame.f_back
    return None


def _check_lightgbm(booster: Any) -> None:
    """Refuse what LightGBM would do wrongly, in silence."""
    if str(booster.params.get("bagging_by_query")).lower() in ("true", "+", "1"):
        raise ValueError(
            "bagging_by_query does not work with an objective that is not LightGBM's own: it "
            "trains on the first document alone, in silence. Leave it off and let the objective "
            "sample the queries: objective.replace(query_fraction=0.5)"
        )
    data = booster.train_set
    if data.get_position() is not None:
        warnings.warn(
            "the Dataset's position is ignored: only LightGBM's own lambdarank corrects for it",
            stacklevel=6,
        )
    while data.used_indices is not None:
        whole = data.reference.get_group()
        query = np.repeat(np.arange(len(whole)), whole)[data.used_indices]
        part = np.bincount(query, minlength=len(whole))
        cut = np.flatnonzero((part > 0) & (part < whole))
        if len(cut):
            raise ValueError(
                f"this part of a Dataset cuts {len(cut)} queries apart: it holds {part[cut[0]]} of "
                f"the {whole[cut[0]]} documents of query {cut[0]}. Cross-validate over whole "
                "queries: lightgbm.cv(..., folds=boostrank.group_folds(group))"
            )
        data = data.reference


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
    """Counts the rounds of an objective by its calls with one array of predictions."""

    def __init__(self) -> None:
        # Re-entrant: collecting garbage while the lock is held may run `forget` in this thread.
        self._lock = threading.RLock()
        self._calls: dict[tuple[int, Objective], tuple[weakref.ref[Any], int]] = {}

    def next(self, objective: Objective, preds: npt.NDArray[Any], done: Callable[[], int]) -> int:
        """Return the round of this call; `done` tells the rounds before the first one."""
        key = (id(preds), objective)
        with self._lock:
            known = self._calls.get(key)
            # The address of an array that is gone may have been given to another one.
            if known is None or known[0]() is not preds:
                known = weakref.ref(preds, lambda dead: self._forget(key, dead)), done()
            count = known[1] + 1
            self._calls[key] = known[0], count
            return count

    def _forget(self, key: tuple[int, Objective], dead: weakref.ref[Any]) -> None:
        with self._lock:
            known = self._calls.get(key)
            if known is not None and known[0] is dead:
                del self._calls[key]


_rounds = _Rounds()


class _Buffers(threading.local):
    """Gradient, Hessian and noise of this thread's last call: fresh memory costs a fifth of it."""

    arrays = np.empty((1, 2, 0))
    noise = np.empty(0)

    def take(self, k: int, n: int) -> Floats:
        """Return k pairs of rows of length n, with anything in them, to be put back into `arrays`.

        A call that fails keeps them, as its noise: other threads may still work there.
        """
        arrays, self.arrays = self.arrays, np.empty((1, 2, 0))
        return arrays if arrays.shape == (k, 2, n) else np.empty((k, 2, n))

    def take_noise(self, n: int) -> Floats:
        """Return a row of length n, with anything in it, to be put back into `noise`."""
        noise, self.noise = self.noise, np.empty(0)
        return noise if len(noise) == n else np.empty(n)


_buffers = _Buffers()


def _register_with_xgboost(cls: type) -> bool:
    """Ask XGBoost, where it is loaded, to tell objects of this class the iteration.

    Returns whether it will from now on but did not until now.
    """
    module = sys.modules.get("xgboost.objective")
    if module is None or not hasattr(module, "Objective") or issubclass(cls, module.Objective):
        return False
    module.Objective.register(cls)
    return True


@kernel
def _active_hessian(grad: Floats, hess: Floats) -> tuple[float, float]:
    """Sum of the Hessians, and number, of the documents that carry a gradient."""
    total = 0.0
    count = 0.0
    for i in range(len(grad)):
        total += hess[i] if grad[i] != 0.0 else 0.0
        count += 1.0 if grad[i] != 0.0 else 0.0
    return total, count


@strict
def _scale(
    grad: Floats,
    hess: Floats,
    unit: float,
    weight: Floats,
    least: float,
    floor: float,
    grad32: npt.NDArray[np.float32],
    hess32: npt.NDArray[np.float32],
) -> int:
    """Write what a host gets; return the first row that is not finite, or -1.

    Hessians are at least `least` before weights and `floor` after. No weights are as good as ones.
    Strict, because the last bit of a float32 may hang on the order of these operations, which
    compilers choose differently.
    """
    broken = 0
    for i in range(len(grad)):
        factor = weight[i] if len(weight) > 0 else 1.0
        grad32[i] = grad[i] / unit * factor
        hess32[i] = max(max(hess[i] / unit, least) * factor, floor)
        broken += 0 if np.isfinite(grad32[i]) and np.isfinite(hess32[i]) else 1
    if broken > 0:
        for i in range(len(grad)):
            if not (np.isfinite(grad32[i]) and np.isfinite(hess32[i])):
                return i
    return -1


def _gumbel(rng: np.random.Generator, scale: float, out: Floats) -> None:
    """Draw in a third of the time of the generator's own, which takes logarithms one by one."""
    rng.standard_exponential(out=out)
    np.maximum(out, np.finfo(np.float64).tiny, out=out)  # 0 is drawn about once in 2^53
    np.log(out, out=out)
    out *= -scale


def _gaussian(rng: np.random.Generator, scale: float, out: Floats) -> None:
    rng.standard_normal(out=out)
    out *= scale


_NOISE: dict[str, Callable[[np.random.Generator, float, Floats], None]] = {
    "gumbel": _gumbel,
    "gaussian": _gaussian,
}

_HOST_PARAMETERS = """
    rescale : bool, default True
        Divide gradients and Hessians by the mean Hessian, so that the hosts' thresholds
        (``min_sum_hessian_in_leaf``, ``min_child_weight``, ``lambda_l2``) mean the same for every
        objective, and the parts of a mixture are mixed on one scale. False hands over what
        `grad_hess` returns.
    perturb : {"gumbel", "gaussian"}, optional
        Noise that a host's scores get before gradients are taken from them, drawn anew in every
        round: learning from many rankings near the model's own, for losses that are smooth in the
        scores. Default None, no noise, but "gumbel" for `SHFSDCG` by itself, which ranked better
        with it or as well on the validation parts of six data sets. A mixture has its own, default
        None, whatever its parts have as theirs.
    perturb_scale : float, default 1.0
        Its scale, positive: that of Gumbel's distribution, or the standard deviation. It is a
        difference of scores like any other, so 1/alpha and `sigma` are what it compares with.
    query_fraction : float, default 1.0
        Share of the queries that each round of a host learns from, above 0 and at most 1; drawn
        anew in every round. The others get a gradient of zero. In place of LightGBM's
        ``bagging_by_query``, which works with its own objectives only.
    seed : int, default 0
        Seed of all draws: equal seeds draw equal queries and equal noise, on either host, for
        documents in equal order. Of several machines each draws for its own documents.
    start_round : int, optional
        Round of the first tree that a host adds, for schedules and draws.
        Default None: after the rounds of the model that is trained on, if there is one. 1 begins
        anew there.
"""


@dataclass(frozen=True, kw_only=True)
class HostObjective(Objective):
    """An objective that LightGBM and XGBoost can call.

    The gradients it hands to a host are float32 and scaled: gradient and Hessian are divided by the
    mean Hessian of the documents that carry a gradient, over all machines that train together.
    Newton steps do not change, and the hosts' thresholds (``min_sum_hessian_in_leaf``,
    ``min_child_weight``, ``lambda_l2``) mean the same for every objective. Hessians are then
    floored at the objective's `hessian_share`, before weights. The parts of a mixture are scaled
    and floored in this way one by one, then weighted and added. `loss` and `grad_hess` know nothing
    of this, nor of the parameters that only hosts need.
    """

    if TYPE_CHECKING:  # every objective has a default, but mypy would read the base's
        hessian: str = ""

    rescale: bool = True
    perturb: str | None = None
    perturb_scale: float = 1.0
    query_fraction: float = 1.0
    seed: int = 0
    start_round: int | None = None

    __signature__ = FourArguments()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == "boostrank.registry":  # users' own classes stay as they wrote them
            text, raises, rest = (cls.__bases__[1].__doc__ or "").partition("\n    Raises\n")
            cls.__doc__ = text.rstrip("\n") + _HOST_PARAMETERS + raises + rest
            cls.__module__ = "boostrank"

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction = check_share("query_fraction", self.query_fraction)
        if fraction == 0.0:
            raise ValueError("query_fraction must be above 0: there is nothing to learn from none")
        self._set(
            rescale=check_flag("rescale", self.rescale),
            perturb_scale=check_positive("perturb_scale", self.perturb_scale),
            query_fraction=fraction,
            seed=check_seed(self.seed),
        )
        if self.perturb is not None:
            check_choice("perturb", self.perturb, _NOISE)
        for entry in fields(self):
            self._check_part(entry.name, getattr(self, entry.name))
        if self.start_round is not None:
            self._set(start_round=check_count("start_round", self.start_round))
        _register_with_xgboost(type(self))

    def _check_part(self, name: str, part: Any) -> None:
        """Refuse a part of a mixture with settings for a host, which would not be followed.

        What is its class's default is no setting.
        """
        if not isinstance(part, HostObjective):
            return
        defaults = {entry.name: entry.default for entry in fields(part)}
        for entry in fields(HostObjective):
            if getattr(part, entry.name) != defaults[entry.name]:
                raise ValueError(
                    f"{name} must not have {entry.name} of its own, got "
                    f"{getattr(part, entry.name)!r}: hosts call the whole {self.name}; give it "
                    f"{entry.name}="
                )

    def __call__(self, *args: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Gradient and Hessian as a host asks for them; see the table of this module.

        Returns
        -------
        grad, hess : float32 arrays (n_docs,)

        Raises
        ------
        TypeError, ValueError
            For arguments of no known host, data without queries or labels, bad labels, a Dataset
            that cuts queries apart or bags them, and for gradients that are not finite (the message
            names the query).
        """
        match args:
            case (preds, data):
                host = read(data)
                round = self._two_argument_round(preds, host.host)
            case (iteration, preds, data):
                host = read(data)
                round = self._xgboost_round(int(iteration))
            case (labels, preds, weight, group):
                host = HostData("lightgbm", labels, group, weight)
                round = _rounds.next(self, preds, self._lightgbm_done)
            case _:
                raise TypeError(
                    f"{type(self).__name__} is called by LightGBM with (preds, Dataset) or "
                    "(y_true, y_pred, weight, group) and by XGBoost with (preds, DMatrix) or "
                    f"(iteration, preds, DMatrix); got {len(args)} arguments. To evaluate it "
                    "yourself, call .grad_hess(scores, labels, group)"
                )
        return self._for_host(preds, host, round)

    def _two_argument_round(self, preds: npt.NDArray[Any], host: str) -> int:
        if host == "lightgbm":
            return _rounds.next(self, preds, self._lightgbm_done)
        # XGBoost was loaded after this object was made: this is the first round of the first
        # training with it, and later calls will have three arguments.
        changes = {
            "follows a schedule": self.scheduled,
            "samples queries in every round": self.query_fraction < 1.0,
            "draws targets in every round": self._draws,
            "draws noise in every round (perturb=None: none)": self.perturb is not None,
        }
        if _register_with_xgboost(type(self)) or not any(changes.values()):
            return self._xgboost_round(0)
        what = next(change for change, true in changes.items() if true)
        raise ValueError(
            f"the boosting round is not known: {self.name} {what}, and XGBoost tells "
            "the iteration only to the objective itself. Pass obj=objective, not a function around "
            "it (or call objective(iteration, preds, dmatrix) in it), with xgboost >= 3.2"
        )

    def _lightgbm_done(self) -> int:
        """Look at the Booster, once a training, and return the rounds before this one."""
        booster = _training_booster("lightgbm")
        if booster is not None:
            _check_lightgbm(booster)
        if self.start_round is not None:
            return self.start_round - 1
        return 0 if booster is None else self._go_on(booster.current_iteration())

    def _xgboost_round(self, iteration: int) -> int:
        """Return the round of an iteration, which begins at 0 in every training."""
        if self.start_round is not None:
            return self.start_round + iteration
        booster = _training_booster("xgboost")
        if booster is None:
            return iteration + 1
        done: int = booster.num_boosted_rounds()
        return 1 + (self._go_on(done) if iteration == 0 else done)

    def _go_on(self, done: int) -> int:
        """Check that something is left of the schedules after so many rounds."""
        ends = [schedule.total_rounds for schedule in self._schedules().values()]
        if done and ends and done >= max(ends):
            raise ValueError(
                f"the model that is trained on has {done} rounds already, and the schedule of this "
                f"{self.name} ends with round {max(ends)}; give it a total_rounds of all rounds, "
                "old and new, or let it begin anew with start_round=1"
            )
        return done

    def _for_host(
        self, preds: npt.NDArray[Any], host: HostData, round: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Gradient and Hessian of a round as a host should get them."""
        with failing_together(host.host):
            # XGBoost may shape the predictions of a machine without documents as (0, 0).
            scores = preds if np.size(preds) else np.zeros(0)
            scores, labels, boundaries = self._checked(scores, host.labels, host.group)
            n_docs = len(scores)
            if self.perturb is not None:
                # The third number keeps this draw apart from those of targets and queries.
                rng = np.random.default_rng((self.seed, round, 1))
                noise = _buffers.take_noise(n_docs)
                _NOISE[self.perturb](rng, self.perturb_scale, noise)
                scores = np.add(scores, noise, out=noise)
            parts = self._parts(round)
            if self._draws:
                rng = np.random.default_rng((self.seed, round, 2))
                parts = tuple((factor, part._drawn(rng, n_docs)) for factor, part in parts)
            pairs = buffers = _buffers.take(len(parts), n_docs)
            for (_, part), (grad, hess) in zip(parts, pairs, strict=True):
                part._evaluate(scores, labels, boundaries, round, grad, hess)
            if self.perturb is not None:
                _buffers.noise = scores
            del scores, labels  # copies, often: memory for what follows
        share = parts[0][1].hessian_share
        means = self._mean_hessians(host.host, pairs)
        if len(parts) > 1:
            for (factor, part), (grad, hess), mean in zip(parts, pairs, means, strict=True):
                np.maximum(hess, part.hessian_share * mean, out=hess)
                factor /= mean if self.rescale else 1.0
                grad *= factor
                hess *= factor
            for pair in pairs[1:]:
                pairs[0] += pair
            pairs, share = pairs[:1], 0.0
            means = self._mean_hessians(host.host, pairs)
        # What the host's Hessians have as their mean.
        size = 1.0 if self.rescale else means[0]
        grad, hess = pairs[0]
        with failing_together(host.host):
            grad32, hess32 = self._scaled(grad, hess, means[0] / size, share * size, size, host)
        _buffers.arrays = buffers
        if self.query_fraction < 1.0:
            n_queries = len(host.group)
            order = np.random.default_rng((self.seed, round)).permutation(n_queries)
            left_out = np.ones(n_queries, dtype=bool)
            left_out[order[: max(1, int(self.query_fraction * n_queries + 0.5))]] = False
            rows = np.repeat(left_out, host.group)
            grad32[rows] = 0.0
            hess32[rows] = HOST_HESSIAN_FLOOR * size
        return grad32, hess32

    @staticmethod
    def _mean_hessians(host: str, pairs: Floats) -> list[float]:
        """Mean Hessian, of each pair, over the documents with a gradient on all machines."""
        sums = mean_over_machines(host, [n for pair in pairs for n in _active_hessian(*pair)])
        return [total / count if count else 1.0 for total, count in sums.reshape(-1, 2).tolist()]

    def _scaled(
        self, grad: Floats, hess: Floats, unit: float, least: float, size: float, host: HostData
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        weight: Floats = np.empty(0)
        if host.weight is not None:
            weight = check_weight(host.weight, len(grad), len(host.group))
            if len(weight) != len(grad):
                weight = np.repeat(weight, host.group)
        grad32 = np.empty(len(grad), np.float32)
        hess32 = np.empty(len(grad), np.float32)
        floor = HOST_HESSIAN_FLOOR * size
        row = _scale(grad, hess, unit, weight, least, floor, grad32, hess32)
        if row < 0 and unit == np.inf and len(hess):  # it would leave no gradient of anything
            row = int(np.argmax(hess))
        if row >= 0:
            raise self._gradient_not_finite(row, np.append(0, np.cumsum(host.group)))
        return grad32, hess32
