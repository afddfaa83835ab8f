"""A further curve of a run, whose phases begin and end with those of its utilization."""

from __future__ import annotations

import msgspec

__all__ = ["Companion"]


class Companion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another curve of the same run that shares the breaks.

    Attributes
    ----------
    name : str
        State or column.
    noise : float
        Long-run variance of a cell, in the unit of the curve squared.
    levels : tuple of float
        Mean in each phase.
    """

    name: str
    noise: float
    levels: tuple[float, ...]
