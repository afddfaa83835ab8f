"""A JSON document of a known shape; what is wrong with it is said with its place."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from perfcore.errors import InputError
from perfcore.source import Source

__all__ = ["decode_document"]

T = TypeVar("T")


def decode_document(source: Source, shape: type[T], what: str) -> T:
    """Decode the whole input as one document.

    Parameters
    ----------
    source : Source
    shape : type
        What the document must be, as `msgspec` understands types; fields that it does not name are passed over.
    what : str
        What was expected, for messages, such as ``"the output of mpstat -o JSON"``.

    Raises
    ------
    InputError
        Not JSON, with the line; of another shape, with the path to the place; or nested too deeply.
    """
    with source.open() as stream:
        content = stream.read()
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as error:
        raise InputError(source.name, f"is not {what}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(source.name, f"is not {what}: {error}", line=_line(content, str(error))) from None
    except RecursionError:
        raise InputError(source.name, f"is not {what}: it is nested too deeply", line=1) from None


def _line(content: bytes, message: str) -> int:
    """The line of the byte that a message of msgspec names; the last one where the document ends too early."""
    _, _, place = message.rpartition("(byte ")
    end = int(place.rstrip(")")) if place.rstrip(")").isdecimal() else len(content)
    return content.count(b"\n", 0, end) + 1
