"""A model at points that it was not fitted to."""
