"""Benchmarks of any tool as one long table."""
