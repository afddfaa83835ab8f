"""Overheads of a trace on the page."""
