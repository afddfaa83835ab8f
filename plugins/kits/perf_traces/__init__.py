"""Traces as the user thinks of them: one run from many files, a part of a run, locations of the level that is asked."""
