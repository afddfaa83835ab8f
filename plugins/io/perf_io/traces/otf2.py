"""OTF2 traces, as Score-P, TAU, EZTrace, Extrae and others write them: regions that are entered and left.

A trace is ``NAME.otf2``, ``NAME.def`` and a folder ``NAME``, or a tar archive of these. A location is a thread or a
GPU stream; the innermost region counts, and a thread computes also outside of all regions. Messages and collectives
of MPI are taken too, counters when somebody asks for them. Times count from the beginning, in whole nanoseconds.

Source: D. Eschweiler et al., "Open Trace Format 2", ParCo 2011, and the reference manual of OTF2 3.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import _otf2  # type: ignore[import-untyped]
import numpy as np
import otf2  # type: ignore[import-untyped]

from perf_io.traces.call_recorder import CallRecorder
from perf_io.traces.intervals import OUTSIDE, NestedStates, used_states
from perf_io.traces.several_files import anchor_file, holds
from perf_traces.levels import KIND
from perf_traces.messages.bursts import CYCLES, INSTRUCTIONS, Readings, carry_counters
from perf_traces.messages.communication import carry
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import Reader, Source

NO_STATE = "(no state)"  # region for the time in which a location is in no state

_MAGIC = b"\x03BOTF2"
_MAGIC_OF_PARTS = b"\x03B\x01"  # a chunk's header, its byte order, and the number of its first event
_IS_CALL = re.compile(r"p?mpi_", re.IGNORECASE)
_LARGEST_EXPONENT = 18  # 10 to it is nearly what 64 bits hold
_LARGEST = 1 << 62
_PRESET = "PAPI_"
# What Score-P calls the counters of the operating system's perf.
_SAME = {"instructions": INSTRUCTIONS, "cycles": CYCLES, "cpu-cycles": CYCLES}
_MODE = otf2.MetricMode
_FROM_ZERO = (_MODE.ACCUMULATED_START,)
_TOTALS = (*_FROM_ZERO, _MODE.ACCUMULATED_POINT, _MODE.ACCUMULATED_LAST, _MODE.ACCUMULATED_NEXT)
_RELATIVE = (_MODE.RELATIVE_POINT, _MODE.RELATIVE_LAST, _MODE.RELATIVE_NEXT)
_BATCH = 1 << 14  # events that are decoded at a time
_LARGEST_RESOLUTION = 10**15  # ticks per second; no clock is finer
_LARGEST_NS = 1 << 62
_NS_PER_S = 1_000_000_000
_LARGEST_ANCHOR = 1 << 22
# Before the texts and the number of properties the anchor file of version 3 has 47 bytes of numbers.
_LITTLE_ENDIAN_3, _CREATOR_AT = b"\x03BOTF2\0\x03", 47


class Otf2Reader(Reader):
    """Read regions of the threads and GPU streams of an OTF2 trace; a thread computes outside of MPI and of waiting."""

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
            opened(anchor, source.name) as archive,
        ):
            recorder = MetricRecorder(archive.metrics(), names, source.name)
            for place in archive.places():
                archive.read_metrics(place, recorder)
            return recorder.readings(names, codes, archive.nanoseconds)

    return read


def _read(anchor: Path, source: str) -> tuple[Trace, Metrics, dict[int, int]]:
    """Return the trace, its metrics, and the location of each place of the archive by its number."""
    regions = {OUTSIDE: 0}
    states = NestedStates(source, background=regions[OUTSIDE])
    with opened(anchor, source) as archive:
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
    left_out = len(places) - len(locations)
    notes = [f"{left_out} locations without regions left out"] if left_out else []
    known_levels = {level: names for level, names in levels.items() if all(names)}
    if len({places[code].is_thread for code in states.locations}) > 1:
        known_levels[KIND] = ["host threads" if places[code].is_thread else "GPU streams" for code in states.locations]
    recorded = states.trace(locations, list(regions), time_unit="us", levels=known_levels)
    trace = used_states(recorded, without=NO_STATE, duration_ns=duration, notes=notes)
    if recorder.n_calls:
        communication = recorder.communication(list(states.locations), trace.locations, trace.span_ns[0], source)
        carry(trace, lambda: communication)
    return trace, metrics, {places[code].reference: k for k, code in enumerate(states.locations)}


@dataclass(frozen=True)
class _Member:
    """A counter among the values of a metric event."""

    name: str
    position: int  # among the values
    field: str  # of the union that holds a value
    base: int
    exponent: int
    is_total: bool  # running total, counted from zero; counted until the next event
    from_zero: bool
    of_next: bool

    def scaled(self, value: Any) -> int:
        """Return the value as a whole number; a part of one is rounded."""
        if isinstance(value, float):
            number = round(value * float(self.base) ** self.exponent)
        elif self.exponent >= 0:
            number = int(value) * self.base**self.exponent
        else:
            unit = self.base**-self.exponent
            number = (2 * int(value) + unit) // (2 * unit)
        if not -_LARGEST < number < _LARGEST:
            raise OverflowError
        return number


@dataclass(frozen=True)
class Metrics:
    """Metrics that count, by the number of their events' metric."""

    names: tuple[str, ...]  # of the counters; those of perf's are called as PAPI calls them
    members: Mapping[int, tuple[_Member, ...]]
    scopes: Mapping[int, int]  # location that a metric is of, where it is another than the one that writes it


