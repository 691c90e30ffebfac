"""Ranking measures under the conventions of the field's tools.

The same name, "NDCG@10", is a different number in almost every tool. A *convention* is one tool's
set of rules; each row below is checked by the tests against the tool itself, or against figures
published with it, on lists with ties, short lists and queries without relevant documents.

============  =======  ============  =======  ===========  ========  ==========================
convention    gain     discount      ties     no relevant  AP@k /    source, and checked against
============  =======  ============  =======  ===========  ========  ==========================
``standard``  2^y - 1  1/log2(1+r)   order    left out     min(R,k)  papers; LightGBM without
                                                                     those queries
``lightgbm``  2^y - 1  1/log2(1+r)   order    1            min(R,k)  its ndcg, map
``xgboost``   2^y - 1  1/log2(1+r)   order    1            min(R,k)  its ndcg, map, pre
``sklearn``   y        1/log2(1+r)   average  0            min(R,k)  its dcg_score, ndcg_score,
                                                                     average_precision_score
``trec``      y        1/log2(1+r)   order    0            R         trec_eval's ndcg, map, P,
                                                                     recall, recip_rank
``letor3``    2^y - 1  1, 1/log2(r)  order    0            R         Microsoft's OHSUMED tables
``letor4``    2^y - 1  1, 1/log2(r)  order    0            R         Microsoft's MQ2008 figures
============  =======  ============  =======  ===========  ========  ==========================

A measure that a tool does not have follows the row's rules all the same. y is the label, r the rank
(from 1), n the number of documents, R that of relevant ones.

gain
    What a document of grade y is worth to dcg, ndcg and meanndcg. Relevant, for all other measures
    except err, is y > 0 (``lightgbm``: y > 0.5). XGBoost refuses graded labels for ``map`` and
    ``pre``; MSLR's own script counts y >= 2 (pass ``labels >= 2``).
discount
    LETOR's ranks 1 and 2 both weigh 1.
ties
    *order*: documents of equal score stay in the order in which they were passed, so data sorted by
    relevance is measured too well: shuffle documents within queries. trec_eval breaks ties by
    document id, descending; ``trec`` is its figure where the ids descend in the order passed.
    *average*: the expected value over all orders of equal scores; for map, as scikit-learn has it,
    every relevant document counts with the precision at the end of its run of equal scores.
no relevant
    What ndcg, meanndcg, map and recall are for a query without relevant documents. The other
    measures are 0 there; ``standard`` leaves such queries out of every mean (NaN per query).
    Under ``xgboost`` a trailing minus, ``"ndcg@10-"``, makes it 0, as in XGBoost itself.
AP@k
    The divisor of average precision; without a cut-off it is R everywhere.
short lists
    n < k. precision@k divides by k (``xgboost``: by n). ndcg@k is 0 under ``letor4``: a quirk of
    its script that all published figures carry.
whole lists
    meanndcg is the mean of NDCG@1 to NDCG@n, which the LETOR 4.0 script prints. err takes the
    largest label passed as the top of the scale of grades. rbp is rank-biased precision with a
    persistence of 0.8 unless named, as in ``rbp@0.95``.
orders
    spearman, kendall (tau-b) and pearson correlate scores and labels; auc is the share of pairs of
    different label in the right order, ties half. They are scipy's and scikit-learn's under every
    convention: equal scores are ties wherever they stand, labels may be any finite numbers, a query
    of equal scores has 0 (auc: 1/2), and one of equal labels counts in no mean. XGBoost's ``auc``
    of ranking data counts pairs of equal labels too, by their order in the data.
probabilities
    logloss, brier and ece take scores as log-odds of relevance, and a label as the share of the
    largest one passed, or of 1 if that is larger. Their means are over documents, and all queries
    count. ece has ten bins of equal width.
weighted means
    LightGBM and XGBoost add 1, not the weight, for the ndcg of a query without relevant documents;
    ``lightgbm`` and ``xgboost`` do so too. (Where small weights push that mean above 1, XGBoost
    itself fails.)

Three differences remain. Queries without documents count in no mean; LightGBM counts them as 1
(without weights; with weights its mean is NaN), XGBoost as 1 or fails. XGBoost's ``ndcg``, ``map``
and ``pre`` without a cut-off stop at 32 when its pair method is the default; here that is
``ndcg@32``. XGBoost and trec_eval round scores to float32, which can make ties.
"""

from boostrank.metrics.conventions import CONVENTIONS
from boostrank.metrics.evaluation import evaluate, per_query_weight
from boostrank.metrics.host_metric import Metric, metric

__all__ = ["CONVENTIONS", "Metric", "evaluate", "metric", "per_query_weight"]
