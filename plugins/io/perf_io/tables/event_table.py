"""Tables of events: rows in which locations enter states and leave them, of which the innermost counts."""

from __future__ import annotations

from perf_io.tables.columns import Roles
from perf_io.tables.duck import quoted_name
from perf_io.tables.table import Table
from perf_io.traces.nested_states import NestedStates
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace

__all__ = ["read_event_table"]

_ENTER = frozenset({"enter", "begin", "start", "entry", "b", "push"})
_LEAVE = frozenset({"leave", "end", "stop", "exit", "e", "pop"})


def read_event_table(table: Table, roles: Roles) -> Trace:
    """States between the rows that enter and leave them.

    Parameters
    ----------
    table : Table
    roles : Roles
        Of kind "events".

    Raises
    ------
    InputError
        A row without a time, a state that is left and is not the innermost, a time that goes back, or no states; with
        its line.
    """
    assert roles.start is not None
    columns = (roles.change, roles.location, roles.state)
    texts = ", ".join(f"trim(CAST({quoted_name(column.name)} AS VARCHAR))" for column in columns if column is not None)
    rows = table.database.rows(f"SELECT {table.ns(roles.start, roles.time_unit)}, {texts} FROM {table.relation}")
    states, locations, names = NestedStates(table.source), dict[str, int](), dict[str, int]()
    open_states: dict[str, list[str]] = {}
    others = 0
    for row, (at, change, location, name) in enumerate(rows):
        kind = (change or "").lower()
        if kind not in _ENTER | _LEAVE:
            others += 1
            continue
        try:
            if at is None or not location or not name:
                raise InputError(table.source, "a time, a location and a state are expected", line=row)
            inner = open_states.setdefault(location, [])
            place = locations.setdefault(location, len(locations))
            if kind in _ENTER:
                inner.append(name)
                states.push(place, names.setdefault(name, len(names)), at, row)
            elif inner and inner.pop() == name:
                states.pop(place, at, row)
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
        notes=[f"{others} rows passed over that neither enter nor leave a state"] if others else [],
    )
