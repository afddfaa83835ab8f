"""The iterations of a run: how many, how long, how much they vary, which one differs and why."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from msgspec.structs import replace

from perf_traces.windows import CUT, families, merged_spans, occurrences
from perf_views.names import existing_file, plain_name
from perf_worley.activity import Activity, activities, clipped_sums, joined, summed
from perf_worley.alignment import align, candidates, signal_of
from perf_worley.phase_maker import Found, PhaseMaker, with_errors
from perf_worley.phase_model import Phase, Repetition
from perfcore.base import grouped
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError
from perfcore.contracts import Segmentation
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import NANOSECONDS, nanoseconds_per, readable, shown_origin
from perfcore.report import Axis, Figure, Line, Mark, Note, Plot, Points, Report, Result, Rule, Steps, Text
from perfcore.stochastic import default_name, representation_named
from perfcore.tables import Column, Importance, Table

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue


_FEWEST = 3
_GAP = 1.5  # of the median distance between two starts: beyond it, no iteration lasts until the next one
_FIGURES = ("source", "time_unit", "count", "period", "spread", "explained", "marker")
_PROFILE = 64  # parts of the mean iteration
_UNUSUAL_SPREADS, _LEAST_UNUSUAL = 5.0, 0.03  # robust spreads, and share of the median, that an iteration must differ
_REASON = 0.3  # of the difference in processor time that a state must account for
# Of a curve they do not depend on the options, with which a page fits it again and again.
_known: weakref.WeakKeyDictionary[UtilizationCurve, Repetition | None] = weakref.WeakKeyDictionary()
OUTSIDE = "outside"  # what a phase between markers is called
_OBJECTIVE = "as marked"

_FEW_ROWS, _MOST_ROWS = 12, 40
_LEAST_SHARE = 0.01


def named_iterations(trace: Trace, marker: str) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return labels, starts and ends of the iterations that a marker names: from where it begins to where it ends."""
    marks = occurrences(trace, marker)
    starts, ends = marks.starts, marks.ends.copy()
    ends[:-1] = np.minimum(ends[:-1], starts[1:])  # of several ranks: until the first one begins the next
    kept = np.flatnonzero((ends > starts) & ~marks.cut)
    if not len(kept):
        raise DataError(f"{trace.source}: no {marker!r} lies within it as a whole")
    return tuple(marks.labels[index] for index in kept.tolist()), starts[kept], ends[kept]


def marked_iterations(trace: Trace) -> tuple[str, Ints, Ints] | None:
    """Return the name, starts and ends of the iterations that markers or states count; None where none count.

    An iteration begins when its name first occurs anywhere, and lasts until the next one begins; one before a gap until
    its own name ends. The last one lasts beyond that as others usually do, where this is the smaller part.
    """
    cut = frozenset(trace.facts.get(CUT, ()))
    markers = [marker for index, marker in enumerate(trace.markers) if index not in cut]
    names = [*trace.states, *sorted({name for name, _, _ in markers} - set(trace.states))]
    counted = {name: members for name, members in families(names).items() if len(members) >= _FEWEST}
    first = np.full(len(names), np.iinfo(np.int64).max)
    last = np.full(len(names), np.iinfo(np.int64).min)
    if counted:
        np.minimum.at(first, trace.state, trace.start_ns)
        np.maximum.at(last, trace.state, trace.end_ns)
    code_of = {name: code for code, name in enumerate(names)}
    for name, start, end in markers:
        code = code_of[name]
        first[code], last[code] = min(first[code], start), max(last[code], end)
    spans: list[tuple[str, Ints, Ints]] = []
    for name, members in counted.items():
        codes = np.array([code_of[members[number]] for number in sorted(members)])
        codes = codes[last[codes] > first[codes]]
        spans.append((name, first[codes], last[codes]))
    return _longest(spans, 0) or _longest(_equally_often(markers), (trace.span_ns[1] - trace.span_ns[0]) / 2)


