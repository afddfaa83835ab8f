"""Predictions against what then happened."""
