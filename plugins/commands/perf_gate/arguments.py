"""What a user says in words: factors, shares, verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from perf_tables.series.durations import parse_duration
from perfcore.base.errors import OptionError, UnknownNameError

__all__ = ["BETTER", "better_by_column", "factor_of", "one_of", "seconds_of", "share_of", "versions_of"]

BETTER = ("smaller", "larger")

_NUMBER = r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"


def factor_of(factor: str | float, option: str = "--slower-than") -> float:
    """How many times as slow is too slow.

    Examples
    --------
    >>> factor_of("1.05x"), factor_of(1.1), factor_of("5%")
    (1.05, 1.1, 1.05)
    >>> factor_of("0.9")
    Traceback (most recent call last):
        ...
    perfcore.base.errors.OptionError: --slower-than 0.9: above 1 is expected, such as 1.05x or 5%
    """
    text = str(factor).strip()
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<unit>x|%)?", text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"{option} {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def share_of(share: str | float | None, option: str = "--between") -> float | None:
    """A share.

    Examples
    --------
    >>> share_of("2%"), share_of(0.02), share_of(None)
    (0.02, 0.02, None)
    """
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
    """Seconds of a duration: ``"10min"``, or a number of them.

    Examples
    --------
    >>> seconds_of("2min"), seconds_of(0.5)
    (120.0, 0.5)
    """
    return parse_duration(str(duration)) / 1e9


def better_by_column(better: str | Iterable[str] | None, option: str = "--better") -> dict[str, str]:
    """Which values are better, by column; of all others under the empty name.

    Examples
    --------
    >>> better_by_column("larger"), better_by_column(["rate=larger", "time_s=smaller"])
    ({'': 'larger'}, {'rate': 'larger', 'time_s': 'smaller'})
    """
    texts = [better] if isinstance(better, str) else list(better or ())
    directions = {}
    for text in texts:
        column, _, word = text.rpartition("=")
        directions[column.strip()] = one_of(word.strip(), BETTER, option)
    return directions


def versions_of(texts: Sequence[str]) -> dict[str, str]:
    """Versions and their commands: ``old=./old/app input``.

    Raises
    ------
    OptionError
        A text is none, or a version is named twice.

    Examples
    --------
    >>> versions_of(["old=./old/app -n 5", "new=./new/app -n 5"])
    {'old': './old/app -n 5', 'new': './new/app -n 5'}
    """
    commands: dict[str, str] = {}
    for text in texts:
        name, equals, command = (part.strip() for part in text.partition("="))
        if not equals or not name or not command:
            raise OptionError(f"--version {text!r}: with --run NAME=COMMAND is expected, such as old='./old/app input'")
        if name in commands:
            raise OptionError(f"--version {name}: the name stands there twice")
        commands[name] = command
    return commands
