"""`Blend`, set automatically and at its default, against the hosts' own on twelve sets.

    python notebooks/accuracy_dial.py --seeds 1 2 3
    python notebooks/accuracy_dial.py --seeds 1 2 3 --figure  # also of ten more sets

It trains what is not in ``out/dial`` yet, and prints a table: those of docs/accuracy.md. Sets and
trees are those of ``ranking_sets.py``. NDCG@10 of every test query is kept for the round that is
best on the validation part, of every tenth, and for the last.
"""

import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from boostrank.objectives.validation import Floats
from ranking_sets import BASE, FRESH, ROUNDS, SETS, SHARED, folds, parser, svg, tested, trained

import boostrank
from boostrank import plot
from boostrank.lab.cli.options import with_preset

OUT = Path("out/dial")
ROWS: dict[str, tuple[str, Any]] = {
    BASE: ("lightgbm", "lambdarank"),
    "lightgbm:rank_xendcg": ("lightgbm", "rank_xendcg"),
    "xgboost:rank:ndcg": ("xgboost", "rank:ndcg"),
    "catboost:QueryRMSE": ("catboost", "QueryRMSE"),
    "auto": ("lightgbm", boostrank.objective("auto")),
    **{
        f"blend:signal={signal}": ("lightgbm", boostrank.Blend(signal=signal))
        for signal in ("lowest", "low", "medium", "high", "highest")
    },
    "reg-shf-sdcg": ("lightgbm", boostrank.RegSHFSDCG(total_rounds=ROUNDS)),
    "shf-sdcg": ("lightgbm", boostrank.SHFSDCG()),
    "query-rmse": ("lightgbm", boostrank.QueryRMSE()),
    "blend:signal=low,perturb=None": ("lightgbm", boostrank.Blend(signal="low", perturb=None)),
    "auto@xgboost": ("xgboost", boostrank.objective("auto")),
    "blend:signal=medium@xgboost": ("xgboost", boostrank.Blend()),
}
#: The rows and lines of the figure.
SHOWN = {
    "auto": '"auto"',
    "blend:signal=medium": "Blend()",
    "catboost:QueryRMSE": "CatBoost QueryRMSE",
    "xgboost:rank:ndcg": "XGBoost rank:ndcg",
    "lightgbm:rank_xendcg": "LightGBM rank_xendcg",
}
REAL = [name for name in SETS if not name.startswith("synthetic")]
GROUPS = {
    "all queries of eight real sets": REAL,
    "all queries of ten other sets": list(FRESH),
}
LABELS = {
    "synthetic0x1500": "synthetic, clean: 1,500 queries",
    "synthetic1x1500": "synthetic, noisy: 1,500 queries",
    "synthetic0x10000": "synthetic, clean: 10,000 queries",
    "synthetic1x10000": "synthetic, noisy: 10,000 queries",
}


class Trees(NamedTuple):
    """How trees are grown."""

    rate: float
    regularized: bool  # as in `boostrank.presets`

    def of(self, host: str) -> dict[str, Any]:
        """Return parameters apart from those in `Settings`."""
        preset = with_preset("regularized" if self.regularized else None, {host: {}})
        return SHARED[host] | preset[host]


def file_of(name: str, row: str, trees: Trees, seed: int) -> Path:
    """Return the path of a result. CatBoost has no preset."""
    preset = " regularized" if trees.regularized and ROWS[row][0] != "catboost" else ""
    return OUT / f"{name} {row.replace(':', '.')} {trees.rate}{preset} {seed}.npz"


def run(name: str, row: str, trees: Trees, seed: int) -> None:
    """Train a row on the folds of a set, and save what the test parts give."""
    path = file_of(name, row, trees, seed)
    if path.exists():
        return
    host, objective = ROWS[row]
    settings = {"learning_rate": trees.rate, "params": {host: trees.of(host)}}
    best, whole, chosen, seconds = [], [], [], 0.0
    for fold in folds(name, seed):
        begin = time.process_time()
        model = trained(host, objective, fold.train, seed, **settings)
        seconds += time.process_time() - begin
        chosen.append(model.choice)
        place, values = tested(model, fold)
        best.append(values[place])
        whole.append(values[-1])
    figures = np.stack([np.concatenate(best), np.concatenate(whole)])
    signals = [choice.objective.signal if choice else "" for choice in chosen]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, figures=figures, seconds=seconds, signals=signals)
    means = np.nanmean(figures, axis=1).round(4)
    print(path.stem, means, f"{seconds:.1f} s", *filter(None, signals), flush=True)


