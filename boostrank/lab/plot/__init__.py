"""The parts of `boostrank.plot`, and the figures that the command line writes."""
