"""Two versions: which benchmarks are slower."""
