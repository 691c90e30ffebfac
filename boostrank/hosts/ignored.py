"""Refuses and warns of what has no effect on a model although no host says so.

Parameters that a host ignores with objectives not its own, labels and gradients that teach nothing.
"""

import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.hosts.model_files import NAMES
from boostrank.hosts.monitoring import LIGHTGBMS
from boostrank.hosts.passes import Float32s
from boostrank.hosts.training import Training
from boostrank.hosts.undocumented import lightgbms_parameters
from boostrank.messages import import_host, warn, warn_of_no_grades
from boostrank.objectives import Calibrated, Objective, QueryCrossEntropy, Several
from boostrank.objectives.validation import Floats, Integers, check_choice, differ

#: Parameters of the hosts' own ranking objectives: what they are if nobody has set them, and their
#: equivalents here. XGBoost's are as it writes them into its configuration: creating a Booster to
#: ask it would communicate with the other workers of a distributed training.
OF_HOSTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "lightgbm": {
        "lambdarank_truncation_level": ("None", "LambdaRank(truncation=...)"),
        "lambdarank_norm": ("None", "LambdaRank(norm=...)"),
        "lambdarank_position_bias_regularization": ("None", ""),
        "label_gain": ("None", ""),
        "sigmoid": ("None", "LambdaRank(sigma=...)"),
        "objective_seed": ("None", "the objective's seed="),
    },
    "xgboost": {
        "lambdarank_num_pair_per_sample": ("4294967295", "LambdaRank(truncation=...)"),
        "lambdarank_normalization": ("1", "LambdaRank(norm=...)"),
        "lambdarank_score_normalization": ("1", "LambdaRank(norm=...)"),
        "lambdarank_pair_method": ("topk", ""),
        "lambdarank_unbiased": ("0", ""),
        "lambdarank_bias_norm": ("1", ""),
        "ndcg_exp_gain": ("1", ""),
    },
}
#: LightGBM's other names of parameters that its ranker always sets. LightGBM ignores them, except
#: those of `n_estimators`, which it prefers, and of `objective`, which it trains instead.
LIGHTGBMS_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "n_estimators": ("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees",
                     "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter"),
    "objective": ("objective_type", "app", "application", "loss"),
    "metric": ("metrics", "metric_types"),
    "learning_rate": ("eta", "shrinkage_rate"),
    "num_leaves": ("num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
    "min_child_samples": ("min_data_per_leaf",),
    "min_child_weight": ("min_sum_hessian_per_leaf",),
    "reg_alpha": ("l1_regularization",),
    "reg_lambda": ("l2_regularization",),
}  # fmt: skip
#: XGBoost's other names of parameters. Of two names of one parameter, it silently takes one.
XGBOOSTS_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "learning_rate": ("eta",),
    "gamma": ("min_split_loss",),
    "reg_alpha": ("alpha",),
    "reg_lambda": ("lambda",),
    "nthread": ("n_jobs",),
    "seed": ("random_state",),
}
#: All of LightGBM's names for the cut-offs of its own metrics.
EVAL_AT = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
#: All of LightGBM's names for the columns that are categories.
CATEGORICAL = ("categorical_feature", "cat_feature", "categorical_column", "cat_column",
               "categorical_features")  # fmt: skip
#: What LightGBM takes for no metric.
NO_METRIC = ("", "none", "na", "null", "custom")
_METRICS = ("metric", *LIGHTGBMS_OTHER_NAMES["metric"])
# What it reads with files only, and elsewhere ignores without a word.
_OF_FILES = frozenset({"ignore_column", "ignore_feature", "blacklist", "weight_column",
                       "input_model", "model_input", "model_in"})  # fmt: skip
#: What LightGBM's ranker passes on if no cut-off is given.
DEFAULT_CUTOFFS = [1, 2, 3, 4, 5]
_GAINS = ("label_gain", "ndcg_exp_gain")

#: Whether the ranker that trains has turned `eval_at` into metrics.
reporting_cutoffs: ContextVar[bool] = ContextVar("reporting_cutoffs", default=False)
# What all gradients together may gain, at most. At this, half of a percent of the labels' order is
# lost to XGBoost's own bound, a thousand times smaller; at a hundredth of this, a fifth.
LEAST_GAIN = 1e-3


def by_usual_names(
    params: Mapping[str, Any], other_names: Mapping[str, tuple[str, ...]], host: str
) -> dict[str, Any]:
    """Return the parameters of a host by their usual names, and refuse two names of one."""
    usual = {other: name for name, others in other_names.items() for other in others}
    for name, others in other_names.items():
        given = [each for each in (name, *others) if each in params]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are one parameter of {host}: leave one out")
    return {usual.get(name, name): value for name, value in params.items()}


