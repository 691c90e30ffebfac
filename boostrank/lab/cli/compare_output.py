"""The output of `boostrank compare`: the table, JSON, and the command that repeats it."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from boostrank.lab.cli.output import (
    json_number,
    make_console,
    plus_minus,
    print_json,
    print_note,
    print_table,
)
from boostrank.lab.results import best_first, holm_p_values
from boostrank.lab.runner import Run
from boostrank.lab.words import LEFT_OUT, comparison_in_words, p_in_words, share_in_words


def print_comparison(run: Run, written: Sequence[Path]) -> None:
    """Print the table, the most important columns first, and what was compared, and how."""
    console = make_console()
    corrected = holm_p_values(run.rows)
    chosen, *others = map(str.upper, run.plan.settings.metrics)
    headings = ["learner", chosen, "difference", "p", "p (Holm)", "relative", *others, "s/round"]
    lines = []
    for row in best_first(run.rows):
        test = ["baseline", "", "", ""]
        if row.baseline is not None:
            test = [
                f"{row.difference:+.4f}{plus_minus(*row.difference_interval)}",
                p_in_words(row.p_value),
                p_in_words(corrected[row.learner]),
                share_in_words(row.relative_difference),
            ]
        first, *rest = (f"{row.mean(metric):.4f}" for metric in run.plan.settings.metrics)
        lines.append([str(row.learner), first, *test, *rest, f"{row.seconds_per_round:.4f}"])
    # However narrow the terminal is, the columns up to p are printed.
    print_table(console, headings, lines, least=4, written=written[0])
    for failure in run.failures:
        print_note(console, f"Failed: {failure.learner}: {failure.error}")
    for subject, text in comparison_in_words(run.plan, run.rows).items():
        if subject != LEFT_OUT:  # has been said before training
            print_note(console, f"{subject}: {text}")
    print_note(console, f"Written: {', '.join(map(str, written))}.")


def print_as_json(run: Run, command: str) -> None:
    """Print the comparison with intervals and everything that the table leaves out."""
    metrics = run.plan.settings.metrics
    corrected = holm_p_values(run.rows)
    rows = [
        {
            "objective": row.learner.label,
            "host": row.learner.host,
            "parameters": str(row.learner.objective),
            "metrics": {name: row.mean(name) for name in metrics},
            "intervals": {name: list(map(json_number, row.interval(name))) for name in metrics},
            "difference": row.difference,
            "relative_difference": json_number(row.relative_difference),
            "difference_interval": list(map(json_number, row.difference_interval)),
            "p_value": row.p_value,
            "p_holm": corrected[row.learner],
            "best_rounds": {fold.fold: fold.best_round for fold in row.folds},
            "seconds_per_round": row.seconds_per_round,
        }
        for row in best_first(run.rows)
    ]
    failures = [
        {"objective": each.learner.label, "host": each.learner.host, "error": each.error}
        for each in run.failures
    ]
    print_json(
        {
            "command": command,
            "about": comparison_in_words(run.plan, run.rows),
            "settings": asdict(run.plan.settings),
            "baseline": str(run.plan.queue[0]),
            "rows": rows,
            "failures": failures,
        }
    )


def command_line(context: typer.Context, **values: Any) -> str:
    """Return the command that repeats the run, with every default spelled out."""
    options, arguments = ["boostrank", str(context.info_name)], []
    for param in context.command.params:
        value = (context.params | values).get(str(param.name))
        if param.name in ("resume", "json_", "latex"):
            continue
        if value is None or value is False or value == "":  # 0 is a value
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if param.param_type_name == "argument":
                arguments.append(str(each))
            else:
                options += [param.opts[0]] if each is True else [param.opts[0], str(each)]
    return shlex.join(options + arguments)
