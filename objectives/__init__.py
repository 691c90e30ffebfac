"""The mathematics: ranking losses with their gradients and Hessians, knowing no host.

Installed as ``boostrank.objectives``. One objective is one file, always in the same order:
docstring (source, definition, derivatives, Hessians, degenerate queries, numerics, cost), kernels
of one query or of a batch of short ones, drivers over queries (loss, gradient), public class. The
rooms beside them:

base        the `Objective` class and its `Contract`
schedules   parameters that change with the boosting round
validation  every check of what a caller passes, done once at the boundary
numerics    small kernels that several objectives share
blocks      sums over all pairs of long lists in linear time, for the objectives of sigmoids
bisection   pairs of different grade without a visit to each, for `hinge` and RankBoost
hinge       the hinges on score differences that GBRank and RankSVM share
soft_indicators  the smoothing that SmoothNDCG, SmoothPrecision and SmoothAP share
threads     spreads queries over threads

The drivers have the same parameters in every file, and have to be written out there: a driver that
is handed its kernel as an argument, or made by a factory, is never found again in Numba's disk
cache and is compiled anew in every process.

Vocabulary: a *query* has n documents with scores s and grades y; a document's *gain* is
g = 2^y - 1; its *rank* is its 1-based position under a stable sort by descending score; the
*discount* of rank r is d(r) = 1/log2(1 + r); Z is the ideal DCG. An objective is a loss to
minimise, and gradients are with respect to the raw scores.
"""

if __name__ != "boostrank.objectives":
    raise ImportError(
        "this folder is installed as 'boostrank.objectives'; importing it as "
        f"{__name__!r} would make a second copy. Write 'import boostrank.objectives' "
        "(after 'pip install -e .' in a checkout)."
    )

from typing import Any

from .base import Contract, Objective
from .frank import FRank
from .gbrank import GBRank
from .lambdarank import LambdaRank
from .listnet import ListNet
from .mix import Mix
from .rankboost import RankBoost
from .ranknet import RankNet
from .ranksvm import RankSVM
from .reg_shf_sdcg import RegSHFSDCG
from .regression import Regression
from .schedules import Schedule
from .sdcg import SDCG
from .shf_sdcg import SHFSDCG
from .slam import SLAM
from .smooth_ap import SmoothAP
from .smooth_ndcg import SmoothNDCG
from .smooth_precision import SmoothPrecision
from .soft_ndcg import SoftNDCG
from .xe_ndcg import XENDCG

#: Every objective by its name; Mix, which is made of others, has none.
REGISTRY: dict[str, type[Objective]] = {
    SDCG.name: SDCG,
    SHFSDCG.name: SHFSDCG,
    RegSHFSDCG.name: RegSHFSDCG,
    LambdaRank.name: LambdaRank,
    RankNet.name: RankNet,
    GBRank.name: GBRank,
    RankSVM.name: RankSVM,
    FRank.name: FRank,
    RankBoost.name: RankBoost,
    ListNet.name: ListNet,
    XENDCG.name: XENDCG,
    SmoothNDCG.name: SmoothNDCG,
    SmoothPrecision.name: SmoothPrecision,
    SmoothAP.name: SmoothAP,
    SoftNDCG.name: SoftNDCG,
    "slam-ndcg": SLAM,
    "slam-map": SLAM,
    Regression.name: Regression,
}

#: Parameters that a name stands for, where a class has several names.
PRESETS: dict[str, dict[str, Any]] = {"slam-map": {"measure": "map"}}

__all__ = [
    "PRESETS",
    "REGISTRY",
    "SDCG",
    "SHFSDCG",
    "SLAM",
    "XENDCG",
    "Contract",
    "FRank",
    "GBRank",
    "LambdaRank",
    "ListNet",
    "Mix",
    "Objective",
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
]