def _longest(spans: Sequence[tuple[str, Ints, Ints]], least: float) -> tuple[str, Ints, Ints] | None:
    """Return name, starts and ends of the spans that follow one another and cover most, at least this, or None."""
    best: tuple[int, str, Ints, Ints] | None = None
    for name, starts, own_ends in spans:
        if len(starts) < _FEWEST or (np.diff(starts) <= 0).any() or (own_ends[:-1] > starts[1:]).any():
            continue  # numbers that do not count in time: threads, sizes, versions
        follows = np.diff(starts) <= _GAP * float(np.median(np.diff(starts)))
        ends = np.where(follows, starts[1:], own_ends[:-1])
        gap = int(np.median((starts[1:] - own_ends[:-1])[follows]))
        ends = np.append(ends, own_ends[-1] + (gap if gap < own_ends[-1] - starts[-1] else 0))
        covered = int((own_ends - starts if least else ends - starts).sum())
        if covered >= least and (best is None or covered > best[0]):
            best = covered, name, starts, ends
    return None if best is None else best[1:]


def _equally_often(markers: Sequence[tuple[str, int, int]]) -> list[tuple[str, Ints, Ints]]:
    """Return spans of all markers that occur equally often, from the first to the last that follow in turn."""
    times = grouped((name, (start, end, False)) for name, start, end in markers)
    every_span = ((np.array(merged_spans(of_name))[:, :2], name) for name, of_name in times.items())
    groups = grouped((len(merged), (merged, name)) for merged, name in every_span if len(merged) >= _FEWEST)
    found: list[tuple[str, Ints, Ints]] = []
    for group in groups.values():
        every, names = np.array([merged for merged, _ in group]), [name for _, name in group]
        starts, ends = every[:, :, 0].min(axis=0), every[:, :, 1].max(axis=0)
        found += [(name, merged[:, 0], merged[:, 1]) for merged, name in group]
        head, tail = names[every[:, 0, 0].argmin()], names[every[:, 0, 1].argmax()]
        found.append((head if head == tail else f"{head} ... {tail}", starts, ends))
    return found


@dataclass(frozen=True)
class Differences:
    """Processor time of iterations by class of state; of each it adds up to duration x locations, to the nanosecond."""

    categories: tuple[str, ...]  # computing first, then those that take the longest
    times_ns: Ints

    @property
    def slowest(self) -> int:
        """Which iteration takes the longest, counted from 0."""
        return int(np.argmax(self.times_ns.sum(axis=1)))

    @property
    def mean_shares(self) -> dict[str, float]:
        """Share of each category in the mean iteration."""
        means = self.times_ns.mean(axis=0)
        return dict(zip(self.categories, (means / means.sum()).tolist(), strict=True))

    @property
    def shares_of_variance(self) -> dict[str, float]:
        """What part of the variance of durations each category makes; below 0 where it evens differences out."""
        stray = self.times_ns - self.times_ns.mean(axis=0)
        totals = stray.sum(axis=1)
        variance = float(totals @ totals)
        # Below a nanosecond of each iteration there is nothing but rounding.
        if len(self.times_ns) < 2 or variance <= len(totals):
            return {}
        return dict(zip(self.categories, (totals @ stray / variance).tolist(), strict=True))

    @property
    def shares_of_slowest(self) -> dict[str, float]:
        """What part each category makes of how much longer than the mean the slowest iteration is; they add up to 1."""
        stray = (self.times_ns - self.times_ns.mean(axis=0))[self.slowest]
        return dict(zip(self.categories, (stray / stray.sum()).tolist(), strict=True)) if stray.sum() >= 1.0 else {}

    def to_dict(self) -> dict[str, Any]:
        """Return times and shares, JSON-ready."""
        return {
            "processor_ns": {name: self.times_ns[:, index].tolist() for index, name in enumerate(self.categories)},
            **{name: getattr(self, name) for name in ("mean_shares", "shares_of_variance", "shares_of_slowest")},
            "slowest": self.slowest + 1,
        }


def differences_of(activities: Sequence[Activity]) -> Differences:
    """Return what makes iterations differ."""
    names = list(summed(activity.categories_ns for activity in activities))
    times = [[activity.categories_ns.get(name, 0) for name in names] for activity in activities]
    return Differences(tuple(names), np.array(times, dtype=np.int64).reshape(len(times), len(names)))


@dataclass(frozen=True)
class Unusual:
    """An iteration whose duration differs from the others'."""

    number: int  # counted from 1
    difference: float  # of its duration, as a share of the median; negative where it is shorter
    reason: str | None  # the state that most of the difference is spent in; None where no single one is


