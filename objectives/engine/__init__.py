"""The compiled engine under the losses."""
