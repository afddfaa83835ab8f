"""Probabilities that forecasts are written down with and judged at."""

from __future__ import annotations

JUDGED_COVERAGES = (0.5, 0.8, 0.95)

# Of the edges of a distribution: even, and close where bounds are asked for.
_TAIL = (0.0, 0.0025, 0.005, 0.01, 0.025)
LEVELS = (*_TAIL, *(percent / 100.0 for percent in range(5, 96, 5)), *(1.0 - level for level in reversed(_TAIL)))
