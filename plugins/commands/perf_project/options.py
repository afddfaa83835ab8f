"""Options of the fitter `projection`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfcore.data.selection import DUPLICATES, parse_where
from perfcore.hooks.options import option


def parse_targets(raw: Any) -> tuple[str, ...]:
    """Return the texts of targets: ``p=16``, ``p=64..4096*4``, or of the only parameter its value alone."""
    if isinstance(raw, Mapping):
        return tuple(f"{name}={value}" for name, value in raw.items())
    return (str(raw),) if isinstance(raw, (str, int, float)) else tuple(map(str, raw))


@dataclass(frozen=True)
class ProjectionOptions:
    """Options of the fitter `projection`."""

    parameter: str | None = option(None, "column with the scale", metavar="COLUMN,...")
    value: str | None = option(None, "column with the times", metavar="COLUMN")
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    duplicates: str = option("refuse", "treatment of identical rows", choices=DUPLICATES)
    at: tuple[str, ...] = option(
        (), "scales to project to, such as p=64 (default: 4 times the largest)", parse=parse_targets, metavar="p=N,..."
    )
    scaling: str = option(
        "auto", "weak: the problem grows with p; strong: it does not; auto: from the table",
        choices=("auto", "weak", "strong"),
    )  # fmt: skip