def check_known(params: Iterable[str]) -> None:
    """Refuse parameters that LightGBM does not know, or not here; it is quiet about the latter."""
    known = lightgbms_parameters()
    for name in _OF_FILES.intersection(params):
        raise ValueError(
            f"{name} has no effect here, since only LightGBM's own command line reads it: leave "
            "columns out of the features, and pass weights, or the model to continue, to fit"
        )
    for name in params if known else ():
        check_choice("parameter of lightgbm", name, known)


@cache
def check_metric(name: str) -> None:
    """Refuse a metric that LightGBM does not know, which it would leave out without a word."""
    if name.strip().lower() in NO_METRIC:
        return
    lightgbm = import_host("lightgbm")
    data = lightgbm.Dataset(np.zeros((2, 1)), [1.0, 1.0], group=[2], params={"verbosity": -1})
    params = {"metric": name, "objective": "none", "verbosity": -1, "num_threads": 1}
    if not lightgbm.Booster(params, data).eval_train():
        raise ValueError(
            f"metric={name!r} is no metric of LightGBM; boostrank's go to fit, as eval_metric"
        )


def warn_of_ignored(objective: Objective, training: Training) -> None:
    """Warn of parameters in a training that only the host's own ranking objectives read."""
    params = training.params
    ignored = {
        name: cure
        for name, (usual, cure) in OF_HOSTS[training.host].items()
        if str(params.get(name, usual)).partition(".")[0] != usual
    }
    if training.host == "lightgbm" and not reporting_cutoffs.get():
        metrics = " ".join(str(params[name]) for name in _METRICS if name in params).lower()
        if not {*LIGHTGBMS["ndcg"], *LIGHTGBMS["map"]}.intersection(re.findall(r"\w+", metrics)):
            ignored |= {
                name: 'boostrank.metric("ndcg@k")'
                for name in EVAL_AT
                if params.get(name) is not None and list(np.ravel(params[name])) != DEFAULT_CUTOFFS
            }
    if objective.counts_gains:  # which then takes the gain over
        ignored = {name: cure for name, cure in ignored.items() if name not in _GAINS}
    said = [f"{name} ({cure} here)" if cure else name for name, cure in ignored.items()]
    if said:
        warn(
            f"ignored by boostrank's {objective.name}: {', '.join(said)}; only "
            f"{NAMES[training.host]}'s own ranking objectives and metrics read it"
        )


def warn_of_grades(labels: npt.NDArray[Any], objective: Objective) -> None:
    """Warn of labels that are probably not grades, if they count as gains 2^y - 1."""
    if isinstance(objective, Several):
        others = [own.values for _, own in objective.labels]
        for own, part in zip([labels, *others], objective.children().values(), strict=True):
            warn_of_grades(own, part)
        return
    if objective.exponential_gains:
        cure = "use an objective that has gain=, or sort them into grades"
        if objective.counts_gains:
            cure = 'give it gain="linear"'
        warn_of_no_grades(labels, objective.name, cure)


def warn_of_gradients(
    grad: Float32s, hess: Float32s, objective: Objective, training: Training
) -> None:
    """Warn of gradients from which the host learns nothing, or next to nothing."""
    (gain,) = training.mean([float(np.dot(grad.astype(np.float64) / hess, grad))])
    if gain == 0.0 and objective.query_fraction == 1.0:
        warn(
            f"all gradients of {objective.name} are 0: nothing is learnt. To a loss of relevance "
            "alone, labels above 0 are all relevant: subtract the highest that is irrelevant"
        )
    if training.host != "xgboost":
        return
    if 0.0 < gain < LEAST_GAIN:
        warn(
            f"gradients of {objective.name} are so small that XGBoost, which makes no split that "
            "gains less than 1e-6, hardly learns: multiply small labels, such as returns"
        )
    if gain > np.finfo(np.float32).max:
        warn(
            f"gradients of {objective.name} are so large that XGBoost, which keeps gains in "
            "float32, hardly learns: divide all labels by a constant"
        )


def warn_of_equal_labels(
    labels: Floats, boundaries: Integers, objective: Objective, training: Training
) -> bool:
    """Warn if no query has two different labels, on all workers, and tell whether it is so."""
    if objective.of_rows:
        return False
    top = objective.top if isinstance(objective, Calibrated | QueryCrossEntropy) else np.inf
    known = [np.minimum(labels, top)]
    if isinstance(objective, Several):
        known += [own.values for _, own in objective.labels if len(own.values) == len(labels)]
    # Losses that are not invariant to shifts also learn from labels of different queries.
    if not objective.contract.shift_invariant:
        boundaries = np.array([0, len(labels)])
    differing = sum(np.count_nonzero(differ(own, boundaries)) for own in known)
    if training.mean([float(differing)])[0] > 0.0:
        return False
    up_to = "" if top == np.inf else f" up to its top, {top:g}"
    warn(
        f"no query has two different labels{up_to}: {objective.name} has no order to learn, so the "
        "model is constant. Check the labels, and that documents that compete share a query"
    )
    return True
