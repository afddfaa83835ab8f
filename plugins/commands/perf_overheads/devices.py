"""Streams of one GPU as one: in how much of the time any of them computes, communicates or copies, and at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_overheads.state_classes import StateClasses
from perfcore.data.trace import Trace

__all__ = ["DeviceTimes", "device_times", "devices_of"]

_STREAM = re.compile(r"(?P<device>.+) / .*\bstream\b.*", re.IGNORECASE)


@dataclass(frozen=True)
class DeviceTimes:
    """Unions over the streams of one device, in nanoseconds.

    Parameters
    ----------
    device : str
    n_streams : int
    span_ns : int
        From the first beginning to the last end on any of its streams.
    computing_ns, communicating_ns, copying_ns : int
        While at least one stream does so.
    hidden_communication_ns, hidden_copies_ns : int
        While a stream communicates, or copies, and another one computes.
    idle_ns : int
        Of the run, while no stream does anything of these.
    """

    device: str
    n_streams: int
    span_ns: int
    computing_ns: int
    communicating_ns: int
    hidden_communication_ns: int
    copying_ns: int
    hidden_copies_ns: int
    idle_ns: int


def devices_of(locations: Sequence[str]) -> tuple[str, ...] | None:
    """The device of each location; None unless all are streams.

    Examples
    --------
    >>> devices_of(["GPU 0 / stream 7", "GPU 0 / stream 13"])
    ('GPU 0', 'GPU 0')
    >>> devices_of(["GPU 0 / stream 7", "process 1 / thread 1"]) is None
    True
    """
    found = [_STREAM.fullmatch(location) for location in locations]
    return tuple(match["device"] for match in found if match) if found and all(found) else None


def device_times(trace: Trace, names: StateClasses, run_ns: int) -> tuple[DeviceTimes, ...]:
    """What each device does; empty unless all locations are streams.

    Parameters
    ----------
    trace : Trace
    names : StateClasses
        Classes of its states.
    run_ns : int, nanoseconds
        Duration of the run.
    """
    devices = devices_of(trace.locations)
    if devices is None:
        return ()
    kinds = np.array([names.classes[at] for at in names.class_of[:-1]])
    groups = [np.isin(kinds, group) for group in (("computing",), ("communicating", "waiting"), ("transferring",))]
    found = []
    for device in dict.fromkeys(devices):
        mine = np.array([each == device for each in devices])[trace.location]
        start, end, state = trace.start_ns[mine], trace.end_ns[mine], trace.state[mine]
        computing, communicating, copying = (group[state] for group in groups)
        computing_ns = _union(start, end, computing)
        communicating_ns, copying_ns = _union(start, end, communicating), _union(start, end, copying)
        found.append(
            DeviceTimes(
                device,
                devices.count(device),
                int(end.max() - start.min()) if len(start) else 0,
                computing_ns,
                communicating_ns,
                computing_ns + communicating_ns - _union(start, end, computing | communicating),
                copying_ns,
                computing_ns + copying_ns - _union(start, end, computing | copying),
                run_ns - _union(start, end, computing | communicating | copying),
            )
        )
    return tuple(found)


def _union(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> int:
    """Duration of what the chosen intervals cover together."""
    if not chosen.any():
        return 0
    start, end = start[chosen], end[chosen]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    covered = np.maximum.accumulate(end)
    before = np.concatenate([start[:1], covered[:-1]])
    return int(np.maximum(covered - np.maximum(start, before), 0).sum())
