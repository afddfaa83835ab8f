"""GPU time by operator, shape or kernel, and GPU memory: ``perf profile --by operator|shape|kernel|memory``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from perf_analysis.rooflines import OPERATORS, add_rates, add_work, parse_peak
from perf_formulas.formula import read_toml
from perf_io.traces.gpu_activity import NO_OPERATOR, OPERATOR, GpuActivity, require_gpu_activity
from perf_traces.options import next_step, write_csv
from perf_traces.runs import fields_of, known_files, symbols_of
from perf_traces.states import matches
from perf_views.names import plain_name
from perfcore.base import pd
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, key_first
from perfcore.data.columns import is_called_time
from perfcore.data.measurements import Measurements
from perfcore.data.units import is_time, seconds_per
from perfcore.reading.recognise import NamePattern, read, recognise, write
from perfcore.reading.source import Source
from perfcore.report import Result

PARTS = frozenset({"since", "until", "only", "region", "locations"})  # options that ask for parts
_FLAGS = {"since": "--from", "until": "--to"}
_MEMORY = re.compile(r"\[memory\]")
_Amount = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
GROUPS = Path(__file__).with_name("kernel_groups.toml")  # of kernels, such as GEMM or attention; users extend them
OTHER = "other"

_PROFILES = ("gpu-sums", "caliper", "caliper-json", "cube")  # readers of one run's times, without the moments
_CALLS = ("calls", "ncalls")  # columns of a table of functions
_LARGEST_TABLE = 1 << 20  # bytes of a table of functions; a larger one is a trace
_UNKNOWN = {
    "kernel": "when each kernel ran, so how busy the GPU was is not known",
    "call path": "when calls ran; times are means over the ranks or locations",
}
IN_SECONDS = "times have no unit and are in s"
_SHORT_NS, _LONG_CALL_NS = 10_000, 50_000


@dataclass(frozen=True, eq=False, repr=False)
class OperatorTimes(Result):
    """Own and total GPU time of every operator, shape or kernel of one or several runs."""

    reporter: ClassVar[str] = "perf_analysis.operator_answers:report_of_operators"
    json_kind: ClassVar[str] = "operators"

    by: str
    sources: tuple[str, ...]
    parameters: tuple[Mapping[str, Any], ...]  # of each run, as the names of the files say
    rows: tuple[dict[str, Any], ...]  # name, run, own_ns, total_ns, calls, pieces; by own time
    busy_ns: int
    elapsed_ns: int
    notes: tuple[str, ...] = ()
    has_operators: bool = True  # of the host, around the launches
    has_shapes: bool = False
    named: str = ""  # the file, folder or pattern

    @property
    def own_ns(self) -> int:
        """All GPU work, which the own times add up to."""
        return sum(row["own_ns"] for row in self.rows)

    @property
    def measurements(self) -> Measurements:
        """Own times of each run, which `perfcore.fit` takes."""
        return Measurements(self.table(), symbols_of(self.parameters), "time_s", code=[], system=(),
                            category="function", source=self.sources[0])  # fmt: skip

    def table(self) -> pd.DataFrame:
        """A row for each name and run that has own time."""
        rows = [{"function": row["name"], **self.parameters[row["run"]], "time_s": row["own_ns"] / 1e9, **row,
                 "file": self.sources[row["run"]]} for row in self.rows if row["own_ns"]]  # fmt: skip
        return pd.DataFrame(rows).drop(columns="name").assign(run=lambda frame: frame["run"] + 1)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table, a row for each name and run."""
        if not symbols_of(self.parameters) or len(self.parameters) < 2:
            self.table().to_csv(path, index=False) if str(path).endswith(".csv") else self.table().to_json(
                path, orient="records", lines=True)  # fmt: skip
            return [f"table: {os.fspath(path)}"]
        write(self.measurements, path)
        return [f"table: {os.fspath(path)}", next_step(os.fspath(path), self.parameters, symbols_of(self.parameters))]

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by, "sources": list(self.sources), "parameters": [dict(each) for each in self.parameters],
            "busy_ns": self.busy_ns, "elapsed_ns": self.elapsed_ns, "own_ns": self.own_ns, "rows": list(self.rows),
            "notes": list(self.notes),
        }  # fmt: skip


