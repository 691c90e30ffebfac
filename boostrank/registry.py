"""The objectives as users hold them: the mathematics plus the hosts' protocols, found by name."""

from typing import Any

from boostrank import objectives
from boostrank.hosts import HostObjective
from boostrank.objectives.validation import check_choice


class SDCG(objectives.SDCG, HostObjective): ...


class SHFSDCG(objectives.SHFSDCG, HostObjective): ...


class RegSHFSDCG(objectives.RegSHFSDCG, HostObjective): ...


class LambdaRank(objectives.LambdaRank, HostObjective): ...


class RankNet(objectives.RankNet, HostObjective): ...


class GBRank(objectives.GBRank, HostObjective): ...


class RankSVM(objectives.RankSVM, HostObjective): ...


class FRank(objectives.FRank, HostObjective): ...


class RankBoost(objectives.RankBoost, HostObjective): ...


class ListNet(objectives.ListNet, HostObjective): ...


class SmoothNDCG(objectives.SmoothNDCG, HostObjective): ...


class SmoothPrecision(objectives.SmoothPrecision, HostObjective): ...


class SmoothAP(objectives.SmoothAP, HostObjective): ...


class SoftNDCG(objectives.SoftNDCG, HostObjective): ...


class SLAM(objectives.SLAM, HostObjective): ...


class Regression(objectives.Regression, HostObjective): ...


_PLUGGABLE = {cls.__mro__[1]: cls for cls in HostObjective.__subclasses__()}
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
    >>> boostrank.objective("sdcg", k=10)
    SDCG(k=10, alpha=1.0, beta=1.0, normalize=True, hessian='gauss-newton')
    """
    made = _CLASSES[check_choice("objective", name, _CLASSES)](
        **{**objectives.PRESETS.get(name, {}), **params}
    )
    if made.name != name:
        raise ValueError(f"{made!r} is not {name!r} but {made.name!r}; ask for that by its name")
    return made
