"""The iterations of a run: how many, how long, how much they vary, which one differs and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_traces.windows import CUT, families, occurrences
from perf_views.function_names import plain_name
from perf_worley.iterations.alignment import align
from perf_worley.iterations.periods import candidates
from perf_worley.iterations.signal import signal_of
from perf_worley.names.activity import Activity, activities, joined
from perf_worley.names.clipped_sums import clipped_sums
from perfcore.base.errors import DataError, OptionError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.kinds import type_in_words
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import NANOSECONDS, nanoseconds_per
from perfcore.reading.recognise import read as read_data
from perfcore.results import Result
from perfcore.stochastic import default_name, representation_named

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue

_FEWEST = 3
_GAP = 1.5  # of the median distance between two starts: beyond it, no iteration lasts until the next one

Integers = npt.NDArray[np.int64]


def named_iterations(trace: Trace, marker: str) -> tuple[tuple[str, ...], Integers, Integers]:
    """Labels, starts and ends of the iterations that a marker names: from where it begins to where it ends."""
    marks = occurrences(trace, marker)
    starts, ends = marks.starts, marks.ends.copy()
    ends[:-1] = np.minimum(ends[:-1], starts[1:])  # of several ranks: until the first one begins the next
    kept = np.flatnonzero((ends > starts) & ~marks.cut)
    if not len(kept):
        raise DataError(f"{trace.source}: no {marker!r} lies within it as a whole")
    return tuple(marks.labels[index] for index in kept.tolist()), starts[kept], ends[kept]


def marked_iterations(trace: Trace) -> tuple[str, Integers, Integers] | None:
    """Name, starts and ends of the iterations that markers or states count; None where none count.

    An iteration begins when its name first occurs anywhere, and lasts until the next one begins; the last one, and one
    before a gap, until its own name ends.
    """
    cut = frozenset(trace.facts.get(CUT, ()))
    markers = [marker for index, marker in enumerate(trace.markers) if index not in cut]
    names = [*trace.states, *sorted({name for name, _, _ in markers} - set(trace.states))]
    counted = {name: members for name, members in families(names).items() if len(members) >= _FEWEST}
    if not counted:
        return None
    first = np.full(len(names), np.iinfo(np.int64).max)
    last = np.full(len(names), np.iinfo(np.int64).min)
    np.minimum.at(first, trace.state, trace.start_ns)
    np.maximum.at(last, trace.state, trace.end_ns)
    code_of = {name: code for code, name in enumerate(names)}
    for name, start, end in markers:
        code = code_of[name]
        first[code], last[code] = min(first[code], start), max(last[code], end)
    best: tuple[int, str, Integers, Integers] | None = None
    for name, members in counted.items():
        codes = np.array([code_of[members[number]] for number in sorted(members)])
        codes = codes[last[codes] > first[codes]]
        starts, own_ends = first[codes], last[codes]
        if len(codes) < _FEWEST or (np.diff(starts) <= 0).any() or (own_ends[:-1] > starts[1:]).any():
            continue  # numbers that do not count in time: threads, sizes, versions
        usual = float(np.median(np.diff(starts)))
        ends = np.where(np.diff(starts) <= _GAP * usual, starts[1:], own_ends[:-1])
        ends = np.append(ends, own_ends[-1])
        covered = int((ends - starts).sum())
        if best is None or covered > best[0]:
            best = covered, name, starts, ends
    return None if best is None else best[1:]


@dataclass(frozen=True)
class Differences:
    """Processor time of iterations by class of state; of each it adds up to duration x locations, to the nanosecond."""

    categories: tuple[str, ...]  # computing first, then those that take the longest
    times_ns: npt.NDArray[np.int64]

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
        """Times and shares, JSON-ready."""
        return {
            "processor_ns": {name: self.times_ns[:, index].tolist() for index, name in enumerate(self.categories)},
            "mean_shares": self.mean_shares,
            "shares_of_variance": self.shares_of_variance,
            "slowest": self.slowest + 1,
            "shares_of_slowest": self.shares_of_slowest,
        }


def differences_of(activities: Sequence[Activity]) -> Differences:
    """What makes iterations differ."""
    total: dict[str, int] = {}
    for activity in activities:
        for name, time in activity.categories_ns.items():
            total[name] = total.get(name, 0) + time
    names = sorted(total, key=lambda name: (name != "computing", name == "no state", -total[name]))
    times = [[activity.categories_ns.get(name, 0) for name in names] for activity in activities]
    return Differences(tuple(names), np.array(times, dtype=np.int64).reshape(len(times), len(names)))


Floats = npt.NDArray[np.float64]

_PROFILE = 64  # parts of the mean iteration
_UNUSUAL_SPREADS, _LEAST_UNUSUAL = 5.0, 0.03  # robust spreads, and share of the median, that an iteration must differ
_REASON = 0.3  # of the difference in processor time that a state must account for


@dataclass(frozen=True)
class Unusual:
    """An iteration whose duration differs from the others'."""

    number: int  # counted from 1
    difference: float  # of its duration, as a share of the median; negative where it is shorter
    reason: str | None  # the state that most of the difference is spent in; None where no single one is


