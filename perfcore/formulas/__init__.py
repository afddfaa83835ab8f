"""Formulas without `eval`: parser, tree, formula, and functions by name."""
