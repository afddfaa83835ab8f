"""Mergeable summaries of runs: whole numbers that add up to the same, however the files of a run are divided."""
