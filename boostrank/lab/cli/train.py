"""`boostrank train` writes a model file, and `boostrank predict` the scores of a model."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from boostrank.datasets import RankingData
from boostrank.datasets.files import without_compression
from boostrank.datasets.runs import Run
from boostrank.datasets.tables import Columns, is_table
from boostrank.hosts.rankers import stretched
from boostrank.hosts.stopping import in_proportion
from boostrank.lab.cli import options
from boostrank.lab.cli.output import progress_bar, say
from boostrank.lab.files import check_writable, write_file
from boostrank.lab.learners import BUILTINS, Learner, refusal
from boostrank.lab.model import Stopping
from boostrank.lab.models import HOSTS, FileModel, installed, load_model
from boostrank.lab.naming import label_of, parse_objective
from boostrank.lab.plan import counted_queries, queries_left_out, queries_that_choose
from boostrank.lab.reading import load_features, read_with_valid
from boostrank.lab.settings import Settings
from boostrank.lab.words import counted
from boostrank.messages import warn
from boostrank.objectives import Objective
from boostrank.objectives.validation import check_choice, check_count
from boostrank.registry import objective_names

TRAIN_EXAMPLES = """
**Examples**

    boostrank train train.txt.gz -o blend --model model.txt
    boostrank train train.txt.gz -o sdcg -p k=10 -p alpha=2 --model model.txt
    boostrank train train.txt.gz -o gbrank --host xgboost --model model.json
    boostrank train a.csv --valid b.csv -o blend --refit --model model.txt
    boostrank train train.txt.gz -o lightgbm:lambdarank --model model.txt
"""
PREDICT_EXAMPLES = """
**Example**

    boostrank predict model.txt test.txt.gz --out scores.txt
