"""Hardware counters of a Paraver trace: which ones its ``.pcf`` names, and their readings, in a pass over the file.

Extrae writes a reading as an event of type 42000000 plus PAPI's number of the counter; its value counts from the last
reading. Source: Paraver's trace description, the event types of Extrae (BSC), PAPI's presets (papiStdEventDefs.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from perf_traces.messages.counters import CYCLES, INSTRUCTIONS, Readings
from perfcore.reading.source import Source


USUAL = {INSTRUCTIONS: 42_000_050, CYCLES: 42_000_059}  # for traces without a .pcf
_TYPES = range(42_000_000, 43_000_000)
_SET = "Active hardware counter set"  # no counter, but which ones are read; 42009999 in older traces
_PRESET = re.compile(r"\bPAPI_[A-Z0-9_]+")


def counter_types(types: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Names of counters with their types."""
    named: dict[str, int] = {}
    for number, text in types:
        if number in _TYPES and text.split() and _SET not in text:
            preset = _PRESET.search(text)
            named.setdefault(preset[0] if preset else text.split()[0], number)
    return named


def read_counters(
    source: Source,
    n_locations: int,
    threads: Sequence[Sequence[int]],
    nanoseconds: int,
    types: Mapping[str, int],
) -> dict[str, Readings]:
    """Read counters by name."""
    from perf_io.traces.paraver_messages import read_records

    events, _, _, _ = read_records(source, n_locations, threads, nanoseconds, tuple(types.values()))
    events = events[events[:, 0] >= 0]
    readings = {}
    for name, number in types.items():
        rows = events[events[:, 2] == number]
        readings[name] = Readings.of(rows[:, 0], rows[:, 1], rows[:, 3])
    return readings
