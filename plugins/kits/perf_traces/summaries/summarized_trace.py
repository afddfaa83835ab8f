"""A summary as the trace that it is of, as far as it can be."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from perf_traces.joined_trace import LazyTrace, StoredTrace, levels_of_ranks, run_of
from perf_traces.nesting import NESTED, mark_nested
from perf_traces.options import RANK
from perf_traces.ranks import ASSUMED, check_job, is_synchronised, no_common_clock, notes_of_ranks, numbered
from perf_traces.scratch_arrays import chunks, zeros
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.sums import FileFacts, Summary
from perfcore.base import pd
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import busy_mask
from perfcore.data.units import nanoseconds_per, readable

_MOST_LEFT_OUT = 3


class SummarizedTrace(LazyTrace):
    """A run of which the time of cells, windows and states is known, and no interval; see `perfcore.Trace`."""

    _chosen: Ints | None = None  # those of the locations of a run that it has; all by default

    def __init__(self, summary: Summary, source: str) -> None:
        facts, self.summary = summary.facts, summary
        parts = [_stored(facts.run, file) for file in facts.files]
        several = len(facts.run.files) > 1
        ranked = _ranked(facts.run, parts, source) if several else [(0, parts[0])]
        ranks, traces = [rank for rank, _ in ranked], [part for _, part in ranked]
        place = {part.path: position for position, part in enumerate(parts)}
        self._order = [place[part.path] for part in traces]  # positions in facts.files
        self._zero = facts.span_ns[0] if several else 0
        locations, levels, own_facts, notes = traces[0].locations, traces[0].levels, traces[0].facts, traces[0].notes
        if several:
            locations = tuple(
                f"rank {rank} / {name}" for rank, part in zip(ranks, traces, strict=True) for name in part.locations
            )
            unaligned = facts.run.clocks == "unaligned"
            clocks = "not aligned, each rank counts from its own first event" if unaligned else "as recorded"
            size = own_facts.get("world_size")
            own_facts = {"clocks": "unaligned" if unaligned else "recorded"}
            own_facts |= {} if size is None else {"world_size": size}
            missing = check_job(ranked, source, "")
            missing = [] if facts.missing() else missing  # reported already
            assumed = [ASSUMED] if facts.run.clocks == "auto" and is_synchronised(traces) else []
            notes = (*missing, f"clocks: {clocks}", *assumed, *notes_of_ranks(ranks, traces))
        super().__init__(
            locations, facts.states, time_unit=traces[0].time_unit, source=source, facts=own_facts,
            busy_states=[name for name, busy in zip(facts.states, facts.busy, strict=True) if busy],
            span_ns=(facts.span_ns[0] - self._zero, facts.span_ns[1] - self._zero), notes=(*_notes(summary), *notes),
            markers=[(name, start - self._zero, end - self._zero) for start, end, name, _ in facts.markers],
            levels=levels_of_ranks(traces, ranks) if several else levels,
        )  # fmt: skip
        if any(part.facts.get(NESTED) for part in traces):  # times of the innermost ones are kept
            mark_nested(self)

    def __repr__(self) -> str:
        return f"Summarized{super().__repr__()}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each location in each state: time, and how often the state began."""
        times, entries = self.times_and_entries()
        location, state = times.nonzero()
        columns = {"time_ns": times[location, state], "entries": entries[location, state]}
        return self.frame_of(location, state, columns)

    def state_times(self) -> Ints:
        return np.asarray(self.times_and_entries()[0].sum(axis=0))

    @property
    def n_intervals(self) -> int:
        return sum(file.n_intervals for file in self.summary.facts.files)

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        """Return how many locations compute: means of cells, or of other states than `busy_states` of windows."""
        facts = self.summary.facts
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        if self._chosen is not None:
            edges, times = self.windows()
            means = times[:, mask].sum(axis=1) / np.diff(edges)
            return UtilizationCurve(edges / nanoseconds_per(self.time_unit), means, self.time_unit,
                                    n_locations=len(self.locations), source=self.source)  # fmt: skip
        if (mask == np.array(facts.busy)).all():
            return self._curve_of_cells
        return self._curve(self.summary.windows[:, mask].sum(axis=1), facts.bits[1])

    @functools.cached_property
    def _curve_of_cells(self) -> UtilizationCurve:
        return self._curve(self.summary.cells, self.summary.facts.bits[0])

    def _curve(self, sums: Ints, bits: int) -> UtilizationCurve:
        """Return means of stretches, part by part, with neighbours of one height joined."""
        _, end = run_of(self)
        factor = nanoseconds_per(self.time_unit)
        edges = zeros((len(sums) + 1,), np.int64 if factor == 1 else np.float64)
        heights = zeros((len(sums),))
        count, before = 0, np.nan
        for rows in chunks(len(sums)):
            part = sums[rows]
            borders = self._edges(rows.start, len(part), bits)
            means = part / np.diff(borders)
            begins = np.append(before, means[:-1]) != means
            stop = count + int(np.count_nonzero(begins))
            edges[count:stop] = borders[:-1][begins] if factor == 1 else borders[:-1][begins] / factor
            heights[count:stop] = means[begins]
            count, before = stop, means[-1]
        edges[count] = end if factor == 1 else end / factor
        facts: dict[str, Any] = {"n_locations": len(self.locations), "source": self.source}
        notes = (f"means of {readable(1 << bits, 'ns')} each",)
        curve = UtilizationCurve(edges[: count + 1], heights[:count], self.time_unit, notes=notes, **facts)
        return curve if curve.n_steps == count else curve.merged()  # some were shorter than its times can tell

    def windows(self) -> tuple[Ints, Ints]:
        """Return edges of windows (n_windows + 1,), and nanoseconds in each state (n_windows, n_states)."""
        windows = self.summary.windows
        if self._chosen is not None:
            return np.array(run_of(self)), self.state_times()[None]
        return self._edges(0, len(windows), self.summary.facts.bits[1]), windows

    def _edges(self, number: int, count: int, bits: int) -> Ints:
        """Return where stretches from a number on begin and end, the outer ones as far as they are within the run."""
        first = (self.summary.facts.span_ns[0] >> bits) + number
        return np.asarray(np.clip((np.arange(first, first + count + 1) << bits) - self._zero, *self.span_ns))

    def times_and_entries(self) -> tuple[Ints, Ints]:
        """Return nanoseconds of each location in each state, and how often that began (n_locations, n_states)."""
        summary = self.summary
        files = summary.facts.files
        first = np.zeros(len(summary.facts.run.files), np.int64)
        count = 0
        for position in self._order:
            first[files[position].at] = count
            count += len(files[position].locations)
        times, entries = np.zeros((2, count, len(self.states)), np.int64)
        where = first[summary.places[:, 0]] + summary.places[:, 1], summary.places[:, 2]
        times[where], entries[where] = summary.times, summary.entries
        return (times, entries) if self._chosen is None else (times[self._chosen], entries[self._chosen])

    def at(self, chosen: Ints) -> SummarizedTrace:
        """Return some of the locations; of these no more than the sums over the run are known."""
        part = copy.copy(self)
        part._chosen, part.facts = chosen, dict(self.facts)
        part.locations = tuple(self.locations[place] for place in chosen.tolist())
        part.levels = {name: [values[place] for place in chosen.tolist()] for name, values in self.levels.items()}
        return part

    def located(self, level: str) -> SummarizedTrace:
        """Itself: locations are merged before they are summed up."""
        if level != "auto":
            raise DataError(
                f"{self.source}: the locations of a summary are those that it was made with; -r locations={level} "
                "belongs to perf summarize"
            )
        return self

    @property
    def _arrays(self) -> NoReturn:
        raise DataError(
            f"{self.source}: a summary holds no intervals; anything but time by location, state and window "
            "needs the traces themselves"
        )


