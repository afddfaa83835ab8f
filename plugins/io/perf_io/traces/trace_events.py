"""Events of the Chrome trace format as columns of whole nanoseconds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.text import is_number
from perf_io.traces.intervals import pair_events
from perf_io.traces.json_array import MISSING, TraceEvent
from perf_io.traces.library_events import LibraryEvents
from perf_traces.options import WARNING

K = TypeVar("K", bound=Hashable)

MORE_NAMES, _NO_NAME = "(more names)", "(no name)"
_MOST_NAMES = 1 << 16  # beyond, names are made for each event and tell nothing; memory must not grow with them
_NS_PER_US = 1000
# Doubles below this are less than 2^-12 us off, a quarter of a nanosecond, so that rounding gives what was written.
_EXACT_US = float(1 << 41)
_LARGEST_US = (1 << 62) // _NS_PER_US
_DURATIONS = frozenset("XBE")
_COMPLETE = ord("X")
_TYPES = {
    "phase": np.uint8,
    "location": np.int32,
    "name": np.int32,
    "category": np.int32,
    "start": np.int64,
    "end": np.int64,
    "correlation": np.int64,
}
# Categories of calls that launch work on GPUs, and of that work, by Kineto; both have a number in common.
CALLS = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime", "driver"})
_CORRELATED = CALLS | {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_CORRELATION = re.compile(rb'"correlation"\s*:\s*"?([0-9]{1,18})[^0-9]')


class _ExactEvent(msgspec.Struct, gc=False):
    ph: str = ""
    ts: Decimal | None = Decimal(MISSING)  # None of a NaN
    dur: Decimal | None = Decimal(0)


EXACT = msgspec.json.Decoder(list[_ExactEvent])


class TimeError(Exception):
    """An event of a piece has no usable time."""


class Codes(dict[K, int], Generic[K]):
    """Numbers from 0 for keys in the order in which they are met."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, key: K) -> int:
        if self._most is not None and len(self) >= self._most:
            return self._most
        code = self[key] = len(self)
        return code


