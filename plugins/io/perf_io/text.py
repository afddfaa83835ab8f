"""Text and JSON as readers take them; NaN and infinities, which JSON does not have, are read as null."""

from __future__ import annotations

import csv
import decimal
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.units import nanoseconds_per
from perfcore.reading.source import Source

# Everything up to such a word, strings whole; a word that more text may follow is not one yet.
_NON_FINITE = re.compile(
    rb'((?:"(?:[^"\\]++|\\.)*+"|null|[^"nNiI+-]++|[+-](?![nNiI]))*+)'
    rb"[+-]?(?:nan(?:\([a-z0-9]*\))?|inf(?:inity)?)(?=\s*[,\]}])",
    re.IGNORECASE | re.DOTALL,
)
_PLACE = re.compile(r" \(byte (\d+)\)$")
_AROUND = 24  # bytes shown before and behind a mistake
T = TypeVar("T")
# A thousand benchmarks of a thousand repetitions take 30 MB, a day of 128 processors 3 MB. What is larger by far is no
# such document, or a small file that decompresses to fill the memory.
LARGEST_DOCUMENT = 256 << 20
_STEP = 1 << 20  # bytes that are read at once
_INT64 = 1 << 63
# Decimal's own digits are enough for any time that fits int64 nanoseconds; the rest is rounded once, half up.
_CONTEXT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line, without its end."""
    for number, raw in source.lines():
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(source.name, f"is not UTF-8 text: {error.reason}", line=number) from None


def whole_lines(source: Source, label: str) -> Iterator[tuple[bytes, int]]:
    """Yield texts, and how much of each are whole lines; the rest, which may be long, begins the next text."""
    rest = b""
    with source.open() as stream, progress.bar(label) as advance:
        while chunk := stream.read(max(_STEP, len(rest))):
            advance(len(chunk))
            text = rest + chunk
            end = text.rfind(b"\n") + 1
            yield text, end
            rest = text[end:]
    if rest:  # the last line need not have an end
        yield rest + b"\n", len(rest) + 1


def line_of_record(path: Path, is_record: Callable[[str], bool], index: int) -> tuple[int, str]:
    """Return the number (from 1) and the text of the ``index``-th line (from 0) that is a record."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        numbered = ((number, line.rstrip("\n")) for number, line in enumerate(lines, start=1))
        records = (each for each in numbered if is_record(each[1]))
        return next(itertools.islice(records, index, None), (0, ""))


def csv_fields(text: str, source: str, line: int, delimiter: str = ",", *, skips_blanks: bool = False) -> list[str]:
    """Return the fields of a line of a table."""
    try:
        return next(csv.reader([text], delimiter=delimiter, skipinitialspace=skips_blanks), [])
    except csv.Error as error:
        raise InputError(source, str(error), line=line) from None


def decode_document(source: Source, shape: type[T], description: str, largest: int = LARGEST_DOCUMENT) -> T:
    """Decode the whole input as one document."""
    with source.open() as stream:  # counted first, so that what is too large is never held
        size = 0
        while size <= largest and (piece := stream.read(_STEP)):
            size += len(piece)
    if size > largest:
        raise InputError(source.name, f"is larger than {largest >> 20} MiB, the limit of {description}")
    with source.open() as stream:
        content = stream.read()
    return decode_content(content, shape, description, source.name)


def decode_content(content: bytes, shape: type[T], description: str, name: str) -> T:
    """Decode a document that is in memory; ``name`` is that of its file, for messages."""
    try:
        document: T = decode_json(content, shape)
        return document
    except msgspec.DecodeError as error:
        problem, line = json_problem(content, error)
        raise InputError(name, f"is not {description}: {problem}", line=line) from None
    except UnicodeDecodeError as error:
        raise InputError(name, f"is not {description}: no UTF-8, {error.reason}") from None
    except RecursionError:
        raise InputError(name, f"is not {description}: it is nested too deeply", line=1) from None


def parse_ns(text: str, time_unit: str, source: str, line: int) -> int:
    """Return whole nanoseconds of a decimal text."""
    try:
        number = _CONTEXT.multiply(_CONTEXT.create_decimal(text), nanoseconds_per(time_unit))
        if number.is_finite() and abs(number) < _INT64 - 1:
            return int(number.to_integral_value(decimal.ROUND_HALF_UP))
    except (decimal.InvalidOperation, decimal.Overflow):
        pass
    raise InputError(source, f"time {text[:40]!r} is not a finite number within 64 bits of nanoseconds", line=line)


def null_non_finite(text: bytes) -> bytes:
    """Put null for each NaN, inf and Infinity outside of strings."""
    pieces, at = [], 0
    while match := _NON_FINITE.match(text, at):  # anchored: what is no JSON ends it, instead of a search from each byte
        pieces += [match[1], b"null"]
        at = match.end()
    return b"".join([*pieces, text[at:]])


def decode_json(content: bytes, shape: Any = Any) -> Any:
    """Decode a document, with NaN and infinities as null; raise what `msgspec.json.decode` raises."""
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError:
        raise
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    except msgspec.DecodeError:
        repaired = null_non_finite(content)
        if repaired == content:
            raise
    return msgspec.json.decode(repaired, type=shape)


def json_problem(content: bytes, error: Exception) -> tuple[str, int | None]:
    """Return what is wrong with a document, with the text around the place and its line where it is no JSON."""
    message = str(error)
    if isinstance(error, msgspec.ValidationError):
        return message, None
    place = _PLACE.search(message)
    at = int(place[1]) if place else len(content)
    around = content[max(0, at - _AROUND) : at + _AROUND].decode(errors="replace")
    problem = message[: place.start()] if place else message
    problem = f"{problem.removeprefix('JSON is malformed: ')} at {' '.join(around.split())!r}"
    return problem, content.count(b"\n", 0, at) + 1
