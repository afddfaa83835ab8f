"""State intervals in a table: what the readers of tables share, from the checks to the trace."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import Columns, Database, decimal_hint, quoted
from perf_io.traces.intervals import is_crossed, latest_running
from perf_statistics.kernels import kernel
from perf_traces.joined_trace import COLUMNS, LazyTrace
from perf_traces.nesting import Nesting, keep_nesting, mark_nested, nesting_of_pieces
from perf_traces.options import WARNING
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace, busy_mask, curve_from_intervals, first_overlap
from perfcore.data.units import EXACT_NS
from perfcore.reading.recognise import natural_order

# A trace that stays in its table: 10^8 intervals become a curve in bounded memory, since the interval boundaries are
# summed up in SQL, where groups that do not fit into memory go to disk.

INTERVALS = "state_intervals"  # the table or view of location, state, start_ns, end_ns

_RECORDED = "recorded_intervals"  # those whose times are farther from 0
_numbers = itertools.count(1)  # of views
_BEGINNING = np.iinfo(np.int64).min  # end of what was before the first interval
_FEWEST = 8  # lanes for which there is room at first; a power of two
_CODES = "interval_codes"  # the table of location and state as codes
IN_MEMORY_ROWS = 1_000_000  # 24 MB as arrays: below this the table's overhead does not pay
BAD_ROW = "location IS NULL OR state IS NULL OR start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns"
_LARGEST_BLOCK = 10_000_000  # rows of whole locations that are held at once, unless one location alone has more
AtRow = Callable[[int], tuple[int, Mapping[str, str]]]  # gives the line of a row, and its texts by their roles


class TabularTrace(LazyTrace):
    """A checked trace whose intervals are in a database; arrays are made when they are first asked for."""

    def __init__(
        self, database: Database, n_intervals: int, keys: Sequence[str], locations: Sequence[str],
        states: Sequence[str], *, intervals: str = INTERVALS,
        codes: tuple[Sequence[int], Sequence[int]] | None = None, **facts: Any,
    ) -> None:  # fmt: skip
        super().__init__(locations, states, **facts)
        self.intervals = intervals  # the table or view that has them
        self._codes = codes or (range(len(locations)), range(len(states)))  # positions in the database's enumerations
        self.database = database
        self._n_intervals = n_intervals
        self._keys = tuple(keys)

    @property
    def n_intervals(self) -> int:
        return self._n_intervals

    @property
    def query(self) -> str:
        """SELECT of ``location, state`` (names) and ``start_ns, end_ns``, for writing without arrays."""
        if self._keys == self.states:
            return f"SELECT location, state, start_ns, end_ns FROM {self.intervals}"
        self.database.run("CREATE OR REPLACE TABLE state_labels (name VARCHAR, label VARCHAR)")
        self.database.run(
            "INSERT INTO state_labels SELECT unnest($1), unnest($2)", [list(self._keys), list(self.states)]
        )
        return (
            "SELECT location, (SELECT map(list(name), list(label)) FROM state_labels)[state] AS state, "
            f"start_ns, end_ns FROM {self.intervals}"
        )

    def cut(
        self, first: int, beyond: int, locations: Sequence[int], states: Sequence[int], **facts: Any
    ) -> TabularTrace:
        """Return the part of it from ``first`` until before ``beyond``, nanoseconds, that stays in the database."""
        start, end = facts["span_ns"]
        keys = [self._keys[index] for index in states]
        conditions = [f"start_ns < {beyond}", f"(end_ns > {first} OR start_ns >= {first})"]
        for column, kept, every in (
            ("location", [self.locations[index] for index in locations], self.locations),
            ("state", keys, self._keys),
        ):
            if len(kept) < len(every):
                conditions.append(f"{column} IN ({', '.join(map(quoted, kept))})")
        view = f"part_{next(_numbers)}"
        self.database.run(
            f"CREATE VIEW {view} AS SELECT location, state, greatest(start_ns, {start}) AS start_ns, "
            f"least(end_ns, {end}) AS end_ns FROM {self.intervals} WHERE {' AND '.join(conditions)}"
        )
        ((n_intervals,),) = self.database.rows(f"SELECT count(*) FROM {view}")
        codes = [self._codes[0][index] for index in locations], [self._codes[1][index] for index in states]
        names = [self.locations[index] for index in locations], [self.states[index] for index in states]
        return TabularTrace(self.database, n_intervals, keys, *names, intervals=view, codes=codes, **facts)

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        chosen = ", ".join(quoted(key) for key, counts in zip(self._keys, mask, strict=True) if counts)
        busy = f"FROM {self.intervals} WHERE state IN ({chosen or 'NULL'})"
        n_busy = self.database.rows(f"SELECT count(*) {busy}")[0][0]
        times, offset = np.empty((2, n_busy), np.int64), 0
        for chunk in self.database.chunks(f"SELECT start_ns, end_ns {busy}", n_busy, "summing up"):
            until = offset + len(chunk["start_ns"])
            times[0, offset:until], times[1, offset:until] = chunk["start_ns"], chunk["end_ns"]
            offset = until
        return curve_from_intervals(
            times.ravel(), self.span_ns, self.time_unit, n_locations=len(self.locations), source=self.source
        )

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {name: np.empty(self._n_intervals, dtype) for name, dtype in COLUMNS.items()}
        first = 0
        for chunk in self.database.chunks(coded_query(self.intervals), self._n_intervals, "loading"):
            last = first + len(chunk["start_ns"])
            for name, array in arrays.items():
                array[first:last] = chunk[name]
            first = last
        for name, codes in zip(("location", "state"), self._codes, strict=True):
            if codes != range(len(codes)):
                arrays[name] = np.searchsorted(codes, arrays[name]).astype(np.int32)
        return arrays


def counted_from(first_ns: int) -> str:
    """Return the note on a trace whose times are those of the file less its first."""
    return f"times count from the first event, at {first_ns} ns"


def coded_query(intervals: str = INTERVALS) -> str:
    """Return SELECT of all intervals in the order of the file, names as positions in their enumeration."""
    return (
        "SELECT CAST(enum_code(CAST(location AS location_names)) AS INTEGER) AS location, "
        "CAST(enum_code(CAST(state AS state_names)) AS INTEGER) AS state, start_ns, end_ns "
        f"FROM {intervals}"
    )


def overlapping_rows(database: Database, intervals: str) -> tuple[int, int] | None:
    """Return two rows of one location that overlap, or None; sorted by the database, on disk if need be."""
    pairs = database.rows(
        "SELECT earlier, row FROM (SELECT row, start_ns, "
        "lag(end_ns) OVER by_location AS until_ns, lag(row) OVER by_location AS earlier "
        f"FROM (SELECT row_number() OVER () - 1 AS row, * FROM {intervals}) WHERE end_ns > start_ns "
        "WINDOW by_location AS (PARTITION BY location ORDER BY start_ns, row)) WHERE start_ns < until_ns LIMIT 1"
    )
    return (pairs[0][0], pairs[0][1]) if pairs else None


def overlap_error(source: str, at_row: AtRow, one: int, two: int, cure: str = "") -> InputError:
    """Return the error for two rows of one location that overlap."""
    (first_line, first), (line, second) = at_row(one), at_row(two)
    since, until = second.get("since", second["start"]).strip(), first.get("until", first["end"]).strip()
    problem = f"{second['location']!r} is in state {second['state']!r} from {since} although {first['state']!r}"
    problem += f" (line {first_line}) lasts until {until}; states of one location must not overlap{cure}"
    return InputError(source, problem, line=line)


class IntervalStore:
    """Intervals that a reader makes block by block, with its own codes of locations and states."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._n_intervals = 0
        self._columns: Columns = {}
        self._table: Database | None = None
        self._span = (0, 0)

    def add(self, columns: Columns) -> None:
        """Take in more than no intervals, which must not be changed afterwards."""
        first, last = int(columns["start_ns"].min()), int(columns["end_ns"].max())
        if not self._n_intervals:
            self._columns, self._span = columns, (first, last)
        else:
            if self._table is None:
                self._table = Database(self._source)
                self._table.run(
                    f"CREATE TABLE {_CODES} (location INTEGER, state INTEGER, start_ns BIGINT, end_ns BIGINT)"
                )
                self._table.add(_CODES, self._columns, is_new=False)
                self._columns.clear()
            self._table.add(_CODES, columns, is_new=False)
            self._span = min(first, self._span[0]), max(last, self._span[1])
        self._n_intervals += len(columns["start_ns"])

    def refuse_overlaps(self, at_row: AtRow) -> None:
        """Compare the intervals of each location, sorted, on disk if need be."""
        if self._table is None:
            pair = first_overlap(*(self._columns[name] for name in ("location", "start_ns", "end_ns")))
        else:
            pair = overlapping_rows(self._table, _CODES)
        if pair is not None:
            raise overlap_error(self._source, at_row, *pair)

    def trace(
        self, locations: Sequence[str], keys: Sequence[str], states: Sequence[str],
        span_ns: tuple[int, int] | None = None, **more: Any,
    ) -> Trace:  # fmt: skip
        """Return all intervals, which the caller has checked."""
        if not self._n_intervals:
            raise InputError(self._source, "contains no state intervals")
        first, last = self._span if span_ns is None else span_ns
        facts = {**more, "source": self._source, "span_ns": (min(self._span[0], first), max(self._span[1], last))}
        if self._table is None:
            location, state, start_ns, end_ns = (self._columns[name] for name in COLUMNS)
            return Trace(location, state, start_ns, end_ns, locations, states, **facts)
        self._table.add_names("location_names", locations)
        self._table.add_names("state_names", keys)
        self._table.run(
            f"CREATE VIEW {INTERVALS} AS SELECT (enum_range(NULL::location_names))[location + 1] AS location, "
            f"(enum_range(NULL::state_names))[state + 1] AS state, start_ns, end_ns FROM {_CODES}"
        )
        return TabularTrace(self._table, self._n_intervals, keys, locations, states, **facts)


