"""LightGBM's ranker with boostrank's objectives and metrics."""

import inspect
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import lightgbm
import numpy as np

from boostrank.choice import choose_for_ranker
from boostrank.hosts import features, ignored, monitoring, rankers
from boostrank.hosts.metric import Metric
from boostrank.hosts.model_files import booster_of, is_dart, made_up
from boostrank.hosts.position_bias import up_to_best
from boostrank.hosts.stopping import EARLY_STOPPING, first_stop, waiting_lightgbm, warn_of_cut
from boostrank.objectives import Objective
from boostrank.objectives.validation import check_count


def _eval_set(evals: list[rankers.Rows]) -> dict[str, Any]:
    """Return evaluation sets as LightGBM takes them: 4.7 replaced one argument by two."""
    if not evals:
        return {}
    X, y = zip(*((rows.X, rows.y) for rows in evals), strict=True)
    if "eval_X" in inspect.signature(lightgbm.LGBMRanker.fit).parameters:
        return {"eval_X": X, "eval_y": y}
    return {"eval_set": list(zip(X, y, strict=True))}


def _evaluation_sets(eval_set: Any, eval_X: Any, eval_y: Any, *given: Any) -> tuple[Any, ...]:
    """Return pairs of X and y, and what belongs to each, from either form of arguments."""
    if eval_X is None and eval_y is None:
        return (eval_set, *given)
    if eval_set is not None or eval_X is None or eval_y is None:
        raise ValueError("pass either eval_set, or both eval_X and eval_y")
    if not (isinstance(eval_X, tuple) and isinstance(eval_y, tuple)):
        # One set, and what belongs to it: as LightGBM takes it, in a sequence of one, or as it is.
        eval_X, eval_y = (eval_X,), (eval_y,)
        given = tuple(
            values if values is None or (len(values) == 1 and np.ndim(values[0])) else [values]
            for values in given
        )
    if len(eval_X) != len(eval_y):
        raise ValueError(
            f"eval_X and eval_y must have as many sets, got {len(eval_X)} and {len(eval_y)}"
        )
    return (list(zip(eval_X, eval_y, strict=True)), *given)


def _listed(columns: Any) -> Any:
    """Return `categorical_feature` as a list; in any other sequence, LightGBM ignores it."""
    if columns is None or (isinstance(columns, str) and columns == "auto"):
        return columns
    if isinstance(columns, str | int):
        raise ValueError(
            f"categorical_feature must be a list or 'auto', got {columns!r}: pass [{columns!r}]"
        )
    return [each.item() if isinstance(each, np.generic) else each for each in columns]


