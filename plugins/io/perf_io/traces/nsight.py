"""Nsight Systems: the SQLite export of a report (``nsys export --type sqlite``).

Read are kernels, CUDA graphs, copies and memory sets by device and stream, or calls of CUDA and MPI (without any,
ranges of NVTX) by process and thread; of overlapping intervals the one counts that began last. If calls are recorded
too, gaps tell whether a stream waits for the host, and the file is also read as Kineto's of the same run, for
operators, launches and replays.

Source: "Nsight Systems, Analysis guide", sections "SQLite schema reference" and "CUDA graph trace".
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perf_io.options import GpuOptions
from perf_io.traces.chrome import with_calls
from perf_io.traces.converted import Converted, Row
from perf_io.traces.intervals import OUTSIDE, UNKNOWN_NS, WITHOUT_LAUNCHES, add_launch_gaps, latest_running, launch_ends
from perf_io.traces.trace_events import calls_by_name
from perf_traces.nesting import BACKGROUND, Nesting, keep_nesting, nesting_of_pieces
from perf_traces.options import recorded_by
from perfcore.base import progress
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import Reader, Source

_MAGIC = b"SQLite format 3\0"
_BATCH = 1 << 16
_LARGEST_NS = 1 << 62
_STEPS_PER_CHECK, _MOST_CHECKS = 1_000_000, 100_000  # of SQLite's virtual machine: hours, on real data
_UNKNOWN = "(unnamed)"
_COPIES = {"CUPTI_ACTIVITY_KIND_MEMCPY": "[CUDA memcpy]", "CUPTI_ACTIVITY_KIND_MEMSET": "[CUDA memset]"}
# `enum CUpti_ActivityMemcpyKind`, as `nsys stats` names them.
_DIRECTIONS = {1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device", 10: "Peer-to-Peer"}
_KERNELS, _CALLS, _RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
# Unless nodes were asked for, the kernels of a graph are recorded as one interval, and not among the kernels.
_GRAPHS, _GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUDA graph"
_SYNCS, _EVENTS, _GPUS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "TARGET_INFO_GPU"
# `enum CUpti_ActivitySynchronizationType`, by Kineto's names.
_SYNC_KINDS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_VERSION = re.compile(r"_v\d+(?:_ptsz)?$")  # of a call of CUDA
_TABLES = re.compile(
    rb"CUPTI_ACTIVITY_KIND|NVTX_EVENTS|MPI_[A-Z0-9_]*_EVENTS|META_DATA_EXPORT|ENUM_NSYS_EVENT|TARGET_INFO_"
)
_MPI_OF_THREADS = "calls of MPI are those of threads: --locations thread reads them"
_MPI_TABLES = ("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS")
_BEGINS, _RANKS = "TARGET_INFO_SESSION_START_TIME", "MPI_RANKS"
_ENDED = "end IS NOT NULL AND eventType IN (59, 60)"  # ranges of NVTX: pushed and popped, started and ended
_MOST_MARKERS = 100_000  # that are kept
# A globalTid is hardware, virtual machine, process and thread in 8, 8, 24 and 24 bits.
_PROCESS_SHIFT, _ID_MASK = 24, 0xFFFFFF
_CORRELATION_BITS = 32
_LARGEST_CORRELATION = (1 << _CORRELATION_BITS) - 1


class NsightReader(Reader):
    """Read kernels on GPU streams, or CUDA calls of threads, of reports of ``nsys profile``."""

    Options = GpuOptions

    def sniff(self, source: Source) -> float:
        """Sure by SQLite's first bytes and the names of the tables; likely by the ending of an export."""
        if not source.head.startswith(_MAGIC):
            return 0.0
        if _TABLES.search(source.head):
            return 0.95
        # The definitions of an export's many tables may all stand beyond the head.
        return 0.3 if source.suffix == ".sqlite" else 0.0

    def read(self, source: Source, options: GpuOptions) -> Trace:
        with source.plain_file() as path, _opened(path, source.name) as connection:
            return _Export(connection, source.name).trace(options)

    def convert(self, source: Source) -> Source:
        """Return what Kineto would have written; ranges of NVTX and calls of MPI are operators."""
        with source.plain_file() as path, _opened(path, source.name) as connection:
            return _Export(connection, source.name).converted(source)


