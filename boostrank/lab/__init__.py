"""The workbench: what compares, tunes, times and draws. No gradient of a user passes through it.

settings      the budget that all learners of a comparison share
environment   hosts, threads, versions and the machine
models        boosters of both hosts, trained and read in one way
learners      objectives on hosts, ours and the hosts' own
compare       trains learners over folds
results       what comes out: fold by fold, and as rows of a table
stats         the paired test and intervals
records       the files of a comparison
search_space  which parameters are tuned, and where
tune          parameters by repeated cross-validation
bench         times against the hosts' own objectives
plot          figures of comparisons, objectives and benchmarks
report        a comparison as one HTML file
cli           the command line

Public are `boostrank.plot` and `boostrank.tune`, which name what is public in here. All else may
change at any time.
"""
