"""The trace: state intervals of processes, threads or streams, in whole nanoseconds."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perfcore.base import pd
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import EXACT_NS, nanoseconds_per
from perfcore.hooks.registry import registry
from perfcore.report import Shown, cut

__all__ = ["Trace", "busy_mask", "curve_from_changes", "curve_from_intervals", "default_busy"]


class Trace(Shown):
    """State intervals ``(location, state, start, end)``.

    Parameters
    ----------
    location, state : (n,) int
        Index into ``locations`` and ``states``.
    start_ns, end_ns : (n,) int, nanoseconds
        Start and end, ``start <= end``. Intervals of one location do not overlap; nested states are given to the
        innermost one by the reader.
    locations, states : sequence of str
        Names.
    time_unit : str
        Unit in which the user thinks; curves come out in it.
    busy_states : sequence of str, optional
        States that count as computing unless the user says otherwise; by default as the classifiers that plugins
        register say.
    span_ns : (int, int), optional
        Start and end of the run when it is longer than its intervals.
    source : str
        Where it came from, for messages.
    notes : sequence of str
        What its reader has to say about it, for ``perf info``.
    markers : sequence of (str, int, int)
        Name, start and end (nanoseconds) of annotations, which are no states: steps, ranges that a user named.
    levels : mapping of str to sequence of str
        Coarser places of each location, as far as they are known: ``node``, ``process``, ``device``, ``thread``.
    facts : mapping of str to object
        What the file says of the run: ``rank``, ``world_size``, ``epoch_ns`` (the moment of time 0), messages.

    Raises
    ------
    DataError
        Wrong lengths, an index without a name, an end before its start, or overlapping states of one location.

    Examples
    --------
    >>> trace = Trace([0, 1], [0, 0], [0, 1000], [2000, 3000], ["cpu0", "cpu1"], ["run"])
    >>> trace.utilization().heights
    array([1., 2., 1.])
    """

    def __init__(
        self,
        location: npt.ArrayLike,
        state: npt.ArrayLike,
        start_ns: npt.ArrayLike,
        end_ns: npt.ArrayLike,
        locations: Sequence[str],
        states: Sequence[str],
        *,
        time_unit: str = "us",
        busy_states: Sequence[str] | None = None,
        span_ns: tuple[int, int] | None = None,
        source: str = "trace",
        notes: Sequence[str] = (),
        markers: Sequence[tuple[str, int, int]] = (),
        levels: Mapping[str, Sequence[str]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        nanoseconds_per(time_unit)
        self.levels, self.facts = dict(levels or {}), dict(facts or {})
        self.notes, self.markers = tuple(notes), tuple(markers)
        self.location = np.asarray(location, dtype=np.int32)
        self.state = np.asarray(state, dtype=np.int32)
        self.start_ns = np.asarray(start_ns, dtype=np.int64)
        self.end_ns = np.asarray(end_ns, dtype=np.int64)
        self.locations = tuple(locations)
        self.states = tuple(states)
        self.time_unit = time_unit
        self.source = source
        self.busy_states = default_busy(self.states) if busy_states is None else tuple(busy_states)
        sizes = {len(self.location), len(self.state), len(self.start_ns), len(self.end_ns)}
        if len(sizes) != 1:
            raise DataError(f"{source}: the columns of the trace have different lengths: {sorted(sizes)}")
        if not len(self.start_ns):
            raise DataError(f"{source}: the trace has no state intervals")
        _check_intervals(self)
        self.span_ns = span_ns or (int(self.start_ns.min()), int(self.end_ns.max()))

    reporter: ClassVar[str] = "perfcore.data.answers:report_of_trace"
    data_kind: ClassVar[str] = "trace"
    in_words: ClassVar[str] = "a trace"
    join_options: ClassVar[str] = "perf_traces.options:TraceOptions"

    @classmethod
    def join(cls, *parts_and_options: Any) -> Any:
        """Return the part of a run that is asked for; of several runs what their curves are together.

        Arguments are those of `perfcore.reading.recognise.join`.
        """
        return importlib.import_module("perf_traces.runs").join_traces(*parts_and_options)

    def __repr__(self) -> str:
        counts = f"{self.n_intervals} intervals, {len(self.locations)} locations, {len(self.states)} states"
        return cut(f"Trace({counts}, from {self.source})")

    def to_frame(self) -> pd.DataFrame:
        """A row for each interval: location, state, start and end."""
        columns = {"start_ns": self.start_ns, "end_ns": self.end_ns}
        return self.frame_of(self.location, self.state, columns)

    def frame_of(
        self, location: npt.NDArray[Any], state: npt.NDArray[Any], columns: Mapping[str, npt.NDArray[Any]]
    ) -> pd.DataFrame:
        """Columns behind the names of locations and states, of which each is kept once."""
        named = {}
        for name, texts, place in (("location", self.locations, location), ("state", self.states, state)):
            different: pd.Index[str] = pd.Index(dict.fromkeys(texts))  # names may be alike, and categories may not be
            codes = different.get_indexer(pd.Index(texts))[place]
            named[name] = pd.Categorical.from_codes(codes, different)
        return pd.DataFrame({**named, **columns})

    def state_times(self) -> npt.NDArray[np.int64]:
        """Total time in each state (n_states,), nanoseconds."""
        # Sums of whole numbers are exact in float64 up to 104 days of all locations.
        times = np.bincount(self.state, self.end_ns - self.start_ns, minlength=len(self.states))
        return times.astype(np.int64)

    @property
    def n_intervals(self) -> int:
        """Number of state intervals."""
        return len(self.start_ns)

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        """How many locations compute at each time.

        Parameters
        ----------
        busy : sequence of str, optional
            States that count as computing; by default `busy_states`.
        idle : sequence of str, optional
            Instead: states that do not count; all others do.

        Returns
        -------
        UtilizationCurve
            From the trace's start to its end, in `time_unit`; neighbouring steps have different heights.

        Raises
        ------
        UnknownNameError
            A state that the trace does not have.
        """
        chosen = busy_mask(self.states, self.busy_states, busy, idle)[self.state]
        times = np.concatenate([self.start_ns[chosen], self.end_ns[chosen]])
        facts = {"n_locations": len(self.locations), "source": self.source}
        return curve_from_intervals(times, self.span_ns, self.time_unit, **facts)


def default_busy(states: Sequence[str]) -> tuple[str, ...]:
    """Those of the states in which a location computes, as the registered classifiers say."""
    for entry in registry().entries("classifiers").values():
        states = entry.load()(states)
    return tuple(states)


def busy_mask(
    states: Sequence[str], default: Sequence[str], busy: Sequence[str] | None, idle: Sequence[str] | None
) -> npt.NDArray[np.bool_]:
    """For each state whether it counts as computing."""
    if busy is not None and idle is not None:
        raise OptionError("give the busy states or the idle ones, not both")
    named = default if busy is None and idle is None else (busy if busy is not None else idle)
    known, chosen = set(states), set(named or ())
    for name in named or ():
        if name not in known:
            raise UnknownNameError("state", name, states)
    mask = np.array([name in chosen for name in states], dtype=bool)
    if idle is not None:
        mask = ~mask
    if not mask.any():
        names = ", ".join(states)
        raise OptionError(f"no busy state identified; specify them with --busy. States: {names}")
    return mask


def curve_from_intervals(
    times_ns: npt.NDArray[np.int64], span_ns: tuple[int, int], time_unit: str, **facts: Any
) -> UtilizationCurve:
    """How many intervals there are at each time."""
    n_intervals = len(times_ns) // 2
    first, last = (int(times_ns.min()), int(times_ns.max())) if n_intervals else (0, 0)
    if last - first >= 1 << 62:
        changes = np.repeat(np.array([1, -1], np.int8), n_intervals)
        order = np.argsort(times_ns)
        return curve_from_changes(times_ns[order], changes[order], span_ns, time_unit, **facts)
    # A time and whether it is a start, in one number: sorts several times as fast as an order of times, in place.
    times_ns -= first
    times_ns <<= 1
    times_ns[:n_intervals] |= 1
    times_ns.sort(kind="stable")  # starts and ends are nearly in order, of which that makes use
    changes = (times_ns & 1).astype(np.int8)
    changes <<= 1
    changes -= 1
    times_ns >>= 1
    times_ns += first
    return curve_from_changes(times_ns, changes, span_ns, time_unit, **facts)


def curve_from_changes(
    times_ns: npt.NDArray[np.int64],
    changes: npt.NDArray[np.integer[Any]],
    span_ns: tuple[int, int],
    time_unit: str,
    **facts: Any,
) -> UtilizationCurve:
    """Sum up changes of the number of computing locations."""
    first, last = span_ns
    if last <= first:
        raise DataError(f"{facts.get('source', 'trace')}: the trace has no duration")
    level = np.cumsum(changes, dtype=np.int64)
    # A step begins where the last change of a moment leaves another level than the moment before had.
    begins = np.ones(len(level), dtype=bool)
    np.not_equal(times_ns[1:], times_ns[:-1], out=begins[:-1])
    if not begins.all():
        times_ns, level = times_ns[begins], level[begins]
        begins = np.ones(len(level), dtype=bool)
    np.not_equal(level[1:], level[:-1], out=begins[1:])
    begins[:1] = level[:1] != 0
    begins &= times_ns < last
    # The run may begin before anyone computes.
    idle = int(not begins.any() or int(times_ns[begins.argmax()]) > first)
    n_steps = idle + int(begins.sum())
    factor = nanoseconds_per(time_unit)
    edges = np.empty(n_steps + 1, dtype=np.int64 if factor == 1 else np.float64)
    heights = np.zeros(n_steps)
    zero = first if factor != 1 and abs(first) > EXACT_NS else 0  # fractions so far from 0 would be rounded
    edges[0], edges[-1] = first - zero, last - zero
    edges[idle:-1], heights[idle:] = times_ns[begins] - zero, level[begins]
    if factor != 1:
        np.divide(edges, factor, out=edges)
    return UtilizationCurve(edges, heights, time_unit, **facts)


def _check_intervals(trace: Trace) -> None:
    for field, codes, names in (("location", trace.location, trace.locations), ("state", trace.state, trace.states)):
        unnamed = (codes < 0) | (codes >= len(names))
        if unnamed.any():
            row = int(np.argmax(unnamed))
            raise DataError(
                f"{trace.source}: interval {row} has {field} {codes[row]}, but there are {len(names)} {field}s; "
                f"{field} is an index into {field}s"
            )
    backwards = trace.end_ns < trace.start_ns
    if backwards.any():
        row = int(np.argmax(backwards))
        raise DataError(
            f"{trace.source}: interval {row} of {trace.locations[trace.location[row]]} ends at "
            f"{trace.end_ns[row]} ns before it starts at {trace.start_ns[row]} ns"
        )
    if (pair := first_overlap(trace.location, trace.start_ns, trace.end_ns)) is not None:
        until, since = trace.end_ns[pair[0]], trace.start_ns[pair[1]]
        earlier, later = (repr(trace.states[code]) for code in trace.state[list(pair)])
        problem = f"is in state {later} from {since} ns although {earlier} lasts until {until} ns"
        location = trace.locations[trace.location[pair[1]]]
        raise DataError(f"{trace.source}: {location} {problem}; states of one location must not overlap")


def first_overlap(
    location: npt.NDArray[np.int32], start_ns: npt.NDArray[np.int64], end_ns: npt.NDArray[np.int64]
) -> tuple[int, int] | None:
    """Indices of two overlapping intervals of one location, or None."""
    following = location[1:] == location[:-1]
    following &= start_ns[1:] < end_ns[:-1]
    if not following.any() and not (location[1:] < location[:-1]).any():
        return None  # by location and time, as readers often hand them over
    # Intervals without duration overlap nothing: they may lie anywhere.
    lasting = np.flatnonzero(end_ns > start_ns)
    order = lasting[np.lexsort((start_ns[lasting], location[lasting]))]
    same = location[order[1:]] == location[order[:-1]]
    overlaps = same & (start_ns[order[1:]] < end_ns[order[:-1]])
    if not overlaps.any():
        return None
    index = int(np.argmax(overlaps))
    return int(order[index]), int(order[index + 1])
