"""Traces on disk: those of single files, and those of the ranks of one run as one trace."""

from __future__ import annotations

import functools
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import OF_RANK, RankCalls
from perf_traces.nesting import Columns, merged_states
from perf_traces.scratch_arrays import zeros
from perfcore.base import progress
from perfcore.base.arrays import Codes, Ints
from perfcore.base.errors import DataError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace, busy_mask, curve_from_intervals, default_busy
from perfcore.data.units import nanoseconds_per

COLUMNS: Mapping[str, Any] = {"location": np.int32, "state": np.int32, "start_ns": np.int64, "end_ns": np.int64}

_PLAIN = (int, float, str, bool)
FEW_INTERVALS = 1 << 18  # that are summed up in memory: some 10 MB meanwhile
_CHANGES_AT_ONCE = 1 << 19
_SAMPLES = 1 << 12  # of the times of a rank, to tell stretches with about as many changes


class LazyTrace(Trace):
    """A checked trace whose arrays are made when they are first asked for; see `perfcore.Trace` for what it offers."""

    def __init__(
        self,
        locations: Sequence[str],
        states: Sequence[str],
        *,
        time_unit: str,
        span_ns: tuple[int, int],
        source: str,
        busy_states: Sequence[str] | None = None,
        notes: Sequence[str] = (),
        markers: Sequence[tuple[str, int, int]] = (),
        levels: Mapping[str, Sequence[str]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        # Trace's own constructor takes arrays; here they are the cached properties below.
        self.locations, self.states = tuple(locations), tuple(states)
        self.busy_states = default_busy(self.states) if busy_states is None else tuple(busy_states)
        self.time_unit, self.span_ns, self.source = time_unit, span_ns, source
        self.notes, self.markers = tuple(notes), tuple(markers)
        self.levels, self.facts = dict(levels or {}), dict(facts or {})

    @property
    def _arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Return one of `COLUMNS`, kept from when it is first asked for."""
        if name not in COLUMNS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        column = vars(self)[name] = self._arrays[name]
        return column


def no_interval(at_ns: int) -> Columns:
    """Return columns of one interval of no duration, which a trace has at least."""
    times = np.full(1, at_ns, np.int64)
    return np.zeros(1, np.int32), np.zeros(1, np.int32), times, times


def run_of(trace: Trace) -> tuple[int, int]:
    """Return when the run of a trace begins and ends, in nanoseconds."""
    start, end = trace.span_ns
    if not isinstance(trace, LazyTrace):
        start, end = min(start, int(trace.start_ns.min())), max(end, int(trace.end_ns.max()))
    if end <= start:
        raise DataError(f"{trace.source}: the trace has no duration")
    return start, end


@dataclass(frozen=True)
class StoredTrace:
    """What a trace says, and where its columns are."""

    path: str  # beginning of the names of its files
    n_intervals: int
    locations: tuple[str, ...]
    states: tuple[str, ...]
    busy_states: tuple[str, ...]
    span_ns: tuple[int, int]  # all intervals lie within
    time_unit: str
    source: str
    notes: tuple[str, ...]
    markers: tuple[tuple[str, int, int], ...]
    levels: dict[str, tuple[str, ...]]
    facts: dict[str, Any]
    shift_ns: int = 0  # added to the times of its columns

    @classmethod
    def of(cls, trace: Trace, path: Path) -> Self:
        """Write the columns of a trace next to each other, ``PATH.location.npy`` and so on."""
        first, last = trace.span_ns
        stored = cls(
            str(path), trace.n_intervals, trace.locations, trace.states, tuple(trace.busy_states),
            (min(int(first), int(trace.start_ns.min())), max(int(last), int(trace.end_ns.max()))),
            trace.time_unit, trace.source, tuple(trace.notes), tuple(trace.markers),
            {level: tuple(names) for level, names in trace.levels.items()},
            {name: value for name, value in trace.facts.items() if isinstance(value, _PLAIN)},
        )  # fmt: skip
        stored.put(getattr(trace, name) for name in COLUMNS)
        if (calls := trace.facts.get(OF_RANK)) is not None:
            calls.save(path)
        return stored

    def put(self, columns: Iterable[npt.NDArray[Any]]) -> None:
        for (name, dtype), values in zip(COLUMNS.items(), columns, strict=True):
            np.save(f"{self.path}.{name}.npy", values.astype(dtype, copy=False), allow_pickle=False)

    def save(self) -> None:
        """Write what it says to ``PATH.json``, for another process."""
        Path(f"{self.path}.json").write_bytes(msgspec.json.encode(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        return msgspec.json.decode(Path(f"{path}.json").read_bytes(), type=cls)

    def rank_calls(self) -> RankCalls | None:
        """Return calls of the communication library, whose partners are of other ranks; None if the file has none."""
        return RankCalls.load(Path(self.path)) if Path(f"{self.path}.calls.json").exists() else None

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one of ``location``, ``state``, ``start_ns`` and ``end_ns``, mapped from its file."""
        values: npt.NDArray[Any] = np.load(f"{self.path}.{name}.npy", mmap_mode="r", allow_pickle=False)
        return values + self.shift_ns if self.shift_ns and name.endswith("_ns") else values

    def shifted(self, shift_ns: int) -> Self:
        markers = tuple((name, start + shift_ns, end + shift_ns) for name, start, end in self.markers)
        span = self.span_ns[0] + shift_ns, self.span_ns[1] + shift_ns
        return replace(self, shift_ns=shift_ns, span_ns=span, markers=markers)


def summed_curve(
    ranks: Iterable[tuple[Ints, Ints]],
    folder: Path,
    span_ns: tuple[int, int],
    time_unit: str,
    *,
    changes_at_once: int = _CHANGES_AT_ONCE,
    **facts: Any,
) -> UtilizationCurve:
    """Return how many locations compute, of intervals that come rank by rank.

    Each rank's beginnings and ends are sorted by themselves and put on disk; then all are merged stretch by stretch of
    the run. In addition to one rank, memory holds one stretch; a long curve is mapped from files.
    """
    changes = [_sorted(times, folder / f"changes{k}.npy", span_ns[0]) for k, times in enumerate(ranks)]
    n_changes, length, factor = sum(map(len, changes)), span_ns[1] - span_ns[0], nanoseconds_per(time_unit)
    edges, heights = zeros((n_changes + 2,), np.int64 if factor == 1 else np.float64), zeros((n_changes + 1,))
    begun, count, level = [0] * len(changes), 0, 0

    def moment(from_start: Any) -> Any:
        time_ns = np.add(from_start, span_ns[0])
        return time_ns if factor == 1 else time_ns / factor

    with progress.bar("summing up ranks", n_changes) as advance:
        for bound in _bounds(changes, changes_at_once):
            until = [int(np.searchsorted(times, bound)) for times in changes]
            merged = np.concatenate([times[a:b] for times, a, b in zip(changes, begun, until, strict=True)])
            begun = until
            if not len(merged):
                continue
            merged.sort(kind="stable")  # runs of sorted numbers, which it merges
            times, levels = merged >> 1, ((merged & 1).astype(np.int8) * 2 - 1).cumsum(dtype=np.int64) + level
            last = np.append(times[1:] != times[:-1], True) & (times < length)
            times, after = times[last], levels[last]
            steps = np.append(level, after[:-1]) != after
            times, after, level = times[steps], after[steps], int(levels[-1])
            if not count and len(times) and times[0] > 0:  # the run may begin before anyone computes
                edges[0], count = moment(0), 1
            rows = slice(count, count + len(times))
            edges[rows], heights[rows], count = moment(times), after, rows.stop
            advance(len(merged))
    if not count:
        edges[0], count = moment(0), 1
    edges[count] = moment(length)
    return UtilizationCurve(edges[: count + 1], heights[:count], time_unit, **facts)


def _sorted(times: tuple[Ints, Ints], path: Path, zero: int) -> Ints:
    """Return twice the time from the run's start, one more for a beginning: sorted, mapped from a file."""
    changes = np.concatenate(times)
    changes -= zero
    changes <<= 1
    changes[: len(times[0])] |= 1
    changes.sort(kind="stable")
    np.save(path, changes, allow_pickle=False)
    mapped: Ints = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def _bounds(changes: Sequence[Ints], at_once: int) -> Iterator[int]:
    """Yield ends of stretches with about so many changes each, never between two of one time."""
    samples = [times[:: -(-len(times) // _SAMPLES)] for times in changes if len(times)]
    if samples:
        weights = [len(times) / len(sample) for times, sample in zip(filter(len, changes), samples, strict=True)]
        times, weight = np.concatenate(samples), np.repeat(weights, [len(sample) for sample in samples])
        order = np.argsort(times, kind="stable")
        stretch = (np.cumsum(weight[order]) // at_once).astype(np.int64)
        yield from np.unique(times[order][np.flatnonzero(np.diff(stretch))] & ~1).tolist()
    yield np.iinfo(np.int64).max


class JoinedTrace(LazyTrace):
    """One run, whose intervals stay in the files of its ranks; see `perfcore.Trace` for what it offers.

    The curve is summed up, and `rank_traces` hands over the ranks, in the memory of one of them. The arrays
    ``location``, ``state``, ``start_ns`` and ``end_ns`` of the whole run are made, on disk, when they are asked for.
    """

    def __init__(
        self,
        parts: Sequence[StoredTrace],
        ranks: Sequence[int],
        folder: Path,
        *,
        source: str,
        notes: Sequence[str],
        facts: dict[str, Any],
    ) -> None:
        super().__init__(
            [f"rank {rank} / {name}" for rank, part in zip(ranks, parts, strict=True) for name in part.locations],
            tuple(dict.fromkeys(state for part in parts for state in part.states)),
            busy_states=tuple(dict.fromkeys(state for part in parts for state in part.busy_states)),
            span_ns=(min(part.span_ns[0] for part in parts), max(part.span_ns[1] for part in parts)),
            time_unit=parts[0].time_unit, source=source, notes=notes,
            markers=[marker for part in parts for marker in part.markers],
            levels=levels_of_ranks(parts, ranks), facts=facts,
        )  # fmt: skip
        self._parts, self._folder = tuple(parts), folder
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.ranks = tuple(ranks)
        self._state_codes = {state: code for code, state in enumerate(self.states)}

    @property
    def n_intervals(self) -> int:
        return sum(part.n_intervals for part in self._parts)

    def rank_traces(self) -> Iterator[Trace]:
        """Yield the ranks one after the other: each with its locations, on the clock and with the states of the run.

        A rank that has no intervals has one of no duration.
        """
        first = 0
        for part in self._parts:
            last = first + len(part.locations)
            yield Trace(
                *(self._columns_of(part) if part.n_intervals else no_interval(self.span_ns[0])),
                self.locations[first:last], self.states, time_unit=self.time_unit, busy_states=self.busy_states,
                span_ns=self.span_ns, source=part.source, markers=part.markers, facts=part.facts,
                levels={level: names[first:last] for level, names in self.levels.items()},
            )  # fmt: skip
            first = last

    def merged(
        self, place: Ints, locations: Sequence[str], order: Ints, levels: dict[str, Sequence[str]]
    ) -> JoinedTrace:
        """Return the same run with several of its locations as one each, of which each is of one rank."""
        folder = Path(tempfile.mkdtemp(prefix="perfcore-ranks-"))
        parts, begin = [], 0
        for number, part in enumerate(self._parts):
            end = begin + len(part.locations)
            targets = np.unique(place[begin:end])
            columns = merged_states(*self._columns_of(part), place=place[begin:end] - targets[0], rank=order)
            begin = end
            names = tuple(locations[target] for target in targets.tolist())
            names_of_states = {"states": self.states, "busy_states": self.busy_states}
            parts.append(_changed(part, folder / str(number), columns, locations=names, **names_of_states))
        joined = JoinedTrace(parts, self.ranks, folder, source=self.source, notes=self.notes, facts=self.facts)
        joined.locations, joined.markers, joined.levels = tuple(locations), self.markers, dict(levels)
        return joined

    def cut(
        self, first: int, stop: int, locations: Sequence[int], states: Sequence[int], **facts: Any
    ) -> JoinedTrace | None:
        """Return what of it is within a part of the run, rank by rank; None if nothing is.

        Intervals that begin before ``stop`` and end after ``first`` are of the part; they are cut to the ``span_ns`` of
        ``facts``, which are what a `perfcore.Trace` is made with in addition to its columns and names.
        """
        folder = Path(tempfile.mkdtemp(prefix="perfcore-ranks-"))
        span, state_names = facts["span_ns"], tuple(self.states[k] for k in states)
        of_location, of_state = positions(locations, len(self.locations)), positions(states, len(self.states))
        parts, ranks, begin = [], [], 0
        for rank, part in zip(self.ranks, self._parts, strict=True):
            end = begin + len(part.locations)
            chosen = np.flatnonzero(of_location[begin:end] >= 0).tolist()
            begin = end
            if not chosen:
                continue
            old_location, old_state, starts, ends = self._columns_of(part)
            location, state = positions(chosen, len(part.locations))[old_location], of_state[old_state]
            inside = (starts < stop) & ((ends > first) | (starts >= first)) & (location >= 0) & (state >= 0)
            times = np.maximum(starts[inside], first), np.minimum(ends[inside], span[1])
            columns, names = (location[inside], state[inside], *times), tuple(part.locations[k] for k in chosen)
            busy = tuple(facts["busy_states"])
            changes = {"locations": names, "states": state_names, "busy_states": busy, "span_ns": span}
            parts.append(_changed(part, folder / str(rank), columns, **changes))
            ranks.append(rank)
        described = {name: facts[name] for name in ("source", "notes", "facts")}
        joined = JoinedTrace(parts, ranks, folder, **described)
        joined.markers, joined.levels = tuple(facts["markers"]), dict(facts["levels"])
        return joined if joined.n_intervals else None

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        facts: dict[str, Any] = {"n_locations": len(self.locations), "source": self.source}
        busy_rows = ((part, mask[self._states_of(part)][part.column("state")]) for part in self._parts)
        times = ((part.column("start_ns")[rows], part.column("end_ns")[rows]) for part, rows in busy_rows)
        if self.n_intervals > FEW_INTERVALS:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            return summed_curve(times, folder, self.span_ns, self.time_unit, **facts)
        starts, ends = zip(*times, strict=True)
        return curve_from_intervals(np.concatenate([*starts, *ends]), self.span_ns, self.time_unit, **facts)

    def _columns_of(self, part: StoredTrace) -> Columns:
        """Return location among those of the rank, state of the run, start and end on the clock of the run."""
        state = self._states_of(part)[part.column("state")]
        return part.column("location"), state, part.column("start_ns"), part.column("end_ns")

    def _states_of(self, part: StoredTrace) -> Codes:
        """Return the run's code of each state of a rank."""
        return np.array([self._state_codes[state] for state in part.states], np.int32)

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {}
        with progress.bar(f"joining {self.source}", len(self._parts) * len(COLUMNS)) as advance:
            for name, dtype in COLUMNS.items():
                path = self._folder / f"{name}.npy"
                column = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(self.n_intervals,))
                first_row = first_location = 0
                for part in self._parts:
                    values = part.column(name)
                    rows = slice(first_row, first_row + len(values))
                    if name == "state":
                        values = self._states_of(part)[values]
                    np.add(values, first_location if name == "location" else 0, out=column[rows])
                    first_row, first_location = rows.stop, first_location + len(part.locations)
                    advance(1)
                del column
                arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
        return arrays


def _changed(part: StoredTrace, path: Path, columns: Columns, **facts: Any) -> StoredTrace:
    """Return a rank with other intervals, on the clock of the run."""
    of_run: dict[str, Any] = {"n_intervals": len(columns[0]), "levels": {}, "markers": (), "shift_ns": 0}
    stored = replace(part, path=str(path), **of_run, **facts)
    stored.put(columns)
    return stored


def positions(chosen: Sequence[int], count: int) -> Codes:
    """Return for each of ``count`` codes its position among the chosen ones, -1 for the others."""
    places = np.full(count, -1, np.int32)
    places[list(chosen)] = np.arange(len(chosen))
    return places


def levels_of_ranks(parts: Sequence[StoredTrace], ranks: Sequence[int]) -> dict[str, Sequence[str]]:
    """Return coarser places of the locations of all ranks: a rank is a process, and what is below it is its own."""
    all_levels = dict.fromkeys(["process", *(level for part in parts for level in part.levels)])
    levels: dict[str, Sequence[str]] = {}
    for level in all_levels:
        names: list[str] = []
        for rank, part in zip(ranks, parts, strict=True):
            below = part.levels.get(level, ("",) * len(part.locations))
            if level == "process":
                names += [f"rank {rank}"] * len(part.locations)
            else:
                names += [name if level == "node" or not name else f"rank {rank} / {name}" for name in below]
        levels[level] = tuple(names)
    if "node" not in levels and all("host" in part.facts for part in parts):
        levels["node"] = tuple(str(part.facts["host"]) for part in parts for _ in part.locations)
    return levels
