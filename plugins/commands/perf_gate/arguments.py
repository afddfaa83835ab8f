"""What a user says in words: factors, shares, verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from perf_tables.arguments import parse_duration
from perfcore.base.errors import OptionError, UnknownNameError

BETTER = ("smaller", "larger")

_NUMBER = r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"


def factor_of(factor: str | float, option: str = "--slower-than") -> float:
    """How many times as slow is too slow."""
    text = str(factor).strip()
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<unit>x|%)?", text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"{option} {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def share_of(share: str | float | None, option: str = "--session-cv") -> float | None:
    """A share."""
    if share is None:
        return None
    text = str(share).strip()
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<unit>%)?", text)
    number = math.nan if match is None else float(match["number"]) / (100.0 if match["unit"] else 1.0)
    if not 0.0 <= number < 10.0:
        raise OptionError(f"{option} {text}: a share is expected, such as 2%")
    return number


def one_of(word: str, choices: tuple[str, ...], option: str) -> str:
    """One of the words that an option takes."""
    if word not in choices:
        raise UnknownNameError(option, word, choices)
    return word


def seconds_of(duration: str | float) -> float:
    """Seconds of a duration: ``"10min"``, or a number of them."""
    return parse_duration(str(duration)) / 1e9


def better_by_column(better: str | Iterable[str] | None, option: str = "--better") -> dict[str, str]:
    """Which values are better, by column; of all others under the empty name."""
    texts = [better] if isinstance(better, str) else list(better or ())
    directions = {}
    for text in texts:
        column, _, word = text.rpartition("=")
        directions[column.strip()] = one_of(word.strip(), BETTER, option)
    return directions


def versions_of(texts: Sequence[str]) -> dict[str, str]:
    """Versions and their commands: ``old=./old/app input``."""
    commands: dict[str, str] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name or not command:
            raise OptionError(f"--version {text!r}: with --run NAME=COMMAND is expected, such as old='./old/app input'")
        if name in commands:
            raise OptionError(f"--version {name}: the name stands there twice")
        commands[name] = command
    return commands
