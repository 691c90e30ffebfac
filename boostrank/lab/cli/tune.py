"""`boostrank tune`: searches parameters of objectives and trees, and prints the best as Python."""

from pathlib import Path
from typing import Annotated

import typer

from boostrank.datasets import group_folds
from boostrank.datasets.tables import Columns
from boostrank.lab import search
from boostrank.lab.cli import options, output
from boostrank.lab.folds import warn_of_unknown_order
from boostrank.lab.learners import BUILTINS, Learner
from boostrank.lab.models import HOSTS, installed
from boostrank.lab.naming import parse_objectives
from boostrank.lab.reading import N_PARTS, order_in_words, read_whole
from boostrank.lab.settings import Settings
from boostrank.lab.words import counted, versions_in_words
from boostrank.objectives.validation import check_choice

EXAMPLES = """
**Examples**

    boostrank tune train.txt.gz -o blend --trials 50
    boostrank tune train.txt.gz -o blend -o lightgbm:lambdarank --out out/mine
    boostrank tune returns.parquet --label ret --qid date -o spearman --forward
"""

REPEATS = 3


def tune(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Svmlight with qid (LETOR; also .gz), CSV or parquet; read as one. No files: "
            "embedded data."
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            "-o",
            help="What to tune, each with the same number of trials: blend, "
            "gbrank:normalize=True (which stays fixed), or a built-in such as lightgbm:lambdarank, "
            "which the others are compared with. May be repeated. By default blend.",
        ),
    ] = None,
    hosts: options.Hosts = None,
    trials: Annotated[int, typer.Option(help="Parameter sets to try, the defaults first.")] = 50,
    rounds: Annotated[int, typer.Option(help="Number of trees to choose from.")] = 300,
    folds: Annotated[int, typer.Option(help="Folds of whole queries.")] = N_PARTS,
    repeats: Annotated[
        int | None,
        typer.Option(help="Cross-validation repeats, with other folds.", show_default=str(REPEATS)),
    ] = None,
    forward: options.Forward = False,
    gap: options.Gap = 0,
    n_jobs: Annotated[int, typer.Option(help="Folds trained at a time.")] = 1,
    seed: options.Seed = Settings.seed,
    params: options.Params = None,
    metric: options.Metric = None,
    label: options.Label = Columns.label,
    qid: options.Qid = Columns.qid,
    drop: options.Drop = "",
    categorical: options.Categorical = "",
    convention: options.Convention = Settings.convention,
    gain: options.Gain = None,
    keep_order: options.KeepOrder = False,
    out: Annotated[Path, typer.Option(help="Folder for the trials; run again to continue.")] = Path(
        "out/tune"
    ),
) -> None:
    """Tune objectives and their trees by repeated cross-validation over whole queries.

    Prints each learner's defaults and best trial, and the best as Python to paste. All trials go
    into a CSV file. An interrupted search continues where it stopped.
    """
    search.load_optuna()  # before the data are read
    options.check_gap(forward, gap)
    if forward and repeats is not None:
        raise ValueError("--repeats needs folds at random, and --forward has its own: give one")
    repeats = REPEATS if repeats is None else repeats
    # One host is enough to tune on: the first that is installed.
    own_hosts = installed()[:1] if hosts is None else options.parse_words(hosts)
    chosen = _choose_learners(objective or ["blend"], own_hosts, rounds)
    given = options.read_params(params, list(dict.fromkeys(learner.host for learner in chosen)))
    source, read = read_whole(data or [], options.columns(label, qid, drop, categorical), seed)
    if not keep_order:
        read = read.shuffle_within_queries(seed)
    own_folds = None
    if forward:
        warn_of_unknown_order(read)
        own_folds = group_folds(read.group, folds, forward=True, gap=gap)
    tuned: list[search.Tuned] = []
    progress = output.progress_bar("trials", len(chosen) * trials)
    try:
        with progress:
            task = progress.task_ids[0]
            for learner in chosen:
                progress.update(task, description=str(learner))
                tuned.append(
                    search.tune(
                        read,
                        learner,
                        out,
                        n_trials=trials,
                        rounds=rounds,
                        n_folds=folds,
                        n_repeats=repeats,
                        folds=own_folds,
                        n_jobs=n_jobs,
                        seed=seed,
                        convention=convention,
                        gain=options.parse_gain(gain),
                        metric=metric,
                        params=given.get(learner.host),
                        done=lambda _: progress.advance(task),
                    )
                )
                search.write_trials(out / search.TRIALS, tuned)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(
            f"{progress.tasks[0].completed:g} of {len(chosen) * trials} trials are saved in "
            f"{out / search.STUDIES}; the same command continues where it stopped"
        )
        raise

    how = f"forward in time, gap {gap}" if forward else counted(repeats, "repeat")
    headings, lines = _table(tuned)
    output.print_table(headings, lines, least=4, written=out / search.TRIALS)
    output.print_note(
        f"Data: {source}; {counted(len(read.group), 'query', 'queries')}, documents "
        f"{order_in_words(seed, not keep_order)}. {counted(trials, 'trial')} each, seed "
        f"{seed}, {folds} folds, {how}, {rounds} rounds, of "
        "which the fewest within one standard error of the best are used; convention "
        f"{convention}; {counted(n_jobs, 'fold')} at a time. Differences: from the "
        f"best trial of {tuned[0].learner}; ± half a 95 % interval. The best of many trials is "
        "probably less good on new queries: test it on others. Versions: "
        f"{versions_in_words(dict.fromkeys(learner.host for learner in chosen))}."
    )
    for one in tuned:
        typer.echo(f"\n# {one.learner}\n{one.snippet}")
    typer.echo()
    output.print_note(f"Written: {out / search.TRIALS}, {out / search.STUDIES}.")


def _choose_learners(objective: list[str], hosts: list[str], rounds: int) -> list[Learner]:
    """Return the learners, the hosts' own first; the others are compared with the first."""
    words = options.parse_words(",".join(objective))
    named = parse_objectives([word for word in words if word not in BUILTINS], rounds)
    hosts = list(dict.fromkeys(check_choice("host", host, HOSTS) for host in hosts))
    theirs = [BUILTINS[word] for word in dict.fromkeys(words) if word in BUILTINS]
    return theirs + [Learner(label, host, made) for label, made in named.items() for host in hosts]


def _table(tuned: list[search.Tuned]) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells: each learner's defaults and best, against the first one's best."""
    headings = ["learner", "trial", tuned[0].metric.upper(), "difference", "rounds", "95 %"]
    lines = []
    for one in tuned:
        for what, trial in (("defaults", one.default), (f"best, {one.best.number}", one.best)):
            mean, low, high = trial.interval()
            difference, *ends = trial.interval(tuned[0].best)
            shown = f"{difference:+.4f}{output.plus_minus(*ends)}"
            if trial is tuned[0].best:
                shown = "baseline"
            figures = [f"{mean:.4f}", shown, str(trial.rounds), f"{low:.4f} to {high:.4f}"]
            lines.append([str(one.learner), what, *figures])
    return headings, lines
