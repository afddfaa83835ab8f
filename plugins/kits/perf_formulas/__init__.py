"""Formulas that a user types, and functions of models by name or as such a formula."""
