"""Messages of a run: as text, tables and picture, and on the page of its trace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.messages import MessageTable, message_table, messages_by_phase, of_phase
from perf_traces.messages.communication import communication_of
from perf_traces.windows import model_edges
from perf_views.colours import SIZES
from perf_views.names import existing_file, shortened
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.units import readable
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables
from perfcore.tables import Importance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_analysis.collective_speeds import CollectiveSpeed
    from perf_traces.messages.communication import Communication
    from perf_views.contents import Query, View, Viewable
    from perf_views.contents import Table as PageTable
    from perfcore.data.trace import Trace


_MOST_PAIRS = 12
_MOST_NAMED, _LETTERS = 16, 16  # ranks whose names stand next to the matrix, and letters of each
_COLLECTIVES = [
    Column("operation", "operation"),
    Column("collectives", "count"),
    Column("bytes", "bytes"),
    Column("timed", "timed"),
    Column("until all arrived", lambda row: row.until_all_ns if row.timed else None, "ns", "time"),
    Column("after arrival", lambda row: row.after_ns if row.timed else None, "ns", "time"),
]
_SPEEDS = [
    Column("collective", "operation"),
    Column("size [B]", "bytes", key="bytes"),
    Column("ranks", "ranks"),
    Column("calls", lambda row: len(row.time_ns)),
    Column("time", lambda row: float(np.median(row.time_ns)), "ns", "time", key="median_time_ns"),
    Column("bus [GB/s]", lambda row: _middle(row.bandwidths(bus=True)), format=".4g", key="median_bus_gb_s"),
    Column("best", lambda row: max(row.bandwidths(bus=True), default=None), format=".4g", key="best_bus_gb_s"),
    Column("skew", lambda row: _middle(_skews(row)), "ns", "time", key="median_skew_ns"),
    Column("last", lambda row: "{} ({}x)".format(*row.last_most) if row.last_most else None),
    Column("exposed", lambda row: None if row.exposed_ns is None else row.exposed_ns / max(row.member_ns, 1),
           format=".0%"),
    Column("max skew", lambda row: max(_skews(row), default=None), "ns", "time", key="most_skew_ns"),
    Column("alg [GB/s]", lambda row: _middle(row.bandwidths(bus=False)), format=".4g", key="median_algorithmic_gb_s"),
]  # fmt: skip
_WAITS = [
    Column("rank", "rank"),
    Column("last arrivals", "n_last"),
    Column("delay imposed", "held_up_ns", "ns", "time"),
    Column("wait time", "waited_ns", "ns", "time"),
]
_MOST_SPEEDS = 8  # and ranks
_TITLE, _PHASE = "Messages", "phase"


class MessageTablePresenter(Presenter):
    """Who sends to whom."""

    def title(self, result: MessageTable) -> str:
        return f"Messages of {Path(result.source).name or result.source}"

    def summary(self, result: MessageTable) -> list[str]:
        pairs = int((result.count > 0).sum())
        lines = [_speed(result)] if result.speeds else []
        if pairs:
            lines.append(
                f"{result.count.sum():,} messages, {result.bytes.sum():,} bytes in total, {pairs:,} rank pairs"
            )
        if result.collectives and not result.speeds:
            count, timed = sum(row.count for row in result.collectives), sum(row.timed for row in result.collectives)
            which = f" (all members present in {timed}; times are sums over members)" if timed else ""
            lines.append(f"{count} collective{'s' * (count != 1)}{which}")
        return lines

    def caveats(self, result: MessageTable) -> dict[str, Sequence[str]]:
        lacking = any(not row.is_complete for row in result.speeds)
        bounds = ["bandwidths are lower bounds, skew is unknown"] if lacking else []
        return {"Uncertain": ["; ".join([*bounds, *result.remarks])] if bounds else list(result.remarks)}

    def next_command(self, result: MessageTable) -> str:
        file = existing_file(result.source)
        return f"perf overheads {file}" if file and result.speeds else ""

    def tables(self, result: MessageTable) -> Tables:
        rows, columns = np.nonzero(result.count)
        order = np.lexsort((columns, rows, -result.bytes[rows, columns]))
        rows, columns, names = rows[order], columns[order], result.locations
        tables: Tables = []
        if len(rows):
            pairs = [
                Column("from", [names[k] for k in rows.tolist()]),
                Column("to", [names[k] for k in columns.tolist()]),
                Column("messages", result.count[rows, columns]),
                Column("bytes", result.bytes[rows, columns]),
            ]
            sizes = [
                Column("size <=", result.sizes, key="bytes_at_most"),
                Column("messages", result.of_size),
                Column("bytes", result.bytes_of_size),
            ]
            tables = [Table(pairs, title="Largest rank pairs", limit=_MOST_PAIRS), Table(sizes, title="Message sizes")]
            tables.append(Table(pairs, importance="data"))
        if result.speeds:
            kinds: tuple[tuple[int | None, Importance], ...] = ((_MOST_SPEEDS, "brief"), (None, "verbose"))
            for most, importance in kinds:
                tables.append(Table(_SPEEDS, result.speeds, "", importance, most))
                if result.waits:
                    tables.append(Table(_WAITS, result.waits, "Waiting for the last rank", importance, most))
        if result.collectives:
            tables.append(Table(_COLLECTIVES, result.collectives, "Collectives",
                                "verbose" if result.speeds else "default"))  # fmt: skip
        return tables

    def panels(self, result: MessageTable, data: Any = None) -> Panels:
        if not len(result.sizes):
            return {"collectives": partial(_draw_collectives, result)}
        return {
            "bytes": Panel(partial(_draw_matrix, result), width=0.58),
            "sizes": Panel(partial(_draw_sizes, result), width=0.42),
        }


def _middle(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _skews(row: CollectiveSpeed) -> list[int]:
    return [skew for skew in row.skew_ns if skew is not None]


def _speed(result: MessageTable) -> str:
    """Bandwidth of what takes most time, and the rank that the others wait for."""
    first = result.speeds[0]
    of_kind = [row for row in result.speeds if (row.operation, row.ranks) == (first.operation, first.ranks)]
    time = sum(sum(row.time_ns) for row in of_kind)
    sent = sum(row.bytes * len(row.time_ns) for row in of_kind)
    calls, factor = sum(len(row.time_ns) for row in of_kind), first.factor
    least = "" if all(row.is_complete for row in of_kind) else "at least "
    rate = f"{least}{sent / time:.4g} GB/s" + (f" ({factor * sent / time:.4g} GB/s on the bus)" if factor else "")
    among = f" among {first.ranks} ranks" if first.ranks else ""
    head = f"{first.operation}{among}: {calls} call{'s' * (calls != 1)}, {readable(time, 'ns', 4)}, {rate}"
    if result.waits and result.waits[0].held_up_ns:
        late, waited = result.waits[0], sum(row.waited_ns for row in result.waits)
        n_timed = sum(len(_skews(row)) for row in result.speeds)
        return (f"{head}; {late.rank} is last in {late.n_last} of {n_timed}, ranks wait "
                f"{readable(waited, 'ns', 4)} in total")  # fmt: skip
    return head


def _draw_collectives(result: MessageTable, axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter

    axes.barh([row.operation for row in result.collectives], [row.bytes for row in result.collectives])
    axes.xaxis.set_major_formatter(EngFormatter("B"))
    axes.set(xlabel="bytes", ylabel="collective")
    axes.invert_yaxis()


def _draw_matrix(result: MessageTable, axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    image = axes.imshow(np.ma.masked_equal(result.bytes, 0), cmap=SIZES, vmin=0.0, interpolation="nearest")
    axes.figure.colorbar(image, ax=axes, label="bytes", shrink=0.8, format=EngFormatter("B"))
    axes.set(xlabel="receiver", ylabel="sender")
    names = [shortened(name, _LETTERS) for name in result.locations]
    for axis, turned in ((axes.xaxis, 90), (axes.yaxis, 0)):
        if len(names) <= _MOST_NAMED:
            axis.set_ticks(range(len(names)), names, rotation=turned)
        else:
            axis.set_major_locator(MaxNLocator(integer=True))


def _draw_sizes(result: MessageTable, axes: Axes) -> None:
    axes.bar(range(len(result.sizes)), result.of_size)
    axes.set_xticks(range(len(result.sizes)), [str(size) for size in result.sizes], rotation=90)
    axes.set(xlabel="message size ≤ [B]", ylabel="messages")


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