"""

PATIENCE = 50
# Without those of hosts that are only compared with.
_BUILTINS = {name: own for name, own in BUILTINS.items() if own.host in HOSTS}


def train(
    data: options.Data,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            "-o",
            help="One of 'boostrank objectives', such as sdcg or sdcg:k=10; auto, which sets blend "
            "from the data; or a built-in such as lightgbm:lambdarank.",
            autocompletion=options.completion(lambda: (*objective_names(), *_BUILTINS)),
        ),
    ],
    model: Annotated[
        Path, typer.Option(help="File to write, in the host's own format (XGBoost: also .json).")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="Parameter of the objective: k=10. May be repeated."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="lightgbm or xgboost. By default the first of them that is installed.",
            autocompletion=options.completion(lambda: HOSTS),
        ),
    ] = None,
    rounds: options.Rounds = Settings.rounds,
    learning_rate: options.LearningRate = Settings.learning_rate,
    leaves: options.Leaves = Settings.leaves,
    min_docs: options.MinDocs = Settings.min_docs,
    threads: options.Threads = Settings.threads,
    seed: options.Seed = Settings.seed,
    params: options.Params = None,
    valid: Annotated[
        Path | None,
        options.of_data(
            help="File for early stopping: the model keeps the trees of its best round."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        options.of_trees(
            help="With --valid: rounds without improvement.", show_default=str(PATIENCE)
        ),
    ] = None,
    refit: Annotated[
        bool,
        options.of_trees(
            "--refit",
            help="With --valid: train again on all files, for the best number of rounds in "
            "proportion to the documents.",
        ),
    ] = False,
    metric: Annotated[
        str | None,
        options.of_data(
            help="With --valid: metric to choose rounds, such as ndcg@k, map or mrr. By default "
            "ndcg@10, or spearman for labels that are no grades."
        ),
    ] = None,
    gain: options.Gain = None,
    label: options.Label = Columns.label,
    qid: options.Qid = Columns.qid,
    drop: options.Drop = "",
    categorical: options.Categorical = "",
    keep_order: options.KeepOrder = False,
) -> None:
    """Train one objective on one host and write the model.

    Documents are shuffled within their queries first: in the first round all scores are tied, and
    objectives and metrics that depend on ranks would take the order of a file for a ranking.
    """
    stopping_by = {"--refit": refit or None, "--patience": patience, "--metric": metric}
    for name, given in stopping_by.items():
        if given is not None and valid is None:
            raise ValueError(f"{name} needs --valid, which chooses the rounds: give both")
    builtin = _BUILTINS.get(objective)
    if builtin is not None:
        if host not in (None, builtin.host):
            raise ValueError(f"--host {host} cannot train {objective}, which is {builtin.host}'s")
        host = builtin.host
        if param:
            raise ValueError(
                f"--param is for boostrank's objectives; set those of {objective} with --params"
            )
    elif host is None:
        (host, *_) = installed()
    settings = Settings(
        rounds=rounds,
        learning_rate=learning_rate,
        leaves=leaves,
        min_docs=min_docs,
        threads=threads,
        seed=seed,
        metric=metric or Settings.metric,
        gain=options.parse_gain(gain),
        params=options.read_params(params, [check_choice("host", host, HOSTS)]),
    )
    made: Objective | str = (
        builtin.objective if builtin else parse_objective(objective, param or [], rounds)
    )
    if gain is not None and valid is None and isinstance(made, Objective) and not made.counts_gains:
        raise ValueError(f"--gain has no effect on {made.name} without --valid: leave it out")
    if (
        refit
        and isinstance(made, Objective)
        and made.scheduled
        and made != stretched(made, rounds).replace(start_round=None)
    ):
        raise ValueError(
            f"--refit trains the whole schedule of {made.name} in another number of rounds, and "
            "cannot keep other rounds of it: leave out total_rounds and start_round, or --refit"
        )
    patience = check_count("patience", PATIENCE if patience is None else patience)
    if not model.parent.is_dir():
        raise FileNotFoundError(f"the folder of --model does not exist: {model.parent}")
    inputs = [one for one in (*data, valid, params) if one is not None]
    check_writable(model, *inputs)
    named = options.columns(label, qid, drop, categorical)
    read, held = read_with_valid(data, valid, named)
    labels = read.y if held is None else np.append(read.y, held.y)
    # Before rows are shuffled, as it names one, and before all advice on labels.
    learner = builtin or Learner(objective, host, made)
    if why := refusal(learner, labels if refit else read.y, settings):
        raise ValueError(f"{objective} cannot be trained: {why}")
    if not keep_order:
        read = read.shuffle_within_queries(seed)
        held = held and held.shuffle_within_queries(seed)
    settings = settings.for_labels(labels, chosen=metric is not None)
    stopping = None if held is None else Stopping(held, patience)
    # Before training, as it fails if both have a query of one id.
    whole = RankingData.concat([read, held]) if refit and held is not None else None
    if valid is not None and held is not None:
        if any(valid.samefile(path) for path in data):
            warn(f"{valid} is among the files to train on, so that --valid chooses too many rounds")
        held_counted = counted_queries(held, settings)
        if not held_counted.any():
            raise ValueError(
                f"{valid}: no query counts in {settings.metric.upper()}, by which --valid stops "
                "the training; use other queries or another --metric"
            )
        if not queries_that_choose(held, settings).any():
            raise ValueError(
                f"{valid}: {settings.metric.upper()}, by which --valid stops the training, is the "
                "same for every order of each query, as where all labels are equal; use other "
                "queries or another --metric"
            )
        if left_out := queries_left_out(held_counted, settings):
            say(f"{valid}: {left_out}")
    trained, seconds, done = _trained(host, made, read, settings, stopping)
    if trained.choice is not None:
        made = trained.choice.objective
        say(f"auto: {trained.choice}")
    best = trained.n_trees
    kept = counted(best, "tree")
    if stopping is not None:
        kept += f", up to the best of {done:g} rounds,"
    if whole is not None:
        again = in_proportion(trained.n_trees, len(read.y), len(whole.y))
        if isinstance(made, Objective):
            made = stretched(made, again)
        trained, *_ = _trained(host, made, whole, replace(settings, rounds=again))
        kept = f"best round {best} of {done:g}; retrained on all files with "
        kept += counted(trained.n_trees, "tree")
    trained.save(model)
    shown = label_of(made) if isinstance(made, Objective) else objective
    say(f"{model}: {kept} of {host} with {shown}, {seconds / max(done, 1):.4f} s per round")


def _trained(
    host: str,
    objective: Objective | str,
    data: RankingData,
    settings: Settings,
    stopping: Stopping | None = None,
) -> tuple[FileModel, float, float]:
    """Train with a progress bar; return the model, the seconds and the rounds that were trained."""
    with progress_bar("rounds", settings.rounds) as progress:
        model, seconds = HOSTS[host].train(
            objective, data, settings, lambda: progress.advance(progress.task_ids[0]), stopping
        )
        return model, seconds, progress.tasks[0].completed


def predict(
    model: Annotated[Path, typer.Argument(help="A model file of 'train' or of the host itself.")],
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Where to write the scores, one per line.")],
    run: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a run of TREC with this name instead: query, document, rank and score on "
            "each line. The data must have documents' ids.",
        ),
    ] = None,
    label: options.Label = Columns.label,
    qid: options.Qid = Columns.qid,
    doc_id: options.DocId = "doc_id",
    drop: options.Drop = "",
) -> None:
    """Write a model's score for every document, in the order of the data.

    The scores are those of the host's own `predict`, of the best round if the file says which.
    """
    check_writable(out, model, *data)
    if is_table(out) or out != without_compression(out):  # a reader would take them for that
        raise ValueError(
            f"{out}: scores are written as plain text, one on each line and without a header: give "
            f"a name that does not end in {out.suffix}"
        )
    trained = load_model(model)
    named = options.columns(label, qid, drop, "", None if run is None else doc_id)
    X, ids = load_features(data, named, trained)
    if trained.features.width != X.shape[1]:
        raise ValueError(
            f"{model} was trained on {trained.features.width} features, but "
            f"{', '.join(map(str, data))} has {X.shape[1]}"
        )
    scores = trained.predict(X)
    if run is None or ids is None:
        text = "".join(f"{score!r}\n" for score in scores.tolist())
    else:
        text = Run(*ids, scores).to_trec(run)
    write_file(out, text.encode())
    say(f"{out}: {counted(len(scores), 'score')}")