@dataclass(frozen=True, repr=False)
class Iterations(Result):
    """Sections of a run that repeat; there may be none."""

    reporter: ClassVar[str] = "perf_worley.iterations:report_of"

    source: str
    time_unit: str
    run: tuple[float, float]  # start and end
    starts: Floats  # (n,) in ``time_unit``, in order
    ends: Floats
    durations: Floats  # the difference of times since 1970 would not tell them
    marker: str | None  # what counts them in the trace; None where they were found by their likeness
    explained: float | None  # share of the variance within found ones that the mean of all others explains
    profile: Floats  # (64,) processors computing in the mean iteration
    unusual: Unusual | None  # the one that differs most, where one does
    activity: Activity | None  # what runs in all of them; None without a trace
    differences: Differences | None = None  # their time by class of state; None without a trace
    labels: tuple[str, ...] = ()  # the marker of each, where one was named
    representation: str | None = None  # what `save` makes of the durations, by default as of samples

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def period(self) -> float | None:
        """Mean duration; None where there are none."""
        return float(self.durations.mean()) if self.count else None

    @property
    def spread(self) -> float | None:
        """Standard deviation of durations as a share of their mean."""
        return float(self.durations.std(ddof=1) / self.durations.mean()) if self.count > 1 else None

    def value(self, representation: str | None = None) -> StochasticValue:
        """Return the duration of an iteration in seconds as a stochastic value, for structural models."""
        if not self.count:
            raise DataError(f"{self.source}: has no iterations, whose duration could be a value")
        seconds = self.durations * (NANOSECONDS[self.time_unit] / NANOSECONDS["s"])
        chosen = representation_named(representation or default_name("samples"))
        return chosen.from_samples(seconds)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write an iteration's duration in seconds as a value; gives what the command line says of it."""
        return self.value(self.representation).save(path)

    def to_dict(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in _FIGURES},
            "starts": self.starts.tolist(),
            "ends": self.ends.tolist(),
            "mean_iteration": self.profile.tolist(),
            "unusual": None if self.unusual is None else asdict(self.unusual),
            "what_runs": None if self.activity is None else self.activity.name,
            "labels": list(self.labels),
            "by_category": None if self.differences is None else self.differences.to_dict(),
        }


def iterations_of(
    curve: UtilizationCurve,
    trace: Trace | None = None,
    *,
    marker: str | None = None,
    busy: Sequence[str] | None = None,
    idle: Sequence[str] | None = None,
) -> Iterations:
    """Return the iterations of a curve and, where it is of one, of its trace; see `iterations`."""
    labels: tuple[str, ...] = ()
    explained, factor = None, nanoseconds_per(curve.time_unit)
    start_ns = 0 if trace is None else trace.span_ns[0]
    starts = ends = np.zeros(0)  # from the start of the curve
    if trace is not None and marker is not None:
        labels, *marked = named_iterations(trace, marker)
        starts, ends = ((times - start_ns) / factor for times in marked)
    elif trace is not None and (counted := marked_iterations(trace)) is not None:
        marker, *marked = counted
        starts, ends = ((times - start_ns) / factor for times in marked)
    else:
        signal = signal_of(curve, trace)
        aligned = align(signal, candidates(signal))
        if aligned is not None:
            explained, scale = aligned.explained, (signal.end - signal.start) / signal.n_cells
            starts, ends = (scale * places for places in (aligned.starts, aligned.ends))
    profile = np.zeros(0)
    if len(starts):
        places = starts[:, None] + (ends - starts)[:, None] * (np.arange(_PROFILE + 1) / _PROFILE)
        profile = (np.diff(curve.area_until(places), axis=1) / ((ends - starts) / _PROFILE)[:, None]).mean(axis=0)
    activity = differences = None
    times: Ints | None = None
    if trace is not None and len(starts):
        edges = start_ns + np.round(np.column_stack([starts, ends]) * factor).astype(np.int64)
        edges[1:, 0] = np.maximum(edges[1:, 0], edges[:-1, 1])
        (spent,) = clipped_sums(trace.start_ns, trace.end_ns, edges.ravel(), [(trace.state, len(trace.states))])
        times = spent[::2]
        each = activities(trace, edges.ravel(), busy, idle)[::2]
        activity, differences = joined(each), differences_of(each)
    return Iterations(
        source=curve.source,
        time_unit=curve.time_unit,
        run=(float(curve.start), float(curve.end)),
        starts=float(curve.start) + starts,
        ends=float(curve.start) + ends,
        durations=ends - starts,
        marker=marker,
        explained=explained,
        profile=profile,
        unusual=_unusual(ends - starts, times, trace, factor),
        activity=activity,
        differences=differences,
        labels=labels,
    )


