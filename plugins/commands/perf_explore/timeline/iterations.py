"""The iterations of a run: how long each lasts, and a way from each to its stretch of the timeline."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import perfcore
from perf_explore.timeline.shown import TimelineData, state_name
from perf_views.contents import Block, Cell, KeyFigure, KeyFigures, Link, Table, Text
from perf_views.drawable import drawing_of
from perfcore.base.errors import PerfError
from perfcore.data.units import nanoseconds_per, readable


_MOST_ROWS = 100


def iteration_blocks(data: TimelineData, way: Callable[[str, int, int], Link]) -> tuple[Block, ...]:
    """What `perf iterations` says and draws of the trace, and its iterations in the order of time; of many the longest.

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
    first, *others = iterations.summary()
    summary = Text((first.removeprefix(f"{iterations.source}: "), *others))
    if not iterations.count:
        return (summary,)
    times = np.rint(
        np.column_stack([iterations.starts, iterations.ends]) * nanoseconds_per(iterations.time_unit)
    ).astype(np.int64)
    times -= data.run_ns[0]
    durations = times[:, 1] - times[:, 0]
    typical = float(np.median(durations))
    longest = np.argsort(-durations, kind="stable")[:_MOST_ROWS]
    rows = []
    for number in np.sort(longest).tolist():
        start, end = times[number].tolist()
        link = way(state_name(iterations.labels[number]) if iterations.labels else str(number + 1), start, end)
        begins = readable(start + data.shown_from_ns, "ns")
        rows.append(
            (Cell(link.text, link), begins, readable(end - start, "ns"), f"{(end - start) / typical - 1.0:+.1%}")
        )
    title = (
        "Iterations"
        if iterations.count <= _MOST_ROWS
        else f"The {_MOST_ROWS} longest of {iterations.count:,} iterations"
    )
    figures = [
        KeyFigure("iterations", f"{iterations.count:,}"),
        KeyFigure("median", readable(float(f"{typical:.4g}"), "ns")),
        KeyFigure(
            "shortest to longest",
            " .. ".join(readable(float(f"{end:.4g}"), "ns") for end in (durations.min(), durations.max())),
        ),
    ]
    if iterations.spread is not None:
        figures.append(KeyFigure("spread", f"{iterations.spread:.1%}"))
    header = ("iteration", "begins", "lasts", "over the median")
    table = Table(header, tuple(rows), title, "An iteration leads to its stretch.")
    return (KeyFigures(tuple(figures)), drawing_of(iterations), summary, table)
