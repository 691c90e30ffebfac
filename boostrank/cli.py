"""The command line: compare, tune, train, predict, evaluate, objectives, bench.

It parses, calls the engine and prints. Errors of the package are one line on standard error and
exit code 2; ``boostrank --debug`` shows where they come from.
"""

import ast
import csv
import math
from collections.abc import Iterable
from dataclasses import MISSING, fields
from importlib.metadata import version
from pathlib import Path
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
from boostrank import plot
from boostrank import tune as tuning
from boostrank.compare import (
    CHOSEN_BY,
    HOSTS,
    METRICS,
    RESAMPLES,
    FoldResult,
    Learner,
    Records,
    Row,
    Settings,
    check_folds,
    learners,
    load_model,
    run_folds,
)
from boostrank.datasets import RankingData, load_letor, load_letor_parts, make_ranking
from boostrank.hosts import HostObjective
from boostrank.metrics import evaluate as evaluate_scores
from boostrank.objectives import PRESETS, REGISTRY
from boostrank.objectives.validation import Floats, check_choice, check_count
from boostrank.registry import SHFSDCG, Mix, RankNet, make_objective, objective_names

N_PARTS = 5
# Small enough for all learners in about a minute, large enough to tell some of them apart.
EMBEDDED = {"n_queries": 120, "n_docs": 20, "n_features": 10}
# What the published comparisons have; enough to see who overfits.
PRESET_ROUNDS = 300
# Tables that go into a file are not cut to a terminal's width.
FILE_WIDTH = 160


