"""The function behind ``perf overheads``."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import NO_STATE, CategorySet, classify, named_classes, read_categories
from perf_analysis.concurrency import devices_of, usual_categories
from perf_analysis.efficiencies import COMPUTING, losses_of, of_gpus
from perf_analysis.groups import groups_of
from perf_analysis.overhead_profile import (
    OverheadProfile,
    add_communication_metrics,
    check_same_categories,
    whole_run_only,
)
from perf_analysis.scaling_efficiencies import ExternalMetrics, efficiencies_of_runs, losses_as_data, runs_of_table
from perf_analysis.stretches import phase_edges
from perf_traces.joined_trace import LazyTrace
from perf_traces.levels import parts_of
from perf_traces.messages import bursts as factors
from perf_traces.messages.bursts import BurstTimes
from perf_traces.messages.communication import calls_of, communication_of
from perf_traces.messages.replay import Replay
from perf_traces.options import write_csv
from perf_traces.runs import SeparateRuns
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import CUT, with_intervals
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data import type_in_words
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace, busy_mask
from perfcore.data.units import readable
from perfcore.models.model import Model
from perfcore.reading import Read
from perfcore.reading.recognise import read as read_data
from perfcore.report import Result

By = Literal["category", "location", "phase", "marker", "burst"]
Named = str | os.PathLike[str]

_MOST_INTERVALS, _MOST_CALLS = 1_000_000, 300_000
_LONGEST = 3
_LEAST_USED = 0.05  # of the locations, from which on more of it is an advice
_MUCH = 1.05  # times the span of the GPUs, from which on that of host and GPU is named
OTHERS, _OTHER_COLLECTIVES, _COPYING = "other bursts", "others", "transferring"
_MOST_COLLECTIVES = 5
_MOST_CLASSES = 12  # the rest together is one part, as each law takes time to fit and adds to the table


@dataclass(frozen=True, eq=False, repr=False)
class OverheadRuns(Result):
    """Profiles of runs; its data frame has a row for each run, phase and category, which models can be fitted to."""

    reporter: ClassVar[str] = "perf_analysis.overhead_answers:report_of"
    json_kind: ClassVar[str] = "overheads"

    profiles: tuple[OverheadProfile, ...]  # at least one
    by: By | None = None  # the table that is shown next to the categories of each run
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    others: tuple[ExternalMetrics, ...] = ()  # what other tools say of such runs
    remedies: Remedies | None = None  # of a single run

    def __len__(self) -> int:
        return len(self.profiles)

    def __iter__(self) -> Iterator[OverheadProfile]:
        return iter(self.profiles)

    def __getitem__(self, run: int) -> OverheadProfile:
        return self.profiles[run]

    def to_dict(self) -> dict[str, Any]:
        """All profiles as plain data, see `OverheadProfile.to_dict`; of several runs also their efficiencies."""
        scaling: dict[str, Any] = {}
        if len(self.profiles) > 1:
            scaling["efficiencies_of_runs"] = efficiencies_of_runs(self.profiles)
            scaling["losses_by_burst"] = losses_as_data(self.profiles)
        if self.others:
            scaling["other_tools"] = [other.to_dict() for other in self.others]
        remedies = {} if self.remedies is None else {"remedies": self.remedies.to_dict()}
        return {"profiles": [profile.to_dict() for profile in self.profiles], **scaling, **remedies}

    def components(self) -> TimeComponents:
        """The steps from computing to the elapsed time in each run, for models of how they scale."""
        check_same_categories(self.profiles)
        return time_components(self.profiles)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write times by category to a .csv file, one row for each; gives what the command line says of it."""
        write_csv(self.to_frame(), path)
        phases = any(profile.n_phases > 1 for profile in self)
        following = f"next: one phase at a time, perf fit {path} --fitter modgen --where phase=1"
        return [f"table: {path}", *([following] if phases else [])]


@dataclass(frozen=True)
class Question:
    """What is asked of runs; each as `perfcore.overheads` takes it."""

    phases: Named | int | Model | None = None
    degree: str = "auto"
    by: By | None = None
    categories: Named | CategorySet | None = None
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ready: Any = None
    ready_column: str | None = None
    pop: factors.Definition = "strict"
    settings: Mapping[str, Sequence[float]] = field(default_factory=dict)


