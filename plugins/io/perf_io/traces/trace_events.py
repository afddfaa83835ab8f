"""Events of the Chrome trace format as columns of whole nanoseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.traces.interval_kernels import pair_events

__all__ = ["MORE_NAMES", "Codes", "EventColumns", "TimeError", "TraceEvent"]

K = TypeVar("K", bound=Hashable)

MORE_NAMES = "(more names)"
_MOST_NAMES = 1 << 16  # beyond, names are made for each event and tell nothing; memory must not grow with them
_MISSING = -(1 << 62)
_NS_PER_US = 1000
# Doubles below this are less than 2^-12 us off, a quarter of a nanosecond, so that rounding gives what was written.
_EXACT_US = float(1 << 41)
_LARGEST_US = (1 << 62) // _NS_PER_US
_DURATIONS = frozenset("XBE")


class TraceEvent(msgspec.Struct, gc=False):
    """What is read of each event; all else in it is passed over."""

    ph: str
    ts: int | float = _MISSING
    dur: int | float = 0
    pid: int | str = ""
    tid: int | str = ""
    name: str = ""
    cat: str = ""


class _ExactEvent(msgspec.Struct, gc=False):
    ph: str
    ts: Decimal = Decimal(_MISSING)
    dur: Decimal = Decimal(0)


_EXACT = msgspec.json.Decoder(list[_ExactEvent])


class TimeError(Exception):
    """An event of a piece has no usable time.

    Parameters
    ----------
    problem : str
    """


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
    """All events that last, in 33 bytes each.

    Events are told apart by ``ph``: X has its duration, B and E begin and end one. All others are counted.
    """

    def __init__(self) -> None:
        self.locations: Codes[tuple[int | str, int | str]] = Codes()
        self.names: Codes[str] = Codes(_MOST_NAMES)
        self.categories: Codes[str] = Codes(_MOST_NAMES)
        self.passed_over: Counter[str] = Counter()
        self._pieces: list[dict[str, npt.NDArray[Any]]] = []

    def add(self, events: list[TraceEvent], text: bytes) -> None:
        """Take in a piece.

        Raises
        ------
        TimeError
            A time is missing or beyond 64 bits of nanoseconds, or a duration is negative.
        """
        kinds = Counter([event.ph for event in events])
        others = kinds.keys() - _DURATIONS
        rows = [event for event in events if event.ph in _DURATIONS] if others else events
        self.passed_over.update({kind: kinds[kind] for kind in others})
        if not rows:
            return
        codes = self.locations
        start = _nanoseconds([event.ts for event in rows])
        duration = _nanoseconds([event.dur for event in rows])
        if start is None or duration is None:
            exact = [event for event in _EXACT.decode(text) if event.ph in _DURATIONS]
            start = np.array([_exactly(event.ts) for event in exact])
            duration = np.array([_exactly(event.dur) for event in exact])
        if (duration < 0).any():
            raise TimeError(f"a duration is negative: {rows[int(np.argmax(duration < 0))].dur} us")
        self._pieces.append(
            {
                "phase": np.array([ord(event.ph) for event in rows], np.uint8),
                "location": np.array([codes[event.pid, event.tid] for event in rows], np.int32),
                "name": np.array([self.names[event.name] for event in rows], np.int32),
                "category": np.array([self.categories[event.cat] for event in rows], np.int32),
                "start": start,
                "end": start + duration,
            }
        )

    def intervals(self, wanted: Callable[[str], bool]) -> tuple[dict[str, npt.NDArray[Any]], int]:
        """Hand over the intervals of the categories that are wanted, and how many events had no partner.

        What began and has no end lasts until the last event of its location; an end without a beginning is dropped.
        """
        chosen = np.array([wanted(name) for name in [*self.categories, MORE_NAMES]])
        pieces = []
        for piece in self._pieces:
            # Partners are found first: an end need not repeat the category of its beginning.
            mask = chosen[piece["category"]] | (piece["phase"] != ord("X"))
            pieces.append(piece if mask.all() else {name: column[mask] for name, column in piece.items()})
        self._pieces.clear()
        # Column by column, so that at no time there are two of everything.
        columns = {
            name: np.concatenate([piece.pop(name) for piece in pieces]) for name in (tuple(pieces[0]) if pieces else ())
        }
        if not columns or (columns["phase"] == ord("X")).all():
            return columns, 0
        paired = columns["phase"] != ord("X")
        made, n_single = _paired({name: column[paired] for name, column in columns.items()})
        mask = chosen[made["category"]]
        return {name: np.concatenate([column[~paired], made[name][mask]]) for name, column in columns.items()}, n_single


def _paired(columns: dict[str, npt.NDArray[Any]]) -> tuple[dict[str, npt.NDArray[Any]], int]:
    begins = columns["phase"] == ord("B")
    order, partner = pair_events(columns["location"], columns["start"], begins)
    columns = {name: column[order] for name, column in columns.items()}
    begins = begins[order]
    location, time = columns["location"], columns["start"]
    last = np.append(np.flatnonzero(location[1:] != location[:-1]), len(location) - 1)
    end_of_location = time[last[np.searchsorted(location[last], location)]]
    columns["end"] = np.where(partner >= 0, time[partner], end_of_location)
    return {name: column[begins] for name, column in columns.items()}, int((partner < 0).sum())


def _nanoseconds(values: list[int | float]) -> npt.NDArray[np.int64] | None:
    """Whole nanoseconds of microseconds; None where doubles cannot tell them exactly."""
    column: npt.NDArray[Any] = np.array(values)
    if column.dtype.kind == "i":
        if column.min() < -_LARGEST_US or column.max() > _LARGEST_US:
            return None
        whole: npt.NDArray[np.int64] = column.astype(np.int64) * _NS_PER_US
        return whole
    if column.dtype.kind != "f" or not np.abs(column).max() < _EXACT_US:
        return None
    nearest: npt.NDArray[np.int64] = np.rint(column * _NS_PER_US).astype(np.int64)
    return nearest


def _exactly(value: Decimal) -> int:
    if value == _MISSING:
        raise TimeError("an event has no time 'ts'")
    if not abs(value) < _LARGEST_US:
        raise TimeError(f"time {str(value)[:40]!r} is beyond 64 bits of nanoseconds")
    return round(value * _NS_PER_US)
