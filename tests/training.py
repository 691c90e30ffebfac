"""Plain reference training: the documented gradients of a known round, handed to the host by hand.

A loop that calls `grad_hess` itself and divides by the mean Hessian of the documents that carry a
gradient. A mixture's parts are called and divided one by one. Random numbers are made query by
query. Only what the documentation says is used here, and nothing from `boostrank.hosts`.
"""

import json
from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

import boostrank
from boostrank import registry

ROUNDS = 6
# The smallest Hessian that a host gets, relative to the mean.
HOST_HESSIAN_FLOOR = 1e-6
# The smallest Newton step that counts as one, relative to the usual one.
ROUNDING = 1e-9
LIGHTGBM = {
    "verbosity": -1, "metric": "None", "num_leaves": 7, "min_data_in_leaf": 5, "num_threads": 1,
}  # fmt: skip
XGBOOST = {"objective": "rank:pairwise", "base_score": 0, "max_depth": 3, "nthread": 1}
# The argument for a model that training continues from.
MODEL = {"lightgbm": "init_model", "xgboost": "xgb_model"}
# Those for scores that training starts from, and for weights and such scores of evaluation sets.
START = {"lightgbm": "init_score", "xgboost": "base_margin"}
EVAL_WEIGHT = {"lightgbm": "eval_sample_weight", "xgboost": "sample_weight_eval_set"}
EVAL_START = {"lightgbm": "eval_init_score", "xgboost": "base_margin_eval_set"}


def make_objective(name, rounds=ROUNDS, **params):
    return registry.make_objective(name, params, rounds)


def parts_of(objective, round):
    """Return the weights and objectives that make up a mixture."""
    if isinstance(objective, boostrank.RegSHFSDCG):
        tau = boostrank.Schedule("logistic", objective.total_rounds)
        names = {boostrank.QueryRMSE: ("hessian",)}
        names[boostrank.SHFSDCG] = ("k", "alpha", "beta", "normalize", "discount", "hessian")
        first, second = (cls(**{n: getattr(objective, n) for n in names[cls]}) for cls in names)
    elif isinstance(objective, boostrank.Blend):
        pairs, top = boostrank.RankNet(norm=True, offset=0.1), boostrank.SHFSDCG(alpha=2.0)
        return [(0.25, boostrank.QueryRMSE()), (0.4, pairs), (0.35, top)]
    else:
        return [(1.0, objective)]
    return [(tau(round), first), (1.0 - tau(round), second)]


