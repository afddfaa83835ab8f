"""Structural models and series on the page."""
