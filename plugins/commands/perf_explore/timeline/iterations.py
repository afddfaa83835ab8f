"""The iterations of a run as a table, from which each leads to its stretch of the timeline."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import perfcore
from perf_explore.timeline.shown import TimelineData, state_name
from perf_views.contents import Block, Cell, Link, Table, Text
from perfcore.base.errors import PerfError
from perfcore.data.units import nanoseconds_per, readable

__all__ = ["iteration_blocks"]

_MOST_ROWS = 100


def iteration_blocks(data: TimelineData, way: Callable[[str, int, int], Link]) -> tuple[Block, ...]:
    """What `perf iterations` says of the trace, and its iterations in the order of time; of many the longest.

    Parameters
    ----------
    data : TimelineData
    way : callable
        Makes a link of a text, and of a stretch in nanoseconds since the run's start.
    """
    try:
        iterations = perfcore.iterations(data.given)
    except PerfError as error:  # such as that no state is known to compute
        return (Text((str(error),)),)
    times = np.rint(
        np.column_stack([iterations.starts, iterations.ends]) * nanoseconds_per(iterations.time_unit)
    ).astype(np.int64)
    times -= data.run_ns[0]
    longest = np.argsort(times[:, 0] - times[:, 1], kind="stable")[:_MOST_ROWS]
    rows = []
    for number in np.sort(longest).tolist():
        start, end = times[number].tolist()
        link = way(state_name(iterations.labels[number]) if iterations.labels else str(number + 1), start, end)
        rows.append((Cell(link.text, link), readable(start + data.shown_from_ns, "ns"), readable(end - start, "ns")))
    title = (
        "Iterations"
        if iterations.count <= _MOST_ROWS
        else f"The {_MOST_ROWS} longest of {iterations.count:,} iterations"
    )
    table = Table(("iteration", "begins", "lasts"), tuple(rows), title, "An iteration leads to its stretch.")
    return (Text(tuple(iterations.summary())), *([table] if rows else []))
