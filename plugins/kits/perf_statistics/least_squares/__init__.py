"""Least squares for many series at once, nonnegative and nonlinear, and how good a fit is."""
