"""Which points are measured, how often, in which order."""
