"""Sums over files of a run: whole numbers that add up to the same bytes, however the files are divided.

Time buckets are 2^bits nanoseconds wide and begin at multiples of that. Any two sums become comparable by joining pairs
of neighbours, so that parts of a run need not agree beforehand on where it begins and ends, nor on how fine they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_traces.nesting import Columns
from perf_traces.ranks import YEAR_2000_NS, is_near_0
from perf_traces.scratch_arrays import chunks, zeros
from perf_traces.summaries.run import Run
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.base.kernels import kernel
from perfcore.data.trace import Trace

Array = npt.NDArray[Any]
Marker = tuple[int, int, str, int]

MOST_MARKERS = 1 << 12
_MOST_WINDOWS, _MOST_WINDOW_CELLS = 1 << 10, 1 << 22
_MOST_STATES_AT_LOCATIONS = 1 << 26  # of 16 bytes, of one file
LARGEST = 1 << 62  # nanoseconds of all locations together; also of times, so that shifted ones stay within 64 bits
_ROOM = 8  # the share of the buckets that is added where a run grows
_BEFORE = np.iinfo(np.int64).min


def n_buckets(span_ns: tuple[int, int], bits: int) -> int:
    """How many buckets of 2^bits nanoseconds a span touches."""
    return (max(span_ns[1] - 1, span_ns[0]) >> bits) - (span_ns[0] >> bits) + 1


def bucket_bits(span_ns: tuple[int, int], most: int) -> int:
    """The least bits with which a span touches at most so many buckets."""
    bits = max(0, ((span_ns[1] - span_ns[0]) // most).bit_length() - 1)
    while n_buckets(span_ns, bits) > most:
        bits += 1
    return bits


def bits_of_windows(span_ns: tuple[int, int], cell_bits: int, n_states: int) -> int:
    """Bits of windows, which are made of whole cells: fewer windows of so many states that they would fill memory."""
    return max(cell_bits, bucket_bits(span_ns, max(1, min(_MOST_WINDOWS, _MOST_WINDOW_CELLS // max(1, n_states)))))


@kernel(small=20_000)
def in_order(location: Array, start: Array, end: Array, last_end: Array) -> bool:  # pragma: no cover
    """Whether the intervals of each location follow one another; ``last_end`` (n_locations,) is overwritten."""
    for row in range(len(location)):
        if end[row] > start[row]:
            if start[row] < last_end[location[row]]:
                return False
            last_end[location[row]] = end[row]
    return True


@kernel(small=20_000)
def add_intervals(
    columns: tuple[Array, Array, Array, Array],
    shift: int,
    code: Array,
    busy: Array,
    cell_bits: int,
    first_cell: int,
    cells: Array,
    full_cells: Array,
    window_bits: int,
    first_window: int,
    windows: Array,
    full_windows: Array,
    times: Array,
    entries: Array,
    last_end: Array,
    last_code: Array,
) -> None:  # pragma: no cover
    """Add intervals to all sums."""
    location, state, start, end = columns
    for row in range(len(location)):
        place, local_state = location[row], state[row]
        first, last = start[row], end[row]
        run_state = code[local_state]
        times[place, local_state] += last - first
        if not (last_end[place] == first and last_code[place] == run_state):
            entries[place, local_state] += 1
        if last == first:
            continue
        last_end[place], last_code[place] = last, run_state
        first += shift
        last += shift
        begin, stop = first >> window_bits, (last - 1) >> window_bits
        if begin == stop:
            windows[begin - first_window, run_state] += last - first
        else:
            windows[begin - first_window, run_state] += ((begin + 1) << window_bits) - first
            windows[stop - first_window, run_state] += last - (stop << window_bits)
            full_windows[begin + 1 - first_window, run_state] += 1
            full_windows[stop - first_window, run_state] -= 1
        if not busy[run_state]:
            continue
        begin, stop = first >> cell_bits, (last - 1) >> cell_bits
        if begin == stop:
            cells[begin - first_cell] += last - first
        else:
            cells[begin - first_cell] += ((begin + 1) << cell_bits) - first
            cells[stop - first_cell] += last - (stop << cell_bits)
            full_cells[begin + 1 - first_cell] += 1
            full_cells[stop - first_cell] -= 1


class FileFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of one file other than its intervals."""

    at: Annotated[int, msgspec.Meta(ge=0)]  # its position among the files of the run
    time_unit: str
    span_ns: tuple[int, int]  # on the clock of the file
    shift_ns: int  # added to its times, they are times on the clock of the summary
    n_intervals: Annotated[int, msgspec.Meta(ge=0)]
    n_markers: Annotated[int, msgspec.Meta(ge=0)]
    locations: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]
    facts: dict[str, int | float | str | bool]
    notes: tuple[str, ...]

    @property
    def shifted_ns(self) -> tuple[int, int]:
        """The span on the clock of the summary."""
        return self.span_ns[0] + self.shift_ns, self.span_ns[1] + self.shift_ns


