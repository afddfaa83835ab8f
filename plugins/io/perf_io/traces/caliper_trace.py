"""Event traces of Caliper: ``.cali`` files in which regions begin and end at times.

Records with an attribute ``event.begin#KIND`` or ``event.end#KIND`` enter and leave a region; ``time.offset.ns``, or
``time.offset`` in microseconds, is when. A location is an MPI rank and a thread, where the records say them. The
innermost region counts. Profiles of Caliper have another reader.

Source: Caliper, documentation of the services ``event``, ``timer`` and ``trace`` and of the recipe ``event-trace``; the
package caliper-reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliperreader import CaliperStreamReader  # type: ignore[import-untyped]
from caliperreader.readererror import ReaderError  # type: ignore[import-untyped]

from perf_io.shared.caliper_records import CaliperRecords
from perf_io.shared.times import parse_ns
from perf_io.traces.nested_states import NestedStates
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.trace import Trace
from perfcore.reading.source import Source

_BEGIN, _END = "event.begin#", "event.end#"
_TIMES = {"time.offset.ns": "ns", "time.offset": "us"}
_RANKS = ("mpi.rank", "rank")
_THREADS = ("omp.thread.id", "pthread.id", "thread.id")
# Attributes that begin and end and are no regions of the program.
_NOT_REGIONS = ("cali.", "iteration#", "cuda.", "omp.thread", "pthread", "mpi.rank")


class CaliperTraceReader(Reader):
    """Regions of the ranks and threads of a Caliper event trace.

    Choose it for what Caliper's ``event-trace`` writes.
    """

    def sniff(self, source: Source) -> float:
        """Surer than the reader of profiles where there are events with times."""
        is_caliper = source.head.startswith(b"__rec=")
        return 0.97 if is_caliper and b"event.begin#" in source.head and b"time.offset" in source.head else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        """Read the regions."""
        records = CaliperRecords(source)
        events = _Events(records, source.name)
        try:
            with progress.bar(f"reading {source.name}"):
                CaliperStreamReader().read(records, events.take)
        except (ReaderError, LookupError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError) as error:
            message = " ".join(str(error).split())[:120]
            raise InputError(
                source.name, f"no record of Caliper: {type(error).__name__} {message}", line=records.line or None
            ) from None
        return events.trace()


class _Events:
    """What the records with events add up to."""

    def __init__(self, records: CaliperRecords, source: str) -> None:
        self._records, self._source = records, source
        self._states = NestedStates(source)
        self._regions: dict[str, int] = {}
        self._locations: dict[tuple[str, str], int] = {}
        self._passed_over = 0

    def take(self, record: Mapping[str, object]) -> None:
        """Take one record."""
        unit = next((name for name in _TIMES if name in record), None)
        event = next((name for name in record if name.startswith((_BEGIN, _END))), None)
        kind = event.partition("#")[2] if event else ""
        if event is None or unit is None or kind.startswith(_NOT_REGIONS):
            self._passed_over += 1
            return
        line = self._records.line
        time = parse_ns(str(record[unit]), _TIMES[unit], self._source, line)
        rank, thread = (
            next((str(record[name]) for name in names if name in record), "") for names in (_RANKS, _THREADS)
        )
        location = self._locations.setdefault((rank, thread), len(self._locations))
        name = str(record[event])
        if event.startswith(_BEGIN):
            self._states.push(location, self._regions.setdefault(name, len(self._regions)), time, line)
        elif not self._states.pop(location, time, line):
            raise InputError(self._source, f"region {name[:60]!r} ends, and none was begun", line=line)

    def trace(self) -> Trace:
        """All regions; what was not left lasts until the location's last event."""
        self._states.finish()
        keys = list(self._locations)
        names = list(self._regions)
        notes = [f"{self._passed_over} records without regions passed over"] if self._passed_over else []
        return self._states.trace(
            [_label(*keys[code]) for code in self._states.locations], names, time_unit="us", notes=notes
        )


def _label(rank: str, thread: str) -> str:
    parts = [*([f"rank {rank}"] if rank else []), *([f"thread {thread}"] if thread else [])]
    return " / ".join(parts) or "process"