def _unusual(durations: Floats, times: Ints | None, trace: Trace | None, factor: float) -> Unusual | None:
    """Return the iteration that differs most, where it differs more than they usually do."""
    if len(durations) < 3:
        return None
    median = float(np.median(durations))
    stray = np.abs(durations - median)
    number = int(np.argmax(stray))
    if stray[number] <= max(_UNUSUAL_SPREADS * 1.4826 * float(np.median(stray)), _LEAST_UNUSUAL * median):
        return None
    difference = float(durations[number] - median)
    reason = None
    if times is not None and trace is not None:
        # What is in no state is the last column.
        processor_times = np.round(durations * factor * len(trace.locations)).astype(np.int64)
        spent = np.column_stack([times, processor_times - times.sum(axis=1)])
        more = (spent[number] - np.median(spent, axis=0)) * np.sign(difference)
        most = int(np.argmax(more))
        if most < len(trace.states) and more[most] >= _REASON * abs(difference) * factor * len(trace.locations):
            reason = plain_name(trace.states[most])
    return Unusual(number + 1, difference / median, reason)


def repetition(
    curve: UtilizationCurve, trace: Trace | None, busy: Sequence[str] | None, idle: Sequence[str] | None
) -> Repetition | None:
    """Return the iterations of a run, for its model; None where there are none."""
    if curve not in _known:
        found = iterations_of(curve, trace, busy=busy, idle=idle)
        _known[curve] = None
        if found.period is not None:
            text = in_a_line(found.count, found.period, found.spread, found.time_unit, found.unusual)
            ends = float(found.starts[0]), float(found.ends[-1])
            _known[curve] = Repetition(found.count, found.period, found.spread or 0.0, *ends, text)
    return _known[curve]


def merge_repeated_phases(maker: PhaseMaker, phases: Sequence[Phase], iterations: Repetition) -> list[Phase]:
    """Return the phases, with one constant phase for iterations of which they are only parts."""
    curve, half = maker.curve, 0.5 * iterations.period
    start, end = iterations.start, iterations.end
    breaks = [phase.start for phase in phases[1:]]
    inside = [place for place in breaks if start + half < place < end - half]
    if len(inside) < 0.5 * iterations.count:
        return list(phases)
    edges = [place for place in breaks if not start - half <= place <= end + half]
    edges += [place for place in (start, end) if half < place - curve.start < curve.duration - half]
    edges = [float(curve.start), *sorted(edges), float(curve.end)]
    degrees = []
    for begin, stop in itertools.pairwise(edges):
        middle = 0.5 * (begin + stop)
        degree = next(phase.degree for phase in reversed(phases) if phase.start <= middle)
        degrees.append(0 if start <= middle <= end else degree)
    places = np.array(edges) - edges[0]
    merged = maker.within_processors(maker.phases(Segmentation(places, np.array(degrees))))
    return with_errors(maker, curve, merged, "")


