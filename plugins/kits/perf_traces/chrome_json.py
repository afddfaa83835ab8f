"""Traces as Chrome's JSON, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

Source: "Trace Event Format", Google, 2016: complete events (``ph: X``), of which times are in microseconds; in addition
``distributedInfo`` and ``baseTimeNanoseconds`` as Kineto writes them. What the format has no place for is in
``perfcore``, and in ``location`` of the names of threads.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from perf_traces.joined_trace import run_of
from perf_traces.levels import level_names
from perf_traces.nesting import Columns, nesting_of
from perf_traces.states import state_classes
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace
from perfcore.data.units import shown_origin

MOST_EVENTS = 2_000_000  # some 200 MB; browsers do not open more
_MARKER = "user_annotation"  # the category that Kineto gives what users write next to the work
_ON_GPU = "gpu_"  # begins the categories of what streams execute
_NUMBER = re.compile(r"(?<![^ ])[0-9]{1,9}$")
_ROWS = 1 << 16  # that are text at one time, some 8 MB


def write_chrome_json(trace: Trace, stream: IO[bytes], inside_ns: tuple[int, int] | None = None) -> None:
    """Write the states of a trace, and its markers, as events.

    Locations are threads; those of one process, or of one GPU, are shown together. A call that has callees is one event
    around theirs, where the trace still knows its calls. The category of an event is the class of its state.
    """
    start, end = run_of(trace)
    origin = start if shown_origin(start, end) else 0
    devices, processes, nodes = (level_names(trace, level) for level in ("device", "process", "node"))
    source = Path(trace.source).name or "trace"
    several = len({name for name in nodes if name}) > 1
    names = [
        f"{node} / {device or process or source}" if several and node else device or process or source
        for node, device, process in zip(nodes, devices, processes, strict=True)
    ]
    numbers = _numbers(dict.fromkeys(names))
    of_markers = max(numbers.values()) + 1
    ids = [f'"pid":{numbers[name]},"tid":{thread}' for thread, name in enumerate(names, 1)]
    lines = itertools.chain(
        _metadata(trace, names, numbers, of_markers),
        _states(trace, ids, np.array([bool(name) for name in devices], dtype=np.int64), origin, inside_ns),
        _markers(trace, of_markers, origin, inside_ns),
    )
    rank_facts = {name: trace.facts[name] for name in ("rank", "world_size") if name in trace.facts}
    busy = [_writable(state) for state in trace.busy_states]
    run = {"span_ns": [start - origin, end - origin], "time_unit": trace.time_unit, "busy_states": busy}
    ranks = f'"distributedInfo":{json.dumps(rank_facts)},' if rank_facts else ""
    described = f'{ranks}"baseTimeNanoseconds":{trace.facts.get("epoch_ns", 0) + origin},"perfcore":{json.dumps(run)},'
    stream.write(f'{{"displayTimeUnit":"ns",{described}"traceEvents":[\n'.encode())
    stream.write(next(lines).encode())
    while block := list(itertools.islice(lines, _ROWS)):
        stream.write((",\n" + ",\n".join(block)).encode())
    stream.write(b"\n]}\n")


def _metadata(trace: Trace, names: Sequence[str], numbers: Mapping[str, int], of_markers: int) -> Iterator[str]:
    """Yield events that name processes and threads, and keep their order; then one that names what markers are on."""
    for order, (name, number) in enumerate(numbers.items()):
        yield _described("process_name", number, 0, name=name)
        yield _described("process_sort_index", number, 0, sort_index=order)
    for thread, (location, name) in enumerate(zip(trace.locations, names, strict=True), 1):
        yield _described(
            "thread_name", numbers[name], thread, name=location.removeprefix(f"{name} / "), location=location
        )
        yield _described("thread_sort_index", numbers[name], thread, sort_index=thread)
    yield _described("process_name", of_markers, 0, name="markers")


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Return numbers of processes: those that end their names, as of ``GPU 0``, and for the others what is free."""
    numbers: dict[str, int] = {}
    in_names: set[int] = set()
    for name in names:
        match = _NUMBER.search(name)
        if match and (number := int(match[0])) not in in_names:
            numbers[name] = number
            in_names.add(number)
    free = itertools.count(max(in_names, default=0) + 1)
    return {name: numbers[name] if name in numbers else next(free) for name in names}


def _states(
    trace: Trace, ids: Sequence[str], on_gpu: Ints, origin: int, inside_ns: tuple[int, int] | None
) -> Iterator[str]:
    """Yield calls around others first: of two events of the same times, the first is the outer one."""
    kinds = state_classes(trace.states, trace.busy_states)
    names = [
        [f'{{"ph":"X","name":{json.dumps(_writable(state))},"cat":{json.dumps(prefix + kind)},' for state, kind in zip(
            trace.states, kinds, strict=True)]
        for prefix in ("", _ON_GPU)
    ]  # fmt: skip
    for group in _calls(trace):
        rows = np.arange(len(group[2]))
        if inside_ns is not None:
            rows = np.flatnonzero((group[2] < inside_ns[1]) & (group[3] > inside_ns[0]))
        for first in range(0, len(rows), _ROWS):
            location, state, start, end = (column[rows[first : first + _ROWS]] for column in group)
            columns = on_gpu[location], location, state, start - origin, end - start
            for gpu, place, code, begin, length in zip(*(column.tolist() for column in columns), strict=True):
                yield f'{names[gpu][code]}{ids[place]},"ts":{_us(begin)},"dur":{_us(length)}}}'


def _calls(trace: Trace) -> Iterator[Columns]:
    """Yield location, state, start and end of calls that have callees, where these are known; then of all others."""
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
                f'{{"ph":"X","name":{json.dumps(_writable(name))},"cat":"{_MARKER}","pid":{process},"tid":0,'
                f'"ts":{_us(start - origin)},"dur":{_us(end - start)}}}'
            )


def _described(kind: str, process: int, thread: int, /, **arguments: str | int) -> str:
    args = {key: _writable(value) if isinstance(value, str) else value for key, value in arguments.items()}
    texts = json.dumps(args, separators=(",", ":"))
    return f'{{"ph":"M","name":"{kind}","pid":{process},"tid":{thread},"args":{texts}}}'


def _writable(name: str) -> str:
    """Return the name, without the halves of characters that names of files may hold."""
    return name.encode("utf-8", "replace").decode()


def _us(ns: int) -> str:
    """Return microseconds with all digits: a double has none left for nanoseconds of long runs."""
    whole, rest = divmod(abs(ns), 1000)
    sign = "-" if ns < 0 else ""
    return f"{sign}{whole}.{rest:03d}" if rest else f"{sign}{whole}"
