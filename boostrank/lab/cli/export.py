"""`boostrank export`: a model file in the format of a search engine."""

from pathlib import Path
from typing import Annotated

import typer

from boostrank.datasets.files import reading
from boostrank.export import WRITERS
from boostrank.export import export as export_model
from boostrank.hosts.model_files import booster_of
from boostrank.lab.cli.options import completion, read_json
from boostrank.lab.cli.output import say
from boostrank.lab.files import check_writable, write_file
from boostrank.messages import few
from boostrank.trees import read_forest

EXAMPLES = """
**Examples**

    boostrank export model.txt --to solr --features names.txt --out clicks.json
    boostrank export model.json --to vespa --out model_for_vespa.json
"""


def export(
    model: Annotated[Path, typer.Argument(help="A model file of 'train' or of the host itself.")],
    to: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(WRITERS)}; Elasticsearch reads opensearch and ranklib.",
            autocompletion=completion(lambda: WRITERS),
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(
            help="The engine's features in its order: one name per line, or a JSON list of names "
            'or of objects with a "name", such as Solr\'s feature store. Every feature of the '
            "model must be among them."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default, standard output.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The model's name in Solr; by default, that of the file.")
    ] = None,
) -> None:
    """Write a trained model for a search engine, which scores as the host does.

    Solr and RankLib take a feature without a value for 0, unless the model has learnt otherwise.
    What a format cannot hold, such as splits on categories, is an error that names the feature.
    """
    if out is not None:
        check_writable(out, model, *([] if features is None else [features]))
    names = None if features is None else _read_names(features)
    booster = booster_of(model)
    text = export_model(booster, to, features=names, name=name or (out or model).stem)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_file(out, text.encode())
        say(f"{out}: the model for {to}")
    if names is not None or to == "ranklib":
        return
    forest = read_forest(booster)
    if not forest.named:
        say(
            f"the model does not name its features: {to} must call them {few(forest.names)}, or "
            "give --features"
        )


def _read_names(path: Path) -> list[str]:
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    if not text.lstrip().startswith(("[", "{")):
        return [line.strip() for line in text.split("\n") if line.strip()]
    expected = 'a JSON list of names or of objects with a "name"'
    read = read_json(path, text, expected)
    items = read if isinstance(read, list) else [None]
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    words = [name for name in names if isinstance(name, str)]
    if len(words) < len(names):
        raise ValueError(f"{path}: expected one name per line, or {expected}")
    return words
