"""Versions that the gate measures itself."""