class _Commands(TyperGroup):
    """Prints errors of the package as one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, OSError, ImportError) as error:
            if ctx.params["debug"]:
                raise
            typer.echo(f"boostrank: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from error


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def _group(
    debug: Annotated[bool, typer.Option(help="Show where an error comes from.")] = False,
) -> None:
    """Learning-to-rank objectives for LightGBM and XGBoost."""


Data = Annotated[
    list[Path], typer.Argument(help="Svmlight files with qid (LETOR), .gz too; read as one.")
]
Rounds = Annotated[int, typer.Option(help="Trees.")]
LearningRate = Annotated[float, typer.Option(help="Shrinkage of a tree.")]
Leaves = Annotated[int, typer.Option(help="Leaves of a tree.")]
MinDocs = Annotated[int, typer.Option(help="Fewest documents in a leaf (LightGBM only).")]
Threads = Annotated[int, typer.Option(help="Threads of host and objective.")]
Seed = Annotated[int, typer.Option(help="Of shuffling, splitting, hosts and tests.")]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order", help="Keep the files' order of documents, which may be a ranker's."
    ),
]
Convention = Annotated[str, typer.Option(help="Whose rules the metrics follow.")]


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
    """Return what ``--preset accuracy`` compares: defaults, noise, and the recommended mixture."""
    made = _objectives(
        ["sdcg,shf-sdcg,shf-sdcg:perturb=gumbel,reg-shf-sdcg,lambdarank,ranknet,gbrank"], rounds
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
) -> str:
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
    versions = _versions(dict.fromkeys(row.learner.host for row in rows))
    return "\n".join(
        (
            f"Data: {source}; {size}; documents {order}.",
            f"Figures: means of the test parts of folds {folds}, convention {settings.convention}, "
            + ("all rounds." if settings.fixed_rounds else "rounds chosen by validation NDCG@10."),
            f"Trees: {settings.rounds} rounds, learning rate {settings.learning_rate:g}, "
            f"{settings.leaves} leaves, LightGBM at least {settings.min_docs} documents in a leaf, "
            f"XGBoost min_child_weight 1, {_counted(settings.threads, 'thread', 'threads')}, "
            f"seed {settings.seed}.",
            f"Difference and p: NDCG@10 against {baseline}, two-sided paired randomisation test "
            f"over {_counted(tested, 'query', 'queries')}, {RESAMPLES:,} resamples, not corrected "
            f"for the {len(rows) - 1} comparisons.",
            f"Versions: {versions}.",
        )
    )


def _version(package: str) -> str:
    if package == "boostrank":
        return version(package)
    # Not from the metadata: the module xgboost comes from xgboost or from xgboost-cpu.
    return str(__import__(package).__version__)


def _versions(hosts: Iterable[str]) -> str:
    return ", ".join(f"{name} {_version(name)}" for name in ("boostrank", *hosts))


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.MARKDOWN)
    for heading in ("objective", "host"):
        table.add_column(heading, no_wrap=True)
    for heading in (*(metric.upper() for metric in METRICS), "s/round", "difference", "p"):
        table.add_column(heading, justify="right")
    for row in sorted(rows, key=lambda row: -row.mean(CHOSEN_BY)):
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


@app.command()
def compare(
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
        ),
    ] = None,
    hosts: Annotated[str, typer.Option(help="Which hosts, with commas.")] = ",".join(HOSTS),
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What rows are tested against: a built-in such as xgboost:rank:ndcg, or "
            "objective@host. By default the first host's first built-in, lightgbm:lambdarank."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="In place of --objective and the number of rounds: accuracy, what the README's "
            "ranking tables hold."
        ),
    ] = None,
    folds: Annotated[str, typer.Option(help="Which folds, with commas.")] = "1,2,3,4,5",
    rounds: Annotated[
        int | None, typer.Option(help=f"Trees; {Settings.rounds}, or as the preset has it.")
    ] = None,
    fixed_rounds: Annotated[
        bool, typer.Option("--fixed-rounds", help="Test all trees: choose no round.")
    ] = False,
    learning_rate: LearningRate = Settings.learning_rate,
    leaves: Leaves = Settings.leaves,
    min_docs: MinDocs = Settings.min_docs,
    threads: Threads = Settings.threads,
    seed: Seed = Settings.seed,
    convention: Convention = Settings.convention,
    keep_order: KeepOrder = False,
    out: Annotated[Path, typer.Option(help="Folder for CSV files and figures.")] = Path(
        "out/compare"
    ),
) -> None:
    """Train objectives on hosts over folds, with a table, CSV files and figures.

    The hosts' own objectives and regression are always among the rows. All get the same trees; the
    best round of each is chosen on the validation part.
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
        check_choice("preset", preset, ("accuracy",))
        if objective:
            raise ValueError("pass either --preset or --objective: a preset names the objectives")
    named = accuracy_objectives(rounds) if preset else _objectives(objective or [], rounds)
    chosen = learners(named, _words(hosts), rounds=rounds)
    by_name = {str(learner): learner for learner in chosen}
    first = by_name[check_choice("baseline", baseline or str(chosen[0]), by_name)]
    numbers = check_folds(_numbers(folds), N_PARTS)
    source, parts = _read_parts(data or [], settings, keep_order)
    records = Records(out)

    # The baseline first: every other row is complete, with its test, as soon as it is trained.
    queue = [first, *(learner for learner in chosen if learner is not first)]
    rows: list[Row] = []
    try:
        with _progress(len(queue) * len(numbers)) as progress:
            for learner in queue:
                results = _advance(progress, learner, parts, settings, numbers)
                rows.append(Row(learner, results, rows[0] if rows else None, seed))
                records.add(rows[-1])
    except KeyboardInterrupt:
        typer.echo(
            f"boostrank: interrupted; {len(rows)} of {len(queue)} rows are in {records.summary}",
            err=True,
        )
        raise typer.Exit(130) from None

    plot.draw_rounds(rows, out / "validation.png")
    plot.draw_test(rows, out / "test.png")
    console = _console()
    console.print(_table(rows))
    console.print(_caption(source, parts, rows, settings, keep_order), soft_wrap=True)
    console.print(
        f"Written: {records.summary}, {records.queries}, {out / 'validation.png'}, "
        f"{out / 'test.png'}.",
        soft_wrap=True,
    )


