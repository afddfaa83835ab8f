"""What is said of GPU time by operator, of GPU memory, and of launches and queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_analysis.operators import IN_SECONDS
from perf_io.traces.gpu_activity import WAITING
from perf_io.traces.intervals import JUMPED
from perf_views.names import existing_file, plain_names, shortened, shortened_apart
from perfcore.data.units import readable
from perfcore.report import Axis, Column, Figure, Note, Plot, Report, Steps, Table

if TYPE_CHECKING:
    from perf_analysis.operators import GpuMemory, LaunchTimes, OperatorTimes

_UNITS, _MOST_STACK = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")), 3
_MOST_ROWS, _MOST_RATED, _LETTERS, _FEW_LETTERS = 10, 6, 60, 38
_FINER = {"group": "operator", "module": "operator", "operator": "shape", "shape": "kernel"}
_RATES = [
    Column("shape", "label", least=44),
    Column("calls", "calls"),
    Column("time", "flop_ns", "ns", "time"),
    Column("TFLOP/s", lambda row: row["flop_s"] / 1e12, format=".4g"),
    Column("FLOP/B", "flop_per_byte", format=".4g"),
    Column("roof", lambda row: row["roof_flop_s"] / 1e12 if row["roof_flop_s"] else None, format=".4g"),
    Column("of roof", "share_of_roof", format=".1%"),
]
_MEAN = Column("mean", lambda row: row["own_ns"] / row["pieces"] if row["pieces"] else None, "ns", "time")
_FULL, _LATE, _MOST_SHORT, _MOST_STREAMS, _MOSTLY = 1000, 1 / 3, 0.2, 8, 0.5
_STREAMS = [
    Column("GPU / stream", "stream"),
    Column("pieces", "pieces"),
    Column("delay", "median_delay_ns", "ns", "time"),
    Column("p95", "p95_delay_ns", "ns", "time"),
    Column("max", "most_delay_ns", "ns", "time"),
    Column("call", "median_call_ns", "ns", "time"),
    Column("under 10 us", lambda row: row["short"] / row["pieces"], format=".0%", key="short_share"),
    Column("queue", "mean_queued", format=".3g"),
    Column("max", "most_queued", key="most_queued"),
    Column("empty", "empty_share", format=".1%"),
]


def _notes_of(result: Any) -> list[Note]:
    labels = {IN_SECONDS: "Assumed"}
    return [Note("Uncertain" if JUMPED in text else labels.get(text, "Not recorded"), text) for text in result.notes]


def report_of_operators(result: OperatorTimes, data: Any = None) -> Report:
    """Return the largest own times, and the sum of the others."""
    rows = [row for row in result.rows if row["run"] == len(result.parameters) - 1]  # of the last run
    first, whole = rows[0], max(sum(row["own_ns"] for row in rows), 1)
    name = Path(result.sources[-1]).name
    if len(result.sources) > 1:
        name = f"{len(result.sources)} runs, last {name}" if result.parameters[0] else f"{len(result.sources)} files"
    largest = _labels(result.by, [first["name"]])[0]
    figures = [Figure(largest, first["own_ns"] / whole, format=".1%", key="largest")]
    busy = ""
    if result.elapsed_ns:
        figures.append(Figure("GPU busy", result.busy_ns / result.elapsed_ns, format=".1%"))
        busy = f"; GPU busy {figures[1].text} of {readable(result.elapsed_ns, 'ns', 4)}"
    rate = ""
    if rated := [row for row in rows if row.get("flop")]:
        time = sum(row["flop_ns"] for row in rated)
        figures.append(Figure("rate", sum(row["flop"] for row in rated) / time / 1e3, "TFLOP/s", format=".4g"))
        rate = f"; {figures[-1].text} in {time / whole:.0%} of it"
    calls = f" ({first['calls']} call{'s' * (first['calls'] != 1)})" if first["calls"] else ""
    what = "GPU work" if result.elapsed_ns else "time"  # sums may be of the host
    answer = f"{name}: {figures[0].text} of the {what} ({readable(whole, 'ns', 4)}) is {largest}{calls}{busy}{rate}"
    file, finer = existing_file(result.named), _FINER.get(result.by, "")
    if (finer == "operator" and not result.has_operators) or (finer == "shape" and not result.has_shapes):
        finer = "kernel"
    following = f"perf profile {file} --by {finer}" if file and finer else ""
    frame = result.table()
    data = Table([Column(name, frame[name].tolist(), key=name) for name in map(str, frame.columns)], importance="data")
    notes = _notes_of(result)
    title = f"GPU time by {result.by}: {result.sources[0]}"
    tables = _operator_tables(result, rows, whole)
    if len(result.parameters) == 2 and not result.elapsed_ns:
        answer, figures, tables = _difference(result)
    return Report(title, answer, figures, [data, *tables], notes=notes, next=following)


def _difference(result: OperatorTimes) -> tuple[str, list[Figure], list[Table]]:
    """Return the sentence, figures and table on two profiles: what differs most first."""
    times: dict[str, list[int]] = {}
    for row in result.rows:
        times.setdefault(row["name"], [0, 0])[row["run"]] += row["own_ns"]
    rows = sorted(times.items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    names = [Path(source).name for source in result.sources]
    if names[0] == names[1]:
        names = list(result.sources)
    sums = [sum(time[run] for _, time in rows) for run in (0, 1)]
    ratio = Figure("ratio", sums[1] / max(sums[0], 1), format=".3g")
    before, after = (readable(each, "ns", 4) for each in sums)
    largest, (old, new) = _labels(result.by, [rows[0][0]])[0], rows[0][1]
    sign, change = "+" if new >= old else "-", readable(abs(new - old), "ns", 3)
    answer = f"{names[1]}: {after}, {ratio.text}x {before} of {names[0]}; most of it {largest} ({sign}{change})"
    labels = shortened_apart([name for name, _ in rows], _FEW_LETTERS)
    shown = [*zip(labels, (time for _, time in rows), strict=True), ("sum", sums)]
    columns = [
        Column(result.by, 0),
        Column(names[0], lambda row: row[1][0], "ns", "time"),
        Column(names[1], lambda row: row[1][1], "ns", "time"),
        Column("difference", lambda row: row[1][1] - row[1][0], "ns", "time"),
        Column("ratio", lambda row: row[1][1] / row[1][0] if row[1][0] else None, format=".3g"),
    ]
    return answer, [ratio], [Table(columns, shown)]


def _operator_tables(result: OperatorTimes, last: Sequence[Mapping[str, Any]], whole: int) -> list[Table]:
    """The rows with most own time, those of other rows together, and rates where they are known."""
    rated = sorted((row for row in last if row.get("flop")), key=lambda row: -row["flop_ns"])[:_MOST_RATED]
    n_shown = min(_MOST_RATED if rated else _MOST_ROWS, max(sum(row["own_ns"] > 0 for row in last), 1))

    def table(n: int, importance: Any) -> Table:
        shown, rest = last[:n], last[n:]
        names = _labels(result.by, [row["name"] for row in shown])
        rows = [{**row, "label": name} for row, name in zip(shown, names, strict=True)]
        own, pieces = (sum(row[key] for row in rest) for key in ("own_ns", "pieces"))
        if own:
            rows.append({"label": f"{len(rest)} other{'s' * (len(rest) > 1)}", "own_ns": own, "pieces": pieces})
        rows.append({"label": "sum", "own_ns": whole, "pieces": sum(row["pieces"] for row in last)})
        total = any(row["total_ns"] != row["own_ns"] for row in last)
        counts = any(row["calls"] != row["pieces"] for row in last)
        columns = [
            Column(result.by, "label", least=_LETTERS),
            Column("own" if total else "time", "own_ns", "ns", "time"),
            Column("share", lambda row: row["own_ns"] / whole, format=".1%"),
            *([Column("total", "total_ns", "ns", "time")] if total else []),
            *([Column("calls", "calls")] if counts else []),
            *([Column("pieces", "pieces"), _MEAN] if any(row["pieces"] for row in last) else []),
        ]
        return Table(columns, rows, importance=importance)

    labels = _labels("shape", [row["name"] for row in rated])
    rates = [{**row, "label": name} for row, name in zip(rated, labels, strict=True)]
    several = [Table(_RATES, rates, "Matrix products, convolutions, attention")] * bool(rated)
    return [table(n_shown, "brief"), table(len(last), "verbose"), *several]


def _labels(by: str, names: Sequence[str]) -> list[str]:
    return plain_names(names, _LETTERS) if by == "kernel" else shortened_apart(names, _LETTERS)


def report_of_memory(result: GpuMemory, data: Any = None) -> Report:
    """Return the peak, and what each operator allocates and frees."""
    at, where = result.peak, " < ".join(result.stack[:_MOST_STACK]) or "no operator"
    peak, reserved, lost = (int(amount) for amount in (
        result.allocated[at], result.reserved.max(), result.reserved[at] - result.allocated[at]))  # fmt: skip
    figures = [Figure("peak", peak, "B", format=",d"), Figure("reserved", reserved, "B", format=",d"),
               Figure("unused at the peak", lost, "B", format=",d")]  # fmt: skip
    when = readable(int(result.time_ns[at]), "ns")
    answer = (
        f"{Path(result.source).name}: {result.device} has at most {_amount(peak)} allocated, {when} after the first "
        f"change, in {where}; at most {_amount(reserved)} reserved, {_amount(lost)} of it unused at the peak"
    )
    blocks, live = result.live
    allocated, freed = map(_amount, result.totals)
    total = f"{allocated} allocated, {freed} freed; {blocks} blocks of {_amount(live)} still live"
    notes = [*(Note("Assumed", text) for text in result.chosen), *_notes_of(result)]
    columns = [
        Column("operator", "name"),
        Column("allocated [B]", "allocated", key="allocated"),
        Column("freed [B]", "freed", key="freed"),
        Column("changes", "changes"),
    ]

    def plots() -> list[Plot]:
        edges = [*result.time_ns.tolist(), int(result.time_ns[-1])]
        steps = [Steps(edges, getattr(result, name).tolist(), name, colour)
                 for name, colour in (("reserved", "muted"), ("allocated", "accent"))]  # fmt: skip
        return [Plot("memory", steps, Axis("time", "ns", "time"), Axis("memory", "B", limits=(0.0, None)))]

    title = f"Memory of {result.device}: {Path(result.source).name}"
    return Report(title, answer, figures, [Table(columns, result.operators)], plots, [Note("Note", total), *notes])


def _amount(amount: int) -> str:
    """Bytes in the largest decimal unit that keeps them at least 1."""
    unit, name = next(((size, name) for size, name in _UNITS if amount >= size), (1, "B"))
    return f"{amount / unit:.4g} {name}"


def report_of_launches(result: LaunchTimes, data: Any = None) -> Report:
    """Return a row for each stream, and idle time by cause."""
    whole, first = result.all, result.streams[0]
    n, span = len(result.sources), max(result.span_ns, 1)
    name = Path(result.sources[0]).name if n == 1 else f"{n} files"
    call, time = (readable(whole[key], "ns", 3) for key in ("median_call_ns", "mean_time_ns"))
    figures = [Figure("waiting for the host", result.idle_ns[WAITING] / span, format=".0%")]
    mean, empty = first["mean_queued"] or 0.0, Figure("queue empty", first["empty_share"] or 0.0, format=".0%")
    if first["most_queued"] >= _FULL:
        verdict = f"the launch queue is full: mean queue length {mean:.4g}, {whole['long_calls']} calls are long"
    elif figures[0].value >= _LATE and result.host is not None and result.host[1] >= _MOSTLY:
        where = shortened(result.host[0], _LETTERS)
        verdict = f"the host is late: {result.host[1]:.0%} of the wait for it is in {where}; launches take {call}"
    elif figures[0].value >= _LATE:
        verdict = f"the host is late: {call} to launch, kernels of {time}; queue empty {empty.text} of the time"
    else:
        verdict = (f"the GPU waits {figures[0].text} of the time for the host; mean queue length {mean:.3g}, queue "
                   f"empty {empty.text} of the time")  # fmt: skip
    short, pieces = whole["shorter_than_call"], whole["pieces"]
    hint = ": CUDA graphs or fusing would help" if short >= _MOST_SHORT * pieces else ""
    idle = {**result.idle_ns, "busy": result.busy_ns}
    parts = [f"{part / span:.1%} {cause}" for cause, part in idle.items() if part]
    notes = [Note("Note", f"{short:,} of {pieces:,} pieces are shorter than their launch{hint}")] * bool(short)
    notes.append(Note("Note", f"GPU ({readable(result.span_ns, 'ns', 4)}): {', '.join(reversed(parts))}"))
    notes += _notes_of(result)
    file = existing_file(result.sources[0])
    data = Table([Column(name, name, key=name) for name in first], result.streams, importance="data")
    tables = [Table(_STREAMS, result.streams, "", "brief", _MOST_STREAMS), Table(_STREAMS, result.streams, "",
              "verbose"), data]  # fmt: skip
    return Report(
        f"Launches and queues: {result.sources[0]}", f"{name}: {verdict}", [*figures, empty], tables, notes=notes,
        next=f"perf profile {file} --by {result.finer}" if file and n == 1 else "",
    )  # fmt: skip
