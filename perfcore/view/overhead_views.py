"""Where the cycles of a trace go, as a view; whole, or phase by phase."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.errors import PerfError
from perfcore.overheads import profile_overheads
from perfcore.trace import Trace
from perfcore.view.contents import Block, Cell, Link, Notice, Table, Text, View, ViewPath
from perfcore.view.drawable_views import drawing_of

__all__ = ["overhead_view"]


def overhead_view(
    trace: Trace, path: ViewPath, trail: tuple[Link, ...], phase_edges_ns: Sequence[int] | None = None
) -> View:
    """Cycles by category, by location and, where there are phases, by phase.

    Parameters
    ----------
    trace : Trace
    path : tuple of str
    trail : tuple of Link
    phase_edges_ns : sequence of int, optional
        Where phases begin and end, on the clock of the trace.
    """
    try:
        profile = profile_overheads(trace, phase_edges_ns=phase_edges_ns)
    except PerfError as error:
        return View("Where the cycles go", (Notice(str(error), "error"),), path, trail)
    tables = profile.tables("category" if phase_edges_ns is None else "phase") + profile.tables("location")[1:2]
    shown = [
        Table.of(title, header, map(_shaded, rows) if title.startswith("Share") else rows)
        for title, header, rows in tables
    ]
    blocks: list[Block] = [Text(tuple(profile.summary())), drawing_of(profile), *shown]
    return View(profile.title, tuple(blocks), path, trail)


def _shaded(row: Sequence[str]) -> list[Cell | str]:
    """Shares get a colour, dark for a large one; nothing gets none."""
    return [
        Cell(text, shade=1.0 - float(text[:-1]) / 100.0) if _is_share(text) and text != "0.00%" else text
        for text in row
    ]


def _is_share(text: str) -> bool:
    return text.endswith("%") and text[:-1].replace(".", "", 1).isdecimal()
