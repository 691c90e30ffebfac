"""`boostrank tune`: searches parameters of objectives and trees, and prints the best as Python."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from boostrank.lab import tune as search
from boostrank.lab.cli.data import N_PARTS, order_in_words, read_whole
from boostrank.lab.cli.options import Convention, KeepOrder, Seed
from boostrank.lab.cli.output import (
    INTERRUPTED,
    counted,
    make_console,
    make_table,
    progress_bar,
    versions_in_words,
)
from boostrank.lab.cli.parsing import PRESET_ROUNDS, parse_objectives, parse_words
from boostrank.lab.learners import Learner
from boostrank.lab.models import HOSTS
from boostrank.lab.search_space import BUILTINS
from boostrank.lab.settings import CHOSEN_BY, Settings
from boostrank.objectives.validation import check_choice

EXAMPLES = """
**Examples**

    boostrank tune train.txt.gz -o shf-sdcg --trials 50
    boostrank tune train.txt.gz -o shf-sdcg -o lightgbm:lambdarank --out out/mine
"""


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
    trials: Annotated[int, typer.Option(help="Sets of parameters, the defaults first.")] = 50,
    rounds: Annotated[int, typer.Option(help="Trees to choose from.")] = PRESET_ROUNDS,
    folds: Annotated[int, typer.Option(help="Folds of whole queries.")] = N_PARTS,
    repeats: Annotated[int, typer.Option(help="Cross-validation repeats, on other folds.")] = 3,
    prune: Annotated[
        bool, typer.Option("--prune", help="Stop trials below the median after a repeat.")
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="Folds trained at a time.")] = 1,
    seed: Seed = Settings.seed,
    convention: Convention = Settings.convention,
    keep_order: KeepOrder = False,
    out: Annotated[Path, typer.Option(help="Folder for the trials; run again to continue.")] = Path(
        "out/tune"
    ),
) -> None:
    """Tune objectives with their trees on repeated cross-validation over whole queries.

    Prints each learner's defaults and best trial, and the best as Python to paste; all trials are
    in a CSV file. An interrupted search continues where it stopped.
    """
    chosen = _choose_learners(objective or ["shf-sdcg"], parse_words(hosts), rounds)
    source, read = read_whole(data or [], seed, keep_order)
    tuned: list[search.Tuned] = []
    try:
        with progress_bar("trials", len(chosen) * trials) as progress:
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
                        prune=prune,
                        n_jobs=n_jobs,
                        seed=seed,
                        convention=convention,
                        done=lambda _: progress.advance(task),
                    )
                )
                search.write_trials(out / search.TRIALS, tuned)
    except KeyboardInterrupt:
        typer.echo("boostrank: interrupted; the same command continues where it stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None

    console = make_console()
    console.print(_table(tuned))
    console.print(
        f"Data: {source}; {counted(len(read.group), 'query', 'queries')}, documents "
        f"{order_in_words(seed, keep_order)}. {counted(trials, 'trial', 'trials')} each, seed "
        f"{seed}, {folds} folds, {counted(repeats, 'repeat', 'repeats')}, {rounds} rounds, of "
        "which the fewest within one standard error of the best; convention "
        f"{convention}; {counted(n_jobs, 'fold', 'folds')} at a time. Differences: to the first "
        "learner's best. The best of many trials looks better than it is on the queries that chose "
        "it: test it on others. Versions: "
        f"{versions_in_words(dict.fromkeys(learner.host for learner in chosen))}.",
        soft_wrap=True,
    )
    for one in tuned:
        console.print(f"\n# {one.learner}\n{one.snippet}", soft_wrap=True)
    console.print(f"\nWritten: {out / search.TRIALS}, {out / search.STUDIES}.", soft_wrap=True)


def _choose_learners(objective: list[str], hosts: list[str], rounds: int) -> list[Learner]:
    words = parse_words(",".join(objective))
    named = parse_objectives([word for word in words if word not in BUILTINS], rounds)
    hosts = list(dict.fromkeys(check_choice("host", host, HOSTS) for host in hosts))
    chosen = [Learner(label, host, made) for label, made in (named or {}).items() for host in hosts]
    for word in dict.fromkeys(word for word in words if word in BUILTINS):
        host, _, name = word.partition(":")
        chosen.append(Learner(word, host, name))
    return chosen


def _table(tuned: list[search.Tuned]) -> Table:
    """Return the defaults and the best trial of each learner, against the first learner's best."""
    headings = ("learner", "trial", "rounds", CHOSEN_BY.upper(), "95 %", "difference", "95 %")
    table = make_table(headings)
    for one in tuned:
        for what, trial in (("defaults", one.default), (f"best, {one.best.number}", one.best)):
            mean, low, high = trial.interval()
            difference, least, most = trial.interval(tuned[0].best)
            table.add_row(
                str(one.learner),
                what,
                str(trial.rounds),
                *(f"{mean:.4f}", f"{low:.4f} to {high:.4f}"),
                *(f"{difference:+.4f}", f"{least:+.4f} to {most:+.4f}"),
            )
    return table
