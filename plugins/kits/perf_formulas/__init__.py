"""Formulas that a user types, and functions of models by name or as such a formula."""

from __future__ import annotations

from perfcore.base import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {"Formula": "perf_formulas.formula"})