class EventColumns:
    """All events that last, in 41 bytes each.

    Events are distinguished by ``ph``: X has its duration, B and E begin and end one. All others are counted.
    """

    def __init__(self) -> None:
        self.locations: Codes[tuple[int | str, int | str]] = Codes()
        self.names: Codes[str] = Codes(_MOST_NAMES)
        self.categories: Codes[str] = Codes(_MOST_NAMES)
        self.passed_over: Counter[str] = Counter()
        self.notes: list[str] = []
        self._first_wrong: TraceEvent | None = None
        self._n_wrong = 0
        self.of_library = LibraryEvents()
        # They grow in place, where pieces would need as much memory again to become one array.
        self._columns = {name: bytearray() for name in _TYPES}

    def add(self, events: list[TraceEvent], text: bytes) -> None:
        phases = [event.ph for event in events]
        rows = events
        # Nearly all traces have complete events only, which need no sorting out.
        if is_mixed := phases.count("X") < len(phases):
            kinds = Counter(phases)
            if others := kinds.keys() - _DURATIONS:
                self.passed_over.update({kind: kinds[kind] for kind in others})
                rows = [event for event in events if event.ph in _DURATIONS]
        if not rows:
            return
        start = nanoseconds([event.ts for event in rows])
        duration = nanoseconds([event.dur for event in rows])
        if start is None or duration is None:
            try:
                exact = [event for event in EXACT.decode(text) if event.ph in _DURATIONS]
            except msgspec.ValidationError as error:  # an event has one time twice, or spaces in it
                raise TimeError(f"a time is no number of microseconds ({error})") from None
            start = np.array([0 if event.ts is None else exactly(event.ts) for event in exact])
            duration = np.array(
                [-1 if event.ts is None or event.dur is None else exactly(event.dur) for event in exact]
            )
        if (wrong := duration < 0).any():
            self._first_wrong = self._first_wrong or rows[int(np.argmax(wrong))]
            self._n_wrong += int(wrong.sum())
            rows = [rows[k] for k in np.flatnonzero(~wrong).tolist()]
            start, duration = start[~wrong], duration[~wrong]
        threads = zip([event.pid for event in rows], [event.tid for event in rows], strict=True)
        columns = {
            "phase": "".join([event.ph for event in rows]).encode() if is_mixed else b"X" * len(rows),
            "location": np.fromiter(map(self.locations.__getitem__, threads), np.int32, len(rows)),
            "name": np.array([self.names[event.name or _NO_NAME] for event in rows], np.int32),
            "category": np.array([self.categories[event.cat] for event in rows], np.int32),
            "start": start,
            "end": start + duration,
            "correlation": np.fromiter(map(correlation_of, rows), np.int64, len(rows)),
        }
        self.of_library.add(rows, columns, self.names)
        for name, values in columns.items():
            self._columns[name].extend(values)

    def launches(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Correlations of the calls that launch work, sorted, when each of them returned, and on which location."""
        is_call = np.array([*(name.lower() in CALLS for name in self.categories), False])
        columns = {name: np.frombuffer(self._columns[name], _TYPES[name]) for name in _TYPES}
        calls = np.flatnonzero(
            is_call[columns["category"]] & (columns["correlation"] >= 0) & (columns["phase"] == _COMPLETE)
        )
        numbers, ends = columns["correlation"][calls], columns["end"][calls]
        # A call of the run-time system may be one of the driver, which returns first: then the work is submitted.
        order = np.lexsort((ends, numbers))
        calls, numbers, ends = calls[order], numbers[order], ends[order]
        first = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
        return numbers[first], ends[first], columns["location"][calls[first]]

    def intervals(self, is_wanted: Callable[[str], bool]) -> dict[str, npt.NDArray[Any]]:
        """Hand over the intervals of the categories that are wanted."""
        chosen = np.array([is_wanted(name) for name in [*self.categories, MORE_NAMES]])
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.frombuffer(column, _TYPES[name]) for name, column in self._columns.items()
        }
        self._columns = {}
        if (wrong := self._first_wrong) is not None:
            self.notes.append(
                f"{WARNING}left out, without a time or with a negative duration: {self._n_wrong} events (the first: "
                f"{wrong.name[:60]!r} at {wrong.ts} us, duration {wrong.dur} us)"
            )
        complete = columns["phase"] == _COMPLETE
        # Partners are found first: an end need not repeat the category of its beginning.
        kept = chosen[columns["category"]] | ~complete
        if not kept.all():
            complete = complete[kept]
            columns = {name: columns.pop(name)[kept] for name in _TYPES}
        if complete.all():
            return columns
        paired = self._paired({name: column[~complete] for name, column in columns.items()}, int(columns["end"].max()))
        mask = chosen[paired["category"]]
        return {name: np.concatenate([columns.pop(name)[complete], paired[name][mask]]) for name in _TYPES}

    def _paired(self, columns: dict[str, npt.NDArray[Any]], end: int) -> dict[str, npt.NDArray[Any]]:
        """Intervals of begin and end events; those without an end last until that of the trace."""
        begins = columns["phase"] == ord("B")
        order, partner = pair_events(columns["location"], columns["start"], begins)
        columns = {name: column[order] for name, column in columns.items()}
        begins = begins[order]
        columns["end"] = np.where(partner >= 0, columns["start"][partner], end)
        if n_open := int((begins & (partner < 0)).sum()):
            self.notes.append(f"{WARNING}{n_open} begin events have no end: they last until the end of the trace")
        if n_ends := int((~begins & (partner < 0)).sum()):
            self.notes.append(f"{n_ends} end events without a begin passed over")
        return {name: column[begins] for name, column in columns.items()}


def correlation_of(event: TraceEvent) -> int:
    """The number that a launch and what it launches have in common; -1 for all else."""
    if event.cat.lower() not in _CORRELATED:
        return -1
    match = _CORRELATION.search(event.args)
    return -1 if match is None else int(match[1])


def nanoseconds(values: list[int | float | str | None]) -> npt.NDArray[np.int64] | None:
    """Whole nanoseconds of microseconds; None where doubles cannot tell them exactly."""
    try:
        column = np.array(values, np.float64)
    except OverflowError:
        return None
    except ValueError:
        wrong = next(value for value in values if isinstance(value, str) and not is_number(value))
        raise TimeError(f"{wrong[:40]!r} is no time in microseconds") from None
    if np.abs(column).max() < _EXACT_US:
        nearest: npt.NDArray[np.int64] = np.rint(column * _NS_PER_US).astype(np.int64)
        return nearest
    integers: npt.NDArray[Any] = np.array(values)
    if integers.dtype.kind != "i" or integers.min() < -_LARGEST_US or integers.max() > _LARGEST_US:
        return None
    exact: npt.NDArray[np.int64] = integers.astype(np.int64) * _NS_PER_US
    return exact


def exactly(value: Decimal) -> int:
    """Whole nanoseconds of microseconds."""
    if value == MISSING:
        raise TimeError("an event has no time 'ts'")
    if not abs(value) < _LARGEST_US:
        raise TimeError(f"time {str(value)[:40]!r} is beyond 64 bits of nanoseconds")
    return round(value * _NS_PER_US)