def split_mix(state):
    """Return the output function of SplitMix64 (Steele, Lea, Flood 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def random_bits(seed, round, scores, y, group, stream):
    """Return 64 random bits per document, a function of its query and its place there."""
    gamma = np.uint64(0x9E3779B97F4A7C15)
    start = np.random.SeedSequence((seed, round)).generate_state(1, np.uint64)
    units = (np.rint(np.asarray(scores, float) * 1024.0) + 1.5 * 2.0**52).view(np.uint64)
    labels = (np.asarray(y, float) + 0.0).view(np.uint64)  # no minus zero
    streams = np.uint64(0xDA942042E4DD58B5) * np.array([stream], np.uint64)
    pieces = [np.zeros(0, np.uint64)]
    for end, n in zip(np.cumsum(group), group, strict=True):
        rows = slice(end - n, end)
        places = gamma * np.arange(1, n + 1, dtype=np.uint64)
        documents = labels[rows] + np.uint64(0xD1342543DE82EF95) * units[rows] + places
        sizes = gamma * np.array([n], np.uint64)
        key = split_mix(start + split_mix(documents).sum(dtype=np.uint64) + sizes)
        pieces.append(split_mix(split_mix(key + streams) + places))
    return np.concatenate(pieces)


def uniforms(*args):
    return ((random_bits(*args) >> np.uint64(12)) + 0.5) / 2.0**52


def grad_hess(objective, scores, y, group, round):
    """Return the gradients of a round, with the numbers that it draws."""
    if objective.n_draws == 0:
        return objective.grad_hess(scores, y, group, round=round)
    grad, hess = np.empty((2, len(y)))
    arrays = np.asarray(scores, float), np.asarray(y, float), np.append(0, np.cumsum(group))
    streams = range(2, 2 + objective.n_draws)
    draws = np.array([uniforms(objective.seed, round, scores, y, group, t) for t in streams])
    objective.write_derivatives(*arrays, round, grad, hess, draws)
    return grad, hess


def noise(objective, scores, y, group, round):
    """Return what is added to the scores in a round."""
    bits = random_bits(objective.seed, round, scores, y, group, 1)
    if objective.perturb == "gumbel":
        return -objective.perturb_scale * np.log(-np.log(((bits >> np.uint64(12)) + 0.5) / 2.0**52))
    upper, lower = ((bits >> np.uint64(32)) + 0.5) / 2.0**32, (bits % np.uint64(2**32)) / 2.0**32
    normal = np.sqrt(-2.0 * np.log(upper)) * np.cos(2.0 * np.pi * lower)
    return objective.perturb_scale * normal


def mean_hessian(grad, hess):
    """Return the mean over the documents with a gradient: one that is more than rounding."""
    pulls = np.abs(grad)
    some = pulls > 0.0
    if not some.any():
        return 1.0
    return hess[pulls > ROUNDING * pulls.sum() / hess[some].sum() * hess].mean()


def host_gradients(objective, scores, y, group, round, weight=1.0):
    """Return the gradients as the hosts should get them; `weight` is one per document.

    Noise reaches all parts but squared errors and normalised RankNet, which see the scores
    before it.
    """
    noiseless = scores
    if objective.perturb is not None:
        scores = scores + noise(objective, scores, y, group, round)
    parts = parts_of(objective, round)
    grad, hess = grad_hess(objective, scores, y, group, round)
    share = objective.hessian_share
    if len(parts) > 1:
        grad, hess, share = 0.0, 0.0, 0.0
        for factor, part in parts:
            squares = isinstance(part, boostrank.Regression | boostrank.QueryRMSE)
            normalised = isinstance(part, boostrank.RankNet) and part.norm
            seen = noiseless if squares or normalised else scores
            g, h = part.grad_hess(seen, y, group, round=round)
            mean = mean_hessian(g, h)
            grad = grad + g * (factor / mean)
            floor = np.where(g != 0.0, part.hessian_share * mean, 0.0)
            hess = hess + np.maximum(h, floor) * (factor / mean)
    mean = mean_hessian(grad, hess)
    if np.ndim(weight):  # 1 on average
        weight = weight * (np.count_nonzero(weight) / np.sum(weight, dtype=np.float64))
    hess = np.maximum(hess / mean, np.where(grad != 0.0, share, 0.0)) * weight
    hess = np.maximum(hess, HOST_HESSIAN_FLOOR)
    return (grad / mean * weight).astype(np.float32), hess.astype(np.float32)


def loop_lightgbm(
    objective, dataset, y, group, *, params=None, rounds=ROUNDS, weight=1.0, each_round=None
):
    booster = lgb.Booster({**LIGHTGBM, "objective": "none", **(params or {})}, dataset)
    for m in range(1, rounds + 1):
        if each_round is not None:
            each_round(booster, m)
        booster.update(
            fobj=lambda preds, _, m=m: host_gradients(objective, preds, y, group, m, weight)
        )
    return booster


def loop_xgboost(objective, matrix, y, group, *, params=None, rounds=ROUNDS, weight=1.0):
    booster = xgb.Booster({**XGBOOST, **(params or {})}, [matrix])
    for m in range(1, rounds + 1):
        booster.update(
            matrix,
            m - 1,
            fobj=lambda preds, _, m=m: host_gradients(objective, preds, y, group, m, weight),
        )
    return booster


def loop(host, objective, d, rounds=ROUNDS):
    """Train by hand, on whole data."""
    if host == "lightgbm":
        return loop_lightgbm(objective, dataset(d), d.y, d.group, rounds=rounds)
    return loop_xgboost(objective, matrix(d), d.y, d.group, rounds=rounds)


def trees(booster):
    """Return every number of every tree of either host's booster."""
    if isinstance(booster, lgb.Booster):
        # `lightgbm.train` writes its model and reads it back, which rounds gains (not leaves).
        booster = lgb.Booster(model_str=booster.model_to_string())
        return [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    return model.get("gbtree", model)["model"]["trees"]


def few_values(names, smallest=1):
    """Return a data frame whose features have few values: any worker alone knows all bins."""
    rng = np.random.default_rng(4)
    group = rng.integers(smallest, 25, 60)
    X = np.clip(np.round(rng.normal(size=(group.sum(), len(names))) * 4), -8, 8) / 4
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))), 0, 4)
    qid = np.repeat(np.arange(len(group)), group)
    return pd.DataFrame(X, columns=names).assign(label=y, qid=qid)


