"""Every objective with its defaults, on validation parts: the result on each objective's page.

    python notebooks/objective_results.py > docs/objective_results.csv
    python notebooks/objective_results.py --draw    # docs/_static/gains.svg, from that file

The protocol, the sets and the folder of the data are those of ``accuracy_defaults.py``, at a
learning rate of 0.05. No test part is read. Differences are to LightGBM's ``lambdarank``, with half
the width of their 95 % interval over queries.
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
from accuracy_defaults import ROUNDS, curve, splits

import boostrank

SETS, RATE = ("synthetic1", "mq2008", "ohsumed"), 0.05


def rows():
    """Yield names and objectives, the baseline first."""
    yield "lightgbm:lambdarank", "lambdarank"
    for name in boostrank.objective_names():
        needed = {"total_rounds": ROUNDS} if name == "reg-shf-sdcg" else {}
        yield name, boostrank.objective(name, **needed)


def draw():
    """Draw the differences between blend and lambdarank, from the committed file."""
    import matplotlib
    from matplotlib.figure import Figure

    from boostrank import plot

    docs = Path(__file__).resolve().parent.parent / "docs"
    with (docs / "objective_results.csv").open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["objective"] == "blend"]
    names = {"synthetic1": "synthetic, noise", "mq2008": "MQ2008", "ohsumed": "OHSUMED"}
    with matplotlib.rc_context({**plot.ANY_BACKGROUND, "svg.hashsalt": "gains"}):
        figure = Figure(figsize=(8.0, 2.4), layout="constrained")
        axes = figure.subplots()
        kinds = {"best round": ("best", -0.12), "all 300 rounds": ("all", 0.12)}
        for colour, (label, (kind, shift)) in zip(plot.COLOURS, kinds.items(), strict=False):
            axes.errorbar(
                [float(row[f"{kind}_gain"]) for row in found],
                np.arange(len(found)) + shift,
                xerr=[float(row[f"{kind}_half"]) for row in found],
                fmt="o",
                color=colour,
                label=label,
            )
        axes.axvline(0, color=plot.GREY)
        axes.set_yticks(range(len(found)), [names[row["set"]] for row in found])
        axes.set_xlabel("NDCG@10 of blend less that of LightGBM's lambdarank")
        axes.invert_yaxis()
        axes.legend(frameon=False)
        figure.savefig(docs / "_static" / "gains.svg", metadata={"Date": None})


def main():
    """Print a line for each set and objective."""
    warnings.simplefilter("ignore")
    print("set,objective,best,all,best_gain,best_half,all_gain,all_half", flush=True)
    for data in SETS:
        parts = [
            (train.shuffle_within_queries(1), valid.shuffle_within_queries(1))
            for train, valid in splits(data)
        ]
        baseline = None
        for name, objective in rows():
            figures = np.concatenate([curve(objective, *part, RATE) for part in parts], axis=1)
            figures = figures[:, ~np.isnan(figures).any(axis=0)]
            both = np.array([figures[np.argmax(figures.mean(axis=1))], figures[-1]])
            baseline = both if baseline is None else baseline
            gains = both - baseline
            halves = 1.96 * gains.std(axis=1, ddof=1) / gains.shape[1] ** 0.5
            numbers = [*both.mean(axis=1), *np.ravel([gains.mean(axis=1), halves], order="F")]
            print(f"{data},{name}," + ",".join(f"{n:.4f}" for n in numbers), flush=True)
            print(data, name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    draw() if sys.argv[1:] == ["--draw"] else main()