def operator_times(
    sources: Sequence[Any], by: str, from_name: str | None, how: Mapping[str, Any], peak: str | None,
    first: GpuActivity | None = None, groups: str | os.PathLike[str] | None = None,
) -> OperatorTimes:  # fmt: skip
    """Own and total GPU time by operator, shape or kernel; with ``from_name`` files are runs, else ranks of one.

    ``first`` is what is read of the first file already.
    """
    peaks = parse_peak(peak) if peak else {}
    table = read_groups(groups) if by == "group" else ()
    paths = paths_of(sources, by, how)
    if by == "kernel" and len(paths) == 1 and first is None and (sums := times_of_sums(paths, how)):
        return sums
    pattern = None if from_name is None else NamePattern(from_name)
    parameters = [dict(fields_of(path, pattern)) for path in paths]
    rows: list[dict[str, Any]] = []
    busy = elapsed = 0
    notes: list[str] = []
    for run, path in enumerate(paths):
        arguments_of = OPERATORS if by == "shape" else None
        if by == "module":  # functions of Python if no module of PyTorch is recorded
            activity = require_gpu_activity(path, scope="module")
            activity = activity if activity.has_operators else require_gpu_activity(path, scope="function")
            if not activity.has_operators:
                raise DataError(f"{path}: no modules or functions of Python around the launches; with_modules=True or "
                                "with_stack=True of the profiler records them")  # fmt: skip
        else:
            activity = first if first is not None and not run else require_gpu_activity(path, arguments_of)
        if by not in ("kernel", "group") and not activity.has_operators:
            raise DataError(
                f"{path}: no operators around the launches; use --by kernel, or record activities=[CPU, CUDA]"
                " (PyTorch), ranges of NVTX by `nsys profile --trace=cuda,nvtx` or of ROCTx by `rocprofv3 "
                "--marker-trace --hip-trace`"
            )
        rows += [{**row, "run": run if pattern else 0} for row in rows_of(activity, by, table)]
        busy = activity.busy_ns + (0 if pattern else busy)
        elapsed = activity.elapsed_ns() + (0 if pattern else elapsed)
        notes += activity.notes if len(paths) == 1 else [f"{path.name}: {note}" for note in activity.notes]
        if by == "shape" and len(activity.shapes) == 1:
            notes.append("shapes are not recorded; record_shapes=True of the profiler records them")
    if pattern is None and len(paths) > 1:
        summed: dict[str, dict[str, Any]] = {}
        for row in rows:
            total = summed.setdefault(row["name"], {"name": row["name"], "run": 0})
            numbers = {key: value for key, value in row.items() if key not in ("name", "run", "type")}
            total |= {**row, "run": 0, **{key: total.get(key, 0) + value for key, value in numbers.items()}}
        rows, parameters = list(summed.values()), [{}]
    if not any(row["own_ns"] for row in rows):
        raise DataError(f"{paths[0]}: none of its kernels, copies and memsets lasts")
    add_rates(rows, peaks)
    if lacking := sorted({row["type"] for row in rows if row.get("flop") and not row["roof_flop_s"]} if peak else ()):
        notes.append(f"--peak has no rate for {', '.join(lacking)}")
    rows.sort(key=lambda row: (-row["own_ns"], -row["total_ns"], row["name"]))
    return OperatorTimes(
        by, tuple(map(str, paths)), tuple(parameters), tuple(rows), busy, elapsed, tuple(notes), activity.has_operators,
        activity.has_shapes, os.fspath(sources[0]) if len(sources) == 1 and pattern is None else "",
    )  # fmt: skip


