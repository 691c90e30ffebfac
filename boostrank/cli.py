"""The command line: compare, tune, train, predict, evaluate, objectives, bench.

It parses, calls the engine and prints. Errors are one line on standard error; ``boostrank --debug``
shows where they come from. Standard output has results only, and nothing but JSON with ``--json``.
"""

import ast
import csv
import json
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from threading import Timer
from typing import Annotated, Any

import numpy as np

try:
    import typer
    from rich import box
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table
    from typer.core import TyperGroup
except ImportError as missing:
    raise SystemExit(
        f'boostrank: the command line needs more packages: pip install "boostrank[cli]" ({missing})'
    ) from missing

from boostrank import bench as timings
from boostrank import plot, report
from boostrank import tune as tuning
from boostrank.compare import (
    CHOSEN_BY,
    HOSTS,
    METRICS,
    RESAMPLES,
    Failure,
    FoldResult,
    Learner,
    Records,
    Results,
    Row,
    Settings,
    check_folds,
    learners,
    load_model,
    run_folds,
    versions,
)
from boostrank.datasets import RankingData, load_letor, load_letor_parts, make_ranking
from boostrank.hosts import HostObjective
from boostrank.metrics import CONVENTIONS
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.objectives import PRESETS, REGISTRY
from boostrank.objectives.validation import Floats, check_choice, check_count
from boostrank.registry import SHFSDCG, Mix, RankNet, make_objective, objective_names

N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}
# What the published comparisons have; enough to see who overfits.
PRESET_ROUNDS = 300
_PRESETS = ("accuracy",)
# Seconds after which a call of the largest benchmark is named.
LONG_CALL = 10
# Tables that go into a file are not cut to a terminal's width.
FILE_WIDTH = 160

FAILED, WRONG, INTERRUPTED = 1, 2, 130
EXIT_CODES = """
**Exit codes**: 0 done; 1 rows of `compare` have failed (the others are there), or an error that
nobody foresaw; 2 wrong use or bad data; 130 stopped with Ctrl-C.
"""


class _Commands(TyperGroup):
    """Prints errors of the package as one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # of `boostrank ... | head`
            raise
        except (ValueError, TypeError, OSError, ImportError) as error:
            if ctx.params["debug"]:
                raise
            typer.echo(f"boostrank: {_one_line(error)}", err=True)
            raise typer.Exit(WRONG) from error
        except KeyboardInterrupt:
            typer.echo("boostrank: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback(
    epilog=f"""
**Examples**, in the order of a first visit:

    boostrank compare
    boostrank compare -o shf-sdcg,lambdarank S1.txt S2.txt S3.txt S4.txt S5.txt
    boostrank train train.txt.gz -o shf-sdcg -p k=10 --model model.txt
    boostrank predict model.txt test.txt.gz --out scores.txt
    boostrank evaluate scores.txt test.txt.gz

`boostrank COMMAND --help` explains each. `boostrank --install-completion`, once, lets the Tab key
complete commands, options and names in bash, zsh, fish and PowerShell.

{EXIT_CODES}"""
)
def _group(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show where an error comes from. Stands before the command."),
    ] = False,
) -> None:
    """Learning-to-rank objectives for LightGBM and XGBoost.

    Begin with `boostrank compare`: without files it makes data of its own.
    """


def _completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete


# Headings of the options.
_LEARNERS, _DATA, _TREES, _OUTPUT = "What is trained", "Data and metrics", "Trees", "Output"

Data = Annotated[
    list[Path], typer.Argument(help="Svmlight files with qid (LETOR), .gz too; read as one.")
]
Rounds = Annotated[int, typer.Option(help="Trees.", rich_help_panel=_TREES)]
LearningRate = Annotated[float, typer.Option(help="Shrinkage of a tree.", rich_help_panel=_TREES)]
Leaves = Annotated[int, typer.Option(help="Leaves of a tree.", rich_help_panel=_TREES)]
MinDocs = Annotated[
    int,
    typer.Option(help="Fewest documents in a leaf (LightGBM only).", rich_help_panel=_TREES),
]
Threads = Annotated[
    int, typer.Option(help="Threads of host and objective.", rich_help_panel=_TREES)
]
Seed = Annotated[
    int,
    typer.Option(help="Of shuffling, splitting, hosts and tests.", rich_help_panel=_TREES),
]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Keep the files' order of documents, which may be a ranker's.",
        rich_help_panel=_DATA,
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        help=f"Whose rules the metrics follow: {', '.join(CONVENTIONS)}.",
        autocompletion=_completion(lambda: CONVENTIONS),
        rich_help_panel=_DATA,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the result as JSON, and nothing else.", rich_help_panel=_OUTPUT
    ),
]


def _value(text: str) -> Any:
    """Read a parameter: a Python literal where it is one, otherwise a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _params(pairs: list[str], objective: str) -> dict[str, Any]:
    params = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals and text):
            raise ValueError(
                f"a parameter of {objective} is written name=value, such as k=10; got {pair!r}"
            )
        params[key.strip()] = _value(text.strip())
    return params


