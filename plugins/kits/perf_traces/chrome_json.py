"""Traces as Chrome's JSON, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

Source: "Trace Event Format", Google, 2016: complete events (``ph: X``), of which times are in microseconds; beside them
``distributedInfo`` and ``baseTimeNanoseconds`` as Kineto writes them. What the format has no place for is in
``perfcore``, and in ``location`` of the names of threads.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from perf_traces.joined_trace import run_of
from perf_traces.levels import level_names
from perf_traces.nesting import Columns, nesting_of
from perf_traces.states import state_classes
from perfcore.data.trace import Trace
from perfcore.data.units import shown_origin

MOST_EVENTS = 2_000_000  # some 200 MB; browsers do not open more
_MARKER = "user_annotation"  # the category that Kineto gives what users write beside the work
_ON_GPU = "gpu_"  # begins the categories of what streams execute
_NUMBER = re.compile(r"(?<![^ ])[0-9]{1,9}$")
_ROWS = 1 << 16  # that are text at one time, some 8 MB


def write_chrome_json(trace: Trace, stream: IO[bytes], inside_ns: tuple[int, int] | None = None) -> None:
    """Write the states of a trace, and its markers, as events.

    Locations are threads; those of one process, or of one GPU, are shown together. A call that has callees is one event
    around theirs, where the trace still knows its calls. The category of an event is the class of its state.
    """
    run = run_of(trace)
    origin = run[0] if shown_origin(*run) else 0
    places = _Places(trace)
    lines = itertools.chain(
        places.metadata(),
        _states(trace, places, origin, inside_ns),
        _markers(trace, places.of_markers, origin, inside_ns),
    )
    stream.write(f'{{"displayTimeUnit":"ns",{_described(trace, origin)}"traceEvents":[\n'.encode())
    stream.write(next(lines).encode())
    while block := list(itertools.islice(lines, _ROWS)):
        stream.write((",\n" + ",\n".join(block)).encode())
    stream.write(b"\n]}\n")


class _Places:
    """Numbers of processes and threads, and which of them are on GPUs."""

    def __init__(self, trace: Trace) -> None:
        self._threads = trace.locations
        devices = level_names(trace, "device")
        processes = level_names(trace, "process")
        nodes = level_names(trace, "node")
        source = Path(trace.source).name or "trace"
        several = len({name for name in nodes if name}) > 1
        self._names = [
            f"{node} / {device or process or source}" if several and node else device or process or source
            for node, device, process in zip(nodes, devices, processes, strict=True)
        ]
        self._processes = _numbers(dict.fromkeys(self._names))
        self.of_markers = max(self._processes.values()) + 1
        self._process_of = [self._processes[name] for name in self._names]
        self.on_gpu = np.array([bool(name) for name in devices], dtype=np.int64)

    def metadata(self) -> Iterator[str]:
        """Events that name processes and threads, and keep their order; then one that names what markers are on."""
        for place, (name, number) in enumerate(self._processes.items()):
            yield _named("process", number, 0, name=name)
            yield _sorted("process", number, 0, place)
        for thread, (name, process, above) in enumerate(
            zip(self._threads, self._process_of, self._names, strict=True), 1
        ):
            yield _named("thread", process, thread, name=name.removeprefix(f"{above} / "), location=name)
            yield _sorted("thread", process, thread, thread)
        yield _named("process", self.of_markers, 0, name="markers")

    def texts(self) -> list[str]:
        """The process and the thread of each location, as events have them."""
        return [f'"pid":{process},"tid":{thread}' for thread, process in enumerate(self._process_of, 1)]


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Numbers of processes: those that end their names, as of ``GPU 0``, and for the others what is free."""
    numbers: dict[str, int] = {}
    in_names: set[int] = set()
    for name in names:
        match = _NUMBER.search(name)
        if match and (number := int(match[0])) not in in_names:
            numbers[name] = number
            in_names.add(number)
    free = itertools.count(max(in_names, default=0) + 1)
    return {name: numbers[name] if name in numbers else next(free) for name in names}


