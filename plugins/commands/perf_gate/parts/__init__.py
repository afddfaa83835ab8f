"""Phases and lost cycles of several runs of two versions."""
