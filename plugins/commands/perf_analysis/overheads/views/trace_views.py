"""Where the cycles of a trace go, as a view; whole, or phase by phase."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perf_analysis.overheads.attribution import profile_overheads
from perf_analysis.overheads.profile import OverheadProfile
from perf_analysis.overheads.tables import profile_tables
from perf_analysis.overheads.views.class_form import class_form, file_form, given_classes
from perf_analysis.overheads.views.stretches import category_stretches, class_stretches
from perf_analysis.overheads.with_calls import with_calls
from perf_traces.model_phases import model_edges
from perf_views.contents import Block, Cell, Notice, NoViewError, Query, RunStretch, Table, Text, View, ViewPath
from perf_views.drawable import drawing_of
from perfcore.base.errors import PerfError
from perfcore.data.trace import Trace


_TITLE = "Where the cycles go"
_WHERE = (
    "A category leads to its longest interval on the timeline; one that depends on what other locations do, to where "
    "there is most of it."
)
_MOST_ROWS = 100  # of a table of locations that is not folded: in their order, none of them tells more than others


class TraceViews:
    """One view: cycles by category, by location and, where there are phases, by phase; with a form for the classes."""

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
        of_classes = class_stretches(self._trace, profile)
        of_categories = category_stretches(profile, classes.rules, of_classes)
        blocks = _profile_blocks(profile, self._edges is not None, of_classes, of_categories)
        return View(profile.title, (*blocks, form))


def _profile_blocks(
    profile: OverheadProfile,
    by_phase: bool,
    of_classes: Mapping[str, RunStretch],
    of_categories: Mapping[str, RunStretch],
) -> Iterator[Block]:
    yield Text(tuple(profile.summary()))
    yield drawing_of(profile)
    tables = profile_tables(profile, "phase" if by_phase else "category") + profile_tables(profile, "location")[1:2]
    edges = profile.edges_ns.tolist()
    of_phases = {str(number): RunStretch(*ends) for number, ends in enumerate(itertools.pairwise(edges), 1)}
    for title, header, rows in tables:
        first = {"category": of_categories, "phase": of_phases}.get(header[0], {})
        cells = map(_shaded, rows) if title.startswith("Share") else rows
        table = Table.of(title, _with_stretches(header, of_categories), (_led(row, first) for row in cells))
        note = _WHERE if first is of_categories and of_categories else ""
        yield replace(table, is_folded=header[0] == "location" and len(rows) > _MOST_ROWS, note=note)
    # The states of each class, one on a line.
    states = [(name, "\n".join(names)) for name, names in profile.states.items() if names]
    yield Table.of("States by class", ("class", "states"), (_led(row, of_classes) for row in states))


def _led(row: Sequence[Cell | str], stretches: Mapping[str, RunStretch]) -> list[Cell | str]:
    """A row, whose first cell stands for a stretch of the run where there is one."""
    return [*_with_stretches(row[:1], stretches), *row[1:]]


def _with_stretches(cells: Sequence[Cell | str], stretches: Mapping[str, RunStretch]) -> list[Cell | str]:
    return [
        Cell(cell, stretch=stretches[cell]) if isinstance(cell, str) and cell in stretches else cell for cell in cells
    ]


def _shaded(row: Sequence[str]) -> list[Cell | str]:
    """Shares get a colour, bright for a large one; nothing gets none."""
    return [Cell(text, shade=float(text[:-1]) / 100.0) if _is_share(text) and text != "0.00%" else text for text in row]


def _is_share(text: str) -> bool:
    return text.endswith("%") and text[:-1].replace(".", "", 1).isdecimal()
