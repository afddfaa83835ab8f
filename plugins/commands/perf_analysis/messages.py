"""Messages and collectives of a run: the communication matrix, sizes, speeds, and their report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from perf_analysis.collectives import CollectiveSpeed, RankTimes, collective_speeds
from perf_traces.messages.communication import Communication, communication_of, latest_of, sums_of
from perf_traces.states import state_classes
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_views.names import existing_file, shortened, unique_suffixes
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.reading.recognise import named_files
from perfcore.report import Axis, Bars, Column, Figure, Note, Plot, Report, Result, Spans, Table
from perfcore.tables import Importance

_MOST_PAIRS, _MOST_SPEEDS = 12, 8
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
    Column("size [B]", lambda row: row.bytes or None, key="bytes"),
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


@dataclass(frozen=True)
class CollectiveRow:
    """Collectives of one operation."""

    operation: str
    count: int
    bytes: int  # the most that one member sends or receives, summed up
    timed: int  # those that have several members, all of which the trace holds; times are of these
    until_all_ns: int  # how long members were in the call before the last of them came, and from then on
    after_ns: int


def collective_rows(communication: Communication) -> tuple[CollectiveRow, ...]:
    """Sum up collectives of data and barriers, those with most bytes first."""
    calls, collectives = communication.calls, communication.collectives
    collectives = collectives.only(collectives.of_data)
    member_counts = np.bincount(collectives.member_of, minlength=len(collectives))
    complete = (member_counts == collectives.size) & (member_counts > 1)
    enter, leave = (times[collectives.member_call] for times in (calls.enter_ns, calls.leave_ns))
    last = latest_of(collectives.member_of, enter, len(collectives))
    arrived = np.clip(last[collectives.member_of], enter, leave)
    operation = collectives.operation
    of_member, timed = operation[collectives.member_of], complete[collectives.member_of]
    columns = [
        (operation, 1), (operation, collectives.bytes), (operation[complete], 1),
        (of_member[timed], (arrived - enter)[timed]), (of_member[timed], (leave - arrived)[timed]),
    ]  # fmt: skip
    sums = np.array([sums_of(group, values, len(calls.operations)) for group, values in columns])
    rows = [CollectiveRow(name, *of) for name, of in zip(calls.operations, sums.T.tolist(), strict=True) if of[0]]
    return tuple(sorted(rows, key=lambda row: -row.bytes))


@dataclass(frozen=True, eq=False, repr=False)
class MessageTable(Result):
    """Messages by sender and receiver, and by size; collectives by operation."""

    reporter: ClassVar[str] = "perf_analysis.messages:report_of"
    json_kind: ClassVar[str] = "messages"

    source: str
    locations: tuple[str, ...]  # those that send or receive
    count: Ints  # from the row's location to the column's
    bytes: Ints
    sizes: Ints  # upper ends of classes of sizes, powers of 2 and 0, and how many messages each has
    of_size: Ints
    bytes_of_size: Ints
    collectives: tuple[CollectiveRow, ...] = ()
    remarks: tuple[str, ...] = ()  # what is wrong with the trace
    speeds: tuple[CollectiveSpeed, ...] = ()  # of collectives of GPUs
    waits: tuple[RankTimes, ...] = ()  # without their computing
    n_calling: int = 0  # locations that call the library

    def to_dict(self) -> dict[str, Any]:
        sizes = zip(self.sizes.tolist(), self.of_size.tolist(), self.bytes_of_size.tolist(), strict=True)
        columns = ("at_most_bytes", "messages", "bytes")
        waits = [{key: value for key, value in asdict(row).items() if key != "computing_ns"} for row in self.waits]
        return {
            "source": self.source, "calling_locations": self.n_calling, "locations": list(self.locations),
            "messages": self.count.tolist(), "bytes": self.bytes.tolist(),
            "sizes": [dict(zip(columns, row, strict=True)) for row in sizes],
            "collectives": [asdict(row) for row in self.collectives],
            "collective_speeds": [row.to_dict() for row in self.speeds], "waits": waits, "remarks": list(self.remarks),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class MessageRuns(Result):
    """Messages of several runs."""

    reporter: ClassVar[str] = "perf_analysis.messages:report_of_runs"
    json_kind: ClassVar[str] = "message-runs"

    runs: tuple[MessageTable, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"runs": [run.to_dict() for run in self.runs]}


def message_table(communication: Communication, trace: Trace) -> MessageTable:
    """Sum up the messages of a run, and how fast collectives of GPUs are."""
    ends = np.concatenate([communication.sender, communication.receiver])
    ranks, code = np.unique(ends, return_inverse=True)
    code = code.reshape(-1)
    pair = code[: len(code) // 2] * len(ranks) + code[len(code) // 2 :]
    size = communication.messages.bytes
    count = np.bincount(pair, minlength=len(ranks) ** 2).reshape(len(ranks), len(ranks))
    total = sums_of(pair, size, len(ranks) ** 2)
    ceiling = np.where(size > 0, 1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64), 0)
    sizes, which = np.unique(ceiling, return_inverse=True)
    of_size, bytes_of_size = (sums_of(which.reshape(-1), each, len(sizes)) for each in (1, size))
    names = tuple(communication.locations[place] for place in ranks.tolist())
    return MessageTable(
        communication.source, names, count.astype(np.int64), total.reshape(count.shape), sizes,
        of_size, bytes_of_size, collective_rows(communication), tuple(communication.remark_lines()),
        *collective_speeds(communication, trace),
        n_calling=int((np.diff(communication.first_call) > 0).sum()),
    )  # fmt: skip


def trace_and_calls(
    trace: str | os.PathLike[str] | Trace, read: Callable[[str, Sequence[type]], Any]
) -> tuple[Trace, Communication]:
    """A trace and its calls; an error where it has none."""
    data = trace if isinstance(trace, Trace) else read(os.fspath(trace), (Trace,))
    if not isinstance(data, Trace):
        if not isinstance(trace, Trace) and len(named_files(os.fspath(trace)) or ()) > 1:
            raise DataError(
                f"{trace}: names several runs, and one is asked about; name its file, or give -r files=ranks where the "
                "files are ranks of one run"
            )
        raise DataError(f"{trace}: holds no states or messages; give a trace of a run, such as one of Paraver or OTF2")
    if isinstance(data, SummarizedTrace):
        raise DataError(f"{data.source}: a summary keeps no calls and messages; give the traces that went into it")
    communication = communication_of(data)
    if communication is None or not len(communication.calls):
        if "communicating" in state_classes(data.states):
            raise DataError(f"{data.source}: names calls of MPI or NCCL, but records no messages or groups of ranks; "
                            "give a trace with these, such as Paraver, OTF2, or PyTorch's of all ranks")  # fmt: skip
        raise DataError(f"{data.source}: no MPI or NCCL calls recorded; trace communication to use this command")
    return data, communication


def report_of(result: MessageTable, data: Any = None) -> Report:
    """Return who sends to whom, and how fast collectives are."""
    pairs, n_messages = int((result.count > 0).sum()), int(result.count.sum())
    figures = [Figure("messages", n_messages, format=",d"), Figure("bytes", int(result.bytes.sum()), "B", format=",d")]
    lines = [_speed(result)] if result.speeds else []
    if pairs:
        lines.append(f"{figures[0].text} messages, {figures[1].value:,} bytes in total, {pairs:,} rank pairs")
    if result.collectives and not result.speeds:
        count, timed = sum(row.count for row in result.collectives), sum(row.timed for row in result.collectives)
        which = f" (all members present in {timed}; times are sums over members)" if timed else ""
        lines.append(f"{count} collective{'s' * (count != 1)}{which}")
        figures.append(Figure("collectives", count, format=",d"))
    lacking = any(not row.is_complete for row in result.speeds)
    bounds = "bandwidths are lower bounds, " * any(row.bytes for row in result.speeds)
    notes = [Note("Uncertain", f"{bounds}skew is unknown")] * lacking
    notes += [Note("Uncertain", remark) for remark in result.remarks]
    file = existing_file(result.source)
    following = f"perf whatif {file} {'--compute collectives=inf' if result.speeds else '--network 0'}" if file else ""
    return Report(
        f"Messages of {Path(result.source).name or result.source}", lines[0] if lines else "no message or collective",
        figures, _tables(result), lambda: _plots(result), notes, following, lines[1:],
    )  # fmt: skip


def _tables(result: MessageTable) -> list[Table]:
    rows, columns = np.nonzero(result.count)
    order = np.lexsort((columns, rows, -result.bytes[rows, columns]))
    rows, columns, names = rows[order], columns[order], result.locations
    tables: list[Table] = []
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
        for most, kind in kinds:
            tables.append(Table(_SPEEDS, result.speeds, "Medians of collectives", kind, most))
            if result.waits:
                tables.append(Table(_WAITS, result.waits, "Waiting for the last rank", kind, most))
    if result.collectives:
        importance: Importance = "verbose" if result.speeds else "default"
        tables.append(Table(_COLLECTIVES, result.collectives, "Collectives", importance))
    return tables


def report_of_runs(result: MessageRuns, data: Any = None) -> Report:
    """Return a row for each run, and the collectives of all."""
    runs = sorted(result.runs, key=lambda run: run.n_calling)
    names = unique_suffixes([run.source for run in runs])
    counts = [int(run.count.sum()) for run in runs]
    sent = [int(run.bytes.sum()) for run in runs]
    ratio = f", {counts[-1] / counts[0]:.3g} times as many as in {names[0]}" if counts[0] else ""
    joined = [sum(row.count for row in run.collectives) for run in runs]
    what = f"sends {counts[-1]:,} messages of {sent[-1]:,} bytes in total{ratio}"
    if not counts[-1] and joined[-1]:
        what = f"has {joined[-1]:,} collectives and no message"
    answer = f"{len(runs)} runs: {names[-1]} {what}"
    figures = [Figure("messages", counts[-1], format=",d"), Figure("bytes", sent[-1], "B", format=",d")]
    columns = [
        Column("run", names),
        Column("locations", [run.n_calling for run in runs]),
        Column("messages", counts),
        Column("bytes", sent),
        Column("rank pairs", [int((run.count > 0).sum()) for run in runs]),
        Column("collectives", joined),
        Column("until all arrived", [sum(row.until_all_ns for row in run.collectives) for run in runs], "ns", "time"),
    ]
    rows = [(name, row) for name, run in zip(names, runs, strict=True) for row in run.collectives]
    collectives = [
        Column("run", 0), Column("operation", lambda row: row[1].operation), Column("collectives",
        lambda row: row[1].count), Column("bytes", lambda row: row[1].bytes),
        Column("until all arrived", lambda row: row[1].until_all_ns if row[1].timed else None, "ns", "time"),
    ]  # fmt: skip
    tables = [Table(columns), *([Table(collectives, rows, "Collectives")] if rows else [])]
    notes = [Note("Uncertain", f"{name}: {remark}") for name, run in zip(names, runs, strict=True)
             for remark in run.remarks]  # fmt: skip
    return Report(f"Messages of {len(runs)} runs", answer, figures, tables, notes=notes)


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
    rate = f", {least}{sent / time:.4g} GB/s on average" if sent else ""
    rate += f" ({factor * sent / time:.4g} GB/s on the bus)" if sent and factor else ""
    among = f" among {first.ranks} ranks" if first.ranks else ""
    head = f"{first.operation}{among}: {calls} call{'s' * (calls != 1)}, {readable(time, 'ns', 4)} in total{rate}"
    if result.waits and result.waits[0].held_up_ns:
        late, waited = result.waits[0], sum(row.waited_ns for row in result.waits)
        n_timed = sum(len(_skews(row)) for row in result.speeds)
        return (f"{head}; {late.rank} is last in {late.n_last} of {n_timed}, ranks wait "
                f"{readable(waited, 'ns', 4)} in total")  # fmt: skip
    return head


def _plots(result: MessageTable) -> list[Plot]:
    """Return plots of the matrix of bytes and of the sizes, or of the collectives of a run without messages."""
    if not len(result.sizes):
        names = [row.operation for row in result.collectives]
        bars = Bars(range(len(names)), [row.bytes for row in result.collectives], is_horizontal=True)
        of_names = Axis("collective", scale="category", names=names, is_reversed=True)
        return [Plot("collectives", [bars], Axis("bytes", "B"), of_names)]
    senders, receivers = np.nonzero(result.bytes)
    amounts = result.bytes[senders, receivers]
    most = int(amounts.max(initial=1))
    cells = Spans(
        (receivers - 0.5).tolist(), (receivers + 0.5).tolist(), "", [f"size:{a / most:.3f}" for a in amounts.tolist()],
        (senders - 0.5).tolist(), (senders + 0.5).tolist(),
    )  # fmt: skip
    n = len(result.locations)
    names = [shortened(name, _LETTERS) for name in result.locations] if n <= _MOST_NAMED else []
    receiver, sender = (
        Axis(label, scale="category", names=names, is_reversed=label == "sender") if names else
        Axis(label, limits=(-0.5, n - 0.5), is_reversed=label == "sender")
        for label in ("receiver", "sender")
    )  # fmt: skip
    sizes = Axis("message size, at most [B]", scale="category", names=[str(size) for size in result.sizes.tolist()])
    bars = Bars(range(len(result.sizes)), result.of_size.tolist())
    return [
        Plot("bytes", [cells], receiver, sender, f"bytes (bright: {most:,}, dark: few)", width=0.58),
        Plot("sizes", [bars], sizes, Axis("messages"), width=0.42),
    ]