def _states(trace: Trace, places: _Places, origin: int, inside_ns: tuple[int, int] | None) -> Iterator[str]:
    """Calls around others first: of two events of the same times, the first is the outer one."""
    kinds = state_classes(trace.states, trace.busy_states)
    names = [
        [f'{{"ph":"X","name":{_quoted(state)},"cat":{_quoted(prefix + kind)},' for state, kind in zip(
            trace.states, kinds, strict=True)]
        for prefix in ("", _ON_GPU)
    ]  # fmt: skip
    where = places.texts()
    for group in _calls(trace):
        which = _overlapping(group[2], group[3], inside_ns)
        for first in range(0, len(which), _ROWS):
            location, state, start, end = (column[which[first : first + _ROWS]] for column in group)
            rows = zip(
                places.on_gpu[location].tolist(), location.tolist(), state.tolist(), (start - origin).tolist(),
                (end - start).tolist(), strict=True,
            )  # fmt: skip
            for on_gpu, place, code, begin, length in rows:
                yield f'{names[on_gpu][code]}{where[place]},"ts":{_us(begin)},"dur":{_us(length)}}}'


def _calls(trace: Trace) -> Iterator[Columns]:
    """Location, state, start and end of calls that have callees, where these are known; then of all others."""
    nesting = nesting_of(trace)
    if nesting is None:
        yield trace.location, trace.state, trace.start_ns, trace.end_ns
        return
    yield nesting.location, nesting.state, nesting.start_ns, nesting.end_ns
    whole = nesting.is_call
    yield trace.location[whole], trace.state[whole], trace.start_ns[whole], trace.end_ns[whole]


def _markers(trace: Trace, process: int, origin: int, inside_ns: tuple[int, int] | None) -> Iterator[str]:
    for name, start, end in trace.markers:
        if inside_ns is None or (start < inside_ns[1] and end >= inside_ns[0]):
            yield (
                f'{{"ph":"X","name":{_quoted(name)},"cat":"{_MARKER}","pid":{process},"tid":0,'
                f'"ts":{_us(start - origin)},"dur":{_us(end - start)}}}'
            )


def _overlapping(
    start_ns: npt.NDArray[np.int64], end_ns: npt.NDArray[np.int64], inside_ns: tuple[int, int] | None
) -> npt.NDArray[np.int64]:
    if inside_ns is None:
        return np.arange(len(start_ns))
    return np.flatnonzero((start_ns < inside_ns[1]) & (end_ns > inside_ns[0]))


def _described(trace: Trace, origin: int) -> str:
    """What stands beside the events: which rank it is, the moment from which times count, and the span of the run."""
    rank_facts = {name: trace.facts[name] for name in ("rank", "world_size") if name in trace.facts}
    base = trace.facts.get("epoch_ns", 0) + origin
    start, end = run_of(trace)
    run = {
        "span_ns": [start - origin, end - origin],
        "time_unit": trace.time_unit,
        "busy_states": [_writable(state) for state in trace.busy_states],
    }
    ranks = f'"distributedInfo":{json.dumps(rank_facts)},' if rank_facts else ""
    return f'{ranks}"baseTimeNanoseconds":{base},"perfcore":{json.dumps(run)},'


def _named(what: str, process: int, thread: int, **names: str) -> str:
    texts = ",".join(f'"{key}":{_quoted(name)}' for key, name in names.items())
    return f'{{"ph":"M","name":"{what}_name","pid":{process},"tid":{thread},"args":{{{texts}}}}}'


def _sorted(what: str, process: int, thread: int, place: int) -> str:
    return f'{{"ph":"M","name":"{what}_sort_index","pid":{process},"tid":{thread},"args":{{"sort_index":{place}}}}}'


def _quoted(name: str) -> str:
    return json.dumps(_writable(name))


def _writable(name: str) -> str:
    """The name, without the halves of characters that names of files may hold."""
    return name.encode("utf-8", "replace").decode()


def _us(ns: int) -> str:
    """Microseconds with all digits: a double has none left for nanoseconds of long runs."""
    whole, rest = divmod(abs(ns), 1000)
    sign = "-" if ns < 0 else ""
    return f"{sign}{whole}.{rest:03d}" if rest else f"{sign}{whole}"
