"""What a user types: ranges of numbers, points as ``p=1..1024*2,n=100,code=LU,SP``, and durations as ``5min``.

One grammar for all commands and options that take points: pieces are separated by commas; one that contains ``=``
begins another variable, the others go on with the values of the variable before.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from perfcore.base import grouped
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.units import LABELS, NANOSECONDS

if TYPE_CHECKING:
    from perfcore.models.model import Model

MOST_POINTS = 1_000_000  # that a person asks for at once
_FORM = "NAME=VALUE,... is expected; a VALUE is a number, FIRST..LAST:STEP, FIRST..LAST*FACTOR, or a name"
_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s?([KMG]i|[kMG]B)B?\s*")
_DURATION_NS = {unit: int(LABELS[unit][1] * NANOSECONDS["s"]) for unit in (*NANOSECONDS, "min", "h", "d")}
_DURATION = re.compile(r"\s*(\d{1,15}(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*")


def parse_values(text: str) -> list[float]:
    """``1,2,3``, ``FIRST..LAST:STEP`` or ``FIRST..LAST*FACTOR`` as numbers."""
    values: list[float] = []
    for part in text.split(","):
        first_text, dots, rest = part.partition("..")
        if not dots:
            values.append(_level(part))
            continue
        by = "*" if "*" in rest else ":"
        last_text, _, step_text = rest.partition(by)
        first, last, step = _level(first_text), _level(last_text), _level(step_text)
        if by == ":":
            count = (last - first) / step
            if not count >= 0:
                raise ValueError
            check_count(count + 1, part)
            values += [first + k * step for k in range(int(count + 1e-9) + 1)]
        else:
            if not (0 < first <= last < float("inf") and step > 1.0):
                raise ValueError
            check_count(math.log(last / first) / math.log(step) + 1, part)
            while first <= last * (1 + 1e-9):
                values.append(first)
                first *= step
    if not all(abs(value) < float("inf") for value in values):
        raise ValueError
    return values


def _level(text: str) -> float:
    """Return a number, also with a prefix that means one thing only: ``16MiB``, ``64Ki``, ``10kB``."""
    match = _SIZE.fullmatch(text)
    return float(text) if match is None else float(match[1]) * _PREFIXES[match[2]]


def check_count(count: float, text: str) -> None:
    """Refuse more points than memory and patience hold."""
    if count > MOST_POINTS:
        raise OptionError(f"{text}: {count:.3g} points, and at most {MOST_POINTS:,} can be asked for")


def parse_places(texts: str | Iterable[str]) -> dict[str, str]:
    """Return the values of each variable as text, for callers that know which of them are numbers."""
    return {name: ",".join(words) for name, words in _words(texts, {}, "--at").items()}


def levels_at(model: Model, at: str | Iterable[str] | Mapping[str, Any], option: str = "--at") -> dict[str, list[Any]]:
    """Return the levels that are asked for of each variable of a model, by symbol; of those that are named."""
    texts = at
    arrays: dict[str, list[Any]] = {}
    if isinstance(at, Mapping):
        import numpy as np  # help and completion of options that take places do without

        texts = [f"{name}={value}" for name, value in at.items() if isinstance(value, str)]
        arrays = {name: np.atleast_1d(v).tolist() for name, v in at.items() if not isinstance(v, str)}
    symbols = {**{column: symbol for symbol, column in model.variables.items()}, **{s: s for s in model.variables}}
    known = {name: model.levels[symbol] for name, symbol in symbols.items() if symbol in model.levels}
    numbers = [symbol for symbol in model.variables if symbol not in model.levels]
    alone = numbers[0] if len(numbers) == 1 else ""
    levels: dict[str, list[Any]] = {}
    for name, words in [*_words(texts, known, option, alone).items(), *arrays.items()]:
        if name not in symbols:
            raise UnknownNameError("variable", name, model.variables.values())
        chosen = levels.setdefault(symbols[name], [])
        chosen += _numbers(name, words, option) if name not in known else _names(symbols[name], words, known[name])
    return {symbol: levels[symbol] for symbol in model.variables if symbol in levels}


def grid(model: Model, at: str | Iterable[str] | Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return every combination of the levels that are asked for, as one column for each variable of a model.

    Numbers that are not named are those of the model's target.
    """
    target = {symbol: [level] for symbol, level in model.target.items()}
    levels = {**target, **model.levels, **levels_at(model, at)}
    for symbol in model.variables:
        if symbol not in levels:
            raise OptionError(f"the model is one of {', '.join(model.variables)}; give --at {symbol}=...")
    check_count(math.prod(len(chosen) for chosen in levels.values()), "--at")
    rows = list(itertools.product(*(levels[symbol] for symbol in model.variables)))
    return {symbol: [row[k] for row in rows] for k, symbol in enumerate(model.variables)}