@dataclass(frozen=True)
class Summary:
    """Sums over some files of a run, all of them whole nanoseconds.

    It depends on the files alone: not on how they were divided, nor in which order parts were joined.
    """

    run: Run
    files: tuple[FileFacts, ...]  # of those that are in it, in their order
    left_out: dict[int, str]  # why files, by their position, are left out
    states: tuple[str, ...]  # sorted
    busy: tuple[bool, ...]  # which of them compute
    markers: tuple[Marker, ...]  # start, end, name and position of the file: the first ones in this order
    cell_bits: int  # time that all locations compute in each cell of 2^bits nanoseconds
    first_cell: int
    cells: Ints
    window_bits: int  # time of each state in stretches of as many cells each
    first_window: int
    windows: Ints
    places: Ints  # file, its location, and state of each pair of location and state that occurs, sorted
    times: Ints
    entries: Ints

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the first beginning to the last end, on the clock of the summary."""
        return hull(file.shifted_ns for file in self.files)

    @property
    def n_intervals(self) -> int:
        return sum(file.n_intervals for file in self.files)

    @property
    def positions(self) -> frozenset[int]:
        """Positions of the files that are in it, or left out on purpose."""
        return frozenset([*(file.at for file in self.files), *self.left_out])

    def missing(self) -> list[int]:
        """Positions of the files of the run that are neither."""
        return sorted(set(range(len(self.run.files))) - self.positions)


class Gathered:
    """Sums that traces and summaries are added to, in any order."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.left_out: dict[int, str] = {}
        self._files: list[FileFacts] = []
        self._states: dict[str, int] = {}  # in the order in which they came
        self._busy: list[bool] = []
        self._markers: list[Marker] = []
        self._span: tuple[int, int] | None = None
        self._cells, self._windows = _BucketSums(()), _BucketSums((0,))
        self._places: list[tuple[Ints, Ints, Ints]] = []
        self._total = 0
        self._is_whole = True  # False while something is being added

    @property
    def positions(self) -> frozenset[int]:
        return frozenset(file.at for file in self._files)

    def add_trace(self, position: int, trace: Trace, columns: Columns) -> None:
        """Add the trace of the file at a position, whose columns are those of `ordered_columns`."""
        n_states, n_locations = len(trace.states), len(trace.locations)
        if n_states * n_locations > _MOST_STATES_AT_LOCATIONS:
            raise DataError(f"{trace.source}: {n_states:,} states of {n_locations:,} locations are too many")
        span = hull([trace.span_ns, (int(columns[2].min()), int(columns[3].max()))])
        shift = _shift(self.run, trace, span)
        levels = {level: tuple(names) for level, names in trace.levels.items()}
        facts = {name: value for name, value in trace.facts.items() if _is_plain(value)}
        file = FileFacts(
            position, trace.time_unit, span, shift, trace.n_intervals, len(trace.markers), tuple(trace.locations),
            levels, facts, tuple(trace.notes),
        )  # fmt: skip
        busy = frozenset(trace.busy_states)
        self._grow([file], [(state, state in busy) for state in trace.states], trace.source)
        code = np.array([self._states[state] for state in trace.states])
        times, entries = np.zeros((2, n_locations, n_states), np.int64)
        last = np.full(n_locations, _BEFORE), np.full(n_locations, -1, np.int64)
        sums = *self._cells.arguments, *self._windows.arguments
        add_intervals(columns, shift, code, np.array(self._busy), *sums, times, entries, *last)
        location, state = np.nonzero(entries)
        places = np.column_stack([np.full(len(state), position), location, code[state]])
        self._places.append((places, times[location, state], entries[location, state]))
        self._add_markers((int(start) + shift, int(end) + shift, name, position) for name, start, end in trace.markers)

    def add(self, other: Summary) -> None:
        self._grow(other.files, list(zip(other.states, other.busy, strict=True)), "parts of the run")
        self.left_out |= other.left_out
        code = np.array([self._states[state] for state in other.states], np.int64)
        self._cells.add(other.cell_bits, other.first_cell, other.cells)
        self._windows.add(other.window_bits, other.first_window, other.windows, code)
        places = other.places.copy()
        places[:, 2] = code[places[:, 2]]
        self._places.append((places, other.times, other.entries))
        self._add_markers(other.markers)

    def summary(self) -> Summary:
        """The sum; raises `DataError` where nothing was added, or an interruption left something added in part."""
        if self._span is None:
            raise DataError("; ".join([*self.left_out.values()][:1]) or "there is nothing to be summarized")
        if not self._is_whole:
            raise DataError("a file is summed up in part only")
        order = sorted(self._states)
        codes = [self._states[state] for state in order]
        places, times, entries = (np.concatenate(each) for each in zip(*self._places, strict=True))
        places[:, 2] = np.argsort(codes)[places[:, 2]]
        rows = np.lexsort(places.T[::-1])
        places, times, entries = places[rows], times[rows], entries[rows]
        begins = np.flatnonzero(np.append(True, (places[1:] != places[:-1]).any(axis=1))[: len(places)])
        cell_bits, window_bits = self._bits()
        return Summary(
            self.run, tuple(sorted(self._files, key=lambda file: file.at)), dict(sorted(self.left_out.items())),
            tuple(order), tuple(self._busy[code] for code in codes), tuple(self._markers),
            cell_bits, self._span[0] >> cell_bits, self._cells.finished(),
            window_bits, self._span[0] >> window_bits, self._windows.finished()[:, codes],
            places[begins], np.add.reduceat(times, begins), np.add.reduceat(entries, begins),
        )  # fmt: skip

    def _grow(self, files: Iterable[FileFacts], states: list[tuple[str, bool]], source: str) -> None:
        files = list(files)
        span = hull([*([] if self._span is None else [self._span]), *(file.shifted_ns for file in files)])
        total = self._total + sum((file.span_ns[1] - file.span_ns[0]) * len(file.locations) for file in files)
        if max(total, *map(abs, span)) >= LARGEST:
            raise DataError(f"{source}: its times do not fit into 64 bits of nanoseconds")
        torn = [state for state, does in states if state in self._states and self._busy[self._states[state]] != does]
        if torn:
            raise DataError(
                f"{source}: {listing(map(repr, torn), 3)} computes in some files of the run and not in others; one "
                "table of classes (PERF_STATES) for all of them decides"
            )
        self._is_whole = False
        for state, does in states:
            if self._states.setdefault(state, len(self._states)) == len(self._busy):
                self._busy.append(does)
        self._total, self._span = total, span
        self._files += files
        cell_bits, window_bits = self._bits()
        self._cells.grow(span, cell_bits)
        self._windows.grow(span, window_bits, len(self._states))

    def _bits(self) -> tuple[int, int]:
        assert self._span is not None
        cell_bits = bucket_bits(self._span, self.run.cells)
        return cell_bits, bits_of_windows(self._span, cell_bits, len(self._states))

    def _add_markers(self, markers: Iterable[Marker]) -> None:
        """The last step of adding a file or a summary."""
        self._markers = sorted([*self._markers, *markers])[:MOST_MARKERS]
        self._is_whole = True


