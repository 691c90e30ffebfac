"""Tree parameters that suit ranking data, as each host takes them.

`REGULARIZED` makes trees that overfit less than the hosts' defaults on judged data. In LightGBM,
splits are random instead of searched, and each node is smoothed towards the one above. It is meant
for about 300 rounds.
``boostrank compare --preset regularized`` trains every row with it; docs/accuracy.md shows what it
is worth.

Examples
--------
>>> import boostrank
>>> from boostrank import presets
>>> objective = boostrank.Blend()
>>> params = presets.REGULARIZED["lightgbm"] | {"objective": objective, "metric": "None"}
>>> params["extra_trees"]
True
>>> from boostrank.lightgbm import LGBMRanker
>>> ranker = LGBMRanker(n_estimators=300, **presets.REGULARIZED["lightgbm"])
"""

from collections.abc import Mapping
from typing import Any

#: By host: parameters of `lightgbm.train`, `xgboost.train` and their rankers.
REGULARIZED: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {
        "learning_rate": 0.05,
        "num_leaves": 31,
        "min_data_in_leaf": 20,
        "extra_trees": True,
        "feature_fraction": 0.5,
        "path_smooth": 100,
    },
    # XGBoost has no random splits. Heavier leaves, an L2 penalty, more leaves, and drawing rows or
    # features at every node were no better than small trees on validation parts.
    "xgboost": {
        "learning_rate": 0.05,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": 15,
        "max_depth": 0,
        "colsample_bytree": 0.8,
    },
}
