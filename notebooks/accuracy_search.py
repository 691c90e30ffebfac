"""The search behind docs/accuracy.md's first figures: validation parts only, every run in one CSV.

    python notebooks/accuracy_search.py ohsumed S1.txt.gz S2.txt.gz S3.txt.gz S4.txt.gz S5.txt.gz

adds a line to ``accuracy_log.csv`` next to this file for every configuration and tree setting that
has none yet; ``--only`` selects configurations by patterns. Figures are NDCG@10 (standard
convention), means over the five validation parts, after 100, 200 and 300 trees and after the best
of 25, 50, ..., 300 trees, one number for all five. LightGBM trains everything but XGBoost's own.
Test parts are never looked at.

This file implements what was tried but is not a parameter of boostrank: gradients normalised by
query, noise on one part of a mixture, XE-NDCG, sub-models that take turns.

    python notebooks/accuracy_search.py paired ohsumed mq2008

prints the lead per query, on the named sets, of every interleaving and every other mixture of
RankNet and SHF-SDCG in the log over the recommended mixture at its learning rate of .025. This
needs the figures of each query, which every run leaves in ``out/accuracy_search``; ``--again``
makes them for what is in the log, and adds no line.
"""

import argparse
import csv
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import lightgbm
import numba
import numpy as np
import xgboost
from accuracy_noise import ALL_PAIRS, N_SEEDS, interval, synthetic

import boostrank as br
from boostrank.datasets import Fold, letor_folds, load_letor_parts

LOG, OUT = Path(__file__).with_name("accuracy_log.csv"), Path("out/accuracy_search")
ROUNDS, STEP = 300, 25
# Learning rate, leaves, documents in a leaf (XGBoost: min_child_weight 1).
TREES = {
    "a": (0.05, 15, 20),
    "half": (0.025, 15, 20),
    "seven": (0.07, 15, 20),
    "double": (0.1, 15, 20),
}


