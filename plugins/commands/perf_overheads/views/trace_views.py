"""Where the cycles of a trace go, as a view; whole, or phase by phase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from perf_overheads.attribution import profile_overheads
from perf_overheads.profile import OverheadProfile
from perf_overheads.tables import profile_tables
from perf_overheads.views.class_form import class_form, file_form, given_classes
from perf_overheads.with_calls import with_calls
from perf_traces.model_phases import model_edges
from perf_views.contents import Block, Cell, Notice, NoViewError, Query, Table, Text, View, ViewPath
from perf_views.drawable import drawing_of
from perfcore.base.errors import PerfError
from perfcore.data.trace import Trace

__all__ = ["TraceViews"]

_TITLE = "Where the cycles go"
_MOST_ROWS = 100  # of a table that is not folded


class TraceViews:
    """One view: cycles by category, by location and, where there are phases, by phase; with a form for the classes.

    Parameters
    ----------
    trace : Trace
    model : Model, optional
        Of the trace; if it has phases, cycles are told for each.
    """

    def __init__(self, trace: Trace, model: Any = None) -> None:
        self._trace = trace
        self._edges = model_edges(model) if getattr(model, "phases", None) else None

    @property
    def title(self) -> str:
        """What it shows."""
        return _TITLE

    def paths(self) -> Iterable[ViewPath]:
        """The only one."""
        return [()]

    def view(self, path: ViewPath, query: Query) -> View:
        """The profile by the classes and the file of categories that the address chooses; see `Viewable.view`."""
        if path:
            raise NoViewError(path)
        try:
            classes = given_classes(self._trace, query)
        except PerfError as error:
            return View(_TITLE, (Notice(str(error), "error"), file_form(query)))
        form = class_form(self._trace, classes)
        missing = classes.without(self._trace)
        if missing:
            text = (
                f"No pattern of {classes.rules.source} names {len(missing)} of {len(self._trace.states)} states of the "
                "trace, so it is not known what is lost in them; choose what each of them is."
            )
            return View(_TITLE, (Notice(text, "warning"), form))
        try:
            profile = profile_overheads(self._trace, classes.rules, classes=classes.own, phase_edges_ns=self._edges)
            profile = with_calls(self._trace, profile)
        except PerfError as error:
            return View(_TITLE, (Notice(str(error), "error"), form))
        return View(profile.title, (*_profile_blocks(profile, self._edges is not None), form))


def _profile_blocks(profile: OverheadProfile, by_phase: bool) -> Iterator[Block]:
    yield Text(tuple(profile.summary()))
    yield drawing_of(profile)
    tables = profile_tables(profile, "phase" if by_phase else "category") + profile_tables(profile, "location")[1:2]
    for title, header, rows in tables:
        table = Table.of(title, header, map(_shaded, rows) if title.startswith("Share") else rows)
        yield replace(table, is_folded=len(rows) > _MOST_ROWS)
    # The states of each class, one on a line.
    states = [(name, "\n".join(names)) for name, names in profile.states.items() if names]
    yield Table.of("States by class", ("class", "states"), states)


def _shaded(row: Sequence[str]) -> list[Cell | str]:
    """Shares get a colour, bright for a large one; nothing gets none."""
    return [Cell(text, shade=float(text[:-1]) / 100.0) if _is_share(text) and text != "0.00%" else text for text in row]


def _is_share(text: str) -> bool:
    return text.endswith("%") and text[:-1].replace(".", "", 1).isdecimal()