def _objectives(texts: list[str], rounds: int) -> dict[str, HostObjective] | None:
    """Read ``sdcg``, ``sdcg,lambdarank`` and ``sdcg:k=10,alpha=2``; None where nothing is named."""
    labels: list[str] = []
    for piece in ",".join(texts).split(",") if texts else []:
        if labels and "=" in piece and ":" not in piece:  # one more parameter of the same
            labels[-1] += f",{piece.strip()}"
        else:
            labels.append(piece.strip())
    made = {}
    for label in labels:
        name, colon, rest = label.partition(":")
        check_choice("objective", name, objective_names())
        params = _params(rest.split(",") if colon else [], name)
        made[label] = make_objective(name, params, rounds)
    return made or None


def accuracy_objectives(rounds: int) -> dict[str, HostObjective]:
    """Return what ``--preset accuracy`` compares: defaults, SHF-SDCG without noise, the mixture."""
    made = _objectives(
        ["sdcg,shf-sdcg,shf-sdcg:perturb=None,reg-shf-sdcg,lambdarank,ranknet,gbrank"], rounds
    )
    assert made is not None
    return made | {"mix": Mix(RankNet(), SHFSDCG(), 0.5, perturb="gumbel")}


def _numbers(text: str) -> list[int]:
    try:
        return [int(piece) for piece in text.split(",")]
    except ValueError:
        raise ValueError(
            f"folds are numbers with commas between, such as 1,2; got {text!r}"
        ) from None


def _words(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",")]


def _console() -> Console:
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def _counted(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _caption(
    source: str,
    parts: list[RankingData],
    rows: list[Row],
    settings: Settings,
    keep_order: bool,
) -> dict[str, str]:
    baseline = next(row.learner for row in rows if row.baseline is None)
    tested = int((~np.isnan(rows[0].pooled(CHOSEN_BY))).sum())
    size = ", ".join(
        (
            _counted(sum(len(part.group) for part in parts), "query", "queries"),
            _counted(sum(len(part.y) for part in parts), "document", "documents"),
            _counted(parts[0].X.shape[1], "feature", "features"),
        )
    )
    folds = ", ".join(str(fold.fold) for fold in rows[0].folds)
    order = "in file order" if keep_order else f"shuffled within queries (seed {settings.seed})"
    return {
        "Data": f"{source}; {size}; documents {order}.",
        "Figures": f"means of the test parts of folds {folds}, convention {settings.convention}, "
        + ("all rounds." if settings.fixed_rounds else "rounds chosen by validation NDCG@10."),
        "Trees": f"{settings.rounds} rounds, learning rate {settings.learning_rate:g}, "
        f"{settings.leaves} leaves, LightGBM at least {settings.min_docs} documents in a leaf, "
        f"XGBoost min_child_weight 1, {_counted(settings.threads, 'thread', 'threads')}, "
        f"seed {settings.seed}.",
        "Convention": f"{CONVENTIONS[settings.convention]}.",
        "Difference and p": f"NDCG@10 against {baseline}, two-sided paired randomisation test "
        f"over {_counted(tested, 'query', 'queries')}, {RESAMPLES:,} resamples, not corrected "
        f"for the {len(rows) - 1} comparisons.",
        "Versions": f"{_versions(dict.fromkeys(row.learner.host for row in rows))}.",
        "Machine": f"{timings.machine()}.",
    }


def _versions(hosts: Iterable[str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions(hosts).items())


def _best_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.mean(CHOSEN_BY))


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.MARKDOWN)
    for heading in ("objective", "host"):
        table.add_column(heading, no_wrap=True)
    for heading in (*(metric.upper() for metric in METRICS), "s/round", "difference", "p"):
        table.add_column(heading, justify="right")
    for row in _best_first(rows):
        test = (
            ("baseline", "")
            if row.baseline is None
            else (
                f"{row.difference:+.4f}",
                f"{row.p_value:.4f}",
            )
        )
        table.add_row(
            row.learner.label,
            row.learner.host,
            *(f"{row.mean(metric):.4f}" for metric in METRICS),
            f"{row.seconds_per_round:.4f}",
            *test,
        )
    return table


