"""The workbench: compares, tunes, times and draws. No user's gradient passes through it.

The path of one comparison, for the command and the function alike::

    cli.compare, or boostrank.compare
      naming                 objectives from names
      reading.read_folds     data, and folds of whole queries
      plan.make_plan         learners that the labels allow, what is left out and why
      runner.running         the folder, with the results of an earlier run
        Run.train            each learner on each fold: a Row, or a Failure
          runner.run_fold    trains, chooses the best round, tests
            Model.train      of `lightgbm_model`, `xgboost_model` or `catboost_model`
          records            the result and the row, as soon as they are there
      report.write_files     figures and report, in the words of `words`

settings        the budget that all learners of a comparison share, and the metrics
environment     threads, versions and the machine
files           writes files whole or not at all
reading         reads what is compared, tuned or trained on
folds           folds of whole queries, from whatever users pass
learners        objectives on hosts, ours and the hosts' own
naming          their names in commands and tables
plan            which learners the labels allow, and which queries count
model           a booster of any host, with the same methods
lightgbm_model  LightGBM's
xgboost_model   XGBoost's
catboost_model  CatBoost's, which does not accept our objectives
models          the hosts by name, those installed, and model files of both
runner          trains learners over folds, saves and resumes
results         of a learner: fold by fold, and as a row of the table
stats           the paired tests and intervals
words           what was compared, and how, in sentences
records         the files of a comparison: results to resume from, CSV
latex           a comparison as a table for LaTeX
report          a comparison as one HTML file
plot            figures of comparisons, objectives and benchmarks
search_space    which parameters are tuned, and in which ranges
search          tunes parameters by repeated cross-validation
bench           times our objectives against the hosts' own
cli             the command line

The public parts are those that `boostrank.plot`, `boostrank.tune` and `boostrank.compare` name or
return. Everything else may change at any time.
"""
