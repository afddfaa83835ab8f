"""The same phase in two runs."""
