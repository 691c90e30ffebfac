r"""Linear rankers: SmoothRank, which anneals a smooth measure, and the ranking perceptron.

Both are scikit-learn estimators that score a document by ``X @ coef_``; an intercept would move
all documents of a query alike. Needs scikit-learn and SciPy: ``pip install "boostrank[cli]"``.

Sources
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    algorithm 1 and section 7: `SmoothRank`.
    Chaudhuri, Tewari: Perceptron-like algorithms and generalization bounds for learning to rank
    (2014), algorithm 1: `Perceptron`.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

try:
    from scipy.optimize import minimize
    from sklearn.base import BaseEstimator
    from sklearn.linear_model import Ridge
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f'linear rankers need scikit-learn and SciPy: pip install "boostrank[cli]" ({error})'
    ) from error

from boostrank.datasets import RankingData
from boostrank.datasets.ranking_data import check_either
from boostrank.metrics import evaluate
from boostrank.objectives import SLAM, Schedule, SmoothAP, SmoothNDCG
from boostrank.objectives.validation import (
    Floats,
    check_choice,
    check_count,
    check_cutoff,
    check_group,
    check_labels,
    check_positive,
)

__all__ = ["Perceptron", "SmoothRank"]


def _ranking(X: Floats, y: Any, group: Any, qid: Any, prefix: str = "") -> RankingData:
    """Return checked features with their grades and queries, told by `group` or by `qid`."""
    check_either(group, qid, prefix)
    if qid is None:
        sizes = np.diff(check_group(group, len(X)))
        qid = np.repeat(np.arange(len(sizes)), sizes)
    data = RankingData(X, y, qid)
    check_labels(data.y, len(data.y))
    return data


class _LinearRanker(BaseEstimator):  # type: ignore[misc]
    """What the linear rankers share: reading data, and scores."""

    coef_: Floats
    n_features_in_: int

    def _read(self, X: Any, y: Any, group: Any, qid: Any, *, reset: bool) -> RankingData:
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        return _ranking(X, y, group, qid)

    def predict(self, X: Any) -> Floats:
        """Score documents.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
            Features, finite, as in `fit`. Queries are not needed.

        Returns
        -------
        float64 array (n_docs,)
            ``X @ coef_``; larger is better.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For another number of features, or values that are not finite.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        scores: Floats = X @ self.coef_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True  # grades
        return tags


def _grid(name: str, value: Any) -> list[float]:
    """Return the positive numbers to choose from: one, or several."""
    values = [value] if np.ndim(value) == 0 else list(value)
    if not values:
        raise ValueError(f"{name} must hold at least one positive number, got none")
    return [check_positive(name, number) for number in values]


def _smooth(measure: str, k: int | None, sigma: float | Schedule) -> SmoothNDCG | SmoothAP:
    """Return the loss. Its Hessian is not used: a constant one costs nothing."""
    if measure == "ndcg":
        return SmoothNDCG(k=k, sigma=sigma, hessian="constant")
    return SmoothAP(sigma=sigma, hessian="constant")


def anneal(
    objective: SmoothNDCG | SmoothAP,
    data: RankingData,
    centre: Floats,
    start: Floats,
    *,
    reg_lambda: float,
    max_iter: int,
    tol: float,
) -> Floats:
    """Return the last of the minimisers of (13), each found from the one before.

    Public because the paper claims more of it than `SmoothRank` shows, whose descent always begins
    at its centre.

    Parameters
    ----------
    objective : SmoothNDCG or SmoothAP
        One minimisation for each round of its schedule.
    data : RankingData
    centre : float64 array (n_features,)
        The w_0 that the penalty is for leaving.
    start : float64 array (n_features,)
        Where the first descent begins.
    reg_lambda, max_iter, tol
        As in `SmoothRank`.

    Returns
    -------
    float64 array (n_features,)
    """
    rounds = objective.sigma.total_rounds if isinstance(objective.sigma, Schedule) else 1
    X, y, group = data.X, data.y, data.group
    options = {"maxiter": max_iter, "gtol": tol * len(group)}

    def penalised(w: Floats, m: int) -> tuple[float, Floats]:
        scores = X @ w
        away = w - centre
        grad = objective.grad_hess(scores, y, group, round=m)[0]
        loss = objective.loss(scores, y, group, round=m).sum()
        return (
            reg_lambda * float(away @ away) + float(loss),  # (13)
            2.0 * reg_lambda * away + X.T @ grad,  # (12)
        )

    w = start
    for m in range(1, rounds + 1):
        # SciPy's "CG" has the update of Polak and Ribiere. It gives up without harm where the loss
        # is not differentiable; the next, narrower loss starts from there.
        w = minimize(penalised, w, args=(m,), jac=True, method="CG", options=options).x
    return w


