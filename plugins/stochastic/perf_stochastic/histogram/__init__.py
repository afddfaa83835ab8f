"""Histograms: bins, and exact arithmetic."""
