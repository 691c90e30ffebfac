"""Learning-to-rank objectives for LightGBM and XGBoost, compiled with Numba.

An objective is one object that both hosts take unchanged::

    objective = boostrank.SHFSDCG(k=10)
    lightgbm.train({"objective": objective, "metric": "None"}, dataset)
    xgboost.train({"objective": "rank:pairwise", "base_score": 0}, dmatrix, obj=objective)

objectives   the mathematics: losses with their gradients and Hessians
hosts        how LightGBM and XGBoost call an objective, and what they get from it
lightgbm     LightGBM's ranker with our objectives and metrics
xgboost      XGBoost's ranker with our objectives and metrics
dask         keeps queries whole in Dask's partitions
registry     objectives by name
choice       `objective="auto"`: which setting of `Blend` suits the training data
presets      tree parameters that suit ranking data
kernels      compiles objectives before the first training
metrics      ranking metrics under the conventions of the field's tools
calibration  probabilities from the scores of any ranker
trees        the trees of both hosts in one form
export       models in the formats of search engines
datasets     LETOR files, tables, synthetic data, folds
comparison   compares objectives over folds, with data frames in and out
tune         tunes parameters by repeated cross-validation
plot         figures of comparisons, objectives and benchmarks
lab          the workbench: compares, tunes, times and draws; the command line
linear       SmoothRank and the perceptron, for linear scores
directness   how far an objective's value is from a metric's, and what that guarantees
messages     what is said in several places: warnings, packages that are missing
"""

from boostrank.choice import choose_signal
from boostrank.comparison import compare
from boostrank.datasets import group_folds
from boostrank.directness import directness, soft_ndcg_bound
from boostrank.export import export
from boostrank.hosts.metric import metric
from boostrank.hosts.position_bias import PositionBias, position_bias
from boostrank.kernels import compile
from boostrank.metrics import evaluate
from boostrank.objectives import CLASSES, Mix, Preferences, Schedule, Several, Unbiased
from boostrank.objectives.registry import *  # noqa: F403
from boostrank.registry import objective, objective_names


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("boostrank")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Mix",
    "PositionBias",
    "Preferences",
    "Schedule",
    "Several",
    "Unbiased",
    "choose_signal",
    "compare",
    "compile",
    "directness",
    "evaluate",
    "export",
    "group_folds",
    "metric",
    "objective",
    "objective_names",
    "position_bias",
    "soft_ndcg_bound",
]
__all__ += [cls.__name__ for cls in CLASSES]
