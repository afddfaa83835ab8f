"""Times to whole nanoseconds, exactly: as SQL over a column, and for one text."""

from __future__ import annotations

import decimal

from perfcore.base.errors import InputError
from perfcore.data.units import nanoseconds_per

_INT64 = 1 << 63
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
        return f"TRY_CAST(round({column} * {factor}) AS BIGINT)"
    if kind == "integer":
        largest = (_INT64 - 1) // factor
        return f"CASE WHEN {column} BETWEEN {-largest} AND {largest} THEN CAST({column} AS BIGINT) * {factor} END"
    digits = len(str(factor)) - 1
    # 19 digits before the point hold any int64, and the product stays within the 38 digits that there are.
    long = f"TRY_CAST({column} AS DECIMAL({19 + digits}, {digits})) * {factor}::DECIMAL({digits + 1}, 0)"
    # Such decimals take 128 bits and five times as long, so float64 goes first, where it cannot round wrongly: below
    # 2^49 ns (six days) its three roundings are off by less than 0.2 ns, which decides what is as near to whole.
    quick = f"(TRY_CAST({column} AS DOUBLE) * {factor})"
    safe = f"abs({quick}) < {1 << 49} AND abs({quick} - round({quick})) < 0.2"
    return f"CASE WHEN {safe} THEN CAST(round({quick}) AS BIGINT) ELSE TRY_CAST({long} AS BIGINT) END"


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