def make_data():
    """Return forty queries; the last feature is a category."""
    rng = np.random.default_rng(11)
    group = rng.integers(1, 16, 40)
    X = rng.normal(size=(group.sum(), 5))
    X[:, 4] = rng.integers(0, 4, len(X))
    y = np.clip(np.round(X[:, 0] + (X[:, 4] == 2) + rng.normal(size=len(X))), 0, 4)
    return SimpleNamespace(X=X, y=y, group=group, qid=np.repeat(np.arange(len(group)), group))


def evaluated(d, X, y=None):
    """Return what `fit` takes next to X and y, with an evaluation set of these features."""
    labels = d.y if y is None else y
    return {"qid": d.qid, "eval_set": [(X, labels)], "eval_qid": [d.qid]}


def of_rows(d, rows):
    """Return the data of these documents, which are whole queries."""
    sizes = np.bincount(d.qid[rows])
    return SimpleNamespace(X=d.X[rows], y=d.y[rows], group=sizes[sizes > 0])


def dataset(d, **kwargs):
    return lgb.Dataset(d.X, d.y, group=d.group, **kwargs)


def matrix(d, kind=xgb.DMatrix, **kwargs):
    return kind(d.X, d.y, group=d.group, **kwargs)


def train(host, objective, d, rounds=ROUNDS, *, params=None, **kwargs):
    """Train as a user would, on whole data or on what the host has made of them."""
    if host == "lightgbm":
        own = {**LIGHTGBM, "objective": objective}
        rows = d if isinstance(d, lgb.Dataset) else dataset(d)
        return lgb.train(own | (params or {}), rows, rounds, **kwargs)
    rows = d if isinstance(d, xgb.DMatrix) else matrix(d)
    return xgb.train(XGBOOST | (params or {}), rows, rounds, obj=objective, **kwargs)


def first_tree(X, y, group, init_score=None, **params):
    """Return what the first tree of LightGBM's adds."""
    # A threshold on sums of Hessians would depend on our scaling.
    own = {**LIGHTGBM, "num_leaves": 31, "min_sum_hessian_in_leaf": 1e-9, "learning_rate": 1.0}
    data = lgb.Dataset(X, y, group=group, init_score=init_score)
    return lgb.train({**own, **params}, data, 1).predict(X, raw_score=True)


def predicted(booster, X):
    return booster.predict(X if isinstance(booster, lgb.Booster) else xgb.DMatrix(X))


def cv_boosters(objective, data, rounds, folds, **given):
    """Return the boosters of `lightgbm.cv`, which measures them too."""
    params, feval = {**LIGHTGBM, "objective": objective}, boostrank.metric("ndcg@10")
    given |= {"folds": folds, "feval": feval, "return_cvbooster": True}
    return lgb.cv(params, data, rounds, **given)["cvbooster"].boosters


class KeepBoosters(xgb.callback.TrainingCallback):
    def after_training(self, model):
        self.boosters = [fold.bst for fold in model.cvfolds]
        return model


class Batches(xgb.DataIter):
    """External memory: batches of ten whole queries or, if `cut`, of equally many rows.

    Batches of whole queries may bring their queries' share of the weights.
    """

    def __init__(self, d, cache, cut=False, weight=None):
        step = len(d.y) // 4
        ends = np.arange(step, len(d.y), step) if cut else np.cumsum(d.group)[9:-1:10]
        self.batches = np.split(np.arange(len(d.y)), ends)
        self.d = d
        self.weight = weight
        self.position = 0
        super().__init__(cache_prefix=str(cache))

    def next(self, input_data):
        if self.position == len(self.batches):
            return False
        rows = self.batches[self.position]
        qid = self.d.qid[rows]
        weight = None if self.weight is None else self.weight[np.unique(qid)]
        input_data(data=self.d.X[rows], label=self.d.y[rows], qid=qid, weight=weight)
        self.position += 1
        return True

    def reset(self):
        self.position = 0
