"""Where documents were shown, and the position factors that a training learns from clicks.

An objective is immutable and may train many models at once, so the Booster that trains keeps the
factors, after every round that may be its best: XGBoost's in attributes, which are saved and copied
with the model, LightGBM's, whose files have no place for them, in a Python attribute.
"""

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from boostrank.hosts.model_files import booster_of
from boostrank.hosts.training import Training
from boostrank.hosts.undocumented import lightgbms_init_model
from boostrank.messages import import_host, warn
from boostrank.objectives import Objective, Unbiased
from boostrank.objectives.corrections import Call, Shown, sums_at
from boostrank.objectives.validation import Floats, Integers, check_whole

_ATTRIBUTE = "boostrank_position_bias"
# Of a Booster of LightGBM: the data by which the positions of its factors are numbered.
_NUMBERING = "boostrank_position_numbering"


class PositionBias(NamedTuple):
    """Position factors that a model learnt from clicks.

    Attributes
    ----------
    form : {"pairwise", "additive"}
    propensity : float64 array (n_positions,)
        How likely users are to look at each position, relative to the first: t+ for pairs, exp(b)
        for additive factors. exp(b) has this meaning for losses whose scores are log-odds (RankNet,
        LambdaRank, ListNet, XE-NDCG).
    factors : float64 array (1 or 2, n_positions)
        As learnt: b, or t+ of clicked and t- of other documents; ``Unbiased(initial=)`` takes them.

    Examples
    --------
    What `position_bias` returns for a model:

    >>> import boostrank, numpy as np
    >>> bias = boostrank.PositionBias("additive", np.array([1.0, 0.5]), np.log([[1.0, 0.5]]))
    >>> bias.propensity.tolist()
    [1.0, 0.5]
    """

    form: str
    propensity: Floats
    factors: Floats


def position_bias(model: Any) -> PositionBias:
    """Return what a model had learnt about positions after its last round.

    After early stopping that is the best round, with which the trees end.

    Parameters
    ----------
    model : Booster or ranker, of either host
        Trained with an `Unbiased` objective that learns factors. XGBoost keeps them in copies and
        files. With LightGBM only the Booster itself does, also if pickled; copies and files do not.

    Returns
    -------
    PositionBias
        Positions are in order of rank, except with ``Dataset(position=)`` of LightGBM, which
        renumbers them in the order in which they first appear in the data.

    Raises
    ------
    ValueError
        If the model has none.

    Examples
    --------
    >>> import boostrank
    >>> from boostrank.datasets import make_ranking, simulate_clicks
    >>> from boostrank.lightgbm import LGBMRanker
    >>> log = simulate_clicks(make_ranking(50, 6, n_features=5, seed=0), sessions=20, seed=0)
    >>> objective = boostrank.Unbiased(boostrank.RankNet(), propensity="additive")
    >>> ranker = LGBMRanker(objective=objective, n_estimators=20, verbosity=-1, n_jobs=1)
    >>> ranker = ranker.fit(log.data.X, log.data.y, qid=log.data.qid, position=log.position)
    >>> bias = boostrank.position_bias(ranker)
    >>> bool(bias.propensity[0] == 1.0 > bias.propensity[3])
    True
    """
    booster = booster_of(model)
    kept = _kept(booster, _rounds(booster)[1])
    if kept is None:
        raise ValueError(
            "this model has no position factors: train it with an Unbiased objective that has "
            'propensity="additive" or "pairwise"; files and copies of LightGBM\'s models lose them'
        )
    form, factors = kept
    propensity = np.exp(factors[0]) if form == "additive" else factors[0].copy()
    return PositionBias(form, propensity, factors)


def _rounds(booster: Any) -> tuple[int, int]:
    """Return how many rounds a Booster has been trained for, and how many up to its best one."""
    if not hasattr(booster, "set_attr"):
        done = booster.current_iteration()
        return done, booster.best_iteration if booster.best_iteration > 0 else done
    done, best = booster.num_boosted_rounds(), booster.attr("best_iteration")
    return done, done if best is None else int(best) + 1


def _history(booster: Any) -> tuple[str, dict[int, Floats]] | None:
    """Return the form of the factors, and those after each round that may be the best one."""
    if not hasattr(booster, "set_attr"):
        found: tuple[str, dict[int, Floats]] | None = getattr(booster, _ATTRIBUTE, None)
        return found
    text = booster.attr(_ATTRIBUTE)
    if text is None:
        return None
    known = json.loads(text)
    return known["form"], {int(n): np.array(each) for n, each in known["rounds"].items()}


def _kept(booster: Any, rounds: int) -> tuple[str, Floats] | None:
    """Return the form and the factors after so many rounds, or the last ones if not known."""
    found = _history(booster)
    if found is None:
        return None
    form, after = found
    return form, after[max((n for n in after if n <= rounds), default=max(after))].copy()


def _keep(booster: Any, form: str, factors: Floats) -> None:
    _, after = _history(booster) or (form, {})
    done, best = _rounds(booster)
    if not hasattr(booster, "set_attr"):  # which round is best is known at the end
        setattr(booster, _ATTRIBUTE, (form, {**after, done + 1: factors}))
        return
    first = done + 1 if booster.attr("best_iteration") is None else best
    after = {n: each for n, each in after.items() if first <= n <= done} | {done + 1: factors}
    known = {"form": form, "rounds": {n: each.tolist() for n, each in after.items()}}
    booster.set_attr(**{_ATTRIBUTE: json.dumps(known)})


def up_to_best(booster: Any) -> Any:
    """Return a LightGBM Booster without the rounds after its best one, as a file has it."""
    if not 0 < booster.best_iteration < booster.current_iteration():
        return booster
    made = import_host("lightgbm").Booster(model_str=booster.model_to_string())
    for name in (_ATTRIBUTE, _NUMBERING):
        if hasattr(booster, name):
            setattr(made, name, getattr(booster, name))
    return made


