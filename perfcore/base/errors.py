"""Errors that a user can cause, with a message of one line each.

Everything here derives from `PerfError`; the program prints such an error without a traceback and exits with
status 2. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator

_REMEDY = (  # how advice begins
    "(?:add|choose|convert|correct|fix|fit|give|hold|if|keep|leave|make|measure|name|put|read|remove|rename|say|select|"
    "set|take|to|try|use|write|--?[a-z])\\b"
)
_COMMAND = re.compile(r"(?<=:) (?=(?:awk|darshan-dxt-parser|fio|iperf3|perf|python|sacct|traceconv|\(echo) )")
_KEY_PATH = re.compile(r" - at `\$\.?(?:\[\.\.\.\])?(.*)`$")  # at the end of what msgspec says
# Commands to type stay as they are; elsewhere an option may have a value, which is no word of the sentence.
_OPTION = re.compile(
    r"`[^`-][^`]* [^`]*`|\bperf [a-z][^`;]*|--([a-z][a-z-]*)(?!=)\b"
    r"(?: (-?[A-Z0-9](?:[\w.,]*\w)?|'[^']*'|[a-z]\w*(?:,\w+)+|"
    r"[a-z]\w*=[^\s;,)`:]*|(?!(?:and|or)\b)[a-z][\w/-]*(?=[,;.):`]|$| (?:--|and\b|or\b))))?"
)
_speaks_of_options = [False]  # whether the user has typed options, or called functions

# Of the letters of both names, in their order: a slip in each third letter. With a half, 'linear' suggests 'interval'.
_WIDTH = 100  # letters of a line
_NEAR = 0.65
_SHORT, _NEAR_SHORT = 3, 0.5  # one letter of two or three, where the lengths are about the same
_BEGINNING = 3  # letters that a shortened name needs to be distinct
# What another command or fitter calls the same.
MEANT = {"code": ("path", "where"), "system": ("path", "where"), "path": ("code", "category"), "x": ("parameter",)}


class PerfError(Exception):
    """Base of all errors whose cause is the input, an option or the installation.

    Its text names options as the user gives them: ``--parameter p`` in the program, ``parameter='p'`` in Python.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if _speaks_of_options[0] else _OPTION.sub(_as_keyword, text)


@contextlib.contextmanager
def options_of_program() -> Iterator[None]:
    """Name options in messages as they are typed."""
    before, _speaks_of_options[0] = _speaks_of_options[0], True
    try:
        yield
    finally:
        _speaks_of_options[0] = before


def _as_keyword(option: re.Match[str]) -> str:
    name, value = option.groups()
    if name is None:
        return option[0]
    if value is None and option.string[option.end() : option.end() + 1] == ":":
        return name.replace("-", "_")
    quoted = value is not None and not value.startswith("'") and not value.lstrip("-").replace(".", "").isdigit()
    return f"{name.replace('-', '_')}={repr(value) if quoted else value or ''}"


class InputError(PerfError):
    """A file that cannot be used."""

    def __init__(self, path: object, problem: str, *, line: int | None = None) -> None:
        self.path, self.problem, self.line = str(path), problem, line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {problem}")


class DataError(PerfError):
    """Arrays that do not form the data type they were given for (NaN, wrong order, wrong length)."""


class OptionError(PerfError):
    """An option with a value that it does not accept, or an option that does not exist."""


class PluginError(PerfError):
    """A plugin that cannot be loaded or that breaks its contract."""


class MissingDependencyError(PerfError):
    """A feature whose optional library is not installed; the message names the extra that brings it."""


class ModelFileError(PerfError):
    """A model file that this version does not know or that is damaged."""


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name that this one was meant to be, or None where none is near; case does not count."""
    plain = {candidate.casefold(): candidate for candidate in reversed(known)}
    folded = name.casefold()
    longer = [candidate for candidate in plain if candidate.startswith(folded)] if len(folded) >= _BEGINNING else []
    if longer:
        return plain[min(longer, key=len)]
    near = difflib.get_close_matches(folded, plain, n=1, cutoff=_NEAR)
    if not near and len(folded) <= _SHORT:
        similar = [candidate for candidate in plain if abs(len(candidate) - len(folded)) <= 1]
        near = difflib.get_close_matches(folded, similar, n=1, cutoff=_NEAR_SHORT)
    return plain[near[0]] if near else None


def listing(names: Iterable[str], most: int = 5) -> str:
    """Names in a line that stays readable when there are hundreds."""
    names = list(names)
    text = ", ".join(names[:most]) or "none"
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"


def error_lines(message: str) -> list[str]:
    """Return an error as short lines: where and what, and on lines of their own what mends it.

    Examples
    --------
    >>> error_lines("a.csv:3: time is 'x'; name another column with --value")
    ["a.csv:3: time is 'x'", '  fix: name another column with --value']
    """
    import textwrap

    what, *further = re.split(r"; (?=[a-z-])", " ".join(message.split()))
    fix = next((k for k, text in enumerate(further) if re.match(_REMEDY, text)), len(further))
    lines = ["; ".join([what, *further[:fix]]), *([f"  fix: {'; '.join(further[fix:])}"] if further[fix:] else [])]
    wrapper = textwrap.TextWrapper(_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    shown = list[str]()
    for line in lines:  # a command, which is copied, is not parted
        words, *command = re.split(_COMMAND, line, maxsplit=1) if len(line) > _WIDTH else [line]
        shown += [*wrapper.wrap(words), *(f"  {text}" for text in command)]
    if len(shown) > 1 and shown[0].endswith(" error:"):  # before a word that is longer than a line
        shown[:2] = [f"{shown[0]} {shown[1].strip()}"]
    return shown


def counted(number: int, noun: str) -> str:
    """A number of things, such as ``1 step`` and ``4,032 samples``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def key_first(error: Exception) -> str:
    """The message of a failed `msgspec` conversion with its key before it, not behind."""
    text = str(error)
    place = _KEY_PATH.search(text)
    message = text[: place.start()] if place else text
    message = message[0].lower() + message[1:]
    return f"{place[1]}: {message}" if place and place[1] else message


class UnknownNameError(OptionError):
    """A name that nothing is registered under."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = _nearest(name, known) or next((word for word in MEANT.get(name, ()) if word in known), None)
        hint = "choose from" if near is None else f"did you mean {near!r}? Choose from"
        super().__init__(f"unknown {what} {name!r}: {hint} {listing(known)}")
        self.name = name
