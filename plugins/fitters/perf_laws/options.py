"""Options of the fitter `scaling`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from perf_laws.evidence.terms import DEFAULT_EXPONENTS, DEFAULT_LOGARITHMS, MOST_EXPONENT, MOST_LOGARITHM
from perfcore.base.ranges import parse_values
from perfcore.data.selection import DUPLICATES, parse_where
from perfcore.hooks.options import option

__all__ = ["LawOptions", "parse_target"]


def parse_exponents(given: Any) -> tuple[str, ...]:
    """Exponents of a parameter: ``-1,0,1/2,1,2``, as texts, sorted.

    Examples
    --------
    >>> parse_exponents("1, 1/2,-1")
    ('-1', '1/2', '1')
    """
    words = given.split(",") if isinstance(given, str) else [str(word) for word in given]
    try:
        found = sorted({Fraction(word.strip()) for word in words if word.strip()})
    except (ValueError, ZeroDivisionError):
        raise ValueError("fractions are expected, such as -1,0,1/2,1,2") from None
    if not found or abs(found[0]) > MOST_EXPONENT or abs(found[-1]) > MOST_EXPONENT:
        raise ValueError(f"fractions from -{MOST_EXPONENT} to {MOST_EXPONENT} are expected, such as -1,0,1/2,1,2")
    return tuple(str(exponent) for exponent in found)


def parse_logarithms(given: Any) -> tuple[int, ...]:
    """Powers of the logarithm: ``0,1,2``."""
    words = given.split(",") if isinstance(given, str) else [str(word) for word in given]
    if not words or any(word.strip() not in map(str, range(MOST_LOGARITHM + 1)) for word in words):
        raise ValueError(f"powers of the logarithm from 0 to {MOST_LOGARITHM} are expected, such as 0,1,2")
    return tuple(sorted({int(word) for word in words}))


def parse_target(given: Any) -> tuple[str, ...]:
    """A point: ``p=4096`` or ``p=4096,n=1e6``, one level of each parameter, as texts.

    Examples
    --------
    >>> parse_target("p=4096, n=1e6")
    ('p=4096', 'n=1e6')
    """
    if isinstance(given, Mapping):
        words: Iterable[str] = [f"{name}={level!r}" for name, level in given.items()]
    else:
        words = (
            given.split(",") if isinstance(given, str) else [part for word in given for part in str(word).split(",")]
        )
    found = [word.strip() for word in words if word.strip()]
    for word in found:
        name, equals, level = word.partition("=")
        try:
            levels = parse_values(level) if equals and name.strip() else []
        except (ValueError, ZeroDivisionError):
            levels = []
        if len(levels) != 1:
            raise ValueError(f"{word!r}: NAME=LEVEL is expected, such as p=4096")
    pairs = [(name.strip(), level.strip()) for name, _, level in (word.partition("=") for word in found)]
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise ValueError(f"{twice[0]} is there twice; one level of each parameter is expected")
    return tuple(f"{name}={level}" for name, level in pairs)


@dataclass(frozen=True)
class LawOptions:
    """Options of the fitter `scaling`."""

    parameter: tuple[str, ...] | None = option(
        None, "columns that were varied, COLUMN or SYMBOL=COLUMN; the first is p in formulas", metavar="COLUMN,..."
    )
    value: tuple[str, ...] | None = option(
        None, "column that was measured; of several each is a path", metavar="COLUMN,..."
    )
    path: tuple[str, ...] | None = option(
        None, "columns that together name what has a law of its own: call path, metric, code", metavar="COLUMN,..."
    )
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    duplicates: str = option("refuse", "rows that agree in every column: copies or repeated runs", choices=DUPLICATES)
    at: tuple[str, ...] = option(
        (), "the scale to look at (default: four times the largest level of each parameter)",
        parse=parse_target, metavar="NAME=LEVEL,...",
    )  # fmt: skip
    exponents: tuple[str, ...] = option(
        tuple(map(str, DEFAULT_EXPONENTS)),
        "powers of a parameter, such as -1,0,1/2,1,2 (default: -2 to 3 in quarters and thirds, above 0 also twelfths)",
        parse=parse_exponents, metavar="I,...",
    )  # fmt: skip
    logarithms: tuple[int, ...] = option(
        DEFAULT_LOGARITHMS, "powers of the logarithm beside them", parse=parse_logarithms, metavar="J,..."
    )
    breaks: bool = option(True, "look for breaks between points where one law cannot hold (one parameter)")
    show: str | None = option(None, "path whose laws are all listed", metavar="PATH")
