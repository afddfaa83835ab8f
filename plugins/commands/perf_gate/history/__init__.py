"""A history: where a benchmark changed."""
