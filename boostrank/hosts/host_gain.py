"""Gives an objective of ours the gain that the host's own parameters name."""

from collections.abc import Mapping
from typing import Any

from boostrank.objectives import Objective


def with_gain_of(objective: Objective, params: Mapping[str, Any], host: str) -> Objective:
    """Return the objective with LightGBM's ``label_gain`` or XGBoost's ``ndcg_exp_gain=False``."""
    if not objective.counts_gains:
        return objective
    gain: Any
    if host == "lightgbm":
        table = params.get("label_gain")
        if table is None or (isinstance(table, str) and not table):  # LightGBM's default
            return objective
        said = f"label_gain={table!r}"
        try:
            if not len(table):
                raise ValueError
            gain = [float(each) for each in (table.split(",") if isinstance(table, str) else table)]
        except (TypeError, ValueError):
            raise ValueError(
                f"label_gain must be numbers, as a list or with commas in between, got {table!r}"
            ) from None
    else:
        if str(params.get("ndcg_exp_gain", True)).lower() not in ("0", "false"):
            return objective
        gain, said = "linear", "ndcg_exp_gain=False"
    resolved = objective.with_gain(gain)
    changed = zip(objective._gains, resolved._gains, strict=True)
    if any(own not in ("exponential", new) for own, new in changed):
        raise ValueError(
            f"{said} is not the gain of {objective!r}: set only the objective's gain= or only "
            "the host's parameter"
        )
    return resolved
