"""The figure of docs/speed.md, from the output of ``boostrank bench``.

    python notebooks/speed_figure.py

reads ``out/bench/bench.csv`` and writes ``docs/_static/speed.svg``.
"""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

from boostrank import plot
from boostrank.lab.bench import Timing

SHOWN = (
    "blend against default",
    "lambdarank, normalised against default",
    "lambdarank, normalised",
    "sdcg against lambdarank",
)


@mpl.rc_context({**plot.ANY_BACKGROUND, "svg.hashsalt": "speed"})
def main() -> None:
    """Draw times per document of a few objectives and of the hosts' own."""
    table = pd.read_csv("out/bench/bench.csv").fillna({"host": ""})
    timings = [Timing(**row) for row in table.to_dict("records") if row["label"] in SHOWN]
    figure, axes = plt.subplots(figsize=(8.0, 3.6), layout="constrained")
    plot.time_per_document(timings, ax=axes)
    figure.legend(loc="outside right", frameon=False, fontsize=8)
    figure.savefig("docs/_static/speed.svg", transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
