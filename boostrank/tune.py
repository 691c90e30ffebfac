"""Tunes an objective and its trees by repeated cross-validation over whole queries.

Every *trial* is a set of parameters of the objective and of the trees. A host's built-in objective
gets the same folds and the same number of trials, so that a comparison stays fair. A trial is
trained on every fold. Its number of rounds is the smallest that is as good as the best by the
one-standard-error rule, and its result is the metric with that many rounds.

Optuna proposes the trials and keeps them in a file, from which an interrupted search continues. It
is imported only when it is used.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> import boostrank
>>> from boostrank.datasets import make_ranking
>>> from boostrank.tune import Learner, tune
>>> data = make_ranking(30, 10, 5, seed=0)
>>> learner = Learner("shf-sdcg", "lightgbm", boostrank.SHFSDCG())
>>> with tempfile.TemporaryDirectory() as folder:
...     tuned = tune(data, learner, Path(folder), n_trials=2, rounds=5, n_folds=2, n_repeats=1)
>>> len(tuned.trials), tuned.best.mean >= tuned.default.mean
(2, True)
"""

from boostrank.lab.learners import Learner
from boostrank.lab.search import Trial, Tuned, tune

__all__ = ["Learner", "Trial", "Tuned", "tune"]
