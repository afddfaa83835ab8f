"""OTF2 traces, as Score-P, TAU, EZTrace, Extrae and others write them: regions that are entered and left.

A trace is an anchor file ``NAME.otf2``, its definitions ``NAME.def`` and a folder ``NAME`` with the events of each
location; a tar archive of these is read too. A location is a thread or a GPU stream; the innermost region counts. A
thread computes also outside of all regions, between its first and its last event: often only MPI was recorded. Messages
and collectives of MPI are taken too (`perf_io.traces.call_recorder`); counters are read when somebody asks for them
(`perf_io.traces.otf2_library`); other events are passed over. Times count from the beginning of the trace, in whole
nanoseconds that are rounded from the ticks of its clock.

Source: D. Eschweiler et al., "Open Trace Format 2", ParCo 2011, and the reference manual of OTF2 3.
"""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import _otf2  # type: ignore[import-untyped]
import numpy as np
import otf2  # type: ignore[import-untyped]

from perf_io.traces import otf2_library
from perf_io.traces.call_recorder import CallRecorder
from perf_io.traces.nested_states import NestedStates, used_states
from perf_io.traces.otf2_library import Metrics
from perf_io.traces.several_files import anchor_file, holds
from perf_traces.messages.bursts import Readings, carry_counters
from perf_traces.messages.communication import carry
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError
from perfcore.contracts import Reader
from perfcore.data.kinds import type_in_words
from perfcore.data.trace import Trace
from perfcore.reading.source import Source

NO_STATE = "(no state)"  # region for the time in which a location is in no state

_NS_PER_S = 1_000_000_000
_NAME = "traces"


def write_files(trace: Trace, folder: Path, name: str = _NAME) -> Path:
    """Write the files of a trace: ``name.otf2``, ``name.def`` and the folder ``name``."""
    first, last = trace.span_ns
    order = np.lexsort((trace.start_ns, trace.location))
    order = order[trace.end_ns[order] > trace.start_ns[order]]
    bounds = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1))
    with otf2.writer.open(str(folder), name, timer_resolution=_NS_PER_S) as writer:
        define = writer.definitions
        machine = define.system_tree_node("machine")
        regions = [define.region(state) for state in trace.states]
        nothing = define.region(NO_STATE, region_role=otf2.RegionRole.ARTIFICIAL)
        for place, called in enumerate(trace.locations):
            group = define.location_group(called, system_tree_parent=machine)
            events = writer.event_writer(called, group=group)
            events.program_begin(0, called, [])  # from the first to the last of these the run lasts
            rows = order[bounds[place] : bounds[place + 1]]
            starts, ends = (times[rows] - first for times in (trace.start_ns, trace.end_ns))
            until = int(starts[0]) if len(starts) else 0
            for start, end, state in zip(starts.tolist(), ends.tolist(), trace.state[rows].tolist(), strict=True):
                if start > until:
                    events.enter(until, nothing)
                    events.leave(start, nothing)
                events.enter(start, regions[state])
                events.leave(end, regions[state])
                until = end
            events.program_end(last - first, 0)
    return folder / f"{name}.otf2"


def write_archive_file(data: Any, path: Path) -> None:
    """Write a trace as one tar archive of its files."""
    if not isinstance(data, Trace):
        raise OptionError(f"OTF2 holds traces, and this is {type_in_words(data)}; write it as .csv or .parquet")
    if path.suffix.lower() != ".tar":
        raise OptionError(
            "an OTF2 trace is several files and only one can be written: "
            f"end its name in .otf2.tar, and unpack that with tar; met {path.suffix!r}"
        )
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        root = Path(folder) / _NAME
        try:
            write_files(data, root)
        except _otf2.Error as error:
            raise OSError(f"OTF2's library says: {error}; is there room in {tempfile.gettempdir()}?") from None
        with tarfile.open(path, "w") as archive:
            for file in sorted(root.rglob("*")):
                if file.is_file():
                    archive.add(file, f"{_NAME}/{file.relative_to(root)}")


_MAGIC = b"\x03BOTF2"
_MAGIC_OF_PARTS = b"\x03B\x01"  # a chunk's header, its byte order, and the number of its first event
_IS_CALL = re.compile(r"p?mpi_", re.IGNORECASE)
_OUTSIDE = "(outside of all regions)"


