"""Conditions under which a comparison fails."""
