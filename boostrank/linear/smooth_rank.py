"""SmoothRank: a linear ranker that anneals a smooth metric."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from boostrank.datasets import RankingData
from boostrank.linear.base import BatchRanker, best, check_grids
from boostrank.messages import warn_of_no_grades
from boostrank.objectives import Schedule, SmoothAP, SmoothNDCG
from boostrank.objectives.validation import (
    Floats,
    check_choice,
    check_count,
    check_cutoff,
    check_positive,
)


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
    """Return the last of the minimisers of (13), each found by starting from the one before.

    Public because the paper claims more about it than `SmoothRank` can show, whose descent always
    begins at its centre.

    Parameters
    ----------
    objective : SmoothNDCG or SmoothAP
        One minimisation for each round of its schedule.
    data : RankingData
    centre : float64 array (n_features,)
        w_0: the penalty is for leaving it.
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
        # SciPy's "CG" uses the update of Polak and Ribiere. It stops without harm where the loss is
        # not differentiable; the next, narrower loss starts from there.
        w = minimize(penalised, w, args=(m,), jac=True, method="CG", options=options).x
    return w


class SmoothRank(BatchRanker):
    """Linear ranker that maximises a smooth NDCG or AP, made less and less smooth.

    Chapelle, Wu (2009), algorithm 1: for each sigma in turn, nonlinear conjugate gradient descent
    on ``reg_lambda * |w - w_0|^2 + sum of the queries' losses`` from the last minimiser, starting
    at w_0, a ridge regression on the gains. The losses are `boostrank.SmoothNDCG` and
    `boostrank.SmoothAP`.

    Parameters
    ----------
    measure : {"ndcg", "ap"}, default "ndcg"
        What to maximise, and what validation queries choose by: NDCG at `k`, or average precision,
        for which y > 0 is relevant.
    k : int or None, default 50
        Rank cut-off of NDCG, at least 1; None is the whole list. The paper's 50 ranked better than
        smaller cut-offs even at the top of the list (table 3). No effect on AP.
    reg_lambda : float or sequence of floats, default 1.0
        Weight of the penalty for leaving w_0, positive. Of several values, the one that does best
        on `eval_set` is kept, the first of equals; the paper's are ``10.0 ** np.arange(-6, 4)``.
    ridge : float or sequence of floats, default 100.0
        Weight of the penalty |w|^2 of the ridge regression, positive. Of several values, the one
        whose w_0 does best on `eval_set` is taken, before `reg_lambda` is chosen.
    sigma : float or Schedule, default Schedule("halving", 13)
        Squared width of the smoothing in score units, from wide to narrow: one minimisation for
        each round of the schedule. The default is the paper's 2^6, 2^5, ..., 2^-6. A number is one
        minimisation at that sigma.
    max_iter : int, default 50
        Iterations for each sigma, at least 1. On OHSUMED with reg_lambda 1, 200 gave the same
        coefficients as 50, and 10 the same training NDCG to .002.
    tol : float, default 1e-5
        Positive: a minimisation ends earlier if no component of the gradient exceeds this times the
        number of queries.

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
    they count as much as all others together. It has an intercept, which ranking can drop, so
    adding a constant to a feature changes nothing. The scale of features does matter: bring them to
    a common scale.

    Matrix products differ in their last bits from run to run, and where `reg_lambda` is small the
    descent among many local minima amplifies that.

    docs/accuracy.md compares it with the paper on OHSUMED. There, from the unpenalised w_0 of
    section 4.4.1 (.417 NDCG@10 and .418 MAP), it gets to .440 and .445.

    Time for a fit: about 2 `max_iter` evaluations of the loss and its gradient for each sigma and
    reg_lambda, O(n min(n, k)) each for a query of n documents.

    Examples
    --------
    >>> from boostrank import evaluate
    >>> from boostrank.datasets import make_ranking
    >>> from boostrank.linear import SmoothRank
    >>> train, held, test = make_ranking(60, 20, 10, seed=1).split(3, seed=1)
    >>> validation = {"eval_set": (held.X, held.y), "eval_group": held.group}
    >>> model = SmoothRank(k=10, reg_lambda=[0.1, 1.0, 10.0])
    >>> model = model.fit(train.X, train.y, group=train.group, **validation)
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

    def _fit(self, data: RankingData, validation: RankingData | None) -> None:
        measure = check_choice("measure", self.measure, ("ndcg", "ap"))
        k = check_cutoff("k", self.k)
        many = "reg_lambda=10.0 ** np.arange(-6, 4)"
        given = {"reg_lambda": self.reg_lambda, "ridge": self.ridge}
        lambdas, ridges = check_grids(validation, many, **given)
        max_iter, tol = check_count("max_iter", self.max_iter), check_positive("tol", self.tol)
        # Its Hessian is not used, and a constant one costs nothing.
        objective: SmoothNDCG | SmoothAP = SmoothAP(sigma=self.sigma, hessian="constant")
        if measure == "ndcg":
            objective = SmoothNDCG(k=k, sigma=self.sigma, hessian="constant")
        warn_of_no_grades(data.y, "SmoothRank", "sort them into grades")
        metric = "map" if measure == "ap" else "ndcg" if k is None else f"ndcg@{k}"
        starts = [(ridge, _regression(data, ridge)) for ridge in ridges]
        self.ridge_, start = best(starts, validation, metric)
        fit = partial(anneal, objective, data, start, start, max_iter=max_iter, tol=tol)
        paths = [(reg_lambda, fit(reg_lambda=reg_lambda)) for reg_lambda in lambdas]
        self.reg_lambda_, self.coef_ = best(paths, validation, metric)
        self.start_coef_ = start


def _regression(data: RankingData, ridge: float) -> Floats:
    """Return w_0 for a ridge penalty."""
    relevant = data.y > 0.0
    weight = np.ones(len(data.y))
    if 0 < relevant.sum() < len(relevant):
        weight[relevant] = (~relevant).sum() / relevant.sum()
    model = Ridge(alpha=ridge).fit(data.X, np.exp2(data.y) - 1.0, sample_weight=weight)
    return np.asarray(model.coef_)
