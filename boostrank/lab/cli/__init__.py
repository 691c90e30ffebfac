"""The command line: compare, tune, train, predict, evaluate, export, objectives, bench.

Each command parses its options, calls the engine and prints. Errors are one line on standard error;
``boostrank --debug`` shows where they come from. Standard output has only results; with ``--json``,
only JSON.

app         the group of commands, and the handling of errors
compare     one file for each command; `predict` is in `train`
tune        searches parameters
train       writes a model file
evaluate    measures scores, from files of all kinds
export      writes a model for a search engine
objectives  lists the objectives
bench       times them
compile     compiles them
options     options that several commands share, and what users write in them
output      tables, notes, JSON and progress
"""

import io
import sys

from boostrank.messages import CLI, needs


def main() -> None:
    """Run the command line."""
    try:
        from boostrank.lab.cli.app import app
        from boostrank.lab.cli.output import FAILED, say
        from boostrank.lab.words import one_line
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"boostrank: {needs('the command line needs more packages', CLI, missing)}"
        ) from missing
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A letter that the terminal cannot spell must not end a run before its result.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="boostrank")
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        # Not a user's error: those have already become exit codes.
        say(
            f"{type(error).__name__}: {one_line(error)}; this should not happen: "
            "'boostrank --debug ...' shows where"
        )
        sys.exit(FAILED)
