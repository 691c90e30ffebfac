"""The parts of `boostrank.plot`, and the figures that the command line writes.

axes         what all figures share, also in files
comparisons  of learners
objectives   of gradients, losses and their time
models       of calibration, and of trade-offs between two metrics
"""
