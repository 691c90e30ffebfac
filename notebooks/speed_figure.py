"""The figure of docs/speed.md, from the output of ``boostrank bench``.

    python notebooks/speed_figure.py

reads ``out/bench/bench.csv`` and writes ``docs/_static/speed.svg``.
"""

import pandas as pd
from ranking_sets import svg

from boostrank import plot
from boostrank.lab.bench import Timing

SHOWN = (
    "blend against default",
    "lambdarank, normalised against default",
    "lambdarank, normalised",
    "sdcg against lambdarank",
)


def main() -> None:
    """Draw times per document of a few objectives and of the hosts' own."""
    table = pd.read_csv("out/bench/bench.csv").fillna({"host": ""})
    timings = [Timing(**row) for row in table.to_dict("records") if row["label"] in SHOWN]
    with svg("speed", 8.0, 3.6) as figure:
        plot.time_per_document(timings, ax=figure.subplots())
        figure.legend(loc="outside right", frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
