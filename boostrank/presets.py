"""Tree parameters that suit ranking data, as each host takes them.

`REGULARIZED` grows trees that overfit less than the hosts' defaults. `boostrank compare --preset
regularized` trains every row with it; docs/accuracy.md says what it was chosen from, and on what.

Examples
--------
>>> import boostrank
>>> from boostrank import presets
>>> params = presets.REGULARIZED["lightgbm"] | {"objective": boostrank.Blend(), "metric": "None"}
>>> params["extra_trees"]
True
"""

from collections.abc import Mapping
from typing import Any

#: By host: parameters of `lightgbm.train`, `xgboost.train` and their rankers.
REGULARIZED: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"extra_trees": True, "feature_fraction": 0.8},
    "xgboost": {"colsample_bytree": 0.8},
}
