"""What runs at once on a GPU: how long any stream computes, communicates or copies, and what computing hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.state_classes import StateClasses
from perf_analysis.overheads.unions import covered, union
from perf_traces.levels import LocatedTrace, level_names, parts_of
from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]

_GROUPS = {"computing": ("computing",), "communicating": ("communicating", "waiting"), "copying": ("transferring",)}


@dataclass(frozen=True)
class DeviceTimes:
    """What the streams of one GPU do, in nanoseconds.

    Parameters
    ----------
    device : str
    n_streams : int
    span_ns : int
        From the first beginning to the last end of what its streams do.
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


@dataclass(frozen=True)
class Unions:
    """When any stream of one GPU is in the states of a group: disjoint stretches, in order."""

    device: str
    n_streams: int
    stretches: dict[str, tuple[Integers, Integers]]

    def within(self, group: str, starts: Integers, ends: Integers) -> Integers:
        """How much of each window is covered (n_windows,)."""
        return covered(self.stretches[group], starts, ends)

    def hidden(self, activity: str, starts: Integers, ends: Integers) -> Integers:
        """How much of ``communicating`` or ``copying`` runs in each window while another stream computes."""
        both = self.within(f"computing or {activity}", starts, ends)
        return self.within("computing", starts, ends) + self.within(activity, starts, ends) - both


def devices_of(trace: Trace) -> tuple[str, ...] | None:
    """The location that each recorded stream belongs to; None unless all that was recorded are streams of GPUs."""
    recorded = trace.recorded if isinstance(trace, LocatedTrace) else trace
    names = level_names(recorded, "device")
    if not all(names):
        return None
    return tuple(trace.locations[place] for place in trace.place.tolist()) if isinstance(trace, LocatedTrace) else names


def unions_of(trace: Trace, names: StateClasses) -> tuple[Unions, ...]:
    """What runs at once on each GPU; empty unless all that was recorded are streams."""
    devices = devices_of(trace)
    if devices is None:
        return ()
    recorded = trace.recorded if isinstance(trace, LocatedTrace) else trace
    kinds = np.array([names.classes[code] for code in names.class_of[:-1]])
    masks = {name: np.isin(kinds, group)[: len(recorded.states)] for name, group in _GROUPS.items()}
    for name in ("communicating", "copying"):
        masks[f"computing or {name}"] = masks["computing"] | masks[name]
    masks["any"] = masks["computing"] | masks["communicating"] | masks["copying"]
    pieces: dict[str, list[dict[str, tuple[Integers, Integers]]]] = {device: [] for device in devices}
    for first, part in parts_of(recorded):
        owners = devices[first : first + len(part.locations)]
        for device in dict.fromkeys(owners):
            on_device = np.array([each == device for each in owners])[part.location]
            start, end, state = part.start_ns[on_device], part.end_ns[on_device], part.state[on_device]
            pieces[device].append({name: union(start[mask[state]], end[mask[state]]) for name, mask in masks.items()})
    unions = []
    for device, parts in pieces.items():
        stretches = parts[0]
        if len(parts) > 1:  # of several ranks
            both = ((name, zip(*(part[name] for part in parts), strict=True)) for name in masks)
            stretches = {name: union(*map(np.concatenate, columns)) for name, columns in both}
        unions.append(Unions(device, devices.count(device), stretches))
    return tuple(unions)


def device_times(unions: Sequence[Unions], run: tuple[int, int]) -> tuple[DeviceTimes, ...]:
    """What each GPU does in the run, from its start to its end in nanoseconds."""
    starts, ends = np.array([run[0]]), np.array([run[1]])
    times = []
    for each in unions:
        first, last = each.stretches["any"]
        total = {name: int(each.within(name, starts, ends)[0]) for name in each.stretches}
        times.append(
            DeviceTimes(
                each.device,
                each.n_streams,
                int(last[-1] - first[0]) if len(first) else 0,
                total["computing"],
                total["communicating"],
                int(each.hidden("communicating", starts, ends)[0]),
                total["copying"],
                int(each.hidden("copying", starts, ends)[0]),
                run[1] - run[0] - total["any"],
            )
        )
    return tuple(times)
