"""A JSON document of a known shape; what is wrong with it is said with its place."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from perfcore.base.errors import InputError
from perfcore.reading.source import Source

T = TypeVar("T")

# A thousand benchmarks of a thousand repetitions take 30 MB, a day of 128 processors 3 MB. What is larger by far is no
# such document, or a small file that decompresses to fill the memory.
LARGEST_DOCUMENT = 256 << 20
_STEP = 1 << 20


def decode_document(source: Source, shape: type[T], description: str) -> T:
    """Decode the whole input as one document."""
    with source.open() as stream:  # counted first, so that what is too large is never held
        size = 0
        while size <= LARGEST_DOCUMENT and (piece := stream.read(_STEP)):
            size += len(piece)
    if size > LARGEST_DOCUMENT:
        raise InputError(source.name, f"is larger than {LARGEST_DOCUMENT >> 20} MiB, which {description} never is")
    with source.open() as stream:
        content = stream.read()
    return decode_content(content, shape, description, source.name)


def decode_content(content: bytes, shape: type[T], description: str, name: str) -> T:
    """Decode a document that is in memory; ``name`` is that of its file, for messages."""
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as error:
        raise InputError(name, f"is not {description}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(name, f"is not {description}: {error}", line=_line(content, str(error))) from None
    except RecursionError:
        raise InputError(name, f"is not {description}: it is nested too deeply", line=1) from None


def _line(content: bytes, message: str) -> int:
    """The line of the byte that a message of msgspec names; the last one where the document ends too early."""
    _, _, place = message.rpartition("(byte ")
    end = int(place.rstrip(")")) if place.rstrip(")").isdecimal() else len(content)
    return content.count(b"\n", 0, end) + 1
