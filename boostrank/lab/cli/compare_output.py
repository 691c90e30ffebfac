"""The output of `boostrank compare`: the table, JSON, and the command that repeats it."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from boostrank.lab.cli.output import half_width, json_number
from boostrank.lab.learners import Learner
from boostrank.lab.results import Failure, Row

#: The first columns: learner, metric, its difference from the baseline's, and p.
HEADINGS_KEPT = 4


def comparison_headings(metrics: Sequence[str]) -> list[str]:
    """Return the table's headings, the most important first."""
    chosen, *others = map(str.upper, metrics)
    return ["learner", chosen, "difference", "p", "p (Holm)", "relative", *others, "s/round"]


def comparison_line(
    row: Row, metrics: Sequence[str], corrected: Mapping[Learner, float]
) -> list[str]:
    """Return the cells of a row; `corrected` has the p-values after Holm's procedure."""
    if row.baseline is None:
        test = ["baseline", "", "", ""]
    else:
        low, high = row.difference_interval
        test = [
            f"{row.difference:+.4f}{half_width(low, high)}",
            f"{row.p_value:.4f}",
            f"{corrected[row.learner]:.4f}",
            f"{row.relative_difference:+.1%}",
        ]
    chosen, *others = (f"{row.mean(metric):.4f}" for metric in metrics)
    return [str(row.learner), chosen, *test, *others, f"{row.seconds_per_round:.4f}"]


def row_as_json(
    row: Row, metrics: Sequence[str], corrected: Mapping[Learner, float]
) -> dict[str, Any]:
    """Return a row with intervals and everything that the table leaves out."""
    return {
        "objective": row.learner.label,
        "host": row.learner.host,
        "parameters": str(row.learner.objective),
        "metrics": {metric: row.mean(metric) for metric in metrics},
        "intervals": {metric: list(map(json_number, row.interval(metric))) for metric in metrics},
        "difference": row.difference,
        "relative_difference": json_number(row.relative_difference),
        "difference_interval": list(map(json_number, row.difference_interval)),
        "p_value": row.p_value,
        "p_holm": corrected[row.learner],
        "best_rounds": {fold.fold: fold.best_round for fold in row.folds},
        "seconds_per_round": row.seconds_per_round,
    }


def failure_as_json(failure: Failure) -> dict[str, Any]:
    """Return a learner that failed, and why."""
    return {
        "objective": failure.learner.label,
        "host": failure.learner.host,
        "error": failure.error,
    }


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