class _BucketSums:
    """Time of buckets, with what fills them whole still to be added; a second axis are states."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._bits = self._first = 0
        self._covered = 0, 0  # the span: first bucket, and how many
        self._sums = np.zeros((0, *shape), np.int64)
        self._full: Ints | None = None

    @property
    def arguments(self) -> tuple[int, int, Ints, Ints]:
        """Bits, first bucket, sums, and changes of how many fill a bucket; kernels add to them."""
        if self._full is None:
            self._full = zeros((len(self._sums) + 1, *self._sums.shape[1:]), np.int64)
        return self._bits, self._first, self._sums, self._full

    def grow(self, span: tuple[int, int], bits: int, n_states: int | None = None) -> None:
        """Cover a span that holds the one before, by buckets that are as wide or wider."""
        begin, count = span[0] >> bits, n_buckets(span, bits)
        shape = self._sums.shape[1:] if n_states is None else (n_states,)
        first, last = self._first, self._first + len(self._sums)
        if (bits, shape) != (self._bits, self._sums.shape[1:]) or begin < first or begin + count > last:
            earlier, before = self.finished(), (self._bits, self._covered[0])
            # Files that each reach a little further than those before find room.
            room = count // _ROOM if len(earlier) and bits == self._bits else 0
            low = begin - room * (begin < first)
            high = begin + count + room * (begin + count > last)
            self._bits, self._first, self._sums = bits, low, zeros((high - low, *shape), np.int64)
            self.add(*before, earlier, None if n_states is None else np.arange(earlier.shape[1]))
        self._covered = begin, count

    def add(self, bits: int, first: int, sums: Ints, columns: Ints | None = None) -> None:
        """Add sums of buckets as wide or finer, within the span; ``columns`` are the places of their states."""
        for rows in chunks(len(sums)):
            part, start = sums[rows], first + rows.start
            for _ in range(self._bits - bits):
                before, after = start & 1, (start + len(part)) & 1
                if before or after:
                    part = np.concatenate([np.zeros_like(part[:before]), part, np.zeros_like(part[:after])])
                part = part[0::2] + part[1::2]
                start >>= 1
            into = slice(start - self._first, start - self._first + len(part))
            self._sums[into if columns is None else (into, columns)] += part

    def finished(self) -> Ints:
        """The sums of the span, to which buckets that were filled whole are added first."""
        if self._full is not None:
            level = np.zeros(self._sums.shape[1:], np.int64)
            for part in chunks(len(self._sums)):
                levels = np.cumsum(self._full[part], axis=0) + level
                self._sums[part] += levels << self._bits
                level = levels[-1]
            self._full = None
        begin = self._covered[0] - self._first
        return self._sums[begin : begin + self._covered[1]]


def ordered_columns(trace: Trace) -> Columns:
    """Location, state, start and end in the order of time for each location."""
    location, state, start, end = trace.location, trace.state, trace.start_ns, trace.end_ns
    if in_order(location, start, end, np.full(len(trace.locations), _BEFORE)):
        return location, state, start, end
    order = np.lexsort((end > start, start, location))
    return location[order], state[order], start[order], end[order]


def _shift(run: Run, trace: Trace, span: tuple[int, int]) -> int:
    """What makes times of a file times of the run."""
    if len(run.files) == 1:
        return 0
    if run.clocks == "unaligned":
        return -span[0]
    epoch = int(trace.facts.get("epoch_ns", 0))
    begin, end = (epoch + time for time in span)
    if run.clocks == "auto" and begin < YEAR_2000_NS and not is_near_0(begin, end):
        raise OptionError(
            f"{trace.source}: its times are no times since 1970, so that nothing says that the files share a clock; "
            "-r clocks=recorded takes them as they are written, -r clocks=unaligned counts each from its first event"
        )
    return epoch


def _is_plain(value: object) -> bool:
    """Whether JSON gives it back as it is."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) < LARGEST)


def hull(spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """From the first beginning to the last end."""
    firsts, lasts = zip(*spans, strict=True)
    return int(min(firsts)), int(max(lasts))