def times_of_sums(paths: Sequence[Path], how: Mapping[str, Any]) -> OperatorTimes | None:
    """Return times of profiles, as of ``nsys stats``, Cube or a small table of functions; None if the first is none.

    Two are those of two runs.
    """
    if (first := _rows_of_sums(paths[0], how, 0)) is None:
        return None
    if len(paths) > 2:
        raise OptionError(f"{len(paths)} profiles: give one, or two to compare")
    by, profiles = first[0], [first]
    for path in paths[1:]:
        if (other := _rows_of_sums(path, how, 1)) is None or other[0] != by:
            raise DataError(f"{path}: has no times by {by} as {paths[0]} has; give two profiles of one kind")
        profiles.append(other)
    rows = sorted((row for _, rows, _ in profiles for row in rows), key=lambda row: -row["own_ns"])
    parameters: tuple[dict[str, Any], ...] = tuple({"file": path.name} for path in paths) if len(paths) > 1 else ({},)
    notes = (*first[2], _UNKNOWN.get(by, "when calls ran"))
    return OperatorTimes(by, tuple(map(str, paths)), parameters, tuple(rows), 0, 0, notes)


def _rows_of_sums(path: Path, how: Mapping[str, Any], run: int) -> tuple[str, list[dict[str, Any]], list[str]] | None:
    """Return what the rows of a profile are, these, and what was assumed."""
    with Source(path) as source:
        reader = how.get("reader", recognise(source)[0])
        if reader not in _PROFILES and (reader != "csv" or path.stat().st_size > _LARGEST_TABLE):
            return None
    try:
        data = read(path, **{key: value for key, value in how.items() if key != "files"})
    except PerfError:
        if reader == "csv":  # a trace, whose reader explains it
            return None
        raise
    if not isinstance(data, Measurements):
        return None
    roles = data.roles
    calls = next((column for column in _CALLS if column in data.table), None)
    varied = [column for column in roles.parameters.values() if column != calls and data.table[column].nunique() > 1]
    is_plain = roles.unit is None and is_called_time(roles.value or "")
    if reader == "csv" and (len(roles.category) != 1 or varied or not (is_plain or is_time(roles.unit))):
        return None
    (name,), value = roles.category, roles.value
    if value is None or not (is_plain or is_time(roles.unit)):
        raise DataError(f"{path}: {value} is no time; leave out -r metric, or see it with: perf fit")
    factor = (seconds_per(roles.unit or "s") or 1.0) * 1e9
    called = pd.Series(0, data.table.index) if calls is None else data.table[calls]
    own = data.table[value] * factor
    total = data.table.get(f"inclusive_{value}", data.table.get("inclusive_s", data.table[value])) * factor
    rows = [
        {"name": str(each), "run": run, "own_ns": round(times[0]), "total_ns": round(times[1]), "calls": int(calls),
         "pieces": int(calls)}
        for each, calls, *times in zip(data.table[name], called.fillna(0), own, total.fillna(own), strict=True)
    ]  # fmt: skip
    return {"callpath": "call path"}.get(name, name.lower()), rows, [IN_SECONDS] * is_plain


def paths_of(sources: Sequence[Any], by: str, how: Mapping[str, Any]) -> list[Path]:
    """The files that are named; refuse traces in memory, and options that ask for parts."""
    if used := PARTS & set(how):
        raise OptionError(f"--by {by} is of whole traces; leave out {_FLAGS.get(min(used), f'--{min(used)}')}")
    paths: list[Path] = []
    for item in sources:
        if not isinstance(item, (str, os.PathLike)):
            raise OptionError(f"--by {by} reads what host and GPU do from the file; give its path")
        paths += known_files(os.fsdecode(item)) or [Path(item)]
    return paths


