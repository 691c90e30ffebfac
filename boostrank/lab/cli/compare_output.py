"""What `boostrank compare` says about its rows: the table, JSON, and how they were made."""

import shlex
from typing import Any

import numpy as np
import typer
from rich.table import Table

from boostrank.datasets import RankingData
from boostrank.lab.cli.data import order_in_words
from boostrank.lab.cli.output import counted, json_number, make_table, versions_in_words
from boostrank.lab.environment import machine
from boostrank.lab.results import Failure, Row
from boostrank.lab.settings import CHOSEN_BY, METRICS, Settings
from boostrank.lab.stats import RESAMPLES
from boostrank.metrics import CONVENTIONS


def make_comparison_table(rows: list[Row]) -> Table:
    """Return the rows as a table."""
    table = make_table(
        ("objective", "host"),
        (*(metric.upper() for metric in METRICS), "s/round", "difference", "p"),
    )
    for row in rows:
        test = (
            ("baseline", "")
            if row.baseline is None
            else (f"{row.difference:+.4f}", f"{row.p_value:.4f}")
        )
        table.add_row(
            row.learner.label,
            row.learner.host,
            *(f"{row.mean(metric):.4f}" for metric in METRICS),
            f"{row.seconds_per_round:.4f}",
            *test,
        )
    return table


def row_as_json(row: Row) -> dict[str, Any]:
    """Return a row with intervals and everything that the table leaves out."""
    return {
        "objective": row.learner.label,
        "host": row.learner.host,
        "parameters": str(row.learner.objective),
        "metrics": {metric: row.mean(metric) for metric in METRICS},
        "intervals": {metric: list(map(json_number, row.interval(metric))) for metric in METRICS},
        "difference": row.difference,
        "difference_interval": list(map(json_number, row.difference_interval)),
        "p_value": row.p_value,
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


def in_words(
    source: str,
    parts: list[RankingData],
    rows: list[Row],
    settings: Settings,
    keep_order: bool,
) -> dict[str, str]:
    """Say what was compared, and how: subjects and sentences."""
    baseline = next(row.learner for row in rows if row.baseline is None)
    tested = int((~np.isnan(rows[0].pooled(CHOSEN_BY))).sum())
    size = ", ".join(
        (
            counted(sum(len(part.group) for part in parts), "query", "queries"),
            counted(sum(len(part.y) for part in parts), "document", "documents"),
            counted(parts[0].X.shape[1], "feature", "features"),
        )
    )
    folds = ", ".join(str(fold.fold) for fold in rows[0].folds)
    return {
        "Data": f"{source}; {size}; documents {order_in_words(settings.seed, keep_order)}.",
        "Figures": f"means of the test parts of folds {folds}, convention {settings.convention}, "
        + ("all rounds." if settings.fixed_rounds else "rounds chosen by validation NDCG@10."),
        "Trees": f"{settings.rounds} rounds, learning rate {settings.learning_rate:g}, "
        f"{settings.leaves} leaves, LightGBM at least {settings.min_docs} documents in a leaf, "
        f"XGBoost min_child_weight 1, {counted(settings.threads, 'thread', 'threads')}, "
        f"seed {settings.seed}.",
        "Convention": f"{CONVENTIONS[settings.convention]}.",
        "Difference and p": f"NDCG@10 against {baseline}, two-sided paired randomisation test "
        f"over {counted(tested, 'query', 'queries')}, {RESAMPLES:,} resamples, not corrected "
        f"for the {len(rows) - 1} comparisons.",
        "Versions": f"{versions_in_words(dict.fromkeys(row.learner.host for row in rows))}.",
        "Machine": f"{machine()}.",
    }


def command_line(context: typer.Context, **values: Any) -> str:
    """Return a command that does the same again, with every default spelled out."""
    options, arguments = ["boostrank", str(context.info_name)], []
    for param in context.command.params:
        value = (context.params | values).get(str(param.name))
        if param.name in ("resume", "json_") or value is None or value is False:
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if param.param_type_name == "argument":
                arguments.append(str(each))
            else:
                options += [param.opts[0]] if each is True else [param.opts[0], str(each)]
    return shlex.join(options + arguments)
