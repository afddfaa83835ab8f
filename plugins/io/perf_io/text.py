"""Text and JSON as readers take them: numbered lines, documents of a known shape, times as whole nanoseconds."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from perf_tables.json_text import decode_json, json_problem
from perfcore.base.errors import InputError
from perfcore.data.units import nanoseconds_per
from perfcore.reading.source import Source


def numbered_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line, without its end."""
    for number, raw in source.lines():
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(source.name, f"is not UTF-8 text: {error.reason}", line=number) from None


def line_of_record(path: Path, is_record: Callable[[str], bool], index: int) -> tuple[int, str]:
    """The number (from 1) and the text of the ``index``-th line (from 0) that is a record."""
    number, record, text = 0, -1, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            number += 1
            record += is_record(text)
            if record == index:
                break
    return number, text


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


T = TypeVar("T")

# A thousand benchmarks of a thousand repetitions take 30 MB, a day of 128 processors 3 MB. What is larger by far is no
# such document, or a small file that decompresses to fill the memory.
LARGEST_DOCUMENT = 256 << 20
_STEP = 1 << 20


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


_INT64 = 1 << 63
_FARTHEST_NS = 1 << 62  # from 0, so that differences of two times fit into 64 bits
# Decimal's own digits are enough for any time that fits int64 nanoseconds; the rest is rounded once, half up.
_CONTEXT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)


def sql_ns(column: str, kind: str, time_unit: str) -> str:
    """A SQL expression for whole nanoseconds, NULL where a value is no time or does not fit 64 bits."""
    if kind == "text timestamp":
        # Only one type heeds an offset from UTC and only the other keeps nanoseconds, which no offset changes.
        zoned = f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ)) * 1000"
        below_microsecond = f"(epoch_ns(TRY_CAST({column} AS TIMESTAMP_NS)) % 1000 + 1000) % 1000"
        return f"({zoned} + {below_microsecond})"
    if kind == "timestamp":
        return f"epoch_ns({column})"
    factor = nanoseconds_per(time_unit)
    if kind == "float":
        scaled = f"{column} * {factor}"
        return f"CASE WHEN abs({scaled}) < {_FARTHEST_NS} THEN TRY_CAST(round({scaled}) AS BIGINT) END"
    if kind == "integer":
        largest = (_FARTHEST_NS - 1) // factor
        return f"CASE WHEN {column} BETWEEN {-largest} AND {largest} THEN CAST({column} AS BIGINT) * {factor} END"
    digits = len(str(factor)) - 1
    # 19 digits before the point hold any int64, and the product stays within the 38 digits that there are.
    long = f"TRY_CAST({column} AS DECIMAL({19 + digits}, {digits})) * {factor}::DECIMAL({digits + 1}, 0)"
    # Such decimals take 128 bits and five times as long, so float64 goes first, where it cannot round wrongly: below
    # 2^49 ns (six days) its three roundings are off by less than 0.2 ns, which decides what is as near to whole.
    quick = f"(TRY_CAST({column} AS DOUBLE) * {factor})"
    safe = f"abs({quick}) < {1 << 49} AND abs({quick} - round({quick})) < 0.2"
    within = f"WHEN abs({quick}) < {_FARTHEST_NS} THEN TRY_CAST({long} AS BIGINT)"
    return f"CASE WHEN {safe} THEN CAST(round({quick}) AS BIGINT) {within} END"


def sql_decimal(column: str, time_unit: str, largest_ns: int) -> str:
    """A SQL expression that turns whole nanoseconds into an exact decimal of ``time_unit``."""
    digits = len(str(nanoseconds_per(time_unit))) - 1
    if digits == 0:
        return column
    width = 18 if largest_ns < 10**18 else 19
    return f"CAST({column} * 1e-{digits}::DECIMAL({digits + 1}, {digits}) AS DECIMAL({width}, {digits}))"


def parse_ns(text: str, time_unit: str, source: str, line: int) -> int:
    """Whole nanoseconds of a decimal text."""
    try:
        number = _CONTEXT.multiply(_CONTEXT.create_decimal(text), nanoseconds_per(time_unit))
        if number.is_finite() and abs(number) < _INT64 - 1:
            return int(number.to_integral_value(decimal.ROUND_HALF_UP))
    except (decimal.InvalidOperation, decimal.Overflow):
        pass
    raise InputError(source, f"time {text[:40]!r} is not a finite number within 64 bits of nanoseconds", line=line)
