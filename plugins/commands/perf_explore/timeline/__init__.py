"""A timeline of a trace: lanes by node, rank and location, in bins of the width of a pixel."""
