"""Traces whose intervals are not in memory until somebody asks for all of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.data.trace import Trace, default_busy

Columns = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]
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
