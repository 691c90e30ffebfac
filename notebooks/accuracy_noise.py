"""Noisy data: the recipe on larger synthetic sets, and whether SHF-SDCG should learn with noise.

    python notebooks/accuracy_noise.py larger 2000 10000
    python notebooks/accuracy_noise.py perturb S1.txt.gz S2.txt.gz S3.txt.gz S4.txt.gz S5.txt.gz
    python notebooks/accuracy_noise.py pooled FOLDER FOLDER

``larger`` makes random polynomials with as much noise as signal (`make_ranking`, noise=1), with 20
documents per query, splits the queries into five parts, trains on three, chooses learning rate and
round on the fourth and tests on the last. It prints the tables of ``docs/accuracy.md``: NDCG@10,
and the differences per query from the recommended mixture with their normal 95 % intervals.

``perturb`` looks at validation parts only. It prints the gain per query of SHF-SDCG with Gumbel
noise, for five seeds, over SHF-SDCG without noise: on five LETOR partitions, on other files split
into five parts, or, without files, on synthetic data with noise and without.

``pooled`` reads five LETOR partitions from each folder and prints the mixture's lead over built-ins
on the test parts, per query of all folders: the mean of five seeds, and each of them.

Each training is run once and kept in ``out/accuracy_noise``. LightGBM trains everything but
XGBoost's own; both grow trees of 15 leaves (LightGBM: at least 20 documents in each) on one thread.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import boostrank as br
from boostrank.datasets import Fold, letor_folds, load_letor, load_letor_parts, make_ranking
from boostrank.lab.environment import kernel_threads
from boostrank.lab.models import HOSTS
from boostrank.lab.settings import Settings
from boostrank.lab.stats import paired_p_value

OUT = Path("out/accuracy_noise")
RATES, STEP = (0.05, 0.1, 0.2), 10
N_SEEDS = 5
# Rounds of each kind of run: larger data is fitted more slowly.
ROUNDS = {"larger": 1000, "perturb": 300, "pooled": 300}
MIX = br.Mix(br.RankNet(), br.SHFSDCG(), 0.5, perturb="gumbel")
ALL_PAIRS = {"lambdarank_truncation_level": 10_000}
LEARNERS: dict[str, Any] = {
    "mix": MIX,
    "shf-sdcg": br.SHFSDCG(),
    "shf-sdcg:perturb=None": br.SHFSDCG(perturb=None),
    "reg-shf-sdcg": br.RegSHFSDCG(total_rounds=ROUNDS["larger"]),
    "lambdarank": br.LambdaRank(),
    "xe-ndcg": br.XENDCG(),
    "lightgbm:lambdarank": "lambdarank",
    "lightgbm:rank_xendcg": "rank_xendcg",
    "xgboost:rank:ndcg": "rank:ndcg",
}


def synthetic(n_queries: int, noise: float = 1.0) -> list[Fold]:
    """Return the only fold of a synthetic set."""
    data = make_ranking(n_queries, 20, 20, seed=7, noise=noise)
    return list(letor_folds(data.split(5, seed=0)))[:1]


def curves(
    key: str,
    objective: Any,
    fold: Fold,
    rate: float,
    rounds: int,
    step: int = STEP,
    more: Any = None,
) -> dict[str, Any]:
    """Return NDCG@10 of every validation and test query after every `step` trees."""
    path = OUT / f"{key}-{rate}.npz".replace(":", "-")
    if not path.exists():
        host = "xgboost" if key.split()[-1].startswith("xgboost:") else "lightgbm"
        settings = Settings(rounds=rounds, learning_rate=rate)
        with kernel_threads(1):
            model, _ = HOSTS[host].train(objective, fold.train, settings, more)
        figures = {}
        for name in ("validation", "test"):
            part = getattr(fold, name)
            figures[name] = [
                br.evaluate(scores, part.y, part.group, per_query=True)["ndcg@10"]
                for m, scores in enumerate(model.staged(part.X), start=1)
                if m % step == 0
            ]
        OUT.mkdir(parents=True, exist_ok=True)
        np.savez(path, **figures)
    return dict(np.load(path))


def interval(difference: Any) -> str:
    """Return a mean with its normal 95 % interval; queries that are left out are NaN."""
    known = difference[~np.isnan(difference)]
    mean, half = known.mean(), 1.96 * known.std(ddof=1) / len(known) ** 0.5
    return " ".join(f"{value:+.4f}" for value in (mean, mean - half, mean + half))


def larger(n_queries: int) -> None:
    """Print the tables of one synthetic set."""
    (fold,) = synthetic(n_queries)
    chosen: dict[str, Any] = {}
    for name, objective in LEARNERS.items():
        runs = {}
        for rate in RATES:
            key = f"larger {n_queries} {name}"
            runs[rate] = curves(key, objective, fold, rate, ROUNDS["larger"])
        means = {rate: np.nanmean(run["validation"], axis=1) for rate, run in runs.items()}
        for how in ("best round", "all rounds"):
            place = {r: int(m.argmax()) if how == "best round" else -1 for r, m in means.items()}
            rate = max(RATES, key=lambda r: means[r][place[r]])
            at = STEP * (place[rate] % len(means[rate]) + 1)
            chosen[name, how] = rate, at, runs[rate]["test"][place[rate]]
        print(name, {rate: mean[24::25].round(4) for rate, mean in means.items()})
    for how in ("best round", "all rounds"):
        print(f"| {n_queries:,} queries, {how} | rate | trees | NDCG@10 | mix less this |")
        for name in LEARNERS:
            rate, at, figures = chosen[name, how]
            mean, less = np.nanmean(figures), interval(chosen["mix", how][2] - figures)
            print(f"| {name} | {rate} | {at} | {mean:.4f} | {less} |")


def perturb(paths: list[str]) -> None:
    """Print the gains of noise for SHF-SDCG on validation parts."""
    if not paths:
        gains("noisy", synthetic(2000))
        gains("clean", synthetic(2000, noise=0.0))
        return
    parts = load_letor_parts(paths) if len(paths) == 5 else load_letor(paths).split(5, seed=0)
    shuffled = [part.shuffle_within_queries(0) for part in parts]
    gains(Path(paths[0]).resolve().parent.name, list(letor_folds(shuffled)))


def gains(data: str, folds: list[Fold]) -> None:
    """Print the gains of noise over folds."""
    plain = br.SHFSDCG(perturb=None)
    objectives = {"none": plain} | {
        f"gumbel{seed}": plain.replace(perturb="gumbel", seed=seed) for seed in range(N_SEEDS)
    }
    for rate in (0.025, 0.05):
        runs = {
            name: [
                curves(f"perturb {data} {k} {name}", objective, fold, rate, ROUNDS["perturb"])
                for k, fold in enumerate(folds)
            ]
            for name, objective in objectives.items()
        }
        pooled = {
            name: np.concatenate([run["validation"] for run in of], axis=1)
            for name, of in runs.items()
        }
        # The gain of the mean over seeds, and of each seed: their spread is that of the draws.
        for m in (100, 200, 300):
            at = {name: values[m // STEP - 1] for name, values in pooled.items()}
            more = [at[name] - at["none"] for name in objectives if name != "none"]
            print(
                f"{data} rate {rate} trees {m}: without {np.nanmean(at['none']):.4f}, "
                f"noise {interval(np.mean(more, axis=0))}, "
                f"seeds {[f'{np.nanmean(gain):+.4f}' for gain in more]}"
            )


def pooled(folders: list[str]) -> None:
    """Print the mixture's lead over built-ins."""
    sets = {}
    for folder in folders:
        parts = load_letor_parts(sorted(Path(folder).glob("S[1-5].txt*")))
        shuffled = [part.shuffle_within_queries(0) for part in parts]
        sets[Path(folder).resolve().name] = list(letor_folds(shuffled))

    def tested(name: str, objective: Any, rate: float, more: Any = None) -> dict[str, Any]:
        figures: dict[str, Any] = {"best round": [], "all rounds": []}
        for data, folds in sets.items():
            for k, fold in enumerate(folds):
                key = f"pooled {data} {k} {name}"
                run = curves(key, objective, fold, rate, ROUNDS["pooled"], 1, more)
                best = int(np.nanmean(run["validation"], axis=1).argmax())
                figures["best round"].append(run["test"][best])
                figures["all rounds"].append(run["test"][-1])
        return {how: np.concatenate(values) for how, values in figures.items()}

    seeds = [tested(f"mix{seed}", MIX.replace(seed=seed), 0.025) for seed in range(N_SEEDS)]
    built_ins = ("lightgbm:lambdarank", "lightgbm:rank_xendcg", "xgboost:rank:ndcg")
    rows = [(name, LEARNERS[name], None) for name in built_ins]
    rows.insert(1, ("lightgbm:lambdarank-all", "lambdarank", ALL_PAIRS))
    for name, built_in, more in rows:
        for rate in (0.05, 0.025):
            theirs = tested(name, built_in, rate, more)
            for how, figures in theirs.items():
                ours = [seed[how] for seed in seeds]
                mean = np.mean(ours, axis=0)
                each = [f"{np.nanmean(values - figures):+.4f}" for values in ours]
                p_value = paired_p_value(mean, figures, seed=0)
                print(f"{name} {rate} {how}: {interval(mean - figures)}, p {p_value:.3f}, {each}")


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "larger":
        for size in rest:
            larger(int(size))
    elif command == "pooled":
        pooled(rest)
    else:
        perturb(rest)
