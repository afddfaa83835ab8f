"""Families with a formula: what samples become where their shape is known."""
