"""Where the cycles of a trace go, as a view; whole, or phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perf_overheads import OverheadProfile, profile_overheads
from perf_overheads.views.class_form import class_form, file_form, given_classes
from perfcore.base.errors import PerfError
from perfcore.data.trace import Trace
from perfcore.views.contents import Block, Cell, Link, Notice, Query, Table, Text, View, ViewPath
from perfcore.views.drawable import drawing_of

__all__ = ["overhead_view"]

_TITLE = "Where the cycles go"


def overhead_view(
    trace: Trace,
    path: ViewPath,
    trail: tuple[Link, ...],
    phase_edges_ns: Sequence[int] | None = None,
    query: Query | None = None,
    state: Mapping[str, str] | None = None,
) -> View:
    """Cycles by category, by location and, where there are phases, by phase; with a form for the classes of states.

    Parameters
    ----------
    trace : Trace
    path : tuple of str
    trail : tuple of Link
    phase_edges_ns : sequence of int, optional
        Where phases begin and end, on the clock of the trace.
    query : mapping of str to str, optional
        The address's choice of classes and of the file of categories; without it there is no form to choose them.
    state : mapping of str to str, optional
        What of the address says which phases; the form keeps it.
    """
    kept = state or {}
    try:
        classes = given_classes(trace, query or {})
    except PerfError as error:
        return View(_TITLE, (Notice(str(error), "error"), file_form(query or {}, path, kept)), path, trail)
    form = () if query is None else (class_form(trace, classes, path, kept),)
    missing = classes.without(trace)
    if missing:
        count = f"{len(missing)} of {len(trace.states)} states of the trace"
        text = f"No pattern of {classes.rules.source} names {count}, so it is not known what is lost in them"
        where = "; choose what each of them is." if form else ". The view of the whole run lets you choose."
        return View(_TITLE, (Notice(text + where, "warning"), *form), path, trail)
    try:
        profile = profile_overheads(trace, classes.rules, classes=classes.own, phase_edges_ns=phase_edges_ns)
    except PerfError as error:
        return View(_TITLE, (Notice(str(error), "error"), *form), path, trail)
    tables = profile.tables("category" if phase_edges_ns is None else "phase") + profile.tables("location")[1:2]
    shown = [
        Table.of(title, header, map(_shaded, rows) if title.startswith("Share") else rows)
        for title, header, rows in tables
    ]
    blocks: list[Block] = [Text(tuple(profile.summary())), drawing_of(profile), *shown, _class_table(profile), *form]
    return View(profile.title, tuple(blocks), path, trail)


def _class_table(profile: OverheadProfile) -> Table:
    """The states of each class, one on a line."""
    rows = [(name, "\n".join(states)) for name, states in profile.states.items() if states]
    return Table.of("States by class", ("class", "states"), rows)


def _shaded(row: Sequence[str]) -> list[Cell | str]:
    """Shares get a colour, dark for a large one; nothing gets none."""
    return [
        Cell(text, shade=1.0 - float(text[:-1]) / 100.0) if _is_share(text) and text != "0.00%" else text
        for text in row
    ]


def _is_share(text: str) -> bool:
    return text.endswith("%") and text[:-1].replace(".", "", 1).isdecimal()