def overheads_of(sources: Sequence[Named | Trace], question: Question, read: Read) -> OverheadRuns:
    """Break down runs, read one at a time."""
    categories, ready = question.categories, question.ready
    rules = read_categories(categories) if isinstance(categories, (str, os.PathLike)) else categories
    amount = read_data(ready, wanted=(Series,)) if isinstance(ready, (str, os.PathLike)) else ready
    if not isinstance(amount, (Series, UtilizationCurve, type(None))):
        raise DataError(f"{ready} was read as {type_in_words(amount)}; for a series call its columns time_us and ready")
    others: list[ExternalMetrics] = []
    profiles: list[OverheadProfile] = []
    remedies = None
    for item in _traces_of(sources, read, others):
        for part, group in groups_of(item):
            profile = replace(_profile(part, question, rules, amount), group=group, source=item.source)
            profiles.append(profile)
        is_plain = question.by is None and question.phases is None and ready is None
        is_whole = len(sources) == 1 and is_plain and not question.classes and rules is None
        remedies = remedies_of(part, profile) if is_whole and not group else None
    if not profiles:
        raise DataError(
            f"{others[0].source}: efficiencies of another tool are compared with those of traces; add a trace"
        )
    by = question.by
    if by == "burst" and (without := [each.source for each in profiles if each.bursts is None]):
        raise DataError(
            f"{without[0]}: --by burst needs the calls of a communication library in a whole run, with its usual "
            "classes; leave out --by burst"
        )
    if not any(each.group for each in profiles):
        called = [(each.source, each.bursts.calls) for each in profiles if each.bursts is not None]
        factors.refuse_different_programs(called)
        computing = [(each.source, frozenset(each.states.get(COMPUTING, ()))) for each in profiles]
        factors.refuse_different_programs(computing, "function that computes")
    table_by = by or (None if question.phases is None else "phase")
    remedies = remedies if len(profiles) == 1 and not others else None
    return OverheadRuns(tuple(profiles), table_by, dict(question.settings), tuple(others), remedies)


def _traces_of(sources: Sequence[Any], read: Read, others: list[ExternalMetrics]) -> Iterator[Trace]:
    """Each run; efficiencies of other tools are added to ``others``."""
    for item in sources:
        trace = item if isinstance(item, Trace) else read(os.fspath(item), (Trace,))
        if isinstance(trace, SeparateRuns):
            yield from _traces_of(trace.files, read, others)
        elif isinstance(trace, Measurements):
            others.extend(runs_of_table(trace, factors.FACTORS))
        elif not isinstance(trace, Trace):
            raise DataError(f"{item} holds {type_in_words(trace)}; states of each location are needed: give a trace")
        else:
            yield trace


def _profile(trace: Trace, question: Question, rules: CategorySet | None, ready: Any) -> OverheadProfile:
    by_marker = question.by == "marker"
    if by_marker and not trace.markers:
        raise DataError(f"{trace.source}: there are no markers in it; leave out --by marker")
    edges = None
    if question.phases is not None:
        if isinstance(trace, SummarizedTrace):
            raise whole_run_only(trace)
        # Phases of the curve of the states that the categories take as computing.
        chosen = usual_categories(trace) if rules is None else rules
        busy = None
        if COMPUTING in chosen.classes:
            computing = classify(trace, chosen, question.classes).states_of(COMPUTING)
            busy = [state for state in computing if state in trace.states]
        edges = phase_edges(trace, question.phases, degree=question.degree, busy=busy)
    profile = profile_overheads(
        _with_named_calls(trace, rules, question.classes), rules, classes=question.classes, ready=ready,
        ready_column=question.ready_column, phase_edges_ns=edges, by_marker=by_marker,
    )  # fmt: skip
    return add_communication_metrics(trace, profile, question.pop)


def _with_named_calls(trace: Trace, rules: CategorySet | None, classes: Mapping[str, Sequence[str]] | None) -> Trace:
    """Name states of the class unknown, such as Paraver's Others, by the MPI calls that they are within."""
    if isinstance(trace, LazyTrace):
        return trace
    unknown = np.array(
        [each == "unknown" for each in named_classes(trace, rules or usual_categories(trace), classes)], bool
    )
    calls = calls_of(trace) if unknown.any() else None
    if calls is None or not len(calls):
        return trace
    rows = np.flatnonzero(unknown[trace.state])
    length = int(max(trace.end_ns.max(initial=0), calls.leave_ns.max())) + 1
    begins = trace.location[rows].astype(np.int64) * length + trace.start_ns[rows]
    call = np.searchsorted(calls.location.astype(np.int64) * length + calls.enter_ns, begins, "right") - 1
    within = (call >= 0) & (calls.location[call] == trace.location[rows])
    within &= calls.leave_ns[call] >= trace.end_ns[rows]
    state = trace.state.copy()
    state[rows[within]] = len(trace.states) + calls.operation[call[within]]
    columns = (trace.location, state, trace.start_ns, trace.end_ns)
    return with_intervals(trace, columns, states=(*trace.states, *calls.operations))


