"""Traces as OTF2, for Vampir, Score-P's tools and others."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Any

import _otf2  # type: ignore[import-untyped]
import numpy as np
import otf2  # type: ignore[import-untyped]

from perfcore.base.errors import OptionError
from perfcore.data.kinds import type_in_words
from perfcore.data.trace import Trace

NO_STATE = "(no state)"  # region for the time in which a location is in no state

_NS_PER_S = 1_000_000_000
_NAME = "traces"


def write_files(trace: Trace, folder: Path, name: str = _NAME) -> Path:
    """Write the files of a trace: ``name.otf2``, ``name.def`` and the folder ``name``."""
    first, last = trace.span_ns
    order = np.lexsort((trace.start_ns, trace.location))
    order = order[trace.end_ns[order] > trace.start_ns[order]]
    bounds = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1))
    with otf2.writer.open(str(folder), name, timer_resolution=_NS_PER_S) as writer:
        define = writer.definitions
        machine = define.system_tree_node("machine")
        regions = [define.region(state) for state in trace.states]
        nothing = define.region(NO_STATE, region_role=otf2.RegionRole.ARTIFICIAL)
        for place, called in enumerate(trace.locations):
            group = define.location_group(called, system_tree_parent=machine)
            events = writer.event_writer(called, group=group)
            events.program_begin(0, called, [])  # from the first to the last of these the run lasts
            rows = order[bounds[place] : bounds[place + 1]]
            starts, ends = (times[rows] - first for times in (trace.start_ns, trace.end_ns))
            until = int(starts[0]) if len(starts) else 0
            for start, end, state in zip(starts.tolist(), ends.tolist(), trace.state[rows].tolist(), strict=True):
                if start > until:
                    events.enter(until, nothing)
                    events.leave(start, nothing)
                events.enter(start, regions[state])
                events.leave(end, regions[state])
                until = end
            events.program_end(last - first, 0)
    return folder / f"{name}.otf2"


def write_archive_file(data: Any, path: Path) -> None:
    """Write a trace as one tar archive of its files."""
    if not isinstance(data, Trace):
        raise OptionError(f"OTF2 holds traces, and this is {type_in_words(data)}; write it as .csv or .parquet")
    if path.suffix.lower() != ".tar":
        raise OptionError(
            "an OTF2 trace is several files and only one can be written: "
            f"end its name in .otf2.tar, and unpack that with tar; met {path.suffix!r}"
        )
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        root = Path(folder) / _NAME
        try:
            write_files(data, root)
        except _otf2.Error as error:
            raise OSError(f"OTF2's library says: {error}; is there room in {tempfile.gettempdir()}?") from None
        with tarfile.open(path, "w") as archive:
            for file in sorted(root.rglob("*")):
                if file.is_file():
                    archive.add(file, f"{_NAME}/{file.relative_to(root)}")
