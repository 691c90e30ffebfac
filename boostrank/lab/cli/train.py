"""`boostrank train` and `boostrank predict`: a model file, and scores from it."""

from pathlib import Path
from typing import Annotated

import typer

from boostrank.datasets import load_letor
from boostrank.lab.cli.data import read_files
from boostrank.lab.cli.options import (
    Data,
    KeepOrder,
    LearningRate,
    Leaves,
    MinDocs,
    Rounds,
    Seed,
    Threads,
    completion,
)
from boostrank.lab.cli.output import counted, progress_bar
from boostrank.lab.cli.parsing import parse_params
from boostrank.lab.models import HOSTS, load_model
from boostrank.lab.settings import Settings
from boostrank.objectives.validation import check_choice
from boostrank.registry import make_objective, objective_names

TRAIN_EXAMPLES = """
**Examples**

    boostrank train train.txt.gz -o shf-sdcg --model model.txt
    boostrank train train.txt.gz -o sdcg -p k=10 -p alpha=2 --model model.txt
    boostrank train train.txt.gz -o gbrank --host xgboost --model model.json
"""
PREDICT_EXAMPLES = """
**Example**

    boostrank predict model.txt test.txt.gz --out scores.txt
"""


def train(
    data: Data,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            "-o",
            help="See 'boostrank objectives'.",
            autocompletion=completion(objective_names),
        ),
    ],
    model: Annotated[
        Path, typer.Option(help="Where to write it, in the host's own format (XGBoost: .json too).")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="Of the objective: k=10. May be repeated."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="lightgbm or xgboost.", autocompletion=completion(lambda: HOSTS))
    ] = "lightgbm",
    rounds: Rounds = Settings.rounds,
    learning_rate: LearningRate = Settings.learning_rate,
    leaves: Leaves = Settings.leaves,
    min_docs: MinDocs = Settings.min_docs,
    threads: Threads = Settings.threads,
    seed: Seed = Settings.seed,
    keep_order: KeepOrder = False,
) -> None:
    """Train one objective on one host and write the model.

    Documents are shuffled within their queries first: in the first round all scores are tied, and
    objectives that go by rank would take the order of the file for a ranking.
    """
    settings = Settings(
        rounds=rounds,
        learning_rate=learning_rate,
        leaves=leaves,
        min_docs=min_docs,
        threads=threads,
        seed=seed,
    )
    made = make_objective(objective, parse_params(param or [], objective), rounds)
    kind = HOSTS[check_choice("host", host, HOSTS)]
    if not model.parent.is_dir():
        raise FileNotFoundError(f"the folder of --model does not exist: {model.parent}")
    read = read_files(data, seed, keep_order)
    with progress_bar("rounds", rounds) as progress:
        trained, seconds = kind.train(
            made, read, settings, on_round=lambda: progress.advance(progress.task_ids[0])
        )
    trained.save(model)
    typer.echo(
        f"{model}: {counted(trained.n_trees, 'tree', 'trees')} of {host} with {made!r}, "
        f"{seconds / rounds:.4f} s per round"
    )


def predict(
    model: Annotated[Path, typer.Argument(help="As 'train' or the host itself writes it.")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Where to write the scores, one per line.")],
) -> None:
    """Write a model's score of every document, in the order of the data."""
    trained = load_model(model)
    read = load_letor(data)
    if trained.n_features != read.X.shape[1]:
        raise ValueError(
            f"{model} was trained on {trained.n_features} features, but "
            f"{', '.join(map(str, data))} has {read.X.shape[1]}"
        )
    out.write_text(
        "".join(f"{score!r}\n" for score in trained.predict(read.X).tolist()), encoding="utf-8"
    )
