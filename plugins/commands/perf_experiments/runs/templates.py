"""A command with places for factors: ``./app -n {D} -np {p}``. No shell is involved."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from perf_experiments.design.factors import Point, level_text
from perfcore.base.errors import OptionError, UnknownNameError

LAUNCHERS = {"local": "", "mpirun": "mpirun -np {p}", "srun": "srun -n {p}"}

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def launcher_words(launcher: str) -> tuple[str, ...]:
    """A launcher by name, or a text of its own, as the words that stand before the command."""
    try:
        return tuple(shlex.split(LAUNCHERS.get(launcher, launcher)))
    except ValueError as error:
        raise OptionError(f"launcher {launcher!r}: {error}") from None


def filled(words: Iterable[str], point: Point) -> tuple[str, ...]:
    """Words with the levels of a point in their places; ``{{`` and ``}}`` are braces."""
    return tuple(_filled(word, point, list(point)) for word in words)


def _filled(word: str, point: Point, factor_names: Sequence[str]) -> str:
    def place(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise OptionError(f"{word!r}: {match[0]!r} stands alone; {{FACTOR}} is a place and {match[0] * 2} a brace")
        if match[1] not in point:
            raise UnknownNameError(f"factor in {word!r}", match[1], factor_names)
        return level_text(point[match[1]])

    return _PLACE.sub(place, word)
