"""Where the views of a model by category stand, and how they show a determination coefficient."""

from __future__ import annotations

from perf_views.contents import Cell, Link, ViewPath

CATEGORY, STEPS, OVER, FORMULAE, VERIFY = "category", "steps", "over", "formulae", "verify"

_DARKEST = 0.5  # a model that leaves half of the variance is as bad as none
SHADES = f"R^2 centered; bright is 1, dark {_DARKEST:g} or less; - where the times do not vary"


def category_path(category: str) -> ViewPath:
    """The view of a category's model."""
    return (CATEGORY, category)


def steps_path(category: str) -> ViewPath:
    """The view of how that model was put together."""
    return (CATEGORY, category, STEPS)


def fitting_path(category: str, symbol: str) -> ViewPath:
    """The view of all lines of a category over a factor."""
    return (CATEGORY, category, OVER, symbol)


def fit_path(category: str, symbol: str, line: int) -> ViewPath:
    """The view of one of them."""
    return (CATEGORY, category, OVER, symbol, str(line))


def formulae_path(category: str, symbol: str) -> ViewPath:
    """The view that changes what is fitted to them."""
    return (CATEGORY, category, OVER, symbol, FORMULAE)


def r2_text(value: float | None) -> str:
    """A determination coefficient as it is shown."""
    return "-" if value is None else f"{value:.4f}"


def r2_cell(value: float | None, link: Link | None = None) -> Cell:
    """A determination coefficient with its colour."""
    shade = None if value is None else min(max((value - _DARKEST) / (1.0 - _DARKEST), 0.0), 1.0)
    return Cell(r2_text(value), link, shade)
