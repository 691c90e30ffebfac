"""Ranking metrics under the conventions of the field's tools.

The same name, "NDCG@10", is a different number in almost every tool. A *convention* is one tool's
set of rules. The tests check each row below against the tool itself, or against figures published
with it, on lists with ties, short lists and queries without relevant documents.

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

A metric that a tool does not have still follows the row's rules. y is the label, r the rank (from
1), n the number of documents, R that of relevant ones.

gain
    What a document of grade y is worth in dcg, ndcg and meanndcg. For all other metrics except err,
    a document is relevant if y > 0 (``lightgbm``: y > 0.5). XGBoost refuses graded labels for
    ``map`` and ``pre``; MSLR's own script counts y >= 2 as relevant (pass ``labels >= 2``).
discount
    In LETOR, ranks 1 and 2 both have a discount of 1.
ties
    *order*: documents of equal score keep the order in which they were passed, so data sorted by
    relevance gets values that are too high: shuffle documents within queries. trec_eval breaks ties
    by document id, descending; so does `evaluate_run`, which takes a run and judgements by their
    ids. ``trec`` alone gives its figure if the ids descend in the order passed.
    *average*: the expected value over all orders of equal scores; for map, as in scikit-learn,
    every relevant document counts with the precision at the end of its run of equal scores.
no relevant
    What ndcg, meanndcg, map and recall are for a query without relevant documents, and the first
    two for one in which no order has a gain, as where the relevant grades have none. The other
    metrics are 0 there; ``standard`` leaves such queries out of every mean (NaN per query).
    Under ``xgboost`` a trailing minus, ``"ndcg@10-"``, makes it 0, as in XGBoost itself.
AP@k
    The divisor of average precision; without a cut-off it is R everywhere.
short lists
    If n < k, precision@k divides by k (``xgboost``: by n). ndcg@k is then 0 under ``letor4``, a
    quirk of its script that affects all published figures.
whole lists
    meanndcg is the mean of NDCG@1 to NDCG@n, which the LETOR 4.0 script prints. err takes `top`, or
    the largest label passed, as the top of the scale of grades. rbp is rank-biased precision with a
    persistence of 0.8 unless another is named, as in ``rbp@0.95``.
orders
    spearman, kendall (tau-b) and pearson correlate scores and labels; auc is the share of pairs of
    different labels in the right order, where ties count half. Under every convention they are
    those of SciPy and scikit-learn: equal scores are ties wherever they are, labels may be any
    finite numbers, a query with equal scores gets 0 (auc: 1/2), and one with equal labels counts in
    no mean. XGBoost's ``auc`` for ranking data also counts pairs of equal labels, by their order in
    the data.
probabilities
    logloss, brier and ece take scores as log-odds of relevance, and a label as a share of `top`, by
    default of the largest label passed, or of 1 if that is larger. Their means are over documents,
    and all queries count. ece has ten bins of equal width.
weighted means
    LightGBM and XGBoost add 1, not the weight, for the ndcg of a query without relevant documents;
    ``lightgbm`` and ``xgboost`` do so too. (Where small weights push that mean above 1, XGBoost
    itself fails.)

Three differences remain. Queries without documents count in no mean here; LightGBM counts them as 1
(without weights; with weights its mean is NaN), and XGBoost counts them as 1 or fails. XGBoost's
``ndcg``, ``map`` and ``pre`` without a cut-off stop at 32 with its default pair method; here that
is ``ndcg@32``. XGBoost and trec_eval round scores to float32, which can make ties.

conventions    the table above as data
definitions    metrics of ranked lists, and the names of all metrics
probabilities  metrics of probabilities
evaluation     values per query, and means
"""

from boostrank.metrics.conventions import CONVENTIONS
from boostrank.metrics.evaluation import evaluate, evaluate_run, per_query_weight

__all__ = ["CONVENTIONS", "evaluate", "evaluate_run", "per_query_weight"]
