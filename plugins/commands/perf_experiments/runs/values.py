"""Values that a run reports: found in its output by regular expressions, or in a file of results that it writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perf_experiments.design.factors import COLUMNS
from perfcore.base.errors import OptionError, PerfError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RunValueError(PerfError):
    """A run that did not report what was asked for; it counts as failed."""


@dataclass(frozen=True)
class ValuePattern:
    """A value's name, and the expression whose one group is the number."""

    name: str
    expression: re.Pattern[bytes]


def parse_patterns(texts: Sequence[str], factors: Sequence[str]) -> tuple[ValuePattern, ...]:
    """``NAME=EXPRESSION`` texts."""
    patterns: dict[str, ValuePattern] = {}
    for text in texts:
        name, equals, expression = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise OptionError(f"value {text!r}: NAME=EXPRESSION is expected, such as 'time=Time = *([0-9.]+)'")
        if name in patterns or name in factors or name in COLUMNS:
            raise OptionError(f"value {name!r}: the name is taken; choose another")
        try:
            compiled = re.compile(expression.encode(), re.MULTILINE)
        except re.error as error:
            raise OptionError(f"value {name}: {expression!r} is no regular expression: {error}") from None
        if compiled.groups != 1:
            raise OptionError(
                f"value {name}: {expression!r} has {compiled.groups} groups; one is expected, in ( ), which is the "
                "number; (?: ) groups without counting"
            )
        patterns[name] = ValuePattern(name, compiled)
    return tuple(patterns.values())


def values_in(text: bytes, patterns: Sequence[ValuePattern], where: str = "the output") -> dict[str, float]:
    """The one value that each pattern finds."""
    values = {}
    for pattern in patterns:
        matches = pattern.expression.findall(text)
        if len(matches) != 1:
            several = f"{len(matches)} times" if matches else "nowhere"
            raise RunValueError(f"value {pattern.name} is found {several} in {where}; once is expected")
        matched = matches[0].decode(errors="replace")
        try:
            number = float(matched)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RunValueError(f"value {pattern.name} is {matched[:40]!r} in {where}; a finite number is expected")
        values[pattern.name] = number
    return values


class ResultsFile:
    """A file that a run writes; what was there before does not count."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._before = self._stamp()

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = Path(self.path).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def content(self) -> bytes:
        """What the run wrote."""
        now = self._stamp()
        if now is None or now == self._before:
            raise RunValueError(f"the run did not write its results file {self.path}")
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise RunValueError(f"the results file {self.path} cannot be read: {error.strerror or error}") from None

    @property
    def is_json(self) -> bool:
        """Whether it gives numbers by names."""
        return self.path.lower().endswith(".json")

    def numbers(self, content: bytes, reserved: Sequence[str]) -> dict[str, float]:
        """The numbers of a JSON object."""
        try:
            document = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RunValueError(f"the results file {self.path} is not JSON: {error}") from None
        numbers = _numbers(document)
        if not numbers:
            raise RunValueError(f"the results file {self.path} is no JSON object with a number in it")
        for name in numbers:
            if name in reserved or name in COLUMNS:
                raise RunValueError(f"the results file {self.path} has {name!r}, a name that is taken")
        return numbers


def _numbers(document: object) -> dict[str, float]:
    if not isinstance(document, Mapping):
        return {}
    return {
        str(name): float(value)
        for name, value in document.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
