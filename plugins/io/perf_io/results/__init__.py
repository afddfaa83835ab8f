"""Readers of what benchmark tools, profilers and schedulers leave."""
