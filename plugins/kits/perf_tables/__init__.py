"""Tables of measurements: categories of runs, points of models, windows of series."""
