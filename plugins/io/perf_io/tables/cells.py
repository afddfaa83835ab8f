"""Cells that hold a number with its unit, such as ``12.5 ms``, ``99.4%`` or ``1.5 GB/s``, or with digits in groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from perf_io.tables.columns import Column, one_line
from perf_io.tables.duck import quoted, quoted_name
from perf_io.tables.table import Table
from perfcore.base.errors import InputError
from perfcore.data.units import LABELS, KnownUnit, unit_in_name, unit_of_text


_SAMPLE_ROWS = 200
_MOST_UNITS = 20
# What RE2, the expressions of DuckDB, and Python's take alike.
_PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = rf"(?:[+-]?[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]*)?|{_PLAIN})"
_UNIT = r"[^\s0-9.,+-][^0-9,]*?"
_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?\s*")
_SURELY_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]*|(?:,[0-9]{3}){2,})\s*")
_CLOCK = r"(?:([0-9]+)-)?([0-9]+):([0-5][0-9]):([0-5][0-9](?:\.[0-9]*)?)"  # days-hours:minutes:seconds
_MINUTES = r"(?:([0-9]+)h)?([0-9]+)m([0-9]+(?:\.[0-9]*)?)s"  # as bash's time writes
_FORMAT_OF_CLOCK = re.compile(r"\s*[(\[](?:d+-)?h+:m+:s+[)\]]$", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"\s*({_NUMBER})(\s*)({_UNIT})\s*")
_MAGNITUDE = re.compile(rf"\s*{_PLAIN}\s*[kKMGT]\s*")
_MISSING = frozenset(["-", "--", "?", "n/a", "na", "null", "none"])  # in place of a number
_SECOND = KnownUnit("time", "s", 1.0)


class _Notation(NamedTuple):
    """SQL for a column's cells as plain numbers, NULL or empty where a cell is none, and the unit of these."""

    sql: str
    label: str | None


def with_plain_numbers(table: Table) -> Table:
    """The table with plain numbers where cells are numbers with units, or in groups of digits."""
    texts_of = _first_texts(table)
    table = replace(table, columns=tuple(_with_magnitudes(column, texts_of) for column in table.columns))
    originals, parts, columns = {}, [], []
    for column in table.columns:
        cell = f"CAST({quoted_name(column.name)} AS VARCHAR)"
        notation = _notation(table, column, _swapped(cell, table.decimal), texts_of.get(column.name, ()))
        name = column.name
        if notation is not None and notation.label is not None and unit_in_name(name) is None:
            name = f"{_FORMAT_OF_CLOCK.sub('', name)} [{notation.label}]"
        if notation is None or (name != column.name and name in table.types):
            parts.append(quoted_name(column.name))
            columns.append(column)
            continue
        number = _swapped(f"nullif({notation.sql}, '')", table.decimal)
        # A bare number among numbers with units is in none that is known; as no number it is refused with its line.
        other = f"{cell} || ' without a unit'" if notation.label else cell
        parts.append(
            f"CASE WHEN {number} IS NOT NULL THEN {number} "
            f"WHEN TRY_CAST({table.number(column)} AS DOUBLE) <> 0 THEN {other} ELSE {cell} END AS {quoted_name(name)}"
        )
        columns.append(Column(name, "number"))
        originals[name] = column.name
    if not originals:
        return table

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, texts = table.at_row(row)
        return line, {**texts, **{name: texts.get(original, "") for name, original in originals.items()}}

    return replace(
        table,
        relation=f"(SELECT {', '.join(parts)} FROM {table.relation})",
        columns=tuple(columns),
        types={**table.types, **dict.fromkeys(originals, "text")},
        at_row=at_row,
    )


def _first_texts(table: Table) -> Mapping[str, Sequence[str]]:
    """By column the first cells, without empty ones, with a point as decimal sign."""
    names = [column.name for column in table.columns if table.types[column.name] == "text" and column.kind != "other"]
    if not names:
        return {}
    cells = (_swapped(f"CAST({quoted_name(name)} AS VARCHAR)", table.decimal) for name in names)
    rows = table.database.rows(f"SELECT {', '.join(cells)} FROM {table.relation} LIMIT {_SAMPLE_ROWS}")
    return {name: [row[k] for row in rows if row[k] and row[k].strip()] for k, name in enumerate(names)}


def _swapped(text: str, decimal: str) -> str:
    return text if decimal == "." else f"translate({text}, '.,', ',.')"


