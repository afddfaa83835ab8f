"""Exact distributions of sums, products and extremes of piecewise uniform quantities."""
