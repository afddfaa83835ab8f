"""Watches this machine: counters of the operating system, read at regular times, as a series of shares and rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from perfcore.base import progress
from perfcore.base.errors import MissingDependencyError, OptionError, UnknownNameError
from perfcore.data.series import Series

_SHORTEST_NS = 10_000_000  # the kernel counts processor time in ticks of 10 ms: nothing happens within less
_MOST_SAMPLES = 10_000_000

Counters = Mapping[str, tuple[float, float]]


def sample_system(quantity: str, duration_ns: int, interval_ns: int) -> Series:
    """Sample a quantity of this machine until the time is over or the user interrupts.

    Each sample is about the interval that ends at its time. The times do not drift: a late sample does not delay the
    next ones.
    """
    if quantity not in QUANTITIES:
        raise UnknownNameError("quantity", quantity, QUANTITIES)
    if interval_ns < _SHORTEST_NS:
        raise OptionError(f"sampling every {interval_ns / 1e6:g} ms: at least 10 ms are needed, the system's own step")
    count = duration_ns // interval_ns
    if not 1 <= count <= _MOST_SAMPLES:
        raise OptionError(f"{count} samples would be taken; 1 to {_MOST_SAMPLES:,} are possible")
    try:
        import psutil
    except ImportError as error:
        raise MissingDependencyError("sampling needs psutil: pip install 'perfcore[sample]'") from error
    return _sampled(lambda now_s: QUANTITIES[quantity](psutil, now_s), int(count), interval_ns)


def _sampled(read: Callable[[float], Counters], count: int, interval_ns: int) -> Series:
    """Differences of counters over ``count`` intervals."""
    # Only the monotonic clock never jumps; the other one says once when that was.
    epoch_s = time.time() - time.monotonic()
    start_ns = time.monotonic_ns()
    before = read(time.monotonic())
    times: list[float] = []
    rows: list[list[float]] = []
    notes: tuple[str, ...] = ()
    try:
        with progress.bar("sampling", total=count) as advance:
            for number in range(1, count + 1):
                time.sleep(max(0, start_ns + number * interval_ns - time.monotonic_ns()) / 1e9)
                now_s = time.monotonic()
                after = read(now_s)
                rows.append([_rate(before[name], after.get(name)) for name in before])
                times.append(epoch_s + now_s)
                before = {name: after.get(name, counters) for name, counters in before.items()}
                advance(1)
    except KeyboardInterrupt:
        if not rows:
            raise
        del rows[len(times) :]  # it may have come between the two
        notes = (f"interrupted after {len(times)} of {count} samples",)
    table = np.array(rows)
    columns = {name: table[:, column] for column, name in enumerate(before)}
    return Series(np.array(times), columns, "s", source="this machine", notes=notes)


def _rate(before: tuple[float, float], after: tuple[float, float] | None) -> float:
    """Counts per unit of their reference; NaN where that stood still, or what is counted went away."""
    if after is None or after[1] <= before[1]:
        return np.nan
    return max(after[0] - before[0], 0.0) / (after[1] - before[1])


def _processor_counters(psutil: Any, now_s: float) -> Counters:
    """Busy seconds and all seconds of each processor."""
    named = {"all": psutil.cpu_times()} | {str(n): times for n, times in enumerate(psutil.cpu_times(percpu=True))}
    counters = {}
    for cpu, times in named.items():
        spent = times._asdict()
        # The time of guests is in user time already.
        total = sum(spent.values()) - spent.get("guest", 0.0) - spent.get("guest_nice", 0.0)
        counters[f"cpu {cpu} busy"] = (total - spent["idle"] - spent.get("iowait", 0.0), total)
    return counters


def _network_counters(psutil: Any, now_s: float) -> Counters:
    """Bytes so far and the time of each interface, received and sent."""
    counters = {}
    for interface, counted in psutil.net_io_counters(pernic=True).items():
        counters[f"network {interface} received B/s"] = (float(counted.bytes_recv), now_s)
        counters[f"network {interface} sent B/s"] = (float(counted.bytes_sent), now_s)
    return counters


QUANTITIES: Mapping[str, Callable[[Any, float], Counters]] = {"cpu": _processor_counters, "network": _network_counters}