def _notation(table: Table, column: Column, cell: str, texts: Sequence[str]) -> _Notation | None:
    """How the cells of a column are written, where some are in groups of digits, or most have a unit."""
    others = [text for text in texts if not _is_plain(text) and text.strip().lower() not in _MISSING]
    if not others:
        return None
    if all(_GROUPED.fullmatch(text) for text in others) and any(_SURELY_GROUPED.fullmatch(text) for text in others):
        pattern = quoted(rf"^\s*{_GROUPED.pattern}\s*$")
        return _Notation(f"CASE WHEN regexp_matches({cell}, {pattern}) THEN replace({cell}, ',', '') END", None)
    if 2 * len(others) <= len(texts):
        return None
    for parts, sizes in ((_CLOCK, (86400, 3600, 60, 1)), (_MINUTES, (3600, 60, 1))):
        if all(re.fullmatch(rf"\s*{parts}\s*", text) for text in others):
            pattern = quoted(rf"^\s*{parts}\s*$")
            terms = (
                f"coalesce(TRY_CAST(regexp_extract({cell}, {pattern}, {k}) AS DOUBLE), 0) * {size}"
                for k, size in enumerate(sizes, start=1)
            )
            seconds = f"CASE WHEN regexp_matches({cell}, {pattern}) THEN CAST({' + '.join(terms)} AS VARCHAR) END"
            return _Notation(seconds, _unit_wanted(table, column, [(others[0], _SECOND)]).label)
    parted = [
        (match[1], spelling)
        for text in others
        if (match := _WITH_UNIT.fullmatch(text)) and (spelling := _spelling(match))
    ]
    grouped = any(_SURELY_GROUPED.fullmatch(number) for number, _ in parted)
    if not grouped:  # 12,500 ms may be 12.5
        parted = [(number, spelling) for number, spelling in parted if "," not in number]
    if 2 * len(parted) <= len(others):
        return None
    return _with_units(table, column, cell, [spelling for _, spelling in parted], _NUMBER if grouped else _PLAIN)


def _with_units(table: Table, column: Column, cell: str, spellings: Sequence[str], number_pattern: str) -> _Notation:
    """Cells with the units of the first, and with others that these can be converted to."""
    pattern = quoted(rf"^\s*{number_pattern}\s*({_UNIT})\s*$")
    further = table.database.rows(
        f"SELECT DISTINCT regexp_extract({cell}, {pattern}, 1) AS unit FROM {table.relation} WHERE {cell} IS NOT NULL "
        f"ORDER BY unit LIMIT {_MOST_UNITS}"
    )
    named = {spelling: _unit(spelling) for spelling in dict.fromkeys([*spellings, *(text for (text,) in further)])}
    base = _base(named[spellings[0]])
    units = [(spelling, unit) for spelling, unit in named.items() if unit is not None and _base(unit) == base]
    wanted = _unit_wanted(table, column, units)
    numbers = []
    for spelling, unit in units:
        of_unit = quoted(rf"^\s*({number_pattern})\s*{re.escape(spelling)}\s*$")
        number = f"replace(nullif(regexp_extract({cell}, {of_unit}, 1), ''), ',', '')"
        if unit.label != wanted.label:
            number = f"CAST(TRY_CAST({number} AS DOUBLE) * {unit.factor / wanted.factor!r} AS VARCHAR)"
        numbers.append(number)
    return _Notation(f"coalesce({', '.join(numbers)})", wanted.label)


def _unit_wanted(table: Table, column: Column, units: Sequence[tuple[str, KnownUnit]]) -> KnownUnit:
    """The unit of a column: that of its name, or else of its first cell."""
    wanted = unit_in_name(column.name) or units[0][1]
    if wanted.label not in {unit.label for _, unit in units}:
        problem = f"its name says {wanted.label!r} and its cells say {units[0][0]!r}; correct one of them"
        raise InputError(table.source, f"column {one_line(column.name)!r}: {problem}")
    return wanted


def _base(unit: KnownUnit | None) -> str:
    """What units have in common that can be converted: of MB/min and GB/s bytes over time."""
    return "" if unit is None else "/".join(LABELS.get(part, (part,))[0] for part in unit.label.split("/"))


def _spelling(match: re.Match[str]) -> str | None:
    """The unit of a cell as it is spelt; None where it is none that is known."""
    unit, is_close = _unit(match[3]), not match[2]
    # 7B is a model's size, 2d a number of dimensions, 64b a number of bits.
    if unit is None or (is_close and len(match[3]) == 1 and match[3] not in ("%", "s", "h")):
        return None
    return match[3]


def _with_magnitudes(column: Column, texts_of: Mapping[str, Sequence[str]]) -> Column:
    """The column, as one of numbers where most cells are such as ``3.2k``, so that they are refused with their line."""
    texts = texts_of.get(column.name, ())
    magnitudes = sum(_MAGNITUDE.fullmatch(text) is not None for text in texts)
    return Column(column.name, "number") if column.kind == "text" and 2 * magnitudes > len(texts) else column


def _unit(spelling: str) -> KnownUnit | None:
    unit = unit_of_text(spelling)
    return None if unit is None or unit.kind == "count" else unit


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
