"""A part of a trace as Chrome's JSON, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

Source: "Trace Event Format", complete events (``ph: X``), of which times are in microseconds.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from perf_explore.timeline.shown import TimelineData
from perf_explore.timeline.window import Window
from perf_traces.levels import level_names
from perfcore.base.errors import OptionError

__all__ = ["MOST_EVENTS", "chrome_json"]

MOST_EVENTS = 2_000_000  # some 200 MB; browsers do not open more


def chrome_json(data: TimelineData, window: Window) -> bytes:
    """Everything that overlaps a window, of all lanes, uncut; times count as those of the trace.

    Raises
    ------
    OptionError
        These are more intervals than Perfetto opens.
    """
    trace = data.trace
    start, end = window.start_ns + data.run_ns[0], window.end_ns + data.run_ns[0]
    inside = np.flatnonzero((trace.start_ns < end) & (trace.end_ns > start))
    if len(inside) > MOST_EVENTS:
        raise OptionError(
            f"{len(inside):,} intervals are in what is shown, and Perfetto opens {MOST_EVENTS:,}; zoom in first"
        )
    processes = [name or trace.source for name in level_names(trace, "process")]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(processes), 1)}
    of_location = [numbers[name] for name in processes]
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": name}}
        for name, number in numbers.items()
    ]
    events += [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": at, "args": {"name": name}}
        for at, (name, process) in enumerate(zip(trace.locations, of_location, strict=True), 1)
    ]
    columns = (trace.location[inside], trace.state[inside], trace.start_ns[inside], trace.end_ns[inside])
    for location, state, begin, stop in zip(*(column.tolist() for column in columns), strict=True):
        events.append(
            {
                "ph": "X", "name": trace.states[state], "cat": data.class_of_state[state], "pid": of_location[location],
                "tid": location + 1, "ts": begin / 1000, "dur": (stop - begin) / 1000,
            }
        )  # fmt: skip
    events += [
        {"ph": "X", "name": name, "cat": "marker", "pid": 0, "tid": 0, "ts": begin / 1000, "dur": (stop - begin) / 1000}
        for name, begin, stop in data.given.markers
        if begin < end and stop >= start
    ]
    if events[-1]["pid"] == 0:
        events.append({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "markers"}})
    return msgspec.json.encode({"displayTimeUnit": "ns", "traceEvents": events})
