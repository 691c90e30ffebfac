"""The output of `boostrank compare`: the table, JSON, and how the rows were made."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from boostrank.lab.cli.data import order_in_words
from boostrank.lab.cli.output import counted, half_width, json_number, versions_in_words
from boostrank.lab.environment import machine
from boostrank.lab.learners import Learner
from boostrank.lab.plan import Plan
from boostrank.lab.report import training_time
from boostrank.lab.results import Failure, Row
from boostrank.lab.stats import TESTS
from boostrank.metrics.conventions import find_convention

#: The first columns: learner, metric, its difference from the baseline's, and p.
HEADINGS_KEPT = 4
#: The subject of what was left out, and why.
LEFT_OUT = "Left out"


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


def in_words(source: str, plan: Plan, rows: list[Row], keep_order: bool) -> dict[str, str]:
    """Say what was compared, and how: sentences by subject."""
    settings, data = plan.settings, plan.folds.data
    hosts = {row.learner.host for row in rows}
    limits = {
        "lightgbm": f"at least {settings.min_docs} documents per leaf on LightGBM",
        "xgboost": "min_child_weight 1 on XGBoost",
        "catboost": "CatBoost's own trees of depth 6",
    }
    leaves = ", ".join(text for host, text in limits.items() if host in hosts)
    rules = find_convention(settings.convention, settings.gain)
    baseline = next(row.learner for row in rows if row.baseline is None)
    size = ", ".join(
        (
            counted(len(data.group), "query", "queries"),
            counted(len(data.y), "document", "documents"),
            counted(data.X.shape[1], "feature", "features"),
        )
    )
    folds = ", ".join(str(fold.fold) for fold in rows[0].folds)
    return {
        "Data": f"{source}; {size}; documents {order_in_words(settings.seed, keep_order)}.",
        **({LEFT_OUT: " ".join(plan.notes)} if plan.notes else {}),
        "Figures": f"means over the test queries of folds {folds}, convention "
        f"{settings.convention}, "
        + (
            "all rounds."
            if settings.fixed_rounds
            else f"rounds chosen by validation {settings.metric.upper()}."
        ),
        "Trees": f"{settings.rounds} rounds, learning rate {settings.learning_rate:g}, "
        f"{settings.leaves} leaves, {leaves}, {counted(settings.threads, 'thread', 'threads')}, "
        f"seed {settings.seed}."
        + "".join(f" {host}: {dict(own)}." for host, own in settings.params.items()),
        **({"Convention": f"{rules}."} if settings.graded else {}),
        "Difference and p": f"{settings.metric.upper()} against {baseline}, ± half a "
        f"95 % interval, two-sided {TESTS[settings.test]}, over "
        f"{counted(rows[0].n_tested, 'query', 'queries')}; p (Holm) is corrected for the "
        f"{len(rows) - 1} comparisons.",
        "Versions": f"{versions_in_words(dict.fromkeys(row.learner.host for row in rows))}.",
        "Machine": f"{machine()}. Training took {training_time(rows, settings)}.",
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
