"""Ranking data: reading LETOR files, folds, and synthetic data.

Every data set here is a `RankingData`: dense features, one grade per document, and row-aligned
query ids. LETOR files need scikit-learn (``pip install "boostrank[cli]"``), CSV and parquet need
pandas (``pip install "boostrank[tables]"``); everything else here needs only NumPy.
"""

from boostrank.datasets.clicks import (
    ClickLog,
    propensities_from_randomization,
    propensities_from_rankers,
    simulate_clicks,
)
from boostrank.datasets.folds import Fold, group_folds, letor_folds
from boostrank.datasets.letor import load_letor, load_letor_parts
from boostrank.datasets.ranking_data import RankingData
from boostrank.datasets.synthetic import make_ranking
from boostrank.datasets.tables import from_frame

__all__ = [
    "ClickLog",
    "Fold",
    "RankingData",
    "from_frame",
    "group_folds",
    "letor_folds",
    "load_letor",
    "load_letor_parts",
    "make_ranking",
    "propensities_from_randomization",
    "propensities_from_rankers",
    "simulate_clicks",
]