@dataclass(frozen=True)
class StateTable:
    """State intervals as a query, and further facts."""

    database: Database
    query: str
    at_row: AtRow
    keeps: bool = False  # the query can be run again later; if not, its result is stored in the database
    time_unit: str = "us"  # unit of the curves
    locations: Sequence[str] = ()  # names known beforehand, in their order; others that the table has are added
    states: Sequence[str] = ()
    busy_states: Sequence[str] | None = None  # as for `perfcore.Trace`
    span_ns: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    decimal: str = "."  # decimal sign of the times
    overlap: str = "refuse"  # overlapping intervals of one location: refuse, count, union; auto: union of nested ones
    cure: str = ""  # what to add to the message about overlapping intervals
    columns: Mapping[str, str] = field(default_factory=dict)


def read_states(table: StateTable) -> Trace:
    """Check all intervals and make the trace."""
    form = "VIEW" if table.keeps else "TABLE"
    table.database.run(f"CREATE {form} {INTERVALS} AS {table.query}")
    facts_of_group = f"count(*), min(start_ns), max(end_ns), count_if({BAD_ROW})"
    groups = table.database.rows(f"SELECT location, state, {facts_of_group} FROM {INTERVALS} GROUP BY location, state")
    source = table.database.source
    if not groups:
        raise InputError(source, "contains no state intervals")
    if any(bad for *_, bad in groups):
        _refuse_first_bad(table)
    locations = _in_order(table.locations, {group[0] for group in groups})
    keys = _in_order(table.states, {group[1] for group in groups})
    extents = [(min(group[3] for group in groups), max(group[4] for group in groups)), table.span_ns or ()]
    first, last = min(itertools.chain(*extents)), max(itertools.chain(*extents))
    facts: dict[str, Any] = {"time_unit": table.time_unit, "busy_states": table.busy_states, "source": source}
    facts |= {"span_ns": (first, last), "notes": table.notes}
    if abs(first) > EXACT_NS:
        table.database.run(f"ALTER {form} {INTERVALS} RENAME TO {_RECORDED}")
        since = f"start_ns - {first} AS start_ns, end_ns - {first} AS end_ns"
        table.database.run(f"CREATE VIEW {INTERVALS} AS SELECT location, state, {since} FROM {_RECORDED}")
        facts |= {"span_ns": (0, last - first), "notes": (*table.notes, counted_from(first))}
        facts["facts"] = {"epoch_ns": first}
    table.database.add_names("location_names", locations)
    table.database.add_names("state_names", keys)
    n_intervals = sum(group[2] for group in groups)
    if table.overlap in ("count", "union"):
        split = counted if table.overlap == "count" else united
        return split(table.database, n_intervals, locations, keys=keys, states=keys, **facts)
    if n_intervals > IN_MEMORY_ROWS:
        pair = _large_overlap(table, len(locations), n_intervals)
    else:
        columns = table.database.columns(coded_query())
        pair = first_overlap(*(columns[name] for name in ("location", "start_ns", "end_ns")))
    if pair is not None and table.overlap == "auto":
        refuse = functools.partial(refuse_overlap, table, *pair)
        return united(table.database, n_intervals, locations, refuse, keys=keys, states=keys, **facts)
    if pair is not None:
        refuse_overlap(table, *pair)
    if n_intervals > IN_MEMORY_ROWS:
        return TabularTrace(table.database, n_intervals, keys, locations, keys, **facts)
    location, state, start_ns, end_ns = (columns[name] for name in COLUMNS)
    return Trace(location, state, start_ns, end_ns, locations, keys, **facts)


