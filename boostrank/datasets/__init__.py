"""Ranking data: reading LETOR files, folds, and synthetic data.

Every data set here is a `RankingData`: dense features, one grade per document, and row-aligned
query ids. `load_run` and `load_qrels` read scores and grades by documents' ids. LETOR files need
scikit-learn, CSV and parquet need pandas; everything else here needs only NumPy.

ranking_data  the one form of ranking data, checked
ids           of queries and documents, of which no two are confused
files         opens files, compressed or not, and says what cannot be read
letor         LETOR, MSLR and other svmlight files
svmlight      their lines
tables        data frames, CSV and parquet
frames        the columns of data frames of all kinds
csv_files     CSV, read strictly
runs          scores and judgements by documents' ids, as TREC writes them
folds         folds of whole queries
synthetic     data made by a recipe
clicks        simulated clicks; propensities from logs
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
from boostrank.datasets.runs import Qrels, Run, load_qrels, load_run
from boostrank.datasets.synthetic import make_ranking
from boostrank.datasets.tables import from_frame

__all__ = [
    "ClickLog",
    "Fold",
    "Qrels",
    "RankingData",
    "Run",
    "from_frame",
    "group_folds",
    "letor_folds",
    "load_letor",
    "load_letor_parts",
    "load_qrels",
    "load_run",
    "make_ranking",
    "propensities_from_randomization",
    "propensities_from_rankers",
    "simulate_clicks",
]
