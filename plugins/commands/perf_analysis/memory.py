"""Memory of GPUs over a PyTorch trace: ``perf profile --by memory``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np

from perf_analysis.operators import paths_of
from perf_io.traces.gpu_activity import OPERATOR, GpuActivity, require_gpu_activity
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError
from perfcore.results import Result

_MEMORY, _OUTSIDE = re.compile(r"\[memory\]"), "(no operator)"


class _Change(msgspec.Struct):
    bytes: int = msgspec.field(name="Bytes", default=0)
    address: int = msgspec.field(name="Addr", default=0)
    allocated: int = msgspec.field(name="Total Allocated", default=0)
    reserved: int = msgspec.field(name="Total Reserved", default=0)
    kind: int = msgspec.field(name="Device Type", default=0)
    device: int = msgspec.field(name="Device Id", default=-1)


@dataclass(frozen=True, eq=False, repr=False)
class GpuMemory(Result):
    """Allocated and reserved memory of a device over time, in bytes; times from its first change on."""

    json_kind: ClassVar[str] = "memory"

    source: str
    device: str
    time_ns: Ints
    allocated: Ints
    reserved: Ints
    peak: int  # the change after which most is allocated
    stack: tuple[str, ...]  # operators around it, the innermost first
    operators: tuple[dict[str, Any], ...]  # name, allocated, freed, changes; by what they allocate
    live: tuple[int, int]  # blocks and bytes that were allocated within and are not freed
    notes: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()  # which device of several

    @property
    def totals(self) -> tuple[int, int]:
        """Bytes allocated and freed within the trace."""
        return sum(row["allocated"] for row in self.operators), sum(row["freed"] for row in self.operators)

    def to_dict(self) -> dict[str, Any]:
        """All as plain data."""
        at = self.peak
        arrays = {name: getattr(self, name).tolist() for name in ("time_ns", "allocated", "reserved")}
        return {
            "source": self.source, "device": self.device, "peak_bytes": int(self.allocated[at]),
            "peak_ns": int(self.time_ns[at]), "peak_stack": list(self.stack), "peak_reserved": int(self.reserved.max()),
            "fragmentation_bytes": int(self.reserved[at] - self.allocated[at]), "allocated_bytes": self.totals[0],
            "freed_bytes": self.totals[1], "live_blocks": self.live[0], "live_bytes": self.live[1],
            "operators": list(self.operators), "notes": list(self.notes), **arrays,
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the curve as a .csv file, a series that `perfcore.fit` takes."""
        import pandas as pd

        if not os.fspath(path).lower().endswith(".csv"):
            raise OptionError(f"--output {path}: the ending must be .csv")
        columns = {"time_us": self.time_ns / 1000, "allocated": self.allocated, "reserved": self.reserved}
        pd.DataFrame(columns).drop_duplicates("time_us", keep="last").to_csv(path, index=False)
        return [f"series: {path}", f"next: perf fit {path} --column allocated"]


def gpu_memory(sources: Sequence[Any], how: Mapping[str, Sequence[str]]) -> GpuMemory:
    """The memory of the GPU that most is allocated on; of the host's where only that is recorded."""
    paths = paths_of(sources, "memory", how)
    if len(paths) > 1:
        raise OptionError(f"--by memory is of one trace, and these are {len(paths)}; give one")
    activity = require_gpu_activity(paths[0], _MEMORY)
    rows = activity.memory
    if not len(rows["start"]):
        raise DataError(f"{paths[0]}: no changes of memory are recorded; profile_memory=True of the profiler does it")
    decoder = msgspec.json.Decoder(_Change)
    changes = [decoder.decode(activity.texts[text]) for text in rows["text"].tolist()]
    most: dict[tuple[int, int], int] = {}
    for change in changes:
        key = (change.kind, change.device)
        most[key] = max(most.get(key, 0), change.allocated)
    kind, device = chosen = max(most, key=lambda each: (each[0] > 0, most[each]))
    kept = [row for row, change in enumerate(changes) if (change.kind, change.device) == chosen]
    order = np.array(kept)[np.argsort(rows["start"][kept], kind="stable")]
    fields = _Change.__struct_fields__
    table = np.array([msgspec.structs.astuple(changes[row]) for row in order.tolist()], np.int64)
    columns = dict(zip(fields, table.T, strict=True))
    owner = _operators_at(activity, rows["location"][order], rows["start"][order])
    names = [_OUTSIDE if row < 0 else activity.names[activity.host["name"][row]] for row in owner.tolist()]
    operators: dict[str, dict[str, Any]] = {}
    live: dict[int, int] = {}
    for name, amount, address in zip(names, columns["bytes"].tolist(), columns["address"].tolist(), strict=True):
        row = operators.setdefault(name, {"name": name, "allocated": 0, "freed": 0, "changes": 0})
        row["allocated" if amount > 0 else "freed"] += abs(amount)
        row["changes"] += 1
        if amount > 0:
            live[address] = amount
        else:
            live.pop(address, None)
    peak, stack = int(columns["allocated"].argmax()), []
    call = int(owner[peak])
    while call >= 0:
        stack.append(activity.names[activity.host["name"][call]])
        call = int(activity.host["parent"][call])
    others = len(most) - 1
    named = f"GPU {device}" if kind else "host"
    left_out = (f"{named} is meant ({others} other device{'s' * (others > 1)} left out)",) if others else ()
    return GpuMemory(
        str(paths[0]), named, rows["start"][order] - rows["start"][order[0]],
        columns["allocated"], columns["reserved"], peak, tuple(stack),
        tuple(sorted(operators.values(), key=lambda row: -row["allocated"])), (len(live), sum(live.values())),
        activity.notes, left_out,
    )  # fmt: skip


def _operators_at(activity: GpuActivity, location: Ints, moment: Ints) -> Ints:
    """The innermost operator of the thread at each moment, -1 where there is none."""
    host = activity.host
    calls, found = np.flatnonzero(host["category"] == OPERATOR), np.full(len(moment), -1)
    for place in np.unique(location).tolist():
        here, at = calls[host["location"][calls] == place], np.flatnonzero(location == place)
        if not len(here):
            continue
        row = np.searchsorted(host["start"][here], moment[at], "right") - 1
        call = np.where(row >= 0, here[np.maximum(row, 0)], -1)
        while (over := (call >= 0) & (host["end"][call] < moment[at])).any():
            call = np.where(over, host["parent"][call], call)
        found[at] = call
    return found