def _large_overlap(table: StateTable, n_locations: int, n_intervals: int) -> tuple[int, int] | None:
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
            return overlapping_rows(table.database, INTERVALS)
        closes = np.append(opens[1:], True)[: len(location)]
        last_end[location[closes]] = ends[closes]
    return None


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
    start, end = texts["start"].strip(), texts["end"].strip()
    problem = f"ends at {end}, before it starts at {start}{_wrapped(start, end)}"
    if duration := next((role for role, name in table.columns.items() if name == "duration"), None):
        problem = f"has the duration {texts[duration].strip()}; none is negative"
    raise InputError(table.database.source, f"the state of {texts['location'][:40]!r} {problem}", line=line)


def _wrapped(start: str, end: str) -> str:
    """Return what a counter of 32 bits was meant to say that began again at 0."""
    if not (start.isdecimal() and end.isdecimal()):
        return ""
    first, last = int(start), int(end)
    bits = next((bits for bits in (32, 31) if last < 1 << bits - 1 <= first < 1 << bits), None)
    if bits is None:
        return ""
    duration = f"2^{bits} - {first} + {last} = {(1 << bits) - first + last}"
    return f": a counter of {bits} bits wrapped ({duration}); add 2^{bits} = {1 << bits} to all later times"


def _in_order(declared: Sequence[str], occurring: Iterable[str]) -> tuple[str, ...]:
    return (*declared, *sorted(set(occurring) - set(declared), key=natural_order))


