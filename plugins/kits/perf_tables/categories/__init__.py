"""Measurements of which each row is one category of a run: as a table of points by categories."""
