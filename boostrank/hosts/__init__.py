"""How LightGBM and XGBoost call an objective, and what they get from it.

Neither host is imported here. The arguments of a call show where it comes from:

==============================================  ================================================
call                                            made by
==============================================  ================================================
``(preds, Dataset)``                            ``lightgbm.train``, ``Booster.update(fobj=)``
``(y_true, y_pred, weight, group)``             ``lightgbm.LGBMRanker(objective=)``
``(iteration, preds, DMatrix)``                 ``xgboost.train(obj=)``
``(preds, DMatrix)``                            ``xgboost.train(obj=)``, first call of a process
==============================================  ================================================

The path of one gradient::

    host -> Objective.__call__ -> calls.gradient_for_host
                                    data.read              labels, queries, weights
                                    training.Training      the Booster, its workers
                                    rounds.of_...          the boosting round
                                    host_gain              found out in the first round
                                    handover.hand_over
                                      sampled queries, noise
                                      objective.parts      its losses in this round; it may ask
                                                           for the rows of a fold (TrainingView)
                                      write_derivatives    of each part
                                      one scale over all workers, floor, weights, float32

The compiled loop over queries lies ten Python frames below the host's call. RankNet takes five
passes over the documents: scores are checked, then the loss, two of sums, and float32. Gains and
noise are passes of their own, and a mixture passes three times for each part.

What stays from round to round is in four places: `training._known`, threads
(``engine/threads.py``), compiled functions, and XGBoost's list of classes that are told the
iteration.

calls          what a call of an objective does
data           reads a Dataset or a DMatrix, and refuses what a host would get wrong
host_gain      takes over the hosts' own `label_gain` and `ndcg_exp_gain`
ignored        refuses and warns of what has no effect on a model although no host says so
rounds         determines the boosting round
handover       from scores to the gradients that a host gets
passes         compiled passes over all documents, in threads where that pays
position_bias  where documents were shown, and position factors learnt from clicks
training       the training that calls: its Booster, its workers, the rows that it trains on
collective     how workers of one distributed training talk
rankers        what the rankers of both hosts share
features       a ranker's features on their way to a host
metric         metrics in the form that the hosts call
monitoring     the metrics and the callbacks of a ranker's training
stopping       early stopping that waits for the second half of a fading mixture
model_files    looked at before a host parses them, and cut to their best round
undocumented   every undocumented feature of the hosts, Dask or Numba that is relied on
"""

from boostrank.hosts.calls import gradient_for_host

__all__ = ["gradient_for_host"]