# Overlapping intervals of one location: each on a separate lane, or their union.


@kernel(small=20_000)
def _first_free(start: Ints, end: Ints, first: int, until: Ints, lane: Ints) -> int:  # pragma: no cover
    """Return lanes of the intervals from ``first`` on, until none is free; ``until`` is a tree of the earliest ends."""
    size = len(until) // 2
    for row in range(first, len(start)):
        if until[1] > start[row]:
            return row
        node = 1
        while node < size:
            node *= 2
            if until[node] > start[row]:
                node += 1
        lane[row] = node - size
        until[node] = end[row]
        while node > 1:
            node //= 2
            until[node] = min(until[2 * node], until[2 * node + 1])
    return len(start)


class Lanes:
    """Puts intervals on lanes, block by block; there are as many lanes as intervals are at once."""

    def __init__(self, n_locations: int) -> None:
        self._count = np.ones(n_locations, np.int64)
        self._location, self._before = 0, 0
        self._until = np.empty(0, np.int64)

    def split(self, blocks: Iterable[tuple[Ints, Ints, Ints]]) -> Iterator[Ints]:
        """Yield the lane of each interval, counted through all locations."""
        for location, start, end in blocks:
            lane = np.empty(len(start), np.int64)
            changes = np.flatnonzero(location[1:] != location[:-1]) + 1
            bounds = [0, *changes.tolist(), len(location)] if len(location) else []
            for first, last in itertools.pairwise(bounds):
                self._take(int(location[first]), start[first:last], end[first:last], lane[first:last])
            yield lane

    def names(self, locations: Sequence[str]) -> list[str]:
        """Return a name for each lane: its location's, numbered if it has several; ``lane 1`` of no location."""
        names = []
        for location, count in zip(locations, self._count.tolist(), strict=True):
            if location and count == 1:
                names.append(location)
            else:
                names += [f"{location} #{n}" if location else f"lane {n}" for n in range(1, count + 1)]
        return names

    def _take(self, location: int, start: Ints, end: Ints, lane: Ints) -> None:
        if location != self._location or not len(self._until):
            self._before += int(self._count[self._location : location].sum())
            self._location = location
            self._until = np.full(2 * _FEWEST, _BEGINNING)
        row = 0
        while (row := _first_free(start, end, row, self._until, lane)) < len(start):
            # Twice as many lanes, the first of which are as they were.
            size = len(self._until)
            until = np.full(2 * size, _BEGINNING)
            until[size : size + size // 2] = self._until[size // 2 :]
            for node in range(size - 1, 0, -1):
                until[node] = min(until[2 * node], until[2 * node + 1])
            self._until = until
        self._count[location] = max(self._count[location], int(lane.max()) + 1)
        lane += self._before


def counted(database: Database, n_intervals: int, locations: Sequence[str], **facts: Any) -> Trace:
    """Return a trace in which overlapping intervals count each: a location is as many lanes as its intervals need."""
    store, lanes = IntervalStore(database.source), Lanes(len(locations))
    query = f"{coded_query()} ORDER BY location, start_ns, end_ns"
    states: list[Any] = []

    def blocks() -> Iterator[tuple[Ints, Ints, Ints]]:
        for chunk in database.chunks(query, n_intervals, "laying out"):
            location, start, end = (chunk[name].astype(np.int64) for name in ("location", "start_ns", "end_ns"))
            states.append((chunk["state"], start, end))
            yield location, start, end

    for lane in lanes.split(blocks()):
        state, start, end = states.pop()
        store.add({"location": lane, "state": state, "start_ns": start, "end_ns": end})
    names = lanes.names(locations)
    if list(locations) != [""]:
        note = f"overlapping intervals count each (overlap=count): {len(locations)} locations are {len(names)} lanes"
    elif len(names) == 1:
        note = "no column names a location, and no two intervals are at once: they are on one lane"
    else:
        note = (
            f"no column names a location: each interval is on the first free of {len(names)} lanes, as many as there "
            "are at once; the curve is how many run at once, and lanes tell nothing of balance"
        )
    return store.trace(names, **{**facts, "notes": (*facts["notes"], note)})


def united(
    database: Database,
    n_intervals: int,
    locations: Sequence[str],
    refuse: Callable[[], NoReturn] | None = None,
    **facts: Any,
) -> Trace:
    """Return a trace in which of overlapping intervals of a location the one counts that began last; see `counted`.

    ``refuse`` raises an error, where some are not nested.
    """
    store, before, after, nesting = IntervalStore(database.source), 0, 0, None
    for first, last in _blocks(database):
        rows = database.columns(f"SELECT * FROM ({coded_query()}) WHERE location BETWEEN {first} AND {last}")
        location, start, end = (rows[name].astype(np.int64) for name in ("location", "start_ns", "end_ns"))
        if refuse is not None and is_crossed(location, start, end):
            refuse()
        piece, starts, ends = latest_running(location, start, end)
        before, after = before + int((end - start).sum()), after + int((ends - starts).sum())
        if len(piece):
            columns = {"location": location[piece], "state": rows["state"][piece], "start_ns": starts, "end_ns": ends}
            store.add(columns)
        if refuse is not None and len(location) == n_intervals:
            calling, is_call = nesting_of_pieces(start, end, piece, starts, ends)
            own = location[calling].astype(np.int32), rows["state"][calling], start[calling], end[calling]
            nesting = Nesting(*own, is_call)
    share = (before - after) / before if before else 0.0
    note = (
        "of overlapping intervals of a location the one counts that began last (overlap=union): "
        f"{share:.3g} of the time in them lay within others"
    )
    if refuse is not None:
        note = f"{WARNING}assumes: nested intervals of a thread are calls, the innermost counts; else -r overlap=count"
    trace = store.trace(locations, **{**facts, "notes": (*facts["notes"], note)})
    if nesting is not None:
        return keep_nesting(trace, nesting)
    if after < before:
        mark_nested(trace)
    return trace


def _blocks(database: Database) -> Iterator[tuple[int, int]]:
    """Yield the first and last code of locations that together have few enough rows."""
    sizes = database.rows(
        "SELECT CAST(enum_code(CAST(location AS location_names)) AS INTEGER) AS code, count(*) "
        f"FROM {INTERVALS} GROUP BY code ORDER BY code"
    )
    first, rows = 0, 0
    for code, size in sizes:
        if rows and rows + size > _LARGEST_BLOCK:
            yield first, code - 1
            first, rows = code, 0
        rows += size
    yield first, sizes[-1][0]
