"""Scores as probabilities on real data: the table and the figure of docs/calibration.md.

    python notebooks/calibration.py --seeds 1 2 3

Folds and data are those of ranking_sets.py. A fold's best of 100, 200 and 300 rounds is chosen by
NDCG@10. Results are over the documents of all five test parts.
"""

from itertools import product

import numpy as np
from accuracy_dial import Trees
from boostrank.objectives.validation import Floats
from ranking_sets import folds, ndcg, parser, svg, trained
from scipy.special import logit

import boostrank
from boostrank import plot
from boostrank.calibration import Platt
from boostrank.metrics.probabilities import probabilities

TOP = {"ohsumed": 2.0, "mq2008": 2.0, "yandex": 4.0}
MEASURES = ("ece", "brier", "logloss")


def run(name: str, host: str, seed: int) -> dict[str, list[tuple[Floats, ...]]]:
    """Return scores, labels, sizes and NDCG@10 of each fold's test part, by row."""
    top = TOP[name]
    objectives = {
        "blend, Platt": boostrank.Blend(signal="low", perturb=None),
        "calibrated": boostrank.Calibrated(top=top),
    }
    trees = {host: Trees(0.05, regularized=True).of(host)}
    found: dict[str, list[tuple[Floats, ...]]] = {}
    for fold in folds(name, seed):
        for row, objective in objectives.items():
            model = trained(host, objective, fold.train, seed, rounds=300, params=trees)
            held, test = fold.validation, fold.test
            on_held = {rounds: model.predict(held.X, rounds) for rounds in (100, 200, 300)}
            means = {rounds: np.nanmean(ndcg(s, held)) for rounds, s in on_held.items()}
            best = max(means, key=means.__getitem__)
            on_test = model.predict(test.X, best)
            scores = on_test
            if row != "calibrated":
                platt = Platt(top=top).fit(on_held[best], held.y)
                # `evaluate` reads scores as log-odds.
                scores = logit(np.clip(platt.predict(on_test), 1e-6, 1.0 - 1e-6))
            kept = scores, test.y / top, test.group, ndcg(on_test, test)
            found.setdefault(row, []).append(kept)
    return found


def main() -> None:
    """Print the table and draw the figure."""
    reader = parser(__doc__, TOP)
    reader.add_argument("--hosts", nargs="+", default=["lightgbm", "xgboost"])
    given = reader.parse_args()
    drawn: dict[str, dict[str, tuple[Floats, Floats]]] = {}
    for host, name in product(given.hosts, given.sets):
        lines: dict[str, list[list[float]]] = {}
        for seed in given.seeds:
            curves = {}
            for row, parts in run(name, host, seed).items():
                scores, targets, group, of_queries = (
                    np.concatenate(x) for x in zip(*parts, strict=True)
                )
                values = boostrank.evaluate(scores, targets, group, MEASURES)
                means = [float(np.nanmean(of_queries)), *(values[m] for m in MEASURES)]
                lines.setdefault(row, []).append(means)
                curves[row] = probabilities(scores), targets
            drawn.setdefault(name, curves)  # of the first host and seed
        both = zip(*(np.mean(values, axis=0) for values in lines.values()), strict=True)
        cells = (" / ".join(f"{v:.4f}".replace("0.", ".", 1) for v in pair) for pair in both)
        print(f"| {name} | {host} | {' | '.join(cells)} |", flush=True)
    with svg("calibration", 10.0, 3.4) as figure:
        panels = figure.subplots(1, len(drawn), squeeze=False)[0]
        for panel, (name, curves) in zip(panels, drawn.items(), strict=True):
            plot.reliability(curves, ax=panel)
            panel.set_title(name, fontsize=10, color=plot.GREY)
        panels[0].legend(frameon=False)


if __name__ == "__main__":
    main()
