"""Mergeable summaries of runs: whole numbers that add up to the same bytes, however the files of a run are divided."""

__all__ = ["CELLS"]

# By default at most, 2 to 3 bytes each in the file, which their numbers hold: below 1 % of a Parquet of 10^7 intervals.
CELLS = 1 << 17