class Otf2Reader(Reader):
    """Regions of the threads and GPU streams of an OTF2 trace.

    Choose it for what Score-P records. A thread computes outside of MPI and of waiting regions.
    """

    writes: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = (".def", ".evt", ".snap", ".thumb", ".marker")

    def sniff(self, source: Source) -> float:
        """Sure by the anchor file's first bytes; nearly so by the names in an archive."""
        if source.head.startswith(_MAGIC):
            return 1.0
        if _is_part(source):
            return 0.6
        return 0.9 if holds(source, (b".otf2", b".evt")) else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        if _is_part(source):
            raise InputError(source.name, "is one part of an OTF2 trace; name its .otf2 file")
        with anchor_file(source, ".otf2", (".def", ".evt"), "an OTF2 trace") as anchor:
            if not anchor.with_suffix(".def").is_file():
                raise InputError(source.name, f"the definitions {anchor.with_suffix('.def').name!r} are missing")
            trace, metrics, codes = _read(anchor, source.name)
        if metrics.names:
            carry_counters(trace, metrics.names, source.name, _reader_of_counters(source, codes))
        return trace

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        write_archive_file(data, Path(path))


def _is_part(source: Source) -> bool:
    return source.suffix in Otf2Reader.parts and source.head.startswith(_MAGIC_OF_PARTS)


def _reader_of_counters(source: Source, codes: Mapping[int, int]) -> Callable[[Sequence[str]], Mapping[str, Readings]]:
    """Reads counters, in a pass over the metric events; ``codes`` are the locations by the archive's numbers."""

    def read(names: Sequence[str]) -> Mapping[str, Readings]:
        with (
            anchor_file(source, ".otf2", (".def", ".evt"), "an OTF2 trace") as anchor,
            otf2_library.opened(anchor, source.name) as archive,
        ):
            recorder = archive.metrics().recorder(names, source.name)
            for place in archive.places():
                archive.read_metrics(place, recorder)
            return recorder.readings(names, codes, archive.nanoseconds)

    return read


def _read(anchor: Path, source: str) -> tuple[Trace, Metrics, dict[int, int]]:
    """The trace, its metrics, and the location of each place of the archive by its number."""
    regions = {_OUTSIDE: 0}
    states = NestedStates(source, background=regions[_OUTSIDE])
    with otf2_library.opened(anchor, source) as archive:
        places = archive.places()
        calls = {number: name for number, name in archive.regions().items() if _IS_CALL.match(name)}
        recorder = CallRecorder(calls, archive.members(), archive.nanoseconds)
        state_of = {reference: regions.setdefault(name, len(regions)) for reference, name in archive.regions().items()}
        with progress.bar(f"reading {source}", sum(place.n_events for place in places) or None) as advance:
            for code, place in enumerate(places):
                recorder.begin(code)
                depth = 0
                for count, (tick, region) in enumerate(archive.events(place, recorder), start=1):
                    time = archive.nanoseconds(tick)
                    if count == 1 and place.is_thread:
                        states.push(code, 0, time, count)
                    depth += -1 if region is None else 1
                    if depth < 0:
                        raise InputError(source, f"{place.name!r} leaves a region that it has not entered", line=count)
                    if region is None:
                        states.pop(code, time, count)
                    elif region in state_of:
                        states.push(code, state_of[region], time, count)
                    else:
                        problem = f"{place.name!r} enters region {region}, which is not defined"
                        raise InputError(source, problem, line=count)
                advance(place.n_events)
        duration = archive.nanoseconds(archive.first_tick + archive.n_ticks)
        metrics = archive.metrics()
    states.finish()
    locations = [places[code].name for code in states.locations]
    levels = {level: [getattr(places[code], level) for code in states.locations] for level in ("process", "node")}
    notes = (
        [f"{len(places) - len(locations)} locations without regions left out"] if len(locations) < len(places) else []
    )
    known_levels = {level: names for level, names in levels.items() if all(names)}
    recorded = states.trace(locations, list(regions), time_unit="us", levels=known_levels)
    trace = used_states(recorded, without=NO_STATE, duration_ns=duration, notes=notes)
    if recorder.n_calls:
        communication = recorder.communication(list(states.locations), trace.locations, trace.span_ns[0], source)
        carry(trace, lambda: communication)
    return trace, metrics, {places[code].reference: k for k, code in enumerate(states.locations)}
