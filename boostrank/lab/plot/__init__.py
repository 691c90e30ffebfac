"""What `boostrank.plot` is made of, and the figures that the command line writes."""
