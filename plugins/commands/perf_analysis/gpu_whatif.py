"""How long a run of host and GPU takes with a faster GPU, host, collectives or kernels: ``perf whatif trace.json``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from perf_analysis.gpu_path import COLLECTIVES, GPU, CriticalPath, HostGpuRun, HostGpuTrace, Meetings, Replay, silence
from perf_io.traces.gpu_activity import COPY, GpuActivity, read_gpu_activity
from perf_traces.levels import level_names, parts_of
from perf_traces.messages.communication import COLLECTIVE, COLUMNS, codes_of, communication_of, earliest_of
from perf_traces.states import matches
from perf_traces.windows import families
from perf_views.names import plain_name
from perfcore.base import grouped
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.report import Result

_PARTS = ("gpu", "host", "collectives")
_COPIES, _MOSTLY_COPIES = "copies", 0.5  # asked by themselves from this share of the work on
_WAITS_OF_STREAMS = {f"{api}{call}" for api in ("cuda", "hip") for call in ("StreamWaitEvent", "EventSynchronize")}
_MOST_STEPS = 200
_NO_MEETINGS = Meetings(*(np.zeros(0, np.int64),) * 3)


@dataclass(frozen=True)
class Scenario:
    """How long a run takes, and how much each step saves, if something is faster."""

    question: str
    part: str  # gpu, host, collectives or copies, where it is one of the usual questions
    zero_time: bool
    runtime_ns: int
    step_savings_ns: tuple[int, ...]  # not of a part that takes no time


@dataclass(frozen=True, eq=False, repr=False)
class GpuAnswers(Result):
    """The critical path through host and GPU, and runtimes with parts of them faster."""

    reporter: ClassVar[str] = "perf_analysis.whatif_answers:report_of_gpu"
    json_kind: ClassVar[str] = "gpu-whatif"

    source: str
    region: str
    runtime_ns: int
    path: CriticalPath
    collectives_ns: int  # on the path
    scenarios: tuple[Scenario, ...]
    least_ns: dict[str, int]  # lower bounds of the runtime, by what determines them
    step_lengths_ns: tuple[int, ...]
    full_queue: dict[str, int]
    ranks: tuple[str, ...]
    n_met: int  # collectives in which ranks meet
    notes: tuple[str, ...]
    uncertain: tuple[str, ...]
    details: str  # what a profile, or launches, can tell more by
    sweep: tuple[float, ...]  # how many times as fast what `swept` names is, of each scenario
    swept: str
    questions: tuple[str, ...]  # for the sliders of its page
    copies_ns: int  # on the path

    def save(self, path: str) -> list[str]:
        """Refuse: these runtimes are no stochastic value."""
        raise OptionError("--output FILE belongs to --noise SHARE, which a GPU trace does not take; use --json")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class _Run:
    """Ranks of a run: what each does, when its clock is 0, and the collectives in which they meet."""

    source: str
    ranks: tuple[str, ...]
    activities: tuple[GpuActivity, ...]
    shifts_ns: tuple[int, ...]
    met: Meetings
    best_ns: tuple[Ints, ...]  # of each piece: that of a collective as fast as the fastest of its operation and size


def gpu_answers(
    source: str | os.PathLike[str], paths: Sequence[str | os.PathLike[str]], region: str | None,
    asked: Sequence[Mapping[str, float]], read: Callable[[str, Sequence[type]], Any], first: GpuActivity | None = None,
    swept: str = "", sweep: Sequence[float] = (),
) -> GpuAnswers | None:  # fmt: skip
    """Return what `perfcore.whatif` says of traces of host and GPU for each of what is faster together.

    None if the first of the traces, unless it is read already, is none.
    """
    first = first or read_gpu_activity(paths[0], with_shapes=False)
    if first is None:
        return None
    run = _run_of(source, first, len(paths), read)
    is_collective = [_fitting(activity, "collectives") for activity in run.activities]
    parts = _PARTS if any(each.any() for each in is_collective) else _PARTS[:2]
    faster = [{name or "gpu": times for name, times in each.items()} for each in asked if each]
    copied = sum(int(each.time_ns[_fitting(each, _COPIES)].sum()) for each in run.activities)
    is_copying = copied > _MOSTLY_COPIES * sum(int(each.time_ns.sum()) for each in run.activities)
    asked_parts = (_COPIES, *parts) if is_copying else parts
    questions: list[dict[str, float]] = faster or [{part: times} for part in asked_parts for times in (2, np.inf)]
    divisors = [_divisors(run.activities, each) for each in questions]
    traces = [HostGpuTrace(activity) for activity in run.activities]
    spans = [activity.step_spans() if region is None else _spans(activity, region) for activity in run.activities]

    def replay(windows: Sequence[tuple[int, int] | None]) -> Replay:
        return Replay([HostGpuRun(*each) for each in zip(traces, windows, strict=True)], run.shifts_ns, run.met)

    whole = replay([None if region is None else (int(starts.min()), int(ends.max())) for starts, ends in spans])
    path, error = whole.path(), whole.largest_error_ns()
    counts = {len(starts) for starts, _ in spans}
    n_steps = min(counts) if len(counts) == 1 and 1 < min(counts) <= _MOST_STEPS else 0
    windows = [[(int(starts[k]), int(ends[k])) for starts, ends in spans] for k in range(n_steps)]
    savings: list[list[int]] = [[] for _ in questions]
    lengths = []
    for window in windows:  # one step after the other, as each takes memory
        if all(end > start for start, end in window):
            step = replay(window)
            lengths.append(step.runtime_ns)
            for saved, question, each in zip(savings, questions, divisors, strict=True):
                if faster or np.inf not in question.values():
                    saved.append(step.runtime_ns - step.runtime_with(*each))
    scenarios = []
    for question, each, saved in zip(questions, divisors, savings, strict=True):
        free = np.inf in question.values()
        names = [(name.replace("gpu", "GPU") if name in _PARTS else name, times) for name, times in question.items()]
        text = ", ".join(f"ideal {n}" if times == np.inf else f"{n} {times:g}x faster" for n, times in names)
        part = "" if faster else next(iter(question))
        scenarios.append(Scenario(text, part, free, whole.runtime_with(*each), tuple(saved)))
    of_ranks = list(zip(whole.runs, run.best_ns, is_collective, strict=True))
    least = {
        "host with an ideal GPU": whole.runtime_with(gpu=np.inf),
        "busiest stream": max(each.busiest_stream_ns(best) for each, best, _ in of_ranks),
        "collectives at their best bandwidth": max(each.busiest_stream_ns(best * of) for each, best, of in of_ranks),
    }
    copies = {each.names[k] for each in run.activities for k in set(each.pieces["name"][_fitting(each, _COPIES)])}
    queue = {"launches": 0, "time_ns": 0}  # calls that wait for a place in a full one
    for ran in whole.runs:
        host, full = ran.activity.host, ran.trace.full
        full = full[(host["start"][full] >= ran.begin) & (host["start"][full] < ran.end)]
        full = full[np.array(["Launch" in name for name in ran.activity.names])[host["name"][full]]]
        queue["launches"] += len(full)
        queue["time_ns"] += int((host["end"] - host["start"])[full].sum())
    notes = grouped((note, rank) for rank, trace in zip(run.ranks, traces, strict=True) for note in _notes(trace))
    details = "operator" if all(trace.activity.has_operators for trace in traces) else "kernel"
    if path.host_ns > path.by_class[GPU] and any(trace.launched.any() for trace in traces):
        details = "launch"
    return GpuAnswers(
        run.source, region or "", whole.runtime_ns, path,
        sum(time for name, time in path.by_kernel.items() if COLLECTIVES.search(name)),
        () if error else tuple(scenarios), least, tuple(lengths),
        queue if queue["launches"] else {}, run.ranks, whole.n_met,
        tuple(note if len(of) == len(traces) else f"{listing(of, 3)}: {note}" for note, of in notes.items()),
        tuple(_uncertain(run, whole, error, len(parts) == len(_PARTS))), details,
        () if error else tuple(sweep), swept, parts,
        sum(time for name, time in path.by_kernel.items() if name in copies),
    )  # fmt: skip


def _run_of(
    source: str | os.PathLike[str], first: GpuActivity, n_files: int, read: Callable[[str, Sequence[type]], Any]
) -> _Run:
    """The ranks of one run, or a single file, with collectives as far as they are recorded."""
    if n_files == 1:
        return _Run(first.source, ("",), (first,), (0,), _NO_MEETINGS, (_at_best(first),))
    trace = read(os.fspath(source), (Trace,))
    if not isinstance(trace, Trace):
        raise DataError(f"{source}: names several runs, and one is asked about; name its file, or give -r files=ranks")
    files = [part.source for _, part in parts_of(trace)]
    read_again = [read_gpu_activity(file, with_shapes=False) for file in files]
    if lacking := [file for file, activity in zip(files, read_again, strict=True) if activity is None]:
        raise DataError(f"{lacking[0]}: no kernels, copies or memsets of a GPU, unlike the files of other ranks")
    activities = tuple(activity for activity in read_again if activity is not None)
    shifts = tuple(int(part.start_ns.min()) - int(activity.pieces["start"].min())
                   for (_, part), activity in zip(parts_of(trace), activities, strict=True))  # fmt: skip
    met, best = _collectives(trace, activities, shifts)
    met = _NO_MEETINGS if trace.facts.get("clocks") == "unaligned" else met
    names = level_names(trace, "process")
    ranks = tuple(names[place] for place, _ in parts_of(trace))
    return _Run(trace.source, ranks, activities, shifts, met, best)


def _at_best(activity: GpuActivity) -> Ints:
    """Return the time of each piece; of a collective that of the fastest of its operation, size and group size."""
    best: Ints = activity.time_ns.copy()
    if activity.transfers is None:
        return best
    calls = dict(zip(COLUMNS, activity.transfers.columns.T, strict=True))
    chosen = np.flatnonzero(calls["kind"] == COLLECTIVE)
    calls = {name: column[chosen] for name, column in calls.items()}
    kind = codes_of([calls["operation"], calls["bytes"], calls["size"]])
    least = earliest_of(kind, calls["leave_ns"] - calls["enter_ns"], len(kind))
    pieces = activity.pieces
    location = np.concatenate([pieces["location"], calls["location"]])
    place = codes_of([location, np.concatenate([pieces["start"], calls["enter_ns"]])])
    of_pieces, of_calls = np.split(place, [len(best)])
    at_best = earliest_of(of_calls, least[kind], len(place))
    return np.minimum(best, at_best[of_pieces])


def _collectives(
    trace: Trace, activities: Sequence[GpuActivity], shifts: Sequence[int]
) -> tuple[Meetings, tuple[Ints, ...]]:
    """Collectives by pieces of their members, and the least time of each piece."""
    best = tuple(activity.time_ns.copy() for activity in activities)
    communication = communication_of(trace)
    collectives = communication.collectives if communication else None
    if communication is None or collectives is None or not len(collectives):
        return _NO_MEETINGS, best
    calls, call, of = communication.calls, collectives.member_call, collectives.member_of
    rank = np.searchsorted([first for first, _ in parts_of(trace)], calls.location[call], "right") - 1
    piece = np.empty(len(call), np.int64)
    for k, activity in enumerate(activities):
        mine, rows = np.flatnonzero(rank == k), np.flatnonzero(_fitting(activity, "collectives"))
        row_of = dict(zip(activity.pieces["start"][rows].tolist(), rows.tolist(), strict=True))
        piece[mine] = [row_of.get(at, -1) for at in (calls.enter_ns[call[mine]] - shifts[k]).tolist()]
    shortest = earliest_of(of, calls.leave_ns[call] - calls.enter_ns[call], len(collectives))
    kind = codes_of([collectives.operation, collectives.bytes, collectives.size])
    least = earliest_of(kind, shortest, len(collectives))
    found = piece >= 0
    for k, times in enumerate(best):
        mine = np.flatnonzero(found & (rank == k))
        times[piece[mine]] = np.minimum(times[piece[mine]], least[kind[of[mine]]])
    return Meetings(of[found], rank[found], piece[found]), best


def _fitting(activity: GpuActivity, name: str) -> Any:
    """Which pieces are meant: all, collectives of NCCL and RCCL, copies, or kernels that a pattern fits."""
    if name == "gpu":
        return np.ones(len(activity.time_ns), bool)
    if name == _COPIES:
        return activity.pieces["kind"] == COPY
    if name == "collectives":
        fits = [bool(COLLECTIVES.search(each)) for each in activity.names]
    else:
        fits = [matches(full, name) or matches(plain_name(full), name) for full in activity.names]
    return np.array(fits, bool)[activity.pieces["name"]]


def _divisors(activities: Sequence[GpuActivity], faster: Mapping[str, float]) -> tuple[float, list[Floats]]:
    """How many times as fast the host and each piece of each rank are."""
    host, pieces = 1.0, [np.ones(len(activity.time_ns)) for activity in activities]
    for name, times in faster.items():
        if name == "host":
            host = float(times)
            continue
        chosen = [_fitting(activity, name) for activity in activities]
        if not any(each.any() for each in chosen):
            used = {each.names[k] for each in activities for k in np.unique(each.pieces["name"]).tolist()}
            if name in (*_PARTS, _COPIES):
                raise OptionError(f"{name}: the run has none; choose gpu, host or a kernel")
            raise UnknownNameError(
                "kernel, or gpu, host, collectives, copies,", name, {*map(plain_name, used), *_PARTS, _COPIES}
            )
        for factor, mine in zip(pieces, chosen, strict=True):
            if (factor[mine] != 1.0).any():
                raise OptionError(f"{name}: two options change the same kernels; ask them one after the other")
            factor[mine] = times
    return host, pieces


def _spans(activity: GpuActivity, region: str) -> tuple[Ints, Ints]:
    """Begins and ends of the markers of a name, of one occurrence ``NAME#2``, or of a family such as ProfilerStep."""
    spans = grouped((name, (start, end)) for name, start, end in sorted(activity.markers))
    groups = {family: [span for name in members.values() for span in spans[name]]
              for family, members in families(spans).items()}  # fmt: skip
    groups |= {f"{name}#{k}": [span] for name, each in spans.items() for k, span in enumerate(each, 1)}
    if region not in spans and region not in groups:
        raise UnknownNameError(f"marker of {activity.source}", region, {*spans, *families(spans)})
    starts, ends = np.array(sorted(spans.get(region) or groups[region]), np.int64).T
    return starts, ends


