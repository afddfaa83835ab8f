"""State lines of ``pj_dump``, from a Pajé trace, and the same as a table with a header line (StarVZ).

A line reads ``State, container, type, start, end, duration, depth, value``; a header may give another order. Source:
L. Schnorr, "pajeng", the manual of pj_dump; the header is that of the R package StarVZ.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from perf_io.options import PjDumpOptions
from perf_io.tables.duck import Database, lines_scan, quoted, sql_ns
from perf_io.tables.state_table import BAD_ROW, StateTable, read_states, refuse_overlap
from perf_io.text import line_of_record, parse_ns
from perf_io.traces.intervals import latest_running, pair_events
from perf_io.traces.paje import PajeReader, VariableSamples, choose_state_type
from perf_traces.nesting import mark_nested
from perfcore.base.errors import InputError
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.reading.source import Source

_NATURES = ("State", "Container", "Variable", "Link", "Event")
_CURES = {"Variable": ", which -r kind=variables reads"}
_LINE = re.compile(rf"\s*({'|'.join(_NATURES)}),".encode())
_HEADER_NAMES = {
    "nature": ("nature",), "location": ("resourceid", "container"), "type": ("type",), "start": ("start",),
    "end": ("end",), "depth": ("depth", "imbrication"), "state": ("value",),
}  # fmt: skip
_TRIMMED = ' "\t\r'
_PLAIN = dict(zip(("nature", "location", "type", "start", "end", "depth", "state"), (0, 1, 2, 3, 4, 6, 7), strict=True))


def _first_line(source: Source) -> bytes:
    return source.head.lstrip(b"\xef\xbb\xbf \r\n").split(b"\n", 1)[0]


def _header(source: Source) -> dict[str, int] | None:
    names = [name.strip().strip('"').lower() for name in _first_line(source).decode(errors="replace").split(",")]
    named = ((role, name) for role, options in _HEADER_NAMES.items() for name in options)
    positions = {role: names.index(name) for role, name in named if name in names}
    return positions if _HEADER_NAMES.keys() - {"depth"} <= positions.keys() else None


class PjDumpReader(PajeReader):
    """Read states that ``pj_dump`` printed, one container for each location, or variables if there are no states."""

    Options = PjDumpOptions

    def sniff(self, source: Source) -> float:
        return 0.95 if _LINE.match(_first_line(source)) or _header(source) else 0.0

    def read(self, source: Source, options: PjDumpOptions) -> Trace | Series:  # type: ignore[override]
        with source.plain_file() as path:
            return _read(source.name, path, _header(source), options)


def _read(source: str, path: Path, header: Mapping[str, int] | None, options: PjDumpOptions) -> Trace | Series:
    positions, kind = header or _PLAIN, options.kind
    time_unit = options.time_unit or ("ms" if header else "s")
    nested = options.nested or ("outermost" if header else "innermost")
    database = Database(source)
    lines = lines_scan(database.link(path))
    natures = _store(database, lines, positions, time_unit)
    allowed = set(_NATURES) if positions is _PLAIN else {*_NATURES, "Nature"}
    if unknown := natures.keys() - allowed:
        line, text = line_of_record(path, lambda text: text.strip() != "" and _nature(text, positions) in unknown, 0)
        problem = f"{text[:60]!r} is none of {', '.join(_NATURES)}; the file is damaged or no pj_dump"
        raise InputError(source, problem, line=line)
    has_variables = bool(natures.get("Variable"))
    if has_variables and (kind == "variables" or (kind == "auto" and not natures.get("State"))):
        return _variables(database, path, lines, positions, time_unit)
    if kind == "variables":
        raise InputError(source, f"contains no variables, but {natures.get('State', 0)} state lines")
    n_fields = max(positions.values()) + 1 if positions is _PLAIN else positions["state"] + 1
    short = database.rows(f"SELECT min(rowid) FROM records WHERE n_parts < {n_fields} OR depth IS NULL")[0][0]
    if short is not None:
        line, text = _state_line(path, positions, short)
        problem = f"the state line {text[:60]!r} has fewer than {n_fields} fields or no depth; the file is cut short"
        raise InputError(source, problem, line=line)
    types = [row[0] for row in database.rows("SELECT type FROM records GROUP BY type ORDER BY count(*) DESC, type")]
    chosen = choose_state_type(types, options.state_type, source)
    others = ((name, count) for name, count in natures.items() if name in _NATURES[1:])
    notes = [f"{count} {name.lower()} lines passed over{_CURES.get(name, '')}" for name, count in others]
    notes += [f"states of type {chosen}"] + [f"states of type {name} passed over" for name in types if name != chosen]
    condition = f"type = {quoted(chosen)}"
    n_nested = database.rows(f"SELECT count(*) FROM records WHERE {condition} AND depth > 0")[0][0]
    if n_nested and nested == "outermost":
        condition += " AND depth = 0"
        notes.append(f"{n_nested} nested states passed over; nested=innermost gives them their time")

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        record = database.rows(f"SELECT rowid FROM records WHERE {condition} ORDER BY rowid LIMIT 1 OFFSET {row}")[0][0]
        line, text = _state_line(path, positions, record)
        parts = [part.strip(_TRIMMED) for part in text.split(",")]
        return line, {role: parts[position] for role, position in positions.items()}

    query = f"SELECT location, state, start_ns, end_ns FROM records WHERE {condition}"
    table = StateTable(database, query, at_row, keeps=True, time_unit=time_unit, notes=tuple(notes))
    if not n_nested or nested != "innermost":
        return read_states(table)
    trace = read_states(_flattened(table, condition))
    mark_nested(trace)
    return trace


def _variables(database: Database, path: Path, lines: str, positions: Mapping[str, int], time_unit: str) -> Series:
    """Return the variables, each of whose lines gives a value from its start on."""
    order = _PLAIN | {"state": _PLAIN["depth"]} if positions is _PLAIN else positions  # they have no depth
    fields = {role: f"trim(parts[{position + 1}], ' \"\t\r')" for role, position in order.items()}
    rows = database.rows(
        f"SELECT {fields['location']}, {fields['type']}, {fields['start']}, {fields['state']} "
        f"FROM (SELECT string_split(line, ',') AS parts FROM {lines} WHERE contains(line, 'Variable')) "
        f"WHERE {fields['nature']} = 'Variable'"
    )
    samples = VariableSamples()
    for number, (container, of_type, start, value) in enumerate(rows):
        try:
            time = parse_ns(start or "", time_unit, database.source, number)
            samples.change(container or "", of_type or "", "SetVariable", value or "", time, number, database.source)
        except InputError as error:
            line, _ = line_of_record(path, lambda text: _nature(text, order) == "Variable", number)
            raise InputError(database.source, error.problem, line=line) from None
    return samples.series(time_unit, database.source, ())


def _store(database: Database, lines: str, positions: Mapping[str, int], time_unit: str) -> dict[str | None, int]:
    """Make the table ``records`` of all state lines; count the lines of each nature."""
    fields = {role: f"trim(parts[{position + 1}], ' \"\t\r')" for role, position in positions.items()}
    depth = f"TRY_CAST(TRY_CAST({fields['depth']} AS DOUBLE) AS BIGINT)" if "depth" in fields else "0"
    database.run(
        f"CREATE TABLE records AS SELECT nullif({fields['location']}, '') AS location, "
        f"nullif({fields['state']}, '') AS state, {fields['type']} AS type, {depth} AS depth, "
        f"{sql_ns(fields['start'], 'text', time_unit)} AS start_ns, "
        f"{sql_ns(fields['end'], 'text', time_unit)} AS end_ns, len(parts) AS n_parts "
        f"FROM (SELECT string_split(line, ',') AS parts FROM {lines} WHERE contains(line, 'State')) "
        f"WHERE {fields['nature']} = 'State'"
    )
    parts = f"SELECT string_split(line, ',') AS parts FROM {lines} WHERE trim(line) <> ''"
    counts = f"SELECT {fields['nature']} AS nature, count(*) FROM ({parts}) GROUP BY nature ORDER BY nature"
    return dict(database.rows(counts))


def _state_line(path: Path, positions: Mapping[str, int], record: int) -> tuple[int, str]:
    return line_of_record(path, lambda text: _nature(text, positions) == "State", record)


def _flattened(table: StateTable, condition: str) -> StateTable:
    """Return the same with the time of nested states given to the innermost."""
    database = table.database
    if database.rows(f"SELECT count(*) FROM records WHERE {condition} AND ({BAD_ROW})")[0][0]:
        return table  # and be refused with its line
    columns = database.columns(
        "SELECT CAST(dense_rank() OVER (ORDER BY location) AS BIGINT) AS place, start_ns, end_ns, depth, rowid AS row "
        f"FROM records WHERE {condition} ORDER BY row"
    )
    place, start, end, depth, record = columns.values()
    rows = np.lexsort((depth, start, place))
    rows = rows[end[rows] > start[rows]]
    # As a stack takes them: at one time first the ends, the deepest before the others.
    events, times = np.append(rows[::-1], rows), np.append(end[rows[::-1]], start[rows])
    is_begin = np.arange(len(events)) >= len(rows)
    order, partner = pair_events(place[events], times, is_begin)
    events = events[order]
    crossing = np.flatnonzero((events[partner] != events) & ~is_begin[order])
    if len(crossing):
        refuse_overlap(table, int(events[crossing[0]]), int(events[partner[crossing[0]]]))
    owner, first, last = latest_running(place[rows], start[rows], end[rows])
    database.add("pieces", {"record": record[rows[owner]], "start_ns": first, "end_ns": last})
    joined = "pieces JOIN records ON pieces.record = records.rowid"
    return dataclasses.replace(table, query=f"SELECT location, state, pieces.start_ns, pieces.end_ns FROM {joined}")


def _nature(line: str, positions: Mapping[str, int]) -> str | None:
    parts = line.split(",")
    return parts[positions["nature"]].strip(_TRIMMED) if len(parts) > positions["nature"] else None