@contextlib.contextmanager
def _opened(path: Path, source: str) -> Iterator[sqlite3.Connection]:
    """The database, which is neither written nor believed: no functions in its schema run, no query takes for ever."""
    checks = 0

    def check() -> int:
        nonlocal checks
        checks += 1
        return checks > _MOST_CHECKS

    try:
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.set_progress_handler(check, _STEPS_PER_CHECK)
            yield connection
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        problem = f"is no SQLite database of Nsight Systems, or damaged: {' '.join(str(error).split())}"
        raise InputError(source, problem) from None


class _Location(NamedTuple):
    """A stream of a device, or a thread; of a process each."""

    process: int
    device: int
    member: int
    stream: bool

    def label(self, several_processes: bool) -> str:
        """Return its name; processes number their devices and streams alike, so that several need their own."""
        if not self.stream:
            return f"process {self.process} / thread {self.member}"
        stream = f"GPU {self.device} / stream {self.member}"
        return f"process {self.process} / {stream}" if several_processes else stream


class _Export:
    def __init__(self, connection: sqlite3.Connection, source: str) -> None:
        self._connection, self._source = connection, source
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self._tables = {str(name) for (name,) in tables}
        self._gpu_tables = self._tables & {_KERNELS, _GRAPHS, *_COPIES}
        self._locations: dict[_Location, int] = {}
        self._states: dict[str, int] = {}
        self._pieces: list[Ints] = []
        self._process_known = all("globalPid" in self._columns(table) for table in self._gpu_tables)
        self._unended = 0
        self._only_ranges = False

        if not self._gpu_tables and not self._tables & {_CALLS, _RANGES, *_MPI_TABLES}:
            problem = "holds none of the tables that Nsight Systems exports of GPUs, CUDA, MPI or NVTX"
            raise InputError(self._source, problem)

    def converted(self, source: Source) -> Source:
        kinds = {_KERNELS: "kernel", _GRAPHS: "kernel", "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_memcpy",
                 "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_memset", _CALLS: "cuda_runtime", _RANGES: "cpu_op",
                 **dict.fromkeys(_MPI_TABLES, "cpu_op")}  # fmt: skip
        taken = {table: self._taken(table) for table in kinds}
        keys, states = list(self._locations), list(self._states)
        processes = {key.process: None for key in keys if key.stream}
        numbers = {key.process: number for number, key in enumerate(keys)}

        def place(process: int, device: int) -> int | str:
            return device if len(processes) < 2 else f"process {process} / GPU {device}"

        def rows() -> Iterator[Row]:
            for table, category in kinds.items():
                categories = ("user_annotation", category) if table == _RANGES else (category,)
                for code, state, start, end, correlation in map(np.ndarray.tolist, taken.pop(table)):
                    key = keys[code]
                    pid = place(key.process, key.device) if key.stream else f"process {key.process}"
                    number = correlation + (numbers[key.process] << _CORRELATION_BITS) if correlation >= 0 else 0
                    for each in categories:
                        yield each, states[state], pid, key.member, start, end, number
            yield from self._syncs(place, numbers)

        names = {}
        if _GPUS in self._tables and {"id", "name"} <= self._columns(_GPUS):
            names = dict(self._connection.execute(f"SELECT id, name FROM {_GPUS} WHERE typeof(name) = 'text'"))
        starts = [int(events[:, 2].min()) for events in taken.values() if len(events)]
        return Converted(source, rows(), names, "kernels, copies, calls or ranges", min(starts, default=None))

    def _syncs(self, place: Callable[[int, int], int | str], numbers: Mapping[int, int]) -> Iterator[Row]:
        """Yield what the host and streams wait for; of an event the last record of it before, if events are traced."""
        needed = {"deviceId", "streamId", "correlationId", "globalPid", "eventId", "contextId"}
        if _SYNCS not in self._tables or not needed <= self._columns(_SYNCS):
            return
        known = _EVENTS in self._tables and needed <= self._columns(_EVENTS)
        of_event = "a.globalPid = b.globalPid AND a.contextId = b.contextId AND a.eventId = b.eventId"
        recorded = f"SELECT {{}} FROM {_EVENTS} a WHERE {of_event} AND a.correlationId < b.correlationId"
        fields = [f"({recorded} ORDER BY a.correlationId DESC LIMIT 1)" if known else "NULL"] * 2
        columns = ", ".join(fields).format("a.correlationId", "a.streamId") if known else "NULL, NULL"
        for start, end, process, device, stream, number, kind, record, awaited in self._connection.execute(
            f"SELECT start, end, globalPid >> {_PROCESS_SHIFT} & {_ID_MASK}, deviceId, streamId, correlationId, "
            f"syncType, {columns} FROM {_SYNCS} b WHERE typeof(start + end + correlationId + streamId) = 'integer'"
        ):
            if process not in numbers:
                continue
            name, base = _SYNC_KINDS.get(kind, "Sync"), numbers[process] << _CORRELATION_BITS
            is_event = kind in (1, 2) and record is not None
            yield ("cuda_sync", name, place(process, device), -1, start, end, {
                "correlation": number + base, "cuda_sync_kind": name, "device": place(process, device),
                "stream": stream if kind in (2, 3) else -1, "wait_on_stream": awaited if is_event else None,
                "wait_on_cuda_event_record_corr_id": record + base if is_event else -1,
            })  # fmt: skip

    def _taken(self, table: str) -> Ints:
        """Return the events of a table: location, state, begin, end and correlation."""
        if table in self._gpu_tables:
            self._take_streams(table)
        else:
            self._take_threads(table)
        pieces, self._pieces = self._pieces, []
        return np.concatenate([np.zeros((0, 5), np.int64), *pieces])

    def trace(self, options: GpuOptions) -> Trace:
        location_kind = recorded_by(options.locations, bool(self._gpu_tables))
        if location_kind != "threads":
            for table in (_KERNELS, _GRAPHS, *_COPIES):
                self._take_streams(table)
        if location_kind != "streams":
            # Ranges are what a user added to the calls; without any calls they are all that is known of a thread.
            self._only_ranges = not self._tables & {_CALLS, *_MPI_TABLES} and _RANGES in self._tables
            for table in (_RANGES,) if self._only_ranges else (_CALLS, *_MPI_TABLES):
                self._take_threads(table)
            if self._tables & {*_MPI_TABLES} or not (self._gpu_tables or self._only_ranges):
                self._fill_threads()
        if not self._pieces:
            missing = {"streams": "kernels", "threads": "calls of CUDA or MPI, or NVTX ranges"}.get(location_kind)
            missing = missing or "kernels and calls"
            raise InputError(self._source, f"contains no {missing}; export the report again with them")
        location, state, start, end, correlation = np.concatenate(self._pieces).T
        del self._pieces
        piece, first, last = latest_running(location, start, end)
        if not len(piece):
            raise InputError(self._source, "contains no interval that lasts")
        callers, is_call = nesting_of_pieces(start, end, piece, first, last)
        callers = callers[state[callers] != self._states.get(OUTSIDE, -1)]
        location_codes, place = np.unique(location[piece], return_inverse=True)
        callers = callers[np.isin(location[callers], location_codes)]
        labels = list(self._states)
        keys = list(self._locations)
        codes, launched = state[piece], self._launched(location, correlation, keys)[piece]
        has_launches = bool((launched > UNKNOWN_NS).any())
        if has_launches:
            columns = add_launch_gaps(place, codes, first, last, is_call, launched, int(first.min()), labels)
            place, codes, first, last, is_call = columns
        several = len({key.process for key in keys if key.stream}) > 1
        locations = [keys[code] for code in location_codes.tolist()]
        trace = Trace(
            place, codes, first, last, [key.label(several) for key in locations], labels, time_unit="us",
            source=self._source,
            facts=self._facts() | ({BACKGROUND: OUTSIDE} if OUTSIDE in self._states else {}),
            notes=[
                *([f"{self._unended} intervals without an end passed over"] if self._unended else []),
                *([WITHOUT_LAUNCHES] if location_kind != "threads" and not has_launches else []),
                *([_MPI_OF_THREADS] if location_kind == "streams" and self._tables & {*_MPI_TABLES} else []),
                *(["there are no CUDA calls: NVTX ranges are read as states of threads"] if self._only_ranges else []),
            ],
            markers=[] if self._only_ranges or _RANGES not in self._tables else self._markers(),
            levels=self._levels(locations, several),
        )  # fmt: skip
        where = np.searchsorted(location_codes, location[callers]).astype(np.int32)
        nesting = Nesting(where, state[callers].astype(np.int32), start[callers], end[callers], is_call)
        keep_nesting(trace, nesting)
        if location_kind == "threads":
            return trace
        codes_of_place = np.searchsorted(location_codes, location)
        codes_of_place[~np.isin(location, location_codes)] = -1
        return with_calls(trace, calls_by_name(labels, codes_of_place, state, start, end))

    def _facts(self) -> dict[str, int]:
        """Return the moment of time 0, and the rank, if the file says when the session began and is of one rank."""
        facts = {}
        if _BEGINS in self._tables and "utcEpochNs" in self._columns(_BEGINS):
            row = self._connection.execute(f"SELECT utcEpochNs FROM {_BEGINS}").fetchone()
            facts = {"epoch_ns": row[0]} if row is not None and type(row[0]) is int else {}
        if _RANKS in self._tables:
            ranks = self._connection.execute(f"SELECT DISTINCT rank FROM {_RANKS} LIMIT 2").fetchall()
            if len(ranks) == 1 and type(ranks[0][0]) is int and ranks[0][0] >= 0:
                facts["rank"] = ranks[0][0]
        return facts

    def _levels(self, keys: list[_Location], several: bool) -> dict[str, list[str]]:
        """Return GPU and process of each location, as far as the export has them."""
        processes = [f"process {key.process}" if self._process_known or not key.stream else "" for key in keys]
        devices = [key.label(several).rpartition(" / ")[0] if key.stream else "" for key in keys]
        return {level: names for level, names in (("device", devices), ("process", processes)) if any(names)}

    def _launched(self, location: Ints, correlation: Ints, keys: list[_Location]) -> Ints:
        """Return when the call that launched each interval had returned; both share a number in their process."""
        unknown = np.full(len(location), UNKNOWN_NS, np.int64)
        if _CALLS not in self._tables or "correlationId" not in self._columns(_CALLS):
            return unknown
        caller = f"globalTid >> {_PROCESS_SHIFT} & {_ID_MASK}"
        [(callers,)] = self._connection.execute(f"SELECT COUNT(DISTINCT {caller}) FROM {_CALLS}").fetchall()
        if not self._process_known and callers > 1:
            return unknown
        rows = self._connection.execute(
            f"SELECT {caller if self._process_known else 0}, correlationId, MIN(end) FROM {_CALLS} WHERE "
            "typeof(end) = 'integer' AND typeof(correlationId) = 'integer' "
            f"AND correlationId BETWEEN 0 AND {_LARGEST_CORRELATION} AND end BETWEEN 1 AND {_LARGEST_NS} "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        )
        calls = np.array(rows.fetchall(), np.int64).reshape(-1, 3)
        numbers = calls[:, 0] << _CORRELATION_BITS | calls[:, 1]
        processes = np.array([key.process if self._process_known else 0 for key in keys], np.int64)
        is_piece = np.array([key.stream for key in keys])[location] & (correlation >= 0)
        wanted = np.where(is_piece, processes[location] << _CORRELATION_BITS | correlation, -1)
        return launch_ends(numbers, calls[:, 2], wanted)

    def _take_streams(self, table: str) -> None:
        if table not in self._tables:
            return
        columns = self._columns(table)
        if table == _GRAPHS:
            named = f"'{_GRAPH} ' || graphId" if "graphId" in columns else f"'{_GRAPH}'"
        elif table in _COPIES:
            named = f"'{_COPIES[table]}'"
            if "copyKind" in columns:
                cases = " ".join(f"WHEN {kind} THEN '[CUDA memcpy {way}]'" for kind, way in _DIRECTIONS.items())
                named = f"CASE copyKind {cases} ELSE {named} END"
        else:
            named = self._name_of(table, ("demangledName", "shortName", "mangledName"))
        process = f"COALESCE(globalPid >> {_PROCESS_SHIFT} & {_ID_MASK}, 0)" if self._process_known else "0"
        number = "correlationId" if "correlationId" in columns else "NULL"
        fields = f"start, end, {process}, deviceId, streamId, {named}, {number}"
        self._take(table, f"SELECT {fields} FROM {table}", stream=True)

    def _markers(self) -> list[tuple[str, int, int]]:
        rows = self._connection.execute(
            f"SELECT {self._label_of(_RANGES)}, start, end FROM {_RANGES} WHERE {_ENDED} AND start <= end "
            f"ORDER BY start LIMIT {_MOST_MARKERS}"
        )
        return [(_UNKNOWN if name is None else str(name), start, end) for name, start, end in rows]

    def _label_of(self, table: str) -> str:
        """Return SQL for the name of a call or a range, which may be a text instead."""
        name = self._name_of(table, ("nameId", "textId"))
        return f"COALESCE(text, {name})" if table == _RANGES and "text" in self._columns(table) else name

    def _take_threads(self, table: str) -> None:
        if table not in self._tables:
            return
        names = self._label_of(table)
        ranges = f" WHERE {_ENDED}" if table == _RANGES else "" if table == _CALLS else " WHERE end IS NOT NULL"
        process, thread = f"globalTid >> {_PROCESS_SHIFT} & {_ID_MASK}", f"globalTid & {_ID_MASK}"
        distinct = "DISTINCT" * (table in _MPI_TABLES)  # a call that waits for several requests has a row for each
        number = "correlationId" if table == _CALLS and "correlationId" in self._columns(table) else "NULL"
        fields = f"start, end, {process}, 0, {thread}, {names}, {number}"
        self._take(table, f"SELECT {distinct} {fields} FROM {table}{ranges}", stream=False)

    def _fill_threads(self) -> None:
        """Let threads compute outside of all calls, between the first and the last one: where no GPU's work is."""
        rows = np.concatenate([np.zeros((0, 5), np.int64), *self._pieces])
        threads = [code for key, code in self._locations.items() if not key.stream]
        first = np.full(len(self._locations), _LARGEST_NS)
        last = np.full(len(self._locations), -_LARGEST_NS)
        np.minimum.at(first, rows[:, 0], rows[:, 2])
        np.maximum.at(last, rows[:, 0], rows[:, 3])
        state = self._states.setdefault(OUTSIDE, len(self._states))
        intervals = [(code, state, first[code], last[code], -1) for code in threads]
        # Intervals in which others lie come first.
        self._pieces.insert(0, np.array(intervals, np.int64).reshape(-1, 5))

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')}

    def _name_of(self, table: str, columns: tuple[str, ...]) -> str:
        """Return SQL for the name of a row: the first of the columns that the version of the export has, as a text."""
        name_column = next((column for column in columns if column in self._columns(table)), None)
        if name_column is None or "StringIds" not in self._tables:
            return f"'{_UNKNOWN}'"
        return f"(SELECT value FROM StringIds WHERE id = {table}.{name_column})"

    def _take(self, table: str, query: str, *, stream: bool) -> None:
        row = 0
        rows = self._connection.execute(query)
        with progress.bar(f"reading {self._source}") as advance:
            while batch := rows.fetchmany(_BATCH):
                intervals = []
                for start, end, process, device, member, name, number in batch:
                    row += 1
                    all_integers = all(type(value) is int for value in (start, end, process, device, member))
                    if all_integers and end == 0 < start:  # the program ended, or was killed, before the work
                        self._unended += 1
                        continue
                    if not all_integers or not -_LARGEST_NS < start <= end < _LARGEST_NS:
                        place_text = f"{'stream' if stream else 'thread'} {str(member)[:24]!r}"
                        problem = f"has a row from {str(start)[:24]!r} to {str(end)[:24]!r} ns on {place_text}"
                        cure = "whole numbers in order are expected"
                        raise InputError(self._source, f"{table} {problem}; {cure}", line=row)
                    label = _UNKNOWN if name is None else _VERSION.sub("", str(name))
                    key = _Location(process, device, member, stream)
                    place = self._locations.setdefault(key, len(self._locations))
                    correlation = number if type(number) is int and 0 <= number <= _LARGEST_CORRELATION else -1
                    state = self._states.setdefault(label, len(self._states))
                    intervals.append((place, state, start, end, correlation))
                self._pieces.append(np.array(intervals, np.int64).reshape(-1, 5))
                advance(len(batch))
