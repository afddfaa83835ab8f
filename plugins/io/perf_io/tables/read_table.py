"""A table that becomes data: what CSV and Parquet have in common once their columns are known."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from perf_io.options import TableOptions
from perf_io.tables.columns import DATES, SYNONYMS, Roles, assign_roles, split_name, unit_of_times
from perf_io.tables.duck import ENTER, FIRST_ROWS, LEAVE, Column, Table, decimal_hint, one_line, quoted, quoted_name
from perf_io.tables.measurement_table import read_measurements
from perfcore.base.errors import InputError, listing
from perfcore.data.columns import is_processors
from perfcore.data.measurements import Measurements
from perfcore.data.selection import is_mark, is_number
from perfcore.data.units import EXACT_NS, LABELS, NANOSECONDS, KnownUnit, unit_in_name, unit_of_text

if TYPE_CHECKING:
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace

_DEFAULT = "us"
# From 2010 to 2035, and within a month: a clock that counts microseconds from the start of a machine is there for
# some minutes once. Chrome and Perfetto call such times `ts`, so these are never taken for dates.
# Longer ones are dates if they are whole minutes apart.
_FIRST_S, _LAST_S, _LONGEST_S, _MINUTE_S = 1.26e9, 2.05e9, 31 * 86400.0, 60
_LONGEST_FRACTIONAL_S = 1000.0  # of times in fractions; those in microseconds are whole, or many
_OF_TRACERS = frozenset({"ts"})
_ALL, _ENTERED = "all", "running"  # what a location and a state are called where no column names them
_SAMPLE_ROWS = 200
_MOST_UNITS = 20
# What RE2, the expressions of DuckDB, and Python's take alike.
_PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = rf"(?:[+-]?[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]*)?|{_PLAIN})"
_UNIT = r"[^\s0-9.,+-][^0-9,]*?"
_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?\s*")
_SURELY_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]*|(?:,[0-9]{3}){2,})\s*")
_CLOCK = r"(?:(?:([0-9]+)-)?([0-9]+):)?([0-9]+):([0-5][0-9](?:\.[0-9]*)?)"  # days-hours:minutes:seconds
_TWO_NUMBERS = re.compile(r"\s*[0-9]+:[0-9]+\s*")
# As bash's time writes, 2m3.5s, and people: 3 min 21 s, 1 hour 5 min.
_HOURS = r"(?:([0-9]+) ?h(?:r|ours?)? ?)?(?:([0-9]+) ?m(?:in)? ?)?(?:([0-9]+(?:\.[0-9]*)?) ?s(?:ec)?)?"
# 4 GPUs, 2 nodes (80 cores); threads_4, np=2, but not gpu2, which is one of them.
_COUNTED = r"\s*(?:([0-9]+)[ x-]{0,3}([A-Za-z]+)|([Nn][Pp]|[A-Za-z]+s)[ _=:-]{0,3}([0-9]+))\s*(?:\(.*\))?\s*"
_ABOUT = " ~\N{ALMOST EQUAL TO}"
_FORMAT_OF_CLOCK = re.compile(r"\s*[(\[](?:d+-)?h+:m+:s+[)\]]$", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"\s*({_NUMBER})(\s*)({_UNIT})\s*")
_MAGNITUDE = re.compile(rf"\s*({_PLAIN})\s*([kKMGT])\s*")
_WORD = r"[A-Za-zµμ/]*"
_SPREAD = rf"\s*'?({_PLAIN})\s*({_WORD})\s*(?:±|\+/?-)\s*({_PLAIN})\s*({_WORD})(%)?'?\s*"  # 8.1 ± 0.2 s, or ± 2%
_WITH_SD = re.compile(r"\s*(?:±|\+/?-).*$")  # in a name: Mean ± SD
_FACTOR = rf"\s*({_PLAIN})\s*" "[x\N{MULTIPLICATION SIGN}]" r"\s*"  # 3.7x
_FRACTION = r"\s*([0-9]+)\s*/\s*([0-9]+)\s*"  # of a node
_LABEL = re.compile(r".*[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*")
_MOMENTS = frozenset().union(*(SYNONYMS[role] for role in ("time", "start", "end"))) - {"time"}
_SECOND = KnownUnit("time", "s", 1.0)
_STATE = "running"  # of intervals without a state
_THREADS = frozenset(("thread", "thread_id", "tid"))  # of which each executes one call within another
_TRACE_FACTS = ("locations", "states", "busy_states", "span_ns")


def with_unit(table: Table, roles: Roles, chosen_unit: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the unit of a table's times, and what to say about it."""
    times = [column for column in (roles.start, roles.end) if column is not None]
    if chosen_unit is not None or not times:
        return chosen_unit or "s", ()
    if any(column.kind == "timestamp" for column in times):
        return "s", (DATES,)
    if not roles.time_unit:
        since, unit = _since_1970(table, times[0])
        taken = f"{one_line(times[0].name)} has no unit: its times are taken in {unit}"
        if since is not None:
            moment = datetime.datetime.fromtimestamp(since, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
            taken += f" since 1970, as they begin at {moment} UTC"
        others = "|".join(other for other in NANOSECONDS if other != unit)
        return unit, (f"{taken}; if not: -r time_unit={others}",)
    if roles.duration is not None and times and not any(split_name(column.name).unit for column in times):
        name, of = one_line(times[0].name), one_line(roles.duration.name)
        return roles.time_unit, (f"{name} has no unit: its times are taken in {roles.time_unit}, as {of} is",)
    return roles.time_unit, ()


def _since_1970(table: Table, column: Column) -> tuple[float | None, str]:
    """Return the first time in seconds if all are times since 1970 in some unit, and that unit, else the usual one."""
    if column.name.strip().lower() in _OF_TRACERS:
        return None, _DEFAULT
    number = f"TRY_CAST({table.number(column)} AS DOUBLE)"
    rows = f"SELECT {number} AS t FROM {table.relation} LIMIT {FIRST_ROWS}"
    whole = f"SELECT bool_and((t - (SELECT min(t) FROM ({rows}))) % {_MINUTE_S} = 0) FROM ({rows})"
    seen = f"SELECT min(t), max(t), ({whole}), bool_or(t % 1 <> 0) FROM ({rows})"
    first, last, in_minutes, has_fractions = table.database.rows(seen)[0]
    for unit, ns in NANOSECONDS.items():
        factor = ns / 1e9
        if first is not None and _FIRST_S <= first * factor <= last * factor <= _LAST_S:
            is_short = (last - first) * factor <= _LONGEST_S or (unit == "s" and in_minutes)
            return (first * factor, unit) if is_short else (None, _DEFAULT)
    return None, "s" if has_fractions and last - first <= _LONGEST_FRACTIONAL_S else _DEFAULT


def read_event_table(table: Table, roles: Roles) -> Trace:
    """Return states between the rows that enter and leave them."""
    from perf_io.tables.state_table import counted_from
    from perf_io.traces.intervals import NestedStates

    assert roles.start is not None
    assert roles.change is not None
    location_sql = " || '/' || ".join(_text(column) for column in roles.location) or f"'{_ALL}'"
    state_sql = f"'{_ENTERED}'" if roles.state is None else _text(roles.state)
    time_sql = table.ns(roles.start, roles.time_unit)
    ((first,),) = table.database.rows(f"SELECT coalesce(min({time_sql}), 0) FROM {table.relation}")
    first = first if abs(first) > EXACT_NS else 0
    columns = f"{time_sql} - {first}, {_text(roles.change)}, {location_sql}, {state_sql}"
    rows = table.database.rows(f"SELECT {columns} FROM {table.relation}")
    states, locations, names = NestedStates(table.source), dict[str, int](), dict[str, int]()
    open_states: dict[str, list[str]] = {}
    others = 0
    for row, (time, change, location, name) in enumerate(rows):
        kind = (change or "").lower()
        if kind not in ENTER | LEAVE:
            others += 1
            continue
        try:
            if time is None or not location or not name:
                text = table.at_row(row)[1].get(roles.start.name, "")
                hint = decimal_hint(text, table.decimal)
                raise InputError(table.source, f"a time, a location and a state are expected{hint}", line=row)
            inner = open_states.setdefault(location, [])
            place = locations.setdefault(location, len(locations))
            if kind in ENTER:
                inner.append(name)
                states.push(place, names.setdefault(name, len(names)), time, row)
            elif inner and inner.pop() == name:
                states.pop(place, time, row)
            else:
                problem = f"{location!r} leaves {name[:60]!r}, which is not its innermost"
                raise InputError(table.source, problem, line=row)
        except InputError as error:
            raise InputError(table.source, error.problem, line=table.at_row(row)[0]) from None
    states.finish()
    notes = [
        *roles.notes,
        *([counted_from(first)] if first else []),
        *([f"{others} rows passed over that neither enter nor leave a state"] if others else []),
        *([] if roles.location else ["no column names a location: all events are those of one"]),
        *([] if roles.state else ["no column names a state: what is entered is computing"]),
    ]
    facts = {"epoch_ns": first} if first else {}
    return states.trace(list(locations), list(names), time_unit=roles.time_unit, facts=facts, notes=notes)


def _text(column: Column) -> str:
    return f"trim(CAST({quoted_name(column.name)} AS VARCHAR))"


class _Notation(NamedTuple):
    """SQL for a column's cells as plain numbers, NULL or empty where a cell is none, and the unit of these."""

    sql: str
    label: str | None
    note: str = ""
    name: str = ""  # of the column, if its cells say it better


def with_spreads(table: Table) -> Table:
    """Return the table with a column of standard deviations beside each whose cells hold one: ``8.1 ± 0.2 s``."""
    parts, columns, replaced = [], [], []
    for name, cells in _first_texts(table).items():
        alone = [text for text in cells if re.fullmatch(_SPREAD, text) is None]
        if len(alone) == len(cells) or (2 * len(alone) >= len(cells) and not all(map(is_number, alone))):
            continue
        cell, pattern = _swapped(f"CAST({quoted_name(name)} AS VARCHAR)", table.decimal), quoted(f"^{_SPREAD}$")
        group = [f"nullif(regexp_extract({cell}, {pattern}, {k}), '')" for k in range(6)]
        share = f"CAST(TRY_CAST({group[1]} AS DOUBLE) * TRY_CAST({group[3]} AS DOUBLE) / 100 AS VARCHAR)"
        group[3] = f"CASE WHEN {group[5]} IS NULL THEN {group[3]} ELSE {share} END"
        unit = f"coalesce({group[4]}, {group[2]}, '')"
        mean = _WITH_SD.sub("", name) or name
        mean = name if mean in table.types else mean
        for number, column, other in ((group[1], mean, quoted_name(name)), (group[3], f"{mean} std", "NULL")):
            plain = _swapped(f"trim({number} || ' ' || {unit})", table.decimal)
            parts.append(f"coalesce({plain}, {other}) AS {quoted_name(column)}")
        columns += [Column(mean, "number"), Column(f"{mean} std", "number")]
        replaced.append(name)
    if not columns:
        return table
    changed = {column.name: column for column in columns}
    others = [column for column in table.columns if column.name not in replaced]
    kept = [quoted_name(column.name) for column in others]
    return replace(
        table,
        relation=f"(SELECT {', '.join([*kept, *parts])} FROM {table.relation})",
        columns=(*others, *columns),
        types={**table.types, **dict.fromkeys(changed, "text")},
        notes=(*table.notes, f"what stands behind ± in {listing(list(changed)[::2])} is taken as a standard deviation"),
    )


def parse_numeric_cells(table: Table, kilo: str = "auto") -> Table:
    """Return the table with plain numbers where cells are numbers with units, or in groups of digits."""
    texts_of = _first_texts(table)
    originals, parts, columns, notes = {}, [], [], list(table.notes)
    for column in table.columns:
        cell = f"CAST({quoted_name(column.name)} AS VARCHAR)"
        notation = _notation(table, column, _swapped(cell, table.decimal), texts_of.get(column.name, ()), kilo)
        name = column.name
        if name == "t/s" and all(other.kind == "number" for other in table.columns):  # else tokens, of a model
            name, notation = "t [s]", notation or _Notation(cell, None)
        if notation is not None and notation.name:
            name = notation.name
        elif notation is not None and notation.label is not None and unit_in_name(name) is None:
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
        notes += [notation.note] if notation.note else []
    if not originals:
        return table

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, texts = table.at_row(row)
        return line, {**texts, **{name: texts.get(original, "") for name, original in originals.items()}}

    return replace(
        table, relation=f"(SELECT {', '.join(parts)} FROM {table.relation})", columns=tuple(columns),
        types={**table.types, **dict.fromkeys(originals, "text")}, at_row=at_row, notes=tuple(notes),
    )  # fmt: skip


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


def _notation(table: Table, column: Column, cell: str, texts: Sequence[str], kilo: str) -> _Notation | None:
    """Return how the cells of a column are written, where some are in groups of digits, or most have a unit."""
    if any(text.lstrip(_ABOUT) != text.lstrip() for text in texts):
        bare = [text.lstrip(_ABOUT) for text in texts]
        cell = f"ltrim({cell}, {quoted(_ABOUT)})"
        return _notation(table, column, cell, bare, kilo) or (
            _Notation(cell, None) if all(map(is_number, bare)) else None
        )
    others = [text for text in texts if not is_number(text) and not is_mark(text)]
    if not others or (all(map(_TWO_NUMBERS.fullmatch, others)) and split_name(column.name).bare in _MOMENTS):
        return None
    if all(_GROUPED.fullmatch(text) for text in others) and any(_SURELY_GROUPED.fullmatch(text) for text in others):
        pattern = quoted(rf"^\s*{_GROUPED.pattern}\s*$")
        return _Notation(f"CASE WHEN regexp_matches({cell}, {pattern}) THEN replace({cell}, ',', '') END", None)
    if all(map(_MAGNITUDE.fullmatch, others)) and any(text.strip()[-1] in "kKMG" for text in others):
        return _magnitudes(column, cell, others, texts, kilo)
    if is_processors(column.name) and all(re.fullmatch(_FRACTION, text) for text in others):
        sides = (f"TRY_CAST(regexp_extract({cell}, {quoted(f'^{_FRACTION}$')}, {k}) AS DOUBLE)" for k in (1, 2))
        return _Notation(f"CAST({' / '.join(sides)} AS VARCHAR)", None)
    if 2 * len(others) <= len(texts):
        return None
    counts = [match for text in others if (match := re.fullmatch(_COUNTED, text))]
    named = [match[2] or match[3] for match in counts]
    words = {word.lower().removesuffix("s").removesuffix("e") for word in named}
    # One may be a serial run, which is refused with its line.
    if len(counts) >= max(len(others) - 1, 2) and len(words) == 1 and is_processors(max(named)):
        groups = (f"nullif(regexp_extract({cell}, {quoted(f'^{_COUNTED}$')}, {k}), '')" for k in (1, 4))
        return _Notation(f"coalesce({', '.join(groups)})", None, name="" if is_processors(column.name) else max(named))
    if (label := _LABEL.fullmatch(column.name)) is not None and _unit(label[1]) is None:  # W, MHz: as in the name
        pattern = rf"\s*({_PLAIN})\s*{re.escape(label[1])}\s*"
        if all(re.fullmatch(pattern, text) for text in others):
            return _Notation(f"nullif(regexp_extract({cell}, {quoted(f'^{pattern}$')}, 1), '')", None)
    if all(re.fullmatch(_FACTOR, text) for text in others):
        return _Notation(f"nullif(regexp_extract({cell}, {quoted(f'^{_FACTOR}$')}, 1), '')", None)
    for parts, sizes in ((_CLOCK, (86400, 3600, 60, 1)), (_HOURS, (3600, 60, 1))):
        clocks = [re.fullmatch(rf"\s*{parts}\s*", text) for text in others]
        if all(clocks) and any(len(clock.groups()) > clock.groups().count(None) + 1 for clock in clocks if clock):
            pattern = quoted(rf"^\s*{parts}\s*$")
            group = f"TRY_CAST(regexp_extract({cell}, {pattern}, {{}}) AS DOUBLE)"
            terms = (f"coalesce({group.format(k)}, 0) * {size}" for k, size in enumerate(sizes, start=1))
            is_clock = f"trim({cell}) <> '' AND regexp_matches({cell}, {pattern})"
            seconds = f"CASE WHEN {is_clock} THEN CAST({' + '.join(terms)} AS VARCHAR) END"
            is_short = parts == _CLOCK and all(map(_TWO_NUMBERS.fullmatch, others))
            note = f"{one_line(column.name)}: {others[0].strip()} is read as minutes:seconds" if is_short else ""
            return _Notation(seconds, _unit_wanted(table, column, [(others[0], _SECOND)]).label, note)
    matches = [match for text in others if (match := _WITH_UNIT.fullmatch(text)) and _unit(match[3])]
    # 7B is a model's size, 2d a number of dimensions, 64b a number of bits.
    parted = [(m[1], m[3]) for m in matches if m[2] or len(m[3]) > 1 or m[3] in ("%", "s", "h")]
    grouped = any(_SURELY_GROUPED.fullmatch(number) for number, _ in parted)
    if not grouped:  # 12,500 ms may be 12.5
        parted = [(number, spelling) for number, spelling in parted if "," not in number]
    if 2 * len(parted) <= len(others):
        return None
    return _with_units(table, column, cell, [spelling for _, spelling in parted], _NUMBER if grouped else _PLAIN)


def _with_units(table: Table, column: Column, cell: str, spellings: Sequence[str], number_pattern: str) -> _Notation:
    """Return cells with the units of the first, and with others that these can be converted to."""
    pattern = quoted(rf"^\s*{number_pattern}\s*({_UNIT})\s*$")
    units_of_rows = f"SELECT DISTINCT regexp_extract({cell}, {pattern}, 1) AS unit FROM {table.relation}"
    further = table.database.rows(f"{units_of_rows} WHERE {cell} IS NOT NULL ORDER BY unit LIMIT {_MOST_UNITS}")
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
    """Return the unit of a column: that of its name, or else of its first cell."""
    wanted = unit_in_name(column.name) or units[0][1]
    if wanted.label not in {unit.label for _, unit in units}:
        problem = f"its name says {wanted.label!r} and its cells say {units[0][0]!r}; correct one of them"
        raise InputError(table.source, f"column {one_line(column.name)!r}: {problem}")
    return wanted


def _base(unit: KnownUnit | None) -> str:
    """Return what units have in common that can be converted: of MB/min and GB/s bytes over time."""
    return "" if unit is None else "/".join(LABELS.get(part, (part,))[0] for part in unit.label.split("/"))


def _magnitudes(column: Column, cell: str, others: Sequence[str], texts: Sequence[str], kilo: str) -> _Notation:
    """Return cells such as ``4K`` as numbers; of powers of two only, as of message sizes, the powers are of 1024."""
    numbers = [float(match[1]) for text in texts if (match := _MAGNITUDE.fullmatch(text))]
    numbers += [float(text) for text in texts if is_number(text)]
    binary = all(number >= 1.0 and math.log2(number) % 1.0 == 0.0 for number in numbers)
    base = int(kilo) if kilo != "auto" else 1024 if binary else 1000
    powers = " ".join(f"WHEN '{letter}' THEN {base**k}" for k, letter in enumerate("KMGT", start=1))
    pattern = quoted(_MAGNITUDE.pattern)
    number, letter = (f"regexp_extract({cell}, {pattern}, {group})" for group in (1, 2))
    product = f"TRY_CAST({number} AS DOUBLE) * CASE upper({letter}) {powers} END"
    sql = f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN CAST({product} AS VARCHAR) END"
    other = 1000 if base == 1024 else 1024
    note = f"{one_line(column.name)}: {others[0].strip()} is read with K = {base}; if not: -r kilo={other}"
    return _Notation(sql, None, note if kilo == "auto" else "")


def _unit(spelling: str) -> KnownUnit | None:
    unit = unit_of_text(spelling)
    return None if unit is None or unit.kind == "count" else unit


def read_table(table: Table, options: TableOptions) -> Trace | UtilizationCurve | Series | Measurements:
    """Read a table as what its columns, or the options, say it is."""
    table = parse_numeric_cells(with_spreads(table), options.kilo)
    if options.kind in ("auto", "samples") and table.facts.get("kind") in ("curve", "series", "measurements"):
        options = replace(options, kind=table.facts["kind"])
    roles = assign_roles(table.columns, options, table.source, table)
    if roles.kind == "measurements":
        table = replace(table, notes=(*table.notes, *roles.notes))
        if table.facts.get("roles"):
            return read_measurements(table, options)
        varied, values = (tuple(column.name for column in columns) for columns in (roles.varied, roles.values))
        chosen = replace(options, parameters=varied or options.parameters, value=options.value or values)
        measurements = read_measurements(table, chosen)
        given = {"parameters": options.parameters, "value": options.value}
        measurements.assumed = frozenset(role for role, columns in given.items() if not columns)
        return measurements if options.parameters else _without_result(measurements)
    unit, notes = with_unit(table, roles, options.time_unit)
    roles = replace(roles, time_unit=unit, notes=(*roles.notes, *notes))
    if roles.kind == "events":
        return read_event_table(table, roles)
    if roles.kind == "trace":
        return _trace(table, roles, unit, options.overlap)
    from perf_io.tables.samples import read_samples, read_steps  # what other tables need is not imported for all

    return read_samples(table, roles) if roles.end is None else read_steps(table, roles)


def _without_result(data: Measurements) -> Measurements:
    """Return measurements without a parameter whose numbers came out of the runs: uneven, close, and seldom the same
    for two levels of a text, such as the points of the path that each of several planners found.
    """
    table, columns = data.table, list(data.roles.parameters.values())
    are_nodes = [split_name(column).bare for column in columns] == ["nodes"]  # which may be those of a search
    if len(columns) != 1 or table[columns[0]].dtype.kind not in "iuf" or (is_processors(columns[0]) and not are_nodes):
        return data
    levels = table[columns[0]].dropna().unique()
    few_digits = [level % 1.0 == 0.0 and float(f"{level:.2g}") == level for level in levels]
    chosen = sum(few or (are_nodes and level % 4.0 == 0.0) for few, level in zip(few_digits, levels, strict=True))
    farthest = math.inf if are_nodes else 2.0 * levels.min()
    is_uneven = len(levels) > 2 * chosen and 0 < levels.min() <= levels.max() < farthest
    for text in table.columns if is_uneven else ():
        is_text = table[text].dtype.kind not in "iufbM" and 1 < table[text].nunique() <= len(table) / 2
        if is_text and 2 * (table.groupby(columns[0])[text].nunique() > 1).sum() < len(levels):
            kept = data.with_roles(())
            note = f"{columns[0]} differs for each {text}, as results do; if it was varied: --parameter {columns[0]}"
            kept.notes = (*data.notes, note)
            return kept
    return data


def _trace(table: Table, roles: Roles, unit: str, overlap: str) -> Trace:
    from perf_io.tables.state_table import StateTable, read_states

    start, end, duration, location, state = roles.start, roles.end, roles.duration, roles.location, roles.state
    length = "" if duration is None else table.ns(duration, unit_of_times([duration], table.source) or unit)
    start_ns = "" if start is None else table.ns(start, unit)
    end_ns = f"({start_ns}) + ({length})" if end is None else table.ns(end, unit)
    if start is None:  # also where the end is missing, so that this and not the start is what gets reported
        start_ns = f"coalesce({end_ns}, 0) - ({length})"
    sides = {"start": start or duration, "end": end or duration}

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, texts = table.at_row(row)
        fields = {role: texts.get(column.name, "") for role, column in sides.items() if column is not None}
        fields["location"] = "/".join(texts.get(column.name, "") for column in location)
        fields["state"] = _STATE if state is None else texts.get(state.name, "")
        if start is None:
            fields["since"] = f"{fields['end'].strip()} - {fields['start'].strip()}"
        if end is None:
            fields["until"] = f"{fields['start'].strip()} + {fields['end'].strip()}"
        return line, fields

    parts = (f"CAST({quoted_name(column.name)} AS VARCHAR)" for column in location)
    name = " || '/' || ".join(parts) or "''"
    kind = quoted(_STATE) if state is None else f"CAST({quoted_name(state.name)} AS VARCHAR)"
    columns = f"{name} AS location, {kind} AS state, {start_ns} AS start_ns, {end_ns} AS end_ns"
    notes = list(roles.notes)
    is_thread = any(split_name(column.name).bare in _THREADS for column in location)
    if len(location) > 1:
        notes.append(f"a location is {'/'.join(one_line(column.name) for column in location)}")
    if state is None:
        notes.append("no column names a state: each interval is computing")
    states = StateTable(
        database=table.database, query=f"SELECT {columns} FROM {table.relation}", at_row=at_row,
        keeps=table.keeps, time_unit=unit, notes=tuple(notes), decimal=table.decimal,
        cure="; to count each: -r overlap=count, to count the innermost of nested ones: -r overlap=union",
        overlap="count" if not location else "refuse" if overlap == "auto" and not is_thread else overlap,
        columns={} if duration is None else {"start" if start is None else "end": "duration"},
        **{name: table.facts[name] for name in _TRACE_FACTS if table.facts.get(name) is not None},
    )  # fmt: skip
    return read_states(states)
