"""Every objective, one line each, in the order of `boostrank.objective_names`.

Importing a class here registers it: `boostrank.objectives` and `boostrank` export all classes of
this file, and `REGISTRY` holds all their names. `Mix`, which is made of others, has no name.
"""

# isort: off
from .blend import Blend as Blend
from .sdcg import SDCG as SDCG
from .shf_sdcg import SHFSDCG as SHFSDCG
from .reg_shf_sdcg import RegSHFSDCG as RegSHFSDCG
from .lambdarank import LambdaRank as LambdaRank
from .ranknet import RankNet as RankNet
from .gbrank import GBRank as GBRank
from .ranksvm import RankSVM as RankSVM
from .frank import FRank as FRank
from .rankboost import RankBoost as RankBoost
from .listnet import ListNet as ListNet
from .listmle import ListMLE as ListMLE
from .xe_ndcg import XENDCG as XENDCG
from .yetirank import YetiRank as YetiRank
from .pl_rank import PLRank as PLRank
from .smooth_ndcg import SmoothNDCG as SmoothNDCG
from .smooth_precision import SmoothPrecision as SmoothPrecision
from .smooth_ap import SmoothAP as SmoothAP
from .soft_ndcg import SoftNDCG as SoftNDCG
from .slam import SLAM as SLAM
from .query_softmax import QuerySoftMax as QuerySoftMax
from .query_cross_entropy import QueryCrossEntropy as QueryCrossEntropy
from .query_rmse import QueryRMSE as QueryRMSE
from .calibrated import Calibrated as Calibrated
from .pearson import Pearson as Pearson
from .spearman import Spearman as Spearman
from .regression import Regression as Regression
