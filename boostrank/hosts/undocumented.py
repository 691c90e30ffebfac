"""Every undocumented feature of LightGBM, XGBoost, Dask or Numba that is relied on.

Each has a test that names it when a new version changes it. Unless a file is given, the test is in
``tests/test_traps.py``. "Without" says what happens without the feature.

LightGBM

- The Booster that trains is the local variable ``self`` of a caller (`training_booster`), and has
  ``params`` and ``train_set`` (`data.check_lightgbm`). Without: every round is taken for the first,
  and bagging by query, split queries and positions go unnoticed.
  Test: test_the_booster_is_among_the_callers.
- The Booster makes a new list, private, of which predictions are up to date when an update is done
  (`lightgbms_update`). Without: a round whose update fails after its gradients is counted twice.
  Test: test_lightgbms_booster_tells_that_an_update_is_done.
- With that list, its private method ``__inner_predict``, and ``Dataset.version``
  (`predict_again`). Without: it may hand over scores that nobody has written.
  Test: test_scores_after_a_change_of_the_data.
- ``Dataset.used_indices`` and ``Dataset.reference`` (`data.check_lightgbm`). Without: split queries
  go unnoticed. Test: test_lightgbm_datasets_tell_what_is_refused.
- The estimators count the parameters in `inspect.signature` of an objective
  (`boostrank.objectives.base.ShownSignature`). Without: LGBMRanker refuses the objective.
  Test: test_the_hosts_ranker_counts_arguments.
- ``lightgbm.train`` and ``lightgbm.cv`` have a local variable ``init_model``
  (`lightgbms_init_model`). Without: continued training learns position factors from the start.
  Test: tests/test_unbiased.py, test_continued_training_goes_on_with_the_factors.
- ``lightgbm.train`` has local variables ``is_valid_contain_train`` and ``feval``
  (`lightgbm_measures_training`). Without: DART's trees may end up negated.
  Test: test_dart_of_lightgbm_does_not_measure_its_training_set.
- ``LGBMRanker._objective`` is the objective that is trained (`boostrank.lightgbm`), and may be set,
  as ``LGBMRanker._Booster`` may. Without: schedules do not take their length from `n_estimators`,
  and `to_host` cannot make a fitted ranker.
  Tests: test_lightgbms_ranker_trains_its_private_objective; tests/test_export.py, test_to_host.
- ``Booster.pandas_categorical``, the parameter ``categorical_feature`` of a loaded Booster and
  ``feature_infos`` of its file (`model_files.lightgbm_categories`). Without: `boostrank predict`
  does not know the names of categories, or takes those of another column. Test:
  tests/test_tables.py, test_a_model_keeps_the_words_of_its_categories, and the two on what a file
  may say.
- ``lightgbm.basic._ConfigAliases`` knows all parameters (`lightgbms_parameters`). Without: misspelt
  ones are ignored. Test: tests/test_ignored.py, test_unknown_parameters_of_lightgbm.
- A regression starts at the mean of the labels over all workers (`mean_over_lightgbm_workers`).
  Without: gradients would be scaled by each worker alone.
  Test: tests/test_dask.py, test_lightgbm_shares_float64.

XGBoost

- ``xgboost.objective.Objective``, "for participants in development", is told the iteration
  (`register_with_xgboost`), and the objective is the local variable ``fobj`` of the Booster's
  method that calls it (`xgboost_calls_directly`). Without: objectives that need the round refuse to
  train. Tests: test_xgboost_tells_registered_classes_the_iteration,
  test_xgboosts_booster_holds_the_objective.
- The Booster is the local variable ``self`` of a caller (`training_booster`). Without: rounds start
  at 1 in continued training. Test: test_the_booster_is_among_the_callers.
- The ``CallbackContainer`` that asks for metrics is the local ``self`` of a caller, and has
  ``callbacks``, ``metric`` and ``history`` (`xgboost_callbacks`). Without: XGBoost's early stopping
  minimises most metrics. Test: tests/test_directions.py, all of it.
- ``xgboost.training.cv`` is among the callers (`xgboost_cross_validates`). Without: pairs of
  `Preferences` may be taken as rows of a fold. Test: tests/test_preferences.py,
  test_xgboosts_cv_is_refused.
- ``XGBRanker._Booster`` and ``XGBRanker.evals_result_`` may be set (`boostrank.xgboost`). Without:
  a fitted ranker cannot predict. Test: tests/test_estimators.py, all of it.
- ``cats``, the names of categories in a model as JSON (`boostrank.hosts.model_files`). Without: a
  model that was stopped early loses them. Test: that of LightGBM's categories.

Dask

- ``distributed.get_worker().state.nthreads``, the threads of this worker (`collective`). Without:
  LightGBM's workers do not share the scale of gradients.
  Test: tests/test_dask.py, test_two_workers_train_as_one.

Numba, in ``objectives/engine``; the tests are in tests/test_package.py unless a file is given

- Without these, no gradient: ``compile``, ``overloads`` and ``disable_compile`` of a compiled
  function (pointers.py; tests/test_oracle.py, all of it); ``_numba_type_`` of an object that is
  handed to a kernel (pointers.py; test_pointers_are_looked_up_once); the option ``_nrt`` of `njit`
  (jit.py; test_helpers_count_no_references).
- Without these, compiling takes longer: the options ``no_cfunc_wrapper`` and
  ``no_cpython_wrapper`` of `njit` (test_python_calls_no_helper_of_a_kernel); ``state.flags`` of a
  compiler, and their ``_values`` (jit.py; test_options_of_kernels_are_compared_fast).
- ``state.library`` of a compiler, and its methods for finishing its code (jit.py). Without:
  compiling takes longer, and gradients of the process that compiles may differ in the last bits
  from those of later ones. Tests: test_a_helper_is_compiled_with_its_kernels_alone;
  tests/test_determinism.py, test_the_process_that_compiles_gives_the_same_bits.
- ``type_annotation`` and ``target_context`` of what is compiled (jit.py). Without: a helper that
  should count references and does not goes unnoticed.
  Test: test_arrays_that_nobody_would_free_are_refused.
- ``_cache`` of a compiled function, the methods of `numba.core.caching.FunctionCache`, ``_reduce``
  and ``_rebuild`` of what is compiled (cache.py). Without: kernels are compiled in every process.
  Test: tests/test_processes.py, test_damaged_machine_code_is_compiled_again_once.
- ``state.flags.noalias`` of a compiler (jit.py). Without: gradients of short queries, and
  LambdaRank's with a truncation, take longer.
  Test: test_loops_over_disjoint_arrays_do_not_ask_whether_they_overlap.
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


def lightgbm_measures_training() -> bool:
    """Tell whether ``lightgbm.train`` calls a metric (a function) for the training set."""
    known = _locals_of("lightgbm.engine", "train", "cv")
    return bool(known.get("is_valid_contain_train")) and known.get("feval") is not None


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
    """Return the mean of the numbers of the workers of a distributed LightGBM training.

    A number beyond float32's range is clipped to it. LightGBM sets `threads` for all models of the
    process.
    """
    lightgbm = sys.modules["lightgbm"]
    # It sets the verbosity for all models too, so the training only loses messages.
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