def rows_of(activity: GpuActivity, by: str, groups: Sequence[Group] = ()) -> list[dict[str, Any]]:
    """Own and total time, calls and pieces of everything that has or encloses GPU work."""
    labels, group = group_of_pieces(activity, groups) if by == "group" else activity.keys(by)
    n, time = len(labels), activity.time_ns
    own, total = np.zeros((2, n), np.int64)
    np.add.at(own, group, time)
    calls = pieces = np.bincount(group, minlength=n)
    if by in ("kernel", "group"):
        total = own
    else:
        piece, around, call = activity.within(by)
        once, around_piece = np.unique(np.stack([piece, around]), axis=1)
        np.add.at(total, around_piece, time[once])
        total[-2:] = own[-2:]
        owner = activity.pieces["owner"]
        mine = np.unique(np.stack([group, owner])[:, owner >= 0], axis=1)[0]
        outer = np.bincount(np.unique(np.stack([around, call]), axis=1)[0], minlength=n)
        calls = np.where(own > 0, np.bincount(mine, minlength=n), outer)
    shown = np.flatnonzero((total > 0) | (pieces > 0)).tolist()
    rows: list[dict[str, Any]] = [
        {"name": labels[k], "own_ns": int(own[k]), "total_ns": int(total[k]), "calls": int(calls[k]),
         "pieces": int(pieces[k])}
        for k in shown
    ]  # fmt: skip
    if by == "shape":
        add_work(activity, rows, activity.groups_of_host, {k: row for row, k in enumerate(shown)})
    return rows


class _Change(msgspec.Struct):
    bytes: _Amount = msgspec.field(name="Bytes", default=0)
    address: int = msgspec.field(name="Addr", default=0)
    allocated: _Amount = msgspec.field(name="Total Allocated", default=0)
    reserved: _Amount = msgspec.field(name="Total Reserved", default=0)
    kind: int = msgspec.field(name="Device Type", default=0)
    device: int = msgspec.field(name="Device Id", default=-1)


