"""`boostrank compare`: trains learners over folds, and reports every row against the baseline."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from boostrank.datasets.tables import Columns
from boostrank.lab.cli import options, output
from boostrank.lab.latex import latex_table
from boostrank.lab.naming import parse_objectives
from boostrank.lab.plan import make_plan
from boostrank.lab.reading import read_folds
from boostrank.lab.report import check_packages, write_files
from boostrank.lab.results import Failure, best_first, holm_p_values
from boostrank.lab.runner import Run, running
from boostrank.lab.settings import Settings
from boostrank.lab.stats import TESTS
from boostrank.lab.words import LEFT_OUT, comparison_in_words, p_in_words, share_in_words
from boostrank.registry import objective_names

EXAMPLES = """
**Examples**

    boostrank compare
    boostrank compare -o blend,lambdarank S1.txt S2.txt S3.txt S4.txt S5.txt
    boostrank compare -o sdcg:k=10,alpha=2 --hosts lightgbm train.txt.gz
    boostrank compare --baseline xgboost:rank:ndcg --out out/mine
    boostrank compare clicks.csv --label grade --qid session --metric mrr
    boostrank compare returns.parquet --label ret --qid date -o listmle --forward
    boostrank compare --out out/mine --resume
    boostrank compare -o blend --json > result.json
    boostrank compare -o gbrank --test t --latex > table.tex

