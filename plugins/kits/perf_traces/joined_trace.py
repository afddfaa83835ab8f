"""Traces on disk: those of single files, and those of the ranks of one run as one trace."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from perf_traces.messages.matching import OF_RANK, RankCalls
from perf_traces.nesting import Columns, merged_states
from perfcore.base import progress
from perfcore.base.errors import DataError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace, busy_mask, curve_from_intervals, default_busy
from perfcore.data.units import nanoseconds_per

COLUMNS: Mapping[str, Any] = {"location": np.int32, "state": np.int32, "start_ns": np.int64, "end_ns": np.int64}


class LazyTrace(Trace):
    """A checked trace whose arrays are made when they are first asked for; see `perfcore.Trace` for what it offers.

    A class of its own says in ``_arrays`` how they are made, and what it can tell without them.
    """

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
    def n_intervals(self) -> int:
        """Number of state intervals."""
        raise NotImplementedError

    @property
    def _arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All `COLUMNS`."""
        raise NotImplementedError

    @functools.cached_property
    def location(self) -> npt.NDArray[np.int32]:  # type: ignore[override]
        """Index into ``locations`` (n,)."""
        return self._arrays["location"]

    @functools.cached_property
    def state(self) -> npt.NDArray[np.int32]:  # type: ignore[override]
        """Index into ``states`` (n,)."""
        return self._arrays["state"]

    @functools.cached_property
    def start_ns(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """Starts (n,), nanoseconds."""
        return self._arrays["start_ns"]

    @functools.cached_property
    def end_ns(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """Ends (n,), nanoseconds."""
        return self._arrays["end_ns"]


def no_interval(at_ns: int) -> Columns:
    """Columns of one interval of no duration, for locations that are never in a state: a trace has one at least."""
    times = np.full(1, at_ns, np.int64)
    return np.zeros(1, np.int32), np.zeros(1, np.int32), times, times


def run_of(trace: Trace) -> tuple[int, int]:
    """When the run of a trace begins and ends, in nanoseconds."""
    start, end = trace.span_ns
    if not isinstance(trace, LazyTrace):
        start, end = min(start, int(trace.start_ns.min())), max(end, int(trace.end_ns.max()))
    if end <= start:
        raise DataError(f"{trace.source}: the trace has no duration")
    return start, end


_PLAIN = (int, float, str, bool)


@dataclass(frozen=True)
class StoredTrace:
    """What a trace says, and where its columns are."""

    path: Path  # beginning of the names of its files
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

    @classmethod
    def of(cls, trace: Trace, path: Path) -> Self:
        """Write the columns of a trace beside each other, ``PATH.location.npy`` and so on."""
        stored = cls(
            path,
            trace.n_intervals,
            trace.locations,
            trace.states,
            tuple(trace.busy_states),
            (
                min(int(trace.span_ns[0]), int(trace.start_ns.min())),
                max(int(trace.span_ns[1]), int(trace.end_ns.max())),
            ),
            trace.time_unit,
            trace.source,
            tuple(trace.notes),
            tuple(trace.markers),
            {level: tuple(names) for level, names in trace.levels.items()},
            {name: value for name, value in trace.facts.items() if isinstance(value, _PLAIN)},
        )
        stored.put({name: getattr(trace, name) for name in COLUMNS})
        if (calls := trace.facts.get(OF_RANK)) is not None:
            calls.save(path)
        return stored

    def put(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the columns."""
        for name, values in columns.items():
            np.save(f"{self.path}.{name}.npy", values.astype(COLUMNS[name], copy=False), allow_pickle=False)

    def save(self) -> None:
        """Write what it says to ``PATH.json``, for another process."""
        document = {name: value for name, value in vars(self).items() if name != "path"}
        Path(f"{self.path}.json").write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """What another process has saved."""
        document = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
        for name in ("locations", "states", "busy_states", "span_ns", "notes"):
            document[name] = tuple(document[name])
        document["markers"] = tuple((str(name), int(start), int(end)) for name, start, end in document["markers"])
        document["levels"] = {level: tuple(names) for level, names in document["levels"].items()}
        return cls(path, **document)

    def rank_calls(self) -> RankCalls | None:
        """Calls of the communication library, whose partners are of other ranks; None where the file tells none."""
        return RankCalls.load(self.path) if Path(f"{self.path}.calls.json").exists() else None

    def column(self, name: str) -> npt.NDArray[Any]:
        """One of ``location``, ``state``, ``start_ns`` and ``end_ns``, mapped from its file."""
        values: npt.NDArray[Any] = np.load(f"{self.path}.{name}.npy", mmap_mode="r", allow_pickle=False)
        return values


# How many locations compute, summed up over ranks of which no two are in memory together.
#
# Each rank's beginnings and ends are sorted by themselves and put on disk; then all are merged stretch by stretch of
# the
# run. Beside one rank, memory holds one stretch; the steps of the curve go to disk as they come.

Integers = npt.NDArray[np.int64]

FEW_INTERVALS = 1 << 18  # that are summed up in memory: some 10 MB meanwhile
_CHANGES_AT_ONCE = 1 << 19
_SAMPLES = 1 << 12  # of the times of a rank, to tell stretches with about as many changes


def summed_curve(
    ranks: Iterable[tuple[Integers, Integers]],
    folder: Path,
    span_ns: tuple[int, int],
    time_unit: str,
    *,
    changes_at_once: int = _CHANGES_AT_ONCE,
    **facts: Any,
) -> UtilizationCurve:
    """The curve of intervals that come rank by rank."""
    changes = [_sorted(times, folder / f"changes{k}.npy", span_ns[0]) for k, times in enumerate(ranks)]
    steps = _Steps(folder, span_ns, time_unit)
    with steps, progress.bar("summing up ranks", sum(map(len, changes))) as advance:
        begun = [0] * len(changes)
        for bound in _bounds(changes, changes_at_once):
            until = [int(np.searchsorted(each, bound)) for each in changes]
            merged = np.concatenate([each[first:last] for each, first, last in zip(changes, begun, until, strict=True)])
            begun = until
            if len(merged):
                merged.sort(kind="stable")  # runs of sorted numbers, which it merges
                steps.add(merged)
                advance(len(merged))
    return steps.curve(**facts)


def _sorted(times: tuple[Integers, Integers], path: Path, zero: int) -> Integers:
    """Twice the time from the run's start, one more for a beginning: sorted, mapped from a file."""
    changes = np.concatenate(times)
    changes -= zero
    changes <<= 1
    changes[: len(times[0])] |= 1
    changes.sort(kind="stable")
    np.save(path, changes, allow_pickle=False)
    mapped: Integers = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def _bounds(changes: Sequence[Integers], at_once: int) -> Iterator[int]:
    """Ends of stretches with about so many changes each, never between two of one time."""
    samples, weights = [], []
    for each in changes:
        if len(each):
            sample = each[:: -(-len(each) // _SAMPLES)]
            samples.append(sample)
            weights.append(np.full(len(sample), len(each) / len(sample)))
    if samples:
        times, weight = np.concatenate(samples), np.concatenate(weights)
        order = np.argsort(times, kind="stable")
        stretch = (np.cumsum(weight[order]) // at_once).astype(np.int64)
        last = np.flatnonzero(np.diff(stretch))
        yield from np.unique(times[order][last] & ~1).tolist()
    yield np.iinfo(np.int64).max


class _Steps:
    """Steps of a curve, which go to disk as they come."""

    def __init__(self, folder: Path, span_ns: tuple[int, int], time_unit: str) -> None:
        self._span, self._time_unit = span_ns, time_unit
        self._type = np.int64 if nanoseconds_per(time_unit) == 1 else np.float64
        self._paths = folder / "edges.bin", folder / "heights.bin"
        self._level = self._count = 0

    def __enter__(self) -> None:
        self._edges, self._heights = (path.open("wb") for path in self._paths)

    def __exit__(self, *_: object) -> None:
        if not self._count:
            self._write(np.zeros(1, np.int64), np.zeros(1))
        self._edges.write(self._times(np.array([self._span[1] - self._span[0]])).tobytes())
        self._edges.close()
        self._heights.close()

    def add(self, changes: Integers) -> None:
        """Take in changes that lie behind all before, sorted."""
        times = changes >> 1
        level = ((changes & 1).astype(np.int8) * 2 - 1).cumsum(dtype=np.int64)
        level += self._level
        kept = np.append(times[1:] != times[:-1], True)
        kept &= times < self._span[1] - self._span[0]
        times, after = times[kept], level[kept]
        begins = np.append(self._level, after[:-1]) != after
        self._level = int(level[-1])
        times, after = times[begins], after[begins]
        if not self._count and len(times) and times[0] > 0:  # the run may begin before anyone computes
            self._write(np.zeros(1, np.int64), np.zeros(1))
        self._write(times, after.astype(np.float64))

    def curve(self, **facts: Any) -> UtilizationCurve:
        """The curve of all steps, mapped from their files."""
        edges = np.memmap(self._paths[0], self._type, "r")
        heights = np.memmap(self._paths[1], np.float64, "r")
        return UtilizationCurve(edges, heights, self._time_unit, **facts)

    def _times(self, from_start: Integers) -> npt.NDArray[Any]:
        times = (from_start + self._span[0]).astype(self._type)
        return times if self._type is np.int64 else times / nanoseconds_per(self._time_unit)

    def _write(self, times: Integers, heights: npt.NDArray[np.float64]) -> None:
        self._edges.write(self._times(times).tobytes())
        self._heights.write(heights.tobytes())
        self._count += len(times)


class JoinedTrace(LazyTrace):
    """One run, whose intervals stay in the files of its ranks; see `perfcore.Trace` for what it offers.

    The curve is summed up, and `rank_traces` hands over the ranks, in the memory of one of them. The arrays
    ``location``, ``state``, ``start_ns`` and ``end_ns`` of the whole run are made, on disk, when they are asked for.
    """

    def __init__(
        self,
        parts: Sequence[StoredTrace],
        ranks: Sequence[int],
        shifts_ns: Sequence[int],
        folder: Path,
        *,
        source: str,
        notes: Sequence[str],
        facts: dict[str, Any],
    ) -> None:
        spans = [
            (part.span_ns[0] + shift, part.span_ns[1] + shift) for part, shift in zip(parts, shifts_ns, strict=True)
        ]
        super().__init__(
            [f"rank {rank} / {name}" for rank, part in zip(ranks, parts, strict=True) for name in part.locations],
            tuple(dict.fromkeys(state for part in parts for state in part.states)),
            busy_states=tuple(dict.fromkeys(state for part in parts for state in part.busy_states)),
            span_ns=(min(first for first, _ in spans), max(last for _, last in spans)),
            time_unit=parts[0].time_unit,
            source=source,
            notes=notes,
            markers=[
                (name, start + shift, end + shift)
                for part, shift in zip(parts, shifts_ns, strict=True)
                for name, start, end in part.markers
            ],
            levels=levels_of_ranks(parts, ranks),
            facts=facts,
        )
        self._parts, self._shifts, self._folder = tuple(parts), tuple(shifts_ns), folder
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.ranks = tuple(ranks)
        self._state_codes = {state: code for code, state in enumerate(self.states)}

    @property
    def n_intervals(self) -> int:
        """Number of state intervals of all ranks."""
        return sum(part.n_intervals for part in self._parts)

    def rank_traces(self) -> Iterator[Trace]:
        """The ranks one after the other: each with its locations, on the clock and with the states of the run.

        A rank that has no intervals has one of no duration.
        """
        first = 0
        for part, shift in zip(self._parts, self._shifts, strict=True):
            last = first + len(part.locations)
            yield Trace(
                *(self._columns_of(part, shift) if part.n_intervals else no_interval(self.span_ns[0])),
                self.locations[first:last],
                self.states,
                time_unit=self.time_unit,
                busy_states=self.busy_states,
                span_ns=self.span_ns,
                source=part.source,
                markers=[(name, start + shift, end + shift) for name, start, end in part.markers],
                levels={level: names[first:last] for level, names in self.levels.items()},
                facts=part.facts,
            )
            first = last

    def merged(
        self,
        place: npt.NDArray[np.int64],
        locations: Sequence[str],
        order: npt.NDArray[np.int64],
        levels: dict[str, Sequence[str]],
    ) -> JoinedTrace:
        """The same run with several of its locations as one each, of which each is of one rank."""
        folder = Path(tempfile.mkdtemp(prefix="perfcore-ranks-"))
        parts, begin = [], 0
        for number, (part, shift) in enumerate(zip(self._parts, self._shifts, strict=True)):
            end = begin + len(part.locations)
            targets = np.unique(place[begin:end])
            columns = merged_states(
                *self._columns_of(part, shift), place=place[begin:end] - targets[0], rank=order
            )  # fmt: skip
            begin = end
            stored = replace(
                part,
                path=folder / str(number),
                n_intervals=len(columns[0]),
                locations=tuple(locations[which] for which in targets.tolist()),
                states=self.states,
                busy_states=self.busy_states,
                span_ns=(part.span_ns[0] + shift, part.span_ns[1] + shift),
                levels={},
                markers=(),
            )
            stored.put(dict(zip(COLUMNS, columns, strict=True)))
            parts.append(stored)
        trace = JoinedTrace(
            parts, self.ranks, [0] * len(parts), folder, source=self.source, notes=self.notes, facts=self.facts
        )
        trace.locations, trace.markers, trace.levels = tuple(locations), self.markers, dict(levels)
        return trace

    def cut(
        self, first: int, stop: int, locations: Sequence[int], states: Sequence[int], **facts: Any
    ) -> JoinedTrace | None:
        """What of it is within a part of the run, rank by rank; None where nothing is.

        Parameters
        ----------
        first, stop : int, nanoseconds
            Intervals that begin before ``stop`` and end after ``first`` are of the part.
        locations, states : sequence of int
            Those that are kept, of the run.
        **facts
            What a `perfcore.Trace` is made with beside its columns and names; intervals are cut to ``span_ns``.
        """
        folder = Path(tempfile.mkdtemp(prefix="perfcore-ranks-"))
        last = facts["span_ns"][1]
        of_location, of_state = _positions(locations, len(self.locations)), _positions(states, len(self.states))
        parts, ranks, begin = [], [], 0
        for rank, part, shift in zip(self.ranks, self._parts, self._shifts, strict=True):
            end = begin + len(part.locations)
            kept = [k for k in range(begin, end) if of_location[k] >= 0]
            new_location = _positions([k - begin for k in kept], end - begin)
            begin = end
            if not kept:
                continue
            old_location, old_state, starts, ends = self._columns_of(part, shift)
            location, state = new_location[old_location], of_state[old_state]
            inside = (starts < stop) & ((ends > first) | (starts >= first)) & (location >= 0) & (state >= 0)
            stored = replace(
                part,
                path=folder / str(rank),
                n_intervals=int(inside.sum()),
                locations=tuple(part.locations[k - end] for k in kept),
                states=tuple(self.states[k] for k in states),
                busy_states=tuple(facts["busy_states"]),
                span_ns=facts["span_ns"],
                levels={},
                markers=(),
            )
            columns = (
                location[inside],
                state[inside],
                np.maximum(starts[inside], first),
                np.minimum(ends[inside], last),
            )
            stored.put(dict(zip(COLUMNS, columns, strict=True)))
            parts.append(stored)
            ranks.append(rank)
        trace = JoinedTrace(
            parts, ranks, [0] * len(parts), folder, source=facts["source"], notes=facts["notes"], facts=facts["facts"]
        )
        trace.markers, trace.levels = tuple(facts["markers"]), dict(facts["levels"])
        return trace if trace.n_intervals else None

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        """How many locations compute at each time; see `perfcore.Trace.utilization`."""
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        facts: dict[str, Any] = {"n_locations": len(self.locations), "source": self.source}
        times = (self._busy_times(part, shift, mask) for part, shift in zip(self._parts, self._shifts, strict=True))
        if self.n_intervals > FEW_INTERVALS:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            return summed_curve(times, folder, self.span_ns, self.time_unit, **facts)
        starts, ends = zip(*times, strict=True)
        return curve_from_intervals(np.concatenate([*starts, *ends]), self.span_ns, self.time_unit, **facts)

    def _columns_of(self, part: StoredTrace, shift: int) -> Columns:
        """Location among those of the rank, state of the run, start and end on the clock of the run."""
        return (
            part.column("location"),
            self._states_of(part)[part.column("state")],
            part.column("start_ns") + shift,
            part.column("end_ns") + shift,
        )

    def _states_of(self, part: StoredTrace) -> npt.NDArray[np.int32]:
        """The run's code of each state of a rank."""
        return np.array([self._state_codes[state] for state in part.states], np.int32)

    def _busy_times(
        self, part: StoredTrace, shift: int, mask: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        chosen = mask[self._states_of(part)][part.column("state")]
        return part.column("start_ns")[chosen] + shift, part.column("end_ns")[chosen] + shift

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Columns of the whole run, mapped from files that are written rank by rank."""
        arrays = {}
        with progress.bar(f"joining {self.source}", len(self._parts) * len(COLUMNS)) as advance:
            for name, dtype in COLUMNS.items():
                path = self._folder / f"{name}.npy"
                column = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(self.n_intervals,))
                first_row = first_location = 0
                for part, shift in zip(self._parts, self._shifts, strict=True):
                    values = part.column(name)
                    rows = slice(first_row, first_row + len(values))
                    if name == "state":
                        column[rows] = self._states_of(part)[values]
                    else:
                        np.add(values, first_location if name == "location" else shift, out=column[rows])
                    first_row, first_location = rows.stop, first_location + len(part.locations)
                    advance(1)
                del column
                arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
        return arrays


def _positions(kept: Sequence[int], count: int) -> npt.NDArray[np.int32]:
    """For each of ``count`` codes its position among those kept, -1 for the others."""
    places = np.full(count, -1, np.int32)
    places[list(kept)] = np.arange(len(kept))
    return places


def levels_of_ranks(parts: Sequence[StoredTrace], ranks: Sequence[int]) -> dict[str, Sequence[str]]:
    """Coarser places of the locations of all ranks: a rank is a process, and what is below it is its own."""
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
