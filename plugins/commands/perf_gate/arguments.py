"""What a user says in words: factors, shares, verdicts."""

from __future__ import annotations

import math
import re

from perfcore.base.errors import OptionError, UnknownNameError

__all__ = ["factor_of", "one_of", "share_of"]

_NUMBER = r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"


def factor_of(given: str | float, option: str = "--slower-than") -> float:
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
    text = str(given).strip()
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<unit>x|%)?", text)
    number = math.nan if match is None else float(match["number"])
    if match is not None and match["unit"] == "%":
        number = 1.0 + number / 100.0
    if not 1.0 < number < math.inf:
        raise OptionError(f"{option} {text}: above 1 is expected, such as 1.05x or 5%")
    return number


def share_of(given: str | float | None, option: str = "--between") -> float | None:
    """A share.

    Examples
    --------
    >>> share_of("2%"), share_of(0.02), share_of(None)
    (0.02, 0.02, None)
    """
    if given is None:
        return None
    text = str(given).strip()
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<unit>%)?", text)
    number = math.nan if match is None else float(match["number"]) / (100.0 if match["unit"] else 1.0)
    if not 0.0 <= number < 10.0:
        raise OptionError(f"{option} {text}: a share is expected, such as 2%")
    return number


def one_of(given: str, choices: tuple[str, ...], option: str) -> str:
    """One of the words that an option takes."""
    if given not in choices:
        raise UnknownNameError(option, given, choices)
    return given
