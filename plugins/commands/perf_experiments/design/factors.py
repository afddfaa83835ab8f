"""Factors and their levels: what an experiment varies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from perf_formulas.parser import FUNCTIONS
from perf_tables.points.ranges import parse_values
from perfcore.base.errors import OptionError

Level = int | float | str
Point = Mapping[str, Level]

# What a table of runs holds beside factors and values; `cores` is what constraints call the processors.
COLUMNS = (
    *("run", "replication", "replications", "started", "host", "noisy"),
    *("wall_s", "user_s", "sys_s", "peak_memory_mib", "exit_status", "cores"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = 2.0**53  # above, not every whole number is a float


def parse_factor(text: str) -> tuple[str, tuple[Level, ...]]:
    """A factor as the command line gives it: ``p=1,2,4``, ``D=128..1024*2`` or ``solver=cg,lu``."""
    name, equals, levels_text = (part.strip() for part in text.partition("="))
    if not equals or not levels_text:
        raise OptionError(f"factor {text!r}: NAME=LEVEL,LEVEL,... or NAME=FIRST..LAST*FACTOR is expected, p=1..64*2")
    levels: Sequence[Level]
    try:
        levels = parse_values(levels_text)
    except (ValueError, ZeroDivisionError):
        words = [word.strip() for word in levels_text.split(",")]
        numbers = [word for word in words if _reads_as_number(word)]
        if numbers or ".." in levels_text:
            wrong = next((word for word in words if word not in numbers), levels_text)
            raise OptionError(
                f"factor {name}: {wrong!r} is no number; numbers, or FIRST..LAST:STEP, or FIRST..LAST*FACTOR, or words "
                "only are expected"
            ) from None
        levels = words
    return name, check_factors({name: levels})[name]


def check_factors(factors: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Level, ...]]:
    """Factors whose names and levels can be used; whole numbers become ``int``."""
    if not factors:
        raise OptionError("a design needs a factor, such as p=1,2,4,8")
    checked = {}
    for name, levels in factors.items():
        if not _NAME.fullmatch(name):
            raise OptionError(f"factor {name!r}: a name of letters, digits and _ is expected")
        if name in COLUMNS or name in FUNCTIONS:
            raise OptionError(f"factor {name!r}: the name has a meaning already; choose another, such as {name}_")
        factor_levels = tuple(level_of(name, level) for level in levels)
        if not factor_levels:
            raise OptionError(f"factor {name}: it has no levels")
        if len(set(factor_levels)) < len(factor_levels):
            twice = next(level for level in factor_levels if factor_levels.count(level) > 1)
            raise OptionError(f"factor {name}: level {level_text(twice)} stands there twice")
        if len({is_number(level) for level in factor_levels}) > 1:
            raise OptionError(f"factor {name}: its levels must be all numbers or all words")
        checked[name] = factor_levels
    return checked


def level_of(name: str, level: Any) -> Level:
    """A level that can be used; a whole number becomes ``int``."""
    if isinstance(level, str) and level and level.isprintable():
        return level
    if isinstance(level, (int, float)) and not isinstance(level, bool) and abs(level) < float("inf"):
        return int(level) if float(level).is_integer() and abs(level) < _WHOLE else float(level)
    raise OptionError(f"factor {name}: level {level!r} is neither a finite number nor a word")


def is_number(level: Level) -> bool:
    """Whether a level can be computed with."""
    return not isinstance(level, str)


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def level_text(level: Level) -> str:
    """A level as a command line takes it."""
    return level if isinstance(level, str) else repr(level)


def point_text(point: Point) -> str:
    """A point as messages name it."""
    return " ".join(f"{name}={level_text(level)}" for name, level in point.items())
