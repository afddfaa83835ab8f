"""Grids of processors, such as the P x Q of HPL: how many processors they have is what was varied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.data.roles import is_processors

if TYPE_CHECKING:
    import pandas as pd


_SIZE = "processes"
# HPL and ScaLAPACK; stencils and solvers. p and q in lower case may be anything.
_GRIDS: tuple[tuple[str, ...], ...] = (
    ("P", "Q"),
    *(tuple(name.format(axis) for axis in axes) for axes in ("xyz", "xy") for name in ("p{}", "np{}", "nproc_{}")),
    ("nprow", "npcol"),
    ("prow", "pcol"),
)


def grid_size(table: pd.DataFrame) -> tuple[tuple[str, ...], pd.Series] | None:
    """The sides of a grid and the number of its processors in each row, where these are told in no other way."""
    sides = next((grid for grid in _GRIDS if set(grid) <= set(table.columns)), None)
    if sides is None or any(is_processors(name) for name in table.columns if name not in sides):
        return None
    counts = table[list(sides)]
    if any(kind.kind not in "iuf" for kind in counts.dtypes) or not ((counts >= 1) & (counts % 1 == 0)).all(axis=None):
        return None
    return sides, counts.prod(axis=1).rename(_SIZE)
