r"""Linear rankers: the learners in the papers' tables that are not objectives.

All are scikit-learn estimators that score a document by ``X @ coef_``; an intercept would move all
documents of a query equally. Needs scikit-learn and SciPy.

Sources
    Chapelle, Wu: Gradient descent optimization of smoothed information retrieval metrics (2009),
    algorithm 1 and section 7: `SmoothRank`.
    Chaudhuri, Tewari: Perceptron-like algorithms and generalization bounds for learning to rank
    (2014), algorithm 1: `Perceptron`.
    Xu, Li: AdaRank: a boosting algorithm for information retrieval (2007), figure 1 with the
    paper's weak rankers, single features: `AdaRank`.
    Yue, Finley, Radlinski, Joachims: A support vector method for optimizing average precision
    (2007): `SVMMAP`.

base         what linear rankers share
smooth_rank  `SmoothRank`
perceptron   `Perceptron`
adarank      `AdaRank`
svm_map      `SVMMAP`
"""

from boostrank.linear.adarank import AdaRank
from boostrank.linear.perceptron import Perceptron
from boostrank.linear.smooth_rank import SmoothRank, anneal
from boostrank.linear.svm_map import SVMMAP

__all__ = ["SVMMAP", "AdaRank", "Perceptron", "SmoothRank", "anneal"]
