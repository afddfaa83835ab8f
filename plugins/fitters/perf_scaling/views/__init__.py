"""Scaling laws on the page and in the report."""