def _notes(trace: HostGpuTrace) -> list[str]:
    """What the trace lacks, and what would record it."""
    activity = trace.activity
    called = {activity.names[k] for k in np.unique(activity.host["name"]).tolist()}
    if not trace.launched.any():
        lacking = "launches of GPU work" if len(activity.host["start"]) else "host events"
        by_whom = "PyTorch's activities=[CPU, CUDA], SQLite of nsys and rocprofv3 --runtime-trace have them"
        return [f"{lacking}: what the GPU waits for is unknown ({by_whom})", *activity.notes]
    if not trace.knows_waits and (called & _WAITS_OF_STREAMS or len(np.unique(activity.pieces["location"])) > 1):
        option = "enable_cuda_sync_events=True in the profiler's experimental_config"
        option = "nsys profile --cuda-event-trace=true" if activity.syncs else option
        by_whom = "" if any(name.startswith("hip") for name in called) else f" ({option} records them)"
        inferred = f"inferred of {trace.n_inferred} kernels at collectives, else " if trace.n_inferred else ""
        return [f"event waits of streams, {inferred}counted as gaps{by_whom}", *activity.notes]
    return list(activity.notes)


def _uncertain(run: _Run, whole: Replay, error_ns: int, has_collectives: bool) -> list[str]:
    lines = [text for activity in run.activities if (text := silence(activity))]
    if error_ns:
        lines.append(f"the replay misses recorded moments by up to {readable(error_ns, 'ns')}: no what-if answers")
    if n := sum(each.n_beyond for each in whole.runs):
        beyond = readable(max(each.beyond_ns for each in whole.runs), "ns", 4)
        lines.append(f"{n:,} pieces launched here end up to {beyond} after it: nothing here waits for them")
    for rank, each in zip(run.ranks, whole.runs, strict=True):
        named = f"{rank}: " if rank else ""
        for shift in each.trace.shifts_ns[each.trace.shifts_ns != 0].tolist():
            clock, what = ("ahead of", "ends after calls that wait for it") if shift < 0 else (
                "behind", "begins before its launch")  # fmt: skip
            lines.append(f"{named}the clock of the GPU is {readable(abs(shift), 'ns')} {clock} that of the host: work "
                         f"{what}; corrected")  # fmt: skip
    if n := sum(each.trace.n_contradicting for each in whole.runs):
        lines.append(f"{n:,} times work begins before its launch or ends after a call that waits for it, as clocks "
                     "jump: left out of what is waited for")  # fmt: skip
    if n := sum(each.trace.n_awaited_unlaunched for each in whole.runs):
        lines.append(f"{n:,} pieces without a recorded launch: awaited by the synchronization in which they end")
    if whole.n_apart:
        lines.append(f"{whole.n_apart:,} collectives by whose clocks ranks are in them one after the other: not joined")
    if len(run.ranks) > 1 and not whole.n_met:
        lines.append("no collectives of several ranks match: each is replayed alone, the slowest determines the end")
    elif has_collectives and len(run.ranks) == 1:
        lines.append("collectives of one rank include waiting for other ranks")
    return lines
