"""Separate models of every code on every system."""
