"""What ``perf messages`` says of a trace as a page, whole or phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_analysis.messages import MessageTable, message_table, messages_by_phase, of_phase
from perf_traces.messages.communication import communication_of
from perf_traces.windows import model_edges
from perfcore.base.errors import OptionError, PerfError
from perfcore.results import Presenter

if TYPE_CHECKING:
    from perf_traces.messages.communication import Communication
    from perf_views.contents import Query, View, Viewable
    from perf_views.contents import Table as PageTable
    from perfcore.data.trace import Trace


_TITLE, _PHASE = "Messages", "phase"


class TracePresenter(Presenter):
    """What the page of a trace has of messages, and the question that one can ask of it."""

    def title(self, result: Trace) -> str:
        return _TITLE

    def views(self, result: Trace, data: Any = None, file: Path | None = None) -> Viewable | None:
        communication = _communication(result)
        if communication is None or not (len(communication.messages) or communication.collectives.n_on_communicators):
            return None
        from perf_views.contents import OneView

        edges, whole = model_edges(data) if getattr(data, "phases", None) else None, message_table(communication)
        return OneView(_TITLE, lambda query: _view(communication, whole, edges, query))

    def commands(self, result: Trace, file: str) -> list[str]:
        communication = _communication(result)
        if communication is None or not len(communication.calls):
            return []
        return [f"perf messages {file}" if communication.not_replayed else f"perf whatif {file}"]


def _communication(trace: Trace) -> Communication | None:
    """That of a trace; None where it has none, or is a part of a run."""
    try:
        return communication_of(trace)
    except PerfError:
        return None


def _view(communication: Communication, whole: MessageTable, edges_ns: Sequence[int] | None, query: Query) -> View:
    """The matrix, what each phase sends, and the sizes: of the run, or of the phase that the address names."""
    from perf_views.contents import Link, View
    from perf_views.contents import Table as PageTable
    from perf_views.drawable import drawing_of, summary_blocks

    number = _phase(query.get(_PHASE, ""), edges_ns)
    table = whole if number is None else message_table(of_phase(communication, edges_ns or (), number))
    blocks = summary_blocks(table)
    by_phase = [] if edges_ns is None else [_phase_table(communication, edges_ns)]
    drawing = [] if table.is_empty else [drawing_of(table)]
    tables = [PageTable.of(*each) for each in table.tables()]
    title, trail = (_TITLE, ()) if number is None else (f"{_TITLE} of phase {number}", (Link(_TITLE, ()),))
    return View(title, (*blocks, *drawing, *by_phase, *tables), (), trail)


def _phase(text: str, edges_ns: Sequence[int] | None) -> int | None:
    """The phase that an address names; None for the whole run."""
    n_phases = 0 if edges_ns is None else len(edges_ns) - 1
    if text and text not in map(str, range(1, n_phases + 1)):
        raise OptionError(f"phase {text!r}: there are {n_phases}, counted from 1")
    return int(text) if text else None


def _phase_table(communication: Communication, edges_ns: Sequence[int]) -> PageTable:
    from perf_views.contents import Cell, Link
    from perf_views.contents import Table as PageTable

    header, rows = messages_by_phase(communication, edges_ns)
    linked: list[tuple[Cell | str, ...]] = [
        (Cell(number, Link("", (), {_PHASE: number})), *cells) for number, *cells in rows
    ]
    return PageTable(tuple(header), tuple(linked), "By phase", "A phase leads to its messages.")