def _stored(run: Run, file: FileFacts) -> StoredTrace:
    """Return what the functions that number and name ranks ask of a trace."""
    listed = run.files[file.at]
    facts = file.facts if listed.host is None else {"host": listed.host, **file.facts}
    return StoredTrace(
        listed.name, file.n_intervals, file.locations, (), (), file.span_ns, file.time_unit, listed.name,
        file.notes, (), file.levels, facts,
    )  # fmt: skip


def _ranked(run: Run, parts: Sequence[StoredTrace], source: str) -> list[tuple[int, StoredTrace]]:
    names = {file.name: file for file in run.files}
    listed: list[ListedFile] = [names[part.path] for part in parts]
    by_pattern = all(file.rank is not None for file in listed)
    fields = [{RANK: file.rank} if by_pattern else {} for file in listed]
    ranked, _ = numbered(
        parts, [Path(part.path) for part in parts], fields, [file.named for file in listed], source, ""
    )
    if len(ranked) < len(parts):
        ranked_paths = {part.path for _, part in ranked}
        unknown = listing([part.path for part in parts if part.path not in ranked_paths], 3)
        raise DataError(f"{source}: the rank of {unknown} is not recorded; leave it out, or name ranks by --from-name")
    members = [part for _, part in ranked]
    problem = no_common_clock(members, [rank for rank, _ in ranked])
    if run.clocks == "auto" and problem and not is_synchronised(members):
        raise DataError(
            f"{source}: {problem}, so that nothing says that its files share a clock; -r clocks=recorded takes the "
            "times as they are written, -r clocks=unaligned counts each rank from its own first event"
        )
    return ranked


def _notes(summary: Summary) -> list[str]:
    facts, run = summary.facts, summary.facts.run
    count, every = len(facts.files), len(run.files)
    files = f"{count if count == every else f'{count} of {every}'} file{'s' if every > 1 else ''}"
    cell, window = (readable(1 << bits, "ns") for bits in facts.bits)
    sums = f"{len(summary.cells):,} cells of {cell}, {len(summary.windows):,} windows of {window}"
    notes = [f"a summary of {files}: {sums}"]
    if facts.left_out:
        notes.append(f"left out, as they could not be read: {listing(facts.left_out.values(), _MOST_LEFT_OUT)}")
    if missing := facts.missing():
        notes.append(f"missing: {listing([run.files[position].name for position in missing], _MOST_LEFT_OUT)}")
    markers = sum(file.n_markers for file in facts.files)
    if markers > len(facts.markers):
        notes.append(f"of {markers:,} markers the first {len(facts.markers):,}")
    return notes