def _progress(total: int) -> Progress:
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    progress.add_task("", total=total)
    return progress


def _advance(
    progress: Progress,
    learner: Learner,
    parts: list[RankingData],
    settings: Settings,
    folds: list[int],
) -> tuple[FoldResult, ...]:
    task = progress.task_ids[0]
    progress.update(task, description=str(learner))
    results = []
    for result in run_folds(learner, parts, settings, folds):
        results.append(result)
        progress.advance(task)
    return tuple(results)


@app.command()
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
        with _progress(len(chosen) * trials) as progress:
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


@app.command()
def train(
    data: Data,
    objective: Annotated[str, typer.Option("--objective", "-o", help="See 'objectives'.")],
    model: Annotated[
        Path, typer.Option(help="Where to write it, in the host's own format (XGBoost: .json too).")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="Of the objective: k=10. May be repeated."),
    ] = None,
    host: Annotated[str, typer.Option(help="lightgbm or xgboost.")] = "lightgbm",
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
    trained, seconds = kind.train(
        made, read if keep_order else read.shuffle_within_queries(seed), settings
    )
    trained.save(model)
    typer.echo(
        f"{model}: {_counted(trained.n_trees, 'tree', 'trees')} of {host} with {made!r}, "
        f"{seconds / rounds:.4f} s per round"
    )


@app.command()
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


@app.command()
def evaluate(
    scores: Annotated[Path, typer.Argument(help="One score a line, as 'predict' writes them.")],
    data: Data,
    metrics: Annotated[str, typer.Option(help="Which, with commas.")] = "ndcg@10,map",
    convention: Convention = Settings.convention,
) -> None:
    """Measure scores. Where the convention keeps the order of ties, it is the files' order."""
    names = _words(metrics)
    evaluate_scores([0.0], [1.0], [1], names, convention=convention)  # names, before reading
    values, read = _read_scores(scores), load_letor(data)
    if len(values) != len(read.y):
        raise ValueError(
            f"{scores} has {len(values)} scores, but the data has {len(read.y)} documents"
        )
    for name, value in evaluate_scores(
        values, read.y, read.group, names, convention=convention
    ).items():
        typer.echo(f"{name}\t{value:.6f}")


def _signature(name: str) -> str:
    cls = REGISTRY[name]
    defaults = {entry.name: entry.default for entry in fields(cls)} | PRESETS.get(name, {})
    params = ", ".join(
        param if default is MISSING else f"{param}={default!r}"
        for param, default in defaults.items()
    )
    return f"{cls.__name__}({params})"


def _promise(name: str) -> str:
    contract = make_objective(name, {}, rounds=1).contract
    return (
        f"gradient {contract.gradient}, Hessian {contract.hessian}, "
        f"{'' if contract.shift_invariant else 'not '}shift-invariant, {contract.cost}; "
        f"labels: {contract.labels}"
    )


@app.command()
def objectives() -> None:
    """List the objectives with their parameters and what their derivatives claim to be."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for heading in ("class and parameters", "contract", "what it is"):
        table.add_column(heading)
    for name in objective_names():
        table.add_row(
            name,
            _signature(name),
            _promise(name),
            (REGISTRY[name].__doc__ or "").splitlines()[0],
        )
    _console().print(table)


@app.command()
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
        with Console(stderr=True).status("") as status:
            calls = timings.measure_huge(status.update, threads=threads, seed=seed)
            _bench_table(console, out / "huge.csv", calls, timings.HugeCall)
        explained = "One call each, memory in bytes a document beside the host's own"
    elif train:
        rounds = timings.measure_training(rounds=repeats, threads=threads, seed=seed)
        _bench_table(console, out / "training.csv", rounds, timings.Training)
        explained = f"Seconds a round; ratio: ours / built-in; medians of {repeats} paired rounds"
    else:
        lists = list(timings.measure(lengths, repeats=repeats, threads=threads, seed=seed))
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
    app(prog_name="boostrank")
