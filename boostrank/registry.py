"""The objectives as users hold them: the mathematics plus the hosts' protocols, found by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from boostrank import objectives
from boostrank.hosts import HostObjective
from boostrank.objectives.validation import check_choice


@dataclass(frozen=True, kw_only=True)
class SDCG(HostObjective, objectives.SDCG): ...


@dataclass(frozen=True, kw_only=True)
class SHFSDCG(HostObjective, objectives.SHFSDCG):
    # On validation parts of six data sets, 100 to 300 trees: never clearly worse, .01 to .04 better
    # on those with noise (docs/accuracy.md).
    perturb: str | None = "gumbel"


@dataclass(frozen=True, kw_only=True)
class RegSHFSDCG(HostObjective, objectives.RegSHFSDCG): ...


@dataclass(frozen=True, kw_only=True)
class LambdaRank(HostObjective, objectives.LambdaRank): ...


@dataclass(frozen=True, kw_only=True)
class RankNet(HostObjective, objectives.RankNet): ...


@dataclass(frozen=True, kw_only=True)
class GBRank(HostObjective, objectives.GBRank): ...


@dataclass(frozen=True, kw_only=True)
class RankSVM(HostObjective, objectives.RankSVM): ...


@dataclass(frozen=True, kw_only=True)
class FRank(HostObjective, objectives.FRank): ...


@dataclass(frozen=True, kw_only=True)
class RankBoost(HostObjective, objectives.RankBoost): ...


@dataclass(frozen=True, kw_only=True)
class ListNet(HostObjective, objectives.ListNet): ...


@dataclass(frozen=True, kw_only=True)
class XENDCG(HostObjective, objectives.XENDCG): ...


@dataclass(frozen=True, kw_only=True)
class SmoothNDCG(HostObjective, objectives.SmoothNDCG): ...


@dataclass(frozen=True, kw_only=True)
class SmoothPrecision(HostObjective, objectives.SmoothPrecision): ...


@dataclass(frozen=True, kw_only=True)
class SmoothAP(HostObjective, objectives.SmoothAP): ...


@dataclass(frozen=True, kw_only=True)
class SoftNDCG(HostObjective, objectives.SoftNDCG): ...


@dataclass(frozen=True, kw_only=True)
class SLAM(HostObjective, objectives.SLAM): ...


@dataclass(frozen=True, kw_only=True)
class Regression(HostObjective, objectives.Regression): ...


@dataclass(frozen=True)
class Mix(HostObjective, objectives.Mix): ...


_PLUGGABLE = {cls.__bases__[1]: cls for cls in HostObjective.__subclasses__()}
_CLASSES = {name: _PLUGGABLE[cls] for name, cls in objectives.REGISTRY.items()}


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
    return tuple(_CLASSES)


def objective(name: str, /, **params: Any) -> HostObjective:
    """Make an objective by its name.

    Parameters
    ----------
    name : str
        One of `objective_names`.
    **params
        Parameters of its class.

    Returns
    -------
    HostObjective

    Raises
    ------
    ValueError
        For an unknown name, with the nearest known one, and for parameters that contradict it.
    TypeError
        For a parameter that the class does not have.

    Examples
    --------
    >>> import boostrank
    >>> boostrank.objective("sdcg", k=10)  # doctest: +NORMALIZE_WHITESPACE
    SDCG(k=10, alpha=1.0, beta=1.0, normalize=True, hessian='gauss-newton', rescale=True,
         perturb=None, perturb_scale=1.0, query_fraction=1.0, seed=0, start_round=None)
    """
    made = _CLASSES[check_choice("objective", name, _CLASSES)](
        **{**objectives.PRESETS.get(name, {}), **params}
    )
    if made.name != name:
        raise ValueError(f"{made!r} is not {name!r} but {made.name!r}; ask for that by its name")
    return made


def make_objective(name: str, params: Mapping[str, Any], rounds: int) -> HostObjective:
    """Make an objective; one that follows a schedule learns the number of rounds.

    Parameters
    ----------
    name : str
        One of `boostrank.objective_names`.
    params : mapping
        Its parameters.
    rounds : int
        `total_rounds`, where the objective has it and `params` does not.

    Returns
    -------
    HostObjective

    Raises
    ------
    TypeError, ValueError
        As `boostrank.objective`.
    """
    scheduled = name in _CLASSES and any(
        entry.name == "total_rounds" for entry in fields(_CLASSES[name])
    )
    return objective(name, **({"total_rounds": rounds} if scheduled else {}) | dict(params))
