"""What the calls of a communication library add to a profile: serialisation and transfer, bursts, threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from perf_analysis.categories import WAITING, Category, CategorySet, StateClasses, classify
from perf_analysis.collectives import RankTimes, collective_speeds
from perf_analysis.concurrency import DeviceTimes, MarkerTimes, ThreadTimes, thread_times, threads_beside
from perf_analysis.efficiencies import COMPUTING, efficiencies, level_factors, of_gpus
from perf_analysis.groups import GROUP
from perf_traces.joined_trace import JoinedTrace, run_of
from perf_traces.messages.bursts import BurstClasses, Definition, PopFactors, burst_classes, pop_factors
from perf_traces.messages.communication import communication_of
from perf_traces.messages.replay import startup_calls
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.report import Column, Result, Table

_MOSTLY_EMPTY = 0.5  # share of a run without any state that is reported
_OWN = ("category", "phase", "time_s", "all_locations_ns")  # columns of the table of categories


@dataclass(frozen=True, eq=False, repr=False)
class OverheadProfile(Result):
    """Cycles of one run; the categories are complete and orthogonal, so that their sum is locations x elapsed time."""

    reporter: ClassVar[str] = "perf_analysis.overhead_answers:report_of"

    categories: tuple[str, ...]  # names, and what each means
    texts: tuple[str, ...]
    classes: tuple[str, ...]  # classes of states
    locations: tuple[str, ...]
    cycles_ns: Ints
    class_cycles_ns: Ints  # time in each class of states
    edges_ns: Ints  # where phases begin and end, on the clock of the trace
    timeline_ns: Ints  # cycles of all locations in short stretches of equal duration, for the picture
    timeline_edges_ns: Ints
    states: Mapping[str, tuple[str, ...]]  # the trace's states by class
    source: str  # the trace
    notes: tuple[str, ...] = ()  # what a reader of the numbers must know
    devices: tuple[DeviceTimes, ...] = ()  # what runs at once on each GPU, where locations are GPUs or their streams
    hidden_ns: Ints = field(default_factory=lambda: np.zeros((2, 0, 1), np.int64))
    ranks: tuple[RankTimes, ...] = ()  # who waits for whom in collectives, where locations are GPUs of several ranks
    markers: tuple[MarkerTimes, ...] = ()  # cycles within markers, where they were asked for
    untold: tuple[str, ...] = ()  # categories that no state of the trace records
    replayed: PopFactors | None = None  # of the whole run; None where there are no messages to replay
    bursts: BurstClasses | None = None  # computing between calls, with its counters
    threads: tuple[ThreadTimes, ...] = ()
    exposed_ns: Mapping[tuple[str, int], int] = field(default_factory=dict)  # of GPUs: by collective and its bytes
    startup_ns: int = 0  # until MPI_Init has ended at all locations
    group: str = ""  # of several in one trace, such as its applications

    @cached_property
    def by_category_ns(self) -> Ints:
        return np.asarray(self.cycles_ns.sum(axis=(1, 2)))

    @cached_property
    def by_phase_ns(self) -> Ints:
        return np.asarray(self.cycles_ns.sum(axis=1))  # (n_categories, n_phases)

    @cached_property
    def by_location_ns(self) -> Ints:
        return np.asarray(self.cycles_ns.sum(axis=2))  # (n_categories, n_locations)

    @property
    def elapsed_ns(self) -> int:
        return int(self.edges_ns[-1] - self.edges_ns[0])

    @property
    def total_ns(self) -> int:
        """All cycles: locations times elapsed time."""
        return int(self.cycles_ns.sum())

    @property
    def n_phases(self) -> int:
        return len(self.edges_ns) - 1

    @property
    def communicates(self) -> bool:
        """Whether communication takes time that is worth a word."""
        rows = [row for row, name in enumerate(self.classes) if name in ("communicating", "waiting")]
        return bool(self.class_cycles_ns[rows].sum() >= 1e-3 * self.total_ns)

    def efficiencies(self, by_phase: bool = False) -> dict[str, Any] | None:
        """POP's efficiencies of the run, or of each phase; None where the set has no class of computing states."""
        if COMPUTING not in self.classes:
            return None
        times: Ints = self.class_cycles_ns[self.classes.index(COMPUTING)]
        if by_phase:
            return efficiencies(times, np.diff(self.edges_ns))
        serialisation = None if self.replayed is None else [self.replayed.serialisation]
        return efficiencies(times.sum(axis=1, keepdims=True), [self.elapsed_ns], serialisation)

    def to_dict(self) -> dict[str, Any]:
        parts = {"run": self.efficiencies(), "phases": self.efficiencies(by_phase=True)}
        levels = level_factors(self)
        return {
            "source": self.source,
            "elapsed_ns": self.elapsed_ns,
            "locations": list(self.locations),
            "phase_edges_ns": self.edges_ns.tolist(),
            "categories": [
                {"category": name, "total_ns": int(total), "by_location_by_phase_ns": cycles.tolist()}
                for name, total, cycles in zip(self.categories, self.by_category_ns, self.cycles_ns, strict=True)
            ],
            "classes": {name: list(states) for name, states in self.states.items()},
            **{
                name: [asdict(each) for each in getattr(self, name)]
                for name in ("devices", "ranks", "markers", "threads")
                if getattr(self, name)
            },
            **({"replay": asdict(self.replayed)} if self.replayed else {}),
            **({"bursts": self.bursts.to_dict()} if self.bursts else {}),
            "efficiencies": {name: None if part is None else _plain(part) for name, part in parts.items()},
            **({"factors": levels} if levels else {}),
            **({"startup_ns": self.startup_ns} if self.startup_ns else {}),
            **({"group": self.group} if self.group else {}),
            "notes": list(self.notes),
        }


