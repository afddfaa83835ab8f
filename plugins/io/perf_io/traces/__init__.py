"""Readers of the traces that tracing tools write."""
