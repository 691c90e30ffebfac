"""Objectives by name."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from boostrank.metrics.definitions import METRICS
from boostrank.objectives import REGISTRY, Objective
from boostrank.objectives.base import listed
from boostrank.objectives.blend import AUTO
from boostrank.objectives.validation import check_choice, hint

#: Names of the hosts' own ranking objectives that are not ours, with what ours are called.
OF_HOSTS: Mapping[str, tuple[str, str]] = {
    "rank:ndcg": ("XGBoost", "'lambdarank'"),
    "rank:pairwise": ("XGBoost", "'ranknet'"),
    "rank:map": ("XGBoost", "'lambdarank' with target='map'"),
    **dict.fromkeys(
        ("rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
        ("LightGBM", "'xe-ndcg'"),
    ),
}
#: Classes around other objectives, which have no name, with what to write instead.
WRAPPERS: Mapping[str, str] = {
    "unbiased": "Unbiased(boostrank.RankNet()), with fit(position=...)",
    "preferences": "Preferences(boostrank.RankNet(), pairs)",
    "several": "Several({name: objective, ...}, labels=...)",
    "mix": "Mix(first, second, schedule)",
}


def check_name(name: Any) -> str:
    """Return a known name of an objective, or "auto"."""
    if isinstance(name, str) and name in OF_HOSTS:
        host, ours = OF_HOSTS[name]
        raise ValueError(
            f"unknown objective {name!r}: that is {host}'s, for its own ranker; ours is {ours}"
        )
    if isinstance(name, str) and name.lower() in WRAPPERS:
        raise ValueError(
            f"unknown objective {name!r}: it wraps other objectives, and is made in Python only: "
            f"boostrank.{WRAPPERS[name.lower()]}"
        )
    if isinstance(name, str) and name not in REGISTRY and name.partition("@")[0] in METRICS:
        raise ValueError(
            f"unknown objective {name!r}: that is a metric, to be measured, not a loss; to train "
            "for it, use 'blend', the default, or 'lambdarank', whose target= may name a metric"
        )
    if isinstance(name, str) and name not in REGISTRY and name.partition(":")[0] in REGISTRY:
        cls = REGISTRY[name.partition(":")[0]].__name__
        raise ValueError(
            f"unknown objective {name!r}: only boostrank's commands read parameters after a name; "
            f"here, write boostrank.{cls}(...)"
        )
    return AUTO if name == AUTO else check_choice("objective", name, REGISTRY)


def objective_names() -> tuple[str, ...]:
    """Names of all objectives.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> import boostrank
    >>> "shf-sdcg" in boostrank.objective_names()
    True
    """
    return tuple(REGISTRY)


def objective(name: str, /, **params: Any) -> Objective:
    """Make an objective from its name.

    Parameters
    ----------
    name : str
        One of `objective_names`, or "auto" for `Blend` with its setting chosen from the training
        data, by boostrank's rankers and commands.
    **params
        Parameters of its class.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError
        For an unknown name (naming the nearest known one), or parameters that contradict the name.
    TypeError
        For a parameter that the class does not have.

    Examples
    --------
    >>> import boostrank
    >>> boostrank.objective("sdcg", k=10)  # doctest: +NORMALIZE_WHITESPACE
    SDCG(k=10, alpha=1.0, beta=1.0, normalize=True, gain='exponential', discount='linear',
         hessian='gauss-newton', rescale=True, perturb=None, perturb_scale=1.0,
         query_fraction=1.0, seed=0, start_round=None)
    """
    if name == AUTO:  # no loss of its own: `Blend`, set from the training data
        if params.setdefault("signal", AUTO) != AUTO:
            raise ValueError(
                f"'auto' chooses signal from the data, got {params['signal']!r}; 'blend' takes it"
            )
        return objective("blend", **params)
    cls = REGISTRY[check_name(name)]
    known = [field.name for field in listed(cls)]
    for param in params:
        if param not in known:
            has = f"(it has: {', '.join(known)})"
            raise TypeError(f"{name!r} has no parameter {param!r}{hint(param, known)} {has}")
    made = cls(**{**cls.presets.get(name, {}), **params})
    if made.name != name:
        raise ValueError(f"{made!r} is not {name!r} but {made.name!r}; ask for it by that name")
    return made


def make_objective(name: str, params: Mapping[str, Any], rounds: int) -> Objective:
    """Make an objective by name; `rounds` is the default of its `total_rounds`, if it has any."""
    scheduled = name in REGISTRY and any(
        field.name == "total_rounds" for field in fields(REGISTRY[name])
    )
    return objective(name, **({"total_rounds": rounds} if scheduled else {}) | dict(params))
