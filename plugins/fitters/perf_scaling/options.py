"""Options of the fitter `scaling`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from perf_tables.arguments import parse_places, parse_values
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.selection import DUPLICATES, parse_where
from perfcore.hooks.options import option
from perfcore.hooks.registry import registry

MOST_EXPONENT, MOST_LOGARITHM = 6, 3


def parse_exponents(raw: Any) -> tuple[str, ...]:
    """Return exponents of a parameter, ``-1,0,1/2,1,2``, as texts, sorted."""
    words = raw.split(",") if isinstance(raw, str) else [str(word) for word in raw]
    try:
        exponents = sorted({Fraction(word.strip()) for word in words if word.strip()})
    except (ValueError, ZeroDivisionError):
        raise ValueError("fractions are expected, such as -1,0,1/2,1,2") from None
    if not exponents or abs(exponents[0]) > MOST_EXPONENT or abs(exponents[-1]) > MOST_EXPONENT:
        raise ValueError(f"fractions from -{MOST_EXPONENT} to {MOST_EXPONENT} are expected, such as -1,0,1/2,1,2")
    return tuple(str(exponent) for exponent in exponents)


def parse_logarithms(raw: Any) -> tuple[int, ...]:
    """Return powers of the logarithm, ``0,1,2``."""
    words = raw.split(",") if isinstance(raw, str) else [str(word) for word in raw]
    if not words or any(word.strip() not in map(str, range(MOST_LOGARITHM + 1)) for word in words):
        raise ValueError(f"powers of the logarithm from 0 to {MOST_LOGARITHM} are expected, such as 0,1,2")
    return tuple(sorted({int(word) for word in words}))


def parse_functions(raw: Any) -> tuple[str, ...]:
    """Return functions by their registered names or as formulas, ``p^(-2/3),log2(p)``."""
    from perf_formulas.formula import Formula, split_formulas

    words = split_formulas(raw) if isinstance(raw, str) else list(map(str, raw))
    registered = registry().entries("functions")
    return tuple(dict.fromkeys(word if word in registered else Formula(word).canonical for word in words if word))


class Given(NamedTuple):
    """Terms that a user names, in place of the generic ones."""

    exponents: tuple[str, ...] = ()
    logarithms: tuple[int, ...] = ()
    functions: tuple[str, ...] = ()  # of `symbol`
    symbol: str = "p"

    @classmethod
    def of(cls, options: Mapping[str, Any], columns: Mapping[str, str]) -> Given | None:
        """Return those of a fit's options, or None if it has none; `columns` are the parameters by symbol."""
        exponents, logarithms, names = (tuple(options.get(name) or ()) for name in cls._fields[:3])
        if not (exponents or logarithms or names):
            return None
        if names:
            from perf_formulas.formula import find_function

            if len(columns) > 1:
                raise OptionError("--functions are terms of one parameter: hold the others with --where")
            functions = [find_function(name, tuple(columns), columns) for name in names]
            names = tuple(function.name for function in functions if function.variables)  # a constant is there anyway
        return cls(exponents, logarithms, names, next(iter(columns)))

    def terms(self, powers: tuple[str, ...]) -> list[tuple[float, int]]:
        """Return exponents and powers of the logarithm; `powers` are the exponents if only logarithms are named."""
        if not self.exponents and not self.logarithms:
            return []
        exponents = [float(Fraction(word)) for word in self.exponents or powers]
        return [(i, j) for i in exponents for j in self.logarithms or (0,) if i or j]


def _is_number(text: str) -> bool:
    try:
        return "," not in text and len(values := parse_values(text)) == 1 and values[0] > 0.0
    except (PerfError, ValueError, ZeroDivisionError):
        return False


def parse_target(raw: Any) -> tuple[str, ...]:
    """Return a point, ``p=4096`` or ``p=4096,n=1e6``, or of one parameter its level alone, as texts."""
    if isinstance(raw, (int, float)) or (isinstance(raw, str) and _is_number(raw)):
        return (str(raw),)
    if isinstance(raw, Mapping):
        levels = {name: getattr(level, "tolist", lambda level=level: level)() for name, level in raw.items()}
        levels = {name: one[0] if isinstance(one, list) and len(one) == 1 else one for name, one in levels.items()}
        raw = [f"{name}={level!r}" for name, level in levels.items()]
    try:
        places = parse_places([raw] if isinstance(raw, str) else map(str, raw))
        is_point = all(len(parse_values(text)) == 1 for text in places.values())
    except (PerfError, ValueError, ZeroDivisionError):
        is_point = False
    if not is_point:
        raise ValueError("expected one value of each parameter, e.g. p=4096 (`perf project` takes several)")
    return tuple(f"{name}={text}" for name, text in places.items())


@dataclass(frozen=True)
class ScalingOptions:
    """Options of the fitter `scaling`."""

    parameter: tuple[str, ...] | None = option(
        None, "columns that were varied, COLUMN or SYMBOL=COLUMN; the first is p in formulas", metavar="COLUMN,..."
    )
    value: tuple[str, ...] | None = option(
        None, "column that was measured; several give a series each", metavar="COLUMN,..."
    )
    path: tuple[str, ...] | None = option(
        None, "columns that identify a series: call path, metric, code", metavar="COLUMN,..."
    )
    unit: str | None = option(None, "unit of the value (default: the ending of the column's name)")
    where: tuple[str, ...] = option(
        (), "only rows that meet all conditions: COLUMN=A|B, COLUMN!=A, COLUMN>3", parse=parse_where, metavar="COND,..."
    )
    duplicates: str = option("refuse", "treatment of identical rows", choices=DUPLICATES)
    at: tuple[str, ...] = option(
        (), "target point, such as p=128; columns that it names are parameters (default: 4 times the largest level)",
        parse=parse_target, metavar="NAME=LEVEL,...",
    )  # fmt: skip
    exponents: tuple[str, ...] | None = option(
        None, "powers of a parameter, such as -1,0,1/2,1,2 (default: any from -3 to 3.5)",
        parse=parse_exponents, metavar="I,...",
    )  # fmt: skip
    logarithms: tuple[int, ...] | None = option(
        None, "powers of the logarithm (default: 0,1,2; with exponents, 0)",
        parse=parse_logarithms, metavar="J,..."
    )  # fmt: skip
    functions: tuple[str, ...] | None = option(
        None, "terms of one parameter by name or formula, such as p^(-2/3),log2(p)",
        parse=parse_functions, metavar="FUNCTION,...",
        choices=lambda: tuple(name for name in registry().entries("functions") if re.search(r"\bp\b", name)),
    )  # fmt: skip
    scaling: str = option(
        "auto", "weak: the problem grows with p; strong: it does not; auto: from the table",
        choices=("auto", "weak", "strong"),
    )  # fmt: skip
    show: str | None = option(None, "call path whose candidate models are listed", metavar="NAME")
