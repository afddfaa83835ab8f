"""Points of a design and durations in words, and the options of the reader of stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perfcore.hooks.options import option

Level = int | float | str
Point = Mapping[str, Level]
VERSION = "version"  # the factor that identifies the version
PRINTED = ("stdout", "stderr")  # of a run
_STEPS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def is_number(level: Level) -> bool:
    """Return whether a level can be computed with."""
    return not isinstance(level, str)


def level_text(level: Level) -> str:
    """Return a level as a command line takes it."""
    return level if isinstance(level, str) else repr(level)


def point_text(point: Point) -> str:
    """Return a point as messages name it."""
    return " ".join(f"{name}={level_text(level)}" for name, level in point.items())


def duration_text(seconds: float) -> str:
    """Return a duration as a person says it."""
    for length, unit in _STEPS:
        if seconds >= length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s"


@dataclass(frozen=True)
class ExperimentStoreOptions:
    """Which runs count."""

    noisy: bool = option(True, "keep runs before which others used the machine")
