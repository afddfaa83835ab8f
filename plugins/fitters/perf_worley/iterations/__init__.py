"""Sections of a run that repeat: how many, how long, and which one differs."""
