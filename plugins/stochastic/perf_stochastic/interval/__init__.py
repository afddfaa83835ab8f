"""Intervals and their arithmetic."""
