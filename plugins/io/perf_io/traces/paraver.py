"""Paraver traces: the state records of a ``.prv`` file, with the names of states from its ``.pcf``.

The first line is ``#Paraver (date):duration[_unit]:nodes:applications...``, in microseconds unless it says ``_ns``. A
state is ``1:cpu:application:task:thread:begin:end:state``; a location is one thread. Messages (3), collectives and
counters among the events (2) and communicators (``c``) are read when somebody asks for them; others are counted.
Source: "Paraver: Parallel Program Visualization and Analysis tool, Tracefile Description", BSC.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_io.tables.state_table import IN_MEMORY_ROWS, IntervalStore
from perf_io.text import line_of_record, parse_ns, whole_lines
from perf_io.traces import paraver_messages
from perf_io.traces.paraver_messages import DISORDER, FIELDS, LINE, MET, MOST_DIGITS, ROW, scan
from perf_statistics.kernels import kernel
from perf_traces.messages.bursts import CYCLES, INSTRUCTIONS, Readings, carry_counters
from perf_traces.messages.communication import (
    FUNCTIONS,
    Communication,
    FunctionChanges,
    carry,
    communication_of,
    once_more,
)
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per
from perfcore.reading.source import Reader, Source, without_compressed_ending

# In large blocks a compiled loop takes the lines that are as most are; Python takes all others, such as a state with
# decimal times or of a location that the header does not have, and says what is wrong where.

_COMPILED_FROM = 1 << 18  # bytes of a block; below, loading the compiler takes longer than Python does for all lines
_LARGEST_LINE = 1 << 26  # bytes; one of a communicator lists its tasks
_QUICK_STATES = 1 << 10  # numbers below are looked up in an array
_LARGEST_STATE = 1 << 32
_NEVER = np.iinfo(np.int64).min
_PASSED_OVER = b"#234c"  # comments, events, communications, global operations, communicators

Columns = dict[str, npt.NDArray[Any]]
EventReader = Callable[[Sequence[int]], Ints]  # from types to rows of location, time, type and value

_scan = kernel(scan)
USUAL = {INSTRUCTIONS: 42_000_050, CYCLES: 42_000_059}  # for traces without a .pcf
_TYPES = range(42_000_000, 43_000_000)
_SET = "Active hardware counter set"  # no counter, but which ones are read; 42009999 in older traces
_PRESET = re.compile(r"\bPAPI_[A-Z0-9_]+")
_MAGIC = b"#Paraver"
_HEADER = re.compile(r"#Paraver\s*\([^)]*\):(?P<duration>[0-9]+)(?:_(?P<unit>ns|us|ms|s))?:(?P<rest>.*)", re.DOTALL)
_APPLICATION = re.compile(r"[0-9]\((?P<threads>[0-9:,\s]*)\)")
_FIELDS = 8  # of a state record
_LONGEST_HEADER = 1 << 24  # bytes; it lists the tasks, some 4 bytes each
_MOST_THREADS = 1 << 22  # in all; of a damaged header the names would fill the memory
# State numbers as Extrae and Dimemas write them without a .pcf (Paraver's default configuration).
_DEFAULT_STATES = {
    str(number): name for number, name in enumerate((
        "Idle", "Running", "Not created", "Waiting a message", "Blocking Send", "Synchronization", "Test/Probe",
        "Scheduling and Fork/Join", "Wait/WaitAll", "Blocked", "Immediate Send", "Immediate Receive", "I/O",
        "Group Communication", "Tracing Disabled", "Others", "Send Receive", "Memory transfer",
    ))
}  # fmt: skip
# Records that are no states, by their type.
_PASSED_NOTES = {
    "2": "event records: those of calls, user functions and counters are read",
    "4": "global operation records passed over",
}
# Types of events whose values are calls of MPI.
_CALLS = frozenset({"50000001", "50000002", "50000003", "50000004", "50000005"})
_USER_FUNCTIONS = 60_000_019  # a value other than 0 enters a function, 0 leaves the innermost one


class StateRecords:
    """The state records of a trace, and what its other lines are."""

    def __init__(self, source: str, threads: Sequence[Sequence[int]], time_unit: str) -> None:
        self._source, self._unit = source, time_unit
        self.locations = [
            f"{application}.{task}.{thread}"
            for application, tasks in enumerate(threads, start=1)
            for task, count in enumerate(tasks, start=1)
            for thread in range(1, count + 1)
        ]
        self._tasks = np.array([0, *itertools.accumulate(map(len, threads))])
        self._threads = np.array([0, *itertools.accumulate(count for tasks in threads for count in tasks)])
        self._location_codes: dict[str, int] = {}
        self._last_end = np.full(len(self.locations), _NEVER)
        self._state_codes = np.full(_QUICK_STATES, -1, np.int32)
        self._other_states: dict[int, int] = {}
        self._counts = np.full(256, -1)
        self._counts[list(_PASSED_OVER + b"\n")] = 0
        self._cursor = np.zeros(4, np.int64)

    @property
    def in_order(self) -> bool:
        """Whether no state begins before the one before it at its location ends."""
        return not self._cursor[DISORDER]

    @property
    def states(self) -> list[int]:
        """Numbers of the states that occur, by their code."""
        codes = {int(self._state_codes[number]): int(number) for number in np.flatnonzero(self._state_codes >= 0)}
        codes |= {code: number for number, code in self._other_states.items()}
        return [codes[code] for code in range(len(codes))]

    def count(self, kind: str) -> int:
        return int(self._counts[ord(kind)])

    def blocks(self, source: Source, n_rows: int) -> Iterator[Columns]:
        """Yield columns ``location, state, start_ns, end_ns`` of ``n_rows`` but for the last; states as codes."""
        types = {"location": np.int32, "state": np.int32, "start_ns": np.int64, "end_ns": np.int64}
        columns: Columns = {name: np.empty(n_rows, dtype) for name, dtype in types.items()}
        for text, end in whole_lines(source, f"reading {self._source}"):
            self._refuse_undecodable(text, end)
            start = 0
            while start < end:
                start = self._take(text, start, end, columns)
                if self._cursor[ROW] == n_rows:
                    yield columns
                    columns = {name: np.empty(n_rows, dtype) for name, dtype in types.items()}
                    self._cursor[ROW] = 0
            if len(text) - end > _LARGEST_LINE:
                raise self._error(f"the line is longer than {_LARGEST_LINE >> 20} MiB; the file is damaged", 1)
        if row := int(self._cursor[ROW]):
            yield {name: column[:row] for name, column in columns.items()}

    def _take(self, text: bytes, start: int, end: int, columns: Columns) -> int:
        """Take some lines from ``start`` on; tell where the next one begins."""
        if end >= _COMPILED_FROM:
            codes = self._state_codes, self._last_end, self._counts, self._cursor
            block, unit_ns = np.frombuffer(text, np.uint8), nanoseconds_per(self._unit)
            start = _scan(block, start, end, self._tasks, self._threads, unit_ns, *codes, *columns.values())
            if start == end or self._cursor[ROW] == len(columns["state"]):
                return start
        after = text.index(b"\n", start) + 1
        self._cursor[LINE] += 1
        if self._counts[text[start]] >= 0:
            self._counts[text[start]] += 1
        elif (line := text[start:after].decode()).strip():
            row = self._cursor[ROW]
            for column, value in zip(columns.values(), self._state(line), strict=True):
                column[row] = value
            self._cursor[ROW] += 1
        return after

    def _refuse_undecodable(self, text: bytes, end: int) -> None:
        if text.isascii():
            return
        try:
            text[:end].decode()
        except UnicodeDecodeError as error:
            raise self._error(f"is no UTF-8: {error.reason}", 1 + text.count(b"\n", 0, error.start)) from None

    def _state(self, line: str) -> tuple[int, int, int, int]:
        """Return the location, state, start and end of a state record that is not as most are."""
        text = line.rstrip("\r\n")
        fields = text.split(":")
        if fields[0] != "1":
            raise self._error(f"{text[:60]!r} is no record of Paraver; the file is damaged")
        if len(fields) != FIELDS:
            problem = f"state record has {len(fields)} fields, expected {FIELDS}"
            raise self._error(f"{problem}; the file is cut short or is not Paraver 2")
        name, (begin, until, state) = ".".join(fields[2:5]), fields[5:]
        start_ns, end_ns = self._time("start", begin), self._time("end", until)
        if end_ns < start_ns:
            problem = f"the state of {name[:40]!r} ends at {until.strip()}, before it starts at {begin.strip()}"
            raise self._error(problem)
        place, code = self._location(name), self._state_code(state)
        if end_ns > start_ns:
            self._cursor[DISORDER] |= start_ns < self._last_end[place]
            self._last_end[place] = end_ns
        return place, code, start_ns, end_ns

    def _time(self, role: str, text: str) -> int:
        try:
            return parse_ns(text.strip(), self._unit, self._source, 0)
        except InputError:
            problem = f"the {role} is {text[:40]!r}; a finite number within 64 bits of nanoseconds is expected"
            raise self._error(problem) from None

    def _state_code(self, text: str) -> int:
        number = text.strip()
        if not (number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS):
            raise self._error(f"the state is {text[:40]!r}; a whole number is expected")
        if int(number) >= _LARGEST_STATE:
            raise self._error(f"the state is {text[:40]!r}; a number below {_LARGEST_STATE} is expected")
        if int(number) < _QUICK_STATES:
            code = int(self._state_codes[int(number)])
            if code < 0:
                code = self._state_codes[int(number)] = self._next_state()
            return code
        if int(number) not in self._other_states:
            self._other_states[int(number)] = self._next_state()
        return self._other_states[int(number)]

    def _next_state(self) -> int:
        code = int(self._cursor[MET])
        self._cursor[MET] += 1
        return code

    def _location(self, name: str) -> int:
        if not self._location_codes:
            self._location_codes = {location: code for code, location in enumerate(self.locations)}
        code = self._location_codes.setdefault(name, len(self.locations))
        if code == len(self.locations):
            self.locations.append(name)
            self._last_end = np.append(self._last_end, _NEVER)
        return code

    def _error(self, problem: str, ahead: int = 0) -> InputError:
        """Return the error about the line that was passed last, or about one ahead of it."""
        return InputError(self._source, problem, line=int(self._cursor[LINE]) + ahead)


# Extrae writes a reading of a counter as an event of type 42000000 plus PAPI's number, counted from the last reading.
# Source: Paraver's trace description, the event types of Extrae (BSC), PAPI's presets (papiStdEventDefs.h).


def _counter_types(types: Mapping[int, str]) -> dict[str, int]:
    """Return names of counters with their types; the usual ones without names."""
    named: dict[str, int] = {}
    for number, text in types.items():
        if number in _TYPES and text.split() and _SET not in text:
            preset = _PRESET.search(text)
            named.setdefault(preset[0] if preset else text.split()[0], number)
    return named if types else USUAL


def read_function_changes(read_events: EventReader, n_locations: int, names: Mapping[int, str]) -> FunctionChanges:
    """Read which user function each location is in: the innermost one that was entered and not left."""
    events = read_events((_USER_FUNCTIONS,))
    events = events[np.lexsort((np.arange(len(events)), events[:, 1], events[:, 0]))]
    numbers = sorted({*events[:, 3].tolist()} - {0})
    codes = {number: code for code, number in enumerate(numbers)}
    entered = np.zeros((len(numbers), n_locations), np.int64)
    stack: list[int] = []
    current, innermost = -1, np.empty(len(events), np.int64)
    for row, (location, value) in enumerate(zip(events[:, 0].tolist(), events[:, 3].tolist(), strict=True)):
        if location != current:
            current, stack = location, []
        if value:
            stack.append(codes[value])
            entered[codes[value], location] += 1
        elif stack:
            stack.pop()
        innermost[row] = stack[-1] if stack else -1
    called = tuple(names.get(number, f"function {number}") for number in numbers)
    return FunctionChanges(events[:, 0].copy(), events[:, 1].copy(), innermost, called, entered)


@dataclass(frozen=True)
class _Header:
    """What the first line says."""

    time_unit: str
    duration_ns: int
    threads: tuple[tuple[int, ...], ...]  # of each task of each application
    nodes: Mapping[str, str]  # by ``application.task``; empty where unknown


class ParaverReader(Reader):
    """Read states of the threads of a ``.prv`` of Extrae, Dimemas or MPItrace; a thread computes while `Running`."""

    parts: ClassVar[tuple[str, ...]] = (".pcf", ".row")

    def sniff(self, source: Source) -> float:
        """Sure by the first word; the files of names, which have none, are known by their endings."""
        if source.head.startswith(_MAGIC):
            return 1.0
        return 0.5 if source.suffix in self.parts else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        if source.suffix in self.parts and not source.head.startswith(_MAGIC):
            raise InputError(source.name, "holds names for a Paraver trace; name the .prv file instead")
        with source.open() as stream:
            first = stream.readline(_LONGEST_HEADER)
            header = _header(first.decode(errors="replace").strip(), source.name)
        return _read(source, header, _names(source))


def _header(line: str, source: str) -> _Header:
    match = _HEADER.fullmatch(line)
    if match is None:
        problem = f"{line[:60]!r} is no header of Paraver; expected #Paraver (date):duration:nodes:..."
        raise InputError(source, problem, line=1)
    unit = match["unit"] or "us"
    threads: list[tuple[int, ...]] = []
    nodes: dict[str, str] = {}
    # The nodes come first, "4(1,1,1,1)" or just "4", then the number of applications, then each application.
    _, separator, applications = re.sub(r"^[0-9]+(\([0-9,\s]*\))?", "", match["rest"]).lstrip(":").partition(":")
    for application in _APPLICATION.finditer(applications):
        tasks = [part.partition(":") for part in application["threads"].split(",") if part.strip()]
        counts = [count for count, _, _ in tasks]
        for task, count in enumerate(counts, start=1):
            if not count.strip().isdecimal() or len(count) > 7:
                raise InputError(source, f"the header has {count[:20]!r} threads in task {task}", line=1)
        threads.append(tuple(map(int, counts)))
        nodes |= {f"{len(threads)}.{task}": node.strip() for task, (_, _, node) in enumerate(tasks, start=1)}
    if (n_threads := sum(map(sum, threads))) > _MOST_THREADS:
        raise InputError(source, f"the header has {n_threads} threads, more than {_MOST_THREADS}", line=1)
    if not separator:
        raise InputError(source, f"the header {line[:60]!r} names no applications; the file is cut short", line=1)
    return _Header(unit, parse_ns(match["duration"], unit, source, 1), tuple(threads), nodes)


@dataclass
class _Names:
    """What the ``.pcf`` of a trace calls states (None if there is no such file), calls, types of events, functions."""

    states: dict[str, str] | None = None
    calls: dict[int, str] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)


def _names(source: Source) -> _Names:
    if source.is_stdin:
        return _Names()
    stem = re.sub(r"\.prv$", "", without_compressed_ending(source.path.name), flags=re.IGNORECASE)
    try:
        lines = source.path.with_name(f"{stem}.pcf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return _Names()
    names = _Names()
    states: dict[str, str] = {}
    section, types = "", set[str]()
    for line in lines:
        words = line.split(None, 2)
        if section == "STATES" and len(words) >= 2 and words[0].isdecimal():
            states[words[0]] = line.split(None, 1)[1].strip()
        elif section == "EVENT_TYPE" and len(words) >= 2 and words[1].isdecimal():
            types.add(words[1])
            if len(words) > 2 and len(words[1]) <= MOST_DIGITS:
                names.types[int(words[1])] = words[2].strip()
        elif section == "VALUES" and len(words) >= 2 and words[0].isdecimal():
            if types & _CALLS:
                names.calls[int(words[0])] = line.split(None, 1)[1].strip()
            elif str(_USER_FUNCTIONS) in types and words[0] != "0":
                names.functions[int(words[0])] = line.split(None, 1)[1].strip()
        elif words:
            section = words[0]
            types = types if section == "VALUES" else set()
    names.states = states or None
    return names


def _outside_of_calls(communication: Communication) -> Columns:
    """Return states of locations that call: 0 between calls, and the operation from 1 on in each."""
    calls, first = communication.calls, communication.first_call
    has_calls = first[1:] > first[:-1]
    begins = np.insert(calls.leave_ns, first[:-1][has_calls], 0)
    ends = np.insert(calls.enter_ns, first[1:][has_calls], communication.end_ns[has_calls])
    places = np.insert(calls.location, first[:-1][has_calls], np.flatnonzero(has_calls))
    columns: Columns = {
        "location": np.concatenate([places, calls.location]),
        "state": np.concatenate([np.zeros_like(places), calls.operation + 1]),
        "start_ns": np.concatenate([begins, calls.enter_ns]),
        "end_ns": np.concatenate([ends, calls.leave_ns]),
    }
    order = np.lexsort((columns["start_ns"], columns["location"]))
    lasting = order[(columns["end_ns"] > columns["start_ns"])[order]]
    return {name: column[lasting] for name, column in columns.items()}


def _read(source: Source, header: _Header, named: _Names) -> Trace:
    records, store = StateRecords(source.name, header.threads, header.time_unit), IntervalStore(source.name)
    for columns in records.blocks(source, IN_MEMORY_ROWS):
        store.add(columns)

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        with source.plain_file() as path:
            line, text = line_of_record(path, lambda text: text.startswith("1"), row)
        fields = [*text.split(":"), *[""] * _FIELDS]
        return line, {"location": ".".join(fields[2:5]), "start": fields[5], "end": fields[6], "state": fields[7]}

    if not records.in_order:
        store.refuse_overlaps(at_row)
    numbers = [str(number) for number in records.states]
    # Tracers use numbers that their own .pcf leaves out (a synchronization state 15 is common).
    state_names = _DEFAULT_STATES if named.states is None else named.states
    names = [state_names.get(number, f"State {number}") for number in numbers]
    notes = [f"{count} {description}" for kind, description in _PASSED_NOTES.items() if (count := records.count(kind))]
    where = header.threads, nanoseconds_per(header.time_unit)

    @functools.cache
    def read_messages() -> Communication:
        with once_more(source.name):
            found = paraver_messages.read_communication(source, records.locations, *where, named.calls)
        if not records.states:  # nor ends of states
            calls = np.diff(found.first_call) > 0
            found = replace(found, end_ns=np.where(calls, np.maximum(found.end_ns, header.duration_ns), found.end_ns))
        return found

    if not records.states and records.count("2") and len((communication := read_messages()).calls):
        numbers, names = ["1", *map(str, range(2, 2 + len(communication.calls.operations)))], ["Running"]
        names += communication.calls.operations
        store.add(_outside_of_calls(communication))
        notes.append("no states: those of a location that calls MPI are its calls, and Running outside of them")
    elif named.states is None:
        notes.append("no .pcf found: the states have their usual names")
    elif unnamed := [number for number in sorted(numbers, key=int) if number not in named.states]:
        notes.append(f"states without a name in the .pcf: {', '.join(unnamed)}")
    nodes = [header.nodes.get(name.rpartition(".")[0], "") for name in records.locations]
    levels = {"node": [f"node {node}" for node in nodes]} if all(nodes) else {}
    facts: dict[str, Any] = {"time_unit": header.time_unit, "span_ns": (0, header.duration_ns)}
    trace = store.trace(records.locations, numbers, names, **facts, notes=notes, levels=levels)
    if not (records.count("2") and header.threads):
        return trace

    def read_events(types: Sequence[int]) -> Ints:
        events, *_ = paraver_messages.read_records(source, len(records.locations), *where, types)
        return events[events[:, 0] >= 0]

    def read_functions() -> FunctionChanges:
        with once_more(source.name):
            return read_function_changes(read_events, len(records.locations), named.functions)

    carry(trace, read_messages)
    if named.functions:
        trace.facts[FUNCTIONS] = functools.cache(read_functions)
    if not Path(source.name).is_file():  # what comes through a pipe is gone later
        communication_of(trace)
        if named.functions:
            trace.facts[FUNCTIONS]()
    counters = _counter_types(named.types)

    def read_counters(names: Sequence[str]) -> dict[str, Readings]:
        events = read_events([counters[name] for name in names])
        rows = {name: events[events[:, 2] == counters[name]] for name in names}
        return {name: Readings.of(own[:, 0], own[:, 1], own[:, 3]) for name, own in rows.items()}

    carry_counters(trace, tuple(counters), source.name, read_counters)
    return trace
