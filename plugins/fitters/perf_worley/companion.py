"""A further curve of a run, whose phases begin and end with those of its utilization."""

from __future__ import annotations

import msgspec


class Companion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another curve of the same run that shares the breaks."""

    name: str  # state or column
    noise: float  # long-run variance of a cell, in the unit of the curve squared
    levels: tuple[float, ...]  # mean in each phase