@dataclass(frozen=True, eq=False, repr=False)
class GpuMemory(Result):
    """Allocated and reserved memory of a device over time, in bytes; times from its first change on."""

    reporter: ClassVar[str] = "perf_analysis.operator_answers:report_of_memory"
    json_kind: ClassVar[str] = "memory"

    source: str
    device: str
    time_ns: Ints
    allocated: Ints
    reserved: Ints
    peak: int  # the change after which most is allocated
    stack: tuple[str, ...]  # operators around it, the innermost first
    operators: tuple[dict[str, Any], ...]  # name, allocated, freed, changes; by what they allocate
    live: tuple[int, int]  # blocks and bytes that were allocated within and are not freed
    notes: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()  # which device of several

    @property
    def totals(self) -> tuple[int, int]:
        """Bytes allocated and freed within the trace."""
        return sum(row["allocated"] for row in self.operators), sum(row["freed"] for row in self.operators)

    def to_dict(self) -> dict[str, Any]:
        at = self.peak
        arrays = {name: getattr(self, name).tolist() for name in ("time_ns", "allocated", "reserved")}
        return {
            "source": self.source, "device": self.device, "peak_bytes": int(self.allocated[at]),
            "peak_ns": int(self.time_ns[at]), "peak_stack": list(self.stack), "peak_reserved": int(self.reserved.max()),
            "fragmentation_bytes": int(self.reserved[at] - self.allocated[at]), "allocated_bytes": self.totals[0],
            "freed_bytes": self.totals[1], "live_blocks": self.live[0], "live_bytes": self.live[1],
            "operators": list(self.operators), "notes": list(self.notes), **arrays,
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the curve as a .csv file, a series that `perfcore.fit` takes."""
        columns = {"time_us": self.time_ns / 1000, "allocated": self.allocated, "reserved": self.reserved}
        write_csv(pd.DataFrame(columns).drop_duplicates("time_us", keep="last"), path)
        return [f"series: {path}", f"next: perf fit {path} --column allocated"]


def gpu_memory(sources: Sequence[Any], how: Mapping[str, Any]) -> GpuMemory:
    """The memory of the GPU that most is allocated on; of the host's where only that is recorded."""
    paths = paths_of(sources, "memory", how)
    if len(paths) > 1:
        raise OptionError(f"--by memory is of one trace, and these are {len(paths)}; give one")
    activity = require_gpu_activity(paths[0], _MEMORY)
    rows = activity.memory
    if not len(rows["start"]):
        raise DataError(f"{paths[0]}: no changes of memory are recorded; profile_memory=True of the profiler does it")
    try:
        changes = msgspec.json.decode(b"[" + b",".join(activity.texts) + b"]", type=list[_Change])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(str(paths[0]), f"a change of memory is damaged: {error}") from None
    changes = [changes[text] for text in rows["text"].tolist()]
    most: dict[tuple[int, int], int] = {}
    for each in changes:
        most[each.kind, each.device] = max(most.get((each.kind, each.device), 0), each.allocated)
    kind, device = chosen = max(most, key=lambda each: (each[0] > 0, most[each]))
    kept = [row for row, change in enumerate(changes) if (change.kind, change.device) == chosen]
    order = np.array(kept)[np.argsort(rows["start"][kept], kind="stable")]
    changes = [changes[row] for row in order.tolist()]
    allocated, reserved = (np.array([getattr(each, name) for each in changes], np.int64)
                           for name in ("allocated", "reserved"))  # fmt: skip
    owner = _operators_at(activity, rows["location"][order], rows["start"][order])
    names = [NO_OPERATOR if row < 0 else activity.names[activity.host["name"][row]] for row in owner.tolist()]
    operators: dict[str, dict[str, Any]] = {}
    live: dict[int, int] = {}
    for name, change in zip(names, changes, strict=True):
        row = operators.setdefault(name, {"name": name, "allocated": 0, "freed": 0, "changes": 0})
        row["allocated" if change.bytes > 0 else "freed"] += abs(change.bytes)
        row["changes"] += 1
        live[change.address] = max(change.bytes, 0)
    live = {address: size for address, size in live.items() if size}
    peak, stack = int(allocated.argmax()), []
    call = int(owner[peak])
    while call >= 0:
        stack.append(activity.names[activity.host["name"][call]])
        call = int(activity.host["parent"][call])
    others = len(most) - 1
    named = f"GPU {device}" if kind else "host"
    left_out = (f"{named} is meant ({others} other device{'s' * (others > 1)} left out)",) if others else ()
    return GpuMemory(
        str(paths[0]), named, rows["start"][order] - rows["start"][order[0]], allocated, reserved, peak, tuple(stack),
        tuple(sorted(operators.values(), key=lambda row: -row["allocated"])), (len(live), sum(live.values())),
        activity.notes, left_out,
    )  # fmt: skip


def _operators_at(activity: GpuActivity, location: Ints, moment: Ints) -> Ints:
    """The innermost operator of the thread at each moment, -1 where there is none."""
    host = activity.host
    calls, found = np.flatnonzero(host["category"] == OPERATOR), np.full(len(moment), -1)
    for place in np.unique(location).tolist():
        here, at = calls[host["location"][calls] == place], np.flatnonzero(location == place)
        if not len(here):
            continue
        row = np.searchsorted(host["start"][here], moment[at], "right") - 1
        call = np.where(row >= 0, here[np.maximum(row, 0)], -1)
        while (over := (call >= 0) & (host["end"][call] < moment[at])).any():
            call = np.where(over, host["parent"][call], call)
        found[at] = call
    return found


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[group]]`` of a table: patterns of names."""

    name: str
    kernels: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    group: tuple[Group, ...]


def read_groups(path: str | os.PathLike[str] | None) -> tuple[Group, ...]:
    """Return the groups of a file, and those of the standard table behind them."""
    groups: tuple[Group, ...] = ()
    for file in (GROUPS,) if path is None else (path, GROUPS):
        try:
            groups += msgspec.convert(read_toml(file, f"{GROUPS} is one"), _File).group
        except msgspec.ValidationError as error:
            raise InputError(os.fspath(file), key_first(error)) from None
    return groups


def group_of_pieces(activity: GpuActivity, groups: Sequence[Group]) -> tuple[list[str], Ints]:
    """Return names of groups, and the group of each piece: the first whose patterns its names fit."""
    pieces, host = activity.pieces, activity.host
    owner = pieces["owner"]
    operator = np.where(owner >= 0, host["name"][owner], -1) if len(host["name"]) else np.full(len(owner), -1)
    within = _within_markers(activity, groups)
    combinations, of_piece = np.unique(np.stack([pieces["name"], operator, within]), axis=1, return_inverse=True)
    names = [*dict.fromkeys(group.name for group in groups), OTHER]
    codes = [
        names.index(_name(groups, activity.names[kernel], activity.names[of] if of >= 0 else "", marked))
        for kernel, of, marked in combinations.T.tolist()
    ]
    return names, np.array(codes, np.int64)[of_piece.reshape(-1)]


def _name(groups: Sequence[Group], kernel: str, operator: str, marked: int) -> str:
    """The first group that the markers, the kernel or the operator fit."""
    by_kernel = [number for number, group in enumerate(groups)
                 if any(matches(name, each) for name in (kernel, plain_name(kernel)) for each in group.kernels)
                ]  # fmt: skip
    by_operator = [number for number, group in enumerate(groups)
                   if any(matches(operator, each) for each in group.operators)]  # fmt: skip
    found = [*([marked] if marked >= 0 else []), *by_kernel[:1], *by_operator[:1]]
    return groups[min(found)].name if found else OTHER


def _within_markers(activity: GpuActivity, groups: Sequence[Group]) -> Ints:
    """The group whose markers are around the launch of each piece, -1 if there is none."""
    launch = activity.pieces["launch"]
    found = np.full(len(launch), -1)
    for number, group in reversed(list(enumerate(groups))):
        spans = sorted(
            (start, end) for name, start, end in activity.markers if any(matches(name, each) for each in group.markers)
        )
        if spans and len(activity.host["start"]):
            starts, ends = np.array(spans, np.int64).T
            moment = activity.host["start"][launch]
            at = np.searchsorted(starts, moment, "right") - 1
            found[(launch >= 0) & (at >= 0) & (moment < ends[at])] = number
    return found


# Launches and queues of GPU work: ``perf overheads --by launch``.
#
# The delay of a piece of work is the time from the end of its launch call to its begin; where it begins before the call
# returns, the delay counts as 0. A queue holds what was launched to a stream and has not begun.


@dataclass(frozen=True, eq=False, repr=False)
class LaunchTimes(Result):
    """Delays, launch calls and queues of each stream of one or several traces, times in nanoseconds."""

    reporter: ClassVar[str] = "perf_analysis.operator_answers:report_of_launches"
    json_kind: ClassVar[str] = "launches"

    sources: tuple[str, ...]
    streams: tuple[dict[str, Any], ...]  # those with most pieces first
    all: dict[str, Any]  # the same of all streams together, without a queue
    idle_ns: dict[str, int]  # of the GPU between pieces, by cause
    busy_ns: int
    span_ns: int
    notes: tuple[str, ...] = ()
    finer: str = "operator"  # what a profile can be by
    host: tuple[str, float] | None = None  # of one trace: where the host is while GPUs wait for it, and its share

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "sources": list(self.sources), "streams": list(self.streams), "notes": list(self.notes)}

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table of streams to a .csv file."""
        write_csv(self.to_frame(), path)
        return [f"table: {path}"]


