"""The workbench: compares, tunes, times and draws. No user's gradient passes through it.

settings      the budget that all learners of a comparison share
environment   hosts, threads, versions and the machine
models        boosters of both hosts, behind one interface
learners      objectives on hosts, ours and the hosts' own
compare       trains learners over folds
results       of a learner: fold by fold, and as a row of the table
stats         the paired test and intervals
records       the files of a comparison
search_space  which parameters are tuned, and in which ranges
tune          tunes parameters by repeated cross-validation
bench         times our objectives against the hosts' own
plot          figures of comparisons, objectives and benchmarks
report        a comparison as one HTML file
cli           the command line

The public parts are those that `boostrank.plot`, `boostrank.tune` and `boostrank.compare` name or
return. Everything else may change at any time.
"""
