"""The moments at which locations enter and leave states, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]

_BITS = 63  # of an int64 that is not negative


@dataclass(frozen=True)
class Events:
    """Entries into states and exits from them."""

    times: Integers  # at one time, exits go before entries
    what: Integers  # from the lowest bit: the state, the location, 1 for an entry
    state_bits: int
    location_bits: int
    start_ns: int  # the run, on the trace's own clock
    end_ns: int


def state_events(trace: Trace, run_ns: tuple[int, int]) -> Events:
    """Both ends of every interval that lasts, sorted."""
    start, end = run_ns
    state_bits = len(trace.states).bit_length()  # one number more, for being in no state
    location_bits = max(len(trace.locations) - 1, 1).bit_length()
    bits = state_bits + location_bits + 1
    lasting = trace.end_ns > trace.start_ns
    keep = slice(None) if lasting.all() else lasting
    n = int(lasting.sum())
    codes = np.empty(2 * n, dtype=np.int64)
    exits, entries = codes[:n], codes[n:]
    exits[:] = trace.location[keep]
    exits <<= state_bits
    exits |= trace.state[keep]
    np.bitwise_or(exits, 1 << (bits - 1), out=entries)
    times = np.empty(2 * n, dtype=np.int64)
    np.subtract(trace.end_ns[keep], start, out=times[:n])
    np.subtract(trace.start_ns[keep], start, out=times[n:])
    if (end - start).bit_length() + bits > _BITS:
        order = np.argsort(times, kind="stable")  # the exits stand first
        return Events(times[order], codes[order], state_bits, location_bits, start, end)
    times <<= bits
    times |= codes
    del codes, exits, entries
    # In order already but for the exits among the entries: runs, which the stable sort merges.
    times.sort(kind="stable")
    codes = times & ((1 << bits) - 1)
    times >>= bits
    return Events(times, codes, state_bits, location_bits, start, end)