def leads(names: list[str], row: str, base: str, trees: Trees, seeds: list[int]) -> list[Floats]:
    """Return NDCG@10 less that of another row (2, queries that count), for each set and seed."""
    found = []
    for name, seed in product(names, seeds):
        own, other = (np.load(file_of(name, each, trees, seed))["figures"] for each in (row, base))
        found.append((own - other)[:, ~np.isnan(own - other).any(axis=0)])
    return found


def pooled(
    names: list[str], row: str, base: str, trees: Trees, seeds: list[int]
) -> tuple[Floats, Floats]:
    """Return the lead of a row over another on all queries of some sets, and standard errors.

    Means are over the queries of all seeds; errors are as if there had been one.
    """
    every = np.concatenate(leads(names, row, base, trees, seeds), axis=1)
    errors = every.std(axis=1, ddof=1) / np.sqrt(every.shape[1] / len(seeds))
    return every.mean(axis=1), errors


def table(names: list[str], rows: list[str], trees: Trees, seeds: list[int]) -> None:
    """Print differences from the baseline, best round / all rounds, and a standard error."""
    print(f"| | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for row in rows:
        cells = []
        for name in names:
            found = leads([name], row, BASE, trees, seeds)
            # Where every seed tests the same queries, all of the set, they are averaged.
            same = name in ("ohsumed", "mq2008")
            less = np.mean(found, axis=0) if same else np.concatenate(found, axis=1)
            error = less[1].std(ddof=1) / np.sqrt(less.shape[1])
            means = " / ".join(f"{mean:+.3f}".replace("0.", ".") for mean in less.mean(axis=1))
            cells.append(f"{means} ({error:.3f})".replace("(0.", "(."))
            if row == "auto":
                files = [file_of(name, row, trees, seed) for seed in seeds]
                signals = np.concatenate([np.load(file)["signals"] for file in files])
                cells[-1] += " " + ", ".join(dict.fromkeys(signals))
        print(f"| {row} | {' | '.join(cells)} |")
    for about, group in GROUPS.items():
        if set(group) <= {*names} and "auto" in rows:
            print(f'\n"auto" over each on {about}, best round and all rounds')
            for row in (one for one in (BASE, *SHOWN) if one != "auto" and one in rows):
                means, errors = pooled(group, "auto", row, trees, seeds)
                print(f"{row}: {means.round(4)}, standard errors {errors.round(4)}")


def draw(trees: Trees, seeds: list[int]) -> None:
    """Draw the lead of each row over the baseline on every set, all rounds, with intervals."""
    lines = GROUPS | {LABELS.get(name, name): [name] for name in SETS}
    with svg("accuracy", 7.5, 0.48 * len(lines) + 1.2) as figure:
        axes = figure.subplots()
        axes.axvline(0.0, color=plot.GREY, linewidth=1)
        heights = np.arange(len(lines))[::-1]
        for place, (row, label) in enumerate(SHOWN.items()):
            found = [pooled(names, row, BASE, trees, seeds) for names in lines.values()]
            means, errors = np.array(found)[:, :, 1].T
            look = {"fmt": "o", "color": plot.COLOURS[place], "markersize": 4, "linewidth": 1}
            places = heights + 0.15 * (2 - place)
            axes.errorbar(means, places, xerr=1.96 * errors, label=label, **look)
        axes.set_yticks(heights, lines)
        for line in heights[1:] + 0.5:
            axes.axhline(line, color=plot.GREY, linewidth=0.4, alpha=0.5)
        axes.set_ylim(-0.5, len(lines) - 0.5)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        what = f"NDCG@10 less that of LightGBM's lambdarank, all {ROUNDS} rounds, 95 % intervals"
        axes.set_xlabel(what, fontsize=9, color=plot.GREY)
        axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)


def main() -> None:
    """Train, print and draw."""
    reader = parser(__doc__, SETS)
    reader.add_argument("--rows", nargs="+", default=list(ROWS))
    reader.add_argument("--rate", type=float, default=0.05)
    reader.add_argument("--regularized", action="store_true", help="trees of boostrank.presets")
    reader.add_argument("--figure", action="store_true", help="draw, for all sets")
    given = reader.parse_args()
    trees = Trees(given.rate, given.regularized)
    rows = list(dict.fromkeys((BASE, *given.rows)))
    sets = [*SETS, *FRESH] if given.figure else given.sets
    for seed, name, row in product(given.seeds, sets, rows):
        run(name, row, trees, seed)
    table(sets, rows, trees, given.seeds)
    if given.figure:
        draw(trees, given.seeds)


if __name__ == "__main__":
    main()
