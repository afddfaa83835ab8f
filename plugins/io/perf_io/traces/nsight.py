"""Nsight Systems: the SQLite export of a report (``nsys export --type sqlite``).

Read are kernels, copies and memory sets of GPUs (``CUPTI_ACTIVITY_KIND_KERNEL``, ``_MEMCPY``, ``_MEMSET``) by device
and stream, or calls of the CUDA runtime and ranges of NVTX (``CUPTI_ACTIVITY_KIND_RUNTIME``, ``NVTX_EVENTS``) by
process and thread. Names come from ``StringIds``. Where intervals of one location overlap, the one counts that began
last. Times are nanoseconds from the start of the session.

Source: "Nsight Systems, Analysis guide", section SQLite schema reference.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perf_io.traces.interval_kernels import latest_running
from perf_io.traces.regions import busy_regions, waiting_option
from perfcore import progress
from perfcore.contracts import Reader
from perfcore.errors import InputError
from perfcore.options import option
from perfcore.source import Source
from perfcore.trace import Trace

__all__ = ["NsightReader"]

_MAGIC = b"SQLite format 3\0"
_BATCH = 1 << 16
_LARGEST_NS = 1 << 62
_STEPS_PER_CHECK, _MOST_CHECKS = 1_000_000, 100_000  # of SQLite's virtual machine: hours, on real data
_UNKNOWN = "(unnamed)"
_COPIES = {"CUPTI_ACTIVITY_KIND_MEMCPY": "copy", "CUPTI_ACTIVITY_KIND_MEMSET": "memory set"}
_KERNELS, _CALLS, _RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
_PUSH_POP, _START_END = 59, 60  # types of NVTX events that have an end
# A globalTid is hardware, virtual machine, process and thread in 8, 8, 24 and 24 bits.
_PROCESS_SHIFT, _ID_MASK = 24, 0xFFFFFF


@dataclass(frozen=True)
class NsightOptions:
    """What to read, as a report holds both sides."""

    locations: str = option(
        "auto",
        "whose work to read: streams of GPUs, threads, or both; auto: streams if there are any, else threads",
        choices=("auto", "streams", "threads", "both"),
    )
    waiting: tuple[str, ...] = waiting_option()


class NsightReader(Reader):
    """Kernels on GPU streams, or CUDA calls and NVTX ranges of threads.

    Choose it for reports of ``nsys profile``. A stream computes in kernels, not in copies and memory sets; a thread
    computes outside of the regions that wait.
    """

    Options = NsightOptions

    def sniff(self, source: Source) -> float:
        """Sure by SQLite's first bytes and the names of the tables."""
        if not source.head.startswith(_MAGIC):
            return 0.0
        return 0.95 if b"CUPTI_ACTIVITY_KIND" in source.head or b"NVTX_EVENTS" in source.head else 0.0

    def read(self, source: Source, options: NsightOptions) -> Trace:
        """Read the intervals.

        Raises
        ------
        InputError
            No SQLite database, a damaged one, none of the tables, or a row without times; with its table and row.
        """
        with source.plain_file() as path, _opened(path, source.name) as connection:
            return _Export(connection, source.name).trace(options)


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
        raise InputError(source, f"is no SQLite database of Nsight Systems, or damaged: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _Export:
    """The tables."""

    def __init__(self, connection: sqlite3.Connection, source: str) -> None:
        self._connection, self._source = connection, source
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self._tables = {str(name) for (name,) in tables}
        self._locations: dict[tuple[int, int, str], int] = {}
        self._states: dict[str, int] = {}
        self._busy: set[str] = set()
        self._pieces: list[npt.NDArray[np.int64]] = []

    def trace(self, options: NsightOptions) -> Trace:
        gpu = self._tables & {_KERNELS, *_COPIES}
        which = options.locations
        if which == "auto":
            which = "streams" if gpu else "threads"
        if which != "threads":
            for table in (_KERNELS, *_COPIES):
                self._take_streams(table)
        self._busy = {name for name in self._states if name not in _COPIES.values()}
        on_streams = set(self._states)
        if which != "streams":
            for table in (_CALLS, _RANGES):
                self._take_threads(table)
        if not self._pieces:
            wanted = {"streams": "kernels", "threads": "CUDA calls and NVTX ranges"}.get(which, "kernels and calls")
            raise InputError(self._source, f"contains no {wanted}; export the report again with them")
        location, state, start, end = np.concatenate(self._pieces).T
        del self._pieces
        piece, first, last = latest_running(location, start, end)
        if not len(piece):
            raise InputError(self._source, "contains no interval that lasts")
        met, place = np.unique(location[piece], return_inverse=True)
        labels = list(self._states)
        busy = self._busy | set(busy_regions([name for name in labels if name not in on_streams], options.waiting))
        keys = list(self._locations)
        return Trace(
            place,
            state[piece],
            first,
            last,
            [_label(*keys[code]) for code in met.tolist()],
            labels,
            time_unit="us",
            busy_states=[name for name in labels if name in busy] or None,
            source=self._source,
        )

    def _take_streams(self, table: str) -> None:
        if table not in self._tables:
            return
        kind = _COPIES.get(table)
        named = f"'{kind}'" if kind else self._name_of(table, ("shortName", "demangledName", "mangledName"))
        self._take(table, f"SELECT start, end, deviceId, streamId, {named} FROM {table}", "stream")

    def _take_threads(self, table: str) -> None:
        if table not in self._tables:
            return
        names = self._name_of(table, ("nameId", "textId"))
        ranges = f" WHERE eventType IN ({_PUSH_POP}, {_START_END}) AND end IS NOT NULL" if table == _RANGES else ""
        if table == _RANGES and "text" in self._columns(table):
            names = f"COALESCE(text, {names})"
        process, thread = f"globalTid >> {_PROCESS_SHIFT} & {_ID_MASK}", f"globalTid & {_ID_MASK}"
        self._take(table, f"SELECT start, end, {process}, {thread}, {names} FROM {table}{ranges}", "thread")

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")')}

    def _name_of(self, table: str, columns: tuple[str, ...]) -> str:
        """SQL for the name of a row: the first of the columns that the version of the export has, as a text."""
        found = next((column for column in columns if column in self._columns(table)), None)
        if found is None or "StringIds" not in self._tables:
            return f"'{_UNKNOWN}'"
        return f"(SELECT value FROM StringIds WHERE id = {table}.{found})"

    def _take(self, table: str, query: str, kind: str) -> None:
        row = 0
        rows = self._connection.execute(query)
        with progress.bar(f"reading {self._source}") as advance:
            while batch := rows.fetchmany(_BATCH):
                found = []
                for start, end, owner, member, name in batch:
                    row += 1
                    whole = all(type(value) is int for value in (start, end, owner, member))
                    if not whole or not -_LARGEST_NS < start <= end < _LARGEST_NS:
                        raise InputError(
                            self._source,
                            f"{table} has a row from {str(start)[:24]!r} to {str(end)[:24]!r} ns on {kind} "
                            f"{str(member)[:24]!r}; whole numbers in order are expected",
                            line=row,
                        )
                    label = _UNKNOWN if name is None else str(name)
                    place = self._locations.setdefault((owner, member, kind), len(self._locations))
                    found.append((place, self._states.setdefault(label, len(self._states)), start, end))
                self._pieces.append(np.array(found, np.int64))
                advance(len(batch))


def _label(owner: int, member: int, kind: str) -> str:
    return f"GPU {owner} / stream {member}" if kind == "stream" else f"process {owner} / thread {member}"