class LGBMRanker(lightgbm.LGBMRanker):
    """`lightgbm.LGBMRanker` for boostrank's objectives and metrics.

    It also takes row-aligned query ids and weights per query or per document, and it tells an
    objective with a schedule how many rounds there are.

    Parameters
    ----------
    objective : str or objective, default "blend"
        A name of `boostrank.objective_names` or an object such as ``boostrank.SHFSDCG(k=10)``.
        All names are boostrank's: ``"lambdarank"`` is `boostrank.LambdaRank`, not LightGBM's
        objective of that name.
        ``set_params(objective__k=5)`` changes one of its parameters, also in a grid search.
        Schedules are stretched over `n_estimators` (with `init_model`: over its rounds and these),
        whatever their own number of rounds; `objective_` is the objective that was trained.
    metric : str or list of str, default "None"
        LightGBM's own metrics, in addition to those that `fit` names.
    **kwargs
        Every other parameter of `lightgbm.LGBMRanker`: `n_estimators`, `num_leaves`, ...

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.lightgbm import LGBMRanker
    >>> data = make_ranking(20, 10, seed=0)
    >>> ranker = LGBMRanker(objective="reg-shf-sdcg", n_estimators=5, verbosity=-1, n_jobs=1)
    >>> ranker.fit(data.X, data.y, qid=data.qid).predict(data.X).shape
    (200,)
    >>> ranker.objective_.total_rounds
    5
    """

    def __init__(
        self,
        *,
        objective: str | Objective = "blend",
        metric: str | list[str] = "None",
        **kwargs: Any,
    ) -> None:
        super().__init__(objective=objective, metric=metric, **kwargs)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, or of its objective as ``objective__name=value``."""
        trained = self._objective
        super().set_params(**rankers.set_objective(self, params))
        self._objective = trained  # LightGBM takes the new one for it
        return self

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_group: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        eval_at: int | Sequence[int] | None = None,
        callbacks: list[Callable[..., Any]] | None = None,
        init_model: "str | Path | lightgbm.Booster | lightgbm.LGBMModel | None" = None,
        sort: bool = False,
        position: Any = None,
        pairs: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : array_like, data frame, Arrow table or sparse matrix (n_docs, n_features)
        y : array_like (n_docs,) or (n_docs, 1), optional
            Grades, in the objective's domain. May be omitted, or all zeros, if there are pairs.
        group : array_like of integers (n_queries,), optional
            Sizes of consecutive queries.
        qid : array_like (n_docs,), optional
            Instead of `group`: each document's query id; a query's documents must be contiguous.
        sample_weight : array_like (n_queries,) or (n_docs,), optional
            Weights per query or per document; if both lengths are the same, per document.
        init_score : array_like (n_docs,), optional
            Scores to start from.
        eval_set : sequence of (X, y), optional
            Evaluated after each round.
        eval_X, eval_y : array_like or tuple of them, optional
            The same as two arguments: the features and the grades of one set, or of several.
        eval_group, eval_qid, eval_sample_weight, eval_init_score : sequences, optional
            One entry for each evaluation set. If it is the very objects `X` and `y`, weights and
            start scores that are not given are the training's, as in LightGBM.
        eval_metric : str, Metric or sequence of them, optional
            Boostrank's metrics. A name counts labels as the objective does. Default, unless
            `metric` is given: that of `score`, NDCG at each `eval_at` instead of 10.
        eval_at : int or sequence of int, optional
            Cut-offs of each metric in `eval_metric` that has none: "ndcg" with 5 is "ndcg@5".
        callbacks : list, optional
            LightGBM's, such as ``lightgbm.early_stopping(20)``. Copied for each training.
        init_model : path, Booster or ranker, optional
            A model to continue training, from its best round if it has one.
        sort : bool, default False
            Sort all rows by `qid` (`eval_set` by `eval_qid`) first, keeping the order within
            queries. Weights per query must then be in ascending order of ids.
        position : array_like of integers (n_docs,), optional
            Where each document was shown, from 1, for an `Unbiased` objective.
        pairs : array_like (n_pairs, 2), (n_pairs, 3) or (n_pairs, 4), or data frame, optional
            Rows (winner, loser[, weight[, margin]]): which of two rows of `X`, from 0, is better.
            The objective, which `Preferences` must accept, learns from these pairs alone.
        **kwargs
            Other arguments of `lightgbm.LGBMRanker.fit`: `feature_name`, `categorical_feature`, ...

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For an unknown objective or metric, bad labels or weights, both or neither of `group`
            and `qid`, a query split in two, ``bagging_by_query``, or a parameter by a name that
            LightGBM would ignore: ``eta`` for ``learning_rate``, or one that it does not know.
        """
        self._check_params()
        params = self.get_params()
        start: lightgbm.Booster | None = booster_of(init_model, "lightgbm")
        start = None if start is None else up_to_best(start)
        if start is not None and (init_score is not None or eval_init_score is not None):
            raise ValueError(
                "init_score has no effect with init_model, which is the start itself; leave one out"
            )
        if start is not None and start.dump_model(num_iteration=1)["average_output"]:
            raise ValueError(
                "init_model must not be a random forest, since LightGBM would start from the sum "
                "of its trees, not from their mean: pass its predictions as init_score instead"
            )
        train, evals, trained, where = rankers.read_sets(
            self,
            rankers.Given(X, y, group, qid, sample_weight, init_score, position, pairs),
            _evaluation_sets(
                eval_set, eval_X, eval_y, eval_group, eval_qid, eval_sample_weight, eval_init_score
            ),
            sort=sort,
            continued=None if start is None else features.trained_of(start, init_model),
            params=params | kwargs,
        )
        if "categorical_feature" in kwargs:
            kwargs["categorical_feature"] = _listed(kwargs["categorical_feature"])
        names = kwargs.get("feature_name")
        features.check_renaming(train.X, names, self._rules)
        if is_dart(params):  # must not measure the training set, which LightGBM knows by its y
            own = train._replace(y=train.y.copy())
            if kwargs.get("eval_names") is None:  # another set would be reported as no training set
                kwargs["eval_names"] = [
                    "training" if rows.y is train.y else f"valid_{i}"
                    for i, rows in enumerate(evals)
                ]
            evals = [own if rows.y is train.y else rows for rows in evals]
        columns = kwargs.get("categorical_feature")
        if columns is None or columns == "auto":
            chosen = (params.get(name) for name in ignored.CATEGORICAL)
            columns = next((each for each in chosen if each is not None), [])
        one_text = isinstance(columns, str | Integral)  # as LightGBM takes it among its parameters
        features.check_codes(train.X, str(columns).split(",") if one_text else columns, names)
        labels = rankers.labels_to_measure(train, evals)
        metrics = self._metrics_of_fit(eval_metric, eval_at, labels, evaluated=bool(evals))
        if eval_at is not None:
            kwargs["eval_at"] = np.ravel(eval_at).tolist()
        done = 0 if start is None else start.current_iteration()
        objective, self.auto_ = choose_for_ranker(self, train, self.n_estimators, done, **kwargs)
        stopping = next((name for name in EARLY_STOPPING if (params.get(name) or 0) > 0), None)
        if stopping is not None and first_stop(objective, done) > 1:
            raise ValueError(
                f"{stopping} would end the training of {objective.name} before the second of its "
                "losses counts: pass fit callbacks=[lightgbm.early_stopping(...)], which waits"
            )
        # What LightGBM itself trains and shows as `objective_`; `objective` stays the user's.
        self._objective = where(objective)
        before = [] if start is None else start.feature_name()
        if trained.names is None and isinstance(names, str | None) and not made_up(before):
            kwargs["feature_name"] = before  # which LightGBM does not keep
        reporting = ignored.reporting_cutoffs.set(bool(metrics))
        try:
            super().fit(
                train.X,
                train.y,
                sample_weight=train.document_weight,
                init_score=train.offset,
                group=train.group,
                **_eval_set(evals),
                eval_sample_weight=[rows.document_weight for rows in evals] or None,
                eval_init_score=[rows.offset for rows in evals] or None,
                eval_group=[rows.group for rows in evals] or None,
                eval_metric=metrics or None,
                callbacks=waiting_lightgbm(monitoring.fresh(callbacks), self._objective, done),
                init_model=start,
                **kwargs,
            )
        except lightgbm.basic.LightGBMError as error:
            reason = features.nothing_to_split(
                error, len(train.y), "min_child_samples", self.min_child_samples
            )
            if reason:
                raise ValueError(reason) from error
            raise
        finally:
            ignored.reporting_cutoffs.reset(reporting)
        self._n_docs, self._done = len(train.y), done
        self._measure = rankers.measure_of_fit(self, train.y)
        # Callbacks that act before a round, such as `reset_parameter`, change what is learnt.
        acting = [each for each in callbacks or () if getattr(each, "before_iteration", False)]
        given = {
            "sample_weight": sample_weight,
            "init_score": init_score,
            "callbacks": acting or None,
            "categorical_feature": kwargs.get("categorical_feature"),
            "feature_name": names,
        }
        # "auto" is the default of the last two.
        self._given = [name for name, value in given.items() if not isinstance(value, str | None)]
        self._categories = trained.categories
        warn_of_cut(objective, self.evals_result_, self.n_estimators, done)
        return self

    def _check_params(self) -> None:
        """Refuse parameters that LightGBM would take for others, or for none."""
        params = self.get_params()
        for name, others in ignored.LIGHTGBMS_OTHER_NAMES.items():
            for other in others:
                if other in params:
                    raise ValueError(f"{other} must be given as {name}, got {params[other]!r}")
        if "eval_metric" in params:
            given = params["eval_metric"]
            raise ValueError(f"eval_metric must be passed to fit, not to LGBMRanker; got {given!r}")
        check_count("n_estimators", self.n_estimators)
        names = self.metric if isinstance(self.metric, list) else [self.metric]
        if not all(isinstance(each, str | None) for each in names):
            raise TypeError(
                "metric must be a name or a list of names of LightGBM's own metrics, got "
                f"{self.metric!r}; boostrank's go to fit, as eval_metric"
            )
        for name in ",".join(filter(None, names)).split(","):
            ignored.check_metric(name)
        allowed = params.get("interaction_constraints")
        if not isinstance(allowed, str | None) and not all(
            isinstance(each, list) and all(isinstance(column, Integral) for column in each)
            for each in allowed
        ):
            raise TypeError(
                "interaction_constraints must be a list of lists of column numbers, as LightGBM "
                f"reads names as 0 and ignores what is no list; got {allowed!r}"
            )
        # Not those in signatures: of estimators alone, such as `importance_type`, or a subclass's.
        named = {name for each in type(self).__mro__ for name in inspect.signature(each).parameters}
        ignored.check_known(params.keys() - named)

    # LightGBM sets an attribute `_name` that exists for each parameter `name`, such as `metrics`.
    def _metrics_of_fit(
        self, eval_metric: Any, eval_at: Any, labels: Any, *, evaluated: bool
    ) -> list[Any]:
        """Return the metrics of boostrank that are computed in every round."""
        params = self.get_params()
        alone = self.metric == "None"
        given = (eval_at, *map(params.get, ignored.EVAL_AT))
        cutoffs = next((each for each in given if each is not None), None)
        if eval_metric is None and not (alone and (evaluated or cutoffs is not None)):
            return []
        default = rankers.default_metric(self, labels)
        if eval_metric is None and cutoffs is not None:
            eval_metric = "ndcg"
        metrics = monitoring.read_metrics(eval_metric, default, cutoffs)
        if alone and eval_at is not None:
            monitoring.check_cutoffs(metrics, eval_at)
        usual = ignored.DEFAULT_CUTOFFS if cutoffs is None else cutoffs
        monitoring.check_names(metrics, self.metric, usual)
        return metrics

    def predict(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Return scores, as `lightgbm.LGBMRanker.predict` does.

        Columns of a frame are found by the names that they had in training; an array has them in
        the order of training, and so have the contributions of ``pred_contrib=True``.
        """
        return super().predict(rankers.read_like_training(self, X), *args, **kwargs)

    @staticmethod
    def _without_stopping(params: dict[str, Any]) -> dict[str, Any]:
        return params | {name: None for name in EARLY_STOPPING if name in params}

    @property
    def _chosen_rounds(self) -> int:
        return int(self.best_iteration_ or 0)

    def to_host(self) -> lightgbm.LGBMRanker:
        """Return a plain `lightgbm.LGBMRanker` with the same trees, which predicts the same.

        It says that its objective is LightGBM's ``lambdarank``: LightGBM writes no name for a
        custom objective, and tools refuse a model without one. Fitting it again would train that
        objective.

        Returns
        -------
        lightgbm.LGBMRanker

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the ranker is not fitted.
        """
        text = self.booster_.model_to_string(num_iteration=-1)
        text = text.replace("\n[objective: custom]", "\n[objective: lambdarank]")
        if "\nobjective=" not in text:
            text = text.replace("\nfeature_names=", "\nobjective=lambdarank\nfeature_names=", 1)
        booster = lightgbm.Booster(model_str=text)
        booster.best_iteration = self.booster_.best_iteration
        made = rankers.plain(self, lightgbm.LGBMRanker, booster, objective="lambdarank")
        made._objective = "lambdarank"
        return made

    _continued = "init_model"
    _rules = features.LIGHTGBM
    fit_all = rankers.fit_all
    score = rankers.score
