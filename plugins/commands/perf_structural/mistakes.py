"""Mistakes in a structural model are said with the file and the key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from perfcore.base.errors import PerfError

__all__ = ["StructuralModelError", "key_first", "located"]

_PATH = re.compile(r" - at `\$\.?(?:\[\.\.\.\])?(.*)`$")


class StructuralModelError(PerfError):
    """A structural model that cannot be read or evaluated; one line with the file, the key and what is accepted."""


@contextmanager
def located(source: str, key: str) -> Iterator[None]:
    """Put the file and the key before the message of an error, once.

    Examples
    --------
    >>> with located("sor.toml", "inputs.load"):
    ...     raise PerfError("the list is empty")
    Traceback (most recent call last):
        ...
    perf_structural.mistakes.StructuralModelError: sor.toml: inputs.load: the list is empty
    """
    try:
        yield
    except StructuralModelError:
        raise
    except PerfError as error:
        raise StructuralModelError(f"{source}: {key}: {error}") from None


def key_first(error: msgspec.ValidationError) -> str:
    """The message of a failed conversion with its key before it, not behind.

    Examples
    --------
    >>> key_first(msgspec.ValidationError("Expected `str`, got `int` - at `$.unit`"))
    'unit: expected `str`, got `int`'
    """
    text = str(error)
    found = _PATH.search(text)
    message = text[: found.start()] if found else text
    message = message[0].lower() + message[1:]
    return f"{found[1]}: {message}" if found and found[1] else message
