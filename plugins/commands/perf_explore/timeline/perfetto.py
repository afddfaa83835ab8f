"""What is shown of a timeline, as Chrome's JSON for Perfetto (https://ui.perfetto.dev)."""

from __future__ import annotations

import io

from perf_explore.timeline.shown import TimelineData
from perf_explore.timeline.window import Window
from perf_traces.chrome_json import MOST_EVENTS, write_chrome_json
from perfcore.base.errors import OptionError


def chrome_json(data: TimelineData, window: Window) -> bytes:
    """Everything that overlaps a window, of all lanes, uncut; times count as those of the trace."""
    trace = data.trace
    start, end = window.start_ns + data.run_ns[0], window.end_ns + data.run_ns[0]
    n_inside = int(((trace.start_ns < end) & (trace.end_ns > start)).sum())
    if n_inside > MOST_EVENTS:
        raise OptionError(
            f"{n_inside:,} intervals are in what is shown, and Perfetto opens {MOST_EVENTS:,}; zoom in first"
        )
    written = io.BytesIO()
    write_chrome_json(trace, written, (start, end))
    return written.getvalue()
