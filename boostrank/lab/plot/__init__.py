"""The parts of `boostrank.plot`, and the figures that the command line writes.

axes           what all figures share
comparisons    of learners
objectives     of gradients and losses
benchmarks     of time against length
probabilities  of calibration
tradeoffs      of two metrics
files          the figures that the command line writes
"""
