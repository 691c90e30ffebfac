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

    host -> Objective.__call__ -> objective.gradient_for_host
                                    data.read           labels, queries, weights
                                    rounds.of_...       the boosting round
                                    handover.hand_over  sampled queries, noise, parts, one
                                                        scale, floor, weights, float32
                                      collective        ... over all workers

objective     what a call of an objective does
data          reads a Dataset or a DMatrix, and refuses what a host would get wrong
gains         takes over the hosts' own `label_gain` and `ndcg_exp_gain`
ignored       warns about parameters that only the hosts' own objectives read
rounds        determines the boosting round
handover      from scores to the gradients that a host gets
passes        compiled passes over all documents, in threads where that pays
clicks        where documents were shown, and position factors learnt from clicks
collective    what the workers of one distributed training share
preferences   finds the rows of pairs in the data that a booster trains on
several       which losses learn in a round, and from which labels
rankers       what the rankers of both hosts share
features      a ranker's features on their way to a host
monitoring    the metrics and the callbacks of a ranker's training
stopping      early stopping that waits for the second half of a fading mixture
model_files   looked at before a host parses them, and cut to their best round
plain         `to_host`: a plain ranker of the host
undocumented  every undocumented feature of the hosts, Dask or Numba that is relied on
"""

from boostrank.hosts.objective import gradient_for_host

__all__ = ["gradient_for_host"]