def _read_parts(
    data: list[Path], settings: Settings, keep_order: bool
) -> tuple[str, list[RankingData]]:
    """Return what the data is, in words, and its five parts."""
    if len(data) == N_PARTS:
        source = f"{data[0].name} ... {data[-1].name}, five partitions in LETOR's rotation"
        parts = load_letor_parts(data)
    elif data:
        source = f"{', '.join(path.name for path in data)}, queries dealt into five parts"
        parts = load_letor(data).split(N_PARTS, seed=settings.seed)
    else:
        source = "embedded, random cubic polynomials, queries dealt into five parts"
        parts = make_ranking(**EMBEDDED, seed=settings.seed).split(N_PARTS, seed=settings.seed)
    if not keep_order:
        parts = [part.shuffle_within_queries(settings.seed) for part in parts]
    return source, parts


@app.command(
    epilog=f"""
**Examples**

    boostrank compare
    boostrank compare -o shf-sdcg,lambdarank S1.txt S2.txt S3.txt S4.txt S5.txt
    boostrank compare -o sdcg:k=10,alpha=2 --hosts lightgbm train.txt.gz
    boostrank compare --baseline xgboost:rank:ndcg --out out/mine
    boostrank compare --out out/mine --resume
    boostrank compare -o shf-sdcg --json > result.json

Ctrl-C loses at most the fold that is being trained: `--resume` goes on from the others. A result is
used again only if data, fold, objective, settings, versions, sources and machine are the same.

{EXIT_CODES}"""
)
def compare(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Svmlight files with qid (LETOR), .gz too. Exactly five: LETOR's partitions in "
            "its rotation. Otherwise read as one and dealt into five parts. None: embedded data."
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            "-o",
            help="Only these (and regression and the hosts' own): sdcg,gbrank or "
            "sdcg:k=10,alpha=2. May be repeated.",
            autocompletion=_completion(objective_names),
            rich_help_panel=_LEARNERS,
        ),
    ] = None,
    hosts: Annotated[
        str,
        typer.Option(
            help="Which hosts, with commas.",
            autocompletion=_completion(lambda: HOSTS),
            rich_help_panel=_LEARNERS,
        ),
    ] = ",".join(HOSTS),
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What rows are tested against: a built-in such as xgboost:rank:ndcg, or "
            "objective@host. By default the first host's first built-in, lightgbm:lambdarank.",
            rich_help_panel=_LEARNERS,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="In place of --objective and the number of rounds: accuracy, what "
            "docs/accuracy.md compares.",
            autocompletion=_completion(lambda: _PRESETS),
            rich_help_panel=_LEARNERS,
        ),
    ] = None,
    folds: Annotated[
        str, typer.Option(help="Which folds, with commas.", rich_help_panel=_DATA)
    ] = "1,2,3,4,5",
    rounds: Annotated[
        int | None,
        typer.Option(
            help=f"Trees; {Settings.rounds}, or as the preset has it.", rich_help_panel=_TREES
        ),
    ] = None,
    fixed_rounds: Annotated[
        bool,
        typer.Option(
            "--fixed-rounds", help="Test all trees: choose no round.", rich_help_panel=_TREES
        ),
    ] = False,
    learning_rate: LearningRate = Settings.learning_rate,
    leaves: Leaves = Settings.leaves,
    min_docs: MinDocs = Settings.min_docs,
    threads: Threads = Settings.threads,
    seed: Seed = Settings.seed,
    convention: Convention = Settings.convention,
    keep_order: KeepOrder = False,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for the report, CSV files, figures and the results to resume from.",
            rich_help_panel=_OUTPUT,
        ),
    ] = Path("out/compare"),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from what an earlier run left in --out; otherwise it is replaced.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """Train objectives on hosts over folds: a table, a report to open in a browser, CSV files.

    The hosts' own objectives and regression are always among the rows. All get the same trees; the
    best round of each is chosen on the validation part, and its figures come from the test part.
    Every row is tested against the baseline, query by query.

    Without files it makes data of its own, small enough for a first look.
    """
    if rounds is None:
        rounds = Settings.rounds if preset is None else PRESET_ROUNDS
    settings = Settings(
        rounds=rounds,
        learning_rate=learning_rate,
        leaves=leaves,
        min_docs=min_docs,
        threads=threads,
        seed=seed,
        convention=convention,
        fixed_rounds=fixed_rounds,
    )
    if preset is not None:
        check_choice("preset", preset, _PRESETS)
        if objective:
            raise ValueError("pass either --preset or --objective: a preset names the objectives")
    named = accuracy_objectives(rounds) if preset else _objectives(objective or [], rounds)
    chosen = learners(named, _words(hosts), rounds=rounds)
    by_name = {str(learner): learner for learner in chosen}
    first = by_name[check_choice("baseline", baseline or str(chosen[0]), by_name)]
    numbers = check_folds(_numbers(folds), N_PARTS)
    source, parts = _read_parts(data or [], settings, keep_order)
    results = Results(out, parts, settings, timings.machine(), resume=resume)
    records = Records(out)

    # The baseline first: every other row is complete, with its test, as soon as it is trained.
    queue = [first, *(learner for learner in chosen if learner is not first)]
    rows: list[Row] = []
    failures: list[Failure] = []
    known = {learner: {n: results.find(learner, n) for n in numbers} for learner in queue}
    if resume:
        _tell_resumed(known, results)
    try:
        missing = sum(result is None for each in known.values() for result in each.values())
        with _progress("rounds", missing * rounds) as progress:
            for learner in queue:
                try:
                    done = _run(progress, learner, parts, settings, known[learner], results)
                except Exception as error:
                    # Without the baseline there is nothing to test against.
                    if learner is first or context.find_root().params["debug"]:
                        raise
                    failures.append(Failure(learner, _one_line(error)))
                    records.add(failures[-1])
                    typer.echo(f"boostrank: {learner} failed: {_one_line(error)}", err=True)
                else:
                    rows.append(Row(learner, done, rows[0] if rows else None, seed))
                    records.add(rows[-1])
    except KeyboardInterrupt:
        typer.echo(
            f"boostrank: interrupted; {len(rows)} of {len(queue)} rows are in {records.summary}; "
            "--resume goes on from there",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None

    plot.draw_rounds(rows, out / "validation.png")
    plot.draw_test(rows, out / "test.png")
    caption = _caption(source, parts, rows, settings, keep_order)
    command = _command_line(context, rounds=rounds)
    report.write_report(
        out / "report.html", rows, failures, parts=parts, about=caption, command=command
    )
    if json_:
        _print_json(
            {
                "command": command,
                "about": caption,
                "settings": asdict(settings),
                "baseline": str(first),
                "rows": [_as_json(row) for row in _best_first(rows)],
                "failures": [
                    {
                        "objective": failure.learner.label,
                        "host": failure.learner.host,
                        "error": failure.error,
                    }
                    for failure in failures
                ],
            }
        )
    else:
        console = _console()
        console.print(_table(rows))
        for failure in failures:
            console.print(f"Failed: {failure.learner}: {failure.error}", soft_wrap=True)
        for subject, text in caption.items():
            console.print(f"{subject}: {text}", soft_wrap=True)
        console.print(
            f"Written: {records.summary}, {records.queries}, {results.path}, "
            f"{out / 'validation.png'}, {out / 'test.png'}, {out / 'report.html'}.",
            soft_wrap=True,
        )
    if failures:
        raise typer.Exit(FAILED)


def _tell_resumed(known: dict[Learner, dict[int, FoldResult | None]], results: Results) -> None:
    used = sum(result is not None for each in known.values() for result in each.values())
    text = f"boostrank: {used} of {sum(map(len, known.values()))} results are in {results.path}"
    if results.stale:
        differing = sorted({name for each in results.stale for name in each})
        text += f"; {len(results.stale)} are not used: made with other {', '.join(differing)}"
    typer.echo(text, err=True)


def _command_line(context: typer.Context, **values: Any) -> str:
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


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _as_json(row: Row) -> dict[str, Any]:
    return {
        "objective": row.learner.label,
        "host": row.learner.host,
        "parameters": str(row.learner.objective),
        "metrics": {metric: row.mean(metric) for metric in METRICS},
        "intervals": {metric: list(map(_number, row.interval(metric))) for metric in METRICS},
        "difference": row.difference,
        "difference_interval": list(map(_number, row.difference_interval)),
        "p_value": row.p_value,
        "best_rounds": {fold.fold: fold.best_round for fold in row.folds},
        "seconds_per_round": row.seconds_per_round,
    }


def _progress(unit: str, total: int) -> Progress:
    """Return a bar with the time left, or nothing where no one watches."""
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    progress.add_task("", total=total)
    return progress


def _run(
    progress: Progress,
    learner: Learner,
    parts: list[RankingData],
    settings: Settings,
    known: dict[int, FoldResult | None],
    results: Results,
) -> tuple[FoldResult, ...]:
    """Train what is not known yet, and keep each fold on disk as soon as it is done."""
    task = progress.task_ids[0]
    missing = [fold for fold, result in known.items() if result is None]
    end = progress.tasks[0].completed + len(missing) * settings.rounds
    progress.update(task, description=str(learner))
    try:
        if missing:
            for result in run_folds(
                learner, parts, settings, missing, lambda: progress.advance(task)
            ):
                results.add(learner, result)
                known[result.fold] = result
    finally:
        progress.update(task, completed=end)  # also where it failed on the way
    return tuple(result for result in known.values() if result is not None)


@app.command(
    epilog=f"""
**Examples**

    boostrank tune train.txt.gz -o shf-sdcg --trials 50
    boostrank tune train.txt.gz -o shf-sdcg -o lightgbm:lambdarank --out out/mine

{EXIT_CODES}"""
)
def tune(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Svmlight files with qid (LETOR), .gz too; read as one. None: embedded."
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            "-o",
            help="What to tune, each with as many trials: shf-sdcg, gbrank:normalize=True (that "
            "is kept), or a built-in such as lightgbm:lambdarank. May be repeated. By default "
            "shf-sdcg.",
        ),
    ] = None,
    hosts: Annotated[str, typer.Option(help="Hosts of our objectives, with commas.")] = "lightgbm",
    trials: Annotated[int, typer.Option(help="Sets of parameters, the first the defaults.")] = 50,
    rounds: Annotated[int, typer.Option(help="Trees to choose from.")] = PRESET_ROUNDS,
    folds: Annotated[int, typer.Option(help="Folds of whole queries.")] = N_PARTS,
    repeats: Annotated[int, typer.Option(help="How often folds are dealt anew.")] = 3,
    prune: Annotated[
        bool, typer.Option("--prune", help="Stop trials below the median after a repeat.")
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="Folds trained at a time.")] = 1,
    seed: Seed = Settings.seed,
    convention: Convention = Settings.convention,
    keep_order: KeepOrder = False,
    out: Annotated[Path, typer.Option(help="Folder for the trials; run again to go on.")] = Path(
        "out/tune"
    ),
) -> None:
    """Tune objectives with their trees on repeated cross-validation over whole queries.

    Prints each learner's defaults and best trial, and the best as Python to paste; all trials are
    in a CSV. An interrupted search goes on where it stopped.
    """
    words = _words(",".join(objective or ["shf-sdcg"]))
    named = [word for word in words if word not in tuning.BUILTINS]
    chosen = [
        Learner(label, host, made)
        for label, made in (_objectives(named, rounds) or {}).items()
        for host in dict.fromkeys(check_choice("host", host, HOSTS) for host in _words(hosts))
    ]
    for word in dict.fromkeys(word for word in words if word in tuning.BUILTINS):
        host, _, name = word.partition(":")
        chosen.append(Learner(word, host, name))
    if data:
        source, read = ", ".join(path.name for path in data), load_letor(data)
    else:
        source, read = "embedded, random cubic polynomials", make_ranking(**EMBEDDED, seed=seed)
    if not keep_order:
        read = read.shuffle_within_queries(seed)

    tuned = []
    try:
        with _progress("trials", len(chosen) * trials) as progress:
            task = progress.task_ids[0]
            for learner in chosen:
                progress.update(task, description=str(learner))
                tuned.append(
                    tuning.tune(
                        read,
                        learner,
                        out,
                        n_trials=trials,
                        rounds=rounds,
                        n_folds=folds,
                        n_repeats=repeats,
                        prune=prune,
                        n_jobs=n_jobs,
                        seed=seed,
                        convention=convention,
                        done=lambda _: progress.advance(task),
                    )
                )
                tuning.write_trials(out / tuning.TRIALS, tuned)
    except KeyboardInterrupt:
        typer.echo("boostrank: interrupted; the same command goes on where it stopped", err=True)
        raise typer.Exit(130) from None

    table = Table(box=box.MARKDOWN)
    for heading in ("learner", "trial", "rounds", CHOSEN_BY.upper(), "95 %", "difference", "95 %"):
        table.add_column(heading, no_wrap=True)
    for one in tuned:
        for what, trial in (("defaults", one.default), (f"best, {one.best.number}", one.best)):
            figures = [*trial.interval(), *trial.interval(tuned[0].best)]
            mean, low, high, difference, least, most = figures
            table.add_row(
                str(one.learner),
                what,
                str(trial.rounds),
                *(f"{mean:.4f}", f"{low:.4f} to {high:.4f}"),
                *(f"{difference:+.4f}", f"{least:+.4f} to {most:+.4f}"),
            )
    console = _console()
    console.print(table)
    order = "in file order" if keep_order else f"shuffled within queries (seed {seed})"
    console.print(
        f"Data: {source}; {_counted(len(read.group), 'query', 'queries')}, documents {order}. "
        f"{_counted(trials, 'trial', 'trials')} each, seed {seed}, {folds} folds, {repeats} times, "
        f"{rounds} rounds, of which the fewest within one standard error of the best; convention "
        f"{convention}; {_counted(n_jobs, 'fold', 'folds')} at a time. Differences: to the first "
        "learner's best. The best of many trials is too good where it was chosen: test it on other "
        f"queries. Versions: {_versions(dict.fromkeys(learner.host for learner in chosen))}.",
        soft_wrap=True,
    )
    for one in tuned:
        console.print(f"\n# {one.learner}\n{one.snippet}", soft_wrap=True)
    console.print(f"\nWritten: {out / tuning.TRIALS}, {out / tuning.STUDIES}.", soft_wrap=True)


