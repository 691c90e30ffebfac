"""The group of commands: its help, its order, and the handling of errors."""

import warnings
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import boostrank
from boostrank.lab.cli import bench, compare, compile, evaluate, export, objectives, train, tune
from boostrank.lab.cli.output import INTERRUPTED, WRONG, say
from boostrank.lab.words import one_line

EXIT_CODES = """
**Exit codes**: 0 done; 1 rows of `compare` failed (the others are written), or an unexpected error;
2 wrong usage or bad data; 130 stopped with Ctrl-C.
"""


class _Commands(TyperGroup):
    """Prints the package's errors as one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", UserWarning)
                once = cache(say)  # `tune` repeats warnings on the data
                warnings.showwarning = lambda message, *_, **__: once(one_line(message))
                return super().invoke(ctx)
        except BrokenPipeError:  # as in `boostrank ... | head`
            raise
        except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
            if ctx.params["debug"]:
                raise
            said = one_line(error) or "out of memory"
            if isinstance(error, OSError) and error.filename is not None and error.strerror:
                said = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
            say(said)
            raise typer.Exit(WRONG) from error
        except KeyboardInterrupt as interrupt:
            say("; ".join(["interrupted", *getattr(interrupt, "__notes__", ())]))
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"boostrank {boostrank.__version__}")
        raise typer.Exit


@app.callback(
    epilog=f"""
**Examples**, in the order in which you need them:

    boostrank compare
    boostrank compare -o blend,lambdarank S1.txt S2.txt S3.txt S4.txt S5.txt
    boostrank train train.txt.gz -o shf-sdcg -p k=10 --model model.txt
    boostrank predict model.txt test.txt.gz --out scores.txt
    boostrank evaluate scores.txt test.txt.gz

`boostrank COMMAND --help` explains each command. Run `boostrank --install-completion` once, and the
Tab key completes commands, options and names in bash, zsh, fish and PowerShell.

{EXIT_CODES}"""
)
def _group(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show where an error comes from. Goes before the command."),
    ] = False,
) -> None:
    """Learning-to-rank objectives for LightGBM and XGBoost.

    Begin with `boostrank compare`: without files it generates its own data.
    """


for _command, _examples in (
    (compare.compare, compare.EXAMPLES),
    (tune.tune, tune.EXAMPLES),
    (train.train, train.TRAIN_EXAMPLES),
    (train.predict, train.PREDICT_EXAMPLES),
    (evaluate.evaluate, evaluate.EXAMPLES),
    (export.export, export.EXAMPLES),
    (compile.compile, compile.EXAMPLES),
    (objectives.objectives, objectives.EXAMPLES),
    (bench.bench, bench.EXAMPLES),
):
    app.command(epilog=_examples + EXIT_CODES)(_command)