class Part:
    """Gradients of one loss: noise on the scores, a factor for each query, a mean Hessian of 1.

    The size of the noise may depend on the round and the scores; gradients and Hessians are means
    over `draws` draws of it; grades may be replaced by others.
    """

    def __init__(
        self,
        loss: Any,
        noise: str | None = None,
        scale: Any = 1.0,
        *,
        per_query: str | None = None,
        share: float | None = None,
        draws: int = 1,
        grades: Callable[[Any], Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.loss, self.noise, self.scale, self.seed = loss, noise, scale, seed
        self.per_query, self.share, self.draws, self.grades = per_query, share, draws, grades

    def __call__(self, s: Any, y: Any, group: Any, m: int) -> Any:
        """Return gradient and Hessian in round m."""
        rng = np.random.default_rng((self.seed, m, 1))
        if self.grades:
            y = self.grades(y)
        scale = self.scale(s, m) if callable(self.scale) else self.scale
        runs, share = [], 0.0
        for _ in range(self.draws):
            noisy = s
            if self.noise == "gumbel":
                noisy = s + scale * rng.gumbel(size=len(s))
            elif self.noise == "gaussian":
                noisy = s + scale * rng.normal(size=len(s))
            if isinstance(self.loss, br.objectives.Objective):
                runs.append(self.loss.grad_hess(noisy, y, group, round=m))
                share = self.loss.hessian_share if self.share is None else self.share
            else:
                runs.append(self.loss(noisy, y, group, rng))
        grad, hess = np.mean(runs, axis=0)
        if self.per_query:
            starts = np.cumsum(group) - group
            of = np.abs(grad) if self.per_query in ("sum", "sqrt") else np.where(grad != 0, hess, 0)
            size = np.add.reduceat(of, starts)
            factor = np.where(size > 0, 1.0 / np.maximum(size, 1e-300), 0.0)
            if self.per_query.startswith("sqrt"):
                factor = np.sqrt(factor)
            grad, hess = (v * np.repeat(factor, group) for v in (grad, hess))
        mean = hess[grad != 0].mean()
        return grad / mean, np.maximum(hess / mean, share)


class Sum:
    """A weighted sum of parts that LightGBM can call; weights may change with the round."""

    def __init__(self, *parts: tuple[Any, Part]) -> None:
        self.parts, self.m = parts, 0

    def __call__(self, preds: Any, data: Any) -> Any:
        """Return gradient and Hessian of the next round."""
        self.m += 1
        s, y, group = np.array(preds, float), data.get_label().astype(float), data.get_group()
        total = np.zeros((2, len(s)))
        for weight, part in self.parts:
            tau = weight(self.m) if callable(weight) else weight
            total += tau * np.array(part(s, y, group, self.m))
        return total[0].astype(np.float32), np.maximum(total[1], 1e-6).astype(np.float32)


def xendcg(order: int, mean: bool = False) -> Callable[..., Any]:
    """XE-NDCG (Bruch 2021): its gradient, or LightGBM's with terms up to the third order."""

    def loss(s: Any, y: Any, group: Any, rng: Any) -> Any:
        starts = np.cumsum(group) - group

        def summed(v: Any) -> Any:
            return np.repeat(np.add.reduceat(v, starts), group)

        e = np.exp(s - np.repeat(np.maximum.reduceat(s, starts), group))
        rho = e / summed(e)
        phi = 2.0**y - (0.5 if mean else rng.random(len(s)))
        grad = rho - phi / summed(phi)
        if order == 3:
            rest = np.maximum(1.0 - rho, 1e-12)
            first = grad / rest
            second = rho * (summed(first) - first)
            third = second / rest
            grad = grad + second + rho * (summed(third) - third)
        several = np.repeat(np.asarray(group) > 1, group)
        return np.where(several, grad, 0.0), np.where(several, rho * (1.0 - rho), 1e-10)

    return loss


def one(*args: Any, **kwargs: Any) -> Callable[[], Sum]:
    """Return a factory of one part on its own."""
    return lambda: Sum((1.0, Part(*args, **kwargs)))


def two(tau: Any, first: Part, second: Part) -> Callable[[], Sum]:
    """Return a factory of a mixture, tau the weight of the first."""
    rest = (lambda m: 1.0 - tau(m)) if callable(tau) else 1.0 - tau
    return lambda: Sum((tau, first), (rest, second))


SHF, LAMBDA, GB, RANKNET = br.SHFSDCG(), br.LambdaRank(norm=False), br.GBRank(), br.RankNet()
LOGISTIC = br.Schedule("logistic", ROUNDS)
NOISY = Part(SHF, "gumbel")
NOISY_SUM = Part(SHF, "gumbel", per_query="sum")
GB_NOISY, RANKNET_NOISY = Part(GB, "gumbel"), Part(RANKNET, "gumbel")
GB_SQRT, LAMBDA_SUM = Part(GB, per_query="sqrt"), Part(LAMBDA, per_query="sum")
XE, XE3 = Part(xendcg(1)), Part(xendcg(3))
CONFIGURATIONS: dict[str, Any] = {
    "lgb:lambdarank30": {"objective": "lambdarank"},
    "lgb:lambdarank-all": {"objective": "lambdarank"} | ALL_PAIRS,
    "lgb:rank_xendcg": {"objective": "rank_xendcg"},
    "lgb:regression": {"objective": "regression"},
    "xgb:rank:ndcg": "rank:ndcg",
    "sdcg": one(br.SDCG()),
    "shf-sdcg": one(SHF),
    "lambdarank": one(br.LambdaRank()),
    "lambdarank norm=False": one(LAMBDA),
    "gbrank": one(GB),
    "ranknet": one(RANKNET),
    "listnet": one(br.ListNet()),
    "smooth-ndcg": one(br.SmoothNDCG()),
    "xe-ndcg order=1": one(xendcg(1)),
    "xe-ndcg order=3": one(xendcg(3)),
    "xe-ndcg mean": one(xendcg(1, mean=True)),
    **{
        f"shf-sdcg alpha={alpha} gumbel": one(br.SHFSDCG(alpha=alpha), "gumbel")
        for alpha in (0.5, 1.0, 2.0, 3.0)
    },
    "shf-sdcg gaussian": one(SHF, "gaussian"),
    "sdcg gumbel": one(br.SDCG(), "gumbel"),
    **{f"shf-sdcg {by}": one(SHF, per_query=by) for by in ("sum", "sqrt", "hess", "sqrthess")},
    **{
        f"shf-sdcg gumbel {by}": one(SHF, "gumbel", per_query=by)
        for by in ("sum", "sqrt", "hess", "sqrthess")
    },
    "lambdarank norm=False sum": one(LAMBDA, per_query="sum"),
    "lambdarank norm=False sqrt": one(LAMBDA, per_query="sqrt"),
    "gbrank normalize": one(br.GBRank(normalize=True)),
    "ranknet normalize": one(br.RankNet(normalize=True)),
    "gbrank sqrt": one(GB, per_query="sqrt"),
    **{
        f"reg-shf scaled alpha={alpha}": two(
            LOGISTIC, Part(br.Regression()), Part(br.SHFSDCG(alpha=alpha))
        )
        for alpha in (1.0, 2.0, 3.0)
    },
    "mix .5 xendcg3 shf": two(0.5, XE3, Part(SHF)),
    "mix .5 xendcg1 shf": two(0.5, XE, Part(SHF)),
    "mix .5 xendcg1 lambdarank": two(0.5, XE, Part(br.LambdaRank())),
    "mix .5 gbrank shf": two(0.5, Part(GB), Part(SHF)),
    "mix .5 xendcg1 gbrank": two(0.5, XE, Part(GB)),
    "mix gbrank-sqrt shf-gumbel-sum": two(0.5, GB_SQRT, NOISY_SUM),
    "mix lambdarank-sum shf-gumbel-sum": two(0.5, LAMBDA_SUM, NOISY_SUM),
    "mix xendcg1 shf-gumbel-sum": two(0.5, XE, NOISY_SUM),
    "mix gbrank-sqrt lambdarank-sum": two(0.5, GB_SQRT, LAMBDA_SUM),
    "mix xendcg1 gbrank-sqrt shf-gumbel-sum": lambda: Sum(
        (1 / 3, XE), (1 / 3, GB_SQRT), (1 / 3, NOISY_SUM)
    ),
    "ranknet sqrt": one(RANKNET, per_query="sqrt"),
    "gbrank sum": one(GB, per_query="sum"),
    "shf-sdcg alpha=2.0 gumbel sum": one(br.SHFSDCG(alpha=2.0), "gumbel", per_query="sum"),
    "shf-sdcg gumbel sum share=0.5": one(SHF, "gumbel", per_query="sum", share=0.5),
    "shf-sdcg share=0.5": one(SHF, share=0.5),
    "shf-sdcg share=1": one(SHF, share=1.0),
    "sdcg gumbel sum": one(br.SDCG(), "gumbel", per_query="sum"),
    "gbrank gumbel sqrt": one(GB, "gumbel", 0.5, per_query="sqrt"),
    "gbrank gumbel": one(GB, "gumbel", 0.5),
    "lambdarank norm=False gumbel sum": one(LAMBDA, "gumbel", 0.5, per_query="sum"),
    "xe-ndcg gumbel": one(xendcg(1), "gumbel", 0.5),
    "mix .5 gbrank shf gumbel1": two(0.5, GB_NOISY, NOISY),
    "mix .5 gbrank shf gumbel.5": two(
        0.5, Part(GB, "gumbel", 0.5), Part(br.SHFSDCG(alpha=2.0), "gumbel", 0.5)
    ),
    "mix .5 ranknet shf gumbel1": two(0.5, RANKNET_NOISY, NOISY),
    "mix logistic gbrank shf gumbel1": two(LOGISTIC, GB_NOISY, NOISY),
    "mix logistic ranknet shf gumbel1": two(LOGISTIC, RANKNET_NOISY, NOISY),
    "mix logistic regression shf gumbel1": two(LOGISTIC, Part(br.Regression(), "gumbel"), NOISY),
    "mix .5 gbrank shf gumbel1 sum": two(0.5, Part(GB, "gumbel", per_query="sum"), NOISY_SUM),
    "mix .5 gbrank shf gumbel1 sqrt": two(
        0.5, Part(GB, "gumbel", per_query="sqrt"), Part(SHF, "gumbel", per_query="sqrt")
    ),
    "mix .25 gbrank shf gumbel1": two(0.25, GB_NOISY, NOISY),
    "mix logistic gbrank-sqrt shf-gumbel-sum": two(LOGISTIC, GB_SQRT, NOISY_SUM),
    "mix .5 gbrank sdcg gumbel1": two(0.5, GB_NOISY, Part(br.SDCG(), "gumbel")),
    "ranknet gumbel1": one(RANKNET, "gumbel"),
    "mix .25 ranknet shf gumbel1": two(0.25, RANKNET_NOISY, NOISY),
    "mix .75 ranknet shf gumbel1": two(0.75, RANKNET_NOISY, NOISY),
    "mix .5 ranknet shf": two(0.5, Part(RANKNET), Part(SHF)),
    "mix .5 ranknet sdcg gumbel1": two(0.5, RANKNET_NOISY, Part(br.SDCG(), "gumbel")),
    "mix .5 ranknet-normalize shf gumbel1": two(
        0.5, Part(br.RankNet(normalize=True), "gumbel"), NOISY
    ),
    "mix .5 ranknet-sqrt shf gumbel1": two(0.5, Part(RANKNET, "gumbel", per_query="sqrt"), NOISY),
    "mix .5 listnet shf gumbel1": two(0.5, Part(br.ListNet(), "gumbel"), NOISY),
    "mix .5 ranknet shf gumbel2": two(0.5, Part(RANKNET, "gumbel", 2.0), Part(SHF, "gumbel", 2.0)),
    "mix .5 ranknet shf gaussian": two(0.5, Part(RANKNET, "gaussian"), Part(SHF, "gaussian")),
}


# Mixtures with XE-NDCG, as boostrank has them.
for other in (br.SHFSDCG(), br.RankNet(), br.LambdaRank()):
    for tau in (0.25, 0.5, 0.75):
        for perturb in (None, "gumbel"):
            CONFIGURATIONS[f"Mix xe-ndcg {other.name} {tau} {perturb}"] = partial(
                br.Mix, br.XENDCG(), other, tau, perturb=perturb
            )
MIX = br.Mix(br.RankNet(), br.SHFSDCG(), 0.5, perturb="gumbel")
MIXTURES = ["Mix ranknet shf-sdcg 0.5 gumbel"]
MIXTURES += [f"{MIXTURES[0]} seed={seed}" for seed in range(1, N_SEEDS)]
for seed, name in enumerate(MIXTURES):
    CONFIGURATIONS[name] = partial(MIX.replace, seed=seed)
CONFIGURATIONS["XENDCG"] = br.XENDCG


def noisy_two(*, of: tuple[Any, Any] = (RANKNET, SHF), tau: Any = 0.5, **noise: Any) -> Any:
    """Return a factory of a mixture with noise on both."""
    return two(tau, *(Part(loss, "gumbel", **noise) for loss in of))


# Other options of the mixture. Other gains g come from grades log2(1 + g).
CONFIGURATIONS |= {
    **{f"mixture draws={n}": noisy_two(draws=n) for n in (2, 4, 16)},
    **{f"mixture draws=4 scale={s}": noisy_two(draws=4, scale=s) for s in (0.5, 2.0)},
    **{f"mixture scale={s}": noisy_two(scale=s) for s in (0.5, 2.0)},
    "mixture scale falling": noisy_two(scale=lambda s, m: 2.0 * (1.0 - m / ROUNDS)),
    "mixture scale rising": noisy_two(scale=lambda s, m: 2.0 * m / ROUNDS),
    "mixture scale of scores": noisy_two(scale=lambda s, m: max(0.1, s.std())),
    **{
        f"mixture query_fraction={share}": partial(MIX.replace, query_fraction=share)
        for share in (0.25, 0.5, 0.75)
    },
    "mixture linear gains": noisy_two(grades=lambda y: np.log2(1.0 + y)),
    "mixture cubed gains": noisy_two(grades=lambda y: np.log2(1.0 + (2.0**y - 1.0) ** 3)),
    **{f"mixture k={k}": noisy_two(of=(RANKNET, br.SHFSDCG(k=k))) for k in (5, 10, 20)},
    **{f"mixture alpha={a}": noisy_two(of=(RANKNET, br.SHFSDCG(alpha=a))) for a in (0.5, 2.0, 4.0)},
    **{f"mixture sigma={a}": noisy_two(of=(br.RankNet(sigma=a), SHF)) for a in (0.5, 2.0)},
    **{f"mixture share={share}": noisy_two(share=share) for share in (0.3, 1.0)},
    **{f"mixture warm={n}": noisy_two(tau=lambda m, n=n: float(m <= n)) for n in (25, 75, 150)},
    **{
        f"mixture warm={n} half": noisy_two(tau=lambda m, n=n: 1.0 if m <= n else 0.5)
        for n in (25, 75)
    },
    "mixture per_query=sum": noisy_two(per_query="sum"),
    **{
        f"mixture thirds {other.name}": lambda other=other: Sum(
            *((1 / 3, Part(loss, "gumbel")) for loss in (RANKNET, SHF, other))
        )
        for other in (GB, LAMBDA, br.XENDCG(), br.SDCG(), br.Regression())
    },
    "mixture lambdarank": noisy_two(of=(LAMBDA, SHF)),
    "mixture lambdarank norm": noisy_two(of=(br.LambdaRank(), SHF)),
    "mixture ranknet lambdarank": noisy_two(of=(RANKNET, LAMBDA)),
    "mixture regression": noisy_two(of=(br.Regression(), SHF)),
    # Ahead of the mixture in both ways with one seed, so tried with other seeds.
    **{
        f"mixture k={k} seed={seed}": noisy_two(of=(RANKNET, br.SHFSDCG(k=k)), seed=seed)
        for k in (10, 20)
        for seed in range(1, N_SEEDS)
    },
    **{
        f"mixture scale=2.0 seed={seed}": noisy_two(scale=2.0, seed=seed)
        for seed in range(1, N_SEEDS)
    },
}


class Interleaving:
    """Sub-models in one booster: round m fits number m mod K at its own score; their sum ranks.

    So each learns what it would learn alone with its share of the trees. It is therefore trained
    alone, once for all interleavings, and the values of its trees are kept. Sub-models of the same
    loss have different seeds.
    """

    def __init__(self, *names: str, seed: int = 0, standardized: bool = False) -> None:
        self.subs = [(name, seed + names[:j].count(name)) for j, name in enumerate(names)]
        self.standardized = standardized

    def staged(self, fold: Fold, trees: str, key: str) -> Any:
        """Yield the validation part's scores after every `STEP` trees."""
        subs = [self.values(name, seed, fold, trees, key) for name, seed in self.subs]
        for m in range(STEP, ROUNDS + 1, STEP):
            # Round 1 is the first one's. Each has had m / K rounds, rounded up for the first ones.
            shares = [(m - j + len(subs) - 1) // len(subs) for j in range(len(subs))]
            scores = [v[:n].sum(axis=0) for v, n in zip(subs, shares, strict=True)]
            if self.standardized:
                scores = [s / max(s.std(), 1e-300) for s in scores]
            yield np.sum(scores, axis=0)

    def values(self, name: str, seed: int, fold: Fold, trees: str, key: str) -> Any:
        """Return each tree's values for the validation part's documents."""
        path = OUT / f"{key} {name} {seed} {trees}.npz"
        if not path.exists():
            booster = boosted(SUB_MODELS[name].replace(seed=seed), fold, trees, ROUNDS // 2)
            X = fold.validation.X
            values = [
                booster.predict(X, start_iteration=m, num_iteration=1, num_threads=1)
                for m in range(ROUNDS // 2)
            ]
            np.savez_compressed(path, values=np.array(values, np.float32))
        return np.load(path)["values"].astype(float)


SUB_MODELS: dict[str, Any] = {
    "xe-ndcg": br.XENDCG(),
    "lambdarank": br.LambdaRank(),
    "gbrank": br.GBRank(),
    "ranknet-gumbel": br.RankNet(perturb="gumbel"),
    "shf-sdcg": br.SHFSDCG(),  # with Gumbel noise, its default
    "mix": MIX,
    # Only in pairs with `mix` and `xe-ndcg`:
    "lambdarank-plain": br.LambdaRank(norm=False),
    "ranknet": br.RankNet(),
    "gbrank-gumbel": br.GBRank(perturb="gumbel"),
    "sdcg-gumbel": br.SDCG(perturb="gumbel"),
    "listnet": br.ListNet(),
}
FIRST = list(SUB_MODELS)[:6]
TURNS = [names for k in (2, 3, 4) for names in combinations(FIRST, k)]
TURNS += [(first, other) for first in ("mix", "xe-ndcg") for other in list(SUB_MODELS)[6:]]
TURNS += [(name,) * k for name in ("xe-ndcg", "shf-sdcg", "mix") for k in (2, 3, 4)]
for names in TURNS:
    CONFIGURATIONS[" ".join(("interleave", *names))] = Interleaving(*names)
    # A booster cannot do this; it shows whether the scale of the sub-models' scores matters.
    CONFIGURATIONS[" ".join(("standardized", *names))] = Interleaving(*names, standardized=True)
# Ahead of the mixture on both sets with one seed, so tried with other seeds.
TURNS_AHEAD = "interleave xe-ndcg ranknet-gumbel shf-sdcg"
for seed in range(1, N_SEEDS):
    CONFIGURATIONS[f"{TURNS_AHEAD} seed={seed}"] = Interleaving(*TURNS_AHEAD.split()[1:], seed=seed)
AHEAD = {
    TURNS_AHEAD: "seven",
    "mixture k=10": "half",
    "mixture k=20": "half",
    "mixture scale=2.0": "half",
}


def boosted(configuration: Any, fold: Fold, trees: str, rounds: int = ROUNDS) -> Any:
    """Train LightGBM."""
    rate, leaves, docs = TREES[trees]
    train = fold.train
    params = {
        "metric": "None", "learning_rate": rate, "num_leaves": leaves, "min_data_in_leaf": docs,
        "num_threads": 1, "seed": 0, "deterministic": True, "force_col_wise": True, "verbosity": -1,
    }  # fmt: skip
    data = lightgbm.Dataset(train.X, label=train.y, group=train.group, params=params)
    if isinstance(configuration, dict):
        return lightgbm.train(params | configuration, data, rounds)
    booster = lightgbm.Booster(params | {"objective": "none"}, data)
    for _ in range(rounds):
        booster.update(fobj=configuration)
    return booster


def staged_scores(configuration: Any, fold: Fold, trees: str, key: str) -> Any:
    """Train, and yield the validation part's scores after every `STEP` trees."""
    if isinstance(configuration, Interleaving):
        yield from configuration.staged(fold, trees, key)
        return
    rate, leaves, _ = TREES[trees]
    train, X = fold.train, fold.validation.X
    marks = range(0, ROUNDS, STEP)
    if isinstance(configuration, str):
        params = {
            "objective": configuration, "base_score": 0, "learning_rate": rate, "nthread": 1,
            "grow_policy": "lossguide", "max_leaves": leaves, "max_depth": 0, "seed": 0,
        }  # fmt: skip
        data = xgboost.QuantileDMatrix(train.X, label=train.y, group=train.group, nthread=1)
        model, rows = xgboost.train(params, data, ROUNDS), xgboost.DMatrix(X, nthread=1)
        for m in marks:
            yield model.predict(rows, output_margin=True, iteration_range=(0, m + STEP))
        return
    builtin = isinstance(configuration, dict)
    booster = boosted(configuration if builtin else configuration(), fold, trees)
    scores = np.zeros(len(X))
    for m in marks:
        scores = scores + booster.predict(X, start_iteration=m, num_iteration=STEP, num_threads=1)
        yield scores


def paired(sets: list[str]) -> None:
    """Print the lead of interleavings over the mixture, whose figures are means over its seeds."""
    with LOG.open(newline="", encoding="utf-8") as file:
        best = {tuple(line[:3]): int(line[7]) for line in list(csv.reader(file))[1:]}
    kept = {
        key[1:]
        for key in best
        if all((OUT / f"{data} {key[1]} {key[2]}.npy").exists() for data in sets)
    }

    def figures(data: str, names: list[str], trees: str, rounds: int | None) -> Any:
        marks = [(rounds or best[data, name, trees]) // STEP - 1 for name in names]
        runs = [np.load(OUT / f"{data} {name} {trees}.npy") for name in names]
        return np.mean([run[mark] for run, mark in zip(runs, marks, strict=True)], axis=0)

    def gains(names: list[str], trees: str, rounds: int | None) -> list[Any]:
        """Return the gains on all sets together, and on each."""
        each = [
            figures(data, names, trees, rounds) - figures(data, MIXTURES, "half", rounds)
            for data in sets
        ]
        return [np.concatenate(each), *each]

    for kind, rounds in product(("interleave", "standardized", "mixture"), (None, ROUNDS)):
        tried = sorted(key for key in kept if key[0].startswith(kind) and "seed" not in key[0])
        if not tried:
            continue
        print(f"{kind}, {len(tried)} of them, {'all' if rounds else 'best'} rounds; the mixture:")
        print({data: f"{np.nanmean(figures(data, MIXTURES, 'half', rounds)):.4f}" for data in sets})
        all_gains = [gains([name], trees, rounds) for name, trees in tried]
        table = np.array([gain[0] for gain in all_gains])
        table = table[:, ~np.isnan(table[0])]
        means = table.mean(axis=1)
        for i in np.argsort(-means):
            print(*tried[i], *map(interval, all_gains[i]), sep=", ")
        for trees in sorted({trees for _, trees in tried}):
            rows = [i for i, key in enumerate(tried) if key[1] == trees]
            print(f"mean of {len(rows)}, {trees}: {means[rows].mean():+.4f}")
        # The best on one half of the queries: its gain on that half, and on the other.
        rng, halves = np.random.default_rng(0), []
        for _ in range(1000):
            one, other = np.array_split(rng.permutation(table.shape[1]), 2)
            half = table[:, one].mean(axis=1)
            halves.append((half.max(), table[half.argmax(), other].mean()))
        print("chosen on half of the queries: there, on the other half", np.mean(halves, axis=0))
        for name, trees in AHEAD.items():
            if name.startswith(kind):
                names = [name, *(f"{name} seed={seed}" for seed in range(1, N_SEEDS))]
                seeds = map(interval, gains(names, trees, rounds))
                print(name, trees, "mean of seeds", *seeds, sep=", ")


def main() -> None:
    """Run what is not in the log yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="its name in the log; or paired")
    parser.add_argument("parts", nargs="*", help="five LETOR files; none: noisy synthetic data")
    parser.add_argument("--only", nargs="*", default=["*"])
    parser.add_argument("--again", action="store_true", help="run what the log has")
    parser.add_argument("--trees", nargs="*", default=list(TREES)[:2])
    args = parser.parse_args()
    if args.data == "paired":
        paired(args.parts)
        return
    names = [n for n in CONFIGURATIONS if any(fnmatchcase(n, only) for only in args.only)]
    if not names:
        parser.error(f"no configuration is called {' or '.join(args.only)}")
    OUT.mkdir(parents=True, exist_ok=True)
    numba.set_num_threads(1)
    if args.parts:
        parts = [part.shuffle_within_queries(0) for part in load_letor_parts(args.parts)]
        folds = list(letor_folds(parts))
    else:
        folds = synthetic(2000)
    with LOG.open(newline="", encoding="utf-8") as file:
        done = {tuple(line[:3]) for line in csv.reader(file)}
    for name in names:
        for trees in args.trees:
            if ((args.data, name, trees) in done) != args.again:
                continue
            started = time.perf_counter()
            curves = []
            for k, fold in enumerate(folds):
                rows = fold.validation
                staged = staged_scores(CONFIGURATIONS[name], fold, trees, f"{args.data} {k}")
                curves.append(
                    [
                        br.evaluate(s, rows.y, rows.group, ["ndcg@10"], per_query=True)["ndcg@10"]
                        for s in staged
                    ]
                )
            np.save(OUT / f"{args.data} {name} {trees}.npy", np.concatenate(curves, axis=1))
            if args.again:
                continue
            curve = np.mean([np.nanmean(values, axis=1) for values in curves], axis=0)
            figures = [f"{curve[m // STEP - 1]:.4f}" for m in (100, 200, 300)]
            best = [f"{curve.max():.4f}", STEP * (int(curve.argmax()) + 1)]
            line = [args.data, name, trees, *figures, *best, round(time.perf_counter() - started)]
            with LOG.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(line)


if __name__ == "__main__":
    main()
