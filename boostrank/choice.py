"""Which setting of `Blend` suits the data: compared on halves of the training queries.

Each half trains a model half way, in steps four times as long, up to a learning rate of 0.5, and
the other half tests it. The middle and both ends are compared first, and the neighbour of an end
only if that end is better. What is not ahead of the middle by more than a standard error, over
queries, is not chosen. The halves depend on the order of the queries, and so may the choice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostrank.datasets.folds import group_folds
from boostrank.hosts.rankers import Rows, objective_of, stretched, take
from boostrank.hosts.stopping import rounds_before
from boostrank.messages import muted, warn
from boostrank.metrics import evaluate, per_query_weight
from boostrank.objectives import Blend, Objective
from boostrank.objectives.blend import SETTINGS, is_auto
from boostrank.objectives.validation import (
    Floats,
    Integers,
    check_count,
    check_group,
    check_labels,
    check_positive,
    check_scores,
    differ,
)

#: Fewer queries than this, with weight and something to rank, cannot tell the settings apart.
LEAST_QUERIES = 50
MIDDLE, NOISY, CLEAN = "medium", ("lowest", "low"), ("highest", "high")
# Longer steps hide what fast settings are worth, and a shorter way what slow ones are.
SPEED_UP, WAY = 4, 0.5
LARGEST_RATE = 0.5
METRIC = "ndcg@10"
#: The hosts', where an estimator has None.
DEFAULT_RATES = {"LightGBM": 0.1, "XGBoost": 0.3}

#: Trains on rows and returns the scores of others:
#: ``fit(objective, train_rows, test_rows, rounds, learning_rate)``.
Fit = Callable[[Objective, Integers, Integers, int, float], Floats]


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    objective : Blend
        With the chosen setting.
    ahead : mapping of str to (float, float)
        For each setting that was compared: its mean lead in NDCG@10 over "medium" per query, and
        the standard error of that. Empty if there were too few queries, or the host does not train
        on half of them.
    n_queries : int
        How many queries were compared: those with something to rank, and a weight above 0.
    """

    objective: Blend
    ahead: Mapping[str, tuple[float, float]]
    n_queries: int

    def __str__(self) -> str:
        signal, n = f"signal={self.objective.signal!r}", self.n_queries
        if not self.ahead and n >= LEAST_QUERIES:
            return f"{signal}, the default: halves of the queries cannot be trained on"
        if not self.ahead:
            return (
                f"{signal}, the default: {n} queries with weight and something to rank are too few "
                f"to choose, which takes {LEAST_QUERIES}"
            )
        leads = (f"{name} {lead:+.4f} ± {sem:.4f}" for name, (lead, sem) in self.ahead.items())
        why = "no setting leads it by more than its ± (a standard error)"
        if self.objective.signal != MIDDLE:  # an end within its ± may lead by more
            ends = "the ends that do so by more than their ± (a standard error)"
            why = f"leads {MIDDLE} the most, of {ends} and the best one's neighbour"
        return f"{signal}: {why}, in NDCG@10 on {n} queries: {', '.join(leads)}"


def settings_of(objective: Objective) -> list[Objective]:
    """Return the objectives that may be trained: all settings of "auto", any other itself."""
    if is_auto(objective):
        return [objective.replace(signal=signal) for signal in SETTINGS]
    return [objective]