class MetricRecorder:
    """Takes metric events of one location after the other."""

    def __init__(self, metrics: Metrics, names: Sequence[str], source: str) -> None:
        self._members = {key: [each for each in members if each.name in names]
                         for key, members in metrics.members.items()}  # fmt: skip
        self._scopes, self._source = metrics.scopes, source
        self._taken: dict[tuple[_Member, int], list[tuple[int, int]]] = {}

    def take(self, location: int, tick: int, metric: int, values: Sequence[Any]) -> None:
        """One event; of a value only what its member is taken."""
        place = self._scopes.get(metric, location)
        for member in self._members.get(metric, ()):
            if member.position >= len(values) or place < 0:
                continue
            try:
                value = member.scaled(getattr(values[member.position], member.field))
            except (ValueError, OverflowError):
                problem = f"{self._source}: {member.name} has a value at tick {tick} that 64 bits do not hold"
                raise DataError(problem) from None
            self._taken.setdefault((member, place), []).append((tick, value))

    def readings(
        self, names: Sequence[str], codes: Mapping[int, int], nanoseconds: Callable[[int], int]
    ) -> dict[str, Readings]:
        rows: dict[str, list[tuple[int, int, int]]] = {name: [] for name in names}
        for (member, place), events in self._taken.items():
            if place in codes:
                rows[member.name] += [
                    (codes[place], nanoseconds(tick), value) for tick, value in self._counted(member, events)
                ]
        by_name = {}
        for name, columns in rows.items():
            table = np.array(columns, np.int64).reshape(-1, 3)
            moments, inverse = np.unique(table[:, :2], axis=0, return_inverse=True)
            value = np.zeros(len(moments), np.int64)
            np.add.at(value, inverse.reshape(-1), table[:, 2])
            by_name[name] = Readings(moments[:, 0], moments[:, 1], value, every=True)
        return by_name

    def _counted(self, member: _Member, events: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return what was counted until each event since the one before it."""
        if member.of_next:
            return [(tick, value) for (tick, _), (_, value) in zip(events[1:], events, strict=False)]
        if not member.is_total:
            return list(events)
        counts, before = [], 0 if member.from_zero else events[0][1]
        for tick, value in events:
            if value < before:
                raise DataError(
                    f"{self._source}: {member.name} falls from {before} to {value} at tick {tick}, and a running total "
                    "never does; what was counted is not known"
                )
            counts.append((tick, value - before))
            before = value
        return counts


def _members(metric: Any) -> tuple[_Member, ...]:
    fields = {otf2.Type.UINT64: "unsigned_int", otf2.Type.INT64: "signed_int", otf2.Type.DOUBLE: "floating_point"}
    members = []
    for position, member in enumerate(metric.members):
        name, mode = str(member.name), member.metric_mode
        is_total = mode in _TOTALS or (mode not in _RELATIVE and name.startswith(_PRESET))
        exponent, field = int(member.exponent), fields.get(member.value_type)
        if (is_total or mode in _RELATIVE) and abs(exponent) <= _LARGEST_EXPONENT and field is not None:
            base = 10 if member.base == otf2.Base.DECIMAL else 2
            members.append(
                _Member(
                    _SAME.get(name, name), position, field, base, exponent, is_total,
                    mode in _FROM_ZERO, mode == _MODE.RELATIVE_NEXT,
                )
            )  # fmt: skip
    return tuple(members)


@dataclass(frozen=True)
class Place:
    """A location: its number, name, number of events, whether it is a thread of a processor, and what it is part of."""

    reference: int
    name: str
    n_events: int
    is_thread: bool
    process: str
    node: str


def _node_of(group: Any) -> str:
    """Return the nearest node of the system tree that a group of locations is in; empty if none is defined."""
    above = None if group is None else group.system_tree_parent
    while above is not None:
        if str(above.class_name) == "node":
            return str(above.name)
        above = above.parent
    return ""


class Archive:
    """An open trace."""

    def __init__(self, reader: Any, anchor: Path, source: str) -> None:
        self._reader, self._anchor, self._source = reader, anchor, source
        clock = reader.definitions.clock_properties
        self._ticks_per_s = int(clock.timer_resolution)
        self.first_tick, self.n_ticks = int(clock.global_offset), int(clock.trace_length)
        if not 0 < self._ticks_per_s <= _LARGEST_RESOLUTION:
            raise InputError(source, f"the clock has {self._ticks_per_s} ticks per second; the file is damaged")

    def nanoseconds(self, tick: int) -> int:
        """Return the time since the beginning of the trace, half a nanosecond rounded up."""
        time = ((tick - self.first_tick) * _NS_PER_S * 2 + self._ticks_per_s) // (2 * self._ticks_per_s)
        if not -_LARGEST_NS < time < _LARGEST_NS:
            raise InputError(self._source, f"tick {tick} is beyond 64 bits of nanoseconds; the file is damaged")
        return time

    def places(self) -> list[Place]:
        """Return threads and streams, in the order of their definition; metrics have locations of their own."""
        kinds = (otf2.LocationType.CPU_THREAD, otf2.LocationType.ACCELERATOR_STREAM)
        locations = [place for place in self._reader.definitions.locations if place.type in kinds]
        groups = [str(place.group.name) if place.group is not None else "" for place in locations]
        members = Counter(groups)
        places: list[Place] = []
        used_names: set[str] = set()
        for place, group in zip(locations, groups, strict=True):
            name = group if group and members[group] == 1 else f"{group} / {place.name}".removeprefix(" / ")
            name = f"{name} #{place._ref}" if name in used_names else name
            used_names.add(name)
            is_thread = place.type == otf2.LocationType.CPU_THREAD
            places.append(
                Place(int(place._ref), name, int(place.number_of_events), is_thread, group, _node_of(place.group))
            )
        return places

    def regions(self) -> dict[int, str]:
        return {int(region._ref): str(region.name) for region in self._reader.definitions.regions}

    def members(self) -> dict[int, list[int]]:
        """Return places, as `places` counts them, in each communicator; -1 if one is no thread or stream."""
        code = {place.reference: number for number, place in enumerate(self.places())}
        members: dict[int, list[int]] = {}
        for communicator in self._reader.definitions.comms:
            try:
                group = communicator.group.members
            except (AttributeError, KeyError, TypeError):  # a group of nothing that is defined
                group = ()
            members[int(communicator._ref)] = [code.get(int(getattr(each, "_ref", each)), -1) for each in group]
        return members

    def events(self, place: Place, recorder: CallRecorder) -> Iterator[tuple[int, int | None]]:
        """Yield the time in ticks and region that is entered, None if one is left, in order."""
        events: list[tuple[int, int | None]] = []

        def enter(_location: int, time: int, _position: int, _data: Any, _attributes: Any, region: int) -> None:
            events.append((time, region))
            recorder.enter(time, region)

        def leave(_location: int, time: int, _position: int, _data: Any, _attributes: Any, region: int) -> None:
            events.append((time, None))
            recorder.leave(time, region)

        def register(callbacks: Any) -> list[Any]:
            _otf2.EvtReaderCallbacks_SetEnterCallback(callbacks, enter)
            _otf2.EvtReaderCallbacks_SetLeaveCallback(callbacks, leave)
            return _take_messages(callbacks, recorder)

        for _ in self._batches(place, register):
            yield from events
            events.clear()

    def metrics(self) -> Metrics:
        """Return the metrics of the archive that count something."""
        members, scopes = {}, {}
        for metric in self._reader.definitions.metric_classes:
            members[int(metric._ref)] = _members(metric)
        for metric in self._reader.definitions.metric_instances:
            members[int(metric._ref)] = _members(metric.metric_class)
            is_location = isinstance(metric.scope, otf2.definitions.Location)
            scopes[int(metric._ref)] = int(metric.scope._ref) if is_location else -1
        names = dict.fromkeys(member.name for metric_members in members.values() for member in metric_members)
        return Metrics(tuple(names), members, scopes)

    def read_metrics(self, place: Place, recorder: MetricRecorder) -> None:
        failed: list[DataError] = []  # errors do not pass through the library

        def metric(
            location: int, time: int, _p: int, _d: Any, _a: Any, reference: int, _types: Any, values: Any
        ) -> None:
            try:
                recorder.take(location, time, reference, values)
            except DataError as error:
                failed.append(error)

        def register(callbacks: Any) -> list[Any]:
            _otf2.EvtReaderCallbacks_SetMetricCallback(callbacks, metric)
            return [metric]

        for _ in self._batches(place, register):
            if failed:
                raise failed[0]

    def _batches(self, place: Place, register: Callable[[Any], list[Any]]) -> Iterator[None]:
        """Read the events of a location, some at a time, with functions that take them, which live as long."""
        reference, handle = place.reference, self._reader.handle
        if not self._anchor.with_suffix("").joinpath(f"{reference}.evt").is_file():
            return
        reader = _otf2.Reader_GetEvtReader(handle, reference)
        if not reader:
            raise InputError(self._source, f"the events of location {reference} cannot be opened")
        callbacks = _otf2.EvtReaderCallbacks_New()
        kept: list[Any] = []
        try:
            kept += register(callbacks)
            _otf2.Reader_RegisterEvtCallbacks(handle, reader, callbacks, None)
            n_read, total = _BATCH, 0
            while n_read == _BATCH:
                n_read = _otf2.Reader_ReadLocalEvents(handle, reader, _BATCH)
                total += n_read
                yield
            if total < place.n_events:
                problem = f"{place.name!r} has {total} of {place.n_events} events; its file is cut short"
                raise InputError(self._source, problem)
        finally:
            kept.clear()
            _otf2.EvtReaderCallbacks_Delete(callbacks)
            _otf2.Reader_CloseEvtReader(handle, reader)

    def prepare(self) -> None:
        """Read what each location defines for itself: its own numbers of regions and the drift of its clock."""
        handle = self._reader.handle
        references = [place.reference for place in self.places()]
        for reference in references:
            _otf2.Reader_SelectLocation(handle, reference)
        with contextlib.suppress(_otf2.Error):  # a trace need not have any
            _otf2.Reader_OpenDefFiles(handle)
            for reference in references:
                reader = _otf2.Reader_GetDefReader(handle, reference)
                if reader:
                    _otf2.Reader_ReadAllLocalDefinitions(handle, reader)
                    _otf2.Reader_CloseDefReader(handle, reader)
            _otf2.Reader_CloseDefFiles(handle)
        _otf2.Reader_OpenEvtFiles(handle)


def _take_messages(callbacks: Any, recorder: CallRecorder) -> list[Any]:
    """Let a recorder take what concerns messages, by functions that must live as long as events are read."""
    # An event is a location, a time, two numbers and attributes, and then what it is about.
    functions: dict[str, Callable[..., None]] = {
        "Send": lambda *event: recorder.send(*event[5:9]),
        "Isend": lambda *event: recorder.send(*event[5:10]),
        "IsendComplete": lambda *event: recorder.sent(event[5]),
        "IrecvRequest": lambda *event: recorder.post(event[5]),
        "RequestCancelled": lambda *event: recorder.cancelled(event[5]),
        "Recv": lambda *event: recorder.receive(*event[5:8]),
        "Irecv": lambda *event: recorder.receive(event[5], event[6], event[7], event[9]),
        "CollectiveEnd": lambda *event: recorder.collective(event[6], event[7], max(event[8:10])),
    }
    for name, function in functions.items():
        getattr(_otf2, f"EvtReaderCallbacks_SetMpi{name}Callback")(callbacks, function)
    return list(functions.values())


@contextlib.contextmanager
def opened(anchor: Path, source: str) -> Iterator[Archive]:
    """Open a trace and close it."""
    _check_anchor(anchor, source)
    try:
        # Its callbacks print tracebacks of names that are no UTF-8.
        with contextlib.redirect_stderr(io.StringIO()), otf2.reader.open(str(anchor)) as reader:
            archive = Archive(reader, anchor, source)
            archive.prepare()
            yield archive
    except (_otf2.Error, otf2.error.TraceReaderError, UnicodeDecodeError, KeyError, AttributeError) as error:
        message = _silent.last or " ".join(str(error).split())
        raise InputError(source, f"the library of OTF2 cannot read it: {message or type(error).__name__}") from None
    finally:
        _silent.last = ""


def _check_anchor(anchor: Path, source: str) -> None:
    """Refuse an anchor file that announces more properties than it can hold, over which the library loops for long."""
    content = anchor.read_bytes() if anchor.stat().st_size <= _LARGEST_ANCHOR else b""
    if not content.startswith(_LITTLE_ENDIAN_3):
        if not content:
            raise InputError(source, f"the anchor file is larger than {_LARGEST_ANCHOR >> 20} MiB; it is damaged")
        return
    creator_end = content.find(b"\0", _CREATOR_AT)
    offset = content.find(b"\0", creator_end + 1) + 1
    n_properties = int.from_bytes(content[offset : offset + 4], "little")
    if n_properties > len(content):
        raise InputError(source, f"the anchor file announces {n_properties} properties; it is truncated or corrupt")


class _Silent:
    """Keeps what the library would print to the terminal: it goes into the error instead."""

    def __init__(self) -> None:
        self.last = ""
        # User data, file, line, function, error, text with places for arguments, and the arguments.
        form = ctypes.CFUNCTYPE(
            *(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int),
            *(ctypes.c_char_p, ctypes.c_void_p),
        )
        self._callback = form(self._take)  # must live as long as the library calls it
        register = _otf2.Config.conf.lib.OTF2_Error_RegisterCallback
        register.argtypes, register.restype = [form, ctypes.c_void_p], ctypes.c_void_p
        register(self._callback, None)

    def _take(self, _data: int, _file: bytes, _line: int, function: bytes, code: int, *_: Any) -> int:
        if code > 0 and not self.last:
            with contextlib.suppress(Exception):
                self.last = str(_otf2.Error_GetDescription(_otf2.ErrorCode(code)))
        return code


_silent = _Silent()
