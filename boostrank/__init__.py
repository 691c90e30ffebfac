"""Learning-to-rank objectives for LightGBM and XGBoost, compiled with Numba.

An objective is one object that goes unchanged into either host::

    objective = boostrank.SHFSDCG(k=10)
    lightgbm.train({"objective": objective, "metric": "None"}, dataset)
    xgboost.train({"objective": "rank:pairwise", "base_score": 0}, dmatrix, obj=objective)

hosts      how LightGBM and XGBoost call an objective
lightgbm   LightGBM's ranker with our objectives and metrics
xgboost    XGBoost's ranker with our objectives and metrics
rankers    what both rankers share
collective what the machines of a distributed training share
dask       queries whole in Dask's partitions
registry   the objectives as users hold them, found by name
metrics    measures under the conventions of the field's tools
datasets   LETOR files, synthetic data, folds
compare    trains objectives over folds and tests the differences
tune       parameters by repeated cross-validation
plot       figures of comparisons, objectives and benchmarks
report     a comparison as one HTML file
bench      gradient times against the hosts' own
cli        the command line
linear     SmoothRank and the perceptron, for linear scores
directness how far an objective's value is from a measure's, and what follows from it
"""

from boostrank.datasets import group_folds
from boostrank.directness import directness, soft_ndcg_bound
from boostrank.hosts import HostObjective
from boostrank.metrics import evaluate, metric
from boostrank.objectives import Schedule
from boostrank.registry import (
    SDCG,
    SHFSDCG,
    SLAM,
    XENDCG,
    FRank,
    GBRank,
    LambdaRank,
    ListNet,
    Mix,
    RankBoost,
    RankNet,
    RankSVM,
    Regression,
    RegSHFSDCG,
    SmoothAP,
    SmoothNDCG,
    SmoothPrecision,
    SoftNDCG,
    objective,
    objective_names,
)

__all__ = [
    "SDCG",
    "SHFSDCG",
    "SLAM",
    "XENDCG",
    "FRank",
    "GBRank",
    "HostObjective",
    "LambdaRank",
    "ListNet",
    "Mix",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RegSHFSDCG",
    "Regression",
    "Schedule",
    "SmoothAP",
    "SmoothNDCG",
    "SmoothPrecision",
    "SoftNDCG",
    "directness",
    "evaluate",
    "group_folds",
    "metric",
    "objective",
    "objective_names",
    "soft_ndcg_bound",
]
