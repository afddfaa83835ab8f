"""What the readers of results share in reading: documents of bounded size, and lines of bounded length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from perf_io.json_document import decode_document
from perfcore.errors import InputError
from perfcore.source import Source

__all__ = ["read_document", "text_lines"]

T = TypeVar("T")

# Results are small: a thousand benchmarks of a thousand repetitions take 30 MB. What is larger by far is no result,
# or a small file that decompresses to fill the memory.
_LARGEST_DOCUMENT = 256 << 20
_LONGEST_LINE = 1 << 20
_STEP = 1 << 20


def read_document(source: Source, shape: type[T], what: str) -> T:
    """Decode the input as one JSON document; arguments as for `decode_document`.

    Raises
    ------
    InputError
        Not JSON, of another shape, nested too deeply, or larger than 256 MiB when decompressed.
    """
    with source.open() as stream:
        size = 0
        while size <= _LARGEST_DOCUMENT and (piece := stream.read(_STEP)):
            size += len(piece)
    if size > _LARGEST_DOCUMENT:
        raise InputError(source.name, f"is larger than {_LARGEST_DOCUMENT >> 20} MiB, which {what} never is")
    return decode_document(source, shape, what)


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line, without its end.

    Raises
    ------
    InputError
        A line is longer than 1 MiB, or not UTF-8.
    """
    with source.open() as stream:
        number = 0
        while raw := stream.readline(_LONGEST_LINE + 1):
            number += 1
            if len(raw) > _LONGEST_LINE:
                raise InputError(source.name, "the line is longer than 1 MiB; this is no text of results", line=number)
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(source.name, f"is not UTF-8 text: {error.reason}", line=number) from None
