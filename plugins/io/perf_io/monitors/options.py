"""Options of the readers of monitors."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option

_MEASURES = ("busy", "available", "iowait", "steal")


@dataclass(frozen=True)
class CpuOptions:
    """Which shares become columns."""

    measures: tuple[str, ...] = option(
        ("busy",),
        "shares of each processor's time, with commas: busy (neither idle nor waiting for I/O), available (1 - busy), "
        "iowait, steal",
        choices=_MEASURES,
        metavar="NAME,...",
    )
