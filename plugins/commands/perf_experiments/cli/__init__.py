"""The commands design, run, runs, next and sample."""
