"""Compares objectives over folds, as `boostrank compare` does, with data frames in and out.

The workbench is imported only when something is compared.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostrank.datasets import RankingData
from boostrank.objectives import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boostrank.lab.learners import Learner
    from boostrank.lab.results import Row
    from boostrank.lab.settings import Settings

_N_PARTS = 5


class Comparison:
    """The results of a comparison; made by `compare`.

    Attributes
    ----------
    rows : list of Row
        One for each learner, the baseline first.
    parts : list of RankingData
    settings : Settings
    """

    def __init__(
        self, rows: "list[Row]", parts: list[RankingData], settings: "Settings", source: str
    ) -> None:
        self.rows = rows
        self.parts = parts
        self.settings = settings
        self._source = source

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} learners by {self.settings.metric})"

    @property
    def summary(self) -> Any:
        """One row per learner, best first: metrics, difference from the baseline and p-value.

        Returns
        -------
        pandas.DataFrame
        """
        from boostrank.lab.results import best_first

        return (
            _pandas()
            .DataFrame(
                [
                    {
                        "learner": str(row.learner),
                        **{name: row.mean(name) for name in self.settings.metrics},
                        "difference": row.difference,
                        "difference_low": row.difference_interval[0],
                        "difference_high": row.difference_interval[1],
                        "relative_difference": row.relative_difference,
                        "p_value": row.p_value,
                        "verdict": "baseline" if row.baseline is None else row.verdict,
                        "median_round": row.median_round,
                        "seconds_per_round": row.seconds_per_round,
                    }
                    for row in best_first(self.rows)
                ]
            )
            .set_index("learner")
        )

    @property
    def queries(self) -> Any:
        """One row per learner and test query, NaN where the convention leaves a query out.

        Returns
        -------
        pandas.DataFrame
        """
        frames = [
            _pandas().DataFrame(
                {
                    "learner": str(row.learner),
                    "fold": fold.fold,
                    "qid": fold.qid,
                    **{name: fold.figures[name] for name in self.settings.metrics},
                }
            )
            for row in self.rows
            for fold in row.folds
        ]
        return _pandas().concat(frames, ignore_index=True)

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
        from boostrank.lab.report import training_time, write_report

        settings = self.settings
        write_report(
            Path(path),
            self.rows,
            metrics=settings.metrics,
            parts=self.parts,
            about={
                "Data": f"{self._source}; {sum(len(part.group) for part in self.parts):,} queries, "
                f"{sum(len(part.y) for part in self.parts):,} documents.",
                "Trees": f"{settings}.",
                "Time": f"training took {training_time(self.rows, settings)}.",
            },
            command="boostrank.compare(...)",
        )


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f'these tables need pandas: pip install "boostrank[tables]" ({error})'
        ) from error
    return pandas


def compare(
    data: Any,
    *,
    objectives: Sequence[str | Objective] = ("blend",),
    label: str = "label",
    qid: str = "qid",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    hosts: Sequence[str] = ("lightgbm",),
    baseline: str | None = None,
    metric: str | Sequence[str] = "ndcg@10",
    params: Mapping[str, Mapping[str, Any]] | None = None,
    folds: Sequence[int] = (1, 2, 3, 4, 5),
    shuffle: bool = True,
    **settings: Any,
) -> Comparison:
    """Train objectives on hosts over five folds of whole queries, and test their differences.

    The hosts' own objectives and regression are always included. All get the same tree settings,
    the best round is chosen on the validation part, and figures come from the test part.

    Parameters
    ----------
    data : RankingData, data frame of pandas or polars, path, or sequence of paths
        Files are svmlight with qid (LETOR), CSV or parquet. Five files are taken as the five parts;
        all other data is split into five at random.
    objectives : sequence of str or objective, default ("blend",)
    label, qid, drop, categorical
        For data frames, CSV and parquet: as in `boostrank.datasets.from_frame`.
    hosts : sequence of str, default ("lightgbm",)
    baseline : str, optional
        Learner that the others are tested against, such as "xgboost:rank:ndcg" or
        "sdcg@lightgbm". Default: the first of the first host's own objectives.
    metric : str or sequence of str, default "ndcg@10"
        The first chooses the rounds and is compared; the others are only reported. As in
        `evaluate`, but logloss and brier are means over queries; ece, which has none, is refused.
    params : mapping of host to mapping, optional
        The hosts' own parameters: ``{"lightgbm": {"max_bin": 63}}``.
    folds : sequence of int, default (1, 2, 3, 4, 5)
    shuffle : bool, default True
        Shuffle documents within queries: a file may be sorted by a ranker, and ties keep its order.
    **settings
        `rounds`, `learning_rate`, `leaves`, `min_docs`, `threads`, `seed`, `convention`, `gain` and
        `fixed_rounds`, as in the options of `boostrank compare`.

    Returns
    -------
    Comparison
        With `summary` and `queries` as data frames, `plot()` and `report(path)`.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range.
    ImportError
        If a host, SciPy or pandas is not installed.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(25, 8, 3, seed=0)
    >>> found = boostrank.compare(data, objectives=["gbrank"], rounds=3, min_docs=2, folds=[1, 2])
    >>> sorted(found.summary.index)
    ['gbrank@lightgbm', 'lightgbm:lambdarank', 'lightgbm:rank_xendcg', 'regression@lightgbm']
    """
    from boostrank.datasets.tables import Columns
    from boostrank.lab.compare import check_folds
    from boostrank.lab.learners import baseline_first, learners
    from boostrank.lab.settings import Settings

    first, *others = [metric] if isinstance(metric, str) else metric
    chosen = Settings(metric=first, other_metrics=others, params=params or {}, **settings)
    named = _named(objectives, chosen.rounds)
    queue = baseline_first(learners(named, hosts, rounds=chosen.rounds), baseline)
    numbers = check_folds(folds, _N_PARTS)
    source, parts = _read(data, Columns(label, qid, drop, categorical), chosen.seed)
    if shuffle:
        parts = [part.shuffle_within_queries(chosen.seed) for part in parts]
    return Comparison(_train(queue, parts, chosen, numbers), parts, chosen, source)


def _named(objectives: Sequence[str | Objective], rounds: int) -> dict[str, Objective]:
    """Return objectives by their names in the tables."""
    from boostrank.registry import make_objective

    return {
        str(each): make_objective(each, {}, rounds) if isinstance(each, str) else each
        for each in objectives
    }


def _train(
    queue: "Sequence[Learner]",
    parts: list[RankingData],
    settings: "Settings",
    folds: Sequence[int],
) -> "list[Row]":
    """Train all learners, the baseline first."""
    from boostrank.lab.compare import run_folds
    from boostrank.lab.results import Row

    rows: list[Row] = []
    for learner in queue:
        results = tuple(run_folds(learner, parts, settings, folds))
        baseline = rows[0] if rows else None
        rows.append(Row(learner, results, baseline, settings.seed, settings.metric))
    return rows


def _read(data: Any, columns: Any, seed: int) -> tuple[str, list[RankingData]]:
    """Return a description of the data, and its five parts."""
    from boostrank.datasets.tables import parts_of_frames, read_parts

    if isinstance(data, str | Path):
        data = [data]
    if isinstance(data, RankingData):
        source, parts = "arrays", [data]
    elif hasattr(data, "columns"):
        source, parts = "a data frame", parts_of_frames([data], columns)
    elif isinstance(data, Sequence) and data and all(isinstance(one, str | Path) for one in data):
        source, parts = ", ".join(Path(one).name for one in data), read_parts(data, columns)
    else:
        raise TypeError(
            "data must be RankingData, a data frame of pandas or polars, or file paths, got "
            f"{type(data).__name__}"
        )
    if len(parts) == _N_PARTS:
        return source, parts
    whole = RankingData.concat(parts)
    if len(whole.group) < _N_PARTS:
        raise ValueError(
            f"data must have at least {_N_PARTS} queries for its folds, got {len(whole.group)}"
        )
    return source, whole.split(_N_PARTS, seed=seed)