@dataclass(frozen=True, repr=False)
class Iterations(Result):
    """Sections of a run that repeat; there may be none.

    Attributes
    ----------
    source, time_unit : str
    run : pair of float
        Start and end of the run.
    starts, ends : (n,) float
        In ``time_unit``, in order.
    durations : (n,) float
        In ``time_unit``; the difference of times since 1970 would not tell them.
    marker : str or None
        What counts them in the trace; None where they were found by their likeness.
    explained : float or None
        Share of the variance within them that the mean of all other iterations explains; None of marked ones.
    profile : (64,) float
        Processors computing in the mean iteration.
    unusual : Unusual or None
        The iteration that differs most, where one does.
    activity : Activity or None
        What runs in all of them; None without a trace.
    differences : Differences or None
        Their time by class of state; None without a trace.
    labels : tuple of str
        The marker of each, where one was named.
    """

    source: str
    time_unit: str
    run: tuple[float, float]
    starts: Floats
    ends: Floats
    durations: Floats
    marker: str | None
    explained: float | None
    profile: Floats
    unusual: Unusual | None
    activity: Activity | None
    differences: Differences | None = None
    labels: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
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
        """The duration of an iteration in seconds as a stochastic value, for structural models."""
        if not self.count:
            raise DataError(f"{self.source}: has no iterations, whose duration could be a value")
        seconds = self.durations * (NANOSECONDS[self.time_unit] / NANOSECONDS["s"])
        chosen = representation_named(representation or default_name("samples"))
        return chosen.from_samples(seconds)

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        unusual = self.unusual
        return {
            "source": self.source,
            "time_unit": self.time_unit,
            "count": self.count,
            "period": self.period,
            "spread": self.spread,
            "explained": self.explained,
            "marker": self.marker,
            "starts": self.starts.tolist(),
            "ends": self.ends.tolist(),
            "mean_iteration": self.profile.tolist(),
            "unusual": None
            if unusual is None
            else {"number": unusual.number, "difference": unusual.difference, "reason": unusual.reason},
            "what_runs": None if self.activity is None else self.activity.name,
            "labels": list(self.labels),
            "by_category": None if self.differences is None else self.differences.to_dict(),
        }


def _read(path: str, wanted: Sequence[type]) -> Any:
    return read_data(path, wanted=wanted)