def choose_signal(
    objective: Blend,
    labels: Any,
    group: Any,
    fit: Fit,
    *,
    rounds: int,
    learning_rate: float,
    weight: Any = None,
) -> Choice:
    """Choose the setting of `Blend` on the training queries.

    Boostrank's rankers and commands call it for ``objective="auto"``.

    Parameters
    ----------
    objective : Blend
        Its other parameters are kept.
    labels : array_like (n_docs,)
    group : array_like of integers (n_queries,)
        Sizes of consecutive queries.
    fit : callable
        ``fit(objective, train_rows, test_rows, rounds, learning_rate)`` trains on some rows and
        returns the scores of others, a float array (n_test_rows,). A `ValueError` for "medium" says
        that half of the queries are too few to train on: "medium" is chosen, with a warning.
    rounds : int
    learning_rate : float
        Those of the training that the choice is for.
    weight : array_like (n_queries,) or (n_docs,), optional
        Weights of the queries in the mean lead, as in `evaluate`. Those of weight 0 do not count.

    Returns
    -------
    Choice

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or out of range, and for what `fit` returns.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank.datasets import make_ranking
    >>> data = make_ranking(60, 10, seed=0)
    >>> def fit(objective, train, test, rounds, learning_rate):
    ...     ranker = LGBMRanker(
    ...         objective=objective, n_estimators=rounds, learning_rate=learning_rate, verbose=-1
    ...     )
    ...     ranker.fit(data.X[train], data.y[train], qid=data.qid[train])
    ...     return ranker.predict(data.X[test])
    >>> from boostrank.lightgbm import LGBMRanker
    >>> choice = boostrank.choose_signal(
    ...     boostrank.Blend(), data.y, data.group, fit, rounds=20, learning_rate=0.1
    ... )
    >>> choice.objective.signal in ("lowest", "low", "medium", "high", "highest")
    True
    """
    if not isinstance(objective, Blend):
        raise TypeError(f"objective must be a Blend, whose signal is chosen, got {objective!r}")
    check_count("rounds", rounds)
    rate = check_positive("learning_rate", learning_rate)
    longer = max(1.0, min(SPEED_UP, LARGEST_RATE / rate))
    rounds, rate = max(1, round(WAY * rounds / longer)), rate * longer
    y = check_labels(labels, np.size(labels), objective.contract.labels)
    boundaries = check_group(group, len(y))
    sizes = np.diff(boundaries)

    def measured(scores: Floats) -> Floats:
        found = evaluate(scores, y, sizes, (METRIC,), gain=objective.gain, per_query=True)
        return np.asarray(found[METRIC])

    shares = np.ones(len(sizes)) if weight is None else per_query_weight(weight, boundaries)
    counted = differ(y, boundaries) & (shares > 0.0)
    if counted.sum() >= LEAST_QUERIES:  # else no label need be warned of
        counted &= ~np.isnan(measured(np.zeros(len(y))))
    middle = objective.replace(signal=MIDDLE)
    if counted.sum() < LEAST_QUERIES:
        return Choice(middle, {}, int(counted.sum()))
    halves = group_folds(sizes, 2, seed=objective.seed)
    shares = shares[counted] / shares[counted].mean()

    def tested(signal: str) -> list[Floats]:
        setting = objective.replace(signal=signal)
        return [fit(setting, train, test, rounds, rate) for train, test in halves]

    def figures(found: list[Floats]) -> Floats:
        scores = np.empty(len(y))
        for (_, test), own in zip(halves, found, strict=True):
            own = check_scores(own, "scores of fit")
            if len(own) != len(test):
                raise ValueError(
                    f"fit must return one score for each of the {len(test)} rows that it tests, "
                    f"got {len(own)}"
                )
            scores[test] = own
        return measured(scores)[counted]

    try:
        of_middle = tested(MIDDLE)
    except ValueError as error:
        warn(
            f'objective="auto" compares settings on halves of the training queries, on which the '
            f'host does not train ({error}); it takes signal="{MIDDLE}"'
        )
        return Choice(middle, {}, int(counted.sum()))
    base = figures(of_middle)
    ahead: dict[str, tuple[float, float]] = {}

    def is_better(signal: str) -> bool:
        less = figures(tested(signal)) - base
        lead = float((shares * less).mean())
        error = float((shares * (less - lead)).std(ddof=1) / np.sqrt(len(less)))
        ahead[signal] = lead, error
        return lead > error

    better = [side for side in (NOISY, CLEAN) if is_better(side[0])]
    chosen = MIDDLE
    if better:
        end, near = max(better, key=lambda side: ahead[side[0]][0])
        is_better(near)
        chosen = max((near, end), key=lambda signal: ahead[signal][0])
    return Choice(objective.replace(signal=chosen), ahead, int(counted.sum()))


def choose_for_ranker(
    ranker: Any, rows: Rows, rounds: int, done: int, **kwargs: Any
) -> tuple[Objective, Choice | None]:
    """Return the objective that a ranker trains on these rows, and how it was chosen if it was.

    Its schedules end `rounds` after those done. `kwargs` are further arguments of `fit`.
    """
    made = objective_of(ranker)
    objective = stretched(made, rounds_before(made, done) + rounds)
    if not is_auto(objective):
        return objective, None
    params = ranker.get_params()
    by_rate = "learning_rate" if params.get("eta") is None else "eta"  # as the user calls it
    query = np.repeat(np.arange(len(rows.group)), rows.group)
    start, weight = rows.offset, rows.document_weight

    def fit(
        setting: Objective, train: Integers, test: Integers, rounds: int, rate: float
    ) -> Floats:
        own = {"objective": setting, "n_estimators": rounds, by_rate: rate}
        if "callbacks" in params:  # they are for the training itself
            own["callbacks"] = None
        if params.get("process_type") == "update":  # by XGBoost, of trees that are not handed over
            own |= {"process_type": None, "updater": None}
        inner = type(ranker)(**{**ranker._without_stopping(params), **own})
        with muted():  # the training itself warns
            inner.fit(
                take(rows.X, train),
                rows.y[train],
                qid=query[train],
                sample_weight=None if weight is None else weight[train],
                **({} if start is None else {ranker._rules.start: start[train]}),
                **kwargs,
            )
            scores: Floats = inner.predict(take(rows.X, test))
        return scores if start is None else scores + start[test]

    rate = params[by_rate] or DEFAULT_RATES[ranker._rules.host]
    choice = choose_signal(
        objective, rows.y, rows.group, fit, rounds=rounds, learning_rate=rate, weight=rows.weight
    )
    return choice.objective, choice
