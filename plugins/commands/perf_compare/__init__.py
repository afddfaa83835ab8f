"""Two models, or a model and measurements: compare, verify, gate."""
