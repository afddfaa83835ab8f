"""Mergeable summaries of runs: whole numbers that add up to the same bytes, however the files of a run are divided."""

__all__ = ["CELLS"]

CELLS = 1 << 18  # by default at most: some 3 bytes each in the file