def profile_of_times(
    trace: Trace, rules: CategorySet, names: StateClasses, cycles_ns: Ints, class_cycles_ns: Ints, edges_ns: Ints,
    timeline_ns: Ints, timeline_edges_ns: Ints, notes: tuple[str, ...], **more: Any,
) -> OverheadProfile:  # fmt: skip
    """Return a profile of times by category and class of states."""
    categories, texts = zip(*((category.name, category.text) for category in rules.categories), strict=True)
    return OverheadProfile(
        categories, texts, names.classes, trace.locations, cycles_ns, class_cycles_ns, edges_ns, timeline_ns,
        timeline_edges_ns, {name: names.states_of(name) for name in names.classes}, trace.source, notes, **more,
    )  # fmt: skip


def check_same_categories(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse profiles by different sets of categories."""
    first = profiles[0]
    for profile in profiles:
        if profile.categories != first.categories:
            raise DataError(f"{profile.source} has other categories than {first.source}; profile both by the same set")


def stacked(profiles: Sequence[OverheadProfile], settings: Mapping[str, Sequence[float]] | None = None) -> Table:
    """Return a row for each run and category, and for each phase if runs have several."""
    check_same_categories(profiles)
    columns: dict[str, Sequence[float]] = {"p": [len(profile.locations) for profile in profiles]}
    for name, values in (settings or {}).items():
        if name in _OWN:
            raise OptionError(f"--label {name}: the table has a column of this name; choose another")
        if len(values) not in (1, len(profiles)):
            raise OptionError(
                f"--label {name}: {len(values)} values for {len(profiles)} traces; give one, or one for each"
            )
        columns[name] = [*values] * len(profiles) if len(values) == 1 else values
    with_phases = any(profile.n_phases > 1 for profile in profiles)
    rows = []
    for run, profile in enumerate(profiles):
        for phase in range(profile.n_phases):
            for name, time in zip(profile.categories, profile.by_phase_ns[:, phase], strict=True):
                row: dict[str, float | str] = {column: values[run] for column, values in columns.items()}
                if with_phases:
                    row["phase"] = phase + 1
                mean_s = int(time) / len(profile.locations) / 1e9
                rows.append(row | {"category": name, "time_s": mean_s, "all_locations_ns": int(time)})
    names = [*columns, *(["phase"] if with_phases else []), "category", "time_s", "all_locations_ns"]
    return Table([Column(name, name, key=name) for name in names], rows, importance="data")


def _plain(shares: Mapping[str, Any]) -> list[dict[str, float | None]]:
    """Return a row for each stretch, as JSON has it."""
    return [
        {name: None if column is None or np.isnan(column[k]) else float(column[k]) for name, column in shares.items()}
        for k in range(len(shares["parallel"]))
    ]


def summary_breakdown(
    trace: SummarizedTrace, rules: CategorySet, classes: Mapping[str, Sequence[str]] | None
) -> tuple[OverheadProfile, StateClasses]:
    """Cycles of a summarized run by category and location, to the nanosecond, and its states as the set sees them.

    Categories of one class of states that differ in what other locations do at the same moment are one
    here: sums over time do not know it.
    """
    start, end = run_of(trace)
    names = classify(trace, rules, classes)
    joined = without_counts(rules)
    of_class = [
        next((index for index, category in enumerate(joined.categories) if name in category.classes), -1)
        for name in names.classes
    ]
    category_of = np.array(of_class, np.int64)[names.class_of]  # of each state; -1 where its class is in none
    times, _ = trace.times_and_entries()  # by location and state
    by_state = np.column_stack([times, end - start - times.sum(axis=1)])
    edges, windows = trace.windows()
    over_time = np.column_stack([windows, len(trace.locations) * np.diff(edges) - windows.sum(axis=1)])
    lost = np.flatnonzero((category_of < 0) & (by_state.sum(axis=0) > 0))
    if len(lost):
        states = listing([repr(names.states[index]) for index in lost.tolist()], 4)
        raise DataError(f"{trace.source}: {states} is in a class that no category of {rules.source} takes")
    counted = np.where(category_of < 0, 0, category_of)  # states that never last
    n = len(joined.categories)
    cycles, timeline = summed(by_state, counted, n)[:, :, None], summed(over_time, counted, n)
    of_classes = summed(by_state, names.class_of, len(names.classes))[:, :, None]
    span = np.array([start, end])
    return profile_of_times(
        trace, joined, names, cycles, of_classes, span, timeline, edges, _notes(rules, joined)
    ), names


def whole_run_only(trace: SummarizedTrace) -> OptionError:
    """The message where more is asked for."""
    return OptionError(
        f"{trace.source}: a summary has cycles of the whole run only; leave out --phases, --by marker and --ready, or "
        "give the traces"
    )


def without_counts(rules: CategorySet) -> CategorySet:
    """The set in which categories that only their predicates tell apart are one."""
    groups: list[list[Category]] = []
    for category in rules.categories:
        shares = [group for group in groups if any(set(category.classes) & set(each.classes) for each in group)]
        merged = [*(each for group in shares for each in group), category]
        place = groups.index(shares[0]) if shares else len(groups)
        groups = [*groups[:place], merged, *(each for each in groups[place:] if each not in shares)]
    united = []
    for group in groups:
        name, text = " or ".join(each.name for each in group), "; ".join(each.text for each in group if each.text)
        united.append(Category(name, tuple(dict.fromkeys(of for each in group for of in each.classes)), None, text))
    return replace(rules, categories=tuple(united))


def summed(times: Ints, to: Sequence[int] | Ints, count: int) -> Ints:
    """Return times by state, the last axis, as times by kind, the first one; the kind -1 is none."""
    kinds = np.asarray(to, np.int64)
    sums = np.zeros((count, *times.T.shape[1:]), np.int64)
    np.add.at(sums, kinds[kinds >= 0], times.T[kinds >= 0])
    return sums


def _notes(rules: CategorySet, joined: CategorySet) -> tuple[str, ...]:
    names = {category.name for category in rules.categories}
    united = [category.name for category in joined.categories if category.name not in names]
    notes = ["of a summary: serialisation and transfer, phases and markers need the traces themselves"]
    if WAITING in rules.classes:
        notes.append("waiting for other ranks in collectives counts as communication")
    if united:
        one = "is one category" if len(united) == 1 else "are one category each"
        notes.append(
            f"{listing(map(repr, united), 3)} {one} here: how many locations compute at one moment is not in a summary"
        )
    return tuple(notes)


def add_communication_metrics(trace: Trace, profile: OverheadProfile, pop: Definition = "strict") -> OverheadProfile:
    """A profile of a whole run, also with what its messages, calls and counters say, as far as the trace has them.

    They are of what the trace counts as computing: of other classes they say nothing. What is wrong with them is noted.
    """
    if isinstance(trace, SummarizedTrace):
        return profile
    idle = sum(time for name, time in zip(profile.categories, profile.by_category_ns.tolist(), strict=True)
               if name == "idle")  # fmt: skip
    of_states = not profile.devices or idle > _MOSTLY_EMPTY * profile.total_ns  # else the host says what it does
    if of_states and (gap := _unrecorded(trace)) is not None:
        profile = replace(profile, notes=(gap, *profile.notes))
    if set(profile.states.get(COMPUTING, ())) != set(trace.busy_states):
        return profile
    notes: list[str] = []
    startup = 0
    exposed: Counter[tuple[str, int]] = Counter()
    replayed, bursts = None, None
    threads: tuple[ThreadTimes, ...] = ()
    try:
        calls = communication_of(trace)
        processes = threads_beside(trace, calls)
        if calls is not None:  # until MPI_Init has ended at all locations
            startup = int((calls.calls.leave_ns[startup_calls(calls)] - calls.start_ns).max(initial=0))
        if calls is not None and processes is not None:
            threads = thread_times(trace, calls, processes, profile.states)
        for row in collective_speeds(calls, trace)[0] if calls is not None and of_gpus(profile) else ():
            exposed[row.operation, row.bytes] += row.exposed_ns or 0
        replayed = None if of_gpus(profile) else pop_factors(trace, pop, processes)
    except DataError as error:
        notes.append(f"serialisation and transfer efficiency not available: {error}")
    try:
        bursts = burst_classes(trace)
    except DataError as error:
        notes += [] if notes else [f"bursts between calls are not known: {error}"]
    if bursts is not None:
        notes += bursts.notes
    return replace(
        profile, replayed=replayed, bursts=bursts, threads=threads, exposed_ns=exposed, startup_ns=startup,
        notes=(*profile.notes, *notes),
    )  # fmt: skip


def _unrecorded(trace: Trace) -> str | None:
    """A note on the longest time without any state, if it is most of the run; None of groups and traces on disk."""
    if GROUP in trace.facts or isinstance(trace, JoinedTrace) or hasattr(trace, "database"):
        return None
    order = np.argsort(trace.start_ns, kind="stable")
    begins = np.append(trace.start_ns[order], trace.span_ns[1])
    ends = np.maximum.accumulate(np.append(trace.span_ns[0], trace.end_ns[order]))
    longest = int(np.argmax(begins - ends))
    first, last = int(ends[longest]), int(begins[longest])
    share = (last - first) / max(trace.span_ns[1] - trace.span_ns[0], 1)
    if share < _MOSTLY_EMPTY:
        return None
    times = (readable(time - trace.span_ns[0], "ns") for time in (first, last))
    return (
        f"nothing is recorded from {' to '.join(times)} ({share:.1%} of the run): the file is cut short, or a clock "
        "jumped; leave it out with --from or --to"
    )
