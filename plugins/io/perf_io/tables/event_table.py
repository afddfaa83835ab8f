"""Tables of events: rows in which locations enter states and leave them, of which the innermost counts."""

from __future__ import annotations

from collections.abc import Iterable

from perf_io.tables.columns import Column, Roles
from perf_io.tables.decimals import decimal_hint
from perf_io.tables.duck import quoted_name
from perf_io.tables.table import Table
from perf_io.traces.nested_states import NestedStates
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace


_ENTER = frozenset({"enter", "begin", "start", "entry", "b", "push"})
_LEAVE = frozenset({"leave", "end", "stop", "exit", "e", "pop"})

_ALL, _ENTERED = "all", "running"  # what a location and a state are called where no column names them
_NEITHER = frozenset({"instant", "mark", "point", "i"})


def are_changes(words: Iterable[str]) -> bool:
    """Whether texts in lower case are words for entering and leaving, both of them, and nothing else."""
    distinct = set(words)
    return bool(distinct & _ENTER) and bool(distinct & _LEAVE) and distinct <= _ENTER | _LEAVE | _NEITHER


def read_event_table(table: Table, roles: Roles) -> Trace:
    """States between the rows that enter and leave them."""
    assert roles.start is not None
    assert roles.change is not None
    location_sql = " || '/' || ".join(_text(column) for column in roles.location) or f"'{_ALL}'"
    state_sql = f"'{_ENTERED}'" if roles.state is None else _text(roles.state)
    columns = f"{table.ns(roles.start, roles.time_unit)}, {_text(roles.change)}, {location_sql}, {state_sql}"
    rows = table.database.rows(f"SELECT {columns} FROM {table.relation}")
    states, locations, names = NestedStates(table.source), dict[str, int](), dict[str, int]()
    open_states: dict[str, list[str]] = {}
    others = 0
    for row, (time, change, location, name) in enumerate(rows):
        kind = (change or "").lower()
        if kind not in _ENTER | _LEAVE:
            others += 1
            continue
        try:
            if time is None or not location or not name:
                text = table.at_row(row)[1].get(roles.start.name, "")
                hint = decimal_hint(text, table.decimal)
                raise InputError(table.source, f"a time, a location and a state are expected{hint}", line=row)
            inner = open_states.setdefault(location, [])
            place = locations.setdefault(location, len(locations))
            if kind in _ENTER:
                inner.append(name)
                states.push(place, names.setdefault(name, len(names)), time, row)
            elif inner and inner.pop() == name:
                states.pop(place, time, row)
            else:
                raise InputError(
                    table.source, f"{location!r} leaves {name[:60]!r}, which is not its innermost", line=row
                )
        except InputError as error:
            raise InputError(table.source, error.problem, line=table.at_row(row)[0]) from None
    states.finish()
    return states.trace(
        list(locations),
        list(names),
        time_unit=roles.time_unit,
        notes=[
            *roles.notes,
            *([f"{others} rows passed over that neither enter nor leave a state"] if others else []),
            *([] if roles.location else ["no column names a location: all events are those of one"]),
            *([] if roles.state else ["no column names a state: what is entered is computing"]),
        ],
    )


def _text(column: Column) -> str:
    return f"trim(CAST({quoted_name(column.name)} AS VARCHAR))"