# What would help a run most without other hardware, and its longest operators or functions, for one first answer.
#
# Replays are those of `perf whatif`. They are left out where a run has so many intervals that they would take longer
# than reading it.


@dataclass(frozen=True)
class Gain:
    """Runtime of a run after one change, beside the recorded one."""

    question: str
    runtime_ns: int
    recorded_ns: int
    option: str  # of the command that asks more
    is_bound: bool = False  # whether no more than this can be saved
    command: str = "whatif"
    of: str = ""  # the runtime that is saved of, if it is another than that of the sentence

    @property
    def share(self) -> float:
        """Return the share of the runtime that is saved."""
        return 1.0 - self.runtime_ns / self.recorded_ns


@dataclass(frozen=True)
class Remedies:
    """Replays, those that save most first, and what takes longest."""

    gains: tuple[Gain, ...] = ()
    kind: str = "function"  # of the longest
    longest: tuple[tuple[str, int, int | None], ...] = ()  # name, time in nanoseconds, calls
    whole_ns: int = 1  # what the times of all of them sum to
    where: str = ""  # of which part of the run they are the longest
    note: str = ""  # what makes the numbers uncertain
    steps: int = 0  # that the trace marks, and their mean length
    step_ns: float = 0.0
    host: tuple[str, float] | None = None  # where the host is while GPUs wait for it, and for which share of that

    def to_dict(self) -> dict[str, Any]:
        gains = [{**asdict(each), "share": each.share} for each in self.gains]
        names = ("name", "time_ns", "calls")
        return {"gains": gains, "kind": self.kind, "longest": [dict(zip(names, each, strict=True)) for each in
                self.longest], "steps": self.steps, "step_ns": self.step_ns,
                **({} if self.host is None else {"host_while_waiting": self.host})}  # fmt: skip


def remedies_of(trace: Trace, profile: OverheadProfile) -> Remedies | None:
    """Return what would help a run, and its longest operators or functions; None where that would take too long."""
    from perf_analysis.profiles import profile_of

    if trace.n_intervals > _MOST_INTERVALS:
        return None
    try:
        if devices_of(trace) is not None:
            return _of_gpus(trace, profile.elapsed_ns) if of_gpus(profile) else None
        run = profile_of(trace)
        times, calls = run.by_function_ns, run.calls.sum(axis=(1, 2)).tolist()
        unnamed = {NO_STATE, *classify(trace, usual_categories(trace), None).states_of("idle")}
        order = np.argsort(-times, kind="stable").tolist()
        named = [k for k in order if run.functions[k] not in unnamed and times[k]][:_LONGEST]
        longest = tuple((run.functions[k], int(times[k]), (run.has_calls and calls[k]) or None) for k in named)
        gains = _gains_of_calls(trace, profile) or _bounds(trace, profile)
        gains.sort(key=lambda each: each.runtime_ns)
        if CUT in trace.facts:  # `perf whatif` replays whole runs
            gains = [replace(each, option="") for each in gains]
        return Remedies(tuple(gains), longest=longest, whole_ns=run.total_ns)
    except PerfError:  # the commands of their own say why
        return None


def _of_gpus(trace: Trace, elapsed_ns: int) -> Remedies | None:
    from perf_analysis.gpu_path import silence
    from perf_analysis.gpu_whatif import gpu_answers
    from perf_analysis.operators import rows_of
    from perf_io.traces.gpu_activity import read_gpu_activity

    paths = [part.source for _, part in parts_of(trace)]
    if not os.path.exists(paths[0]):  # noqa: PTH110 - the names of data may be too long for a path
        return None
    activity = read_gpu_activity(paths[0], with_shapes=False)
    if activity is None:
        return None
    note = silence(activity)
    answers = None if note else gpu_answers(trace.source, paths, None, [], lambda *_: trace, first=activity)
    gains = []
    if answers is not None:
        whole = answers.runtime_ns
        of = f" of the {readable(whole, 'ns', 4)} since the first event of the host"
        is_copying = any(each.part == "copies" for each in answers.scenarios)
        passed_over = "gpu" if is_copying else ""  # which copies between host and GPU do not take less time on
        for each in answers.scenarios:
            if each.zero_time == (each.part == "collectives") and each.part != passed_over:
                option = f"--compute {each.part}={'inf' if each.zero_time else '2x'}"
                gains.append(Gain(each.question, each.runtime_ns, whole, option, of=of * (whole >= _MUCH * elapsed_ns)))
    by = "operator" if activity.has_operators else "kernel"
    rows = sorted(rows_of(activity, by), key=lambda row: -row["own_ns"])
    longest = tuple((row["name"], row["own_ns"], row["calls"]) for row in rows[:_LONGEST] if row["own_ns"])
    starts, ends = activity.step_spans()
    whole = max(sum(row["own_ns"] for row in rows), 1)
    where = " (first rank)" if len(paths) > 1 else ""
    length = float((ends - starts).mean()) if len(starts) else 0.0
    gains.sort(key=lambda each: each.runtime_ns)
    host = None if where else activity.host_while_waiting()
    return Remedies(tuple(gains), by, longest, whole, where, note, len(starts), length, host)


