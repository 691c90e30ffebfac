"""XGBoost's ranker with boostrank's objectives and metrics."""

from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import xgboost
from xgboost.callback import EarlyStopping, TrainingCallback

from boostrank.choice import choose_for_ranker
from boostrank.datasets.ranking_data import check_aligned
from boostrank.hosts import features, gradient_for_host, model_files, monitoring, rankers
from boostrank.hosts.ignored import XGBOOSTS_OTHER_NAMES, by_usual_names
from boostrank.hosts.stopping import waiting_xgboost, warn_of_cut
from boostrank.messages import few, warn
from boostrank.objectives import Objective
from boostrank.objectives.validation import Floats, check_count


class _DocumentWeights(xgboost.objective.Objective):
    """An objective with one weight per document.

    A DMatrix with queries holds one per query, of which XGBoost makes wrong histograms and, in a
    linear booster, NaN.
    """

    def __init__(self, objective: Objective, weight: Floats) -> None:
        self.objective = objective
        self.weight = weight

    def __call__(
        self, iteration: int, y_pred: Any, dtrain: xgboost.DMatrix
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        return gradient_for_host(self.objective, (iteration, y_pred, dtrain), self.weight)


class _Attributes(TrainingCallback):
    """Attributes of a model, which those have too that other callbacks save in training."""

    def __init__(self, **values: str) -> None:
        super().__init__()
        self.values = values

    def before_training(self, model: xgboost.Booster) -> xgboost.Booster:
        model.set_attr(**self.values)
        return model


class XGBRanker(xgboost.XGBRanker):
    """`xgboost.XGBRanker` for boostrank's objectives and metrics.

    It also takes weights per document, and it tells an objective with a schedule how many rounds
    there are. A saved model loads into a plain `xgboost.XGBRanker`.

    Parameters
    ----------
    objective : str or objective, default "blend"
        A name of `boostrank.objective_names` or an object such as ``boostrank.SHFSDCG(k=10)``.
        All names are boostrank's: ``"lambdarank"`` is `boostrank.LambdaRank`; XGBoost's own is
        ``rank:ndcg`` in `xgboost.XGBRanker`.
        ``set_params(objective__k=5)`` changes one of its parameters, also in a grid search.
        Schedules are stretched over `n_estimators` (with `xgb_model`: over its rounds and these),
        whatever their own number of rounds; `objective_` is the objective that was trained.
    **kwargs
        Every other parameter of `xgboost.XGBRanker`: `n_estimators`, `max_depth`, `callbacks`, ...
        Each training copies the callbacks.
        `eval_metric` is one or several of boostrank's metrics, by default that of `score`; a name
        counts labels as the objective does. `early_stopping_rounds` uses the last of them on the
        last evaluation set.
        `base_score` is 0 by default, or that of a model that is continued.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.xgboost import XGBRanker
    >>> data = make_ranking(20, 10, seed=0)
    >>> ranker = XGBRanker(objective="reg-shf-sdcg", n_estimators=5, n_jobs=1)
    >>> ranker.fit(data.X, data.y, qid=data.qid).predict(data.X).shape
    (200,)
    >>> ranker.objective_.total_rounds
    5
    """

    def __init__(self, *, objective: str | Objective = "blend", **kwargs: Any) -> None:
        nested = {name: kwargs.pop(name) for name in [*kwargs] if name.startswith("objective__")}
        super().__init__(objective="rank:pairwise", **kwargs)
        self.objective = objective
        if nested:
            self.set_params(**nested)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, or of its objective as ``objective__name=value``."""
        super().set_params(**rankers.set_objective(self, params))
        return self

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters that XGBoost itself gets.

        Their objective is the built-in ``rank:pairwise``, so that predictions are raw scores and
        plain rankers can load the model.
        """
        params: dict[str, Any] = super().get_xgb_params()
        params.pop("eval_metric", None)  # XGBoost leaves a callable out itself
        if params["base_score"] is None:
            params["base_score"] = 0
        own = {"objective": "rank:pairwise", "disable_default_eval_metric": True}
        return features.xgboost_constraints(params) | own

    def load_model(self, fname: Any) -> None:
        """Load a model, from a path or a bytearray, up to its best round.

        A model does not record the objective that it was trained with. What is not a complete model
        of XGBoost is a ValueError.
        """
        objective = self.objective
        if isinstance(fname, str | Path | bytearray):
            fname = model_files.read_booster(fname, "xgboost").save_raw("ubj")
        super().load_model(fname)
        self.objective = objective
        of_training = ("auto_", "evals_result_", "objective_")
        for name in (*of_training, "_n_docs", "_done", "_given", "_measure"):
            self.__dict__.pop(name, None)
        booster = self.get_booster()
        self.missing = model_files.missing_of(self, booster)
        self._categories: Mapping[str, Any] | None = model_files.xgboost_categories(booster)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        verbose: bool | int | None = False,
        xgb_model: "xgboost.Booster | xgboost.XGBModel | str | Path | None" = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        base_margin_eval_set: Sequence[Any] | None = None,
        sort: bool = False,
        position: Any = None,
        pairs: Any = None,
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
            Instead of `group`: each document's query id. A query's documents must be contiguous;
            ids need not ascend.
        sample_weight : array_like (n_queries,) or (n_docs,), optional
            Weights per query or per document; if both lengths are the same, per document.
        base_margin : array_like (n_docs,), optional
            Scores to start from.
        eval_set : sequence of (X, y), optional
            Evaluated after each round.
        eval_group, eval_qid, sample_weight_eval_set, base_margin_eval_set : sequences, optional
            One entry for each set in `eval_set`.
        verbose : bool or int, default False
            Print the metrics after every round, or after every n-th.
        xgb_model : path, Booster or ranker, optional
            A model to continue training, from its best round if it has one.
        sort : bool, default False
            Sort all rows by `qid` (`eval_set` by `eval_qid`) first, keeping the order within
            queries. Weights per query must then be in ascending order of ids.
        position : array_like of integers (n_docs,), optional
            Where each document was shown, from 1, for an `Unbiased` objective.
        pairs : array_like (n_pairs, 2), (n_pairs, 3) or (n_pairs, 4), or data frame, optional
            Rows (winner, loser[, weight[, margin]]): which of two rows of `X`, from 0, is better.
            The objective, which `Preferences` must accept, learns from these pairs alone.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For an unknown objective or metric, bad labels or weights, both or neither of `group`
            and `qid`, a query whose documents are not contiguous, or an ``EarlyStopping`` whose
            ``maximize`` is wrong for its metric; it may be left out.
        """
        self._check_params()
        start: xgboost.Booster | None = model_files.booster_of(xgb_model, "xgboost")
        if start is not None:
            start = model_files.to_continue(start)
            self._check_start(xgb_model, start)
        train, evals, trained, where = rankers.read_sets(
            self,
            rankers.Given(X, y, group, qid, sample_weight, base_margin, position, pairs),
            (eval_set, eval_group, eval_qid, sample_weight_eval_set, base_margin_eval_set),
            sort=sort,
            continued=None if start is None else features.trained_of(start, xgb_model),
            params=self.get_params(),
        )
        kinds = () if self.feature_types is None else self.feature_types
        codes = [i for i, kind in enumerate(kinds) if kind == "c"]
        features.check_codes(train.X, codes, None, self.missing)
        categories = trained.categories or {}
        for name, values in categories.items():
            if self.missing in range(len(values)):
                raise ValueError(
                    f"missing={self.missing:g} is also the code of a category of {name!r}, which "
                    "XGBoost would take for missing: write NaN for what is missing"
                )
        labels = rankers.labels_to_measure(train, evals)
        metrics = monitoring.read_metrics(self.eval_metric, rankers.default_metric(self, labels))
        callbacks = monitoring.fresh(self.callbacks)
        # What `xgboost.train` makes of early_stopping_rounds.
        if self.early_stopping_rounds:
            callbacks.append(EarlyStopping(rounds=self.early_stopping_rounds))
        stopping = [each for each in callbacks if isinstance(each, EarlyStopping)]
        if stopping and not metrics:
            raise ValueError(
                "eval_metric must name a metric for early stopping: leave it out for the default"
            )
        for each in stopping:
            each.save_best = False  # `best_rounds` does the same, and keeps the categories
            named = (one for one in metrics if one.name == each.metric_name)
            next(named, metrics[-1]).direct(each)  # XGBoost guesses the direction from the name
        rounds = self.get_num_boosting_rounds()
        done = 0 if start is None else start.num_boosted_rounds()
        params = self.get_xgb_params()
        if params.get("process_type") == "update":
            done = 0  # it goes through the model's own rounds again
        objective, self.auto_ = choose_for_ranker(self, train, rounds, done)
        self.objective_ = where(objective)
        weight = train.document_weight
        obj = self.objective_ if weight is None else _DocumentWeights(self.objective_, weight)
        if start is not None and self.base_score is None:
            # The model's own stands, as a score; its objective may have had it as a probability.
            params["base_score"] = model_files.first_score(start)
        if stopping:
            model_files.check_stopping("xgboost", params)
        attributes = {model_files.SPARSE: str(int(features.omits(train.X)))}
        if not np.isnan(self.missing):
            attributes[model_files.MISSING] = repr(float(self.missing))
        with xgboost.config_context(verbosity=self.verbosity):
            matrix = self._matrix(train, start)
            sets = [(self._matrix(rows, matrix), f"validation_{i}") for i, rows in enumerate(evals)]
            history: dict[str, Any] = {}
            self._Booster = xgboost.train(
                params,
                matrix,
                rounds,
                evals=sets,
                obj=obj,
                custom_metric=lambda preds, data: [metric(preds, data) for metric in metrics],
                evals_result=history,
                verbose_eval=verbose,
                xgb_model=start,
                callbacks=[
                    _Attributes(**attributes),
                    *waiting_xgboost(callbacks, self.objective_, done),
                ],
            )
        self._Booster = model_files.best_rounds(self._Booster)  # so that all predict the same
        warn_of_cut(self.objective_, history, rounds, done)
        self.evals_result_ = history
        self._n_docs, self._done = len(train.y), done
        self._measure = rankers.measure_of_fit(self, train.y)
        given = {"sample_weight": sample_weight, "base_margin": base_margin}
        self._given = [name for name, value in given.items() if value is not None]
        self._categories = categories
        return self

    def _check_params(self) -> None:
        """Refuse parameters that XGBoost silently ignores, or of which it makes no model."""
        if not isinstance(self.missing, Real):
            raise TypeError(f"missing must be a number, by default NaN, got {self.missing!r}")
        check_count("n_estimators", self.get_num_boosting_rounds())
        given = {name: value for name, value in self.get_params().items() if value is not None}
        by_usual_names(given, XGBOOSTS_OTHER_NAMES, "xgboost")
        for name, value in getattr(self, "kwargs", {}).items():
            if callable(value):
                raise TypeError(
                    f"{name} is no parameter of XGBRanker: pass an objective as objective=, and a "
                    "metric as eval_metric="
                )

    def _check_start(self, model: Any, start: xgboost.Booster) -> None:
        # With booster=None, XGBoost keeps the model's, but zeros are another matter.
        kind = model_files.kind_of(start)
        own = "gbtree" if self.booster == "dart" and model_files.since(3, 3) else self.booster
        if own != kind and (own is not None or kind == "gblinear"):
            raise ValueError(
                f"the model to continue has booster={kind!r}, this ranker {self.booster!r}, for "
                f"which XGBoost drops that model or misreads X: set booster={kind!r}"
            )
        before = model_files.missing_of(model, start)
        if not np.isnan(before) and before != self.missing:
            raise ValueError(
                f"the model to continue takes {before:g} for a missing value, this ranker "
                f"{self.missing:g}: set missing={before:g}"
            )

    @property
    def _rules(self) -> features.HostRules:
        # What is missing counts as 0 in a linear model.
        zeros_count = self.missing != 0 and self.booster != "gblinear"
        return features.XGBOOST._replace(
            categories=self.enable_categorical, omitted_is_missing=zeros_count
        )

    def _matrix(
        self, rows: rankers.Rows, like: "xgboost.Booster | xgboost.DMatrix | None"
    ) -> xgboost.DMatrix:
        """Return a training set, named like a model to continue, or an evaluation set like that."""
        ref = like if isinstance(like, xgboost.DMatrix) else None
        made: xgboost.DMatrix = features.xgboost_matrix(
            rows.X,
            self.get_params(),
            ref,
            label=rows.y,
            group=rows.group,
            base_margin=rows.offset,
            missing=self.missing,
            nthread=self.n_jobs,
            feature_types=self.feature_types,
            enable_categorical=self.enable_categorical,
            # Of weights, the metrics of an evaluation set read those of queries.
            weight=None if ref is None else rows.query_weight,
            feature_weights=self.feature_weights if ref is None else None,
        )
        if like is not None:  # an array has its features in this order
            made.feature_names = like.feature_names
        return made

    def predict(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Return scores, as `xgboost.XGBRanker.predict` does.

        Columns of a frame are found by the names that they had in training; an array has them in
        the order of training.
        """
        start = kwargs.get("base_margin")
        check_aligned("X", X, base_margin=start)
        X = rankers.read_like_training(self, X)
        if start is not None:
            kwargs["base_margin"] = rankers.check_start("base_margin", start, X.shape[0])
        kwargs.setdefault("validate_features", False)
        return super().predict(X, *args, **kwargs)

    def apply(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Return leaves, as `xgboost.XGBRanker.apply` does, from what `predict` takes."""
        return super().apply(rankers.read_like_training(self, X), *args, **kwargs)

    @staticmethod
    def _without_stopping(params: dict[str, Any]) -> dict[str, Any]:
        callbacks = [one for one in params["callbacks"] or () if not isinstance(one, EarlyStopping)]
        return params | {"early_stopping_rounds": None, "callbacks": callbacks or None}

    @property
    def _chosen_rounds(self) -> int:
        stopped = self.get_booster().attr("best_iteration") is not None
        return self.get_booster().num_boosted_rounds() if stopped else 0

    def to_host(self) -> xgboost.XGBRanker:
        """Return a plain `xgboost.XGBRanker` with the same trees, which predicts the same.

        Its objective is ``rank:pairwise``, as in the model file. Fitting it again would train that
        objective. It has no `eval_metric`: boostrank's metrics are not XGBoost's. After training on
        a sparse matrix it needs sparse matrices, for categories with letters beyond ASCII a table
        of Arrow, and it mistakes categories that training did not have; warnings say so.

        Returns
        -------
        xgboost.XGBRanker

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the ranker is not fitted.
        """
        if model_files.of_sparse(self.get_booster()) and self._rules.omitted_is_missing:
            warn(
                "the plain ranker must get sparse matrices only: it takes a zero of an array for "
                "0, but what the sparse matrix of training left out was missing"
            )
        categories = self._categories or {}
        if categories and not model_files.since(3, 3):
            warn(
                f"the plain ranker takes a category of {few(list(categories))} that training did "
                "not have for the next one in alphabetical order: make it missing before predicting"
            )
        misread = features.beyond_ascii(categories)
        if misread:
            warn(
                f"the plain ranker misreads categories of pandas for {few(misread)}, which have "
                "letters beyond ASCII: pass it a table of Arrow with dictionaries of pa.string()"
            )
        base = 0 if self.base_score is None else self.base_score
        own = {"objective": "rank:pairwise", "eval_metric": None, "base_score": base}
        return rankers.plain(self, xgboost.XGBRanker, self.get_booster().copy(), **own)

    _continued = "xgb_model"
    fit_all = rankers.fit_all
    score = rankers.score
