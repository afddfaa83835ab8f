"""``NAME=LEVEL,...`` words of options, as the functions take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfcore.base.errors import OptionError

__all__ = ["level_of_each", "levels_of_each"]


def levels_of_each(texts: Sequence[str], flag: str) -> dict[str, Sequence[Any]]:
    """Levels by name, each name once.

    Raises
    ------
    OptionError
        A text is not of the form, or a name is given twice.
    """
    from perf_experiments.design.factors import parse_factor

    levels_by_name: dict[str, Sequence[Any]] = {}
    for text in texts:
        name, levels = parse_factor(text)
        if name in levels_by_name:
            raise OptionError(f"{flag} {name} is given twice; write its levels with commas")
        levels_by_name[name] = levels
    return levels_by_name


def level_of_each(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """A single level by name.

    Raises
    ------
    OptionError
        As `levels_of_each`; or there are several levels.
    """
    levels_by_name = levels_of_each(texts, flag)
    for text, levels in zip(texts, levels_by_name.values(), strict=True):
        if len(levels) > 1:
            raise OptionError(f"{flag} {text!r}: one level is expected")
    return {name: levels[0] for name, levels in levels_by_name.items()}