class SmoothRank(_LinearRanker):
    """Linear ranker that maximises a smooth NDCG or AP, made less and less smooth.

    Chapelle, Wu (2009), algorithm 1: for each sigma in turn, nonlinear conjugate gradient descent
    on ``reg_lambda * |w - w_0|^2 + sum of the queries' losses`` from the last minimiser, starting
    at w_0, a ridge regression on the gains. The losses are `boostrank.SmoothNDCG` and
    `boostrank.SmoothAP`.

    Parameters
    ----------
    measure : {"ndcg", "ap"}, default "ndcg"
        What to maximise, and by what validation queries choose: NDCG at `k`, or average precision,
        for which y > 0 is relevant.
    k : int or None, default 50
        Rank cut-off of NDCG, at least 1; None is the whole list. The paper's 50 ranked better than
        smaller ones even at the top of the list (table 3). No effect on AP.
    reg_lambda : float or sequence of floats, default 1.0
        Weight of the penalty for leaving w_0, positive. Of several, the one that does best on
        `eval_set` is kept, the first of equals; the paper's are ``10.0 ** np.arange(-6, 4)``.
    ridge : float or sequence of floats, default 100.0
        Penalty |w|^2 of the ridge regression, positive; of several, the one whose w_0 does best on
        `eval_set`, before `reg_lambda` is chosen.
    sigma : float or Schedule, default Schedule("halving", 13)
        Squared width of the smoothing in score units, from wide to narrow: one minimisation for
        each round of the schedule. The default is the paper's 2^6, 2^5, ..., 2^-6. A number is one
        minimisation at that sigma.
    max_iter : int, default 50
        Iterations for each sigma, at least 1. On OHSUMED with reg_lambda 1, 200 gave the same
        coefficients as 50, and 10 the same training NDCG to .002.
    tol : float, default 1e-5
        A minimisation ends sooner where no component of the gradient exceeds this times the number
        of queries, positive.

    Attributes
    ----------
    coef_ : float64 array (n_features,)
        w: documents are ranked by ``X @ coef_``.
    start_coef_ : float64 array (n_features,)
        w_0.
    reg_lambda_, ridge_ : float
        The values used.
    n_features_in_ : int
    feature_names_in_ : array (n_features,)
        Where X has column names.

    Notes
    -----
    w_0 is the regression of the paper's section 7: ridge, with relevant documents weighted so that
    they count as much as all others together. It has an intercept, which ranking can drop, so that
    adding a constant to a feature changes nothing. The scale of features does matter: bring them to
    a common one.

    Matrix products differ in their last bits from run to run, and where `reg_lambda` is small the
    descent among many local minima amplifies that.

    On OHSUMED (LETOR 3.0 rules, means of the five test folds, both parameters chosen on validation
    queries among the paper's ten) the test NDCG@10 and MAP are .450 and .448, within .001 between
    runs, the paper's .457 and .448; those of w_0 alone .452 and .448, the paper's .444 and .444.
    With 106 queries these differences are noise. From the unpenalised w_0 of section 4.4.1 (.417
    and .418) SmoothRank gets to .440 and .445.

    Time for a fit: about 2 `max_iter` evaluations of the loss and its gradient for each sigma and
    reg_lambda, O(n min(n, k)) each for a query of n documents.

    Examples
    --------
    >>> from boostrank import evaluate
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import SmoothRank
    >>> train, validation, test = make_ranking(60, 20, 10, seed=1).split(3, seed=1)
    >>> model = SmoothRank(k=10, reg_lambda=[0.1, 1.0, 10.0]).fit(
    ...     train.X,
    ...     train.y,
    ...     group=train.group,
    ...     eval_set=(validation.X, validation.y),
    ...     eval_group=validation.group,
    ... )
    >>> model.reg_lambda_ in (0.1, 1.0, 10.0)
    True
    >>> evaluate(model.predict(test.X), test.y, test.group, ["ndcg@10"])["ndcg@10"] > 0.6
    True
    """

    start_coef_: Floats
    reg_lambda_: float
    ridge_: float

    def __init__(
        self,
        measure: str = "ndcg",
        *,
        k: int | None = 50,
        reg_lambda: float | Sequence[float] = 1.0,
        ridge: float | Sequence[float] = 100.0,
        sigma: float | Schedule = Schedule("halving", 13),  # noqa: B008 - immutable
        max_iter: int = 50,
        tol: float = 1e-5,
    ) -> None:
        self.measure = measure
        self.k = k
        self.reg_lambda = reg_lambda
        self.ridge = ridge
        self.sigma = sigma
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        eval_group: Any = None,
        eval_qid: Any = None,
    ) -> Self:
        """Learn the coefficients.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
            Features, finite.
        y : array_like (n_docs,)
            Grades, 0 <= y <= 1000.
        group : array_like of integers (n_queries,), optional
            Sizes of consecutive queries.
        qid : array_like of integers (n_docs,), optional
            Instead of `group`: each document's query; a query's documents stand together.
        eval_set : (X, y), optional
            Validation queries, needed where `reg_lambda` or `ridge` are several, and only there.
        eval_group, eval_qid : array_like of integers, optional
            The queries of `eval_set`, as `group` or `qid`.

        Returns
        -------
        SmoothRank
            Itself.

        Raises
        ------
        TypeError, ValueError
            For parameters or data of another kind or range; the message names the argument.
        """
        measure = check_choice("measure", self.measure, ("ndcg", "ap"))
        k = check_cutoff("k", self.k)
        lambdas = _grid("reg_lambda", self.reg_lambda)
        ridges = _grid("ridge", self.ridge)
        options: dict[str, Any] = {
            "max_iter": check_count("max_iter", self.max_iter),
            "tol": check_positive("tol", self.tol),
        }
        objective = _smooth(measure, k, self.sigma)
        data = self._read(X, y, group, qid, reset=True)
        validation = self._read_validation(eval_set, eval_group, eval_qid)
        if (len(lambdas) > 1 or len(ridges) > 1) and validation is None:
            raise ValueError(
                "eval_set is missing: reg_lambda or ridge are several, and validation queries "
                "choose among them; pass eval_set=(X, y) with eval_group or eval_qid, or a number"
            )
        if len(lambdas) == len(ridges) == 1 and validation is not None:
            raise ValueError(
                "eval_set has nothing to choose: reg_lambda and ridge are single numbers; "
                "pass several, such as reg_lambda=10.0 ** np.arange(-6, 4), or no eval_set"
            )

        def goodness(w: Floats) -> float:
            if validation is None:
                return 0.0
            name = "map" if measure == "ap" else "ndcg" if k is None else f"ndcg@{k}"
            return evaluate(validation.X @ w, validation.y, validation.group, (name,))[name]

        starts = [(ridge, _regression(data, ridge)) for ridge in ridges]
        self.ridge_, start = max(starts, key=lambda pair: goodness(pair[1]))
        paths = [
            (reg_lambda, anneal(objective, data, start, start, reg_lambda=reg_lambda, **options))
            for reg_lambda in lambdas
        ]
        self.reg_lambda_, self.coef_ = max(paths, key=lambda pair: goodness(pair[1]))
        self.start_coef_ = start
        return self

    def _read_validation(self, eval_set: Any, group: Any, qid: Any) -> RankingData | None:
        if eval_set is None:
            if group is not None or qid is not None:
                raise ValueError(
                    "eval_group and eval_qid tell the queries of eval_set: pass it too"
                )
            return None
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise TypeError(f"eval_set must be a pair (X, y), got {type(eval_set).__name__}")
        X, y = validate_data(self, *eval_set, reset=False, dtype=np.float64, y_numeric=True)
        return _ranking(X, y, group, qid, prefix="eval_")