def _words(
    texts: str | Iterable[str], known: Mapping[str, Collection[str]], option: str, alone: str = ""
) -> dict[str, list[str]]:
    """Return the pieces of each variable, a known name as one piece; those before any name are of the only number."""
    several = [texts] if isinstance(texts, str) else texts
    return grouped(pair for text in several for pair in _pairs(text, known, option, alone))


def _pairs(text: str, known: Mapping[str, Collection[str]], option: str, name: str) -> Iterator[tuple[str, str]]:
    pieces = text.split(",")
    while pieces:
        count = _pieces_of_a_name(pieces, known.get(name, ()))
        if not count and "=" in pieces[0]:
            name, _, pieces[0] = pieces[0].partition("=")
            name = name.strip()
            count = _pieces_of_a_name(pieces, known.get(name, ()))
        if not name:
            raise OptionError(f"{option} {text!r}: {_FORM}")
        yield name, ",".join(pieces[: count or 1]).strip()
        del pieces[: count or 1]


def _pieces_of_a_name(pieces: list[str], names: Collection[str]) -> int:
    """Return how many of the first pieces are together one of the names, the longest; 0 if none is."""
    counts = range(len(pieces), 0, -1) if names else ()
    return next((count for count in counts if ",".join(pieces[:count]).strip() in names), 0)


def _numbers(name: str, words: Iterable[Any], option: str) -> list[float]:
    values: list[float] = []
    for word in words:
        try:
            values += parse_values(str(word))
        except (ValueError, ZeroDivisionError):
            raise OptionError(f"{option} {name}={word}: {_FORM}, such as {name}=1..1024*2") from None
        check_count(len(values), option)
    return values


def _names(symbol: str, words: Iterable[Any], known: Collection[str]) -> list[str]:
    for word in words:
        if str(word) not in known:
            raise UnknownNameError(symbol, str(word), known)
    return [str(word) for word in words]


def parse_share(share: str | float, option: str, most: float = 1.0) -> float:
    """Return a share as an option takes it: ``"2%"``, ``"0.02"`` or 0.02."""
    text = str(share).strip()
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= most:
        raise OptionError(f"{option} {text}: a share is expected, from 0 to {most:.0%}, such as 2% or 0.02")
    return value


def parse_named(texts: Iterable[str], option: str, form: str) -> dict[str, str]:
    """Return words ``NAME=TEXT`` by name, each name once; the form says what is expected."""
    named: dict[str, str] = {}
    for word in texts:
        name, _, text = (part.strip() for part in word.partition("="))
        if not name or not text:
            raise OptionError(f"{option} {word!r}: {form} is expected")
        if name in named:
            raise OptionError(f"{option} {word!r}: {name} was given before")
        named[name] = text
    return named


def parse_duration(text: str) -> int:
    """Return a duration with its unit as whole nanoseconds; a bare number is seconds."""
    match = _DURATION.fullmatch(text)
    factor = None if match is None else _DURATION_NS.get(match[2] or "s")
    length = 0 if match is None or factor is None else round(float(match[1]) * factor)
    if length < 1:
        raise OptionError(
            f"duration {text!r}: a positive number with one of {', '.join(_DURATION_NS)} is expected, 5min"
        )
    return length


def check_length(length: str) -> str:
    """Return the length of a window, a duration or ``"all"``, as it was given."""
    if length != "all":
        parse_duration(length)
    return length
