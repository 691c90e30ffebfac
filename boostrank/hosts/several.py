"""Which losses learn in a round, and from which labels."""

from boostrank.hosts.clicks import inside
from boostrank.hosts.collective import refuse_workers
from boostrank.hosts.data import Host, rows_of_fold
from boostrank.hosts.undocumented import training_booster
from boostrank.objectives import Objective, Several
from boostrank.objectives.mix import Parts, parts_of
from boostrank.objectives.validation import Floats, Integers


def labelled_parts(
    objective: Objective,
    scores: Floats,
    labels: Floats,
    boundaries: Integers,
    round: int,
    host: Host,
) -> tuple[Parts, list[Floats]]:
    """Return the parts of a round's loss, and the labels of each.

    Parameters
    ----------
    objective : Objective
    scores, labels : float64 arrays (n_docs,)
        The host's.
    boundaries : int64 array (n_queries + 1,)
    round : int
    host : {"lightgbm", "xgboost"}

    Returns
    -------
    parts : weights and objectives
    labels : list of float64 array (n_docs,)

    Raises
    ------
    ValueError
        If there are more or fewer labels than the host's, and for several workers.
    """
    if not isinstance(objective, Several):
        parts = parts_of(inside(objective), round)
        return parts, [labels] * len(parts)
    refuse_workers(host, "Several", "its labels")
    rows, whole = rows_of_fold(training_booster(host))
    if rows is not None and any(len(own.values) != whole.num_data() for _, own in objective.labels):
        rows = None  # `all_labels` refuses them
    known = objective.all_labels(labels, rows)
    measured = None
    if objective.method != "weights":
        measured = objective.measure(scores, known, boundaries[1:] - boundaries[:-1])
    parts, names = objective.parts(objective.shares(measured), round)
    return parts, [known[name] for name in names]
