"""What a user can do wrong, said in one line each.

Everything here derives from `PerfError`; the program prints such an error without a traceback and exits with
status 2. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = [
    "DataError",
    "InputError",
    "MissingDependencyError",
    "ModelFileError",
    "OptionError",
    "PerfError",
    "PluginError",
    "UnknownNameError",
    "key_first",
    "listing",
]

_KEY_PATH = re.compile(r" - at `\$\.?(?:\[\.\.\.\])?(.*)`$")  # at the end of what msgspec says


class PerfError(Exception):
    """Base of all errors whose cause is the input, an option or the installation."""


class InputError(PerfError):
    """A file that cannot be used.

    Parameters
    ----------
    path : str
        The file as the user named it.
    problem : str
        What was wrong, with the value met, and what to do.
    line : int, optional
        Line of the text, counted from 1; for binary tables the row.

    Examples
    --------
    >>> print(InputError("qr.prv", "state record has 6 fields, expected 8", line=1204))
    qr.prv:1204: state record has 6 fields, expected 8
    """

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


# Of the letters of both names, in their order: a slip in each third letter. With a half, 'linear' suggests 'interval'.
_NEAR = 0.65
_SHORT, _NEAR_SHORT = 3, 0.5  # one letter of two or three, where the lengths are about the same
_BEGINNING = 3  # letters after which a name that was cut short is told from others


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name that this one was meant to be, or None where none is near; case does not count.

    Examples
    --------
    >>> _nearest("Worly", ["lca", "worley"]), _nearest("hist", ["histogram", "list"]), _nearest("linear", ["interval"])
    ('worley', 'histogram', None)
    """
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


def listing(names: Iterable[str], most: int = 20) -> str:
    """Names in a line that stays readable when there are hundreds.

    Examples
    --------
    >>> listing(["a", "b", "c"], most=2)
    'a, b, ... (3 in all)'
    """
    names = list(names)
    text = ", ".join(names[:most]) or "none"
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"


def key_first(error: Exception) -> str:
    """The message of a failed `msgspec` conversion with its key before it, not behind.

    Examples
    --------
    >>> key_first(ValueError("Expected `str`, got `int` - at `$.unit`"))
    'unit: expected `str`, got `int`'
    """
    text = str(error)
    place = _KEY_PATH.search(text)
    message = text[: place.start()] if place else text
    message = message[0].lower() + message[1:]
    return f"{place[1]}: {message}" if place and place[1] else message


class UnknownNameError(OptionError):
    """A name that nothing is registered under.

    Parameters
    ----------
    what : str
        Kind of thing, in the singular ("fitter", "option of worley").
    name : str
        The name met.
    known : iterable of str
        All accepted names; the nearest is suggested if it is near.

    Examples
    --------
    >>> print(UnknownNameError("fitter", "worly", ["worley", "lca"]))
    unknown fitter 'worly': did you mean 'worley'? Known: lca, worley
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = _nearest(name, known)
        hint = "" if near is None else f"did you mean {near!r}? "
        super().__init__(f"unknown {what} {name!r}: {hint}Known: {listing(known)}")
        self.name = name