Ctrl-C loses at most the fold that is being trained: `--resume` continues from the others. A result
is used again only if data, fold, objective, settings, versions, sources and machine are the same.
"""


def compare(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Svmlight with qid (LETOR; also .gz), CSV or parquet. Five files: LETOR's "
            "partitions in its rotation. Otherwise read as one and split into five parts. "
            "No files: embedded data."
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        options.of_learners(
            "--objective",
            "-o",
            help="Only these (and regression and the hosts' own): sdcg,gbrank or "
            "sdcg:k=10,alpha=2. May be repeated.",
            autocompletion=options.completion(objective_names),
        ),
    ] = None,
    hosts: options.Hosts = None,
    baseline: Annotated[
        str | None,
        options.of_learners(
            help="The row to test against: a built-in such as xgboost:rank:ndcg, or "
            "objective@host. By default the first host's first built-in, lightgbm:lambdarank; "
            "regression where the labels fit no built-in."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        options.of_learners(
            help="regularized: tree parameters of boostrank.presets for every row.",
            autocompletion=options.completion(lambda: options.PRESETS),
        ),
    ] = None,
    folds: Annotated[
        str | None, options.of_data(help="Only these folds, comma-separated: 1,2.")
    ] = None,
    folds_by: Annotated[
        str | None,
        options.of_data(
            help="CSV and parquet: the column whose values are the parts that rotate, such as a "
            "year. By default five parts at random."
        ),
    ] = None,
    forward: options.Forward = False,
    gap: options.Gap = 0,
    rounds: options.Rounds = Settings.rounds,
    fixed_rounds: Annotated[
        bool, options.of_trees("--fixed-rounds", help="Test all trees, not the best round's.")
    ] = False,
    learning_rate: options.LearningRate = Settings.learning_rate,
    leaves: Annotated[
        int | None,
        options.of_trees(help=f"Leaves per tree; by default {Settings.leaves}, or the preset's."),
    ] = None,
    min_docs: options.MinDocs = Settings.min_docs,
    threads: options.Threads = Settings.threads,
    seed: options.Seed = Settings.seed,
    params: options.Params = None,
    metric: options.Metrics = None,
    label: options.Label = Columns.label,
    qid: options.Qid = Columns.qid,
    drop: options.Drop = "",
    categorical: options.Categorical = "",
    convention: options.Convention = Settings.convention,
    gain: options.Gain = None,
    test: Annotated[
        str,
        options.of_data(
            help=f"The paired test of each row against the baseline: {', '.join(TESTS)}.",
            autocompletion=options.completion(lambda: TESTS),
        ),
    ] = Settings.test,
    keep_order: options.KeepOrder = False,
    out: Annotated[
        Path,
        options.of_output(
            help="Folder for the report, CSV files, figures and the results to resume from."
        ),
    ] = Path("out/compare"),
    resume: Annotated[
        bool,
        options.of_output(
            "--resume",
            help="Continue from the results of an earlier run in --out; otherwise replace them.",
        ),
    ] = False,
    json_: options.Json = False,
    latex: Annotated[
        bool,
        options.of_output(
            "--latex", help="Print the table for LaTeX, with booktabs, and nothing else."
        ),
    ] = False,
) -> None:
    """Train objectives on hosts over folds; print a table, write an HTML report and CSV files.

    The hosts' own objectives and regression are always among the rows, unless they cannot take the
    labels. All have the same tree settings. The best round of each is chosen on the validation
    part, and its figures come from the test part. Every row is tested against the baseline, query
    by query.

    Without files it generates its own data, small enough for a first look.
    """
    if json_ and latex:
        raise ValueError("pass either --json or --latex, not both")
    check_packages()
    first, *others = options.parse_words(metric or Settings.metric)
    own_hosts = None if hosts is None else options.parse_words(hosts)
    settings = Settings(
        rounds=rounds,
        learning_rate=learning_rate,
        leaves=Settings.leaves if leaves is None else leaves,
        min_docs=min_docs,
        threads=threads,
        seed=seed,
        convention=convention,
        gain=options.parse_gain(gain),
        fixed_rounds=fixed_rounds,
        metric=first,
        other_metrics=others,
        test=test,
        params=options.with_preset(preset, options.read_params(params, own_hosts or ()), leaves),
    )
    named = parse_objectives(objective or [], rounds) or None
    options.check_gap(forward, gap)
    split = read_folds(
        data or None,
        options.columns(label, qid, drop, categorical),
        seed=seed,
        shuffle=not keep_order,
        folds=None if folds is None else options.parse_counts("folds", folds),
        by=folds_by,
        forward=forward,
        gap=gap,
    )
    settings = settings.for_labels(split.data.y, chosen=metric is not None)
    plan = make_plan(named, split, settings, hosts=own_hosts, baseline=baseline)
    for note in plan.notes:
        output.say(note)
    command = _command_line(
        context,
        hosts=",".join(dict.fromkeys(learner.host for learner in plan.queue)),
        metric=metric or settings.metric,
        leaves=leaves if preset else settings.leaves,
    )
    with running(plan, out, resume=resume, again="the same command with --resume") as run:
        if resume:
            output.say(run.resumed)
        _train(run, debug=context.find_root().params["debug"])
        written = write_files(out, run, command)
    if json_:
        _print_as_json(run, command)
    elif latex:
        typer.echo(latex_table(run.rows, plan.settings))
    else:
        _print_comparison(run, written)
    if run.failures:
        raise typer.Exit(output.FAILED)


def _train(run: Run, *, debug: bool) -> None:
    """Train all learners, with a progress bar."""
    rounds = run.plan.settings.rounds
    with output.progress_bar("rounds", (run.n_results - len(run.known)) * rounds) as progress:
        (task,) = progress.task_ids
        end = 0
        for learner in run.plan.queue:
            end += len(run.missing(learner)) * rounds
            progress.update(task, description=str(learner))
            done = run.train(learner, lambda: progress.advance(task), strict=debug)
            progress.update(task, completed=end)  # even if it failed on the way
            if isinstance(done, Failure):
                output.say(f"{learner} failed: {done.error}")


def _print_comparison(run: Run, written: Sequence[Path]) -> None:
    """Print the table, the most important columns first, and what was compared, and how."""
    corrected = holm_p_values(run.rows)
    chosen, *others = map(str.upper, run.plan.settings.metrics)
    headings = ["learner", chosen, "difference", "p (Holm)", "p", "relative", *others, "s/round"]
    lines = []
    for row in best_first(run.rows):
        test = ["baseline", "", "", ""]
        if row.baseline is not None:
            test = [
                f"{row.difference:+.4f}{output.plus_minus(*row.difference_interval)}",
                p_in_words(corrected[row.learner]),
                p_in_words(row.p_value),
                share_in_words(row.relative_difference),
            ]
        first, *rest = (f"{row.mean(metric):.4f}" for metric in run.plan.settings.metrics)
        lines.append([str(row.learner), first, *test, *rest, f"{row.seconds_per_round:.4f}"])
    # However narrow the terminal is, the columns up to p (Holm) are printed.
    output.print_table(headings, lines, least=4, written=written[0])
    for failure in run.failures:
        output.print_note(f"Failed: {failure.learner}: {failure.error}")
    for subject, text in comparison_in_words(run.plan, run.rows).items():
        if subject != LEFT_OUT:  # has been said before training
            output.print_note(f"{subject}: {text}")
    output.print_note(f"Written: {', '.join(map(str, written))}.")


def _print_as_json(run: Run, command: str) -> None:
    """Print the comparison with intervals and everything that the table leaves out."""
    metrics = run.plan.settings.metrics
    corrected = holm_p_values(run.rows)
    rows = [
        {
            "objective": row.learner.label,
            "host": row.learner.host,
            "parameters": str(row.learner.objective),
            "metrics": {name: row.mean(name) for name in metrics},
            "intervals": {name: row.interval(name) for name in metrics},
            "difference": row.difference,
            "relative_difference": row.relative_difference,
            "difference_interval": row.difference_interval,
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
    output.print_json(
        {
            "command": command,
            "about": comparison_in_words(run.plan, run.rows),
            "settings": asdict(run.plan.settings),
            "baseline": str(run.plan.queue[0]),
            "rows": rows,
            "failures": failures,
        }
    )


def _command_line(context: typer.Context, **values: Any) -> str:
    """Return the command that repeats the run, with every default spelled out."""
    words, arguments = ["boostrank", str(context.info_name)], []
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
                words += [param.opts[0]] if each is True else [param.opts[0], str(each)]
    return shlex.join(words + arguments)
