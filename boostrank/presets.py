"""Tree parameters to begin with, as each host takes them."""

from typing import Any

#: For `lightgbm.train` and LightGBM's rankers.
LIGHTGBM: dict[str, Any] = {"extra_trees": True, "feature_fraction": 0.8}
#: For `xgboost.train` and XGBoost's rankers.
XGBOOST: dict[str, Any] = {"colsample_bytree": 0.8}