class CorrectedRound:
    """Corrects the gradients of one round for positions, and learns from them.

    `shown` are the positions in XGBoost's data (n_docs,), from 1, or None. `weight`, one for each
    document, is 1 until it is set.
    """

    def __init__(self, objective: Unbiased, training: Training, n_docs: int, shown: Any) -> None:
        self.objective, self.training = objective, training
        self.places = objective.places(n_docs, _positions(objective, training, shown))
        n = int(self.places.max(initial=-1)) + 1
        if objective.learns and training.is_distributed:
            if objective.last is None:
                raise ValueError(
                    "last is missing: the workers of a distributed training learn the same "
                    "factors, and need to know how many positions there are"
                )
            n = objective.last
        self.weight = np.ones(n_docs)
        self.factors = self._begin(n)
        self.sums: Floats | None = None

    def _begin(self, n: int) -> Floats:
        objective = self.objective
        if not objective.learns:
            return objective.start(n)
        booster = self.training.booster
        if booster is None:
            raise ValueError(
                "an objective that learns position factors must be called by a Booster that is "
                "training, which keeps them"
            )
        kept = _kept(booster, _rounds(booster)[0])
        if kept is None and self.training.host == "lightgbm":
            before = lightgbms_init_model()
            # It continues from all rounds, also those after the best one.
            kept = None if before is None else _kept(before, _rounds(before)[0])
            numbering = _numbering(self.training)
            if kept is not None and numbering != getattr(before, _NUMBERING, None):
                warn(
                    "position factors may be taken for those of other positions: LightGBM numbers "
                    "the positions of Dataset(position=) in the order in which they appear, and "
                    "the model to continue has learnt from other data. Pass the ranks to the "
                    "objective in both trainings, Unbiased(..., position=ranks), and no position "
                    "to the Dataset"
                )
            if numbering is not None:
                setattr(booster, _NUMBERING, numbering)
        self.training.once("initial factors", lambda: _warn_of_initial(objective, kept))
        if kept is None:
            return objective.start(n)
        form, factors = kept
        if form != objective.propensity:
            raise ValueError(
                f"the initial model learnt {form} factors, not {objective.propensity} ones as here"
            )
        if factors.shape[1] < n:  # deeper positions than before
            more = objective.replace(initial=None).start(n)
            more[:, : factors.shape[1]] = factors
            factors = more
        return factors

    def draw(self, rows: Any) -> None:
        """Learn from some of the documents only."""
        self.places, self.weight = self.places[rows], self.weight[rows]

    def write(self, part: Objective, *arguments: Any) -> None:
        """Write gradient and Hessian of a part, with the arguments of its `write_derivatives`."""
        scores, clicks, boundaries, *others = arguments
        shown = Shown(scores, clicks, boundaries, self.places, self.factors, self.weight)
        self.sums = self.objective.correction.write_part(part, shown, Call(*others))

    def learn(self, grad: Floats, hess: Floats, mean: float) -> None:
        """Learn from the gradients of all parts together, and keep the factors for the next round.

        Both arrays are to be divided by the `mean` Hessian.
        """
        if not self.objective.learns:
            return
        sums = self.sums
        if sums is None:
            n = self.factors.shape[1]
            sums = sums_at(self.places, self.weight, grad / mean, hess / mean, n)
        shared = self.training.mean(sums.ravel())
        factors = self.objective.correction.learnt(self.factors, shared.reshape(sums.shape))
        _keep(self.training.booster, str(self.objective.propensity), factors)


def _warn_of_initial(objective: Unbiased, kept: tuple[str, Floats] | None) -> None:
    """Warn of other initial factors than those of a model that is continued."""
    initial = objective.initial
    if kept is not None and initial is not None and not np.array_equal(initial, kept[1]):
        warn(
            "initial has no effect: the model to continue has position factors of its own, from "
            "which training goes on"
        )


def _numbering(training: Training) -> str | None:
    """Return a name of the order in which LightGBM has numbered positions; None: they are ranks."""
    _, whole = training.fold
    numbers = None if whole is None else whole.get_field("position")
    if numbers is None:
        return None
    # By the clicks too: numbers alone are the same for all lists that are shown bottom up.
    return hashlib.sha256(numbers.tobytes() + whole.get_field("label").tobytes()).hexdigest()


def _positions(objective: Unbiased, training: Training, shown: Any) -> Integers | None:
    """Return positions from 1; None: the objective's."""
    own = objective.position
    if own is not None:  # even one worker may have sorted the rows
        training.refuse_workers("Unbiased(position=...)", "its positions")
    rows, whole = training.fold
    given, where = shown, "the DMatrix's label_lower_bound"
    if whole is not None:
        given, where = whole.get_field("position"), "the Dataset's position"
    if given is not None and own is not None:
        raise ValueError(
            f"positions are given twice: by the objective, and as {where}; leave one out"
        )
    if given is not None and whole is None:
        return check_whole(f"{where}, of positions,", given, 1)
    if given is not None:
        if not objective.learns or (objective.last, objective.initial) != (None, None):
            raise ValueError(
                "LightGBM renumbers the positions of Dataset(position=) in the order in which they "
                "appear, so propensities, last= and initial= do not match them: pass the ranks to "
                "the objective, Unbiased(..., position=ranks), and no position to the Dataset"
            )
        numbers = np.asarray(given, dtype=np.int64) + 1
        return numbers if rows is None else numbers[rows]
    if own is not None and rows is not None and len(own.values) == whole.num_data():
        return own.values[rows]
    return None