def marked_stretches(trace: Trace, markers: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return stretches of a run by its markers; each lasts until its marker ends or the next one begins."""
    first, last = trace.span_ns
    spans = []
    for name in dict.fromkeys(markers):
        marks = occurrences(trace, name)
        starts, ends = np.clip(marks.starts, first, last).tolist(), np.clip(marks.ends, first, last).tolist()
        spans += [each for each in zip(starts, ends, marks.labels, strict=True) if each[1] > each[0]]
    if not spans:
        raise DataError(f"{trace.source}: none of the markers {', '.join(map(repr, markers))} lies within the run")
    edges, labels = [first], []
    spans.sort()
    following = [start for start, _, _ in spans[1:]] + [last]
    for (start, end, label), limit in zip(spans, following, strict=True):
        for edge, name in ((start, OUTSIDE), (min(end, limit), label)):
            if edge > edges[-1]:
                edges.append(edge)
                labels.append(name)
    if last > edges[-1]:
        edges.append(last)
        labels.append(OUTSIDE)
    return edges, labels


def by_markers(trace: Trace, maker: PhaseMaker, markers: Sequence[str]) -> Found:
    """Return the best function of each stretch that markers make."""
    curve, factor = maker.curve, nanoseconds_per(maker.curve.time_unit)
    edges, labels = marked_stretches(trace, markers)
    breaks = (np.array(edges, dtype=np.int64) - edges[0]) / factor
    breaks[-1] = curve.duration
    phases = with_errors(maker, curve, maker.phases(Segmentation(breaks, None)), _OBJECTIVE)
    named = [replace(phase, marker=label) for phase, label in zip(phases, labels, strict=True)]
    return Found(maker, named, [], None, _OBJECTIVE, {})


def report_of(found: Iterations, data: Any = None) -> Report:
    """Return the number and mean duration of the iterations, each of them, and the mean iteration."""
    name = Path(found.source).name or found.source
    title = f"Iterations of {name}"
    if not found.count or found.period is None:
        none = Figure("iterations", 0, format="d")
        return Report(title, f"{name}: {none.text} iterations (no section repeats at least 4 times)", [none],
                      [_durations(found, np.arange(0))])  # fmt: skip
    spread = [] if found.spread is None else [Figure("variation (CV)", found.spread, format=".1%", key="spread")]
    how = f"detected by self-similarity (leave-one-out R^2 {found.explained or 0.0:.2f})"
    if found.marker is not None:
        how = f"{'marked' if found.labels else 'counted'} by {found.marker!r}"
    file = existing_file(found.source)
    following = f"perf profile {file}" if found.activity is not None else f"perf fit {file} --fitter phases"
    return Report(
        title=title,
        answer=f"{name}: {in_a_line(found.count, found.period, found.spread, found.time_unit, found.unusual)}",
        figures=[
            Figure("iterations", found.count, format=",d", key="count"),
            Figure("mean duration", found.period, found.time_unit, format=".4g", key="period"),
            *spread,
        ],
        tables=_tables(found),
        draw=lambda: _plots(found),
        notes=[Note("Assumed", how)],
        next=following if file else "",
        details=_details(found),
    )


def _details(found: Iterations) -> list[str]:
    origin, (first, last) = shown_origin(*found.run), (float(found.starts[0]), float(found.ends[-1]))
    begin, end = (readable(time - origin, found.time_unit) for time in (first, last))
    inside = min(last, found.run[1]) - max(first, found.run[0])  # markers may begin before the first state
    lines = [f"from {begin} to {end}, {inside / (found.run[1] - found.run[0]):.0%} of the run"]
    share = float(found.durations.sum()) / (last - first)
    if share < 0.99:
        lines.append(f"{1.0 - share:.0%} of the time between the first and the last is between iterations")
    if found.activity is not None:
        lines.append(f"mean iteration: {found.activity.name}")
    return lines if found.marker is None or found.differences is None else [*lines, *_differences(found)]


def _tables(found: Iterations) -> list[Table]:
    every = np.arange(found.count)
    tables: list[Table] = []
    kinds: tuple[tuple[int, Importance], ...] = ((_FEW_ROWS, "brief"), (_MOST_ROWS, "verbose"))
    for count, importance in kinds:
        shown, title = every, ""
        if found.count > count:
            most = np.argsort(-np.abs(found.durations - np.median(found.durations)), kind="stable")[:count]
            shown, title = np.sort(most), f"{count} largest deviations"
        tables.append(_durations(found, shown, title, importance))
    return [*tables, _durations(found, every)]


def _plots(found: Iterations) -> list[Plot]:
    """Return the mean iteration, and the duration of each."""
    assert found.period is not None
    shape = Steps(np.linspace(0.0, 100.0, len(found.profile) + 1), found.profile, colour="series:0", width=1.4)
    y = Axis("busy processors", limits=(0.0, 1.1 * float(found.profile.max()) or 1.0))
    mean = Plot("mean", [shape], Axis("position in the iteration", "%", limits=(0.0, 100.0)), y, "mean iteration",
                width=0.42)  # fmt: skip
    numbers = np.arange(1, found.count + 1)
    marks: list[Mark] = [
        Line(np.repeat(numbers, 3), np.ravel(np.stack([np.zeros(found.count), found.durations,
             np.full(found.count, np.nan)], 1)), colour="faint", width=1.0),
        Points(numbers, found.durations, colour="series:0", size=2.5),
        Rule([found.period], "y", "mean"),
    ]  # fmt: skip
    if found.unusual is not None:
        index = found.unusual.number - 1
        label = _ordinal(index + 1) + (f": {found.unusual.reason}" if found.unusual.reason else "")
        place, duration, is_right = [numbers[index]], [found.durations[index]], index > found.count / 2
        text = f"{label}  " if is_right else f"  {label}"
        marks += [
            Points(place, duration, colour="careful", size=6.0),
            Text(place, duration, [text], "careful", "right" if is_right else "left"),
        ]
    top = 1.15 * float(found.durations.max())
    durations = Axis("duration", found.time_unit, "time", (0.0, top))
    return [mean, Plot("durations", marks, Axis("iteration"), durations, "duration of each iteration", width=0.58)]


def _durations(found: Iterations, index: Any, title: str = "", importance: Importance = "data") -> Table:
    unit, starts, durations = found.time_unit, found.starts[index], found.durations[index]
    labels = [found.labels[k] for k in index.tolist()] if len(set(found.labels)) > 1 else None
    ratios = durations / (np.median(found.durations) if found.count else 1.0)
    columns = [
        Column("iteration", index + 1, importance="data" if labels else "default"),
        Column("start", starts - shown_origin(*found.run), unit, "time", key=()),
        Column("start", starts, unit, importance="data"),
        Column("duration", durations, unit, "time", key=f"duration_{unit}"),
        Column("vs median", ratios - 1.0, format="+.1%", key="over_median"),
    ]
    if labels:
        columns.insert(0, Column("iteration", labels, key="label"))
    if found.marker is not None and found.differences is not None and found.count:
        shares = found.differences.times_ns[index] / found.differences.times_ns[index].sum(axis=1, keepdims=True)
        categories = zip(found.differences.categories, shares.T, strict=True)
        columns += [Column(name, share, format=".1%") for name, share in categories]
    return Table(columns, title=title, importance=importance)


def _differences(found: Iterations) -> list[str]:
    """Return the mean iteration by category, the slowest one, and what makes the difference."""
    differences = found.differences
    assert differences is not None
    assert found.period is not None
    lines = [f"by category: {_in_words(differences.mean_shares)}"]
    if found.count < 2 or not differences.shares_of_variance:
        return lines
    slowest = differences.slowest
    label = _ordinal(slowest + 1) + (f" ({found.labels[slowest]})" if len(set(found.labels)) > 1 else "")
    length, longer = float(found.durations[slowest]), found.durations[slowest] / found.period - 1.0
    excess = length - found.period
    parts = sorted(differences.shares_of_slowest.items(), key=lambda part: -abs(part[1]))
    texts = [
        f"{name} {'+' if share > 0.0 else '-'}{_rounded(abs(share) * excess, found.time_unit)}"
        for name, share in parts
        if abs(share) >= _LEAST_SHARE
    ]
    lines.append(
        f"slowest: the {label}, {_rounded(length, found.time_unit)}, {longer:.1%} above the mean: "
        f"{_rounded(excess, found.time_unit)}, of which on a location {', '.join(texts)}"
    )
    lines.append(f"variance of durations explained by: {_in_words(differences.shares_of_variance)}")
    return lines


def _in_words(shares: Mapping[str, float]) -> str:
    """Return shares of categories, the largest first, without those that are hardly any."""
    ordered = sorted(shares.items(), key=lambda each: -abs(each[1]))
    return ", ".join(f"{share:.0%} {name}" for name, share in ordered if abs(share) >= _LEAST_SHARE)


def _ordinal(number: int) -> str:
    """Return a number in an order."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def in_a_line(count: int, period: float, spread: float | None, unit: str, unusual: Any = None) -> str:
    """Return number, duration, spread, and the iteration that differs."""
    text = f"{count} iterations, mean {_rounded(period, unit)}"
    if spread is not None:
        text += f", CV {spread:.1%}"
    if unusual is not None:
        reason = f", {unusual.reason}" if unusual.reason else ""
        text += f"; outlier: {_ordinal(unusual.number)} ({unusual.difference:+.0%} vs median{reason})"
    return text


def _rounded(duration: float, unit: str) -> str:
    """Return a duration in a readable unit, with four digits."""
    return readable(float(f"{duration:.4g}"), unit)
