"""`boostrank compile`: compiles kernels ahead, for images and continuous integration."""

from typing import Annotated

import typer

from boostrank.kernels import compile as compile_objectives
from boostrank.lab.cli.options import completion
from boostrank.lab.cli.output import progress_bar
from boostrank.registry import check_name, objective_names

EXAMPLES = """
**Examples**

    boostrank compile blend
    NUMBA_CACHE_DIR=/srv/kernels boostrank compile sdcg lambdarank --max-docs 200
"""


def compile(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Objectives; by default, all of them.",
            autocompletion=completion(objective_names),
        ),
    ] = None,
    max_docs: Annotated[
        int | None,
        typer.Option(
            help="The longest query that will be trained on, in documents; by default, any length."
        ),
    ] = None,
) -> None:
    """Compile objectives and keep them on disk, so that no training has to wait for them.

    For images and continuous integration. Machine code is kept in the package's folder, or in the
    one that NUMBA_CACHE_DIR names, for this version of boostrank and this kind of processor.
    """
    chosen = [check_name(name) for name in names or objective_names()]
    with progress_bar("objectives", len(chosen)) as progress:
        for name in chosen:
            compile_objectives(name, max_docs=max_docs)
            progress.advance(progress.task_ids[0])