def _regression(data: RankingData, ridge: float) -> Floats:
    """Return w_0 for a ridge penalty."""
    relevant = data.y > 0.0
    weight = np.ones(len(data.y))
    if 0 < relevant.sum() < len(relevant):
        weight[relevant] = (~relevant).sum() / relevant.sum()
    model = Ridge(alpha=ridge).fit(data.X, np.exp2(data.y) - 1.0, sample_weight=weight)
    w: Floats = model.coef_
    return w


class Perceptron(_LinearRanker):
    """Online linear ranker with a bound on its cumulative NDCG or AP loss.

    Chaudhuri, Tewari (2014), algorithm 1: starting from w = 0, each query is ranked by the current
    w; where that ranking is not perfect by the measure, ``w -= X^T g`` with g the subgradient of
    `boostrank.SLAM` for the query. The step is 1, for its size would only set the scale of w.

    Parameters
    ----------
    measure : str, default "ndcg"
        ``"ndcg"``, ``"ndcg@k"`` (such as ``"ndcg@10"``) or ``"map"``. For "map", y > 0 is relevant,
        and grades count no further. Tied documents are ranked in the order passed, as in
        `boostrank.evaluate`: a tie is an error only where that order is.

    Attributes
    ----------
    coef_ : float64 array (n_features,)
        w: documents are ranked by ``X @ coef_``.
    cumulative_loss_ : float
        Sum over the rounds of 1 - measure, each query ranked before its update; a query without
        relevant documents counts 0. Theorem 5 bounds it.
    n_rounds_, n_updates_ : int
        Queries seen, and those with a loss.
    n_features_in_ : int
    feature_names_in_ : array (n_features,)
        Where X has column names.

    Notes
    -----
    Theorem 5: ``cumulative_loss_ <= 2 sum_t f_t(u) + 4 |u|^2 m R^2 v_max`` for any u, f_t being the
    SLAM losses of the rounds with an update, m the largest number of documents of a query, R the
    largest norm of a document and v_max the largest ratio of two positive SLAM weights in a query.
    If some unit vector ranks every query right with margin gamma, it is at most
    ``4 m R^2 v_max / gamma^2`` in any number of rounds (corollary 6), so that passes over such data
    end in a w that ranks all of it right.

    O(n (n_features + log n)) time for a query of n documents.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import Perceptron
    >>> data = make_ranking(200, 20, 10, seed=1)
    >>> model = Perceptron("ndcg@10").fit(data.X, data.y, group=data.group)
    >>> for _ in range(4):  # more passes over the data
    ...     model = model.partial_fit(data.X, data.y, group=data.group)
    >>> model.n_rounds_
    1000
    """

    cumulative_loss_: float
    n_rounds_: int
    n_updates_: int

    def __init__(self, measure: str = "ndcg") -> None:
        self.measure = measure

    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Self:
        """Start from w = 0 and take the queries once, in their order.

        Parameters
        ----------
        X : array_like (n_docs, n_features)
            Features, finite.
        y : array_like (n_docs,)
            Grades, 0 <= y <= 1000.
        group : array_like of integers (n_queries,), optional
            Sizes of consecutive queries.
        qid : array_like of integers (n_docs,), optional
            Instead of `group`: each document's query; a query's documents stand together.

        Returns
        -------
        Perceptron
            Itself.

        Raises
        ------
        TypeError, ValueError
            For a measure or data of another kind or range; the message names the argument.
        """
        return self._learn(X, y, group, qid, reset=True)

    def partial_fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Self:
        """Go on from the current w with more queries, one a round, in their order.

        Parameters
        ----------
        X, y, group, qid
            As in `fit`.

        Returns
        -------
        Perceptron
            Itself. Calls for the queries one by one give the same w as one `fit` for all.

        Raises
        ------
        TypeError, ValueError
            For a measure or data of another kind or range; the message names the argument.
        """
        return self._learn(X, y, group, qid, reset=not hasattr(self, "coef_"))

    def _learn(self, X: Any, y: Any, group: Any, qid: Any, *, reset: bool) -> Self:
        surrogate = SLAM(measure=self.measure)
        data = self._read(X, y, group, qid, reset=reset)
        labels = (data.y > 0.0).astype(np.float64) if self.measure == "map" else data.y
        if reset:
            self.coef_ = np.zeros(data.X.shape[1])
            self.cumulative_loss_ = 0.0
            self.n_rounds_ = self.n_updates_ = 0
        ends = np.cumsum(data.group)
        for start, end in zip((ends - data.group).tolist(), ends.tolist(), strict=True):
            X_t, y_t, group_t = data.X[start:end], labels[start:end], [end - start]
            scores = X_t @ self.coef_
            loss = 1.0 - evaluate(scores, y_t, group_t, (self.measure,))[self.measure]
            self.n_rounds_ += 1
            if loss > 0.0:  # NaN, of a query without relevant documents, is not
                self.coef_ = self.coef_ - X_t.T @ surrogate.grad_hess(scores, y_t, group_t)[0]
                self.cumulative_loss_ += loss
                self.n_updates_ += 1
        return self
