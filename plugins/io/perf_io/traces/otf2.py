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

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from perf_io.traces import otf2_library
from perf_io.traces.call_recorder import CallRecorder
from perf_io.traces.nested_states import NestedStates, used_states
from perf_io.traces.otf2_library import Metrics
from perf_io.traces.several_files import anchor_file, holds
from perf_traces.levels import KIND
from perf_traces.messages.bursts import Readings, carry_counters
from perf_traces.messages.communication import carry
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import Reader, Source

NO_STATE = "(no state)"  # region for the time in which a location is in no state

_MAGIC = b"\x03BOTF2"
_MAGIC_OF_PARTS = b"\x03B\x01"  # a chunk's header, its byte order, and the number of its first event
_IS_CALL = re.compile(r"p?mpi_", re.IGNORECASE)
_OUTSIDE = "(outside of all regions)"


class Otf2Reader(Reader):
    """Regions of the threads and GPU streams of an OTF2 trace.

    Choose it for what Score-P records. A thread computes outside of MPI and of waiting regions.
    """

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
    if len({places[code].is_thread for code in states.locations}) > 1:
        known_levels[KIND] = ["host threads" if places[code].is_thread else "GPU streams" for code in states.locations]
    recorded = states.trace(locations, list(regions), time_unit="us", levels=known_levels)
    trace = used_states(recorded, without=NO_STATE, duration_ns=duration, notes=notes)
    if recorder.n_calls:
        communication = recorder.communication(list(states.locations), trace.locations, trace.span_ns[0], source)
        carry(trace, lambda: communication)
    return trace, metrics, {places[code].reference: k for k, code in enumerate(states.locations)}
