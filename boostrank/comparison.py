"""Compares objectives over folds, as `boostrank compare` does, with data frames in and out.

The workbench is imported only when something is compared.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostrank.messages import load, warn
from boostrank.objectives import Objective
from boostrank.objectives.validation import check_flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boostrank.lab.runner import Run

_COMMAND = "boostrank.compare(...)"


class Comparison:
    """The results of a comparison; made by `compare`.

    Attributes
    ----------
    rows : list of Row
        One for each learner, the baseline first.
    failures : list of Failure
        The learners that could not be trained, with their `error`.
    folds : Folds
        The data, and the queries of each fold.
    settings : Settings
    notes : list of str
        What was left out, and why: hosts that are not installed, objectives that the labels do not
        fit, queries that the metric does not count.
    """

    def __init__(self, run: "Run") -> None:
        self._run = run
        self.rows = run.rows
        self.failures = run.failures
        self.folds = run.plan.folds
        self.settings = run.plan.settings
        self.notes = list(run.plan.notes)

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} learners by {self.settings.metric})"

    @property
    def summary(self) -> Any:
        """One row per learner, best first, with metrics, difference from the baseline, p-values.

        `p_value` is that of the row's own test, `p_holm` corrects it for the number of rows by
        Holm's procedure; the verdict is that of `p_holm`.

        Returns
        -------
        pandas.DataFrame
        """
        from boostrank.lab.results import best_first, holm_p_values, verdicts

        corrected, said = holm_p_values(self.rows), verdicts(self.rows)
        lines = [
            {
                "learner": str(row.learner),
                **{name: row.mean(name) for name in self.settings.metrics},
                "difference": row.difference,
                "difference_low": row.difference_interval[0],
                "difference_high": row.difference_interval[1],
                "relative_difference": row.relative_difference,
                "p_value": row.p_value,
                "p_holm": corrected[row.learner],
                "verdict": said[row.learner],
                "median_round": row.median_round,
                "seconds_per_round": row.seconds_per_round,
            }
            for row in best_first(self.rows)
        ]
        return _pandas().DataFrame(lines).set_index("learner")

    @property
    def queries(self) -> Any:
        """One row per learner and test query, NaN where the convention leaves a query out.

        Returns
        -------
        pandas.DataFrame
        """
        lines = [[str(row.learner), *line] for row in self.rows for line in row.by_query()]
        columns = ["learner", "fold", "qid", *self.settings.metrics]
        return _pandas().DataFrame(lines, columns=columns)

    def to_latex(self) -> str:
        r"""Return the summary as a LaTeX table, as `boostrank compare --latex` prints it.

        Returns
        -------
        str
            A ``table`` for ``\usepackage{booktabs}``, best row first: the metrics that were asked
            for, the difference from the baseline with half its interval, and both p-values. The
            caption says how the rows were tested.
        """
        from boostrank.lab.latex import latex_table

        return latex_table(self.rows, self.settings)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the paired differences from the baseline; see `boostrank.plot.differences`.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from boostrank.plot import differences

        return differences(self.rows, ax=ax)

    def report(self, path: str | Path) -> None:
        """Write the comparison as one HTML file.

        Parameters
        ----------
        path : path
        """
        from boostrank.lab.report import write_report

        write_report(Path(path), self._run, _COMMAND)


def _pandas() -> Any:
    return load("pandas", "these tables need pandas", "pandas")


def compare(
    data: Any,
    *,
    objectives: str | Objective | Sequence[str | Objective] = ("blend",),
    label: str = "label",
    qid: str = "qid",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    hosts: Sequence[str] | None = None,
    baseline: str | None = None,
    metric: str | Sequence[str] | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    folds: Any = (1, 2, 3, 4, 5),
    shuffle: bool = True,
    out: str | Path | None = None,
    resume: bool = False,
    **settings: Any,
) -> Comparison:
    """Train objectives on hosts over folds of whole queries, and test their differences.

    The hosts' own objectives and regression are always included, unless they cannot take the
    labels. All get the same tree settings, the best round is chosen on the validation part, and
    figures come from the test part.

    Parameters
    ----------
    data : RankingData, data frame of pandas or polars, path, or sequence of paths
        Files are svmlight with qid (LETOR), CSV or parquet. Five files are taken as the five parts;
        all other data is split into five at random.
    objectives : str, objective or a sequence of them, default "blend"
        Names may have parameters: ``"sdcg:k=10,alpha=2"``.
    label, qid, drop, categorical
        For data frames, CSV and parquet: as in `boostrank.datasets.from_frame`.
    hosts : sequence of str, optional
        Default None: those of LightGBM and XGBoost that are installed.
    baseline : str, optional
        Learner that the others are tested against, such as "xgboost:rank:ndcg" or
        "sdcg@lightgbm". Default: the first of the first host's own objectives.
    metric : str or sequence of str, optional
        Default None: "ndcg@10", or "spearman" for labels that are no grades, such as returns. The
        first chooses the rounds and is compared; the others are only reported. As in
        `evaluate`, but logloss and brier are means over queries; ece, which has none, is refused.
    params : mapping of host to mapping, optional
        The hosts' own parameters: ``{"lightgbm": {"max_bin": 63}}``.
    folds : sequence of int, default 1 to 5
        Which of the five folds to run. Or folds of your own: a splitter of scikit-learn, such as
        ``TimeSeriesSplit(5, gap=2)``, which splits the queries in the order of the data; what
        `boostrank.group_folds` returns; or a sequence of (train, test) or (train, validation,
        test), arrays of positions of queries or of rows (rows if one of them is not the position
        of a query). Without validation part, a fifth of the training queries chooses the rounds:
        the last ones, with the same gap, if the fold goes forward, otherwise every fifth.
    shuffle : bool, default True
        Shuffle documents within queries: a file may be sorted by a ranker, and ties keep its order.
    out : path, optional
        A folder for the report, CSV files, figures and results, as the command writes them.
        Default None: nothing is written.
    resume : bool, default False
        Continue from the results of an earlier run in `out`, of the function or the command;
        otherwise replace them. A result is used again only if data, fold, objective, settings,
        versions, sources and machine are the same.
    **settings
        `rounds`, `learning_rate`, `leaves`, `min_docs`, `threads`, `seed`, `convention`, `gain`,
        `fixed_rounds` and `test`, as in the options of `boostrank compare`.

    Returns
    -------
    Comparison
        With `summary` and `queries` as data frames, `plot()` and `report(path)`.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range; for an objective or a metric that cannot
        take the labels, and folds in which no query counts in the metric.
    ImportError
        If a host that was named, SciPy or pandas is not installed; with `out`, also without
        Matplotlib or Jinja2.

    Warns
    -----
    UserWarning
        For queries that do not count in the metric, with their number; for folds that train on
        dates after those that they test; for a learner that cannot be trained, which does not stop
        the others, unless it is the baseline; for results in `out` that are not used again.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(25, 8, 3, seed=0)
    >>> found = boostrank.compare(data, objectives=["gbrank"], hosts=["lightgbm"], rounds=3)
    >>> sorted(found.summary.index)
    ['gbrank@lightgbm', 'lightgbm:lambdarank', 'lightgbm:rank_xendcg', 'regression@lightgbm']
    """
    from boostrank.datasets.tables import Columns
    from boostrank.lab.naming import named_objectives
    from boostrank.lab.plan import make_plan
    from boostrank.lab.reading import read_folds
    from boostrank.lab.report import check_packages, write_files
    from boostrank.lab.results import Failure
    from boostrank.lab.runner import running
    from boostrank.lab.settings import Settings

    first, *others = [metric] if isinstance(metric, str) else metric or [Settings.metric]
    chosen = Settings(metric=first, other_metrics=others, params=params or {}, **settings)
    asked = [objectives] if isinstance(objectives, str | Objective) else objectives
    named = named_objectives(asked, chosen.rounds)
    if check_flag("resume", resume) and out is None:
        raise ValueError("resume continues from the results in a folder: pass out too")
    if out is not None:
        check_packages()
    if data is None:  # for which the command makes its own
        raise TypeError("data is missing: pass RankingData, a data frame or file paths")
    split = read_folds(
        data,
        Columns(label, qid, drop, categorical),
        seed=chosen.seed,
        shuffle=check_flag("shuffle", shuffle),
        folds=folds,
    )
    chosen = chosen.for_labels(split.data.y, chosen=metric is not None)
    plan = make_plan(named, split, chosen, hosts=hosts, baseline=baseline)
    for doubt in plan.doubts:
        warn(doubt)
    folder = None if out is None else Path(out)
    with running(plan, folder, resume=resume, again="resume=True") as run:
        if run.store is not None and run.store.stale:
            warn(run.resumed)
        for learner in plan.queue:
            done = run.train(learner)
            if isinstance(done, Failure):
                warn(f"{learner} failed: {done.error}")
        if folder is not None:
            write_files(folder, run, _COMMAND)
    return Comparison(run)