@app.command(
    epilog=f"""
**Examples**

    boostrank train train.txt.gz -o shf-sdcg --model model.txt
    boostrank train train.txt.gz -o sdcg -p k=10 -p alpha=2 --model model.txt
    boostrank train train.txt.gz -o gbrank --host xgboost --model model.json

{EXIT_CODES}"""
)
def train(
    data: Data,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            "-o",
            help="See 'boostrank objectives'.",
            autocompletion=_completion(objective_names),
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
        str, typer.Option(help="lightgbm or xgboost.", autocompletion=_completion(lambda: HOSTS))
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

    Documents are shuffled within their queries first: objectives that go by rank see scores that
    are all tied, in the first round, in the order of the file.
    """
    settings = Settings(
        rounds=rounds,
        learning_rate=learning_rate,
        leaves=leaves,
        min_docs=min_docs,
        threads=threads,
        seed=seed,
    )
    made = make_objective(objective, _params(param or [], objective), rounds)
    kind = HOSTS[check_choice("host", host, HOSTS)]
    if not model.parent.is_dir():
        raise FileNotFoundError(f"the folder of --model does not exist: {model.parent}")
    read = load_letor(data)
    with _progress("rounds", rounds) as progress:
        trained, seconds = kind.train(
            made,
            read if keep_order else read.shuffle_within_queries(seed),
            settings,
            on_round=lambda: progress.advance(progress.task_ids[0]),
        )
    trained.save(model)
    typer.echo(
        f"{model}: {_counted(trained.n_trees, 'tree', 'trees')} of {host} with {made!r}, "
        f"{seconds / rounds:.4f} s per round"
    )


@app.command(
    epilog=f"""
**Example**

    boostrank predict model.txt test.txt.gz --out scores.txt

{EXIT_CODES}"""
)
def predict(
    model: Annotated[Path, typer.Argument(help="As 'train' or the host itself writes it.")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Where to write the scores, one a line.")],
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


def _read_scores(path: Path) -> Floats:
    scores = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            scores.append(float(line))
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: expected one score, got {line.strip()!r}"
            ) from None
    return np.array(scores, dtype=np.float64)


@app.command(
    epilog=f"""
**Examples**

    boostrank evaluate scores.txt test.txt.gz
    boostrank evaluate scores.txt test.txt.gz --metrics ndcg@1,ndcg@10,mrr --convention trec
    boostrank evaluate scores.txt test.txt.gz --json

{EXIT_CODES}"""
)
def evaluate(
    scores: Annotated[Path, typer.Argument(help="One score a line, as 'predict' writes them.")],
    data: Data,
    metrics: Annotated[
        str,
        typer.Option(
            help="Which, with commas: dcg@k, ndcg@k, map, map@k, precision@k, recall@k, mrr, "
            "err@k, with any k.",
            rich_help_panel=_DATA,
        ),
    ] = "ndcg@10,map",
    convention: Convention = Settings.convention,
    json_: Json = False,
) -> None:
    """Measure scores. Where the convention keeps the order of ties, it is the files' order."""
    names = _words(metrics)
    evaluate_scores([0.0], [1.0], [1], names, convention=convention)  # names, before reading
    values, read = _read_scores(scores), load_letor(data)
    if len(values) != len(read.y):
        raise ValueError(
            f"{scores} has {len(values)} scores, but the data has {len(read.y)} documents"
        )
    measured = evaluate_scores(values, read.y, read.group, names, convention=convention)
    if json_:
        _print_json(
            {
                "metrics": {name: _number(value) for name, value in measured.items()},
                "convention": convention,
                "queries": len(read.group),
                "documents": len(read.y),
            }
        )
        return
    for name, value in measured.items():
        typer.echo(f"{name}\t{value:.6f}")


def _parameters(name: str) -> dict[str, Any]:
    return {entry.name: entry.default for entry in fields(REGISTRY[name])} | PRESETS.get(name, {})


def _signature(name: str) -> str:
    params = ", ".join(
        param if default is MISSING else f"{param}={default!r}"
        for param, default in _parameters(name).items()
    )
    return f"{REGISTRY[name].__name__}({params})"


def _promise(name: str) -> str:
    contract = make_objective(name, {}, rounds=1).contract
    return (
        f"gradient {contract.gradient}, Hessian {contract.hessian}, "
        f"{'' if contract.shift_invariant else 'not '}shift-invariant, {contract.cost}; "
        f"labels: {contract.labels}"
    )


def _summary(name: str) -> str:
    return (REGISTRY[name].__doc__ or "").partition("\n")[0]


@app.command(epilog=EXIT_CODES)
def objectives(json_: Json = False) -> None:
    """List the objectives with their parameters and what their derivatives claim to be."""
    if json_:
        _print_json(
            [
                {
                    "name": name,
                    "class": REGISTRY[name].__name__,
                    "summary": _summary(name),
                    "required": [
                        param for param, default in _parameters(name).items() if default is MISSING
                    ],
                    "defaults": {
                        param: default
                        for param, default in _parameters(name).items()
                        if default is not MISSING
                    },
                    "contract": asdict(make_objective(name, {}, rounds=1).contract),
                }
                for name in objective_names()
            ]
        )
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for heading in ("class and parameters", "contract", "what it is"):
        table.add_column(heading)
    for name in objective_names():
        table.add_row(
            name,
            _signature(name),
            _promise(name),
            _summary(name),
        )
    _console().print(table)


@app.command(
    epilog=f"""
**Examples**

    boostrank bench
    boostrank bench --docs 20,120 --repeats 5
    boostrank bench --train --threads 2

{EXIT_CODES}"""
)
def bench(
    docs: Annotated[str, typer.Option(help="Documents a query, with commas.")] = (
        "20,120,1000,9000,100000"
    ),
    repeats: Annotated[int, typer.Option(help="Paired runs; their median counts.")] = 15,
    threads: Threads = Settings.threads,
    train: Annotated[
        bool, typer.Option("--train", help="Time whole boosting rounds instead (minutes).")
    ] = False,
    huge: Annotated[
        bool,
        typer.Option(
            "--huge", help="Time and memory of one call with 20 million documents (minutes)."
        ),
    ] = False,
    seed: Seed = Settings.seed,
    out: Annotated[Path, typer.Option(help="Folder for CSV and figure.")] = Path("out/bench"),
) -> None:
    """Time our gradients against the hosts' own on this machine, as ratios."""
    lengths = [check_count("docs", int(word)) for word in _words(docs)]
    Settings(threads=threads, seed=seed)  # checks them
    check_count("repeats", repeats)
    out.mkdir(parents=True, exist_ok=True)
    console = _console()
    if train and huge:
        raise ValueError("--train and --huge are two benchmarks: give one of them")
    if huge:
        with _calls() as begin:
            calls = timings.measure_huge(begin, threads=threads, seed=seed)
            _bench_table(console, out / "huge.csv", calls, timings.HugeCall)
        explained = "One call each, memory in bytes a document beside the host's own"
    elif train:
        with _progress("pairs", 2) as progress:
            rounds = timings.measure_training(rounds=repeats, threads=threads, seed=seed)
            _bench_table(
                console, out / "training.csv", _counting(progress, rounds), timings.Training
            )
        explained = f"Seconds a round; ratio: ours / built-in; medians of {repeats} paired rounds"
    else:
        total = sum(len(timings.timed_pairs(length)) for length in lengths)
        with _progress("pairs", total) as progress:
            measured = timings.measure(lengths, repeats=repeats, threads=threads, seed=seed)
            lists = list(_counting(progress, measured))
        _bench_table(console, out / "bench.csv", lists, timings.Timing)
        explained = (
            "Nanoseconds a document; ratio: built-in / ours; speedup: ours on all cores; "
            f"medians of {repeats} paired runs"
        )
        plot.draw_lengths(lists, out / "bench.png")
    console.print(
        f"{explained}. {_counted(threads, 'thread', 'threads')}. "
        f"{timings.machine()}. {_versions(HOSTS)}. Written to {out}.",
        soft_wrap=True,
    )


def _counting(progress: Progress, rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        progress.advance(progress.task_ids[0])
        yield row


@contextmanager
def _calls() -> Iterator[Callable[[str], None]]:
    """Say on standard error which call is under way once it has taken `LONG_CALL` seconds."""
    timer = Timer(LONG_CALL, int)

    def begin(name: str) -> None:
        nonlocal timer
        timer.cancel()
        note = f"boostrank: {name} has taken {LONG_CALL} s and goes on"
        timer = Timer(LONG_CALL, typer.echo, [note], {"err": True})
        timer.daemon = True
        timer.start()

    try:
        yield begin
    finally:
        timer.cancel()


def _bench_table(console: Console, path: Path, rows: Iterable[Any], kind: type) -> None:
    """Print the rows as they come, and write them as CSV."""
    names = [entry.name for entry in fields(kind)]
    table = Table(box=box.MARKDOWN)
    for name in names:
        table.add_column(name, no_wrap=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            values = [getattr(row, name) for name in names]
            writer.writerow(values)
            table.add_row(*(_cell(value) for value in values))
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="boostrank")
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        # Nothing that a user did: those errors have become exit codes before.
        typer.echo(
            f"boostrank: {type(error).__name__}: {_one_line(error)}; this should not happen: "
            "'boostrank --debug ...' shows where",
            err=True,
        )
        sys.exit(FAILED)
