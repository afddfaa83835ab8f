"""Least squares for many series at once, and tests of slower or not."""
