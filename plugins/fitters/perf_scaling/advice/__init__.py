"""Which measurement would tell more."""
