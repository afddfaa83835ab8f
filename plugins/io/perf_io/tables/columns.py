"""What the columns of a table mean: guessed from their names, or told by options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from perf_io.tables.options import TableOptions
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.roles import guess_roles
from perfcore.data.units import NANOSECONDS, KnownUnit, split_unit, unit_in_name

__all__ = ["Column", "Roles", "assign_roles", "one_line", "unit_of_duration"]

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "time": "time timestamp t ts date datetime date_time",
        "start": "start start_time t_start tstart begin begin_time started started_at begin_at ts",
        "end": "end end_time t_end tend stop stop_time finish finish_time finished finished_at ended_at end_at",
        "duration": "duration dur elapsed elapsed_time",
        "change": "event_type event_kind change",  # whether a row enters a state or leaves it
        "location": "location resource resourceid resource_id container worker process processor "
        "thread rank stream cpu core pe node pid tid worker_id process_id thread_id rank_id location_id core_id "
        "node_id stream_id host hostname device gpu",
        "state": "state activity status region function task category name event",
        "value": "value height utilization utilisation usage busy active running processors load count",
    }.items()
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ACCEPTED = (
    "time,value or start,end,value (a curve), start,end,location,state or start,duration,location,state (a trace), "
    "or p,time_s with code and system "
    "(measurements)"
)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        As the file spells it.
    kind : {"text", "number", "timestamp", "other"}
        What its values are; a text column of numbers is "number".
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Roles:
    """The meaning of a table; fields that a kind does not use are None or empty.

    A trace has ``end`` or ``duration``; of kind "events" it has a time in ``start`` and ``change``.
    """

    kind: str
    time_unit: str
    start: Column | None = None
    end: Column | None = None
    duration: Column | None = None
    change: Column | None = None
    location: Column | None = None
    state: Column | None = None
    values: tuple[Column, ...] = ()


def assign_roles(columns: Sequence[Column], options: TableOptions, source: str) -> Roles:
    """Decide what a table is.

    A sampling time is in ``start`` and leaves ``end`` None.

    Raises
    ------
    UnknownNameError
        An option names a column that the table does not have.
    InputError
        The columns are none of the accepted sets; the message lists them and the options to give.

    Examples
    --------
    >>> table = [Column("Time_ms", "number"), Column("busy", "number")]
    >>> roles = assign_roles(table, TableOptions(), "demo.csv")
    >>> roles.kind, roles.time_unit
    ('curve', 'ms')
    """
    finder = _Finder(columns, source)
    if options.kind == "measurements" or (options.kind == "auto" and _are_measurements(columns, options)):
        return Roles("measurements", "us")
    time = finder.find("time", options.time)
    start, end = finder.find("start", options.start), finder.find("end", options.end)
    duration = finder.find("duration", None) if start and not end else None
    change = finder.find("change", None)
    taken = {column for column in (time, start, end, duration, change) if column is not None}
    location = finder.find("location", options.location, but=taken)
    state = finder.find("state", options.state, but=taken | {location})
    kind = options.kind
    if kind in ("auto", "trace") and start and end and location and state:
        return Roles("trace", finder.time_unit(options, start, end), start, end, location=location, state=state)
    if kind in ("auto", "trace") and start and duration and location and state:
        unit = finder.time_unit(options, start)
        return Roles("trace", unit, start, duration=duration, location=location, state=state)
    if kind in ("auto", "trace") and time and change and location and state:
        return Roles("events", finder.time_unit(options, time), time, change=change, location=location, state=state)
    if kind in ("auto", "curve") and start and end and not options.time:
        values = finder.values(options.value, but=taken)
        if len(values) == 1:
            return Roles("curve", finder.time_unit(options, start, end), start, end, values=values)
    if kind in ("auto", "curve", "series") and time:
        values = finder.values(options.value, but=taken, several=kind != "curve")
        if kind == "auto" and values:
            kind = "curve" if len(values) == 1 else "series"
        if (kind == "series" and values) or (kind == "curve" and len(values) == 1):
            return Roles(kind, finder.time_unit(options, time), time, values=values)
    names = _listed(columns)
    wanted = "" if options.kind == "auto" else f" a {options.kind}"
    raise InputError(
        source,
        f"the columns {names} do not say what{wanted or ' this table'} is made of; accepted are {_ACCEPTED}; name the "
        "columns with the options time, value, start, end, location, state, or give kind=measurements with "
        "parameters and value",
        line=1,
    )


def _are_measurements(columns: Sequence[Column], options: TableOptions) -> bool:
    """Whether the names are those of runs at several numbers of processors, and of no curve or trace."""
    if options.time or options.start or options.end or options.location or options.state:
        return False
    bare = {_split_unit(column.name)[0] for column in columns}
    if bare & set(_SYNONYMS["start"]) and bare & set(_SYNONYMS["end"]):
        return False
    roles = guess_roles([c.name for c in columns], {c.name for c in columns if c.kind == "number"})
    if not roles.parameters or (roles.value is None and not (roles.code or roles.system)):
        # Several times, and none that counts on: the parts of a run, of which the user names those that are meant.
        times = [c for c in columns if c.kind == "number" and (unit := unit_in_name(c.name)) and unit.kind == "time"]
        several = bool(roles.parameters) and len(times) > 1 and not bare & set(_SYNONYMS["time"])
        return several or bool(options.parameters)
    # A time and a number of processors could be a curve; the name of a code or of a system decides.
    ambiguous = _split_unit(next(iter(roles.parameters.values())))[0] in _SYNONYMS["value"]
    return not ambiguous or bool(roles.code or roles.system or options.parameters)


class _Finder:
    """Columns by what they are called."""

    def __init__(self, columns: Sequence[Column], source: str) -> None:
        self.columns = columns
        self.source = source
        self._by_name = {column.name.strip().lower(): column for column in reversed(columns)}

    def named(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        try:
            return self._by_name[name.strip().lower()]
        except KeyError:
            known = [column.name for column in self.columns]
            raise UnknownNameError(f"column of {self.source}", name, known) from None

    def find(self, role: str, name: str | None, but: AbstractSet[Column | None] = frozenset()) -> Column | None:
        """The column that an option names, else the first synonym that is there."""
        if name is not None:
            return self.named(name)
        for synonym in _SYNONYMS[role]:
            for column in self.columns:
                name_only, unit = _split_unit(column.name)
                if unit is not None and (role not in ("time", "start", "end", "duration") or unit.kind != "time"):
                    continue
                if column not in but and synonym == name_only:
                    return column
        return None

    def values(self, names: Sequence[str], but: set[Column], several: bool = True) -> tuple[Column, ...]:
        """The columns that an option names; else all numbers; of several the one that is called a value."""
        if names:
            return tuple(self.named(name) for name in names)
        numbers = tuple(c for c in self.columns if c.kind == "number" and c not in but)
        if len(numbers) > 1 and not several:
            called = [c for c in numbers if c.name.strip().lower() in _SYNONYMS["value"]]
            return tuple(called[:1]) if len(called) == 1 else numbers
        return numbers

    def time_unit(self, options: TableOptions, *columns: Column) -> str:
        """Unit by option, by the ending of the names, or by kind: timestamps are seconds, numbers microseconds."""
        if options.time_unit is not None:
            return options.time_unit
        if any(column.kind == "timestamp" for column in columns):
            return "s"
        named = [(column, _split_unit(column.name)[1]) for column in columns]
        units = {"us" if unit is None or unit.kind != "time" else unit.label for _, unit in named}
        names = " and ".join(one_line(column.name) for column in columns)
        if len(units) > 1:
            raise InputError(self.source, f"{names} are in different units; rename one or give time_unit", line=1)
        (unit,) = units
        if unit not in NANOSECONDS:
            problem = f"{names}: times of curves and traces are in {', '.join(NANOSECONDS)}, not in {unit}"
            raise InputError(self.source, f"{problem}; convert them and rename the column", line=1)
        return unit


def unit_of_duration(column: Column, otherwise: str) -> str:
    """Unit of a column of durations by the ending of its name; else that of the starts."""
    unit = _split_unit(column.name)[1]
    return unit.label if unit is not None and unit.label in NANOSECONDS else otherwise


def one_line(name: str) -> str:
    """A column's name as a message shows it."""
    return " ".join(name.split())[:60]


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(one_line(column.name) for column in columns)


def _split_unit(name: str) -> tuple[str, KnownUnit | None]:
    """A column's name in lower case, with underscores, also for CamelCase, without its unit; and the unit."""
    bare, unit = split_unit(name)
    return _HUMP.sub("_", (bare or name).strip()).lower().replace(" ", "_").replace("-", "_"), unit
