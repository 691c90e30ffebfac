"""Every undocumented feature of LightGBM, XGBoost, Dask or Numba that is relied on.

After the colon stands what happens without it. Each has a test that fails if a new version changes
it, in ``tests/test_traps.py`` unless a file is given.

LightGBM

- The Booster that trains is the local variable ``self`` of a caller (`training_booster`), and has
  ``params`` and ``train_set``: every round is taken for the first, and bagging by query, split
  queries and positions go unnoticed.
- The Booster makes a new list, private, of which predictions are up to date when an update is done
  (`lightgbms_update`): a round whose update fails after its gradients is counted twice.
- With that list, its private method ``__inner_predict``, and ``Dataset.version``
  (`predict_again`): it may hand over scores that nobody has written.
- ``Dataset.used_indices`` and ``Dataset.reference`` (`data`): split queries go unnoticed.
- The estimators count the parameters in `inspect.signature` of an objective (``ShownSignature`` in
  ``objectives/base.py``): LGBMRanker refuses the objective.
- ``lightgbm.train`` and ``lightgbm.cv`` have a local variable ``init_model``
  (`lightgbms_init_model`): continued training learns position factors from the start
  (test_unbiased.py).
- ``lightgbm.train`` has local variables ``is_valid_contain_train`` and ``feval``
  (`lightgbm_will_measure_training`), and the method of a Booster that calls a metric has
  ``data_idx`` (`lightgbm_measuring_training`): DART's trees may end up negated.
- ``LGBMRanker._objective``, which is trained, and ``LGBMRanker._Booster`` may be set
  (`boostrank.lightgbm`): schedules do not take their length from `n_estimators`, and `to_host`
  cannot make a fitted ranker (also test_export.py).
- ``Booster.pandas_categorical``, the parameter ``categorical_feature`` of a loaded Booster and
  ``feature_infos`` of its file (`model_files`): `boostrank predict` does not know the names of
  categories, or takes those of another column (test_tables.py).
- ``lightgbm.basic._ConfigAliases`` knows all parameters (`lightgbms_parameters`): misspelt ones are
  ignored (test_ignored.py).
- A regression starts at the mean of the labels over all workers (`mean_over_lightgbm_workers`):
  gradients would be scaled by each worker alone (test_dask.py).

XGBoost

- ``xgboost.objective.Objective``, "for participants in development", is told the iteration
  (`register_with_xgboost`), and the objective is the local variable ``fobj`` of the Booster's
  method that calls it (`xgboost_calls_directly`): objectives that need the round refuse to train.
- The Booster is the local variable ``self`` of a caller (`training_booster`): rounds start at 1 in
  continued training.
- The ``CallbackContainer`` that asks for metrics is the local ``self`` of a caller, and has
  ``callbacks``, ``metric`` and ``history`` (`xgboost_callbacks`): its early stopping minimises
  most metrics (test_directions.py).
- ``xgboost.training.cv`` is among the callers (`xgboost_cross_validates`): pairs of `Preferences`
  may be taken as rows of a fold (test_preferences.py).
- ``XGBRanker._Booster`` and ``XGBRanker.evals_result_`` may be set (`boostrank.xgboost`): a fitted
  ranker cannot predict (test_estimators.py).
- ``cats``, the names of categories in a model as JSON (`model_files`): a model that was stopped
  early loses them (test_tables.py).

Dask

- ``distributed.get_worker().state.nthreads``, the threads of this worker (`collective`): LightGBM's
  workers do not share the scale of gradients (test_dask.py).

Numba, in ``objectives/engine``; the tests are in test_package.py unless a file is given

- ``compile``, ``overloads`` and ``disable_compile`` of a compiled function (pointers.py;
  test_oracle.py), ``_numba_type_`` of an object that is handed to a kernel (pointers.py), the
  option ``_nrt`` of `njit` (jit.py): no gradient.
- The options ``no_cfunc_wrapper`` and ``no_cpython_wrapper`` of `njit`; ``state.flags`` of a
  compiler, and their ``_values`` (jit.py): compiling takes longer.
- ``state.library`` of a compiler, and its methods for finishing its code (jit.py): compiling takes
  longer, and gradients of the process that compiles may differ in the last bits from those of later
  ones (also test_determinism.py).
- ``type_annotation`` and ``target_context`` of what is compiled (jit.py): a helper that should
  count references and does not goes unnoticed.
- ``_cache`` of a compiled function, the methods of `numba.core.caching.FunctionCache`, ``_reduce``
  and ``_rebuild`` of what is compiled (cache.py): kernels are compiled in every process
  (test_processes.py).
- ``state.flags.noalias`` of a compiler (jit.py): gradients of short queries, and LambdaRank's with
  a truncation, take longer.
"""

