"""What columns are called: names and their units, in whatever spelling, and which names say what a column holds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from perfcore.data.units import NANOSECONDS, KnownUnit, same_unit, seconds_per, split_unit

TIMES = ("time", "start", "end", "duration")  # the roles whose names may end with a unit of time

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "time": "time timestamp time_stamp t ts date datetime date_time",
        "start": "start start_time start_timestamp start_ts start_date t_start tstart starttime begin begin_time "
        "begin_timestamp begin_date started started_at start_at begin_at began time_start time_begin launch_time "
        "launched launched_at ts ts_start t_begin",
        "end": "end end_time end_timestamp end_ts end_date t_end tend endtime stop stop_time stopped stopped_at finish "
        "finish_time finished finished_at ended ended_at end_at complete completed completed_at completion_time "
        "time_end time_stop ts_end",
        "duration": "duration dur elapsed elapsed_time runtime run_time walltime wall_time",
        "change": "event_type event_kind change",  # whether a row enters a state or leaves it
        "state": "state activity region function task category name event state_name activity_name region_name "
        "function_name task_name event_name job_name task_type kernel_name operation op kind type kernel "
        "status",
        "value": "value height utilization utilisation usage busy active running processors load count",
    }.items()
}
# What a location is called. Of the first line one alone says it all; the others qualify one another: a thread is one
# of its process, a core one of its node. A core on which a known thread runs says nothing of the thread.
LEVELS: Mapping[str, tuple[str, ...]] = {
    level: tuple(names.split())
    for level, names in {
        "whole": "location resource resourceid resource_id container worker worker_id worker_name location_id "
        "location_name executor executor_id runner runner_name",
        "process": "rank mpi_rank rank_id process process_id pid",
        "device": "device gpu device_id gpu_id agent_id",
        "thread": "stream stream_id strm queue queue_id thread thread_id tid",
        "core": "processor cpu core pe core_id cpu_id pe_id",
        "node": "node host hostname node_id node_name nodelist machine",
    }.items()
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GAPS = re.compile(r"[\s.:_-]+")
_SHORT_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns", "secs": "s"}
_OF_ROWS = re.compile(r"(?:task|job|event|state|interval|span|activity|op|operation|kernel)_(?=.)")


class _SplitName(NamedTuple):
    """A column's name without its unit, and that unit."""

    bare: str
    unit: KnownUnit | None


def plain_name(name: str) -> str:
    """A name in lower case with low lines, also for CamelCase."""
    return _GAPS.sub("_", _HUMP.sub("_", name.strip())).strip("_").lower()


@functools.lru_cache(
    1 << 10
)  # a table's columns are looked up for each role, and thousands of files have the same ones
def split_name(name: str) -> _SplitName:
    """A plain name without its unit, and the unit; also of ``startMs``, ``start.ms``, ``start/ms``,
    ``start_millis``.
    """
    bare, unit = split_unit(name)
    if unit is not None and unit.kind != "rate":
        return _SplitName(plain_name(bare), unit)
    before, _, over = name.rpartition("/")
    plain = plain_name(before if before and same_unit(over) in NANOSECONDS else name)
    if before and same_unit(over) in NANOSECONDS and any(plain in SYNONYMS[role] for role in TIMES):
        return _SplitName(plain, _time_unit(same_unit(over)))
    if unit is None:
        start, _, last = plain_name(name).rpartition("_")
        if start and last in _SHORT_UNITS:
            return _SplitName(start, _time_unit(_SHORT_UNITS[last]))
        bare, unit = split_unit(plain_name(name))
        if unit is not None and unit.kind == "time":
            return _SplitName(plain_name(bare), unit)
        return _SplitName(plain_name(name), None)
    return _SplitName(plain_name(bare), unit)


def _time_unit(label: str) -> KnownUnit:
    return KnownUnit("time", label, seconds_per(label) or 1.0)


def without_row(bare: str) -> str:
    """A plain name without the word for what a row is: ``task_start`` is a start."""
    return _OF_ROWS.sub("", bare, count=1)