def launch_times(sources: Sequence[Any], how: Mapping[str, Any]) -> LaunchTimes:
    """Delays and queues of traces; several are ranks of one run, whose GPUs are told apart."""
    paths = paths_of(sources, "launch", how)
    streams: list[dict[str, Any]] = []
    columns: list[tuple[Ints, Ints, Floats]] = []
    calls: list[Ints] = []
    notes: list[str] = []
    idle: dict[str, int] = {}
    busy = span = 0
    finer = "kernel"
    for path in paths:
        activity, mark = require_gpu_activity(path), f"{path.name}: " if len(paths) > 1 else ""
        if not (activity.pieces["launch"] >= 0).any():
            raise DataError(f"{path}: no launch has the correlation number of a piece of GPU work; record activities="
                            "[CPU, CUDA] (PyTorch, with args) or `rocprofv3 --hip-trace`")  # fmt: skip
        launch, begin = activity.pieces["launch"], activity.pieces["start"]
        for place in np.unique(activity.pieces["location"][launch >= 0]).tolist():
            rows = np.flatnonzero((activity.pieces["location"] == place) & (launch >= 0))
            called, returned = (activity.host[name][launch[rows]] for name in ("start", "end"))
            call, of_call, pieces = np.unique(launch[rows], return_inverse=True, return_counts=True)
            lasting = activity.host["end"][call] - activity.host["start"][call]
            times = begin[rows] - returned, activity.time_ns[rows], (lasting / pieces)[of_call]
            device, stream = activity.locations[place]
            # The queue over time, from the first launch to the last begin.
            moments = np.concatenate([np.maximum(called, begin[rows]), called])
            change = np.repeat([-1, 1], len(called))
            order = np.lexsort((change, moments))
            length, widths = np.cumsum(change[order])[:-1], np.diff(moments[order])
            window = int(widths.sum())
            streams.append({
                "stream": f"{mark}{device} / {stream}", **_figures(lasting, *times), "most_queued": int(length.max()),
                "mean_queued": float(length @ widths / window) if window else None,
                "empty_share": float(widths[length == 0].sum() / window) if window else None,
                "queue_window_ns": window,
            })  # fmt: skip
            columns.append(times)
            calls.append(lasting)
        for cause, time in activity.idle_ns().items():
            idle[cause] = idle.get(cause, 0) + time
        finer = "operator" if activity.has_operators else finer
        busy += activity.busy_ns
        span += activity.elapsed_ns()
        notes += [f"{mark}{note}" for note in activity.notes]
    streams.sort(key=lambda row: -row["pieces"])
    total = _figures(np.concatenate(calls), *(np.concatenate(column) for column in zip(*columns, strict=True)))
    host = activity.host_while_waiting() if len(paths) == 1 else None
    return LaunchTimes(tuple(map(str, paths)), tuple(streams), total, idle, busy, span, tuple(notes), finer, host)


def _figures(call: Ints, delay: Ints, time: Ints, call_of_each: Floats) -> dict[str, Any]:
    """Figures of launch calls and pieces; pieces of a CUDA graph share their call."""
    late, short = np.maximum(delay, 0), time < _SHORT_NS
    return {
        "pieces": len(delay), "mean_time_ns": float(time.mean()), "mean_delay_ns": float(late.mean()),
        "median_delay_ns": float(np.median(late)), "p95_delay_ns": float(np.percentile(late, 95)),
        "most_delay_ns": int(late.max()), "negative_delays": int((delay < 0).sum()),
        "mean_call_ns": float(call.mean()), "median_call_ns": float(np.median(call)),
        "long_calls": int((call > _LONG_CALL_NS).sum()), "long_calls_ns": int(call[call > _LONG_CALL_NS].sum()),
        "short": int(short.sum()), "short_ns": int(time[short].sum()),
        "shorter_than_call": int((time < call_of_each).sum()),
    }  # fmt: skip
