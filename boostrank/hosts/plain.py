"""Rankers of the hosts' own classes with the trees of ours, for tools that know no other class."""

from typing import Any

from boostrank.hosts.features import beyond_ascii
from boostrank.hosts.model_files import since
from boostrank.messages import few, warn

# Each host's objective for the plain ranker: its predictions are the sum of the trees.
LIGHTGBM, XGBOOST = "lambdarank", "rank:pairwise"


def _with_state(plain: Any, ranker: Any, booster: Any) -> Any:
    """Give a new ranker what fitting has left on another one, but for its objective."""
    kept = set(vars(ranker)) - set(ranker.get_params()) - {"objective_"}
    for name in kept:
        setattr(plain, name, getattr(ranker, name))
    plain._Booster = booster
    return plain


def lightgbm_ranker(ranker: Any) -> Any:
    """Return a plain `lightgbm.LGBMRanker` with the same trees, which predicts the same.

    It says that its objective is LightGBM's ``lambdarank``: LightGBM writes no name for a custom
    objective, and tools refuse a model without one. Fitting it again would train that objective.

    Returns
    -------
    lightgbm.LGBMRanker

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the ranker is not fitted.
    """
    import lightgbm

    trained = ranker.booster_
    text = trained.model_to_string(num_iteration=-1)
    text = text.replace("\n[objective: custom]", f"\n[objective: {LIGHTGBM}]")
    if "\nobjective=" not in text:
        text = text.replace("\nfeature_names=", f"\nobjective={LIGHTGBM}\nfeature_names=", 1)
    booster = lightgbm.Booster(model_str=text)
    booster.best_iteration = trained.best_iteration
    plain = lightgbm.LGBMRanker(**{**ranker.get_params(), "objective": LIGHTGBM})
    plain = _with_state(plain, ranker, booster)
    plain._objective = LIGHTGBM
    return plain


def xgboost_ranker(ranker: Any) -> Any:
    """Return a plain `xgboost.XGBRanker` with the same trees, which predicts the same.

    Its objective is ``rank:pairwise``, as in the model file. Fitting it again would train that
    objective. It has no `eval_metric`: boostrank's metrics are not XGBoost's. After training on a
    sparse matrix it needs sparse matrices, for categories with letters beyond ASCII a table of
    Arrow, and it mistakes categories that training did not have; warnings say so.

    Returns
    -------
    xgboost.XGBRanker

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the ranker is not fitted.
    """
    import xgboost

    if ranker.sparse_ and ranker._rules.omitted_is_missing:
        warn(
            "the plain ranker must get sparse matrices only: it takes a zero of an array for 0, "
            "but what the sparse matrix of training left out was missing"
        )
    categories = ranker._categories or {}
    if categories and not since(3, 3):
        warn(
            f"the plain ranker takes a category of {few(list(categories))} that training did not "
            "have for the next one in alphabetical order: make it missing before predicting"
        )
    misread = beyond_ascii(categories)
    if misread:
        warn(
            f"the plain ranker misreads the categories that pandas has for {few(misread)}, which "
            "have letters beyond ASCII: pass it a table of Arrow with dictionaries of pa.string()"
        )
    booster = ranker.get_booster().copy()
    params = {**ranker.get_params(), "objective": XGBOOST, "eval_metric": None}
    if params["base_score"] is None:
        params["base_score"] = 0
    return _with_state(xgboost.XGBRanker(**params), ranker, booster)
