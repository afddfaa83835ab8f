"""State intervals in a table: what the readers of tables share, from the checks to the trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from perf_io.tables.duck import Database
from perf_io.tables.table import decimal_hint
from perf_io.tables.tabular_trace import INTERVALS, TabularTrace, coded_query, overlap_error, overlapping_rows
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace, first_overlap

IN_MEMORY_ROWS = 1_000_000  # 24 MB as arrays: below this the table's overhead does not pay
BAD_ROW = "location IS NULL OR state IS NULL OR start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns"
_BEGINNING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class StateTable:
    """State intervals as a query, and further facts."""

    database: Database
    query: str
    at_row: Callable[[int], tuple[int, Mapping[str, str]]]
    keeps: bool = False  # the query can be run again later; if not, its result is stored in the database
    time_unit: str = "us"  # unit of the curves
    locations: Sequence[str] = ()  # names known beforehand, in their order; others that the table has are added
    states: Sequence[str] = ()
    state_names: Mapping[str, str] | None = None  # what the states of the table are called, for all of them
    busy_states: Sequence[str] | None = None  # as for `perfcore.Trace`
    span_ns: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    decimal: str = "."  # decimal sign of the times
    overlap: str = "refuse"  # what to do with overlapping intervals of one location
    cure: str = ""  # what to add to the message about overlapping intervals
    columns: Mapping[str, str] = field(default_factory=dict)


def read_states(table: StateTable) -> Trace:
    """Check all intervals and make the trace."""
    form = "VIEW" if table.keeps else "TABLE"
    table.database.run(f"CREATE {form} {INTERVALS} AS {table.query}")
    groups = table.database.rows(
        "SELECT location, state, count(*), min(start_ns), max(end_ns), "
        f"count_if({BAD_ROW}) "
        f"FROM {INTERVALS} GROUP BY location, state"
    )
    source = table.database.source
    if not groups:
        raise InputError(source, "contains no state intervals")
    if any(bad for *_, bad in groups):
        _refuse_first_bad(table)
    locations = _in_order(table.locations, {group[0] for group in groups})
    keys = _in_order(table.states or tuple(table.state_names or ()), {group[1] for group in groups})
    extent = (min(group[3] for group in groups), max(group[4] for group in groups))
    span = table.span_ns
    facts: dict[str, Any] = {
        "time_unit": table.time_unit,
        "busy_states": table.busy_states,
        "span_ns": extent if span is None else (min(extent[0], span[0]), max(extent[1], span[1])),
        "source": source,
        "notes": table.notes,
    }
    states = keys if table.state_names is None else tuple(table.state_names[key] for key in keys)
    table.database.add_names("location_names", locations)
    table.database.add_names("state_names", keys)
    n_intervals = sum(group[2] for group in groups)
    if table.overlap != "refuse":
        # The kernels of these compile code, which who has no overlaps need not wait for.
        from perf_io.tables import overlaps

        split = overlaps.counted if table.overlap == "count" else overlaps.united
        return split(table.database, n_intervals, locations, keys=keys, states=states, **facts)
    if n_intervals > IN_MEMORY_ROWS:
        _check_overlap(table, len(locations), n_intervals)
        return TabularTrace(table.database, n_intervals, keys, locations, states, **facts)
    columns = table.database.columns(coded_query())
    location, state, start_ns, end_ns = (columns[name] for name in ("location", "state", "start_ns", "end_ns"))
    pair = first_overlap(location, start_ns, end_ns)
    if pair is not None:
        refuse_overlap(table, *pair)
    return Trace(location, state, start_ns, end_ns, locations, states, **facts)


def _check_overlap(table: StateTable, n_locations: int, n_intervals: int) -> None:
    last_end = np.full(n_locations, _BEGINNING)
    for chunk in table.database.chunks(coded_query(), n_intervals, "checking"):
        lasting = np.flatnonzero(chunk["end_ns"] > chunk["start_ns"])
        location = chunk["location"][lasting]
        if n_locations <= 1 << 16:
            location = location.astype(np.uint16)  # numpy sorts 16 bits by radix, ten times as fast
        order = np.argsort(location, kind="stable")
        location, lasting = location[order], lasting[order]
        starts, ends = chunk["start_ns"][lasting], chunk["end_ns"][lasting]
        opens = np.ones(len(location), dtype=bool)
        opens[1:] = location[1:] != location[:-1]
        before = np.empty_like(ends)
        before[1:] = ends[:-1]
        before[opens] = last_end[location[opens]]
        if (starts < before).any():
            pair = overlapping_rows(table.database, INTERVALS)
            if pair is not None:
                refuse_overlap(table, *pair)
            return
        closes = np.append(opens[1:], True)[: len(location)]
        last_end[location[closes]] = ends[closes]


def refuse_overlap(table: StateTable, one: int, two: int) -> NoReturn:
    """Raise the error for two rows of one location that overlap."""
    raise overlap_error(table.database.source, table.at_row, one, two, table.cure)


def _refuse_first_bad(table: StateTable) -> NoReturn:
    roles = ("location", "state", "start", "end")
    row, *missing = table.database.rows(
        "SELECT row, location IS NULL, state IS NULL, start_ns IS NULL, end_ns IS NULL "
        f"FROM (SELECT row_number() OVER () - 1 AS row, * FROM {INTERVALS}) WHERE {BAD_ROW} LIMIT 1"
    )[0]
    line, texts = table.at_row(row)
    for role, is_missing in zip(roles, missing, strict=True):
        if is_missing:
            expected = "a finite number or an ISO timestamp" if role in ("start", "end") else f"a {role}"
            hint = decimal_hint(texts[role], table.decimal) if role in ("start", "end") else ""
            problem = f"the {table.columns.get(role, role)} is {texts[role][:40]!r}; {expected} is expected{hint}"
            raise InputError(table.database.source, problem, line=line)
    if duration := next((role for role, name in table.columns.items() if name == "duration"), None):
        problem = (
            f"the state of {texts['location'][:40]!r} has the duration {texts[duration].strip()}; none is negative"
        )
        raise InputError(table.database.source, problem, line=line)
    raise InputError(
        table.database.source,
        f"the state of {texts['location'][:40]!r} ends at {texts['end'].strip()}, "
        f"before it starts at {texts['start'].strip()}{_wrapped(texts['start'], texts['end'])}",
        line=line,
    )


def _wrapped(start: str, end: str) -> str:
    """What a counter of 32 bits was meant to say that began again at 0."""
    if not (start.strip().isdecimal() and end.strip().isdecimal()):
        return ""
    first, last = int(start), int(end)
    bits = next((bits for bits in (32, 31) if last < 1 << bits - 1 <= first < 1 << bits), None)
    if bits is None:
        return ""
    duration = f"2^{bits} - {first} + {last} = {(1 << bits) - first + last}"
    return f": a counter of {bits} bits wrapped ({duration}); add 2^{bits} = {1 << bits} to all later times"


def _in_order(declared: Sequence[str], occurring: Iterable[str]) -> tuple[str, ...]:
    return (*declared, *sorted(set(occurring) - set(declared), key=natural_order))


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sort key by which ``cpu2`` comes before ``cpu10``."""
    texts, numbers = (re.split("([0-9]+)", name)[first::2] for first in (0, 1))
    digits = [number.lstrip("0") for number in numbers]
    return [
        pair for text, number in zip(texts, [*digits, ""], strict=True) for pair in ((0, text), (len(number), number))
    ]
