"""The figure of docs/gains.md: revenue as the label, under two gains.

    python notebooks/gains_figure.py

writes ``docs/_static/gains.svg``.
"""

import warnings

import numpy as np
from ranking_sets import svg

import boostrank
from boostrank.datasets import RankingData
from boostrank.lab.lightgbm_model import LightGBMModel
from boostrank.lab.plot.axes import line_styles, start_axes
from boostrank.lab.settings import Settings

CUTOFFS = tuple(range(1, 21))
SEEDS = range(5)
LEARNERS = {
    "blend, linear gain": boostrank.Blend(signal="low", gain="linear"),
    "lambdarank, linear gain": boostrank.LambdaRank(gain="linear"),
    "blend, default": boostrank.Blend(signal="low"),
    "lambdarank, default": boostrank.LambdaRank(),
    "regression": boostrank.Regression(),
}


def shop(n_queries: int, seed: int) -> RankingData:
    """Return queries of 10 to 60 offers, of which one in eight is bought at a lognormal price."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(10, 61, n_queries))
    X = rng.normal(size=(len(qid), 8))
    bought = rng.random(len(qid)) < 1.0 / (1.0 + np.exp(2.6 - 1.2 * X[:, 0] - 0.8 * X[:, 1]))
    price = np.exp(2.5 + 0.9 * X[:, 2] + 0.3 * X[:, 3] + 0.4 * rng.normal(size=len(qid)))
    return RankingData(X, np.round(np.minimum(bought * price, 408.0), 2), qid)


def measured(objective: boostrank.objectives.Objective, seed: int) -> list[float]:
    """Train on 400 queries; return NDCG@k of the revenue on 200 others."""
    train, test = shop(400, seed), shop(200, 1000 + seed)
    with warnings.catch_warnings():  # revenues are not exponents: that is the point here
        warnings.simplefilter("ignore")
        model, _ = LightGBMModel.train(objective, train, Settings(rounds=150, seed=seed))
    names = [f"ndcg@{k}" for k in CUTOFFS]
    values = boostrank.evaluate(model.predict(test.X), test.y, test.group, names, gain="linear")
    return list(values.values())


def main() -> None:
    """Train, print and draw."""
    styles = line_styles(LEARNERS, grey=("regression",))
    with svg("gains", 7.0, 3.4) as figure:
        axes = start_axes(figure.subplots())
        for label, objective in LEARNERS.items():
            runs = np.array([measured(objective, seed) for seed in SEEDS])
            mean, spread = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(SEEDS))
            print(
                f"{label:26}"
                + "".join(f"  @{k} {mean[k - 1]:.3f} ± {spread[k - 1]:.3f}" for k in (1, 5, 10))
            )
            axes.plot(CUTOFFS, mean, label=label, **styles[label])
        axes.set_xlabel("k")
        axes.set_ylabel("NDCG@k of the revenue")
        figure.legend(loc="outside right", frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