def _gains_of_calls(trace: Trace, profile: OverheadProfile) -> list[Gain]:
    """Balanced computing, and messages that take no time."""
    from perf_analysis.whatif import balanced

    communication = None if profile.replayed is None or profile.threads else communication_of(trace)
    if communication is None or profile.replayed is None or len(communication.calls) > _MOST_CALLS:
        return []
    elapsed, gains, replay = profile.elapsed_ns, list[Gain](), Replay(communication, keeps_startup=True)
    silent = max(0, elapsed - replay.runtime_ns())
    if profile.replayed.definition == "strict":
        ideal = replay.runtime_ns(0) + silent
        gains.append(Gain("hiding all transfers", ideal, elapsed, "--network 0", is_bound=True))
    if int((np.diff(communication.first_call) > 0).sum()) > 1:
        times = BurstTimes(trace, communication)
        busy = busy_mask(trace.states, trace.busy_states, None, None)
        inside = np.minimum(times.within(busy), replay.burst_ns)
        after, _ = balanced(replay.burst_ns, inside, communication, [""] * len(trace.locations))
        runtime = replay.runtime_ns(burst_ns=after) + silent
        gains.append(Gain("balancing computing", runtime, elapsed, "--balance computing", is_bound=True))
    return gains


def _bounds(trace: Trace, profile: OverheadProfile) -> list[Gain]:
    """What no schedule can save more of, without knowing what waits for what.

    All computing takes at least its mean over the locations, and what is not computed in one state goes on.
    """
    elapsed, n = profile.elapsed_ns, len(trace.locations)
    busy = busy_mask(trace.states, trace.busy_states, None, None)
    times = np.where(busy, trace.state_times(), 0)
    gains = []
    mean = round(int(times.sum()) / n)
    if n > 1 and mean >= _LEAST_USED * elapsed:
        every = "both" if n == 2 else f"all {n}"
        gains.append(Gain(f"keeping {every} locations computing", mean, elapsed, "--by location", True, "overheads"))
    if np.count_nonzero(times) > 1:
        name = trace.states[int(times.argmax())]
        curve = trace.utilization([name])
        within = np.diff(curve.edges)[curve.heights > 0].sum() / (curve.end - curve.start)
        runtime = max(round(elapsed * (1.0 - within / 2)), mean - int(times.max()) // (2 * n))
        gains.append(Gain(f"{name} twice as fast", runtime, elapsed, "", True, "profile"))
    return gains


# The parts of runs' times, of which models over the number of locations are made (`perf project`).
#
# Computing is a total over all locations, by class of burst: a constant is perfect scaling. What is lost is a mean over
# locations, by the steps of `perf_analysis.efficiencies`. Computing over the locations plus what is lost is the elapsed
# time, exactly. Locations are not repetitions: a run is one row.


@dataclass(frozen=True, eq=False)
class TimeComponents:
    """Seconds of each part in R runs."""

    locations: npt.NDArray[np.int64]  # of each run
    times: dict[str, Floats]  # computing: total of all locations; what is lost: mean over locations
    alone: dict[str, int]  # of each loss: up to how many locations there is no waiting
    is_alone: dict[str, npt.NDArray[np.bool_]]  # runs of so few locations
    sources: tuple[str, ...]


def time_components(profiles: Sequence[OverheadProfile]) -> TimeComponents:
    """Return the parts of each run."""
    if any(COMPUTING not in each.classes for each in profiles):
        raise DataError(f"a projection needs a class of states called {COMPUTING}, which the categories lack")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        raise OptionError("the steps of --pop bsc do not add up to the elapsed time; leave it out")
    useful = [each.class_cycles_ns[each.classes.index(COMPUTING)].sum(axis=1) for each in profiles]
    parts = _computing(profiles, useful)
    with_network = all(each.replayed is not None for each in profiles)
    lost = [losses_of(each, with_network)[1] for each in profiles]
    several = [run_losses for run_losses, each in zip(lost, profiles, strict=True) if len(each.locations) > 1] or lost
    if any(list(run_losses) != list(several[0]) for run_losses in several):
        raise DataError("a projection needs runs that all have threads in their processes, all have GPUs, or neither")
    _one_way_to_grow(profiles)
    alone, is_alone = {}, {}
    losses = {name: np.array([run_losses.get(name, 0.0) for run_losses in lost]) for name in several[0]}
    if factors.COPIES in losses:
        losses = {
            factors.IMBALANCE: losses[factors.IMBALANCE],
            **_by_collective(profiles, losses.pop(factors.COPIES)),
            **losses,
        }
    threads = {each.n_threads for profile in profiles for each in profile.threads}
    for name, lost_ns in losses.items():
        parts[name] = lost_ns  # nothing is lost at one location, or in one process where MPI loses it
        alone[name] = next(iter(threads)) if len(threads) == 1 and name in factors.OF_MPI else 1
        is_alone[name] = np.array(
            [len(p.locations) <= alone[name] or (len(p.threads) == 1 and name in factors.OF_MPI) for p in profiles]
        )
    locations = np.array([len(each.locations) for each in profiles])
    times = {name: np.asarray(times * 1e-9, float) for name, times in parts.items()}
    return TimeComponents(locations, times, alone, is_alone, tuple(p.source for p in profiles))


def _by_collective(profiles: Sequence[OverheadProfile], exchanging: Floats) -> dict[str, Floats]:
    """GPU communication by collective, in proportion to its exposed time; also by size where all runs have the same."""
    exposed: list[Counter[tuple[str, str]]] = []
    for profile in profiles:
        times: Counter[tuple[str, str]] = Counter()
        for (operation, n_bytes), time in profile.exposed_ns.items():
            times[operation, _size(n_bytes)] += time
        times["copies", ""] = int(profile.class_cycles_ns[profile.classes.index(_COPYING)].sum())
        exposed.append(times)
    varying = {name for times in exposed for name, size in times if any((name, size) not in each for each in exposed)}
    sums: dict[str, Floats] = {}
    for run, times in enumerate(exposed):
        for (name, size), time in times.items():
            label = name if name in varying else f"{name} {size}".rstrip()
            sums.setdefault(label, np.zeros(len(profiles)))[run] += time
    total = np.sum(list(sums.values()), axis=0)
    if not (total > 0.0).all():
        return {factors.COPIES: exchanging}
    shares = {name: times / total for name, times in sums.items()}
    largest = sorted(shares, key=lambda name: -float(shares[name].max()))
    named = [name for name in largest[:_MOST_COLLECTIVES] if shares[name].any()]
    rest = 1.0 - sum(shares[name] for name in named)
    if (rest > 1e-9).any():
        shares[_OTHER_COLLECTIVES] = rest
        named.append(_OTHER_COLLECTIVES)
    return {f"{factors.COPIES}: {name}": exchanging * shares[name] for name in named}


def _size(n_bytes: int) -> str:
    """Three digits and a unit."""
    power = min(int(math.log10(max(n_bytes, 1))) // 3, 4)
    return f"{n_bytes / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _one_way_to_grow(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse runs that differ in threads of a process as well as in processes."""
    kinds = {(len(each.threads), tuple(sorted({one.n_threads for one in each.threads}))) for each in profiles}
    kinds -= {(0, ())}  # of one location
    if len({processes for processes, _ in kinds}) > 1 and len({threads for _, threads in kinds}) > 1:
        sizes = ", ".join(f"{n} x {'/'.join(map(str, threads))}" for n, threads in sorted(kinds))
        raise DataError(
            f"a projection is over the number of locations, but both processes and their threads differ ({sizes}); "
            "give runs with as many threads in each process, or as many processes"
        )


def _computing(
    profiles: Sequence[OverheadProfile], useful: Sequence[npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Computing of all locations, by those classes that all runs have which are the largest in any of them."""
    totals = np.array([int(times.sum()) for times in useful], float)
    by_class = [{} if each.bursts is None else each.bursts.total_ns for each in profiles]
    shared = [
        name for name in by_class[0] if all(name in class_ns for class_ns in by_class) and name not in factors.LOST
    ]
    parts = {name: np.array([class_ns[name] for class_ns in by_class], float) for name in shared}
    parts = dict(sorted(parts.items(), key=lambda item: -float((item[1] / totals).max()))[:_MOST_CLASSES])
    rest = totals - sum(parts.values())
    if not parts or (rest <= 0).all():
        return parts or {COMPUTING: totals}
    return {**parts, OTHERS: rest}