def iterations(
    data: str | os.PathLike[str] | Trace | UtilizationCurve | Series,
    *,
    busy: Sequence[str] | None = None,
    idle: Sequence[str] | None = None,
    column: str | None = None,
    markers: bool = True,
    marker: str | None = None,
    read: Callable[[str, Sequence[type]], Any] = _read,
) -> Iterations:
    """Find the iterations of a run: sections that repeat.

    States that count (``step#1``, ``step#2``) say where they are. Without such, sections are looked for that have the
    course of utilization in common, and of a trace that of its main states; at least four, of 0.7 to 1.4 times their
    usual duration, at most some 4,000.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series, str or path
    busy, idle : sequence of str, optional
        Of traces the states that count as computing, or that do not.
    column : str, optional
        Of a series of several columns.
    markers : bool
        Whether markers and states that count are believed.
    marker : str, optional
        Of a trace: iterations are what this marker spans, ``"step"`` for ``step#1``, ``step#2`` and so on.
    read : callable, optional
        Reads a file; takes a path and the wanted types.

    Returns
    -------
    Iterations

    Raises
    ------
    DataError
        The data have no course over time, or no marker of the name lies within them.
    OptionError
        A marker of data that have none, or one that is not to be believed.
    UnknownNameError
        No marker has the name; the nearest is named.
    InputError
        The file cannot be read.

    Examples
    --------
    >>> edges = [10.0 * k + part for k in range(9) for part in (0.0, 7.0)] + [90.0]
    >>> found = iterations(UtilizationCurve(edges, [4, 1] * 9, "ms"))
    >>> found.count, round(found.period, 1)
    (9, 10.0)
    """
    if isinstance(data, (str, os.PathLike)):
        data = read(os.fspath(data), (Trace, UtilizationCurve, Series))
    if isinstance(data, Series):
        data = data.curve(column)
    if marker is not None and not markers:
        raise OptionError("--marker names the one to believe; leave out --no-markers")
    if isinstance(data, Trace):
        curve = data.utilization(busy, idle=idle)
        return iterations_of(curve, data, markers=markers, marker=marker, busy=busy, idle=idle)
    if marker is not None:
        raise OptionError("--marker belongs to traces; these data have no markers")
    if not isinstance(data, UtilizationCurve):
        raise DataError(f"a trace, a utilization curve or a series has iterations, not {type_in_words(data)}")
    return iterations_of(data)


def iterations_of(
    curve: UtilizationCurve,
    trace: Trace | None = None,
    *,
    markers: bool = True,
    marker: str | None = None,
    busy: Sequence[str] | None = None,
    idle: Sequence[str] | None = None,
) -> Iterations:
    """The iterations of a curve and, where it is of one, of its trace; see `iterations`."""
    labels: tuple[str, ...] = ()
    explained, factor = None, nanoseconds_per(curve.time_unit)
    start_ns = round(curve.start * factor)
    starts = ends = np.zeros(0)  # from the start of the curve
    if trace is not None and marker is not None:
        labels, *marked = named_iterations(trace, marker)
        starts, ends = ((times - start_ns) / factor for times in marked)
    elif trace is not None and markers and (counted := marked_iterations(trace)) is not None:
        marker, *marked = counted
        starts, ends = ((times - start_ns) / factor for times in marked)
    else:
        signal = signal_of(curve, trace)
        aligned = align(signal, candidates(signal))
        if aligned is not None:
            explained, scale = aligned.explained, (signal.end - signal.start) / signal.n_cells
            starts, ends = (scale * places for places in (aligned.starts, aligned.ends))
    activity = differences = None
    times: npt.NDArray[np.int64] | None = None
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
        profile=_mean_profile(curve, starts, ends),
        unusual=_unusual(ends - starts, times, trace, factor),
        activity=activity,
        differences=differences,
        labels=labels,
    )


def _mean_profile(curve: UtilizationCurve, starts: Floats, ends: Floats) -> Floats:
    """Processors computing in the mean iteration; its parts begin and end so long after the start of the curve."""
    if not len(starts):
        return np.zeros(0)
    places = starts[:, None] + (ends - starts)[:, None] * (np.arange(_PROFILE + 1) / _PROFILE)
    profile: Floats = (np.diff(curve.area_until(places), axis=1) / ((ends - starts) / _PROFILE)[:, None]).mean(axis=0)
    return profile


def _unusual(
    durations: Floats, times: npt.NDArray[np.int64] | None, trace: Trace | None, factor: float
) -> Unusual | None:
    """The iteration that differs most, where it differs more than they usually do."""
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
