"""Lines of a text, decoded, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore.base.errors import InputError
from perfcore.reading.source import Source


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line, without its end."""
    for number, raw in source.lines():
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(source.name, f"is not UTF-8 text: {error.reason}", line=number) from None
