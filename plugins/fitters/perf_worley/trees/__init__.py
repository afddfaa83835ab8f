"""Errors of polynomials on any stretch of a curve, from trees of summaries."""