import inspect
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from boostrank.objectives import Objective

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def _callers() -> Iterator[FrameType]:
    """Yield the frames of the callers, innermost first."""
    return (frame for frame, _ in traceback.walk_stack(inspect.currentframe()))


def _methods_of(module: str, name: str) -> Iterator[FrameType]:
    """Yield the frames of the callers that are methods of a class, innermost first."""
    kind = getattr(sys.modules.get(module), name, ())
    for frame in _callers():
        # Only methods are inspected: that keeps all locals of a frame alive until it returns.
        method = frame.f_code.co_varnames[:1] == ("self",)
        if method and isinstance(frame.f_locals.get("self"), kind):
            yield frame


def training_booster(host: str) -> Any:
    """Return the Booster that is asking for gradients, or None: hosts pass only the data."""
    return next((frame.f_locals["self"] for frame in _methods_of(host, "Booster")), None)


def xgboost_callbacks() -> Any:
    """Return the ``CallbackContainer`` of XGBoost that is asking for metrics, or None."""
    methods = _methods_of("xgboost.callback", "CallbackContainer")
    return next((frame.f_locals["self"] for frame in methods), None)


def lightgbms_update(booster: Any) -> Any:
    """Return an object, or None, that is another one once an update's gradients are used."""
    return getattr(booster, "_Booster__is_predicted_cur_iter", None)


def predict_again(booster: Any) -> None:
    """Make a LightGBM Booster write the scores of its training set, which it may have left out."""
    up_to_date = lightgbms_update(booster)
    if up_to_date:
        up_to_date[0] = False
        booster._Booster__inner_predict(data_idx=0)


def lightgbms_parameters() -> frozenset[str]:
    """Return all names of LightGBM's parameters; none if they are not known."""
    basic = getattr(sys.modules.get("lightgbm"), "basic", None)
    names: Any = getattr(basic, "_ConfigAliases", None)
    try:
        names.get("metric")  # reads them
        aliases = dict(names.aliases)
    except (AttributeError, TypeError, ValueError):
        return frozenset()
    return frozenset(aliases).union(*aliases.values())


def _locals_of(module: str, *functions: str) -> dict[str, Any]:
    """Return the local variables of the caller that is one of these functions, or none."""
    for frame in _callers():
        if frame.f_code.co_name in functions and frame.f_globals.get("__name__") == module:
            return frame.f_locals
    return {}


def lightgbms_init_model() -> Any:
    """Return the Booster that a LightGBM training continues, or None."""
    model = _locals_of("lightgbm.engine", "train", "cv").get("init_model")
    return model if isinstance(model, sys.modules["lightgbm"].Booster) else None


def lightgbm_will_measure_training() -> bool:
    """Tell whether ``lightgbm.train`` will call a metric (a function) for the training set."""
    known = _locals_of("lightgbm.engine", "train", "cv")
    return bool(known.get("is_valid_contain_train")) and known.get("feval") is not None


def lightgbm_measuring_training() -> Any:
    """Return the LightGBM Booster that is calling a metric for its own training set, or None."""
    methods = (frame.f_locals for frame in _methods_of("lightgbm", "Booster"))
    known = next((each for each in methods if "data_idx" in each), {})
    return known["self"] if known.get("data_idx") == 0 else None


def xgboost_calls_directly(objective: Objective) -> bool:
    """Tell whether XGBoost itself calls the objective, rather than a function around it."""
    methods = _methods_of("xgboost", "Booster")
    return any(frame.f_locals.get("fobj") is objective for frame in methods)


def xgboost_cross_validates() -> bool:
    """Tell whether ``xgboost.cv`` is among the callers."""
    return bool(_locals_of("xgboost.training", "cv"))


def register_with_xgboost() -> None:
    """Ask XGBoost, which must be loaded, to tell all objectives the iteration."""
    base = getattr(sys.modules.get("xgboost.objective"), "Objective", None)
    if base is not None and not issubclass(Objective, base):
        base.register(Objective)


def mean_over_lightgbm_workers(number: float, threads: int) -> float:
    """Return the mean of a number, clipped to float32's range, over LightGBM's workers."""
    lightgbm = sys.modules["lightgbm"]
    # It sets threads and verbosity for all models of the process; the training loses messages.
    params = {"objective": "regression", "verbosity": -1, "num_threads": threads}
    # Labels are float32. Three of them add up to a float64 of their range, and their mean is a
    # third of it. Beyond that range the gradients would not be finite.
    number = float(np.clip(number, -_FLOAT32_MAX, _FLOAT32_MAX))
    labels: list[float] = []
    for _ in range(3):
        labels.append(float(np.float32(number - sum(labels))))
    data = lightgbm.Dataset(np.zeros((3, 1)), labels, params=params)
    constant = lightgbm.Booster(params, data)
    constant.update()
    return 3.0 * float(constant.get_leaf_output(0, 0))
