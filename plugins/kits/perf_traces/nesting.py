"""Calls within calls, of which a trace says the innermost one at each time only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.data.trace import Trace

_TABLE, NESTED = "nesting", "nested"  # names among a trace's facts; the second one stays where a trace is stored
BACKGROUND = "background"  # of the fact that names the state of a location that is in no call

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Nesting:
    """Calls that are not one interval of their trace each, and which intervals are calls.

    Readers give the time of a caller to its callees while these run, so that it is left with no interval, or with
    several. They keep this beside the intervals: nothing for a trace without callers, else a byte for each interval and
    24 for each caller.
    """

    location: Codes  # indices as in the trace, of calls that have callees, or that take no time
    state: Codes
    start_ns: Integers
    end_ns: Integers
    is_call: npt.NDArray[np.bool_]  # whether an interval of the trace is a call by itself

    def __len__(self) -> int:
        return len(self.start_ns)


def keep_nesting(trace: Trace, nesting: Nesting) -> Trace:
    """Let a trace carry its nesting, if there is any."""
    if len(nesting) or not nesting.is_call.all():
        mark_nested(trace)
        trace.facts[_TABLE] = (nesting, trace.locations, trace.span_ns)
    return trace


def mark_nested(trace: Trace) -> None:
    """Let a trace know that several states at one time were made one, which leaves no whole calls."""
    trace.facts = {**getattr(trace, "facts", {}), NESTED: True}


def nesting_of(trace: Trace) -> Nesting | None:
    """The nesting of a trace; None where there is none, or where the trace is a part of what was read."""
    kept = getattr(trace, "facts", {}).get(_TABLE)
    if kept is None:
        return None
    nesting, locations, span_ns = kept
    is_whole = len(nesting.is_call) == trace.n_intervals and locations == trace.locations and span_ns == trace.span_ns
    return nesting if is_whole else None


def is_incomplete(trace: Trace) -> bool:
    """Whether of several states at one time one is left, and the trace does not say of which calls it is a part."""
    return bool(getattr(trace, "facts", {}).get(NESTED)) and nesting_of(trace) is None


def nesting_of_pieces(
    start_ns: Integers, end_ns: Integers, piece: Integers, piece_start_ns: Integers, piece_end_ns: Integers
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Which intervals are no single piece each, and which pieces are whole intervals."""
    is_call = (piece_start_ns == start_ns[piece]) & (piece_end_ns == end_ns[piece])
    has_no_piece = np.ones(len(start_ns), bool)
    has_no_piece[piece[is_call]] = False
    return np.flatnonzero(has_no_piece), is_call
